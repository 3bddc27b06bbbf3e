"""Whose a downloaded file is: how Canvas, Moodle and Gradescope name what students handed in.

Sources: Canvas's `ContentZipper` (lib/content_zipper.rb), Moodle's `mod_assign\\downloader`,
Gradescope's `submission_metadata.yml`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

import yaml

METADATA = "submission_metadata.yml"  # in what Gradescope exports
LONGEST = 100  # characters of a student's id
# nbgrader takes * ? [ ] for patterns; / and \ would lead to other folders
UNFIT = re.compile(r"[*?\[\]/\\\x00-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True)
class Owner:
    """Whose a file is, and what the download says of it."""

    student: str  # the id in the gradebook
    key: str  # what the LMS calls the student in this assignment
    file: str  # what the student called it; empty: no file was handed in
    last_name: str = ""
    first_name: str = ""
    email: str = ""
    lms_user_id: str = ""
    late: bool = False  # says the LMS
    time: datetime | None = None  # when it was handed in, in UTC
    number: int = 0  # of two files of a student, the newer one has the higher number

    @property
    def called(self) -> str:
        """The id, and the name where the id does not tell it."""
        name = f"{self.first_name} {self.last_name}".strip()
        return f"{self.student} ({name})" if name and name not in self.student else self.student


# the owners of the file at a path, several of a group's; none, if it is not named that way
Naming = Callable[[str], list[Owner]]

CANVAS = re.compile(
    r"^(?:(?P<name>.*?)_)??(?:(?P<late>LATE)_)?(?P<user>\d+|anon_[0-9a-z]+)"
    r"_(?:(?P<number>\d+)_(?P<file>.+)|(?:text|link)\.html)$",
    re.IGNORECASE,
)
MOODLE = re.compile(
    r"^(?P<name>.+?)(?:_(?P<participant>\d+))?_assignsubmission_"
    r"(?:(?P<file>file)|[a-z]+)_?(?P<flat>.*)$"
)


def canvas(path: str) -> list[Owner]:
    """`lastnamefirstname_LATE_USERID_FILEID_name.ipynb`."""
    found = CANVAS.match(PurePosixPath(path).name)
    if not found:
        return []
    user = found["user"]
    return [
        Owner(
            user,
            user,
            found["file"] or "",
            last_name=found["name"] or "",  # both names in one word
            lms_user_id=user,
            late=bool(found["late"]),
            number=int(found["number"] or 0),
        )
    ]


def moodle(path: str) -> list[Owner]:
    """`Full Name_PARTICIPANT_assignsubmission_file_/name.ipynb`, or without the folder.

    A student has another participant number in each assignment, so the id is the name.
    """
    parts = PurePosixPath(path).parts
    for depth, part in enumerate(parts):
        found = MOODLE.match(part)
        if found:
            inside = "/".join(parts[depth + 1 :]) or found["flat"]
            name, participant = fit(found["name"]), found["participant"] or ""
            first, _, last = name.rpartition(" ")
            file = inside if found["file"] else ""
            return [Owner(name, participant or name, file, last, first)]
    return []


def gradescope(metadata: bytes) -> Naming:
    """`assignment_N_export/submission_N/…`, whose owners stand in `submission_metadata.yml`.

    `ValueError` if that is not what Gradescope writes.
    """
    try:
        told = yaml.load(metadata, _Plain)
    except (yaml.YAMLError, RecursionError, UnicodeDecodeError) as error:
        raise ValueError(str(error).split("\n")[0]) from None
    if not isinstance(told, dict):
        raise ValueError("no table of submissions")

    def owners(path: str) -> list[Owner]:
        parts = PurePosixPath(path).parts
        for depth, part in enumerate(parts[:-1]):
            about = told.get(part)
            if isinstance(about, dict):
                return _submitters(part, about, "/".join(parts[depth + 1 :]))
        return []

    return owners


def folder(path: str) -> list[Owner]:
    """`STUDENT/….ipynb`, or `STUDENT.ipynb`."""
    student, *inside = PurePosixPath(path).parts
    if inside:
        return [Owner(student, student, "/".join(inside))]
    # a browser may have added .txt
    student = PurePosixPath(re.sub(r"(?i)\.ipynb.*$", ".ipynb", path)).stem
    return [Owner(student, student, path)]


SCHEMES: Mapping[str, Naming | None] = {
    "canvas": canvas,
    "moodle": moodle,
    "gradescope": None,  # its metadata say whose a file is
    "folder": folder,
}


def guess(paths: Sequence[str]) -> str:
    """By which scheme these files are named."""
    if any(PurePosixPath(path).name == METADATA for path in paths):
        return "gradescope"
    for scheme, naming in (("moodle", moodle), ("canvas", canvas)):
        if 2 * sum(bool(naming(path)) for path in paths) > len(paths):
            return scheme
    return "folder"


def fit(text: str) -> str:
    """A name as a gradebook, a folder and a CSV file can hold it."""
    # a cell that begins so is a formula to a spreadsheet
    plain = re.sub(r"[\s,;\"]+", " ", UNFIT.sub(" ", text)).strip().lstrip("=+-@ ")
    return plain[:LONGEST].strip()


def unfit(student: str) -> str:
    """Why a student cannot have this id; empty if it will do."""
    if student and student == fit(student) and not student.startswith("."):
        return ""
    return "no id for a student: rename it, plain text without , ; * ? [ ] or a sign in front"


class _Plain(yaml.CSafeLoader):
    """YAML as plain data: Ruby's own classes become tables."""


def _untagged(loader: Any, tag: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return loader.construct_scalar(node)


_Plain.add_multi_constructor("!", _untagged)


def _submitters(submission: str, about: Mapping[str, Any], file: str) -> list[Owner]:
    time, listed = _time(about.get(":created_at")), about.get(":submitters")
    number = int("".join(re.findall(r"\d+$", submission)) or 0)
    found = []
    for each in listed if isinstance(listed, list) else []:
        told = each if isinstance(each, dict) else {}
        name, sid, email = (
            fit(str(told.get(f":{what}") or "")) for what in ("name", "sid", "email")
        )
        first, _, last = name.rpartition(" ")
        student = email.lower() or sid or name
        owner = Owner(student, sid or email or name, file, last, first, email, sid)
        found.append(replace(owner, time=time, number=number))
    return [owner for owner in found if owner.student]


def _time(told: Any) -> datetime | None:
    if isinstance(told, dict):  # as Ruby on Rails writes a time
        told = told.get("utc")
    if isinstance(told, str):
        try:
            told = datetime.fromisoformat(told)
        except ValueError:
            return None
    if not isinstance(told, datetime):
        return None
    return (told if told.tzinfo else told.replace(tzinfo=UTC)).astimezone(UTC)
