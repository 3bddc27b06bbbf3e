"""Whose the files of downloads are."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from nbgrader.utils import parse_utc

from autograder.intake.archive import Contents, Piece, Rejected, is_zip
from autograder.intake.finding import TIMESTAMP
from autograder.intake.identity import canvas_doubts, settled
from autograder.intake.layout import Layout, layout
from autograder.intake.metadata import METADATA, NOBODY, SUBMISSION, read
from autograder.intake.naming import SCHEMES, Naming, Owner, unfit
from autograder.intake.reading import is_notebook
from autograder.intake.submitted import (
    EARLIEST,
    CollectedRecord,
    FilesByStudent,
    SubmittedFile,
)

# what nbgrader writes; its own reading takes `10` for the 10th of this month
TIME = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,9})?( [\w+:-]{1,32})?", re.ASCII)
UNNAMED = "not named as {scheme} names files, so it is no student's"
MOST_FILES = 5_000  # of one student in a download; and so many notebooks and zips


def sort(
    downloads: Sequence[Contents],
    lesson: str,
    scheme: str,
    known: Mapping[str, CollectedRecord],
    roster: Mapping[str, Owner],
    there: Collection[str] = (),
) -> FilesByStudent:
    """Find out whose the files are; an empty scheme is guessed for each download.

    `roster`: what an LMS's own list tells, by its key of a student. `there`: who is in the class.
    """
    found, everything = FilesByStudent(), []
    for contents in downloads:
        try:
            laid_out = layout(contents, lesson, scheme)
            given = [*_given(contents, laid_out, found, {*roster, *there})]
        except Rejected as why:
            found.broken.append(f"{contents.path}: {why}")
            continue
        if laid_out.scheme in ("folder", "nbgrader"):
            given = _of_lesson(given, lesson)
        if laid_out.scheme == "nbgrader":
            given = _timed(given, lesson)
        found.refused.update(contents.refused)
        everything += _ranked([_told(each, roster) for each in given])
    certain = settled(everything, known, there)
    found.refused.update(certain.refused)
    for each in certain.given:
        found.students[each.owner.student].append(each)
    return found


def _told(given: SubmittedFile, roster: Mapping[str, Owner]) -> SubmittedFile:
    """With what the LMS's list tells of the student."""
    owner, listed = given.owner, roster.get(given.owner.key)
    if listed is None:
        return given
    told = {
        name: getattr(listed, name) or getattr(owner, name)
        for name in ("first_name", "last_name", "email", "lms_user_id", "time")
    }
    return replace(given, owner=replace(owner, **told))


def _given(
    contents: Contents, laid_out: Layout, found: FilesByStudent, users: Collection[str]
) -> Iterator[SubmittedFile]:
    """Each file of a download with its owners; files of no student go to `found`."""
    scheme, base = laid_out.scheme, laid_out.base
    owners_of = _of_export(contents, base, found) if scheme == "gradescope" else SCHEMES[scheme]
    inside = [piece for piece in contents.pieces if piece.path.startswith(base)]
    paths = [piece.path.removeprefix(base) for piece in inside]
    doubts = canvas_doubts(paths, users) if scheme == "canvas" else {}
    counts: Counter[tuple[str, bool]] = Counter()
    for path, piece in zip(paths, inside, strict=True):
        owners = [] if path in doubts else owners_of(path)
        if not owners:
            nobodys, why = _nobodys(path, scheme)
            if why:
                found.refused[f"{base}{nobodys}"] = doubts.get(path, why)
        for owner in owners:
            kind = owner.student, is_notebook(path) or is_zip(piece)
            counts[kind] += 1
            why = unfit(owner.student)
            if why:
                found.refused[f"{base}{path.split('/')[0]}"] = why
            elif counts[kind] <= MOST_FILES:
                yield SubmittedFile(owner, piece, scheme)
    outside = (piece.path for piece in contents.pieces if not piece.path.startswith(base))
    found.refused.update(dict.fromkeys(outside, UNNAMED.format(scheme=scheme)))
    for student in sorted({student for (student, _), n in counts.items() if n > MOST_FILES}):
        found.notes.append(f"{student}: over {MOST_FILES:,} files: those further down are left out")


def _nobodys(path: str, scheme: str) -> tuple[str, str]:
    """The part of a file's path to report, and why it belongs to no student."""
    top, _, inside = path.partition("/")
    if scheme == "gradescope" and inside and SUBMISSION.fullmatch(top):
        return top, NOBODY
    itself = (scheme, path) == ("gradescope", METADATA)
    return path, "" if itself else UNNAMED.format(scheme=scheme)


def _of_export(contents: Contents, base: str, found: FilesByStudent) -> Naming:
    """Whose the files are in Gradescope's download, by the file that Gradescope put there."""
    path = f"{base}{METADATA}"
    if path in contents.refused:
        raise Rejected(f"{METADATA}: {contents.refused[path]}")
    try:
        export = read(next(piece for piece in contents.pieces if piece.path == path).read())
    except ValueError as error:
        raise Rejected(f"{METADATA} is broken ({error}): download it again") from None
    found.notes.extend(f"{base}{name}: {note}" for name, note in export.notes.items())
    return export.owners


def _of_lesson(given: Sequence[SubmittedFile], lesson: str) -> list[SubmittedFile]:
    """Of who has a folder for each lesson, as nbgrader keeps them, only this lesson's."""
    of_lesson = [each for each in given if each.owner.file.startswith(f"{lesson}/")]
    marked = {each.owner.student for each in of_lesson}
    others = (each for each in given if each.owner.student not in marked)
    return of_lesson + [each for each in others if each.scheme != "nbgrader"]


def _timed(given: Sequence[SubmittedFile], lesson: str) -> list[SubmittedFile]:
    """With the times that nbgrader keeps in `STUDENT/LESSON/timestamp.txt`."""
    stamps = {e.owner.student: e for e in given if e.owner.file == f"{lesson}/{TIMESTAMP}"}
    times = {student: time_of(_read(each.piece)) for student, each in stamps.items()}
    handed_in = [each for each in given if stamps.get(each.owner.student) is not each]
    timed = [
        replace(each, owner=replace(each.owner, time=times.get(each.owner.student)))
        for each in handed_in
    ]
    with_files = {each.owner.student for each in timed}
    return timed + [each for student, each in stamps.items() if student not in with_files]


def _read(piece: Piece) -> bytes:
    try:
        return piece.read()
    except Rejected:
        return b""


def time_of(text: bytes) -> datetime | None:
    """The time in nbgrader's file, in UTC; None if it cannot be parsed."""
    if not TIME.fullmatch(text.strip()):
        return None
    try:
        return parse_utc(text.decode().strip()).replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def _ranked(given: Sequence[SubmittedFile]) -> list[SubmittedFile]:
    """All files of a submission get its rank: that of the newest of them."""
    newest: dict[tuple[str, datetime | None], tuple[datetime, int, float]] = {}
    for each in given:
        owner = each.owner
        rank = owner.time or EARLIEST, owner.number, each.piece.modified
        submission = owner.key, owner.time
        newest[submission] = max(newest.get(submission, rank), rank)
    return [replace(each, rank=newest[each.owner.key, each.owner.time]) for each in given]
