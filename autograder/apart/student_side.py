"""The student's side: runs the student's cells, and does with their work what the tests ask.

It is never sent a test, and sends nothing but data.
"""

import contextlib
import dataclasses
import inspect
import io
import linecache
from io import BufferedRWPair
from typing import Any

import torch
from torch import Tensor, nn
from transformer_course.checks.failure import student_lines

from autograder.apart.wire import ChannelError, receive, send


class StudentSide:
    """Serves one submission's work over a stream, until the stream ends."""

    def __init__(self, stream: BufferedRWPair, limit: int) -> None:
        self._stream, self._limit = stream, limit
        self._namespace: dict[str, Any] = {"__name__": "__main__"}
        self._modules: list[nn.Module] = []
        self._calls: list[tuple[list[Tensor], list[Tensor]]] = []  # outputs, sources

    def serve(self) -> None:
        """Answer requests: each names one of the methods below and its arguments."""
        while True:
            try:
                request = receive(self._stream, self._limit)
            except ChannelError:
                return
            try:
                answer = getattr(self, f"do_{request['do']}")(**request["with"])
            except Exception as error:
                answer = {"error": self._told(error)}
            send(self._stream, answer, self._limit)

    def do_run(self, source: str, name: str) -> dict:
        """Run a cell of the student's."""
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            exec(compile(source, name, "exec"), self._namespace)
        return {"said": said.getvalue()}

    def do_find(self, name: str) -> dict:
        """What kind of thing an exercise's name is."""
        if name not in self._namespace:
            return {"kind": "missing"}
        work = self._namespace[name]
        if not callable(work):
            return {"kind": "value", "value": work}
        return {"kind": "callable", "signature": _signature(work)}

    def do_call(
        self, name: str, module: int, args: tuple, kwargs: dict, needs: list, random: Tensor
    ) -> dict:
        """Call a function, a class or a module; `needs` says which inputs want gradients."""
        work = self._modules[module] if module >= 0 else self._namespace[name]
        inputs = [a for a in (*args, *kwargs.values()) if isinstance(a, Tensor)]
        for tensor, wants in zip(inputs, needs, strict=True):
            tensor.requires_grad_(wants)
        before = [tensor.detach().clone() for tensor in inputs]
        torch.set_rng_state(random)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            result = work(*args, **kwargs)
        changed = {
            str(i): tensor
            for i, (tensor, copy) in enumerate(zip(inputs, before, strict=True))
            if not torch.equal(tensor.detach().nan_to_num(), copy.nan_to_num())
        }
        answer = {"changed": changed, "random": torch.get_rng_state()}
        if isinstance(result, nn.Module):
            self._modules.append(result)
            return answer | {"module": len(self._modules) - 1, **self._described(result)}
        outputs = [p for p in _items(result) if isinstance(p, Tensor)]
        parameters = list(work.parameters()) if isinstance(work, nn.Module) else []
        self._calls.append((outputs, inputs + parameters))
        requires = [part.requires_grad for part in outputs]
        return answer | {"result": result, "requires": requires, "call": len(self._calls) - 1}

    def do_backward(self, call: int, slopes: list) -> dict:
        """The gradients of a call's inputs and parameters, given those of its outputs."""
        outputs, sources = self._calls[call]
        pairs = [(o, s) for o, s in zip(outputs, slopes, strict=True) if o.requires_grad]
        wanted = [source for source in sources if source.requires_grad]
        found = iter(
            torch.autograd.grad(
                [o for o, _ in pairs],
                wanted,
                [s for _, s in pairs],
                retain_graph=True,
                allow_unused=True,
            )
        )
        return {"slopes": [next(found) if s.requires_grad else None for s in sources]}

    def do_state(self, module: int) -> dict:
        """The parameters and buffers of a module."""
        return {"state": dict(self._modules[module].state_dict())}

    def do_load(self, module: int, state: dict) -> dict:
        """Load some of a module's parameters."""
        self._modules[module].load_state_dict(state, strict=False)
        return self._described(self._modules[module])

    def do_switch(self, module: int, to: str) -> dict:
        """Switch a module: `train`, `eval`, `double`, `float`."""
        if to not in ("train", "eval", "double", "float"):
            raise ValueError(to)
        getattr(self._modules[module], to)()
        return self._described(self._modules[module])

    def _described(self, module: nn.Module) -> dict:
        parameters = dict(module.named_parameters(remove_duplicate=False))
        unique = [name for name, _ in module.named_parameters()]
        methods = [name for name in vars(type(module)) if not name.startswith("_")]
        has_forward = type(module).forward is not nn.Module.forward
        return {
            "parameters": parameters,
            "unique": unique,
            "methods": methods,
            "signature": _signature(module.forward) if has_forward else None,
        }

    def _told(self, error: Exception) -> dict:
        lines = [dataclasses.asdict(line) for line in student_lines(error, self._namespace)]
        return {"type": type(error).__name__, "message": str(error), "lines": lines}


def _items(result: Any) -> list:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def _signature(work: Any) -> list[list] | None:
    try:
        parameters = inspect.signature(work).parameters.values()
    except (TypeError, ValueError):
        return None
    return [[p.name, p.kind.value, p.default is not p.empty] for p in parameters]
