"""`Check`: one thing that is asked of one exercise, and what it says when the answer is no."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, NoReturn, Self

import torch
from torch import Tensor, nn

from transformer_course.checks import failure, words
from transformer_course.checks.failure import CheckFailed, Story
from transformer_course.checks.misconceptions import clue, recognise
from transformer_course.checks.module import Module

# Relative and absolute tolerance: a result kept in its dtype passes, one that went through a
# narrower dtype on the way does not.
TOLERANCE = {
    torch.float64: (1e-9, 1e-10),
    torch.float32: (1e-4, 1e-5),
    torch.bfloat16: (2e-2, 1e-2),
    torch.float16: (2e-2, 1e-2),
}


class Check:
    """Ask one thing of one exercise.

        with Check("softmax", "each row becomes weights") as check:
            weights = check.call(numbers(3, 5), dim=-1)
            check.shape(weights, row=3, column=5)
            check.true(bool((weights > 0).all()), "every weight is above zero")

    The exercise is looked up by its name among the caller's variables. What it returns is
    examined at once: type, NaN, dtype, and whether it changed its inputs. The variables of the
    check itself are hidden from the student's work, and gone when the check ends. `hint` stands
    under every failure that has no hint of its own, an exception in the student's code included.
    """

    def __init__(self, exercise: str, aim: str, hint: str = "") -> None:
        self.exercise, self.aim, self.hint = exercise, aim, hint
        self._namespace: dict[str, Any] = sys._getframe(1).f_globals
        self._before = dict(self._namespace)
        self._given = ("you called", "")
        self._returned: list[tuple[str, Tensor]] = []
        self._observed: list[list[Tensor]] = []

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

    def call(self, *args: Any, returns: Sequence[str] = (), **kwargs: Any) -> Any:
        """Call the exercise's function; return its tensor, or one tensor per name in `returns`."""
        return self.run(self._work(), self.exercise, args, kwargs, returns)

    def build(self, *args: Any, **kwargs: Any) -> Module:
        """Build the exercise's module (an `nn.Module` class) with these arguments."""
        arguments = words.listed(words.named(self._work(), args, kwargs))
        self._given = ("you called", f"{self.exercise}({arguments})")
        module = self._guarded(self._work(), args, kwargs)
        if not isinstance(module, nn.Module):
            self.fail(f"{self.exercise}(…) gives a {words.kind(module)}, not an nn.Module")
        return Module(self, module)

    def value(self, length: int) -> Tensor:
        """The exercise's answer as `length` float64 numbers, be it a list, an array or a tensor."""
        work = self._work()
        try:
            answer = torch.as_tensor(work, dtype=torch.float64).detach()
        except (TypeError, ValueError, RuntimeError):
            self.fail(f"expected {length} numbers, got {words.kind(work)}: {work!r}")
        self._given = ("your answer", words.brief(answer))
        # rounded: 0.76 and 0.7616 hold the same misconception
        self._observed.append([answer.round(decimals=2)])
        if answer.shape != (length,):
            self.fail(f"expected {length} numbers, such as [0.5, 0.5]; got {work!r}")
        return answer

    # --- judging what came back ----------------------------------------------------------

    def shape(self, tensor: Tensor, **axes: int) -> None:
        """`tensor` has these axes, in this order: `shape(weights, query=3, key=5)`."""
        if tuple(tensor.shape) != tuple(axes.values()):
            name = next((name for name, part in self._returned if part is tensor), "the result")
            story = self.story(f"{name} has the wrong shape")
            named = ", ".join(f"{axis} {size}" for axis, size in axes.items())
            story.tell("expected", f"{tuple(axes.values())}: {named}")
            story.tell("got", str(tuple(tensor.shape)))
            self.stop(story)

    def equal(
        self,
        actual: Tensor,
        expected: Tensor,
        law: str,
        hint: str = "",
        within: float | None = None,
    ) -> None:
        """`actual` equals `expected`; `law` says so in words.

        To the accuracy of the dtype, or `within` an absolute difference.
        """
        if actual.shape != expected.shape:
            self.shape(actual, **{f"axis {i}": size for i, size in enumerate(expected.shape)})
        exact = TOLERANCE.get(expected.dtype, (0.0, 0.0))
        relative, absolute = exact if within is None else (0.0, within)
        same = torch.isclose(actual.to(expected.dtype), expected, relative, absolute)
        if not same.all():
            story = self.story(law)
            for label, text in words.contrast(expected, actual, ~same).items():
                story.tell(label, text)
            self.stop(story, hint)

    def true(self, holds: bool, law: str, hint: str = "") -> None:
        """`law`, said in words, holds."""
        if not holds:
            self.fail(law, hint)

    def seal(self, answer: Tensor, sealed: str, law: str, hint: str = "") -> None:
        """`answer` is the sealed one to two decimals: says whether, never what it should be."""
        if words.seal(answer) != sealed:
            self.fail(law, hint)

    def gradient(self, result: Tensor, source: Tensor) -> Tensor:
        """d(sum of `result`) / d`source`: zeros where nothing depends on it."""
        if not result.requires_grad:
            self.fail("no gradient flows through the result", failure.STAY_IN_TORCH)
        (slope,) = torch.autograd.grad(result.sum(), source, retain_graph=True, allow_unused=True)
        return torch.zeros_like(source) if slope is None else slope

    # --- for this module's own use, and `Module`'s ---------------------------------------

    def run(
        self, work: Callable[..., Any], name: str, args: Any, kwargs: Any, returns: Sequence[str]
    ) -> Any:
        """Call the student's work, examine what comes back, and return its tensors."""
        inputs = words.named(work, args, kwargs)
        self._given = ("you called", f"{name}({words.listed(inputs)})")
        tensors = {label: value for label, value in inputs.items() if isinstance(value, Tensor)}
        before = {label: tensor.detach().clone() for label, tensor in tensors.items()}
        result = self._guarded(work, args, kwargs)
        self._observed.append([])  # a call that gives no tensor leaves a clue too
        parts = self._observed[-1] = self._parts(result, returns)
        self._returned = list(zip(returns or ["the result"], parts, strict=True))
        for label, part in self._returned:
            self._examine(label, part, list(tensors.values()))
        for label, tensor in tensors.items():
            if not torch.equal(tensor.detach().nan_to_num(), before[label].nan_to_num()):
                self.fail(f"your code changed its input `{label}`", failure.MAKE_A_NEW_ONE)
        return tuple(parts) if returns else parts[0]

    def story(self, law: str) -> Story:
        """The beginning of a failure: the law that does not hold, and the call."""
        story = Story(self.exercise, law)
        story.tell(*self._given)
        return story

    def fail(self, law: str, hint: str = "") -> NoReturn:
        """Stop with no more than the law and a hint."""
        self.stop(self.story(law), hint)

    def stop(self, story: Story, hint: str = "") -> NoReturn:
        """Stop with a story, the misconception that it looks like, and a hint."""
        found = clue(self.aim, story.law, self._observed) if self._observed else None
        story.tell("looks like", recognise(self.exercise, found) if found else "")
        story.tell("hint", hint or self.hint)
        raise CheckFailed(str(story), found)

    def _work(self) -> Any:
        return self._before[self.exercise]

    def _guarded(self, work: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        try:
            with self._check_variables_hidden():
                return work(*args, **kwargs)
        except Exception as error:
            lines = failure.student_lines(error, self._namespace)
            if lines and isinstance(error, NotImplementedError):
                raise failure.still_a_stub(
                    f"`{lines[-1].within}` is still a stub: replace its `raise "
                    "NotImplementedError`, run that cell, then run this check again."
                ) from error
            story = self.story(f"your code raised {type(error).__name__}")
            story.tell("message", str(error))
            if lines:
                story.tell("in", f"{lines[-1].within}, line {lines[-1].number}: {lines[-1].text}")
            found = clue(self.aim, f"{story.law}: {error}", self._observed)
            story.tell("looks like", recognise(self.exercise, found))
            story.tell("hint", failure.explained(error) or self.hint)
            raise CheckFailed(str(story), found) from error

    @contextmanager
    def _check_variables_hidden(self) -> Iterator[None]:
        """A function that uses a check's `x` by mistake fails here, as it does when graded."""
        own = {
            name: value
            for name, value in self._namespace.items()
            if name not in self._before or value is not self._before[name]
        }
        self._take_back_variables()
        try:
            yield
        finally:
            # what the student's work has changed by now is the student's, and stays
            self._before = dict(self._namespace)
            self._namespace.update(own)

    def _take_back_variables(self) -> None:
        for name in self._namespace.keys() - self._before.keys():
            del self._namespace[name]
        self._namespace.update(self._before)

    def _parts(self, result: Any, returns: Sequence[str]) -> list[Tensor]:
        wanted = f"a tuple ({', '.join(returns)})" if returns else "a tensor"
        if result is None:
            self.fail(f"expected {wanted}, got None", "does the last line say `return`?")
        several = isinstance(result, (tuple, list))
        parts = list(result) if returns and several else [result]
        if len(parts) != max(len(returns), 1):
            got = f"{len(parts)} values" if several else words.kind(result)
            self.fail(f"expected {wanted}, got {got}")
        for label, part in zip(returns or ["the result"], parts, strict=True):
            if not isinstance(part, Tensor):
                self.fail(f"{label} should be a tensor, got {words.kind(part)}")
        return parts

    def _examine(self, label: str, part: Tensor, inputs: list[Tensor]) -> None:
        if part.is_floating_point() and part.isnan().any():
            at = part.isnan().nonzero()[0].tolist()
            self.fail(f"{label} holds NaN (not a number), first at {at}", failure.NOT_A_NUMBER)
        dtypes = [tensor.dtype for tensor in inputs if tensor.is_floating_point()]
        if dtypes and part.is_floating_point() and part.dtype != dtypes[0]:
            law = f"{label} should keep the input's dtype {dtypes[0]}, got {part.dtype}"
            self.fail(law, failure.KEEP_THE_DTYPE)
