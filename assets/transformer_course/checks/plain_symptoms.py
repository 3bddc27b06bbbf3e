"""What a wrong plain value has in common with the expected one: reversed, the last missing, …

Each law says what holds of the two values exactly, never why. All take `actual` and `expected`,
which differ, and give a sentence, or an empty text where they do not apply.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any

from transformer_course.checks.plain_differences import SIZED, same, told
from transformer_course.checks.results import base

FEWEST = 3  # numbers of which an offset or any factor is said
EXPECTED_RATIOS = (2, 0.5, -1)  # of two numbers, too
NAMES = {str: "texts", bytes: "bytes", list: "lists", tuple: "tuples"}


def symptom(actual: Any, expected: Any) -> str:
    """The first law that these values show, in a sentence, or nothing."""
    mine, wanted = base(actual), base(expected)
    if mine is wanted and wanted in (*SIZED, dict) and expected and not actual:
        return "the result is empty"
    laws = [_types, *LAWS.get(wanted, ())] if mine is wanted else [_types]
    return next(filter(None, (law(actual, expected) for law in laws)), "")


@dataclass(frozen=True)
class _Turn:
    """What came, what was expected in its place, and how the one becomes the other."""

    came: type
    wanted: type
    make: Callable[[Any], Any]

    def all_in(self, value: Any, like: Any) -> Any:
        """A value, turned wherever the expected one, which it is `like`, has the other type."""
        kind = base(value)
        if kind is dict:
            keys = {key: self._key(key, like) for key in value}
            others = like if base(like) is dict else {}
            return {
                keys[key]: self.all_in(item, others.get(keys[key])) for key, item in value.items()
            }
        if kind in (list, tuple):
            others = like if base(like) in (list, tuple) else ()
            pairs = zip_longest(value, others[: len(value)])
            value = kind([self.all_in(item, other) for item, other in pairs])
        return self.make(value) if (kind, base(like)) == (self.came, self.wanted) else value

    def _key(self, key: Any, like: Any) -> Any:
        """A key that the expected dictionary has once it is turned."""
        turned = self.make(key) if base(key) is self.came and self.came in (str, bytes) else key
        return turned if base(like) is dict and turned in like else key


TURNS = (
    _Turn(list, tuple, tuple),
    _Turn(tuple, list, list),
    _Turn(str, bytes, lambda text: text.encode("utf-8", "replace")),
    _Turn(bytes, str, lambda text: text.decode("utf-8", "replace")),
)


def _types(actual: Any, expected: Any) -> str:
    """Other types in the place of the expected ones, and all else the same."""
    for turn in TURNS:
        if same(turn.all_in(actual, expected), expected):
            came, wanted = NAMES[turn.came], NAMES[turn.wanted]
            return f"the result is as expected, but for {came} in place of {wanted}"
    return ""


def _ends(actual: Any, expected: Any) -> str:
    mine, wanted = len(actual), len(expected)
    if wanted < 2:
        return ""
    laws = {
        "the first one is missing": (actual, expected[1:]),
        "the last one is missing": (actual, expected[:-1]),
        "there is one too many at the beginning": (actual[1:], expected),
        "there is one too many at the end": (actual[:-1], expected),
        f"only the first {mine} of {wanted} are there": (actual, expected[:mine]),
        f"only the last {mine} of {wanted} are there": (actual, expected[-mine:]),
        f"there are {mine - wanted} too many at the end": (actual[:wanted], expected),
        f"there are {mine - wanted} too many at the beginning": (actual[-wanted:], expected),
    }
    return _first(laws) if mine != wanted else ""


def _order(actual: Any, expected: Any) -> str:
    if len(actual) != len(expected):
        return ""
    if same(actual, expected[::-1]):
        return "the result is in reverse order"
    alike = sorted(map(told, actual)) == sorted(map(told, expected))
    return "the same ones, in another order" if alike else ""


def _text(actual: Any, expected: Any) -> str:
    if actual.lower() == expected.lower():
        return "only capital letters differ"
    if actual.split() == expected.split():
        return "only spaces between the words or at the ends differ"
    space = b" " if isinstance(expected, bytes) else " "
    return "only spaces differ" if _without(actual, space) == _without(expected, space) else ""


def _repeats(actual: Any, expected: Any) -> str:
    kept = list({told(item): item for item in expected}.values())
    if 1 < len(kept) < len(expected) and same(list(actual), kept):
        return "each one is there once only, where the expected result repeats some"
    return ""


def _list(actual: Any, expected: Any) -> str:
    if same(list(map(_reversed, actual)), list(expected)):
        return "each inner list or tuple is in reverse order"
    if same(list(_flat(actual)), list(_flat(expected))):
        return "the same values in the same order, but nested differently"
    return _numbers(list(actual), list(expected), "number")


def _dict(actual: Any, expected: Any) -> str:
    if actual.keys() == expected.keys():
        # in one order, whatever the order of the keys was
        return _numbers([actual[key] for key in expected], list(expected.values()), "value")
    if all(key in expected and same(actual[key], expected[key]) for key in actual):
        return (
            f"{len(expected) - len(actual)} of {len(expected)} keys missing, all else as expected"
        )
    if all(key in actual and same(actual[key], expected[key]) for key in expected):
        return f"{len(actual) - len(expected)} keys too many, all else as expected"
    if _same_pairs([(_reversed(key), item) for key, item in actual.items()], expected):
        return "each key is in reverse order, all else as expected"
    swapped = _same_pairs([(item, key) for key, item in actual.items()], expected)
    return "keys and values are swapped" if swapped else ""


def _numbers(actual: list, expected: list, name: str) -> str:
    """All numbers have one offset or factor, or they are all equal."""
    if len(actual) != len(expected) or len(expected) < 2 or not all(map(_is_small, actual)):
        return ""
    wanted = next((number for number in expected if number), 0)
    if not all(map(_is_small, expected)) or not wanted:
        return ""
    ratio, offset = actual[expected.index(wanted)] / wanted, actual[0] - expected[0]
    varied = len(expected) >= FEWEST and not same(expected, [wanted] * len(expected))
    if varied and same(actual, [actual[0]] * len(actual)):
        return f"every {name} is {told(actual[0])}"
    scaled = same(actual, [ratio * number for number in expected])
    if scaled and ratio and (varied or ratio in EXPECTED_RATIOS):
        return f"every {name} is {ratio:.4g} times the expected one"
    if varied and same(actual, [number + offset for number in expected]):
        return f"every {name} is {abs(offset):.4g} {'more' if offset > 0 else 'less'} than expected"
    return ""


LAWS: dict[type | None, tuple[Callable[[Any, Any], str], ...]] = {
    str: (_order, _ends, _text),
    bytes: (_order, _ends, _text),
    list: (_order, _repeats, _ends, _list),
    tuple: (_order, _repeats, _ends, _list),
    dict: (_dict,),
}


def _first(laws: dict[str, tuple[Any, Any]]) -> str:
    return next((law for law, pair in laws.items() if same(*pair)), "")


def _without(text: Any, space: Any) -> Any:
    return text.replace(space, type(text)())


def _reversed(value: Any) -> Any:
    return value[::-1] if base(value) in (list, tuple) else value


def _flat(value: Any) -> Iterator[Any]:
    if base(value) not in (list, tuple):
        return iter([value])
    return chain.from_iterable(map(_flat, value))


def _same_pairs(pairs: list[tuple[Any, Any]], expected: dict) -> bool:
    """Whether these pairs, and no two of one key, are those of the expected dictionary."""
    try:
        return len(dict(pairs)) == len(pairs) and same(dict(pairs), expected)
    except TypeError:  # what would be a key is a list
        return False


def _is_small(value: Any) -> bool:
    """Whether a value is a number that floats count in steps of one."""
    return base(value) in (int, float) and abs(value) < 1 << 53
