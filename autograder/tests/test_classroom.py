"""A class over time: grading again, going on after an interruption, releasing again, mistakes."""

import contextlib
import os
import sqlite3
import subprocess
import sys
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell
from nbgrader.preprocessors import Execute, NbGraderPreprocessor

from autograder import grading, places
from autograder.notebook import as_text, graded_cells
from autograder.samples import filled, solved
from autograder.standing import State


class Recorder(NbGraderPreprocessor):
    """In place of an executor: runs nothing, so that every check passes."""

    ran: list[str]

    def preprocess(self, nb, resources):
        self.ran.append(resources["nbgrader"]["student"])
        return nb, resources


@pytest.fixture
def recorder(monkeypatch):
    """Who is graded while a test runs."""
    monkeypatch.setattr(grading, "EXECUTOR", Recorder)
    monkeypatch.setattr(Recorder, "ran", [], raising=False)
    return Recorder.ran


def gradebook_of(instructor) -> list[str]:
    with sqlite3.connect(instructor.folder / "gradebook.db") as database:
        return list(database.iterdump())


# --- grading again, and going on ---------------------------------------------------------


def test_what_is_graded_is_not_graded_again(small, recorder):
    small.types("grade")
    assert recorder == ["ada", "bo"]
    before = gradebook_of(small)
    small.receives("cleo", "no notebook")
    code, said = small.types("grade")
    assert (code, recorder) == (0, ["ada", "bo"])
    assert "0 graded now" in said
    assert gradebook_of(small) == before
    assert small.types("grade", "--again", "--student", "bo")[0] == 0
    assert recorder == ["ada", "bo", "bo"]


def test_a_failure_of_the_grader_is_told_and_stops_nobody(small, recorder, monkeypatch):
    def fail(self, nb, resources):
        if resources["nbgrader"]["student"] == "ada":
            raise RuntimeError("no room on the disk")
        return nb, resources

    monkeypatch.setattr(Recorder, "preprocess", fail)
    code, said = small.types("grade")
    assert code == 1
    assert "ada: failed: RuntimeError: no room on the disk" in said
    assert small.results()["ada"].state == State.UNGRADED
    assert small.results()["bo"].state == State.GRADED


def test_what_is_handed_in_again_is_graded_again_and_keeps_its_marks(small, recorder):
    small.types("grade")
    api = grading.open_classroom(small.folder)
    with api.gradebook as gradebook:
        grade: Any = gradebook.find_grade(
            "check_double", small.lesson.name, small.lesson.name, "ada"
        )
        grade.manual_score = 0.5
        gradebook.db.commit()
    small.receives("ada", small.file("submitted", "ada").read_text(encoding="utf-8") + "\n")
    assert small.results()["ada"].state == State.UNGRADED
    assert "1 graded now" in small.types("grade")[1]
    assert recorder == ["ada", "bo", "ada"]
    assert small.results()["ada"].points == 1.5
    with api.gradebook as gradebook:
        comment = gradebook.find_comment("exercise_double", name, name, "ada")
        assert comment.comment == "see me"


def test_a_grader_that_was_killed_leaves_no_score(small, recorder, tmp_path):
    small.types("grade")
    notebook = filled(small.lesson, solved(small.lesson))
    notebook.cells.insert(0, new_code_cell("import os\nos.kill(os.getppid(), 9)"))
    small.receives("bo", as_text(notebook))
    assert subprocess.run(typed(small, "grade", "--student", "bo")).returncode == -9
    assert small.file("autograded", "bo").exists()
    assert small.results()["bo"].state == State.UNGRADED
    assert small.types("grade")[0] == 0
    assert recorder == ["ada", "bo", "bo"]
    assert small.results()["bo"].points == 3


def test_feedback_that_cannot_be_written_stops_nobody(small, recorder):
    # nbgrader takes such a line for a region of its own
    notebook = filled(small.lesson, solved(small.lesson) | {"double": "# BEGIN HIDDEN TESTS"})
    small.receives("ada", as_text(notebook))
    small.types("grade")
    code, said = small.types("feedback")
    assert code == 1
    assert "ada: no feedback on 01_small: RuntimeError: No end hidden tests statement" in said
    assert small.file("feedback", "bo").with_suffix(".html").exists()


def test_a_class_without_submissions_is_told_where_they_belong(small_class, tmp_path):
    code, said = small_class.copy(tmp_path).types("grade")
    assert code == 0
    assert "submitted/STUDENT/01_small/01_small.ipynb" in said


TYPED = """\
import sys
from pathlib import Path
from autograder import cli, places
places.SOLUTIONS = Path(sys.argv.pop(1))
cli.main(sys.argv[1:])
"""
INTERRUPT = """\
import os, pathlib, signal
pathlib.Path({kernel!r}).write_text(f"{{os.getpid()}} {{os.environ['OMP_NUM_THREADS']}}")
os.kill(os.getppid(), signal.SIGINT)
"""


def typed(instructor, *words: str) -> list[str]:
    """The same command, in a process of its own."""
    classroom = ["--classroom", str(instructor.folder)]
    return [sys.executable, "-c", TYPED, str(instructor.solutions), *words, *classroom]


def test_interrupted_grading_keeps_what_is_finished_and_goes_on(small, recorder, tmp_path):
    notebook = filled(small.lesson, solved(small.lesson))
    kernel = tmp_path / "kernel"
    notebook.cells.insert(0, new_code_cell(INTERRUPT.format(kernel=str(kernel))))
    small.receives("bo", as_text(notebook))
    small.receives("cleo")
    command = typed(small, "grade", "--again")
    environment = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
    ended = subprocess.run(
        command, cwd=places.ROOT, env=environment, capture_output=True, text=True
    )
    rest = f"`python -m autograder grade 01 --classroom {small.folder}` goes on with the others"
    told = f"interrupted: 1 of 3 are graded and recorded; {rest}\n"
    # libzmq may print a line of its own when the kernel is killed in the middle of a poll
    assert ended.returncode == 1
    assert ended.stderr.endswith(told)
    assert "Traceback" not in ended.stderr
    process, threads = kernel.read_text().split()
    assert threads == "1"
    with pytest.raises(ProcessLookupError):
        os.kill(int(process), 0)
    assert small.types("grade")[0] == 0
    assert recorder == ["bo", "cleo"]


# --- releasing again ---------------------------------------------------------------------


def change(instructor, old: str, new: str) -> None:
    path = instructor.lesson.path
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


def test_a_lesson_may_change_until_it_is_graded(small, recorder):
    change(small, "check half points", "check half_of_two points")
    assert small.types("release")[0] == 0
    assert "check_half_of_two" in small.file("release").read_text(encoding="utf-8")
    small.receives("ada")
    small.types("grade", "--student", "ada")
    released = small.file("release").read_bytes()
    change(small, "check half_of_two points", "check half points")
    code, said = small.types("release")
    assert code == 1
    assert "must keep their titles" in said
    assert small.file("release").read_bytes() == released
    assert "check_half_of_two" in small.file("source").read_text(encoding="utf-8")
    change(small, "check half points", "check half_of_two points")
    change(small, "half(2) == 1", "half(4) == 2")
    code, said = small.types("release")
    again = f"python -m autograder grade 01 --classroom {small.folder} --again"
    assert (code, f"1 submission is graded as it was before: `{again}`" in said) == (0, True)
    assert "half(4) == 2" in small.file("release").read_text(encoding="utf-8")


def test_a_release_that_fails_keeps_the_earlier_one(small):
    kept = {step: small.file(step).read_bytes() for step in ("source", "release")}
    change(small, "half(2) == 1", "half(4) == 2")
    address = f"sqlite:///{small.folder}/gradebook.db"
    with (small.folder / grading.SETTINGS).open("a", encoding="utf-8") as settings:
        settings.write(f"\nc.CourseDirectory.db_url = '{address}?timeout=0.1'\n")
    formgrader = sqlite3.connect(small.folder / "gradebook.db", isolation_level=None)
    with contextlib.closing(formgrader):
        formgrader.execute("BEGIN EXCLUSIVE")
        code, said = small.types("release")
    assert (code, grading.LOCKED in said) == (1, True)
    assert {step: small.file(step).read_bytes() for step in kept} == kept
    assert small.types("release")[0] == 0
    assert "half(4) == 2" in small.file("release").read_text(encoding="utf-8")


# --- the command line --------------------------------------------------------------------


@pytest.mark.parametrize("command", ["grade", "feedback", "export"])
def test_nothing_works_before_the_release(small, command, tmp_path):
    elsewhere = type(small)(small.solutions, tmp_path / "elsewhere")
    code, said = elsewhere.types(command, "01")
    mend = f"`python -m autograder release 01 --classroom {elsewhere.folder}`"
    assert (code, said) == (1, f"no lesson 01 is released: run {mend}")
    assert not elsewhere.folder.exists()


def test_an_unknown_student_is_named(small):
    assert small.types("grade", "--student", "eve") == (1, "no student `eve`; there are ada, bo")


@pytest.mark.parametrize(
    ("cells", "state", "note"),
    [
        ("double", State.UNREADABLE, "`check_double` stands more than once"),
        ("foreign", State.UNREADABLE, "none of the lesson's cells"),
        ("other lesson", State.UNREADABLE, "none of the lesson's cells"),
        ("folder", State.UNREADABLE, "Is a directory"),
        ("garbled", State.UNREADABLE, "JSON, but no sound notebook"),
        ("renamed", State.MISSING, "rename `Copy.ipynb` to `01_small.ipynb`"),
    ],
)
def test_what_cannot_be_graded_says_why(small, recorder, cells, state, note):
    notebook = filled(small.lesson, solved(small.lesson))
    if cells == "double":
        twin = dict(graded_cells(notebook)["check_double"]) | {"id": "twin"}
        notebook.cells.append(nbformat.from_dict(twin))
    if cells == "garbled":
        notebook.cells[1].metadata["nbgrader"] = ["exercise_double"]
    if cells == "foreign":
        for cell in notebook.cells:
            cell.metadata.pop("nbgrader", None)
    if cells == "other lesson":
        for cell in graded_cells(notebook).values():
            cell.metadata["nbgrader"]["grade_id"] += "_of_another"
    small.receives("ada", as_text(notebook))
    if cells == "folder":
        small.file("submitted", "ada").unlink()
        small.file("submitted", "ada").mkdir()
    if cells == "renamed":
        small.file("submitted", "ada").rename(
            small.file("submitted", "ada").with_name("Copy.ipynb")
        )
    code, said = small.types("grade")
    assert (code, recorder) == (0, ["bo"])
    assert f"ada: {state}: {note}" in said


def test_the_time_limit_is_the_settings_or_the_options(small):
    api = grading.open_classroom(small.folder)
    assert Execute(parent=api).timeout == 60
    api = grading.open_classroom(small.folder, timeout=7)
    assert Execute(parent=api).timeout == 7


def test_nbgrader_sees_the_same_class(small, recorder):
    small.types("grade")
    listing = [sys.executable, "-m", "nbgrader", "db", "student", "list"]
    listed = subprocess.run(listing, cwd=small.folder, capture_output=True, text=True).stdout
    assert "There are 2 students" in listed


def test_made_up_students_stay_out_of_a_real_class(small):
    code, said = small.types("sample")
    assert code == 1
    assert "beside `ada`" in said
    assert not small.file("submitted", "perfect").exists()
