"""Read a lesson as it was released: from the gradebook, and from the notebook students got."""

import json
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.apps.api import NbGraderAPI
from nbgrader.preprocessors import ClearHiddenTests, ClearMarkScheme

from autograder.authoring.notebook import graded_cells
from autograder.intake.released import Released, ReleasedCell, fingerprint


def read_released(api: NbGraderAPI, gradebook: Gradebook, lesson: str, path: Path) -> Released:
    """Read a lesson from the gradebook and `path`; `MissingEntry` if it is not released."""
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
    students = nbformat.read(path, as_version=4)
    order = [*graded_cells(students)]
    cells.sort(key=lambda cell: order.index(cell.name) if cell.name in order else len(order))
    return Released(lesson, kernelspec, tuple(cells), _outline(students))


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
