"""Dataclasses to plain values and back. Reading trusts nothing: exact fields, exact types.

`to_plain` and `from_plain` follow the fields' annotations. They know plain types, `Any`, `Tensor`,
`Literal`, string enums, other dataclasses, and lists, tuples, dicts and unions of these. No field
is optional and none may be added, and a subclass does not pass for its base: `True` is no number.
"""

import sys
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from enum import StrEnum
from functools import cache, partial
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

if TYPE_CHECKING:
    from torch import Tensor
else:

    class Tensor:
        """`torch.Tensor` in annotations: the supervisor reads messages without torch."""


T = TypeVar("T")
Convert = Callable[[Any], Any]


def to_plain(message: Any) -> dict[str, Any]:
    """A dataclass's fields; what a field holds that is annotated `Any` stays as it is."""
    told = dict(vars(message))
    for name, write in _writers(type(message)).items():
        told[name] = write(told[name])
    return told


def from_plain(kind: type[T], told: Any) -> T:
    """A dataclass of this kind; `ValueError` if these are not its fields."""
    readers = _readers(kind)
    if type(told) is not dict or told.keys() != readers.keys():
        raise ValueError(f"no {kind.__name__}")
    found = {}
    for name, read in readers.items():
        try:
            found[name] = read(told[name])
        except ValueError as error:
            raise ValueError(f"{kind.__name__}.{name}: {error}") from None
    return kind(**found)


class Variants:
    """Several kinds of message, told apart by the name under one key."""

    def __init__(self, key: str, **kinds: type) -> None:
        self._key, self._kinds = key, kinds
        self._names = {kind: name for name, kind in kinds.items()}

    def to_plain(self, message: Any) -> dict[str, Any]:
        """The message's fields and its name."""
        return {self._key: self._names[type(message)], **to_plain(message)}

    def from_plain(self, told: Any) -> Any:
        """The message; `ValueError` if it is none of these."""
        if type(told) is not dict or type(told.get(self._key)) is not str:
            raise ValueError(f"no message with a {self._key!r}")
        name = told[self._key]
        if name not in self._kinds:
            raise ValueError(f"an unknown {self._key} {name[:20]!r}")
        rest = {field: value for field, value in told.items() if field != self._key}
        return from_plain(self._kinds[name], rest)


@cache
def reader(hint: Any) -> Convert:
    """What checks a value of this type, and makes it of plain ones; it raises `ValueError`."""
    if hint is Any:
        return _unchanged
    if is_dataclass(hint):
        return partial(from_plain, cast(type, hint))
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        return partial(_read_literal, parts)
    if origin in _CONTAINERS:
        return partial(_CONTAINERS[origin], [reader(part) for part in parts])
    if issubclass(hint, StrEnum):
        return partial(_read_enum, hint)
    return _read_tensor if hint is Tensor else partial(_read_exactly, hint)


@cache
def writer(hint: Any) -> Convert:
    """What makes plain values of a value of this type."""
    if is_dataclass(hint):
        return to_plain
    origin, parts = get_origin(hint), [writer(part) for part in get_args(hint)]
    if origin is Literal or all(part is _unchanged for part in parts):
        return _unchanged
    if origin is list:
        return lambda value: [parts[0](item) for item in value]
    if origin is dict:
        return lambda value: {key: parts[1](item) for key, item in value.items()}
    (one,) = (part for part in parts if part is not _unchanged)  # a dataclass or None
    return lambda value: None if value is None else one(value)


@cache
def _readers(kind: type) -> dict[str, Convert]:
    hints = get_type_hints(kind)
    return {field.name: reader(hints[field.name]) for field in fields(kind)}


@cache
def _writers(kind: type) -> dict[str, Convert]:
    """Of the fields that are not plain already."""
    hints = get_type_hints(kind)
    found = {field.name: writer(hints[field.name]) for field in fields(kind)}
    return {name: write for name, write in found.items() if write is not _unchanged}


def _unchanged(value: Any) -> Any:
    return value


def _read_exactly(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise ValueError(f"no {kind.__name__}")
    return value


def _read_tensor(value: Any) -> Any:
    torch = sys.modules.get("torch")  # where it was never imported there is no tensor
    if torch is None or not isinstance(value, torch.Tensor):
        raise ValueError("no tensor")
    return value


def _read_literal(allowed: tuple, value: Any) -> Any:
    if type(value) is not str or value not in allowed:
        raise ValueError(f"none of {', '.join(allowed)}")
    return value


def _read_enum(kind: type[StrEnum], value: Any) -> Any:
    return kind(_read_exactly(str, value))


def _read_list(parts: list[Convert], value: Any) -> list:
    return [parts[0](item) for item in _read_exactly(list, value)]


def _read_dict(parts: list[Convert], value: Any) -> dict:
    key, item = parts
    return {key(name): item(held) for name, held in _read_exactly(dict, value).items()}


def _read_tuple(parts: list[Convert], value: Any) -> tuple:
    if len(_read_exactly(tuple, value)) != len(parts):
        raise ValueError(f"not {len(parts)} parts")
    return tuple(part(item) for part, item in zip(parts, value, strict=True))


def _read_union(parts: list[Convert], value: Any) -> Any:
    for part in parts:
        try:
            return part(value)
        except ValueError:
            continue
    raise ValueError("of none of its types")


_CONTAINERS: dict[Any, Callable[[list[Convert], Any], Any]] = {
    list: _read_list,
    dict: _read_dict,
    tuple: _read_tuple,
    Union: _read_union,
    UnionType: _read_union,
}
