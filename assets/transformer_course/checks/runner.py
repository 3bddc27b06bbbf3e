"""What every check does around a call of the student's work, and how it says what went wrong."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from time import perf_counter
from typing import Any, NoReturn

import torch
from torch import Tensor, nn

from transformer_course.checks import failure, formatting, returned
from transformer_course.checks.calls import Call, Calls
from transformer_course.checks.failure import CheckFailed
from transformer_course.checks.fingerprints import Fingerprint, fingerprint
from transformer_course.checks.misconceptions import clue, recognise
from transformer_course.checks.plain_differences import Difference, contrast
from transformer_course.checks.plain_symptoms import symptom
from transformer_course.checks.student_lines import StudentLine, student_lines
from transformer_course.failure import Failure, Kind

# names of tensors, names of parts and their types, a plain value's type, or whatever
Returns = Sequence[str] | Mapping[str, type] | type | None
Field = tuple[str, str]  # a label and its text
QUICK = 1.0  # seconds: a call that takes longer is not made a second time


class Wrapped:
    """A module of the student's that a check passes on as one of its own objects."""

    def __init__(self, bare: nn.Module) -> None:
        self.bare = bare


class Runner:
    """Runs an exercise's work without the check's variables; examines results, reports failures."""

    def __init__(self, exercise: str, title: str, hint: str, namespace: dict[str, Any]) -> None:
        self.exercise, self.title, self.hint = exercise, title, hint
        self._namespace = namespace
        self._before = dict(namespace)
        self._called = ("you called", "")
        self._returned: list[tuple[str, Any]] = []
        self.calls = Calls()
        self._observed: list[list[Tensor | Fingerprint]] = []

    @property
    def work(self) -> Any:
        """What the student gave the exercise's name."""
        return self._before[self.exercise]

    @property
    def is_absent(self) -> bool:
        """Whether the student's cells define no such name."""
        return self.exercise not in self._namespace

    def call(
        self, work: Callable[..., Any], name: str, args: Any, kwargs: Any, returns: Returns
    ) -> Any:
        """Call the student's work, examine what comes back, and return it."""
        args, kwargs, inputs = self._bare(work, name, args, kwargs)
        tensors = formatting.tensors(inputs)
        before = {label: tensor.detach().clone() for label, tensor in tensors.items()}
        began = perf_counter()
        result = self.guarded(work, args, kwargs)
        drawn = any(isinstance(value, torch.Generator) for value in (*args, *kwargs.values()))
        again = partial(self.guarded, work, args, kwargs)
        once = drawn or perf_counter() - began > QUICK
        self._observed.append([])  # a call that gives no tensor leaves a clue too
        answer = self._answer(result, returns, list(tensors.values()))
        parts = [part for _, part in self._returned]
        self.calls.append(Call(self._called[1], parts, before, None if once else again))
        for label, tensor in tensors.items():
            if not torch.equal(tensor.detach().nan_to_num(), before[label].nan_to_num()):
                claim = f"your code changed its input `{label}`"
                self.fail(claim, failure.MAKE_A_NEW_ONE, Kind.CHANGED_INPUT)
        return answer

    def _answer(self, result: Any, returns: Returns, inputs: list[Tensor]) -> Any:
        """What the check gets of a result, once its type, NaN and dtype are as they should be."""
        self._returned = []
        if returns is None:
            return None
        if isinstance(returns, type):
            answer = self.plain(result, returns)
            self._returned = [("the result", answer)]
            return answer
        kinds = returns if isinstance(returns, Mapping) else dict.fromkeys(returns, Tensor)
        with self._refusing():
            self._returned = returned.parts(result, kinds)
            self._observed[-1] = [_seen(part) for _, part in self._returned]
            for label, part in self._returned:
                returned.examine(label, part, kinds.get(label, Tensor), inputs)
        answers = tuple(part for _, part in self._returned)
        return answers if returns else answers[0]

    def plain(self, result: Any, kind: type) -> Any:
        """A result as the plain value that it should be."""
        with self._refusing():
            value = returned.plain("the result", result, kind)
            self._observed[-1] = [_seen(value)]
            returned.examine("", value, kind, [])
        return value

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """What is refused of a result fails the check."""
        try:
            yield
        except returned.Refused as refused:
            self.fail(refused.claim, refused.hint, refused.kind)

    def raises(
        self, work: Callable[..., Any], name: str, args: Any, kwargs: Any, naming: Sequence[float]
    ) -> None:
        """Call the student's work, which must stop with a `ValueError` that names these."""
        args, kwargs, _ = self._bare(work, name, args, kwargs)
        self._observed.append([])
        named = " and ".join(map(str, naming))
        claim = f"expected a ValueError{' that names ' * bool(named)}{named}"
        hint = f'raise ValueError(f"…"), with {named or "the numbers"} in the message'
        try:
            self.guarded(work, args, kwargs, passing=ValueError, hint=hint)
        except ValueError as error:
            if not all(formatting.mentions(str(error), number) for number in naming):
                said = ("message", str(error))
                self.fail(claim, hint, Kind.NOT_RAISED, fields=[said])
        else:
            self.fail(f"{claim}, but nothing was raised", hint, Kind.NOT_RAISED)

    def answered(self, told: str, *numbers: Tensor) -> None:
        """Failures from here on are about an answer that is no function: tell it, note its clue."""
        self._called = ("your answer", told)
        self._observed.append([*numbers])

    def building(self, arguments: dict[str, Any]) -> None:
        """Failures from here on are about the exercise's class, built with these arguments."""
        listed = formatting.listed(arguments)
        self._called = ("you called", f"{self.exercise}({listed})")

    def name_of(self, tensor: Tensor) -> str:
        """What the check calls a tensor that the last call returned."""
        return next((name for name, part in self._returned if part is tensor), "the result")

    def origin(self, judged: Any) -> Field:
        """The call that returned what is judged; of several, the last one is called just that."""
        if call := self.calls.of(judged):
            return "you called", call.told
        return ("last called", self._called[1]) if len(self.calls) > 1 else self._called

    def fail(
        self,
        claim: str,
        hint: str = "",
        kind: Kind = Kind.CLAIM,
        fields: Iterable[Field] = (),
        origin: Field | None = None,
        note: Callable[[], str] = str,
    ) -> NoReturn:
        """Stop with a failure, and the misconception that it looks like, or else a `note`.

        `origin`: the call that returned what is judged.
        """
        found = clue(self.title, claim, self._observed) if self._observed else None
        looks_like = recognise(self.exercise, found) if found else ""
        noted = ("note", "" if looks_like else note())
        told = (origin or self._called, *fields, noted)
        shown = tuple((label, text) for label, text in told if text)
        hint = "" if looks_like else hint or self.hint  # a diagnosis says more
        report = Failure(self.exercise, claim, shown, hint, looks_like, kind)
        raise CheckFailed(report, found)

    def differ(
        self,
        claim: str,
        hint: str,
        judged: Any,
        actual: Tensor,
        expected: Tensor,
        same: Tensor,
    ) -> NoReturn:
        """Stop because these numbers are not the `same`; `judged`: as the call returned them."""
        fields = formatting.contrast(expected, actual, ~same).items()
        note = partial(self.calls.note, judged, actual, expected, same)
        self.fail(claim, hint, fields=fields, origin=self.origin(judged), note=note)

    def differ_plainly(
        self, claim: str, hint: str, actual: Any, expected: Any, found: Difference
    ) -> NoReturn:
        """Stop because these plain values are not the same."""
        fields = contrast(expected, actual, found).items()
        note = partial(symptom, actual, expected)
        self.fail(claim, hint, fields=fields, origin=self.origin(actual), note=note)

    def gradient(self, result: Tensor, source: Tensor) -> Tensor:
        """d(sum of `result`) / d`source`: zeros where nothing depends on it."""
        if not result.requires_grad:
            hint = failure.STAY_IN_TORCH
            self.fail("no gradient flows through the result", hint, Kind.NO_GRADIENT)
        (slope,) = self.guarded(
            torch.autograd.grad,
            (result.sum(), source),
            {"retain_graph": True, "allow_unused": True},
        )
        return torch.zeros_like(source) if slope is None else slope

    def _bare(self, work: Callable[..., Any], name: str, args: Any, kwargs: Any) -> tuple:
        """Arguments as the student's code takes them, and the same by its names for them."""
        args, kwargs = _handed_over(args), _handed_over(kwargs)
        inputs = formatting.named(work, args, kwargs)
        self._called = ("you called", f"{name}({formatting.listed(inputs)})")
        return args, kwargs, inputs

    def guarded(
        self,
        work: Callable[..., Any],
        args: Any,
        kwargs: Any,
        passing: type[Exception] | tuple[()] = (),
        hint: str = "",
    ) -> Any:
        """Call the student's work; an exception, unless it is `passing`, fails the check."""
        try:
            with self._check_variables_hidden():
                return work(*args, **kwargs)
        except passing:
            raise
        except Exception as error:
            lines = student_lines(error, self._namespace)
            if lines and lines[-1].text.startswith("raise NotImplementedError"):
                name = lines[-1].within
                stub = Failure(name, f"`{name}` is still a stub", kind=Kind.STUB, subject=name)
                fix = "replace its `raise NotImplementedError`, run that cell, then run this "
                raise failure.not_done(stub, f"{fix}check again.") from error
            raise self._raised(error, lines, hint) from error

    def _raised(self, error: Exception, lines: list[StudentLine], hint: str) -> CheckFailed:
        """The failure of a check whose call of the student's work ended in this error."""
        name = type(error).__name__
        claim, fields = f"your code raised {name}", [self._called, ("message", str(error))]
        if lines:
            at = lines[-1]
            fields.append(("in", f"{at.within}, line {at.number}: {at.text}"))
            fields.append(("with", at.values))
        # by its text, too: students stop the same call for different reasons
        found = clue(self.title, f"{claim}: {error}", self._observed)
        return CheckFailed(
            Failure(
                self.exercise,
                claim,
                tuple((label, text) for label, text in fields if text),
                failure.explained(error) or hint or self.hint,
                recognise(self.exercise, found),
                Kind.RAISED,
                name,
            ),
            found,
        )

    @contextmanager
    def _check_variables_hidden(self) -> Iterator[None]:
        """A function that uses a check's `x` by mistake fails here, as it does when graded."""
        own = {
            name: value
            for name, value in self._namespace.items()
            if name not in self._before or value is not self._before[name]
        }
        self.take_back_variables()
        try:
            yield
        finally:
            # what the student's work has changed by now is the student's, and stays
            self._before.clear()
            self._before.update(self._namespace)
            self._namespace.update(own)

    def take_back_variables(self) -> None:
        """Leave the caller's variables as they were, but for what the student's work changed."""
        for name in self._namespace.keys() - self._before.keys():
            del self._namespace[name]
        self._namespace.update(self._before)


def _seen(part: Any) -> Tensor | Fingerprint:
    """What a clue keeps of a part of a result."""
    return part if isinstance(part, Tensor) else fingerprint(part)


def _handed_over(value: Any) -> Any:
    """An argument as the student's code takes it: modules bare, lists that it may change."""
    if isinstance(value, Wrapped):
        return value.bare
    if type(value) in (list, tuple):
        return type(value)(map(_handed_over, value))
    if type(value) is dict:
        return {name: _handed_over(item) for name, item in value.items()}
    return value
