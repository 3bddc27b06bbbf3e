"""What wrong answers leave in the checks they fail, and the sentence for each such clue.

One clue may have several causes: then its sentence names two, and of more it says nothing. A wrong
answer also fails checks of the exercises built on it: there its sentence names where to look.
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
            known, new = self.earlier, f"`{answer.exercise}`"
        if new not in known:
            known.append(new)

    @property
    def says(self) -> str:
        """The sentence, true of every answer that leaves this clue; or an empty one."""
        if len(self.own) > MOST_CAUSES:
            return ""
        used = f"a mistake in {' or '.join(self.earlier)}, which this exercise uses"
        if not self.own:
            return f"{used}: its own checks say more."
        return " Or: ".join([*self.own, f"{used}."] if self.earlier else self.own)


def rows(found: Iterable[Found]) -> list[dict[str, Any]]:
    """One row for each clue that has a sentence, in the order in which they were found."""
    merged: list[_Clue] = []
    for one in found:
        _clue_of(one, merged).add(one.answer)
    return [{"exercise": m.exercise, **m.clue, "says": m.says} for m in merged if m.says]


def _clue_of(found: Found, merged: list[_Clue]) -> _Clue:
    of_exercise = (m for m in merged if m.exercise == found.exercise)
    known = next((m for m in of_exercise if same_clue(m.clue, found.clue)), None)
    if known is None:
        known = _Clue(found.exercise, found.clue)
        merged.append(known)
    return known
