"""The tests' side: stand-ins for the student's work, used by check cells like the real thing."""

import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from transformer_course.checks.failure import StudentLine

from autograder.execution.isolation.peer import SAID, Peer, RemoteFunction
from autograder.execution.isolation.wire import foreign


class TestSide(Peer):
    """Asks the student's side; gives check cells their stand-ins."""

    __test__ = False  # for pytest: the name begins like a test's

    def run(self, source: str) -> Any:
        """Run a cell of the student's; return its outputs, or what is said to be them."""
        return self.ask("run", source=source)

    def stand_ins(self, names: Iterable[str]) -> dict[str, Any]:
        """For a check that begins: what stands in here for each exercise that exists there."""
        self.begin()
        self.ask("begin")
        names = list(names)
        try:
            found = self.ask("find", names=names)
        except Exception:  # one of them cannot cross: the others should
            found = {}
            for name in names:
                found |= self._found_alone(name)
        if type(found) is not dict:
            raise TypeError("no exercises")
        return {name: found[name] for name in names if name in found}

    def _found_alone(self, name: str) -> dict[str, Any]:
        try:
            return dict(self.ask("find", names=[name]))
        except Exception:
            return {name: foreign("builtins", "value too large to be an answer")}

    def refer(self, value: Any) -> dict | None:
        """Modules of torch's are lent; the student's own go home."""
        if isinstance(value, RemoteModule):
            return {"kind": "yours", "number": value.number}
        if not isinstance(value, nn.Module):
            return super().refer(value)
        number = self.lent.number_of(value)
        if number is not None:
            return {"kind": "lent", "number": number, "pickle": b""}
        pickled = _pickled(value)
        number = self.offer(value)
        self.lent.add(number, value)
        return {"kind": "lent", "number": number, "pickle": pickled}

    def resolve(self, reference: dict) -> Any:
        """A module of the student's is mirrored."""
        if reference["kind"] == "module":
            return RemoteModule(self, reference)
        return super().resolve(reference)

    def error_of(self, told: dict) -> BaseException:
        """An exception of the same name, with the student's lines."""
        if told["type"] == "KeyboardInterrupt":
            return KeyboardInterrupt("the student's code took too long")
        error = super().error_of(told)
        lines = [(int(at["number"]), str(at["text"]), str(at["within"])) for at in told["lines"]]
        error.student_lines = [StudentLine(n, t[:99], w[:99]) for n, t, w in lines]  # type: ignore[attr-defined]
        return error

    def _receive(self) -> dict:
        """What the student's code printed is shown where it was called."""
        message = super()._receive()
        said = message.get("said")
        if type(said) is str:
            sys.stdout.write(said[:SAID])
        return message


class RemoteModule(nn.Module):
    """Stands in for a module of the student's; mirrors its parameters."""

    _weights: dict[str, Tensor]
    _unique: list[str]

    def __init__(self, side: TestSide, told: dict) -> None:
        super().__init__()
        self._side, self.number, self._name = side, told["number"], str(told["name"])[:99]
        self._weights = {}
        self._mirror(told)
        self.forward = RemoteMethod(side, self.number, told["signature"], self._handles)

    def named_parameters(self, *args: Any, remove_duplicate: bool = True, **kwargs: Any) -> Any:
        self._mirror(self._side.ask("describe", number=self.number))
        names = self._unique if remove_duplicate else list(self._weights)
        return iter([(name, self._weights[name]) for name in names])

    def parameters(self, recurse: bool = True) -> Iterator[Any]:
        return iter(self._handles())

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        return self._side.ask("state", number=self.number)

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> Any:
        self._mirror(self._side.ask("load", number=self.number, state=dict(state_dict)))

    def train(self, mode: bool = True) -> Any:
        return self._switched("train" if mode else "eval")

    def double(self) -> Any:
        return self._switched("double")

    def float(self) -> Any:
        return self._switched("float")

    def _get_name(self) -> str:
        return self._name

    def _handles(self) -> list[Tensor]:
        return [self._weights[name] for name in self._unique]

    def _switched(self, to: str) -> "RemoteModule":
        self._mirror(self._side.ask("switch", number=self.number, to=to))
        return self

    def _mirror(self, told: dict) -> None:
        """Hold what it holds, in the same tensors, so that gradients asked for find them."""
        weights: dict[str, Tensor] = {}
        for name, (number, own) in told["borrowed"].items():
            weights[name] = self._side.lent.modules[number].get_parameter(own)
        parameters: dict[str, Tensor] = told["parameters"]
        for name, value in parameters.items():
            mine = weights[name] = self._weights.get(name, value)
            if mine.shape == value.shape and mine.dtype == value.dtype:
                with torch.no_grad():
                    mine.copy_(value)
            else:
                mine.data = value
            mine.requires_grad_(name not in told["frozen"])
        self._weights = weights
        self._unique = [name for name in told["unique"] if name in weights]
        self.training = bool(told["training"])


class RemoteMethod(RemoteFunction):
    """A module's forward: gradients of its parameters flow through it too."""

    def __init__(
        self, side: TestSide, number: int, told: list, handles: Callable[[], list[Tensor]]
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
