"""Tests that prove something of a lesson, and are skipped where it was proven before."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from autograder.authoring import proofs
from autograder.authoring.lesson import Lesson


@contextmanager
def proof(kind: str, lesson: Lesson, digest: str, again: bool) -> Iterator[None]:
    """Skip what is proven already, or prove it again and keep that it was."""
    if not again and proofs.fits(kind, lesson, digest):
        pytest.skip("proven before, and nothing that it rests on has changed")
    yield
    if again:
        proofs.keep(kind, lesson, digest)
