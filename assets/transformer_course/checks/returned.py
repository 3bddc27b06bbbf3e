"""What a call of the student's work returned, examined: type, NaN, dtype."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from transformer_course.checks import failure, formatting, results
from transformer_course.failure import Kind


class Refused(Exception):
    """A result is not as it should be."""

    def __init__(self, claim: str, hint: str = "", kind: Kind = Kind.WRONG_TYPE) -> None:
        super().__init__(claim)
        self.claim, self.hint, self.kind = claim, hint, kind


def parts(result: Any, kinds: Mapping[str, type]) -> list[tuple[str, Any]]:
    """The named parts of a result that should be a tuple of these kinds, or one tensor."""
    wanted = f"a tuple ({', '.join(kinds)})" if kinds else "a tensor"
    if result is None:
        raise Refused(f"expected {wanted}, got None", results.RETURN)
    several = isinstance(result, (tuple, list))
    found = list(result) if kinds and several else [result]
    if len(found) != max(len(kinds), 1):
        got = f"{len(found)} values" if several else formatting.kind(result)
        raise Refused(f"expected {wanted}, got {got}")
    named = zip((kinds or {"the result": Tensor}).items(), found, strict=True)
    return [(label, _part(label, part, kind)) for (label, kind), part in named]


def _part(label: str, part: Any, kind: type) -> Any:
    """A tensor as it is, anything else as a plain value."""
    if kind is not Tensor:
        return plain(label, part, kind)
    if not isinstance(part, Tensor):
        claim = f"{label} should be a tensor, got {formatting.kind(part)}"
        raise Refused(claim, kind=Kind.NOT_A_TENSOR)
    return part


def plain(label: str, result: Any, kind: type) -> Any:
    """A result in Python's own types; one beyond the limits is refused."""
    try:
        return results.read(result, kind)
    except results.BeyondLimits as error:
        raise Refused(f"{label} {error}") from None


def examine(label: str, part: Any, kind: type, inputs: list[Tensor]) -> None:
    """Refuse a part of another kind, one that holds NaN, or a tensor of another dtype."""
    if kind is Tensor:
        _examine_tensor(label, part, inputs)
        return
    if results.base(part) is not kind:
        wanted = f"{label} should be" if label else "expected"
        claim = f"{wanted} {results.KINDS[kind]}, got {results.described(part)}"
        raise Refused(claim, results.hint_for(kind, part))
    if results.holds_nan(part):
        claim = f"{label or 'the result'} {'is' if kind is float else 'holds'} NaN (not a number)"
        raise Refused(claim, failure.NOT_A_NUMBER, Kind.NAN)


def _examine_tensor(label: str, part: Tensor, inputs: list[Tensor]) -> None:
    if part.is_floating_point() and part.isnan().any():
        at = part.isnan().nonzero()[0].tolist()
        claim = f"{label} holds NaN (not a number), first at {at}"
        raise Refused(claim, failure.NOT_A_NUMBER, Kind.NAN)
    dtypes = [tensor.dtype for tensor in inputs if tensor.is_floating_point()]
    if dtypes and part.is_floating_point() and part.dtype != dtypes[0]:
        claim = f"{label} should keep the input's dtype {dtypes[0]}, got {part.dtype}"
        raise Refused(claim, failure.KEEP_THE_DTYPE, Kind.DTYPE)
