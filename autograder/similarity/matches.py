"""Match the lines of two solutions, and say how rare what they share is."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from autograder.similarity.compare import Rarity
from autograder.similarity.parts import Baseline, Part
from autograder.similarity.pieces import Piece

MAX_LINES = 2_000  # shown of a text


@dataclass(frozen=True)
class Match:
    """Two matching pieces; `others` is how many other students share the rarest fingerprint."""

    left: Piece
    right: Piece
    weight: float
    others: int


@dataclass(frozen=True)
class Line:
    """A line of the page; `kind` is rare, same or empty."""

    text: str
    mark: str = ""
    kind: str = ""


@dataclass(frozen=True)
class PartComparison:
    """A part of two submissions, line by line, with the matching pieces."""

    name: str
    sides: tuple[list[Line], list[Line]]
    matches: list[Match]
    comments_match: bool


def compare_parts(left: Part, right: Part, baseline: Baseline, rarity: Rarity) -> PartComparison:
    """Compare two students' solutions of an exercise."""
    comments = matches(left.comments, right.comments, baseline, rarity)
    found = matches(left.pieces, right.pieces, baseline, rarity) + comments
    same = {piece.tokens for piece in left.pieces} & {piece.tokens for piece in right.pieces}
    sides = (
        _lines(left, [match.left for match in found], same),
        _lines(right, [match.right for match in found], same),
    )
    return PartComparison(left.name, sides, found, bool(comments))


def matches(
    left: Sequence[Piece], right: Sequence[Piece], baseline: Baseline, rarity: Rarity
) -> list[Match]:
    """Match each left piece with the right one that shares most; at least half of its weight."""
    candidates = [(piece, piece.fingerprints - baseline.fingerprints) for piece in right]
    found = []
    for piece in left:
        own = piece.fingerprints - baseline.fingerprints
        ranked = [(rarity.weight(own & theirs), -n) for n, (_, theirs) in enumerate(candidates)]
        shared, number = max(ranked, default=(0.0, 0))
        if shared and 2 * shared >= rarity.weight(own):
            partner, theirs = candidates[-number]
            others = min(rarity.count(fingerprint) for fingerprint in own & theirs) - 2
            found.append(Match(piece, partner, shared, max(0, others)))
    return found


def _lines(part: Part, rare: Iterable[Piece], same: set[tuple[str, ...]]) -> list[Line]:
    marks: dict[int, list[str]] = {}
    for number, piece in enumerate(rare, 1):
        for line in range(piece.first, piece.last + 1):
            marks.setdefault(line, []).append(str(number))
    same_lines = {
        line
        for piece in part.pieces
        if piece.tokens in same
        for line in range(piece.first, piece.last + 1)
    }
    lines = []
    for number, text in enumerate(part.text.split("\n")[:MAX_LINES] if part.text else [], 1):
        kind = "rare" if number in marks else "same" if number in same_lines else ""
        mark = ",".join(marks.get(number, ())[:3]) or ("=" if kind else "")
        lines.append(Line(text, mark, kind))
    return lines
