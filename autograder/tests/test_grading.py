"""Grading: what each kind of submission earns, and what students and instructors get to see."""

import csv
import html
import re

import nbformat
import pytest
from nbgrader.apps.api import NbGraderAPI

from autograder.authoring.answer_bank import Answer
from autograder.authoring.lesson import all_lessons, read_lesson
from autograder.authoring.notebook import as_text, graded_cells, source_notebook, student_version
from autograder.authoring.prove import BankRunner
from autograder.authoring.samples import SAMPLES, filled, solved
from autograder.gradebook.classroom import LOG, Classroom
from autograder.gradebook.release import release
from autograder.gradebook.status import State

NEED_SOFTMAX = {
    "softmax",
    "similarity_attention",
    "scaled_dot_product_attention",
    "repaired_weights",
    "repaired_lambdas",
    "SelfAttention",
}
WRONG = {"similarity_attention", "project_qkv", "flying_output", "repaired_weights"}
LEFT_OUT = {"SelfAttention"}
EVERYTHING = NEED_SOFTMAX | WRONG | {"arrows_output", "programmed_head", "repaired_scores"}
# student -> the state, and the exercises that lose points
EXPECTED = {
    "perfect": (State.NEEDS_MARKING, set()),
    "colab_saved": (State.NEEDS_MARKING, set()),
    "untouched": (State.GRADED, EVERYTHING),
    "broken_syntax": (State.NEEDS_MARKING, NEED_SOFTMAX),
    "infinite_loop": (State.TIMED_OUT, {"similarity_attention"}),
    "partly_right": (State.NEEDS_MARKING, WRONG | LEFT_OUT),
    "reuses_a_name": (State.NEEDS_MARKING, set()),
}


@pytest.mark.parametrize("path", all_lessons(), ids=lambda path: path.stem)
def test_nbgrader_releases_what_the_build_writes(path, tmp_path):
    lesson = read_lesson(path)
    classroom = Classroom.open(tmp_path)
    release(classroom, lesson)
    built = as_text(student_version(source_notebook(lesson)))
    assert classroom.path("release", lesson.name).read_bytes() == built.encode()


@pytest.mark.parametrize("student", EXPECTED)
def test_a_submission_loses_the_points_of_what_is_wrong_in_it(graded, student):
    state, lost = EXPECTED[student]
    result, lesson = graded.results()[student], graded.lesson
    assert result.state == state
    with Classroom.open(graded.folder).gradebook as gradebook:
        submission = gradebook.find_submission_notebook(lesson.name, lesson.name, student)
        scores = {grade.name: grade.score for grade in submission.grades}
    failed = [check for check in lesson.of("check") if scores[check.grade_id] == 0]
    assert {lesson.exercise_of(check) for check in failed} == lost
    by_hand = sum(answer.points for answer in lesson.of("answer"))
    assert result.points == result.max_points - by_hand - sum(check.points for check in failed)


def test_wrong_answers_cost_what_the_bank_predicts(graded):
    cells = graded_cells(nbformat.read(graded.file("submitted", "partly_right"), as_version=4))
    handed_in = [
        Answer(cell.name, "handed in", False, cells[cell.grade_id].source, "")
        for cell in graded.lesson.of("exercise")
    ]
    with BankRunner(graded.lesson) as bench:
        verdicts = [bench.judge(answer) for answer in handed_in]
    assert {v.answer.exercise for v in verdicts if v.kept < v.points} == WRONG | LEFT_OUT
    assert graded.results()["partly_right"].points == sum(v.kept - v.spilled for v in verdicts)


def test_what_is_no_notebook_stops_nobody(graded):
    assert graded.results()["cut_short"].state == State.UNREADABLE
    said = graded.said["grade"]
    assert "cut_short: unreadable: no JSON, or cut short: ask for the file again" in said
    assert f"{len(EXPECTED)} graded now, {len(EXPECTED) + 1} in all" in said
    stopped = "stopped by the time limit: exercise_similarity_attention; needs marking"
    assert f"infinite_loop: timed-out: {stopped}" in said


def test_the_instructor_reads_nothing_of_nbgraders(graded):
    for said in graded.said.values():
        assert not re.search(r"Warning|WARNING|INFO|\bkernel\b", said)
    assert "Converting" in (graded.folder / LOG).read_text(encoding="utf-8")


def test_the_report_says_what_became_of_each(graded):
    report = graded.report()
    assert report.keys() == graded.results().keys()
    for student, result in graded.results().items():
        about = report[student]
        assert (about["state"], about["points"]) == (result.state, result.points)
        assert (about["seconds"] > 0) == (student != "cut_short")
    assert report["cut_short"]["note"].startswith("no JSON, or cut short")
    assert report["infinite_loop"]["seconds"] > 3


def test_feedback_shows_no_hidden_test(graded):
    notebook = filled(graded.lesson, solved(graded.lesson))
    visible = "\n".join(cell.source for cell in notebook.cells)
    regions = re.findall(r"(?s)BEGIN HIDDEN TESTS\n(.*?)# END", graded.lesson.path.read_text())
    lines = {line.strip() for region in regions for line in region.split("\n")}
    hidden = {line for line in lines if len(line) > 20 and line not in visible}
    assert len(hidden) > 50
    for student in EXPECTED:
        page = graded.file("feedback", student).with_suffix(".html").read_text(encoding="utf-8")
        text = html.unescape(re.sub(r"<[^>]*>", "", page))
        assert "Score: " in text
        assert [line for line in hidden if line in text] == []
    assert "cut_short: no feedback: unreadable" in graded.said["feedback"]


def test_export_has_everyones_points(graded):
    with (graded.folder / "grades.csv").open(newline="", encoding="utf-8") as file:
        rows = {row["student_id"]: row for row in csv.DictReader(file)}
    assert rows.keys() == EXPECTED.keys()  # who cannot be graded gets no silent zero
    for student, result in graded.results().items():
        if student in rows:
            assert float(rows[student]["score"]) == result.points
            assert float(rows[student]["max_score"]) == result.max_points
    assert "1 unreadable" in graded.said["export"]


def test_a_notebook_is_filled_where_students_write(small_class):
    untouched = student_version(source_notebook(small_class.lesson))
    notebook = filled(small_class.lesson, {"double": "double = 2 .__mul__"})
    sources = {name: cell.source for name, cell in graded_cells(notebook).items()}
    assert sources.pop("exercise_double") == "double = 2 .__mul__"
    before = graded_cells(untouched)
    assert all(before[name].source == source for name, source in sources.items())
    assert "SOLUTION" not in "".join(solved(small_class.lesson).values())


def test_colab_saves_no_cell_ids_and_keeps_what_nbgrader_needs(small_class):
    notebook = SAMPLES["colab_saved"](small_class.lesson, [])
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 0)
    assert not any("id" in cell for cell in notebook.cells)
    names = graded_cells(student_version(source_notebook(small_class.lesson))).keys()
    assert graded_cells(notebook).keys() == names


# --- what nobody can use -----------------------------------------------------------------


def test_who_has_no_points_has_no_row(small, recorder):
    small.types("grade", "--student", "ada")
    small.receives("cleo", "no notebook")
    code, said = small.types("export")
    with (small.folder / "grades.csv").open(newline="", encoding="utf-8") as file:
        assert [(row["student_id"], row["score"]) for row in csv.DictReader(file)] == [
            ("ada", "3.0")
        ]
    assert code == 0
    assert "bo has no row for 01_small: not graded yet" in said
    assert "cleo has no row for 01_small: unreadable: no JSON" in said
    folder = str(small.folder / "submitted")
    assert small.types("export", "--to", folder) == (1, f"{folder} is a folder: name a file")
    assert list(small.folder.rglob("*.part")) == []


def test_feedback_needs_something_graded(small):
    code, said = small.types("feedback")
    fix = f"`python -m autograder grade 01 --classroom {small.folder}`"
    assert (code, said) == (1, f"no submission of 01_small is graded: run {fix}\n")


def test_feedback_tells_what_is_not_marked_yet(graded):
    unmarked = sum(result.to_mark for result in graded.results().values())
    assert unmarked > 1
    told = f"{unmarked} pages show 0 for answers that are not marked yet"
    assert told in graded.said["feedback"]


def test_what_ends_or_fills_its_own_process_keeps_what_else_it_earned(small):
    wanting = "double = len(bytes(2 << 30)) and (lambda x: 2 * x)"
    for student, answers in {
        "ada": {"half": "import os\nos._exit(3)"},
        "cleo": {"double": wanting},
    }.items():
        small.receives(student, as_text(filled(small.lesson, solved(small.lesson) | answers)))
    code, said = small.types("grade", "--memory", "1")
    ended = "crashed: Python ended in exercise_half (exit code 3): what was earned before is kept"
    assert (code, f"ada: {ended}" in said) == (0, True)
    assert "cleo: memory: more memory than allowed: exercise_double" in said
    assert {student: result.points for student, result in small.results().items()} == {
        "ada": 2,
        "bo": 3,
        "cleo": 1,
    }
    assert "0 graded now" in small.types("grade")[1]


@pytest.mark.parametrize("student", ["b*", "[bold]", "bo "])
def test_an_odd_folder_name_is_told_and_graded_as_nobody_else(small, student):
    small.receives(student)
    code, said = small.types("grade", "--student", student)
    assert (code, f"rename the folder `{student}`" in said) == (0, True)
    assert student in said.split("state")[1].split("rename")[0]
    assert small.results()["bo"].state == State.UNGRADED


def test_a_log_that_cannot_be_written_fills_no_pages(small, recorder):
    log = small.folder / LOG
    log.unlink()
    log.symlink_to("/dev/full")
    for command in ("grade", "feedback"):
        code, said = small.types(command)
        assert (code, "rror" in said) == (0, False)
    log.unlink()
    log.mkdir()
    assert small.types("grade") == (1, f"Is a directory: {log}")


@pytest.mark.parametrize("typed", ["x", "0", "-1", "1.5"])
@pytest.mark.parametrize("option", ["--timeout", "--jobs"])
def test_seconds_and_jobs_are_whole_numbers(small, option, typed):
    code, said = small.types("grade", f"{option}={typed}")
    assert (code, f"`{typed}` is not a positive whole number" in said) == (2, True)


@pytest.mark.parametrize("typed", ["x", "0", "-1", "nan", "inf", "1e9"])
def test_memory_is_in_gibibytes(small, typed):
    code, said = small.types("grade", f"--memory={typed}")
    assert (code, f"`{typed}` is not an amount of memory in GiB, such as 2" in said) == (2, True)


def test_no_feedback_has_a_reason(graded, monkeypatch):
    outcome = {"success": False, "log": "[ERROR] an old\n version\n[INFO] Done"}
    monkeypatch.setattr(NbGraderAPI, "generate_feedback", lambda *_: outcome)
    code, said = graded.types("feedback", "--student", "perfect")
    told = f"perfect: no feedback on {graded.lesson.name}: an old version\n"
    assert (code, told in said) == (1, True)


def test_without_a_sandbox_nothing_is_graded_unless_it_is_asked_for(small, monkeypatch):
    monkeypatch.setattr("autograder.execution.sandbox.NEEDED", {"bubblewrap": lambda: None})
    code, said = small.types("grade")
    assert code == 1
    assert said.endswith(
        "no sandbox without bubblewrap: `sudo apt install bubblewrap libseccomp2`"
        " (or, for notebooks you trust: --no-sandbox)"
    )
    assert small.results()["ada"].state == State.UNGRADED
    code, said = small.types("grade", "--no-sandbox")
    assert (code, "NO SANDBOX: students' code can do here whatever you can do" in said) == (0, True)
    assert small.results()["ada"].points == 3
