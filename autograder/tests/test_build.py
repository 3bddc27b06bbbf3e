"""What is built from a lesson: up to date, and without its secrets."""

import base64
import zipfile

import nbformat
import pytest

from autograder import paths
from autograder.authoring import build, notebook
from autograder.authoring.lesson import all_lessons, read_lesson
from autograder.authoring.publish import secrets
from autograder.paths import COURSE
from autograder.tests.support.checkout import build_wheel

LESSONS = all_lessons()
each_lesson = pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)


@each_lesson
def test_built_files_are_up_to_date(path):
    told: list[str] = []
    assert build.build(path, execute=True, told=told.append) == []
    assert told == []


@each_lesson
def test_no_secret_stands_in_the_student_notebook(path):
    lesson = read_lesson(path)
    lines = secrets(lesson)
    assert len(lines) > 50
    text = "\n".join(
        cell.source
        for cell in nbformat.read(COURSE.notebooks / f"{path.stem}.ipynb", as_version=4).cells
    )
    assert [line for line in sorted(lines) if line in text] == []


def test_no_secret_stands_in_the_wheel(tmp_path):
    with zipfile.ZipFile(build_wheel(tmp_path)) as archive:
        text = "\n".join(archive.read(name).decode() for name in archive.namelist())
    for path in LESSONS:
        assert [line for line in sorted(secrets(read_lesson(path))) if line in text] == []


@each_lesson
def test_an_inserted_cell_changes_no_other(path, tmp_path):
    before = notebook.source_notebook(read_lesson(path)).cells
    text = path.read_text(encoding="utf-8")
    marker = "# %% check "
    longer = tmp_path / path.name
    longer.write_text(text.replace(marker, f"# %%\n1 + 1\n\n{marker}", 1), encoding="utf-8")
    after = notebook.source_notebook(read_lesson(longer)).cells
    (new,) = [cell for cell in after if cell not in before]
    assert new.source == "1 + 1"
    assert [cell for cell in after if cell is not new] == before


def test_committed_notebooks_carry_no_widget_state():
    for path in [*COURSE.notebooks.glob("*.ipynb"), *COURSE.solutions.glob("*.ipynb")]:
        assert "widgets" not in nbformat.read(path, as_version=4).metadata


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    target = tmp_path / "lesson.ipynb"
    assert paths.write(target, "old")
    assert not paths.write(target, "old")

    def full(*_: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match="No space left"):
        paths.write(target, "new")
    assert target.read_text() == "old"


def test_new_prose_keeps_the_outputs_and_new_code_is_executed(tmp_path):
    path = tmp_path / "solutions" / "01_small.py"
    path.parent.mkdir()
    told: list[str] = []

    def built(title: str, code: str) -> nbformat.NotebookNode:
        path.write_text(f"# %% [markdown]\n# # {title}\n\n# %%\n{code}\n", encoding="utf-8")
        lesson = read_lesson(path)
        build.build_solution(lesson, notebook.source_notebook(lesson), told.append)
        return nbformat.read(path.with_suffix(".ipynb"), as_version=4)

    first, second = built("A lesson", "print(id([]))"), built("Another", "print(id([]))")
    assert len(told) == 1
    assert second.cells[-1] == first.cells[-1]
    assert "Another" in second.cells[1].source
    assert built("Another", "print(3)").cells[-1].outputs[0].text == "3\n"
    assert len(told) == 2


def test_an_executed_notebook_keeps_what_its_live_views_show(tmp_path):
    """Beside the picture, so that a page without a kernel can open the view."""
    path = tmp_path / "solutions" / "01_small.py"
    path.parent.mkdir()
    code = "from transformer_course.widgets import show_attention\nshow_attention([[0.25, 0.75]])"
    path.write_text(f"# %% [markdown]\n# # A lesson\n\n# %%\n{code}\n", encoding="utf-8")
    source = notebook.source_notebook(read_lesson(path))
    (output,) = build.execute(source).cells[-1].outputs
    view = output.data[build.LIVE]
    assert (view["kind"], view["state"]["temperature"]) == ("attention", 1)
    assert f'data-picture="{view["options"]["picture"]}"' in output.data["text/html"]
    assert base64.b64decode(view["data"])[:2] == bytes([0, 255])


def test_a_lesson_that_does_not_run_names_the_cell_and_writes_nothing(tmp_path):
    lesson = tmp_path / "solutions" / "01_small.py"
    lesson.parent.mkdir()
    lesson.write_text("# %% [markdown]\n# # A lesson\n\n# %%\n1 / 0\n", encoding="utf-8")
    source = notebook.source_notebook(read_lesson(lesson))
    with pytest.raises(build.BuildFailed, match=r"(?s)1 / 0.*ZeroDivisionError"):
        build.build_solution(read_lesson(lesson), source, lambda _: None)
    assert list(tmp_path.rglob("*.ipynb")) == []
