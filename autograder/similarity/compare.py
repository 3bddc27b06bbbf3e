"""Find pairs of similar submissions by an index of fingerprints, without comparing all pairs.

A fingerprint weighs 1 if at most two students share it, less the more do, and 0 if it is common.
Those of the baseline (lesson, solution, right answers of the bank) were removed before.
"""

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, combinations

import numpy as np

from autograder.similarity.parts import COMMENTS, NAMES, Fingerprints

MIN_WEIGHT = 15.0  # of the fingerprints that a listed pair shares
# a fingerprint is common if more students than this share it
COMMON_SHARE = 0.05  # of the class
MAX_SHARING = 30  # students, however large the class
MIN_SHARING = 4  # students, in a class of at least sixteen


@dataclass(frozen=True)
class Similarity:
    """How similar two submissions are in a part: a share from 0 to 1, and the shared weight."""

    likeness: float
    weight: float


@dataclass(frozen=True)
class Pair:
    """Two students, and the parts in which their submissions are similar."""

    students: tuple[str, str]
    parts: Mapping[str, Similarity]

    @property
    def weight(self) -> float:
        """The total weight of the shared fingerprints."""
        return sum(similarity.weight for similarity in self.parts.values())


@dataclass
class Cohort:
    """The fingerprints of a class, at 8 bytes each; submissions are not kept."""

    students: list[str] = field(default_factory=list)
    _parts: list[dict[str, array]] = field(default_factory=list)

    def add(self, student: str, fingerprints: Fingerprints) -> None:
        """Add a submission."""
        self.students.append(student)
        self._parts.append({name: array("q", sorted(f)) for name, f in fingerprints.items() if f})

    @property
    def rarity(self) -> "Rarity":
        """The number of students who share each fingerprint, and its weight."""
        by_student = (array("q", {*chain(*parts.values())}) for parts in self._parts)
        arrays = [np.frombuffer(values, np.int64) for values in by_student if values]
        everything = np.concatenate(arrays or [[]]).astype(np.int64)
        fingerprints, counts = np.unique(everything, return_counts=True)
        return Rarity(fingerprints, counts, _weights(len(self.students)))

    def pairs(self, at_least: float) -> list[Pair]:
        """The pairs with at least this likeness in some part, by descending weight."""
        rarity = self.rarity
        found: dict[tuple[int, int], dict[str, Similarity]] = defaultdict(dict)
        # names that students chose are weak evidence: they are shown but not counted
        for name in sorted({*chain(*self._parts)} - {NAMES}):
            for both, similarity in self._similarities(name, rarity):
                if similarity.likeness >= at_least:
                    found[both][name] = similarity
        pairs = [
            Pair((self.students[left], self.students[right]), parts)
            for (left, right), parts in found.items()
        ]
        listed = [pair for pair in pairs if pair.weight >= MIN_WEIGHT]
        return sorted(listed, key=lambda pair: (-pair.weight, pair.students))

    def _similarities(
        self, name: str, rarity: "Rarity"
    ) -> Iterator[tuple[tuple[int, int], Similarity]]:
        """The indices and the similarity of all students who share something of this part."""
        index: dict[int, list[int]] = defaultdict(list)
        weights: dict[int, float] = {}
        totals: dict[int, float] = {}
        for number, parts in enumerate(self._parts):
            if name not in parts:
                continue
            fingerprints = np.frombuffer(parts[name], np.int64)
            own = rarity.weigh(fingerprints)
            totals[number] = float(own.sum())
            for fingerprint, weight in zip(fingerprints.tolist(), own.tolist(), strict=True):
                if weight:
                    index[fingerprint].append(number)
                    weights[fingerprint] = weight
        shared: Counter[tuple[int, int]] = Counter()
        for fingerprint, numbers in index.items():
            for both in combinations(numbers, 2):
                shared[both] += weights[fingerprint]  # type: ignore[assignment]
        for both, weight in shared.items():
            # some comments of a copy may have been deleted, so compare with the smaller total
            total = (min if name == COMMENTS else _mean)(totals[number] for number in both)
            yield both, Similarity(weight / total, weight)


@dataclass(frozen=True)
class Rarity:
    """How many students share each fingerprint, and the weight that follows from it."""

    _fingerprints: np.ndarray  # sorted
    _counts: np.ndarray
    _weights: np.ndarray  # by number of students

    def count(self, fingerprint: int) -> int:
        """The number of students who share this fingerprint."""
        position = int(np.searchsorted(self._fingerprints, fingerprint))
        if position == len(self._fingerprints) or self._fingerprints[position] != fingerprint:
            return 0
        return int(self._counts[position])

    def weigh(self, fingerprints: np.ndarray) -> np.ndarray:
        """The weight of each fingerprint; all must occur in the cohort."""
        counts = self._counts[np.searchsorted(self._fingerprints, fingerprints)]
        return self._weights[np.minimum(counts, len(self._weights) - 1)]

    def weight(self, fingerprints: Iterable[int]) -> float:
        """The total weight; fingerprints that do not occur weigh 0."""
        counts = [self.count(fingerprint) for fingerprint in fingerprints]
        return float(sum(self._weights[min(count, len(self._weights) - 1)] for count in counts))


def _weights(students: int) -> np.ndarray:
    """The weight of a fingerprint shared by 0, 1, 2, … students; 0 at the end and beyond."""
    fewest = min(MIN_SHARING, students // 4)
    others = min(MAX_SHARING, max(math.ceil(students * COMMON_SHARE), fewest))
    falling = [1 - math.log(1 + other) / math.log(2 + others) for other in range(others + 1)]
    return np.array([0.0, 1.0, *falling, 0.0])


def _mean(numbers: Iterable[float]) -> float:
    left, right = numbers
    return (left + right) / 2
