"""Find the notebook in what a student handed in: under another name, in a folder, in a zip."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath

from autograder.intake.archive import Contents, Piece, Rejected, in_folder, is_zip
from autograder.intake.beside import MOST as MOST_FILES
from autograder.intake.beside import Beside
from autograder.intake.budget import Budget
from autograder.intake.errors import pass_on
from autograder.intake.listing import walk
from autograder.intake.newest import MOST, newest_of_lesson
from autograder.intake.notes import Notes
from autograder.intake.reading import LARGEST, ZIP, is_notebook
from autograder.intake.released import Released

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
    archive: list[Piece] = field(default_factory=list)


def there(folder: Path) -> Files:
    """What was handed in, without a look into the files."""
    if not folder.is_dir():
        return Files([])
    contents = in_folder(folder, MOST_FILES)
    names = [piece.path for piece in contents.pieces]
    refused = [
        f"`{printable(name)}`: {why}" if name else why for name, why in contents.refused.items()
    ]
    notebooks = [name for name in names if is_notebook(name) or name.lower().endswith(".zip")]
    known = {*notebooks, TIMESTAMP}
    others = [f"`{printable(name)}`" for name in names if name not in known]
    return Files(notebooks, others, refused)


def find(path: Path, released: Released) -> Found:
    """The notebook at `path`, or else elsewhere in its folder; `OSError` if there is none.

    Of several the newest counts, of those that are this lesson's.
    """
    in_place = path.is_file() and not path.is_symlink()
    if in_place:
        data = _start_of(path)
        if not data.startswith(ZIP):
            return _with_files(path, data, Notes())
    contents = in_folder(path.parent, MOST_FILES)
    candidates = [*islice(_candidates(contents), MOST)]
    if not candidates:
        raise FileNotFoundError(path)
    chosen = newest_of_lesson(candidates, lambda each: each.piece.read(), _age, released)
    name, notes = printable(chosen.piece.path), Notes()
    note = f"the notebook was found in `{name}`"
    if len(candidates) > 1:
        note = f"of {len(candidates)} notebooks the newest of this lesson counts: `{name}`"
    notes.said.append(note)
    if chosen.archive:
        return _with_files_of_archive(chosen, notes)
    return _with_files(path.parent / chosen.piece.path, chosen.piece.read(), notes)


def _candidates(contents: Contents) -> Iterator[_Candidate]:
    budget = Budget()
    for piece in contents.pieces:
        if is_notebook(piece.path) or is_zip(piece):
            try:
                yield from _inside(contents.path / piece.path, piece, budget)
            except OSError as error:
                pass_on(error)


def _inside(path: Path, piece: Piece, budget: Budget) -> Iterator[_Candidate]:
    """The readable notebooks in a zip; else the file itself, told as what it is."""
    read = partial(_start_of, path)
    data = read()
    archive: list[Piece] = []
    if data.startswith(ZIP):
        with contextlib.suppress(Rejected):
            archive = budget.unzipped(Piece(piece.path, lambda: data, size=len(data))).pieces
    notebooks = (each for each in archive if is_notebook(each.path) and _is_readable(each))
    readable = [*islice(notebooks, MOST)]
    yield from (_Candidate(each, archive) for each in readable)
    if not readable:
        yield _Candidate(replace(piece, read=read))


def _is_readable(piece: Piece) -> bool:
    try:
        piece.read()
    except Rejected:
        return False
    return True


def _age(candidate: _Candidate) -> tuple[float, int, str]:
    # of the same age: copies have numbers, which make their names longer
    return candidate.piece.modified, len(candidate.piece.path), candidate.piece.path


def _start_of(path: Path) -> bytes:
    """A file's bytes, as many as are ever read: one more than a notebook may have."""
    with path.open("rb") as file:
        return file.read(LARGEST + 1)


def _with_files(path: Path, notebook: bytes, notes: Notes) -> Found:
    """With the plain files beside a notebook that its code may open or import."""
    beside, own = Beside(), str(path)
    found = [*walk(str(path.parent), MOST_FILES)]
    if too_many := next((each.why_not for each in found if not each.called), ""):
        # which ones come first is chance: other than these, it would be another submission
        found = []
        notes.said.append(f"nothing beside the notebook is taken along: {too_many}")
    for each in sorted(found, key=lambda each: each.called.split("/")):
        if not each.why_not and each.path != own:
            why = beside.add(each.called, each.size, Path(each.path).read_bytes)
            if why:
                notes.add(f"left out: {why}", printable(each.called))
    return Found(notebook, beside.files, "; ".join(notes.lines()))


def _with_files_of_archive(chosen: _Candidate, notes: Notes) -> Found:
    folder, beside = PurePosixPath(chosen.piece.path).parent, Beside()
    for piece in chosen.archive:
        path = PurePosixPath(piece.path)
        if piece is not chosen.piece and path.is_relative_to(folder):
            name = str(path.relative_to(folder))
            why = beside.add(name, piece.size, piece.read)
            if why:
                notes.add(f"left out: {why}", printable(name))
    return Found(chosen.piece.read(), beside.files, "; ".join(notes.lines()))


def printable(name: str) -> str:
    """An untrusted file name, safe to print."""
    return "".join(sign if sign.isprintable() else "?" for sign in name[-80:])
