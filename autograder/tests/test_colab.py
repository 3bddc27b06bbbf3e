"""The lessons as Colab runs them: on its versions of everything, with the kit's wheel on top."""

import os
from pathlib import Path

import nbformat
import pytest

from autograder.authoring.lesson import Lesson, all_lessons, read_lesson
from autograder.authoring.proofs import digest_of_execution
from autograder.authoring.samples import filled, solved
from autograder.tests.support.checkout import pins
from autograder.tests.support.colab import Colab, run
from autograder.tests.support.proven import proof

PINS = Path(__file__).with_name("colab.txt")


def test_the_environment_has_the_versions_of_colab(colab: Colab) -> None:
    installed = dict(line.split("==") for line in colab.before if "==" in line)
    wanted = pins(PINS)
    found = {name.lower().replace("_", "-"): version for name, version in installed.items()}
    assert {name: found.get(name) for name in wanted} == wanted


def test_installing_the_kit_changes_no_other_package(colab: Colab) -> None:
    assert colab.before - colab.after == set()
    (kit,) = colab.after - colab.before
    assert kit.startswith("transformer-course @ ")


def test_nothing_that_the_kit_needs_is_missing(colab: Colab) -> None:
    assert "No broken requirements found" in run(colab.python, "-m", "pip", "check")


@pytest.mark.parametrize("path", all_lessons(), ids=lambda path: path.stem)
def test_the_solved_notebook_runs(
    path: Path, tmp_path: Path, request: pytest.FixtureRequest, everything: bool
) -> None:
    lesson = read_lesson(path)
    with proof("on Colab", lesson, digest_of_execution(lesson, PINS), again=everything):
        run_solved(request.getfixturevalue("colab"), lesson, tmp_path)


def run_solved(colab: Colab, lesson: Lesson, tmp_path: Path) -> None:
    """Execute the student's notebook there, with every stub filled."""
    nbformat.write(filled(lesson, solved(lesson)), tmp_path / "filled.ipynb")
    # no other variable: what this machine says to Python or Jupyter is not said on Colab
    alone = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "OMP_NUM_THREADS": "1"}
    execute = ["--execute", "--ExecutePreprocessor.timeout=600", "--output", "executed"]
    command = [colab.python, "-m", "nbconvert", "--to", "notebook", *execute, "filled.ipynb"]
    run(*command, folder=tmp_path, variables=alone)
    executed = nbformat.read(tmp_path / "executed.ipynb", as_version=4)
    assert all(cell.execution_count for cell in executed.cells if cell.cell_type == "code")
