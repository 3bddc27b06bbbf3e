"""Why there is nothing to read where a submission should lie."""

import re
from pathlib import Path

from autograder.gradebook.result import State
from autograder.intake.finding import Files, there

# nbgrader passes over names that begin with a dot or have two lines, and takes others for another
# student's, or for several students'; what is no UTF-8 no database takes; and no name may turn
# round what stands after it
NO_ID = re.compile(r"^\.|[*?\[\]\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
FIT = "plain text, no * ? [ ], no dot in front, no spaces at the ends"
LINK = "a link in place of a file: ask for the notebook itself"


def obstacle(path: Path, student: str) -> tuple[State, str] | None:
    """Why there is nothing to read at `path` or beside it, and the fix."""
    if student != student.strip() or NO_ID.search(student):
        name = student.encode(errors="replace").decode()
        return State.UNREADABLE, f"rename the folder `{name}`: {FIT}"
    if path.is_symlink() or path.parent.is_symlink():
        # out of an archive, it could point to any file
        return State.UNREADABLE, LINK
    if path.exists() and not path.is_file() and not path.is_dir():
        return State.UNREADABLE, "no plain file: ask for the notebook itself"
    if path.parent.exists() and not path.parent.is_dir():
        return State.UNREADABLE, f"a file called `{path.stem}` in place of a folder"
    files = Files([path.name]) if path.is_file() else there(path.parent)
    try:
        for name in files.notebooks:
            (path.parent / name).open("rb").close()
    except OSError as error:
        return State.UNREADABLE, error.strerror or str(error)
    return None if files.notebooks else _nothing_there(path, files)


def _nothing_there(path: Path, files: Files) -> tuple[State, str]:
    """What there is where no notebook lies."""
    if files.refused:
        return State.UNREADABLE, files.refused[0]
    if path.is_dir():
        return State.UNREADABLE, f"a folder called `{path.name}`, and no notebook in it"
    if files.others:
        names = ", ".join(files.others[:3])
        return State.MISSING, f"no notebook there, but {names}: ask for the .ipynb"
    return State.MISSING, "nothing was handed in"
