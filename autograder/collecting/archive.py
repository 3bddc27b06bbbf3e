"""The files in a download: zips and folders that strangers filled, read without unpacking them.

Nothing is written anywhere, so no name in an archive can reach outside it. What cannot be trusted
or read is refused, with the mend, and the rest goes on.
"""

import contextlib
import io
import os
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import IO

LARGEST = 50 << 20  # bytes of one file: grading reads no larger notebook
LARGEST_LISTING = 1 << 20  # bytes that a student's zip may take to list what is in it
DEEPEST = 2  # zips in a student's zip
JUNK = {"__MACOSX", "__pycache__", "Thumbs.db", "desktop.ini"}
END_OF_LISTING = b"PK\x05\x06"
ENCRYPTED = 0x1
# what else `zipfile` reads may want gigabytes to unpack a few bytes
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, OSError)


class Rejected(Exception):
    """Why a file is not taken, and the mend, in one line."""


@dataclass(frozen=True)
class Piece:
    """A file in a download; `read` gives its bytes, or raises `Rejected`."""

    path: str  # as the download calls it, with `/`
    read: Callable[[], bytes] = field(repr=False)
    modified: float = 0.0  # seconds since 1970, in no certain time zone
    zips: int = 0  # how many of a student's zips it lies in


@dataclass(frozen=True)
class Contents:
    """What lies in a download, and what of it is not taken: path -> why."""

    pieces: list[Piece]
    refused: dict[str, str]


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Contents]:
    """What lies in a folder, in a zip, or the one file itself; `Rejected` if it cannot be read."""
    if path.is_dir():
        yield _in_folder(path)
    elif not path.is_file():
        raise Rejected(f"{path}: no such file or folder")
    elif path.suffix.lower() != ".zip":
        yield Contents([_on_disk(path, path.name)], {})
    else:
        try:
            archive = zipfile.ZipFile(path)
        except BROKEN as error:
            raise Rejected(f"{path}: no sound zip ({error}): download it again") from None
        with archive:
            yield _in_zip(archive)


def unzipped(piece: Piece) -> Contents:
    """What lies in a zip that a student handed in; `Rejected` if it cannot be read."""
    if piece.zips == DEEPEST:
        raise Rejected("a zip in a zip in a zip: ask for the notebook itself")
    data = piece.read()
    end = data.rfind(END_OF_LISTING)
    # a listing alone may hold millions of files: told before it is read
    listing = int.from_bytes(data[end + 12 : end + 16], "little") if end >= 0 else 0
    if listing > LARGEST_LISTING:
        raise Rejected("a zip of far too many files: ask for the notebook itself")
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except BROKEN:
        raise Rejected("no sound zip: ask for the notebook itself") from None
    return _in_zip(archive, f"{piece.path}/", piece.zips + 1)


def is_zip(piece: Piece) -> bool:
    """Whether a file is called a zip."""
    return piece.path.lower().endswith(".zip")


def _in_folder(folder: Path) -> Contents:
    contents = Contents([], {})
    for where, folders, names in os.walk(folder):
        for name in sorted(name for name in folders if Path(where, name).is_symlink()):
            contents.refused[_called(Path(where, name), folder)] = _LINK
        folders.sort()
        for name in sorted(names):
            path = Path(where, name)
            called = _called(path, folder)
            if not _is_junk(called):
                _take(contents, called, _why_not_on_disk(path, called), _on_disk(path, called))
    return contents


_LINK = "a link in place of a file: ask for the file itself"


def _called(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()


def _why_not_on_disk(path: Path, called: str) -> str:
    if path.is_symlink():
        return _LINK
    return "no plain file" if not path.is_file() else _why_not_named(called)


def _on_disk(path: Path, called: str) -> Piece:
    try:
        modified = path.lstat().st_mtime
    except OSError:
        modified = 0.0
    return Piece(called, lambda: _whole(lambda: path.open("rb")), modified)


def _in_zip(archive: zipfile.ZipFile, before: str = "", zips: int = 0) -> Contents:
    contents = Contents([], {})
    seen = set()
    for member in archive.infolist():
        # Windows' own zips have its separators
        called = member.filename.replace("\\", "/")
        if member.is_dir() or called.endswith("/") or _is_junk(called):
            continue
        why = _why_not_in_zip(member, called)
        if not why and called in seen:
            why = "the zip has two files of this name: only the first counts"
        seen.add(called)
        _take(contents, called, why, _member(archive, member, before + called, zips))
    return contents


def _why_not_in_zip(member: zipfile.ZipInfo, called: str) -> str:
    if stat.S_ISLNK(member.external_attr >> 16):
        return _LINK
    if member.flag_bits & ENCRYPTED:
        return "encrypted: ask for it without a password"
    if member.compress_type not in METHODS:
        return "packed in a rare way: ask for the file itself"
    if member.file_size > LARGEST:
        return _TOO_LARGE
    return _why_not_named(called)


_TOO_LARGE = f"larger than {LARGEST >> 20} MB: ask for the file again, with all outputs cleared"


def _why_not_named(called: str) -> str:
    parts = PurePosixPath(called).parts
    if called.startswith("/") or ".." in parts or any(part.endswith(":") for part in parts):
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
    return Piece(path, lambda: _whole(lambda: archive.open(member)), modified, zips)


def _whole(opening: Callable[[], IO[bytes]]) -> bytes:
    """All of a file; `Rejected` if there is more of it than its name tells, or it is broken."""
    try:
        with opening() as file:
            # what a zip says of a file's size need not be true
            data = file.read(LARGEST + 1)
    except (*BROKEN, RuntimeError) as error:
        raise Rejected(f"cannot be read ({error}): ask for the file again") from None
    if len(data) > LARGEST:
        raise Rejected(_TOO_LARGE)
    return data


def _is_junk(called: str) -> bool:
    parts = PurePosixPath(called).parts
    return any(part in JUNK or (part.startswith(".") and part != "..") for part in parts)
