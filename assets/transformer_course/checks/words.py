"""Calls, values and shapes in the words of a message; and answers that a message must not show."""

import hashlib
import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

WHOLE = 12  # a tensor with no more numbers is shown whole
SHOWN = 3  # differing numbers that are shown of a larger one


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
    """A value, a small tensor's numbers, or the shape of a larger one."""
    if not isinstance(value, Tensor):
        return repr(value)
    if not _small(value):
        return f"tensor {tuple(value.shape)}"
    rows = [f"[{_row(row, 4)}]" for row in _rows(value)]
    return rows[0] if value.dim() == 1 else f"[{', '.join(rows)}]"


def contrast(expected: Tensor, actual: Tensor, different: Tensor) -> dict[str, str]:
    """Two tensors side by side, with as many figures as it takes to tell them apart."""
    pairs = list(zip(expected[different].tolist(), actual[different].tolist(), strict=True))
    figures = next(
        (f for f in range(4, 17) if all(f"{e:.{f}g}" != f"{a:.{f}g}" for e, a in pairs)), 17
    )
    if _small(expected):
        told = ["\n".join(_row(row, figures) for row in _rows(t)) for t in (expected, actual)]
    else:
        places = different.nonzero()[:SHOWN].tolist()
        told = [
            "\n".join(f"{t[tuple(at)].item():.{figures}g} at {at}" for at in places)
            for t in (expected, actual)
        ]
    counted = f"{len(pairs)} of {expected.numel()} numbers"
    return {"expected": told[0], "got": told[1], "differing": counted}


def _small(tensor: Tensor) -> bool:
    return tensor.dim() <= 2 and 0 < tensor.numel() <= WHOLE


def _rows(tensor: Tensor) -> list[list[float]]:
    return torch.atleast_2d(tensor.detach()).tolist()


def _row(numbers: list[float], figures: int) -> str:
    return ", ".join(f"{number:.{figures}g}" for number in numbers)


def kind(value: Any) -> str:
    """The name of a value's type."""
    return f"{type(value).__module__}.{type(value).__name__}".removeprefix("builtins.")


def table(shapes: dict[str, tuple[int, ...]]) -> str:
    """Named shapes, one a line."""
    return "\n".join(f"{name} {shape}" for name, shape in shapes.items()) or "none"


def seal(answer: Tensor) -> str:
    """A numeric answer as a digest, so that a check can recognise what it does not show."""
    rounded = " ".join(f"{round(number, 2) + 0.0:.2f}" for number in answer.tolist())
    return hashlib.sha256(rounded.encode()).hexdigest()[:16]
