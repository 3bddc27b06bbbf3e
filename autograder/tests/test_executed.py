"""The lessons, executed: as they come, with every stub filled, and as plain scripts.

Each is skipped where it was proven before, and nothing that it rests on has changed.
"""

import re
import subprocess
import sys
import warnings

import nbformat
import pytest
from nbformat import NotebookNode

from autograder.authoring import build
from autograder.authoring.lesson import Lesson, all_lessons, read_lesson
from autograder.authoring.notebook import source_notebook
from autograder.authoring.proofs import digest, digest_of_execution
from autograder.authoring.samples import filled, solved
from autograder.paths import COURSE
from autograder.tests.support.proven import proof

each_lesson = pytest.mark.parametrize("path", all_lessons(), ids=lambda path: path.stem)


@each_lesson
def test_untouched_it_runs_and_only_stubs_stop_it(path, everything):
    lesson = read_lesson(path)
    notebook = COURSE.notebooks / f"{path.stem}.ipynb"
    with proof("untouched", lesson, digest_of_execution(lesson), again=everything):
        student = nbformat.read(notebook, as_version=4)
        outputs = _outputs(build.execute(student, allow_errors=True))
        errors = [output.ename for output in outputs if output.output_type == "error"]
        assert set(errors) == {"NotImplementedError"}
        assert len(errors) >= len(lesson.of("check"))


@each_lesson
def test_with_every_stub_filled_it_runs_and_shows_what_is_committed(path, everything):
    lesson = read_lesson(path)
    committed = nbformat.read(COURSE.solutions / f"{path.stem}.ipynb", as_version=4)
    rests_on = digest([digest_of_execution(lesson), _outputs(committed)], [])
    with proof("filled", lesson, rests_on, again=everything):
        executed = build.execute(filled(lesson, solved(lesson)), allow_errors=True)
        outputs = _outputs(executed)
        assert [o.evalue for o in outputs if o.output_type == "error"] == []
        pages = [o.data["text/html"] for o in outputs if "text/html" in o.get("data", {})]
        images = [page for page in pages if "your checks see" not in page]  # the view of progress
        assert len(images) == len(pages) - 1
        assert images
        assert all(re.search(r'<img alt="[^"]{20,}', image) for image in images)
        if differing := differing_cells(lesson, executed, committed):
            # another processor adds in another order; twice on one, all is the same
            warnings.warn(f"{path.stem}: not as committed: {differing}", stacklevel=1)
        if differing or everything:
            again = build.execute(source_notebook(lesson))
            assert differing_cells(lesson, executed, again) == []


MEASURES = "# Measures time: the numbers differ from run to run\n"


def differing_cells(lesson: Lesson, one: NotebookNode, other: NotebookNode) -> list[str]:
    """Whose outputs differ; a check of one has hidden tests, and says so. Times always differ."""
    checks = {check.grade_id for check in lesson.of("check")}
    shown = {cell.id: cell.get("outputs") for cell in one.cells}
    return [
        cell.id
        for cell in other.cells
        if cell.metadata.get("nbgrader", {}).get("grade_id") not in checks
        and cell.get("outputs") != shown[cell.id]
        and not cell.source.startswith(MEASURES)
    ]


@each_lesson
def test_the_lesson_runs_as_plain_python(path, tmp_path, everything):
    lesson = read_lesson(path)
    with proof("script", lesson, digest_of_execution(lesson), again=everything):
        command = [sys.executable, str(path)]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)


def _outputs(executed: NotebookNode) -> list[NotebookNode]:
    return [o for cell in executed.cells for o in cell.get("outputs", [])]
