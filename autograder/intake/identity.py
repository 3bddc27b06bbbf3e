"""Two students are never taken for one, nor one for two: whatever cannot be told apart is refused.

An LMS tells students apart by numbers or addresses, a gradebook by ids, a disk by names of folders,
and a reader by what the names look like. A file is taken where all four agree.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from unicodedata import normalize

from autograder.intake.naming import canvas, canvas_users, fold
from autograder.intake.submitted import CollectedRecord, SubmittedFile


@dataclass(frozen=True)
class Settled:
    """Files whose students are certain, and the others: what they are called -> why."""

    given: list[SubmittedFile]
    refused: dict[str, str]


def settled(
    given: list[SubmittedFile], known: Mapping[str, CollectedRecord], there: Collection[str]
) -> Settled:
    """Give each file its student's id; refuse those that could be another's.

    `there`: who is in the class already.
    """
    named = _distinct(given, known, {normalize("NFC", student): student for student in there})
    doubts = _of_one_name(named) | _look_alikes(named, there)
    doubtful = [each.owner for each in named if each.owner.student in doubts]
    return Settled(
        [each for each in named if each.owner.student not in doubts],
        {owner.called: doubts[owner.student] for owner in doubtful},
    )


def canvas_doubts(paths: Iterable[str], there: Collection[str]) -> dict[str, str]:
    """Which of Canvas's files could be two users', and why: users choose the names around numbers.

    `there`: the numbers that are known to be users'.
    """
    names = defaultdict(set)
    of = {path: owner for path in paths for owner in canvas(path)}
    for owner in of.values():
        names[owner.student].add(owner.last_name)
    users = {*there, *names}
    doubts = {}
    for path, owner in of.items():
        user, also = owner.student, sorted((canvas_users(path) - {owner.student}) & users)
        if also:
            doubts[path] = f"it could be {user}'s or {also[0]}'s: {_MOVE}"
        elif len(names[user]) > 1:
            called = " and ".join(f"`{name}`" for name in sorted(names[user]))
            doubts[path] = f"{called} have one number, {user}: {_MOVE}"
    return doubts


_APART = "put the work of each into a folder of their own, and collect that"
_MOVE = "put it into a folder called as its student's number, and collect that"


def _distinct(
    given: list[SubmittedFile], known: Mapping[str, CollectedRecord], spelled: Mapping[str, str]
) -> list[SubmittedFile]:
    """Two students of one name become two, told apart by what the LMS calls them.

    `spelled`: how an id is written in the class already, where accents can be written in two ways.
    """
    on_moodle = {student: each.key for student, each in known.items() if each.scheme == "moodle"}
    before = {key: student for student, key in on_moodle.items()}
    keys = defaultdict(set, {student: {key} for student, key in on_moodle.items()})
    for each in given:
        if each.scheme == "moodle" and each.owner.key not in before:
            keys[each.owner.student].add(each.owner.key)

    def name(each: SubmittedFile) -> str:
        owner, student = each.owner, each.owner.student
        if each.scheme == "moodle":
            if owner.key in before:
                return before[owner.key]
            student = student if len(keys[student]) < 2 else f"{student} ({owner.key})"
        return spelled.get(student, student)

    return [replace(each, owner=replace(each.owner, student=name(each))) for each in given]


def _of_one_name(given: list[SubmittedFile]) -> dict[str, str]:
    """Ids that several students of one LMS would have."""
    keys = defaultdict(set)
    for each in given:
        keys[each.owner.student, each.scheme].add(each.owner.key)
    return {
        student: f"another student would be `{student}` too: {_APART}"
        for (student, _), several in keys.items()
        if len(several) > 1
    }


def _look_alikes(given: list[SubmittedFile], there: Collection[str]) -> dict[str, str]:
    """Ids that only differ in what some disks, or readers, take for the same."""
    alike = defaultdict(set)
    for student in {*there, *(each.owner.student for each in given)}:
        alike[fold(student)].add(student)
    doubts = {}
    for student in {each.owner.student for each in given} - {*there}:
        others = alike[fold(student)] - {student}
        if others:
            why = "only in case, accents or signs that do not show: rename one of them"
            doubts[student] = f"it differs from `{min(others)}` {why}"
    return doubts
