"""The progress view: what it counts, where it is kept, and what it says of each check."""

import json
import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from transformer_course.checks import Check, CheckFailed
from transformer_course.checks.outcomes import OUTCOMES
from transformer_course.progress import kept, show_progress, view
from transformer_course.progress.states import CheckCell, State, lesson_checks

from autograder.authoring.lesson import all_lessons, read_lesson
from autograder.authoring.listed_checks import listed_checks
from autograder.authoring.notebook import source_notebook, student_version
from autograder.paths import COURSE

CELL = CheckCell("mix", 2, (("mix", "one"), ("mix", "a batch of …"), ("blend", "one")))
HELD = {("mix", "one"): True, ("mix", "a batch of 3"): True, ("blend", "one"): True}


@pytest.mark.parametrize(
    ("outcomes", "state"),
    [
        ({}, State.NOT_TRIED),
        (HELD, State.PASSED),
        (HELD | {("mix", "a batch of 4"): False}, State.FAILED),
        ({("mix", "one"): False}, State.FAILED),
        ({("mix", "one"): True}, State.NOT_TRIED),
        (HELD | {("blend", "two"): False}, State.PASSED),
    ],
)
def test_a_check_passes_when_each_of_its_claims_held(outcomes, state) -> None:
    assert CELL.state(outcomes) == state


def double(x: int) -> int:
    return 2 * x


def test_checks_note_what_held_and_nothing_of_a_stub(monkeypatch) -> None:
    OUTCOMES.clear()
    with Check("double", "of two") as check:
        check.equal(check.call(2, returns=int), 4, "twice two")
    with pytest.raises(CheckFailed), Check("double", "of three") as check:
        check.equal(check.call(3, returns=int), 7, "twice three")
    with pytest.raises(NotImplementedError), Check("treble", "of two") as check:
        check.call(2)
    with pytest.raises(KeyboardInterrupt), Check("double", "of four"):
        raise KeyboardInterrupt
    assert OUTCOMES == {("double", "of two"): True, ("double", "of three"): False}


@pytest.mark.parametrize("path", all_lessons(), ids=lambda path: path.stem)
def test_each_lesson_lists_its_visible_checks_and_ends_with_its_progress(path: Path) -> None:
    lesson = read_lesson(path)
    listed = listed_checks(lesson, student_version(source_notebook(lesson)))
    stored = COURSE.progress / f"{lesson.name}.json"
    assert stored.read_text(encoding="utf-8") == listed
    claims = [title for row in json.loads(listed)["checks"] for _, title in row["claims"]]
    assert claims
    student = (COURSE.notebooks / f"{lesson.name}.ipynb").read_text(encoding="utf-8")
    assert not [
        title for title in claims if json.dumps(title, ensure_ascii=False)[1:-2] not in student
    ]
    shown = [cell.source for cell in lesson.cells if "show_progress(" in cell.source]
    assert [text.split("\n")[-1] for text in shown] == [f'show_progress("{lesson.name}")']


def test_an_unknown_lesson_is_refused_with_the_names_of_all() -> None:
    with pytest.raises(ValueError, match=r"no lesson is called 'x'.*01_dot_product_attention"):
        show_progress("x")


@pytest.fixture
def shown(monkeypatch, tmp_path):
    """A notebook's kernel whose progress lies in a folder of its own: shows, and returns it."""
    seen = []
    monkeypatch.setenv("TRANSFORMER_COURSE_PROGRESS", str(tmp_path / "kept" / "progress.json"))
    monkeypatch.setattr(view, "get_ipython", lambda: type("Shell", (), {"kernel": None})())
    monkeypatch.setattr(view, "display", seen.append)
    OUTCOMES.clear()

    def show(lesson: str, **states: bool):
        for check in lesson_checks(lesson).checks:
            for exercise, title in check.claims:
                if check.name in states:
                    OUTCOMES[exercise, title] = states[check.name]
        show_progress(lesson)
        return seen[-1]

    return show


def test_progress_counts_points_and_is_there_again_after_a_restart(shown, tmp_path) -> None:
    text = repr(shown("01_dot_product_attention", softmax=True, softmax_stable=False))
    assert "your checks see 1 of" in text or "your checks see 2 of" in text
    assert "✓ passed    softmax\n" in text
    assert "✗ failed    softmax_stable\n" in text
    assert "· not tried project_qkv\n" in text
    OUTCOMES.clear()
    again = shown("01_dot_product_attention", softmax_stable=True)
    assert "✓ passed    softmax\n" in repr(again)
    assert "✓ passed    softmax_stable\n" in repr(again)
    assert "✓</span> passed</td>" in again._repr_html_()
    later = repr(shown("02_masking"))
    assert "\nLesson 1 · Dot-product attention: " in later
    assert os.listdir(tmp_path / "kept") == ["progress.json"]


@pytest.mark.parametrize("text", ["{", "[]", '{"01_dot_product_attention": 3}', "\x00"])
def test_a_file_that_cannot_be_read_is_laid_aside(shown, tmp_path, text: str) -> None:
    file = tmp_path / "kept" / "progress.json"
    file.parent.mkdir()
    file.write_text(text)
    assert "not tried" in repr(shown("02_masking"))
    assert file.with_suffix(".unreadable").read_text() == text


def test_states_and_lessons_that_are_not_known_count_for_nothing(shown, tmp_path) -> None:
    file = tmp_path / "kept" / "progress.json"
    kept.save(file, {"02_masking": {"causal_mask": "<i>", "x": "passed"}, "99_x": {"y": "passed"}})
    text = repr(shown("02_masking"))
    assert "· not tried causal_mask" in text
    assert "<i>" not in shown("02_masking")._repr_html_()
    assert "99" not in text


def test_where_nothing_can_be_kept_one_line_says_so(shown, tmp_path) -> None:
    (tmp_path / "kept").write_text("a file where the folder should be")
    assert "Your progress is not kept: " in repr(shown("02_masking"))


def test_colab_keeps_it_in_drive_or_says_how(monkeypatch, tmp_path) -> None:
    monkeypatch.delenv("TRANSFORMER_COURSE_PROGRESS", raising=False)
    monkeypatch.setattr(kept, "COLAB", tmp_path)
    monkeypatch.setattr(kept, "DRIVE", tmp_path / "drive")
    assert "drive.mount" in kept.advice()
    assert kept.progress_file().parent.parent == Path.home()
    (tmp_path / "drive").mkdir()
    assert not kept.advice()
    assert kept.progress_file().parent.parent == tmp_path / "drive"


def test_a_notebook_shows_it_and_a_plain_shell_does_not(tmp_path, capsys) -> None:
    show_progress("02_masking")
    assert not capsys.readouterr().out
    cell = nbformat.v4.new_code_cell(
        "from transformer_course.progress import show_progress\nshow_progress('02_masking')"
    )
    environment = os.environ | {"TRANSFORMER_COURSE_PROGRESS": str(tmp_path / "progress.json")}
    notebook = nbformat.v4.new_notebook(cells=[cell])
    NotebookClient(notebook, kernel_name="python3").execute(env=environment)
    (output,) = notebook.cells[0].outputs
    assert "Lesson 2 · Masking: your checks see 0 of" in output.data["text/plain"]
    assert json.loads((tmp_path / "progress.json").read_text())
