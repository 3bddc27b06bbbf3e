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
    again: Callable[[], Any] | None  # None if it drew random numbers, or took long
    judged: bool = False

    def changes(self, judged: Tensor) -> bool:
        """Whether the same call, made again, gives another result than this one."""
        if self.again is None:
            return False
        try:
            results = self.again()
        except (CheckFailed, NotImplementedError):
            return False
        parts = list(results) if isinstance(results, (tuple, list)) else [results]
        pairs = zip(self.results, parts, strict=False)  # the second may give fewer
        part = next((part for first, part in pairs if first is judged), None)
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

    def outdate(self) -> None:
        """What was called has changed since: a call made again would show nothing."""
        for call in self:
            call.again = None

    def note(self, judged: Any, actual: Tensor, expected: Tensor, same: Tensor) -> str:
        """How many numbers differ, and what the wrong ones have in common with the expected."""
        counted = f"{int((~same).sum())} of {same.numel()} numbers differ"
        law = self._law(judged, actual, expected)
        return f"{counted}; {law}" if law else counted

    def _law(self, judged: Any, actual: Tensor, expected: Tensor) -> str:
        call = self.of(judged)
        law = symptom(actual, expected, call.inputs if call else {})
        if law or call is None or not isinstance(judged, Tensor) or not call.changes(judged):
            return law
        return "the same call, made again, gives another result"
