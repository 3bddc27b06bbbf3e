"""The files of a download, by the students who handed them in, and what is remembered of them."""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime

from autograder.intake.archive import Piece
from autograder.intake.naming import Owner

EARLIEST = datetime.min.replace(tzinfo=UTC)  # the time of a file whose time is not known


@dataclass(frozen=True)
class CollectedRecord:
    """What was collected before of a student in this lesson."""

    key: str  # what the LMS calls the student in this assignment
    scheme: str
    time: str = ""  # ISO, UTC
    number: int = 0
    modified: float = 0.0


@dataclass(frozen=True)
class SubmittedFile:
    """A file, and whose it is; `rank` grows from older submissions to newer ones."""

    owner: Owner
    piece: Piece
    scheme: str
    rank: tuple[datetime, int, float] = (EARLIEST, 0, 0.0)


@dataclass(frozen=True)
class FilesByStudent:
    """All files by student, and those of no student: path -> why.

    `broken`: downloads that cannot be read at all, and why; `notes`: what else is to be known.
    """

    students: dict[str, list[SubmittedFile]] = field(default_factory=lambda: defaultdict(list))
    refused: dict[str, str] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
