# %% [markdown]
# # Lesson 3 · Multi-head attention
#
# **You build** attention with several heads, first in a loop, then all at once.
#
# **You need** lessons 1 and 2: queries, keys, values, masks. You also need `reshape`, `transpose` and `torch.cat`.
#
# **You take away** `MultiHeadAttention`. With the weights of PyTorch's `nn.MultiheadAttention`, which later lessons use, it gives the same results.
#
# **Time**: about 235 minutes: 145 for the exercises. A good place to stop is marked after about 125. Part 7 has no exercise, and can wait. What is marked *optional* goes deeper: nothing later needs it.

# %% [markdown]
# *The dog chased the cat.* To understand *chased*, a model needs two other tokens: who chases, and who is chased. But the attention weights of *chased* sum to 1. Suppose it gives about half to each noun:

# %%
from transformer_course import figures

five_words = ["the", "dog", "chased", "the", "cat"]
figures.word_links(
    {"one head: “chased” gives half to each": (five_words, 2, [0.02, 0.47, 0.02, 0.02, 0.47])}
)

# %% [markdown]
# These weights are made up. In parts 3 and 7, heads compute their own.
#
# **Predict.** Swap the nouns: *the cat chased the dog*. Again *chased* gives half to each noun. What does its output tell you about the sentence? (A noun has the same value in both positions.)
#
# <details><summary>Who chased whom</summary>½ <em>dog</em> + ½ <em>cat</em> and ½ <em>cat</em> + ½ <em>dog</em> are the same vector. Nothing that reads only this vector can tell the two sentences apart.</details>
# <details><summary>That there is a dog and a cat, but not who chased whom</summary>Yes. A sum does not keep the order of its terms.</details>
# <details><summary>Nothing at all</summary>It still tells that there is a dog and a cat. What is lost is who chased whom.</details>
#
# How can a token attend to two others *and* know which is which? That is this lesson's question.

# %% [markdown]
# **Recall.** Three questions on lessons 1 and 2 before you start. Answer first, then open your choice.
#
# 1. In an attention map, what sums to 1?
#
# <details><summary>Each row</summary>Yes. A row belongs to one query, and softmax runs over its keys.</details>
# <details><summary>Each column</summary>A column belongs to a key. Some keys get much attention in all, others little.</details>
# <details><summary>The whole map</summary>Each query has its own softmax, so each row has its own sum of 1.</details>
#
# 2. Why are the scores divided by $\sqrt{d_k}$?
#
# <details><summary>To make the weights sum to 1</summary>Softmax does that, whatever the scores are.</details>
# <details><summary>To save computation</summary>It costs one more division for each score.</details>
# <details><summary>To keep their spread near 1 at any width</summary>Yes. Without it, wide queries and keys give large scores, and softmax puts nearly all weight on one key.</details>
#
# 3. What does True mean in a mask of this course?
#
# <details><summary>This key is masked out</summary>That is the convention of <code>nn.MultiheadAttention</code>, which you meet again in part 8.</details>
# <details><summary>This query may attend to this key</summary>Yes, as in <code>F.scaled_dot_product_attention</code>.</details>
# <details><summary>This token is padding</summary>A padding mask says False there: no query may attend to padding.</details>
#

# %% given imports
import copy
import functools
import math
import time

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.parametrize import register_parametrization
from torch.utils.flop_counter import FlopCounterMode
from transformer_course.checks import Check, numbers

# %% [markdown]
# ## 1 · One head gives one blend
#
# A **head** is an attention operation with queries, keys and values of its own. One head gives *chased* a single vector: a weighted sum of values, a blend.
#
# **Predict.** So why not unequal weights: 0.6 for the subject, 0.4 for the object? Let *dog* = [1, 0] and *cat* = [0, 1]. What happens to the outputs for the two sentences?
#
# <details><summary>They differ</summary>Yes: [0.6, 0.4] and [0.4, 0.6]. One head <em>can</em> keep them apart. Its output is still one blend of both nouns.</details>
# <details><summary>They stay equal</summary>Compute them: 0.6 · [1, 0] + 0.4 · [0, 1] is [0.6, 0.4]. With the nouns swapped it is [0.4, 0.6].</details>
# <details><summary>Such weights are not allowed</summary>They are positive and sum to 1. If the keys carry the position of each token, softmax can give such weights.</details>

# %%
dog, cat = torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])
blends = {
    "dog chased cat, ½ and ½": 0.5 * dog + 0.5 * cat,
    "cat chased dog, ½ and ½": 0.5 * cat + 0.5 * dog,
    "dog chased cat, 0.6 and 0.4": 0.6 * dog + 0.4 * cat,
    "cat chased dog, 0.6 and 0.4": 0.6 * cat + 0.4 * dog,
}
figures.steps(
    {"output": (torch.stack(list(blends.values())), "feature", ["0", "1"])},
    "sentence and weights",
    list(blends),
)

# %% [markdown]
# What to see, pair by pair: with ½ and ½, both outputs at *chased* are equal. With 0.6 and 0.4 they differ, so nothing is lost in principle. But both nouns pass through the same matrices into one vector, and the next layer must take this blend apart. With two nouns that is easy. Part 7 tries it with 60.
#
# There is a simpler way: let two heads fetch one noun each.

# %%
figures.word_links(
    {
        "head 0: who chases?": (five_words, 2, [0.02, 0.92, 0.02, 0.02, 0.02]),
        "head 1: who is chased?": (five_words, 2, [0.02, 0.02, 0.02, 0.02, 0.92]),
    }
)

# %% [markdown]
# Let each head give *all* its weight to its noun, and leave the values as they are. These are the outputs for both sentences, with the two heads side by side, and with their mean:

# %%
side_by_side = torch.stack([torch.cat([dog, cat]), torch.cat([cat, dog])])
figures.steps(
    {
        "two heads, side by side": (side_by_side, "feature", ["0", "1", "2", "3"]),
        "two heads, averaged": (side_by_side.reshape(2, 2, 2).mean(1), "feature", ["0", "1"]),
    },
    "sentence",
    ["dog chased cat", "cat chased dog"],
)

# %% [markdown]
# What to see: side by side, a linear layer can read each noun by itself. Averaged, they are the half-and-half blend again. Here both heads have the same values. From part 2 on, each head makes its own.

# %% [markdown]
# ## 2 · Heads side by side
#
# **Multi-head attention** runs several heads on the same input and puts their outputs side by side. With $h$ heads and a model of width $d$, head $i$ has three matrices of its own:
#
# $$H_i = \mathrm{Attention}(X W^Q_i,\; X W^K_i,\; X W^V_i) \qquad W^Q_i, W^K_i, W^V_i \in \mathbb{R}^{d \times d}$$
#
# The **output projection** is a learned matrix $W^O$ that mixes the heads' outputs and maps them back to width $d$:
#
# $$Y = [\,H_0 \;\; H_1 \;\; \cdots \;\; H_{h-1}\,]\; W^O \qquad W^O \in \mathbb{R}^{hd \times d}$$
#
# Here each head is as wide as the model.
#
# **From the lecture**: “MHA (v1): multiple heads” in *Transformers (Part 2)*.


# %% given attention
def attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """softmax(query keyᵀ / √width) value; returns (output, weights).

    query (…, query_length, width), key (…, key_length, width), value (…, key_length, any width).
    mask: bool, True = may attend; broadcasts against (…, query_length, key_length).
    A query that may attend to nothing gets weights of 0 and output 0.
    """
    # PyTorch's function returns outputs only: with the identity as values, they are the weights
    length = key.shape[-2]
    identity = torch.eye(length, dtype=key.dtype, device=key.device)
    values = identity.expand(*key.shape[:-1], length)
    weights = F.scaled_dot_product_attention(query, key, values, mask)
    return weights @ value, weights


# %% [markdown]
# **Exercise** (25 minutes). Build this module, with a loop over the heads and the given `attention`. Each head is as wide as the model.
#
# <details><summary>Hint 1</summary>PyTorch finds layers in an <code>nn.ModuleList</code>, but not in a plain list: <code>nn.ModuleList(nn.Linear(…) for _ in range(num_heads))</code>.</details>
# <details><summary>Hint 2</summary>Each head gives an output and weights. <code>torch.cat(outputs, dim=-1)</code> puts the outputs side by side. The weights need a new axis, (batch, heads, length, length): <code>torch.stack(weights, dim=1)</code> makes it.</details>


# %% exercise ConcatMultiHead
class ConcatMultiHead(nn.Module):
    """Heads of full width side by side, and a projection back to d_model.

    Each head has three matrices of its own, (d_model, d_model) and without bias: for its queries,
    its keys and its values. The only other parameters are those of `w_output`, an
    `nn.Linear(num_heads * d_model, d_model)` without bias. Its input is the heads' outputs side
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
hint = "each head projects x by its own three layers and attends; then cat, then w_output"


def all_set_to(module, number, w_output):
    """Set every weight of every head to this number."""
    biases = [name for name, weight in module.parameters().items() if weight.dim() < 2]
    check.true(
        not biases,
        f"no layer should have a bias; yours has {', '.join(biases[:3])}",
        hint="pass bias=False to each nn.Linear",
    )
    check.true(
        "w_output.weight" in module.parameters(),
        "the module should have a layer w_output",
        hint="name the output projection `w_output`",
    )
    found = tuple(module.parameters()["w_output.weight"].shape)
    check.true(
        found == tuple(w_output.shape),
        f"w_output should map {w_output.shape[1]} features to {w_output.shape[0]}; yours maps "
        f"{found[1]} to {found[0]}",
        hint="w_output reads all heads side by side, each as wide as the model: "
        "nn.Linear(num_heads * d_model, d_model)",
    )
    weights = {name: torch.full_like(w, number) for name, w in module.parameters().items()}
    module.load(weights | {"w_output.weight": w_output}, whole=False)


def all_different(module):
    """Give every weight fixed values."""
    learned = enumerate(module.parameters().items())
    weights = {name: numbers(*w.shape, seed=i, scale=0.6) for i, (name, w) in learned}
    module.load(weights, whole=False)


with Check("ConcatMultiHead", "an example you can do by hand", hint) as check:
    # all weights of the heads are 1/2: queries, keys and values of a token are half the sum of
    # its features, four times; so the scaled score is ln 2 for the first token with itself, else 0
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
            f"head {head}: token 0 gives itself weight 2/3; token 1 gives each token 1/2",
            hint="each head attends with its own queries and keys; `attention` divides by √4, the "
            "root of their width",
        )
    check.shape(output, batch=1, length=2, d_model=4)
    per_head = one_head @ torch.tensor([root / 2, 0.0], dtype=torch.float64)
    check.equal(
        output[0],
        per_head[:, None] * w_output.sum(1),
        "the output should be w_output of the heads' outputs, side by side",
        hint="torch.cat along the last axis, then w_output",
    )
with Check("ConcatMultiHead", "its parameters", hint) as check:
    module, x = check.build(5, 3).double(), numbers(2, 4, 5)
    all_different(module)
    output, weights = module.call(x, returns=("output", "weights"))
    check.shape(weights, batch=2, head=3, query=4, key=4)
    learned = module.parameters()
    count = sum(weight.numel() for weight in learned.values())
    check.equal(
        count,
        3 * 3 * 25 + 75,
        "3 heads of 3 matrices (5, 5), and w_output (5, 15): 300 parameters",
        hint="each head needs layers of its own, (d_model, d_model), in an nn.ModuleList",
    )
    slopes = module.gradients(output.square()).values()
    check.true(all(bool(s.abs().max() > 0) for s in slopes), "a gradient should reach every layer")
with Check("ConcatMultiHead", "each head by itself", hint) as check:
    module, x = check.build(5, 3).double(), numbers(2, 4, 5)
    all_different(module)
    output, weights = module.call(x, returns=("output", "weights"))
    check.true(
        not torch.isclose(weights[:, 0], weights[:, 1]).any(),
        "two heads should have different weights",
        hint="each head has layers of its own: return the weights that each head makes with its own",
    )
    identity = torch.eye(5, dtype=torch.float64)
    for head in range(3):
        # this w_output shows one head alone
        shown = torch.cat([identity * (other == head) for other in range(3)], dim=1)
        module.load({"w_output.weight": shown}, whole=False)
        values, _ = module.call(x.reshape(8, 1, 5), returns=("output", "weights"))
        check.shape(values, batch=8, length=1, d_model=5)
        output, weights = module.call(x, returns=("output", "weights"))
        blends = [weights[:, other] @ values.reshape(2, 4, 5) for other in range(3)]
        found = [
            next((i for i in range(3) if torch.allclose(blends[i][..., f], output[..., f])), None)
            for f in range(5)
        ]  # whose weights each feature has
        first, last = 5 * head, 5 * head + 4
        check.true(
            None in found or set(found) == {head},
            f"inputs {first} to {last} of w_output should be head {head}; yours are weighted as in "
            f"heads {', '.join(map(str, found))}",
            hint="all features of head 0 come first, then all of head 1, and so on; the weights "
            "have the same order",
        )
        check.equal(
            output,
            blends[head],
            f"head {head} should sum its values, weighted by weights[:, {head}] (its values: what "
            "it returns for each token alone)",
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
        check.true(count == 4 * num_heads * d_model**2, "4 · heads · d_model² parameters")
with Check("ConcatMultiHead", "scores that come from pairs of tokens") as check:
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
    check.equal(module.call(x[:, order], returns=names)[0], output[:, order], "any order of tokens")
    second = check.build(4, 3).double()
    kept = second.state()
    all_set_to(module, 0.0, torch.zeros(4, 12, dtype=torch.float64))
    for name, weight in second.state().items():
        check.equal(weight, kept[name], f"{name} of the other module")
    slopes = second.gradients(second.call(x, returns=names)[0].square())
    check.true(all(bool(s.abs().max() > 0) for s in slopes.values()), "a gradient to every layer")
# END HIDDEN TESTS

# %% [markdown]
# Cut $W^O$ into $h$ blocks of $d$ rows, $W^O_i$ for head $i$. Then the formula of your module also reads:
#
# $$Y = \sum_i H_i\, W^O_i$$
#
# So each head has a matrix of its own, and the results are added.
#
# **Predict.** A friend takes the *mean* of two heads, and multiplies it by one matrix $W$. For which blocks of $W^O$ does your module give the same?
#
# <details><summary>For none: a mean loses what each head found</summary>Write the mean as a sum: ½ (H₀ + H₁) W is H₀ (½ W) + H₁ (½ W).</details>
# <details><summary>For equal blocks, ½ W and ½ W</summary>Yes. The mean is the special case in which all heads get the same block. A learned W<sup>O</sup> can give each head a different one.</details>
# <details><summary>For all blocks</summary>A mean has the single matrix W for both heads. Two different blocks cannot both be ½ W.</details>

# %%
first, second = numbers(4, 3, seed=1), numbers(4, 3, seed=2)  # outputs of two heads, four tokens
block_0, block_1 = numbers(3, 3, seed=3), numbers(3, 3, seed=4)
both_heads = torch.cat([first, second], dim=1)
in_sum = first @ block_0 + second @ block_1
print("side by side = sum: ", torch.allclose(both_heads @ torch.cat([block_0, block_1]), in_sum))
the_mean = (first + second) / 2 @ block_0
halves = torch.cat([block_0 / 2, block_0 / 2])
print("equal blocks = mean:", torch.allclose(both_heads @ halves, the_mean))

# %% [markdown]
# ## 3 · What does it cost?
#
# **Predict.** The paper that introduced the Transformer has $d = 512$ and $h = 8$. One head of full width has three matrices of 512 · 512 parameters each. How many parameters does your `ConcatMultiHead(512, 8)` have?
#
# <details><summary>About 0.8 million</summary>That is one head: 3 · 512 · 512. There are eight.</details>
# <details><summary>About 6.3 million</summary>That is 8 · 3 · 512 · 512, all heads. The output projection takes in 8 · 512 features, which is another 8 · 512 · 512.</details>
# <details><summary>About 8.4 million</summary>Yes: 4 · 8 · 512 · 512. That is eight times what one head costs together with its own block of W<sup>O</sup>.</details>

# %%
eight_full = ConcatMultiHead(512, 8)
print(f"{sum(weight.numel() for weight in eight_full.parameters()):,} parameters")

# %% [markdown]
# So make each head *narrow*, $d_{\text{head}} = d / h$ wide: here 64. Eight make 512 again. The matrices of a head are now $d \times d_{\text{head}}$, here 512 × 64.
#
# Now one matrix $W^Q$ of 512 × 512 makes the queries of all heads at once. Its first 64 columns are $W^Q_0$, and so on: the first 64 *query* features of a token go to head 0. Keys and values likewise: *the heads become an axis*. $W^O$ is 512 × 512 too, with 64 rows for each $W^O_i$.
#
# The price: each head compares and passes on only 64 features.

# %% [markdown]
# ### Narrow heads by hand
#
# Two tokens of six features, room for three heads:
#
# **From the lecture**: “Try this problem” in *Introduction to Transformers*.

# %%
two_tokens = torch.tensor([[0.0, 1.0, 1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 0.0, -1.0, -1.0, 1.0]])
six_features = [str(i) for i in range(6)]
figures.steps({"X": (two_tokens, "feature", six_features)}, "token", ["flying", "arrows"])

# %% [markdown]
# On the slide, a head takes its query from features 0 and 1, its key from features 2 and 3, and its value from features 4 and 5. Call it head 0. Its matrices are 6 × 2:

# %%
features_01, features_23, features_45 = torch.eye(6).chunk(3, dim=1)  # each (6, 2)
figures.steps(
    {
        "W^Q of head 0": (features_01, "query feature", ["0", "1"]),
        "W^K of head 0": (features_23, "key feature", ["0", "1"]),
        "W^V of head 0": (features_45, "value feature", ["0", "1"]),
    },
    "feature of the token",
    six_features,
)
print("X W^Q of head 0, flying and arrows:", (two_tokens @ features_01).tolist())

# %% [markdown]
# What to see: each column holds a single 1. So each of these matrices copies two features of the token and drops the others.
#
# **Exercise** (10 minutes). Let head 1 take its *query* from features 2 and 3 and its *key* from features 0 and 1. Its value comes from features 4 and 5 again. Compute by hand what heads 0 and 1 give for *flying*. Put both outputs side by side, head 0 first: four numbers, to three decimals.
#
# <details><summary>Hint 1</summary>In head 0, <em>flying</em> has the query [0, 1], the key [1, 1] and the value [1, 0], as in lesson 1. Write down the same for <em>arrows</em>, then both again for head 1.</details>
# <details><summary>Hint 2</summary>A score is a dot product of <em>two</em> numbers, so divide it by √2. The width of the embedding does not matter.</details>

# %% exercise flying_heads
# flying_heads = [?, ?, ?, ?]      head 0, then head 1, to three decimals
# BEGIN SOLUTION
flying_heads = [0.609, 0.196, -0.340, 0.670]
# END SOLUTION

# %% check flying_heads points=1
with Check("flying_heads", "both heads for `flying`") as check:
    answer = check.value(4)
    for head, sealed in ((0, "4aeb18809961b9c5"), (1, "12ec4a26f4bb422b")):
        pair = answer[2 * head : 2 * head + 2]
        check.equal(
            pair[0] + 2 * pair[1],
            torch.tensor(1.0, dtype=torch.float64),
            f"in head {head}, a + 2b is 1 for every weighted average [a, b] of [1, 0] and [-1, 1]",
            hint="either the weights do not sum to 1, or they do not multiply these two values, or "
            "the two numbers are swapped",
            within=0.02,  # two decimals are accepted
        )
        check.seal(
            pair,
            sealed,
            f"head {head} should give other numbers",
            hint="take the query of flying and both keys of this head: two dot products, divide "
            "by √2, softmax, weighted sum of the values",
        )
# BEGIN HIDDEN TESTS
with Check("flying_heads", "three decimals") as check:
    expected = torch.tensor([0.6089, 0.1956, -0.3395, 0.6698], dtype=torch.float64)
    check.equal(check.value(4), expected, "both heads", within=0.005)
# END HIDDEN TESTS

# %% [markdown]
# Same token, same values, other matrices: head 0 gives most weight to *flying* itself, head 1 to *arrows*.

# %% [markdown]
# ### Program two heads
#
# Now answer the question of this lesson by hand. These embeddings are made to be read: each feature is 1 if its name fits the token, else 0. There is one verb, and *before* and *after* say on which side of it a token stands.


# %% given embedded
FEATURES = ["noun", "verb", "before", "after", "dog", "cat", "bird", "fish"]


def embedded(words: list[str]) -> Tensor:
    """Words with one verb (chased, saw or fed) -> (length, 8): the features of each word."""
    verb = next(i for i, word in enumerate(words) if word in ("chased", "saw", "fed"))
    rows = []
    for i, word in enumerate(words):
        kind = [word in FEATURES[4:], i == verb, i < verb, i > verb]
        rows.append([float(fits) for fits in (*kind, *(word == noun for noun in FEATURES[4:]))])
    return torch.tensor(rows, dtype=torch.float64)


# %%
dog_first = ["the", "dog", "chased", "the", "cat", "today"]
figures.steps({"embeddings": (embedded(dog_first), "feature", FEATURES)}, "token", dog_first)

# %% [markdown]
# With $d = 8$ and two heads, each head is four features wide: enough for a value that names one of four nouns.
#
# **Predict.** Head 0 should find the noun before the verb. Its key is the feature *before* alone, and the query of *chased* asks for it. Which tokens get most of the weight?
#
# <details><summary><em>dog</em></summary>It shares its key with <em>the</em>, which also stands before the verb.</details>
# <details><summary><em>the</em> and <em>dog</em>, equally</summary>Yes: both have this feature, so their keys are equal. A key can add up several features. Which ones tell <em>dog</em> from <em>the</em> and from <em>cat</em>?</details>
# <details><summary><em>dog</em> and <em>cat</em>, equally</summary>That happens with the feature <em>noun</em> as the key.</details>

# %%
is_verb, is_before = embedded(dog_first)[:, 1:2], embedded(dog_first)[:, 2:3]  # (length, 1)
at_verb = attention(10 * is_verb, is_before, is_before)[1][2]
figures.word_links({"the key is “before” alone": (dog_first, 2, at_verb)})

# %% [markdown]
# **Exercise** (20 minutes). Set the matrices of both heads, so that the verb attends to *who* in head 0 and to *whom* in head 1.
#
# <details><summary>Hint 1</summary>Start with <code>torch.zeros(2, 8, 4)</code>. The rows are features of the token, the columns are features of the query. <code>w_query[:, 1, 0] = 1.0</code> gives query feature 0 of both heads the feature <em>verb</em>.</details>
# <details><summary>Hint 2</summary>The same column of <code>w_key[0]</code> makes key feature 0. It should be larger for a noun before the verb than for every other token. Two of the token's features, added up, do it.</details>
# <details><summary>Hint 3</summary>The right token, but a weight below 0.9? Larger numbers in one of the matrices give larger scores, and softmax gets sharper.</details>


# %% exercise who_and_whom
def who_and_whom() -> tuple[Tensor, Tensor, Tensor]:
    """The matrices w_query, w_key, w_value of two heads, each (2, 8, 4): (heads, d_model, d_head).

    Head i projects the embeddings x (length, 8) to x @ w_query[i], and so on, and divides its
    scores by √4. At the verb, head 0 gives the noun before the verb a weight above 0.9, and head
    1 the noun after it. Each head's output at the verb names its noun in the four features dog,
    cat, bird, fish, in this order: close to 1 (within 0.1) for this noun, close to 0 for the rest.
    """
    # BEGIN SOLUTION
    w_query, w_key, w_value = torch.zeros(3, 2, 8, 4)
    w_query[:, 1, 0] = 10.0  # the verb asks in both heads
    w_key[:, 0, 0] = 1.0  # a noun answers
    w_key[0, 2, 0] = 1.0  # in head 0 more so before the verb
    w_key[1, 3, 0] = 1.0  # in head 1 more so after it
    w_value[:, 4:] = torch.eye(4)  # which noun
    return w_query, w_key, w_value
    # END SOLUTION


# %% check who_and_whom points=3
def at_the_verb(check, sentence):
    """What both heads attend to at the verb, and what they give there: (2, length), (2, 4)."""
    three = check.call(returns=("w_query", "w_key", "w_value"))
    for matrix in three:
        check.shape(matrix, head=2, d_model=8, d_head=4)
    tokens = embedded(sentence)
    queries, keys, values = (tokens @ matrix.detach().double() for matrix in three)
    weights = (queries @ keys.mT / 2).softmax(-1)
    verb = int(tokens[:, 1].argmax())
    weights, outputs = weights[:, verb], (weights @ values)[:, verb]
    check.true(
        not (weights.isnan().any() or outputs.isnan().any()),
        "at the verb, weights or outputs are NaN (not a number)",
        hint="do your matrices hold an infinity? 0 · inf is NaN: use large numbers instead",
    )
    return weights, outputs


def attends(check, head, weights, sentence, position):
    """Check that the noun at this position gets a weight above 0.9, or say what gets it."""
    noun, got, most = sentence[position], float(weights[position]), float(weights.max())
    side = "before" if head == 0 else "after"
    top = [i for i, weight in enumerate(weights) if float(weight) > most - 1e-6]
    words = " and ".join(f"“{sentence[i]}”" for i in top)
    hint = f"at the verb, query · key of head {head} should be largest for a noun {side} it"
    if len(top) == len(sentence):
        symptom = "all tokens get the same"
        hint = "either the verb's query is 0, or no key differs in the features that it asks for"
    elif top == [position]:
        symptom = f"it gets {got:.2f}"
        hint = "a larger difference between the scores makes the weights sharper"
    elif position in top:
        symptom = f"{words} get {got:.2f} each"
        hint = f"query · key should be larger for a noun {side} the verb than for any other token"
    elif got < float(weights[torch.arange(len(sentence)) != position].min()):
        symptom = "it gets the least of all"
        hint += "; are the signs of query and key the same?"
    else:
        symptom = f"{words} {'gets' if len(top) == 1 else 'get'} most, {most:.2f}"
    told = " ".join(sentence)
    claim = f"in “{told}”, head {head} should give “{noun}” more than 0.9 ({symptom})"
    check.true(got > 0.9, claim, hint)


def names_it(check, head, output, noun):
    """Check that the head's output names this noun."""
    expected = torch.tensor([float(noun == name) for name in FEATURES[4:]], dtype=torch.float64)
    check.equal(
        output,
        expected,
        f"head {head} should name “{noun}” in its output at the verb: dog, cat, bird, fish",
        hint="the value of a token should be its last four features, in their order",
        within=0.1,
    )


for title, sentence, positions in (
    ("the sentence of the picture", "the dog chased the cat today", (1, 4)),
    ("nouns swapped", "the cat chased the dog today", (1, 4)),
    ("other words, longer", "once again a small bird saw the old fish there", (4, 8)),
):
    with Check("who_and_whom", title) as check:
        sentence = sentence.split()
        weights, outputs = at_the_verb(check, sentence)
        for head, position in enumerate(positions):
            attends(check, head, weights[head], sentence, position)
        for head, position in enumerate(positions):
            names_it(check, head, outputs[head], sentence[position])
# BEGIN HIDDEN TESTS
for sentence, positions in (
    ("dog fed cat", (0, 2)),
    ("the bird chased the bird", (1, 4)),
    ("a fish saw a small dog over there", (1, 5)),
    ("today the old cat fed one fish", (3, 6)),
    ("bird saw the cat again today", (0, 3)),
):
    with Check("who_and_whom", sentence) as check:
        sentence = sentence.split()
        weights, outputs = at_the_verb(check, sentence)
        for head, position in enumerate(positions):
            attends(check, head, weights[head], sentence, position)
            names_it(check, head, outputs[head], sentence[position])
# END HIDDEN TESTS

# %% [markdown]
# Your heads, in the figure that opened the lesson. Change the words if you like: one verb, any number of tokens.


# %%
def programmed(words: list[str]) -> tuple[Tensor, Tensor]:
    """The outputs (2, length, 4) and weights (2, length, length) of your two heads."""
    tokens = embedded(words)
    query, key, value = (tokens @ matrix.double() for matrix in who_and_whom())
    return attention(query, key, value)


my_words = ["the", "dog", "chased", "the", "cat", "today"]
my_weights = programmed(my_words)[1]
verb_at = int(embedded(my_words)[:, 1].argmax())
figures.word_links(
    {
        f"your head {head}: {asks}": (my_words, verb_at, my_weights[head, verb_at])
        for head, asks in ((0, "who?"), (1, "whom?"))
    }
)

# %% [markdown]
# **Predict.** Suppose only the feature *verb* has numbers in your $W^Q$. What does the row of *dog* look like in the maps of your heads?
#
# <details><summary>All weight on <em>chased</em></summary>The query of <em>dog</em> is 0, so its score with every key is 0.</details>
# <details><summary>Like the row of <em>chased</em></summary>Each token has a query of its own, and that of <em>dog</em> is 0.</details>
# <details><summary>The same weight for all six tokens</summary>Yes: all its scores are 0, and softmax of equal scores gives equal weights. Without a mask, a head cannot attend to nothing.</details>

# %%
both_maps = programmed(my_words)[1]
figures.steps(
    {f"your head {head}": (both_maps[head], "key", my_words) for head in (0, 1)},
    "query",
    my_words,
)

# %% [markdown]
# What to see: in the row of *chased*, head 0 attends to who and head 1 to whom. If only the verb has a query, all other rows are equal: these heads have nothing to say about them.
#
# **Predict.** *The cat was chased by the dog.* What does head 0 give at *chased*?
#
# <details><summary><em>cat</em></summary>Yes. Your head finds the noun <em>before the verb</em>, and here that is not the one who chases. It answers “who” only in sentences of one kind.</details>
# <details><summary><em>dog</em>, who chases</summary>Nothing in these embeddings tells the head who chases. It knows only which noun stands before the verb.</details>
# <details><summary>A blend of both</summary>Only the <em>cat</em> stands before the verb.</details>

# %%
three_sentences = [
    "the dog chased the cat",
    "the cat chased the dog",
    "the cat was chased by the dog",
]
found_nouns = []
for told in three_sentences:
    split_up = told.split()
    found_nouns.append(programmed(split_up)[0][:, split_up.index("chased")])  # (head, d_head)
both_nouns = torch.stack(found_nouns)
figures.steps(
    {f"head {head} at “chased”": (both_nouns[:, head], "feature", FEATURES[4:]) for head in (0, 1)},
    "sentence",
    three_sentences,
)

# %% [markdown]
# What to see: side by side, the outputs of your two heads tell the first two sentences apart. The question of the beginning has an answer. But the third row names the same nouns as the second, and there the answer is wrong. A map of weights tells where a head attends, and your words “who” and “whom” are an interpretation.

# %% [markdown]
# ## 4 · Split into heads, and merge again
#
# Splitting goes from (batch, length, d_model) to (batch, heads, length, d_head). Here are three tokens of four features, in two heads.

# %%
counted = [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0]]
figures.steps(
    {
        "x: four features": (counted, "feature", ["0", "1", "2", "3"]),
        "head 0": ([line[:2] for line in counted], "feature", ["0", "1"]),
        "head 1": ([line[2:] for line in counted], "feature", ["0", "1"]),
    },
    "token",
    ["0", "1", "2"],
)

# %% [markdown]
# What to see: each head has *all tokens*, but only its share of the features. Attention treats each head as a sequence of its own: heads are an axis like the batch.
#
# **Predict.** `x` has the shape (1, 3, 4), as in the picture. Someone writes `x.view(1, 2, 3, 2)`. That is (batch, heads, length, d_head), in one step. What does head 0 get?
#
# <details><summary>The first two features of each token</summary>It should. But <code>view</code> moves no number in memory. It reads on, row by row, and fills the new shape.</details>
# <details><summary>The numbers 0 to 5: the first token and half of the second</summary>Yes. The shape is right, the contents are wrong, and no error tells you.</details>
# <details><summary>An error</summary>12 numbers fit into (1, 2, 3, 2), and <code>view</code> asks for nothing else here.</details>

# %%
print(torch.tensor(counted).view(1, 2, 3, 2)[0, 0])

# %% [markdown]
# **Exercise** (15 minutes). Do it in two steps: split the last axis in two, then move the heads axis forward. If the heads cannot share the features evenly, raise an error that says so.
#
# <details><summary>Hint 1</summary><code>reshape</code> may split an axis in two where it stands: (batch, length, d_model) into (batch, length, heads, d_head). That is safe: each token keeps its numbers, in their order.</details>
# <details><summary>Hint 2</summary>Then exchange two axes. <code>transpose</code> does this, and each number keeps its head, its token and its feature.</details>
# <details><summary>Hint 3</summary><code>raise ValueError(f"…")</code>, with both numbers in the text.</details>


# %% exercise split_heads
def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """Give each head its share of every token's features, in order, head 0 first.

    (batch, length, d_model) -> (batch, num_heads, length, d_head), d_head = d_model / num_heads.
    Raises a `ValueError` that names d_model and num_heads if that is not a whole number.
    """
    # BEGIN SOLUTION
    d_model = x.shape[-1]
    if d_model % num_heads:
        raise ValueError(f"{num_heads} heads cannot share {d_model} features evenly")
    return x.unflatten(-1, (num_heads, d_model // num_heads)).transpose(1, 2)
    # END SOLUTION


# %% check split_heads points=2
hint = "split the last axis into (heads, d_head), then exchange the axes of length and heads"
with Check("split_heads", "the three tokens of the picture", hint) as check:
    x = torch.arange(12, dtype=torch.float64).reshape(1, 3, 4)
    heads = check.call(x, 2)
    check.shape(heads, batch=1, head=2, length=3, d_head=2)
    check.equal(
        heads[0, 0],
        torch.tensor([[0.0, 1.0], [4.0, 5.0], [8.0, 9.0]], dtype=torch.float64),
        "head 0 should get the first two features of every token",
    )
    check.equal(
        heads[0, 1],
        torch.tensor([[2.0, 3.0], [6.0, 7.0], [10.0, 11.0]], dtype=torch.float64),
        "head 1 should get the last two features of every token",
    )
with Check("split_heads", "a batch", hint) as check:
    # a view, whose memory is in another order
    x = torch.arange(120, dtype=torch.float64).reshape(5, 2, 12).transpose(0, 1)
    x.requires_grad_()
    heads = check.call(x, 4)
    check.shape(heads, batch=2, head=4, length=5, d_head=3)
    # sequence 1, token 2 starts at the number 2 · 24 + 1 · 12 = 60; head 3 starts 9 features later
    check.equal(
        heads[1, 3, 2],
        torch.tensor([69.0, 70.0, 71.0], dtype=torch.float64),
        "sequence 1, head 3, token 2: the last three features of that token",
    )
    slope = check.gradient(heads[1, 3], x)
    check.equal(slope.sum(), 15.0, "a gradient should flow back to the 15 numbers of that head")
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
# **Exercise** (5 minutes). Now the way back: put each token's features from all heads side by side again.
#
# <details><summary>Hint</summary>The same two steps in reverse: exchange the axes, then make one axis of the last two. After a transpose, <code>view</code> refuses, because the numbers are not in this order in memory. <code>reshape</code> and <code>flatten</code> copy them if they must.</details>


# %% exercise merge_heads
def merge_heads(x: Tensor) -> Tensor:
    """Put every token's heads side by side again, head 0 first.

    (batch, num_heads, length, d_head) -> (batch, length, num_heads * d_head).
    """
    # BEGIN SOLUTION
    return x.transpose(1, 2).flatten(-2)
    # END SOLUTION


# %% check merge_heads points=2
hint = "exchange the axes of heads and length, then make one axis of the last two"
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
        "each token should have its four features again, those of head 0 first",
    )
with Check("merge_heads", "a batch", hint) as check:
    heads = numbers(2, 3, 5, 4).requires_grad_()
    merged = check.call(heads)
    check.shape(merged, batch=2, length=5, d_model=12)
    check.equal(
        merged[1, 3],
        torch.cat([heads[1, 0, 3], heads[1, 1, 3], heads[1, 2, 3]]),
        "sequence 1, token 3: its features in head 0, then in head 1, then in head 2",
    )
    slope = check.gradient(merged[1, 3], heads)
    check.equal(slope.sum(), 12.0, "a gradient should flow back to the 12 numbers of that token")
# BEGIN HIDDEN TESTS
with Check("merge_heads", "many sizes, float32, and views") as check:
    for shape in ((2, 3, 5, 4), (3, 2, 2, 2), (1, 1, 4, 3), (4, 6, 1, 2), (2, 5, 3, 1)):
        for dtype in (torch.float64, torch.float32):
            heads = numbers(*shape, seed=4, scale=2.0, dtype=dtype)
            expected = torch.cat([heads[:, i] for i in range(shape[1])], dim=-1)
            check.equal(check.call(heads), expected, "each token's heads, side by side")
    heads = numbers(4, 5, 3, 2, seed=5).permute(3, 2, 1, 0)
    check.equal(check.call(heads), torch.cat([*heads.unbind(1)], -1), "the heads of a view")
    heads = numbers(2, 5, 3, 4, seed=6).transpose(1, 2)
    check.equal(check.call(heads), torch.cat([*heads.unbind(1)], -1), "fresh from a transpose")
# END HIDDEN TESTS

# %% [markdown]
# Follow a number through your own two functions. Choose one with the arrow keys or a click: the letter and the colour show which head gets it. Then tick *as a view* to see where the one-step `view` puts it.
#
# **Puzzle.** How many of the 24 numbers does the one-step `view` put where your split puts them?
#
# <details><summary>Answer</summary>Four: 0 and 1 at the beginning, 22 and 23 at the end. All others end up in the wrong head, the wrong row, or both.</details>

# %%
from transformer_course.widgets import show_reshape

show_reshape(split_heads, merge_heads, length=4, d_model=6, num_heads=3)

# %% [markdown]
# What to see: in your split, row 2 of each head belongs to token 2. In the view, head 0 gets the numbers 0 to 7: all of token 0, and two features of token 1. Its four rows are not the four tokens.
#
# **Predict.** Shapes also help you check formulas. A slide gives the output of head $\ell$:
#
# $$\text{output}_\ell = \mathrm{softmax}(X Q_\ell K_\ell^\top X^\top) * X V_\ell \qquad \text{output}_\ell \in \mathbb{R}^{d/h}$$
#
# $X$ holds $n$ tokens of width $d$. Here $Q_\ell$, $K_\ell$, $V_\ell$ are *weight matrices* of shape $d \times d/h$. The $*$ is a matrix product, and the scale follows on a later slide. Is anything else wrong?
#
# <details><summary>No, nothing</summary>Go through the shapes: the weights are n × n, and X V is n × d/h.</details>
# <details><summary>The shape of the output: it should be n × d</summary>That is what all heads give, side by side. One head is d/h wide.</details>
# <details><summary>The shape of the output: it should be n × d/h</summary>Yes. A head gives a row of width d/h for each of the n tokens. The slide gives the shape of a single row.</details>
#
# **From the lecture**: “Multi-Head Self-Attention” in *Transformers* (Data Science II).

# %%
# five tokens, d = 6, two heads of width 3
some_x, narrow = numbers(5, 6), [numbers(6, 3, seed=seed) for seed in (1, 2, 3)]
one_output = attention(*(some_x @ matrix for matrix in narrow))[0]
print("one head gives", tuple(one_output.shape))

# %% [markdown]
# ### Bug hunt: what is split?
#
# Another lecture also makes its heads $d_h = d / h$ wide, but it slices $X$. With $d = 16$ and two heads, head 0 works on `X[:, :8]` and head 1 on `X[:, 8:]`. In its formulas, the index $h$ says *which* head it is:
#
# $$Q_h = X_h W^{(q)}_h, \quad K_h = X_h W^{(k)}_h, \quad V_h = X_h W^{(v)}_h \qquad \text{each } W_h \text{ of shape } [d_h, d_h]$$
#
# In part 3, you multiply first and then slice the product $XW$. The next cell compares the two ways, with $d = 8$.
#
# **Predict.** The cell changes feature 3 of each token. Which heads get other queries?
#
# <details><summary>Head 0, in both ways</summary>That is so for slices of X. In XW, each query feature is a sum over all 8 features of the token.</details>
# <details><summary>Slices of X: head 0. Slices of XW: both heads</summary>Yes. Head 1 of the slices reads features 4 to 7 only.</details>
# <details><summary>Both heads, in both ways</summary>Head 1 of the slices never reads feature 3: its part of the token begins at feature 4.</details>
#
# **From the lecture**: “MHA (v1.5): multiple heads + split” in *Transformers (Part 2)*.

# %%
before = numbers(1, 5, 8)
after = before.clone()
after[:, :, 3] += 1.0
per_slice = [numbers(4, 4, seed=1), numbers(4, 4, seed=2)]
one_matrix = numbers(8, 8, seed=3)
for title, queries_of in (
    ("slices of X ", lambda x: [x[..., :4] @ per_slice[0], x[..., 4:] @ per_slice[1]]),
    ("slices of XW", lambda x: [(x @ one_matrix)[..., :4], (x @ one_matrix)[..., 4:]]),
):
    pairs = zip(queries_of(after), queries_of(before), strict=True)
    changed = [(new - old).abs().max().item() for new, old in pairs]
    print(f"{title}: head 0 changes by {changed[0]:.2f}, head 1 by {changed[1]:.2f}")

# %% [markdown]
# Here is the same for every feature:

# %%
depends = [[(row < 4) == (column < 4) for column in range(8)] for row in range(8)]
eight = [str(i) for i in range(8)]
figures.masks(
    {
        "slices of X": (depends, "feature of the token", eight),
        "slices of XW": ([[True] * 8] * 8, "feature of the token", eight),
    },
    "feature of the queries",
    [f"{i} (head {i // 4})" for i in range(8)],
)

# %% [markdown]
# What to see: a dot means that this query feature depends on that feature of the token. On the left, each head is blind to half of each token. The same holds for keys and values. So if feature 3 says *is an animal*, head 1 can neither look for animals by it nor fetch it from another token. On the right each head reads the whole token, and only the *result* is narrow. So project first, then split. (The slices have fewer parameters, and pay for it with this blindness.)

# %% [markdown]
# **Exercise** (5 minutes). Write the queries of all heads as they should be, for any number of heads.
#
# <details><summary>Hint</summary>One matrix product and one of your own functions.</details>


# %% exercise repaired_queries
def repaired_queries(x: Tensor, w_query: Tensor, num_heads: int) -> Tensor:
    """The queries of all heads, each made from whole tokens: what the slide's Q_h should be.

    x (batch, length, d_model); w_query (d_model, d_model): x @ w_query holds the queries of all
    heads side by side, head 0 first. -> (batch, num_heads, length, d_model / num_heads).
    """
    # BEGIN SOLUTION
    return split_heads(x @ w_query, num_heads)
    # END SOLUTION


# %% check repaired_queries points=1
hint = "multiply whole tokens by w_query, then split the result into heads"
with Check("repaired_queries", "one token, two heads", hint) as check:
    x = torch.tensor([[[1.0, 2.0, 3.0, 4.0]]], dtype=torch.float64)
    # this matrix adds up the features from each to the last: 1 2 3 4 becomes 10 9 7 4
    queries = check.call(x, torch.ones(4, 4, dtype=torch.float64).tril(), 2)
    check.shape(queries, batch=1, head=2, length=1, d_head=2)
    check.equal(
        queries,
        torch.tensor([[[[10.0, 9.0]], [[7.0, 4.0]]]], dtype=torch.float64),
        "the query features are 10, 9, 7, 4: head 0 should get 10 and 9, head 1 should get 7 and 4",
    )
with Check("repaired_queries", "a batch", hint) as check:
    x, w_query = numbers(2, 5, 12), numbers(12, 12, seed=1)
    queries = check.call(x, w_query, 3)
    check.shape(queries, batch=2, head=3, length=5, d_head=4)
    for head, columns in ((0, slice(0, 4)), (1, slice(4, 8)), (2, slice(8, 12))):
        check.equal(
            queries[:, head],
            torch.einsum("bld,do->blo", x, w_query[:, columns]),
            f"head {head} should be whole tokens times columns {columns.start} to "
            f"{columns.stop - 1}",
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
# ### Bug hunt: which way round is W^O?
#
# A third slide lists the shapes of one layer: $d = 512$, eight heads, $d_v = 64$, and “$W^O: d \times h d_v$”. Its formula for a token is $a_i = (\text{head}^1 \oplus \cdots \oplus \text{head}^h)\, W^O$, where $\oplus$ puts vectors side by side. Multiply by a matrix of this shape, once with the slide's sizes and once with others.
#
# **From the lecture**: “Multi-head Attention Layer” in *Introduction to Transformers*.

# %%
for width, side_by_side_width in ((512, 8 * 64), (6, 8)):
    slide_matrix = numbers(width, side_by_side_width)
    sizes = f"d = {width}, h·d_v = {side_by_side_width}"
    try:
        result = numbers(side_by_side_width) @ slide_matrix
        print(f"{sizes}: gives width {result.numel()}")
    except RuntimeError as error:
        print(f"{sizes}: {error}")

# %% [markdown]
# With the slide's sizes the matrix is square, so there is no error. Other sizes reveal the problem: a row vector of width $h d_v$ needs a matrix of shape $h d_v \times d$, as in the original paper.
#
# A matrix of shape $d \times h d_v$ is not nonsense, though. `nn.Linear` stores its matrix as (out, in), and *transposes* it when you call it.

# %% [markdown]
# **Exercise** (5 minutes). You get the heads, and the matrix in the slide's shape. Put the heads of each token side by side, and project them to the width of the model.
#
# <details><summary>Hint</summary>Three short steps: one of your functions, a transpose, a matrix product.</details>


# %% exercise repaired_output
def repaired_output(heads: Tensor, w_output: Tensor) -> Tensor:
    """Each token's heads side by side, times w_output the right way round.

    heads (batch, num_heads, length, d_v), w_output (d_model, num_heads * d_v) as on the slide
    -> (batch, length, d_model).
    """
    # BEGIN SOLUTION
    return merge_heads(heads) @ w_output.T
    # END SOLUTION


# %% check repaired_output points=1
hint = (
    "merge the heads to (batch, length, h·d_v); their matrix, made of w_output, is (h·d_v, d_model)"
)
with Check("repaired_output", "one token, two heads", hint) as check:
    heads = torch.tensor([[[[1.0, 2.0]], [[3.0, 4.0]]]], dtype=torch.float64)
    w_output = torch.tensor(
        [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0]], dtype=torch.float64
    )
    output = check.call(heads, w_output)
    check.shape(output, batch=1, length=1, d_model=3)
    check.equal(
        output,
        torch.tensor([[[1.0, 3.0, 10.0]]], dtype=torch.float64),
        "[1, 2, 3, 4] should give its first number, its third, and the sum of all",
    )
with Check("repaired_output", "a square matrix, a batch", hint) as check:
    heads, w_output = numbers(2, 3, 5, 2), numbers(6, 6, seed=1).requires_grad_()
    output = check.call(heads, w_output)
    check.shape(output, batch=2, length=5, d_model=6)
    token = torch.cat([heads[1, 0, 4], heads[1, 1, 4], heads[1, 2, 4]])
    check.equal(
        output[1, 4],
        w_output @ token,
        "each output feature is one row of the matrix times all heads of a token",
        hint="with a square matrix no error tells which way round it is",
    )
    slope = check.gradient(output, w_output)
    check.true(bool(slope.abs().max() > 0), "a gradient should flow back to w_output")
# BEGIN HIDDEN TESTS
with Check("repaired_output", "other sizes") as check:
    for shape, d_model in (((2, 3, 4, 5), 7), ((3, 2, 3, 2), 4), ((1, 4, 2, 1), 3)):
        for dtype in (torch.float64, torch.float32):
            heads = numbers(*shape, seed=9, dtype=dtype)
            w_output = numbers(d_model, shape[1] * shape[3], seed=10, dtype=dtype)
            expected = F.linear(torch.cat([*heads.unbind(1)], dim=-1), w_output)
            check.equal(check.call(heads, w_output), expected, "all heads of each token, projected")
# END HIDDEN TESTS

# %% [markdown]
# ### Rows or columns?
#
# A slide writes $q_i = W_Q\, x_i$ for one token. The next slide writes $Q = X W_Q$ for all of them, with the same letter $W_Q$. In the first, a token is a *column*. In the second, the tokens are the *rows* of $X$.
#
# **Predict.** Take one matrix $W$ for both, of shape $d \times d$ as on the slides. Is row $i$ of $XW$ the vector $W x_i$, for all tokens?
#
# <details><summary>Yes, both multiply x by W</summary>W x takes the dot products of x with the <em>rows</em> of W. X W takes them with its <em>columns</em>.</details>
# <details><summary>No, one of the two gives an error</summary>W is square here, so both products exist. That is why the slip is easy to miss.</details>
# <details><summary>Only if W equals its transpose</summary>Yes. Row i of X W is the vector Wᵀ x<sub>i</sub>. To get W x<sub>i</sub> as a row, multiply by Wᵀ: X Wᵀ.</details>
#
# **From the lecture**: “self-attention in transformer” in *transformer* (lecture 7 of Deep Learning, spring 2025).

# %%
four_tokens, square = numbers(4, 3), numbers(3, 3, seed=1)
as_columns = torch.stack([square @ token for token in four_tokens])  # W x_i, one below another
stored = nn.Linear(3, 3, bias=False).double()
stored.load_state_dict({"weight": square})
for title, result in (
    ("X W          ", four_tokens @ square),
    ("X Wᵀ         ", four_tokens @ square.T),
    ("nn.Linear, W ", stored(four_tokens)),
):
    print(f"{title} has the rows W x_i: {torch.allclose(result, as_columns)}")

# %% [markdown]
# What to see: `nn.Linear` stores the matrix of the *column* formula and applies it to *rows*. So a transpose stands where a matrix of one convention meets a formula of the other:
#
# | tokens are | formula | shape of W |
# |---|---|---|
# | columns | $W x$ | (out, in) |
# | rows, as in this lesson | $X W$ | (in, out) |
# | rows, in `nn.Linear` | $X W^\top$ | (out, in) |
#
# This also decides where a head's part of a matrix lies. A dot belongs to head 0 of two:

# %%
of_columns = torch.tensor([[True, True, False, False]] * 4)
matrix_axes = ["0", "1", "2", "3"]
figures.masks(
    {
        "W^Q in X W": (of_columns, "out", matrix_axes),
        "W^O in X W": (of_columns.T, "out", matrix_axes),
        "w_query.weight": (of_columns.T, "in", matrix_axes),
        "w_output.weight": (of_columns, "in", matrix_axes),
    },
    "rows of the matrix",
    matrix_axes,
)

# %% [markdown]
# What to see: what is a column in the formula is a row in the stored `weight`.

# %% [markdown]
# **A good place to stop.** Next: all parts together. (Back later? Run all cells above first.)

# %% [markdown]
# ## 5 · Multi-head attention
#
# With $W^Q$, $W^K$, $W^V$, $W^O$ of shape $d \times d$, the block has four steps:
#
# 1. Project queries, keys and values: (batch, length, d_model).
# 2. Split each into heads: (batch, heads, length, d_head).
# 3. Compute attention for all heads at once. Batch and heads are leading axes, and attention leaves leading axes alone.
# 4. Merge the heads, and apply the output projection.

# %% [markdown]
# **Predict.** 8 sequences of 20 tokens go through 4 heads. What is the shape of the attention weights?
#
# <details><summary>(8, 4, 20, 20)</summary>Yes: one weight for each sequence, head, query and key.</details>
# <details><summary>(8, 20, 20)</summary>That would be a single head, or the mean of four. Each head has weights of its own.</details>
# <details><summary>(8, 20, 20, 4)</summary>The heads axis comes before the length. So the last two axes stay query and key, as attention expects.</details>

# %%
narrow_heads = numbers(8, 4, 20, 16)  # (batch, heads, length, d_head)
all_outputs, all_weights = attention(narrow_heads, narrow_heads, narrow_heads)
print("weights", tuple(all_weights.shape), "outputs", tuple(all_outputs.shape))

# %% [markdown]
# Each score is a dot product of $d_{\text{head}}$ numbers, so it is divided by $\sqrt{d_{\text{head}}}$. `attention` reads this width from its queries.
#
# **Cross-attention** takes its queries from one sequence, and its keys and values from another, often of a different length. In a translation model, for example, the translation attends to the original. So `forward` takes all three. For self-attention, pass x three times.

# %% [markdown]
# **Predict.** The scores are (batch, heads, query, key). A padding mask is (batch, 1, key). With *two* sequences and *two* heads, you pass this mask as it is. Sequence 0 has a padding token. What happens?
#
# <details><summary>An error: the mask has an axis less</summary>With 2 sequences and 3 heads you get an error. Here the sizes fit by chance: broadcasting lines up axes from the right.</details>
# <details><summary>Both heads give the padding weight 0</summary>They should. But the batch axis of the mask lines up with the heads axis of the scores.</details>
# <details><summary>Only head 0 gives the padding weight 0</summary>Yes. Sequence 0 of the mask meets head 0 of the scores, in every sequence: in sequence 1, that head loses a real token. No error tells you. So such a mask needs a heads axis of its own.</details>

# %%
two_by_two = numbers(2, 2, 3, 4)  # (batch, heads, length, d_head)
is_token = torch.tensor([[[True, True, False]], [[True, True, True]]])  # (batch, 1, key)
spread = attention(two_by_two, two_by_two, two_by_two, is_token)[1]
for head in (0, 1):
    print(f"sequence 0, head {head}: token 0 gives the padding {spread[0, head, 0, 2]:.2f}")

# %% [markdown]
# **Exercise** (25 minutes). Build it with `split_heads`, `merge_heads` and `attention`, without a loop over the heads.
#
# <details><summary>Hint 1</summary>Begin without a mask. Six lines are enough: three projections with their splits, attention, merge, output projection.</details>
# <details><summary>Hint 2</summary>A mask with three axes gets a fourth: <code>mask[:, None]</code>. A mask (query, key) fits as it is, and so does one that already has its heads axis.</details>


# %% exercise MultiHeadAttention
class MultiHeadAttention(nn.Module):
    """Attention with several narrow heads at once.

    Layers: `w_query`, `w_key`, `w_value`, `w_output`, each an `nn.Linear(d_model, d_model)`, with
    a bias if `bias`. num_heads divides d_model.
    forward: query (batch, query_length, d_model), key and value (batch, key_length, d_model)
    -> output (batch, query_length, d_model) and the weights of every head
    (batch, num_heads, query_length, key_length).
    mask: bool, True = may attend; None allows all. Its shape is (query_length, key_length), or
    (batch, query_length or 1, key_length), the same for all heads, or with the heads:
    (batch, num_heads or 1, query_length or 1, key_length).
    A query that may attend to nothing gets weights of 0, and so the output w_output(0): no NaN.
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
hint = "four layers nn.Linear(d_model, d_model); project, split, attend, merge, then w_output"
roles = ("query", "key", "value", "output")


def biases_fit(check, module, bias):
    """Check that there are biases if there should be."""
    names = module.parameters().keys()
    layers = {f"w_{role}" for role in roles if f"w_{role}.weight" in names}
    with_bias = {name for name in layers if f"{name}.bias" in names}
    check.true(
        with_bias == (layers if bias else set()),
        f"with bias={bias}, {'every' if bias else 'no'} layer should have a bias",
        hint="pass `bias` to each of the four layers, w_output too",
    )


def loaded(check, d_model, num_heads, bias=True, scale=0.5):
    """A module with fixed weights, and these by name."""
    shapes = {f"w_{role}.weight": (d_model, d_model) for role in roles}
    if bias:
        shapes |= {f"w_{role}.bias": (d_model,) for role in roles}
    known = {name: numbers(*s, seed=i, scale=scale) for i, (name, s) in enumerate(shapes.items())}
    module = check.build(d_model, num_heads, bias).double()
    biases_fit(check, module, bias)
    module.load(known)
    return module, known


with Check("MultiHeadAttention", "an example you can do by hand", hint) as check:
    # eight features, two heads of four; every projection leaves a token as it is, the last doubles
    module, identity = check.build(8, 2, bias=False).double(), torch.eye(8, dtype=torch.float64)
    biases_fit(check, module, False)
    module.load({f"w_{role}.weight": identity * (1 + (role == "output")) for role in roles})
    query = torch.zeros(1, 5, 8, dtype=torch.float64)
    query[0, 0, 0] = query[0, 0, 5] = 2.0  # the other queries are 0
    # d_head = 4, so the scale is 1/2, and exp of the scaled scores of the first token is
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
            f"head {head}: softmax over the keys, of the scores of its four features divided by √4",
        )
    check.shape(output, batch=1, length=5, d_model=8)
    check.equal(
        output[0, :2, [1, 4]],
        torch.tensor([[7.0, 10.0], [8.0, 10.0]], dtype=torch.float64),
        "head 0 gives 3.5 and 4 for feature 1, head 1 gives 5 and 5 for feature 4; w_output "
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
        "head 1 should compare features 2 and 3 of the projected queries and keys",
    )
    check.shape(output, batch=2, length=4, d_model=6)
    projected = F.linear(value, known["w_value.weight"], known["w_value.bias"])
    parts = [weights[:, i] @ projected[..., 2 * i : 2 * i + 2] for i in (0, 1, 2)]
    check.equal(
        output,
        F.linear(torch.cat(parts, -1), known["w_output.weight"], known["w_output.bias"]),
        "the output should be w_output of the heads side by side, head 0 first",
    )
    slopes = module.gradients(output.square())
    still = [name for name, slope in slopes.items() if not slope.abs().max() > 0]
    # a bias of the keys adds the same to all scores of a query: softmax ignores it
    check.true(set(still) <= {"w_key.bias"}, "a gradient should reach every layer")
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
with Check("MultiHeadAttention", "float32, views, one token, evaluation") as check:
    module, known = check.build(6, 3), {}
    for i, (name, weight) in enumerate(module.parameters().items()):
        known[name] = numbers(*weight.shape, seed=60 + i, dtype=torch.float32)
    module.load(known)
    theirs = as_torch(known, 6, 3)
    x = numbers(6, 5, 2, seed=53, dtype=torch.float32).permute(2, 1, 0)
    for switched in (module.train(), module.eval()):
        for tokens in (x, x[:, :1], x[1:]):
            output, _ = switched.call(tokens, tokens, tokens, returns=("output", "weights"))
            check.equal(output, theirs(tokens, tokens, tokens)[0].detach(), "the output")
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
# The second check tests the mask:

# %% check MultiHeadAttention_mask points=2
hint = "a mask (batch, query or 1, key) needs a heads axis, mask[:, None]; all heads obey it"


def by_number(check, d_model, num_heads):
    """A module with fixed weights."""
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
    module, x = by_number(check, 6, 3), numbers(4, 4, 6)  # as many sequences as tokens
    free, free_weights = module.call(x, x, x, returns=("output", "weights"))
    causal = torch.ones(4, 4).tril().bool()
    output, weights = module.call(x, x, x, causal, returns=("output", "weights"))
    check.shape(weights, batch=4, head=3, query=4, key=4)
    allowed = free_weights * causal
    check.equal(
        weights,
        allowed / allowed.sum(-1, keepdim=True),
        "True = may attend: the weights of the allowed keys should sum to 1, in every head",
        hint="this mask (query, key) is bool and fits all scores: `attention` takes it as it is",
    )
    check.equal(
        output[:, 3],
        free[:, 3],
        "the last token may attend to all: its output should be as without a mask",
    )
    for_head_0 = torch.ones(4, 3, 4, 4).bool()
    for_head_0[:, 0] = causal  # (batch, head, query, key): heads 1 and 2 may see all
    _, weights = module.call(x, x, x, for_head_0, returns=("output", "weights"))
    allowed = free_weights * for_head_0
    check.equal(
        weights,
        allowed / allowed.sum(-1, keepdim=True),
        "a mask with four axes says what each head may see; here only head 0 is causal",
        hint="a mask with four axes has its heads axis already",
    )
with Check("MultiHeadAttention", "padding: as many sequences as heads", hint) as check:
    module = by_number(check, 6, 3)
    query, key, value = numbers(3, 2, 6), numbers(3, 4, 6, seed=1), numbers(3, 4, 6, seed=2)
    lengths = torch.tensor([3, 1, 4])
    mask = torch.arange(4) < lengths[:, None, None]  # (batch, 1, key)
    output, weights = module.call(query, key, value, mask, returns=("output", "weights"))
    check.shape(weights, batch=3, head=3, query=2, key=4)
    for i, length in ((1, 1), (0, 3), (2, 4)):
        check.equal(
            weights[i, :, :, length:],
            torch.zeros(3, 2, 4 - length, dtype=torch.float64),
            f"sequence {i} has {length} tokens: its padding should get weight 0 in every head",
            hint="with as many sequences as heads, a mask (batch, 1, key) broadcasts without an error, "
            "but its batch axis must not line up with the heads axis",
        )
        parts = query[i : i + 1], key[i : i + 1, :length], value[i : i + 1, :length]
        alone, _ = module.call(*parts, returns=("output", "weights"))
        check.equal(output[i : i + 1], alone, "a padded sequence should give what it gives alone")
with Check(
    "MultiHeadAttention", "a mask for each sequence, and a query that may attend to nothing"
) as check:
    module = by_number(check, 6, 3)
    x = numbers(2, 3, 6).requires_grad_()
    mask = torch.ones(2, 3, 3, dtype=torch.bool)
    mask[0, 1] = False  # token 1 of sequence 0 may attend to nothing
    mask[1, :, 0] = False  # and no token to token 0 of sequence 1
    output, weights = module.call(x, x, x, mask, returns=("output", "weights"))
    check.equal(
        weights[0, :, 1],
        torch.zeros(3, 3, dtype=torch.float64),
        "a query that may attend to nothing should have weights of 0 in every head",
    )
    check.equal(
        output[0, 1],
        module.state()["w_output.bias"],
        "and its output should be w_output(0), which is the bias of w_output",
    )
    check.equal(
        weights.sum(-1)[1],
        torch.ones(3, 3, dtype=torch.float64),
        "all other weights should still sum to 1",
    )
    check.equal(
        weights[1, :, :, 0].sum(), 0.0, "a forbidden key should have weight 0 in every head"
    )
    slope = check.gradient(output.square(), x)
    check.true(bool(slope.isfinite().all()), "the gradient should hold no NaN either")
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
    check.equal(output[2:], alone, "a padded sequence should give what it gives alone")
# END HIDDEN TESTS

# %% [markdown]
# ## 6 · Many heads for the price of one
#
# A slide counts the parameters of one layer, with $d = 512$ and eight heads of width 64. Queries, keys and values take $512 \cdot 64 \cdot 3 \cdot 8 = 3 \cdot 512 \cdot 512$, the output projection takes $512 \cdot 512$. Together that is $4 \cdot 512 \cdot 512$, about a million.
#
# **From the lecture**: “Multi-head Attention Layer” in *Introduction to Transformers*.
#
# **Predict.** Keep $d = 512$, and make each head $d / h$ wide. How does this count depend on the number of heads?
#
# <details><summary>More heads, more parameters</summary>That was so in part 3, with heads of full width. Here more heads are narrower heads: 8 · 64 is 512, and 16 · 32 is too.</details>
# <details><summary>Not at all</summary>Yes. h · d_head is always d, so h drops out.</details>
# <details><summary>More heads, fewer parameters</summary>Each head has fewer, but there are more heads. The two cancel.</details>

# %% [markdown]
# **Exercise** (5 minutes). Write the count for any width. The slide leaves out the biases. Your count includes them if `bias` is true.
#
# <details><summary>Hint</summary>How many matrices are there, and how large is each? An <code>nn.Linear(d_in, d_out)</code> has one bias for each feature of its <em>output</em>.</details>


# %% exercise attention_parameters
def attention_parameters(d_model: int, bias: bool) -> int:
    """How many parameters `MultiHeadAttention(d_model, num_heads, bias)` has.

    The four matrices, and the four biases if `bias`.
    """
    # BEGIN SOLUTION
    return 4 * d_model * (d_model + bias)
    # END SOLUTION


# %% check attention_parameters points=1
hint = (
    "four matrices of d_model · d_model parameters; with biases, d_model more for each of the four"
)
with Check("attention_parameters", "counts you can do by hand", hint) as check:
    counts = {}
    for d_model, bias in ((2, False), (2, True), (3, True), (512, False), (512, True)):
        counts[d_model, bias] = check.call(d_model, bias, returns=int)
    check.equal(counts[2, False], 16, "d_model 2 without biases: four matrices of 4 parameters")
    check.equal(
        counts[2, True], 24, "d_model 2 with biases: four matrices of 4, and four biases of 2"
    )
    check.equal(
        counts[3, True], 48, "d_model 3 with biases: four matrices of 9, and four biases of 3"
    )
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
# Now compare your two modules as the number of heads grows. Measure four things: parameters, multiplications in a forward pass, memory kept for the backward pass, and time.


# %% folded=true
# Defines cost_of and seconds_of, which measure one layer, click to unfold
torch.set_num_threads(1)  # times are easier to compare on one core


def cost_of(layer: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[float, float, float]:
    """Parameters, multiplications, and bytes kept for the backward pass; all in millions."""
    parameters = {weight.data_ptr() for weight in layer.parameters()}
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in parameters:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    hooks = torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor)
    with FlopCounterMode(display=False) as counter, hooks:
        layer(*inputs)
    count = sum(weight.numel() for weight in layer.parameters())
    # a "flop" is a multiplication or an addition
    return count / 1e6, counter.get_total_flops() / 2e6, sum(kept.values()) / 1e6


def seconds_of(layer: nn.Module, inputs: tuple[Tensor, ...]) -> float:
    """The fastest of three forward and backward passes."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        layer(*inputs)[0].sum().backward()
        times.append(time.perf_counter() - start)
    return min(times)


# %% [markdown]
# Run both modules with 1 to 16 heads. The batch has 4 sequences of 24 tokens, and $d = 256$. Guess first: how many times as long do 16 heads of full width take as 16 split heads?

# %%
counts_of_heads = [1, 2, 4, 8, 16]


@functools.cache
def costs(length: int) -> dict[str, list[tuple[float, float, float]]]:
    """cost_of for both modules, with each number of heads, for sequences of this length."""
    batch = torch.randn(4, length, 256)
    wide = [ConcatMultiHead(256, count) for count in counts_of_heads]
    split = [MultiHeadAttention(256, count, bias=False) for count in counts_of_heads]
    return {
        "full width": [cost_of(module, (batch,)) for module in wide],
        "split": [cost_of(module, (batch,) * 3) for module in split],
    }


print("in millions     parameters   multiplications   bytes kept")
for title, rows_of in costs(24).items():
    for count, row in ((1, rows_of[0]), (16, rows_of[-1])):
        print(f"{title:10} {count:3}  {row[0]:11.1f} {row[1]:17.0f} {row[2]:12.1f}")
one_batch = torch.randn(4, 24, 256)  # (batch, length, d_model)
ratio = seconds_of(ConcatMultiHead(256, 16), (one_batch,)) / seconds_of(
    MultiHeadAttention(256, 16, bias=False), (one_batch,) * 3
)
slower = "more" if ratio > 4 else "less"
print(f"16 heads of full width take {slower} than 4 times as long as 16 split heads")

# %%
figures.curves(
    counts_of_heads,
    {title: [row[0] for row in rows_of] for title, rows_of in costs(24).items()},
    x="number of heads",
    y="parameters, in millions",
    title="Parameters: split heads are free",
    logarithmic="xy",
)

# %% [markdown]
# What to see: with heads of full width, twice the heads take twice the parameters. With split heads the line is flat. In the table, the multiplications behave the same way. (The step from 26 to 27 is no cost of heads: the given `attention` multiplies by an identity matrix to show you the weights.) Print `ratio`: it depends on your machine, and on the loop, which runs one head after another.
#
# Memory is different:

# %%
figures.curves(
    counts_of_heads,
    {title: [row[2] for row in rows_of] for title, rows_of in costs(24).items()},
    x="number of heads",
    y="bytes kept, in millions",
    title="Memory: split heads are not quite free",
    logarithmic="xy",
)

# %% [markdown]
# What to see: with split heads, memory grows too, though far less. Each head keeps its own attention weights, (length, length), however narrow it is. (The given `attention` keeps them twice: here PyTorch's function keeps its own, and you get a copy. With ordinary values, that function can often avoid storing them.)
#
# **Predict.** 16 split heads keep more bytes than one head does. Make the sequences four times as long. How many times as large is this difference then?
#
# <details><summary>4 times</summary>The queries, keys and values grow 4 times. But they do not depend on the number of heads.</details>
# <details><summary>16 times</summary>Yes: the difference consists of attention weights, and they grow with the <em>square</em> of the length.</details>
# <details><summary>As large as before</summary>It consists of attention weights, one for each query and key. Longer sequences have more of both.</details>

# %%
for length in (24, 96):
    of_split = costs(length)["split"]
    print(f"length {length}: {of_split[-1][2] - of_split[0][2]:.2f} million bytes more")

# %% [markdown]
# So in long sequences, the attention weights take most of the memory, if all are stored.

# %% [markdown]
# ### Bug hunt: a table of models
#
# If the heads share the width of the model, then number of heads × width of a head = width of the model. A slide shows this table of the GPT-3 models:
#
# | model | parameters | layers | d_model | heads | d_head |
# |---|---|---|---|---|---|
# | Small | 125M | 12 | 768 | 12 | 64 |
# | Medium | 350M | 24 | 1024 | 16 | 64 |
# | Large | 760M | 24 | 1536 | 16 | 96 |
# | XL | 1.3B | 24 | 2048 | 24 | 128 |
# | 2.7B | 2.7B | 32 | 2560 | 32 | 80 |
# | 6.7B | 6.7B | 32 | 4096 | 32 | 128 |
# | 13B | 13.0B | 40 | 5140 | 40 | 128 |
# | 175B | 175.0B | 96 | 12288 | 96 | 128 |
#
# **From the lecture**: “GPT (Generative Pretrained Transformer)” in *transformer* (lecture 7 of Deep Learning, spring 2025).

# %% [markdown]
# **Exercise** (5 minutes). Two rows do not fit. Write the test that finds them.
#
# <details><summary>Hint</summary>Rounding can hide a mismatch: multiply, do not divide.</details>


# %% exercise heads_fit
def heads_fit(d_model: int, num_heads: int, d_head: int) -> bool:
    """Whether num_heads heads of width d_head are together exactly d_model wide."""
    # BEGIN SOLUTION
    return num_heads * d_head == d_model
    # END SOLUTION


# %% check heads_fit points=1
with Check("heads_fit", "heads that fit, and heads that do not") as check:
    cases = {
        (512, 8, 64): (True, ""),
        (12, 3, 4): (True, ""),
        (512, 8, 32): (False, "that 8 divides 512 is not enough"),
        (512, 8, 60): (False, ""),
        (512, 6, 64): (False, "that 64 divides 512 is not enough"),
        (512, 6, 85): (False, "512 / 6 is only about 85"),
        (23, 4, 6): (False, "23 / 4 is only about 6"),
        (72, 8, 64): (False, "8 + 64 is 72, but heads side by side multiply"),
        (512, 8, 65): (False, ""),
        (1001, 1000, 1): (False, "1001 / 1000 is only about 1"),
        (512, 8, 128): (False, "that 128 divides 512 is not enough"),
        (7, 2, 3): (False, "7 / 2 is not 3"),
        (1001, 2, 501): (False, "1001 / 2 is not 501"),
    }
    for case in cases:  # all answers together show which mistake it is
        check.call(*case, returns=bool)
    for (d_model, num_heads, d_head), (fits, told) in cases.items():
        fit = "fit" if fits else "do not fit"
        check.true(
            check.call(d_model, num_heads, d_head, returns=bool) == fits,
            f"{num_heads} heads of width {d_head} {fit} {d_model}",
            hint=told or "how wide are all heads together?",
        )
# BEGIN HIDDEN TESTS
with Check("heads_fit", "all small cases") as check:
    for d_model in (6, 7, 12, 5140, 2048):
        for num_heads in (1, 2, 3, 6, 24, 40):
            for d_head in (1, 2, 3, 4, 6, 7, 12, 128):
                fits = check.call(d_model, num_heads, d_head, returns=bool)
                wanted = d_model / num_heads == d_head
                check.true(fits == wanted, f"{num_heads} heads of {d_head} for {d_model}")
    check.true(not check.call(2001, 2000, 1, returns=bool), "2000 heads of 1 for 2001")
# END HIDDEN TESTS

# %%
table = {
    "Small": (768, 12, 64),
    "Medium": (1024, 16, 64),
    "Large": (1536, 16, 96),
    "XL": (2048, 24, 128),
    "2.7B": (2560, 32, 80),
    "6.7B": (4096, 32, 128),
    "13B": (5140, 40, 128),
    "175B": (12288, 96, 128),
}
for model, (wide, many, each) in table.items():
    if not heads_fit(wide, many, each):
        print(f"{model}: {many} heads of {each} make {many * each}, but d_model is {wide}")

# %% [markdown]
# What to see: rows XL and 13B do not fit. A model like XL could be built: its $W^O$ would map 3072 features back to 2048. But it would have more than the 1.3 billion parameters in the table:

# %%
# each of 24 layers: attention, and 8 · d_model² parameters that lesson 7 adds; 50257 embeddings
for many in (24, 16):
    in_all = 24 * (4 * 2048 * many * 128 + 8 * 2048**2) + 50257 * 2048
    print(f"XL with {many} heads of width 128: {in_all / 1e9:.2f} billion parameters")

# %% [markdown]
# With 16 heads of width 128 the count fits. (So it would with 32 of width 64: the count tells only their total width.) In row 13B a digit seems wrong: 40 heads of width 128 make 5120. Both rows are like this in the GPT-3 paper (Brown et al., 2020).

# %% [markdown]
# ## 7 · One head or two?
#
# Now test it: can one head tell who chased whom? The sentences are like *the dog chased the cat today*, with 60 nouns. At *chased*, the model must name the subject and the object.
#
# A model could memorise the pairs that it sees. So some pairs are **held out**: training never shows them; they serve as a test. Every noun still occurs in training, as subject and as object.

# %%
NOUNS, VERB = 60, 2  # the number of nouns, the position of the verb
every_pair = torch.cartesian_prod(torch.arange(NOUNS), torch.arange(NOUNS))
is_held_out = every_pair.sum(1) % 5 == 0
training_pairs, held_out_pairs = every_pair[~is_held_out], every_pair[is_held_out]


def sentences_about(pairs: Tensor) -> Tensor:
    """Tokens (sentences, 6): the, subject, verb, the, object, when. Verb and when are random."""
    the = torch.zeros(len(pairs), dtype=torch.long)
    verbs = torch.randint(1, 5, (len(pairs),))
    whens = torch.randint(5, 9, (len(pairs),))
    return torch.stack([the, pairs[:, 0] + 9, verbs, the, pairs[:, 1] + 9, whens], 1)


print(f"{len(training_pairs)} pairs for training, {len(held_out_pairs)} pairs held out")

# %% [markdown]
# The model adds up the embedding of each token and a learned vector for its position (lesson 6 says more about these). So a head can find the subject by its position. But in a blend with equal weights, the position vectors p₁ and p₄ do not tell the nouns apart: ½ (dog + p₁) + ½ (cat + p₄) and ½ (cat + p₁) + ½ (dog + p₄) are the same sum. The output of your attention is added to the vector of *chased*. At *chased*, a linear layer turns the result into logits: 60 for the subject and 60 for the object. Call this layer the *read-out*.


# %%
class Reader(nn.Module):
    """Layers of your multi-head attention, and a linear read-out at the verb.

    forward: tokens (batch, 6) -> logits (batch, 2, NOUNS) for subject and object, and the
    attention weights of each layer.
    """

    def __init__(self, num_heads: int, num_layers: int = 1, d_model: int = 16) -> None:
        super().__init__()
        self.embedding = nn.Embedding(9 + NOUNS, d_model)
        self.positions = nn.Embedding(6, d_model)
        layers = [MultiHeadAttention(d_model, num_heads) for _ in range(num_layers)]
        self.layers = nn.ModuleList(layers)
        self.read_out = nn.Linear(d_model, 2 * NOUNS)
        self.history: list[list[float]] = []  # what train returns

    def forward(self, tokens: Tensor) -> tuple[Tensor, list[Tensor]]:
        x = self.embedding(tokens) + self.positions.weight
        weights_of_layers = []
        for layer in self.layers:
            output, weights = layer(x, x, x)
            x = x + output
            weights_of_layers.append(weights)
        return self.read_out(x[:, VERB]).unflatten(-1, (2, NOUNS)), weights_of_layers


for many in (1, 2):
    total = sum(weight.numel() for weight in Reader(many).parameters())
    print(f"{many} head(s): {total} parameters")

# %% [markdown]
# In this comparison, every model gets the same 400 steps of training, at the same learning rate. An answer counts as right if both nouns are right.
#
# A model **generalises** if it is right on held-out pairs too. **Overfitting** (lesson 2) means that a model is right far more often on its training data than on held-out data.

# %% folded=true
# Defines train and accuracies, click to unfold
torch.set_num_threads(1)  # the fastest for models as small as these


def accuracies(model: nn.Module, pairs: Tensor) -> list[float]:
    """How often the subject is right, the object, and both."""
    with torch.no_grad():
        right = model(sentences_about(pairs))[0].argmax(-1) == pairs
    return [*right.float().mean(0).tolist(), right.all(1).float().mean().item()]


def train(model: nn.Module, steps: int = 400, rate: float = 0.02) -> list[list[float]]:
    """Train on training pairs; every 50 steps, both right: [in training, held out]."""
    optimizer = torch.optim.Adam(model.parameters(), lr=rate, fused=True)
    history = []
    for step in range(steps + 1):
        if step % 50 == 0:
            history.append([accuracies(model, p)[2] for p in (training_pairs, held_out_pairs)])
        nouns = training_pairs[torch.randint(len(training_pairs), (200,))]
        logits = model(sentences_about(nouns))[0]
        loss = F.cross_entropy(logits.flatten(0, 1), nouns.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return history


# %% [markdown]
# **Predict.** Train models with *one* head of width 16, and models with *two* heads of width 8. Both kinds have the same number of parameters. Each kind gets three runs, from different random weights. Which is better?
#
# <details><summary>Both are about equally good: they have the same size</summary>They do have the same size, but one has a single softmax and the other has two. Run it.</details>
# <details><summary>One head is better: it is wider</summary>Width helps to tell 60 nouns apart. But both nouns must fit into one blend. Run it.</details>
# <details><summary>Two heads are better, above all on held-out pairs</summary>Yes. Run it, and compare what happens on training pairs and on held-out pairs.</details>


# %%
@functools.cache
def readers(num_heads: int) -> list[Reader]:
    """Three trained readers, from different random weights. Only the first call trains them."""
    found = []
    for seed in range(3):
        torch.manual_seed(seed)
        reader = Reader(num_heads)
        reader.history = train(reader)
        found.append(reader)
    return found


accuracy_of: dict[str, list[list[float]]] = {}
for many, title in ((1, "one head"), (2, "two heads")):
    histories = torch.tensor([reader.history for reader in readers(many)])  # (run, time, 2)
    accuracy_of[f"{title}, training"] = histories[..., 0].tolist()
    accuracy_of[f"{title}, held out"] = histories[..., 1].tolist()

figures.curves(
    list(range(0, 401, 50)),
    accuracy_of,
    x="training step",
    y="accuracy, both nouns",
    title="One head against two: mean and spread of 3 runs",
)

# %% [markdown]
# What to see: with two heads, both lines come close to 1 in every run, well before the end: this model generalises. With one head, the *mean* accuracy on held-out pairs stays far below that on training pairs. The mean hides how much these runs differ, so here is each of them:

# %%
verb_weights, in_training, on_held_out = [], [], []
for reader in readers(1):
    with torch.no_grad():
        weights_of_run = reader(sentences_about(held_out_pairs))[1][0]  # (batch, head, query, key)
    verb_weights.append(weights_of_run[:, 0, VERB, [1, 4]].mean(0))
    in_training.append(accuracies(reader, training_pairs))
    on_held_out.append(accuracies(reader, held_out_pairs))
which = ["subject", "object", "both"]
figures.steps(
    {
        "mean weight": (torch.stack(verb_weights), "key", which[:2]),
        "accuracy, training": (torch.tensor(in_training), "named correctly", which),
        "accuracy, held out": (torch.tensor(on_held_out), "named correctly", which),
    },
    "one head",
    [f"run {seed}" for seed in range(len(verb_weights))],
)

# %% [markdown]
# What to see: each of these runs ends in one of two ways. Either it gives nearly all its weight to one noun. Then it names that noun and misses the other, even in training. Or it attends to both nouns, and partly to other tokens. Then it gets most training pairs right, but far fewer held-out pairs: it overfits. (Such a run still improves on training pairs at step 400. So you compare what both learn in 400 steps, not the most that one head can reach.)
#
# And the two heads?

# %%
six_words = ["the", "dog", "chased", "the", "cat", "today"]
one_sentence = torch.tensor([[0, 9, 1, 0, 10, 5]])
heads_of_runs, labels = [], []
with torch.no_grad():
    for seed, reader in enumerate(readers(2)):
        heads_of_runs.append(reader(one_sentence)[1][0][0, :, VERB])  # (head, key)
        labels += [f"run {seed}, head 0", f"run {seed}, head 1"]
figures.steps(
    {"weights of “chased”": (torch.cat(heads_of_runs), "key", six_words)}, "two heads", labels
)

# %% [markdown]
# What to see: in this sentence, each head attends mostly to a noun of its own. Nothing in the loss asks for that: training found this division of labour.

# %% [markdown]
# ### Why not 0.6 and 0.4?
#
# A head that attends to both nouns does keep them apart if its weights are unequal. So what goes wrong? Fix such weights: 0.6 · subject + 0.4 · object, in every sentence. Only the embeddings and the read-out are trained. The first read-out is linear. The second has a ReLU between two linear layers. A **nonlinearity** is a function that is not linear, such as ReLU, which replaces negative numbers with 0.
#
# **Predict.** How often does the *linear* read-out name the object correctly, on training pairs?
#
# <details><summary>Almost never</summary>Yes. Run the cell, then read why.</details>
# <details><summary>As often as the subject</summary>The information is there for both. The question is whether a linear layer can use it. Run the cell.</details>
# <details><summary>In about 40 % of the sentences</summary>The share in the blend is no probability: the larger part can win every time. Run the cell.</details>


# %%
class Blend(nn.Module):
    """The read-out of 0.6 · subject + 0.4 · object: no attention, the weights are fixed."""

    def __init__(self, read_out: nn.Module, d_model: int = 16) -> None:
        super().__init__()
        self.embedding = nn.Embedding(9 + NOUNS, d_model)
        self.read_out = read_out

    def forward(self, tokens: Tensor) -> tuple[Tensor, list[Tensor]]:
        x = self.embedding(tokens)
        blend = 0.6 * x[:, 1] + 0.4 * x[:, 4]  # position 1: subject, position 4: object
        return self.read_out(blend).unflatten(-1, (2, NOUNS)), []


def two_layers(d_model: int) -> nn.Module:
    """A read-out with a nonlinearity."""
    wide = 4 * d_model
    return nn.Sequential(nn.Linear(d_model, wide), nn.ReLU(), nn.Linear(wide, 2 * NOUNS))


# %%
measured: dict[str, list[float]] = {}
for seed in range(3):
    torch.manual_seed(seed)
    linear, nonlinear = Blend(nn.Linear(16, 2 * NOUNS)), Blend(two_layers(16))
    wider = Blend(two_layers(64), d_model=64)
    for blend in (linear, nonlinear, wider):
        train(blend)
    of_linear = accuracies(linear, training_pairs)
    for title, accuracy in (
        ("linear, subject, training", of_linear[0]),
        ("linear, object, training", of_linear[1]),
        ("nonlinear, both, training", accuracies(nonlinear, training_pairs)[2]),
        ("nonlinear, both, held out", accuracies(nonlinear, held_out_pairs)[2]),
        ("width 64, both, held out", accuracies(wider, held_out_pairs)[2]),
    ):
        measured.setdefault(title, []).append(accuracy)
figures.runs(measured, "accuracy", "Reading 0.6 · subject + 0.4 · object (3 runs each)")

# %% [markdown]
# What to see: the linear read-out names every subject and almost no object. Why not every object? It has a vector for each candidate A. Its dot product with a noun's embedding is their match. The object logit:
#
# $$\text{logit}(A) = 0.6 \cdot \text{match}(A, \text{subject}) + 0.4 \cdot \text{match}(A, \text{object}) + \text{bias}(A)$$
#
# Both *bird chased cat* and *bird chased dog* are right only if cat and dog match themselves better than each other. But then the subject, with its larger weight, wins in *dog chased cat* or *cat chased dog*. A bias does not help:
#
# <details><summary>The proof, for those who want it</summary>Let cc be match(cat, cat), cd be match(cat, dog), and so on. <em>Bird chased cat</em> needs logit(cat) &gt; logit(dog), and <em>bird chased dog</em> needs the opposite. Add the two inequalities: the bird and the biases cancel, and what remains is cc + dd &gt; cd + dc. Do the same with <em>dog chased cat</em> and <em>cat chased dog</em>. Again the biases cancel, but what remains is cd + dc &gt; cc + dd. Both cannot hold, so no linear read-out is right in all four sentences. That it misses nearly every object is not proved here, only measured.</details>
#
# A nonlinear read-out overfits the training pairs. With embeddings and read-out four times as wide, it misses fewer held-out pairs.

# %% [markdown]
# How did some runs with one head get most training pairs right? Their weights depend on the nouns:

# %%
for seed, reader in enumerate(readers(1)):
    with torch.no_grad():
        on_subject = reader(sentences_about(training_pairs))[1][0][:, 0, VERB, 1]
    low, high = on_subject.quantile(torch.tensor([0.05, 0.95])).tolist()
    print(f"run {seed}: in 9 of 10 pairs, weight {low:.2f} to {high:.2f} on the subject")

# %% [markdown]
# What to see: where a run attends to both, weights change between pairs. This makes the fit possible, but it often does not carry over to held-out pairs.
#
# So “one head cannot attend to two tokens” is too strong. But what follows must take the blend apart.

# %% [markdown]
# ### What keeps the nouns apart?
#
# Two heads also give one vector: $H_0 W^O_0 + H_1 W^O_1$. What keeps the nouns apart in it? Each head has its own value matrix $W^V_i$ and its own block $W^O_i$. The next cell makes one of them, or both, equal for the two heads, all through training.
#
# **Predict.** With equal blocks of $W^O$, the heads are averaged. Can such a reader still tell who chased whom?
#
# <details><summary>No, as in part 1</summary>In part 1 both heads also had the same values. Run the cell.</details>
# <details><summary>Yes, their values differ</summary>Yes. Training can give each head values that lie in other directions. Run the cell.</details>
# <details><summary>Only on training pairs</summary>That would be overfitting, as with one head. Run the cell.</details>


# %%
class Equal(nn.Module):
    """Replace the parts of a matrix that belong to two heads by their mean."""

    def __init__(self, axis: int) -> None:
        super().__init__()
        self.axis = axis

    def forward(self, matrix: Tensor) -> Tensor:
        mean = torch.stack(matrix.chunk(2, self.axis)).mean(0)
        return torch.cat([mean, mean], self.axis)


# nn.Linear stores (out, in): a head owns rows of W^V (axis 0) and columns of W^O (axis 1)
variants = {
    "equal W^O": [("w_output", 1)],
    "equal W^V": [("w_value", 0)],
    "both equal": [("w_output", 1), ("w_value", 0)],
}
# the readers from above have their own of both; a history has one entry for 50 steps
after_300 = {"own W^V, W^O": [reader.history[6][1] for reader in readers(2)]}
for title, made_equal in variants.items():
    after_300[title] = []
    for seed in range(3):
        torch.manual_seed(seed)
        reader = Reader(num_heads=2)
        for layer_name, axis in made_equal:
            linear = reader.layers[0].get_submodule(layer_name)
            register_parametrization(linear, "weight", Equal(axis))
        after_300[title].append(train(reader, steps=300)[-1][1])
figures.runs(after_300, "accuracy, held out", "Two heads after 300 steps (3 runs each)")

# %% [markdown]
# What to see: it is enough that one of the two differs. With both equal, write $A_i$ for the attention weights of head $i$, and $V$ and $B$ for the shared value matrix and block: $A_0 X V B + A_1 X V B = (A_0 + A_1)\, X V B$. That is twice one blend, whose weights are the mean of both. The reader misses most held-out pairs. (Each head keeps its own bias, which adds a constant.)
#
# So averaging *learned* heads does no harm here: their values adapt. But an average has only $d / h$ features, not $d$.

# %% [markdown]
# ### Without W^O (optional)
#
# Now leave $W^O$ out: add the heads, side by side, to x.
#
# **Predict.** Same steps, same seeds: how good are such readers on held-out pairs?
#
# <details><summary>As good as with a learned W<sup>O</sup></summary>Yes, in this experiment. Run the cell, and compare the third column: there the values may not learn either.</details>
# <details><summary>Like one head: without W<sup>O</sup> nothing combines the heads</summary>The read-out is a linear layer, and it reads all 16 features. Run the cell.</details>
# <details><summary>Like chance: an untrained output is noise</summary>Without W<sup>O</sup>, the outputs are not scrambled: they are still weighted sums of the values. Run the cell.</details>


# %%
def trained_without_output(seed: int, values_too: bool) -> float:
    """Held-out accuracy after 200 steps without W^O; W^V may stay random, too."""
    torch.manual_seed(seed)
    reader = Reader(num_heads=2)
    layer = reader.layers[0]
    output_layer = layer.get_submodule("w_output")
    output_layer.load_state_dict({"weight": torch.eye(16), "bias": torch.zeros(16)})
    output_layer.requires_grad_(False)  # the identity stays: the same as no W^O
    layer.get_submodule("w_value").requires_grad_(not values_too)
    return train(reader, steps=200)[-1][1]


figures.runs(
    {
        "learned W^O": [reader.history[4][1] for reader in readers(2)],  # after 200 steps
        "no W^O": [trained_without_output(seed, False) for seed in range(3)],
        "no W^O, W^V stays random": [trained_without_output(seed, True) for seed in range(3)],
    },
    "accuracy, held out",
    "Two heads after 200 steps (3 runs each)",
)

# %% [markdown]
# What to see: without $W^O$ every run is as good as with it. If the values may not learn either, every run falls behind. So without $W^O$, it matters that the values learn.
#
# This is one layer before a linear read-out, which reads all features. In general, only with $W^O$ can each head write into all of them.

# %% [markdown]
# ### Layer by layer (optional)
#
# You can also attend twice in two layers, here of two heads. Choose each, and find *chased*.
#
# **Puzzle.** Which of the four heads does the model need most?

# %%
from transformer_course.widgets import show_attention


@functools.cache
def deep_reader() -> Reader:
    """Two layers of two heads, trained at the first call."""
    torch.manual_seed(0)
    reader = Reader(num_heads=2, num_layers=2)
    train(reader, steps=200)
    return reader


deep = deep_reader()
with torch.no_grad():
    maps = deep(one_sentence)[1]  # of each layer: (1, head, query, key)
show_attention(torch.cat(maps), six_words, title="two layers of your multi-head attention")

# %% [markdown]
# Write your answer into `guess`. The cell switches off one head at a time: its block of $W^O$ becomes 0.


# %%
guess = (0, 1)  # your answer: (layer, head)


class Without(nn.Module):
    """Set the block of W^O that belongs to one of two heads to 0."""

    def __init__(self, head: int) -> None:
        super().__init__()
        self.head = head

    def forward(self, matrix: Tensor) -> Tensor:
        blocks = list(matrix.chunk(2, dim=1))
        blocks[self.head] = torch.zeros_like(blocks[self.head])
        return torch.cat(blocks, dim=1)


def reader_without(depth: int, head: int) -> Reader:
    """A copy of the trained reader, with this head switched off."""
    reader = copy.deepcopy(deep_reader())
    linear = reader.layers[depth].get_submodule("w_output")
    register_parametrization(linear, "weight", Without(head))
    return reader


four_heads = [(0, 0), (0, 1), (1, 0), (1, 1)]
print(f"all heads: {accuracies(deep_reader(), held_out_pairs)[2]:.0%} of the held-out pairs right")
for depth, head in four_heads:
    right = accuracies(reader_without(depth, head), held_out_pairs)[2]
    told = " (your guess)" if (depth, head) == guess else ""
    print(f"without head {head} of layer {depth}: {right:.0%}{told}")

# %% [markdown]
# What to see: the damage differs from head to head. Was your answer right? A map shows where a head attends, but not what the model does with the result.
#
# Switching off a part of a trained model to see what it does is called **ablation**. Removing it for good, to make the model smaller, is **pruning**.
#
# **Predict.** Now prune each of these heads, and *train on* for 200 steps without it. What happens?
#
# <details><summary>The damage stays</summary>Training changes all other weights. Run the cell.</details>
# <details><summary>The model recovers only where the damage was small</summary>The three other heads are trained too. Run the cell.</details>
# <details><summary>The model recovers, or nearly so, whichever head is gone</summary>Yes. The other weights adapt.</details>

# %%
for depth, head in four_heads:
    reader = reader_without(depth, head)
    right = train(reader, steps=200)[-1][1]
    print(f"pruned, head {head} of layer {depth}: {right:.0%} after 200 more steps")

# %% [markdown]
# What to see: most of the damage is repaired, whichever head is gone. (Some of the gain may come from longer training: 400 steps in all, against 200 for the whole model.) So ablation shows what *this trained model* relies on, not what the task needs. One layer of two heads could do the task too.
#
# Trained models can have many heads to spare. In a translation model, Voita et al. found heads that attend to neighbours, follow grammar or find rare words. With further training, most others could be pruned with little harm: in one case, 38 of 48 encoder heads (*Analyzing Multi-Head Self-Attention*, 2019).

# %% [markdown]
# ## 8 · The real thing
#
# PyTorch's `nn.MultiheadAttention` is the same block. These are its parameters:

# %%
for label, parameter in nn.MultiheadAttention(12, num_heads=3).named_parameters():
    print(f"{label:15} {tuple(parameter.shape)}")

# %% [markdown]
# **Exercise** (15 minutes). Copy its weights into your block.
#
# `in_proj_weight` is *packed*: it holds the matrices of queries, keys and values below one another, in this order, each stored as in `nn.Linear`. `in_proj_bias` holds the three biases in the same order, or is `None`. `out_proj` is a usual `nn.Linear`.
#
# <details><summary>Hint 1</summary><code>chunk(3)</code> splits a tensor into three along its first axis.</details>
# <details><summary>Hint 2</summary>Inside <code>with torch.no_grad():</code>, <code>mine.w_query.weight.copy_(…)</code> writes into a parameter that exists. Do not assign: <code>mine.w_query.weight = …</code> raises a <code>TypeError</code> for a tensor that is no parameter, and <code>mine.w_query.weight.data = …</code> shares the numbers, so training theirs would change yours. (<code>load_state_dict</code> copies too, from a dictionary of names and tensors.)</details>


# %% exercise load_from_torch
def load_from_torch(mine: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    """Copy the weights of theirs, and its biases if it has any, into mine.

    mine has the layers w_query, w_key, w_value and w_output, and the sizes and the `bias` of
    theirs. Copied, not shared: later changes to theirs leave mine as it is. theirs stays as it is.
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
hint = "in_proj_weight holds the matrix of the queries, then of the keys, then of the values"


def pair_of(d_model, bias, seed=0):
    """A module with the four layers, all sevens, and a block of PyTorch's with fixed weights."""
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
    """What mine should hold, layer by layer, and what to call it."""
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
    """The name of what a layer holds."""
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
    """Check that each layer of mine holds what it should."""
    held = dict(mine.named_parameters())
    check.true(
        held.keys() == sources.keys(), "mine should still have its four layers, and no others"
    )
    for name, (told, part) in sources.items():
        found = what_it_is(held[name].detach(), sources)
        check.true(held[name].shape == part.shape, f"{name} should keep its shape")
        check.true(found == told, f"{name} should hold {told}; it holds {found}")
        check.true(
            held[name].requires_grad,
            f"{name} should still need gradients",
            hint="mine is to be trained on: copy numbers into its parameters, and leave them on",
        )


for with_bias in (True, False):
    told = "with biases" if with_bias else "without biases"
    with Check("load_from_torch", f"a block {told}", hint) as check:
        mine, theirs = pair_of(4, with_bias)
        sources = sources_of(theirs)
        check.call(mine, theirs, returns=None)
        kept = sources_of(theirs)
        same = all(torch.equal(kept[name][1], part) for name, (_, part) in sources.items())
        taken = all(bool((part == 7.0).all()) for _, part in kept.values())
        check.true(not taken, "theirs should hold what it held before, not what mine holds")
        check.true(same, "theirs should hold what it held before")
        hint_for_theirs = "leave the mode and the gradients of theirs as they are"
        check.true(theirs.training, "theirs should stay in training mode", hint_for_theirs)
        learn = all(weight.requires_grad for weight in theirs.parameters())
        check.true(learn, "the parameters of theirs should still need gradients", hint_for_theirs)
        compared(check, mine, sources)
with Check("load_from_torch", "copied, not shared") as check:
    mine, theirs = pair_of(4, True)
    sources = sources_of(theirs)
    check.call(mine, theirs, returns=None)
    with torch.no_grad():
        for weight in theirs.parameters():
            weight.add_(1.0)  # theirs trains on
    check.call(*pair_of(3, True, seed=9), returns=None)
    for name, (_, part) in sources.items():
        check.true(
            torch.equal(dict(mine.named_parameters())[name], part),
            f"when theirs trains on, {name} of mine should not change with it",
            hint="copy the values: weight.copy_(…) under torch.no_grad()",
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
# Now compare the two blocks, with a mask and without one. PyTorch's block differs in four things. It expects (length, batch, d_model), unless you pass `batch_first=True`. It returns the *mean* of the heads' weights, unless you ask for each with `average_attn_weights=False`. Its mask means the opposite: True = masked out. And a query that may attend to nothing can give NaN. Padding alone can go into `key_padding_mask` (lesson 2). An `attn_mask` that differs between sequences has the shape (batch · heads, query, key).

# %%
torch.manual_seed(0)
block = nn.MultiheadAttention(12, num_heads=3, batch_first=True).double()
own_block = MultiHeadAttention(12, num_heads=3).double()
load_from_torch(own_block, block)
asking, offering = numbers(2, 4, 12), numbers(2, 5, 12, seed=1)
is_real = (torch.arange(5) < torch.tensor([5, 3])[:, None])[:, None]  # (batch, 1, key)
opposite = ~is_real[:, None].expand(2, 3, 4, 5).flatten(0, 1)  # (batch · heads, query, key)
for title, allowed, forbidden in (("no mask", None, None), ("padding", is_real, opposite)):
    from_mine = own_block(asking, offering, offering, allowed)
    from_torch = block(asking, offering, offering, attn_mask=forbidden, average_attn_weights=False)
    for what, one, other in zip(("output", "weights"), from_mine, from_torch, strict=True):
        print(f"{title}, {what}: largest difference {(one - other).abs().max().item():.1e}")

# %% [markdown]
# Differences around 1e-16 are rounding. Your block computes what PyTorch's block computes.

# %% [markdown]
# ## 9 · In your own words
#
# **Question** (10 minutes). A friend reads: “With 512 features and 8 heads, each head works with 64 features.” The friend concludes two things. First, head 0 reads the first 64 features of each token and cannot see the others. Second, the heads' outputs are averaged in the end, so 8 heads are an **ensemble**: several models whose predictions are averaged. What is wrong with each conclusion, and why does it matter? Write three or four sentences: double-click the cell below. A person reads them.

# %% answer what_is_split [markdown] points=2
# <!-- BEGIN SOLUTION -->
# Each head reads all 512 features: its projection is 512 × 64, and only the result is narrow. If X itself were sliced, a head could never ask for a feature that lies in another slice. And the heads are not averaged: they are put side by side and multiplied by W^O, so Y = Σ_i H_i W^O_i, and each head has its own 64 rows of W^O. An average is the special case in which these blocks are equal; then all heads together have only 64 features, not 512. (In part 7, learned values made up for it.) Nor are the heads an ensemble: each model of an ensemble predicts by itself, but heads are parts of one model, and the ablation of one can ruin the prediction.
# <!-- END SOLUTION -->

# %% [markdown]
# ## Where you stand

# %%
from transformer_course.progress import show_progress

show_progress("03_multi_head_attention")

# %% [markdown]
# - Multi-head attention runs several heads in parallel, puts their outputs side by side, and mixes them with the output projection $W^O$.
# - One head gives one weighted sum. Unequal weights keep two tokens apart in it, but the next layer must take the blend apart. In your experiment one head failed or overfitted; two heads of the same total size generalised.
# - $Y = \sum_i H_i W^O_i$: each head has its own values and its own block of $W^O$. Either was enough to keep the nouns apart. Heads side by side even did without $W^O$, as long as their values could learn.
# - A head can be programmed: its query says what a token asks for, its key what a token offers, its value what it passes on.
# - *Project first, then split.* Each head reads the whole token, and only its result is narrow: $d / h$ features. So the number of parameters is $4 d^2$, plus biases, for any number of heads.
# - The heads are an *axis*: (batch, heads, length, d_head). Split the last axis, then transpose. A bare `view` gives the right shape with wrong contents.
# - Scores are divided by $\sqrt{d_{\text{head}}}$. A mask for each sequence needs an axis for the heads.
#
# **What comes next.** Your deepest model had two layers, and each layer adds its output to x. Large models have about a hundred layers. What happens to the size of the numbers on the way, and to the gradients? That is lesson 4, layer normalisation.
