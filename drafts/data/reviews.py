"""Generated reviews of films: two short sentences each, and whether the review is positive.

The first sentence describes, and may be negated: "it was not very good". The second agrees with
the first: "skip it". So a word alone says nothing about the label, and a pair of words does.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

GOOD = ("good", "great", "funny", "clever", "warm", "moving")
BAD = ("bad", "awful", "dull", "silly", "cold", "boring")
LIKED = ("love", "watch", "recommend")
DISLIKED = ("hate", "skip", "avoid")
NEGATIONS = ("not", "never")
ADVERBS = ("very", "really", "quite")
NEGATED = 0.4  # the share of negated first sentences


@dataclass(frozen=True)
class Review:
    """A description, an advice that agrees with it, and whether both are positive."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    positive: bool


def reviews(
    count: int, seed: int, adjectives: Sequence[str] = GOOD + BAD, negated: float = NEGATED
) -> list[Review]:
    """Draw `count` reviews with these adjectives; the share `negated` has a negation."""
    draw = random.Random(seed)
    return [_review(draw, adjectives, negated) for _ in range(count)]


def _review(draw: random.Random, adjectives: Sequence[str], negated: float) -> Review:
    adjective, negation = draw.choice(adjectives), draw.random() < negated
    positive = (adjective in GOOD) != negation
    first = ["it", "was"]
    first += [draw.choice(NEGATIONS)] if negation else []
    first += [draw.choice(ADVERBS)] if draw.random() < 0.5 else []
    verb = draw.choice(LIKED if positive else DISLIKED)
    return Review((*first, adjective), (verb, "it"), positive)
