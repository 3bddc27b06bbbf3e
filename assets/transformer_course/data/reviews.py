"""Generated reviews of films: two short sentences each, and whether the review is positive.

The first sentence describes, and may be negated: "it was not very good". The second agrees with
the first: "skip it". So no word of the first sentence tells the label by itself, but an adjective
and a negation together do.
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
WORDS = ("it", "was", *NEGATIONS, *ADVERBS, *GOOD, *BAD, *LIKED, *DISLIKED)
NEGATED = 0.4  # the share of negated first sentences


@dataclass(frozen=True)
class Review:
    """A description, an advice that agrees with it, and whether the description is positive."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    positive: bool


def reviews(count: int, seed: int, negated: float = NEGATED, agree: bool = True) -> list[Review]:
    """Draw `count` reviews; unless they `agree`, the verb of the second sentence is any of six."""
    draw = random.Random(seed)
    return [
        _review(draw, draw.choice(GOOD + BAD), draw.random() < negated, agree) for _ in range(count)
    ]


def balanced(count: int, seed: int, adjectives: Sequence[str] = GOOD + BAD) -> list[Review]:
    """Draw `count` reviews, in turn with and without a negation, with each adjective as often."""
    draw = random.Random(seed)
    return [
        _review(draw, adjectives[i // 2 % len(adjectives)], i % 2 == 1, True) for i in range(count)
    ]


def _review(draw: random.Random, adjective: str, negation: bool, agree: bool) -> Review:
    positive = (adjective in GOOD) != negation
    first = ["it", "was"]
    first += [draw.choice(NEGATIONS)] if negation else []
    first += [draw.choice(ADVERBS)] if draw.random() < 0.5 else []
    verbs = LIKED + DISLIKED if not agree else LIKED if positive else DISLIKED
    return Review((*first, adjective), (draw.choice(verbs), "it"), positive)
