"""What honest students write around a right answer costs them nothing."""

import pytest

from autograder.execution import sandbox
from autograder.execution.executor import CodeCell, Executor, Job
from autograder.execution.sandbox import Isolation
from autograder.tests.support.habits import HABITS
from autograder.tests.test_sandbox import without_namespaces

GIVEN = "import torch\nfrom torch import nn\nfrom transformer_course.checks import Check, numbers"
CHECK = """
with Check("mix", "twice") as check:
    check.equal(check.call(numbers(2)), 2 * numbers(2), "twice the input")
"""
RIGHT = "def mix(x):\n    return 2 * x"


CHANGES_MODES = {"copied files"}


@pytest.fixture(scope="module", params=[Isolation.BUBBLEWRAP, Isolation.LANDLOCK])
def executor(request, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        if request.param == Isolation.LANDLOCK:
            without_namespaces(patch, tmp_path_factory.mktemp("bin"))
        assert sandbox.available_isolation() == request.param
        with Executor() as executor:
            yield executor


@pytest.mark.parametrize("name", HABITS)
def test_a_right_answer_keeps_its_points(executor, name):
    answer = CodeCell("student", f"{HABITS[name]}\n{RIGHT}")
    cells = [CodeCell("given", GIVEN), answer, CodeCell("check", CHECK)]
    _, student, check = executor.execute(Job(cells, ["mix"])).cells
    errors = [o["ename"] for o in student.outputs if o["output_type"] == "error"]
    if (
        name in CHANGES_MODES
        and sandbox.available_isolation() == Isolation.LANDLOCK
        and not sandbox.users()
    ):
        assert errors == ["PermissionError"]  # the grader's own files would be in reach
        return
    assert errors == []
    assert check.complete
    assert check.failure is None
