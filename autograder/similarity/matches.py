"""Say which lines of two solutions belong together, and how rare what they share is."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from autograder.similarity.compare import Rarity
from autograder.similarity.parts import Baseline, Part
from autograder.similarity.pieces import Piece

LINES = 2_000  # of a text that are shown


@dataclass(frozen=True)
class Match:
    """A piece of one solution and its partner in the other; `others` have what is rarest in it."""

    one: Piece
    other: Piece
    weight: float
    others: int


@dataclass(frozen=True)
class Line:
    """A line as it is shown; `kind` is rare, same or empty."""

    text: str
    mark: str = ""
    kind: str = ""


@dataclass(frozen=True)
class Compared:
    """One part of two submissions, line by line, and what of it belongs together.

    `told`: of the comments too.
    """

    name: str
    sides: tuple[list[Line], list[Line]]
    matches: list[Match]
    told: bool


def compared(one: Part, other: Part, baseline: Baseline, rarity: Rarity) -> Compared:
    """Two students' solutions of one exercise."""
    told = matches(one.comments, other.comments, baseline, rarity)
    found = matches(one.pieces, other.pieces, baseline, rarity) + told
    theirs = {piece.tokens for piece in one.pieces} & {piece.tokens for piece in other.pieces}
    sides = (
        _lines(one, [match.one for match in found], theirs),
        _lines(other, [match.other for match in found], theirs),
    )
    return Compared(one.name, sides, found, bool(told))


def matches(
    one: Sequence[Piece], other: Sequence[Piece], baseline: Baseline, rarity: Rarity
) -> list[Match]:
    """The pieces of one for which at least half of what is rare stands in a piece of the other."""
    theirs = [(piece, piece.prints - baseline.prints) for piece in other]
    found = []
    for piece in one:
        own = piece.prints - baseline.prints
        ranked = [(rarity.weight(own & prints), -n) for n, (_, prints) in enumerate(theirs)]
        shared, number = max(ranked, default=(0.0, 0))
        if shared and 2 * shared >= rarity.weight(own):
            partner, prints = theirs[-number]
            others = min(rarity.count(print_) for print_ in own & prints) - 2
            found.append(Match(piece, partner, shared, max(0, others)))
    return found


def _lines(part: Part, rare: Iterable[Piece], same: set[tuple[str, ...]]) -> list[Line]:
    marks: dict[int, list[str]] = {}
    for number, piece in enumerate(rare, 1):
        for line in range(piece.first, piece.last + 1):
            marks.setdefault(line, []).append(str(number))
    alike = {
        line
        for piece in part.pieces
        if piece.tokens in same
        for line in range(piece.first, piece.last + 1)
    }
    shown = []
    for number, text in enumerate(part.text.split("\n")[:LINES] if part.text else [], 1):
        kind = "rare" if number in marks else "same" if number in alike else ""
        mark = ",".join(marks.get(number, ())[:3]) or ("=" if kind else "")
        shown.append(Line(text, mark, kind))
    return shown
