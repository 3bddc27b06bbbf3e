"""Collect what a student wrote for each exercise, from any cell of the notebook."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from nbformat import NotebookNode

from autograder.authoring.answer_bank import Answer
from autograder.authoring.cell_name import CellName
from autograder.authoring.lesson import Lesson
from autograder.authoring.notebook import graded_cells, source_notebook, student_version
from autograder.similarity.pieces import Code, Piece, bound_names, comment_pieces, prose_pieces

# parts that span all exercises; no exercise can have such a name
COMMENTS = "comments"
NAMES = "own names"
ELSEWHERE = "# --- in another cell"
Fingerprints = dict[str, frozenset[int]]  # by part


@dataclass(frozen=True)
class Part:
    """What a student wrote for an exercise or answer, and its pieces."""

    name: str
    text: str
    pieces: tuple[Piece, ...]
    comments: tuple[Piece, ...] = ()
    names: frozenset[str] = frozenset()  # chosen by the student

    @property
    def fingerprints(self) -> frozenset[int]:
        """The fingerprints of its pieces."""
        return frozenset().union(*(piece.fingerprints for piece in self.pieces))


@dataclass(frozen=True)
class Baseline:
    """What does not count: the lesson, its solution and the bank's right answers."""

    exercises: tuple[str, ...]
    answers: tuple[str, ...]
    cells: frozenset[str]  # sources of the released notebook's cells
    fingerprints: frozenset[int]
    names: frozenset[str]

    @classmethod
    def of(cls, lesson: Lesson, bank: Iterable[Answer]) -> "Baseline":
        """The baseline of a lesson with this answers bank."""
        solved = source_notebook(lesson)
        cells = [*solved.cells, *student_version(solved).cells]
        exercises = tuple(cell.name for cell in lesson.of("exercise"))
        code = [cell.source for cell in cells if cell.cell_type == "code"]
        code += [answer.source for answer in bank if answer.right]
        prose = [cell.source for cell in cells if cell.cell_type != "code"]
        parsed = [Code(source) for source in code]
        pieces = [piece for cell in parsed for piece in cell.pieces(exercises)]
        pieces += [piece for source in code for piece in comment_pieces(source)]
        pieces += [piece for source in prose for piece in prose_pieces(source)]
        return cls(
            exercises,
            tuple(cell.name for cell in lesson.of("answer")),
            frozenset(cell.source for cell in cells),
            frozenset().union(*(piece.fingerprints for piece in pieces)),
            frozenset().union(*(cell.own_names | cell.read for cell in parsed)),
        )


def parts(notebook: NotebookNode, baseline: Baseline) -> dict[str, Part]:
    """The exercises and written answers of a repaired notebook, by name."""
    cells = graded_cells(notebook)
    # unchanged cells of the lesson are not the student's work; changed copies may be
    extra = [
        _ExtraCell(cell.source)
        for cell in notebook.cells
        if cell.cell_type == "code" and not cell.metadata.get("nbgrader")
        if cell.source not in baseline.cells
    ]
    found = {}
    for name in baseline.exercises:
        cell = cells.get(str(CellName("exercise", name)))
        found[name] = _code_part(name, cell.source if cell else "", extra, baseline)
    for name in baseline.answers:
        cell = cells.get(str(CellName("answer", name)))
        text = cell.source if cell else ""
        found[name] = Part(name, text, tuple(prose_pieces(text)))
    return found


def fingerprints(parts: Mapping[str, Part], baseline: Baseline) -> Fingerprints:
    """The fingerprints of each part, of all comments and of all names, without the baseline's."""
    found = {name: part.fingerprints - baseline.fingerprints for name, part in parts.items()}
    comments = (piece.fingerprints for part in parts.values() for piece in part.comments)
    found[COMMENTS] = frozenset().union(*comments) - baseline.fingerprints
    found[NAMES] = frozenset(name_fingerprint(n) for part in parts.values() for n in part.names)
    return found


def name_fingerprint(name: str) -> int:
    """The fingerprint of a name that a student chose."""
    return hash(("a name", name))


class _ExtraCell:
    """A code cell outside the exercises, which may contain part of a solution."""

    def __init__(self, source: str) -> None:
        self.source = source

    @cached_property
    def code(self) -> Code:
        return Code(self.source)

    @cached_property
    def binds(self) -> set[str]:
        return {name for statement in self.code.statements for name in bound_names(statement)}


def _code_part(name: str, source: str, extra: Iterable[_ExtraCell], baseline: Baseline) -> Part:
    """An exercise's cell, and the extra cells that change it or define what it reads."""
    # names that an untouched cell reads are defined by the lesson, not by the student
    code = Code(source)
    needed = {name} if source in baseline.cells else {name} | (code.read - code.own_names)
    taken: list[_ExtraCell] = []
    while True:
        more = [cell for cell in extra if cell not in taken and cell.binds & needed]
        if not more:
            break
        taken += more
        needed = needed.union(*(cell.code.read - cell.code.own_names for cell in more))
    text = "\n\n".join([source, *(f"{ELSEWHERE}\n{cell.source}" for cell in taken)])
    whole = Code(text) if taken else code
    own = whole.own_names - baseline.names
    pieces, comments = whole.pieces(baseline.exercises), comment_pieces(text)
    return Part(name, text, tuple(pieces), tuple(comments), frozenset(own))
