"""The student of a downloaded file: how Canvas, Moodle and nbgrader name submissions.

Each takes a path that starts where the LMS's names start (see `layout`); names below it are the
students' and prove nothing. Sources: Canvas's `ContentZipper` (lib/content_zipper.rb), Moodle's
`mod_assign\\downloader`.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath

LONGEST = 200  # bytes of a student's id: with what nbgrader and we add, a name may have 255
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

# Canvas takes the first number between two underscores for the user's, and so does this
CANVAS = re.compile(
    r"(?s)(?:(?P<anon_late>LATE_)?(?P<anon>anon_[0-9A-Za-z]+)"
    r"|(?P<name>.+?)_(?P<late>LATE_)?(?P<user>\d{1,20}))"
    r"_(?:(?P<number>\d{1,20})_(?P<file>.+)|(?:text|link)\.html)",
    re.ASCII,
)
NUMBERS = re.compile(r"(?=_(\d{1,20})_\d{1,20}_)", re.ASCII)
MOODLE = re.compile(
    r"(?s)(?P<name>.+?)(?:_(?P<participant>\d{1,20}))?_assignsubmission_"
    r"(?:(?P<file>file)|[a-z]+)_?(?P<flat>.*)",
    re.ASCII,
)


def canvas(path: str) -> list[Owner]:
    """`lastnamefirstname_LATE_USERID_FILEID_name.ipynb`, in no folder."""
    found = None if "/" in path else CANVAS.fullmatch(path)
    if not found:
        return []
    user = found["user"] or found["anon"]
    return [
        Owner(
            user,
            user,
            found["file"] or "",
            last_name=found["name"] or "",  # both names in one word
            lms_user_id=user,
            late=bool(found["late"] or found["anon_late"]),
            number=int(found["number"] or 0),
        )
    ]


def canvas_users(path: str) -> set[str]:
    """Whose a file of Canvas's could be, if a name or the file's own name has numbers in it."""
    return set(NUMBERS.findall(path))


def moodle(path: str) -> list[Owner]:
    """`Full Name_PARTICIPANT_assignsubmission_file_/name.ipynb`, or without the folder.

    A student has another participant number in each assignment, so the id is the name.
    """
    top, _, inside = path.partition("/")
    found = MOODLE.fullmatch(top)
    if not found:
        return []
    name, participant = fit(found["name"]), found["participant"] or ""
    if name.isdecimal() and not participant:
        return []  # it could be a participant number
    first, _, last = name.rpartition(" ")
    file = (inside or found["flat"]) if found["file"] else ""
    return [Owner(name, participant or name, file, last, first)]


def nbgrader(path: str) -> list[Owner]:
    """`STUDENT/LESSON/….ipynb`, as nbgrader collects them."""
    student, *inside = PurePosixPath(unicodedata.normalize("NFC", path)).parts
    return [Owner(student, student, "/".join(inside))] if inside[1:] else []


def folder(path: str) -> list[Owner]:
    """`STUDENT/….ipynb`, or `STUDENT.ipynb`."""
    top, _, inside = path.partition("/")
    # a browser may have added .txt
    name = top if inside else PurePosixPath(re.sub(r"(?is)\.ipynb.*", ".ipynb", top)).stem
    student = unicodedata.normalize("NFC", name)
    return [Owner(student, student, inside or top)]


SCHEMES: Mapping[str, Naming] = {
    "canvas": canvas,
    "moodle": moodle,
    "nbgrader": nbgrader,
    "folder": folder,
}


def fit(text: str) -> str:
    """A name as a gradebook, a folder and a CSV file can hold it."""
    text = UNFIT.sub(" ", unicodedata.normalize("NFC", text))
    shown = "".join(sign for sign in text if sign.isprintable() or sign.isspace())
    # a cell that begins so is a formula to a spreadsheet
    plain = re.sub(r"[\s,;\"]+", " ", shown).strip().lstrip("=+-@ ")
    return plain.encode()[:LONGEST].decode(errors="ignore").strip()


def unfit(student: str) -> str:
    """Why a student cannot have this id; empty if it will do."""
    if len(student.encode(errors="replace")) > LONGEST:
        return f"too long for a student's id: rename it, at most {LONGEST} bytes"
    if student and student == fit(student) and not student.startswith("."):
        return ""
    return "no id for a student: rename it, plain text without , ; * ? [ ] or a sign in front"


def fold(name: str) -> str:
    """The same for all names that some disk, or some reader, takes for one."""
    text = unicodedata.normalize("NFKC", name).casefold()
    shown = "".join(sign for sign in text if sign.isprintable() or sign.isspace())
    return " ".join(unicodedata.normalize("NFKC", shown).split()).rstrip(". ")
