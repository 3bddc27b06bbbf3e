"""A call of the other end as one operation of autograd: its backward pass is asked for over there.

`torch.func` transforms it too: a student may well write `jacrev(attend)(x)`.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from autograder.execution.isolation.messages import Backward, Call
from autograder.execution.isolation.wire import MOST, RESULT, TOO_MANY, contents


class Exchange:
    """One call: what is asked, and what is answered; gradients may be asked for while it lives."""

    def __init__(self, peer: Any, number: int, args: tuple, kwargs: dict) -> None:
        self.peer, self.number, self.inputs = peer, number, (args, kwargs)
        leaves = list(leaves_of(self.inputs))
        if any(isinstance(leaf, (list, tuple, dict)) for leaf in leaves):
            raise ValueError("an argument is nested too deeply")
        self.tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        self.with_gradients = torch.is_grad_enabled()  # inside of an operation it never is
        self.called: Any = None  # a message `Called`, once there is an answer
        self.have_slopes: list[bool] = []  # which inputs and weights have a gradient

    def ask(self, tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Call with these tensors; return those of the result."""
        args, kwargs = with_tensors(self.inputs, iter(tensors))
        pairs = zip(self.tensors, tensors, strict=True)
        # under a transform, this tensor wraps the one that the caller has
        needs = [t.requires_grad or (own is not t and t.is_floating_point()) for own, t in pairs]
        self.called = self.peer.ask(
            Call(
                number=self.number,
                args=args,
                kwargs=kwargs,
                needs=needs,
                with_gradients=self.with_gradients,
                random=torch.get_rng_state(),
            )
        )
        torch.set_rng_state(self.called.random)
        return tuple(leaf for leaf in leaves_of(self.called.result) if isinstance(leaf, Tensor))

    def slopes(self, slopes: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """The gradients of those inputs and weights that have one, given those of the outputs."""
        found = self.peer.ask(Backward(self.called.call, list(slopes)))
        self.have_slopes = [slope is not None for slope in found]
        return tuple(slope for slope in found if slope is not None)

    def __del__(self) -> None:
        if self.called:
            self.peer.forget(self.called.call)


class RemoteCall(torch.autograd.Function):
    """A call whose backward pass the other end does."""

    @staticmethod
    def forward(exchange: Exchange, *sources: Tensor) -> tuple[Tensor, ...]:
        return exchange.ask(sources[: len(exchange.tensors)])

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: tuple[Tensor, ...]) -> None:
        ctx.exchange = inputs[0]
        # as a local call keeps what its gradient needs, until the graph is freed
        ctx.save_for_backward(torch.empty(0))
        pairs = zip(output, ctx.exchange.called.requires, strict=True)
        ctx.mark_non_differentiable(*[part for part, requires in pairs if not requires])

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> Any:
        _ = ctx.saved_tensors  # raises where the graph was freed
        found = iter(_Backward.apply(ctx.exchange, *slopes))
        return (None, *[next(found) if has else None for has in ctx.exchange.have_slopes])

    @staticmethod
    def vmap(info: Any, in_dims: tuple, *inputs: Any) -> Any:
        exchange, *sources = inputs

        def one(*part: Tensor) -> tuple[Tensor, ...]:
            single = Exchange(exchange.peer, exchange.number, *exchange.inputs)
            single.with_gradients = exchange.with_gradients
            parts = RemoteCall.apply(single, *part)
            exchange.called = replace(single.called, call=None, changed={})
            return parts

        return _each(one, info.batch_size, in_dims[1:], sources)


class _Backward(torch.autograd.Function):
    """The backward pass of a call."""

    @staticmethod
    def forward(exchange: Exchange, *slopes: Tensor) -> tuple[Tensor, ...]:
        return exchange.slopes(slopes)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        """Nothing is kept: a gradient of the gradient cannot be asked for."""

    @staticmethod
    def vmap(info: Any, in_dims: tuple, *inputs: Any) -> Any:
        exchange, *slopes = inputs

        def one(*part: Tensor) -> tuple[Tensor, ...]:
            return _Backward.apply(exchange, *part)

        return _each(one, info.batch_size, in_dims[1:], slopes)


def _each(
    work: Callable[..., tuple[Tensor, ...]], count: int, dims: tuple, tensors: list[Tensor]
) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
    """One call after the other for a batch; the results stacked, and the dimension of the batch."""
    pairs = list(zip(tensors, dims, strict=True))
    results = [work(*[t if d is None else t.select(d, i) for t, d in pairs]) for i in range(count)]
    stacked = tuple(torch.stack(parts) for parts in zip(*results, strict=True))
    return stacked, (0,) * len(stacked)


def leaves_of(value: Any) -> Iterator[Any]:
    """The leaves of a value, as deep as a result may be nested; what is deeper is one of them."""
    waiting, seen = [(value, 0)], 0
    while waiting:
        value, depth = waiting.pop()
        seen += 1
        if seen + len(waiting) > MOST:  # a list that holds itself twice, say
            raise ValueError(TOO_MANY)
        if isinstance(value, (list, tuple, dict)) and depth < RESULT:
            inside = contents(value)
            items = [pair[1] for pair in inside] if isinstance(value, dict) else inside
            waiting.extend((item, depth + 1) for item in reversed(items))
        else:
            yield value


def with_tensors(value: Any, tensors: Iterator[Tensor], depth: int = 0) -> Any:
    """The value with other tensors in place of its own, in the order of `leaves_of`."""
    if isinstance(value, torch.Size):
        return value
    if isinstance(value, (list, tuple)) and depth < RESULT:
        parts = [with_tensors(item, tensors, depth + 1) for item in contents(value)]
        return parts if isinstance(value, list) else tuple(parts)
    if isinstance(value, dict) and depth < RESULT:
        return {key: with_tensors(item, tensors, depth + 1) for key, item in contents(value)}
    return next(tensors) if isinstance(value, Tensor) else value
