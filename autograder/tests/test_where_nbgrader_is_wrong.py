"""What a submission earns where `nbgrader autograde` takes points that it should not take."""

from typing import Any

import nbformat
import pytest
from nbgrader.api import MissingEntry
from nbgrader.utils import determine_grade

from autograder.authoring.notebook import as_text, graded_cells
from autograder.authoring.samples import filled, solved
from autograder.execution.executor import Execution, Job, Limits, Ran
from autograder.gradebook import submission
from autograder.gradebook.classroom import Classroom
from autograder.gradebook.result import State, Task
from autograder.paths import Course
from autograder.tests.conftest import Instructor
from autograder.tests.support.nbgrader_parity import gradebook_of, graded_by_both, shown

LESSON = """\
# %% [markdown]
# # A lesson

# %% given imports
import math

# %% exercise double
def double(x):
    # BEGIN SOLUTION
    return x + x
    # END SOLUTION


# %% check double points=2
assert double(2) == 4

# %% exercise root
def root(x):
    # BEGIN SOLUTION
    return x**0.5
    # END SOLUTION


# %% check root points=1
assert root(2) == math.sqrt(2)
"""


WARNS = """\
import warnings

def double(x):
    warnings.warn("slow")
    return 2 * x
"""
# a display between what is printed: a kernel mixes printed lines as it likes
SHOWS = """\
import sys

import matplotlib.pyplot as plt
from IPython.display import HTML, display

print("out")
display(HTML("<b>bold</b>"), display_id="shown")
print("err", file=sys.stderr)
display(HTML("<b>bolder</b>"), display_id="shown", update=True)
plt.plot([1, 2])
plt.show()
sys.stdout.write("line\\n" * 2000)
double = (2).__mul__
double(3), 1 / 0
"""
DRAWS = "import random\nprint(random.random())\ndouble = (2).__mul__"
WRITTEN: dict[str, dict[str, str]] = {
    "sound": {},
    "crashing": {"root": "import os\nos._exit(1)"},
    "warning": {"double": WARNS},
    "showing": {"double": SHOWS, "root": "def root(x):\n    return x**0.5\n\nroot(4)"},
    "reusing": {"double": "math = None\ndouble = (2).__mul__"},
    "drawing": {"double": DRAWS},
    "drawing_too": {"double": DRAWS},
}


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    """One student for each case."""
    folder = tmp_path_factory.mktemp("cases")
    (folder / "solutions").mkdir()
    (folder / "solutions" / "01_small.py").write_text(LESSON, encoding="utf-8")
    ours = Instructor(Course(folder), folder / "class")
    assert ours.types("release")[0] == 0
    for student, answers in WRITTEN.items():
        notebook = filled(ours.lesson, solved(ours.lesson) | answers)
        ours.receives(student, as_text(notebook))
    notebook = filled(ours.lesson, solved(ours.lesson))
    check = graded_cells(notebook)["check_root"]
    notebook.cells.remove(check)
    ours.receives("deleting", as_text(notebook))
    # twice, and before there is anything to check
    notebook.cells[:0] = [check, nbformat.from_dict(dict(check) | {"id": "copied"})]
    notebook.cells.append(nbformat.from_dict(dict(check) | {"id": "in-its-place"}))
    ours.receives("copying", as_text(notebook))
    ours.receives("unreadable", "no notebook")
    return graded_by_both(ours)


def earned(classroom: Instructor, student: str) -> tuple[float | None, float | None]:
    """The points that each of the two checks gave by itself."""
    held = gradebook_of(Classroom.open(classroom.folder), "01_small", student)
    return held["check_double"][0], held["check_root"][0]


def printed(classroom: Instructor, student: str, name: str) -> list[dict[str, Any]]:
    """The outputs of a cell."""
    notebook = nbformat.read(classroom.file("autograded", student), as_version=4)
    return shown(graded_cells(notebook)[name])


def test_what_is_sound_differs_in_nothing(cases):
    assert earned(cases.ours, "sound") == earned(cases.nbgraders, "sound") == (2, 1)


def test_outputs_are_of_the_same_kinds_and_equally_limited(cases):
    for name in ("exercise_double", "exercise_root"):
        ours, nbgraders = (
            printed(classroom, "showing", name) for classroom in (cases.ours, cases.nbgraders)
        )
        assert ours == nbgraders
    kinds = [output["output_type"] for output in printed(cases.ours, "showing", "exercise_double")]
    assert kinds == ["stream", "display_data", "stream", "display_data", "stream", "error"]
    (result,) = printed(cases.ours, "showing", "exercise_root")
    assert result["data"] == {"text/plain": "2.0"}


def test_a_crash_costs_only_what_comes_after_it(cases):
    assert "crashing" in cases.failed
    assert earned(cases.nbgraders, "crashing") == (None, None)
    assert earned(cases.ours, "crashing") == (2, 0)
    assert cases.ours.results()["crashing"].state == State.CRASHED


def test_a_copied_check_costs_nothing(cases):
    assert "copying" in cases.failed
    assert earned(cases.nbgraders, "copying") == (None, None)
    assert earned(cases.ours, "copying") == (2, 1)


def test_a_deleted_check_waits_for_nobody(cases):
    assert earned(cases.nbgraders, "deleting") == (2, None)
    assert earned(cases.ours, "deleting") == (2, 1)


def test_who_cannot_be_read_gets_no_zero(cases):
    nbgraders = Classroom.open(cases.nbgraders.folder)
    assert "unreadable" in cases.failed
    assert gradebook_of(nbgraders, "01_small", "unreadable")["score"] == 0
    result = cases.ours.results()["unreadable"]
    assert (result.state, result.points) == (State.UNREADABLE, None)
    with pytest.raises(MissingEntry):
        earned(cases.ours, "unreadable")


def test_a_warning_costs_nothing(cases):
    assert earned(cases.nbgraders, "warning") == (0, 1)
    assert earned(cases.ours, "warning") == (2, 1)
    output = printed(cases.ours, "warning", "check_double")
    assert output == printed(cases.nbgraders, "warning", "check_double")
    assert "UserWarning: slow" in output[0]["text"]


class Logs:
    """In place of an executor: each cell writes to standard error, and passes."""

    def execute(self, job: Job) -> Execution:
        logged = {"output_type": "stream", "name": "stderr", "text": "a library's log"}
        return Execution([Ran([dict(logged)], complete=True) for _ in job.cells])


def test_what_a_check_itself_logs_costs_nothing(cases):
    lesson = Classroom.open(cases.ours.folder).released("01_small")
    executor: Any = Logs()
    handed_in = Task("ada", cases.ours.file("submitted", "sound").read_bytes())
    finished = submission.graded(handed_in, lesson, Limits(), executor)
    assert finished.scores == {"check_double": 2, "check_root": 1}
    cells = graded_cells(nbformat.reads(finished.notebook, as_version=4))
    assert cells["exercise_double"].outputs[0].name == "stderr"
    check = cells["check_double"]
    assert determine_grade(check) == (2, 2)
    check.outputs[0].name = "stderr"
    assert determine_grade(check) == (0, 2)


def test_the_names_that_a_check_uses_are_its_own(cases):
    assert earned(cases.nbgraders, "reusing") == (2, 0)
    assert earned(cases.ours, "reusing") == (2, 1)


def test_random_numbers_are_the_same_each_time(cases):
    for classroom, equal in ((cases.ours, True), (cases.nbgraders, False)):
        one, other = (
            printed(classroom, student, "exercise_double") for student in ("drawing", "drawing_too")
        )
        assert (one == other) == equal
