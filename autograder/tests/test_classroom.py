"""A class over time: grading again, going on after an interruption, releasing again, mistakes."""

import contextlib
import os
import sqlite3
import subprocess
import sys
from typing import Any

import nbformat
import pytest

from autograder.authoring.notebook import as_text, graded_cells
from autograder.authoring.samples import filled, solved
from autograder.commands.grade_command import SHORT
from autograder.execution.executor import Limits
from autograder.gradebook import submission
from autograder.gradebook.classroom import SETTINGS, Classroom
from autograder.gradebook.grade import ExecutionConfig
from autograder.gradebook.guard import LOCKED
from autograder.gradebook.result import Finished, State, Task

# --- grading again, and going on ---------------------------------------------------------


def test_what_is_graded_is_not_graded_again(small, recorder):
    small.types("grade")
    assert recorder == ["ada", "bo"]
    before = small.gradebook()
    small.receives("cleo", "no notebook")
    code, said = small.types("grade")
    assert (code, recorder) == (0, ["ada", "bo"])
    assert "0 graded now" in said
    assert small.gradebook() == before
    assert small.types("grade", "--again", "--student", "bo")[0] == 0
    assert recorder == ["ada", "bo", "bo"]


def test_a_failure_of_the_grader_is_told_and_stops_nobody(small, recorder, monkeypatch):
    def graded(task: Task, *setup: Any) -> Finished:
        if task.student == "ada":
            raise RuntimeError("no room\non the disk")
        return as_ever(task, *setup)

    as_ever = submission.graded
    monkeypatch.setattr(submission, "graded", graded)
    code, said = small.types("grade")
    assert code == 1
    assert "ada: failed: RuntimeError: no room on the disk" in said
    assert small.report()["ada"]["state"] == "failed"
    assert small.results()["ada"].state == State.UNGRADED
    assert small.results()["bo"].state == State.GRADED


def test_what_is_handed_in_again_is_graded_again_and_keeps_its_marks(small, recorder):
    small.types("grade")
    api = Classroom.open(small.folder)
    with api.gradebook as gradebook:
        grade: Any = gradebook.find_grade(
            "check_double", small.lesson.name, small.lesson.name, "ada"
        )
        grade.manual_score = 0.5
        comment: Any = gradebook.find_comment(
            "exercise_double", small.lesson.name, small.lesson.name, "ada"
        )
        comment.manual_comment = "see me"
        gradebook.db.commit()
    small.receives("ada", small.file("submitted", "ada").read_text(encoding="utf-8") + "\n")
    assert small.results()["ada"].state == State.UNGRADED
    assert "1 graded now" in small.types("grade")[1]
    assert recorder == ["ada", "bo", "ada"]
    assert small.results()["ada"].points == 1.5
    with api.gradebook as gradebook:
        comment = gradebook.find_comment(
            "exercise_double", small.lesson.name, small.lesson.name, "ada"
        )
        assert comment.comment == "see me"


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


def test_the_report_says_what_was_repaired(small, recorder):
    notebook = filled(small.lesson, solved(small.lesson))
    twin = dict(graded_cells(notebook)["check_double"]) | {"id": "twin"}
    notebook.cells.append(nbformat.from_dict(twin))
    notebook.cells.remove(graded_cells(notebook)["check_half"])
    small.receives("ada", as_text(notebook))
    small.receives("cleo", "no notebook")
    code, said = small.types("grade")
    repairs = ["`check_double` is there 2 times: the last one counts"]
    repairs.append("`check_half` was deleted: put back")
    assert (code, f"ada: graded: repaired: {'; '.join(repairs)}" in said) == (0, True)
    report = small.report()
    assert [report[name]["repairs"] for name in ("ada", "bo", "cleo")] == [repairs, [], []]
    assert [report[name]["points"] for name in ("ada", "bo", "cleo")] == [3, 3, None]
    assert [report[name]["state"] for name in ("ada", "bo", "cleo")] == [
        "graded",
        "graded",
        "unreadable",
    ]


def test_of_a_large_class_only_those_who_need_somebody_are_shown(small, recorder):
    for number in range(SHORT):
        small.receives(f"student-{number:02}")
    code, said = small.types("grade")
    assert (code, "01_small: 62 graded\n" in said, "student-00" in said) == (0, True, False)
    assert len(small.report()) == SHORT + 2
    for number in range(2):
        small.receives(f"wrong-{number:02}", "no notebook")
    said = small.types("grade")[1]
    assert "01_small: 62 graded, 2 unreadable\n" in said
    assert "wrong-01: unreadable: no JSON" in said
    assert "student-00" not in said
    for number in range(SHORT):
        small.receives(f"wrong-{number:02}", "no notebook")
    said = small.types("grade")[1]
    assert "60 of them have a note" not in said
    small.receives(f"wrong-{SHORT}", "no notebook")
    said = small.types("grade")[1]
    assert "61 of them have a note: the first 60 are here, all in the report" in said
    assert f"wrong-{SHORT - 1}: unreadable" in said
    assert f"wrong-{SHORT}:" not in said


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
    again = f"`python -m autograder grade 01 --classroom {small.folder}`"
    assert (code, f"1 graded submission is to be graded again: {again}" in said) == (0, True)
    assert "half(4) == 2" in small.file("release").read_text(encoding="utf-8")
    assert small.results()["ada"].state == State.UNGRADED
    recorder.clear()
    assert small.types("grade")[0] == 0
    assert recorder == ["ada", "bo"]
    code, said = small.types("release")
    assert (code, "graded again" in said) == (0, False)


def test_a_release_that_fails_keeps_the_earlier_one(small):
    kept = {step: small.file(step).read_bytes() for step in ("source", "release")}
    change(small, "half(2) == 1", "half(4) == 2")
    address = f"sqlite:///{small.folder}/gradebook.db"
    with (small.folder / SETTINGS).open("a", encoding="utf-8") as settings:
        settings.write(f"\nc.CourseDirectory.db_url = '{address}?timeout=0.1'\n")
    formgrader = sqlite3.connect(small.folder / "gradebook.db", isolation_level=None)
    with contextlib.closing(formgrader):
        formgrader.execute("BEGIN EXCLUSIVE")
        code, said = small.types("release")
    assert (code, ": ".join(LOCKED) in said) == (1, True)
    assert {step: small.file(step).read_bytes() for step in kept} == kept
    assert small.types("release")[0] == 0
    assert "half(4) == 2" in small.file("release").read_text(encoding="utf-8")


# --- the command line --------------------------------------------------------------------


@pytest.mark.parametrize("command", ["grade", "feedback", "export"])
def test_nothing_works_before_the_release(small, command, tmp_path):
    elsewhere = type(small)(small.course, tmp_path / "elsewhere")
    code, said = elsewhere.types(command, "01")
    fix = f"`python -m autograder release 01 --classroom {elsewhere.folder}`"
    assert (code, said) == (1, f"no lesson 01 is released: run {fix}")
    assert not elsewhere.folder.exists()


def test_an_unknown_student_is_named(small):
    assert small.types("grade", "--student", "eve") == (1, "no student `eve`; there are ada, bo")


@pytest.mark.parametrize(
    ("cells", "state", "note"),
    [
        ("foreign", State.UNREADABLE, "none of the lesson's cells"),
        ("other lesson", State.UNREADABLE, "none of the lesson's cells"),
        ("folder", State.UNREADABLE, "a folder called `01_small.ipynb`, and no notebook in it"),
        ("garbled", State.UNREADABLE, "JSON, but no sound notebook"),
        ("script", State.MISSING, "no notebook there, but `lesson.py`: ask for the .ipynb"),
    ],
)
def test_what_cannot_be_graded_says_why(small, recorder, cells, state, note):
    notebook = filled(small.lesson, solved(small.lesson))
    if cells == "garbled":
        notebook.cells[1].cell_type = "heading"
    if cells == "foreign":
        for cell in notebook.cells:
            cell.metadata.pop("nbgrader", None)
            cell.source, cell["id"] = "1 + 1", f"new-{cell['id']}"
    if cells == "other lesson":
        for cell in graded_cells(notebook).values():
            cell.metadata["nbgrader"]["grade_id"] += "_of_another"
    small.receives("ada", as_text(notebook))
    if cells == "folder":
        small.file("submitted", "ada").unlink()
        small.file("submitted", "ada").mkdir()
    if cells == "script":
        small.file("submitted", "ada").rename(small.file("submitted", "ada").with_name("lesson.py"))
    code, said = small.types("grade")
    assert (code, recorder) == (0, ["bo"])
    assert f"ada: {state}: {note}" in said


def test_the_limits_are_the_options(small, monkeypatch):
    hows: list[ExecutionConfig] = []
    monkeypatch.setattr(
        "autograder.commands.grade_command.grade",
        lambda classroom, lesson, todo, how, stop: hows.append(how) or [],
    )
    small.types("grade")
    small.types("grade", "--timeout", "7", "--memory", "0.5", "--jobs", "3", "--no-sandbox")
    assert hows == [
        ExecutionConfig(Limits(60, 2 << 30), os.cpu_count() or 1),
        ExecutionConfig(Limits(7, 1 << 29), 3, sandboxed=False),
    ]


def test_nbgrader_sees_the_same_class(small, recorder):
    small.types("grade")
    listing = [sys.executable, "-m", "nbgrader", "db", "student", "list"]
    listed = subprocess.run(listing, cwd=small.folder, capture_output=True, text=True).stdout
    assert "There are 2 students" in listed


def test_made_up_students_stay_out_of_a_real_class(small):
    code, said = small.types("sample")
    assert code == 1
    assert "mixed with `ada`" in said
    assert not small.file("submitted", "perfect").exists()


def test_a_link_in_place_of_a_notebook_is_not_followed(small, recorder):
    secret = small.folder / "somebody_elses.ipynb"
    small.file("submitted", "bo").rename(secret)
    small.file("submitted", "bo").symlink_to(secret)
    code, said = small.types("grade")
    assert (code, recorder) == (0, ["ada"])
    assert "bo: unreadable: a link in place of a file" in said


def test_a_folder_whose_name_no_database_takes_stops_nobody(small, recorder):
    folder = small.file("submitted", "bo").parent.parent
    folder.rename(folder.with_name("b\udcf6"))
    code, said = small.types("grade")
    assert (code, recorder) == (0, ["ada"])
    assert "rename the folder `b?`" in said


def test_a_changed_file_beside_the_notebook_is_graded_anew(small, recorder):
    small.types("grade")
    small.file("submitted", "bo").with_name("words.txt").write_text("new", encoding="utf-8")
    assert "1 graded now" in small.types("grade")[1]
    assert recorder == ["ada", "bo", "bo"]
    assert "0 graded now" in small.types("grade")[1]
