# %% [markdown]
# # Lesson 6 · Positional encodings
#
# **You build** four ways to tell a model where a word stands: clocks that are added to it, a table that is learned, a bias for every distance, and a rotation of queries and keys.
#
# **You need** attention from lessons 1 to 3 (queries, keys, values, heads, scores) and the sine and cosine of an angle, in radians.
#
# **You take away** `sinusoidal_encoding`, `LearnedPositions`, `relative_bias`, `rotary_embedding`, and a measurement of what each is worth on rows longer than all that a model has seen.
#
# **Time**: about 90 minutes.

# %% [markdown]
# **How to work**, as before: read, predict, run, cell by cell. Nothing from other lessons is imported: this notebook runs alone.

# %% [markdown]
# ## 1 · A sentence in a bag
#
# You have attention, heads, norms and dropout. Put them together, and the model that comes out has a strange gap: it cannot tell *dog bites man* from *man bites dog*. Where in attention would it? Scores compare two words, softmax and the sum take all words alike. Nothing in there knows which word came first.
#
# Here is PyTorch's own attention, on both sentences.

# %% given imports
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformer_course import figures
from transformer_course.checks import Check, numbers

# %% [markdown]
# **Predict.** What becomes of the vector of *dog*, when *dog bites man* turns into *man bites dog*?
#
# <details><summary>It is another vector</summary>What would make it another one? Its query is the same, the three keys and values are the same, and a sum does not mind the order.</details>
# <details><summary>It is the same vector, in another row</summary>Yes. Attention moves the rows along with their words, and changes no number.</details>
# <details><summary>It gets the vector that man had</summary>Then the place would decide what a word becomes. It is the other way round: the word decides, and the place counts for nothing.</details>

# %%
vector_of = dict(zip(["dog", "bites", "man"], numbers(3, 4, dtype=torch.float32), strict=True))
torch.manual_seed(0)
block = nn.MultiheadAttention(4, num_heads=2, batch_first=True)


def read(sentence: list[str], places: Tensor | float = 0.0) -> dict[str, Tensor]:
    """What attention makes of each word; `places` is added to the words."""
    words = torch.stack([vector_of[word] for word in sentence]) + places
    with torch.no_grad():
        result, _ = block(words[None], words[None], words[None])
    return dict(zip(sentence, result[0], strict=True))


def compare(places: Tensor | float = 0.0) -> None:
    """Both sentences, word by word."""
    tables = {}
    for sentence in (["dog", "bites", "man"], ["man", "bites", "dog"]):
        became = read(sentence, places)
        rows = torch.stack([became[word] for word in vector_of])
        tables[" ".join(sentence)] = (rows, "feature", ["0", "1", "2", "3"])
    figures.steps(tables, "word", list(vector_of))
    first, second = (rows for rows, *_ in tables.values())
    print(f"largest difference between the two: {(first - second).abs().max().item():.3f}")


compare()

# %% [markdown]
# What to see: the same numbers on both sides. Whatever order you give the words, each becomes what it was: attention is **equivariant** to permutations. For a set of things that is right. A sentence is no set. (Lesson 2's causal mask treats places differently, and so lets a little of the order through. Models that write are told their places all the same.)
#
# The repair is simple in principle: tell the model where each word stands. The art is **how**. This lesson builds four ways; all of them run in models of today.

# %% [markdown]
# ## 2 · How to write a place into a vector
#
# The first way is that of the first Transformer: make a vector for each place, as wide as a word, and **add** it to the word that stands there. Which vector?
#
# **Predict.** Why not simply add the number of the place, 0, 1, 2, …, 500, to every feature?
#
# <details><summary>It would tell places apart, so it is fine</summary>It would, and drown everything else: features lie around 1, and word 500 would be 500 plus a little meaning.</details>
# <details><summary>Large places would drown the word</summary>Yes. And a text longer than those in training would bring numbers that the model has never met.</details>
# <details><summary>One could divide by the length: 0 to 1</summary>Better in size. But then one step means 1/10 in a short text and 1/500 in a long one, and “the word before” looks different in each.</details>

# %% [markdown]
# So you want numbers of bounded size, that tell all places apart, and in which one step is one step everywhere. You know such a thing: the digits of a counter. Write the place in binary. The last digit changes at every step, the one before at every second, the next at every fourth. Each digit is small, and all together they are the place.
#
# Bits jump. Networks like what is smooth: so let each column be a **wave** in place of a bit. Fast waves tell neighbours apart, slow ones tell near from far.

# %%
eight = range(8)
bits = [[float(place >> bit & 1) for bit in (2, 1, 0)] for place in eight]
waves = [[(1 - math.cos(math.pi * place / 2**bit)) / 2 for bit in (2, 1, 0)] for place in eight]
figures.steps(
    {
        "place in binary": (bits, "changes every … steps", ["4", "2", "1"]),
        "the same as waves": (waves, "half a wave is … steps", ["4", "2", "1"]),
    },
    "place",
    [str(place) for place in eight],
)

# %% [markdown]
# One wave alone is ambiguous: it takes the same value when it rises and when it falls. So each speed gets **two** columns, a sine and a cosine. Together they are the hand of a clock: one direction for each angle. A place is read from $d_{\text{model}}/2$ clocks, as the time is read from hands that turn at different speeds.
#
# With $p$ the place, $i = 0, 1, 2, \dots$ the number of the clock, and $\omega_i$ its speed (the angle, in radians, by which its hand turns in one step):
#
# $$\mathrm{PE}_{p,\,2i} = \sin(p\,\omega_i) \qquad \mathrm{PE}_{p,\,2i+1} = \cos(p\,\omega_i) \qquad \omega_i = \frac{1}{10000^{2i/d_{\text{model}}}}$$
#
# (Vaswani et al., *Attention Is All You Need*, 2017, section 3.5.) The first clock turns by 1 radian a step. Each next one is slower by the same factor, and in a wide encoding the last is almost 10000 times slower than the first. The 10000 is called the **base**.
#
# **Predict.** How many different speeds does an encoding of width $d_{\text{model}} = 8$ have?
#
# <details><summary>8, one for each column</summary>Two columns share a speed: column 2i and column 2i + 1 are the two coordinates of one hand.</details>
# <details><summary>4, one for each pair of columns</summary>Yes: 1, 1/10, 1/100, 1/1000. Columns 0 and 1 have the first, columns 2 and 3 the second, and so on.</details>
# <details><summary>2, one for sines and one for cosines</summary>Sine and cosine are not speeds. Each clock needs both.</details>

# %% [markdown]
# **Exercise** (15 minutes). Write the encoding. Columns come in pairs, so an odd width is an error, and a good function says so at once.
#
# <details><summary>Hint 1</summary><code>torch.arange(0, d_model, 2)</code> holds the exponents' 2i, one for each pair. From them come the speeds; with the places as a column, <code>[:, None]</code>, all angles at once: (length, pairs).</details>
# <details><summary>Hint 2</summary>Sines into the even columns, cosines into the odd ones: fill <code>table[:, 0::2]</code> and <code>table[:, 1::2]</code> of an empty table, or stack both along a new last axis and flatten it.</details>


# %% exercise sinusoidal_encoding
def sinusoidal_encoding(length: int, d_model: int, base: float = 10000.0) -> Tensor:
    """Make the encoding of the places 0 … length - 1, one in each row: (length, d_model).

    Row p: sin(p ω_i) in column 2i and cos(p ω_i) in column 2i + 1, with ω_i = base^(-2i / d_model).
    In torch's default dtype. An odd d_model: a ValueError that names it.
    """
    # BEGIN SOLUTION
    if d_model % 2:
        raise ValueError(f"d_model must be even: sines and cosines come in pairs; got {d_model}")
    speeds = base ** (-torch.arange(0, d_model, 2) / d_model)  # one for each pair
    angles = torch.arange(length)[:, None] * speeds  # (length, pairs)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)
    # END SOLUTION


# %% check sinusoidal_encoding points=2
hint = "angle = place times speed; its sine goes into column 2i, its cosine into column 2i + 1"
with Check("sinusoidal_encoding", "an example you can do by hand", hint) as check:
    # base 1000 and width 6: three pairs, with the speeds 1, 1/10 and 1/100
    encoding = check.call(4, 6, base=1000.0)
    check.shape(encoding, length=4, d_model=6)
    check.equal(
        encoding[0],
        torch.tensor([0.0, 1.0, 0.0, 1.0, 0.0, 1.0]),
        "place 0 is [0, 1, 0, 1, 0, 1]: sin 0 and cos 0, side by side for each speed",
        within=1e-5,
    )
    by_hand = [
        [wave(turned_by) for turned_by in hands for wave in (math.sin, math.cos)]
        for hands in ((0.0, 0.0, 0.0), (1.0, 0.1, 0.01), (2.0, 0.2, 0.02), (3.0, 0.3, 0.03))
    ]
    check.equal(
        encoding,
        torch.tensor(by_hand),
        "with base 1000 and width 6 the speeds are 1, 0.1 and 0.01: place 2 has the angles 2, 0.2 "
        "and 0.02",
        within=1e-5,
    )
    check.true(
        encoding.dtype == torch.get_default_dtype(),
        "the encoding comes in torch's default dtype, which is float32 here",
        hint="a NumPy array, or a dtype that you name, brings another",
    )
with Check("sinusoidal_encoding", "the usual base, and more columns", hint) as check:
    encoding = check.call(2, 8)
    check.shape(encoding, length=2, d_model=8)
    by_hand = [(math.sin(speed), math.cos(speed)) for speed in (1, 0.1, 0.01, 0.001)]
    check.equal(
        encoding[1],
        torch.tensor(by_hand).flatten(),
        "with base 10000 and width 8 the angles of place 1 are 1, 0.1, 0.01 and 0.001",
        hint="speed i is base to the power of -2i / d_model: from one pair to the next it falls "
        "by the same factor",
        within=1e-5,
    )
    many = check.call(9, 6)
    check.shape(many, length=9, d_model=6)
    check.equal(
        many.square().sum(-1),
        torch.full((9,), 3.0),
        "sin² + cos² = 1 for each of the three pairs: every row has the square length 3",
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
with Check("sinusoidal_encoding", "places beyond the base") as check:
    encoding = check.call(12001, 4)
    angle = torch.tensor([12000.0, 120.0], dtype=torch.float64)
    expected = torch.stack([angle.sin(), angle.cos()], -1).flatten().float()
    check.equal(encoding[-1], expected, "place 12000", within=5e-3)
# END HIDDEN TESTS

# %% check sinusoidal_encoding_odd points=1
with Check("sinusoidal_encoding", "an odd width is refused") as check:
    check.raises(4, 7, naming=[7])
    check.shape(check.call(4, 6), length=4, d_model=6)
# BEGIN HIDDEN TESTS
with Check("sinusoidal_encoding", "other odd widths, and an even one") as check:
    for odd_width in (1, 33):
        check.raises(6, odd_width, naming=[odd_width])
    check.shape(check.call(5, 2), length=5, d_model=2)
# END HIDDEN TESTS


# %% [markdown]
# Look at your own encoding. Each row is a place, each column a wave. Move the sliders: first the base, then the width.

# %%
from transformer_course.widgets import show_encoding

show_encoding(sinusoidal_encoding, title="your sinusoidal encoding")

# %% [markdown]
# What to see: on the left fast waves, on the right columns that hardly change over the whole text. A small base makes the slow clocks faster. Make it too small, and all clocks come round again after a few steps. The curve beside it is the dot product of one place with all others: highest at the place itself, and falling, in waves, to both sides.
#
# And now the bag. Add your encoding to the words:

# %%
compare(sinusoidal_encoding(3, 4))

# %% [markdown]
# What to see: *dog* in front is no longer *dog* at the end. The same attention, the same words, and two different sentences.

# %% [markdown]
# ## 3 · One step is one matrix
#
# Any vectors that differ would tell places apart, random ones too. What is special about clocks? Ask what attention asks: how alike are two places? Use that $\sin a \sin b + \cos a \cos b = \cos(a - b)$, once for each pair:
#
# $$\mathrm{PE}_p \cdot \mathrm{PE}_q = \sum_i \cos\big((p - q)\,\omega_i\big)$$
#
# The places themselves are gone: only the **distance** $p - q$ is left. So every place meets its neighbours in the same way, at the beginning of a text and at its end.
#
# More is true. The clock hands of place $p + k$ are those of place $p$, turned by $k$ steps. To turn is to multiply by a matrix, and this matrix depends on $k$ alone. For one pair, with $b = k\,\omega_i$, the addition theorems say
#
# $$\sin(a + b) = \sin a \cos b + \cos a \sin b \qquad \cos(a + b) = \cos a \cos b - \sin a \sin b$$
#
# A learned matrix in front of the queries can be such a matrix. Then a query looks for “the word three places before me”, whatever its own place is.

# %% [markdown]
# **Predict.** $\mathrm{PE}_p$ is a row, (1, $d_{\text{model}}$), and the matrix $M_k$ stands on its right: $\mathrm{PE}_{p+k} = \mathrm{PE}_p\, M_k$. What is $M_k$ for one pair, $[\sin a, \cos a]$?
#
# <details><summary>[[cos b, sin b], [−sin b, cos b]]</summary>Multiply it out: the first column gives sin a cos b − cos a sin b, which is sin(a − b). This one turns backwards.</details>
# <details><summary>[[cos b, −sin b], [sin b, cos b]]</summary>Yes: the first column gives sin a cos b + cos a sin b = sin(a + b), the second cos a cos b − sin a sin b = cos(a + b).</details>
# <details><summary>It depends on a</summary>Look at the theorems: a stands in the row only, b in the matrix only. That is what makes it useful.</details>

# %% [markdown]
# **Exercise** (10 minutes). Write the matrix for all pairs. No pair takes in anything of another pair, so outside the little 2 × 2 blocks on the diagonal it is 0.
#
# <details><summary>Hint</summary>Either make the 2 × 2 block of each pair and put them together with <code>torch.block_diag(*blocks)</code>, or fill a matrix of zeros: <code>matrix[2 * i, 2 * i]</code> is the upper left corner of block i.</details>


# %% exercise shift_matrix
def shift_matrix(offset: int, d_model: int, base: float = 10000.0) -> Tensor:
    """Make the matrix that moves every place by `offset` steps: (d_model, d_model).

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
hint = "one block [[cos b, -sin b], [sin b, cos b]] for each pair, with b = offset times its speed"
with Check("shift_matrix", "one pair, one step", hint) as check:
    matrix = check.call(1, 2)
    check.shape(matrix, d_model=2, d_models=2)
    check.equal(
        torch.tensor([0.0, 1.0]) @ matrix.float(),
        torch.tensor([math.sin(1), math.cos(1)]),
        "place 0 is [0, 1], and [0, 1] @ matrix is place 1: [sin 1, cos 1]",
        within=1e-5,
    )
    check.equal(
        torch.tensor([math.sin(1), math.cos(1)]) @ matrix.float(),
        torch.tensor([math.sin(2), math.cos(2)]),
        "the same matrix takes place 1 to place 2: [sin 2, cos 2]",
        within=1e-5,
    )
    check.true(
        matrix.dtype == torch.get_default_dtype(),
        "the matrix comes in torch's default dtype, which is float32 here",
        hint="a NumPy array, or a dtype that you name, brings another",
    )
with Check("shift_matrix", "two pairs, two speeds", hint) as check:
    # base 400 and width 4: the speeds are 1 and 1/20
    matrix = check.call(3, 4, base=400.0)
    check.shape(matrix, d_model=4, d_models=4)
    off_blocks = matrix.clone()
    off_blocks[:2, :2] = off_blocks[2:, 2:] = 0
    check.equal(off_blocks, torch.zeros(4, 4), "no pair takes in anything of the other", hint)
    places = torch.tensor(
        [
            [math.sin(2), math.cos(2), math.sin(0.1), math.cos(0.1)],
            [math.sin(5), math.cos(5), math.sin(0.25), math.cos(0.25)],
        ]
    )
    check.equal(
        places[0] @ matrix.float(),
        places[1],
        "with offset 3 it takes place 2, of angles 2 and 0.1, to place 5, of angles 5 and 0.25",
        hint="each pair turns at its own speed, base^(-2i / d_model)",
        within=1e-5,
    )
    back = check.call(-3, 4, base=400.0)
    check.equal(
        places[1] @ back.float(),
        places[0],
        "with offset -3 it takes place 5 back to place 2",
        hint="a negative offset turns the other way: cos stays, sin changes its sign",
        within=1e-5,
    )
# BEGIN HIDDEN TESTS
with Check("shift_matrix", "other offsets, widths and bases, from several places") as check:
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
        check.equal(matrix, expected.float(), "turned blocks on the diagonal", within=1e-4)
# END HIDDEN TESTS


# %%
table_of_places = sinusoidal_encoding(50, 32)
for steps in (1, 10, -20):
    moved = table_of_places[20:40] @ shift_matrix(steps, 32)
    there = table_of_places[20 + steps : 40 + steps]
    print(
        f"{steps:4} steps, from 20 places: off by {(moved - there).abs().max().item():.0e} at most"
    )

# %% [markdown]
# What to see: one matrix, twenty places, and each lands where it should, but for the rounding of float32.

# %% [markdown]
# ### Bug hunt: a slide's listing
#
# A lecture slide gives the formula of part 2, calls $i$ the “embedding dim index”, and spells it out as a program, for an input `X` of shape (length, d):
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
# **Predict** where it parts from the formula. Then run it as it stands, beside your own: the dot products of seven places with one another.


# %%
def as_listed(many: int, d: int) -> Tensor:
    """The listing as it stands, for `many` places: what is added to X."""
    listed = torch.zeros(many, d)
    for pos in range(many):
        for i in range(d):
            wave = math.cos if i % 2 else math.sin
            listed[pos, i] = wave(pos / (10000 ** (2 * i / d)))
    return listed


of_the_slide, of_yours = as_listed(7, 8), sinusoidal_encoding(7, 8)
seven = [str(place) for place in range(7)]
figures.steps(
    {
        "your encoding: PE · PE": (of_yours @ of_yours.T, "place", seven),
        "the listing: PE · PE": (of_the_slide @ of_the_slide.T, "place", seven),
    },
    "place",
    seven,
)
print("lengths, yours:      ", of_yours.norm(dim=1).numpy().round(2))
print("lengths, the listing:", of_the_slide.norm(dim=1).numpy().round(2))

# %% [markdown]
# What to see: on the left each diagonal holds one number, over and over. That is part 3: the dot product knows only the distance, and each place is as long as every other (the main diagonal: $d_{\text{model}}/2 = 4$). On the right the diagonals waver, and so do the lengths. Sine and cosine of a pair do not belong to one angle any more, so there is no clock, no constant length, and no matrix that takes one step.

# %% [markdown]
# **Exercise** (5 minutes). The slide's $i$ counts two things at once: in the formula it counts pairs, in the listing columns. Write the number that the listing should add to `X[position, column]`.
#
# <details><summary>Hint</summary>Columns 0 and 1 are pair 0, columns 2 and 3 are pair 1. Which pair is column 5? In Python, <code>//</code> divides and rounds down.</details>


# %% exercise repaired_entry
def repaired_entry(position: int, column: int, d_model: int) -> float:
    """What should be added to X[position, column]: the listing, brought in line with its formula.

    One number. The base is 10000; columns count from 0; d_model is even.
    """
    # BEGIN SOLUTION
    pair = column // 2
    angle = position / 10000 ** (2 * pair / d_model)
    return math.cos(angle) if column % 2 else math.sin(angle)
    # END SOLUTION


# %% check repaired_entry points=1
with Check("repaired_entry", "eight columns, by hand") as check:
    # width 8: the speeds are 1, 0.1, 0.01 and 0.001
    hint = "columns 2i and 2i + 1 are the sine and the cosine of the same angle"
    entries = [check.call(2, column, 8, returns=float) for column in range(8)]
    for column, (wave, angle) in enumerate(
        (wave, angle) for angle in (2.0, 0.2, 0.02, 0.002) for wave in (math.sin, math.cos)
    ):
        name = "cos" if column % 2 else "sin"
        law = f"position 2, column {column} of 8: {name}({angle:g})"
        check.equal(entries[column], wave(angle), law, hint, within=1e-5)
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
# ### Bug hunt: what the 10000 means
#
# Another slide asks what the 10000 means, and answers: “The maximum input length”. If that were so, something would have to happen at place 10000. Does it? By part 3 the distance between the encodings of two places depends only on how many steps they are apart. So it is enough to walk away from place 0.

# %%
far_away = sinusoidal_encoding(100001, 64).double()
distances = (far_away[1:] - far_away[0]).norm(dim=1)
stations = list(range(1000, 40001, 1000))
figures.curves(
    stations,
    {"distance to place 0": [distances[station - 1].item() for station in stations]},
    x="place",
    y="distance of the encodings",
    title="Nothing happens at place 10000",
    marked={"place 10000": (10000, distances[9999].item())},
    bottom=0.0,
)
nearest = distances.min().item()
print(f"the nearest of 100000 places comes within {nearest:.2f} (place {distances.argmin() + 1})")

# %% [markdown]
# What to see: beyond 10000 the encoding goes on as before. And among 100000 places none comes nearer to place 0 than place 1 does: no two are mixed up. The base is no length at all. What it sets is **how slow the slowest clock is**.

# %% [markdown]
# **Exercise** (5 minutes). After how many places has each clock gone once round? A full turn is $2\pi$ radians.
#
# <details><summary>Hint</summary>A clock that turns by ω radians in a step needs … steps for 2π radians.</details>


# %% exercise wavelengths
def wavelengths(d_model: int, base: float = 10000.0) -> Tensor:
    """How many places each pair of the sinusoidal encoding takes for one full turn: (d_model / 2,).

    From the fastest pair to the slowest; no whole numbers. d_model is even.
    """
    # BEGIN SOLUTION
    return 2 * math.pi * base ** (torch.arange(0, d_model, 2) / d_model)
    # END SOLUTION


# %% check wavelengths points=1
with Check("wavelengths", "four clocks", "2π divided by the speed of each pair") as check:
    turns = check.call(8)
    check.shape(turns, pairs=4)
    check.equal(
        turns,
        torch.tensor([6.283185, 62.83185, 628.3185, 6283.185]),
        "width 8: the speeds are 1, 0.1, 0.01, 0.001, so the turns take 6.28, 62.8, 628, 6283 places",
    )
    turns = check.call(4, base=100.0)
    check.shape(turns, pairs=2)
    check.equal(
        turns,
        torch.tensor([6.283185, 62.83185]),
        "width 4 and base 100: the speeds are 1 and 0.1",
        hint="use the base that you are given",
    )
# BEGIN HIDDEN TESTS
with Check("wavelengths", "other widths and bases") as check:
    for columns, root in ((2, 10000.0), (10, 500.0), (6, 10000.0), (64, 20.0)):
        expected = [2 * math.pi * root ** (2 * i / columns) for i in range(columns // 2)]
        check.equal(check.call(columns, base=root), torch.tensor(expected), "2π / ω")
# END HIDDEN TESTS


# %%
slowest = wavelengths(512)[-1].item()
print(f"d_model = 512: the slowest clock takes {slowest:.0f} places, almost 2π · 10000 = 62832")

# %% [markdown]
# What to see: the slowest clock alone needs far more than 10000 places to come round, and the clocks together tell places apart for longer still. What limits a model to some length is the length of its training texts: see part 7.

# %% [markdown]
# ## 4 · A table that learns
#
# The second way asks no questions: give each place a vector of its own, and let training find the numbers. BERT, GPT-2 and the Vision Transformer do this. It is a table of `max_length` rows, and this is its price: **it ends**. What is at row `max_length`? Nothing, so a longer input must be refused, and clearly.
#
# **Predict.** `x` has the shape (batch, length, d_model) = (32, 10, 64), and someone adds `table[:x.shape[0]]`, with a table of 100 rows. What happens?
#
# <details><summary>It works: 10 rows are added</summary>x.shape[0] is 32, the batch. 32 rows come out of the table.</details>
# <details><summary>An error: (32, 10, 64) and (32, 64) do not fit</summary>Yes: 10 meets 32. But with a batch as large as the length they would fit, and nobody would notice. Count axes from the end: the length is x.shape[-2].</details>
# <details><summary>Each sequence of the batch gets its own row</summary>For that, the rows would have to be (32, 1, 64). It is a real mistake too: then all words of a sequence get the same place.</details>

# %% [markdown]
# **Exercise** (10 minutes). The name of the part matters: the check loads the table by it.
#
# <details><summary>Hint</summary><code>self.table.weight</code> is the table itself, (max_length, d_model). Its first rows are a slice. Compare the two lengths before you add anything.</details>


# %% exercise LearnedPositions
class LearnedPositions(nn.Module):
    """Add a learned vector for each place to what stands there.

    Part: `table`, an `nn.Embedding(max_length, d_model)`; its row p belongs to place p, from 0.
    forward: x (…, length, d_model) -> x plus the first `length` rows, of the same shape.
    A length above max_length: a ValueError that names both.
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
hint = "row p of the table is added to word p of every sequence"
with Check("LearnedPositions", "an example you can do by hand", hint) as check:
    module = check.build(4, 2).double()
    rows = torch.tensor(
        [[10.0, 20.0], [30.0, 40.0], [50.0, 60.0], [70.0, 80.0]], dtype=torch.float64
    )
    module.load({"table.weight": rows})
    # three sequences of two words each
    x = torch.tensor(
        [[[1.0, 2.0], [3.0, 4.0]], [[0.0, 0.0], [0.0, 0.0]], [[5.0, 5.0], [5.0, 5.0]]],
        dtype=torch.float64,
    )
    placed = module.call(x)
    check.shape(placed, batch=3, length=2, d_model=2)
    check.equal(
        placed[0],
        torch.tensor([[11.0, 22.0], [33.0, 44.0]], dtype=torch.float64),
        "row 0 of the table is added to the first word, row 1 to the second",
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
        "the table learns: a gradient reaches the rows that are used, from all three sequences",
        hint="use self.table itself: no copy, no detach",
    )
fit = "the length is x.shape[-2], with or without a batch; as many words as rows still fit"
with Check("LearnedPositions", "as many words as rows, and one more", fit) as check:
    module, x = check.build(3, 2).double(), numbers(2, 3, 2)
    module.load({"table.weight": numbers(3, 2, seed=1)})
    check.equal(module.call(x), x + numbers(3, 2, seed=1), "three words and three rows fit", hint)
    check.equal(
        module.call(x[0]),
        x[0] + numbers(3, 2, seed=1),
        "one sequence alone, without a batch: three words again",
        hint="the length is the second axis from the end, x.shape[-2]",
    )
    module.raises(numbers(2, 4, 2), naming=(4, 3))
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
    # a large batch is not a long text
    module = check.build(4, 3)
    check.shape(module.call(numbers(9, 2, 3, dtype=torch.float32)), batch=9, length=2, d_model=3)
    # nor is a wide one
    module = check.build(4, 8)
    check.shape(module.call(numbers(2, 3, 8, dtype=torch.float32)), batch=2, length=3, d_model=8)
with Check("LearnedPositions", "what it learns, and from whom") as check:
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
# ## 5 · The distance itself
#
# Grammar rarely asks for *word 17*. It asks for *the word before*. If distances are what counts, why not give them to attention directly? The third way adds nothing to the words. It adds a learned number to each **score**, before softmax: one number for each distance, and its own for each head. T5 and the Swin Transformer do this.
#
# The **offset** of a pair is *key place − query place*: −1 is the word before, 0 the word itself, +1 the word after. A table holds the numbers from offset −max_distance to +max_distance. What is farther gets the number at the nearest end, for *far is far*.
#
# Here are the offsets of four queries and six keys, and the row of a table with max_distance = 2 in which each finds its number.

# %%
offsets_shown = [[float(column - row) for column in range(6)] for row in range(4)]
rows_shown = [[float(min(max(one, -2), 2) + 2) for one in row] for row in offsets_shown]
six_keys = [str(place) for place in range(6)]
figures.steps(
    {
        "offset: key − query": (offsets_shown, "key", six_keys),
        "row of the table": (rows_shown, "key", six_keys),
    },
    "query",
    six_keys[:4],
)

# %% [markdown]
# **Predict.** A model has learned such a table on texts of 100 words, with max_distance = 8. What does it do with a text of 1000 words?
#
# <details><summary>It has no rows for most offsets: an error</summary>The offsets beyond 8 have a row: that of 8. It was trained on all far pairs of the 100 words.</details>
# <details><summary>It works: no distance is new</summary>Yes. Near is what it was, and far was learned as far. You will measure it.</details>
# <details><summary>It must be trained again</summary>A table of places would have to be. Here no row depends on the length.</details>

# %% [markdown]
# **Exercise** (10 minutes). Make the bias for all pairs and all heads.
#
# <details><summary>Hint 1</summary>Places of keys as a row, places of queries as a column: their difference is the table of offsets. <code>clamp(low, high)</code> holds numbers between two limits.</details>
# <details><summary>Hint 2</summary><code>table[rows]</code>, with <code>rows</code> of shape (query, key), is (query, key, heads). Where should the heads stand?</details>


# %% exercise relative_bias
def relative_bias(query_length: int, key_length: int, table: Tensor) -> Tensor:
    """Make what is added to the scores: (heads, query_length, key_length).

    table (2 · max_distance + 1, heads): row clip(key - query) + max_distance is for the offset
    key - query, where clip holds it between -max_distance and max_distance.
    Queries and keys both count from place 0.
    """
    # BEGIN SOLUTION
    far = (len(table) - 1) // 2
    offsets = torch.arange(key_length) - torch.arange(query_length)[:, None]
    rows = offsets.clamp(-far, far) + far  # (query, key)
    return table[rows].permute(2, 0, 1)
    # END SOLUTION


# %% check relative_bias points=3
hint = "offset = key place - query place, held between ±max_distance, plus max_distance: the row"
with Check("relative_bias", "an example you can do by hand", hint) as check:
    # max_distance is 2; offset -2 gives 1 in head 0 and 50 in head 1, offset 2 gives 5 and 10
    table = torch.tensor(
        [[1.0, 50.0], [2.0, 40.0], [3.0, 30.0], [4.0, 20.0], [5.0, 10.0]], dtype=torch.float64
    )
    bias = check.call(3, 4, table)
    check.shape(bias, heads=2, query=3, key=4)
    check.equal(
        bias[0, 0],
        torch.tensor([3.0, 4.0, 5.0, 5.0], dtype=torch.float64),
        "query 0 meets the offsets 0, 1, 2 and 3: rows 2, 3, 4, and 4 again, for 3 is held at 2",
    )
    check.equal(
        bias[0],
        torch.tensor(
            [[3.0, 4.0, 5.0, 5.0], [2.0, 3.0, 4.0, 5.0], [1.0, 2.0, 3.0, 4.0]], dtype=torch.float64
        ),
        "in head 0 the word before has 2, the word itself 3, the word after 4",
    )
    check.equal(
        bias[1],
        torch.tensor(
            [[30.0, 20.0, 10.0, 10.0], [40.0, 30.0, 20.0, 10.0], [50.0, 40.0, 30.0, 20.0]],
            dtype=torch.float64,
        ),
        "head 1 has its own numbers: the second column of the table",
    )
with Check("relative_bias", "far to the left, and a gradient", hint) as check:
    table = numbers(3, 4).requires_grad_()  # max_distance is 1, and there are four heads
    bias = check.call(5, 2, table)
    check.shape(bias, heads=4, query=5, key=2)
    check.equal(
        bias[:, 4].detach(),
        table.detach()[:1].T.expand(4, 2),
        "query 4 meets the offsets -4 and -3: both are held at -1, the first row of the table",
        hint="clip from below too: a negative row would count from the end of the table",
    )
    check.equal(
        check.gradient(bias, table)[:, 0],
        torch.tensor([7.0, 2.0, 1.0], dtype=torch.float64),
        "of the ten pairs, seven lie before, two on the spot, one after: that many gradients reach "
        "each row",
        hint="the bias is made from the table itself, by torch",
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
            check.equal(bias, expected.permute(2, 0, 1), "the table's number for each offset")
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
# ## 6 · Turn instead of add
#
# The fourth way runs in Llama, Mistral, Qwen and most language models of today: **rotary position embedding**, RoPE. It takes the clocks of part 2, but adds nothing to the words. It **turns** the queries and keys themselves: take two features as an arrow in the plane, and turn it by the place times the speed.

# %%
figures.arrows(
    {
        f"p = {place}": [math.cos(0.5 * place), math.sin(0.5 * place)]
        for place in range(4)  # the arrow [1, 0], turned by half a radian for each step
    },
    axes=("feature 0", "feature 1"),
)

# %% [markdown]
# A dot product of two arrows depends on their lengths and the angle between them. Turn both by the same angle, and it does not change. So if the query at place $m$ is turned by $m\,\omega$ and the key at place $n$ by $n\,\omega$, their score depends on what they are and on $m - n$, and on nothing else.
#
# **Predict.** You move a whole text by 100 places: each word's place grows by 100. What happens to the scores?
#
# <details><summary>They all change: every arrow is turned</summary>Every arrow is, and by the same angle. Look at the angle between two of them.</details>
# <details><summary>Nothing</summary>Yes. The place itself cannot be seen in any score; the distance can. It is the relative way of part 5, without a table.</details>
# <details><summary>They shrink</summary>A turned arrow is as long as before.</details>

# %% [markdown]
# With $q$ a query (or a key) at place $p$, $d$ its width, and $i$ the number of the pair:
#
# $$\mathrm{RoPE}(q)_{2i} = q_{2i}\cos\theta_i - q_{2i+1}\sin\theta_i \qquad \mathrm{RoPE}(q)_{2i+1} = q_{2i}\sin\theta_i + q_{2i+1}\cos\theta_i \qquad \theta_i = \frac{p}{10000^{2i/d}}$$
#
# (Su et al., *RoFormer*, 2021, section 3.2.) Neighbouring features are a pair here: 0 and 1, 2 and 3, and so on: **interleaved**. Some libraries take feature $i$ and feature $i + d/2$ as a pair. It does the same work with the features in another order. But load weights trained for one into the other, and you get rubbish. This course takes the formula as it stands.

# %% [markdown]
# **Exercise** (15 minutes). Turn every row of `x` by its own place. The places are handed over: they need not be 0, 1, 2, …, for a model that writes word 57 has one query, at place 57.
#
# <details><summary>Hint 1</summary>Angles first: (length, pairs), from <code>positions[:, None]</code> and the speeds. They fit x with any leading dimensions.</details>
# <details><summary>Hint 2</summary><code>x[..., 0::2]</code> are the first features of all pairs, <code>x[..., 1::2]</code> the second. Both new ones need both old ones. Put them back side by side: stack along a new last axis, then flatten the last two.</details>
# <details><summary>Hint 3</summary>float64 in, float64 accuracy out: <code>torch.arange(…, dtype=x.dtype)</code> makes the speeds in the dtype of x.</details>


# %% exercise rotary_embedding
def rotary_embedding(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """Turn each pair of features (2i, 2i + 1) by the angle position · base^(-2i / d).

    x (…, length, d); positions (length,): whole numbers, the place of each row of x.
    Returns the shape and dtype of x; float64 in gives float64 accuracy.
    An odd d: a ValueError that names it.
    """
    # BEGIN SOLUTION
    width = x.shape[-1]
    if width % 2:
        raise ValueError(f"features are turned in pairs, so their number must be even; got {width}")
    speeds = base ** (-torch.arange(0, width, 2, dtype=x.dtype) / width)
    angles = positions[:, None] * speeds  # (length, pairs)
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = even * angles.cos() - odd * angles.sin(), even * angles.sin() + odd * angles.cos()
    return torch.stack(turned, dim=-1).flatten(-2)
    # END SOLUTION


# %% check rotary_embedding points=2
hint = (
    "new even = even · cos - odd · sin; new odd = even · sin + odd · cos; then side by side again"
)
with Check("rotary_embedding", "an example you can do by hand", hint) as check:
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
        "[1, 0] stays at place 0, becomes [cos 1, sin 1] at place 1; [0, 5] at place 2 becomes "
        "[-5 sin 2, 5 cos 2]",
    )
with Check("rotary_embedding", "two pairs, and places in any order", hint) as check:
    # base 400 and width 4: the speeds are 1 and 1/20
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
        "features 0 and 1 turn by the place, features 2 and 3 by a twentieth of it; the first row "
        "stands at place 7, the second at place 2",
    )
with Check("rotary_embedding", "a batch with heads, and what a score sees", hint) as check:
    x, at = numbers(2, 3, 4, 6).requires_grad_(), torch.tensor([0, 1, 2, 3])
    turned, moved = check.call(x, at), check.call(x, at + 50)
    check.shape(turned, batch=2, heads=3, length=4, d=6)
    check.equal(turned.norm(dim=-1), x.norm(dim=-1), "a turn changes no length")
    check.equal(
        moved @ moved.transpose(-2, -1),
        turned @ turned.transpose(-2, -1),
        "all places moved by 50: every dot product stays as it was",
        hint="the angle of a row is its place times the speed: twice the place, twice the angle",
    )
    check.true(
        not torch.allclose(turned @ turned.transpose(-2, -1), x @ x.transpose(-2, -1)),
        "and the dot products of different places are not those of the unturned words",
    )
    check.equal(
        check.gradient(turned.square(), x),
        2 * x.detach(),
        "a gradient flows back: that of the sum of squares is 2 x, because no length changes",
        hint="every step must be a torch operation on the x that you are given",
    )
    narrow = check.call(x.detach().float(), at)
    check.equal(narrow, turned.detach().float(), "float32 in, float32 out", within=1e-4)
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
        check.equal(check.call(x, places, base=root), expected, "each pair turned by its angle")
        if max(at) < 100:
            narrow = check.call(x.float(), places.int(), base=root)
            check.equal(narrow, expected.float(), "in float32", within=1e-4)
with Check("rotary_embedding", "views and gradients") as check:
    source = numbers(6, 5, 2, seed=9).requires_grad_()
    places = torch.tensor([2, 0, 7, 1, 1])
    turned = check.call(source.permute(2, 1, 0), places, base=20.0)
    slope = check.gradient(turned.square(), source)
    check.equal(slope, 2 * source.detach(), "a turn keeps all lengths")
    flat = numbers(5, 4, seed=10).requires_grad_()
    slope = check.gradient(check.call(flat, places)[:, 0], flat)
    zeros = torch.zeros(5, dtype=torch.float64)
    expected = torch.stack([places.double().cos(), -places.double().sin(), zeros, zeros], -1)
    check.equal(slope, expected, "the first feature comes from the first pair alone")
# END HIDDEN TESTS

# %% check rotary_embedding_odd points=1
with Check("rotary_embedding", "an odd width is refused") as check:
    check.raises(numbers(2, 4, 7), torch.arange(4), naming=[7])
    turned = check.call(numbers(2, 3, 4), torch.arange(3))
    check.shape(turned, batch=2, length=3, d=4)
# BEGIN HIDDEN TESTS
with Check("rotary_embedding", "other odd widths, and odd lengths") as check:
    for odd_width in (1, 5):
        check.raises(numbers(4, odd_width), torch.arange(4), naming=[odd_width])
    check.shape(check.call(numbers(3, 5, 2), torch.arange(5)), batch=3, length=5, d=2)
# END HIDDEN TESTS


# %% [markdown]
# Watch your own function turn. Move the position, and see which dials run and which crawl. Below them stand the dot products of two places with all others, by offset.

# %%
from transformer_course.widgets import show_rotary

show_rotary(rotary_embedding, d_model=8, title="your rotary embedding")

# %% [markdown]
# What to see: the dials are the clocks of part 2. And the two curves lie on each other: from wherever you look, the score depends on the offset alone.
#
# In a model, RoPE sits **inside** every attention: after the projections, before the scores. Queries and keys are turned. Values are not: a value is *what is taken in*, and turned by its place, the same word would be taken in as something else at every place.

# %% [markdown]
# **Exercise** (5 minutes). Attention with RoPE. PyTorch's `F.scaled_dot_product_attention(query, key, value)` does all but the turning.
#
# <details><summary>Hint</summary>Two of the three roles are turned, with your own <code>rotary_embedding</code>.</details>


# %% exercise rotary_attention
def rotary_attention(
    query: Tensor, key: Tensor, value: Tensor, positions: Tensor, base: float = 10000.0
) -> Tensor:
    """Scaled dot-product attention with rotary positions; the output alone, without weights.

    query, key (…, length, d_k), value (…, length, d_v); positions (length,), for queries and keys.
    Returns (…, length, d_v).
    """
    # BEGIN SOLUTION
    query = rotary_embedding(query, positions, base)
    key = rotary_embedding(key, positions, base)
    return F.scaled_dot_product_attention(query, key, value)
    # END SOLUTION


# %% check rotary_attention points=2
hint = "turn query and key with their positions, leave the value as it is, then plain attention"
with Check("rotary_attention", "two words, by hand", hint) as check:
    # queries and keys are so long that a score is the cosine of the angle between them; before
    # they are turned, the first key points where the queries do, the second at a right angle
    query = torch.tensor([[2**0.25, 0.0], [2**0.25, 0.0]], dtype=torch.float64)
    key = torch.tensor([[2**0.25, 0.0], [0.0, 2**0.25]], dtype=torch.float64)
    value = torch.tensor(
        [[10.0, 0.0, 4.0, 0.0, 1.0, 0.0], [0.0, 10.0, 4.0, 5.0, 1.0, 0.0]], dtype=torch.float64
    )
    output = check.call(query, key, value, torch.tensor([4, 6]))
    check.shape(output, length=2, d_v=6)
    # the scores: 1 and -sin 2 = -0.91 for the first query, cos 2 = -0.42 and 0 for the second
    powers = [[math.e, math.exp(-math.sin(2))], [math.exp(math.cos(2)), 1.0]]
    weights = [[one / sum(row) for one in row] for row in powers]
    check.equal(
        output,
        torch.tensor(
            [[10 * a, 10 * b, 4.0, 5 * b, 1.0, 0.0] for a, b in weights], dtype=torch.float64
        ),
        "at the places 4 and 6 the weights are 0.87 and 0.13 for the first query, 0.40 and 0.60 for "
        "the second, and the values are blended as they are",
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
        "all at the same place: attention without places",
        hint="queries and keys are turned alike, so at one place their scores do not change",
    )
    at = torch.arange(4)
    output = check.call(query, key, value, at)
    check.equal(
        check.call(query, key, value, at + 9),
        output,
        "the whole text moved by 9 places: nothing changes",
    )
    backwards = check.call(query, key, value, at.flip(0))
    check.true(not torch.allclose(backwards, output), "the order of the places counts")
    other = check.call(query, key, value, at, base=10.0)
    check.true(
        not torch.allclose(other, output),
        "another base, other angles: other outputs",
        hint="hand the base on, too",
    )
# BEGIN HIDDEN TESTS
with Check("rotary_attention", "equal to attention on turned queries and keys") as check:
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
        check.equal(check.call(query, key, value, places, base=root), expected, "the output")
        narrow = check.call(query.float(), key.float(), value.float(), places, base=root)
        check.equal(narrow, expected.float(), "in float32", within=1e-3)
with Check("rotary_attention", "gradients to all three roles") as check:
    query, key, value = (numbers(3, 4, seed=s).requires_grad_() for s in (14, 15, 16))
    output = check.call(query, key, value, torch.tensor([6, 6, 6]))
    expected = F.scaled_dot_product_attention(query, key, value)
    for role in (query, key, value):
        slope = check.gradient(output.square(), role)
        check.equal(slope, check.gradient(expected.square(), role), "as without places")
# END HIDDEN TESTS


# %% [markdown]
# ## 7 · Which way carries how far?
#
# Now measure. One small model, one layer of attention with one head, and a switch for the four ways; the fifth has no places at all. It reads a row of digits, and for each place it must name a digit of the row.


# %%
class Finder(nn.Module):
    """One layer of attention over a row of digits, with places told in one of the four ways."""

    def __init__(self, way: str, width: int = 32) -> None:
        super().__init__()
        self.way = way
        self.digits = nn.Embedding(10, width)
        self.w_query, self.w_key, self.w_value = (nn.Linear(width, width) for _ in range(3))
        self.name_digit = nn.Linear(width, 10)
        self.learned = LearnedPositions(64, width)
        self.distances = nn.Parameter(torch.zeros(17, 1))  # offsets -8 … 8, one head

    def roles(self, row: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """Queries, keys, values, and what is added to the scores."""
        words, many = self.digits(row), row.shape[1]
        if self.way == "sinusoidal":
            words = words + sinusoidal_encoding(many, words.shape[-1])
        if self.way == "learned":
            words = self.learned(words)
        asks, answers = self.w_query(words), self.w_key(words)
        if self.way == "rotary":
            places = torch.arange(many)
            asks, answers = rotary_embedding(asks, places), rotary_embedding(answers, places)
        bias = relative_bias(many, many, self.distances) if self.way == "relative" else None
        return asks, answers, self.w_value(words), bias

    def forward(self, row: Tensor) -> Tensor:
        asks, answers, gives, bias = self.roles(row)
        return self.name_digit(F.scaled_dot_product_attention(asks, answers, gives, bias))

    def weights(self, row: Tensor) -> Tensor:
        """The weights: attention with the identity as values."""
        asks, answers, _, bias = self.roles(row)
        return F.scaled_dot_product_attention(asks, answers, torch.eye(row.shape[1])[None], bias)


print("2 rows of 8 digits ->", tuple(Finder("rotary")(torch.zeros(2, 8, dtype=torch.long)).shape))

# %% [markdown]
# For each place it gives ten scores, one for each digit it may name. Training draws new rows at every step; the test rows are always the same.


# %%
def train(way: str, wanted, many: int, first: int = 0) -> Finder:
    """A finder, trained on rows of `many` digits; what stands before place `first` is not asked."""
    torch.manual_seed(0)
    finder = Finder(way)
    optimizer = torch.optim.Adam(finder.parameters(), lr=0.01)
    for _ in range(250):
        row = torch.randint(10, (64, many))
        named = finder(row)[:, first:].flatten(0, 1)
        loss = F.cross_entropy(named, wanted(row)[:, first:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return finder


def share_right(finder: Finder, wanted, many: int) -> float:
    """How many of the last eight digits of new rows are named right."""
    row = torch.randint(10, (500, many), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        return (finder(row).argmax(-1) == wanted(row))[:, -8:].float().mean().item()


torch.set_num_threads(1)  # the fastest for models as small as these

# %% [markdown]
# ### Backwards
#
# First task: turn a row of eight digits round. Place 0 must name the digit of place 7, place 1 that of place 6, and so on.
#
# **Predict.** How many digits does the model **without** places name right?
#
# <details><summary>All: attention can look anywhere</summary>It can look at any digit, not at any place. <em>The digit at place 7</em> is nothing it can ask for.</details>
# <details><summary>10 %, like a ten-sided die</summary>It does better than the die: it sees which digits are in the row, and does not name the others.</details>
# <details><summary>About a third</summary>Yes. It knows the bag: to name what the bag holds most often is the best it can do.</details>


# %%
def reversed_row(row: Tensor) -> Tensor:
    return row.flip(1)


backwards = {way: train(way, reversed_row, 8) for way in ("no places", "sinusoidal")}
example_row = torch.tensor([[3, 1, 4, 1, 5, 9, 2, 6]])
print("a row        ", *example_row[0].tolist())
for way, finder in backwards.items():
    says = finder(example_row).argmax(-1)[0].tolist()
    print(f"{way:13}", *says, f"  {share_right(finder, reversed_row, 8):.0%} of new digits right")
places_and_digits = [f"{place}: {digit}" for place, digit in enumerate(example_row[0].tolist())]
figures.attention_map(
    backwards["sinusoidal"].weights(example_row)[0],
    places_and_digits,
    title="with sinusoidal places: who looks where",
)

# %% [markdown]
# What to see: with places, every digit is right, and each place looks at its mirror image, its neighbours shining through: near places have similar encodings. Without, equal digits must get equal answers: both 1s of the row say the same. No training can help there: it is the bag of part 1.

# %% [markdown]
# ### Longer than all that was seen
#
# Second task: name the digit **two places before**. All four ways learn it on rows of 16 digits. Then the rows grow, up to 64. The last eight digits are counted: in the longer rows they stand at places that no model has ever seen. (The learned table has 64 rows here, or it would have to refuse. Rows 16 to 63 were never trained.)
#
# **Predict.** Which way does worst on 64 digits?
#
# <details><summary>Sinusoidal</summary>It suffers, for the sums of digits and clocks look unlike those it was trained on. But its clocks go on, and one step is still one step.</details>
# <details><summary>Learned</summary>Yes: its rows from 16 on are what the random generator left there.</details>
# <details><summary>Relative</summary>For its table no distance is new. What is new: there are more far digits, and each takes a little of the weight.</details>
# <details><summary>Rotary</summary>Its scores depend on the offset alone: two places before is two places before. Only large offsets are new.</details>


# %%
def two_before(row: Tensor) -> Tensor:
    return row.roll(2, dims=1)


lengths = [16, 24, 32, 48, 64]
carries = {}
for way in ("sinusoidal", "learned", "relative", "rotary"):
    finder = train(way, two_before, 16, first=2)
    carries[way] = [share_right(finder, two_before, many) for many in lengths]
    print(
        f"{way:12}",
        *(f"{many}: {share:4.0%}  " for many, share in zip(lengths, carries[way], strict=True)),
    )
figures.curves(
    lengths,
    carries,
    x="digits in a row (trained on 16)",
    y="share named right",
    title="Two places before, beyond the training length",
    bottom=0.0,
    legend_columns=2,
)

# %% [markdown]
# What to see: on 16 digits all four are perfect. Beyond:
#
# - **learned** falls to about 10 %, a guess: a row that was never trained says nothing;
# - **sinusoidal** keeps a part of its skill. The clocks go on, but the model has only learned to read them where it was trained;
# - **relative** and **rotary** hold on far longer. They never learned places, only distances, and the distance two is the same everywhere. What wears them down slowly: more digits share the weight, and for RoPE, offsets that it has never met.
#
# This is why language models of today tell distances, and why reading texts longer than those in training is still a topic of research.

# %% [markdown]
# ## 8 · The real thing
#
# There is no official function for sines and cosines to compare with, so let an independent program judge: the formula in plain NumPy, number by number. For RoPE there is another way to write it, and Llama's published code does: each pair as one complex number, multiplied by $e^{\mathrm{i}\theta}$. And PyTorch's attention takes a relative bias as it is: a float `attn_mask` is added to the scores.

# %%
formula = np.zeros((100, 64))
for place in range(100):
    for clock in range(32):
        theta = place / 10000 ** (2 * clock / 64)
        formula[place, 2 * clock : 2 * clock + 2] = np.sin(theta), np.cos(theta)
difference = np.abs(sinusoidal_encoding(100, 64).numpy() - formula).max()
print(f"sinusoidal, against NumPy: largest difference {difference:.0e} (float32)")

vectors, where = numbers(2, 4, 10, 64), torch.arange(10)
theta = where[:, None] / 10000 ** (torch.arange(32, dtype=torch.float64) / 32)
as_complex = torch.complex(vectors[..., 0::2].contiguous(), vectors[..., 1::2].contiguous())
spun = torch.view_as_real(as_complex * torch.exp(1j * theta)).reshape(vectors.shape)
difference = (rotary_embedding(vectors, where) - spun).abs().max().item()
print(f"RoPE, against complex numbers: largest difference {difference:.0e}")

near, moved = (rotary_embedding(vectors, where + start) for start in (0, 1000))
difference = (near @ near.mT - moved @ moved.mT).abs().max().item()
print(f"RoPE, all places moved by 1000: scores differ by {difference:.0e} at most")

bias = relative_bias(10, 10, numbers(7, 4, seed=1))
theirs = F.scaled_dot_product_attention(vectors, vectors, vectors, attn_mask=bias)
mine = torch.softmax(vectors @ vectors.mT / 64**0.5 + bias, -1) @ vectors
difference = (mine - theirs).abs().max().item()
print(f"relative bias, as PyTorch's attn_mask: largest difference {difference:.0e}")

# %% [markdown]
# All differences are rounding: about 1e-6 in float32, and 1e-11 or less in float64 (large angles lose a few digits). What you wrote is what runs in these models.

# %% [markdown]
# ## 9 · In your own words
#
# **Question.** A friend says: “Sines and cosines tell a model only where each word stands. How far two words are apart, it cannot know from them; for that it needs RoPE.” What is right about this, what is wrong, and what does RoPE do better? Three or four sentences: double-click the cell below and write them there. A person reads them.

# %% answer only_places [markdown] points=2
# <!-- BEGIN SOLUTION -->
# Right: what is added says the place. Wrong: the dot product of two encodings is a sum of cosines of (p − q) ω, which depends on the distance alone, and one matrix, the same for all places, moves an encoding by k steps; so a learned projection can ask for "three words before me". But the place is mixed into the word, and the scores also contain products of words with places, which a model must learn to tell apart, and which look different where it was never trained. RoPE turns queries and keys, so each score depends on the distance by construction; nothing is added to the words, and the values stay as they are.
# <!-- END SOLUTION -->


# %% [markdown]
# ## What you know now
#
# - Attention alone reads a **bag**: reorder the words, and the outputs are reordered with them.
# - **Sinusoidal**: pairs of columns are clock hands of different speeds, sine and cosine of the **same** angle, added to the words. Dot products depend on the distance, and one matrix moves every place by $k$ steps.
# - The **base** sets how slow the slowest clock is: $2\pi \cdot 10000$ places, almost. It is no maximum length.
# - **Learned**: a vector for each place. Simple, and it ends at `max_length`.
# - **Relative bias**: a learned number for each distance and head, added to the scores; far distances share the last one.
# - **RoPE** turns queries and keys by their place, pair by pair, never the values. Scores depend on the offset alone.
# - On rows longer than in training, ways that tell distances carry farther than ways that tell places.
#
# **The question that is left.** Attention, several heads, layer norm, residuals, dropout, places: all parts lie on the table. How do they fit together into one block, in which order, and how deep can you stack it? That is lesson 7, the encoder.
