"""What wrong answers leave in the checks they fail, and the sentence for each such clue.

One clue may have several causes: then its sentence names two, and of more it says nothing. A wrong
answer also fails checks of the exercises built on it: there its sentence names where to look, as
long as the checks of that exercise do not hold.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from transformer_course.checks.misconceptions import Clue, same_clue

from autograder.authoring.answer_bank import Answer

MOST_CAUSES = 2  # that one sentence names


@dataclass(frozen=True)
class Found:
    """The clue that a wrong answer left in a check of an exercise, its own or a later one."""

    answer: Answer
    exercise: str
    clue: Clue


@dataclass
class _Clue:
    """A clue of an exercise, and every wrong answer that leaves it."""

    exercise: str
    clue: Clue
    own: list[str] = field(default_factory=list)  # what is said of the exercise's own answers
    earlier: list[str] = field(default_factory=list)  # exercises whose wrong answers leave it too

    def add(self, answer: Answer) -> None:
        known, new = self.own, answer.says
        if answer.exercise != self.exercise:
            known, new = self.earlier, answer.exercise
        if new not in known:
            known.append(new)

    def row(self) -> dict[str, Any]:
        """What is stored; `says` is true of every answer that leaves this clue, or empty.

        `alone` is what is left of it where the checks of the `earlier` exercises hold.
        """
        many = len(self.own) > MOST_CAUSES
        row = {"exercise": self.exercise, **self.clue, "says": "" if many else _either(self.own)}
        if not self.earlier or many:
            return row
        names = " or ".join(f"`{name}`" for name in self.earlier)
        # true whether or not the student's code uses it
        too = f"A mistake in {names} gives this result{' too' * bool(self.own)}: run its checks."
        says = " ".join(filter(None, (row["says"], too)))
        return {**row, "says": says, "alone": row["says"], "earlier": self.earlier}


def rows(found: Iterable[Found]) -> list[dict[str, Any]]:
    """One row for each clue that has a sentence, in the order in which they were found."""
    merged: list[_Clue] = []
    for one in found:
        _clue_of(one, merged).add(one.answer)
    return [row for row in (each.row() for each in merged) if row["says"]]


def _either(causes: list[str]) -> str:
    """One sentence for several possible causes."""
    return f"{'Either: ' if len(causes) > 1 else ''}{' Or: '.join(causes)}"


def _clue_of(found: Found, merged: list[_Clue]) -> _Clue:
    of_exercise = (m for m in merged if m.exercise == found.exercise)
    known = next((m for m in of_exercise if same_clue(m.clue, found.clue)), None)
    if known is None:
        known = _Clue(found.exercise, found.clue)
        merged.append(known)
    return known
