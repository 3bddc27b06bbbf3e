"""Texts, numbers, lists, dictionaries and None as results: converted, compared, told apart."""

import math
import zlib
from itertools import chain
from typing import Any

import numpy as np
from torch import Tensor

KINDS = {
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    str: "a text",
    list: "a list",
    dict: "a dictionary",
}
WIDE = 60  # characters of a text, or
MANY = 12  # items of a list, that are shown around the first that differs
# what opens a value of each type among the numbers of a clue: no code point or count
OPENS = {type(None): -1.0, str: -2.0, list: -3.0, tuple: -3.0, dict: -4.0}


def plain(value: Any, kind: type) -> Any:
    """A value as one of this kind, if it can be; a tensor of one number is that number."""
    if isinstance(value, (Tensor, np.ndarray, np.generic)) and value.ndim == 0:
        value = value.item()
    if isinstance(value, list):
        return [plain(item, type(item)) for item in value]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        whole = isinstance(value, int) or value.is_integer()
        if kind is float or (kind is int and whole):
            return kind(value)
    return value


def spelled(value: Any) -> list[float]:
    """A value in numbers, so that a clue can hold it: equal ones are spelled alike."""
    if isinstance(value, (int, float)):
        return [float(value)]
    if isinstance(value, str):
        # what stands behind the numbers that a clue keeps counts too
        rest = zlib.crc32(value.encode("utf-8", "replace")) % 1000
        return [OPENS[str], len(value), rest, *map(float, map(ord, value))]
    if isinstance(value, dict):
        value, opens = list(chain.from_iterable(value.items())), OPENS[dict]
    else:
        opens = OPENS.get(type(value), math.nan)
    items = value if isinstance(value, (list, tuple)) else ()
    return [opens, len(items), *chain.from_iterable(map(spelled, items))]


def same(actual: Any, expected: Any) -> bool:
    """Whether two values are equal; numbers may differ in their last digits."""
    if isinstance(actual, float) or isinstance(expected, float):
        both = isinstance(actual, (int, float)) and isinstance(expected, (int, float))
        return both and math.isclose(actual, expected, rel_tol=1e-9, abs_tol=1e-10)
    if type(actual) is not type(expected):
        return False
    if isinstance(expected, dict):
        return actual.keys() == expected.keys() and all(
            same(actual[key], expected[key]) for key in expected
        )
    if isinstance(expected, (list, tuple)):
        return len(actual) == len(expected) and all(map(same, actual, expected))
    return actual == expected


def contrast(expected: Any, actual: Any) -> dict[str, str]:
    """Two values side by side; of long ones, the piece around the first difference."""
    if type(actual) is not type(expected) or not isinstance(expected, (str, list)):
        return {"expected": _shown(expected), "got": _shown(actual)}
    room = WIDE if isinstance(expected, str) else MANY
    if max(len(actual), len(expected)) <= room:
        return {"expected": _shown(expected), "got": _shown(actual)}
    pairs = zip(actual, expected, strict=False)
    shorter = min(len(actual), len(expected))
    at = next((i for i, pair in enumerate(pairs) if not same(*pair)), shorter)
    piece = slice(max(at - room // 3, 0), at + room // 3)
    sizes = "" if len(actual) == len(expected) else f"; length {len(expected)}, got {len(actual)}"
    return {
        "at": f"{at}{sizes}",
        "expected": f"… {_shown(expected[piece])} …",
        "got": f"… {_shown(actual[piece])} …",
    }


def symptom(actual: Any, expected: Any) -> str:
    """What a wrong text or list has in common with the expected one, in a sentence, or nothing."""
    if type(actual) is not type(expected) or not isinstance(expected, (str, list)):
        return ""
    if not actual or len(expected) < 2:
        return "the result is empty" if expected and not actual else ""
    laws = {
        "the result is in reverse order": actual == expected[::-1],
        "the first one is missing": actual == expected[1:],
        "the last one is missing": actual == expected[:-1],
        "there is one too many at the beginning": actual[1:] == expected,
        "there is one too many at the end": actual[:-1] == expected,
        "the same ones, in another order": sorted(map(repr, actual)) == sorted(map(repr, expected)),
    }
    return next((law for law, holds in laws.items() if holds), "")


def _shown(value: Any) -> str:
    told = repr(value)
    return told if len(told) <= 4 * WIDE else f"{told[: 4 * WIDE]}…"
