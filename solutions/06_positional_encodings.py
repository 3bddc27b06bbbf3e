# %% [markdown]
# # Lesson 6 · Positional encodings
#
# **You build** four ways to tell a model where a token is: sinusoids that are added, a learned table, a bias for each offset, and a rotation of queries and keys.
#
# **You need** attention from lessons 1 to 3 (queries, keys, values, heads, scores) and the sine and cosine of an angle in radians.
#
# **You take away** `sinusoidal_encoding`, `LearnedPositions`, `relative_bias`, `rotary_embedding`, and a way to choose between them by what your task needs.
#
# **Time**: about 220 minutes: 145 for the exercises. A good place to stop follows after about 90. Parts 7 and 8 have no exercise and can wait. What is marked *optional* goes deeper: nothing later needs it.
#
# **How to work**: read, predict, run, cell by cell. This notebook runs alone.

# %% given imports
import copy
import functools
import math
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformer_course import figures
from transformer_course.checks import Check, numbers

# numbers(2, 3) is a fixed tensor of shape (2, 3)

# %% [markdown]
# ## 1 · Who bit whom?
#
# *Dog bites man* and *man bites dog* contain the same words. You know who was bitten because you know the order. Does attention?
#
# Below, PyTorch's own attention with random weights reads both sentences. The cell then compares the two outputs for each word.
#
# **From the lecture**: *Transformer: Part I (Encoder)*, CS7150, slide “Capturing the Order of the Input”, asks this question.
#
# **Predict.** What happens to the output vector of *dog* when the sentence becomes *man bites dog*?
#
# <details><summary>It gets the vector that <em>man</em> had</summary>Then the position would decide the output. Attention does the opposite: the word decides, and its position has no effect.</details>
# <details><summary>It becomes a different vector</summary>What would make it different? Its query is the same, the three keys and values are the same, and a sum does not depend on the order of its terms.</details>
# <details><summary>It is the same vector, in another row</summary>Yes. The rows move along with their words, and no value changes.</details>

# %% folded=true
# Runs attention on both sentences and draws the output of each word, click to unfold
vector_of = dict(zip(["dog", "bites", "man"], numbers(3, 4, dtype=torch.float32), strict=True))
torch.manual_seed(0)
attention = nn.MultiheadAttention(4, num_heads=2, batch_first=True)


def outputs(sentence: list[str], encoding: Tensor | float) -> Tensor:
    """Add the encoding to the words, attend, and return the outputs for dog, bites, man."""
    x = torch.stack([vector_of[word] for word in sentence]) + encoding
    with torch.no_grad():
        result, _ = attention(x[None], x[None], x[None])
    return result[0, [sentence.index(word) for word in vector_of]]


def compare(encoding: Tensor | float = 0.0) -> None:
    """Draw the outputs for both sentences, word by word."""
    first = outputs(["dog", "bites", "man"], encoding)
    second = outputs(["man", "bites", "dog"], encoding)
    features = ["0", "1", "2", "3"]
    stages = {
        "outputs in “dog bites man”": (first, "feature", features),
        "outputs in “man bites dog”": (second, "feature", features),
    }
    figures.steps(stages, "word", list(vector_of))
    print(f"largest difference between the two: {(first - second).abs().max().item():.3f}")


compare()

# %% [markdown]
# What to see: the two maps are identical. (Both list the words in one order.) Attention without a mask is **permutation equivariant**: reorder the tokens, and the outputs are only reordered with them. That suits a set, but a sentence is not a set. A **positional encoding** tells a model where each token is.
#
# A slide says that the encoding is needed because a Transformer processes its input in parallel. Is that the reason? A convolution is computed in parallel too.
#
# **Predict.** For which layers does the output of *bites*, in the middle, stay the same when *dog* and *man* change places?
#
# <details><summary>For attention and the convolution: both are parallel</summary>A convolution has its own weights for the neighbour on the left and for the one on the right.</details>
# <details><summary>For attention alone</summary>Yes. Attention uses the same weights for every token, wherever it is, and adds the results. A convolution has weights for each offset, and an RNN reads the tokens one after another.</details>
# <details><summary>For none of them</summary>The two maps above were identical.</details>
#
# **From the lecture**: *Introduction to Transformers*, CS60216, slides “Positional Encoding”.

# %%
sentence = torch.stack([vector_of[word] for word in ("dog", "bites", "man")])
torch.manual_seed(0)
convolution, recurrent = nn.Conv1d(4, 4, 3, padding=1), nn.RNN(4, 4, batch_first=True)
layers = {
    "attention": lambda x: attention(x, x, x)[0],
    "convolution": lambda x: convolution(x.mT).mT,
    "recurrent": lambda x: recurrent(x)[0],
}
for name, layer in layers.items():
    with torch.no_grad():
        change = layer(sentence[None])[0, 1] - layer(sentence.flip(0)[None])[0, 1]
    print(f"{name:12} largest change of the output of “bites”: {change.abs().max().item():.3f}")

# %% [markdown]
# What to see: the parallel convolution notices the order, attention does not. So the reason is not parallel computation: attention treats all positions alike.

# %% [markdown]
# ### Three questions from earlier lessons
#
# Answer, then open.
#
# **Recall 1.** Attention weights have the shape (query, key). Along which axis do they sum to 1?
#
# <details><summary>Show the answer</summary>Over the keys, the last axis. Each row is the distribution of one query (lesson 1).</details>
#
# **Recall 2.** `F.scaled_dot_product_attention` gets a boolean mask with False at query 2, key 5. What happens there?
#
# <details><summary>Show the answer</summary>The score becomes −∞ before softmax, so the weight becomes 0: query 2 does not attend to key 5 (lesson 2).</details>
#
# **Recall 3.** An attention layer with 4 heads reads 10 tokens. What shape do its scores have?
#
# <details><summary>Show the answer</summary>(4, 10, 10): one (query, key) table for each head (lesson 3). In section 5 you add a bias of exactly this shape.</details>

# %%
# The three answers, computed
scores = numbers(4, 10, 10)  # (heads, query, key)
may_attend = torch.ones(10, 10, dtype=torch.bool)
may_attend[2, 5] = False
weights = scores.masked_fill(~may_attend, -math.inf).softmax(-1)
print("shape of the weights:        ", tuple(weights.shape))
print("sums over the keys, head 0:  ", weights[0].sum(-1).numpy().round(3))
print("weights at query 2, key 5:   ", weights[:, 2, 5].tolist())

# %% [markdown]
# ## 2 · A vector for each position
#
# The first Transformer makes one vector for each position, as wide as an embedding, and adds it to the embedding of the token there. Which vector should it be?
#
# The simplest idea is a counter: add the number of the position, 0, 1, 2, …, 500, to every feature. The next cell does this to the embeddings of two different words and prints how similar they are afterwards.
#
# **Predict.** What is the cosine similarity of the two at position 500?
#
# <details><summary>Almost 1</summary>Yes. Features are around 1 in size, so 500 outweighs them: the sum says “500”, and hardly anything about the word.</details>
# <details><summary>The same as at position 0</summary>Both vectors get the same addition, but that does not keep the angle between them: it turns both towards the added vector. The larger the addition, the smaller the angle.</details>
# <details><summary>Almost 0, because the words differ</summary>Both get the same large vector. What they share then outweighs what distinguishes them.</details>

# %%
embedding_1, embedding_2 = numbers(64), numbers(64, seed=1)
for p in (0, 1, 10, 100, 500):
    similarity = F.cosine_similarity(embedding_1 + p, embedding_2 + p, dim=0).item()
    print(f"both at position {p:3}: cosine similarity {similarity:.4f}")

# %% [markdown]
# What to see: a large counter hides the word. Dividing it by the length of the text would help, but then one step is 1/10 in a short text and 1/500 in a long one.
#
# You want values that stay bounded, differ from position to position and do not depend on the length. Binary counting has all three. The last bit changes at every position, the one before it at every second, the next at every fourth.
#
# But bits jump: from 3 (011) to 4 (100) all three change. Replace each bit by a smooth wave, so that neighbours get similar values, except in the fastest. The **wavelength** of a wave is the number of positions after which it repeats.

# %% folded=true
# Draws eight positions as bits and as waves, click to unfold
eight = range(8)
bits = [[float(p >> bit & 1) for bit in (2, 1, 0)] for p in eight]
waves = [[(1 - math.cos(math.pi * p / 2**bit)) / 2 for bit in (2, 1, 0)] for p in eight]
figures.steps(
    {
        "position in binary": (bits, "repeats after", ["8", "4", "2"]),
        "as waves": (waves, "wavelength", ["8", "4", "2"]),
    },
    "position",
    [str(p) for p in eight],
)

# %% [markdown]
# **Predict.** On the left all eight rows differ. Compare the rows on the right. Which positions can a model *not* tell apart?
#
# <details><summary>None: three waves replace three bits</summary>Compare row 1 with row 7, value by value.</details>
# <details><summary>1 and 7, 2 and 6, 3 and 5</summary>Yes. Within a wavelength, a wave takes almost every value twice, once on the way up and once on the way down. The value alone does not tell you which.</details>
# <details><summary>0 and 4</summary>Position 4 is the peak of the slowest wave, and position 0 is its minimum. These two differ.</details>

# %% [markdown]
# The fix: give each wave *two* columns, a cosine and a sine. Together they are a point on a circle, and a circle has one point for each angle. Here are positions 1 and 7 for the wave with wavelength 8. Their cosines are equal, as before. Their sines tell them apart.

# %%
figures.arrows(
    {f"p = {p}": [math.cos(math.pi * p / 4), math.sin(math.pi * p / 4)] for p in (1, 7)},
    axes=("cosine", "sine"),
)

# %% [markdown]
# The **sinusoidal encoding** of a position consists of $d_{\text{model}}/2$ pairs, each the sine and the cosine of one angle. Pair $i$ has the **frequency** $\omega_i$, the angle in radians by which it advances from one position to the next. For position $p$ and $i = 0, 1, 2, \dots$:
#
# $$\mathrm{PE}_{p,\,2i} = \sin(p\,\omega_i) \qquad \mathrm{PE}_{p,\,2i+1} = \cos(p\,\omega_i) \qquad \omega_i = \frac{1}{10000^{2i/d_{\text{model}}}}$$
#
# (Vaswani et al., *Attention Is All You Need*, 2017, section 3.5.)
#
# The **base**, here 10000, sets how fast the frequencies fall. With bits, the wavelength doubles from right to left. Here it grows by the factor $10000^{2/d_{\text{model}}}$ from pair to pair.
#
# **Predict.** How many different frequencies does an encoding with $d_{\text{model}} = 8$ have?
#
# <details><summary>8, one for each column</summary>Columns 2i and 2i + 1 share a frequency: they are the sine and the cosine of one angle.</details>
# <details><summary>2, one for the sines and one for the cosines</summary>Sine and cosine are not frequencies. Each pair has its own frequency and uses both functions.</details>
# <details><summary>4, one for each pair of columns</summary>Yes: 1, 1/10, 1/100 and 1/1000. Columns 0 and 1 have the first, columns 2 and 3 the second, and so on.</details>

# %% [markdown]
# **Exercise** (25 minutes). Write the encoding. Columns come in pairs: for an odd width, raise a `ValueError` before you compute anything.
#
# <details><summary>Hint 1</summary><code>torch.arange(0, d_model, 2)</code> holds the values of 2i, one for each pair. Compute the frequencies from them. With the positions as a column, <code>[:, None]</code>, one product gives all angles: (length, pairs).</details>
# <details><summary>Hint 2</summary>Sines go into the even columns and cosines into the odd ones. Either fill <code>table[:, 0::2]</code> and <code>table[:, 1::2]</code> of an empty table, or stack both along a new last axis and flatten.</details>


# %% exercise sinusoidal_encoding
def sinusoidal_encoding(length: int, d_model: int, base: float = 10000.0) -> Tensor:
    """Return the encoding of the positions 0 … length - 1, one in each row: (length, d_model).

    Row p: sin(p ω_i) in column 2i and cos(p ω_i) in column 2i + 1, with ω_i = base^(-2i / d_model).
    The dtype is torch's default. An odd d_model raises a ValueError that names it.
    """
    # BEGIN SOLUTION
    if d_model % 2:
        raise ValueError(f"d_model must be even: sines and cosines come in pairs; got {d_model}")
    frequencies = base ** (-torch.arange(0, d_model, 2) / d_model)  # one for each pair
    angles = torch.arange(length)[:, None] * frequencies  # (length, pairs)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)
    # END SOLUTION


# %% check sinusoidal_encoding points=2
hint = (
    "angle = position times frequency; its sine goes into column 2i, its cosine into column 2i + 1"
)
with Check("sinusoidal_encoding", "an example you can compute by hand", hint) as check:
    # base 1000 and width 6: three pairs, with the frequencies 1, 1/10 and 1/100
    encoding = check.call(4, 6, base=1000.0)
    check.shape(encoding, length=4, d_model=6)
    check.equal(
        encoding[0],
        torch.tensor([0.0, 1.0, 0.0, 1.0, 0.0, 1.0]),
        "position 0 is [0, 1, 0, 1, 0, 1]: sin 0 and cos 0, side by side for each frequency",
        within=1e-5,
    )
    by_hand = [
        [wave(angle) for angle in row for wave in (math.sin, math.cos)]
        for row in ((0.0, 0.0, 0.0), (1.0, 0.1, 0.01), (2.0, 0.2, 0.02), (3.0, 0.3, 0.03))
    ]
    check.equal(
        encoding,
        torch.tensor(by_hand),
        "with base 1000 and width 6 the frequencies are 1, 0.1 and 0.01: position 2 has the "
        "angles 2, 0.2 and 0.02",
        within=1e-5,
    )
    check.true(
        encoding.dtype == torch.get_default_dtype(),
        "the encoding has torch's default dtype, which is float32 here",
        hint="a NumPy array or an explicit dtype leads to another one",
    )
with Check("sinusoidal_encoding", "the default base, and more columns", hint) as check:
    encoding = check.call(2, 8)
    check.shape(encoding, length=2, d_model=8)
    by_hand = [(math.sin(frequency), math.cos(frequency)) for frequency in (1, 0.1, 0.01, 0.001)]
    check.equal(
        encoding[1],
        torch.tensor(by_hand).flatten(),
        "with base 10000 and width 8 the angles of position 1 are 1, 0.1, 0.01 and 0.001",
        hint="frequency i is base to the power of -2i / d_model: each is smaller than the one "
        "before by the same factor",
        within=1e-5,
    )
    again = check.call(2, 8, base=16.0)
    by_hand = [(math.sin(frequency), math.cos(frequency)) for frequency in (1, 0.5, 0.25, 0.125)]
    check.equal(
        again[1],
        torch.tensor(by_hand).flatten(),
        "called again, with base 16: the angles of position 1 are 1, 1/2, 1/4 and 1/8",
        hint="compute the table anew: it depends on the base too",
        within=1e-5,
    )
    wide = check.call(2, 64)
    check.equal(
        wide[1, -2:],
        torch.tensor([math.sin(10000 ** (-62 / 64)), 1.0]),
        "with width 64 the last angle of position 1 is 10000^(-62/64), about 0.00013",
        hint="divide the exponent by d_model before you take the power",
        within=1e-6,
    )
    many = check.call(9, 6)
    check.shape(many, length=9, d_model=6)
    check.equal(
        many.square().sum(-1),
        torch.full((9,), 3.0),
        "sin² + cos² = 1 for each of the three pairs: every row has squared length 3",
        hint="the sine and the cosine of a pair belong to the same angle",
        within=1e-4,
    )
# BEGIN HIDDEN TESTS
with Check("sinusoidal_encoding", "other lengths, widths and bases") as check:
    for rows, columns, root in (
        (7, 10, 10000.0),
        (1, 2, 10000.0),
        (12, 2, 50.0),
        (2, 16, 300.0),
        (8, 6, 10.0),
        (5, 12, 2),
        (33, 4, 1e6),
        (7, 10, 30.0),
        (3, 64, 10000.0),
    ):
        encoding = check.call(rows, columns, base=root)
        check.shape(encoding, length=rows, d_model=columns)
        expected = torch.tensor(
            [
                [
                    (math.cos if c % 2 else math.sin)(p * root ** (-(c - c % 2) / columns))
                    for c in range(columns)
                ]
                for p in range(rows)
            ]
        )
        check.equal(encoding, expected, "sines and cosines of all angles", within=2e-5)
        check.true(encoding.dtype == torch.float32, "the default dtype")
with Check("sinusoidal_encoding", "positions beyond the base") as check:
    encoding = check.call(12001, 4)
    angle = torch.tensor([12000.0, 120.0], dtype=torch.float64)
    expected = torch.stack([angle.sin(), angle.cos()], -1).flatten().float()
    check.equal(encoding[-1], expected, "position 12000", within=5e-3)
# END HIDDEN TESTS
# %% check sinusoidal_encoding_odd points=1
with Check("sinusoidal_encoding", "an odd width is refused") as check:
    # an odd length is allowed
    check.shape(check.call(5, 6), length=5, d_model=6)
    check.raises(4, 7, naming=[7])
# BEGIN HIDDEN TESTS
with Check("sinusoidal_encoding", "other odd widths, and an even one") as check:
    for odd_width in (1, 33):
        check.raises(6, odd_width, naming=[odd_width])
    check.shape(check.call(5, 2), length=5, d_model=2)
# END HIDDEN TESTS

# %% [markdown]
# Here is your own encoding. Each row is a position, and each column is one wave. The curve compares the middle position with all positions by the dot product.
#
# **Puzzle.** Set the width to 8 and the base to 10,000. In the curve, positions at one distance are even more similar than direct neighbours are. Which distance is it, and why?
#
# <details><summary>Show the answer</summary>A distance of 6. The first pair has frequency 1, so its wavelength is 2π ≈ 6.28 positions: after 6 it is nearly back. The second pair has turned by only 0.6 radians (34°), and the two slower ones have hardly moved. Increase the width: more pairs make this peak smaller.</details>

# %%
from transformer_course.widgets import show_encoding

title = "your sinusoidal encoding: short wavelengths on the left"
show_encoding(sinusoidal_encoding, length=(16, 32), d_model=(8, 16, 32), title=title)

# %% [markdown]
# What to see: the left columns have short wavelengths. The right ones hardly change over the whole text. A smaller base shortens the long wavelengths.
#
# Now go back to the opening question. Add your encoding to the words:

# %%
compare(sinusoidal_encoding(3, 4))

# %% [markdown]
# What to see: the two maps differ now. The words and the layer's parameters are those of section 1. Only the encoding is new.

# %% [markdown]
# ## 3 · A step is a rotation
#
# Any distinct vectors would tell positions apart, even random ones. Sinusoids do more. Attention compares vectors by dot products. So take the dot products of all pairs of encodings.

# %%
encoding = sinusoidal_encoding(5, 8)
five = [str(p) for p in range(5)]
products = {"PE · PE for each pair of positions": (encoding @ encoding.T, "position", five)}
figures.steps(products, "position", five)

# %% [markdown]
# What to see: each diagonal is constant. Positions 0 and 2 are as similar as 2 and 4. The reason is $\sin a \sin b + \cos a \cos b = \cos(a - b)$, once for each pair of columns. For positions $m$ and $n$:
#
# $$\mathrm{PE}_m \cdot \mathrm{PE}_n = \sum_i \cos\big((m - n)\,\omega_i\big)$$
#
# The **absolute position** of a token is $p$, counted from the start. The **relative position** of two tokens is the difference of their positions. You encoded absolute positions, and the dot product depends on the relative position alone. As $\cos(-a) = \cos a$, two before and two after look alike.
#
# A matrix between the two encodings can tell them apart. Here is one pair with a frequency of half a radian. Compare the step from 0 to 1 with the step from 10 to 11.

# %%
figures.arrows(
    {f"p = {p}": [math.cos(0.5 * p), math.sin(0.5 * p)] for p in (0, 1, 10, 11)},
    axes=("cosine", "sine"),
)

# %% [markdown]
# For one pair, with $a = p\,\omega_i$ and $b = k\,\omega_i$, the angle addition formulas say:
#
# $$\sin(a + b) = \sin a \cos b + \cos a \sin b \qquad \cos(a + b) = \cos a \cos b - \sin a \sin b$$
#
# **Predict.** Write these formulas as $\mathrm{PE}_{p+k} = \mathrm{PE}_p\, M$, with $\mathrm{PE}_p$ as a row vector. What do the entries of $M$ depend on?
#
# <details><summary>On p and on k</summary>In the formulas, p occurs only in sin a and cos a, the entries of the row vector. The matrix holds their factors.</details>
# <details><summary>On k alone</summary>Yes. One matrix moves every position by k. It rotates each pair by the angle b.</details>
# <details><summary>On p alone</summary>Then moving by 1 and moving by 5 would use the same matrix.</details>
#
# Call this matrix $M_k$. A learned projection can contain it. Then a query can ask for “the token three positions before me”, at any position. But a model has to learn this. Attention never compares bare encodings: each is first added to an embedding and then multiplied by a learned projection.

# %% [markdown]
# **Exercise** (20 minutes). Write $M_k$ for all pairs. The pairs do not mix: outside the 2 × 2 blocks on the diagonal, all entries are 0. Find one block on paper first.
#
# <details><summary>Hint 1</summary>In row times matrix, the first column of the block gives the new sine, the second the new cosine. Read the factors of sin a and cos a off the two formulas.</details>
# <details><summary>Hint 2</summary>Either make the block of each pair and join them with <code>torch.block_diag(*blocks)</code>, or fill a matrix of zeros: <code>matrix[2 * i, 2 * i]</code> is the upper left corner of block i.</details>


# %% exercise shift_matrix
def shift_matrix(offset: int, d_model: int, base: float = 10000.0) -> Tensor:
    """Return the matrix that moves every position by `offset` steps: (d_model, d_model).

    encoding[p + offset] == encoding[p] @ shift_matrix(offset, d_model, base) for all p, with the
    rows of the sinusoidal encoding. A negative offset moves back. d_model is even. Default dtype.
    """
    # BEGIN SOLUTION
    angles = offset * base ** (-torch.arange(0, d_model, 2) / d_model)
    blocks = [
        torch.stack([angle.cos(), -angle.sin(), angle.sin(), angle.cos()]).reshape(2, 2)
        for angle in angles
    ]
    return torch.block_diag(*blocks)
    # END SOLUTION


# %% check shift_matrix points=2
hint = "each pair is a row [sin a, cos a] times its own 2 x 2 block; b = offset times its frequency"
with Check("shift_matrix", "one pair, one step", hint) as check:
    matrix = check.call(1, 2)
    check.shape(matrix, d_model=2, d_models=2)
    check.equal(
        torch.tensor([0.0, 1.0]) @ matrix.float(),
        torch.tensor([math.sin(1), math.cos(1)]),
        "position 0 is [0, 1], and [0, 1] @ matrix is position 1: [sin 1, cos 1]",
        within=1e-5,
    )
    check.equal(
        torch.tensor([math.sin(1), math.cos(1)]) @ matrix.float(),
        torch.tensor([math.sin(2), math.cos(2)]),
        "the same matrix moves position 1 to position 2: [sin 2, cos 2]",
        within=1e-5,
    )
    check.true(
        matrix.dtype == torch.get_default_dtype(),
        "the matrix has torch's default dtype, which is float32 here",
        hint="a NumPy array or an explicit dtype leads to another one",
    )
with Check("shift_matrix", "two pairs, two frequencies", hint) as check:
    # base 400 and width 4: the frequencies are 1 and 1/20
    matrix = check.call(3, 4, base=400.0)
    check.shape(matrix, d_model=4, d_models=4)
    off_blocks = matrix.clone()
    off_blocks[:2, :2] = off_blocks[2:, 2:] = 0
    check.equal(
        off_blocks,
        torch.zeros(4, 4),
        "the two pairs do not mix: outside their blocks all entries are 0",
        hint,
    )
    rows = torch.tensor(
        [
            [math.sin(2), math.cos(2), math.sin(0.1), math.cos(0.1)],
            [math.sin(5), math.cos(5), math.sin(0.25), math.cos(0.25)],
        ]
    )
    check.equal(
        rows[0] @ matrix.float(),
        rows[1],
        "with offset 3 it moves position 2 (angles 2 and 0.1) to position 5 (angles 5 and 0.25)",
        hint="each pair has its own frequency, base^(-2i / d_model)",
        within=1e-5,
    )
    back = check.call(-3, 4, base=400.0)
    check.equal(
        rows[1] @ back.float(),
        rows[0],
        "with offset -3 it moves position 5 back to position 2",
        hint="a negative offset rotates the other way: cos is the same, sin changes its sign",
        within=1e-5,
    )
    check.equal(check.call(0, 4), torch.eye(4), "offset 0 moves nothing: the identity matrix")
with Check("shift_matrix", "32 pairs", hint) as check:
    matrix = check.call(3, 64)
    check.shape(matrix, d_model=64, d_models=64)
    pair = torch.arange(64) // 2
    check.equal(
        matrix.masked_fill(pair == pair[:, None], 0.0),
        torch.zeros(64, 64),
        "outside the 32 blocks all entries are 0",
    )
    angles = torch.tensor([3 * 10000 ** (-2 * i / 64) for i in range(32)])
    check.equal(
        torch.tensor([0.0, 1.0] * 32) @ matrix.float(),
        torch.stack([angles.sin(), angles.cos()], -1).flatten(),
        "it moves position 0 to position 3 in all 32 pairs",
        hint="divide the exponent by d_model before you take the power",
        within=1e-5,
    )
# BEGIN HIDDEN TESTS
with Check("shift_matrix", "other offsets, widths and bases, from several positions") as check:
    for step, columns, root in (
        (1, 2, 10000.0),
        (5, 8, 10000.0),
        (-7, 6, 30.0),
        (0, 10, 1000.0),
        (12, 4, 4.0),
        (200, 6, 10000.0),
        (3, 64, 10000.0),
    ):
        speeds = root ** (-torch.arange(0, columns, 2, dtype=torch.float64) / columns)
        matrix = check.call(step, columns, base=root)
        check.shape(matrix, d_model=columns, d_models=columns)
        check.true(matrix.dtype == torch.float32, "the default dtype")
        angles = step * speeds
        expected = torch.zeros(columns, columns, dtype=torch.float64)
        for i, angle in enumerate(angles.tolist()):
            expected[2 * i, 2 * i] = expected[2 * i + 1, 2 * i + 1] = math.cos(angle)
            expected[2 * i, 2 * i + 1] = -math.sin(angle)
            expected[2 * i + 1, 2 * i] = math.sin(angle)
        check.equal(matrix, expected.float(), "rotation blocks on the diagonal", within=1e-4)
# END HIDDEN TESTS

# %%
encoding = sinusoidal_encoding(50, 32)
for steps in (1, 10, -20):
    moved = encoding[20:40] @ shift_matrix(steps, 32)
    error = (moved - encoding[20 + steps : 40 + steps]).abs().max().item()
    print(f"{steps:4} steps from each of 20 positions: largest error {error:.0e}")

# %% [markdown]
# What to see: one matrix moves twenty positions at once. The errors are float32 rounding.

# %% [markdown]
# ### Bug hunt: a listing from a slide
#
# A lecture slide gives the formula of section 2, calls $i$ the “embedding dim index”, and spells it out for an input `X` of shape (length, d):
#
# ```
# X_with_pos[0, 0] = X[0,0] + sin(0 / (10000 ** (2*0 / d)))
# X_with_pos[0, 1] = X[0,1] + cos(0 / (10000 ** (2*1 / d)))
# X_with_pos[0, 2] = X[0,2] + sin(0 / (10000 ** (2*2 / d)))
# ...
# X_with_pos[1, 0] = X[1,0] + sin(1 / (10000 ** (2*0 / d)))
# X_with_pos[1, 1] = X[1,1] + cos(1 / (10000 ** (2*1 / d)))
# X_with_pos[1, 2] = X[1,2] + sin(1 / (10000 ** (2*2 / d)))
# ...
# ```
#
# **Predict** where the listing departs from the formula. Then run it beside your own encoding.
#
# **From the lecture**: *Transformers (Part 2)*, Data C182, slide “Positional encodings”.


# %% folded=true
# Runs the listing and compares its dot products and lengths with yours, click to unfold
def as_listed(length: int, d: int) -> Tensor:
    """Return what the listing adds to X, for `length` positions."""
    listed = torch.zeros(length, d)
    for position in range(length):
        for i in range(d):
            wave = math.cos if i % 2 else math.sin
            listed[position, i] = wave(position / (10000 ** (2 * i / d)))
    return listed


yours, listed = sinusoidal_encoding(5, 8), as_listed(5, 8)
figures.steps(
    {
        "your encoding: PE · PE": (yours @ yours.T, "position", five),
        "the listing: PE · PE": (listed @ listed.T, "position", five),
    },
    "position",
    five,
)
print("vector lengths, yours:      ", yours.norm(dim=1).numpy().round(2))
print("vector lengths, the listing:", listed.norm(dim=1).numpy().round(2))

# %% [markdown]
# What to see: on the left each diagonal is constant, and so are the lengths of the vectors. On the right neither is. In the listing, the sine and the cosine of a pair belong to different angles. So there is no circle, and no matrix $M_k$.

# %% [markdown]
# **Exercise** (5 minutes). In the formula, $i$ counts pairs. In the listing it counts columns. Return the value that the listing should add to `X[position, column]`.
#
# <details><summary>Hint</summary>Columns 0 and 1 are pair 0, columns 2 and 3 are pair 1. Which pair does column 5 belong to? In Python, <code>//</code> divides and rounds down.</details>


# %% exercise repaired_entry
def repaired_entry(position: int, column: int, d_model: int) -> float:
    """Return what should be added to X[position, column]: the listing, corrected.

    One number. The base is 10000; columns count from 0; d_model is even.
    """
    # BEGIN SOLUTION
    pair = column // 2
    angle = position / 10000 ** (2 * pair / d_model)
    return math.cos(angle) if column % 2 else math.sin(angle)
    # END SOLUTION


# %% check repaired_entry points=1
with Check("repaired_entry", "eight columns, computed by hand") as check:
    # width 8: the frequencies are 1, 0.1, 0.01 and 0.001
    hint = "columns 2i and 2i + 1 are the sine and the cosine of the same angle"
    entries = [check.call(2, column, 8, returns=float) for column in range(8)]
    for column, (wave, angle) in enumerate(
        (wave, angle) for angle in (2.0, 0.2, 0.02, 0.002) for wave in (math.sin, math.cos)
    ):
        name = "cos" if column % 2 else "sin"
        law = f"position 2, column {column} of 8: {name}({angle:g})"
        check.equal(entries[column], wave(angle), law, hint, within=1e-5)
    start, narrow = (check.call(*entry, returns=float) for entry in ((0, 1, 8), (3, 2, 4)))
    check.equal(start, 1.0, "position 0, column 1: cos(0) = 1", within=1e-5)
    law = "position 3, column 2 of 4: sin(0.03), because width 4 has the frequencies 1 and 1/100"
    check.equal(narrow, math.sin(0.03), law, hint="the frequency depends on d_model", within=1e-5)
# BEGIN HIDDEN TESTS
with Check("repaired_entry", "other positions and widths") as check:
    for at, columns in ((0, 4), (1, 6), (5, 10), (31, 2)):
        for column in range(columns):
            angle = at * 10000 ** (-(column - column % 2) / columns)
            expected = math.cos(angle) if column % 2 else math.sin(angle)
            check.equal(
                check.call(at, column, columns, returns=float), expected, "one entry", within=1e-4
            )
# END HIDDEN TESTS

# %% [markdown]
# **Predict.** Another slide with this formula says that $i$ runs from 0 to $d_{\text{model}} - 1$. For $d_{\text{model}} = 8$ and $i = 7$, which column is $2i$?
#
# <details><summary>7, the last one</summary>2i is twice 7.</details>
# <details><summary>14: there is no such column</summary>Yes. The columns are 0 to 7. As i counts pairs, it runs from 0 to 3, that is, to d<sub>model</sub>/2 − 1.</details>
#
# **From the lecture**: *Transformer: Part I (Encoder)*, CS7150, slide “Augmenting the MSA with Positional Encoding”.

# %% [markdown]
# ### Bug hunt: what the 10000 means
#
# The same slide asks what 10000 means, and answers: “The maximum input length”. If that were so, something would have to happen at position 10000.
#
# **Predict.** What happens to the distance between the encodings of position 0 and position $p$ when $p$ passes 10000?
#
# <details><summary>It drops to 0: the encoding repeats</summary>It would repeat only where all waves are back at their start together. Nothing makes this happen at 10000.</details>
# <details><summary>It grows without bound</summary>Sines and cosines lie between −1 and 1, so the distance is bounded.</details>
# <details><summary>Nothing special</summary>Yes. The curve below goes on as before.</details>

# %% folded=true
# Draws the distance of 40,000 positions to position 0, click to unfold
far_away = sinusoidal_encoding(100_001, 64).double()
distances = (far_away[1:] - far_away[0]).norm(dim=1)
drawn = list(range(2000, 40_001, 2000))
figures.curves(
    drawn,
    {"distance to position 0": [distances[p - 1].item() for p in drawn]},
    x="position",
    y="distance of the encodings",
    title="Nothing happens at position 10000",
    marked={"position 10000": (10_000, distances[9_999].item())},
    bottom=0.0,
)
nearest = f"{distances.min().item():.2f}, at position {distances.argmin() + 1}"
print(f"smallest distance from position 0 among 100,000 positions: {nearest}")

# %% [markdown]
# What to see: the curve goes on in the same way beyond position 10000. Among 100,000 positions, none is closer to position 0 than position 1 is. The distance of two encodings depends only on how far apart their positions are. So, with this width of 64, no two positions in this range have nearly the same encoding.
#
# So the base is not a maximum length. Together with the width, it sets the wavelengths, which you compute next.

# %% [markdown]
# **Exercise** (5 minutes). Compute the wavelength of each pair: the number of positions for one full turn of $2\pi$ radians.
#
# <details><summary>Hint</summary>A pair with frequency ω advances ω radians with each position. How many positions make 2π radians?</details>


# %% exercise wavelengths
def wavelengths(d_model: int, base: float = 10000.0) -> Tensor:
    """Return the wavelength of each pair of the sinusoidal encoding, in positions: (d_model / 2,).

    From the shortest to the longest; not rounded. d_model is even.
    """
    # BEGIN SOLUTION
    return 2 * math.pi * base ** (torch.arange(0, d_model, 2) / d_model)
    # END SOLUTION


# %% check wavelengths points=1
with Check("wavelengths", "four pairs", "2π divided by the frequency of each pair") as check:
    turns = check.call(8)
    check.shape(turns, pairs=4)
    check.equal(
        turns,
        torch.tensor([6.283185, 62.83185, 628.3185, 6283.185]),
        "width 8: the frequencies are 1, 0.1, 0.01, 0.001, so the wavelengths are 6.28, 62.8, 628 "
        "and 6283",
    )
    turns = check.call(4, base=4.0)
    check.shape(turns, pairs=2)
    check.equal(
        turns,
        torch.tensor([6.283185, 12.56637]),
        "width 4 and base 4: the frequencies are 1 and 1/2",
        hint="use the argument `base`",
    )
# BEGIN HIDDEN TESTS
with Check("wavelengths", "other widths and bases") as check:
    for columns, root in ((2, 10000.0), (10, 500.0), (6, 10000.0), (64, 20.0)):
        expected = [2 * math.pi * root ** (2 * i / columns) for i in range(columns // 2)]
        turns = check.call(columns, base=root)
        check.shape(turns, pairs=columns // 2)
        check.equal(turns, torch.tensor(expected), "2π / ω")
# END HIDDEN TESTS

# %%
longest = wavelengths(512)[-1].item()
print(f"d_model = 512: the longest wavelength is {longest:.0f} positions; 2π · 10000 = 62832")

# %% [markdown]
# What to see: the longest wavelength is just below $2\pi \cdot 10000$ positions, because the last exponent is 510/512, not 1. No limit: the formula gives a vector for every position. Section 8 asks whether a *model* can use it.
#
# **A good place to stop.** You have built the first Transformer's encoding. Three others follow. (Back later? Run all cells above first.)

# %% [markdown]
# ## 4 · A learned table
#
# A table of **learned positional embeddings** holds one trained vector for each absolute position. BERT, GPT-2 and the Vision Transformer use one. The price: it *ends* at `max_length`. Longer inputs must raise an error.
#
# **Predict.** `x` has the shape (batch, length, d_model) = (32, 10, 64). Someone adds `table[:x.shape[0]]` from a table of 100 rows. What happens?
#
# <details><summary>An error: (32, 10, 64) and (32, 64) do not match</summary>Yes: 10 meets 32. If the batch happened to be as large as the length, the shapes would match and the result would even be right. With a batch of 1 there is no error either, but every token gets row 0. Count axes from the end: the length is x.shape[-2].</details>
# <details><summary>It works: 10 rows are added</summary>x.shape[0] is 32, the batch size. 32 rows come out of the table.</details>
# <details><summary>Each sequence of the batch gets its own row</summary>For that, the rows would need the shape (32, 1, 64). It is a real mistake too: then all tokens of a sequence get the same position.</details>

# %%
hundred_rows = numbers(100, 64)
for batch in (32, 10, 1):
    zeros = torch.zeros(batch, 10, 64)
    try:
        print(f"batch of {batch}: no error,", tuple((zeros + hundred_rows[: zeros.shape[0]]).shape))
    except RuntimeError as error:
        print(f"batch of {batch}:", error)

# %% [markdown]
# **Exercise** (15 minutes). Write the module: it adds the first rows of a trained table to its input. Call the table `table`, because the check loads it by this name.
#
# <details><summary>Hint</summary><code>self.table.weight</code> is the table itself, (max_length, d_model). Take its first rows with a slice. Compare the two lengths before you add anything.</details>


# %% exercise LearnedPositions
class LearnedPositions(nn.Module):
    """Add a learned vector for each position to the token there.

    Part: `table`, an `nn.Embedding(max_length, d_model)`; row p belongs to position p, from 0.
    forward: x (…, length, d_model) -> x plus the first `length` rows, of the same shape.
    A length above max_length raises a ValueError that names both.
    """

    def __init__(self, max_length: int, d_model: int) -> None:
        # BEGIN SOLUTION
        super().__init__()
        self.table = nn.Embedding(max_length, d_model)
        # END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        # BEGIN SOLUTION
        length, most = x.shape[-2], self.table.num_embeddings
        if length > most:
            raise ValueError(f"the input has length {length}, the table only {most} rows")
        return x + self.table.weight[:length]
        # END SOLUTION


# %% check LearnedPositions points=2
hint = "row p of the table is added to token p of every sequence"
with Check("LearnedPositions", "an example you can compute by hand", hint) as check:
    module = check.build(4, 2).double()
    rows = torch.tensor(
        [[10.0, 20.0], [30.0, 40.0], [50.0, 60.0], [70.0, 80.0]], dtype=torch.float64
    )
    module.load({"table.weight": rows})
    # three sequences of two tokens each
    x = torch.tensor(
        [[[1.0, 2.0], [3.0, 4.0]], [[0.0, 0.0], [0.0, 0.0]], [[5.0, 5.0], [5.0, 5.0]]],
        dtype=torch.float64,
    )
    placed = module.call(x)
    check.shape(placed, batch=3, length=2, d_model=2)
    check.equal(
        placed[0],
        torch.tensor([[11.0, 22.0], [33.0, 44.0]], dtype=torch.float64),
        "row 0 of the table is added to the first token, row 1 to the second",
    )
    check.equal(
        placed,
        x + torch.tensor([[10.0, 20.0], [30.0, 40.0]], dtype=torch.float64),
        "every sequence of the batch gets the same two rows",
    )
    slopes = module.gradients(placed)
    check.equal(
        slopes["table.weight"],
        torch.tensor([[3.0, 3.0], [3.0, 3.0], [0.0, 0.0], [0.0, 0.0]], dtype=torch.float64),
        "the table is trained: a gradient reaches the rows in use, from all three sequences",
        hint="use self.table itself, not a copy or a detached tensor",
    )
fit = "the length is x.shape[-2], with or without a batch; a length equal to max_length is allowed"
with Check("LearnedPositions", "as many tokens as rows, and one more", fit) as check:
    module, x = check.build(3, 2).double(), numbers(2, 3, 2)
    module.load({"table.weight": numbers(3, 2, seed=1)})
    check.equal(
        module.call(x),
        x + numbers(3, 2, seed=1),
        "an input of length max_length is allowed: three tokens, three rows",
        hint,
    )
    check.equal(
        module.call(x[0]),
        x[0] + numbers(3, 2, seed=1),
        "one sequence alone, without a batch, works too: three tokens again",
        hint="the length is the second axis from the end, x.shape[-2]",
    )
    module.raises(numbers(2, 4, 2), naming=(4, 3))
    module.raises(numbers(4, 2), naming=(4, 3))
anew = "each call adds the first rows of the table as it is now, in training and in evaluation"
with Check("LearnedPositions", "called again", anew) as check:
    module, x = check.build(4, 2).double(), numbers(2, 3, 2)
    rows, other_rows = numbers(4, 2, seed=1), numbers(4, 2, seed=2)
    module.load({"table.weight": rows})
    check.equal(module.call(x[:, :2]), x[:, :2] + rows[:2], "two tokens get rows 0 and 1")
    check.equal(module.call(x), x + rows[:3], "then three tokens get rows 0, 1 and 2")
    module.load({"table.weight": other_rows})
    check.equal(module.call(x), x + other_rows[:3], "after the table has changed, the new rows")
    check.equal(module.eval().call(x), x + other_rows[:3], "the same rows in evaluation mode")
# BEGIN HIDDEN TESTS
with Check("LearnedPositions", "any leading dimensions, in float32 too") as check:
    for leading, dtype in (
        ((), torch.float64),
        ((4,), torch.float32),
        ((2, 3), torch.float64),
        ((1,), torch.float64),
        ((7,), torch.float32),
    ):
        module, x = check.build(7, 6), numbers(*leading, 4, 6, seed=2, scale=3.0, dtype=dtype)
        rows = numbers(7, 6, seed=3, dtype=dtype)
        if dtype == torch.float64:
            module.double()
        module.load({"table.weight": rows})
        check.equal(module.call(x).detach(), x + rows[:4], "the first four rows are added")
with Check("LearnedPositions", "too long, by one and by many, with and without a batch") as check:
    for most, shape in ((5, (2, 6, 4)), (5, (9, 4)), (3, (1, 2, 11, 4))):
        module = check.build(most, 4)
        module.raises(numbers(*shape, dtype=torch.float32), naming=(shape[-2], most))
    # a large batch is not a long sequence
    module = check.build(4, 3)
    check.shape(module.call(numbers(9, 2, 3, dtype=torch.float32)), batch=9, length=2, d_model=3)
    # nor is a wide one
    module = check.build(4, 8)
    check.shape(module.call(numbers(2, 3, 8, dtype=torch.float32)), batch=2, length=3, d_model=8)
with Check("LearnedPositions", "what it learns, and from which inputs") as check:
    module = check.build(6, 5)
    x = numbers(4, 3, 5, seed=4, dtype=torch.float32).requires_grad_()
    shapes = {name: tuple(weight.shape) for name, weight in module.parameters().items()}
    check.true(shapes == {"table.weight": (6, 5)}, "it learns its table, and nothing else")
    placed = module.call(x)
    expected = torch.cat([torch.full((3, 5), 4.0), torch.zeros(3, 5)])
    check.equal(module.gradients(placed)["table.weight"], expected, "four sequences, three rows")
    check.equal(check.gradient(placed, x), torch.ones(4, 3, 5), "x passes unchanged")
    x, rows = x.detach(), numbers(6, 5, seed=5, dtype=torch.float32)
    module.load({"table.weight": rows})
    for words in (2, 3, 3):
        placed = module.eval().call(x[:, :words]).detach()
        check.equal(placed, x[:, :words] + rows[:words], "called again, with other rows")
with Check("LearnedPositions", "two modules have a table each") as check:
    first, second = check.build(4, 3), check.build(4, 3)
    kept = second.state()["table.weight"]
    first.load({"table.weight": torch.zeros(4, 3)})
    check.equal(second.state()["table.weight"], kept, "the other table")
# END HIDDEN TESTS

# %% [markdown]
# ## 5 · A bias for each offset
#
# A rule of grammar rarely mentions *word 17*. It mentions *the word before*. So the third way works with offsets directly, inside attention. A **relative position bias** is a learned parameter for each offset and each head, added to the scores before softmax. Nothing is added to the embeddings. T5 and the Swin Transformer use variants of it.
#
# The **offset** of a query and a key is *key position − query position*: −1 is the token before, +1 the token after. The table has a row for each offset from −max_distance to +max_distance. Offsets beyond these limits use the row at the nearer end.
#
# Here are four queries, five keys, and max_distance = 2.

# %% folded=true
# Draws the offsets and the rows of the table that they use, click to unfold
offsets_shown = [[float(key - query) for key in range(5)] for query in range(4)]
rows_shown = [[float(min(max(offset, -2), 2) + 2) for offset in row] for row in offsets_shown]
five_keys = [str(p) for p in range(5)]
figures.steps(
    {
        "offset: key − query": (offsets_shown, "key", five_keys),
        "row of the table": (rows_shown, "key", five_keys),
    },
    "query",
    five_keys[:4],
)

# %% [markdown]
# **Predict.** A model was trained on texts of 100 tokens with max_distance = 8. It now reads a text of 1000 tokens. Can it compute the bias for every pair?
#
# <details><summary>Yes: every offset has a trained row</summary>Right. Offsets beyond ±8 use the row of −8 or +8, and all the far pairs of the 100 tokens have trained these two rows. Section 8 measures whether the <em>model</em> still works.</details>
# <details><summary>No: most offsets have no row</summary>Offsets beyond ±8 have one: the row of −8 or +8.</details>
# <details><summary>Only after more training, on long texts</summary>A table of absolute positions would need it. Here no row depends on the length.</details>

# %% [markdown]
# **Exercise** (20 minutes). Make the bias for all pairs and all heads.
#
# <details><summary>Hint 1</summary>Key positions as a row, query positions as a column: their difference is the table of offsets. <code>clamp(low, high)</code> limits values to a range.</details>
# <details><summary>Hint 2</summary><code>table[rows]</code>, with <code>rows</code> of shape (query, key), has the shape (query, key, heads). Which axis should the heads be?</details>


# %% exercise relative_bias
def relative_bias(query_length: int, key_length: int, table: Tensor) -> Tensor:
    """Return what is added to the scores: (heads, query_length, key_length).

    table (2 · max_distance + 1, heads): the offset key - query uses the row
    clip(key - query) + max_distance, where clip limits it to -max_distance … max_distance.
    Queries and keys both count from position 0.
    """
    # BEGIN SOLUTION
    far = (len(table) - 1) // 2
    offsets = torch.arange(key_length) - torch.arange(query_length)[:, None]
    rows = offsets.clamp(-far, far) + far  # (query, key)
    return table[rows].permute(2, 0, 1)
    # END SOLUTION


# %% check relative_bias points=3
hint = "row = (key position - query position, clipped to ±max_distance) + max_distance"
with Check("relative_bias", "an example you can compute by hand", hint) as check:
    # max_distance is 2; offset -2 gives 1 in head 0 and 50 in head 1, offset 2 gives 5 and 10
    table = torch.tensor(
        [[1.0, 50.0], [2.0, 40.0], [3.0, 30.0], [4.0, 20.0], [5.0, 10.0]], dtype=torch.float64
    )
    bias = check.call(3, 4, table)
    check.shape(bias, heads=2, query=3, key=4)
    check.equal(
        bias[0, 0],
        torch.tensor([3.0, 4.0, 5.0, 5.0], dtype=torch.float64),
        "query 0 has the offsets 0, 1, 2 and 3: rows 2, 3, 4, and 4 again, because 3 is clipped to 2",
    )
    check.equal(
        bias[0],
        torch.tensor(
            [[3.0, 4.0, 5.0, 5.0], [2.0, 3.0, 4.0, 5.0], [1.0, 2.0, 3.0, 4.0]], dtype=torch.float64
        ),
        "in head 0 the token before gets 2, the token itself 3, the token after 4",
    )
    check.equal(
        bias[1],
        torch.tensor(
            [[30.0, 20.0, 10.0, 10.0], [40.0, 30.0, 20.0, 10.0], [50.0, 40.0, 30.0, 20.0]],
            dtype=torch.float64,
        ),
        "head 1 has its own values: the second column of the table",
    )
    alone = check.call(1, 4, table)
    check.shape(alone, heads=2, query=1, key=4)
    check.equal(alone, bias[:, :1], "one query alone is at position 0: the first row of each head")
    check.equal(
        check.call(3, 4, table[1:4])[0, 0],
        torch.tensor([3.0, 4.0, 4.0, 4.0], dtype=torch.float64),
        "the same lengths with a table of three rows: now max_distance is 1, so 2 and 3 are clipped",
        hint="the rows depend on the length of the table too: compute them anew",
    )
with Check("relative_bias", "far to the left, and a gradient", hint) as check:
    table = numbers(3, 4).requires_grad_()  # max_distance is 1, and there are four heads
    bias = check.call(5, 2, table)
    check.shape(bias, heads=4, query=5, key=2)
    check.equal(
        bias[:, 4].detach(),
        table.detach()[:1].T.expand(4, 2),
        "query 4 has the offsets -4 and -3: both are clipped to -1, the first row of the table",
        hint="clip from below too: a negative row index counts from the end of the table",
    )
    check.equal(
        check.gradient(bias, table)[:, 0],
        torch.tensor([7.0, 2.0, 1.0], dtype=torch.float64),
        "of the ten pairs, seven have a key before, two the same position, one a key after: that "
        "many gradients reach each row",
        hint="index the table itself with torch, without a copy",
    )
# BEGIN HIDDEN TESTS
with Check("relative_bias", "other lengths, distances and heads") as check:
    for queries, keys, far_off, heads in (
        (4, 7, 3, 2),
        (4, 7, 1, 2),
        (7, 4, 3, 5),
        (1, 6, 2, 3),
        (6, 1, 2, 3),
        (9, 8, 1, 1),
        (3, 2, 6, 4),
        (5, 5, 2, 5),
    ):
        for dtype in (torch.float64, torch.float32):
            table = numbers(2 * far_off + 1, heads, seed=5, scale=2.0, dtype=dtype)
            bias = check.call(queries, keys, table)
            check.shape(bias, heads=heads, query=queries, key=keys)
            expected = torch.stack(
                [
                    torch.stack(
                        [table[max(-far_off, min(far_off, k - q)) + far_off] for k in range(keys)]
                    )
                    for q in range(queries)
                ]
            )
            check.equal(bias, expected.permute(2, 0, 1), "the table's value for each offset")
with Check("relative_bias", "a table that is not contiguous, and its gradient") as check:
    table = numbers(3, 7, seed=6).T.requires_grad_()
    bias = check.call(6, 4, table)
    weighing = numbers(3, 6, 4, seed=7)
    expected = torch.zeros(7, 3, dtype=torch.float64)
    for q in range(6):
        for k in range(4):
            expected[max(-3, min(3, k - q)) + 3] += weighing[:, q, k]
    slope = check.gradient(bias * weighing, table)
    check.equal(slope, expected, "each pair's gradient reaches its row")
# END HIDDEN TESTS

# %% [markdown]
# ## 6 · Rotate instead of add
#
# The fourth way is used in Llama, Mistral, Qwen and most other language models of today. In **rotary position embedding** (RoPE), each query and each key is *rotated* by angles that are proportional to its position. Nothing is added to the embeddings. A pair of features is an arrow in the plane. It turns by the position times the frequency of the pair, with the frequencies of section 2.

# %%
figures.arrows(
    {
        f"p = {p}": [math.cos(0.5 * p), math.sin(0.5 * p)]
        for p in range(3)  # the arrow [1, 0], with a frequency of half a radian
    },
    axes=("feature 0", "feature 1"),
)

# %% [markdown]
# The dot product of two arrows depends on their lengths and on the angle between them. Rotate the query at position $m$ by $m\,\omega$ and the key at position $n$ by $n\,\omega$. The angle between them changes by $(n - m)\,\omega$. The score of this query and key is the sum of such dot products over all pairs of features.
#
# **Predict.** You move a whole text by 100 positions. What happens to the scores?
#
# <details><summary>They all change, because every arrow turns</summary>Every arrow turns, but the arrows of one pair all turn by the same angle. Think of the angle between a query and a key.</details>
# <details><summary>They shrink</summary>A rotated arrow keeps its length.</details>
# <details><summary>Nothing</summary>Yes. A score contains the relative position and not the absolute one, as in section 5, but without a table.</details>

# %%
for m, n in ((2, 5), (102, 105), (2, 6)):
    query_angle, key_angle = 0.3 + 0.5 * m, 1.1 + 0.5 * n  # content plus rotation
    print(f"query at {m:3}, key at {n:3}: dot product {math.cos(key_angle - query_angle):6.3f}")

# %% [markdown]
# What to see: moving both by 100 changes nothing. Another offset does. So a score depends on contents and offset alone.
#
# Take a query or key $x$ at position $p$, with the width $d$ of one *head*. Its pair $i$ turns by $\theta_i = p\,\omega_i$, with $\omega_i = 1 / 10000^{2i/d}$ as in section 2:
#
# $$\mathrm{RoPE}(x)_{2i} = x_{2i}\cos\theta_i - x_{2i+1}\sin\theta_i \qquad \mathrm{RoPE}(x)_{2i+1} = x_{2i}\sin\theta_i + x_{2i+1}\cos\theta_i$$
#
# In the **interleaved** layout, neighbouring features form a pair: 0 and 1, 2 and 3.
#
# **From the lecture**: *Transformer*, STATS403, lecture 7, slides “positional embedding (encoding)”; Su et al., *RoFormer*, 2021.

# %% [markdown]
# **Exercise** (25 minutes). Rotate each row of `x` by its own position. Positions need not be 0, 1, 2, …: a model that generates text has one new query at a time, such as position 57.
#
# <details><summary>Hint 1</summary>Compute the angles first: (length, pairs), from <code>positions[:, None]</code> and the frequencies. They broadcast against x with any leading dimensions.</details>
# <details><summary>Hint 2</summary><code>x[..., 0::2]</code> holds the first feature of each pair, <code>x[..., 1::2]</code> the second. Each new feature needs both old ones. To interleave the results, stack them along a new last axis and flatten the last two axes.</details>
# <details><summary>Hint 3</summary>float64 in, float64 accuracy out: <code>torch.arange(…, dtype=x.dtype)</code> computes the frequencies in the dtype of x.</details>


# %% exercise rotary_embedding
def rotary_embedding(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """Rotate each pair of features (2i, 2i + 1) by the angle position · base^(-2i / d).

    x (…, length, d); positions (length,): integers, the position of each row of x.
    Returns the shape and dtype of x; float64 in gives float64 accuracy.
    An odd d raises a ValueError that names it.
    """
    # BEGIN SOLUTION
    width = x.shape[-1]
    if width % 2:
        raise ValueError(f"features are rotated in pairs, so d must be even; got {width}")
    frequencies = base ** (-torch.arange(0, width, 2, dtype=x.dtype) / width)
    angles = positions[:, None] * frequencies  # (length, pairs)
    even, odd = x[..., 0::2], x[..., 1::2]
    rotated = even * angles.cos() - odd * angles.sin(), even * angles.sin() + odd * angles.cos()
    return torch.stack(rotated, dim=-1).flatten(-2)
    # END SOLUTION


# %% check rotary_embedding points=2
hint = "new even = even · cos - odd · sin; new odd = even · sin + odd · cos; then interleave them"
with Check("rotary_embedding", "an example you can compute by hand", hint) as check:
    x = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 5.0], [0.0, 5.0]], dtype=torch.float64)
    turned = check.call(x, torch.tensor([0, 1, 2, 0]))
    check.shape(turned, length=4, d=2)
    check.equal(
        turned,
        torch.tensor(
            [
                [1.0, 0.0],
                [math.cos(1), math.sin(1)],
                [-5 * math.sin(2), 5 * math.cos(2)],
                [0.0, 5.0],
            ],
            dtype=torch.float64,
        ),
        "[1, 0] does not change at position 0 and becomes [cos 1, sin 1] at position 1; [0, 5] at "
        "position 2 becomes [-5 sin 2, 5 cos 2]",
    )
with Check("rotary_embedding", "two pairs, and positions in any order", hint) as check:
    # base 400 and width 4: the frequencies are 1 and 1/20
    x = torch.tensor([[1.0, 0.0, 0.0, 2.0], [1.0, 0.0, 3.0, 0.0]], dtype=torch.float64)
    turned = check.call(x, torch.tensor([7, 2]), base=400.0)
    check.shape(turned, length=2, d=4)
    expected = [
        [math.cos(7), math.sin(7), -2 * math.sin(0.35), 2 * math.cos(0.35)],
        [math.cos(2), math.sin(2), 3 * math.cos(0.1), 3 * math.sin(0.1)],
    ]
    check.equal(
        turned,
        torch.tensor(expected, dtype=torch.float64),
        "features 0 and 1 rotate by the position, features 2 and 3 by a twentieth of it; the "
        "first row is at position 7, the second at position 2",
    )
with Check("rotary_embedding", "a batch with heads, and what a score depends on", hint) as check:
    x, at = numbers(2, 3, 4, 6).requires_grad_(), torch.tensor([0, 1, 2, 3])
    turned, moved = check.call(x, at), check.call(x, at + 5000)
    check.shape(turned, batch=2, heads=3, length=4, d=6)
    check.equal(turned.norm(dim=-1), x.norm(dim=-1), "a rotation changes no length")
    check.equal(
        moved @ moved.transpose(-2, -1),
        turned @ turned.transpose(-2, -1),
        "all positions moved by 5000: no dot product changes",
        hint="the angle of a row is its position times the frequency: twice the position, twice the angle",
    )
    check.true(
        not torch.allclose(turned @ turned.transpose(-2, -1), x @ x.transpose(-2, -1)),
        "the dot products of different positions differ from those without rotation",
    )
    check.equal(
        check.gradient(turned.square(), x),
        2 * x.detach(),
        "the gradient of the sum of squares is 2 x, because no length changes",
        hint="compute every step with torch operations on x itself",
    )
    narrow = check.call(x.detach().float(), at)
    check.equal(narrow, turned.detach().float(), "float32 in, float32 out", within=1e-4)
with Check("rotary_embedding", "as many heads as tokens, and many features", hint) as check:
    x = numbers(2, 3, 3, 4)  # (batch, heads, length, d)
    alone = check.call(x[:, :, 2:], torch.tensor([8]))
    check.equal(
        check.call(x, torch.tensor([5, 0, 8]))[:, :, 2:],
        alone,
        "three heads of three tokens: the last token of each head is at position 8",
        hint="positions go along the length, the second axis from the end",
    )
    x, at = numbers(2, 64), torch.tensor([3, 9])
    precise = check.call(x, at)
    check.equal(
        check.call(x.float(), at),
        precise.float(),
        "64 features in float32: the same rotation as in float64",
        hint="divide the exponent by d before you take the power",
        within=1e-4,
    )
# BEGIN HIDDEN TESTS
with Check("rotary_embedding", "equal to the product of complex numbers") as check:
    for shape, root, at in (
        ((5, 8), 10000.0, [0, 1, 2, 3, 4]),
        ((5, 8), 10000.0, [3000, 12, 12, 0, 5001]),
        ((2, 4, 2), 10000.0, [4, 3, 2, 1]),
        ((3, 1, 10), 50.0, [77]),
        ((2, 4, 4, 6), 300.0, [9, 2, 5, 7]),
        ((2, 1, 3, 2, 4), 10.0, [1, 8]),
        ((6, 6, 6), 10000.0, [5, 6, 7, 8, 9, 10]),
        ((3, 64), 10000.0, [5, 0, 9]),
    ):
        x, places = numbers(*shape, seed=8, scale=2.0), torch.tensor(at)
        width = shape[-1]
        angle = places[:, None] * root ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
        spun = torch.view_as_complex(x.unflatten(-1, (-1, 2))) * torch.polar(
            torch.ones_like(angle), angle
        )
        expected = torch.view_as_real(spun).flatten(-2)
        check.equal(check.call(x, places, base=root), expected, "each pair rotated by its angle")
        if max(at) < 100:
            narrow = check.call(x.float(), places.int(), base=root)
            check.equal(narrow, expected.float(), "in float32", within=1e-4)
with Check("rotary_embedding", "views and gradients") as check:
    source = numbers(6, 5, 2, seed=9).requires_grad_()
    places = torch.tensor([2, 0, 7, 1, 1])
    turned = check.call(source.permute(2, 1, 0), places, base=20.0)
    slope = check.gradient(turned.square(), source)
    check.equal(slope, 2 * source.detach(), "a rotation changes no length")
    flat = numbers(5, 4, seed=10).requires_grad_()
    slope = check.gradient(check.call(flat, places)[:, 0], flat)
    zeros = torch.zeros(5, dtype=torch.float64)
    expected = torch.stack([places.double().cos(), -places.double().sin(), zeros, zeros], -1)
    check.equal(slope, expected, "the first feature comes from the first pair alone")
# END HIDDEN TESTS
# %% check rotary_embedding_odd points=1
with Check("rotary_embedding", "an odd width is refused") as check:
    # an odd length is allowed
    turned = check.call(numbers(2, 3, 4), torch.arange(3))
    check.shape(turned, batch=2, length=3, d=4)
    check.raises(numbers(2, 4, 7), torch.arange(4), naming=[7])
# BEGIN HIDDEN TESTS
with Check("rotary_embedding", "other odd widths, and odd lengths") as check:
    for odd_width in (1, 5):
        check.raises(numbers(4, odd_width), torch.arange(4), naming=[odd_width])
    check.shape(check.call(numbers(3, 5, 2), torch.arange(5)), batch=3, length=5, d=2)
# END HIDDEN TESTS

# %% [markdown]
# For a row `x` at position $p$, your rotation is `x @ shift_matrix(-p, d)`: the sign is reversed because section 3 stores the sine first. The scores need only that queries and keys turn the same way.
#
# Here your own function rotates four pairs. Move the position and see which dials turn fast and which hardly move.
#
# **Puzzle.** The first dial has frequency 1. At which position from 1 to 47 is it closest to its start? Why is it never exactly there?
#
# <details><summary>Show the answer</summary>At position 44, about 1° beyond seven full turns: 44 / 7 ≈ 2π, the old approximation 22/7 for π. It is never exactly at its start because no number of full turns is a whole number of radians: π is irrational.</details>

# %%
from transformer_course.widgets import show_rotary

title = "your rotary embedding: scores depend on the offset"
show_rotary(rotary_embedding, d_model=8, positions=48, title=title)

# %% [markdown]
# What to see: the dials turn with the frequencies of section 2. The two curves start from different positions and coincide: all positions hold the same vector here, so the dot product depends on the offset alone.
#
# **Predict.** Large models often compute in bfloat16, a 16-bit format with 8 significant bits. Which positions can a rotation in bfloat16 *not* tell apart?
#
# <details><summary>None: positions are whole numbers</summary>Only up to 256 is every whole number exact in bfloat16. Run the next cell.</details>
# <details><summary>Some neighbours beyond 256</summary>Yes. 257 needs nine significant bits, so it is rounded.</details>

# %%
print(torch.arange(254, 261).bfloat16().tolist())

# %% [markdown]
# What to see: 257 is rounded to 256, and 259 to 260. The angle of the first pair is then one radian off. If you followed Hint 3 of the exercise, your own function has this fault: the dtype of x keeps digits in float64 but loses them in bfloat16. So libraries compute angles in float32 at least, `torch.promote_types(x.dtype, torch.float32)`, and convert the result.
#
# In a model, RoPE is *inside* every attention layer, after the projections and before the scores. Queries and keys are rotated. Values are not: they carry content, and a rotation would make the same content look different at each position.

# %% [markdown]
# **Exercise** (5 minutes). Write attention with RoPE. PyTorch's `F.scaled_dot_product_attention` does everything except the rotation.
#
# <details><summary>Hint</summary>Two of the three inputs are rotated, with your own <code>rotary_embedding</code>.</details>


# %% exercise rotary_attention
def rotary_attention(
    query: Tensor, key: Tensor, value: Tensor, positions: Tensor, base: float = 10000.0
) -> Tensor:
    """Scaled dot-product attention with rotary positions; the output alone, without weights.

    The pairs and the angles are those of `rotary_embedding`.
    query, key (…, length, d_k), value (…, length, d_v); positions (length,), for queries and keys.
    Returns (…, length, d_v).
    """
    # BEGIN SOLUTION
    query = rotary_embedding(query, positions, base)
    key = rotary_embedding(key, positions, base)
    return F.scaled_dot_product_attention(query, key, value)
    # END SOLUTION


# %% check rotary_attention points=2
hint = "rotate query and key by the positions, leave the value as it is, then plain attention"
with Check("rotary_attention", "two tokens, computed by hand", hint) as check:
    # the queries and the first key are so long that a score is the cosine of the angle between
    # them; before the rotation, the second key is at a right angle to them, and twice as long
    query = torch.tensor([[2**0.25, 0.0], [2**0.25, 0.0]], dtype=torch.float64)
    key = torch.tensor([[2**0.25, 0.0], [0.0, 2 * 2**0.25]], dtype=torch.float64)
    value = torch.tensor(
        [[10.0, 0.0, 4.0, 0.0, 1.0, 0.0], [0.0, 10.0, 4.0, 5.0, 1.0, 0.0]], dtype=torch.float64
    )
    output = check.call(query, key, value, torch.tensor([4, 6]))
    check.shape(output, length=2, d_v=6)
    # the scores: 1 and -2 sin 2 = -1.82 for the first query, cos 2 = -0.42 and 0 for the second
    powers = [[math.e, math.exp(-2 * math.sin(2))], [math.exp(math.cos(2)), 1.0]]
    weights = [[one / sum(row) for one in row] for row in powers]
    check.equal(
        output,
        torch.tensor(
            [[10 * a, 10 * b, 4.0, 5 * b, 1.0, 0.0] for a, b in weights], dtype=torch.float64
        ),
        "at positions 4 and 6 the weights are 0.94 and 0.06 for the first query, 0.40 and 0.60 "
        "for the second, and the values are averaged without rotation",
    )
with Check("rotary_attention", "four features, and the base", hint) as check:
    # all vectors lie along feature 2; a score is the cosine of the angle between them
    x = torch.tensor([[0.0, 0.0, 2**0.5, 0.0]] * 2, dtype=torch.float64)
    value = torch.tensor([[10.0, 0.0, 4.0], [0.0, 10.0, 4.0]], dtype=torch.float64)
    near = math.e / (math.e + math.exp(math.cos(1)))
    by_hand = torch.tensor(
        [[10 * near, 10 - 10 * near, 4.0], [10 - 10 * near, 10 * near, 4.0]], dtype=torch.float64
    )
    check.equal(
        check.call(x, x, value, torch.tensor([0, 100])),
        by_hand,
        "with width 4 and no base given, features 2 and 3 rotate by a hundredth of the position",
        hint="as in rotary_embedding: neighbours form a pair, and the default of base is 10000",
    )
    check.equal(
        check.call(x, x, value, torch.tensor([0, 20]), base=400.0),
        by_hand,
        "with base 400 they rotate by a twentieth of the position, in queries and keys",
        hint="pass `base` on, for the queries and for the keys",
    )
with Check("rotary_attention", "a batch with heads", hint) as check:
    query, key, value = (
        numbers(2, 3, 4, 6),
        numbers(2, 3, 4, 6, seed=1),
        numbers(2, 3, 4, 8, seed=2),
    )
    output = check.call(query, key, value, torch.tensor([5, 5, 5, 5]))
    check.shape(output, batch=2, heads=3, length=4, d_v=8)
    check.equal(
        output,
        F.scaled_dot_product_attention(query, key, value),
        "all at the same position: the same as attention without positions",
        hint="queries and keys rotate by the same angle there, so their scores do not change",
    )
    at = torch.arange(4)
    output = check.call(query, key, value, at)
    check.equal(
        check.call(query, key, value, at + 9),
        output,
        "the whole sequence moved by 9 positions: nothing changes",
    )
    backwards = check.call(query, key, value, at.flip(0))
    check.true(
        not torch.allclose(backwards, output), "the output depends on the order of the positions"
    )
    other = check.call(query, key, value, at, base=10.0)
    check.true(
        not torch.allclose(other, output),
        "another base gives other angles, and so other outputs",
        hint="pass `base` on to rotary_embedding",
    )
# BEGIN HIDDEN TESTS
with Check("rotary_attention", "equal to attention on rotated queries and keys") as check:
    for shape, width, root, at in (
        ((5, 4), 4, 10000.0, [0, 1, 2, 3, 4]),
        ((3, 4, 6), 5, 10000.0, [7, 3, 11, 4]),
        ((2, 3, 4, 8), 2, 30.0, [0, 20, 5, 9]),
        ((2, 4, 2), 6, 100.0, [3, 1, 0, 2]),
    ):
        query, key = numbers(*shape, seed=11, scale=2.0), numbers(*shape, seed=12)
        value, places = numbers(*shape[:-1], width, seed=13), torch.tensor(at)
        speed = root ** (-torch.arange(0, shape[-1], 2, dtype=torch.float64) / shape[-1])
        angle = places[:, None] * speed
        turns = torch.polar(torch.ones_like(angle), angle)
        spun_query, spun_key = (
            torch.view_as_real(torch.view_as_complex(role.unflatten(-1, (-1, 2))) * turns)
            for role in (query, key)
        )
        expected = F.scaled_dot_product_attention(
            spun_query.flatten(-2), spun_key.flatten(-2), value
        )
        if root == 10000.0:  # the default
            output = check.call(query, key, value, places)
        else:
            output = check.call(query, key, value, places, base=root)
        check.equal(output, expected, "the output")
        narrow = check.call(query.float(), key.float(), value.float(), places, base=root)
        check.equal(narrow, expected.float(), "in float32", within=1e-3)
with Check("rotary_attention", "gradients to all three inputs") as check:
    query, key, value = (numbers(3, 4, seed=s).requires_grad_() for s in (14, 15, 16))
    output = check.call(query, key, value, torch.tensor([6, 6, 6]))
    expected = F.scaled_dot_product_attention(query, key, value)
    for role in (query, key, value):
        slope = check.gradient(output.square(), role)
        check.equal(slope, check.gradient(expected.square(), role), "as without positions")
# END HIDDEN TESTS

# %% [markdown]
# ### Bug hunt: two layouts
#
# Not all code forms the pairs as the paper does. Below are three versions with two ideas from well-known repositories. In the paper and in Meta's Llama code, neighbouring features form a pair. GPT-NeoX and the Llama of Hugging Face pair feature $i$ with feature $i + d/2$, the *half-split* layout.
#
# All three run, return the right shape, and agree at position 0. For width 2 they are identical. One of them is no rotation. Which line is at fault? Write your guess down, and do not run anything yet.


# %%
def pair_angles(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """Return the angle of each pair, for each row: (length, d / 2)."""
    last = x.shape[-1]
    return positions[:, None] * base ** (-torch.arange(0, last, 2, dtype=x.dtype) / last)


def version_a(x: Tensor, positions: Tensor) -> Tensor:
    angles = pair_angles(x, positions).repeat_interleave(2, -1)
    partner = torch.stack([-x[..., 1::2], x[..., 0::2]], -1).flatten(-2)
    return x * angles.cos() + partner * angles.sin()


def version_b(x: Tensor, positions: Tensor) -> Tensor:
    angles = pair_angles(x, positions).repeat_interleave(2, -1)
    first, second = x.chunk(2, -1)
    return x * angles.cos() + torch.cat([-second, first], -1) * angles.sin()


def version_c(x: Tensor, positions: Tensor) -> Tensor:
    angles = pair_angles(x, positions).repeat(1, 2)
    first, second = x.chunk(2, -1)
    return x * angles.cos() + torch.cat([-second, first], -1) * angles.sin()


# %% [markdown]
# **Exercise** (15 minutes). Now prove it. Write a *test* that gets any version as a function. It returns True if the version has all four properties in the docstring. Do not compare with your own `rotary_embedding`: another layout or other frequencies are allowed.
#
# <details><summary>Hint 1</summary>Choose x and the positions yourself. For x @ x.T of rotated rows: what should happen when all positions move by 7? And when they double? Compare with <code>torch.allclose</code>, in float64.</details>
# <details><summary>Hint 2</summary>With which width do all three versions agree? Take a larger one. To see whether each row uses its own position, leave out the first row and its position: the other rows should not change.</details>


# %% exercise test_of_rotation
def test_of_rotation(rotate: Callable[[Tensor, Tensor], Tensor]) -> bool:
    """Return whether `rotate` has the four properties of a rotary embedding.

    rotate(x, positions): x (length, d), even d, positions (length,) -> (length, d).
    1. Each row keeps its length. 2. Moving all positions by the same number of steps changes no
    dot product of two rows. 3. Other offsets do change dot products. 4. Each row is rotated by its
    own position, whatever other rows there are. Up to rounding in float64.
    """
    # BEGIN SOLUTION
    x, at = numbers(4, 6), torch.tensor([0, 11, 3, 6])
    turned, shifted, apart = rotate(x, at), rotate(x, at + 7), rotate(x, 2 * at)
    same_lengths = torch.allclose(turned.norm(dim=-1), x.norm(dim=-1))
    same_products = torch.allclose(shifted @ shifted.T, turned @ turned.T)
    other_products = not torch.allclose(apart @ apart.T, turned @ turned.T)
    own_positions = torch.allclose(rotate(x[1:], at[1:]), turned[1:])
    return same_lengths and same_products and other_products and own_positions
    # END SOLUTION


# %% check test_of_rotation points=3
hint = (
    "lengths, all positions moved alike, offsets changed, one row left out: each needs a test, "
    "with rows that have no zeros"
)


def version(halves=False, swapped=False, base=10000.0, turn=None, scale=None, minus=-1, seen=None):
    """Return rotate(x, positions) in either layout, with one part changed."""

    def rotate(x, positions):
        wide = x.shape[-1]
        at = positions.to(x.dtype) if seen is None else seen(positions.to(x.dtype))
        angles = at[:, None] * base ** (-torch.arange(0, wide, 2, dtype=x.dtype) / wide)
        angles = angles if turn is None else turn(angles)
        together = halves != swapped  # which of the two layouts the angles are made for
        angles = angles.repeat(1, 2) if together else angles.repeat_interleave(2, -1)
        if halves:
            first, second = x.chunk(2, -1)
            partner = torch.cat([minus * second, first], -1)
        else:
            partner = torch.stack([minus * x[..., 1::2], x[..., 0::2]], -1).flatten(-2)
        turned = x * angles.cos().to(x.dtype) + partner * angles.sin().to(x.dtype)
        return turned if scale is None else turned * scale(at)[:, None].to(x.dtype)

    return rotate


with Check("test_of_rotation", "versions that are right, and versions that are not", hint) as check:
    right = {
        version(): "your layout: neighbours form a pair",
        version(halves=True): "the half-split layout, with base 10000",
        version(base=50.0): "neighbours, with base 50",
        version(turn=lambda a: torch.cat([a[:, :1], 0 * a[:, 1:]], -1)): "one pair rotates, the "
        "others do not: GPT-NeoX too rotates only a part of its features",
        version(seen=lambda p: p + 5): "positions count from 5: the offsets are the same",
    }
    wrong = {
        version(halves=True, swapped=True): "pairs of one layout with the angles of the other",
        version(turn=lambda a: 0 * a): "nothing is rotated",
        version(turn=lambda a: 0 * a + 1): "all positions have the same angles",
        version(seen=lambda p: torch.arange(len(p)).double()): "the positions are ignored: rows "
        "count from 0, which goes wrong in generation, where the new query is one row at position 57",
        version(seen=lambda p: p - p[0]): "rows count from the first row's position: one row alone "
        "is never rotated",
        version(seen=lambda p: p - p.min()): "rows count from the smallest position: without the "
        "row that has it, the others change",
        version(seen=lambda p: p**2 / 8): "the angle grows with the square of the position",
        version(minus=1): "a minus sign is missing: rows change their lengths",
        version(scale=lambda p: 0 * p + 2): "all rows become twice as long",
        version(scale=lambda p: 1 + p / 10): "rows become longer with their position",
    }
    for rotate in (*right, *wrong):  # all answers together tell which mistake it is
        check.call(rotate, returns=bool)
    for rotate, told in right.items():
        check.true(check.call(rotate, returns=bool), f"should return True: {told}")
    for rotate, told in wrong.items():
        check.true(not check.call(rotate, returns=bool), f"should return False: {told}")
# BEGIN HIDDEN TESTS
with Check("test_of_rotation", "more versions that are right") as check:

    def one_row_at_a_time(x, positions):
        rows = []
        for row, p in zip(x, positions.tolist(), strict=True):
            blocks = []
            for i in range(len(row) // 2):
                b = p * 300.0 ** (-2 * i / len(row))
                block = [[math.cos(b), math.sin(b)], [-math.sin(b), math.cos(b)]]
                blocks.append(torch.tensor(block, dtype=x.dtype))
            rows.append(row @ torch.block_diag(*blocks))
        return torch.stack(rows)

    half_split = version(halves=True)

    def reversed_features(x, positions, rotate=half_split):
        return rotate(x.flip(-1), positions)

    def linear_frequencies(angles):
        return angles[:, :1] * torch.arange(1, angles.shape[1] + 1) / 10

    backwards = version(base=20.0, seen=lambda p: -p)
    linear = version(turn=linear_frequencies)

    for rotate in (one_row_at_a_time, backwards, reversed_features, linear):
        check.true(check.call(rotate, returns=bool), "should return True for a rotation")
with Check("test_of_rotation", "more versions that are wrong") as check:

    def plus_sinusoids(x, positions):
        angles = positions[:, None].double() * 10000.0 ** (
            -torch.arange(0, x.shape[-1], 2, dtype=torch.float64) / x.shape[-1]
        )
        return x + torch.stack([angles.sin(), angles.cos()], -1).flatten(-2).to(x.dtype)

    for rotate in (
        version(swapped=True),
        version(swapped=True, base=100.0),
        version(halves=True, turn=lambda a: 0 * a + 1),
        version(halves=True, seen=lambda p: torch.arange(len(p)).double()),
        version(halves=True, seen=lambda p: p[:1].expand(len(p))),
        version(halves=True, minus=1),
        version(seen=lambda p: (1 + p).log()),
        version(halves=True, scale=lambda p: 0 * p + 0.5),
        plus_sinusoids,
    ):
        check.true(not check.call(rotate, returns=bool), "should return False for this version")
# END HIDDEN TESTS

# %%
versions = {"a": version_a, "b": version_b, "c": version_c, "yours": rotary_embedding}
for name, candidate in versions.items():
    kept = candidate(numbers(1, 6), torch.tensor([3])).norm().item() / numbers(1, 6).norm().item()
    verdict = test_of_rotation(candidate)
    print(
        f"{name:5} your test says {verdict!s:5}   length of one row at position 3: {kept:.2f} times"
    )

# %% [markdown]
# What to see: version b fails. Its first line repeats each angle for neighbours, and its other lines pair feature $i$ with feature $i + d/2$. So the two features of a pair turn by *different* angles. Each half is right in its own repository: the fault is the mixture.
#
# **Predict.** Versions a and c are both right. A model was trained with version a. You run its weights with version c. What happens to the scores?
#
# <details><summary>Nothing, because both are rotations</summary>Each is a rotation, but of other pairs of features. The trained projections expect their own pairs.</details>
# <details><summary>They change, until the rows of the query and key projections are reordered</summary>Yes. Within each head, features 0, 2, 4, … go to the first half, features 1, 3, 5, … to the second. Then each pair gets its own angle again.</details>
# <details><summary>They change, and only training again helps</summary>Both layouts can compute the same scores. Only the order of the features differs.</details>

# %%
tokens, places = numbers(7, 5), torch.arange(7) + 20
w_query, w_key = numbers(5, 6, seed=1), numbers(5, 6, seed=2)  # used as x @ w: features are columns
order = torch.cat([torch.arange(0, 6, 2), torch.arange(1, 6, 2)])  # 0, 2, 4, 1, 3, 5
trained_scores = version_a(tokens @ w_query, places) @ version_a(tokens @ w_key, places).T
for title, columns in (("in the old order", torch.arange(6)), ("reordered", order)):
    scores = (
        version_c(tokens @ w_query[:, columns], places)
        @ version_c(tokens @ w_key[:, columns], places).T
    )
    difference = (scores - trained_scores).abs().max().item()
    print(f"version c, features {title:16}: largest difference of a score {difference:.0e}")

# %% [markdown]
# What to see: in the old order the scores are wrong, without any error. Reordered, they agree up to rounding. Hugging Face's script for Llama does this in `permute`, for queries and keys.

# %% [markdown]
# ## 7 · Which one fits your task?
#
# Which of your four ways is best? Compare them on two tasks with eight digits.
#
# - *Backwards*: reverse the sequence. Position 0 must output the digit of position 7, position 1 that of position 6.
# - *Two before*: output the digit two positions before.
#
# Two more models join the comparison. “None” has no positional encoding and is the baseline. The other uses a fixed bias: **ALiBi** (attention with linear biases) lowers a score by the same amount for each step of distance. It has no parameters.

# %%
tasks = {"Backwards": lambda digits: digits.flip(1), "Two before": lambda digits: digits.roll(2, 1)}
FIRST = {"Backwards": 0, "Two before": 2}  # "two before" exists from position 2 on
ways = ["none", "sinusoidal", "learned", "relative", "rotary", "ALiBi"]
example = torch.tensor([[3, 1, 4, 1, 5, 9, 2, 6]])
print("input      ", *example[0].tolist())
for task, answer in tasks.items():
    known = answer(example)[0].tolist()[FIRST[task] :]
    print(f"{task:11}", *["-"] * FIRST[task], *known)

# %% [markdown]
# All six use the same model, one layer of attention with one head. Relative, ALiBi and rotary change the attention itself. The two functions below make these changes. ALiBi is your `relative_bias` with a table that does not learn. Each step of distance costs 1/2, the slope of the first of eight heads in the paper (Press et al., 2022). The paper's models attend only to earlier tokens; here the bias falls in both directions.

# %%
ALIBI = -0.5 * torch.arange(-63, 64).abs()[:, None]  # offsets -63 … 63, one head


def score_bias(length: int, way: str, trained: Tensor) -> Tensor:
    """Return what is added to the scores, (1, length, length): zeros for most ways."""
    tables = {"relative": trained, "ALiBi": ALIBI}
    return relative_bias(length, length, tables.get(way, torch.zeros(1, 1)))


def rotated(x: Tensor, way: str, base: float, turning: Tensor) -> Tensor:
    """Rotate queries or keys if the way is rotary: the features where `turning` is True."""
    if way != "rotary":
        return x
    return torch.where(turning, rotary_embedding(x, torch.arange(x.shape[1]), base), x)


# %%
class Finder(nn.Module):
    """One layer of attention; it outputs ten logits for each position, one for each digit."""

    def __init__(self, way: str, width: int = 32) -> None:
        super().__init__()
        self.way, self.window = way, 63  # the window is used in section 8
        self.base = 10000.0  # used by "sinusoidal" and "rotary"
        self.turning = torch.ones(width, dtype=torch.bool)  # "rotary" rotates all features
        self.embedding = nn.Embedding(10, width)
        self.w_query, self.w_key, self.w_value = (nn.Linear(width, width) for _ in range(3))
        self.w_logits = nn.Linear(width, 10)
        self.positions = LearnedPositions(64, width)  # used by "learned" alone
        self.bias = nn.Parameter(torch.zeros(15, 1))  # offsets -7 … 7, used by "relative" alone

    def forward(self, digits: Tensor, read_weights: bool = False) -> Tensor:
        x, length = self.embedding(digits), digits.shape[1]
        if self.way == "sinusoidal":
            x = x + sinusoidal_encoding(length, x.shape[-1], self.base)
        if self.way == "learned":
            x = self.positions(x)
        query, key = (
            rotated(project(x), self.way, self.base, self.turning)
            for project in (self.w_query, self.w_key)
        )
        distance = (torch.arange(length) - torch.arange(length)[:, None]).abs()
        bias = score_bias(length, self.way, self.bias).masked_fill(
            distance > self.window, -math.inf
        )
        if read_weights:  # attention with the identity as values returns its weights
            return F.scaled_dot_product_attention(query, key, torch.eye(length)[None], bias)
        return self.w_logits(F.scaled_dot_product_attention(query, key, self.w_value(x), bias))


# %% [markdown]
# All models are trained alike: 200 steps at the same learning rate. For each seed, they start from the same weights and read the same digits.


# %%
torch.set_num_threads(1)  # fastest for models as small as these


def train(way: str, task: str, seed: int, base: float = 10000.0) -> Finder:
    torch.manual_seed(seed)
    finder, first = Finder(way), FIRST[task]
    finder.base = base
    optimizer = torch.optim.Adam(finder.parameters(), lr=0.01)
    for _ in range(200):
        digits = torch.randint(10, (64, 8))
        logits = finder(digits)[:, first:].flatten(0, 1)
        loss = F.cross_entropy(logits, tasks[task](digits)[:, first:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return finder


def correct(finder: Finder, task: str, length: int = 8) -> Tensor:
    """Return the accuracy at each position on 500 new sequences."""
    digits = torch.randint(10, (500, length), generator=torch.Generator().manual_seed(99))
    with torch.no_grad():
        hits = finder(digits).argmax(-1) == tasks[task](digits)
    return hits[:, FIRST[task] :].float().mean(0)


@functools.cache  # trains three models when a task and a way are first asked for, and keeps them
def finders(task: str, way: str, base: float = 10000.0) -> list[Finder]:
    return [train(way, task, seed, base) for seed in range(3)]


# %% [markdown]
# **Predict.** RoPE is used in most of today's language models. Does it solve both tasks?
#
# <details><summary>Yes: it is the most modern way</summary>An encoding is good or bad for a task. Which offset does position 0 need in Backwards? And position 5?</details>
# <details><summary>Only Two before</summary>Yes. Two before needs the offset −2 at every position. In Backwards, position 0 needs the offset +7 and position 5 the offset −3: a query must know its absolute position.</details>
# <details><summary>Only Backwards</summary>Backwards needs the absolute position. Section 6 showed that RoPE's scores do not contain it.</details>

# %%
# Trains 36 models: 2 tasks, 6 ways, 3 seeds
print(f"{'accuracy':12}" + "".join(f"{task:>22}" for task in tasks))
for way in ways:
    print(f"{way:12}", end="")
    for task in tasks:
        each = [correct(finder, task).mean().item() for finder in finders(task, way)]
        print(f"{f'{np.mean(each):.0%} ({min(each):.0%} to {max(each):.0%})':>22}", end="")
    print()

# %% [markdown]
# What to see: each entry is the mean of three seeds, with the range. Which encodings are enough depends on the task.
#
# - *Backwards* needs *absolute* positions. Sinusoidal and learned solve it; relative and rotary do not.
# - *Two before* needs a *relative* position. Relative and rotary solve it. Sinusoidal and learned do too, at this length.
# - None and ALiBi solve neither. Below you find out why ALiBi is even worse than none.
#
# A random guess among ten digits is right in 10 % of the cases. Without positions, the model reaches about a third.
#
# **Predict.** Which digit does it output in *Backwards*?
#
# <details><summary>The digit at the query's own position</summary>This digit is right only by chance, in 10 % of the cases.</details>
# <details><summary>Any digit of the sequence, at random</summary>That gives about 21 %: right in one of eight cases, and by chance in a tenth of the others.</details>
# <details><summary>The most frequent of all eight digits</summary>Close. The model can tell how often each digit occurs, but not where. One of the eight is never the one asked for, though. Which one?</details>
# <details><summary>The most frequent of the other seven digits</summary>Yes. No position is its own mirror, so the query's own digit is never the one asked for. The query knows this digit, so the model can leave it out of the count.</details>

# %%
digits = torch.randint(10, (500, 8), generator=torch.Generator().manual_seed(99))
own = F.one_hot(digits, 10)  # (sequence, query, digit): 1 at the query's own digit
counts = own.sum(1, keepdim=True)  # how often each digit occurs in the sequence
for rule, counted in {"all eight": counts.expand_as(own), "the other seven": counts - own}.items():
    most_frequent = counted == counted.amax(-1, keepdim=True)  # True for all digits that tie
    print(f"share of answers that are most frequent in {rule:15} (seeds 0 to 2):", end="")
    for finder in finders("Backwards", "none"):
        with torch.no_grad():
            answers = finder(digits).argmax(-1, keepdim=True)
        print(f"{most_frequent.gather(-1, answers).float().mean().item():8.1%}", end="")
    print()

# %% [markdown]
# What to see: for each of the three seeds, the rule with the other seven explains nearly all answers. So counting, without any positions, is right in about a third of the cases: the accuracy to beat.
#
# The maps below show two models that succeed. One attends mostly to the mirror position, the other to the offset −2. The rows start at query 2, the first that has an answer in both tasks.

# %%
labels = [str(p) for p in range(8)]
with torch.no_grad():
    reversing = finders("Backwards", "sinusoidal")[0](example, read_weights=True)[0]
    looking_back = finders("Two before", "rotary")[0](example, read_weights=True)[0]
figures.steps(
    {
        "Backwards, sinusoidal": (reversing[2:], "key", labels),
        "Two before, rotary": (looking_back[2:], "key", labels),
    },
    "query",
    labels[2:],
)

# %% [markdown]
# What to see: the right-hand model has what the lecture calls a *positional head*, one that attends mostly to one offset.
#
# **From the lecture**: *Introduction to Transformers*, CS60216, slide “Why Multi-head attention?”.
#
# One result needs an explanation. On Backwards, relative reaches more than none. Where does its information on absolute positions come from?
#
# **Predict.** At which positions is the relative model right?
#
# <details><summary>Equally often at all positions</summary>Then the extra accuracy would be spread evenly. See the curve below.</details>
# <details><summary>At both ends of the sequence</summary>Yes. Only position 0 has a key at offset +7, so a large bias for +7 finds position 7 from there. The ends give their positions away, the middle does not.</details>
# <details><summary>In the middle</summary>In the middle all near offsets exist, so positions look alike.</details>

# %%
by_position = {
    way: [correct(finder, "Backwards").tolist() for finder in finders("Backwards", way)]
    for way in ("none", "relative", "rotary", "ALiBi")
}
figures.curves(
    range(8),
    by_position,
    x="position",
    y="accuracy",
    title="Backwards, position by position (mean and range of 3 seeds)",
    bottom=0.0,
)

# %% [markdown]
# What to see: relative and rotary are always right at positions 0 and 7. At 1 and 6 relative reaches about 80 %. At 2 and 5 it is below none, at 3 and 4 about equal.
#
# **Predict.** Position 1 needs +5, and relative often finds it. Why is position 2 worse than in none?
#
# <details><summary>It has no key at the offset it needs</summary>It needs +3, and there is a key: position 5.</details>
# <details><summary>A bias for +5 misleads it</summary>Yes. Position 1 has no key at +7, so a bias that is larger for +5 than for all other offsets of its keys finds position 6. But position 2 also has a key at +5, and there it is the wrong one. The same should hold for −5 at positions 6 and 5.</details>
# <details><summary>It was trained less than position 1</summary>In Backwards, every position has an answer, so all were trained equally often.</details>
#
# Take the cause away: give +5 the learned bias of its neighbour, +4, and change nothing else.

# %%
for seed, finder in enumerate(finders("Backwards", "relative")):
    without = copy.deepcopy(finder)
    with torch.no_grad():
        without.bias[7 + 5] = finder.bias[7 + 4]
    for title, model in (("bias for +5 as learned", finder), ("bias for +5 as for +4", without)):
        _, first, second, *_ = correct(model, "Backwards").tolist()
        print(f"seed {seed}, {title:22}: position 1 {first:4.0%}, position 2 {second:4.0%}")

# %% [markdown]
# What to see: without its large bias for +5, the model gets more than twice as many digits right at position 2. Position 1, which needs this bias, now fails. One bias for an offset cannot be right for both.
#
# ALiBi is best in the middle, where the mirror position is near, and worst at the ends. Its bias is the only difference from none.
#
# The next figure shows ALiBi's bias and what relative *learned* for Two before. Offsets +6 and +7 are left out: they occur only at queries 0 and 1, which were not trained. Where do you expect each peak?

# %%
trained_offsets = range(-7, 6)
learned_bias = [
    [finder.bias[7 + offset, 0].item() for offset in trained_offsets]
    for finder in finders("Two before", "relative")
]
fixed_bias = [ALIBI[63 + offset, 0].item() for offset in trained_offsets]
figures.curves(
    trained_offsets,
    {"relative, learned (3 seeds)": learned_bias, "ALiBi, fixed": fixed_bias},
    x="offset: key − query",
    y="bias added to the score",
    title="Two before needs a peak at offset −2",
)

# %% [markdown]
# What to see: the learned bias peaks at offset −2. ALiBi's peaks at 0, whatever the slope, and −2 and +2 get the same bias: it prefers *near* tokens.
#
# **Predict.** Is ALiBi a poor choice for a language model?
#
# <details><summary>Yes: it solves neither task</summary>It was not designed for such tasks. In an autoregressive model, nothing lies to the right, and recent tokens often matter most.</details>
# <details><summary>These two tasks say little about that</summary>Yes. ALiBi was designed for autoregressive models, which attend only to earlier tokens, and for texts longer than in training. It also has several heads: of eight, the other seven have slopes gentler than 1/2.</details>
#
# An **inductive bias** is a preference that is built into a model before training. Choose the encoding whose inductive bias fits your task.

# %% [markdown]
# ### Change the positions after training (optional)
#
# Do the trained models still need their positions? Take them away: each copy below has the trained parameters, and its way is “none”.


# %%
def changed(task: str, way: str, /, **changes: str | float | Tensor) -> list[float]:
    """Return the accuracy of copies of the trained models, with some attributes changed."""
    measured = []
    for finder in finders(task, way):
        other = copy.deepcopy(finder)
        for name, value in changes.items():
            setattr(other, name, value)
        measured.append(correct(other, task).mean().item())
    return measured


print("accuracy on Two before (seeds 0 to 2)")
for way in ("sinusoidal", "learned", "relative", "rotary"):
    for title, used in (("with its positions", way), ("positions removed", "none")):
        print(f"{way:12}{title:20}", *(f"{a:5.0%}" for a in changed("Two before", way, way=used)))

# %% [markdown]
# What to see: all fall from 100 % to the level of a model without positions, or below. No other parameters could have stored the order: without positions, this layer is permutation equivariant.
#
# Now keep the positions, but change the *base* after training. This is what happens if a base is missing in a configuration file.
#
# **Predict.** Only sinusoidal and rotary use a base, and both were trained with 10000. Which of them still work with base 1000 or 100,000?
#
# <details><summary>None: all frequencies except the first are new</summary>They are new, but a model may have room for small changes. See the curve for rotary.</details>
# <details><summary>All: the positions can still be told apart</summary>They can. But the learned projections expect the vectors that they were trained with.</details>
# <details><summary>Rotary for certain, sinusoidal less so</summary>Yes, on Two before, the only one of the two tasks that rotary solves. See how far each line stays at the top.</details>

# %%
exponents = range(1, 8)  # of the bases 10, 100, …, 10,000,000
with_base = {
    f"{task}, {way}": np.transpose([changed(task, way, base=10.0**e) for e in exponents]).tolist()
    for task, way in (
        ("Two before", "rotary"),
        ("Two before", "sinusoidal"),
        ("Backwards", "sinusoidal"),
    )
}
figures.curves(
    exponents,
    with_base,
    x="base at test time, as a power of 10 (trained with 4)",
    y="accuracy",
    title="Another base after training (mean and range of 3 seeds)",
    bottom=0.0,
)

# %% [markdown]
# What to see: rotary stays near 100 % with every base. Sinusoidal loses accuracy on both sides, and on Backwards it needs nearly its own base.
#
# Is it the base itself, or the change? Train sinusoidal models with base 1,000,000 from the start.

# %%
late = changed("Two before", "sinusoidal", base=1e6)
from_start = finders("Two before", "sinusoidal", 1e6)  # trains three models
early = [correct(finder, "Two before").mean().item() for finder in from_start]
print("base changed after training:        ", *(f"{a:5.0%}" for a in late))
print("base 1,000,000 in training as well: ", *(f"{a:5.0%}" for a in early))

# %% [markdown]
# What to see: trained with this base from the start, sinusoidal models solve the task. So the base is not too large: what hurts is the change.
#
# Why does rotary not lose accuracy? Pair 0 has the frequency 1 with every base, and slower pairs change more. Do pairs 0 and 1 do the work? Rotate only them, then only the other fourteen.

# %%
fast = torch.arange(32) < 4  # features 0 to 3: the two pairs with the highest frequencies
for title, turning in (("only pairs 0 and 1 rotate", fast), ("all other pairs rotate", ~fast)):
    print(f"{title:26}", *(f"{a:5.0%}" for a in changed("Two before", "rotary", turning=turning)))

# %% [markdown]
# What to see: the two fast pairs alone are enough, and the fourteen slow ones alone are not. So a larger base, which mainly slows the slow pairs further, does little harm here. A smaller one speeds them up: this test leaves that open. That is a fact about an offset of 2 in eight tokens. Far offsets may need the slow pairs too, so do not conclude that RoPE's base can be changed freely.

# %% [markdown]
# ## 8 · Longer than in training
#
# All models were trained on 8 digits. To **extrapolate** is to work outside the range seen in training. A model with **length generalisation** works on longer sequences than those in training.
#
# How new is the sinusoidal encoding of position 20?

# %%
encoding = sinusoidal_encoding(21, 32)
step = (encoding[1] - encoding[0]).norm().item()
nearest = (encoding[20] - encoding[:8]).norm(dim=1).min().item()
print(f"distance between neighbouring positions:         {step:.2f}")
print(f"distance from position 20 to the nearest of 0-7: {nearest:.2f}")

# %% [markdown]
# What to see: the nearest trained position is 3.14 away, while neighbouring positions are only 1.17 apart. So the encoding of position 20 is new to the model.
#
# The authors of the sinusoidal encoding chose it because “it may allow the model to extrapolate to sequence lengths longer than the ones encountered during training”.
#
# The next cell scores only the last 6 digits. As in training, each of them has at least 2 digits before it and at most 5 after it. New are the positions and the many digits far to the left.
#
# **Predict.** Four of the encodings solve Two before on 8 digits. Which of them still reach an accuracy above 80 % on 24 digits?
#
# <details><summary>All except learned</summary>The quotation suggests it. See what happens to sinusoidal.</details>
# <details><summary>Sinusoidal alone</summary>Its values are defined at any position, but the model has learned to use them at 8 positions only.</details>
# <details><summary>Relative and rotary</summary>Yes. To them, the offset −2 at position 20 is the same as at position 5.</details>

# %%
lengths = [8, 12, 16, 24, 32, 64]
solvers = ("sinusoidal", "learned", "relative", "rotary")


def over_lengths(window: int) -> dict[str, list[list[float]]]:
    """Return the accuracy on the last six digits for each length, for each way and seed."""
    measured = {}
    for way in solvers:
        measured[way] = []
        for finder in finders("Two before", way):
            finder.window = window
            scored = [correct(finder, "Two before", n)[-6:].mean().item() for n in lengths]
            measured[way].append(scored)
    return measured


def draw(measured: dict[str, list[list[float]]], title: str, legend_columns: int = 2) -> None:
    x, y = "digits in a sequence (trained on 8)", "accuracy on the last 6 digits"
    figures.curves(lengths, measured, x, y, title, bottom=0.0, legend_columns=legend_columns)


draw(over_lengths(63), "Two before, on longer sequences (mean and range of 3 seeds)")

# %% [markdown]
# What to see: at 8 digits all four are right.
#
# - *Learned* falls to a random guess, about 10 %: rows beyond position 7 were never trained. At 12 digits it reaches about 40 %: two of the six scored positions, 6 and 7, were trained.
# - *Sinusoidal* also falls at once. Section 3 found a matrix that works everywhere; training on 8 positions did not.
# - *Relative* declines slowly from 16 digits on. *Rotary* stays near 100 % up to 32 digits. At 64 it has lost much, and seeds differ widely.
#
# Why do these two lose accuracy? Perhaps each far digit takes a little weight. Then what changes when you mask all keys more than 7 positions away?

# %%
draw(over_lengths(7), "The same models, with a window of ±7 positions (3 seeds)", legend_columns=4)

# %% [markdown]
# What to see: nothing else has changed, and relative and rotary are right at all lengths again. So the far digits are the cause. For relative, it is their number: all far digits lie to the left of the scored ones and share the trained row for −7. For rotary, the far offsets are also new, and this test does not separate the two causes.
#
# Beyond 8 digits, sinusoidal and learned stay below 100 %: the positions are new. Sinusoidal partly recovers at some lengths; this experiment does not show why.

# %% [markdown]
# ## 9 · Compare with independent code
#
# Each cell compares your functions with code that does not use them.

# %%
# The formula, in NumPy
formula = np.zeros((100, 64))
for p in range(100):
    for i in range(32):
        theta = p / 10000 ** (2 * i / 64)
        formula[p, 2 * i : 2 * i + 2] = np.sin(theta), np.cos(theta)
difference = np.abs(sinusoidal_encoding(100, 64).numpy() - formula).max()
print(f"sinusoidal, against NumPy: largest difference {difference:.0e} (float32)")

# %%
# One complex number per pair, times e^(iθ), as in Llama's code
queries, ten = numbers(2, 4, 10, 64), torch.arange(10)
theta = ten[:, None] / 10000 ** (torch.arange(32, dtype=torch.float64) / 32)
as_complex = torch.complex(queries[..., 0::2].contiguous(), queries[..., 1::2].contiguous())
spun = torch.view_as_real(as_complex * torch.exp(1j * theta)).reshape(queries.shape)
difference = (rotary_embedding(queries, ten) - spun).abs().max().item()
print(f"RoPE, against complex numbers: largest difference {difference:.0e}")

near, moved = (rotary_embedding(queries, ten + start) for start in (0, 1000))
difference = (near @ near.mT - moved @ moved.mT).abs().max().item()
print(f"RoPE, all positions moved by 1000: largest difference of the scores {difference:.0e}")

# %%
# One bias at a time, and the softmax written out; PyTorch adds a float attn_mask to the scores
biases = numbers(7, 4, seed=1)  # max_distance is 3, and there are four heads
one_by_one = torch.zeros(4, 10, 10, dtype=torch.float64)
for q in range(10):
    for k in range(10):
        one_by_one[:, q, k] = biases[min(max(k - q, -3), 3) + 3]
written_out = torch.softmax(queries @ queries.mT / 64**0.5 + one_by_one, -1) @ queries
by_pytorch = F.scaled_dot_product_attention(
    queries, queries, queries, attn_mask=relative_bias(10, 10, biases)
)
difference = (written_out - by_pytorch).abs().max().item()
print(f"relative bias, as PyTorch's attn_mask: largest difference {difference:.0e}")

# %% [markdown]
# What to see: all differences are rounding. They are below 1e-5 in float32 and below 1e-10 in float64, where large angles lose a few digits.

# %% [markdown]
# ## 10 · In your own words
#
# **Question** (10 minutes). A fellow student says: “Sines and cosines tell a model only the absolute position of each token. They contain nothing about how far apart two tokens are. For that you need RoPE.” What is right, what is wrong, and what does RoPE do better? Double-click the cell below and write three or four sentences. A person reads them.

# %% answer only_places [markdown] points=2
# <!-- BEGIN SOLUTION -->
# Right: what is added encodes the absolute position. Wrong: the dot product of two encodings is a sum of cosines of (m − n) ω, which depends on the offset alone, and one matrix, the same for all positions, moves an encoding by k steps. So a learned projection can ask for "three tokens before me". But the encoding is mixed with the embedding, and the scores also contain products of content with position, which the model must learn to separate and which it has only seen at the positions of its training. RoPE rotates queries and keys, so each score depends on the offset by construction; nothing is added to the embeddings, and the values stay as they are.
# <!-- END SOLUTION -->


# %% [markdown]
# ## Where you stand

# %%
from transformer_course.progress import show_progress

show_progress("06_positional_encodings")

# %% [markdown]
# - Attention without a mask is permutation equivariant: reorder the tokens, and the outputs are reordered with them.
# - *Sinusoidal*: sine and cosine pairs of different frequencies, added to the embeddings. Their dot product depends on the offset, and one matrix moves every position by $k$.
# - The base is not a maximum length. Together with the width, it sets the wavelengths: in a wide encoding, the longest is almost $2\pi \cdot 10000$ positions.
# - *Learned*: a vector for each absolute position; it ends at `max_length`.
# - *Relative bias*: a parameter for each offset and head, added to the scores. In ALiBi this bias is fixed, not learned.
# - *RoPE* rotates queries and keys, never values. A score depends on the contents and on the offset. The features can be paired in two layouts; weights fit the layout that they were trained with, unless their rows are reordered.

# %% [markdown]
# And from the measurements, which cover one layer and two tasks and are no ranking:
#
# - Which encodings are enough depends on the task: at the training length, absolute positions solved both tasks, the learned relative bias and RoPE only *Two before*, and ALiBi neither.
# - Beyond the training length, relative and rotary kept *Two before* far longer than sinusoidal and learned. Do not conclude that language models with RoPE extrapolate: far beyond their training length they usually fail. There, slow pairs reach angles never seen in training, so RoPE is often rescaled for long texts.
#
# **The question that is left.** You now have attention, heads, masks, norms, residual connections, dropout and positions. How do they combine into one block, in which order, and how deep can you stack it? That is lesson 7, the encoder.
