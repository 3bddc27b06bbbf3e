"""Read a lesson: a percent script whose cell titles give the role of each cell.

`# %% check softmax points=2` makes a cell the locked, graded test of the exercise `softmax`.
A lesson needs no other metadata to be built, proved and graded.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import jupytext
from jupytext.config import load_jupytext_configuration_file

from autograder import paths
from autograder.authoring.cell_name import CellName
from autograder.errors import CourseError
from autograder.paths import COURSE, Course


@dataclass(frozen=True)
class Role:
    """How nbgrader treats a cell; `kind` is the cell type that the role requires.

    A folded cell shows only its first line and its output until the student unfolds it. Any code
    cell is folded by `folded=true` in its title.
    """

    grade: bool
    solution: bool
    locked: bool
    kind: str
    folded: bool = False


ROLES = {
    "exercise": Role(grade=False, solution=True, locked=False, kind="code"),
    "check": Role(grade=True, solution=False, locked=True, kind="code", folded=True),
    "answer": Role(grade=True, solution=True, locked=False, kind="markdown"),
    "given": Role(grade=False, solution=False, locked=True, kind="code"),
}
# marker -> the attribute of `Role` that a cell needs to contain such a region
REGIONS = {"SOLUTION": "solution", "HIDDEN TESTS": "grade"}


class AuthoringError(CourseError):
    """An error in a lesson or an answers bank: its location, what is wrong, and the fix."""

    def __init__(self, path: Path, line: int, what: str, fix: str) -> None:
        super().__init__(f"{paths.display_path(path)}:{line}: {what}", fix)

    def __str__(self) -> str:
        return f"{self.what}\n  fix: {self.fix}"


@dataclass(frozen=True)
class Cell:
    """A cell of a percent script; a cell without a title has no role."""

    kind: str
    source: str
    line: int
    role: str = ""
    name: str = ""
    points: float | None = None
    folded: bool = False

    @property
    def grade_id(self) -> str:
        """nbgrader's identifier for the cell; empty without a role."""
        return str(CellName(self.role, self.name)) if self.role else ""


@dataclass(frozen=True)
class Lesson:
    """A lesson's cells, in order."""

    path: Path
    cells: tuple[Cell, ...]

    @property
    def course(self) -> Course:
        """The course whose `solutions` the lesson lies in."""
        return Course(self.path.parent.parent)

    @property
    def bank(self) -> Path:
        """The file of its wrong and right answers."""
        return self.course.answers / self.path.name

    @property
    def name(self) -> str:
        """The file's stem, also the name of the assignment: `01_dot_product_attention`."""
        return self.path.stem

    @property
    def title(self) -> str:
        """The lesson's first heading, or its name."""
        lines = (cell.source.split("\n")[0] for cell in self.cells if cell.kind == "markdown")
        return next((line[2:] for line in lines if line.startswith("# ")), self.name)

    def of(self, role: str) -> list[Cell]:
        """The cells with this role."""
        return [cell for cell in self.cells if cell.role == role]

    def exercise_of(self, check: Cell) -> str:
        """The exercise that a check belongs to: the longest name that prefixes the check's."""
        names = [c.name for c in self.of("exercise") if f"{check.name}_".startswith(f"{c.name}_")]
        return max(names, key=len, default="")

    def dependents(self, exercise: str) -> list[str]:
        """The other exercises whose solutions call this one."""
        others = [cell for cell in self.of("exercise") if cell.name != exercise]
        return [cell.name for cell in others if re.search(rf"\b{exercise}\(", cell.source)]

    def checks_of(self, exercise: str) -> list[Cell]:
        """The checks of this exercise."""
        return [check for check in self.of("check") if self.exercise_of(check) == exercise]


def percent_cells(path: Path) -> Iterator[tuple[int, str, str, dict]]:
    """Yield the line, type, source and metadata of each cell of a percent script."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise AuthoringError(path, line, "this is not UTF-8", "save the file as UTF-8") from None
    config = load_jupytext_configuration_file(str(paths.ROOT / "pyproject.toml"))
    notebook = jupytext.reads(text, fmt="py:percent", config=config)
    starts = [n for n, line in enumerate(text.split("\n"), 1) if re.match(r"# ?%%", line)]
    if not text.startswith("# %%") or len(starts) != len(notebook.cells):
        line = starts[0] if starts else 1
        fix = "begin the file with a `# %%` line, and keep `# %%` out of the cells themselves"
        raise AuthoringError(path, line, "cells and `# %%` lines do not match", fix)
    for line, cell in zip(starts, notebook.cells, strict=True):
        yield line, cell.cell_type, cell.source, cell.metadata


def read_lesson(path: Path) -> Lesson:
    """Read and validate a lesson; raise `AuthoringError` for the first problem."""
    cells: list[Cell] = []
    lines: dict[str, int] = {}  # grade_id -> line of its definition
    for line, kind, source, metadata in percent_cells(path):
        cell = _cell(path, line, kind, source, metadata)
        _validate_regions(path, cell)
        if cell.role and cell.grade_id in lines:
            what = f"`{cell.role} {cell.name}` is already defined on line {lines[cell.grade_id]}"
            raise AuthoringError(path, line, what, "rename one of the two")
        lines[cell.grade_id] = line
        cells.append(cell)
    lesson = Lesson(path, tuple(cells))
    for check in lesson.of("check"):
        if not lesson.exercise_of(check):
            what = f"`check {check.name}` belongs to no exercise"
            fix = "begin its name with the exercise's: `check softmax` or `check softmax_stable`"
            raise AuthoringError(path, check.line, what, fix)
    return lesson


def all_lessons(course: Course = COURSE) -> list[Path]:
    """The paths of the course's lessons, in order."""
    return sorted(course.solutions.glob("[0-9][0-9]_*.py"))


def find_lessons(numbers: list[str], course: Course = COURSE) -> list[Path]:
    """The lessons with these numbers or names; all lessons for an empty list."""
    lessons = all_lessons(course)
    found = []
    for number in numbers:
        match = [p for p in lessons if number in (p.stem, p.stem[:2])]
        if not match:
            known = ", ".join(path.stem for path in lessons) or f"none in {course.solutions}"
            raise CourseError(f"no lesson {number!r}; there is {known}")
        found += match
    return found or lessons


def _cell(path: Path, line: int, kind: str, source: str, metadata: dict) -> Cell:
    title = metadata.get("title", "")
    if not title:
        if "points" in metadata:
            fix = "give it a title: `# %% check NAME points=1`"
            raise AuthoringError(path, line, "points on a cell without a title", fix)
        return Cell(kind, source, line, folded=_folded(path, line, kind, metadata))
    role, _, name = title.partition(" ")
    if role not in ROLES:
        fix = f"a title is a role and a name, and the roles are {', '.join(ROLES)}"
        raise AuthoringError(path, line, f"unknown role `{role}` in the title `{title}`", fix)
    if not re.fullmatch(r"[A-Za-z]\w*", name):
        fix = f"write `# %% {role} NAME`, where NAME is letters, digits and underscores"
        raise AuthoringError(path, line, f"`{title}` is not a role and a name", fix)
    if kind != ROLES[role].kind:
        fix = f"{'add' if kind == 'code' else 'drop'} [markdown] in the title"
        raise AuthoringError(path, line, f"`{title}` should be a {ROLES[role].kind} cell", fix)
    points = _points(path, line, title, role, metadata)
    folded = _folded(path, line, kind, metadata) or ROLES[role].folded
    return Cell(kind, source, line, role, name, points, folded)


def _folded(path: Path, line: int, kind: str, metadata: dict) -> bool:
    folded = metadata.get("folded", False)
    if not isinstance(folded, bool) or (folded and kind != "code"):
        fix = "write `folded=true`, in the title of a code cell"
        raise AuthoringError(path, line, "this cell cannot be folded so", fix)
    return folded


def _points(path: Path, line: int, title: str, role: str, metadata: dict) -> float | None:
    points = metadata.get("points")
    if not ROLES[role].grade:
        if points is not None:
            fix = "give the points to the check of this exercise"
            raise AuthoringError(path, line, f"`{title}` cannot have points", fix)
        return None
    if isinstance(points, bool) or not isinstance(points, int | float) or not 0 < points < math.inf:
        fix = f"write `# %% {title} points=1`, with a number greater than zero"
        raise AuthoringError(path, line, f"`{title}` has no points", fix)
    return points


def _validate_regions(path: Path, cell: Cell) -> None:
    """Require BEGIN and END in pairs, in cells of a role that may contain them."""
    opened: dict[str, int] = {}
    lines = cell.source.split("\n")
    for line, text in enumerate(lines, cell.line + 1):
        marker = re.search(rf"(BEGIN|END) ({'|'.join(REGIONS)})", text)
        if not marker:
            continue
        edge, region = marker.groups()
        if not (cell.role and getattr(ROLES[cell.role], REGIONS[region])):
            owners = [f"`{r}`" for r in ROLES if getattr(ROLES[r], REGIONS[region])]
            fix = f"only {' and '.join(owners)} cells may contain a {region} region"
            raise AuthoringError(path, line, f"{edge} {region} in the wrong kind of cell", fix)
        if (edge == "BEGIN") == (region in opened):
            fix = f"follow each BEGIN {region} by one END {region}, and do not nest them"
            raise AuthoringError(path, line, f"unmatched {edge} {region}", fix)
        if edge == "BEGIN":
            opened[region] = line
        else:
            del opened[region]
    for region, line in opened.items():
        fix = f"add a line `# END {region}`"
        raise AuthoringError(path, line, f"BEGIN {region} is never closed", fix)
    if cell.role == "exercise" and "BEGIN SOLUTION" not in cell.source:
        fix = "put `# BEGIN SOLUTION` and `# END SOLUTION` around what the student writes"
        raise AuthoringError(path, cell.line, f"`exercise {cell.name}` contains no solution", fix)
