# %% [markdown]
# # Lesson 7 · The encoder
#
# **You build** the Transformer's encoder: a feed-forward network, the block that joins it to attention, and a stack of blocks. Your stack reverses a sequence of digits, and matches PyTorch's encoder.
#
# **You need** the ideas of lessons 3 to 6: multi-head attention, layer norm, residual connections, dropout, positional encodings. Their code comes from PyTorch.
#
# **You take away** `EncoderBlock` and `Encoder`, their parameter count, and a test of what the position of each norm changes.
#
# **Time**: about 240 minutes: 152 for the exercises. Good places to stop are marked after about 90, after 160, and before part 8. Parts 8 and 9 have no exercise, and can wait for another day (before part 11).

# %% given imports
import re
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformer_course import figures
from transformer_course.checks import Check, numbers
from transformer_course.checks.module import Module

torch.set_num_threads(1)  # tiny models train fastest on one core

# %% [markdown]
# Eight boxes stand in a row. Each holds a note with the number of a box. Start at box 0, jump to the box on its note, and jump once more to the box on the note you find there. Which number do you read at the end? The next cell draws each jump as a link; the number under a box is its attention weight. One layer can draw both links at once. But then box 3 learns what is in box 5, and box 0 learns only what is in box 3.

# %%
notes = [3, 6, 0, 5, 1, 7, 2, 4]
named = [f"box {box}: {note}" for box, note in enumerate(notes)]
first_box = notes[0]
second_box = notes[first_box]
first_jump, second_jump = torch.eye(8)[first_box], torch.eye(8)[second_box]
figures.word_links(
    {
        "Start at box 0. Its note says 3: jump there": (named, 0, first_jump),
        "The note in box 3 says 5: jump there, and read 7": (named, first_box, second_jump),
    }
)

# %% [markdown]
# **Predict.** In attention, each box can attend to every other box. Can one attention layer follow two jumps?
#
# <details><summary>Yes, if it has two heads: one for each jump</summary>All heads of a layer choose their keys at the same time. None can use what another head has just read.</details>
# <details><summary>Yes: every box can attend to every note</summary>It can attend to all of them. But to attend to the <em>right</em> box, for the second jump the query must know the number on the note that the first jump finds.</details>
# <details><summary>Not directly: the second jump needs what the first one has read</summary>That is the argument. In part 7 you test it.</details>
#
# How do you build layers that can be stacked, so that each layer can use what the layer below has found? That is the question of this lesson.
#
# An **encoder** is a stack of layers that returns one output vector for each input vector, and in which every position may attend to every other, before and after it. (In the causal models of lesson 2, a position attends only to itself and to earlier ones.) First, a few more paths:

# %%
for start in range(4):
    path = [start, notes[start], notes[notes[start]]]
    print("boxes", *path, "  the answer is", notes[path[-1]])

# %% [markdown]
# **Recall.** Three questions on lessons 4 to 6. Answer first, then open your choice.
#
# 1. Over which numbers does layer norm take the mean?
#
# <details><summary>One feature, over all tokens of the batch</summary>That is batch norm.</details>
# <details><summary>All features of one token</summary>Yes. Each token is normalised by itself, then scaled by a gain and shifted by a bias for each feature.</details>
# <details><summary>All tokens of one sequence</summary>Then padding would change the result. Layer norm treats each token by itself.</details>
#
# 2. What does a residual connection compute?
#
# <details><summary>x + sublayer(x)</summary>Yes. If the sublayer returns 0, x passes unchanged, and so does its gradient.</details>
# <details><summary>sublayer(x) − x</summary>The sign is the other way: the layer's output is added to x.</details>
# <details><summary>sublayer(sublayer(x))</summary>That is a stack of two layers without a residual connection.</details>
#
# 3. Without positions, what happens to the output of attention if you shuffle the tokens?
#
# <details><summary>It becomes a different set of vectors</summary>The scores depend on pairs of tokens only, and a sum has no order.</details>
# <details><summary>Nothing changes at all</summary>Each output belongs to a token, and moves with it.</details>
# <details><summary>It is shuffled in the same way</summary>Yes: attention is permutation equivariant.</details>
#
# %% [markdown]
# ## 1 · One block, two orders
#
# A **block** is one layer of an encoder: attention, two linear layers with a ReLU between them (it replaces negative numbers by 0), and two norms. The blocks of a stack have the same parts but different parameters.
#
# Two ways to arrange the parts are in use. Follow the thick line, which carries the vector of one token. What is on it in only one of the pictures?

# %%
figures.stations(
    {
        "pre-norm": [(["norm1", "attention"], []), (["norm2", "linear1", "ReLU", "linear2"], [])],
        "post-norm": [(["attention"], ["norm1"]), (["linear1", "ReLU", "linear2"], ["norm2"])],
    },
    "x",
)

# %% [markdown]
# What to see: only post-norm has norms on the thick line. That line is the **residual stream**, the vector of a token to which every sublayer adds its output. A **sublayer** is a part of a block with a residual connection around it: here attention, and a small feed-forward network.
#
# In **pre-norm**, each norm comes before its sublayer, on the branch, and the residual stream itself is not normalised. In **post-norm**, each norm comes after the addition, on the residual stream.

# %% [markdown]
# ## 2 · The feed-forward network
#
# Attention moves information between tokens: its output is a weighted sum of values. Some conclusions need more than a sum. Suppose that a token has gathered two features: is there a *not*, and is the adjective *good*?

# %%
cases = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
target = (cases.sum(1, keepdim=True) == 1).float()  # exactly one of the two
case_names = ["bad", "good", "not bad", "not good"]
figures.steps(
    {
        "features": (cases, "feature", ["not", "good"]),
        "target": (target, "output", ["positive"]),
    },
    "case",
    case_names,
)

# %% [markdown]
# The opinion is positive if exactly one of the two features is 1.
#
# **Predict.** You fit a linear function of the two features, with a bias, to these four cases, so that the mean squared error is as small as possible. What does it say for *good*?
#
# <details><summary>About 1</summary>If <em>good</em> and <em>not bad</em> both give 1, the values for <em>bad</em> and <em>not good</em> must add up to 2. But both should be 0.</details>
# <details><summary>0.5, as for every other case</summary>Yes. A <em>not</em> makes one opinion positive and the other negative, so on average neither feature tells you anything.</details>
# <details><summary>About 0</summary>That would be as wrong as saying 1 for <em>not good</em>. The best compromise lies between.</details>

# %%
with_bias = torch.cat([cases, torch.ones(4, 1)], 1)
linear = with_bias @ torch.linalg.lstsq(with_bias, target).solution
total = cases.sum(1, keepdim=True)
with_relu = total.relu() - 2 * (total - 1).relu()
outputs = torch.cat([target, linear.round(decimals=3), with_relu], 1).T
figures.steps(
    {"is it positive?": (outputs, "case", case_names)},
    "function",
    ["target", "best linear", "with ReLU"],
)

# %% [markdown]
# What to see: the best linear function says 0.5 in all four cases. Two ReLU features solve the task exactly: $\max(0, s) - 2 \max(0, s - 1)$, where $s$ is the sum of the two features. (This is XOR, which no linear layer can compute.)
#
# ReLU is a **nonlinearity**, a function between two linear layers that is not linear itself. The **feed-forward network** (FFN) of a block is two linear layers with a nonlinearity between them, applied to each token by itself:
#
# $$\mathrm{FFN}(x) = \max(0,\; x W_1 + b_1)\, W_2 + b_2$$
#
# $W_1$ takes the token from $d_{\text{model}}$ to $d_{\text{ff}}$ features, often four times as many, and $W_2$ takes it back.

# %% [markdown]
# **Predict.** Someone forgets the ReLU, and the model trains without an error. What is lost?
#
# <details><summary>Nothing much: there are still two layers</summary>Run the next cell: the two layers compute nothing that one could not.</details>
# <details><summary>The gradient: nothing can be learned</summary>Gradients flow through a product of matrices without trouble. So nothing warns you that the ReLU is missing.</details>
# <details><summary>The second layer: together they do only what one linear layer can do</summary>Yes: (x W₁ + b₁) W₂ + b₂ = x (W₁ W₂) + (b₁ W₂ + b₂). That is one matrix and one bias.</details>

# %%
w1, b1 = numbers(3, 6), numbers(6, seed=1)
w2, b2 = numbers(6, 3, seed=2), numbers(3, seed=3)
tokens = numbers(5, 3, seed=4)
two_layers = (tokens @ w1 + b1) @ w2 + b2
one_layer = tokens @ (w1 @ w2) + (b1 @ w2 + b2)
print(f"two layers against one: largest difference {(two_layers - one_layer).abs().max():.0e}")

# %% [markdown]
# **From the lecture**: “Feedforward Network” in *Transformer: Part I (Encoder)*, CS7150, draws the block and asks whether there are nonlinearities in its lower part, which is attention.
#
# **Predict.** What is your answer?
#
# <details><summary>No: attention has no ReLU, so it is linear</summary>It has no ReLU, but something else in it is not linear. The next cell shows it.</details>
# <details><summary>Yes: the attention weights. But given the weights, the output is linear in the values</summary>Yes. So the weights bend with the input, but each output stays a weighted average of the values.</details>
# <details><summary>Yes: the projections to queries, keys and values</summary>Each of them is one linear layer.</details>
#
# A linear function without a bias satisfies $f(x + y) = f(x) + f(y)$. Test it, and hold the attention weights fixed as a control.


# %%
def not_additive(function: Callable[[Tensor], Tensor], seed: int) -> float:
    """How far f(x + y) is from f(x) + f(y), relative to f(x + y)."""
    x, y = numbers(5, 3, seed=10 + seed), numbers(5, 3, seed=20 + seed)
    return ((function(x + y) - function(x) - function(y)).norm() / function(x + y).norm()).item()


fixed = (tokens @ tokens.T).softmax(-1)
functions = {
    "attention": lambda x: (x @ x.T).softmax(-1) @ x,
    "attention, weights held fixed": lambda x: fixed @ x,
    "two linear layers": lambda x: x @ w1 @ w2,
    "two linear layers, ReLU between them": lambda x: (x @ w1).relu() @ w2,
}
for name, function in functions.items():
    print(f"{name:38}", *(f"{not_additive(function, seed):.2f}" for seed in range(3)))

# %% [markdown]
# What to see: attention is not linear, and the only cause is its weights: $QK^\top$ multiplies $x$ by itself, and softmax is not linear either. With the weights fixed, the sum comes out exactly, in all three draws. So attention chooses *where* to read in a nonlinear way, and then only averages. The feed-forward network is nonlinear in *what* was read.
#
# **From the lecture**: “Feed-forward Layer” in *Introduction to Transformers*, CS60216, calls this averaging “simply performing a re-averaging of the value vectors”.
#
# **Exercise** (20 minutes). Write the feed-forward network, with dropout on the hidden features: after the ReLU, and nowhere else. In part 3 it becomes a part of the block.
#
# <details><summary>Hint</summary>Keep three modules on <code>self</code>: two <code>nn.Linear</code> and one <code>nn.Dropout</code>, which knows by itself whether the model is training. For the nonlinearity take <code>torch.relu</code>.</details>


# %% exercise FeedForward
class FeedForward(nn.Module):
    """Two linear layers with a ReLU between them, applied to each token by itself.

    Parts: `linear1`, from d_model to d_ff, and `linear2`, back to d_model (each an `nn.Linear`).
    Dropout: on the output of the ReLU, nowhere else.
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
        "the output is max(0, x W₁ + b₁) W₂ + b₂, worked out for two tokens",
    )
with Check("FeedForward", "dropout of 1, which drops everything") as check:
    feed, x = check.build(2, 3, 1.0).double(), numbers(4, 2)
    weights = {
        "linear1.weight": numbers(3, 2, seed=1),
        "linear1.bias": numbers(3, seed=2),
        "linear2.weight": numbers(2, 3, seed=3),
        "linear2.bias": numbers(2, seed=4),
    }
    feed.load(weights)
    silent, evaluated = feed.train().call(x), feed.eval().call(x)
    check.equal(
        silent,
        weights["linear2.bias"].expand(4, 2),
        "in training, with all hidden features dropped, only the bias of linear2 is left",
        hint="dropout comes between the ReLU and linear2, and nowhere else",
    )
    hidden_features = x @ weights["linear1.weight"].T + weights["linear1.bias"]
    check.equal(
        evaluated,
        hidden_features.clamp(min=0) @ weights["linear2.weight"].T + weights["linear2.bias"],
        "in evaluation nothing is dropped",
        hint="keep an nn.Dropout on self: it knows whether the model is training",
    )
with Check("FeedForward", "another dropout rate") as check:
    feed = check.build(4, 6, 0.75).double()
    # each output copies a hidden feature of 1: half of it from the token, half from the bias
    feed.load(
        {
            "linear1.weight": torch.eye(6, 4) / 2,
            "linear1.bias": torch.full((6,), 0.5),
            "linear2.weight": torch.eye(4, 6),
            "linear2.bias": torch.zeros(4),
        }
    )
    tokens = torch.ones(50, 10, 4, dtype=torch.float64)
    result, again = feed.train().call(tokens), feed.call(tokens)
    check.true(
        all(abs(value) < 1e-9 or abs(value - 4) < 1e-9 for value in result.unique().tolist()),
        "with p = 0.75, a hidden feature of 1 becomes 0, or 1 / (1 - 0.75) = 4",
        hint="pass `dropout` to one nn.Dropout, and use it once",
    )
    check.true(
        bool((result == 0).any() and (result != 0).any()),
        "with p = 0.75 some hidden features are dropped, and some are kept",
        hint="pass `dropout` to one nn.Dropout, and use it once",
    )
    check.true(
        bool((result[0] != result[1]).any() and (result[:, 0] != result[:, 1]).any()),
        "each token of each sequence drops its own features",
        hint="pass all hidden features to one nn.Dropout: it draws for each number",
    )
    check.true(
        bool(((result == 0).any(-1) & (result != 0).any(-1)).any()),
        "a token loses single features, not all or none",
        hint="pass all hidden features to one nn.Dropout: it draws for each number",
    )
    check.true(
        not torch.equal(result, again),
        "a second call drops other features",
        hint="every call draws a new mask: leave torch's random generator as it is",
    )
with Check("FeedForward", "one token, and what can be learned from it") as check:
    feed = check.build(2, 3).double()
    check.equal(
        len(feed.parameters()),
        4,
        "training can change four tensors: a weight and a bias for each layer",
        hint="make both layers with nn.Linear, and leave requires_grad as it is",
    )
    feed.load({name: numbers(*w.shape).abs() for name, w in feed.parameters().items()})
    result = feed.call(numbers(1, 2).abs())
    check.shape(result, length=1, d_model=2)
    for name, slope in feed.gradients(result).items():
        check.true(
            bool((slope != 0).any()),
            f"a gradient reaches {name}",
            hint="leave out no_grad, detach and new tensors on the way",
        )
    slopes = feed.gradients(feed.eval().call(numbers(1, 2).abs()))
    check.true(
        all(bool((slope != 0).any()) for slope in slopes.values()),
        "in evaluation, too, a gradient reaches every parameter",
        hint="evaluation switches dropout off, and nothing else",
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
with Check("FeedForward", "gradients, views, and tokens that stay apart") as check:
    feed = check.build(5, 3).double()
    feed.load({n: numbers(*w.shape, seed=13) for n, w in feed.parameters().items()})
    x = numbers(4, 5, 2, seed=10).transpose(1, 2).requires_grad_()
    result = feed.call(x)
    slope = check.gradient(result[1, 0].square(), x)
    check.true(bool((slope[1, 0] != 0).any()), "a token depends on itself")
    others = torch.ones(4, 2, dtype=torch.bool)
    others[1, 0] = False
    check.equal(
        slope[others], torch.zeros(7, 5, dtype=torch.float64), "a token depends on no other token"
    )
    slopes = feed.gradients(result.square())
    shapes = {name: tuple(slope.shape) for name, slope in slopes.items()}
    four_parts = {
        "linear1.weight": (3, 5),
        "linear1.bias": (3,),
        "linear2.weight": (5, 3),
        "linear2.bias": (5,),
    }
    check.true(shapes == four_parts, f"parameters {four_parts}, nothing else")
    check.true(
        all(bool((slope != 0).any()) for slope in slopes.values()),
        "every parameter gets a gradient",
    )
with Check("FeedForward", "each token drops its own features, new ones in each call") as check:
    feed = check.build(8, 40, 0.5).double()
    state = {name: numbers(*w.shape, seed=14) for name, w in feed.parameters().items()}
    feed.load({**state, "linear1.bias": torch.full((40,), 50.0)})
    same = numbers(1, 1, 8, seed=11).expand(3, 6, 8)
    result, again = feed.train().call(same).detach(), feed.call(same).detach()
    check.true(len(result.flatten(0, 1).unique(dim=0)) == 18, "equal tokens give different outputs")
    check.true(not torch.equal(result, again), "two calls differ")
    check.equal(
        feed.eval().call(same)[1, 2], feed.call(same)[0, 0], "nothing is dropped in evaluation"
    )
# END HIDDEN TESTS


# %% [markdown]
# ## 3 · The block
#
# Now write the block of the first picture. Let $x$ be the residual stream. Then
#
# $$\text{pre-norm:}\quad x \leftarrow x + \mathrm{sublayer}(\mathrm{norm}(x)) \qquad\qquad \text{post-norm:}\quad x \leftarrow \mathrm{norm}(x + \mathrm{sublayer}(x))$$
#
# first for attention, then for the feed-forward network. Each of the two has its own norm, with its own gain and bias.
#
# **Predict.** Both sublayers are switched off: the weights and biases of their last layers are 0, so each returns 0. What does a pre-norm block return?
#
# <details><summary>0</summary>That is what the sublayers return. But x is added to it.</details>
# <details><summary>x</summary>Yes. A pre-norm block passes x on unchanged, and each sublayer only adds to it.</details>
# <details><summary>norm(x)</summary>That is close to post-norm, which returns norm2(norm1(x)): there the norms are on the residual stream.</details>

# %% [markdown]
# Attention comes from PyTorch, as `nn.MultiheadAttention`. Its masks mean the opposite of ours (lesson 2), and a query that may attend to nothing gives NaN. So the next cell wraps it: `attend` takes the masks of this course, and returns the output and the attention weights.


# %% given attend
def attend(
    attention: nn.MultiheadAttention, x: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Let the tokens x attend to one another through `attention`; return (output, weights).

    x (batch, length, d_model) -> output (batch, length, d_model), weights (batch, heads, length,
    length). mask: bool, (length, length) or (batch, 1 or length, length); True = may attend.
    A query that may attend to nothing gets weights of 0.
    """
    if mask is None:
        return attention(x, x, x, average_attn_weights=False)
    batch, length, _ = x.shape
    allowed = mask.expand(batch, length, length)
    nothing = ~allowed.any(-1, keepdim=True)  # let these attend anywhere; undone below
    blocked = ~(allowed | nothing).repeat_interleave(attention.num_heads, 0)
    output, weights = attention(x, x, x, attn_mask=blocked, average_attn_weights=False)
    output = torch.where(nothing, attention.out_proj.bias, output)
    return output, weights.masked_fill(nothing[:, None], 0.0)


# %% [markdown]
# The checks below load fixed weights into your block. So the names of its parts matter: the docstring of the exercise lists them. `linear1` and `linear2` may stand inside a `FeedForward`: `plain_name` removes its name.


# %% given block_weights folded=true
# Fixed weights for the checks: click to unfold.
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


def plain_name(name: str) -> str:
    """Remove a FeedForward's name: feed_forward.linear1.weight is linear1.weight."""
    return re.sub(r"(^|\.)[A-Za-z_]\w*\.(linear[12]\.)", r"\1\2", name)


def own_names(block: Module, weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """The same weights, named as this block names its parts."""
    names = {plain_name(name): name for name in block.state()}
    return {names.get(name, name): weight for name, weight in weights.items()}


# %% [markdown]
# **Exercise** (45 minutes). This is the heart of the lesson. Write the block. Reuse your `FeedForward` as one part of it, or keep `linear1` and `linear2` in the block itself, as PyTorch's block does. The checks accept both.
#
# <details><summary>Hint 1</summary>Begin with pre-norm alone, without dropout: two lines, each of the form <code>x = x + …</code>. <code>attend</code> returns a pair: the output is its first element, <code>attend(…)[0]</code>. The checks for post-norm and for dropout come later.</details>
# <details><summary>Hint 2</summary>Which x is the output added to: x before the norm, or after it? In the picture, where does the branch leave the residual stream?</details>
# <details><summary>Hint 3</summary>Dropout is used in four positions. <code>nn.MultiheadAttention(…, dropout=…)</code> handles the first by itself. A <code>FeedForward</code> that gets <code>dropout</code> has the one after the ReLU. One <code>nn.Dropout</code> can serve the rest: it draws a new mask in every call.</details>


# %% exercise EncoderBlock
class EncoderBlock(nn.Module):
    """Attention, then a feed-forward network, each with a residual connection.

    Parts: `attention` (an `nn.MultiheadAttention`, batch first), `linear1` (d_model to d_ff) and
    `linear2` (d_ff to d_model), with a ReLU between them, `norm1` and `norm2` (`nn.LayerNorm`).
    Instead of the two linear layers, one part can be your `FeedForward`, under any name.
    norm_first=True: x + sublayer(norm(x)); False: norm(x + sublayer(x)). norm1 goes with attention.
    Dropout, at one rate, in four positions: on the attention weights, on the output of attention,
    after the ReLU, and on the output of linear2. Never on x itself.
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
    # normalised, the first token is [1, -1, 1, -1] and the second [-1, -1, 1, 1]; norm1 multiplies
    # that by 3, norm2 by 2
    x = torch.tensor([[[3.0, 1.0, 3.0, 1.0], [-2.0, -2.0, 2.0, 2.0]]], dtype=torch.float64)
    silent = {name: torch.zeros_like(weight) for name, weight in block_weights(4, 3).items()}
    silent |= {"norm1.weight": torch.full((4,), 3.0), "norm2.weight": torch.full((4,), 2.0)}
    # queries and keys are 0, so each token attends to all tokens equally; values are the tokens
    attention_on = {
        "attention.in_proj_weight": torch.cat([torch.zeros(8, 4), torch.eye(4)]),
        "attention.out_proj.weight": torch.eye(4),
    }
    network_on = {
        "linear1.weight": torch.eye(3, 4),
        "linear1.bias": torch.tensor([0.0, 0.0, 1.0]),
        "linear2.weight": torch.diag(torch.tensor([10.0, -10.0, 10.0, 0.0]))[:, :3],
        "linear2.bias": torch.tensor([0.0, 0.0, 0.0, -5.0]),
    }
    block = check.build(4, 2, 3).double()
    results = []
    for switched_on in ({}, attention_on, network_on, {**attention_on, **network_on}):
        block.load(own_names(block, {**silent, **switched_on}))
        results.append(block.call(x))
    off, with_attention, with_network, both = results
    check.shape(off, batch=1, length=2, d_model=4)
    check.equal(
        off,
        x,
        "with both sublayers switched off, x passes unchanged: no norm is on the residual stream",
    )
    mean = torch.tensor([0.0, -3.0, 3.0, 0.0], dtype=torch.float64)
    check.equal(
        with_attention,
        x + mean,
        "with the feed-forward network off, each token adds the mean of both normalised tokens",
        within=1e-3,
    )
    check.equal(
        with_network,
        torch.tensor([[[23.0, 1.0, 33.0, -4.0], [-2.0, -2.0, 32.0, -3.0]]], dtype=torch.float64),
        "with attention switched off, each token adds linear2(relu(linear1(norm2(x))))",
        within=1e-3,
    )
    block.load(own_names(block, {**silent, **network_on}))
    check.equal(
        both,
        block.call(with_attention),
        "the feed-forward network works on x after attention has been added: first attention, then "
        "the feed-forward network",
    )
with Check("EncoderBlock", "pre-norm, a mask") as check:
    block, x = check.build(6, 3, 4).double(), numbers(2, 5, 6)
    block.load(own_names(block, block_weights(6, 4)))
    causal = torch.ones(5, 5, dtype=torch.bool).tril()
    part, whole = block.call(x[:, :3]), block.call(x, causal)
    check.equal(
        whole[:, 2],
        part[:, 2],
        "under a causal mask, the third token gives the same as without the tokens after it",
        hint="pass the mask on: attend(self.attention, …, mask)",
    )
    padding = torch.tensor([[[True] * 5], [[True, True, False, False, False]]])
    alone, padded = block.call(x[1:, :2]), block.call(x, padding)
    check.equal(
        padded[1, :2],
        alone[0],
        "a padded sequence gives the same as alone, without its padding",
        hint="pass the mask on unchanged: attend takes (batch, 1, length) too",
    )
    check.equal(
        padded,
        block.call(x, padding.expand(2, 5, 5)),
        "a padding mask gives the same with and without its query axis, at padded tokens too",
        hint="a mask only says what a query may attend to: use it in attend and nowhere else",
    )
    free = block.call(x)
    check.equal(
        block.call(x[1:])[0],
        free[1],
        "a sequence gives the same in a batch as alone",
        hint="nn.MultiheadAttention expects the length first, unless you set batch_first=True",
    )
with Check("EncoderBlock", "pre-norm, three heads") as check:
    block, x, weights = check.build(6, 3, 4).double(), numbers(2, 5, 6), block_weights(6, 4)
    weights |= {
        name: torch.zeros_like(weights[name]) for name in ("linear2.weight", "linear2.bias")
    }
    block.load(own_names(block, weights))
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
with Check("EncoderBlock", "pre-norm, what can be learned") as check:
    block, x = check.build(6, 3, 4).double(), numbers(2, 5, 6)
    check.equal(
        len(block.parameters()),
        12,
        "training can change twelve tensors: two for each linear layer and norm, four of attention",
        hint="make the parts as PyTorch makes them, and leave requires_grad as it is",
    )
    block.load(own_names(block, block_weights(6, 4)))
    for name, slope in block.gradients(block.call(x).square()).items():
        check.true(
            bool((slope != 0).any()),
            f"a gradient reaches {name}",
            hint="leave out no_grad, detach and new tensors on the way",
        )
    slopes = block.gradients(block.eval().call(x).square())
    check.true(
        all(bool((slope != 0).any()) for slope in slopes.values()),
        "in evaluation, too, a gradient reaches every parameter",
        hint="evaluation switches dropout off, and nothing else",
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
            block.load(own_names(block, state))
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
    block.load(own_names(block, state))
    expected, result = theirs(x), block.call(x)
    check.equal(check.gradient(result.square(), x), check.gradient(expected.square(), x), "by x")
    slopes = {plain_name(n): slope for n, slope in block.gradients(result.square()).items()}
    for name, weight in theirs.named_parameters():
        slope = slopes[name.replace("self_attn", "attention")]
        check.equal(slope, check.gradient(expected.square(), weight), f"by {name}")
with Check("EncoderBlock", "a token that may attend to nothing") as check:
    block, x, state = (
        check.build(6, 2, 5).double(),
        numbers(3, 4, 6, seed=6),
        block_weights(6, 5, 5),
    )
    block.eval().load(own_names(block, state))
    mask = torch.ones(3, 4, 4, dtype=torch.bool)
    mask[1] = False
    mask[2, 0] = False
    result, free = block.call(x, mask), block.call(x)
    block.load(
        own_names(
            block, {**state, "attention.out_proj.weight": torch.zeros(6, 6, dtype=torch.float64)}
        )
    )
    alone = block.call(x)
    check.equal(result[1], alone[1], "it adds the bias of the output projection alone")
    check.equal(result[2, 0], alone[2, 0], "it adds the bias of the output projection alone")
    check.equal(result[0], free[0], "the other tokens give the same as before")
    check.equal(result[2, 1:], free[2, 1:], "the other tokens give the same as before")
    block.load(own_names(block, state))
    keys = torch.tensor([[[True] * 4], [[True, True, False, False]], [[False] * 4]])
    check.equal(
        block.call(x, keys),
        block.call(x, keys.expand(3, 4, 4)),
        "a padding mask means the same with and without its query axis",
    )
# END HIDDEN TESTS

# %% [markdown]
# The same parts, in post-norm order:

# %% check EncoderBlock_post_norm points=2
hint = "with norm_first=False: x = norm1(x + attention of x), then x = norm2(x + feed-forward of x)"
with Check("EncoderBlock", "post-norm, one part at a time", hint) as check:
    x = torch.tensor([[[3.0, 1.0, 3.0, 1.0], [-2.0, -2.0, 2.0, 2.0]]], dtype=torch.float64)
    silent = {name: torch.zeros_like(weight) for name, weight in block_weights(4, 3).items()}
    silent |= {"norm1.weight": torch.full((4,), 3.0), "norm2.weight": torch.full((4,), 2.0)}
    attention_on = {
        "attention.in_proj_weight": torch.cat([torch.zeros(8, 4), torch.eye(4)]),
        "attention.out_proj.weight": torch.eye(4),
    }
    network_on = {
        "linear1.weight": torch.eye(3, 4),
        "linear1.bias": torch.tensor([0.0, 0.0, 1.0]),
        "linear2.weight": torch.diag(torch.tensor([10.0, -10.0, 10.0, 0.0]))[:, :3],
        "linear2.bias": torch.tensor([0.0, 0.0, 0.0, -5.0]),
    }
    block = check.build(4, 2, 3, norm_first=False).double()
    results = []
    for switched_on in ({}, attention_on, network_on, {**attention_on, **network_on}):
        block.load(own_names(block, {**silent, **switched_on}))
        results.append(block.call(x))
    off, with_attention, with_network, both = results
    check.equal(
        off,
        torch.tensor([[[2.0, -2.0, 2.0, -2.0], [-2.0, -2.0, 2.0, 2.0]]], dtype=torch.float64),
        "with both sublayers switched off, the output is norm2(norm1(x)); here norm2 multiplies by 2",
        within=1e-3,
    )
    tokens_and_mean = x + x.mean(1, keepdim=True)
    check.equal(
        with_attention,
        2 * F.layer_norm(tokens_and_mean, (4,)),
        "with the feed-forward network switched off: norm2(norm1(x + the mean of both tokens))",
        within=1e-3,
    )
    # norm1 gives [3, -3, 3, -3] and [-3, -3, 3, 3]; the network returns [30, 0, 40, -5] and
    # [0, 0, 40, -5]
    added = torch.tensor([[[33.0, -3, 43, -8], [-3, -3, 43, -2]]], dtype=torch.float64)
    check.equal(
        with_network,
        2 * F.layer_norm(added, (4,)),
        "with attention switched off: norm2(norm1(x) + the feed-forward network of norm1(x))",
        within=1e-3,
    )
    once = 3 * F.layer_norm(tokens_and_mean, (4,))
    inner = (once[..., :3] + torch.tensor([0.0, 0.0, 1.0])).relu()
    brought = F.pad(inner * torch.tensor([10.0, -10.0, 10.0]), (0, 1), value=-5.0)
    check.equal(
        both,
        2 * F.layer_norm(once + brought, (4,)),
        "the feed-forward network works on x after attention has been added: first attention, then "
        "the feed-forward network",
        within=1e-3,
    )
with Check("EncoderBlock", "post-norm, a mask") as check:
    block, x = check.build(6, 3, 4, norm_first=False).double(), numbers(2, 5, 6)
    block.load(own_names(block, block_weights(6, 4)))
    causal = torch.ones(5, 5, dtype=torch.bool).tril()
    part, whole = block.call(x[:, :3]), block.call(x, causal)
    check.equal(
        whole[:, 2],
        part[:, 2],
        "under a causal mask, the third token gives the same as without the tokens after it",
        hint="pass the mask on in both orders: attend(self.attention, …, mask)",
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
            block.load(own_names(block, state))
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
    block.load(own_names(block, state))
    expected, result = (theirs(x) * target), (block.call(x) * target)
    check.equal(check.gradient(result, x), check.gradient(expected, x), "by x")
    slopes = {plain_name(n): slope for n, slope in block.gradients(result).items()}
    for name, weight in theirs.named_parameters():
        slope = slopes[name.replace("self_attn", "attention")]
        check.equal(slope, check.gradient(expected, weight), f"by {name}")
# END HIDDEN TESTS

# %% [markdown]
# And dropout, in its four positions:

# %% check EncoderBlock_dropout points=2
with Check("EncoderBlock", "dropout of 1, which drops everything") as check:
    block, x = check.build(6, 3, 4, 1.0).double(), numbers(2, 5, 6)
    weights = block_weights(6, 4)
    block.load(own_names(block, weights))
    dropped, evaluated = block.train().call(x), block.eval().call(x)
    check.equal(
        dropped,
        x,
        "in training, with everything dropped that the sublayers return, x passes unchanged",
        hint="dropout is on the output of attention and of linear2, never on x itself",
    )
    without = check.build(6, 3, 4).double()
    without.load(own_names(without, weights))
    check.equal(
        evaluated,
        without.train().call(x),
        "in evaluation nothing is dropped",
        hint="keep an nn.Dropout on self: it knows whether the model is training",
    )
with Check("EncoderBlock", "a new dropout mask for each number and each position") as check:
    block = check.build(40, 2, 3, 0.5).double().train()
    silent = {name: torch.zeros_like(weight) for name, weight in block_weights(40, 3).items()}
    # both sublayers return their last bias, which is 1
    ones = {"attention.out_proj.bias": torch.ones(40), "linear2.bias": torch.ones(40)}
    block.load(own_names(block, {**silent, **ones}))
    tokens = torch.zeros(4, 6, 40, dtype=torch.float64)
    result, again = block.call(tokens), block.call(tokens)
    check.true(
        len(result.flatten(0, 1).unique(dim=0)) == 24,
        "each token of each sequence drops its own features",
        hint="pass the whole output of a sublayer to one nn.Dropout: it draws for each number",
    )
    check.true(
        bool(((result - 2).abs() < 1e-9).any()),
        "sometimes one sublayer's output is dropped and the other's is doubled: 0 + 2 comes out",
        hint="call dropout in each position: it draws a new mask in every call",
    )
    check.true(
        not torch.equal(result, again),
        "a second call drops other features",
        hint="every call draws a new mask: leave torch's random generator as it is",
    )
with Check("EncoderBlock", "dropout after the ReLU") as check:
    block = check.build(4, 2, 6, 0.5).double()
    silent = {name: torch.zeros_like(weight) for name, weight in block_weights(4, 6).items()}
    # attention returns 0; four hidden features copy norm2(x), which is 1; each output copies one
    ones = {"norm2.bias": torch.ones(4), "linear1.weight": torch.eye(6, 4)}
    ones |= {"linear2.weight": torch.eye(4, 6)}
    block.load(own_names(block, {**silent, **ones}))
    result = block.train().call(torch.zeros(30, 7, 4, dtype=torch.float64))
    check.true(
        all(min(abs(value), abs(value - 4)) < 1e-9 for value in result.unique().tolist()),
        "with p = 0.5, a hidden feature of 1 is doubled after the ReLU and doubled again after "
        "linear2, or dropped: only 0 and 4 come out",
        hint="use dropout once after the ReLU, and once more after linear2; never after a norm",
    )
    check.true(
        bool((result != 0).any()),
        "with p = 0.5 some features are kept",
        hint="pass `dropout` on as the share that is dropped",
    )
with Check("EncoderBlock", "dropout on the attention weights") as check:
    block = check.build(4, 2, 6, 0.5).double()
    silent = {name: torch.zeros_like(weight) for name, weight in block_weights(4, 6).items()}
    # three tokens attend to one another equally: each weight is 1/3, and all values are 1
    ones = {
        "attention.in_proj_bias": torch.tensor([0.0] * 8 + [1.0] * 4),
        "attention.out_proj.weight": torch.eye(4),
    }
    block.load(own_names(block, {**silent, **ones}))
    result = block.train().call(torch.zeros(90, 3, 4, dtype=torch.float64))
    thirds = (result * 3 / 4).unique()
    check.true(
        bool(((thirds - thirds.round()).abs() < 1e-9).all()),
        "with p = 0.5, each of three weights of 1/3 is dropped or doubled, and the output of "
        "attention is dropped or doubled again: 0, 4/3, 8/3 or 4 comes out",
        hint="nn.MultiheadAttention drops weights by itself: pass `dropout` to it, and use "
        "dropout once more on its output",
    )
    check.true(
        any(0.5 < third < 2.5 for third in thirds.tolist()),
        "with p = 0.5, sometimes one or two of three weights are kept: 4/3 or 8/3 comes out",
        hint="nn.MultiheadAttention drops weights by itself: pass `dropout` to it, and use "
        "dropout once more on its output",
    )
with Check("EncoderBlock", "post-norm, dropout of 1, which drops everything") as check:
    block, x = check.build(6, 3, 4, 1.0, False).double(), numbers(2, 5, 6)
    weights = block_weights(6, 4)
    block.load(own_names(block, weights))
    without = check.build(6, 3, 4, norm_first=False).double()
    without.load(own_names(without, weights))
    check.equal(
        block.eval().call(x),
        without.train().call(x),
        "in evaluation nothing is dropped",
        hint="keep an nn.Dropout on self: it knows whether the model is training",
    )
    first, second = ((weights[f"norm{i}.weight"], weights[f"norm{i}.bias"]) for i in (1, 2))
    check.equal(
        block.train().call(x),
        F.layer_norm(F.layer_norm(x, (6,), *first), (6,), *second),
        "in training, with everything dropped that the sublayers return, only x passes the norms: "
        "norm2(norm1(x))",
        hint="in both orders, dropout is on the output of attention and of linear2, never on x "
        "itself",
    )
# BEGIN HIDDEN TESTS
with Check("EncoderBlock", "post-norm, dropout of 1 and evaluation") as check:
    block, x = check.build(6, 2, 5, 1.0, False).double(), numbers(3, 4, 6, seed=12)
    state = block_weights(6, 5, 6)
    block.load(own_names(block, state))
    gains = [(state[f"norm{i}.weight"], state[f"norm{i}.bias"]) for i in (1, 2)]
    twice = F.layer_norm(F.layer_norm(x, (6,), *gains[0]), (6,), *gains[1])
    check.equal(block.train().call(x), twice, "only x passes the norms")
    without = check.build(6, 2, 5, norm_first=False).double()
    without.load(own_names(without, state))
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
        network_on = {"linear1.weight": read, "linear2.weight": pick}
        if first:
            network_on["norm2.bias"] = level
        attention_on = {
            "attention.in_proj_weight": torch.cat([torch.zeros(10, 5), read[:5]]),
            "attention.out_proj.weight": torch.eye(5),
        }
        if not first:
            attention_on["norm1.weight"] = torch.ones(5)
            attention_on["norm1.bias"] = torch.zeros(5)
        block = check.build(5, 1, 8, 0.75, first).double().train()
        # kept twice at p = 0.75: 16; of three weights, k kept: 16 k / 3
        for switched_on, possible in (
            (network_on, (0.0, 16.0)),
            (attention_on, (0.0, 16 / 3, 32 / 3, 16.0)),
        ):
            block.load(own_names(block, {**silent, **switched_on}))
            result = block.call(level.expand(60, 3, 5))
            options = level + torch.tensor(possible, dtype=torch.float64)[:, None] * pick[:, 0]
            if not first:
                options = F.layer_norm(options, (5,))
                if switched_on is attention_on:
                    options = F.layer_norm(options, (5,))
            far = (result.detach()[..., None, :] - options).abs().amax(-1).amin(-1)
            check.true(bool((far < 1e-4).all()), "nothing else can come out")
            check.true(len(result.detach().flatten(0, 1).unique(dim=0)) > 1, "something is kept")
with Check("EncoderBlock", "a hidden feature is dropped for all that read it") as check:
    for first in (True, False):
        block = check.build(40, 2, 3, 0.5, first).double().train()
        read = {name: torch.zeros_like(w) for name, w in block_weights(40, 3).items()}
        read |= {"linear1.bias": torch.ones(3), "norm2.weight": torch.ones(40)}
        read["linear2.weight"] = torch.eye(1, 3).expand(40, 3)  # all outputs read the first one
        block.load(own_names(block, read))
        result = block.call(torch.zeros(20, 4, 40, dtype=torch.float64))
        silent = (result.abs() < 1e-9).all(-1)
        check.true(bool(silent.any() and not silent.all()), "sometimes, not always")
        check.true(bool((silent != silent[:1]).any()), "each sequence drops its own")
        check.true(bool((silent != silent[:, :1]).any()), "each token drops its own")
with Check(
    "EncoderBlock", "the output of a sublayer is dropped feature by feature, anew in each call"
) as check:
    level = numbers(40, seed=13)  # so that post-norm has something to normalise
    for first in (True, False):
        block = check.build(40, 2, 3, 0.5, first).double().train()
        silent = {name: torch.zeros_like(w) for name, w in block_weights(40, 3).items()}
        silent |= {"norm1.weight": torch.ones(40), "norm2.weight": torch.ones(40)}
        for part in ("attention.out_proj.bias", "linear2.bias"):
            block.load(own_names(block, {**silent, part: torch.ones(40)}))
            result = block.call(level.expand(4, 6, 40)).detach()
            again = block.call(level.expand(4, 6, 40)).detach()
            different = len(result.flatten(0, 1).unique(dim=0))
            check.true(different == 24, "equal tokens give different outputs")
            check.true(not torch.equal(result, again), "two calls differ")
# END HIDDEN TESTS


# %% [markdown]
# ### Your block, as its data flows
#
# The next view runs your block, and finds out from the run which part reads what. Each bar is the size of a token at that place: the root mean square of its features. The weights are random, with a standard deviation of 0.5, so that each part has something to say.
#
# **Predict.** The token *too* is negated: $x \to -x$ in its row. At which place do the *other* tokens change first?
#
# <details><summary>At norm1</summary>A norm treats each token by itself (lesson 4). It reads one row to make one row.</details>
# <details><summary>At attention</summary>Yes. Attention is the only part in which tokens exchange anything. From there on, every token differs.</details>
# <details><summary>At the feed-forward network</summary>By then they have changed already. And it too treats each token by itself: the same network for every row.</details>

# %%
from transformer_course.widgets import show_block


def block_with_large_weights(*, norm_first: bool = True) -> EncoderBlock:
    """Build a block, and draw its matrices anew with a standard deviation of 0.5."""
    torch.manual_seed(0)
    block = EncoderBlock(8, 2, 16, norm_first=norm_first)
    for weight in block.parameters():
        if weight.dim() == 2:
            nn.init.normal_(weight, std=0.5)
    return block


sentence = ["the", "animal", "was", "too", "tired"]
shown = 3 * numbers(5, 8)  # (length, d_model)
pre_norm = block_with_large_weights()
show_block(pre_norm, shown, sentence, title="Your pre-norm block")

# %% [markdown]
# Negate *too* in the list above the view, and look along its boxes. Then switch attention off as well.
#
# <details><summary>Which tokens change now?</summary>Only <em>too</em>. In a block, attention alone carries a change from one token to another.</details>
#
# The second view shows the other order, with the same weight matrices. Before you run it: which boxes will lie on the residual stream?

# %%
post_norm = block_with_large_weights(norm_first=False)
show_block(post_norm, shown, sentence, title="Your post-norm block")

# %% [markdown]
# What to see: in the pre-norm block, only sums lie on the residual stream, and nothing resets the sizes: here the tokens grow on average, but one of them may shrink. In the post-norm block, both norms lie on it, and every token leaves with size 1.

# %% [markdown]
# ### Bug hunt: one name too few
#
# A friend's block is shorter than yours. It runs and it trains. Here is its first half, next to the slide it was copied from (“On the LayerNorm in Transformer” in *Transformer: Part I (Encoder)*, CS7150, with simpler indices):
#
# $$x^{(1)} = \mathrm{LayerNorm}(x) \qquad x^{(2)} = \mathrm{MultiHeadAtt}(x^{(1)}) \qquad x^{(3)} = x + x^{(2)}$$
#
# ```python
# x = self.norm1(x)
# x = x + attend(self.attention, x, mask)[0]
# ```
#
# **Predict.** Where does the code differ from the slide? Which input would show it? Think of a test before you run the next cell.

# %%
loud = 10 * numbers(1, 5, 16)
slide, friend = loud, loud
for _ in range(12):
    slide = slide + 0.0  # x + what attention returns: nothing
    friend = F.layer_norm(friend, (16,)) + 0.0  # the name x already means the normalised x
print(
    f"standard deviation of x after 12 blocks: slide {slide.std():.1f}, friend {friend.std():.1f}"
)

# %% [markdown]
# What to see: the test multiplies the input by 10 and switches the sublayers off. The slide adds to $x$ from *before* the norm. The friend's code has overwritten that name. So the norm is on the residual stream, and the size of the input is lost in the first block. Your first check above finds this bug.

# %% [markdown]
# **A good place to stop.** Your block is ready, in both orders. Next you stack blocks, count their parameters, and find out which stacks train. (Back later? Run all cells above first.)

# %% [markdown]
# ## 4 · A stack of blocks
#
# Before you stack blocks, find out what happens on the residual stream. The next cell draws random weights by Xavier's rule, as `nn.Transformer` does: wider layers get smaller weights.


# %%
def xavier(module: nn.Module) -> None:
    """Draw all matrices by Xavier's rule; leave biases and norms as they are."""
    for parameter in module.parameters():
        if parameter.dim() == 2:
            nn.init.xavier_uniform_(parameter)


# %% [markdown]
# In a pre-norm stack every sublayer *adds* to the residual stream, and no norm on the stream rescales it.
#
# **Predict.** What is the standard deviation of the stream after 12 pre-norm blocks, if it starts at 1?
#
# <details><summary>Still about 1: each block has two norms</summary>Those norms act on what the sublayers read, not on the stream.</details>
# <details><summary>About 4,000: it doubles in each block</summary>What a sublayer adds does not grow with x, because it reads the normalised x. So the growth is slow.</details>
# <details><summary>About three times as large</summary>Yes. Twenty-four outputs are added up, in nearly unrelated directions, so their variances add, not their standard deviations. If the variances are 0.3 on average, √(1 + 24 · 0.3) is about 2.9. (Attention adds little at first, because it averages unrelated tokens. It adds more as the tokens become alike.)</details>


# %%
def stream_sizes(norm_first: bool, seed: int) -> list[float]:
    """The standard deviation of the residual stream before and after each of 12 blocks."""
    torch.manual_seed(seed)
    stream = torch.randn(8, 16, 64)
    sizes = [stream.std().item()]
    for _ in range(12):
        block = EncoderBlock(64, 4, 256, norm_first=norm_first)
        xavier(block)
        stream = block(stream).detach()
        sizes.append(stream.std().item())
    return sizes


figures.curves(
    list(range(13)),
    {
        "pre-norm": [stream_sizes(True, seed) for seed in range(3)],
        "post-norm": [stream_sizes(False, seed) for seed in range(3)],
    },
    x="blocks passed",
    y="standard deviation of the residual stream",
    title="Untrained stacks: mean and range of 3 seeds",
    bottom=0.0,
)

# %% [markdown]
# What to see: after every post-norm block the standard deviation is 1, because a norm comes last (with gain 1 and bias 0, before training). In the pre-norm stack it grows with every block. The sublayers still read inputs of the same size: a normalised copy. But a layer *after* the stack would get larger inputs from a deeper stack. So a pre-norm encoder has one more norm at its end, the **final norm**. A post-norm encoder ends with a norm already.

# %% [markdown]
# **Exercise** (25 minutes). Build the stack from your own `EncoderBlock`. PyTorch finds modules that are attributes of `self`, but it does not search plain lists. For a list of modules there is `nn.ModuleList`.
#
# <details><summary>Hint 1</summary><code>nn.ModuleList(EncoderBlock(…) for _ in range(num_layers))</code> calls the class once for each block. What would <code>[EncoderBlock(…)] * num_layers</code> do?</details>
# <details><summary>Hint 2</summary>Every block gets the mask. The final norm comes once, after the loop.</details>


# %% exercise Encoder
class Encoder(nn.Module):
    """A stack of `num_layers` blocks, each with its own parameters.

    Parts: `blocks`, an `nn.ModuleList` of your `EncoderBlock`; `norm`, the final
    `nn.LayerNorm`, if norm_first. If not, there is no final norm, and no parameter in its place.
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
hint = "x passes each block in turn, with the mask; a pre-norm encoder has a final norm"
with Check("Encoder", "its blocks and its final norm", hint) as check:
    one = sum(w.numel() for w in check.other("EncoderBlock").build(6, 2, 4).parameters().values())
    for order, own_norm in (({}, 12), ({"norm_first": True}, 12), ({"norm_first": False}, 0)):
        encoder = check.build(3, 6, 2, 4, **order)
        parts, stored = encoder.parameters(), encoder.state()
        inside = [w.numel() for name, w in parts.items() if name.startswith("blocks.")]
        check.true(
            any(name.startswith("blocks.") for name in stored),
            "PyTorch finds parameters in `blocks`",
            hint="PyTorch finds blocks under another name: call the nn.ModuleList `blocks`"
            if len(stored) > 2
            else "a plain list hides its blocks from PyTorch: keep them in an nn.ModuleList, as "
            "self.blocks",
        )
        check.true(
            any(inside),
            "training can change the parameters in `blocks`",
            hint="leave requires_grad of the blocks as it is: training should change them",
        )
        check.equal(
            sum(inside),
            3 * one,
            "three blocks have three times as many parameters as one",
            hint="each block needs its own parameters: make a new EncoderBlock for each of the "
            "num_layers"
            if sum(inside) == one
            else f"your parameters are those of {sum(inside) // one} blocks: make num_layers of them"
            if sum(inside) % one == 0
            else "`blocks` holds EncoderBlocks alone, each with this d_model, num_heads and d_ff",
        )
        check.equal(
            sum(w.numel() for w in parts.values()) - sum(inside),
            own_norm,
            f"outside the blocks there are {own_norm} parameters if norm_first="
            f"{order.get('norm_first', True)}{'' if order else ', the default'}",
            hint="an nn.LayerNorm(d_model) called `norm` if norm_first, and nothing if not",
        )
with Check("Encoder", "its blocks, one after another", hint) as check:
    gain, bias = numbers(6, seed=90), numbers(6, seed=91)
    x, mask = numbers(2, 5, 6, seed=92), torch.ones(5, 5, dtype=torch.bool).tril()
    results, in_turn, evaluated, untouched = [], [], x, x
    everything = ((0.0, True, mask), (0.0, False, mask), (1.0, True, None), (1.0, False, None))
    for dropout, first, allowed in everything:
        block = check.other("EncoderBlock").build(6, 2, 4, dropout, first).double().train()
        shapes = {name: weight.shape for name, weight in block.parameters().items()}
        expected, state = x, {"norm.weight": gain, "norm.bias": bias} if first else {}
        for i in range(4):
            part = {
                n: numbers(*size, seed=60 * i + j) for j, (n, size) in enumerate(shapes.items(), 3)
            }
            block.load(part)
            expected = block.call(expected, allowed)
            state |= {f"blocks.{i}.{name}": weight for name, weight in part.items()}
        in_turn.append(F.layer_norm(expected, (6,), gain, bias) if first else expected)
        encoder = check.build(4, 6, 2, 4, dropout, first).double().train()
        encoder.load(state)
        results.append(encoder.call(x, allowed))
        if len(results) == 1:
            evaluated = encoder.eval().call(x, allowed)
        if len(results) == 2:
            untouched = check.build(4, 6, 2, 4, dropout, first).double().call(x, allowed)
    check.shape(results[0], batch=2, length=5, d_model=6)
    check.equal(
        results[0],
        in_turn[0],
        "pre-norm, with a mask: four of your blocks in turn, each with the mask, then the norm",
    )
    check.equal(
        results[1],
        in_turn[1],
        "post-norm: four of your post-norm blocks in turn, each with the mask, and no norm after "
        "them",
        hint="pass norm_first and the mask on to every block; the last block's output is the result",
    )
    check.equal(
        results[2],
        in_turn[2],
        "dropout of 1 in training: four of your blocks with the same dropout, then the norm",
        hint="pass dropout on to every block, and use no other dropout",
    )
    check.equal(
        results[3],
        in_turn[3],
        "dropout of 1 in training, post-norm: four of your blocks with the same dropout",
        hint="no block is left out in training: dropout is inside the blocks",
    )
    check.equal(
        evaluated,
        results[0],
        "without dropout, evaluation gives the same as training: every part runs in both modes",
    )
    check.true(
        not torch.equal(untouched, results[1]),
        "a second encoder does not have the weights that were loaded into the first",
        hint="make new blocks in each __init__",
    )
with Check("Encoder", "what can be learned") as check:
    encoder = check.build(2, 6, 2, 4).double()
    named = encoder.parameters().items()
    encoder.load({name: numbers(*w.shape, seed=i) for i, (name, w) in enumerate(named)})
    slopes = encoder.gradients(encoder.call(numbers(2, 5, 6)).square())
    check.true(
        all(bool((slope != 0).any()) for slope in slopes.values()),
        "a gradient reaches every parameter",
        hint="leave out no_grad, detach and new tensors on the way",
    )
    slopes = encoder.gradients(encoder.eval().call(numbers(2, 5, 6)).square())
    check.true(
        all(bool((slope != 0).any()) for slope in slopes.values()),
        "in evaluation, too, a gradient reaches every parameter",
        hint="evaluation switches dropout off, and nothing else",
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
with Check("Encoder", "every part gets a gradient of its own") as check:
    encoder = check.build(3, 6, 3, 8).double()
    state = encoder.parameters()
    encoder.load({n: numbers(*w.shape, seed=i) for i, (n, w) in enumerate(state.items())})
    x = numbers(2, 4, 6, seed=5).requires_grad_()
    result = encoder.call(x) * numbers(2, 4, 6, seed=6)
    for name, slope in encoder.gradients(result).items():
        check.true(bool(slope.isfinite().all() and slope.abs().max() > 0), f"one reaches {name}")
    check.true(
        bool(check.gradient(result[0], x)[1].abs().max() == 0), "no gradient between sequences"
    )
with Check("Encoder", "dropout only in training") as check:
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
# ## 5 · How many parameters?
#
# The original Transformer has $d_{\text{model}} = 512$ and $d_{\text{ff}} = 2048 = 4 \cdot 512$. A lecture counts the parameters of a block: $4 \cdot 512 \cdot 512$ in attention, and $(4 + 4) \cdot 512 \cdot 512$, about 2.1 million, in the feed-forward network.
#
# **From the lecture**: “Feed-forward Layer” in *Introduction to Transformers*, CS60216.
#
# ### Bug hunt: a slide that counts
#
# Add both up, and let PyTorch count its own block.

# %%
on_the_slides = 4 * 512 * 512 + (4 + 4) * 512 * 512
counted = sum(part.numel() for part in nn.TransformerEncoderLayer(512, 8, 2048).parameters())
print(f"slides {on_the_slides:,}   PyTorch {counted:,}   missing {counted - on_the_slides:,}")

# %% [markdown]
# The slides are right about the matrices: two thirds of a block's weights are in the feed-forward network, and the number of heads does not matter. But 6,656 parameters are missing. They are few, but without them a trained model gives wrong results.
#
# **Exercise** (10 minutes). Which are they? Give three whole numbers: the biases of attention (four layers: query, key, value, output), the biases of the feed-forward network, and all parameters of the two norms.
#
# <details><summary>Hint</summary>A linear layer has one bias for each <em>output</em> feature. A layer norm has a gain and a bias for each feature.</details>

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
        hint="each linear layer has one bias for each output feature: how many layers, and how many "
        "features? each norm has two vectors",
    )
    check.seal(
        answer,
        "f8feb9f33af340bf",
        "each of the three numbers is right, not only their sum",
        hint="count each layer's bias with its own part: four layers of attention, then linear1 "
        "and linear2, then both norms",
    )
# BEGIN HIDDEN TESTS
with Check("left_out", "each of the three") as check:
    expected = torch.tensor([2048.0, 2560.0, 2048.0], dtype=torch.float64)
    check.equal(check.value(3), expected, "the shares")
# END HIDDEN TESTS


# %% [markdown]
# **Exercise** (15 minutes). Now for any encoder: compute how many parameters an `Encoder` has, by arithmetic. You can test your function: build an `Encoder`, and let PyTorch count.
#
# <details><summary>Hint</summary>Three terms for each block: attention 4 · (d² + d), the feed-forward network, two norms. Then the final norm: when is there one?</details>


# %% exercise encoder_parameters
def encoder_parameters(
    num_layers: int,
    d_model: int,
    num_heads: int,
    d_ff: int,
    dropout: float = 0.0,
    norm_first: bool = True,
) -> int:
    """Compute the number of parameters of an `Encoder` with these arguments, norms included."""
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
    check.equal(counts[1], 53, "in pre-norm, the final norm adds 4", hint="2 · d_model")
    check.equal(
        counts[2],
        151,
        "three pre-norm blocks, and still one final norm",
        hint="count a block num_layers times, and the final norm once",
    )
    check.equal(
        counts[3],
        538,
        "two pre-norm blocks with d_model 6, d_ff 5 and three heads",
        hint="neither the number of heads nor dropout adds parameters",
    )
    check.equal(counts[4], 3152384, "PyTorch's block, with the sizes on the slides")
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
        check.equal(result, expected, "dropout has no parameters")
# END HIDDEN TESTS


# %%
mine = Encoder(6, 512, 8, 2048)
print(f"your arithmetic   {encoder_parameters(6, 512, 8, 2048):,}")
print(f"your encoder      {sum(part.numel() for part in mine.parameters()):,}")

# %% [markdown]
# ## 6 · Warm-up
#
# The original, post-norm Transformer had a **learning-rate schedule**, a rule for the rate of each step. At each step, the rate times $\sqrt{d_{\text{model}}}$ is the lower of the two curves. What it is good for, you measure in part 9.

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
# First the rate rises along the straight line, then it falls slowly, as 1/√step. Training with **warm-up** starts at a rate near 0 and raises it over the first steps. In a formula:
#
# $$\text{rate}(\text{step}) = \frac{1}{\sqrt{d_{\text{model}}}} \cdot \min\!\left(\frac{1}{\sqrt{\text{step}}},\; \frac{\text{step}}{\text{warmup\_steps}^{1.5}}\right)$$
#
# (Vaswani et al. 2017, section 5.3.)
#
# **Predict.** In the figure the curves meet at step 50. Where do they meet for other values of $d_{\text{model}}$ and warmup_steps? Use the formula.
#
# <details><summary>At warmup_steps</summary>Yes: there both are 1 / √warmup_steps.</details>
# <details><summary>At √warmup_steps</summary>Put it into the formula: 1/√step is still large there, and the line is low.</details>
# <details><summary>At d_model</summary>The factor 1/√d_model scales both curves alike. It does not move the point where they meet.</details>

# %% [markdown]
# **Exercise** (10 minutes). Write the schedule.
#
# <details><summary>Hint</summary>In Python, a number to the power −0.5 is <code>step ** -0.5</code>. For step 0 that would divide by zero: handle it first.</details>


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
    # with d_model 4 the factor is 1/2; with 16 warm-up steps the line is step / 64
    steps = (8, 16, 64, 1, 0)
    rates = [check.call(step, 4, 16, returns=float) for step in steps]
    by_hand = (
        (1 / 16, "rising, step 8: 1/2 · 8/64"),
        (1 / 8, "at the peak, step 16: 1/2 · 16/64, which is 1/2 · 1/√16"),
        (1 / 16, "falling, step 64: 1/2 · 1/√64"),
        (1 / 128, "the first step: 1/2 · 1/64"),
    )
    for rate, (expected, claim) in zip(rates, by_hand, strict=False):
        check.equal(rate, expected, claim, within=1e-7)
    check.equal(
        rates[4], 0.0, "step 0 gives 0", hint="0 ** -0.5 divides by zero: handle step 0 first"
    )
with Check("warmup_schedule", "the original Transformer", hint) as check:
    rate = check.call(4000, 512, 4000, returns=float)
    check.equal(
        rate,
        (512 * 4000) ** -0.5,
        "512 features, at the last of 4000 warm-up steps",
        within=1e-8,
    )
    rate = check.call(1000, 512, 1000, returns=float)
    check.equal(
        rate,
        (512 * 1000) ** -0.5,
        "512 features, at the last of 1000 warm-up steps",
        within=1e-8,
    )
# BEGIN HIDDEN TESTS
with Check("warmup_schedule", "many steps") as check:
    for width, warm in ((512, 4000), (32, 200), (7, 1), (1, 30), (512, 100), (64, 4000)):
        check.equal(check.call(0, width, warm, returns=float), 0.0, "step 0")
        for step in (1, 2, 29, 30, 31, 199, 200, 201, 4000, 100000):
            expected = width**-0.5 * min(step**-0.5, step * warm**-1.5)
            rate = check.call(step, width, warm, returns=float)
            check.equal(rate, expected, "the formula", within=1e-5 * expected)
# END HIDDEN TESTS


# %% [markdown]
# **Predict.** You raise `warmup_steps` from 50 to 400. What else changes in the schedule, besides the time to the peak?
#
# <details><summary>Nothing: the peak rate is the same</summary>At the peak, the rate is 1 / √(d_model · warmup_steps). Run the next cell.</details>
# <details><summary>The peak rate rises</summary>Put step = warmup_steps into the formula: with a longer warm-up, the peak lies further down the falling curve.</details>
# <details><summary>The peak rate falls</summary>Yes. So if you compare two warm-ups with this formula, you compare two peak rates as well.</details>

# %%
for last in (50, 400):
    print(f"{last:3} warm-up steps: peak rate {warmup_schedule(last, 32, last):.4f}")

# %% [markdown]
# The **peak rate** is the largest learning rate of a schedule. To see what warm-up itself does, part 9 compares runs with and without it at the same peak rate.
#
# **A good place to stop.** You have a stack, its number of parameters and its schedule. Next you train it. (Back later? Run all cells above first.)

# %% [markdown]
# ## 7 · Training the stack
#
# The first task: read three to seven digits, followed by an end sign `|`, and reverse them. `4 7 1 |` becomes `1 7 4`. The sequences have different lengths, so there is padding, printed as `_`, and your mask hides it.


# %%
END_SIGN, PADDING, LENGTH = 10, 11, 8


def reversal(count: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Sequences (count, 8), the targets, and the mask that hides padding (count, 1, 8)."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(3, LENGTH, (count, 1), generator=generator)
    digits = torch.randint(10, (count, LENGTH), generator=generator)
    position = torch.arange(LENGTH)
    tokens = torch.where(position < lengths, digits, PADDING)
    tokens = tokens.masked_fill(position == lengths, END_SIGN)
    mirrored = digits.gather(1, (lengths - 1 - position).clamp(min=0))
    targets = torch.where(position < lengths, mirrored, -100)  # cross_entropy ignores -100
    return tokens, targets, (position <= lengths)[:, None]


SIGNS = [*"0123456789", "|", "_"]
examples, example_targets, _ = reversal(4, seed=1)
for row, targets in zip(examples.tolist(), example_targets.tolist(), strict=True):
    print(*(SIGNS[token] for token in row), "  →  ", *(token for token in targets if token >= 0))

# %% [markdown]
# The model is your `Encoder` with little around it: an embedding for each token and one for each position (lesson 6), and a last layer that gives the logits.


# %%
class Reader(nn.Module):
    """Tokens and positions in, your encoder, a logit for each answer out."""

    def __init__(
        self, vocabulary: int, answers: int, depth: int, d_ff: int = 64, norm_first: bool = True
    ) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, 32), nn.Embedding(LENGTH, 32)
        self.encoder = Encoder(depth, 32, 4, d_ff, norm_first=norm_first)
        self.logits = nn.Linear(32, answers)
        xavier(self.encoder)

    def embed(self, tokens: Tensor) -> Tensor:
        return self.tokens(tokens) + self.positions.weight

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.logits(self.encoder(self.embed(tokens), mask))


# %% folded=true
# Trains a Reader on new examples in every step, and measures its accuracy: click to unfold.
Task = Callable[[int, int], tuple[Tensor, Tensor, Tensor | None]]


def train(
    reader: Reader,
    task: Task,
    steps: int,
    rate: Callable[[int], float],
    batch: int = 64,
    report: Callable[[float, float], None] = lambda loss, accuracy: None,
) -> None:
    """Train with Adam; `rate` gives the learning rate of a step, `report` gets each result."""
    optimizer = torch.optim.Adam(reader.parameters(), betas=(0.9, 0.98), fused=True)
    for step in range(1, steps + 1):
        optimizer.param_groups[0]["lr"] = rate(step)
        tokens, targets, mask = task(batch, step)
        logits = reader(tokens, mask)
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        report(loss.item(), share_right(logits, targets))


def share_right(logits: Tensor, targets: Tensor) -> float:
    """The accuracy over all positions that have a target."""
    asked = targets >= 0
    return (logits.argmax(-1) == targets)[asked].float().mean().item()


def held_out_accuracy(reader: Reader, task: Task) -> float:
    """The accuracy on 2,000 examples drawn afresh.

    (Very short ones may have occurred in training.)
    """
    tokens, targets, mask = task(2000, 100_000)
    with torch.no_grad():
        return share_right(reader(tokens, mask), targets)


# %% [markdown]
# Every step trains on 64 freshly drawn sequences. The rate comes from your `warmup_schedule`.

# %%
from functools import cache

from transformer_course.widgets import show_training


@cache  # trains once
def reverser() -> Reader:
    torch.manual_seed(0)
    reader = Reader(12, 10, depth=2)
    with show_training(total=400, title="Two blocks learn to reverse digits") as plot:
        train(
            reader,
            reversal,
            400,
            lambda step: warmup_schedule(step, 32, 150),
            report=lambda loss, accuracy: plot.add(loss=loss, accuracy=accuracy),
        )
    return reader


share = held_out_accuracy(reverser(), reversal)
print(f"2,000 freshly drawn sequences: {share:.1%} of the digits are right")

# %% [markdown]
# Has the model memorised its training data? There are only 1,000 sequences of three digits, and training showed it nearly all of them. But there are ten million of seven digits, and it has seen about 5,100. Here are some new ones of seven digits, none a palindrome.

# %%
new, new_targets, new_masks = reversal(200, seed=100_001)
chosen = ((new_targets >= 0).sum(1) == 7) & (new[:, :7] != new_targets[:, :7]).any(1)
new, new_targets, new_masks = new[chosen], new_targets[chosen], new_masks[chosen]
with torch.no_grad():
    answers = reverser()(new, new_masks).argmax(-1)
for row, answer in zip(new[:4, :7].tolist(), answers[:4, :7].tolist(), strict=True):
    print(*row, "  →  ", *answer)
right = (answers == new_targets)[:, :7].all(1)
print(f"all {len(new)} of seven digits in this batch: {right.float().mean():.0%} without an error")

# %% [markdown]
# It generalises. Now, does it need two blocks? There is an argument for it: a digit must *first* find the end sign, whose position tells it how long the sequence is. Only *then* can it ask for the mirrored position. That sounds like two steps.
#
# **Predict.** Train the same model with *one* block, three seeds, the same 400 steps. How many digits are right?
#
# <details><summary>Nearly all</summary>Yes. The argument fails.</details>
# <details><summary>About half</summary>Then the second block would matter a lot. Here it hardly does.</details>
# <details><summary>About 10 %: one block cannot find the position</summary>That is what guessing gives. The argument sounds good, but a model need not follow our plan.</details>

# %%
for seed in range(3):
    torch.manual_seed(seed)
    shallow = Reader(12, 10, depth=1)
    train(shallow, reversal, 400, lambda step: warmup_schedule(step, 32, 150))
    print(f"one block, seed {seed}: {held_out_accuracy(shallow, reversal):.1%}")

# %% [markdown]
# One block reverses nearly as well as two. There are only five lengths, so each digit has at most five candidates. Perhaps the block gathers all of them *and* the end sign in one step, and its feed-forward network chooses. In any case, a plausible argument about what a model needs is not evidence. Is there a task on which the second block makes a difference?
#
# ### Two jumps
#
# Back to the boxes. Now notes may repeat. Token $i$ is the note in box $i$, and the model answers for all eight start boxes at once. With one jump, the answer needs one lookup. With two jumps, it needs two, and the second depends on the result of the first.


# %%
def follow(jumps: int, count: int, seed: int) -> tuple[Tensor, Tensor, None]:
    """Rows of eight notes (they may repeat), the number read after these jumps, and no mask."""
    notes = torch.randint(LENGTH, (count, LENGTH), generator=torch.Generator().manual_seed(seed))
    found = notes
    for _ in range(jumps):
        found = notes.gather(1, found)
    return notes, found, None


def one_jump(count: int, seed: int) -> tuple[Tensor, Tensor, None]:
    return follow(1, count, seed)


def two_jumps(count: int, seed: int) -> tuple[Tensor, Tensor, None]:
    return follow(2, count, seed)


row, found, _ = two_jumps(1, seed=0)
print("notes          ", *row[0].tolist())
print("after two jumps", *found[0].tolist())

# %% [markdown]
# For a fair comparison, the single block gets a wider feed-forward network, so that the two models have almost the same number of parameters: 17,899 and 17,928, embeddings and biases included. Steps, rates and data are the same. (The factor 0.4 lowers the peak rate of your schedule from 0.025 to 0.01.) And one jump is the control: can this single block follow one note?
#
# **Predict.** What does the single block reach at two jumps, where guessing gives 12.5 %?
#
# <details><summary>About 12.5 %</summary>Not every path needs two lookups. Which ones do not?</details>
# <details><summary>About half</summary>Yes. About a third of the paths return to a box already visited, and there one lookup is enough. For the others, the most frequent note is a better guess than one in eight.</details>
# <details><summary>Nearly 100 %, as in the reversal</summary>The wider network does not replace the second lookup, at least not in 150 steps.</details>


# %%
def jumper(depth: int, d_ff: int, task: Task, seed: int) -> Reader:
    """A Reader trained for 150 steps to follow notes."""
    torch.manual_seed(seed)
    reader = Reader(LENGTH, LENGTH, depth, d_ff)
    train(reader, task, 150, lambda step: 0.4 * warmup_schedule(step, 32, 50))
    return reader


settings = {"1 block, 1 jump": (1, 195, one_jump), "1 block, 2 jumps": (1, 195, two_jumps)}
settings |= {"2 blocks, 2 jumps": (2, 64, two_jumps)}


@cache  # trains once
def jumpers(name: str) -> list[Reader]:
    """Three trained Readers with these settings."""
    return [jumper(*settings[name], seed) for seed in range(3)]


def accuracies(name: str) -> list[float]:
    return [held_out_accuracy(reader, settings[name][2]) for reader in jumpers(name)]


for name in settings:
    size = sum(part.numel() for part in jumpers(name)[0].parameters())
    print(f"{name:18} {size:,} parameters  ", *(f"{share:.1%}" for share in accuracies(name)))

# %%
figures.runs(
    {name: accuracies(name) for name in settings} | {"guessing": [1 / LENGTH]},
    "held-out accuracy",
    "Following notes: 3 seeds, equal steps and parameters",
)

# %% [markdown]
# What to see: a single block follows one jump almost perfectly. At two jumps it gets only about half of the answers. That fits the estimate above: the paths that need one lookup, and some good guesses.
#
# Two smaller blocks get nearly all of the answers. So on this task, with equal parameters and steps, depth helps, and a wider feed-forward network does not replace it.
#
# How do the two blocks do it? The next cell collects the attention weights of each block of *your* trained encoder, for 2,000 new rows.

# %%
notes_read, _, _ = two_jumps(2000, seed=100_000)


@cache
def jump_weights() -> Tensor:
    """The attention weights of the first trained encoder: (row, layer, head, query, key)."""
    two_blocks, per_layer = jumpers("2 blocks, 2 jumps")[0], []
    with torch.no_grad():
        stream = two_blocks.embed(notes_read)
        for block in [part for part in two_blocks.encoder.blocks if isinstance(part, EncoderBlock)]:
            per_layer.append(attend(block.attention, block.norm1(stream))[1])
            stream = block(stream)
    return torch.stack(per_layer, 1)


print("(row, layer, head, query, key):", tuple(jump_weights().shape))

# %% [markdown]
# **Predict.** Start at box i. Call the two blocks layer 0 and layer 1. If they take one jump each, which box does each layer attend to?
#
# <details><summary>Layer 0: the box after two jumps; layer 1: the box after one</summary>Layer 0 does not know yet where the second jump leads. Each of the other two choices works.</details>
# <details><summary>Layer 0: the box on note i; layer 1: the box after two jumps</summary>Yes, this is one way. Layer 0 reads the second address, and layer 1 asks with it. There is another: see the third choice.</details>
# <details><summary>Both: the box on note i</summary>This works too. In layer 0 that box has itself looked up a note: the answer. In layer 1, box i can read the answer there. The weights show whether your encoder uses this route, the other, or both.</details>

# %%
after_one = notes_read
after_two = notes_read.gather(1, notes_read)
for name, box in (("after one jump", after_one), ("after two jumps", after_two)):
    index = box[:, None, None, :, None].expand(*jump_weights().shape[:-1], 1)
    average = jump_weights().gather(-1, index).mean((0, 3, 4))
    for layer in (0, 1):
        shares = "  ".join(f"{weight:.2f}" for weight in average[layer].tolist())
        print(f"mean weight on the box {name:15}  layer {layer}, heads 0 to 3:  {shares}")

# %% [markdown]
# What to see: the two boxes are the same in about 23 % of cases. So a head's numbers can add up to more than 1, and 0.22 in layer 0 is no sign of a second jump.
#
# In layer 0, some heads put most of their weight on the box after one jump. In layer 1, some put it on the box after two. Others may still attend to the box after one. Which heads do what depends on the seed. The weights fit both routes, but prove neither: they do not show what the values carry.
#
# **Puzzle.** The live view shows one row. Which layer and head shows the first jump from box 0, and which the second?
#
# <details><summary>Hint</summary>The label of box 0 says where the first jump leads. In layer 0, find a head whose row for box 0 has most of its weight there. Then read that box's note, and search layer 1 in the same way, again in the row for box 0. No such head? Then your encoder may use the other route.</details>

# %%
from transformer_course.widgets import show_attention

boxes = [f"box {i}: {note}" for i, note in enumerate(notes_read[1].tolist())]
show_attention(jump_weights()[1], boxes, title="Your encoder follows two notes, by layer and head")

# %% [markdown]
# ### Switch a head off
#
# Does the answer depend on what a head attends to? An **ablation** removes one part of a trained model and measures what is lost. **Zero ablation** puts 0 in place of a head's output. **Mean ablation** puts its mean there: what follows gets its usual input.
#
# `out_proj` reads the outputs $h_0, h_1, …$ of all heads: each head has its own columns $W_i$ of `out_proj.weight`, which stands on the left (part 2: $xW$):
#
# $$\text{output} = W_0\, h_0 + W_1\, h_1 + \dots + b$$
#
# **Predict.** Head 1 is replaced by a constant vector $m$. Which change of the weights does the same?
#
# <details><summary>The rows of head 1 become 0</summary>A row of the weight is an output feature, and every head writes to all of them.</details>
# <details><summary>W₁ becomes 0, and W₁ m joins the bias</summary>Yes. W₁ m is the same for every token, so it is a part of the bias.</details>
# <details><summary>W₁ becomes 0, and m joins the bias</summary>The constant m still passes through the projection, and becomes W₁ m.</details>

# %% [markdown]
# **Exercise** (12 minutes). Write the change from the last question: the mean replaces one head's output. With a mean of zeros, this is zero ablation.
#
# <details><summary>Hint</summary>Head 2 of size 8 has the columns 16 to 23. Work on <code>weight.clone()</code>, so that the trained model stays as it is.</details>


# %% exercise ablate_head
def ablate_head(weight: Tensor, bias: Tensor, head: int, mean: Tensor) -> tuple[Tensor, Tensor]:
    """Replace the output of one head by a constant, in `out_proj`; return (weight, bias).

    weight (d_model, d_model) and bias (d_model,) of `out_proj`, which reads the outputs of all
    heads side by side; mean (d_head,): the constant. Return new tensors; change no input.
    """
    # BEGIN SOLUTION
    columns = slice(head * len(mean), (head + 1) * len(mean))
    changed = weight.clone()
    changed[:, columns] = 0.0
    return changed, bias + weight[:, columns] @ mean
    # END SOLUTION


# %% check ablate_head points=2
hint = "head i has the columns from i · len(mean) on, as many as mean has numbers"
with Check("ablate_head", "three heads of size 2", hint) as check:
    weight = torch.arange(1.0, 37.0, dtype=torch.float64).reshape(6, 6)
    bias, silent = torch.tensor([5.0, 4, 3, 2, 1, 0], dtype=torch.float64), torch.zeros(2).double()
    results = [
        check.call(weight, bias, head, mean, returns=("weight", "bias"))
        for head, mean in ((1, silent), (0, silent), (1, silent + torch.tensor([1.0, 10.0])))
    ]
    (changed, shifted), (first_off, _), (as_before, with_mean) = results
    check.shape(changed, row=6, column=6)
    check.equal(
        changed,
        weight * torch.tensor([1.0, 1, 0, 0, 1, 1]),
        "head 1 has the columns 2 and 3: in every row they become 0, and the others stay; the "
        "first row becomes 1, 2, 0, 0, 5, 6",
    )
    check.equal(
        first_off,
        weight * torch.tensor([0.0, 0, 1, 1, 1, 1]),
        "head 0 has the columns 0 and 1",
        hint="heads are counted from 0",
    )
    check.equal(
        shifted,
        bias,
        "with a mean of zeros, the bias stays as it is",
    )
    check.equal(
        with_mean,
        torch.tensor([48.0, 113, 178, 243, 308, 373], dtype=torch.float64),
        "with a mean of 1 and 10, the first number of the bias becomes 5 + 3 · 1 + 4 · 10",
        hint="the bias grows by the head's columns, as they are in the given weight, times the mean",
    )
    check.equal(
        as_before,
        changed,
        "the weight does not depend on the mean",
        hint="the head's columns become 0, and the mean goes into the bias",
    )
with Check("ablate_head", "two heads of size 3", hint) as check:
    weight, bias = numbers(6, 6), numbers(6, seed=1)
    mean = torch.tensor([1.0, 0, 0], dtype=torch.float64)
    changed, shifted = check.call(weight, bias, 1, mean, returns=("weight", "bias"))
    check.equal(
        changed,
        weight * torch.tensor([1.0, 1, 1, 0, 0, 0]),
        "the mean has three numbers, so head 1 has the columns 3, 4 and 5",
    )
    check.equal(
        shifted, bias + weight[:, 3], "with a mean of 1, 0 and 0, column 3 is added to the bias"
    )
# BEGIN HIDDEN TESTS
with Check("ablate_head", "equal to a constant in the head's place") as check:
    for d_model, d_head, seed, dtype in (
        (6, 3, 1, torch.float64),
        (12, 2, 2, torch.float64),
        (8, 8, 3, torch.float32),
        (5, 1, 4, torch.float64),
        (12, 4, 5, torch.float32),
    ):
        weight, bias = numbers(d_model, d_model, dtype=dtype), numbers(d_model, seed=1, dtype=dtype)
        heads = numbers(7, d_model, seed=seed, scale=3.0, dtype=dtype)
        for head in range(d_model // d_head):
            mean = numbers(d_head, seed=seed + head, dtype=dtype)
            new = check.call(weight, bias, head, mean, returns=("weight", "bias"))
            replaced = heads.clone()
            replaced[:, head * d_head : (head + 1) * d_head] = mean
            expected = F.linear(replaced, weight, bias)
            check.equal(F.linear(heads, *new), expected, "the projection of the changed heads")
            kept = check.call(
                weight, bias, head, torch.zeros_like(mean), returns=("weight", "bias")
            )
            check.equal(kept[1], bias, "the bias without a mean")
# END HIDDEN TESTS

# %% [markdown]
# Now measure. For each head of the three trained networks, the next cell computes the attention weight on a right box (after one jump or after two, whichever is larger). Then it switches the head off, in both ways, and counts the accuracy lost. The other heads of the same layer are the control: they have the same size.
#
# **Predict.** Which head costs the most accuracy when you switch it off?
#
# <details><summary>Always the head with the largest attention weight</summary>Not in our networks (yours may differ): in seed 2, the largest weight of all (0.98) is in layer 1, but a head of layer 0 costs more.</details>
# <details><summary>A head of layer 0, but the map does not tell how much it costs</summary>Yes, in our three networks. Heads with nearly equal weights cost very different amounts.</details>
# <details><summary>A head of layer 1: it gives the answer</summary>Each head of layer 1 costs at most a tenth of the answers here. Other heads may give the answer too.</details>


# %% folded=true
# Switches every head of the trained networks off, one at a time: click to unfold.
from copy import deepcopy


def blocks_of(reader: Reader) -> list[EncoderBlock]:
    return [part for part in reader.encoder.blocks if isinstance(part, EncoderBlock)]


def head_outputs(attention: nn.MultiheadAttention, x: Tensor) -> tuple[Tensor, Tensor]:
    """The outputs of all heads before out_proj (batch, heads, length, d_head), and the weights."""
    weights = attend(attention, x)[1]
    values = F.linear(x, attention.in_proj_weight.chunk(3)[2], attention.in_proj_bias.chunk(3)[2])
    return weights @ values.unflatten(-1, (attention.num_heads, -1)).transpose(1, 2), weights


def accuracy_without(reader: Reader, layer: int, head: int, mean: Tensor) -> float:
    """The accuracy on two jumps, with a constant in place of this head."""
    rows, right, _ = two_jumps(500, seed=100_001)
    changed = deepcopy(reader)
    projection = blocks_of(changed)[layer].attention.out_proj
    weight, bias = ablate_head(projection.weight, projection.bias, head, mean)
    projection.load_state_dict({"weight": weight, "bias": bias})
    return share_right(changed(rows), right)


@torch.no_grad()
def ablations(reader: Reader) -> Tensor:
    """Weight on a right box, accuracy lost by zero and by mean ablation: (layer, 3, head)."""
    rows, right, _ = two_jumps(500, seed=100_001)
    whole, stream, table = share_right(reader(rows), right), reader.embed(rows), []
    for layer, block in enumerate(blocks_of(reader)):
        outputs, weights = head_outputs(block.attention, block.norm1(stream))
        stream = block(stream)
        on_box = [
            weights.gather(-1, box[:, None, :, None].expand(*weights.shape[:-1], 1)).mean((0, 2, 3))
            for box in (rows, rows.gather(1, rows))
        ]
        means = outputs.mean((0, 2))
        lost = [
            [whole - accuracy_without(reader, layer, head, mean) for head, mean in enumerate(each)]
            for each in (torch.zeros_like(means), means)
        ]
        table.append(torch.stack([torch.stack(on_box).amax(0), *torch.tensor(lost)]))
    return torch.stack(table)


# %%
measured = torch.stack([ablations(reader) for reader in jumpers("2 blocks, 2 jumps")])
tables = measured.flatten(0, 1).unbind(1)  # three tables: (seed and layer, head)
titles = ("weight on a right box", "lost: zero ablation", "lost: mean ablation")
figures.steps(
    {title: (table, "head", list("0123")) for title, table in zip(titles, tables, strict=True)},
    "network and layer",
    [f"seed {seed}, layer {layer}" for seed in range(3) for layer in range(2)],
)

# %% [markdown]
# What to see (yours may differ): most heads cost almost nothing; zero and mean ablation nearly agree. In layer 0, the head with the largest weight costs most in each network.
#
# The map does not tell how much: in layer 0 of seed 1, two heads have weights above 0.9; one costs a quarter of the answers, the other almost nothing.
#
# **Predict.** A head costs nothing when you switch it off. Does that show that the network does not use it?
#
# <details><summary>Yes: the network does not use it</summary>Another head may do the same work. Then either can go, but not both.</details>
# <details><summary>No: another head may do the same</summary>Yes. Ablating one head at a time does not see <em>redundancy</em>, work that several heads share.</details>
# <details><summary>No: its attention weights are large, so it is used</summary>The weights show where it reads. They do not show whether anything depends on it.</details>

# %% [markdown]
# **A good place to stop.**
#
# ## 8 · Without a part, and the first step
#
# Leave a part out *before* training (four blocks, one jump): residual connections, all norms, the output projection $W^O$ (fixed as the identity), or the ReLU.
#
# **Predict.** Which networks learn the task in 40 steps?
#
# <details><summary>None: each part is there for a reason</summary>Two of the four can go, without a loss on this task.</details>
# <details><summary>Those without norms and without residual connections</summary>It is the other way round: without either of these two, four blocks fall far short in 40 steps.</details>
# <details><summary>Those without W^O and without the ReLU</summary>Yes. One jump only copies a note: the softmax finds it, and copying it needs neither a ReLU nor a learned W<sup>O</sup>.</details>


# %% folded=true
# Trains networks of four blocks that lack one part each: click to unfold.
class Lacking(nn.Module):
    """A pre-norm block without one of its parts."""

    def __init__(self, part: str) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(32, 4, batch_first=True)
        self.feed = FeedForward(32, 64)
        xavier(self)
        self.norm1, self.norm2 = [
            nn.Identity() if part == "norms" else nn.LayerNorm(32) for _ in range(2)
        ]
        if part == "projection":
            nn.init.eye_(self.attention.out_proj.weight).requires_grad_(False)
        self.stream = 0.0 if part == "residual" else 1.0
        self.bend = torch.relu if part != "ReLU" else torch.clone

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        x = self.stream * x + attend(self.attention, self.norm1(x), mask)[0]
        hidden = self.bend(self.feed.linear1(self.norm2(x)))
        return self.stream * x + self.feed.linear2(hidden)


def lacking(part: str, seed: int, depth: int = 4, steps: int = 40) -> float:
    """The accuracy on one jump of a stack in which every block lacks this part."""
    torch.manual_seed(seed)
    reader = Reader(LENGTH, LENGTH, depth)
    reader.encoder.blocks = nn.ModuleList(Lacking(part) for _ in range(depth))
    if part == "norms":
        reader.encoder.norm = nn.Identity()
    train(reader, one_jump, steps, lambda step: 0.01, batch=24)
    return held_out_accuracy(reader, one_jump)


# %%
parts = ("nothing", "residual", "norms", "projection", "ReLU")
figures.runs(
    {part: [lacking(part, seed) for seed in range(3)] for part in parts},
    "held-out accuracy",
    "Left out of four blocks: one jump, 40 steps, 3 seeds",
)

# %% [markdown]
# What to see: without residual connections, four blocks hardly beat guessing (1/8). Without norms they get to about half in 40 steps; more were not tried.
#
# <details><summary>Are <em>W<sup>O</sup></em> and the ReLU useless?</summary>For this task: without them, the accuracy is the same as with every part. Other tasks need the ReLU: see part 2.</details>
#
# **Puzzle.** Does a stack of two need residual connections? Compare `lacking("residual", seed, depth=2, steps=80)` with `lacking("nothing", …)`, three seeds each.
#
# <details><summary>Answer</summary>Two blocks learn one jump without residual connections, given 80 steps. So the task itself does not need them. You changed depth and steps together: to see which one mattered, try <code>depth=4, steps=80</code>.</details>

# %% [markdown]
# ### What the first step does
#
# **From the lecture**: “Detail: Pre-norm vs Post-norm” in *Transformers (Part 2)*, Data C182. It says of pre-norm: “Better training stability, can use larger learning rate”.
#
# Why? The usual explanation is the gradients. Measure them before any training: how large is the gradient in the *last* block, at the weights of `linear2`?
#
# **Predict.** In a pre-norm stack, how large is this gradient in the last of 32 blocks, compared with the last of 2?
#
# <details><summary>Smaller: it adds one small part to a large sum</summary>Yes. The final norm divides that sum by its size, and the gradient with it.</details>
# <details><summary>As large: it is the last block in both</summary>But in a deep pre-norm stack the stream that it adds to has grown.</details>
# <details><summary>Larger: there are more blocks</summary>The gradient comes from the output. No other block lies between it and the last one.</details>


# %% folded=true
# Takes one step of Adam and measures how far the output moves: click to unfold.


def first_step(depth: int, norm_first: bool, seed: int, scale: float = 1.0) -> tuple[float, float]:
    """Take one step of Adam from random weights, with the loss multiplied by `scale`.

    Return the gradient norm of the last block's linear2.weight, and how far the output moves,
    relative to its size.
    """
    torch.manual_seed(seed)
    encoder, classifier = Encoder(depth, 32, 4, 128, norm_first=norm_first), nn.Linear(32, 10)
    xavier(encoder)
    tokens, labels = torch.randn(16, 8, 32), torch.randint(10, (16 * 8,))
    optimizer = torch.optim.Adam(encoder.parameters(), lr=0.0003)
    before = encoder(tokens)
    loss = scale * F.cross_entropy(classifier(before).flatten(0, 1), labels)
    loss.backward()
    named = {plain_name(name): part for name, part in encoder.named_parameters()}
    gradient = named[f"blocks.{depth - 1}.linear2.weight"].grad
    optimizer.step()
    with torch.no_grad():
        moved = (encoder(tokens) - before).norm() / before.norm()
    return 0.0 if gradient is None else gradient.norm().item(), moved.item()


depths = [2, 4, 8, 16, 32]


@cache  # measures once: the next figure uses the same steps
def first_steps(norm_first: bool) -> Tensor:
    """Gradient norm and movement for 3 seeds and every depth: (seed, depth, 2)."""
    return torch.tensor([[first_step(n, norm_first, seed) for n in depths] for seed in range(3)])


# %%
figures.curves(
    depths,
    {
        "pre-norm": first_steps(norm_first=True)[..., 0].tolist(),
        "post-norm": first_steps(norm_first=False)[..., 0].tolist(),
    },
    x="blocks in the stack",
    y="gradient norm of the last linear2",
    title="Before training: mean and range of 3 seeds",
    logarithmic="x",
    bottom=0.0,
)

# %% [markdown]
# What to see: in pre-norm, the gradient in the last block shrinks from 4 blocks on. In post-norm it does not: here it even grows. (Xiong et al. 2020, *On Layer Normalization in the Transformer Architecture*, prove bounds for this gradient: for pre-norm the bound falls with depth, for post-norm it does not.) A popular conclusion: post-norm gets large gradients, so its steps are too large.
#
# **Predict.** Test that conclusion: multiply the loss by 0.01. Now every gradient is 100 times smaller. How far does one step of Adam move the output of the stack?
#
# <details><summary>A hundredth as far</summary>With plain gradient descent it would. Adam divides each gradient by a running estimate of its size.</details>
# <details><summary>As far as before</summary>Yes. In Adam's first step each parameter moves by about the learning rate, whether its gradient is large or small.</details>
# <details><summary>A tenth as far</summary>There is a square root in Adam, but it is the root of a squared gradient: the scale cancels.</details>

# %%
for order in ("pre-norm", "post-norm"):
    for scale in (1.0, 0.01):
        gradient, moved = first_step(8, order == "pre-norm", seed=0, scale=scale)
        print(f"{order:9}  loss × {scale:<4}  gradient {gradient:.4f}  output moves by {moved:.3f}")

# %% [markdown]
# The gradient is 100 times smaller, and the output moves as far as before. So with Adam, large gradients alone cannot be the reason. In the first step, every parameter moves by about the learning rate. What can differ is how far the *output* moves when all parameters move a little. `first_steps` has measured that too. At which depth do the two orders part?

# %%
figures.curves(
    depths,
    {
        "pre-norm": first_steps(norm_first=True)[..., 1].tolist(),
        "post-norm": first_steps(norm_first=False)[..., 1].tolist(),
    },
    x="blocks in the stack",
    y="relative change of the output",
    title="One step of Adam at rate 0.0003: mean and range of 3 seeds",
    logarithmic="x",
    bottom=0.0,
)

# %% [markdown]
# What to see: in *both* orders, the step moves a deeper stack further. With 2 blocks they hardly differ. From 8 on, post-norm moves 2 to 2.5 times as far on average.
#
# **Predict.** Why does a deep pre-norm stack move less? Think of part 4.
#
# <details><summary>Its gradients are smaller, so its parameters move less</summary>In Adam's first step each parameter moves by about the learning rate, whatever its gradient.</details>
# <details><summary>Its stream grows, so each later sublayer adds a smaller share of it</summary>Yes, that is the explanation of Liu et al. (2020, <em>Understanding the Difficulty of Training Transformers</em>). In post-norm every norm scales the stream back, so the share stays large.</details>
# <details><summary>Its final norm makes the output smaller</summary>Post-norm ends with a norm too, and the figure shows the change relative to the size of the output.</details>
#
# The **amplification effect**: the larger a sublayer's share, the further small parameter changes move the output.

# %% [markdown]
# ## 9 · Deep stacks and the first steps
#
# Four blocks and one jump, for 80 steps:
#
# - Pre-norm and post-norm use a learning rate of 0.02 from the first step.
# - Post-norm with warm-up raises it to 0.02 over 40 steps.
# - Three more, without warm-up: pre-norm at twice the rate, post-norm at half the rate, post-norm with two blocks.
#
# **Predict.** Which setting does not learn?
#
# <details><summary>Pre-norm at 0.04 from the first step</summary>It learns in every seed, at twice the rate that stops post-norm.</details>
# <details><summary>Post-norm at 0.02 from the first step</summary>Yes. And the other settings show what it takes: four blocks, post-norm, and large <em>early</em> steps.</details>
# <details><summary>Post-norm with warm-up to 0.02</summary>Its first steps are small. Later the same rate does no harm.</details>


# %%
def learn_one_jump(depth: int, norm_first: bool, peak: float, warmup: int, seed: int) -> float:
    """Train with a linear warm-up to a constant rate; return the held-out accuracy."""
    torch.manual_seed(seed)
    reader = Reader(LENGTH, LENGTH, depth, norm_first=norm_first)
    train(reader, one_jump, 80, lambda step: peak * min(1.0, step / warmup), batch=32)
    return held_out_accuracy(reader, one_jump)


schedules = {
    "pre-norm, no warm-up": (4, True, 0.02, 1),
    "pre-norm, twice the rate": (4, True, 0.04, 1),
    "post-norm, no warm-up": (4, False, 0.02, 1),
    "post-norm, warm-up": (4, False, 0.02, 40),
    "post-norm, half the rate": (4, False, 0.01, 1),
    "post-norm, 2 blocks": (2, False, 0.02, 1),
}
deep = {
    name: [learn_one_jump(*setting, seed) for seed in range(3)]
    for name, setting in schedules.items()
}
figures.runs(deep, "held-out accuracy", "Four blocks (the last: two), 80 steps, 3 seeds each")

# %% [markdown]
# What to see: four post-norm blocks at 0.02 from the first step get little further than guessing, 1/8. Change any one of three things, and they learn: the order of the norms, the number of blocks, or the size of the first steps. After a warm-up the stack tolerates the very rate that stopped it before.
#
# Does the first step already do harm? Take it in each setting, and measure two things: how far the output moves (1 means by its own size), and how similar the outputs of two tokens are (a cosine of 1 means the same direction).


# %%
def similarity(outputs: Tensor) -> Tensor:
    """The mean cosine between the outputs of two tokens."""
    directions = F.normalize(outputs.flatten(0, 1), dim=-1)
    return (directions @ directions.T).mean()


def around_first_step(depth: int, norm_first: bool, peak: float, warmup: int, seed: int) -> Tensor:
    """How far the output moves, relative to its size, and the similarity before and after."""
    torch.manual_seed(seed)
    reader = Reader(LENGTH, LENGTH, depth, norm_first=norm_first)
    rows, _, _ = one_jump(200, seed=100_000)
    with torch.no_grad():
        before = reader.encoder(reader.embed(rows))
    train(reader, one_jump, 1, lambda step: peak * min(1.0, step / warmup), batch=32)
    with torch.no_grad():
        after = reader.encoder(reader.embed(rows))
    moved = (after - before).norm() / before.norm()
    return torch.stack([moved, similarity(before), similarity(after)])


for name, setting in schedules.items():
    average = torch.stack([around_first_step(*setting, seed) for seed in range(3)]).mean(0)
    print("{:25} moves by {:.2f}   cosine {:.2f} → {:.2f}".format(name, *average.tolist()))

# %% [markdown]
# What to see: in the failing setting the first step moves the output by more than its own size, and leaves all tokens with nearly the same output. With warm-up, little changes.
#
# Is that why it fails? Pre-norm at twice the rate moves as far, and learns. The failing setting has the most similar outputs, but six settings cannot show that this is the cause.
#
# **Predict.** Do your runs show that the very first step stops the post-norm stack?
#
# <details><summary>Yes: with a small first step it learns</summary>With warm-up, every step of the first half of training is smaller, not only the first.</details>
# <details><summary>No: they show that early steps matter, but not how many</summary>Yes. Warm-up makes only the early steps smaller, here the first half of training, and then the stack learns.</details>
# <details><summary>No: four post-norm blocks are too many at any rate</summary>At half the rate they learn, without any warm-up.</details>
#
# <details><summary>Do large pre-norm models need no warm-up?</summary>Four small blocks train without it. Large pre-norm models usually have one.</details>

# %% [markdown]
# ## 10 · The real thing
#
# PyTorch has the block as `nn.TransformerEncoderLayer`, by default post-norm, and the stack as `nn.TransformerEncoder`. Two names differ: `layers` for `blocks`, `self_attn` for `attention`. The next cell copies PyTorch's weights into yours.

# %%
padding = torch.tensor([[[True] * 6], [[True, True, True, True, False, False]]])
sentences = numbers(2, 6, 16)
torch.manual_seed(0)
for pre_norm in (True, False):
    layer = nn.TransformerEncoderLayer(16, 4, 40, batch_first=True, norm_first=pre_norm)
    end = nn.LayerNorm(16) if pre_norm else None
    theirs = nn.TransformerEncoder(layer, 3, end, enable_nested_tensor=False).double().eval()
    for parameter in theirs.parameters():
        # nn.TransformerEncoder copies one layer: make them differ
        nn.init.normal_(parameter, std=0.3)
    mine = Encoder(3, 16, 4, 40, norm_first=pre_norm).double().eval()
    weights = {
        name.replace("layers", "blocks").replace("self_attn", "attention"): weight
        for name, weight in theirs.state_dict().items()
    }
    mine.load_state_dict({name: weights[plain_name(name)] for name in mine.state_dict()})
    expected = theirs(sentences, src_key_padding_mask=~padding[:, 0])
    difference = (mine(sentences, padding) - expected)[padding[:, 0]].abs().max().item()
    print(f"3 blocks, norm_first={pre_norm}: largest difference {difference:.0e}")

# %% [markdown]
# Differences below 1e-13 are rounding errors. Twelve post-norm blocks, with GELU for ReLU, are the body of BERT-base; in pre-norm order, with a causal mask, that of the smallest GPT-2.
#
# **From the lecture**: “Transformer – Wrap Up” in *Transformers*, CSCI 4360/6360. When do you use which?
#
# | stack | a token attends to | use it to | examples |
# | --- | --- | --- | --- |
# | encoder alone | all tokens | label or embed a text that is complete | BERT, RoBERTa |
# | decoder alone | itself and earlier tokens | generate text | GPT-2, GPT-3, BLOOM |
# | both | all inputs, and earlier outputs | translate | the original Transformer |

# %% [markdown]
# ## 11 · In your own words
#
# **Question** (15 minutes). A friend changes a deep model from post-norm to pre-norm and keeps everything else: no norm at the end, and the long warm-up. What happens to the residual stream from block to block? What does the missing norm mean for the layer that reads the output? Does the friend still need the warm-up, and what is your evidence? Write three or four sentences: double-click the cell below. A person reads them.

# %% answer two_lines [markdown] points=2
# <!-- BEGIN SOLUTION -->
# In pre-norm no norm is on the residual stream, and every sublayer adds to it, so its values grow with depth. Without the final norm, the layer that reads the output gets inputs whose size depends on the depth and changes during training, so its logits are too large at first. With the final norm this is solved. Perhaps the warm-up is not needed: in part 9 four pre-norm blocks learned at the full rate from the first step, and even at twice the rate, in all three seeds. But those blocks were small and had a final norm, which the friend's model lacks. So this does not decide it: add the norm, then compare runs with and without warm-up at the same peak rate.
# <!-- END SOLUTION -->


# %% [markdown]
# ## Where you stand

# %%
from transformer_course.progress import show_progress

show_progress("07_encoder")

# %% [markdown]
# - A block has two sublayers, each with a residual connection: attention moves information between tokens, and the feed-forward network works on each token by itself. Without its nonlinearity it would be one linear layer.
# - In pre-norm, the norm is on the branch only: what a sublayer returns is added to x as it was *before the norm*. In post-norm, the norm comes after the addition.
# - So the residual stream of a pre-norm stack grows with depth, and its encoder ends with a final norm. Post-norm, the original order, normalises the stream itself.
# - A block has about $12\, d_{\text{model}}^2$ parameters if $d_{\text{ff}} = 4\, d_{\text{model}}$: a third in attention, two thirds in the feed-forward network, and a few in biases and norms.
# - Adam cancels a constant factor in the gradient. What differs is how far a step moves the output: further in deep stacks, and furthest in deep post-norm stacks. Whether that is why they fail, your runs do not settle: another stack (pre-norm at twice the rate) moved as far, and learned.
# - In your experiment four post-norm blocks needed smaller first steps than a rate of 0.02 gives: warm-up, or a lower rate throughout. Pre-norm blocks did not. Compare schedules at equal peak rates.
# - In 150 steps, one block learned to follow one jump but not two; two blocks learned to follow two. The second block works on what the first one found: in its queries, and also in its keys and values.
#
# **What comes next.** Your encoder reads a sequence of vectors, whatever they stand for. An image is not a sequence of words. But you can split it into patches and treat each patch as a token: that is lesson 8, the Vision Transformer.
