"""A lesson as it was released: what its cells must be, whatever is handed in."""

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader.apps.api import NbGraderAPI
from nbgrader.preprocessors import ClearHiddenTests, ClearMarkScheme

from autograder.authoring.notebook import graded_cells
from autograder.paths import notebook_path


@dataclass(frozen=True)
class ReleasedCell:
    """A cell that nbgrader knows; `shown` is its source as students got it, without hidden tests.

    `points` is None for a cell that earns none.
    """

    name: str
    cell_type: str
    source: str
    shown: str
    locked: bool
    grade: bool
    solution: bool
    task: bool
    points: float | None
    checksum: str

    @property
    def given(self) -> bool:
        """Whether it is only there for what comes after it."""
        return self.locked and not self.grade and not self.task

    @property
    def exercise(self) -> str:
        """What the student's code is to define here; empty for all but exercises."""
        is_one = self.solution and self.cell_type == "code"
        return self.name.removeprefix("exercise_") if is_one else ""


@dataclass(frozen=True)
class Released:
    """A lesson as the gradebook knows it, its cells in order: plain data, read once per run.

    `outline` names all cells of the student's notebook in order: those that nbgrader knows by
    their names, all others by their fingerprints.
    """

    lesson: str
    kernelspec: dict[str, Any]
    cells: tuple[ReleasedCell, ...]
    outline: tuple[str, ...] = ()

    @cached_property
    def digest(self) -> str:
        """What tells this release from another one: sha256 in hex."""
        graded = asdict(self)
        # a comma in the prose is no reason to grade everyone again
        del graded["outline"]
        return hashlib.sha256(json.dumps(graded, sort_keys=True).encode()).hexdigest()


def released(api: NbGraderAPI, lesson: str) -> Released:
    """Read a lesson from the gradebook; `MissingEntry` if it is not released."""
    with api.gradebook as gradebook:
        notebook: Any = gradebook.find_notebook(lesson, lesson)
        points = {cell.name: cell.max_score for cell in notebook.grade_cells + notebook.task_cells}
        grades, solutions, tasks = (
            {cell.name for cell in cells}
            for cells in (notebook.grade_cells, notebook.solution_cells, notebook.task_cells)
        )
        cells = [
            ReleasedCell(
                name=cell.name,
                cell_type=cell.cell_type,
                source=cell.source,
                shown=_shown(api, cell.source),
                locked=cell.locked,
                grade=cell.name in grades,
                solution=cell.name in solutions,
                task=cell.name in tasks,
                points=points.get(cell.name),
                checksum=cell.checksum,
            )
            for cell in notebook.source_cells
        ]
        kernelspec = json.loads(notebook.kernelspec or "{}")
    # a gradebook has no order of cells: a lesson released again, or PostgreSQL, changes its own
    students = nbformat.read(notebook_path(api, "release", lesson), as_version=4)
    order = [*graded_cells(students)]
    cells.sort(key=lambda cell: order.index(cell.name) if cell.name in order else len(order))
    return Released(lesson, kernelspec, tuple(cells), _outline(students))


def lines(source: str) -> list[str]:
    """A cell's lines, without what an editor adds or takes away at their ends."""
    return [line.rstrip() for line in source.rstrip().split("\n")]


def fingerprint(source: str) -> str:
    """What tells a cell's text from others: no cell's name, and always as long."""
    return hashlib.sha256("\n".join(lines(source)).encode()).hexdigest()


def _outline(notebook: NotebookNode) -> tuple[str, ...]:
    names = [cell.metadata.get("nbgrader", {}).get("grade_id", "") for cell in notebook.cells]
    named = zip(names, notebook.cells, strict=True)
    return tuple(name or fingerprint(cell.source) for name, cell in named)


def _shown(api: NbGraderAPI, source: str) -> str:
    """What nbgrader leaves of a source in the student's version."""
    cell = NotebookNode(source=source)
    ClearHiddenTests(config=api.config)._remove_hidden_test_region(cell)
    ClearMarkScheme(config=api.config)._remove_mark_scheme_region(cell)
    return cell.source
