# %% [markdown]
# # Lesson 5 · Dropout
#
# **You build** dropout as a function, as a module and inside attention. Then you use it to estimate how uncertain a prediction is.
#
# **You need** `nn.Module` and its two modes, `train()` and `eval()`; mean, standard deviation and probability; attention weights and temperature (lesson 1), masking (lesson 2) and batch norm (lesson 4).
#
# **You take away** why dropout scales what it keeps, what it does against overfitting, how it compares with other kinds of regularisation, and the mistakes that raise no error.
#
# **Time**: about 190 minutes: 110 for the exercises, the rest to read, predict and run. A good place to stop is marked after about 105. What is marked *optional* goes deeper: nothing later needs it.

# %% given imports
import itertools
import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from transformer_course import figures
from transformer_course.checks import Check, numbers

# %% [markdown]
# **How to work**, as in lesson 1: read, predict, run, cell by cell. This notebook needs no other one. One thing is new: your functions draw random numbers, and the checks count what they draw. A correct answer fails by chance less than once in a million runs.

# %% [markdown]
# ## 1 · A network that learns its labels too well
#
# With residuals and norms, even a deep network trains (lesson 4). Here is a network that fits its training labels too well. It learns from 400 images of handwritten digits, 8 by 8 pixels. About 3 in 10 of the labels have been replaced by a random digit, which is right by chance in a tenth of these cases. **Label noise** means that some labels of a data set are wrong.

# %%
pixels, digits = load_digits(return_X_y=True)
images, correct = torch.tensor(pixels / 16, dtype=torch.float32), torch.tensor(digits)
draws = torch.Generator().manual_seed(0)
order = torch.randperm(len(images), generator=draws)
train_part, validation_part, test_part = order[:400], order[400:800], order[800:]
is_random = torch.rand(3, len(images), generator=draws) < 0.3  # three draws of the noise
noisy = torch.where(is_random, torch.randint(10, is_random.shape, generator=draws), correct)
print(
    "wrong in three draws of the noise:",
    (noisy != correct)[:, train_part].sum(1).tolist(),
    "of 400",
)
figures.tiles(
    [images[i].reshape(8, 8) for i in train_part[:12]],
    [
        f"{label}" if label == digit else f"{label} (is {digit})"
        for label, digit in zip(noisy[0, train_part[:12]], correct[train_part[:12]], strict=True)
    ],
    "twelve training images and their labels",
)

# %% [markdown]
# Above each image you see its label. Where it is wrong, brackets show the correct digit. A wrong label follows no rule, so a network can only memorise it. This one can: it has 26,000 parameters for 400 images. You train it three times, with another draw of the noise each time.
#
# **Held-out data** is data that a network never trains on. Here there are two kinds:
#
# - A **validation set** is held-out data on which you choose settings, such as the number of steps. Here: 400 images, with labels as noisy as in training.
# - A **test set** is held-out data that plays no part in any choice. Here: 997 images, with correct labels.


# %% folded=true
# Defines the network, its training and its accuracy, click to unfold
def digit_network(
    width: int = 128, after_hidden: Callable[[], nn.Module] = nn.Identity
) -> nn.Sequential:
    """64 pixels -> 10 logits; `after_hidden` makes the module that follows each hidden layer."""
    return nn.Sequential(
        *(nn.Linear(64, width), nn.ReLU(), after_hidden()),
        *(nn.Linear(width, width), nn.ReLU(), after_hidden()),
        nn.Linear(width, 10),
    )


@torch.no_grad()
def accuracy(network: nn.Module, inputs: Tensor, labels: Tensor) -> float:
    """The fraction of labels that the network predicts, in the mode that it is in."""
    return (network(inputs).argmax(-1) == labels).float().mean().item()


def fit(network: nn.Module, labels: Tensor, steps: int, weight_decay: float) -> list[list[float]]:
    """Train; every 10 steps [training, validation, test accuracy], in evaluation mode."""
    optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3, weight_decay=weight_decay)
    history = []
    for step in range(steps + 1):
        if step % 10 == 0:
            network.eval()
            on_noisy = [
                accuracy(network, images[part], labels[part])
                for part in (train_part, validation_part)
            ]
            on_test = accuracy(network, images[test_part], correct[test_part])
            history.append([*on_noisy, on_test])
            network.train()
        if step == steps:
            break  # measured; no further update
        loss = F.cross_entropy(network(images[train_part]), labels[train_part])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return history


def train_three(make, labels, steps: int = 150, weight_decay: float = 0.0):
    """Three networks, each with its own seed and labels; accuracies (seed, measurement, data)."""
    networks, histories = [], []
    for seed in range(3):
        torch.manual_seed(seed)
        networks.append(make())
        histories.append(fit(networks[-1], labels[seed], steps, weight_decay))
        networks[-1].eval()
    return networks, torch.tensor(histories)


torch.set_num_threads(1)  # fastest for networks as small as these
measured_at = list(range(0, 151, 10))
print(f"{sum(part.numel() for part in digit_network().parameters()):,} parameters")

# %% [markdown]
# **Predict.** After 150 steps the network predicts practically all 400 training labels, wrong ones included. What does its test accuracy do on the way?
#
# <details><summary>It rises to nearly 100 %</summary>The network has memorised about a hundred wrong labels as well. A test digit that resembles one of those images gets its wrong label.</details>
# <details><summary>It rises, then falls</summary>Yes. First the network learns what most labels have in common. Then it bends this rule around every wrong label.</details>
# <details><summary>It stays near 10 %, which is chance</summary>About seven in ten labels are still correct, enough to learn the rule from.</details>

# %%
plain_networks, plain = train_three(digit_network, noisy)
figures.curves(
    measured_at,
    {"training accuracy": plain[..., 0].tolist(), "test accuracy": plain[..., 2].tolist()},
    x="training step",
    y="accuracy",
    title="Training accuracy climbs, test accuracy peaks and falls",
    bottom=0.0,
)

# %% [markdown]
# What to see: each line is the mean of three seeds (initial parameters and label noise), each band goes from the lowest to the highest. At first, test accuracy is the higher one: the test labels are all correct, while a quarter or more of the training labels are wrong. Training accuracy reaches about 100 %. Test accuracy peaks early, then loses about 20 points. Overfitting (lesson 2) shows clearly here: test accuracy falls while training accuracy still improves.
#
# Outside a lesson, nobody corrects the labels for you. Does the validation set show the fall as well? Its labels are noisy: even a perfect classifier would score only about $0.7 + 0.3 \cdot 0.1 = 73\,\%$.

# %%
for step in (30, 150):
    on_training, on_validation = plain[:, step // 10, :2].mean(0).tolist()
    gap = on_training - on_validation
    print(
        f"step {step:3}: training {on_training:.0%}, validation {on_validation:.0%}, gap {gap:.0%}"
    )

# %% [markdown]
# Validation accuracy falls too, by more than 10 points. The difference between accuracy on training data and on new data of the same kind is the **generalisation gap**. Here it grows from step 30 on for two reasons: training accuracy rises, and validation accuracy falls.
#
# How do you make the network learn the rule and ignore the exceptions? **Regularisation** is any method that reduces overfitting. You build one kind.

# %% [markdown]
# ### Three questions to warm up
#
# Answer each one, then open it.
#
# <details><summary>Recall (lesson 1): what is the sum of the attention weights of one query?</summary>1. Softmax makes them positive and divides by their sum.</details>
# <details><summary>Recall (lesson 2): a mask forbids one key. What happens to the weights of the others?</summary>They grow. The mask acts before softmax, so the remaining weights share the 1. Keep this in mind for part 6.</details>
# <details><summary>Recall (lesson 4): which norm lets one example change the result of another, layer norm or batch norm?</summary>Batch norm, in training. It then takes its statistics from all examples of the batch, and updates its running averages (its <em>running statistics</em>). That matters in part 8.</details>

# %% [markdown]
# ## 2 · Dropout: switch units off at random
#
# **Dropout** is a regularisation that sets each unit of a layer to 0 with probability $p$, in training only. A unit is one feature of a hidden layer. The choice is made anew in every step and for every example.

# %%
drawn = [
    [1.0, 2.0, 3.0, 1.0, 2.0, 3.0],
    [2.0, 0.0, 6.0, 0.0, 0.0, 6.0],
    [0.0, 4.0, 0.0, 0.0, 4.0, 6.0],
    [2.0, 4.0, 0.0, 2.0, 0.0, 0.0],
]
figures.steps(
    {"six units of one layer, p = 0.5": (drawn, "unit", ["1", "2", "3", "4", "5", "6"])},
    "mode",
    ["evaluation", "training, step 1", "training, step 2", "training, step 3"],
)

# %% [markdown]
# What to see: in training some units are 0, different ones in every step. The others have doubled. Why? Parts 3 and 4 answer this.
#
# **From the lecture** “Transformer: Part I (Encoder)”: the slides *Regularization: Dropout* and *Dropout: Test Time*.

# %% [markdown]
# ## 3 · The expected activation
#
# Dropout changes what the *next* layer receives: the units of one layer are the inputs of the next. So take one unit of the next layer. It reads two inputs $x_0$ and $x_1$ with weights $w_0$ and $w_1$, without bias or nonlinearity. Without dropout its activation is $a = w_0 x_0 + w_1 x_1$. Now drop each input with probability $p$, independently of the other. There are four cases. Here they are for $w_0 x_0 = 4$ and $w_1 x_1 = 6$:

# %%
arrives = [[0.0, 0.0], [0.0, 6.0], [4.0, 0.0], [4.0, 6.0]]
figures.steps(
    {
        "what arrives": (arrives, "input", ["0", "1"]),
        "activation": ([[sum(row)] for row in arrives], "sum", ["a"]),
    },
    "",
    ["both dropped", "only 1 kept", "only 0 kept", "both kept"],
)

# %% [markdown]
# In general, with their probabilities:
#
# | $x_0$ | $x_1$ | activation | probability |
# |---|---|---|---|
# | dropped | dropped | $0$ | $p \cdot p$ |
# | dropped | kept | $w_1 x_1$ | $p\,(1 - p)$ |
# | kept | dropped | $w_0 x_0$ | $(1 - p)\,p$ |
# | kept | kept | $w_0 x_0 + w_1 x_1$ | $(1 - p)(1 - p)$ |
#
# The **expectation** $E[a]$ is the mean over all cases, each one weighted by its probability.
#
# **Predict.** In the picture, let $p = 1/2$, so each case has probability 1/4. What is $E[a]$?
#
# <details><summary>2.5</summary>That counts only the last case, 10 / 4. When one input is dropped, the other still arrives.</details>
# <details><summary>10</summary>That is the activation when nothing is dropped: only the last case.</details>
# <details><summary>5</summary>Yes: (0 + 6 + 4 + 10) / 4. It is half of the activation without dropout.</details>

# %% [markdown]
# **Exercise** (20 minutes). Compute the expectation for any number of inputs and any $p$. Go through all cases, as in the table: $n$ inputs have $2^n$ of them.
#
# <details><summary>Hint 1</summary><code>itertools.product((0, 1), repeat=3)</code> gives the eight cases of three inputs. Read 0 as dropped and 1 as kept.</details>
# <details><summary>Hint 2</summary>The probability of a case is a product: a factor p for each 0 and a factor 1 − p for each 1. <code>math.prod</code> multiplies the elements of a list.</details>


# %% exercise expected_activation
def expected_activation(weights: Tensor, x: Tensor, p: float) -> Tensor:
    """Return the expectation of weights · x when each input is dropped with probability p.

    weights (n,), x (n,), n up to 12 -> a tensor without axes, in their dtype. A kept input is
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
hint = "each outcome times its probability, summed over all 2ⁿ cases"
with Check("expected_activation", "two inputs, as in the table", hint) as check:
    weights = torch.tensor([2.0, 3.0], dtype=torch.float64)
    x = torch.tensor([2.0, 2.0], dtype=torch.float64)
    rarely, expected = check.call(weights, x, 0.1), check.call(weights, x, 0.5)
    three = check.call(*(torch.tensor([2.0] * 3, dtype=torch.float64) for _ in range(2)), 0.5)
    check.shape(expected)
    check.equal(expected, torch.tensor(5.0, dtype=torch.float64), "(0 + 6 + 4 + 10) / 4 = 5")
    check.equal(
        rarely, torch.tensor(9.0, dtype=torch.float64), "at p = 0.1 the expected activation is 9"
    )
    check.equal(
        three, torch.tensor(6.0, dtype=torch.float64), "with a third input like these, 6 at p = 0.5"
    )
with Check("expected_activation", "another p", hint) as check:
    weights = torch.tensor([4.0, -2.0], dtype=torch.float64)
    x = torch.tensor([1.0, -2.0], dtype=torch.float64)
    check.equal(
        check.call(weights, x, 0.25),
        torch.tensor(6.0, dtype=torch.float64),
        "w₀x₀ = w₁x₁ = 4 at p = 1/4: (0 + 4 · 3 + 4 · 3 + 8 · 9) / 16 = 6",
        hint="p is the probability that an input is dropped, 1 − p that it is kept",
    )
with Check("expected_activation", "three inputs, one negative weight", hint) as check:
    weights = torch.tensor([2.0, -3.0, 1.0], dtype=torch.float64)
    x = torch.tensor([1.0, 4.0, 5.0], dtype=torch.float64)
    check.equal(
        check.call(weights, x, 0.2),
        torch.tensor(-4.0, dtype=torch.float64),
        "weights · x = -5, and at p = 0.2 the expected activation is -4",
    )
# BEGIN HIDDEN TESTS
with Check("expected_activation", "one to twelve inputs, several p") as check:
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
# Run your function on a unit with three inputs, for $p$ = 0, 0.1, 0.2 and so on up to 1. What is the rule?

# %%
rates = [tenth / 10 for tenth in range(11)]
three_weights, three_inputs = torch.tensor([2.0, 1.0, 3.0]), torch.tensor([1.0, 2.0, 2.0])
by_rate = [expected_activation(three_weights, three_inputs, rate).item() for rate in rates]
print("activation without dropout:     ", (three_weights @ three_inputs).item())
print("expected activation at p = 0.2: ", round(by_rate[2], 3))
figures.curves(
    rates,
    {"expected activation": by_rate},
    x="p, the probability that an input is dropped",
    y="expected activation",
    title="Without rescaling, dropout lowers the expected activation",
    bottom=0.0,
)

# %% [markdown]
# What to see: a straight line, from the full activation at $p = 0$ down to 0 at $p = 1$. For any number of inputs,
#
# $$E[a] = (1 - p)\,(w_0 x_0 + w_1 x_1 + \dots)$$
#
# Here is why. The expectation of a sum is the sum of the expectations, and each input arrives with probability $1 - p$.

# %% [markdown]
# ### Bug hunt: the slide's ½
#
# In evaluation nothing is dropped. So each activation is its full value, while in training its expectation was only $1 - p$ times that. The lecture's slide derives your result for $p = 1/2$, and compensates at test time “by scaling the activations back down by ½”.
#
# **Predict.** For which $p$ is this ½ right?
#
# <details><summary>Only for p = 0.5</summary>Yes. The next cell tests it.</details>
# <details><summary>For every p</summary>Training keeps a fraction 1 − p of the activation, on average. That is ½ for one value of p.</details>
# <details><summary>For every p up to 0.5</summary>At p = 0 nothing is dropped in training, so at test time there is nothing to compensate.</details>

# %%
print("    p   expected in training   at test time, times ½")
for rate in (0.5, 0.25, 0.1):
    in_training = expected_activation(three_weights, three_inputs, rate).item()
    at_test_time = 0.5 * (three_weights @ three_inputs).item()
    print(f"{rate:5}   {in_training:20.2f}   {at_test_time:21.2f}")

# %% [markdown]
# What to see: the two columns agree only in the first line. At $p = 0.1$, a common value in Transformers, the ½ makes the activation far too small.
#
# **Exercise** (5 minutes). Generalise the slide: write its compensation for every $p$.
#
# <details><summary>Hint</summary>Read the formula above this bug hunt. Which fraction of the activation does training give, in expectation?</details>


# %% exercise repaired_half
def repaired_half(activation: Tensor, p: float) -> Tensor:
    """Return the activation at test time, scaled to its expectation in training.

    p is the probability that training drops an element. Any shape in, the same shape out.
    """
    # BEGIN SOLUTION
    return activation * (1 - p)
    # END SOLUTION


# %% check repaired_half points=1
hint = "at test time the activation is scaled to its expectation in training"
with Check("repaired_half", "four values of p", hint) as check:
    activation = torch.tensor([8.0, -4.0, 2.0], dtype=torch.float64)
    factors = {0.25: 0.75, 0.5: 0.5, 0.75: 0.25, 0.125: 0.875}
    results = [check.call(activation, p) for p in factors]
    for result, (p, factor) in zip(results, factors.items(), strict=True):
        check.equal(
            result,
            factor * activation,
            f"with p = {p} in training, 8 becomes {8 * factor:g} at test time",
        )
with Check("repaired_half", "p = 0 and p = 1", hint) as check:
    activation = numbers(2, 1, 3)
    check.equal(check.call(activation, 0.0), activation, "at p = 0 nothing changes")
    check.equal(check.call(activation, 1.0), 0 * activation, "at p = 1 the result is zeros")
# BEGIN HIDDEN TESTS
with Check("repaired_half", "other shapes, and float32") as check:
    for shape, p, dtype in (
        ((4, 1, 2), 0.1, torch.float64),
        ((5,), 0.9, torch.float32),
        ((2, 3), 0.0625, torch.float64),
        ((3, 2), 0.9995, torch.float64),
    ):
        activation = numbers(*shape, seed=1, scale=4.0, dtype=dtype)
        check.equal(check.call(activation, p), (1 - p) * activation, "(1 − p) times the activation")
# END HIDDEN TESTS

# %% [markdown]
# There is a second trap. **Classic dropout** scales the activations at test time, and this is what the slide describes. PyTorch scales *in training* instead: it divides what it keeps by $1 - p$, and leaves evaluation alone. What happens if you use PyTorch's dropout and scale at test time as well?

# %%
torch.manual_seed(0)
ones = torch.ones(100_000)
in_training = F.dropout(ones, 0.5, training=True).mean().item()
in_evaluation = F.dropout(ones, 0.5, training=False).mean().item()
print("mean activation        in training   in evaluation")
# classic dropout keeps half without scaling up, and scales by the ½ in evaluation
print(f"classic dropout       {in_training / 2:12.2f}   {in_evaluation / 2:13.2f}")
print(f"PyTorch               {in_training:12.2f}   {in_evaluation:13.2f}")
print(
    f"PyTorch, and the ½    {in_training:12.2f}   {in_evaluation / 2:13.2f}   <- compensated twice"
)

# %% [markdown]
# What to see: training and evaluation disagree only in the third line.

# %% [markdown]
# ## 4 · Inverted dropout
#
# **Inverted dropout** divides the kept elements by $1 - p$ in training, so that evaluation needs no correction. Each element gets its own draw $m$ from a **Bernoulli distribution**, which gives 1 (keep) with probability $1 - p$ and 0 (drop) otherwise:
#
# $$\mathrm{dropout}(x) = \frac{m\,x}{1 - p} \qquad\qquad E[\mathrm{dropout}(x)] = (1 - p)\,\frac{x}{1 - p} + p \cdot 0 = x$$
#
# This holds for $p < 1$. At $p = 1$ the result is 0.
#
# The **dropout mask** is the tensor of all draws, in the same shape as $x$.
#
# **Predict.** At $p = 0.9$, what does dropout make of 1, 1, 1, …?
#
# <details><summary>About nine of ten become 0, the others 10</summary>Yes: 1 / (1 − 0.9) = 10, and 0.9 · 0 + 0.1 · 10 = 1.</details>
# <details><summary>About nine of ten become 0.1, the others 0</summary>0.1 is the probability of being kept. A kept element grows, it does not shrink.</details>
# <details><summary>About one of ten becomes 0, the others 1.11</summary>In PyTorch p is the probability of being <em>dropped</em>. Some papers and older libraries give the probability of being kept instead: check before you copy a value.</details>

# %% [markdown]
# **Exercise** (25 minutes). Write it. `torch.rand(shape, generator=…)` draws numbers uniformly from 0 to 1 (1 itself never occurs). Do not call `F.dropout`: at the end you compare with it.
#
# <details><summary>Hint 1</summary>First handle the case that is not training. Then: with which probability is a uniform draw from 0 to 1 below p?</details>
# <details><summary>Hint 2</summary>At p = 1 everything is dropped and 1 − p is 0. Then <code>1 / (1 - p)</code> raises <code>ZeroDivisionError</code>, and a tensor divided by 0 gives inf or NaN, which multiplying by the mask does not remove. Treat p = 1 separately.</details>


# %% exercise dropout
def dropout(
    x: Tensor, p: float, training: bool, generator: torch.Generator | None = None
) -> Tensor:
    """Inverted dropout: in training, drop each element with probability p, divide the rest by 1 - p.

    Any shape in, the same shape and dtype out. p from 0 to 1; at p = 1 the result is zeros.
    All random numbers come from `generator`; None means torch's global generator.
    """
    # BEGIN SOLUTION
    if not training:
        return x
    kept = torch.rand(x.shape, generator=generator, device=x.device) >= p
    # at p = 1 nothing is kept, so the factor does not matter, as long as it is finite
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
            hint="You drop in evaluation: test `training` first, and return x unchanged if it is "
            "False.",
        )
    check.equal(
        result,
        x,
        "in evaluation x is returned unchanged",
        hint="inverted dropout scales in training only",
    )
    check.equal(check.call(x, 1.0, False), x, "in evaluation p = 1 changes nothing either")
with Check("dropout", "p = 0 and p = 1 in training") as check:
    x = numbers(3, 4)
    check.equal(
        check.call(x, 0.0, True),
        x,
        "p = 0 drops nothing and scales nothing",
        hint="p is the probability that an element is dropped: compare torch.rand (not randn) "
        "with it",
    )
    check.equal(
        check.call(x, 1.0, True),
        torch.zeros(3, 4, dtype=torch.float64),
        "p = 1 drops everything",
        hint="x / (1 − p) is inf at p = 1: treat p = 1 separately",
    )
# BEGIN HIDDEN TESTS
with Check("dropout", "evaluation, several p and shapes") as check:
    for shape, p, dtype in (
        ((7,), 0.0, torch.float32),
        ((3, 2, 4), 0.9, torch.float64),
        ((2, 5), 1.0, torch.float64),
        ((4, 1, 3, 2), 0.5, torch.float32),
    ):
        x = numbers(*shape, seed=1, scale=3.0, dtype=dtype)
        check.equal(check.call(x, p, training=False), x, "x unchanged")
        check.equal(check.call(x, 0.0, training=True), x, "x unchanged, at p = 0")
        check.equal(check.call(x, 1.0, training=True), torch.zeros_like(x), "zeros, at p = 1")
with Check("dropout", "a gradient in evaluation") as check:
    x = numbers(3, 5, seed=2).requires_grad_()
    slope = check.gradient(check.call(x, 0.7, False) * numbers(3, 5, seed=3), x)
    check.equal(slope, numbers(3, 5, seed=3), "the gradient passes unchanged")
# END HIDDEN TESTS

# %% [markdown]
# Next, the random part:

# %% check dropout_training points=2
with Check("dropout", "60 000 elements at p = 0.2, in training") as check:
    x = 1 + numbers(200, 300).abs()
    result = check.call(x, 0.2, True)
    check.shape(result, batch=200, dim=300)
    with Check("dropout", "a fifth is dropped") as chance:
        share = float((result == 0).double().mean())
        # 60 000 draws: 0.02 is more than twelve standard errors
        chance.true(
            abs(share - 0.2) < 0.02,
            f"at p = 0.2 a fifth of all elements becomes 0; here {share:.0%} did",
            hint="You keep with probability p: p is the probability that an element is dropped, "
            "so reverse the comparison."
            if abs(share - 0.8) < 0.02
            else "Nothing is dropped in training: is your test of `training` reversed?"
            if torch.equal(result, x)
            else "Dropped elements become 0: do not replace them by any other value."
            if share == 0 and bool((result == result.flatten().mode().values).sum() > 1000)
            else "One draw decides for the whole tensor: draw once for each element of x."
            if share in (0, 1)
            and len({bool(check.call(x, 0.2, True).all()) for _ in range(60)}) == 2
            else "Everything is dropped, in every call: compare a number from torch.rand with p, "
            "one for each element."
            if share == 1
            else "Compare a uniform random number (torch.rand, not torch.randn) with p, one for "
            "each element.",
        )
    with Check("dropout", "the others are scaled up") as scaled:
        factors = (result / x)[result != 0]
        size = float(factors.mean())
        scaled.equal(
            factors,
            torch.full_like(factors, 1.25),
            f"kept elements are divided by 1 − p = 0.8, so multiplied by 1.25; here by {size:.4g}",
            hint="You do not scale what you keep: divide it by 1 − p in training."
            if abs(size - 1) < 0.001
            else "You divide by p: an element is kept with probability 1 − p, so divide by 1 − p."
            if abs(size - 5) < 0.01
            else "You multiply by 1 − p where you should divide by it: the kept elements must "
            "compensate for the dropped ones."
            if abs(size - 0.8) < 0.001
            else "You divide by the square root of 1 − p, which preserves the mean of the "
            "squares: divide by 1 − p to preserve the mean."
            if abs(size - 1.25**0.5) < 0.001
            else "You divide by the fraction that happened to be kept in this call: divide by 1 −"
            " p, which is the same in every call."
            if abs(size - 1.25) < 0.03
            else "The factor should be 1 / (1 − p), once.",
        )
with Check("dropout", "60 000 elements at p = 0.97, in training") as check:
    result = check.call(1 + numbers(200, 300).abs(), 0.97, True)
    with Check("dropout", "a large p") as chance:
        chance.true(
            bool(result.any()),  # all are dropped with a probability of 1e-793
            "at p = 0.97 some elements are kept",
            hint="Only p = 1 drops everything: treat no smaller p like 1, and round nothing that you "
            "compare.",
        )
with Check("dropout", "the gradient in training") as check:
    x = (1 + numbers(40, 30, seed=9).abs()).requires_grad_()
    result = check.call(x, 0.6, True)
    slope, kept = check.gradient(result, x), result.detach() != 0
    with Check("dropout", "a gradient where an element is kept, none where it is dropped") as flow:
        flow.true(
            bool(slope.any()),
            "the gradient reaches the kept elements",
            hint="You detach x, so no gradient reaches it: leave out detach().",
        )
        flow.true(
            not slope[~kept].any(),
            "no gradient reaches a dropped element",
            hint="Your gradient also passes through dropped elements: it should be 0 there.",
        )
# BEGIN HIDDEN TESTS
with Check("dropout", "fractions and factors, for several p") as check:
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
        check.equal(1 - kept.double().mean(), p, "a fraction p is dropped", within=error)
        check.equal(result, kept * x / (1 - p), "the others are divided by 1 − p")
        error = 6 * float((p / (1 - p) * x.double().square().sum()) ** 0.5)
        check.equal(result.double().sum(), x.double().sum(), "the mean is preserved", within=error)
with Check("dropout", "views, and a vector") as check:
    for x in (numbers(60, 90, seed=6).T, numbers(9000, seed=7)):
        result = check.call(x, 0.3, True)
        check.equal(result, (result != 0) * x / 0.7, "dropped, or divided by 1 − p")
        share = (result == 0).double().mean()
        check.equal(share, 0.3, "a fraction p is dropped", within=6 * (0.21 / x.numel()) ** 0.5)
with Check("dropout", "gradients") as check:
    x = (1 + numbers(40, 30, seed=8).abs()).requires_grad_()
    result = check.call(x, 0.6, True)
    kept = (result.detach() != 0).double()
    check.equal(
        check.gradient(result, x), kept / 0.4, "only through kept elements, with their factor"
    )
# END HIDDEN TESTS

# %% [markdown]
# Each element has a draw of its own, and the draws come from the generator that you are given:

# %% check dropout_chance points=1
with Check("dropout", "a batch of 300 examples with 400 units, p = 0.25") as check:
    x = 1 + numbers(300, 400, seed=1).abs()
    result = check.call(x, 0.25, True)
    check.shape(result, batch=300, dim=400)
    again = check.call(x, 0.25, True)
    with Check("dropout", "each element has its own draw") as chance:
        dropped = (result == 0).double()
        share = float(dropped.mean())
        # 0.2 is eight standard errors for each unit (and more for each example)
        units_off = (dropped.mean(0) - share).abs().max()
        examples_off = (dropped.mean(1) - share).abs().max()
        chance.true(
            bool(units_off < 0.2),
            "each unit is dropped in about a quarter of the examples",
            hint="All examples drop the same units: draw for each element of x, not once for each"
            " unit.",
        )
        chance.true(
            bool(examples_off < 0.2),
            "in each example about a quarter of the units is dropped",
            hint="Whole examples are dropped: draw for each element of x, not once for each "
            "example.",
        )
        chance.true(
            abs(share - 0.25) < 0.0125,  # ten standard errors
            f"of 120 000 elements a quarter is dropped; here {share:.1%}",
            hint="You keep with probability p: p is the probability that an element is dropped, "
            "so reverse the comparison."
            if abs(share - 0.75) < 0.0125
            else "Nothing is dropped in training: is your test of `training` reversed?"
            if torch.equal(result, x)
            else "One draw decides for the whole tensor: draw once for each element of x."
            if share in (0, 1)
            and len({bool(check.call(x, 0.25, True).all()) for _ in range(60)}) == 2
            else "Everything is dropped, in every call: compare a number from torch.rand with p, "
            "one for each element."
            if share == 1
            else "Dropped elements become 0: do not replace them by any other value."
            if share == 0 and bool((result == result.flatten().mode().values).sum() > 1000)
            else "Compare a number from torch.rand with p itself, without rounding it.",
        )
        chance.true(
            not torch.equal(result == 0, again == 0),
            "each call draws a new mask",
            hint="Every call drops the same elements: draw new ones each time. A seed set inside, a "
            "new torch.Generator() or a random state put back repeats them.",
        )
with Check("dropout", "many small calls") as check:
    x = 1 + numbers(20, seed=2).abs()
    counts = [int((check.call(x, 0.5, True) == 0).sum()) for _ in range(60)]
    with Check("dropout", "the number of dropped elements is random too") as chance:
        chance.true(
            len(set(counts)) > 1,
            "of 20 elements, the number of dropped ones varies from call to call; here it is "
            f"always {counts[0]}",
            hint="You drop the same number of elements each time: each element is dropped "
            "independently of the others.",
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
            "the same state of the generator drops the same elements",
            hint="Pass the generator on: torch.rand(…, generator=generator).",
        )
        chance.true(
            not torch.equal(first, second),
            "a second call with the same generator drops other elements",
            hint="Do not reset the generator: only draw from it.",
        )
        chance.true(
            untouched,
            "with a generator of your own, nothing is drawn from torch's global one",
            hint="You draw from torch's global generator too: if a generator is given, all draws "
            "come from it.",
        )
with Check("dropout", "four axes of unequal size") as check:
    result = check.call(1 + numbers(40, 3, 20, 7, seed=6).abs(), 0.4, True)
    check.shape(result, axis_0=40, axis_1=3, axis_2=20, axis_3=7)
    with Check("dropout", "its own draw along every axis") as chance:
        dropped = (result == 0).double()
        # the variance of a mean over 3 draws is 0.08, that of a single draw 0.24
        chance.true(
            all(float(dropped.mean(axis).var()) < 0.16 for axis in range(4)),
            "along each of four axes, elements are dropped independently",
            hint="Examples share their masks: draw for each element, along every axis.",
        )
with Check("dropout", "one element, 60 times at p = 0.5") as check:
    seen = {check.call(torch.ones(1), 0.5, True).item() for _ in range(60)}
    with Check("dropout", "a single element") as chance:
        chance.true(
            0.0 in seen,  # never dropped: once in 10¹⁸ runs
            "a single element is sometimes dropped",
            hint="You redraw, or keep everything, when all elements would be dropped: that too may"
            " happen, and a single element is dropped with probability p.",
        )
# BEGIN HIDDEN TESTS
with Check("dropout", "neighbours are independent of one another") as check:
    x = 1 + numbers(8, 10, 30, 50, seed=3).abs()
    kept = (check.call(x, 0.4, True) != 0).double()
    axes = (0, 1, 2, 3)
    for axis in axes:
        both = kept * kept.roll(1, axis)
        # pairs overlap: twice the variance of independent ones is enough
        error = 6 * (2 * 0.36 * 0.64 / x.numel()) ** 0.5
        check.equal(
            both.mean(), 0.36, "both neighbours are kept with probability (1 − p)²", within=error
        )
        for other in axes[axis + 1 :]:
            share = kept.mean((axis, other))
            count = x.numel() / share.numel()
            error = 7 * (0.24 / count) ** 0.5
            check.equal(
                share, torch.full_like(share, 0.6), "the same fraction in every slice", within=error
            )
with Check("dropout", "torch's global generator, if none is given") as check:
    x = 1 + numbers(30, 20, seed=4).abs()
    torch.manual_seed(7)
    first = check.call(x, 0.5, True)
    torch.manual_seed(7)
    check.equal(check.call(x, 0.5, True), first, "the same seed drops the same elements")
    torch.manual_seed(8)
    check.true(not torch.equal(check.call(x, 0.5, True), first), "another seed drops others")
    generator = torch.Generator().manual_seed(9)
    torch.manual_seed(7)
    given = check.call(x, 0.5, True, generator=generator)
    check.true(not torch.equal(given, first), "a generator that is given is used")
    check.equal(check.call(x, 0.5, True), first, "and torch's global generator is not used")
with Check("dropout", "a single element") as check:
    x = torch.ones(1, dtype=torch.float64)
    seen = {check.call(x, 0.5, True).item() for _ in range(60)}
    check.true(seen == {0.0, 2.0}, "sometimes dropped, sometimes doubled")
# END HIDDEN TESTS

# %% [markdown]
# See your dropout at work. Twelve units feed one linear unit. Move $p$ and step through the samples. The histogram shows the output of the linear unit over many samples. The two lines show their mean and the output in evaluation.

# %%
from transformer_course.widgets import show_dropout

show_dropout(dropout)

# %% [markdown]
# What to see: at every $p$ the two lines coincide, apart from chance. Inverted dropout preserves the mean output of a linear unit. But the histogram widens as $p$ grows: dropout adds noise, and training has to cope with it.
#
# **Puzzle.** Set $p$ to 0.9. One bar towers above the others. Where is it, and about what fraction of the samples does it hold?
#
# <details><summary>Solution</summary>At 0: these are the samples in which all twelve units are dropped. The probability is 0.9¹² ≈ 0.28, so more than a quarter. At p = 0.5 it is 0.5¹² ≈ 0.0002.</details>

# %% [markdown]
# ## 5 · A module with two modes
#
# Your function has to be told in every call whether the model is training. A module knows it: `model.train()` and `model.eval()` set `training` on the module and on all modules inside it.

# %%
block = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU(), nn.Dropout(0.5)))
print("after train():", [part.training for part in block.train().modules()])
print("after eval(): ", [part.training for part in block.eval().modules()])

# %% [markdown]
# It is easy to forget `eval()`, and no error tells you. Dropout then stays on: predictions differ from call to call.
#
# **Predict.** Does `model.eval()` switch off the computation of gradients?
#
# <details><summary>Yes, completely</summary>That is <code>torch.no_grad()</code>. The two are independent, and evaluation code usually uses both.</details>
# <details><summary>Yes: it detaches the output</summary>The output keeps its graph: you can call <code>backward()</code> in evaluation mode.</details>
# <details><summary>No</summary>Right. It only sets <code>training</code> to False in every module. The gradients are then those of the model without dropout.</details>

# %% [markdown]
# **Exercise** (5 minutes). Wrap your function in a module.
#
# <details><summary>Hint</summary>Every <code>nn.Module</code> has an attribute <code>training</code>, which <code>train()</code> and <code>eval()</code> set. Read it in every <code>forward</code>.</details>


# %% exercise Dropout
class Dropout(nn.Module):
    """Your dropout as a module: it drops with probability p in train() mode only.

    forward: x of any shape -> the same shape. It has no parameters.
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
            hint="Your module drops after eval(): in forward, pass self.training on as it is, "
            "which train() and eval() set, and change no mode there.",
        )
    check.equal(result, x, "after eval() x is returned unchanged")
with Check("Dropout", "p = 1 and p = 0 in train() mode") as check:
    x = numbers(4, 3)
    everything, nothing = check.build(1.0).train().call(x), check.build(0.0).train().call(x)
    with Check("Dropout", "in train() mode") as modes:
        modes.true(
            not everything.any(),
            "after train(), Dropout(1.0) drops everything",
            hint="Your module drops nothing after train(): in forward, pass self.training on as "
            "it is, which train() and eval() set, and ask for nothing else."
            if torch.equal(everything, x) and torch.equal(nothing, x)
            else "You keep with probability p: p is the probability that an element is dropped."
            if torch.equal(everything, x)
            else "Use the p that __init__ gets: store it as self.p, and pass it on.",
        )
        modes.equal(
            nothing,
            x,
            "after train(), Dropout(0.0) drops nothing",
            hint="Use the p that __init__ gets: store it as self.p, and pass it on.",
        )
with Check("Dropout", "back and forth") as check:
    module, x = check.build(0.25), 1 + numbers(100, 80).abs()
    module.eval().call(x)
    with torch.set_grad_enabled(False):  # has nothing to do with the mode
        result, again = module.train().call(x), module.call(x)
    with Check("Dropout", "a quarter is dropped in train() mode") as chance:
        dropped = (result == 0).double()
        share = float(dropped.mean())
        # the variance of a mean over 80 draws is 0.0024, that of a single draw 0.19
        chance.true(
            all(float(dropped.mean(axis).var()) < 0.05 for axis in (0, 1)),
            "each element has its own draw: no whole rows or columns are dropped",
            hint="Draw for each element of x, not for whole rows or columns.",
        )
        chance.true(
            abs(share - 0.25) < 0.04,  # more than eight standard errors
            f"Dropout(0.25) drops a quarter of 8000 elements in train() mode; here {share:.0%}",
            hint="You test whether gradients are enabled: that is independent of the mode, so test "
            "only self.training."
            if torch.equal(result, x) and not torch.equal(module.call(x), x)
            else "After eval() and then train() your module does not drop: store no copy of the "
            "mode, and read only self.training in forward."
            if torch.equal(result, x) and not torch.equal(check.build(0.25).train().call(x), x)
            else "One draw decides for the whole tensor: draw once for each element of x."
            if share in (0, 1) and len({bool(module.call(x).all()) for _ in range(60)}) == 2
            else "Everything is dropped, in every call: does `dropout` get p as p, and the mode as "
            "`training`?"
            if share == 1
            else "You drop twice in one forward: drop once."
            if abs(share - 0.4375) < 0.04
            else "You keep with probability p: p is the probability that an element is dropped."
            if abs(share - 0.75) < 0.04
            else "Use the p that __init__ gets: store it as self.p, and pass it on.",
        )
        kept = result[result != 0] / x[result != 0]
        chance.equal(
            kept,
            torch.full_like(kept, 4 / 3),
            "kept elements are divided by 1 − p = 0.75",
            hint="Kept elements must be divided by 1 − p, once.",
        )
        chance.true(
            not torch.equal(result, again),
            "each call draws a new mask",
            hint="Every forward drops the same elements: draw new ones each time. A seed, a new "
            "torch.Generator() or a stored mask repeats them.",
        )
    check.true(not module.parameters(), "it has no nn.Parameter")
    x = x.clone().requires_grad_()
    check.true(
        bool(check.gradient(module.call(x), x).any()), "the gradient reaches the kept elements"
    )
# BEGIN HIDDEN TESTS
with Check("Dropout", "two modules with different p") as check:
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
        check.equal(check.gradient(result, x), 2 * kept, "only through kept elements")
        for axis in range(len(shape)):
            both = kept * kept.roll(1, axis)
            error = 6 * (2 * 0.25 * 0.75 / x.numel()) ** 0.5
            check.equal(both.mean(), 0.25, "neighbours are dropped independently", within=error)
    check.equal(module.eval().call(x), x, "and nothing in evaluation")
# END HIDDEN TESTS

# %% [markdown]
# ### Bug hunt: six versions of dropout
#
# Here are six functions `drop(x, p, training)`. All of them run, and all of them drop. Mistakes like these stay in models for years: training still works.

# %%
six_versions: dict[str, Callable[[Tensor, float, bool], Tensor]] = {
    "A": lambda x, p, training: F.dropout(x, p),
    "B": lambda x, p, training: x * (torch.rand_like(x) >= p) / p if training else x,
    "C": lambda x, p, training: (
        x * torch.bernoulli(torch.full_like(x, 1 - p)) / (1 - p) if training else x
    ),
    "D": lambda x, p, training: nn.Dropout(p)(x),
    "E": lambda x, p, training: F.dropout(x, 1 - p, training),
    "F": lambda x, p, training: F.dropout(x, p, training),
}
torch.manual_seed(0)
for name, version in six_versions.items():
    print(name, [round(value, 2) for value in version(torch.ones(8), 0.5, True).tolist()])

# %% [markdown]
# What to see: at $p = 0.5$, in training, all six look right. Only two are. For each of the others, write down what is wrong or missing: you compare below.
#
# A test of a random function can itself go wrong in two ways: it accepts a faulty function, or it rejects a right one whose draw was unlucky. The fraction dropped among $n$ elements has a **standard error** of $\sqrt{p(1-p)/n}$. For large $n$ it is more than 6 of these away from $p$ less than once in a hundred million draws.
#
# **Exercise** (20 minutes). Write the test. You choose `x` and `p`, with $0 < p < 1$: here p = 1 does not count.
#
# <details><summary>Hint 1</summary>Which <code>p</code> tells p from 1 − p? And which shape shows whether two rows share a mask?</details>
# <details><summary>Hint 2</summary>Four questions: is x unchanged in evaluation? Is the fraction of zeros near p? Are all other elements x / (1 − p)? Do the masks of two rows, two columns and two calls differ?</details>


# %% exercise test_of_dropout
def test_of_dropout(drop: Callable[[Tensor, float, bool], Tensor]) -> bool:
    """Return whether drop(x, p, training) is inverted dropout.

    That is: in evaluation x unchanged. In training each element becomes 0 with probability p or is
    divided by 1 - p, and each element has a draw of its own, new in every call.
    A fraction that is wrong by 0.1 is noticed; a right function fails less than once in a million.
    """
    # BEGIN SOLUTION
    x, p = torch.ones(200, 300), 0.3
    if not torch.equal(drop(x, p, False), x):
        return False
    result, again = drop(x, p, True), drop(x, p, True)
    zeros = result == 0
    error = (p * (1 - p) / x.numel()) ** 0.5
    fraction_right = abs(float(zeros.double().mean()) - p) < 6 * error
    kept_right = torch.allclose(result[~zeros], x[~zeros] / (1 - p))
    same_rows, same_columns = (torch.equal(d[0], d[1]) for d in (zeros, zeros.T))
    masks_differ = not (same_rows or same_columns or torch.equal(result, again))
    return fraction_right and kept_right and masks_differ
    # END SOLUTION


# %% check test_of_dropout points=2
hint = "True for inverted dropout, False for anything else"
with Check("test_of_dropout", "right functions, and functions with a mistake", hint) as check:

    def of_torch(x, p, training):
        return F.dropout(x, p, training)

    def by_hand(x, p, training):
        return x * (torch.rand(x.shape) >= p) / (1 - p) if training else x

    def unlucky(sign, state):  # its first draw is 4 standard errors off, once in 30 000 draws
        def drop(x, p, training):
            if not training or x.numel() < 100:
                return F.dropout(x, p, training)
            off = 4 * sign if state.pop("first", False) else float(torch.rand(()) - 0.5)
            count = x.numel() * p + off * (x.numel() * p * (1 - p)) ** 0.5
            order = torch.randperm(x.numel()).reshape(x.shape)
            return torch.where(order < round(count), 0.0, x / (1 - p))

        return drop

    def never_stops(x, p, training):
        return F.dropout(x, p)

    def never_starts(x, p, training):
        return F.dropout(x, p, False)

    def not_scaled(x, p, training):
        return x * (torch.rand(x.shape) >= p) if training else x

    def divided_by_p(x, p, training):
        return x * (torch.rand(x.shape) >= p) / p if training else x

    def keeps_with_p(x, p, training):
        return F.dropout(x, 1 - p, training)

    def drops_half(x, p, training):
        return x * (torch.rand(x.shape) >= 0.5) / (1 - p) if training else x

    def off_by(shift):
        def drop(x, p, training):
            dropped = p + shift if 0 <= p + shift <= 1 else p - shift
            return x * (torch.rand(x.shape) >= dropped) / (1 - p) if training else x

        return drop

    def exact_share(x, p, training):  # neither right nor judged: tells one mistake from another
        order = torch.randperm(x.numel()).reshape(x.shape)
        return torch.where(order < round(p * x.numel()), 0.0, x / (1 - p)) if training else x

    def scales_later_too(x, p, training):
        return F.dropout(x, p, True) if training else x * (1 - p)

    def rows_alike(x, p, training):
        return x * F.dropout(torch.ones(x.shape[-1:], dtype=x.dtype), p, training)

    def columns_alike(x, p, training):
        shape = (*x.shape[:1], *[1] * (x.dim() - 1))
        return x * F.dropout(torch.ones(shape, dtype=x.dtype), p, training)

    def same_mask(x, p, training):
        draws = torch.rand(x.shape, generator=torch.Generator().manual_seed(3))
        return x * (draws >= p) / (1 - p) if training else x

    right = {
        of_torch: "F.dropout(x, p, training)",
        by_hand: "torch.rand compared with p, kept elements divided by 1 − p",
        unlucky(1, {"first": True}): "a draw with 4 standard errors too many dropped",
        unlucky(-1, {"first": True}): "a draw with 4 standard errors too few dropped",
    }
    faulty = {
        never_stops: "it drops in evaluation too",
        never_starts: "it never drops",
        not_scaled: "kept elements stay as they are",
        divided_by_p: "kept elements are divided by p",
        keeps_with_p: "it drops with probability 1 − p, and divides by p",
        drops_half: "it drops half of the elements, whatever p is",
        off_by(-0.15): "the fraction dropped is p − 0.15 (or p + 0.15, for a small p)",
        off_by(0.15): "the fraction dropped is p + 0.15 (or p − 0.15, for a large p)",
        scales_later_too: "it scales in training, and in evaluation again",
        same_mask: "every call has the same mask",
    }
    # all answers together tell which mistake it is
    answers = {drop: check.call(drop, returns=bool) for drop in (*right, *faulty, exact_share)}
    for drop, told in right.items():
        if not answers[drop]:
            passes = any(check.call(drop, returns=bool) for _ in range(20))
            check.fail(
                f"a right function passes: {told}",
                hint="Your test rejects this right function in one run and passes it in another: "
                "take more elements, and allow what you measure 6 standard errors."
                if passes
                else "Your test rejects this right function every time: print what each of its "
                "comparisons gives for it, and see which one fails.",
            )
    for drop, told in faulty.items():
        if answers[drop]:
            check.call(drop, returns=bool)  # again: a failure names the last call
            check.fail(f"a faulty function fails: {told}")
    # a test without the right comparison notices by chance: 30 times in less than one of 10⁶ runs
    for drop, told in ((rows_alike, "rows"), (columns_alike, "columns")):
        accepts = any(check.call(drop, returns=bool) for _ in range(30))
        with Check("test_of_dropout", f"a mask that all {told} share") as shared:
            shared.true(
                not accepts,
                f"a faulty function fails: all {told} have the same mask",
                hint="Rows or columns may share a mask, and your test accepts that: take an x with"
                " two axes, and compare two rows and two columns of one result.",
            )
# BEGIN HIDDEN TESTS
with Check("test_of_dropout", "right functions, many times") as check:

    def bernoulli(x, p, training):
        if not training:
            return x.clone()
        return x * torch.bernoulli(torch.full_like(x, 1 - p)) * (1 / (1 - p) if p < 1 else 0.0)

    def filled(x, p, training):
        if not training:
            return x
        return (x / max(1 - p, 1e-9)).masked_fill(torch.rand(x.shape).double() < p, 0.0)

    def unlucky(sign, state):  # as above
        def drop(x, p, training):
            if not training or x.numel() < 100:
                return F.dropout(x, p, training)
            off = 4 * sign if state.pop("first", False) else float(torch.rand(()) - 0.5)
            count = x.numel() * p + off * (x.numel() * p * (1 - p)) ** 0.5
            order = torch.randperm(x.numel()).reshape(x.shape)
            return torch.where(order < round(count), 0.0, x / (1 - p))

        return drop

    for drop in (bernoulli, filled, lambda x, p, training: nn.Dropout(p).train(training)(x)):
        for _ in range(5):
            check.true(check.call(drop, returns=bool), "a right function passes")
    for sign in (1, -1) * 3:
        passes = check.call(unlucky(sign, {"first": True}), returns=bool)
        check.true(passes, "an unlucky draw of a right function passes")
with Check("test_of_dropout", "other mistakes") as check:
    mistakes = {
        "a new nn.Dropout is in training mode": lambda x, p, training: nn.Dropout(p)(x),
        "training is turned round": lambda x, p, training: F.dropout(x, p, not training),
        "zeros in evaluation": lambda x, p, training: F.dropout(x, p) if training else 0 * x,
        "scaled up in evaluation": lambda x, p, training: (
            F.dropout(x, p) if training else x / (1 - p)
        ),
        "one draw for all": lambda x, p, training: x * F.dropout(torch.ones(()), p, training),
        "noise, no zeros": lambda x, p, training: x + p * torch.randn(x.shape) if training else x,
        "multiplied by 1 − p": lambda x, p, training: (
            F.dropout(x, p, training) * (1 - p) ** 2 if training else x
        ),
    }
    for told, drop in mistakes.items():
        for _ in range(3):
            check.true(not check.call(drop, returns=bool), f"a faulty function fails: {told}")
# END HIDDEN TESTS

# %% [markdown]
# Your test decides about the six versions:

# %%
for name, version in six_versions.items():
    print(name, "inverted dropout" if test_of_dropout(version) else "not inverted dropout")

# %% [markdown]
# What to see: C and F pass. Say what is wrong or missing in each other one, then open.
#
# <details><summary>A</summary><code>training</code> is never passed on, and <code>F.dropout</code> has <code>training=True</code> as its default. The documentation says so, but no error does.</details>
# <details><summary>B</summary>It divides by <code>p</code>. At p = 0.5 you cannot see it.</details>
# <details><summary>D</summary>A new module is in training mode, and no <code>eval()</code> of your model ever reaches it. Create it in <code>__init__</code>.</details>
# <details><summary>E</summary><code>1 - p</code>: it reads <code>p</code> as the probability of keeping, as some older libraries did.</details>

# %% [markdown]
# **A good place to stop.** You have dropout as a function and as a module, and a test for both. Next: dropout inside attention. (Back later? Run all cells above first.)

# %% [markdown]
# ## 6 · Dropout inside attention
#
# A Transformer applies it at several points, often with $p = 0.1$:
#
# 1. to the embeddings, after positional encodings are added (lesson 6);
# 2. to the output of each branch, before the residual sum;
# 3. to the attention weights, after softmax;
# 4. to the hidden features of the feed-forward network (lesson 7).
#
# The first Transformer's paper names the first two. PyTorch's encoder layer has the second, the third and the fourth.

# %%
mask_draws = torch.Generator().manual_seed(2)
tokens = ["the", "dog", "chased", "the", "cat"]
kept_in = {
    f"training step {step}": (torch.rand(5, 5, generator=mask_draws) < 0.7, "key", tokens)
    for step in (1, 2)
}
figures.masks(kept_in, "query", tokens)

# %% [markdown]
# What to see: two steps with $p = 0.3$. A dot is a kept weight, a cross is a dropped one: in this step the query ignores that key.
#
# The masks of lesson 2 act before softmax. Dropout acts after it. So you have a decision to make: what should the *remaining* weights of a query become?
#
# **Exercise** (5 minutes). Write it. The docstring states what has to hold.
#
# <details><summary>Hint</summary>Each weight by itself should keep its expectation. You have met a function that guarantees this.</details>


# %% exercise attention_dropout
def attention_dropout(weights: Tensor, p: float, training: bool) -> Tensor:
    """Drop each attention weight with probability p, in training only.

    (…, query, key) -> the same shape. For p < 1 the expectation of each weight is the weight
    itself, and the value of a kept weight does not depend on which others are dropped. At p = 1
    the result is zeros.
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
            hint="You drop in evaluation: pass `training` on as it is.",
        )
    check.equal(result, weights, "in evaluation the weights are returned unchanged")
with Check("attention_dropout", "57 600 weights at p = 0.2, in training") as check:
    weights = torch.softmax(numbers(4, 3, 60, 80, scale=6.0), -1)  # some are almost 1
    result, again = check.call(weights, 0.2, True), check.call(weights, 0.2, True)
    check.shape(result, batch=4, head=3, query=60, key=80)
    with Check(
        "attention_dropout", "each weight has its own draw, and no row is renormalised"
    ) as chance:
        dropped = (result == 0).double()
        share, factors = float(dropped.mean()), (result / weights)[result != 0]
        chance.true(
            abs(share - 0.2) < 0.03,  # more than ten standard errors, of 57 600 draws
            f"at p = 0.2 a fifth of all weights becomes 0; here {share:.0%} did",
            hint="You keep with probability p: p is the probability that a weight is dropped."
            if abs(share - 0.8) < 0.03
            else "Nothing is dropped in training: pass `training` on unchanged."
            if torch.equal(result, weights)
            else "No weight becomes 0, yet the weights change, and each row still sums to 1: drop "
            "the weights as they are, and let no softmax follow."
            if share == 0 and bool((result.sum(-1) - 1).abs().max() < 1e-6)
            else "Everything is dropped, in every call: does `dropout` get p as p, and `training` "
            "as `training`?"
            if share == 1 and not any(bool(check.call(weights, 0.2, True).any()) for _ in range(20))
            else "Draw for each weight, not for whole keys, queries, heads or sequences."
            if share > 0
            else "No weight becomes 0, yet the weights change: a dropped weight is 0.",
        )
        # a mean over two or more independent draws varies less than a single draw, 0.16
        chance.true(
            all(float(dropped.mean(axis).var()) < 0.1 for axis in range(4)),
            "each sequence, head, query and key has draws of its own",
            hint="Draw for each weight, not for whole keys, queries, heads or sequences.",
        )
        chance.true(
            not torch.equal(result == 0, again == 0),
            "each call draws a new mask",
            hint="Every call drops the same weights: draw a new mask in each call.",
        )
        sums = result.sum(-1)
        chance.equal(
            factors,
            torch.full_like(factors, 1.25),
            "kept weights are divided by 1 − p = 0.8, whatever the sum of their row",
            hint="Each row still sums to 1: divide a kept weight by 1 − p, once, and let nothing "
            "make up for the sum of its row."
            if bool((sums - 1).abs().max() < 1e-6)
            else "You do not scale what you keep: divide it by 1 − p in training."
            if bool((factors - 1).abs().max() < 1e-6)
            else "The factor of a kept weight is 1 / (1 − p), and nothing else: a weight may exceed "
            "1.",
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
with Check("attention_dropout", "300 queries with 3 keys each, at p = 0.6") as check:
    result = check.call(torch.softmax(numbers(100, 3, 3, seed=5), -1), 0.6, True)
    dropped = result == 0
    with Check("attention_dropout", "every weight can be dropped") as chance:
        chance.true(
            bool(dropped.diagonal(dim1=-2, dim2=-1).any()),
            "a query's weight for its own position can be dropped",
            hint="You never drop the weight with which a query attends to its own position: every "
            "weight can be dropped.",
        )
        chance.true(
            bool(dropped.all(-1).any()),  # none of 300 rows is: less than once in 10³¹ runs
            "a row can lose all its weights",
            hint="Every row loses the same number of weights: each one is dropped independently "
            "of the others, so a row can lose all."
            if dropped.sum(-1).unique().numel() == 1
            else "Some weight of each row is always kept: drop each one independently of its row, "
            "and neither redraw nor refill a row that loses all.",
        )
# BEGIN HIDDEN TESTS
with Check("attention_dropout", "float32, two axes, and several p") as check:
    for shape, p in (((90, 70), 0.1), ((6, 50, 40), 0.5), ((2, 3, 40, 50), 0.9)):
        weights = torch.softmax(numbers(*shape, seed=1, dtype=torch.float32), -1)
        result = check.call(weights, p, True)
        kept = result != 0
        error = 6 * (p * (1 - p) / weights.numel()) ** 0.5
        check.equal(1 - kept.double().mean(), p, "a fraction p is dropped", within=error)
        check.equal(result, kept * weights / (1 - p), "the others are divided by 1 − p")
        error = 6 * float((p / (1 - p) * weights.double().square().sum()) ** 0.5)
        total = weights.double().sum()
        check.equal(
            result.double().sum(), total, "large and small weights are dropped alike", within=error
        )
        check.equal(check.call(weights, p, False), weights, "nothing happens in evaluation")
        for axis in range(len(shape)):
            both = (kept & kept.roll(1, axis)).double().mean()
            error = 6 * (2 * (1 - p) ** 2 * (1 - (1 - p) ** 2) / weights.numel()) ** 0.5
            check.equal(both, (1 - p) ** 2, "neighbours are dropped independently", within=error)
with Check(
    "attention_dropout", "every position can be dropped: the first, the last and the query's own"
) as check:
    weights = torch.softmax(numbers(400, 6, 6, seed=4, scale=2.0), -2).mT
    result = check.call(weights, 0.8, True)
    dropped = (result == 0).double()
    turned_round = (dropped * dropped.mT)[:, *torch.triu_indices(6, 6, 1)]
    error = 6 * (0.64 * 0.36 / turned_round.numel()) ** 0.5
    check.equal(
        turned_round.mean(), 0.64, "the two directions of a pair are independent", within=error
    )
    check.equal(result, (1 - dropped) * weights / 0.2, "dropped, or divided by 1 − p")
    error = 6.5 * (0.16 / 400) ** 0.5
    check.equal(
        dropped.mean(0), 0.8 + 0 * dropped[0], "the same fraction at every position", within=error
    )
    error = 6 * (0.16 / weights.numel()) ** 0.5
    check.equal(dropped.mean(), 0.8, "a row may lose all its weights", within=error)
with Check("attention_dropout", "a query that may attend to nothing") as check:
    weights = torch.softmax(numbers(30, 40, seed=2), -1)
    weights[7] = 0.0
    result = check.call(weights, 0.5, True)
    check.equal(result[7], torch.zeros(40, dtype=torch.float64), "its weights stay 0")
    check.equal(result, (result != 0) * weights * 2, "the others are dropped, or doubled")
with Check("attention_dropout", "gradients") as check:
    weights = torch.softmax(numbers(30, 20, seed=3), -1).requires_grad_()
    result = check.call(weights, 0.75, True)
    expected = 4.0 * (result.detach() != 0)
    check.equal(check.gradient(result, weights), expected, "only through kept elements")
# END HIDDEN TESTS

# %% [markdown]
# **Predict.** A query has the weights 0.5, 0.3, 0.2. With $p = 0.5$, what is the sum of its weights after your dropout?
#
# <details><summary>It varies from draw to draw, and is 1 on average</summary>Yes. If only the 0.3 is dropped, the weights are 1, 0, 0.4 and sum to 1.4.</details>
# <details><summary>Always 1</summary>It would be if you divided by the sum of the kept weights. Then a weight would depend on which others are dropped.</details>
# <details><summary>0.5 on average</summary>It would be without the factor 1 / (1 − p).</details>

# %%
one_query = torch.tensor([0.5, 0.3, 0.2])
torch.manual_seed(1)
many_draws = attention_dropout(one_query.expand(20_000, 3), 0.5, training=True)
renormalised = many_draws / many_draws.sum(-1, keepdim=True).clamp(min=1e-9)
outcomes = enumerate(many_draws.unique(dim=0), start=1)
rows = {
    "evaluation": one_query,
    **{f"possible draw {number}": outcome for number, outcome in outcomes},
    "mean of 20,000 draws": many_draws.mean(0),
    "mean, if rows were renormalised": renormalised.mean(0),
}
with_sums = [[*row.tolist(), row.sum().item()] for row in rows.values()]
figures.steps({"weights of one query": (with_sums, "key", ["1", "2", "3", "sum"])}, "", list(rows))

# %% [markdown]
# What to see: the sums of the eight possible rows range from 0 to 2, but the mean of many draws is the row of evaluation. If you renormalised each row, the mean would be another row, in which the large weight has shrunk. (It sums to less than 1: some draws leave no weight.) Training and evaluation would disagree.

# %% [markdown]
# ### A whole map, and dropout before softmax
#
# Now a whole attention map. Its tokens are the eight rows of pixels of a digit, compared by their dot products.
#
# **Predict.** A colleague applies dropout one line earlier, to the *scores*: `softmax(dropout(scores, 0.5, True), -1)`. What is the attention weight of a dropped score?
#
# <details><summary>0, as with dropout after softmax</summary>A masked score is −∞, a dropped one is 0. Softmax makes e⁰ = 1 of it, divided by the sum of the row.</details>
# <details><summary>Above 0, perhaps even larger than before</summary>Yes. 0 is a score like any other. If the other scores of the row are negative, the dropped one even wins.</details>
# <details><summary>NaN</summary>That is the danger of a row in which all scores are −∞. Dropped scores are 0.</details>

# %%
digit_rows = images[train_part[0]].reshape(8, 8)
row_scores = digit_rows @ digit_rows.T
row_map = torch.softmax(row_scores, -1)
torch.manual_seed(0)
after = attention_dropout(row_map.expand(1000, 8, 8), 0.5, training=True)
scores_dropped = dropout(row_scores.expand(1000, 8, 8), 0.5, training=True)
earlier = torch.softmax(scores_dropped, -1)
figures.tiles(
    [row_map, after[0], after.mean(0), row_map, earlier[0], earlier.mean(0)],
    ["evaluation", "after, draw", "after, mean", "evaluation", "before, draw", "before, mean"],
    "dropout after softmax, and before",
    across=3,
    colours="cividis",
)
row_sums = [row_map.sum(-1), after[0].sum(-1), after.mean(0).sum(-1), earlier[0].sum(-1)]
figures.steps(
    {"sum of the weights of each query": (torch.stack(row_sums), "query", list("12345678"))},
    "",
    ["evaluation", "after, 1 draw", "after, mean of 1,000", "before, 1 draw"],
)
off = [(maps.mean(0) - row_map).abs().max().item() for maps in (after, earlier)]
print(f"largest difference of the mean from evaluation: after {off[0]:.3f}, before {off[1]:.3f}")
print(f"smallest weight in 1,000 draws:  after {after.min():.3f}, before {earlier.min():.3f}")

# %% [markdown]
# What to see: in the top row, dropout comes after softmax. One draw sets weights to 0 (the darkest cells), and its sums vary. The mean of 1,000 draws is the map of evaluation again, apart from chance. In the bottom row no weight is 0, and each row sums to 1. But the mean is wrong: it is another map.

# %% [markdown]
# ## 7 · Does it help?
#
# Back to the noisy labels. Train the same network for 150 steps, now with your `Dropout` after both hidden layers. $p = 0.5$ is the classic value for hidden layers. The cell also trains with 0.2, 0.7 and 0.8, and prints their validation accuracies.
#
# **Predict.** Without dropout, test accuracy peaks early and falls by about 20 points. What does dropout change?
#
# <details><summary>The peak comes earlier, and the fall after it is as deep</summary>The random masks slow learning down, so the peak does not come earlier. And the wrong labels are learned more slowly too, so the fall is not as deep.</details>
# <details><summary>The peak comes later, and the fall after it is much smaller</summary>Yes. Dropout slows down all learning, but memorising wrong labels most of all. The larger p is, the slower it gets.</details>
# <details><summary>The peak comes at the same step, but it is much lower</summary>The next figure shows a later peak, and a slightly higher one. In evaluation all units are present.</details>

# %%
trained, histories = {"no dropout": plain_networks}, {"no dropout": plain}
for rate in (0.2, 0.5, 0.7, 0.8):
    networks, history = train_three(
        lambda rate=rate: digit_network(after_hidden=lambda: Dropout(rate)), noisy
    )
    print(f"p = {rate}: validation accuracy {history[:, -1, 1].mean():.1%} at the end")
    if rate in (0.5, 0.7):
        trained[f"dropout, p = {rate}"], histories[f"dropout, p = {rate}"] = networks, history
figures.curves(
    measured_at,
    {name: history[..., 2].tolist() for name, history in histories.items()},
    x="training step",
    y="test accuracy",
    title="Noisy labels: test accuracy with and without dropout",
)

# %% [markdown]
# What to see: with dropout the peak comes later, is a little higher, and less is lost after it. A late peak also leaves less time to lose, so compare equal times: in the 90 steps after its peak, $p = 0.5$ loses 2 to 3 points, the network without dropout about 15.
#
# The printed lines show how to choose $p$: by *validation* accuracy. With noisy labels it is 0.7.
#
# Is dropout the only way? A first rival: **weight decay** shrinks all parameters a little in every step. In AdamW the part that each step removes is the learning rate times a strength. 15 was the best of the strengths 1, 3, 5, 10, 15 and 20. Is that a lot?

# %%
rate_of_adamw, strength = 3e-3, 15.0
removed = rate_of_adamw * strength
print(f"each step removes {removed:.2%} of every parameter")
print(f"without gradients, 1 would be {(1 - removed) ** 150:.3f} after 150 steps")

# %% [markdown]
# It is a lot. Strengths of 0.01 to 0.1 are usual, but for far more steps. *Change* the strength to 0.1 and run the cell again: after 150 steps, 1 would still be about 0.96, so it would hardly matter here.
#
# Two more rivals, with the same seeds and labels:
#
# - A *smaller network* has 12 units in each hidden layer, in place of 128. 12 was the best of 8, 10, 12, 16 and 24.
# - **Early stopping** keeps the parameters of the step with the highest validation accuracy. Here it is applied to the network that has no dropout.
#
# All settings were chosen by validation accuracy. The figure reports test accuracy.


# %% folded=true
# Trains the rivals and draws their accuracies, click to unfold
for name, make, decay in (
    ("weight decay", digit_network, 15.0),
    ("smaller network", lambda: digit_network(12), 0.0),
):
    trained[name], histories[name] = train_three(make, noisy, weight_decay=decay)

at_the_end = {name: history[:, -1] for name, history in histories.items()}
best_validation = plain[..., 1].argmax(1)
at_the_end["early stopping"] = plain[range(3), best_validation]
for name, (on_training, on_validation, on_test) in (
    (name, ends.mean(0).tolist()) for name, ends in at_the_end.items()
):
    print(
        f"{name:16}: training {on_training:4.0%}, validation {on_validation:4.0%}, "
        f"gap {on_training - on_validation:4.0%}, test {on_test:4.0%}"
    )
print("early stopping stops at steps", [10 * int(best) for best in best_validation])
figures.runs(
    {name: ends[:, 2].tolist() for name, ends in at_the_end.items()},
    "test accuracy",
    "Noisy labels: test accuracy after each method",
)

# %% [markdown]
# What to see: each dot is one network, each bar the mean of three. Every regulariser wins back most of what the plain network loses. Tuned dropout has the highest mean, but its lead is small, with only three seeds. So dropout works well here, as do its rivals: compare a method with tuned rivals, not with nothing.

# %% [markdown]
# ### Is it the redundancy?
#
# **Co-adaptation** means that a unit is useful only together with certain other units. A unit whose partners may be missing has to be useful by itself. So dropout “forces the network to have a redundant representation”, says the lecture's slide.
#
# Test it: remove hidden units of a trained network at random, *in evaluation*, and scale up the rest, as dropout does.


# %%
def accuracy_without(network: nn.Module, missing: float) -> float:
    """Test accuracy with a fraction of the hidden units missing, mean of 20 draws."""
    thinned = digit_network(after_hidden=lambda: nn.Dropout(missing)).train()
    vector_to_parameters(parameters_to_vector(network.parameters()), thinned.parameters())
    scores = [accuracy(thinned, images[test_part], correct[test_part]) for run in range(20)]
    return sum(scores) / len(scores)


torch.manual_seed(0)
for missing in (0.0, 0.5):
    left = accuracy_without(plain_networks[0], missing)
    print(f"no dropout in training, {missing:.0%} of the units missing: test accuracy {left:.0%}")

# %% [markdown]
# **Predict.** With all units present, weight decay is only a few points behind dropout. Which of the two does better with 60 % of its hidden units missing?
#
# <details><summary>Weight decay: its parameters are small</summary>Small parameters do not replace missing units: the layers above lose most of their inputs.</details>
# <details><summary>Both alike: their accuracy is similar</summary>It is similar with all units present. That says nothing about missing ones.</details>
# <details><summary>Dropout: it has been trained with missing units</summary>Yes. This is the very situation it was trained in.</details>


# %% folded=true
# Removes units from trained networks and draws their accuracy, click to unfold
fractions = [0.0, 0.2, 0.4, 0.6]
trained["stopped after 30 steps"] = train_three(digit_network, noisy, steps=30)[0]
figures.curves(
    fractions,
    {
        name: [
            [accuracy_without(network, missing) for missing in fractions] for network in networks
        ]
        for name, networks in trained.items()
        if name not in ("dropout, p = 0.5", "smaller network")
    },
    x="fraction of hidden units missing in evaluation",
    y="test accuracy",
    title="Test accuracy when hidden units are missing",
    bottom=0.0,
)

# %% [markdown]
# What to see: the networks that were trained with dropout lose little when units are missing, the others far more. So the slide is right about redundancy.
#
# But is redundancy the reason for the higher accuracy? At the left end, all units are present. Weight decay and 30 steps of training are only a few points behind, with far *less* redundancy. So most of the gain does not need as much. Whether dropout's small lead needs it remains open.

# %% [markdown]
# ### Hidden pixels (optional)
#
# The lecture asks: “Training with occlusions?” **Occlusion** means that an object is partly hidden. Does a network that can spare hidden units also cope with hidden *pixels*? Hide a square of each test digit, at a random position.


# %%
def occluded(whole: Tensor, size: int) -> Tensor:
    """Images (n, 64), each with a square of size × size pixels set to 0, at a random position."""
    pixel = torch.arange(8)
    inside = []
    for first in torch.randint(0, 9 - size, (2, len(whole), 1)):
        inside.append((pixel >= first) & (pixel < first + size))
    hidden = inside[0][:, :, None] & inside[1][:, None, :]
    return whole * ~hidden.flatten(1)


torch.manual_seed(0)
one_digit = images[test_part[:1]]
figures.tiles(
    [occluded(one_digit, size).reshape(8, 8) for size in range(6)],
    ["whole", *(f"{size} × {size} hidden" for size in range(1, 6))],
    "one test digit, with a square of its pixels hidden",
)

# %% [markdown]
# The figure has the same networks as before, and one more as a control. It drops *pixels* in training, with $p = 0.5$, and no hidden units.
#
# **Predict.** Which network loses least between the whole digits and a hidden square of 3 × 3?
#
# <details><summary>Dropout on hidden units: its representation is redundant</summary>It is redundant in its hidden units. But a hidden pixel changes many of them together, in a way that no mask of training did.</details>
# <details><summary>Weight decay: small weights, small changes</summary>It loses about as much as dropout on hidden units.</details>
# <details><summary>Dropout on pixels</summary>Yes: its training has hidden pixels, though single ones and not squares.</details>


# %% folded=true
# Trains with dropped pixels, hides squares of pixels and draws the accuracy, click to unfold
pixel_networks = train_three(
    lambda: nn.Sequential(nn.Dropout(0.5), *digit_network().children()), noisy
)[0]
torch.manual_seed(0)
hidden_digits = [occluded(images[test_part], size) for size in range(6)]
figures.curves(
    list(range(6)),
    {
        name: [
            [accuracy(network, inputs, correct[test_part]) for inputs in hidden_digits]
            for network in networks
        ]
        for name, networks in [*trained.items(), ("dropout on pixels, p = 0.5", pixel_networks)]
        if name not in ("dropout, p = 0.5", "smaller network")
    },
    x="side of the hidden square, in pixels",
    y="test accuracy",
    title="Test accuracy when pixels are hidden",
    bottom=0.0,
)

# %% [markdown]
# What to see: dropout on hidden units, weight decay and early stopping fall side by side. Dropout's small lead does not grow, and at 5 × 5 that over weight decay is gone. Only the network that has dropped pixels stays well above these.
#
# So dropout makes a network robust to what it drops. Redundancy in the hidden units does not replace hidden pixels.

# %% [markdown]
# ### Without label noise
#
# Train the same network on the *correct* labels. There are no wrong labels to memorise. Does dropout still help?
#
# From here on the networks use PyTorch's `nn.Dropout`, because your function in part 8 has to find it by its type.

# %%
clean_networks, clean = train_three(digit_network, [correct] * 3)
mc_networks, clean_dropout = train_three(
    lambda: digit_network(after_hidden=lambda: nn.Dropout(0.5)), [correct] * 3
)
lowest = torch.stack([clean[:, -1, 0], clean_dropout[:, -1, 0]]).min().item()
print(f"lowest training accuracy of the six networks: {lowest:.1%}")
figures.runs(
    {
        "no dropout": clean[:, -1, 2].tolist(),
        "early stopping": clean[range(3), clean[..., 1].argmax(1), 2].tolist(),
        "dropout, p = 0.5": clean_dropout[:, -1, 2].tolist(),
    },
    "test accuracy",
    "Correct labels: with and without dropout",
)

# %% [markdown]
# What to see: all networks fit their training labels. Early stopping adds nothing. Dropout adds about one point, in all three seeds. (Note the axis.) All seeds share one split of the data: this is only a hint.

# %% [markdown]
# ### A Transformer with and without dropout
#
# Now a Transformer: one encoder layer over the eight rows of a digit. Where does PyTorch put dropout in its layer?

# %%
encoder_layer = nn.TransformerEncoderLayer(24, 4, 48, dropout=0.1, batch_first=True)
for name, module in encoder_layer.named_modules():
    if isinstance(module, nn.Dropout):
        print(f"{name:9}: {module}")
print("attention weights:", encoder_layer.self_attn.dropout, "(a number, no module)")

# %% [markdown]
# What to see: `dropout` acts on the hidden features of the feed-forward network, `dropout1` and `dropout2` on the outputs of the two branches. Attention keeps a number and drops its weights itself. The network below also drops embeddings: these are all four points of part 6.
#
# It learns from only 60 images, with correct labels, a different 60 for each seed. Every setting gets 100 steps. There are two controls. Weight decay has a strength of 0.3, the best of 0.1, 0.3 and 1 by validation accuracy. Early stopping is printed.
#
# **Predict.** Without dropout the network fits all 60 images. What does $p = 0.3$ do, in the same 100 steps?
#
# <details><summary>It learns more slowly, and ends higher on test digits</summary>Yes: at step 50 it is behind, at the end it is ahead.</details>
# <details><summary>It is ahead from the start: it overfits less</summary>The masks are noise. At first they mainly slow learning down.</details>
# <details><summary>Nothing: layer norm removes the noise</summary>Layer norm rescales each token, but a dropped feature stays dropped.</details>


# %% folded=true
# Defines and trains the Transformer, and draws its test accuracy, click to unfold
class RowTransformer(nn.Module):
    """64 pixels -> 10 logits: the eight rows are tokens, one encoder layer, their mean."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.embedding, self.drop = nn.Linear(8, 24), nn.Dropout(p)
        self.positions = nn.Parameter(0.1 * torch.randn(8, 24))
        self.layer = nn.TransformerEncoderLayer(
            24, 4, 48, dropout=p, batch_first=True, norm_first=True
        )
        self.norm, self.output = nn.LayerNorm(24), nn.Linear(24, 10)

    def forward(self, x: Tensor) -> Tensor:
        tokens = self.drop(self.embedding(x.reshape(-1, 8, 8)) + self.positions)
        return self.output(self.norm(self.layer(tokens)).mean(1))


def fit_transformer(seed: int, p: float, weight_decay: float) -> list[list[float]]:
    """Every 25 steps [training, validation, test accuracy], in evaluation mode."""
    torch.manual_seed(seed)
    few = train_part[torch.randperm(400)[:60]]
    model = RowTransformer(p)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=7e-3, weight_decay=weight_decay, fused=True
    )
    history = []
    for step in range(101):
        if step % 25 == 0:
            model.eval()
            parts = (few, validation_part, test_part)
            history.append([accuracy(model, images[part], correct[part]) for part in parts])
            model.train()
        loss = F.cross_entropy(model(images[few]), correct[few])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return history


settings = {
    "no dropout": (0.0, 0.0),
    "p = 0.1": (0.1, 0.0),
    "p = 0.3": (0.3, 0.0),
    "no dropout, weight decay": (0.0, 0.3),
}
of_transformers = {
    name: torch.tensor([fit_transformer(seed, *setting) for seed in range(3)])
    for name, setting in settings.items()
}
for name, history in of_transformers.items():
    stopped = history[range(3), history[..., 1].argmax(1), 2].mean()
    on_training, on_validation = history[:, -1, :2].mean(0).tolist()
    of_each = " ".join(f"{on_test:.1%}" for on_test in history[:, -1, 2].tolist())
    print(
        f"{name:24}: training {on_training:.0%}, validation {on_validation:.0%}, "
        f"test {of_each}, with early stopping {stopped:.1%}"
    )
figures.curves(
    range(0, 101, 25),
    {name: history[..., 2].tolist() for name, history in of_transformers.items()},
    x="training step",
    y="test accuracy",
    title="A Transformer on 60 digits",
)

# %% [markdown]
# What to see: every network fits its 60 training images. At the end $p = 0.1$ and 0.3 are about four points ahead on average: 0.1 for all three seeds, 0.3 for two. Weight decay and early stopping gain next to nothing.
#
# <details><summary>Does every model need dropout?</summary>No. PaLM, a language model with 540 billion parameters (Chowdhery et al., 2022), was pretrained without it: it saw most of its text only once. Most fine-tuning, on little data, used p = 0.1.</details>

# %% [markdown]
# ## 8 · Monte Carlo dropout: how uncertain is the model?
#
# An **ensemble** is a set of models whose predictions are averaged. The lecture offers “another interpretation” of dropout: it trains a large ensemble of models that share their parameters, one for each mask.
#
# Take three hidden units that feed one linear unit, as in part 3. Each is present or missing: $2^3 = 8$ **subnetworks**, which share three weights. Each mask picks one of them.
#
# **Predict.** With $p = 0.3$, which of the eight subnetworks does a mask pick most often?
#
# <details><summary>One with two units: 2.1 units are kept on average</summary>Two units are the most common <em>number</em>. But three subnetworks share that case, with 0.7 · 0.7 · 0.3 = 0.147 each.</details>
# <details><summary>The one with all three units</summary>Yes: 0.7³ = 0.343.</details>
# <details><summary>None: all eight are equally likely</summary>That holds at p = 0.5 only.</details>

# %%
torch.manual_seed(0)
unit_masks = dropout(torch.ones(20_000, 3), 0.3, training=True) != 0
subnetworks = list(itertools.product((0, 1), repeat=3))
outputs = torch.tensor(subnetworks) * three_weights @ three_inputs / 0.7  # (subnetwork,)
likely = [math.prod(0.7 if one else 0.3 for one in kept) for kept in subnetworks]
picked = [(unit_masks == torch.tensor(kept)).all(-1).float().mean().item() for kept in subnetworks]
figures.steps(
    {
        "units": (torch.tensor(subnetworks), "unit", ["1", "2", "3"]),
        "output": (outputs[:, None], "", ["a / 0.7"]),
        "share of masks": (torch.tensor([likely, picked]).T, "", ["exact", "drawn"]),
    },
    "subnetwork",
    list("12345678"),
)
weighted = torch.tensor(likely) @ outputs
print(f"mean output of the subnetworks, by probability: {weighted:.2f}")
print(f"output in evaluation, all units present:        {(three_weights @ three_inputs):.2f}")

# %% [markdown]
# What to see: the masks pick the subnetworks with the expected frequencies. The mean of their outputs is the output in evaluation, which is your `expected_activation` divided by $1 - p$. So for one linear unit, evaluation *is* the whole ensemble, in one pass.
#
# The digit network has 256 hidden units, so it has $2^{256} \approx 10^{77}$ subnetworks. It trains for 150 steps on 400 images, each with a mask of its own.
#
# **Predict.** How many of the subnetworks are ever trained?
#
# <details><summary>All of them, each a little</summary>150 · 400 masks are drawn. That is far from 10⁷⁷.</details>
# <details><summary>At most 60,000, nearly all of them for one image in one step</summary>Yes. The slide says: each model “gets trained on only ~ one datapoint”. The others are never picked, but their weights are trained: every weight belongs to a quarter or half of all subnetworks.</details>
# <details><summary>256, one for each unit</summary>A mask decides about all units at once. Each combination is a subnetwork of its own.</details>
#
# See what five of these models predict for one difficult digit.

# %%
torch.manual_seed(0)
with torch.no_grad():
    certain = mc_networks[0](images[test_part]).softmax(-1).amax(-1)
    difficult = images[test_part[certain.argmin()]]
    answers = [mc_networks[0](difficult).softmax(-1)]  # in evaluation mode
    answers += [mc_networks[0].train()(difficult).softmax(-1) for run in range(5)]
    mc_networks[0].eval()
figures.steps(
    {"probability of each digit": (torch.stack(answers), "digit", list("0123456789"))},
    "",
    ["no mask (evaluation)", *(f"mask {number}" for number in range(1, 6))],
)

# %% [markdown]
# What to see: the predictions differ from mask to mask. **Monte Carlo dropout** (Gal and Ghahramani, 2016) predicts with many random masks and returns the mean and the standard deviation of the predictions. A large standard deviation, the *spread*, is meant to warn of a wrong answer.
#
# **Predict.** For these networks `model.train()` is enough. What can go wrong with others?
#
# <details><summary>It would change the weights</summary>Only an optimiser step changes the weights. But training mode may change something else: read the next answer.</details>
# <details><summary>It switches on more than dropout</summary>Yes. In training mode batch norm takes its statistics from the batch, so a prediction depends on the other examples. It also updates its running statistics: afterwards the model is not the one you had.</details>
# <details><summary>Nothing: dropout is all that differs between the modes</summary>Other modules differ as well. Which norm of lesson 4 behaves differently in training?</details>

# %% [markdown]
# **Exercise** (25 minutes). Write Monte Carlo dropout for any model whose dropout consists of `nn.Dropout` modules. Put only these into training mode, all others into evaluation mode. Afterwards each module is in its old mode, even if modes were mixed.
#
# (`nn.MultiheadAttention` drops without such a module, so its dropout stays off.)
#
# <details><summary>Hint 1</summary><code>model.modules()</code> gives the model and all modules inside it, at any depth. <code>isinstance(part, nn.Dropout)</code> finds those to switch on.</details>
# <details><summary>Hint 2</summary><code>part.train()</code> and <code>part.eval()</code> also act on all modules <em>inside</em> part. To restore the modes one by one, set <code>part.training</code> itself.</details>
# <details><summary>Hint 3</summary><code>torch.stack</code> collects the predictions in one tensor, with the samples as its first axis.</details>


# %% exercise monte_carlo_predict
def monte_carlo_predict(model: nn.Module, x: Tensor, samples: int) -> tuple[Tensor, Tensor]:
    """Predict `samples` times (at least 2) with dropout on; return (mean, std) over the samples.

    Only modules of type nn.Dropout drop; every other module works as in evaluation. mean and std
    have the shape of model(x); std is that of torch.std. Each call draws new masks.
    Afterwards each module is in its old mode, and the model's parameters and buffers are unchanged.
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
with Check("monte_carlo_predict", "results that do not depend on chance", hint) as check:
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
    check.equal(
        mean, expected, "with Dropout(0.0) the mean is the model's prediction in evaluation"
    )
    check.equal(std, 0 * expected, "and the samples do not differ", within=1e-7)
    for silent in (
        nn.Dropout(1.0),
        nn.Sequential(nn.ReLU(), nn.Dropout(1.0)),
        nn.Sequential(nn.ReLU(), nn.Sequential(nn.Dropout(1.0))),
        nn.Sequential(nn.Dropout(1.0), nn.Dropout(0.0)),
    ):
        mean, std = check.call(nn.Sequential(linear, silent).eval(), x, 3, returns=("mean", "std"))
        check.equal(
            mean,
            0 * expected,
            "with Dropout(1.0) near its end the model gives zeros, in whatever mode you get it "
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
        hint="only nn.Dropout may be in training mode, even if you get the model in train() mode",
    )
    # RReLU: a negative number times a random slope in training, times its mean in evaluation
    steep = nn.Sequential(nn.RReLU(0.0, 1.0), nn.Dropout(0.0)).train()
    mean, std = check.call(steep, -torch.ones(20, 30), 3, returns=("mean", "std"))
    with Check("monte_carlo_predict", "every other module works as in evaluation") as others:
        others.equal(
            mean,
            -0.5 * torch.ones(20, 30),
            "nn.RReLU, a module that is random in training, works as in evaluation",
            hint="Only nn.Dropout may be in training mode: first put all modules into evaluation "
            "mode, then switch on nn.Dropout.",
        )
    root, _ = check.call(
        nn.RReLU(0.0, 1.0).train(), -torch.ones(20, 30), 3, returns=("mean", "std")
    )
    with Check("monte_carlo_predict", "the outermost module too") as outermost:
        outermost.equal(
            root,
            -0.5 * torch.ones(20, 30),
            "nn.RReLU as the whole model works as in evaluation",
            hint="You leave the outermost module in training mode: it may do more than its parts, "
            "so it has to be in evaluation mode too.",
        )
    channels, _ = check.call(
        nn.Sequential(nn.Dropout1d(1.0), nn.Dropout(0.0)).eval(), x, 3, returns=("mean", "std")
    )
    with Check("monte_carlo_predict", "nn.Dropout1d is another type") as by_type:
        by_type.equal(
            channels,
            x,
            "nn.Dropout1d, which is no nn.Dropout, works as in evaluation",
            hint="You switch on nn.Dropout1d too: test with isinstance whether a module is an "
            "nn.Dropout, not by its name and not for any other type.",
        )
with Check("monte_carlo_predict", "two samples of ones at p = 0.5", hint) as check:
    doubled_or_none = nn.Sequential(nn.Dropout(0.5)).train()
    ones = torch.ones(5, 4, 30, dtype=torch.float64)
    before, _ = check.call(doubled_or_none, ones, 2, returns=("mean", "std"))
    mean, std = check.call(doubled_or_none, ones, 2, returns=("mean", "std"))
    check.shape(mean, batch=5, length=4, dim=30)
    check.shape(std, batch=5, length=4, dim=30)
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
            hint="Draw exactly `samples` samples, and take their plain mean over the first axis "
            "of the stack.",
        )
        pair.true(
            not torch.equal(mean, before),
            "a second call draws new masks",
            hint="Every call draws the same masks: set no seed inside, and put no random state "
            "back.",
        )
        pair.true(
            bool((mean == 1).any()),
            "where one of two samples is 0 and the other 2, the mean is 1",
            hint="Take the mean over the samples, not the median.",
        )
        apart = std[mean == 1]
        size = float(apart.mean())
        pair.equal(
            apart,
            torch.full_like(apart, 2**0.5),
            f"the standard deviation of 0 and 2 is √2, as torch.std says; here {size:.3g}",
            hint="You divide by the number of samples instead of one less, or once more by its "
            "square root: take plain torch.std over the samples."
            if abs(size - 1) < 0.001
            else "You return the variance: the standard deviation is its square root."
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
        check.equal(
            kept,
            kept.round(),
            "an integer number of samples keeps each element, the others drop it",
        )
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
    check.true(bool((std[positive] > 0).all()), "outputs that are not always 0 vary")
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
with Check("monte_carlo_predict", "a batch of one, and batch norm in training") as check:
    model = nn.Sequential(nn.BatchNorm1d(4), nn.Dropout(0.0)).double()
    model.train()
    mean, _ = check.call(model, numbers(1, 4, seed=4), 3, returns=("mean", "std"))
    expected = numbers(1, 4, seed=4) / (1 + 1e-5) ** 0.5
    check.equal(mean, expected, "one example is enough, in evaluation")
# END HIDDEN TESTS

# %% [markdown]
# The model has to stay as it was:

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
        with Check("monte_carlo_predict", f"a model that you get in {came} mode") as restored:
            restored.true(
                after == modes,
                f"a model that you get in {came} mode is in {came} mode afterwards, with all its "
                "modules",
                hint="You leave the model in evaluation mode, whatever it was before: store its "
                "modes before you change anything, and restore them."
                if not any(after)
                else "You leave the model in training mode, whatever it was before: store its "
                "modes before you change anything, and restore them."
                if all(after)
                else "You leave modules in the modes in which you used them: store the mode of "
                "each module before you change any (in a list, say), and restore it afterwards.",
            )
        for name, tensor in model.state_dict().items():
            check.equal(
                tensor,
                state[name],
                f"{name} is unchanged",
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
            "in a model with some modules in training and some not, each module is back in its "
            "own mode",
            hint="Each of model.modules() has a mode of its own: store all of them, and give each "
            "module its own back. Set part.training itself, because part.train() also sets all "
            "modules inside part.",
        )
    twice = nn.Dropout(0.5)  # it stands in two places
    model = nn.Sequential(nn.Sequential(twice), nn.Sequential(twice)).train()
    twice.eval()
    check.call(model, x, 2, returns=("mean", "std"))
    with Check("monte_carlo_predict", "one module in two places") as restored:
        restored.true(
            not twice.training and model.training,
            "a module that stands in two places is back in its own mode",
            hint="You restore the modes with train(), which also sets all modules inside: set "
            "part.training itself.",
        )
# BEGIN HIDDEN TESTS
with Check("monte_carlo_predict", "all combinations of modes") as check:
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
        check.true(
            [part.training for part in model.modules()] == modes,
            "each module is back in its own mode",
        )
        for name, tensor in model.state_dict().items():
            check.equal(tensor, state[name], f"{name} is unchanged")
# END HIDDEN TESTS

# %% [markdown]
# ### Monte Carlo dropout in PyTorch's encoder layer (optional)
#
# PyTorch's `nn.TransformerEncoderLayer` contains three `nn.Dropout` modules. The next cell puts the layer into evaluation mode, and only these three into training mode. Then it predicts fifty times under `no_grad()`.
#
# **Predict.** With $p = 0.5$, what is the spread of the fifty predictions?
#
# <details><summary>Clearly above 0: the three modules drop</summary>They are in the right mode. But for that the layer has to call them.</details>
# <details><summary>Nearly 0, because attention's own dropout stays off</summary>It does stay off. But the three modules alone would give a clear spread.</details>
# <details><summary>Exactly 0: nothing is dropped</summary>Yes, and no error tells you.</details>

# %%
torch.manual_seed(0)
layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.5, batch_first=True).eval()
for switched_on in (layer.dropout, layer.dropout1, layer.dropout2):
    switched_on.train()
sequences = torch.randn(4, 5, 8)
for fast in (True, False):
    torch.backends.mha.set_fastpath_enabled(fast)
    with torch.no_grad():
        predictions = torch.stack([layer(sequences) for run in range(50)])
    print(f"fast path {'on ' if fast else 'off'}: largest spread {predictions.std(0).max():.2g}")
torch.backends.mha.set_fastpath_enabled(True)  # PyTorch's default

# %% [markdown]
# The **fast path** of `nn.TransformerEncoderLayer` is one function that computes the layer in evaluation mode, without gradients. What to see: on this path the layer never calls its dropout modules, so their modes do not matter.
#
# Monte Carlo dropout under `no_grad()`, perhaps yours too, then gives a spread of exactly 0. For such a model, first call `torch.backends.mha.set_fastpath_enabled(False)`.

# %% [markdown]
# ### One mask, fifty masks, no mask
#
# Take the three networks trained with dropout on correct labels. Predict the test digits in three ways: with one random mask each, with the mean of fifty masks, and in evaluation mode. As a control, average the three networks trained without dropout. Softmax turns their logits into probabilities.
#
# **Predict.** How does the mean of fifty masks compare with evaluation mode?
#
# <details><summary>It is about as accurate</summary>Yes. One pass with all units approximates the mean over all masks.</details>
# <details><summary>It is clearly better: fifty predictions against one</summary>Their mean is far better than one mask. But evaluation mode uses all units at once.</details>
# <details><summary>It is clearly worse: each mask lacks half of the units</summary>Each single prediction is worse. But different masks make different errors, and the mean removes many of them.</details>

# %%
torch.manual_seed(0)
new_digits, their_labels = images[test_part], correct[test_part]
scores = {"one mask": [], "mean of 50 masks": [], "no mask (evaluation)": []}
for network in mc_networks:
    with_softmax = nn.Sequential(network, nn.Softmax(dim=-1)).eval()
    mean, std = monte_carlo_predict(with_softmax, new_digits, 50)
    scores["one mask"].append(accuracy(network.train(), new_digits, their_labels))
    scores["mean of 50 masks"].append((mean.argmax(-1) == their_labels).float().mean().item())
    scores["no mask (evaluation)"].append(accuracy(network.eval(), new_digits, their_labels))
with torch.no_grad():
    each_of_three = [network(new_digits).softmax(-1) for network in clean_networks]
scores["no dropout, one network"] = clean[:, -1, 2].tolist()
scores["no dropout, ensemble of 3"] = [
    (torch.stack(each_of_three).mean(0).argmax(-1) == their_labels).float().mean().item()
]
figures.runs(scores, "test accuracy", "Averaging masks, and averaging networks")

# %% [markdown]
# What to see, from left to right:
#
# - One mask costs a few points. The mean of fifty masks wins them back. In this sense dropout behaves like an ensemble.
# - Evaluation mode does about as well as the mean. The slide promises this “with a single forward pass! (approximately)”. For the logits of linear layers it is even exact (part 3). Here a ReLU and a softmax follow dropout.
# - Averaging the three separate networks gains little and stays below dropout. (This is one small ensemble.) So averaging is probably not all that dropout adds.

# %% [markdown]
# ### Rotated digits
#
# Now for uncertainty. Rotate the test digits further and further. The networks have seen only upright ones.


# %%
def rotated(upright: Tensor, degrees: float) -> Tensor:
    """Images (n, 64), rotated about their centre."""
    angle = math.radians(degrees)
    matrix = [[math.cos(angle), -math.sin(angle), 0.0], [math.sin(angle), math.cos(angle), 0.0]]
    square = upright.reshape(-1, 1, 8, 8)
    grid = F.affine_grid(
        torch.tensor([matrix]).expand(len(square), 2, 3), list(square.shape), align_corners=False
    )
    return F.grid_sample(square, grid, align_corners=False).flatten(1)


angles = [0, 15, 30, 45, 60, 75, 90]
two_digits = [int((their_labels == digit).nonzero()[0]) for digit in (3, 7)]
figures.tiles(
    [rotated(new_digits[i : i + 1], a).reshape(8, 8) for i in two_digits for a in angles],
    [f"{digit}, {a}°" for digit in (3, 7) for a in angles],
    "two test digits, rotated",
    across=7,
)

# %% [markdown]
# The **confidence** of a prediction is its largest probability. Compare the confidence of one evaluation pass with that of the mean of fifty masks.
#
# There is a cheap control, the temperature of lesson 1. Divide all logits by a temperature above 1 before softmax: every confidence falls, with no mask at all. Choose it once, so that the mean confidence on the *upright* digits equals that of fifty masks. (This uses test images, but no labels. To calibrate a model, use validation data.) Then compare on the rotated ones.
#
# **Predict.** At 90° only about one answer in ten is right, as if by chance. What is the mean confidence of one evaluation pass there?
#
# <details><summary>About 10 %: the network has no idea</summary>It has no output for “no idea”. Softmax always gives probabilities for the ten digits.</details>
# <details><summary>About 50 %</summary>It falls at first, but not that far. Then it rises again.</details>
# <details><summary>Above 90 %</summary>Yes, and wrong. No training image was like this one, so nothing has taught the network to doubt.</details>


# %% folded=true
# Predicts the rotated digits with each network, click to unfold
from functools import cache


def measure(network: nn.Module, inputs: Tensor) -> dict[str, Tensor]:
    """One evaluation pass and fifty masks: for each input the confidences and the spread."""
    with torch.no_grad():
        logits = network.eval()(inputs)
    once, first_answer = logits.double().softmax(-1).max(-1)  # float32 rounds 1 − 1e-10 to 1
    mean, std = monte_carlo_predict(nn.Sequential(network, nn.Softmax(dim=-1)), inputs, 50)
    often, answer = mean.max(-1)
    spread = std.gather(1, answer[:, None])[:, 0]
    values = {"logits": logits, "one pass": once, "fifty masks": often, "spread": spread}
    wrong = {"wrong": first_answer != their_labels, "wrong with masks": answer != their_labels}
    return values | wrong | {"answer": first_answer}


@cache
@torch.no_grad()
def measured() -> list[list[dict[str, Tensor]]]:
    """What `measure` gives for each seed and angle; computed once, then kept."""
    torch.manual_seed(0)
    return [[measure(net, rotated(new_digits, angle)) for angle in angles] for net in mc_networks]


def each(value) -> list[list[float]]:
    """A value of what was measured, for each seed and angle."""
    return [[float(value(found)) for found in of_seed] for of_seed in measured()]


common = each(lambda found: (found["answer"] == found["answer"].mode().values).float().mean())
favourites = [int(of_seed[-1]["answer"].mode().values) for of_seed in measured()]
print("the most common answer at 90°:", favourites)
print("its share of the answers:     ", [f"{of_seed[-1]:.0%}" for of_seed in common])

# %% folded=true
# Finds the temperatures and draws the confidences, click to unfold
temperatures = [1 + step / 100 for step in range(300)]
tempered = []
for of_seed in measured():
    target = of_seed[0]["fifty masks"].mean()  # the confidence on upright digits
    means = [(of_seed[0]["logits"] / t).softmax(-1).amax(-1).mean() for t in temperatures]
    chosen = temperatures[int((torch.stack(means) - target).abs().argmin())]
    tempered.append(
        [(found["logits"] / chosen).softmax(-1).amax(-1).mean().item() for found in of_seed]
    )
figures.curves(
    angles,
    {
        "accuracy": each(lambda found: 1 - found["wrong"].float().mean()),
        "confidence, one pass": each(lambda found: found["one pass"].mean()),
        "confidence, mean of 50 masks": each(lambda found: found["fifty masks"].mean()),
        "confidence, one pass with temperature": tempered,
    },
    x="rotation in degrees",
    y="mean over the test digits",
    title="Far from the training data: wrong, and confident",
    bottom=0.0,
)

# %% [markdown]
# A model is **overconfident** when its confidence is higher than its accuracy. What to see: from 30° on, all three confidences are far above the accuracy. Fifty masks lower the confidence at every angle. On upright digits they make it too low: one pass was nearly right. Up to 60° a single temperature does about the same: general caution, not a response to the rotation. At 75° and 90° the masks lower it more, but both stay above 90 %.
#
# <details><summary>Why do all three networks call nearly every digit a 4 at 90°? Is this a bug?</summary>No. Upright digits are taller than wide, rotated ones wider than tall. Among upright digits the 4 is the widest for its height. That is probably why rotated digits resemble it most.</details>

# %% [markdown]
# ### Does the spread find the errors?
#
# Wrong answers should be more uncertain than right ones. **AUROC** (area under the ROC curve) is the probability that a random wrong answer is more uncertain than a random right one. Chance is 0.5, a perfect warning is 1.


# %%
def auroc(uncertainty: Tensor, wrong: Tensor) -> float:
    """Area under the ROC curve: how often a wrong answer is more uncertain than a right one."""
    pairs = uncertainty[wrong][:, None] - uncertainty[~wrong]
    return ((pairs > 0).float() + 0.5 * (pairs == 0)).mean().item()


some_wrong = torch.tensor([True, False, True, False])
print(auroc(torch.tensor([0.9, 0.1, 0.3, 0.5]), some_wrong), "= 3 of 4 pairs")

# %% [markdown]
# There are three candidates: 1 − confidence of one pass, 1 − confidence of the mean of fifty masks, and the spread of the answer's probability over the fifty masks.
#
# **Predict.** Compare digits at the same angle, 15° or 30°. Which candidate finds the errors best?
#
# <details><summary>The spread: only it knows how much the masks disagree</summary>This is the usual expectation, but the next figure shows the opposite: the spread finds the errors worst.</details>
# <details><summary>The mean of fifty masks, far ahead of one pass</summary>It ranks the answers almost as one pass does.</details>
# <details><summary>1 − confidence, and one pass is enough</summary>Yes. Fifty masks add next to nothing to it.</details>

# %%
warnings = {
    "1 − confidence, one pass": lambda found: (1 - found["one pass"], found["wrong"]),
    "1 − confidence, 50 masks": lambda found: (1 - found["fifty masks"], found["wrong with masks"]),
    "spread of 50 masks": lambda found: (found["spread"], found["wrong with masks"]),
}
figures.curves(
    angles,
    {name: each(lambda found, w=warning: auroc(*w(found))) for name, warning in warnings.items()},
    x="rotation in degrees",
    y="AUROC",
    title="Which uncertainty finds the errors at one angle?",
    bottom=0.4,
)

# %% [markdown]
# What to see: at 15° and 30° the spread is clearly the worst of the three, and one pass does as well as the mean of fifty masks. At 75° and 90° the masks are ahead, but there none of the three is a good warning.
#
# Why does the spread do worse? Probabilities with mean $m$ have a standard deviation of at most $\sqrt{m(1 - m)}$. (`torch.std` may exceed it by 1 %: it divides by 49, not 50.) Group the answers at 15° by $m$, their mean probability over the masks:

# %%
at_15 = {
    name: torch.cat([of_seed[1][name] for of_seed in measured()])
    for name in ("fifty masks", "spread", "wrong with masks")
}
print("mean m          spread   limit   wrong")
for low, high in ((0.2, 0.35), (0.35, 0.5), (0.5, 0.65), (0.65, 0.8), (0.8, 0.95), (0.95, 1.0)):
    group = (at_15["fifty masks"] > low) & (at_15["fifty masks"] <= high)
    mean, spread, wrong = (values[group].double().mean().item() for values in at_15.values())
    print(f"{low:.2f}–{high:.2f}  {spread:10.2f}  {(mean * (1 - mean)) ** 0.5:6.2f}  {wrong:6.0%}")

# %% [markdown]
# What to see: below $m = 0.35$, more than half of the answers are wrong, but their spread is *smaller* than around $m = 1/2$. The spread rises and falls with its limit, while the errors only become fewer. Near $m = 1$ the spread has to be small, but so is $1 - m$: this does not make the spread the worse of the two. It is a limit of both. Where the masks confidently agree on a wrong answer, as often at 90°, neither can warn.
#
# Now mix all angles, as if you did not know how far an image is rotated:


# %%
def over_all_angles(warning, of_seed) -> float:
    """The AUROC of all angles together."""
    pairs = [warning(found) for found in of_seed]
    return auroc(torch.cat([value for value, _ in pairs]), torch.cat([wrong for _, wrong in pairs]))


mixed = {
    name: [over_all_angles(warning, of_seed) for of_seed in measured()]
    for name, warning in warnings.items()
}
figures.runs(
    mixed,
    "AUROC, all angles mixed",
    "Finding the errors, all angles mixed",
)

# %% [markdown]
# What to see: all values are nearer to 0.5, chance, than to 1. The confidences suggest why: at 90°, where nearly every answer is wrong, one pass and fifty masks alike are *more* confident than on upright digits. The spread has the highest mean and one pass the lowest, but none separates right from wrong answers well.
#
# So here: near the training data, rank answers by the confidence of one pass. Far from it, the masks help a little, and nothing here is a reliable warning.

# %% [markdown]
# ## 9 · The real thing
#
# PyTorch has `F.dropout`, `nn.Dropout`, and `dropout_p` in its attention. Two correct functions may draw different masks. So compare what must agree: evaluation, the kept elements, their gradients, and the fraction dropped.

# %%
torch.manual_seed(0)
inputs = (1 + numbers(200, 300, seed=1).abs()).requires_grad_()
ours, theirs = dropout(inputs, 0.3, True), F.dropout(inputs, 0.3, True)
both_kept = ((ours != 0) & (theirs != 0)).detach()
difference = (ours - theirs)[both_kept].abs().max().item()
print(f"function, where both keep an element: largest difference {difference:.1e}")
gradients = [torch.autograd.grad(result.sum(), inputs)[0] for result in (ours, theirs)]
difference = (gradients[0] - gradients[1])[both_kept].abs().max().item()
print(f"gradient, where both keep an element: largest difference {difference:.1e}")
dropped = [(result == 0).double().mean().item() for result in (ours, theirs)]
print(f"fraction dropped at p = 0.3: yours {dropped[0]:.3f}, PyTorch's {dropped[1]:.3f}")

mine, block = Dropout(0.3).eval(), nn.Dropout(0.3).eval()
print(f"module in evaluation: largest difference {(mine(inputs) - block(inputs)).abs().max():.1e}")

# %% [markdown]
# And attention's own dropout. With the identity matrix as values, the output of attention is its weights:

# %%
query, key, identity = numbers(50, 8), numbers(60, 8, seed=1), torch.eye(60, dtype=torch.float64)
attention_weights = F.scaled_dot_product_attention(query, key, identity)
theirs = F.scaled_dot_product_attention(query, key, identity, dropout_p=0.5)
ours = attention_dropout(attention_weights, 0.5, True)
both_kept = (ours > 1e-12) & (theirs > 1e-12)
difference = (ours - theirs)[both_kept].abs().max().item()
print(f"attention weights, where both keep one: largest difference {difference:.1e}")
print("sums of three of PyTorch's rows:", [round(row, 2) for row in theirs.sum(-1)[:3].tolist()])

# %% [markdown]
# Where both keep an element, both give the same value: the differences are 0, apart from rounding. The last line shows that PyTorch does not renormalise its rows either.
#
# One more mistake raises no error. A function has no mode, so nothing tells it that you are evaluating:

# %%
first, second = (
    F.scaled_dot_product_attention(query, key, identity, dropout_p=0.5) for _ in range(2)
)
print("nothing is trained here; same result twice:", torch.equal(first, second))

# %% [markdown]
# What to see: `F.scaled_dot_product_attention` drops whenever `dropout_p` is above 0. A module that calls it must itself pass 0 in evaluation.

# %% [markdown]
# ## 10 · In your own words
#
# **Question** (5 minutes). A friend trains a model with $p = 0.1$ and gets good results. Before a demonstration she forgets `model.eval()`. The model still works, but a little worse, and the same input gets different answers. Another friend follows an old textbook: in PyTorch, he multiplies the activations by 0.9 in evaluation. What is wrong in each case, and what happens to the mean of the activations directly after dropout? Write three or four sentences in the cell below (double-click it). A person reads them.

# %% answer two_friends [markdown] points=2
# <!-- BEGIN SOLUTION -->
# The first model still drops units: every prediction uses another random mask, so it is noisy and differs from call to call. The mean of the activations directly after dropout is right, because inverted dropout divides the kept elements by 1 − p. The second model compensates twice: PyTorch has already scaled in training, so in evaluation the activations are right as they are, and the factor 0.9 makes them 10 % too small in every layer that applies it. Classic dropout, as in the textbook, needs that factor because it does not scale in training.
# <!-- END SOLUTION -->


# %% [markdown]
# ## Where you stand

# %%
from transformer_course.progress import show_progress

show_progress("05_dropout")

# %% [markdown]
# - Dropout sets each element to 0 with probability $p$, in training only, with independent Bernoulli draws.
# - Inverted dropout divides what it keeps by $1 - p$ in training. Classic dropout multiplies by $1 - p$ in evaluation. Never do both.
# - `eval()` switches off dropout modules, not gradients. A function with `dropout_p` has to be told. On its fast path, PyTorch's encoder layer drops nothing.
# - A Transformer applies dropout to the embeddings and the outputs of its branches, many also to the attention weights and the hidden features of the feed-forward network.
# - After dropout, the remaining attention weights are *not* renormalised.
# - Dropout reduces overfitting. Choose $p$ by validation accuracy, report test accuracy. With noisy labels, tuned weight decay and early stopping came close; on the small Transformer they gained next to nothing. Of the networks tested with missing units, those with dropout lost by far the least. Hidden pixels are another matter: there only dropout on pixels did clearly better than its rivals.
# - A test of a random function takes its tolerance from the standard error.
# - Monte Carlo dropout gives a mean and a spread. Near the training data, the confidence of a single pass found errors better than the spread.
#
# **What comes next.** Apart from the causal mask, nothing so far knows the order of the tokens. How does a model tell *dog bites man* from *man bites dog*? Lesson 6: positional encodings.
