"""Finding the notebook in a student's folder: which one counts, what lies beside, links."""

import os

import pytest

from autograder.authoring.notebook import as_text
from autograder.authoring.samples import filled
from autograder.gradebook.classroom import Classroom
from autograder.gradebook.result import Task
from autograder.gradebook.status import State
from autograder.intake.finding import find
from autograder.intake.newest import MOST
from autograder.tests.conftest import Instructor
from autograder.tests.support.mutations import zipped


def moved(course: Instructor, student: str, name: str) -> None:
    """The student's notebook lies there under another name."""
    path = course.file("submitted", student)
    (path.parent / name).parent.mkdir(exist_ok=True)
    path.rename(path.parent / name)


def task(course: Instructor, student: str) -> Task:
    return Classroom.open(course.folder).submission(course.lesson.name, student).read()


def test_the_notebook_at_its_place_counts_whatever_lies_beside_it(small):
    place = small.file("submitted", "ada")
    os.utime(place, (0, 0))
    place.with_name("newer.ipynb").write_bytes(place.read_bytes() + b"\n")
    handed_in = task(small, "ada")
    assert (handed_in.notebook, handed_in.note) == (place.read_bytes(), "")
    assert [*handed_in.files] == ["newer.ipynb"]


def test_of_several_the_newest_by_its_time_then_by_its_number(small):
    place = small.file("submitted", "ada")
    text = place.read_bytes()
    place.unlink()
    for name, time in {"a.ipynb": 5, "a (1).ipynb": 9, "a (10).ipynb": 9, "a (9).ipynb": 9}.items():
        place.with_name(name).write_bytes(text)
        os.utime(place.with_name(name), (time, time))
    note = "of 4 notebooks the newest of this lesson counts: `a (10).ipynb`"
    assert task(small, "ada").note == note
    os.utime(place.with_name("a.ipynb"), (10, 10))
    assert task(small, "ada").note.endswith("counts: `a.ipynb`")


def test_a_newer_one_with_little_of_the_lesson_does_not_count(small):
    moved(small, "ada", "mine.ipynb")
    notebook = filled(small.lesson, {})
    notebook.cells = notebook.cells[-1:]
    small.file("submitted", "ada").with_name("scratch.ipynb").write_text(
        as_text(notebook), encoding="utf-8"
    )
    os.utime(small.file("submitted", "ada").with_name("mine.ipynb"), (5, 5))
    assert task(small, "ada").note.endswith("counts: `mine.ipynb`")


def test_what_lies_beside_the_notebook_comes_along(small):
    moved(small, "ada", "work/mine.ipynb")
    folder = small.file("submitted", "ada").parent
    for name in ("work/words.txt", "other.txt"):
        (folder / name).write_text(name, encoding="utf-8")
    assert task(small, "ada").files == {"words.txt": b"work/words.txt"}
    place = small.file("submitted", "bo")
    inside = {"w/mine.ipynb": place.read_bytes(), "w/data/words.txt": b"in it", "up.txt": b""}
    place.unlink()
    place.with_name("w.zip").write_bytes(zipped(inside | {"../out.txt": b"", "/root.txt": b""}))
    assert task(small, "bo").files == {"data/words.txt": b"in it"}


def test_what_was_found_is_graded_once_and_again_when_asked_for(small, recorder):
    moved(small, "ada", "Kopie von 01_small.ipynb")
    code, said = small.types("grade")
    told = "ada: graded: repaired: the notebook was found in `Kopie von 01_small.ipynb`"
    assert (code, told in said, recorder) == (0, True, ["ada", "bo"])
    assert "0 graded now" in small.types("grade")[1]
    assert "1 graded now" in small.types("grade", "--again", "--student", "ada")[1]
    newer = small.file("submitted", "ada").with_name("newer.ipynb")
    newer.write_text(as_text(filled(small.lesson, {})), encoding="utf-8")
    assert small.results()["ada"].state == State.UNGRADED
    assert "1 graded now" in small.types("grade")[1]
    assert recorder == ["ada", "bo", "ada", "ada"]


@pytest.mark.parametrize("name", ["01_small.ipynb", "Copy.ipynb", "sub", "w.zip"])
def test_no_link_is_followed(small, recorder, name):
    place = small.file("submitted", "bo")
    secret = small.folder / "somebody_elses"
    secret.mkdir()
    place.rename(secret / "01_small.ipynb")
    (secret / "w.zip").write_bytes(zipped({"a.ipynb": (secret / "01_small.ipynb").read_bytes()}))
    to = {"sub": secret, "w.zip": secret / "w.zip"}.get(name, secret / "01_small.ipynb")
    place.with_name(name).symlink_to(to)
    code, said = small.types("grade")
    assert (code, recorder) == (0, ["ada"])
    assert "a link in place of a file" in said.split("bo: unreadable: ")[1]


def test_what_is_no_file_is_not_opened(small, recorder):
    place = small.file("submitted", "bo")
    place.unlink()
    os.mkfifo(place)
    code, said = small.types("grade")
    assert (code, recorder) == (0, ["ada"])
    assert "bo: unreadable: no plain file: ask for the notebook itself" in said
    place.rename(place.with_name("Copy.ipynb"))
    code, said = small.types("grade")
    assert "bo: unreadable: `Copy.ipynb`: no plain file" in said


def test_of_very_many_only_the_first_are_looked_at(small, monkeypatch):
    place = small.file("submitted", "ada")
    for number in range(2 * MOST):
        place.with_name(f"{number:02}.ipynb").write_bytes(place.read_bytes())
    place.unlink()
    assert task(small, "ada").note.startswith(f"of {MOST} notebooks")


def test_nothing_there_is_an_error_that_callers_know(small):
    place = small.file("submitted", "ada")
    place.unlink()
    released = Classroom.open(small.folder).released(small.lesson.name)
    with pytest.raises(FileNotFoundError):
        find(place, released)
