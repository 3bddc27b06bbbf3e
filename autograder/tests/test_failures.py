"""A failed check as data: it arrives as the kit made it, and nothing else is taken for it."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from transformer_course.failure import Failure, Kind

from autograder.execution.executor import CodeCell, Executor, Job
from autograder.execution.isolation.failures import LONGEST, MOST, read_failure, write_failure
from autograder.gradebook.result import Finished
from autograder.gradebook.result_store import RESULT, kept_beside

FAILURE = Failure(
    "mix",
    "your code raised KeyError",
    (("you called", "mix(x: 1)"), ("message", "'a'")),
    "use `b`",
    "You look up a name that is not there.",
    Kind.RAISED,
    "KeyError",
)
PLAIN = write_failure(FAILURE)
GIVEN = "from transformer_course.checks import Check, numbers"
CHECK = """
with Check("mix", "twice", "add it to itself") as check:
    check.equal(check.call(numbers(1)), 2 * numbers(1), "twice the input")
"""
SHAPE = """
with Check("mix", "a shape") as check:
    check.shape(check.call(numbers(2)), row=3)
"""


def test_it_is_the_same_on_the_other_side() -> None:
    told = json.loads(json.dumps(PLAIN))
    assert read_failure(told) == FAILURE
    assert str(read_failure(told)) == str(FAILURE)


def test_long_texts_are_cut_before_they_are_sent() -> None:
    long, many = "a" * 10 * LONGEST, (("label", "b" * 2 * LONGEST),) * 3 * MOST
    told = write_failure(Failure(long, long, many, long, long, Kind.CLAIM, long))
    received = read_failure(told)
    assert received
    assert len(json.dumps(told)) < 2 * LONGEST * MOST
    assert {len(text) for _, text in received.fields} == {len(received.claim)} == {LONGEST}


@pytest.mark.parametrize(
    "forged",
    [
        None,
        "claim",
        [],
        {},
        {**PLAIN, "more": ""},
        {name: told for name, told in PLAIN.items() if name != "hint"},
        {**PLAIN, "claim": None},
        {**PLAIN, "claim": ["your code raised"]},
        {**PLAIN, "claim": "a" * (LONGEST + 1)},
        {**PLAIN, "kind": "secret"},
        {**PLAIN, "kind": {}},
        {**PLAIN, "fields": {}},
        {**PLAIN, "fields": [["a", "b"]] * (MOST + 1)},
        {**PLAIN, "fields": [["a"]]},
        {**PLAIN, "fields": [["a", 1]]},
        {**PLAIN, "fields": ["ab"]},
        {**PLAIN, "fields": [["a", "b" * (LONGEST + 1)]]},
    ],
)
def test_nothing_else_is_taken_for_one(forged: Any) -> None:
    assert read_failure(forged) is None


def said(executor: Executor, student: str, *checks: str) -> list[Failure | None]:
    """What each check says of a student's cell."""
    cells = [CodeCell("given", GIVEN), CodeCell("student", student)]
    job = Job([*cells, *(CodeCell("check", check) for check in checks)], ["mix"])
    failures = [ran.failure for ran in executor.execute(job).cells[2:]]
    return [read_failure(failure["said"]) for failure in failures if failure]


def test_what_a_check_says_arrives_from_the_process_that_runs_it() -> None:
    forger = """
def mix(x):
    error = type("CheckFailed", (AssertionError,), {})("✗ mix: forged")
    error.failure = error.said = {"claim": "forged"}
    raise error
"""
    fields = (("you called", "mix(x: [1.764])"), ("expected", "3.528"), ("got", "1.764"))
    wrong = Failure(
        "mix",
        "twice the input",
        (*fields, ("note", "1 of 1 numbers differ")),
        "add it to itself",
    )
    with Executor(sandboxed=False) as executor:
        equal, shape = said(executor, "def mix(x):\n    return x", CHECK, SHAPE)
        assert equal == wrong
        assert shape
        assert (shape.kind, shape.claim) == (Kind.SHAPE, "the result has the wrong shape")
        (absent,) = said(executor, "a = 1", CHECK)
        assert absent
        assert (absent.kind, absent.subject) == (Kind.ABSENT, "mix")
        (forged,) = said(executor, forger, CHECK)
        assert forged
        assert (forged.kind, forged.subject) == (Kind.RAISED, "CheckFailed")
        # raised by no check of the kit's, it has nothing to say but its text
        assert said(executor, forger, "mix(1)") == [None]


def test_a_result_that_an_older_version_stored_is_read_without(tmp_path: Path) -> None:
    path = tmp_path / "lesson.ipynb"
    nbformat.write(nbformat.v4.new_notebook(), path)
    result = dataclasses.asdict(Finished("ada", "key", "graded", failed={"check_mix": 1}))
    del result["notebook"], result["failures"]
    path.with_name(RESULT).write_text(json.dumps(result), encoding="utf-8")
    finished = kept_beside(path)
    assert finished
    assert (finished.failed, finished.failures) == ({"check_mix": 1}, {})
