"""Make of whatever was handed in a notebook that can be graded, or say why that cannot be done.

It does what nbgrader's sanitising preprocessors do, from plain data in place of a gradebook that
is opened again for each submission. A student's file decides the text of cells and their order,
and nothing else: everything that grading relies on comes from the lesson as it was released.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nbformat import NotebookNode
from nbformat.notebooknode import from_dict
from nbgrader.nbgraderformat import SCHEMA_VERSION
from nbgrader.utils import is_grade, is_locked, is_solution, is_task

from autograder.intake.matching import METADATA, Matching, defines, match
from autograder.intake.order import in_order
from autograder.intake.reading import StudentCell, Unreadable, read
from autograder.intake.released import Released, ReleasedCell, lines

FOREIGN = "none of the lesson's cells: ask for the lesson's own notebook"


@dataclass(frozen=True)
class Repaired:
    """A notebook without outputs that can be graded; `repairs` says in sentences what was wrong."""

    notebook: NotebookNode
    repairs: tuple[str, ...]


def repair(data: bytes, released: Released) -> Repaired:
    """Make a notebook that can be graded of a file's bytes; `Unreadable` if that cannot be done.

    - Of copies of a cell the last one counts, as in nbgrader; the others are the student's own.
    - Locked cells are the lesson's; deleted ones, and deleted answers, are put back.
    - A deleted exercise is not put back: the student may have solved it in another cell.
    """
    reading = read(data)
    matching = match(reading.cells, released)
    if not matching.is_the_lesson:
        raise Unreadable(FOREIGN + _claimed(reading.cells))
    lesson = {matching.of[cell.name]: cell for cell in released.cells if cell.name in matching.of}
    missing, deletions = _missing(matching)
    order, misplaced = in_order(matching)
    cells = [_restored(cell) for cell in missing.get("", ())]
    for position in order:
        cell, of_lesson = reading.cells[position], lesson.get(position)
        if of_lesson:
            cells.append(_corrected(cell, of_lesson))
            cells += [_restored(cell) for cell in missing.get(of_lesson.name, ())]
        else:
            cells.append(_own(cell))
    repairs = [
        *reading.repairs,
        *_surplus(matching),
        *_without_metadata(matching),
        *filter(None, (_changes(matching, name) for name in matching.of)),
        *deletions,
        *filter(None, [misplaced]),
    ]
    return Repaired(_notebook(cells, released.kernelspec), tuple(repairs))


# --- what was wrong ------------------------------------------------------------------------


def _missing(matching: Matching) -> tuple[dict[str, list[ReleasedCell]], list[str]]:
    """What to put back after which cell that is there ("": at the start), and what to say."""
    missing: dict[str, list[ReleasedCell]] = {}
    said, before = [], ""
    for cell in matching.released.cells:
        if cell.name in matching.of:
            before = cell.name
        elif cell.locked or cell.grade or cell.task:
            missing.setdefault(before, []).append(cell)
            said.append(f"`{cell.name}` was deleted: put back")
        elif cell.exercise and any(defines(cell.exercise, other) for other in matching.cells):
            said.append(f"`{cell.name}` has no cell of its own: the one that defines it counts")
        else:
            said.append(f"`{cell.name}` was deleted: left out, but its checks count")
    return missing, said


def _surplus(matching: Matching) -> list[str]:
    """What to say of copies, and of cells that bear the name of no cell of the lesson."""
    lesson = {cell.name for cell in matching.released.cells}
    counts = Counter(filter(None, (cell.name for cell in matching.cells)))
    said = [
        f"`{name}` is there {count} times: the last one counts"
        for name, count in counts.items()
        if count > 1 and name in lesson
    ]
    # not told by name: a student can write anything there
    strange = sum(count for name, count in counts.items() if name not in lesson)
    if strange:
        said.append(f"{strange} of nbgrader's cells not of this lesson: taken for plain ones")
    return said


def _without_metadata(matching: Matching) -> list[str]:
    """What to say of cells whose metadata a tool dropped."""
    found = {name: sign for name, sign in matching.by.items() if sign != METADATA}
    if len(found) == 1:
        ((name, sign),) = found.items()
        return [f"`{name}` had lost {METADATA}: known by its {sign}"]
    counts = Counter(found.values())
    told = ", ".join(f"{count} by {sign}" for sign, count in counts.items())
    return [f"{len(found)} cells had lost {METADATA}: known again, {told}"] if found else []


def _changes(matching: Matching, name: str) -> str:
    """What to say of a cell in which something changed that a student cannot change."""
    (lesson,) = (cell for cell in matching.released.cells if cell.name == name)
    cell = matching.cells[matching.of[name]]
    same = {
        "type": cell.cell_type == lesson.cell_type,
        "text": not lesson.locked
        or lines(cell.source) in (lines(lesson.shown), lines(lesson.source)),
    }
    if matching.by[name] == METADATA:
        same |= _claims(cell.nbgrader, lesson)
    changed = [what for what, unchanged in same.items() if not unchanged]
    return f"`{name}` was changed ({', '.join(changed)}): put back" if changed else ""


def _claims(claimed: Mapping[str, Any], lesson: ReleasedCell) -> dict[str, bool]:
    """Whether a cell's metadata say of it what the lesson says."""
    node = NotebookNode(metadata={"nbgrader": claimed})
    flags = {"grade": is_grade, "solution": is_solution, "locked": is_locked, "task": is_task}
    return {
        "points": lesson.points in (None, claimed.get("points", lesson.points)),
        "role": all(bool(of(node)) == getattr(lesson, flag) for flag, of in flags.items()),
    }


def _claimed(cells: Sequence[StudentCell]) -> str:
    """What the badge of another lesson says that it is."""
    for cell in cells[:5]:
        badge = re.search(r"/notebooks/(\d\d_[a-z_]{1,60})\.ipynb", cell.source)
        if badge:
            return f" (this one is `{badge[1]}`)"
    return ""


# --- writing -------------------------------------------------------------------------------


def _corrected(cell: StudentCell, lesson: ReleasedCell) -> dict[str, Any]:
    """The student's text in a cell that is the lesson's in all else."""
    source = lesson.source if lesson.locked else cell.source
    metadata = {
        # as nbgrader's LockCells leaves it for the student
        "deletable": False,
        **({} if lesson.solution else {"editable": False}),
        "nbgrader": _metadata(lesson),
    }
    wanted = lesson.name.replace("_", "-")
    return _cell(wanted, lesson.cell_type, source, metadata, cell.attachments)


def _restored(lesson: ReleasedCell) -> dict[str, Any]:
    """A deleted cell, untouched."""
    return _corrected(StudentCell("", lesson.cell_type, lesson.source, {}, None), lesson)


def _own(cell: StudentCell) -> dict[str, Any]:
    """A cell that nbgrader does not know; it runs all the same."""
    return _cell(cell.identifier, cell.cell_type, cell.source, {}, cell.attachments)


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
