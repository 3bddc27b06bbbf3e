"""A generated language with free word order, in which every word belongs to a case.

A noun (written with a capital) or an adjective is a stem with the ending of its case: "Mola" and
"briga" are of case a. Each sentence has one noun of each case and two to six adjectives, in any
order. An adjective agrees with the noun of its case, wherever that is. Some words are frequent,
others rare.

Each word is asked three questions, whose answers are words: which word is its left neighbour, which
noun has its case (adjectives only), and which word of the sentence is the rarest of the language.
"""

import random
from dataclasses import dataclass

import torch
from torch import Tensor

CASES = ("a", "e", "o")  # the endings
NOUNS = ("Mol", "Ras", "Ket", "Dun", "Vis")
ADJECTIVES = ("brig", "fut", "sel", "nor", "plim", "tav", "gosk")
ADJECTIVES_IN_SENTENCE = (2, 6)  # fewest, most
MAX_LENGTH = len(CASES) + ADJECTIVES_IN_SENTENCE[1]
PADDING = 0
WORDS = ("·", *(stem + case for stem in (*NOUNS, *ADJECTIVES) for case in CASES))
QUESTIONS = ("left neighbour", "noun of its case", "rarest word")
NO_ANSWER = -1
# how much rarer each noun of a case is than the one before, and each adjective
NOUNS_FALL = (1 / 1.2, 1 / 1.3, 1 / 1.7)
ADJECTIVES_FALL = 0.82


@dataclass(frozen=True)
class Sentences:
    """Sentences as tokens, and what each of their words should answer."""

    tokens: Tensor  # int64 (sentences, MAX_LENGTH), padded with PADDING
    lengths: Tensor  # int64 (sentences,)
    nouns: Tensor  # the position of the noun of an adjective's case, (sentences, MAX_LENGTH), or -1
    answers: Tensor  # the tokens to answer, (questions, sentences, MAX_LENGTH), or NO_ANSWER

    def __len__(self) -> int:
        return len(self.tokens)


def _shares(fall: float, count: int) -> list[float]:
    weights = [fall**i for i in range(count)]
    return [one / sum(weights) for one in weights]


def _frequencies() -> list[float]:
    """How often each word occurs in a sentence, on average."""
    nouns = [_shares(fall, len(NOUNS)) for fall in NOUNS_FALL]
    adjectives = _shares(ADJECTIVES_FALL, len(ADJECTIVES) * len(CASES))
    # in mixed order, so that neither stem nor case tells which adjectives are rare
    random.Random(3).shuffle(adjectives)
    average = sum(ADJECTIVES_IN_SENTENCE) / 2
    by_stem = [one for stem in zip(*nouns, strict=True) for one in stem]
    return [0.0, *by_stem, *(average * one for one in adjectives)]


FREQUENCIES = _frequencies()
# occurrences in 10,000 sentences, on average; no two words have the same
COUNTS = torch.tensor([round(10_000 * one) for one in FREQUENCIES])
_FIRST_ADJECTIVE = 1 + len(NOUNS) * len(CASES)


def sentences(count: int, seed: int) -> Sentences:
    """Draw `count` sentences, the same ones for the same seed."""
    draw = random.Random(seed)
    drawn = [_sentence(draw) for _ in range(count)]
    nouns = [_nouns(words) for words in drawn]
    answers = [
        [[NO_ANSWER, *words[:-1]] for words in drawn],
        [_words_at(words, positions) for words, positions in zip(drawn, nouns, strict=True)],
        [[min(words, key=COUNTS.tolist().__getitem__)] * len(words) for words in drawn],
    ]
    return Sentences(
        _padded(drawn, PADDING),
        torch.tensor([len(words) for words in drawn]),
        _padded(nouns, NO_ANSWER),
        torch.stack([_padded(rows, NO_ANSWER) for rows in answers]),
    )


def case_of(token: int) -> int:
    """The number of a word's case."""
    return (token - 1) % len(CASES)


def _sentence(draw: random.Random) -> list[int]:
    words = []
    for case in range(len(CASES)):
        candidates = range(1 + case, _FIRST_ADJECTIVE, len(CASES))
        words += draw.choices(candidates, [FREQUENCIES[one] for one in candidates])
    candidates = range(_FIRST_ADJECTIVE, len(WORDS))
    weights = [FREQUENCIES[one] for one in candidates]
    words += draw.choices(candidates, weights, k=draw.randint(*ADJECTIVES_IN_SENTENCE))
    draw.shuffle(words)
    return words


def _nouns(words: list[int]) -> list[int]:
    """The position of the noun of each adjective's case; NO_ANSWER for nouns."""
    at = {case_of(one): i for i, one in enumerate(words) if one < _FIRST_ADJECTIVE}
    return [NO_ANSWER if one < _FIRST_ADJECTIVE else at[case_of(one)] for one in words]


def _words_at(words: list[int], positions: list[int]) -> list[int]:
    return [NO_ANSWER if at == NO_ANSWER else words[at] for at in positions]


def _padded(rows: list[list[int]], filler: int) -> Tensor:
    return torch.tensor([row + [filler] * (MAX_LENGTH - len(row)) for row in rows])
