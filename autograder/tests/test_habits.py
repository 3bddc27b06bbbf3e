"""What honest students write around a right answer costs them nothing."""

import pytest

from autograder.executor import CodeCell, Executor, Job
from autograder.tests.habits import HABITS

GIVEN = "import torch\nfrom torch import nn\nfrom transformer_course.checks import Check, numbers"
CHECK = """
with Check("mix", "twice") as check:
    check.equal(check.call(numbers(2)), 2 * numbers(2), "twice the input")
"""
RIGHT = "def mix(x):\n    return 2 * x"


@pytest.fixture(scope="module")
def executor():
    with Executor() as executor:
        yield executor


@pytest.mark.parametrize("name", HABITS)
def test_a_right_answer_keeps_its_points(executor, name):
    answer = CodeCell("student", f"{HABITS[name]}\n{RIGHT}")
    cells = [CodeCell("given", GIVEN), answer, CodeCell("check", CHECK)]
    _, student, check = executor.execute(Job(cells, ["mix"])).cells
    assert [o for o in student.outputs if o["output_type"] == "error"] == []
    assert check.complete
    assert check.failure is None
