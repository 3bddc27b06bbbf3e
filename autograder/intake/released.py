"""A lesson as it was released: what its cells must be, whatever is handed in."""

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from autograder.authoring.cell_name import CellName


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
        return CellName.parse(self.name).name if is_one else ""


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


def lines(source: str) -> list[str]:
    """A cell's lines, without what an editor adds or takes away at their ends."""
    return [line.rstrip() for line in source.rstrip().split("\n")]


def fingerprint(source: str) -> str:
    """What tells a cell's text from others: no cell's name, and always as long."""
    return hashlib.sha256("\n".join(lines(source)).encode()).hexdigest()
