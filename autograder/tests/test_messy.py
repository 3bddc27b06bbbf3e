"""Whatever a tool can save is graded, and what cannot be says why: a class of messy notebooks."""

import re

import pytest

from autograder.authoring.samples import filled, solved
from autograder.paths import Course
from autograder.tests.conftest import Instructor
from autograder.tests.support.corpus import GRADABLE, LOST, Form
from autograder.tests.support.mutations import LESSON, NAME, POINTS

FORMS = GRADABLE | LOST


def student(form: str) -> str:
    """Who hands it in."""
    return re.sub(r"\W+", "-", form)


def hand_in(course: Instructor, form: str, made: Form) -> None:
    """Each file lies where a student's files lie."""
    folder = course.file("submitted", student(form)).parent
    folder.mkdir(parents=True)
    notebook = filled(course.lesson, solved(course.lesson))
    for name, data in made.files(notebook).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A class in which each student hands in another form of the same perfect notebook; graded."""
    folder = tmp_path_factory.mktemp("messy")
    (folder / "solutions").mkdir()
    (folder / "solutions" / f"{NAME}.py").write_text(LESSON, encoding="utf-8")
    instructor = Instructor(Course(folder), folder / "class")
    assert instructor.types("release")[0] == 0
    for form, made in FORMS.items():
        hand_in(instructor, form, made)
    code, said = instructor.types("grade")
    assert code == 0, said
    assert f"{len(GRADABLE)} graded now, {len(FORMS)} in all" in said
    assert instructor.types("grade")[1].count("0 graded now") == 1
    return instructor


@pytest.fixture(scope="module")
def report(course):
    """What became of each."""
    return course.report()


@pytest.mark.parametrize("form", GRADABLE)
def test_a_perfect_notebook_earns_all_points_in_every_form(report, form):
    about = report[student(form)]
    assert (about["points"], about["state"]) == (POINTS, GRADABLE[form].state), about
    said = "; ".join(about["repairs"])
    assert GRADABLE[form].said in said
    assert bool(said) == bool(GRADABLE[form].said), said
    assert "\n" not in said


@pytest.mark.parametrize("form", LOST)
def test_what_cannot_be_graded_says_why_and_stops_nobody(report, form):
    about = report[student(form)]
    assert (about["points"], about["state"]) == (None, LOST[form].state)
    assert about["note"].startswith(LOST[form].said)
