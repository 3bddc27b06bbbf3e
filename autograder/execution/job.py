"""What is executed, and what came of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from autograder.execution.isolation.confine import Bounds
from autograder.execution.isolation.messages import CodeCell

WHOLE = 10  # times what one cell may take, for all cells together


@dataclass(frozen=True)
class Limits:
    """What a submission may use: CPU seconds of one cell, bytes of memory, bytes of files.

    And characters that all its cells may show together.

    `whole` is the wall seconds of all cells together; 0: what one may wait, and a few for each
    second of CPU time that they use.
    """

    timeout: float = 60.0
    memory: int = 2 << 30
    disk: int = 64 << 20
    whole: float = 0.0
    outputs: int = 10_000_000  # the fullest lesson shows a tenth of it

    @property
    def bounds(self) -> Bounds:
        """The same, as the kernel is told."""
        return Bounds(self.memory, self.disk, max(1, round(self.timeout * WHOLE)))


@dataclass(frozen=True)
class Job:
    """One submission's cells, the names that its checks ask for, the files that lay beside it."""

    cells: Sequence[CodeCell]
    exercises: Sequence[str]
    files: Mapping[str, bytes] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)


@dataclass
class Ran:
    """What became of a cell: its outputs, and what the check that failed has to say."""

    outputs: list[dict] = field(default_factory=list)
    failure: dict | None = None  # message, clue, line of the check, and what it says as data
    stopped: bool = False  # by the time limit
    complete: bool = False  # the student's side was there to the end of it
    cut: bool = False  # some of what it showed is left out: the notebook shows too much


@dataclass
class Execution:
    """What became of a submission: CPU and wall seconds, bytes of memory, how its process ended."""

    cells: list[Ran]
    cpu: float = 0.0
    seconds: float = 0.0
    memory: int = 0
    ended: str = ""  # empty if the student's process lived to the end, else why it did not
