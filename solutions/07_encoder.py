# %% [markdown]
# # Lesson 7 · The encoder
#
# **You build** the Transformer's encoder: a feed-forward network, the block that joins it to attention, and a stack of such blocks. In the end your stack reads a row of digits and turns it round, without an error.
#
# **You need** what lessons 3 to 6 were about: multi-head attention, layer norm and residual connections, dropout, positions. All of them come from PyTorch here, so you need the ideas, not your old code.
#
# **You take away** `EncoderBlock` and `Encoder`, the number of weights in them, and a reason for the place of every norm.
#
# **Time**: about 90 minutes.

# %% [markdown]
# **How to work**, as in lesson 1: read, predict, run, cell by cell. Nothing from earlier lessons is imported: this notebook runs alone.

# %% [markdown]
# ## 1 · Many parts, one machine
#
# You have all the parts on the table. Attention lets words look at one another. Heads let one word look for several things at once. A layer norm keeps the numbers in range, a residual connection lets a gradient pass, dropout keeps the model from relying on a few units, and positions say who stands where.
#
# The question that lesson 6 left: how do they fit together into one block, in which order, and how deep can you stack it? The order matters more than you would think. Here are the two in use. Follow the thick line from left to right: it is the way of a word's vector through one **block**.

# %%
from transformer_course import figures

figures.stations(
    {
        "pre-norm": [(["norm1", "attention"], []), (["norm2", "linear1", "ReLU", "linear2"], [])],
        "post-norm": [(["attention"], ["norm1"]), (["linear1", "ReLU", "linear2"], ["norm2"])],
    },
    "x",
)

# %% [markdown]
# What to see: both blocks hold the same parts. Each part that computes is a **detour**, and what it finds is added to the line: that is the residual connection. Above, nothing stands on the thick line itself. Below, two norms do. By the end of this lesson you know what that costs.
#
# One thing in the picture is new: the second detour, two linear layers with a ReLU between them.

# %% given imports
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformer_course.checks import Check, numbers

torch.set_num_threads(1)  # tiny models train fastest on one core

# %% [markdown]
# ## 2 · After the look, the thought
#
# Attention collects. What it puts into a word is a **blend**, a weighted sum of values. But to collect is not to conclude. Say that a word has taken in two features: is there a *not* nearby, is there a *good* nearby? The word should conclude *bad* if both are there, and only then. Here are the four cases, the best that any sum of the two features can do, and what one ReLU makes of it: $\max(0, \text{not} + \text{good} - 1)$.

# %%
cases = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
both_there = cases.prod(1, keepdim=True)
with_one = torch.cat([cases, torch.ones(4, 1)], 1)  # the last column is for a bias
best_sum = (with_one @ torch.linalg.lstsq(with_one, both_there).solution).round(decimals=3)
with_relu = (cases.sum(1, keepdim=True) - 1).relu()
figures.steps(
    {
        "taken in": (cases, "feature", ["not", "good"]),
        "wanted": (both_there, "conclusion", ["bad"]),
        "best sum": (best_sum, "conclusion", ["bad"]),
        "ReLU": (with_relu, "conclusion", ["bad"]),
    },
    "case",
    ["neither", "good", "not", "not good"],
)

# %% [markdown]
# What to see: the best sum gives *good* alone the same score as *not* alone, a quarter of a *bad*, and calls *neither* less than nothing. The ReLU is exact. A sum cannot say *and*; a sum with a bend can.
#
# So after each look a Transformer gives each word a moment to think **for itself**: the same small network at every place, with no look at the neighbours. It widens the word from $d_{\text{model}}$ to $d_{\text{ff}}$ features (often four times as many), bends, and comes back:
#
# $$\mathrm{FFN}(x) = \max(0,\; x W_1 + b_1)\, W_2 + b_2$$
#
# $W_1$ and $W_2$ are matrices, $b_1$ and $b_2$ biases; $x$ is one word. FFN stands for feed-forward network.

# %% [markdown]
# **Predict.** Someone forgets the ReLU, and trains. What is lost?
#
# <details><summary>Nothing much: two layers are still two layers</summary>Multiply it out: x W₁ W₂ is x times one matrix. Two linear layers without a bend are one.</details>
# <details><summary>The second layer: both collapse into one matrix</summary>Yes. It costs two layers and does the work of one, and no error says so.</details>
# <details><summary>It cannot be trained</summary>It trains, with good gradients. That is why nobody notices.</details>

# %% [markdown]
# **Exercise** (10 minutes). Write it, with dropout on the hidden features: behind the ReLU, and nowhere else.
#
# <details><summary>Hint</summary>Three layers to keep on <code>self</code>: two <code>nn.Linear</code>, one <code>nn.Dropout</code>. An <code>nn.Dropout</code> knows by itself whether the model trains. For the bend take <code>torch.relu</code>.</details>


# %% exercise FeedForward
class FeedForward(nn.Module):
    """Two linear layers with a ReLU between them, the same for every word.

    Parts: `linear1`, from d_model to d_ff, and `linear2`, back to d_model (each an `nn.Linear`).
    Dropout: on what the ReLU gives, nowhere else.
    forward: x (…, d_model) -> (…, d_model).
    """

    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.0) -> None:
        # BEGIN SOLUTION
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)
        # END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        # BEGIN SOLUTION
        return self.linear2(self.dropout(torch.relu(self.linear1(x))))
        # END SOLUTION


# %% check FeedForward points=2
hint = "linear1, then ReLU, then dropout, then linear2"
with Check("FeedForward", "an example you can do by hand", hint) as check:
    weights = {
        "linear1.weight": torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]),
        "linear1.bias": torch.tensor([0.0, 0.0, 1.0]),
        "linear2.weight": torch.tensor([[1.0, 0.0, -2.0], [0.0, -3.0, 1.0]]),
        "linear2.bias": torch.tensor([0.5, 1.0]),
    }
    feed = check.build(2, 3).double()
    feed.load({name: weight.double() for name, weight in weights.items()})
    # the hidden features are [2, -3, 0] and [-1, 7, 7]: the ReLU makes them [2, 0, 0], [0, 7, 7]
    x = torch.tensor([[2.0, -3.0], [-1.0, 7.0]], dtype=torch.float64)
    result = feed.call(x)
    check.shape(result, length=2, d_model=2)
    check.equal(
        result,
        torch.tensor([[2.5, 1.0], [-13.5, -13.0]], dtype=torch.float64),
        "max(0, x W₁ + b₁) W₂ + b₂, worked out for two words",
    )
with Check("FeedForward", "dropout of 1, which drops all that it meets") as check:
    feed, x = check.build(2, 3, 1.0).double(), numbers(4, 2)
    weights = {
        "linear1.weight": numbers(3, 2, seed=1),
        "linear1.bias": numbers(3, seed=2),
        "linear2.weight": numbers(2, 3, seed=3),
        "linear2.bias": numbers(2, seed=4),
    }
    feed.load(weights)
    silent, awake = feed.train().call(x), feed.eval().call(x)
    check.equal(
        silent,
        weights["linear2.bias"].expand(4, 2),
        "in training, with all hidden features dropped, only the bias of linear2 is left",
        hint="dropout stands between the ReLU and linear2, and nowhere else",
    )
    hidden_features = x @ weights["linear1.weight"].T + weights["linear1.bias"]
    check.equal(
        awake,
        hidden_features.clamp(min=0) @ weights["linear2.weight"].T + weights["linear2.bias"],
        "in evaluation nothing is dropped",
        hint="keep an nn.Dropout on self: it knows whether the model trains",
    )
with Check("FeedForward", "another rate of dropout") as check:
    feed = check.build(4, 6, 0.75).double()
    # each output copies a hidden feature, and that is 1: half from its word, half from the bias
    feed.load(
        {
            "linear1.weight": torch.eye(6, 4) / 2,
            "linear1.bias": torch.full((6,), 0.5),
            "linear2.weight": torch.eye(4, 6),
            "linear2.bias": torch.zeros(4),
        }
    )
    words = torch.ones(50, 10, 4, dtype=torch.float64)
    result, again = feed.train().call(words), feed.call(words)
    check.true(
        all(abs(value) < 1e-9 or abs(value - 4) < 1e-9 for value in result.unique().tolist()),
        "with p = 0.75, a hidden feature of 1 becomes 0, or 1 / (1 - 0.75) = 4",
        hint="hand `dropout` to one nn.Dropout, and use it once",
    )
    check.true(
        bool((result == 0).any() and (result != 0).any()),
        "with p = 0.75 some hidden features are dropped, and some are kept",
        hint="hand `dropout` to one nn.Dropout, and use it once",
    )
    check.true(
        bool((result[0] != result[1]).any() and (result[:, 0] != result[:, 1]).any()),
        "each word of each sentence drops features of its own",
        hint="hand all hidden features to one nn.Dropout: it draws for each number",
    )
    check.true(
        bool(((result == 0).any(-1) & (result != 0).any(-1)).any()),
        "a word loses single features, not all or none",
        hint="hand all hidden features to one nn.Dropout: it draws for each number",
    )
    check.true(
        not torch.equal(result, again),
        "a second call drops other features",
        hint="each call draws anew: leave torch's random generator as it is",
    )
# BEGIN HIDDEN TESTS
with Check("FeedForward", "equal to the formula, in batches, float32 and float64") as check:
    for leading in ((7,), (2, 1), (2, 3, 4), ()):
        for scale, dtype in ((1.0, torch.float32), (0.4, torch.float64), (5.0, torch.float64)):
            feed = check.build(6, 9)
            feed = feed.double() if dtype == torch.float64 else feed
            given_parts = {
                "linear1.weight": numbers(9, 6, seed=5, dtype=dtype),
                "linear1.bias": numbers(9, seed=6, dtype=dtype),
                "linear2.weight": numbers(6, 9, seed=7, dtype=dtype),
                "linear2.bias": numbers(6, seed=8, dtype=dtype),
            }
            feed.load(given_parts)
            x = numbers(*leading, 6, seed=9, scale=scale, dtype=dtype)
            inner = F.linear(x, given_parts["linear1.weight"], given_parts["linear1.bias"]).relu()
            expected = F.linear(inner, given_parts["linear2.weight"], given_parts["linear2.bias"])
            check.equal(feed.call(x).detach(), expected, "the formula")
with Check("FeedForward", "gradients, views, and words that do not meet") as check:
    feed = check.build(5, 3).double()
    feed.load({n: numbers(*w.shape, seed=13) for n, w in feed.parameters().items()})
    x = numbers(4, 5, 2, seed=10).transpose(1, 2).requires_grad_()
    result = feed.call(x)
    slope = check.gradient(result[1, 0].square(), x)
    check.true(bool((slope[1, 0] != 0).any()), "a word depends on itself")
    others = torch.ones(4, 2, dtype=torch.bool)
    others[1, 0] = False
    check.equal(slope[others], torch.zeros(7, 5, dtype=torch.float64), "and on no other word")
    slopes = feed.gradients(result.square())
    shapes = {name: tuple(slope.shape) for name, slope in slopes.items()}
    four_parts = {
        "linear1.weight": (3, 5),
        "linear1.bias": (3,),
        "linear2.weight": (5, 3),
        "linear2.bias": (5,),
    }
    check.true(shapes == four_parts, f"parameters {four_parts}, nothing else")
    check.true(all(bool((slope != 0).any()) for slope in slopes.values()), "a gradient for each")
with Check("FeedForward", "each word drops its own features, anew in each call") as check:
    feed = check.build(8, 40, 0.5).double()
    state = {name: numbers(*w.shape, seed=14) for name, w in feed.parameters().items()}
    feed.load({**state, "linear1.bias": torch.full((40,), 50.0)})
    same = numbers(1, 1, 8, seed=11).expand(3, 6, 8)
    result, again = feed.train().call(same).detach(), feed.call(same).detach()
    check.true(len(result.flatten(0, 1).unique(dim=0)) == 18, "equal words come out different")
    check.true(not torch.equal(result, again), "two calls differ")
    check.equal(feed.eval().call(same)[1, 2], feed.call(same)[0, 0], "nothing in evaluation")
# END HIDDEN TESTS


# %% [markdown]
# ## 3 · The block, in two orders
#
# Now the block of the first picture. Call the two detours **sublayers**: attention, and the feed-forward network. Then with $x$ the words,
#
# $$\text{pre-norm:}\quad x \leftarrow x + \mathrm{sublayer}(\mathrm{norm}(x)) \qquad\qquad \text{post-norm:}\quad x \leftarrow \mathrm{norm}(x + \mathrm{sublayer}(x))$$
#
# once for attention, and once more for the feed-forward network. Each of the two has a norm of its own, with its own gain and bias.
#
# Attention comes from PyTorch, as `nn.MultiheadAttention`. Its masks mean the opposite of ours (lesson 2), and a query that may look at nothing gives NaN. The next cell wraps it: `attend` takes the masks of this course, and returns what attention gives, and its weights.


# %% given attend
def attend(
    attention: nn.MultiheadAttention, x: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Let the words x look at one another through `attention`; return (output, weights).

    x (batch, length, d_model) -> output (batch, length, d_model), weights (batch, heads, length,
    length). mask: bool, (length, length) or (batch, 1 or length, length); True = may attend.
    A query that may attend to nothing takes in nothing: weights 0.
    """
    batch, length, _ = x.shape
    if mask is None:
        mask = torch.ones(length, length, dtype=torch.bool, device=x.device)
    allowed = mask.expand(batch, length, length)
    nothing = ~allowed.any(-1, keepdim=True)  # let these look anywhere, and undo it below
    blocked = ~(allowed | nothing).repeat_interleave(attention.num_heads, 0)
    output, weights = attention(x, x, x, attn_mask=blocked, average_attn_weights=False)
    output = torch.where(nothing, attention.out_proj.bias, output)
    return output, weights.masked_fill(nothing[:, None], 0.0)


# %% [markdown]
# And these are the parts of a block, by their names and shapes: the checks below load weights such as these into yours.


# %% given block_weights
def block_weights(d_model: int, d_ff: int, seed: int = 0) -> dict[str, Tensor]:
    """Fixed weights for every part of an EncoderBlock, by name, in float64."""
    shapes = {
        "attention.in_proj_weight": (3 * d_model, d_model),  # query, key, value in one matrix
        "attention.in_proj_bias": (3 * d_model,),
        "attention.out_proj.weight": (d_model, d_model),
        "attention.out_proj.bias": (d_model,),
        "linear1.weight": (d_ff, d_model),
        "linear1.bias": (d_ff,),
        "linear2.weight": (d_model, d_ff),
        "linear2.bias": (d_model,),
        "norm1.weight": (d_model,),
        "norm1.bias": (d_model,),
        "norm2.weight": (d_model,),
        "norm2.bias": (d_model,),
    }
    return {
        name: numbers(*shape, seed=20 * seed + i, scale=0.7)
        for i, (name, shape) in enumerate(shapes.items())
    }


# %% [markdown]
# **Predict.** Both sublayers are switched off: their last weights and biases are 0, so that each detour brings 0. What does a **pre-norm** block make of x?
#
# <details><summary>0</summary>That is what the detours bring. The thick line brings x itself.</details>
# <details><summary>norm(x)</summary>That is post-norm: its norms stand on the line, and nothing passes them unchanged.</details>
# <details><summary>x</summary>Yes. A pre-norm block begins as the identity, plus whatever its detours have to say.</details>

# %% [markdown]
# **Predict.** Does it matter whether dropout stands before or behind the ReLU?
#
# <details><summary>Yes: before it, the ReLU would see other numbers</summary>Try it with one number: dropped, it is 0 on both ways. Kept, it is multiplied by 1 / (1 − p), above 0, and the ReLU lets such a factor pass.</details>
# <details><summary>No: both orders give the same</summary>Yes, for ReLU, which only asks for the sign. For other bends, such as GELU, it would matter.</details>

# %% [markdown]
# **Exercise** (20 minutes). The heart of this lesson. Keep the two linear layers in the block itself, under the names of the docstring.
#
# <details><summary>Hint 1</summary>Begin with pre-norm alone, without dropout: two lines, each of the form <code>x = x + …</code>. The checks for post-norm and dropout come later.</details>
# <details><summary>Hint 2</summary>What is added to x: x as it was before the norm, or behind it? Look at the picture: where does the detour leave the thick line?</details>
# <details><summary>Hint 3</summary>Dropout has four places. <code>nn.MultiheadAttention(…, dropout=…)</code> sees to the first by itself. One <code>nn.Dropout</code> can serve the other three: it draws anew each time.</details>


# %% exercise EncoderBlock
class EncoderBlock(nn.Module):
    """Attention, then a feed-forward network: each a detour whose result is added to x.

    Parts: `attention` (an `nn.MultiheadAttention`, batch first), `linear1` (d_model to d_ff) and
    `linear2` (d_ff to d_model), with a ReLU between them, `norm1` and `norm2` (`nn.LayerNorm`).
    norm_first=True: x + sublayer(norm(x)); False: norm(x + sublayer(x)). norm1 goes with attention.
    Dropout, at one rate, in four places: on the attention weights, on what attention gives,
    behind the ReLU, and on what linear2 gives. On x itself never.
    forward: x (batch, length, d_model), and a mask for `attend`, or None
    -> (batch, length, d_model).
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.0,
        norm_first: bool = True,
    ) -> None:
        # BEGIN SOLUTION
        super().__init__()
        self.attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout, self.norm_first = nn.Dropout(dropout), norm_first
        # END SOLUTION

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        # BEGIN SOLUTION
        normed = self.norm1(x) if self.norm_first else x
        x = x + self.dropout(attend(self.attention, normed, mask)[0])
        x = x if self.norm_first else self.norm1(x)
        normed = self.norm2(x) if self.norm_first else x
        hidden = self.dropout(torch.relu(self.linear1(normed)))
        x = x + self.dropout(self.linear2(hidden))
        return x if self.norm_first else self.norm2(x)
        # END SOLUTION


# %% check EncoderBlock points=3
hint = "two lines: x = x + attention of norm1(x), then x = x + feed-forward of norm2(x)"
with Check("EncoderBlock", "pre-norm, examples you can do by hand", hint) as check:
    # less its mean and over its deviation, the first word is [1, -1, 1, -1], the second
    # [-1, -1, 1, 1]; norm1 trebles that, norm2 doubles it
    x = torch.tensor([[[3.0, 1.0, 3.0, 1.0], [-2.0, -2.0, 2.0, 2.0]]], dtype=torch.float64)
    silent = {name: torch.zeros_like(weight) for name, weight in block_weights(4, 3).items()}
    silent |= {"norm1.weight": torch.full((4,), 3.0), "norm2.weight": torch.full((4,), 2.0)}
    # queries and keys are 0, so each word takes in all words alike, as they are
    look = {
        "attention.in_proj_weight": torch.cat([torch.zeros(8, 4), torch.eye(4)]),
        "attention.out_proj.weight": torch.eye(4),
    }
    think = {
        "linear1.weight": torch.eye(3, 4),
        "linear1.bias": torch.tensor([0.0, 0.0, 1.0]),
        "linear2.weight": torch.diag(torch.tensor([10.0, -10.0, 10.0, 0.0]))[:, :3],
        "linear2.bias": torch.tensor([0.0, 0.0, 0.0, -5.0]),
    }
    block = check.build(4, 2, 3).double()
    results = []
    for awake in ({}, look, think, {**look, **think}):
        block.load({**silent, **awake})
        results.append(block.call(x))
    off, looked, thought, both = results
    check.shape(off, batch=1, length=2, d_model=4)
    check.equal(
        off, x, "with both sublayers switched off, x passes as it is: nothing stands on its way"
    )
    mean = torch.tensor([0.0, -3.0, 3.0, 0.0], dtype=torch.float64)
    check.equal(
        looked,
        x + mean,
        "with the feed-forward network switched off, each word adds the mean of both normed words",
        within=1e-3,
    )
    check.equal(
        thought,
        torch.tensor([[[23.0, 1.0, 33.0, -4.0], [-2.0, -2.0, 32.0, -3.0]]], dtype=torch.float64),
        "with attention switched off, each word adds linear2(relu(linear1(norm2(x))))",
        within=1e-3,
    )
    block.load({**silent, **think})
    check.equal(
        both,
        block.call(looked),
        "the feed-forward network thinks about what attention has brought: first one, then the "
        "other",
    )
with Check("EncoderBlock", "pre-norm, a mask") as check:
    block, x = check.build(6, 3, 4).double(), numbers(2, 5, 6)
    block.load(block_weights(6, 4))
    causal = torch.ones(5, 5, dtype=torch.bool).tril()
    whole, part = block.call(x, causal), block.call(x[:, :3])
    check.equal(
        whole[:, 2],
        part[:, 2],
        "under a causal mask the third word gives what it gives without the words behind it",
        hint="hand the mask on: attend(self.attention, …, mask)",
    )
    padding = torch.tensor([[[True] * 5], [[True, True, False, False, False]]])
    padded, alone = block.call(x, padding), block.call(x[1:, :2])
    check.equal(
        padded[1, :2],
        alone[0],
        "a padded sentence gives what it gives alone, without its padding",
        hint="hand the mask on as it is: attend takes (batch, 1, length) too",
    )
    free = block.call(x)
    check.equal(
        block.call(x[1:])[0],
        free[1],
        "a sentence gives the same in a batch as it gives alone",
        hint="nn.MultiheadAttention takes the length first, unless you say batch_first=True",
    )
with Check("EncoderBlock", "pre-norm, three heads") as check:
    block, x, weights = check.build(6, 3, 4).double(), numbers(2, 5, 6), block_weights(6, 4)
    weights |= {
        name: torch.zeros_like(weights[name]) for name in ("linear2.weight", "linear2.bias")
    }
    block.load(weights)
    three_heads = nn.MultiheadAttention(6, 3, batch_first=True).double()
    three_heads.load_state_dict(
        {n.removeprefix("attention."): w for n, w in weights.items() if n.startswith("attention.")}
    )
    normed = F.layer_norm(x, (6,), weights["norm1.weight"], weights["norm1.bias"])
    check.equal(
        block.call(x),
        x + three_heads(normed, normed, normed)[0].detach(),
        "with the feed-forward network switched off: x + an nn.MultiheadAttention of norm1(x) with "
        "the same weights and three heads",
        hint="nn.MultiheadAttention takes d_model, then num_heads",
    )
# BEGIN HIDDEN TESTS
with Check("EncoderBlock", "pre-norm, equal to PyTorch's block") as check:
    for width, many_heads, inner, length, seed in (
        (12, 3, 7, 5, 1),
        (6, 1, 11, 1, 2),
        (4, 4, 3, 9, 3),
    ):
        for dtype, scale in ((torch.float64, 1.0), (torch.float64, 6.0), (torch.float32, 1.0)):
            theirs = nn.TransformerEncoderLayer(
                width, many_heads, inner, 0.0, batch_first=True, norm_first=True, dtype=dtype
            )
            state = {k: w.to(dtype) for k, w in block_weights(width, inner, seed).items()}
            theirs.load_state_dict(
                {name.replace("attention", "self_attn"): w for name, w in state.items()}
            )
            block = check.build(width, many_heads, inner)
            block = block.double() if dtype == torch.float64 else block
            block.load(state)
            x = numbers(2, width, length, seed=seed, scale=scale, dtype=dtype).transpose(1, 2)
            x.requires_grad_()
            mask = torch.ones(length, length, dtype=torch.bool).tril()
            for allowed in (None, mask, mask[None], mask.expand(2, length, length)):
                blocked = None if allowed is None else ~mask
                expected, result = theirs(x, src_mask=blocked), block.call(x, allowed)
                check.equal(result, expected, "PyTorch's block, pre-norm")
with Check("EncoderBlock", "pre-norm, gradients") as check:
    theirs = nn.TransformerEncoderLayer(8, 2, 5, 0.0, batch_first=True, norm_first=True).double()
    state = block_weights(8, 5, 4)
    theirs.load_state_dict({n.replace("attention", "self_attn"): w for n, w in state.items()})
    block, x = check.build(8, 2, 5).double(), numbers(3, 4, 8, seed=5).requires_grad_()
    block.load(state)
    expected, result = theirs(x), block.call(x)
    check.equal(check.gradient(result.square(), x), check.gradient(expected.square(), x), "by x")
    slopes = block.gradients(result.square())
    for name, weight in theirs.named_parameters():
        slope = slopes[name.replace("self_attn", "attention")]
        check.equal(slope, check.gradient(expected.square(), weight), f"by {name}")
with Check("EncoderBlock", "a word that may look at nothing") as check:
    block, x, state = (
        check.build(6, 2, 5).double(),
        numbers(3, 4, 6, seed=6),
        block_weights(6, 5, 5),
    )
    block.eval().load(state)
    mask = torch.ones(3, 4, 4, dtype=torch.bool)
    mask[1] = False
    mask[2, 0] = False
    result, free = block.call(x, mask), block.call(x)
    block.load({**state, "attention.out_proj.weight": torch.zeros(6, 6, dtype=torch.float64)})
    alone = block.call(x)
    check.equal(result[1], alone[1], "it adds the bias of the output projection alone")
    check.equal(result[2, 0], alone[2, 0], "it adds the bias of the output projection alone")
    check.equal(result[0], free[0], "the others look as before")
    check.equal(result[2, 1:], free[2, 1:], "the others look as before")
    block.load(state)
    keys = torch.tensor([[[True] * 4], [[True, True, False, False]], [[False] * 4]])
    check.equal(
        block.call(x, keys), block.call(x, keys.expand(3, 4, 4)), "padded words are words too"
    )
# END HIDDEN TESTS

# %% [markdown]
# The same parts, with the norms on the line:

# %% check EncoderBlock_post_norm points=2
hint = "with norm_first=False: x = norm1(x + attention of x), then x = norm2(x + feed-forward of x)"
with Check("EncoderBlock", "post-norm, one part at a time", hint) as check:
    x = torch.tensor([[[3.0, 1.0, 3.0, 1.0], [-2.0, -2.0, 2.0, 2.0]]], dtype=torch.float64)
    silent = {name: torch.zeros_like(weight) for name, weight in block_weights(4, 3).items()}
    silent |= {"norm1.weight": torch.full((4,), 3.0), "norm2.weight": torch.full((4,), 2.0)}
    look = {
        "attention.in_proj_weight": torch.cat([torch.zeros(8, 4), torch.eye(4)]),
        "attention.out_proj.weight": torch.eye(4),
    }
    think = {
        "linear1.weight": torch.eye(3, 4),
        "linear1.bias": torch.tensor([0.0, 0.0, 1.0]),
        "linear2.weight": torch.diag(torch.tensor([10.0, -10.0, 10.0, 0.0]))[:, :3],
        "linear2.bias": torch.tensor([0.0, 0.0, 0.0, -5.0]),
    }
    block = check.build(4, 2, 3, norm_first=False).double()
    results = []
    for awake in ({}, look, think, {**look, **think}):
        block.load({**silent, **awake})
        results.append(block.call(x))
    off, looked, thought, both = results
    check.equal(
        off,
        torch.tensor([[[2.0, -2.0, 2.0, -2.0], [-2.0, -2.0, 2.0, 2.0]]], dtype=torch.float64),
        "with both sublayers switched off, x passes two norms, of which the second doubles it",
        within=1e-3,
    )
    words_and_mean = x + x.mean(1, keepdim=True)
    check.equal(
        looked,
        2 * F.layer_norm(words_and_mean, (4,)),
        "with the feed-forward network switched off: norm2(norm1(x + the mean of both words))",
        within=1e-3,
    )
    # norm1 gives [3, -3, 3, -3] and [-3, -3, 3, 3]; the network brings [30, 0, 40, -5] and
    # [0, 0, 40, -5]
    added = torch.tensor([[[33.0, -3, 43, -8], [-3, -3, 43, -2]]], dtype=torch.float64)
    check.equal(
        thought,
        2 * F.layer_norm(added, (4,)),
        "with attention switched off: the network works on norm1(x), and norm2 stands behind",
        within=1e-3,
    )
    once = 3 * F.layer_norm(words_and_mean, (4,))
    inner = (once[..., :3] + torch.tensor([0.0, 0.0, 1.0])).relu()
    brought = F.pad(inner * torch.tensor([10.0, -10.0, 10.0]), (0, 1), value=-5.0)
    check.equal(
        both,
        2 * F.layer_norm(once + brought, (4,)),
        "the feed-forward network thinks about what attention has brought: first one, then the "
        "other",
        within=1e-3,
    )
with Check("EncoderBlock", "post-norm, a mask") as check:
    block, x = check.build(6, 3, 4, norm_first=False).double(), numbers(2, 5, 6)
    block.load(block_weights(6, 4))
    causal = torch.ones(5, 5, dtype=torch.bool).tril()
    check.equal(
        block.call(x, causal)[:, 2],
        block.call(x[:, :3])[:, 2],
        "under a causal mask the third word gives what it gives without the words behind it",
        hint="hand the mask on in both orders: attend(self.attention, …, mask)",
    )
# BEGIN HIDDEN TESTS
with Check("EncoderBlock", "post-norm, equal to PyTorch's block") as check:
    for width, many_heads, inner, length, seed in (
        (12, 3, 7, 5, 6),
        (6, 1, 11, 1, 7),
        (4, 4, 3, 9, 8),
    ):
        for dtype, scale in ((torch.float64, 1.0), (torch.float64, 6.0), (torch.float32, 1.0)):
            theirs = nn.TransformerEncoderLayer(
                width, many_heads, inner, 0.0, batch_first=True, norm_first=False, dtype=dtype
            )
            state = {k: w.to(dtype) for k, w in block_weights(width, inner, seed).items()}
            theirs.load_state_dict(
                {name.replace("attention", "self_attn"): w for name, w in state.items()}
            )
            block = check.build(width, many_heads, inner, 0.0, False)
            block = block.double() if dtype == torch.float64 else block
            block.load(state)
            x = numbers(2, width, length, seed=seed, scale=scale, dtype=dtype).transpose(1, 2)
            mask = torch.ones(length, length, dtype=torch.bool).tril()
            for allowed in (None, mask, mask[None], mask.expand(2, length, length)):
                blocked = None if allowed is None else ~mask
                expected, result = theirs(x, src_mask=blocked).detach(), block.call(x, allowed)
                check.equal(result.detach(), expected, "PyTorch's block, post-norm")
with Check("EncoderBlock", "post-norm, gradients") as check:
    theirs = nn.TransformerEncoderLayer(8, 2, 5, 0.0, batch_first=True, norm_first=False).double()
    state = block_weights(8, 5, 9)
    theirs.load_state_dict({n.replace("attention", "self_attn"): w for n, w in state.items()})
    block = check.build(8, 2, 5, norm_first=False).double()
    x, target = numbers(3, 4, 8, seed=10).requires_grad_(), numbers(3, 4, 8, seed=11)
    block.load(state)
    expected, result = (theirs(x) * target), (block.call(x) * target)
    check.equal(check.gradient(result, x), check.gradient(expected, x), "by x")
    slopes = block.gradients(result)
    for name, weight in theirs.named_parameters():
        slope = slopes[name.replace("self_attn", "attention")]
        check.equal(slope, check.gradient(expected, weight), f"by {name}")
# END HIDDEN TESTS

# %% [markdown]
# And dropout, in its four places:

# %% check EncoderBlock_dropout points=2
with Check("EncoderBlock", "dropout of 1, which drops all that it meets") as check:
    block, x = check.build(6, 3, 4, 1.0).double(), numbers(2, 5, 6)
    weights = block_weights(6, 4)
    block.load(weights)
    dropped, awake = block.train().call(x), block.eval().call(x)
    check.equal(
        dropped,
        x,
        "in training, when all is dropped that the detours bring, x is left as it is",
        hint="dropout is on what attention gives and on what linear2 gives, never on x itself",
    )
    without = check.build(6, 3, 4).double()
    without.load(weights)
    check.equal(
        awake,
        without.train().call(x),
        "in evaluation nothing is dropped",
        hint="keep an nn.Dropout on self: it knows whether the model trains",
    )
with Check("EncoderBlock", "dropout draws for each number, anew in each place") as check:
    block = check.build(40, 2, 3, 0.5).double().train()
    silent = {name: torch.zeros_like(weight) for name, weight in block_weights(40, 3).items()}
    # both sublayers give their last bias, and that is 1
    ones = {"attention.out_proj.bias": torch.ones(40), "linear2.bias": torch.ones(40)}
    block.load({**silent, **ones})
    words = torch.zeros(4, 6, 40, dtype=torch.float64)
    result, again = block.call(words), block.call(words)
    check.true(
        len(result.flatten(0, 1).unique(dim=0)) == 24,
        "each word of each sentence drops numbers of its own",
        hint="hand all that a sublayer gives to one nn.Dropout: it draws for each number",
    )
    check.true(
        bool(((result - 2).abs() < 1e-9).any()),
        "now and then, one detour's number is dropped, and the other's is doubled: 0 + 2 comes out",
        hint="call dropout in each place: it draws anew each time",
    )
    check.true(
        not torch.equal(result, again),
        "a second call drops other numbers",
        hint="each call draws anew: leave torch's random generator as it is",
    )
with Check("EncoderBlock", "dropout behind the ReLU") as check:
    block = check.build(4, 2, 6, 0.5).double()
    silent = {name: torch.zeros_like(weight) for name, weight in block_weights(4, 6).items()}
    # attention brings 0; all hidden features are 1, and each output copies one of them
    ones = {"linear1.bias": torch.ones(6), "linear2.weight": torch.eye(4, 6)}
    block.load({**silent, **ones})
    result = block.train().call(torch.zeros(30, 7, 4, dtype=torch.float64))
    check.true(
        all(min(abs(value), abs(value - 4)) < 1e-9 for value in result.unique().tolist()),
        "with p = 0.5, a hidden feature of 1 is doubled behind the ReLU and doubled again behind "
        "linear2, or dropped: nothing but 0 and 4 comes out",
        hint="hidden features meet dropout once behind the ReLU, and once more behind linear2",
    )
    check.true(
        bool((result != 0).any()),
        "with p = 0.5 some features are kept",
        hint="hand `dropout` on as the rate of what is dropped",
    )
with Check("EncoderBlock", "dropout on the attention weights") as check:
    block = check.build(4, 2, 6, 0.5).double()
    silent = {name: torch.zeros_like(weight) for name, weight in block_weights(4, 6).items()}
    # three words look at one another alike, each weight is 1/3, and all values are 1
    ones = {
        "attention.in_proj_bias": torch.tensor([0.0] * 8 + [1.0] * 4),
        "attention.out_proj.weight": torch.eye(4),
    }
    block.load({**silent, **ones})
    result = block.train().call(torch.zeros(90, 3, 4, dtype=torch.float64))
    thirds = (result * 3 / 4).unique()
    check.true(
        bool(((thirds - thirds.round()).abs() < 1e-9).all()),
        "with p = 0.5, each of three weights of 1/3 is dropped or doubled, and what attention "
        "gives is dropped or doubled again: 0, 4/3, 8/3 or 4 comes out",
        hint="nn.MultiheadAttention drops weights by itself: hand `dropout` to it, and drop what "
        "it gives once more",
    )
    check.true(
        any(0.5 < third < 2.5 for third in thirds.tolist()),
        "with p = 0.5, one or two of three weights are kept now and then: 4/3 or 8/3 comes out",
        hint="nn.MultiheadAttention drops weights by itself: hand `dropout` to it, and drop what "
        "it gives once more",
    )
# BEGIN HIDDEN TESTS
with Check("EncoderBlock", "post-norm, dropout of 1 and evaluation") as check:
    block, x = check.build(6, 2, 5, 1.0, False).double(), numbers(3, 4, 6, seed=12)
    state = block_weights(6, 5, 6)
    block.load(state)
    gains = [(state[f"norm{i}.weight"], state[f"norm{i}.bias"]) for i in (1, 2)]
    twice = F.layer_norm(F.layer_norm(x, (6,), *gains[0]), (6,), *gains[1])
    check.equal(block.train().call(x), twice, "x alone passes the norms")
    without = check.build(6, 2, 5, norm_first=False).double()
    without.load(state)
    check.equal(block.eval().call(x), without.train().call(x), "nothing is dropped in evaluation")
with Check("EncoderBlock", "another rate, in both orders") as check:
    for first in (True, False):
        silent = {name: torch.zeros_like(w) for name, w in block_weights(5, 8).items()}
        # only the first output can be other than 0, so post-norm shows what came by one feature
        level = torch.tensor([0.0, 1.0, -1.0, 3.0, -2.0], dtype=torch.float64)
        silent["norm2.weight"] = torch.full((5,), 0.0 if first else 1.0)
        silent["norm1.bias"] = level
        pick = torch.zeros(5, 8)
        pick[0, 0] = 1.0
        # both sublayers read the second feature of what they get: 1, of which nothing is dropped
        read = pick.T.roll(1, 1)
        think = {"linear1.weight": read, "linear2.weight": pick}
        if first:
            think["norm2.bias"] = level
        look = {
            "attention.in_proj_weight": torch.cat([torch.zeros(10, 5), read[:5]]),
            "attention.out_proj.weight": torch.eye(5),
        }
        if not first:
            look["norm1.weight"] = torch.ones(5)
            look["norm1.bias"] = torch.zeros(5)
        block = check.build(5, 1, 8, 0.75, first).double().train()
        # kept twice at p = 0.75: 16; of three weights, k kept: 16 k / 3
        for awake, possible in ((think, (0.0, 16.0)), (look, (0.0, 16 / 3, 32 / 3, 16.0))):
            block.load({**silent, **awake})
            result = block.call(level.expand(60, 3, 5))
            options = level + torch.tensor(possible, dtype=torch.float64)[:, None] * pick[:, 0]
            if not first:
                options = F.layer_norm(options, (5,))
                if awake is look:
                    options = F.layer_norm(options, (5,))
            far = (result.detach()[..., None, :] - options).abs().amax(-1).amin(-1)
            check.true(bool((far < 1e-4).all()), "nothing else can come out")
            check.true(len(result.detach().flatten(0, 1).unique(dim=0)) > 1, "some is kept")
with Check("EncoderBlock", "a hidden feature is dropped for all that read it") as check:
    for first in (True, False):
        block = check.build(40, 2, 3, 0.5, first).double().train()
        read = {name: torch.zeros_like(w) for name, w in block_weights(40, 3).items()}
        read |= {"linear1.bias": torch.ones(3), "norm2.weight": torch.ones(40)}
        read["linear2.weight"] = torch.eye(1, 3).expand(40, 3)  # all outputs read the first one
        block.load(read)
        result = block.call(torch.zeros(20, 4, 40, dtype=torch.float64))
        silent = (result.abs() < 1e-9).all(-1)
        check.true(bool(silent.any() and not silent.all()), "now and then, not always")
        check.true(bool((silent != silent[:1]).any()), "each sentence drops its own")
        check.true(bool((silent != silent[:, :1]).any()), "each word drops its own")
with Check("EncoderBlock", "what a detour brings is dropped number by number, anew") as check:
    level = numbers(40, seed=13)  # so that post-norm has something to norm
    for first in (True, False):
        block = check.build(40, 2, 3, 0.5, first).double().train()
        silent = {name: torch.zeros_like(w) for name, w in block_weights(40, 3).items()}
        silent |= {"norm1.weight": torch.ones(40), "norm2.weight": torch.ones(40)}
        for part in ("attention.out_proj.bias", "linear2.bias"):
            block.load({**silent, part: torch.ones(40)})
            result = block.call(level.expand(4, 6, 40)).detach()
            again = block.call(level.expand(4, 6, 40)).detach()
            different = len(result.flatten(0, 1).unique(dim=0))
            check.true(different == 24, "equal words come out different")
            check.true(not torch.equal(result, again), "two calls differ")
# END HIDDEN TESTS


# %% [markdown]
# ### Bug hunt: one line too early
#
# A friend's block is shorter than yours. It trains, and nothing complains. Here is its first half, next to the slide from which it was copied:
#
# $$x^{(1)} = \mathrm{LayerNorm}(x) \qquad x^{(2)} = \mathrm{MultiHeadAtt}(x^{(1)}) \qquad x^{(3)} = x + x^{(2)}$$
#
# ```python
# x = self.norm1(x)
# x = x + attend(self.attention, x, mask)[0]
# ```
#
# **Predict** what differs, then run it with the sublayers switched off, over 12 blocks: how much of a word's size is left?

# %%
loud = 10 * numbers(1, 5, 16)
slide, friend = loud, loud
for _ in range(12):
    slide = slide + 0.0  # x + what attention gives: nothing
    friend = F.layer_norm(friend, (16,)) + 0.0  # the name x stands for the normed x already
print(
    f"standard deviation of x after 12 blocks: slide {slide.std():.1f}, friend {friend.std():.1f}"
)

# %% [markdown]
# What to see: in the slide $x^{(3)}$ adds to $x$, the vector **before** the norm. In the friend's code the name `x` has been overwritten, so the norm stands on the thick line again, and how large a word was is forgotten at the first block. It is no crime, since it trains. But it is neither of the two orders, the weights of a real model do not fit into it, and the free way for the gradient is gone. Your check above caught it: with all switched off, x must come through as it is.

# %% [markdown]
# ## 4 · A stack of blocks
#
# An **encoder** is such blocks, one after another. All have the same shape, and each has its own weights: what block 1 has gathered, block 2 can ask with.
#
# Before you build it, look at what flows along the thick line. Each block *adds* to it. In a pre-norm stack nothing ever takes anything away. How large do the words get, from block to block?

# %%
torch.manual_seed(0)
some_words = torch.randn(8, 16, 64)
spread = {"pre-norm": [1.0], "post-norm": [1.0]}
for order, sizes in spread.items():
    flowing = some_words
    for _ in range(12):
        one_block = EncoderBlock(64, 4, 256, norm_first=order == "pre-norm")
        for matrix in one_block.parameters():
            if matrix.dim() == 2:
                nn.init.xavier_uniform_(matrix)
        flowing = one_block(flowing).detach()
        sizes.append(flowing.std().item())
    print(f"{order}: standard deviation {sizes[1]:.2f} after 1 block, {sizes[-1]:.2f} after 12")
figures.curves(
    list(range(13)),
    spread,
    x="blocks passed",
    y="standard deviation of the words",
    title="Pre-norm words grow on their way",
    bottom=0.0,
)

# %% [markdown]
# What to see: behind each post-norm block the words have standard deviation 1, because a norm comes last. Pre-norm words grow and grow. Inside the detours that does no harm: a norm stands at each entrance. But who takes the words **out** of the stack would find them the larger, the deeper the stack. So a pre-norm encoder has **one more norm at its end**. A post-norm encoder needs none.
#
# (The weights in this experiment are drawn as in the original Transformer, by Xavier's rule: `nn.init.xavier_uniform_`.)

# %% [markdown]
# **Exercise** (10 minutes). Build the stack, from your own `EncoderBlock`. A module can only train layers that PyTorch knows of. It finds modules on `self`, but it does not look into a plain list: for a list of modules there is `nn.ModuleList`.
#
# <details><summary>Hint 1</summary><code>nn.ModuleList(EncoderBlock(…) for _ in range(num_layers))</code> calls the class anew for each block. What would <code>[EncoderBlock(…)] * num_layers</code> do?</details>
# <details><summary>Hint 2</summary>Every block gets the mask, and the norm of the end comes once, behind the loop.</details>


# %% exercise Encoder
class Encoder(nn.Module):
    """`num_layers` blocks, one after another, each with weights of its own.

    Parts: `blocks`, an `nn.ModuleList` of your `EncoderBlock`; `norm`, an `nn.LayerNorm` behind the
    last block if norm_first. If not, there is no such norm, and nothing to learn in its place.
    forward: x (batch, length, d_model), and a mask for every block, or None
    -> (batch, length, d_model).
    """

    def __init__(
        self,
        num_layers: int,
        d_model: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.0,
        norm_first: bool = True,
    ) -> None:
        # BEGIN SOLUTION
        super().__init__()
        self.blocks = nn.ModuleList(
            EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first) for i in range(num_layers)
        )
        self.norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()
        # END SOLUTION

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        # BEGIN SOLUTION
        for block in self.blocks:
            x = block(x, mask)
        return self.norm(x)
        # END SOLUTION


# %% check Encoder points=3
hint = (
    "x goes through each block in turn, with the mask; a pre-norm encoder has one norm at its end"
)
with Check("Encoder", "its blocks and its norm", hint) as check:
    one = sum(w.numel() for w in check.other("EncoderBlock").build(6, 2, 4).parameters().values())
    for order, own_norm in (({}, 12), ({"norm_first": True}, 12), ({"norm_first": False}, 0)):
        parts = check.build(3, 6, 2, 4, **order).parameters()
        inside = [w.numel() for name, w in parts.items() if name.startswith("blocks.")]
        check.true(
            any(inside),
            "no parameters are found in `blocks`",
            hint="a plain list hides its blocks from PyTorch: keep them in an nn.ModuleList, as "
            "self.blocks",
        )
        check.equal(
            sum(inside),
            3 * one,
            "three blocks have three times as many parameters as one",
            hint="each block needs weights of its own: make a new EncoderBlock for each of the "
            "num_layers"
            if sum(inside) % one == 0
            else "hand d_model, num_heads and d_ff on to every block",
        )
        check.equal(
            sum(w.numel() for w in parts.values()) - sum(inside),
            own_norm,
            f"beside the blocks, {own_norm} numbers are learned if norm_first="
            f"{order.get('norm_first', True)}{'' if order else ', the default'}",
            hint="an nn.LayerNorm(d_model) called `norm` if norm_first, and nothing if not",
        )
with Check("Encoder", "its blocks, one after another", hint) as check:
    gain, bias = numbers(6, seed=90), numbers(6, seed=91)
    x, mask = numbers(2, 5, 6, seed=92), torch.ones(5, 5, dtype=torch.bool).tril()
    results, in_turn = [], []
    for dropout, first, allowed in ((0.0, True, mask), (0.0, False, None), (1.0, True, None)):
        block = check.other("EncoderBlock").build(6, 2, 4, dropout, first).double().train()
        shapes = {name: weight.shape for name, weight in block.parameters().items()}
        expected, state = x, {"norm.weight": gain, "norm.bias": bias} if first else {}
        for i in range(3):
            part = {
                n: numbers(*size, seed=40 * i + j) for j, (n, size) in enumerate(shapes.items())
            }
            block.load(part)
            expected = block.call(expected, allowed)
            state |= {f"blocks.{i}.{name}": weight for name, weight in part.items()}
        in_turn.append(F.layer_norm(expected, (6,), gain, bias) if first else expected)
        encoder = check.build(3, 6, 2, 4, dropout, first).double().train()
        encoder.load(state)
        results.append(encoder.call(x, allowed))
    check.shape(results[0], batch=2, length=5, d_model=6)
    check.equal(
        results[0],
        in_turn[0],
        "pre-norm, with a mask: three of your blocks in turn, each with the mask, then the norm",
    )
    check.equal(
        results[1],
        in_turn[1],
        "post-norm: three of your post-norm blocks in turn, and no norm behind them",
        hint="hand norm_first on to every block",
    )
    check.equal(
        results[2],
        in_turn[2],
        "dropout of 1 in training: three of your blocks with the same dropout, then the norm",
        hint="hand dropout on to every block, and drop nothing else",
    )
# BEGIN HIDDEN TESTS
with Check("Encoder", "other sizes, masks and dtypes, in both orders") as check:
    padding = torch.tensor([[[True] * 4], [[True, True, True, False]], [[True] + [False] * 3]])
    for depth, first, seed in ((1, True, 1), (4, True, 2), (5, False, 3), (1, False, 4)):
        for dtype in (torch.float64, torch.float32):
            block = check.other("EncoderBlock").build(8, 4, 5, norm_first=first)
            encoder = check.build(depth, 8, 4, 5, norm_first=first)
            if dtype == torch.float64:
                block, encoder = block.double(), encoder.double()
            all_parts = {
                name: numbers(*w.shape, seed=seed + i, dtype=dtype, scale=0.6)
                for i, (name, w) in enumerate(sorted(encoder.parameters().items()))
            }
            encoder.load(all_parts)
            encoder = encoder.eval() if seed % 2 == 0 else encoder.train()
            for allowed in (None, torch.ones(4, 4, dtype=torch.bool).tril(), padding):
                x = numbers(3, 8, 4, seed=seed, dtype=dtype, scale=2.0).transpose(1, 2)
                expected = x
                for i in range(depth):
                    start = f"blocks.{i}."
                    block.load(
                        {
                            n.removeprefix(start): w
                            for n, w in all_parts.items()
                            if n.startswith(start)
                        }
                    )
                    expected = block.call(expected, mask=allowed)
                if first:
                    expected = F.layer_norm(
                        expected, (8,), all_parts["norm.weight"], all_parts["norm.bias"]
                    )
                result = encoder.call(x, mask=allowed)
                check.equal(result.detach(), expected.detach(), "blocks in turn")
with Check("Encoder", "a gradient to each part, and to each part its own") as check:
    encoder = check.build(3, 6, 3, 8).double()
    state = encoder.parameters()
    encoder.load({n: numbers(*w.shape, seed=i) for i, (n, w) in enumerate(state.items())})
    x = numbers(2, 4, 6, seed=5).requires_grad_()
    result = encoder.call(x) * numbers(2, 4, 6, seed=6)
    for name, slope in encoder.gradients(result).items():
        check.true(bool(slope.isfinite().all() and slope.abs().max() > 0), f"one reaches {name}")
    check.true(bool(check.gradient(result[0], x)[1].abs().max() == 0), "none between sentences")
with Check("Encoder", "dropout in training alone") as check:
    for first in (True, False):
        encoder = check.build(2, 8, 2, 16, 0.5, first)
        x = numbers(2, 3, 8, seed=7, dtype=torch.float32)
        once, again = encoder.train().call(x), encoder.call(x)
        check.true(not torch.equal(once, again), "in training two calls differ")
        check.equal(encoder.eval().call(x), encoder.call(x), "in evaluation they agree")
    silent = check.build(2, 8, 2, 16, 1.0, False).train().call(x)
    check.equal(silent, F.layer_norm(x, (8,)), "no block is left out", within=1e-3)
with Check("Encoder", "two encoders do not share their weights") as check:
    first, second = check.build(2, 4, 2, 3), check.build(2, 4, 2, 3)
    kept = second.state()
    first.load({name: torch.zeros_like(w) for name, w in first.parameters().items()})
    for name, weight in second.state().items():
        check.equal(weight, kept[name], f"{name} of the other encoder")
# END HIDDEN TESTS


# %% [markdown]
# ## 5 · How many numbers does it learn?
#
# The original Transformer has $d_{\text{model}} = 512$ and $d_{\text{ff}} = 2048 = 4 \cdot 512$. A lecture counts one block on two slides: attention has $4 \cdot 512 \cdot 512$ numbers, the feed-forward network $(4 + 4) \cdot 512 \cdot 512$, about 2.1 million.
#
# ### Bug hunt: a slide that counts
#
# Add both up, and let PyTorch count its own block.

# %%
on_the_slides = 4 * 512 * 512 + (4 + 4) * 512 * 512
counted = sum(part.numel() for part in nn.TransformerEncoderLayer(512, 8, 2048).parameters())
print(f"slides {on_the_slides:,}   PyTorch {counted:,}   missing {counted - on_the_slides:,}")

# %% [markdown]
# The slides are right about the matrices: two thirds of a block is feed-forward network, and the number of heads does not count. But 6,656 numbers are missing. They are small things, and a model whose small things are not loaded gives wrong results.

# %% [markdown]
# **Exercise** (5 minutes). Where do they sit? Give three whole numbers: the biases of attention (its four layers: query, key, value, output), the biases of the feed-forward network, and all that the two norms learn.
#
# <details><summary>Hint</summary>A linear layer has one bias for each number that comes <em>out</em> of it. A layer norm has a gain and a bias for each feature.</details>

# %% exercise left_out
# left_out = [?, ?, ?]      biases of attention, biases of the feed-forward network, the two norms
# BEGIN SOLUTION
left_out = [2048, 2560, 2048]
# END SOLUTION

# %% check left_out points=1
with Check("left_out", "what the slides leave out") as check:
    answer = check.value(3)
    check.equal(
        answer.sum(),
        torch.tensor(6656.0, dtype=torch.float64),
        "the three together are the 6656 that are missing",
        hint="each linear layer has one bias for each number that comes out: how many layers, and "
        "how many numbers? each norm has two vectors",
    )
    check.seal(
        answer,
        "f8feb9f33af340bf",
        "the sum is right, the shares are not right yet",
        hint="attention first, then the feed-forward network, then both norms",
    )
# BEGIN HIDDEN TESTS
with Check("left_out", "each of the three") as check:
    expected = torch.tensor([2048.0, 2560.0, 2048.0], dtype=torch.float64)
    check.equal(check.value(3), expected, "the shares")
# END HIDDEN TESTS


# %% [markdown]
# **Exercise** (10 minutes). Now for any encoder: count what an `Encoder` of yours learns, by arithmetic. Your `Encoder` is the proof of the sum: build one, and let PyTorch count it.
#
# <details><summary>Hint</summary>Three sums: attention 4 · (d² + d), the feed-forward network, two norms. All of it once for each block. And the norm at the end: when is there one?</details>


# %% exercise encoder_parameters
def encoder_parameters(
    num_layers: int,
    d_model: int,
    num_heads: int,
    d_ff: int,
    dropout: float = 0.0,
    norm_first: bool = True,
) -> int:
    """How many numbers an `Encoder` with these arguments learns, biases and norms included."""
    # BEGIN SOLUTION
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norm = 2 * d_model  # a gain and a bias
    return num_layers * (attention + feed_forward + 2 * norm) + norm * norm_first
    # END SOLUTION


# %% check encoder_parameters points=2
hint = "per block: attention 4 (d² + d), two linear layers with their biases, two norms"
with Check("encoder_parameters", "encoders you can count by hand", hint) as check:
    counts = [
        check.call(1, 2, 1, 3, norm_first=False, returns=int),
        check.call(1, 2, 1, 3, norm_first=True, returns=int),
        check.call(3, 2, 1, 3, norm_first=True, returns=int),
        check.call(2, 6, 3, 5, 0.5, returns=int),
        check.call(1, 512, 8, 2048, norm_first=False, returns=int),
    ]
    check.equal(
        counts[0],
        49,
        "one post-norm block with d_model 2, d_ff 3: attention 24, feed-forward 17, norms 8",
    )
    check.equal(
        counts[1], 53, "in pre-norm, the norm at the end comes on top: 4 more", hint="2 · d_model"
    )
    check.equal(
        counts[2],
        151,
        "three pre-norm blocks, and still one norm at the end",
        hint="count a block num_layers times, and the norm at the end once",
    )
    check.equal(
        counts[3],
        538,
        "two pre-norm blocks with d_model 6, d_ff 5 and three heads",
        hint="neither the number of heads nor dropout brings anything to learn",
    )
    check.equal(counts[4], 3152384, "PyTorch's block of the slides")
# BEGIN HIDDEN TESTS
with Check("encoder_parameters", "equal to PyTorch's encoders") as check:
    for depth, width, many_heads, inner, first in (
        (1, 4, 2, 7, True),
        (2, 6, 1, 5, False),
        (5, 8, 4, 3, True),
        (3, 8, 8, 32, False),
        (4, 10, 2, 10, True),
    ):
        layer = nn.TransformerEncoderLayer(width, many_heads, inner, norm_first=first)
        end = nn.LayerNorm(width) if first else None
        theirs = nn.TransformerEncoder(layer, depth, end, enable_nested_tensor=False)
        expected = sum(part.numel() for part in theirs.parameters())
        result = check.call(depth, width, many_heads, inner, norm_first=first, returns=int)
        check.equal(result, expected, "PyTorch's own count")
        result = check.call(depth, width, many_heads, inner, 0.3, first, returns=int)
        check.equal(result, expected, "dropout learns nothing")
# END HIDDEN TESTS


# %%
mine = Encoder(6, 512, 8, 2048)
print(f"your arithmetic   {encoder_parameters(6, 512, 8, 2048):,}")
print(f"your encoder      {sum(part.numel() for part in mine.parameters()):,}")

# %% [markdown]
# ## 6 · What a norm on the line costs
#
# Two lectures agree: the original Transformer was post-norm, and pre-norm trains better. Why? Measure it before the first step of training. Take stacks of 2 to 32 blocks, draw their weights at random, let them give each of 128 random words one of ten labels, and look at the gradient that reaches the **last** block: how hard does the loss pull at it?
#
# **Predict.** In a deep pre-norm stack, each block is one of many that add to the thick line. How hard is the last of 32 pulled, compared with the last of 2?
#
# <details><summary>As hard</summary>That would be so if the last block alone made the output. That is post-norm: its norm scales down all that came before.</details>
# <details><summary>Harder: there are more blocks behind it</summary>No block stands behind the last one. What has grown is the line that it adds to.</details>
# <details><summary>Less hard</summary>Yes. What it adds is one small part of a large sum, and the norm at the end divides by the size of the sum.</details>


# %%
def pull_at_last(depth: int, pre_norm: bool, seed: int) -> float:
    """The norm of the gradient of the last block's second layer, at random weights."""
    torch.manual_seed(seed)
    encoder = Encoder(depth, 32, 4, 128, norm_first=pre_norm)
    for matrix in encoder.parameters():
        if matrix.dim() == 2:
            nn.init.xavier_uniform_(matrix)
    questions, to_answer = torch.randn(16, 8, 32), nn.Linear(32, 10)
    answers = torch.randint(10, (16 * 8,))
    last = [part for name, part in encoder.named_parameters() if name.endswith("linear2.weight")][
        -1
    ]
    loss = F.cross_entropy(to_answer(encoder(questions)).flatten(0, 1), answers)
    return torch.autograd.grad(loss, last)[0].norm().item()


depths = [2, 4, 8, 16, 32]
pulls = {
    order: [
        sum(pull_at_last(n, order == "pre-norm", seed) for seed in range(6)) / 6 for n in depths
    ]
    for order in ("post-norm", "pre-norm")
}
for order, pull in pulls.items():
    print(f"{order:9}  2 blocks {pull[0]:.2f}   32 blocks {pull[-1]:.2f}")
figures.curves(
    depths,
    pulls,
    x="blocks in the stack",
    y="gradient of the last block",
    title="Before the first step",
    logarithmic="x",
    bottom=0.0,
)

# %% [markdown]
# What to see: in pre-norm stacks the pull gets weaker with depth, so many blocks together move the output about as much as few. In post-norm stacks it does not: the last of 32 is pulled at least as hard as the last of 2, while the 31 blocks before it change what it reads in the same step. So the first steps of a deep post-norm stack are **too large**, in a model that still knows nothing.
#
# (Xiong et al., *On Layer Normalization in the Transformer Architecture*, 2020, prove it: the pull falls as 1 / √depth in pre-norm, and stays in post-norm.)

# %% [markdown]
# ## 7 · Warm-up: small steps first
#
# The original Transformer was post-norm, and it did train. Its authors made the first steps small. The **learning rate**, the size of a step, rises from 0 for `warmup_steps` steps, and then falls slowly:
#
# $$\text{rate}(\text{step}) = \frac{1}{\sqrt{d_{\text{model}}}} \cdot \min\!\left(\frac{1}{\sqrt{\text{step}}},\; \frac{\text{step}}{\text{warmup\_steps}^{1.5}}\right)$$
#
# (Vaswani et al. 2017, section 5.3.) Two curves, of which the lower one counts: a straight line up, and a slope down.

# %%
some_steps = list(range(4, 125, 4))
figures.curves(
    some_steps,
    {
        "1 / √step": [s**-0.5 for s in some_steps],
        "step / 50^1.5": [s / 50**1.5 for s in some_steps],
    },
    x="step",
    y="rate · √d_model",
    title="Two curves for 50 warm-up steps: the lower one counts",
    bottom=0.0,
)

# %% [markdown]
# **Predict.** At which step do the two meet, and the learning rate is largest?
#
# <details><summary>At √warmup_steps</summary>Put it in: 1/√step is large there, and the straight line still small.</details>
# <details><summary>At warmup_steps</summary>Yes: both are 1 / √warmup_steps there.</details>
# <details><summary>At d_model</summary>d_model scales both alike, and does not move the place where they meet.</details>

# %% [markdown]
# **Exercise** (5 minutes).
#
# <details><summary>Hint</summary>A power of a plain number is <code>step ** -0.5</code>. For step 0 that would divide by zero: take care of it first.</details>


# %% exercise warmup_schedule
def warmup_schedule(step: int, d_model: int, warmup_steps: int) -> float:
    """The learning rate at this step; steps count from 1, and step 0 gives 0.

    d_model ** -0.5 · min(step ** -0.5, step · warmup_steps ** -1.5), Vaswani et al. 2017.
    """
    # BEGIN SOLUTION
    down = step**-0.5 if step > 0 else 0.0
    return d_model**-0.5 * min(down, step * warmup_steps**-1.5)
    # END SOLUTION


# %% check warmup_schedule points=2
hint = "d_model ** -0.5, times the smaller of step ** -0.5 and step · warmup_steps ** -1.5"
with Check("warmup_schedule", "steps you can do by hand", hint) as check:
    # with d_model 4 the factor is 1/2; with 16 warm-up steps the straight line is step / 64
    steps = (8, 16, 64, 1, 0)
    rates = [check.call(step, 4, 16, returns=float) for step in steps]
    by_hand = (
        (1 / 16, "on the way up, step 8: 1/2 · 8/64"),
        (1 / 8, "at the top, step 16: 1/2 · 16/64, which is 1/2 · 1/√16"),
        (1 / 16, "on the way down, step 64: 1/2 · 1/√64"),
        (1 / 128, "the first step: 1/2 · 1/64"),
    )
    for rate, (expected, law) in zip(rates, by_hand, strict=False):
        check.equal(rate, expected, law, within=1e-7)
    check.equal(rates[4], 0.0, "step 0 gives 0", hint="0 ** -0.5 divides by zero: ask for 0 first")
with Check("warmup_schedule", "the original Transformer", hint) as check:
    rate = check.call(4000, 512, 4000, returns=float)
    check.equal(
        rate,
        (512 * 4000) ** -0.5,
        "512 features, at the last of 4000 warm-up steps",
        within=1e-8,
    )
# BEGIN HIDDEN TESTS
with Check("warmup_schedule", "many steps") as check:
    for width, warm in ((512, 4000), (32, 200), (7, 1), (1, 30)):
        check.equal(check.call(0, width, warm, returns=float), 0.0, "step 0")
        for step in (1, 2, 29, 30, 31, 199, 200, 201, 4000, 100000):
            expected = width**-0.5 * min(step**-0.5, step * warm**-1.5)
            rate = check.call(step, width, warm, returns=float)
            check.equal(rate, expected, "the formula", within=1e-5 * expected)
# END HIDDEN TESTS


# %% [markdown]
# ## 8 · Turn it round
#
# Time to train. The task: read a row of three to seven digits, closed by a mark `.`, and say it backwards. `4 7 1 .` becomes `1 7 4`. In each place the encoder must fetch the digit from the mirrored place. And which place is that? It depends on where the mark stands, so a digit has to find the mark **first**, and then ask. The rows are of different lengths, so there is padding, printed as `·`, and your mask has work to do.


# %%
MARK, PADDING, PLACES = 10, 11, 8


def some_rows(count: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Rows of digits (count, 8), what they should become, and the mask that hides padding."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(3, PLACES, (count, 1), generator=generator)
    digits = torch.randint(10, (count, PLACES), generator=generator)
    place = torch.arange(PLACES)
    filled = torch.where(place < lengths, digits, PADDING).masked_fill(place == lengths, MARK)
    mirrored = digits.gather(1, (lengths - 1 - place).clamp(min=0))
    wanted = torch.where(place < lengths, mirrored, -100)  # -100: cross_entropy leaves it out
    return filled, wanted, (place <= lengths)[:, None]  # mask: (count, 1, 8)


SIGNS = [*"0123456789", ".", "·"]
rows, wanted_rows, _ = some_rows(4, seed=1)
for row, wanted_row in zip(rows.tolist(), wanted_rows.tolist(), strict=True):
    print(*(SIGNS[sign] for sign in row), "  →  ", *(sign for sign in wanted_row if sign >= 0))


# %% [markdown]
# The model is your `Encoder` with little around it: a learned vector for each sign and for each place, added up (lesson 6), and a last layer that says which digit. The learning rate is your `warmup_schedule`.


# %%
class Reverser(nn.Module):
    """Signs and places in, your encoder, digits out."""

    def __init__(self, depth: int, pre_norm: bool = True) -> None:
        super().__init__()
        self.signs, self.places = nn.Embedding(12, 32), nn.Embedding(PLACES, 32)
        self.encoder = Encoder(depth, 32, 4, 64, norm_first=pre_norm)
        self.digit = nn.Linear(32, 10)
        for matrix in self.encoder.parameters():
            if matrix.dim() == 2:
                nn.init.xavier_uniform_(matrix)

    def words(self, row: Tensor) -> Tensor:
        return self.signs(row) + self.places.weight

    def forward(self, row: Tensor, seen: Tensor) -> Tensor:
        return self.digit(self.encoder(self.words(row), seen))


def share_right(reverser: Reverser, count: int = 2000, seed: int = 100_000) -> float:
    """The share of new rows that come out right, every single digit."""
    row, wanted, seen = some_rows(count, seed)
    with torch.no_grad():
        said = reverser(row, seen).argmax(-1)
    return ((said == wanted) | (wanted < 0)).all(1).float().mean().item()


def train(
    reverser: Reverser, updates: int, warm: int, batch: int, tell: Callable[[float, float], None]
) -> None:
    """Train on fresh rows in every step; `tell` hears the loss and the share that is right."""
    optimizer = torch.optim.Adam(reverser.parameters(), betas=(0.9, 0.98))
    for update in range(1, updates + 1):
        optimizer.param_groups[0]["lr"] = warmup_schedule(update, 32, warm)
        row, wanted, seen = some_rows(batch, seed=update)
        scores = reverser(row, seen)
        loss = F.cross_entropy(scores.flatten(0, 1), wanted.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        right = ((scores.argmax(-1) == wanted) | (wanted < 0)).all(1).float().mean()
        tell(loss.item(), right.item())


# %%
from functools import cache

from transformer_course.widgets import show_training


@cache  # trained once, however often it is asked for
def trained() -> Reverser:
    torch.manual_seed(0)
    reverser = Reverser(depth=2)
    with show_training(total=700, title="turning rows round") as plot:
        train(reverser, 700, 200, 128, lambda loss, right: plot.add(loss=loss, accuracy=right))
    return reverser


reverser = trained()
print(f"2,000 new rows: {share_right(reverser):.1%} right, from the first digit to the last")
print(f"rows of seven digits: {10**7:,} there are, about {700 * 128 // 5:,} in training")
rows, _, seen_rows = some_rows(4, seed=100_000)
with torch.no_grad():
    said_rows = reverser(rows, seen_rows).argmax(-1)
for row, said in zip(rows.tolist(), said_rows.tolist(), strict=True):
    shown = [sign for sign in row if sign < MARK]
    print(*shown, "  →  ", *said[: len(shown)])

# %% [markdown]
# What to see: all of them. And it is no memory: of the rows with seven digits, training has shown it fewer than one in five hundred.
#
# How does it do it? Look at the weights, by layer and head. The next cell walks through **your** encoder, block by block, and asks each block's attention where it looks.


# %%
def weights_of(encoder: Encoder, words: Tensor, seen: Tensor) -> Tensor:
    """The attention weights of every block: (batch, layer, head, query, key)."""
    layers = []
    for one in encoder.blocks:
        assert isinstance(one, EncoderBlock)
        layers.append(attend(one.attention, one.norm1(words), seen)[1])
        words = one(words, seen)
    return torch.stack(layers, 1)


rows, wanted_rows, seen_rows = some_rows(2000, seed=100_000)


@cache
def all_weights() -> Tensor:
    """Where your trained encoder looks, in all these rows: (row, layer, head, query, key)."""
    with torch.no_grad():
        return weights_of(trained().encoder, trained().words(rows), seen_rows)


print("(row, layer, head, query, key):", tuple(all_weights().shape))

# %% [markdown]
# Two places are worth a count, for every digit of the 2,000 rows: the mark, which says how long the row is, and the mirrored place, where the wanted digit stands.

# %%
is_digit = wanted_rows >= 0
row_lengths = is_digit.sum(1)[:, None]
opposite = (row_lengths - 1 - torch.arange(PLACES)).clamp(min=0)
for name, target in (
    ("the mark", row_lengths.expand(-1, PLACES)),
    ("the mirrored place", opposite),
):
    aimed = target[:, None, None, :, None].expand(*all_weights().shape[:-1], 1)
    mean = all_weights().gather(-1, aimed)[..., 0].permute(0, 3, 1, 2)[is_digit].mean(0)
    for layer in (0, 1):
        told = "  ".join(f"{share:.2f}" for share in mean[layer].tolist())
        print(f"mean weight on {name:18}  layer {layer}, heads 0 to 3:  {told}")

# %% [markdown]
# And now one of the longest rows, by eye.

# %%
from transformer_course.widgets import show_attention

longest = int(row_lengths.argmax())
signs_shown = [f"{SIGNS[sign]} at {i}" for i, sign in enumerate(rows[longest].tolist())]
second = all_weights()[longest, 1].mean(0)
figures.attention_map(second, signs_shown, title="layer 1, the mean of its heads")
show_attention(all_weights()[longest], signs_shown, title="your encoder, turning a row round")

# %% [markdown]
# What to see: in the second layer (layer 1, the view counts from 0) nearly all weight lies on the mirrored place: a diagonal from the upper right to the lower left, with little beside it. (The last row is the mark's own: nothing is asked of it.) In the first layer (layer 0) the weight is spread: about a quarter of it goes to the mark, and about as much is a first guess at the mirrored place. The weights do not say all that the block does with it, but they fit the plan: find the mark first, then ask for the mirrored place. One block alone could not ask with what it has just found.

# %% [markdown]
# ## 9 · Deep and impatient
#
# Two blocks train in either order. Now take eight, and be impatient: a warm-up of 50 steps, and 300 steps in all. Then post-norm again, with patience: 400 steps of warm-up.
#
# **Predict.** Which of the three does not learn?
#
# <details><summary>Pre-norm with a short warm-up</summary>Its last blocks are pulled gently from the start: it can take large steps at once.</details>
# <details><summary>Post-norm with a short warm-up</summary>Yes: eight blocks, the last of them pulled hard, in large steps.</details>
# <details><summary>Post-norm with a long warm-up</summary>Small steps first: this is how the original Transformer trained.</details>

# %%
losses = {}
for name, pre_norm, warm in (
    ("pre-norm, warm-up 50", True, 50),
    ("post-norm, warm-up 50", False, 50),
    ("post-norm, warm-up 400", False, 400),
):
    torch.manual_seed(0)
    deep, history = Reverser(depth=8, pre_norm=pre_norm), []
    train(deep, 300, warm, 64, lambda loss, right, history=history: history.append(loss))
    losses[name] = [sum(history[at : at + 10]) / 10 for at in range(0, 300, 10)]
    print(f"{name:22}  loss {sum(history[-20:]) / 20:.2f}   new rows right {share_right(deep):.0%}")
figures.curves(
    list(range(10, 301, 10)),
    losses,
    x="training step",
    y="loss",
    title="Eight blocks",
    bottom=0.0,
)

# %% [markdown]
# What to see: pre-norm learns at once, in large steps. Post-norm in the same steps gets nowhere: hardly a row comes out without an error. With a long warm-up the same post-norm stack does learn, later. So warm-up is what deep post-norm stacks need. The original Transformer and BERT have their norms on the line, and were trained with warm-up; GPT-2, ViT and most large models since have moved them into the detours.

# %% [markdown]
# ## 10 · The real thing
#
# PyTorch ships the block as `nn.TransformerEncoderLayer`, in both orders, and the stack as `nn.TransformerEncoder`. (Its default is `norm_first=False`, the old order.) Its names differ from yours in one place, `self_attn` for `attention`. Give yours the weights of theirs.

# %%
padded = torch.tensor([[[True] * 6], [[True, True, True, True, False, False]]])
sentences = numbers(2, 6, 16)
for pre_norm in (True, False):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 4, 40, 0.1, batch_first=True, norm_first=pre_norm)
    layer = layer.double().eval()
    mine = EncoderBlock(16, 4, 40, 0.1, pre_norm).double().eval()
    parts = layer.state_dict()
    mine.load_state_dict({name.replace("self_attn", "attention"): parts[name] for name in parts})
    theirs = layer(sentences, src_key_padding_mask=~padded[:, 0])
    difference = (mine(sentences, padded) - theirs)[padded[:, 0]].abs().max().item()
    print(f"block, norm_first={pre_norm}: largest difference {difference:.1e}")

layer = nn.TransformerEncoderLayer(16, 4, 40, 0.1, batch_first=True, norm_first=True)
stack = nn.TransformerEncoder(layer, 3, nn.LayerNorm(16), enable_nested_tensor=False)
stack = stack.double().eval()
mine = Encoder(3, 16, 4, 40, 0.1).double().eval()
parts = stack.state_dict()
mine.load_state_dict(
    {n.replace("layers", "blocks").replace("self_attn", "attention"): parts[n] for n in parts}
)
theirs = stack(sentences, src_key_padding_mask=~padded[:, 0])
difference = (mine(sentences, padded) - theirs)[padded[:, 0]].abs().max().item()
print(f"stack of 3: largest difference {difference:.1e}")

# %% [markdown]
# Differences around 1e-15 are rounding. This block, twelve times, with a smoother bend (GELU) in place of ReLU, is the body of BERT; with a causal mask it is the body of GPT.

# %% [markdown]
# ## 11 · In your own words
#
# **Question.** A friend moves from post-norm to pre-norm and says: "I only moved two lines, so I keep everything else as it was: no norm at the end, and the long warm-up." What happens to the words along the thick line, what does the missing norm do to the layer that reads them, and does the friend still need the warm-up? Three or four sentences: double-click the cell below and write them there. A person reads them.

# %% answer two_lines [markdown] points=2
# <!-- BEGIN SOLUTION -->
# In pre-norm nothing stands on the thick line, and every block adds to it, so the words grow with depth. Without the norm at the end, the layer that reads them gets numbers whose size depends on the depth (and changes in training): they are too large for it. With that norm all is well: it divides by the size of the whole sum, so each of many blocks pulls a little at the output, and its gradient falls with depth. That is why pre-norm stacks bear large steps from the start: a long warm-up does no harm, but they hardly need it.
# <!-- END SOLUTION -->


# %% [markdown]
# ## What you know now
#
# - A block is two detours from a straight way: **attention** collects from other words, the **feed-forward network** lets each word conclude for itself. Without its ReLU it would be one matrix.
# - **Residual**: what a detour finds is added to the x *from before the norm*.
# - **Pre-norm** keeps the way free: x + sublayer(norm(x)). Its words grow, so the stack ends with one more norm. **Post-norm**, the original, has its norms on the way.
# - A block learns about $12\, d_{\text{model}}^2$ numbers if $d_{\text{ff}} = 4\, d_{\text{model}}$: a third in attention, two thirds in the feed-forward network, and a little in biases and norms.
# - Deep post-norm stacks are pulled too hard at first: **warm-up** makes the first steps small.
# - Stacked blocks can do what one cannot: find something first, then ask with it.
#
# **The question that is left.** Your encoder reads rows of vectors, and does not care what they stand for. So what else can it read? An image is no row of words. Or is it? Cut into pieces and laid in a row: that is lesson 8, the Vision Transformer.
