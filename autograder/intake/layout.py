"""Which naming scheme a download follows, and at which depth its names are.

Such names are the LMS's, or the instructor's own, at the top level, or in one folder around all
of it. Whatever lies deeper was named by students: no scheme is guessed from it, and where only that
could decide, a person is asked.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autograder.intake.archive import Contents, Rejected
from autograder.intake.metadata import METADATA, SUBMISSION
from autograder.intake.naming import SCHEMES

EXPORT = re.compile(r"assignment_\d+_export", re.ASCII)  # the folder around Gradescope's
SUBMITTED = "submitted"  # nbgrader's folder of what students handed in
AROUND = 4  # folders, at most, that a person may have put around an LMS's download
ONE_STUDENT = "if `{top}` is one student's, add `--from folder`"


@dataclass(frozen=True)
class Layout:
    """The naming scheme of the files, and the folder that holds these names, with a `/`."""

    scheme: str
    base: str = ""


def layout(contents: Contents, lesson: str, scheme: str = "") -> Layout:
    """How a download is laid out, by a scheme or by any; `Rejected` if that cannot be told."""
    paths = [*(piece.path for piece in contents.pieces), *contents.refused]
    if scheme == "folder" or not paths:
        return Layout(scheme or "folder")
    return _of_scheme(scheme, paths) if scheme else _guessed(contents, paths, lesson)


def _of_scheme(scheme: str, paths: Sequence[str]) -> Layout:
    bases = [*_around(paths)]
    if scheme == "gradescope":
        inside = next((n for n, base in enumerate(bases) if _is_submission(base)), len(bases))
        for base in bases[:inside]:
            if f"{base}{METADATA}" in paths:
                return Layout(scheme, base)
        raise Rejected(f"no {METADATA}: take the whole zip of Gradescope's `Export Submissions`")
    if scheme == "nbgrader":
        return Layout(scheme, f"{SUBMITTED}/" if f"{SUBMITTED}/" in bases else "")
    for base in bases:
        if any(SCHEMES[scheme](path) for path in _below(paths, base)):
            return Layout(scheme, base)
    raise Rejected(f"nothing here is named as {scheme} names files: leave out `--from`")


def _guessed(contents: Contents, paths: Sequence[str], lesson: str) -> Layout:
    if found := _by_lms(paths):
        return found
    if contents.path.resolve().name == SUBMITTED and _is_nbgraders(paths, lesson):
        return Layout("nbgrader")
    below = _below(paths, f"{SUBMITTED}/")
    if len(below) == len(paths) and _is_nbgraders(below, lesson):
        return Layout("nbgrader", f"{SUBMITTED}/")
    _check_students(paths, lesson)
    return Layout("folder")


def _by_lms(paths: Sequence[str]) -> Layout | None:
    there = set(paths)
    exports = [base for base in ("", *sorted(_exports(paths))) if f"{base}{METADATA}" in there]
    exports = [base for base in exports if any(map(_is_submission, _tops(_below(paths, base))))]
    if len(exports) > 1:
        raise Rejected(f"several of Gradescope's exports, {', '.join(exports)}: name one of them")
    if exports:
        return Layout("gradescope", exports[0])
    tops = {path.split("/")[0]: path for path in paths}
    for scheme in ("moodle", "canvas"):
        named = sum(bool(SCHEMES[scheme](path)) for path in tops.values())
        if 2 * named > len(tops):
            return Layout(scheme)
    return None


def _check_students(paths: Sequence[str], lesson: str) -> None:
    """`Rejected` where the only folder could be one student's, or one around several students."""
    top, *others = _tops(paths)
    below = _below(paths, f"{top}/")
    if others or len(below) < len(paths):
        return
    one_student = ONE_STUDENT.format(top=top)
    if found := _by_lms(below):
        it = f"`{top}` holds what looks like a download of {found.scheme.capitalize()}'s"
        raise Rejected(f"{it}: if it is one, add `--from {found.scheme}`; {one_student}")
    holding = {path.split("/")[0] for path in below if path.lower().endswith((".ipynb", ".zip"))}
    if len(holding) > 1 and lesson not in holding and all("/" in path for path in below):
        students = f"if they are students, unpack it and name `{top}` itself"
        raise Rejected(f"`{top}` holds {len(holding)} folders: {students}; {one_student}")


def _is_nbgraders(paths: Sequence[str], lesson: str) -> bool:
    """Whether all but odd ones are `STUDENT/LESSON/…`, as no single student can make it look."""
    shallow = {path.split("/")[0] for path in paths if path.count("/") < 2}
    has_lesson = any(path.split("/")[1:2] == [lesson] for path in paths)
    return has_lesson and 2 * len(shallow) < len(_tops(paths))


def _is_submission(folder: str) -> bool:
    return bool(SUBMISSION.fullmatch(folder.rstrip("/").split("/")[-1]))


def _exports(paths: Sequence[str]) -> set[str]:
    tops = {path.split("/")[0] for path in paths if "/" in path}
    return {f"{top}/" for top in tops if EXPORT.fullmatch(top)}


def _around(paths: Sequence[str]) -> Iterator[str]:
    """The folders that everything lies in, from the outermost on; first, none."""
    base = ""
    for _ in range(AROUND + 1):
        yield base
        tops = _tops(paths)
        if len(tops) != 1 or not all("/" in path for path in paths):
            return
        base += f"{tops[0]}/"
        paths = _below(paths, f"{tops[0]}/")


def _tops(paths: Sequence[str]) -> list[str]:
    return sorted({path.split("/")[0] for path in paths})


def _below(paths: Sequence[str], base: str) -> list[str]:
    return [path.removeprefix(base) for path in paths if path.startswith(base)]
