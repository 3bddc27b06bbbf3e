"""`Check`: one thing that is asked of one exercise, and what it says when the answer is no."""

import sys
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, NoReturn, Self

import torch
from torch import Tensor, nn

from transformer_course.checks import failure, words
from transformer_course.checks.failure import CheckFailed, Story
from transformer_course.checks.misconceptions import clue, recognise

# Relative and absolute tolerance: a result kept in its dtype passes, one that went through a
# narrower dtype on the way does not.
TOLERANCE = {
    torch.float64: (1e-9, 1e-10),
    torch.float32: (1e-4, 1e-5),
    torch.bfloat16: (2e-2, 1e-2),
    torch.float16: (2e-2, 1e-2),
}
SHOWN = 3  # differing numbers that a message lists


class Check:
    """Ask one thing of one exercise.

        with Check("softmax", "each row becomes weights") as check:
            weights = check.call(numbers(3, 5), dim=-1)
            check.shape(weights, row=3, column=5)
            check.true(bool((weights > 0).all()), "every weight is above zero")

    The exercise is looked up by its name among the caller's variables. What it returns is
    examined at once: type, NaN, dtype, and whether it changed its inputs.
    """

    def __init__(self, exercise: str, aim: str) -> None:
        self.exercise, self.aim = exercise, aim
        self._namespace: dict[str, Any] = sys._getframe(1).f_globals
        self._called = ""
        self._observed: list[list[Tensor]] = []

    def __enter__(self) -> Self:
        if self.exercise not in self._namespace:
            raise failure.still_a_stub(
                f"`{self.exercise}` does not exist yet: solve its cell, run that cell, "
                "then run this check again."
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        if kind is None:
            print(f"✓ {self.exercise}: {self.aim}")

    # --- reaching the student's work -----------------------------------------------------

    def call(self, *args: Any, returns: Sequence[str] = (), **kwargs: Any) -> Any:
        """Call the exercise's function; return its tensor, or one tensor per name in `returns`."""
        return self._run(self._work(), self.exercise, args, kwargs, returns)

    def build(self, *args: Any, **kwargs: Any) -> "Module":
        """Build the exercise's module (an `nn.Module` class) with these arguments."""
        self._called = f"{self.exercise}({words.listed(words.named(self._work(), args, kwargs))})"
        module = self._guarded(self._work(), args, kwargs)
        if not isinstance(module, nn.Module):
            self._fail(f"{self._called} gives a {words.kind(module)}, not an nn.Module")
        return Module(self, module)

    def value(self, length: int) -> Tensor:
        """The exercise's answer as `length` float64 numbers, be it a list, an array or a tensor."""
        work = self._work()
        try:
            answer = torch.as_tensor(work, dtype=torch.float64).detach()
        except (TypeError, ValueError, RuntimeError):
            self._fail(f"expected {length} numbers, got {words.kind(work)}: {work!r}")
        # rounded: 0.76 and 0.7616 hold the same misconception
        self._observed.append([answer.round(decimals=2)])
        if answer.shape != (length,):
            self._fail(f"expected {length} numbers, such as [0.5, 0.5]; got {work!r}")
        return answer

    # --- judging what came back ----------------------------------------------------------

    def shape(self, tensor: Tensor, **axes: int) -> None:
        """`tensor` has these axes, in this order: `shape(weights, query=3, key=5)`."""
        if tuple(tensor.shape) != tuple(axes.values()):
            story = self._story("the result has the wrong shape")
            story.tell("expected", f"{tuple(axes.values())}: ({', '.join(axes)})")
            story.tell("got", str(tuple(tensor.shape)))
            self._raise(story)

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
            axes = {f"axis {i}": size for i, size in enumerate(expected.shape)}
            self.shape(actual, **axes)
        exact = TOLERANCE.get(expected.dtype, (0.0, 0.0))
        relative, absolute = exact if within is None else (0.0, within)
        same = torch.isclose(actual.to(expected.dtype), expected, relative, absolute)
        if not same.all():
            story = self._story(law)
            places = (~same).nonzero()[:SHOWN].tolist()
            story.tell("expected", "\n".join(words.entry(expected, at) for at in places))
            story.tell("got", "\n".join(words.entry(actual, at) for at in places))
            story.tell("differing", f"{int((~same).sum())} of {same.numel()} numbers")
            self._raise(story, hint)

    def true(self, holds: bool, law: str, hint: str = "") -> None:
        """`law`, said in words, holds."""
        if not holds:
            self._raise(self._story(law), hint)

    def seal(self, answer: Tensor, sealed: str, law: str) -> None:
        """`answer` is the sealed one to two decimals: says whether, never what it should be."""
        if words.seal(answer) != sealed:
            story = self._story(law)
            story.tell("got", str([round(number, 4) for number in answer.tolist()]))
            self._raise(story, "give three decimals, and round only at the very end")

    def gradient(self, result: Tensor, source: Tensor) -> Tensor:
        """d(sum of `result`) / d`source`: zeros where nothing depends on it."""
        if not result.requires_grad:
            self._fail(
                "no gradient flows through the result",
                "stay in torch from the first line to the last: no NumPy, no .detach(), no .item()",
            )
        (slope,) = torch.autograd.grad(result.sum(), source, retain_graph=True, allow_unused=True)
        return torch.zeros_like(source) if slope is None else slope

    # --- inside --------------------------------------------------------------------------

    def _work(self) -> Any:
        return self._namespace[self.exercise]

    def _run(
        self, work: Callable[..., Any], name: str, args: Any, kwargs: Any, returns: Sequence[str]
    ) -> Any:
        inputs = words.named(work, args, kwargs)
        self._called = f"{name}({words.listed(inputs)})"
        tensors = {label: value for label, value in inputs.items() if isinstance(value, Tensor)}
        before = {label: tensor.detach().clone() for label, tensor in tensors.items()}
        result = self._guarded(work, args, kwargs)
        parts = self._parts(result, returns)
        self._observed.append(parts)
        for label, part in zip(returns or ["the result"], parts, strict=True):
            self._examine(label, part, list(tensors.values()))
        for label, tensor in tensors.items():
            if not torch.equal(tensor.detach().nan_to_num(), before[label].nan_to_num()):
                self._fail(
                    f"your code changed its input `{label}`",
                    "operations that end in _ (add_, masked_fill_) and x[...] = y write into the "
                    "caller's tensor: make a new one",
                )
        return tuple(parts) if returns else parts[0]

    def _guarded(self, work: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        try:
            return work(*args, **kwargs)
        except Exception as error:
            frames = failure.student_frames(error, self._namespace)
            frame, line = frames[-1] if frames else (None, 0)
            if isinstance(error, NotImplementedError):
                raise self._stub(frame) from error
            story = self._story(f"your code raised {type(error).__name__}")
            story.tell("message", str(error))
            if frame is not None:
                story.tell(f"in line {line}", failure.source_line(frame, line))
            found = clue(self.aim, f"{story.law}: {error}", self._observed)
            story.tell("looks like", recognise(self.exercise, found))
            raise CheckFailed(str(story), found) from error

    def _stub(self, frame: Any) -> NotImplementedError:
        where = frame.f_code.co_qualname if frame is not None else self.exercise
        return failure.still_a_stub(
            f"`{where}` is still a stub: replace its `raise NotImplementedError`, run that cell, "
            "then run this check again."
        )

    def _parts(self, result: Any, returns: Sequence[str]) -> list[Tensor]:
        wanted = f"a tuple ({', '.join(returns)})" if returns else "a tensor"
        if result is None:
            self._fail(f"expected {wanted}, got None", "does the last line say `return`?")
        parts = list(result) if returns and isinstance(result, (tuple, list)) else [result]
        if len(parts) != max(len(returns), 1):
            got = (
                f"{len(parts)} values" if isinstance(result, (tuple, list)) else words.kind(result)
            )
            self._fail(f"expected {wanted}, got {got}")
        for label, part in zip(returns or ["the result"], parts, strict=True):
            if not isinstance(part, Tensor):
                self._fail(f"{label} should be a tensor, got {words.kind(part)}")
        return parts

    def _examine(self, label: str, part: Tensor, inputs: list[Tensor]) -> None:
        if part.is_floating_point() and part.isnan().any():
            at = part.isnan().nonzero()[0].tolist()
            self._fail(
                f"{label} holds NaN (not a number), first at {at}",
                "exp of a large number is inf, and inf / inf or inf - inf is NaN",
            )
        dtypes = [tensor.dtype for tensor in inputs if tensor.is_floating_point()]
        if dtypes and part.is_floating_point() and part.dtype != dtypes[0]:
            self._fail(
                f"{label} should keep the input's dtype {dtypes[0]}, got {part.dtype}",
                "a NumPy array or a constant tensor on the way brings its own dtype",
            )

    def _story(self, law: str) -> Story:
        story = Story(self.exercise, law)
        story.tell("you called", self._called)
        return story

    def _fail(self, law: str, hint: str = "") -> NoReturn:
        self._raise(self._story(law), hint)

    def _raise(self, story: Story, hint: str = "") -> NoReturn:
        found = clue(self.aim, story.law, self._observed) if self._observed else None
        story.tell("looks like", recognise(self.exercise, found) if found else "")
        story.tell("hint", hint)
        raise CheckFailed(str(story), found)


class Module:
    """A module that the student's class built, as a check may touch it."""

    def __init__(self, check: Check, module: nn.Module) -> None:
        self._check, self._module = check, module

    def call(self, *args: Any, returns: Sequence[str] = (), **kwargs: Any) -> Any:
        """Call the module; return its tensor, or one tensor per name in `returns`."""
        name = f"{self._check.exercise}(…)"
        return self._check._run(self._module, name, args, kwargs, returns)

    def load(self, parameters: dict[str, Tensor]) -> None:
        """Give the module these parameters, named as its stub's docstring names them."""
        # a layer that stands under two names counts twice; buffers are the student's own
        parts = self._module.named_parameters(remove_duplicate=False)
        mine = {name: tuple(part.shape) for name, part in parts}
        wanted = {name: tuple(tensor.shape) for name, tensor in parameters.items()}
        if mine != wanted:
            story = self._check._story("the parameters are not the ones the docstring names")
            story.tell("expected", words.table(wanted))
            story.tell("got", words.table(mine))
            self._check._raise(story)
        self._module.load_state_dict(parameters, strict=False)

    def state(self) -> dict[str, Tensor]:
        """A copy of the module's parameters and buffers, by name."""
        return {name: tensor.clone() for name, tensor in self._module.state_dict().items()}

    def double(self) -> Self:
        """Turn the parameters into float64."""
        self._module.double()
        return self

    def gradients(self, result: Tensor) -> dict[str, Tensor]:
        """d(sum of `result`) / d(parameter), by name: zeros where nothing depends on it."""
        named = dict(self._module.named_parameters())
        return {name: self._check.gradient(result, weight) for name, weight in named.items()}
