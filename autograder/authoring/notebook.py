"""Turn a lesson into notebooks: nbgrader's source notebook and the student version.

Nothing here writes files.
"""

import copy
import dataclasses
import hashlib
import tomllib
from functools import cache

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from nbgrader.converters import GenerateAssignment
from nbgrader.preprocessors import SaveCells

from autograder import paths
from autograder.authoring.lesson import ROLES, Cell, Lesson

METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
BADGE = (
    "[![Open this lesson in Colab](https://colab.research.google.com/assets/colab-badge.svg)]"
    "(https://colab.research.google.com/github/{project}/blob/main/notebooks/{name}.ipynb)"
)
SETUP = """\
# Installs the course kit where it is missing, as on Colab, and nothing else.
import importlib.util
import os
import subprocess
import sys

if importlib.util.find_spec("transformer_course") is None:
    kit = "git+{repository}"
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", kit]
    # git should fail rather than ask for a password
    quiet = os.environ | {{"GIT_TERMINAL_PROMPT": "0"}}
    if subprocess.run(pip, env=quiet, capture_output=True).returncode:
        why = f"To see why: !pip install --no-deps {{kit}}"
        raise RuntimeError(f"The course kit did not install. Online? Run this cell again. {{why}}")
    importlib.invalidate_caches()
"""


def source_notebook(lesson: Lesson, repository: str = "") -> NotebookNode:
    """nbgrader's source notebook: solutions, hidden tests, badge and setup cell.

    `repository` is where students get the lesson and the kit; by default the course's own.
    """
    repository = repository or repository_address()
    project = repository.removeprefix("https://github.com/")
    badge = Cell("markdown", BADGE.format(project=project, name=lesson.name), 0)
    code = SETUP.format(repository=repository).rstrip()
    setup = Cell("code", code, 0, "given", "setup", folded=True)
    title, *rest = lesson.cells
    used: set[str] = set()
    cells = [_node(cell, used) for cell in (badge, title, setup, *map(_with_title, rest))]
    return new_notebook(cells=cells, metadata=METADATA)


def student_version(source: NotebookNode) -> NotebookNode:
    """Apply what nbgrader's `generate_assignment` applies, without a gradebook."""
    notebook = copy.deepcopy(source)
    resources: dict = {}
    for preprocessor in GenerateAssignment.class_traits()["preprocessors"].default() or []:
        # the only step that writes to the gradebook; it does not change the notebook
        if preprocessor is not SaveCells:
            notebook, resources = preprocessor().preprocess(notebook, resources)
    return notebook


def as_text(notebook: NotebookNode) -> str:
    """Serialise a notebook byte for byte as nbgrader and Jupyter do."""
    return nbformat.writes(notebook) + "\n"


def graded_cells(notebook: NotebookNode) -> dict[str, NotebookNode]:
    """The cells with nbgrader metadata, by `grade_id`."""
    cells = [cell for cell in notebook.cells if "nbgrader" in cell.metadata]
    return {cell.metadata.nbgrader.grade_id: cell for cell in cells}


def code_of(notebook: NotebookNode) -> list[str]:
    """The sources of the code cells: all that decides about what executing it gives."""
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


@cache
def repository_address() -> str:
    """The course's repository, as declared in pyproject.toml."""
    project = tomllib.loads((paths.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return project["project"]["urls"]["Repository"]


def _with_title(cell: Cell) -> Cell:
    """Prepend a title line to a check: the only line that a folded cell shows."""
    if cell.role != "check":
        return cell
    points = f"{cell.points:g} point{'' if cell.points == 1 else 's'}"
    title = f"# Check of {cell.name}, {points}. Shift+Enter runs it; a click unfolds it."
    return dataclasses.replace(cell, source=f"{title}\n{cell.source}")


def _node(cell: Cell, used: set[str]) -> NotebookNode:
    new = new_code_cell if cell.kind == "code" else new_markdown_cell
    metadata = {}
    if cell.role:
        role = ROLES[cell.role]
        metadata["nbgrader"] = {
            "grade": role.grade,
            "grade_id": cell.grade_id,
            "locked": role.locked,
            "schema_version": 3,
            "solution": role.solution,
            "task": False,
        }
        if role.grade:
            metadata["nbgrader"]["points"] = cell.points
    if cell.folded:
        metadata["jupyter"] = {"source_hidden": True}
    return new(cell.source, id=_identifier(cell, used), metadata=metadata)


def _identifier(cell: Cell, used: set[str]) -> str:
    """Derive the id from the title or source, so that inserting a cell changes no other id."""
    name = cell.grade_id.replace("_", "-")[:64]
    name = name or hashlib.sha256(cell.source.encode()).hexdigest()[:12]
    while name in used:
        name = hashlib.sha256(name.encode()).hexdigest()[:12]
    used.add(name)
    return name
