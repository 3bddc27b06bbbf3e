"""Recognise a wrong result among those that known misconceptions give.

The build runs every wrong answer of the answers bank through the visible checks and stores
what it returned: numbers and one sentence each, no code.
"""

import json
from functools import cache
from importlib import resources
from itertools import chain
from typing import NotRequired, TypedDict

import numpy as np
from torch import Tensor

from transformer_course.checks.fingerprints import Fingerprint, abridged
from transformer_course.checks.outcomes import holds

KEPT = 48  # numbers stored of each tensor: enough to tell any two misconceptions apart
FIGURES = 6  # significant figures stored: the rest is noise of the platform


class Result(TypedDict):
    """A tensor or a plain value, abridged: the digest is of all of a plain value but its floats."""

    shape: list[int]
    values: list[float]
    digest: NotRequired[str]


class Clue(TypedDict):
    """Where an answer failed: in which check, on which law, having returned what so far."""

    check: str
    law: str
    observed: list[list[Result]]


class Misconception(Clue):
    """The clue that a known wrong answer leaves, and what a teacher says to it.

    Answers to `earlier` exercises leave it too; where the checks of those hold, `alone` is said.
    """

    says: str
    earlier: NotRequired[list[str]]
    alone: NotRequired[str]


def clue(check: str, law: str, observed: list[list[Tensor | Fingerprint]]) -> Clue:
    """A clue as it is stored and compared: each tensor's shape and its first numbers.

    A plain value's floats come in place of a tensor's numbers, with a digest of all else.
    """
    return {"check": check, "law": law, "observed": [[_abridged(t) for t in o] for o in observed]}


def recognise(exercise: str, found: Clue) -> str:
    """The sentence for the misconception that leaves this clue, or an empty one."""
    for known in _known().get(exercise, []):
        if same_clue(known, found):
            earlier = known.get("earlier", [])
            return known.get("alone", "") if earlier and all(map(holds, earlier)) else known["says"]
    return ""


def same_clue(one: Clue, other: Clue) -> bool:
    """Whether both failed the same check on the same law, having returned the same so far."""
    same_place = (one["check"], one["law"]) == (other["check"], other["law"])
    return same_place and _same_results(one["observed"], other["observed"])


@cache
def _known() -> dict[str, list[Misconception]]:
    """Exercise -> its misconceptions, from every lesson's file: a heading, then one a line."""
    folder = resources.files("transformer_course") / "misconceptions"
    known: dict[str, list[Misconception]] = {}
    for file in folder.iterdir():
        if file.name.endswith(".jsonl"):
            _, *lines = file.read_text(encoding="utf-8").splitlines()
            for row in map(json.loads, lines):
                known.setdefault(row["exercise"], []).append(row)
    return known


def _abridged(result: Tensor | Fingerprint) -> Result:
    if isinstance(result, Fingerprint):
        values = _rounded(abridged(result.floats, KEPT))
        return {"shape": [len(result.floats)], "values": values, "digest": result.digest}
    values = result.detach().flatten()[:KEPT].double().tolist()
    return {"shape": list(result.shape), "values": _rounded(values)}


def _rounded(values: list[float]) -> list[float]:
    return [float(f"{value:.{FIGURES}g}") for value in values]


def _same_results(stored: list[list[Result]], observed: list[list[Result]]) -> bool:
    """Whether two clues' calls returned the same, but for rounding."""
    if [len(call) for call in stored] != [len(call) for call in observed]:
        return False
    pairs = zip(chain(*stored), chain(*observed), strict=True)
    return all(_close(one, other) for one, other in pairs)


def _close(stored: Result, observed: Result) -> bool:
    if any(stored.get(exact) != observed.get(exact) for exact in ("shape", "digest")):
        return False
    one, other = (np.array(result["values"]) for result in (stored, observed))
    return np.allclose(one, other, rtol=1e-4, atol=1e-5, equal_nan=True)
