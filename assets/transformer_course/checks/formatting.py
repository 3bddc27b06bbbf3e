"""Calls, values and shapes in the words of a message; and answers that a message must not show."""

import hashlib
import inspect
import re
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from transformer_course.failure import TEXT_WIDTH

WHOLE = 12  # a tensor with no more numbers is shown whole
SHOWN = 3  # differing numbers that are shown of a larger one
LONG = 200  # characters of what is no tensor


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


def tensors(inputs: dict[str, Any]) -> dict[str, Tensor]:
    """The tensors among inputs, those in lists too, by what the student calls them."""
    found: dict[str, Tensor] = {}
    for name, value in inputs.items():
        if isinstance(value, Tensor):
            found[name] = value
        elif isinstance(value, (list, tuple)):
            found |= tensors({f"{name}[{i}]": item for i, item in enumerate(value)})
        elif isinstance(value, dict):
            found |= tensors({f"{name}[{key!r}]": item for key, item in value.items()})
    return found


def tensor(value: Tensor | float) -> Tensor:
    """A tensor as it is, a number as a tensor that keeps all its digits."""
    if isinstance(value, Tensor):
        return value
    return torch.tensor(value, dtype=torch.float64 if isinstance(value, float) else None)


def are_plain(actual: Any, expected: Any) -> bool:
    """Whether two values are compared as plain ones: no tensors, no two numbers that could be."""
    pair = actual, expected
    if any(isinstance(value, Tensor) for value in pair):
        return False
    return not all(type(value) is float or _fits(value) for value in pair)


def _fits(value: Any) -> bool:
    """Whether a value is a whole number that a tensor can hold."""
    return type(value) is int and value.bit_length() < 64


def mentions(text: str, number: float) -> bool:
    """Whether the text names this number, and not as a part of another."""
    return bool(re.search(rf"(?<![\d.]){re.escape(str(number))}(?!\.?\d)", text))


def brief(value: Any) -> str:
    """A value, a small tensor's numbers, or the shape of a larger one."""
    if not isinstance(value, Tensor):
        return _brief(value)
    if not _small(value):
        return f"tensor {tuple(value.shape)}"
    rows = [f"[{_row(row, 4)}]" for row in _rows(value)]
    return rows[0] if value.dim() == 1 else f"[{', '.join(rows)}]"


def _brief(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        items = [brief(item) for item in value[:WHOLE]] + ["…"] * (len(value) > WHOLE)
        told = ", ".join(items)
        return f"[{told}]" if isinstance(value, list) else f"({told})"
    if isinstance(value, nn.Module):
        return f"{value._get_name()}(…)"
    if isinstance(value, torch.Generator) or type(value).__repr__ is object.__repr__:
        return f"a {kind(value)}"
    told = getattr(value, "__name__", "") if callable(value) else repr(value)
    return told if len(told) <= LONG else f"{told[:LONG]}…"


def contrast(expected: Tensor, actual: Tensor, different: Tensor) -> dict[str, str]:
    """Two tensors side by side, with as many figures as it takes to tell them apart."""
    pairs = list(zip(expected[different].tolist(), actual[different].tolist(), strict=True))
    figures = next(
        (f for f in range(4, 17) if all(f"{e:.{f}g}" != f"{a:.{f}g}" for e, a in pairs)), 17
    )
    if _small(expected):
        return {"expected": _rowwise(expected, figures), "got": _rowwise(actual, figures)}
    places = ", ".join(str(at) for at in different.nonzero()[:SHOWN].tolist())
    wanted, given = (
        _row(tensor[different][:SHOWN].tolist(), figures) for tensor in (expected, actual)
    )
    return {"at": places, "expected": wanted, "got": given}


def _rowwise(tensor: Tensor, figures: int) -> str:
    """The rows in one line where they fit, else one below the other."""
    rows = [_row(row, figures) for row in _rows(tensor)]
    line = ", ".join(f"[{row}]" for row in rows) if len(rows) > 1 else rows[0]
    return line if len(line) <= TEXT_WIDTH else "\n".join(rows)


def _small(tensor: Tensor) -> bool:
    return tensor.dim() <= 2 and 0 < tensor.numel() <= WHOLE


def _rows(tensor: Tensor) -> list[list[float]]:
    return torch.atleast_2d(tensor.detach()).tolist()


def _row(numbers: list[float], figures: int) -> str:
    return ", ".join(f"{number:.{figures}g}" for number in numbers)


def kind(value: Any) -> str:
    """The name of a value's type."""
    module = getattr(type(value), "__module__", "builtins")  # a class need not have one
    return f"{module}.{type(value).__name__}".removeprefix("builtins.")


def table(shapes: dict[str, tuple[int, ...]]) -> str:
    """Named shapes, one a line."""
    return "\n".join(f"{name} {shape}" for name, shape in shapes.items()) or "none"


def seal(answer: Tensor) -> str:
    """A numeric answer as a digest, so that a check can recognise what it does not show.

    It keeps the answer from being read by accident, no more: who tries all numbers of two decimals
    finds it in a second.
    """
    rounded = " ".join(f"{round(number, 2) + 0.0:.2f}" for number in answer.tolist())
    return hashlib.sha256(rounded.encode()).hexdigest()[:16]
