"""Recording: the gradebook that nbgrader would leave, whatever comes in between."""

import dataclasses
import errno
import os
import sqlite3
from datetime import datetime
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbgrader.api import Comment, Grade, SubmittedAssignment
from nbgrader.plugins import LateSubmissionPlugin
from nbgrader.utils import compute_checksum, determine_grade, is_grade, is_solution
from sqlalchemy.exc import OperationalError

from autograder.authoring.notebook import as_text
from autograder.authoring.samples import filled, solved
from autograder.gradebook import recorder
from autograder.gradebook.classroom import LOG, SETTINGS, Classroom
from autograder.gradebook.recorder import Recorder
from autograder.gradebook.release import release
from autograder.gradebook.result import Finished
from autograder.gradebook.result_store import MARK, RESULT, keep
from autograder.paths import Course
from autograder.tests.conftest import SMALL, Instructor
from autograder.tests.support.nbgrader_parity import EXECUTES

LESSON = "01_small"
ANSWER = "\n# %% answer why [markdown] points=3\n# BEGIN SOLUTION\nBecause.\n# END SOLUTION\n"
STUDENTS = ["ada", "bo", "cleo", "dan"]


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory):
    """A class with a due date: ada and dan solved all, bo nothing, and cleo a part, too late."""
    folder = tmp_path_factory.mktemp("recorder")
    (folder / "solutions").mkdir()
    (folder / "solutions" / f"{LESSON}.py").write_text(SMALL + ANSWER, encoding="utf-8")
    instructor = Instructor(Course(folder), folder / "class")
    classroom = Classroom.open(instructor.folder)
    release(classroom, instructor.lesson)
    with (instructor.folder / SETTINGS).open("a", encoding="utf-8") as settings:
        settings.write(f"{EXECUTES}c.LateSubmissionPlugin.penalty_method = 'zero'\n")
    with classroom.gradebook as gradebook:
        due: Any = {"duedate": datetime(2026, 9, 1)}
        gradebook.update_or_create_assignment(LESSON, **due)
    everything = solved(instructor.lesson)
    answers = {"bo": {}, "cleo": everything | {"double": "double = abs"}, "dan": everything}
    times = {"ada": "2026-08-31 23:00:00 UTC", "cleo": "2026-09-02T00:00:00+02:00", "bo": ""}
    for student in STUDENTS:
        notebook = filled(instructor.lesson, answers.get(student, everything))
        instructor.receives(student, as_text(notebook))
        if student in times:
            time = instructor.file("submitted", student).with_name("timestamp.txt")
            time.write_text(times[student], encoding="utf-8")
    return instructor


def results_of(classroom: Classroom, lesson: str, student: str) -> Finished:
    """What nbgrader made of a submission, from the notebook that it left."""
    text = classroom.path("autograded", lesson, student).read_text(encoding="utf-8")
    cells = [c for c in nbformat.reads(text, as_version=4).cells if "nbgrader" in c.metadata]
    about = [(cell.metadata.nbgrader, cell) for cell in cells]
    scores = {a.grade_id: determine_grade(cell)[0] for a, cell in about if is_grade(cell)}
    same = [a.grade_id for a, c in about if is_solution(c) and a.checksum == compute_checksum(c)]
    return Finished(
        student, f"key of {student}", "graded", notebook=text, scores=scores, untouched=tuple(same)
    )


def rows(classroom: Classroom) -> dict[str, list]:
    """All that grading writes into a gradebook, by names."""
    with classroom.gradebook as gradebook:
        db: Any = gradebook.db
        found: dict[str, list] = {
            "students": [(s.id, s.first_name) for s in gradebook.students],
            "submissions": [
                (s.student_id, s.timestamp, s.extension, s.score)
                for s in db.query(SubmittedAssignment)
            ],
            "notebooks": [
                (s.student_id, n.name, n.flagged, n.late_submission_penalty)
                for s in db.query(SubmittedAssignment)
                for n in s.notebooks
            ],
            "grades": [
                (g.student.id, g.name, g.auto_score, g.manual_score, g.needs_manual_grade)
                for g in db.query(Grade)
            ],
            "comments": [
                (c.student.id, c.name, c.auto_comment, c.manual_comment) for c in db.query(Comment)
            ],
        }
    return {name: sorted(values, key=str) for name, values in found.items()}


def mark_by_hand(classroom: Classroom) -> None:
    """What a person does between two gradings."""
    with classroom.gradebook as gradebook:
        about = (LESSON, LESSON, "bo")
        grade: Any = gradebook.find_grade("check_half", *about)
        grade.manual_score, grade.needs_manual_grade = 0.5, False
        comment: Any = gradebook.find_comment("exercise_half", *about)
        comment.manual_comment = "Well begun."
        gradebook.db.commit()
        gradebook.grant_extension(LESSON, "cleo", days=2)


def grade_by_nbgrader(classroom: Classroom, *students: str) -> None:
    for student in students:
        outcome = classroom.api.autograde(LESSON, student)
        assert outcome["success"], outcome


@dataclasses.dataclass(frozen=True)
class Class:
    """A class that handed in, and what nbgrader made of the same one."""

    classroom: Classroom
    results: list[Finished]

    def keep(self, finished: Finished) -> None:
        keep(self.classroom.path("autograded", LESSON, finished.student), finished)

    def record(self) -> None:
        with Recorder(self.classroom, LESSON) as opened:
            opened.record(self.results)

    def mark(self, student: str) -> str:
        path = self.classroom.path("autograded", LESSON, student).with_name(MARK)
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def marks(self) -> list[str]:
        return [self.mark(student) for student in STUDENTS]


@pytest.fixture(scope="module")
def by_nbgrader(handed_in, tmp_path_factory):
    """nbgrader's results, its gradebook, and its gradebook after marking and grading again."""
    classroom = Classroom.open(handed_in.copy(tmp_path_factory.mktemp("stock")).folder)
    grade_by_nbgrader(classroom, *STUDENTS)
    results = [results_of(classroom, LESSON, student) for student in STUDENTS]
    once = rows(classroom)
    mark_by_hand(classroom)
    grade_by_nbgrader(classroom, "bo", "cleo")
    return results, once, rows(classroom)


@pytest.fixture
def ours(handed_in, by_nbgrader, tmp_path):
    """The class as it handed in, with nbgrader's results kept, and nothing recorded."""
    classroom = Classroom.open(handed_in.copy(tmp_path).folder)
    for finished in by_nbgrader[0]:
        keep(classroom.path("autograded", LESSON, finished.student), finished)
    return Class(classroom, by_nbgrader[0])


# --- the same gradebook --------------------------------------------------------------------


def test_the_gradebook_is_as_nbgrader_would_leave_it(ours, by_nbgrader):
    ours.record()
    assert rows(ours.classroom) == by_nbgrader[1]
    penalties = {student: penalty for student, _, _, penalty in rows(ours.classroom)["notebooks"]}
    assert penalties == {"ada": None, "bo": None, "cleo": 1, "dan": None}
    assert ours.marks() == [finished.key for finished in ours.results]


def test_recording_again_changes_nothing(ours):
    ours.record()
    before = dump(ours.classroom)
    ours.record()
    assert dump(ours.classroom) == before


def test_what_was_marked_by_hand_stays(ours, by_nbgrader):
    ours.record()
    mark_by_hand(ours.classroom)
    ours.record()
    assert rows(ours.classroom) == by_nbgrader[2]
    grades = {row[:2]: row[2:] for row in rows(ours.classroom)["grades"]}
    assert grades["bo", "check_half"] == (0, 0.5, True)


def test_nbgrader_writes_feedback_on_it(ours):
    ours.record()
    outcome = ours.classroom.api.generate_feedback(LESSON, "cleo")
    assert outcome["success"], outcome
    page = ours.classroom.path("feedback", LESSON, "cleo").with_suffix(".html")
    assert "Score: <strong>0 of 6</strong>" in page.read_text(encoding="utf-8")


def test_a_cell_that_is_new_in_the_lesson_gets_its_rows(ours, by_nbgrader):
    ours.record()
    with ours.classroom.gradebook as gradebook:
        about = (LESSON, LESSON, "bo")
        gradebook.db.delete(gradebook.find_grade("check_half", *about))
        gradebook.db.delete(gradebook.find_comment("exercise_half", *about))
        gradebook.db.commit()
    ours.record()
    assert rows(ours.classroom) == by_nbgrader[1]


def test_a_cell_without_a_result_waits_for_a_person(ours):
    with Recorder(ours.classroom, LESSON) as opened:
        opened.record([dataclasses.replace(finished, scores={}) for finished in ours.results])
    assert {row[2:] for row in rows(ours.classroom)["grades"]} == {(None, None, True)}


def test_a_later_result_takes_the_place_of_an_earlier_one(ours):
    ours.record()
    better = {"check_double": 2.0, "check_half": 1.0, "answer_why": None}
    bo = dataclasses.replace(ours.results[1], scores=better, untouched=(), key="later")
    ours.keep(bo)
    with Recorder(ours.classroom, LESSON) as opened:
        opened.record([ours.results[1], bo])
    found = rows(ours.classroom)
    scores = {name: score for student, name, score, *_ in found["grades"] if student == "bo"}
    assert scores == better
    assert {text for student, _, text, _ in found["comments"] if student == "bo"} == {None}
    assert ours.mark("bo") == "later"


@pytest.mark.parametrize("time", ["yesterday", "\xff", "9" * 400, "2026-13-01", "", "a folder"])
def test_a_time_that_nobody_can_read_stops_nobody(ours, time):
    path = ours.classroom.path("submitted", LESSON, "cleo").with_name("timestamp.txt")
    path.unlink()
    if time == "a folder":
        path.mkdir()
    else:
        path.write_bytes(time.encode("latin-1"))
    ours.record()
    assert {student: time for student, time, *_ in rows(ours.classroom)["submissions"]} == {
        "ada": datetime(2026, 8, 31, 23),
        "bo": None,
        "cleo": None,
        "dan": None,
    }
    log = (Path(ours.classroom.api.coursedir.root) / LOG).read_text(encoding="utf-8")
    assert log.count("no time in") == 2  # bo's file is empty; ada's is sound, and dan has none
    assert f"no time in {path}" in log


def test_a_time_that_is_gone_stays_recorded(ours, by_nbgrader):
    ours.record()
    for student in ("ada", "cleo"):
        ours.classroom.path("submitted", LESSON, student).with_name("timestamp.txt").unlink()
    ours.record()
    assert rows(ours.classroom) == by_nbgrader[1]


@pytest.mark.parametrize(("asked", "given"), [(None, None), (-1, 0), (0.5, 0.5), (100, 1)])
def test_a_penalty_is_what_the_plugin_asks_within_the_score(ours, monkeypatch, asked, given):
    monkeypatch.setattr(LateSubmissionPlugin, "late_submission_penalty", lambda *_: asked)
    ours.record()
    penalties = {student: penalty for student, _, _, penalty in rows(ours.classroom)["notebooks"]}
    assert penalties == {"ada": None, "bo": None, "cleo": given, "dan": None}


def test_without_a_due_date_nobody_is_late(ours):
    with ours.classroom.gradebook as gradebook:
        never: Any = {"duedate": None}
        gradebook.update_or_create_assignment(LESSON, **never)
    ours.record()
    assert {penalty for *_, penalty in rows(ours.classroom)["notebooks"]} == {None}


# --- what comes in between -----------------------------------------------------------------


def dump(classroom: Classroom) -> list[str]:
    """Everything in the gradebook."""
    course: Any = classroom.api.coursedir
    connection = sqlite3.connect(course.db_url.removeprefix("sqlite:///").partition("?")[0])
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


def test_a_locked_gradebook_is_told_and_nothing_is_recorded(ours):
    before = dump(ours.classroom)
    course: Any = ours.classroom.api.coursedir
    other = sqlite3.connect(course.db_url.removeprefix("sqlite:///"))
    course.db_url += "?timeout=0"
    with Recorder(ours.classroom, LESSON) as opened:
        other.execute("begin immediate")
        with pytest.raises(OperationalError, match="database is locked"):
            opened.record(ours.results)
        other.rollback()
        other.close()
        assert (dump(ours.classroom), ours.marks()) == (before, [""] * 4)
        opened.record(ours.results)
    assert ours.marks() == [finished.key for finished in ours.results]


def test_a_full_disk_is_told_and_nothing_is_recorded(ours):
    before = dump(ours.classroom)
    many = [dataclasses.replace(ours.results[0], student=f"s{number}") for number in range(200)]
    with Recorder(ours.classroom, LESSON) as opened:
        connection: Any = opened._db.connection()
        pages = connection.exec_driver_sql("pragma page_count").scalar()
        connection.exec_driver_sql(f"pragma max_page_count = {pages + 1}")
        with pytest.raises(OperationalError, match="full"):
            opened.record(many)
    assert dump(ours.classroom) == before


def test_killed_before_the_commit_nothing_is_recorded(ours, monkeypatch):
    before = dump(ours.classroom)
    monkeypatch.setattr(Recorder, "_save_penalties", interrupt)
    with Recorder(ours.classroom, LESSON) as opened:
        with pytest.raises(KeyboardInterrupt):
            opened.record(ours.results)
        monkeypatch.undo()
        # nothing is left over for what is recorded next
        opened.record([])
    assert (dump(ours.classroom), ours.marks()) == (before, [""] * 4)


def test_killed_before_the_marks_it_is_recorded_again(ours, by_nbgrader, monkeypatch):
    monkeypatch.setattr(recorder, "write", interrupt)
    with pytest.raises(KeyboardInterrupt):
        ours.record()
    assert ours.marks() == [""] * 4
    monkeypatch.undo()
    recorded = dump(ours.classroom)
    left = [ours.classroom.submission(LESSON, student).kept for student in STUDENTS]
    with Recorder(ours.classroom, LESSON) as opened:
        opened.record([finished for finished in left if finished])
    assert dump(ours.classroom) == recorded
    assert rows(ours.classroom) == by_nbgrader[1]
    assert ours.marks() == [finished.key for finished in ours.results]


def interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


# --- what lies beside the notebook ---------------------------------------------------------


def files(ours: Class, student: str) -> set[str]:
    return {
        path.name for path in ours.classroom.path("autograded", LESSON, student).parent.iterdir()
    }


def test_what_is_kept_is_found_again(ours):
    ada = dataclasses.replace(
        ours.results[0], student="eve", note="ñ", repairs=("a", "b"), seconds=1.5, cpu=0.5
    )
    assert ours.classroom.submission(LESSON, "eve").kept is None
    ours.keep(ada)
    assert ours.classroom.submission(LESSON, "eve").kept == dataclasses.replace(ada, notebook="")
    assert ours.classroom.path("autograded", LESSON, "eve").read_text("utf-8") == ada.notebook
    assert files(ours, "eve") == {f"{LESSON}.ipynb", RESULT}


@pytest.mark.parametrize("left", [b"", b"{", b"null", b"{}", b'{"repairs": 5}', b"\xff"])
def test_a_broken_result_counts_as_none(ours, left):
    path = ours.classroom.path("autograded", LESSON, "ada")
    path.with_name(RESULT).write_bytes(left)
    assert ours.classroom.submission(LESSON, "ada").kept is None


def test_a_result_without_its_notebook_counts_as_none(ours):
    ours.classroom.path("autograded", LESSON, "ada").unlink()
    assert ours.classroom.submission(LESSON, "ada").kept is None


@pytest.mark.parametrize("written", [0, 1])
def test_a_disk_that_is_full_leaves_no_half_results(ours, monkeypatch, written):
    ours.record()
    left = iter(range(written))
    fsync = os.fsync

    def full(descriptor: int) -> None:
        if next(left, None) is None:
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        ours.keep(ours.results[0])
    # nothing says that the new notebook is executed, or recorded
    assert files(ours, "ada") == {f"{LESSON}.ipynb"}
    assert (ours.mark("ada"), ours.classroom.submission(LESSON, "ada").kept) == ("", None)


def test_what_no_file_can_hold_is_kept_as_a_question_mark(ours):
    ours.keep(dataclasses.replace(ours.results[0], notebook='"\ud800"'))
    assert ours.classroom.path("autograded", LESSON, "ada").read_text("utf-8") == '"?"'
