# %% [markdown]
# # Lesson 1 · Dot-product attention
#
# **You build** attention, the operation at the heart of every Transformer. You start with the dot product of two vectors. You end with a module that gives the same numbers as PyTorch's own.
#
# **You need** Python, some PyTorch (tensors, `@`, how to write an `nn.Module`), the dot product, standard deviations, gradients, and how a classifier is trained (softmax, loss, Adam).
#
# **You take away** your own softmax, scaled dot-product attention, and a reason for every symbol in its formula.
#
# **Time**: about 215 minutes: 122 for the exercises. Good places to stop are marked after about 95 and 160. Part 10 has no exercise, and can wait. What is marked *optional* goes deeper: nothing later needs it.
#
# Run the cells from top to bottom with Shift+Enter.

# %% given imports
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformer_course import figures
from transformer_course.checks import Check, numbers

# numbers(2, 3) is a fixed float64 tensor of shape (2, 3)

# %% [markdown]
# ## 1 · What does *it* mean?
#
# *The animal didn't cross the street because it was too tired.* What does *it* refer to? The animal, of course. Now change the last word to *wide*. Suddenly *it* refers to the street. (The example is from J. Uszkoreit, *Transformer: A Novel Neural Network Architecture for Language Understanding*, Google Research blog, 2017.)
#
# A program that stores one vector for each word gives *it* the same vector in both sentences. So how can a model tell the two meanings apart? The vector of *it* has to take in information from other words, and which words these are must depend on the sentence:

# %%
words = ["the", "animal", "didn't", "cross", "the", "street", "because", "it", "was", "too"]
tired = [0.02, 0.68, 0.02, 0.03, 0.02, 0.09, 0.02, 0.03, 0.02, 0.02, 0.05]
wide = [0.02, 0.09, 0.02, 0.03, 0.02, 0.68, 0.02, 0.03, 0.02, 0.02, 0.05]
figures.word_links(
    {
        "… too tired: “it” takes most from “animal”": ([*words, "tired"], 7, tired),
        "… too wide: “it” takes most from “street”": ([*words, "wide"], 7, wide),
    }
)

# %% [markdown]
# In **attention**, each word takes in information from all words, more from some than from others. **Attention weights** say how much a word takes from each word: positive numbers that sum to 1. The figure shows made-up weights of *it*. In part 10, a model that you build learns its own.
#
# **Recall.** Three questions before you start. They are not graded.
#
# 1. `a` has the shape (2, 3), `b` the shape (3, 4). What is the shape of `a @ b`? What is its entry [0, 1]?
# 2. What is the softmax of [2, 2, 2, 2]?
# 3. You add four independent numbers with standard deviation 1. What is the standard deviation of the sum?
#
# <details><summary>Answer 1</summary>(2, 4). The entry is the dot product of row 0 of a with column 1 of b.</details>
# <details><summary>Answer 2</summary>[¼, ¼, ¼, ¼]. Equal inputs share the total of 1 equally.</details>
# <details><summary>Answer 3</summary>2. Variances of independent numbers add up: 4 · 1 = 4. The standard deviation is the square root of that.</details>
#
# Check yourself:

# %%
print("1.", (torch.ones(2, 3) @ torch.ones(3, 4)).shape)
print("2.", torch.tensor([2.0, 2.0, 2.0, 2.0]).softmax(dim=0))
print("3.", torch.randn(100_000, 4, generator=torch.Generator().manual_seed(0)).sum(1).std())

# %% [markdown]
# ## 2 · A dot product compares two vectors
#
# A **token** is a piece of text that a model handles as one unit. In this lesson every word is one token. A model represents each token by its **embedding**, a vector of features that it learns in training.
#
# Here are the embeddings of three tokens, made up for this lesson. They have only two features each, so that you can draw them.

# %%
figures.arrows(
    {"bank": [1.0, 1.0], "river": [2.0, 0.0], "money": [0.0, 2.0]},
    axes=("has to do with water", "has to do with money"),
)

# %% [markdown]
# The **dot product** of two vectors multiplies them feature by feature and adds up the products:

# %%
bank, river, money = torch.tensor([[1.0, 1.0], [2.0, 0.0], [0.0, 2.0]])
print("bank · river  =", (bank @ river).item(), "  (1·2 + 1·0)")
print("river · money =", (river @ money).item())

# %% [markdown]
# The dot product is large if two long vectors point in similar directions. It is zero if they are perpendicular, as *river* and *money* are. It is negative if the angle between them is more than 90°. In attention, the **score** of two tokens is a dot product that says how well the two match.
#
# **Predict.** You stack the three embeddings as the rows of `x`, of shape (length, dim) = (3, 2). You compute the score of every pair of tokens. What is the shape of the table of scores? Choose, then open your choice.
#
# <details><summary>(2, 2)</summary>That is one number for each pair of <em>features</em>: xᵀ x. You want one for each pair of tokens.</details>
# <details><summary>(3, 3)</summary>Yes. Row i, column j holds the score of token i with token j. The whole table is x xᵀ.</details>
# <details><summary>(3, 2)</summary>That is the shape of x itself, and of the elementwise product x * x. No token has been compared with another one yet.</details>

# %%
three_tokens = torch.stack([bank, river, money])
all_pairs = [[one @ other for other in three_tokens] for one in three_tokens]
figures.attention_map(all_pairs, ["bank", "river", "money"], title="scores: all dot products")

# %% [markdown]
# Read the map row by row. The row of *river* shows how well *river* matches each token: itself (4), then *bank* (2), and *money* not at all (0).
#
# **Predict.** Why is the score of *bank* with *river* as large as its score with itself?
#
# <details><summary>Compare the two arrows, then open</summary>A dot product mixes direction with length. <em>River</em> points another way, but it is longer: 2, against √2 for <em>bank</em>. Here the length makes up for the direction.</details>
#
# Remember this layout. In every attention map of the course, *a row belongs to a query*, the token that looks for information. *A column belongs to a key*, a token that may have it. Part 5 defines both precisely.

# %% [markdown]
# ## 3 · Softmax turns scores into weights
#
# Scores can be any numbers. Weights must be positive and sum to 1, and a larger score must give a larger weight. Here is how the scores of *river* become its weights:

# %%
row = river[None] @ three_tokens.T
stages = {"score": row, "exp(score)": row.exp(), "weight": row.softmax(dim=-1)}
columns = ["bank", "river", "money"]
figures.steps(
    {title: (table, "key", columns) for title, table in stages.items()}, "query", ["river"]
)

# %% [markdown]
# **Softmax** takes `exp` of every score, which makes it positive, and divides the results by their sum. For scores $s_1, \dots, s_n$ the weights are
#
# $$w_j = \frac{e^{s_j}}{\sum_{k=1}^{n} e^{s_k}}$$
#
# A **logit** is any number that goes into a softmax, so attention scores are logits.
#
# **Predict.** You add 100 to every score of a row. What happens to its weights?
#
# <details><summary>They all grow</summary>They cannot: they still sum to 1. Every exp grows, but all of them by the same factor.</details>
# <details><summary>The largest takes everything</summary>That happens when you <em>multiply</em> the scores by 100. Adding 100 leaves their differences as they were.</details>
# <details><summary>Nothing</summary>Yes. Every exp grows by the factor e¹⁰⁰, in the numerator and in the denominator, and the factor cancels. Only differences between scores matter.</details>

# %%
example = torch.tensor([1.0, 2.0, 4.0])
print("softmax of the scores:      ", example.softmax(dim=0))
print("softmax of the scores + 100:", (example + 100).softmax(dim=0))
print("exp of the scores + 100:    ", (example + 100).exp())

# %% [markdown]
# The last line shows a problem. In float32, `exp` of anything above about 88.7 is infinite, and ∞/∞ is not a number. PyTorch's softmax avoids this. Yours can, too, because only the differences between scores matter.
#
# **How exercises work.** Replace the `raise` line with your code and run the cell. Then run its check, the bar below it. A check that fails tells you what it saw. The grader also tries other sizes, float32 and gradients. So use torch throughout, keep the dtype of the input, and do not modify the input.

# %% [markdown]
# **Exercise** (15 minutes). Write softmax with `exp`, a sum and a division. (`torch.softmax` would pass, too, but your own shows how it works.)
#
# <details><summary>Hint 1</summary>Subtracting one number from every score of a row changes no weight. Which number makes the largest exp of each row exactly 1, so that nothing overflows and no sum is 0?</details>
# <details><summary>Hint 2</summary>With <code>dim=-1</code> a sum or an <code>amax</code> runs along each row, with <code>dim=0</code> down each column. <code>keepdim=True</code> keeps the result in a shape that lines up with the scores.</details>


# %% exercise softmax
def softmax(scores: Tensor, dim: int) -> Tensor:
    """Turn scores into weights that are positive and sum to 1 along `dim`.

    The result has the shape of `scores`. Scores up to ±10 000 give finite weights.
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
        hint="with dim=-1 the sum runs along each row; with keepdim=True it can divide that row",
    )
with Check("softmax", "any dimension") as check:
    scores = numbers(2, 3, 4, scale=2.0)
    for dim in (0, 1, 2):
        weights = check.call(scores, dim=dim)
        check.shape(weights, first=2, second=3, third=4)
        check.equal(
            weights.sum(dim),
            torch.ones_like(scores.sum(dim)),
            f"the weights along dim={dim} sum to 1",
            hint="use the argument `dim` in every sum and maximum",
        )
        turned = check.call(scores.transpose(dim, -1), dim=-1).transpose(dim, -1)
        check.equal(weights, turned, f"dim={dim} gives the same as dim=-1 on transposed scores")
with Check("softmax", "a gradient") as check:
    scores = numbers(2, 5).requires_grad_()
    weights = check.call(scores, dim=-1)
    check.equal(
        check.gradient(weights[:, 0], scores).sum(-1),
        torch.zeros(2, dtype=torch.float64),
        "a constant added to a row changes no weight, so the gradients of a row sum to 0",
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
        "rows near 10000 and -10000 give the weights of [1, 0, -20000] and [1, 0, 0]: "
        "only differences matter",
        hint="softmax stays the same if you subtract one number from every score of a row",
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
# Now watch your softmax at work. The bars show what your own function returns for the scores 1, 2, 3, 4. Before softmax, the scores are divided by a number called the **temperature**. Move its slider: drag it, or click it and use the arrow keys.

# %%
from transformer_course.widgets import show_softmax

show_softmax(softmax, [1.0, 2.0, 3.0, 4.0], ["score 1", "score 2", "score 3", "score 4"])

# %% [markdown]
# What to see: a high temperature makes the weights nearly equal. A low one gives almost all the weight to the largest score. So the *scale* of the scores decides how selective softmax is. (The experiment *width d_k* is for part 6.)

# %% [markdown]
# ## 4 · A first attention, with nothing learned
#
# You know where the weights come from. But what do you average with them? The simplest choice is the embeddings. Let $x_j$ be the embedding of token $j$, and $w_{ij}$ the weight that token $i$ gives to token $j$. The new vector of token $i$ is the weighted sum
#
# $$y_i = \sum_j w_{ij}\, x_j$$
#
# Let the rows of $X$ be the embeddings. Then all steps fit in one line: $\mathrm{softmax}(X X^\top)\, X$.

# %% [markdown]
# **Exercise** (8 minutes). Write it with your `softmax`.
#
# <details><summary>Hint</summary>Follow the shapes: (length, dim) times (dim, length) gives (length, length). Softmax keeps this shape. Times (length, dim), it gives (length, dim). Row i of the scores belongs to token i, so each <em>row</em> must become weights.</details>


# %% exercise similarity_attention
def similarity_attention(x: Tensor) -> Tensor:
    """Replace every token by a weighted sum of all tokens: softmax(x xᵀ) x.

    (length, dim) -> (length, dim). No scale, nothing learned.
    """
    # BEGIN SOLUTION
    scores = x @ x.T  # (length, length)
    return softmax(scores, dim=-1) @ x  # (length, dim)
    # END SOLUTION


# %% check similarity_attention points=2
hint = "three steps: dot products of all pairs, softmax of each row, weighted sum of tokens"
with Check("similarity_attention", "an example you can do by hand", hint) as check:
    # dot products: first token [1, 1], second token [1, 5]
    x = torch.tensor([[1.0, 0.0], [1.0, -2.0]], dtype=torch.float64)
    output = check.call(x)
    check.shape(output, length=2, dim=2)
    check.equal(
        output,
        torch.tensor([[1.0, -1.0], [1.0, -1.96403]], dtype=torch.float64),
        "[1, 0] gives both tokens the weight 1/2; [1, -2] gives itself 0.982",
        within=1e-4,
    )
with Check("similarity_attention", "any number of tokens") as check:
    x = numbers(5, 3)
    output = check.call(x)
    check.shape(output, length=5, dim=3)
    inside = (output <= x.amax(0)) & (output >= x.amin(0))
    check.true(
        bool(inside.all()),
        "each feature of a weighted average lies between its minimum and maximum over the tokens",
    )
with Check("similarity_attention", "a gradient") as check:
    x = torch.tensor([[1.0, 0.0], [1.0, -2.0]], dtype=torch.float64).requires_grad_()
    output = check.call(x)
    check.equal(
        check.gradient(output[0, 1], x),
        torch.tensor([[0.5, 1.5], [-0.5, 0.5]], dtype=torch.float64),
        "the gradient of output[0, 1] is [1/2, 3/2] by the first token, [-1/2, 1/2] by the second",
        hint="the scores depend on x, and so do the tokens that you add up: detach neither",
    )
# BEGIN HIDDEN TESTS
with Check("similarity_attention", "equal to the formula") as check:
    for scale, dtype in ((0.3, torch.float64), (1.7, torch.float64), (1.0, torch.float32)):
        x = numbers(6, 4, seed=5, scale=scale, dtype=dtype)
        expected = F.scaled_dot_product_attention(x, x, x, scale=1.0)
        check.equal(check.call(x), expected, "softmax(x xᵀ) x")
with Check("similarity_attention", "reordered tokens give reordered outputs") as check:
    x, order = numbers(5, 7, seed=6), torch.tensor([3, 0, 4, 1, 2])
    check.equal(
        check.call(x[order]), check.call(x)[order], "the outputs follow the order of the tokens"
    )
with Check("similarity_attention", "finite at large scale, with gradients") as check:
    for scale in (1.0, 60.0):
        x = numbers(4, 3, seed=7, scale=scale).requires_grad_()
        expected = F.scaled_dot_product_attention(x, x, x, scale=1.0)
        output = check.call(x)
        check.equal(output, expected, f"tokens with features of scale {scale}")
        check.equal(check.gradient(output, x), check.gradient(expected, x), "its gradient")
# END HIDDEN TESTS


# %% [markdown]
# **Predict.** *bank* is [1, 1]: half water, half money. First it stands beside *river* and *money*. Then you replace *money* with *stream*, another token with the features of *river*. What happens to the vector of *bank*?
#
# <details><summary>It moves towards water</summary>Yes. Two of the three tokens that it averages are now about water.</details>
# <details><summary>It stays at [1, 1]</summary>That holds only beside river and money, where the two sides balance.</details>
# <details><summary>It becomes equal to river</summary>It keeps some weight on itself, so it moves only part of the way.</details>

# %%
for names, rows in (
    (["bank", "river", "money"], [0, 1, 2]),
    (["bank", "river", "stream"], [0, 1, 1]),
):
    before = three_tokens[rows]
    after = similarity_attention(before)
    about = ["water", "money"]
    stages = {"before": (before, "feature", about), "after": (after, "feature", about)}
    figures.steps(stages, "token", names)

# %% [markdown]
# What to see: compare the first rows. *Bank* stays in the middle beside *river* and *money*. Beside *river* and *stream*, it moves towards water. The **context** of a token is the other tokens in its sequence. Only the context of *bank* has changed. After attention, the vector of a token depends on its context.
#
# All scores of *bank* are 2 here. So its weights are all ⅓, and its new vector is a plain mean. *River* has unequal weights.

# %% [markdown]
# ### Bug hunt: a formula on a slide
#
# **From the lecture**: *Transformers (Part 2)*, Data C182, slides "MHA (v0): attention scores". (Such lines name the university slides that a section uses or corrects.) These slides give attention as `softmax(X * X^T, dim=1)`. Run the product as it is written.

# %%
try:
    print(three_tokens * three_tokens.T)
except RuntimeError as error:
    print(f"X is {tuple(three_tokens.shape)}, and X * X.T stops: {error}")
square = three_tokens[:2]
print("With two tokens of two features there is no error, but this result:\n", square * square.T)

# %% [markdown]
# In PyTorch `*` multiplies entry by entry. With most shapes that raises an error. With a square matrix it silently gives wrong scores, which is worse.

# %% [markdown]
# **Exercise** (4 minutes). Compute the scores that the slide means. Return only the scores, without softmax.
#
# <details><summary>Hint</summary>PyTorch has a different operator for the matrix product. You used it a moment ago.</details>


# %% exercise repaired_scores
def repaired_scores(x: Tensor) -> Tensor:
    """Compute the score of every pair of tokens: what the slide means by X * X^T.

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
        "entry [i, j] is the dot product of tokens i and j",
        hint="[1, 2] · [0, 3] = 1·0 + 2·3",
    )
    x = torch.tensor([[1.0, 0.0], [2.0, 1.0], [0.0, -1.0]], dtype=torch.float64)
    check.equal(
        check.call(x),
        torch.tensor([[1.0, 2.0, 0.0], [2.0, 5.0, -1.0], [0.0, -1.0, 1.0]], dtype=torch.float64),
        "three tokens have a score for every pair of them",
    )
# BEGIN HIDDEN TESTS
with Check("repaired_scores", "more tokens than features, and fewer") as check:
    for shape in ((5, 3), (2, 6), (1, 4)):
        x = numbers(*shape, seed=22, scale=2.0)
        expected = torch.einsum("id,jd->ij", x, x)
        check.equal(check.call(x), expected, "all dot products")
# END HIDDEN TESTS


# %% [markdown]
# ## 5 · Query, key and value: three roles of a token
#
# The map of scores in part 2 is symmetric, because $x_i \cdot x_j = x_j \cdot x_i$: *bank* matches *river* exactly as well as *river* matches *bank*. (The weights need not be symmetric: softmax divides each row by its own sum.) Language is different. *It* needs the noun that it refers to, but the noun does not need *it*. Also, what a token can be found by need not be what it passes on.
#
# So a token gets a separate vector for each of three roles:
#
# | the token | vector | what it expresses |
# |---|---|---|
# | looks for information | query $q_i$ | what token $i$ is looking for |
# | can be found | key $k_j$ | what token $j$ can be found by |
# | gives information | value $v_j$ | what token $j$ passes on |
#
# In a library, you compare your query with the titles (keys) and take home the contents (values). Attention takes home a mixture of all the books, most from those that match best. Separate queries and keys break the symmetry:

# %%
asks, offers = numbers(2, 3), numbers(2, 3, seed=1)
for name, table in (("x xᵀ", asks @ asks.T), ("queries keysᵀ", asks @ offers.T)):
    print(f"{name:14} row 0, column 1: {table[0, 1]:6.2f}    row 1, column 0: {table[1, 0]:6.2f}")

# %% [markdown]
# All three are computed from the same embedding, each with its own matrix:
#
# $$Q = X W^Q \qquad K = X W^K \qquad V = X W^V$$
#
# A **projection** multiplies each embedding by a learned matrix. The **query** of a token is its projection by $W^Q$: what the token looks for. The **key** of a token is its projection by $W^K$: what queries are compared with. The **value** of a token is its projection by $W^V$: what it passes on.
#
# Each matrix has the shape $(d_{\text{model}}, d_{\text{out}})$, where $d_{\text{model}}$ is the width of the embeddings and $d_{\text{out}}$ that of the result. Queries and keys meet in a dot product, so they share one width, $d_k$. Values may have another width, $d_v$.

# %% [markdown]
# **Exercise** (8 minutes). Compute the three projections.
#
# <details><summary>Hint</summary>Each token is a row of x. (…, length, d_model) times (d_model, d_out): on which side of x does the matrix go?</details>


# %% exercise project_qkv
def project_qkv(
    x: Tensor, w_query: Tensor, w_key: Tensor, w_value: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Project every token into its three roles; return (query, key, value).

    x: (…, length, d_model). Each matrix: (d_model, d_out), with its own d_out.
    Each result: (…, length, d_out).
    """
    # BEGIN SOLUTION
    return x @ w_query, x @ w_key, x @ w_value
    # END SOLUTION


# %% check project_qkv points=2
hint = "each token is a row of x, so the matrix goes on the right of x"
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
        check.equal(role, expected, "every token of every sequence, projected")
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
# ### A head that you program yourself
#
# In a model, training finds the three matrices. Here *you* choose them. The embeddings have six features that a person can read:

# %% given lexicon
FEATURES = ["pronoun", "animal", "place", "verb", "size", "speed"]
LEXICON = {
    "it": [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    "dog": [0.0, 1.0, 0.0, 0.0, 0.4, 0.6],
    "horse": [0.0, 1.0, 0.0, 0.0, 0.8, 0.9],
    "snail": [0.0, 1.0, 0.0, 0.0, 0.1, 0.1],
    "street": [0.0, 0.0, 1.0, 0.0, 0.7, 0.0],
    "river": [0.0, 0.0, 1.0, 0.0, 0.9, 0.3],
    "cross": [0.0, 0.0, 0.0, 1.0, 0.0, 0.2],
}


def embed(text: str) -> Tensor:
    """The embeddings of a sentence: (length, 6). A token outside the lexicon is all zeros."""
    return torch.tensor([LEXICON.get(token, [0.0] * 6) for token in text.split()])


# %%
lexicon_rows = list(LEXICON.values())
figures.steps({"embeddings": (lexicon_rows, "feature", FEATURES)}, "token", list(LEXICON))

# %% [markdown]
# **Predict.** You use these embeddings in the attention of part 4, without projections. To which token does *it* give the largest weight?
#
# <details><summary>To the dog, an animal</summary>The embeddings of <em>it</em> and <em>dog</em> share no feature. Their dot product is 0.</details>
# <details><summary>To the street, the largest of all</summary><em>It</em> and <em>street</em> share no feature, so size plays no role.</details>
# <details><summary>To itself</summary>Yes. A dot product compares like with like, and only <em>it</em> is a pronoun. Its score with itself is 1, and 0 with all other tokens.</details>

# %%
about_dog = "the dog didn't cross the street because it was too tired"
x_dog, dog_tokens = embed(about_dog), about_dog.split()
plain_weights = softmax(x_dog @ x_dog.T, dim=-1)[7]  # the weights of `it`
figures.word_links({"no projections: “it” takes most from itself": (dog_tokens, 7, plain_weights)})

# %% [markdown]
# Here is a first head, for another token: *cross* finds out what is crossed. Each row of a matrix belongs to a feature of the embedding.
#
# - $W^Q$ has a 1 in the row *verb*: a verb gets the query 1, and every other token 0.
# - $W^K$ has a 1 in the row *place*: a place gets the key 1, and every other token 0.
# - $W^V$ has a 1 in the row *size*: each token passes on its size.


# %%
def cross_head() -> tuple[Tensor, Tensor, Tensor]:
    w_query, w_key, w_value = torch.zeros(3, 6, 1)
    w_query[FEATURES.index("verb")] = 1.0
    w_key[FEATURES.index("place")] = 1.0
    w_value[FEATURES.index("size")] = 1.0
    return (w_query, w_key, w_value)


cross_tokens = ["the", "dog", "didn't", "cross", "the", "street"]
x_cross = embed(" ".join(cross_tokens))
stages = {"embedding": (x_cross, "feature", FEATURES)}
for name, role in zip(("query", "key", "value"), project_qkv(x_cross, *cross_head()), strict=True):
    stages[name] = (role, "", [""])
figures.steps(stages, "token", cross_tokens)

# %% [markdown]
# Follow the query of *cross*. Its score is 1 with *street*, and 0 with the other five tokens. So the verb now matches the place, although the two share no feature. What comes back is a size, which neither the query nor the key contains.
#
# **Predict.** Which weight does *cross* give to *street*? (e is about 2.7.)
#
# <details><summary>1, because no other key matches</summary>A score of 0 is not a weight of 0: exp(0) is 1. The five other tokens keep a share.</details>
# <details><summary>About ⅓</summary>Yes: e / (e + 5) is about 0.35. The other five tokens share the rest.</details>
# <details><summary>About ⅙, as without a query</summary>With equal scores every token would get ⅙. Here the score of <em>street</em> is 1 higher, so its exp is e times as large.</details>


# %%
def from_cross(factor: float) -> str:
    queries, keys, values = project_qkv(x_cross, *cross_head())
    weights = softmax(factor * queries @ keys.T, dim=-1)[3]  # as if W^Q were larger
    return f"weight on street {weights[5]:.3f}   output {(weights @ values).item():.3f}"


for factor in (1, 2, 4, 8):
    print(f"W^Q times {factor}:", from_cross(factor))

# %% [markdown]
# What to see: the larger the matrix, the closer the weight comes to 1, and the output to 0.7, the size of the street. Only the *product* of query and key counts, so a larger $W^K$ would do the same.

# %% [markdown]
# **Exercise** (12 minutes). Program a head with which *it* finds out what the animal is like. It gives the animal in the sentence more than 0.9 of its weight, and its output is the animal's [size, speed]. The check runs it on other animals, places, orders and lengths.
#
# <details><summary>Hint 1</summary>Who asks? What should it find? What should it bring back? Each question belongs to one matrix.</details>
# <details><summary>Hint 2</summary>Start each matrix with <code>torch.zeros</code> and set single entries, as above. The output has two numbers, so the value matrix has two columns.</details>
# <details><summary>Hint 3</summary>With 12 tokens, the score of the animal must be about 5 above all others: e⁵ is about 148, and each score of 0 counts as 1.</details>


# %% exercise programmed_head
def programmed_head() -> tuple[Tensor, Tensor, Tensor]:
    """Return (w_query, w_key, w_value) of a head with which `it` attends to the animal.

    w_query and w_key: (6, d_k), with a d_k of your choice. w_value: (6, 2), so that the output
    of `it` is the animal's [size, speed]. Rows in the order of FEATURES. Attention is
    softmax(query keyᵀ) value, without a scale. Sentences have up to 12 tokens.
    """
    # BEGIN SOLUTION
    w_query, w_key, w_value = torch.zeros(6, 1), torch.zeros(6, 1), torch.zeros(6, 2)
    w_query[FEATURES.index("pronoun")] = 10.0
    w_key[FEATURES.index("animal")] = 1.0
    w_value[FEATURES.index("size"), 0] = 1.0
    w_value[FEATURES.index("speed"), 1] = 1.0
    return w_query, w_key, w_value
    # END SOLUTION


# %% check programmed_head points=2
with Check("programmed_head", "three matrices for six features") as check:
    w_query, w_key, w_value = check.call(returns=("w_query", "w_key", "w_value"))
    for name, matrix in (("w_query", w_query), ("w_key", w_key)):
        check.true(
            matrix.ndim == 2 and len(matrix) == 6,
            f"{name} should have one row for each of the six features: (6, d_k)",
            hint=f"yours has the shape {tuple(matrix.shape)}",
        )
    check.true(
        w_query.shape == w_key.shape,
        "w_query and w_key should have the same number of columns, d_k",
        hint="queries and keys meet in a dot product",
    )
    check.shape(w_value, feature=6, output=2)
with Check("programmed_head", "`it` attends to the animal") as check:
    matrices = check.call(returns=("w_query", "w_key", "w_value"))
    x = embed("the dog didn't cross the street because it was too tired").double()
    query, key, value = (x @ matrix.detach().double() for matrix in matrices)
    weights = torch.softmax(query @ key.T, -1)[7]
    top = int(weights.argmax())
    check.true(
        bool(weights.isfinite().all()),
        "the weights of `it` should be numbers",
        hint="they are NaN, because an entry is infinite or far too large: 0 · inf is no number",
    )
    check.true(
        bool(query[7].any()),
        "the query of `it` should not be zero",
        hint="which feature does `it` have, and in which row of w_query?",
    )
    check.true(
        bool(weights.max() - weights.min() > 1e-6),
        "`it` should not give all tokens the same weight",
        hint="its scores with all tokens agree: in which columns does its query have numbers, and "
        "which keys have a number there?",
    )
    check.true(
        top != 7,
        "`it` should not give its largest weight to itself",
        hint="query and key need not ask for the same feature: what do you want to find?",
    )
    check.true(
        top != 5,
        "`it` should not give its largest weight to the place",
        hint="compare the features of dog and street: which one does only the animal have?",
    )
    check.true(
        bool(weights[1] > weights.min()),
        "the animal should not get the smallest weight",
        hint=f"the score of `it` and the animal must be above 0, and is {query[7] @ key[1]:.3g}",
    )
    check.equal(
        weights[1],
        1.0,
        "`it` gives the animal more than 0.9 of its weight, in a sentence of 11 tokens",
        hint="its score must be far above all others, also above the 0 of tokens outside the "
        "lexicon, whose keys are zero",
        within=0.1,
    )
with Check("programmed_head", "the output of `it` is what the animal is like") as check:
    matrices = check.call(returns=("w_query", "w_key", "w_value"))
    x = embed("the dog didn't cross the street because it was too tired").double()
    query, key, value = (x @ matrix.detach().double() for matrix in matrices)
    check.equal(
        (torch.softmax(query @ key.T, -1) @ value)[7],
        torch.tensor([0.4, 0.6], dtype=torch.float64),
        "the output of `it` is close to the dog's [size, speed] = [0.4, 0.6]",
        hint="w_value decides what each token passes on: one column for each number",
        within=0.1,
    )
with Check("programmed_head", "other animals, places, orders and lengths") as check:
    matrices = check.call(returns=("w_query", "w_key", "w_value"))
    for text, animal, expected in (
        ("it was slow so the snail didn't cross the river", "snail", [0.1, 0.1]),
        ("near the river and the street it saw a horse", "horse", [0.8, 0.9]),
        ("snail see it", "snail", [0.1, 0.1]),
    ):
        x, at = embed(text).double(), text.split()
        query, key, value = (x @ matrix.detach().double() for matrix in matrices)
        weights = torch.softmax(query @ key.T, -1)[at.index("it")]
        check.equal(
            weights[at.index(animal)],
            1.0,
            f"`it` gives the {animal} more than 0.9 of its weight in “{text}”",
            hint="which feature do all animals have, and nothing else?",
            within=0.1,
        )
        check.equal(
            weights @ value,
            torch.tensor(expected, dtype=torch.float64),
            f"the output of `it` is close to the {animal}'s [size, speed]",
            within=0.1,
        )
# BEGIN HIDDEN TESTS
with Check("programmed_head", "animals and places that the lexicon lacks") as check:
    matrices = check.call(returns=("w_query", "w_key", "w_value"))
    for seed, length in enumerate((4, 5, 6, 8, 10, 12, 12, 12)):
        size_and_speed = torch.sigmoid(numbers(length, 2, seed=seed, scale=2.0))
        x = torch.zeros(length, 6, dtype=torch.float64)
        it, animal, place, verb = numbers(length, seed=seed + 50).argsort()[:4]
        for feature, position in enumerate((it, animal, place, verb)):
            x[position, feature] = 1.0
        x[animal, 4:], x[place, 4:] = size_and_speed[0], size_and_speed[1]
        x[verb, 5] = 0.2
        query, key, value = (x @ matrix.detach().double() for matrix in matrices)
        weights = torch.softmax(query @ key.T, -1)[it]
        check.equal(weights[animal], 1.0, "more than 0.9 on the animal", within=0.1)
        check.equal(weights @ value, x[animal, 4:], "the animal's size and speed", within=0.1)
# END HIDDEN TESTS

# %% [markdown]
# Now watch your head at work. The first two sentences differ in one token. Your matrices are the same in both:


# %%
def run_my_head(text: str) -> tuple[list[str], int, Tensor]:
    """A sentence, the position of `it`, and the weights that your head gives from there."""
    queries, keys, values = project_qkv(embed(text), *programmed_head())
    at = text.split().index("it")
    of_it = softmax(queries @ keys.T, dim=-1)[at]
    print("output of “it”:", (of_it @ values).numpy().round(2), " in:", text)
    return text.split(), at, of_it


figures.word_links(
    {
        "a dog": run_my_head(about_dog),
        "a horse": run_my_head("the horse didn't cross the street because it was too tired"),
        "another order": run_my_head("it was tired so the snail didn't cross the river"),
    }
)

# %% [markdown]
# One set of matrices finds the animal in every sentence. Matrices belong to the model, weights are computed anew for each sentence.
#
# **Predict.** What does *it* attend to in a sentence with two animals, and in one without any?
#
# <details><summary>The nearest animal; to nothing</summary>The head does not know positions: nothing in these embeddings says which animal is nearer. And the weights of <em>it</em> sum to 1, so some tokens must get them.</details>
# <details><summary>Half to each animal; to nothing</summary>The first part is right: equal scores get equal weights. But weights sum to 1, so <em>it</em> cannot attend to nothing.</details>
# <details><summary>Half to each animal; to all tokens</summary>Yes, if your head gives all other tokens the same key. Then equal scores share the weight equally: between two animals, or among all tokens if there is no animal.</details>
#
# Try it, and write a sentence of your own with *it* in it:

# %%
figures.word_links(
    {
        "two animals": run_my_head("the dog saw a horse because it was near"),
        "no animal": run_my_head("the street was wide and it was long"),
        "your own": run_my_head("a snail and the street and it"),  # change this sentence
    }
)

# %% [markdown]
# With two animals, the output of *it* is the mean of both. In part 10, training finds the matrices.


# %% [markdown]
# ## 6 · Why the scores are scaled
#
# One step is missing before the full formula. The dot product of a query and a key adds up $d_k$ products. Suppose that each product has mean 0. Then the sum has mean 0, too, but the more products you add, the more it varies. How fast does this spread grow?
#
# **Predict.** The features of $q$ and $k$ are independent, with mean 0 and standard deviation 1. What is the standard deviation of $q \cdot k$ for $d_k = 64$? Question 3 from the start of the lesson helps. Put your guess into the next cell. It appears as a star in the figure.

# %%
my_guess = None  # a number above 0

# %% folded=true
# Measures the standard deviation of q·k, in five runs for each width, click to unfold
widths = [1, 4, 16, 64, 256, 1024]
generator = torch.Generator().manual_seed(0)
independent, repeated = [], []
for width in widths:
    many_q, many_k = torch.randn(2, 5, 300, width, generator=generator)  # 5 runs, 300 pairs
    independent.append((many_q * many_k).sum(-1).std(-1))
    # the control: all features of a vector are equal, so all products are equal, too
    repeated.append((many_q[..., 0] * many_k[..., 0] * width).std(-1))
for width, spread in zip(widths, independent, strict=True):
    low, high = spread.min().item(), spread.max().item()
    print(f"d_k = {width:5}   std of q·k: {low:5.2f} to {high:5.2f}   √d_k = {width**0.5:5.2f}")
figures.curves(
    widths,
    {
        "independent features": torch.stack(independent, 1).tolist(),
        "√d_k": [width**0.5 for width in widths],
        "the same feature d_k times": torch.stack(repeated, 1).tolist(),
    },
    x="d_k, the width of queries and keys",
    y="standard deviation of q·k",
    title="Dot products grow with their width (bands: five runs)",
    logarithmic="xy",
    marked={"your guess": (64, my_guess)} if my_guess else {},
)

# %% [markdown]
# What to see: with independent features, the line coincides with $\sqrt{d_k}$. Each product $q_1 k_1, q_2 k_2, \dots$ has mean 0 and variance 1 · 1: for independent numbers with mean 0, variances multiply. Variances of independent products add up, so the sum has variance $d_k$. For $d_k = 64$, its standard deviation is 8.
#
# The steeper line is the control: all features are equal, and the standard deviation grows like $d_k$. The square root comes from independence.
#
# Why does this spread matter? In the view below, that of part 3, choose *width d_k*: scores are now dot products of a random query with ten random keys. Move the slider, first without the tick at *divide by √d_k* and then with it.

# %%
show_softmax(softmax, [1.0, 2.0, 3.0, 4.0], ["score 1", "score 2", "score 3", "score 4"])

# %% [markdown]
# What to see: without the division, one key takes almost all the weight when $d_k$ is large. With it, the weights stay spread out.
#
# Softmax is **saturated** when one weight is close to 1 and all others are close to 0. The slope of a weight with respect to its own score is $\partial w_j / \partial s_j = w_j (1 - w_j)$. With respect to another score it is $-w_j w_k$, never larger in size. If $w_j (1 - w_j)$ is close to 0 for every key, almost no gradient passes from the weights to the scores.
#
# **Predict.** At which weight is this slope largest?
#
# <details><summary>Close to 1</summary>There 1 − w is close to 0. The weight cannot grow any further.</details>
# <details><summary>Close to 0</summary>There w itself is close to 0. A slightly higher score still loses against the others.</details>
# <details><summary>At ½</summary>Yes: ½ · ½ = ¼. Here a small change of the score moves the weight most.</details>
#
# The next figure takes 200 random queries with 10 keys each. It shows the largest slope of each query, as a median over the queries.


# %% folded=true
# Measures the slope of your softmax for random queries and keys, in five runs, click to unfold
def saturation(width: int, factor: float, seed: int) -> tuple[float, float]:
    """For 200 queries with 10 keys: the median slope, and the share with a weight above 0.99."""
    generator = torch.Generator().manual_seed(seed)
    queries = torch.randn(200, 1, width, generator=generator)
    ten_keys = torch.randn(200, 10, width, generator=generator)
    shares = softmax((queries * ten_keys).sum(-1) * factor, dim=-1)
    slope = (shares * (1 - shares)).amax(-1).median().item()
    return slope, (shares.amax(-1) > 0.99).double().mean().item()


plain = [[saturation(width, 1.0, seed) for width in widths] for seed in range(5)]
scaled = [[saturation(width, width**-0.5, seed) for width in widths] for seed in range(5)]
for name, found in (("q·k", plain), ("q·k / √d_k", scaled)):
    above = [run[-1][1] for run in found]
    print(f"d_k = 1024, {name:10}: saturated queries: {min(above):.2f} to {max(above):.2f} of all")
figures.curves(
    widths,
    {
        "q·k": [[slope for slope, _ in run] for run in plain],
        "q·k / √d_k": [[slope for slope, _ in run] for run in scaled],
    },
    x="d_k, the width of queries and keys",
    y="largest slope w(1 − w), median query",
    title="Without the scale, softmax saturates (bands: five runs)",
    logarithmic="x",
    bottom=0.0,
)

# %% [markdown]
# What to see: without the scale, the median slope is almost zero when $d_k$ is large. Part 10 tests what this does to training. Divided by $\sqrt{d_k}$, the scores keep standard deviation 1, and the slope does not fall.
#
# <details><summary>At d_k = 4 the slope is larger <em>without</em> the scale. Why? Remember where it is largest, then open</summary>It is largest at w = ½. Moderately larger scores bring the largest weight closer to ½. Only at large widths does it come close to 1, and there the harm begins.</details>
#
# **From the lecture**: *Transformers*, CSCI 4360/6360, slide "Scaled Dot Product", gives the same reason.

# %% [markdown]
# **A good place to stop.** You have softmax, a first attention, the roles and the scale. Next you write the full formula and train with it. (Back later? Run all cells above first.)

# %% [markdown]
# ## 7 · Once by hand
#
# First, compute attention once with pencil, paper and a calculator. The figure shows the query of the token *flying* and the keys of *flying* and *arrows*. Which key matches the query better?

# %%
figures.arrows(
    {"query": [0.0, 1.0], "flying": [1.0, 1.0], "arrows": [0.0, -1.0]},
    axes=("feature 0", "feature 1"),
)

# %% [markdown]
# The key of *flying* does: its dot product with the query is positive, and that of *arrows* is negative. Here are all the vectors of the two tokens, with $d_k = 2$:
#
# | token | query | key | value |
# |---|---|---|---|
# | *flying* | [0, 1] | [1, 1] | [1, 0] |
# | *arrows* | [1, 1] | [0, −1] | [−1, 1] |
#
# Start with *flying*. Take the dot products of its query with both keys. Divide them by $\sqrt{2}$ and take the softmax. The output is the weighted sum of the two values, a vector of two numbers.
#
# **From the lecture**: *Introduction to Transformers*, CS60216, slides "Try this problem". The vectors are those of the slides.

# %% [markdown]
# **Exercise** (15 minutes). Give the output of *flying* to three decimals. The check tells you whether the result is right. If it is not, go through the steps in order.

# %% exercise flying_output
# flying_output = [?, ?]      two numbers, to three decimals
# BEGIN SOLUTION
flying_output = [0.609, 0.196]
# END SOLUTION

# %% check flying_output points=1
with Check("flying_output", "the output for `flying`") as check:
    answer = check.value(2)
    hint = "in order: two dot products, divide both by √2, softmax, weighted sum; then round"
    check.equal(
        answer[0] + 2 * answer[1],
        torch.tensor(1.0, dtype=torch.float64),
        "every weighted average of [1, 0] and [-1, 1] is a pair [a, b] with a + 2b = 1",
        hint="either the weights do not sum to 1, or they do not multiply the values, or a sign is "
        "lost, or the two numbers are swapped",
        within=0.02,  # two decimals are accepted
    )
    check.seal(answer, "4aeb18809961b9c5", "the numbers are not right yet", hint)
# BEGIN HIDDEN TESTS
with Check("flying_output", "three decimals") as check:
    expected = torch.tensor([0.6089, 0.1956], dtype=torch.float64)
    check.equal(check.value(2), expected, "flying", within=0.005)
# END HIDDEN TESTS


# %% [markdown]
# **Exercise** (5 minutes). Now the same for *arrows*: its own query, with the same two keys and the same two values.

# %% exercise arrows_output
# arrows_output = [?, ?]      two numbers, to three decimals
# BEGIN SOLUTION
arrows_output = [0.786, 0.107]
# END SOLUTION

# %% check arrows_output points=1
with Check("arrows_output", "the output for `arrows`") as check:
    answer = check.value(2)
    hint = "in order: two dot products, divide both by √2, softmax, weighted sum; then round"
    check.equal(
        answer[0] + 2 * answer[1],
        torch.tensor(1.0, dtype=torch.float64),
        "every weighted average of [1, 0] and [-1, 1] is a pair [a, b] with a + 2b = 1",
        hint="either the weights do not sum to 1, or they do not multiply the values, or a sign is "
        "lost, or the two numbers are swapped",
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
# You have all the parts. **Scaled dot-product attention** divides the scores by $\sqrt{d_k}$, takes their softmax, and uses them as the weights of a sum of the values. In matrices:
#
# $$\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V$$
#
# (Vaswani et al., *Attention Is All You Need*, 2017, section 3.2.1.)
#
# The numbers of queries and keys may differ, so the scores, of shape (query_length, key_length), need not be square. The inputs may also have batch dimensions. `@` and `transpose(-2, -1)` work on the last two axes and leave all other axes alone.
#
# **Predict.** `key` has the shape (8, 20, 64): 8 sequences, 20 tokens, width 64. What is the shape of `key.transpose(0, 1)`?
#
# <details><summary>(20, 8, 64)</summary>Yes: it swaps the batch with the length. Here the matrix product then stops with an error. If all these sizes were equal, it would run and silently mix the sequences. Count axes from the end, and this cannot happen.</details>
# <details><summary>(8, 64, 20)</summary>That is transpose(-2, -1), the one that the scores need. Axes 0 and 1 are the batch and the length.</details>
# <details><summary>(64, 20, 8)</summary>That reverses all the axes, as .T does. On a batch PyTorch warns you about .T.</details>

# %% [markdown]
# **Exercise** (20 minutes). Write the formula. This function is the heart of the course.
#
# <details><summary>Hint 1</summary>Three lines: scores, weights, output. Write the shape beside each line.</details>
# <details><summary>Hint 2</summary>Where do you find d_k? It is the size of the last axis of the query, whatever comes before it.</details>


# %% exercise scaled_dot_product_attention
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor
) -> tuple[Tensor, Tensor]:
    """softmax(query keyᵀ / √d_k) value; return (output, weights).

    query (…, query_length, d_k), key (…, key_length, d_k), value (…, key_length, d_v)
    -> output (…, query_length, d_v), weights (…, query_length, key_length).
    Any leading dimensions. float64 in gives float64 accuracy. Vaswani et al. 2017, section 3.2.1.
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
        "for this query and these keys of width 3 the weights are 1/8, 2/8, 5/8",
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
    check.equal(shuffled_output, output, "the output does not change")
    check.equal(shuffled_weights, weights[:, order], "the weights follow their keys")
# END HIDDEN TESTS


# %% [markdown]
# The second check tests batches:

# %% check scaled_dot_product_attention_batches points=2
hint = "count axes from the end: then they mean the same with and without a batch"
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
        "a sequence gives the same output in a batch as on its own",
    )
    outputs, _ = check.call(query[None], key[None], value[None], returns=("output", "weights"))
    check.equal(outputs, output[None], "one more leading dimension changes no number")
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
    everything = torch.eye(4, dtype=torch.float64).expand(4, 4, 4)
    expected = F.scaled_dot_product_attention(query, key, everything)
    check.equal(weights, expected, "PyTorch's weights")
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
# Now let your function redo the calculation that you did by hand. Choose a pair of tokens with the arrow keys and follow it from the dot product to the output. Does the last step agree with your paper?

# %%
from transformer_course.widgets import show_attention_steps

two_queries = torch.tensor([[0.0, 1.0], [1.0, 1.0]])
two_keys = torch.tensor([[1.0, 1.0], [0.0, -1.0]])
two_values = torch.tensor([[1.0, 0.0], [-1.0, 1.0]])
pair = ["flying", "arrows"]
show_attention_steps(scaled_dot_product_attention, two_queries, two_keys, two_values, pair)

# %% [markdown]
# What to see: each row of the weights says how much each value counts. The corresponding row of the output is the sum of the values, each multiplied by its weight. Switch off the division by $\sqrt{d_k}$: in both rows, the larger weight grows.

# %% [markdown]
# ### What an output can be
#
# The weights are positive and sum to 1. So a query cannot get every vector as its output.
#
# **Predict.** Five values are the points [0, 0], [4, 0], [4, 3], [1, 4] and [2, 2]. The scores can be any numbers. Can the output be [4, 4]?
#
# <details><summary>Yes, with large scores for [4, 3] and [1, 4]</summary>Their weights share a total of 1. The output then lies <em>between</em> the two, on the straight line from [4, 3] to [1, 4].</details>
# <details><summary>No, with no scores at all</summary>Yes. The second feature is 4 only if all the weight is on [1, 4], and then the first feature is 1.</details>
# <details><summary>Yes: each feature lies between the smallest and the largest</summary>That is necessary, as a check in part 4 says, but it is not enough. One set of weights serves both features.</details>

# %% folded=true
# Draws the outputs of your attention for many random queries, click to unfold
from matplotlib.figure import Figure
from transformer_course.figures import picture


def draw_outputs() -> None:
    points = torch.tensor([[0.0, 0.0], [4.0, 0.0], [4.0, 3.0], [1.0, 4.0], [2.0, 2.0]])
    generator = torch.Generator().manual_seed(0)
    point_keys = torch.randn(5, 3, generator=generator)
    panels = {}
    for title, scale in (("small scores", 0.5), ("larger scores", 4.0)):
        many_queries = scale * torch.randn(300, 3, generator=generator)
        inside, _ = scaled_dot_product_attention(many_queries, point_keys, points)
        raw = many_queries @ point_keys.T / math.sqrt(3) @ points
        panels[title] = (raw, inside)
    canvas = Figure(figsize=(9, 4.2), layout="constrained")
    for axes, (title, (raw, inside)) in zip(canvas.subplots(1, 2), panels.items(), strict=True):
        axes.plot(*raw.T, "x", color=picture.LINES[1], alpha=0.6, label="scores as weights")
        axes.plot(*inside.T, ".", color=picture.LINES[0], alpha=0.6, label="attention")
        axes.fill(*points[:4].T, fill=False, edgecolor=picture.INK, linestyle="--")
        axes.plot(*points.T, "s", color=picture.INK, markersize=8, label="values")
        axes.plot(4, 4, "*", color=picture.LINES[3], markersize=14, label="[4, 4]")
        limits = {"xlim": (-2, 7), "ylim": (-2, 6)}
        axes.set(title=title, xlabel="feature 0", ylabel="feature 1", aspect="equal", **limits)
    canvas.axes[0].legend(loc="upper left", fontsize=8)
    alt = "Outputs of attention fill the region between five values and never leave it."
    picture.show(canvas, alt + " Scores used as weights, without softmax, give points far outside.")


draw_outputs()

# %% [markdown]
# What to see: the outputs (dots) never leave the dashed region between the values, their **convex hull**. Small scores keep them near the mean of all values. Larger scores spread them out, and many come close to a single value. Without softmax (crosses), most points lie outside.
#
# So attention selects and mixes. To reach [4, 4], a model needs other values or a later step.
#
# Move a query yourself, with the pointer or the arrow keys. Here each key has two features, too, and the values are the same five.
#
# **Puzzle.** Give each value in turn a weight above one half. For which value is that impossible?
#
# <details><summary>Show the answer</summary>For <em>e</em>. Its key lies inside the convex hull of the other keys. Whatever the direction of the query, one of the others reaches further in it and so has a larger score. A key must stick out in some direction to win there.</details>

# %%
from transformer_course.widgets import show_hull

five_keys = torch.tensor([[-2.0, -1.0], [2.0, -1.5], [1.5, 2.0], [-1.5, 2.0], [0.3, 0.2]])
five_values = torch.tensor([[0.0, 0.0], [4.0, 0.0], [4.0, 3.0], [1.0, 4.0], [2.0, 2.0]])
show_hull(
    scaled_dot_product_attention,
    five_keys,
    five_values,
    ["a", "b", "c", "d", "e"],
    title="your attention: move the query",
)

# %% [markdown]
# ### Bug hunt: two more slides
#
# **From the lecture**: *Transformer: Part I (Encoder)*, CS7150, slide "Self-attention". It computes the weights as `A = softmax(E, dim=1)`, where $E$ holds the scaled scores. For one sequence, of shape (query, key), that is right. Here is the same line for a *batch* of shape (batch, query, key). Check the sums.

# %%
of_the_slide = torch.softmax(numbers(2, 3, 4, dtype=torch.float32), dim=1)
print("Sums over the keys, one for each query. They should all be 1:\n", of_the_slide.sum(-1))

# %% [markdown]
# **Exercise** (5 minutes). Fix it for a batch.
#
# <details><summary>Hint</summary>Which weights must sum to 1: the weights that one query gives to all keys, or the weights that one key gets from all queries?</details>


# %% exercise repaired_weights
def repaired_weights(energies: Tensor) -> Tensor:
    """Turn a batch of scores (the slide calls them energies, E) into attention weights: what softmax(E, dim=1) should be for a batch.

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
        hint="the scores of one query are a row, energies[i, j]: which axis do these rows run "
        "along, and does anything else change them?",
    )
with Check("repaired_weights", "an example you can do by hand") as check:
    # exp of the energies counts from 1 to 24
    powers = torch.arange(1.0, 25.0, dtype=torch.float64).reshape(3, 2, 4)
    weights = check.call(powers.log())
    check.shape(weights, batch=3, query=2, key=4)
    check.equal(
        weights[0, 0],
        torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64),
        "the first query's weights are tenths: 1, 2, 3, 4 divided by their sum",
        hint="take the softmax of these scores over the keys, and do nothing else",
    )
# BEGIN HIDDEN TESTS
with Check("repaired_weights", "equal to PyTorch's softmax over the keys") as check:
    for shape in ((2, 3, 4), (3, 3, 3), (1, 5, 2)):
        energies = numbers(*shape, seed=23, scale=3.0)
        check.equal(check.call(energies), torch.softmax(energies, 2), "softmax over the keys")
# END HIDDEN TESTS


# %% [markdown]
# **From the lecture**: *Introduction to Transformers*, CS60216, slides "Self-attention over input embeddings". They compute the weights of four values as
#
# $$\lambda_i = \frac{e^{q \cdot k_i}}{\sum_{i=1}^{4} e^{q \cdot k_i}}$$
#
# The notation is wrong: the sum needs an index of its own, because the $i$ on the left already has a meaning. And compared with the formula of this section, one part is missing. **Predict** which part, then run the cell to see what happens without it.

# %%
wide_query, wide_keys = numbers(64), numbers(4, 64, seed=1)
print("λ as on the slide, for d_k = 64:", torch.softmax(wide_keys @ wide_query, 0).numpy().round(3))

# %% [markdown]
# **Exercise** (5 minutes). Compute all the weights of one query, with the missing part put back.
#
# <details><summary>Hint</summary>Compare the exponent with the scores in your own attention. What does yours have that q · k lacks?</details>


# %% exercise repaired_lambdas
def repaired_lambdas(query: Tensor, keys: Tensor) -> Tensor:
    """Compute the weights λ of one query over all keys, with the part that the slide leaves out.

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
        "for this query and these keys of width 4, λ is 1/8, 2/8, 5/8",
        hint="compare the exponent on the slide with the scores in your own attention",
    )
with Check("repaired_lambdas", "another width") as check:
    query = torch.tensor([3**0.5, 0.0, 0.0], dtype=torch.float64)
    powers = [[1.0, 3.0, 1.0], [2.0, 1.0, 1.0], [5.0, 1.0, 1.0]]
    check.equal(
        check.call(query, torch.tensor(powers, dtype=torch.float64).log()),
        torch.tensor([1 / 8, 2 / 8, 5 / 8], dtype=torch.float64),
        "for this query and these keys of width 3, λ is 1/8, 2/8, 5/8",
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
# Run your weights beside those of the slide. One key still gets the most, but now the others count, too:

# %%
print("λ as on the slide:", torch.softmax(wide_keys @ wide_query, 0).numpy().round(3))
print("λ repaired:       ", repaired_lambdas(wide_query, wide_keys).numpy().round(3))


# %% [markdown]
# ## 9 · Self-attention as a module
#
# So far, the matrices were given. **Parameters** are the numbers of a model that training adjusts. They live in an `nn.Module`. Yours has three `nn.Linear` layers without bias, followed by your attention.
#
# In **self-attention**, queries, keys and values all come from the same sequence. A **head** is one set of query, key and value projections together with the attention that uses them. Lesson 3 combines several heads.
#
# `nn.Linear(d_model, d_head)` stores its matrix as (d_head, d_model) and computes `x @ weight.T`. The transposition is done for you: just call the layer. Here queries, keys and values all have the width `d_head`.

# %% [markdown]
# **Exercise** (15 minutes). Use exactly the three names in the docstring, because the check loads parameters by name.
#
# <details><summary>Hint</summary>Create the layers in <code>__init__</code>, after <code>super().__init__()</code>, and store each one on <code>self</code>. In <code>forward</code>, call each layer on x, and pass the three results to your own attention.</details>


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
hint = "three layers with the docstring's names and sizes, called on x; then your attention"
with Check("SelfAttention", "an example you can do by hand", hint) as check:
    query = torch.zeros(3, 4, dtype=torch.float64)
    query[0, 0] = query[1, 1] = 2.0
    powers = [[1.0, 3.0, 1.0, 1.0], [2.0, 1.0, 1.0, 1.0], [5.0, 1.0, 1.0, 1.0]]
    key = torch.tensor(powers, dtype=torch.float64).log()
    value = torch.tensor(
        [[8.0, 0.0, 0.0, 3.0], [0.0, 8.0, 0.0, 0.0], [8.0, 8.0, -4.0, 0.0]], dtype=torch.float64
    )
    # twelve features: the first four are a token's query, the next its key, the last its value
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
        hint="the weights multiply w_value(x), not x",
    )
with Check("SelfAttention", "a batch of sequences") as check:
    attention, x = check.build(5, 2).double(), numbers(3, 4, 5)
    attention.load({f"w_{role}.weight": numbers(2, 5) for role in ("query", "key", "value")})
    output, weights = attention.call(x, returns=("output", "weights"))
    check.shape(weights, batch=3, query=4, key=4)
    check.shape(output, batch=3, length=4, d_head=2)
    alone, _ = attention.call(x[1], returns=("output", "weights"))
    check.equal(output[1], alone, "a sequence gives the same output in a batch as on its own")
    for name, slope in attention.gradients(output.square()).items():
        claim = f"a gradient reaches {name}"
        check.true(bool(slope.abs().max() > 0), claim, hint="no_grad, detach and .data cut it off")
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
        check.true(weights.shape == (*leading, 5, 5), "one weight for each pair of tokens")
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
# ## 10 · Tired or wide: a model that learns its own weights
#
# **Another good place to stop.** All exercises that you program are behind you. What follows is an experiment with your own attention: about 55 minutes of predicting and measuring, and one question at the end. (Back later? Run all cells above first.)
#
# Back to the question of part 1. You now train a small model, built from your `SelfAttention`, to find the noun that *it* refers to. The sentences all have the same form. Examples are **held out** when they are kept out of training and used only for testing. Here, five pairs of nouns are held out. In training, for example, *animal* and *street* never occur in the same sentence.

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
ANIMAL, PLACE, IT, LAST = 1, 5, 7, 10  # positions in every sentence, counted from 0
meant = torch.tensor([ANIMAL if words[LAST] in of_animals else PLACE for words in sentences])
# five pairs are held out: animal and street, dog and river, and so on
unseen = list(zip(animals, places, strict=True))
held_out = torch.tensor([(words[ANIMAL], words[PLACE]) in unseen for words in sentences])
print(f"{len(sentences)} sentences, {int(held_out.sum())} of them held out, {len(index_of)} tokens")

# %% [markdown]
# The model starts from learned embeddings. Each layer adds the output of your attention to the vector of each token. Nothing tells the model where a token stands: it sees which words there are, but not their order. These sentences can be understood without it. Lesson 6 adds positions.
#
# The model's answer is the noun to which *it* gives more weight in the last layer, and training raises the weight of the right noun. So the output of the last layer is not used, and its value matrix is never trained.
#
# This is a shortcut for a small experiment. A full Transformer is trained on its outputs, and nobody tells it which tokens to attend to.


# %%
class Reader(nn.Module):
    """Layers of self-attention on learned embeddings; returns the weights of each layer."""

    def __init__(self, num_layers: int, d_model: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(len(index_of), d_model)
        self.layers = nn.ModuleList(SelfAttention(d_model, d_model) for _ in range(num_layers))

    def forward(self, tokens: Tensor) -> list[Tensor]:
        x = self.embedding(tokens)  # (batch, length, d_model)
        all_weights = []
        for layer in self.layers:
            output, weights = layer(x)
            x = x + output
            all_weights.append(weights)  # (batch, length, length)
        return all_weights


# %% folded=true
# Trains a reader and measures its accuracy, by default on the held-out sentences, click to unfold
import functools


@functools.cache  # a reader that was trained once is not trained again
def trained(
    num_layers: int,
    seed: int,
    d_model: int = 16,
    large: int | None = None,
    factor: int = 1,
    steps: int = 100,
) -> Reader:
    """Train a reader with Adam.

    Before the first step, the query matrix of layer `large` is multiplied by 32. Each step of
    this matrix is multiplied by `factor`.
    """
    torch.manual_seed(seed)
    reader = Reader(num_layers, d_model)
    groups = []
    for path, parameter in reader.named_parameters():
        chosen = path == f"layers.{large}.w_query.weight"
        groups.append({"params": [parameter], "lr": 0.01 * (factor if chosen else 1)})
        if chosen:
            parameter.data.mul_(32)
    optimizer = torch.optim.Adam(groups)
    for _ in range(steps):
        weights = reader(tokens[~held_out])[-1][:, IT]  # (batch, length)
        # minus the log of the weight that `it` gives to the right noun
        loss = F.nll_loss((weights + 1e-9).log(), meant[~held_out])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return reader


def accuracy(reader: Reader, among: Tensor = held_out) -> float:
    """The share of these sentences in which `it` gives more weight to the right noun."""
    with torch.no_grad():
        weights = reader(tokens[among])[-1][:, IT]
    nouns = torch.tensor([ANIMAL, PLACE])
    chosen = nouns[weights[:, nouns].argmax(-1)]
    return (chosen == meant[among]).double().mean().item()


# %% [markdown]
# **Predict.** With *one* layer, how many of the held-out sentences does the model get right?
#
# <details><summary>All of them</summary>In one layer, the query of <em>it</em> is made from the embedding of <em>it</em> alone. What could have told it about <em>tired</em>?</details>
# <details><summary>None of them</summary>To be wrong every time, the model would have to know which answer is right.</details>
# <details><summary>Half of them</summary>Yes. Whatever the last word is, <em>it</em> prefers the same one of the two nouns.</details>

# %%
figures.runs(
    {
        "1 layer": [accuracy(trained(1, seed)) for seed in range(3)],
        # as many parameters as two layers of width 16: about 2,000
        "1 layer, wider": [accuracy(trained(1, seed, d_model=22)) for seed in range(3)],
        "2 layers": [accuracy(trained(2, seed)) for seed in range(8)],
    },
    "held-out accuracy",
    "What does “it” mean? One layer cannot tell (a dot is a run)",
)

# %% [markdown]
# What to see: one layer gets half of the sentences right, in every run. More parameters do not help. A model **generalises** if it is right on examples that it never saw in training. The model with two layers does so in every run.
#
# Why half? Divide the weight of *it* on *animal* by its weight on *street*. The figure shows log₂ of this ratio, so +1 means twice as much on the animal:


# %%
def log_ratio(weights: Tensor) -> float:
    """log₂ (animal : street) for `it`. The 1e-9 keeps it between -30 and 30."""
    nouns = weights[IT] + 1e-9  # weights: (length, length)
    return (nouns[ANIMAL] / nouns[PLACE]).log2().item()


def too(adjective: str) -> Tensor:
    """The tokens of the sentence with animal, street and this adjective."""
    return torch.tensor([index_of[word] for word in sentence("animal", "street", adjective)])


# %%
ratios = {}
for name, count in (("1 layer", 1), ("2 layers", 2)):
    for adjective in ("tired", "wide"):
        last_weights = [trained(count, seed)(too(adjective))[-1] for seed in range(3)]
        ratios[f"{name}, too {adjective}"] = [log_ratio(found) for found in last_weights]
figures.runs(ratios, "log₂ (animal : street)", "Which noun does “it” prefer? (a dot is a run)")
for name, found in ratios.items():
    print(f"{name:20}", "   ".join(f"{ratio:7.3f}" for ratio in found))

# %% [markdown]
# What to see: with one layer, each run has the same ratio in both sentences, up to rounding. With two layers the logarithm changes its sign: *it* prefers the animal when it is too tired, and the street when it is too wide.
#
# Why can one layer not do this? The ratio of two weights of one query is $e^{s_{\text{animal}} - s_{\text{street}}}$. In the first layer these two scores come from the embeddings of *it*, *animal* and *street*. The last word is in neither. It changes only the denominator, which both weights share. So *it* prefers the same noun with all eight adjectives, and is right with four.
#
# Now see one of your two-layer models:

# %%
from transformer_course.widgets import show_attention

pictures, layers = {}, []
for adjective in ("tired", "wide"):
    with torch.no_grad():
        layers = trained(2, 0)(too(adjective))
    pictures[f"too {adjective}"] = (sentence("animal", "street", adjective), IT, layers[-1][IT])
figures.word_links(pictures)
# all weights of the last sentence: (layer, head, query, key), with one head in each layer
names = sentence("animal", "street", "wide")
show_attention(torch.stack(layers)[:, None], names, title="your model's weights on “too wide”")

# %% [markdown]
# The view above counts layers from 0, as code does. In layer 1, the last one, find the row of *it*. Then switch to layer 0 and find the rows with a large weight on the last word, *wide*.
#
# <details><summary>In layer 1, other rows may look like that of <em>it</em>, although training asked only about <em>it</em>. Why?</summary>All queries are made by the same matrix and meet the same keys, and training asked nothing of the other rows. So what training changed for <em>it</em> also changes them.</details>
#
# **Predict.** The first layer must carry something of *tired* or *wide* to the tokens that decide the ratio in the last layer. Which tokens are these?
#
# <details><summary>Only <em>it</em>, which then asks for the right noun</summary>A model could work like this. Most runs do not, as the figure below shows.</details>
# <details><summary>The nouns, which then match differently</summary>In most runs, yes, and often one of the two is enough. The figure below shows it.</details>
# <details><summary>Only the last word, which decides on its own</summary>The ratio depends on the query of <em>it</em> and on the keys of the two nouns, and on nothing else.</details>

# %% [markdown]
# **Activation patching** replaces some of a model's internal vectors with those from another input, to see whether its answer changes. Run the first layer on both sentences. Replace some vectors of “too tired” with those of “too wide”, and run the second layer. If the answer flips, these vectors carried the information.


# %%
def after_first_layer(reader: Reader, adjective: str) -> Tensor:
    """The vectors of all tokens after the first layer: (length, d_model)."""
    x = reader.embedding(too(adjective))
    output, _ = reader.layers[0](x)
    return x + output


def patched(seed: int, positions: list[int]) -> float:
    """log₂ (animal : street) on “too tired”, with the vectors at `positions` from “too wide”."""
    reader = trained(2, seed)
    with torch.no_grad():
        x = after_first_layer(reader, "tired")
        x[positions] = after_first_layer(reader, "wide")[positions]
        _, weights = reader.layers[1](x)
    return log_ratio(weights)


# %%
figures.runs(
    {
        "nothing": [patched(seed, []) for seed in range(8)],
        "“it”": [patched(seed, [IT]) for seed in range(8)],
        "“animal”": [patched(seed, [ANIMAL]) for seed in range(8)],
        "“street”": [patched(seed, [PLACE]) for seed in range(8)],
        "both nouns": [patched(seed, [ANIMAL, PLACE]) for seed in range(8)],
        "“it”, both nouns": [patched(seed, [IT, ANIMAL, PLACE]) for seed in range(8)],
    },
    "log₂ (animal : street)",
    "“Too tired”, with these vectors taken from “too wide” (a dot is a run)",
)

# %% [markdown]
# Below zero *it* prefers the street. The last column flips in every run. It must, because the ratio depends on these three vectors alone.
#
# Both nouns flip the answer in most runs. In most of these one noun is enough: the animal in some, the street in others. Replacing only *it* rarely flips it.
#
# <details><summary>In one run here, neither <em>it</em> nor both nouns flip the answer, but all three together do. What follows for patching?</summary>A vector that does not flip the answer alone may still carry information.</details>
#
# So runs may solve a task in different ways. All show why layers are stacked: *a layer can use what earlier layers have gathered.*

# %% [markdown]
# ### Do the weights explain the answer?
#
# **From the lecture**: *Transformers (Part 2)*, Data C182, slide "Attention": the model should tell us "why" it gave an answer. Does it? The last word decides the answer. How much weight does *it* give to this word?


# %%
def last_word_of(seed: int) -> str:
    """The weight that `it` gives to the last word, and its preference with two last words."""
    with torch.no_grad():
        tired, wide = (trained(2, seed)(too(adjective))[-1] for adjective in ("tired", "wide"))
    ratios = f"too tired {log_ratio(tired):6.1f}, too wide {log_ratio(wide):6.1f}"
    return f"weight on “tired” {tired[IT, LAST]:.3f}   log₂ (animal : street): {ratios}"


for seed in range(8):
    print(f"run {seed}: {last_word_of(seed)}")

# %% [markdown]
# What to see: *it* gives the last word almost no weight in the last layer, but changing this word flips the answer. The loss itself forces it: only weight on the right noun counts. The weights say *from where* a vector is taken, not what it contains. The vectors of the nouns already hold something of the last word.
#
# So an attention map is a hypothesis: test it. (Jain and Wallace, *Attention is not Explanation*, 2019.)

# %% [markdown]
# ### Training without the division (optional)
#
# Now test part 6: take the division by $\sqrt{d_k}$ away. In a new task, each of eight tokens adds a name's vector to a colour's. For a given name, one head with $d_k = 256$ must find the colour. The loss depends on its *output*.


# %% folded=true
# A model that answers from a list, and its training, click to unfold
class Lookup(nn.Module):
    """Eight pairs (name, colour) as tokens, and one name as the query; returns colour logits."""

    def __init__(self, divided: bool, smaller_start: bool) -> None:
        super().__init__()
        self.w_query, self.w_key = (nn.Linear(24, 256, bias=False) for _ in range(2))
        self.w_value, self.colour = nn.Linear(24, 16, bias=False), nn.Linear(16, 8)
        for part in (self.w_query, self.w_key):
            nn.init.normal_(part.weight, std=24**-0.5)  # queries start with std 1, keys with √2
        if smaller_start:
            self.w_query.weight.data /= 16
        self.factor = 1.0 if divided else 16.0  # 16 = √256 undoes the division

    def forward(self, asked: Tensor, pairs: Tensor) -> Tensor:
        query = self.factor * self.w_query(asked)
        output, _ = scaled_dot_product_attention(query, self.w_key(pairs), self.w_value(pairs))
        return self.colour(output)[:, 0]


def lists(count: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Asked names (count, 1, 24), pairs (count, 8, 24) and the right colours (count,)."""
    fixed = torch.Generator().manual_seed(100)
    names, colours = torch.randn(32, 24, generator=fixed), torch.randn(8, 24, generator=fixed)
    generator = torch.Generator().manual_seed(seed)
    picked = torch.rand(count, 32, generator=generator).argsort(1)[:, :8]
    coloured = torch.randint(8, (count, 8), generator=generator)
    # the pairs are in random order, so the first may be the one that is asked for
    return names[picked[:, :1]], names[picked] + colours[coloured], coloured[:, 0]


@functools.cache
def lookup_accuracy(
    seed: int, rate: float, divided: bool = True, smaller_start: bool = False
) -> float:
    """The held-out accuracy after 150 steps of Adam with 32 lists each."""
    torch.manual_seed(seed)
    model = Lookup(divided, smaller_start)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate, fused=True)
    asked, pairs, right = lists(150 * 32, seed)
    for part in torch.arange(150 * 32).split(32):
        loss = F.cross_entropy(model(asked[part], pairs[part]), right[part])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    asked, pairs, right = lists(500, seed + 1000)
    with torch.no_grad():
        return (model(asked, pairs).argmax(-1) == right).double().mean().item()


# %% [markdown]
# **Predict.** Without the division, scores start with standard deviation about 23, with it 1.4. Each model trains for 150 steps, at three learning rates. What happens without the division?
#
# <details><summary>With a good learning rate it is as good</summary>No rate of the three rescues it here.</details>
# <details><summary>It stays at chance, 12.5 %</summary>Not quite. A saturated softmax lets little gradient through, but not none.</details>
# <details><summary>It learns less at every rate</summary>Yes. The scores start so large that many queries are saturated.</details>


# %%
rates = [0.001, 0.003, 0.01]
options = {
    "divided by √d_k": {},
    "not divided": {"divided": False},
    "not divided, smaller start": {"divided": False, "smaller_start": True},
}
measured = {
    title: [[lookup_accuracy(seed, rate, **option) for rate in rates] for seed in range(3)]
    for title, option in options.items()
}
for title, found in measured.items():
    best = int(torch.tensor(found).mean(0).argmax())
    print(f"{title:27} best at rate {rates[best]}:", [f"{run[best]:.2f}" for run in found])
figures.curves(
    rates,
    measured,
    x="learning rate",
    y="held-out accuracy",
    title="d_k = 256: with and without the division (bands: three runs)",
    logarithmic="x",
    bottom=0.0,
)

# %% [markdown]
# What to see: with the division, all runs get nearly everything right at the best rate. Without it, accuracy stays far lower at each of these rates.
#
# The third line is the control. There is no division, but $W^Q$ starts 16 times smaller, so the scores start as small as with the division. At the best rate, this brings back most of the accuracy. So most of the harm comes from scores that are large *at the start*.

# %% [markdown]
# Do large scores hurt in every layer? Back to *it*: multiply the query matrix of *one* layer by 32 before training. Its scores start 32 times larger.
#
# <details><summary>How large is that?</summary>PyTorch's first matrices are small: in the first layer, scores start with standard deviation about 0.3, not 1. Times 32, that is about 10, as in part 6 without the division at a d_k of about 100.</details>
#
# **Predict.** In which layer do large scores hurt?
#
# <details><summary>Only in the first</summary>Yes, as the figure below shows.</details>
# <details><summary>Only in the last, which gives the answer</summary>The loss is −log w, where w is the weight on the right noun in this layer. The slope of −log w is 1/w in size. Times the slope w(1 − w) of softmax, that gives 1 − w: large while the answer is wrong. The log undoes the saturation.</details>
# <details><summary>In both</summary>Part 6 suggests it. But the loss takes the log of a weight of the last layer. Open the second choice to see what that does.</details>

# %%
settings = {
    "as before": {},
    "last layer, scores × 32": {"large": 1},
    "first layer, scores × 32": {"large": 0},
    "first layer, scores × 32, steps × 32": {"large": 0, "factor": 32},
}
found = {
    title: [accuracy(trained(2, seed, **options)) for seed in range(5)]
    for title, options in settings.items()
}
figures.runs(found, "held-out accuracy", "Where do large scores hurt? (a dot is a run)")
for title, options in settings.items():
    fitted = [accuracy(trained(2, seed, **options), ~held_out) for seed in range(5)]
    print(f"{title:36}: accuracy on training sentences {min(fitted):.2f} to {max(fitted):.2f},")
    print(f"{'':36}  on held-out ones {min(found[title]):.2f} to {max(found[title]):.2f}")
for title, large in (("as before", None), ("scores × 32", 0)):
    starts = [trained(2, seed, large=large, steps=0)(tokens)[0] for seed in range(5)]
    medians = [(start * (1 - start)).amax(-1).median().item() for start in starts]
    print(f"first layer, {title:11}: slope at the start {min(medians):.3f} to {max(medians):.3f}")

# %% [markdown]
# What to see: large scores do little or no harm in the last layer, but cost accuracy in the first. No log helps there, and the largest slope $w (1 - w)$ of the median query starts smaller in every run, and much smaller in some. The accuracy on the training sentences is almost as low: large scores hurt training itself. The division by $\sqrt{d_k}$ keeps scores from growing.
#
# Adam moves every entry by about the same amount, relatively little if it is 32 times larger.
#
# <details><summary>Could this be the cause? Find the column that tells, then open</summary>The last one. There each step of the matrix is 32 times larger, too, so the matrix changes relatively as much as before. Still the accuracy stays low. So small steps are not shown to be the cause. (No proof: large steps may do harm of their own, and only 100 are tested.)</details>

# %% [markdown]
# ## 11 · The real thing
#
# PyTorch has a function, `F.scaled_dot_product_attention`, and a module, `nn.MultiheadAttention`. The next cell calls PyTorch's function and yours on the same inputs. It also copies the module's parameters into your module. All numbers should agree.

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
    block.out_proj.weight.copy_(torch.eye(8))  # a final projection that lesson 3 explains
    for part, matrix in zip(parts, block.in_proj_weight.chunk(3), strict=True):
        part.weight.copy_(matrix)
sequences = numbers(4, 9, 8, seed=3)
results = zip(attention(sequences), block(sequences, sequences, sequences), strict=True)
for name, (mine, theirs) in zip(("output", "weights"), results, strict=True):
    print(f"module, {name}: largest difference {(mine - theirs).abs().max().item():.1e}")

# %% [markdown]
# Differences of about 1e-15 or less are rounding errors in float64. About 1e-7 means that a step ran in float32. A mistake in the formula usually shows as 1e-3 or more. You have written the operation at the heart of every Transformer.

# %% [markdown]
# ## 12 · In your own words
#
# **Question** (10 minutes). A friend divides the scores by $d_k$ instead of $\sqrt{d_k}$: "smaller is safer". What happens to the weights when $d_k$ is large, and why is the square root the right amount? Double-click the cell below and answer in two or three sentences. A person reads your answer.

# %% answer why_scale [markdown] points=2
# <!-- BEGIN SOLUTION -->
# For independent features, the scores have standard deviation √d_k. Divided by d_k, they have standard deviation 1/√d_k, which goes to zero as d_k grows. All scores of a query become nearly equal, all its weights come close to 1/length, and attention averages over all tokens instead of selecting some. Divided by √d_k, the scores keep standard deviation 1 at every width: softmax can select without being saturated, so gradients still flow.
# <!-- END SOLUTION -->


# %% [markdown]
# ## Where you stand

# %%
from transformer_course.progress import show_progress

show_progress("01_dot_product_attention")

# %% [markdown]
# - The score of a query and a key is their dot product. It says how well the key matches what the query looks for.
# - Softmax over the keys turns the scores of one query into attention weights: positive, with sum 1. Subtract the maximum first, so that `exp` cannot overflow.
# - The output is the weighted sum of the values, one row for each query.
# - Dot products of independent features with mean 0 and standard deviation 1 have standard deviation $\sqrt{d_k}$. When $d_k$ is large, their softmax saturates, and almost no gradient passes through it (unless, as in the last layer of part 10, the loss takes its log). Divided by $\sqrt{d_k}$, they keep standard deviation 1.
# - Count axes from the end, and the same three lines serve every batch.
# - In the first layer, each query and each key is made from its own token alone. In later layers, they can use what earlier layers gathered.
#
# **What comes next.** Here every token attends to every token, including those that come after it. A model that writes text must not see tokens that it has yet to write. How do you keep them hidden? That is lesson 2, masking.
