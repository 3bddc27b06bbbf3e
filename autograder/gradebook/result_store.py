"""What executed submissions earned, kept on the disk: from there the gradebook is told."""

import json
import os
from dataclasses import asdict
from pathlib import Path

from autograder.gradebook.result import Finished
from autograder.paths import atomic_write

# beside an executed notebook: what became of it, and, once that is recorded, its key
RESULT = ".result.json"
MARK = ".graded"
# and the texts that its marks in the gradebook are for: see `Finished.answers`
MARKED = ".answers.json"


def keep(path: Path, finished: Finished) -> None:
    """Write an executed notebook to `path`, its result beside it; `OSError` if the disk is full.

    The result is written last: where it lies, the submission need not be executed again.
    """
    # never a new notebook beside what tells of an older one
    path.with_name(MARK).unlink(missing_ok=True)
    path.with_name(RESULT).unlink(missing_ok=True)
    write(path, finished.notebook)
    result = {name: value for name, value in asdict(finished).items() if name != "notebook"}
    write(path.with_name(RESULT), json.dumps(result))


def kept_beside(path: Path) -> Finished | None:
    """What `keep` wrote, but for the notebook's text; None if that is not all there."""
    try:
        result = json.loads(path.with_name(RESULT).read_bytes())
        lists = {name: tuple(result[name]) for name in ("repairs", "untouched")}
        finished = Finished(**(result | lists))
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return finished if path.is_file() else None


def marked_answers(path: Path, finished: Finished) -> set[str]:
    """Which answers are unchanged since they were marked."""
    try:
        before = json.loads(path.with_name(MARKED).read_bytes())
        return {name for name, text in finished.answers.items() if before.get(name) == text}
    except (OSError, ValueError, AttributeError):
        return set()


def write(path: Path, text: str, to_disk: bool = True) -> None:
    """Write a file whole or not at all; `to_disk`: even when the power goes."""
    with atomic_write(path) as part, part.open("wb") as file:
        # a student can print half a character (a lone surrogate), which no file can hold
        file.write(text.encode("utf-8", "replace"))
        file.flush()
        if to_disk:
            os.fsync(file.fileno())
