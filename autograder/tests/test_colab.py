"""The lessons as Colab runs them: on its versions of everything, with the kit's wheel on top.

`make test` makes the environment below from colab.txt. Each run puts a throw-away one on top,
which gets the kit, so that what is below stays as Colab has it.
"""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest

from autograder.lesson import all_lessons, read_lesson
from autograder.places import ROOT
from autograder.samples import filled, solved
from autograder.tests.checkout import build_wheel, pins

BELOW = ROOT / ".venv-colab"


@dataclass(frozen=True)
class Colab:
    """The environment on top, and what `pip freeze` said before and after the kit came."""

    python: Path
    before: set[str]
    after: set[str]


@pytest.fixture(scope="session")
def colab(tmp_path_factory: pytest.TempPathFactory) -> Colab:
    top = tmp_path_factory.mktemp("colab")
    assert (BELOW / ".all").exists(), f"`make {BELOW.name}/.all` makes the environment below"
    run(BELOW / "bin/python", "-m", "venv", "--without-pip", top)
    (packages_of(top) / "below.pth").write_text(f"{packages_of(BELOW)}\n", encoding="utf-8")
    (top / "share").symlink_to(BELOW / "share")  # Jupyter finds its kernels there
    python = top / "bin/python"
    before = freeze(python)
    run(python, "-m", "pip", "install", build_wheel(tmp_path_factory.mktemp("wheel")))
    return Colab(python, before, freeze(python))


def packages_of(environment: Path) -> Path:
    (folder,) = environment.glob("lib/python*/site-packages")
    return folder


def freeze(python: Path) -> set[str]:
    return set(run(python, "-m", "pip", "freeze", "--all").splitlines())


def run(
    *command: str | Path, folder: Path | None = None, variables: dict[str, str] | None = None
) -> str:
    """What a command prints, which is shown too if the test fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=folder, env=variables)
    print(done.stdout)
    done.check_returncode()
    return done.stdout


def test_the_environment_has_the_versions_of_colab(colab: Colab) -> None:
    installed = dict(line.split("==") for line in colab.before if "==" in line)
    wanted = pins(Path(__file__).with_name("colab.txt"))
    found = {name.lower().replace("_", "-"): version for name, version in installed.items()}
    assert {name: found.get(name) for name in wanted} == wanted


def test_installing_the_kit_changes_no_other_package(colab: Colab) -> None:
    assert colab.before - colab.after == set()
    (kit,) = colab.after - colab.before
    assert kit.startswith("transformer-course @ ")


def test_nothing_that_the_kit_needs_is_missing(colab: Colab) -> None:
    assert "No broken requirements found" in run(colab.python, "-m", "pip", "check")


@pytest.mark.parametrize("path", all_lessons(), ids=lambda path: path.stem)
def test_the_solved_notebook_runs(colab: Colab, path: Path, tmp_path: Path) -> None:
    lesson = read_lesson(path)
    nbformat.write(filled(lesson, solved(lesson)), tmp_path / "filled.ipynb")
    # no other variable: what this machine says to Python or Jupyter is not said on Colab
    alone = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "OMP_NUM_THREADS": "1"}
    execute = ["--execute", "--ExecutePreprocessor.timeout=600", "--output", "executed"]
    command = [colab.python, "-m", "nbconvert", "--to", "notebook", *execute, "filled.ipynb"]
    run(*command, folder=tmp_path, variables=alone)
    executed = nbformat.read(tmp_path / "executed.ipynb", as_version=4)
    assert all(cell.execution_count for cell in executed.cells if cell.cell_type == "code")
