"""One end of the channel between tests and student: calls what the other has, is called back."""

import builtins
import contextlib
import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from io import BufferedRWPair
from itertools import count
from typing import Any

import torch
from torch import Tensor, nn

from autograder.execution.isolation.gradients import Call, Exchange, leaves_of, with_tensors
from autograder.execution.isolation.shared_modules import SharedModules, same
from autograder.execution.isolation.wire import ChannelError, receive, send

SAID = 20_000  # characters of an error's message, or of what a call prints


class OtherError(Exception):
    """An exception at the other end, of a type that is none of Python's own."""


class Peer:
    """Calls functions of the other end, gradients included, and serves its calls in between.

    What it offers has a number over there; a number that comes back is the thing itself again.
    The random state goes along with each call, and comes back; so does what the tests' modules
    hold that both ends have.
    """

    def __init__(self, stream: BufferedRWPair, limit: int) -> None:
        self._stream, self._limit = stream, limit
        self.lent = SharedModules()
        self._numbers = count()
        self._offered: dict[int, Any] = {}
        self._calls: dict[int, tuple[list[Tensor], list[Tensor]]] = {}  # outputs, sources
        self._forgotten: list[int] = []

    def ask(self, do: str, **arguments: Any) -> Any:
        """One request and its answer; an exception there is one here."""
        with self._undisturbed():
            forget, self._forgotten = self._forgotten, []
            self._send({"do": do, "with": arguments, "forget": forget})
            while "do" in (message := self._receive()):
                self._reply(message)
        if "error" in message:
            raise self.error_of(message["error"])
        return message["answer"]

    def call(self, number: int, args: tuple, kwargs: dict, weights: list[Tensor]) -> Any:
        """Call what has this number over there, so that gradients flow through the call."""
        exchange = Exchange(self, number, args, kwargs)
        leaves = list(leaves_of((args, kwargs)))
        for module in (leaf for leaf in leaves if isinstance(leaf, nn.Module)):
            weights = [*weights, *module.parameters()]
        parts = Call.apply(exchange, *exchange.tensors, *weights)
        answer = exchange.answer
        for i, value in answer["changed"].items():
            exchange.tensors[i].data.copy_(value)
        generators = [leaf for leaf in leaves if isinstance(leaf, torch.Generator)]
        for generator, state in zip(generators, answer["generators"], strict=True):
            generator.set_state(state)
        return with_tensors(answer["result"], iter(parts))

    def forget(self, call: int | None) -> None:
        """Nobody can ask for this call's gradients any more."""
        self._forgotten.append(call) if call else None

    # --- what the other end asks for --------------------------------------------------------

    def do_call(
        self,
        number: int,
        args: tuple,
        kwargs: dict,
        needs: list,
        with_gradients: bool,
        random: Tensor,
    ) -> dict:
        """Call what was offered under this number; `needs`: which inputs want gradients.

        `with_gradients`: whether they are on where the call was made.
        """
        work = self._offered[number]
        leaves = list(leaves_of((args, kwargs)))
        inputs = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        for tensor, wants in zip(inputs, needs, strict=True):
            tensor.requires_grad_(wants)
        before = [tensor.detach().clone() for tensor in inputs]
        torch.set_rng_state(random)
        # this end may be in the midst of an operation of autograd, where they are off
        with torch.set_grad_enabled(with_gradients is True):
            result = work(*args, **kwargs)
        pairs = enumerate(zip(inputs, before, strict=True))
        outputs = [leaf for leaf in leaves_of(result) if isinstance(leaf, Tensor)]
        requires = [part.requires_grad for part in outputs]
        parts = [part for part in (work, *leaves) if isinstance(part, nn.Module)]
        return {
            "result": result,
            "requires": requires,
            "call": self._remember(outputs, inputs, parts) if any(requires) else None,
            "changed": {i: now for i, (now, old) in pairs if not same(now.detach(), old)},
            "generators": [g.get_state() for g in leaves if isinstance(g, torch.Generator)],
            "random": torch.get_rng_state(),
        }

    def do_backward(self, call: int, slopes: list) -> list:
        """The gradients of a call's inputs and parameters, given those of its outputs."""
        outputs, sources = self._calls[call]
        pairs = [(o, s) for o, s in zip(outputs, slopes, strict=True) if o.requires_grad]
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

    def refer(self, value: Any) -> dict | None:
        """The reference that crosses in place of what cannot."""
        if isinstance(value, RemoteFunction):
            return {"kind": "yours", "number": value.number}
        if isinstance(value, torch.Generator):
            return {"kind": "generator", "state": value.get_state()}
        if callable(value):
            return {"kind": "function", "number": self.offer(value), "signature": signature(value)}
        return None

    def resolve(self, reference: dict) -> Any:
        """What a reference of the other end's means here."""
        kind = reference["kind"]
        if kind == "yours":
            return self._offered[reference["number"]]
        if kind == "generator":
            generator = torch.Generator()
            generator.set_state(reference["state"])
            return generator
        if kind == "function":
            return RemoteFunction(self, reference["number"], reference["signature"])
        raise ValueError(f"an unknown kind {kind!r}")

    def tell_error(self, error: BaseException) -> dict:
        """What the other end learns of an exception here; `kind`: what it is of Python's own."""
        kind = next(base for base in type(error).__mro__ if base.__module__ == "builtins")
        told = {"type": type(error).__name__, "kind": kind.__name__}
        try:
            return told | {"message": str(error)[:SAID]}
        except BaseException as another:  # of the student's own `__str__`
            return told | {"message": type(another).__name__}

    def error_of(self, told: dict) -> BaseException:
        """The exception that stands here for one over there."""
        name, message = str(told["type"])[:99], str(told["message"])[:SAID]
        base = getattr(builtins, str(told["kind"]), None)
        if not (isinstance(base, type) and issubclass(base, Exception)):
            base = Exception
        own = base if name == base.__name__ else type(name, (OtherError, base), {})
        try:
            return own(message)
        except TypeError:  # some of Python's own want more than a message
            return type(name, (OtherError,), {})(message)

    def answer(self, request: dict) -> dict:
        """Do what is asked for; an exception is told, not raised."""
        try:
            for call in request["forget"]:
                self._calls.pop(call, None)
            return {"answer": getattr(self, f"do_{request['do']}")(**request["with"])}
        except ChannelError:
            raise
        except BaseException as error:  # SystemExit and Ctrl-C end no more than the request
            return {"error": self.tell_error(error)}

    def _reply(self, request: dict) -> None:
        """Answer one request, if only to say that its result cannot cross."""
        answer = self.answer(request)
        try:
            self._send(answer)
        except Exception as error:
            self._send({"error": self.tell_error(error)})

    def _undisturbed(self) -> AbstractContextManager:
        """What is around an exchange of messages, which must be complete."""
        return contextlib.nullcontext()

    def _send(self, message: dict) -> None:
        try:
            send(self._stream, message | {"lent": self.lent.news()}, self._limit, self.refer)
        except OSError as error:
            raise ChannelError(f"the channel broke: {error}") from None

    def _receive(self) -> dict:
        message = receive(self._stream, self._limit, self.resolve)
        try:
            if len(message.keys() & {"do", "answer", "error"}) != 1:
                raise ValueError("neither a request nor an answer")
            self.lent.hear(message["lent"])
        except Exception as error:  # it holds what none of ours does
            raise ChannelError(f"no message: {error}") from None
        return message


class RemoteFunction:
    """Stands in for something callable at the other end."""

    def __init__(self, peer: Peer, number: int, told: list | None) -> None:
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


def signature(work: Callable[..., Any]) -> list[list] | None:
    """A callable's parameters as data: name, kind, whether it has a default."""
    try:
        parameters = inspect.signature(work).parameters.values()
    except (TypeError, ValueError):
        return None
    return [[p.name, p.kind.value, p.default is not p.empty] for p in parameters]
