"""What every check does around a call of the student's work, and how it says what went wrong."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import torch
from torch import Tensor

from transformer_course.checks import failure, words
from transformer_course.checks.failure import CheckFailed, Story
from transformer_course.checks.misconceptions import clue, recognise
from transformer_course.checks.module import Module

Returns = Sequence[str] | type | None  # names of tensors, a plain value's type, or whatever


class Running:
    """Runs an exercise's work away from the check's variables, examines results, tells failures."""

    def __init__(self, exercise: str, aim: str, hint: str, namespace: dict[str, Any]) -> None:
        self.exercise, self.aim, self.hint = exercise, aim, hint
        self._namespace = namespace
        self._before = dict(namespace)
        self._given = ("you called", "")
        self._returned: list[tuple[str, Tensor]] = []
        self._calls: list[tuple[str, list[Any]]] = []  # each, and what it returned
        self._observed: list[list[Tensor]] = []

    def run(
        self, work: Callable[..., Any], name: str, args: Any, kwargs: Any, returns: Returns
    ) -> Any:
        """Call the student's work, examine what comes back, and return it."""
        args, kwargs, inputs = self._bare(work, name, args, kwargs)
        tensors = words.tensors(inputs)
        before = {label: tensor.detach().clone() for label, tensor in tensors.items()}
        result = self._guarded(work, args, kwargs)
        self._observed.append([])  # a call that gives no tensor leaves a clue too
        self._returned = []
        if returns is None:
            answer = None
        elif isinstance(returns, type):
            answer = self._plain(result, returns)
        else:
            parts = self._observed[-1] = self._parts(result, returns)
            self._returned = list(zip(returns or ["the result"], parts, strict=True))
            for label, part in self._returned:
                self._examine(label, part, list(tensors.values()))
            answer = tuple(parts) if returns else parts[0]
        plain = [answer] if isinstance(returns, type) else []
        self._calls.append((self._given[1], [part for _, part in self._returned] or plain))
        for label, tensor in tensors.items():
            if not torch.equal(tensor.detach().nan_to_num(), before[label].nan_to_num()):
                self.fail(f"your code changed its input `{label}`", failure.MAKE_A_NEW_ONE)
        return answer

    def stops(
        self, work: Callable[..., Any], name: str, args: Any, kwargs: Any, naming: Sequence[float]
    ) -> None:
        """Call the student's work, which must stop with a `ValueError` that names these."""
        args, kwargs, _ = self._bare(work, name, args, kwargs)
        self._observed.append([])
        named = " and ".join(map(str, naming))
        law = f"expected a ValueError{' that names ' * bool(named)}{named}"
        hint = f'raise ValueError(f"…"), with {named or "the numbers"} in the message'
        try:
            self._guarded(work, args, kwargs, passing=ValueError, hint=hint)
        except ValueError as error:
            if not all(words.mentions(str(error), number) for number in naming):
                story = self.story(law)
                story.tell("message", str(error))
                self.stop(story, hint)
        else:
            self.fail(f"{law}, but nothing was raised", hint)

    def story(self, law: str, given: tuple[str, str] | None = None) -> Story:
        """The beginning of a failure: the law that does not hold, and the call."""
        story = Story(self.exercise, law)
        story.tell(*(given or self._given))
        return story

    def behind(self, judged: Any) -> tuple[str, str]:
        """The call that returned what is judged; of several, the last one is called just that."""
        calls = [call for call, told in self._calls if any(part is judged for part in told)]
        if calls and (isinstance(judged, Tensor) or len(calls) == 1):
            return "you called", calls[0]
        return ("last called", self._given[1]) if len(self._calls) > 1 else self._given

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

    def _bare(self, work: Callable[..., Any], name: str, args: Any, kwargs: Any) -> tuple:
        """Arguments as the student's code takes them, and the same by its names for them."""
        args = tuple(v.bare if isinstance(v, Module) else v for v in args)
        kwargs = {k: v.bare if isinstance(v, Module) else v for k, v in kwargs.items()}
        inputs = words.named(work, args, kwargs)
        self._given = ("you called", f"{name}({words.listed(inputs)})")
        return args, kwargs, inputs

    def _guarded(
        self,
        work: Callable[..., Any],
        args: Any,
        kwargs: Any,
        passing: type[Exception] | tuple[()] = (),
        hint: str = "",
    ) -> Any:
        try:
            with self._check_variables_hidden():
                return work(*args, **kwargs)
        except passing:
            raise
        except Exception as error:
            lines = failure.student_lines(error, self._namespace)
            if lines and lines[-1].text.startswith("raise NotImplementedError"):
                raise failure.still_a_stub(
                    f"`{lines[-1].within}` is still a stub: replace its `raise "
                    "NotImplementedError`, run that cell, then run this check again."
                ) from error
            story = self.story(f"your code raised {type(error).__name__}")
            story.tell("message", str(error))
            if lines:
                story.tell("in", f"{lines[-1].within}, line {lines[-1].number}: {lines[-1].text}")
            # what a student's own `raise` says, the next student says otherwise
            own = lines and lines[-1].text.startswith(("raise ", "assert "))
            law = story.law if own else f"{story.law}: {error}"
            found = clue(self.aim, law, self._observed)
            story.tell("looks like", recognise(self.exercise, found))
            story.tell("hint", failure.explained(error) or hint or self.hint)
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
            self._before.clear()
            self._before.update(self._namespace)
            self._namespace.update(own)

    def _take_back_variables(self) -> None:
        for name in self._namespace.keys() - self._before.keys():
            del self._namespace[name]
        self._namespace.update(self._before)

    def _plain(self, result: Any, kind: type) -> Any:
        value = words.plain(result, kind)
        if isinstance(value, (int, float)):
            self._observed[-1] = [torch.tensor([value], dtype=torch.float64)]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            hint = "does the last line say `return`?" if result is None else ""
            self.fail(f"expected {words.PLAIN[kind]}, got {words.brief(result)}", hint)
        if value != value:
            self.fail("the result is NaN (not a number)", failure.NOT_A_NUMBER)
        return value

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
