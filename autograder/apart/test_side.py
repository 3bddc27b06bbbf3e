"""The tests' side: stand-ins for the student's work, used by check cells like the real thing."""

import builtins
import inspect
from collections.abc import Sequence
from io import BufferedRWPair
from typing import Any

import torch
from torch import Tensor, nn
from transformer_course.checks.failure import StudentLine

from autograder.apart.wire import receive, send


class StudentError(Exception):
    """An exception in the student's code, of a type that is none of Python's own."""


class TestSide:
    """Asks the student's side; gives check cells their stand-ins."""

    __test__ = False  # for pytest: the name begins like a test's

    def __init__(self, stream: BufferedRWPair, limit: int) -> None:
        self._stream, self._limit = stream, limit

    def ask(self, do: str, **arguments: Any) -> dict:
        """One request and its answer; an exception there is one here."""
        send(self._stream, {"do": do, "with": arguments}, self._limit)
        answer = receive(self._stream, self._limit)
        if "error" in answer:
            raise _exception(answer["error"])
        return answer

    def run(self, source: str, name: str) -> str:
        """Run a cell of the student's; return what it printed."""
        return self.ask("run", source=source, name=name)["said"]

    def stand_ins(self, names: Sequence[str]) -> dict[str, Any]:
        """For each exercise that exists over there, what stands in for it here."""
        found = {}
        for name in names:
            answer = self.ask("find", name=name)
            if answer["kind"] == "value":
                found[name] = answer["value"]
            elif answer["kind"] == "callable":
                found[name] = RemoteFunction(self, name, -1, answer["signature"])
        return found

    def call(self, name: str, module: int, args: tuple, kwargs: dict, weights: list) -> Any:
        """Call the student's work, so that gradients flow through the call."""
        tensors = [a for a in (*args, *kwargs.values()) if isinstance(a, Tensor)]
        request = {
            "name": name,
            "module": module,
            "args": args,
            "kwargs": kwargs,
            "needs": [tensor.requires_grad for tensor in tensors],
            "random": torch.get_rng_state(),
        }
        answer = self.ask("call", **request)
        torch.set_rng_state(answer["random"])
        for i, value in answer["changed"].items():
            tensors[int(i)].data.copy_(value)
        if "module" in answer:
            return RemoteModule(self, name, answer)
        outputs = [p for p in _items(answer["result"]) if isinstance(p, Tensor)]
        if any(answer["requires"]):
            outputs = _Call.apply(
                self, answer["call"], answer["requires"], len(outputs), *outputs, *tensors, *weights
            )
        return _with(answer["result"], iter(outputs))


class _Call(torch.autograd.Function):
    """A call whose backward pass the student's side does."""

    @staticmethod
    def forward(
        ctx: Any, side: TestSide, call: int, requires: list, count: int, *rest: Tensor
    ) -> Any:
        ctx.side, ctx.call = side, call
        outputs = tuple(part.clone() for part in rest[:count])
        ctx.mark_non_differentiable(*[o for o, r in zip(outputs, requires, strict=True) if not r])
        return outputs

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> Any:
        found = ctx.side.ask("backward", call=ctx.call, slopes=list(slopes))["slopes"]
        return (None, None, None, None, *[None] * len(slopes), *found)


class RemoteFunction:
    """Stands in for a function or a class of the student's."""

    def __init__(
        self, side: TestSide, name: str, module: int, signature: list | None, weights: Any = None
    ) -> None:
        self._side, self._name, self._module = side, name, module
        self._weights = weights or (lambda: [])
        if signature is not None:
            self.__signature__ = inspect.Signature(
                [
                    inspect.Parameter(
                        name,
                        inspect._ParameterKind(kind),
                        default=None if has else inspect.Parameter.empty,
                    )
                    for name, kind, has in signature
                ]
            )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._side.call(self._name, self._module, args, kwargs, self._weights())


class RemoteModule(nn.Module):
    """Stands in for a module that the student's class built; mirrors its parameters."""

    _weights: dict[str, Tensor]
    _unique: list[str]

    def __init__(self, side: TestSide, name: str, answer: dict) -> None:
        super().__init__()
        self._side, self._number = side, answer["module"]
        self._mirror(answer)
        if answer["signature"] is not None:
            self.forward = RemoteFunction(
                side,
                name,
                self._number,
                answer["signature"],
                lambda: list(dict(self.named_parameters()).values()),
            )

    def named_parameters(self, *args: Any, remove_duplicate: bool = True, **kwargs: Any) -> Any:
        names = self._unique if remove_duplicate else list(self._weights)
        return iter([(name, self._weights[name]) for name in names])

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        return self._side.ask("state", module=self._number)["state"]

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> Any:
        self._mirror(self._side.ask("load", module=self._number, state=dict(state_dict)))

    def train(self, mode: bool = True) -> Any:
        return self._switched("train" if mode else "eval")

    def double(self) -> Any:
        return self._switched("double")

    def float(self) -> Any:
        return self._switched("float")

    def _switched(self, to: str) -> "RemoteModule":
        self._mirror(self._side.ask("switch", module=self._number, to=to))
        return self

    def _mirror(self, answer: dict) -> None:
        self._weights = {n: w.requires_grad_() for n, w in answer["parameters"].items()}
        self._unique = answer["unique"]


def _exception(told: dict) -> Exception:
    kind = getattr(builtins, told["type"], None)
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        kind = type(told["type"], (StudentError,), {})
    try:
        error = kind(told["message"])
    except TypeError:  # some of Python's own want more than a message
        error = type(told["type"], (StudentError,), {})(told["message"])
    error.student_lines = [StudentLine(**line) for line in told["lines"]]  # type: ignore[attr-defined]
    return error


def _items(result: Any) -> list:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def _with(result: Any, tensors: Any) -> Any:
    if isinstance(result, (tuple, list)):
        return type(result)(next(tensors) if isinstance(p, Tensor) else p for p in result)
    return next(tensors) if isinstance(result, Tensor) else result
