"""The state of each check of a lesson: passed, failed or not tried."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources


class State(StrEnum):
    """What is known of a check."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_TRIED = "not tried"


@dataclass(frozen=True)
class CheckCell:
    """A check cell as the student has it: its points, and the claims that it makes."""

    name: str
    points: float
    claims: tuple[tuple[str, str], ...]  # an exercise and a title; one that ends in … goes on

    def state(self, outcomes: Mapping[tuple[str, str], bool]) -> State:
        """Passed if every claim held, failed if one did not, else not tried."""
        found = [
            [
                held
                for (exercise, title), held in outcomes.items()
                if exercise == wanted and _is_title(title, stored)
            ]
            for wanted, stored in self.claims
        ]
        if any(not held for of_claim in found for held in of_claim):
            return State.FAILED
        return State.PASSED if found and all(found) else State.NOT_TRIED


def _is_title(title: str, stored: str) -> bool:
    return title.startswith(stored[:-1]) if stored.endswith("…") else title == stored


@dataclass(frozen=True)
class LessonChecks:
    """The check cells of a lesson, and the points of the answers that a person reads."""

    title: str
    checks: tuple[CheckCell, ...]
    read_by_a_person: float

    def states(self, outcomes: Mapping[tuple[str, str], bool]) -> dict[str, State]:
        """Name of a check -> its state."""
        return {check.name: check.state(outcomes) for check in self.checks}

    def points(self, states: Mapping[str, str]) -> tuple[float, float]:
        """The points of the checks that passed, and of all."""
        passed = (c.points for c in self.checks if states.get(c.name) == State.PASSED)
        return sum(passed), sum(check.points for check in self.checks)


def lesson_checks(lesson: str) -> LessonChecks:
    """The checks of this lesson, such as `04_layer_norm`, from the file that the build made."""
    folder = resources.files("transformer_course") / "progress"
    known = sorted(file.name[:-5] for file in folder.iterdir() if file.name.endswith(".json"))
    if lesson not in known:
        raise ValueError(f"no lesson is called {lesson!r}: there are {', '.join(known)}")
    stored = json.loads((folder / f"{lesson}.json").read_text(encoding="utf-8"))
    checks = tuple(
        CheckCell(row["name"], row["points"], tuple(map(tuple, row["claims"])))
        for row in stored["checks"]
    )
    return LessonChecks(stored["title"], checks, stored["read_by_a_person"])
