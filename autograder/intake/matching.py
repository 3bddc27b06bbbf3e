"""Find out which cell that was handed in is which of the lesson's.

By nbgrader's metadata; where a tool dropped them, by the exercise's name, if the cell's code
defines it, by its id, by the likeness of its text to what was released, and last by its place.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import islice

from autograder.intake.reading import StudentCell
from autograder.intake.released import Released, ReleasedCell, fingerprint

ALIKE = 0.75  # of the words of two cells, so that they count as the same one
MOST_COMPARED = 500  # cells: a notebook has about a hundred
LONGEST_COMPARED = 20_000  # characters: no person writes more into a cell
ENOUGH = 5  # without any metadata, one of so many cells makes a notebook the lesson's
METADATA = "nbgrader's metadata"


@dataclass
class Matching:
    """The lesson's cells in what was handed in: a cell's name -> its position there."""

    released: Released
    cells: Sequence[StudentCell]
    of: dict[str, int] = field(default_factory=dict)
    by: dict[str, str] = field(default_factory=dict)  # its name -> the sign it was known by

    @property
    def is_the_lesson(self) -> bool:
        """Whether there is enough of what students solve, and of its checks.

        Given cells tell nothing: other lessons have the same ones. An exercise of another lesson
        may have the same name; then most of the names are not the lesson's.
        """
        names = {cell.name for cell in self.released.cells}
        own = [cell.name for cell in self.released.cells if cell.solution or cell.grade]
        known = [name for name in own if name in self.of]
        foreign = sum(bool(cell.name) and cell.name not in names for cell in self.cells)
        if sum(self.by[name] == METADATA for name in known) > foreign:
            return True
        return len(known) * ENOUGH >= len(own) > 0

    @cached_property
    def prints(self) -> list[str]:
        """The fingerprints of what was handed in."""
        return [fingerprint(cell.source) for cell in self.cells]

    def add(self, sign: str, found: Mapping[str, int]) -> None:
        """Take what one sign tells."""
        self.of |= found
        self.by |= dict.fromkeys(found, sign)

    def wanted(self) -> list[ReleasedCell]:
        """The lesson's cells that are not found yet."""
        return [cell for cell in self.released.cells if cell.name not in self.of]

    def free(self) -> dict[int, StudentCell]:
        """The cells that may be one of these: no name of nbgrader's, not the lesson's prose."""
        taken, prose = set(self.of.values()), set(self.released.outline)
        free = (
            (position, cell)
            for position, cell in enumerate(self.cells)
            if position not in taken
            and not cell.name
            and len(cell.source) <= LONGEST_COMPARED
            and self.prints[position] not in prose
        )
        return dict(islice(free, MOST_COMPARED))


def match(cells: Sequence[StudentCell], released: Released) -> Matching:
    """Find the lesson's cells; of copies the last one counts, as in nbgrader."""
    matching = Matching(released, cells)
    for sign, found in SIGNS.items():
        if matching.wanted():
            matching.add(sign, found(matching))
    if matching.wanted() and matching.is_the_lesson:
        # a cell of another notebook proves nothing by its position
        matching.add("place", _by_place(matching))
    return matching


def defines(name: str, cell: StudentCell) -> bool:
    """Whether `def`, `class` or `=` at the beginning of a line defines a name in a cell.

    No parser: Python's own takes minutes, or ends Python, on hostile input.
    """
    if cell.cell_type != "code" or len(cell.source) > LONGEST_COMPARED:
        return False
    return bool(_definition(name).search(cell.source))


@cache
def _definition(name: str) -> re.Pattern[str]:
    assigned = rf"(?:\w+[ \t]*[,=][ \t]*)*{name}\b[ \t]*(?:[,:][^=\n]{{0,100}})?=(?!=)"
    return re.compile(rf"^(?:(?:async[ \t]+)?(?:def|class)[ \t]+{name}\b|{assigned})", re.MULTILINE)


def _by_metadata(matching: Matching) -> dict[str, int]:
    names = {cell.name for cell in matching.released.cells}
    return {cell.name: at for at, cell in enumerate(matching.cells) if cell.name in names}


def _by_definition(matching: Matching) -> dict[str, int]:
    found: dict[str, int] = {}
    free = matching.free()
    for wanted in matching.wanted():
        name = wanted.exercise
        places = [at for at, cell in free.items() if name and defines(name, cell)]
        if places and places[-1] not in found.values():
            found[wanted.name] = places[-1]
    return found


def _by_identifier(matching: Matching) -> dict[str, int]:
    # a cell's id is made from its title
    titles = {(cell.name.replace("_", "-"), cell.cell_type): cell for cell in matching.wanted()}
    keys = {at: (cell.identifier, cell.cell_type) for at, cell in matching.free().items()}
    texts = {at: key for at, key in keys.items() if isinstance(key[0], str)}
    return {titles[key].name: at for at, key in texts.items() if key in titles}


def _by_likeness(matching: Matching) -> dict[str, int]:
    """The most alike first, so that no cell takes another one's."""
    candidates = [(at, cell.cell_type, _words(cell.source)) for at, cell in matching.free().items()]
    pairs = [
        (likeness, wanted.name, at)
        for wanted in matching.wanted()
        for words in [_words(wanted.shown)]
        for at, cell_type, others in candidates
        if cell_type == wanted.cell_type and (likeness := _likeness(words, others)) >= ALIKE
    ]
    found: dict[str, int] = {}
    for _, name, at in sorted(pairs, key=lambda pair: -pair[0]):
        if name not in found and at not in found.values():
            found[name] = at
    return found


SIGNS: dict[str, Callable[[Matching], dict[str, int]]] = {
    METADATA: _by_metadata,
    "name": _by_definition,
    "id": _by_identifier,
    "text": _by_likeness,
}


def _words(source: str) -> Counter[str]:
    return Counter(re.findall(r"\w+|[^\w\s]", source))


def _likeness(one: Counter[str], other: Counter[str]) -> float:
    """The share of words that two texts have in common, whatever the order (Dice)."""
    return 2 * (one & other).total() / max(1, one.total() + other.total())


def _by_place(matching: Matching) -> dict[str, int]:
    """The longest cell between those that are known around the place where students write.

    A locked cell is not sought so: a cell in its position is the student's own.
    """
    outline, known = matching.released.outline, _anchors(matching)
    found: dict[str, int] = {}
    free = {at: cell for at, cell in matching.free().items() if cell.source.strip()}
    for wanted in matching.wanted():
        if wanted.locked or wanted.name not in outline:
            continue
        place = outline.index(wanted.name)
        after = [known[one] for one in outline[place + 1 :] if one in known]
        start = max((known[one] for one in outline[:place] if one in known), default=-1)
        end = min(after, default=len(matching.cells))
        if start > end:  # in another order no place tells anything
            start, end = -1, len(matching.cells)
        between = [
            at
            for at, cell in free.items()
            if start < at < end and cell.cell_type == wanted.cell_type
        ]
        if between:
            # notes are shorter than what is asked for
            found[wanted.name] = max(between, key=lambda at: len(free[at].source))
            del free[found[wanted.name]]
    return found


def _anchors(matching: Matching) -> dict[str, int]:
    """Where each cell of the outline is: found by name, or by fingerprint."""
    prose = set(matching.released.outline)
    prints = {one: at for at, one in enumerate(matching.prints) if one in prose}
    return prints | matching.of
