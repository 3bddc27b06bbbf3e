"""Make of whatever was handed in a notebook that can be graded, or say why that cannot be done.

It does what nbgrader's sanitising preprocessors do, from plain data in place of a gradebook that
is opened again for each submission. A student's file decides the text of cells and their order,
and nothing else: everything that grading relies on comes from the lesson as it was released.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.notebooknode import from_dict
from nbgrader.apps.api import NbGraderAPI
from nbgrader.nbgraderformat import SCHEMA_VERSION
from nbgrader.preprocessors import ClearHiddenTests, ClearMarkScheme
from nbgrader.utils import is_grade, is_locked, is_solution, is_task

from autograder.notebook import graded_cells
from autograder.places import place

LARGEST = 50_000_000  # bytes
MOST_CELLS = 5_000
TOO_LARGE = "larger than 50 MB: ask for the file again, with all outputs cleared"
NO_JSON = "no JSON, or cut short: ask for the file again, as .ipynb"
UNSOUND = "JSON, but no sound notebook: ask for the file again, as .ipynb"
OLD = "in an old notebook format: ask for the file again, saved by JupyterLab or Colab"
FOREIGN = "none of the lesson's cells: ask for the lesson's own notebook"


class Unreadable(Exception):
    """Why nothing can be made of what was handed in, and the mend, in one line."""


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


@dataclass(frozen=True)
class Released:
    """A lesson as the gradebook knows it, its cells in order: plain data, read once per run."""

    lesson: str
    kernelspec: dict[str, Any]
    cells: tuple[ReleasedCell, ...]

    @cached_property
    def digest(self) -> str:
        """What tells this release from another one: sha256 in hex."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Repaired:
    """A notebook without outputs that can be graded; `repairs` says in sentences what was wrong."""

    notebook: NotebookNode
    repairs: tuple[str, ...]


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
    order = [*graded_cells(nbformat.read(place(api, "release", lesson), as_version=4))]
    cells.sort(key=lambda cell: order.index(cell.name) if cell.name in order else len(order))
    return Released(lesson, kernelspec, tuple(cells))


def repair(data: bytes, released: Released) -> Repaired:
    """Make a notebook that can be graded of a file's bytes; `Unreadable` if that cannot be done.

    - Of copies of a cell the last one counts, as in nbgrader; the others are the student's own.
    - Locked cells are the lesson's; deleted ones, and deleted answers, stand at their place again.
    - A deleted exercise is not put back: what it asks for may stand in a cell of the student's.
    """
    handed_in = _read(data)
    lesson = {cell.name: cell for cell in released.cells}
    names = [_name(cell) for cell in handed_in]
    last = {name: position for position, name in enumerate(names) if name in lesson}
    if not last:
        raise Unreadable(FOREIGN)
    missing, deletions = _missing(released.cells, last)
    cells = [_restored(cell) for cell in missing.get("", ())]
    for position, (cell, name) in enumerate(zip(handed_in, names, strict=True)):
        if last.get(name) == position:
            cells.append(_corrected(cell, lesson[name]))
            cells += [_restored(cell) for cell in missing.get(name, ())]
        else:
            cells.append(_own(cell))
    changed = (_changes(handed_in[last[name]], lesson[name]) for name in last)
    repairs = [*_surplus(names, lesson), *filter(None, changed), *deletions]
    return Repaired(_notebook(cells, released.kernelspec), tuple(repairs))


def _shown(api: NbGraderAPI, source: str) -> str:
    """What nbgrader leaves of a source in the student's version."""
    cell = NotebookNode(source=source)
    ClearHiddenTests(config=api.config)._remove_hidden_test_region(cell)
    ClearMarkScheme(config=api.config)._remove_mark_scheme_region(cell)
    return cell.source


# --- reading -------------------------------------------------------------------------------


def _read(data: bytes) -> list[dict[str, Any]]:
    """The cells of a notebook of format 4.x, each with a type, a source and metadata."""
    if len(data) > LARGEST:
        raise Unreadable(TOO_LARGE)
    try:
        content = json.loads(data)
    except RecursionError:
        raise Unreadable(UNSOUND) from None
    except ValueError:
        raise Unreadable(NO_JSON) from None
    if not isinstance(content, dict) or "nbformat" not in content:
        raise Unreadable(UNSOUND)
    if content["nbformat"] in (1, 2, 3):
        raise Unreadable(OLD)
    cells = content.get("cells")
    if content["nbformat"] != 4 or not isinstance(cells, list) or len(cells) > MOST_CELLS:
        raise Unreadable(UNSOUND)
    return [_sound(cell) for cell in cells]


def _sound(cell: Any) -> dict[str, Any]:
    """What counts of a cell; `Unreadable` if it has no known type, or a source that is no text."""
    if not isinstance(cell, dict) or cell.get("cell_type") not in ("code", "markdown", "raw"):
        raise Unreadable(UNSOUND)
    metadata = cell.get("metadata")
    return {
        "id": cell.get("id"),
        "cell_type": cell["cell_type"],
        "source": _text(cell.get("source", "")),
        "attachments": _images(cell.get("attachments")),
        "nbgrader": metadata.get("nbgrader") if isinstance(metadata, dict) else None,
    }


def _text(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        value = "".join(value)
    if not isinstance(value, str):
        raise Unreadable(UNSOUND)
    # JSON can hold half a character (a lone surrogate), and no file can
    return value.replace("\r\n", "\n").encode("utf-8", "replace").decode()


def _images(attachments: Any) -> dict[str, dict[str, str]]:
    """The images pasted into a written answer: file name -> MIME type -> base64."""
    if not isinstance(attachments, dict):
        return {}
    return {
        _text(name): {_text(kind): _text(data) for kind, data in bundle.items() if "image/" in kind}
        for name, bundle in attachments.items()
        if isinstance(bundle, dict)
    }


def _name(cell: Mapping[str, Any]) -> str:
    """The name by which nbgrader would know a cell; empty if it has none."""
    name = cell["nbgrader"].get("grade_id") if isinstance(cell["nbgrader"], dict) else None
    return name if isinstance(name, str) else ""


# --- what was wrong ------------------------------------------------------------------------


def _missing(
    cells: Iterable[ReleasedCell], present: Mapping[str, int]
) -> tuple[dict[str, list[ReleasedCell]], list[str]]:
    """What to put back after which cell that is there ("": at the start), and what to say."""
    missing: dict[str, list[ReleasedCell]] = {}
    said, before = [], ""
    for cell in cells:
        if cell.name in present:
            before = cell.name
        elif cell.locked or cell.grade or cell.task:
            missing.setdefault(before, []).append(cell)
            said.append(f"`{cell.name}` was deleted: put back")
        else:
            said.append(f"`{cell.name}` was deleted: left out, but its checks count")
    return missing, said


def _surplus(names: list[str], lesson: Mapping[str, ReleasedCell]) -> list[str]:
    """What to say of copies, and of cells that bear the name of no cell of the lesson."""
    counts = Counter(filter(None, names))
    said = [
        f"`{name}` stands {count} times: the last one counts"
        for name, count in counts.items()
        if count > 1 and name in lesson
    ]
    # not told by name: a student can write anything there
    strange = sum(count for name, count in counts.items() if name not in lesson)
    if strange:
        said.append(f"{strange} of nbgrader's cells not of this lesson: taken for plain ones")
    return said


def _changes(cell: Mapping[str, Any], lesson: ReleasedCell) -> str:
    """What to say of a cell in which something changed that a student cannot change."""
    claimed = cell["nbgrader"]
    node = NotebookNode(metadata={"nbgrader": claimed})
    flags = {"grade": is_grade, "solution": is_solution, "locked": is_locked, "task": is_task}
    same = {
        "type": cell["cell_type"] == lesson.cell_type,
        "text": not lesson.locked
        or _lines(cell["source"]) in (_lines(lesson.shown), _lines(lesson.source)),
        "points": lesson.points in (None, claimed.get("points", lesson.points)),
        "role": all(bool(of(node)) == getattr(lesson, flag) for flag, of in flags.items()),
    }
    changed = [what for what, unchanged in same.items() if not unchanged]
    return f"`{lesson.name}` was changed ({', '.join(changed)}): put back" if changed else ""


def _lines(source: str) -> list[str]:
    return [line.rstrip() for line in source.rstrip().split("\n")]


# --- writing -------------------------------------------------------------------------------


def _corrected(cell: Mapping[str, Any], lesson: ReleasedCell) -> dict[str, Any]:
    """The student's text in a cell that is the lesson's in all else."""
    source = lesson.source if lesson.locked else cell["source"]
    metadata = {
        # as nbgrader's LockCells leaves it for the student
        "deletable": False,
        **({} if lesson.solution else {"editable": False}),
        "nbgrader": _metadata(lesson),
    }
    wanted = lesson.name.replace("_", "-")
    return _cell(wanted, lesson.cell_type, source, metadata, cell["attachments"])


def _restored(lesson: ReleasedCell) -> dict[str, Any]:
    """A deleted cell, untouched."""
    return _corrected({"source": lesson.source, "attachments": {}}, lesson)


def _own(cell: Mapping[str, Any]) -> dict[str, Any]:
    """A cell that nbgrader does not know; it runs all the same."""
    return _cell(cell["id"], cell["cell_type"], cell["source"], {}, cell["attachments"])


def _metadata(cell: ReleasedCell) -> dict[str, Any]:
    points = {} if cell.points is None else {"points": cell.points}
    return {
        "cell_type": cell.cell_type,
        "checksum": cell.checksum,
        "grade": cell.grade,
        "grade_id": cell.name,
        "locked": cell.locked,
        "schema_version": SCHEMA_VERSION,
        "solution": cell.solution,
        "task": cell.task,
        **points,
    }


def _cell(
    wanted: Any, cell_type: str, source: str, metadata: dict, attachments: dict
) -> dict[str, Any]:
    cell = {"id": wanted, "cell_type": cell_type, "source": source, "metadata": metadata}
    if cell_type == "code":
        cell |= {"execution_count": None, "outputs": []}
    elif attachments:
        cell["attachments"] = attachments
    return cell


def _notebook(cells: list[dict[str, Any]], kernelspec: Mapping[str, Any]) -> NotebookNode:
    """A valid notebook of the newest format, the same each time."""
    used: set[str] = set()
    for cell in cells:
        cell["id"] = _identifier(cell["id"], used)
    metadata: dict[str, Any] = {"language_info": {"name": kernelspec.get("language", "python")}}
    if kernelspec:
        metadata["kernelspec"] = kernelspec
    content = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    notebook: Any = from_dict(content)
    return notebook


def _identifier(wanted: Any, used: set[str]) -> str:
    """The cell's own id, if it is one and no other cell has it."""
    name = wanted if isinstance(wanted, str) and re.fullmatch("[A-Za-z0-9_-]{1,64}", wanted) else ""
    while not name or name in used:
        name = hashlib.sha256(f"{name}{len(used)}".encode()).hexdigest()[:12]
    used.add(name)
    return name
