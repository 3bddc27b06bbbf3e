# %% [markdown]
# # Lesson 1 · Dot-product attention
#
# **You build** the one operation on which every Transformer stands: attention. You start at the dot product of two words and end with a module that gives the same numbers as PyTorch's own.
#
# **You need** Python, a little PyTorch (tensors, `@`, `nn.Linear`, how to write an `nn.Module`), the dot product, mean and standard deviation, and what a gradient is.
#
# **You take away** `softmax`, scaled dot-product attention, and a reason for every symbol in it.
#
# **Time**: about 90 minutes.

# %% [markdown]
# **How to work.** Go cell by cell with Shift+Enter: read, predict, run. (*Run All* stops at the first exercise that is still empty.) In a cell that says `YOUR CODE HERE`, put your code in place of the `raise` line and run it. The grey bar below it is its check: Shift+Enter runs it, a click on it only unfolds its code. A check that fails tells you what it saw.
#
# ✓ means that the examples pass. The grader tries more: other sizes, float32, gradients. So stay in torch from the first line to the last, keep the input's dtype, and leave the inputs as they are.

# %% [markdown]
# ## 1 · One word asks, all words answer
#
# *The animal didn't cross the street because it was too tired.* What does *it* stand for? You know at once: the animal. Change the last word to *wide*, and *it* becomes the street.
#
# So the meaning of *it* depends on other words, and on which ones depends on the sentence. Attention is the machine for this: each word looks at all words, decides how much each one matters, and takes in that much of it.

# %%
from transformer_course import figures

words = ["the", "animal", "didn't", "cross", "the", "street", "because", "it", "was", "too"]
tired = [0.02, 0.68, 0.02, 0.03, 0.02, 0.09, 0.02, 0.03, 0.02, 0.02, 0.05]
wide = [0.02, 0.09, 0.02, 0.03, 0.02, 0.68, 0.02, 0.03, 0.02, 0.02, 0.05]
figures.word_links(
    {
        "… too tired: “it” takes in the animal": ([*words, "tired"], 7, tired),
        "… too wide: “it” takes in the street": ([*words, "wide"], 7, wide),
    }
)

# %% [markdown]
# The number under each word is its **weight**: how much of that word *it* takes in. The weights are above zero and sum to 1. These ones are made up. At the end of this lesson, a model that you built learns to make its own.
#
# Two questions are open. Where do the weights come from? And what is taken in? The answers are a dot product, a softmax and a weighted sum, in this order.

# %% given imports
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformer_course.checks import (
    Check,
    numbers,
)  # numbers(2, 3): a fixed tensor of shape (2, 3)

# %% [markdown]
# ## 2 · The dot product says how well two words match
#
# A model knows a word as a **vector**: a row of numbers, its features. Here are three words with two features each, so that you can draw them.

# %%
figures.arrows(
    {"bank": [1.0, 1.0], "river": [2.0, 0.0], "money": [0.0, 2.0]},
    axes=("has to do with water", "has to do with money"),
)

# %% [markdown]
# The **dot product** of two vectors multiplies them feature by feature and adds up: *bank* · *river* = 1·2 + 1·0 = 2. It is large where both are large in the same features, zero where they share nothing (*river* · *money* = 0), and negative where they disagree. This one number is the **score** of a pair of words.
#
# **Predict.** You stack the words as the rows of `x`, of shape `(length, dim)` = (3, 2). What is the shape of the table of all scores, one for each pair of words? Choose, then open your choice.
#
# <details><summary>(2, 2)</summary>That is one number for each pair of <em>features</em>: xᵀ x. You want one for each pair of words.</details>
# <details><summary>(3, 2)</summary>That is the shape of x itself: the elementwise product x * x has it. No word has met another word yet.</details>
# <details><summary>(3, 3)</summary>Yes: row i, column j holds the score of word i with word j. That is x xᵀ.</details>

# %%
three_words = torch.tensor([[1.0, 1.0], [2.0, 0.0], [0.0, 2.0]])
all_pairs = [[one @ other for other in three_words] for one in three_words]
figures.attention_map(all_pairs, ["bank", "river", "money"], title="scores: all dot products")

# %% [markdown]
# Read a row as one word's question to all words: *river* finds itself (4), then *bank* (2), and nothing in *money* (0). Keep this picture. In every attention map of this course **a row is the word that asks** (the query) and **a column is the word that answers** (the key).

# %% [markdown]
# ## 3 · Softmax turns scores into weights
#
# Scores can be any numbers. Weights must be above zero and sum to 1, and a larger score must get a larger weight. Softmax does this in two steps: `exp` makes every score positive, and a division makes each row sum to 1. For a row of $n$ scores $s_1, \dots, s_n$, the weight of score $j$ is its exp, divided by the sum of all exps:
#
# $$w_j = \frac{e^{s_j}}{\sum_{k=1}^{n} e^{s_k}}$$
#
# **Predict.** You add 100 to every score of a row. What happens to its weights?
#
# <details><summary>They all grow</summary>They cannot: they still sum to 1. What grows is every exp, and by the same factor.</details>
# <details><summary>The largest takes all</summary>That happens when you <em>multiply</em> the scores. Adding keeps their differences.</details>
# <details><summary>Nothing</summary>Yes. Each exp grows by the factor e¹⁰⁰, above and below the line, and cancels. Only differences of scores count.</details>

# %% [markdown]
# **Exercise** (10 minutes). Write softmax with `exp`, a sum and a division. (A check compares what your function returns, so `torch.softmax` would pass it too. You write your own to see why it is built as it is.) One practical trouble: in float32, `exp` of anything above 88 is infinite. What you just predicted is the cure.
#
# <details><summary>Hint</summary>Which number, subtracted from a row, makes sure that no exp is larger than 1? <code>amax</code> with <code>keepdim=True</code> finds it. With <code>dim=-1</code> every sum runs along a row; with <code>dim=0</code>, down a column.</details>


# %% exercise softmax
def softmax(scores: Tensor, dim: int) -> Tensor:
    """Turn scores into weights: positive, and along `dim` they sum to 1.

    Any shape in, the same shape out. Scores up to ±10 000 give finite weights.
    """
    # BEGIN SOLUTION
    # subtract the maximum: exp overflows above 88 in float32
    shifted = scores - scores.amax(dim=dim, keepdim=True)
    powers = shifted.exp()
    return powers / powers.sum(dim=dim, keepdim=True)
    # END SOLUTION


# %% check softmax points=1
with Check("softmax", "an example you can do by hand") as check:
    # exp of these scores is 1, 2, 5 and 3, 1, 1
    scores = torch.tensor([[1.0, 2.0, 5.0], [3.0, 1.0, 1.0]], dtype=torch.float64).log()
    weights = check.call(scores, dim=-1)
    check.shape(weights, row=2, column=3)
    check.equal(
        weights,
        torch.tensor([[1 / 8, 2 / 8, 5 / 8], [3 / 5, 1 / 5, 1 / 5]], dtype=torch.float64),
        "each row is exp(score), divided by the sum of that row's exps",
        hint="with dim=-1 the sum runs along each row; keepdim=True lets it divide the row",
    )
with Check("softmax", "any dimension") as check:
    scores = numbers(2, 3, 4, scale=2.0)
    for dim in (0, 1, 2):
        weights = check.call(scores, dim=dim)
        check.equal(
            weights.sum(dim),
            torch.ones_like(scores.sum(dim)),
            f"the weights along dim={dim} sum to 1",
            hint="use the argument `dim` in every sum and maximum",
        )
        turned = check.call(scores.transpose(dim, -1), dim=-1).transpose(dim, -1)
        check.equal(weights, turned, f"dim={dim} gives what dim=-1 gives on turned scores")
with Check("softmax", "a gradient") as check:
    scores = numbers(2, 5).requires_grad_()
    weights = check.call(scores, dim=-1)
    check.equal(
        check.gradient(weights[:, 0], scores).sum(-1),
        torch.zeros(2, dtype=torch.float64),
        "the same added to a whole row changes nothing, so the gradient of a row sums to 0",
        hint="every step must be a torch operation on the scores you are given",
    )
# BEGIN HIDDEN TESTS
with Check("softmax", "equal to torch.softmax in three dimensions") as check:
    for dim in (0, 1, 2, -1, -2):
        scores = numbers(2, 3, 4, seed=1, scale=3.0)
        expected = torch.softmax(scores, dim)
        check.equal(check.call(scores, dim=dim), expected, f"softmax along dim={dim}")
with Check("softmax", "one dimension, float32, and a view that is not contiguous") as check:
    scores = numbers(7, seed=2, dtype=torch.float32)
    check.equal(check.call(scores, dim=0), torch.softmax(scores, 0), "softmax of a vector")
    scores = numbers(4, 6, seed=3).T
    check.equal(check.call(scores, dim=-1), torch.softmax(scores, -1), "softmax of a view")
with Check("softmax", "gradients") as check:
    scores = numbers(2, 5, seed=4).requires_grad_()
    weights = check.call(scores, dim=-1)
    slope = check.gradient(weights[0, 1], scores)
    expected = check.gradient(torch.softmax(scores, -1)[0, 1], scores)
    check.equal(slope, expected, "the gradient of one weight by its scores")
# END HIDDEN TESTS

# %% check softmax_stable points=1
with Check("softmax", "large scores") as check:
    scores = torch.tensor(
        [[10000.0, 9999.0, -10000.0], [-9999.0, -10000.0, -10000.0]], dtype=torch.float64
    )
    weights = check.call(scores, dim=-1)
    near_zero = torch.tensor([[1.0, 0.0, -20000.0], [1.0, 0.0, 0.0]], dtype=torch.float64)
    check.equal(
        weights,
        torch.softmax(near_zero, -1),
        "rows at 10000 and at -10000 give the weights of [1, 0, -20000] and [1, 0, 0]: "
        "only differences count",
        hint="softmax does not change when you subtract one number from all scores of a row",
    )
# BEGIN HIDDEN TESTS
with Check("softmax", "rows far apart from one another") as check:
    for dtype in (torch.float64, torch.float32):
        scores = torch.tensor([[10000.0, 9999.0], [-9999.0, -10000.0], [1.0, 0.0]], dtype=dtype)
        expected = torch.softmax(scores, -1)
        # float32 has steps of 0.001 at 10000, which some correct formulas meet
        rows = check.call(scores, dim=-1)
        check.equal(rows, expected, "rows at +10000, -10000 and 0", within=1e-3)
        columns = check.call(scores.T.contiguous(), dim=0)
        check.equal(columns, expected.T, "columns at +10000, -10000 and 0", within=1e-3)
# END HIDDEN TESTS


# %% [markdown]
# Look at your softmax at work. The bars are what your own function makes of the scores 1, 2, 3, 4, divided by a **temperature**. Move its slider: drag it, or click it and press the arrow keys.

# %%
from transformer_course.widgets import show_softmax

show_softmax(softmax, [1.0, 2.0, 3.0, 4.0])

# %% [markdown]
# What to see: a high temperature brings all scores near zero, and the weights become equal. A low one spreads the scores, and the largest takes everything. Softmax is a soft choice: how soft depends on the scale of the scores. That will matter soon; the other experiment of this view, *d_k*, waits for part 6.

# %% [markdown]
# ## 4 · A first attention, without learning
#
# Now the second question: what is taken in? The words themselves, each as much as its weight says. With $x_j$ the vector of word $j$, and $w_{ij}$ its weight for word $i$, the new vector $y_i$ of word $i$ is
#
# $$y_i = \sum_j w_{ij}\, x_j$$
#
# Scores, softmax, weighted sum: with all words as the rows of $X$, the three steps are $\mathrm{softmax}(X X^\top)\, X$.

# %% [markdown]
# **Exercise** (5 minutes). Write it with your `softmax`.
#
# <details><summary>Hint</summary>Say the shapes aloud: (length, dim) times (dim, length) gives (length, length). Softmax keeps that. Times (length, dim) gives (length, dim). A row of scores belongs to the word that asks, so each <em>row</em> becomes weights.</details>


# %% exercise similarity_attention
def similarity_attention(x: Tensor) -> Tensor:
    """Let every word blend all words, weighted by softmax of their dot products.

    (length, dim) -> (length, dim). No scale, no learned parts.
    """
    # BEGIN SOLUTION
    scores = x @ x.T  # (length, length)
    return softmax(scores, dim=-1) @ x  # (length, dim)
    # END SOLUTION


# %% check similarity_attention points=2
hint = "three steps: dot products of all pairs, softmax of each row, weighted sum of words"
with Check("similarity_attention", "an example you can do by hand", hint) as check:
    # dot products: first word [1, 1], second word [1, 5]
    x = torch.tensor([[1.0, 0.0], [1.0, -2.0]], dtype=torch.float64)
    output = check.call(x)
    check.shape(output, length=2, dim=2)
    check.equal(
        output,
        torch.tensor([[1.0, -1.0], [1.0, -1.96403]], dtype=torch.float64),
        "[1, 0] weighs both words by 1/2; [1, -2] weighs itself by 0.982",
        within=1e-4,
    )
with Check("similarity_attention", "any number of words") as check:
    x = numbers(5, 3)
    output = check.call(x)
    check.shape(output, length=5, dim=3)
    inside = (output <= x.amax(0)) & (output >= x.amin(0))
    check.true(bool(inside.all()), "a blend lies between the smallest and the largest word")
# BEGIN HIDDEN TESTS
with Check("similarity_attention", "equal to the formula") as check:
    for scale, dtype in ((0.3, torch.float64), (1.7, torch.float64), (1.0, torch.float32)):
        x = numbers(6, 4, seed=5, scale=scale, dtype=dtype)
        expected = F.scaled_dot_product_attention(x, x, x, scale=1.0)
        check.equal(check.call(x), expected, "softmax(x xᵀ) x")
with Check("similarity_attention", "reordered words give reordered outputs") as check:
    x, order = numbers(5, 7, seed=6), torch.tensor([3, 0, 4, 1, 2])
    check.equal(check.call(x[order]), check.call(x)[order], "the order of words does not matter")
with Check("similarity_attention", "finite at large scale, with gradients") as check:
    x = numbers(4, 3, seed=7, scale=60.0).requires_grad_()
    expected = F.scaled_dot_product_attention(x, x, x, scale=1.0)
    output = check.call(x)
    check.equal(output, expected, "large words")
    check.equal(check.gradient(output, x), check.gradient(expected, x), "its gradient")
# END HIDDEN TESTS


# %%
for names, rows in (
    (["bank", "river", "money"], [0, 1, 2]),
    (["bank", "river", "stream"], [0, 1, 1]),
):
    before = three_words[rows]
    after = similarity_attention(before)
    about = ["water", "money"]
    stages = {"before": (before, "about", about), "after": (after, "about", about)}
    figures.steps(stages, "word", names)

# %% [markdown]
# What to see: beside *river* and *money*, the word *bank* stays torn between both (first row, upper picture). Put *stream*, another word about water, in place of *money*, and *bank* moves towards water (first row, lower picture). A word's vector now depends on its neighbours. That is what attention is for.

# %% [markdown]
# ### Bug hunt: a slide's formula
#
# A lecture slide gives these scores as `softmax(X * X^T, dim=1)`. Run it as it stands.

# %%
try:
    print(three_words * three_words.T)
except RuntimeError as error:
    print(f"X is {tuple(three_words.shape)}, and X * X.T stops: {error}")
square = three_words[:2]
print("and for two words with two features it gives, without complaint,\n", square * square.T)

# %% [markdown]
# In PyTorch `*` multiplies entry by entry. Most shapes refuse it; a square one gives wrong scores in silence, and that is the worse case.

# %% [markdown]
# **Exercise** (2 minutes). Write the scores that the slide means: only them, no softmax.
#
# <details><summary>Hint</summary>PyTorch has another sign for the product of matrices, and you have just used it.</details>


# %% exercise repaired_scores
def repaired_scores(x: Tensor) -> Tensor:
    """The score of every pair of words: what the slide means by X * X^T.

    (length, dim) -> (length, length).
    """
    # BEGIN SOLUTION
    return x @ x.T
    # END SOLUTION


# %% check repaired_scores points=1
with Check("repaired_scores", "an example you can do by hand") as check:
    x = torch.tensor([[1.0, 2.0], [0.0, 3.0]], dtype=torch.float64)
    scores = check.call(x)
    check.shape(scores, length=2, lengths=2)
    check.equal(
        scores,
        torch.tensor([[5.0, 6.0], [6.0, 9.0]], dtype=torch.float64),
        "entry [i, j] is the dot product of words i and j",
        hint="[1, 2] · [0, 3] = 1·0 + 2·3",
    )
# BEGIN HIDDEN TESTS
with Check("repaired_scores", "more words than features, and fewer") as check:
    for shape in ((5, 3), (2, 6), (1, 4)):
        x = numbers(*shape, seed=22, scale=2.0)
        expected = torch.einsum("id,jd->ij", x, x)
        check.equal(check.call(x), expected, "all dot products")
# END HIDDEN TESTS


# %% [markdown]
# ## 5 · Query, key, value: one word, three roles
#
# Look at the map of scores again: it is **symmetric**. What *bank* is to *river*, *river* is to *bank*. And no word fits *river* better than *river* itself. Language is not like that. *It* looks for *animal*, but *animal* does not look for *it*.
#
# So give each word three vectors, one for each role it plays:
#
# | role | name | what it says |
# |---|---|---|
# | asks | **query** $q_i$ | what word $i$ looks for |
# | answers | **key** $k_j$ | what word $j$ offers to be found by |
# | gives | **value** $v_j$ | what is taken in from word $j$ |
#
# Think of a library search: your query is matched against the titles (keys), and what you carry home is the books (values).
#
# Each role is a learned matrix applied to the same word: $Q = X W^Q$, $K = X W^K$, $V = X W^V$. Each row of $X$ is a word of width $d_{\text{model}}$; each matrix has the shape $(d_{\text{model}}, d_{\text{out}})$. Queries and keys meet in a dot product, so they share a width, $d_k$. Values may have another, $d_v$.

# %% [markdown]
# **Exercise** (5 minutes). Project the words into their roles.
#
# <details><summary>Hint</summary>A word is a row of x. (…, length, d_model) times (d_model, d_out): on which side does the matrix stand?</details>


# %% exercise project_qkv
def project_qkv(
    x: Tensor, w_query: Tensor, w_key: Tensor, w_value: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Project every word into its three roles; return (query, key, value).

    x: (…, length, d_model). Each matrix: (d_model, d_out), with its own d_out.
    Each result: (…, length, d_out).
    """
    # BEGIN SOLUTION
    return x @ w_query, x @ w_key, x @ w_value
    # END SOLUTION


# %% check project_qkv points=2
hint = "a word is a row of x, so the matrix stands on its right"
with Check("project_qkv", "an example you can do by hand", hint) as check:
    x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 3.0]], dtype=torch.float64)
    w_query = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64)
    w_key = torch.tensor([[0.0, 1.0], [1.0, 1.0]], dtype=torch.float64)
    w_value = torch.tensor([[5.0, 0.0], [-6.0, 7.0]], dtype=torch.float64)
    query, key, value = check.call(x, w_query, w_key, w_value, returns=("query", "key", "value"))
    for name, role, rows in (
        ("query", query, [[1.0, 2.0], [3.0, 4.0], [11.0, 16.0]]),
        ("key", key, [[0.0, 1.0], [1.0, 1.0], [3.0, 5.0]]),
        ("value", value, [[5.0, 0.0], [-6.0, 7.0], [-8.0, 21.0]]),
    ):
        expected = torch.tensor(rows, dtype=torch.float64)
        check.equal(role, expected, f"{name}: each row of x times w_{name}")
with Check("project_qkv", "a batch of sequences, and a width for each role", hint) as check:
    x, w_query, w_key, w_value = numbers(6, 3, 4), numbers(4, 5), numbers(4, 5), numbers(4, 2)
    query, key, value = check.call(x, w_query, w_key, w_value, returns=("query", "key", "value"))
    check.shape(query, batch=6, length=3, d_k=5)
    check.shape(key, batch=6, length=3, d_k=5)
    check.shape(value, batch=6, length=3, d_v=2)
# BEGIN HIDDEN TESTS
with Check("project_qkv", "batches of sequences") as check:
    x = numbers(2, 3, 5, 4, seed=8)
    w_query, w_key, w_value = (numbers(4, width, seed=width) for width in (6, 7, 1))
    roles = check.call(x, w_query, w_key, w_value, returns=("query", "key", "value"))
    for role, matrix in zip(roles, (w_query, w_key, w_value), strict=True):
        expected = torch.einsum("...ld,do->...lo", x, matrix)
        check.equal(role, expected, "every word of every sequence, projected")
with Check("project_qkv", "float32, and gradients to each matrix") as check:
    x = numbers(3, 4, seed=9, dtype=torch.float32)
    matrices = [numbers(4, 4, seed=s, dtype=torch.float32).requires_grad_() for s in (10, 11, 12)]
    roles = check.call(x, *matrices, returns=("query", "key", "value"))
    column_sums = x.sum(0)[:, None].expand(4, 4)
    for i, role in enumerate(roles):
        for j, matrix in enumerate(matrices):
            expected = column_sums if i == j else torch.zeros(4, 4)
            check.equal(check.gradient(role, matrix), expected, "a role depends on its own matrix")
# END HIDDEN TESTS


# %% [markdown]
# ## 6 · Why the scores are scaled
#
# One thing is left before the full formula. Queries and keys have $d_k$ features. A dot product adds up $d_k$ products. Its mean stays zero, but its spread grows with $d_k$. How fast?
#
# **Predict.** The entries of $q$ and $k$ are independent with mean 0 and standard deviation 1. What is the standard deviation of $q \cdot k$ for $d_k = 64$? Put your guess into the next cell, and find it as a star in the picture below.

# %%
my_guess = None  # a number above 0

# %%
generator = torch.Generator().manual_seed(0)
widths = [1, 4, 16, 64, 256, 1024]
measured = []
for width in widths:
    many_q, many_k = torch.randn(2, 4000, width, generator=generator)
    measured.append((many_q * many_k).sum(-1).std().item())
for width, spread in zip(widths, measured, strict=True):
    print(f"d_k = {width:5}   standard deviation of q·k = {spread:6.2f}   √d_k = {width**0.5:6.2f}")
figures.curves(
    widths,
    {"√d_k": [width**0.5 for width in widths]},
    dots={"measured": measured},
    x="d_k, the width of queries and keys",
    y="standard deviation of q·k",
    title="How dot products grow with their width",
    logarithmic="xy",
    marked={"your guess": (64, my_guess)} if my_guess else {},
)

# %% [markdown]
# What to see: the dots lie on $\sqrt{d_k}$. The reason: the products $q_1 k_1, q_2 k_2, \dots$ of the features have mean 0 and variance 1 each (for independent numbers of mean 0, the variance of a product is the product of the variances: 1 · 1). Variances of independent numbers add up, to $d_k$ times 1. The standard deviation is its root.
#
# And why is that bad? You saw in part 3 what softmax does with large scores: one weight takes all. Then small changes of the scores change nothing any more: the **gradient** vanishes, and a model that starts there cannot learn. Measure it with your own softmax: how much do the weights change when the scores change a little?


# %%
def gradient_size(scores: Tensor) -> float:
    """How much the weights change with the scores: the norm of all derivatives (the Jacobian)."""
    jacobian = torch.autograd.functional.jacobian(lambda s: softmax(s, dim=-1), scores)
    return torch.as_tensor(jacobian).norm().item()


def mean_gradient(width: int, scale: float) -> float:
    """Its mean over 40 random queries with 10 keys each."""
    generator = torch.Generator().manual_seed(width)
    queries, keys = torch.randn(2, 40, 10, width, generator=generator)
    return sum(gradient_size(row) for row in (queries[:, :1] * keys).sum(-1) * scale) / 40


sizes = {
    "q·k": [mean_gradient(width, 1.0) for width in widths],
    "q·k / √d_k": [mean_gradient(width, width**-0.5) for width in widths],
}
print(f"at d_k = 1024: {sizes['q·k'][-1]:.3f} unscaled, {sizes['q·k / √d_k'][-1]:.3f} scaled")
figures.curves(
    widths,
    sizes,
    x="d_k, the width of queries and keys",
    y="size of softmax's gradient",
    title="Without the scale the gradient dies",
    logarithmic="x",
    bottom=0.0,
)

# %% [markdown]
# What to see: without the scale the gradient falls towards zero as $d_k$ grows. Divided by $\sqrt{d_k}$ the scores have standard deviation 1 at every width, and the gradient stays as it is.
#
# Watch it happen to one query: go back to the view in part 3, choose the experiment *d_k*, and move its slider with and without the division.

# %% [markdown]
# ## 7 · By hand, once
#
# Before you let the machine do it, do it yourself, once, with pencil, paper and a calculator for exp. Two words, $d_k = 2$:
#
# | word | query | key | value |
# |---|---|---|---|
# | *flying* | [0, 1] | [1, 1] | [1, 0] |
# | *arrows* | [1, 1] | [0, −1] | [−1, 1] |
#
# For *flying*: take the dot product of its query with both keys, divide both by $\sqrt{2}$, take the softmax, and sum the two values with these weights. Two numbers come out.

# %% [markdown]
# **Exercise** (10 minutes). Give them to three decimals. The check knows the result, and a few ways to miss it.

# %% exercise flying_output
# flying_output = [?, ?]      two numbers, to three decimals
# BEGIN SOLUTION
flying_output = [0.609, 0.196]
# END SOLUTION

# %% check flying_output points=1
with Check("flying_output", "what `flying` becomes") as check:
    answer = check.value(2)
    hint = "go through it in order: two dot products, each / √2, softmax, blend; then round"
    check.equal(
        answer[0] + 2 * answer[1],
        torch.tensor(1.0, dtype=torch.float64),
        "every blend of [1, 0] and [-1, 1] is a pair [a, b] with a + 2b = 1",
        hint="either the weights do not sum to 1, or the values are not blended by them, or the "
        "two numbers stand in the wrong order",
        within=0.02,  # two decimals are accepted
    )
    check.seal(answer, "4aeb18809961b9c5", "the numbers are not right yet", hint)
# BEGIN HIDDEN TESTS
with Check("flying_output", "three decimals") as check:
    expected = torch.tensor([0.6089, 0.1956], dtype=torch.float64)
    check.equal(check.value(2), expected, "flying", within=0.005)
# END HIDDEN TESTS


# %% [markdown]
# **Exercise** (3 minutes). Now the same for *arrows*: its own query, the same two keys, the same two values.

# %% exercise arrows_output
# arrows_output = [?, ?]      two numbers, to three decimals
# BEGIN SOLUTION
arrows_output = [0.786, 0.107]
# END SOLUTION

# %% check arrows_output points=1
with Check("arrows_output", "what `arrows` becomes") as check:
    answer = check.value(2)
    hint = "go through it in order: two dot products, each / √2, softmax, blend; then round"
    check.equal(
        answer[0] + 2 * answer[1],
        torch.tensor(1.0, dtype=torch.float64),
        "every blend of [1, 0] and [-1, 1] is a pair [a, b] with a + 2b = 1",
        hint="either the weights do not sum to 1, or the values are not blended by them, or the "
        "two numbers stand in the wrong order",
        within=0.02,  # two decimals are accepted
    )
    check.seal(answer, "3806d426d8c4247d", "the numbers are not right yet", hint)
# BEGIN HIDDEN TESTS
with Check("arrows_output", "three decimals") as check:
    expected = torch.tensor([0.7859, 0.1070], dtype=torch.float64)
    check.equal(check.value(2), expected, "arrows", within=0.005)
# END HIDDEN TESTS


# %% [markdown]
# ## 8 · Scaled dot-product attention
#
# You have every part. With $Q$, $K$ and $V$ holding a word's query, key and value in each row:
#
# $$\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V$$
#
# (Vaswani et al., *Attention Is All You Need*, 2017, section 3.2.1.)
#
# Two things to mind. There may be fewer queries than keys, or more: the scores are (query, key), not square. And there may be a batch of sequences, or a batch of batches: `@` and `transpose(-2, -1)` work on the last two axes and leave all others alone.
#
# **Predict.** `key` has the shape (8, 20, 64): 8 sequences, 20 words, width 64. What is the shape of `key.transpose(0, 1)`?
#
# <details><summary>(8, 64, 20)</summary>That is transpose(-2, -1), and what the scores need. Axes 0 and 1 are the batch and the length.</details>
# <details><summary>(20, 8, 64)</summary>Yes, and it would mix the sequences. Count from the end, and a batch can never get in the way.</details>
# <details><summary>(64, 20, 8)</summary>That reverses all axes, as .T does: on a batch PyTorch warns you, for good reason.</details>

# %% [markdown]
# **Exercise** (15 minutes). The heart of the course.
#
# <details><summary>Hint 1</summary>Three lines: scores, weights, output. Write the shape beside each.</details>
# <details><summary>Hint 2</summary>Which number is d_k? The last axis of the query, whatever stands before it.</details>


# %% exercise scaled_dot_product_attention
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor
) -> tuple[Tensor, Tensor]:
    """softmax(query keyᵀ / √d_k) value; return (output, weights).

    query (…, query_length, d_k), key (…, key_length, d_k), value (…, key_length, d_v)
    -> output (…, query_length, d_v), weights (…, query_length, key_length).
    Any leading dimensions; float64 in gives float64 accuracy. Vaswani et al. 2017, section 3.2.1.
    """
    # BEGIN SOLUTION
    scores = query @ key.transpose(-2, -1)  # (…, query_length, key_length)
    weights = softmax(scores / math.sqrt(query.shape[-1]), dim=-1)
    return weights @ value, weights
    # END SOLUTION


# %% check scaled_dot_product_attention points=2
hint = "dot product with every key, divide by √d_k, softmax over the keys, weighted sum of values"
with Check("scaled_dot_product_attention", "an example you can do by hand", hint) as check:
    query = torch.tensor([[2.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0]], dtype=torch.float64)
    # d_k = 4, so the scale is 1/2, and exp of the scaled scores is 1, 2, 5 and 3, 1, 1
    powers = [[1.0, 3.0, 1.0, 1.0], [2.0, 1.0, 1.0, 1.0], [5.0, 1.0, 1.0, 1.0]]
    key = torch.tensor(powers, dtype=torch.float64).log()
    value = torch.tensor(
        [[8.0, 0.0, 0.0, 1.0, 0.0], [0.0, 8.0, 0.0, 0.0, 5.0], [8.0, 8.0, 4.0, 1.0, 0.0]],
        dtype=torch.float64,
    )
    output, weights = check.call(query, key, value, returns=("output", "weights"))
    check.shape(weights, query=2, key=3)
    check.equal(
        weights,
        torch.tensor([[1 / 8, 2 / 8, 5 / 8], [3 / 5, 1 / 5, 1 / 5]], dtype=torch.float64),
        "each row of weights is the softmax of one query's scaled scores",
    )
    check.shape(output, query=2, d_v=5)
    check.equal(
        output,
        torch.tensor([[6.0, 7.0, 2.5, 0.75, 1.25], [6.4, 3.2, 0.8, 0.8, 1.0]], dtype=torch.float64),
        "each row of the output is the weighted sum of the values",
        hint="(query, key) @ (key, d_v) -> (query, d_v)",
    )
with Check("scaled_dot_product_attention", "another width, to full accuracy") as check:
    # d_k = 3, and again exp of the scaled scores is 1, 2, 5
    query = torch.tensor([[3**0.5, 0.0, 0.0]], dtype=torch.float64)
    powers = [[1.0, 3.0, 1.0], [2.0, 1.0, 1.0], [5.0, 1.0, 1.0]]
    key, value = torch.tensor(powers, dtype=torch.float64).log(), numbers(3, 2)
    output, weights = check.call(query, key, value, returns=("output", "weights"))
    check.equal(
        weights,
        torch.tensor([[1 / 8, 2 / 8, 5 / 8]], dtype=torch.float64),
        "for these words of width 3 the weights are 1/8, 2/8, 5/8",
        hint="read d_k from the shape of the query, and take its root as a plain Python number",
    )
# BEGIN HIDDEN TESTS
with Check("scaled_dot_product_attention", "equal to PyTorch's, at several scales") as check:
    for scale, dtype in ((0.2, torch.float64), (4.0, torch.float64), (1.0, torch.float32)):
        query = numbers(3, 7, seed=1, scale=scale, dtype=dtype)
        key = numbers(5, 7, seed=2, scale=scale, dtype=dtype)
        value = numbers(5, 2, seed=3, scale=scale, dtype=dtype)
        output, weights = check.call(query, key, value, returns=("output", "weights"))
        expected = F.scaled_dot_product_attention(query, key, value)
        check.equal(output, expected, "PyTorch's output")
        everything = torch.eye(5, dtype=dtype)
        expected = F.scaled_dot_product_attention(query, key, everything)
        check.equal(weights, expected, "PyTorch's weights")
with Check("scaled_dot_product_attention", "large scores stay finite") as check:
    query, key = numbers(3, 6, seed=4, scale=100.0), numbers(5, 6, seed=5, scale=100.0)
    value = numbers(5, 4, seed=6)
    output, weights = check.call(query, key, value, returns=("output", "weights"))
    check.equal(output, F.scaled_dot_product_attention(query, key, value), "PyTorch's output")
with Check("scaled_dot_product_attention", "keys and values reordered together") as check:
    query, key, value = numbers(2, 6, seed=7), numbers(5, 6, seed=8), numbers(5, 3, seed=9)
    order = torch.tensor([4, 2, 0, 1, 3])
    names = ("output", "weights")
    output, weights = check.call(query, key, value, returns=names)
    shuffled_output, shuffled_weights = check.call(query, key[order], value[order], returns=names)
    check.equal(shuffled_output, output, "the output stays as it was")
    check.equal(shuffled_weights, weights[:, order], "the weights follow their keys")
# END HIDDEN TESTS


# %% [markdown]
# And in batches:

# %% check scaled_dot_product_attention_batches points=2
hint = "count axes from the end: they mean the same with and without a batch"
with Check("scaled_dot_product_attention", "a batch of sequences", hint) as check:
    query, key, value = numbers(2, 3, 6), numbers(2, 4, 6, seed=1), numbers(2, 4, 5, seed=2)
    output, weights = check.call(query, key, value, returns=("output", "weights"))
    check.shape(weights, batch=2, query=3, key=4)
    check.equal(
        weights.sum(-1),
        torch.ones(2, 3, dtype=torch.float64),
        "the weights of every query sum to 1 over the keys",
    )
    check.shape(output, batch=2, query=3, d_v=5)
    alone, _ = check.call(query[1], key[1], value[1], returns=("output", "weights"))
    check.equal(
        output[1],
        alone,
        "a sequence gives the same output in a batch as it gives alone",
    )
# BEGIN HIDDEN TESTS
with Check("scaled_dot_product_attention", "several leading dimensions") as check:
    for leading in ((1,), (3,), (2, 3), (2, 1, 3)):
        query = numbers(*leading, 4, 6, seed=10)
        key = numbers(*leading, 5, 6, seed=11)
        value = numbers(*leading, 5, 7, seed=12)
        output, weights = check.call(query, key, value, returns=("output", "weights"))
        expected = F.scaled_dot_product_attention(query, key, value)
        check.equal(output, expected, f"leading dimensions {leading}")
        check.shape(weights, **dict(zip("abc", leading, strict=False)), query=4, key=5)
with Check("scaled_dot_product_attention", "all lengths and widths equal") as check:
    query, key, value = (numbers(4, 4, 4, seed=s) for s in (13, 14, 15))
    output, weights = check.call(query, key, value, returns=("output", "weights"))
    check.equal(output, F.scaled_dot_product_attention(query, key, value), "PyTorch's output")
with Check("scaled_dot_product_attention", "no gradient between sequences") as check:
    query, key, value = (
        numbers(2, 3, 4, seed=16),
        numbers(2, 5, 4, seed=17),
        numbers(2, 5, 6, seed=18),
    )
    sources = [source.requires_grad_() for source in (query, key, value)]
    output, _ = check.call(query, key, value, returns=("output", "weights"))
    expected = F.scaled_dot_product_attention(query, key, value)
    for source in sources:
        slope = check.gradient(output[0].square(), source)
        check.equal(slope[1], torch.zeros_like(slope[1]), "no leak into the other sequence")
        check.equal(slope, check.gradient(expected[0].square(), source), "PyTorch's gradient")
with Check("scaled_dot_product_attention", "views that are not contiguous") as check:
    query = numbers(2, 6, 3, seed=19).transpose(1, 2)
    key, value = (
        numbers(2, 6, 5, seed=20).transpose(1, 2),
        numbers(5, 2, 4, seed=21).transpose(0, 1),
    )
    output, _ = check.call(query, key, value, returns=("output", "weights"))
    check.equal(output, F.scaled_dot_product_attention(query, key, value), "PyTorch's output")
# END HIDDEN TESTS


# %% [markdown]
# Now let your function do your handwork, step by step. Choose a pair of words with the arrow keys, and follow it from the dot product to the output. Does the last step agree with your pencil?

# %%
from transformer_course.widgets import show_attention_steps

two_queries = torch.tensor([[0.0, 1.0], [1.0, 1.0]])
two_keys = torch.tensor([[1.0, 1.0], [0.0, -1.0]])
two_values = torch.tensor([[1.0, 0.0], [-1.0, 1.0]])
pair = ["flying", "arrows"]
show_attention_steps(scaled_dot_product_attention, two_queries, two_keys, two_values, pair)

# %% [markdown]
# What to see: a row of weights holds the share of each word; the same row of the output blends the two values in just these shares. Take the division by $\sqrt{d_k}$ out, and see which weights move.

# %% [markdown]
# ### Bug hunt: two more slides
#
# A second slide has queries, keys and values **in a batch**, so its scores $E$ have the shape (batch, query, key), and takes `A = softmax(E, dim=1)`. Run it, and look at the sums.

# %%
of_the_slide = torch.softmax(numbers(2, 3, 4, dtype=torch.float32), dim=1)
print("sums over the keys, one for each query: they should all be 1\n", of_the_slide.sum(-1))

# %% [markdown]
# **Exercise** (2 minutes). Correct it.
#
# <details><summary>Hint</summary>Whose weights must sum to 1: those that one query gives to all keys, or those that one key gets from all queries?</details>


# %% exercise repaired_weights
def repaired_weights(energies: Tensor) -> Tensor:
    """Turn a batch of scores into attention weights: what the slide means by softmax(E, dim=1).

    (batch, query, key) -> (batch, query, key).
    """
    # BEGIN SOLUTION
    return softmax(energies, dim=-1)
    # END SOLUTION


# %% check repaired_weights points=1
with Check("repaired_weights", "every query's weights") as check:
    energies = numbers(2, 3, 4, scale=2.0)
    weights = check.call(energies)
    check.shape(weights, batch=2, query=3, key=4)
    check.equal(
        weights.sum(-1),
        torch.ones(2, 3, dtype=torch.float64),
        "the weights of every query sum to 1 over the keys",
        hint="which axis of (batch, query, key) does dim=1 name?",
    )
with Check("repaired_weights", "an example you can do by hand") as check:
    # exp of the energies counts from 1 to 24
    powers = torch.arange(1.0, 25.0, dtype=torch.float64).reshape(2, 3, 4)
    weights = check.call(powers.log())
    check.equal(
        weights[0, 0],
        torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64),
        "the first query's weights are tenths: 1, 2, 3, 4 divided by their sum",
        hint="softmax of these scores, over the keys, and nothing else",
    )
# BEGIN HIDDEN TESTS
with Check("repaired_weights", "equal to PyTorch's softmax over the keys") as check:
    for shape in ((2, 3, 4), (3, 3, 3), (1, 5, 2)):
        energies = numbers(*shape, seed=23, scale=3.0)
        check.equal(check.call(energies), torch.softmax(energies, 2), "softmax over the keys")
# END HIDDEN TESTS


# %% [markdown]
# A third slide weighs four values by
#
# $$\lambda_i = \frac{e^{q \cdot k_i}}{\sum_{i=1}^{4} e^{q \cdot k_i}}$$
#
# Two things are off. The $i$ of the sum should have a name of its own, because the $i$ on the left means something else. And a part of the formula of this section is missing. **Predict** which, before you run the next cell.

# %%
wide_query, wide_keys = numbers(64), numbers(4, 64, seed=1)
print("λ as on the slide, for d_k = 64:", torch.softmax(wide_keys @ wide_query, 0).numpy().round(3))

# %% [markdown]
# **Exercise** (3 minutes). One query, all its weights, with the missing part put back.
#
# <details><summary>Hint</summary>Compare the exponent with the scores of your own attention. What does yours have that q · k lacks?</details>


# %% exercise repaired_lambdas
def repaired_lambdas(query: Tensor, keys: Tensor) -> Tensor:
    """The weights λ of one query over all keys, with what the slide leaves out.

    query (d_k,), keys (length, d_k) -> (length,).
    """
    # BEGIN SOLUTION
    return softmax(keys @ query / math.sqrt(len(query)), dim=0)
    # END SOLUTION


# %% check repaired_lambdas points=1
with Check("repaired_lambdas", "an example you can do by hand") as check:
    query = torch.tensor([2.0, 2.0, 0.0, 0.0], dtype=torch.float64)
    powers = [[1.0, 1.0, 3.0, 1.0], [2.0, 1.0, 1.0, 1.0], [1.0, 5.0, 1.0, 1.0]]
    lambdas = check.call(query, torch.tensor(powers, dtype=torch.float64).log())
    check.shape(lambdas, length=3)
    check.equal(
        lambdas,
        torch.tensor([1 / 8, 2 / 8, 5 / 8], dtype=torch.float64),
        "for these four-dimensional words λ is 1/8, 2/8, 5/8",
        hint="compare the slide's exponent with the score that your attention uses",
    )
with Check("repaired_lambdas", "another width") as check:
    query = torch.tensor([3**0.5, 0.0, 0.0], dtype=torch.float64)
    powers = [[1.0, 3.0, 1.0], [2.0, 1.0, 1.0], [5.0, 1.0, 1.0]]
    check.equal(
        check.call(query, torch.tensor(powers, dtype=torch.float64).log()),
        torch.tensor([1 / 8, 2 / 8, 5 / 8], dtype=torch.float64),
        "for these three-dimensional words λ is 1/8, 2/8, 5/8",
        hint="read the width from the shape of the query",
    )
# BEGIN HIDDEN TESTS
with Check("repaired_lambdas", "equal to PyTorch's attention") as check:
    for length, width in ((5, 3), (4, 9), (3, 3), (1, 6)):
        query, keys = numbers(width, seed=24, scale=2.0), numbers(length, width, seed=25)
        lambdas = check.call(query, keys)
        weights = F.scaled_dot_product_attention(
            query[None], keys, torch.eye(length, dtype=torch.float64)
        )
        check.equal(lambdas, weights[0], "PyTorch's weights")
# END HIDDEN TESTS


# %% [markdown]
# ## 9 · A module that learns
#
# The three matrices are what a model learns. In PyTorch, what is learned lives in an `nn.Module`: here three `nn.Linear` layers without bias, then your attention. An `nn.Linear(d_model, d_head)` holds its matrix as (d_head, d_model) and computes `x @ weight.T`, so calling it is all you need. Here `d_head` is the width of queries, keys and values alike ($d_k = d_v$). One such module is called a **head**; lesson 3 joins several.

# %% [markdown]
# **Exercise** (10 minutes). The names of the three parts matter: the check loads weights by them.
#
# <details><summary>Hint</summary>Make the layers in <code>__init__</code>, after <code>super().__init__()</code>, and keep each one on <code>self</code>. In <code>forward</code>, call each layer on x, and give the three results to your own attention.</details>


# %% exercise SelfAttention
class SelfAttention(nn.Module):
    """One head of self-attention with learned projections.

    Parts: `w_query`, `w_key`, `w_value`, each an `nn.Linear(d_model, d_head)` without bias.
    forward: x (…, length, d_model) -> output (…, length, d_head), weights (…, length, length).
    """

    def __init__(self, d_model: int, d_head: int) -> None:
        # BEGIN SOLUTION
        super().__init__()
        self.w_query = nn.Linear(d_model, d_head, bias=False)
        self.w_key = nn.Linear(d_model, d_head, bias=False)
        self.w_value = nn.Linear(d_model, d_head, bias=False)
        # END SOLUTION

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        # BEGIN SOLUTION
        return scaled_dot_product_attention(self.w_query(x), self.w_key(x), self.w_value(x))
        # END SOLUTION


# %% check SelfAttention points=3
hint = "call the three layers on x, then your scaled_dot_product_attention on what they give"
with Check("SelfAttention", "an example you can do by hand", hint) as check:
    query = torch.zeros(3, 4, dtype=torch.float64)
    query[0, 0] = query[1, 1] = 2.0
    powers = [[1.0, 3.0, 1.0, 1.0], [2.0, 1.0, 1.0, 1.0], [5.0, 1.0, 1.0, 1.0]]
    key = torch.tensor(powers, dtype=torch.float64).log()
    value = torch.tensor(
        [[8.0, 0.0, 0.0, 3.0], [0.0, 8.0, 0.0, 0.0], [8.0, 8.0, -4.0, 0.0]], dtype=torch.float64
    )
    # twelve features: the first four are a word's query, the next its key, the last its value
    x, pick = torch.cat([query, key, value], dim=-1), torch.eye(12, dtype=torch.float64)
    attention = check.build(12, 4).double()
    attention.load(
        {"w_query.weight": pick[:4], "w_key.weight": pick[4:8], "w_value.weight": pick[8:]}
    )
    output, weights = attention.call(x, returns=("output", "weights"))
    check.shape(weights, query=3, key=3)
    check.equal(
        weights,
        torch.tensor(
            [[1 / 8, 2 / 8, 5 / 8], [3 / 5, 1 / 5, 1 / 5], [1 / 3, 1 / 3, 1 / 3]],
            dtype=torch.float64,
        ),
        "each row of weights is the softmax of one query's scaled scores",
    )
    check.shape(output, length=3, d_head=4)
    check.equal(
        output,
        torch.tensor(
            [[6.0, 7.0, -2.5, 0.375], [6.4, 3.2, -0.8, 1.8], [16 / 3, 16 / 3, -4 / 3, 1.0]],
            dtype=torch.float64,
        ),
        "each row of the output is the weighted sum of the projected values",
        hint="what is averaged is w_value(x), not x",
    )
with Check("SelfAttention", "a batch of sequences") as check:
    attention, x = check.build(5, 2).double(), numbers(3, 4, 5)
    attention.load({f"w_{role}.weight": numbers(2, 5) for role in ("query", "key", "value")})
    output, weights = attention.call(x, returns=("output", "weights"))
    check.shape(weights, batch=3, query=4, key=4)
    alone, _ = attention.call(x[1], returns=("output", "weights"))
    check.equal(output[1], alone, "a sequence gives the same output in a batch as it gives alone")
    slopes = attention.gradients(output.square()).values()
    check.true(all(bool(s.abs().max() > 0) for s in slopes), "a gradient reaches every layer")
# BEGIN HIDDEN TESTS
with Check("SelfAttention", "the weights of PyTorch's own block") as check:
    for width, seed in ((6, 26), (3, 27)):
        theirs = nn.MultiheadAttention(width, 1, bias=False, batch_first=True).double()
        packed = numbers(3 * width, width, seed=seed)
        identity = torch.eye(width, dtype=torch.float64)
        theirs.load_state_dict({"in_proj_weight": packed, "out_proj.weight": identity})
        names = ("w_query.weight", "w_key.weight", "w_value.weight")
        attention = check.build(width, width).double()
        attention.load(dict(zip(names, packed.chunk(3), strict=True)))
        x = numbers(2, 5, width, seed=seed + 10)
        output, weights = attention.call(x, returns=("output", "weights"))
        expected_output, expected_weights = theirs(x, x, x)
        check.equal(output, expected_output.detach(), "nn.MultiheadAttention's output")
        check.equal(weights, expected_weights.detach(), "nn.MultiheadAttention's weights")
with Check("SelfAttention", "d_head different from d_model, without a batch and with two") as check:
    for leading in ((), (4,), (2, 3)):
        attention = check.build(7, 3)
        x = numbers(*leading, 5, 7, seed=28, dtype=torch.float32)
        output, weights = attention.call(x, returns=("output", "weights"))
        matrices = attention.state()
        query, key, value = (
            x @ matrices[f"w_{role}.weight"].T for role in ("query", "key", "value")
        )
        expected = F.scaled_dot_product_attention(query, key, value)
        check.equal(output.detach(), expected, "PyTorch's output")
        check.true(weights.shape == (*leading, 5, 5), "one weight for each pair of words")
with Check("SelfAttention", "its parameters, and a gradient to each of them") as check:
    attention = check.build(6, 4)
    output, _ = attention.call(numbers(2, 5, 6, seed=29, dtype=torch.float32), returns=("o", "w"))
    slopes = attention.gradients(output.square())
    shapes = {name: tuple(slope.shape) for name, slope in slopes.items()}
    wanted = {f"w_{role}.weight": (4, 6) for role in ("query", "key", "value")}
    check.true(shapes == wanted, f"parameters {wanted}, nothing else")
    for name, slope in slopes.items():
        check.true(bool(slope.abs().max() > 0), f"a gradient reaches {name}")
with Check("SelfAttention", "two modules do not share their weights") as check:
    first, second = check.build(5, 5), check.build(5, 5)
    zeros = {f"w_{role}.weight": torch.zeros(5, 5) for role in ("query", "key", "value")}
    kept = second.state()
    first.load(zeros)
    for name, weight in second.state().items():
        check.equal(weight, kept[name], f"{name} of the other module")
# END HIDDEN TESTS


# %% [markdown]
# ## 10 · Tired or wide: a model that learns where to look
#
# Back to the first picture. You let a small model of your own `SelfAttention` learn what *it* stands for, from sentences of one kind. Some pairs of nouns are **held out**: in training the model never sees *animal* and *street* in one sentence.

# %%
animals = ["animal", "dog", "cat", "child", "horse"]
places = ["street", "river", "field", "bridge", "road"]
of_animals = ["tired", "hungry", "afraid", "lazy"]
of_places = ["wide", "busy", "flooded", "icy"]


def sentence(animal: str, place: str, adjective: str) -> list[str]:
    return f"the {animal} didn't cross the {place} because it was too {adjective}".split()


pairs = [(animal, place) for animal in animals for place in places]
sentences = [sentence(*pair, adjective) for pair in pairs for adjective in of_animals + of_places]
index_of = {word: i for i, word in enumerate(sorted({w for words in sentences for w in words}))}
tokens = torch.tensor([[index_of[word] for word in words] for words in sentences])
IT = 7  # the place of `it`; the animal stands at 1, the place at 5
meant = torch.tensor([1 if words[-1] in of_animals else 5 for words in sentences])
# five pairs of nouns are never seen together: animal and street, dog and river, and so on
unseen = list(zip(animals, places, strict=True))
held_out = torch.tensor([(words[1], words[5]) in unseen for words in sentences])
print(f"{len(sentences)} sentences, {int(held_out.sum())} of them held out, {len(index_of)} words")

# %% [markdown]
# The model (training it takes a few seconds): each word becomes a learned vector; each layer adds to a word what your attention takes in; the weights of *it* in the last layer are the answer. The loss is small when *it* puts its weight on the right word.


# %%
class Reader(nn.Module):
    """Layers of self-attention on learned words; returns the weights of each layer."""

    def __init__(self, num_layers: int, d_model: int = 16) -> None:
        super().__init__()
        self.words = nn.Embedding(len(index_of), d_model)
        self.layers = nn.ModuleList(SelfAttention(d_model, d_model) for _ in range(num_layers))

    def forward(self, tokens: Tensor) -> list[Tensor]:
        x = self.words(tokens)  # (batch, length, d_model)
        all_weights = []
        for layer in self.layers:
            taken_in, weights = layer(x)
            x = x + taken_in
            all_weights.append(weights)  # (batch, length, length)
        return all_weights


def train(num_layers: int) -> Reader:
    """Train a reader; print how often `it` looks at the right noun in held-out sentences."""
    torch.manual_seed(0)
    reader = Reader(num_layers)
    optimizer = torch.optim.Adam(reader.parameters(), lr=0.01)
    loss = torch.tensor(0.0)
    for _ in range(300):
        weights = reader(tokens[~held_out])[-1][:, IT]  # (batch, length)
        # minus the log of the weight on the right word
        loss = F.nll_loss((weights + 1e-9).log(), meant[~held_out])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        weights = reader(tokens[held_out])[-1][:, IT]
    nouns = torch.tensor([1, 5])
    looks_at = nouns[weights[:, nouns].argmax(-1)]
    right = (looks_at == meant[held_out]).float().mean()
    print(f"{num_layers} layer(s): loss {loss.item():.3f}, {right:.0%} of held-out sentences right")
    return reader


# %% [markdown]
# **Predict.** With **one** layer, how many of the held-out sentences come out right?
#
# <details><summary>All</summary>In one layer the query of <em>it</em> is made from <em>it</em> alone. What would have told it about <em>tired</em>?</details>
# <details><summary>About half</summary>Yes. <em>it</em> asks the same question in every sentence, so animal and street get the same answer whatever the last word is.</details>
# <details><summary>None</summary>To be always wrong you must know what is right. The model cannot tell the two cases apart, so it hits one of them.</details>

# %%
from transformer_course.widgets import show_attention

train(num_layers=1)
reader = train(num_layers=2)
pictures = {}
for adjective in ("tired", "wide"):
    words = sentence("animal", "street", adjective)
    with torch.no_grad():
        layers = reader(torch.tensor([[index_of[word] for word in words]]))
    pictures[f"too {adjective}"] = (words, IT, layers[-1][0, IT])
figures.word_links(pictures)
# of the last sentence all weights: (layer, head, query, key), with one head in each layer
show_attention(torch.stack(layers), words, title="your model's weights on “too wide”")

# %% [markdown]
# What to see: one layer is no better than a coin, and its loss says so: $\ln 2 = 0.693$. Two layers find the animal when it is tired and the street when it is wide, though they never saw the two together.
#
# The map below shows all weights of both layers. It counts from 0, as code does, so its layer 1 is the second. There, find the row of *it*. Then switch to the first layer, and look which rows put weight on the last word.
#
# How does it work? The two sentences differ in their last word alone. In layer 2 the weights of *it* differ, so something of that word must have reached *it*, or the nouns, in layer 1. This is why Transformers stack attention: **a layer can only ask with what the layers below have gathered**.

# %% [markdown]
# ## 11 · The real thing
#
# PyTorch ships attention as `F.scaled_dot_product_attention`, and a whole block as `nn.MultiheadAttention`. Give them your inputs and your module their weights. Every number should agree.

# %%
three_roles = numbers(2, 3, 5, 8), numbers(2, 3, 7, 8, seed=1), numbers(2, 3, 7, 6, seed=2)
mine, _ = scaled_dot_product_attention(*three_roles)
theirs = F.scaled_dot_product_attention(*three_roles)
print(f"function: largest difference {(mine - theirs).abs().max().item():.1e}")

torch.manual_seed(0)
block = nn.MultiheadAttention(8, num_heads=1, bias=False, batch_first=True).double()
attention = SelfAttention(8, 8).double()
parts = (attention.w_query, attention.w_key, attention.w_value)
with torch.no_grad():
    block.out_proj.weight.copy_(torch.eye(8))  # a last projection: lesson 3 tells why
    for part, matrix in zip(parts, block.in_proj_weight.chunk(3), strict=True):
        part.weight.copy_(matrix)
sequences = numbers(4, 9, 8, seed=3)
pairs = zip(attention(sequences), block(sequences, sequences, sequences), strict=True)
for name, (mine, theirs) in zip(("output", "weights"), pairs, strict=True):
    print(f"module, {name}: largest difference {(mine - theirs).abs().max().item():.1e}")

# %% [markdown]
# Differences around 1e-16 are rounding. What you wrote is what runs inside every Transformer.

# %% [markdown]
# ## 12 · In your own words
#
# **Question.** A friend divides the scores by $d_k$ in place of $\sqrt{d_k}$: "smaller is safer". What happens to the weights when $d_k$ is large, and why is the root the right amount? Two or three sentences: double-click the cell below and write them there. A person reads them.

# %% answer why_scale [markdown] points=2
# <!-- BEGIN SOLUTION -->
# The scores have standard deviation √d_k. Divided by d_k they have 1/√d_k, which goes to zero as d_k grows: all scores become alike, all weights come near 1/length, and attention averages everything instead of choosing. Divided by the root they keep standard deviation 1 at any width: weights that can choose, and a gradient that lives.
# <!-- END SOLUTION -->


# %% [markdown]
# ## What you know now
#
# - A **score** is the dot product of a query and a key: how well what one word looks for matches what another offers.
# - **Softmax over the keys** turns the scores of one query into weights: above zero, sum 1. Subtract the maximum first.
# - The output is the **weighted sum of the values**, one row for each query.
# - **Divide by $\sqrt{d_k}$**: dot products have standard deviation $\sqrt{d_k}$, and softmax of large scores has almost no gradient.
# - Count axes from the end, and the same three lines serve every batch.
# - One layer asks with the word alone. Stacked layers ask with what was gathered.
#
# **The question that is left.** Every word looks at every word, those that come after it too. A model that writes a text must not look at words that it has not written yet. How do you forbid a look? That is lesson 2, masking.
