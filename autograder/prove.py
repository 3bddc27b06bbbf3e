"""Prove a lesson's checks against its answers bank, and learn its misconceptions.

Every wrong answer must lose points, every right one keep them all; the stub earns nothing,
the solution everything.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass

from transformer_course.checks.misconceptions import Misconception

from autograder.answers import Answer
from autograder.isolation import Outcome, outcomes, warm_up
from autograder.lesson import Cell, Lesson
from autograder.notebook import graded_cells, source_notebook, student_version

LOOKS_LIKE = "looks like"


@dataclass(frozen=True)
class Verdict:
    """What the checks make of one answer."""

    answer: Answer
    kept: float
    points: float
    visible: Outcome | None  # the first visible check that failed
    hidden: Outcome | None  # the first check that failed with its hidden tests
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


class Bench:
    """A lesson, ready to judge answers: its cells as the grader and as the student has them."""

    def __init__(self, lesson: Lesson) -> None:
        os.environ.setdefault("MPLBACKEND", "Agg")
        self.lesson = lesson
        source = source_notebook(lesson)
        self._whole = {name: cell.source for name, cell in graded_cells(source).items()}
        student = graded_cells(student_version(source))
        self._student = {name: cell.source for name, cell in student.items()}
        warm_up([cell.source for cell in lesson.of("given")])

    def stub(self, exercise: str) -> Answer:
        """The exercise as the student finds it."""
        stub = self._student[f"exercise_{exercise}"]
        return Answer(exercise, "stub", False, stub, "", untouched=True)

    def solution(self, exercise: str) -> Answer:
        """The exercise as the lesson solves it."""
        return Answer(exercise, "solution", True, self._whole[f"exercise_{exercise}"], "")

    def judge(self, answer: Answer) -> Verdict:
        """Run the answer's own checks, as the student sees them and whole, and all others."""
        own = self.lesson.checks_of(answer.exercise)
        others = [check for check in self.lesson.of("check") if check not in own]
        judged = [self._student[check.grade_id] for check in own]
        judged += [self._whole[check.grade_id] for check in own + others]
        results = outcomes(self._setup(answer), judged)
        visible, whole = results[: len(own)], results[len(own) : 2 * len(own)]
        spilled = self._points(others, results[2 * len(own) :], passed=False)
        return Verdict(
            answer,
            kept=self._points(own, whole, passed=True),
            points=sum(check.points or 0 for check in own),
            visible=next((outcome for outcome in visible if not outcome.passed), None),
            hidden=next((outcome for outcome in whole if not outcome.passed), None),
            spilled=spilled,
        )

    def misconceptions(self, answer: Answer) -> Iterator[Misconception]:
        """What a wrong answer returns to each visible check that it fails."""
        own = self.lesson.checks_of(answer.exercise)
        blocks = [self._student[check.grade_id] for check in own]
        for outcome in outcomes(self._setup(answer), blocks):
            if outcome.clue:
                yield {**outcome.clue, "says": answer.says}

    def _setup(self, answer: Answer) -> list[str]:
        """What runs before the checks: given cells and exercises, this answer in its place."""
        place = f"exercise_{answer.exercise}"
        cells = [cell for cell in self.lesson.cells if cell.role in ("given", "exercise")]
        return [
            answer.source if cell.grade_id == place else self._whole[cell.grade_id]
            for cell in cells
        ]

    @staticmethod
    def _points(checks: list[Cell], results: list[Outcome], passed: bool) -> float:
        pairs = zip(checks, results, strict=True)
        return sum(check.points or 0 for check, outcome in pairs if outcome.passed == passed)
