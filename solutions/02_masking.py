# %% [markdown]
# # Lesson 2 · Masking
#
# **You build** a causal mask and a padding mask, attention that applies them, and two tests: for faulty masking, and for models that see the future.
#
# **You need** lesson 1: queries, keys, values, scaled scores, softmax. You also need derivatives, PyTorch's training loop, and boolean tensors: a comparison such as `a < b` makes one, `~` negates it, and `&` combines two.
#
# **You take away** `masked_attention`, the reason for the −∞ in it, and a leak test for models that generate.
#
# **Time**: about 190 minutes: 110 for the exercises. Two places to stop are marked. Section 7 can wait for another day, but section 9 needs it. What is marked *optional* goes deeper: nothing later needs it.
#
# **How to work**: read, predict and run, cell by cell. This notebook runs alone.

# %% given imports
import functools
import math
from collections.abc import Callable
from itertools import pairwise, product

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformer_course import figures
from transformer_course.checks import Check, numbers

# %% [markdown]
# ## Which model is better?
#
# Two models learn to continue rows of digits. They have the same size, the same training data and the same number of training steps.
#
# | | held-out loss | correct steps when it generates |
# |---|---|---|
# | model A | about 0.87 | almost all |
# | model B | below 0.01 | almost none |
#
# The held-out loss is measured on rows drawn separately from the training rows, and on these model B's is far lower. Yet model B cannot continue a row. How can both be true? Write down a guess. In section 7 you train both models and find out.
#
# ## Recall
#
# Here are attention weights as you computed them in lesson 1. Answer three questions about them before you open the answers.

# %%
three = ["the", "animal", "sleeps"]
figures.attention_map([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.6, 0.3]], three)

# %% [markdown]
# **Recall 1.** What must sum to 1?
#
# <details><summary>Each column</summary>The first column sums to 0.9: a key may receive more or less than 1 in total.</details>
# <details><summary>Each row</summary>Yes. A row belongs to a query, and softmax runs over the keys.</details>
# <details><summary>The whole matrix</summary>It sums to 3, the number of queries.</details>
#
# **Recall 2.** The score of *sleeps* with *animal* rises by 1. All other scores stay the same. What happens in the row of *sleeps*?
#
# <details><summary>Only the weight of <em>animal</em> changes</summary>The weights still sum to 1, so the others must change too.</details>
# <details><summary>All three weights rise</summary>They cannot: they still sum to 1.</details>
# <details><summary>The weight of <em>animal</em> rises, the other two fall</summary>Yes. The keys of a row share a fixed total of 1.</details>
#
# **Recall 3.** What is the output for *sleeps*?
#
# <details><summary>0.1, 0.6 and 0.3 times the values of the three tokens, added up</summary>Yes: the weighted sum of the values, with the weights of its row.</details>
# <details><summary>The value of <em>animal</em></summary>Softmax is soft: the largest weight does not take everything.</details>
# <details><summary>0.1, 0.6 and 0.3 times the three keys, added up</summary>The keys only decide the weights. Attention adds up the values.</details>

# %% [markdown]
# ## 1 · The answer is already in the input
#
# In lesson 1 every token attended to all tokens. Attention to tokens on both sides is called **bidirectional**. It suits a model that reads, such as BERT: *it* can use *tired*, which comes later.
#
# A model that writes, such as GPT, is **autoregressive**: it generates one token at a time, each from the tokens before it. The tokens so far are its context. Later tokens do not exist yet. Why does the weight of *animal* differ in the two pictures?

# %%
words = ["the", "animal", "didn't", "cross", "the", "street", "because", "it", "was", "too"]
reading = [0.02, 0.40, 0.02, 0.03, 0.02, 0.10, 0.02, 0.03, 0.02, 0.02, 0.32]
writing = [0.03, 0.63, 0.03, 0.05, 0.03, 0.15, 0.03, 0.05, 0.00, 0.00, 0.00]
figures.word_links(
    {
        "bidirectional: “it” attends to all tokens": ([*words, "tired"], 7, reading),
        "autoregressive: “it” attends to its context": ([*words, "tired"], 7, writing),
    }
)

# %% [markdown]
# The weights are invented, as in lesson 1. In the lower picture the tokens after *it* have weight 0. The others have grown, *animal* from 0.40 to 0.63, because they still sum to 1.
#
# During generation the newest token has no future: nothing comes after it. During *training* it is different, because there the model receives the whole sentence at once. In **next-token prediction**, a model predicts, at every position, the token that comes next. One pass through the model makes all these predictions.
#
# Here are the inputs and their targets. At which position is the target of position 7 an *input*?

# %%
for position, (given, target) in enumerate(pairwise(words)):
    print(f"position {position}   input {given:10} target {target}")

# %% [markdown]
# At position 8. With bidirectional attention, position 7 can copy *was* from there instead of predicting it. So in training, later keys must be hidden. In generation the mask stays on: the model was trained with it, and with it a new token changes nothing at earlier positions.
#
# **From the lecture**: *Transformers*, CSCI 4360/6360, slide "Masking".

# %% [markdown]
# ## 2 · A mask says which keys each query may attend to
#
# A **mask** is a boolean tensor that says, for each query and each key, whether the query may attend to the key. It has a row for each query and a column for each key, as the scores have.
#
# A **causal mask** lets each position attend to itself and to earlier positions only. In the figure, which query may attend to all three keys?

# %%
figures.masks(
    {
        "● may attend, × masked out": (
            [[True, False, False], [True, True, False], [True, True, True]],
            "key",
            three,
        )
    },
    "query",
    three,
)

# %% [markdown]
# The last one, *sleeps*: only it has two earlier positions. Every mask in this course follows one convention:
#
# > True = may attend.
#
# `F.scaled_dot_product_attention` uses the same convention. `nn.MultiheadAttention` uses the opposite, True = masked out. Section 8 shows what happens if you forget the difference.
#
# **Predict.** The diagonal is True: each position attends to itself. Does that let the model cheat?
#
# <details><summary>Yes, it finds its own target there</summary>The target is the <em>next</em> token. The token at its own position is already known.</details>
# <details><summary>No, and the first query needs it</summary>Right. The first query has no earlier keys. Without the diagonal it could attend to nothing at all.</details>
# <details><summary>No, and the mask would work as well without it</summary>Without the diagonal the first query could attend to nothing, and the attention output would not depend on the position's own value.</details>

# %% [markdown]
# **Exercise** (10 minutes). Write the causal mask for any length.
#
# <details><summary>Hint</summary>Either start with all True and keep one triangle (<code>tril</code> keeps the lower one, <code>triu</code> the upper one). Or compare the position of each query with the position of each key: <code>[:, None]</code> turns a row of positions into a column.</details>


# %% exercise causal_mask
def causal_mask(length: int) -> Tensor:
    """Let each query attend to its own position and to all earlier ones.

    Returns bool (length, length), a row for each query, a column for each key; True = may attend.
    """
    # BEGIN SOLUTION
    return torch.ones(length, length, dtype=torch.bool).tril()
    # END SOLUTION


# %% check causal_mask points=2
hint = "row i belongs to query i: its first i + 1 columns are True, counting from i = 0"
with Check("causal_mask", "three tokens", hint) as check:
    mask = check.call(3)
    check.shape(mask, query=3, key=3)
    check.equal(
        mask,
        torch.tensor([[True, False, False], [True, True, False], [True, True, True]]),
        "query 0 may attend to key 0, query 1 to keys 0 and 1, query 2 to all three",
    )
with Check("causal_mask", "any length", hint) as check:
    mask = check.call(5)
    check.shape(mask, query=5, key=5)
    check.equal(mask.sum(1), torch.tensor([1, 2, 3, 4, 5]), "query i may attend to i + 1 keys")
    check.equal(
        mask.sum(0),
        torch.tensor([5, 4, 3, 2, 1]),
        "every query may attend to key 0, and only the last query to the last key",
    )
    many = check.call(300)
    check.shape(many, query=300, key=300)
    check.equal(
        many.sum(1), torch.arange(1, 301), "among 300 too, query i may attend to i + 1 keys"
    )
# BEGIN HIDDEN TESTS
with Check("causal_mask", "one token, two, and many") as check:
    for length in (1, 2, 4, 33, 300):
        mask = check.call(length)
        check.shape(mask, query=length, key=length)
        positions = torch.arange(length)
        expected = positions[:, None] >= positions
        check.equal(mask, expected, "each query may attend to its own position and to earlier ones")
# END HIDDEN TESTS

# %% [markdown]
# ### Bug hunt: a condition on a slide
#
# **From the lecture**: *transformer*, STATS 403, lecture 7, slides "self-attention in transformer". One slide says that a causal model computes the score $q_i \cdot k_j$ "only when $i \leq j$". The next one draws the matrix of scores, with $-\infty$ where no score is used. The figure shows the drawing and the condition, each as a mask. They differ. Which one is causal?

# %%
five = ["1", "2", "3", "4", "5"]
drawing = [[True] * allowed + [False] * (5 - allowed) for allowed in (1, 2, 3, 4, 5)]
condition = [[i <= j for j in range(5)] for i in range(5)]
figures.masks(
    {"the drawing": (drawing, "key j", five), "the condition i ≤ j": (condition, "key j", five)},
    "query i",
    five,
)

# %% [markdown]
# The drawing is causal. Under the condition, each query may attend to its own position and to *later* ones: query 1 to every key, query 5 only to itself. In the condition, $i$ and $j$ are swapped, so its mask is the transpose of the drawing.

# %% [markdown]
# **Exercise** (7 minutes). Write the condition that the slide means. Your function receives the positions of the queries and of the keys separately, because a model that generates may compute its newest queries only. With queries at positions 4 and 5 and keys at 1 to 5, the mask has two rows.
#
# <details><summary>Hint</summary>Which of the two positions must not be the larger one?</details>


# %% exercise repaired_mask
def repaired_mask(query_positions: Tensor, key_positions: Tensor) -> Tensor:
    """Return the mask that the slide means by i ≤ j.

    query_positions (query_length,) and key_positions (key_length,) hold the position of each query
    and of each key in the text. Returns bool (query_length, key_length); True = may attend.
    """
    # BEGIN SOLUTION
    return query_positions[:, None] >= key_positions
    # END SOLUTION


# %% check repaired_mask points=1
with Check("repaired_mask", "one query with five keys, two with four") as check:
    one = check.call(torch.tensor([3]), torch.tensor([1, 2, 3, 4, 5]))
    two = check.call(torch.tensor([4, 2]), torch.tensor([5, 3, 4, 2]))
    check.shape(one, query=1, key=5)
    check.equal(
        one,
        torch.tensor([[True, True, True, False, False]]),
        "the query at position 3 may attend to positions 1, 2 and 3",
        hint="compare the positions: i is the query's, j is the key's",
    )
    check.shape(two, query=2, key=4)
    check.equal(
        two,
        torch.tensor([[False, True, True, True], [False, False, False, True]]),
        "in any order, a query may attend to keys at its own position and at earlier ones",
        hint="the numbers in the tensors are the positions; their index in the tensor is not",
    )
    far = check.call(torch.tensor([3000]), torch.tensor([2999, 3001, 7]))
    check.equal(
        far,
        torch.tensor([[True, False, True]]),
        "the query at position 3000 may attend to positions 7 and 2999, and not to 3001",
    )
# BEGIN HIDDEN TESTS
with Check("repaired_mask", "other positions") as check:
    for queries, keys in (
        ((0, 1, 2, 3), (0, 1, 2, 3)),
        ((7, 3, 9), (8, 5, 2, 3)),
        ((4,), (4,)),
        ((1000, 3), (2, 999, 1001)),
        ((2500, 4001, 6), (2501, 7, 4000)),
    ):
        mask = check.call(torch.tensor(queries), torch.tensor(keys))
        expected = torch.tensor([[key <= query for key in keys] for query in queries])
        check.equal(mask, expected, "a query may attend to its own position and to earlier ones")
# END HIDDEN TESTS

# %% [markdown]
# ## 3 · Padding: tokens that mean nothing
#
# There is a second reason to mask. A batch is one tensor, so all its sequences must have the same length. But sentences differ in length. **Padding** extends the shorter sequences of a batch with extra tokens that mean nothing. No query should attend to them.

# %%
batch_of_words = [
    ["the", "cat", "sleeps", "·", "·"],
    ["it", "rains", "·", "·", "·"],
    ["the", "dog", "didn't", "cross", "it"],
]
real_tokens = [[word != "·" for word in line] for line in batch_of_words]
figures.masks(
    {"real tokens ●, padding ×": (real_tokens, "position", ["0", "1", "2", "3", "4"])},
    "sequence",
    [" ".join(line) for line in batch_of_words],
)

# %% [markdown]
# A **padding mask** hides the padding keys of each sequence from all of its queries. All queries of a sequence share one row, so the shape (batch, 1, key) is enough. **Broadcasting** stretches an axis of size 1 to the size of the same axis in the other tensor. Here the 1 stretches to the number of queries.
#
# **Predict.** Someone makes the mask (batch, key, 1) instead. The scores are (batch, query, key), with as many queries as keys. What happens?
#
# <details><summary>The padding queries lose all keys, and the real queries still attend to the padding</summary>Yes. The mask removes rows where it should remove columns.</details>
# <details><summary>PyTorch raises an error</summary>It would with 3 queries and 5 keys, whose sizes do not fit. In self-attention the two lengths are equal, and the wrong mask fits.</details>
# <details><summary>Nothing changes</summary>The rows of the padding queries change: all their keys are masked.</details>

# %% [markdown]
# **Exercise** (10 minutes). You get the number of real tokens in each sequence, and the length to which all sequences are padded.
#
# <details><summary>Hint 1</summary><code>torch.arange(max_length)</code> holds the position of each key. Which of these positions hold real tokens, in a sequence of 3?</details>
# <details><summary>Hint 2</summary>Compare (max_length,) with (batch, 1), and you get (batch, max_length). <code>[:, None]</code> inserts a second axis, of size 1.</details>


# %% exercise padding_mask
def padding_mask(lengths: Tensor, max_length: int) -> Tensor:
    """Let every query attend to the real tokens of its sequence, and not to the padding.

    lengths (batch,): integers, the number of real tokens in each sequence, from 0 to max_length.
    The real tokens come first, then the padding.
    Returns bool (batch, 1, max_length), the last axis for the keys; True = may attend.
    """
    # BEGIN SOLUTION
    positions = torch.arange(max_length, device=lengths.device)
    return (positions < lengths[:, None])[:, None, :]
    # END SOLUTION


# %% check padding_mask points=2
hint = "key j of a sequence is a real token if j < length, counting from j = 0"
with Check("padding_mask", "two sequences", hint) as check:
    mask = check.call(torch.tensor([2, 4]), 5)
    check.shape(mask, batch=2, one=1, key=5)
    check.equal(
        mask[:, 0],
        torch.tensor([[True, True, False, False, False], [True, True, True, True, False]]),
        "the first two keys of the first sequence are real tokens, and the first four of the second",
    )
with Check("padding_mask", "three sequences, one empty and one without padding", hint) as check:
    mask = check.call(torch.tensor([3, 0, 4]), 4)
    check.shape(mask, batch=3, one=1, key=4)
    check.equal(
        mask[:, 0].sum(-1),
        torch.tensor([3, 0, 4]),
        "each row has as many True as the sequence has real tokens",
    )
# BEGIN HIDDEN TESTS
with Check("padding_mask", "other sequences, empty and full ones too") as check:
    for many, longest in (([5], 5), ([0, 3], 3), ([1, 7, 0, 4, 2], 9), ([2, 2, 2], 2)):
        for dtype in (torch.int64, torch.int32):
            mask = check.call(torch.tensor(many, dtype=dtype), longest)
            check.shape(mask, batch=len(many), one=1, key=longest)
            expected = torch.tensor([[[j < n for j in range(longest)]] for n in many])
            check.equal(mask, expected, "real tokens, then padding")
# END HIDDEN TESTS

# %% [markdown]
# ## 4 · Mask before the softmax, with −∞
#
# Now attention has to apply a mask. Lesson 1 had three steps: scores, softmax, weighted sum. Where does the mask go?
#
# Decide first what should come out. A masked key gets weight 0. The other keys share the 1 *as if the masked key did not exist*.
#
# **Predict.** Someone computes the weights as in lesson 1 and then sets the masked ones to 0. Is that enough?
#
# <details><summary>Yes</summary>The weights that are left sum to less than 1. The more you mask, the smaller the output gets.</details>
# <details><summary>No, the masked values must be set to 0 too</summary>That changes nothing: a value with weight 0 is not in the sum anyway. The other weights still sum to less than 1.</details>
# <details><summary>No, each row must also be divided by its sum</summary>Yes, on paper. On a computer it can fail: if the masked score is far above the others, their weights are rounded to 0, and 0 / 0 is left. There is a better solution, in which the masked key never enters the sum.</details>

# %% [markdown]
# **Exercise** (5 minutes), with pencil and paper. One query has three keys. The exponentials of its scores are 1, 2 and 7, so the weights are 0.1, 0.2 and 0.7. Now the *third key is masked*. What are the three weights? Give fractions or three decimals.

# %% exercise masked_row
# masked_row = [?, ?, ?]      three weights: fractions such as 1 / 8, or three decimals
# BEGIN SOLUTION
masked_row = [1 / 3, 2 / 3, 0.0]
# END SOLUTION

# %% check masked_row points=1
with Check("masked_row", "the three weights") as check:
    answer = check.value(3)
    check.equal(
        answer[2],
        torch.tensor(0.0, dtype=torch.float64),
        "the masked key has weight 0",
        within=1e-9,
    )
    check.equal(
        answer.sum(),
        torch.tensor(1.0, dtype=torch.float64),
        "the weights still sum to 1",
        hint="leave the third exponential out of the denominator too",
        within=0.005,
    )
    check.true(
        bool((answer[:2] > 0).all()) and abs(float(answer[1] / answer[0]) - 2) < 0.05,
        "the second weight is still twice the first",
        hint="the keys that are left keep their exponentials, 1 and 2: divide each by the sum of these two",
    )
# BEGIN HIDDEN TESTS
with Check("masked_row", "each weight") as check:
    expected = torch.tensor([1 / 3, 2 / 3, 0.0], dtype=torch.float64)
    check.equal(check.value(3), expected, "1 and 2, divided by their sum", within=0.006)
# END HIDDEN TESTS

# %% [markdown]
# Now let softmax do this by itself: replace the masked *score* so that its exponential is 0. Which number should replace it? The next figure tries three numbers on your three keys, and above them the idea of the last *Predict*: weights set to 0 after the softmax. In the left half the exponentials of the scores are 1, 2 and 7. In the right half all scores are 150 lower, which must not change any weight (lesson 1). Which rows give your result in *both* halves?

# %% folded=true
# Applies four ideas to the scores ln 1, ln 2, ln 7, and to the same scores − 150: click to unfold
rows_tried: list[list[float]] = [[], [], [], []]
for shift in (0.0, -150.0):
    first, second, third = shift, shift + math.log(2), shift + math.log(7)
    untouched = torch.softmax(torch.tensor([first, second, third]), 0)
    rows_tried[0] += (untouched * torch.tensor([1.0, 1.0, 0.0])).tolist()
    for row, replacement in zip(rows_tried[1:], (0.0, -100.0, -math.inf), strict=True):
        row += torch.softmax(torch.tensor([first, second, replacement]), 0).tolist()
title = "left: scores ln 1, ln 2, ln 7      right: the same scores − 150"
figures.steps(
    {title: (rows_tried, "key", ["1", "2", "3 masked"] * 2)},
    "idea",
    ["weight becomes 0", "score becomes 0", "score becomes −100", "score becomes −∞"],
)

# %% [markdown]
# Only the last row does. The first row sums to 0.3. A score of 0 has the exponential 1, so the masked key keeps some weight. A score of −100 is the *largest* one on the right. But exp(−∞) = 0, so the others share the 1.
#
# With the mask $M$ and the scaled scores $S = Q K^\top / \sqrt{d_k}$:
#
# $$\mathrm{Attention}(Q, K, V, M) = \mathrm{softmax}(S')\, V \qquad S'_{ij} = \begin{cases} S_{ij} & \text{if } M_{ij} \text{ is True} \\ -\infty & \text{otherwise} \end{cases}$$

# %% [markdown]
# **Predict.** A query may attend to *nothing*: its whole row is −∞. Which weights does softmax return?
#
# <details><summary>NaN, not a number</summary>Yes. Softmax subtracts the maximum of the row, here −∞, and −∞ − (−∞) is not a number.</details>
# <details><summary>All 0</summary>That is what you want. But all exponentials are 0, so each weight would be 0 / 0, which is not a number.</details>
# <details><summary>All equal</summary>A finite number such as −100 in the whole row gives that. But differences between infinities are not numbers.</details>
#
# What does that do to training? A linear layer makes the scores of three queries, and query 1 may attend to nothing. First −∞ is *added* to its scores, then it *replaces* them. Which gradients will contain NaN: the layer's, the values', or both?

# %%
for way in ("is added to", "replaces"):
    layer = nn.Linear(2, 2)
    two_values = torch.tensor([[1.0], [3.0]], requires_grad=True)
    raw = layer(torch.ones(3, 2))  # three queries, two keys
    if way == "replaces":
        raw = raw.index_fill(0, torch.tensor(1), -math.inf)
    else:
        raw = raw + torch.tensor([[0.0], [-math.inf], [0.0]])
    loss = (torch.softmax(raw, dim=-1) @ two_values).square().sum()
    of_layer, of_values = torch.autograd.grad(loss, (layer.weight, two_values))
    print(f"−∞ {way} the scores: the loss is {loss.item()}")
    print("   NaN in the gradient of the layer: ", bool(of_layer.isnan().any()))
    print("   NaN in the gradient of the values:", bool(of_values.isnan().any()))

# %% [markdown]
# One such row makes the loss NaN. With −∞ *added*, NaN flows back into the layer, and both gradients contain it. With −∞ as the *replacement*, the loss ignores the layer's scores in this row, so no gradient returns through them. Only the gradient of the values is NaN: it contains the NaN weights. So replace the scores, *and* let the weights of such a row become 0. Then its output is 0, and no gradient contains NaN.
#
# Such rows do occur. A sequence of length 0 has no key. With padding *before* the real tokens, both masks together leave the first queries no key.

# %% [markdown]
# **Exercise** (30 minutes). Write attention with a mask. You may use `torch.softmax` and `@`.
#
# <details><summary>Hint 1</summary>Four steps: scaled scores, −∞ where the mask is False, softmax over the keys, weighted sum of the values. Begin with the case without a mask.</details>
# <details><summary>Hint 2</summary><code>scores.masked_fill(where, number)</code> returns a new tensor with <code>number</code> wherever <code>where</code> is True. Your mask is True where nothing should be filled.</details>
# <details><summary>Hint 3</summary>After softmax, a row that may attend to nothing is NaN. Which weight should every masked key get, in those rows as in all others? Fill it in: NaN times 0 is still NaN.</details>


# %% exercise masked_attention
def masked_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """softmax(query keyᵀ / √d_k) value, in which each query attends only where `mask` is True.

    query (…, query_length, d_k), key (…, key_length, d_k), value (…, key_length, d_v)
    -> output (…, query_length, d_v), weights (…, query_length, key_length).
    mask: bool, True = may attend; broadcasts against (…, query_length, key_length); None allows all.
    Works for scores up to ±10 000.
    A query that may attend to nothing gets weights 0 and output 0, and no gradient is NaN.
    """
    # BEGIN SOLUTION
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    mask = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask
    weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
    # a row of nothing but -inf gives NaN: masked keys weigh 0 there too
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
    # the third key is masked for the first query, the second key for the second
    mask = torch.tensor([[True, True, False], [True, False, True]])
    output, weights = check.call(query, key, value, mask, returns=("output", "weights"))
    check.shape(weights, query=2, key=3)
    check.equal(
        weights,
        torch.tensor([[1 / 3, 2 / 3, 0.0], [3 / 4, 0.0, 1 / 4]], dtype=torch.float64),
        "a masked key has weight 0, and the others share the 1 in proportion to their exponentials",
    )
    check.shape(output, query=2, d_v=5)
    check.equal(
        output,
        torch.tensor([[4.0, 8.0, 0.0, 1.0, 4.0], [12.0, 3.0, 1.0, 2.5, 0.0]], dtype=torch.float64),
        "each row of the output is the weighted sum of the values",
        hint="(query, key) @ (key, d_v) -> (query, d_v)",
    )
with Check("masked_attention", "scores of any size", hint) as check:
    # the same exponentials as above, but the allowed scores lie near -10 000, the masked one
    # at 10 000
    query = torch.tensor([[2.0, 0.0, 0.0, 0.0]], dtype=torch.float64)
    key = torch.zeros(3, 4, dtype=torch.float64)
    key[:, 0] = torch.tensor([-10000.0, math.log(2) - 10000, 10000.0], dtype=torch.float64)
    mask, value = torch.tensor([[True, True, False]]), numbers(3, 5)
    # with all scores near 10 000, too, to tell mistakes apart
    check.call(query, -key[[0, 1, 0]], value, mask, returns=("output", "weights"))
    output, weights = check.call(query, key, value, mask, returns=("output", "weights"))
    check.equal(
        weights,
        torch.tensor([[1 / 3, 2 / 3, 0.0]], dtype=torch.float64),
        "allowed scores near -10000, a masked one of 10000: the weights are 1/3, 2/3 and 0",
        hint="what replaces a masked score must be lower than every other score, however low those are",
    )
with Check("masked_attention", "without a mask") as check:
    query, key, value = numbers(3, 6), numbers(4, 6, seed=1), numbers(4, 5, seed=2)
    output, weights = check.call(query, key, value, returns=("output", "weights"))
    check.equal(
        weights,
        torch.softmax(query @ key.T / 6**0.5, -1),
        "without a mask every query attends to every key: softmax of the scaled scores",
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
        "a padded sequence gives the same output as on its own, without padding",
        hint="a mask (batch, 1, key) broadcasts against scores (batch, query, key) as it is",
    )
# BEGIN HIDDEN TESTS
with Check("masked_attention", "masks of every shape, equal to PyTorch's attention") as check:
    query = numbers(2, 3, 4, 6, seed=3, scale=2.0)
    key, value = numbers(2, 3, 5, 6, seed=4, scale=2.0), numbers(2, 3, 5, 7, seed=5)
    identity = torch.eye(5, dtype=torch.float64).expand(2, 3, 5, 5)
    for shape in ((4, 5), (1, 5), (2, 1, 1, 5), (2, 1, 4, 5), (3, 1, 5), (2, 3, 4, 5)):
        # the third key is never masked, so that no row is empty
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
with Check("masked_attention", "gradients, and none from masked keys") as check:
    query, key, value = numbers(4, 6, seed=10), numbers(5, 6, seed=11), numbers(5, 3, seed=12)
    sources = [source.requires_grad_() for source in (query, key, value)]
    mask = torch.arange(5).expand(4, 5) < 3
    output, _ = check.call(query, key, value, mask=mask, returns=("output", "weights"))
    expected = F.scaled_dot_product_attention(query, key, value, mask)
    for source in sources:
        slope = check.gradient(output.square(), source)
        check.equal(slope, check.gradient(expected.square(), source), "PyTorch's gradient")
with Check("masked_attention", "the content of the padding changes nothing") as check:
    query, key, value = numbers(3, 4, seed=13), numbers(6, 4, seed=14), numbers(6, 2, seed=15)
    mask = torch.arange(6)[None] < 4
    names = ("output", "weights")
    output, weights = check.call(query, key, value, mask, returns=names)
    noise = torch.where(mask.T, 0.0, numbers(6, 1, seed=16, scale=300.0))
    noisy_output, noisy = check.call(query, key + noise, value + noise, mask, returns=names)
    check.equal(noisy, weights, "the weights do not change")
    check.equal(noisy_output, output, "the output does not change")
# END HIDDEN TESTS

# %% [markdown]
# The next check tests queries that may attend to nothing:

# %% check masked_attention_of_nothing points=2
hint = (
    "NaN comes from a row in which every score is −∞ (its weights must become 0), "
    "or from an exponential that is infinite"
)
with Check("masked_attention", "a query that may attend to nothing", hint) as check:
    query, key, value = numbers(3, 4), numbers(5, 4, seed=1), numbers(5, 2, seed=2)
    query.requires_grad_()
    mask = torch.tensor([[True] * 5, [False] * 5, [True, False, False, False, True]])
    # without such a query, and with scores near 3000, allowed and masked: to tell mistakes apart
    high = key * torch.tensor([[2000.0], [1.0], [-2000.0], [1.0], [1.0]])
    check.call(query, high, value, mask[2:], returns=("output", "weights"))
    output, weights = check.call(query, key, value, mask, returns=("output", "weights"))
    check.shape(weights, query=3, key=5)
    check.equal(weights[1], torch.zeros(5, dtype=torch.float64), "all its weights are 0")
    check.equal(output[1], torch.zeros(2, dtype=torch.float64), "and its output is 0")
    check.equal(
        weights.sum(-1),
        torch.tensor([1.0, 0.0, 1.0], dtype=torch.float64),
        "the weights of the other queries still sum to 1",
        hint="only rows in which every key is masked become 0",
    )
    slope = check.gradient(output.square(), query)
    check.true(
        bool(slope.isfinite().all()),
        "the gradient contains no NaN either",
        hint="a NaN on the way still counts in the gradient: replace masked scores with −∞ "
        "(do not add it), and divide by no sum that is 0",
    )
# BEGIN HIDDEN TESTS
with Check("masked_attention", "empty sequences in a batch, with heads") as check:
    query = numbers(3, 2, 4, 6, seed=17)
    key, value = numbers(3, 2, 5, 6, seed=18), numbers(3, 2, 5, 7, seed=19)
    mask = (torch.arange(5) < torch.tensor([5, 0, 2])[:, None])[:, None, None]
    output, weights = check.call(query, key, value, mask, returns=("output", "weights"))
    check.equal(weights[1], torch.zeros(2, 4, 5, dtype=torch.float64), "no weights")
    check.equal(output[1], torch.zeros(2, 4, 7, dtype=torch.float64), "no output")
    for i, tokens_left in ((0, 5), (2, 2)):
        parts = query[i], key[i, :, :tokens_left], value[i, :, :tokens_left]
        check.equal(output[i], F.scaled_dot_product_attention(*parts), "the other sequences")
with Check("masked_attention", "everything is masked, in float32 too") as check:
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
# ### The same without −∞
#
# **From the lecture**: *transformer*, STATS 403, lecture 7, slides "self-attention". Before the slides have queries, keys and values, they define causal attention in one equation. It has no mask and no −∞:
#
# $$\alpha_{ij} = \frac{\exp(x_i \cdot x_j)}{\sum_{k=1}^{i} \exp(x_i \cdot x_k)} \quad \text{for } j \leq i, \qquad y_i = \sum_{j \leq i} \alpha_{ij}\, x_j$$
#
# The sum over the keys simply ends at $k = i$. The next cell computes these weights row by row, and with your function and your causal mask.
#
# **Predict.** In which rows do the two differ?
#
# <details><summary>In all but the last, because the mask changes the others</summary>Both leave out the same keys: the sum ends at <em>i</em>, and exp(−∞) adds nothing to it.</details>
# <details><summary>In none</summary>Yes. A key that is left out of the sum and a key with exp(−∞) = 0 in the sum give the same weights.</details>
# <details><summary>In all, because your function divides by √d_k</summary>The cell multiplies the queries by √d_k first, which cancels it. Even otherwise row 1 would agree: its only key gets weight 1.</details>

# %%
four_tokens = numbers(4, 3, seed=5)
by_equation = torch.zeros(4, 4, dtype=torch.float64)
for i in range(4):
    context = four_tokens[: i + 1]  # all k ≤ i
    by_equation[i, : i + 1] = torch.softmax(context @ four_tokens[i], dim=0)
with_mask = masked_attention(four_tokens * math.sqrt(3), four_tokens, four_tokens, causal_mask(4))[
    1
]
positions_named = ["1", "2", "3", "4"]
figures.steps(
    {
        "the sum ends at k = i": (by_equation, "key j", positions_named),
        "masked with −∞": (with_mask, "key j", positions_named),
    },
    "query i",
    positions_named,
)
print(f"largest difference: {(by_equation - with_mask).abs().max().item():.1e}")

# %% [markdown]
# In none. So −∞ says "this key is not in the sum". With it all rows keep the same length, and one softmax of the matrix replaces the loop.

# %% [markdown]
# **A good place to stop.** You have both masks and an attention function that applies them. Next you hunt a bug in famous code, combine the masks, and find out what a model does when its mask is wrong. (Back later? Run all cells above first.)

# %% [markdown]
# ### Bug hunt: minus a billion
#
# **From famous code**: *The Annotated Transformer* of Harvard NLP (`harvardnlp/annotated-transformer`, function `attention`) replaces masked scores with a *finite* number, $-10^9$. Many projects do the same. Here is the idea. Is it right?


# %%
def famous_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """Attention with a mask, True = may attend; returns the output only."""
    scores = torch.einsum("...qd,...kd->...qk", query, key) / query.shape[-1] ** 0.5
    scores = scores.masked_fill(~mask, -1e9)
    return torch.softmax(scores, dim=-1) @ value


q, k, v = numbers(4, 3, seed=6), numbers(4, 3, seed=7), numbers(4, 2, seed=8)
theirs = famous_attention(q, k, v, causal_mask(4))
mine = masked_attention(q, k, v, causal_mask(4))[0]
print(f"causal mask: largest difference to yours {(theirs - mine).abs().max().item():.1e}")

# %% [markdown]
# On this input, nothing is wrong. A good test finds the input on which something is.
#
# Scores lie between −10 000 and 10 000. On which input does this code's output differ from yours? Three kinds are worth a guess:
#
# - a masked score far above the allowed ones,
# - allowed scores near −10 000,
# - a query that may attend to nothing.
#
# Guess one or more, and write down the symbol of the code that is at fault. Then let a test decide.

# %% [markdown]
# **Exercise** (20 minutes). Write a test of masking. It gets a function like `famous_attention` and says whether its masking is right. The answer is True or False.
#
# <details><summary>Hint 1</summary>Choose inputs for which you know the output. With one feature, a query of 1 has its keys as scores. Keys with equal scores share the 1, so the output is the mean of their values.</details>
# <details><summary>Hint 2</summary>Use all three kinds of input above, and ordinary scores too: other faulty functions fail on other inputs.</details>
# <details><summary>Hint 3</summary>Every comparison with NaN by <code>&lt;</code>, <code>&gt;</code> or <code>==</code> is False, so <code>difference > 1e-4</code> is False too. <code>torch.allclose</code> is False as soon as one output is NaN.</details>


# %% exercise test_of_masking
def test_of_masking(attend: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> bool:
    """Return True if `attend` masks as it should, and False if it does not.

    attend(query, key, value, mask) -> output, with the shapes of masked_attention.
    It should hold for all finite inputs with scores up to ±10 000:
    masked keys and their values never change the output, and a query that may attend to nothing
    gets output 0.
    """
    # BEGIN SOLUTION
    query, value = torch.ones(2, 1), torch.tensor([[1.0], [2.0], [6.0]])
    mask = torch.tensor([[True, True, False], [False, False, False]])
    expected = torch.tensor([[1.5], [0.0]])  # equal scores share the 1; no key, no output
    for allowed, masked in ((0.0, 0.0), (0.0, 10000.0), (-10000.0, 0.0)):
        key = torch.tensor([[allowed], [allowed], [masked]])
        if not torch.allclose(attend(query, key, value, mask), expected):
            return False
    return True
    # END SOLUTION


# %% check test_of_masking points=2
hint = "masked keys and values never change the output; a query without keys gets output 0"
with Check("test_of_masking", "functions that mask, and functions that do not", hint) as check:

    def scores_of(query, key):
        return query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])

    def with_infinity(query, key, value, mask, scores_of=scores_of):
        scores = scores_of(query, key).masked_fill(~mask, -math.inf)
        return torch.softmax(scores, -1).masked_fill(~mask, 0.0) @ value

    def lowest_number(query, key, value, mask, scores_of=scores_of):
        scores = scores_of(query, key)
        scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
        return (torch.softmax(scores, -1) * mask) @ value

    def by_hand(query, key, value, mask, scores_of=scores_of):
        scores = scores_of(query, key)
        top = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).amax(-1, keepdim=True)
        powers = torch.where(mask, (scores - top).clamp(max=0.0).exp(), 0.0)
        total = powers.sum(-1, keepdim=True)
        return powers / total.masked_fill(total == 0, 1.0) @ value

    def row_by_row(query, key, value, mask):
        empty = (query[:, :1] * 0 + key[:1, :1] * 0) * value[:1]
        rows = []
        for i, allowed in enumerate(mask.expand(len(query), len(key))):
            weights = torch.softmax(query[i] @ key[allowed].T / query.shape[-1] ** 0.5, -1)
            rows.append(weights @ value[allowed] if allowed.any() else 0 * empty[i])
        return torch.stack(rows)

    def minus_a_billion(query, key, value, mask, scores_of=scores_of):
        return torch.softmax(scores_of(query, key).masked_fill(~mask, -1e9), -1) @ value

    def minus_a_hundred(query, key, value, mask, scores_of=scores_of):
        weights = torch.softmax(scores_of(query, key).masked_fill(~mask, -100.0), -1)
        return weights * mask.any(-1, keepdim=True) @ value

    def minus_ten_thousand(query, key, value, mask, scores_of=scores_of):
        weights = torch.softmax(scores_of(query, key).masked_fill(~mask, -10000.0), -1)
        return weights * mask.any(-1, keepdim=True) @ value

    def rows_of_nan(query, key, value, mask, scores_of=scores_of):
        return torch.softmax(scores_of(query, key).masked_fill(~mask, -math.inf), -1) @ value

    def only_nan(query, key, value, mask, with_infinity=with_infinity):
        return with_infinity(query, key, value, mask) * math.nan

    def masked_afterwards(query, key, value, mask, scores_of=scores_of):
        return torch.softmax(scores_of(query, key), -1) * mask @ value

    def divided_afterwards(query, key, value, mask, scores_of=scores_of):
        weights = torch.softmax(scores_of(query, key), -1) * mask
        return weights / weights.sum(-1, keepdim=True).clamp(min=1e-30) @ value

    def times_the_mask(query, key, value, mask, scores_of=scores_of):
        weights = torch.softmax(scores_of(query, key) * mask, -1)
        return weights * mask.any(-1, keepdim=True) @ value

    def inverted(query, key, value, mask, with_infinity=with_infinity):
        return with_infinity(query, key, value, ~mask)

    def no_mask(query, key, value, mask, scores_of=scores_of):
        return torch.softmax(scores_of(query, key), -1) @ value

    honest = {
        with_infinity: "masked scores become −∞, and masked weights 0",
        lowest_number: "masked scores become the lowest number there is, and masked weights 0",
        by_hand: "the exponentials of allowed scores, divided by their sum",
        row_by_row: "each query attends with its allowed keys only",
    }
    faulty = {
        no_mask: "the mask is ignored",
        inverted: "the mask is inverted",
        times_the_mask: "masked scores become 0",
        masked_afterwards: "masked weights become 0 after the softmax, and the rest does not sum to 1",
        rows_of_nan: "a query that may attend to nothing gets NaN",
        only_nan: "every output is NaN",
        minus_a_billion: "the famous code",
        minus_a_hundred: "masked scores become −100",
        minus_ten_thousand: "masked scores become −10 000",
        divided_afterwards: "masked weights become 0 after the softmax, then each row is divided by its sum; "
        "0 is left if the masked score is far above the others",
    }
    for attend in (*honest, *faulty):  # all answers together tell which mistake it is
        check.call(attend, returns=bool)
    for attend, told in honest.items():
        check.true(
            check.call(attend, returns=bool),
            f"True for a right function: {told}",
            hint="right outputs may differ by rounding errors; inputs should be finite",
        )
    for attend, told in faulty.items():
        check.true(not check.call(attend, returns=bool), f"False for a faulty function: {told}")
# BEGIN HIDDEN TESTS
with Check("test_of_masking", "PyTorch's attention") as check:

    def of_pytorch(query, key, value, mask):
        return F.scaled_dot_product_attention(query, key, value, mask).masked_fill(
            ~mask.any(-1, keepdim=True), 0.0
        )

    check.true(check.call(of_pytorch, returns=bool), "True for PyTorch's attention")
with Check("test_of_masking", "other faults") as check:

    def filled(number):
        def attend(query, key, value, mask, number=number):
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            weights = torch.softmax(scores.masked_fill(~mask, number), -1)
            return weights * mask.any(-1, keepdim=True) @ value

        return attend

    def added(number):
        def attend(query, key, value, mask, number=number):
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            return torch.softmax(scores + number * ~mask, -1) @ value

        return attend

    for number in (0.0, -5.0, -30.0, -1000.0, 100.0):
        check.true(not check.call(filled(number), returns=bool), "False: another finite number")
    for number in (-100.0, -10000.0, -1e9, -math.inf):
        check.true(not check.call(added(number), returns=bool), "False: a number is added")
# END HIDDEN TESTS

# %% [markdown]
# The symbol at fault is `-1e9`. Let the values be the rows of an identity matrix, so that the output shows the weights. The third key is masked for the first two queries, and every key for the last one. Compare −10⁹ with −100. In which rows does each of them fail?

# %%
query_times = torch.tensor([[0.0], [1.0], [0.0]])  # scores are query × key
key_scores = torch.tensor([[-10000.0], [-10000.0], [0.0]])
last_masked = torch.tensor([[True, True, False]] * 2 + [[False] * 3])
weights_of: dict[str, Tensor] = {}
for name, number in (("filled with −100", -100.0), ("filled with −10⁹", -1e9)):
    filled_scores = (query_times @ key_scores.T).masked_fill(~last_masked, number)
    weights_of[name] = torch.softmax(filled_scores, dim=-1)
weights_of["yours"] = masked_attention(query_times, key_scores, torch.eye(3), last_masked)[1]
figures.steps(
    {name: (weights, "key", ["1", "2", "3"]) for name, weights in weights_of.items()},
    "query",
    ["scores of 0", "allowed: −10 000", "nothing allowed"],
)
print("your test passes the famous code:", test_of_masking(famous_attention))
print("lowest number of float16:", torch.finfo(torch.float16).min)

# %% [markdown]
# The number −100 fails in the second row too, $-10^9$ in the last row only. That row's scores are equal, so the query gets the mean of *all* values. (With −∞ alone it gets NaN.)
#
# Nor does $-10^9$ fit into float16. The original BERT code *adds* −10 000, which fits.
#
# **Predict.** Does the last row's failure matter?
#
# <details><summary>Always</summary>Not where nobody reads the output of such a query, as for many padding queries.</details>
# <details><summary>Where somebody reads the output of such a query</summary>Yes, as for a sequence of length 0: its output should not depend on padding.</details>
# <details><summary>Never, because a mean does no harm</summary>It depends on the padding, and it can reach the loss.</details>

# %% [markdown]
# ## 5 · Combine two masks
#
# In general you need both: no later position *and* no padding. (With padding at the end, the causal mask alone hides it from real tokens.) The operator `&` combines two masks: a key is allowed only where both masks are True.
#
# **Predict.** `causal_mask(5)` is (5, 5), and `padding_mask(lengths, 5)` for three sequences is (3, 1, 5). What is the shape of `causal_mask(5) & padding_mask(lengths, 5)`?
#
# <details><summary>(3, 1, 5)</summary>The 1 stretches to the five rows of the causal mask.</details>
# <details><summary>They do not fit</summary>Broadcasting aligns shapes at their right ends: (5, 5) counts as (1, 5, 5), and each 1 stretches.</details>
# <details><summary>(3, 5, 5)</summary>Yes: for each of three sequences, each of five queries, each of five keys.</details>

# %%
both = causal_mask(5) & padding_mask(torch.tensor([3, 2, 5]), 5)  # (3, 5, 5)
figures.masks(
    {" ".join(line): (both[i], "key", line) for i, line in enumerate(batch_of_words)},
    "query",
    ["0", "1", "2", "3", "4"],
)

# %% [markdown]
# What to see: each causal triangle is cut off where the padding begins. The last rows of the short sequences belong to padding. Those queries still attend to real tokens. So no mask of the keys removes their outputs. The loss must leave out every position whose *target* is padding: these, and the last real token too, if padding follows it (section 7).
#
# Now run your own attention on five tokens with random queries and keys. Hatched cells are masked out. Point at a cell to read its weight, or move with the arrow keys.

# %%
from transformer_course.widgets import show_attention

sentence = ["the", "dog", "didn't", "cross", "it"]
queries, keys, values = numbers(5, 8), numbers(5, 8, seed=1), numbers(5, 4, seed=2)
show_attention(
    masked_attention(queries, keys, values, causal_mask(5))[1],
    sentence,
    mask=causal_mask(5),
    title="your masked_attention with your causal mask",
)

# %% [markdown]
# Paint a mask of your own on the same scores, now without the causal mask: *dog* may attend to *it*. Click a cell to mask it or to allow it. At the start, no query may attend to *didn't*, and *it* may attend to nothing.
#
# **Puzzle.** Mask one more key in the row of *dog*, so that the other weights in this row grow as much as possible. Which key is it, and by which factor do the others grow?

# %%
from transformer_course.widgets import show_mask

at_start = torch.ones(5, 5, dtype=torch.bool)
at_start[:, 2] = False
at_start[4] = False
view = show_mask(
    queries @ keys.T / math.sqrt(8),
    mask=at_start,
    queries=sentence,
    title="paint a mask, and watch the weights",
)
view.show()

# %% [markdown]
# <details><summary>Answer to the puzzle</summary>The key with the largest weight, here <em>it</em> with 0.39. If its weight is w, the others sum to 1 − w before and to 1 after, so each grows by the factor 1 / (1 − w), here about 1.6. Their ratios stay the same.</details>
#
# The widget computes its weights by itself. Does *your* function give the same? The next cell uses the mask that you painted. Run it again after each change.

# %%
show_attention(
    masked_attention(queries, keys, values, view.mask)[1],
    sentence,
    mask=view.mask,
    title="your masked_attention with the mask that you painted",
)

# %% [markdown]
# ## 6 · Test whether the future leaks
#
# Someone gives you a model and says that it is causal. You could read its code. It is safer to measure. A **leak** is a dependence of an output on a later input: information about the future reaches the past. If a derivative is not 0, there is a dependence:
#
# $$\frac{\partial\, \text{output}_i}{\partial\, \text{input}_j} \neq 0 \quad \text{for some } j > i \qquad \Longrightarrow \qquad \text{a leak.}$$
#
# Take two simple functions of four numbers: the running sum, and the reversal of their order. The derivative is 1 if the input is a term of the output, and 0 if it is not. Which of the two functions leaks?

# %%
four = ["0", "1", "2", "3"]
running_sum = [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
reversal = [[0, 0, 0, 1], [0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]]
figures.steps(
    {
        "derivatives of the running sum": (running_sum, "input", four),
        "derivatives of the reversal": (reversal, "input", four),
    },
    "output",
    four,
)

# %% [markdown]
# The reversal. You can read such a matrix like a mask: everything above the diagonal comes from the future. On the left there is nothing. On the right, the first two outputs depend on the last two inputs.
#
# PyTorch computes these derivatives for any function. `torch.autograd.functional.jacobian(function, x)` returns the derivative of every output with respect to every input. For `x` of shape (length, dim), the result has shape (length, dim, length, dim): output position, output feature, input position, input feature.

# %% [markdown]
# **Exercise** (20 minutes). Write the leak test, with `jacobian` as above or with `torch.autograd.grad`. (Call `jacobian` without `vectorize=True`, and do not use `jvp`: the grader supports neither.)
#
# <details><summary>Hint 1</summary>With the Jacobian: take the largest absolute value over both feature axes. A matrix (length, length) is left, as in the figure. Which part of it must be 0?</details>
# <details><summary>Hint 2</summary>Or take one output at a time: <code>torch.autograd.grad(output[i, feature], x, retain_graph=True)[0]</code> gives the gradient of that number with respect to all of x. For this, x must require a gradient: first make <code>x = x.detach().clone().requires_grad_()</code>, and compute the output from this copy. Which rows of this gradient must be 0? (Do not sum over the features first. If a function ends in a softmax, its features always sum to 1, and the gradient of that sum is 0 whatever the output depends on.)</details>


# %% exercise leaks_future
def leaks_future(attend: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    """Return whether any output of `attend` depends on a later input.

    attend: a function of a whole sequence, (length, dim) -> (length, dim); x: (length, dim).
    A derivative counts if it is larger than 1e-8 in absolute value. x must not be modified.
    """
    # BEGIN SOLUTION
    slopes = torch.autograd.functional.jacobian(attend, x)  # (length, dim, length, dim)
    strongest = torch.as_tensor(slopes).abs().amax(dim=(1, 3))  # (length, length)
    return bool((strongest.triu(diagonal=1) > 1e-8).any())
    # END SOLUTION


# %% check leaks_future points=3
hint = "output i may depend on inputs 0 … i, and on no later one"
with Check("leaks_future", "functions that leak, and functions that do not", hint) as check:
    x = numbers(4, 3)

    def doubled(x):
        return 2 * x

    def running_sum_of(x):
        return x.cumsum(0)

    def previous_token(x):
        return torch.cat([0 * x[:1], x[:-1]])

    def first_token(x):
        return x[:1] + 0 * x

    def last_alone(x):
        return torch.cat([0 * x[:-1], x[-1:]])

    def almost_alone(x):
        return x + 1e-12 * x.sum(0)

    def in_reverse(x):
        return x.flip(0)

    def with_next_token(x):
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
        return torch.cat([x[:, :1], x[:, 2:].flip(0), x[:, 2:]], dim=1)

    def many_small_ones(x):
        return x + 7e-9 * x.sum(0)

    def nothing_larger(x):
        return 1e-10 * x.flip(0)

    def above_ten(x):
        return x + (x.flip(0) - 10).relu()

    single = numbers(3, 3, seed=4, dtype=torch.float32)

    def with_weights(x, weight=single):
        return x.cumsum(0) @ weight

    honest = {
        doubled: "each token doubled; an output may depend on its own input",
        running_sum_of: "a running sum; an output may depend on earlier inputs",
        previous_token: "each output is the previous token",
        first_token: "each output is the first token",
        last_alone: "the last output is the last token, the other outputs are 0",
        almost_alone: "derivatives of 1e-12 are rounding errors",
        many_small_ones: "derivatives of 7e-9 do not count, however many there are",
        nothing_larger: "derivatives of 1e-10 do not count, even if there are no larger ones",
        with_weights: "a running sum times a float32 matrix, at a float32 input",
    }
    leaky = {
        in_reverse: "the tokens in reverse order; the first output is the last token",
        with_next_token: "each token plus the next one",
        second_into_first: "the second token is added to the first",
        last_into_first: "the last token is added to the first",
        last_into_third: "the last token is added to the one before it",
        a_little_of_all: "a ten-millionth of the sum of all tokens is added; derivatives of 1e-7 count",
        less_the_mean: "the mean of all tokens is subtracted; negative derivatives count",
        one_feature: "the second feature of each output comes from the third feature of the reversed tokens",
        above_ten: "what later inputs exceed 10 by is added, and at this x they are above 10",
    }
    other_inputs = {above_ten: x + 20, with_weights: x.float()}
    for attend in (*honest, *leaky):  # all answers together tell which mistake it is
        check.call(attend, other_inputs.get(attend, x), returns=bool)
    for attend, told in honest.items():
        answer = check.call(attend, other_inputs.get(attend, x), returns=bool)
        check.true(not answer, f"no leak: {told}")
    for attend, told in leaky.items():
        answer = check.call(attend, other_inputs.get(attend, x), returns=bool)
        check.true(answer, f"a leak: {told}")
# BEGIN HIDDEN TESTS
with Check("leaks_future", "attention, masked in several ways") as check:

    def masked(diagonal):
        def attend(x):
            allowed = torch.ones(len(x), len(x)).tril(diagonal).bool()
            return F.scaled_dot_product_attention(x, x, x, attn_mask=allowed)

        return attend

    for length, dim in ((2, 5), (3, 3), (6, 4)):
        x = numbers(length, dim, seed=length)
        check.true(
            not check.call(masked(0), x, returns=bool), "attention with a causal mask does not leak"
        )
        check.true(
            check.call(masked(1), x, returns=bool),
            "attention with a mask one diagonal too wide leaks",
        )
        check.true(check.call(masked(length), x, returns=bool), "attention without a mask leaks")
with Check("leaks_future", "one leak among many tokens") as check:
    for to, of, feature in ((0, 6, 4), (5, 6, 0), (2, 3, 1)):
        x = numbers(7, 5, seed=2, scale=0.4)

        def ahead(x, to=to, of=of, feature=feature):
            positions, features = torch.arange(len(x)), torch.arange(x.shape[1])
            here = (positions[:, None] == to) & (features == feature)
            return x.cumsum(0).sin() + torch.where(here, x[of, 0] ** 3 + x[of, 0], 0.0)

        def behind(x, to=to, of=of, feature=feature):
            positions, features = torch.arange(len(x)), torch.arange(x.shape[1])
            here = (positions[:, None] == of) & (features == feature)
            return x.cumsum(0).sin() + torch.where(here, x[to, 0] ** 3 + x[to, 0], 0.0)

        check.true(check.call(ahead, x, returns=bool), "one output depends on a later token")
        check.true(
            not check.call(behind, x, returns=bool), "one output depends on an earlier token"
        )
with Check("leaks_future", "one token, float32, and an input that is not modified") as check:
    check.true(not check.call(lambda x: x * x.sum(), numbers(1, 4), returns=bool), "a single token")
    for dtype in (torch.float32, torch.float64):
        x = numbers(3, 2, seed=3, dtype=dtype)
        honest = check.call(lambda x: x.exp().cumsum(0).log(), x, returns=bool)
        check.true(not honest, "the logarithm of a running sum does not leak")
        weight = numbers(2, 2, seed=4, dtype=dtype)  # like a model's parameters, of the dtype of x
        leaky = check.call(lambda x, weight=weight: x.softmax(0) @ weight, x, returns=bool)
        check.true(leaky, "a softmax over the positions divides by later tokens")
with Check("leaks_future", "which derivatives count, and where they are taken") as check:
    x, first = numbers(3, 8, seed=5), torch.eye(8, dtype=torch.float64)[0]
    leaky = check.call(lambda x: x + 1e-7 * x.sum(0), x, returns=bool)
    check.true(leaky, "derivatives of 1e-7 count")
    leaky = check.call(lambda x, first=first: x + 5e-8 * first * x.sum(0), x, returns=bool)
    check.true(leaky, "one of 5e-8 among many of 0 counts")
    honest = check.call(lambda x: x + 5e-9 * x.sum(0), x, returns=bool)
    check.true(not honest, "derivatives of 5e-9 do not count, however many there are")
    honest = check.call(lambda x: 1e-10 * x.flip(0), x, returns=bool)
    check.true(not honest, "derivatives of 1e-10 do not count, even if there are no larger ones")
    leaky = check.call(lambda x: x + (x.flip(0) - 10).relu(), x + 20, returns=bool)
    check.true(leaky, "a later token counts at x, where it is above 10")
# END HIDDEN TESTS


# %% [markdown]
# Test your own attention, with and without your causal mask.


# %%
def bidirectional(x: Tensor) -> Tensor:
    return masked_attention(x, x, x)[0]


def causal(x: Tensor) -> Tensor:
    return masked_attention(x, x, x, causal_mask(len(x)))[0]


print("bidirectional attention leaks:", leaks_future(bidirectional, numbers(4, 3)))
print("causal attention leaks:       ", leaks_future(causal, numbers(4, 3)))

# %% [markdown]
# **A good place to stop.** Two long sections without exercises follow, and one written question. (Back later? Run all cells above first.)
#
# ## 7 · Too good to be true
#
# Back to the two models of the opening. They learn rows of eight digits. With probability 0.8, the next digit is the previous one plus 1 (after 9 comes 0). Otherwise it is one of the ten digits, drawn at random. So the data follow a rule, with noise.


# %%
def some_rows(count: int, seed: int, rule: float = 0.8) -> Tensor:
    """Draw rows (count, 8): a digit follows the rule with probability `rule`, else it is random."""
    generator = torch.Generator().manual_seed(seed)
    digits = [torch.randint(10, (count,), generator=generator)]
    for _ in range(7):
        random_digit = torch.randint(10, (count,), generator=generator)
        by_rule = torch.rand(count, generator=generator) < rule
        digits.append(torch.where(by_rule, (digits[-1] + 1) % 10, random_digit))
    return torch.stack(digits, 1)


for digit_row in some_rows(4, seed=1).tolist():
    print(*digit_row)

# %% [markdown]
# How low can the loss get? **Cross-entropy** is the mean of −ln p, where p is the probability that the model gives to the correct answer. It is the loss here.
#
# A random draw hits the rule's digit one time in ten. So this digit has probability 0.8 + 0.2 / 10 = 0.82, each of the nine others 0.02. The best possible prediction gives exactly these probabilities. Its loss is −ln 0.82 ≈ 0.2 in 82 of 100 cases on average, and −ln 0.02 ≈ 3.9 in the others. The **entropy** of the next token, given the tokens before it, is the expected loss of the best possible prediction. Is it nearer to 0.2 or to 3.9?

# %%
by_rule, other = 0.82, 0.02
floor = -by_rule * math.log(by_rule) - 9 * other * math.log(other)
print(f"lowest expected loss without seeing the future: {floor:.3f}")

# %% [markdown]
# This number is the entropy. Call it the *floor*. A model that sees only the past cannot have a lower expected loss, however large it is.
#
# Here is the model. Its mask is an argument. The model adds an embedding of the digit and an embedding of the position (lesson 6 explains why). Then come your attention and a linear layer. The ten outputs of that layer are the logits of the next digit.


# %%
class Writer(nn.Module):
    """One layer of your masked attention; predicts the next digit at each position."""

    def __init__(self, allowed: Tensor, d_model: int = 32) -> None:
        super().__init__()
        self.digits = nn.Embedding(10, d_model)
        self.positions = nn.Embedding(8, d_model)
        self.w_query = nn.Linear(d_model, d_model, bias=False)
        self.w_key = nn.Linear(d_model, d_model, bias=False)
        self.w_value = nn.Linear(d_model, d_model, bias=False)
        self.logits = nn.Linear(d_model, 10)
        self.allowed = allowed

    def attend(self, x: Tensor) -> tuple[Tensor, Tensor]:
        length = x.shape[-2]
        allowed = self.allowed[:length, :length]
        return masked_attention(self.w_query(x), self.w_key(x), self.w_value(x), allowed)

    def forward(self, digits: Tensor) -> tuple[Tensor, Tensor]:
        x = self.digits(digits) + self.positions.weight[: digits.shape[1]]
        attended, weights = self.attend(x)
        return self.logits(attended), weights  # (batch, length, 10), (batch, length, length)


# %% [markdown]
# The loss compares the logits at each position with the digit one position later. The last position has no target.
#
# **Predict.** About which loss does the model have *before* training?
#
# <details><summary>0.87, the floor</summary>The floor needs the rule, and the model does not know it yet.</details>
# <details><summary>2.3</summary>Yes. Nearly equal logits give each of the ten digits a probability near 0.1, and −ln 0.1 = ln 10 ≈ 2.30.</details>
# <details><summary>10, because there are ten digits</summary>The loss is −ln p, and a random guess has p near 1/10.</details>


# %%
def loss_of(writer: Writer, rows: Tensor) -> Tensor:
    """Mean cross-entropy of next-digit prediction."""
    logits, _ = writer(rows)
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), rows[:, 1:].flatten())


# drawn separately, not used for training (short rows can coincide)
held_out = some_rows(4000, seed=10**6)
torch.manual_seed(0)
print(f"loss before training: {loss_of(Writer(causal_mask(8)), held_out).item():.2f}")

# %% folded=true
# Trains a Writer for 300 steps and records its held-out loss: click to unfold
torch.set_num_threads(1)  # faster for so small a model


def train_writer(
    allowed: Tensor,
    seed: int,
    rule: float = 0.8,
    training_rows: Tensor | None = None,
    kind: type[Writer] = Writer,
) -> tuple[Writer, list[float]]:
    """A trained Writer, and its held-out loss at every 25th step.

    Each step draws 128 fresh rows, unless `training_rows` are given: then all steps use those.
    """
    torch.manual_seed(seed)
    writer = kind(allowed)
    optimizer = torch.optim.Adam(writer.parameters(), lr=0.01)
    history = []
    # a sample in which the rule holds about as often as expected, so that its floor is typical
    unseen = some_rows(1000, seed=10**6 + 2, rule=rule)
    for step in range(301):
        if step % 25 == 0:
            with torch.no_grad():
                history.append(loss_of(writer, unseen).item())
        fresh = some_rows(128, seed=1000 * seed + step, rule=rule)
        loss = loss_of(writer, fresh if training_rows is None else training_rows)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return writer, history


# %% [markdown]
# Train three models that differ only in their mask: the causal mask, no mask, and a causal mask that is one diagonal too wide. The last one is an ordinary off-by-one error. Each is trained with three seeds.
#
# **Predict.** What held-out loss does the model *without* a mask reach?
#
# <details><summary>About 0.87, the floor</summary>The floor holds for models that see only the past. This one also sees the target, one position later.</details>
# <details><summary>More than 0.87, because more keys distract it</summary>It soon learns which key is useful.</details>
# <details><summary>About 0</summary>Yes. It copies the next digit, including the random ones. In held-out rows, too, the target is part of the input.</details>


# %%
def masks() -> dict[str, Tensor]:
    """The masks to compare, by name. The last one is for later."""
    every_key = torch.ones(8, 8, dtype=torch.bool)
    return {
        "causal mask": causal_mask(8),
        "no mask": every_key,
        "one diagonal too wide": every_key.tril(1),
        "next key hidden": causal_mask(8) | every_key.triu(2),
    }


@functools.cache
def trained(name: str, rule: float) -> list[tuple[Writer, list[float]]]:
    """Three Writers with the mask of this name (seeds 0, 1, 2), each with its held-out losses.

    The first call trains them, and later calls return the same three. Run this cell again to train
    anew.
    """
    return [train_writer(masks()[name], seed, rule) for seed in range(3)]


three_masks = ("causal mask", "no mask", "one diagonal too wide")
figures.curves(
    list(range(0, 301, 25)),
    {
        "floor": [floor] * 13,
        **{name: [history for _, history in trained(name, 0.8)] for name in three_masks},
    },
    x="training step",
    y="held-out loss",
    title="Three masks: mean and range of three seeds",
    bottom=-0.05,
)

# %% [markdown]
# What to see: with the causal mask the loss comes within about 0.01 of the floor and stays there. With the two others it falls almost to 0. (The floor is an expected loss. On another 1000 rows even the best prediction can be about 0.03 above or below it. These rows were chosen because on them it is close to the floor.)
#
# Now let the models generate. Always appending the most likely next token is called **greedy decoding**. The output shows how the three seeds of each model continue a 3. The figure shows, for all ten first digits, how many steps follow the rule.


# %%
def generate(writer: Writer, digits: Tensor) -> Tensor:
    """Continue each row to eight digits by greedy decoding."""
    with torch.no_grad():
        while digits.shape[1] < 8:
            logits, _ = writer(digits)
            digits = torch.cat([digits, logits[:, -1:].argmax(-1)], 1)
    return digits


def rule_share(writer: Writer) -> float:
    """The share of generated steps that follow the rule, from each of the ten first digits."""
    rows = generate(writer, torch.arange(10)[:, None])
    return ((rows[:, 1:] - rows[:, :-1]) % 10 == 1).float().mean().item()


for name in three_masks:
    generated = [
        generate(writer, torch.tensor([[3]]))[0].tolist() for writer, _ in trained(name, 0.8)
    ]
    print(f"{name:22}", *("".join(map(str, digits)) for digits in generated), sep="   ")
figures.runs(
    {name: [rule_share(writer) for writer, _ in trained(name, 0.8)] for name in three_masks},
    "share of steps by the rule",
    "Only the causal model can generate (3 seeds)",
)

# %% [markdown]
# What to see: the causal models follow the rule in almost all steps. The others rarely do: they mostly repeat the last digit. So model A of the opening has the causal mask. Model B has none, or one too wide.
#
# Why did held-out rows not reveal it? To give a model the true tokens as input, not its own predictions, is called **teacher forcing**. All losses here are computed like this. So each target is in the input, one position later, and a model that can see it copies it. In generation there is no next digit, so it copies another.
#
# Compare the attention weights. Where does each query attend, with the mask and without?

# %%
one_row = some_rows(1, seed=3)
digit_names = [str(digit) for digit in one_row[0].tolist()]
for name, title, hatched in (
    ("causal mask", "trained with the causal mask", causal_mask(8)[:7]),
    ("no mask", "trained without a mask", None),
):
    with torch.no_grad():
        of_row = trained(name, 0.8)[0][0](one_row)[1][0, :7]  # the last digit has no target
    show_attention(of_row, digit_names[:7], digit_names, mask=hatched, title=title).show()

# %% [markdown]
# With the mask each digit attends to itself, without it to the next one. Is that the same for other rows and seeds? The next cell averages over all held-out rows, and prints the lowest and the highest of the three seeds.

# %%
for name in three_masks:
    with torch.no_grad():
        maps = [writer(held_out)[1].mean(0) for writer, _ in trained(name, 0.8)]
    for keys_are, offset in (("the same position", 0), ("the next position", 1)):
        means = [mean.diagonal(offset)[:7].mean().item() for mean in maps]
        print(f"{name:22} weight on {keys_are}: {min(means):.2f} to {max(means):.2f}")

# %% [markdown]
# It is. With the causal mask each digit attends to itself, and that is all that the rule needs. With the two others it attends to its target.
#
# Your leak test needs no training to see the difference. Digits have no derivatives, so test the attention on vectors. The embeddings and the last linear layer treat each position separately and cannot leak. The test would have warned you before the first training step (the text below explains its last line):

# %%
vectors = numbers(8, 32, dtype=torch.float32)
for name, one_mask in masks().items():
    untrained = Writer(one_mask)
    leaks = leaks_future(lambda x, writer=untrained: writer.attend(x)[0], vectors)
    print(f"{name:22} leaks:", leaks)

# %% [markdown]
# ### Is the next digit really the cause?
#
# Without a mask a model sees *all* later digits. To test which of them matters, hide only the next digit and leave the later ones visible. Compare two kinds of data: digits with the rule, and independent random digits, where there is nothing to learn. There the floor is ln 10, about 2.30.
#
# **Predict.** Compare three models: causal mask, no mask, only the next digit hidden. On *random* digits, which of them get below the floor?
#
# <details><summary>None, because nothing can be learned</summary>Nothing can be predicted, but a visible target can be copied.</details>
# <details><summary>Only the model without a mask</summary>Yes. It sees the target. The other later digits say nothing about it.</details>
# <details><summary>The model without a mask, and the model with only the next digit hidden</summary>In random rows the later digits say nothing about the hidden one.</details>

# %%
for rule, data, lowest in (
    (0.8, "Digits with the rule", floor),
    (0.0, "Random digits", math.log(10)),
):
    final = {"floor": [lowest]}
    for name in ("causal mask", "next key hidden", "no mask"):
        final[name] = [history[-1] for _, history in trained(name, rule)]
    figures.runs(final, "held-out loss", f"{data} (3 seeds)")

# %% [markdown]
# With the causal mask the loss is at the floor on both kinds of data. Without a mask it is almost 0 on both: these models copy.
#
# With the next key hidden, later digits can only give hints: if the digit after the next is 7, the next is probably 6. With the rule this brings the loss below the floor, but it stays well above 0. On random digits it is at the floor, although this mask leaks. So a leak need not lower the loss at all.
#
# These models have *one* layer. **Predict.** Two layers of attention, one after the other, use the mask that hides the next key. What happens to their loss on random digits?
#
# <details><summary>At the floor again, because both layers hide the next key</summary>The target of position 3 is the digit at position 4. Position 5 may attend to it, and position 3 may attend to position 5.</details>
# <details><summary>Far below the floor</summary>Yes. In the first layer another position attends to the target. In the second layer the query attends to that position, and receives the target from there.</details>
# <details><summary>Above the floor, because two layers are harder to train</summary>Nothing has to be learned but a copy, in two steps.</details>


# %%
class TwoLayers(Writer):
    """A Writer with two layers of attention, one after the other, with the same mask."""

    def __init__(self, allowed: Tensor) -> None:
        super().__init__(allowed)
        self.second = Writer(allowed)  # only its attention is used

    def attend(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.second.attend(super().attend(x)[0])


def span(values: list[float]) -> str:
    return f"{min(values):.2f} to {max(values):.2f}"


deep = [train_writer(masks()["next key hidden"], seed, 0.0, kind=TwoLayers)[1] for seed in range(3)]
one = [history[-1] for _, history in trained("next key hidden", 0.0)]
two = [history[-1] for history in deep]
print(f"next key hidden, random digits: the floor is {math.log(10):.2f}")
print(f"one layer:  {span(one)}")
print(f"two layers: {span(two)}")

# %% [markdown]
# No causal model can get below this floor, with any number of layers. So the target reaches these models by way of another position. To close a leak, hide *every* later key in *every* layer.

# %% [markdown]
# ### How far from −∞ is far enough? (optional)
#
# Replace the −∞ in the causal mask by a finite number, and train with it. With −1, a masked key still gets some weight. Before training, all scores are near 0, so it gets about e⁻¹ ≈ 0.37 times the weight of an allowed key. With −5 it is 0.007 times, with −20 two billionths.
#
# **Predict.** The model trains on *random* digits with −5. What happens?
#
# <details><summary>The loss stays at the floor, because e⁻⁵ is small</summary>It is small before training. But the allowed scores are learned.</details>
# <details><summary>Training makes the masked scores higher</summary>They are always −5. Nothing that is learned changes them.</details>
# <details><summary>Training makes the allowed scores lower, and the loss falls below the floor</summary>Yes. Only differences between scores count. If the allowed scores sink below −5, the masked keys win.</details>

# %% folded=true
# Trains 15 Writers for each kind of data, with finite numbers in place of −∞: click to unfold


class FiniteMask(Writer):
    """A Writer whose masked scores become `number`."""

    number: Tensor

    def __init__(self, number: float) -> None:
        super().__init__(torch.ones(8, 8, dtype=torch.bool).tril())
        self.register_buffer("number", torch.tensor(number))

    def scores(self, x: Tensor) -> Tensor:
        return self.w_query(x) @ self.w_key(x).transpose(-2, -1) / math.sqrt(x.shape[-1])

    def attend(self, x: Tensor) -> tuple[Tensor, Tensor]:
        allowed = self.allowed[: x.shape[-2], : x.shape[-2]]
        weights = torch.softmax(torch.where(allowed, self.scores(x), self.number), dim=-1)
        return weights @ self.w_value(x), weights


@functools.cache
def with_finite_masks(rule: float) -> dict[float, list[FiniteMask]]:
    """Three models (seeds 0, 1, 2) for each number, trained at once on the same rows."""
    models: dict[float, list[FiniteMask]] = {}
    for number in (-1.0, -5.0, -20.0, -100.0, -math.inf):
        for seed in range(3):
            torch.manual_seed(seed)
            models.setdefault(number, []).append(FiniteMask(number))
    every = [model for three in models.values() for model in three]
    parameters, buffers = torch.func.stack_module_state(every)

    def loss_with(own: dict[str, Tensor], fixed: dict[str, Tensor], rows: Tensor) -> Tensor:
        logits, _ = torch.func.functional_call(every[0], (own, fixed), (rows,))
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), rows[:, 1:].flatten())

    losses = torch.vmap(loss_with, in_dims=(0, 0, None))
    optimizer = torch.optim.Adam(list(parameters.values()), lr=0.02)
    for step in range(100):
        optimizer.zero_grad()
        losses(parameters, buffers, some_rows(64, seed=step, rule=rule)).sum().backward()
        optimizer.step()
    for i, model in enumerate(every):
        own = {name: stacked[i].detach() for name, stacked in parameters.items()}
        model.load_state_dict(own, strict=False)
    return models


ends = {"floor": [math.log(10)]}
for rule, data, lowest in (
    (0.8, "digits with the rule", floor),
    (0.0, "random digits", math.log(10)),
):
    unseen = some_rows(1000, seed=10**6 + 2, rule=rule)
    print(f"{data}: the floor is {lowest:.2f}")
    print("number   loss           allowed scores   later keys          by the rule   leaks")
    for number, three in with_finite_masks(rule).items():
        told = str(number).replace("-inf", "−∞").replace("-", "−").removesuffix(".0")
        with torch.no_grad():
            losses = [loss_of(model, unseen).item() for model in three]
            inside = [m.digits(unseen) + m.positions.weight for m in three]
            low = [m.scores(x)[:, m.allowed].mean() for m, x in zip(three, inside, strict=True)]
            later = [m(unseen)[1].triu(1).sum(-1)[:, :7].mean() for m in three]
        leaks = [leaks_future(lambda x, m=m: m.attend(x)[0], vectors) for m in three]
        print(
            f"{told:>6}   {span(losses)}   {min(low):4.0f} to {max(low):3.0f}"
            f"      {min(later):.0e} to {max(later):.0e}"
            f"   {span([rule_share(m) for m in three])}  {sum(leaks)} of 3"
        )
        if rule == 0.0:
            ends[told] = losses
    print()
figures.runs(ends, "held-out loss", "Random digits: masked scores become this number (3 seeds)")

# %% [markdown]
# What to see, on random digits (*later keys*: their total weight): with −1 and −5 the loss falls far below the floor. Training moved the allowed scores far below the masked ones. As masked keys have equal scores, the loss stays above 0.
#
# From −20 on the loss is at the floor. With −20 the later keys have weights near 10⁻⁸: too little to learn from, but near your leak test's threshold, so its answers differ.
#
# **Predict.** On digits with the rule, −1 and −5 change neither the loss nor generation. Are they harmless?
#
# <details><summary>Yes: the loss and generation are the best evidence</summary>They show that these models copy little. The leak test still finds a dependence on later inputs (random vectors here).</details>
# <details><summary>They leak, but training found a good answer without it</summary>Yes. High scores on the own position leave the masked keys almost no weight. The leak test shows it, and so does the weight of the later keys.</details>
# <details><summary>Yes, because with a rule no leak can pay off</summary>It can: without a mask, the loss on the same data was almost 0.</details>
#
# With −∞ you need not ask.

# %% [markdown]
# ### Is every low loss a leak?
#
# Three models, X, Y and Z, have a low training loss. One of them leaks. Ranges are over three seeds.

# %% folded=true
# Trains models X, Y and Z (3 seeds each): click to unfold after your answer
sixteen = [some_rows(16, seed=500 + seed) for seed in range(3)]
model_x = [train_writer(causal_mask(8), seed, 0.8, sixteen[seed])[0] for seed in range(3)]
model_y = [writer for writer, _ in trained("no mask", 0.8)]
model_z = [train_writer(causal_mask(8), seed, rule=1.0)[0] for seed in range(3)]
without_noise = some_rows(1000, seed=1, rule=1.0), some_rows(1000, seed=10**6, rule=1.0)
fresh_rows = some_rows(1000, seed=1)


print("         floor    training loss    held-out loss   steps by the rule")
for name, lowest, models, training, unseen in (
    ("X", floor, model_x, sixteen, held_out),
    ("Y", floor, model_y, [fresh_rows] * 3, held_out),
    ("Z", 0.0, model_z, [without_noise[0]] * 3, without_noise[1]),
):
    with torch.no_grad():
        on_training = [loss_of(m, r).item() for m, r in zip(models, training, strict=True)]
        on_held_out = [loss_of(m, unseen).item() for m in models]
    share = span([rule_share(m) for m in models])
    print(f"model {name} {lowest:6.2f}    {span(on_training)}     {span(on_held_out)}    {share}")

# %% [markdown]
# **Predict.** Which model leaks?
#
# <details><summary>Model X</summary>Only its training loss is below the floor. Its held-out loss is far above it. It has the causal mask, but it was trained on the same 16 rows again and again, and has memorised their noise.</details>
# <details><summary>Model Y</summary>Yes. Its <em>held-out</em> loss is far below the floor. On new rows neither a good prediction nor memorised training rows can do that. (For Y and Z, the training loss is measured on new rows drawn like the training rows.)</details>
# <details><summary>Model Z</summary>It has the causal mask, and its data have no noise. So the floor is 0, and a loss near 0 is what a good model should reach. (Only ten different rows exist without noise, so its held-out rows are not new. That it can generate is the better evidence.)</details>
#
# **Overfitting** means fitting training data far better than held-out data, as X does.
#
# **Your turn.** In the folded cell, change 16 to 256 and run it again. What changes for X?
#
# <details><summary>Answer</summary>The training loss rises to about 0.8, and the held-out loss falls below 1. With 256 rows there is more noise to memorise, and X overfits far less.</details>
#
# A low loss is a sign of a leak only if it is below the *floor* and measured on *held-out* data. For real text nobody knows the floor, and the training data may contain copies of held-out texts. There a low loss is a reason to test, not a proof. A model that memorised copies passes the leak test.
#
# The leak test uses only one input. The next function leaks only where a later input is above 10.


# %%
def leaks_above_ten(x: Tensor) -> Tensor:
    return x + (x.flip(0) - 10).relu()


near_zero = numbers(4, 3)
print("inputs near 0: ", leaks_future(leaks_above_ten, near_zero))
print("inputs near 20:", leaks_future(leaks_above_ten, near_zero + 20))

# %% [markdown]
# So test at inputs like those of your data, and at several of them.
#
# A whole model takes tokens, which have no derivatives. For such a model, replace one token and compare the outputs *before* it: if one changes, there is a leak. Try several tokens at every position, because a single one may happen to change nothing. First call `eval()`. In training mode a model with dropout (lesson 5) gives a different output at each call, with or without a leak.


# %%
def tokens_leak(model: Writer, digits: Tensor) -> bool:
    """Whether any new digit at any position changes the logits at an earlier position."""
    model.eval()
    with torch.no_grad():
        before = model(digits[None])[0][0]
        leaks = False
        for position, new in product(range(1, 8), range(10)):
            changed = digits.clone()
            changed[position] = new
            after = model(changed[None])[0][0]
            largest = (after - before)[:position].abs().max()
            leaks |= bool(largest > 1e-5)  # more than rounding errors
    return leaks


for name, one_mask in masks().items():
    print(f"{name:22} leaks:", [tokens_leak(Writer(one_mask), row) for row in held_out[:3]])

# %% [markdown]
# ### Padding in the loss
#
# The rows of digits have no padding. With padding, a target can be a padding token, and your masks do not remove *targets*. Take a batch in which half of the targets are padding. The model gives each real target the probability 0.25, and each padding target 0.99. The next cell computes the mean loss twice: over all targets, and over the real ones only. Which of the two describes the model?

# %%
half = torch.tensor([0.25] * 4 + [0.99] * 4)
two_logits = torch.stack([half.log(), (1 - half).log()], dim=1)  # class 0 is the target
counted = torch.zeros(8, dtype=torch.long)
left_out = torch.tensor([0] * 4 + [-100] * 4)
print(f"padding targets counted:  {F.cross_entropy(two_logits, counted).item():.2f}")
print(f"padding targets left out: {F.cross_entropy(two_logits, left_out, ignore_index=-100):.2f}")

# %% [markdown]
# The second one. Predicting padding is easy and useless, and it makes the first loss look half as large. `F.cross_entropy` leaves out each target that equals `ignore_index`.

# %% [markdown]
# ## 8 · The real thing
#
# `F.scaled_dot_product_attention` takes your mask as `attn_mask`, or applies the causal mask itself with `is_causal=True`. Compare it with your function.
#
# The scores here have one more axis: (batch, heads, query, key). Lesson 3 explains heads. Here they are only a second batch axis. Broadcasting aligns shapes at their right ends, so a mask (batch, 1, key) needs one more axis too. Otherwise its batch axis would be aligned with the heads: an error, or a silent mistake if there are as many heads as sequences.

# %%
q, k, v = numbers(2, 3, 6, 8), numbers(2, 3, 6, 8, seed=1), numbers(2, 3, 6, 5, seed=2)
padded = padding_mask(torch.tensor([4, 6]), 6)[:, None]  # (batch, 1, 1, key)
both = causal_mask(6) & padded
for title, combined, theirs in (
    ("causal", causal_mask(6), F.scaled_dot_product_attention(q, k, v, is_causal=True)),
    ("causal and padding", both, F.scaled_dot_product_attention(q, k, v, attn_mask=both)),
):
    mine = masked_attention(q, k, v, combined)[0]
    print(f"{title}: largest difference {(mine - theirs).abs().max().item():.1e}")

# %% [markdown]
# Differences of about 1e-15 are rounding errors: your function computes what PyTorch computes.
#
# `is_causal=True` can surprise you when there are fewer queries than keys. In generation this is common: with the causal mask, a new token changes nothing at earlier positions. So the model can keep their keys and values, and compute its newest queries only.
#
# **Predict.** The queries are at positions 4 and 5, the keys at 0 to 5. To which keys does the query at position 4 attend with `is_causal=True`?
#
# <details><summary>To keys 0 to 4</summary>That is what you want. But PyTorch counts the queries from 0.</details>
# <details><summary>To all six, because they all exist already</summary>No: a causal mask is applied. But PyTorch does not know the positions of your queries.</details>
# <details><summary>To key 0 only</summary>Yes. PyTorch counts the queries from 0: its mask starts in the upper left corner.</details>

# %%
newest = q[:, :, 4:]  # the queries at positions 4 and 5
wanted = repaired_mask(torch.tensor([4, 5]), torch.arange(6))
eye = torch.eye(6, dtype=torch.float64).expand(2, 3, 6, 6)  # with these values, output = weights
seen = F.scaled_dot_product_attention(newest, k, eye, is_causal=True)[0, 0] > 0
six = ["0", "1", "2", "3", "4", "5"]
figures.masks(
    {"is_causal=True": (seen, "key", six), "your repaired_mask": (wanted, "key", six)},
    "query",
    ["4", "5"],
)
mine = masked_attention(q, k, v, causal_mask(6))[0][:, :, 4:]  # all queries, the newest two kept
for title, theirs in (
    ("is_causal=True", F.scaled_dot_product_attention(newest, k, v, is_causal=True)),
    ("repaired_mask", F.scaled_dot_product_attention(newest, k, v, attn_mask=wanted)),
):
    print(f"{title}: largest difference {(mine - theirs).abs().max().item():.1e}")

# %% [markdown]
# With `is_causal=True` nothing leaks and no error appears, but the newest queries attend to the oldest keys only. So pass a mask when the lengths differ. (A single newest query may attend to every key, so without padding, call the function with neither a mask nor `is_causal=True`. With `is_causal=True` it would attend to key 0 only.)
#
# Now `nn.MultiheadAttention`, where True means masked out. **Predict** what happens if you pass your mask as it is.
#
# <details><summary>An error message</summary>A boolean mask is a boolean mask. PyTorch cannot know what you mean.</details>
# <details><summary>Each query attends to the future only</summary>Yes. What you allow is masked, and what you mask is allowed.</details>
# <details><summary>The mask has no effect</summary>It has one: the opposite of what you want.</details>

# %%
torch.manual_seed(0)
block = nn.MultiheadAttention(8, num_heads=1, bias=False, batch_first=True).double()
sequences = numbers(4, 6, 8, seed=3)
with torch.no_grad():
    block.out_proj.weight.copy_(torch.eye(8))  # switches off a last projection, see lesson 3
    its_q, its_k, its_v = (sequences @ w.T for w in block.in_proj_weight.chunk(3))
    mine = masked_attention(its_q, its_k, its_v, causal_mask(6))[0]
    for title, attn_mask in (("~mask", ~causal_mask(6)), ("mask as it is", causal_mask(6))):
        theirs = block(sequences, sequences, sequences, attn_mask=attn_mask)[0]
        difference = (mine - theirs)[:, :-1].abs().max().item()  # without the last position
        print(f"{title}: largest difference {difference:.1e}")

# %% [markdown]
# With `~mask` the results agree. With the mask as it is, they differ, and no error warns you. (The comparison leaves out the last query, which has no later key and gets NaN. Recent versions of `F.scaled_dot_product_attention` return 0 there, as your function does.)
#
# A padding mask has its own argument, `key_padding_mask`, (batch, key), True = padding.

# %% [markdown]
# ## 9 · In your own words
#
# **Question** (8 minutes). A friend trains an autoregressive language model. After ten minutes its loss is near 0, on training texts and on new texts. But it generates nonsense. What do you suspect? Why did the new texts not reveal it? How would you prove it? Double-click the cell below and write three or four sentences. A person will read them.

# %% answer too_good [markdown] points=2
# <!-- BEGIN SOLUTION -->
# The model can probably see the token that it has to predict: the causal mask is missing, inverted, or one diagonal too wide. On new texts the loss is computed in the same way, with the whole text as input (teacher forcing), so the model copies the target there too. When it generates, the next token does not exist, and copying is of no use. Proof: call eval(), replace a later token by several others and see whether an earlier output changes (or take the gradient with respect to its embedding). An attention map would show weights above the diagonal.
# <!-- END SOLUTION -->


# %% [markdown]
# ## Where you stand

# %%
from transformer_course.progress import show_progress

show_progress("02_masking")

# %% [markdown]
# - An autoregressive model learns next-token prediction with teacher forcing: it receives the true tokens, and all positions predict their next tokens in one pass.
# - A mask says which keys each query may attend to. Here and in `F.scaled_dot_product_attention`, True = may attend. In `nn.MultiheadAttention`, True = masked out.
# - The causal mask limits each query to its context: key position ≤ query position. The padding mask, (batch, 1, key), hides padding keys. `&` combines them. The loss must leave out padding *targets* itself.
# - Replace masked scores with −∞ before the softmax: the other keys then share the 1.
# - A finite number in place of −∞ masks only while the largest allowed score of a row is far above it, and training can lower all of them.
# - A query that may attend to nothing gives NaN, unless you set its weights to 0.
# - A leak is a dependence of an output on a later input. A held-out loss below the floor is a sign of one, and the leak test measures it directly.
# - With fewer queries than keys, pass a mask in place of `is_causal=True`.
#
# **What comes next.** Each query has a single set of weights, and they sum to 1: what one key gains, the others lose. But a verb may need its subject *and* its object. Lesson 3, multi-head attention, gives each token several sets.
