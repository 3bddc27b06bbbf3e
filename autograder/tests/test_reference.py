"""The reference of what a check may call is up to date and leaves nothing out."""

import inspect
import re

import pytest
from transformer_course import checks
from transformer_course.checks.module import Module

from autograder.authoring import reference
from autograder.authoring.lesson import all_lessons

PAGE = reference.page()


def test_the_committed_page_is_up_to_date() -> None:
    assert reference.PATH.read_text(encoding="utf-8") == PAGE


@pytest.mark.parametrize(("owner", "called"), [(checks.Check, "check"), (Module, "module")])
def test_every_public_method_is_in_it_with_its_docstring(owner: type, called: str) -> None:
    public = {name for name in dir(owner) if not name.startswith("_")}
    assert public == set(re.findall(rf"^### `{called}\.(\w+)\(", PAGE, re.MULTILINE))
    for name in public:
        assert f"\n\n{inspect.getdoc(getattr(owner, name))}\n" in PAGE


def test_every_exported_function_is_in_it() -> None:
    exported = {n for n in checks.__all__ if inspect.isfunction(getattr(checks, n))}
    assert exported == set(re.findall(r"^### `(\w+)\(", PAGE, re.MULTILINE))


def test_it_names_everything_that_the_lessons_call_on_a_check() -> None:
    lessons = "\n".join(path.read_text(encoding="utf-8") for path in all_lessons())
    called = set(re.findall(r"\bcheck\.([a-z_]+)\(", lessons))
    assert len(called) > 8
    assert called <= set(re.findall(r"^### `check\.(\w+)\(", PAGE, re.MULTILINE))


def test_a_new_docstring_makes_another_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks.numbers, "__doc__", "Other numbers.")
    assert reference.page() != PAGE
