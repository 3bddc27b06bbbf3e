"""Plain values in a form that a clue can hold: equal ones alike, and no two others."""

import hashlib
import math
from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import Tensor

from transformer_course.checks.results import base

LEADING = 48  # numbers of a tensor in a plain value


@dataclass(frozen=True)
class Fingerprint:
    """A value abridged: a digest of all of it but its floats, and these, which may be rounded."""

    digest: str
    floats: list[float]


def fingerprint(value: Any) -> Fingerprint:
    """The fingerprint of a value as `results.read` gives it."""
    floats: list[float] = []
    told = _told(value, floats)
    return Fingerprint(hashlib.sha256(told).hexdigest()[:16], floats)


def abridged(floats: list[float], kept: int) -> list[float]:
    """The first of many numbers, and a sum to which each of the others adds in its own way."""
    if len(floats) <= kept:
        return floats
    rest = floats[kept - 1 :]
    return [*floats[: kept - 1], sum(math.cos(i) * f for i, f in enumerate(rest))]


def _told(value: Any, floats: list[float] | None) -> bytes:
    """A value in bytes: a letter for its type, its size, what it holds.

    Floats are added to `floats`, and only counted here. Without that list, in a key, they stand
    here with all their digits.
    """
    kind = base(value)
    if kind is dict:
        # sorted by the keys, so that their order counts for nothing
        keys = sorted(value, key=partial(_told, floats=None))
        pairs = (_told(key, None) + _told(value[key], floats) for key in keys)
        return b"d%d:" % len(value) + b"".join(pairs)
    if kind in (list, tuple):
        letter = b"l" if kind is list else b"t"
        return letter + b"%d:" % len(value) + b"".join(_told(item, floats) for item in value)
    if kind is float and floats is not None:
        floats.append(value)
        return b"f"
    if isinstance(value, Tensor):
        floats = [] if floats is None else floats
        floats += value.detach().flatten()[:LEADING].double().tolist()
        return _sized(b"x", f"{value.dtype} {tuple(value.shape)}".encode())
    if kind is str:
        return _sized(b"s", value.encode("utf-8", "surrogatepass"))
    if kind is bytes:
        return _sized(b"b", value)
    # True, 1, None and the name of what is not plain
    return _sized(b"o", f"{type(value).__name__} {value!r}".encode("utf-8", "replace"))


def _sized(letter: bytes, content: bytes) -> bytes:
    return letter + b"%d:" % len(content) + content
