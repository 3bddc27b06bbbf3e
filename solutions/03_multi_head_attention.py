# %% [markdown]
# # Lesson 3 · Multi-head attention
#
# **You build** attention that looks for several things at once: first the plain way, head beside head, then the way every Transformer does it, with one reshape in place of a loop. At the end your block takes over the weights of PyTorch's and gives the same numbers.
#
# **You need** lessons 1 and 2: queries, keys, values, masks (True = may attend). And how PyTorch changes shapes: `reshape`, `transpose`, `torch.cat`.
#
# **You take away** `MultiHeadAttention`, the block that the rest of the course is made of, and a feeling for what each axis of a tensor is.
#
# **Time**: about 85 minutes.

# %% [markdown]
# **How to work**, as in lesson 1: read, predict, run, cell by cell. Nothing from earlier lessons is imported: this notebook runs alone.

# %% [markdown]
# ## 1 · One look is not enough
#
# *The dog chased the cat.* To understand *chased*, you need two words: who chases, and who is chased. But in one row of attention the weights sum to 1. One look at two words is half a look at each.

# %%
from transformer_course import figures

five_words = ["the", "dog", "chased", "the", "cat"]
figures.word_links(
    {
        "one head: “chased” looks at both, half and half": (
            five_words,
            2,
            [0.02, 0.47, 0.02, 0.02, 0.47],
        ),
        "two heads, the first: who chases?": (five_words, 2, [0.02, 0.92, 0.02, 0.02, 0.02]),
        "two heads, the second: who is chased?": (five_words, 2, [0.02, 0.02, 0.02, 0.02, 0.92]),
    }
)

# %% [markdown]
# The weights are made up, as in lesson 1; in part 7 a model that you built makes its own. Each attention with queries, keys and values of its own is called a **head**.
#
# Is half a look so bad? The output still holds both words. **Predict.** Turn the sentence round: *the cat chased the dog*. One head takes in ½ *dog* + ½ *cat* in the one sentence, and ½ *cat* + ½ *dog* in the other. What does the model know then?
#
# <details><summary>Who chased whom</summary>The two sums are the same vector. Nothing that comes after can tell the sentences apart.</details>
# <details><summary>That both are there, but not who is who</summary>Yes. A sum forgets the order of its terms.</details>
# <details><summary>Nothing</summary>It knows that a dog and a cat are there. What is lost is who is who.</details>
#
# So do not add up what two heads bring: put it **side by side**. Here *dog* is the vector [1, 0] and *cat* is [0, 1].

# %% given imports
import math
import time

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode
from transformer_course.checks import Check, numbers

# %%
dog, cat, empty = [1.0, 0.0], [0.0, 1.0], [math.nan, math.nan]
half_and_half = [0.5, 0.5]
brought = {
    "dog chased cat: one head": half_and_half + empty,
    "cat chased dog: one head": half_and_half + empty,
    "dog chased cat: side by side": dog + cat,
    "cat chased dog: side by side": cat + dog,
    "dog chased cat: averaged": half_and_half + empty,
    "cat chased dog: averaged": half_and_half + empty,
}
figures.steps(
    {"what “chased” takes in": (list(brought.values()), "feature", ["0", "1", "2", "3"])},
    "sentence",
    list(brought),
)

# %% [markdown]
# What to see, pair by pair: with one head both rows are equal. Side by side they differ, and whoever reads them knows who chased whom. Averaged, the two heads have lost it again.

# %% [markdown]
# ## 2 · Head beside head
#
# That is the whole idea. Let $h$ be the number of heads and $d$ the width of the model. Each head $i$ has three matrices of its own, and does what you know:
#
# $$H_i = \mathrm{Attention}(X W^Q_i,\; X W^K_i,\; X W^V_i) \qquad i = 1, \dots, h$$
#
# Each $H_i$ has a row for each word. Side by side they are $h \cdot d$ wide, and the next layer wants width $d$ again. One more learned matrix $W^O$, the **output projection**, brings them back, and lets what the heads have found mix:
#
# $$Y = [\,H_1 \;\; H_2 \;\; \cdots \;\; H_h\,]\; W^O$$
#
# The attention of lessons 1 and 2 is given here. It is made of PyTorch's own, which returns only outputs: what it gives for the values 1, 0, 0, … and 0, 1, 0, … and so on are the weights themselves.


# %% given attention
def attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """softmax(query keyᵀ / √width) value; returns (output, weights).

    query (…, query_length, width), key (…, key_length, width), value (…, key_length, any width).
    mask: bool, True = may attend; broadcasts against (…, query_length, key_length).
    A query that may attend to nothing gets weights 0 and output 0.
    """
    length = key.shape[-2]
    identity = torch.eye(length, dtype=key.dtype, device=key.device)
    everything = identity.expand(*key.shape[:-1], length)
    weights = F.scaled_dot_product_attention(query, key, everything, mask)
    return weights @ value, weights


# %% [markdown]
# **Exercise** (15 minutes). Build it. Every head is as wide as the model. A loop over the heads is fine here.
#
# <details><summary>Hint 1</summary>PyTorch finds layers in an <code>nn.ModuleList</code>, and not in a plain list: <code>nn.ModuleList(nn.Linear(…) for _ in range(num_heads))</code>.</details>
# <details><summary>Hint 2</summary>Each head gives an output and weights. <code>torch.cat(outputs, dim=-1)</code> puts the outputs side by side. <code>torch.stack(weights, dim=1)</code> makes a new axis, and the weights need one: (batch, heads, length, length).</details>


# %% exercise ConcatMultiHead
class ConcatMultiHead(nn.Module):
    """Heads of full width side by side, and a layer that brings them back to d_model.

    Each head has three matrices of its own, (d_model, d_model) and without bias: for its queries,
    its keys and its values. Nothing else is learned but `w_output`, an
    `nn.Linear(num_heads * d_model, d_model)` without bias, which is given the heads' outputs side
    by side, head 0 first.
    forward: x (batch, length, d_model) -> output (batch, length, d_model) and the weights of all
    heads (batch, num_heads, length, length).
    """

    def __init__(self, d_model: int, num_heads: int) -> None:
        # BEGIN SOLUTION
        super().__init__()
        full = [
            [nn.Linear(d_model, d_model, bias=False) for _ in range(num_heads)] for _ in range(3)
        ]
        self.queries, self.keys, self.values = (nn.ModuleList(layers) for layers in full)
        self.w_output = nn.Linear(num_heads * d_model, d_model, bias=False)
        # END SOLUTION

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        # BEGIN SOLUTION
        heads = zip(self.queries, self.keys, self.values, strict=True)
        found = [attention(ask(x), answer(x), give(x)) for ask, answer, give in heads]
        outputs, weights = zip(*found, strict=True)
        return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1)
        # END SOLUTION


# %% check ConcatMultiHead points=3
hint = "each head: attention on x, projected by its own three layers; then cat, then w_output"


def all_set_to(module, number, w_output):
    """Every weight of every head becomes this number."""
    check.true(
        "w_output.weight" in module.parameters(),
        "there is a part w_output",
        hint="the layer that brings the heads back to d_model is called `w_output`",
    )
    found = tuple(module.parameters()["w_output.weight"].shape)
    check.true(
        found == tuple(w_output.shape),
        f"w_output maps {w_output.shape[1]} features to {w_output.shape[0]}, yours {found[1]} "
        f"to {found[0]}",
        hint="w_output takes all heads side by side, each as wide as the model: "
        "nn.Linear(num_heads * d_model, d_model)",
    )
    weights = {name: torch.full_like(w, number) for name, w in module.parameters().items()}
    module.load(weights | {"w_output.weight": w_output}, whole=False)


def all_different(module):
    """Fixed numbers for every weight."""
    learned = enumerate(module.parameters().items())
    weights = {name: numbers(*w.shape, seed=i, scale=0.6) for i, (name, w) in learned}
    module.load(weights, whole=False)


with Check("ConcatMultiHead", "an example you can do by hand", hint) as check:
    # all weights of the heads are 1/2: queries, keys and values of a word are half the sum of
    # its features, four times; so the scaled scores are ln 2 for the first word with itself, else 0
    root = (2 * math.log(2)) ** 0.5
    x = torch.tensor([[[root, 0.0, 0.0, 0.0], [1.0, -1.0, 2.0, -2.0]]], dtype=torch.float64)
    w_output = torch.arange(32, dtype=torch.float64).reshape(4, 8) / 10
    module = check.build(4, 2).double()
    all_set_to(module, 0.5, w_output)
    output, weights = module.call(x, returns=("output", "weights"))
    check.shape(weights, batch=1, head=2, query=2, key=2)
    one_head = torch.tensor([[2 / 3, 1 / 3], [1 / 2, 1 / 2]], dtype=torch.float64)
    for head in (0, 1):
        check.equal(
            weights[0, head],
            one_head,
            f"head {head}: the first word weighs itself by 2/3, the second word both by 1/2",
            hint="each head is as wide as the model: its scores are divided by √d_model, here √4",
        )
    check.shape(output, batch=1, length=2, d_model=4)
    per_head = one_head @ torch.tensor([root / 2, 0.0], dtype=torch.float64)
    check.equal(
        output[0],
        per_head[:, None] * w_output.sum(1),
        "the output is w_output of the heads' outputs, side by side",
        hint="torch.cat along the last axis, then w_output",
    )
with Check("ConcatMultiHead", "what it learns", hint) as check:
    module, x = check.build(5, 3).double(), numbers(2, 4, 5)
    all_different(module)
    output, weights = module.call(x, returns=("output", "weights"))
    check.shape(weights, batch=2, head=3, query=4, key=4)
    learned = module.parameters()
    check.true(
        all(weight.dim() > 1 for weight in learned.values()),
        "no layer has a bias",
        hint="pass bias=False to each nn.Linear",
    )
    count = sum(weight.numel() for weight in learned.values())
    check.equal(
        count,
        3 * 3 * 25 + 75,
        "3 heads of 3 matrices (5, 5) and w_output (5, 15): 300 numbers to learn",
        hint="every head has layers of its own, (d_model, d_model), in an nn.ModuleList",
    )
    slopes = module.gradients(output.square()).values()
    check.true(all(bool(s.abs().max() > 0) for s in slopes), "a gradient reaches every layer")
with Check("ConcatMultiHead", "each head by itself", hint) as check:
    module, x = check.build(5, 3).double(), numbers(2, 4, 5)
    all_different(module)
    identity = torch.eye(5, dtype=torch.float64)
    for head in range(3):
        # this w_output shows one head alone
        shown = torch.cat([identity * (other == head) for other in range(3)], dim=1)
        module.load({"w_output.weight": shown}, whole=False)
        output, weights = module.call(x, returns=("output", "weights"))
        values, _ = module.call(x.reshape(8, 1, 5), returns=("output", "weights"))
        check.equal(
            output,
            weights[:, head] @ values.reshape(2, 4, 5),
            f"head {head} sums its values, weighed by weights[:, {head}] (its values: what it "
            "gives for each word alone)",
        )
    check.true(
        not torch.isclose(weights[:, 0], weights[:, 1]).any(),
        "two heads look at different things",
        hint="each head needs layers of its own",
    )
# BEGIN HIDDEN TESTS
with Check("ConcatMultiHead", "other sizes, by hand") as check:
    for d_model, num_heads, dtype in ((3, 4, torch.float64), (7, 2, torch.float32), (6, 1, None)):
        module = check.build(d_model, num_heads)
        module = module if dtype == torch.float32 else module.double()
        x = numbers(2, 5, d_model, seed=40, dtype=dtype or torch.float64)
        w_output = numbers(d_model, num_heads * d_model, seed=41, dtype=x.dtype)
        all_set_to(module, 0.4, w_output)
        output, weights = module.call(x, returns=("output", "weights"))
        sums = 0.4 * x.sum(-1)
        expected = (sums[:, :, None] * sums[:, None] * d_model**0.5).softmax(-1)
        for head in range(num_heads):
            check.equal(weights[:, head], expected, "softmax of scores / √d_model")
        blend = (expected @ sums[..., None]) * w_output.sum(1)
        check.equal(output, blend, "w_output of the heads side by side")
        count = sum(weight.numel() for weight in module.parameters().values())
        check.true(count == 4 * num_heads * d_model**2, "4 · heads · d_model² numbers to learn")
with Check("ConcatMultiHead", "scores that come from pairs of words") as check:
    module, x = check.build(3, 2).double(), numbers(2, 4, 3, seed=42)
    all_different(module)
    _, weights = module.call(x, returns=("output", "weights"))
    for one, two in ((0, 1), (0, 3), (2, 1)):
        pair = x[:, [one, two]]
        _, alone = module.call(pair, returns=("output", "weights"))
        wanted = weights[:, :, one, two] / weights[:, :, one, one]
        check.equal(alone[:, :, 0, 1] / alone[:, :, 0, 0], wanted, "a pair keeps its ratio")
        _, doubled = module.call(2 * pair, returns=("output", "weights"))
        check.equal(doubled[:, :, 0, 1] / doubled[:, :, 0, 0], wanted**4, "twice x, 4 × the scores")
with Check("ConcatMultiHead", "batches, orders, views, and modules that share nothing") as check:
    module, x = check.build(4, 3).double(), numbers(4, 5, 6, seed=43).permute(2, 1, 0)
    all_different(module)
    names = ("output", "weights")
    output, weights = module.call(x, returns=names)
    alone, alone_weights = module.call(x[3:4], returns=names)
    check.equal(alone[0], output[3], "a sequence gives the same alone")
    check.equal(alone_weights[0], weights[3], "and the same weights")
    order = torch.tensor([4, 0, 3, 1, 2])
    check.equal(module.call(x[:, order], returns=names)[0], output[:, order], "any order of words")
    second = check.build(4, 3).double()
    kept = second.state()
    all_set_to(module, 0.0, torch.zeros(4, 12, dtype=torch.float64))
    for name, weight in second.state().items():
        check.equal(weight, kept[name], f"{name} of the other module")
    slopes = second.gradients(second.call(x, returns=names)[0].square())
    check.true(all(bool(s.abs().max() > 0) for s in slopes.values()), "a gradient to every layer")
# END HIDDEN TESTS


# %% [markdown]
# ## 3 · What does it cost?
#
# **Predict.** A model is $d = 512$ wide and has $h = 8$ heads, as in the paper that brought the Transformer. One full-width head has three matrices with 512 · 512 numbers each. How many numbers does your `ConcatMultiHead(512, 8)` learn?
#
# <details><summary>About 0.8 million</summary>That is one head: 3 · 512 · 512. You have eight.</details>
# <details><summary>About 6.3 million</summary>That is 8 · 3 · 512 · 512, all heads. The output projection takes in 8 · 512 features, and is as large as eight matrices more.</details>
# <details><summary>About 8.4 million</summary>Yes: 4 · 8 · 512 · 512. Eight heads cost eight times one head, in numbers, in multiplications, in memory.</details>

# %%
eight_full = ConcatMultiHead(512, 8)
print(f"{sum(weight.numel() for weight in eight_full.parameters()):,} numbers to learn")

# %% [markdown]
# Too much. To ask "who chases?" no head needs all 512 features. So make each head **narrow**: $d_{\text{head}} = d / h$, here 64. Eight heads of width 64 together are as wide as one head of width 512.
#
# Then you can make all queries at once. One matrix (512, 512) gives every word 512 query features, and the heads share them out: the first 64 belong to head 0, the next 64 to head 1, and so on. Same for keys and values. No loop: **the heads become an axis**, like the batch.

# %% [markdown]
# ## 4 · Split into heads, and merge again
#
# From (batch, length, d_model) to (batch, heads, length, d_head): after that, attention sees each head as a sequence of its own. Here are three words with four features, for two heads. Colours are numbers.

# %%
counted = [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0]]
figures.steps(
    {
        "x: four features": (counted, "feature", ["0", "1", "2", "3"]),
        "head 0": ([line[:2] for line in counted], "feature", ["0", "1"]),
        "head 1": ([line[2:] for line in counted], "feature", ["0", "1"]),
    },
    "word",
    ["0", "1", "2"],
)

# %% [markdown]
# Each head has **all words**, and its share of the features.
#
# **Predict.** `x` has the shape (1, 3, 4), as in the picture. Someone writes `x.view(1, 2, 3, 2)`: (batch, heads, length, d_head), as wanted, in one step. What does head 0 get?
#
# <details><summary>The first two features of each word</summary>So it should be. But <code>view</code> moves no number: it reads on, row by row, and fills the new shape.</details>
# <details><summary>The numbers 0 to 5: the first word and half of the second</summary>Yes. The shape is right, and the contents are rubbish. No error tells you.</details>
# <details><summary>An error</summary>12 numbers fit into (1, 2, 3, 2), and that is all that <code>view</code> asks.</details>

# %%
print(torch.tensor(counted).view(1, 2, 3, 2)[0, 0])

# %% [markdown]
# **Exercise** (10 minutes). Do it in two steps: cut the last axis in two, then move the heads forward. And if the heads cannot share the features evenly, say so.
#
# <details><summary>Hint 1</summary>A <code>view</code> or <code>reshape</code> may cut an axis in two where it stands: (batch, length, d_model) into (batch, length, heads, d_head). That is safe: each word keeps its numbers, in their order.</details>
# <details><summary>Hint 2</summary>Then two axes change places. <code>transpose</code> moves them, and their numbers with them.</details>
# <details><summary>Hint 3</summary><code>raise ValueError(f"…")</code>, with both numbers in the text.</details>


# %% exercise split_heads
def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """Give each head its share of every word's features, in their order, head 0 first.

    (batch, length, d_model) -> (batch, num_heads, length, d_head), d_head = d_model / num_heads.
    `ValueError` that names d_model and num_heads where that is no whole number.
    """
    # BEGIN SOLUTION
    d_model = x.shape[-1]
    if d_model % num_heads:
        raise ValueError(f"{num_heads} heads cannot share {d_model} features evenly")
    return x.unflatten(-1, (num_heads, d_model // num_heads)).transpose(1, 2)
    # END SOLUTION


# %% check split_heads points=2
hint = "cut the last axis into (heads, d_head), then exchange the axes of length and heads"
with Check("split_heads", "the picture's three words", hint) as check:
    x = torch.arange(12, dtype=torch.float64).reshape(1, 3, 4)
    heads = check.call(x, 2)
    check.shape(heads, batch=1, head=2, length=3, d_head=2)
    check.equal(
        heads[0, 0],
        torch.tensor([[0.0, 1.0], [4.0, 5.0], [8.0, 9.0]], dtype=torch.float64),
        "head 0 gets the first two features of every word",
    )
    check.equal(
        heads[0, 1],
        torch.tensor([[2.0, 3.0], [6.0, 7.0], [10.0, 11.0]], dtype=torch.float64),
        "head 1 gets the last two features of every word",
    )
with Check("split_heads", "a batch", hint) as check:
    x = torch.arange(120, dtype=torch.float64).reshape(2, 5, 12)
    x.requires_grad_()
    heads = check.call(x, 4)
    check.shape(heads, batch=2, head=4, length=5, d_head=3)
    # sequence 1, word 2 begins with the number 1 · 60 + 2 · 12 = 84; head 3 begins 9 features later
    check.equal(
        heads[1, 3, 2],
        torch.tensor([93.0, 94.0, 95.0], dtype=torch.float64),
        "sequence 1, head 3, word 2: the last three features of that word",
    )
    slope = check.gradient(heads[1, 3], x)
    check.equal(slope.sum(), 15.0, "a gradient flows back to the 15 numbers of that head")
with Check("split_heads", "heads that cannot share the features") as check:
    check.raises(numbers(2, 3, 6), 4, naming=(6, 4))
    check.raises(numbers(2, 3, 10), 7, naming=(10, 7))
# BEGIN HIDDEN TESTS
with Check("split_heads", "many sizes, float32, and views") as check:
    for batch, length, d_head, num_heads in (
        (2, 3, 5, 4),
        (3, 1, 2, 6),
        (1, 4, 7, 1),
        (4, 2, 1, 3),
    ):
        x = numbers(batch, length, d_head * num_heads, seed=1, scale=3.0)
        heads = check.call(x, num_heads)
        check.shape(heads, batch=batch, head=num_heads, length=length, d_head=d_head)
        for head in range(num_heads):
            part = x[:, :, head * d_head : (head + 1) * d_head]
            check.equal(heads[:, head], part, f"head {head} of {num_heads}")
    x = numbers(6, 5, 2, seed=2, dtype=torch.float32).permute(2, 1, 0)
    heads = check.call(x, 3)
    check.equal(torch.cat(heads.unbind(1), -1), x, "the heads of a view, side by side")
with Check("split_heads", "where length and heads are equal") as check:
    x = numbers(3, 3, 9, seed=3)
    check.equal(check.call(x, 3)[:, 1], x[:, :, 3:6], "head 1")
with Check("split_heads", "what does not divide") as check:
    check.raises(numbers(2, 6, 9), 6, naming=(9, 6))
    check.raises(numbers(1, 4, 3), 5, naming=(3, 5))
    check.call(numbers(2, 5, 8), 8)
# END HIDDEN TESTS


# %% [markdown]
# **Exercise** (5 minutes). And back: each word gets its heads' features side by side again.
#
# <details><summary>Hint</summary>The same two steps, backwards: first exchange the axes, then make one of the last two. After a transpose, <code>view</code> may refuse, because the numbers do not lie in memory in this order; <code>reshape</code> and <code>flatten</code> copy them where they must.</details>


# %% exercise merge_heads
def merge_heads(x: Tensor) -> Tensor:
    """Put every word's heads side by side again, head 0 first.

    (batch, num_heads, length, d_head) -> (batch, length, num_heads * d_head).
    """
    # BEGIN SOLUTION
    return x.transpose(1, 2).flatten(-2)
    # END SOLUTION


# %% check merge_heads points=2
hint = "first exchange the axes of heads and length, then make one axis of the last two"
with Check("merge_heads", "the picture, backwards", hint) as check:
    heads = torch.tensor(
        [[[[0.0, 1.0], [4.0, 5.0], [8.0, 9.0]], [[2.0, 3.0], [6.0, 7.0], [10.0, 11.0]]]],
        dtype=torch.float64,
    )
    merged = check.call(heads)
    check.shape(merged, batch=1, length=3, d_model=4)
    check.equal(
        merged[0],
        torch.arange(12, dtype=torch.float64).reshape(3, 4),
        "each word has its four features again, those of head 0 first",
    )
with Check("merge_heads", "a batch", hint) as check:
    heads = numbers(2, 3, 5, 4).requires_grad_()
    merged = check.call(heads)
    check.shape(merged, batch=2, length=5, d_model=12)
    check.equal(
        merged[1, 3],
        torch.cat([heads[1, 0, 3], heads[1, 1, 3], heads[1, 2, 3]]),
        "sequence 1, word 3: its features in head 0, then in head 1, then in head 2",
    )
    slope = check.gradient(merged[1, 3], heads)
    check.equal(slope.sum(), 12.0, "a gradient flows back to the 12 numbers of that word")
# BEGIN HIDDEN TESTS
with Check("merge_heads", "many sizes, float32, and views") as check:
    for shape in ((2, 3, 5, 4), (3, 2, 2, 2), (1, 1, 4, 3), (4, 6, 1, 2), (2, 5, 3, 1)):
        for dtype in (torch.float64, torch.float32):
            heads = numbers(*shape, seed=4, scale=2.0, dtype=dtype)
            expected = torch.cat([heads[:, i] for i in range(shape[1])], dim=-1)
            check.equal(check.call(heads), expected, "each word's heads, side by side")
    heads = numbers(4, 5, 3, 2, seed=5).permute(3, 2, 1, 0)
    check.equal(check.call(heads), torch.cat([*heads.unbind(1)], -1), "the heads of a view")
    heads = numbers(2, 5, 3, 4, seed=6).transpose(1, 2)
    check.equal(check.call(heads), torch.cat([*heads.unbind(1)], -1), "fresh from a transpose")
# END HIDDEN TESTS


# %% [markdown]
# Follow a number through your own two functions. Choose one with the arrow keys or a click; the letter and the colour say which head gets it. Then tick *as a view*, and see where the one-step `view` would put it.

# %%
from transformer_course.widgets import show_reshape

show_reshape(split_heads, merge_heads, length=4, d_model=6, num_heads=3)

# %% [markdown]
# What to see: in your split, a row of a head holds numbers of one word alone, the word in the same row of x. In the view, words are torn apart and mixed.
#
# **Predict.** One more slide, before you go on. It says, for each of $h$ heads, $\text{output}_\ell = \mathrm{softmax}(X Q_\ell K_\ell^\top X^\top) * X V_\ell$, where $\text{output}_\ell \in \mathbb{R}^{d/h}$. $X$ holds $n$ words of width $d$; the three matrices are $d \times d/h$. The $*$ should be a matrix product, and the scale comes later on that slide. What else is off?
#
# <details><summary>Nothing</summary>Go through the shapes: the weights are n × n, and X V is n × d/h.</details>
# <details><summary>The shape: it should be n × d/h</summary>Yes. A head gives a row of width d/h for each of the n words. What stands on the slide is the shape of one row.</details>
# <details><summary>The shape: it should be n × d</summary>That is what all heads give, side by side. One head is d/h wide.</details>

# %%
# five words, d = 6, two heads of width 3
some_x, narrow = numbers(5, 6), [numbers(6, 3, seed=seed) for seed in (1, 2, 3)]
one_output = attention(*(some_x @ matrix for matrix in narrow))[0]
print("one head gives", tuple(one_output.shape))

# %% [markdown]
# ### Bug hunt: what is split?
#
# Another lecture also makes its heads narrow, and also writes $d_h = d / h$. But it slices **X**. For $d = 16$ and two heads, head 0 works on `X[:, :8]` and head 1 on `X[:, 8:]`:
#
# $$Q_h = X_h W^{(q)}_h, \quad K_h = X_h W^{(k)}_h, \quad V_h = X_h W^{(v)}_h \qquad \text{each } W_h \text{ of shape } [d_h, d_h]$$
#
# Run it, here with $d = 8$. Only feature 3 of each word changes, and you see by how much the queries of each head change.

# %%
before = numbers(1, 5, 8)
after = before.clone()
after[:, :, 3] += 1.0
per_slice = [numbers(4, 4, seed=1), numbers(4, 4, seed=2)]
one_matrix = numbers(8, 8, seed=3)
for title, asked in (
    ("slices of X ", lambda words: [words[..., :4] @ per_slice[0], words[..., 4:] @ per_slice[1]]),
    ("slices of XW", lambda words: [(words @ one_matrix)[..., :4], (words @ one_matrix)[..., 4:]]),
):
    changed = [(a - b).abs().max().item() for a, b in zip(asked(after), asked(before), strict=True)]
    print(f"{title}: head 0 changes by {changed[0]:.2f}, head 1 by {changed[1]:.2f}")
who_feels = [[(row < 4) == (column < 4) for column in range(8)] for row in range(8)]
eight = [str(i) for i in range(8)]
figures.masks(
    {
        "slices of X": (who_feels, "feature of the word", eight),
        "slices of XW": ([[True] * 8] * 8, "feature of the word", eight),
    },
    "feature of the queries",
    [f"{i} (head {i // 4})" for i in range(8)],
)

# %% [markdown]
# What to see: a dot says that this feature of the query depends on that feature of the word. On the left the heads are blind to half of each word. If the model keeps *is an animal* in feature 3, head 1 can never ask for it. On the right, each head looks at the whole word, and only the **result** is narrow. So: project first, then split. (The slices have fewer numbers to learn, and that is what they pay with.)

# %% [markdown]
# **Exercise** (3 minutes). Write the queries of all heads as they should be, for any number of heads.
#
# <details><summary>Hint</summary>One matrix product and one of your own functions.</details>


# %% exercise repaired_queries
def repaired_queries(x: Tensor, w_query: Tensor, num_heads: int) -> Tensor:
    """The queries of all heads, each made of whole words: what the slide's Q_h should be.

    x (batch, length, d_model); w_query (d_model, d_model): x @ w_query holds the queries of all
    heads side by side, head 0 first. -> (batch, num_heads, length, d_model / num_heads).
    """
    # BEGIN SOLUTION
    return split_heads(x @ w_query, num_heads)
    # END SOLUTION


# %% check repaired_queries points=1
hint = "first all features of each word times the matrix, then the heads share out the result"
with Check("repaired_queries", "one word, two heads", hint) as check:
    x = torch.tensor([[[1.0, 2.0, 3.0, 4.0]]], dtype=torch.float64)
    # the matrix turns the four features round: 1 2 3 4 becomes 4 3 2 1
    queries = check.call(x, torch.eye(4, dtype=torch.float64).flip(0), 2)
    check.shape(queries, batch=1, head=2, length=1, d_head=2)
    check.equal(
        queries[0, :, 0],
        torch.tensor([[4.0, 3.0], [2.0, 1.0]], dtype=torch.float64),
        "the query features are 4, 3, 2, 1: head 0 gets 4 and 3, head 1 gets 2 and 1",
    )
with Check("repaired_queries", "a batch", hint) as check:
    x, w_query = numbers(2, 5, 6), numbers(6, 6, seed=1)
    queries = check.call(x, w_query, 3)
    check.shape(queries, batch=2, head=3, length=5, d_head=2)
    for head, columns in ((0, slice(0, 2)), (1, slice(2, 4)), (2, slice(4, 6))):
        check.equal(
            queries[:, head],
            torch.einsum("bld,do->blo", x, w_query[:, columns]),
            f"head {head}: whole words times columns {columns.start} and {columns.start + 1}",
        )
# BEGIN HIDDEN TESTS
with Check("repaired_queries", "other sizes") as check:
    for batch, length, d_head, num_heads in (
        (3, 4, 3, 2),
        (1, 3, 2, 3),
        (2, 2, 1, 5),
        (2, 3, 4, 1),
    ):
        d_model = d_head * num_heads
        x = numbers(batch, length, d_model, seed=7, dtype=torch.float32)
        w_query = numbers(d_model, d_model, seed=8, dtype=torch.float32)
        queries = check.call(x, w_query, num_heads)
        for head, columns in enumerate(w_query.split(d_head, dim=1)):
            expected = torch.einsum("bld,do->blo", x, columns)
            check.equal(queries[:, head], expected, f"head {head} of {num_heads}")
# END HIDDEN TESTS


# %% [markdown]
# ### Bug hunt: which way does W^O stand?
#
# A third slide lists the shapes of one layer: model width $d = 512$, eight heads, $d_v = 64$, and "$W^O: d \times h d_v$". Its formula for a word is $a_i = (\text{head}^1 \oplus \cdots \oplus \text{head}^h)\, W^O$, where $\oplus$ puts vectors side by side. Run both together, once with the slide's numbers and once with others.

# %%
for width, side_by_side in ((512, 8 * 64), (6, 8)):
    its_w = numbers(width, side_by_side)
    try:
        print(
            f"d = {width}, h·d_v = {side_by_side}: gives width {(numbers(side_by_side) @ its_w).numel()}"
        )
    except RuntimeError as error:
        print(f"d = {width}, h·d_v = {side_by_side}: {error}")

# %% [markdown]
# With the slide's numbers the matrix is square: nothing complains, whichever way it stands. Other numbers show it: a row vector of width $h d_v$ needs a matrix $h d_v \times d$. (In the paper $W^O$ has this shape.)
#
# But a matrix $d \times h d_v$ is no nonsense: `nn.Linear` keeps its matrix as (out, in), and **transposes** it when it is called.

# %% [markdown]
# **Exercise** (5 minutes). You get the heads, and the matrix in the slide's shape. Put the heads of each word side by side, and bring them to the width of the model.
#
# <details><summary>Hint</summary>Three steps, each short: one of your functions, a transpose, a matrix product.</details>


# %% exercise repaired_output
def repaired_output(heads: Tensor, w_output: Tensor) -> Tensor:
    """Each word's heads side by side, times w_output the right way round.

    heads (batch, num_heads, length, d_v), w_output (d_model, num_heads * d_v) as on the slide
    -> (batch, length, d_model).
    """
    # BEGIN SOLUTION
    return merge_heads(heads) @ w_output.T
    # END SOLUTION


# %% check repaired_output points=1
hint = "merge the heads: (batch, length, h·d_v); then this times a matrix (h·d_v, d_model)"
with Check("repaired_output", "one word, two heads", hint) as check:
    heads = torch.tensor([[[[1.0, 2.0]], [[3.0, 4.0]]]], dtype=torch.float64)
    w_output = torch.tensor(
        [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0]], dtype=torch.float64
    )
    output = check.call(heads, w_output)
    check.shape(output, batch=1, length=1, d_model=3)
    check.equal(
        output[0, 0],
        torch.tensor([1.0, 3.0, 10.0], dtype=torch.float64),
        "[1, 2, 3, 4] gives its first number, its third, and the sum of all",
    )
with Check("repaired_output", "a square matrix, a batch", hint) as check:
    heads, w_output = numbers(2, 3, 5, 2), numbers(6, 6, seed=1)
    output = check.call(heads, w_output)
    check.shape(output, batch=2, length=5, d_model=6)
    word = torch.cat([heads[1, 0, 4], heads[1, 1, 4], heads[1, 2, 4]])
    check.equal(
        output[1, 4],
        w_output @ word,
        "each row of the matrix meets all heads of a word: that gives one feature",
        hint="where the matrix is square, no error tells which way it stands: transpose it",
    )
# BEGIN HIDDEN TESTS
with Check("repaired_output", "other sizes") as check:
    for shape, d_model in (((2, 3, 4, 5), 7), ((3, 2, 3, 2), 4), ((1, 4, 2, 1), 3)):
        for dtype in (torch.float64, torch.float32):
            heads = numbers(*shape, seed=9, dtype=dtype)
            w_output = numbers(d_model, shape[1] * shape[3], seed=10, dtype=dtype)
            expected = F.linear(torch.cat([*heads.unbind(1)], dim=-1), w_output)
            check.equal(check.call(heads, w_output), expected, "all heads of each word, projected")
# END HIDDEN TESTS


# %% [markdown]
# ## 5 · Multi-head attention
#
# Everything is there. With $W^Q$, $W^K$, $W^V$, $W^O$ of shape $d \times d$:
#
# 1. project queries, keys and values: (batch, length, d_model);
# 2. split each into heads: (batch, heads, length, d_head);
# 3. attention, for all heads at once: batch and heads are leading axes, and attention leaves those alone;
# 4. merge, and apply the output projection.
#
# Each score is now a dot product of $d_{\text{head}}$ numbers, so it is divided by $\sqrt{d_{\text{head}}}$.
#
# Queries may come from one sequence, keys and values from another, of another length: in lesson 11 a translation asks, and its original answers. So `forward` takes all three. For self-attention, hand it the same x three times.

# %% [markdown]
# **Predict.** How large are the weights of 8 sequences of 20 words, with 4 heads?
#
# <details><summary>(8, 20, 20)</summary>That is one head for each sequence, or an average of four. Each head has weights of its own.</details>
# <details><summary>(8, 4, 20, 20)</summary>Yes: for each sequence, each head, each query, each key.</details>
# <details><summary>(8, 20, 20, 4)</summary>The heads stand before the length, where they cannot get in attention's way.</details>

# %% [markdown]
# **Exercise** (15 minutes). Build it with your `split_heads`, your `merge_heads` and the given `attention`, without a loop over the heads. One thing about the mask: with heads, the scores are (batch, heads, query, key). A mask (batch, query or 1, key) needs its heads axis put in, or its batch would meet the heads.
#
# <details><summary>Hint 1</summary>Begin without a mask: six lines, one for each step of the list.</details>
# <details><summary>Hint 2</summary>A mask with three axes gets a fourth: <code>mask[:, None]</code>. A mask (query, key) fits as it is, and so does one that has its heads axis.</details>


# %% exercise MultiHeadAttention
class MultiHeadAttention(nn.Module):
    """Attention with several narrow heads at once.

    Parts: `w_query`, `w_key`, `w_value`, `w_output`, each an `nn.Linear(d_model, d_model)`, with
    a bias if `bias`. num_heads divides d_model.
    forward: query (batch, query_length, d_model), key and value (batch, key_length, d_model)
    -> output (batch, query_length, d_model) and the weights of every head
    (batch, num_heads, query_length, key_length).
    mask: bool, True = may attend; None allows all. Its shape is (query_length, key_length), or
    (batch, query_length or 1, key_length), the same for all heads, or with the heads:
    (batch, num_heads or 1, query_length or 1, key_length).
    A query that may attend to nothing gets weights 0, and so the output w_output(0): no NaN.
    """

    def __init__(self, d_model: int, num_heads: int, bias: bool = True) -> None:
        # BEGIN SOLUTION
        super().__init__()
        self.num_heads = num_heads
        self.w_query = nn.Linear(d_model, d_model, bias=bias)
        self.w_key = nn.Linear(d_model, d_model, bias=bias)
        self.w_value = nn.Linear(d_model, d_model, bias=bias)
        self.w_output = nn.Linear(d_model, d_model, bias=bias)
        # END SOLUTION

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        # BEGIN SOLUTION
        if mask is not None and mask.dim() == 3:
            mask = mask[:, None]  # (batch, 1, query or 1, key)
        queries = split_heads(self.w_query(query), self.num_heads)
        keys = split_heads(self.w_key(key), self.num_heads)
        values = split_heads(self.w_value(value), self.num_heads)
        heads, weights = attention(queries, keys, values, mask)
        return self.w_output(merge_heads(heads)), weights
        # END SOLUTION


# %% check MultiHeadAttention points=3
hint = "four layers nn.Linear(d_model, d_model); then project, split, attend, merge, w_output"
roles = ("query", "key", "value", "output")


def biases_fit(check, module, bias):
    """Biases are there if they should be."""
    names = module.parameters().keys()
    layers = {f"w_{role}" for role in roles if f"w_{role}.weight" in names}
    with_bias = {name for name in layers if f"{name}.bias" in names}
    check.true(
        with_bias == (layers if bias else set()),
        f"with bias={bias}, {'every' if bias else 'no'} layer has a bias",
        hint="hand `bias` on to each of the four layers, w_output too",
    )


def loaded(check, d_model, num_heads, bias=True, scale=0.5):
    """A module with fixed numbers for weights, and these by name."""
    shapes = {f"w_{role}.weight": (d_model, d_model) for role in roles}
    if bias:
        shapes |= {f"w_{role}.bias": (d_model,) for role in roles}
    known = {name: numbers(*s, seed=i, scale=scale) for i, (name, s) in enumerate(shapes.items())}
    module = check.build(d_model, num_heads, bias).double()
    biases_fit(check, module, bias)
    module.load(known)
    return module, known


with Check("MultiHeadAttention", "an example you can do by hand", hint) as check:
    # eight features, two heads of four; every projection leaves a word as it is, the last doubles
    module, identity = check.build(8, 2, bias=False).double(), torch.eye(8, dtype=torch.float64)
    biases_fit(check, module, False)
    module.load({f"w_{role}.weight": identity * (1 + (role == "output")) for role in roles})
    query = torch.zeros(1, 5, 8, dtype=torch.float64)
    query[0, 0, 0] = query[0, 0, 5] = 2.0  # the others ask for nothing
    # d_head = 4, so the scale is 1/2, and exp of the scaled scores of the first word is
    # 1, 2, 5 in head 0 and 3, 1, 1 in head 1
    key = torch.zeros(1, 3, 8, dtype=torch.float64)
    key[0, :, 0] = torch.tensor([1.0, 2.0, 5.0], dtype=torch.float64).log()
    key[0, :, 5] = torch.tensor([3.0, 1.0, 1.0], dtype=torch.float64).log()
    value = torch.zeros(1, 3, 8, dtype=torch.float64)
    value[0, :, 1] = torch.tensor([8.0, 0.0, 4.0], dtype=torch.float64)
    value[0, :, 4] = torch.tensor([5.0, 10.0, 0.0], dtype=torch.float64)
    output, weights = module.call(query, key, value, returns=("output", "weights"))
    check.shape(weights, batch=1, head=2, query=5, key=3)
    third = [1 / 3, 1 / 3, 1 / 3]
    for head, first in enumerate(([1 / 8, 2 / 8, 5 / 8], [3 / 5, 1 / 5, 1 / 5])):
        check.equal(
            weights[0, head, :2],
            torch.tensor([first, third], dtype=torch.float64),
            f"head {head}: softmax over the keys of the scores of its four features, divided by √4",
        )
    check.shape(output, batch=1, length=5, d_model=8)
    check.equal(
        output[0, :2, [1, 4]],
        torch.tensor([[7.0, 10.0], [8.0, 10.0]], dtype=torch.float64),
        "head 0 brings 3.5 and 4 for feature 1, head 1 brings 5 and 5 for feature 4; w_output "
        "doubles them",
        hint="merge the heads, then apply w_output",
    )
with Check("MultiHeadAttention", "a batch, three heads", hint) as check:
    module, known = loaded(check, 6, 3)
    query, key, value = numbers(2, 4, 6), numbers(2, 5, 6, seed=1), numbers(2, 5, 6, seed=2)
    output, weights = module.call(query, key, value, returns=("output", "weights"))
    check.shape(weights, batch=2, head=3, query=4, key=5)
    asked, offered = (
        F.linear(x, known[f"w_{role}.weight"], known[f"w_{role}.bias"])
        for x, role in ((query, "query"), (key, "key"))
    )
    check.equal(
        weights[:, 1],
        torch.softmax(asked[..., 2:4] @ offered[..., 2:4].mT / 2**0.5, -1),
        "head 1 compares features 2 and 3 of the projected queries and keys",
    )
    check.shape(output, batch=2, length=4, d_model=6)
    given_away = F.linear(value, known["w_value.weight"], known["w_value.bias"])
    parts = [weights[:, i] @ given_away[..., 2 * i : 2 * i + 2] for i in (0, 1, 2)]
    check.equal(
        output,
        F.linear(torch.cat(parts, -1), known["w_output.weight"], known["w_output.bias"]),
        "the output is w_output of what the heads bring, head 0 first",
    )
    slopes = module.gradients(output.square())
    still = [name for name, slope in slopes.items() if not slope.abs().max() > 0]
    # a bias of the keys adds the same to all scores of a query: softmax does not feel it
    check.true(set(still) <= {"w_key.bias"}, "a gradient reaches every layer")
    lean = check.build(6, 3, bias=False).double()
    lean.load({name: weight for name, weight in known.items() if "weight" in name})
# BEGIN HIDDEN TESTS


def as_torch(known, d_model, num_heads, bias=True):
    """PyTorch's own block with the same weights."""
    theirs = nn.MultiheadAttention(d_model, num_heads, bias=bias, batch_first=True)
    state = {"out_proj.weight": known["w_output.weight"]}
    state["in_proj_weight"] = torch.cat([known[f"w_{role}.weight"] for role in roles[:3]])
    if bias:
        state["out_proj.bias"] = known["w_output.bias"]
        state["in_proj_bias"] = torch.cat([known[f"w_{role}.bias"] for role in roles[:3]])
    theirs = theirs.to(state["in_proj_weight"].dtype)
    theirs.load_state_dict(state)
    return theirs


with Check("MultiHeadAttention", "equal to PyTorch's block, at several sizes and scales") as check:
    for d_model, num_heads, bias, scale in (
        (12, 3, True, 0.5),
        (10, 5, False, 1.5),
        (7, 1, True, 0.2),
        (4, 4, True, 1.0),
        (6, 2, False, 0.7),
    ):
        module, known = loaded(check, d_model, num_heads, bias, scale)
        theirs = as_torch(known, d_model, num_heads, bias)
        query = numbers(3, 4, d_model, seed=50, scale=2.0).requires_grad_()
        key = numbers(3, 5, d_model, seed=51).requires_grad_()
        value = numbers(3, 5, d_model, seed=52).requires_grad_()
        output, weights = module.call(query, key, value, returns=("output", "weights"))
        wanted, wanted_weights = theirs(query, key, value, average_attn_weights=False)
        check.equal(output, wanted.detach(), "PyTorch's output")
        check.equal(weights, wanted_weights.detach(), "PyTorch's weights")
        for source in (query, key, value):
            slope = check.gradient(wanted.square(), source)
            check.equal(check.gradient(output.square(), source), slope, "PyTorch's gradient")
        slope = check.gradient(wanted.square(), theirs.out_proj.weight)
        mine = module.gradients(output.square())["w_output.weight"]
        check.equal(mine, slope, "PyTorch's gradient of the output projection")
with Check("MultiHeadAttention", "float32, views, one word, evaluation") as check:
    module, known = check.build(6, 3), {}
    for i, (name, weight) in enumerate(module.parameters().items()):
        known[name] = numbers(*weight.shape, seed=60 + i, dtype=torch.float32)
    module.load(known)
    theirs = as_torch(known, 6, 3)
    x = numbers(6, 5, 2, seed=53, dtype=torch.float32).permute(2, 1, 0)
    for switched in (module.train(), module.eval()):
        for words_in in (x, x[:, :1], x[1:]):
            output, _ = switched.call(words_in, words_in, words_in, returns=("output", "weights"))
            check.equal(output, theirs(words_in, words_in, words_in)[0].detach(), "the output")
with Check("MultiHeadAttention", "sequences stand for themselves, modules too") as check:
    module, known = loaded(check, 8, 4)
    query, key, value = (numbers(4, 4, 8, seed=seed) for seed in (54, 55, 56))
    names = ("output", "weights")
    output, weights = module.call(query, key, value, returns=names)
    wanted = as_torch(known, 8, 4)(query, key, value)[0].detach()
    check.equal(output, wanted, "three roles of one length, PyTorch's output")
    alone, alone_weights = module.call(query[2:3], key[2:3], value[2:3], returns=names)
    check.equal(alone, output[2:3], "a sequence gives the same alone")
    check.equal(alone_weights, weights[2:3], "and the same weights")
    second = check.build(8, 4).double()
    kept = second.state()
    module.load({name: torch.zeros_like(weight) for name, weight in known.items()})
    for name, weight in second.state().items():
        check.equal(weight, kept[name], f"{name} of the other module")
# END HIDDEN TESTS

# %% [markdown]
# And the mask:

# %% check MultiHeadAttention_mask points=2
hint = "a mask (batch, query or 1, key) gets a heads axis, mask[:, None]; all heads obey it"


def by_number(check, d_model, num_heads):
    """A module with fixed numbers for weights."""
    module = check.build(d_model, num_heads).double()
    shapes = {
        f"w_{role}.weight": (d_model, d_model) for role in ("query", "key", "value", "output")
    }
    shapes |= {name.replace("weight", "bias"): (d_model,) for name in shapes}
    module.load(
        {name: numbers(*s, seed=i, scale=0.5) for i, (name, s) in enumerate(shapes.items())}
    )
    return module


with Check("MultiHeadAttention", "a causal mask for all", hint) as check:
    module, x = by_number(check, 6, 3), numbers(2, 4, 6)
    free, free_weights = module.call(x, x, x, returns=("output", "weights"))
    causal = torch.ones(4, 4).tril().bool()
    output, weights = module.call(x, x, x, causal, returns=("output", "weights"))
    check.shape(weights, batch=2, head=3, query=4, key=4)
    allowed = free_weights * causal
    check.equal(
        weights,
        allowed / allowed.sum(-1, keepdim=True),
        "True = may attend: the allowed words share the 1, in every head",
    )
    check.equal(output[:, 3], free[:, 3], "the last word may see everything: as without a mask")
with Check("MultiHeadAttention", "padding: as many sequences as heads", hint) as check:
    module = by_number(check, 6, 3)
    query, key, value = numbers(3, 2, 6), numbers(3, 4, 6, seed=1), numbers(3, 4, 6, seed=2)
    lengths = torch.tensor([4, 1, 3])
    mask = torch.arange(4) < lengths[:, None, None]  # (batch, 1, key)
    output, weights = module.call(query, key, value, mask, returns=("output", "weights"))
    check.shape(weights, batch=3, head=3, query=2, key=4)
    for i, length in ((1, 1), (2, 3), (0, 4)):
        check.equal(
            weights[i, :, :, length:],
            torch.zeros(3, 2, 4 - length, dtype=torch.float64),
            f"sequence {i} has {length} words: in none of its heads does its padding get a weight",
            hint="with as many sequences as heads, a mask (batch, 1, key) fits at the wrong "
            "place: its batch axis must not meet the heads axis",
        )
        parts = query[i : i + 1], key[i : i + 1, :length], value[i : i + 1, :length]
        alone, _ = module.call(*parts, returns=("output", "weights"))
        check.equal(output[i : i + 1], alone, "a padded sequence gives what it gives alone")
with Check(
    "MultiHeadAttention", "a mask for each sequence, and a query that sees nothing"
) as check:
    module = by_number(check, 6, 3)
    x = numbers(2, 3, 6).requires_grad_()
    mask = torch.ones(2, 3, 3, dtype=torch.bool)
    mask[0, 1] = False  # word 1 of sequence 0 may look at nothing
    mask[1, :, 0] = False  # and nobody at word 0 of sequence 1
    output, weights = module.call(x, x, x, mask, returns=("output", "weights"))
    check.equal(
        weights[0, :, 1],
        torch.zeros(3, 3, dtype=torch.float64),
        "a query that may look at nothing has weights 0 in every head",
    )
    check.equal(
        output[0, 1],
        module.state()["w_output.bias"],
        "and its output is w_output(0), which is the bias of w_output",
    )
    check.equal(
        weights.sum(-1)[1],
        torch.ones(3, 3, dtype=torch.float64),
        "all other weights still sum to 1",
    )
    check.equal(weights[1, :, :, 0].sum(), 0.0, "a forbidden word weighs 0 in every head")
    slope = check.gradient(output.square(), x)
    check.true(bool(slope.isfinite().all()), "the gradient holds no NaN either")
# BEGIN HIDDEN TESTS
with Check("MultiHeadAttention", "masks of every shape, equal to PyTorch's block") as check:
    for d_model, num_heads, batch in ((6, 3, 2), (8, 2, 2), (4, 4, 3), (6, 2, 6), (6, 3, 4)):
        module = by_number(check, d_model, num_heads)
        held = module.state()
        three = [held[f"w_{role}.weight"] for role in ("query", "key", "value")]
        their_state = {
            "in_proj_weight": torch.cat(three),
            "in_proj_bias": torch.cat([held[f"w_{r}.bias"] for r in ("query", "key", "value")]),
            "out_proj.weight": held["w_output.weight"],
            "out_proj.bias": held["w_output.bias"],
        }
        theirs = nn.MultiheadAttention(d_model, num_heads, batch_first=True).double()
        theirs.load_state_dict(their_state)
        query, key = numbers(batch, 4, d_model, seed=70), numbers(batch, 5, d_model, seed=71)
        value = numbers(batch, 5, d_model, seed=72)
        shapes = ((4, 5), (batch, 4, 5), (batch, 1, 5), (batch, 1, 4, 5), (batch, 1, 1, 5))
        for shape in (*shapes, (batch, num_heads, 4, 5), (batch, num_heads, 1, 5)):
            # the third key may always be seen, so that no row is empty
            mask = (numbers(*shape, seed=73) > 0.2) | (torch.arange(5) == 2)
            output, weights = module.call(query, key, value, mask, returns=("output", "weights"))
            full = mask[:, None] if mask.dim() == 3 else mask
            opposite = ~full.expand(batch, num_heads, 4, 5).flatten(0, 1)
            wanted = theirs(query, key, value, attn_mask=opposite, average_attn_weights=False)
            check.equal(output, wanted[0].detach(), f"PyTorch's output, mask {shape}")
            check.equal(weights, wanted[1].detach(), f"PyTorch's weights, mask {shape}")
with Check("MultiHeadAttention", "an empty sequence, and float32") as check:
    module = check.build(4, 2)
    x = numbers(3, 5, 4, seed=74, dtype=torch.float32).requires_grad_()
    mask = torch.arange(5) < torch.tensor([5, 0, 2])[:, None, None]
    output, weights = module.call(x, x, x, mask=mask, returns=("output", "weights"))
    check.equal(weights[1], torch.zeros(2, 5, 5), "no weights")
    check.equal(output[1], module.state()["w_output.bias"].expand(5, 4), "w_output(0)")
    check.true(bool(check.gradient(output.square(), x).isfinite().all()), "no NaN in the gradient")
    short = x.detach()[2:, :2]
    alone, _ = module.call(x.detach()[2:], short, short, returns=("output", "weights"))
    check.equal(output[2:], alone, "a padded sequence gives what it gives alone")
# END HIDDEN TESTS


# %% [markdown]
# ## 6 · Many heads for the price of one
#
# A slide counts the numbers that one such layer learns, with $d = 512$ and eight heads of width 64. Queries, keys and values take $512 \cdot 64 \cdot 3 \cdot 8 = 3 \cdot 512 \cdot 512$, the output projection takes $512 \cdot 512$: together $4 \cdot 512 \cdot 512$, about a million.
#
# **Predict.** What does the number of heads change in this count?
#
# <details><summary>More heads, more numbers</summary>So it was in part 3, with heads of full width. Here more heads are narrower heads: 64 · 8 is 512, and 32 · 16 is too.</details>
# <details><summary>Nothing</summary>Yes. h · d_head is always d, so h drops out.</details>
# <details><summary>More heads, fewer numbers</summary>Each head has fewer, but there are more of them.</details>

# %% [markdown]
# **Exercise** (5 minutes). Write the count for any width. The slide leaves out the biases; you do not.
#
# <details><summary>Hint</summary>How many matrices are there, and how large is one? An <code>nn.Linear(d_in, d_out)</code> has a bias for each feature that comes <em>out</em>.</details>


# %% exercise attention_parameters
def attention_parameters(d_model: int, bias: bool) -> int:
    """How many numbers `MultiHeadAttention(d_model, num_heads, bias)` learns.

    The four matrices, and the four biases if `bias`. A whole number.
    """
    # BEGIN SOLUTION
    return 4 * d_model * (d_model + bias)
    # END SOLUTION


# %% check attention_parameters points=1
hint = (
    "four matrices with d_model · d_model numbers; with a bias, d_model more for each of the four"
)
with Check("attention_parameters", "counts you can do by hand", hint) as check:
    counts = {}
    for d_model, bias in ((2, False), (2, True), (3, True), (512, False), (512, True)):
        counts[d_model, bias] = check.call(d_model, bias, returns=int)
    check.equal(counts[2, False], 16, "d_model 2 without biases: four matrices of 4 numbers")
    check.equal(counts[2, True], 24, "d_model 2 with biases: four of 4, and four of 2")
    check.equal(counts[3, True], 48, "d_model 3 with biases: four of 9, and four of 3")
    check.equal(counts[512, False], 1_048_576, "the slide's layer: 4 · 512 · 512")
    check.equal(counts[512, True], 1_050_624, "the slide's layer, with biases")
# BEGIN HIDDEN TESTS
with Check("attention_parameters", "as many as PyTorch's block has") as check:
    for d_model, num_heads in ((12, 3), (7, 1), (96, 8), (1, 1)):
        for bias in (True, False):
            theirs = nn.MultiheadAttention(d_model, num_heads, bias=bias)
            expected = sum(weight.numel() for weight in theirs.parameters())
            check.equal(check.call(d_model, bias, returns=int), expected, f"d_model {d_model}")
            check.equal(check.call(d_model, bias=bias, returns=int), expected, "bias by its name")
# END HIDDEN TESTS


# %% [markdown]
# ### Measured
#
# Both of your modules, as the number of heads grows: how many numbers they learn, how many multiplications one pass takes, and how many bytes it keeps for the backward pass. And a clock, for a whole step forward and back.


# %%
def cost_of(layer: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[float, float, float]:
    """Numbers to learn, multiplications, bytes kept for the backward pass; all in millions."""
    learned = {weight.data_ptr() for weight in layer.parameters()}
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in learned:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    hooks = torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor)
    with FlopCounterMode(display=False) as counter, hooks:
        layer(*inputs)
    count = sum(weight.numel() for weight in layer.parameters())
    # a "flop" is a multiplication or an addition
    return count / 1e6, counter.get_total_flops() / 2e6, sum(kept.values()) / 1e6


def seconds_of(layer: nn.Module, inputs: tuple[Tensor, ...]) -> float:
    """The fastest of three steps, forward and back."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        layer(*inputs)[0].sum().backward()
        times.append(time.perf_counter() - start)
    return min(times)


torch.manual_seed(0)
one_batch = torch.randn(4, 24, 256)  # 4 sequences of 24 words, d_model = 256
counts_of_heads = [1, 2, 4, 8, 16]
costs: dict[str, list[tuple[float, float, float]]] = {"full width": [], "split": []}
slower = []
for count in counts_of_heads:
    wide_ones, split_ones = ConcatMultiHead(256, count), MultiHeadAttention(256, count, bias=False)
    costs["full width"].append(cost_of(wide_ones, (one_batch,)))
    costs["split"].append(cost_of(split_ones, (one_batch,) * 3))
    slower.append(seconds_of(wide_ones, (one_batch,)) / seconds_of(split_ones, (one_batch,) * 3))
print("in millions     numbers to learn   multiplications   bytes kept")
for title, rows_of in costs.items():
    for count, row in zip(counts_of_heads, rows_of, strict=True):
        if count in (1, 16):
            print(f"{title:10} {count:3}  {row[0]:16.1f} {row[1]:17.0f} {row[2]:12.1f}")
print("16 full heads take more than 3 × the time of 16 split ones:", slower[-1] > 3)
for what, place in (("numbers to learn", 0), ("bytes kept", 2)):
    figures.curves(
        counts_of_heads,
        {title: [row[place] for row in rows_of] for title, rows_of in costs.items()},
        x="number of heads",
        y=f"{what}, in millions",
        title=f"Split, more heads cost next to nothing: {what}",
        logarithmic="xy",
    )

# %% [markdown]
# What to see: the upper line doubles whenever the heads double. The lower one stays flat in numbers and in multiplications. In memory it rises a little: whatever the width of a head, it has weights of its own, (length, length), and those must be kept. (`slower` holds the ratios of time on your machine: print it.)

# %% [markdown]
# ### Bug hunt: a table of models
#
# If the heads share out the width of the model, then number of heads × width of a head = width of the model. A slide shows the table of the GPT-3 models:
#
# | model | layers | d_model | heads | d_head |
# |---|---|---|---|---|
# | Small | 12 | 768 | 12 | 64 |
# | Medium | 24 | 1024 | 16 | 64 |
# | Large | 24 | 1536 | 16 | 96 |
# | XL | 24 | 2048 | 24 | 128 |
# | 2.7B | 32 | 2560 | 32 | 80 |
# | 6.7B | 32 | 4096 | 32 | 128 |
# | 13B | 40 | 5140 | 40 | 128 |
# | 175B | 96 | 12288 | 96 | 128 |

# %% [markdown]
# **Exercise** (3 minutes). Two rows of it do not fit. Write the test that finds them.
#
# <details><summary>Hint</summary>Rounding hides such slips: multiply, do not divide.</details>


# %% exercise heads_fit
def heads_fit(d_model: int, num_heads: int, d_head: int) -> bool:
    """Whether num_heads heads of width d_head are together exactly d_model wide."""
    # BEGIN SOLUTION
    return num_heads * d_head == d_model
    # END SOLUTION


# %% check heads_fit points=1
with Check("heads_fit", "heads that fit, and that do not") as check:
    cases = {
        (512, 8, 64): (True, "8 heads of width 64 fill 512"),
        (12, 1, 12): (True, "one head of the model's width"),
        (512, 8, 32): (False, "8 heads of width 32 fill only 256, though 8 divides 512"),
        (512, 8, 60): (False, "8 heads of width 60 fill only 480"),
        (512, 6, 64): (False, "6 heads of width 64 fill only 384, though 64 divides 512"),
        (512, 6, 85): (False, "6 heads of width 85 fill only 510, though 512 / 6 is about 85"),
        (23, 4, 6): (False, "4 heads of width 6 are 24 wide, though 23 / 4 is about 6"),
        (72, 8, 64): (False, "8 heads of width 64 are 512 wide, though 8 + 64 = 72"),
        (512, 8, 65): (False, "8 heads of width 65 are too wide"),
        (512, 8, 128): (False, "8 heads of width 128 are too wide, though 128 divides 512"),
    }
    for case in cases:  # all answers together tell which slip it is
        check.call(*case, returns=bool)
    for case, (fits, told) in cases.items():
        check.true(
            check.call(*case, returns=bool) == fits,
            f"expected {fits}: {told}",
            hint="how wide are all heads together?",
        )
# BEGIN HIDDEN TESTS
with Check("heads_fit", "all small cases") as check:
    for d_model in (6, 7, 12, 5140, 2048):
        for num_heads in (1, 2, 3, 6, 24, 40):
            for d_head in (1, 2, 3, 4, 6, 7, 12, 128):
                fits = check.call(d_model, num_heads, d_head, returns=bool)
                wanted = d_model / num_heads == d_head
                check.true(fits == wanted, f"{num_heads} heads of {d_head} for {d_model}")
    check.true(not check.call(1001, 1000, 1, returns=bool), "1000 heads of 1 for 1001")
# END HIDDEN TESTS

# %%
table = {
    "Small": (12, 768, 12, 64),
    "Medium": (24, 1024, 16, 64),
    "Large": (24, 1536, 16, 96),
    "XL": (24, 2048, 24, 128),
    "2.7B": (32, 2560, 32, 80),
    "6.7B": (32, 4096, 32, 128),
    "13B": (40, 5140, 40, 128),
    "175B": (96, 12288, 96, 128),
}
for model, (depth, wide, many, each) in table.items():
    if not heads_fit(wide, many, each):
        print(
            f"{model} ({depth} layers): {many} heads of {each} make {many * each}, but d_model is {wide}"
        )

# what XL would learn: attention and two layers of 4 · d_model² numbers in each of 24 layers,
# and a vector for each of its 50257 tokens
for inner in (24 * 128, 16 * 128):
    in_all = 24 * (4 * 2048 * inner + 8 * 2048**2) + 50257 * 2048
    print(f"XL with heads that fill {inner}: {in_all / 1e9:.2f} billion numbers")

# %% [markdown]
# Two rows stick out. A model like XL could be built, with a $W^O$ that brings 3072 features back to 2048. But it would be larger than the 1.3 billion in its name, as the count shows; with 16 heads of 128 it fits. In row 13B a digit seems to be off: 40 heads of 128 make 5120.

# %% [markdown]
# ## 7 · Who chased whom?
#
# Now the question of part 1, as an experiment. Sentences such as *the dog chased the cat today*, with 60 nouns. The model must say at *chased* who is the subject and who is the object. Each word and each place has a learned vector (lesson 6 says more about places); your attention adds to *chased* what it takes in; a last layer reads out two nouns. Some pairs of nouns are **held out**: the model never sees them together in training.


# %%
NOUNS, VERB = 60, 2  # how many nouns; the place of the verb


def some_sentences(how_many: int, held_out: bool, seed: int) -> tuple[Tensor, Tensor]:
    """Tokens (sentences, 6): the, noun, verb, the, noun, when; and the two nouns (sentences, 2)."""
    generator = torch.Generator().manual_seed(seed)
    nouns = torch.randint(NOUNS, (6 * how_many, 2), generator=generator)
    nouns = nouns[(nouns.sum(1) % 5 == 0) == held_out][:how_many]
    others = torch.randint(4, (len(nouns), 2), generator=generator)
    the = torch.zeros(len(nouns), dtype=torch.long)
    verbs, whens = others[:, 0] + 1, others[:, 1] + 5
    subjects, objects = nouns[:, 0] + 9, nouns[:, 1] + 9
    return torch.stack([the, subjects, verbs, the, objects, whens], 1), nouns


class WhoAndWhom(nn.Module):
    """Layers of your multi-head attention; says at the verb which nouns are subject and object."""

    def __init__(self, num_heads: int, num_layers: int, d_model: int = 16) -> None:
        super().__init__()
        self.words = nn.Embedding(9 + NOUNS, d_model)
        self.places = nn.Embedding(6, d_model)
        blocks = (MultiHeadAttention(d_model, num_heads) for _ in range(num_layers))
        self.blocks = nn.ModuleList(blocks)
        self.nouns = nn.Linear(d_model, 2 * NOUNS)

    def forward(self, tokens: Tensor) -> tuple[Tensor, list[Tensor]]:
        x = self.words(tokens) + self.places.weight
        looks = []
        for block in self.blocks:
            taken_in, look = block(x, x, x)
            x = x + taken_in
            looks.append(look)
        return self.nouns(x[:, VERB]).unflatten(-1, (2, NOUNS)), looks


def train_reader(num_heads: int, num_layers: int = 1) -> tuple[WhoAndWhom, list[float]]:
    """Train a model; print how often it is right on pairs of nouns that it never saw."""
    torch.manual_seed(0)
    model = WhoAndWhom(num_heads, num_layers)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    history = []
    for step in range(301):
        tokens, nouns = some_sentences(200, held_out=False, seed=step)
        loss = F.cross_entropy(model(tokens)[0].flatten(0, 1), nouns.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            history.append(loss.item())
    tokens, nouns = some_sentences(1000, held_out=True, seed=1000)
    with torch.no_grad():
        right = (model(tokens)[0].argmax(-1) == nouns).all(1).float().mean().item()
    learned = sum(weight.numel() for weight in model.parameters())
    told = f"{num_layers} layer(s), {num_heads} head(s): {learned} numbers to learn"
    print(f"{told}, both nouns right in {right:.0%} of the new pairs")
    return model, history


# %% [markdown]
# **Predict.** One layer. With **one** head of width 16, or with **two** of width 8: what do you expect? Both learn the same number of numbers.
#
# <details><summary>One head is better: it is wider</summary>Width helps to tell 60 nouns apart. It does not help to look at two places at once.</details>
# <details><summary>Both are the same: they have the same size</summary>They have the same size, and not the same number of softmaxes. Each softmax is one look.</details>
# <details><summary>Two heads are better</summary>Yes: one looks at the subject, one at the object. A single head must split its look, and guess who was who.</details>

# %%
torch.set_num_threads(1)  # the fastest for models as small as these
readers, reader_losses = {}, {}
for many in (1, 2, 4):
    title = f"{many} head" + "s" * (many > 1)
    readers[title], reader_losses[title] = train_reader(many)
figures.curves(
    list(range(0, 301, 20)),
    reader_losses,
    x="training step",
    y="loss",
    title="One look at two words is not enough",
    bottom=-0.1,
)

# where they look in one sentence: the row of “chased”
six_words = ["the", "dog", "chased", "the", "cat", "today"]
one_sentence = torch.tensor([[0, 9, 1, 0, 10, 5]])
rows_shown = {}
for title in ("1 head", "2 heads"):
    with torch.no_grad():
        look = readers[title](one_sentence)[1][0][0, :, VERB]  # (heads, key)
    for i, line in enumerate(look):
        rows_shown[f"{title}: head {i}"] = line.tolist()
figures.steps(
    {"what “chased” takes in": (list(rows_shown.values()), "key", six_words)},
    "model",
    list(rows_shown),
)

# %% [markdown]
# What to see: the three models are equally large, and the last one computes no more than the first. With one head most of the new pairs come out wrong, for either a blend does not say who was who, or one of the nouns was never looked at. With two, nearly all are right.
#
# The lower picture shows where two of them look, in one sentence. The single head has to split its look between the two nouns, as in the picture of part 1, or give up one of them. Of the two heads, each has its noun. Nobody told them: they have shared out the work because it lowers the loss.
#
# There is a second way to look twice: one layer after the other. Here are two layers with two heads. Choose layer and head, and look for the row of *chased*.

# %%
from transformer_course.widgets import show_attention

deep = train_reader(num_heads=2, num_layers=2)[0]
with torch.no_grad():
    looks = deep(one_sentence)[1]
# (layer, head, query, key)
show_attention(torch.cat(looks), six_words, title="your heads, layer by layer")

# %% [markdown]
# What to see: the view counts layers and heads from 0. With four looks for two words, some heads do the same, some do nothing useful. That is so in large models too: there you find heads that look at the neighbour, heads that follow grammar, heads for rare words, and many that can be removed without harm (Voita et al., *Analyzing Multi-Head Self-Attention*, 2019).

# %% [markdown]
# ## 8 · The real thing
#
# PyTorch's `nn.MultiheadAttention` is the same block. It keeps its weights **packed**: `in_proj_weight`, of shape (3 · d_model, d_model), holds the matrices of queries, keys and values below one another, in this order, each as an `nn.Linear` keeps its own. `in_proj_bias`, of shape (3 · d_model,), holds the three biases; without biases it is `None`. `out_proj` is an ordinary `nn.Linear`.

# %% [markdown]
# **Exercise** (10 minutes). Bring its weights into your block.
#
# <details><summary>Hint 1</summary><code>chunk(3)</code> cuts a tensor into three along its first axis.</details>
# <details><summary>Hint 2</summary>Inside <code>with torch.no_grad():</code>, <code>mine.w_query.weight.copy_(…)</code> writes numbers into a weight that exists. To assign a tensor, or its <code>.data</code>, would share it: then training theirs would change yours. (<code>load_state_dict</code> copies too, from a dictionary of names and tensors.)</details>


# %% exercise load_from_torch
def load_from_torch(mine: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    """Copy theirs' weights, and its biases if it has any, into mine.

    mine has the parts w_query, w_key, w_value and w_output, and the sizes and the `bias` of theirs.
    Copied, not shared: what happens to theirs later is nothing to mine. theirs stays as it is.
    """
    # BEGIN SOLUTION
    packed = {"weight": theirs.in_proj_weight, "bias": theirs.in_proj_bias}
    state = {f"w_output.{kind}": part for kind, part in theirs.out_proj.state_dict().items()}
    for kind, all_three in packed.items():
        if all_three is not None:
            thirds = zip(("w_query", "w_key", "w_value"), all_three.chunk(3), strict=True)
            state |= {f"{name}.{kind}": third for name, third in thirds}
    mine.load_state_dict(state)  # copies the numbers
    # END SOLUTION


# %% check load_from_torch points=2
hint = "the rows of in_proj_weight: first the queries' matrix, then the keys', then the values'"


def pair_of(d_model, bias, seed=0):
    """A module with the four parts, all sevens, and a block of PyTorch's with fixed numbers."""
    names = ("w_query", "w_key", "w_value", "w_output")
    mine = nn.ModuleDict({name: nn.Linear(d_model, d_model, bias=bias) for name in names}).double()
    theirs = nn.MultiheadAttention(d_model, 1, bias=bias, batch_first=True).double()
    with torch.no_grad():
        for weight in mine.parameters():
            weight.fill_(7.0)
        for i, weight in enumerate(theirs.parameters()):
            weight.copy_(numbers(*weight.shape, seed=seed + i))
    return mine, theirs


def sources_of(theirs):
    """What mine should hold, part by part, and what to call it."""
    owners = ("queries'", "keys'", "values'")
    packed = {"weight": ("matrix", theirs.in_proj_weight), "bias": ("bias", theirs.in_proj_bias)}
    sources = {}
    for kind, (told, tensor) in packed.items():
        if tensor is not None:
            parts = zip(("query", "key", "value"), owners, tensor.chunk(3), strict=True)
            sources |= {f"w_{r}.{kind}": (f"the {o} {told}", part) for r, o, part in parts}
            of_output = getattr(theirs.out_proj, kind)
            sources[f"w_output.{kind}"] = (f"the {told} of out_proj", of_output)
    return {name: (told, part.detach().clone()) for name, (told, part) in sources.items()}


def what_it_is(weight, sources):
    """The name of what a part holds."""
    if (weight == 7.0).all():
        return "what it held before"
    theirs_all = torch.cat([part.flatten() for _, part in sources.values()])
    for told, part in sources.values():
        if part.shape == weight.shape and torch.equal(part, weight):
            return told
        if part.shape == weight.shape and part.dim() == 2 and torch.equal(part.T, weight):
            return f"{told}, transposed"
    among = bool(torch.isin(weight, theirs_all).all())
    return "numbers of theirs in another order" if among else "something else"


def compared(check, mine, sources):
    """Each part of mine holds what it should."""
    held = dict(mine.named_parameters())
    check.true(held.keys() == sources.keys(), "mine still has its four parts, and no others")
    for name, (told, part) in sources.items():
        found = what_it_is(held[name].detach(), sources)
        check.true(held[name].shape == part.shape, f"{name} keeps its shape")
        check.true(found == told, f"{name} should hold {told}; it holds {found}")


for with_bias in (True, False):
    told = "with biases" if with_bias else "without"
    with Check("load_from_torch", f"a block {told}", hint) as check:
        mine, theirs = pair_of(4, with_bias)
        sources = sources_of(theirs)
        check.call(mine, theirs, returns=None)
        kept = sources_of(theirs)
        same = all(torch.equal(kept[name][1], part) for name, (_, part) in sources.items())
        taken = all(bool((part == 7.0).all()) for _, part in kept.values())
        check.true(not taken, "theirs holds what it held before, and not what mine holds")
        check.true(same, "theirs holds what it held before")
        usual = theirs.training and all(weight.requires_grad for weight in theirs.parameters())
        check.true(usual, "theirs stays as it is: in training, and its weights ask for gradients")
        compared(check, mine, sources)
with Check("load_from_torch", "copied, not shared") as check:
    mine, theirs = pair_of(4, True)
    sources = sources_of(theirs)
    check.call(mine, theirs, returns=None)
    with torch.no_grad():
        for weight in theirs.parameters():
            weight.add_(1.0)  # theirs goes on training
    check.call(*pair_of(3, True, seed=9), returns=None)
    for name, (_, part) in sources.items():
        check.true(
            torch.equal(dict(mine.named_parameters())[name], part),
            f"theirs goes on training, and {name} of mine changes with it",
            hint="copy the numbers: weight.copy_(…) under torch.no_grad()",
        )
# BEGIN HIDDEN TESTS
for width, has_bias, dtype in (
    (6, True, torch.float64),
    (5, False, torch.float64),
    (1, True, torch.float64),
    (8, True, torch.float32),
):
    with Check("load_from_torch", f"width {width}") as check:
        mine, theirs = pair_of(width, has_bias, seed=20)
        mine, theirs = mine.to(dtype), theirs.to(dtype)
        sources = sources_of(theirs)
        check.call(mine, theirs, returns=None)
        for name, weight in mine.named_parameters():
            check.equal(weight.detach(), sources[name][1], f"{name}")
# END HIDDEN TESTS

# %% [markdown]
# Every number should agree, with a mask and without one. Two things to remember about PyTorch's block: it returns the **mean** of the heads' weights, unless you ask for each (`average_attn_weights=False`); and its mask means the opposite, True = forbidden, with batch and heads in one axis.

# %%
torch.manual_seed(0)
block = nn.MultiheadAttention(12, num_heads=3, batch_first=True).double()
own_block = MultiHeadAttention(12, num_heads=3).double()
load_from_torch(own_block, block)
asks, answers = numbers(2, 4, 12), numbers(2, 5, 12, seed=1)
padded = (torch.arange(5) < torch.tensor([5, 3])[:, None])[:, None]  # (batch, 1, key)
turned_round = ~padded[:, None].expand(2, 3, 4, 5).flatten(0, 1)  # (batch · heads, query, key)
for title, allowed, forbidden in (
    ("no mask", None, None),
    ("padding", padded, turned_round),
):
    ours = own_block(asks, answers, answers, allowed)
    pytorchs = block(asks, answers, answers, attn_mask=forbidden, average_attn_weights=False)
    for what, one, other in zip(("output", "weights"), ours, pytorchs, strict=True):
        print(f"{title}, {what}: largest difference {(one - other).abs().max().item():.1e}")

# %% [markdown]
# Differences around 1e-16 are rounding. Your block is the block.

# %% [markdown]
# ## 9 · In your own words
#
# **Question.** A friend reads: "with 512 features and 8 heads, each head works with 64 features". So, says the friend, head 0 reads the first 64 features of each word, and cannot see the others; and since the heads' outputs are averaged in the end, 8 heads are an ensemble of 8 small models. Two things are wrong with this. Which, and why does each matter? Three or four sentences: double-click the cell below and write them there. A person reads them.

# %% answer what_is_split [markdown] points=2
# <!-- BEGIN SOLUTION -->
# Each head reads all 512 features: the projection is 512 × 64, and only its result is narrow. If X itself were sliced, a head could never ask for what stands in another slice. And the heads are not averaged but put side by side and mixed by W^O: so it stays known which head brought what, who chases and who is chased. An average of two looks would be the blend that one head gives as well.
# <!-- END SOLUTION -->


# %% [markdown]
# ## What you know now
#
# - One softmax is **one look**. To look at two things, a word needs two heads; a blend forgets who was who.
# - A head has queries, keys and values of its own. The heads' outputs stand **side by side**, and $W^O$ mixes them.
# - **Project first, then split**: each head sees the whole word, and is $d / h$ wide. So $h$ drops out of the count: $4 d^2$, however many heads.
# - The heads are an **axis**: (batch, heads, length, d_head). Cut the last axis, then transpose; a bare `view` gives the right shape and rubbish.
# - Scores are divided by $\sqrt{d_{\text{head}}}$, and a mask for each sequence needs an axis for the heads.
#
# **The question that is left.** Your experiment had two layers. Large models have a hundred. Each layer adds its output to x, and so the numbers grow from layer to layer, and with them the scores, until every softmax takes all. How do you keep a deep stack in shape? That is lesson 4, layer norm.
