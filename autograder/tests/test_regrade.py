"""After a test was corrected: what runs again, whose grade moves, and what a person gave stays."""

from datetime import datetime
from typing import Any

import nbformat
import pytest

from autograder.authoring.notebook import as_text, graded_cells
from autograder.authoring.samples import filled, solved
from autograder.gradebook import submission
from autograder.gradebook.classroom import SETTINGS, Classroom
from autograder.gradebook.regrade import PREVIEW
from autograder.gradebook.status import State
from autograder.paths import Course
from autograder.tests.conftest import SMALL, Instructor

pytestmark = pytest.mark.usefixtures("warm_executor")

ANSWER = "\n# %% answer why [markdown] points=3\n# BEGIN SOLUTION\n# Because.\n# END SOLUTION\n"
CORRECTED = ("assert double(3) == 6", "assert double(0.5) == 1")


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A small lesson with a written answer."""
    folder = tmp_path_factory.mktemp("regrade")
    (folder / "solutions").mkdir()
    (folder / "solutions" / "01_small.py").write_text(SMALL + ANSWER, encoding="utf-8")
    instructor = Instructor(Course(folder), folder / "class")
    code, said = instructor.types("release")
    assert code == 0, said
    return instructor


def hands_in(class_: Instructor, student: str, **sources: str) -> None:
    whole = solved(class_.lesson) | {"why": f"I am {student}."} | sources
    class_.receives(student, as_text(filled(class_.lesson, whole)))


@pytest.fixture(scope="module")
def graded_once(released, tmp_path_factory):
    """Ada solved all; bo's `double` only works for whole numbers; cleo wrote nothing."""
    class_ = released.copy(tmp_path_factory.mktemp("graded"))
    hands_in(class_, "ada")
    hands_in(class_, "bo", double="def double(x):\n    return int(x) * 2")
    class_.receives("cleo", as_text(filled(class_.lesson, {})))
    assert class_.types("grade")[0] == 0
    return class_


@pytest.fixture
def class_(graded_once, tmp_path):
    """The same, for a test that changes it."""
    return graded_once.copy(tmp_path)


@pytest.fixture
def ran(monkeypatch) -> list[str]:
    """Who is executed."""
    students: list[str] = []
    as_ever = submission.graded

    def graded(task: Any, *setup: Any) -> Any:
        students.append(task.student)
        return as_ever(task, *setup)

    monkeypatch.setattr("autograder.gradebook.pool.graded", graded)
    return students


def changed(class_: Instructor, old: str, new: str) -> str:
    """The lesson is changed and released again; what `release` says."""
    path = class_.lesson.path
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    code, said = class_.types("release")
    assert code == 0, said
    return said


def gradebook_of(class_: Instructor) -> Any:
    return Classroom.open(class_.folder).gradebook


def marks(class_: Instructor, student: str) -> dict[str, tuple]:
    """By cell: what the tests gave, what a person gave, a bonus, and whether a person must look."""
    name = class_.lesson.name
    with gradebook_of(class_) as gradebook:
        grades = gradebook.find_submission_notebook(name, name, student).grades
        return {
            g.name: (g.auto_score, g.manual_score, g.extra_credit, g.needs_manual_grade)
            for g in grades
        }


def mark(class_: Instructor, student: str, cell: str, **values: Any) -> None:
    """As formgrader saves what a person types; see its `GradeHandler.put`."""
    name = class_.lesson.name
    with gradebook_of(class_) as gradebook:
        grade: Any = gradebook.find_grade(cell, name, name, student)
        for field, value in values.items():
            setattr(grade, field, value)
        grade.needs_manual_grade = grade.manual_score is None and grade.auto_score is None
        gradebook.db.commit()


def on_disk(class_: Instructor) -> dict[str, bytes]:
    folder = class_.folder / "autograded"
    return {str(p): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


# --- a preview ------------------------------------------------------------------------------


def test_a_preview_says_whose_grade_would_move_and_records_nothing(class_, ran):
    said = changed(class_, *CORRECTED)
    again = f"`python -m autograder grade 01 --classroom {class_.folder}`"
    assert f"3 graded submissions are to be graded again: {again}" in said
    assert f"whose grade would change: {again[:-1]} --preview`" in said
    before = class_.gradebook(), on_disk(class_)
    code, said = class_.types("grade", "--preview")
    assert (code, sorted(ran)) == (0, ["ada", "bo", "cleo"])
    assert "01_small: 1 of 3 grades would change, 0 would be graded for the first time" in said
    (row,) = [line.split("│")[1:5] for line in said.splitlines() if line.startswith("│")]
    assert [cell.strip() for cell in row] == ["bo", "3", "1", "check_double 2 → 0"]
    assert f"nothing is recorded yet: {again} records it, and runs nothing again" in said
    assert (class_.gradebook(), on_disk(class_)) == before


def test_what_was_previewed_is_recorded_without_running_it_again(class_, ran):
    changed(class_, *CORRECTED)
    class_.types("grade", "--preview")
    ran.clear()
    assert "3 graded now" in class_.types("grade")[1]
    assert ran == []
    assert {s: r.points for s, r in class_.results().items()} == {"ada": 3, "bo": 1, "cleo": 0}
    assert marks(class_, "bo")["check_double"][0] == 0
    assert "AssertionError" in class_.file("autograded", "bo").read_text(encoding="utf-8")
    assert [*(class_.folder / PREVIEW).rglob("*.ipynb")] == []
    assert "01_small: 0 of 0 grades would change\n" in class_.types("grade", "--preview")[1]


def test_a_preview_goes_on_where_it_was_stopped(class_, ran):
    changed(class_, *CORRECTED)
    class_.types("grade", "--preview", "--student", "bo")
    assert ran == ["bo"]
    class_.types("grade", "--preview")
    assert sorted(ran) == ["ada", "bo", "cleo"]


def test_a_preview_of_tests_that_changed_since_counts_for_nothing(class_, ran):
    changed(class_, *CORRECTED)
    class_.types("grade", "--preview")
    changed(class_, CORRECTED[1], "assert double(4) == 8")
    ran.clear()
    assert "0 of 3 grades would change" in class_.types("grade", "--preview")[1]
    assert sorted(ran) == ["ada", "bo", "cleo"]
    class_.types("grade")
    assert class_.results()["bo"].points == 3


def test_who_handed_in_anew_is_previewed_and_who_never_was_graded_is_counted(class_, ran):
    hands_in(class_, "bo")
    hands_in(class_, "dan")
    class_.receives("eve", "no notebook")
    code, said = class_.types("grade", "--preview")
    assert (code, sorted(ran)) == (0, ["bo", "dan", "eve"])
    assert "0 of 1 grades would change, 1 would be graded for the first time" in said
    assert "eve: unreadable: no JSON" in said
    assert class_.results()["dan"].state == State.UNGRADED


def test_again_and_preview_exclude_each_other(class_):
    code, said = class_.types("grade", "--again", "--preview")
    assert (code, "not allowed with argument" in said) == (2, True)


# --- only what changed ----------------------------------------------------------------------


def test_other_points_move_grades_and_run_nothing(class_, ran):
    changed(class_, "check double points=2", "check double points=5")
    said = class_.types("grade", "--preview")[1]
    assert "check_double 2 → 5" in said
    class_.types("grade")
    assert ran == []
    assert {s: r.points for s, r in class_.results().items()} == {"ada": 6, "bo": 6, "cleo": 0}
    assert {r.state for r in class_.results().values()} == {State.GRADED, State.NEEDS_MARKING}


def test_another_hint_in_a_stub_runs_nothing(class_, ran):
    changed(class_, "def half(x):\n", 'def half(x):\n    """Half of it."""\n')
    class_.types("grade")
    assert ran == []


def test_a_run_that_was_cut_short_is_not_taken_over(class_, ran):
    hands_in(class_, "bo", double="import os\nos._exit(1)")
    class_.types("grade")
    ran.clear()
    changed(class_, "check double points=2", "check double points=5")
    class_.types("grade")
    assert ran == ["bo"]


def test_a_file_beside_it_that_changed_runs_it(class_, ran):
    class_.file("submitted", "bo").with_name("words.txt").write_text("new", encoding="utf-8")
    class_.types("grade")
    assert ran == ["bo"]


# --- what a person gave ---------------------------------------------------------------------


@pytest.fixture
def marked(class_):
    """Marks, a bonus and comments, given in formgrader."""
    mark(class_, "ada", "answer_why", manual_score=2.5, extra_credit=0.5)
    mark(class_, "bo", "answer_why", manual_score=1)
    mark(class_, "bo", "check_double", manual_score=1.5)
    name = class_.lesson.name
    with gradebook_of(class_) as gradebook:
        for cell in ("answer_why", "exercise_double"):
            comment: Any = gradebook.find_comment(cell, name, name, "bo")
            comment.manual_comment = f"On {cell}."
        gradebook.db.commit()
    return class_


def test_marks_bonuses_and_comments_stay(marked):
    changed(marked, *CORRECTED)
    said = marked.types("grade", "--preview")[1]
    assert "0 of 3 grades would change" in said
    assert "check_double 2 → 0, but the manual mark stays" in said
    assert marked.types("grade")[0] == 0
    assert marks(marked, "ada")["answer_why"] == (None, 2.5, 0.5, False)
    assert marks(marked, "bo")["answer_why"] == (None, 1, None, False)
    assert marks(marked, "bo")["check_double"] == (0, 1.5, None, True)  # as nbgrader has it
    assert {s: r.points for s, r in marked.results().items()} == {"ada": 6, "bo": 3.5, "cleo": 0}
    assert marked.results()["ada"].state == State.GRADED
    name = marked.lesson.name
    with gradebook_of(marked) as gradebook:
        for cell in ("answer_why", "exercise_double"):
            assert gradebook.find_comment(cell, name, name, "bo").comment == f"On {cell}."


def test_an_answer_waits_for_a_person_until_it_is_marked(class_):
    assert marks(class_, "ada")["answer_why"] == (None, None, None, True)
    assert class_.results()["ada"].state == State.NEEDS_MARKING
    changed(class_, *CORRECTED)
    class_.types("grade")
    assert marks(class_, "ada")["answer_why"] == (None, None, None, True)
    # what formgrader lists
    with gradebook_of(class_) as gradebook:
        rows = gradebook.submission_dicts(class_.lesson.name)
    assert {r["student"]: r["needs_manual_grade"] for r in rows}["ada"]


def test_a_marked_answer_that_was_written_anew_waits_again_and_keeps_its_mark(marked):
    hands_in(marked, "ada", why="I thought again.")
    said = marked.types("grade", "--preview")[1]
    assert "answer_why: answer changed" in said
    marked.types("grade")
    assert marks(marked, "ada")["answer_why"] == (None, 2.5, 0.5, True)
    changed(marked, *CORRECTED)
    marked.types("grade")
    assert marks(marked, "ada")["answer_why"] == (None, 2.5, 0.5, True)  # nobody looked yet
    mark(marked, "ada", "answer_why", manual_score=3)
    changed(marked, *reversed(CORRECTED))
    marked.types("grade")
    assert marks(marked, "ada")["answer_why"] == (None, 3, 0.5, False)


def test_an_answer_that_changed_twice_waits_though_the_first_change_was_not_recorded(
    marked, monkeypatch
):
    hands_in(marked, "ada", why="I thought again.")
    monkeypatch.setattr("autograder.gradebook.recorder.Recorder.record", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        marked.types("grade")
    monkeypatch.undo()
    hands_in(marked, "ada", why="I thought again.", half="half = 0.5 .__mul__")
    marked.types("grade")
    assert marks(marked, "ada")["answer_why"] == (None, 2.5, 0.5, True)


def test_another_exercise_handed_in_anew_leaves_the_answer_s_mark(marked):
    hands_in(marked, "ada", half="half = 0.5 .__mul__")
    marked.types("grade")
    assert marks(marked, "ada")["answer_why"] == (None, 2.5, 0.5, False)


@pytest.mark.parametrize("left", ["gone", "{", "[]", "\xff"])
def test_who_cannot_know_asks_a_person(marked, left):
    path = marked.file("autograded", "ada").with_name(".answers.json")
    path.unlink()
    if left != "gone":
        path.write_bytes(left.encode("latin-1"))
    assert marked.types("grade", "--again")[0] == 0
    assert marks(marked, "ada")["answer_why"] == (None, 2.5, 0.5, True)


def test_grading_all_again_keeps_marks(marked, ran):
    marked.types("grade", "--again")
    assert sorted(ran) == ["ada", "bo", "cleo"]
    assert marks(marked, "ada")["answer_why"] == (None, 2.5, 0.5, False)


def test_a_penalty_for_being_late_follows_the_new_points(class_):
    with (class_.folder / SETTINGS).open("a", encoding="utf-8") as settings:
        settings.write("c.LateSubmissionPlugin.penalty_method = 'zero'\n")
    stamp = class_.file("submitted", "bo").with_name("timestamp.txt")
    stamp.write_text("2026-09-02 12:00:00 UTC", encoding="utf-8")
    with gradebook_of(class_) as gradebook:
        due: Any = {"duedate": datetime(2026, 9, 1)}
        gradebook.update_or_create_assignment(class_.lesson.name, **due)
    changed(class_, *CORRECTED)
    assert "check_double 2 → 0" in class_.types("grade", "--preview")[1]
    class_.types("grade")
    name = class_.lesson.name
    with gradebook_of(class_) as gradebook:
        submission_ = gradebook.find_submission(name, "bo")
        assert (submission_.score, submission_.late_submission_penalty) == (1, 1)


# --- interrupted ----------------------------------------------------------------------------


def test_an_interrupted_regrade_loses_nothing_that_was_graded(class_, monkeypatch):
    changed(class_, *CORRECTED)
    before = class_.gradebook()
    notebooks = {s: class_.file("autograded", s).read_bytes() for s in ("ada", "bo", "cleo")}

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("autograder.gradebook.pool.graded", interrupted)
        for options in ([], ["--again"], ["--preview"]):
            assert class_.types("grade", *options)[0] == 130
            assert class_.gradebook() == before
            for student, notebook in notebooks.items():
                assert class_.file("autograded", student).read_bytes() == notebook
    assert class_.types("grade")[0] == 0
    assert class_.results()["bo"].points == 1


def test_a_preview_survives_what_stops_its_recording(class_, ran, monkeypatch):
    changed(class_, *CORRECTED)
    class_.types("grade", "--preview")
    with monkeypatch.context() as patch:
        patch.setattr("autograder.gradebook.recorder.Recorder.record", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            class_.types("grade")
    ran.clear()
    class_.types("grade")
    assert ran == []
    assert class_.results()["bo"].points == 1


def test_the_notebook_shows_the_new_points(class_):
    changed(class_, "check double points=2", "check double points=5")
    class_.types("grade")
    notebook = nbformat.read(class_.file("autograded", "bo"), as_version=4)
    nbformat.validate(notebook)
    check = graded_cells(notebook)["check_double"]
    assert (check.metadata.nbgrader.points, check.execution_count) == (5, 3)
