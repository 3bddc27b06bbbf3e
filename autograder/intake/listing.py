"""List an untrusted folder, level by level, without following links.

No depth, number or name of files can stop it: what is not listed is told, and why.
"""

import os
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from autograder.intake.errors import pass_on

DEEPEST = 100  # folders inside one another
ENDLESS = 1 << 40
JUNK = {"__MACOSX", "__pycache__", "Thumbs.db", "desktop.ini"}
LINK = "a link in place of a file: ask for the file itself"
TOO_DEEP = f"over {DEEPEST} folders inside one another: ask for the notebook itself"
TOO_MANY = "over {most:,} files and folders: ask for the notebook itself"


@dataclass(frozen=True, slots=True)
class Listed:
    """A file below a folder; `why_not` says why it cannot be taken, and the fix."""

    path: str
    called: str  # from the folder on, with `/`
    size: int = 0
    modified: float = 0.0  # seconds since 1970
    why_not: str = ""


def is_junk(name: str) -> bool:
    """Whether a file or folder was left by a program and is no student's work."""
    return name.startswith(".") or name in JUNK


def walk(folder: str, most: int = ENDLESS) -> Iterator[Listed]:
    """The files below a folder, those of upper folders first; at most so many files and folders."""
    left, waiting = most, deque([(folder, "", 0)])
    while waiting:
        path, before, depth = waiting.popleft()
        try:
            with os.scandir(path) as entries:
                found = sorted(islice(entries, left + 1), key=lambda entry: entry.name)
        except OSError as error:
            pass_on(error)
            yield Listed(path, before, why_not=f"cannot be read ({error.strerror})")
            continue
        for entry in found:
            if left == 0:
                yield Listed(folder, "", why_not=TOO_MANY.format(most=most))
                return
            left -= 1
            if is_junk(entry.name):
                continue
            called = f"{before}/{entry.name}" if before else entry.name
            listed = _listed(entry, called, depth)
            if listed:
                yield listed
            else:
                waiting.append((entry.path, called, depth + 1))


def _listed(entry: os.DirEntry[str], called: str, depth: int) -> Listed | None:
    """A file, or why it is none; nothing, if it is a folder to look into."""
    try:
        if entry.is_symlink():
            why = LINK
        elif entry.is_dir(follow_symlinks=False):
            if depth < DEEPEST:
                return None
            why = TOO_DEEP
        elif entry.is_file(follow_symlinks=False):
            about = entry.stat(follow_symlinks=False)
            return Listed(entry.path, called, about.st_size, about.st_mtime)
        else:
            why = "no plain file"
    except OSError as error:
        pass_on(error)
        why = f"cannot be read ({error.strerror})"
    return Listed(entry.path, called, why_not=why)
