"""Choose among several notebooks of one student."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from autograder.intake.archive import Rejected
from autograder.intake.matching import match
from autograder.intake.reading import Unreadable, read
from autograder.intake.released import Released

MOST = 20  # notebooks that are read, of one student and lesson
File = TypeVar("File")


def newest_of_lesson(
    files: Sequence[File],
    read_file: Callable[[File], bytes],
    age: Callable[[File], Any],
    released: Released,
) -> File:
    """The newest file with at least half the lesson's cells that the fullest one has.

    `age` is the key to sort by; the newest has the largest one.
    """
    if len(files) == 1:
        return files[0]
    counts = [_cells_of_lesson(file, read_file, released) for file in files]
    full = [file for file, n in zip(files, counts, strict=True) if 2 * n >= max(counts)]
    return max(full, key=age)


def _cells_of_lesson(file: File, read_file: Callable[[File], bytes], released: Released) -> int:
    """Count the lesson's cells in a notebook; 0 if it cannot be read."""
    try:
        matching = match(read(read_file(file)).cells, released)
    except (Rejected, Unreadable):
        return 0
    return len(matching.of) if matching.is_the_lesson else 0
