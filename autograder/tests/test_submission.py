"""What was handed in is read once, however often a command asks for it."""

import sys
from collections import Counter
from collections.abc import Iterator

import pytest

from autograder.gradebook.classroom import Classroom
from autograder.gradebook.result import Task, key
from autograder.tests.conftest import Instructor


@pytest.fixture
def opened() -> Iterator[Counter[str]]:
    """How often each file is opened while a test runs, by its path."""
    counts: Counter[str] = Counter()
    watching = [True]

    def see(event: str, arguments: tuple) -> None:
        if event == "open" and watching and isinstance(arguments[0], str):
            counts[arguments[0]] += 1

    sys.addaudithook(see)
    yield counts
    watching.clear()  # Python has no way to remove a hook


def counted(small: Instructor, opened: Counter[str], *command: str) -> list[int]:
    """How often a command opens each of the two submissions."""
    opened.clear()
    code, said = small.types(*command)
    assert code == 0, said
    return [opened[str(small.file("submitted", student))] for student in ("ada", "bo")]


def test_a_submission_is_read_once(small, recorder, opened):
    # once to see whether it can be opened, once to read it
    assert counted(small, opened, "grade") == [2, 2]
    assert recorder == ["ada", "bo"]
    assert counted(small, opened, "grade") == [2, 2]
    # graded by other tests than today's: the notebook is held until it is executed again
    path = small.course.solutions / "01_small.py"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("half(2) == 1", "half(4) == 2"), encoding="utf-8")
    small.types("release")
    assert counted(small, opened, "grade") == [2, 2]
    assert recorder == ["ada", "bo", "ada", "bo"]


def test_a_submission_is_hashed_once(small):
    """Its digests go along with a task, to a worker too."""
    submission = Classroom.open(small.folder).submission("01_small", "ada")
    task = submission.read()
    assert "digests" not in vars(task)
    assert submission.key == key(task, submission.released)
    assert "digests" in vars(submission.take())
    anew = Task("ada", task.notebook, dict(task.files))
    assert key(anew, submission.released) == submission.key


def test_what_is_held_has_a_limit(small):
    class_ = Classroom.open(small.folder)
    ada, bo = (class_.submission("01_small", student) for student in ("ada", "bo"))
    class_.room = size = ada.take().size
    assert ada.read() is ada.read()
    assert class_.room == 0
    assert bo.read() is not bo.read()
    ada.let_go()
    assert class_.room == size
