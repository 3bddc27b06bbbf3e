# %% [markdown]
# # Lesson 16 · Heads: what they attend to, and what they are for
#
# **You build** the measurements with which the field asks what an attention head does: where it points, what is lost without it, and how few heads are enough.
#
# **You need** the ideas of lessons 3, 5, 6, 7 and 10: heads and the output projection, Bernoulli masks, offsets, ablation and pruning, the sigmoid.
#
# **You take away** `pointing_accuracy`, `gate_heads`, `redundancy`, `pruning_order` and `hard_concrete`, and an answer to the question of whether attention explains a prediction.
#
# **Time**: about 225 minutes: 116 for the exercises and the question. Good places to stop are marked after about 90 and 160 minutes.

# %% given imports
import math
from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformer_course import figures
from transformer_course.checks import Check, numbers
from transformer_course.data.agreement import (
    COUNTS,
    MAX_LENGTH,
    NO_ANSWER,
    PADDING,
    QUESTIONS,
    WORDS,
    Sentences,
    sentences,
)

torch.set_num_threads(1)  # such small models train fastest on one core

# %% [markdown]
# A small Transformer has learned to say, for each word of a sentence, which word stands on its left. This is one of its eight heads:

# %% folded=true
# The network and its training: click to unfold. It calls your `gate_heads` (part 4) if gates are given.
NUM_LAYERS, NUM_HEADS = 2, 4


class Block(nn.Module):
    """A pre-norm encoder block that returns its attention weights, and can gate its heads."""

    def __init__(self, d_model: int, num_heads: int, d_ff: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.w_qkv = nn.Linear(d_model, 3 * d_model)
        self.w_output = nn.Linear(d_model, d_model)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def forward(self, x: Tensor, mask: Tensor, gates: Tensor | None) -> tuple[Tensor, Tensor]:
        rows = self.w_qkv(self.norm1(x)).unflatten(-1, (3, self.num_heads, -1))
        query, key, value = rows.permute(2, 0, 3, 1, 4)
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
        heads = (weights @ value).transpose(1, 2).flatten(2)
        w_output = self.w_output.weight
        w_output = w_output if gates is None else gate_heads(w_output, gates)
        x = x + F.linear(heads, w_output, self.w_output.bias)
        return x + self.linear2(F.relu(self.linear1(self.norm2(x)))), weights


class Reader(nn.Module):
    """Tokens -> logits (batch, length, questions, words) and weights (layer, batch, head, …)."""

    def __init__(self, d_model: int = 64, d_ff: int = 128) -> None:
        super().__init__()
        self.tokens = nn.Embedding(len(WORDS), d_model)
        self.positions = nn.Embedding(MAX_LENGTH, d_model)
        self.blocks = nn.ModuleList(Block(d_model, NUM_HEADS, d_ff) for _ in range(NUM_LAYERS))
        self.norm = nn.LayerNorm(d_model)
        self.output = nn.Linear(d_model, len(QUESTIONS) * len(WORDS))

    def forward(self, tokens: Tensor, gates: Tensor | None = None) -> tuple[Tensor, Tensor]:
        x = self.tokens(tokens) + self.positions.weight
        mask = (tokens != PADDING)[:, None, None]
        of_layers = [None] * NUM_LAYERS if gates is None else gates.unflatten(0, (NUM_LAYERS, -1))
        all_weights = []
        for block, of_layer in zip(self.blocks, of_layers, strict=True):
            x, weights = block(x, mask, of_layer)
            all_weights.append(weights)
        logits = self.output(self.norm(x)).unflatten(-1, (len(QUESTIONS), -1))
        return logits, torch.stack(all_weights)


def answer_loss(logits: Tensor, answers: Tensor) -> Tensor:
    """The mean cross-entropy (nats) of the three questions."""
    of_questions = [
        F.cross_entropy(logits[..., i, :].flatten(0, 1), one.flatten(), ignore_index=NO_ANSWER)
        for i, one in enumerate(answers)
    ]
    return torch.stack(of_questions).mean()


def train(
    model: Reader,
    optimizer: torch.optim.Optimizer,
    steps: int,
    seed: int,
    gates: Callable[[], Tensor | None] = lambda: None,
    penalty: Callable[[], Tensor | float] = lambda: 0.0,
    schedule: torch.optim.lr_scheduler.LRScheduler | None = None,
) -> None:
    """Train on batches of 64 sentences; each step asks for its gates and its penalty."""
    draw = torch.Generator().manual_seed(100 + seed)
    for _ in range(steps):
        at = torch.randint(len(training), (64,), generator=draw)
        loss = answer_loss(model(training.tokens[at], gates())[0], training.answers[:, at])
        optimizer.zero_grad()
        (loss + penalty()).backward()
        optimizer.step()
        if schedule:
            schedule.step()


training, held_out = sentences(4000, seed=1), sentences(1000, seed=2)


@cache  # trains at the first call: 8 s
def trained(seed: int, steps: int = 400) -> Reader:
    """A network of 2 layers with 4 heads each; with 0 steps, an untrained one."""
    torch.manual_seed(seed)
    model = Reader()
    optimizer = torch.optim.Adam(model.parameters(), lr=6e-3)
    if steps:
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 6e-3, total_steps=steps)
        train(model, optimizer, steps, seed, schedule=schedule)
    return model.eval().requires_grad_(False)


def words_of(data: Sentences, number: int) -> list[str]:
    """The words of one sentence."""
    return [WORDS[token] for token in data.tokens[number, : data.lengths[number]].tolist()]


# %%
some_words = words_of(held_out, 5)
some_weights = trained(0)(held_out.tokens[5:6])[1][:, 0, :, : len(some_words), : len(some_words)]
on_the_left = some_weights.diagonal(-1, 2, 3).mean(-1)  # (layer, head)
at_layer, at_head = divmod(int(on_the_left.argmax()), NUM_HEADS)
figures.attention_map(
    some_weights[at_layer, at_head], some_words, title=f"layer {at_layer}, head {at_head}"
)

# %% [markdown]
# What to see: each query gives nearly all its weight to its left neighbour. (The first word has none.) A picture like this is often shown to explain a network: *it attends to the left neighbour, that is how it knows it*.
#
# Now shut such a head: multiply its output by 0. Five networks were trained. Each has two or three heads whose largest weight is on the left neighbour for more than 99 % of the words. The middle column is the share of right answers without one of them: the one that costs least. (The last column is a control: always the most frequent answer.)

# %%
recorded_left = {  # five seeds: answers to "left neighbour" on held-out sentences
    "all heads": [1.0, 1.0, 0.999, 1.0, 1.0],
    "without one such head": [0.996, 0.97, 0.897, 0.994, 0.943],
    "always the same word": [0.101] * 5,
}
figures.runs(recorded_left, "share of right answers", "Which word is on the left?", bottom=0.0)

# %% [markdown]
# What to see: the head that costs least attends to the answer, too, and yet at most about a tenth of the answers are lost without it. In two seeds, less than 1 % are. (It need not be the head in the picture.) So what are these heads for? And which of the eight heads does the network need? The map alone cannot say. By the end of this lesson you will have measurements that can.

# %%
print(
    f"{NUM_LAYERS * NUM_HEADS} heads in {NUM_LAYERS} layers, {len(training):,} sentences to learn from"
)

# %% [markdown]
# **Recall.** Three questions on lessons 3, 7 and 1. Answer first, then open your choice.
#
# 1. Four heads of width 16, numbered from 0, are put side by side, and `nn.Linear(64, 64)` maps them back. Which part of its *weight* belongs to head 1?
#
# <details><summary>The columns 16 to 31</summary>Yes. The linear layer multiplies its input's features 16 to 31 by these columns.</details>
# <details><summary>The rows 16 to 31</summary>A row of this weight computes one output feature, out of all heads. In the formula of lesson 3, W^O is the transpose: there they are rows.</details>
# <details><summary>Every fourth column</summary>The heads stand side by side: the features of one head are neighbours.</details>
#
# 2. Switching one head off costs nothing. What follows?
#
# <details><summary>The head computes nothing useful</summary>It may. But another head may do the same work.</details>
# <details><summary>The network does not rely on this head alone</summary>Yes. That is all that one ablation shows.</details>
# <details><summary>The head can be pruned together with all others of this kind</summary>Each alone may cost nothing, and all together everything.</details>
#
# 3. The largest weight of a query is 0.3. What does the head's output contain?
#
# <details><summary>The value of that key</summary>Only 30 % of it.</details>
# <details><summary>A weighted mean of all values, in which that key has 30 % of the weight</summary>Yes. So the key with the largest weight is only part of what a head reads.</details>
# <details><summary>Nothing, as 0.3 is less than a half</summary>The softmax sets no threshold.</details>

# %% [markdown]
# ## 1 · A language with three questions
#
# The sentences are in a generated language. Here are four of them:

# %%
for number in range(4):
    print(" ".join(words_of(training, number)))

# %% [markdown]
# A noun begins with a capital. The last letter of a word marks its *case*: a, e or o. Each sentence has one noun of each case, and two to six adjectives, in any order. **Agreement** means that the form of one word depends on another one: here, an adjective has the ending of its noun. (In Latin: *terra incognita*, unknown land.)
#
# Some words are frequent, others rare. `COUNTS` says how often each one occurs in 10,000 sentences, on average.
#
# The network is asked three questions about each word. The answers are words:

# %%
print(f"{'word':8} {QUESTIONS[0]:16} {QUESTIONS[1]:18} {QUESTIONS[2]:14} occurrences")
for position, token in enumerate(training.tokens[0, : training.lengths[0]].tolist()):
    asked = [training.answers[question, 0, position].item() for question in range(3)]
    told = ["–" if answer == NO_ANSWER else WORDS[int(answer)] for answer in asked]
    print(f"{WORDS[token]:8} {told[0]:16} {told[1]:18} {told[2]:14} {COUNTS[token]:11,}")

# %% [markdown]
# A dash means no answer: a noun has none to the second question, and the first word none to the first.
#
# **Predict.** Suppose that a head's attention weights depend on positions alone. For which of the three questions can its largest weight still be on the answer in every sentence?
#
# <details><summary>The left neighbour</summary>Yes. Its offset is always −1, whatever the words are.</details>
# <details><summary>The noun of the case</summary>The order is free. To find the noun, the query's ending has to be compared with the endings of the keys.</details>
# <details><summary>The rarest word</summary>It may be anywhere, too. Here all queries seek the same key: its score has to depend on the word of the key, not on the query.</details>
#
# (Must a head have its largest weight on the answer? Part 3 tests that.)

# %%


@torch.no_grad()
def accuracies(model: Reader, data: Sentences, gates: Tensor | None = None) -> Tensor:
    """The share of right answers to each question, (questions,)."""
    guessed = model(data.tokens, gates)[0].argmax(-1)
    shares = []
    for question, answers in enumerate(data.answers):
        has_answer = answers != NO_ANSWER
        shares.append((guessed[..., question] == answers)[has_answer].double().mean())
    return torch.stack(shares)


for question, share in zip(QUESTIONS, accuracies(trained(0), held_out), strict=True):
    print(f"{question:18} {share:.1%} right on held-out sentences")

# %% [markdown]
# What to see: after 400 steps (8 s), almost all answers are right. All five seeds reach 99.3 % or more on each question. (The most frequent answer alone would be right for 10, 13 and 7 %.) Now look inside.
#
# ## 2 · Where does a head point?
#
# One map shows what a head does in one sentence. So measure it on a thousand sentences. First, a map that can be judged by eye:

# %%
small_map = torch.tensor(
    [[0.5, 0.3, 0.1, 0.1], [0.6, 0.2, 0.1, 0.1], [0.1, 0.4, 0.3, 0.2], [0.1, 0.2, 0.6, 0.1]]
)
figures.attention_map(small_map, list("abcd"), title="which keys does it point to?")

# %% [markdown]
# What to see: the largest weights of b, c and d are on their left neighbours. (c gives it no more than 0.4.)
#
# For each query write down the key that it *should* point to: its target. A query without a target has −1. A head points to the target of a query if the query's largest weight is on it. The **pointing accuracy** of a head is the share of queries with a target whose largest attention weight is on this target.
#
# **Predict.** Sentence A has one query with a target, and the head hits it. Sentence B has nine, and the head hits none. What is the pointing accuracy?
#
# <details><summary>1/2: one sentence of two</summary>That is the mean of two sentences: the nine queries of B count as much as the one of A.</details>
# <details><summary>1/10: one query of ten</summary>Yes. All queries with a target count alike, in whichever sentence they are.</details>
#
# **Exercise** (15 minutes). Write `pointing_accuracy`.
#
# <details><summary>Hint 1</summary>The largest weight is over the keys, the last axis. The targets have no axis for heads.</details>
# <details><summary>Hint 2</summary>Count hits over batch and queries together. Divide by the number of targets, or by 1 if there is none.</details>


# %% exercise pointing_accuracy
def pointing_accuracy(weights: Tensor, targets: Tensor) -> Tensor:
    """Return for each head the share of queries whose largest weight is on their target.

    weights (batch, heads, query, key); targets int64 (batch, query): a key, or -1 for no target.
    Returns (heads,), in the dtype of weights: hits of all sentences together, divided by all
    queries with a target; zeros if there is none. Of equal weights, the first counts as largest.
    """
    # BEGIN SOLUTION
    counted = targets >= 0
    hits = (weights.argmax(-1) == targets[:, None]) & counted[:, None]
    return hits.sum((0, 2)).to(weights.dtype) / counted.sum().clamp(min=1)
    # END SOLUTION


# %% check pointing_accuracy points=2
hint = "hits of all sentences, divided by the queries of all sentences that have a target"


def pointing_by_hand(weights, targets):
    """The share for each head, query by query."""
    shares = []
    for head in range(weights.shape[1]):
        found = []
        for row, aims in zip(weights[:, head].tolist(), targets.tolist(), strict=True):
            found += [
                line.index(max(line)) == to for line, to in zip(row, aims, strict=True) if to >= 0
            ]
        shares.append(sum(found) / max(len(found), 1))
    return torch.tensor(shares, dtype=weights.dtype)


with Check("pointing_accuracy", "one sentence, two heads", hint) as check:
    weights = torch.tensor(
        [
            [[0.7, 0.2, 0.1], [0.52, 0.46, 0.02], [0.2, 0.45, 0.35], [0.1, 0.1, 0.8]],
            [[0.1, 0.2, 0.7], [0.4, 0.5, 0.1], [0.3, 0.1, 0.6], [0.5, 0.3, 0.2]],
        ],
        dtype=torch.float64,
    )[None]
    shares = check.call(weights, torch.tensor([[0, 0, 1, 2]]))
    check.shape(shares, head=2)
    check.equal(
        shares,
        torch.tensor([1.0, 0.0], dtype=torch.float64),
        "the largest weights of head 0 are on the keys 0, 0, 1 and 2, which are the targets; head "
        "1 hits none",
        hint="each query has its largest weight over the keys, the last axis",
    )
    shares = check.call(weights, torch.tensor([[-1, 1, -1, 2]]))
    check.equal(
        shares,
        torch.tensor([0.5, 0.5], dtype=torch.float64),
        "two queries have a target: head 0 hits the second of them, head 1 the first",
        hint="queries with the target -1 are neither hits nor misses",
    )
    shares = check.call(weights, torch.tensor([[-1, -1, -1, -1]]))
    check.equal(shares, torch.zeros(2).double(), "without any target, the shares are 0")
    equal = torch.tensor([[[[0.4, 0.4, 0.2], [0.2, 0.4, 0.4]]]], dtype=torch.float64)
    shares = [check.call(equal, torch.tensor([[first, 1]])) for first in (1, 0)]
    check.equal(
        torch.cat(shares),
        torch.tensor([0.5, 1.0], dtype=torch.float64),
        "weights of 0.4, 0.4, 0.2 and of 0.2, 0.4, 0.4: of equal weights, the first is the largest",
    )
with Check("pointing_accuracy", "two sentences with one target and with four", hint) as check:
    weights = torch.zeros(2, 3, 4, 5, dtype=torch.float64)
    for head, key in enumerate((0, 4, 2)):
        weights[..., head, :, key] = 1.0
    targets = torch.tensor([[-1, 4, -1, -1], [0, 0, 4, 2]])
    shares = check.call(weights, targets)
    check.shape(shares, head=3)
    check.equal(
        shares,
        torch.tensor([0.4, 0.4, 0.2], dtype=torch.float64),
        "five queries have a target: two have key 0, two have key 4, one has key 2",
        hint="pool the queries of all sentences; a mean of sentences would weigh them differently",
    )
    check.equal(
        check.call(weights[1:], targets[1:]),
        torch.tensor([0.5, 0.25, 0.25], dtype=torch.float64),
        "a batch of one sentence",
    )
# BEGIN HIDDEN TESTS
with Check("pointing_accuracy", "other sizes, compared with a loop") as check:
    for shape, seed, dtype in (
        ((3, 2, 5, 7), 1, torch.float64),
        ((1, 4, 6, 3), 2, torch.float32),
        ((8, 3, 9, 9), 3, torch.float64),
        ((2, 1, 1, 4), 4, torch.float64),
        ((5, 6, 4, 1), 5, torch.float32),
        ((2, 5, 3, 2), 6, torch.float64),
    ):
        weights = numbers(*shape, seed=seed, scale=2.0, dtype=dtype).softmax(-1)
        targets = (numbers(shape[0], shape[2], seed=seed, scale=50.0).long()) % (shape[-1] + 1) - 1
        shares = check.call(weights, targets)
        check.equal(shares, pointing_by_hand(weights, targets), "the share of hits of each head")
with Check("pointing_accuracy", "equal weights, zeros, and no target in one sentence") as check:
    equal = torch.full((2, 2, 3, 4), 0.25, dtype=torch.float64)
    equal[1, 1] = torch.tensor([0.1, 0.4, 0.1, 0.4], dtype=torch.float64)
    for targets in ([[0, 0, 1], [0, 1, 3]], [[-1, -1, -1], [1, 1, 0]], [[0, -1, 0], [-1, -1, -1]]):
        targets = torch.tensor(targets)
        shares = check.call(equal, targets)
        check.equal(shares, pointing_by_hand(equal, targets), "of equal weights, the first counts")
    padded = torch.zeros(1, 2, 3, 3, dtype=torch.float64)  # rows of padding have weights of 0
    padded[0, :, 0, 1] = 1.0
    shares = check.call(padded, torch.tensor([[1, -1, -1]]))
    check.equal(shares, torch.ones(2).double(), "rows of zeros without a target")
with Check("pointing_accuracy", "laws") as check:
    weights, targets = (
        numbers(4, 3, 5, 6, seed=7).softmax(-1),
        torch.arange(20).reshape(4, 5) % 7 - 1,
    )
    shares = check.call(weights, targets)
    heads, rows = torch.tensor([2, 0, 1]), torch.tensor([3, 1, 0, 2])
    check.equal(check.call(weights[:, heads], targets), shares[heads], "heads in another order")
    check.equal(check.call(weights[rows], targets[rows]), shares, "sentences in another order")
    check.equal(check.call(weights.repeat(2, 1, 1, 1), targets.repeat(2, 1)), shares, "twice")
    check.equal(check.call(3 * weights, targets), shares, "weights three times as large")
# END HIDDEN TESTS

# %% [markdown]
# ### Targets
#
# “The left neighbour” is easily said. In code, the ends need care: the first word has no left neighbour, and padding is nobody's neighbour.
#
# **Predict.** A sentence of 3 words in a row of 5 positions. What are the targets for the *right* neighbour (offset 1)?
#
# <details><summary>1, 2, 3, 4, −1</summary>Position 3 is padding: it is no target, and it asks for none.</details>
# <details><summary>1, 2, −1, −1, −1</summary>Yes. The last word has no right neighbour, and padding has no targets.</details>
# <details><summary>1, 2, 0, −1, −1</summary>A sentence is not a circle: the first word is not to the right of the last one.</details>
#
# **Exercise** (10 minutes). Write `neighbour_targets`, for any offset.
#
# <details><summary>Hint</summary>Compare the position of the query, and the position of the key, with the length of each sentence: <code>lengths[:, None]</code> against a row of positions.</details>


# %% exercise neighbour_targets
def neighbour_targets(lengths: Tensor, max_length: int, offset: int) -> Tensor:
    """Return for each position i of each sentence the position i + offset.

    lengths int64 (batch,) -> int64 (batch, max_length). -1 where i or i + offset is no position of
    the sentence, 0 … length - 1: outside of it, or padding.
    """
    # BEGIN SOLUTION
    queries = torch.arange(max_length).expand(len(lengths), -1)
    keys, ends = queries + offset, lengths[:, None]
    inside = (queries < ends) & (keys < ends) & (keys >= 0)
    return torch.where(inside, keys, -1)
    # END SOLUTION


# %% check neighbour_targets points=2
hint = "both the position of the query and that of the key must be in 0 … length - 1"


def neighbours_by_hand(lengths, max_length, offset):
    return torch.tensor(
        [
            [i + offset if i < n and 0 <= i + offset < n else -1 for i in range(max_length)]
            for n in lengths
        ]
    )


with Check("neighbour_targets", "left neighbours", hint) as check:
    targets = check.call(torch.tensor([3, 5, 1]), 6, -1)
    check.shape(targets, sentence=3, position=6)
    check.equal(
        targets[1],
        torch.tensor([-1, 0, 1, 2, 3, -1]),
        "a sentence of 5 words in 6 positions: the first word has no left neighbour, and padding "
        "has none",
    )
    check.equal(targets[0], torch.tensor([-1, 0, 1, -1, -1, -1]), "a sentence of 3 words")
    check.true(targets.dtype == torch.int64, "the targets are int64, so that they can be indices")
    check.equal(targets[2], torch.full((6,), -1), "a sentence of one word has no neighbours")
with Check("neighbour_targets", "neighbours on the right, and further away", hint) as check:
    lengths = torch.tensor([4, 2])
    targets = check.call(lengths, 5, 1)
    check.equal(
        targets,
        torch.tensor([[1, 2, 3, -1, -1], [1, -1, -1, -1, -1]]),
        "the last word of each sentence has no right neighbour",
        hint="the key must be inside the sentence, not only inside the row",
    )
    targets = check.call(lengths, 5, -2)
    check.equal(targets, torch.tensor([[-1, -1, 0, 1, -1], [-1] * 5]), "two to the left")
    targets = check.call(lengths, 5, 0)
    check.equal(targets, torch.tensor([[0, 1, 2, 3, -1], [0, 1, -1, -1, -1]]), "offset 0: itself")
# BEGIN HIDDEN TESTS
with Check("neighbour_targets", "other lengths and offsets, compared with a loop") as check:
    for lengths, max_length in (
        ([3], 3),
        ([7, 1, 4, 6], 7),
        ([2, 5], 9),
        ([1], 1),
        ([8, 8, 3], 8),
    ):
        for offset in (-9, -3, -2, -1, 0, 1, 2, 4, 8, 11):
            targets = check.call(torch.tensor(lengths), max_length, offset)
            check.shape(targets, sentence=len(lengths), position=max_length)
            check.equal(targets, neighbours_by_hand(lengths, max_length, offset), "the targets")
# END HIDDEN TESTS

# %% [markdown]
# **Exercise** (10 minutes). Write `rarest_targets`: all words of a sentence share one target, the position of its rarest word.
#
# <details><summary>Hint 1</summary><code>counts[tokens]</code> has the shape of the tokens. Padding has a count, too: it must never be the smallest.</details>
# <details><summary>Hint 2</summary><code>masked_fill</code> can put infinity there, once the counts are <code>.double()</code>. Integers have no infinity, and float32 rounds large counts.</details>
# <details><summary>Hint 3</summary><code>argmin</code> returns the first of equal values.</details>


# %% exercise rarest_targets
def rarest_targets(tokens: Tensor, counts: Tensor, lengths: Tensor) -> Tensor:
    """Return for each word the position of the rarest word of its sentence.

    tokens int64 (batch, length); counts (vocab,): how often each token occurs; lengths int64
    (batch,), at least 1. Returns int64 (batch, length): the first position with the smallest
    count among the first `lengths` ones; -1 at the positions behind them (padding).
    """
    # BEGIN SOLUTION
    real = torch.arange(tokens.shape[1]) < lengths[:, None]
    rarity = counts[tokens].double().masked_fill(~real, torch.inf)
    return torch.where(real, rarity.argmin(1, keepdim=True), -1)
    # END SOLUTION


# %% check rarest_targets points=2
hint = "the smallest count among the words of the sentence; padding is no word"


def rarest_by_hand(tokens, counts, lengths):
    found = []
    for row, n in zip(tokens.tolist(), lengths.tolist(), strict=True):
        rarity = [counts[token].item() for token in row[:n]]
        found.append([rarity.index(min(rarity))] * n + [-1] * (len(row) - n))
    return torch.tensor(found)


with Check("rarest_targets", "two sentences, one with padding", hint) as check:
    counts = torch.tensor([0, 90, 7, 40, 12, 55])
    tokens = torch.tensor([[1, 4, 2, 5, 3], [3, 1, 4, 0, 0]])
    targets = check.call(tokens, counts, torch.tensor([5, 3]))
    check.shape(targets, sentence=2, position=5)
    check.equal(
        targets[0],
        torch.tensor([2, 2, 2, 2, 2]),
        "the counts of the first sentence are 90, 12, 7, 55 and 40: all words point to position 2",
    )
    check.equal(
        targets[1],
        torch.tensor([2, 2, 2, -1, -1]),
        "the counts of the second are 40, 90 and 12, then padding: position 2 is the rarest word",
        hint="padding is no word: leave it out of the search, and give it the target -1",
    )
with Check("rarest_targets", "equal counts, and other padding", hint) as check:
    counts = torch.tensor([30, 9, 9, 30, 80, 0])
    tokens = torch.tensor([[4, 2, 1, 2], [3, 0, 5, 5], [4, 5, 1, 1], [1, 5, 2, 0]])
    targets = check.call(tokens, counts, torch.tensor([4, 2, 1, 4]))
    check.equal(targets[0], torch.tensor([1, 1, 1, 1]), "of equal counts, the first position")
    check.equal(
        targets[1],
        torch.tensor([0, 0, -1, -1]),
        "a sentence of two words; token 5, which never occurs, only pads it",
        hint="lengths tells what is padding, not the tokens",
    )
    check.equal(targets[2], torch.tensor([0, -1, -1, -1]), "a sentence of one word")
    check.equal(targets[3], torch.tensor([1] * 4), "a word with the count 0 is the rarest of all")
    check.true(targets.dtype == torch.int64, "the targets are int64, so that they can be indices")
with Check("rarest_targets", "large counts", hint) as check:
    counts = torch.tensor([2**30 + 1, 2**30, 3, 2000, 3000])
    tokens, lengths = torch.tensor([[4, 3, 2], [0, 1, 2]]), torch.tensor([2, 2])
    targets = check.call(tokens, counts, lengths)
    check.equal(
        targets,
        torch.tensor([[1, 1, -1], [1, 1, -1]]),
        "counts of 3,000 and 2,000, and of a billion and one less: the smaller one, exactly",
        hint="keep large counts exact, and let no padding be smaller than they",
    )
# BEGIN HIDDEN TESTS
with Check("rarest_targets", "other sizes, compared with a loop") as check:
    for batch, length, vocab, seed in (
        (1, 1, 3, 1),
        (4, 7, 5, 2),
        (6, 3, 11, 3),
        (2, 12, 4, 4),
        (5, 9, 200, 5),
    ):
        tokens = numbers(batch, length, seed=seed, scale=99.0).long() % vocab
        lengths = numbers(batch, seed=seed, scale=50.0).long() % length + 1
        for kind, scale in ((torch.int64, 20.0), (torch.int64, 3.0), (torch.float64, 0.01)):
            counts = (numbers(vocab, seed=seed).abs() * scale).to(kind)
            targets = check.call(tokens, counts, lengths)
            check.equal(targets, rarest_by_hand(tokens, counts, lengths), "the rarest word")
with Check("rarest_targets", "large counts, and whole numbers") as check:
    counts = torch.tensor([2**40 + 1, 2**40, 2**40 + 2, 10**12])
    targets = check.call(torch.tensor([[0, 1, 2], [2, 0, 1]]), counts, torch.tensor([3, 2]))
    check.equal(targets, torch.tensor([[1, 1, 1], [1, 1, -1]]), "counts above a trillion")
# END HIDDEN TESTS

# %% [markdown]
# The third kind of target, the noun of an adjective's case, comes with the data. Now measure all eight heads, on a thousand held-out sentences. (In 36 of them the rarest word occurs twice. A head that points to its second copy counts as a miss.)


# %%
def targets_of(data: Sentences) -> list[Tensor]:
    """What the words of each sentence should point to, for each question."""
    left = neighbour_targets(data.lengths, MAX_LENGTH, -1)
    return [left, data.nouns, rarest_targets(data.tokens, COUNTS, data.lengths)]


def pointing(model: Reader, data: Sentences) -> dict[str, Tensor]:
    """The pointing accuracy of every head, (layers, heads), for each question."""
    with torch.no_grad():
        weights = model(data.tokens)[1]
    return {
        question: torch.stack([pointing_accuracy(of_layer, targets) for of_layer in weights])
        for question, targets in zip(QUESTIONS, targets_of(data), strict=True)
    }


def draw_pointing(found: dict[str, Tensor], named: str) -> None:
    """Draw a map for each question, a row for each layer."""
    names = [str(head) for head in range(NUM_HEADS)]
    stages = {question: (shares, "head", names) for question, shares in found.items()}
    figures.steps(stages, named, [f"layer {layer}" for layer in range(NUM_LAYERS)])


@cache
def of_trained() -> dict[str, Tensor]:
    """The pointing accuracies of the network of seed 0."""
    return pointing(trained(0), held_out)


draw_pointing(of_trained(), "trained")
for question, shares in pointing(trained(0, 0), held_out).items():
    print(f"untrained, {question:18} best of eight heads {shares.max():.0%}")

# %% [markdown]
# What to see (yours may differ): in the trained network, three heads of layer 0 point to the left neighbour every time. Some heads point to the rarest word for half to four fifths of the words, and one points to the noun for 83 % of the adjectives. The control: no head of the untrained network comes near that.

# %%
for number in range(NUM_LAYERS * NUM_HEADS):
    of_head = {
        question: shares.flatten()[number].item() for question, shares in of_trained().items()
    }
    most = max(of_head, key=of_head.__getitem__)
    name = f"layer {number // NUM_HEADS}, head {number % NUM_HEADS}"
    print(f"{name}: most often on its target for “{most}”, {of_head[most]:.0%}")

# %% [markdown]
# Voita et al. (2019) found three such kinds of heads in a translation model:
#
# - A **positional head** points to a fixed offset, such as the left neighbour, whatever the words are.
# - A **syntactic head** points to words in a certain grammatical relation, such as the noun of an adjective.
# - A **rare-word head** points to the rarest word of a sentence.
#
# **From the lecture**: *Introduction to Transformers*, CS60216, slides “Why Multi-head attention?”. It names these three kinds, and this paper.

# %% [markdown]
# Look at the heads themselves. Does a head that points to the noun also do so for other words?

# %%
from transformer_course.widgets import show_attention

show_attention(some_weights, some_words, title="Eight heads: what do they attend to?")

# %% [markdown]
# **Puzzle.** Choose a head of layer 1. Do nouns and adjectives attend alike? (A noun is not asked for the noun of its case, so for that question its query need not point to one.)
#
# <details><summary>What we found</summary>In heads 0 and 3 of layer 1, they do: all words attend most to plimo, the rarest word. In head 2, they do not: five of the six adjectives attend most to the noun of their case, while the three nouns attend to Mole, plimo and Mole.</details>
#
# ## 3 · Better than what?
#
# Head 1.2 (layer 1, head 2) points to the noun for 83 % of the adjectives. Is that much? Clark et al. (2019) compare heads with a rule that knows no grammar: *always the word at offset o*. The **fixed-offset baseline** is the share of queries that the best offset gets right.
#
# **Predict.** The targets of four queries, at the positions 0 to 3, are 1, 2, −1 and 2. What share does the best offset get right?
#
# <details><summary>1/2: two of four</summary>The query with −1 has no target. It does not count.</details>
# <details><summary>2/3: two of three, with offset 1</summary>Yes. The offsets are 1, 1 and −1.</details>
# <details><summary>1: each has some offset</summary>One offset must serve all queries.</details>
#
# **Exercise** (10 minutes). Write `offset_baseline`.
#
# <details><summary>Hint</summary>Offsets of all queries with a target, as one list. Which is the most frequent, and how many are there?</details>


# %% exercise offset_baseline
def offset_baseline(targets: Tensor) -> float:
    """Return the share of targets that the best fixed offset hits, as a float.

    targets int64 (batch, query): a key, or -1 for no target. Offset: target - query, of any sign
    and 0. The most frequent offset of all queries with a target, divided by their number; without
    any target 0.
    """
    # BEGIN SOLUTION
    steps = (targets - torch.arange(targets.shape[1]))[targets >= 0]
    if len(steps) == 0:
        return 0.0
    return steps.unique(return_counts=True)[1].max().item() / len(steps)
    # END SOLUTION


# %% check offset_baseline points=2
hint = "count the offsets target - query of all queries with a target, of all sentences together"


def offsets_by_hand(targets):
    found = [to - i for row in targets.tolist() for i, to in enumerate(row) if to >= 0]
    return max(map(found.count, found), default=0) / max(len(found), 1)


with Check("offset_baseline", "offsets in several sentences", hint) as check:
    sentence = [[1, 2, -1, 2]]
    left, itself, right_far = [[-1, 0, 1, 2, 3]], [[0, 1, 2, 0]], [[3, 4, 5, 2, -1, 5]]
    two = [[3, -1, -1, 0, 1], [-1, 0, 1, -1, 0]]
    several = [[1, 2, 3, 0, -1, 4], [0, 1, 2, 3, -1, -1], [0, 1, 0, 0, 0, 5]]
    rows = (sentence, left, itself, right_far, two, several)
    shares = [check.call(torch.tensor(targets), returns=float) for targets in rows]
    check.equal(
        shares[0], 2 / 3, "the offsets are 1, 1 and -1: the best hits two of three", within=1e-6
    )
    check.equal(
        shares[1], 1.0, "left neighbours: offset -1 hits all that have a target", within=1e-6
    )
    check.equal(shares[2], 0.75, "offset 0 hits three of four", within=1e-6)
    check.equal(shares[3], 0.6, "offset 3 hits three of five; the others are -1 and 0", within=1e-6)
    check.equal(
        shares[4],
        2 / 6,
        "the offsets are 3, -3, -3 in one sentence and -1, -1, -4 in the other: the best single "
        "offset hits two of six",
        hint="one offset for all sentences, and the queries of all sentences together",
        within=1e-6,
    )
    check.equal(shares[5], offsets_by_hand(torch.tensor(several)), "three sentences", within=1e-6)
with Check("offset_baseline", "without any target, and all on one key", hint) as check:
    share = check.call(torch.tensor([[-1, -1]]), returns=float)
    check.equal(share, 0.0, "without any target, the share is 0", within=1e-6)
    share = check.call(torch.tensor([[2, 2, 2, 2], [3, 3, 3, 3]]), returns=float)
    check.equal(share, 2 / 8, "all words point to one position: each offset is rare", within=1e-6)
# BEGIN HIDDEN TESTS
with Check("offset_baseline", "other sizes, compared with a loop") as check:
    for batch, length, seed in (
        (1, 1, 1),
        (3, 8, 2),
        (12, 5, 3),
        (2, 40, 4),
        (150, 9, 5),
        (9, 2, 6),
    ):
        spread = numbers(batch, length, seed=seed, scale=length / 4).round().long()
        near = torch.arange(length) + spread
        anywhere = numbers(batch, length, seed=seed + 9, scale=50.0).long() % (length + 1) - 1
        for targets in (near.where((near >= 0) & (near < length), -1), anywhere):
            share = check.call(targets, returns=float)
            check.equal(share, offsets_by_hand(targets), "the best share", within=1e-6)
with Check("offset_baseline", "each offset alone") as check:
    for offset in (-25, -6, -2, -1, 0, 1, 3, 6, 19):
        to = torch.arange(30) + offset
        targets = to.where((to >= 0) & (to < 30), -1)[None].repeat(3, 1)
        share = check.call(targets, returns=float)
        check.equal(share, 1.0, "the same offset everywhere", within=1e-6)
    share = check.call(torch.full((4, 3), -1), returns=float)
    check.equal(share, 0.0, "four sentences without any target", within=1e-6)
# END HIDDEN TESTS

# %%
for question, aims in zip(QUESTIONS, targets_of(held_out), strict=True):
    best = of_trained()[question].max().item()
    print(f"{question:18} best head {best:4.0%}   best fixed offset {offset_baseline(aims):4.0%}")

# %% [markdown]
# What to see: for the left neighbour, the baseline is 100 %. For the two others, the best offset hits one in seven: these heads do more than count positions.
#
# <details><summary>Is there a stronger baseline?</summary>For the noun there is: a rule that knows which words are nouns, but not their cases, is right for one adjective in three. The best head's 83 % is far above that, and so is head 1.1's 49 %. Head 0.0's 33 % is not. (But it mostly points to the rarest word. A head that always did so would be right for only about 15 %. So its 33 % is not chance, either: part 5.)</details>
#
# Still, no head points to the noun for every adjective, and yet the network answers nearly all questions about nouns. Do these answers need a head that points to them? Here is a control: five networks whose attention weights are uniform, so each query gives the same weight to every word.
#
# <details><summary>How do the weights stay uniform?</summary>The query and key projections are 0 at first, weights and biases. They stay 0, since the gradient of each has the other as a factor.</details>

# %%
recorded_uniform = {  # seeds 0 to 4, trained as before; held-out sentences
    "left neighbour": [0.242, 0.236, 0.243, 0.24, 0.242],
    "noun of its case": [0.997, 0.995, 0.994, 0.998, 0.995],
    "rarest word": [0.972, 0.975, 0.976, 0.977, 0.973],
}
figures.runs(recorded_uniform, "share of right answers", "Uniform attention weights", bottom=0.0)

# %% [markdown]
# What to see: without heads that point, more than 99 % of the nouns and 97 % of the rarest words are right, but only 24 % of left neighbours. The mean of all values says which words occur, but little about order.
#
# <details><summary>Why is that enough for the noun? And why 24 %, not 10 %?</summary>Each case has only one noun. To find it, the network needs to know which words occur, not where they are. For the left neighbour, the answer is one of the other words of the sentence. Guess the one that occurs most often (some adjectives occur twice): this is right for 24 % (counted in 3,000 sentences). So 24 % needs no order at all. In principle, a value of layer 1 could carry a word together with its position. Then the mean would contain the order. In 400 steps, these networks have not learned to use that.</details>
#
# So the *task* hardly needs heads that point to nouns or rare words. Does *this* network need them? An **intervention** changes one thing, keeps all else fixed, and measures how the predictions change.
#
# **A good place to stop.** Next: shut heads. (Back later? Run all cells above.)

# %% [markdown]
# ## 4 · Shut a head
#
# Here a gate (lesson 14) is one number $g_h$ per head, not computed from the input: 1 is open, 0 is shut. It multiplies the head's output $H_h$:
#
# $$\text{output} = \sum_h g_h\, H_h\, W^O_h + b$$

# %%
side_by_side = torch.tensor([[4.0, 2.0, 6.0, 8.0, 2.0, 4.0], [2.0, 6.0, 4.0, 4.0, 8.0, 6.0]])
in_names = ["0", "0", "1", "1", "2", "2"]
figures.steps(
    {
        "heads, side by side": (side_by_side, "head", in_names),
        "with the gates 1, 0 and ½": (
            torch.tensor([[4.0, 2.0, 0.0, 0.0, 1.0, 2.0], [2.0, 6.0, 0.0, 0.0, 4.0, 3.0]]),
            "head",
            in_names,
        ),
    },
    "token",
    ["a", "b"],
)

# %% [markdown]
# What to see: the features of head 1 become 0, and those of head 2 are halved. Shutting a head is the zero ablation of lesson 7. (It takes the head's mean output away as well. In lesson 7, zero and mean ablation nearly agreed.)
#
# The gate can just as well multiply the matrix, since $(g_h H_h)\, W^O_h = H_h\, (g_h W^O_h)$. So it is enough to change the output projection.
#
# **Predict.** The weight of `nn.Linear(6, 4)` has 4 rows and 6 columns. With 3 heads, which numbers belong to head 2?
#
# <details><summary>The rows 2 and 3</summary>The rows are output features: each of them reads all heads.</details>
# <details><summary>The columns 4 and 5</summary>Yes. 6 columns, 2 for each head. (nn.Linear stores the transpose of the formula's matrix, where they are rows.)</details>
# <details><summary>The columns 2 and 5: every third</summary>That would be right if the features of the heads alternated. They stand side by side.</details>
#
# **Exercise** (12 minutes). Write `gate_heads`. Later the gates are learned, so gradients must reach them. (Lesson 7 wrote zeros into a copy of the weight; that would give the gates no gradient.)
#
# <details><summary>Hint</summary>Make one factor for each column. Then a product with the weight is enough.</details>


# %% exercise gate_heads
def gate_heads(w_output: Tensor, gates: Tensor) -> Tensor:
    """Multiply each head's columns of an output projection by the head's gate.

    w_output (d_out, heads · d_head), as in nn.Linear; gates (heads,). Returns a new tensor like
    w_output; the inputs stay as they are, and gradients reach both.
    Raises a ValueError that names the number of columns and of gates if the number
    of gates does not divide the number of columns.
    """
    # BEGIN SOLUTION
    columns, count = w_output.shape[1], len(gates)
    if columns % count:
        raise ValueError(f"{columns} columns cannot be shared by {count} gates")
    return w_output * gates.repeat_interleave(columns // count)
    # END SOLUTION


# %% check gate_heads points=2
hint = "head h has the columns from h · d_head on, d_head of them"
with Check("gate_heads", "three heads of size 2", hint) as check:
    w_output = torch.arange(1.0, 25.0, dtype=torch.float64).reshape(4, 6)
    w_output[1:] /= 3
    gated = check.call(w_output, torch.tensor([1.0, 0.0, 0.5], dtype=torch.float64))
    check.shape(gated, row=4, column=6)
    check.equal(
        gated,
        w_output * torch.tensor([1, 1, 0, 0, 0.5, 0.5], dtype=torch.float64),
        "with the gates 1, 0 and ½, the first row 1 2 3 4 5 6 becomes 1 2 0 0 2.5 3",
    )
    gated = check.call(w_output, torch.ones(3, dtype=torch.float64))
    check.equal(gated, w_output, "with all gates at 1, nothing changes")
    gated = check.call(w_output[:2], torch.tensor([2.0, -3.0], dtype=torch.float64))
    check.equal(
        gated,
        w_output[:2] * torch.tensor([2, 2, 2, -3, -3, -3], dtype=torch.float64),
        "two heads of size 3, with the gates 2 and -3",
        hint="the size of a head follows from the columns and the gates; multiply, whatever the gate",
    )
with Check("gate_heads", "gradients") as check:
    w_output = numbers(3, 4).requires_grad_()
    gates = torch.tensor([0.0, 0.25], dtype=torch.float64, requires_grad=True)
    gated = check.call(w_output, gates)
    check.equal(
        check.gradient(gated, gates),
        w_output.detach().reshape(3, 2, 2).sum((0, 2)),
        "the gradient of a gate is the sum of its head's columns",
        hint="gates that are 0 have gradients too: multiply, and don't detach",
    )
    check.equal(
        check.gradient(gated, w_output),
        torch.tensor([0.0, 0, 0.25, 0.25], dtype=torch.float64).expand(3, 4),
        "the gradient of a column is its head's gate",
    )
# BEGIN HIDDEN TESTS
with Check("gate_heads", "other sizes, equal to gates on the heads' outputs") as check:
    for rows, heads, size, seed, dtype in (
        (5, 3, 4, 1, torch.float64),
        (6, 6, 1, 2, torch.float32),
        (1, 1, 7, 3, torch.float64),
        (12, 4, 3, 4, torch.float32),
        (2, 5, 2, 5, torch.float64),
    ):
        w_output = numbers(rows, heads * size, seed=seed, scale=3.0, dtype=dtype).requires_grad_()
        gates = numbers(heads, seed=seed + 1, dtype=dtype).requires_grad_()
        outputs = numbers(7, heads, size, seed=seed + 2, dtype=dtype)
        gated = check.call(w_output, gates)
        expected = F.linear((outputs * gates[:, None]).flatten(1), w_output)
        check.equal(F.linear(outputs.flatten(1), gated), expected, "the projection of gated heads")
        by_gates = (
            w_output.detach().square() * gates.detach().repeat_interleave(size) * 2
        ).reshape(rows, heads, size)
        check.equal(
            check.gradient(gated.square(), gates), by_gates.sum((0, 2)), "the gradient of the gates"
        )
        all_open = torch.ones(heads, dtype=dtype, requires_grad=True)
        check.equal(
            check.gradient(check.call(w_output.detach(), all_open), all_open),
            w_output.detach().reshape(rows, heads, size).sum((0, 2)),
            "gates at 1 have gradients, too",
        )
        scaled = check.call(-4 * w_output.detach(), gates.detach())
        check.equal(scaled, -4 * gated.detach(), "weights -4 times as large")
        twice = check.call(gated.detach(), gates.detach())
        expected = w_output.detach() * gates.detach().square().repeat_interleave(size)
        check.equal(twice, expected, "gated twice")
# END HIDDEN TESTS

# %% check gate_heads_refuses points=1
with Check("gate_heads", "gates that don't divide the columns") as check:
    check.raises(torch.ones(4, 6), torch.ones(4))
    check.raises(torch.ones(6, 4), torch.ones(3))  # the rows would do
    check.raises(torch.ones(2, 3), torch.ones(5))  # more gates than columns
    check.raises(torch.ones(4, 6), torch.ones(4), naming=(6,))
    check.raises(torch.ones(4, 6), torch.ones(4), naming=(6, 4))
# BEGIN HIDDEN TESTS
with Check("gate_heads", "refused and accepted") as check:
    check.raises(torch.ones(7, 10), torch.ones(7), naming=(10, 7))
    check.raises(torch.ones(9, 8), torch.ones(3), naming=(8, 3))
    check.raises(torch.ones(12, 5), torch.ones(12), naming=(5, 12))
    check.shape(check.call(torch.ones(5, 9), torch.ones(3)), row=5, column=9)
# END HIDDEN TESTS

# %% [markdown]
# Eight heads have $2^8 = 256$ states. The function in the next cell runs the network in each of them, with your `gate_heads`, on 150 sentences. (If you change `gate_heads` later, run that cell again, too.)


# %%
@cache
def every_state(seed: int) -> dict[tuple[float, ...], tuple[float, ...]]:
    """For each state of the eight gates: the accuracies of the three questions, and the loss."""
    model, data, found = trained(seed), sentences(150, seed=3), {}
    switches = torch.tensor([0.0, 1.0])
    for gates in torch.cartesian_prod(*[switches] * (NUM_LAYERS * NUM_HEADS)):
        with torch.no_grad():
            loss = answer_loss(model(data.tokens, gates)[0], data.answers).item()
        found[tuple(gates.tolist())] = (*accuracies(model, data, gates).tolist(), loss)
    return found


def share_right(gates: Tensor) -> tuple[float, ...]:
    """The accuracies of the three questions with these gates."""
    return every_state(0)[tuple(gates.flatten().tolist())][:3]


# %%
from transformer_course.widgets import show_switches

show_switches(share_right, NUM_LAYERS, NUM_HEADS, QUESTIONS, title="Shut heads of your network")

# %% [markdown]
# **Puzzle.** Find two heads with this property (yours may differ): shut either one alone, and the left neighbour is still right for more than 99 % of the words. Shut both, and this share falls by more than 10 points.
#
# <details><summary>What we found</summary>The heads 1 and 2 of layer 0. Each alone costs less than one point, both together 17.</details>
#
# Check your pair by numbers:

# %%
pair = (1, 2)  # two heads of layer 0: yours
for closed in ((), pair[:1], pair[1:], pair):
    switches = torch.tensor([float(number not in closed) for number in range(8)])
    told = f"without {' and '.join(map(str, closed))}" if closed else "all heads open"
    print(f"{told:16} left neighbour {share_right(switches)[0]:.1%}")

# %% [markdown]
# We call two heads that make up for each other twins. **Redundancy** means that several parts of a network can make up for one another, so each alone can be removed at little cost.
#
# ## 5 · Bug hunt: “attention tells us why”
#
# **From the lecture**: *Transformers (Part 2)*, Data C182, slide “Attention”: “we want the model to tell us "why" it returned Y … One popular approach: "Attention"”. The slide takes large weights for reasons.
#
# Test the claim as a prediction: *a head that points to the answer is needed for the answer*. The opening has shown a head that refutes it. But a shut head that costs nothing may be useless, or have a twin. One ablation cannot show which. The losses for the pair above:

# %%
for closed in ((), pair[:1], pair[1:], pair):
    all_eight = tuple(float(number not in closed) for number in range(8))
    print(
        f"shut: {' and '.join(map(str, closed)) or 'none':9} loss {every_state(0)[all_eight][3]:.3f}"
    )

# %% [markdown]
# **Predict.** Let $L$ be the loss with all heads, $L_a$ and $L_b$ without one of two heads, $L_{ab}$ without both. The increases in loss are $L_a - L$, $L_b - L$ and $L_{ab} - L$. When do the two heads make up for each other?
#
# <details><summary>If both single increases are large</summary>Then each is needed by itself. They may do different things.</details>
# <details><summary>If the joint increase is larger than the two single increases together</summary>Yes. Each makes up for the other, until both are gone. In our run: 0.22, and not 0.02 + 0.03.</details>
# <details><summary>If the joint increase is the sum of the two single ones</summary>Then they are independent: what one costs does not depend on the other.</details>
#
# **Exercise** (15 minutes). Write the test that can tell twins from useless heads: `redundancy`. The number is positive for twins, and 0 for heads that are independent. It is negative if the same answers need both heads at once: shutting one loses them already, and they cannot be lost twice. (In statistics, such a difference is called the interaction of two factors.)
#
# <details><summary>Hint</summary>Four calls of <code>loss</code>, with four different tensors of gates.</details>


# %% exercise redundancy
def redundancy(loss: Callable[[Tensor], float], first: int, second: int, num_heads: int) -> float:
    """Return by how much shutting two heads costs more than shutting each of them alone.

    loss(gates) -> a float; gates: floats (num_heads,), 1 for an open head and 0 for a shut one.
    The increase in loss, from all heads open, without both heads; minus the increase without
    `first` alone; minus the increase without `second` alone. first and second differ.
    """

    # BEGIN SOLUTION
    def without(*shut: int) -> float:
        state = torch.ones(num_heads)
        state[list(shut)] = 0.0
        return loss(state)

    return without(first, second) - without(first) - without(second) + without()
    # END SOLUTION


# %% check redundancy points=2
hint = "each of the three increases starts from the loss with all heads open"


def additive(gates, costs=(1.0, 0.25, 2.0, 0.5)):
    """Each shut head costs something, whatever the others do."""
    shut = [1 - gate for gate in gates.tolist()]
    return 3.0 + sum(cost * one for cost, one in zip(costs, shut, strict=True))


def paired(gates):
    """Heads 0 and 3 are twins, worth 5 together; head 1 costs ½; head 2 is useless."""
    open_ = gates.tolist()
    return 2.0 + 5 * (1 - open_[0]) * (1 - open_[3]) + 0.5 * (1 - open_[1])


with Check("redundancy", "independent heads", hint) as check:
    calls = []

    def uneven(gates, calls=calls):
        calls.append(gates.clone() if isinstance(gates, Tensor) else gates)
        if not isinstance(gates, Tensor) or gates.shape != (4,):
            return 0.0  # refused below
        a, b, c, d = (1 - gate for gate in gates.tolist())
        return (
            3.0 + a + 0.25 * b + 2 * c + 0.5 * d + 0.7 * a * b + 1.3 * b * c + 0.4 * c * d + a * d
        )

    by_uneven = check.call(uneven, 1, 2, 4, returns=float)
    for gates in calls:
        check.true(
            isinstance(gates, Tensor) and gates.shape == (4,) and gates.is_floating_point(),
            "loss gets a tensor of 4 floats: 1 for each open head, 0 for each shut one",
            hint="begin with torch.ones(num_heads)",
        )
        check.true(
            bool(((gates == 0) | (gates == 1)).all() and gates[0] == 1 == gates[3]),
            "only the two heads in question are shut, by gates of 0; all others are open, 1",
        )
    check.equal(
        by_uneven,
        1.3,
        "losses of 3 with all, 3.25 without head 1, 5 without head 2, 6.55 without both: "
        "3.55 - 0.25 - 2",
        within=1e-6,
    )
    by_costs = check.call(additive, 0, 2, 4, returns=float)
    check.equal(by_costs, 0.0, "with costs that add up, the result is 0", within=1e-6)
with Check("redundancy", "twins, and useless heads", hint) as check:
    result = check.call(paired, 0, 3, 4, returns=float)
    check.equal(result, 5.0, "heads 0 and 3 cost nothing alone, and 5 together", within=1e-6)
    result = check.call(paired, 3, 0, 4, returns=float)
    check.equal(result, 5.0, "the order of the two heads does not matter", within=1e-6)
    result = check.call(paired, 2, 0, 4, returns=float)
    check.equal(result, 0.0, "head 2 is useless: nothing is shared with head 0", within=1e-6)

    def overlapping(gates):
        first, second, _ = gates.tolist()
        return 1.0 + 2 * (1 - first) + 3 * (1 - second) - 1.5 * (1 - first) * (1 - second)

    result = check.call(overlapping, 0, 1, 3, returns=float)
    check.equal(
        result,
        -1.5,
        "losses of 1 with all, 3 without head 0, 4 without head 1, 4.5 without both: 3.5 - 2 - 3",
        hint="the result may be negative: keep its sign",
        within=1e-6,
    )
# BEGIN HIDDEN TESTS
with Check("redundancy", "any losses, and numbers of heads") as check:
    for count, seed in ((2, 1), (3, 2), (5, 3), (9, 4)):
        table = numbers(count, count, seed=seed, scale=3.0)

        def quadratic(gates, table=table, base=10.0 * seed):
            shut = 1 - gates.double()
            return (base + shut @ table @ shut).item()

        for first, second in ((0, 1), (1, 0), (count - 1, 0), (count - 2, count - 1)):
            result = check.call(quadratic, first, second, count, returns=float)
            expected = (table[first, second] + table[second, first]).item()
            check.equal(result, expected, "what two heads cost more together", within=1e-6)

    def open_heads_only(gates):
        return float(gates.prod() * 7 + gates.sum())

    result = check.call(open_heads_only, 1, 2, 4, returns=float)
    check.equal(result, 7.0, "the loss with all heads open counts once", within=1e-6)

    def tiny(gates):
        return float(1e-4 * gates[0] * gates[2])

    result = check.call(tiny, 0, 2, 3, returns=float)
    check.equal(result, 1e-4, "small losses", within=1e-8)
# END HIDDEN TESTS

# %% [markdown]
# Before the reveal, write down your expectation: between which heads of the network is the redundancy large?


# %%
def loss_of(gates: Tensor) -> float:
    """The loss of the network of seed 0 with these gates."""
    return every_state(0)[tuple(gates.tolist())][3]


ALL_HEADS = NUM_LAYERS * NUM_HEADS
shared = torch.zeros(ALL_HEADS, ALL_HEADS)
for one in range(ALL_HEADS):
    for other in range(one + 1, ALL_HEADS):
        shared[one, other] = shared[other, one] = redundancy(loss_of, one, other, ALL_HEADS)
names = [f"{head // NUM_HEADS}.{head % NUM_HEADS}" for head in range(ALL_HEADS)]
figures.steps({"redundancy (nats)": (shared, "layer.head", names)}, "layer.head", names)

# %% [markdown]
# What to see (yours may differ): the three heads that point to the left neighbour are redundant with one another (0.17 to 0.38). So is head 0.0, which points to the rarest word, with heads 1.0, 1.1 and 1.3, which often point to it, too (0.13 to 0.18). Between the two groups, the numbers are near 0. (A positive number says that two heads make up for each other, not that they do the *same* work.)
#
# <details><summary>For which question do they make up for each other?</summary>The loss is the mean of all three questions, so the number cannot say. Head 1.1 points to the noun as often as to the rarest word, and shut alone it costs mostly nouns. Two heads with different evidence for one answer give a positive number, too.</details>
#
# The pair test can miss twins: while a third head makes up for both, twins can be shut at little cost. Test 0.1 and 0.2 again, with 0.3 shut:


# %%
def loss_without_third(gates: Tensor) -> float:
    """The loss with these gates, and with head 0.3 shut in any case."""
    still_open = gates.clone()
    still_open[3] = 0.0
    return loss_of(still_open)


for told, loss_now in (("open", loss_of), ("shut", loss_without_third)):
    found = redundancy(loss_now, 1, 2, ALL_HEADS)
    print(f"0.3 {told}: the redundancy of 0.1 and 0.2 is {found:.2f}")

# %% [markdown]
# What to see (yours may differ): without the third head, the redundancy is nearly twice as large.
#
# So the slide's reading fails in one direction: *the head points to the answer* does not imply *the answer needs the head*.
#
# The other direction: does the head point to the answer wherever it is needed? Head 0.0 points to the noun for only a third of the adjectives. Yet without it, 6 % of the answers to “noun of its case” are lost: right with all heads, wrong without this one.
#
# **Predict.** For how many of these lost answers does head 0.0 point to the noun?
#
# <details><summary>For about a third</summary>That is its mean over all adjectives. It need not hold for these few.</details>
# <details><summary>For none: it helps in another way</summary>It could. The next cell counts.</details>
# <details><summary>For all</summary>Yes, in this run. The next cell counts.</details>


# %%
def lost_and_pointed(number: int) -> tuple[int, int]:
    """How many answers are lost without a head, and for how many of them it points to the noun."""
    model, data, gates = trained(0), sentences(150, seed=3), torch.ones(NUM_LAYERS * NUM_HEADS)
    gates[number] = 0.0
    with torch.no_grad():
        before, weights = model(data.tokens)
        after, _ = model(data.tokens, gates)
    nouns = data.answers[1]
    lost = (before[..., 1, :].argmax(-1) == nouns) & (after[..., 1, :].argmax(-1) != nouns)
    layer, head = divmod(number, NUM_HEADS)
    pointed = weights[layer, :, head].argmax(-1) == data.nouns
    return int(lost.sum()), int((lost & pointed).sum())


for number in range(NUM_LAYERS * NUM_HEADS):
    told = "without head {}.{}: {:3} answers lost; for {:3} of them it points to the noun"
    print(told.format(*divmod(number, NUM_HEADS), *lost_and_pointed(number)))

# %% [markdown]
# What to see (yours may differ): every answer that is lost without a head is one for which that head pointed to the noun. (In five seeds, for all eight heads: 967 of 970, recorded.) The mean of head 0.0 had hidden this. So for the noun, and one head at a time, this direction holds: where the head is needed, it points. The first direction fails: head 1.2 points to the noun for more than 80 % of the adjectives, and only 115 of the 630 answers (one for each adjective) are lost without it.

# %% [markdown]
# ## 6 · Prune, one head at a time
#
# Which heads can go? The simplest idea: shut each head alone, and rank the heads by the increase in loss.


# %%
def increase_without(number: int) -> float:
    """The increase in loss of the network of seed 0 without one head."""
    state = torch.tensor([float(one != number) for one in range(ALL_HEADS)])
    return loss_of(state) - loss_of(torch.ones(ALL_HEADS))


ranked = sorted(range(ALL_HEADS), key=increase_without)
for number in ranked:
    print(f"without head {names[number]}: {increase_without(number):+.3f}")

# %% [markdown]
# Pruning by this list would remove its top heads. But each of two twins looks cheap, so both would go.
#
# **Greedy pruning** shuts the head without which the loss is lowest, keeps it shut, and repeats this. (Greedy: each step takes what is best now, and is never taken back.) Michel et al. (2019) also prune step by step, in the order of importance scores that come from gradients.
#
# **Predict.** Heads 0 and 1 are twins: shut either one and nothing happens; shut both and the loss rises by 5. Without head 2 it rises by 1. (Of equal losses, the lowest head goes.) Which head does greedy pruning remove *second*?
#
# <details><summary>Head 1: it costs nothing</summary>It did, while its twin was open. Now it costs 5.</details>
# <details><summary>Head 2</summary>Yes. After head 0 is shut, head 1 costs 5 and head 2 costs 1.</details>
#
# **Exercise** (20 minutes). Write `pruning_order`.
#
# <details><summary>Hint 1</summary>Keep one tensor of gates, the heads that are shut so far. Try each open head in a clone of it.</details>
# <details><summary>Hint 2</summary>Of equal losses, the lowest head: go through the heads in order, and replace the best only if the new loss is smaller.</details>


# %% exercise pruning_order
def pruning_order(loss: Callable[[Tensor], float], num_heads: int) -> list[int]:
    """Return the heads in the order in which greedy pruning shuts them: all of them, as ints.

    loss(gates) -> a float; gates: floats (num_heads,), 1 for an open head and 0 for a shut one.
    Each time, of the open heads, shut the one without which the loss is lowest (with those that
    are shut already); of equal losses, the head with the lowest number.
    """
    # BEGIN SOLUTION
    kept, removed = torch.ones(num_heads), []
    while len(removed) < num_heads:
        losses = {}
        for head in kept.nonzero().flatten().tolist():
            trial = kept.clone()
            trial[head] = 0.0
            losses[head] = loss(trial)
        removed.append(min(losses, key=losses.__getitem__))
        kept[removed[-1]] = 0.0
    return removed
    # END SOLUTION


# %% check pruning_order points=3
hint = "after each head that is shut, call loss again for every head that is still open"


def greedy_by_hand(table, count):
    """The greedy order, with `table[state]` for a state such as (1, 0, 1)."""
    state, order = [1] * count, []
    for _ in range(count):
        trials = []
        for head in range(count):
            if state[head]:
                trials.append(
                    (table(tuple(one * (i != head) for i, one in enumerate(state))), head)
                )
        order.append(min(trials)[1])
        state[order[-1]] = 0
    return order


with Check("pruning_order", "costs that add up", hint) as check:
    calls = []

    def added(gates, calls=calls):
        calls.append(gates.clone() if isinstance(gates, Tensor) else gates)
        if not isinstance(gates, Tensor) or gates.shape != (4,):
            return 0.0  # refused below
        costs = torch.tensor([3.0, 1.0, 4.0, 1.5], dtype=torch.float64)
        return float((costs * (1 - gates)).sum())

    order = check.call(added, 4, returns=list)
    for gates in calls:
        check.true(
            isinstance(gates, Tensor) and gates.shape == (4,) and gates.is_floating_point(),
            "loss gets a tensor of 4 floats: 1 for each open head, 0 for each shut one",
            hint="begin with torch.ones(num_heads)",
        )
        check.true(
            bool(((gates == 0) | (gates == 1)).all()),
            "each gate is 1 (open) or 0 (shut)",
        )
    check.equal(order, [1, 3, 0, 2], "costs of 3, 1, 4 and 1.5: the cheapest heads go first")
with Check("pruning_order", "twins", hint) as check:

    def twins(gates):
        one, two, three, four = gates.tolist()
        return 5 * (1 - one) * (1 - two) + (1 - three) + 0.5 * (1 - four)

    def overlapping(gates):
        a, b, c, d, e = (1 - gates).tolist()
        return a + 3 * b + 2.5 * c + 2 * d + 1.2 * e + 4 * a * e + 2 * b * d

    def crossed(gates):
        a, b, c, d = (1 - gates).tolist()
        return 1.5 * a + 2.5 * b + 3 * c + 2 * d + 3 * a * b + 2 * a * c

    order, of_five, of_four = (
        check.call(loss, n, returns=list)
        for loss, n in ((twins, 4), (overlapping, 5), (crossed, 4))
    )
    check.equal(
        order,
        [0, 3, 2, 1],
        "heads 0 and 1 are twins: alone each costs nothing, both cost 5; head 2 costs 1, head 3 ½",
        hint="once head 0 is shut, head 1 costs 5: compute the losses anew after each head",
    )
    check.equal(
        of_five,
        [0, 3, 2, 1, 4],
        "five heads: 0 costs least; after that, head 4 costs 5.2 instead of 1.2, and 3 costs least",
    )
    check.equal(
        of_four,
        [0, 3, 2, 1],
        "four heads: 0 costs least, then 3; after that, head 2 costs 5 and head 1 costs 5.5",
        hint="a shut head stays shut: that shutting head 0 was costly for 1 and 2 changes nothing",
    )
    order = check.call(lambda gates: 1.0, 3, returns=list)
    check.equal(order, [0, 1, 2], "all losses are equal: the lowest head goes first, each time")
    check.equal(check.call(twins, 4, returns=list), [0, 3, 2, 1], "a second call, from the start")

    def better_without(gates):
        return float(gates.double() @ torch.tensor([1.0, 3.0, 2.0]).double())

    order = check.call(better_without, 3, returns=list)
    check.equal(order, [1, 2, 0], "each head makes the loss larger: the worst one goes first")
# BEGIN HIDDEN TESTS
with Check("pruning_order", "any losses, and numbers of heads") as check:
    for count, seed in ((1, 1), (2, 2), (3, 3), (5, 4), (6, 5), (7, 6)):
        for rounded in (False, True):  # rounded losses are often equal
            values = numbers(2**count, seed=seed, scale=1.5)
            values = values.round() if rounded else values

            def from_table(gates, values=values, count=count):
                shut = [i for i, gate in enumerate(gates.tolist()) if gate == 0]
                return values[sum(2**i for i in shut)].item()

            def by_state(state, values=values):
                return values[sum(2**i for i, one in enumerate(state) if not one)].item()

            order = check.call(from_table, count, returns=list)
            check.equal(order, greedy_by_hand(by_state, count), "the greedy order")
with Check("pruning_order", "twins of other sizes, and large losses") as check:

    def grouped(gates):
        a, b, c, d, e, f = (1 - gates).tolist()
        return 1e6 + 9 * a * c + 4 * b * f + 2 * d + 3 * e + 20 * a * b * c * d

    def by_hand(state):
        return grouped(torch.tensor([float(one) for one in state]))

    order = check.call(grouped, 6, returns=list)
    check.equal(order, greedy_by_hand(by_hand, 6), "three groups of heads")
    order = check.call(lambda gates: -float(gates.sum()), 5, returns=list)
    check.equal(order, [0, 1, 2, 3, 4], "negative losses, equal ones")
    order = check.call(lambda gates: 1e30 if gates[0] == 0 else 1.0, 3, returns=list)
    check.equal(order, [1, 2, 0], "a head that costs very much goes last")
# END HIDDEN TESTS

# %% [markdown]
# Run it on the network, and rank the heads one by one as the control. The orders are chosen on the 150 sentences, so the right answers are counted on the held-out ones.


# %%
def with_only(heads: Sequence[int]) -> Tensor:
    """The held-out accuracies of the network of seed 0 with these heads open alone."""
    gates = torch.zeros(ALL_HEADS)
    gates[list(heads)] = 1.0
    return accuracies(trained(0), held_out, gates)


order = pruning_order(loss_of, ALL_HEADS)
of_lists = {"greedy": order, "ranked one by one": ranked}
for name, heads in of_lists.items():
    print(f"{name}: {', '.join(names[head] for head in heads)}")
figures.curves(
    list(range(ALL_HEADS + 1)),
    {
        name: [with_only(heads[shut:]).mean().item() for shut in range(ALL_HEADS + 1)]
        for name, heads in of_lists.items()
    },
    x="heads that are shut",
    y="right answers, mean of the three questions",
    title="Pruning without further training, seed 0",
    bottom=0.0,
)

# %% [markdown]
# What to see (yours may differ): four of the eight heads can go, and 92 % of the answers are still right, without any further training. The last three that greedy pruning keeps point to the left neighbour, to the rarest word and to the noun. That is so in all five seeds.
#
# In seed 0, the ranking one by one is at most 3 points worse down to three heads. With two heads, it is about 12 points worse. Is the ranking always so close? Here are all five seeds, with four and with three heads left.

# %%
recorded_pruning = {  # mean accuracy of the three questions, seeds 0 to 4; see with_only
    "greedy, 4 left": [0.923, 0.898, 0.892, 0.9, 0.908],
    "ranked, 4 left": [0.921, 0.893, 0.862, 0.9, 0.908],
    "greedy, 3 left": [0.881, 0.824, 0.82, 0.849, 0.828],
    "ranked, 3 left": [0.881, 0.824, 0.712, 0.654, 0.828],
}
figures.runs(recorded_pruning, "right answers, mean of the questions", "Heads left, no training")

# %% [markdown]
# What to see: with four heads left, greedy pruning is equal to the ranking, or slightly better. With three, the ranking is far worse in two of five seeds: 71 % instead of 82 %, and 65 % instead of 85 %. In the other three it is equal.
#
# Does greedy pruning find the best heads of all? The 256 states show it.

# %%
best_of_all = {}
for size in (2, 3, 4):
    of_size = {state: found[3] for state, found in every_state(0).items() if sum(state) == size}
    best_of_all[size] = min(of_size, key=of_size.__getitem__)
    best = [head for head in range(ALL_HEADS) if best_of_all[size][head]]
    told = ", ".join(names[head] for head in best)
    greedy_told = ", ".join(names[head] for head in sorted(order[-size:]))
    print(f"{size} heads: lowest loss with {told}; greedy keeps {greedy_told}")

# %% [markdown]
# What to see (yours may differ): with two and with three heads, greedy pruning has found the best choice; with four it has not. In four of our five seeds, its last three were the best of all.
#
# **A good place to stop.** Next the network learns its gates. (Back later? Run all cells above.)

# %% [markdown]
# ## 7 · Gates that are learned
#
# In greedy pruning, the other weights cannot adapt. Voita et al. train gates and weights together, with a penalty for open gates.
#
# The penalty should count them. The **L0 norm** of a vector is the number of its entries that are not 0. A count has no useful gradient: change an open gate a little, and the count stays the same. Halve all gates:

# %%
two_states = torch.tensor([1.0, 0.5, 0.01, 0.0]), torch.tensor([0.5, 0.25, 0.005, 0.0])
for some_gates in two_states:
    told = ", ".join(f"{gate:g}" for gate in some_gates.tolist())
    print(f"gates {told}: L0 norm {some_gates.count_nonzero()}")

# %% [markdown]
# What to see: all open gates are smaller, and the count is still 3. (So the L0 norm is not a norm in the strict sense: half the vector would have half the norm.)
#
# **Predict.** Take an L1 penalty instead, the sum of the absolute values $|g_h|$. The network halves a gate and doubles this head's matrix $W^O_h$. What happens?
#
# <details><summary>The output changes</summary>The factor ½ and the factor 2 cancel.</details>
# <details><summary>The output stays, the penalty falls, and no head is shut</summary>Yes. Small gates cost little, and are not 0. The L0 norm stays the same.</details>

# %%
for some_gates in two_states:
    told = ", ".join(f"{gate:g}" for gate in some_gates.tolist())
    print(f"gates {told}: L0 norm {some_gates.count_nonzero()}, L1 norm {some_gates.sum():.3f}")

# %% [markdown]
# What to see: the L1 norm is halved, with as many gates open.
#
# Louizos et al. (2018) draw the gates at random, and penalise the *probability* of being open, which is smooth. A Bernoulli mask (lesson 5) is only ever 0 or 1, so no gradient of the loss would reach its probability. The **hard concrete distribution** gives numbers from 0 to 1: exactly 0 and exactly 1 each with positive probability, and otherwise a number in between.
#
# Three steps turn a number $u$, drawn uniformly from 0 to 1, into a gate $g$:
#
# $$s = \sigma\left(\frac{\log\alpha + \log u - \log(1 - u)}{\beta}\right), \qquad \bar s = s\,(\zeta - \gamma) + \gamma, \qquad g = \min(1, \max(0, \bar s))$$
#
# $\log\alpha$ is learned, for each gate. $\beta = 0.33$ is the temperature; $\gamma = -0.1$ and $\zeta = 1.1$ are the ends to which $s$ is stretched.
#
# <details><summary>Why does a gradient reach log α?</summary>The draw u does not depend on log α. So once u is drawn, the gate is an ordinary function of log α and has a derivative (the <em>reparameterization trick</em>). Where the gate is clipped to 0 or 1, the loss gives no gradient in this step; another draw may be in between. With log α = 1, a gate is exactly 0 in 14 % of the draws, exactly 1 in 55 %, and in between in 31 %.</details>
# <details><summary>Why log α, and not α?</summary>The papers give this name to a parameter that may be any real number. α itself is positive, and is not needed here.</details>

# %%
uniform = torch.linspace(0.001, 0.999, 25)
stretched_out = {}
for parameter in (-2.0, 0.0, 2.0):
    squeezed = torch.sigmoid((parameter + uniform.log() - (1 - uniform).log()) / 0.33)
    stretched_out[f"log α = {parameter:g}"] = (1.2 * squeezed - 0.1).tolist()
figures.curves(
    uniform.tolist(),
    stretched_out,
    x="noise u",
    y="stretched, not yet clipped",
    title="Before the last step: below 0 becomes 0, above 1 becomes 1",
)

# %% [markdown]
# What to see: the larger $\log\alpha$, the more values of $u$ give an open gate. (The noise enters as $z = \log u - \log(1 - u)$, a random number around 0.) As $\beta$ is small, $s$ is often near 0 or 1. The stretch moves it below 0 or above 1, and the last step makes it exactly 0 or 1.
#
# **Predict.** Set $\gamma = 0$ and $\zeta = 1$ (in code: `low` and `high`), so that nothing is stretched. Which gates are exactly 0?
#
# <details><summary>None: the sigmoid is never 0</summary>Yes. Every head stays slightly open, and cannot be removed.</details>
# <details><summary>Those with a negative log α</summary>Their gates are small. Small is not 0.</details>
#
# **Exercise** (12 minutes). Write `hard_concrete`. Without noise it is deterministic: that is the gate after training. (Louizos et al. leave out the division by β there. Here it stays, so the gate is that of u = ½.)
#
# <details><summary>Hint</summary>For u = ½, log u − log(1 − u) is 0: without noise, leave this term out.</details>


# %% exercise hard_concrete
def hard_concrete(
    log_alpha: Tensor,
    noise: Tensor | None = None,
    temperature: float = 0.33,
    low: float = -0.1,
    high: float = 1.1,
) -> Tensor:
    """Return gates from 0 to 1, like log_alpha: sigmoid, stretch, clip.

    s = sigmoid((log_alpha + log(noise) - log(1 - noise)) / temperature); noise: like log_alpha,
    strictly between 0 and 1. noise=None: as with a noise of 1/2 for every gate, nothing is drawn.
    Stretched to s · (high - low) + low, then clipped to 0 … 1. Gradients reach log_alpha.
    """
    # BEGIN SOLUTION
    logits = log_alpha if noise is None else log_alpha + torch.logit(noise)
    squashed = torch.sigmoid(logits / temperature)
    return (squashed * (high - low) + low).clamp(0, 1)
    # END SOLUTION


# %% check hard_concrete points=2
hint = "three steps: the sigmoid of (…) / temperature, the stretch, and at last the clip"


def gates_by_hand(log_alpha, noise, temperature=0.33, low=-0.1, high=1.1):
    one_by_one = []
    for a, u in zip(log_alpha.flatten().tolist(), noise.flatten().tolist(), strict=True):
        s = 1 / (1 + math.exp(-(a + math.log(u / (1 - u))) / temperature))
        one_by_one.append(min(1.0, max(0.0, low + (high - low) * s)))
    return torch.tensor(one_by_one, dtype=log_alpha.dtype).reshape(log_alpha.shape)


with Check("hard_concrete", "without noise", hint) as check:
    log_alpha = torch.tensor([-3.0, -0.5, 0.0, 0.2, 3.0], dtype=torch.float64)
    half = torch.full((5,), 0.5, dtype=torch.float64)
    gates, again = check.call(log_alpha), check.call(log_alpha)
    check.shape(gates, gate=5)
    check.equal(
        again, gates, "two calls without noise are equal", hint="without noise, nothing is drawn"
    )
    check.equal(gates[2], torch.tensor(0.5).double(), "log α = 0 without noise gives a gate of ½")
    check.equal(
        gates[[0, 4]],
        torch.tensor([0.0, 1.0], dtype=torch.float64),
        "log α = -3 gives exactly 0, and log α = 3 exactly 1",
        hint="stretch to low … high, then clip to 0 … 1",
    )
    check.equal(
        gates,
        gates_by_hand(log_alpha, half),
        "the gates of log α = -3, -½, 0, 0.2 and 3",
        hint="without noise, the temperature still divides log α",
    )
with Check("hard_concrete", "with noise", hint) as check:
    log_alpha = torch.tensor([[0.0, 0.0, 0.0], [0.4, -0.4, 1.0]], dtype=torch.float64)
    noise = torch.tensor([[0.6, 0.5, 0.02], [0.45, 0.7, 0.2]], dtype=torch.float64)
    gates = check.call(log_alpha, noise)
    check.shape(gates, row=2, gate=3)
    check.equal(
        gates[0],
        gates_by_hand(log_alpha[0], noise[0]),
        "log α = 0 with the noise 0.6, ½ and 0.02: about 0.83, ½, and 0",
        hint="the noise enters as log(noise) - log(1 - noise), before the division",
    )
    check.equal(gates[1], gates_by_hand(log_alpha[1], noise[1]), "other log α, other noise")
    gates = check.call(log_alpha, noise, temperature=1.5, low=-0.5, high=2.0)
    expected = gates_by_hand(log_alpha, noise, 1.5, -0.5, 2.0)
    check.equal(gates, expected, "temperature 1.5, and a stretch from -0.5 to 2")
with Check("hard_concrete", "gradients", hint) as check:
    log_alpha = torch.tensor([-4.0, 0.1, 5.0], dtype=torch.float64, requires_grad=True)
    slope = check.gradient(check.call(log_alpha), log_alpha)
    check.equal(
        slope[[0, 2]],
        torch.zeros(2, dtype=torch.float64),
        "gates that are clipped to 0 or 1 have no gradient",
    )
    s = torch.sigmoid(torch.tensor(0.1 / 0.33, dtype=torch.float64))
    check.equal(
        slope[1],
        1.2 * s * (1 - s) / 0.33,
        "between 0 and 1, the gradient is that of the formula",
        hint="don't round the gates and don't detach them: a step has no gradient",
    )
# BEGIN HIDDEN TESTS
with Check("hard_concrete", "other sizes, compared with a loop") as check:
    for shape, temperature, low, high, seed, dtype in (
        ((7,), 0.33, -0.1, 1.1, 1, torch.float64),
        ((2, 4), 0.5, -0.2, 1.3, 2, torch.float64),
        ((1,), 1.0, 0.0, 1.0, 3, torch.float64),
        ((3, 2, 5), 2.0 / 3.0, -0.1, 1.1, 4, torch.float32),
        ((6,), 3.0, -1.0, 1.2, 5, torch.float64),
        ((5,), 0.8, 0.2, 0.7, 6, torch.float64),
    ):
        log_alpha = numbers(*shape, seed=seed, dtype=dtype)
        noise = torch.sigmoid(numbers(*shape, seed=seed + 1, dtype=dtype))
        for drawn in (noise, torch.full_like(noise, 0.5)):
            expected = gates_by_hand(log_alpha, drawn, temperature, low, high)
            gates = check.call(log_alpha, drawn, temperature, low, high)
            check.equal(gates, expected, "the gates", within=1e-5)
        gates = check.call(log_alpha, None, temperature, low, high)
        check.equal(gates, expected, "the gates without noise", within=1e-5)
with Check("hard_concrete", "large numbers, a single one, and gradients") as check:
    for dtype in (torch.float64, torch.float32):
        gates = check.call(torch.tensor([-80.0, 0.0, 80.0], dtype=dtype))
        check.equal(gates, torch.tensor([0.0, 0.5, 1.0], dtype=dtype), "log α = -80, 0 and 80")
    scalar = check.call(torch.tensor(0.05, dtype=torch.float64), torch.tensor(0.3).double())
    expected = gates_by_hand(torch.tensor(0.05).double(), torch.tensor(0.3).double())
    check.equal(scalar, expected, "a single number")
    noise = torch.tensor([0.3, 0.5, 0.62], dtype=torch.float64)
    log_alpha = torch.tensor([0.2, -0.1, 0.05], dtype=torch.float64, requires_grad=True)
    slope = check.gradient(check.call(log_alpha, noise).square(), log_alpha)
    s = torch.sigmoid((log_alpha.detach() + noise.log() - (1 - noise).log()) / 0.33)
    expected = 2 * (1.2 * s - 0.1) * 1.2 * s * (1 - s) / 0.33
    check.equal(slope, expected, "gradients with noise")
# END HIDDEN TESTS

# %% [markdown]
# A gate is open if $\bar s > 0$. How likely is that? Undo the steps:
#
# - $\bar s > 0$ means $s > \frac{-\gamma}{\zeta - \gamma}$.
# - The sigmoid is undone by $\log\frac{s}{1 - s}$. At this bound, $\frac{s}{1 - s} = \frac{-\gamma}{\zeta}$. So with $z = \log u - \log(1 - u)$, the condition is $\frac{\log\alpha + z}{\beta} > \log\frac{-\gamma}{\zeta}$.
# - Solved for $z$: $z > t$, with $t = \beta \log\frac{-\gamma}{\zeta} - \log\alpha$.
# - $z > t$ means $u > \sigma(t)$, as $\sigma$ undoes $z$. This has probability $1 - \sigma(t) = \sigma(-t)$.
#
# So:
#
# $$P(g > 0) = \sigma\left(\log\alpha - \beta \log\frac{-\gamma}{\zeta}\right)$$
#
# The next cell adds a penalty to the loss: 0.23 times the sum of these eight probabilities. (It is the expected number of open gates.)
#
# <details><summary>Why this sum, and why 0.23?</summary>The sum of the probabilities is the expectation (lesson 5) of the L0 norm. Unlike the norm itself it is smooth, so it can be minimised. The factor sets how many heads survive. In five seeds, three to six do with 0.1, three or four with 0.23, and two or three with 0.5.</details>
#
# The training starts from the trained network, with log α = 1: each gate is open with a probability of 86 %.


# %%
STEPS, PENALTY = 250, 0.23


def open_probability(log_alpha: Tensor) -> Tensor:
    """The probability that a gate is not 0."""
    return torch.sigmoid(log_alpha - 0.33 * math.log(0.1 / 1.1))


@cache
def with_learned_gates(seed: int) -> tuple[Reader, Tensor]:
    """The network of this seed, trained on with gates that are penalised; and its final gates."""
    model = deepcopy(trained(seed)).requires_grad_(True)
    log_alpha = torch.ones(ALL_HEADS, requires_grad=True)
    draw = torch.Generator().manual_seed(seed)
    parts = [{"params": [*model.parameters()]}, {"params": [log_alpha], "lr": 0.1}]
    optimizer = torch.optim.Adam(parts, lr=1e-3)

    def sampled() -> Tensor:
        noise = torch.rand(ALL_HEADS, generator=draw)
        return hard_concrete(log_alpha, noise.clamp(1e-6, 1 - 1e-6))

    def price() -> Tensor:
        return PENALTY * open_probability(log_alpha).sum()

    train(model, optimizer, STEPS, seed, sampled, price)
    return model.requires_grad_(False), hard_concrete(log_alpha).detach()


@cache
def with_fixed_heads(seed: int, heads: tuple[int, ...]) -> tuple[Reader, Tensor]:
    """The same training without a penalty, where these heads are open and all others shut."""
    model = deepcopy(trained(seed)).requires_grad_(True)
    gates = torch.tensor([float(head in heads) for head in range(ALL_HEADS)])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    train(model, optimizer, STEPS, seed, lambda: gates)
    return model.requires_grad_(False), gates


gated_model, final_gates = with_learned_gates(0)
for question, share in zip(QUESTIONS, accuracies(gated_model, held_out, final_gates), strict=True):
    print(f"{question:18} {share:.1%} right")
print(
    "gates:",
    *(f"{name} {gate:.2f}" for name, gate in zip(names, final_gates.tolist(), strict=True)),
)

# %% [markdown]
# What to see (yours may differ): four of the eight gates are exactly 0, four heads are left, and 99.7 % of the answers are right. Shut each of the four in turn:

# %%
gated_model, final_gates = with_learned_gates(0)
left_over = [number for number in range(ALL_HEADS) if final_gates[number] > 0]
lost = []
for number in left_over:
    one_less = final_gates.clone()
    one_less[number] = 0.0
    lost.append(accuracies(gated_model, held_out, one_less))
figures.steps(
    {"share of right answers": (torch.stack(lost), "question", QUESTIONS)},
    "without",
    [names[head] for head in left_over],
)
to_left = [head for head in left_over if of_trained()[QUESTIONS[0]].flatten()[head] > 0.9]
one_less = final_gates.clone()
one_less[to_left] = 0.0
left_right = accuracies(gated_model, held_out, one_less)[0]
print(f"without {' and '.join(names[head] for head in to_left)}: left neighbour {left_right:.0%}")

# %% [markdown]
# What to see (yours may differ): without head 0.0, only 53 % of the rarest words are right; without 1.2, only 68 % of the nouns. Shut 0.1 alone or 0.3 alone, and at least 94 % of the left neighbours are still right. Shut both, and only 11 % are: they are twins, and training has kept both, in spite of the penalty.
#
# ### Did the gates find the right heads?
#
# The popular reading: training with the penalty *finds* the important heads, “the rest can be pruned”. These heads were left in the five seeds (positional ones with a star):

# %%
recorded_open = [
    "0.0 0.1* 0.3* 1.2",
    "0.0* 0.1 1.3",
    "0.0 0.1* 0.2 0.3*",
    "0.1* 0.2 0.3* 1.3",
    "0.0* 0.1 0.3 1.2",
]
for seed, open_heads in enumerate(recorded_open):
    print(f"seed {seed}: {open_heads}")

# %% [markdown]
# What to see: three of five seeds keep two positional heads, each time among four. Is this a good choice? The 99.7 % does not tell: further training may have helped. Here are three controls, with as many open heads (3 or 4) and the same 250 steps and batches:
#
# - *greedy*: the last heads of the greedy order;
# - *random*: three random choices per seed;
# - *the gates' choice*: the heads that the gates left open.
#
# Only these heads are open, from the first step on. The training of the weights goes on.
#
# For reference, the last column has *all eight heads*, equally trained.
#
# **Predict.** How much worse are random heads than the gates' choice?
#
# <details><summary>Far worse: they cannot do the work of the specialised heads</summary>The open heads keep training: they can take over the work of the others. Run the next cell.</details>
# <details><summary>Slightly worse on average, and some choices as good</summary>Yes, in these runs: on average, 0.6 % of the answers are wrong, with the gates' choice 0.3 %. In two of five seeds, random heads were on average at least as good.</details>

# %%
# Seeds 0 to 4. Each run: model, gates = with_…(seed, …), then accuracies(model, held_out, gates).mean()
recorded_gates = {
    "learned gates": [0.997, 0.995, 0.984, 0.992, 0.98],
    "their choice, fixed": [0.998, 0.997, 0.994, 0.996, 0.999],
    "greedy, fixed": [0.999, 0.997, 0.999, 0.997, 0.999],
    "random, fixed": [  # three choices for each seed
        0.999,
        0.997,
        0.999,
        0.986,
        0.987,
        0.991,
        0.994,
        0.997,
        0.998,
        0.99,
        0.985,
        0.998,
        0.994,
        0.998,
        0.995,
    ],
    "all eight heads": [0.997, 0.999, 1.0, 0.999, 0.999],
}
figures.runs(recorded_gates, "right answers, mean of the questions", "Equal training")

# %% [markdown]
# What to see: all columns are high (the axis begins near 98 %). Networks trained with their gates get 98.0 to 99.7 % right, those with random heads 98.5 to 99.9 %. Is the gates' choice no better than chance? The second column separates the choice from the training. Here are the errors:

# %%
for name, shares_right in recorded_gates.items():
    print(f"{name:20} {1 - sum(shares_right) / len(shares_right):.1%} of the answers wrong")

# %% [markdown]
# What to see: open from the first step, the gates' heads make half as many errors as random heads, and the greedy heads even fewer. These are better than the mean of the three random choices in all five seeds, the gates' heads in only three. So greedy pruning's choice helps a little; for the gates' choice, five seeds cannot decide.
#
# <details><summary>What does learning the gates cost?</summary>With learned gates, the same heads make about three times as many errors: more than their choice gains. It may be the noise, or that some heads are shut late. These runs cannot decide between the two.</details>
#
# With further training, each of the 15 random choices gets 98.5 % or more of the answers right. So which heads are left says little about what was needed before. (In lesson 3, too, further training repaired most of the damage.)
#
# ## 8 · Does attention explain?
#
# Two sets of weights for three keys. The values of the first two are nearly equal:

# %%
three_values = torch.tensor([[1.0, 2.0], [1.01, 1.99], [-3.0, 0.5]])
for one_row in (torch.tensor([0.9, 0.05, 0.05]), torch.tensor([0.05, 0.9, 0.05])):
    told = ", ".join(f"{number:.2f}" for number in (one_row @ three_values).tolist())
    print(f"weights {[round(one, 2) for one in one_row.tolist()]}: output {told}")

# %% [markdown]
# What to see: different weights, nearly the same output, as the first two keys have nearly the same value. So neither map can be *the* explanation. Here are four papers, two on RNNs with one attention layer (lesson 10), two on Transformers:
#
# | paper | what it tests | what it finds |
# | --- | --- | --- |
# | Jain and Wallace (2019), *Attention is not Explanation* | other attention weights in the same model | often the same prediction: the weights are not *the* reason |
# | Wiegreffe and Pinter (2019), *Attention is not not Explanation* | whether a model *trained* to give other attention weights predicts as well | on some data sets nearly so, but these weights help a simpler model less than the usual ones do. Whether attention explains depends on the definition |
# | Michel et al. (2019), *Are Sixteen Heads Really Better than One?* | shut heads after training | many can go, in some layers all but one |
# | Voita et al. (2019), *Analyzing Multi-Head Self-Attention: Specialized Heads Do the Heavy Lifting, the Rest Can Be Pruned* | prune heads with L0 gates | the positional, syntactic and rare-word heads go last |
#
# An explanation is **faithful** if it says what the prediction depends on. A map of weights is a description. It is faithful only as far as an intervention confirms it: shut the head, or change its weights, and compare with a control.

# %% [markdown]
# ## 9 · The real thing
#
# A shut head can be *removed*. Test it on PyTorch's `nn.MultiheadAttention`, in float64: once with your gates in its `out_proj`, once with the rows and columns of the shut heads cut out.

# %%
torch.manual_seed(0)
full = nn.MultiheadAttention(24, 6, batch_first=True, dtype=torch.float64)
x = numbers(3, 7, 24)
six_gates = torch.tensor([1.0, 0.0, 1.0, 0.0, 0.0, 1.0], dtype=torch.float64)
open_features = six_gates.repeat_interleave(4).nonzero().flatten()

with torch.no_grad():
    pieces = full.in_proj_weight.reshape(3, 24, 24)[:, open_features]
    biases = full.in_proj_bias.reshape(3, 24)[:, open_features]
    query, key, value = (
        F.linear(x, piece, bias).unflatten(-1, (3, 4)).transpose(1, 2)
        for piece, bias in zip(pieces, biases, strict=True)
    )
    attended = F.scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2)
    small_matrix = full.out_proj.weight[:, open_features]
    small = F.linear(attended, small_matrix, full.out_proj.bias)
    full.out_proj.weight.copy_(gate_heads(full.out_proj.weight, six_gates))
    gated_output = full(x, x, x, need_weights=False)[0]
print(f"largest difference: {(small - gated_output).abs().max():.0e}")
before, after = 4 * 24 * 24, pieces.numel() + small_matrix.numel()
print(f"weights: {before:,} with six heads, {after:,} with three")

# %% [markdown]
# What to see: the difference is 0, apart from rounding, and half of the weights are gone. In older versions of Hugging Face's `transformers`, many models have a method `prune_heads` that does the same.

# %% [markdown]
# ## 10 · In your own words
#
# **Question** (12 minutes). A colleague shows one attention map of a model for medical texts: “head 3 attends to the drug's name, so the model bases its diagnosis on the drug.” Which two experiments would you ask for, with which controls? What would each result say, and what not? Write four to six sentences: double-click the cell below. A person reads them.

# %% answer is_it_why [markdown] points=3
# <!-- BEGIN SOLUTION -->
# One map of one sentence is an anecdote: measure the pointing accuracy of the head over many held-out texts, and compare it with a fixed-offset baseline, and with an untrained model. That says where the head points, not that it matters. Then intervene: shut the head (with the other heads of the layer as controls), and change the drug's name in the text, and see whether the diagnosis changes. If nothing changes, the head may still have a twin: shut it together with other heads that point to the same word, and compute the redundancy. If the diagnosis changes when the name is changed, it depends on the name, but perhaps by another way than this head. A claim that a head was “found” by pruning needs random heads, trained as long, as its control.
# <!-- END SOLUTION -->

# %% [markdown]
# ## Where you stand

# %%
from transformer_course.progress import show_progress

show_progress("16_heads")

# %% [markdown]
# - Pointing accuracy pools all queries that have a target, and needs a baseline: the best fixed offset, and an untrained network.
# - In our small network there were positional heads, rare-word heads and a syntactic head, as Voita et al. found in a translation model.
# - A head can point to the answer for 100 % of the words, and cost almost nothing when it is shut. Redundancy is measured on pairs: the increase in loss without both, minus the two single increases.
# - Greedy pruning computes all losses anew after each head. Its last three were one head of each kind, in five of five seeds. With four or three heads left, ranking them one by one was never better, and in two seeds far worse.
# - Hard concrete gates can be exactly 0, and the probability that one is open is smooth: an L0 penalty can be trained. They left 3 or 4 of 8 heads, and 1.0 % of the answers were wrong. With the same heads, open from the first step, 0.3 % were wrong; with as many random heads, 0.6 %. The gates' heads were better than these in only three of five seeds; the greedy heads were in all five. After further training, the heads that are left say little about what was needed before.
# - An attention map is a description. An explanation has to be faithful: confirm it by an intervention with a control.
#
# **What comes next.** Heads were shut and pruned, and the loss rose a little or a lot. Lesson 17 draws the loss itself, as a surface over the weights, and counts what a block costs.
