"""The tests' side: proxies of the student's work, used by check cells like the real thing."""

import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from io import BufferedRWPair
from typing import Any, Literal

import torch
from torch import Tensor, nn
from transformer_course.checks.student_lines import StudentLine

from autograder.execution.isolation.messages import (
    Answer,
    Ask,
    Begin,
    Describe,
    Described,
    Failed,
    Find,
    Lent,
    Load,
    Module,
    Raised,
    Run,
    Signature,
    State,
    Switch,
    Yours,
)
from autograder.execution.isolation.peer import NAME, SAID, Peer, RemoteFunction
from autograder.execution.isolation.wire import foreign


class TestSide(Peer):
    """Asks the student's side; gives check cells their proxies."""

    __test__ = False  # for pytest: the name begins like a test's

    def __init__(self, stream: BufferedRWPair, limit: int) -> None:
        super().__init__(stream, limit)
        self.decoders[Module] = lambda told: RemoteModule(self, told.number, told.described)

    def run(self, source: str) -> Any:
        """Run a cell of the student's; return what is said to be its outputs."""
        return self.ask(Run(source))

    def proxies(self, names: Iterable[str]) -> dict[str, Any]:
        """For a check that begins: a proxy of each exercise that exists there."""
        self.begin()
        self.ask(Begin())
        names = list(names)
        try:
            found = self.ask(Find(names))
        except Exception:  # one of them cannot cross: the others should
            found = {}
            for name in names:
                found |= self._found_alone(name)
        return {name: found[name] for name in names if name in found}

    def _found_alone(self, name: str) -> dict[str, Any]:
        try:
            return self.ask(Find([name]))
        except Exception:
            return {name: foreign("builtins", "value too large to be an answer")}

    def encode_reference(self, value: Any) -> Any:
        """Modules of torch's are lent; the student's own go home."""
        if isinstance(value, RemoteModule):
            return Yours(value.number)
        if not isinstance(value, nn.Module):
            return super().encode_reference(value)
        number = self.lent.number_of(value)
        if number is not None:
            return Lent(number, b"")
        pickled = _pickled(value)
        number = self.offer(value)
        self.lent.add(number, value)
        return Lent(number, pickled)

    def error_of(self, told: Raised) -> BaseException:
        """An exception of the same name, with the student's lines."""
        if told.type == "KeyboardInterrupt":
            return KeyboardInterrupt("the student's code took too long")
        error = super().error_of(told)
        lines = [
            StudentLine(at.number, at.text[:99], at.within[:99], at.values[:999])
            for at in told.lines
        ]
        error.student_lines = lines  # type: ignore[attr-defined]
        return error

    def _receive(self) -> Ask | Answer | Failed:
        """What the student's code printed is shown where it was called."""
        envelope = super()._receive()
        if not isinstance(envelope, Ask) and type(envelope.said) is str:
            sys.stdout.write(envelope.said[:SAID])
        return envelope


class RemoteModule(nn.Module):
    """The proxy of a module of the student's; mirrors its parameters."""

    _weights: dict[str, Tensor]

    def __init__(self, side: TestSide, number: int, told: Described) -> None:
        super().__init__()
        self._side, self.number, self._name = side, number, told.name[:NAME]
        self._weights = {}
        self._mirror(told)
        self.forward = RemoteMethod(side, self.number, told.signature, self._handles)

    def named_parameters(self, *args: Any, remove_duplicate: bool = True, **kwargs: Any) -> Any:
        self._mirror(self._side.ask(Describe(self.number)))
        first = {weight: name for name, weight in reversed(self._weights.items())}
        named = self._weights.items()
        return iter([(n, w) for n, w in named if first[w] == n or not remove_duplicate])

    def parameters(self, recurse: bool = True) -> Iterator[Any]:
        return iter(self._handles())

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        return self._side.ask(State(self.number))

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> Any:
        self._mirror(self._side.ask(Load(self.number, dict(state_dict))))

    def train(self, mode: bool = True) -> Any:
        return self._switched("train" if mode else "eval")

    def double(self) -> Any:
        return self._switched("double")

    def float(self) -> Any:
        return self._switched("float")

    def _get_name(self) -> str:
        return self._name

    def _handles(self) -> list[Tensor]:
        return list(dict.fromkeys(self._weights.values()))

    def _switched(self, to: Literal["train", "eval", "double", "float"]) -> "RemoteModule":
        self._mirror(self._side.ask(Switch(self.number, to)))
        return self

    def _mirror(self, told: Described) -> None:
        """Hold what it holds, in the same tensors, so that gradients asked for find them."""
        weights: dict[str, Tensor] = {}
        for name, (number, own) in told.borrowed.items():
            weights[name] = self._side.lent.modules[number].get_parameter(own)
        for name, value in told.parameters.items():
            mine = weights[name] = weights.get(
                told.first.get(name, ""), self._weights.get(name, value)
            )
            if mine.shape == value.shape and mine.dtype == value.dtype:
                with torch.no_grad():
                    mine.copy_(value)
            else:
                mine.data = value
            mine.requires_grad_(name not in told.frozen)
        self._weights = {name: weights[name] for name in told.first if name in weights}
        self.training = told.training


class RemoteMethod(RemoteFunction):
    """A module's forward: gradients of its parameters flow through it too."""

    def __init__(
        self, side: TestSide, number: int, told: Signature, handles: Callable[[], list[Tensor]]
    ) -> None:
        super().__init__(side, number, told)
        self._handles = handles

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._peer.call(self.number, args, kwargs, self._handles())


def _pickled(module: nn.Module) -> bytes:
    """A module for the student's side, which knows torch's classes and the kit's, no test's."""
    for part in module.modules():
        home = type(part).__module__
        if home.split(".")[0] not in ("torch", "transformer_course"):
            raise TypeError(f"a check can hand over modules of torch and the kit, not {home}'s")
    return pickle.dumps(module)
