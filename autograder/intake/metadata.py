"""Gradescope's `submission_metadata.yml`: who handed in which submission, and when.

Read event by event, and only what is wanted of it: no depth, alias or odd value of one submission
can hide the others, or grow in memory.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import yaml

from autograder.intake.naming import Owner, fit

METADATA = "submission_metadata.yml"
SUBMISSION = re.compile(r"submission_(\d{1,18})", re.ASCII)  # a folder, and what the file calls it
WANTED = (":submitters", ":created_at")
DEEPEST = 8  # tables and lists inside one another, of what is wanted
TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(\.\d+)? ?(Z|UTC|[+-]\d\d:?\d\d)?", re.ASCII
)
NOBODY = f"{METADATA} does not tell who handed it in: ask them for an e-mail address"

# what is made of YAML: text, tables of text, lists; None for nothing
Value = str | dict[str, Any] | list[Any] | None


@dataclass(frozen=True)
class Export:
    """What a download tells of its submissions: `submitters`, and `notes` on what is odd.

    Both by the name of the submission's folder; several submitters are a group.
    """

    submitters: Mapping[str, list[Owner]]
    notes: Mapping[str, str]

    def owners(self, path: str) -> list[Owner]:
        """Whose a file is: `submission_N/…`."""
        submission, _, file = path.partition("/")
        found = self.submitters.get(submission, []) if file else []
        return [replace(owner, file=file) for owner in found]


def read(metadata: bytes) -> Export:
    """What Gradescope's file tells; `ValueError` if it is none."""
    try:
        entries = [*_entries(_Events(metadata))]
    except yaml.YAMLError as error:
        raise ValueError(str(error).split("\n")[0]) from None
    if not entries:
        raise ValueError("no table of submissions")
    twice = {name for name, count in Counter(name for name, _ in entries).items() if count > 1}
    submitters, notes = {}, {}
    for name, about in entries:
        time = _time(about.get(":created_at"))
        owners = [] if name in twice else _submitters(name, about.get(":submitters"), time)
        submitters[name] = owners
        if owners and time is None:
            notes[name] = f"{METADATA} does not tell when it was handed in: it is never late"
    return Export(_with_own_numbers(submitters), notes)


def _with_own_numbers(submitters: Mapping[str, list[Owner]]) -> dict[str, list[Owner]]:
    """Without numbers that two students have: they type them themselves."""
    pairs = {(o.lms_user_id, o.student) for owners in submitters.values() for o in owners}
    shared = {number for number, count in Counter(n for n, _ in pairs).items() if count > 1}
    return {
        name: [replace(o, lms_user_id="") if o.lms_user_id in shared else o for o in owners]
        for name, owners in submitters.items()
    }


def _submitters(submission: str, listed: Value, time: datetime | None) -> list[Owner]:
    number = int(submission.removeprefix("submission_"))
    found: dict[str, Owner] = {}
    for each in listed if isinstance(listed, list) else []:
        told = each if isinstance(each, dict) else {}
        name, sid, email = (_text(told.get(f":{what}")) for what in ("name", "sid", "email"))
        # students type their numbers themselves: none may pass for an address
        student = email.lower() or ("" if "@" in sid else sid)
        first, _, last = fit(name).rpartition(" ")
        key = student if email else f"{sid} {name}"
        owner = Owner(student, key, "", last, first, email, fit(sid), time=time, number=number)
        if student:
            found.setdefault(student, owner)
    return [*found.values()]


def _text(value: Value) -> str:
    return value.strip() if isinstance(value, str) else ""


def _time(told: Value) -> datetime | None:
    if isinstance(told, dict):  # as Ruby on Rails writes a time
        told = told.get("utc")
    found = TIME.fullmatch(_text(told))
    if not found:
        return None
    date, clock, fraction, zone = found.groups(default="")
    try:
        time = datetime.fromisoformat(f"{date}T{clock}{fraction[:7]}{zone.replace('UTC', 'Z')}")
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


# --- YAML -----------------------------------------------------------------------------------------


class _Events:
    """The parts of a YAML text, one after the other, and the parts that its anchors name."""

    def __init__(self, text: bytes) -> None:
        self._parsed: Iterator[Any] = yaml.parse(text, Loader=yaml.CSafeLoader)
        self._anchors: dict[str, str | None] = {}

    def next(self) -> Any:
        """The next part."""
        event = next(self._parsed)
        if isinstance(event, yaml.ScalarEvent) and event.anchor:
            self._anchors[event.anchor] = _plain(event)
        return event

    def skip(self, event: Any) -> None:
        """Leave out what begins with this part."""
        depth = isinstance(event, yaml.CollectionStartEvent)
        while depth:
            event = self.next()
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)

    def value(self, event: Any, depth: int = 0) -> Value:
        """What begins with this part; an alias may only name text."""
        if isinstance(event, yaml.ScalarEvent):
            return _plain(event)
        if isinstance(event, yaml.AliasEvent):
            return self._anchors.get(event.anchor)
        if depth == DEEPEST:
            self.skip(event)
            return None
        if isinstance(event, yaml.MappingStartEvent):
            return {key: self.value(each, depth + 1) for key, each in self.pairs()}
        return [self.value(each, depth + 1) for each in self._items()]

    def pairs(self) -> Iterator[tuple[str, Any]]:
        """The keys of a table, each with the part that its value begins with.

        Who asks for the next has taken or skipped that value.
        """
        for event in self._items():
            key = event.value if isinstance(event, yaml.ScalarEvent) else None
            self.skip(event)
            value = self.next()
            if key is None:
                self.skip(value)
            else:
                yield key, value

    def _items(self) -> Iterator[Any]:
        while not isinstance(event := self.next(), yaml.CollectionEndEvent):
            yield event


def _entries(events: _Events) -> Iterator[tuple[str, dict[str, Value]]]:
    """What is wanted of each submission."""
    while not isinstance(event := events.next(), yaml.NodeEvent | yaml.StreamEndEvent):
        pass
    if not isinstance(event, yaml.MappingStartEvent):
        return
    for name, begins in events.pairs():
        if not SUBMISSION.fullmatch(name):
            events.skip(begins)
        elif not isinstance(begins, yaml.MappingStartEvent):
            events.skip(begins)
            yield name, {}
        else:
            yield name, _wanted(events)


def _wanted(events: _Events) -> dict[str, Value]:
    found = {}
    for key, begins in events.pairs():
        if key in WANTED:
            found[key] = events.value(begins)
        else:
            events.skip(begins)
    return found


def _plain(event: Any) -> str | None:
    """A scalar's text; None for YAML's nothing."""
    nothing = event.implicit[0] and event.value in ("", "~", "null", "Null", "NULL")
    return None if nothing else event.value
