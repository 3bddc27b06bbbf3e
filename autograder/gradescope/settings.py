"""What the zip says of a lesson: its cells, hidden tests too, and how it is graded."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from autograder.intake.released import Released, ReleasedCell

LESSON = "lesson.json"  # at the root of the zip


@dataclass(frozen=True)
class Settings:
    """How a lesson is graded on Gradescope; the limits are of one submission."""

    hidden: str = "name"  # what is told of a hidden test that fails: a key of `outcome.HIDDEN`
    timeout: float = 60.0  # CPU seconds of one cell
    memory: int = 1 << 30  # bytes
    minutes: float = 10.0  # Gradescope's own limit


def as_json(settings: Settings, released: Released) -> str:
    """Both as the text of a file."""
    return json.dumps({"settings": asdict(settings), "released": asdict(released)}, indent=1)


def read(path: Path) -> tuple[Settings, Released]:
    """Both, out of that file."""
    told = json.loads(path.read_bytes())
    cells = tuple(ReleasedCell(**cell) for cell in told["released"]["cells"])
    lists = {"cells": cells, "outline": tuple(told["released"]["outline"])}
    return Settings(**told["settings"]), Released(**(told["released"] | lists))
