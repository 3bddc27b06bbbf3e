"""Find the pairs whose solutions are alike, through an index of fingerprints: not all pairs.

A fingerprint weighs 1 if at most two students have it, less the more have it, and nothing if many
do; what the lesson, its solution or the bank's right answers hold was taken out before.
"""

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, combinations

import numpy as np

from autograder.similarity.parts import COMMENTS, NAMES, Prints

ENOUGH = 15.0  # weight of what two must share to be listed
SHARE = 0.05  # of the class: what more students have is common
MANY = 30  # students, in a class however large
FEW = 4  # students, in a class of sixteen and more


@dataclass(frozen=True)
class Alike:
    """How alike two are in one part: a share from 0 to 1, and the weight of what they share."""

    likeness: float
    weight: float


@dataclass(frozen=True)
class Pair:
    """Two students, and the parts in which they are alike."""

    students: tuple[str, str]
    parts: Mapping[str, Alike]

    @property
    def weight(self) -> float:
        """Of all that they share in these parts, in fingerprints."""
        return sum(alike.weight for alike in self.parts.values())


@dataclass
class Cohort:
    """The fingerprints of a class: 8 bytes each, and nothing else of a submission."""

    students: list[str] = field(default_factory=list)
    _parts: list[dict[str, array]] = field(default_factory=list)

    def add(self, student: str, prints: Prints) -> None:
        """Take in one submission."""
        self.students.append(student)
        self._parts.append({name: array("q", sorted(of)) for name, of in prints.items() if of})

    @property
    def rarity(self) -> "Rarity":
        """How much each fingerprint weighs."""
        everyone = (array("q", {*chain(*parts.values())}) for parts in self._parts)
        held = [np.frombuffer(one, np.int64) for one in everyone if one]
        there, counts = np.unique(np.concatenate(held or [[]]).astype(np.int64), return_counts=True)
        return Rarity(there, counts, _weights(len(self.students)))

    def pairs(self, at_least: float) -> list[Pair]:
        """Those who are at least so much alike, the most telling first."""
        rarity = self.rarity
        found: dict[tuple[int, int], dict[str, Alike]] = defaultdict(dict)
        # names that a student chose tell little: they are shown, and count for nothing
        for name in sorted({*chain(*self._parts)} - {NAMES}):
            for both, alike in self._alike(name, rarity):
                if alike.likeness >= at_least:
                    found[both][name] = alike
        pairs = [
            Pair((self.students[one], self.students[other]), parts)
            for (one, other), parts in found.items()
        ]
        listed = [pair for pair in pairs if pair.weight >= ENOUGH]
        return sorted(listed, key=lambda pair: (-pair.weight, pair.students))

    def _alike(self, name: str, rarity: "Rarity") -> Iterator[tuple[tuple[int, int], Alike]]:
        """Who shares something of a part."""
        index: dict[int, list[int]] = defaultdict(list)
        weights: dict[int, float] = {}
        totals: dict[int, float] = {}
        for number, parts in enumerate(self._parts):
            if name not in parts:
                continue
            held = np.frombuffer(parts[name], np.int64)
            weighed = rarity.weigh(held)
            totals[number] = float(weighed.sum())
            for print_, weight in zip(held.tolist(), weighed.tolist(), strict=True):
                if weight:
                    index[print_].append(number)
                    weights[print_] = weight
        shared: Counter[tuple[int, int]] = Counter()
        for print_, numbers in index.items():
            for both in combinations(numbers, 2):
                shared[both] += weights[print_]  # type: ignore[assignment]
        for both, weight in shared.items():
            # comments may have been taken out of a copy: what is left of them counts
            whole = (min if name == COMMENTS else _mean)(totals[number] for number in both)
            yield both, Alike(weight / whole, weight)


@dataclass(frozen=True)
class Rarity:
    """How many students have which fingerprint, and what it weighs for that."""

    _there: np.ndarray
    _counts: np.ndarray
    _weights: np.ndarray  # by the number of students

    def count(self, print_: int) -> int:
        """How many students have it."""
        position = int(np.searchsorted(self._there, print_))
        here = position < len(self._there) and self._there[position] == print_
        return int(self._counts[position]) if here else 0

    def weigh(self, prints: np.ndarray) -> np.ndarray:
        """The weights of fingerprints that somebody has."""
        counts = self._counts[np.searchsorted(self._there, prints)]
        return self._weights[np.minimum(counts, len(self._weights) - 1)]

    def weight(self, prints: Iterable[int]) -> float:
        """Of all of these; of one that nobody has, none."""
        known = [self.count(print_) for print_ in prints]
        return float(sum(self._weights[min(count, len(self._weights) - 1)] for count in known))


def _weights(students: int) -> np.ndarray:
    """What a fingerprint weighs that 0, 1, 2, … students have; 0 from the last one on."""
    others = min(MANY, max(math.ceil(students * SHARE), min(FEW, students // 4)))
    falling = [1 - math.log(1 + other) / math.log(2 + others) for other in range(others + 1)]
    return np.array([0.0, 1.0, *falling, 0.0])


def _mean(numbers: Iterable[float]) -> float:
    one, other = numbers
    return (one + other) / 2
