"""The lessons, executed: as they come, with every stub filled, and as plain scripts."""

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from autograder import paths
from autograder.authoring import build, notebook
from autograder.authoring.lesson import all_lessons, read_lesson
from autograder.authoring.samples import filled, solved

each_lesson = pytest.mark.parametrize("path", all_lessons(), ids=lambda path: path.stem)


@cache
def student_solved(path: Path) -> NotebookNode:
    """The student's notebook, executed with every stub filled."""
    lesson = read_lesson(path)
    return build.execute(filled(lesson, solved(lesson)), allow_errors=True)


@each_lesson
def test_untouched_it_runs_and_only_stubs_stop_it(path):
    student = nbformat.read(paths.NOTEBOOKS / f"{path.stem}.ipynb", as_version=4)
    outputs = _outputs(build.execute(student, allow_errors=True))
    errors = [output.ename for output in outputs if output.output_type == "error"]
    assert set(errors) == {"NotImplementedError"}
    assert len(errors) >= len(read_lesson(path).of("check"))


@each_lesson
def test_with_every_stub_filled_it_runs_without_an_error(path):
    outputs = _outputs(student_solved(path))
    assert [o.evalue for o in outputs if o.output_type == "error"] == []
    images = [o.data["text/html"] for o in outputs if "text/html" in o.get("data", {})]
    assert images
    assert all(re.search(r'<img alt="[^"]{20,}', image) for image in images)


@each_lesson
def test_a_second_execution_gives_the_same_bytes(path):
    first = {cell.id: cell.get("outputs") for cell in student_solved(path).cells}
    second = build.execute(notebook.source_notebook(read_lesson(path)))
    differing = [
        cell.id
        for cell in second.cells
        # a check has hidden tests here, and says so
        if cell.metadata.get("nbgrader", {}).get("points") is None
        and cell.get("outputs") != first[cell.id]
    ]
    assert differing == []


@each_lesson
def test_the_lesson_runs_as_plain_python(path, tmp_path):
    subprocess.run([sys.executable, str(path)], cwd=tmp_path, check=True, capture_output=True)


def _outputs(executed: NotebookNode) -> list[NotebookNode]:
    return [o for cell in executed.cells for o in cell.get("outputs", [])]
