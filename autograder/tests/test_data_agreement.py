"""The generated language: agreement, rarity, and answers that are what the sentences say."""

import torch
from transformer_course.data.agreement import (
    ADJECTIVES_IN_SENTENCE,
    CASES,
    COUNTS,
    MAX_LENGTH,
    NO_ANSWER,
    NOUNS,
    PADDING,
    WORDS,
    case_of,
    sentences,
)

DATA = sentences(300, seed=4)


def rows() -> list[list[str]]:
    return [
        [WORDS[token] for token in row[:length].tolist()]
        for row, length in zip(DATA.tokens, DATA.lengths.tolist(), strict=True)
    ]


def test_every_sentence_has_a_noun_of_each_case_and_a_few_adjectives() -> None:
    fewest, most = ADJECTIVES_IN_SENTENCE
    for words in rows():
        nouns = [word for word in words if word[0].isupper()]
        assert sorted(word[-1] for word in nouns) == sorted(CASES)
        assert fewest <= len(words) - len(nouns) <= most
    assert DATA.tokens.shape == (len(DATA), MAX_LENGTH)
    assert set(DATA.lengths.tolist()) == set(range(len(CASES) + fewest, MAX_LENGTH + 1))


def test_padding_fills_the_rest() -> None:
    behind = torch.arange(MAX_LENGTH) >= DATA.lengths[:, None]
    assert torch.equal(DATA.tokens == PADDING, behind)
    assert (DATA.nouns[behind] == NO_ANSWER).all()
    assert (DATA.answers[:, behind] == NO_ANSWER).all()


def test_an_adjective_points_to_the_noun_of_its_case() -> None:
    for words, targets in zip(rows(), DATA.nouns.tolist(), strict=True):
        for word, target in zip(words, targets, strict=False):
            if word[0].isupper():
                assert target == NO_ANSWER
            else:
                assert words[target][0].isupper()
                assert words[target][-1] == word[-1]


def test_the_answers_are_words_of_the_sentence() -> None:
    for number, words in enumerate(rows()):
        left, noun, rarest = (
            [WORDS[token] if token != NO_ANSWER else None for token in row[: len(words)]]
            for row in DATA.answers[:, number].tolist()
        )
        assert left == [None, *words[:-1]]
        positions = DATA.nouns[number, : len(words)].tolist()
        assert noun == [None if at == NO_ANSWER else words[at] for at in positions]
        least = min(COUNTS[WORDS.index(word)].item() for word in words)
        assert len(set(rarest)) == 1
        assert COUNTS[WORDS.index(rarest[0] or "")] == least


def test_no_two_words_are_equally_rare() -> None:
    """So the rarest word of a sentence is one word."""
    assert len(COUNTS.unique()) == len(WORDS) == len(set(WORDS))
    assert case_of(WORDS.index(NOUNS[0] + CASES[2])) == 2


def test_words_occur_about_as_often_as_their_counts_say() -> None:
    found = torch.bincount(sentences(4000, seed=5).tokens.flatten(), minlength=len(WORDS))
    expected = 0.4 * COUNTS[1:]
    # five standard deviations of a count
    assert ((found[1:] - expected).abs() < 5 * expected.sqrt() + 5).all()


def test_equal_seeds_draw_equal_sentences() -> None:
    assert torch.equal(sentences(300, seed=4).tokens, DATA.tokens)
    assert torch.equal(sentences(20, seed=4).answers, DATA.answers[:, :20])
    assert not torch.equal(sentences(300, seed=5).tokens, DATA.tokens)
