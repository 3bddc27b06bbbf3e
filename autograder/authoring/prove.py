"""Prove a lesson's checks against its answers bank, and learn its misconceptions.

Every wrong answer must lose points, every right one keep them all; the stub earns nothing,
the solution everything.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Self, TypeVar

from transformer_course.checks.misconceptions import Clue

from autograder.authoring.answer_bank import Answer
from autograder.authoring.cell_name import CellName
from autograder.authoring.lesson import Cell, Lesson
from autograder.authoring.misconceptions import Found
from autograder.authoring.notebook import graded_cells, source_notebook, student_version
from autograder.execution import sandbox
from autograder.execution.executor import CodeCell, Executor, Job, Ran, modules_of

LOOKS_LIKE = "looks like"
T = TypeVar("T")


@dataclass(frozen=True)
class CheckRun:
    """What became of one check; one that failed on the answer's results leaves a clue."""

    passed: bool
    message: str = ""
    clue: Clue | None = None


@dataclass(frozen=True)
class BankVerdict:
    """What the checks make of one answer."""

    answer: Answer
    kept: float
    points: float
    visible: CheckRun | None  # the first visible check that failed
    hidden: CheckRun | None  # the first check that failed with its hidden tests
    spilled: float  # points lost in other exercises' checks

    @property
    def just(self) -> bool:
        """A right answer keeps all its points, a wrong one does not, a stub keeps none."""
        if self.answer.untouched:
            return self.kept == 0
        return (self.kept == self.points) == self.answer.right

    @property
    def named(self) -> bool:
        """The visible check's message says what a teacher would say to this answer."""
        message = " ".join(self.visible.message.split()) if self.visible else ""
        return self.answer.says in message if self.answer.says else LOOKS_LIKE in message


class BankRunner:
    """A lesson, ready to judge answers: its cells as the grader and as the student has them.

    Answers are judged as submissions are graded, by the same executor.
    """

    def __init__(self, lesson: Lesson) -> None:
        self.lesson = lesson
        source = source_notebook(lesson)
        self._whole = {name: cell.source for name, cell in graded_cells(source).items()}
        student = graded_cells(student_version(source))
        self._student = {name: cell.source for name, cell in student.items()}
        # where there is no sandbox, the authors' own answers run without
        modules = modules_of(self._whole.values())
        self._executor = Executor(modules, sandboxed=not sandbox.refusal())

    def __enter__(self) -> Self:
        self._executor.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._executor.__exit__(*error)

    def stub(self, exercise: str) -> Answer:
        """The exercise as the student finds it."""
        stub = self._student[str(CellName("exercise", exercise))]
        return Answer(exercise, "stub", False, stub, "", untouched=True)

    def solution(self, exercise: str) -> Answer:
        """The exercise as the lesson solves it."""
        return Answer(
            exercise, "solution", True, self._whole[str(CellName("exercise", exercise))], ""
        )

    @staticmethod
    def each(work: Callable[[Answer], T], answers: Iterable[Answer]) -> Iterator[T]:
        """What `judge` or `clues` make of each answer, in order, on all cores."""
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            yield from threads.map(work, answers)

    def judge(self, answer: Answer) -> BankVerdict:
        """Run its own checks, as the student sees them and whole, and those that build on it."""
        own = self.lesson.checks_of(answer.exercise)
        later = self.lesson.dependents(answer.exercise)
        others = [check for name in later for check in self.lesson.checks_of(name)]
        judged = [self._student[check.grade_id] for check in own]
        judged += [self._whole[check.grade_id] for check in own + others]
        results = self._outcomes(answer, judged)
        visible, whole = results[: len(own)], results[len(own) : 2 * len(own)]
        spilled = self._points(others, results[2 * len(own) :], passed=False)
        return BankVerdict(
            answer,
            kept=self._points(own, whole, passed=True),
            points=sum(check.points or 0 for check in own),
            visible=next((outcome for outcome in visible if not outcome.passed), None),
            hidden=next((outcome for outcome in whole if not outcome.passed), None),
            spilled=spilled,
        )

    def clues(self, answer: Answer) -> list[Found]:
        """What a wrong answer leaves in visible checks that it fails, its own and later ones."""
        names = [answer.exercise, *self._built_on(answer.exercise)]
        checks = [(name, check) for name in names for check in self.lesson.checks_of(name)]
        outcomes = self._outcomes(answer, [self._student[check.grade_id] for _, check in checks])
        pairs = zip(checks, outcomes, strict=True)
        return [Found(answer, name, o.clue) for (name, _), o in pairs if o.clue]

    def _built_on(self, exercise: str) -> list[str]:
        """All exercises that use this one, directly or through others."""
        found: list[str] = []
        waiting = [exercise]
        while waiting:
            new = [name for name in self.lesson.dependents(waiting.pop()) if name not in found]
            found += new
            waiting += new
        return found

    def _outcomes(self, answer: Answer, checks: list[str]) -> list[CheckRun]:
        """What these checks make of the lesson's cells with this answer in its place."""
        replaced = str(CellName("exercise", answer.exercise))
        work = [
            CodeCell(
                "given" if cell.role == "given" else "student",
                answer.source if cell.grade_id == replaced else self._whole[cell.grade_id],
            )
            for cell in self.lesson.cells
            if cell.role in ("given", "exercise")
        ]
        exercises = [cell.name for cell in self.lesson.of("exercise")]
        job = Job([*work, *(CodeCell("check", source) for source in checks)], exercises)
        execution = self._executor.execute(job)
        return [_outcome(ran, execution.ended) for ran in execution.cells[len(work) :]]

    @staticmethod
    def _points(checks: list[Cell], results: list[CheckRun], passed: bool) -> float:
        pairs = zip(checks, results, strict=True)
        return sum(check.points or 0 for check, outcome in pairs if outcome.passed == passed)


def _outcome(ran: Ran, ended: str) -> CheckRun:
    if not ran.complete:
        return CheckRun(False, f"the answer's process ended: {ended}")
    if ran.failure is None:
        return CheckRun(True)
    return CheckRun(False, ran.failure["message"], ran.failure["clue"])
