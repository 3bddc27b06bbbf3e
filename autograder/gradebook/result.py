"""What is graded and what became of it, as plain values."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from autograder.intake.released import Released


class State(StrEnum):
    """What became of a submission."""

    GRADED = "graded"
    WORTH_A_LOOK = "worth a look"  # graded, but for a reason in the note a person should look at it
    NEEDS_MARKING = "needs marking"  # graded, but for what a person must mark
    TIMED_OUT = "timed-out"  # graded, but a cell was stopped
    MEMORY = "memory"  # graded, but a cell wanted more memory than allowed
    CRASHED = "crashed"  # graded, until the student's code ended its own Python
    UNREADABLE = "unreadable"
    MISSING = "missing"
    UNGRADED = "not graded yet"
    FAILED = "failed"  # the grader's fault, not the student's


@dataclass(frozen=True)
class Task:
    """One submission to grade: the notebook as it was handed in, and what lay beside it."""

    student: str
    notebook: bytes
    files: Mapping[str, bytes] = field(default_factory=dict)
    note: str = ""  # where it lay, if not at its place

    @property
    def size(self) -> int:
        """Bytes of the notebook and the files."""
        return len(self.notebook) + sum(map(len, self.files.values()))

    @cached_property
    def digests(self) -> bytes:
        """What tells the notebook and the files from others; it goes along to a worker."""
        parts = [self.notebook]
        for name, data in sorted(self.files.items()):
            parts += [name.encode(errors="surrogateescape"), data]
        return b"".join(hashlib.sha256(part).digest() for part in parts)


@dataclass(frozen=True)
class Finished:
    """What became of a submission; `notebook` is empty if it could not be read."""

    student: str
    key: str  # what was graded: see `key`
    state: str
    note: str = ""
    notebook: str = field(default="", repr=False)
    repairs: tuple[str, ...] = ()
    seconds: float = 0.0
    cpu: float = 0.0  # seconds, of the student's process and of the checks
    # grade_id -> points, None where a person must mark
    scores: Mapping[str, float | None] = field(default_factory=dict)
    untouched: tuple[str, ...] = ()  # grade_ids of what is as it was released
    # grade_id of a check that failed -> the line of it that did; 0 if it did not begin
    failed: Mapping[str, int] = field(default_factory=dict)
    # and what it says: see `execution.isolation.failures`; older results have none
    failures: Mapping[str, dict] = field(default_factory=dict)
    executed: str = ""  # what tells the cells that ran from others: sha256 in hex
    # grade_id of what a person marks -> what tells its text from another: sha256 in hex
    answers: Mapping[str, str] = field(default_factory=dict)


def key(task: Task, released: Released) -> str:
    """What is graded, and by which tests; what can be told from it is graded only once."""
    # the repaired notebook follows from these, so it need not be made to be compared
    release = hashlib.sha256(released.digest.encode()).digest()
    return hashlib.sha256(release + task.digests).hexdigest()
