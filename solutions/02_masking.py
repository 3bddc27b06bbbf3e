# %% [markdown]
# # Lesson 2 · Masking
#
# **You build** the masks that tell attention where it must not look, the attention that obeys them, and a detector for models that look all the same.
#
# **You need** lesson 1: queries, keys, values, scaled scores, softmax. And True and False in PyTorch: a comparison such as `a < b` makes them, `~` turns them round, `&` means *and*.
#
# **You take away** `masked_attention`, a reason for the minus infinity in it, and a test that you can run on any model that writes.
#
# **Time**: about 75 minutes.

# %% [markdown]
# **How to work**, as in lesson 1: read, predict, run, cell by cell. Nothing from lesson 1 is imported: this notebook runs alone.

# %% [markdown]
# ## 1 · A word that is not there yet
#
# At the end of lesson 1 every word looked at every word. To **read** a sentence, that is right: *it* looked at *tired*, and found the animal. To **write** a sentence, it cannot be: when you write *it*, the words after it do not exist.

# %%
from transformer_course import figures

words = ["the", "animal", "didn't", "cross", "the", "street", "because", "it", "was", "too"]
reading = [0.02, 0.40, 0.02, 0.03, 0.02, 0.10, 0.02, 0.03, 0.02, 0.02, 0.32]
writing = [0.03, 0.63, 0.03, 0.05, 0.03, 0.15, 0.03, 0.05, 0.00, 0.00, 0.00]
figures.word_links(
    {
        "reading: “it” looks at all words": ([*words, "tired"], 7, reading),
        "writing: “it” looks at what stands there already": ([*words, "tired"], 7, writing),
    }
)

# %% [markdown]
# The weights are made up, as in lesson 1. What counts: below, the words after *it* have the weight 0, and the other weights have grown. They still sum to 1.
#
# But why does this need a lesson? When the model writes, later words are simply not there. The trouble is **training**. There the whole sentence lies on the table, and one pass through the model makes every word predict its next word: eleven words, ten predictions at once. This is why Transformers train fast. And it is a trap: the answer that *it* has to find, *was*, stands right beside it. A model that may look there learns to look there, and nothing else.
#
# So some looks must be **forbidden**. This lesson does it, and at the end you watch a model that was not forbidden.

# %% given imports
import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformer_course.checks import Check, numbers

# %% [markdown]
# ## 2 · A mask says who may look at whom
#
# A **mask** holds True or False for each pair of words. It has the shape of the scores, (query, key): a row is the word that asks, a column the word that answers. In this course
#
# > **True = may attend.**
#
# So does PyTorch's `F.scaled_dot_product_attention`. Its `nn.MultiheadAttention` means **the opposite**, True = forbidden: part 8 shows what happens to those who forget it.
#
# Here is the mask for a text of three words, written from left to right. It is called **causal**, because a cause does not come after its effect.

# %%
three = ["the", "animal", "sleeps"]
figures.masks(
    {
        "causal mask": (
            [[True, False, False], [True, True, False], [True, True, True]],
            "key",
            three,
        )
    },
    "query",
    three,
)

# %% [markdown]
# **Predict.** A word may look at itself: the diagonal is True. Would a writing model cheat through it?
#
# <details><summary>Yes, a word finds its own answer there</summary>The answer that a word must find is the <em>next</em> word. Itself it may know: it is already written.</details>
# <details><summary>No, but it does not matter: take it or leave it</summary>It matters: the first word has nothing but itself. Without the diagonal it may look at nothing at all, and no word knows which one it is.</details>
# <details><summary>No, and it is needed</summary>Yes. A word predicts its next word from all words up to and including itself.</details>

# %% [markdown]
# **Exercise** (5 minutes). Write it for any number of words.
#
# <details><summary>Hint</summary>Either make all of it True and keep one triangle (<code>tril</code> and <code>triu</code> keep the lower and the upper one), or compare the place of each query with the place of each key: <code>[:, None]</code> turns a row of places into a column.</details>


# %% exercise causal_mask
def causal_mask(length: int) -> Tensor:
    """Let every word look at itself and at the words before it.

    Returns bool (length, length), a row for each query, a column for each key; True = may attend.
    """
    # BEGIN SOLUTION
    return torch.ones(length, length, dtype=torch.bool).tril()
    # END SOLUTION


# %% check causal_mask points=2
hint = "row i is the word that asks: its first i + 1 columns are True, counted from i = 0"
with Check("causal_mask", "three words", hint) as check:
    mask = check.call(3)
    check.shape(mask, query=3, key=3)
    check.equal(
        mask,
        torch.tensor([[True, False, False], [True, True, False], [True, True, True]]),
        "the first word sees itself, the second sees two words, the third sees all three",
    )
with Check("causal_mask", "any number of words", hint) as check:
    mask = check.call(5)
    check.shape(mask, query=5, key=5)
    check.equal(mask.sum(1), torch.tensor([1, 2, 3, 4, 5]), "query i sees i + 1 words")
    check.equal(mask.sum(0), torch.tensor([5, 4, 3, 2, 1]), "the first word is seen by all")
# BEGIN HIDDEN TESTS
with Check("causal_mask", "one word, two, and many") as check:
    for length in (1, 2, 4, 33, 300):
        mask = check.call(length)
        check.shape(mask, query=length, key=length)
        places = torch.arange(length)
        check.equal(mask, places[:, None] >= places, "no word sees a later one, each sees itself")
# END HIDDEN TESTS


# %% [markdown]
# ### Bug hunt: a slide's condition
#
# A lecture slide says that a causal model computes the score $q_i \cdot k_j$ "only when $i \leq j$". Below this line the same slide draws its matrix of scores, with $-\infty$ where nothing is computed. Here is the condition, as it stands, beside the drawing.

# %%
five = ["1", "2", "3", "4", "5"]
drawn = [[True] * seen + [False] * (5 - seen) for seen in (1, 2, 3, 4, 5)]
spoken = [[i <= j for j in range(5)] for i in range(5)]
figures.masks(
    {"drawn": (drawn, "key j", five), "said: i ≤ j": (spoken, "key j", five)}, "query i", five
)

# %% [markdown]
# What to see: the two are each other's mirror image. By the condition, word 1 sees everything and the last word only itself: a text from right to left. The drawing is right. (The slide does index $q$ with $i$ and $k$ with $j$, as we do. To transpose the matrix would not help either: softmax runs over the keys.)

# %% [markdown]
# **Exercise** (3 minutes). Write the condition that the slide means. It is handed the places of the queries and of the keys, because they need not be the same: a model that writes word 5 has one query, at place 5, and five keys.
#
# <details><summary>Hint</summary>Which of the two places must not be the larger one?</details>


# %% exercise repaired_mask
def repaired_mask(query_places: Tensor, key_places: Tensor) -> Tensor:
    """Which scores a causal model computes: what the slide means by i ≤ j.

    query_places (query_length,) and key_places (key_length,) say at which place of the text each
    query and each key stands. Returns bool (query_length, key_length); True = may attend.
    """
    # BEGIN SOLUTION
    return query_places[:, None] >= key_places
    # END SOLUTION


# %% check repaired_mask points=1
with Check("repaired_mask", "one query with five keys, two with three") as check:
    one = check.call(torch.tensor([3]), torch.tensor([1, 2, 3, 4, 5]))
    two = check.call(torch.tensor([4, 2]), torch.tensor([5, 2, 4]))
    check.shape(one, query=1, key=5)
    check.equal(
        one,
        torch.tensor([[True, True, True, False, False]]),
        "the word at place 3 may look at the places 1, 2 and 3",
        hint="compare the places themselves: i is the query's, j the key's",
    )
    check.shape(two, query=2, key=3)
    check.equal(
        two,
        torch.tensor([[False, True, True], [False, True, False]]),
        "in whatever order they come, a query sees the keys at its own place and before",
        hint="what counts is the place that stands in the tensor, not where it stands there",
    )
# BEGIN HIDDEN TESTS
with Check("repaired_mask", "other places") as check:
    for queries, keys in (
        ((0, 1, 2, 3), (0, 1, 2, 3)),
        ((7, 3, 9), (8, 5, 2, 3)),
        ((4,), (4,)),
        ((1000, 3), (2, 999, 1001)),
    ):
        mask = check.call(torch.tensor(queries), torch.tensor(keys))
        expected = torch.tensor([[key <= query for key in keys] for query in queries])
        check.equal(mask, expected, "a query sees its own place and those before")
# END HIDDEN TESTS


# %% [markdown]
# ## 3 · Words that are no words
#
# There is a second reason to forbid looks. A batch is one tensor, so all its sentences must have the same length. Sentences do not. The short ones are filled up with **padding**: tokens that mean nothing, and that nobody should look at.

# %%
batch_of_words = [
    ["the", "cat", "sleeps", "·", "·"],
    ["it", "rains", "·", "·", "·"],
    ["the", "dog", "didn't", "cross", "it"],
]
seen_words = [[word != "·" for word in line] for line in batch_of_words]
figures.masks(
    {"the words of each sentence": (seen_words, "place", ["0", "1", "2", "3", "4"])},
    "sentence",
    [" ".join(line) for line in batch_of_words],
)

# %% [markdown]
# This mask is about **keys**. All queries of a sentence get the same row: whoever asks, padding does not answer. So one row for each sentence is enough, and its shape is (batch, 1, key). The 1 stands where the queries stand. PyTorch repeats it for each of them (**broadcasting**: an axis of size 1 fits any size).
#
# **Predict.** Someone makes the mask (batch, key, 1) instead, and uses it on scores (batch, query, key), where query and key have the same length. What happens?
#
# <details><summary>PyTorch refuses</summary>It would if the lengths differed. In self-attention they are equal, and the wrong mask fits.</details>
# <details><summary>Nothing changes</summary>The real words would still take in padding: no column is forbidden to them.</details>
# <details><summary>The padding may not ask any more, but still answers</summary>Yes: whole rows are forbidden, and not the columns. Nobody reads the rows of padding anyway. The harm is in the rows of real words.</details>

# %% [markdown]
# **Exercise** (5 minutes). You get the number of real words of each sentence, and the length to which all are filled up.
#
# <details><summary>Hint 1</summary><code>torch.arange(max_length)</code> holds the place of each key. Which of them are words, in a sentence of 3 words?</details>
# <details><summary>Hint 2</summary>Compare (max_length,) with (batch, 1), and you get (batch, max_length). <code>[:, None]</code> puts in an axis of size 1 as second.</details>


# %% exercise padding_mask
def padding_mask(lengths: Tensor, max_length: int) -> Tensor:
    """Let every query look at the words of its sentence, and not at the padding behind them.

    lengths (batch,): whole numbers, how many words each sentence has, from 0 to max_length.
    Returns bool (batch, 1, max_length), the last axis for the keys; True = may attend.
    """
    # BEGIN SOLUTION
    places = torch.arange(max_length, device=lengths.device)
    return (places < lengths[:, None])[:, None, :]
    # END SOLUTION


# %% check padding_mask points=2
hint = "key j of a sentence is a word if j < length, counted from j = 0"
with Check("padding_mask", "two sentences", hint) as check:
    mask = check.call(torch.tensor([2, 4]), 5)
    check.shape(mask, batch=2, one=1, key=5)
    check.equal(
        mask[:, 0],
        torch.tensor([[True, True, False, False, False], [True, True, True, True, False]]),
        "the first two keys of the first sentence are words, and the first four of the second",
    )
with Check("padding_mask", "three sentences, one without padding", hint) as check:
    mask = check.call(torch.tensor([3, 1, 4]), 4)
    check.shape(mask, batch=3, one=1, key=4)
    check.equal(mask[:, 0].sum(-1), torch.tensor([3, 1, 4]), "as many True as there are words")
# BEGIN HIDDEN TESTS
with Check("padding_mask", "other sentences, empty and full ones too") as check:
    for many, longest in (([5], 5), ([0, 3], 3), ([1, 7, 0, 4, 2], 9), ([2, 2, 2], 2)):
        for dtype in (torch.int64, torch.int32):
            mask = check.call(torch.tensor(many, dtype=dtype), longest)
            check.shape(mask, batch=len(many), one=1, key=longest)
            expected = torch.tensor([[[j < n for j in range(longest)]] for n in many])
            check.equal(mask, expected, "words, then padding")
# END HIDDEN TESTS


# %% [markdown]
# ## 4 · How to forbid a look
#
# You know who may look at whom. How do you make attention obey? Lesson 1's steps were: scores, softmax, weighted sum. Somewhere among them the mask goes in.
#
# Think first about what should come out. A forbidden word gets the weight 0. The others share the 1, **as if the forbidden word did not exist**.
#
# **Predict.** So: compute the weights, and set the forbidden ones to 0. Done?
#
# <details><summary>Yes</summary>Add up what is left: less than 1. The output shrinks, the more the more is forbidden.</details>
# <details><summary>No: the rest must be divided by its sum</summary>Yes. That is one way to repair it; there is a simpler one, which never lets the forbidden word into the sum.</details>
# <details><summary>No: the forbidden values must be set to 0</summary>Then the forbidden words still hold their share of the weight. The same shrinking, by another door.</details>

# %% [markdown]
# **Exercise** (5 minutes), with pencil and paper. Three words answer one query. The exps of their scores are 1, 2 and 7, so the weights are 0.1, 0.2 and 0.7. Now the **third word is forbidden**. What are the three weights? Give fractions, or three decimals.

# %% exercise masked_row
# masked_row = [?, ?, ?]      three weights: fractions such as 1 / 8, or three decimals
# BEGIN SOLUTION
masked_row = [1 / 3, 2 / 3, 0.0]
# END SOLUTION

# %% check masked_row points=1
with Check("masked_row", "the weights that are left") as check:
    answer = check.value(3)
    check.equal(
        answer[2],
        torch.tensor(0.0, dtype=torch.float64),
        "the forbidden word gets no weight at all",
        within=1e-9,
    )
    check.equal(
        answer.sum(),
        torch.tensor(1.0, dtype=torch.float64),
        "the weights still sum to 1",
        hint="the third word's exp is gone from above the fraction line: is it from below it too?",
        within=0.005,
    )
    check.true(
        bool((answer[:2] > 0).all()) and abs(float(answer[1] / answer[0]) - 2) < 0.05,
        "the second word still gets twice as much as the first",
        hint="who may be seen keeps its exp: 1 and 2. Divide each by the sum of what is left",
    )
# BEGIN HIDDEN TESTS
with Check("masked_row", "each weight") as check:
    expected = torch.tensor([1 / 3, 2 / 3, 0.0], dtype=torch.float64)
    check.equal(check.value(3), expected, "1 and 2, divided by their sum", within=0.006)
# END HIDDEN TESTS


# %% [markdown]
# Now let softmax do this by itself. Whatever becomes of the forbidden **score**, its exp must be 0. Four ideas, tried on your three words. Each row should read like your handwork.

# %%
low = -150.0  # adding the same number to all scores of a row changes no weight: lesson 1
tried: dict[str, list[list[float]]] = {"scores ln 1, ln 2, ln 7": [], "the same scores − 150": []}
for shift, shown_rows in zip((0.0, low), tried.values(), strict=True):
    first, second, third = shift, shift + math.log(2), shift + math.log(7)
    untouched = torch.softmax(torch.tensor([first, second, third]), 0)
    shown_rows.append((untouched * torch.tensor([1.0, 1.0, 0.0])).tolist())
    for forbidden in (0.0, -100.0, -math.inf):
        shown_rows.append(torch.softmax(torch.tensor([first, second, forbidden]), 0).tolist())
figures.steps(
    {title: (rows_of, "word", ["1", "2", "3 (forbidden)"]) for title, rows_of in tried.items()},
    "idea",
    ["weight becomes 0", "score becomes 0", "score becomes −100", "score becomes −∞"],
)

# %% [markdown]
# What to see, row by row:
#
# - **The weight becomes 0, after softmax**: the rest sums to 0.3.
# - **The score becomes 0**: exp(0) = 1. The forbidden word answers as loudly as the first one.
# - **The score becomes −100**: fine on the left. On the right all scores are 150 lower, which should change nothing, and the forbidden word has the *largest* score of all. Only differences count, so no number is small enough for ever.
# - **The score becomes −∞**: exp(−∞) = 0, below every score there is. This is it.
#
# With $M$ the mask, and $S = Q K^\top / \sqrt{d_k}$ the scaled scores of lesson 1:
#
# $$\mathrm{Attention}(Q, K, V, M) = \mathrm{softmax}(S')\, V \qquad S'_{ij} = \begin{cases} S_{ij} & \text{if } M_{ij} \text{ is True} \\ -\infty & \text{otherwise} \end{cases}$$

# %% [markdown]
# **Predict.** A query may look at **nothing**: its whole row is −∞. Which weights does softmax give it?
#
# <details><summary>All 0</summary>One would wish so. But 0 divided by the sum of zeros is no number.</details>
# <details><summary>All equal</summary>A finite number, such as −100 everywhere, gives that: a query that may see nothing then takes in everything. With −∞ there is not even a largest score to subtract: −∞ − (−∞) is no number.</details>
# <details><summary>NaN, not a number</summary>Yes. And NaN spreads: one such row, and soon the loss and all weights of the model are NaN.</details>

# %% [markdown]
# Such rows exist: a sentence of length 0 in a batch, or a piece of text whose keys are all padding. In this course **a query that may look at nothing takes in nothing**: its weights are 0, its output is 0, and no NaN shows up, in the gradient neither.

# %% [markdown]
# **Exercise** (15 minutes). The attention of lesson 1, that obeys a mask. `torch.softmax` and `@` are yours to use; `F.scaled_dot_product_attention` comes at the end, as the referee.
#
# <details><summary>Hint 1</summary>Four steps: scaled scores, −∞ where the mask is False, softmax over the keys, weighted sum of the values. Begin with the case that there is no mask.</details>
# <details><summary>Hint 2</summary><code>scores.masked_fill(where, number)</code> gives a new tensor, with the number in all places where <code>where</code> is True. The mask is True where nothing is to be filled.</details>
# <details><summary>Hint 3</summary>Rows that may see nothing: after softmax they are NaN. What should stand in every forbidden place, in those rows as in all others?</details>


# %% exercise masked_attention
def masked_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """softmax(query keyᵀ / √d_k) value, without the looks that `mask` forbids; (output, weights).

    query (…, query_length, d_k), key (…, key_length, d_k), value (…, key_length, d_v)
    -> output (…, query_length, d_v), weights (…, query_length, key_length).
    mask: bool, True = may attend; broadcasts against (…, query_length, key_length); None allows all.
    Scores of any size, up to ±10 000.
    A query that may attend to nothing gets weights 0 and output 0: no NaN, in gradients neither.
    """
    # BEGIN SOLUTION
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    mask = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask
    weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
    # a row of nothing but -inf gives NaN: what is forbidden weighs 0 there too
    weights = weights.masked_fill(~mask, 0.0)
    return weights @ value, weights
    # END SOLUTION


# %% check masked_attention points=3
hint = "scores / √d_k, −∞ where the mask is False, softmax over the keys, weighted sum of values"
with Check("masked_attention", "an example you can do by hand", hint) as check:
    query = torch.tensor([[2.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0]], dtype=torch.float64)
    # d_k = 4, so the scale is 1/2, and exp of the scaled scores is 1, 2, 5 and 3, 1, 1
    powers = [[1.0, 3.0, 1.0, 1.0], [2.0, 1.0, 1.0, 1.0], [5.0, 1.0, 1.0, 1.0]]
    key = torch.tensor(powers, dtype=torch.float64).log()
    value = torch.tensor(
        [[12.0, 0.0, 0.0, 3.0, 0.0], [0.0, 12.0, 0.0, 0.0, 6.0], [12.0, 12.0, 4.0, 1.0, 0.0]],
        dtype=torch.float64,
    )
    # the first query may not look at the third key, the second not at the second
    mask = torch.tensor([[True, True, False], [True, False, True]])
    output, weights = check.call(query, key, value, mask, returns=("output", "weights"))
    check.shape(weights, query=2, key=3)
    check.equal(
        weights,
        torch.tensor([[1 / 3, 2 / 3, 0.0], [3 / 4, 0.0, 1 / 4]], dtype=torch.float64),
        "a forbidden key weighs 0, and the others share the 1 as their exps say",
    )
    check.shape(output, query=2, d_v=5)
    check.equal(
        output,
        torch.tensor([[4.0, 8.0, 0.0, 1.0, 4.0], [12.0, 3.0, 1.0, 2.5, 0.0]], dtype=torch.float64),
        "each row of the output is the weighted sum of the values",
        hint="(query, key) @ (key, d_v) -> (query, d_v)",
    )
with Check("masked_attention", "scores of any size", hint) as check:
    # the same three exps as above, but the allowed scores lie near -10 000, the forbidden one
    # at 10 000
    query = torch.tensor([[2.0, 0.0, 0.0, 0.0]], dtype=torch.float64)
    key = torch.zeros(3, 4, dtype=torch.float64)
    key[:, 0] = torch.tensor([-10000.0, math.log(2) - 10000, 10000.0], dtype=torch.float64)
    mask = torch.tensor([[True, True, False]])
    output, weights = check.call(query, key, numbers(3, 5), mask, returns=("output", "weights"))
    check.equal(
        weights,
        torch.tensor([[1 / 3, 2 / 3, 0.0]], dtype=torch.float64),
        "allowed scores near -10000, a forbidden one of 10000: the weights are 1/3, 2/3 and 0",
        hint="what replaces a forbidden score must lie below every score there is",
    )
with Check("masked_attention", "without a mask") as check:
    query, key, value = numbers(3, 6), numbers(4, 6, seed=1), numbers(4, 5, seed=2)
    output, weights = check.call(query, key, value, returns=("output", "weights"))
    check.equal(
        weights,
        torch.softmax(query @ key.T / 6**0.5, -1),
        "without a mask everyone sees everyone: softmax of the scaled scores",
        hint="what should happen when mask is None?",
    )
with Check("masked_attention", "a batch with padding", hint) as check:
    query, key, value = numbers(2, 3, 6), numbers(2, 4, 6, seed=1), numbers(2, 4, 5, seed=2)
    mask = torch.tensor([[[True, True, True, True]], [[True, True, False, False]]])
    output, weights = check.call(query, key, value, mask, returns=("output", "weights"))
    check.shape(weights, batch=2, query=3, key=4)
    alone, _ = check.call(query[1], key[1, :2], value[1, :2], returns=("output", "weights"))
    check.equal(
        output[1],
        alone,
        "a padded sentence gives what it gives alone, without its padding",
        hint="a mask (batch, 1, key) fits scores (batch, query, key) as it is",
    )
# BEGIN HIDDEN TESTS
with Check("masked_attention", "masks of every shape, equal to PyTorch's attention") as check:
    query = numbers(2, 3, 4, 6, seed=3, scale=2.0)
    key, value = numbers(2, 3, 5, 6, seed=4, scale=2.0), numbers(2, 3, 5, 7, seed=5)
    identity = torch.eye(5, dtype=torch.float64).expand(2, 3, 5, 5)
    for shape in ((4, 5), (1, 5), (2, 1, 1, 5), (2, 1, 4, 5), (3, 1, 5), (2, 3, 4, 5)):
        # the third key may always be seen, so that no row is empty
        mask = (numbers(*shape, seed=6) > -0.3) | (torch.arange(5) == 2)
        output, weights = check.call(query, key, value, mask, returns=("output", "weights"))
        check.equal(output, F.scaled_dot_product_attention(query, key, value, mask), "the output")
        expected = F.scaled_dot_product_attention(query, key, identity, mask)
        check.equal(weights, expected, "the weights")
with Check("masked_attention", "square scores, float32 and views") as check:
    for dtype in (torch.float32, torch.float64):
        query = numbers(5, 6, 3, seed=7, dtype=dtype).transpose(0, 1)
        key, value = (numbers(6, 5, 3, seed=seed, dtype=dtype) for seed in (8, 9))
        for mask in (torch.ones(5, 5).tril().bool(), torch.arange(5) < 3 + numbers(6, 1, 1) * 0):
            output, weights = check.call(query, key, value, mask, returns=("output", "weights"))
            expected = F.scaled_dot_product_attention(query, key, value, mask)
            check.equal(output, expected, "PyTorch's output")
            check.equal(weights.sum(-1), torch.ones(6, 5, dtype=dtype), "weights that sum to 1")
with Check("masked_attention", "gradients, and none from what is forbidden") as check:
    query, key, value = numbers(4, 6, seed=10), numbers(5, 6, seed=11), numbers(5, 3, seed=12)
    sources = [source.requires_grad_() for source in (query, key, value)]
    mask = torch.arange(5).expand(4, 5) < 3
    output, _ = check.call(query, key, value, mask=mask, returns=("output", "weights"))
    expected = F.scaled_dot_product_attention(query, key, value, mask)
    for source in sources:
        slope = check.gradient(output.square(), source)
        check.equal(slope, check.gradient(expected.square(), source), "PyTorch's gradient")
with Check("masked_attention", "what stands in the padding changes nothing") as check:
    query, key, value = numbers(3, 4, seed=13), numbers(6, 4, seed=14), numbers(6, 2, seed=15)
    mask = torch.arange(6)[None] < 4
    names = ("output", "weights")
    output, weights = check.call(query, key, value, mask, returns=names)
    noise = torch.where(mask.T, 0.0, numbers(6, 1, seed=16, scale=300.0))
    noisy_output, noisy = check.call(query, key + noise, value + noise, mask, returns=names)
    check.equal(noisy, weights, "the weights stay")
    check.equal(noisy_output, output, "the output stays")
# END HIDDEN TESTS

# %% [markdown]
# And queries that may look at nothing:

# %% check masked_attention_of_nothing points=2
hint = "softmax of a row of nothing but −∞ is NaN: its weights must become 0"
with Check("masked_attention", "a query that may look at nothing", hint) as check:
    query, key, value = numbers(3, 4), numbers(5, 4, seed=1), numbers(5, 2, seed=2)
    query.requires_grad_()
    mask = torch.tensor([[True] * 5, [False] * 5, [True, False, False, False, True]])
    output, weights = check.call(query, key, value, mask, returns=("output", "weights"))
    check.shape(weights, query=3, key=5)
    check.equal(weights[1], torch.zeros(5, dtype=torch.float64), "it takes in nothing: weights 0")
    check.equal(output[1], torch.zeros(2, dtype=torch.float64), "and its output is 0")
    check.equal(
        weights.sum(-1),
        torch.tensor([1.0, 0.0, 1.0], dtype=torch.float64),
        "the weights of the other queries still sum to 1",
        hint="only rows in which the mask is False everywhere become 0",
    )
    slope = check.gradient(output.square(), query)
    check.true(
        bool(slope.isfinite().all()),
        "the gradient holds no NaN either",
        hint="put −∞ in place of the score instead of adding it: then no gradient flows through "
        "the forbidden place",
    )
# BEGIN HIDDEN TESTS
with Check("masked_attention", "empty sentences in a batch, with heads") as check:
    query = numbers(3, 2, 4, 6, seed=17)
    key, value = numbers(3, 2, 5, 6, seed=18), numbers(3, 2, 5, 7, seed=19)
    mask = (torch.arange(5) < torch.tensor([5, 0, 2])[:, None])[:, None, None]
    output, weights = check.call(query, key, value, mask, returns=("output", "weights"))
    check.equal(weights[1], torch.zeros(2, 4, 5, dtype=torch.float64), "no weights")
    check.equal(output[1], torch.zeros(2, 4, 7, dtype=torch.float64), "no output")
    for i, words_left in ((0, 5), (2, 2)):
        parts = query[i], key[i, :, :words_left], value[i, :, :words_left]
        check.equal(output[i], F.scaled_dot_product_attention(*parts), "the other sentences")
with Check("masked_attention", "all is forbidden, in float32 too") as check:
    for dtype in (torch.float64, torch.float32):
        query, key, value = (numbers(n, 3, seed=n, dtype=dtype, scale=9.0) for n in (2, 4, 4))
        for mask in (torch.zeros(2, 4, dtype=torch.bool), torch.zeros(1, 4, dtype=torch.bool)):
            output, weights = check.call(query, key, value, mask, returns=("output", "weights"))
            check.equal(weights, torch.zeros(2, 4, dtype=dtype), "no weights")
            check.equal(output, torch.zeros(2, 3, dtype=dtype), "no output")
with Check("masked_attention", "gradients beside an empty row") as check:
    query, key, value = numbers(4, 6, seed=20), numbers(5, 6, seed=21), numbers(5, 3, seed=22)
    sources = [source.requires_grad_() for source in (query, key, value)]
    mask = torch.tensor([[True], [False], [True], [True]]).expand(4, 5)
    output, weights = check.call(query, key, value, mask, returns=("output", "weights"))
    kept = torch.tensor([0, 2, 3])
    expected = F.scaled_dot_product_attention(query[kept], key, value)
    for source in sources:
        slope = check.gradient(output.square(), source)
        check.equal(slope, check.gradient(expected.square(), source), "as without that row")
# END HIDDEN TESTS


# %% [markdown]
# ## 5 · Two masks, one attention
#
# A batch of texts that a model learns to write needs both: no later word, **and** no padding. Masks combine with `&`.
#
# **Predict.** `causal_mask(5)` is (5, 5), and `padding_mask(lengths, 5)` for three sentences is (3, 1, 5). What is the shape of `causal_mask(5) & padding_mask(lengths, 5)`?
#
# <details><summary>(3, 1, 5)</summary>The 1 stretches: to all five rows of the causal mask.</details>
# <details><summary>(3, 5, 5)</summary>Yes: for each of three sentences, each of five queries, each of five keys.</details>
# <details><summary>They do not fit</summary>Broadcasting lines shapes up at their right ends: (5, 5) is taken as (1, 5, 5), and each 1 stretches.</details>

# %%
both = causal_mask(5) & padding_mask(torch.tensor([3, 2, 5]), 5)  # (3, 5, 5)
figures.masks(
    {" ".join(line): (both[i], "key", line) for i, line in enumerate(batch_of_words)},
    "query",
    ["0", "1", "2", "3", "4"],
)

# %% [markdown]
# What to see: in each sentence the causal triangle is cut off where the padding begins. The last rows of the short sentences belong to padding. They may still ask, and nobody reads their answer.
#
# Now your own attention, on a sentence of five words with random queries and keys. Grey means forbidden. Point at a cell to read its weight, or walk there with the arrow keys; the sums at the right are those of the rows.

# %%
from transformer_course.widgets import show_attention

sentence = ["the", "dog", "didn't", "cross", "it"]
asks, answers, gives = numbers(5, 8), numbers(5, 8, seed=1), numbers(5, 4, seed=2)
show_attention(
    masked_attention(asks, answers, gives, causal_mask(5))[1],
    sentence,
    mask=causal_mask(5),
    title="your masked attention",
)

# %% [markdown]
# Now paint a mask of your own on the same scores: forbid one word, forbid all but one, empty a row, and watch how the rest shares the 1. To begin with, nobody may look at *didn't*, and *it* may look at nothing.

# %%
from transformer_course.widgets import show_mask

to_begin = torch.ones(5, 5, dtype=torch.bool)
to_begin[:, 2] = False
to_begin[4] = False
view = show_mask(asks @ answers.T / math.sqrt(8), mask=to_begin, queries=sentence)
view.show()

# %% [markdown]
# The view computes the weights itself. Does **your** function agree? This cell takes the mask that you have painted: run it again after you have painted another.

# %%
show_attention(
    masked_attention(asks, answers, gives, view.mask)[1],
    sentence,
    mask=view.mask,
    title="your function, under the painted mask",
)

# %% [markdown]
# ## 6 · Does it look?
#
# Somebody hands you a model and says: it does not look ahead. You could read its code. Better, you measure. If output $i$ looks at input $j$, then a small change of input $j$ changes output $i$. That is a derivative:
#
# $$\frac{\partial\, \text{output}_i}{\partial\, \text{input}_j} \neq 0 \quad \text{for some } j > i \qquad \Longrightarrow \qquad \text{the future leaks into the past.}$$
#
# Two functions on four words are so simple that you know these derivatives without a computer: one adds up all words so far, one turns the words round. In each, an output either contains an input, derivative 1, or it does not.

# %%
four = ["0", "1", "2", "3"]
summed = [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
turned = [[0, 0, 0, 1], [0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]]
figures.steps(
    {
        "sums of all words so far": (summed, "input", four),
        "words turned round": (turned, "input", four),
    },
    "output",
    four,
)

# %% [markdown]
# What to see: a map of influence reads like a mask. What stands above the diagonal comes from the future. On the left there is nothing; on the right the first two outputs come from the last two inputs: a leak.
#
# For any other function PyTorch has the derivatives: `torch.autograd.functional.jacobian(function, x)` gives those of every output by every input. For `x` of shape (length, dim) its shape is (length, dim, length, dim): output word, its feature, input word, its feature.

# %% [markdown]
# **Exercise** (10 minutes). Write the detector, with `jacobian` as it stands above or with `torch.autograd.grad`. (The grader hands first derivatives on, one after the other: neither `vectorize=True` nor `jvp`.)
#
# <details><summary>Hint 1</summary>With the jacobian: take the largest absolute value over both feature axes. What is left is (length, length), as in the picture. Which part of it is forbidden?</details>
# <details><summary>Hint 2</summary>Or one output at a time: <code>torch.autograd.grad(output[i, feature], x, retain_graph=True)</code> gives the gradient of that number by all words of x, if x requires a gradient. Which rows of it must be 0? (Of the sum over the features it would not do: the softmax of a word sums to 1, whatever it depends on.)</details>


# %% exercise leaks_future
def leaks_future(attend: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    """Whether any output of `attend` depends on a later input.

    attend: a function of all words at once, (length, dim) -> (length, dim); x: (length, dim).
    A derivative counts if it is larger than 1e-8 in absolute value. x stays as it is.
    """
    # BEGIN SOLUTION
    slopes = torch.autograd.functional.jacobian(attend, x)  # (length, dim, length, dim)
    strongest = torch.as_tensor(slopes).abs().amax(dim=(1, 3))  # (length, length)
    return bool((strongest.triu(diagonal=1) > 1e-8).any())
    # END SOLUTION


# %% check leaks_future points=3
hint = "output i may depend on the inputs 0 … i, and on none after i"
with Check("leaks_future", "functions that leak, and that do not", hint) as check:
    x = numbers(4, 3)

    def doubled(x):
        return 2 * x

    def sums_so_far(x):
        return x.cumsum(0)

    def word_before(x):
        return torch.cat([0 * x[:1], x[:-1]])

    def almost_alone(x):
        return x + 1e-12 * x.sum(0)

    def turned_round(x):
        return x.flip(0)

    def next_word_too(x):
        return torch.cat([x[:-1] + x[1:], x[-1:]])

    def second_into_first(x):
        return torch.cat([x[:1] + x[1:2], x[1:]])

    def last_into_first(x):
        return torch.cat([x[:1] + x[-1:], x[1:]])

    def last_into_third(x):
        return torch.cat([x[:2], x[2:3] + x[3:], x[3:]])

    def a_little_of_all(x):
        return x + 1e-7 * x.sum(0)

    def less_the_mean(x):
        return x - x.mean(0)

    def one_feature(x):
        return torch.cat([x[:, 2:].flip(0), x[:, 1:]], dim=1)

    honest = {
        doubled: "each word twice: an output may depend on its own input",
        sums_so_far: "sums of all words up to each one: an output may depend on what came before",
        word_before: "each output is the word before",
        almost_alone: "derivatives of 1e-12 are rounding, no dependence",
    }
    leaky = {
        turned_round: "the words turned round: the first output is the last word",
        next_word_too: "each word plus the next one",
        second_into_first: "the second word is added to the first",
        last_into_first: "the last word is added to the first",
        last_into_third: "the last word is added to the one before it",
        a_little_of_all: "a ten-millionth of all words is added: derivatives of 1e-7 count",
        less_the_mean: "each word less the mean of all: negative derivatives count",
        one_feature: "the first feature of each word is the third feature of the words turned round",
    }
    for attend in (*honest, *leaky):  # all answers together tell which slip it is
        check.call(attend, x, returns=bool)
    for attend, told in honest.items():
        check.true(not check.call(attend, x, returns=bool), f"this does not leak: {told}")
    for attend, told in leaky.items():
        check.true(check.call(attend, x, returns=bool), f"this leaks: {told}")
# BEGIN HIDDEN TESTS
with Check("leaks_future", "attention, masked in several ways") as check:

    def masked(diagonal):
        def attend(x):
            seen = torch.ones(len(x), len(x)).tril(diagonal).bool()
            return F.scaled_dot_product_attention(x, x, x, attn_mask=seen)

        return attend

    for length, dim in ((2, 5), (3, 3), (6, 4)):
        x = numbers(length, dim, seed=length)
        check.true(not check.call(masked(0), x, returns=bool), "a causal mask lets nothing leak")
        check.true(check.call(masked(1), x, returns=bool), "a mask one too wide leaks")
        check.true(check.call(masked(length), x, returns=bool), "attention without a mask leaks")
with Check("leaks_future", "one leak among many words") as check:
    for to, of, feature in ((0, 6, 4), (5, 6, 0), (2, 3, 1)):
        x = numbers(7, 5, seed=2, scale=0.4)

        def ahead(x, to=to, of=of, feature=feature):
            places, features = torch.arange(len(x)), torch.arange(x.shape[1])
            here = (places[:, None] == to) & (features == feature)
            return x.cumsum(0).sin() + torch.where(here, x[of, 0] ** 3 + x[of, 0], 0.0)

        def behind(x, to=to, of=of, feature=feature):
            places, features = torch.arange(len(x)), torch.arange(x.shape[1])
            here = (places[:, None] == of) & (features == feature)
            return x.cumsum(0).sin() + torch.where(here, x[to, 0] ** 3 + x[to, 0], 0.0)

        check.true(check.call(ahead, x, returns=bool), "one word takes in a later one")
        check.true(not check.call(behind, x, returns=bool), "one word takes in an earlier one")
with Check("leaks_future", "one word, float32, and an input that stays as it is") as check:
    check.true(not check.call(lambda x: x * x.sum(), numbers(1, 4), returns=bool), "one word")
    for dtype in (torch.float32, torch.float64):
        x = numbers(3, 2, seed=3, dtype=dtype)
        honest = check.call(lambda x: x.exp().cumsum(0).log(), x, returns=bool)
        check.true(not honest, "sums of the past, inside a logarithm")
        weight = numbers(2, 2, seed=4, dtype=dtype)  # as a model has them, of the dtype of x
        leaky = check.call(lambda x, weight=weight: x.softmax(0) @ weight, x, returns=bool)
        check.true(leaky, "a softmax over the words divides by later ones")
with Check("leaks_future", "which derivatives count, and where they are taken") as check:
    x, first = numbers(3, 8, seed=5), torch.eye(8, dtype=torch.float64)[0]
    leaky = check.call(lambda x: x + 1e-7 * x.sum(0), x, returns=bool)
    check.true(leaky, "derivatives of 1e-7 count")
    leaky = check.call(lambda x, first=first: x + 5e-8 * first * x.sum(0), x, returns=bool)
    check.true(leaky, "one of 5e-8 among many of 0 counts")
    honest = check.call(lambda x: x + 5e-9 * x.sum(0), x, returns=bool)
    check.true(not honest, "derivatives of 5e-9 do not count, however many there are")
    honest = check.call(lambda x: 1e-10 * x.flip(0), x, returns=bool)
    check.true(not honest, "nor those of 1e-10, even if there are no larger ones")
    leaky = check.call(lambda x: x + (x.flip(0) - 10).relu(), x + 20, returns=bool)
    check.true(leaky, "a later word counts where x is, above 10")
# END HIDDEN TESTS


# %% [markdown]
# Try it on your own attention, with and without your own mask.


# %%
def unmasked_words(words_in: Tensor) -> Tensor:
    return masked_attention(words_in, words_in, words_in)[0]


def masked_words(words_in: Tensor) -> Tensor:
    return masked_attention(words_in, words_in, words_in, causal_mask(len(words_in)))[0]


print("without a mask, the future leaks:   ", leaks_future(unmasked_words, numbers(4, 3)))
print("with your causal mask, it leaks:    ", leaks_future(masked_words, numbers(4, 3)))

# %% [markdown]
# ## 7 · Too good to be true
#
# What does a model do that can look ahead? Teach one to continue rows of digits. In four of five steps the next digit is one more than the last (after 9 comes 0). In the other steps it is thrown with a ten-sided die.


# %%
def some_rows(count: int, seed: int) -> Tensor:
    """Rows of eight digits, each mostly one more than the digit before it: (count, 8)."""
    generator = torch.Generator().manual_seed(seed)
    digits = [torch.randint(10, (count,), generator=generator)]
    for _ in range(7):
        thrown = torch.randint(10, (count,), generator=generator)
        one_more = (digits[-1] + 1) % 10
        by_rule = torch.rand(count, generator=generator) < 0.8
        digits.append(torch.where(by_rule, one_more, thrown))
    return torch.stack(digits, 1)


for digit_row in some_rows(4, seed=1).tolist():
    print(*digit_row)
# the die helps the rule in one throw of ten, and spreads the rest over nine digits
likely = 0.8 + 0.2 / 10
best_loss = -likely * math.log(likely) - (1 - likely) * math.log((1 - likely) / 9)
print(f"\nnext digit by the rule: {likely:.0%}. The smallest honest loss: {best_loss:.3f}")

# %% [markdown]
# **Nobody can predict a die.** Who knows the rule perfectly gives 82 % to the next digit, and 2 % to each other one. Their mean loss, which is minus the log of what they gave to the digit that came, is 0.867. Less than that is not skill.
#
# The model: each digit and each place has a learned vector (lesson 6 says more about places). Your attention blends them. A last layer turns each blend into scores for the **next** digit. Three models are trained, which differ in the mask alone: the causal one; none; and a causal mask that is one diagonal too wide, an off-by-one as it happens to everyone once.


# %%
class Writer(nn.Module):
    """One layer of your masked attention; says for each digit which one comes next."""

    def __init__(self, allowed: Tensor, d_model: int = 32) -> None:
        super().__init__()
        self.digits = nn.Embedding(10, d_model)
        self.places = nn.Embedding(8, d_model)
        self.w_query = nn.Linear(d_model, d_model, bias=False)
        self.w_key = nn.Linear(d_model, d_model, bias=False)
        self.w_value = nn.Linear(d_model, d_model, bias=False)
        self.next_digit = nn.Linear(d_model, 10)
        self.allowed = allowed

    def blend(self, x: Tensor) -> tuple[Tensor, Tensor]:
        length = x.shape[-2]
        allowed = self.allowed[:length, :length]
        return masked_attention(self.w_query(x), self.w_key(x), self.w_value(x), allowed)

    def forward(self, digits: Tensor) -> tuple[Tensor, Tensor]:
        length = digits.shape[1]
        blended, weights = self.blend(self.digits(digits) + self.places.weight[:length])
        return self.next_digit(blended), weights  # (batch, length, 10), (batch, length, length)


def loss_of(writer: Writer, digits: Tensor) -> Tensor:
    """Each digit predicts the next one; the last has none."""
    predicted, _ = writer(digits)
    return F.cross_entropy(predicted[:, :-1].flatten(0, 1), digits[:, 1:].flatten())


def train_writer(allowed: Tensor) -> tuple[Writer, list[float]]:
    """A trained writer, and its loss at every twentieth step."""
    torch.manual_seed(0)
    writer = Writer(allowed)
    optimizer = torch.optim.Adam(writer.parameters(), lr=0.01)
    history = []
    for step in range(301):
        loss = loss_of(writer, some_rows(256, seed=step))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            history.append(loss.item())
    return writer, history


def written(writer: Writer, digits: Tensor) -> Tensor:
    """Continue each row, digit by digit, with the likeliest one, until there are eight."""
    with torch.no_grad():
        while digits.shape[1] < 8:
            likeliest = writer(digits)[0][:, -1].argmax(-1)
            digits = torch.cat([digits, likeliest[:, None]], 1)
    return digits


# %% [markdown]
# **Predict.** To which loss does the model **without** a mask come, on rows that it has never seen?
#
# <details><summary>About 0.87: there is no way below</summary>There is one way below: to read the answer. It stands one place to the right.</details>
# <details><summary>About 0</summary>Yes. It copies the next digit, the thrown ones too. New rows are no test: there, too, the answer lies on the table.</details>
# <details><summary>Above 0.87: it is distracted</summary>It soon finds out which place is worth looking at.</details>

# %%
mask_of = {
    "causal mask": causal_mask(8),
    "no mask": torch.ones(8, 8, dtype=torch.bool),
    "one too wide": torch.ones(8, 8).tril(1).bool(),
}
writers, histories = {}, {}
new_rows = some_rows(4000, seed=1000)
for name, allowed in mask_of.items():
    writers[name], histories[name] = train_writer(allowed)
    with torch.no_grad():
        new_loss = loss_of(writers[name], new_rows).item()
    texts = written(writers[name], torch.arange(10)[:, None])
    rule_kept = ((texts[:, 1:] - texts[:, :-1]) % 10 == 1).float().mean().item()
    example = " ".join(str(digit) for digit in texts[3].tolist())
    print(
        f"{name:13} loss on new rows {new_loss:.3f}   it writes {example}   {rule_kept:.0%} right"
    )
figures.curves(
    list(range(0, 301, 20)),
    {**histories, "smallest honest loss": [best_loss] * 16},
    x="training step",
    y="loss",
    title="Nobody gets below the floor honestly",
    bottom=-0.05,
)

# %% [markdown]
# What to see: the model with the causal mask comes down to the floor and stays there. (A single batch may lie a little below it: some throws are lucky. The 4000 new rows are not.) It has learned all there is to learn, and it writes by the rule. The other two fall through the floor to 0. And then they cannot write: when they write, the digit to the right, on which they have relied, does not exist.
#
# So remember the sign: **a loss that is too good to be true is a leak**, until you have shown that it is none. More data does not show it, nor do new rows. What shows it is the model's own writing, a look at the attention map, or your detector.

# %%
may_look = causal_mask(8)[:7]
one_row = some_rows(1, seed=3)
digit_names = [str(digit) for digit in one_row[0].tolist()]
for name in ("causal mask", "no mask"):
    with torch.no_grad():
        looked = writers[name](one_row)[1][0, :7]  # the last digit has nothing to predict
    shown = may_look if name == "causal mask" else None
    show_attention(looked, digit_names[:7], digit_names, mask=shown, title=name).show()

some_vectors = numbers(8, 32, dtype=torch.float32)
for name, writer in writers.items():
    leaks = leaks_future(lambda words_in, writer=writer: writer.blend(words_in)[0], some_vectors)
    print(f"{name}: the future leaks: {leaks}")

# %% [markdown]
# What to see: with the causal mask each digit looks at itself, which is all that the rule needs. Without a mask each digit looks one to the right, at its answer. The detector finds both cheats, and needs no training for it: it would have told you before the first step.

# %% [markdown]
# ## 8 · The real thing
#
# `F.scaled_dot_product_attention` takes your mask as `attn_mask`, or makes the causal one itself with `is_causal=True`. `nn.MultiheadAttention` wants the opposite: True = **forbidden**. Give all of them your inputs.

# %%
three_roles = numbers(2, 3, 6, 8), numbers(2, 3, 6, 8, seed=1), numbers(2, 3, 6, 5, seed=2)
padded = padding_mask(torch.tensor([4, 6]), 6)[:, None]  # (batch, 1, 1, key): a 1 for the heads
both = causal_mask(6) & padded
for title, yours, theirs in (
    ("causal", causal_mask(6), F.scaled_dot_product_attention(*three_roles, is_causal=True)),
    ("causal and padded", both, F.scaled_dot_product_attention(*three_roles, attn_mask=both)),
):
    mine = masked_attention(*three_roles, yours)[0]
    print(f"function, {title}: largest difference {(mine - theirs).abs().max().item():.1e}")

torch.manual_seed(0)
block = nn.MultiheadAttention(8, num_heads=1, bias=False, batch_first=True).double()
sequences = numbers(4, 6, 8, seed=3)
with torch.no_grad():
    block.out_proj.weight.copy_(torch.eye(8))  # a last projection: lesson 3 tells why
    its_query, its_key, its_value = (sequences @ w.T for w in block.in_proj_weight.chunk(3))
    mine = masked_attention(its_query, its_key, its_value, causal_mask(6))[0]
    for title, attn_mask in (("~mask", ~causal_mask(6)), ("mask as it is", causal_mask(6))):
        theirs = block(sequences, sequences, sequences, attn_mask=attn_mask)[0]
        # without the last word, see below
        difference = (mine - theirs)[:, :-1].abs().max().item()
        print(f"block, {title}: largest difference {difference:.1e}")

# %% [markdown]
# Differences around 1e-16 are rounding: what you wrote is what PyTorch computes. The last line is the trap. With the mask as it is, PyTorch's block looks at the future **alone**, and no error tells you. (Its last word may then see nothing at all, and becomes NaN. The comparison leaves it out.)
#
# Two more things to know from here on. PyTorch's block calls a padding mask `key_padding_mask`, (batch, key), True = padding. And scores with heads are (batch, heads, query, key): then a mask (batch, 1, key) needs one more axis, as in the cell above. Shapes are lined up at the right, so without it the batch of the mask would meet the heads of the scores.

# %% [markdown]
# ## 9 · In your own words
#
# **Question.** A friend trains a model that writes. After ten minutes its loss is near 0, on the training texts and on new texts alike; but what it writes is rubbish. What do you suspect, why did the new texts not show it, and how would you prove it? Three or four sentences: double-click the cell below and write them there. A person reads them.

# %% answer too_good [markdown] points=2
# <!-- BEGIN SOLUTION -->
# The model can see the word that it has to predict: the causal mask is missing, turned round, or one diagonal off. With new texts the loss is computed in the same way, all words on the table, so it copies the answer there too. When it writes, the next word does not exist yet, and what it has learned, to copy, is of no use. Proof: change a later word (or take the gradient by it) and see whether an earlier output moves; a look at the attention map shows weights above the diagonal.
# <!-- END SOLUTION -->


# %% [markdown]
# ## What you know now
#
# - A **mask** says for each query and key whether the look is allowed. Here, and in `F.scaled_dot_product_attention`, **True = may attend**; `nn.MultiheadAttention` means the opposite.
# - The **causal mask** is the lower triangle with its diagonal: key place ≤ query place. The **padding mask** forbids keys, for all queries alike: (batch, 1, key). `&` combines them.
# - Forbid **before** softmax, with **−∞**: then the rest shares the 1 by itself, and no finite score can come near.
# - A query that may look at nothing gives NaN, unless you say that it takes in nothing.
# - A **leak** is a derivative of an output by a later input. Its sign is a loss that is too good to be true.
#
# **The question that is left.** In each row the weights sum to 1: a word that looks hard at one place has little left for the others. But a verb wants to find its subject *and* its object *and* the word before it. How does one word look for several things at once? That is lesson 3, multi-head attention.
