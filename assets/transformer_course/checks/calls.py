"""The calls of a check: which one returned what is judged, and what its numbers show."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from transformer_course.checks.failure import CheckFailed
from transformer_course.checks.symptoms import symptom


@dataclass
class Call:
    """A call of the student's work, and what came of it."""

    told: str
    results: list[Any]
    inputs: dict[str, Tensor]  # copies, as they were before the call
    again: Callable[[], Any] | None  # None if a random generator is among the arguments
    judged: bool = False

    def changes(self, judged: Tensor) -> bool:
        """Whether the same call, made again, gives another result than this one."""
        if self.again is None:
            return False
        try:
            results = self.again()
        except (CheckFailed, NotImplementedError):
            return False
        index = next(i for i, part in enumerate(self.results) if part is judged)
        part = results[index] if isinstance(results, (tuple, list)) else results
        if not isinstance(part, Tensor) or part.shape != judged.shape:
            return False
        return not torch.allclose(part.double(), judged.double(), rtol=1e-3, atol=1e-5)


class Calls(list[Call]):
    """All calls of a check, in order."""

    def of(self, judged: Any) -> Call | None:
        """The call that returned it; of several that returned the same number, the next one.

        Checks judge numbers in the order of their calls, and Python has only one 16.
        """
        calls = [call for call in self if any(part is judged for part in call.results)]
        return next((call for call in calls if not call.judged), calls[0] if calls else None)

    def has_judged(self, judged: Any) -> None:
        """This result is as expected."""
        if call := self.of(judged):
            call.judged = True

    def symptom(self, judged: Any, actual: Tensor, expected: Tensor) -> str:
        """What wrong numbers have in common with the expected ones, or an empty text."""
        call = self.of(judged)
        law = symptom(actual, expected, call.inputs if call else {})
        if law or call is None or not isinstance(judged, Tensor) or not call.changes(judged):
            return law
        return "the same call, made again, gives another result"
