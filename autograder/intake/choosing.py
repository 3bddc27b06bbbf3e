"""Which of a student's files count: the newest notebook of the lesson, and what lies beside it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import PurePosixPath

from autograder.intake.archive import Rejected, is_zip
from autograder.intake.beside import Beside
from autograder.intake.budget import Budget
from autograder.intake.finding import TIMESTAMP
from autograder.intake.naming import fold
from autograder.intake.newest import MOST, newest_of_lesson
from autograder.intake.notes import Notes, listed
from autograder.intake.reading import is_notebook
from autograder.intake.released import Released
from autograder.intake.submitted import SubmittedFile

NO_NOTEBOOK = "no notebook: ask for the .ipynb"


@dataclass(frozen=True)
class HandedIn:
    """What of a student's files counts: the notebook, and what lay beside it."""

    given: SubmittedFile
    notebook: bytes
    beside: dict[str, bytes]
    notes: tuple[str, ...] = ()


def chosen(files: Sequence[SubmittedFile], released: Released) -> HandedIn:
    """A student's newest notebook of the lesson; `Rejected` if there is none."""
    notes, budget = Notes(), Budget()
    # what is newer is unpacked first, as long as there is room
    newer = sorted(files, key=_newer, reverse=True)
    files = [part for each in newer for part in _opened(each, budget, notes)]
    notebooks = [each for each in files if is_notebook(each.owner.file)]
    notebooks = notebooks or _renamed(files, budget)
    if not notebooks:
        told = notes.lines()
        raise Rejected("; ".join([*told, _why_none(files)] if files or not told else told))
    if len(notebooks) > MOST:
        notes.said.append(f"{len(notebooks):,} notebooks: only the newest {MOST} are looked at")
        notebooks = sorted(notebooks, key=_newer, reverse=True)[:MOST]
    newest = newest_of_lesson(notebooks, lambda each: each.piece.read(), _newer, released)
    others = sorted(each.owner.file for each in notebooks if each is not newest)
    if others:
        counts = f"`{newest.owner.file}`, not {listed(others)}"
        notes.said.append(f"the newest notebook of this lesson counts, {counts}")
    notebook = newest.piece.read()
    beside = _beside(newest, files, released.lesson, notes)
    return HandedIn(newest, notebook, beside, (*notes.lines(),))


def _newer(given: SubmittedFile) -> tuple:
    return given.rank, given.owner.number, given.piece.modified


def _opened(given: SubmittedFile, budget: Budget, notes: Notes) -> Iterator[SubmittedFile]:
    """The file itself, or what is in it if it is a zip."""
    if not is_zip(given.piece):
        yield given
        return
    try:
        contents = budget.unzipped(given.piece)
    except Rejected as why:
        notes.add(f"refused: {why}", given.owner.file)
        return
    for name, why in contents.refused.items():
        notes.add(f"refused: {why}", name)
    for piece in contents.pieces:
        file = given.owner.file + piece.path.removeprefix(given.piece.path)
        inside = replace(given, piece=piece, owner=replace(given.owner, file=file))
        yield from _opened(inside, budget, notes)


def _renamed(files: Sequence[SubmittedFile], budget: Budget) -> list[SubmittedFile]:
    """Notebooks that a browser or a mail program gave another ending."""
    named = (each for each in files if each.owner.file.lower().endswith((".json", ".txt")))
    return [each for each in islice(named, MOST) if _reads_as_notebook(each, budget)]


def _reads_as_notebook(given: SubmittedFile, budget: Budget) -> bool:
    try:
        start = budget.read(given.piece).lstrip(b"\xef\xbb\xbf \t\r\n")
    except Rejected:
        return False
    return start.startswith(b"{") and b'"nbformat"' in start


def _why_none(files: Sequence[SubmittedFile]) -> str:
    if any(not each.owner.file for each in files):
        return f"typed text in place of a file, {NO_NOTEBOOK}"
    names = listed(sorted({each.owner.file for each in files})) or "an empty zip"
    return f"{names}: {NO_NOTEBOOK}"


def _beside(
    notebook: SubmittedFile, files: Sequence[SubmittedFile], lesson: str, notes: Notes
) -> dict[str, bytes]:
    """The other files of the submission, by their paths from the notebook's folder."""
    base = PurePosixPath(notebook.owner.file).parent
    beside = Beside(own=(TIMESTAMP, f"{lesson}.ipynb"), same=fold)
    for each in files:
        path = PurePosixPath(each.owner.file)
        other = each is not notebook and path.name and not is_notebook(path.name)
        if not other or each.rank != notebook.rank:
            continue
        name = str(path.relative_to(base) if path.is_relative_to(base) else path)
        why = beside.add(name, each.piece.size, each.piece.read)
        if why:
            notes.add(f"left out: {why}", name)
    return beside.files
