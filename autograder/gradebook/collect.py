"""Put what students handed in where it is graded: nbgrader's `submitted/STUDENT/LESSON`.

Of several files of a student the newest counts. What lay there before is kept in `replaced/`.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import count, islice
from pathlib import Path
from typing import Any

from nbgrader.api import MissingEntry

from autograder import paths
from autograder.gradebook.classroom import Classroom, Submission
from autograder.intake.archive import Rejected
from autograder.intake.choosing import HandedIn, chosen
from autograder.intake.errors import pass_on
from autograder.intake.finding import TIMESTAMP
from autograder.intake.handins import time_of
from autograder.intake.listing import walk
from autograder.intake.naming import Owner
from autograder.intake.notes import listed
from autograder.intake.submitted import (
    EARLIEST,
    CollectedRecord,
    FilesByStudent,
    SubmittedFile,
)

KNOWN = "collected"  # in the classroom: whose what is, as the LMS calls it
REPLACED = "replaced"  # in the classroom: what newer files took the place of
STAGING = ".collecting"  # in the classroom


class Outcome(StrEnum):
    """What became of what a student handed in."""

    COLLECTED = "collected"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"
    REFUSED = "refused"


@dataclass(frozen=True)
class Collected:
    """A student's name, or the path of a file of no student; times are in UTC.

    `called`: the student's id and name.
    """

    called: str
    outcome: Outcome
    notes: tuple[str, ...] = ()
    time: datetime | None = None
    late: bool = False


def collect(classroom: Classroom, lesson: str, found: FilesByStudent) -> Iterator[Collected]:
    """Put each student's files in place; each comes out when it is there.

    What is older than what is there, or the same, changes nothing. A new file's grade is
    forgotten; marks given by hand stay. `OSError`: a full disk; what came out is in place.
    """
    known = read_known(classroom, lesson)
    due = _due(classroom, lesson)
    as_released = classroom.released(lesson)

    try:
        for student, files in sorted(found.students.items()):
            called = files[-1].owner.called
            try:
                handed = chosen(files, as_released)
                submission = classroom.submission(lesson, student)
                done = _placed(submission, handed, known.get(student))
            except Rejected as why:
                yield Collected(called, Outcome.REFUSED, (str(why),))
                continue
            except OSError as error:
                pass_on(error)
                yield Collected(called, Outcome.REFUSED, (_why_not_written(error),))
                continue
            time = handed.given.owner.time
            if done.outcome != Outcome.UNCHANGED or student not in known:
                known[student] = _known(handed.given)
            late = handed.given.owner.late or (time is not None and time > due(student))
            yield replace(done, called=called, time=time, late=late)
    finally:
        shutil.rmtree(classroom.folder / STAGING, ignore_errors=True)
        _write_known(classroom, lesson, known)
        _name(classroom, [files[-1].owner for files in found.students.values()])
    for path, why in sorted(found.refused.items()):
        yield Collected(path, Outcome.REFUSED, (why,))


def _placed(submission: Submission, handed: HandedIn, before: CollectedRecord | None) -> Collected:
    root, lesson, student = submission.classroom.folder, submission.lesson, submission.student
    target = submission.path()
    for where in (target, target.parent, target.parent.parent):
        if where.is_symlink():
            raise Rejected(f"{paths.display_path(where)} is a link: put a folder in its place")
    folder, files = target.parent, _files(lesson, handed)
    if _holds(folder, files):
        return Collected(student, Outcome.UNCHANGED)
    if folder.exists() and _is_older(handed.given, before, target.with_name(TIMESTAMP)):
        return Collected(student, Outcome.UNCHANGED, ("older than what is there",))
    staged = root / STAGING / lesson / student
    left_out = _write(staged, files)
    notes = [*handed.notes, *left_out]
    if left_out and _holds(folder, files):
        return Collected(student, Outcome.UNCHANGED)
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        os.rename(staged, folder)
        return Collected(student, Outcome.COLLECTED, (*notes,))
    kept = _exchange(staged, folder, root / REPLACED / lesson / student)
    submission.forget()
    return Collected(student, Outcome.REPLACED, (*notes, f"before: {paths.display_path(kept)}"))


def _files(lesson: str, handed: HandedIn) -> dict[str, bytes]:
    """What to write for a student; first, what cannot be done without."""
    files = {f"{lesson}.ipynb": handed.notebook}
    time = handed.given.owner.time
    if time:
        files[TIMESTAMP] = f"{time:%Y-%m-%d %H:%M:%S.%f} UTC".encode()
    return files | handed.beside


def _holds(folder: Path, files: Mapping[str, bytes]) -> bool:
    """Whether these files lie there, and no others; the same work later is no later work."""
    there = {each.called: each for each in islice(walk(str(folder)), len(files) + 2)}
    wanted = dict(files)
    if there.pop(TIMESTAMP, None) or TIMESTAMP not in wanted:
        wanted.pop(TIMESTAMP, None)
    return there.keys() == wanted.keys() and all(
        not each.why_not
        and each.size == len(wanted[name])
        and Path(each.path).read_bytes() == wanted[name]
        for name, each in there.items()
    )


def _is_older(given: SubmittedFile, before: CollectedRecord | None, timestamp: Path) -> bool:
    """Whether something newer is there, as far as both tell the same kind of thing."""
    time, number, modified = given.rank
    try:
        there = time_of(timestamp.read_bytes())
    except OSError:
        there = None
    if there and time != EARLIEST:
        return time < there
    if before is None or before.scheme != given.scheme:
        return False
    if number or before.number:
        return number < before.number
    return modified < before.modified


def _write(folder: Path, files: dict[str, bytes]) -> list[str]:
    """Write these files; those that this disk cannot hold are taken out, and told."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    left_out: dict[str, list[str]] = {}
    for number, (name, data) in enumerate([*files.items()]):
        try:
            if "/" in name:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
        except OSError as error:
            pass_on(error)
            if number == 0:  # the notebook
                raise
            del files[name]
            left_out.setdefault(_why_not_written(error), []).append(name)
    return [f"{listed(names)} left out: {why}" for why, names in left_out.items()]


def _why_not_written(error: OSError) -> str:
    return f"this disk cannot hold it ({error.strerror or error})"


def _exchange(new: Path, folder: Path, keeping: Path) -> Path:
    """Put a folder in another's place, both or neither; return where the other one is kept."""
    numbered = (keeping / str(number) for number in count(1))
    kept = next(path for path in numbered if not path.exists())
    kept.parent.mkdir(parents=True, exist_ok=True)
    os.rename(folder, kept)
    try:
        os.rename(new, folder)
    except OSError:
        os.rename(kept, folder)
        raise
    return kept


# --- what is known of it --------------------------------------------------------------------------


def read_known(classroom: Classroom, lesson: str) -> dict[str, CollectedRecord]:
    """What was collected before in this lesson, by student; nothing, if that is not known."""
    path = classroom.folder / KNOWN / f"{lesson}.json"
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        return {student: CollectedRecord(**about) for student, about in told.items()}
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError, AttributeError) as error:
        raise Rejected(
            f"{paths.display_path(path)} is broken ({error}): put it right, or away"
        ) from None


def _write_known(classroom: Classroom, lesson: str, known: Mapping[str, CollectedRecord]) -> None:
    told = {student: vars(about) for student, about in sorted(known.items())}
    path = classroom.folder / KNOWN / f"{lesson}.json"
    paths.write(path, json.dumps(told, indent=1, ensure_ascii=False) + "\n")


def _known(given: SubmittedFile) -> CollectedRecord:
    time, number, modified = given.rank
    shown = "" if time == EARLIEST else time.isoformat()
    return CollectedRecord(given.owner.key, given.scheme, shown, number, modified)


def _due(classroom: Classroom, lesson: str) -> Callable[[str], datetime]:
    """When a student had to hand in, in UTC; far away, if there is no due date."""
    latest = datetime.max.replace(tzinfo=UTC)
    with classroom.gradebook as gradebook:
        try:
            assignment: Any = gradebook.find_assignment(lesson)
        except MissingEntry:
            return lambda student: latest
        due = assignment.duedate
        extensions = {
            str(each.student.id): each.extension
            for each in gradebook.assignment_submissions(lesson)
            if each.extension is not None
        }
    if due is None:
        return lambda student: latest
    return lambda student: due.replace(tzinfo=UTC) + extensions.get(student, timedelta())


def _name(classroom: Classroom, owners: Sequence[Owner]) -> None:
    """Tell the gradebook who they are, where it does not know yet."""
    with classroom.gradebook as gradebook:
        there = {str(student.id): student for student in gradebook.students}
        for owner in owners:
            before = there.get(owner.student)
            told = {
                name: getattr(owner, name)
                for name in ("first_name", "last_name", "email", "lms_user_id")
                if getattr(owner, name) and not getattr(before, name, None)
            }
            if told.get(
                "first_name"
            ):  # known until now by one word, as Canvas's file names tell it
                told["last_name"] = owner.last_name
            if told:
                gradebook.update_or_create_student(owner.student, **told)
