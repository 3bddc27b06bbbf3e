"""`Check`: one thing that is asked of one exercise, and what it says when the answer is no."""

import copy
import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Any, NoReturn, Self

import torch
from torch import Tensor, nn

from transformer_course.checks import failure, formatting, plain_differences
from transformer_course.checks.module import Module
from transformer_course.checks.outcomes import OUTCOMES
from transformer_course.checks.runner import Returns, Runner
from transformer_course.failure import Failure, Kind

# Relative and absolute tolerance: a result kept in its dtype passes, one that went through a
# narrower dtype on the way does not.
TOLERANCE = {
    torch.float64: (1e-9, 1e-10),
    torch.float32: (1e-4, 1e-5),
    torch.bfloat16: (2e-2, 1e-2),
    torch.float16: (2e-2, 1e-2),
}
# what is left of float64 after a step in float32
SINGLE = (1e-6, 1e-7)


class Check:
    """Ask one thing of one exercise.

        with Check("softmax", "each row becomes weights") as check:
            weights = check.call(numbers(3, 5), dim=-1)
            check.shape(weights, row=3, column=5)
            check.true(bool((weights > 0).all()), "every weight is above zero")

    The exercise is looked up by its name among the caller's variables. What it returns is
    examined at once: type, NaN, dtype, and whether it changed its inputs. The variables of the
    check itself are hidden from the student's work, and gone when the check ends; so a function
    that is handed over brings what it needs along, as defaults or in a closure. `hint` stands
    under every failure that has no hint of its own, an exception in the student's code included.
    """

    def __init__(self, exercise: str, title: str, hint: str = "") -> None:
        self._runner = Runner(exercise, title, hint, sys._getframe(1).f_globals)

    def __enter__(self) -> Self:
        if self._runner.is_absent:
            name = self._runner.exercise
            absent = Failure(name, f"`{name}` does not exist yet", kind=Kind.ABSENT, subject=name)
            raise failure.not_done(
                absent,
                "solve its cell and run it (a # before it, or an error in its cell, keeps it from "
                "existing), then run this check again.",
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        runner = self._runner
        runner.take_back_variables()
        if kind is None:
            print(f"✓ {runner.exercise}: {runner.title}")
        if kind is None or issubclass(kind, AssertionError):  # neither a stub nor an interrupt
            OUTCOMES[runner.exercise, runner.title] = kind is None

    # --- reaching the student's work -----------------------------------------------------

    def call(self, *args: Any, returns: Returns = (), **kwargs: Any) -> Any:
        """Call the exercise's function; return its tensor, or one tensor per name in `returns`.

        `returns=int` (float, bool, str, bytes, list, tuple, dict) asks for a plain value;
        `returns={"eigenvalue": float, "vector": Tensor}` for a tuple of these parts, in this
        order; `returns=None` ignores what comes back.

        A plain value comes in Python's own types, whatever it was derived from: a `Counter` as a
        dict, a named tuple as a tuple, a NumPy number or a tensor of one number as a number,
        inside of others too. It has at most 20 levels, 200,000 values and 4,000,000 characters.
        """
        runner = self._runner
        return runner.call(runner.work, runner.exercise, args, kwargs, returns)

    def raises(self, *args: Any, naming: Sequence[float] = (), **kwargs: Any) -> None:
        """The exercise's function or class stops with a `ValueError` that names these numbers."""
        self._runner.raises(self._runner.work, self._runner.exercise, args, kwargs, naming)

    def build(self, *args: Any, **kwargs: Any) -> Module:
        """Build the exercise's module (an `nn.Module` class) with these arguments."""
        work = self._runner.work
        self._runner.building(formatting.named(work, args, kwargs))
        module = self._runner.guarded(work, args, kwargs)
        if not isinstance(module, nn.Module):
            given = formatting.kind(module)
            claim = f"{self._runner.exercise}(…) gives a {given}, not an nn.Module"
            self._runner.fail(claim, kind=Kind.NOT_A_MODULE)
        if not hasattr(module, "_modules"):  # some assignments work without
            hint = failure.EXPLAINED["before Module.__init__() call"]
            self.fail("your `__init__` never calls that of nn.Module", hint)
        return Module(self._runner, module)

    def module(self) -> Module:
        """The exercise's own module, where the exercise is one: a trained model, say."""
        work = self._runner.work
        if not isinstance(work, nn.Module):
            claim = f"expected an nn.Module, got {formatting.kind(work)}"
            self._runner.fail(claim, kind=Kind.WRONG_TYPE)
        return Module(self._runner, work)

    def other(self, exercise: str) -> "Check":
        """The same check, reaching another exercise that this one builds on."""
        other = copy.copy(self)
        other._runner = copy.copy(self._runner)
        other._runner.exercise = exercise
        return other.__enter__()

    def value(self, length: int | type) -> Any:
        """The exercise's answer as `length` float64 numbers, be it a list, an array or a tensor.

        Or as a plain value: `value(float)`, and so for every kind that `call` can return.
        """
        runner, work = self._runner, self._runner.work
        if isinstance(length, type):
            runner.answered(formatting.brief(work))
            return runner.plain(work, length)
        try:
            answer = torch.as_tensor(work, dtype=torch.float64).detach()
        except (TypeError, ValueError, RuntimeError):
            given = f"{formatting.kind(work)}: {formatting.brief(work)}"
            runner.fail(f"expected {length} numbers, got {given}", kind=Kind.WRONG_TYPE)
        # rounded: 0.76 and 0.7616 hold the same misconception
        runner.answered(formatting.brief(answer), answer.round(decimals=2))
        if answer.shape != (length,):
            such = [0.5] * length
            given = formatting.brief(work)
            self.fail(f"expected {length} numbers, such as {such}; got {given}")
        return answer

    # --- judging what came back ----------------------------------------------------------

    def shape(self, tensor: Tensor, **axes: int) -> None:
        """`tensor` has these axes, in this order: `shape(weights, query=3, key=5)`."""
        if tuple(tensor.shape) != tuple(axes.values()):
            name = self._runner.name_of(tensor)
            named = ", ".join(f"{axis} {size}" for axis, size in axes.items())
            wanted, given = tuple(axes.values()), tuple(tensor.shape)
            self._runner.fail(
                f"{name} has the wrong shape",
                kind=Kind.SHAPE,
                fields=[("expected", f"{wanted}: {named}"), ("got", str(given))],
                origin=self._runner.origin(tensor),
            )

    def equal(
        self,
        actual: Any,
        expected: Any,
        claim: str,
        hint: str = "",
        within: float | None = None,
    ) -> None:
        """`actual` equals `expected`; `claim` says so in words.

        Tensors and numbers to the accuracy of the dtype, or `within` an absolute difference. A
        text, list, tuple, dictionary or None exactly, but for numbers' last digits, or `within`;
        True is not 1, a list is no tuple, and the order of keys does not matter. The failure
        names the first difference: `[3][1]`, `key (97, 98)`, `length 5, expected 7`.
        """
        if formatting.are_plain(actual, expected):
            if found := plain_differences.difference(actual, expected, within):
                self._runner.differ_plainly(claim, hint, actual, expected, found)
            self._runner.calls.has_judged(actual)
            return
        judged, actual, expected = actual, formatting.tensor(actual), formatting.tensor(expected)
        if torch.bool in (actual.dtype, expected.dtype) and actual.dtype != expected.dtype:
            claim = f"expected a tensor of {expected.dtype}, got one of {actual.dtype}"
            hint = hint or "a comparison such as a <= b gives True and False"
            self._runner.fail(claim, hint, Kind.WRONG_TYPE)
        if actual.shape != expected.shape:
            self.shape(actual, **{f"axis {i}": size for i, size in enumerate(expected.shape)})
        if not (expected.is_floating_point() or expected.is_complex()):
            expected = expected.to(actual.dtype)  # whole numbers: 1.5 is not 1
        exact = TOLERANCE.get(expected.dtype, (0.0, 0.0))
        relative, absolute = exact if within is None else (0.0, within)
        same = torch.isclose(actual.to(expected.dtype), expected, relative, absolute)
        if same.all():
            self._runner.calls.has_judged(judged)
            return
        nearly = expected.dtype == torch.float64 and torch.allclose(
            actual.to(expected.dtype), expected, *SINGLE, equal_nan=True
        )
        hint = failure.SEVEN_DIGITS if nearly else hint
        self._runner.differ(claim, hint, judged, actual, expected, same)

    def true(self, holds: bool, claim: str, hint: str = "") -> None:
        """`claim`, said in words, holds."""
        if not holds:
            self._runner.fail(claim, hint, origin=self._runner.origin(None))

    def seal(self, answer: Tensor, sealed: str, claim: str, hint: str = "") -> None:
        """`answer` is the sealed one to two decimals: says whether, never what it should be."""
        if formatting.seal(answer) != sealed:
            self.fail(claim, hint)

    def fail(self, claim: str, hint: str = "") -> NoReturn:
        """Stop with no more than the claim that does not hold and a hint."""
        self._runner.fail(claim, hint)

    def gradient(self, result: Tensor, source: Tensor) -> Tensor:
        """d(sum of `result`) / d`source`: zeros where nothing depends on it."""
        return self._runner.gradient(result, source)
