# %% [markdown]
# # Lesson 4 · Layer norm and residuals
#
# **You build** the two parts that let a model stack many layers: layer norm and the residual connection. You also build RMS norm and batch norm.
#
# **You need** lessons 1 to 3, mean and variance, and what a gradient is. From PyTorch: `nn.Module` and `nn.Parameter`.
#
# **You take away** `LayerNorm` and `Residual`, a reason for every symbol in them, and a test that finds a wrong one. An experiment switches off one part at a time.
#
# **Time**: about 170 minutes: 107 for the exercises. Good places to stop are marked after about 95, and before part 7, which has no exercise. What is marked *optional* goes deeper: nothing later needs it.

# %% [markdown]
# Two networks learn to read handwritten digits such as these.

# %%
from sklearn.datasets import load_digits
from transformer_course import figures

images, labels = load_digits(return_X_y=True)
figures.tiles(
    list(images[10:22].reshape(12, 8, 8)), [f"{label}" for label in labels[10:22]], "8 × 8 pixels"
)

# %% [markdown]
# Both have forty similar layers and train for 120 steps. The first stays close to guessing, the second reads about nine digits in ten. In each layer, the first computes $f(x)$, the second $x + f(\text{norm}(x))$. What is this norm? Why add $x$? Which of the two matters?

# %% [markdown]
# **Recall.** Three questions first. Answer, then open your choice.
#
# 1. A query and a key have $d_k$ independent features of mean 0 and standard deviation 1. What is the standard deviation of their dot product?
#
# <details><summary>1</summary>It is 1 only after the division by √d<sub>k</sub>. Before that, each product of two features adds its own variance.</details>
# <details><summary>√d<sub>k</sub></summary>Yes. The variances of d<sub>k</sub> products add up to d<sub>k</sub>. Scale matters even in one layer; here you follow it through fifty.</details>
# <details><summary>d<sub>k</sub></summary>That is the variance. The standard deviation is its root.</details>
#
# 2. A batch holds sequences of 4, 2 and 3 tokens. What fills the gaps?
#
# <details><summary>Padding tokens, hidden by a mask</summary>Yes. Attention gives them weight 0. In part 5 you meet them again, in a mean.</details>
# <details><summary>The first tokens of the sequence, repeated</summary>The model would take them for real tokens.</details>
# <details><summary>Nothing: the rows of a tensor may differ in length</summary>All rows of a tensor have the same length.</details>
#
# 3. Multi-head attention of width 512 goes from 8 heads to 16. How does the number of parameters change?
#
# <details><summary>It doubles</summary>Each head also becomes half as wide.</details>
# <details><summary>It halves</summary>The heads are half as wide, but there are twice as many.</details>
# <details><summary>It stays the same</summary>Yes: 4 · 512² weights, whatever the number of heads.</details>

# %% given imports
from collections.abc import Callable
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformer_course.checks import Check, numbers

# %% [markdown]
# ## 1 · Fifty layers deep
#
# Real models stack dozens of layers. What happens to the features of a token on the way?
#
# Try the simplest layer there is: multiply by a random matrix. Its entries are scaled so that, on average, one layer preserves the standard deviation of the features. Then make all entries 10 % larger, or 10 % smaller.
#
# **Predict.** With entries 10 % larger, by what factor have the features grown after 50 layers?
#
# <details><summary>1.1</summary>That is the factor of one layer. The next layer starts from there, and adds its own 10 %.</details>
# <details><summary>6</summary>That is 1 plus 50 times 10 %. But layers multiply.</details>
# <details><summary>More than 100</summary>Yes: each layer multiplies by 1.1, and 1.1 to the power of 50 is 117.</details>


# %%
def scales(factor: float, after_layer: Callable[[Tensor], Tensor]) -> list[list[float]]:
    """Send tokens through 50 random layers, in 5 runs; the scale after every fifth layer."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(5, 20, 256, generator=generator)  # (runs, tokens, features)
    measured = []
    for layer in range(1, 51):
        matrices = torch.randn(5, 256, 256, generator=generator) * factor / 256**0.5
        x = after_layer(x @ matrices)
        if layer % 5 == 0:
            measured.append(x.std(dim=(1, 2)))
    return torch.stack(measured, dim=1).tolist()  # (runs, layers)


every_fifth = list(range(5, 51, 5))
without_norm = {f"entries × {factor:g}": scales(factor, lambda x: x) for factor in (1.1, 1.0, 0.9)}
figures.curves(
    every_fifth,
    without_norm,
    x="layer",
    y="standard deviation of the features",
    title="Layers multiply (5 runs: mean and range)",
    logarithmic="y",
)

# %% [markdown]
# What to see: a change of 10 % in the matrices makes the features vanish or explode. (The axis is logarithmic: equal steps are equal factors.) Training changes the matrices, and nothing keeps their scale at exactly the right value.
#
# So put the features back on a fixed scale after each layer.

# %% [markdown]
# ## 2 · Layer norm: one token at a time
#
# Take one token, a vector of $d$ features. **Layer norm**, short for layer normalisation, subtracts from each feature of a token the mean of all its features, then divides by their standard deviation. The result has mean 0 and standard deviation 1.
#
# Here are two tokens of four features. Each row is normalised by itself.

# %%
figures.steps(
    {
        "two tokens": ([[5.0, 1.0, 5.0, 1.0], [6.0, 0.0, 0.0, -2.0]], "feature", "1234"),
        "minus the mean of each: 3, 1": (
            [[2.0, -2.0, 2.0, -2.0], [5.0, -1, -1, -3.0]],
            "feature",
            "1234",
        ),
        "÷ standard deviation: 2, 3": (
            [[1.0, -1.0, 1.0, -1.0], [5 / 3, -1 / 3, -1 / 3, -1.0]],
            "feature",
            "1234",
        ),
    },
    "token",
    ["one", "two"],
)

# %% [markdown]
# Let $x_1, \dots, x_d$ be the features of one token:
#
# $$\mu = \frac{1}{d} \sum_{j=1}^{d} x_j \qquad \sigma^2 = \frac{1}{d} \sum_{j=1}^{d} (x_j - \mu)^2 \qquad y_j = \gamma_j\, \frac{x_j - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta_j$$
#
# (Ba, Kiros and Hinton, *Layer Normalization*, 2016.) $\mu$ is the mean and $\sigma^2$ the variance. The variance divides by $d$, not by $d - 1$. Three symbols remain: $\epsilon$, $\gamma$ and $\beta$. Start with $\epsilon$. What happens without it if all features of a token are equal?

# %%
equal_features = torch.tensor([7.0, 7.0, 7.0, 7.0])
print((equal_features - equal_features.mean()) / equal_features.std(correction=0))

# %% [markdown]
# The variance is 0, and 0 / 0 is NaN. **Eps**, $\epsilon$, is a small constant such as 0.00001 that keeps the divisor of a norm above zero. The others are parameters with one entry per feature, shared by all tokens:
#
# - The **gain** $\gamma$ of a norm multiplies each normalised feature.
# - The **bias** $\beta$ of a norm is then added to each feature.
#
# The gain can make a useful feature large again. The bias can lift it above 0, where a ReLU lets it pass.

# %% [markdown]
# **Predict.** You multiply all features of a token by 10 and add 3. How does its layer norm change, without eps?
#
# <details><summary>It is 10 times as large</summary>The 3 disappears with the mean. But you divide by a standard deviation that is 10 times as large too.</details>
# <details><summary>It does not change</summary>Yes. The norm undoes the scale and the shift.</details>
# <details><summary>It is 10 times as large, plus 3</summary>The mean changes in the same way, so the 3 cancels. The standard deviation becomes 10 times as large, so the 10 cancels too.</details>

# %% [markdown]
# **Exercise** (15 minutes). Write layer norm over the last axis.
#
# <details><summary>Hint 1</summary>Three lines: the mean, the variance, the formula. <code>keepdim=True</code> keeps an axis of size 1, so that the mean of a token lines up with its features.</details>
# <details><summary>Hint 2</summary><code>Tensor.var</code> divides by d − 1 unless you pass <code>correction=0</code>. Or take the mean of the squared deviations yourself.</details>


# %% exercise layer_norm
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    """Normalise each token over its features, the last axis, to mean 0 and variance 1.

    Then multiply its features by `gain` and add `bias`.
    x (…, d_model), gain and bias (d_model,) -> (…, d_model). The variance divides by d_model;
    eps is added to it under the root.
    """
    # BEGIN SOLUTION
    centred = x - x.mean(dim=-1, keepdim=True)
    variance = centred.square().mean(dim=-1, keepdim=True)
    return gain * centred / (variance + eps).sqrt() + bias
    # END SOLUTION


# %% check layer_norm points=2
hint = "for each token: subtract its mean, divide by its standard deviation, times gain, plus bias"
with Check("layer_norm", "two tokens worked by hand", hint) as check:
    # means 3 and 1, standard deviations 2 and 3; eps is 0 here, to keep the numbers round
    two = torch.tensor([[5.0, 1.0, 5.0, 1.0], [6.0, 0.0, 0.0, -2.0]], dtype=torch.float64)
    x = torch.cat([two, two[:1] / 1000])  # and the first of them, made very small
    gain = torch.tensor([3.0, 6.0, 9.0, 12.0], dtype=torch.float64)
    bias = torch.tensor([1.0, 0.0, -1.0, 2.0], dtype=torch.float64)
    output = check.call(x, gain, bias, eps=0.0)
    check.shape(output, tokens=3, d_model=4)
    first, second = [4.0, -6.0, 8.0, -10.0], [6.0, -2.0, -4.0, -10.0]
    check.equal(
        output,
        torch.tensor([first, second, first], dtype=torch.float64),
        "the first token should become [1, -1, 1, -1] when normalised, then times gain, plus bias; "
        "with eps = 0, so should a thousandth of it",
    )
with Check("layer_norm", "each token on its own", hint) as check:
    x = numbers(2, 3, 5, scale=3.0) + 2
    gain, bias = torch.ones(5, dtype=torch.float64), torch.zeros(5, dtype=torch.float64)
    output = check.call(x, gain, bias)
    check.shape(output, batch=2, length=3, d_model=5)
    nothing = torch.zeros(2, 3, dtype=torch.float64)
    check.equal(output.mean(-1), nothing, "with gain 1 and bias 0, every token should have mean 0")
    alone = check.call(x[1, 2], gain, bias)
    check.equal(output[1, 2], alone, "a token should give the same result in a batch as alone")
with Check("layer_norm", "the gradient") as check:
    x = numbers(2, 5, scale=2.0).requires_grad_()
    gain, bias = (numbers(5, seed=seed) for seed in (1, 2))
    output = check.call(x, gain, bias, eps=0.0)
    slope = check.gradient(output[:, 0], x)
    check.equal(
        slope.sum(-1),
        torch.zeros(2, dtype=torch.float64),
        "the gradient of a token should sum to 0: the same shift of all features changes nothing",
        hint="every step must be a torch operation on the x you are given, the mean too",
    )
    check.equal(
        (slope * x).sum(-1).detach(),
        torch.zeros(2, dtype=torch.float64),
        "the gradient along the token itself should be 0: twice the token gives the same result",
        hint="every step must be a torch operation on the x you are given, the variance too",
    )
# BEGIN HIDDEN TESTS
with Check("layer_norm", "equal to PyTorch's, at several scales") as check:
    for shape in ((6,), (4, 6), (2, 3, 6), (2, 3, 5, 6), (6, 6), (6, 6, 6)):
        for scale, dtype in ((0.3, torch.float64), (7.0, torch.float64), (2.0, torch.float32)):
            x = numbers(*shape, seed=3, scale=scale, dtype=dtype) + 1
            gain, bias = numbers(6, seed=4, dtype=dtype), numbers(6, seed=5, dtype=dtype)
            expected = F.layer_norm(x, (6,), gain, bias)
            check.equal(
                check.call(x, gain, bias), expected, "the result should equal PyTorch's layer norm"
            )
            expected = F.layer_norm(x, (6,), 50 * gain, bias)
            check.equal(
                check.call(x, 50 * gain, bias),
                expected,
                "with a large gain, the result should equal PyTorch's",
            )
with Check("layer_norm", "other widths, and a view that is not contiguous") as check:
    for width in (2, 3, 17):
        x = numbers(2, width, 4, seed=6, scale=3.0).transpose(1, 2)
        gain, bias = numbers(width, seed=7), numbers(width, seed=8)
        expected = F.layer_norm(x, (width,), gain, bias)
        check.equal(
            check.call(x, gain, bias), expected, "the result should equal PyTorch's layer norm"
        )
with Check("layer_norm", "gradients") as check:
    x = numbers(3, 4, seed=9, scale=2.0).requires_grad_()
    gain, bias = numbers(4, seed=10).requires_grad_(), numbers(4, seed=11).requires_grad_()
    mine = check.call(x, gain, bias)[1].square()
    theirs = F.layer_norm(x, (4,), gain, bias)[1].square()
    for source in (x, gain, bias):
        expected = check.gradient(theirs, source)
        check.equal(check.gradient(mine, source), expected, "the gradient should equal PyTorch's")
# END HIDDEN TESTS

# %% [markdown]
# The next check tests eps alone.

# %% check layer_norm_eps points=1
with Check("layer_norm", "eps under the root") as check:
    # variances 12 and 32: with eps = 4 the roots are 4 and 6; beside 4, a variance of 1e-6 is little
    rows = [10.0, 2.0, 2.0, 2.0], [8.0, -8.0, 0.0, 0.0], [0.001, -0.001, 0.001, -0.001]
    x, small = torch.tensor(rows, dtype=torch.float64), 0.001 / 4.000001**0.5
    gain, bias = torch.ones(4, dtype=torch.float64), torch.zeros(4, dtype=torch.float64)
    expected = [1.5, -0.5, -0.5, -0.5], [4 / 3, -4 / 3, 0.0, 0.0], [small, -small, small, -small]
    check.equal(
        check.call(x, gain, bias, eps=4.0),
        torch.tensor(expected, dtype=torch.float64),
        "with eps = 4, variances of 12 and 32 should divide by √(12 + 4) = 4 and √(32 + 4) = 6",
        hint="add eps to the variance first, then take the root",
    )
with Check("layer_norm", "a token with variance 0") as check:
    x = torch.full((2, 3), 7.0, dtype=torch.float64)
    gain, bias = numbers(3), numbers(3, seed=1)
    check.equal(
        check.call(x, gain, bias),
        bias.expand(2, 3),
        "a token whose features are all equal should give the bias: nothing else is left",
        hint="0 / √(0 + eps) is 0",
    )
with Check("layer_norm", "the default eps") as check:
    x = torch.tensor([[0.004, -0.004, 0.0, 0.004, -0.004]], dtype=torch.float64)
    gain, bias = torch.ones(5, dtype=torch.float64), torch.zeros(5, dtype=torch.float64)
    check.equal(
        check.call(x, gain, bias),
        check.call(x, gain, bias, 1e-5),
        "without the argument eps, the result should be that of eps = 0.00001",
        hint="use the argument `eps`, and keep its default",
    )
# BEGIN HIDDEN TESTS
with Check("layer_norm", "equal to PyTorch's, with several eps") as check:
    for eps in (1e-5, 1e-3, 0.5, 4.0):
        for scale in (0.01, 1.0, 5.0):
            x = numbers(3, 7, seed=12, scale=scale)
            gain, bias = numbers(7, seed=13), numbers(7, seed=14)
            expected = F.layer_norm(x, (7,), gain, bias, eps)
            check.equal(
                check.call(x, gain, bias, eps),
                expected,
                "the result should equal PyTorch's layer norm",
            )
            check.equal(
                check.call(x, gain, bias, eps=eps),
                expected,
                "with eps given by name, the result should equal PyTorch's",
            )
    x, gain, bias = numbers(3, 7, seed=15, scale=0.003), numbers(7, seed=13), numbers(7, seed=14)
    expected = F.layer_norm(x, (7,), gain, bias)
    check.equal(
        check.call(x, gain, bias),
        expected,
        "with the default eps, the result should equal PyTorch's",
    )
# END HIDDEN TESTS

# %% [markdown]
# Now put your function after each of the fifty layers.

# %%
gain_1, bias_0 = torch.ones(256), torch.zeros(256)
with_norm = {
    f"entries × {factor:g}, with your norm": scales(factor, lambda x: layer_norm(x, gain_1, bias_0))
    for factor in (1.1, 0.9)
}
figures.curves(
    every_fifth,
    {name: runs for name, runs in without_norm.items() if name != "entries × 1"} | with_norm,
    x="layer",
    y="standard deviation of the features",
    title="With and without your layer norm after each layer",
    logarithmic="y",
)

# %% [markdown]
# What to see: with your norm, both lines lie on top of each other, at 1. Here the scale of the matrices no longer matters.
#
# **Which numbers share a mean?** The next view shows the output of your layer norm: 3 sequences of 4 tokens. Each token has 5 features. A **channel** is one feature, taken across all tokens of a batch. Click a number, or move with the arrow keys. Blue marks the numbers that are normalised together with it, by the same mean.
#
# The view compares four norms. RMS norm and batch norm follow in parts 4 and 5. Instance norm is not used in this course.
#
# **Predict.** How many means does layer norm compute for this batch?
#
# <details><summary>5, one for each channel</summary>That is another norm, batch norm: choose it in the view and read the line below.</details>
# <details><summary>3, one for each sequence</summary>With layer norm chosen, click two tokens of the same sequence: a different row turns blue.</details>
# <details><summary>12, one for each token</summary>Yes: 3 sequences of 4 tokens.</details>

# %%
from transformer_course.widgets import show_norm_axes

of_five = torch.ones(5, dtype=torch.float64), torch.zeros(5, dtype=torch.float64)
show_norm_axes(
    x=layer_norm(3 * numbers(3, 4, 5) + 2, *of_five),
    title="The output of your layer norm: which numbers share a mean?",
)

# %% [markdown]
# What to see: choose *layer norm*. Whatever number you click, its row has mean 0 and standard deviation 1. No other token takes part. Now choose *batch norm*, which marks columns instead. The columns do not have mean 0. In part 5 you normalise them.

# %% [markdown]
# ### What does eps change?
#
# Beside a large variance, eps changes nothing. Which tokens does it change?
#
# **Predict.** The features of a token have standard deviation 0.001, and eps is 0.00001. Which standard deviation do they have after the norm? (Compare the variance with eps.)
#
# <details><summary>1, as always</summary>For that, eps would have to be small beside the variance, which is 0.000001.</details>
# <details><summary>0: eps removes such a token</summary>A divisor makes a token smaller or larger. It never makes it 0.</details>
# <details><summary>About 0.3</summary>Yes. The variance is a tenth of eps: 0.001 / √0.000011 is about 0.3.</details>


# %% folded=true
# Sends tokens of many scales through your layer norm, and a gradient back. Click to unfold.
def token_of_scale(scale: float, width: int = 64) -> Tensor:
    """One token (width,) with mean 0 and exactly this standard deviation."""
    token = numbers(width, seed=4)
    token = token - token.mean()
    return (scale * token / token.std(correction=0)).requires_grad_()


token_scales = [10.0**power for power in range(-8, 3)]


@cache
def around_norm(eps: float) -> tuple[list[float], list[float]]:
    """For each scale: the token's standard deviation after the norm, its gradient's length."""
    ones, upstream = torch.ones(64, dtype=torch.float64), numbers(64, seed=5)
    after, gradient = [], []
    for scale in token_scales:
        token = token_of_scale(scale)
        normed = layer_norm(token, ones, 0 * ones, eps)
        (slope,) = torch.autograd.grad(normed, token, upstream / upstream.norm())
        after.append(normed.std(correction=0).item())
        gradient.append(slope.norm().item())
    return after, gradient


# %%
several_eps = {"eps = 1": 1.0, "eps = 0.00001": 1e-5, "eps = 10⁻¹²": 1e-12, "eps = 0": 0.0}
figures.curves(
    token_scales,
    {name: around_norm(eps)[0] for name, eps in several_eps.items()},
    x="standard deviation of the token",
    y="after your layer norm",
    title="Forward: where eps takes over",
    logarithmic="xy",
)

# %% [markdown]
# What to see: with eps = 0, every token reaches 1, whatever its size. Each other line leaves 1 where the standard deviation is about √eps. Below, the token is divided by √eps and stays small. With eps = 1, tokens of ordinary size are no longer normalised fully.
#
# **Predict.** Why not eps = 0, then? A gradient of length 1 arrives from above, at a token of standard deviation 0.0001. How long is it below the norm?
#
# <details><summary>1: a norm preserves the length of gradients</summary>The norm divides by the standard deviation. So does its gradient.</details>
# <details><summary>About 300 with eps = 0.00001, about 10,000 with eps = 0</summary>Yes: it is divided by √(variance + eps), and the root of eps is a floor.</details>
# <details><summary>About 0.0001</summary>Dividing by a small number makes things larger.</details>

# %%
figures.curves(
    token_scales,
    {name: around_norm(eps)[1] for name, eps in several_eps.items()},
    x="standard deviation of the token",
    y="length of the gradient, for 1 above",
    title="Backward: eps limits the gradient",
    logarithmic="xy",
)

# %% [markdown]
# What to see: on the way down, the length grows as the token shrinks, and stops near 1 / √eps. That is about 300 for eps = 0.00001, and a million for eps = 10⁻¹². With eps = 0 there is no limit.
#
# The extreme case is a token of equal features, such as an empty patch of an image. Try it in three dtypes. (`float16` has no number between 0 and 0.00000006.)


# %%
def of_equal_features(dtype: torch.dtype, eps: float) -> str:
    """What the norm returns for a token of equal features, and the length of its gradient."""
    token = torch.full((64,), 7.0, dtype=dtype, requires_grad=True)
    ones = torch.ones(64, dtype=dtype)
    normed = layer_norm(token, ones, 0 * ones, eps)
    (slope,) = torch.autograd.grad(normed[0], token)
    return f"{normed.abs().max().item():4.1f}   {slope.float().norm().item():12,.1f}"


print("a token of equal features     after   gradient")
for dtype in (torch.float32, torch.bfloat16, torch.float16):
    for name, value in several_eps.items():
        print(f"{dtype!s:15} {name:13} {of_equal_features(dtype, value)}")

# %% [markdown]
# What to see: eps = 0 gives NaN, forward and backward. With 10⁻¹², the output is 0, but the gradient is multiplied by a million. In float16, 10⁻¹² is rounded to 0: NaN again. So eps must suit the dtype. PyTorch's own function computes mean and variance of float16 tokens in float32. (If you call it in yours, you see an output of 0 there. The gradient for 10⁻¹² is NaN even so.)

# %% [markdown]
# ### Bug hunt: a slide's layer norm
#
# **From the lecture**: *Transformers*, CSCI 4360/6360, slide "Layer Normalization". It defines layer norm in three lines:
#
# $$\mu = \sum_{j=1}^{d} x_j \qquad \sigma = \sqrt{\frac{1}{d} \sum_{j=1}^{d} (x_j - \mu)^2} \qquad \text{output} = \frac{x - \mu}{\sqrt{\sigma} + \epsilon} * \gamma + \beta$$
#
# Run the formula as it is written, on three tokens. After a norm, each should have mean 0 and standard deviation 1.


# %%
def norm_of_the_slide(token: Tensor) -> Tensor:
    """The slide's formula, without gain and bias."""
    total = token.sum()
    sigma = (token - total).square().mean().sqrt()
    return (token - total) / (sigma.sqrt() + 1e-5)


balanced = torch.tensor([1.5, 0.5, -0.5, -1.5])  # its mean is 0
balanced = balanced / balanced.std(correction=0)  # and its standard deviation 1
for name, token in {
    "mean 0, std 1": balanced,
    "mean 0, std 100": 100 * balanced,
    "mean 5, std 1": balanced + 5,
}.items():
    after = norm_of_the_slide(token)
    print(f"{name:15} -> mean {after.mean():6.2f}, std {after.std(correction=0):5.2f}")

# %% [markdown]
# What to see: the first token comes out right. The second one comes out with a standard deviation of 10 instead of 1. The third one has neither mean 0 nor standard deviation 1. Compare the formula with yours, symbol by symbol. How many differences do you find?

# %% [markdown]
# **Exercise** (10 minutes). Write the correct divisor: what should stand *below the fraction line*, for each token.
#
# <details><summary>Hint</summary>There are two slips and a third difference, which matters only where the variance is not large beside eps. What turns a sum into a mean? How many roots does the slide take in all? And where does your own function add eps?</details>


# %% exercise repaired_divisor
def repaired_divisor(x: Tensor, eps: float) -> Tensor:
    """The divisor of layer norm for each token: the correct form of the slide's √σ + ε.

    (…, d_model) -> (…, 1).
    """
    # BEGIN SOLUTION
    variance = x.var(dim=-1, correction=0, keepdim=True)
    return (variance + eps).sqrt()
    # END SOLUTION


# %% check repaired_divisor points=1
with Check("repaired_divisor", "three tokens worked by hand") as check:
    x = torch.tensor(
        [[10.0, 2.0, 2.0, 2.0], [8.0, -8.0, 0.0, 0.0], [9.0, 9.0, 9.0, 9.0]], dtype=torch.float64
    )
    divisor = check.call(x, 4.0)
    check.shape(divisor, tokens=3, one=1)
    check.equal(
        divisor,
        torch.tensor([[4.0], [6.0], [2.0]], dtype=torch.float64),
        "with variances 12, 32 and 0 and eps = 4, the divisors should be 4, 6 and 2",
        hint="one root in all: the root of variance plus eps",
    )
    wide = torch.cat([x, x], dim=-1)[None]  # a batch of one sequence
    divisor = check.call(wide, 4.0)
    check.shape(divisor, batch=1, tokens=3, one=1)
    check.equal(
        divisor,
        torch.tensor([[[4.0], [6.0], [2.0]]], dtype=torch.float64),
        "with every feature twice, mean and variance are the same, and so should the divisors be",
        hint="the mean divides by the number of features, however many there are",
    )
# BEGIN HIDDEN TESTS
with Check("repaired_divisor", "other tokens") as check:
    for shape in ((5,), (2, 7), (3, 4, 6), (3, 3)):
        for eps, scale in ((1e-5, 0.01), (1e-5, 6.0), (0.3, 1.0)):
            x = numbers(*shape, seed=16, scale=scale) + 0.5
            expected = (x.var(-1, correction=0, keepdim=True) + eps).sqrt()
            check.equal(
                check.call(x, eps), expected, "the divisor should be the root of variance plus eps"
            )
# END HIDDEN TESTS


# %% [markdown]
# There are three differences: the slide's $\mu$ lacks the factor $1/d$, its $\sigma$ gets a second root, and $\epsilon$ stands outside the root. How can such a formula go unnoticed in code? A test may use a token like the first one above, which comes out right. A test with numbers from `torch.randn` catches one of the slips, but may miss the other: think of their standard deviation.
#
# **Exercise** (10 minutes). Find a token of four features, not all zero, that *fools* a test: the slide's formula and yours agree on it to two decimals. (It must not be the token above, `[1.34, 0.45, -0.45, -1.34]`, in any order or with other signs. There are simpler ones.)
#
# <details><summary>Hint</summary>When is a sum equal to a mean? And which positive number is its own root?</details>

# %% exercise fooling_word
# fooling_word = [?, ?, ?, ?]      the four features of the token, to two decimals
# BEGIN SOLUTION
fooling_word = [1.0, -1.0, 1.0, -1.0]
# END SOLUTION

# %% check fooling_word points=1
with Check("fooling_word", "the slide's formula agrees with layer norm") as check:
    word = check.value(4)
    check.true(bool((word != 0).any()), "the four features should not all be zero")
    check.true(
        abs(float(word.sum())) < 0.02,
        "the sum of your token, the slide's μ, should be equal to its mean",
        hint="a sum is four times the mean: for which mean are the two equal?",
    )
    off = word - word.sum()
    slide, yours = off / (off.square().mean() ** 0.25 + 1e-5), F.layer_norm(word, (4,))
    same = (slide.round(decimals=2) == yours.round(decimals=2)) | ((slide - yours).abs() < 0.005)
    check.true(
        bool(same.all()),
        "√σ of your token should be σ itself, so that both formulas agree to two decimals",
        hint="σ is the root of the mean of the squares: which positive number is its own root?",
    )
    known = torch.tensor([1.34, 0.45, -0.45, -1.34], dtype=torch.float64)
    differs = not torch.allclose(word.abs().sort().values, known.abs().sort().values, 0.0, 0.006)
    check.true(differs, "your token should not be the one in the text")
# BEGIN HIDDEN TESTS
with Check("fooling_word", "both formulas, on this token") as check:
    word = check.value(4)
    of_slide = (word - word.sum()).square().mean() ** 0.25 + 1e-5
    right = F.layer_norm(word, (4,))
    check.equal(
        (word - word.sum()) / of_slide, right, "slide and layer norm should agree", within=0.05
    )
# END HIDDEN TESTS

# %% [markdown]
# **Predict.** Above its formulas, the same slide says in words what the norm does: it normalises "to unit mean and standard deviation". Which of the two is wrong?
#
# <details><summary>The standard deviation</summary>It is 1, so "unit" is right there.</details>
# <details><summary>Neither</summary>Then the features would have mean 1. What is left of a mean that you subtract?</details>
# <details><summary>The mean</summary>Yes. You subtract it, so it becomes 0: <em>zero</em> mean and unit standard deviation. (With a bias of 1 added, it would be 1.)</details>

# %%
normed = layer_norm(torch.tensor([1.0, 2.0, 3.0, 6.0]), torch.ones(4), torch.zeros(4))
print(f"mean {normed.mean().abs():.2f}, standard deviation {normed.std(correction=0):.2f}")


# %% [markdown]
# Remember this for your own tests: *test at a scale other than 1 and at a mean other than 0*. The checks of this course do.

# %% [markdown]
# ### Bug hunt: famous code
#
# *The Annotated Transformer* (Harvard NLP, 2018) explains the first Transformer with running code. Its layer norm was copied into many repositories, BERT-pytorch among them. Written as a function of four arguments, it computes this. (Its eps is 0.000001.)


# %%
def copied_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float) -> Tensor:
    """Layer norm, as a famous tutorial computes it."""
    centred = x - x.mean(-1, keepdim=True)
    spread = x.std(-1, keepdim=True) + eps
    return gain * centred / spread + bias


wide_token, ones = 3 * numbers(512, seed=6) + 1, torch.ones(512, dtype=torch.float64)
for name, function in {"famous code": copied_norm, "yours": layer_norm}.items():
    normed = function(wide_token, ones, 0 * ones, 1e-6)
    print(f"{name:12} the first of 512 features:", *(f"{value:6.2f}" for value in normed[:8]))

# %% [markdown]
# On this token, the two agree to two decimals or nearly so. Is the famous code layer norm? Compare it with the formula of part 2, symbol by symbol. Name what differs, on paper, before you go on.
#
# **Exercise** (12 minutes). Now prove it. Write a *test* that gets any norm as a function: it returns True if this is layer norm, and False if a symbol is wrong. A good test fails for the famous code and passes for every right version, however it is written.
#
# <details><summary>Hint 1</summary>Choose x, gain, bias and eps yourself. Compare the result of <code>norm</code> with one that you trust: your own <code>layer_norm</code>, PyTorch's <code>F.layer_norm</code>, or numbers worked by hand. Right versions differ by rounding; <code>torch.allclose</code> allows for it.</details>
# <details><summary>Hint 2</summary>For each symbol, ask: with which numbers would a mistake here change the result? When does the place of eps matter, and when does the gain?</details>


# %% exercise test_of_layer_norm
def test_of_layer_norm(norm: Callable[[Tensor, Tensor, Tensor, float], Tensor]) -> bool:
    """Return whether `norm` is layer norm, as the formula of part 2 defines it.

    norm(x, gain, bias, eps): x (…, d_model), gain and bias (d_model,), eps a number
    -> (…, d_model). It should be right for every x, gain, bias and eps.
    """
    # BEGIN SOLUTION
    # several tokens; a scale other than 1, a mean other than 0; an eps that cannot be overlooked
    x, eps = 3 * numbers(2, 4, 5) + 2, 0.5
    gain, bias = numbers(5, seed=1), numbers(5, seed=2)
    expected = F.layer_norm(x, (5,), gain, bias, eps)
    return torch.allclose(norm(x, gain, bias, eps), expected)
    # END SOLUTION


# %% check test_of_layer_norm points=2
hint = "compare with a result that you trust, on numbers for which every symbol matters"
with Check("test_of_layer_norm", "right norms and wrong ones", hint) as check:

    def version(
        correction=0,
        outside=False,
        power=0.5,
        axes: int | None = -1,
        parts="mean gain bias",
        fixed=None,
    ):
        def norm(x, gain, bias, eps):
            over = tuple(range(x.dim())) if axes is None else axes
            eps = eps if fixed is None else fixed
            variance = x.var(over, correction=correction, keepdim=True)
            divisor = variance.sqrt() + eps if outside else (variance + eps) ** power
            normed = (x - x.mean(over, keepdim=True) * ("mean" in parts)) / divisor
            return (gain if "gain" in parts else 1) * normed + bias * ("bias" in parts)

        return norm

    def of_torch(x, gain, bias, eps):
        return F.layer_norm(x, x.shape[-1:], eps=eps) * gain + bias

    right = {of_torch: "PyTorch's layer norm", version(): "layer norm, step by step"}
    wrong = {
        version(1, True): "the famous code",
        version(0, True): "the famous code with one part fixed",
        version(1): "the famous code with another part fixed",
        version(power=0.25): "a norm with a second root",
        version(axes=0): "a norm over the first axis",
        version(axes=None): "a norm with one mean and one variance for all tokens",
        version(parts="gain bias"): "a norm that subtracts no mean",
        version(parts="mean bias"): "a norm that ignores the gain",
        version(parts="mean gain"): "a norm that ignores the bias",
        version(fixed=1e-5): "a norm that ignores the argument eps",
    }
    for norm in (*right, *wrong):  # all answers together tell which mistake it is
        check.call(norm, returns=bool)
    for norm, told in right.items():
        check.true(check.call(norm, returns=bool), f"should return True for {told}")
    for norm, told in wrong.items():
        check.true(not check.call(norm, returns=bool), f"should return False for {told}")
# BEGIN HIDDEN TESTS
with Check("test_of_layer_norm", "more norms that are right") as check:

    def reciprocal(x, gain, bias, eps):
        variance, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
        return (x - mean) * (variance + eps).rsqrt() * gain + bias

    def in_a_loop(x, gain, bias, eps):
        tokens = []
        for token in x.reshape(-1, x.shape[-1]):
            centred = token - token.sum() / len(token)
            tokens.append(gain * centred / ((centred @ centred) / len(token) + eps) ** 0.5 + bias)
        return torch.stack(tokens).reshape(x.shape)

    for norm in (reciprocal, in_a_loop):
        check.true(check.call(norm, returns=bool), "should return True for a right norm")
with Check("test_of_layer_norm", "more norms that are wrong") as check:

    def of_squares(x, gain, bias, eps):
        return gain * x / (x.square().mean(-1, keepdim=True) + eps).sqrt() + bias

    def by_variance(x, gain, bias, eps):
        return gain * (x - x.mean(-1, keepdim=True)) / (x.var(-1, True, keepdim=True) + eps) + bias

    def bias_first(x, gain, bias, eps):
        return gain * (F.layer_norm(x, x.shape[-1:], eps=eps) + bias)

    def gain_first(x, gain, bias, eps):
        return F.layer_norm(gain * x, x.shape[-1:], eps=eps) + bias

    def swapped(x, gain, bias, eps):
        return bias * F.layer_norm(x, x.shape[-1:], eps=eps) + gain

    def floor(x, gain, bias, eps):
        centred = x - x.mean(-1, keepdim=True)
        return gain * centred / centred.square().mean(-1, keepdim=True).clamp(eps).sqrt() + bias

    mutants = (of_squares, by_variance, bias_first, gain_first, swapped, floor)
    for norm in mutants:
        check.true(not check.call(norm, returns=bool), "should return False for a wrong norm")
# END HIDDEN TESTS

# %% [markdown]
# Two symbols differ. In PyTorch, `std` divides by $d - 1$ unless you pass `correction=0`. And $\epsilon$ stands outside the root.
#
# **Predict.** Which of the two can training undo, by learning another gain?
#
# <details><summary>The place of eps</summary>How much it changes depends on the scale of each token. All tokens share one gain.</details>
# <details><summary>The divisor d − 1</summary>Yes. Without eps, it makes all results smaller by one factor, √((d − 1) / d). A gain that is larger by its reciprocal gives the same model.</details>
# <details><summary>Both</summary>One gain serves all tokens. So it can undo only what is the same for all.</details>
#
# Do the differences matter? Measure them at three widths and at many scales. The control takes the $d$, and leaves eps outside.


# %%
def eps_outside_only(x: Tensor, gain: Tensor, bias: Tensor, eps: float) -> Tensor:
    """The control: the variance divides by d, and eps is still outside the root."""
    spread = x.std(-1, keepdim=True, correction=0) + eps
    return gain * (x - x.mean(-1, keepdim=True)) / spread + bias


def relative_error(norm: Callable[..., Tensor], width: int, scale: float) -> float:
    """The length of the difference from your layer norm, divided by the length of yours."""
    parts = token_of_scale(scale, width), torch.ones(width).double(), torch.zeros(width).double()
    right = layer_norm(*parts, 1e-6)
    return ((norm(*parts, 1e-6) - right).norm() / right.norm()).item()


compared = {f"famous code, d = {width}": (copied_norm, width) for width in (4, 64, 512)}
compared["eps outside only, d = 512"] = (eps_outside_only, 512)
figures.curves(
    token_scales,
    {
        name: [relative_error(norm, width, scale) for scale in token_scales]
        for name, (norm, width) in compared.items()
    },
    x="standard deviation of the token (eps = 0.000001)",
    y="difference, for yours of length 1",
    title="How far is the famous code from layer norm?",
    logarithmic="xy",
)

# %% [markdown]
# What to see: for tokens of ordinary scale, only $d - 1$ counts: 13 % at $d = 4$, 0.1 % at $d = 512$. For tiny tokens, below √eps = 0.001, the place of eps counts at every width. The results become up to a thousand times too large. (In between, the two partly cancel.)
#
# And the gain? Make it larger by √(d / (d − 1)), for a token of ordinary scale.

# %%
for width in (4, 64, 512):
    parts = token_of_scale(1.0, width).detach(), torch.ones(width).double()
    larger_gain = (width / (width - 1)) ** 0.5 * parts[1]
    by_tutorial = copied_norm(parts[0], larger_gain, 0 * larger_gain, 1e-6)
    off = by_tutorial - layer_norm(*parts, 0 * larger_gain, 1e-6)
    print(f"d = {width:3}: with the larger gain, off by at most {off.abs().max():.0e}")

# %% [markdown]
# So a model can learn to undo $d - 1$. At the tutorial's width, 512, a test on tokens of ordinary scale, with a tolerance of 1 %, notices neither difference. Your test does.

# %% [markdown]
# ## 3 · A module with gain and bias
#
# In PyTorch, parameters belong to an `nn.Module`. A tensor becomes a parameter of a module when you wrap it in `nn.Parameter` and assign it to an attribute of `self`.
#
# **Predict.** Which values should `gain` and `bias` have at the start of training?
#
# <details><summary>Random ones, like weight matrices</summary>Matrices start at random so that their rows differ. Here the features differ already. A random gain would only distort the scale that the norm has just set.</details>
# <details><summary>Gain 1, bias 0</summary>Yes. At the start the module only normalises. Training finds out whether other values are better.</details>
# <details><summary>Gain 0, bias 0</summary>With gain 0 every token becomes the zero vector, and no gradient passes back through the norm.</details>

# %% [markdown]
# **Exercise** (8 minutes). Write the module. The names of the two parameters matter: the check loads them by name.
#
# <details><summary>Hint</summary>Create both parameters in <code>__init__</code>, after <code>super().__init__()</code>, and keep eps too. In <code>forward</code>, call your <code>layer_norm</code>.</details>


# %% exercise LayerNorm
class LayerNorm(nn.Module):
    """Layer norm with gain and bias as parameters.

    Parameters: `gain` and `bias`, each (d_model,); gain starts at ones, bias at zeros.
    forward: x (…, d_model) -> (…, d_model).
    """

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        # BEGIN SOLUTION
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.eps = eps
        # END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        # BEGIN SOLUTION
        return layer_norm(x, self.gain, self.bias, self.eps)
        # END SOLUTION


# %% check LayerNorm points=2
hint = "keep gain, bias and eps on self, and pass them to your layer_norm"
with Check("LayerNorm", "two tokens worked by hand", hint) as check:
    x = torch.tensor([[10.0, 2.0, 2.0, 2.0], [8.0, -8.0, 0.0, 0.0]], dtype=torch.float64)
    norm = check.build(4, eps=4.0).double()
    check.equal(
        norm.call(x),
        torch.tensor([[1.5, -0.5, -0.5, -0.5], [4 / 3, -4 / 3, 0.0, 0.0]], dtype=torch.float64),
        "a new module should only normalise: gain 1, bias 0; here eps is 4",
    )
    shapes = {name: tuple(weight.shape) for name, weight in norm.parameters().items()}
    wrapped = "wrap each in nn.Parameter and assign it to an attribute of self"
    check.true(bool(shapes), "the module should have parameters that learn", wrapped)
    check.true(len(shapes) > 1, "the module should have two parameters that learn", wrapped)
    check.true(len(shapes) == 2, "should have no third parameter", "only gain and bias are learned")
    check.true(sorted(shapes) == ["bias", "gain"], "should name them `gain` and `bias`", wrapped)
    same = shapes == {"gain": (4,), "bias": (4,)}
    check.true(same, "gain and bias should have one entry for each feature: (d_model,)", wrapped)
    gain = torch.tensor([2.0, 4.0, 6.0, 8.0], dtype=torch.float64)
    bias = torch.tensor([1.0, 0.0, -1.0, 3.0], dtype=torch.float64)
    norm.load({"gain": gain, "bias": bias})
    check.equal(
        norm.call(x),
        torch.tensor([[4.0, -2.0, -4.0, -1.0], [11 / 3, -16 / 3, -1.0, 3.0]], dtype=torch.float64),
        "with gain and bias loaded, the result should be normalised, times gain, plus bias",
    )
with Check("LayerNorm", "a gradient for both parameters", hint) as check:
    norm = check.build(5).double()
    slopes = norm.gradients(norm.call(numbers(2, 3, 5)).square())
    reached = all(bool(slope.abs().max() > 0) for slope in slopes.values())
    check.true(
        reached, "a gradient should reach both parameters", "use self.gain and self.bias in forward"
    )
with Check("LayerNorm", "the gradient of its input") as check:
    x = numbers(2, 5, scale=2.0).requires_grad_()
    slope = check.gradient(check.build(5, eps=0.0).double().call(x)[:, 0], x)
    check.true(bool(slope.any()), "a gradient should reach x", "pass x on, not x.detach()")
    for along, told in ((torch.ones_like(x), "shifted by 1"), (x.detach(), "twice as large")):
        check.equal(
            (slope * along).sum(-1),
            torch.zeros(2, dtype=torch.float64),
            f"without eps, a token {told} gives the same result: the gradient that way should be 0",
            hint="no detach and no torch.no_grad: mean and variance depend on x",
        )
with Check("LayerNorm", "the default eps") as check:
    x = torch.tensor([[0.004, -0.004, 0.0, 0.004, -0.004]], dtype=torch.float64)
    found = check.build(5).double().call(x)
    named = check.build(5, 1e-5).double().call(x)
    check.equal(
        found,
        named,
        "without the argument eps, the result should be that of eps = 0.00001",
        "keep the default of `eps`",
    )
# BEGIN HIDDEN TESTS
with Check("LayerNorm", "equal to PyTorch's") as check:
    for width, eps in ((7, 0.1), (3, 1e-5), (6, 2.0)):
        theirs = nn.LayerNorm(width, eps=eps).double()
        gain, bias = numbers(width, seed=17), numbers(width, seed=18)
        theirs.load_state_dict({"weight": gain, "bias": bias})
        norm = check.build(width, eps=eps).double()
        norm.load({"gain": gain, "bias": bias})
        for shape in ((width,), (4, width), (2, 5, width)):
            x = numbers(*shape, seed=19, scale=3.0) + 1
            check.equal(
                norm.call(x).detach(),
                theirs(x).detach(),
                "the result should equal that of nn.LayerNorm",
            )
        x = numbers(4, width, seed=20, scale=2.0).requires_grad_()
        mine, weighed = norm.call(x) ** 3, theirs(x) ** 3
        expected = check.gradient(weighed, x)
        check.equal(check.gradient(mine, x), expected, "the gradient of x should equal PyTorch's")
        x = numbers(4, width, seed=20, scale=2.0)
        slopes = norm.gradients(norm.call(x).square())
        theirs(x).square().sum().backward()
        check.equal(
            slopes["gain"],
            torch.as_tensor(theirs.weight.grad),
            "the gradient of gain should equal PyTorch's",
        )
        check.equal(
            slopes["bias"],
            torch.as_tensor(theirs.bias.grad),
            "the gradient of bias should equal PyTorch's",
        )
with Check("LayerNorm", "a new module, its default eps, float32") as check:
    for dtype, scale in ((torch.float32, 2.0), (torch.float64, 0.003)):
        norm = check.build(6)
        norm = norm.double() if dtype == torch.float64 else norm
        x = numbers(3, 6, seed=21, scale=scale, dtype=dtype)
        check.equal(
            norm.call(x).detach(),
            F.layer_norm(x, (6,)),
            "the result should equal PyTorch's layer norm",
        )
with Check("LayerNorm", "training and evaluation do not differ; modules share nothing") as check:
    x = numbers(3, 4, seed=22, dtype=torch.float32)
    first, second = check.build(4), check.build(4)
    kept = second.train().call(x).detach()
    first.load({"gain": torch.full((4,), 3.0), "bias": torch.ones(4)})
    check.equal(second.eval().call(x).detach(), kept, "a second module should not change")
    check.true(
        sorted(first.parameters()) == ["bias", "gain"], "should have the parameters gain and bias"
    )
# END HIDDEN TESTS


# %% [markdown]
# ## 4 · RMS norm: drop the mean and the bias
#
# Llama, Mistral, T5 and many other large models use a simpler norm. **RMS norm** divides a token by the root mean square of its features, and subtracts no mean. Usually it has no bias either. (Llama, Mistral and T5 leave the bias out of the linear layers too, and train well without.) Read the name from the right: square the features, take the mean, take the root.
#
# $$y_j = \gamma_j\, \frac{x_j}{\sqrt{\frac{1}{d} \sum_{k=1}^{d} x_k^2 + \epsilon}}$$
#
# (Zhang and Sennrich, *Root Mean Square Layer Normalization*, 2019.) In the authors' experiments it trains about as well as layer norm, in less time.

# %% [markdown]
# **Predict.** For which tokens do RMS norm and layer norm give the same result? (Equal gain, bias 0.)
#
# <details><summary>For tokens of mean 0</summary>Yes. There is nothing to subtract, and the mean of the squares <em>is</em> the variance.</details>
# <details><summary>For tokens of standard deviation 1</summary>The mean square is the variance <em>plus</em> the squared mean. So the mean decides, and the standard deviation does not matter.</details>
# <details><summary>For none</summary>Think of a token for which layer norm subtracts 0.</details>

# %% [markdown]
# **Exercise** (6 minutes). Write RMS norm.
#
# <details><summary>Hint</summary>Start from your layer norm, and take out what is not in the formula.</details>


# %% exercise rms_norm
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    """Divide each token by the root mean square of its features, the last axis; times `gain`.

    x (…, d_model), gain (d_model,) -> (…, d_model). eps is added to the mean square, under the
    root.
    """
    # BEGIN SOLUTION
    mean_square = x.square().mean(dim=-1, keepdim=True)
    return gain * x / (mean_square + eps).sqrt()
    # END SOLUTION


# %% check rms_norm points=2
hint = "each token, divided by the root of (the mean of its squares, plus eps), times gain"
with Check("rms_norm", "two tokens worked by hand", hint) as check:
    # mean squares 12 and 32: with eps = 4 the roots are 4 and 6
    x = torch.tensor([[6.0, 2.0, 2.0, 2.0], [8.0, -8.0, 0.0, 0.0]], dtype=torch.float64)
    gain = torch.tensor([2.0, 6.0, 4.0, 8.0], dtype=torch.float64)
    output = check.call(x, gain, 4.0)
    check.shape(output, tokens=2, d_model=4)
    check.equal(
        output,
        torch.tensor([[3.0, 3.0, 2.0, 4.0], [8 / 3, -8.0, 0.0, 0.0]], dtype=torch.float64),
        "with mean squares 12 and 32 and eps = 4, the tokens should be divided by 4 and 6, "
        "then multiplied by gain",
    )
with Check("rms_norm", "each token on its own", hint) as check:
    x, gain = numbers(2, 3, 5, scale=4.0), torch.ones(5, dtype=torch.float64)
    output = check.call(x, gain, 0.0)
    check.shape(output, batch=2, length=3, d_model=5)
    check.equal(
        output.square().mean(-1),
        torch.ones(2, 3, dtype=torch.float64),
        "with eps 0 and gain 1, the squares of every token should have mean 1",
    )
with Check("rms_norm", "the gradient") as check:
    x = numbers(2, 5, scale=2.0).requires_grad_()
    output = check.call(x, numbers(5, seed=1), 0.0)
    slope = check.gradient(output[:, 0], x)
    check.equal(
        (slope * x).sum(-1).detach(),
        torch.zeros(2, dtype=torch.float64),
        "the gradient along the token itself should be 0: twice the token gives the same result",
        hint="every step must be a torch operation on the x you are given",
    )
# BEGIN HIDDEN TESTS
with Check("rms_norm", "equal to PyTorch's") as check:
    for shape in ((6,), (4, 6), (2, 3, 6), (2, 3, 5, 6), (6, 6)):
        for scale, eps in ((0.01, 1e-5), (5.0, 1e-6), (1.0, 0.5)):
            x, gain = numbers(*shape, seed=23, scale=scale) + 0.02, numbers(6, seed=24)
            check.equal(
                check.call(x, gain, eps), F.rms_norm(x, (6,), gain, eps), "should equal PyTorch's"
            )
with Check("rms_norm", "float32, views, and gradients") as check:
    x = numbers(2, 4, 3, seed=25, dtype=torch.float32).transpose(1, 2)
    gain = numbers(4, seed=26, dtype=torch.float32)
    check.equal(
        check.call(x, gain, 1e-5),
        F.rms_norm(x, (4,), gain, 1e-5),
        "should equal PyTorch's on a view",
    )
    x, gain = numbers(3, 4, seed=27).requires_grad_(), numbers(4, seed=28).requires_grad_()
    mine, theirs = check.call(x, gain, 0.1), F.rms_norm(x, (4,), gain, 0.1)
    for source in (x, gain):
        expected = check.gradient(theirs[1].square(), source)
        check.equal(
            check.gradient(mine[1].square(), source),
            expected,
            "the gradient should equal PyTorch's",
        )
# END HIDDEN TESTS


# %% [markdown]
# **A good place to stop.** You have layer norm (function and module) and RMS norm. Next come batch norm, the residual connection, and the two networks from the start. (Back later? Run all cells above first.)

# %% [markdown]
# ## 5 · Batch norm, and why Transformers avoid it
#
# **Batch norm** normalises each channel over all tokens of a batch. (Ioffe and Szegedy, 2015.) For $x$ of shape (batch, length, channels):
#
# | | shape of mean and variance | one for each | taken over |
# |---|---|---|---|
# | layer norm | (batch, length, 1) | token | its channels |
# | batch norm | (1, 1, channels) | channel | all tokens of the batch |
#
# A **CNN** (convolutional neural network) slides small filters over an image. Many CNNs use batch norm.
#
# **From the lecture**: *Transformer: Part I (Encoder)*, CS7150, slide "How to use BatchNorm in an RNN?". (An RNN, a recurrent neural network, reads one token at a time.) First objection: "Variable lengths in the input". What does padding do to a mean?

# %%
two_sequences = torch.tensor(
    [[[4.0], [6.0], [5.0], [5.0]], [[5.0], [0.0], [0.0], [0.0]]]
)  # one channel; the second sequence has one token, the rest is padding
of_real_tokens = two_sequences[[0, 0, 0, 0, 1], [0, 1, 2, 3, 0]].mean()
print(f"mean of the five real tokens:  {of_real_tokens:.2f}")
print(f"mean with padding included:    {two_sequences.mean():.2f}")

# %% [markdown]
# **Exercise** (20 minutes). Write batch norm for sequences, and leave padding out of the mean and the variance. (PyTorch's `nn.BatchNorm1d` also keeps running averages for evaluation. Leave those out here.)
#
# <details><summary>Hint 1</summary>As in lesson 2: <code>torch.arange(length) &lt; lengths[:, None]</code> is True at the real tokens, with shape (batch, length).</details>
# <details><summary>Hint 2</summary>With such a mask, <code>x[real]</code> gathers the real tokens as (tokens, channels). Over which axis do the mean and the variance run? The results have shape (channels,), which lines up with x as it is.</details>


# %% exercise batch_norm
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    """Normalise each channel over all real tokens of the batch; then times `gain`, plus `bias`.

    x (batch, length, channels), gain and bias (channels,) -> (batch, length, channels).
    lengths (batch,): integers from 1 to length, the number of real tokens of each sequence. The
    others are padding: they take no part in the mean and the variance, and their own results may
    be any numbers except NaN. The variance divides by the number of real tokens; eps is added to
    it under the root.
    """
    # BEGIN SOLUTION
    positions = torch.arange(x.shape[1], device=x.device)
    real = positions < lengths[:, None]  # (batch, length)
    tokens = x[real]  # (tokens, channels)
    mean, variance = tokens.mean(dim=0), tokens.var(dim=0, correction=0)
    return gain * (x - mean) / (variance + eps).sqrt() + bias
    # END SOLUTION


# %% check batch_norm points=2
hint = "one mean and one variance for each channel, over the real tokens of all sequences"
with Check("batch_norm", "four tokens worked by hand", hint) as check:
    # the real tokens' means are 4, 12 and 0, their variances 12, 32 and 96; 99 and -99 pad
    x = torch.full((2, 5, 3), 99.0, dtype=torch.float64)
    x[0, :3] = torch.tensor([[10.0, 4.0, 8.0], [2.0, 20.0, -16.0], [2.0, 12.0, 8.0]])
    x[1, 0], x[1, 1:] = torch.tensor([2.0, 12.0, 0.0]), -99.0
    gain = torch.tensor([2.0, 3.0, 5.0], dtype=torch.float64)
    bias = torch.tensor([0.0, 1.0, -2.0], dtype=torch.float64)
    output = check.call(x, torch.tensor([3, 1]), gain, bias, eps=4.0)
    check.shape(output, batch=2, length=5, channels=3)
    check.equal(
        torch.cat([output[0, :3], output[1, :1]]),
        torch.tensor(
            [[3.0, -3.0, 2.0], [-1.0, 5.0, -10.0], [-1.0, 1.0, 2.0], [-1.0, 1.0, -2.0]],
            dtype=torch.float64,
        ),
        "at the real tokens, each channel minus its mean should be divided by 4, 6 and 10, "
        "then times gain, plus bias",
    )
with Check("batch_norm", "the content of the padding does not matter", hint) as check:
    x, lengths = numbers(3, 4, 2, scale=3.0) + 1, torch.tensor([4, 2, 1])
    gain, bias = torch.ones(2, dtype=torch.float64), torch.zeros(2, dtype=torch.float64)
    other = x.clone()
    other[1, 2:], other[2, 1:] = -50.0, 700.0
    output = check.call(x, lengths, gain, bias)
    changed = check.call(other, lengths, gain, bias)
    for line, many in enumerate((4, 2, 1)):
        check.equal(
            changed[line, :many],
            output[line, :many],
            "the real tokens should give the same result when the padding holds other numbers",
        )
with Check("batch_norm", "the gradient", hint) as check:
    x, lengths = numbers(3, 2, 4, scale=2.0).requires_grad_(), torch.tensor([2, 1, 1])
    output = check.call(x, lengths, numbers(4, seed=1), numbers(4, seed=2), eps=1e-12)
    slope = check.gradient(output[0, 0], x)
    nothing = torch.zeros(4, dtype=torch.float64)
    check.true(not bool(slope.isnan().any()), "the gradient should be a number everywhere")
    check.equal(slope[1, 1], nothing, "no gradient should flow from a real token to the padding")
    check.equal(
        slope.sum((0, 1)),
        nothing,
        "the gradient of a channel should sum to 0: the same shift of all tokens changes nothing",
        hint="every step must be a torch operation on the x you are given, the mean too",
    )
    check.equal(
        (slope * x).sum((0, 1)).detach(),
        nothing,
        "beside so small an eps, twice all tokens give the same result: the gradient that way "
        "should be 0",
        hint="every step must be a torch operation on the x you are given, the variance too",
    )
# BEGIN HIDDEN TESTS
with Check("batch_norm", "equal to PyTorch's on the real tokens") as check:
    for shape, many in (
        ((3, 5, 4), (5, 2, 3)),
        ((2, 3, 6), (1, 3)),
        ((4, 4, 4), (4, 1, 3, 2)),
        ((1, 7, 2), (4,)),
        ((5, 2, 3), (1, 1, 1, 1, 1)),
    ):
        for scale, eps, dtype in (
            (0.02, 1e-5, torch.float64),
            (5.0, 0.3, torch.float64),
            (2.0, 1e-3, torch.float32),
        ):
            x, lengths = numbers(*shape, seed=29, scale=scale, dtype=dtype) + 1, torch.tensor(many)
            real = torch.arange(shape[1]) < lengths[:, None]
            x[~real] = 40.0
            gain = numbers(shape[2], seed=30, dtype=dtype)
            bias = numbers(shape[2], seed=31, dtype=dtype)
            output = check.call(x, lengths, gain, bias, eps=eps)
            check.shape(output, batch=shape[0], length=shape[1], channels=shape[2])
            expected = F.batch_norm(x[real], None, None, gain, bias, True, eps=eps)
            check.equal(output[real], expected, "the real tokens should equal PyTorch's batch norm")
with Check("batch_norm", "lengths of another integer type, the default eps") as check:
    x, lengths = numbers(3, 4, 5, seed=32, scale=0.003), torch.tensor([2, 4, 3], dtype=torch.int32)
    real = torch.arange(4) < lengths[:, None]
    gain, bias = numbers(5, seed=33), numbers(5, seed=34)
    expected = F.batch_norm(x[real], None, None, gain, bias, True, eps=1e-5)
    check.equal(
        check.call(x, lengths, gain, bias)[real],
        expected,
        "the real tokens should equal PyTorch's batch norm",
    )
with Check("batch_norm", "a view, and gradients: to the real tokens, not to the padding") as check:
    x = numbers(3, 4, 2, seed=35, scale=2.0).transpose(1, 2).detach().requires_grad_()
    lengths, gain, bias = torch.tensor([1, 2, 2]), numbers(4, seed=36), numbers(4, seed=37)
    gain, bias = gain.requires_grad_(), bias.requires_grad_()
    real = torch.arange(2) < lengths[:, None]
    mine = check.call(x, lengths, gain, bias)[real]
    theirs = F.batch_norm(x[real], None, None, gain, bias, True, eps=1e-5)
    check.equal(mine, theirs, "the real tokens should equal PyTorch's batch norm")
    for source in (x, gain, bias):
        expected = check.gradient(theirs[:2].square(), source)
        check.equal(
            check.gradient(mine[:2].square(), source),
            expected,
            "the gradient should equal PyTorch's",
        )
# END HIDDEN TESTS

# %% [markdown]
# The next check uses a batch without padding.

# %% check batch_norm_full points=1
with Check("batch_norm", "a batch without padding") as check:
    x, lengths = numbers(2, 3, 5, scale=3.0) + 2, torch.tensor([3, 3])
    gain, bias = torch.ones(5, dtype=torch.float64), torch.zeros(5, dtype=torch.float64)
    output = check.call(x, lengths, gain, bias)
    check.shape(output, batch=2, length=3, channels=5)
    check.equal(
        output.mean((0, 1)),
        torch.zeros(5, dtype=torch.float64),
        "with gain 1 and bias 0, every channel should have mean 0 over all tokens",
        hint="the mean runs over batch and length together",
    )
    check.equal(
        output.square().mean((0, 1)),
        torch.ones(5, dtype=torch.float64),
        "with gain 1 and bias 0, every channel should have variance 1 over all tokens",
        hint="the variance is the mean of the squared deviations",
        within=1e-4,  # eps is small beside these variances
    )
# BEGIN HIDDEN TESTS
with Check("batch_norm", "equal to PyTorch's without padding") as check:
    for shape in ((2, 3, 5), (4, 1, 3), (3, 3, 3)):
        x, lengths = numbers(*shape, seed=38, scale=3.0), torch.full((shape[0],), shape[1])
        gain, bias = numbers(shape[2], seed=39), numbers(shape[2], seed=40)
        expected = F.batch_norm(x.transpose(1, 2), None, None, gain, bias, True, eps=1e-5)
        output = check.call(x, lengths, gain, bias)
        check.equal(
            output, expected.transpose(1, 2), "the real tokens should equal PyTorch's batch norm"
        )
# END HIDDEN TESTS

# %% [markdown]
# Here is your result. Padding is hatched. Choose *batch norm*, click a number, and switch *leave padding out* on and off: when does its channel have mean 0 and standard deviation 1?

# %%
token_counts = torch.tensor([4, 2, 3])
show_norm_axes(
    x=batch_norm(3 * numbers(3, 4, 5) + 2, token_counts, *of_five),
    lengths=token_counts.tolist(),
    title="The output of your batch norm: padding takes no part",
)

# %% [markdown]
# What to see: the channel has mean 0 and standard deviation 1 only with *leave padding out* switched on. Your function computed the mean and the variance in the same way.
#
# You can leave out padding, but not the other sequences. Take *one sequence* and put it into two different batches.
#
# **Predict.** Compare the two results for its first token. With batch norm, with layer norm, or with both: where do they differ?
#
# <details><summary>With both</summary>Layer norm uses only the features of the token itself. The rest of the batch takes no part.</details>
# <details><summary>With batch norm only</summary>Yes: the mean and the variance of a channel depend on every sequence of the batch.</details>
# <details><summary>With neither: the token is the same</summary>The token is the same, but the mean that batch norm subtracts from it is not.</details>

# %%
one_sequence = numbers(1, 4, 5)
rest_of_batch = {
    "small values": numbers(2, 4, 5, seed=1),
    "large values": 10 * numbers(2, 4, 5, seed=2),
}
results: dict[str, list[Tensor]] = {"batch norm": [], "layer norm": []}
for others in rest_of_batch.values():
    together = torch.cat([one_sequence, others])
    by_batch = batch_norm(together, torch.tensor([4, 4, 4]), *of_five)
    results["batch norm"].append(by_batch[0, :1])
    results["layer norm"].append(layer_norm(together, *of_five)[0, :1])
figures.steps(
    {name: (torch.cat(rows), "feature", "12345") for name, rows in results.items()},
    "rest of the batch",
    list(rest_of_batch),
)
for name, (first, second) in results.items():
    print(f"{name}: the same token differs by up to {(first - second).abs().max():.2f}")

# %% [markdown]
# What to see: both rows show the *same token*, normalised. Only with batch norm does it depend on the rest of the batch. Later tokens enter the mean, too: in a causal model, that is a leak (lesson 2).
#
# <details><summary>And in evaluation, after training?</summary>There, <code>nn.BatchNorm1d</code> uses its running averages instead. Then the dependence is gone, but the model computes something else than in training.</details>

# %% [markdown]
# ### The axes of batch norm (optional)
#
# **From the lecture**: *Transformer: Part I (Encoder)*, CS7150, slide "Recall: Batch Normalization for ConvNets". For vectors $x$ of shape $N \times D$, the mean runs over $N$ and has the shape $1 \times D$. The slide gives images the shape $N \times C \times H \times W$: $N$ images of $C$ channels, $H$ rows and $W$ columns.
#
# **Predict.** Which shape does the mean of batch norm have for such images?
#
# <details><summary>(1, C, H, W)</summary>Then each pixel would have its own mean. A filter visits all pixels alike, so they share one, as the positions of a sequence do.</details>
# <details><summary>(1, C, 1, 1)</summary>Yes: one mean for each channel, over all images, rows and columns.</details>
# <details><summary>(N, C, 1, 1)</summary>Then each image would have its own mean, and no other image would take part. That is instance norm.</details>


# %%
def by_channel(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Normalise x by the mean and the variance over these axes."""
    mean = x.mean(axes, keepdim=True)
    variance = x.var(axes, correction=0, keepdim=True)
    print(f"x {tuple(x.shape)}   mean {tuple(mean.shape)}   each over {x.numel() // mean.numel()}")
    return (x - mean) / (variance + 1e-5).sqrt()


for values, axes, theirs in (
    (numbers(7, 6), (0,), nn.BatchNorm1d(6)),  # N, D
    (numbers(7, 3, 4, 5), (0, 2, 3), nn.BatchNorm2d(3)),  # N, C, H, W
    (numbers(7, 3, 4), (0, 2), nn.BatchNorm1d(3)),  # N, C, L: channels before positions!
):
    difference = by_channel(values, axes) - theirs.double()(values)
    print(f"    largest difference from {type(theirs).__name__}: {difference.abs().max():.1e}")

# %% [markdown]
# What to see: batch norm averages over every axis but the channels. PyTorch expects these at axis 1, so transpose a sequence (batch, length, channels) first.

# %% [markdown]
# ## 6 · Residual connections: add, do not replace
#
# A norm keeps the features in range on the way *up*, from first layer to last. Gradients travel *down*, from last to first, and each layer multiplies them too: see part 7.
#
# A **residual connection** adds the input of a layer to its output: $x + f(x)$. (He and others, 2015.) So $f$ learns the *residual*, the change to $x$.
#
# A **sublayer** is the layer inside a residual connection, such as attention. Here, a *block* is one sublayer with whatever surrounds it (in lesson 7, two sublayers). Two arrangements exist.

# %%
figures.stations(
    {
        "pre-norm: x + sublayer(norm(x)), two blocks": [(["norm", "sublayer"], [])] * 2,
        "post-norm: norm(x + sublayer(x)), two blocks": [(["sublayer"], ["norm"])] * 2,
    },
    "x",
)

# %% [markdown]
# The **residual stream** is the vector of a token that runs straight through all blocks: the thick line. Each sublayer reads from it and adds to it.
#
# In **pre-norm** the norm sits on the branch, before the sublayer. In **post-norm** the norm sits on the stream itself, after the addition.
#
# **From the lecture**: *Transformers (Part 2)*, Data C182, slide "Detail: Pre-norm vs Post-norm". The first Transformer was post-norm. The slide says that pre-norm works better and "can use larger learning rate". Part 7 is a first test.

# %% [markdown]
# **Predict.** In which arrangement can $x$ reach the output of a hundred blocks without passing through a norm?
#
# <details><summary>In both</summary>Follow the thick line of post-norm to its end: it meets a norm in every block.</details>
# <details><summary>In post-norm</summary>There the norm sits on the stream, after the addition. Nothing gets around it.</details>
# <details><summary>In pre-norm</summary>Yes. Follow the thick line: from block to block there are only additions.</details>

# %% [markdown]
# **Exercise** (15 minutes). Wrap any module, the sublayer, in a residual connection with a norm.
#
# <details><summary>Hint</summary>Keep the sublayer, a norm of width d_model and the choice on <code>self</code>. In <code>forward</code>, each choice is one line. What you add is x itself, not the normalised x.</details>


# %% exercise Residual
class Residual(nn.Module):
    """A residual connection around a sublayer, with a layer norm: pre-norm or post-norm.

    Parts: `sublayer`, the module that is passed in, and `norm`, a layer norm of width d_model:
    your `LayerNorm` or PyTorch's `nn.LayerNorm`, with its default eps.
    norm_first=True: pre-norm, the norm before the sublayer. norm_first=False: post-norm, the norm
    after the addition.
    forward: x (…, d_model) -> (…, d_model).
    """

    def __init__(self, sublayer: nn.Module, d_model: int, norm_first: bool) -> None:
        # BEGIN SOLUTION
        super().__init__()
        self.sublayer = sublayer
        self.norm = LayerNorm(d_model)
        self.norm_first = norm_first
        # END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        # BEGIN SOLUTION
        if self.norm_first:
            return x + self.sublayer(self.norm(x))
        return self.norm(x + self.sublayer(x))
        # END SOLUTION


# %% check Residual points=3
hint = "pre-norm: x + sublayer(norm(x)); post-norm: norm(x + sublayer(x))"
with Check("Residual", "pre-norm, worked by hand", hint) as check:
    sending = nn.Linear(4, 4, bias=False).double()
    with torch.no_grad():
        # the second feature of the result is 3 times the first feature, the others are 0
        sending.weight.copy_(torch.tensor([[0.0] * 4, [3.0, 0.0, 0.0, 0.0], [0.0] * 4, [0.0] * 4]))
    # normalised, the tokens are [1, -1, 1, -1] and [-1, 1, -1, 1]
    x = torch.tensor([[8.0, 2.0, 8.0, 2.0], [0.0, 4.0, 0.0, 4.0]], dtype=torch.float64)
    output = check.build(sending, 4, True).double().call(x)
    check.shape(output, tokens=2, d_model=4)
    check.equal(
        output,
        torch.tensor([[8.0, 5.0, 8.0, 2.0], [0.0, 1.0, 0.0, 4.0]], dtype=torch.float64),
        "[8, 2, 8, 2] should become [1, -1, 1, -1] in the norm and [0, 3, 0, 0] in the sublayer, "
        "which is added to [8, 2, 8, 2]",
        within=1e-3,
    )
with Check("Residual", "post-norm, worked by hand", hint) as check:
    adding = nn.Linear(4, 4, bias=False).double()
    with torch.no_grad():
        # the first feature of the result is the sum of all features, the others are 0
        adding.weight.copy_(torch.tensor([[1.0] * 4, [0.0] * 4, [0.0] * 4, [0.0] * 4]))
    x = torch.tensor([[-1.0, 3.0, 1.0, 1.0], [4.0, 0.0, 0.0, -2.0]], dtype=torch.float64)
    output = check.build(adding, 4, False).double().call(x)
    check.equal(
        output,
        torch.tensor(
            [[1.0, 1.0, -1.0, -1.0], [5 / 3, -1 / 3, -1 / 3, -1.0]],
            dtype=torch.float64,
        ),
        "[-1, 3, 1, 1] plus [4, 0, 0, 0] should be [3, 3, 1, 1], which is then normalised",
        within=1e-3,
    )
with Check("Residual", "a batch, and a gradient for every part", hint) as check:
    inner, x = nn.Linear(5, 5).double(), numbers(2, 3, 5, scale=3.0)
    for norm_first in (True, False):
        residual = check.build(inner, 5, norm_first).double()
        output = residual.call(x)
        check.shape(output, batch=2, length=3, d_model=5)
        check.equal(residual.call(x[1]), output[1], "a sequence should give the same result alone")
        slopes = residual.gradients(output.square() * numbers(5, seed=1))
        parts = {name.split(".")[0] for name in slopes}
        check.true("sublayer" in parts, "should keep the sublayer as the part `sublayer`")
        check.true("norm" in parts, "should keep a norm with parameters as the part `norm`")
        check.true(len(parts) == 2, "should have no parts but `sublayer` and `norm`")
        check.true(len(slopes) == 4, "`norm` should have a gain and a bias, and no part twice")
        reached = all(bool(slope.abs().max() > 0) for slope in slopes.values())
        check.true(reached, "a gradient should reach every parameter of both parts")
with Check("Residual", "the residual stream", hint) as check:
    silent = nn.Linear(5, 5, bias=False).double()
    with torch.no_grad():
        silent.weight.zero_()
    x = numbers(3, 5, scale=2.0).requires_grad_()
    output = check.build(silent, 5, True).double().call(x)
    check.equal(output, x, "with a sublayer that returns 0, pre-norm should return x itself")
    check.equal(
        check.gradient(output, x),
        torch.ones(3, 5, dtype=torch.float64),
        "with a sublayer that returns 0, the gradient of pre-norm should be 1",
        hint="add x itself, without detaching it",
    )
    tiny = numbers(3, 5, scale=0.003)
    check.equal(
        check.build(silent, 5, False).double().call(tiny),
        F.layer_norm(tiny, (5,)),
        "with a sublayer that returns 0, post-norm should be the layer norm of x, with eps 0.00001",
        hint="build the norm with its default eps",
    )
with Check("Residual", "the sublayer itself, in the mode that the caller chose", hint) as check:
    inner, x = nn.Linear(3, 3, bias=False).double(), numbers(2, 3)
    residual = check.build(inner, 3, True).double()
    with torch.no_grad():
        inner.weight.zero_()
    check.equal(
        residual.call(x),
        x,
        "when the sublayer's weights become 0 after the module is built, it should return x",
        hint="keep the module that is passed in, not a copy",
    )
    check.equal(
        check.build(nn.Dropout(1.0), 3, True).double().train().call(x),
        x,
        "in training, dropout with p = 1 returns 0, so pre-norm should return x",
        hint="never call eval() or train() on the sublayer",
    )
# BEGIN HIDDEN TESTS
with Check("Residual", "equal to the formula, both ways") as check:
    for shape, scale in (((5,), 1.0), ((4, 5), 3.0), ((2, 3, 5), 0.2), ((5, 5), 2.0)):
        inner = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 5)).double()
        with torch.no_grad():
            for number, weight in enumerate(inner.parameters()):
                weight.copy_(numbers(*weight.shape, seed=41 + number))
        x = (numbers(*shape, seed=46, scale=scale) + 1).requires_grad_()
        for norm_first in (True, False):
            residual = check.build(inner, 5, norm_first).double()
            names = [name for name in residual.parameters() if name.startswith("norm.")]
            bias = [name for name in names if name.endswith("bias")]
            gain = [name for name in names if not name.endswith("bias")]
            check.true(len(bias) == len(gain) == 1, "`norm` should have one gain and one bias")
            fresh = residual.call(x)
            stretch, shift = numbers(5, seed=47), numbers(5, seed=48)
            nothing = torch.ones(5).double(), torch.zeros(5).double()
            residual.load({gain[0]: stretch, bias[0]: shift}, whole=False)
            for output, (g, b) in ((fresh, nothing), (residual.call(x), (stretch, shift))):
                if norm_first:
                    expected = x + inner(F.layer_norm(x, (5,), g, b))
                else:
                    expected = F.layer_norm(x + inner(x), (5,), g, b)
                check.equal(
                    output, expected, f"should equal the formula with norm_first={norm_first}"
                )
            weighed = numbers(*shape, seed=49)
            slope = check.gradient(output * weighed, x)
            check.equal(
                slope, check.gradient(expected * weighed, x), "the gradient should be right"
            )
with Check("Residual", "the sublayer itself, not a copy of it; float32; evaluation") as check:
    inner = nn.Linear(6, 6)
    residual = check.build(inner, 6, norm_first=True)
    x = numbers(3, 6, seed=50, dtype=torch.float32)
    expected = (x + inner(F.layer_norm(x, (6,)))).detach()
    check.equal(residual.call(x).detach(), expected, "should work in float32")
    check.equal(residual.eval().call(x).detach(), expected, "should work in evaluation")
    with torch.no_grad():
        inner.weight.zero_()
        inner.bias.zero_()
    check.equal(residual.call(x).detach(), x, "with a sublayer that returns 0, should return x")
    plain = F.layer_norm(x, (6,))
    for norm_first, off, on in (
        (True, x, x + plain),
        (False, plain, F.layer_norm(2 * x, (6,))),
    ):
        residual = check.build(nn.Dropout(1.0), 6, norm_first)
        check.equal(
            residual.train().call(x).detach(), off, "in training, this sublayer should return 0"
        )
        check.equal(
            residual.eval().call(x).detach(),
            on,
            "in evaluation, this sublayer should return its input",
        )
with Check("Residual", "two modules share no norm") as check:
    first, second = (check.build(nn.Linear(3, 3), 3, False) for _ in range(2))
    kept = second.state()
    zeros = {name: torch.zeros(3) for name in first.parameters() if name.startswith("norm.")}
    first.load(zeros, whole=False)
    for name, weight in second.state().items():
        check.equal(weight, kept[name], f"{name} of a second module should not change")
# END HIDDEN TESTS


# %% [markdown]
# ### The residual stream, to scale
#
# Put six of your blocks in a row, untrained. The sublayer is two random matrices with a ReLU between them. For an input of size 1, it returns a vector of size √½, about 0.71. (*Size* is the root mean square of the features.)
#
# **Predict.** Vectors in unrelated directions: what is the size of the stream after six pre-norm blocks, if it starts at 1?
#
# <details><summary>About 1: there is a norm in every block</summary>These norms act on what a branch reads. The stream itself passes through none.</details>
# <details><summary>About 5.2</summary>That is 1 plus six times 0.71. It would be right if all vectors pointed the same way.</details>
# <details><summary>About 2</summary>Yes. The squares add: 1 + 6 · ½ is 4, and its root is 2. As in lesson 1, variances add, not standard deviations.</details>


# %% folded=true
# Measures the stream and every branch along six of your blocks, in 5 runs. Click to unfold.
@cache
def stream_through(norm_first: bool) -> list[list[float]]:
    """Sizes in 5 runs: the stream, then for each block its branch, the sum and its output."""
    torch.manual_seed(0)
    measured = []
    for _ in range(5):
        x = torch.randn(50, 128)
        parts = [x]
        for _ in range(6):
            first, second = (nn.Linear(128, 128, bias=False) for _ in range(2))
            for layer in (first, second):
                nn.init.normal_(layer.weight, std=128**-0.5)
            block = Residual(nn.Sequential(first, nn.ReLU(), second), 128, norm_first)
            with torch.no_grad():
                branch = block.sublayer(block.norm(x) if norm_first else x)
                parts += [branch, x + branch, x := block(x)]
        measured.append([part.square().mean().sqrt().item() for part in parts])
    return measured


# %%
pre_norm, post_norm = stream_through(True), stream_through(False)
figures.stream(
    {
        "pre-norm: each branch reads norm(x); nothing rescales the stream": [
            sum(sizes) / 5 for sizes in zip(*pre_norm, strict=True)
        ],
        "post-norm: each branch reads x; a norm on the stream rescales every sum": [
            sum(sizes) / 5 for sizes in zip(*post_norm, strict=True)
        ],
    },
    on_branch=["norm", ""],
)
print("size at the end of pre-norm, 5 runs:", *(f"{sizes[-1]:.2f}" for sizes in pre_norm))

# %% [markdown]
# What to see: thickness is size, the mean of 5 runs. Every branch adds about 0.7. In pre-norm, the stream keeps all of it and grows to 2. In post-norm, every norm shrinks the sum back to 1, and with it what earlier blocks have added.
#
# **Predict.** In unrelated directions, the squares of a sum are those of the stream plus those of the branch. At the end, which part of the squares comes from the *input*?
#
# <details><summary>Pre-norm: about 1 / 4. Post-norm: about 1 / 11</summary>Yes. In pre-norm, 1 of 4 in all. In post-norm, each norm divides the squares by 1.5, those of the input too: six times.</details>
# <details><summary>About 1 / 4 in both: the branches are equal</summary>They add the same. But in post-norm, each norm makes the stream smaller before the next branch is added.</details>
# <details><summary>Pre-norm: about 1 / 4. Post-norm: all of it, because its size is 1 again</summary>The norm shrinks the sum, and the input with it. What comes out has size 1, but it is not the input.</details>


# %%
def part_of_input(sizes: list[float]) -> float:
    """Which part of the squares at the end comes from the input."""
    left = 1.0
    for before, total in zip(sizes[:-1:3], sizes[2::3], strict=True):
        left *= (before / total) ** 2
    return left


for name, several in {"pre-norm": stream_through(True), "post-norm": stream_through(False)}.items():
    print(f"{name:9} of the input, 5 runs:", *(f"{part_of_input(sizes):.2f}" for sizes in several))

# %% [markdown]
# What to see: after six blocks, the input makes up nearly three times as large a part of the squares in pre-norm as in post-norm.

# %% [markdown]
# ### Bug hunt: "the gradient is 1"
#
# **From the lecture**: *Transformers*, CSCI 4360/6360, slide "Residual Connection". It sets $X^{(i)} = X^{(i-1)} + \text{Layer}(X^{(i-1)})$ and says that the gradient through the residual connection is 1. Read generously, this is true of one path, the one around the layer. But many readers take it to be the gradient of the whole sum. Measure that, for three layers that work on a single number.

# %%
for name, layer in {
    "-x": lambda x: -x,
    "3 · x": lambda x: 3 * x,
    "0 · x": lambda x: 0 * x,
}.items():
    point = torch.tensor(2.0, requires_grad=True)
    (slope,) = torch.autograd.grad(point + layer(point), point)
    print(f"Layer(x) = {name:6} gradient of x + Layer(x): {slope:.0f}")

# %% [markdown]
# What to see: the sum has gradient 1 only for the last layer, which always returns 0. For the layer $-x$ the gradient is 0, in spite of the residual connection. The 1 belongs to one of the two paths, the one around the layer.
#
# For a vector, the gradient becomes a matrix. The **Jacobian** of a layer is the matrix $J$ whose entry in row $i$, column $j$ says how fast output $i$ changes with input $j$.

# %% [markdown]
# **Exercise** (6 minutes). Write what the slide leaves out: the Jacobian of the whole sum.
#
# <details><summary>Hint</summary>The derivative of a sum is the sum of the derivatives. What is the Jacobian of a function that returns its input? Not a matrix full of ones: output 1 does not depend on input 2.</details>


# %% exercise repaired_gradient
def repaired_gradient(jacobian: Tensor) -> Tensor:
    """The Jacobian of x + layer(x), where that of layer(x) alone is `jacobian`.

    (d_model, d_model) -> (d_model, d_model).
    """
    # BEGIN SOLUTION
    return torch.eye(len(jacobian), dtype=jacobian.dtype, device=jacobian.device) + jacobian
    # END SOLUTION


# %% check repaired_gradient points=1
hint = "only the diagonal changes: input 1 is added to output 1, and to no other"
with Check("repaired_gradient", "an example worked by hand", hint) as check:
    # layer([a, b, c]) = [2a + 5b, 3a - b + 7c, 6b + 4c]
    jacobian = torch.tensor([[2.0, 5.0, 0.0], [3.0, -1.0, 7.0], [0.0, 6.0, 4.0]]).double()
    found = check.call(jacobian)
    check.shape(found, output=3, input=3)
    check.equal(
        found,
        torch.tensor([[3.0, 5.0, 0.0], [3.0, 0.0, 7.0], [0.0, 6.0, 5.0]], dtype=torch.float64),
        "[a, b, c] plus [2a + 5b, 3a - b + 7c, 6b + 4c] has 3a + 5b as its first feature: the "
        "first row should be [3, 5, 0]",
    )
    found = check.call(torch.zeros(2, 2).double())
    check.shape(found, output=2, input=2)
    check.equal(
        found, torch.eye(2).double(), "beside a layer that returns 0, only x should be left"
    )
# BEGIN HIDDEN TESTS
with Check("repaired_gradient", "what autograd finds") as check:
    for width in (1, 3, 6):
        matrix, point = numbers(width, width, seed=51), numbers(width, seed=52)

        def around(x, matrix=matrix):
            return x + (matrix @ x).tanh()

        whole = torch.as_tensor(torch.autograd.functional.jacobian(around, point))
        inner = whole - torch.eye(width, dtype=torch.float64)
        check.equal(check.call(inner), whole, "should be the Jacobian of x + layer(x)")
    check.equal(
        check.call(torch.ones(4, 4)), torch.ones(4, 4) + torch.eye(4), "should work in float32"
    )
# END HIDDEN TESTS


# %% [markdown]
# So with no norm on the stream, as in pre-norm, the Jacobian of $n$ blocks is the product $(I + J_n) \cdots (I + J_2)(I + J_1)$. Here $J_i$ is that of a whole branch, its norm included. Multiply it out: one term is $I$, the path around all branches. Without $x$ added, only $J_n \cdots J_1$ remains. In post-norm, norms stand between the factors, and no term is $I$.
#
# But the other terms can cancel $I$, or grow far beyond it. (**A good place to stop.**)

# %% [markdown]
# ## 7 · Forty blocks: switch off one part at a time
#
# Each block contains two matrices with a ReLU between them. Without the ReLU, the two would collapse into one. Around them stand a norm, a residual connection, both or neither.


# %% folded=true
# Builds the blocks of this experiment, for several runs at once. Click to unfold.
class TwoLayers(nn.Module):
    """Two matrices with a ReLU between them, one pair for each run: the runs share nothing.

    x (runs, tokens, width) -> (runs, tokens, width).
    """

    def __init__(self, runs: int, width: int, relu: bool = True, orthogonal: bool = False) -> None:
        super().__init__()
        matrices = torch.randn(2, runs, width, width) / width**0.5
        self.matrices = nn.Parameter(torch.linalg.qr(matrices)[0] if orthogonal else matrices)
        self.relu = relu

    def forward(self, x: Tensor) -> Tensor:
        first, second = self.matrices.unbind()
        hidden = x @ first
        return (hidden.relu() if self.relu else hidden) @ second


class Partial(nn.Module):
    """keep · x + scale · layer(norm(x)): with keep 0 there is no residual connection."""

    def __init__(
        self,
        layer: nn.Module,
        norm: nn.Module | None = None,
        keep: float = 0.0,
        scale: float = 1.0,
    ) -> None:
        super().__init__()
        self.layer, self.norm, self.keep, self.scale = layer, norm or nn.Identity(), keep, scale

    def forward(self, x: Tensor) -> Tensor:
        branch = self.scale * self.layer(self.norm(x))
        return self.keep * x + branch if self.keep else branch


# %%
blocks = {
    "neither": lambda runs, width: Partial(TwoLayers(runs, width)),
    "norm only": lambda runs, width: Partial(TwoLayers(runs, width), norm=LayerNorm(width)),
    "residual only": lambda runs, width: Partial(TwoLayers(runs, width), keep=1.0),
    "both, pre-norm": lambda runs, width: Residual(TwoLayers(runs, width), width, norm_first=True),
    "both, post-norm": lambda runs, width: Residual(
        TwoLayers(runs, width), width, norm_first=False
    ),
}

# %% [markdown]
# First the gradient, before any training. Feed in a random gradient at the top of the stack. How long is it when it arrives at the bottom?
#
# **Predict.** Take *neither*. A ReLU blocks about half of the entries, so each block halves the *squared* length of the gradient. (The matrices preserve it on average.) What is left of its length after 64 blocks?
#
# <details><summary>About 1 / 2<sup>64</sup></summary>That is left of the squared length. Take the root.</details>
# <details><summary>About 1 / 2<sup>32</sup>, or 2 · 10<sup>−10</sup></summary>Yes: a factor of √½, 64 times.</details>
# <details><summary>About 1 / 128</summary>Blocks multiply, as layers do: the factor comes in 64 times.</details>


# %%
def arriving(name: str, depth: int) -> Tensor:
    """The length of the gradient at the bottom, divided by that at the top, in 5 runs."""
    torch.manual_seed(0)
    stack = nn.Sequential(*(blocks[name](5, 64) for _ in range(depth)))
    x = torch.randn(5, 50, 64, requires_grad=True)
    at_top = torch.randn(5, 50, 64)
    (at_bottom,) = torch.autograd.grad(stack(x), x, at_top)
    return at_bottom.norm(dim=(1, 2)) / at_top.norm(dim=(1, 2))


torch.set_num_threads(1)  # the fastest, for networks as small as these
depths = [1, 2, 4, 8, 16, 32, 64]
gradients = {
    name: torch.stack([arriving(name, depth) for depth in depths], dim=1).tolist()
    for name in list(blocks)
}
figures.curves(
    depths,
    gradients,
    x="depth: number of blocks",
    y="gradient at the bottom, for 1 at the top",
    title="How much of the gradient arrives (5 runs: mean and range)",
    logarithmic="xy",
)

# %% [markdown]
# What to see: *neither* ends near $10^{-10}$, as predicted. With *residual only*, the squared length gets 1 from $x$ and ½ from the branch. So each block multiplies the length by √1.5, and 64 blocks by 430,000. With norms, the gradient stays within a factor of about twenty. A layer changes the lengths of tokens and of gradients by similar factors. The norm divides both by the same number, the token's standard deviation.
#
# So norms keep the *size*. Is size all that matters? Train networks of 40 blocks on the digits: 1,437 for training, 360 held out. Only the matrices learn: gains stay 1, biases 0.
#
# **Predict.** *Neither* reads the fewest held-out digits. Which setting reads the second fewest?
#
# <details><summary>Norm only</summary>Yes, and by a wide margin. A gradient of a good size is not yet a useful gradient. The rest of this part looks for the reason.</details>
# <details><summary>Residual only</summary>Its gradients are very large at the start, but Adam divides each gradient by its own recent size, so that does less harm. It reads more digits than <em>norm only</em>.</details>
# <details><summary>Both, post-norm</summary>At the right learning rate, it reads more than half of the digits.</details>

# %% folded=true
# Splits the digits, and trains a stack of 40 blocks at three learning rates. Click to unfold.
order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))
pixels = torch.tensor(images / 16, dtype=torch.float32)[order]
digits = torch.tensor(labels)[order]
held_out, training = slice(0, 360), slice(360, None)
RATES, SEEDS, DEPTH, WIDTH = (0.0001, 0.001, 0.003), 3, 40, 32


def train(block) -> tuple[Tensor, Tensor]:
    """Train 120 steps with Adam: mean of the last 20 losses, and held-out accuracy, (rate, seed).

    All runs of a setting train side by side. Only the matrices learn: gains stay 1, biases 0.
    """
    torch.manual_seed(0)
    runs = len(RATES) * SEEDS
    stack = nn.Sequential(*(block(runs, WIDTH) for _ in range(DEPTH)))
    first = nn.Parameter(torch.randn(runs, 64, WIDTH) / 64**0.5)
    last = nn.Parameter(torch.randn(runs, WIDTH, 10) / WIDTH**0.5)
    matrices = [first, last, *(part for part in stack.parameters() if part.dim() > 2)]
    optimizer = torch.optim.Adam(matrices, lr=max(RATES), fused=True)
    # Adam's step is proportional to its rate: each run takes its share of the largest step
    share = torch.tensor(RATES).repeat_interleave(SEEDS)[:, None, None] / max(RATES)
    losses = []
    for _ in range(120):
        chosen = torch.randint(360, len(pixels), (32,))
        logits = stack(pixels[chosen] @ first) @ last
        loss = F.cross_entropy(logits.flatten(0, 1), digits[chosen].repeat(runs), reduction="none")
        optimizer.zero_grad()
        (loss.sum() / 32).backward()
        before = [matrix.detach().clone() for matrix in matrices]
        optimizer.step()
        with torch.no_grad():
            for matrix, old in zip(matrices, before, strict=True):
                matrix.lerp_(old, 1 - share)
        losses.append(loss.detach().view(len(RATES), SEEDS, 32).mean(-1))
    with torch.no_grad():
        read = (stack(pixels[held_out] @ first) @ last).argmax(-1)
    right = (read == digits[held_out]).float().mean(-1)
    return torch.stack(losses[-20:]).mean(0), right.view(len(RATES), SEEDS)


# %%
@cache
def accuracy(name: str) -> list[float]:
    """Held-out accuracy of each seed, at the rate with the lowest training loss.

    Trains a setting when you first ask for it, and prints the mean accuracy at each rate.
    """
    losses, accuracies = train(blocks[name])
    chosen = int(losses.mean(-1).argmin())
    by_rate = "   ".join(
        f"{rate:g}: {mean:4.0%}"
        for rate, mean in zip(RATES, accuracies.mean(-1).tolist(), strict=True)
    )
    print(f"{name:26} {by_rate}   chosen: {RATES[chosen]:g}")
    return accuracies[chosen].tolist()


print("mean held-out accuracy of 3 seeds, at each learning rate")
five_settings = ["neither", "norm only", "residual only", "both, pre-norm", "both, post-norm"]
figures.runs(
    {name: accuracy(name) for name in five_settings},
    "held-out accuracy",
    "Forty blocks, each setting at the chosen one of three learning rates",
)

# %% [markdown]
# What to see: *norm only* reads about two digits in ten at the smallest rate, and only guesses at the others. At their chosen rates, *residual only* and post-norm read more than half, pre-norm about nine in ten.
#
# The *training* loss chooses the rate. The held-out digits only measure the result, so the chosen rate need not be the best one for them.
#
# <details><summary>Would other rates help <em>norm only</em>?</summary>Rates of 0.00003 and 0.01 do not. To see, add them to <code>RATES</code> in the folded cell, then run that cell and the next one again. All runs then start from other random numbers, so undo this, and run both again, before you go on.</details>
# <details><summary>The slide says of pre-norm: "can use larger learning rate". Does the table agree?</summary>For this task, yes. Pre-norm learns at all three rates, post-norm fails at the largest one. Lesson 7 measures both in whole Transformers.</details>

# %% [markdown]
# ### Why does the norm alone fail?
#
# A popular explanation: after so many layers, all inputs have become *alike*. Measure it before training, by the mean |cosine| between the vectors of different images. 1 means that all lie on one line. No pixel is negative, so it starts near 0.67.


# %%
@torch.no_grad()
def similarity(name: str) -> list[list[float]]:
    """Mean |cosine| between 100 images after every fifth block, in 5 runs."""
    torch.manual_seed(0)
    x = pixels[:100] @ (torch.randn(5, 64, WIDTH) / 64**0.5)
    measured = []
    for depth in range(0, DEPTH + 1):
        x = blocks[name](5, WIDTH)(x) if depth else x
        if depth % 5 == 0:
            unit = F.normalize(x, dim=-1)
            pairs = (unit @ unit.mT).abs().sum((1, 2)) - 100  # less each image with itself
            measured.append(pairs / (100 * 99))
    return torch.stack(measured, dim=1).tolist()


def draw_similarity(names: list[str]) -> None:
    figures.curves(
        list(range(0, DEPTH + 1, 5)),
        {name: similarity(name) for name in names},
        x="depth: number of blocks",
        y="mean |cosine similarity|",
        title="Do the images become alike? (5 runs: mean and range)",
        bottom=0,
    )


draw_similarity(["norm only", "residual only", "both, pre-norm"])

# %% [markdown]
# What to see: with *norm only*, all images lie on nearly the same line. *Residual only* ends at about 0.96, pre-norm at about 0.85. (A cosine of 0.997 is an angle of about 4°, 0.96 one of about 16°.) The less alike the images, the more digits a setting reads: so far, the popular explanation fits.
#
# But three settings are few. What makes the images alike? Two suspects: a ReLU returns no negative number, and a random matrix stretches some directions and shrinks others. An **orthogonal matrix** rotates or reflects vectors and stretches no direction: it is the control. (Training then changes it.)
#
# **Predict.** The norm alone again. Which change keeps the images as different as they were?
#
# <details><summary>No ReLU</summary>It helps, but many random matrices in a row still favour a few directions.</details>
# <details><summary>Orthogonal matrices</summary>Alone, they change almost nothing: the ReLU remains.</details>
# <details><summary>Only the two together</summary>Yes. The figure shows each change by itself, then both.</details>

# %%
blocks["norm, orthogonal"] = lambda runs, width: Partial(
    TwoLayers(runs, width, orthogonal=True), norm=LayerNorm(width)
)
blocks["norm, no ReLU"] = lambda runs, width: Partial(
    TwoLayers(runs, width, relu=False), norm=LayerNorm(width)
)
blocks["norm, no ReLU, orthogonal"] = lambda runs, width: Partial(
    TwoLayers(runs, width, relu=False, orthogonal=True), norm=LayerNorm(width)
)

changed = ["norm, orthogonal", "norm, no ReLU", "norm, no ReLU, orthogonal"]
draw_similarity(["norm only", *changed])

# %% [markdown]
# What to see: orthogonal matrices alone change almost nothing. Without the ReLU, the mean rises later, and the runs differ widely. With both changes, the mean stays where it was.
#
# What about the way down: do the *gradients* become alike? Feed in 50 random gradients at the top (mean |cosine| about 0.14) and compare them at the bottom.


# %%
def gradient_similarity(name: str) -> list[float]:
    """Mean |cosine| between 50 gradients that arrive at the bottom for one image, in 5 runs."""
    torch.manual_seed(0)
    x = (pixels[:1] @ torch.randn(5, 64, WIDTH) / 64**0.5).repeat(1, 50, 1).requires_grad_()
    stack = nn.Sequential(*(blocks[name](5, WIDTH) for _ in range(DEPTH)))
    (at_bottom,) = torch.autograd.grad(stack(x), x, torch.randn(5, 50, WIDTH))
    unit = F.normalize(at_bottom, dim=-1)
    pairs = (unit @ unit.mT).abs().sum((1, 2)) - 50  # less each gradient with itself
    return (pairs / (50 * 49)).tolist()


figures.runs(
    {
        name: gradient_similarity(name)
        for name in ["norm only", *changed, "residual only", "both, pre-norm"]
    },
    "mean |cosine similarity|",
    "Do the gradients become alike? (at the bottom of 40 blocks, 5 runs)",
)

# %% [markdown]
# What to see: with *norm only*, the gradients become alike. Whatever error the top reports, nearly the same direction, or its opposite, arrives at the bottom. Each change alone helps somewhat. With both changes, the gradients stay different. With residual connections, they are less alike than with *norm only*, most clearly in pre-norm.
#
# **Predict.** Train the norm alone with each change, then with both. Which comes close to *both, pre-norm*?
#
# <details><summary>Norm, no ReLU</summary>Its runs differ widely, and none comes close.</details>
# <details><summary>Only the one with both changes</summary>Yes, without any residual connection.</details>
# <details><summary>None: the residual connection is missing</summary>In one of them, forty blocks make the inputs no more alike than they were (0.66), and the gradients hardly so (0.22). It comes close.</details>
#
# **Predict.** The control, *no blocks*, leaves out all forty. Only the first and the last matrix remain: a linear model. How many digits does it read?
#
# <details><summary>About as few as <em>norm only</em></summary><em>Norm only</em> has a first and a last matrix too. But here nothing between them makes inputs or gradients alike.</details>
# <details><summary>About as many as <em>both, pre-norm</em></summary>Yes: about 92 %. A linear model can read most of these digits.</details>

# %%
# the control: no block changes x, so only the first and the last matrix learn
blocks["no blocks"] = lambda runs, width: nn.Identity()

figures.runs(
    {name: accuracy(name) for name in ["norm only", *changed, "both, pre-norm", "no blocks"]},
    "held-out accuracy",
    "Forty blocks: the norm alone, with one change or both",
)

# %% [markdown]
# What to see: only with both changes does the norm alone come close to *both, pre-norm*. (Then only the norm is nonlinear.) A norm sets the size. It keeps neither inputs nor gradients apart.
#
# As *no blocks* shows, these digits hardly need depth. So far, you see what blocks spoil.
#
# <details><summary>Do alike images explain everything?</summary>No. Compare <em>norm, no ReLU</em> with <em>residual only</em>: its images are less alike (0.81 against 0.96), yet it reads fewer digits. Its gradients are more alike (0.86 against 0.62).</details>

# %% [markdown]
# ### Why add $x$?
#
# With $x$ added, ReLU and random matrices can stay. A factor $I + J$ keeps directions apart if $J$ is small.
#
# Then why did *residual only* read fewer digits than pre-norm? Two suspects: the *scale* of the stream, which grows by √1.5 in each block, and the *share* of each branch, its length beside that of $x$. One control fixes the scale alone; in the other, the share is small too.

# %%
# the sum x + f(x), divided by √1.5: the scale stays, and so does the share of the branch
blocks["residual, fixed scale"] = lambda runs, width: Partial(
    TwoLayers(runs, width), keep=1.5**-0.5, scale=1.5**-0.5
)
# x + f(x) / √40: the scale hardly grows, and the share of the branch is small
blocks["residual, small branch"] = lambda runs, width: Partial(
    TwoLayers(runs, width), keep=1.0, scale=DEPTH**-0.5
)

# %% [markdown]
# **Predict.** Measure the share in every block of four networks: *residual only*, the two controls and pre-norm. Which share falls from block to block?
#
# <details><summary>Residual only</summary>The stream grows, and with it what each branch receives and returns. The share stays.</details>
# <details><summary>Small branch</summary>Its share is small from the first block on, and stays so.</details>
# <details><summary>Both, pre-norm</summary>Yes: the stream grows, and the branches do not.</details>


# %%
@torch.no_grad()
def relative_change(name: str) -> list[list[float]]:
    """The share: the length of the branch, divided by that of x, in every block of 5 runs."""
    torch.manual_seed(0)
    x = pixels[:100] @ (torch.randn(5, 64, WIDTH) / 64**0.5)
    measured = []
    for _ in range(DEPTH):
        block = blocks[name](5, WIDTH)
        after = block(x)
        branch = after / getattr(block, "keep", 1.0) - x  # undo the factor of both
        measured.append(branch.norm(dim=(1, 2)) / x.norm(dim=(1, 2)))
        x = after
    return torch.stack(measured, dim=1).tolist()


controls = ["residual only", "residual, fixed scale", "residual, small branch"]
figures.curves(
    list(range(1, DEPTH + 1)),
    {name: relative_change(name) for name in [*controls, "both, pre-norm"]},
    x="block",
    y="length of the branch, for an x of length 1",
    title="The share of each branch (5 runs: mean and range)",
)

# %% [markdown]
# What to see: in pre-norm, the share starts large, then becomes small by itself: the norm gives every branch an input of the same size, while the stream grows. Fixing the scale alone leaves the share as it was: its line lies on that of *residual only*.
#
# **Predict.** Which control reads about as many digits as pre-norm?
#
# <details><summary>Both of them</summary>Then a large scale would be the whole trouble. But with the scale fixed, most of the gap to pre-norm remains.</details>
# <details><summary>Fixed scale only</summary>It stays well below pre-norm: the share of each branch is still large.</details>
# <details><summary>Small branch only</summary>Yes. On this task, a single constant can replace forty norms.</details>

# %%
figures.runs(
    {name: accuracy(name) for name in [*controls, "both, pre-norm"]},
    "held-out accuracy",
    "Forty blocks with residual connections: scale or share?",
)
for name in [*controls, "both, pre-norm"]:
    print(f"{name:26} mean |cosine| of its gradients: {sum(gradient_similarity(name)) / 5:.2f}")

# %% [markdown]
# What to see: a fixed scale closes at most a part of the gap. On average it reads more digits than *residual only*, but the runs overlap, and at the rate 0.003 it reads fewer. The small branch reads about 95 %, more than pre-norm (about 91 %) and *no blocks* (about 92 %). Its gradients are least alike. A norm is not the only way. But the constant depends on the depth; pre-norm needs none.
#
# <details><summary>Why is the cosine the same with and without the fixed scale?</summary>Before training, the two networks differ only by a constant factor, √1.5 for each block. It changes the length of a gradient, not its direction.</details>
#
# De and Smith found the same effect of batch norm on the share of the branch (*Batch Normalization Biases Residual Blocks Towards the Identity Function in Deep Networks*, 2020).

# %% [markdown]
# ## 8 · The real thing
#
# PyTorch has all three norms. Give them your inputs, and the same gain and bias.

# %%
some_tokens = 3 * numbers(2, 5, 6, seed=3) + 1
theirs = nn.LayerNorm(6).double()
with torch.no_grad():
    theirs.weight.copy_(numbers(6, seed=1))
    theirs.bias.copy_(numbers(6, seed=2))
mine = LayerNorm(6).double()
with torch.no_grad():
    mine.gain.copy_(theirs.weight)
    mine.bias.copy_(theirs.bias)
print(f"LayerNorm: largest difference {(mine(some_tokens) - theirs(some_tokens)).abs().max():.1e}")

of_torch = nn.RMSNorm(6, eps=1e-6).double()
with torch.no_grad():
    of_torch.weight.copy_(theirs.weight)
difference = rms_norm(some_tokens, theirs.weight, 1e-6) - of_torch(some_tokens)
print(f"rms_norm: largest difference {difference.abs().max():.1e}")

# %%
whole_batch = nn.BatchNorm1d(6).double()  # takes (tokens, channels): here the real tokens
with torch.no_grad():
    whole_batch.weight.copy_(theirs.weight)
    whole_batch.bias.copy_(theirs.bias)
some_lengths = torch.tensor([5, 2])
is_real = torch.arange(5) < some_lengths[:, None]
by_mine = batch_norm(some_tokens, some_lengths, theirs.weight, theirs.bias)
difference = by_mine[is_real] - whole_batch(some_tokens[is_real])
print(f"batch_norm: largest difference {difference.abs().max():.1e}")

# %% [markdown]
# Differences around 1e-15 are rounding.
#
# Transformers differ in the norm and its position. The first Transformer and BERT use layer norm in post-norm position. GPT-2 and the Vision Transformer use it in pre-norm position, Llama uses RMS norm there. (The pre-norm ones add a final norm: lesson 7.)

# %% [markdown]
# ## 9 · In your own words
#
# **Question** (5 minutes). A friend builds a translator with batch norm. In test batches of 64 sentences, it works well. In the app, the same sentences arrive one at a time and get different, worse translations. (Mean and variance come from the current batch, as in your function.) What happens, and why would layer norm not do this? Double-click the cell below and write two or three sentences. A person reads them.

# %% answer alone_in_the_app [markdown] points=2
# <!-- BEGIN SOLUTION -->
# Batch norm's mean and variance come from all tokens of all sequences in the batch, so the result for a sentence depends on the rest of the batch. Alone, it is normalised with the statistics of its own few tokens, which differ from those that the model saw in training (and with padding included, they depend on that too). Layer norm takes mean and variance from the features of one token, so no other token or sequence takes part: the result is the same in any batch, of any size.
# <!-- END SOLUTION -->


# %% [markdown]
# ## Where you stand

# %%
from transformer_course.progress import show_progress

show_progress("04_layer_norm")

# %% [markdown]
# - Layers *multiply*: 10 % off, and after fifty layers the features are about 100 times too large, or 200 times too small.
# - Layer norm: each token minus its mean, over √(variance + eps), then gain and bias. RMS norm drops mean and bias. In training, batch norm depends on the rest of the batch.
# - Eps counts for tokens with a standard deviation near √eps or below. It limits their gradient to about 1 / √eps.
# - A test is good if wrong versions fail it and all right ones pass. Try it on both.
# - A residual connection computes $x + f(x)$. Its Jacobian is $I + J$, not 1. Pre-norm keeps the residual stream free of norms.
# - In forty blocks, the norm alone kept the size of the gradients, but they became alike, and the networks hardly learned (except without ReLU and with orthogonal matrices). With $x$ added, they learned. They learned best where most branches changed the stream little. A linear model without blocks did about as well as pre-norm: on these digits, depth itself brought little.
#
# **What is next.** Now you can stack layers, and a large model can memorise its training examples. How do you make it generalise? Lesson 5 starts there, with dropout.
