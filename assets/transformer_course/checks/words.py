"""Calls, values and shapes in the words of a message; and answers that a message must not show."""

import hashlib
import inspect
from collections.abc import Callable
from typing import Any

from torch import Tensor


def named(work: Callable[..., Any], args: Any, kwargs: Any) -> dict[str, Any]:
    """The arguments by the names that the student gave them."""
    # a module's call takes anything; its forward says what
    work = work if isinstance(work, type) else getattr(work, "forward", work)
    try:
        return dict(inspect.signature(work).bind(*args, **kwargs).arguments)
    except (TypeError, ValueError):  # a call that will fail, or a function without a signature
        return {f"argument {i}": value for i, value in enumerate(args)} | kwargs


def listed(inputs: dict[str, Any]) -> str:
    """Arguments as a call shows them, tensors by their shape."""
    return ", ".join(f"{name}: {brief(value)}" for name, value in inputs.items())


def brief(value: Any) -> str:
    """A value, or the shape of a tensor."""
    return f"tensor {tuple(value.shape)}" if isinstance(value, Tensor) else repr(value)


def kind(value: Any) -> str:
    """The name of a value's type."""
    return f"{type(value).__module__}.{type(value).__name__}".removeprefix("builtins.")


def entry(tensor: Tensor, at: list[int]) -> str:
    """One number of a tensor and its place."""
    return f"{tensor[tuple(at)].item():.6g} at {at}" if at else f"{tensor.item():.6g}"


def table(shapes: dict[str, tuple[int, ...]]) -> str:
    """Named shapes, one a line."""
    return "\n".join(f"{name} {shape}" for name, shape in shapes.items()) or "none"


def seal(answer: Tensor) -> str:
    """A numeric answer as a digest, so that a check can recognise what it does not show."""
    rounded = " ".join(f"{round(number, 2) + 0.0:.2f}" for number in answer.tolist())
    return hashlib.sha256(rounded.encode()).hexdigest()[:16]
