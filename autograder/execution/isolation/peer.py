"""One end of the channel between tests and student: calls what the other has, is called back."""

import builtins
import contextlib
import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from io import BufferedRWPair
from itertools import count
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from autograder.execution.isolation.framing import ChannelError
from autograder.execution.isolation.gradients import Exchange, RemoteCall, leaves_of, with_tensors
from autograder.execution.isolation.messages import (
    REFERENCES,
    REQUESTS,
    Answer,
    Ask,
    Backward,
    Call,
    Called,
    Failed,
    Function,
    Generator,
    Raised,
    Request,
    Signature,
    Yours,
    read_answer,
    read_envelope,
    write_answer,
)
from autograder.execution.isolation.schema import from_plain, to_plain
from autograder.execution.isolation.shared_modules import SharedModules, same
from autograder.execution.isolation.wire import receive, send

SAID = 20_000  # characters of an error's message, or of what a call prints
NAME = 99  # characters of a type's name

T = TypeVar("T")


class OtherError(Exception):
    """An exception at the other end, of a type that is none of Python's own."""


class Peer:
    """Calls functions of the other end, gradients included, and serves its calls in between.

    Everything offered to the other end has a number there; a number that comes back stands for
    the object itself. The random state goes along with each call, and comes back; so does what
    the tests' modules hold that both ends have.
    """

    def __init__(self, stream: BufferedRWPair, limit: int) -> None:
        self._stream, self._limit = stream, limit
        self.lent = SharedModules()
        self._numbers = count()
        self._offered: dict[int, Any] = {}
        self._calls: dict[int, tuple[list[Tensor], list[Tensor]]] = {}  # outputs, sources
        self._forgotten: list[int] = []
        # the requests and references that this end accepts: all others are refused
        self.handlers: dict[type, Callable[[Any], Any]] = {
            Call: self._call,
            Backward: self._backward,
        }
        self.decoders: dict[type, Callable[[Any], Any]] = {
            Yours: lambda yours: self._offered[yours.number],
            Generator: _generator,
            Function: lambda told: RemoteFunction(self, told.number, told.signature),
        }

    def ask(self, request: Request[T]) -> T:
        """Send one request and return its answer; an exception there is raised here."""
        with self._undisturbed():
            forget, self._forgotten = self._forgotten, []
            self._send(Ask(REQUESTS.to_plain(request), forget))
            while isinstance(reply := self._receive(), Ask):
                self._reply(reply)
        if isinstance(reply, Failed):
            raise self.error_of(from_plain(Raised, reply.error))
        return read_answer(request, reply.answer)

    def call(self, number: int, args: tuple, kwargs: dict, weights: list[Tensor]) -> Any:
        """Call what has this number over there, so that gradients flow through the call."""
        exchange = Exchange(self, number, args, kwargs)
        leaves = list(leaves_of((args, kwargs)))
        for module in (leaf for leaf in leaves if isinstance(leaf, nn.Module)):
            weights = [*weights, *module.parameters()]
        parts = RemoteCall.apply(exchange, *exchange.tensors, *weights)
        called = exchange.called
        for i, value in called.changed.items():
            tensor = exchange.tensors[i].data
            if tensor.shape == value.shape:
                tensor.copy_(value)
            else:  # transposed in place, say
                exchange.tensors[i].data = value
        generators = [leaf for leaf in leaves if isinstance(leaf, torch.Generator)]
        for generator, state in zip(generators, called.generators, strict=True):
            generator.set_state(state)
        return with_tensors(called.result, iter(parts))

    def forget(self, call: int | None) -> None:
        """Nobody can ask for this call's gradients any more."""
        self._forgotten.append(call) if call else None

    # --- what the other end asks for --------------------------------------------------------

    def _call(self, request: Call) -> Called:
        """Call what was offered under this number."""
        work = self._offered[request.number]
        leaves = list(leaves_of((request.args, request.kwargs)))
        inputs = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        for tensor, wants in zip(inputs, request.needs, strict=True):
            tensor.requires_grad_(wants)
        before = [tensor.detach().clone() for tensor in inputs]
        torch.set_rng_state(request.random)
        # this end may be in the midst of an operation of autograd, where they are off
        with torch.set_grad_enabled(request.with_gradients):
            result = work(*request.args, **request.kwargs)
        pairs = enumerate(zip(inputs, before, strict=True))
        outputs = [leaf for leaf in leaves_of(result) if isinstance(leaf, Tensor)]
        requires = [part.requires_grad for part in outputs]
        parts = [part for part in (work, *leaves) if isinstance(part, nn.Module)]
        return Called(
            result=result,
            requires=requires,
            call=self._remember(outputs, inputs, parts) if any(requires) else None,
            changed={i: now for i, (now, old) in pairs if not same(now.detach(), old)},
            generators=[g.get_state() for g in leaves if isinstance(g, torch.Generator)],
            random=torch.get_rng_state(),
        )

    def _backward(self, request: Backward) -> list[Tensor | None]:
        if request.call is None:
            raise ValueError("a call without gradients")
        outputs, sources = self._calls[request.call]
        pairs = [(o, s) for o, s in zip(outputs, request.slopes, strict=True) if o.requires_grad]
        # a parameter that came along twice has one gradient
        wanted = {id(source): source for source in sources if source.requires_grad}
        ends, starts = zip(*pairs, strict=True)
        found = torch.autograd.grad(
            ends, list(wanted.values()), starts, retain_graph=True, allow_unused=True
        )
        slope = dict(zip(wanted, found, strict=True))
        return [slope.pop(id(source), None) for source in sources]

    def _remember(self, outputs: list, inputs: list, modules: list[nn.Module]) -> int:
        number = next(self._numbers) + 1
        weights = [weight for module in modules for weight in module.parameters()]
        self._calls[number] = outputs, inputs + weights
        return number

    # --- for the two ends -----------------------------------------------------------------

    def offer(self, thing: Any) -> int:
        """The number under which the other end may call this; no number is given twice."""
        number = next(self._numbers)
        self._offered[number] = thing
        return number

    def begin(self) -> None:
        """Forget what a check that is over has offered, lent and called."""
        for kept in (self._offered, self._calls, self.lent):
            kept.clear()

    def encode_reference(self, value: Any) -> Any:
        """The reference that crosses in place of a value; None if there is none."""
        if isinstance(value, RemoteFunction):
            return Yours(value.number)
        if isinstance(value, torch.Generator):
            return Generator(value.get_state())
        return Function(self.offer(value), signature(value)) if callable(value) else None

    def decode_reference(self, told: dict) -> Any:
        """What a reference of the other end's means here."""
        reference = REFERENCES.from_plain(told)
        if type(reference) not in self.decoders:
            raise ValueError(f"no {type(reference).__name__} comes from that side")
        return self.decoders[type(reference)](reference)

    def tell_error(self, error: BaseException) -> Raised:
        """What the other end learns of an exception here."""
        kind = next(base for base in type(error).__mro__ if base.__module__ == "builtins")
        try:
            message = str(error)[:SAID]
        except BaseException as another:  # of the student's own `__str__`
            message = type(another).__name__
        return Raised(type(error).__name__, kind.__name__, message, [])

    def error_of(self, told: Raised) -> BaseException:
        """The exception raised here for one over there."""
        name, message = told.type[:NAME], told.message[:SAID]
        base = getattr(builtins, told.kind, None)
        if not (isinstance(base, type) and issubclass(base, Exception)):
            base = Exception
        own = base if name == base.__name__ else type(name, (OtherError, base), {})
        try:
            return own(message)
        except TypeError:  # some of Python's own want more than a message
            return type(name, (OtherError,), {})(message)

    def answer(self, asked: Ask) -> Answer | Failed:
        """Do what is asked for; an exception is told, not raised."""
        try:
            for call in asked.forget:
                self._calls.pop(call, None)
            request = REQUESTS.from_plain(asked.request)
            if type(request) not in self.handlers:
                raise ValueError(f"{type(request).__name__} is not asked of this side")
            return Answer(write_answer(request, self.handlers[type(request)](request)), said="")
        except ChannelError:
            raise
        except BaseException as error:  # SystemExit and Ctrl-C end no more than the request
            return self._failed(error)

    def _failed(self, error: BaseException) -> Failed:
        return Failed(to_plain(self.tell_error(error)), said="")

    def _reply(self, asked: Ask) -> None:
        """Answer one request, if only to say that its result cannot cross."""
        answer = self.answer(asked)
        try:
            self._send(answer)
        except Exception as error:
            self._send(self._failed(error))

    def _undisturbed(self) -> AbstractContextManager:
        """What is around an exchange of messages, which must be complete."""
        return contextlib.nullcontext()

    def _send(self, envelope: Ask | Answer | Failed) -> None:
        told = to_plain(replace(envelope, lent=self.lent.diff()))
        try:
            send(self._stream, told, self._limit, self._plain_reference)
        except OSError as error:
            raise ChannelError(f"the channel broke: {error}") from None

    def _plain_reference(self, value: Any) -> dict | None:
        reference = self.encode_reference(value)
        return None if reference is None else REFERENCES.to_plain(reference)

    def _receive(self) -> Ask | Answer | Failed:
        told = receive(self._stream, self._limit, self.decode_reference)
        try:
            envelope = read_envelope(told)
            self.lent.apply(envelope.lent)
        except Exception as error:  # it holds what none of ours does
            raise ChannelError(f"no message: {error}") from None
        return envelope


class RemoteFunction:
    """The proxy of something callable at the other end."""

    def __init__(self, peer: Peer, number: int, told: Signature) -> None:
        self._peer, self.number = peer, number
        if told is not None:
            self.__signature__ = inspect.Signature(
                [
                    inspect.Parameter(
                        name,
                        inspect._ParameterKind(kind),
                        default=None if has else inspect.Parameter.empty,
                    )
                    for name, kind, has in told
                ]
            )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._peer.call(self.number, args, kwargs, [])


def signature(work: Callable[..., Any]) -> Signature:
    """A callable's parameters as data."""
    try:
        parameters = inspect.signature(work).parameters.values()
    except (TypeError, ValueError):
        return None
    return [(p.name, p.kind.value, p.default is not p.empty) for p in parameters]


def _generator(told: Generator) -> torch.Generator:
    generator = torch.Generator()
    generator.set_state(told.state)
    return generator
