"""Canvas's and Moodle's own lists of a class: read, and given back with grades filled in.

Sources: Canvas's `GradebookExporter` and `GradebookImporter` (lib/gradebook_importer.rb), Moodle's
`assignfeedback_offline` (the grading worksheet) and `gradeimport_csv`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo

from dateutil import parser as dates

from autograder.exporting.sheet import Sheet, Unfit, number, safe
from autograder.intake.naming import Owner, fit

POINTS_POSSIBLE = "Points Possible"
CANVAS_STUDENT = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
COMPUTED = re.compile(r"(Current|Final|Override) (Score|Points|Grade|Status)")  # by Canvas itself
GRADE = "Grade"


@dataclass(frozen=True)
class Score:
    """What a student gets for a lesson; `keys`: how an LMS may call the student, best first."""

    student: str
    points: float | None
    keys: tuple[str, ...]


@dataclass(frozen=True)
class Column:
    """A lesson in an LMS: the name of its column there, what it counts, and its scores."""

    name: str
    points_possible: float
    scores: tuple[Score, ...]


@dataclass(frozen=True)
class Filled:
    """A list with grades, and what a person should know of it."""

    sheet: Sheet
    notes: tuple[str, ...] = ()
    unmatched: tuple[str, ...] = ()  # who has points, and no row


# --- what they tell of students -------------------------------------------------------------------


def roster(sheet: Sheet, zone: tzinfo) -> dict[str, Owner]:
    """Who the students are, by what the LMS calls them; `zone`: in which it shows times."""
    if _is_worksheet(sheet):
        told = [_of_worksheet(sheet, row, zone) for row in sheet.rows[1:]]
    elif sheet.column("ID") is not None and sheet.column("Section") is not None:
        told = [_of_gradebook(sheet, row) for row in sheet.rows[1:]]
    else:
        raise Unfit(_UNKNOWN)
    return {owner.key: owner for owner in told if owner.key}


_UNKNOWN = "neither Canvas's gradebook (Export) nor Moodle's grading worksheet: export it again"


def _of_worksheet(sheet: Sheet, row: Sequence[str], zone: tzinfo) -> Owner:
    participant = _participant(row[0])
    name, number = fit(sheet.cell(row, "Full name")), fit(sheet.cell(row, "ID number"))
    first, _, last = name.rpartition(" ")
    email = fit(sheet.cell(row, "Email address"))
    time = _time(sheet.cell(row, "Last modified (submission)"), zone)
    return Owner(name, participant, "", last, first, email, number, time=time)


def _of_gradebook(sheet: Sheet, row: Sequence[str]) -> Owner:
    last, _, first = sheet.cell(row, "Student").partition(",")
    last = sheet.cell(row, "LastName") or last
    first = sheet.cell(row, "FirstName") or first
    user, login = sheet.cell(row, "ID"), sheet.cell(row, "SIS Login ID")
    email = login if "@" in login else ""
    return Owner(user, user, "", fit(last), fit(first), fit(email), user)


def _participant(identifier: str) -> str:
    """`Participant 123`, in any language."""
    return "".join(re.findall(r"(?<!\d)\d+$", identifier.strip()))


def _time(told: str, zone: tzinfo) -> datetime | None:
    try:
        return dates.parse(told).replace(tzinfo=zone).astimezone(UTC) if told else None
    except (ValueError, OverflowError):
        return None  # `-`, or another language


def _is_worksheet(sheet: Sheet) -> bool:
    identifiers = [row[0] for row in sheet.rows[1:]]
    return bool(identifiers) and all(re.match(r"\D+\d+\s*$", each) for each in identifiers)


# --- Canvas ---------------------------------------------------------------------------------------


def canvas(columns: Sequence[Column], about: Mapping[str, Owner]) -> Filled:
    """A list that Canvas takes without one of its own: it makes an assignment of each column."""
    points = [{score.student: score.points for score in column.scores} for column in columns]
    rows = [
        [*CANVAS_STUDENT, *(column.name for column in columns)],
        [f"    {POINTS_POSSIBLE}", *[""] * 4, *(number(c.points_possible) for c in columns)],
    ]
    for score in columns[0].scores:
        student, owner = score.student, about.get(score.student)
        user = next((key for key in score.keys if key.isdecimal()), "")
        name = f"{owner.last_name}, {owner.first_name}".strip(", ") if owner else ""
        login = "" if user else safe(student)
        scores = (number(of_lesson.get(student)) for of_lesson in points)
        rows.append([safe(name or student), user, "", login, "", *scores])
    return Filled(Sheet(rows))


def into_canvas(sheet: Sheet, columns: Sequence[Column], name: str = "") -> Filled:
    """Canvas's own list with these columns, and no others: a list overwrites what it holds.

    `name`: the assignment's column, where it is not called as the lesson; `Unfit` if unknown.
    """
    section = sheet.column("Section")
    if sheet.column("ID") is None or section is None:
        raise Unfit("no columns ID and Section: take what Canvas's gradebook exports")
    students = [row for row in sheet.rows[1:] if sheet.cell(row, "ID").isdecimal()]
    rows = [[*row[: section + 1]] for row in sheet.rows]
    places = {id(row): place for place, row in enumerate(sheet.rows)}
    notes, unmatched = [], []
    for column in columns:
        at = _of_canvas(sheet, name or column.name, required=bool(name))
        before = [row[at] if at is not None and at < len(row) else "" for row in sheet.rows]
        cells = [*before] if at is not None else [column.name, *[""] * len(sheet.rows[1:])]
        notes += _about_points(sheet, column, cells, at)
        found, lost = _matched(column.scores, [(row, _canvas_keys(sheet, row)) for row in students])
        unmatched += lost
        for row, score in found:
            cells[places[id(row)]] = number(score.points)
        for row, cell in zip(rows, cells, strict=True):
            row.append(cell)
    return Filled(replace(sheet, rows=rows), (*notes,), (*unmatched,))


def _canvas_keys(sheet: Sheet, row: Sequence[str]) -> list[str]:
    return [sheet.cell(row, name) for name in ("ID", "SIS User ID", "SIS Login ID")]


def _of_canvas(sheet: Sheet, name: str, required: bool) -> int | None:
    """Where an assignment's column is, with or without its ` (ID)`."""
    first = (sheet.column("Section") or 0) + 1
    there = {
        place: title
        for place, title in enumerate(sheet.header)
        if place >= first and not COMPUTED.search(title)
    }
    for told in (str, _without_id, lambda title: _plain(_without_id(title))):
        at = [place for place, title in there.items() if told(title) == told(name)]
        if len(at) == 1:
            return at[0]
    if required:
        raise Unfit(_no_column(name, [title for title in there.values() if title.endswith(")")]))
    return None


def _without_id(title: str) -> str:
    return re.sub(r"\s\(\d+\)$", "", title)


def _no_column(name: str, there: Sequence[str]) -> str:
    return f"no column `{name}`: there are {', '.join(f'`{each}`' for each in there) or 'none'}"


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", " ", name).strip().lower()


def _about_points(sheet: Sheet, column: Column, cells: list[str], at: int | None) -> list[str]:
    """Fill in what a new column counts; of an old one, say if it counts otherwise."""
    place = next((n for n, row in enumerate(sheet.rows) if POINTS_POSSIBLE in row[0]), None)
    if at is None:
        if place is not None:
            cells[place] = number(column.points_possible)
        return [f"no column `{column.name}`: Canvas makes a new assignment, or name one: --column"]
    counts = cells[place].replace(",", ".") if place is not None else ""
    return _differs(sheet.header[at], counts, column)


def _differs(name: str, counts: str, column: Column) -> list[str]:
    try:
        same = float(counts) == column.points_possible
    except ValueError:
        return []
    ours = number(column.points_possible)
    return [] if same else [f"`{name}` counts {counts} points there, the lesson {ours}: not scaled"]


# --- Moodle ---------------------------------------------------------------------------------------


def moodle(column: Column, about: Mapping[str, Owner]) -> Filled:
    """A list for Moodle's grade import, which finds students by e-mail address or ID number."""
    rows = [["Full name", "Email address", "ID number", column.name]]
    unmatched = []
    for score in column.scores:
        # an empty cell would take away a grade that is there
        if score.points is None:
            continue
        owner = about.get(score.student)
        name = f"{owner.first_name} {owner.last_name}".strip() if owner else ""
        email, number_ = (owner.email, owner.lms_user_id) if owner else ("", "")
        email = email or (score.student if "@" in score.student else "")
        rows.append([safe(name or score.student), safe(email), safe(number_), number(score.points)])
        if not email and not number_:
            unmatched.append(score.student)
    return Filled(Sheet(rows), (), (*unmatched,))


def into_moodle(sheet: Sheet, column: Column, name: str = "") -> Filled:
    """Moodle's grading worksheet with the grades filled in; `Unfit` if it is none."""
    if not _is_worksheet(sheet):
        raise Unfit("no Identifier in its first column: take Moodle's grading worksheet")
    at = sheet.column(name or GRADE)
    if at is None:
        fix = "" if name else ": name it with --column"
        raise Unfit(_no_column(name or GRADE, sheet.header) + fix)
    rows = [[*row] for row in sheet.rows]
    found, lost = _matched(column.scores, [(row, _moodle_keys(sheet, row)) for row in rows[1:]])
    for row, score in found:
        row[at] = number(score.points)
    most = {sheet.cell(row, "Maximum grade").replace(",", ".") for row, _ in found} - {""}
    notes = [note for each in sorted(most) for note in _differs(sheet.header[at], each, column)]
    return Filled(replace(sheet, rows=rows), (*notes,), (*lost,))


def _moodle_keys(sheet: Sheet, row: Sequence[str]) -> list[str]:
    names = ("Email address", "ID number", "Username", "Full name")
    return [_participant(row[0]), *(sheet.cell(row, name) for name in names)]


# --- both -----------------------------------------------------------------------------------------


def _matched(
    scores: Iterable[Score], rows: Sequence[tuple[list[str], list[str]]]
) -> tuple[list[tuple[list[str], Score]], list[str]]:
    """Each score's row; and who has points, but no row of their own.

    A row that two claim is the one's whose key says more: a number may be typed by a student.
    """
    named = Counter(key for _, keys in rows for key in {key.lower() for key in keys if key})
    by_key = {key.lower(): row for row, keys in rows for key in keys if named[key.lower()] == 1}
    having = [score for score in scores if score.points is not None]
    claims: dict[str, tuple[int, list[str]]] = {}  # student -> which key, and the row it leads to
    for score in having:
        ranked = enumerate(key.lower() for key in score.keys)
        claim = next(((rank, by_key[key]) for rank, key in ranked if key in by_key), None)
        if claim:
            claims[score.student] = claim
    ranks = Counter((id(row), rank) for rank, row in claims.values())
    best = {row: min(rank for at, rank in ranks if at == row) for row, _ in ranks}
    found = [
        (claim[1], score)
        for score in having
        if (claim := claims.get(score.student))
        and claim[0] == best[id(claim[1])]
        and ranks[id(claim[1]), claim[0]] == 1
    ]
    matched = {score.student for _, score in found}
    return found, [score.student for score in having if score.student not in matched]
