"""Find the notebook in what a student handed in: under another name, in a folder, in a zip."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path, PurePosixPath

from autograder.collecting.archive import Piece, Rejected, is_zip, opened, unzipped
from autograder.repairing.matching import match
from autograder.repairing.reading import LARGEST, ZIP, Unreadable, is_notebook, read
from autograder.repairing.released import Released

BESIDE = 10 << 20  # bytes of other files that may lie beside a notebook
MOST = 20  # notebooks that are looked at, of one student and lesson
TIMESTAMP = "timestamp.txt"  # nbgrader's


@dataclass(frozen=True)
class Found:
    """The notebook that counts, the files beside it, and where it was if not at its place."""

    notebook: bytes = field(repr=False)
    files: dict[str, bytes] = field(repr=False)
    note: str = ""


@dataclass(frozen=True)
class Files:
    """What lies in a folder, by name: what may hold a notebook, and all other files.

    `refused` says what is taken for no file, such as a link, and why.
    """

    notebooks: Sequence[str]
    others: Sequence[str] = ()
    refused: Sequence[str] = ()


@dataclass(frozen=True)
class _Candidate:
    """A file that may be the notebook; `archive` is what lies in the same zip."""

    piece: Piece
    data: bytes
    archive: list[Piece] = field(default_factory=list)


def there(folder: Path) -> Files:
    """What was handed in, without a look into the files."""
    try:
        with opened(folder) as contents:
            names = [piece.path for piece in contents.pieces]
            refused = [f"`{printable(name)}`: {why}" for name, why in contents.refused.items()]
    except Rejected:  # no such folder
        return Files([])
    notebooks = [name for name in names if is_notebook(name) or name.lower().endswith(".zip")]
    others = [name for name in names if name not in notebooks and name != TIMESTAMP]
    return Files(notebooks, [f"`{printable(name)}`" for name in others], refused)


def find(path: Path, released: Released) -> Found:
    """The notebook at `path`, or else elsewhere in its folder; `OSError` if there is none.

    Of several the newest counts, of those that are this lesson's.
    """
    in_place = path.is_file() and not path.is_symlink()
    if in_place:
        data = _start_of(path)
        if not data.startswith(ZIP):
            return Found(data, _beside(path))
    candidates = [*islice(_candidates(path.parent), MOST)]
    if not candidates:
        raise FileNotFoundError(path)
    chosen = _newest_of_lesson(candidates, released)
    name = printable(chosen.piece.path)
    note = f"the notebook was found in `{name}`"
    if len(candidates) > 1:
        note = f"of {len(candidates)} notebooks the newest of this lesson counts: `{name}`"
    if chosen.archive:
        return Found(chosen.data, _beside_in_archive(chosen), note)
    return Found(chosen.data, _beside(path.parent / chosen.piece.path), note)


def _candidates(folder: Path) -> Iterator[_Candidate]:
    with opened(folder) as contents:
        for piece in contents.pieces:
            if not is_notebook(piece.path) and not is_zip(piece):
                continue
            data = _start_of(folder / piece.path)
            inside = _inside(piece, data)
            notebooks = [each for each in inside if is_notebook(each.path)]
            if not notebooks:
                # told as what it is: a broken zip, a web page
                yield _Candidate(piece, data)
            for each in notebooks:
                try:
                    yield _Candidate(each, each.read(), inside)
                except Rejected:
                    continue


def _inside(piece: Piece, data: bytes) -> list[Piece]:
    if not data.startswith(ZIP):
        return []
    try:
        return unzipped(Piece(piece.path, lambda: data)).pieces
    except Rejected:
        return []


def _newest_of_lesson(candidates: list[_Candidate], released: Released) -> _Candidate:
    """The newest of those that hold at least half of what the fullest holds of the lesson."""
    if len(candidates) == 1:
        return candidates[0]
    held = [_held(candidate.data, released) for candidate in candidates]
    full = [c for c, count in zip(candidates, held, strict=True) if 2 * count >= max(held)]
    # of the same age: copies have numbers, which make their names longer
    return max(full, key=lambda c: (c.piece.modified, len(c.piece.path), c.piece.path))


def _held(data: bytes, released: Released) -> int:
    """How many of the lesson's cells are there."""
    try:
        matching = match(read(data).cells, released)
    except Unreadable:
        return 0
    return len(matching.of) if matching.is_the_lesson else 0


def _start_of(path: Path) -> bytes:
    """A file's bytes, as many as are ever read: one more than a notebook may have."""
    with path.open("rb") as file:
        return file.read(LARGEST + 1)


def _beside(path: Path) -> dict[str, bytes]:
    """The plain files beside a notebook that its code may open or import."""
    files, room = {}, BESIDE
    for other in sorted(path.parent.rglob("*")):
        if other == path or other.is_symlink() or not other.is_file():
            continue
        # a link among the folders could lead to anybody's files
        if not other.resolve().is_relative_to(path.parent.resolve()):
            continue
        room -= other.stat().st_size
        if room < 0:
            break
        files[str(other.relative_to(path.parent))] = other.read_bytes()
    return files


def _beside_in_archive(chosen: _Candidate) -> dict[str, bytes]:
    folder = PurePosixPath(chosen.piece.path).parent
    files, room = {}, BESIDE
    for piece in chosen.archive:
        path = PurePosixPath(piece.path)
        if piece is chosen.piece or not path.is_relative_to(folder):
            continue
        try:
            data = piece.read()
        except Rejected:
            continue
        room -= len(data)
        if room < 0:
            break
        files[str(path.relative_to(folder))] = data
    return files


def printable(name: str) -> str:
    """A stranger's file name, so that it can be told."""
    return "".join(sign if sign.isprintable() else "?" for sign in name[-80:])
