"""The setup cell of the built notebooks, as Colab runs it; no network, but a clone on this disk."""

import os
import subprocess
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook

from autograder import paths
from autograder.authoring.lesson import all_lessons
from autograder.authoring.notebook import graded_cells, repository_address
from autograder.paths import COURSE
from autograder.tests.support.checkout import copy_of_checkout
from autograder.tests.support.colab import freeze, like_colab, packages_of, run

NOTEBOOKS = [COURSE.notebooks / f"{path.stem}.ipynb" for path in all_lessons()]
# pip would fetch setuptools for building the wheel, as pyproject.toml asks: here it takes the
# environment's own (the variable turns the isolation off, whatever its name says)
NO_NETWORK = {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_CONFIG_FILE": os.devnull}
OFFLINE = NO_NETWORK | {"GIT_ALLOW_PROTOCOL": "none"}  # git is not to ask any server
WHERE = "import transformer_course\nprint(transformer_course.__file__)"
FAILED = "The course kit did not install. Online? Run this cell again. To see why: !pip install "


def setup_cell() -> str:
    """The text of the cell, the same in each notebook that students open."""
    read = [nbformat.read(path, as_version=4) for path in NOTEBOOKS]
    (source,) = {graded_cells(notebook)["given_setup"].source for notebook in read}
    return source


@pytest.fixture(scope="module")
def mapped(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Settings by which git finds a clone of this checkout at the repository's address."""
    clone = copy_of_checkout(tmp_path_factory.mktemp("clone"))
    git = ["git", "-C", str(clone), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "as it is"]):
        subprocess.run([*git, *command], check=True)
    return NO_NETWORK | {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.file://{clone}.insteadOf",
        "GIT_CONFIG_VALUE_0": repository_address(),
    }


def executed(python: Path, folder: Path, variables: dict[str, str], *sources: str) -> list:
    """What cells say in a kernel of this Python: the outputs of each."""
    notebook = new_notebook(cells=[new_code_cell(source) for source in sources])
    nbformat.write(notebook, folder / "cells.ipynb")
    alone = {"PATH": os.environ["PATH"], "HOME": str(folder)} | variables
    options = ["--execute", "--allow-errors", "--to", "notebook", "--output", "executed"]
    run(python, "-m", "nbconvert", *options, "cells.ipynb", folder=folder, variables=alone)
    after: NotebookNode = nbformat.read(folder / "executed.ipynb", as_version=4)
    return [cell.outputs for cell in after.cells]


def test_it_installs_one_pure_wheel_and_nothing_the_second_time(
    mapped: dict[str, str], tmp_path: Path
) -> None:
    python = like_colab(tmp_path / "top")
    before = freeze(python)
    first, where, again = executed(python, tmp_path, mapped, setup_cell(), WHERE, setup_cell())
    assert (first, again) == ([], [])
    packages = packages_of(tmp_path / "top")
    assert where[0].text.strip() == str(packages / "transformer_course" / "__init__.py")
    after = freeze(python)
    assert before - after == set()
    (kit,) = after - before
    assert kit.startswith(f"transformer-course @ git+{repository_address()}@")
    (about,) = packages.glob("transformer_course-*.dist-info/WHEEL")
    assert "Root-Is-Purelib: true\nTag: py3-none-any" in about.read_text(encoding="utf-8")
    # where the kit is, no network is missed
    quiet, where = executed(python, tmp_path, OFFLINE, setup_cell(), WHERE)
    assert (quiet, len(where)) == ([], 1)
    assert freeze(python) == after


def test_offline_it_says_so_in_one_line_and_harms_nothing(tmp_path: Path) -> None:
    python = like_colab(tmp_path / "top")
    before = freeze(python)
    cells = setup_cell(), "1 + 1", setup_cell()
    failed, works, failed_again = executed(python, tmp_path, OFFLINE, *cells)
    assert works[0].data["text/plain"] == "2"
    for (error,) in (failed, failed_again):
        assert error.ename == "RuntimeError"
        assert error.evalue == f"{FAILED}--no-deps git+{repository_address()}"
    assert freeze(python) == before


def test_the_address_stands_once() -> None:
    """In pyproject.toml; all else is built from there, but README, which GitHub shows as it is."""
    named = {
        path.relative_to(paths.ROOT).as_posix()
        for suffix in ("py", "toml", "yml", "txt", "md")
        for path in paths.ROOT.rglob(f"*.{suffix}")
        if not any(part.startswith(".") for part in path.relative_to(paths.ROOT).parts)
        and repository_address() in path.read_text(encoding="utf-8", errors="replace")
    }
    assert named == {"pyproject.toml", "README.md"}  # test_ways_in.py holds these two equal


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_badge_opens_the_notebook_that_it_stands_in(path: Path) -> None:
    badge = nbformat.read(path, as_version=4).cells[0].source
    project = repository_address().removeprefix("https://github.com/")
    shown = path.relative_to(paths.ROOT).as_posix()
    assert f"(https://colab.research.google.com/github/{project}/blob/main/{shown})" in badge
