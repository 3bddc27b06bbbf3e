# %% [markdown]
# # Lesson 5 · Dropout
#
# **You build** dropout, the module around it, its place inside attention, and a model that says how unsure it is.
#
# **You need** `nn.Module` with its two modes, `train()` and `eval()`; mean, standard deviation, and what a probability is; from lesson 1 what attention weights are.
#
# **You take away** a reason why it makes larger what it keeps, a model that learns less by heart, and four ways to get dropout wrong that no error message tells you.
#
# **Time**: about 60 minutes.

# %% [markdown]
# **How to work**, as in lesson 1: read, predict, run, cell by cell. This notebook runs alone. Two things are new: your functions throw dice, and the checks count what they throw. They allow for chance: less than once in a million runs do they refuse a right answer.

# %% [markdown]
# ## 1 · Units that lean on one another
#
# With residuals and norms even a deep network trains (lesson 4). Now it trains too well: a large network on few examples learns them **by heart**, wrong labels included. How do you make it learn the rule instead?
#
# Here is one picture of what happens. The units of the network (the numbers inside a layer) become specialists: one unit fires for a single training example, another corrects the first, and nothing of it helps with a new example.
#
# Dropout stops this in a crude way. In training, **each unit is switched off by the throw of a die**, anew in each step. No unit can rely on another being there, so each must be of use by itself.

# %%
from transformer_course import figures

thrown_for = [
    [1.0, 2.0, 3.0, 1.0, 2.0, 3.0],
    [2.0, 0.0, 6.0, 0.0, 0.0, 6.0],
    [0.0, 4.0, 0.0, 0.0, 4.0, 6.0],
    [2.0, 4.0, 0.0, 2.0, 0.0, 0.0],
]
figures.steps(
    {"six units of one layer": (thrown_for, "unit", ["1", "2", "3", "4", "5", "6"])},
    "mode",
    ["evaluation", "training, step 1", "training, step 2", "training, step 3"],
)

# %% [markdown]
# What to see: in training about half of the units are 0, others in each step (and, in a batch, others for each example). And those that are left have **doubled**. Why? That is the question of the next two parts.

# %% given imports
import itertools
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformer_course.checks import Check, numbers

# %% [markdown]
# ## 2 · What the next unit expects
#
# Take one unit that reads two others, $x_0$ and $x_1$, with the weights $w_0$ and $w_1$. Without dropout it gives $a = w_0 x_0 + w_1 x_1$. Now each input is dropped with probability $p$, by its own die. Four things can happen:
#
# | $x_0$ | $x_1$ | the unit gives | probability |
# |---|---|---|---|
# | dropped | dropped | $0$ | $p \cdot p$ |
# | dropped | kept | $w_1 x_1$ | $p\,(1 - p)$ |
# | kept | dropped | $w_0 x_0$ | $(1 - p)\,p$ |
# | kept | kept | $w_0 x_0 + w_1 x_1$ | $(1 - p)(1 - p)$ |
#
# The **expectation** $E[a]$ is what the unit gives on average: each outcome, times its probability, summed up.
#
# **Predict.** $w_0 x_0 = 4$, $w_1 x_1 = 6$ and $p = 1/2$, so each row of the table has the probability 1/4. What is $E[a]$?
#
# <details><summary>10</summary>That is what the unit gives when nothing is dropped: only the last row.</details>
# <details><summary>5</summary>Yes: (0 + 6 + 4 + 10) / 4. Half of what it gives without dropout.</details>
# <details><summary>2.5</summary>It would be, if both inputs had to be kept for anything to come out. Each one arrives alone, too.</details>

# %% [markdown]
# **Exercise** (10 minutes). The same for any number of inputs and any $p$. Go through all cases, as in the table: with $n$ inputs there are $2^n$ of them.
#
# <details><summary>Hint 1</summary><code>itertools.product((0, 1), repeat=3)</code> gives all eight rows of zeros and ones of length 3. Read 0 as dropped, 1 as kept.</details>
# <details><summary>Hint 2</summary>The probability of a row is a product: a factor p for each 0, a factor 1 − p for each 1. <code>math.prod</code> multiplies what a list holds.</details>


# %% exercise expected_activation
def expected_activation(weights: Tensor, x: Tensor, p: float) -> Tensor:
    """What the unit weights · x gives on average, each input dropped with probability p.

    weights (n,), x (n,), n up to 12 -> a tensor without axes, in their dtype. What is kept is
    not rescaled.
    """
    # BEGIN SOLUTION
    expected = torch.zeros_like(x).sum()
    for kept in itertools.product((0, 1), repeat=len(x)):
        probability = math.prod(1 - p if one else p for one in kept)
        expected = expected + probability * (weights * x * x.new_tensor(kept)).sum()
    return expected
    # END SOLUTION


# %% check expected_activation points=2
hint = "each outcome times its probability, summed over all 2ⁿ outcomes"
with Check("expected_activation", "two inputs, as in the table", hint) as check:
    weights = torch.tensor([2.0, 3.0], dtype=torch.float64)
    x = torch.tensor([2.0, 2.0], dtype=torch.float64)
    rarely, expected = check.call(weights, x, 0.1), check.call(weights, x, 0.5)
    check.shape(expected)
    check.equal(expected, torch.tensor(5.0, dtype=torch.float64), "(0 + 6 + 4 + 10) / 4 = 5")
    check.equal(rarely, torch.tensor(9.0, dtype=torch.float64), "at p = 0.1 the unit expects 9")
with Check("expected_activation", "another p", hint) as check:
    weights = torch.tensor([4.0, -2.0], dtype=torch.float64)
    x = torch.tensor([1.0, -2.0], dtype=torch.float64)
    check.equal(
        check.call(weights, x, 0.25),
        torch.tensor(6.0, dtype=torch.float64),
        "w₀x₀ = w₁x₁ = 4 at p = 1/4: (0 + 4 · 3 + 4 · 3 + 8 · 9) / 16 = 6",
        hint="p is the probability that an input is dropped; 1 − p, that it is kept",
    )
with Check("expected_activation", "three inputs, one weight below zero", hint) as check:
    weights = torch.tensor([2.0, -3.0, 1.0], dtype=torch.float64)
    x = torch.tensor([1.0, 4.0, 5.0], dtype=torch.float64)
    check.equal(
        check.call(weights, x, 0.2),
        torch.tensor(-4.0, dtype=torch.float64),
        "weights · x = -5, and at p = 0.2 the unit expects -4",
    )
# BEGIN HIDDEN TESTS
with Check("expected_activation", "one input to twelve, and every p") as check:
    for size, p in ((1, 0.3), (2, 0.9), (4, 0.0), (5, 1.0), (7, 0.55), (12, 0.1)):
        weights, x = numbers(size, seed=size, scale=3.0), numbers(size, seed=size + 1)
        expected = check.call(weights, x, p)
        check.shape(expected)
        check.equal(expected, (1 - p) * (weights * x).sum(), "(1 − p) weights · x")
with Check("expected_activation", "float32") as check:
    weights, x = numbers(6, seed=3, dtype=torch.float32), numbers(6, seed=4, dtype=torch.float32)
    expected = check.call(weights, x, 0.4)
    check.equal(expected, 0.6 * (weights * x).sum(), "(1 − p) weights · x", within=1e-4)
# END HIDDEN TESTS


# %% [markdown]
# Run your function for one unit of three inputs and all $p$. Do you see the rule?

# %%
rates = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
three_weights, three_units = torch.tensor([2.0, 1.0, 3.0]), torch.tensor([1.0, 2.0, 2.0])
averages = [expected_activation(three_weights, three_units, rate).item() for rate in rates]
print("without dropout the unit gives", (three_weights @ three_units).item())
print("with p = 0.2 it expects       ", round(averages[2], 3))
figures.curves(
    rates,
    {"expected": averages},
    x="p, the probability to be dropped",
    y="what the unit expects",
    title="Dropout makes the next unit's input smaller",
    bottom=0.0,
)

# %% [markdown]
# What to see: a straight line, from everything at $p = 0$ to nothing at $p = 1$. However many inputs there are,
#
# $$E[a] = (1 - p)\,(w_0 x_0 + w_1 x_1 + \dots)$$
#
# The reason: a sum's expectation is the sum of the expectations, and each input arrives with probability $1 - p$.

# %% [markdown]
# ### Bug hunt: half of what?
#
# In evaluation nothing is dropped, so the next unit gets **more** than it got in training, on average. A lecture slide cures this at test time, with the derivation that you have just done for $p = 1/2$: it multiplies the activations by $\tfrac{1}{2}$.
#
# Two things can go wrong. Here is the first: the slide's ½, with other values of $p$.

# %%
print("    p   expected in training   slide: ½ of it at test time")
for rate in (0.5, 0.25, 0.1):
    in_training = expected_activation(three_weights, three_units, rate).item()
    at_test = 0.5 * (three_weights @ three_units).item()
    print(f"{rate:5}   {in_training:20.2f}   {at_test:27.2f}")

# %% [markdown]
# What to see: the two agree in the first line alone. At $p = 0.1$, as Transformers use it, the slide's ½ makes the activations far too small.

# %% [markdown]
# **Exercise** (2 minutes). Write what the slide means, for every $p$.
#
# <details><summary>Hint</summary>Look at the formula above the bug hunt. In training the unit expects which part of its input?</details>


# %% exercise repaired_half
def repaired_half(activation: Tensor, p: float) -> Tensor:
    """What the slide does at test time, for every p: the activation that training expects.

    p is the probability with which training drops. Any shape in, the same shape out.
    """
    # BEGIN SOLUTION
    return activation * (1 - p)
    # END SOLUTION


# %% check repaired_half points=1
hint = "at test time the activation becomes what it was on average in training"
with Check("repaired_half", "three values of p", hint) as check:
    activation = torch.tensor([8.0, -4.0, 2.0], dtype=torch.float64)
    for p, rows in ((0.25, [6.0, -3.0, 1.5]), (0.5, [4.0, -2.0, 1.0]), (0.75, [2.0, -1.0, 0.5])):
        check.equal(
            check.call(activation, p),
            torch.tensor(rows, dtype=torch.float64),
            f"training drops with p = {p}: at test time 8 becomes {rows[0]:g}",
        )
with Check("repaired_half", "p = 0 and p = 1", hint) as check:
    activation = numbers(2, 3)
    check.equal(check.call(activation, 0.0), activation, "nothing was dropped: nothing changes")
    check.equal(check.call(activation, 1.0), 0 * activation, "all was dropped: nothing is left")
# BEGIN HIDDEN TESTS
with Check("repaired_half", "other shapes, and float32") as check:
    for shape, p, dtype in (((4, 1, 2), 0.1, torch.float64), ((5,), 0.9, torch.float32)):
        activation = numbers(*shape, seed=1, scale=4.0, dtype=dtype)
        check.equal(check.call(activation, p), (1 - p) * activation, "1 − p of it")
# END HIDDEN TESTS


# %% [markdown]
# The second thing that goes wrong: **today's dropout is another one**. PyTorch does not touch evaluation at all. It scales *in training*: what is kept is divided by $1 - p$, and the expectation is right from the start. Who takes both, the slide's test time and PyTorch's training, repairs twice.

# %%
many_ones = torch.ones(100_000)
torch.manual_seed(0)
of_pytorch = F.dropout(many_ones, 0.5, training=True)
classic = many_ones * (torch.rand(100_000) >= 0.5)
print("                     training, on average   at test time")
print(f"classic                      {classic.mean().item():10.2f}           0.50")
print(f"PyTorch                      {of_pytorch.mean().item():10.2f}           1.00")
print(f"PyTorch, and the ½           {of_pytorch.mean().item():10.2f}           0.50   <- wrong")

# %% [markdown]
# ## 3 · Inverted dropout
#
# Dropout that scales in training is called **inverted**. Each number $x$ is thrown for by its own die:
#
# $$\mathrm{dropout}(x) = \begin{cases} 0 & \text{with probability } p \\ \dfrac{x}{1 - p} & \text{otherwise} \end{cases} \qquad\qquad E = p \cdot 0 + (1 - p)\,\frac{x}{1 - p} = x$$
#
# In evaluation it returns $x$ as it is. So a trained model needs no correction, costs nothing extra, and nobody has to remember $p$.
#
# **Predict.** At $p = 0.9$, which numbers does dropout make of 1, 1, 1, …?
#
# <details><summary>Nine of ten become 0.1</summary>0.1 is the share that is kept. What is kept becomes larger, not smaller.</details>
# <details><summary>One of ten is 0, the others 1.11</summary>Here p is the probability to be <em>dropped</em>. (Some papers and old libraries mean the opposite: look before you copy a p.)</details>
# <details><summary>Nine of ten are 0, the others 10</summary>Yes: 1 / (1 − 0.9) = 10, and 0.9 · 0 + 0.1 · 10 = 1.</details>

# %% [markdown]
# **Exercise** (10 minutes). Write it. `torch.rand(shape, generator=…)` gives a number from 0 to 1 (1 itself never comes) for each place; `F.dropout` comes at the end, as the referee.
#
# <details><summary>Hint 1</summary>First the case that is not training. Then: with which probability is a random number from 0 to 1 below p?</details>
# <details><summary>Hint 2</summary>At p = 1 everything is dropped, and 1 − p is 0. A tensor divided by 0 becomes inf, and inf · 0 is NaN. So give p = 1 a factor, or a line, of its own.</details>


# %% exercise dropout
def dropout(
    x: Tensor, p: float, training: bool, generator: torch.Generator | None = None
) -> Tensor:
    """Drop each number with probability p, divide the others by 1 - p; do so in training only.

    Any shape in, the same shape and dtype out. p from 0 to 1: at p = 1 the result is zeros.
    All random numbers come from `generator`; None means torch's own.
    """
    # BEGIN SOLUTION
    if not training:
        return x
    kept = torch.rand(x.shape, generator=generator, device=x.device) >= p
    # at p = 1 nothing is kept, so the factor does not matter, as long as it is a number
    factor = 1 / (1 - p) if p < 1 else 0.0
    return x * kept * factor
    # END SOLUTION


# %% check dropout points=2
with Check("dropout", "in evaluation") as check:
    x = numbers(5, 8)
    result = check.call(x, 0.25, False)
    check.shape(result, batch=5, dim=8)
    with Check("dropout", "nothing is dropped") as still:
        still.true(
            bool((result != 0).all()),
            "in evaluation (training=False) nothing is dropped",
            hint="You drop in evaluation too: look at `training` first, and if it is False return "
            "x as it is.",
        )
    check.equal(
        result,
        x,
        "in evaluation x comes back as it is",
        hint="inverted dropout does all its scaling in training",
    )
with Check("dropout", "p = 0 and p = 1 in training") as check:
    x = numbers(3, 4)
    check.equal(
        check.call(x, 0.0, True),
        x,
        "p = 0 drops nothing and scales nothing",
        hint="p is the probability that a number is dropped: compare torch.rand (not randn) with it",
    )
    check.equal(
        check.call(x, 1.0, True),
        torch.zeros(3, 4, dtype=torch.float64),
        "p = 1 drops everything",
        hint="x / (1 − p) is inf at p = 1: treat p = 1 by itself",
    )
# BEGIN HIDDEN TESTS
with Check("dropout", "evaluation, whatever p and shape") as check:
    for shape, p, dtype in (
        ((7,), 0.0, torch.float32),
        ((3, 2, 4), 0.9, torch.float64),
        ((2, 5), 1.0, torch.float64),
        ((4, 1, 3, 2), 0.5, torch.float32),
    ):
        x = numbers(*shape, seed=1, scale=3.0, dtype=dtype)
        check.equal(check.call(x, p, training=False), x, "x as it is")
        check.equal(check.call(x, 0.0, training=True), x, "x as it is, at p = 0")
        check.equal(check.call(x, 1.0, training=True), torch.zeros_like(x), "zeros, at p = 1")
with Check("dropout", "a gradient in evaluation") as check:
    x = numbers(3, 5, seed=2).requires_grad_()
    slope = check.gradient(check.call(x, 0.7, False) * numbers(3, 5, seed=3), x)
    check.equal(slope, numbers(3, 5, seed=3), "the gradient passes as it is")
# END HIDDEN TESTS

# %% [markdown]
# Now with the dice:

# %% check dropout_training points=2
with Check("dropout", "many numbers at p = 0.2, in training") as check:
    x = 1 + numbers(200, 300).abs()
    result = check.call(x, 0.2, True)
    check.shape(result, batch=200, dim=300)
    with Check("dropout", "every fifth is dropped") as chance:
        share = float((result == 0).double().mean())
        # 60 000 throws: 0.02 is more than twelve standard errors
        chance.true(
            abs(share - 0.2) < 0.02,
            f"at p = 0.2 a fifth of all numbers becomes 0; here {share:.0%} did",
            hint="You keep with probability p: p is the probability that a number is dropped, so "
            "turn the comparison round."
            if abs(share - 0.8) < 0.02
            else "Nothing is dropped in training: is `training` the wrong way round?"
            if torch.equal(result, x)
            else "What is dropped becomes 0: put no other number in its place."
            if share == 0 and bool((result == result.flatten().mode().values).sum() > 1000)
            else "Nothing but one throw decides over the whole tensor: throw a die for each number "
            "of x."
            if share in (0, 1) and float((result / x).std()) < 1e-9
            else "Compare a random number from 0 to 1 (torch.rand, not torch.randn) with p, one "
            "for each place.",
        )
    with Check("dropout", "the others are scaled up") as scaled:
        factors = (result / x)[result != 0]
        size = float(factors.mean())
        scaled.equal(
            factors,
            torch.full_like(factors, 1.25),
            f"what is kept is divided by 1 − p = 0.8, so it grows to 1.25 times; here {size:.3g}",
            hint="What is kept is not scaled: divide it by 1 − p in training."
            if abs(size - 1) < 0.001
            else "You divide by p: what is kept arrives with probability 1 − p, so divide by 1 − p."
            if abs(size - 5) < 0.01
            else "You multiply by 1 − p where you should divide by it: the numbers that are kept "
            "must make up for those that are dropped."
            if abs(size - 0.8) < 0.001
            else "You divide by the root of 1 − p: the mean must stay, not the mean of the squares, "
            "so divide by 1 − p."
            if abs(size - 1.25**0.5) < 0.001
            else "You divide by the share that was kept by chance in this call: divide by 1 − p, "
            "the same number each time."
            if abs(size - 1.25) < 0.03
            else "The factor should be 1 / (1 − p), once.",
        )
# BEGIN HIDDEN TESTS
with Check("dropout", "shares and factors, for several p") as check:
    for p, dtype in (
        (0.005, torch.float32),
        (0.13, torch.float64),
        (0.5, torch.float32),
        (0.97, torch.float64),
    ):
        x = 2 + numbers(50, 40, 30, seed=4, dtype=dtype).abs()
        x = x * torch.where(numbers(50, 40, 30, seed=5) > 0, 1, -1)
        result = check.call(x, p, True)
        kept = result != 0
        error = 6 * (p * (1 - p) / x.numel()) ** 0.5
        check.equal(1 - kept.double().mean(), p, "a share p is dropped", within=error)
        check.equal(result, kept * x / (1 - p), "the others are divided by 1 − p")
        error = 6 * float((p / (1 - p) * x.double().square().sum()) ** 0.5)
        check.equal(result.double().sum(), x.double().sum(), "the mean stays", within=error)
with Check("dropout", "views, and a vector") as check:
    for x in (numbers(60, 90, seed=6).T, numbers(9000, seed=7)):
        result = check.call(x, 0.3, True)
        check.equal(result, (result != 0) * x / 0.7, "dropped, or divided by 1 − p")
        share = (result == 0).double().mean()
        check.equal(share, 0.3, "a share p is dropped", within=6 * (0.21 / x.numel()) ** 0.5)
with Check("dropout", "gradients") as check:
    x = (1 + numbers(40, 30, seed=8).abs()).requires_grad_()
    result = check.call(x, 0.6, True)
    kept = (result.detach() != 0).double()
    check.equal(check.gradient(result, x), kept / 0.4, "only through what is kept, scaled alike")
# END HIDDEN TESTS

# %% [markdown]
# Each number has a die of its own, and the dice come from where you say:

# %% check dropout_chance points=1
with Check("dropout", "a batch of 300 examples with 400 units, p = 0.25") as check:
    x = 1 + numbers(300, 400, seed=1).abs()
    result = check.call(x, 0.25, True)
    check.shape(result, batch=300, dim=400)
    again = check.call(x, 0.25, True)
    with Check("dropout", "each number has its own die") as chance:
        dropped = (result == 0).double()
        share = float(dropped.mean())
        # 0.2 is more than eight standard errors, for each example (and more for each unit)
        units_off = (dropped.mean(0) - share).abs().max()
        examples_off = (dropped.mean(1) - share).abs().max()
        chance.true(
            bool(units_off < 0.2),
            "each unit is dropped in about a quarter of the examples",
            hint="All examples drop the same units: throw a die for each number of x, not only for "
            "each unit.",
        )
        chance.true(
            bool(examples_off < 0.2),
            "of each example about a quarter of the units is dropped",
            hint="Whole examples are dropped: throw a die for each number of x, not only for each "
            "example.",
        )
        chance.true(
            abs(share - 0.25) < 0.0125,  # ten standard errors
            f"of 120 000 numbers a quarter is dropped; here {share:.1%}",
            hint="You keep with probability p: p is the probability that a number is dropped, so "
            "turn the comparison round."
            if abs(share - 0.75) < 0.0125
            else "Nothing is dropped in training: is `training` the wrong way round?"
            if torch.equal(result, x)
            else "One throw decides over the whole tensor: throw a die for each number of x."
            if share == 1 or (share == 0 and float((result / x).std()) < 1e-9)
            else "What is dropped becomes 0: put no other number in its place."
            if share == 0
            else "Compare a number from torch.rand with p itself, without rounding it.",
        )
        chance.true(
            not torch.equal(result == 0, again == 0),
            "each call throws anew",
            hint="Every call drops the same numbers: set no seed inside, draw anew each time.",
        )
with Check("dropout", "many small calls") as check:
    x = 1 + numbers(20, seed=2).abs()
    counts = [int((check.call(x, 0.5, True) == 0).sum()) for _ in range(60)]
    with Check("dropout", "how many are dropped is chance too") as chance:
        chance.true(
            len(set(counts)) > 1,
            f"of 20 numbers not always the same count is dropped; here always {counts[0]}",
            hint="You drop the same count each time: each number is dropped by a throw of its own, "
            "whatever becomes of the others.",
        )
with Check("dropout", "a generator of your own") as check:
    x, generator = 1 + numbers(8, 50).abs(), torch.Generator().manual_seed(5)
    kept_state = generator.get_state()
    torch.manual_seed(1)
    first = check.call(x, 0.5, True, generator=generator)
    second = check.call(x, 0.5, True, generator=generator)
    generator.set_state(kept_state)
    torch.manual_seed(2)
    own_state = torch.get_rng_state()
    repeated = check.call(x, 0.5, True, generator=generator)
    untouched = torch.equal(torch.get_rng_state(), own_state)
    with Check("dropout", "decides what is dropped") as chance:
        chance.true(
            torch.equal(first, repeated),
            "the same state of the generator drops the same numbers",
            hint="Hand the generator on: torch.rand(…, generator=generator).",
        )
        chance.true(
            not torch.equal(first, second),
            "a second call with the same generator goes on, and drops others",
            hint="Leave the generator's seed alone: draw from it, and do not set it back.",
        )
        chance.true(
            untouched,
            "with a generator of your own, nothing is drawn from torch's",
            hint="You draw from torch's own numbers too: with a generator, all come from it.",
        )
# BEGIN HIDDEN TESTS
with Check("dropout", "neighbours have nothing to do with one another") as check:
    x = 1 + numbers(8, 10, 30, 50, seed=3).abs()
    kept = (check.call(x, 0.4, True) != 0).double()
    axes = (0, 1, 2, 3)
    for axis in axes:
        both = kept * kept.roll(1, axis)
        # pairs overlap: twice the variance of independent ones is enough
        error = 6 * (2 * 0.36 * 0.64 / x.numel()) ** 0.5
        check.equal(both.mean(), 0.36, "both neighbours are kept with (1 − p)²", within=error)
        for other in axes[axis + 1 :]:
            share = kept.mean((axis, other))
            count = x.numel() / share.numel()
            error = 7 * (0.24 / count) ** 0.5
            check.equal(share, torch.full_like(share, 0.6), "every slice alike", within=error)
with Check("dropout", "torch's own generator, where none is given") as check:
    x = 1 + numbers(30, 20, seed=4).abs()
    torch.manual_seed(7)
    first = check.call(x, 0.5, True)
    torch.manual_seed(7)
    check.equal(check.call(x, 0.5, True), first, "the same seed drops the same numbers")
    torch.manual_seed(8)
    check.true(not torch.equal(check.call(x, 0.5, True), first), "another seed drops others")
    generator = torch.Generator().manual_seed(9)
    torch.manual_seed(7)
    given = check.call(x, 0.5, True, generator=generator)
    check.true(not torch.equal(given, first), "a generator that is given is used")
    check.equal(check.call(x, 0.5, True), first, "and torch's own goes on from where it was")
with Check("dropout", "a single number") as check:
    x = torch.ones(1, dtype=torch.float64)
    seen = {check.call(x, 0.5, True).item() for _ in range(60)}
    check.true(seen == {0.0, 2.0}, "dropped or doubled, now this, now that")
# END HIDDEN TESTS


# %% [markdown]
# Look at your dropout at work. Twelve units are read by one linear unit. Move $p$, go through the samples, and compare: the histogram shows what the linear unit gives over many samples, the lines its mean in training and what it gives in evaluation.

# %%
from transformer_course.widgets import show_dropout

show_dropout(dropout)

# %% [markdown]
# What to see: the two lines lie close together at every $p$, and what is left between them is chance: the scale does its work. But the histogram gets wider as $p$ grows. The mean is kept, the noise is not. That noise is what training has to live with.

# %% [markdown]
# ## 4 · A module with two modes
#
# A function must be told each time whether this is training. A module knows: `model.train()` and `model.eval()` set `training` on it and on all modules inside. Forgetting `eval()` is one of the most frequent bugs there is: the model works, a little worse than it should, and differently in each run.
#
# **Predict.** What does `model.eval()` do to gradients?
#
# <details><summary>It switches them off</summary>That is <code>torch.no_grad()</code>. The two have nothing to do with each other, and most evaluation code needs both.</details>
# <details><summary>Nothing</summary>Yes. It sets <code>training</code> to False in every module, and no more than that.</details>

# %% [markdown]
# **Exercise** (5 minutes). Wrap your function.
#
# <details><summary>Hint</summary>Every <code>nn.Module</code> has an attribute <code>training</code>, True or False, which <code>train()</code> and <code>eval()</code> set. Read it in <code>forward</code>, each time.</details>


# %% exercise Dropout
class Dropout(nn.Module):
    """Your dropout as a module: drops with probability p in train() mode, nothing in eval() mode.

    forward: x of any shape -> the same shape. It learns nothing.
    """

    def __init__(self, p: float) -> None:
        # BEGIN SOLUTION
        super().__init__()
        self.p = p
        # END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        # BEGIN SOLUTION
        return dropout(x, self.p, self.training)
        # END SOLUTION


# %% check Dropout points=2
with Check("Dropout", "nothing is dropped in eval() mode") as check:
    module, x = check.build(0.5).eval(), 1 + numbers(20, 30).abs()
    module.call(x)
    result = module.call(x)  # and it stays there
    with Check("Dropout", "in eval() mode") as still:
        still.true(
            bool((result != 0).all()),
            "after eval() nothing is dropped",
            hint="Your module drops after eval() too: hand on self.training, which train() and "
            "eval() set, and read it in forward.",
        )
    check.equal(result, x, "after eval() x comes back as it is")
with Check("Dropout", "p = 1 and p = 0 in train() mode") as check:
    x = numbers(4, 3)
    everything, nothing = check.build(1.0).train().call(x), check.build(0.0).train().call(x)
    with Check("Dropout", "in train() mode") as modes:
        modes.true(
            not everything.any(),
            "after train(), Dropout(1.0) drops everything",
            hint="Your module drops nothing after train(): hand on self.training, which train() "
            "and eval() set, and read it in forward."
            if torch.equal(everything, x) and torch.equal(nothing, x)
            else "You keep with probability p: p is the probability that a number is dropped."
            if torch.equal(everything, x)
            else "Use the p that __init__ was given: keep it as self.p, and hand it on.",
        )
        modes.equal(
            nothing,
            x,
            "after train(), Dropout(0.0) drops nothing",
            hint="Use the p that __init__ was given: keep it as self.p, and hand it on.",
        )
with Check("Dropout", "back and forth") as check:
    module, x = check.build(0.25), 1 + numbers(100, 80).abs()
    module.eval().call(x)
    with torch.set_grad_enabled(False):  # has nothing to do with the mode
        result, again = module.train().call(x), module.call(x)
    with Check("Dropout", "a quarter is dropped in train() mode") as chance:
        dropped = (result == 0).double()
        share = float(dropped.mean())
        # the variance of a mean over 80 throws is 0.0024, that of a single throw 0.19
        chance.true(
            all(float(dropped.mean(axis).var()) < 0.05 for axis in (0, 1)),
            "each number has its own die: no whole rows or columns are dropped",
            hint="Throw for each number of x by itself, not for whole rows or columns.",
        )
        chance.true(
            abs(share - 0.25) < 0.04,  # more than eight standard errors
            f"Dropout(0.25) drops a quarter of 8000 numbers in train() mode; here {share:.0%}",
            hint="After eval() and train() again your module does not drop: keep no copy of the "
            "mode, ask self.training in forward, and nothing else."
            if torch.equal(result, x)
            else "One throw decides over the whole tensor: throw a die for each number of x."
            if share in (0, 1) and float((result / x).std()) < 1e-9
            else "You drop twice in one forward: drop once."
            if abs(share - 0.4375) < 0.04
            else "You keep with probability p: p is the probability that a number is dropped."
            if abs(share - 0.75) < 0.04
            else "Use the p that __init__ was given: keep it as self.p, and hand it on.",
        )
        kept = result[result != 0] / x[result != 0]
        chance.equal(
            kept,
            torch.full_like(kept, 4 / 3),
            "what is kept is divided by 1 − p = 0.75",
            hint="What is kept must be divided by 1 − p, once.",
        )
        chance.true(
            not torch.equal(result, again),
            "each call throws anew",
            hint="Every forward drops the same numbers: draw the mask anew each time, and set no "
            "seed.",
        )
    check.true(not module.parameters(), "it learns nothing: no nn.Parameter")
# BEGIN HIDDEN TESTS
with Check("Dropout", "two modules, two probabilities") as check:
    x = 1 + numbers(100, 90, seed=1, dtype=torch.float32).abs()
    modules = [(check.build(p), p) for p in (0.1, 0.7)]
    for module, p in modules:
        result = module.train().call(x)
        kept = result != 0
        error = 6 * (p * (1 - p) / x.numel()) ** 0.5
        check.equal(1 - kept.double().mean(), p, "each with its own p", within=error)
        check.equal(result, kept * x / (1 - p), "the others are divided by 1 − p")
    modules[0][0].eval()
    check.equal(modules[0][0].call(x), x, "one in evaluation")
    check.equal(modules[0][0].call(x), x, "and it stays there")
    check.true(bool((modules[1][0].call(x) == 0).any()), "the other still in training")
with Check("Dropout", "several shapes, one after the other, and gradients") as check:
    module = check.build(0.5)
    for shape in ((300,), (40, 30), (12, 11, 10), (7, 9, 10, 8)):
        x = (1 + numbers(*shape, seed=2).abs()).requires_grad_()
        result = module.call(x)
        kept = (result.detach() != 0).double()
        check.equal(check.gradient(result, x), 2 * kept, "only through what is kept")
        for axis in range(len(shape)):
            both = kept * kept.roll(1, axis)
            error = 6 * (2 * 0.25 * 0.75 / x.numel()) ** 0.5
            check.equal(both.mean(), 0.25, "neighbours have dice of their own", within=error)
    check.equal(module.eval().call(x), x, "and nothing in evaluation")
# END HIDDEN TESTS


# %% [markdown]
# ## 5 · Dropout inside attention
#
# A Transformer drops in several places: what attention gives, what the feed-forward part gives, often something inside that part, and, less well known, **the attention weights themselves**. There, dropping means: this query does not look at this key in this step. So no query can rely on a single key.
#
# **Predict.** The weights of a query are 0.5, 0.3, 0.2, and $p = 0.5$. The second is dropped, the others are kept. What are they now?
#
# <details><summary>0.5, 0, 0.2</summary>What is kept is divided by 1 − p, here as everywhere.</details>
# <details><summary>0.71, 0, 0.29</summary>That is divided by the sum of what is left, so that they sum to 1 again. It looks tidy, but then a key's weight depends on what became of the others, and the expectation is no longer the old weight.</details>
# <details><summary>1.0, 0, 0.4</summary>Yes. They sum to 1.4 now, another time to 0.6, and to 1 on average. PyTorch does the same.</details>

# %% [markdown]
# **Exercise** (5 minutes). Write it. The shape is that of attention weights, (…, query, key).
#
# <details><summary>Hint</summary>Which function do you already have that does this to any tensor?</details>


# %% exercise attention_dropout
def attention_dropout(weights: Tensor, p: float, training: bool) -> Tensor:
    """Drop each attention weight with probability p, divide the others by 1 - p; in training only.

    (…, query, key) -> the same shape. Rows are not made to sum to 1 again. At p = 1, zeros.
    """
    # BEGIN SOLUTION
    return dropout(weights, p, training)
    # END SOLUTION


# %% check attention_dropout points=2
with Check("attention_dropout", "in evaluation") as check:
    weights = torch.softmax(numbers(2, 5, 6), -1)
    result = check.call(weights, 0.25, False)
    check.shape(result, batch=2, query=5, key=6)
    with Check("attention_dropout", "nothing is dropped in evaluation") as still:
        still.true(
            bool((result != 0).all()),
            "in evaluation (training=False) no weight is dropped",
            hint="You drop in evaluation too: hand on `training`.",
        )
    check.equal(result, weights, "in evaluation the weights come back as they are")
with Check("attention_dropout", "many weights at p = 0.2, in training") as check:
    weights = torch.softmax(numbers(4, 3, 60, 80), -1)
    result, again = check.call(weights, 0.2, True), check.call(weights, 0.2, True)
    check.shape(result, batch=4, head=3, query=60, key=80)
    with Check("attention_dropout", "each weight has its own die, and no row is mended") as chance:
        dropped = (result == 0).double()
        share, factors = float(dropped.mean()), (result / weights)[result != 0]
        chance.true(
            abs(share - 0.2) < 0.03,  # more than ten standard errors, of 57 600 throws
            f"at p = 0.2 a fifth of all weights becomes 0; here {share:.0%} did",
            hint="You keep with probability p: p is the probability that a weight is dropped."
            if abs(share - 0.8) < 0.03
            else "Nothing is dropped in training: hand on `training` as it is."
            if share == 0
            else "Throw for each weight by itself: not for whole keys, queries, heads or sentences.",
        )
        # a mean over two or more independent throws varies less than a single throw, 0.16
        chance.true(
            all(float(dropped.mean(axis).var()) < 0.1 for axis in range(4)),
            "each sentence, head, query and key has dice of its own",
            hint="Throw for each weight by itself: not for whole keys, queries, heads or sentences.",
        )
        chance.true(
            not torch.equal(result == 0, again == 0),
            "each call throws anew",
            hint="Every call drops the same weights: the dice decide, in each call anew.",
        )
        sums = result.sum(-1)
        chance.equal(
            factors,
            torch.full_like(factors, 1.25),
            "what is kept is divided by 1 − p = 0.8, whatever the sum of its row becomes",
            hint="You make every row sum to 1 again: leave it as it is, the expectation is right "
            "without it."
            if bool((sums - 1).abs().max() < 1e-6)
            else "What is kept is not scaled: divide it by 1 − p in training."
            if bool((factors - 1).abs().max() < 1e-6)
            else "The factor of what is kept is 1 / (1 − p), and nothing else.",
        )
with Check("attention_dropout", "p = 0 and p = 1 in training") as check:
    weights = torch.softmax(numbers(3, 4), -1)
    check.equal(check.call(weights, 0.0, True), weights, "p = 0 drops no weight, and scales none")
    check.equal(
        check.call(weights, 1.0, True),
        0 * weights,
        "p = 1 drops every weight",
        hint="a row may lose all its weights",
    )
# BEGIN HIDDEN TESTS
with Check("attention_dropout", "float32, two axes, and several p") as check:
    for shape, p in (((90, 70), 0.1), ((6, 50, 40), 0.5), ((2, 3, 40, 50), 0.9)):
        weights = torch.softmax(numbers(*shape, seed=1, dtype=torch.float32), -1)
        result = check.call(weights, p, True)
        kept = result != 0
        error = 6 * (p * (1 - p) / weights.numel()) ** 0.5
        check.equal(1 - kept.double().mean(), p, "a share p is dropped", within=error)
        check.equal(result, kept * weights / (1 - p), "the others are divided by 1 − p")
        error = 6 * float((p / (1 - p) * weights.double().square().sum()) ** 0.5)
        total = weights.double().sum()
        check.equal(result.double().sum(), total, "large or small, alike", within=error)
        check.equal(check.call(weights, p, False), weights, "nothing happens in evaluation")
        for axis in range(len(shape)):
            both = (kept & kept.roll(1, axis)).double().mean()
            error = 6 * (2 * (1 - p) ** 2 * (1 - (1 - p) ** 2) / weights.numel()) ** 0.5
            check.equal(both, (1 - p) ** 2, "neighbours are dropped by themselves", within=error)
with Check("attention_dropout", "no place is spared: not the first, the own or the last") as check:
    weights = torch.softmax(numbers(400, 6, 6, seed=4, scale=2.0), -2).mT
    result = check.call(weights, 0.8, True)
    dropped = (result == 0).double()
    turned_round = (dropped * dropped.mT)[:, *torch.triu_indices(6, 6, 1)]
    error = 6 * (0.64 * 0.36 / turned_round.numel()) ** 0.5
    check.equal(turned_round.mean(), 0.64, "both directions of a pair alone", within=error)
    check.equal(result, (1 - dropped) * weights / 0.2, "dropped, or divided by 1 − p")
    error = 6.5 * (0.16 / 400) ** 0.5
    check.equal(dropped.mean(0), 0.8 + 0 * dropped[0], "at every place alike", within=error)
    error = 6 * (0.16 / weights.numel()) ** 0.5
    check.equal(dropped.mean(), 0.8, "a row may lose all its weights", within=error)
with Check("attention_dropout", "a query that may look at nothing") as check:
    weights = torch.softmax(numbers(30, 40, seed=2), -1)
    weights[7] = 0.0
    result = check.call(weights, 0.5, True)
    check.equal(result[7], torch.zeros(40, dtype=torch.float64), "its weights stay 0")
    check.equal(result, (result != 0) * weights * 2, "the others are dropped, or doubled")
with Check("attention_dropout", "gradients") as check:
    weights = torch.softmax(numbers(30, 20, seed=3), -1).requires_grad_()
    result = check.call(weights, 0.75, True)
    expected = 4.0 * (result.detach() != 0)
    check.equal(check.gradient(result, weights), expected, "only through what is kept")
# END HIDDEN TESTS


# %% [markdown]
# ## 6 · Does it help?
#
# Now the experiment. A network gets 400 pictures of handwritten digits, 8 by 8 pixels, from the set that comes with scikit-learn. To make learning by heart visible, **three of ten training labels are thrown with a ten-sided die**. They cannot be known, only memorised. The test labels are right.

# %%
from sklearn.datasets import load_digits

pixels, written = load_digits(return_X_y=True)
pictures = torch.tensor(pixels / 16, dtype=torch.float32)
labels = torch.tensor(written)
shuffled = torch.randperm(len(pictures), generator=torch.Generator().manual_seed(0))
train_pictures, test_pictures = pictures[shuffled[:400]], pictures[shuffled[800:]]
test_labels = labels[shuffled[800:]]
true_labels = labels[shuffled[:400]]
thrown = torch.randint(10, (400,), generator=torch.Generator().manual_seed(1))
train_labels = torch.where(torch.arange(400) < 120, thrown, true_labels)
print(f"{(train_labels != true_labels).sum()} of 400 training labels are wrong")

# %% [markdown]
# The network has two wide hidden layers, far more numbers than there are pictures, and **your** dropout after each of them.


# %%
def network(
    hidden: int = 256, rate: float = 0.5, layer: type[nn.Module] = Dropout
) -> nn.Sequential:
    """64 pixels -> 10 digits, with dropout after each hidden layer."""
    return nn.Sequential(
        *(nn.Linear(64, hidden), nn.ReLU(), layer(rate)),
        *(nn.Linear(hidden, hidden), nn.ReLU(), layer(rate)),
        nn.Linear(hidden, 10),
    )


print(f"{sum(part.numel() for part in network().parameters()):,} numbers to learn")

# %% [markdown]
# Training is what it always is; each 30th step counts the test digits that are right, with dropout off.


# %%
@torch.no_grad()
def share_right(classifier: nn.Module, inputs: Tensor, targets: Tensor) -> float:
    classifier.eval()
    return (classifier(inputs).argmax(-1) == targets).float().mean().item()


def trained(
    rate: float, inputs: Tensor, targets: Tensor, steps: int = 300
) -> tuple[nn.Sequential, list[float]]:
    """A network trained with dropout, and the share of test digits right at each 30th step."""
    torch.manual_seed(0)
    classifier, history = network(rate=rate), []
    optimizer = torch.optim.Adam(classifier.parameters(), lr=1e-3)
    for step in range(steps + 1):
        if step % 30 == 0:
            history.append(share_right(classifier, test_pictures, test_labels))
        classifier.train()
        loss = F.cross_entropy(classifier(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return classifier, history


# %% [markdown]
# **Predict.** Without dropout the network ends with 100 % of its training labels right. What does it do on the test digits?
#
# <details><summary>Also about 100 %</summary>It has learned some hundred wrong labels too. A test digit that looks like one of those gets its wrong answer.</details>
# <details><summary>It rises, then falls</summary>Yes. It learns the rule first, because that explains most labels; then it bends the rule around each wrong one.</details>
# <details><summary>About 10 %: nothing but chance</summary>Seven of ten labels are still right, and the rule is in them.</details>

# %%
right_by_rate = {}
for rate in (0.0, 0.5):
    classifier, right_by_rate[f"p = {rate:g}"] = trained(rate, train_pictures, train_labels)
    by_heart = share_right(classifier, train_pictures, train_labels)
    right = right_by_rate[f"p = {rate:g}"]
    print(
        f"p = {rate:3}: {by_heart:.0%} of the training labels right; "
        f"test digits right: best {max(right):.0%}, in the end {right[-1]:.0%}"
    )
figures.curves(
    list(range(0, 301, 30)),
    right_by_rate,
    x="training step",
    y="share of test digits right",
    title="Dropout learns less by heart",
    bottom=0.0,
)

# %% [markdown]
# What to see: without dropout the test curve rises and falls again, while the training labels go to 100 %: the network learns the wrong ones by heart. With dropout it climbs higher and loses far less, and the wrong labels stay partly unlearned. It is no wonder cure: train on, and this curve sinks further, though not as far as the other. And with clean labels next to nothing is gained; try it, with `true_labels`.

# %% [markdown]
# ## 7 · A model that says how unsure it is
#
# In evaluation dropout is off, and the model gives one answer, as if it were sure. But the same trained network with dropout **on** is a crowd: each throw of all the dice, a **mask** that says which units are dropped, makes a slightly different network, and all of them have been trained. Ask fifty of them. The hope: where they agree, the answer can be trusted; where they scatter, it cannot. This is **Monte Carlo dropout** (Gal and Ghahramani, 2016): mean and standard deviation over random masks.
#
# **Predict.** Why not just call `model.train()` and predict fifty times?
#
# <details><summary>It would change the weights</summary>Only an optimizer's step changes weights. But something else may be changed, see below.</details>
# <details><summary>It switches on more than dropout</summary>Yes. Batch norm (lesson 4) in training mode takes its statistics from this batch, so the answer for a picture depends on its neighbours, and its running statistics change: the model is not the one you had.</details>

# %% [markdown]
# **Exercise** (15 minutes). Only the modules of type `nn.Dropout` may be in training mode, all others in evaluation. And leave the model as you found it: each module in the mode that it had, also when some were in training and others not.
#
# <details><summary>Hint 1</summary><code>model.modules()</code> gives the model and all modules inside it. <code>isinstance(part, nn.Dropout)</code> finds those to switch on.</details>
# <details><summary>Hint 2</summary><code>part.train()</code> and <code>part.eval()</code> go through all modules <em>inside</em> part. To give back modes one by one, set <code>part.training</code> itself.</details>
# <details><summary>Hint 3</summary><code>torch.stack</code> puts the results of all samples into one tensor, with the samples as first axis.</details>


# %% exercise monte_carlo_predict
def monte_carlo_predict(model: nn.Module, x: Tensor, samples: int) -> tuple[Tensor, Tensor]:
    """Predict `samples` times (at least 2) with dropout on; return (mean, std) over the samples.

    Only the modules of type nn.Dropout drop; every other module works as in evaluation.
    mean and std have the shape of model(x); std is torch's default. Each call throws anew.
    Afterwards each module is in the mode in which it was before, and the model's numbers are what
    they were.
    """
    # BEGIN SOLUTION
    modes = {part: part.training for part in model.modules()}
    for part in modes:
        part.training = isinstance(part, nn.Dropout)
    with torch.no_grad():
        results = torch.stack([model(x) for _ in range(samples)])
    for part, training in modes.items():
        part.training = training
    return results.mean(0), results.std(0)
    # END SOLUTION


# %% check monte_carlo_predict points=2
hint = "nn.Dropout in training mode, all else in evaluation; then mean and std over the samples"
with Check("monte_carlo_predict", "what needs no chance", hint) as check:
    linear, norm = nn.Linear(4, 3).double(), nn.BatchNorm1d(3).double()
    linear.load_state_dict({"weight": numbers(3, 4), "bias": numbers(3, seed=1)})
    x = numbers(5, 4, seed=2)
    expected = linear(x).detach()
    # Dropout(0) drops nothing, Dropout(1) everything: both without chance
    mean, std = check.call(
        nn.Sequential(linear, nn.Dropout(0.0)).eval(), x, 4, returns=("mean", "std")
    )
    check.shape(mean, batch=5, classes=3)
    check.shape(std, batch=5, classes=3)
    check.equal(mean, expected, "with Dropout(0.0) the mean is the model's one answer")
    check.equal(std, 0 * expected, "and the samples do not differ", within=1e-7)
    for silent in (
        nn.Dropout(1.0),
        nn.Sequential(nn.ReLU(), nn.Sequential(nn.Dropout(1.0))),
        nn.Sequential(nn.Dropout(1.0), nn.Dropout(0.0)),
    ):
        mean, std = check.call(nn.Sequential(linear, silent).eval(), x, 3, returns=("mean", "std"))
        check.equal(
            mean,
            0 * expected,
            "with Dropout(1.0) towards its end the model gives zeros, whatever its mode when it came "
            f"({type(silent).__name__})",
            hint="set the nn.Dropout modules to training mode before you predict, wherever they "
            "sit",
        )
    normed = nn.Sequential(linear, norm, nn.Dropout(0.0)).double().train()
    expected = (linear(x) / (1 + norm.eps) ** 0.5).detach()
    mean, std = check.call(normed, x, 4, returns=("mean", "std"))
    check.equal(
        mean,
        expected,
        "batch norm works as in evaluation, with its running statistics",
        hint="only nn.Dropout may be in training mode, even if the model came in train() mode",
    )
    # RReLU: a negative number times a random slope in training, times its mean in evaluation
    steep = nn.Sequential(nn.RReLU(0.0, 1.0), nn.Dropout(0.0)).train()
    mean, std = check.call(steep, -torch.ones(20, 30), 3, returns=("mean", "std"))
    with Check("monte_carlo_predict", "every other module works as in evaluation") as others:
        others.equal(
            mean,
            -0.5 * torch.ones(20, 30),
            "a module that is random in training, nn.RReLU, gives its one answer of evaluation",
            hint="Only nn.Dropout may be in training mode: first put everything into evaluation, "
            "then switch on what drops.",
        )
with Check("monte_carlo_predict", "two samples of ones at p = 0.5", hint) as check:
    doubled_or_none = nn.Sequential(nn.Dropout(0.5)).train()
    ones = torch.ones(20, 30, dtype=torch.float64)
    before, _ = check.call(doubled_or_none, ones, 2, returns=("mean", "std"))
    mean, std = check.call(doubled_or_none, ones, 2, returns=("mean", "std"))
    # each sample is 0 or 2: the mean of two is 0, 1 or 2
    with Check("monte_carlo_predict", "mean and std of two samples") as pair:
        pair.true(
            bool((std > 0).any()),
            "samples with dropout differ",
            hint="All samples are the same: call the model anew for each one.",
        )
        pair.true(
            bool(((mean == 0) | (mean == 1) | (mean == 2)).all()),
            "the mean of two samples, each 0 or 2, is 0, 1 or 2",
            hint="Take as many samples as `samples` says, and their plain mean over the first axis "
            "of the stack.",
        )
        pair.true(
            not torch.equal(mean, before),
            "a second call has masks of its own",
            hint="Every call draws the same masks: set no seed inside.",
        )
        pair.true(
            bool((mean == 1).any()),
            "where one of two samples is 0 and the other 2, the mean is 1",
            hint="Take the plain mean over the samples, no median.",
        )
        apart = std[mean == 1]
        size = float(apart.mean())
        pair.equal(
            apart,
            torch.full_like(apart, 2**0.5),
            f"the standard deviation of 0 and 2 is √2, as torch.std says; here {size:.3g}",
            hint="You divide by the number of samples, or once more by its root: take torch.std "
            "over the samples, and no more."
            if abs(size - 1) < 0.001
            else "You return the variance: the standard deviation is its root."
            if abs(size - 2) < 0.001
            else "Take torch.std over the samples.",
        )
# BEGIN HIDDEN TESTS
with Check("monte_carlo_predict", "as many samples as asked for, and torch's std") as check:
    for samples, p in ((2, 0.5), (5, 0.2), (16, 0.75)):
        ones = torch.ones(30, 20, dtype=torch.float64)
        mean, std = check.call(
            nn.Sequential(nn.Dropout(p)).eval(), ones, samples, returns=("mean", "std")
        )
        kept = mean * samples * (1 - p)
        check.equal(kept, kept.round(), "a whole number of samples keeps it, the others drop it")
        variance = samples / (samples - 1) * mean * (1 / (1 - p) - mean)
        check.equal(std, variance.clamp(min=0).sqrt(), "the standard deviation", within=1e-7)
        error = 6 * (p / (1 - p) / (ones.numel() * samples)) ** 0.5
        check.equal(mean.mean(), 1.0, "on average, 1", within=error)
with Check("monte_carlo_predict", "a model with everything, float32, in three axes") as check:
    model = nn.Sequential(
        nn.Linear(6, 7), nn.LayerNorm(7), nn.Dropout(0.3), nn.Sequential(nn.ReLU(), nn.Dropout(0.5))
    )
    x = numbers(4, 3, 6, seed=3, dtype=torch.float32)
    expected = model.eval()(x).detach()
    model.train()
    mean, std = check.call(model, x, 900, returns=("mean", "std"))
    check.shape(mean, batch=4, length=3, dim=7)
    # each mean is uncertain by std / √samples; samples are skewed, so allow for more
    off = (mean - expected).abs() / (std + 0.05) * 900**0.5
    check.true(bool((off < 8).all()), "the mean of many samples is the prediction")
    positive = expected > 0.05
    check.true(bool((std[positive] > 0).all()), "what is not always 0 varies")
with Check("monte_carlo_predict", "models that are themselves random in training") as check:
    layer = nn.TransformerEncoderLayer(6, 2, 8, dropout=0.0, batch_first=True).double()
    layer.self_attn.dropout = 0.5  # a number, no nn.Dropout: attention drops by its own mode
    others = (nn.RReLU(0.0, 1.0), nn.AlphaDropout(0.5))
    for model, shape in ((others[0], (7, 9)), (others[1], (7, 9)), (layer, (3, 4, 6))):
        x = -1 - numbers(*shape, seed=5).abs()
        expected = model.eval()(x).detach()
        mean, std = check.call(model.train(), x, 3, returns=("mean", "std"))
        check.equal(mean, expected, "it works as in evaluation")
        check.equal(std, 0 * expected, "nothing but nn.Dropout is random", within=1e-7)
with Check("monte_carlo_predict", "single rows, and batch norm in training") as check:
    model = nn.Sequential(nn.BatchNorm1d(4), nn.Dropout(0.0)).double()
    model.train()
    mean, _ = check.call(model, numbers(1, 4, seed=4), 3, returns=("mean", "std"))
    expected = numbers(1, 4, seed=4) / (1 + 1e-5) ** 0.5
    check.equal(mean, expected, "one row is enough, in evaluation")
# END HIDDEN TESTS

# %% [markdown]
# And the model stays as it was:

# %% check monte_carlo_predict_leaves_the_model points=1
with Check("monte_carlo_predict", "the model afterwards") as check:
    x = numbers(6, 4)
    for came in ("train()", "eval()"):
        norm = nn.BatchNorm1d(3)
        inner = nn.Sequential(nn.Dropout(0.0), norm)
        model = nn.Sequential(nn.Linear(4, 3), inner, nn.Dropout(0.0)).double()
        model.train(came == "train()")
        modes = [part.training for part in model.modules()]
        state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        check.call(model, x, 3, returns=("mean", "std"))
        after = [part.training for part in model.modules()]
        with Check("monte_carlo_predict", f"a model that came in {came} mode") as restored:
            restored.true(
                after == modes,
                f"a model that came in {came} mode is in {came} mode afterwards, with all its "
                "modules",
                hint="You leave the model in evaluation whatever it was before: write down its "
                "modes before you change anything, and give them back."
                if not any(after)
                else "You leave the model in training whatever it was before: write down its modes "
                "before you change anything, and give them back."
                if all(after)
                else "You leave modules in the modes in which you used them: write down the mode of "
                "each one before, and give it back to each one afterwards.",
            )
        for name, tensor in model.state_dict().items():
            check.equal(
                tensor,
                state[name],
                f"{name} is what it was",
                hint="batch norm in training mode changes its running statistics",
            )
    model.train()
    model[0].eval()
    norm.eval()
    model[2].eval()
    modes = [part.training for part in model.modules()]
    check.call(model, x, 3, returns=("mean", "std"))
    after = [part.training for part in model.modules()]
    with Check("monte_carlo_predict", "some modules in training, some not") as restored:
        restored.true(
            after == modes,
            "a model with some modules in training and some not: each has its own mode back",
            hint="One mode for the whole model is not enough: keep one for each of "
            "model.modules(), and set part.training itself, because part.train() sets all modules "
            "inside part too.",
        )
# BEGIN HIDDEN TESTS
with Check("monte_carlo_predict", "every mixture of modes") as check:
    x = numbers(5, 3, seed=1)
    for mixture in range(64):
        drop = nn.Dropout(0.5)  # it stands in two places
        model = nn.Sequential(
            nn.BatchNorm1d(3), nn.Sequential(drop, nn.Linear(3, 2)), nn.Sequential(drop)
        ).double()
        for i, part in enumerate(model.modules()):
            part.training = bool(mixture >> i & 1)
        modes = [part.training for part in model.modules()]
        state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        check.call(model, x, 2, returns=("mean", "std"))
        check.true([part.training for part in model.modules()] == modes, "each has its mode back")
        for name, tensor in model.state_dict().items():
            check.equal(tensor, state[name], f"{name} is what it was")
# END HIDDEN TESTS


# %% [markdown]
# Now turn the digits. A network learns from 800 upright digits, with their right labels. Then it sees test digits turned by more and more: things that it has never learned. Here are two of them.


# %%
def turned(upright: Tensor, degrees: float) -> Tensor:
    """Pictures (n, 64) turned about their middle."""
    angle = math.radians(degrees)
    turn = [[math.cos(angle), -math.sin(angle), 0.0], [math.sin(angle), math.cos(angle), 0.0]]
    square = upright.reshape(-1, 1, 8, 8)
    places = F.affine_grid(
        torch.tensor([turn]).expand(len(square), 2, 3), list(square.shape), align_corners=False
    )
    return F.grid_sample(square, places, align_corners=False).flatten(1)


turns = (0, 20, 40, 60, 90)
shown_digits = [int((test_labels == digit).nonzero()[0]) for digit in (3, 7)]
figures.tiles(
    [turned(test_pictures[i : i + 1], a).reshape(8, 8) for i in shown_digits for a in turns],
    [f"{digit}, {a}°" for digit in (3, 7) for a in turns],
    "two test digits, turned",
    across=5,
)

# %% [markdown]
# **Predict.** At which angle do the samples scatter most?
#
# <details><summary>At 90°: there it knows least</summary>So one would wish. But a crowd can agree and be wrong: all its networks have learned from the same pictures.</details>
# <details><summary>In between, where a digit looks a little like several others</summary>Yes. There small differences between the networks decide. What lies far away from everything is judged by all in the same way, right or not.</details>
# <details><summary>Everywhere alike: p is the same</summary>The masks are alike, but how much they matter depends on the picture: an upright 0 is a 0 by any half of the units.</details>

# %% [markdown]
# The network is trained with your `Dropout`. Your `monte_carlo_predict` looks for PyTorch's, `nn.Dropout`. So the trained numbers move into the same network with that one inside: they fit, because dropout has none of its own.


# %%
class Probabilities(nn.Sequential):
    """A network whose answers are probabilities."""

    def forward(self, input: Tensor) -> Tensor:
        return super().forward(input).softmax(-1)


upright_network = trained(0.5, pictures[shuffled[:800]], labels[shuffled[:800]], steps=150)[0]
crowd = Probabilities(*network(layer=nn.Dropout))
crowd.load_state_dict(upright_network.state_dict())

angles = list(range(0, 100, 10))
told = {"share right": [], "probability it gives": [], "scatter of the samples (std)": []}
torch.manual_seed(0)
for degrees in angles:
    means, spreads = monte_carlo_predict(crowd, turned(test_pictures, degrees), 50)
    best, answer = means.max(-1)
    is_right = (answer == test_labels).float()
    scatter = spreads.gather(1, answer[:, None])[:, 0]  # of the probability of its answer
    for values, measured in zip(told.values(), (is_right, best, scatter), strict=True):
        values.append(measured.mean().item())
    agreed = scatter <= scatter.median()
    print(
        f"{degrees:2}°: {is_right.mean().item():4.0%} right, scatter {scatter.mean().item():.2f}; "
        f"right in the half that agrees most {is_right[agreed].mean().item():4.0%}, "
        f"in the other {is_right[~agreed].mean().item():4.0%}"
    )
figures.curves(
    angles,
    told,
    x="turned by … degrees",
    y="mean over the test digits",
    title="How right, how sure, how much scatter",
    bottom=0.0,
)
counts = monte_carlo_predict(crowd, turned(test_pictures, 90), 50)[0].argmax(-1).bincount()
share_alike = counts.max().item() / len(test_labels)
print(f"at 90° it takes {share_alike:.0%} of all digits for one and the same: {counts.argmax()}")

# %% [markdown]
# What to see, from left to right:
#
# - **Upright**, it is right and agrees with itself. Where it agrees most, it is all but never wrong: the few errors are among those that scatter.
# - **Turned by 20°** the scatter has more than doubled, and it tells good answers from bad ones: nearly nine of ten are right in the half that agrees, about half in the other. Here the warning is worth a lot: hand the second half to a person.
# - **Beyond 40°** the scatter falls again, while hardly anything is right any more. At 90° the whole crowd takes nearly every digit for the same one, and is sure of it.
#
# So scatter says whether the networks agree, and no more. Near what the model has learned, that is a good measure of doubt. Far from it, a crowd may agree and be wrong.

# %% [markdown]
# ## 8 · The real thing
#
# PyTorch has `F.dropout`, `nn.Dropout`, and `dropout_p` in its attention. Random numbers cannot be compared one by one: two right functions need not throw the same dice. So compare what can be: evaluation, the numbers that are kept, the gradient, and the share that is dropped.

# %%
torch.manual_seed(0)
inputs = (1 + numbers(200, 300, seed=1).abs()).requires_grad_()
ours, theirs = dropout(inputs, 0.3, True), F.dropout(inputs, 0.3, True)
both_kept = ((ours != 0) & (theirs != 0)).detach()
apart = (ours - theirs)[both_kept].abs().max().item()
print(f"function, where both keep a number: largest difference {apart:.1e}")
slopes = [torch.autograd.grad(result.sum(), inputs)[0] for result in (ours, theirs)]
apart = (slopes[0] - slopes[1])[both_kept].abs().max().item()
print(f"gradient, where both keep a number: largest difference {apart:.1e}")
shares = [(result == 0).double().mean().item() for result in (ours, theirs)]
print(f"share that is dropped at p = 0.3: yours {shares[0]:.3f}, PyTorch's {shares[1]:.3f}")

mine, block = Dropout(0.3).eval(), nn.Dropout(0.3).eval()
print(f"module in evaluation: largest difference {(mine(inputs) - block(inputs)).abs().max():.1e}")

# attention's own dropout: with the identity as values, its output is its weights
asks, answers, gives = numbers(50, 8), numbers(60, 8, seed=1), torch.eye(60, dtype=torch.float64)
attention_weights = F.scaled_dot_product_attention(asks, answers, gives)
theirs = F.scaled_dot_product_attention(asks, answers, gives, dropout_p=0.5)
ours = attention_dropout(attention_weights, 0.5, True)
both_kept = (ours > 1e-12) & (theirs > 1e-12)
apart = (ours - theirs)[both_kept].abs().max().item()
print(f"attention's weights, where both keep one: largest difference {apart:.1e}")
print("sums of three rows of PyTorch's:", [round(row, 2) for row in theirs.sum(-1)[:3].tolist()])

# %% [markdown]
# Where both keep a number, they make the same of it: the differences are 0, or around 1e-16, which is rounding. The last line shows that PyTorch does not mend its rows either.

# %% [markdown]
# ## 9 · In your own words
#
# **Question.** A friend trains a model with $p = 0.1$ and gets good results. For the demonstration she forgets `model.eval()`. Her model works, but a little worse, and the same question gets different answers. Another friend has read an old book and multiplies the activations by 0.9 in evaluation, in PyTorch. What is wrong in each of the two cases, and what happens to the average size of the activations? Three or four sentences: double-click the cell below and write them there. A person reads them.

# %% answer two_friends [markdown] points=2
# <!-- BEGIN SOLUTION -->
# The first still drops: each prediction goes through another random mask, so it is noisy and differs from call to call; the average size of the activations is right, because inverted dropout divides what is kept by 1 − p. The second compensates twice: PyTorch has already scaled in training, so the activations are right in evaluation as they are, and times 0.9 they become too small by a tenth in every layer that does it. Classic dropout, as in the book, needs that factor because it does not scale in training.
# <!-- END SOLUTION -->


# %% [markdown]
# ## What you know now
#
# - **Dropout** sets each number to 0 with probability $p$, in training only, each number by its own throw, anew in each call.
# - A unit that reads dropped inputs expects $(1 - p)$ of what it would get. **Inverted** dropout divides what is kept by $1 - p$ in training, and leaves evaluation alone; **classic** dropout multiplies by $1 - p$ in evaluation. One of the two, never both.
# - `train()` and `eval()` set `training` on every module; `eval()` does not switch off gradients.
# - Attention weights are dropped too, and their rows are **not** made to sum to 1 again.
# - A network that must do without any of its units learns less by heart.
# - Dropout left on in evaluation gives a crowd of networks. Their scatter says where they disagree: a good sign of doubt near what the model has learned, none far from it.
#
# **The question that is left.** Attention, norm, dropout: none of them knows which word comes first. Shuffle the words, and the outputs are shuffled alike. How does a model learn that *dog bites man* is not *man bites dog*? That is lesson 6, positional encodings.
