"""What lessons to come will ask of the kit and the channel works: beside the work, and apart."""

import linecache

import pytest
import torch
from transformer_course.checks import CheckFailed

from autograder.execution.executor import CodeCell, Executor, Job
from autograder.tests.to_come import GIVEN, Case, encoders, heads, masking, norms, positions

CASES = [*masking.CASES, *heads.CASES, *norms.CASES, *encoders.CASES, *positions.CASES]
each_case = pytest.mark.parametrize(
    "case", CASES, ids=[f"{number}-{case.exercise}" for number, case in enumerate(CASES)]
)


@pytest.fixture(scope="module")
def executor():
    with Executor(sandboxed=False) as executor:
        yield executor


def apart(executor: Executor, case: Case, answer: str) -> str | None:
    """What the check says of an answer in another process, None if it passes."""
    cells = [CodeCell("given", GIVEN), CodeCell("student", answer), CodeCell("check", case.check)]
    execution = executor.execute(Job(cells, ["MultiHeadAttention", case.exercise]))
    result = execution.cells[-1]
    assert result.complete, execution.ended
    return result.failure["message"] if result.failure else None


def beside(case: Case, answer: str) -> None:
    """Run the check in the process of the work, as a notebook does."""
    namespace: dict = {}
    torch.manual_seed(0)
    answer = answer.lstrip()  # so does IPython
    for name, source in (("<given>", GIVEN), ("<answer>", answer), ("<check>", case.check)):
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        exec(compile(source, name, "exec"), namespace)


@each_case
def test_a_right_answer_passes(executor, case):
    beside(case, case.right)
    assert apart(executor, case, case.right) is None


@each_case
def test_a_wrong_answer_is_told_the_same_apart_as_beside(executor, case):
    with pytest.raises(CheckFailed) as failed:
        beside(case, case.wrong)
    assert case.says in " ".join(str(failed.value).split())
    assert apart(executor, case, case.wrong) == f"CheckFailed: {failed.value}"
