"""The generated reviews: what they promise the lesson that learns from them."""

from collections import Counter

import pytest
from transformer_course.data.reviews import (
    ADVERBS,
    BAD,
    DISLIKED,
    GOOD,
    LIKED,
    NEGATED,
    NEGATIONS,
    WORDS,
    Review,
    balanced,
    reviews,
)

DRAWN = reviews(4000, seed=1)
LISTS = {
    "drawn": DRAWN,
    "balanced": balanced(400, seed=1),
    "random": reviews(400, seed=1, agree=False),
}


def negated(review: Review) -> bool:
    return any(word in NEGATIONS for word in review.first)


@pytest.mark.parametrize("kind", LISTS)
def test_a_description_is_it_was_then_perhaps_a_negation_and_an_adverb_then_an_adjective(
    kind: str,
) -> None:
    for review in LISTS[kind]:
        *start, adjective = review.first
        assert adjective in GOOD + BAD
        assert start[:2] == ["it", "was"]
        between = start[2:]
        assert between in (
            *([], *([word] for word in NEGATIONS), *([word] for word in ADVERBS)),
            *([one, other] for one in NEGATIONS for other in ADVERBS),
        )
        assert set(review.first + review.second) <= set(WORDS)


@pytest.mark.parametrize("kind", LISTS)
def test_a_negation_turns_the_label_round(kind: str) -> None:
    for review in LISTS[kind]:
        assert review.positive == ((review.first[-1] in GOOD) != negated(review))


@pytest.mark.parametrize("kind", ["drawn", "balanced"])
def test_the_second_sentence_agrees(kind: str) -> None:
    for review in LISTS[kind]:
        assert review.second == (review.second[0], "it")
        assert review.second[0] in (LIKED if review.positive else DISLIKED)


def test_random_verbs_tell_nothing() -> None:
    drawn = reviews(4000, seed=2, agree=False)
    agree = sum((review.second[0] in LIKED) == review.positive for review in drawn)
    assert 0.46 < agree / 4000 < 0.54
    assert {review.second[0] for review in drawn} == {*LIKED, *DISLIKED}


def test_shares_are_as_promised() -> None:
    assert abs(sum(map(negated, DRAWN)) / 4000 - NEGATED) < 0.04
    assert (
        abs(sum(len(review.first) - negated(review) == 4 for review in DRAWN) / 4000 - 0.5) < 0.04
    )
    counts = Counter(review.first[-1] for review in DRAWN)
    assert set(counts) == {*GOOD, *BAD}
    assert min(counts.values()) > 4000 / 12 * 0.75


def test_balanced_reviews_have_each_adjective_with_and_without_a_negation_as_often() -> None:
    counts = Counter((review.first[-1], negated(review)) for review in balanced(48, seed=3))
    assert set(counts.values()) == {2}
    assert len(counts) == 24
    few = Counter((r.first[-1], negated(r)) for r in balanced(32, 3, ("good", "bad")))
    assert few == {(word, no): 8 for word in ("good", "bad") for no in (True, False)}


def test_a_seed_gives_the_same_reviews_and_another_others() -> None:
    assert reviews(50, seed=4) == reviews(50, seed=4) != reviews(50, seed=5)
    assert balanced(50, seed=4) == balanced(50, seed=4) != balanced(50, seed=5)


def test_the_words_are_all_different() -> None:
    assert len(set(WORDS)) == len(WORDS) == 25
