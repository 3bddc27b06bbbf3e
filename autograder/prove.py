"""Prove a lesson's checks against its answers bank, and learn its misconceptions.

Every wrong answer must lose points, every right one keep them all; the stub earns nothing,
the solution everything.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass

from transformer_course.checks.misconceptions import Misconception

from autograder.answers import Answer
from autograder.isolation import Outcome, Trial, outcomes, warm_up
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
        self._given = [cell.source for cell in lesson.of("given")]
        warm_up(self._given)

    def stub(self, exercise: str) -> Answer:
        """The exercise as the student finds it."""
        stub = self._student[f"exercise_{exercise}"]
        return Answer(exercise, "stub", False, stub, "", untouched=True)

    def solution(self, exercise: str) -> Answer:
        """The exercise as the lesson solves it."""
        return Answer(exercise, "solution", True, self._whole[f"exercise_{exercise}"], "")

    def judge(self, answer: Answer) -> Verdict:
        """Run its own checks, as the student sees them and whole, and those that build on it."""
        own = self.lesson.checks_of(answer.exercise)
        later = self.lesson.built_on(answer.exercise)
        others = [check for name in later for check in self.lesson.checks_of(name)]
        judged = [self._student[check.grade_id] for check in own]
        judged += [self._whole[check.grade_id] for check in own + others]
        results = outcomes(self._trial(answer, judged))
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
        for outcome in outcomes(self._trial(answer, blocks)):
            if outcome.clue:
                yield {**outcome.clue, "says": answer.says}

    def _trial(self, answer: Answer, checks: list[str]) -> Trial:
        """The lesson's given cells and exercises, this answer in its place, and these checks."""
        place = f"exercise_{answer.exercise}"
        work = [
            answer.source if cell.grade_id == place else self._whole[cell.grade_id]
            for cell in self.lesson.cells
            if cell.role in ("given", "exercise")
        ]
        exercises = [cell.name for cell in self.lesson.of("exercise")]
        return Trial(work, exercises, self._given, checks)

    @staticmethod
    def _points(checks: list[Cell], results: list[Outcome], passed: bool) -> float:
        pairs = zip(checks, results, strict=True)
        return sum(check.points or 0 for check, outcome in pairs if outcome.passed == passed)
