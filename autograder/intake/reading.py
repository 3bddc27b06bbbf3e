"""Read what was handed in: from a file's bytes to cells, whatever saved them, and however."""

import gzip
import io
import json
import re
import zlib
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from autograder.errors import CourseError
from autograder.intake.archive import Piece, Rejected, unzipped

ZIP, GZIP = b"PK\x03\x04", b"\x1f\x8b"  # how such files begin
LARGEST = 50_000_000  # bytes
MOST_CELLS = 5_000
MOST_TEXT = 5_000_000  # characters in all cells; the longest lesson has a sixtieth of it
AGAIN = "ask for the file again, as .ipynb"
TOO_LONG = "more than 5 MB of text in its cells: ask for the file again, without pasted data"
TOO_LARGE = "larger than 50 MB: ask for the file again, with all outputs cleared"
EMPTY = f"an empty file: {AGAIN}"
NO_JSON = f"no JSON, or cut short: {AGAIN}"
WEB_PAGE = "a web page in place of a notebook: ask for the file itself, downloaded as .ipynb"
UNSOUND = f"JSON, but no sound notebook: {AGAIN}"
OLD = "in an old notebook format: ask for the file again, saved by JupyterLab or Colab"
ARCHIVE = "an archive without one single notebook: ask for the notebook itself, as .ipynb"
WINDOWS = "the file is no UTF-8: read as Windows writes it (code page 1252)"


class Unreadable(CourseError):
    """Why nothing can be made of what was handed in, and the fix, in one line."""


@dataclass(frozen=True)
class StudentCell:
    """What counts of a cell that was handed in; `nbgrader` is whatever its metadata say there."""

    identifier: Any
    cell_type: str
    source: str
    attachments: dict[str, dict[str, str]]  # images: file name -> MIME type -> base64
    nbgrader: Any

    @property
    def name(self) -> str:
        """The name by which nbgrader would know it; empty if it has none."""
        name = self.nbgrader.get("grade_id") if isinstance(self.nbgrader, dict) else None
        return name if isinstance(name, str) else ""


@dataclass(frozen=True)
class Reading:
    """A notebook's cells; `repairs` says in sentences what was wrong with the file."""

    cells: tuple[StudentCell, ...]
    repairs: tuple[str, ...] = ()


def read(data: bytes) -> Reading:
    """Read a notebook of format 4.x; `Unreadable` says why that cannot be done."""
    data = _out_of_archive(data)
    if len(data) > LARGEST:
        raise Unreadable(TOO_LARGE)
    if not data.strip(b"\0 \r\n"):
        raise Unreadable(EMPTY)
    text, repairs = _decoded(data)
    try:
        content = json.loads(text)
    except RecursionError:
        raise Unreadable(UNSOUND) from None
    except ValueError:
        raise Unreadable(WEB_PAGE if text.lstrip().startswith("<") else NO_JSON) from None
    return Reading(tuple(_cells(content)), repairs)


def is_notebook(name: str) -> bool:
    """Whether a file's name is a notebook's; browsers and systems add to it."""
    return ".ipynb" in PurePosixPath(name).name.lower()


def _out_of_archive(data: bytes) -> bytes:
    """The one notebook in an archive; what is no archive, or a broken one, as it is."""
    if data.startswith(ZIP):
        try:
            inside = unzipped(Piece("", lambda: data)).pieces
            notebooks = [piece for piece in inside if is_notebook(piece.path)]
            if len(notebooks) != 1:
                raise Unreadable(ARCHIVE)
            data = notebooks[0].read()
        except Rejected as why:
            raise Unreadable(str(why)) from None
    if data.startswith(GZIP):
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
                return file.read(LARGEST + 1)
        except (OSError, EOFError, zlib.error):
            raise Unreadable(NO_JSON) from None
    return data


def _decoded(data: bytes) -> tuple[str, tuple[str, ...]]:
    try:
        # UTF-8, -16 or -32, with a mark at the beginning or without
        return data.decode(json.detect_encoding(data), "surrogatepass"), ()
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace"), (WINDOWS,)


def _cells(content: Any) -> list[StudentCell]:
    if not isinstance(content, dict) or "nbformat" not in content:
        raise Unreadable(UNSOUND)
    if content["nbformat"] in (1, 2, 3):
        raise Unreadable(OLD)
    cells = content.get("cells")
    if content["nbformat"] != 4 or not isinstance(cells, list) or len(cells) > MOST_CELLS:
        raise Unreadable(UNSOUND)
    sound = [_sound(cell) for cell in cells]
    if sum(len(cell.source) for cell in sound) > MOST_TEXT:
        raise Unreadable(TOO_LONG)
    return sound


def _sound(cell: Any) -> StudentCell:
    """What counts of a cell; `Unreadable` if it has no known type, or a source that is no text."""
    if not isinstance(cell, dict) or cell.get("cell_type") not in ("code", "markdown", "raw"):
        raise Unreadable(UNSOUND)
    metadata = cell.get("metadata")
    return StudentCell(
        cell.get("id"),
        cell["cell_type"],
        _text(cell.get("source", "")),
        _images(cell.get("attachments")),
        metadata.get("nbgrader") if isinstance(metadata, dict) else None,
    )


def _text(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        value = "".join(value)
    if not isinstance(value, str):
        raise Unreadable(UNSOUND)
    # JSON can hold half a character (a lone surrogate), and no file can
    return re.sub("\r\n?", "\n", value).encode("utf-8", "replace").decode()


def _images(attachments: Any) -> dict[str, dict[str, str]]:
    """The images pasted into a written answer."""
    if not isinstance(attachments, dict):
        return {}
    return {
        _text(name): {_text(kind): _text(data) for kind, data in bundle.items() if "image/" in kind}
        for name, bundle in attachments.items()
        if isinstance(bundle, dict)
    }
