"""Whose the files of a download are, and which of a student's files count: the newest."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import PurePosixPath

from nbgrader.utils import parse_utc

from autograder.collecting.archive import Contents, Piece, Rejected, is_zip, unzipped
from autograder.collecting.naming import METADATA, SCHEMES, Naming, Owner, gradescope, guess, unfit
from autograder.repairing.finding import BESIDE, TIMESTAMP
from autograder.repairing.reading import is_notebook

NO_NOTEBOOK = "no notebook: ask for the .ipynb"
EARLIEST = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Known:
    """What was collected before of a student in this lesson."""

    key: str  # what the LMS calls the student in this assignment
    scheme: str
    time: str = ""  # ISO, UTC
    number: int = 0
    modified: float = 0.0


@dataclass(frozen=True)
class Given:
    """A file, and whose it is; `rank` grows from older submissions to newer ones."""

    owner: Owner
    piece: Piece
    scheme: str
    rank: tuple[datetime, int, float] = (EARLIEST, 0, 0.0)


@dataclass(frozen=True)
class Sorted:
    """All files by student, and those that are nobody's: path -> why."""

    students: dict[str, list[Given]] = field(default_factory=lambda: defaultdict(list))
    refused: dict[str, str] = field(default_factory=dict)


# --- whose is what --------------------------------------------------------------------------------


def sort(
    downloads: Sequence[Contents],
    lesson: str,
    scheme: str,
    known: Mapping[str, Known],
    roster: Mapping[str, Owner],
) -> Sorted:
    """Find out whose the files are; `Rejected` if none are named as `scheme` has it.

    An empty scheme is guessed. `roster`: what an LMS's own list tells, by its key of a student.
    """
    found, everything = Sorted(), []
    for contents in downloads:
        scheme_of = scheme or guess([piece.path for piece in contents.pieces])
        given = _given(contents, scheme_of, found.refused)
        if scheme_of == "folder":
            given = _timed(_of_lesson(given, lesson), lesson)
        if scheme and scheme != "folder" and contents.pieces and not given:
            raise Rejected(f"nothing here is named as {scheme} names files: leave out `--from`")
        found.refused.update(contents.refused)
        everything += _ranked([_told(each, roster) for each in given])
    for each in _distinct(everything, known):
        found.students[each.owner.student].append(each)
    return found


def _told(given: Given, roster: Mapping[str, Owner]) -> Given:
    """With what the LMS's list tells of the student."""
    owner, listed = given.owner, roster.get(given.owner.key)
    if listed is None:
        return given
    told = {
        name: getattr(listed, name) or getattr(owner, name)
        for name in ("first_name", "last_name", "email", "lms_user_id", "time")
    }
    return replace(given, owner=replace(owner, **told))


def _given(contents: Contents, scheme: str, refused: dict[str, str]) -> list[Given]:
    naming = SCHEMES[scheme] or _by_metadata(contents)
    wrapped = _wrapping(contents) if scheme == "folder" else ""
    given = []
    for piece in contents.pieces:
        owners = naming(piece.path.removeprefix(wrapped))
        if not owners and PurePosixPath(piece.path).name != METADATA:
            refused[piece.path] = f"not named as {scheme} names files: nobody's"
        for owner in owners:
            why = unfit(owner.student)
            if why:
                refused[piece.path] = why
            else:
                given.append(Given(owner, piece, scheme))
    return given


def _wrapping(contents: Contents) -> str:
    """The folder that a zip of several students' folders often has around them."""
    paths = [PurePosixPath(piece.path).parts for piece in contents.pieces]
    tops = {path[0] for path in paths}
    below = {path[1:2] for path in paths if path[-1].lower().endswith((".ipynb", ".zip"))}
    around = len(tops) == 1 and len(below) > 1 and all(len(path) > 2 for path in paths)
    # one student's lessons, as nbgrader keeps them, are no students
    nested = any(PurePosixPath(path[-1]).stem == path[1] for path in paths if len(path) > 2)
    return "" if nested or not around else f"{tops.pop()}/"


def _of_lesson(given: list[Given], lesson: str) -> list[Given]:
    """Of who has a folder for each lesson, as nbgrader keeps them, only this lesson's."""
    marked = {each.owner.student for each in given if each.owner.file.startswith(f"{lesson}/")}
    return [
        each
        for each in given
        if each.owner.student not in marked or each.owner.file.startswith(f"{lesson}/")
    ]


def _by_metadata(contents: Contents) -> Naming:
    for piece in contents.pieces:
        if PurePosixPath(piece.path).name == METADATA:
            try:
                return gradescope(piece.read())
            except ValueError as error:
                raise Rejected(f"{METADATA} is broken ({error}): download it again") from None
    raise Rejected(f"no {METADATA}: take the whole zip of Gradescope's `Export Submissions`")


def _timed(given: list[Given], lesson: str) -> list[Given]:
    """With the times that nbgrader keeps in `STUDENT/LESSON/timestamp.txt`."""
    times = {}
    for each in given:
        if each.owner.file == f"{lesson}/{TIMESTAMP}":
            times[each.owner.student] = time_of(_read(each))
    return [
        replace(each, owner=replace(each.owner, time=times.get(each.owner.student)))
        for each in given
    ]


def time_of(text: bytes) -> datetime | None:
    """The time in nbgrader's file, in UTC; None if nobody can read it."""
    try:
        return parse_utc(text.decode().strip()).replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def _distinct(given: list[Given], known: Mapping[str, Known]) -> list[Given]:
    """Two students of one name become two, told apart by what the LMS calls them."""
    keys = defaultdict(set)
    for student, before in known.items():
        keys[student].add(before.key)
    before = {(each.scheme, each.key): student for student, each in known.items()}
    for each in given:
        if (each.scheme, each.owner.key) not in before:
            keys[each.owner.student].add(each.owner.key)

    def name(each: Given) -> str:
        owner = each.owner
        alone = each.scheme != "moodle" or len(keys[owner.student]) < 2
        return before.get((each.scheme, owner.key)) or (
            owner.student if alone else f"{owner.student} ({owner.key})"
        )

    return [replace(each, owner=replace(each.owner, student=name(each))) for each in given]


def _ranked(given: list[Given]) -> list[Given]:
    """All files of a submission get its rank: that of the newest of them."""
    newest: dict[tuple[str, datetime | None], tuple[datetime, int, float]] = {}
    for each in given:
        owner = each.owner
        rank = owner.time or EARLIEST, owner.number, each.piece.modified
        submission = owner.key, owner.time
        newest[submission] = max(newest.get(submission, rank), rank)
    return [replace(each, rank=newest[each.owner.key, each.owner.time]) for each in given]


# --- which of them counts -------------------------------------------------------------------------


@dataclass(frozen=True)
class HandedIn:
    """What of a student's files counts: the notebook, and what lay beside it."""

    given: Given
    notebook: bytes
    beside: dict[str, bytes]
    notes: tuple[str, ...] = ()


def chosen(files: Sequence[Given], lesson: str, held: Callable[[bytes], int]) -> HandedIn:
    """A student's newest notebook of the lesson; `Rejected` if there is none.

    `held`: how many of the lesson's cells a notebook has.
    """
    notes: list[str] = []
    files = [part for each in files for part in _opened(each, notes)]
    notebooks = [each for each in files if is_notebook(each.owner.file)] or [
        each for each in files if _reads_as_notebook(each)
    ]
    if not notebooks:
        raise Rejected("; ".join([*notes, _why_none(files)] if files or not notes else notes))
    newest = _newest(notebooks, held)
    others = sorted(f"`{each.owner.file}`" for each in notebooks if each is not newest)
    if others:
        counts = f"`{newest.owner.file}`, not {', '.join(others)}"
        notes.append(f"the newest notebook of this lesson counts, {counts}")
    return HandedIn(newest, newest.piece.read(), _beside(newest, files, lesson, notes), (*notes,))


def _newest(notebooks: Sequence[Given], held: Callable[[bytes], int]) -> Given:
    """The newest of those that have at least half of what the fullest has of the lesson."""
    if len(notebooks) == 1:
        return notebooks[0]
    cells = [held(_read(each)) for each in notebooks]
    full = [each for each, n in zip(notebooks, cells, strict=True) if 2 * n >= max(cells)]
    return max(full, key=lambda each: (each.rank, each.owner.number, each.piece.modified))


def _read(given: Given) -> bytes:
    try:
        return given.piece.read()
    except Rejected:
        return b""


def _opened(given: Given, notes: list[str]) -> Iterator[Given]:
    """The file itself, or what is in it if it is a zip."""
    if not is_zip(given.piece):
        yield given
        return
    try:
        contents = unzipped(given.piece)
    except Rejected as why:
        notes.append(f"`{given.owner.file}` refused: {why}")
        return
    notes += [f"`{name}` refused: {why}" for name, why in contents.refused.items()]
    for piece in contents.pieces:
        file = given.owner.file + piece.path.removeprefix(given.piece.path)
        yield from _opened(
            replace(given, piece=piece, owner=replace(given.owner, file=file)), notes
        )


def _reads_as_notebook(given: Given) -> bool:
    """A notebook that a browser or a mail program gave another ending."""
    if not given.owner.file.lower().endswith((".json", ".txt")):
        return False
    try:
        start = given.piece.read().lstrip(b"\xef\xbb\xbf \t\r\n")
    except Rejected:
        return False
    return start.startswith(b"{") and b'"nbformat"' in start


def _why_none(files: Sequence[Given]) -> str:
    if any(not each.owner.file for each in files):
        return f"typed text in place of a file, {NO_NOTEBOOK}"
    names = ", ".join(sorted({f"`{each.owner.file}`" for each in files})) or "an empty zip"
    return f"{names}: {NO_NOTEBOOK}"


def _beside(
    notebook: Given, files: Sequence[Given], lesson: str, notes: list[str]
) -> dict[str, bytes]:
    """The other files of the submission, by their paths from the notebook's folder."""
    base = PurePosixPath(notebook.owner.file).parent
    beside, room = {}, BESIDE
    for each in files:
        path = PurePosixPath(each.owner.file)
        other = each is not notebook and path.name and not is_notebook(path.name)
        if not other or each.rank != notebook.rank:
            continue
        name = str(path.relative_to(base) if path.is_relative_to(base) else path)
        # nbgrader's file says when it was handed in: not for a student to write
        if name.split("/")[0] in (TIMESTAMP, f"{lesson}.ipynb") or name in beside:
            continue
        try:
            data = each.piece.read()
        except Rejected as why:
            notes.append(f"`{each.owner.file}` refused: {why}")
            continue
        if len(data) > room:
            notes.append(f"`{name}` left out: over {BESIDE >> 20} MB beside the notebook")
            continue
        room -= len(data)
        beside[name] = data
    return beside
