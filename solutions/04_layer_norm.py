# %% [markdown]
# # Lesson 4 · Layer norm and residuals
#
# **You build** the two things that let layers be stacked: layer norm, which keeps the numbers in range, and the residual connection, which keeps a way open for the gradient. And two relatives: RMS norm and batch norm.
#
# **You need** a little PyTorch (`nn.Module`, `nn.Parameter`), mean and variance, and what a gradient is.
#
# **You take away** `LayerNorm` and `Residual`, a reason for every symbol in them, and the picture of a network of 40 layers that learns, beside three that do not, or hardly.
#
# **Time**: about 85 minutes.

# %% [markdown]
# **How to work**, as in lesson 1: read, predict, run, cell by cell. Nothing from earlier lessons is imported: this notebook runs alone.

# %% given imports
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import Tensor, nn
from transformer_course import figures
from transformer_course.checks import Check, numbers

# %% [markdown]
# ## 1 · Fifty layers deep
#
# Attention is built. But one layer gathers little: lesson 1 needed two to find out who was tired, and real models stack dozens. What happens to the numbers on such a long way?
#
# Try it with the plainest layer there is: a matrix of random numbers. Its numbers are chosen so that a layer keeps the size of a word (the standard deviation of its features) on average. Then do it again with all numbers of the matrices 10 % smaller, and 10 % larger.
#
# **Predict.** With numbers 10 % too large, by how much has a word grown after 50 layers?
#
# <details><summary>By 10 %</summary>That is what one layer does. The next one takes this as its input, and adds its own 10 %.</details>
# <details><summary>5 times</summary>That would be 50 times 10 %, added up. Layers multiply.</details>
# <details><summary>More than 100 times</summary>Yes: each layer multiplies by 1.1, and 1.1 to the power of 50 is 117.</details>


# %%
def sizes_along(factor: float, between_layers) -> list[float]:
    """Send words through 50 random layers; their standard deviation after every fifth."""
    generator = torch.Generator().manual_seed(0)
    words = torch.randn(20, 256, generator=generator)
    sizes = []
    for layer in range(50):
        matrix = torch.randn(256, 256, generator=generator) * factor / 256**0.5
        words = between_layers(words @ matrix)
        if layer % 5 == 4:
            sizes.append(words.std().item())
    return sizes


every_fifth = list(range(5, 51, 5))
untouched = {
    f"numbers × {factor:g}": sizes_along(factor, lambda words: words) for factor in (1.1, 1.0, 0.9)
}
for name, sizes in untouched.items():
    print(f"{name}: standard deviation {sizes[-1]:.3g} after 50 layers")
figures.curves(
    every_fifth,
    untouched,
    x="layer",
    y="standard deviation of a word's features",
    title="Layers multiply",
    logarithmic="y",
)

# %% [markdown]
# What to see: 10 % is the whole difference between a word that fades away and one that explodes. (The axis is logarithmic: equal steps on it are equal factors.) And the numbers in the matrices are **learned**: nobody can promise that they keep the size to one percent.
#
# So do not hope. After each layer, put the numbers back into range.

# %% [markdown]
# ## 2 · Layer norm: each word by itself
#
# Take one word, a row of $d$ numbers. **Subtract their mean** and **divide by their standard deviation**. Whatever came in, what goes out has mean 0 and standard deviation 1.

# %%
figures.steps(
    {
        "a word": ([[5.0, 1.0, 5.0, 1.0], [6.0, 0.0, 0.0, -2.0]], "feature", "1234"),
        "less its mean, 3 or 1": ([[2.0, -2.0, 2.0, -2.0], [5.0, -1, -1, -3.0]], "feature", "1234"),
        "÷ its deviation, 2 or 3": (
            [[1.0, -1.0, 1.0, -1.0], [5 / 3, -1 / 3, -1 / 3, -1.0]],
            "feature",
            "1234",
        ),
    },
    "word",
    ["one", "two"],
)

# %% [markdown]
# With $x_j$ the features of one word:
#
# $$\mu = \frac{1}{d} \sum_{j=1}^{d} x_j \qquad \sigma^2 = \frac{1}{d} \sum_{j=1}^{d} (x_j - \mu)^2 \qquad y_j = \gamma_j\, \frac{x_j - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta_j$$
#
# (Ba, Kiros and Hinton, *Layer Normalization*, 2016.) $\mu$ is the mean, $\sigma^2$ the variance: the mean of the squared deviations, with $d$ below the line and not $d - 1$. Two things are new:
#
# - $\epsilon$ (**eps**), a small number such as 0.00001, keeps the root away from zero: a word whose features are all equal has the variance 0.
# - $\gamma$ (**gain**) and $\beta$ (**bias**) have one number for each feature, and are learned. They give back what the norm took: if some feature had better be large, the model can make it large. They are the same for all words.
#
# **Predict.** You multiply all features of a word by 10, and add 3. What becomes of its normalised numbers?
#
# <details><summary>10 times as large, plus 3</summary>The mean has been multiplied and shifted too, and you subtract it. The deviation has grown by 10, and you divide by it.</details>
# <details><summary>10 times as large</summary>The 3 goes with the mean. But the standard deviation also grew by 10.</details>
# <details><summary>They stay as they are</summary>Yes (up to eps). This is what a norm is for: the layers before it may have made the word ten times too large, and nobody behind it will notice.</details>

# %% [markdown]
# **Exercise** (10 minutes). Write it. You get words in any number of axes; the features are the **last** one.
#
# <details><summary>Hint 1</summary>Three lines: the mean, the variance, the formula. <code>keepdim=True</code> keeps an axis of size 1, so that a word's mean lines up with its features.</details>
# <details><summary>Hint 2</summary><code>Tensor.var</code> divides by d − 1 unless you tell it not to (<code>correction=0</code>). Or take the mean of the squared deviations: then there is nothing to tell.</details>


# %% exercise layer_norm
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    """Normalise each word, the numbers along the last axis, to mean 0 and variance 1.

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
hint = "each word: less its mean, divided by its standard deviation, times gain, plus bias"
with Check("layer_norm", "two words you can do by hand", hint) as check:
    # means 3 and 1, standard deviations 2 and 3; eps is 0 here, to keep the numbers round
    x = torch.tensor([[5.0, 1.0, 5.0, 1.0], [6.0, 0.0, 0.0, -2.0]], dtype=torch.float64)
    gain = torch.tensor([3.0, 6.0, 9.0, 12.0], dtype=torch.float64)
    bias = torch.tensor([1.0, 0.0, -1.0, 2.0], dtype=torch.float64)
    output = check.call(x, gain, bias, eps=0.0)
    check.shape(output, words=2, d_model=4)
    check.equal(
        output,
        torch.tensor([[4.0, -6.0, 8.0, -10.0], [6.0, -2.0, -4.0, -10.0]], dtype=torch.float64),
        "normalised, the first word is [1, -1, 1, -1], then times gain, plus bias",
    )
with Check("layer_norm", "each word by itself", hint) as check:
    x = numbers(2, 3, 5, scale=3.0) + 2
    gain, bias = torch.ones(5, dtype=torch.float64), torch.zeros(5, dtype=torch.float64)
    output = check.call(x, gain, bias)
    check.shape(output, batch=2, length=3, d_model=5)
    nothing = torch.zeros(2, 3, dtype=torch.float64)
    check.equal(output.mean(-1), nothing, "without gain and bias, every word has the mean 0")
    alone = check.call(x[1, 2], gain, bias)
    check.equal(output[1, 2], alone, "a word gives the same in a batch as it gives alone")
with Check("layer_norm", "a gradient") as check:
    x = numbers(2, 5, scale=2.0).requires_grad_()
    gain, bias = numbers(5, seed=1), numbers(5, seed=2)
    output = check.call(x, gain, bias, eps=0.0)
    slope = check.gradient(output[:, 0], x)
    check.equal(
        slope.sum(-1),
        torch.zeros(2, dtype=torch.float64),
        "the same added to all features changes nothing, so the gradient of a word sums to 0",
        hint="every step must be a torch operation on the x you are given, the mean too",
    )
    check.equal(
        (slope * x).sum(-1).detach(),
        torch.zeros(2, dtype=torch.float64),
        "twice as large a word gives the same, so along the word itself the gradient is 0",
        hint="every step must be a torch operation on the x you are given, the variance too",
    )
# BEGIN HIDDEN TESTS
with Check("layer_norm", "equal to PyTorch's, at several scales") as check:
    for shape in ((6,), (4, 6), (2, 3, 6), (2, 3, 5, 6), (6, 6), (6, 6, 6)):
        for scale, dtype in ((0.3, torch.float64), (7.0, torch.float64), (2.0, torch.float32)):
            x = numbers(*shape, seed=3, scale=scale, dtype=dtype) + 1
            gain, bias = numbers(6, seed=4, dtype=dtype), numbers(6, seed=5, dtype=dtype)
            expected = F.layer_norm(x, (6,), gain, bias)
            check.equal(check.call(x, gain, bias), expected, "PyTorch's layer norm")
            expected = F.layer_norm(x, (6,), 50 * gain, bias)
            check.equal(check.call(x, 50 * gain, bias), expected, "with a large gain")
with Check("layer_norm", "other widths, and a view that is not contiguous") as check:
    for width in (2, 3, 17):
        x = numbers(2, width, 4, seed=6, scale=3.0).transpose(1, 2)
        gain, bias = numbers(width, seed=7), numbers(width, seed=8)
        expected = F.layer_norm(x, (width,), gain, bias)
        check.equal(check.call(x, gain, bias), expected, "PyTorch's layer norm")
with Check("layer_norm", "gradients") as check:
    x = numbers(3, 4, seed=9, scale=2.0).requires_grad_()
    gain, bias = numbers(4, seed=10).requires_grad_(), numbers(4, seed=11).requires_grad_()
    mine = check.call(x, gain, bias)[1].square()
    theirs = F.layer_norm(x, (4,), gain, bias)[1].square()
    for source in (x, gain, bias):
        expected = check.gradient(theirs, source)
        check.equal(check.gradient(mine, source), expected, "PyTorch's gradient")
# END HIDDEN TESTS

# %% [markdown]
# And eps, where it counts:

# %% check layer_norm_eps points=1
with Check("layer_norm", "eps under the root") as check:
    # variances 12 and 32: with eps = 4 the roots are 4 and 6
    x = torch.tensor([[10.0, 2.0, 2.0, 2.0], [8.0, -8.0, 0.0, 0.0]], dtype=torch.float64)
    gain, bias = torch.ones(4, dtype=torch.float64), torch.zeros(4, dtype=torch.float64)
    check.equal(
        check.call(x, gain, bias, eps=4.0),
        torch.tensor([[1.5, -0.5, -0.5, -0.5], [4 / 3, -4 / 3, 0.0, 0.0]], dtype=torch.float64),
        "eps = 4: variances of 12 and 32 divide by √(12 + 4) = 4 and √(32 + 4) = 6",
        hint="add eps to the variance first, then take the root",
    )
with Check("layer_norm", "a word without any variance") as check:
    x = torch.full((2, 3), 7.0, dtype=torch.float64)
    gain, bias = numbers(3), numbers(3, seed=1)
    check.equal(
        check.call(x, gain, bias),
        bias.expand(2, 3),
        "features that are all equal are all mean: what is left is the bias",
        hint="0 / √(0 + eps) is 0",
    )
with Check("layer_norm", "eps, if nobody names it") as check:
    x = torch.tensor([[0.004, -0.004, 0.0, 0.004, -0.004]], dtype=torch.float64)
    gain, bias = torch.ones(5, dtype=torch.float64), torch.zeros(5, dtype=torch.float64)
    check.equal(
        check.call(x, gain, bias),
        check.call(x, gain, bias, 1e-5),
        "without eps, 0.00001 is taken",
        hint="use the argument `eps`, and keep its default",
    )
# BEGIN HIDDEN TESTS
with Check("layer_norm", "PyTorch's, with several eps") as check:
    for eps in (1e-5, 1e-3, 0.5, 4.0):
        for scale in (0.01, 1.0, 5.0):
            x = numbers(3, 7, seed=12, scale=scale)
            gain, bias = numbers(7, seed=13), numbers(7, seed=14)
            expected = F.layer_norm(x, (7,), gain, bias, eps)
            check.equal(check.call(x, gain, bias, eps), expected, "PyTorch's layer norm")
            check.equal(check.call(x, gain, bias, eps=eps), expected, "and with eps by its name")
    x, gain, bias = numbers(3, 7, seed=15, scale=0.003), numbers(7, seed=13), numbers(7, seed=14)
    expected = F.layer_norm(x, (7,), gain, bias)
    check.equal(check.call(x, gain, bias), expected, "and with the default")
# END HIDDEN TESTS

# %% [markdown]
# Now put your function between the fifty layers.

# %%
no_gain, no_bias = torch.ones(256), torch.zeros(256)
with_norm = {
    f"numbers × {factor:g}, with your norm": sizes_along(
        factor, lambda words: layer_norm(words, no_gain, no_bias)
    )
    for factor in (1.1, 0.9)
}
figures.curves(
    every_fifth,
    {name: sizes for name, sizes in untouched.items() if name != "numbers × 1"} | with_norm,
    x="layer",
    y="standard deviation of a word's features",
    title="With and without your layer norm after each layer",
    logarithmic="y",
)

# %% [markdown]
# What to see: with your norm, both lines lie on one another, at 1. How large the matrices are does not matter any more.
#
# **Which numbers share a mean?** In the next view stand numbers that have passed through your layer norm: 3 sentences of 4 tokens, with 5 features (also called *channels*) each. Click a number, or move with the arrow keys: blue is what shares a mean with it, and below you read that mean and its standard deviation.

# %%
from transformer_course.widgets import show_norm_axes

of_five = torch.ones(5, dtype=torch.float64), torch.zeros(5, dtype=torch.float64)
show_norm_axes(
    x=layer_norm(3 * numbers(3, 4, 5) + 2, *of_five),
    title="after your layer norm: who shares a mean",
)

# %% [markdown]
# What to see: with *layer norm* chosen, every row has the mean 0 and the standard deviation 1, whatever you click. Each token is alone: no other token, no other sentence takes part. Switch to *batch norm*: those columns are not normalised. Part 5 comes to that.

# %% [markdown]
# ### Bug hunt: a slide's layer norm
#
# A lecture slide defines layer norm in three lines:
#
# $$\mu = \sum_{j=1}^{d} x_j \qquad \sigma = \sqrt{\frac{1}{d} \sum_{j=1}^{d} (x_j - \mu)^2} \qquad \text{output} = \frac{x - \mu}{\sqrt{\sigma} + \epsilon} * \gamma + \beta$$
#
# Run it as it stands, on words of several sizes. After a norm, the mean should be 0 and the standard deviation 1.


# %%
def norm_of_the_slide(word: Tensor) -> Tensor:
    """Without γ and β."""
    total = word.sum()
    sigma = (word - total).square().mean().sqrt()
    return (word - total) / (sigma.sqrt() + 1e-5)


balanced = torch.tensor([1.5, 0.5, -0.5, -1.5])  # its mean is 0
balanced = balanced / balanced.std(correction=0)  # and its standard deviation 1
for name, word in {
    "mean 0, deviation 1": balanced,
    "mean 0, deviation 100": 100 * balanced,
    "mean 5, deviation 1": balanced + 5,
}.items():
    after = norm_of_the_slide(word)
    print(f"{name:22} -> mean {after.mean():6.2f}, deviation {after.std(correction=0):5.2f}")

# %% [markdown]
# What to see: on the first word all is well. The second comes out ten times too large: the slide's norm makes large words smaller, but not equal. The third is far off. Compare the formula with yours, symbol by symbol: how many slips do you find?

# %% [markdown]
# **Exercise** (5 minutes). Write what should stand **under the fraction line**, for each word.
#
# <details><summary>Hint</summary>There are three slips. What does a sum still need to be a mean? How often is a root taken on the way to the slide's divisor? And where does your own function add eps?</details>


# %% exercise repaired_divisor
def repaired_divisor(x: Tensor, eps: float) -> Tensor:
    """What each word less its mean is divided by: what the slide means by √σ + ε.

    (…, d_model) -> (…, 1).
    """
    # BEGIN SOLUTION
    variance = x.var(dim=-1, correction=0, keepdim=True)
    return (variance + eps).sqrt()
    # END SOLUTION


# %% check repaired_divisor points=1
with Check("repaired_divisor", "three words you can do by hand") as check:
    x = torch.tensor(
        [[10.0, 2.0, 2.0, 2.0], [8.0, -8.0, 0.0, 0.0], [9.0, 9.0, 9.0, 9.0]], dtype=torch.float64
    )
    divisor = check.call(x, 4.0)
    check.shape(divisor, words=3, one=1)
    check.equal(
        divisor,
        torch.tensor([[4.0], [6.0], [2.0]], dtype=torch.float64),
        "the variances are 12, 32 and 0, and with eps = 4 the divisors are 4, 6 and 2",
        hint="one root in all, taken of the variance plus eps",
    )
# BEGIN HIDDEN TESTS
with Check("repaired_divisor", "other words") as check:
    for shape in ((5,), (2, 7), (3, 4, 6), (3, 3)):
        for eps, scale in ((1e-5, 0.01), (1e-5, 6.0), (0.3, 1.0)):
            x = numbers(*shape, seed=16, scale=scale) + 0.5
            expected = (x.var(-1, correction=0, keepdim=True) + eps).sqrt()
            check.equal(check.call(x, eps), expected, "the root of variance plus eps")
# END HIDDEN TESTS


# %% [markdown]
# How could such a formula stand in code for years? Because of the first word above. Who tests with numbers of mean 0 and deviation 1, and `torch.randn` makes just those, sees nothing wrong.
#
# **Exercise** (5 minutes). Find a word of four numbers, not all zero, that **fools** the test: one for which the slide's formula gives what yours gives, to two decimals. (Not the one above, `[1.34, 0.45, -0.45, -1.34]`, nor the same numbers in another order or with other signs. Simpler ones exist.)
#
# <details><summary>Hint</summary>When is a sum equal to a mean? And which number above zero is its own root?</details>

# %% exercise fooling_word
# fooling_word = [?, ?, ?, ?]      four numbers, to two decimals
# BEGIN SOLUTION
fooling_word = [1.0, -1.0, 1.0, -1.0]
# END SOLUTION

# %% check fooling_word points=1
with Check("fooling_word", "the slide's formula gives what yours gives") as check:
    word = check.value(4)
    check.true(bool((word != 0).any()), "the four numbers are not all zero")
    check.true(
        abs(float(word.sum())) < 0.02,
        "with the slide's μ, the sum of your word, the same is subtracted as with its mean",
        hint="a sum is four times the mean: for which mean is that the same?",
    )
    off = word - word.sum()
    slide, yours = off / (off.square().mean() ** 0.25 + 1e-5), F.layer_norm(word, (4,))
    same = (slide.round(decimals=2) == yours.round(decimals=2)) | ((slide - yours).abs() < 0.005)
    check.true(
        bool(same.all()),
        "√σ of your word is σ itself, so that both formulas agree to two decimals",
        hint="σ is the root of the mean of the squares: what must it be, to be its own root?",
    )
    known = torch.tensor([1.34, 0.45, -0.45, -1.34], dtype=torch.float64)
    differs = not torch.allclose(word.abs().sort().values, known.abs().sort().values, 0.0, 0.006)
    check.true(differs, "your word is another one than the word of the text")
# BEGIN HIDDEN TESTS
with Check("fooling_word", "both formulas, on this word") as check:
    word = check.value(4)
    of_slide = (word - word.sum()).square().mean() ** 0.25 + 1e-5
    right = F.layer_norm(word, (4,))
    check.equal((word - word.sum()) / of_slide, right, "slide and layer norm", within=0.05)
# END HIDDEN TESTS

# %% [markdown]
# Remember it for your own tests: **test at a scale other than 1, and at a mean other than 0**. The grader of this course does.

# %% [markdown]
# ## 3 · A module that learns its gain and bias
#
# What is learned lives in an `nn.Module`. A tensor becomes a learned part of it when you wrap it in `nn.Parameter` and keep it on `self`.
#
# **Predict.** With which values should `gain` and `bias` start?
#
# <details><summary>Random ones, as weights do</summary>Weights start at random so that they differ from one another. Here the features differ already. Random gains would undo the norm before anything is learned.</details>
# <details><summary>0 and 0</summary>A gain of 0 turns every word into the same: zeros. And no gradient comes through it to the layers before.</details>
# <details><summary>1 and 0</summary>Yes: at the start the module only normalises. Whether another gain is better, learning will tell.</details>

# %% [markdown]
# **Exercise** (5 minutes). The names of the two parameters matter: the check loads them by name.
#
# <details><summary>Hint</summary>Make the parameters in <code>__init__</code>, after <code>super().__init__()</code>, and keep eps too. In <code>forward</code>, hand everything to your <code>layer_norm</code>.</details>


# %% exercise LayerNorm
class LayerNorm(nn.Module):
    """Layer norm with a learned gain and bias.

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
hint = "keep gain, bias and eps on self, and hand them to your layer_norm"
with Check("LayerNorm", "two words you can do by hand", hint) as check:
    x = torch.tensor([[10.0, 2.0, 2.0, 2.0], [8.0, -8.0, 0.0, 0.0]], dtype=torch.float64)
    norm = check.build(4, eps=4.0).double()
    check.equal(
        norm.call(x),
        torch.tensor([[1.5, -0.5, -0.5, -0.5], [4 / 3, -4 / 3, 0.0, 0.0]], dtype=torch.float64),
        "a new module only normalises: its gain is 1, its bias 0; here eps is 4",
    )
    shapes = {name: tuple(weight.shape) for name, weight in norm.parameters().items()}
    wrapped = "what is learned is wrapped in nn.Parameter and kept on self"
    check.true(bool(shapes), "it has parameters to learn", wrapped)
    check.true(len(shapes) > 1, "it has two parameters to learn", wrapped)
    check.true(len(shapes) == 2, "it has no third parameter", "only gain and bias are learned")
    check.true(sorted(shapes) == ["bias", "gain"], "its parameters are `gain` and `bias`", wrapped)
    same = shapes == {"gain": (4,), "bias": (4,)}
    check.true(same, "gain and bias have one number for each feature: (d_model,)", wrapped)
    gain = torch.tensor([2.0, 4.0, 6.0, 8.0], dtype=torch.float64)
    bias = torch.tensor([1.0, 0.0, -1.0, 3.0], dtype=torch.float64)
    norm.load({"gain": gain, "bias": bias})
    check.equal(
        norm.call(x),
        torch.tensor([[4.0, -2.0, -4.0, -1.0], [11 / 3, -16 / 3, -1.0, 3.0]], dtype=torch.float64),
        "with a gain and a bias loaded: normalised, times gain, plus bias",
    )
with Check("LayerNorm", "a gradient to both", hint) as check:
    norm = check.build(5).double()
    slopes = norm.gradients(norm.call(numbers(2, 3, 5)).square())
    reached = all(bool(slope.abs().max() > 0) for slope in slopes.values())
    check.true(reached, "a gradient reaches each of them", "use self.gain and self.bias in forward")
with Check("LayerNorm", "eps, if nobody names it") as check:
    x = torch.tensor([[0.004, -0.004, 0.0, 0.004, -0.004]], dtype=torch.float64)
    found = check.build(5).double().call(x)
    named = check.build(5, 1e-5).double().call(x)
    check.equal(found, named, "without eps, 0.00001 is taken", "keep the default of `eps`")
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
            check.equal(norm.call(x).detach(), theirs(x).detach(), "nn.LayerNorm's output")
        x = numbers(4, width, seed=20, scale=2.0)
        slopes = norm.gradients(norm.call(x).square())
        theirs(x).square().sum().backward()
        check.equal(slopes["gain"], torch.as_tensor(theirs.weight.grad), "the gradient of gain")
        check.equal(slopes["bias"], torch.as_tensor(theirs.bias.grad), "the gradient of bias")
with Check("LayerNorm", "a new module, its default eps, float32") as check:
    for dtype, scale in ((torch.float32, 2.0), (torch.float64, 0.003)):
        norm = check.build(6)
        norm = norm.double() if dtype == torch.float64 else norm
        x = numbers(3, 6, seed=21, scale=scale, dtype=dtype)
        check.equal(norm.call(x).detach(), F.layer_norm(x, (6,)), "PyTorch's layer norm")
with Check("LayerNorm", "training and evaluation do not differ; modules share nothing") as check:
    x = numbers(3, 4, seed=22, dtype=torch.float32)
    first, second = check.build(4), check.build(4)
    kept = second.train().call(x).detach()
    first.load({"gain": torch.full((4,), 3.0), "bias": torch.ones(4)})
    check.equal(second.eval().call(x).detach(), kept, "the other module stays as it was")
    check.true(sorted(first.parameters()) == ["bias", "gain"], "gain and bias are learned")
# END HIDDEN TESTS


# %% [markdown]
# ## 4 · RMS norm: half of it is enough
#
# Many of today's large models leave two things out: they subtract no mean, and add no bias. What is left divides a word by its **root mean square**, the root of the mean of its squared features:
#
# $$y_j = \gamma_j\, \frac{x_j}{\sqrt{\frac{1}{d} \sum_{k=1}^{d} x_k^2 + \epsilon}}$$
#
# (Zhang and Sennrich, *Root Mean Square Layer Normalization*, 2019.) It costs less, and it trains as well: what matters most is the size.
#
# **Predict.** For which words do RMS norm and layer norm give the same (with a bias of 0)?
#
# <details><summary>For none</summary>Look for a word from which layer norm has nothing to subtract.</details>
# <details><summary>For words of mean 0</summary>Yes. Then the mean of the squares <em>is</em> the variance, and nothing is subtracted.</details>
# <details><summary>For words of standard deviation 1</summary>The mean square is the variance <em>plus</em> the squared mean. The mean must be 0 as well.</details>

# %% [markdown]
# **Exercise** (3 minutes). Write it.
#
# <details><summary>Hint</summary>Start from your layer norm, and take out what is not in the formula.</details>


# %% exercise rms_norm
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    """Divide each word, the numbers along the last axis, by its root mean square; times gain.

    x (…, d_model), gain (d_model,) -> (…, d_model). eps is added to the mean square, under the
    root.
    """
    # BEGIN SOLUTION
    mean_square = x.square().mean(dim=-1, keepdim=True)
    return gain * x / (mean_square + eps).sqrt()
    # END SOLUTION


# %% check rms_norm points=2
hint = "each word, divided by the root of (the mean of its squares, plus eps), times gain"
with Check("rms_norm", "two words you can do by hand", hint) as check:
    # mean squares 12 and 32: with eps = 4 the roots are 4 and 6
    x = torch.tensor([[6.0, 2.0, 2.0, 2.0], [8.0, -8.0, 0.0, 0.0]], dtype=torch.float64)
    gain = torch.tensor([2.0, 6.0, 4.0, 8.0], dtype=torch.float64)
    output = check.call(x, gain, 4.0)
    check.shape(output, words=2, d_model=4)
    check.equal(
        output,
        torch.tensor([[3.0, 3.0, 2.0, 4.0], [8 / 3, -8.0, 0.0, 0.0]], dtype=torch.float64),
        "mean squares of 12 and 32, with eps = 4, divide by 4 and 6; then times gain",
    )
with Check("rms_norm", "each word by itself", hint) as check:
    x, gain = numbers(2, 3, 5, scale=4.0), torch.ones(5, dtype=torch.float64)
    output = check.call(x, gain, 0.0)
    check.shape(output, batch=2, length=3, d_model=5)
    check.equal(
        output.square().mean(-1),
        torch.ones(2, 3, dtype=torch.float64),
        "without eps and gain, the squares of every word have the mean 1",
    )
with Check("rms_norm", "a gradient") as check:
    x = numbers(2, 5, scale=2.0).requires_grad_()
    output = check.call(x, numbers(5, seed=1), 0.0)
    slope = check.gradient(output[:, 0], x)
    check.equal(
        (slope * x).sum(-1).detach(),
        torch.zeros(2, dtype=torch.float64),
        "twice as large a word gives the same, so along the word itself the gradient is 0",
        hint="every step must be a torch operation on the x you are given",
    )
# BEGIN HIDDEN TESTS
with Check("rms_norm", "equal to PyTorch's") as check:
    for shape in ((6,), (4, 6), (2, 3, 6), (2, 3, 5, 6), (6, 6)):
        for scale, eps in ((0.01, 1e-5), (5.0, 1e-6), (1.0, 0.5)):
            x, gain = numbers(*shape, seed=23, scale=scale) + 0.02, numbers(6, seed=24)
            check.equal(check.call(x, gain, eps), F.rms_norm(x, (6,), gain, eps), "PyTorch's")
with Check("rms_norm", "float32, views, and gradients") as check:
    x = numbers(2, 4, 3, seed=25, dtype=torch.float32).transpose(1, 2)
    gain = numbers(4, seed=26, dtype=torch.float32)
    check.equal(check.call(x, gain, 1e-5), F.rms_norm(x, (4,), gain, 1e-5), "of a view")
    x, gain = numbers(3, 4, seed=27).requires_grad_(), numbers(4, seed=28).requires_grad_()
    mine, theirs = check.call(x, gain, 0.1), F.rms_norm(x, (4,), gain, 0.1)
    for source in (x, gain):
        expected = check.gradient(theirs[1].square(), source)
        check.equal(check.gradient(mine[1].square(), source), expected, "PyTorch's gradient")
# END HIDDEN TESTS


# %% [markdown]
# ## 5 · Batch norm, and why Transformers do not use it
#
# An older norm shares its statistics the other way. It takes one **channel** (one feature) and normalises it over **all tokens of all sequences** of the batch. For $x$ of the shape (batch, length, channels) there is one mean and one variance for each channel:
#
# | | statistics | they belong to |
# |---|---|---|
# | layer norm | (batch, length, 1) | one token, over its features |
# | batch norm | (1, 1, channels) | one feature, over all tokens |
#
# In pictures, with networks for images, it works very well. With sentences it has a problem that you know from lesson 2: **padding**. The short sentences of a batch are filled up, and what fills them is no data. In the formula that a lecture gives for recurrent networks, $\mu$ and $\sigma$ run over the whole batch and the whole length; nothing is said of padding.

# %%
two_sentences = torch.tensor(
    [[[4.0], [6.0], [5.0], [5.0]], [[5.0], [0.0], [0.0], [0.0]]]
)  # one channel; the second sentence has one token, the rest is padding
print(
    f"mean of the five real tokens:   {two_sentences[[0, 0, 0, 0, 1], [0, 1, 2, 3, 0]].mean():.2f}"
)
print(f"mean with the padding counted:  {two_sentences.mean():.2f}")

# %% [markdown]
# **Exercise** (15 minutes). Write batch norm for sentences, with the padding left out of the statistics. (PyTorch's `nn.BatchNorm1d` also keeps a running mean, for later use on single sentences. Leave that out here.)
#
# <details><summary>Hint 1</summary>As in lesson 2: <code>torch.arange(length) &lt; lengths[:, None]</code> is True for the real tokens, with the shape (batch, length).</details>
# <details><summary>Hint 2</summary><code>x[real]</code>, with such a mask, gathers the real tokens as (tokens, channels). Over which axis do the mean and the variance run? What they give has the shape (channels,), which lines up with x by itself.</details>


# %% exercise batch_norm
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    """Normalise each channel over all real tokens of the batch; then times gain, plus bias.

    x (batch, length, channels), gain and bias (channels,) -> (batch, length, channels).
    lengths (batch,): whole numbers, how many tokens of each sequence are real, from 1 to length.
    The others are padding and take no part in mean or variance; in the result any numbers may
    stand in their places, but no NaN. The variance divides by the number of real tokens; eps is
    added to it under the root.
    """
    # BEGIN SOLUTION
    places = torch.arange(x.shape[1], device=x.device)
    real = places < lengths[:, None]  # (batch, length)
    tokens = x[real]  # (tokens, channels)
    mean, variance = tokens.mean(dim=0), tokens.var(dim=0, correction=0)
    return gain * (x - mean) / (variance + eps).sqrt() + bias
    # END SOLUTION


# %% check batch_norm points=2
hint = "one mean and one variance for each channel, over the real tokens of all sequences"
with Check("batch_norm", "four tokens you can do by hand", hint) as check:
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
        "the real tokens: each channel less its mean, divided by 4, 6 and 10, times gain, plus bias",
    )
with Check("batch_norm", "what stands in the padding does not matter", hint) as check:
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
            "with other numbers in the padding, the real tokens come out as before",
        )
with Check("batch_norm", "a gradient", hint) as check:
    x, lengths = numbers(3, 2, 4, scale=2.0).requires_grad_(), torch.tensor([2, 1, 1])
    output = check.call(x, lengths, numbers(4, seed=1), numbers(4, seed=2))
    slope = check.gradient(output[0, 0], x)
    nothing = torch.zeros(4, dtype=torch.float64)
    check.true(not bool(slope.isnan().any()), "the gradient is a number everywhere")
    check.equal(slope[1, 1], nothing, "the gradient of a real token by the padding is 0")
    check.equal(
        slope.sum((0, 1)),
        nothing,
        "the same added to all tokens changes nothing, so the gradient of a channel sums to 0",
        hint="every step must be a torch operation on the x you are given, the mean too",
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
            check.equal(output[real], expected, "PyTorch's batch norm")
with Check("batch_norm", "lengths of another kind of whole numbers, the default eps") as check:
    x, lengths = numbers(3, 4, 5, seed=32, scale=0.003), torch.tensor([2, 4, 3], dtype=torch.int32)
    real = torch.arange(4) < lengths[:, None]
    gain, bias = numbers(5, seed=33), numbers(5, seed=34)
    expected = F.batch_norm(x[real], None, None, gain, bias, True, eps=1e-5)
    check.equal(check.call(x, lengths, gain, bias)[real], expected, "PyTorch's batch norm")
with Check("batch_norm", "a view, and gradients: to the real tokens, not to the padding") as check:
    x = numbers(3, 4, 2, seed=35, scale=2.0).transpose(1, 2).detach().requires_grad_()
    lengths, gain, bias = torch.tensor([1, 2, 2]), numbers(4, seed=36), numbers(4, seed=37)
    gain, bias = gain.requires_grad_(), bias.requires_grad_()
    real = torch.arange(2) < lengths[:, None]
    mine = check.call(x, lengths, gain, bias)[real]
    theirs = F.batch_norm(x[real], None, None, gain, bias, True, eps=1e-5)
    check.equal(mine, theirs, "PyTorch's batch norm")
    for source in (x, gain, bias):
        expected = check.gradient(theirs[:2].square(), source)
        check.equal(check.gradient(mine[:2].square(), source), expected, "PyTorch's gradient")
# END HIDDEN TESTS

# %% [markdown]
# Without padding it must be batch norm all the same:

# %% check batch_norm_full points=1
with Check("batch_norm", "a batch without padding") as check:
    x, lengths = numbers(2, 3, 5, scale=3.0) + 2, torch.tensor([3, 3])
    gain, bias = torch.ones(5, dtype=torch.float64), torch.zeros(5, dtype=torch.float64)
    output = check.call(x, lengths, gain, bias)
    check.shape(output, batch=2, length=3, channels=5)
    check.equal(
        output.mean((0, 1)),
        torch.zeros(5, dtype=torch.float64),
        "without gain and bias, every channel has the mean 0 over all tokens",
        hint="the mean runs over batch and length together",
    )
    check.equal(
        output.square().mean((0, 1)),
        torch.ones(5, dtype=torch.float64),
        "and the variance 1",
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
        check.equal(output, expected.transpose(1, 2), "PyTorch's batch norm")
# END HIDDEN TESTS

# %% [markdown]
# Look at your result. Hatched is padding. Choose *batch norm*: the mean is 0 and the standard deviation 1 only as long as *leave padding out* is ticked.

# %%
many_tokens = torch.tensor([4, 2, 3])
show_norm_axes(
    x=batch_norm(3 * numbers(3, 4, 5) + 2, many_tokens, *of_five),
    lengths=many_tokens.tolist(),
    title="after your batch norm: who shares a mean",
)

# %% [markdown]
# Padding can be left out, as you have just done. But there is another trouble that cannot be mended. Take **one sentence**, and put it into two different batches.

# %%
one_sentence = numbers(1, 4, 5)
companions = {"quiet": numbers(2, 4, 5, seed=1), "loud": 10 * numbers(2, 4, 5, seed=2)}
results: dict[str, list[Tensor]] = {"batch norm": [], "layer norm": []}
for others in companions.values():
    together = torch.cat([one_sentence, others])
    by_batch = batch_norm(together, torch.tensor([4, 4, 4]), *of_five)
    results["batch norm"].append(by_batch[0, :1])
    results["layer norm"].append(layer_norm(together, *of_five)[0, :1])
figures.steps(
    {name: (torch.cat(rows), "feature", "12345") for name, rows in results.items()},
    "companions",
    list(companions),
)
for name, (first, second) in results.items():
    print(f"{name}: the same token differs by up to {(first - second).abs().max():.2f}")

# %% [markdown]
# What to see: these are the numbers of the *same token of the same sentence*. With batch norm they depend on which sentences happen to be in the batch: beside loud ones, it fades. With layer norm they do not. This is why Transformers normalise each token alone: sentences of any length, batches of any size, one sentence at a time, all give the same. A model that writes would even see its own future through batch norm: the mean runs over later tokens too.

# %% [markdown]
# ## 6 · Residuals: add, do not replace
#
# The numbers now stay in range on the way **up** through the layers. Learning sends gradients the way **down**, and each layer multiplies those too. So the second trick: a layer does not replace its input, it **adds** to it. With $f$ the layer (attention, say), the output is $x + f(x)$. This is a **residual connection**: $f$ learns only the rest, what is still missing.
#
# Norm and residual are combined in two ways:
#
# ```
#                ┌──────────────────────────────┐
#  norm first:  x┴── norm ── sublayer ─────────(+)──── out        x + f(norm(x))
#
#                ┌──────────────────────────────┐
#  norm last:   x┴── sublayer ─────────────────(+)──── norm ── out      norm(x + f(x))
# ```
#
# The first Transformer had the norm last. Today's mostly have it first, and part 7 shows a reason.

# %% [markdown]
# **Predict.** In which of the two can $x$ reach the output of a hundred such blocks without passing through a single norm?
#
# <details><summary>Norm first</summary>Yes: follow the upper line. From block to block only additions. Nothing on this way can shrink a gradient.</details>
# <details><summary>Norm last</summary>There the norm stands behind the addition, where both ways have met: nothing gets around it.</details>
# <details><summary>Both</summary>Follow the upper line of "norm last" to its end: does it meet the norm?</details>

# %% [markdown]
# **Exercise** (10 minutes). Wrap any module, the **sublayer**, in a residual connection with a norm.
#
# <details><summary>Hint</summary>Keep the sublayer, a norm of width d_model, and the choice on <code>self</code>. In <code>forward</code>, each choice is one line. What is added is x itself, not its normalised form.</details>


# %% exercise Residual
class Residual(nn.Module):
    """Add to x what a sublayer makes of it, with a layer norm before the sublayer or at the end.

    Parts: `sublayer`, the module that is handed over, and `norm`, a layer norm of width d_model:
    your `LayerNorm` or PyTorch's `nn.LayerNorm`, with its default eps.
    norm_first=True: the norm stands before the sublayer; False: behind the addition.
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
hint = "norm first: x + sublayer(norm(x)); norm last: norm(x + sublayer(x))"
with Check("Residual", "norm first, with a sublayer you can do by hand", hint) as check:
    sending = nn.Linear(4, 4, bias=False).double()
    with torch.no_grad():
        # the second feature of the result is 3 times the first feature, the others are 0
        sending.weight.copy_(torch.tensor([[0.0] * 4, [3.0, 0.0, 0.0, 0.0], [0.0] * 4, [0.0] * 4]))
    # normalised, the words are [1, -1, 1, -1] and [-1, 1, -1, 1]
    x = torch.tensor([[8.0, 2.0, 8.0, 2.0], [0.0, 4.0, 0.0, 4.0]], dtype=torch.float64)
    output = check.build(sending, 4, True).double().call(x)
    check.shape(output, words=2, d_model=4)
    check.equal(
        output,
        torch.tensor([[8.0, 5.0, 8.0, 2.0], [0.0, 1.0, 0.0, 4.0]], dtype=torch.float64),
        "[8, 2, 8, 2] is [1, -1, 1, -1] when normalised; of it the sublayer makes [0, 3, 0, 0], "
        "which is added to [8, 2, 8, 2]",
        within=1e-3,
    )
with Check("Residual", "norm last, with a sublayer you can do by hand", hint) as check:
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
        "norm last: [-1, 3, 1, 1] plus [4, 0, 0, 0] is [3, 3, 1, 1], and then it is normalised",
        within=1e-3,
    )
with Check("Residual", "a batch, and a gradient to every part", hint) as check:
    inner, x = nn.Linear(5, 5).double(), numbers(2, 3, 5, scale=3.0)
    for norm_first in (True, False):
        residual = check.build(inner, 5, norm_first).double()
        output = residual.call(x)
        check.shape(output, batch=2, length=3, d_model=5)
        check.equal(residual.call(x[1]), output[1], "a sequence gives the same as it gives alone")
        slopes = residual.gradients(output.square() * numbers(5, seed=1))
        parts = {name.split(".")[0] for name in slopes}
        check.true("sublayer" in parts, "the sublayer is kept as the part `sublayer`")
        check.true("norm" in parts, "a norm that learns is kept as the part `norm`")
        check.true(len(parts) == 2, "it has no parts but `sublayer` and `norm`")
        check.true(len(slopes) == 4, "`norm` has a gain and a bias, and no part stands twice")
        reached = all(bool(slope.abs().max() > 0) for slope in slopes.values())
        check.true(reached, "a gradient reaches every parameter of both")
with Check("Residual", "the way around", hint) as check:
    silent = nn.Linear(5, 5, bias=False).double()
    with torch.no_grad():
        silent.weight.zero_()
    x = numbers(3, 5, scale=2.0).requires_grad_()
    output = check.build(silent, 5, True).double().call(x)
    check.equal(output, x, "around a sublayer that gives 0, x comes out as it is")
    check.equal(
        check.gradient(output, x),
        torch.ones(3, 5, dtype=torch.float64),
        "and its gradient is 1: it takes the way around",
        hint="what is added is x itself, with all that it hangs on",
    )
# BEGIN HIDDEN TESTS
with Check("Residual", "equal to the formula, both ways") as check:
    for shape, scale in (((5,), 1.0), ((4, 5), 3.0), ((2, 3, 5), 0.2), ((5, 5), 2.0)):
        inner = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 5)).double()
        with torch.no_grad():
            for place, weight in enumerate(inner.parameters()):
                weight.copy_(numbers(*weight.shape, seed=41 + place))
        x = (numbers(*shape, seed=46, scale=scale) + 1).requires_grad_()
        for norm_first in (True, False):
            residual = check.build(inner, 5, norm_first).double()
            names = [name for name in residual.parameters() if name.startswith("norm.")]
            bias = [name for name in names if name.endswith("bias")]
            gain = [name for name in names if not name.endswith("bias")]
            check.true(len(bias) == len(gain) == 1, "`norm` has one gain and one bias")
            fresh = residual.call(x)
            stretch, shift = numbers(5, seed=47), numbers(5, seed=48)
            nothing = torch.ones(5).double(), torch.zeros(5).double()
            residual.load({gain[0]: stretch, bias[0]: shift}, whole=False)
            for output, (g, b) in ((fresh, nothing), (residual.call(x), (stretch, shift))):
                if norm_first:
                    expected = x + inner(F.layer_norm(x, (5,), g, b))
                else:
                    expected = F.layer_norm(x + inner(x), (5,), g, b)
                check.equal(output, expected, f"the formula, with norm_first={norm_first}")
            weighed = numbers(*shape, seed=49)
            slope = check.gradient(output * weighed, x)
            check.equal(slope, check.gradient(expected * weighed, x), "its gradient")
with Check("Residual", "the sublayer itself, not a copy of it; float32; evaluation") as check:
    inner = nn.Linear(6, 6)
    residual = check.build(inner, 6, norm_first=True)
    x = numbers(3, 6, seed=50, dtype=torch.float32)
    expected = (x + inner(F.layer_norm(x, (6,)))).detach()
    check.equal(residual.call(x).detach(), expected, "in float32")
    check.equal(residual.eval().call(x).detach(), expected, "in evaluation")
    with torch.no_grad():
        inner.weight.zero_()
        inner.bias.zero_()
    check.equal(residual.call(x).detach(), x, "a sublayer that gives 0 leaves x as it is")
    plain = F.layer_norm(x, (6,))
    for norm_first, off, on in (
        (True, x, x + plain),
        (False, plain, F.layer_norm(2 * x, (6,))),
    ):
        residual = check.build(nn.Dropout(1.0), 6, norm_first)
        check.equal(residual.train().call(x).detach(), off, "a sublayer in training gives 0")
        check.equal(residual.eval().call(x).detach(), on, "and in evaluation its input")
with Check("Residual", "two of them share no norm") as check:
    first, second = (check.build(nn.Linear(3, 3), 3, False) for _ in range(2))
    kept = second.state()
    zeros = {name: torch.zeros(3) for name in first.parameters() if name.startswith("norm.")}
    first.load(zeros, whole=False)
    for name, weight in second.state().items():
        check.equal(weight, kept[name], f"{name} of the other module")
# END HIDDEN TESTS


# %% [markdown]
# ### Bug hunt: "the gradient is 1"
#
# A lecture slide sets $X^{(i)} = X^{(i-1)} + \text{Layer}(X^{(i-1)})$ and says of the gradient through it that it is 1. Measure it, for three layers that work on a single number.

# %%
for name, layer in {
    "-number": lambda number: -number,
    "3 · number": lambda number: 3 * number,
    "0 · number": lambda number: 0 * number,
}.items():
    number = torch.tensor(2.0, requires_grad=True)
    (slope,) = torch.autograd.grad(number + layer(number), number)
    print(f"Layer(number) = {name:11} gradient of number + Layer(number): {slope:.0f}")

# %% [markdown]
# What to see: it is 1 for a layer that does nothing. A layer that subtracts its input makes it 0, and there the gradient is gone, residual or not. The 1 belongs to one of the two ways alone, the one around the layer.
#
# For words, the gradient is a matrix: the **Jacobian** $J$, which holds in row $i$, column $j$ how much the output $i$ changes with the input $j$.

# %% [markdown]
# **Exercise** (3 minutes). Write what the slide should say.
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
with Check("repaired_gradient", "an example you can do by hand") as check:
    # layer([a, b, c]) = [2a + 5b, 3a - b + 7c, 6b + 4c]
    jacobian = torch.tensor([[2.0, 5.0, 0.0], [3.0, -1.0, 7.0], [0.0, 6.0, 4.0]]).double()
    found = check.call(jacobian)
    check.shape(found, output=3, input=3)
    check.equal(
        found,
        torch.tensor([[3.0, 5.0, 0.0], [3.0, 0.0, 7.0], [0.0, 6.0, 5.0]], dtype=torch.float64),
        "of [2a + 5b, 3a - b + 7c, 6b + 4c], added to [a, b, c], the first is 3a + 5b, and so on",
        hint="only the diagonal changes: input 1 is added to output 1, and to no other",
    )
# BEGIN HIDDEN TESTS
with Check("repaired_gradient", "what autograd finds") as check:
    for width in (1, 3, 6):
        matrix, point = numbers(width, width, seed=51), numbers(width, seed=52)

        def around(x, matrix=matrix):
            return x + (matrix @ x).tanh()

        whole = torch.as_tensor(torch.autograd.functional.jacobian(around, point))
        inner = whole - torch.eye(width, dtype=torch.float64)
        check.equal(check.call(inner), whole, "the Jacobian of x + layer(x)")
    check.equal(check.call(torch.ones(4, 4)), torch.ones(4, 4) + torch.eye(4), "in float32")
# END HIDDEN TESTS


# %% [markdown]
# What is true, then? Through $n$ residual layers the gradient is the product $(I + J_n) \cdots (I + J_2)(I + J_1)$. Multiply it out: one of its terms is $I$ alone, the way around all layers, however many there are. Without residuals only $J_n \cdots J_1$ is left, and a product of small factors dies. But nothing says that $I + J$ cannot grow, and that too you will see now.

# %% [markdown]
# ## 7 · Forty layers: what learns, and what does not
#
# Four networks of the same layers, stacked in four ways: bare, with norms alone, with residuals alone, and with your `Residual`, which has both. First the gradient: some is put in at the top; how much of it arrives at the bottom?


# %%
def one_layer(width: int) -> nn.Sequential:
    """Two linear layers with a ReLU between them: a sublayer of every Transformer."""
    first, last = nn.Linear(width, width), nn.Linear(width, width)
    for linear in (first, last):
        nn.init.xavier_normal_(linear.weight)
        nn.init.zeros_(linear.bias)
    return nn.Sequential(first, nn.ReLU(), last)


class AtMostOne(nn.Module):
    """A layer, with a norm before it, or with a way around it, or bare."""

    def __init__(self, width: int, with_norm: bool = False, around: bool = False) -> None:
        super().__init__()
        self.layer = one_layer(width)
        self.before = LayerNorm(width) if with_norm else nn.Identity()
        self.around = around

    def forward(self, words: Tensor) -> Tensor:
        changed = self.layer(self.before(words))
        return words + changed if self.around else changed


block_of = {
    "bare": lambda width: AtMostOne(width),
    "norm alone": lambda width: AtMostOne(width, with_norm=True),
    "residual alone": lambda width: AtMostOne(width, around=True),
    "both, norm first": lambda width: Residual(one_layer(width), width, norm_first=True),
    "both, norm last": lambda width: Residual(one_layer(width), width, norm_first=False),
}


def arrives(kind: str, depth: int) -> float:
    """The size of the gradient at the bottom, divided by its size at the top."""
    torch.manual_seed(0)
    stack = nn.Sequential(*(block_of[kind](64) for _ in range(depth)))
    words = torch.randn(50, 64, requires_grad=True)
    at_top = torch.randn(50, 64)
    (at_bottom,) = torch.autograd.grad(stack(words), words, at_top)
    return (at_bottom.norm() / at_top.norm()).item()


torch.set_num_threads(1)  # the fastest, for networks as small as these
depths = [1, 2, 4, 8, 16, 32, 64]
four_kinds = list(block_of)[:4]
arriving = {kind: [arrives(kind, depth) for depth in depths] for kind in four_kinds}
for kind, shares in arriving.items():
    print(f"{kind:17} of a gradient of 1, at depth 64 there arrives {shares[-1]:.2g}")
figures.curves(
    depths,
    arriving,
    x="depth: number of layers",
    y="gradient at the bottom, for 1 at the top",
    title="How much of the gradient arrives",
    logarithmic="xy",
)

# %% [markdown]
# What to see: bare, less than a billionth arrives, and the bottom layers learn nothing. With residuals alone it **grows** more than a thousandfold: so much for "the gradient is 1". With norms it stays within a factor of ten or so: each layer sees numbers of the same size.
#
# But the size of a gradient is not yet its use. Does what arrives still say anything? Train networks of 40 layers to read handwritten digits: 8 by 8 pixels, 1,437 to learn from and 360 to be tested on.
#
# **Predict.** Which of the four learns?
#
# <details><summary>All but the bare one</summary>Norm alone keeps the size of the gradient. But every number of it has gone through 40 random matrices, on the way up and on the way down.</details>
# <details><summary>The two with residuals</summary>Yes, though not equally well: run it.</details>
# <details><summary>Only the one with both</summary>Residuals alone begin with a loss in the hundreds or thousands, but there is a way for the gradient, and they get going.</details>


# %%
class Deep(nn.Module):
    """Forty blocks of one kind between pixels and digits."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.read = nn.Linear(64, 32)
        self.blocks = nn.Sequential(*(block_of[kind](32) for _ in range(40)))
        self.decide = nn.Linear(32, 10)

    def forward(self, pixels: Tensor) -> Tensor:
        return self.decide(self.blocks(self.read(pixels)))


images, labels = load_digits(return_X_y=True)
pixels, digits = torch.tensor(images / 16, dtype=torch.float32), torch.tensor(labels)
tested = torch.arange(len(digits)) % 5 == 0


def train(kind: str) -> list[float]:
    """Train 200 steps; print how many new digits are read; the mean loss of each 20 steps."""
    torch.manual_seed(0)
    model = Deep(kind)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
    losses = []
    for _ in range(200):
        chosen = torch.randint(int((~tested).sum()), (64,))
        loss = F.cross_entropy(model(pixels[~tested][chosen]), digits[~tested][chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        right = (model(pixels[tested]).argmax(-1) == digits[tested]).float().mean().item()
    print(f"{kind:17} first loss {losses[0]:6.1f}   last {losses[-1]:5.2f}   {right:.0%} read")
    return torch.tensor(losses).reshape(10, 20).mean(1).tolist()


histories = {kind: train(kind) for kind in block_of}
figures.curves(
    list(range(20, 201, 20)),
    {kind: histories[kind] for kind in four_kinds},
    x="training step",
    y="loss, mean of 20 steps",
    title="Forty layers learn to read digits",
    logarithmic="y",
)

# %% [markdown]
# What to see: without residuals the loss stays at $\ln 10 = 2.3$, which is guessing: one digit in ten. Norms alone do not help (their line hides the bare one). With residuals alone the network starts far out, and spends its steps on coming back. With **both**, it reads about nine of ten, from the same layers, in the same number of steps.
#
# The fifth line of print is the norm **last**: it learns too, here more slowly, for every block's norm stands in the way of the gradient. Lesson 7 measures the two on whole Transformers.

# %% [markdown]
# ## 8 · The real thing
#
# PyTorch has all three norms. Give them your inputs, and your module their weights.

# %%
theirs = nn.LayerNorm(6).double()
mine = LayerNorm(6).double()
with torch.no_grad():
    theirs.weight.copy_(numbers(6, seed=1))
    theirs.bias.copy_(numbers(6, seed=2))
    mine.gain.copy_(theirs.weight)
    mine.bias.copy_(theirs.bias)
some_words = 3 * numbers(2, 5, 6, seed=3) + 1
print(f"LayerNorm: largest difference {(mine(some_words) - theirs(some_words)).abs().max():.1e}")

of_torch = nn.RMSNorm(6, eps=1e-6).double()
with torch.no_grad():
    of_torch.weight.copy_(theirs.weight)
difference = rms_norm(some_words, theirs.weight, 1e-6) - of_torch(some_words)
print(f"rms_norm: largest difference {difference.abs().max():.1e}")

whole_batch = nn.BatchNorm1d(6).double()  # takes (tokens, channels): the real ones, gathered
with torch.no_grad():
    whole_batch.weight.copy_(theirs.weight)
    whole_batch.bias.copy_(theirs.bias)
some_lengths = torch.tensor([5, 2])
is_real = torch.arange(5) < some_lengths[:, None]
by_mine = batch_norm(some_words, some_lengths, theirs.weight, theirs.bias)
difference = by_mine[is_real] - whole_batch(some_words[is_real])
print(f"batch_norm: largest difference {difference.abs().max():.1e}")

# %% [markdown]
# Differences around 1e-15 are rounding. What you wrote stands twice in every block of every Transformer.

# %% [markdown]
# ## 9 · In your own words
#
# **Question.** A friend builds a translator with batch norm. On the test set, in batches of 64, it is good. In the app, where sentences come one at a time, the same sentences come out different and worse. (The friend's batch norm takes its statistics from the batch at hand, as yours does.) What happens, and why would layer norm not do this? Two or three sentences: double-click the cell below and write them there. A person reads them.

# %% answer alone_in_the_app [markdown] points=2
# <!-- BEGIN SOLUTION -->
# Batch norm's mean and variance come from all tokens of all sentences in the batch, so what becomes of a sentence depends on its companions; alone, it is normalised by its own few tokens, with statistics that the model never saw in training (and with padding counted, they depend on that too). Layer norm takes mean and variance from the features of one token, so no other token or sentence plays a part: the result is the same in any batch, of any size.
# <!-- END SOLUTION -->


# %% [markdown]
# ## What you know now
#
# - Layers **multiply**: a few percent too much or too little, and fifty layers explode or fade.
# - **Layer norm**: each token less its mean, divided by √(variance + eps), over its own features; then a learned gain and bias. **RMS norm** leaves out mean and bias.
# - **Batch norm** normalises a feature over all tokens: it depends on the companions, and on padding unless you leave it out.
# - **Residual**: $x + f(x)$. Its gradient is $I + J$, not 1; the $I$ is a way around all layers.
# - Norm first leaves that way free. With both, forty layers learn.
# - Test at a scale other than 1: at scale 1, √σ looks like σ.
#
# **The question that is left.** Now nothing stops you from stacking layers, and the model has room to learn its training examples by heart. How do you make it learn the rule instead? That is lesson 5, dropout.
