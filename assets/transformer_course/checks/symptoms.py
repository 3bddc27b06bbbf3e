"""What a wrong result has in common with the expected one: a constant factor, swapped axes, …

Each says what holds of the numbers, never why. All take two tensors of one shape and of floating
point, `actual` and `expected`, and give a sentence, or an empty text where they do not apply.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

CLEARLY = 0.01  # of the largest number: what differs by less may be rounding
FEWEST = 3  # numbers of which a law is said


def symptom(actual: Tensor, expected: Tensor, inputs: Mapping[str, Tensor]) -> str:
    """The first law that these results show, in a sentence; `inputs`: of the call, by name."""
    if not expected.is_floating_point() or expected.numel() < FEWEST:
        return ""
    actual, expected = actual.detach().double(), expected.detach().double()
    if not (actual.isfinite().all() and expected.isfinite().all()) or _close(actual, expected):
        return ""
    copied = next((name for name, tensor in inputs.items() if _same(actual, tensor)), "")
    if not actual.any():
        return "all numbers of the result are 0"
    if copied:
        return f"the result equals the input `{copied}`"
    return next(filter(None, (law(actual, expected) for law in LAWS)), "")


def _swapped(actual: Tensor, expected: Tensor) -> str:
    if expected.dim() < 2 or not _same(actual, expected.transpose(-1, -2)):
        return ""
    return "the last two axes of the result are swapped"


def _factor(actual: Tensor, expected: Tensor) -> str:
    factor = (actual * expected).sum() / expected.square().sum()
    if not _varies(expected) or not _same(actual, factor * expected):
        return ""
    if abs(factor + 1) < CLEARLY:
        return "every number has the opposite sign"
    return f"every number is {factor:.4g} times the expected one"


def _offset(actual: Tensor, expected: Tensor) -> str:
    offset = (actual - expected).mean()
    if not _varies(expected) or not _same(actual, expected + offset):
        return ""
    return f"every number is {abs(offset):.4g} {'more' if offset > 0 else 'less'} than expected"


def _sums(actual: Tensor, expected: Tensor) -> str:
    mine, wanted = _axes_of_sum_1(actual), _axes_of_sum_1(expected)
    if not mine or not wanted or set(mine) & set(wanted):
        return ""
    return f"the result sums to 1 along axis {mine[-1]}, not along axis {wanted[-1]}"


def _constant(actual: Tensor, expected: Tensor) -> str:
    if _varies(expected) and not _varies(actual):
        return "all numbers of the result are equal"
    for axis in range(expected.dim()):
        first = actual.narrow(axis, 0, 1).expand_as(actual)
        if _same(actual, first) and not _close(expected, expected.narrow(axis, 0, 1)):
            return f"all numbers along axis {axis} of the result are equal"
    return ""


LAWS = (_swapped, _factor, _offset, _sums, _constant)


def _axes_of_sum_1(tensor: Tensor) -> list[int]:
    sums = {axis: tensor.sum(axis) for axis in range(tensor.dim()) if tensor.shape[axis] > 1}
    return [axis for axis, total in sums.items() if _same(total, torch.ones_like(total))]


def _varies(tensor: Tensor) -> bool:
    return not _close(tensor, tensor.flatten()[0])


def _same(one: Tensor, other: Tensor) -> bool:
    """Equal but for rounding, in the dtype that is less exact."""
    if one.shape != other.shape or not other.is_floating_point():
        return False
    return torch.allclose(one, other.detach().double(), rtol=1e-4, atol=1e-6)


def _close(one: Tensor, other: Tensor) -> bool:
    """Whether nothing differs clearly."""
    return bool((one - other).abs().max() <= CLEARLY * one.abs().max())
