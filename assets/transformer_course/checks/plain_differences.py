"""Two plain values side by side: whether they are equal, where they differ first, how it shows."""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from transformer_course.checks import formatting
from transformer_course.checks.results import KINDS, Other, base, single

ROOM = 120  # characters of a value that is shown whole
AROUND = 20  # characters of a text on each side of the first that differs, or
ITEMS = 2  # items of a list
SIZED = (str, bytes, list, tuple)


@dataclass(frozen=True)
class Key:
    """A step into a dictionary; an index is one into a list, tuple or text."""

    key: Any


@dataclass(frozen=True)
class Difference:
    """The first difference of two values: the steps to it, and what a comparison does not show."""

    path: tuple[int | Key, ...] = ()
    remark: str = ""
    names_place: bool = False  # the remark does

    @property
    def told(self) -> str:
        """Where it is, and the remark."""
        where = "" if self.names_place else place(self.path)
        return "; ".join(filter(None, (where, self.remark)))


def place(path: tuple[int | Key, ...]) -> str:
    """Steps in words: `[3][1]`, `key (97, 98)`."""
    steps = [f" key {cut(step.key)} " if isinstance(step, Key) else f"[{step}]" for step in path]
    return "".join(steps).strip()


def same(actual: Any, expected: Any, within: float | None = None) -> bool:
    """Whether two values are equal; numbers may differ in their last digits, or `within`."""
    return difference(actual, expected, within) is None


def difference(
    actual: Any, expected: Any, within: float | None = None, path: tuple[int | Key, ...] = ()
) -> Difference | None:
    """The first difference of two values; None if they are equal."""
    actual, expected = single(actual), single(expected)
    mine, wanted = base(actual), base(expected)
    if {mine, wanted} <= {int, float}:
        return None if _close(actual, expected, within) else Difference(path)
    if mine is not wanted or None in (mine, wanted):
        if mine is wanted and _equal(actual, expected):
            return None
        # that one is a number and the other True shows
        shows = not {mine, wanted} & {str, bytes, list, tuple, dict}
        return Difference(path, "" if shows else f"{_kind(actual)}, expected {_kind(expected)}")
    if wanted is dict:
        return _in_dict(actual, expected, within, path)
    if wanted in (list, tuple):
        return _in_list(actual, expected, within, path)
    if actual == expected:
        return None
    if wanted is bool:
        return Difference(path)
    pairs = zip(actual, expected, strict=False)
    shorter = min(len(actual), len(expected))
    at = next((i for i, (one, other) in enumerate(pairs) if one != other), shorter)
    return Difference((*path, at), _lengths(actual, expected, path))


def contrast(expected: Any, actual: Any, found: Difference) -> dict[str, str]:
    """The first difference and two values side by side; of long ones, the piece around it."""
    sides = {"expected": shown(expected, found.path), "got": shown(actual, found.path)}
    return {"at": found.told, **sides} if found.told else sides


def shown(value: Any, path: tuple[int | Key, ...] = ()) -> str:
    """A value, or the piece of a long one to which these steps lead."""
    whole = told(value)
    if len(whole) <= ROOM:
        return whole
    if not path:
        return cut(value)
    step, rest = path[0], path[1:]
    if isinstance(step, Key):
        return _piece_of_dict(value, step.key, rest)
    if isinstance(value, SIZED):
        return _piece(value, step, rest)
    return cut(value)


def cut(value: Any) -> str:
    """A value in at most so many characters."""
    whole = told(value)
    return whole if len(whole) <= ROOM else f"{whole[:ROOM]} …"


def told(value: Any) -> str:
    """A value as Python writes it, tensors briefly."""
    if isinstance(value, dict):
        items = (f"{told(key)}: {told(item)}" for key, item in value.items())
        return f"{{{', '.join(items)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(told, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(told, value))}{',' * (len(value) == 1)})"
    return formatting.brief(value) if isinstance(value, Tensor) else repr(value)


def _in_list(actual: Any, expected: Any, within: float | None, path: tuple) -> Difference | None:
    lengths = _lengths(actual, expected, path)
    for i, pair in enumerate(zip(actual, expected, strict=False)):
        if found := difference(*pair, within, (*path, i)):
            return found if found.remark else Difference(found.path, lengths)
    return Difference((*path, min(len(actual), len(expected))), lengths) if lengths else None


def _in_dict(actual: Any, expected: Any, within: float | None, path: tuple) -> Difference | None:
    mine, wanted = ({_typed(key): key for key in keys} for keys in (actual, expected))
    missing = [key for typed, key in wanted.items() if typed not in mine]
    unexpected = [key for typed, key in mine.items() if typed not in wanted]
    if missing or unexpected:
        kinds = {"missing key": missing, "unexpected key": unexpected}
        remark = "; ".join(_listed(kind, keys) for kind, keys in kinds.items() if keys)
        inside = f"{place(path)}: " if path else ""
        return Difference((*path, Key((missing or unexpected)[0])), inside + remark, True)
    for typed, key in wanted.items():
        if found := difference(actual[mine[typed]], expected[key], within, (*path, Key(key))):
            return found
    return None


def _listed(kind: str, keys: list) -> str:
    return f"{kind} {cut(keys[0])}{f' and {len(keys) - 1} more' * (len(keys) > 1)}"


def _typed(key: Any) -> Any:
    """A key that is told from others that Python takes for equal: True is not 1."""
    key = single(key)
    if isinstance(key, tuple):
        return tuple(map(_typed, key))
    return (bool, key) if isinstance(key, bool) else key


def _lengths(actual: Any, expected: Any, path: tuple) -> str:
    if len(actual) == len(expected):
        return ""
    inside = f"{place(path)} has " if path else ""
    return f"{inside}length {len(actual)}, expected {len(expected)}"


def _close(actual: float, expected: float, within: float | None) -> bool:
    if isinstance(actual, int) and isinstance(expected, int) and within is None:
        return actual == expected
    relative, absolute = (1e-9, 1e-10) if within is None else (0.0, within)
    try:
        return math.isclose(actual, expected, rel_tol=relative, abs_tol=absolute)
    except OverflowError:  # a whole number that no float can hold
        return False


def _equal(actual: Any, expected: Any) -> bool:
    """Whether two values of no plain kind are equal."""
    if isinstance(actual, Tensor) and isinstance(expected, Tensor):
        if actual.shape != expected.shape:
            return False
        pair = (tensor.detach().double() for tensor in (actual, expected))
        return torch.allclose(*pair, rtol=1e-9, atol=1e-10)
    return not isinstance(actual, (Tensor, Other)) and bool(actual == expected)


def _kind(value: Any) -> str:
    kind = base(value)
    if isinstance(value, Tensor):
        return "a tensor"
    return KINDS[kind] if kind else repr(value)


def _piece(value: Any, at: int, rest: tuple) -> str:
    """A text around a character, a list around an item."""
    around = AROUND if isinstance(value, (str, bytes)) else ITEMS
    start, end = max(at - around, 0), at + around + 1
    before, after = "… " * (start > 0), " …" * (end < len(value))
    if isinstance(value, (str, bytes)):
        return f"{before}{value[start:end]!r}{after}"
    part = enumerate(value[start:end], start)
    items = [shown(item, rest if i == at else ()) for i, item in part]
    inside = f"{before}{', '.join(items)}{after}"
    return f"[{inside}]" if isinstance(value, list) else f"({inside})"


def _piece_of_dict(value: Any, key: Any, rest: tuple) -> str:
    if not isinstance(value, dict) or key not in value:
        return f"no key {cut(key)}"
    return f"{{…, {cut(key)}: {shown(value[key], rest)}, …}}"
