"""The files in a download: untrusted zips and folders, read without unpacking them.

Nothing is written anywhere, so no name in an archive can reach outside it. What cannot be trusted
or read is refused, with the fix, and the rest goes on.
"""

import contextlib
import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import IO

from autograder.errors import CourseError
from autograder.intake.errors import pass_on
from autograder.intake.listing import ENDLESS, LINK, is_junk, walk

LARGEST = 50 << 20  # bytes of one file: grading reads no larger notebook
LARGEST_LISTING = 1 << 20  # bytes that a student's zip may take to list what is in it
DEEPEST = 2  # zips in a student's zip
ENCRYPTED = 0x1
# what else `zipfile` reads may want gigabytes to unpack a few bytes
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
BROKEN = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError),
    *(ValueError, IndexError, OverflowError, RuntimeError),
)


class Rejected(CourseError):
    """Why a file is not taken, and the fix, in one line."""


@dataclass(frozen=True)
class Piece:
    """A file in a download; `read` gives its bytes, or raises `Rejected`."""

    path: str  # as the download calls it, with `/`
    read: Callable[[], bytes] = field(repr=False)
    modified: float = 0.0  # seconds since 1970, in no certain time zone
    zips: int = 0  # how many of a student's zips it lies in
    size: int = 0  # bytes; of what is in a zip, `read` gives no more


@dataclass(frozen=True)
class Contents:
    """What lies in a download, and what of it is not taken: path -> why."""

    pieces: list[Piece]
    refused: dict[str, str]
    path: Path = Path()  # of the download itself
    listed: int = 0  # files, folders and whatever else it names


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Contents]:
    """What lies in a folder, in a zip, or the one file itself; `Rejected` if it cannot be read."""
    if path.is_dir():
        yield in_folder(path)
    elif not path.is_file():
        raise Rejected(f"{path}: no such file or folder")
    elif path.suffix.lower() != ".zip":
        yield Contents([_on_disk(str(path), path.name)], {}, path)
    else:
        try:
            archive = zipfile.ZipFile(path)
        except BROKEN as error:
            pass_on(error)
            raise Rejected(f"{path}: no sound zip ({error}): download it again") from None
        with archive:
            yield _in_zip(archive, path=path)


def in_folder(folder: Path, most: int = ENDLESS) -> Contents:
    """What lies in a folder, of at most so many files and folders."""
    contents = Contents([], {}, folder)
    for each in walk(str(folder), most):
        piece = _on_disk(each.path, each.called, each.modified, each.size)
        _take(contents, each.called, each.why_not or _why_not_named(each.called), piece)
    return contents


def unzipped(piece: Piece) -> Contents:
    """What lies in a zip that a student handed in; `Rejected` if it cannot be read."""
    if piece.zips == DEEPEST:
        raise Rejected("a zip in a zip in a zip: ask for the notebook itself")
    file = _Zip(piece.read())
    try:
        archive = zipfile.ZipFile(file)
    except BROKEN:
        raise Rejected("no sound zip: ask for the notebook itself") from None
    file.is_listed = True
    return _in_zip(archive, f"{piece.path}/", piece.zips + 1)


class _Zip(io.BytesIO):
    """A student's zip: no more than a short listing can be read of what is in it.

    How long it is, the zip says in several places, and need not say the same in all of them. So
    what counts is what `zipfile` is about to read.
    """

    is_listed = False

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > LARGEST_LISTING and not self.is_listed:
            raise Rejected("a zip of far too many files: ask for the notebook itself")
        return super().read(size)


def is_zip(piece: Piece) -> bool:
    """Whether a file is called a zip."""
    return piece.path.lower().endswith(".zip")


def _on_disk(path: str, called: str, modified: float = 0.0, size: int = 0) -> Piece:
    return Piece(called, lambda: _whole(lambda: open(path, "rb")), modified, size=size)


def _in_zip(
    archive: zipfile.ZipFile, before: str = "", zips: int = 0, path: Path = Path()
) -> Contents:
    members = archive.infolist()
    contents = Contents([], {}, path, len(members))
    seen = set()
    for member in members:
        # Windows' own zips have its separators
        called = member.filename.replace("\\", "/")
        if called.endswith("/") or any(map(is_junk, set(called.split("/")) - {".", ".."})):
            continue
        called = PurePosixPath(called).as_posix()
        why = _why_not_in_zip(member, called)
        if not why and called in seen:
            why = "the zip has two files of this name: only the first counts"
        seen.add(called)
        _take(contents, called, why, _member(archive, member, before + called, zips))
    return contents


def _why_not_in_zip(member: zipfile.ZipInfo, called: str) -> str:
    if stat.S_ISLNK(member.external_attr >> 16):
        return LINK
    if member.flag_bits & ENCRYPTED:
        return "encrypted: ask for it without a password"
    if member.compress_type not in METHODS:
        return "packed in a rare way: ask for the file itself"
    if member.file_size > LARGEST:
        return _TOO_LARGE
    return _why_not_named(called)


_TOO_LARGE = f"larger than {LARGEST >> 20} MB: ask for the file again, with all outputs cleared"


def _why_not_named(called: str) -> str:
    parts = called.split("/")
    if parts[0] in ("", ".") or ".." in parts or any(part.endswith(":") for part in parts):
        return "its name leads out of the folder: ask for the file itself"
    if not called.isprintable():
        return "its name is no plain text: ask for it under another name"
    return ""


def _take(contents: Contents, called: str, why_not: str, piece: Piece) -> None:
    if why_not:
        contents.refused.setdefault(called, why_not)
    else:
        contents.pieces.append(piece)


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: str, zips: int) -> Piece:
    try:
        modified = datetime(*member.date_time).timestamp()
    except (ValueError, OverflowError, OSError):
        modified = 0.0  # a zip can say the 0th of month 0
    return Piece(
        path, lambda: _whole(lambda: archive.open(member)), modified, zips, member.file_size
    )


def _whole(opening: Callable[[], IO[bytes]]) -> bytes:
    """All of a file; `Rejected` if there is more of it than its name tells, or it is broken."""
    try:
        with opening() as file:
            # what a zip says of a file's size need not be true
            data = file.read(LARGEST + 1)
    except BROKEN as error:
        pass_on(error)
        why = (error.strerror if isinstance(error, OSError) else None) or error
        raise Rejected(f"cannot be read ({why}): ask for the file again") from None
    if len(data) > LARGEST:
        raise Rejected(_TOO_LARGE)
    return data
