"""Read an answers bank: wrong and right answers to each exercise of a lesson.

A percent script beside the lesson's: `# %% wrong softmax over_rows` is a cell that replaces the
cell of the exercise `softmax`; its leading comment is what a teacher would say to it. A cell with
`of="solution"`, or `of=` another answer's name, holds only what it changes there. Code that many
answers change, but that is no answer itself, is a cell `# %% base softmax shifted`.
"""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from autograder.authoring.answer_variants import (
    has_replacements,
    read_replacements,
    solution_code,
    split_comment,
)
from autograder.authoring.lesson import AuthoringError, Lesson, percent_cells

KINDS = ("wrong", "right", "base")
SOLUTION = "solution"  # the base of answers that change the lesson's own


@dataclass(frozen=True)
class Answer:
    """One answer to one exercise; `says` is the teacher's sentence to a wrong one.

    An untouched one is the stub: it must not only lose points but earn none.
    """

    exercise: str
    name: str
    right: bool
    source: str
    says: str
    untouched: bool = False


@dataclass(frozen=True)
class _Entry:
    """A cell of the bank as it is written; `base` names the answer that it changes, if any."""

    line: int
    kind: str
    exercise: str
    name: str
    source: str
    base: str


def read_answers(path: Path, lesson: Lesson) -> list[Answer]:
    """The answers of a bank, expanded; `AuthoringError` names the first thing wrong with it."""
    return AnswerBank(path, lesson).answers()


def nearest(name: str, names: Iterable[str]) -> str:
    """The names most like one that does not exist, for a message."""
    names = list(names)
    return ", ".join(difflib.get_close_matches(name, names) or names)


class AnswerBank:
    """The answers of one file, some of which are written as changes to others."""

    def __init__(self, path: Path, lesson: Lesson) -> None:
        self._path = path
        self._lesson = lesson
        self._solutions = {cell.name: cell.source for cell in lesson.of("exercise")}
        self._entries: dict[tuple[str, str], _Entry] = {}
        for line, _, source, metadata in percent_cells(path):
            if metadata.get("title", "").split(" ")[0] != "given":
                entry = self._entry(line, source, metadata)
                self._entries[entry.exercise, entry.name] = entry

    def answers(self) -> list[Answer]:
        """All answers, in the order of the file."""
        bases = {(entry.exercise, entry.base) for entry in self._entries.values()}
        for key, entry in self._entries.items():
            if entry.kind == "base" and key not in bases:
                what = f"no answer changes `base {entry.exercise} {entry.name}`"
                fix = f'delete it, or write an answer with of="{entry.name}"'
                raise AuthoringError(self._path, entry.line, what, fix)
        return [self._answer(entry) for entry in self._entries.values() if entry.kind != "base"]

    def names(self, exercise: str) -> list[str]:
        """What can be shown of an exercise, and what its answers can change."""
        return [SOLUTION, *(name for of, name in self._entries if of == exercise)]

    def source(self, exercise: str, name: str) -> str:
        """One answer, expanded; those that it does not build on may hold mistakes."""
        if name == SOLUTION:
            return solution_code(self._solutions[exercise])
        entry = self._entries[exercise, name]
        if not entry.base:
            return entry.source
        comment, _ = split_comment(entry.source)
        code = self._code(entry, [])
        return f"{comment}\n{code}" if comment else code

    def _entry(self, line: int, source: str, metadata: dict) -> _Entry:
        title = metadata.get("title", "")
        kind, exercise, name, *_ = [*title.split(), "", "", ""]
        if kind not in KINDS or not name:
            fix = "write `# %% wrong EXERCISE NAME` or `# %% right EXERCISE NAME`"
            raise AuthoringError(self._path, line, f"`{title}` is no title of an answer", fix)
        if exercise not in self._solutions:
            fix = f"the exercises of {self._lesson.name} are {', '.join(self._solutions)}"
            raise AuthoringError(self._path, line, f"there is no exercise `{exercise}`", fix)
        if (exercise, name) in self._entries:
            fix = "give one of the two another name"
            raise AuthoringError(self._path, line, f"`{exercise} {name}` is defined twice", fix)
        if name == SOLUTION:
            fix = "give it another name"
            raise AuthoringError(self._path, line, f"`{SOLUTION}` names the lesson's own", fix)
        base = str(metadata.get("of", ""))
        if has_replacements(source) != bool(base):
            lacks = "does not say what to `replace:`" if base else "does not say of what answer"
            fix = f'write `# %% {title} of="{SOLUTION}"`, or the name of an answer, and changes'
            raise AuthoringError(self._path, line, f"`{title}` {lacks}", fix)
        return _Entry(line, kind, exercise, name, source, base)

    def _answer(self, entry: _Entry) -> Answer:
        source = self.source(entry.exercise, entry.name)
        comment, _ = split_comment(source)
        says = " ".join(line.lstrip("# ") for line in comment.split("\n"))
        if entry.kind == "wrong" and not says:
            what = f"`wrong {entry.exercise} {entry.name}` does not say what is wrong"
            fix = "begin the cell with a comment: the sentence a teacher says to this student"
            raise AuthoringError(self._path, entry.line, what, fix)
        return Answer(entry.exercise, entry.name, entry.kind == "right", source, says)

    def _code(self, entry: _Entry, built_on_it: list[str]) -> str:
        """An answer without its comment."""
        comment, code = split_comment(entry.source)
        if not entry.base:
            return code
        text = self._base_code(entry, [*built_on_it, entry.name])
        first = entry.line + 1 + len(comment.split("\n") if comment else [])
        for replacement in read_replacements(self._path, first, code):
            count = len(replacement.positions(text))
            if count != 1:
                base = f"{entry.exercise} {entry.base}"
                what = f"this text occurs {count} times in `{base}`, and should occur once"
                show = f"python -m autograder prove {self._lesson.name[:2]} --show {base}"
                fix = f"copy it, with lines around it if need be, from what `{show}` prints"
                raise AuthoringError(self._path, replacement.line, what, fix)
            text = replacement.apply(text)
        return text

    def _base_code(self, entry: _Entry, chain: list[str]) -> str:
        """The code of what an answer changes."""
        if entry.base == SOLUTION:
            return self.source(entry.exercise, SOLUTION)
        if entry.base in chain:
            what = f"answers change one another in a circle: {' of '.join([*chain, entry.base])}"
            fix = f'write one of them whole, or as a change of="{SOLUTION}"'
            raise AuthoringError(self._path, entry.line, what, fix)
        base = self._entries.get((entry.exercise, entry.base))
        if not base:
            fix = f"there is {nearest(entry.base, self.names(entry.exercise))}"
            what = f"no answer `{entry.exercise} {entry.base}`"
            raise AuthoringError(self._path, entry.line, what, fix)
        return self._code(base, chain)
