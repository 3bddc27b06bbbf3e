"""Gather what a student wrote, exercise by exercise, wherever in the notebook it stands."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from nbformat import NotebookNode

from autograder.authoring.answer_bank import Answer
from autograder.authoring.lesson import Lesson
from autograder.authoring.notebook import graded_cells, source_notebook, student_version
from autograder.similarity.pieces import Code, Piece, binds, of_comments, of_prose

# parts that hold what stands in all exercises; none is called so
COMMENTS = "comments"
NAMES = "own names"
ELSEWHERE = "# --- in another cell"
Prints = dict[str, frozenset[int]]  # part -> fingerprints


@dataclass(frozen=True)
class Part:
    """What stands for one exercise or answer: its text, and the pieces of it."""

    name: str
    text: str
    pieces: tuple[Piece, ...]
    comments: tuple[Piece, ...] = ()
    names: frozenset[str] = frozenset()  # that the student chose

    @property
    def prints(self) -> frozenset[int]:
        """The fingerprints of its pieces."""
        return frozenset().union(*(piece.prints for piece in self.pieces))


@dataclass(frozen=True)
class Baseline:
    """What every submission holds: the lesson, its solution and the bank's right answers."""

    exercises: tuple[str, ...]
    answers: tuple[str, ...]
    cells: frozenset[str]  # the sources of the notebook as students got it
    prints: frozenset[int]
    names: frozenset[str]

    @classmethod
    def of(cls, lesson: Lesson, bank: Iterable[Answer]) -> "Baseline":
        """Of a lesson, its solution and the right answers of its bank."""
        solved = source_notebook(lesson)
        cells = [*solved.cells, *student_version(solved).cells]
        exercises = tuple(cell.name for cell in lesson.of("exercise"))
        code = [cell.source for cell in cells if cell.cell_type == "code"]
        code += [answer.source for answer in bank if answer.right]
        prose = [cell.source for cell in cells if cell.cell_type != "code"]
        read = [Code(source) for source in code]
        pieces = [piece for one in read for piece in one.pieces(exercises)]
        pieces += [piece for source in code for piece in of_comments(source)]
        pieces += [piece for source in prose for piece in of_prose(source)]
        return cls(
            exercises,
            tuple(cell.name for cell in lesson.of("answer")),
            frozenset(cell.source for cell in cells),
            frozenset().union(*(piece.prints for piece in pieces)),
            frozenset().union(*(one.own_names | one.read for one in read)),
        )


def parts(notebook: NotebookNode, baseline: Baseline) -> dict[str, Part]:
    """The parts of a repaired notebook, by name: exercises and written answers."""
    cells = graded_cells(notebook)
    # what the lesson itself tells or tries out is nobody's; copies of it may have been changed
    plain = [
        _Loose(cell.source)
        for cell in notebook.cells
        if cell.cell_type == "code" and not cell.metadata.get("nbgrader")
        if cell.source not in baseline.cells
    ]
    found = {}
    for name in baseline.exercises:
        cell = cells.get(f"exercise_{name}")
        found[name] = _of_code(name, cell.source if cell else "", plain, baseline)
    for name in baseline.answers:
        cell = cells.get(f"answer_{name}")
        text = cell.source if cell else ""
        found[name] = Part(name, text, tuple(of_prose(text)))
    return found


def prints(of: Mapping[str, Part], baseline: Baseline) -> Prints:
    """The fingerprints that count of each part, of all comments together, and of all names."""
    found = {name: part.prints - baseline.prints for name, part in of.items()}
    told = (piece.prints for part in of.values() for piece in part.comments)
    found[COMMENTS] = frozenset().union(*told) - baseline.prints
    found[NAMES] = frozenset(name_print(name) for part in of.values() for name in part.names)
    return found


def name_print(name: str) -> int:
    """The fingerprint of a name that a student chose."""
    return hash(("a name", name))


class _Loose:
    """A code cell that belongs to no exercise, and may hold a part of one."""

    def __init__(self, source: str) -> None:
        self.source = source

    @cached_property
    def code(self) -> Code:
        return Code(self.source)

    @cached_property
    def binds(self) -> set[str]:
        return {name for statement in self.code.statements for name in binds(statement)}


def _of_code(name: str, source: str, loose: Iterable[_Loose], baseline: Baseline) -> Part:
    """An exercise's cell, and other cells that change it or name what it needs."""
    # an untouched cell needs what the lesson says, not what the student does
    code = Code(source)
    needed = {name} if source in baseline.cells else {name} | (code.read - code.own_names)
    taken: list[_Loose] = []
    while True:
        more = [one for one in loose if one not in taken and one.binds & needed]
        if not more:
            break
        taken += more
        needed = needed.union(*(one.code.read - one.code.own_names for one in more))
    text = "\n\n".join([source, *(f"{ELSEWHERE}\n{one.source}" for one in taken)])
    whole = Code(text) if taken else code
    own = whole.own_names - baseline.names
    pieces, comments = whole.pieces(baseline.exercises), of_comments(text)
    return Part(name, text, tuple(pieces), tuple(comments), frozenset(own))
