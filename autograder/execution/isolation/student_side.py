"""The student's side: runs the student's cells, and does with their work what the tests ask.

It is never sent a test, and sends nothing but data.
"""

import contextlib
import pickle
import signal
from collections.abc import Iterator
from dataclasses import replace
from io import BufferedRWPair
from pathlib import Path
from types import FrameType
from typing import Any

from torch import nn
from transformer_course.checks.student_lines import student_lines

from autograder.execution.isolation.framing import ChannelError
from autograder.execution.isolation.messages import (
    Answer,
    Ask,
    Begin,
    Describe,
    Described,
    Failed,
    Find,
    Lent,
    Line,
    Load,
    Module,
    Place,
    Raised,
    Run,
    State,
    Switch,
    Yours,
)
from autograder.execution.isolation.peer import SAID, Peer, signature
from autograder.execution.isolation.shell import Shell


class StudentSide(Peer):
    """Serves one submission's work over a stream, until the stream ends."""

    def __init__(self, stream: BufferedRWPair, limit: int, shell: Shell) -> None:
        super().__init__(stream, limit)
        self._shell = shell
        self._busy = False  # the student's code runs
        self._stopped = False  # it was to be stopped while it waited for the tests
        self._modules: dict[int, int] = {}  # numbers of what is offered, by identity
        self.handlers |= {
            Place: self._place,
            Run: lambda request: self._shell.run(request.source)[0],
            Begin: lambda _: self.begin(),
            Find: self._find,
            Describe: lambda request: self._described(self._offered[request.number]),
            Load: self._load,
            State: lambda request: dict(self._offered[request.number].state_dict()),
            Switch: self._switch,
        }
        self.decoders[Lent] = self._borrow

    def serve(self) -> None:
        """Answer requests until the channel ends."""
        signal.signal(signal.SIGINT, self._interrupt)
        while True:
            try:
                asked = self._receive()
                if not isinstance(asked, Ask):
                    raise ChannelError("an answer to nothing")
                self._stopped = False
                self._reply(asked)
            except ChannelError:
                return

    def answer(self, asked: Ask) -> Answer | Failed:
        """As any request, but Ctrl-C reaches what the student's code does, and nothing else."""
        with self._shell.overheard() as said:
            outer = self._busy
            try:
                self._busy = True
                answer = super().answer(asked)
            except KeyboardInterrupt as error:  # in the moment between the work and its answer
                answer = self._failed(error)
            finally:
                self._busy = outer
        return replace(answer, said=said.text()[:SAID])

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

    def _place(self, request: Place) -> None:
        for name, data in request.files.items():
            path = Path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def _find(self, request: Find) -> dict[str, Any]:
        namespace = self._shell.user_ns
        return {name: namespace[name] for name in request.names if name in namespace}

    def _load(self, request: Load) -> Described:
        self._offered[request.number].load_state_dict(request.state, strict=False)
        return self._described(self._offered[request.number])

    def _switch(self, request: Switch) -> Described:
        getattr(self._offered[request.number], request.to)()
        return self._described(self._offered[request.number])

    def encode_reference(self, value: Any) -> Any:
        """Modules cross with what they hold; the tests' own go home."""
        if not isinstance(value, nn.Module):
            return super().encode_reference(value)
        number = self.lent.number_of(value)
        if number is not None:
            return Yours(number)
        if id(value) not in self._modules:
            self._modules[id(value)] = self.offer(value)
        return Module(self._modules[id(value)], self._described(value))

    def _borrow(self, lent: Lent) -> nn.Module:
        """The tests may lend a module of torch's, as a pickle: they are not the ones to fear."""
        if lent.number not in self.lent.modules:
            self.lent.add(lent.number, pickle.loads(lent.pickle))
        return self.lent.modules[lent.number]

    def tell_error(self, error: BaseException) -> Raised:
        """With the student's lines that it passed through."""
        passed = student_lines(error, self._shell.user_ns)[-9:]
        lines = [Line(at.number, at.text, at.within, at.values) for at in passed]
        return replace(super().tell_error(error), lines=lines)

    def _described(self, module: nn.Module) -> Described:
        parameters = dict(module.named_parameters(remove_duplicate=False))
        found = {name: self.lent.parameter(weight) for name, weight in parameters.items()}
        borrowed = {name: position for name, position in found.items() if position}
        first = {weight: name for name, weight in reversed(parameters.items())}
        return Described(
            name=type(module).__name__,
            parameters={n: weight for n, weight in parameters.items() if n not in borrowed},
            borrowed=borrowed,
            frozen=[name for name, weight in parameters.items() if not weight.requires_grad],
            first={name: first[weight] for name, weight in parameters.items()},
            signature=signature(module.forward),
            training=bool(module.training),
        )
