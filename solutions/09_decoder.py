# %% [markdown]
# # Lesson 9 · The decoder
#
# **You build** a GPT: a causal block, the model around it, sampling, and a cache that speeds up generation. You train it on a text that comes with Python.
#
# **You need** the causal mask (lesson 2), attention with several heads (lesson 3), learned positions (lesson 6) and the pre-norm block (lesson 7).
#
# **You take away** `GPT`. With the sizes of the smallest GPT-2, it has GPT-2's 124,439,808 parameters. With the same weights, it computes the logits of Hugging Face's GPT-2 (set to the exact GELU).
#
# **Time**: about 280 minutes: 185 for the exercises. Good places to stop are marked after about 75, 145 and 200. What is marked *optional* (25 minutes) goes deeper: nothing later needs it.

# %% given imports
import copy
import functools
import importlib
import importlib.util
import math
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from pydoc_data.topics import topics

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformer_course import figures
from transformer_course.checks import Check, numbers

torch.set_num_threads(1)  # such small models train fastest on one core

# %% [markdown]
# Three models have read the same documentation of Python, 418,543 characters. Each has written a line, character by character. One counts *pairs* of characters. One counts sequences of *four*. One is a Transformer that has trained for 15 seconds. Which is which?

# %%
SAMPLES = """
A  The of tiof mpl. +3), n tin | ("lle. fiex). (s t: stiprialyputhequste anepowes f uppe, > ond o nt
B  The cones tattribute whiteion list ic mave sprifixed bing is fromthe exception in the parisignments
C  The supported strun [5] A function of the maxsize "imple comma in function is y[i]" strint(y)" mored
"""
print(SAMPLES.strip())

# %% [markdown]
# <details><summary>Which is which?</summary>A counts pairs, B is the Transformer, C counts sequences of four.</details>
#
# **Predict.** On held-out text, which has the lowest mean loss $-\ln p$ for the next character?
#
# <details><summary>The Transformer: it has 32 characters of context, the counts have one or three</summary>It <em>may</em> use 32. In part 5 you measure what it uses after 15 seconds.</details>
# <details><summary>The one that counts sequences of four</summary>Write it down. In parts 2 and 5 you measure all three. In part 5 you also look at longer training.</details>
# <details><summary>The one that counts pairs: it has seen each pair most often</summary>It knows its pairs well. But how much does one character say about the next one?</details>
#
# How can a model learn to predict *every* next token of a text at once, and then write one token at a time? That is the question of this lesson.
#
# The text is Python's own documentation: all topics of `help`, such as `help("while")`. It may differ from version to version. The numbers in this lesson, and all results marked *recorded* (computed beforehand and copied here), belong to the text of Python 3.11.7. If yours has a different size, the next cell says so.

# %%
text = "\n".join(topics[name] for name in sorted(topics))
symbols = sorted(set(text))
split = len(text) * 9 // 10  # the last tenth is held out
training_text, held_out_text = text[:split], text[split:]
print(f"{len(training_text):,} characters to learn from, {len(held_out_text):,} held out")
print(f"{len(symbols)} different ones. From the held-out part:\n")
print(held_out_text[4250:4500])
if (len(text), len(symbols)) != (465_048, 103):
    print(
        "Your Python has another text: your losses may differ from the recorded ones. Compare the "
        "trends, not the digits."
    )

# %% [markdown]
# **Recall.** Lessons 2, 6 and 7.
#
# 1. Row 3 of a causal mask (row 0 is the first): which keys are True?
#
# <details><summary>Keys 3 and later</summary>Then the query would attend to the future.</details>
# <details><summary>Keys 0 to 3</summary>Yes: itself and all earlier positions. The first row has one key, the last row has all.</details>
# <details><summary>Keys 0 to 2</summary>A token may attend to itself. Row 0 would have no key at all.</details>
#
# 2. A table of learned positions has 32 rows, and the text has 40 tokens. Which vector does it hold for token 35?
#
# <details><summary>None: it has no row for that position</summary>Yes. A learned table ends where it ends.</details>
# <details><summary>Row 3: positions repeat after 32</summary>Only if you program it so. Then two tokens would share a position.</details>
# <details><summary>One close to row 31</summary>Learned rows are not a curve that you could extend.</details>
#
# 3. What comes after the last block of a pre-norm stack?
#
# <details><summary>Nothing: every block ends in a norm</summary>That is post-norm.</details>
# <details><summary>A final norm</summary>Yes: no norm is on the residual stream, so its size grows with depth.</details>
# <details><summary>Another residual connection</summary>The two of each block are enough.</details>

# %% [markdown]
# ## 1 · Predict the next token
#
# Here a token is a single character. The **vocabulary** is the set of all tokens. Its size is $V = 103$.
#
# A **language model** gives a probability to every possible next token, given the tokens so far. By the chain rule of probability, $p(a, b) = p(a)\, p(b \mid a)$, these give any text a probability:
#
# $$p(x_1, \dots, x_n) = \prod_{t=1}^{n} p(x_t \mid x_1, \dots, x_{t-1})$$
#
# Suppose that a model reads *while*, and gives each next character this probability:

# %%
given = torch.tensor([0.3, 0.5, 0.9, 0.99])
for symbol, p in zip("hile", given.tolist(), strict=True):
    print(f"{symbol}: probability {p:.2f}, −ln p = {-math.log(p):.2f} nats")
print(f"their product: {given.prod():.2f}; mean of −ln p: {-given.log().mean():.2f} nats")

# %% [markdown]
# The loss is the cross-entropy of lesson 2: the mean of $-\ln p$ of the tokens that really came next. The **nat** is the unit of a loss that is computed with the natural logarithm. The logarithm turns the product into a sum: the loss is $-\ln$ of the product, divided by the number of predicted tokens. The first token is given, not predicted: the loss leaves out $p(x_1)$.
#
# **Predict.** A model knows nothing, and gives each of the $V$ tokens the same probability. What is its loss?
#
# <details><summary>ln V nats: 4.63 for 103 tokens</summary>Yes: −ln(1/V) = ln V. An untrained model should start near this loss.</details>
# <details><summary>1 nat</summary>That would be a probability of 1/e, about 0.37, for the right character.</details>
# <details><summary>V nats</summary>Each probability is 1/V. Its −ln is the logarithm of V, not V.</details>
#
# The **perplexity** of a model is e to the power of its loss.
#
# <details><summary>What is the perplexity of the model that knows nothing?</summary>V: it is as uncertain as a uniform choice among V tokens.</details>
#
# Which characters may each prediction use? Read the next figure row by row.

# %%
word = "while"
figures.masks(
    {
        "four predictions in one pass": (
            torch.ones(4, 4).tril(),
            "may use the character",
            list(word[:4]),
        )
    },
    "prediction",
    [f"“{after}” after “{word[: i + 1]}”" for i, after in enumerate(word[1:])],
)

# %% [markdown]
# What to see: five characters give four predictions. Under a causal mask, no row uses a later token. So one pass makes all four predictions, and none of them sees its own answer. The logits at position $t$ belong to the token at $t + 1$, and the last logits have no target in the text.
#
# **Exercise** (10 minutes). Write the loss. If a row has fewer than two tokens, there is nothing to predict: raise a `ValueError` whose message contains the number of tokens.
#
# <details><summary>Hint 1</summary>Which position of <code>logits</code> has no target? Which position of <code>tokens</code> is the target of no logits?</details>
# <details><summary>Hint 2</summary><code>F.cross_entropy</code> wants logits (n, vocab) and targets (n,). How can you join the axes of batch and position?</details>
# <details><summary>Hint 3</summary><code>flatten(0, 1)</code> joins the first two axes.</details>


# %% exercise next_token_loss
def next_token_loss(logits: Tensor, tokens: Tensor) -> Tensor:
    """Compute the mean cross-entropy, in nats, of every token but the first of each row.

    logits (batch, length, vocab): those at position t are for the token at position t + 1.
    tokens (batch, length), integers. Returns a scalar tensor, of shape ().
    ValueError naming the length if it is below two: then there is nothing to predict.
    """
    # BEGIN SOLUTION
    length = tokens.shape[1]
    if length < 2:
        raise ValueError(f"a row needs at least two tokens, not {length}")
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
    # END SOLUTION


# %% check next_token_loss points=2
hint = "at each position but the last: −log of the probability of the token that comes next"
with Check("next_token_loss", "an example you can do by hand", hint) as check:
    # the probabilities of four tokens, for two rows of three positions, in 1/16
    shares = [
        [[8, 1, 4, 3], [2, 9, 1, 4], [5, 6, 3, 2]],
        [[3, 6, 2, 5], [9, 2, 4, 1], [1, 5, 7, 3]],
    ]
    probabilities = torch.tensor(shares, dtype=torch.float64) / 16
    tokens = torch.tensor([[1, 0, 3], [3, 2, 1]])
    # the right tokens get 8/16 and 4/16 in the first row, 2/16 and 2/16 in the second
    raised = probabilities.log() + torch.tensor([1.0, -2.0, 5.0], dtype=torch.float64)[:, None]
    loss = check.call(raised, tokens)
    first_row, last_two = (
        check.call(raised[:1], tokens[:1]),
        check.call(raised[:, 1:], tokens[:, 1:]),
    )
    check.shape(loss)
    two = torch.tensor(2.0, dtype=torch.float64).log()
    check.equal(
        loss,
        (1 + 2 + 3 + 3) / 4 * two,
        "the four next tokens have probabilities 1/2, 1/4, 1/8 and 1/8: their mean −log is "
        "9/4 · log 2",
    )
    check.equal(first_row, (1 + 2) / 2 * two, "the first row alone should give 3/2 · log 2")
    check.equal(last_two, (2 + 3) / 2 * two, "the last two positions alone should give 5/2 · log 2")
with Check("next_token_loss", "what it depends on", hint) as check:
    logits = numbers(3, 5, 6, scale=2.0).requires_grad_()
    tokens = torch.tensor([[0, 1, 0, 5, 2], [4, 4, 0, 3, 1], [0, 2, 5, 5, 0]])
    loss = check.call(logits, tokens)
    slope = check.gradient(loss, logits)
    check.equal(
        slope[:, -1],
        torch.zeros(3, 6, dtype=torch.float64),
        "the logits at the last position should have no influence: nothing comes after it",
    )
    check.true(
        bool((slope[:, :-1] != 0).all()),
        "a gradient should reach all logits at the other positions",
        hint="every position but the last counts, whatever token comes next; leave out detach and "
        "no_grad",
    )
    far = check.call(1000 * logits.detach(), tokens)
    check.true(
        bool(far.isfinite()),
        "with logits of thousands the loss should be finite",
        hint="exp overflows: take the log and the softmax together, as F.cross_entropy does",
    )
with Check("next_token_loss", "too few tokens") as check:
    check.raises(numbers(2, 1, 4), torch.zeros(2, 1, dtype=torch.long), naming=(1,))
# BEGIN HIDDEN TESTS
with Check("next_token_loss", "equal to the formula, in other sizes and dtypes") as check:
    for batch, length, vocab, scale, dtype, seed in (
        (4, 7, 3, 1.0, torch.float64, 1),
        (1, 2, 9, 5.0, torch.float64, 2),
        (3, 2, 5, 0.1, torch.float64, 3),
        (5, 6, 2, 300.0, torch.float64, 4),
        (2, 9, 8, 1.0, torch.float32, 5),
    ):
        logits = numbers(batch, vocab, length, seed=seed, scale=scale, dtype=dtype).transpose(1, 2)
        draw = torch.Generator().manual_seed(seed)
        tokens = torch.randint(vocab, (length, batch), generator=draw).T
        picked = logits.log_softmax(-1)[:, :-1].gather(2, tokens[:, 1:, None])
        check.equal(check.call(logits, tokens), -picked.mean(), "the formula")
with Check("next_token_loss", "gradients") as check:
    logits = numbers(2, 4, 5, seed=6).requires_grad_()
    tokens = torch.tensor([[1, 4, 0, 2], [3, 3, 1, 0]])
    wanted = logits.detach().softmax(-1) - F.one_hot(tokens.roll(-1, 1), 5)
    wanted[:, -1] = 0
    slope = check.gradient(check.call(logits, tokens), logits)
    check.equal(slope, wanted / 6, "(probability - one-hot) / number of predictions")
with Check("next_token_loss", "too few tokens, in other batches") as check:
    check.raises(numbers(3, 1, 5), torch.ones(3, 1, dtype=torch.long), naming=(1,))
    check.raises(numbers(2, 0, 5), torch.ones(2, 0, dtype=torch.long), naming=(0,))
# END HIDDEN TESTS


# %% [markdown]
# ## 2 · A baseline that counts
#
# Before you train anything, you need a baseline: how far does counting get you? An **n-gram** is a sequence of n consecutive tokens: for n = 2, a bigram. Which characters follow *the* in the training text, and how often? The relative frequency of each is a prediction, without a single gradient step.


# %%
@functools.cache
def ngram_counts(n: int) -> Counter[str]:
    """How often each n-gram occurs in the training text."""
    return Counter(training_text[i : i + n] for i in range(len(training_text) - n + 1))


for some_context in ("e", "he", "the", " the"):
    following = {
        ngram[-1]: c
        for ngram, c in ngram_counts(len(some_context) + 1).items()
        if ngram[:-1] == some_context
    }
    likely = sorted(following, key=lambda symbol: -following[symbol])[:4]
    shares = (f"{symbol!r} {following[symbol] / sum(following.values()):.0%}" for symbol in likely)
    print(f"{len(following):3} characters follow {some_context!r:7}:", ", ".join(shares))

# %% [markdown]
# What to see: the longer the context, the fewer characters follow it. But some n-grams never occurred in the training text. Their frequency is 0, and $-\ln 0$ is infinite. **Smoothing** gives a little probability to unseen n-grams. Here are two ways. *Count* is how often the n-gram occurs, *total* how often its first n − 1 characters do:
#
# $$p_{\text{added}} = \frac{\text{count} + \delta}{\text{total} + V\,\delta} \qquad p_n = \frac{\text{count} + \lambda\, p_{n-1}}{\text{total} + \lambda}$$
#
# The first adds a constant δ to each count. **Interpolation** takes a weighted mean of the relative frequency and the prediction from a shorter context.
#
# | prediction | weight |
# |---|---|
# | the relative frequency, count/total | total/(total + λ) |
# | $p_{n-1}$, from the context one character shorter | λ/(total + λ) |
#
# So the more often the context occurred, the more its own counts decide. The recursion ends at $p_0 = 1/V$.
#
# <details><summary>What does λ mean?</summary>It acts like λ imaginary examples, distributed as the shorter context predicts. The code calls it <code>prior</code>.</details>
#
# Here is one step, for a context that occurred 4 times, 3 of them followed by *e*:


# %%
shorter = 0.5  # the probability of e after the context one character shorter
print(f"counts alone: {3 / 4:.2f}; one character shorter: {shorter:.2f}")
print(f"interpolated with λ = 2: {(3 + 2 * shorter) / (4 + 2):.2f}")
print(f"a context that never occurred: {(0 + 2 * shorter) / (0 + 2):.2f}")


# %%
def with_constant(context: str, symbol: str, delta: float) -> float:
    """The probability of `symbol` after `context` by counts, with `delta` added to each."""
    total = ngram_counts(len(context))[context] + delta * len(symbols)
    return (ngram_counts(len(context) + 1)[context + symbol] + delta) / total


def interpolated(context: str, symbol: str, prior: float) -> float:
    """The same by interpolation, with `prior` imaginary examples at each length of the context."""
    probability = 1 / len(symbols)
    for n in range(len(context) + 1):
        end = context[len(context) - n :]
        probability = ngram_counts(n + 1)[end + symbol] + prior * probability
        probability /= ngram_counts(n)[end] + prior
    return probability


targets = range(40, len(held_out_text), 13)  # the same characters for every model


def count_losses(
    predict: Callable[[str, str, float], float], n: int, weights: Sequence[float]
) -> Tensor:
    """The loss of n-gram counts on each target, in nats, with the best of some weights."""
    pairs = [(held_out_text[i - n + 1 : i], held_out_text[i]) for i in targets]
    tried = [[-math.log(predict(*pair, weight)) for pair in pairs] for weight in weights]
    return torch.tensor(min(tried, key=sum))


# %% [markdown]
# **Predict.** What happens to the loss on the held-out text as n grows from 1 to 6, with the best of three constants added?
#
# <details><summary>It falls all the way: more context, better predictions</summary>More context, but fewer examples of each. Run the next cell.</details>
# <details><summary>It falls, then rises</summary>Yes. The longer the n-grams, the more of the held-out ones never occurred in the training text. The next cell counts them.</details>
# <details><summary>It rises all the way: there are fewer examples of each</summary>From 1 to 4 the context is worth more than the examples that you lose.</details>

# %%
losses = {
    "a constant added": [count_losses(with_constant, n, (1, 0.1, 0.01)) for n in range(1, 7)],
    "interpolated": [count_losses(interpolated, n, (2, 10, 30)) for n in range(1, 7)],
}
baselines = {name: [each.mean().item() for each in row] for name, row in losses.items()}
for name, row in baselines.items():
    print(f"{name:17}", *(f"{loss:.2f}" for loss in row))
unseen = sum(ngram_counts(6)[held_out_text[i - 5 : i + 1]] == 0 for i in targets) / len(targets)
print(f"6-grams that never occurred in the training text: {unseen:.0%}")
figures.curves(
    range(1, 7),
    baselines,
    x="n",
    y="loss (nats)",
    title=f"n-gram counts on {len(targets):,} held-out characters",
    bottom=0.0,
)

# %% [markdown]
# What to see: with a constant added, 4-grams are best, and then the loss rises. With interpolation it keeps falling, although the same n-grams are unseen: for those, the shorter contexts decide. These are your baselines, and they have an advantage: the best of three values of δ or λ was chosen *on* the held-out text.
#
# Is the held-out text new? Documentation repeats itself. The next cell looks for passages of at least 32 characters that occur in the training text too.

# %%
pieces = {training_text[i : i + 32] for i in range(split - 31)}
starts = [i for i in range(len(held_out_text) - 31) if held_out_text[i : i + 32] in pieces]
is_copied = torch.zeros(len(held_out_text), dtype=torch.bool)
for begin in starts:
    is_copied[begin : begin + 32] = True
print(f"{is_copied.double().mean():.0%} of the held-out characters are in a copied passage")

# %% [markdown]
# About a quarter of the held-out text occurs in the training text. More than half of it (recorded) is runs of dashes and spaces; the rest is repeated prose and code. There, a low loss may only show that a model continues runs or has memorised passages. So part 5 also compares the models on new passages.

# %% [markdown]
# ## 3 · The block
#
# **GPT** stands for generative pretrained transformer. The half of the original Transformer that writes is called the *decoder*. A **decoder-only** model keeps this half without its second attention (lesson 11): all its attention is causal self-attention. The block is the pre-norm block of lesson 7 with two changes. Find them in the picture. (A third does not show: no dropout after the nonlinearity.)

# %%
figures.stations(
    {
        "lesson 7": [(["norm1", "attention"], []), (["norm2", "linear1", "ReLU", "linear2"], [])],
        "GPT": [
            (["norm1", "causal\nattention"], []),
            (["norm2", "linear1", "GELU", "linear2"], []),
        ],
    },
    "x",
)

# %% [markdown]
# Attention is causal, and GELU replaces ReLU. The **GELU** (Gaussian error linear unit; Hendrycks and Gimpel, 2016) of x is x times the probability that a standard normal variable is below x: $\mathrm{GELU}(x) = x\,\Phi(x)$. It is a smooth variant of ReLU. GPT-2 (Radford et al., 2019) computes it by an approximation with tanh.

# %%
grid = torch.linspace(-3, 3, 25, dtype=torch.float64)
figures.curves(
    grid.tolist(),
    {"ReLU": grid.relu().tolist(), "GELU": F.gelu(grid).tolist()},
    x="x",
    y="output",
    title="Two nonlinearities",
)
error = (F.gelu(grid) - F.gelu(grid, approximate="tanh")).abs().max()
print(f"tanh approximation: largest error {error:.1e}")

# %% [markdown]
# The approximation is off by less than 0.001. You use the exact GELU, PyTorch's default.
#
# **Exercise** (35 minutes). Write the block, heads included. If `d_model` is not a multiple of `num_heads`, raise a `ValueError` whose message contains both. The stub has an argument `cache`. Leave it alone for now: you come back to it in part 7.
#
# <details><summary>Hint 1</summary>After <code>w_query</code> the shape is (batch, length, d_model). Which shape does attention with several heads need? How do you come back, before <code>w_output</code>?</details>
# <details><summary>Hint 2</summary>Which pairs of query and key does the causal mask forbid? What must their scores be, if softmax is to give exactly 0?</details>
# <details><summary>Hint 3</summary>Dropout has no parameters. Do you need three <code>nn.Dropout</code>, or can one be called three times?</details>
# <details><summary>Hint 4</summary><code>unflatten(-1, (num_heads, -1)).transpose(1, 2)</code> splits the heads, <code>transpose(1, 2).flatten(2)</code> merges them. <code>torch.ones(length, length, dtype=torch.bool).tril()</code> is True where a query may attend.</details>


# %% given block_weights folded=true
# Fixed weights for the checks, and PyTorch's block with the same ones: click to unfold.
def block_weights(d_model: int, d_ff: int, seed: int = 0) -> dict[str, Tensor]:
    """Fixed weights for every part of a DecoderBlock, by name, in float64."""
    sizes = dict.fromkeys(("w_query", "w_key", "w_value", "w_output"), (d_model, d_model))
    sizes |= {"linear1": (d_ff, d_model), "linear2": (d_model, d_ff)}
    shapes = {f"{name}.weight": size for name, size in sizes.items()}
    shapes |= {f"{name}.bias": size[:1] for name, size in sizes.items()}
    for norm in ("norm1", "norm2"):
        shapes |= {f"{norm}.weight": (d_model,), f"{norm}.bias": (d_model,)}
    return {
        name: numbers(*shape, seed=20 * seed + i, scale=0.7)
        for i, (name, shape) in enumerate(shapes.items())
    }


def pytorch_block(weights: dict[str, Tensor], num_heads: int) -> nn.TransformerEncoderLayer:
    """PyTorch's pre-norm block with GELU, holding these weights of a DecoderBlock."""
    d_ff, d_model = weights["linear1.weight"].shape
    block = nn.TransformerEncoderLayer(
        d_model, num_heads, d_ff, 0.0, "gelu", batch_first=True, norm_first=True
    )
    state = {name: weight for name, weight in weights.items() if not name.startswith("w_")}
    for kind in ("weight", "bias"):
        inputs = [weights[f"{name}.{kind}"] for name in ("w_query", "w_key", "w_value")]
        state[f"self_attn.in_proj_{kind}"] = torch.cat(inputs)
        state[f"self_attn.out_proj.{kind}"] = weights[f"w_output.{kind}"]
    block.to(weights["linear1.weight"].dtype).load_state_dict(state)
    return block


# %% exercise DecoderBlock
class DecoderBlock(nn.Module):
    """Causal self-attention, then a feed-forward network, each with a residual connection.

    Parts: `w_query`, `w_key`, `w_value`, `w_output` (d_model to d_model), `linear1` (d_model to
    d_ff) and `linear2` (d_ff to d_model), each an `nn.Linear` with a bias; `norm1`, before
    attention, and `norm2`, before `linear1` (each an `nn.LayerNorm`): the block is pre-norm.
    Attention: several heads, scaled, causal. Between `linear1` and `linear2`: GELU, exact.
    Dropout, at one rate, in three positions: on the attention weights, on the output of
    `w_output`, and on the output of `linear2`. Nowhere else.
    ValueError naming d_model and num_heads if num_heads does not divide d_model.
    forward: x (batch, length, d_model) -> (batch, length, d_model).
    cache: ignore it until part 7. Then: None, or a callable, to be called once.
    `cache(key, value)` takes those of the tokens in x, (batch, heads, length, d_head), and returns
    keys and values of all tokens so far, (batch, heads, cached + length, d_head): those of earlier
    calls, then those of x. Each token of x attends to all that were cached, to itself, and to the
    tokens of x before it.
    """

    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        # BEGIN SOLUTION
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"d_model = {d_model} is not a multiple of num_heads = {num_heads}")
        self.num_heads = num_heads
        self.w_query, self.w_key = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.w_value, self.w_output = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        # END SOLUTION

    def forward(
        self, x: Tensor, cache: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] | None = None
    ) -> Tensor:
        # BEGIN SOLUTION
        normed = self.norm1(x)
        query, key, value = (
            project(normed).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for project in (self.w_query, self.w_key, self.w_value)
        )  # (batch, heads, length, d_head)
        if cache is not None:
            key, value = cache(key, value)  # (batch, heads, cached + length, d_head)
        scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
        cached = key.shape[-2] - query.shape[-2]
        future = torch.ones_like(scores, dtype=torch.bool).triu(cached + 1)
        weights = self.dropout(scores.masked_fill(future, -torch.inf).softmax(-1))
        x = x + self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))
        return x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))
        # END SOLUTION


# %% check DecoderBlock points=3
hint = "two lines: x = x + attention of norm1(x), then x = x + feed-forward network of norm2(x)"
with Check("DecoderBlock", "examples you can do by hand", hint) as check:
    # normalised, the tokens are [1, -1, 1, -1], [-1, -1, 1, 1] and [1, -1, -1, 1]; norm1
    # multiplies that by 3, norm2 by 2
    x = torch.tensor([[[3.0, 1, 3, 1], [-2, -2, 2, 2], [5, 3, 3, 5]]], dtype=torch.float64)
    silent = {name: torch.zeros_like(weight) for name, weight in block_weights(4, 3).items()}
    silent |= {"norm1.weight": torch.full((4,), 3.0), "norm2.weight": torch.full((4,), 2.0)}
    # queries and keys are biases alone, so all scores are equal; values are the normalised tokens
    attention_on = {"w_query.bias": torch.ones(4), "w_key.bias": torch.ones(4)}
    attention_on |= {"w_value.weight": torch.eye(4), "w_output.weight": torch.eye(4)}
    network_on = {
        "linear1.weight": torch.eye(3, 4),
        "linear1.bias": torch.tensor([0.0, 0.0, 1.0]),
        "linear2.weight": torch.diag(torch.tensor([10.0, -10.0, 10.0, 0.0]))[:, :3],
        "linear2.bias": torch.tensor([0.0, 0.0, 0.0, -5.0]),
    }
    block, many = check.build(4, 2, 3).double(), numbers(9, 8, 4)
    block.load({**silent, **attention_on, **network_on})
    check.true(
        torch.equal(block.call(many), block.call(many)),
        "without dropout, which is the default, a second call gives the same",
        hint="you drop something although the rate is 0: pass `dropout` to nn.Dropout",
    )
    results = []
    for switched_on in ({}, attention_on, network_on, {**attention_on, **network_on}):
        block.load({**silent, **switched_on})
        results.append(block.call(x))
    off, with_attention, with_network, both = results
    check.shape(off, batch=1, length=3, d_model=4)
    check.equal(
        off,
        x,
        "with both sublayers switched off, x passes unchanged: no norm is on the residual stream",
    )
    means = torch.tensor([[3.0, -3, 3, -3], [0, -3, 3, 0], [1, -3, 1, 1]], dtype=torch.float64)
    check.equal(
        with_attention,
        x + means,
        "with the feed-forward network off, each token should add the mean of the normalised tokens "
        "up to itself",
        within=1e-3,
    )
    inner = torch.tensor([[2.0, -2, 3], [-2, -2, 3], [2, -2, -1]], dtype=torch.float64)
    added = F.pad(F.gelu(inner) * torch.tensor([10.0, -10.0, 10.0]), (0, 1), value=-5.0)
    check.equal(
        with_network,
        x + added,
        "with attention switched off, each token should add linear2(GELU(linear1(norm2(x))))",
        within=1e-3,
    )
    block.load({**silent, **network_on})
    check.equal(
        both,
        block.call(with_attention),
        "the feed-forward network should work on x after attention has been added",
    )
with Check("DecoderBlock", "the nonlinearity between linear1 and linear2") as check:
    block = check.build(4, 2, 3).double()
    silent = {name: torch.zeros_like(weight) for name, weight in block_weights(4, 3).items()}
    copied = {"linear1.bias": torch.tensor([1.0, -1.0, 2.0]), "linear2.weight": torch.eye(4, 3)}
    block.load({**silent, **copied})
    check.equal(
        block.call(torch.zeros(2, 1, 4, dtype=torch.float64)),
        torch.tensor(
            [0.8413447460685429, -0.15865525393145707, 1.9544997361036416, 0.0],
            dtype=torch.float64,
        ).expand(2, 1, 4),
        "hidden features of 1, -1 and 2 should become 0.841345, -0.158655 and 1.954500",
        hint="F.gelu, as it is by default: a feature times the share of a normal distribution "
        "below it",
    )
with Check("DecoderBlock", "what a token may attend to") as check:
    block, x = check.build(6, 3, 4).double(), numbers(2, 5, 6)
    block.load(block_weights(6, 4))
    whole, part, alone = block.call(x), block.call(x[:, :3]), block.call(x[1:])
    evaluated = block.eval().call(x)
    check.shape(whole, batch=2, length=5, d_model=6)
    check.equal(
        whole[:, :3],
        part,
        "the first three tokens should give the same with and without the tokens after them",
        hint="a causal mask: a token attends to itself and to earlier tokens",
    )
    check.equal(alone[0], whole[1], "a row should give the same in a batch as alone")
    check.equal(evaluated, whole, "without dropout, evaluation should give the same as training")
    pulled = x.clone().requires_grad_()
    slope = check.gradient(block.call(pulled)[0, 3], pulled)
    check.true(
        bool((slope[0, :4] != 0).any(-1).all()),
        "a token should attend to itself and to all tokens before it",
        hint="does your mask leave out a token that should be seen?",
    )
    steep = block_weights(6, 4)
    steep["w_query.weight"] = 1e6 * steep["w_query.weight"]
    block.load(steep)
    whole, part = block.call(x), block.call(x[:, :3])
    check.equal(
        whole[:, :3],
        part,
        "with scores of thousands, too, the tokens after the first three should not matter",
        hint="a masked score should be -inf: a number like -1000 is not below all other scores",
    )
with Check("DecoderBlock", "three heads") as check:
    block, x, weights = check.build(6, 3, 4).double(), numbers(2, 5, 6), block_weights(6, 4)
    zeros = {name: torch.zeros_like(weights[name]) for name in ("linear2.weight", "linear2.bias")}
    weights = {**weights, **zeros}
    block.load(weights)
    future = torch.ones(5, 5, dtype=torch.bool).triu(1)
    check.equal(
        block.call(x),
        pytorch_block(weights, 3)(x, src_mask=future).detach(),
        "with the feed-forward network switched off: as PyTorch's block with the same weights, "
        "three heads and a causal mask",
        hint="softmax(q · k / √d_head) over the keys, for each head by itself; then all heads side "
        "by side, through w_output",
    )
with Check("DecoderBlock", "what can be learned") as check:
    block, x = check.build(6, 3, 4).double(), numbers(2, 5, 6)
    check.equal(
        len(block.parameters()),
        16,
        "training should be able to change sixteen tensors: two of each linear layer and norm",
        hint="make the parts as PyTorch makes them, and leave requires_grad as it is",
    )
    block.load(block_weights(6, 4))
    slopes = block.gradients(block.call(x).square())
    in_evaluation = block.gradients(block.eval().call(x).square())
    # a key's bias adds the same to all scores of a query, so softmax cancels it
    for name in slopes.keys() - {"w_key.bias"}:
        check.true(
            bool((slopes[name] != 0).any() and (in_evaluation[name] != 0).any()),
            f"a gradient should reach {name}, in training and in evaluation",
            hint="leave out no_grad, detach and new tensors on the way",
        )
with Check("DecoderBlock", "heads that do not fit") as check:
    check.raises(6, 4, 5, naming=(6, 4))
# BEGIN HIDDEN TESTS
with Check("DecoderBlock", "equal to PyTorch's block, values and gradients") as check:
    for width, many_heads, inner, length, seed in (
        (12, 3, 7, 5, 1),
        (6, 1, 11, 1, 2),
        (4, 4, 3, 90, 3),
        (10, 5, 8, 2, 4),
    ):
        for dtype, scale in ((torch.float64, 1.0), (torch.float64, 6.0), (torch.float32, 1.0)):
            state = {k: w.to(dtype) for k, w in block_weights(width, inner, seed).items()}
            theirs = pytorch_block(state, many_heads)
            block = check.build(width, many_heads, inner)
            block = block.double() if dtype == torch.float64 else block
            block.load(state)
            batch = 1 + seed % 2
            x = numbers(batch, width, length, seed=seed, scale=scale, dtype=dtype).transpose(1, 2)
            x.requires_grad_()
            future = torch.ones(length, length, dtype=torch.bool).triu(1)
            expected, result = theirs(x, src_mask=future), block.call(x)
            check.equal(result.detach(), expected.detach(), "PyTorch's block")
            if dtype == torch.float64:
                target = numbers(batch, length, width, seed=seed + 50)
                slope = check.gradient(result * target, x)
                check.equal(slope, check.gradient(expected * target, x), "by x")
                slopes = block.gradients(result * target)
                for name in ("linear1", "linear2", "norm1", "norm2"):
                    wanted = check.gradient(expected * target, getattr(theirs, name).weight)
                    check.equal(slopes[f"{name}.weight"], wanted, f"by {name}")
                wanted = check.gradient(expected * target, theirs.self_attn.in_proj_weight)
                found = [slopes[f"{name}.weight"] for name in ("w_query", "w_key", "w_value")]
                check.equal(torch.cat(found), wanted, "by the projections")
with Check("DecoderBlock", "other heads that do not fit") as check:
    for width, many_heads in ((8, 3), (5, 2), (4, 8)):
        check.raises(width, many_heads, 7, naming=(width, many_heads))
with Check("DecoderBlock", "two blocks do not share their weights") as check:
    first, second = check.build(4, 2, 3), check.build(4, 2, 3)
    kept = second.state()
    first.load({name: torch.zeros_like(w) for name, w in block_weights(4, 3).items()})
    for name, weight in second.state().items():
        check.equal(weight, kept[name], f"{name} of the other block")
# END HIDDEN TESTS


# %% check DecoderBlock_dropout points=2
with Check("DecoderBlock", "dropout of 1, which drops everything") as check:
    block, x, weights = check.build(6, 3, 4, 1.0).double(), numbers(2, 5, 6), block_weights(6, 4)
    block.load(weights)
    dropped, evaluated = block.train().call(x), block.eval().call(x)
    check.equal(
        dropped,
        x,
        "in training, with everything dropped that the sublayers return, x passes unchanged",
        hint="dropout comes after w_output and after linear2, right before each sum; never on x "
        "itself",
    )
    without = check.build(6, 3, 4).double()
    without.load(weights)
    check.equal(
        evaluated,
        without.train().call(x),
        "in evaluation nothing should be dropped",
        hint="keep an nn.Dropout on self: it knows whether the model is training",
    )
with Check("DecoderBlock", "a new dropout mask for each feature and each position") as check:
    block = check.build(40, 2, 3, 0.5).double().train()
    silent = {name: torch.zeros_like(weight) for name, weight in block_weights(40, 3).items()}
    # both sublayers return their last bias, which is 1
    ones = {"w_output.bias": torch.ones(40), "linear2.bias": torch.ones(40)}
    block.load({**silent, **ones})
    tokens = torch.zeros(4, 6, 40, dtype=torch.float64)
    result, again = block.call(tokens), block.call(tokens)
    check.true(
        all(min(abs(value), abs(value - 2), abs(value - 4)) < 1e-9 for value in result.unique()),
        "with p = 0.5, each sublayer's output of 1 is dropped or doubled: only 0, 2 and 4 come out",
        hint="call dropout once after w_output and once after linear2",
    )
    check.true(
        len(result.flatten(0, 1).unique(dim=0)) == 24,
        "each token of each row should drop its own features",
        hint="pass the whole output of a sublayer to one nn.Dropout: it draws for each element",
    )
    check.true(
        bool(((result - 2).abs() < 1e-9).any()),
        "sometimes one sublayer's output is dropped and the other's is doubled: 0 + 2 comes out",
        hint="call dropout in each position: it draws a new mask in every call",
    )
    check.true(
        not torch.equal(result, again),
        "a second call should drop other features",
        hint="every call draws a new mask: leave torch's random generator as it is",
    )
with Check("DecoderBlock", "no dropout between the norm and linear2") as check:
    block = check.build(4, 2, 6, 0.5).double()
    silent = {name: torch.zeros_like(weight) for name, weight in block_weights(4, 6).items()}
    # attention returns 0; norm2 returns 1, linear1 makes 16 of it, GELU keeps it, linear2 makes 1
    ones = {"norm2.bias": torch.ones(4), "linear1.weight": 16 * torch.eye(6, 4)}
    ones |= {"linear2.weight": torch.eye(4, 6) / 16}
    block.load({**silent, **ones})
    result = block.train().call(torch.zeros(30, 7, 4, dtype=torch.float64))
    check.true(
        all(min(abs(value), abs(value - 2)) < 1e-9 for value in result.unique().tolist()),
        "with p = 0.5, an output of 1 of linear2 is dropped or doubled, and nothing before it: only "
        "0 and 2 come out",
        hint="in this block dropout comes after linear2: not after a norm, not after linear1, not "
        "after GELU",
    )
    kept = (result != 0).double().mean()
    check.true(
        bool(0.4 < kept < 0.6),
        "with p = 0.5, about half of the features should be kept",
        hint="pass `dropout` on as the share that is dropped",
    )
with Check("DecoderBlock", "dropout on the attention weights") as check:
    block = check.build(4, 2, 6, 0.5).double()
    silent = {name: torch.zeros_like(weight) for name, weight in block_weights(4, 6).items()}
    # the last of three tokens attends to each with a weight of 1/3; norm1 makes all values 1
    ones = {"norm1.bias": torch.ones(4), "w_value.weight": torch.eye(4)}
    block.load({**silent, **ones, "w_output.weight": torch.eye(4)})
    result = block.train().call(torch.zeros(200, 3, 4, dtype=torch.float64))[:, 2]
    thirds = result * 3 / 4
    hint = "drop attention weights, after the softmax; then drop once more, after w_output"
    check.true(
        bool(((thirds - thirds.round()).abs() < 1e-9).all() and (thirds < 3.5).all()),
        "with p = 0.5, each of three weights of 1/3 is dropped or doubled, and the output of "
        "w_output is dropped or doubled again: 0, 4/3, 8/3 or 4 comes out",
        hint=hint,
    )
    check.true(
        any(0.5 < third < 2.5 for third in thirds.flatten().tolist()),
        "with p = 0.5, sometimes one or two of three weights are kept: 4/3 or 8/3 comes out",
        hint=hint,
    )
    pairs = thirds.unflatten(-1, (2, 2))  # (rows, heads, two features of a head)
    both = (pairs > 0.5).all(-1)
    check.true(
        bool((pairs[both][:, 0] - pairs[both][:, 1]).abs().max() < 1e-9),
        "a weight that is dropped should be missing in all features of its head",
        hint="drop attention weights, not features of the values",
    )
# BEGIN HIDDEN TESTS
with Check("DecoderBlock", "another rate, in each of the three positions") as check:
    block = check.build(6, 3, 8, 0.75).double().train()
    silent = {name: torch.zeros_like(w) for name, w in block_weights(6, 8).items()}
    ones = torch.ones(6)
    attention_on = {"w_value.bias": ones, "w_output.weight": torch.eye(6)}
    network_on = {"linear1.bias": torch.full((8,), 20.0), "linear2.weight": torch.eye(6, 8) / 20}
    for switched_on, possible in (
        (attention_on, (0.0, 16 / 3, 32 / 3, 16.0)),
        (network_on, (0.0, 4.0)),
        ({"w_output.bias": ones}, (0.0, 4.0)),
        ({"linear2.bias": ones}, (0.0, 4.0)),
    ):
        block.load({**silent, **switched_on})
        result = block.call(torch.zeros(300, 3, 6, dtype=torch.float64))[:, 2].detach()
        options = torch.tensor(possible, dtype=torch.float64)
        far = (result[..., None] - options).abs().amin(-1)
        check.true(bool((far < 1e-6).all()), "nothing else can come out")
        check.true(len(result.unique(dim=0)) > 1, "something is kept, something is dropped")
        if len(possible) == 2:
            share = (result != 0).double().mean().item()
            check.true(0.17 < share < 0.33, "a quarter is kept")
with Check(
    "DecoderBlock", "each head, token and row drops its own weights, anew each time"
) as check:
    block = check.build(8, 2, 3, 0.5).double().train()
    silent = {name: torch.zeros_like(w) for name, w in block_weights(8, 3).items()}
    block.load({**silent, "w_value.bias": torch.ones(8), "w_output.weight": torch.eye(8)})
    level = torch.zeros(50, 7, 8, dtype=torch.float64)
    result, again = block.call(level).detach(), block.call(level).detach()
    check.true(not torch.equal(result, again), "two calls differ")
    # the largest feature of a head shows how many of its seven weights are kept
    kept = result.unflatten(-1, (2, 4)).amax(-1)[:, 6]
    check.true(bool((kept[:, 0] != kept[:, 1]).any()), "the heads differ")
    check.true(len(kept.unique(dim=0)) > 5, "the rows differ")
    first = result.unflatten(-1, (2, 4)).amax(-1)[:, :2] > 0
    check.true(bool((first[:, 0] != first[:, 1]).any()), "the tokens differ")
# END HIDDEN TESTS


# %% [markdown]
# **A good place to stop.** Your block is ready. Next you build the model around it, and train it. (Back later? Run all cells above first.)

# %% [markdown]
# ## 4 · GPT
#
# Around the blocks, three things are missing: a vector for each token at the start, and a final norm and logits at the end. At the start, x is the sum of two embeddings: the token's row in a table of tokens (its *token embedding*), and its position's row in a table of positions (its *positional embedding*). For example, with three made-up features:

# %%
of_tokens = torch.tensor([[2, 0, 1], [0, 3, 1], [1, 1, 0], [0, 3, 1]])
of_positions = torch.tensor([[0, 0, 2], [1, 0, 0], [0, 2, 0], [3, 0, 0]])
feature_names = ["0", "1", "2"]
figures.steps(
    {
        "from the table of tokens": (of_tokens, "feature", feature_names),
        "+  from the table of positions": (of_positions, "feature", feature_names),
        "=  x": (of_tokens + of_positions, "feature", feature_names),
    },
    "position and token",
    [f"{i}: {symbol}" for i, symbol in enumerate("here")],
)

# %% [markdown]
# What to see: both tokens *e* have the same row of the table of tokens, but not the same x. A token beyond the last row of the table of positions has no x.
#
# The **context length** of a model (also *context window*) is the largest number of tokens that it accepts at once. In `GPT`, it is the number of rows in the table of positions: the argument `context`.
#
# Now the rest of the GPT, from x on, here with one block. The last box is the same table of tokens again, and the last arrow is the logits:

# %%
figures.stations(
    {
        "GPT with one block": [
            (["norm1", "causal\nattention"], []),
            (["norm2", "feed-\nforward"], ["norm", "table of\ntokens"]),
        ]
    },
    "x",
)

# %% [markdown]
# After the final norm, the table of tokens makes the logits:
#
# $$\text{logits} = \mathrm{norm}(x)\, E^\top \qquad E \text{: the table of tokens, (vocab, } d_{\text{model}})$$
#
# So a token's logit is the dot product of the norm's output with the token's own vector. Using one table for embeddings and logits is called **weight tying** (Press and Wolf, 2017).
#
# **Predict.** GPT-2 has 50,257 tokens and a width of 768. How many parameters does weight tying save?
#
# <details><summary>About 38.6 million, of the 163 million without it</summary>Yes: a second table would have 50,257 · 768 parameters.</details>
# <details><summary>768, one for each feature</summary>A table has a row for each token.</details>
# <details><summary>None: the table must be learned anyway</summary>Once, not twice. A separate output layer would be as large as the table of tokens.</details>
#
# Large token embeddings make large logits (see part 5), and neither table should dominate the sum. So both tables start with a standard deviation of 0.1, not 1.
#
# **Exercise** (25 minutes). Build the model from your blocks. With more tokens than positions, raise a `ValueError` whose message contains both numbers. Leave `caches` and `start` alone until part 7.
#
# <details><summary>Hint 1</summary><code>nn.Embedding</code> draws its rows with a standard deviation of 1. Which function of <code>nn.init</code> draws them anew?</details>
# <details><summary>Hint 2</summary>For the logits you need no new layer. Which parameter does the formula multiply with, and which of its axes is summed over?</details>
# <details><summary>Hint 3</summary><code>nn.init.normal_(table.weight, std=…)</code> draws anew. <code>F.linear(x, table.weight)</code> multiplies by the transposed table.</details>


# %% exercise GPT
class GPT(nn.Module):
    """A language model: logits for the next token, at every position.

    Parts: `tokens` and `positions`, an `nn.Embedding` each, with a row for every token of the
    vocabulary and for every position of the context, initialised with mean 0 and standard
    deviation 0.1; `blocks`, an `nn.ModuleList` of `num_layers` of your `DecoderBlock`; `norm`, the
    final `nn.LayerNorm`. A logit is the dot product of the output of `norm` with that token's row
    of `tokens`: this table is used twice, and no parameter is added, not even a bias.
    Dropout: on the sum of both embeddings, and inside the blocks.
    forward: tokens (batch, length), integers -> logits (batch, length, vocab_size).
    ValueError naming the length and `context` if the length exceeds `context`.
    caches and start: ignore them until part 7. caches: None, or a list with a
    cache for each block, in the order of the blocks. start: the position of the first token in
    `tokens`, with or without caches. Then the ValueError names start + length, and `context`.
    """

    def __init__(
        self,
        vocab_size: int,
        context: int,
        d_model: int,
        num_layers: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.0,
    ) -> None:
        # BEGIN SOLUTION
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, d_model)
        self.positions = nn.Embedding(context, d_model)
        for table in (self.tokens, self.positions):
            nn.init.normal_(table.weight, std=0.1)
        self.blocks = nn.ModuleList(
            DecoderBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        # END SOLUTION

    def forward(
        self,
        tokens: Tensor,
        caches: Sequence[Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]] | None = None,
        start: int = 0,
    ) -> Tensor:
        # BEGIN SOLUTION
        end, context = start + tokens.shape[1], self.positions.num_embeddings
        if end > context:
            raise ValueError(f"{end} tokens do not fit into a context of {context}")
        indices = torch.arange(start, end, device=tokens.device)
        x = self.dropout(self.tokens(tokens) + self.positions(indices))
        for i, block in enumerate(self.blocks):
            x = block(x, None if caches is None else caches[i])
        return F.linear(self.norm(x), self.tokens.weight)
        # END SOLUTION


# %% check GPT points=3
hint = (
    "embeddings of tokens and positions, each block in turn, norm, then the table of tokens again"
)
with Check("GPT", "its parts and parameters", hint) as check:
    one = sum(w.numel() for w in check.other("DecoderBlock").build(6, 3, 4).parameters().values())
    model = check.build(11, 7, 6, 2, 3, 4)
    stored, learned = model.state(), model.parameters()
    shapes = {"tokens.weight": (11, 6), "positions.weight": (7, 6), "norm.weight": (6,)}
    for name, size in shapes.items():
        given = tuple(stored[name].shape) if name in stored else None
        check.true(
            given == size,
            f"{name} should be a parameter of shape {size}",
            hint=f"it has shape {given}: nn.Embedding takes the number of rows, then their length"
            if given
            else f"the model needs a part called `{name.split('.')[0]}`, kept on self",
        )
    inside = sum(w.numel() for name, w in learned.items() if name.startswith("blocks."))
    check.true(
        inside > 0,
        "training should be able to change parameters in `blocks`",
        hint="keep the blocks in an nn.ModuleList, as self.blocks: a plain list hides them",
    )
    check.equal(
        inside,
        2 * one,
        f"two blocks should have {2 * one} parameters, twice those of a DecoderBlock",
        hint="each block needs its own parameters: make a new DecoderBlock for each of the num_layers"
        if inside == one
        else "`blocks` should hold num_layers DecoderBlocks and nothing else, each with this "
        "d_model, num_heads and d_ff",
    )
    outside = sum(w.numel() for w in learned.values()) - inside
    known = {
        120 + 66: "your output has a table of its own: use the rows of `tokens` for it",
        120
        + 66
        + 11: "your output has a table and a bias of its own: use the rows of `tokens`, and "
        "no bias",
        120 + 11: "your output has a bias: leave it out",
        120 - 6: "a bias or a gain is missing: make `norm` with nn.LayerNorm(d_model)",
    }
    check.equal(
        outside,
        120,
        "outside the blocks there should be 11 · 6 + 7 · 6 + 2 · 6 = 120 parameters: tokens, "
        "positions, norm",
        hint=known.get(
            outside,
            "the docstring names every part: leave out any other"
            if outside > 120
            else "training should be able to change both tables and the norm: leave requires_grad as "
            "it is",
        ),
    )
with Check("GPT", "the first values of the embeddings") as check:
    model = check.build(70, 60, 24, 1, 2, 3)
    for name in ("tokens", "positions"):
        table = model.state()[f"{name}.weight"]
        check.true(
            bool(0.09 < table.std() < 0.11 and table.mean().abs() < 0.02),
            f"the parameters in `{name}` should have mean 0 and standard deviation 0.1",
            hint="nn.Embedding draws with standard deviation 1: draw again, with "
            "nn.init.normal_(….weight, std=…)",
        )
with Check("GPT", "an example you can do by hand", hint) as check:
    # the blocks are switched off: each passes x on unchanged
    model = check.build(5, 3, 4, 1, 2, 3).double()
    silent = {f"blocks.0.{n}": torch.zeros_like(w) for n, w in block_weights(4, 3).items()}
    tables = {
        "tokens.weight": torch.tensor(
            [[1.0, 0, 1, 0], [0, 0, 2, 2], [4, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 3]]
        ),
        "positions.weight": torch.tensor([[2.0, 1, 2, 1], [5, 5, 7, 7], [-2, 0, 2, 4]]),
        "norm.weight": torch.full((4,), 3.0),
        "norm.bias": torch.tensor([0.0, 0.0, 0.0, 1.0]),
    }
    model.load({**silent, **tables}, whole=False)
    # sums [3, 1, 3, 1], [5, 5, 9, 9] and [2, 0, 2, 4]; [2, 1, 4, 3] and [6, 5, 8, 7]
    one_row = model.call(torch.tensor([[0, 1]]))
    check.shape(one_row, batch=1, length=2, vocab=5)
    # norm gives [3, -3, 3, -2] and [-3, -3, 3, 4]
    check.equal(
        one_row,
        torch.tensor([[[6.0, 2, 12, -3, -6], [0, 14, -12, -3, 12]]], dtype=torch.float64),
        "with the blocks switched off: norm(token + position), then its dot product with each row "
        "of `tokens`",
        within=1e-3,
    )
with Check("GPT", "its blocks, one after another", hint) as check:
    tokens = torch.tensor([[3, 0, 9, 9, 1], [10, 4, 4, 0, 7]])
    model = check.build(11, 7, 6, 3, 2, 4).double()
    tables = {
        "tokens.weight": numbers(11, 6, seed=70),
        "positions.weight": numbers(7, 6, seed=71),
        "norm.weight": numbers(6, seed=72),
        "norm.bias": numbers(6, seed=73),
    }
    parts = [block_weights(6, 4, seed) for seed in (1, 2, 3)]
    inside = {f"blocks.{i}.{n}": w for i, part in enumerate(parts) for n, w in part.items()}
    model.load({**tables, **inside}, whole=False)
    result, again, evaluated = model.call(tokens), model.call(tokens), model.eval().call(tokens)
    expected, block = tables["tokens.weight"][tokens] + tables["positions.weight"][:5], None
    for part in parts:
        block = check.other("DecoderBlock").build(6, 2, 4).double()
        block.load(part)
        expected = block.call(expected)
    expected = F.layer_norm(expected, (6,), tables["norm.weight"], tables["norm.bias"])
    check.shape(result, batch=2, length=5, vocab=11)
    check.true(
        torch.equal(result, again),
        "without dropout, which is the default, a second call gives the same",
        hint="you drop something although the rate is 0: pass `dropout` to nn.Dropout and to the "
        "blocks",
    )
    check.equal(
        result,
        expected @ tables["tokens.weight"].T,
        "the embeddings, three of your blocks in turn, norm, and the table of tokens",
    )
    check.equal(evaluated, result, "without dropout, evaluation should give the same as training")
    # token 2 is in no row: only the output uses its row of the table; 0 and 9 are not picked
    for token, use in ((2, "as the output's weights"), (9, "at the input"), (0, "at the input")):
        pick = torch.zeros(11, dtype=torch.float64)
        pick[2] = 1.0
        logits = model.train().call(tokens) * pick
        slope = model.gradients(logits)["tokens.weight"]
        check.true(
            bool((slope[token] != 0).any()),
            f"a gradient should reach row {token} of `tokens` through its use {use}",
            hint="use the parameter itself, without detach, data or no_grad"
            if token
            else "token 0 is a token like any other: leave out padding_idx",
        )
    slopes = model.gradients(model.call(tokens).square())
    for name, slope in slopes.items():
        check.true(
            name.endswith("w_key.bias") or bool((slope != 0).any()),
            f"a gradient should reach {name}",
            hint="leave out no_grad, detach and new tensors on the way",
        )
with Check("GPT", "more tokens than the context has") as check:
    model = check.build(5, 4, 6, 1, 2, 3)
    model.call(torch.tensor([[1, 2, 0, 4]]))
    model.raises(torch.tensor([[1, 2, 0, 4, 3]]), naming=(5, 4))
# BEGIN HIDDEN TESTS
with Check("GPT", "other sizes and dtypes") as check:
    for vocab, span, width, depth, many_heads, inner, shape, dtype in (
        (5, 9, 8, 1, 4, 3, (3, 9), torch.float64),
        (13, 6, 4, 4, 1, 7, (2, 1), torch.float64),
        (3, 8, 6, 2, 3, 5, (4, 5), torch.float32),
    ):
        model = check.build(vocab, span, width, depth, many_heads, inner)
        block = check.other("DecoderBlock").build(width, many_heads, inner)
        if dtype == torch.float64:
            model, block = model.double(), block.double()
        parts = [block_weights(width, inner, seed) for seed in range(depth)]
        tables = {
            "tokens.weight": numbers(vocab, width, seed=80, scale=0.5),
            "positions.weight": numbers(span, width, seed=81, scale=2.0),
            "norm.weight": numbers(width, seed=82),
            "norm.bias": numbers(width, seed=83),
        }
        tables = {name: table.to(dtype) for name, table in tables.items()}
        parts = [{name: w.to(dtype) for name, w in part.items()} for part in parts]
        inside = {f"blocks.{i}.{n}": w for i, part in enumerate(parts) for n, w in part.items()}
        model.load({**tables, **inside}, whole=False)
        draw = torch.Generator().manual_seed(vocab)
        tokens = torch.randint(vocab, shape[::-1], generator=draw).T
        expected = tables["tokens.weight"][tokens] + tables["positions.weight"][: shape[1]]
        for part in parts:
            block.load(part)
            expected = block.call(expected).detach()
        expected = F.layer_norm(expected, (width,), tables["norm.weight"], tables["norm.bias"])
        expected = expected @ tables["tokens.weight"].T
        check.equal(model.call(tokens).detach(), expected, "blocks in turn")
        check.equal(model.eval().call(tokens).detach(), expected, "the same in evaluation")
        count = sum(w.numel() for w in model.parameters().values())
        inside_count = sum(w.numel() for w in inside.values())
        check.equal(count, (vocab + span + 2) * width + inside_count, "no other parameters")
        too_many = torch.zeros(2, span + 1, dtype=torch.long)
        model.raises(too_many, naming=(span + 1, span))
with Check("GPT", "the table of tokens learns from both of its uses") as check:
    model = check.build(6, 5, 4, 1, 2, 3).double()
    inside = {f"blocks.0.{n}": torch.zeros_like(w) for n, w in block_weights(4, 3).items()}
    tables = {"tokens.weight": numbers(6, 4), "positions.weight": numbers(5, 4, seed=1)}
    ends = {"norm.weight": numbers(4, seed=2), "norm.bias": numbers(4, seed=3)}
    model.load({**tables, **ends, **inside}, whole=False)
    tokens, target = torch.tensor([[2, 5, 2], [0, 1, 5]]), numbers(2, 3, 6, seed=4)
    table = tables["tokens.weight"].clone().requires_grad_()
    x = F.layer_norm(
        table[tokens] + tables["positions.weight"][:3], (4,), ends["norm.weight"], ends["norm.bias"]
    )
    expected, result = x @ table.T, model.call(tokens)
    slopes = model.gradients(result * target)
    wanted = check.gradient(expected * target, table)
    check.equal(slopes["tokens.weight"], wanted, "both uses count")
with Check("GPT", "two models do not share their weights") as check:
    first, second = check.build(5, 3, 4, 2, 2, 3), check.build(5, 3, 4, 2, 2, 3)
    kept = second.state()
    first.load({n: torch.zeros_like(w) for n, w in first.parameters().items()}, whole=False)
    for name, weight in second.state().items():
        check.equal(weight, kept[name], f"{name} of the other model")
# END HIDDEN TESTS


# %% check GPT_dropout points=1
with Check("GPT", "dropout of 1, which drops everything") as check:
    model = check.build(9, 6, 4, 2, 2, 3, 1.0).double()
    without = check.build(9, 6, 4, 2, 2, 3).double()
    tokens, bias = torch.tensor([[3, 0, 8, 1, 1], [2, 7, 7, 5, 4]]), numbers(4, seed=73)
    tables = {
        "tokens.weight": numbers(9, 4, seed=70),
        "positions.weight": numbers(6, 4, seed=71),
        "norm.weight": numbers(4, seed=72),
        "norm.bias": bias,
    }
    parts = [block_weights(4, 3, seed) for seed in (1, 2)]
    tables |= {f"blocks.{i}.{n}": w for i, part in enumerate(parts) for n, w in part.items()}
    for each in (model, without):
        each.load(tables, whole=False)
    dropped, evaluated, expected = (
        model.train().call(tokens),
        model.eval().call(tokens),
        without.train().call(tokens),
    )
    check.equal(
        dropped,
        (tables["tokens.weight"] @ bias).expand(2, 5, 9),
        "in training, with all embeddings and all outputs of sublayers dropped, norm gets zeros "
        "and returns its bias",
        hint="dropout is on the sum of the embeddings, and inside the blocks: pass the rate on to "
        "them; norm and logits have none",
    )
    check.equal(
        evaluated,
        expected,
        "in evaluation nothing should be dropped",
        hint="keep an nn.Dropout on self: it knows whether the model is training",
    )
with Check("GPT", "dropout on the sum of the embeddings") as check:
    model = check.build(9, 6, 4, 1, 2, 3, 0.5).double()
    table, row = numbers(9, 4, seed=70), torch.tensor([3.0, -1.0, 0.5, 2.0], dtype=torch.float64)
    tables = {
        "tokens.weight": table,
        "positions.weight": row.expand(6, 4),
        "norm.weight": torch.ones(4),
        "norm.bias": torch.zeros(4),
    }
    silent = {f"blocks.0.{n}": torch.zeros_like(w) for n, w in block_weights(4, 3).items()}
    model.load({**tables, **silent}, whole=False)
    result = model.train().call(torch.full((80, 5), 2)).detach().flatten(0, 1)
    masks = torch.cartesian_prod(*[torch.tensor([0.0, 2.0], dtype=torch.float64)] * 4)
    possible = F.layer_norm(masks * (table[2] + row), (4,)) @ table.T  # (masks, vocab)
    far, found = (result[:, None] - possible).abs().amax(-1).min(-1)
    check.true(
        bool((far < 1e-6).all()),
        "with p = 0.5, each feature of token + position is dropped or doubled, as a whole",
        hint="call dropout once, on the sum of both embeddings",
    )
    kept = (masks[found] != 0).double().mean()
    check.true(
        bool(0.4 < kept < 0.6),
        f"with p = 0.5, about half of the features should be kept, not {kept:.2f}",
        hint="call dropout once, with the rate that is given",
    )
    check.true(
        len(found.unique()) > 8,
        "each token of each row should drop its own features",
        hint="pass the whole sum to one nn.Dropout: it draws for each element",
    )
# BEGIN HIDDEN TESTS
with Check("GPT", "dropout in training only, anew each time") as check:
    model = check.build(8, 5, 6, 2, 3, 4, 0.4)
    tokens = torch.tensor([[1, 2, 3], [1, 2, 3]])
    once, again = model.train().call(tokens), model.call(tokens)
    check.true(not torch.equal(once, again), "in training two calls differ")
    check.true(not torch.equal(once[0], once[1]), "in training two rows differ")
    check.equal(model.eval().call(tokens), model.call(tokens), "in evaluation they agree")
with Check("GPT", "another rate") as check:
    model = check.build(9, 6, 4, 1, 2, 3, 0.8).double()
    table = numbers(9, 4, seed=75)
    silent = {f"blocks.0.{n}": torch.zeros_like(w) for n, w in block_weights(4, 3).items()}
    ends = {"norm.weight": torch.ones(4), "norm.bias": torch.zeros(4)}
    tables = {"tokens.weight": table, "positions.weight": numbers(1, 4, seed=76).expand(6, 4)}
    model.load({**tables, **ends, **silent}, whole=False)
    result = model.train().call(torch.full((100, 6), 4)).detach().flatten(0, 1)
    masks = torch.cartesian_prod(*[torch.tensor([0.0, 5.0], dtype=torch.float64)] * 4)
    possible = F.layer_norm(masks * (table[4] + tables["positions.weight"][0]), (4,)) @ table.T
    far, found = (result[:, None] - possible).abs().amax(-1).min(-1)
    check.true(bool((far < 1e-5).all()), "nothing else can come out")
    check.true(bool(0.13 < (masks[found] != 0).double().mean() < 0.27), "a fifth is kept")
# END HIDDEN TESTS


# %% [markdown]
# ### What does a causal model know without positions?
#
# In lesson 6, attention without positions was permutation equivariant: it could not know the order. Is that true here as well? The next experiment leaves the positions out. It swaps the first two of five tokens, and measures how far the *last* token's logits move.
#
# **Predict.** What changes?
#
# <details><summary>Nothing, however many blocks there are</summary>Right for one block. But follow one of the two swapped tokens through the first block. At position 0 it attends to itself alone. Which keys does it attend to at position 1?</details>
# <details><summary>Nothing with one block; something with two</summary>Yes. After one block, the vector at position 1 is a mixture of both tokens. The one at position 0 is not. So the second block can tell which came first.</details>
# <details><summary>Something, with one block already</summary>The last token attends to the same five keys in both orders, and a sum has no order.</details>


# %%
@torch.no_grad()
def change_by_swap(num_layers: int, seed: int, *, causal: bool) -> float:
    """How far the last logits move, relative to their size, if tokens 0 and 1 are swapped."""
    torch.manual_seed(seed)
    model = GPT(10, 5, 16, num_layers, 2, 64).double()
    x = model.tokens(torch.tensor([[3, 8, 1, 4, 2], [8, 3, 1, 4, 2]]))  # no positions
    for block in model.blocks:
        x = block(x) if causal else pytorch_block(block.state_dict(), 2)(x)
    before, after = F.linear(model.norm(x), model.tokens.weight)[:, -1]
    return ((before - after).norm() / before.norm()).item()


print("How far the last logits move, three seeds each:")
for setting, is_causal in (("causal", True), ("no mask", False)):
    for layer_count in (1, 2, 3):
        changes = (change_by_swap(layer_count, seed, causal=is_causal) for seed in range(3))
        print(f"{setting:7} blocks: {layer_count}  ", *(f"{change:.0e}" for change in changes))

# %% [markdown]
# What to see: with one block, only rounding errors are left. With two or more, the order matters. In the control, the same blocks without a mask, it never does. So the causal mask tells a stack something about order. Part 5 measures how well a model predicts without positions.

# %% [markdown]
# ### How many parameters?
#
# **Exercise** (15 minutes). Compute by arithmetic how many parameters a `GPT` has. Check it against a `GPT` that you build.
#
# <details><summary>Hint 1</summary>List the parts that the docstrings of <code>GPT</code> and <code>DecoderBlock</code> name. Which shape has each weight? Which have a bias?</details>
# <details><summary>Hint 2</summary>Two tables; for each block four square layers with biases, two layers of the feed-forward network with biases, and two norms; the final norm. Weight tying: the output has no parameters of its own.</details>


# %% exercise gpt_parameters
def gpt_parameters(
    vocab_size: int, context: int, d_model: int, num_layers: int, d_ff: int | None = None
) -> int:
    """Compute how many parameters a `GPT` with these arguments has, biases and norms included.

    d_ff: None means 4 · d_model. A table that is used twice counts once.
    """
    # BEGIN SOLUTION
    d_ff = 4 * d_model if d_ff is None else d_ff
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norm = 2 * d_model  # a gain and a bias
    embeddings = (vocab_size + context) * d_model
    return embeddings + num_layers * (attention + feed_forward + 2 * norm) + norm
    # END SOLUTION


# %% check gpt_parameters points=2
hint = "two tables; per block four layers of attention, two linear layers, two norms; a final norm"
with Check("gpt_parameters", "models you can count by hand", hint) as check:
    counts = [
        check.call(5, 7, 2, 0, 3, returns=int),
        check.call(5, 7, 2, 1, 3, returns=int),
        check.call(5, 7, 2, 3, 3, returns=int),
        check.call(5, 7, 3, 1, returns=int),
        check.call(50257, 1024, 768, 12, returns=int),
    ]
    check.equal(
        counts[0],
        28,
        "with no block: 5 · 2 for tokens, 7 · 2 for positions, and 4 for the final norm",
        hint="the output uses the table of tokens again: it adds no parameter, and no bias",
    )
    check.equal(
        counts[1],
        77,
        "one block with d_model 2 and d_ff 3 should add attention 24, feed-forward network 17, "
        "norms 8",
        hint="each linear layer has a bias, each norm a gain and a bias",
    )
    check.equal(
        counts[2],
        175,
        "three blocks should add three times 49",
        hint="count a block num_layers times, the tables and the final norm once",
    )
    check.equal(
        counts[3],
        189,
        "without d_ff it should be 4 · d_model, here 12",
        hint="if d_ff is None, take 4 · d_model",
    )
    check.equal(counts[4], 124439808, "the smallest GPT-2 should have 124,439,808 parameters")
# BEGIN HIDDEN TESTS
with Check("gpt_parameters", "equal to PyTorch's count") as check:
    for vocab, span, width, depth, inner in (
        (9, 4, 6, 2, 5),
        (3, 11, 4, 5, 7),
        (100, 20, 8, 1, 2),
        (6, 6, 10, 4, None),
        (50, 30, 2, 12, None),
    ):
        layer = nn.TransformerEncoderLayer(width, 1, 4 * width if inner is None else inner)
        inside = depth * sum(part.numel() for part in layer.parameters())
        expected = (vocab + span + 2) * width + inside
        check.equal(
            check.call(vocab, span, width, depth, d_ff=inner, returns=int), expected, "PyTorch's"
        )
# END HIDDEN TESTS


# %% [markdown]
# ### The sizes of GPT-3 (optional, 10 minutes)
#
# A lecture shows a table of the eight models of GPT-3, from Brown et al. (2020), Table 2.1. Is it right? How would you find out?
#
# **From the lecture**: “example: GPT (Generative Pretrained Transformer)” in *Transformer*, STATS403, lecture 7.
#
# Begin with the counts: GPT-3 has 50,257 tokens, a context length of 2,048 and $d_{\text{ff}} = 4\,d_{\text{model}}$.

# %%
gpt3 = {  # name: (parameters, layers, d_model, heads, d_head), as the table has them
    "Small": (125e6, 12, 768, 12, 64),
    "Medium": (350e6, 24, 1024, 16, 64),
    "Large": (760e6, 24, 1536, 16, 96),
    "XL": (1.3e9, 24, 2048, 24, 128),
    "2.7B": (2.7e9, 32, 2560, 32, 80),
    "6.7B": (6.7e9, 32, 4096, 32, 128),
    "13B": (13.0e9, 40, 5140, 40, 128),
    "175B": (175e9, 96, 12288, 96, 128),
}
for name, (stated, layers, width, heads, d_head) in gpt3.items():
    computed = gpt_parameters(50257, 2048, width, layers)
    sizes = f"{layers} layers, width {width:5}, {heads:2} heads of {d_head:3}"
    compared = f"table {stated / 1e6:7,.0f} million, computed {computed / 1e6:7,.0f} million"
    print(f"{name:7}{sizes}: {compared} ({computed / stated - 1:+.1%})")

# %% [markdown]
# **Predict.** All eight counts agree within 2 %. So is the table right?
#
# <details><summary>Yes: a wrong width would change the count</summary>Take a width of 5,120 instead of 5,140 in the 13B row: the count changes by less than 1 %.</details>
# <details><summary>No: in two rows the heads do not fit</summary>Yes. The formula assumes square projections, as in your block: heads times d_head is d_model. Multiply in each row.</details>
# <details><summary>You cannot know without the weights</summary>Not the true sizes. But you can see whether the numbers of a row fit each other.</details>

# %%
for name, (*_unused, width, heads, d_head) in gpt3.items():
    fits = "" if heads * d_head == width else "   ← does not fit"
    print(f"{name:7} {heads:2} · {d_head:3} = {heads * d_head:5}, width {width:5}{fits}")
for name in ("XL", "13B"):
    stated, layers, width, heads, d_head = gpt3[name]
    not_square = gpt_parameters(50257, 2048, width, layers)
    not_square += layers * 4 * width * (heads * d_head - width)
    print(f"{name}, from {width} to {heads * d_head}: {not_square / 1e9:.2f} billion")
for width in (5120, 5140):
    print(f"13B with width {width}: {gpt_parameters(50257, 2048, width, 40) / 1e9:.2f} billion")

# %% [markdown]
# What to see: with square projections, 24 heads of 128 need a width of 3,072, not 2,048, and 40 heads need 5,120, not 5,140. (The paper has the same rows.) The count reveals neither. The number of heads is not in it, and 20 more features change it by only 0.8 %. Projections that are not square would explain the 13B row, but not XL: 1.52 billion is too many.

# %% [markdown]
# ## 5 · Train it
#
# You train on windows from random positions of the text. Each prediction may use up to 32 characters (`CONTEXT`). The 32nd needs a target too, so a window has 33. The model reads all 33; your loss leaves out the last logits. So the context length is 33.
#
# <details><summary>Why is the context length 33, not 32?</summary>Your loss takes the logits of all 33 characters of a window, so the model must accept 33. But it learns to predict from at most 32. (Many programs give the model only the first 32 characters, with the last 32 as targets. Under a causal mask the loss is the same, and a context length of 32 is enough.)</details>

# %%
CONTEXT = 32
token_of = {symbol: token for token, symbol in enumerate(symbols)}
training_codes, held_out = (
    torch.tensor([token_of[symbol] for symbol in part]) for part in (training_text, held_out_text)
)


def draw_windows(batch: int, generator: torch.Generator) -> Tensor:
    """Windows of the training text that begin anywhere: (batch, CONTEXT + 1)."""
    begins = torch.randint(len(training_codes) - CONTEXT, (batch, 1), generator=generator)
    return training_codes[begins + torch.arange(CONTEXT + 1)]


print(draw_windows(2, torch.Generator().manual_seed(0))[:, :12])

# %% [markdown]
# Before training, a check. As part 1 said, an untrained model should start near ln 103 = 4.63 nats. Does yours? Does the standard deviation of its tables matter?


# %%
@torch.no_grad()
def untrained(seed: int, tokens: float, positions: float, *, tied: bool) -> tuple[float, float]:
    """The loss with tables of these standard deviations, and how often the model repeats."""
    torch.manual_seed(seed)
    model = GPT(len(symbols), CONTEXT + 1, 64, 2, 2, 256)
    model.tokens.weight.mul_(tokens / 0.1)
    model.positions.weight.mul_(positions / 0.1)
    output = model.tokens.weight if tied else tokens * torch.randn(len(symbols), 64)
    windows = draw_windows(50, torch.Generator().manual_seed(seed))
    x = model.tokens(windows) + model.positions(torch.arange(CONTEXT + 1))
    for block in model.blocks:
        x = block(x)
    logits = F.linear(model.norm(x), output)
    repeats = (logits.argmax(-1) == windows).double().mean().item()  # the character just read
    return next_token_loss(logits, windows).item(), repeats


print("Loss of three untrained models, and how often the likeliest character is the one just read")
for title, of_token, of_position, is_tied in (
    ("both tables 0.1, as yours", 0.1, 0.1, True),
    ("both tables 1", 1, 1, True),
    ("positions 1, tokens 0.1", 0.1, 1, True),
    ("tokens 1, positions 0.1", 1, 0.1, True),
    ("the same, without tying", 1, 0.1, False),
):
    three = [untrained(seed, of_token, of_position, tied=is_tied) for seed in range(3)]
    print(f"{title:26}", *(f"{loss:6.2f} ({share:4.0%})" for loss, share in three))
print(f"the same probability for every character: {math.log(len(symbols)):.2f} nats")

# %% [markdown]
# What to see: your untrained model is slightly worse than equal probabilities. With positions alone at 1, it starts at about 4.9 nats. But the logits are dot products with the token embeddings. With both tables at 1, it starts at about 40; with tokens alone, at about 53, or 20 without tying.
#
# <details><summary>Why are these losses so large?</summary>The norm's output has length √64 = 8 (as a vector), and a token embedding with standard deviation 1 has about the same length. So a logit, their dot product, can reach about 64.</details>
#
# Tying adds the rest: the residual stream carries the embedding of the token just read to the output, so that token's logit is the largest. But only 10 % of characters repeat the one before (recorded).
#
# ### Training
#
# You train with AdamW and 50 warm-up steps, for about 15 seconds. Only the **cosine schedule** is new: after the warm-up, the learning rate falls along half a cosine to 0.


# %%
def rate(step: int, steps: int) -> float:
    """Half a cosine down to 0, capped by a linear warm-up in the first 50 steps."""
    return min((step + 1) / 50, 0.5 + 0.5 * math.cos(math.pi * step / steps))


def train(
    model: nn.Module, steps: int, seed: int, report: Callable[[float], None] | None = None
) -> None:
    """Train on `steps` batches of 32 windows."""
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.005)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = 0.005 * rate(step, steps)
        batch = draw_windows(32, generator)
        loss = next_token_loss(model(batch), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if report is not None:
            report(loss.item())


# %%
from transformer_course.widgets import show_training


@functools.cache  # trains in its first call; running this cell again begins anew
def trained_gpt(seed: int = 0, steps: int = 600) -> GPT:
    torch.manual_seed(seed)
    model = GPT(len(symbols), CONTEXT + 1, 64, 2, 2, 256)
    with show_training(total=steps, title="A small GPT reads the documentation") as plot:
        train(model, steps, seed, report=lambda loss: plot.add(loss=loss))
    return model.eval()


print(f"{sum(part.numel() for part in trained_gpt().parameters()):,} parameters")

# %% [markdown]
# ### How much context does it use?
#
# The model may use 32 characters. Does it? Measure the loss on the targets of part 2 when it reads only the last 1, 2, 3, 4, 8, … characters before each. Training had contexts of all these lengths: the logits at position $t$ use $t + 1$ characters. (Seeds 1 and 2 are recorded, from `losses_by_context(trained_gpt(seed))`.)
#
# **Predict.** From which length on does more context hardly help, after 600 steps?
#
# <details><summary>It helps up to 32</summary>That is what the model could do. Run the cell to see what it does.</details>
# <details><summary>From about 8 on</summary>Yes. Four times as much, 32 characters, gains almost nothing.</details>
# <details><summary>From 1 on: it has learned pairs</summary>It uses more than one character.</details>


# %%
LENGTHS = (1, 2, 3, 4, 8, 16, 32)


@torch.no_grad()
def losses_by_context(model: nn.Module, lengths: Sequence[int] = LENGTHS) -> Tensor:
    """The loss of each target, if the model reads so many characters: (length, target)."""
    at = torch.tensor(targets)
    losses = []
    for length in lengths:
        contexts = held_out[at[:, None] + torch.arange(-length, 0)]
        logits = torch.cat([model(part)[:, -1] for part in contexts.split(500)])
        losses.append(F.cross_entropy(logits, held_out[at], reduction="none"))
    return torch.stack(losses)


own_losses = losses_by_context(trained_gpt())
other_seeds = [
    [2.417, 1.912, 1.706, 1.638, 1.568, 1.563, 1.564],
    [2.450, 1.939, 1.723, 1.645, 1.577, 1.562, 1.573],
]
print("your losses:", *(f"{loss:.2f}" for loss in own_losses.mean(1)))
figures.curves(
    LENGTHS,
    {
        "GPT, 600 steps": [own_losses.mean(1).tolist(), *other_seeds],
        "4-grams, a constant added": [baselines["a constant added"][3]] * len(LENGTHS),
        "6-grams, interpolated": [baselines["interpolated"][5]] * len(LENGTHS),
    },
    x="characters that the model reads",
    y="loss (nats)",
    title="Held-out loss: mean and range of 3 seeds",
    logarithmic="x",
    bottom=0.0,
)

# %% [markdown]
# What to see: more context helps up to about 8 characters. The other 24 bring this model almost nothing after 600 steps. All three seeds end behind the 4-grams, which use three characters. If the model reads three as well, the gap is larger: 1.71 against 1.51 nats on average. So of the three models of the opening, the one that counts sequences of four has the lowest loss.

# %% [markdown]
# ### One more character
#
# Your model's context length is 33. It read 33 characters in every training step.
#
# **Predict.** How good is the prediction after 33 characters, compared with 32?
#
# <details><summary>Slightly better: one more character</summary>One more character, but think of the loss: which logits had no target?</details>
# <details><summary>The same, because context beyond 8 hardly helps</summary>The context is not the problem. Which logits had no target?</details>
# <details><summary>Much worse</summary>Yes. The logits at the last position of a window have no target, and no later query attends to it. So position 32 never received a gradient, and its vector is still random.</details>
#
# To check the cause, the next cell also prints gradients of position vectors. Then it tries two repairs without training:
#
# | repair | which characters share a vector |
# |---|---|
# | copy vector 31 to position 32 | the *last* two (vector 31) |
# | move all vectors up by one position | the *first* two (vector 0) |
#
# **Predict.** Which repair works?
#
# <details><summary>Copying vector 31: it belongs to the nearest position</summary>But all other characters then seem one position closer to the last one than they are.</details>
# <details><summary>Moving all vectors up</summary>Yes. The last 32 characters get the same vectors as in a text of 32. Only the first character is extra, and the model hardly uses characters so far back.</details>
# <details><summary>Neither: position 32 needs training</summary>Both repairs give every character a trained vector. One of them brings the loss back to that after 32 characters.</details>

# %%
with_33 = losses_by_context(trained_gpt(), (33,)).mean().item()
with_32 = own_losses[-1].mean().item()
copied_row = copy.deepcopy(trained_gpt())
with torch.no_grad():
    copied_row.positions.weight[32] = copied_row.positions.weight[31]
with_copy = losses_by_context(copied_row, (33,)).mean().item()
moved_rows = copy.deepcopy(trained_gpt())
with torch.no_grad():
    moved_rows.positions.weight[1:] = trained_gpt().positions.weight[:-1]
with_moved = losses_by_context(moved_rows, (33,)).mean().item()
figures.runs(  # seeds 1 and 2 are recorded
    {
        "32 characters": [with_32, 1.564, 1.573],
        "33 characters": [with_33, 2.567, 2.527],
        "33 characters, vector 31 copied": [with_copy, 2.285, 2.125],
        "33 characters, all moved up": [with_moved, 1.564, 1.573],
    },
    "loss (nats)",
    "The same targets; grey lines join a seed's runs",
    linked=True,
)
torch.manual_seed(0)  # the seed of your model, so the same first weights
fresh_gpt = GPT(len(symbols), CONTEXT + 1, 64, 2, 2, 256)
batch = draw_windows(32, torch.Generator().manual_seed(1))
next_token_loss(fresh_gpt(batch), batch).backward()
gradients = fresh_gpt.positions.weight.grad
if gradients is not None:
    sizes = gradients.norm(dim=1)
    print(f"gradient norm of position 0: {sizes[0]:.4f}, 31: {sizes[31]:.4f}, 32: {sizes[32]:.4f}")
change = (trained_gpt().positions.weight / fresh_gpt.positions.weight)[32]
print(f"vector 32, trained / untrained: {change.min():.3f} to {change.max():.3f}")

# %% [markdown]
# What to see: one more character costs about one nat. Position 32 gets no gradient: only AdamW's weight decay changed its vector. With vector 31 copied, most of the extra loss stays. With all vectors moved up by one, nothing is lost.
#
# So when the model writes, let it read at most `CONTEXT` = 32 characters, never 33.
#
# <details><summary>What if the training windows had only 32 characters?</summary>Position 31 would be untrained. As soon as a text had 32 characters, <em>every</em> prediction would use it.</details>

# %% [markdown]
# ### Does the Transformer ever win?
#
# The figures show the loss after 32 characters. As the interpolated loss was still falling at 6-grams (part 2), 10-grams join. The GPT's values are recorded, from `trained_gpt(seed, steps)`. (9,600 steps take about four minutes.)
#
# **Predict.** Which has the lowest loss on *new* passages after 9,600 steps?
#
# <details><summary>The GPT</summary>Yes, in all three seeds. The figures show from when on.</details>
# <details><summary>The 6-grams or the 10-grams</summary>They are ahead after 600 steps. But counts do not improve with more steps.</details>
# <details><summary>All three are equal</summary>The figures show a gap between the GPT and the counts, in all three seeds.</details>

# %%
LONGER = {  # steps: (all targets, new passages), for seeds 0, 1 and 2
    600: ((1.557, 1.846), (1.564, 1.855), (1.573, 1.862)),
    2400: ((1.303, 1.570), (1.303, 1.569), (1.305, 1.567)),
    9600: ((1.227, 1.491), (1.256, 1.533), (1.260, 1.538)),
}
new_passages = ~is_copied[torch.tensor(targets)]
counted = {
    "4-grams, a constant added": losses["a constant added"][3],
    "6-grams, interpolated": losses["interpolated"][5],
    "10-grams, interpolated": count_losses(interpolated, 10, (2, 10, 30)),
}
recorded = torch.tensor(list(LONGER.values())).permute(2, 1, 0)  # (targets, seed, steps)
for name, gpt, those in (
    ("all targets", recorded[0], torch.ones_like(new_passages)),
    ("new passages", recorded[1], new_passages),
):
    figures.curves(
        list(LONGER),
        {"GPT": gpt.tolist()} | {n: [each[those].mean().item()] * 3 for n, each in counted.items()},
        x="training steps",
        y="loss (nats)",
        title=f"Held-out loss, {name}: mean and range of 3 seeds",
        logarithmic="x",
    )

# %% [markdown]
# What to see:
#
# - *All targets*: after 2,400 steps the Transformer is ahead of the 6-grams in all seeds, and level with the 10-grams. After 9,600 steps it is ahead of both.
# - *New passages*: the 10-grams are no better than the 6-grams, so for counts, more than five characters of context help on copied passages only. After 2,400 steps the Transformer is ahead of both by 0.05 nats, after 9,600 by more.
# - *Copied passages alone* (26.7 % of targets): after 9,600 steps the 10-grams are still ahead, 0.41 against 0.50 nats (recorded).
#
# So training time decides whether this GPT beats n-grams.
#
# **And without positions?** Here are three recorded seeds with the positions fixed at zero (`requires_grad_(False)`):

# %%
figures.runs(
    {
        "with positions": [1.557, 1.564, 1.573],
        "without positions": [2.047, 2.077, 2.050],
    },
    "loss (nats)",
    "600 steps; grey lines join a seed's runs",
    linked=True,
)

# %% [markdown]
# What to see: without positions, the model does better than counted bigrams (2.32 nats). It may just know *which* characters occurred, not their order. Each seed is about half a nat behind the same seed with positions. So after 600 steps, the mask does not replace positions. (Much larger models without positions came close to those with: Haviv et al., 2022.)
#
# **From the lecture**: “Transformer – Wrap Up” in *Transformers*, CSCI 4360/6360: for an autoregressive language model, which writes a text token by token, one uses a Transformer decoder, with future masking in every self-attention.

# %% [markdown]
# ### Save it, and load it
#
# A model is saved as its `state_dict`: its parameters, by name. To load it, you need your class and the sizes as well.

# %%
path = Path(tempfile.mkdtemp()) / "gpt.pt"  # choose a folder of your own to keep it
torch.save(trained_gpt().state_dict(), path)
loaded = GPT(len(symbols), CONTEXT + 1, 64, 2, 2, 256)
loaded.load_state_dict(torch.load(path, weights_only=True))
loaded.eval()
sentence = held_out[None, :CONTEXT]
print(f"{path.stat().st_size:,} bytes")
print("the same logits:", torch.equal(loaded(sentence), trained_gpt()(sentence)))

# %% [markdown]
# `weights_only=True` (the default since PyTorch 2.6) matters for files from others: without it, loading a file can run code that its author put into it.
#
# **A good place to stop.** Your GPT is trained. Next it writes. (Back later? Run all cells above first.)

# %% [markdown]
# ## 6 · Sample
#
# After any context, the model gives $V$ logits. How do you choose one character? Here are the likeliest after two contexts.


# %%
def encode(characters: str) -> Tensor:
    """A batch of one text: (1, length)."""
    return torch.tensor([[token_of[symbol] for symbol in characters]])


def decode(tokens: Tensor) -> str:
    """The text of one row of tokens."""
    return "".join(symbols[i] for i in tokens.tolist())


def shown(symbol: str) -> str:
    """A name for a symbol that would be invisible."""
    return {" ": "␣", "\n": "⏎"}.get(symbol, symbol)


@torch.no_grad()
def logits_after(context: str) -> Tensor:
    """The model's logits for the character after `context`: (vocab,)."""
    return trained_gpt()(encode(context))[0, -1]


for some_context in ("The while stateme", "If the object is "):
    some_probabilities = logits_after(some_context).softmax(-1)
    likeliest = some_probabilities.topk(6)
    listed = zip(likeliest.indices.tolist(), likeliest.values.tolist(), strict=True)
    print(f"{some_context!r:20}", *(f" {shown(symbols[i])} {p:.2f}" for i, p in listed))

# %% [markdown]
# What to see: in the middle of a word, one character has nearly all the probability. Between words, many are possible. Common rules:
#
# - Greedy decoding (lesson 2) takes the likeliest.
# - In **top-k sampling**, only the k likeliest tokens are allowed, with probabilities rescaled to sum to 1.
# - Sampling at temperature $T$ (lesson 1) divides the logits $z$ by $T$ before the softmax. Below 1, probability moves to the likeliest tokens:
#
# $$p_i = \frac{\exp(z_i / T)}{\sum_j \exp(z_j / T)}$$
#
# **Predict.** What happens to the probabilities as $T$ goes to 0?
#
# <details><summary>They become equal</summary>That happens as T goes to infinity: then all z / T go to 0.</details>
# <details><summary>The likeliest token gets 1</summary>Yes. So temperature 0 means greedy decoding. But you cannot divide by 0: treat it as a special case.</details>
# <details><summary>They do not change: softmax normalises them</summary>Softmax ignores a number that is <em>added</em> to all logits. A factor changes the result.</details>
#
# **Exercise** (20 minutes). Write the function, for logits of any shape (…, vocab). Raise a `ValueError` that contains the number if a temperature is below 0, or if `top_k` is below 1.
#
# <details><summary>Hint 1</summary>Which function gives 1 at an index, and 0 elsewhere? Which dtype does it return?</details>
# <details><summary>Hint 2</summary>For top-k: what is the smallest logit that is allowed, in each row? What happens if <code>k</code> exceeds the number of tokens?</details>
# <details><summary>Hint 3</summary><code>F.one_hot(index, vocab)</code> returns integers. <code>topk(k).values[..., -1:]</code> holds the smallest allowed logit of each row; <code>topk</code> fails if <code>k</code> is too large.</details>


# %% exercise next_token_probabilities
def next_token_probabilities(
    logits: Tensor, temperature: float = 1.0, top_k: int | None = None
) -> Tensor:
    """Turn logits into the probabilities of the next token, shapes (…, vocab) -> (…, vocab).

    temperature divides the logits before the softmax. At 0 the token with the largest logit gets
    probability 1, in the dtype of the logits.
    top_k: only the k tokens with the largest logits of each row keep a probability above 0, and
    theirs sum to 1. None, or a number above the vocabulary's size, leaves all tokens in.
    Ties, at temperature 0 or at the k-th rank, may be broken in any way.
    ValueError naming the temperature if it is below 0, and naming top_k if it is below 1.
    """
    # BEGIN SOLUTION
    if temperature < 0 or (top_k is not None and top_k < 1):
        raise ValueError(
            f"temperature {temperature} should be at least 0, top_k {top_k} at least 1"
        )
    if temperature == 0:
        return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
    if top_k is not None:
        best = logits.topk(min(top_k, logits.shape[-1]), dim=-1)
        logits = torch.full_like(logits, -torch.inf).scatter(-1, best.indices, best.values)
    return (logits / temperature).softmax(-1)
    # END SOLUTION


# %% check next_token_probabilities points=2
hint = "keep the k largest logits of each row, divide by the temperature, then take the softmax"
with Check("next_token_probabilities", "temperature, two rows you can do by hand", hint) as check:
    # softmax gives 4/8, 2/8, 1/8, 1/8 in the first row, and 1/16, 9/16, 4/16, 2/16 in the second
    shares = torch.tensor([[4.0, 2.0, 1.0, 1.0], [1.0, 9.0, 4.0, 2.0]], dtype=torch.float64)
    logits = shares.log() - torch.tensor([[0.0], [10.0]], dtype=torch.float64)
    plain, sharp, flat, greedy = (
        check.call(logits),
        check.call(logits, 0.5),
        check.call(logits, temperature=2.0),
        check.call(logits, temperature=0),
    )
    check.shape(plain, batch=2, vocab=4)
    check.equal(
        plain, shares / torch.tensor([[8.0], [16.0]]), "temperature 1 should give the softmax"
    )
    check.equal(
        sharp,
        shares.square() / torch.tensor([[22.0], [102.0]]),
        "temperature 0.5 should square the ratios: 4 : 2 : 1 : 1 becomes 16 : 4 : 1 : 1",
        hint="divide the logits by the temperature, then take the softmax",
    )
    check.equal(
        flat,
        shares.sqrt() / shares.sqrt().sum(-1, keepdim=True),
        "temperature 2 should take roots of the ratios: 4 : 2 : 1 : 1 becomes 2 : 1.41 : 1 : 1",
        hint="divide the logits by the temperature, then take the softmax",
    )
    check.equal(
        greedy,
        torch.tensor([[1.0, 0, 0, 0], [0, 1, 0, 0]], dtype=torch.float64),
        "temperature 0 should give probability 1 to the token with the largest logit of each row",
        hint="treat 0 before you divide: 1 where the largest logit is, 0 elsewhere",
    )
    check.true(
        greedy.dtype == logits.dtype,
        f"at temperature 0, too, the probabilities should be {logits.dtype}, not {greedy.dtype}",
        hint="F.one_hot returns integers: turn them into the dtype of the logits, with .to(…)",
    )
with Check("next_token_probabilities", "the k best tokens, two rows by hand", hint) as check:
    shares = torch.tensor([[4.0, 2.0, 1.0, 3.0, 6.0], [5.0, 9.0, 4.0, 2.0, 1.0]]).double()
    logits = shares.log() - torch.tensor([[0.0], [10.0]], dtype=torch.float64)
    results = [check.call(logits, 1.0, k) for k in (2, 1, 5, 8)]
    two, one, five, more = results
    both, greedy = check.call(logits, 0.5, 3), check.call(logits, 0, top_k=2)
    check.shape(two, batch=2, vocab=5)
    check.equal(
        two,
        torch.tensor([[0.4, 0, 0, 0, 0.6], [5 / 14, 9 / 14, 0, 0, 0]], dtype=torch.float64),
        "with top_k=2, the two best tokens of each row should share the probability: 4 : 6 in the "
        "first row, 5 : 9 in the second",
    )
    check.equal(
        one,
        torch.tensor([[0.0, 0, 0, 0, 1], [0, 1, 0, 0, 0]], dtype=torch.float64),
        "with top_k=1, the best token of each row should get probability 1",
    )
    everything = shares / shares.sum(-1, keepdim=True)
    check.equal(five, everything, "with top_k=5, all five tokens should keep their probability")
    check.equal(
        more,
        everything,
        "with top_k=8, more than there are, all five tokens should keep their probability",
    )
    check.equal(
        both,
        torch.tensor([[16.0, 0, 0, 9, 36], [25, 81, 16, 0, 0]], dtype=torch.float64)
        / torch.tensor([[61.0], [122.0]]),
        "with top_k=3 and temperature 0.5, the squares of the three best should share it",
    )
    check.equal(
        greedy,
        torch.tensor([[0.0, 0, 0, 0, 1], [0, 1, 0, 0, 0]], dtype=torch.float64),
        "temperature 0 should give probability 1 to the best token, with top_k too",
    )
with Check("next_token_probabilities", "large logits, other shapes", hint) as check:
    large, row = check.call(numbers(2, 3, 5, scale=900.0), 0.01, 2), check.call(numbers(4), 0.7, 3)
    check.shape(large, batch=2, length=3, vocab=5)
    check.shape(row, vocab=4)
    total = torch.ones(2, 3, dtype=torch.float64)
    check.equal(large.sum(-1), total, "the probabilities of each row should sum to 1")
    check.equal(
        row, check.call(numbers(1, 4), 0.7, 3)[0], "one row should give the same in a batch"
    )
with Check("next_token_probabilities", "arguments that make no sense") as check:
    check.raises(numbers(2, 4), -0.5, naming=(-0.5,))
    check.raises(numbers(2, 4), top_k=0, naming=(0,))
    check.raises(numbers(2, 4), 1.5, -3, naming=(-3,))
# BEGIN HIDDEN TESTS
with Check("next_token_probabilities", "other sizes, scales and dtypes") as check:
    for shape, scale, heat, k, dtype, seed in (
        ((6,), 1.0, 0.3, None, torch.float64, 1),
        ((3, 7), 5.0, 1.7, 4, torch.float64, 2),
        ((2, 3, 9), 0.1, 1.0, 8, torch.float64, 3),
        ((4, 5), 2.0, 3.0, 5, torch.float64, 4),
        ((4, 3), 2.0, 3.0, 30, torch.float64, 5),
        ((1, 11), 400.0, 0.05, 3, torch.float64, 6),
        ((5, 8), 1.0, 0.8, 2, torch.float32, 7),
        ((3, 4, 2, 6), 1.0, 10.0, 1, torch.float64, 8),
        ((3, 6), 1.0, 0.0, None, torch.float32, 9),
        ((2, 4, 6), 30.0, 0.0, 3, torch.float64, 10),
        ((2, 5), 1.0, 0, 9, torch.float64, 11),
    ):
        logits = numbers(*shape, seed=seed, scale=scale, dtype=dtype)
        logits = logits + 20 * torch.arange(shape[0])[(..., *[None] * (len(shape) - 1))].to(dtype)
        rank = logits.argsort(-1, descending=True).argsort(-1)
        if heat == 0:
            expected = (rank == 0).to(dtype)
        else:
            kept = rank < (shape[-1] if k is None else k)
            weights = ((logits - logits.amax(-1, keepdim=True)) / heat).exp() * kept
            expected = weights / weights.sum(-1, keepdim=True)
        check.equal(check.call(logits, heat, k), expected, "the k best, sharpened or flattened")
with Check("next_token_probabilities", "every argument that makes no sense") as check:
    for heat, k, named in (
        (-1, None, -1),
        (-0.25, 3, -0.25),
        (0.5, 0, 0),
        (0, -1, -1),
        (2.0, -7, -7),
    ):
        check.raises(numbers(3, 5), heat, k, naming=(named,))
# END HIDDEN TESTS


# %%
some_logits = logits_after("If the object is ")
ranked = some_logits.argsort(descending=True)[:12]
settings = {
    "T = 0.5": (0.5, None),
    "T = 1": (1.0, None),
    "T = 2": (2.0, None),
    "T = 1, k = 3": (1.0, 3),
}
figures.curves(
    range(1, 13),
    {
        name: next_token_probabilities(some_logits, *setting)[ranked].tolist()
        for name, setting in settings.items()
    },
    x="rank of the next character",
    y="probability",
    title="After “If the object is ”: the 12 likeliest characters",
)
print("ranks 1 to 12:", *(shown(symbols[i]) for i in ranked.tolist()))

# %% [markdown]
# What to see: a low temperature sharpens the distribution, a high one flattens it. Top-k keeps the ratios of the k likeliest, and gives the others exactly 0.
#
# Now write text. **Autoregressive generation** feeds each sampled token back as input. In training, every input was a true token (teacher forcing, lesson 2).
#
# **Exercise** (20 minutes). Write `generate`. `model` may be any function from tokens to logits. Give it at most the last `context` tokens. (These may be fewer than the model accepts: for your trained model, 32 of 33.) The text that a model is given to continue is called the *prompt*.
#
# <details><summary>Hint 1</summary>What does one new token need: which tokens go into the model, and the logits of which position come out? What must change before the next token?</details>
# <details><summary>Hint 2</summary><code>torch.multinomial(probabilities, 1, generator=generator)</code> draws one token for each row, and accepts <code>generator=None</code>. Never call <code>manual_seed</code>: the seed is the caller's business.</details>


# %% exercise generate
def generate(
    model: Callable[[Tensor], Tensor],
    tokens: Tensor,
    count: int,
    context: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Continue each row of `tokens` by `count` tokens: (batch, length) -> (batch, length + count).

    model: any callable, a `GPT` or not: tokens (batch, length) -> logits (batch, length, vocab).
    It is called once for each new token, with the last `context` tokens of all rows, or with all
    tokens while there are fewer.
    temperature and top_k: as for `next_token_probabilities`.
    Each row draws its own tokens, with `generator`, or else with torch's global random generator.
    Leave seeds alone: a second call draws on from where the first one stopped. No gradients are
    needed.
    """
    # BEGIN SOLUTION
    for _ in range(count):
        logits = model(tokens[:, -context:])[:, -1]  # (batch, vocab)
        probabilities = next_token_probabilities(logits, temperature, top_k)
        drawn = torch.multinomial(probabilities, 1, generator=generator)  # (batch, 1)
        tokens = torch.cat([tokens, drawn], dim=1)
    return tokens
    # END SOLUTION


# %% check generate points=3
hint = (
    "in a loop: logits of the last `context` tokens, probabilities at the last position, one draw"
)
with Check("generate", "a model you can do by hand, at temperature 0", hint) as check:
    # the likeliest next token: number of tokens + 3 · first + sum of them, modulo 7
    calls = []

    def rule(tokens: Tensor, calls: list = calls) -> Tensor:
        calls.append(tokens.clone())
        tokens = tokens.long().reshape(-1, tokens.shape[-1])
        following = (tokens.shape[1] + 3 * tokens[:, 0] + tokens.sum(1)) % 7
        logits = F.one_hot((following[:, None] + 1) % 7, 7).repeat(1, tokens.shape[1], 1)
        logits[:, -1] = F.one_hot(following, 7)
        return logits.double()

    prompt = torch.tensor([[1, 2], [0, 5], [6, 3]])
    result = check.call(rule, prompt, 5, 4, temperature=0.0)
    made = len(calls)
    again = check.call(rule, prompt, 5, 4, temperature=0.0)
    check.equal(
        made,
        5,
        "the model should be called once for each of the five new tokens",
        hint="call the model again after each token: the next one depends on it"
        if made < 5
        else "one call for each new token, with all rows at once",
    )
    del calls[5:]
    check.true(
        all(call.shape[:1] == (3,) and call.dtype == torch.int64 for call in calls),
        "the model should get all three rows at once, as integers",
        hint="call model(tokens) with tokens of shape (batch, length), integers",
    )
    check.shape(result, batch=3, length=7)
    check.equal(result[:, :2], prompt, "each row should begin with its prompt")
    check.equal(
        [call.shape[1] for call in calls],
        [2, 3, 4, 4, 4],
        "from a prompt of two, the model should get 2, 3, 4, 4 and 4 tokens: context is 4",
        hint="before each call, truncate each row to its last `context` tokens, axis 1"
        if [call.shape[1] for call in calls] == [2, 3, 4, 5, 6]
        else "the tokens so far, but no more than the last `context` of them",
    )
    windows = [result[:, max(end - 4, 0) : end] for end in range(2, 7)]
    check.equal(
        torch.cat([call.flatten() for call in calls]),
        torch.cat([window.flatten() for window in windows]),
        "the model should get the last four tokens so far, in their order",
        hint="the tokens so far, but no more than the last `context` of them",
    )
    check.true(
        torch.equal(result, again),
        "at temperature 0, a second call should give the same",
        hint="pass temperature on to next_token_probabilities, in every step",
    )
    wanted = prompt.tolist()
    for row in wanted:
        while len(row) < 7:
            window = row[-4:]
            row.append((len(window) + 3 * window[0] + sum(window)) % 7)
    check.equal(
        result,
        torch.tensor(wanted),
        "each row should go on with the likeliest token after the last position",
        hint="the logits at the last position are for the next token",
    )
with Check("generate", "a long prompt, and nothing to generate", hint) as check:

    def longest(tokens: Tensor) -> Tensor:
        return 4.0 * F.one_hot((tokens + tokens.shape[1]) % 5, 5).float()

    prompt = torch.tensor([[1, 2, 0, 4, 4, 3], [0, 0, 3, 1, 2, 2]])
    check.equal(check.call(longest, prompt, 0, 3), prompt, "count 0 should give the prompt alone")
    result = check.call(longest, prompt, 2, 3, temperature=0.0)
    check.shape(result, batch=2, length=8)
    check.equal(
        result,
        torch.cat([prompt, torch.tensor([[1, 4], [0, 3]])], dim=1),
        "a prompt of six should stay whole, and the model should see its last three tokens",
    )
    check.equal(
        check.call(longest, prompt, 2, 3, 5.0, 1),
        result,
        "with top_k=1 every draw should be the likeliest token",
        hint="pass top_k on to next_token_probabilities",
    )
with Check("generate", "what is drawn", hint) as check:
    ratios = torch.tensor([4.0, 0.0, 1.0, 2.0], dtype=torch.float64)  # token 1 is impossible

    def always(tokens: Tensor, ratios: Tensor = ratios) -> Tensor:
        return ratios.log().expand(*tokens.shape, 4)

    torch.manual_seed(1)
    start = torch.zeros(600, 1, dtype=torch.long)
    rows, again = check.call(always, start, 8, 3), check.call(always, start, 8, 3)
    hot, best_two = check.call(always, start, 8, 3, 2.0), check.call(always, start, 8, 3, 1.0, 2)
    drawn = rows[:, 1:]
    check.true(
        len(drawn.unique()) > 1,
        "with probabilities 4 : 0 : 1 : 2, tokens other than the likeliest should be drawn, too",
        hint="draw from the probabilities, as torch.multinomial does",
    )
    check.true(
        len(drawn.unique(dim=0)) > 1,
        "600 equal prompts should not all go on in the same way",
        hint="each row draws its own token: torch.multinomial draws for each row",
    )
    check.true(
        len(drawn.unique(dim=1)[0]) > 1,
        "the next draw should not repeat the last one",
        hint="every step draws anew: leave seeds alone",
    )
    check.true(
        not torch.equal(rows, again),
        "a second call should draw other tokens",
        hint="leave seeds alone: torch's global random generator goes on by itself",
    )
    for result, expected, told, fix in (
        (rows, ratios, "4 : 0 : 1 : 2", "draw from the probabilities at the last position"),
        (
            hot,
            ratios.sqrt(),
            "2 : 0 : 1 : 1.41, those at temperature 2",
            "pass temperature on to next_token_probabilities",
        ),
        (
            best_two,
            ratios * (ratios > 1),
            "4 : 0 : 0 : 2, those with top_k=2",
            "pass top_k on to next_token_probabilities",
        ),
    ):
        check.true(
            result.min() >= 0 and result.max() < 4, "the tokens should be 0, 1, 2 or 3", hint=fix
        )
        shares = torch.bincount(result[:, 1:].flatten(), minlength=4) / 4800
        far = (shares - expected / expected.sum()).abs().max()
        check.true(
            bool(far < 0.05), f"4800 tokens should come up in about the ratios {told}", hint=fix
        )
with Check("generate", "which random generator draws") as check:

    def even(tokens: Tensor) -> Tensor:
        return torch.zeros(*tokens.shape, 6)

    start = torch.zeros(40, 1, dtype=torch.long)
    mine = torch.Generator().manual_seed(5)
    torch.manual_seed(2)
    before = torch.get_rng_state()
    first, on = (
        check.call(even, start, 5, 3, generator=mine),
        check.call(even, start, 5, 3, generator=mine),
    )
    check.true(
        torch.equal(torch.get_rng_state(), before),
        "with a generator given, the global one should stay as it is",
        hint="pass generator on to torch.multinomial, and leave the global one alone",
    )
    check.true(
        not torch.equal(first, on),
        "a second call with the same generator should draw on, not begin again",
        hint="leave seeds alone: the generator goes on by itself",
    )
    repeated = check.call(even, start, 5, 3, generator=torch.Generator().manual_seed(5))
    check.equal(
        repeated,
        first,
        "a generator with the same seed should draw the same tokens",
        hint="pass generator on to torch.multinomial",
    )
    torch.manual_seed(7)
    first = check.call(even, start, 5, 3)
    torch.manual_seed(7)
    check.equal(
        check.call(even, start, 5, 3),
        first,
        "without a generator, the same global seed should draw the same tokens",
        hint="draw with torch: its global random generator is what torch.manual_seed sets",
    )
# BEGIN HIDDEN TESTS
with Check("generate", "other sizes, deterministic") as check:
    for batch, length, count, span, vocab, k, heat, dtype in (
        (1, 1, 9, 1, 5, None, 0.0, torch.float64),
        (4, 3, 6, 2, 8, 1, 1.3, torch.float32),
        (2, 7, 1, 5, 11, 3, 0.0, torch.float64),
        (3, 2, 12, 30, 6, None, 0.0, torch.float32),
        (5, 5, 4, 5, 9, None, 1e-3, torch.float64),
    ):
        seen = []

        def follow(
            tokens: Tensor, seen: list = seen, vocab: int = vocab, dtype: torch.dtype = dtype
        ) -> Tensor:
            seen.append(tokens.shape)
            weights = torch.arange(1, tokens.shape[1] + 1)
            following = (tokens * weights).cumsum(1) + tokens[:, :1]
            logits = (
                F.one_hot(following % vocab, vocab) + F.one_hot((following + 2) % vocab, vocab) / 2
            )
            return (4 * logits).to(dtype).requires_grad_()

        draw = torch.Generator().manual_seed(vocab)
        expected = torch.randint(vocab, (batch, length), generator=draw)
        result = check.call(follow, expected, count, span, heat, k)
        check.equal(len(seen), count, "a call for each token")
        for _ in range(count):
            expected = torch.cat([expected, follow(expected[:, -span:])[:, -1:].argmax(-1)], 1)
        check.equal(result, expected, "the likeliest token after the last `context` ones")
        check.true(result.dtype == torch.int64, "integers")
with Check("generate", "draws from the right probabilities, in each row its own") as check:
    table = torch.tensor([[1.0, 3.0, 4.0], [6.0, 1.0, 2.0], [0.0, 1.0, 7.0]], dtype=torch.float64)

    def chain(tokens: Tensor, table: Tensor = table) -> Tensor:
        return table.log()[tokens]

    torch.manual_seed(11)
    for heat, k in ((1.0, None), (0.5, None), (1.5, 2)):
        start = torch.arange(3).repeat(1500)[:, None]
        result = check.call(chain, start, 6, 2, heat, k, torch.Generator().manual_seed(3))
        kept = table >= table.topk(k or 3, dim=-1).values[:, -1:]
        expected = (table ** (1 / heat)) * kept
        pairs = torch.bincount((3 * result[:, :-1] + result[:, 1:]).flatten(), minlength=9)
        shares = pairs.view(3, 3) / pairs.view(3, 3).sum(1, keepdim=True)
        far = (shares - expected / expected.sum(1, keepdim=True)).abs().max()
        check.true(bool(far < 0.07), "as often as its probability says")
with Check("generate", "rows that draw by themselves") as check:

    def coin(tokens: Tensor) -> Tensor:
        return torch.zeros(*tokens.shape, 2)

    draws = check.call(coin, torch.zeros(60, 2, dtype=torch.long), 100, 4)[:, 2:].double()
    centred = 2 * draws - 1
    match = (centred @ centred.T / 100).fill_diagonal_(0).abs().max()
    check.true(match < 0.7, "no two rows draw alike")
    along = (centred.T @ centred / 60).fill_diagonal_(0).abs().max()
    check.true(along < 0.85, "no two steps draw alike")
# END HIDDEN TESTS


# %%
def write(
    start: str, count: int, temperature: float, top_k: int | None = None, seed: int = 0
) -> str:
    """Continue `start` by `count` characters with your model."""
    generator = torch.Generator().manual_seed(seed)
    return decode(
        generate(trained_gpt(), encode(start), count, CONTEXT, temperature, top_k, generator)[0]
    )


for chosen in (0.0, 0.7, 1.5):
    print(f"--- temperature {chosen}\n{write('The while statement', 220, chosen)}\n")

# %% [markdown]
# What to see: at temperature 0, the text runs into a loop. It cannot leave it: the choice depends only on the last 32 characters, so when these come again, everything after them does too. At 0.7 there are English words, and words that look English. At 1.5, spelling falls apart.
#
# ### Known words and distinct words (optional, 5 minutes)
#
# The next cells count two things in 12 texts of 150 characters: how many of the words occur in the training text, and how many distinct words there are. They draw with three seeds. The control is held-out text of the same size.
#
# **Predict.** Which temperature writes the largest share of known words?
#
# <details><summary>A low one, but it repeats itself</summary>Yes. The figure shows both at once.</details>
# <details><summary>1, because the model was trained with it</summary>At 1, the samples have the model's own distribution, with all its errors. Below 1, it avoids what it finds unlikely.</details>
# <details><summary>A high one: it draws rare words more often</summary>It also draws unlikely letters more often, and a single one can turn a word into one that does not exist.</details>

# %% folded=true
# Counts known and distinct words in generated text: click to unfold.
known_words = set("".join(s if s.isalpha() else " " for s in training_text).split())


def words_of(passages: Sequence[str]) -> tuple[float, float]:
    """The share of words that occur in the training text, and the share of distinct words."""
    words = [word for passage in passages for word in _split(passage)]
    known = sum(word in known_words for word in words)
    return known / len(words), len(set(words)) / len(words)


def _split(passage: str) -> list[str]:
    """The whole words of a passage: its first and last may be cut."""
    return "".join(s if s.isalpha() else " " for s in passage).split()[1:-1]


def sampled_words(temperature: float, seed: int) -> tuple[float, float]:
    """`words_of` 12 sampled texts, each from another held-out context."""
    begins = torch.arange(12)[:, None] * 3000 + torch.arange(CONTEXT)
    generator = torch.Generator().manual_seed(seed)
    rows = generate(trained_gpt(), held_out[begins], 150, CONTEXT, temperature, generator=generator)
    return words_of([decode(row) for row in rows[:, CONTEXT:]])


# %%
temperatures = (0.25, 0.5, 0.75, 1.0, 1.5)
measured = torch.tensor([[sampled_words(t, seed) for t in temperatures] for seed in range(3)])
real = words_of([held_out_text[i * 3000 + CONTEXT :][:150] for i in range(12)])
figures.curves(
    temperatures,
    {
        "known words": measured[..., 0].tolist(),
        "distinct words": measured[..., 1].tolist(),
        "known words, held-out text": [real[0]] * 5,
        "distinct words, held-out text": [real[1]] * 5,
    },
    x="temperature",
    y="share of the words",
    title="12 texts of 150 characters: mean and range of 3 seeds",
    bottom=0.0,
)

# %% [markdown]
# What to see: at 0.25, nearly as many words are known as in held-out text, but few are distinct: the same words come again and again, within a text or from one text to the next. At higher temperatures, more words are distinct, and fewer are known. None of the five temperatures matches held-out text in both.

# %% [markdown]
# ### Watch it choose
#
# The next view steps through a text that your model wrote. The bars are what your own `next_token_probabilities` returns before each choice. Move the sliders for temperature and top-k. (Many models use **nucleus sampling** (top-p; Holtzman et al., 2020) in place of top-k: it allows the smallest set of likeliest tokens whose probabilities sum to at least $p$.)

# %%
from transformer_course.widgets import show_generation

beginning = "A list is "
some_tokens = generate(
    trained_gpt(), encode(beginning), 22, CONTEXT, 0.7, generator=torch.Generator().manual_seed(4)
)
with torch.no_grad():
    recorded_logits = trained_gpt()(some_tokens)[0, len(beginning) - 1 : -1]
show_generation(
    next_token_probabilities,
    recorded_logits,
    some_tokens[0],
    symbols,
    title="Your GPT, one character at a time",
)

# %% [markdown]
# **A puzzle.** Set the temperature to 1 and allow all tokens. Step through the text. At which step was the *least* likely character taken? Which settings of top-k in this view would have forbidden it?
#
# <details><summary>Your answer?</summary>In the solved lesson: step 12, the <em>p</em>, with 1.5 %. Every setting but <em>all</em> forbids it: it is only the 23rd likeliest. (On your computer the text may differ.)</details>

# %% [markdown]
# **A good place to stop.** Your GPT writes. What is left is to make it fast, and to compare it with the real thing. (Back later? Run all cells above first.)

# %% [markdown]
# ## 7 · The cache
#
# For each new token, your `generate` processes all tokens of the context again. How much of that is repeated work?
#
# **Predict.** A prompt has 10 tokens, the context length is 1,024, and you generate 100 more. How many token vectors go through the first block?
#
# <details><summary>109: every token but the last, once</summary>That is what a cache achieves.</details>
# <details><summary>About 6,000</summary>Yes: 10 + 11 + … + 109 = 5,950.</details>
# <details><summary>About 1,000: the prompt once for each new token</summary>The new tokens are processed again and again as well.</details>

# %%
print(f"{sum(range(10, 110)):,} token vectors, for {len(range(10, 110))} new tokens")

# %% [markdown]
# Under a causal mask, later tokens cannot influence earlier ones. As long as the whole text fits into the context, each token also keeps its position. Then nothing about an old token changes, and its vectors can be kept.
#
# **Predict.** A new token needs the keys and values of the old ones. Why not their queries?
#
# <details><summary>Queries are cheap to compute again</summary>They cost as much as keys.</details>
# <details><summary>The outputs of old tokens are computed already</summary>Yes. A query is used for its own token's output alone. Keys and values are used by all later tokens.</details>
# <details><summary>Queries change with each new token</summary>The query of an old token depends on nothing that comes later.</details>

# %% [markdown]
# A **key–value cache** keeps the keys and values of earlier tokens, so that each token passes through the blocks only once.
#
# **Exercise** (10 minutes). Write the cache for one block. It is called with the keys and values of the new tokens, and returns those of all tokens so far.
#
# <details><summary>Hint 1</summary>On the first call there is nothing to join.</details>
# <details><summary>Hint 2</summary>Results that were handed out must stay as they are. <code>torch.cat</code> makes a new tensor; writing into an old one changes what somebody else may hold.</details>


# %% exercise KeyValueCache
class KeyValueCache(nn.Module):
    """Keep the keys and values of every call; a module without parameters.

    forward: the new key (batch, heads, new, d_k) and value (batch, heads, new, d_v)
    -> (keys, values), those of all calls so far, the oldest first: (batch, heads, all, d_k) and
    (batch, heads, all, d_v). `new` may differ from call to call, and d_v from d_k.
    It does so in training and in evaluation. What an earlier call returned stays as it was.
    """

    def __init__(self) -> None:
        # BEGIN SOLUTION
        super().__init__()
        self.keys: list[Tensor] = []
        self.values: list[Tensor] = []
        # END SOLUTION

    def forward(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        # BEGIN SOLUTION
        self.keys.append(key)
        self.values.append(value)
        return torch.cat(self.keys, dim=2), torch.cat(self.values, dim=2)
        # END SOLUTION


# %% check KeyValueCache points=2
hint = "join what was kept and what is new along the axis of the tokens, keep it, and return it"
with Check("KeyValueCache", "four calls, in evaluation and in training", hint) as check:
    key, value = numbers(2, 3, 7, 4, seed=1), numbers(2, 3, 7, 5, seed=2)
    pieces = [(0, 3), (3, 4), (4, 6), (6, 7)]
    evaluated, trained = check.build().eval(), check.build().train()
    results = {}
    for mode, cache in (("evaluation", evaluated), ("training", trained)):
        results[mode] = [
            cache.call(key[:, :, a:b], value[:, :, a:b], returns=("keys", "values"))
            for a, b in pieces
        ]
        cache.train()  # a stateful call means something else when it is made again
    check.true(
        not evaluated.parameters(),
        "a cache should have no parameters",
        hint="keep plain tensors: nothing in a cache is learned",
    )
    for mode, returned in results.items():
        for call, ((_, end), (keys, values)) in enumerate(zip(pieces, returned, strict=True), 1):
            told = f"after call {call}, in {mode},"
            check.true(
                keys.shape == (2, 3, end, 4),
                f"{told} keys should have shape (2, 3, {end}, 4), not {tuple(keys.shape)}: "
                f"{end} tokens so far",
            )
            check.true(
                values.shape == (2, 3, end, 5),
                f"{told} values should have shape (2, 3, {end}, 5), not {tuple(values.shape)}: "
                f"{end} tokens so far",
            )
            check.equal(
                keys, key[:, :, :end], f"{told} keys should be those of all calls, in order"
            )
            check.equal(
                values, value[:, :, :end], f"{told} values should be those of all calls, in order"
            )
with Check("KeyValueCache", "two caches, and equal tokens", hint) as check:
    first, second = check.build(), check.build()
    key, value = numbers(2, 1, 2, 3, seed=3), numbers(2, 1, 2, 4, seed=4)
    first.call(key, value, returns=("keys", "values"))
    keys, values = second.call(2 * key, 3 * value, returns=("keys", "values"))
    twice, _ = second.call(2 * key, 3 * value, returns=("keys", "values"))
    second.train()
    check.true(
        keys.shape == key.shape and values.shape == value.shape,
        "a new cache should be empty, whatever another one holds",
        hint="make the cache's own state in __init__: each model layer has a cache by itself",
    )
    check.equal(keys, 2 * key, "a cache should return its own keys")
    check.equal(values, 3 * value, "a cache should return its own values")
    check.equal(
        twice,
        torch.cat([2 * key, 2 * key], 2),
        "tokens that equal earlier ones should be kept as well",
        hint="the same token can come twice: keep every call",
    )
# BEGIN HIDDEN TESTS
with Check("KeyValueCache", "other sizes and dtypes, many calls") as check:
    for batch, heads_of, width_k, width_v, sizes, dtype in (
        (1, 1, 2, 2, [1] * 70, torch.float64),
        (4, 2, 3, 5, [6, 1, 1, 2, 5], torch.float32),
        (3, 5, 4, 1, [2, 2, 2], torch.float64),
        (2, 2, 2, 2, [2, 2, 1500], torch.float64),
        (5, 3, 6, 2, [1, 4], torch.float32),
    ):
        for training in (True, False):
            total = sum(sizes)
            key = numbers(batch, heads_of, width_k, total, seed=5, dtype=dtype).transpose(2, 3)
            value = numbers(batch, heads_of, total, width_v, seed=6, dtype=dtype)
            cache, end = check.build(), 0
            cache = cache.train() if training else cache.eval()
            for new in sizes:
                begin, end = end, end + new
                keys, values = cache.call(
                    key[:, :, begin:end], value[:, :, begin:end], returns=("keys", "values")
                )
                check.equal(keys, key[:, :, :end], "all keys so far")
                check.equal(values, value[:, :, :end], "all values so far")
            check.true(not cache.parameters(), "no parameters")
with Check("KeyValueCache", "from one mode to the other") as check:
    cache, key = check.build(), numbers(2, 3, 6, 4, seed=7)
    for end, switch in ((2, cache.train), (3, cache.eval), (5, cache.train), (6, cache.eval)):
        begin = {2: 0, 3: 2, 5: 3, 6: 5}[end]
        switch()
        keys, values = cache.call(
            key[:, :, begin:end], -key[:, :, begin:end], returns=("keys", "values")
        )
        check.equal(keys, key[:, :, :end], "keys from both modes")
        check.equal(values, -key[:, :, :end], "values from both modes")
# END HIDDEN TESTS


# %% [markdown]
# ### Which keys may a new query attend to?
#
# In training, there are as many queries as keys. With a cache there are fewer queries. Here are six positions, computed in one call, or the last two in a call of their own.

# %%
positions = [str(i) for i in range(6)]
square = torch.ones(6, 6, dtype=torch.bool).tril()
figures.masks({"all six are new": (square, "key", positions)}, "query", positions)
figures.masks(
    {"two are new, four are cached": (square[-2:], "key", positions)}, "query", ["4", "5"]
)

# %% [markdown]
# **Predict.** Four positions are cached, and *one* new token comes. To how many keys may its query attend?
#
# <details><summary>One: its own</summary>Then the new token would know nothing of the text before it.</details>
# <details><summary>Four: the cached ones</summary>A token may attend to itself as well.</details>
# <details><summary>Five: the cached ones and its own</summary>Yes. It is the last row of the mask for five positions.</details>
#
# ### Bug hunt: a friend's attention
#
# PyTorch's attention has an argument for causal masks, `is_causal`. A friend uses it in every call, and compares it with a mask made by hand:


# %%
def friends_attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Causal attention, as a friend writes it."""
    return F.scaled_dot_product_attention(query, key, value, is_causal=True)


some_query, some_key, some_value = (
    numbers(1, 2, 6, 4),
    numbers(1, 2, 6, 4, seed=1),
    numbers(1, 2, 6, 3, seed=2),
)
by_hand = F.scaled_dot_product_attention(some_query, some_key, some_value, square)
difference = (friends_attention(some_query, some_key, some_value) - by_hand).abs().max().item()
print(f"six queries, six keys: largest difference {difference:.0e}")

# %% [markdown]
# The numbers agree, and a model trains with it without trouble. But lesson 2 warned of one case in which `is_causal=True` surprises. Which one? Would the comparison above have revealed it?
#
# **Exercise** (20 minutes). Write a *test* of causal attention. It gets a function like `friends_attention`, and says whether it is right, with cached keys and without. A good test returns False for every fault, and True for every right version, however it is written.
#
# <details><summary>Hint 1</summary>Compute the output of all positions at once, with a mask that you trust. What should come out if <code>attend</code> gets only the last queries, but all keys and values? Any fixed inputs will do, such as those of the cell above.</details>
# <details><summary>Hint 2</summary>Faults can hide. Try one new query, several after cached keys, and as many queries as keys.</details>
# <details><summary>Hint 3</summary>Right versions differ by rounding. <code>torch.allclose</code> allows for it, and is False as soon as an output is NaN.</details>


# %% exercise test_of_cached_mask
def test_of_cached_mask(attend: Callable[[Tensor, Tensor, Tensor], Tensor]) -> bool:
    """Return True if `attend` is causal attention, with cached keys and without; else False.

    attend(query, key, value): queries (batch, heads, new, d_k) of the *last* `new` positions,
    keys (batch, heads, length, d_k) and values (batch, heads, length, d_v) of all positions
    -> (batch, heads, new, d_v). It should be right for one new position, for several, and for
    all of them (new = length: nothing is cached).
    """
    # BEGIN SOLUTION
    query, key, value = (
        numbers(2, 3, 6, 4),
        numbers(2, 3, 6, 4, seed=1),
        numbers(2, 3, 6, 5, seed=2),
    )
    allowed = torch.ones(6, 6, dtype=torch.bool).tril()
    expected = F.scaled_dot_product_attention(query, key, value, allowed)
    for new in (1, 2, 6):
        if not torch.allclose(attend(query[:, :, -new:], key, value), expected[:, :, -new:]):
            return False
    return True
    # END SOLUTION


# %% check test_of_cached_mask points=2
hint = "compare with a result that you trust, for one new query, for several, and for all"
with Check("test_of_cached_mask", "right attention and wrong attention", hint) as check:

    def masked(allow):
        def attend(query, key, value, allow=allow):
            new, length = query.shape[-2], key.shape[-2]
            at, keys = torch.arange(length - new, length)[:, None], torch.arange(length)
            allowed = allow(at, keys, new, length).expand(new, length)
            scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
            weights = scores.masked_fill(~allowed, -math.inf).softmax(-1).nan_to_num()
            return weights @ value

        return attend

    def query_by_query(query, key, value):
        before = key.shape[-2] - query.shape[-2]
        outputs = []
        for i in range(query.shape[-2]):
            end = before + i + 1
            row = query[..., i : i + 1, :], key[..., :end, :], value[..., :end, :]
            outputs.append(F.scaled_dot_product_attention(*row))
        return torch.cat(outputs, -2)

    def filled_up(query, key, value):
        before = key.shape[-2] - query.shape[-2]
        every = torch.cat([torch.zeros_like(key[..., :before, :]), query], -2)
        return F.scaled_dot_product_attention(every, key, value, is_causal=True)[..., before:, :]

    def last_query_first(query, key, value):
        allowed = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool)
        allowed = allowed.tril(key.shape[-2] - query.shape[-2])
        return F.scaled_dot_product_attention(query, key, value, allowed).flip(-2)

    right = {
        masked(lambda at, keys, new, length: keys <= at): "the last rows of the causal mask",
        query_by_query: "a loop that gives each query its own keys",
        filled_up: "a square mask, of which the last rows are kept",
    }
    wrong = {
        masked(lambda at, keys, new, length: keys <= at - at[0]): "the friend's attention",
        masked(lambda at, keys, new, length: keys < length): "attention without a mask",
        masked(lambda at, keys, new, length: keys <= at + 1): "a mask one diagonal too wide",
        masked(
            lambda at, keys, new, length: keys < at
        ): "queries that may not attend to themselves",
        masked(
            lambda at, keys, new, length: keys >= at
        ): "a mask that allows the future, not the past",
        masked(lambda at, keys, new, length: (keys >= at[0]) & (keys <= at)): (
            "attention that ignores all cached keys"
        ),
        masked(lambda at, keys, new, length: (keys <= at - at[0]) | (torch.tensor(new == 1))): (
            "attention that is right for a single new query, and with nothing cached, but not "
            "for several queries after cached keys"
        ),
        masked(lambda at, keys, new, length: (keys <= at) | torch.tensor(1 < new < length)): (
            "attention without a mask for several new queries after cached keys"
        ),
        masked(lambda at, keys, new, length: (keys <= at) | torch.tensor(new == length)): (
            "attention without a mask where nothing is cached"
        ),
        masked(
            lambda at, keys, new, length: (keys <= at) & ((keys == 0) | torch.tensor(new > 1))
        ): ("the friend's attention for a single new query; a right one for several"),
        masked(lambda at, keys, new, length: (keys < at[0]) | (keys == at)): (
            "new queries that attend to the cached keys and their own, not to each other"
        ),
        masked(lambda at, keys, new, length: (keys <= at) & ((keys > 0) | (at[0] == 0))): (
            "attention that loses the first cached key"
        ),
        last_query_first: "attention that returns the last query's output first",
    }
    for attend in (*right, *wrong):  # all answers together tell which mistake it is
        check.call(attend, returns=bool)
    for attend, told in right.items():
        check.true(check.call(attend, returns=bool), f"should return True for {told}")
    for attend, told in wrong.items():
        check.true(not check.call(attend, returns=bool), f"should return False for {told}")
# BEGIN HIDDEN TESTS
with Check("test_of_cached_mask", "more attention that is right") as check:

    def of_pytorch(query, key, value):
        allowed = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool)
        allowed = allowed.tril(key.shape[-2] - query.shape[-2])
        return F.scaled_dot_product_attention(query, key, value, allowed)

    def with_numbers_added(query, key, value):
        new, length = query.shape[-2], key.shape[-2]
        forbidden = torch.full((new, length), -math.inf, dtype=query.dtype)
        scores = torch.einsum("...qd,...kd->...qk", query, key) * query.shape[-1] ** -0.5
        weights = (scores + forbidden.triu(length - new + 1)).softmax(-1)
        return torch.einsum("...qk,...kd->...qd", weights, value)

    for attend in (of_pytorch, with_numbers_added):
        check.true(check.call(attend, returns=bool), "should return True for right attention")
with Check("test_of_cached_mask", "more attention that is wrong") as check:

    def only_the_mask_of(change):
        def attend(query, key, value, change=change):
            new, length = query.shape[-2], key.shape[-2]
            allowed = change(torch.ones(new, length, dtype=torch.bool), new, length)
            scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
            weights = scores.masked_fill(~allowed, -math.inf).softmax(-1).nan_to_num()
            return weights @ value

        return attend

    def turned(query, key, value):
        """Keys and values in reverse order, as if the newest came first."""
        allowed = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool)
        allowed = allowed.tril(key.shape[-2] - query.shape[-2])
        return F.scaled_dot_product_attention(query, key.flip(-2), value.flip(-2), allowed)

    def all_nan(query, key, value):
        return query.sum(-1, keepdim=True) * value[..., : query.shape[-2], :] * math.nan

    mutants = (
        only_the_mask_of(lambda full, new, length: full.tril(length - new - 1)),
        only_the_mask_of(lambda full, new, length: full.tril(length - new + 1)),
        only_the_mask_of(lambda full, new, length: full.triu(length - new)),
        only_the_mask_of(lambda full, new, length: full.tril(1 if new < length else 0)),
        turned,
        all_nan,
    )
    for attend in mutants:
        check.true(not check.call(attend, returns=bool), "should return False for wrong attention")
# END HIDDEN TESTS


# %% [markdown]
# Now let your test judge the friend's function. “Right” uses the last two rows of the causal mask. The values are an identity matrix, so the output *is* the attention weights. Dots are weights above 0.

# %%
identity = torch.eye(6, dtype=torch.float64).expand(1, 2, 6, 6)
last_two = some_query[:, :, -2:]
right = F.scaled_dot_product_attention(last_two, some_key, identity, square[-2:])
friends = friends_attention(last_two, some_key, identity)
figures.masks(
    {"the friend's": (friends[0, 0], "key", positions), "right": (right[0, 0], "key", positions)},
    "query",
    ["4", "5"],
)
print("your test accepts the friend's function:", test_of_cached_mask(friends_attention))

# %% [markdown]
# What to see: as in lesson 2, `is_causal=True` aligns the mask with the *upper left* corner. Query 4 attends to key 0 alone, and query 5 to keys 0 and 1. A single new query would attend only to the first token. With as many queries as keys, both corners agree. So training goes well, and only generation with a cache goes wrong. PyTorch documents this, and has a function for the other corner:

# %%
from torch.nn.attention.bias import causal_lower_right

outputs = F.scaled_dot_product_attention(last_two, some_key, identity, causal_lower_right(2, 6))
print(f"causal_lower_right: largest difference {(outputs - right).abs().max():.0e}")

# %% [markdown]
# **From the lecture**: “self-attention in transformer” in *Transformer*, STATS403, lecture 7, draws the square mask: all you need as long as nothing is cached.
#
# ### Back to your block and your model
#
# **Predict.** Three tokens have been processed, and their keys and values are cached. The next call gets one token. Which position does it have?
#
# <details><summary>Position 0, because it is the first of this call</summary>Then the token would get the position vector of the first token of a text.</details>
# <details><summary>Position 4, because it is the fourth token</summary>Counted from 0, the fourth token has position 3.</details>
# <details><summary>Position 3, and the call must say so</summary>Yes: a single token does not show its position. That is what <code>start</code> is for.</details>
#
# **Exercise** (20 minutes). Go back to parts 3 and 4. In your `DecoderBlock`, use `cache`. In your `GPT`, use `caches` and `start`. Run both cells again, with their old checks: all of them should still pass. Then run the two checks below.
#
# <details><summary>Hint 1</summary>In the block: which shape does the cache want, and where does your code have it? From where on must you use what the cache returns?</details>
# <details><summary>Hint 2</summary>There are fewer queries than keys now. Which rows of the causal mask for all positions do you need?</details>
# <details><summary>Hint 3</summary>In the model: which positions do the first and the last token of a call have? Which cache belongs to which block?</details>
# <details><summary>Hint 4</summary><code>key, value = cache(key, value)</code>, once, after the heads are split. <code>torch.ones(new, length, dtype=torch.bool).tril(length - new)</code> holds the last <code>new</code> rows of the mask for <code>length</code> keys. The positions of <code>new</code> tokens are <code>torch.arange(start, start + new)</code>.</details>

# %% check DecoderBlock_cache points=2
hint = "with a cache: key, value = cache(key, value), once, after the heads are split; then attend"
with Check("DecoderBlock", "what the cache gets", hint) as check:
    block, x, weights = check.build(6, 3, 4).double(), numbers(2, 5, 6), block_weights(6, 4)
    seen = []

    def record(key: Tensor, value: Tensor, seen: list = seen) -> tuple[Tensor, Tensor]:
        seen.append((key.detach().clone(), value.detach().clone()))
        return key, value

    sevens = {"w_value.weight": torch.zeros(6, 6), "w_value.bias": torch.full((6,), 7.0)}
    block.load({**weights, **sevens})  # all values are 7
    block.call(x, record)
    made = [len(seen)]
    for module, tokens in ((block, x[:, :1]), (block.eval(), x), (block, x[:, :1])):
        module.call(tokens, record)
        made.append(len(seen) - sum(made))
    check.true(any(made), "the cache should be called")
    for times, told in zip(
        made,
        (
            "in training, with five tokens",
            "in training, with one token",
            "in evaluation, with five tokens",
            "in evaluation, with one token",
        ),
        strict=True,
    ):
        check.true(times > 0, f"the cache should be called {told}, too")
    check.equal(
        made[0],
        1,
        "the cache should be called once in each forward pass",
        hint="key, value = cache(key, value): a second call would cache the same tokens again",
    )
    (keys, values) = seen[0]
    for name, given in (("keys", keys), ("values", values)):
        check.true(
            given.shape == (2, 3, 5, 2),
            f"the cache should get {name} of shape (2, 3, 5, 2), (batch, heads, length, d_head), not "
            f"{tuple(given.shape)}",
            hint="split the heads first, then call the cache",
        )
    all_sevens = torch.full((2, 3, 5, 2), 7.0, dtype=torch.float64)
    check.equal(
        values,
        all_sevens,
        "the cache should get keys first, then values, which are all 7 here",
        hint="cache(key, value): the projected keys, then the projected values",
    )
    check.true(
        not torch.equal(keys, all_sevens), "the cache should get keys first, then values", hint=hint
    )
with Check("DecoderBlock", "tokens that come after cached ones", hint) as check:
    block, x = check.build(6, 3, 4).double(), numbers(2, 7, 6)
    block.load(block_weights(6, 4))
    seen, handed = [], []

    def record(key: Tensor, value: Tensor, seen: list = seen) -> tuple[Tensor, Tensor]:
        seen.append((key.detach().clone(), value.detach().clone()))
        return key, value

    def all_seven(
        key: Tensor, value: Tensor, seen: list = seen, handed: list = handed
    ) -> tuple[Tensor, Tensor]:
        handed.append(key.detach().clone())
        return seen[0]  # keys and values of all seven tokens

    plain, whole = block.call(x), block.call(x, record)
    last_three, last, middle = (
        block.call(x[:, 4:], all_seven),
        block.call(x[:, 6:], cache=all_seven),
        block.eval().call(x[:, 4:], all_seven),
    )
    check.equal(
        whole,
        plain,
        "a cache that returns the new keys and values alone should give the same as no cache",
        hint="the causal mask is needed with a cache as well",
    )
    check.shape(last_three, batch=2, length=3, d_model=6)
    check.equal(
        last,
        whole[:, 6:],
        "one token after six cached ones should give the same as the last of seven tokens",
        hint="use the keys and values that the cache returns: the new token may attend to all of "
        "them",
    )
    check.equal(
        last_three,
        whole[:, 4:],
        "three tokens after four cached ones should give the same as the last of seven tokens",
        hint="the first of the three may attend to five keys, the last to all seven",
    )
    check.equal(middle, whole[:, 4:], "evaluation should give the same as training")
    check.equal(
        handed[0],
        seen[0][0][:, :, 4:],
        "the cache should get the keys of the three new tokens, and no others",
        hint="pass the keys of x alone: the cache adds the earlier ones",
    )
# BEGIN HIDDEN TESTS
with Check("DecoderBlock", "pieces of a row, one after another") as check:
    for width, many_heads, inner, sizes, dtype in (
        (6, 2, 5, [4, 1, 1, 3], torch.float64),
        (8, 4, 3, [1] * 6, torch.float64),
        (4, 1, 9, [2, 5], torch.float32),
        (9, 3, 2, [1, 7], torch.float64),
    ):
        block = check.build(width, many_heads, inner)
        block = block.double() if dtype == torch.float64 else block
        block.load({n: w.to(dtype) for n, w in block_weights(width, inner, 5).items()})
        x = numbers(3, sum(sizes), width, seed=8, scale=2.0, dtype=dtype)
        for training in (True, False):
            block = block.train() if training else block.eval()
            whole, held, end = block.call(x).detach(), [], 0

            def grow(key: Tensor, value: Tensor, held: list = held) -> tuple[Tensor, Tensor]:
                held.append((key.detach().clone(), value.detach().clone()))
                keys, values = zip(*held, strict=True)
                return torch.cat(keys, 2), torch.cat(values, 2)

            for calls, new in enumerate(sizes, 1):
                begin, end = end, end + new
                part = block.call(x[:, begin:end], grow).detach()
                check.equal(part, whole[:, begin:end], "as in the whole row")
                check.equal(len(held), calls, "one call of the cache")
with Check("DecoderBlock", "dropout on the weights of cached keys too") as check:
    block = check.build(4, 2, 6, 0.5).double().train()
    silent = {name: torch.zeros_like(w) for name, w in block_weights(4, 6).items()}
    block.load({**silent, "w_output.weight": torch.eye(4)})

    def two_ones(key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        return F.pad(key, (0, 0, 2, 0)), F.pad(value, (0, 0, 2, 0), value=1.0)

    result = block.call(torch.zeros(200, 1, 4, dtype=torch.float64), two_ones).detach()
    thirds = result * 3 / 4
    check.true(bool(((thirds - thirds.round()).abs() < 1e-9).all()), "0, 4/3 or 8/3")
    check.true(bool((thirds.round() == 1).any() and (thirds.round() == 2).any()), "one or both")
# END HIDDEN TESTS


# %% check GPT_cache points=2
with Check("GPT", "tokens that start at a later position") as check:
    tokens = torch.tensor([[3, 0, 9, 9], [10, 4, 4, 0]])
    model = check.build(11, 9, 6, 2, 3, 4).double()
    parts = [block_weights(6, 4, seed) for seed in (1, 2)]
    state = {f"blocks.{i}.{n}": w for i, part in enumerate(parts) for n, w in part.items()}
    state |= {"tokens.weight": numbers(11, 6, seed=70), "positions.weight": numbers(9, 6, seed=71)}
    state |= {"norm.weight": numbers(6, seed=72), "norm.bias": numbers(6, seed=73)}
    model.load(state, whole=False)
    begin, later, end = (
        model.call(tokens),
        model.call(tokens, start=3),
        model.call(tokens, None, 5),
    )
    model.load({**state, "positions.weight": state["positions.weight"].roll(-3, 0)}, whole=False)
    moved = model.call(tokens)
    check.true(
        not torch.equal(begin, later),
        "start=3 should give other logits than start=0: the positions differ",
        hint="the first token has position `start`, the next one start + 1, …",
    )
    check.equal(
        later,
        moved,
        "start=3 should give the four tokens positions 3, 4, 5 and 6",
        hint="the first token has position `start`, the next one start + 1, …; caches or not",
    )
    model.load({**state, "positions.weight": state["positions.weight"].roll(-5, 0)}, whole=False)
    check.equal(end, model.call(tokens), "start=5 should give them positions 5, 6, 7 and 8")
    model.raises(tokens, start=6, naming=(10, 9))
with Check("GPT", "a cache for each block") as check:
    tokens = torch.tensor([[3, 0, 9, 9, 1, 6, 2], [10, 4, 4, 0, 7, 8, 5]])
    model = check.build(11, 9, 6, 3, 2, 4).double()
    parts = [block_weights(6, 4, seed) for seed in (1, 2, 3)]
    state = {f"blocks.{i}.{n}": w for i, part in enumerate(parts) for n, w in part.items()}
    state |= {"tokens.weight": numbers(11, 6, seed=70), "positions.weight": numbers(9, 6, seed=71)}
    state |= {"norm.weight": numbers(6, seed=72), "norm.bias": numbers(6, seed=73)}
    model.load(state, whole=False)
    order, seen, handed = [], {}, []

    def recorder(i: int, order: list = order, seen: dict = seen) -> Callable:
        def record(key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
            order.append(i)
            seen[i] = key.detach().clone(), value.detach().clone()
            return key, value

        return record

    def of_all_seven(i: int, handed: list = handed, seen: dict = seen) -> Callable:
        def give(key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
            handed.append((i, key.shape[2]))
            return seen[i]  # keys and values of all seven tokens

        return give

    recorders = [recorder(i) for i in range(3)]
    plain, whole, orders = model.call(tokens), model.call(tokens, recorders), [[*order]]
    for module, rows, start in ((model, tokens[:, :2], 6), (model.eval(), tokens, 0)):
        order.clear()
        module.call(rows, recorders, start)
        orders.append([*order])
    model.train()
    check.true(any(orders), "the caches should be called", hint="pass caches[i] to block i")
    for called, told in zip(orders, ("at start=0", "at start=6", "in evaluation"), strict=True):
        check.true(
            len(called) > 0,
            f"the caches should be called {told}, too",
            hint="pass caches[i] to block i",
        )
    known = {
        (0, 0, 0): "You pass the first cache to every block: block i gets caches[i].",
        (2, 2, 2): "You pass the last cache to every block: block i gets caches[i].",
        (0,): "Only the first of your blocks gets a cache: block i gets caches[i].",
        (2,): "Only the last of your blocks gets a cache: block i gets caches[i].",
        (2, 1, 0): "You pass the caches in reverse order: block i gets caches[i].",
    }
    check.equal(
        orders[0],
        [0, 1, 2],
        "each cache should be called once, in the order of the blocks: caches[0], then caches[1], …",
        hint=known.get(tuple(orders[0]), "pass caches[i] to block i"),
    )
    check.equal(whole, plain, "caches that hold nothing else should give the same as no caches")
    caches = [of_all_seven(i) for i in range(3)]
    last, last_three = (
        model.call(tokens[:, 6:], caches, 6),
        model.call(tokens[:, 4:], caches=caches, start=4),
    )
    check.equal(
        handed,
        [(0, 1), (1, 1), (2, 1), (0, 3), (1, 3), (2, 3)],
        "each cache should get the new tokens alone: one, then three",
        hint="`tokens` holds the new tokens: pass all of them through the blocks, and no others",
    )
    check.equal(
        last,
        whole[:, 6:],
        "the last token, after six cached ones, should get the logits that it gets in the whole row",
        hint="positions begin at start, and block i attends with caches[i]",
    )
    check.equal(
        last_three,
        whole[:, 4:],
        "three tokens after four cached ones should get the logits that they get in the whole row",
        hint="positions begin at start, and block i attends with caches[i]",
    )
    model.raises(tokens[:, :1], caches, 9, naming=(10, 9))
# BEGIN HIDDEN TESTS
with Check("GPT", "a row in pieces, with caches") as check:
    for depth, many_heads, sizes, dtype, seed in (
        (1, 3, [5, 1, 2], torch.float64, 1),
        (4, 1, [1] * 7, torch.float64, 2),
        (2, 2, [3, 6], torch.float32, 3),
    ):
        model = check.build(7, 9, 6, depth, many_heads, 5)
        model = model.double() if dtype == torch.float64 else model
        parts = [block_weights(6, 5, seed + i) for i in range(depth)]
        state = {f"blocks.{i}.{n}": w for i, part in enumerate(parts) for n, w in part.items()}
        state |= {
            "tokens.weight": numbers(7, 6, seed=70),
            "positions.weight": numbers(9, 6, seed=71),
        }
        state |= {"norm.weight": numbers(6, seed=72), "norm.bias": numbers(6, seed=73)}
        model.load({name: weight.to(dtype) for name, weight in state.items()}, whole=False)
        draw = torch.Generator().manual_seed(seed)
        tokens = torch.randint(7, (3, sum(sizes)), generator=draw)

        def growing() -> Callable:
            held = []

            def grow(key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
                held.append((key.detach().clone(), value.detach().clone()))
                keys, values = zip(*held, strict=True)
                return torch.cat(keys, 2), torch.cat(values, 2)

            return grow

        for training in (True, False):
            model = model.train() if training else model.eval()
            whole, caches, end = model.call(tokens).detach(), [growing() for _ in range(depth)], 0
            for new in sizes:
                begin, end = end, end + new
                part = model.call(tokens[:, begin:end], caches, begin).detach()
                check.equal(part, whole[:, begin:end], "as in the whole row")
        model.raises(tokens[:, :2], start=8, naming=(10, 9))
        model.raises(tokens[:, :1], caches, 9, naming=(10, 9))
# END HIDDEN TESTS


# %% [markdown]
# Your trained model is still an object of the *old* class, from before your change. So load its parameters from the file into a new one. Generation with a cache is a loop that begins with the **prefill**: one call with the whole prompt. Each later call gets one token, and `start` is that token's position.


# %%
@torch.no_grad()
def generate_cached(
    model: Callable[..., Tensor],
    num_layers: int,
    tokens: Tensor,
    count: int,
    temperature: float = 1.0,
    generator: torch.Generator | None = None,
) -> Tensor:
    """As `generate`, with a cache for each block; all tokens must fit into the context."""
    caches = [KeyValueCache() for _ in range(num_layers)]
    new, start = tokens, 0
    for _ in range(count):
        logits = model(new, caches, start)[:, -1]
        start += new.shape[1]
        probabilities = next_token_probabilities(logits, temperature)
        new = torch.multinomial(probabilities, 1, generator=generator)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


@functools.cache
def saved_model() -> GPT:
    """The model in the file."""
    model = GPT(len(symbols), CONTEXT + 1, 64, 2, 2, 256).eval()
    model.load_state_dict(torch.load(path, weights_only=True))
    return model


prompt = encode("A list is ")
plain = generate(
    trained_gpt(), prompt, 22, CONTEXT, 0.7, generator=torch.Generator().manual_seed(4)
)
fast = generate_cached(
    saved_model(), 2, prompt, 22, 0.7, generator=torch.Generator().manual_seed(4)
)
print(repr(decode(fast[0])))
print("the same text without a cache:", torch.equal(plain, fast))

# %% [markdown]
# The same text does not prove the same logits. So compare the logits, in float64, for tokens that come in pieces of 10, 1, 4 and 17. There are two controls: the last 17 with empty caches, and the last 17 without `start`.


# %%
@functools.cache
def exact_model() -> GPT:
    """The same model in float64."""
    model = GPT(len(symbols), CONTEXT + 1, 64, 2, 2, 256).double().eval()
    model.load_state_dict(saved_model().state_dict())
    return model


with torch.no_grad():
    at_once = exact_model()(fast)
    some_caches = [KeyValueCache(), KeyValueCache()]
    pieces = [
        exact_model()(fast[:, a:b], some_caches, a)
        for a, b in ((0, 10), (10, 11), (11, 15), (15, 32))
    ]
    no_keys = exact_model()(fast[:, 15:], [KeyValueCache(), KeyValueCache()], 15)
    some_caches = [KeyValueCache(), KeyValueCache()]
    exact_model()(fast[:, :15], some_caches)
    no_start = exact_model()(fast[:, 15:], some_caches)
for name, some_logits in (
    ("in pieces", torch.cat(pieces, 1)),
    ("empty caches", no_keys),
    ("no start", no_start),
):
    difference = (some_logits - at_once[:, -some_logits.shape[1] :]).abs().max().item()
    print(f"{name:13} largest difference of a logit: {difference:.0e}")

# %% [markdown]
# What to see: in pieces, the logits agree up to rounding errors. Without the old keys and values, or with positions that begin again at 0, they differ by up to 5 and 6, respectively. Neither mistake raises an error.
#
# ### Which positions does each call compute?

# %%
from transformer_course.widgets import show_cached


def watched(model: nn.Module, calls: list[tuple[int, int]]) -> Callable[..., Tensor]:
    """The model, and a note in `calls` of the positions each call computes: (start, stop)."""

    def forward(
        tokens: Tensor, caches: Sequence[nn.Module] | None = None, start: int = 0
    ) -> Tensor:
        calls.append((start, start + tokens.shape[1]))
        return model(tokens, caches, start)

    return forward


calls, cached_calls = [], []
plain = generate(watched(saved_model(), calls), prompt, 12, CONTEXT, 0.0)
generate_cached(watched(saved_model(), cached_calls), 2, prompt, 12, 0.0)
computed = [shown(symbols[i]) for i in plain[0, :-1].tolist()]
show_cached(calls, cached_calls, computed, title="Positions that each call computes")

# %% [markdown]
# **A puzzle.** Step through the calls. How many positions are computed in all, without a cache and with it? Which call of the cached run does the most work?
#
# <details><summary>Your answer?</summary>186 without a cache (10 + 11 + … + 21), and 21 with it. The first cached call, the prefill, processes the 10 tokens of the prompt, each later one a single token.</details>

# %% [markdown]
# ### Your GPT in a page (optional, 10 minutes)
#
# In the next view, your trained model computes in the page itself, for any text of up to 32 characters. A switch is a zero ablation (lesson 7).
#
# The **logit lens** (nostalgebraist, 2020) reads the residual stream of a language model after the embeddings, or after any block: the final norm and the output layer turn the stream into logits, as if the model ended there.
#
# **Predict.** Read the stream right after the embeddings. At each position, which token is likeliest?
#
# <details><summary>The one that most often comes next</summary>A separate output layer could hold that. Here it is the table of tokens again.</details>
# <details><summary>The token just read</summary>Yes. The stream is the sum of that token's embedding and the position's. Your output layer is the table of tokens, and the dot product of an embedding with itself is usually the largest.</details>
# <details><summary>None: all are about equally likely</summary>That would need dot products of about the same size. The embedding's dot product with itself is larger than with the others.</details>

# %%
from transformer_course.widgets import show_gpt

explorer = show_gpt(trained_gpt(), encode, decode, prompt="The while stateme", context=CONTEXT)
explorer.show()

# %% [markdown]
# What to see, in the solved lesson: the lens reads *e* after the embeddings (99.4 %), and *n* after block 0 (45.1 %). After block 1 it reads the model's own answer: *n* (94.2 %). Choose other tokens above the bars: does your prediction hold?
#
# **A puzzle.** Type *The while stateme*, with temperature 1 and top-k *all*. Switch each of the eight parts off alone, with *all on* in between. Which one makes the model predict *e*, the token just read?
#
# <details><summary>Answer for the solved lesson; in your model another part may do it, or none</summary>The feed-forward network of block 0: <em>e</em> 29.7 %. The lens shows why: after block 0 it still reads <em>e</em>. The likeliest tokens without another part:<br>block 0: attention <em>n</em> 31.7 %, head 0 <em>n</em> 39.4 %, head 1 <em>r</em> 36.0 %;<br>block 1: attention <em>n</em> 93.4 %, feed-forward <em>n</em> 48.5 %, head 0 <em>n</em> 95.3 %, head 1 <em>n</em> 91.4 %.<br>This holds for this text: on <em>This is a functio</em>, the answer is then <em>h</em>, not <em>o</em>.</details>
#
# **Predict.** Press *Back to the prompt*, *Next token*, then switch a head off. How many positions does each call compute?
#
# <details><summary>1, then 1</summary>The cached keys and values are those of the model before the switch.</details>
# <details><summary>1, then all 18</summary>Yes: the cache holds the other 17. A switch changes the model, so its keys and values are computed anew.</details>
# <details><summary>18, then 18</summary>The first 17 positions are cached, and no later token changes them.</details>
#
# To keep the page, in a new cell: `Path("my_gpt.html").write_text(explorer.to_html(), encoding="utf-8")`.

# %% [markdown]
# ### Time for one more token
#
# How long does *one* more token take, after 64, 128, … 1,000 others? For this measurement the weights are random, and the context length is 1,024.
#
# **Predict.** With a cache, each block computes one new vector, not all of them again. Does the time still grow with the length of the text?
#
# <details><summary>No: it is the same work for every token</summary>The linear layers do the same work. But the new query attends to all keys so far, and their number grows.</details>
# <details><summary>Yes, slowly: attention to more keys</summary>Yes. One query by n keys, instead of n queries by n keys. In so small a model, the measurement may hardly show it. (Your cache also copies all keys and values in each call, with <code>torch.cat</code>.)</details>
# <details><summary>Yes, and it grows as fast as without a cache</summary>Without a cache, all n tokens pass all layers again, and attention compares n by n.</details>


# %%
# Measures time: the numbers differ from run to run
LONG = (64, 128, 256, 512, 1000)
torch.manual_seed(0)
long_model = GPT(len(symbols), 1024, 64, 2, 2, 256).eval()


@torch.no_grad()
def milliseconds(length: int, tokens: int, *, cached: bool) -> float:
    """The shortest time for one of `tokens` in a row, the first of them after `length` others."""
    caches, times = None, []
    if cached:
        caches = [KeyValueCache(), KeyValueCache()]
        long_model(training_codes[None, :length], caches)
    for end in range(length + 1, length + 1 + tokens):
        start = end - 1 if cached else 0
        begin = time.perf_counter()
        long_model(training_codes[None, start:end], caches, start)
        times.append(1000 * (time.perf_counter() - begin))
    return min(times)


@functools.cache  # measures in its first call
def three_measurements(*, cached: bool) -> list[list[float]]:
    """Three times for each length, of 21 tokens with a cache and of 3 without: (run, length)."""
    tokens = 21 if cached else 3
    milliseconds(1000, tokens, cached=cached)  # the first call is slower
    return [[milliseconds(n, tokens, cached=cached) for n in LONG] for _ in range(3)]


def multiplications(new: int, length: int) -> int:
    """How many the matrix products need for `new` tokens, each with scores for `length` keys."""
    linear_layers = 2 * (4 * 64 * 64 + 2 * 64 * 256) + len(symbols) * 64
    return new * (linear_layers + 2 * 2 * 64 * length)


measured_times = {
    "without a cache": three_measurements(cached=False),
    "with a cache": three_measurements(cached=True),
}
factors = {
    "without a cache": multiplications(1001, 1001) / multiplications(65, 65),
    "with a cache": multiplications(1, 1001) / multiplications(1, 65),
}
print("After 1,000 tokens, compared with 64:")
for name, each in measured_times.items():
    first, *_between, last = torch.tensor(each).mean(0).tolist()
    print(f"{name:15} {factors[name]:4.1f} times the multiplications, {last / first:4.1f} the time")
print(f"with a cache, after a single token: {milliseconds(1, 21, cached=True):.2f} milliseconds")
figures.curves(
    LONG,
    measured_times,
    x="tokens so far",
    y="milliseconds for one token",
    title="One more token: mean and range of 3 measurements",
    logarithmic="xy",
)

# %% [markdown]
# What to see: without a cache, the multiplications grow 46-fold. In several recorded runs, the time grew 28- to 190-fold. (Scaling, mask and softmax, not counted here, took 30 to 60 % of the time.) With a cache, the multiplications grow threefold, but the time much less.
#
# <details><summary>Why does the time grow so little?</summary>The fixed cost of each operation hides most of the growth. Even a call after a <em>single</em> token takes more than half as long as one after 1,000.</details>
#
# **Predict.** GPT-3's cache has keys and values of 12,288 features in each of 96 blocks, at two bytes per feature. How large is it for *one* text of 2,048 tokens?
#
# <details><summary>About 50 megabytes</summary>Those are the keys of a single block, without values.</details>
# <details><summary>About 10 gigabytes</summary>Yes: 2 · 96 · 12,288 · 2,048 · 2 bytes are 9.7 gigabytes.</details>
# <details><summary>About 350 gigabytes</summary>That is the model itself: 175 billion parameters at two bytes.</details>

# %% [markdown]
# ## 8 · The real thing
#
# **PyTorch.** Without dropout, your block computes what PyTorch's *encoder* layer computes with `norm_first=True`, `activation="gelu"` and a causal mask. `nn.TransformerDecoderLayer` has a second attention (lesson 11). `pytorch_block` (part 3) copies your parameters.

# %%
torch.manual_seed(0)
one_block = DecoderBlock(16, 4, 40).double()
for part in one_block.parameters():
    nn.init.normal_(part, std=0.3)
theirs = pytorch_block(one_block.state_dict(), num_heads=4).eval()
some_x = numbers(2, 7, 16)
upper = torch.ones(7, 7, dtype=torch.bool).triu(1)  # PyTorch's module: True = may not attend
difference = (one_block.eval()(some_x) - theirs(some_x, src_mask=upper)).abs().max().item()
print(f"your block and PyTorch's layer: largest difference {difference:.0e}")

# %% [markdown]
# **GPT-2.** The smallest GPT-2 has 124,439,808 parameters. Count yours, without the memory for them: on PyTorch's `meta` device, tensors have a shape but no data.

# %%
with torch.device("meta"):
    gpt2 = GPT(50257, 1024, 768, 12, 12, 3072)
print(f"GPT-2, by your arithmetic: {gpt_parameters(50257, 1024, 768, 12):,}")
print(f"GPT-2, by your class:      {sum(part.numel() for part in gpt2.parameters()):,}")

# %% [markdown]
# **Hugging Face.** If the library `transformers` is installed, its `GPT2LMHeadModel` gets the parameters of your trained model. (The *LM head* computes the logits: here it is the table of tokens.) Three things differ. Its class `Conv1D` is a linear layer whose weight is transposed. Queries, keys and values come from one layer with three times as many outputs. And the default nonlinearity is the tanh approximation; `activation_function="gelu"` asks for the exact one. The folded cell copies the parameters.


# %% folded=true
# Gives Hugging Face's GPT-2 your parameters, and computes its logits: click to unfold.
@torch.no_grad()
def hugging_face(model: GPT, tokens: Tensor, num_heads: int) -> Tensor:
    """The logits of `GPT2LMHeadModel` with the parameters of `model`."""
    library = importlib.import_module("transformers")
    own, depth = model.state_dict(), len(model.blocks)
    sizes = {"vocab_size": len(own["tokens.weight"]), "n_positions": len(own["positions.weight"])}
    config = library.GPT2Config(
        **sizes,
        n_embd=own["tokens.weight"].shape[1],
        n_layer=depth,
        n_head=num_heads,
        n_inner=own["blocks.0.linear1.weight"].shape[0],
        activation_function="gelu",
        bos_token_id=None,
        eos_token_id=None,
    )
    twin = library.GPT2LMHeadModel(config).to(own["tokens.weight"].dtype).eval()
    state = {"wte.weight": own["tokens.weight"], "wpe.weight": own["positions.weight"]}
    names = {"ln_1": "norm1", "ln_2": "norm2", "attn.c_proj": "w_output"}
    names |= {"mlp.c_fc": "linear1", "mlp.c_proj": "linear2"}
    for kind in ("weight", "bias"):
        state[f"ln_f.{kind}"] = own[f"norm.{kind}"]
        for i in range(depth):
            here = {name: own[f"blocks.{i}.{mine}.{kind}"] for name, mine in names.items()}
            three = [own[f"blocks.{i}.w_{part}.{kind}"] for part in ("query", "key", "value")]
            here["attn.c_attn"] = torch.cat(three)
            # Conv1D has (in, out), nn.Linear (out, in); biases and norms have one axis
            state |= {f"h.{i}.{n}.{kind}": p.T if p.dim() == 2 else p for n, p in here.items()}
    twin.transformer.load_state_dict(state, strict=False)
    return twin(tokens).logits


# %%
if importlib.util.find_spec("transformers"):
    difference = (
        (exact_model()(fast) - hugging_face(exact_model(), fast, num_heads=2)).abs().max().item()
    )
    print(f"your GPT and GPT2LMHeadModel: largest difference {difference:.0e}")
else:
    print("Hugging Face's library is not installed here; `pip install transformers` installs it")

# %% [markdown]
# Differences below 1e-12 are rounding errors: your class is GPT-2's architecture, except that GPT-2 approximates GELU with tanh. OpenAI's smallest GPT-2 has 12 blocks, was trained on 40 gigabytes of text, and its 50,257 tokens are mostly words or parts of words.

# %% [markdown]
# ## 9 · In your own words
#
# **Question** (10 minutes). A friend's model has 32 positions. With a cache, it raises your `ValueError` at the 33rd token. So the friend drops the oldest key and value from each cache, and passes `start=31` from then on. No error is raised, but the text differs from `generate`'s. Name two reasons. How can you get the text of `generate`, and at what cost? Write three or four sentences: double-click the cell below. A person reads them.
#
# <details><summary>Hint</summary>Take a token that is still in the cache. Which position did it have when its key was computed? And which tokens had contributed to its vector when it entered block 2?</details>

# %% answer sliding_cache [markdown] points=2
# <!-- BEGIN SOLUTION -->
# When the window slides by one, every token in it moves to another position, but the cached keys and values were computed with the old ones: after the first step two tokens even share position 31. Second, from block 2 on, the cached keys and values also contain what their tokens had read from tokens that have since been dropped. `generate` knows neither: it computes the window afresh. To get its text, empty the caches and compute the whole window again for each token, which costs as much as having no cache (or do so only now and then, with half a window, and accept another text in between). With relative positions, such as rotary embeddings, the first reason is gone, and the second remains.
# <!-- END SOLUTION -->

# %% [markdown]
# ## Where you stand

# %%
from transformer_course.progress import show_progress

show_progress("09_decoder")

# %% [markdown]
# - A language model predicts each next token from the tokens before it. Under a causal mask, one pass makes all predictions of a window; the logits at position t belong to token t + 1.
# - Counts are strong baselines. After 600 steps your GPT was behind 4-grams, and used little more than the last 8 of its 32 characters. After 2,400 steps it was ahead of 6-grams. About a quarter of the held-out text occurs in the training text too; more than half of that is runs of dashes and spaces. So a fair comparison includes the new passages alone.
# - A GPT has tables of tokens and positions, a stack of pre-norm blocks with causal attention and GELU, and a final norm. By weight tying, the table of tokens makes the logits too.
# - A position's vector gets no gradient if its logits never have a target and no later query attends to it. To train predictions from up to 32 tokens, you need windows of 33.
# - Temperature divides the logits; top-k removes all but the likeliest tokens. In your model, low temperatures led to repeated words, and high ones to made-up words.
# - A key–value cache saves repeated work; the logits stay the same. New queries need the *last* rows of the causal mask, and the right positions. `is_causal=True` takes the first rows.
#
# **What comes next.** Your GPT continues a text. To translate, a model must read one text and write another. Lesson 10 goes back to what came before Transformers: recurrent networks, and the attention that was invented for them.
