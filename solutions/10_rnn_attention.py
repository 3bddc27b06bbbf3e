# %% [markdown]
# # Lesson 10 · RNNs and attention: the bottleneck
#
# **You build** a translator from the years before the Transformer: a recurrent network that reads, a second one that writes, and attention between them. You train it with attention and without.
#
# **You need** the ideas of lessons 1, 2, 3 and 6: attention weights, padding masks, cross-attention, and permutations. Part 1 introduces RNNs.
#
# **You take away** `encode`, three scores, `AttentionDecoder`, `unroll`, and a test that tells attention from an imitation.
#
# **Time**: about 280 minutes: 175 for the exercises. Good places to stop are marked after about 75, 180 and 235. Parts 2, 7 to 9 and 11 have no exercise.

# %% given imports
import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from transformer_course import figures
from transformer_course.checks import Check, numbers

torch.set_num_threads(1)  # tiny models train fastest on one core

# %% [markdown]
# Read this sequence of digits once, cover it, and write it down: `7 3 9 2`. Now do the same with this one: `5 0 8 2 7 1 1 9 4 6 3 8`.
#
# The next cell shows how well a small neural network does this. It reads a sequence one digit at a time, and keeps what it knows in one vector of 64 numbers. From that vector, a second network writes the sequence. (The figure is recorded from three trained networks. In part 2 you train one like them.)

# %%
tested_lengths = [2, 4, 6, 8, 10, 12]
recorded_copies = [
    [1.000, 0.878, 0.408, 0.058, 0.004, 0.000],
    [1.000, 0.904, 0.396, 0.082, 0.008, 0.000],
    [1.000, 0.870, 0.394, 0.084, 0.004, 0.000],
]
figures.curves(
    tested_lengths,
    {"one vector of 64 numbers": recorded_copies},
    x="digits in the sequence",
    y="sequences copied without an error",
    title="Copying digits through one vector: mean and range of 3 networks",
    bottom=0.0,
)

# %% [markdown]
# What to see: sequences of two digits always come back without an error. Of those with twelve, none does.
#
# Is the vector too small? Count the bits:

# %%
print(f"twelve digits: {12 * math.log2(10):.0f} bits; 64 numbers of 32 bits: {64 * 32:,} bits")

# %% [markdown]
# **Predict.** So why does the network fail?
#
# <details><summary>The vector is too small for twelve digits</summary>In principle it has room for fifty times as much. Part 2 tests what a larger vector changes.</details>
# <details><summary>There is room, but the network has not learned to use it</summary>Possible. Part 2 tests it, with more training and with a wider state.</details>
# <details><summary>It does not know when to stop</summary>It does not have to: it is asked for as many digits as the sequence has.</details>
#
# How can a network that writes use *all* that was read, whatever its length? That is the question of this lesson. The answer of 2014 was attention, three years before the Transformer.

# %% [markdown]
# **Recall.** Three questions on lessons 1, 2 and 6. Answer first, then open your choice.
#
# 1. What is a query's attention output?
#
# <details><summary>The value with the largest weight</summary>That is the limit when one score is far above all others. Softmax gives every key some weight.</details>
# <details><summary>The mean of the values, weighted by softmax of the scores</summary>Yes. Scores compare the query with each key; the weights are positive and sum to 1.</details>
# <details><summary>The weighted mean of the keys</summary>Keys are compared with the query. What is averaged are the values.</details>
#
# 2. Where is a padding mask applied?
#
# <details><summary>After the softmax: masked weights become 0</summary>Then the other weights no longer sum to 1.</details>
# <details><summary>On the values: masked values become 0</summary>Then padding still takes its share of the weights.</details>
# <details><summary>Before the softmax: masked scores become −∞</summary>Yes. And a query that may attend to nothing needs care: all its weights would be NaN.</details>
#
# 3. You reorder the keys, and the values with them. What happens to a query's weights and its output?
#
# <details><summary>The weights move with their keys, and the output stays</summary>Yes. Each weight belongs to a key, and a sum has no order. Keep this in mind: part 10 needs it.</details>
# <details><summary>Both stay</summary>A weight belongs to its key. If the key moves, the weight moves too.</details>
# <details><summary>Both change</summary>The weights are the same numbers in another order, and the sum stays the same.</details>

# %% [markdown]
# ## 1 · A network that reads one token at a time
#
# A **recurrent neural network** (RNN) reads a sequence one token at a time and keeps a vector, its **hidden state** (here *state*), which each token updates. The next cell draws two such networks.

# %% folded=true
# Draws two recurrent networks as boxes and arrows, and maps with one colour bar: click to unfold.
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure


def draw_arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], **style) -> None:
    """Draw an arrow from start to end."""
    style = {"color": figures.INK, "linewidth": 1.5, **style}
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", **style})


def draw_states(axes: Axes, name: str, left: float, read: list[str], colour: str) -> list[float]:
    """Draw a state for each token that is read, from left to right; return their positions."""
    positions = [left + i for i in range(len(read))]
    for i, (x, token) in enumerate(zip(positions, read, strict=True)):
        box = {"boxstyle": "round", "facecolor": "none", "edgecolor": colour}
        axes.text(x, 0, f"{name}{i + 1}", ha="center", va="center", bbox=box, fontsize=12)
        axes.text(x, -1.05, token, ha="center", va="center", fontsize=12)
        draw_arrow(axes, (x, -0.8), (x, -0.38))
        if i:
            draw_arrow(axes, (x - 0.74, 0), (x - 0.26, 0))
    network = {"h": "encoder", "s": "decoder"}[name]
    middle = (positions[0] + positions[-1]) / 2
    axes.text(middle, -1.8, network, ha="center", va="center", color=colour)
    return positions


def draw_networks(
    source: list[str],
    target: list[str],
    weights: list[float] | None = None,
    every_step: bool = False,
) -> figures.Picture:
    """Draw an encoder and a decoder.

    weights: of the second step's attention. every_step: each step also gets the last state.
    """
    figure = Figure(figsize=(9.5, 3.7 if weights else 2.9), layout="constrained")
    axes = figure.subplots()
    read = draw_states(axes, "h", 0.0, source, figures.LINES[0])
    inputs = ["begin", *target[:-1]]
    if every_step:
        inputs = [f"[{token}, h{len(source)}]" for token in inputs]
    wrote = draw_states(axes, "s", len(source) + 1.0, inputs, figures.LINES[1])
    for x, token in zip(wrote, target, strict=True):
        draw_arrow(axes, (x, 0.38), (x, 0.8))
        style = {"color": figures.LINES[1], "weight": "bold", "fontsize": 12}
        axes.text(x, 1.05, token, ha="center", va="center", **style)
    draw_arrow(axes, (read[-1] + 0.28, 0), (wrote[0] - 0.28, 0), linewidth=4)
    if weights:
        middle, green = (len(source) + 1.5, 2.1), figures.LINES[2]
        box = {"boxstyle": "round", "facecolor": "none", "edgecolor": green}
        axes.text(*middle, "c2", ha="center", va="center", bbox=box, fontsize=12)
        for x, weight in zip(read, weights, strict=True):
            axes.text(x, 0.48, f"{weight:.2f}", ha="center", color=green)
            end = (middle[0] - 0.22, middle[1] - 0.05)
            draw_arrow(axes, (x, 0.8), end, color=green, linewidth=0.6 + 5 * weight)
        draw_arrow(axes, (middle[0], 1.8), (wrote[1] - 0.18, 0.33), color=green, linewidth=3)
        start, end = (wrote[0] + 0.14, 0.38), (middle[0] - 0.06, 1.82)
        draw_arrow(axes, start, end, color=green, linestyle="--")
    axes.set(xlim=(-0.6, wrote[-1] + 0.6), ylim=(-2.1, 2.6 if weights else 1.35))
    axes.axis("off")
    told = f"An encoder reads {' '.join(source)}. A decoder reads begin {' '.join(target[:-1])} "
    link = (
        f" s1 is the query; a mean c2 of all h, with weights {weights}, goes to s2."
        if weights
        else ""
    )
    link += f" Each step also reads h{len(source)}." if every_step else ""
    told += f"and writes {' '.join(target)}. The last state h{len(source)} leads to s1.{link}"
    return figures.Picture(figure, told)


def draw_maps(
    maps: Mapping[str, tuple[Tensor, str, Sequence[str]]],
    rows_are: str,
    rows: Sequence[str],
    scale: tuple[str, float, float],
) -> figures.Picture:
    """Draw maps like `figures.steps`, in colours that mean the same in all of them.

    scale: what the colours show, and the least and the greatest value.
    """
    widths = [max(len(columns), 2) for _, _, columns in maps.values()]
    size = (2.9 + 0.72 * sum(widths), 1.7 + 0.5 * len(rows))
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(1, len(maps), squeeze=False, width_ratios=widths)[0]
    named, low, high = scale
    told = []
    for axes, (title, (values, columns_are, columns)) in zip(grid, maps.items(), strict=True):
        matrix = values.detach().double().numpy()
        axes.imshow(matrix, cmap="cividis", aspect="auto", vmin=low, vmax=high)
        for y, line in enumerate(matrix):
            for x, value in enumerate(line):
                colour = "white" if value < low + 0.45 * (high - low) else figures.ON_LIGHT
                axes.text(x, y, f"{value:.2f}", ha="center", va="center", color=colour)
        for y in range(1, len(rows)):
            axes.axhline(y - 0.5, color="white", linewidth=1)
        for x in range(1, len(columns)):
            axes.axvline(x - 0.5, color="white", linewidth=1)
        axes.set_xticks(range(len(columns)), columns)
        axes.set(xlabel=columns_are, title=title, yticks=[])
        lines = [f"{row}: {figures.brief(line)}" for row, line in zip(rows, matrix, strict=True)]
        told.append(f"{title} ({rows_are} by {columns_are}): {'; '.join(lines)}.")
    grid[0].set_yticks(range(len(rows)), rows)
    grid[0].set_ylabel(rows_are)
    figure.colorbar(grid[0].images[0], ax=list(grid), label=named)
    return figures.Picture(figure, " ".join(told))


# %%
draw_networks(["7", "3", "9", "2"], ["7", "3", "9", "2"])

# %% [markdown]
# What to see: the *encoder* reads. Each state depends on the one before and a new token. The *decoder* starts from h4 (thick arrow), and knows nothing else about the source. It reads *begin*, and a linear layer turns its new state into logits, the largest for 7. Next, it reads this 7.
#
# Both are GRUs. A **GRU** (gated recurrent unit) is an RNN that decides at each token, for each feature, how much of the old state to keep:
#
# $$h_t = z_t \odot h_{t-1} + (1 - z_t) \odot n_t \qquad (\odot \text{ multiplies feature by feature})$$
#
# The **candidate** $n_t$ is the state that the token proposes. The **update gate** $z_t$ says how much of the old state stays.
#
# **Predict.** The gate is 1/2, the old state 0.5, the candidate −1. What is the new state?
#
# <details><summary>−0.25</summary>Yes: half of 0.5 and half of −1.</details>
# <details><summary>−0.5</summary>That is their sum. The gate takes a part of each: 1/2 · 0.5 + 1/2 · (−1).</details>
# <details><summary>−1</summary>That needs a gate of 0, which forgets the old state.</details>

# %%
gate, old_state, candidate = 0.5, 0.5, -1.0
print("new state:", gate * old_state + (1 - gate) * candidate)

# %% [markdown]
# Learned weights compute gate and candidate from the token's embedding $x_t$ and the old state $h_{t-1}$:
#
# $$z_t = \sigma(x_t W_z + h_{t-1} U_z + b_z) \qquad n_t = \tanh(x_t W_n + h_{t-1} U_n + b_n)$$
#
# The **sigmoid** $\sigma(a) = 1 / (1 + e^{-a})$ turns every number into one between 0 and 1. Tanh (the hyperbolic tangent), $\tanh(a) = 2\,\sigma(2a) - 1$, turns every number into one between −1 and 1. Where $z_t$ is near 1, the state hardly changes: a GRU can keep a feature over many tokens. (The **LSTM**, long short-term memory, is the other common gated RNN.)
#
# <details><summary>Why gates?</summary>A plain RNN has none: its new state is the candidate. In the backward pass, each step multiplies the gradient by the recurrent weights U<sub>n</sub> and by the slope of tanh, which is at most 1. Over many steps, the gradient tends to vanish, or, with large weights, to explode. A gate near 1 lets it pass almost unchanged. In 1997, Hochreiter and Schmidhuber designed the LSTM for this reason. (Against explosion, <code>train</code> in part 2 also scales large gradients down. This is called <em>gradient clipping</em>.)</details>
# <details><summary>The formula looks different elsewhere</summary>Cho et al. (2014), who introduced the GRU, write it as here. Some texts swap z<sub>t</sub> and 1 − z<sub>t</sub>. There, a gate near 0 keeps the old state.</details>
#
# The full GRU also has a **reset gate**: computed like $z_t$, it scales the old state's part of $n_t$.
#
# <details><summary>What is the reset gate for?</summary>Where it is near 0, the candidate depends almost only on the token: the GRU can propose a new state that ignores the old one.</details>
#
# In PyTorch, `nn.GRU(3, 2, batch_first=True)` reads tokens of 3 features and has a state of width 2. It returns all states, and each row's last state:

# %%
some_states, last_state = nn.GRU(3, 2, batch_first=True)(torch.zeros(5, 4, 3))
print("5 rows of 4 tokens: states", tuple(some_states.shape), "last", tuple(last_state.shape))

# %% [markdown]
# What to see: `batch_first` puts the batch first in the input and in the states, but not in the last state: in a GRU with one layer, that has the shape (directions, batch, features). (Here there is one direction; a second one follows below.)
#
# The encoder's initial state $h_0$ is 0. The decoder's initial state is the encoder's last state.
#
# Next comes a GRU to compute by hand: all its gates are 1/2, and each token proposes 1 or −1 for each feature. (Tanh is 0 at 0, close to 1 for large positive numbers, and close to −1 for large negative ones. This GRU multiplies its input by 100, and adds 50 to the second feature.)


# %% given halving_gru folded=true
# A GRU whose states you can compute by hand: click to unfold.
def halving_gru(bidirectional: bool = False) -> nn.GRU:
    """Make a GRU of width 2 whose new state is (old state + n) / 2, with n the candidate: 1 or -1.

    n has the signs of the first two features of a token; a 0 in the second feature counts as +.
    """
    gru = nn.GRU(5, 2, batch_first=True, bidirectional=bidirectional).double()
    with torch.no_grad():
        for parameter in gru.parameters():
            parameter.zero_()
        for end in ("", "_reverse")[: 1 + bidirectional]:
            # PyTorch's order of rows: reset gate (0, 1), update gate (2, 3), candidate n (4, 5);
            # the gates' rows are 0, so each gate is 1/2
            gru.get_parameter(f"weight_ih_l0{end}")[4:, :2] = 100 * torch.eye(2)
            gru.get_parameter(f"bias_ih_l0{end}")[5] = 50.0
    return gru


def fixed_gru(d_embedding: int, d_hidden: int, bidirectional: bool = False) -> nn.GRU:
    """Make a GRU with fixed weights, in float64."""
    gru = nn.GRU(d_embedding, d_hidden, batch_first=True, bidirectional=bidirectional).double()
    with torch.no_grad():
        for seed, parameter in enumerate(gru.parameters()):
            parameter.copy_(numbers(*parameter.shape, seed=seed, scale=0.7))
    return gru


# %% [markdown]
# The token *a* proposes [1, −1], *b* [−1, 1], and *c* [1, 1]. So after *a* the state is [0.5, −0.5].
#
# **Predict.** Two sequences are read together, as the rows of a batch: `a b c`, and `b`. The shorter one is padded with two tokens, which propose [−1, −1]. The state after *b* alone is [−0.5, 0.5]. What is the GRU's state at the *end* of the second row?
#
# <details><summary>[−0.5, 0.5]: padding is no token</summary>The GRU does not know that. It reads padding like every other token.</details>
# <details><summary>[−0.875, −0.625]: it has read the padding too</summary>Yes: [−0.5, 0.5] → [−0.75, −0.25] → [−0.875, −0.625]. Run the next cell.</details>
# <details><summary>[0, 0]: padding is set to zero</summary>The GRU computes a state at every position. Zeros as <em>input</em> would not help: it would read them too. (For them, this GRU's candidate is [0, 1], so the row ends at [−0.125, 0.875].)</details>

# %%
proposals = {"a": [1.0, -1.0], "b": [-1.0, 1.0], "c": [1.0, 1.0], "_": [-1.0, -1.0]}
two_rows = torch.tensor([[proposals[token] for token in row] for row in ("abc", "b__")]).double()
two_rows = F.pad(two_rows, (0, 3))  # this GRU reads five features, of which three are 0 here
careless, unused = halving_gru()(two_rows)
draw_maps(
    {
        f"row {' '.join(row)}": (states.T, "after token", list(row))
        for row, states in zip(("abc", "b__"), careless, strict=True)
    },
    "feature",
    ["first", "second"],
    ("state", -1.0, 1.0),
)

# %% [markdown]
# What to see: at the end of the second row, the GRU has read padding, and the state is no longer that of *b*. Attention can mask padding. A recurrent network must *stop* before it.
#
# PyTorch does that with **packed sequences**: `pack_padded_sequence` keeps only the real tokens of a batch, and `pad_packed_sequence` puts the states back into a padded tensor. Here are the same two rows, packed (`enforce_sorted=False`: rows may come in any order of length):

# %%
two_packed = pack_padded_sequence(
    two_rows, torch.tensor([3, 1]), batch_first=True, enforce_sorted=False
)
print("tokens:", two_packed.data[:, :2].tolist())
print("rows read at each step:", two_packed.batch_sizes.tolist())

# %% [markdown]
# What to see: only the four real tokens remain. Step 1 reads one of each row; steps 2 and 3 read the first row's other two.
#
# A forward state knows only its token and those before it. In *7 June 1984*, the state at 7 cannot know that a month follows. A **bidirectional RNN** has a second direction, with its own weights, that reads each sequence from its last token to its first.
#
# **Predict.** Where should the backward direction begin in the row `b _ _`?
#
# <details><summary>At the last position of the batch</summary>Then it reads the padding first, and its state at <em>b</em> is a mixture.</details>
# <details><summary>At b</summary>Yes: at the last token of each row. A packed batch handles this as well.</details>
# <details><summary>Nowhere: one token needs no second direction</summary>Every row of a batch is read in both directions. Here both read the same token.</details>

# %% [markdown]
# **Exercise** (35 minutes). Write `encode`. Here `d_hidden` is the *state width* of one direction (PyTorch's `hidden_size`). The second check needs both directions; if yours only works for one, go on and come back.
#
# <details><summary>Hint 1</summary>Make a packed batch as above (its lengths must be on the CPU: <code>lengths.cpu()</code>). <code>gru</code> accepts it, and returns a pair: packed states, and the last state of each row.</details>
# <details><summary>Hint 2</summary><code>pad_packed_sequence</code> makes the result as long as the longest row, which can be shorter than <code>embedded</code>. Its argument <code>total_length</code> changes that.</details>
# <details><summary>Hint 3</summary>The last states have the shape (directions, batch, d_hidden). Bring the batch to the front first, then join the directions: a bare <code>reshape</code> would mix rows.</details>


# %% exercise encode
def encode(gru: nn.GRU, embedded: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Read each row of tokens with `gru`; return (states, last).

    gru: one layer, batch first, in one or two directions.
    embedded (batch, length, d_embedding); lengths (batch,): integers, the number of tokens in each
    row, at least 1 and in any order. The tokens come first, then padding, which has no influence.
    states (batch, length, directions · d_hidden): as long as embedded, zero at padding.
    last (batch, directions · d_hidden): the forward state at the last token, then, if there are
    two directions, the backward state at the first token.
    """
    # BEGIN SOLUTION
    packed = pack_padded_sequence(embedded, lengths.cpu(), batch_first=True, enforce_sorted=False)
    packed_states, last = gru(packed)  # last: (directions, batch, d_hidden)
    length = embedded.shape[1]
    states, _ = pad_packed_sequence(packed_states, batch_first=True, total_length=length)
    return states, last.transpose(0, 1).flatten(1)
    # END SOLUTION


# %% check encode points=2
hint = "the GRU should stop after the last token of each row: lengths says where that is"
with Check("encode", "one direction, three rows you can do by hand", hint) as check:
    # n is [1, -1] for a, [-1, 1] for b, [1, 1] for c; the padding _ is [-1, -1] here, not 0
    signs = {"a": [1.0, -1.0], "b": [-1.0, 1.0], "c": [1.0, 1.0], "_": [-1.0, -1.0]}
    rows = [[signs[token] for token in row] for row in ("abc___", "bacca_", "b_____")]
    embedded = F.pad(torch.tensor(rows, dtype=torch.float64), (0, 3))
    states, last = check.call(
        halving_gru(), embedded, torch.tensor([3, 5, 1]), returns=("states", "last")
    )
    check.shape(states, batch=3, length=6, d_hidden=2)
    check.shape(last, batch=3, d_hidden=2)
    first = torch.tensor([[0.5, -0.5], [-0.25, 0.25], [0.375, 0.625]], dtype=torch.float64)
    check.equal(
        states[0, :3],
        first,
        "the states of the row a b c are [0.5, -0.5], [-0.25, 0.25], [0.375, 0.625]",
    )
    second = torch.tensor(
        [[-0.5, 0.5], [0.25, -0.25], [0.625, 0.375], [0.8125, 0.6875], [0.90625, -0.15625]],
        dtype=torch.float64,
    )
    check.equal(states[1, :5], second, "the row b a c c a gets its own five states")
    third = torch.tensor([[-0.5, 0.5]], dtype=torch.float64)
    check.equal(states[2, :1], third, "the row b gets its one state")
    check.equal(
        last,
        torch.cat([first[-1:], second[-1:], third]),
        "last is the state at the last token of each row, not at padding",
    )
    at_padding = torch.cat([states[0, 3:], states[1, 5:], states[2, 1:]])
    check.equal(
        at_padding,
        torch.zeros(9, 2, dtype=torch.float64),
        "states is zero at padding",
        hint="an encoder state at padding could be attended to: make it zero",
    )
with Check("encode", "one direction, a row in a batch and alone", hint) as check:
    gru, embedded, lengths = fixed_gru(5, 4), numbers(3, 6, 5, seed=9), torch.tensor([4, 2, 5])
    before = {name: weight.detach().clone() for name, weight in gru.named_parameters()}
    states, last = check.call(gru, embedded, lengths, returns=("states", "last"))
    check.shape(states, batch=3, length=6, d_hidden=4)
    check.shape(last, batch=3, d_hidden=4)
    alone, last_alone = check.call(
        gru, embedded[1:2, :2], torch.tensor([2]), returns=("states", "last")
    )
    check.shape(alone, batch=1, length=2, d_hidden=4)
    check.equal(alone[0], states[1, :2], "a row gives the same states alone as in a batch")
    check.equal(last_alone[0], last[1], "a row gives the same last state alone as in a batch")
    check.equal(
        last_alone[0], alone[0, -1], "last of a row without padding is the last of its states"
    )
    same = all(torch.equal(weight, before[name]) for name, weight in gru.named_parameters())
    check.true(same, "gru keeps its weights", hint="call gru, and change nothing in it")
    check.true(
        gru.training and all(weight.requires_grad for weight in gru.parameters()),
        "gru stays in its mode, and its weights still need gradients",
        hint="call gru, and change nothing in it",
    )
with Check("encode", "one direction, gradients") as check:
    gru, lengths = fixed_gru(5, 4), torch.tensor([4, 2, 5])
    embedded = numbers(3, 6, 5, seed=9).requires_grad_()
    results = check.call(gru, embedded, lengths, returns=("states", "last"))
    for name, result in zip(("states", "last"), results, strict=True):
        slope = check.gradient(result.square(), embedded)
        check.true(
            bool((slope[0, :4] != 0).all()),
            f"a gradient reaches every token from {name}",
            hint="leave out no_grad, detach and new tensors on the way",
        )
        check.true(
            bool((check.gradient(result.square(), gru.get_parameter("weight_hh_l0")) != 0).any()),
            f"a gradient reaches the weights of gru from {name}",
            hint="call gru itself, under no torch.no_grad()",
        )
        check.equal(
            slope[1, 2:],
            torch.zeros(4, 5, dtype=torch.float64),
            f"{name} does not depend on padding",
        )
# BEGIN HIDDEN TESTS
with Check("encode", "one direction, each row alone") as check:
    for batch, length, d_in, d_out, given_lengths, dtype, scale in (
        (4, 7, 3, 5, [7, 1, 3, 6], torch.float64, 1.0),
        (2, 5, 4, 3, [1, 3], torch.float64, 6.0),
        (1, 6, 2, 4, [4], torch.float64, 0.3),
        (3, 4, 6, 2, [4, 4, 4], torch.float64, 1.0),
        (5, 1, 3, 2, [1, 1, 1, 1, 1], torch.float64, 1.0),
        (3, 8, 5, 6, [2, 8, 5], torch.float32, 1.0),
    ):
        gru = fixed_gru(d_in, d_out).to(dtype)
        embedded = numbers(length, batch, d_in, seed=21, scale=scale, dtype=dtype).transpose(0, 1)
        lengths = torch.tensor(given_lengths)
        noise = (torch.arange(length) >= lengths[:, None])[..., None] * 500.0
        states, last = check.call(
            gru, embedded + noise.to(dtype), lengths, returns=("states", "last")
        )
        check.shape(states, batch=batch, length=length, d_hidden=d_out)
        check.shape(last, batch=batch, d_hidden=d_out)
        for i, count in enumerate(given_lengths):
            expected, hidden = gru(embedded[i : i + 1, :count])
            padded = F.pad(expected[0].detach(), (0, 0, 0, length - count))
            check.equal(states[i].detach(), padded, "states as of the row alone, zero at padding")
            check.equal(last[i].detach(), hidden[0, 0].detach(), "the last state of the row alone")
with Check("encode", "one direction, the gradients of each row alone") as check:
    gru, lengths = fixed_gru(3, 5), [4, 2, 6]
    embedded = numbers(3, 7, 3, seed=22).requires_grad_()
    results = check.call(gru, embedded, torch.tensor(lengths), returns=("states", "last"))
    for result, of_last in zip(results, (False, True), strict=True):
        expected = torch.zeros((), dtype=torch.float64)
        for i, count in enumerate(lengths):
            own, hidden = gru(embedded[i : i + 1, :count])
            expected = expected + (hidden if of_last else own).square().sum()
        weights = map(gru.get_parameter, ("weight_ih_l0", "weight_hh_l0", "bias_hh_l0"))
        for source in (embedded, *weights):
            slope = check.gradient(result.square(), source)
            check.equal(slope, check.gradient(expected, source), "gradients")
# END HIDDEN TESTS


# %% [markdown]
# And both directions:

# %% check encode_two_directions points=2
hint = "the backward direction should begin at the last token of each row, not at padding"
with Check("encode", "two directions, three rows you can do by hand", hint) as check:
    signs = {"a": [1.0, -1.0], "b": [-1.0, 1.0], "c": [1.0, 1.0], "_": [-1.0, -1.0]}
    rows = [[signs[token] for token in row] for row in ("abc___", "bacca_", "b_____")]
    embedded = F.pad(torch.tensor(rows, dtype=torch.float64), (0, 3))
    states, last = check.call(
        halving_gru(bidirectional=True),
        embedded,
        torch.tensor([3, 5, 1]),
        returns=("states", "last"),
    )
    check.shape(states, batch=3, length=6, both_directions=4)
    check.shape(last, batch=3, both_directions=4)
    forward = torch.tensor([[0.5, -0.5], [-0.25, 0.25], [0.375, 0.625]], dtype=torch.float64)
    check.equal(
        states[0, :3, :2],
        forward,
        "the forward states of a b c are [0.5, -0.5], [-0.25, 0.25], [0.375, 0.625]",
    )
    backward = torch.tensor([[0.375, -0.125], [-0.25, 0.75], [0.5, 0.5]], dtype=torch.float64)
    check.equal(
        states[0, :3, 2:],
        backward,
        "the backward states of a b c are [0.375, -0.125], [-0.25, 0.75], [0.5, 0.5]",
    )
    second = torch.tensor(
        [
            [-0.5, 0.5, -0.03125, 0.40625],
            [0.25, -0.25, 0.9375, -0.1875],
            [0.625, 0.375, 0.875, 0.625],
            [0.8125, 0.6875, 0.75, 0.25],
            [0.90625, -0.15625, 0.5, -0.5],
        ],
        dtype=torch.float64,
    )
    check.equal(states[1, :5], second, "the row b a c c a gets its own five states")
    check.equal(
        last[:, :2],
        torch.tensor([[0.375, 0.625], [0.90625, -0.15625], [-0.5, 0.5]], dtype=torch.float64),
        "last begins with the forward state at the last token of each row",
    )
    check.equal(
        last[:, 2:],
        torch.tensor([[0.375, -0.125], [-0.03125, 0.40625], [-0.5, 0.5]], dtype=torch.float64),
        "last ends with the backward state at the first token of each row",
        hint="the backward direction reads the first token last",
    )
    at_padding = torch.cat([states[0, 3:], states[1, 5:], states[2, 1:]])
    check.equal(
        at_padding,
        torch.zeros(9, 4, dtype=torch.float64),
        "states is zero at padding",
        hint="an encoder state at padding could be attended to: make it zero",
    )
# BEGIN HIDDEN TESTS
with Check("encode", "two directions, each row alone") as check:
    for batch, length, d_in, d_out, given_lengths, dtype, scale in (
        (4, 7, 3, 5, [7, 1, 3, 6], torch.float64, 1.0),
        (3, 6, 4, 2, [1, 3, 2], torch.float64, 6.0),
        (1, 6, 2, 4, [4], torch.float64, 0.3),
        (3, 4, 6, 2, [4, 4, 4], torch.float64, 1.0),
        (5, 1, 3, 2, [1, 1, 1, 1, 1], torch.float64, 1.0),
        (3, 8, 5, 6, [2, 8, 5], torch.float32, 1.0),
    ):
        gru = fixed_gru(d_in, d_out, bidirectional=True).to(dtype)
        embedded = numbers(batch, length, d_in, seed=23, scale=scale, dtype=dtype)
        lengths = torch.tensor(given_lengths)
        noise = (torch.arange(length) >= lengths[:, None])[..., None] * 500.0
        states, last = check.call(
            gru, embedded + noise.to(dtype), lengths, returns=("states", "last")
        )
        check.shape(states, batch=batch, length=length, both_directions=2 * d_out)
        check.shape(last, batch=batch, both_directions=2 * d_out)
        for i, count in enumerate(given_lengths):
            expected, hidden = gru(embedded[i : i + 1, :count])
            padded = F.pad(expected[0].detach(), (0, 0, 0, length - count))
            check.equal(states[i].detach(), padded, "states as of the row alone, zero at padding")
            ends = torch.cat([hidden[0, 0], hidden[1, 0]]).detach()
            check.equal(last[i].detach(), ends, "the last states of the row alone")
with Check("encode", "two directions, the gradients of each row alone") as check:
    gru, lengths = fixed_gru(3, 5, bidirectional=True), [4, 2, 6]
    embedded = numbers(3, 7, 3, seed=24).requires_grad_()
    results = check.call(gru, embedded, torch.tensor(lengths), returns=("states", "last"))
    for result, of_last in zip(results, (False, True), strict=True):
        expected = torch.zeros((), dtype=torch.float64)
        for i, count in enumerate(lengths):
            own, hidden = gru(embedded[i : i + 1, :count])
            expected = expected + (hidden if of_last else own).square().sum()
        weights = map(gru.get_parameter, ("weight_ih_l0_reverse", "weight_hh_l0", "bias_hh_l0"))
        for source in (embedded, *weights):
            slope = check.gradient(result.square(), source)
            check.equal(slope, check.gradient(expected, source), "gradients")
# END HIDDEN TESTS


# %% [markdown]
# Run your encoder on the two rows: padding no longer changes the row `b`.

# %%
some_states, last_state = encode(halving_gru(bidirectional=True), two_rows, torch.tensor([3, 1]))
directions = ["forward 1", "forward 2", "backward 1", "backward 2"]
draw_maps(
    {
        f"row {' '.join(row)}": (each.T, "token", list(row))
        for row, each in zip(("abc", "b__"), some_states, strict=True)
    },
    "feature",
    directions,
    ("state", -1.0, 1.0),
)

# %% [markdown]
# **Puzzle.** In the sequence `a b c`, which of these states have read all of it: forward at *a*, forward at *c*, backward at *a*, backward at *c*?
#
# <details><summary>Answer</summary>Two of them: forward at <em>c</em> and backward at <em>a</em>. These two are <code>last</code>. Forward at <em>a</em> has read one token, and so has backward at <em>c</em>: [0.5, −0.5] and [0.5, 0.5].</details>

# %% [markdown]
# ## 2 · Everything through one vector
#
# An encoder and a decoder form a **sequence-to-sequence** model (*seq2seq*; Sutskever, Vinyals and Le, 2014). Now train one. The encoder reads a sequence of one to twelve digits. The decoder gets only `last`, but more often than in the first drawing: it starts from `last`, and each step reads `last` again beside its token, so that the decoder cannot forget it.

# %%
draw_networks(["7", "3", "9", "2"], ["7", "3", "9", "2"], every_step=True)

# %% [markdown]
# What to see: the input of each step is [embedding of the token, h4]. (Not drawn: the output layer reads h4 as well as the new state.)
#
# **From the lecture**: *transformer*, STATS 403, lecture 7, slides “drawback of RNN encoder-decoder” and “machine translation: bottleneck”. The **bottleneck** is the one vector through which everything must pass. *Transformer: Part I (Encoder)*, CS7150, draws the two networks on its slides “Sequence-to-sequence with RNNs”.

# %% folded=true
# Draws batches of digits, and trains and tests a model: click to unfold.
DIGITS, LONGEST, NO_TOKEN = 10, 12, 10  # token 10 is padding; it is also the decoder's first
Batch = tuple[Tensor, Tensor, Tensor]  # source (batch, length), lengths (batch,), target


class SequenceModel(nn.Module):
    """What both models of this lesson have: the token that begins each target."""

    begin: int


def random_digits(count: int, seed: int, length: int | None = None) -> Batch:
    """Draw sequences of digits to copy: of 1 to 12 digits each, or all of one length."""
    generator = torch.Generator().manual_seed(seed)
    high = length or LONGEST
    lengths = torch.randint(length or 1, high + 1, (count,), generator=generator)
    rows = torch.randint(DIGITS, (count, high), generator=generator)
    rows = rows.masked_fill(torch.arange(high) >= lengths[:, None], NO_TOKEN)
    return rows, lengths, rows


def train(
    model: SequenceModel,
    draw: Callable[[int, int], Batch],
    steps: int,
    seed: int,
    rate: float = 0.01,
) -> None:
    """Train with Adam on new batches of 32 sequences; a target token `begin` does not count."""
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    for step in range(steps):
        # constant, then down to 0 in the last third
        optimizer.param_groups[0]["lr"] = rate * min(1.0, 3 * (1 - step / steps))
        source, lengths, target = draw(32, 1_000_000 * seed + step)
        logits, _ = model(source, lengths, target)
        loss = F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=model.begin)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # gradient clipping: norm 1 at most
        optimizer.step()


@torch.no_grad()
def share_correct(model: SequenceModel, batch: Batch) -> float:
    """The share of sequences that the model writes without an error, by greedy decoding."""
    source, lengths, target = batch
    logits, _ = model(source, lengths, target, forced=False)
    return (logits.argmax(-1) == target).all(1).float().mean().item()


def correct_by_length(model: SequenceModel, lengths: list[int]) -> list[float]:
    """The share of correct copies among 500 sequences of digits, for each length."""
    return [share_correct(model, random_digits(500, 900_000_000 + n, n)) for n in lengths]


# %% [markdown]
# The next model uses your `encode`. Its forward pass takes the target as well. With `forced=True`, as in training, the decoder reads the target's tokens: teacher forcing (lesson 2; part 6 returns to it). With `forced=False` it reads the tokens that it has written itself, the likeliest at each step: greedy decoding (lesson 2). Then only the target's length is used: it says how many tokens to write.

# %%
WIDTH = 64


class OneVector(SequenceModel):
    """An encoder, and a decoder that gets only the encoder's last state.

    The last state is the decoder's initial state, and part of the input of every step.

    forward: source (batch, length), lengths (batch,), target (batch, steps)
    -> (logits (batch, steps, target_vocab + 1), None). Token `begin` starts each target.
    """

    def __init__(
        self, source_vocab: int, target_vocab: int, directions: int = 1, width: int = WIDTH
    ) -> None:
        super().__init__()
        self.begin = target_vocab
        self.source_embedding = nn.Embedding(source_vocab, 16)
        self.gru = nn.GRU(16, width // directions, batch_first=True, bidirectional=directions == 2)
        self.embedding = nn.Embedding(target_vocab + 1, 16)
        self.cell = nn.GRU(16 + width, width, batch_first=True)
        self.output = nn.Linear(2 * width, target_vocab + 1)

    def write(self, tokens: Tensor, state: Tensor, context: Tensor) -> tuple[Tensor, Tensor]:
        """Read tokens (batch, steps) from a state; return their logits and the new state."""
        contexts = context[:, None].expand(-1, tokens.shape[1], -1)
        inputs = torch.cat([self.embedding(tokens), contexts], -1)
        states, new_state = self.cell(inputs, state[None])
        return self.output(torch.cat([states, contexts], -1)), new_state[0]

    def forward(
        self, source: Tensor, lengths: Tensor, target: Tensor, forced: bool = True
    ) -> tuple[Tensor, None]:
        _, last = encode(self.gru, self.source_embedding(source), lengths)
        token, state = torch.full_like(target[:, :1], self.begin), last
        if forced:
            return self.write(torch.cat([token, target[:, :-1]], 1), state, last)[0], None
        written = []
        for _ in range(target.shape[1]):
            logits, state = self.write(token, state, last)
            written.append(logits)
            token = logits.argmax(-1)
        return torch.cat(written, 1), None


# %% [markdown]
# Most sequences of eight digits come back with an error. At which positions are the errors?
#
# From here on you train networks with seed 0. What the figures show of other seeds is recorded: the figure or its code says so.
#
# **Predict.** Which of the eight digits is correct most often, after 200 steps?
#
# <details><summary>The last: the encoder has just read it</summary>But it is written last, after seven digits of which some are wrong. Run the next cell.</details>
# <details><summary>The first</summary>Yes, although the encoder read it first: 92 % of the first digits are correct, and 37 % of the last (mean of the three networks below).</details>
# <details><summary>All equally: the vector holds the whole sequence</summary>There is room for it, but the network stores what training has taught it to store. And after an error, the next steps read a wrong digit.</details>

# %%
from functools import cache
from typing import Any

COPY_STEPS = 200


@cache  # trains once: part 7 uses the same networks
def copying(
    kind: type[SequenceModel],
    seed: int,
    steps: int = COPY_STEPS,
    rate: float = 0.01,
    **options: Any,
) -> SequenceModel:
    """Train a model of this kind to copy sequences of 1 to 12 digits."""
    torch.manual_seed(seed)
    model = kind(DIGITS + 1, DIGITS, **options)
    train(model, random_digits, steps, seed, rate)
    return model


@torch.no_grad()
def digits_correct(model: SequenceModel, forced: bool) -> list[float]:
    """The share of correct digits at each position, in 500 sequences of eight digits."""
    source, lengths, target = random_digits(500, 900_000_008, 8)
    logits, _ = model(source, lengths, target, forced)
    return (logits.argmax(-1) == target).float().mean(0).tolist()


by_itself = [
    digits_correct(copying(OneVector, 0), forced=False),
    [0.902, 0.800, 0.728, 0.576, 0.454, 0.390, 0.350, 0.350],  # seeds 1 and 2, recorded
    [0.924, 0.792, 0.690, 0.524, 0.424, 0.322, 0.348, 0.398],
]
eight = [1, 2, 3, 4, 5, 6, 7, 8]
figures.curves(
    eight,
    {"one vector": by_itself},
    x="position in a sequence of eight digits",
    y="digits that are correct",
    title=f"One vector, {COPY_STEPS} steps: your run and 2 recorded, mean and range",
    bottom=0.0,
)

# %% [markdown]
# What to see: about nine in ten of the first digits are correct. From the sixth on, about one in three is (by guessing: one in ten). Part 6 returns to this. First: is it the *size* of the vector?
#
# Test it: a vector four times as wide, five times as many steps, or both. The results are recorded; `correct_by_length(copying(OneVector, seed, steps, rate, width=…), tested_lengths)` trains and tests one of the networks again. Each width uses the best of three learning rates: 0.01 for 64 features (of 0.005, 0.01, 0.02) and 0.005 for 256 (of 0.003, 0.005, 0.01).
#
# **Predict.** Which of the two helps more on its own?
#
# <details><summary>Four times the width</summary>It helps a little: of sequences of eight digits, 15 % are correct instead of 7 %.</details>
# <details><summary>Five times the steps</summary>Yes: of sequences of eight digits, 59 % are correct instead of 7 %.</details>
# <details><summary>Neither: sequences of eight digits stay wrong</summary>One of the two changes makes more than half of them correct.</details>

# %%
recorded_one_vector = {
    "200 steps, width 64": recorded_copies,
    "200 steps, width 256": [
        [1.000, 0.938, 0.480, 0.110, 0.008, 0.004],
        [1.000, 0.964, 0.600, 0.194, 0.024, 0.004],
        [1.000, 0.954, 0.562, 0.154, 0.026, 0.000],
    ],
    "1,000 steps, width 64": [
        [1.000, 0.998, 0.932, 0.570, 0.242, 0.030],
        [1.000, 1.000, 0.914, 0.584, 0.228, 0.040],
        [1.000, 1.000, 0.908, 0.608, 0.252, 0.042],
    ],
    "1,000 steps, width 256": [
        [1.000, 1.000, 0.966, 0.820, 0.482, 0.116],
        [1.000, 1.000, 0.978, 0.822, 0.442, 0.120],
        [1.000, 1.000, 0.974, 0.822, 0.432, 0.116],
    ],
}
figures.curves(
    tested_lengths,
    recorded_one_vector,
    x="digits in the sequence",
    y="sequences copied without an error",
    title="Wider, longer, or both (recorded): mean and range of 3 seeds",
    bottom=0.0,
)

# %% [markdown]
# What to see: five times the training helps far more than four times the width. Width adds more after 1,000 steps: with eight digits, 82 % are correct instead of 59 %. Every curve falls with the length: with twelve, at most 12 %.
#
# So the width was not the main limit after 200 steps: the same width does better after 1,000. The second answer to the opening question fits: the network has not learned to use its room. (Still longer training is not tested.)

# %% [markdown]
# **A good place to stop.** Next, the decoder gets all states. (Back later? Run all cells above first.)

# %% [markdown]
# ## 3 · Keep all the states
#
# So far each step reads only the last state. Now it reads a weighted mean of all:

# %%
draw_networks(["7", "3", "9", "2"], ["7", "3", "9", "2"], [0.08, 0.8, 0.08, 0.04])

# %% [markdown]
# What to see (attention of step 2): c2 is a mean of all encoder states, weighted by the green numbers (made up). The decoder gets c2 and the token 7, to write its second digit. Other steps need other weights, so *the decoder* chooses them: its state is the query (the dashed arrow), the encoder's states are keys and values.
#
# Let $s_{t-1}$ be the decoder's state before step $t$, and $h_1, \dots, h_n$ the encoder's states. Then
#
# $$e_{tj} = \mathrm{score}(s_{t-1}, h_j) \qquad \alpha_{t} = \mathrm{softmax}(e_{t}) \qquad c_t = \sum_j \alpha_{tj}\, h_j$$
#
# The **context vector** $c_t$ of a step is the mean of the encoder's states, weighted by that step's attention weights. By hand, with the dot product as the score and made-up states ($s_0$ is 0 here, not the encoder's last state):

# %%
h = torch.tensor([[2.0, 0.0], [0.0, 2.0], [-1.0, 1.0]])  # three states of an encoder
s = torch.tensor([[0.0, 0.0], [1.5, 0.0], [0.0, 1.5]])  # the decoder's state before three steps
some_scores = s @ h.T
some_weights = some_scores.softmax(-1)
state_names = ["h1", "h2", "h3"]
figures.steps(
    {
        "scores e": (some_scores, "state", state_names),
        "weights α": (some_weights, "state", state_names),
        "context c": (some_weights @ h, "feature", ["first", "second"]),
    },
    "step",
    ["1", "2", "3"],
)

# %% [markdown]
# What to see (each map has its own colour scale): in step 1 the query is zero, so all scores are equal: the context is the plain mean of the states. In step 2 nearly all weight is on $h_1$.
#
# The weights of all steps form the **alignment**: which source tokens each output token attends to.
#
# **From the lecture**: *transformer*, STATS 403, lecture 7, “machine translation: bottleneck”; *Transformer: Part I (Encoder)*, CS7150, “Sequence-to-sequence with RNNs and attention”.
#
# **Predict.** STATS 403 draws this decoder, with its contexts $c_i$, as “an example of using the simple self-attention”. It defines self-attention as a comparison “within a given sequence”. By this definition, is the decoder's attention self-attention?
#
# <details><summary>Yes: encoder and decoder are one model</summary>The definition speaks of one sequence, not of one model.</details>
# <details><summary>No: query and keys come from two sequences</summary>Yes. The query comes from the output, the keys and values from the source. That is cross-attention (lesson 3).</details>
# <details><summary>Yes, if source and target are in the same language</summary>They are still two sequences, each with its own length and order.</details>

# %% [markdown]
# Self-attention and cross-attention in numbers:

# %%
draw_maps(
    {
        "self-attention in the source": ((h @ h.T).softmax(-1), "state", state_names),
        "cross-attention": (some_weights, "state", state_names),
    },
    "query",
    ["1", "2", "3"],
    ("weight", 0.0, 1.0),
)

# %% [markdown]
# What to see: the keys are the same three states; only the queries differ. (Left, they are h1 to h3; right, the decoder's $s_0$ to $s_2$.)
#
# ### Three ways to score
#
# How well does a state $h$ match the query $s$? Three scores are common. Luong, Pham and Manning (2015) call the first two *dot* and *general*:
#
# $$\text{dot: } s \cdot h \qquad\qquad \text{general: } (s\, W) \cdot h \qquad\qquad \text{additive: } v \cdot \tanh(s\, W_q + h\, W_k)$$
#
# **Predict.** The decoder's state has 64 features. The encoder is bidirectional, with 64 in each direction. Which scores can be computed?
#
# <details><summary>All three</summary>A dot product needs two vectors of the same width. Here they have 64 and 128 features.</details>
# <details><summary>General and additive</summary>Yes. Their matrices bring the two widths together: W is 64 × 128; W<sub>q</sub> (64 × m) and W<sub>k</sub> (128 × m) both lead to m features.</details>
# <details><summary>Only additive</summary>In the general score, W has a row for each feature of s and a column for each of h. It need not be square.</details>
#
# Lesson 1 divides the dot product by $\sqrt{d}$, as Transformers do. The three scores here are older, and unscaled, in the papers and in your functions.
#
# **Exercise** (8 minutes). Write the dot score for a whole batch, with several queries for each sequence.
#
# <details><summary>Hint 1</summary>For one row of the batch, it is the matrix of the queries times the transposed matrix of the keys.</details>
# <details><summary>Hint 2</summary><code>@</code> treats the first axis as a batch, so only the other two axes of the keys change places.</details>


# %% exercise dot_score
def dot_score(query: Tensor, key: Tensor) -> Tensor:
    """Score every key for every query by their dot product, unscaled.

    query (batch, query, d), key (batch, key, d) -> scores (batch, query, key), before any softmax.
    """
    # BEGIN SOLUTION
    return query @ key.transpose(1, 2)
    # END SOLUTION


# %% check dot_score points=1
hint = "each score should be the plain dot product of one query and one key of the same row"
with Check("dot_score", "an example you can do by hand", hint) as check:
    query = torch.tensor([[[1.0, 2.0], [-1.0, 0.0], [0.5, -0.5]]], dtype=torch.float64)
    key = torch.tensor([[[1.0, 1.0], [0.0, 3.0], [2.0, 0.0], [-2.0, 1.0]]], dtype=torch.float64)
    scores = check.call(query, key)
    check.shape(scores, batch=1, query=3, key=4)
    by_hand = [[3.0, 6.0, 2.0, 0.0], [-1.0, 0.0, -2.0, 2.0], [0.0, -1.5, 1.0, -1.5]]
    check.equal(
        scores,
        torch.tensor([by_hand], dtype=torch.float64),
        "the first query, [1, 2], scores 3, 6, 2 and 0 with the four keys",
    )
with Check("dot_score", "two rows in a batch", hint) as check:
    query, key = numbers(2, 3, 5).requires_grad_(), numbers(2, 4, 5, seed=1).requires_grad_()
    scores, alone = check.call(query, key), check.call(query[1:], key[1:])
    check.shape(scores, batch=2, query=3, key=4)
    check.equal(scores[1], alone[0], "a row gives the same scores in a batch as alone")
    check.equal(
        check.call(query, query).detach().diagonal(dim1=1, dim2=2),
        query.detach().square().sum(-1),
        "a query scores its squared length with itself",
    )
    for name, source in (("query", query), ("key", key)):
        check.true(
            bool((check.gradient(scores, source) != 0).all()),
            f"a gradient reaches every {name}",
            hint="leave out no_grad, detach and new tensors on the way",
        )
# BEGIN HIDDEN TESTS
with Check("dot_score", "other sizes, scales and dtypes") as check:
    for batch, n, m, d, dtype, scale in (
        (4, 1, 7, 3, torch.float64, 1.0),
        (1, 6, 2, 5, torch.float64, 30.0),
        (3, 5, 1, 1, torch.float64, 0.1),
        (2, 3, 4, 16, torch.float32, 1.0),
        (3, 3, 3, 3, torch.float64, 1.0),
    ):
        query = numbers(batch, d, n, seed=2, scale=scale, dtype=dtype).transpose(1, 2)
        key = numbers(batch, m, d, seed=3, scale=scale, dtype=dtype)
        scores = check.call(query, key)
        check.shape(scores, batch=batch, query=n, key=m)
        check.equal(scores, torch.einsum("bqd,bkd->bqk", query, key), "the dot products")
# END HIDDEN TESTS


# %% [markdown]
# **Exercise** (10 minutes). Now the general score, with the matrix as an argument.
#
# <details><summary>Hint 1</summary>Which of the two vectors has as many features as W has rows? Multiply that one by W first.</details>
# <details><summary>Hint 2</summary>After that it is a dot product again.</details>


# %% exercise general_score
def general_score(query: Tensor, key: Tensor, w: Tensor) -> Tensor:
    """Score every key for every query through a learned matrix: query · w · key, unscaled.

    query (batch, query, d_query), key (batch, key, d_key), w (d_query, d_key)
    -> scores (batch, query, key), before any softmax.
    """
    # BEGIN SOLUTION
    return query @ w @ key.transpose(1, 2)
    # END SOLUTION


# %% check general_score points=1
hint = "q W kᵀ: the matrix takes a query from d_query to d_key features, then comes the dot product"
with Check("general_score", "an example you can do by hand", hint) as check:
    query = torch.tensor([[[1.0, 2.0], [-1.0, 0.5]]], dtype=torch.float64)
    w = torch.tensor([[1.0, 0.0, -1.0], [0.0, 2.0, 1.0]], dtype=torch.float64)
    key = torch.tensor(
        [[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, -2.0]]], dtype=torch.float64
    )
    # and one in which d_query = d_key: query @ w is [1, 1] and [-1, -3.5]
    square = check.call(
        query,
        torch.tensor([[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, -1.0]]], dtype=torch.float64),
        torch.tensor([[1.0, 3.0], [0.0, -1.0]], dtype=torch.float64),
    )
    scores = check.call(query, key, w)
    check.shape(scores, batch=1, query=2, key=4)
    # query @ w is [1, 4, 1] and [-1, 1, 1.5]
    by_hand = [[1.0, 4.0, 1.0, 3.0], [-1.0, 1.0, 1.5, -3.0]]
    check.equal(
        scores,
        torch.tensor([by_hand], dtype=torch.float64),
        "the query [1, 2] becomes [1, 4, 1], so it scores 1, 4, 1 and 3 with the four keys",
    )
    check.shape(square, batch=1, query=2, key=4)
    check.equal(
        square,
        torch.tensor([[[1.0, 1.0, 2.0, 1.0], [-1.0, -3.5, -4.5, 1.5]]], dtype=torch.float64),
        "for a square w, too, its rows belong to the query and its columns to the key",
    )
with Check("general_score", "a batch, and the identity", hint) as check:
    query, key, w = numbers(2, 3, 5), numbers(2, 4, 6, seed=1), numbers(5, 6, seed=2)
    for source in (query, key, w):
        source.requires_grad_()
    scores, alone = check.call(query, key, w), check.call(query[1:], key[1:], w)
    check.shape(scores, batch=2, query=3, key=4)
    check.equal(scores[1], alone[0], "a row gives the same scores in a batch as alone")
    plain = check.call(query, query, torch.eye(5, dtype=torch.float64)).detach()
    norms = query.detach().square().sum(-1)
    check.equal(
        plain.diagonal(dim1=1, dim2=2),
        norms,
        "with the identity as w, a query scores its squared length with itself",
    )
    for name, source in (("query", query), ("key", key), ("w", w)):
        check.true(
            bool((check.gradient(scores, source) != 0).all()),
            f"a gradient reaches every number of {name}",
            hint="leave out no_grad, detach and new tensors on the way",
        )
# BEGIN HIDDEN TESTS
with Check("general_score", "other sizes, scales and dtypes") as check:
    for batch, n, m, d_query, d_key, dtype, scale in (
        (4, 1, 7, 3, 2, torch.float64, 1.0),
        (1, 6, 2, 5, 9, torch.float64, 30.0),
        (3, 5, 1, 1, 4, torch.float64, 0.1),
        (2, 3, 4, 8, 5, torch.float32, 1.0),
        (3, 3, 3, 3, 3, torch.float64, 1.0),
    ):
        query = numbers(batch, d_query, n, seed=3, scale=scale, dtype=dtype).transpose(1, 2)
        key = numbers(batch, m, d_key, seed=4, scale=scale, dtype=dtype)
        w = numbers(d_query, d_key, seed=5, dtype=dtype)
        scores = check.call(query, key, w)
        check.shape(scores, batch=batch, query=n, key=m)
        check.equal(scores, torch.einsum("bqd,de,bke->bqk", query, w, key), "query · w · key")
# END HIDDEN TESTS


# %% [markdown]
# ## 4 · The additive score
#
# The third score is the oldest (Bahdanau, Cho and Bengio, 2014). **Additive attention** scores a key by a small network with one hidden layer: it adds a projection of the query and a projection of the key, applies tanh, and takes a weighted sum with the vector $v$.
#
# $$e_{tj} = v \cdot \tanh(s_{t-1} W_q + h_j W_k)$$
#
# **Predict.** Suppose that the tanh is left out. What goes wrong?
#
# <details><summary>The weights no longer depend on the query</summary>Yes: then e = v · (s W<sub>q</sub>) + v · (h W<sub>k</sub>). The first term is the same for all keys, and softmax ignores what is the same for all keys.</details>
# <details><summary>The scores can become too large</summary>They can. But something worse happens: without tanh, a score is a term of the query plus a term of the key. Which of the two differs from key to key?</details>
# <details><summary>Nothing: two linear maps in a row are one linear map</summary>That is so, and it is the problem: the sum splits into a term of the query and a term of the key.</details>

# %%
some_query, some_key = 3 * numbers(4, 5), 3 * numbers(6, 3, seed=1)
sums = (some_query @ numbers(5, 8, seed=2))[:, None] + (some_key @ numbers(3, 8, seed=3))[None]
some_v = numbers(8, seed=4)
key_names = ["1", "2", "3", "4", "5", "6"]
draw_maps(
    {
        "with tanh": ((sums.tanh() @ some_v).softmax(-1), "key", key_names),
        "without tanh": ((sums @ some_v).softmax(-1), "key", key_names),
    },
    "query",
    ["1", "2", "3", "4"],
    ("weight", 0.0, 1.0),
)

# %% [markdown]
# What to see: without tanh, all queries get the same weights. (Here these weights are also close to 0 or 1, because the scores are large. Smaller scores would give less extreme weights, but still the same for all queries.) In the additive score, only the nonlinearity lets the query change the weights. (In the dot score, the product does this.)
#
# **Exercise** (30 minutes). Write additive attention: scores, mask, softmax, weighted mean. Here `d_hidden` is the *score width*: the features of the hidden layer that computes the scores. It has nothing to do with the state width of `encode`. The second check is about the mask, and about a query that may attend to nothing.
#
# <details><summary>Hint 1</summary>Each query meets each key. Give the projected queries the shape (batch, query, 1, d_hidden) and the projected keys (batch, 1, key, d_hidden): broadcasting then adds every pair.</details>
# <details><summary>Hint 2</summary><code>hidden @ v</code> sums over the last axis and leaves (batch, query, key).</details>
# <details><summary>Hint 3</summary>Masked scores become −∞ before the softmax. A row with −∞ everywhere gives NaN: set the masked weights to 0 after the softmax as well.</details>


# %% exercise additive_attention
def additive_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    w_query: Tensor,
    w_key: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Attend with the scores v · tanh(query w_query + key w_key); return (output, weights).

    query (batch, query, d_query), key (batch, key, d_key), value (batch, key, d_value),
    w_query (d_query, d_hidden), w_key (d_key, d_hidden), v (d_hidden,)
    -> output (batch, query, d_value), weights (batch, query, key), whose rows sum to 1.
    mask: bool, broadcasts to (batch, query, key); True = may attend. A query that may attend to
    nothing gets weights of 0 and output 0.
    """
    # BEGIN SOLUTION
    # (batch, query, 1, d_hidden) + (batch, 1, key, d_hidden)
    hidden = (query @ w_query)[:, :, None] + (key @ w_key)[:, None]
    scores = torch.tanh(hidden) @ v  # (batch, query, key)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = torch.softmax(scores, -1)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)
    return weights @ value, weights
    # END SOLUTION


# %% check additive_attention points=3
hint = "add the two projections for every pair, then tanh, then v, then softmax over the keys"
names = ("output", "weights")
with Check("additive_attention", "examples you can do by hand", hint) as check:
    # the sums are [150, 50], [50, 0], [-50, -50] and [50, 50], [-50, 0], [-150, -50]: tanh makes
    # each 1, 0 or -1; the exponentials of the scores are 6, 2, 1/6 and 6, 1/2, 1/6
    query = torch.tensor([[[1.0], [-1.0]]], dtype=torch.float64)
    key = torch.tensor([[[1.0], [0.0], [-1.0]]], dtype=torch.float64)
    value = torch.tensor(
        [[[1.0, 0.0, 0.0, 2.0], [0.0, 1.0, 0.0, 2.0], [0.0, 0.0, 1.0, 2.0]]], dtype=torch.float64
    )
    w_query = torch.tensor([[50.0, 0.0]], dtype=torch.float64)
    w_key = torch.tensor([[100.0, 50.0]], dtype=torch.float64)
    v = torch.tensor([2.0, 3.0], dtype=torch.float64).log()
    # and one with small numbers, to tell mistakes apart
    small = numbers(1, 3, 4), numbers(1, 5, 4, seed=1), numbers(1, 5, 4, seed=2)
    parts = numbers(4, 4, seed=3), numbers(4, 4, seed=4), numbers(4, seed=5)
    small_output, small_weights = check.call(*small, *parts, returns=names)
    output, weights = check.call(query, key, value, w_query, w_key, v, returns=names)
    check.shape(weights, batch=1, query=2, key=3)
    check.shape(output, batch=1, query=2, d_value=4)
    by_hand = [[36 / 49, 12 / 49, 1 / 49], [36 / 40, 3 / 40, 1 / 40]]
    check.equal(
        weights,
        torch.tensor([by_hand], dtype=torch.float64),
        "the weights are 36/49, 12/49, 1/49 for one query and 36/40, 3/40, 1/40 for the other",
    )
    check.equal(
        output[..., :3],
        torch.tensor([by_hand], dtype=torch.float64),
        "the output is the weighted sum of the values; here that is the three weights",
    )
    check.equal(
        output[..., 3],
        torch.full((1, 2), 2.0, dtype=torch.float64),
        "the last feature of every value is 2, so that of the output is 2",
    )
    check.shape(small_weights, batch=1, query=3, key=5)
    check.equal(
        small_weights[0, 0],
        torch.tensor([0.0041, 0.3155, 0.3644, 0.3103, 0.0057], dtype=torch.float64),
        "with small numbers, too, the weights are softmax(v · tanh(q W_q + k W_k))",
        within=1e-3,
    )
    check.equal(
        small_output[0, 0],
        torch.tensor([-0.9402, -0.9373, 0.5139, 0.2642], dtype=torch.float64),
        "with small numbers, too, the output is the weighted sum of the values",
        within=1e-3,
    )
with Check("additive_attention", "a batch, and what may be learned", hint) as check:
    inputs = numbers(2, 3, 4), numbers(2, 5, 6, seed=1), numbers(2, 5, 7, seed=2)
    parts = numbers(4, 8, seed=3), numbers(6, 8, seed=4), numbers(8, seed=5)
    for source in (*inputs, *parts):
        source.requires_grad_()
    output, weights = check.call(*inputs, *parts, returns=names)
    check.shape(weights, batch=2, query=3, key=5)
    check.shape(output, batch=2, query=3, d_value=7)
    rows = [part[1:] for part in inputs]
    alone, weights_alone = check.call(*rows, *parts, returns=names)
    check.equal(weights[1], weights_alone[0], "a row gets the same weights alone as in a batch")
    check.equal(output[1], alone[0], "a row gets the same output alone as in a batch")
    labels = ("query", "key", "value", "w_query", "w_key", "v")
    for name, source in zip(labels, (*inputs, *parts), strict=True):
        check.true(
            bool((check.gradient(output.square(), source) != 0).any()),
            f"a gradient reaches {name}",
            hint="leave out no_grad, detach and new tensors on the way",
        )
# BEGIN HIDDEN TESTS
with Check("additive_attention", "other sizes, scales and dtypes") as check:
    for batch, n, m, d_query, d_key, d_value, d_hidden, dtype, scale in (
        (4, 1, 7, 3, 2, 5, 6, torch.float64, 1.0),
        (1, 6, 2, 5, 9, 3, 4, torch.float64, 5.0),
        (3, 5, 1, 1, 4, 2, 1, torch.float64, 0.1),
        (2, 3, 4, 8, 5, 1, 9, torch.float32, 1.0),
        (3, 3, 3, 3, 3, 3, 3, torch.float64, 1.0),
        (2, 3, 6, 4, 5, 7, 8, torch.float64, 30.0),
    ):
        query = numbers(batch, d_query, n, seed=6, scale=scale, dtype=dtype).transpose(1, 2)
        key = numbers(batch, m, d_key, seed=7, scale=scale, dtype=dtype)
        value = numbers(batch, m, d_value, seed=8, scale=scale, dtype=dtype)
        parts = [numbers(d_query, d_hidden, seed=9), numbers(d_key, d_hidden, seed=10)]
        w_query, w_key, v = (part.to(dtype) for part in (*parts, numbers(d_hidden, seed=11)))
        sums = torch.einsum("bqd,dh->bqh", query, w_query)[:, :, None] + (key @ w_key)[:, None]
        expected = torch.einsum("bqkh,h->bqk", sums.tanh(), v).softmax(-1)
        output, weights = check.call(query, key, value, w_query, w_key, v, returns=names)
        check.equal(weights, expected, "softmax(v · tanh(q W_q + k W_k))")
        check.equal(output, expected @ value, "the weighted sum of the values")
        output, weights = check.call(query, key, value, w_query, w_key, 900 * v, returns=names)
        expected = torch.einsum("bqkh,h->bqk", sums.tanh(), 900 * v).softmax(-1)
        near = 1e-2 if dtype == torch.float32 else 1e-8
        check.equal(weights, expected, "large scores", within=near)
# END HIDDEN TESTS


# %% [markdown]
# With a mask:

# %% check additive_attention_mask points=2
hint = "masked scores become −∞ before the softmax; a query without keys gets weights of 0"
names = ("output", "weights")
with Check("additive_attention", "a mask", hint) as check:
    inputs = numbers(2, 3, 4), numbers(2, 5, 6, seed=1), numbers(2, 5, 7, seed=2)
    parts = numbers(4, 8, seed=3), numbers(6, 8, seed=4), numbers(8, seed=5)
    padding = torch.tensor([[[True, True, True, False, False]], [[True] * 5]])
    output, weights = check.call(*inputs, *parts, padding, returns=names)
    shorter = inputs[0][:1], inputs[1][:1, :3], inputs[2][:1, :3]
    without, weights_without = check.call(*shorter, *parts, returns=names)
    free, weights_free = check.call(*inputs, *parts, returns=names)
    check.shape(weights, batch=2, query=3, key=5)
    check.equal(
        weights[0, :, 3:],
        torch.zeros(3, 2, dtype=torch.float64),
        "masked keys get weights of 0 (True = may attend)",
    )
    check.equal(
        weights[0, :, :3], weights_without[0], "the other weights are as without masked keys"
    )
    check.equal(output[0], without[0], "the output is as without masked keys")
    check.equal(
        weights[1], weights_free[1], "a row without padding gives the same as without a mask"
    )
    check.equal(output[1], free[1], "a row without padding gives the same as without a mask")
    # scores of -20000 and 20000: v times the sign of the first feature of a key
    kept = torch.tensor([True, False, True, True, False])
    steep = torch.zeros(4, 8), 50 * torch.eye(6, 8), 20000 * torch.eye(8)[0]
    steep = [part.double() for part in steep]
    for sign, told in ((1.0, "far below"), (-1.0, "far above")):
        signed = F.pad(torch.where(kept, sign, -sign).double().expand(2, 1, 5).mT, (0, 5))
        _, high = check.call(inputs[0], signed, inputs[2], *steep, kept, returns=names)
        check.equal(
            high,
            (kept.double() / 3).expand(2, 3, 5),
            f"with equal scores, three keys get 1/3 each, masked keys {told} them get 0",
        )
    causal = torch.ones(3, 5, dtype=torch.bool).tril(1)
    _, by_query = check.call(*inputs, *parts, causal, returns=names)
    check.equal(
        (by_query > 0).double(),
        causal.double().expand(2, 3, 5),
        "each query has its own row of a mask of shape (query, key)",
    )
with Check("additive_attention", "a query that may attend to nothing", hint) as check:
    inputs = numbers(2, 3, 4), numbers(2, 5, 6, seed=1), numbers(2, 5, 7, seed=2)
    parts = numbers(4, 8, seed=3), numbers(6, 8, seed=4), numbers(8, seed=5)
    for source in (*inputs, *parts):
        source.requires_grad_()
    mask = torch.ones(2, 3, 5, dtype=torch.bool)
    mask[0, 1] = False
    output, weights = check.call(*inputs, *parts, mask, returns=names)
    check.equal(weights[0, 1], torch.zeros(5, dtype=torch.float64), "its weights are 0")
    check.equal(output[0, 1], torch.zeros(7, dtype=torch.float64), "its output is 0")
    ones = torch.tensor([[1.0, 0.0, 1.0], [1.0, 1.0, 1.0]], dtype=torch.float64)
    check.equal(weights.sum(-1), ones, "the weights of the other queries sum to 1")
    slopes = [check.gradient(output.square(), source) for source in (*inputs, *parts)]
    check.true(
        all(bool(slope.isfinite().all()) for slope in slopes),
        "the gradients contain no NaN either",
        hint="a NaN on the way still counts in the gradient: replace masked scores with −∞ "
        "(do not add it), and divide by no sum that is 0",
    )
# BEGIN HIDDEN TESTS
with Check("additive_attention", "masks of every shape") as check:
    for dtype in (torch.float64, torch.float32):
        inputs = [numbers(3, n, d, seed=n, dtype=dtype) for n, d in ((4, 2), (6, 5), (6, 8))]
        parts = [numbers(*shape, seed=12, dtype=dtype) for shape in ((2, 7), (5, 7), (7,))]
        query, key, value = inputs
        sums = (query @ parts[0])[:, :, None] + (key @ parts[1])[:, None]
        scores = sums.tanh() @ parts[2]
        full = numbers(3, 4, 6, seed=13) > -0.8
        full[2, 3] = False
        lengths = torch.arange(6) < torch.tensor([6, 0, 2])[:, None, None]
        for mask in (
            full,
            lengths,
            full[0],
            full[0, 0],
            full[:1],
            full[1][None, :1],
            full[..., :1],
        ):
            allowed = mask.expand(3, 4, 6)
            exponentials = scores.exp() * allowed
            total = exponentials.sum(-1, keepdim=True)
            expected = exponentials / torch.where(total == 0, torch.ones_like(total), total)
            output, weights = check.call(*inputs, *parts, mask, returns=names)
            check.equal(weights, expected, "masked weights")
            check.equal(output, expected @ value, "masked output")
with Check("additive_attention", "gradients beside an empty row") as check:
    inputs = numbers(2, 3, 4, seed=14), numbers(2, 5, 6, seed=15), numbers(2, 5, 7, seed=16)
    parts = numbers(4, 8, seed=17), numbers(6, 8, seed=18), numbers(8, seed=19)
    sources = [source.requires_grad_() for source in (*inputs, *parts)]
    mask = torch.ones(2, 3, 5, dtype=torch.bool)
    mask[:, 1] = False
    mask[1, :, 2] = False
    output, _ = check.call(*inputs, *parts, mask, returns=names)
    kept = torch.tensor([0, 2])
    query, key, value = inputs
    sums = (query[:, kept] @ parts[0])[:, :, None] + (key @ parts[1])[:, None]
    scores = (sums.tanh() @ parts[2]).masked_fill(~mask[:, kept], -math.inf)
    expected = scores.softmax(-1) @ value
    for source in sources:
        slope = check.gradient(output.square(), source)
        check.equal(slope, check.gradient(expected.square(), source), "as without that row")
with Check("additive_attention", "a masked key has no influence") as check:
    inputs = [numbers(2, n, d, seed=20 + n) for n, d in ((3, 4), (5, 6), (5, 7))]
    parts = numbers(4, 8, seed=17), numbers(6, 8, seed=18), 30000 * numbers(8, seed=19)
    mask = torch.tensor([True, False, True, True, False])
    output, weights = check.call(*inputs, *parts, mask, returns=names)
    noise = torch.where(mask[:, None], 0.0, 300.0)
    others = inputs[0], inputs[1] + noise, inputs[2] + noise
    noisy, noisy_weights = check.call(*others, *parts, mask, returns=names)
    check.equal(noisy_weights, weights, "the weights do not change")
    check.equal(noisy, output, "the output does not change")
# END HIDDEN TESTS


# %% [markdown]
# ## 5 · One step of the decoder
#
# Now put the parts together. One step of the decoder gets a token, its old state, and all states of the encoder:
#
# 1. the old state is the query: weights and context, as in part 4,
# 2. the *cell*, one step of a GRU, reads [embedding of the token, context] and makes the new state (`nn.GRUCell`: `cell(input, state)`, both (batch, features), without a time axis),
# 3. the output layer reads [new state, context] and makes the logits.
#
# $$c = \mathrm{attention}(s, h) \qquad s' = \mathrm{GRU}([\mathrm{embedding}, c],\, s) \qquad \mathrm{logits} = [s', c]\, W_o + b_o$$
#
# **Predict.** Why is the *old* state the query?
#
# <details><summary>The new state does not exist yet: the cell needs the context to make it</summary>Yes. Other orders are possible: Luong's decoder first makes the new state, and then uses that as the query.</details>
# <details><summary>The old state has seen more of the source</summary>The other way round: the new state has also read this step's context.</details>
# <details><summary>The new state would see the future</summary>No token of the future is involved. The order is a matter of what is computed first.</details>


# %% given decoder_weights folded=true
# Fixed weights for the checks: click to unfold.
def decoder_weights(
    vocab_size: int, d_embedding: int, d_states: int, d_hidden: int, seed: int = 0
) -> dict[str, Tensor]:
    """Fixed weights for every part of an AttentionDecoder, by name, in float64."""
    shapes = {
        "embedding.weight": (vocab_size, d_embedding),
        "w_query.weight": (d_hidden, d_hidden),
        "w_key.weight": (d_hidden, d_states),
        "v.weight": (1, d_hidden),
        "cell.weight_ih": (3 * d_hidden, d_embedding + d_states),
        "cell.weight_hh": (3 * d_hidden, d_hidden),
        "cell.bias_ih": (3 * d_hidden,),
        "cell.bias_hh": (3 * d_hidden,),
        "output.weight": (vocab_size, d_hidden + d_states),
        "output.bias": (vocab_size,),
    }
    return {
        name: numbers(*shape, seed=20 * seed + i, scale=0.7)
        for i, (name, shape) in enumerate(shapes.items())
    }


# %% [markdown]
# **Exercise** (35 minutes). Write the step. The checks load weights into your decoder, so the names of its parts matter. In this class `d_hidden` is both the decoder's state width and its score width. `d_states` is the width of the encoder's states, both directions together.
#
# <details><summary>Hint 1</summary>There is one query for each sequence. Give its projection an axis for the length, of size 1: then broadcasting adds it to all keys.</details>
# <details><summary>Hint 2</summary><code>self.v(…)</code> returns (batch, length, 1): remove the last axis before the softmax over the length.</details>
# <details><summary>Hint 3</summary>You can also call your <code>additive_attention</code>. <code>nn.Linear</code> keeps its matrix as (out, in): pass <code>self.w_query.weight.T</code>, and <code>self.v.weight[0]</code>.</details>


# %% exercise AttentionDecoder
class AttentionDecoder(nn.Module):
    """One step of a decoder that attends to the encoder's states.

    Parts: `embedding` (`nn.Embedding`); `w_query` (d_hidden to d_hidden), `w_key` (d_states to
    d_hidden) and `v` (d_hidden to 1), each an `nn.Linear` without bias; `cell`, an `nn.GRUCell`
    whose input is [embedding, context]; `output`, an `nn.Linear` of [new state, context].
    forward: token (batch,), state (batch, d_hidden), states (batch, length, d_states)
    -> (logits (batch, vocab_size), new state (batch, d_hidden), weights (batch, length)).
    The old state is the query, with additive scores; `states` are the keys and the values.
    mask: bool (batch, 1, length), True = may attend; no row of it is empty.
    """

    def __init__(self, vocab_size: int, d_embedding: int, d_states: int, d_hidden: int) -> None:
        # BEGIN SOLUTION
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_embedding)
        self.w_query = nn.Linear(d_hidden, d_hidden, bias=False)
        self.w_key = nn.Linear(d_states, d_hidden, bias=False)
        self.v = nn.Linear(d_hidden, 1, bias=False)
        self.cell = nn.GRUCell(d_embedding + d_states, d_hidden)
        self.output = nn.Linear(d_hidden + d_states, vocab_size)
        # END SOLUTION

    def forward(
        self, token: Tensor, state: Tensor, states: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        # BEGIN SOLUTION
        # (batch, 1, d_hidden) + (batch, length, d_hidden)
        hidden = self.w_query(state)[:, None] + self.w_key(states)
        scores = self.v(torch.tanh(hidden)).squeeze(-1)  # (batch, length)
        if mask is not None:
            scores = scores.masked_fill(~mask.squeeze(1), -math.inf)
        weights = torch.softmax(scores, -1)
        context = (weights[:, None] @ states).squeeze(1)  # (batch, d_states)
        state = self.cell(torch.cat([self.embedding(token), context], -1), state)
        return self.output(torch.cat([state, context], -1)), state, weights
        # END SOLUTION


# %% check AttentionDecoder points=3
hint = "old state → weights → context → cell → new state → output"
names = ("logits", "state", "weights")
with Check("AttentionDecoder", "a step you can do by hand", hint) as check:
    decoder = check.build(5, 1, 2, 3).double()
    # and one with small numbers, to tell mistakes apart
    small = check.build(7, 3, 4, 6).double()
    small.load(decoder_weights(7, 3, 4, 6))
    token, state, states = torch.tensor([3, 5]), numbers(2, 6, seed=31), numbers(2, 5, 4, seed=32)
    results = small.call(token, state, states, returns=names)
    small_logits, small_state, small_weights = results
    zeros = {name: torch.zeros_like(w) for name, w in decoder_weights(5, 1, 2, 3).items()}
    # the query is [50, 0, 0], the keys are [100, 50, 0], [0, 0, 0] and twice [-100, -50, 0]: their
    # sums become 1, 0 or -1; the exponentials of the scores are 6, 2, 1/6 and 1/6
    attending = {
        "w_query.weight": torch.diag(torch.tensor([100.0, 0.0, 0.0])),
        "w_key.weight": torch.tensor([[100.0, 0.0], [50.0, 0.0], [0.0, 0.0]]),
        "v.weight": torch.tensor([[2.0, 3.0, 1.0]]).log(),
    }
    # both gates of the cell are 1/2: the new state is (old state + sign of the input) / 2
    reading = {
        "embedding.weight": torch.tensor([[1.0], [1.0], [-1.0], [1.0], [1.0]]),
        "cell.weight_ih": torch.cat([torch.zeros(6, 3), 100 * torch.eye(3)]),
        "output.weight": torch.eye(5),
        "output.bias": torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0]),
    }
    decoder.load({name: w.double() for name, w in {**zeros, **attending, **reading}.items()})
    state = torch.tensor([[0.5, -0.5, 0.25]], dtype=torch.float64)
    states = torch.tensor([[[1.0, 1.0], [0.0, -2.0], [-1.0, 5.0], [-1.0, -5.0]]]).double()
    logits, new_state, weights = decoder.call(torch.tensor([2]), state, states, returns=names)
    check.shape(weights, batch=1, length=4)
    check.shape(new_state, batch=1, d_hidden=3)
    check.shape(logits, batch=1, vocab_size=5)
    check.equal(
        weights,
        torch.tensor([[0.72, 0.24, 0.02, 0.02]], dtype=torch.float64),
        "the old state is the query: its weights are 0.72, 0.24, 0.02 and 0.02",
        within=1e-6,
    )
    check.equal(
        new_state,
        torch.tensor([[-0.25, 0.25, 0.625]], dtype=torch.float64),
        "the cell gets [embedding, context] = [-1, 0.68, 0.24] and the old state; the new state is "
        "[-0.25, 0.25, 0.625]",
        within=1e-6,
    )
    check.equal(
        logits,
        torch.tensor([[0.75, 2.25, 3.625, 4.68, 5.24]], dtype=torch.float64),
        "the logits are the output layer of [new state, context]",
        within=1e-6,
    )
    check.shape(small_weights, batch=2, length=5)
    check.shape(small_state, batch=2, d_hidden=6)
    check.shape(small_logits, batch=2, vocab_size=7)
    check.equal(
        small_weights[0],
        torch.tensor([0.1454, 0.1686, 0.2785, 0.1826, 0.2248], dtype=torch.float64),
        "with small numbers, too, the weights are softmax(v · tanh(W_q state + W_k states))",
        within=1e-3,
    )
    check.equal(
        small_state[0],
        torch.tensor([-0.6288, 0.5634, 0.1163, -0.6061, -0.2208, -0.0375], dtype=torch.float64),
        "with small numbers, too, the new state is the cell's",
        within=1e-3,
    )
    check.equal(
        small_logits[0],
        torch.tensor(
            [2.9896, 1.5618, -1.6105, -1.0370, 1.9383, 0.3920, -1.0932], dtype=torch.float64
        ),
        "with small numbers, too, the logits are the output layer of [new state, context]",
        within=1e-3,
    )
with Check("AttentionDecoder", "a row in a batch and alone", hint) as check:
    decoder = check.build(7, 3, 4, 6).double()
    decoder.load(decoder_weights(7, 3, 4, 6, seed=1))
    token, state, states = torch.tensor([4, 0]), numbers(2, 6, seed=33), numbers(2, 5, 4, seed=34)
    both = decoder.call(token, state, states, returns=names)
    alone = decoder.call(token[1:], state[1:], states[1:], returns=names)
    for name, of_both, of_one in zip(names, both, alone, strict=True):
        check.equal(of_both[1], of_one[0], f"{name}: a row gives the same alone as in a batch")
with Check("AttentionDecoder", "what can be learned") as check:
    decoder = check.build(7, 3, 4, 6).double()
    check.equal(
        len(decoder.parameters()),
        10,
        "training can change ten tensors: those of the parts in the docstring, and no others",
        hint="make the parts as PyTorch makes them, and leave requires_grad as it is",
    )
    decoder.load(decoder_weights(7, 3, 4, 6, seed=1))
    token = torch.tensor([4, 0])
    state, states = numbers(2, 6, seed=33), numbers(2, 5, 4, seed=34)
    for mode in (decoder.train, decoder.eval):
        mode()
        logits, new_state, weights = decoder.call(
            token, state.requires_grad_(), states.requires_grad_(), returns=names
        )
        for name, slope in decoder.gradients(logits.square()).items():
            check.true(
                bool((slope != 0).any()),
                f"a gradient reaches {name} from the logits",
                hint="leave out no_grad, detach and new tensors on the way",
            )
        table = decoder.gradients(logits.square())["embedding.weight"]
        check.true(
            bool((table[token] != 0).all()),
            "a gradient reaches the embedding of each token, of token 0 too",
            hint="make the embedding with its two sizes and nothing else",
        )
        for label, result in zip(names, (logits, new_state, weights), strict=True):
            for name, source in (("state", state), ("states", states)):
                check.true(
                    bool((check.gradient(result.square(), source) != 0).all()),
                    f"a gradient reaches {name} from the returned {label}",
                    hint="leave out no_grad, detach and new tensors on the way",
                )
# BEGIN HIDDEN TESTS
with Check("AttentionDecoder", "the formulas, in other sizes, scales and dtypes") as check:
    for sizes, batch, length, dtype, scale in (
        ((7, 3, 4, 6), 2, 5, torch.float64, 1.0),
        ((4, 5, 3, 2), 6, 1, torch.float64, 1.0),
        ((3, 1, 6, 5), 1, 7, torch.float64, 5.0),
        ((5, 5, 5, 5), 5, 5, torch.float64, 1.0),
        ((9, 2, 8, 4), 3, 6, torch.float32, 1.0),
    ):
        decoder = check.build(*sizes)
        decoder = decoder.double() if dtype == torch.float64 else decoder
        parts = {name: w.to(dtype) for name, w in decoder_weights(*sizes, seed=2).items()}
        decoder.load(parts)
        vocab_size, d_embedding, d_states, d_hidden = sizes
        cell = nn.GRUCell(d_embedding + d_states, d_hidden, dtype=dtype)
        cell.load_state_dict({n[5:]: w for n, w in parts.items() if n.startswith("cell.")})
        token = (torch.arange(batch) * 3 + 1) % vocab_size
        state = numbers(batch, d_hidden, seed=35, scale=scale, dtype=dtype)
        states = numbers(batch, d_states, length, seed=36, scale=scale, dtype=dtype).transpose(1, 2)
        for _ in range(2):
            sums = F.linear(state, parts["w_query.weight"])[:, None] + F.linear(
                states, parts["w_key.weight"]
            )
            expected_weights = (sums.tanh() @ parts["v.weight"][0]).softmax(-1)
            context = torch.einsum("bl,bld->bd", expected_weights, states)
            embedded = parts["embedding.weight"][token]
            new = cell(torch.cat([embedded, context], 1), state).detach()
            joined = torch.cat([new, context], 1)
            expected = F.linear(joined, parts["output.weight"], parts["output.bias"])
            logits, new_state, weights = decoder.call(token, state, states, returns=names)
            check.equal(weights.detach(), expected_weights, "weights")
            check.equal(new_state.detach(), new, "the new state")
            check.equal(logits.detach(), expected, "logits")
            state, token = new, (token + 1) % vocab_size
# END HIDDEN TESTS


# %% [markdown]
# With padding. The mask has the shape (batch, 1, length), as in lesson 2:

# %% check AttentionDecoder_mask points=1
hint = "squeeze the query axis of the mask, or keep one query axis everywhere"
names = ("logits", "state", "weights")
with Check("AttentionDecoder", "a mask", hint) as check:
    decoder = check.build(7, 3, 4, 6).double()
    decoder.load(decoder_weights(7, 3, 4, 6, seed=1))
    token, state, states = torch.tensor([4, 0]), numbers(2, 6, seed=33), numbers(2, 5, 4, seed=34)
    mask = torch.tensor([[[True, True, True, False, False]], [[True] * 5]])
    masked = decoder.call(token, state, states, mask, returns=names)
    free = decoder.call(token, state, states, returns=names)
    shorter = decoder.call(token[:1], state[:1], states[:1, :3], returns=names)
    check.shape(masked[2], batch=2, length=5)
    check.equal(
        masked[2][0, 3:],
        torch.zeros(2, dtype=torch.float64),
        "padding gets weights of 0 (True = may attend)",
    )
    check.equal(masked[2][0, :3], shorter[2][0], "the other weights are as without the padding")
    for i, name in ((1, "new state"), (0, "logits")):
        check.equal(masked[i][0], shorter[i][0], f"{name}: the same as without the padding")
    for i, name in ((2, "weights"), (1, "new state"), (0, "logits")):
        check.equal(
            masked[i][1],
            free[i][1],
            f"{name}: a row without padding gives the same as without a mask",
        )
    # scores of -20000 and 20000: v times the sign of the first feature of a state
    steep = decoder_weights(7, 3, 4, 6, seed=1)
    steep["w_query.weight"] = torch.zeros(6, 6)
    steep["w_key.weight"] = 50 * torch.eye(6, 4)
    steep["v.weight"] = 20000 * torch.eye(6)[:1]
    decoder.load({name: weight.double() for name, weight in steep.items()})
    kept = torch.tensor([True, False, True, False, True])
    for sign, told in ((1.0, "far below"), (-1.0, "far above")):
        first = torch.where(kept, sign, -sign).double().expand(2, 1, 5).mT  # (batch, length, 1)
        signed = torch.cat([first, states[..., 1:]], -1)
        high = decoder.call(token, state, signed, kept.expand(2, 1, 5), returns=names)
        check.equal(
            high[2],
            (kept.double() / 3).expand(2, 5),
            f"with equal scores, three positions get 1/3 each, padding {told} them gets 0",
        )
        shorter = decoder.call(token, state, signed[:, kept], returns=names)
        check.equal(high[0], shorter[0], f"logits: the same as without padding that is {told}")
# BEGIN HIDDEN TESTS
with Check("AttentionDecoder", "padding has no influence") as check:
    for sizes, lengths, length in (((5, 2, 3, 4), [4, 1, 6], 7), ((3, 4, 2, 5), [2], 3)):
        decoder = check.build(*sizes).double()
        decoder.load(decoder_weights(*sizes, seed=3))
        batch = len(lengths)
        token = torch.arange(batch) % sizes[0]
        state = numbers(batch, sizes[3], seed=37)
        states = numbers(batch, length, sizes[2], seed=38)
        mask = torch.arange(length) < torch.tensor(lengths)[:, None, None]
        noise = torch.where(mask.transpose(1, 2), 0.0, 400.0)
        results = decoder.call(token, state, states, mask, returns=names)
        noisy = decoder.call(token, state, states + noise, mask, returns=names)
        for name, result, other in zip(names, results, noisy, strict=True):
            check.equal(other, result, f"{name} do not change")
        for i, count in enumerate(lengths):
            one = slice(i, i + 1)
            alone = decoder.call(token[one], state[one], states[one, :count], returns=names)
            check.equal(results[0][i], alone[0][0], "logits as without padding")
            check.equal(results[1][i], alone[1][0], "a state as without padding")
            check.equal(results[2][i, :count], alone[2][0], "weights as without padding")
# END HIDDEN TESTS


# %% [markdown]
# **A good place to stop.** Your decoder can take one step. Next: whole sequences. (Back later? Run all cells above first.)

# %% [markdown]
# ## 6 · Teacher forcing
#
# Each step of the decoder reads the token that the step before wrote. *Teacher forcing* (lesson 2) gives it the target's token instead, during training. Say the target is 2 0 2 6:
#
# | step | reads, by itself | reads, with teacher forcing | should write |
# | --- | --- | --- | --- |
# | 1 | *begin* | *begin* | 2 |
# | 2 | what it wrote: 1 | 2 | 0 |
# | 3 | what it wrote: 9 | 0 | 2 |
# | 4 | what it wrote: 4 | 2 | 6 |
#
# **Predict.** You train without teacher forcing: the decoder reads its own tokens, and the loss compares with the target. What does it learn?
#
# <details><summary>The same as with teacher forcing: the loss is the same</summary>The loss at step 4 then asks for a 6 after 1 9 4. That is a different question from a 6 after 2 0 2.</details>
# <details><summary>At first, to predict the next token after a wrong beginning</summary>Yes: before it is trained, nearly all of its tokens are wrong. With teacher forcing, each step learns from a correct beginning. (How much that helps is not measured here.)</details>
# <details><summary>To copy the target from its input</summary>Without teacher forcing, the target is not in its input: the decoder reads only what it wrote. (With teacher forcing, step t reads target t − 1. If it read target t, it could copy.)</details>
#
# **Exposure bias** is the mismatch between training, where a decoder reads the target's tokens, and *inference* (using it), where it reads its own. How far apart are the two? Let the networks of part 2 write eight digits again, reading the target's:

# %%
forced_digits = [
    digits_correct(copying(OneVector, 0), forced=True),
    [0.902, 0.896, 0.846, 0.736, 0.660, 0.630, 0.604, 0.880],  # seeds 1 and 2, recorded
    [0.924, 0.868, 0.834, 0.708, 0.638, 0.614, 0.654, 0.892],
]
figures.curves(
    eight,
    {
        "reads the target's digits": forced_digits,
        "reads what it wrote": by_itself,
    },
    x="position in a sequence of eight digits",
    y="digits that are correct",
    title="One vector, the same three networks: mean and range",
    bottom=0.0,
)

# %% [markdown]
# What to see: at the last position, 88 % are correct when the network reads the target's digits, and 37 % when it reads its own. Two causes are possible; the figure does not separate them. After an error, the network continues from a beginning that does not match the source; in training, beginning and source always matched. And a correct digit may help to find the next one in the vector.
#
# (Not tested: why the upper curve rises at the end, perhaps because those digits were read last; and whether training on its own tokens would help.)

# %% [markdown]
# **Exercise** (25 minutes). Write the loop: teacher forcing with a target, greedy decoding without one. `unroll` gets the step as a function.
#
# <details><summary>Hint 1</summary>Keep two variables, <code>token</code> and <code>state</code>. Both change after each call. The first <code>state</code> may be <code>None</code>, because some steps make their own initial state: pass it on.</details>
# <details><summary>Hint 2</summary>With a target, which column does call 1 read? Write down calls 0, 1 and 2 before you write the loop.</details>
# <details><summary>Hint 3</summary>Collect logits and weights in two lists, and stack them along axis 1 at the end.</details>


# %% exercise unroll
def unroll(
    step: Callable[[Tensor, Tensor | None], tuple[Tensor, Tensor, Tensor]],
    state: Tensor | None,
    begin: Tensor,
    length: int,
    target: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Call `step(token, state)` `length` times; return (logits, weights) of all calls.

    step returns (logits (batch, vocab_size), new state, weights (batch, source_length)).
    Count calls from 0. Call 0 gets `begin` (batch,) and `state`, which may be None: pass it on.
    Call t gets the state that call t - 1 returned, and a token (batch,): target[:, t - 1] if there
    is a target (batch, length) (teacher forcing), else the argmax of the logits of call t - 1.
    logits (batch, length, vocab_size), weights (batch, length, source_length); nothing is detached.
    """
    # BEGIN SOLUTION
    token, all_logits, all_weights = begin, [], []
    for t in range(length):
        logits, state, weights = step(token, state)
        all_logits.append(logits)
        all_weights.append(weights)
        token = logits.argmax(-1) if target is None else target[:, t]
    return torch.stack(all_logits, 1), torch.stack(all_weights, 1)
    # END SOLUTION


# %% check unroll points=3
hint = "keep two variables, token and state, and replace both after each call of step"


def recorded(batch, calls):
    """A step of a tiny decoder: its new state is half the old one plus a row of a table."""
    table, to_logits, to_weights = numbers(7, 2), numbers(2, 7, seed=1), numbers(2, 5, seed=2)

    def step(token, state):
        if len(calls) >= 40:
            raise RuntimeError("step is called without end: more than 40 times")
        old = torch.zeros(batch, 2, dtype=torch.float64) if state is None else state
        new = 0.5 * old + table[token]
        results = new @ to_logits, new, new @ to_weights
        given = (part.clone() if isinstance(part, Tensor) else part for part in (token, state))
        calls.append((*given, *(result.detach().clone() for result in results)))
        return results

    return step


def alike(one, other):
    """Whether both are equal tensors, or both None."""
    if one is None or other is None:
        return one is other
    tensors = isinstance(one, Tensor) and isinstance(other, Tensor)
    return tensors and one.shape == other.shape and bool((one == other).all())


def follow(check, calls, state, begin, length, results, target=None):
    """Check what each call of step got, and that its results are returned."""
    logits, weights = results
    check.true(
        len(calls) == length,
        f"step is called {length} times; you call it {len(calls)} times",
    )
    check.true(alike(calls[0][0], begin), "call 0 of step (the first) gets begin")
    check.true(alike(calls[0][1], state), "call 0 of step (the first) gets the given state")
    for t in range(1, length):
        _, _, made, new, _ = calls[t - 1]
        expected = made.argmax(-1) if target is None else target[:, t - 1]
        told = f"target[:, {t - 1}]" if target is not None else f"the argmax of call {t - 1}"
        check.true(
            alike(calls[t][0], expected),
            f"call {t} of step (counted from 0) gets {told} as its tokens",
        )
        check.true(
            alike(calls[t][1], new),
            f"call {t} of step (counted from 0) gets the state that call {t - 1} returned",
        )
    check.shape(logits, batch=len(begin), length=length, vocab_size=7)
    check.shape(weights, batch=len(begin), length=length, source_length=5)
    for t in range(length):
        check.equal(logits[:, t], calls[t][2], f"logits[:, {t}] are those of call {t}")
        check.equal(weights[:, t], calls[t][4], f"weights[:, {t}] are those of call {t}")


names = ("logits", "weights")
target = torch.tensor([[2, 5, 1, 6], [6, 0, 3, 3], [4, 4, 0, 1]])
for how, given_target in (("with a target", target), ("without a target", None)):
    with Check("unroll", f"{how}, call by call", hint) as check:
        begin, state, calls = torch.tensor([3, 1, 0]), numbers(3, 2, seed=3), []
        results = check.call(recorded(3, calls), state, begin, 4, given_target, returns=names)
        follow(check, list(calls), state, begin, 4, results, given_target)
    with Check("unroll", f"{how}, a second time, and from no state", hint) as check:
        begin, calls = torch.tensor([5, 0]), []
        some = None if given_target is None else given_target[1:, 1:]
        results = check.call(recorded(2, calls), None, begin, 3, some, returns=names)
        follow(check, list(calls), None, begin, 3, results, some)
    with Check("unroll", f"{how}, gradients through all calls") as check:
        begin, state = torch.tensor([3, 1, 0]), numbers(3, 2, seed=3).requires_grad_()
        logits, weights = check.call(recorded(3, []), state, begin, 4, given_target, returns=names)
        # each call halves the state
        for name, result, seed, wide in (("logits", logits, 1, 7), ("weights", weights, 2, 5)):
            by_state = numbers(2, wide, seed=seed).sum(1)
            for t in (0, 3):
                check.equal(
                    check.gradient(result[:, t], state),
                    (0.5 ** (t + 1) * by_state).expand(3, 2),
                    f"a gradient reaches the first state from {name}[:, {t}]",
                    hint="leave out detach, no_grad and .data: the loss needs all calls",
                )
with Check("unroll", "without a target, the same token again and again", hint) as check:
    calls = []

    def stuck(token, state, calls=calls):
        results = torch.eye(7)[[2, 2]], torch.ones(2, 3), torch.full((2, 5), 0.2)
        calls.append((token, state, *results))
        return results

    begin = torch.tensor([2, 2])
    results = check.call(stuck, None, begin, 6, returns=names)
    follow(check, list(calls), None, begin, 6, results)
# BEGIN HIDDEN TESTS
for batch, length, dtype in ((1, 1, torch.float64), (4, 9, torch.float64), (2, 6, torch.float32)):
    with Check("unroll", f"equal to a plain loop, {batch} rows, {length} calls") as check:
        mix = numbers(3, 3, seed=10, dtype=dtype)
        table, to_logits = numbers(8, 3, seed=11, dtype=dtype), numbers(3, 8, seed=12, dtype=dtype)
        to_weights = numbers(3, 6, seed=13, dtype=dtype)

        def step(token, state, mix=mix, table=table, heads=(to_logits, to_weights)):
            new = torch.tanh(state @ mix + table[token])
            return 3 * new @ heads[0], new, (new @ heads[1]).softmax(-1)

        begin = torch.arange(batch) % 8
        target = (torch.arange(batch * length).reshape(batch, length) * 5 + 3) % 8
        for forced in (target, None):
            first = numbers(batch, 3, seed=14, dtype=dtype).requires_grad_()
            logits, weights = check.call(step, first, begin, length, forced, returns=names)
            check.shape(logits, batch=batch, length=length, vocab_size=8)
            check.shape(weights, batch=batch, length=length, source_length=6)
            token, state, total = begin, first, torch.zeros((), dtype=dtype)
            for t in range(length):
                made, state, attended = step(token, state)
                check.equal(logits[:, t].detach(), made.detach(), "logits")
                check.equal(weights[:, t].detach(), attended.detach(), "weights")
                total = total + made.square().sum() + attended.square().sum()
                token = made.argmax(-1) if forced is None else forced[:, t]
            slope = check.gradient(logits.square().sum() + weights.square().sum(), first)
            check.equal(slope, check.gradient(total, first), "the gradient by the first state")
with Check("unroll", "a state of another shape") as check:

    def two_layers(token, state):
        old = torch.zeros(2, 3, 4) if state is None else state
        new = 0.5 * old + (token[:, None] + torch.arange(4.0))
        return new.sum(0), new, new[0].softmax(-1)

    begin = torch.tensor([1, 0, 2])
    logits, weights = check.call(two_layers, None, begin, 2, returns=names)
    once = 2 * (begin[:, None] + torch.arange(4.0))
    check.equal(logits[:, 0], once, "call 0")
    check.equal(logits[:, 1], 0.5 * once + 2 * (3 + torch.arange(4.0)), "call 1")
# END HIDDEN TESTS


# %% [markdown]
# You now have all parts of the translator. The next class only connects them: `encode`, then `AttentionDecoder` step by step, in your `unroll`.


# %%
class Translator(SequenceModel):
    """An encoder, and a decoder that attends to all its states.

    forward: source (batch, length), lengths (batch,), target (batch, steps)
    -> (logits (batch, steps, target_vocab + 1), weights (batch, steps, length)).
    """

    def __init__(
        self,
        source_vocab: int,
        target_vocab: int,
        directions: int = 1,
        decoder: type[AttentionDecoder] = AttentionDecoder,
    ) -> None:
        super().__init__()
        self.begin = target_vocab
        self.source_embedding = nn.Embedding(source_vocab, 16)
        self.gru = nn.GRU(16, WIDTH // directions, batch_first=True, bidirectional=directions == 2)
        self.decoder = decoder(target_vocab + 1, 16, WIDTH, WIDTH)

    def forward(
        self,
        source: Tensor,
        lengths: Tensor,
        target: Tensor,
        forced: bool = True,
        covered: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """`covered` (batch, length): positions that are masked in addition to padding."""
        states, last = encode(self.gru, self.source_embedding(source), lengths)
        mask = torch.arange(source.shape[1]) < lengths[:, None, None]
        if covered is not None:
            mask = mask & ~covered[:, None]

        def step(token: Tensor, state: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
            return self.decoder(token, state, states, mask)

        begin = torch.full_like(target[:, 0], self.begin)
        return unroll(step, last, begin, target.shape[1], target if forced else None)


# %% [markdown]
# A comparison needs a control: the same network, with attention switched off. Let the decoder attend to a *single* key, the encoder's last state.
#
# **Predict.** What weight does attention give to a single key, and what do `w_query`, `w_key` and `v` learn?
#
# <details><summary>The weight 1, and they learn nothing</summary>Yes. Softmax of one score is 1, whatever the score is. So the context is the last state, at every step: this is the model of part 2.</details>
# <details><summary>A weight between 0 and 1, and they learn it</summary>The weights of a query sum to 1. With one key there is nothing to share.</details>
# <details><summary>The weight 1, and they learn to make it larger</summary>No score can change a weight of 1, so the gradients are 0.</details>
#
# Check it: give your decoder the weights of a `OneVector`, and let it attend to the last state alone. (`nn.GRU` adds `_l0` to the names of its weights, and `nn.GRUCell` does not.)

# %%
one, attending = OneVector(DIGITS + 1, DIGITS), AttentionDecoder(DIGITS + 1, 16, WIDTH, WIDTH)
shared = {name: w for name, w in one.state_dict().items() if not name.startswith(("source", "gru"))}
shared = {name.replace("_l0", ""): w for name, w in shared.items()}
attending.load_state_dict(shared, strict=False)
rows, some_lengths, unused = random_digits(5, seed=0)
unused, last_state = encode(one.gru, one.source_embedding(rows), some_lengths)
first_token = torch.full((5,), one.begin)
step_logits, unused, step_weights = attending(first_token, last_state, last_state[:, None])
difference = (
    (one.write(first_token[:, None], last_state, last_state)[0][:, 0] - step_logits)
    .abs()
    .max()
    .item()
)
print(
    f"weights {step_weights.flatten().tolist()}, largest difference of the logits {difference:.0e}"
)
for name, model in {"one vector": one, "attention": Translator(DIGITS + 1, DIGITS)}.items():
    print(f"{name:11} {sum(w.numel() for w in model.parameters()):6,} parameters")

# %% [markdown]
# What to see: the two agree in the first step, and later steps use the same formula. So `OneVector` *is* your decoder without attention. Your `Translator` has 8,256 parameters more, in `w_query`, `w_key` and `v`; with one key they change nothing.
#
# ## 7 · Through all states
#
# Now the comparison: the same sequences, number of steps and optimizer. Only the keys and values differ: one, or all. (Of three rates, 0.005, 0.01 and 0.02, one vector does best with 0.01. With attention, 0.005 and 0.01 are equally good, and 0.02 is not better.)
#
# **Predict.** Training has sequences of 1 to 12 digits. With attention, how well are sequences of 14 digits copied, compared with those of 12? No sequence in training was that long.
#
# <details><summary>As well as those of 12: a decoder that attends has no bottleneck</summary>It has none. But the encoder's states at 14 digits, and the decoder's after 12, are new to it.</details>
# <details><summary>Worse</summary>Yes. Attention removes the bottleneck. It does not teach the network what to do at lengths that it has never met.</details>
# <details><summary>None is correct, as in the control</summary>Some still are: between a quarter and a third.</details>

# %%
longer = [*tested_lengths, 14]
recorded_states = [  # seeds 1 and 2
    [1.000, 1.000, 0.994, 0.984, 0.966, 0.872, 0.306],
    [0.974, 0.998, 0.988, 0.984, 0.976, 0.868, 0.254],
]
figures.curves(
    longer,
    {
        "all states (attention)": [
            correct_by_length(copying(Translator, 0), longer),
            *recorded_states,
        ],
        "one vector": [
            correct_by_length(copying(OneVector, 0), longer),
            *([*copies, 0.0] for copies in recorded_copies[1:]),
        ],
    },
    x="digits in the sequence (up to 12 in training)",
    y="sequences copied without an error",
    title=f"{COPY_STEPS} steps: your runs and 2 recorded of each, mean and range",
    bottom=0.0,
)

# %% [markdown]
# What to see: after the same 200 steps, attention copies about nine in ten sequences of twelve digits. With one vector, almost none is correct from ten digits on. (In part 2, even a wider vector and 1,000 steps gave 12 % at twelve digits.) At 14 digits, attention falls to between a quarter and a third.
#
# <details><summary>Why does this help, if one vector has room?</summary>The network must learn to pack all digits into that vector, and to unpack them in order. With attention it need not: each digit has a state at its own position, and any step can read this state directly. In training, the gradient takes the same short path back. (Which of these matters most is not tested.)</details>
#
# Bahdanau, Cho and Bengio (2014) drew this comparison for translation: without attention the BLEU score (a measure of translation quality) falls with the length of the sentence, and that of their best model with attention stays level. (**From the lecture**: *Transformer: Part I (Encoder)*, CS7150, “Quantitative evaluation”.)
#
# Which states does your decoder attend to? In the next map, each row is a step.

# %%
rows, some_lengths, unused = random_digits(1, seed=3, length=9)
with torch.no_grad():
    some_logits, some_weights = copying(Translator, 0)(rows, some_lengths, rows, forced=False)
read = [str(digit) for digit in rows[0].tolist()]
wrote = [str(digit) for digit in some_logits.argmax(-1)[0].tolist()]
draw_maps(
    {"attention weights": (some_weights[0], "state of the source digit", read)},
    "step that writes",
    wrote,
    ("weight", 0.0, 1.0),
)

# %% [markdown]
# What to see (yours may differ a little): each step gives its largest weight, here 0.45 to 0.68, to its own position, and most of the rest to the neighbours. No target says where to read: the decoder has learned the alignment from the loss alone.

# %% [markdown]
# ## 8 · Dates
#
# In a copy the alignment is always the same diagonal. Now a task in which it depends on the source: dates in many forms become dates in one form (ISO 8601).

# %% folded=true
# Writes dates in eleven forms, and draws batches of them: click to unfold.
import datetime
import random

MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August"]
MONTHS += ["September", "October", "November", "December"]
FIRST_DAY, DAYS = datetime.date(1950, 1, 1).toordinal(), 36_525  # a hundred years
OUTPUTS = "0123456789-"


def written(day: datetime.date) -> list[str]:
    """Write a date in eleven forms."""
    number, month, year, name = day.day, day.month, day.year, MONTHS[day.month - 1]
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10 if number // 10 != 1 else 0, "th")
    return [
        f"{number} {name} {year}",
        f"{name} {number}, {year}",
        f"{number} {name[:3]} {year}",
        f"{name[:3]} {number}, {year}",
        f"{number}{ending} {name} {year}",
        f"{name} {number}{ending}, {year}",
        f"{number}-{name[:3]}-{year}",
        f"{number:02}.{month:02}.{year}",
        f"{number}.{month}.{year}",
        f"{number:02}/{month:02}/{year}",
        f"{year}/{month:02}/{number:02}",
    ]


CHARACTERS = "_" + "".join(sorted({*" ,./-stndrh0123456789", *"".join(MONTHS)}))


def as_batch(pairs: list[tuple[str, str]]) -> Batch:
    """Turn (source, target) texts into tokens, padded with token 0."""
    lengths = torch.tensor([len(source) for source, _ in pairs])
    longest = int(lengths.max())
    source = [[CHARACTERS.index(c) for c in text.ljust(longest, "_")] for text, _ in pairs]
    target = [[OUTPUTS.index(c) for c in text] for _, text in pairs]
    return torch.tensor(source), lengths, torch.tensor(target)


def random_pairs(count: int, seed: int, held_out: bool = False) -> list[tuple[str, str]]:
    """Draw dates in a random form; every fifth day is held out of training."""
    generator, pairs = random.Random(seed), []
    while len(pairs) < count:
        number = generator.randrange(DAYS)
        if (number % 5 == 0) == held_out:
            day = datetime.date.fromordinal(FIRST_DAY + number)
            pairs.append((generator.choice(written(day)), day.isoformat()))
    return pairs


def random_dates(count: int, seed: int) -> Batch:
    """Draw a batch of dates for training."""
    return as_batch(random_pairs(count, seed))


# %%
for source, some_target in random_pairs(8, seed=1):
    print(f"{source:22} → {some_target}")

# %% [markdown]
# The target starts with the year, which most sources have at the end. The month is a name of three to nine letters, or a number, with or without a leading zero. So the characters to read are at no fixed position.
#
# The encoder is now bidirectional, with 32 features in each direction. Every fifth day is held out of training, and all models are tested on those.

# %%
DATE_STEPS = 200


@cache  # trains once: the next parts use the same networks
def date_writer(
    kind: type[SequenceModel], seed: int, steps: int = DATE_STEPS, **options: Any
) -> SequenceModel:
    """Train a model of this kind to write dates as numbers."""
    torch.manual_seed(seed)
    model = kind(len(CHARACTERS), len(OUTPUTS), directions=2, **options)
    train(model, random_dates, steps, seed)
    return model


held_out_dates = as_batch(random_pairs(500, seed=99, held_out=True))
figures.runs(
    {
        "one vector": [0.618, 0.568, 0.480],  # recorded, like seeds 1 and 2 with attention
        "attention": [share_correct(date_writer(Translator, 0), held_out_dates), 1.0, 1.0],
    },
    "dates written without an error",
    f"Dates after {DATE_STEPS} steps: your run, 5 recorded",
    linked=True,
    bottom=0.0,
)

# %% [markdown]
# What to see: with attention, 99 to 100 % of the dates are correct for all three seeds. With one vector, 48 to 62 % are. (Your run is the left dot above *attention*; all others are recorded. A line joins the two runs of one seed. All use the rate 0.01; with 0.02, one vector does somewhat better, as the end of this part shows.)
#
# ### Does it matter how you score?
#
# The next cell puts your `dot_score` and your `general_score` in place of the additive one. Nothing else changes.


# %% folded=true
# Decoders with other scores, and the sweep that trains them all: click to unfold.
class ScoredDecoder(AttentionDecoder):
    """Your decoder with other scores, which a subclass computes: (batch, length)."""

    def scores(self, token: Tensor, state: Tensor, states: Tensor) -> Tensor:
        raise NotImplementedError

    def forward(
        self, token: Tensor, state: Tensor, states: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        scores = self.scores(token, state, states)
        if mask is not None:
            scores = scores.masked_fill(~mask[:, 0], float("-inf"))
        weights = scores.softmax(-1)
        context = (weights[:, None] @ states)[:, 0]
        new_state = self.cell(torch.cat((self.embedding(token), context), -1), state)
        return self.output(torch.cat((new_state, context), -1)), new_state, weights


class DotDecoder(ScoredDecoder):
    """The decoder with your dot_score."""

    def scores(self, token: Tensor, state: Tensor, states: Tensor) -> Tensor:
        return dot_score(state[:, None], states)[:, 0]


class GeneralDecoder(ScoredDecoder):
    """The decoder with your general_score."""

    def __init__(self, *sizes: int) -> None:
        super().__init__(*sizes)
        self.w = nn.Parameter(torch.randn(sizes[3], sizes[2]) / sizes[2] ** 0.5)

    def scores(self, token: Tensor, state: Tensor, states: Tensor) -> Tensor:
        return general_score(state[:, None], states, self.w)[:, 0]


DECODERS = {"additive": AttentionDecoder, "dot": DotDecoder, "general": GeneralDecoder}
SWEPT_STEPS = [100, 150, 200, 300]


def sweep_dates(name: str) -> list[list[float]]:
    """The share of correct dates for five seeds and every number of steps: a minute."""
    kind = OneVector if name == "one vector" else Translator
    options = {"decoder": DECODERS[name]} if name in DECODERS else {}
    return [
        [share_correct(date_writer(kind, seed, n, **options), held_out_dates) for n in SWEPT_STEPS]
        for seed in range(5)
    ]


# %% [markdown]
# Five seeds and four numbers of steps take a minute for each curve, so the next figure is recorded. `sweep_dates("dot")` makes one of its curves again.
#
# **Predict.** Which of the three scores needs the most steps, all at the rate 0.01?
#
# <details><summary>Additive: it has the most parameters</summary>It has twice as many as general, and still learns faster: after 100 steps, 88 % of the dates are correct.</details>
# <details><summary>Dot: it has no parameters of its own to learn</summary>It is as fast as additive, with 89 % after 100 steps. The states that it compares are learned.</details>
# <details><summary>General</summary>Yes: 74 % after 100 steps, where the other two have 88 and 89 %. (Why is not tested.)</details>

# %%
recorded_dates = {
    "additive": [
        [0.834, 0.956, 0.988, 1.000],
        [0.856, 0.986, 1.000, 1.000],
        [0.932, 0.996, 1.000, 1.000],
        [0.850, 0.980, 1.000, 1.000],
        [0.950, 1.000, 1.000, 1.000],
    ],
    "dot": [
        [0.904, 0.986, 0.998, 1.000],
        [0.858, 0.968, 0.988, 0.998],
        [0.932, 0.988, 0.998, 0.996],
        [0.836, 0.948, 0.984, 1.000],
        [0.932, 0.984, 0.996, 1.000],
    ],
    "general": [
        [0.776, 0.886, 0.900, 0.924],
        [0.872, 0.952, 0.982, 1.000],
        [0.574, 0.898, 0.968, 0.994],
        [0.658, 0.890, 0.970, 1.000],
        [0.830, 0.960, 0.996, 0.998],
    ],
    "one vector": [
        [0.094, 0.368, 0.618, 0.808],
        [0.114, 0.372, 0.568, 0.752],
        [0.108, 0.292, 0.480, 0.804],
        [0.110, 0.364, 0.574, 0.780],
        [0.130, 0.414, 0.574, 0.804],
    ],
}
figures.curves(
    SWEPT_STEPS,
    recorded_dates,
    x="steps of training",
    y="dates written without an error",
    title="Held-out dates (recorded): mean and range of 5 seeds",
    bottom=0.0,
)

# %% [markdown]
# What to see: all three scores stay far above one vector. Additive and dot are close. General learns more slowly, and one of its five runs is still at 92 % after 300 steps. The dot score has no parameters, so the advantage over one vector does not come from more parameters. The curve of one vector, at 79 %, is still rising after 300 steps.
#
# At the rate 0.02 (200 steps, 3 seeds), one vector is better (66 % instead of 56) and general worse (91 instead of 95). Additive and dot change by less than one percentage point. (Not tested: smaller rates.)

# %% [markdown]
# ## 9 · The map
#
# Choose a pair, then an output token: the lines show which characters your translator attends to.

# %%
from transformer_course.widgets import show_alignment


@torch.no_grad()
def alignments(
    model: SequenceModel, pairs: list[tuple[str, str]]
) -> tuple[list[Tensor], list[str]]:
    """Let a translator write dates by itself; return its weights for each, and what it wrote."""
    source, lengths, target = as_batch(pairs)
    logits, weights = model(source, lengths, target, forced=False)
    texts = ["".join((OUTPUTS + "?")[i] for i in row) for row in logits.argmax(-1).tolist()]
    return [w[:, :length] for w, length in zip(weights, lengths.tolist(), strict=True)], texts


PAIRS = [
    ("7 June 1984", "1984-06-07"),
    ("7 July 1984", "1984-07-07"),
    ("June 3rd, 2007", "2007-06-03"),
    ("12.10.2010", "2010-10-12"),
    ("October 12, 2010", "2010-10-12"),
]
maps, texts = alignments(date_writer(Translator, 0), PAIRS)
for (source, some_target), text in zip(PAIRS, texts, strict=True):
    print(f"{source:17} → {text}  {'correct' if text == some_target else 'wrong: ' + some_target}")
show_alignment(
    maps,
    [list(text) for text in texts],
    [list(source) for source, _ in PAIRS],
    title="Which characters your translator attends to",
)

# %% [markdown]
# What to see (yours may differ): the steps that write 9, 8, 4 and 7 attend to these digits in the source. The step that writes 6 attends to *June*, and the one for the year's 1 to the 8.
#
# **Puzzle.** `12.10.2010` and `2010-10-12` contain three 1s each. Which 1 of the output attends to which of the source?
#
# <details><summary>Answer (yours may differ by some percent)</summary>The first 1, in the year, attends to the last 1 of the source; that of the month to the middle one; that of the day to the first. Each has more than 0.9 of the weight on it. So the decoder does not just search for “a 1”: all three keys belong to a 1. Their states must differ in something else: the part of the date, or the position. (None of the five dates is held out: your translator may have met them in training.)</details>

# %% [markdown]
# ### Do the weights say why?
#
# **From the lecture**: *Transformers (Part 2)*, Data C182, slide “Attention”: the model should tell us “why”. Do its weights tell us?
#
# Test this on the year, whose digits appear in every source. How much weight does the step that writes a digit give to that digit's position in the source? How often is the digit correct if this position is *masked*?

# %%
year_pairs = random_pairs(500, seed=98, held_out=True)


@torch.no_grad()
def digits_of_the_year(model: SequenceModel) -> Tensor:
    """For each digit of the year: weight on its source, and share correct with its source masked."""
    source, lengths, target = as_batch(year_pairs)
    start = torch.tensor([text.index(day[:4]) for text, day in year_pairs])
    rows, positions = torch.arange(len(start)), torch.arange(source.shape[1])
    _, weights = model(source, lengths, target, forced=False)
    measured = []
    for i in range(4):
        covered = positions == (start + i)[:, None]
        logits, _ = model(source, lengths, target, forced=False, covered=covered)
        correct = (logits.argmax(-1) == target)[:, i].float().mean()
        measured.append(torch.stack([weights[rows, i, start + i].mean(), correct]))
    return torch.stack(measured, 1)  # (2, digit)


# %% [markdown]
# **Predict.** The first digit of all these years is 1 or 2. You mask the position of this digit in the source, at every step of the decoder. The encoder still reads the digit. How often is the first digit of the output still correct?
#
# <details><summary>About half the time: it has to guess between two digits</summary>It would have to, if nothing else told it the digit.</details>
# <details><summary>Almost always</summary>Yes. Other states can know the digit (a second digit 9 shows that the first is 1), and the step that writes it gave little weight to this position anyway.</details>
# <details><summary>Almost never</summary>The last two digits of the year come closer to that: they fall to the level of a guess. (Without a mask, 99 to 100 % of the whole dates are correct: part 8.)</details>

# %%
recorded_years = torch.tensor(
    [
        [[0.158, 0.508, 0.848, 0.909], [0.998, 0.862, 0.252, 0.112]],
        [[0.001, 0.541, 0.972, 0.982], [1.000, 0.922, 0.122, 0.086]],
    ]
)  # seeds 1 and 2
years = torch.stack([digits_of_the_year(date_writer(Translator, 0)), *recorded_years])
figures.curves(
    [1, 2, 3, 4],
    {
        "weight on its source": years[:, 0].tolist(),
        "correct with its source masked": years[:, 1].tolist(),
    },
    x="digit of the year",
    y="share",
    title="The digits of the year: your run and 2 recorded, mean and range",
    bottom=0.0,
)

# %% [markdown]
# What to see: for the last two digits of the year, most of the weight is on the digit's source. Without that position they are correct about as often as a guess: one in five for the third digit (in these years, 5 to 9 follow 19, and 0 to 4 follow 20), one in ten for the fourth.
#
# The first digit stays correct, and the second mostly. The first can be known from other states, or from `last`.
#
# Does the decoder know the second digit from the first, which it has just *written*? A 9 follows a 1, and a 0 follows a 2. Mask the second digit again, and let the decoder read a wrong first one:


# %%
@torch.no_grad()
def second_digits(model: SequenceModel, swapped: bool) -> tuple[float, float]:
    """Shares of second digits, source masked: correct, and fitting a wrong first (9 and 0 swap)."""
    source, lengths, target = as_batch(year_pairs)
    start = torch.tensor([text.index(day[:4]) for text, day in year_pairs])
    covered = torch.arange(source.shape[1]) == (start + 1)[:, None]
    read = target.clone()
    if swapped:
        read[:, 0] = 3 - read[:, 0]
    logits, _ = model(source, lengths, read, covered=covered)
    wrote, correct = logits.argmax(-1)[:, 1], target[:, 1]
    fits_wrong_first = torch.where(correct == 9, 0, 9)
    shares = [(wrote == digit).float().mean().item() for digit in (correct, fits_wrong_first)]
    return shares[0], shares[1]


writer = date_writer(Translator, 0)
runs = {
    "your run": [second_digits(writer, False)[0], *second_digits(writer, True)],
    "seed 1, recorded": [0.86, 0.37, 0.39],
    "seed 2, recorded": [0.92, 0.23, 0.29],
}
print("second digit       correct | after a wrong first: correct  fits the wrong one  neither")
for name, (after_correct, correct, fits) in runs.items():
    print(f"{name:16} {after_correct:9.0%} {correct:30.0%} {fits:19.0%} {1 - correct - fits:8.0%}")

# %% [markdown]
# What to see: in part, it does. After a wrong first digit, 19 to 39 % of the second digits fit that wrong digit. After the correct first digit, at most 14 % are wrong.
#
# <details><summary>And the other second digits, after a wrong first one?</summary>23 to 65 % are correct all the same, and 16 to 48 % are neither 9 nor 0. In training, the first digit never contradicts the source, so this case is new to the model.</details>
#
# So a position with much weight is not always needed: see the second digit. For the last two digits, weight and need agree:
#
# | digit of the year | weight on its source | correct with this position masked |
# | --- | --- | --- |
# | first | little | almost always |
# | second | about half | mostly |
# | third and fourth | most | about as often as a guess |
#
# <details><summary>And the first digit?</summary>Its own position gets little weight, and only this position was masked. Whether the model needs the positions that get the weight instead is not tested.</details>
#
# **A good place to stop.** Next: a famous decoder. (Back later? Run all cells above first.)

# %% [markdown]
# ## 10 · Bug hunt: a famous decoder
#
# Until it was rewritten, the PyTorch tutorial *Translation with a Sequence to Sequence Network and Attention* taught a decoder with the attention below. The code is for one row, with this lesson's names, $d$ = 4 and sources of 6 tokens:

# %%
attn = nn.Linear(2 * 4, 6)


def tutorial_attention(embedded: Tensor, state: Tensor, states: Tensor) -> tuple[Tensor, Tensor]:
    """The tutorial's attention: context (1, 1, 4) and weights (1, 6) from (1, 4), (1, 4), (6, 4)."""
    scores = attn(torch.cat((embedded, state), 1))
    weights = F.softmax(scores, dim=1)
    context = torch.bmm(weights.unsqueeze(0), states.unsqueeze(0))
    return context, weights


unused, some_weights = tutorial_attention(torch.randn(1, 4), torch.randn(1, 4), torch.randn(6, 4))
print(f"all positive: {bool((some_weights > 0).all())}, sum {some_weights.sum().item():.3f}")

# %% [markdown]
# A decoder with this attention trains, too. But is this the attention of this lesson? Compare it with the formula of part 3, symbol by symbol. (The answer follows the exercise.)
#
# **Exercise** (20 minutes). Now test it. Write a *test* that takes any function `attend(state, states)` (the token is kept fixed) and says whether it attends. The test makes its own `state` and `states`, for example with `torch.randn`. It should accept every score of this lesson, and scores that you have not seen.
#
# <details><summary>Hint 1</summary>You do not know which weights are correct. But you know what must happen to them if you change an input: think of recall question 3.</details>
# <details><summary>Hint 2</summary>The order of the states is one of three things that you can change. What are the other two, and what must the weights do then?</details>
# <details><summary>Hint 3</summary>Reversing is a special order: it treats both ends alike. Take one without a pattern. <code>states[:, order]</code> and <code>weights[:, order]</code> reorder both in the same way; <code>torch.allclose</code> allows for rounding.</details>


# %% exercise test_of_attention
def test_of_attention(attend: Callable[[Tensor, Tensor], Tensor]) -> bool:
    """Return True if `attend` is attention as in part 3, and False if it is not.

    attend(state, states) -> weights: state (batch, d), states (batch, length, d), of any sizes
    -> weights (batch, length), positive, each row with the sum 1.
    In attention, weight j is proportional to exp(score(state, states[:, j])), up to rounding, where
    `score` is the same function for every j, and the weights depend on `state` and on `states`.
    """
    # BEGIN SOLUTION
    state, states = numbers(2, 4), numbers(2, 6, 4, seed=1)
    order = torch.tensor([2, 0, 5, 1, 3, 4])
    weights = attend(state, states)
    moved = torch.allclose(attend(state, states[:, order]), weights[:, order])
    by_states = not torch.allclose(attend(state, numbers(2, 6, 4, seed=2)), weights)
    by_state = not torch.allclose(attend(numbers(2, 4, seed=3), states), weights)
    return moved and by_states and by_state
    # END SOLUTION


# %% check test_of_attention points=2
hint = "three questions: the states in another order, other states, another state"
with Check("test_of_attention", "attention, and what only resembles it", hint) as check:

    def by_dot(state, states):
        return torch.einsum("bd,bld->bl", state, states).softmax(-1)

    def by_matrix(state, states):
        w = numbers(state.shape[-1], states.shape[-1], seed=40, scale=0.4).to(state)
        return torch.einsum("bd,de,ble->bl", state, w, states).softmax(-1)

    def by_tanh(state, states):
        d = state.shape[-1]
        w_query, w_key, v = (numbers(*n, seed=41).to(state) for n in ((d, 7), (d, 7), (7,)))
        return (((state @ w_query)[:, None] + states @ w_key).tanh() @ v).softmax(-1)

    def one_by_one(state, states):
        exponentials = torch.stack([(state * one).sum(-1).exp() for one in states.unbind(1)], 1)
        return exponentials / exponentials.sum(-1, keepdim=True)

    def with_rounding_errors(state, states):
        weights = torch.einsum("bd,bld->bl", state, states).softmax(-1)
        steps = torch.arange(weights.shape[1]).to(weights)
        return weights * (1 + torch.finfo(weights.dtype).eps * steps)

    def of_the_tutorial(state, states):
        table = numbers(state.shape[-1], states.shape[1], seed=42).to(state)
        return (state @ table).softmax(-1)

    def with_positions(state, states):
        bonus = numbers(states.shape[1], seed=43).to(state)
        return (torch.einsum("bd,bld->bl", state, states) + bonus).softmax(-1)

    def nearer_the_middle(state, states):
        far = (torch.arange(states.shape[1]) - (states.shape[1] - 1) / 2).abs().to(state)
        return (torch.einsum("bd,bld->bl", state, states) - far).softmax(-1)

    def of_the_neighbour(state, states):
        return torch.einsum("bd,bld->bl", state, states.roll(1, 1)).softmax(-1)

    def last_preferred(state, states):
        bonus = 1.0 * (torch.arange(states.shape[1]) == states.shape[1] - 1).to(state)
        return (torch.einsum("bd,bld->bl", state, states) + bonus).softmax(-1)

    def without_the_state(state, states):
        return (states @ numbers(states.shape[-1], seed=44).to(states)).softmax(-1)

    def all_equal(state, states):
        return (0.0 * states[..., 0]).softmax(-1)

    def same_for_all(state, states):
        return (0.0 * states[..., 0] + numbers(states.shape[1], seed=45).to(states)).softmax(-1)

    def in_descending_order(state, states):
        scores = torch.einsum("bd,bld->bl", state, states)
        return scores.softmax(-1).sort(-1, descending=True).values

    right = {
        by_dot: "the dot score",
        by_matrix: "the general score",
        by_tanh: "the additive score",
        one_by_one: "the dot score, computed for one state after another",
        with_rounding_errors: "the dot score with rounding errors",
    }
    wrong = {
        of_the_tutorial: "the tutorial: its scores come from the state alone",
        all_equal: "equal weights for all states",
        same_for_all: "weights that depend on nothing but the position",
        without_the_state: "weights that ignore the state",
        with_positions: "a score with a term for the position",
        nearer_the_middle: "a score that prefers the middle of the row",
        of_the_neighbour: "weights that belong to the position to the left",
        last_preferred: "a score that prefers the last position",
        in_descending_order: "weights in descending order",
    }
    for attend in (*right, *wrong):  # all answers together tell which mistake it is
        check.call(attend, returns=bool)
    rounding = "compare up to rounding (torch.allclose): each weight with that of the same state"
    for attend, told in right.items():
        check.true(check.call(attend, returns=bool), f"it returns True for {told}", hint=rounding)
    for attend, told in wrong.items():
        check.true(not check.call(attend, returns=bool), f"it returns False for {told}")
# BEGIN HIDDEN TESTS
with Check("test_of_attention", "more functions that attend") as check:

    def by_distance(state, states):
        return (-(states - state[:, None]).square().sum(-1)).softmax(-1)

    def by_scaled_dot(state, states):
        states = states.movedim(1, 0)
        return ((states * state).sum(-1) / state.shape[-1] ** 0.5).softmax(0).T

    for attend in (by_distance, by_scaled_dot):
        check.true(check.call(attend, returns=bool), "it returns True for a function that attends")
with Check("test_of_attention", "more functions that do not attend") as check:

    def running_sum(state, states):
        return torch.einsum("bd,bld->bl", state, states).cumsum(1).softmax(-1)

    def ends_preferred(state, states):
        far = (torch.arange(states.shape[1]) - (states.shape[1] - 1) / 2).abs().to(state)
        return (torch.einsum("bd,bld->bl", state, states) + 0.5 * far).softmax(-1)

    def first_preferred(state, states):
        bonus = 1.0 * (torch.arange(states.shape[1]) == 0).to(state)
        return (torch.einsum("bd,bld->bl", state, states) + bonus).softmax(-1)

    def of_the_next(state, states):
        return torch.einsum("bd,bld->bl", state, states.roll(-1, 1)).softmax(-1)

    def longest(state, states):
        return states.square().sum(-1).softmax(-1)

    mutants = (running_sum, ends_preferred, first_preferred, of_the_next, longest)
    for attend in mutants:
        check.true(not check.call(attend, returns=bool), "it returns False for one that does not")
# END HIDDEN TESTS

# %% [markdown]
# Three questions, none of which needs the correct weights:
#
# 1. In another order of the states, do the weights move with them? (Lesson 6: they are *permutation equivariant*.)
# 2. With other states, do the weights change?
# 3. With another state of the decoder, do they change?
#
# The tutorial fails the first two: its scores have no $h_j$ in them. For the same token and state, its score for position 3 is the same, whatever the source has there: `states` only enters the mean. It can learn *where* to read, but not *what* to search for.

# %% [markdown]
# Luong, Pham and Manning call such scores *location-based*. Here, *attention* means the other kind, *content-based*.
#
# Now test your decoders and the tutorial's, `PositionDecoder`:


# %%
class PositionDecoder(ScoredDecoder):
    """The tutorial's decoder: its scores come from the token and the decoder's state."""

    def __init__(self, *sizes: int) -> None:
        super().__init__(*sizes)
        self.positions = nn.Linear(sizes[1] + sizes[3], 32)  # no source is longer than 32 tokens

    def scores(self, token: Tensor, state: Tensor, states: Tensor) -> Tensor:
        scores = self.positions(torch.cat([self.embedding(token), state], -1))
        return scores[:, : states.shape[1]]


DECODERS["positions"] = PositionDecoder


def attending_with(kind: type[AttentionDecoder]) -> Callable[[Tensor, Tensor], Tensor]:
    """Make a function attend(state, states) from an untrained decoder of this kind."""

    def attend(state: Tensor, states: Tensor) -> Tensor:
        with torch.random.fork_rng(), torch.no_grad():
            torch.manual_seed(0)
            decoder = kind(3, 4, states.shape[-1], state.shape[-1]).to(state)
            return decoder(torch.zeros(len(state), dtype=torch.long), state, states)[2]

    return attend


for name, kind in DECODERS.items():
    print(f"{name:10} attends: {test_of_attention(attending_with(kind))}")

# %% [markdown]
# How can such a fault go unnoticed? The next cell shows the tutorial's decoder on both tasks (recorded, trained with the same rate as the others).
#
# **Predict.** The tutorial's decoder copies sequences of up to 12 digits, and it writes dates. Where does it need more training than attention?
#
# <details><summary>In both tasks</summary>To copy, step t reads position t. For that it needs no content.</details>
# <details><summary>With the digits</summary>There the position to read is always that of the step.</details>
# <details><summary>With the dates</summary>Yes. There the position to read depends on what the source says.</details>

# %%
recorded_positions = [
    [1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 0.014],
    [1.000, 1.000, 1.000, 1.000, 1.000, 0.992, 0.014],
    [1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 0.024],
]
recorded_position_dates = [
    [0.542, 0.780, 0.886, 0.984],
    [0.610, 0.780, 0.884, 0.976],
    [0.538, 0.776, 0.914, 0.992],
    [0.558, 0.792, 0.890, 0.978],
    [0.544, 0.762, 0.842, 0.956],
]
figures.curves(
    longer,
    {
        "attention": [correct_by_length(copying(Translator, 0), longer), *recorded_states],
        "positions (recorded)": recorded_positions,
    },
    x="digits in the sequence (up to 12 in training)",
    y="sequences copied without an error",
    title=f"Copying, {COPY_STEPS} steps: mean and range of 3 seeds",
    bottom=0.0,
)
figures.curves(
    SWEPT_STEPS,
    {
        "attention (additive)": recorded_dates["additive"],
        "positions": recorded_position_dates,
        "one vector": recorded_dates["one vector"],
    },
    x="steps of training",
    y="dates written without an error",
    title="Held-out dates (recorded): mean and range of 5 seeds",
    bottom=0.0,
)

# %% [markdown]
# What to see: *positions* copies even better than attention, up to 12 digits. No sequence in training had positions 13 and 14, so their weights are untrained: at 14 digits, almost no copy is correct. On dates it learns more slowly: after 100 steps 56 % are correct (attention: 88 %), after 300 steps 98 %.
#
# <details><summary>How can it write dates at all?</summary>This is not tested. Perhaps the decoder's state, which starts from <code>last</code>, tells which layout the source has: at which position each part of the date begins. The eleven forms, with months and days of different lengths, have only some 60 layouts.</details>
#
# High accuracy does not show attention to content. The three questions find the fault before any training. (Passing them does not prove that a function attends.)

# %% [markdown]
# ## 11 · The real thing
#
# PyTorch has no additive attention. The dot and the general score have counterparts; `encode` is compared with the GRU itself, which reads each row alone. All in float64:

# %%
one_gru = nn.GRU(5, 4, batch_first=True, bidirectional=True).double()
some_embedded, some_lengths = numbers(6, 9, 5), torch.tensor([4, 9, 1, 7, 7, 2])
some_states, last_state = encode(one_gru, some_embedded, some_lengths)
differences = {"encode, each row alone": 0.0}
for row, some_length in enumerate(some_lengths.tolist()):
    expected, ends = one_gru(some_embedded[row : row + 1, :some_length])
    off = (
        (some_states[row, :some_length] - expected[0]).abs().max(),
        (last_state[row] - ends.flatten()).abs().max(),
    )
    differences["encode, each row alone"] = max(*differences.values(), *(o.item() for o in off))

some_query, some_key, some_value = (
    numbers(2, 3, 8),
    numbers(2, 7, 8, seed=1),
    numbers(2, 7, 6, seed=2),
)
expected = F.scaled_dot_product_attention(some_query, some_key, some_value, scale=1.0)
mine = dot_score(some_query, some_key).softmax(-1) @ some_value
differences["dot_score, F.scaled_dot_product_attention"] = (mine - expected).abs().max().item()

wide_key, some_w = numbers(2, 7, 5, seed=3), numbers(8, 5, seed=4)
every_query = some_query[:, :, None].expand(2, 3, 7, 8).reshape(-1, 8)  # each beside every key
every_key = wide_key[:, None].expand(2, 3, 7, 5).reshape(-1, 5)
expected = F.bilinear(every_query, every_key, some_w[None])
mine = general_score(some_query, wide_key, some_w)
differences["general_score, F.bilinear"] = (mine.flatten() - expected[:, 0]).abs().max().item()
for name, difference in differences.items():
    print(f"{name:42} largest difference {difference:.0e}")

# %% [markdown]
# Differences below 1e-12 are rounding errors. `F.scaled_dot_product_attention` divides by $\sqrt{d}$ unless you set `scale`, and `F.bilinear` is the general score under another name.

# %% [markdown]
# ## 12 · In your own words
#
# **Question** (12 minutes). A friend translates with an encoder and a decoder joined by one vector. Short sentences come out well, long ones do not. The friend wants to double the width of the vector. What do your experiments say about that, and what would you change instead? Name the query, the keys and the values, and one thing that your change does *not* solve. Write three to five sentences: double-click the cell below. A person reads them.

# %% answer one_vector [markdown] points=2
# <!-- BEGIN SOLUTION -->
# Doubling the width may help, but it does not remove the fall: in part 2, a vector four times as wide raised the share of correct copies of eight digits only from 7 to 15 % after 200 steps, and from 59 to 82 % after 1,000. The share still fell with the length. I would keep all states of the encoder and let the decoder attend to them: the query is the decoder's old state, and the encoder's states are the keys and the values. In part 7, this copied about nine in ten sequences of twelve digits, and one vector none, after the same number of steps. It does not solve lengths that are longer than those in training: at 14 digits only a quarter to a third of the copies were correct.
# <!-- END SOLUTION -->


# %% [markdown]
# ## Where you stand

# %%
from transformer_course.progress import show_progress

show_progress("10_rnn_attention")

# %% [markdown]
# - A GRU reads one token at a time and updates its hidden state. In a padded batch, the forward direction must stop at each sequence's last token, and the backward one must begin there. `pack_padded_sequence` does both.
# - A sequence-to-sequence model whose encoder and decoder are joined by one vector has a bottleneck. In part 2, the share of correct copies fell with the length; longer training and a wider vector moved the fall, and did not remove it.
# - With attention, the decoder's old state is the query, and all encoder states are keys and values: cross-attention. The context is their mean, weighted anew in each step.
# - Scores: dot, general (with a matrix in between), additive (a small network, in which tanh lets the query matter). On the dates, all three did far better than one vector.
# - Teacher forcing: in training, each step reads the target's token of the step before.
# - Weights computed only from the decoder's token and state depend on positions, not on the encoder's states at these positions. With attention (without position biases), permuting the keys permutes the weights. A high accuracy does not show which of the two a decoder does.
# - A map of weights says where a step reads, not what it needs: other states, the tokens already written or `last` may hold it too.
#
# **What comes next.** Your encoder no longer has to squeeze everything into one vector. But both networks still go through their sequences one token after another, so a long one takes many steps, each of which must wait for the one before. The Transformer keeps the attention and drops the recurrence: lesson 11 joins an encoder and a decoder by cross-attention, and translates whole sentences.
