# %% [markdown]
# # Lesson 15 · Tokenization: from bytes to tokens
#
# **You build** a tokenizer that learns its vocabulary from text, encodes every word of every language, and decodes every text exactly.
#
# **You need** the ideas of lessons 1, 9 and 12: tokens and embeddings, the next-token loss, and a vocabulary with special tokens. Python's dicts, lists and `bytes` are enough; there is no network to train.
#
# **You take away** your own byte pair encoding, with the same merges and token ids as Hugging Face's `tokenizers`. You also take away a test that finds tokenizers that encode wrongly, and a way to compare models whose tokens differ.
#
# **Time**: about 250 minutes: 155 for the exercises. Good places to stop are marked after about 85, 140 and 195.

# %% given imports
import importlib
import importlib.util
import math
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise, product
from pydoc_data.topics import topics
from typing import Any

import torch
from transformer_course import figures
from transformer_course.checks import Check, numbers
from transformer_course.data.declaration import FIRST, OTHERS

# %% [markdown]
# So far, each vocabulary was easy to list: the 103 characters of Python's documentation in lesson 9, and 29 words and special tokens in lesson 12. Now take the documentation again, with whole words as tokens. About 60,000 characters of it are the training text, and other paragraphs are the test text. A paragraph that occurs more than once is kept once, so that none is in both texts. The vocabulary is every word of the training text.
#
# (Your Python brings its own documentation. The numbers under “What to see” and in the answers are from ours, Python 3.11, and so are the recorded runs. Yours may differ somewhat, and individual words may be split differently.)

# %% folded=true
# Reads Python's documentation and splits it, by paragraphs, for training and testing: click to unfold.
TRAINING_SIZE, TEST_SIZE = 60_000, 20_000  # characters
Texts = list[str]


@cache
def paragraphs() -> Texts:
    """All different paragraphs that are longer than 60 characters, without tables."""
    pages = "\n\n".join(topics[name] for name in sorted(topics))
    texts = (" ".join(part.split()) for part in pages.split("\n\n"))
    kept = (text for text in texts if len(text) > 60 and not re.search(r"[-=+|]{3}", text))
    return list(dict.fromkeys(kept))  # pages repeat others: a copy in the test text would be known


@cache
def corpus(seed: int) -> tuple[Texts, Texts]:
    """Draw paragraphs without replacement: (training, test)."""
    drawn = iter(random.Random(seed).sample(paragraphs(), len(paragraphs())))
    parts: tuple[Texts, Texts] = [], []
    for part, size in zip(parts, (TRAINING_SIZE, TEST_SIZE), strict=True):
        while sum(map(len, part)) < size:
            part.append(next(drawn))
    return parts


# %% given split_words
def split_words(text: str) -> list[str]:
    """Split a text into words, punctuation and spaces; joined, they are the text again.

    A word or a run of punctuation keeps the single space in front of it: "to be, or" becomes
    "to", " be", "," and " or".
    """
    return re.findall(r" ?\w+| ?[^\w\s]+|\s+(?!\S)|\s", text)


def word_counts(texts: list[str]) -> Counter[str]:
    """How often each word occurs in these texts."""
    return Counter(word for text in texts for word in split_words(text))


# %%
known_words = word_counts(corpus(0)[0])
new_text = next(text for text in corpus(0)[1] if 190 < len(text) < 260)
print(
    f"{len(known_words):,} words are known. A new paragraph, as a model with these words reads it:\n"
)
print("".join(word if word in known_words else " [UNK]" for word in split_words(new_text)))

# %% [markdown]
# `[UNK]` is the **unknown token**: the one token that stands for every word that is not in the vocabulary. A word that the vocabulary lacks is **out of vocabulary**.
#
# **Predict.** Of 100 words in new paragraphs of the same documentation, how many are out of vocabulary?
#
# <details><summary>About 1</summary>With 60,000 characters of the same documentation known, one could hope so. Run the next cell.</details>
# <details><summary>About 3</summary>More. There are always rare words, and new ones.</details>
# <details><summary>About 10</summary>Yes. The words that are missing are the rare ones, and a rare word often says more than a frequent one.</details>


# %%
def unknown_share(seed: int) -> float:
    """The share of the test text's words, of letters only, that are not in the training text.

    A word is known with and without its space.
    """
    known, new = (
        Counter(word.strip() for text in part for word in split_words(text))
        for part in corpus(seed)
    )
    new = {word: count for word, count in new.items() if word.isalpha()}
    return sum(count for word, count in new.items() if word not in known) / sum(new.values())


figures.runs(
    {"five splits of the documentation": [unknown_share(seed) for seed in range(5)]},
    "share of the words",
    "Words out of vocabulary",
    bottom=0.0,
)

# %% [markdown]
# What to see: 10 to 12 of 100 words are unknown. (Here a word counts as known with or without its space.) The model cannot read them, and it can never write them. Some of them:

# %%
training_words, new_words = ({word.strip() for word in word_counts(part)} for part in corpus(0))
print(*sorted(word for word in new_words - training_words if word.isalpha())[::20])

# %% [markdown]
# *How can a model with a fixed vocabulary read every word, even one that nobody has written yet?* At the end of this lesson, your tokenizer makes this possible. It then needs about 2 tokens for a word of this documentation. (Here, a run of punctuation counts as a word, too.)

# %% [markdown]
# **Recall.** Three questions on lessons 1, 9 and 12. Answer first, then open your choice.
#
# 1. What does a model do first with a token id?
#
# <details><summary>It multiplies the id by a matrix</summary>The id is a name, not a quantity: token 40 is not twice token 20.</details>
# <details><summary>It looks up the row of that number in the embedding table</summary>Yes. So the number of tokens in the vocabulary is the number of rows.</details>
# <details><summary>It adds the position to the id</summary>The position has a vector of its own, which is added to the embedding.</details>
#
# 2. Two language models have losses of 2.5 and 3.6 nats. What are their perplexities?
#
# <details><summary>12 and 37</summary>Yes: e to the power of the loss. It says nothing yet about which model is better: see part 8.</details>
# <details><summary>2.5 and 3.6</summary>That is the loss itself, in nats per token.</details>
# <details><summary>6 and 12</summary>That is 2 to the power of the loss. A loss in nats needs e.</details>
#
# 3. A sequence of tokens gets three times as long. Full attention compares every pair of tokens: by what factor does the number of pairs grow?
#
# <details><summary>3</summary>Each token attends to all tokens, so both sides of the pair grow.</details>
# <details><summary>6</summary>Count the pairs: n queries with n keys each.</details>
# <details><summary>9</summary>Yes. So a tokenizer that makes long sequences makes an expensive model.</details>

# %%
print("e^2.5 =", round(math.exp(2.5)), "  e^3.6 =", round(math.exp(3.6)))

# %% [markdown]
# ## 1 · Bytes never fail
#
# A **tokenizer** turns text into a list of token ids, and a list of token ids back into text.
#
# A computer already stores every text as numbers. **Unicode** gives each character of the world's scripts a number, its *code point*; there are more than 150,000 so far. **UTF-8** writes each character as one to four bytes. A **byte** is an integer from 0 to 255. (What looks like one character may be several: é can also be an e and a separate accent.)

# %%
for character in "eé한🙂":
    print(f"{character}   code point {ord(character):7,}   bytes {list(character.encode())}")

# %% [markdown]
# So 256 tokens, one for each value of a byte, are enough for every text: there is no unknown token any more.
#
# **Predict.** How many bytes does the text `né 한` take in UTF-8? (The space counts.)
#
# <details><summary>4</summary>That is the number of characters.</details>
# <details><summary>7</summary>Yes: 1 + 2 + 1 + 3.</details>
# <details><summary>16</summary>Only with four bytes for each character. UTF-8 uses as few as it can.</details>

# %%
print(len("né 한"), len("né 한".encode()), list("né 한".encode()))

# %% [markdown]
# The price is the length of the sequences. Here are three tokenizers for the new paragraph above:

# %%
listed = {
    "words": (len(known_words) + 1, len(split_words(new_text))),
    "characters": (150_000, len(new_text)),
    "bytes": (256, len(new_text.encode())),
}
for name, (tokens_in_all, length) in listed.items():
    print(f"{name:11} vocabulary {tokens_in_all:7,}   sequence of {length:3} tokens")

# %% [markdown]
# What to see: in bytes, the sequence is more than 5 times as long as in words. Attention then compares about 31 times as many pairs, and a context of 1,000 tokens holds fewer than 200 words.
#
# There is a compromise between words and bytes: start with bytes, and give frequent *sequences* of bytes tokens of their own. **Subword tokenization** gives frequent words one token, and splits rare words into several tokens. An example, made by hand:

# %%
print("|".join(["re", "state", "ment"]), " or, in bytes:", "|".join("restatement"))

# %% [markdown]
# **From the lecture**: *Introduction to Transformers*, CS60216, the slide after “Adds positional information to the embeddings”. It asks how to decide the vocabulary size, and answers with subwords, “[BPE]” and 40K, that is 40,000 tokens.
#
# One step comes first, before any token is learned. **Pre-tokenization** splits a text into words by a fixed rule, and no token ever crosses from one word into the next. `split_words` keeps each space with the word that follows it.

# %%
print(split_words("To be, or not to be: that's it."))

# %% [markdown]
# So `be` and ` be` are two words, and no space is lost.
#
# ## 2 · Count pairs, merge one
#
# **Byte pair encoding** (BPE; Gage, 1994, and for translation Sennrich et al., 2016) repeats one step: find the most frequent pair of neighbouring tokens, and make it a new token. A **merge** replaces one pair of neighbouring tokens with a new token, wherever the pair occurs. (Sennrich et al. start from characters; GPT-2 (Radford et al., 2019) starts from bytes, as here.)
#
# Take *banana* (3 times), *bandana* (once) and *ananas* (twice). A dot separates tokens:
#
# | step | most frequent pair | how often | *banana* | *bandana* | *ananas* |
# | --- | --- | --- | --- | --- | --- |
# | 0 | | | b·a·n·a·n·a | b·a·n·d·a·n·a | a·n·a·n·a·s |
# | 1 | a·n | 12 | b·an·an·a | b·an·d·an·a | an·an·a·s |
# | 2 | an·a | 6 | b·an·ana | b·an·d·ana | an·ana·s |
# | 3 | an·ana | 5 | b·anana | b·an·d·ana | anana·s |
#
# **Predict.** How often does the pair n·a occur at step 0?
#
# <details><summary>5 times</summary>That counts each word once: 2 in <em>banana</em>, 1 in <em>bandana</em>, 2 in <em>ananas</em>. But the words occur 3 times, once and twice.</details>
# <details><summary>11 times</summary>Yes: 2 × 3 + 1 × 1 + 2 × 2. That is one less than a·n.</details>
# <details><summary>12 times</summary>That is a·n. In <em>bandana</em>, one n is followed by a d.</details>
#
# **Exercise** (12 minutes). Count the pairs. A word is a tuple of tokens, so it can be the key of a dict.
#
# <details><summary>Hint 1</summary>Two loops: over the words with their counts, and over the neighbours in a word. <code>itertools.pairwise</code> gives neighbours.</details>
# <details><summary>Hint 2</summary>A pair in a word that occurs 3 times counts 3 times. <code>Counter</code> starts each count at 0.</details>


# %% exercise pair_counts
def pair_counts(words: dict[tuple[int, ...], int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbouring tokens occurs in a text.

    words: the tokens of a word -> how often this word occurs in the text.
    -> pair -> how often it occurs in the text. Overlapping pairs all count: (7, 7, 7) has the pair
    (7, 7) twice. A pair that does not occur has no entry. A pair never spans two words.
    """
    # BEGIN SOLUTION
    occurrences: Counter[tuple[int, int]] = Counter()
    for word, times in words.items():
        for pair in pairwise(word):
            occurrences[pair] += times
    return dict(occurrences)
    # END SOLUTION


# %% check pair_counts points=2
hint = "for each word, for each two neighbours: add how often the word occurs"
with Check("pair_counts", "words that you can count by hand", hint) as check:
    one = check.call({(2, 1, 3, 1, 3, 1): 1}, returns=dict)
    often = check.call({(1, 2, 3): 4, (2, 3): 10, (5,): 7}, returns=dict)
    apart = check.call({(1, 2): 1, (3, 4): 1}, returns=dict)
    turned = check.call({(8, 9): 2, (9, 8): 5}, returns=dict)
    within = check.call({(1, 2, 4, 1, 2): 3}, returns=dict)
    check.equal(
        one,
        {(2, 1): 1, (1, 3): 2, (3, 1): 2},
        "one word, 2·1·3·1·3·1: two of its three pairs occur twice",
    )
    check.equal(
        often,
        {(1, 2): 4, (2, 3): 14},
        "1·2·3 occurs 4 times and 2·3 occurs 10 times, so the pair 2·3 occurs 14 times",
        hint="the dict tells how often each word occurs in the text",
    )
    check.equal(apart, {(1, 2): 1, (3, 4): 1}, "a pair never spans two words: 2·3 does not occur")
    check.equal(turned, {(8, 9): 2, (9, 8): 5}, "8·9 and 9·8 are two different pairs")
    check.equal(
        within,
        {(1, 2): 6, (2, 4): 3, (4, 1): 3},
        "a pair that occurs twice in a word that occurs 3 times counts 6 times",
    )
with Check("pair_counts", "runs of one token, and words without a pair", hint) as check:
    three = check.call({(7, 7, 7): 1}, returns=dict)
    four = check.call({(7, 7, 7, 7): 2, (7, 7): 1}, returns=dict)
    single = check.call({(5,): 3}, returns=dict)
    none = check.call({}, returns=dict)
    digits = check.call({(11, 2, 1, 2): 1, (1, 23): 3}, returns=dict)
    large = check.call({(200_000, 300, 200_000): 1_000_000}, returns=dict)
    check.equal(three, {(7, 7): 2}, "7·7·7 has the pair 7·7 twice, because overlaps count")
    check.equal(four, {(7, 7): 7}, "7·7·7·7 twice and 7·7 once: the pair occurs 2 · 3 + 1 times")
    check.equal(single, {}, "a word of one token has no pair, so the dict is empty")
    check.equal(none, {}, "no words, no pairs: the dict is empty")
    check.equal(
        digits,
        {(11, 2): 1, (2, 1): 1, (1, 2): 1, (1, 23): 3},
        "11·2 and 1·23 are not the pair 1·2: compare tokens, not digits",
    )
    check.equal(
        large,
        {(200_000, 300): 1_000_000, (300, 200_000): 1_000_000},
        "tokens and counts may be large",
    )
# BEGIN HIDDEN TESTS
with Check("pair_counts", "many words") as check:
    for seed, most, longest, size in ((1, 4, 9, 30), (2, 50_000, 6, 40), (3, 2, 12, 60)):
        draws = [int(abs(value) * 1e6) for value in numbers(size * 20, seed=seed).tolist()]
        words, at = {}, 0
        for _ in range(size):
            length = draws[at] % longest + 1
            word = tuple(most + draw % most for draw in draws[at + 2 : at + 2 + length])
            words[word] = draws[at + 1] % 5000 + 1
            at += 2 + length
        wanted = {}
        for word, count in words.items():
            for position in range(len(word) - 1):
                pair = (word[position], word[position + 1])
                wanted[pair] = wanted.get(pair, 0) + count
        check.equal(check.call(words, returns=dict), wanted, "counted one by one")
    chain = {(token, token + 1): token + 1 for token in range(1500)}
    check.equal(check.call(chain, returns=dict), chain, "1,500 different pairs")
    check.equal(
        check.call({(0, 0, 0, 0, 0): 3, (0, 256, 0): 2, (): 4}, returns=dict),
        {(0, 0): 12, (0, 256): 2, (256, 0): 2},
        "token 0, tokens above 255, and a word without tokens",
    )
    check.equal(
        check.call({(1, 257): 2**24, (257, 1): 1, (1, 1, 257): 1}, returns=dict),
        {(1, 257): 2**24 + 1, (257, 1): 1, (1, 1): 1},
        "tokens that are alike when divided by 256, and a large count",
    )
# END HIDDEN TESTS

# %% [markdown]
# Your function, on the three words above:


# %%
def in_bytes(counts: dict[str, int]) -> dict[tuple[int, ...], int]:
    """Words as tuples of their bytes, with how often they occur."""
    return {tuple(word.encode()): count for word, count in counts.items()}


fruit = in_bytes({"banana": 3, "bandana": 1, "ananas": 2})
for some_pair, count in sorted(pair_counts(fruit).items(), key=lambda item: -item[1]):
    print(bytes(some_pair).decode(), count)

# %% [markdown]
# Now the merge. Only one thing needs care: in a·a·a the pair a·a occurs twice, but the middle a can be merged only once.
#
# **Predict.** The pair a·a becomes A. What becomes of a·a·a·a·a, merged from the left?
#
# <details><summary>A·A·a</summary>Yes. After each merge, continue after the pair.</details>
# <details><summary>a·A·A</summary>That is merging from the right.</details>
# <details><summary>A·A·A·A</summary>There are four overlapping pairs, but each token is used only once.</details>
#
# **Exercise** (15 minutes). Write the merge of one pair in one word.
#
# <details><summary>Hint 1</summary>Keep an index of your own, in a <code>while</code> loop: it advances by 2 after a merge, and by 1 otherwise.</details>
# <details><summary>Hint 2</summary>The last token has no right neighbour. A slice of two tokens never fails, but it may be shorter.</details>


# %% exercise merge
def merge(tokens: Sequence[int], pair: tuple[int, int], new_token: int) -> list[int]:
    """Replace each occurrence of a pair by a new token, from left to right.

    tokens: a list or a tuple, which stays as it is; it may be empty. new_token is not in the pair.
    -> a new list. Each token is part of one merge at most: (7, 7, 7) with the pair (7, 7) and the
    new token 300 becomes [300, 7].
    """
    # BEGIN SOLUTION
    merged, at = [], 0
    while at < len(tokens):
        found = tuple(tokens[at : at + 2]) == pair
        merged.append(new_token if found else tokens[at])
        at += 2 if found else 1
    return merged
    # END SOLUTION


# %% check merge points=2
hint = "walk from the left; where the pair begins, append the new token and continue after the pair"
with Check("merge", "one pair, by hand", hint) as check:
    inside = check.call([2, 1, 3, 1, 3, 1], (1, 3), 256, returns=list)
    at_end = check.call([4, 4, 1, 3], (1, 3), 256, returns=list)
    nothing = check.call([3, 1, 2, 3], (1, 3), 256, returns=list)
    spread = check.call([1, 9, 3, 1, 9], (1, 3), 256, returns=list)
    mixed = check.call([1, 1, 3, 3, 1, 3], (1, 3), 300, returns=list)
    digits = check.call([11, 3, 1, 3, 1, 33], (1, 3), 256, returns=list)
    check.equal(inside, [2, 256, 256, 1], "2·1·3·1·3·1 with 1·3 as 256 becomes 2·256·256·1")
    check.equal(at_end, [4, 4, 256], "a pair at the end is merged, too")
    check.equal(nothing, [3, 1, 2, 3], "3·1 is not the pair 1·3: nothing changes")
    check.equal(spread, [1, 9, 3, 1, 9], "1 and 3 with a 9 between them are no pair")
    check.equal(mixed, [1, 300, 3, 300], "1·1·3·3·1·3 becomes 1·300·3·300")
    check.equal(digits, [11, 3, 256, 1, 33], "11·3 and 1·33 are not the pair 1·3: compare tokens")
with Check("merge", "runs of one token", hint) as check:
    results = [check.call([7] * length, (7, 7), 256, returns=list) for length in (2, 3, 4, 5)]
    between = check.call([7, 7, 7, 8, 7, 7], (7, 7), 256, returns=list)
    for result, wanted in zip(results, ([256], [256, 7], [256, 256], [256, 256, 7]), strict=True):
        length = sum(2 if token == 256 else 1 for token in wanted)
        check.equal(
            result,
            wanted,
            f"{length} equal tokens: from the left, each is part of one merge at most",
            hint="after a merge, continue after the pair",
        )
    check.equal(between, [256, 7, 8, 256], "7·7·7·8·7·7 becomes 256·7·8·256")
with Check("merge", "short inputs, tuples and large tokens", hint) as check:
    empty = check.call([], (1, 3), 256, returns=list)
    one = check.call([1], (1, 0), 256, returns=list)
    both = check.call((5, 1, 3), (1, 3), 256, returns=list)
    base = len(both) * 50_000  # computed, so that equal numbers are different objects
    large = check.call([base, base + 1, base], (base + 0, base + 1), base + 7, returns=list)
    zero = check.call([0, 0, 1, 0], (0, 1), 256, returns=list)
    check.equal(empty, [], "no tokens: an empty list")
    check.equal(one, [1], "a single token stays")
    check.equal(both, [5, 256], "a tuple of tokens becomes a list")
    check.equal(large, [100_007, 100_000], "tokens above 256 are compared by value: use ==, not is")
    check.equal(zero, [0, 256, 0], "token 0 is a token like any other")
# BEGIN HIDDEN TESTS
with Check("merge", "many inputs") as check:
    for seed, kinds, size in ((1, 2, 40), (2, 3, 61), (3, 5, 200), (4, 2, 3), (5, 1, 7), (6, 2, 2)):
        tokens = [1000 + int(abs(v) * 1e6) % kinds for v in numbers(size, seed=seed).tolist()]
        for pair in ((1000, 1000), (1000, 1001), (1001, 1000), (1001, 1001), (1002, 1000)):
            spelled = "".join(chr(token) for token in tokens)
            spelled = spelled.replace(chr(pair[0]) + chr(pair[1]), chr(5000 + seed))
            wanted = [ord(character) for character in spelled]
            for given in (list(tokens), tuple(tokens)):
                check.equal(check.call(given, pair, 5000 + seed, returns=list), wanted, "merged")
    check.equal(
        check.call([256, 257, 0, 256, 257], (256, 257), 0, returns=list),
        [0, 0, 0],
        "token 0 as new",
    )
    check.equal(check.call([12, 3, 1, 23], (1, 23), 500, returns=list), [12, 3, 500], "no digits")
    check.equal(
        check.call([112, 3, 1, 123], (12, 3), 500, returns=list), [112, 3, 1, 123], "digits"
    )
    check.equal(check.call((), (4, 4), 9, returns=list), [], "an empty tuple")
# END HIDDEN TESTS

# %%
for some_word in fruit:
    print(bytes(some_word).decode(), "→", merge(some_word, (97, 110), 256))  # 97 is a, 110 is n

# %% [markdown]
# ## 3 · Train
#
# Training repeats count and merge. The tokens 0 to 255 are the bytes; the first merge makes token 256, the next one 257, and so on. The result is the list of merges, *in the order learned*.
#
# Two rules complete it. If several pairs are equally frequent (a tie), the smallest is taken: compare the first token, then the second, as Python compares tuples. If no pair is left, training ends early.
#
# **Predict.** The words are `ba` and `ab`, once each. (a is 97, b is 98.) Which pair is merged first?
#
# <details><summary>b·a, since it is seen first</summary>Then the result would depend on the order of the words. The rule is: the smallest pair.</details>
# <details><summary>a·b</summary>Yes: (97, 98) is smaller than (98, 97).</details>
# <details><summary>None: each occurs only once</summary>One occurrence is enough. Training ends only when no pair is left, or when it has as many merges as you asked for.</details>
#
# **Exercise** (25 minutes). Train. Use your two functions.
#
# <details><summary>Hint 1</summary><code>max(counts, key=…)</code> gives a most frequent pair, but in a tie the first that it meets. Which key makes a smaller pair count as larger? Or: which key does <code>min</code> need?</details>
# <details><summary>Hint 2</summary>After each merge, make a new dict of words. Its keys have to be tuples again.</details>
# <details><summary>Hint 3</summary>Count again after every merge: the new token makes new pairs.</details>


# %% exercise train_bpe
def train_bpe(words: dict[tuple[int, ...], int], num_merges: int) -> list[tuple[int, int]]:
    """Learn merges from words by byte pair encoding.

    words: the bytes of a word (0 to 255) -> how often this word occurs.
    -> merges: at most num_merges pairs, in the order learned; merge i makes the token 256 + i.
    Each is the most frequent pair at its time, in the words as the earlier merges have left them;
    in a tie, the smallest. Ends early when no pair is left.
    """
    # BEGIN SOLUTION
    merges: list[tuple[int, int]] = []
    while len(merges) < num_merges and (counts := pair_counts(words)):
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        words = {
            tuple(merge(word, best, 256 + len(merges))): times for word, times in words.items()
        }
        merges.append(best)
    return merges
    # END SOLUTION


# %% check train_bpe points=3
hint = "count, take the most frequent pair (in a tie, the smallest), merge it in all words, repeat"
with Check("train_bpe", "three words, by hand", hint) as check:
    fruit = {tuple(word.encode()): n for word, n in (("banana", 3), ("bandana", 1), ("ananas", 2))}
    first = check.call(fruit, 1, returns=list)
    three = check.call(fruit, 3, returns=list)
    often = check.call({(120, 121): 5, (120, 122): 9, (50, 120, 122): 3}, 2, returns=list)
    digits = check.call({(97, 98): 5, (197, 98): 3}, 2, returns=list)
    check.equal(first, [(97, 110)], "the most frequent pair is a·n (97, 110), 12 times")
    check.equal(
        three,
        [(97, 110), (256, 97), (256, 257)],
        "then an·a (256, 97), and then an·ana (256, 257)",
    )
    check.equal(often, [(120, 122), (120, 121)], "x·z occurs 9 + 3 times, x·y only 5 times")
    check.equal(
        digits,
        [(97, 98), (197, 98)],
        "197·98 is not the pair 97·98, and stays when that is merged: compare tokens, not digits",
    )
with Check("train_bpe", "pairs that are equally frequent", hint) as check:
    both = check.call({(98, 97): 1, (97, 98): 1}, 2, returns=list)
    second = check.call({(5, 10): 4, (5, 7): 4, (6, 1): 4}, 3, returns=list)
    later = check.call({(1, 2, 9): 3, (1, 2, 3): 3, (4, 8): 3}, 4, returns=list)
    rare = check.call({(9, 9): 2, (1, 1): 1}, 2, returns=list)
    inside = check.call({(1, 2, 3): 4}, 3, returns=list)
    check.equal(
        both,
        [(97, 98), (98, 97)],
        "of equally frequent pairs the smallest comes first, wherever it is seen",
    )
    check.equal(second, [(5, 7), (5, 10), (6, 1)], "first tokens are compared, then second ones")
    check.equal(
        later,
        [(1, 2), (4, 8), (256, 3), (256, 9)],
        "a tie between old and new tokens: 4·8 is smaller than 256·3",
    )
    check.equal(rare, [(9, 9), (1, 1)], "the smallest wins only among equally frequent pairs")
    check.equal(
        inside, [(1, 2), (256, 3)], "1·2·3: once 1·2 is merged, 2·3 does not occur any more"
    )
with Check("train_bpe", "runs, and an early end", hint) as check:
    runs = check.call({(97, 97, 97, 97): 1}, 5, returns=list)
    five = check.call({(97,) * 5: 2, (98, 97): 5}, 3, returns=list)
    short = check.call({(104, 105): 3}, 10, returns=list)
    zero = check.call({(104, 105): 3}, 0, returns=list)
    single = check.call({(104,): 3}, 4, returns=list)
    nothing = check.call({}, 4, returns=list)
    check.equal(runs, [(97, 97), (256, 256)], "a·a·a·a becomes aa·aa and then one token")
    check.equal(
        five,
        [(97, 97), (98, 97), (256, 97)],
        "a·a·a·a·a twice has a·a 8 times; merged, it is aa·aa·a, and b·a occurs 5 times",
    )
    check.equal(short, [(104, 105)], "h·i is one token after the first merge: training ends early")
    check.equal(zero, [], "no merges are asked for: an empty list")
    check.equal(single, [], "a word of one byte has no pair: an empty list")
    check.equal(nothing, [], "no words: an empty list")
# BEGIN HIDDEN TESTS
with Check("train_bpe", "longer trainings") as check:

    def trained_by_text(words, num_merges):
        spelled = {"".join(map(chr, word)): count for word, count in words.items()}
        learned = []
        while len(learned) < num_merges:
            counts = {}
            for text, count in spelled.items():
                for position in range(len(text) - 1):
                    key = text[position : position + 2]
                    counts[key] = counts.get(key, 0) + count
            if not counts:
                break
            top = max(counts.values())
            best = min(key for key, count in counts.items() if count == top)
            learned.append((ord(best[0]), ord(best[1])))
            new = chr(255 + len(learned))
            spelled = {text.replace(best, new): count for text, count in spelled.items()}
        return learned

    for seed, kinds, size, merges in (
        (1, 2, 9, 12),
        (2, 3, 25, 40),
        (3, 26, 60, 80),
        (4, 4, 30, 25),
    ):
        draws = [int(abs(value) * 1e6) for value in numbers(size * 12, seed=seed).tolist()]
        words = {}
        for position in range(size):
            part = draws[12 * position : 12 * position + 12]
            word = tuple(230 + draw % kinds for draw in part[: part[10] % 9 + 1])
            words[word] = part[11] % (3 if seed % 2 else 900) + 1
        check.equal(
            check.call(words, merges, returns=list), trained_by_text(words, merges), "merges"
        )
        turned = dict(reversed(words.items()))
        check.equal(
            check.call(turned, merges, returns=list),
            trained_by_text(words, merges),
            "the words in another order: the same merges",
        )
    for words, claim in (
        ({(0, 255): 7, (255, 0): 7, (0, 1): 7, (3, 0, 1): 1}, "bytes 0 and 255"),
        ({(250, 1): 3, (1, 2): 2, (32, 97): 1}, "counts that differ by 1, and a space"),
        ({(1, 2): 2**24, (3, 4): 2**24 + 1}, "large counts that differ by 1"),
        ({(1, 2): 9, (3, 6): 5, (4, 3, 6): 3, (5, 0): 3}, "a tie of 4·257 and 5·0"),
    ):
        check.equal(check.call(words, 9, returns=list), trained_by_text(words, 9), claim)
# END HIDDEN TESTS

# %% [markdown]
# Train on the documentation. (This takes a few seconds.)


# %%
NUM_MERGES = 400


@cache  # trains at the first call
def learned_merges(seed: int = 0) -> list[tuple[int, int]]:
    """The merges of the training text of this split."""
    words = word_counts(corpus(seed)[0])
    began = time.process_time()
    train_bpe(in_bytes(words), 4)
    seconds = (time.process_time() - began) * NUM_MERGES / 4
    if seconds > 60:  # ours: 3; going over all words again for each pair: 130
        told = f"{NUM_MERGES} merges would take more than {seconds:.0f} s"
        raise RuntimeError(f"{told}: let pair_counts and train_bpe go over the words once a merge")
    return train_bpe(in_bytes(words), NUM_MERGES)


print(learned_merges()[:8])

# %% [markdown]
# Pairs of numbers say little. The vocabulary is the list of all tokens as `bytes`: for each merge, the bytes of its two tokens joined.
#
# **Exercise** (8 minutes). Make this list.
#
# <details><summary>Hint 1</summary>A merge may use tokens that earlier merges have made. Go through them in order, and the list always holds what you need.</details>
# <details><summary>Hint 2</summary><code>bytes([200])</code> is the byte 200. <code>bytes(200)</code> is 200 zeros.</details>


# %% exercise vocabulary
def vocabulary(merges: list[tuple[int, int]]) -> list[bytes]:
    """List the bytes that each token stands for, in the order of the tokens.

    -> 256 + len(merges) entries: the single bytes 0 to 255, then one for each merge.
    """
    # BEGIN SOLUTION
    entries = [bytes([byte]) for byte in range(256)]
    for left, right in merges:
        entries.append(entries[left] + entries[right])
    return entries
    # END SOLUTION


# %% check vocabulary points=1
hint = (
    "first bytes([0]) to bytes([255]); then, merge by merge, the entries of its two tokens joined"
)
with Check("vocabulary", "bytes, and two merges", hint) as check:
    plain = check.call([], returns=list)
    two = check.call([(97, 98), (256, 99)], returns=list)
    check.equal(len(plain), 256, "without merges there are 256 entries")
    check.equal(plain[97], b"a", "token 97 is the byte 97, b'a'", hint="bytes([97]) is b'a'")
    check.equal(plain[200], b"\xc8", "token 200 is the single byte 200", hint="bytes([200])")
    check.equal(plain[0], b"\x00", "token 0 is the single byte 0")
    check.equal(len(two), 258, "with two merges there are 258 entries")
    check.equal(two[256:], [b"ab", b"abc"], "256 is a·b, and 257 is that, followed by c")
    check.equal(two[:256], plain, "the first 256 entries are the single bytes, in order")
with Check("vocabulary", "tokens of tokens, and parts of characters", hint) as check:
    fruit_tokens = check.call([(97, 110), (256, 97), (256, 257), (98, 258)], returns=list)
    euro = check.call([(226, 130), (256, 172), (172, 226)], returns=list)
    alike = check.call([(97, 98), (256, 97), (98, 97), (97, 258)], returns=list)
    check.equal(fruit_tokens[256:], [b"an", b"ana", b"anana", b"banana"], "an, ana, anana, banana")
    check.equal(
        euro[256:],
        [b"\xe2\x82", b"\xe2\x82\xac", b"\xac\xe2"],
        "an entry may be a part of a character: it is bytes, never text",
    )
    check.equal(
        alike[256:],
        [b"ab", b"aba", b"ba", b"aba"],
        "ab·a and a·ba are two tokens with the same bytes: both are listed",
    )
# BEGIN HIDDEN TESTS
with Check("vocabulary", "longer lists") as check:
    for seed, size in ((1, 5), (2, 60), (3, 330)):
        draws = [int(abs(value) * 1e6) for value in numbers(size * 2, seed=seed).tolist()]
        merges, spelled = [], [chr(byte) for byte in range(256)]
        while len(merges) < size:
            left, right = (draw % len(spelled) for draw in draws[2 * len(merges) :][:2])
            if len(spelled[left] + spelled[right]) > 40:
                left, right = left % 256, right % 256
            merges.append((left, right))
            spelled.append(spelled[left] + spelled[right])
        wanted = [text.encode("latin-1") for text in spelled]
        check.equal(check.call(merges, returns=list), wanted, "every entry")
# END HIDDEN TESTS


# %%
def shown(entry: bytes) -> str:
    """A token for reading: its text, or its bytes in hexadecimal if they are no whole character."""
    try:
        return entry.decode().replace(" ", "␣")
    except UnicodeDecodeError:
        return "".join(f"⟨{byte:02X}⟩" for byte in entry)


@cache
def token_names() -> list[str]:
    """Every token of your vocabulary, for reading."""
    return [shown(entry) for entry in vocabulary(learned_merges())]


some_names = token_names()
print("first:  ", *some_names[256:280])
print("last:   ", *some_names[-16:])
print("longest:", *map(shown, sorted(vocabulary(learned_merges()), key=len)[-8:]))

# %% [markdown]
# What to see: the first merges join two letters, or a space and a letter. They soon make *the* with its space in front. Later ones make whole words. Word borders come from `split_words`. Within a word, frequency and the rule for ties decide what becomes a token.
#
# **A good place to stop.** Next: encode. (Back later? Run all cells above first.)
#
# ## 4 · Encode
#
# To encode a new word, start with its bytes, and apply the merges *in the order learned*: first merge 0 wherever its pair occurs, then merge 1, and so on.
#
# **Predict.** The merges are a·b → 256, then b·c → 257. How is `abc` encoded?
#
# <details><summary>[256, 99]</summary>Yes. Merge 0 makes ab·c, and then there is no b·c left.</details>
# <details><summary>[97, 257]</summary>Only if b·c had been learned first.</details>
# <details><summary>[258]</summary>There are only two merges, and neither of them joins ab·c.</details>
#
# **Exercise** (20 minutes). Write `encode` for one word, given as text.
#
# <details><summary>Hint 1</summary><code>word.encode()</code> gives the bytes, and <code>list</code> of them the numbers.</details>
# <details><summary>Hint 2</summary>A loop over the merges with their numbers, and your <code>merge</code> in it.</details>
# <details><summary>Hint 3: faster</summary>Most merges do not occur in a word. Skip those whose first token is not in it.</details>


# %% exercise encode
def encode(word: str, merges: list[tuple[int, int]]) -> list[int]:
    """Turn one word, any text, into tokens: its UTF-8 bytes, then the merges in the order learned.

    The word is taken exactly as it is: spaces, capital letters and accents count.
    """
    # BEGIN SOLUTION
    tokens = list(word.encode())
    for number, pair in enumerate(merges):
        if pair[0] in tokens:  # saves time, nothing else
            tokens = merge(tokens, pair, 256 + number)
    return tokens
    # END SOLUTION


# %% check encode points=3
hint = "start with list(word.encode()), then apply each merge in turn, everywhere in the word"
with Check("encode", "words by hand", hint) as check:
    merges = [(97, 98), (98, 99), (256, 99), (97, 97)]
    in_order = check.call("abc", merges[:2], returns=list)
    exchanged = check.call("abc", merges[1::-1], returns=list)
    built = check.call("xabcab", merges, returns=list)
    late = check.call("bcab", merges, returns=list)
    three = check.call("aaa", merges, returns=list)
    beside = check.call("aab", merges, returns=list)
    both = check.call("caccaca", [(99, 99), (99, 97), (97, 99)], returns=list)
    rare = check.call("aacacab", [(99, 97), (256, 99), (97, 99), (97, 97)], returns=list)
    short = check.call("abc", [(97, 98), (98, 99), (97, 257)], returns=list)
    plain = check.call("abc", [], returns=list)
    check.equal(plain, [97, 98, 99], "without merges, abc is its three bytes")
    check.equal(in_order, [256, 99], "merge 0 is a·b, so abc becomes ab·c, and b·c is gone")
    check.equal(exchanged, [97, 256], "other merges, with b·c as merge 0: abc becomes a·bc")
    check.equal(built, [120, 258, 256], "a merge may use the token of an earlier one: x·abc·ab")
    check.equal(late, [257, 256], "each merge is applied wherever its pair occurs: bc·ab")
    check.equal(three, [259, 97], "aaa: the pair a·a is merged from the left")
    check.equal(
        beside,
        [97, 256],
        "aab: a·b was learned before a·a, so it is merged first, although it is further right",
        hint="the order learned decides, not the position in the word",
    )
    check.equal(both, [257, 256, 97, 257], "caccaca: c·c was learned before c·a and a·c")
    check.equal(rare, [259, 256, 256, 98], "aacacab: c·a was learned before a·c and a·a")
    check.equal(short, [256, 99], "abc: a·b was learned before b·c, so b·c is gone")
with Check("encode", "order learned, not the position or the length", hint) as check:
    longer = check.call(
        "abcd", [(98, 99), (97, 98), (256, 100), (257, 99), (259, 100)], returns=list
    )
    chain = check.call("abab", [(97, 98), (256, 256)], returns=list)
    run = check.call("aaaaa", [(97, 97), (256, 97), (256, 256)], returns=list)
    check.equal(
        longer,
        [97, 258],
        "b·c was learned first: abcd is a·bcd, although abcd is in the vocabulary",
        hint="the longest token does not win",
    )
    check.equal(chain, [257], "ab·ab is the second merge: abab is one token")
    check.equal(
        run, [256, 257], "aaaaa: aa·aa·a, then aa·a is merged, which was learned before aa·aa"
    )
with Check("encode", "a word is taken as it is", hint) as check:
    merges = [(32, 97), (97, 98), (195, 169), (256, 98)]
    space = check.call(" ab", merges, returns=list)
    spaces = check.call("  ab ", merges, returns=list)
    accent = check.call("aé", merges, returns=list)
    digits = check.call("Äa", merges, returns=list)
    capital = check.call("AB", merges, returns=list)
    korean = check.call("한", merges, returns=list)
    empty = check.call("", merges, returns=list)
    composed = check.call("e\u0301", merges, returns=list)
    check.equal(space, [259], "the space in front belongs to the word")
    check.equal(spaces, [32, 259, 32], "all spaces stay, those after the word too")
    check.equal(accent, [97, 258], "é is the two bytes 195 and 169, which a merge may join")
    check.equal(digits, [195, 132, 97], "132·97 is not the pair 32·97: compare tokens, not digits")
    check.equal(capital, [65, 66], "capital letters stay")
    check.equal(korean, [237, 149, 156], "한 is three bytes")
    check.equal(empty, [], "an empty text has no tokens")
    check.equal(composed, [101, 204, 129], "e and a separate accent stay two characters")
# BEGIN HIDDEN TESTS
with Check("encode", "many words") as check:

    def encoded_by_text(word, merges):
        spelled = "".join(map(chr, word.encode()))
        for number, (left, right) in enumerate(merges):
            spelled = spelled.replace(chr(left) + chr(right), chr(256 + number))
        return [ord(character) for character in spelled]

    learned = {"many": [], "few": []}
    rows = (10 * numbers(90, 8, seed=7).abs()).long().tolist()
    base = ["the", "then", "than", "hat", "that", "chat", "bat", "batch", "match", "each"]
    base += ["teach", "reach", "peach", "cheap", "heap"]
    drawn = {"".join("thecabpmrl "[n % 11] for n in row): 2 for row in rows}
    usual = {word + other: 1 + len(word) % 3 for word in base for other in (*base[:4], "")}
    for name, size, words in (("few", 25, usual), ("many", 330, drawn)):
        spelled = {"".join(map(chr, word.encode())): count for word, count in words.items()}
        for number in range(size):
            counts = {}
            for text, count in spelled.items():
                for one, two in pairwise(text):
                    counts[one + two] = counts.get(one + two, 0) + count
            best = min(counts, key=lambda key, counts=counts: (-counts[key], key))
            learned[name].append((ord(best[0]), ord(best[1])))
            spelled = {t.replace(best, chr(256 + number)): c for t, c in spelled.items()}
    texts = [
        *base,
        " thebatchhat",
        "heapheapheap",
        "teateatea",
        "aaaa",
        "  the ",
        "the\n",
        "TheThat",
    ]
    texts += ["éaché", "thé", "the🙂at", "한hat", "eacheacheacheach", "\tthat\t", "t", "ﬁthe"]
    texts += ["ththth", "the\r\nhat\r", "\0the\0", "a" * 150]
    texts += [word + word[:3] for word in list(drawn)[-40:]]  # these need the last merges, too
    for merges in learned.values():
        for text in texts:
            check.equal(
                check.call(text, merges, returns=list), encoded_by_text(text, merges), "tokens"
            )
    runs = [(97, 97), (256, 256), (257, 97), (97, 98), (256, 98)]
    for length in range(1, 13):
        for text in ("a" * length, "a" * length + "b", "b" + "a" * length + "b" + "a" * length):
            check.equal(check.call(text, runs, returns=list), encoded_by_text(text, runs), "runs")
    odd = [(104, 101), (116, 256), (101, 104), (256, 256), (257, 258), (32, 257), (260, 32)]
    for text in ("the", "hehe", "thehe", " thehe", "ehehe", " the ", "hehehehe", "tthhee"):
        check.equal(check.call(text, odd, returns=list), encoded_by_text(text, odd), "by order")
# END HIDDEN TESTS


# %%
@cache
def tokens_of(word: str, seed: int = 0, num_merges: int = NUM_MERGES) -> list[int]:
    """The tokens of a word with the first `num_merges` merges of a split."""
    return encode(word, learned_merges(seed)[:num_merges])


some_words = [" the", " statement", " statements", " restatement", " antidisestablishment", " 한"]
for some_word in some_words:
    print("|".join(token_names()[token] for token in tokens_of(some_word)))

# %% [markdown]
# What to see: *the* is one token, together with its space. *statement* is not frequent enough for that: 400 merges leave it in three pieces. In *restatement*, the same letters are split in another way (st·ate·ment), since no space stands in front of them. New words are split into known pieces, and 한 into its bytes. No word is unknown.
#
# ### Bug hunt: an encoder that merges as it reads
#
# In this lesson, an encoder is a function from a word to tokens, not the encoder of lesson 7. Here is one that needs only one pass over the word. It reads byte by byte, and as long as the last two tokens are the pair of a merge, it merges them:


# %%
def as_it_reads(word: str, merges: list[tuple[int, int]]) -> list[int]:
    """Encode a word in one pass: merge the last two tokens as soon as they are a known pair."""
    new_tokens = {joined: 256 + at for at, joined in enumerate(merges)}
    row: list[int] = []
    for byte in word.encode():
        row.append(byte)
        while tuple(row[-2:]) in new_tokens:
            row[-2:] = [new_tokens[row[-2], row[-1]]]
    return row


# minbpe (Karpathy, 2024) trains three merges on this text, and expects these tokens
famous = [(97, 97), (256, 97), (257, 98)]
print(as_it_reads("aaabdaaabac", famous), "expected [258, 100, 258, 97, 99]")

# %% [markdown]
# The encoder gives the expected tokens. Is it right for every word? Write your guess down.
#
# **Exercise** (20 minutes). Let a test decide: a function that takes any encoder, and returns whether it gives the right tokens. A wrong encoder may be wrong for only a few words, so choose your words and merges with care.
#
# <details><summary>Hint 1</summary>Take your own <code>encode</code> as the reference: its check has tested it on many words. Compare with it on many words and several lists of merges.</details>
# <details><summary>Hint 2</summary>What could be wrong? The order of merges, runs such as aaa, a merge of merges, a space at either end, capital letters, é.</details>
# <details><summary>Hint 3</summary>Take a small alphabet, and try every short text over it: <code>itertools.product("ab", repeat=5)</code> gives all 32 sequences of five letters, each a or b, as tuples; <code>"".join(letters)</code> makes a text of one. Such short texts find more mistakes than a few long words. Choose merges that compete for the same letters, such as a·b and b·a.</details>


# %% exercise is_right_encoder
def is_right_encoder(encoder: Callable[[str, list[tuple[int, int]]], list[int]]) -> bool:
    """Return True if `encoder` gives the tokens that `encode` should give, and False otherwise.

    encoder: called as encoder(word, merges) -> a list of tokens. You choose words and merges, at
    most 1,000 calls. A wrong encoder may go wrong with the order of the merges, with runs of a
    letter, with merges of merges, with spaces, capital letters, or characters of several bytes.
    """
    # BEGIN SOLUTION
    lists = [
        [(97, 98), (98, 97), (256, 97), (97, 97), (256, 256), (98, 257)],
        [(97, 97), (256, 97), (256, 256), (98, 97), (32, 97), (195, 169)],
    ]
    short = ["".join(letters) for size in range(1, 5) for letters in product("ab", repeat=size)]
    odd = [" ab", "ab ", "é ", "aéb", "Ab", "ba\n", "한", "aaaaa", "ababa"]
    return all(encoder(*one) == encode(*one) for one in product([*odd, *short], lists))
    # END SOLUTION


# %% check is_right_encoder points=2
hint = "compare with your own encode on all short texts, and on spaces, capital letters and é"
with Check("is_right_encoder", "right encoders, and wrong ones", hint) as check:

    def made_encoders(calls):
        def spelled_out(word, merges):
            spelled = "".join(map(chr, word.encode()))
            for number, (left, right) in enumerate(merges):
                spelled = spelled.replace(chr(left) + chr(right), chr(256 + number))
            return [ord(character) for character in spelled]

        def counted(word, merges):
            calls.append(word)
            return spelled_out(word, merges)

        def first_learned(word, merges):
            row = [*word.encode()]
            for pair in merges:
                spots = [i for i in range(len(row) - 1) if (row[i], row[i + 1]) == pair]
                taken = []
                for spot in spots:
                    if not taken or spot > taken[-1] + 1:
                        taken.append(spot)
                for spot in reversed(taken):
                    row[spot : spot + 2] = [256 + merges.index(pair)]
            return row

        def reading(word, merges):
            known = {pair: 256 + i for i, pair in enumerate(merges)}
            row = []
            for byte in word.encode():
                row.append(byte)
                while tuple(row[-2:]) in known:
                    row[-2:] = [known[row[-2], row[-1]]]
            return row

        def leftmost(word, merges):
            known, row = {pair: 256 + i for i, pair in enumerate(merges)}, [*word.encode()]
            while spots := [i for i in range(len(row) - 1) if (row[i], row[i + 1]) in known]:
                row[spots[0] : spots[0] + 2] = [known[row[spots[0]], row[spots[0] + 1]]]
            return row

        def last_learned(word, merges):
            known, row = {pair: 256 + i for i, pair in enumerate(merges)}, [*word.encode()]
            while spots := [i for i in range(len(row) - 1) if (row[i], row[i + 1]) in known]:
                spot = max(spots, key=lambda i: known[row[i], row[i + 1]])
                row[spot : spot + 2] = [known[row[spot], row[spot + 1]]]
            return row

        def from_the_right(word, merges):
            row = [*word.encode()]
            for new, pair in enumerate(merges, 256):
                spot = len(row) - 2
                while spot >= 0:
                    if (row[spot], row[spot + 1]) == pair:
                        row[spot : spot + 2] = [new]
                        spot -= 1
                    spot -= 1
            return row

        def once(word, merges):
            spelled = "".join(map(chr, word.encode()))
            for number, (left, right) in enumerate(merges):
                spelled = spelled.replace(chr(left) + chr(right), chr(256 + number), 1)
            return [ord(character) for character in spelled]

        def of_bytes_only(word, merges):
            return spelled_out(word, [pair if max(pair) < 256 else (0, 0) for pair in merges])

        def code_points(word, merges):
            def sign(token):
                return chr(token if token < 256 else 0xF0000 + token)

            spelled = word
            for number, (left, right) in enumerate(merges):
                spelled = spelled.replace(sign(left) + sign(right), sign(256 + number))
            return [ord(c) - 0xF0000 * (ord(c) > 0xF0000) for c in spelled]

        return {
            "right": {
                "one merge after another, on a text": counted,
                "one merge after another, on a list": first_learned,
            },
            "wrong": {
                "the encoder that merges as it reads": reading,
                "one that applies no merge": lambda word, merges: [*word.encode()],
                "one that always merges the leftmost pair": leftmost,
                "one that always merges the pair that was learned last": last_learned,
                "one that merges a run from the right": from_the_right,
                "one that applies each merge only once in a word": once,
                "one that never merges a merged token": of_bytes_only,
                "one that encodes characters, not bytes": code_points,
                "one that drops the space in front": lambda w, m: spelled_out(w.lstrip(" "), m),
                "one that drops spaces at the end": lambda w, m: spelled_out(w.rstrip(), m),
                "one that lowercases the text": lambda w, m: spelled_out(w.lower(), m),
                "one that merges as it reads, unless the word is a run of one letter": (
                    lambda w, m: reading(w, m) if len(set(w)) > 1 else spelled_out(w, m)
                ),
                "one that gives the tokens in reverse order": lambda w, m: spelled_out(w, m)[::-1],
                "one that numbers new tokens from 257": lambda w, m: [
                    t + (t > 255) for t in spelled_out(w, m)
                ],
            },
        }

    calls = []
    encoders = made_encoders(calls)
    # all answers together tell which mistake it is
    answers = {
        kind: {told: check.call(encoder, returns=bool) for told, encoder in named.items()}
        for kind, named in encoders.items()
    }
    for told, answer in answers["right"].items():
        check.true(answer, f"should return True for a right one: {told}")
    for told, answer in answers["wrong"].items():
        check.true(not answer, f"should return False for {told}")
    check.true(
        len(calls) <= 1000,
        "it calls an encoder 1,000 times at most",
        hint="short texts are enough: there are only 30 with 1 to 4 letters, each a or b",
    )
# BEGIN HIDDEN TESTS
with Check("is_right_encoder", "more encoders") as check:

    def more_encoders():
        def by_text(word, merges):
            spelled = "".join(map(chr, word.encode()))
            for number, (left, right) in enumerate(merges):
                spelled = spelled.replace(chr(left) + chr(right), chr(256 + number))
            return [ord(character) for character in spelled]

        def longest(word, merges):
            entries = [bytes([byte]) for byte in range(256)]
            for left, right in merges:
                entries.append(entries[left] + entries[right])
            rest, row = word.encode(), []
            while rest:
                size = max(len(entry) for entry in entries if rest.startswith(entry))
                row.append(entries.index(rest[:size]))
                rest = rest[size:]
            return row

        def in_reverse(word, merges):
            spelled = "".join(map(chr, word.encode()))
            for number, (left, right) in reversed([*enumerate(merges)]):
                spelled = spelled.replace(chr(left) + chr(right), chr(256 + number))
            return [ord(character) for character in spelled]

        def swapped(word, merges):
            return by_text(word, [(right, left) for left, right in merges])

        def first_missing(word, merges):
            return by_text(word, [(0, 0), *merges[1:]])

        def last_missing(word, merges):
            return by_text(word, merges[:-1])

        def letter_by_letter(word, merges):
            row = [byte for letter in word for byte in letter.encode()]
            for number, pair in enumerate(merges):
                done = []
                for token in row:
                    if done and not done[-1][1] and (done[-1][0], token) == pair:
                        done[-1] = (256 + number, True)
                    else:
                        done.append((token, False))
                row = [token for token, _ in done]
            return row

        wrong = [in_reverse, swapped, first_missing, last_missing, longest, lambda word, merges: []]
        wrong += [lambda word, merges: by_text(word.encode("ascii", "ignore").decode(), merges)]
        return [letter_by_letter, by_text], wrong

    right, wrong = more_encoders()
    for encoder in right:
        check.true(check.call(encoder, returns=bool), "True for a right encoder")
    for encoder in wrong:
        check.true(not check.call(encoder, returns=bool), "False for a wrong encoder")
# END HIDDEN TESTS

# %%
print("your encode:", is_right_encoder(encode))
print("as it reads:", is_right_encoder(as_it_reads))

# %% [markdown]
# What to see: the encoder that is right for the text from minbpe is wrong for others. An example: b·c is merge 0, a·b is merge 1, and the word is *abc*. This encoder has read only a and b when it merges them: ab·c. But b·c was learned first: a·bc is right.
#
# With the merges that you have learned, how often does it give other tokens?


# %%
def differing_share(other: Callable[[str], list[int]], words: Sequence[str]) -> float:
    """The share of these words for which another encoder gives other tokens than yours."""
    return sum(other(word) != tokens_of(word) for word in words) / len(words)


test_words = sorted(word_counts(corpus(0)[1]))
print(
    f"other tokens for {differing_share(lambda word: as_it_reads(word, learned_merges()), test_words):.0%} "
    f"of {len(test_words):,} different words"
)

# %% [markdown]
# What to see: more than a third of the different words get other tokens. A model that was trained with one encoder and is used with the other gets, for these words, token sequences that it has rarely or never seen.
#
# **A good place to stop.** You can train a tokenizer and encode. Next: from tokens back to text. (Back later? Run all cells above first.)

# %% [markdown]
# ## 5 · Decode
#
# Decoding takes two steps, in this order: join the bytes of all tokens, then read them as UTF-8.
#
# **Predict.** A token may end in the middle of a character: 한 is three bytes, and a model may write them as two tokens. What happens if each token is turned into text by itself?
#
# <details><summary>The text is the same: UTF-8 is unique</summary>It is unique for whole characters. Half a character is not text at all.</details>
# <details><summary>Each incomplete piece becomes �</summary>Yes. � (U+FFFD) stands for bytes that are not valid UTF-8. This is why bytes are joined first.</details>
# <details><summary>Python reads the bytes as two other characters</summary>In UTF-8, the first byte of a character says how many bytes follow, and a byte that follows can never begin a character. So neither piece is text.</details>

# %%
korean = "한".encode()
print(korean[:2].decode(errors="replace") + korean[2:].decode(errors="replace"), korean.decode())

# %% [markdown]
# A model can write any sequence of tokens, including one whose bytes are not valid text. `errors="replace"` puts � there, where Python would otherwise raise an error.
#
# **Exercise** (15 minutes). Write `decode`.
#
# <details><summary>Hint 1</summary>Your <code>vocabulary</code> has the bytes of each token. <code>b"".join(…)</code> joins bytes.</details>
# <details><summary>Hint 2</summary>In Python, index −1 is the last entry, and no error. So ask yourself whether a token is known.</details>


# %% exercise decode
def decode(tokens: Sequence[int], merges: list[tuple[int, int]]) -> str:
    """Turn tokens back into text: join the bytes of all of them, then read these as UTF-8.

    tokens: a list or a tuple. Bytes that are not valid UTF-8 become "�", as errors="replace" does.
    Raises a ValueError that names the token if one is not in the vocabulary, from 0 to
    255 + len(merges).
    """
    # BEGIN SOLUTION
    entries = vocabulary(merges)
    for token in tokens:
        if not 0 <= token < len(entries):
            raise ValueError(f"token {token} is unknown: there are {len(entries)} tokens")
    return b"".join(entries[token] for token in tokens).decode("utf-8", errors="replace")
    # END SOLUTION


# %% check decode points=2
hint = "join the bytes of all tokens first, then decode them once, with errors='replace'"
with Check("decode", "texts by hand", hint) as check:
    merges = [(97, 98), (256, 99), (32, 256), (237, 149)]
    plain = check.call([104, 105], [], returns=str)
    built = check.call([120, 257, 258, 256], merges, returns=str)
    accent = check.call([195, 169, 97], merges, returns=str)
    korean = check.call([259, 156, 256], merges, returns=str)
    empty = check.call([], merges, returns=str)
    spaces = check.call((32, 32, 258, 32, 10), merges, returns=str)
    check.equal(plain, "hi", "without merges, 104 and 105 are the bytes of hi")
    check.equal(built, "xabc abab", "x·abc· ab·ab: each token stands for its bytes")
    check.equal(accent, "éa", "é is two bytes, and so two tokens here: join bytes, then decode")
    check.equal(korean, "한ab", "한 begins in one token and ends in the next")
    check.equal(empty, "", "no tokens: an empty text")
    check.equal(spaces, "   ab \n", "a tuple of tokens: spaces and line ends stay as they are")
with Check("decode", "bytes that are not text", hint) as check:
    single = check.call([104, 255, 105], [], returns=str)
    part = check.call([226, 130], [], returns=str)
    turned = check.call([169, 195, 97], [], returns=str)
    zero = check.call([0, 97, 0], [], returns=str)
    mark = check.call([239, 187, 191, 97], [], returns=str)
    ends = check.call([97, 13, 10, 98, 13], [], returns=str)
    apart = check.call([101, 204, 129], [], returns=str)
    check.equal(single, "h�i", "byte 255 is never valid UTF-8: it becomes �")
    check.equal(part, "�", "the first two of the three bytes of € become a single �")
    check.equal(turned, "��a", "the two bytes of é in the wrong order become two �")
    check.equal(zero, "\x00a\x00", "token 0 is the character 0, and no padding")
    check.equal(mark, "\ufeffa", "a byte order mark at the beginning stays: the codec is utf-8")
    check.equal(ends, "a\r\nb\r", "line ends stay as they are")
    check.equal(apart, "e\u0301", "e and a separate accent stay two characters")
with Check("decode", "unknown tokens") as check:
    check.raises([97, 258, 98], [(97, 98), (256, 99)], naming=(258,))
    check.raises([104, 105, 106, 256], [], naming=(256,))
    check.raises([97, -1], [(97, 98)], naming=(-1,))
    check.raises([-300, 97], [(97, 98)], naming=(-300,))
# BEGIN HIDDEN TESTS
with Check("decode", "many texts") as check:
    pairs = [(32, 116), (104, 101), (256, 257), (195, 169), (226, 130), (260, 172), (240, 159)]
    bytes_of = [bytes([byte]) for byte in range(256)]
    for left, right in pairs:
        bytes_of.append(bytes_of[left] + bytes_of[right])
    for seed, size in ((1, 3), (2, 30), (3, 200), (4, 1)):
        row = [int(abs(v) * 1e6) % len(bytes_of) for v in numbers(size, seed=seed).tolist()]
        wanted = b"".join(bytes_of[token] for token in row).decode("utf-8", "replace")
        check.equal(check.call(row, pairs, returns=str), wanted, "any tokens")
    rows = [[261], [260, 172], [226, 130, 172], [260], [260, 260], [262, 153, 130], [262, 97]]
    for row in (*rows, [237, 160, 128]):  # the last one is half of a surrogate pair
        wanted = b"".join(bytes_of[token] for token in row).decode("utf-8", "replace")
        check.equal(check.call(row, pairs, returns=str), wanted, "parts of characters")
    text = " the café costs 3 €, déjà vu 🙂\r\n\ttoo \ufeff e\u0301 \\n"
    check.equal(check.call(list(text.encode()), pairs, returns=str), text, "bytes alone")
    for row in ([104, 263], [263], [-1], [0, 1000, 0], [10**6], [-263], [-264]):
        check.raises(row, pairs, naming=(next(t for t in row if not 0 <= t < 263),))
# END HIDDEN TESTS


# %%
def encode_text(text: str, seed: int = 0, num_merges: int = NUM_MERGES) -> list[int]:
    """The tokens of a whole text, word by word."""
    return [token for word in split_words(text) for token in tokens_of(word, seed, num_merges)]


strange = "Der Präsident 🙂 mag 한국어, antidisestablishmentarianism & x_42 !\t\n"
new_texts = [*FIRST.values(), strange, *corpus(0)[1]]
unchanged = [decode(encode_text(text), learned_merges()) == text for text in new_texts]
print(f"{sum(unchanged)} of {len(new_texts)} texts are the same after encoding and decoding")

# %% [markdown]
# This is the first half of the answer to the opening question: every text can be read and written, and none is changed. The second half, the length, follows in part 6.
#
# ### See it happen
#
# The next view calls your `encode` with more and more of the learned merges. The slider sets how many; the list shows the pairs that are most frequent in this text at that point. The merges come from the training text. So the next merge need not be the first pair in the list. The curve below the list shows the tokens per word in this text.

# %%
from transformer_course.widgets import show_merges

example = (
    "The return statement leaves the function. If a value is given, the statement returns it; "
    "otherwise, the return value is None. Nobody reads antidisestablishmentarianism here."
)
show_merges(
    encode,
    learned_merges(),
    split_words(example),
    title="Your encoder, with more and more merges",
)

# %% [markdown]
# **Puzzle.** Move the slider, and find out:
#
# 1. Which word of four letters or more is the first to become a single token?
# 2. In *statement* and *returns*, do the tokens follow the parts that a dictionary would show (state-ment, return-s)?
# 3. What happens to *antidisestablishmentarianism* between 200 and 400 merges?
#
# <details><summary>Answer 1</summary>In our run <em>value</em>, with its space in front: at 120 merges on the slider. (It is merge 113, counted from 0.)</details>
# <details><summary>Answer 2</summary>Partly. <em>statement</em> is s·ta·te·ment after 200 merges, and ends as sta·te·ment. <em>returns</em> ends as return·s. The merges depend on how frequent a piece is, not on its meaning.</details>
# <details><summary>Answer 3</summary>Little: it goes from 16 tokens to 15. None of its long parts is frequent in this documentation.</details>

# %% [markdown]
# ## 6 · What the merges buy
#
# Now measure the length of the sequences, on the test text. How many tokens does a word have on average, for each number of merges? (As in `split_words`, a run of punctuation counts as a word. One run is yours; four other splits are recorded, each with merges of its own.)


# %%
MERGES = [0, 50, 100, 200, 400]


def tokens_a_word(seed: int, num_merges: int) -> float:
    """The mean number of tokens for a word of the test text of this split."""
    new = word_counts(corpus(seed)[1])
    total = sum(count * len(tokens_of(word, seed, num_merges)) for word, count in new.items())
    return total / sum(new.values())


# recorded: [[round(tokens_a_word(seed, n), 2) for n in MERGES] for seed in range(1, 5)]
recorded_tokens = [
    [4.85, 3.35, 2.9, 2.46, 2.04],
    [4.76, 3.26, 2.85, 2.44, 2.02],
    [4.68, 3.19, 2.76, 2.33, 1.95],
    [4.73, 3.22, 2.77, 2.38, 1.96],
]
figures.curves(
    MERGES,
    {"mean of five splits": [[tokens_a_word(0, n) for n in MERGES], *recorded_tokens]},
    x="merges",
    y="tokens per word",
    title="New text: the sequences get shorter",
    bottom=0.0,
)

# %% [markdown]
# What to see: without merges, a word has about 4.8 tokens (its bytes); with 400 merges, it has 2.0. The first 50 merges account for more than half of this fall. All five splits agree closely. This is the second half of the answer to the opening question: with only 656 tokens in the vocabulary, a word takes about 2 tokens, not 5.
#
# **Predict.** The later merges shorten the sequences less than the first ones did. What does each further merge cost?
#
# <details><summary>Nothing</summary>A model needs an embedding for each token, and a logit for each token at every step.</details>
# <details><summary>One more row in the embedding table</summary>Yes, and often another one for the logits (part 10). And the embedding of a rare token is rarely trained.</details>
# <details><summary>A slower attention</summary>Attention depends on the length of the sequence, which gets smaller.</details>

# %%
for learned in MERGES:
    print(f"{learned:3} merges: a table of {(256 + learned) * 512:7,} parameters at width 512")

# %% [markdown]
# What to see: with 400 merges, the table is 2.6 times as large as with bytes alone.
#
# ## 7 · WordPiece: the longest match
#
# **WordPiece** (Schuster and Nakajima, 2012) is the tokenizer of BERT: it reads a word from the left, and each time takes the longest token of its vocabulary that fits. It keeps no order of merges, only the vocabulary.
#
# <details><summary>How BERT's version differs</summary>BERT's works on characters, puts <code>##</code> in front of each token that continues a word, and returns <code>[UNK]</code> for a word that it cannot finish. Yours has all 256 bytes, so it always finishes. BERT's vocabulary is also learned by another rule: each new token is the one that most raises the probability of the training text. Here you compare only how a word is split, with the same vocabulary.</details>
#
# **Predict.** The vocabulary has all single letters, `un`, `unh`, `happy` and `ha`. How is *unhappy* split by the longest match?
#
# <details><summary>un · happy</summary>A dictionary would. But at the beginning, <em>unh</em> is longer than <em>un</em>.</details>
# <details><summary>unh · a · p · p · y</summary>Yes. The longest match at the beginning spoils the rest. It never goes back.</details>
# <details><summary>un · ha · p · p · y</summary>Neither <em>un</em> nor <em>ha</em> is the longest match at its position.</details>
#
# **Exercise** (20 minutes). Write it. Here, the vocabulary is a list in any order, and a token is the position of its entry in this list.
#
# <details><summary>Hint 1</summary>A dict from entry to token makes the search fast.</details>
# <details><summary>Hint 2</summary>At each position, try the rest of the word, then one byte less, and so on. Work with bytes: <code>word.encode()</code>.</details>


# %% exercise longest_match
def longest_match(word: str, vocabulary: list[bytes]) -> list[int]:
    """Split one word, any text, from left to right: each time the longest entry that fits.

    vocabulary: different, non-empty entries in any order, all 256 single bytes among them.
    -> tokens: for each piece of the word's UTF-8 bytes, the index of its entry.
    """
    # BEGIN SOLUTION
    index = {entry: number for number, entry in enumerate(vocabulary)}
    rest, pieces = word.encode(), []
    while rest:
        size = len(rest)
        while rest[:size] not in index:
            size -= 1
        pieces.append(index[rest[:size]])
        rest = rest[size:]
    return pieces
    # END SOLUTION


# %% check longest_match points=2
hint = (
    "from the left: the longest piece of the rest that is in the vocabulary, then continue after it"
)
with Check("longest_match", "words by hand", hint) as check:
    singles = [bytes([byte]) for byte in range(256)]
    listed = [*singles, b"un", b"happy", b"ha", b"unh", b" un"]
    spoiled = check.call("unhappy", listed[:-1], returns=list)
    whole = check.call("happy", listed, returns=list)
    twice = check.call("unun", listed, returns=list)
    space = check.call(" un ", listed, returns=list)
    longer = check.call("xhappyhappx", listed, returns=list)
    plain = check.call("cat", singles, returns=list)
    empty = check.call("", listed, returns=list)
    check.equal(plain, [99, 97, 116], "with single bytes alone, cat is its three bytes")
    check.equal(whole, [257], "happy is an entry, so it is one token")
    check.equal(
        spoiled,
        [259, 97, 112, 112, 121],
        "unhappy: the longest match is unh, and for the rest a·p·p·y",
        hint="take the longest entry at each position, and never go back",
    )
    check.equal(twice, [256, 256], "unun: the same entry twice")
    check.equal(
        space, [260, 32], "the space in front is part of the word, and so is the one at the end"
    )
    check.equal(longer, [120, 257, 258, 112, 112, 120], "x·happy·ha·p·p·x")
    check.equal(empty, [], "an empty text has no tokens")
with Check("longest_match", "other orders, bytes and punctuation", hint) as check:
    singles = [bytes([byte]) for byte in range(256)]
    turned = [b"abc", b"ab", *reversed(singles), b"abcde", b"b.", b"[a", b"x" * 20]
    other = check.call("abcd", turned, returns=list)
    sign = check.call("axb.", turned, returns=list)
    accents = [*singles, b"\xa9t", b"t\xc3", "té".encode()]
    part = check.call("tété", accents, returns=list)
    half = check.call("été", [*singles, b"t\xc3", b"\xa9t\xc3\xa9"], returns=list)
    capital = check.call("Abc", turned, returns=list)
    brackets = check.call("[a]", turned, returns=list)
    long = check.call("x" * 21, turned, returns=list)
    apart = check.call("e\u0301ﬁ", singles, returns=list)
    check.equal(
        other,
        [0, 257 - 100],
        "the entries stand in another order: a token is the index of its entry in the list",
    )
    check.equal(
        sign, [257 - 97, 257 - 120, 259], "a . in an entry is a period, and matches nothing else"
    )
    check.equal(part, [258, 258], "té is three bytes, and an entry of three bytes is the longest")
    check.equal(
        half, [195, 257], "an entry may begin in the middle of a character: work with bytes"
    )
    check.equal(capital, [257 - 65, 257 - 98, 257 - 99], "A is not a")
    check.equal(
        brackets, [260, 257 - 93], "[a is an entry like any other: entries are not patterns"
    )
    check.equal(long, [261, 257 - 120], "an entry may be long: this one has 20 bytes")
    check.equal(
        apart,
        [101, 204, 129, 239, 172, 129],
        "e and a separate accent stay two characters, and ﬁ stays the one that it is",
    )
# BEGIN HIDDEN TESTS
with Check("longest_match", "many words") as check:
    singles = [bytes([byte]) for byte in range(256)]
    pieces = [b"the", b"th", b"he", b"at", b"that", b" t", b" th", b"eat", b"a.", b"a*", b"[a"]
    pieces += [b"hat"]
    pieces += [b"heat", b"te", b"\xc3\xa9a", b"a\xc3", b"\xed\x95", b"tt", b"ttt", b"a b"]
    pieces += [b"  ", b"\\d"]

    def matched(word, entries):
        rest, row = word.encode(), []
        while rest:
            best = max((e for e in entries if rest.startswith(e)), key=len)
            row.append(entries.index(best))
            rest = rest[len(best) :]
        return row

    texts = ["thehat", " theheat", "thatthat", "a.a*a", "x[a]", "éa", "aé", "한", "한국", "  the  "]
    texts += ["tttttt", "THE", "The", "a b", "a  b", "ab", "e\u0301a", "🙂hat", "\\d5", "the\n"]
    texts += ["ﬁ", "h", "\0a\0"]
    for turn, entries in enumerate(
        ([*singles, *pieces], [*pieces, *singles], [*pieces[::-1], *singles[::-1]])
    ):
        entries = entries[turn * 5 :] + entries[: turn * 5]
        for text in texts:
            check.equal(check.call(text, entries, returns=list), matched(text, entries), "tokens")
    long = [*singles, b"x" * 50, b"y" * 21, b"z" * 150]
    for text in ("x" * 120, "y" * 64, "x" * 49, "y" * 20 + "x" * 51, "z" * 151):
        check.equal(check.call(text, long, returns=list), matched(text, long), "long entries")
# END HIDDEN TESTS

# %% [markdown]
# You now have two ways to split a word with the same vocabulary. How often do they differ on new words, and which makes shorter sequences? (In our run, no two entries of the vocabulary are equal.)


# %%
@cache
def longest_tokens(word: str, seed: int = 0) -> list[int]:
    """The tokens of a word by the longest match in the vocabulary of your merges."""
    return longest_match(word, vocabulary(learned_merges(seed)))


new_counts = word_counts(corpus(0)[1])
print(f"other tokens for {differing_share(longest_tokens, test_words):.0%} of the different words")
for name, tokenizer in {"merges in order": tokens_of, "longest match": longest_tokens}.items():
    total = sum(count * len(tokenizer(word)) for word, count in new_counts.items())
    print(f"{name:15} {total / sum(new_counts.values()):.3f} tokens per word")
shown_words = [word for word in test_words if len(longest_tokens(word)) != len(tokens_of(word))][
    :40:8
]
for some_word in shown_words:
    in_order, matched_pieces = (
        "|".join(token_names()[token] for token in tokens)
        for tokens in (tokens_of(some_word), longest_tokens(some_word))
    )
    print(f"{in_order:25} {matched_pieces}")

# %% [markdown]
# What to see: the two differ for 22% of the different words, with almost equal average lengths. In our run, the longest match needs 0.1% more tokens; in four others (recorded), 0.1 to 0.6% fewer. (The words shown have unequal numbers of tokens.) But a model needs text split as in its training.
#
# **A good place to stop.** Your tokenizer is complete. Next: compare models. (Back later? Run all cells above first.)

# %% [markdown]
# ## 8 · Compare models whose tokens differ
#
# A bigram model predicts each token from the one before it (lesson 9), by counting. Train one on bytes (the byte model), and one on your 400 merges (the BPE model), with the same smoothing and text. Which has the lower loss per token? Write your guess down.


# %% folded=true
# Counts n-grams of tokens and measures the loss on the test text: click to unfold.
Row = list[int]
SMOOTHING = 5.0


def ngram_nats(training: list[Row], test: list[Row], context: int, vocab: int) -> float:
    """The summed loss, in nats, of a model that predicts each token from `context` tokens before it.

    Each probability is mixed with that from a context shorter by one, down to 1 / vocab.
    """
    counts: Counter[tuple[int, ...]] = Counter()
    before: Counter[tuple[int, ...]] = Counter()
    for row in training:
        for i in range(len(row)):
            for size in range(min(context, i) + 1):
                counts[tuple(row[i - size : i + 1])] += 1
                before[tuple(row[i - size : i])] += 1
    nats = 0.0
    for row in test:
        for i in range(len(row)):
            p = 1 / vocab
            for size in range(min(context, i) + 1):
                seen = before[tuple(row[i - size : i])]
                p = (counts[tuple(row[i - size : i + 1])] + SMOOTHING * p) / (seen + SMOOTHING)
            nats -= math.log(p)
    return nats


@cache
def measured(seed: int, num_merges: int, context: int) -> tuple[float, int, int]:
    """On the test text of a split: the summed loss in nats, its tokens, its bytes."""
    training, test = (
        [encode_text(text, seed, num_merges) for text in part] for part in corpus(seed)
    )
    nats = ngram_nats(training, test, context, 256 + num_merges)
    return nats, sum(map(len, test)), sum(len(text.encode()) for text in corpus(seed)[1])


# %%
for learned in (0, 400):
    nats, in_tokens, _ = measured(0, learned, context=1)
    print(f"{learned:3} merges: {nats / in_tokens:.2f} nats per token, {in_tokens:,} tokens")

# %% [markdown]
# **Predict.** The byte model has a much lower loss per token. Is it the better model of this text?
#
# <details><summary>Yes: a lower loss is a better prediction</summary>Of a token. But the other model's tokens are longer, and it has fewer to predict.</details>
# <details><summary>No: multiply by the number of tokens</summary>Yes. Both read the same text, so the total counts: nats per token times tokens.</details>
# <details><summary>That cannot be compared at all</summary>It can. Both models give the same text a probability; only their steps differ. (For the BPE model, this counts only your encoder's tokens. Other token sequences spell the same text, so its true probability is even higher.)</details>

# %%
for learned in (0, 400):
    nats, *_ = measured(0, learned, context=1)
    print(f"{learned:3} merges: {nats:,.0f} nats for the whole text")

# %% [markdown]
# What to see: for the same text, the BPE model needs about 35,000 nats, and the byte model about 52,000. So the model with the higher loss per token predicts this text better.
#
# For a fair comparison, use a unit that both models share: the byte. **Bits per byte** is the loss of a whole text, in bits, divided by the number of its bytes. A bit is ln 2 nats:
#
# $$\text{bits per byte} = \frac{\text{nats per token} \cdot \text{tokens}}{\ln 2 \cdot \text{bytes}}$$
#
# **Exercise** (8 minutes). Write it.


# %% exercise bits_per_byte
def bits_per_byte(nats_per_token: float, num_tokens: int, num_bytes: int) -> float:
    """The loss of a text in bits per byte, from its mean loss in nats per token.

    num_tokens, num_bytes: of the whole text, both above 0.
    """
    # BEGIN SOLUTION
    return nats_per_token * num_tokens / (math.log(2) * num_bytes)
    # END SOLUTION


# %% check bits_per_byte points=1
hint = "nats of the whole text, then bits (a bit is ln 2 = 0.693 nats), then per byte"
with Check("bits_per_byte", "by hand", hint) as check:
    one = check.call(math.log(2), 10, 10, returns=float)
    two = check.call(math.log(2), 10, 40, returns=float)
    three = check.call(3.0, 7, 5, returns=float)
    many = check.call(9.0, 30, 20, returns=float)
    none = check.call(0.0, 3, 8, returns=float)
    check.equal(one, 1.0, "ln 2 nats per byte are 1 bit per byte", within=1e-6)
    check.equal(
        two,
        0.25,
        "1 bit per token, and 4 bytes per token: a quarter of a bit per byte",
        within=1e-6,
    )
    check.equal(three, 6.0593192, "3 nats · 7 tokens are 30.3 bits, for 5 bytes", within=1e-5)
    check.equal(many, 19.476383, "a bad model may need more than 8 bits for a byte", within=2e-5)
    check.equal(none, 0.0, "a loss of 0 is 0 bits", within=1e-9)
# BEGIN HIDDEN TESTS
with Check("bits_per_byte", "other sizes") as check:
    for nats, tokens, size in ((2.5, 1, 9), (0.37, 1234, 5000), (6.2, 10**6, 3), (1e-3, 8, 9)):
        wanted = nats / size * tokens * 1.4426950408889634
        found = check.call(nats, tokens, size, returns=float)
        check.equal(found, wanted, "the value", within=1e-6 * wanted)
    check.equal(check.call(2, 3, 4, returns=float), 2.1640425613, "whole numbers", within=3e-6)
# END HIDDEN TESTS

# %% [markdown]
# Now compare by tokens, and by bytes. (Split 0 is yours, four are recorded.)


# %%
def both_losses(seed: int, num_merges: int, context: int = 1) -> tuple[float, float]:
    """Nats per token and bits per byte, on the test text of this split."""
    nats, num_tokens, num_bytes = measured(seed, num_merges, context)
    return nats / num_tokens, bits_per_byte(nats / num_tokens, num_tokens, num_bytes)


# recorded: [[tuple(round(x, 3) for x in both_losses(seed, n)) for n in MERGES] for seed in range(1, 5)]
recorded_losses = [
    [(2.558, 3.691), (3.14, 3.131), (3.38, 2.911), (3.688, 2.698), (4.137, 2.513)],
    [(2.574, 3.713), (3.182, 3.143), (3.398, 2.935), (3.69, 2.73), (4.142, 2.534)],
    [(2.543, 3.669), (3.136, 3.089), (3.388, 2.884), (3.67, 2.635), (4.098, 2.464)],
    [(2.549, 3.677), (3.149, 3.099), (3.422, 2.888), (3.75, 2.723), (4.175, 2.501)],
]
all_losses = torch.tensor([[both_losses(0, n) for n in MERGES], *recorded_losses])
figures.curves(
    MERGES,
    {"nats per token": all_losses[..., 0].tolist(), "bits per byte": all_losses[..., 1].tolist()},
    x="merges",
    y="loss on new text",
    title="The same models, counted in two ways: five splits",
    bottom=0.0,
)

# %% [markdown]
# What to see: from 0 to 400 merges, the loss per token *rises*, from 2.6 to 4.1 nats. Bits per byte *fall*, from 3.7 to 2.5. The number that looked worse belongs to the better model: its tokens are longer, so it makes fewer predictions. A loss per token cannot be compared between tokenizers. (The two curves have different units, so where they cross means nothing. We have not measured more than 400 merges. On so little text, most further tokens would be rare, and bits per byte might rise again.)


# %%
show_merges(
    encode,
    learned_merges(),
    split_words(example),
    bits={n: both_losses(0, n)[1] for n in MERGES},
    title="Tokens per word in this text, bits per byte on the test text",
)

# %% [markdown]
# What to see: both curves fall together. The merges that shorten sequences most also lower the bits per byte most.
#
# Are the tokens themselves the reason for this gain? Another possible reason: the BPE model has a longer context. The byte model predicts a byte from one byte. The BPE model predicts a token from the one before it. On average, it predicts a byte from 3.8 bytes (recorded).
#
# <details><summary>How does a model of tokens predict a byte?</summary>Say it predicts <em>ment</em> after <em>te</em>. The model gives this token a single probability. By the chain rule (lesson 9), it is a product: the probability of m after <em>te</em>, times that of e after <em>te</em> and <em>m</em>, and so on; and last, the probability that the token ends there. The factor for the t depends on <em>te</em> and <em>men</em>: 5 bytes.</details>
#
# **The control.** Give the byte model a longer context: 2, 3 or 4 bytes, all else as before.

# %%
CONTEXTS = [1, 2, 3, 4]
# recorded: {n: [round(both_losses(seed, 0, n)[1], 3) for seed in range(1, 5)] for n in CONTEXTS}
recorded_contexts = {
    1: [3.691, 3.713, 3.669, 3.677],
    2: [2.895, 2.91, 2.861, 2.903],
    3: [2.413, 2.441, 2.378, 2.449],
    4: [2.283, 2.304, 2.248, 2.322],
}
by_context = {
    f"bytes, context {n}": [both_losses(0, 0, n)[1], *recorded_contexts[n]] for n in CONTEXTS
}
of_bpe = {"400 merges, context 1": all_losses[:, -1, 1].tolist()}
figures.runs({**by_context, **of_bpe}, "bits per byte", "A longer context in bytes", bottom=0.0)

# %% [markdown]
# What to see: with a context of 2 bytes, the byte model is still behind. With 3, it is slightly ahead of the BPE model in all five splits, and with 4 further ahead. So tokens are not needed for this gain. That fits the explanation that the BPE model gains because it sees more bytes. (It sees 3.8 on average, but fewer after a short token.) Tokens give that longer view *in fewer steps*. The cost of attention grows with the square of the number of steps.

# %% [markdown]
# ## 9 · What a language pays
#
# The merges were learned from English documentation. Here is one sentence in four languages, the first of Article 1 of the Universal Declaration of Human Rights, in characters, bytes and tokens.

# %%
for language, sentence in FIRST.items():
    in_utf_8, in_tokens = len(sentence.encode()), len(encode_text(sentence))
    print(f"{language:8} {len(sentence):3} characters, {in_utf_8:3} bytes, {in_tokens:3} tokens")

# %% [markdown]
# What to see: the same meaning costs 33 tokens in English, 41 in German, 97 in Korean and 154 in Greek. In Korean and Greek, each byte is a token: no merge joins the bytes of their letters.
#
# <details><summary>Does this happen with the tokenizers of large models, too?</summary>Yes. Petrov et al. (2023) found up to 15 times as many tokens in one language as in another, for the same text. Commercial providers charge by the token, so such a language is more expensive. It also fills up the context sooner.</details>
#
# **Predict.** Why does the Greek sentence have almost 5 times as many tokens as the English one?
#
# <details><summary>Its words are longer</summary>The sentence is a bit longer: 83 characters in Greek, and 63 in English. That is a factor of 1.3, not of almost 5.</details>
# <details><summary>Its letters have two bytes each</summary>Half right. Greek has 2.4 times as many bytes as English here. That leaves another factor of about 2: English pays one token for about two bytes, Greek one for each byte. Why does no merge help Greek?</details>
# <details><summary>Hardly any Greek was in the training text</summary>Yes, and this is the half of the reason that can be changed. A token is what was frequent there, so no merge joins the bytes of Greek letters. (The two bytes of each letter are the other half of the reason.)</details>
#
# Test it. Every training text has 750 bytes and gives 100 merges. A share of it comes from other sentences of the Declaration in the same language; the rest is English documentation. So the share changes two things: the language, and the kind of text. English is the control: there, only the kind of text changes.

# %%
SHARES = [0.0, 0.25, 0.5, 0.75, 1.0]
SIZE = 750  # bytes of a training text


def cut_to(texts: Sequence[str], size: int) -> list[str]:
    """The first words of these texts, of `size` bytes together (up to a word less)."""
    kept, room = [], size
    for word in (word for text in texts for word in split_words(text)):
        room -= len(word.encode())
        if room < 0:
            break
        kept.append(word)
    return kept


@cache
def sentence_tokens(language: str, share: float, seed: int) -> int:
    """The tokens of a language's first sentence, by its share of the training text."""
    drawn = random.Random(seed)
    own = drawn.sample(OTHERS[language], len(OTHERS[language]))
    english = drawn.sample(paragraphs(), 20)
    words = cut_to(own, round(SIZE * share)) + cut_to(english, round(SIZE * (1 - share)))
    merges = train_bpe(in_bytes(Counter(words)), 100)
    return sum(len(encode(word, merges)) for word in split_words(FIRST[language]))


figures.curves(
    SHARES,
    {
        language: [[float(sentence_tokens(language, s, seed)) for s in SHARES] for seed in range(5)]
        for language in FIRST
    },
    x="share of the Declaration in 750 bytes of training text",
    y="tokens",
    title="One sentence, 100 merges, five draws of the text",
    bottom=0.0,
)

# %% [markdown]
# What to see: without Greek in the training text, the Greek sentence has 154 tokens. With a quarter of Greek, it has about 95; with Greek alone, 62. English, the control, falls by a factor of 1.4, German by 1.5, Korean by 1.7 and Greek by 2.5. If the kind of text gives 1.4 in every language, a factor of 1.8 is left for the language in Greek, 1.2 in Korean and 1.1 in German. Greek and Korean still take more. One likely reason: their letters have two or three bytes, so 750 bytes hold fewer.
#
# <details><summary>Why does English start at 44 tokens here, and not at 33 as above?</summary>Here there are only 100 merges, from 750 bytes. Above, there were 400, from 60,000 characters.</details>

# %% [markdown]
# ## 10 · The size of the table
#
# The same slide of the lecture (CS60216) has a vocabulary of 40K and a table of embeddings, $E$, of 40K × 512:

# %%
print(f"40,000 × 512 = {40_000 * 512:,} parameters")

# %% [markdown]
# The original Transformer (base) has 65 million parameters, and a vocabulary of about 37,000 tokens for English and German. 37,000 × 512 is 18.9 million: 29% of all parameters are in this one table. It is counted once, but used three times: for the source, for the target and for the logits (weight tying, lesson 9). Three separate tables would add another 38 million.
#
# ### Bug hunt: a vector on a slide
#
# A **one-hot vector** has a 1 at the position of its token and 0 everywhere else. Times $E$, it gives the row of that token.
#
# The slide writes the one-hot vector of a token as `[000 00 11000 0 00]`.
#
# **Predict.** What is wrong with it, and what would it give, times $E$?
#
# <details><summary>Nothing is wrong</summary>Count the ones.</details>
# <details><summary>It has two ones: it gives the sum of two embeddings</summary>Yes. A one-hot vector has exactly one.</details>
# <details><summary>It has two ones: it gives the mean of two embeddings</summary>The mean would need two halves.</details>

# %%
some_table = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])
for some_vector in ([0.0, 0.0, 1.0, 0.0], [0.0, 1.0, 1.0, 0.0]):
    print(some_vector, "times E =", (torch.tensor(some_vector) @ some_table).tolist())

# %% [markdown]
# What to see: the vector with two ones gives the sum of two rows, [3, 4] + [5, 6] = [8, 10].
#
# ## 11 · The real thing
#
# Hugging Face's library `tokenizers`, written in Rust, trains BPE, too. If it is installed, the next cell trains it on your words, and compares all merges and the tokens of all new words.
#
# The library's BPE works on characters. So each byte goes in as the character of the same number (the encoding `latin-1`), and all 256 of them are its alphabet.


# %%
def of_library(num_merges: int) -> tuple[list[tuple[int, int]], Any]:
    """The merges that `tokenizers` learns from the same words, and its encoder."""
    library = importlib.import_module("tokenizers")
    tokenizer = library.Tokenizer(library.models.BPE())
    alphabet = [chr(byte) for byte in range(256)]
    trainer = library.trainers.BpeTrainer(
        vocab_size=256 + num_merges, initial_alphabet=alphabet, show_progress=False
    )
    repeated = word_counts(corpus(0)[0]).elements()
    tokenizer.train_from_iterator((w.encode().decode("latin-1") for w in repeated), trainer)
    ids = tokenizer.get_vocab()
    listed = importlib.import_module("json").loads(tokenizer.to_str())["model"]["merges"]
    return [(ids[left], ids[right]) for left, right in listed], tokenizer


if importlib.util.find_spec("tokenizers"):
    their_merges, their_tokenizer = of_library(NUM_MERGES)
    print("merges equal:", their_merges == learned_merges())
    their_tokens = (
        their_tokenizer.encode(word.encode().decode("latin-1")).ids for word in test_words
    )
    equal = sum(ids == tokens_of(word) for ids, word in zip(their_tokens, test_words, strict=True))
    print(f"tokens equal: {equal:,} of {len(test_words):,} words")
else:
    print("tokenizers is not installed here; `pip install tokenizers` installs it")

# %% [markdown]
# In our run all 400 merges and all 1,181 words agree. GPT-2 has 50,000 merges: with 256 bytes and one special token, that makes the 50,257 tokens of lesson 9. Its rule for pre-tokenization is longer.

# %% [markdown]
# ## 12 · In your own words
#
# **Question** (12 minutes). A company reports: “Our new model, with a tokenizer of its own, has a loss of 2.1 nats per token on our test text, the old one 2.9. So the new one predicts better. And both read Greek equally well, since neither has unknown tokens.” What do your experiments say about each claim? Name what should be reported instead, and one thing that your experiments do *not* show. Write four to six sentences: double-click the cell below. A person reads them.

# %% answer two_claims [markdown] points=2
# <!-- BEGIN SOLUTION -->
# The first claim does not follow, because a loss per token depends on how long the tokens are: in part 8 more merges raised the nats per token and lowered the bits per byte on the same text. If the new model has shorter tokens, its loss may be lower although it predicts the text worse. They should report bits per byte on the same text, and how many tokens each model needs for it. The second claim does not follow either: no unknown tokens means only that all text can be read, but in part 9 a Greek sentence had almost 5 times as many tokens as the same sentence in English, and far fewer once Greek was in the training text of the merges. Longer sequences cost more computation and fill the context sooner, so tokens for each sentence should be reported by language. My experiments do not show how much better or worse a large model gets with either tokenizer: the models here only counted n-grams, and with a longer context the byte model was as good.
# <!-- END SOLUTION -->

# %% [markdown]
# ## Where you stand

# %%
from transformer_course.progress import show_progress

show_progress("15_tokenization")

# %% [markdown]
# - A vocabulary of words leaves words out; a vocabulary of bytes leaves nothing out, but makes long sequences.
# - Byte pair encoding learns merges: the most frequent pair first and, in a tie, the smallest. Frequent words become one token, rare ones several.
# - Encoding applies the merges in the order learned. Merging as you read, or taking the longest token, gives other tokens for some words.
# - Decoding joins bytes first: a token may be a part of a character.
# - A loss per token cannot be compared between tokenizers; bits per byte on the same text can.
# - In our experiment, tokens were not needed for the gain per byte: a byte model with a context of 3 was as good.
# - A language that is rare in the training text of the merges takes more tokens for the same sentence.
#
# **What comes next.** Every token id becomes an embedding, and heads attend from one token to another. Lesson 16 opens trained models and measures what individual heads do.
