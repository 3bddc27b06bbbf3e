"""Plain values as the student's work returns them: read as Python's own types, within limits."""

from typing import Any

import numpy as np
from torch import Tensor

from transformer_course.checks import formatting

KINDS: dict[type, str] = {
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    str: "a text",
    bytes: "bytes",
    list: "a list",
    tuple: "a tuple",
    dict: "a dictionary",
}
DEEPEST = 20  # lists in lists
MOST = 200_000  # values, a container and a key counting as one
LONGEST = 4_000_000  # characters and bytes, all texts together
BITS = 4096  # of a whole number, as in the channel of the grader
RETURN = "does the last line say `return`?"
# (what is expected, what came) -> how to make one of the other
CONVERSIONS = {
    (list, Tensor): ".tolist() makes a list of a tensor",
    (list, tuple): "list(…) makes a list of a tuple",
    (tuple, list): "tuple(…) makes a tuple of a list",
    (str, bytes): ".decode() makes a text of bytes",
    (bytes, str): ".encode() makes bytes of a text",
    (bytes, list): "bytes(…) makes bytes of a list of numbers",
}


class BeyondLimits(Exception):
    """A value is too deep, too large or holds a key twice; the text says which."""


class Other:
    """A value that is not plain. Nothing of it is kept but its name, and whether it is an array."""

    def __init__(self, name: str, is_array: bool = False) -> None:
        self.name, self.is_array = name, is_array

    def __repr__(self) -> str:
        return f"a {self.name}"


def base(value: Any) -> type | None:
    """The plain type that a value has or is derived from: dict for a `Counter`."""
    return next((kind for kind in KINDS if issubclass(type(value), kind)), None)


def single(value: Any) -> Any:
    """A tensor, array or NumPy number that holds one number, as that number."""
    if isinstance(value, np.generic) or (
        isinstance(value, (Tensor, np.ndarray)) and value.ndim == 0
    ):
        return value.item()
    return value


def read(value: Any, kind: type | None = None) -> Any:
    """A value in Python's own types; where it can be, a number of this kind."""
    value = _Reader().read(value)
    if type(value) is int and kind is float:
        return float(value) if abs(value) < 1 << 1000 else value
    if type(value) is float and kind is int:
        return int(value) if value.is_integer() else value
    return value


def hint_for(kind: type, value: Any) -> str:
    """How to make a value of this kind of a value that was read, if there is a way."""
    if value is None:
        return RETURN
    if kind is list and isinstance(value, Other) and value.is_array:
        return ".tolist() makes a list of an array"
    made = (hint for (to, of), hint in CONVERSIONS.items() if to is kind and isinstance(value, of))
    return next(made, "")


def described(value: Any) -> str:
    """A value as a message shows it, with its type if it is a text or container."""
    kind, told = base(value), formatting.brief(value)
    if isinstance(value, Tensor):
        return told if told.startswith("tensor") else f"a tensor {told}"
    return f"{KINDS[kind]}: {told}" if kind in (str, bytes, list, tuple, dict) else told


def holds_nan(value: Any) -> bool:
    """Whether a number in a value is NaN; keys count."""
    if isinstance(value, dict):
        return holds_nan([*value.keys(), *value.values()])
    if isinstance(value, (list, tuple)):
        return any(map(holds_nan, value))
    return isinstance(value, float) and value != value


class _Reader:
    """Reads one value. Classes of the student's are never asked: only what they derive from."""

    def __init__(self) -> None:
        self._values = self._characters = 0

    def read(self, value: Any, depth: int = 1) -> Any:
        """The value; `BeyondLimits` if there is too much of it."""
        value = _single(value)
        kind = base(value)
        self._values += 1
        if self._values > MOST:
            raise BeyondLimits(f"holds more than {MOST:,} values")
        if kind in (list, tuple, dict) and depth > DEEPEST:
            raise BeyondLimits(f"is nested deeper than {DEEPEST}")
        if kind is dict:
            return self._dict(value, depth)
        if kind in (list, tuple):
            return kind(self.read(item, depth + 1) for item in kind.__iter__(value))
        return self._leaf(value, kind)

    def _dict(self, value: dict, depth: int) -> dict:
        found: dict = {}
        for key, item in dict.items(value):
            key = _hashable(self.read(key, depth + 1), key)
            if key in found:
                raise BeyondLimits(f"is a dictionary that holds the key {key!r} twice")
            found[key] = self.read(item, depth + 1)
        return found

    def _leaf(self, value: Any, kind: type | None) -> Any:
        if kind in (str, bytes):
            exact = str.__str__(value) if kind is str else bytes.__getitem__(value, slice(None))
            self._characters += len(exact)
            if self._characters > LONGEST:
                raise BeyondLimits(f"holds more than {LONGEST:,} characters")
            return exact
        if kind is int:
            exact = int.__int__(value)
            return exact if exact.bit_length() <= BITS else Other("huge int")
        if kind is float:
            return float.__float__(value)
        if value is None or kind is bool or isinstance(value, Tensor):
            return value
        if isinstance(value, np.ndarray):
            return Other(f"numpy.ndarray {value.shape}", is_array=True)
        return Other(formatting.kind(value))


def _single(value: Any) -> Any:
    try:
        return single(value)
    except Exception:  # of a class of the student's, or a tensor without numbers
        return Other(formatting.kind(value))


def _hashable(key: Any, original: Any) -> Any:
    try:
        hash(key)
    except TypeError:  # a list whose class has a hash of its own
        return Other(formatting.kind(original))
    return key
