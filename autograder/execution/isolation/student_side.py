"""The student's side: runs the student's cells, and does with their work what the tests ask.

It is never sent a test, and sends nothing but data.
"""

import contextlib
import dataclasses
import pickle
import signal
from collections.abc import Iterator
from io import BufferedRWPair
from pathlib import Path
from types import FrameType
from typing import Any

from torch import nn
from transformer_course.checks.failure import student_lines

from autograder.execution.isolation.peer import SAID, Peer, signature
from autograder.execution.isolation.shell import Shell
from autograder.execution.isolation.wire import ChannelError


class StudentSide(Peer):
    """Serves one submission's work over a stream, until the stream ends."""

    def __init__(self, stream: BufferedRWPair, limit: int, shell: Shell) -> None:
        super().__init__(stream, limit)
        self._shell = shell
        self._busy = False  # the student's code runs
        self._stopped = False  # it was to be stopped while it waited for the tests
        self._modules: dict[int, int] = {}  # what is offered, by its identity

    def serve(self) -> None:
        """Answer requests: each names one of the methods below and its arguments."""
        signal.signal(signal.SIGINT, self._interrupt)
        while True:
            try:
                request = self._receive()
                self._stopped = False
                self._reply(request)
            except ChannelError:
                return

    def answer(self, request: dict) -> dict:
        """As any request, but Ctrl-C reaches what the student's code does, and nothing else."""
        with self._shell.overheard() as said:
            outer = self._busy
            try:
                self._busy = True
                answer = super().answer(request)
            except KeyboardInterrupt as error:  # in the moment between the work and its answer
                answer = {"error": self.tell_error(error)}
            finally:
                self._busy = outer
        return answer | {"said": said.text()[:SAID]}

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        # in `answer` itself there is nothing to stop, and half a message would be none
        if self._busy and frame and frame.f_code is not StudentSide.answer.__code__:
            raise KeyboardInterrupt
        self._stopped = True

    @contextlib.contextmanager
    def _undisturbed(self) -> Iterator[None]:
        outer, self._busy = self._busy, False
        try:
            yield
        finally:
            self._busy = outer
            if self._stopped and outer:
                self._stopped = False
                raise KeyboardInterrupt

    def begin(self) -> None:
        super().begin()
        self._modules.clear()

    def do_place(self, files: dict[str, bytes]) -> None:
        """Put what was handed in beside the notebook into the working folder."""
        for name, data in files.items():
            path = Path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def do_run(self, source: str) -> list[dict]:
        """Run a cell of the student's; return its outputs as a notebook has them."""
        return self._shell.run(source)[0]

    def do_begin(self) -> None:
        """Another check begins."""
        self.begin()

    def do_find(self, names: list[str]) -> dict[str, Any]:
        """The exercises that exist."""
        namespace = self._shell.user_ns
        return {name: namespace[name] for name in names if name in namespace}

    def do_describe(self, number: int) -> dict:
        """What there is to know of a module of the student's."""
        return self._described(self._offered[number])

    def do_load(self, number: int, state: dict) -> dict:
        """Load some of a module's parameters."""
        self._offered[number].load_state_dict(state, strict=False)
        return self._described(self._offered[number])

    def do_state(self, number: int) -> dict:
        """The parameters and buffers of a module."""
        return dict(self._offered[number].state_dict())

    def do_switch(self, number: int, to: str) -> dict:
        """Switch a module: `train`, `eval`, `double`, `float`."""
        if to not in ("train", "eval", "double", "float"):
            raise ValueError(to)
        getattr(self._offered[number], to)()
        return self._described(self._offered[number])

    def refer(self, value: Any) -> dict | None:
        """Modules cross with what they hold; the tests' own go home."""
        if not isinstance(value, nn.Module):
            return super().refer(value)
        number = self.lent.number_of(value)
        if number is not None:
            return {"kind": "yours", "number": number}
        if id(value) not in self._modules:
            self._modules[id(value)] = self.offer(value)
        return {"kind": "module", "number": self._modules[id(value)]} | self._described(value)

    def resolve(self, reference: dict) -> Any:
        """The tests may lend a module of torch's, as a pickle: they are not the ones to fear."""
        if reference["kind"] != "lent":
            return super().resolve(reference)
        number = reference["number"]
        if number not in self.lent.modules:
            self.lent.add(number, pickle.loads(reference["pickle"]))
        return self.lent.modules[number]

    def tell_error(self, error: BaseException) -> dict:
        """With the student's lines that it passed through."""
        lines = [dataclasses.asdict(line) for line in student_lines(error, self._shell.user_ns)]
        return super().tell_error(error) | {"lines": lines[-9:]}

    def _described(self, module: nn.Module) -> dict:
        """What the tests' stand-in for a module mirrors; `borrowed`: the tests' own parameters."""
        parameters = dict(module.named_parameters(remove_duplicate=False))
        found = {name: self.lent.parameter(weight) for name, weight in parameters.items()}
        borrowed = {name: place for name, place in found.items() if place}
        return {
            "name": type(module).__name__,
            "parameters": {n: weight for n, weight in parameters.items() if n not in borrowed},
            "borrowed": borrowed,
            "frozen": [name for name, weight in parameters.items() if not weight.requires_grad],
            "unique": [name for name, _ in module.named_parameters()],
            "signature": signature(module.forward),
            "training": module.training,
        }
