"""Where things lie, in the checkout and in a class's folder, and how a file is written."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Course:
    """Where a course keeps its lessons and what is made from them; `root` is its checkout."""

    root: Path = ROOT

    @property
    def solutions(self) -> Path:
        return self.root / "solutions"

    @property
    def notebooks(self) -> Path:
        return self.root / "notebooks"

    @property
    def kit(self) -> Path:
        return self.root / "assets" / "transformer_course"

    @property
    def misconceptions(self) -> Path:
        return self.kit / "misconceptions"

    @property
    def progress(self) -> Path:
        return self.kit / "progress"

    @property
    def answers(self) -> Path:
        return self.root / "autograder" / "answers"

    @property
    def reports(self) -> Path:
        return self.root / "autograder" / "reports"


COURSE = Course()
CLASSROOM = ROOT / "autograder" / "classroom"
CONTAINER = ROOT / "autograder" / "Containerfile"  # its commands are at its top


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """A path to write to, which becomes `path` when all is written, and is gone if it is not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    try:
        yield part
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def write(path: Path, text: str) -> bool:
    """Write `text` whole or not at all, and only if it differs; say whether it did."""
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return False
    with atomic_write(path) as part:
        # a folder's name can hold half a character (a lone surrogate), which no file can
        part.write_text(text, encoding="utf-8", errors="replace")
    return True


def display_path(path: Path) -> str:
    """`path` as a person in the checkout would type it."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
