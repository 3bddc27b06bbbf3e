"""A CSV file as Canvas, Moodle or a spreadsheet writes it: read, and written the same way."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.errors import CourseError

BOM = "\ufeff"
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet would compute


class Unfit(CourseError):
    """Why a list cannot be used, and the fix, in one line."""


@dataclass(frozen=True)
class Sheet:
    """A CSV file, and how its program writes them."""

    rows: list[list[str]]
    delimiter: str = ","
    newline: str = "\n"
    bom: bool = False

    @property
    def header(self) -> list[str]:
        """The names of the columns."""
        return [name.strip() for name in self.rows[0]]

    def column(self, *names: str) -> int | None:
        """Where the first of these columns is."""
        header = [name.lower() for name in self.header]
        return next((header.index(name.lower()) for name in names if name.lower() in header), None)

    def cell(self, row: Sequence[str], *names: str) -> str:
        """The value in the first of these columns that exists; else empty."""
        place = self.column(*names)
        return row[place].strip() if place is not None and place < len(row) else ""


def read(path: Path) -> Sheet:
    """Read a CSV file as Canvas, Moodle or a spreadsheet writes it; `Unfit` if it is none."""
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise Unfit(f"{path} is no CSV in UTF-8: export it again, and do not open it") from None
    bom = text.startswith(BOM)
    text = text.removeprefix(BOM)
    first = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=lambda each: len(next(csv.reader([first], delimiter=each), [])))
    try:
        rows = [row for row in csv.reader(io.StringIO(text, ""), delimiter=delimiter) if row]
    except csv.Error as error:
        raise Unfit(f"{path} is no sound CSV ({error}): export it again") from None
    if not rows:
        raise Unfit(f"{path} is empty: export it again")
    return Sheet(rows, delimiter, "\r\n" if first.endswith("\r") else "\n", bom)


def as_csv(sheet: Sheet) -> str:
    """What to write into a file, with line ends as they are to be."""
    written = io.StringIO(newline="")
    writer = csv.writer(written, delimiter=sheet.delimiter, lineterminator=sheet.newline)
    writer.writerows(sheet.rows)
    return BOM * sheet.bom + written.getvalue()


def safe(cell: str) -> str:
    """Escape a text for a spreadsheet: an untrusted name must not become a formula."""
    return f"'{cell}" if cell.startswith(FORMULA) else cell


def number(points: float | None) -> str:
    """Points as both take them; who has none gets an empty cell, not 0."""
    return "" if points is None else f"{round(points, 4):g}"
