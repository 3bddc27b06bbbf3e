"""`Check`: one thing that is asked of one exercise, and what it says when the answer is no."""

import copy
import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

import torch
from torch import Tensor, nn

from transformer_course.checks import failure, words
from transformer_course.checks.module import Module
from transformer_course.checks.running import Returns, Running

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


class Check(Running):
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

    def __init__(self, exercise: str, aim: str, hint: str = "") -> None:
        super().__init__(exercise, aim, hint, sys._getframe(1).f_globals)

    def __enter__(self) -> Self:
        if self.exercise not in self._namespace:
            raise failure.still_a_stub(
                f"`{self.exercise}` does not exist yet: solve its cell and run it (a # before it, "
                "or an error in its cell, keeps it from existing), then run this check again."
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self._take_back_variables()
        if kind is None:
            print(f"✓ {self.exercise}: {self.aim}")

    # --- reaching the student's work -----------------------------------------------------

    def call(self, *args: Any, returns: Returns = (), **kwargs: Any) -> Any:
        """Call the exercise's function; return its tensor, or one tensor per name in `returns`.

        `returns=int` (float, bool, str, list, dict) asks for a plain value; `returns=None`
        ignores what comes back.
        """
        return self.run(self._work(), self.exercise, args, kwargs, returns)

    def raises(self, *args: Any, naming: Sequence[float] = (), **kwargs: Any) -> None:
        """The exercise's function or class stops with a `ValueError` that names these numbers."""
        self.stops(self._work(), self.exercise, args, kwargs, naming)

    def build(self, *args: Any, **kwargs: Any) -> Module:
        """Build the exercise's module (an `nn.Module` class) with these arguments."""
        arguments = words.listed(words.named(self._work(), args, kwargs))
        self._given = ("you called", f"{self.exercise}({arguments})")
        module = self._guarded(self._work(), args, kwargs)
        if not isinstance(module, nn.Module):
            self.fail(f"{self.exercise}(…) gives a {words.kind(module)}, not an nn.Module")
        if not hasattr(module, "_modules"):  # some assignments work without
            hint = failure.EXPLAINED["before Module.__init__() call"]
            self.fail("your `__init__` never calls that of nn.Module", hint)
        return Module(self, module)

    def module(self) -> Module:
        """The exercise's own module, where the exercise is one: a trained model, say."""
        if not isinstance(self._work(), nn.Module):
            self.fail(f"expected an nn.Module, got {words.kind(self._work())}")
        return Module(self, self._work())

    def other(self, exercise: str) -> "Check":
        """The same check, reaching another exercise that this one builds on."""
        other = copy.copy(self)
        other.exercise = exercise
        return other.__enter__()

    def value(self, length: int | type) -> Any:
        """The exercise's answer as `length` float64 numbers, be it a list, an array or a tensor.

        Or as a plain value: `value(float)`, and so for int, bool, str, list and dict.
        """
        work = self._work()
        if isinstance(length, type):
            self._given = ("your answer", words.brief(work))
            self._observed.append([])
            return self._plain(work, length)
        try:
            answer = torch.as_tensor(work, dtype=torch.float64).detach()
        except (TypeError, ValueError, RuntimeError):
            self.fail(f"expected {length} numbers, got {words.kind(work)}: {words.brief(work)}")
        self._given = ("your answer", words.brief(answer))
        # rounded: 0.76 and 0.7616 hold the same misconception
        self._observed.append([answer.round(decimals=2)])
        if answer.shape != (length,):
            such = [0.5] * length
            self.fail(f"expected {length} numbers, such as {such}; got {words.brief(work)}")
        return answer

    # --- judging what came back ----------------------------------------------------------

    def shape(self, tensor: Tensor, **axes: int) -> None:
        """`tensor` has these axes, in this order: `shape(weights, query=3, key=5)`."""
        if tuple(tensor.shape) != tuple(axes.values()):
            name = next((name for name, part in self._returned if part is tensor), "the result")
            story = self.story(f"{name} has the wrong shape", self.behind(tensor))
            named = ", ".join(f"{axis} {size}" for axis, size in axes.items())
            story.tell("expected", f"{tuple(axes.values())}: {named}")
            story.tell("got", str(tuple(tensor.shape)))
            self.stop(story)

    def equal(
        self,
        actual: Tensor | float,
        expected: Tensor | float,
        law: str,
        hint: str = "",
        within: float | None = None,
    ) -> None:
        """`actual` equals `expected`, tensors or numbers; `law` says so in words.

        To the accuracy of the dtype, or `within` an absolute difference.
        """
        judged, actual, expected = actual, words.tensor(actual), words.tensor(expected)
        if torch.bool in (actual.dtype, expected.dtype) and actual.dtype != expected.dtype:
            law = f"expected a tensor of {expected.dtype}, got one of {actual.dtype}"
            self.fail(law, hint or "a comparison such as a <= b gives True and False")
        if actual.shape != expected.shape:
            self.shape(actual, **{f"axis {i}": size for i, size in enumerate(expected.shape)})
        if not (expected.is_floating_point() or expected.is_complex()):
            expected = expected.to(actual.dtype)  # whole numbers: 1.5 is not 1
        exact = TOLERANCE.get(expected.dtype, (0.0, 0.0))
        relative, absolute = exact if within is None else (0.0, within)
        same = torch.isclose(actual.to(expected.dtype), expected, relative, absolute)
        if not same.all():
            story = self.story(law, self.behind(judged))
            for label, text in words.contrast(expected, actual, ~same).items():
                story.tell(label, text)
            nearly = expected.dtype == torch.float64 and torch.allclose(
                actual.to(expected.dtype), expected, *SINGLE, equal_nan=True
            )
            self.stop(story, failure.SEVEN_DIGITS if nearly else hint)

    def true(self, holds: bool, law: str, hint: str = "") -> None:
        """`law`, said in words, holds."""
        if not holds:
            self.stop(self.story(law, self.behind(None)), hint)

    def seal(self, answer: Tensor, sealed: str, law: str, hint: str = "") -> None:
        """`answer` is the sealed one to two decimals: says whether, never what it should be."""
        if words.seal(answer) != sealed:
            self.fail(law, hint)

    def gradient(self, result: Tensor, source: Tensor) -> Tensor:
        """d(sum of `result`) / d`source`: zeros where nothing depends on it."""
        if not result.requires_grad:
            self.fail("no gradient flows through the result", failure.STAY_IN_TORCH)
        (slope,) = self._guarded(
            torch.autograd.grad,
            (result.sum(), source),
            {"retain_graph": True, "allow_unused": True},
        )
        return torch.zeros_like(source) if slope is None else slope
