"""What of a failure's text is its author's or the kit's: words that no student's code has made.

Once hidden tests ran, a failure's text may hold what the student's code saw in them: its names,
its messages, the numbers that it gave. Then only text is shown that is in the visible part of
the check, in the kit, or in the lesson's misconceptions, all of which students have. What the
student's code can still do is choose among it.
"""

import ast
import builtins
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain

from transformer_course.failure import Failure, Kind

from autograder.feedback.hidden_tests import parsed, visible
from autograder.paths import COURSE

LONGEST = 1000  # characters of a text that is looked up
# what the kit itself found, in fixed words: its claims may name inputs
FIXED = {
    Kind.RAISED: "your code raised an error",
    Kind.CHANGED_INPUT: "your code changed one of its inputs",
    Kind.SHAPE: "the result has the wrong shape",
    Kind.NAN: "the result holds NaN (not a number)",
    Kind.DTYPE: "the result should keep the input's dtype",
    Kind.NOT_RAISED: "a ValueError was expected",
    Kind.WRONG_TYPE: "the result is not of the kind that is expected",
    Kind.NOT_A_TENSOR: "the result should be a tensor",
    Kind.NOT_A_MODULE: "the class should be an nn.Module",
    Kind.NO_GRADIENT: "no gradient flows through the result",
    Kind.PARAMETERS: "the parameters are not the ones the docstring names",
}
ERRORS = {
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
}


def fixed(kind: Kind) -> str:
    """What the kit found, in words that name no input; empty for an author's claim."""
    return FIXED.get(kind, "")


def error(name: str) -> str:
    """An exception's name, if it is one of Python's own."""
    return name if name in ERRORS else "an error"


def claim(failure: Failure, source: str) -> str:
    """What a visible failure of this check claims, as far as it is known; or empty."""
    if failure.kind == Kind.RAISED:
        return f"your code raised {error(failure.subject)}"
    said = failure.claim[:LONGEST]
    own = [*_filled_in(said, visible(source), visible(source))]
    kits = (told for kit in _kits_sources() for told in _filled_in(said, kit, visible(source)))
    complete = (text for text, is_complete in chain(own, kits) if is_complete)
    partly = (text for text, _ in own)
    return (
        _among(said, _texts(visible(source)))
        or next(complete, "")
        or fixed(failure.kind)
        or next(partly, "")
    )


def hint(said: str, source: str) -> str:
    """The hint that a visible failure of this check gives, if it is a known one; or empty."""
    return _among(said, _texts(visible(source)) + _kits_texts())


def misconception(said: str, exercises: Iterable[str]) -> str:
    """What a visible failure of these exercises looks like, if that is a known one; or empty."""
    known = (_misconceptions().get(exercise, ()) for exercise in exercises)
    return _among(said, chain.from_iterable(known))


def _among(said: str, known: Iterable[str]) -> str:
    """That of these texts which was said, in lines of whatever length."""
    squeezed = _squeezed(said[:LONGEST])
    return next((text for text in known if squeezed and _squeezed(text) == squeezed), "")


def _squeezed(text: str) -> str:
    return "".join(text.split())


@lru_cache(maxsize=500)
def _texts(source: str) -> tuple[str, ...]:
    """The plain texts in a source."""
    tree = parsed(source)
    constants = (n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)) if tree else ()
    return tuple(value for value in constants if isinstance(value, str))


@cache
def _kits_texts() -> tuple[str, ...]:
    """The plain texts in the kit's checks, its hints among them."""
    return tuple(text for source in _kits_sources() for text in _texts(source))


@cache
def _kits_sources() -> tuple[str, ...]:
    files = sorted((COURSE.kit / "checks").glob("*.py"))
    return tuple(file.read_text(encoding="utf-8") for file in files)


@cache
def _misconceptions() -> dict[str, list[str]]:
    """What is said of each exercise's known wrong answers."""
    known: dict[str, list[str]] = {}
    for file in sorted(COURSE.misconceptions.glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            told = json.loads(line)
            said = [told[key] for key in ("says", "alone") if told.get(key)]
            if said:
                known.setdefault(told["exercise"], []).extend(said)
    return known


# --- claims with values in them: f"head {head} sums its values" ----------------------------------


def _filled_in(said: str, source: str, check: str) -> Iterator[tuple[str, bool]]:
    """What was said, where a text of this source gives it, with the values that are known.

    And whether they all are: that is, also in the check, or in the kit.
    """
    for parts in _templates(source):
        values = _between(parts, said)
        if values and any(part.strip() for part in parts):
            known = _values(check)
            told = [value if value in known else "…" for value in values]
            pairs = zip(parts, [*told, ""], strict=True)
            yield "".join(part for pair in pairs for part in pair), told == values


@lru_cache(maxsize=500)
def _values(check: str) -> frozenset[str]:
    """What may replace a value in a claim: names, numbers and texts."""
    return frozenset([*re.findall(r"-?[\w.]+", check), *_texts(check), *_kits_texts()])


def _between(parts: Sequence[str], said: str) -> list[str]:
    """The text between these parts in a text made of them; empty if it is not."""
    first, *others, last = parts
    is_framed = said.startswith(first) and said.endswith(last)
    if not is_framed or len(said) < len(first) + len(last):
        return []
    rest, values = said[len(first) : len(said) - len(last)], []
    # a regular expression would try every way to cut a made-up text
    for part in others:
        value, found, rest = rest.partition(part) if part else (rest, " ", "")
        if not found:
            return []
        values.append(value)
    return [*values, rest]


@lru_cache(maxsize=500)
def _templates(source: str) -> tuple[tuple[str, ...], ...]:
    """The plain parts of each text with values; between two of them is one value."""
    tree, found = parsed(source), []
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.JoinedStr):
            parts = [""]
            for piece in node.values:
                if isinstance(piece, ast.Constant):
                    parts[-1] += str(piece.value)
                else:
                    parts.append("")
            if len(parts) > 1:
                found.append(tuple(parts))
    return tuple(found)
