# %% [markdown]
# # Lesson 17 · Loss landscapes and FLOPs
#
# **You build** the instruments behind two kinds of claims in papers: “this architecture is easier to train”, and “this architecture is cheaper”.
#
# **You need** the ideas of lessons 4, 7, 8 and 13: residual connections, layer norm, the pre-norm block, patches and windows. You also need the gradient, and the dot product of two long vectors.
#
# **You take away** `loss_surface`, `hessian_vector_product`, `power_iteration` and `spectrum_ends`, which work with any PyTorch model whose loss can be differentiated twice. Your FLOP counts agree with those of `torch.utils.flop_counter`.
#
# **Time**: about 300 minutes: 205 for the exercises and the question. Good places to stop are marked after about 120 and 220.

# %% given imports
import itertools
import math
import warnings
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode
from transformer_course import figures
from transformer_course.checks import Check, numbers

torch.set_num_threads(1)  # such small models train fastest on one core

# %% given helpers folded=true
# What the checks are made of, networks, directions, matrices: click to unfold.
double = partial(torch.tensor, dtype=torch.float64)


def small_net(*widths, seed=0, between: Any = nn.Tanh, scale=0.6) -> Any:
    """Linear layers with a nonlinearity between them and fixed weights, in float64."""
    layers: list[nn.Module] = []
    for wide, next_wide in itertools.pairwise(widths):
        layers += [nn.Linear(wide, next_wide), between()]
    model = nn.Sequential(*layers[:-1]).double()
    with torch.no_grad():
        for i, weight in enumerate(model.parameters()):
            weight.copy_(numbers(*weight.shape, seed=seed + i, scale=scale))
    return model


def two_directions(model, seed=50) -> Any:
    """Fixed directions with the shapes of the model's parameters."""
    shapes = [weight.shape for weight in model.parameters()]
    return [
        [numbers(*shape, seed=seed + 10 * k + i) for i, shape in enumerate(shapes)] for k in (0, 1)
    ]


def symmetric_matrix(size, seed=0, scale=1.0) -> Any:
    """A fixed symmetric matrix."""
    matrix = numbers(size, size, seed=seed, scale=scale)
    return matrix + matrix.T


def true_hessian(model, criterion, x, y) -> Any:
    """The whole Hessian by torch.autograd.functional, (parameters, parameters)."""
    named_weights = dict(model.named_parameters())
    names, weights = list(named_weights), [weight.detach() for weight in named_weights.values()]
    sizes = [weight.numel() for weight in weights]

    def loss_of(flat) -> Any:
        parts = [p.view_as(w) for p, w in zip(flat.split(sizes), weights, strict=True)]
        named = dict(zip(names, parts, strict=True))
        return criterion(torch.func.functional_call(model, named, (x,)), y)

    flat = torch.cat([weight.flatten() for weight in weights])
    return torch.autograd.functional.hessian(loss_of, flat)


# %% [markdown]
# Two networks classify the handwritten digits of lesson 8. Both have six blocks of two linear layers, the same parameters at the start, and the same 300 steps. One has residual connections, the other has none. Nothing else differs. (Five seeds each, recorded; you train your own in part 3.)

# %%
recorded_opening = {  # accuracy(network(kind, seed), digits) of part 3, for seeds 0 to 4
    "without residuals": [0.381, 0.465, 0.488, 0.531, 0.443],
    "with residuals": [0.937, 0.935, 0.946, 0.945, 0.934],
}
figures.runs(
    recorded_opening, "accuracy on held-out digits", "After 300 steps, five seeds", bottom=0.0
)

# %% [markdown]
# What to see: without residuals, fewer than half of the digits are right on average. A lecture explains the difference with two pictures of a surface, “[no residuals]” and “[residuals]”: the first full of peaks, the second a smooth bowl.
#
# What exactly does such a picture show? Does the shape say how well a network trains? And can such a picture deceive?

# %%
in_a_block = 2 * (32 * 32 + 32)  # two linear layers of width 32, with biases
parameter_count = (64 * 32 + 32) + 6 * in_a_block + (32 * 10 + 10)
print(f"the network has {parameter_count:,} parameters, the picture has two axes")

# %% [markdown]
# **Recall.** Three questions on lessons 4, 8 and 13. Answer first, then open your choice.
#
# 1. A block computes $x + f(x)$, and $J$ is the Jacobian of $f$. What is the Jacobian of the block?
#
# <details><summary>1</summary>A slide says so. But the branch <em>f</em> adds its own part.</details>
# <details><summary>J</summary>That is the block without its residual connection.</details>
# <details><summary>I + J</summary>Yes. Over many blocks, the identity keeps gradients from vanishing.</details>
#
# 2. What does a convolution assume about images that attention does not?
#
# <details><summary>That near pixels belong together, and that a pattern means the same everywhere</summary>Yes: its inductive bias. Attention has to learn both from data.</details>
# <details><summary>That images have three channels</summary>Both take any number of channels.</details>
# <details><summary>That the classes are equally frequent</summary>Neither knows the classes.</details>
#
# 3. An image has 4,000 patches. Full attention becomes window attention with 49 patches a window. By what factor does the number of pairs fall?
#
# <details><summary>49</summary>That is the number of keys which each query keeps.</details>
# <details><summary>About 82</summary>Yes: each query had 4,000 keys, and now has 49.</details>
# <details><summary>About 6,700</summary>That is 82². The number of queries has not changed.</details>

# %% folded=true
# Draws slices of a landscape as maps with contour lines: click to unfold.
from matplotlib.figure import Figure

SHADES = [0.01, 0.1, 1.0, 10.0]  # ticks of the colour bar


def draw_slices(
    slices: dict[str, Tensor],
    alphas: Tensor,
    betas: Tensor,
    axes_names: tuple[str, str] = ("β", "α"),
) -> figures.Picture:
    """Draw losses (alphas, betas) as maps: β to the right, α upwards, colours logarithmic."""
    size = (1.2 + 2.5 * len(slices), 3.0 if len(slices) == 1 else 2.6)
    figure = Figure(figsize=size, layout="constrained")
    told = []
    panels = figure.subplots(1, len(slices), squeeze=False)[0]
    extent = (float(betas[0]), float(betas[-1]), float(alphas[0]), float(alphas[-1]))
    image = None
    for axes, (title, losses) in zip(panels, slices.items(), strict=True):
        shades = losses.detach().double().clamp(SHADES[0], SHADES[-1]).log10()
        image = axes.imshow(shades, cmap="cividis", vmin=-2, vmax=1, origin="lower", extent=extent)
        levels = [-1.5, -1, -0.5, 0, 0.5]
        axes.contour(betas, alphas, shades, levels=levels, colors="white", linewidths=0.7)
        axes.plot(0, 0, "*", color=figures.LINES[1], markersize=11)
        axes.set_title(title, fontsize=11)
        axes.set(xlabel=axes_names[0], ylabel=axes_names[1])
        centre = float(losses[len(alphas) // 2, len(betas) // 2])
        told.append(
            f"{title}: {centre:.2g} at the centre, {losses.min():.2g} to {losses.max():.2g}"
        )
    if image is not None:
        bar = figure.colorbar(image, ax=list(panels), label="loss")
        bar.set_ticks([math.log10(shade) for shade in SHADES], labels=[f"{s:g}" for s in SHADES])
    return figures.Picture(figure, f"Losses over two directions. {'; '.join(told)}.")


# %% [markdown]
# ## 1 · A slice through the landscape
#
# The **loss landscape** of a model is its loss as a function of all its parameters. Here is the smallest interesting one: $y = w_2 w_1 x$, with one data point $x = 1$ whose target is 1. The loss is $(w_2 w_1 - 1)^2$.
#
# **Predict.** Where is the loss zero?
#
# <details><summary>At one point</summary>w₁ = w₂ = 1 is such a point. Is 2 · 0.5 another?</details>
# <details><summary>Along two curves</summary>Yes: wherever w₂ = 1 / w₁, for positive and for negative weights.</details>
# <details><summary>Nowhere</summary>1 · 1 = 1.</details>
#
# (How to read the map: the colour is logarithmic, everything above 10 is the same yellow, and everything below 0.01 the same dark blue. Along a white line the loss is constant; from line to line it grows by a factor of √10. Lines are dashed below 1.)

# %%
both_weights = torch.linspace(-3, 3, 61)
tiny_landscape = (both_weights[:, None] * both_weights - 1).square()
draw_slices({"all of the landscape": tiny_landscape}, both_weights, both_weights, ("w₁", "w₂"))

# %% [markdown]
# What to see: two dark valleys.
#
# At a **saddle point**, the gradient is zero, but the loss falls in one direction and rises in another. The star, (0, 0), is one. With two parameters, the map shows everything.
#
# With 15,082 parameters, a map can only show a **slice**: the losses on a plane through the weights $\theta$. Two directions $\delta_1$ and $\delta_2$ span the plane. Each has a number for every parameter:
#
# $$\text{surface}(\alpha, \beta) = L(\theta + \alpha\,\delta_1 + \beta\,\delta_2)$$
#
# Everything outside this plane stays invisible.
#
# **Exercise** (25 minutes). Write `loss_surface`. It must leave the parameters as they were, to the last bit. On a grid of 15 × 15 points, 225 times “add, then subtract” does not do that, because each addition rounds.
#
# <details><summary>Hint 1</summary>Compute every point from the same <em>θ</em>, never from the point before.</details>
# <details><summary>Hint 2</summary><code>torch.func.functional_call(model, weights, (inputs,))</code> calls a model with other weights, given by name, and leaves its own alone. Or keep clones, write into the parameters under <code>torch.no_grad()</code>, and copy the clones back.</details>


# %% exercise loss_surface
def loss_surface(
    model: nn.Module,
    criterion: Callable[[Tensor, Tensor], Tensor],
    inputs: Tensor,
    targets: Tensor,
    first: Sequence[Tensor],
    second: Sequence[Tensor],
    alphas: Tensor,
    betas: Tensor,
) -> Tensor:
    """criterion(model(inputs), targets) on a slice: (alphas, betas), detached.

    Entry [i, j] is the loss with weights θ + alphas[i] · first + betas[j] · second.
    first and second have a tensor for each parameter, in the order of model.parameters().
    The model is called in its current mode (training or evaluation). Afterwards its
    weights equal the old ones bit by bit, and its mode is the same.
    """
    # BEGIN SOLUTION
    names = [name for name, _ in model.named_parameters()]
    losses = []
    with torch.no_grad():
        for alpha in alphas:
            for beta in betas:
                parts = zip(model.parameters(), first, second, strict=True)
                moved = [weight + alpha * one + beta * other for weight, one, other in parts]
                named = dict(zip(names, moved, strict=True))
                losses.append(criterion(torch.func.functional_call(model, named, inputs), targets))
    return torch.stack(losses).reshape(len(alphas), len(betas))
    # END SOLUTION


# %% check loss_surface points=3
hint = "θ + α · first + β · second, every point from the same θ"


with Check("loss_surface", "a line with two parameters", hint) as check:
    model = nn.Linear(1, 1).double()
    with torch.no_grad():
        model.weight.fill_(2.0)
        model.bias.fill_(1.0)
    x, y = torch.ones(1, 1).double(), torch.zeros(1, 1).double()
    first, second = [double([[1.0]]), double([5.0])], [double([[3.0]]), double([10.0])]
    alphas, betas = double([0.0, 1.0, 2.0]), double([0.0, 1.0])
    surface = check.call(model, nn.MSELoss(), x, y, first, second, alphas, betas)
    check.shape(surface, alphas=3, betas=2)
    check.equal(surface[0, 0], double(9.0), "at α = β = 0 it is the model's loss, 9")
    check.equal(
        surface,
        double([[9.0, 256.0], [81.0, 484.0], [225.0, 784.0]]),
        "weight 2 + α + 3 β, bias 1 + 5 α + 10 β, input 1, target 0: loss (3 + 6 α + 13 β)²",
    )
    check.true(not surface.requires_grad, "the surface is detached")
with Check("loss_surface", "a network with three layers", hint) as check:
    model = small_net(4, 5, 3, seed=3)
    x, y = numbers(7, 4, seed=20), torch.arange(7) % 3
    first, second = two_directions(model)
    alphas, betas = numbers(3, seed=21), numbers(4, seed=22)
    surface = check.call(model, nn.CrossEntropyLoss(), x, y, first, second, alphas, betas)
    check.shape(surface, alphas=3, betas=4)
    for i, j in ((0, 0), (2, 1), (1, 3)):
        a, b = alphas[i], betas[j]
        w, c, v, d = (
            one + a * two + b * three
            for one, two, three in zip(model.parameters(), first, second, strict=True)
        )
        by_hand = F.cross_entropy(torch.tanh(x @ w.T + c) @ v.T + d, y).detach()
        check.equal(surface[i, j], by_hand, f"entry [{i}, {j}] belongs to alphas[{i}], betas[{j}]")
with Check("loss_surface", "the model afterwards") as check:
    for training in (True, False):
        model = small_net(4, 5, 3, seed=8).train(training)
        kept = [weight.detach().clone() for weight in model.parameters()]
        first, second = two_directions(model)
        steps = numbers(6, seed=23)
        check.call(
            model,
            nn.CrossEntropyLoss(),
            numbers(2, 4, seed=24),
            torch.tensor([2, 0]),
            first,
            second,
            steps,
            steps[:5],
        )
        check.true(
            all(torch.equal(old, new) for old, new in zip(kept, model.parameters(), strict=True)),
            "afterwards the weights equal the old ones, bit by bit",
            hint="start every point from a clone of the weights, and copy the clone back at the end",
        )
        check.true(model.training is training, "afterwards the model is in its old mode")
with Check("loss_surface", "the model's own mode") as check:
    off: Any = nn.Sequential(nn.Linear(2, 2), nn.Dropout(1.0)).double()
    with torch.no_grad():
        off[0].weight.copy_(numbers(2, 2))
    first, second = two_directions(off)
    one = double([0.5])
    x, y = numbers(3, 2, seed=25), torch.full((3, 2), 2.0).double()
    surface = check.call(off.train(), nn.MSELoss(), x, y, first, second, one, one)
    check.equal(
        surface,
        torch.full((1, 1), 4.0).double(),
        "in training mode, Dropout(1.0) gives zeros: the model should be called in its own mode",
        hint="call neither train() nor eval()",
    )


# BEGIN HIDDEN TESTS
def surface_by_copies(model, criterion, x, y, first, second, alphas, betas) -> Any:
    """The same with a deep copy for each point."""
    from copy import deepcopy

    of_copies = torch.empty(len(alphas), len(betas), dtype=first[0].dtype)
    for i, a in enumerate(alphas):
        for j, b in enumerate(betas):
            twin = deepcopy(model)
            for k, weight in enumerate(twin.parameters()):
                weight.data = weight.data + a * first[k] + b * second[k]
            of_copies[i, j] = criterion(twin(x), y).detach()
    return of_copies


class_targets = torch.tensor([1, 0, 2, 1, 1])
part_eval: Any = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 3)).double()
part_eval[1].eval()
for name, model, criterion, x, y in (
    (
        "cross-entropy, summed",
        small_net(3, 4, 3, seed=4),
        nn.CrossEntropyLoss(reduction="sum"),
        numbers(5, 3),
        class_targets,
    ),
    (
        "MSE, a batch of one",
        small_net(2, 3, 3, 2, seed=5),
        nn.MSELoss(),
        numbers(1, 2),
        numbers(1, 2),
    ),
    (
        "a convolution",
        nn.Sequential(nn.Conv2d(2, 3, 2), nn.ReLU(), nn.Flatten(), nn.Linear(18, 3)).double(),
        nn.CrossEntropyLoss(),
        numbers(5, 2, 3, 4),
        class_targets,
    ),
    (
        "the rate of a Poisson distribution",
        small_net(3, 4, 1, seed=6),
        nn.PoissonNLLLoss(),
        numbers(5, 3),
        double([[0.0], [2.0], [1.0], [3.0], [1.0]]),
    ),
    (
        "an embedding",
        nn.Embedding(4, 3).double(),
        nn.CrossEntropyLoss(),
        torch.tensor([3, 1, 0, 1, 2]),
        class_targets,
    ),
    (
        "buffers, and a part in evaluation mode",
        part_eval,
        nn.CrossEntropyLoss(),
        numbers(5, 3, scale=4.0),
        class_targets,
    ),
):
    with Check("loss_surface", f"other models: {name}") as check:
        first, second = two_directions(model, seed=60)
        for lengths in ((1, 1), (3, 1), (1, 4), (2, 5)):
            alphas, betas = (3 * numbers(n, seed=61 + i) for i, n in enumerate(lengths))
            kept = [weight.detach().clone() for weight in model.parameters()]
            modes = [part.training for part in model.modules()]
            expected = surface_by_copies(model, criterion, x, y, first, second, alphas, betas)
            surface = check.call(model, criterion, x, y, first, second, alphas, betas)
            check.shape(surface, alphas=lengths[0], betas=lengths[1])
            check.equal(surface, expected.double(), "equal to copies of the model")
            check.true(
                all(torch.equal(a, b) for a, b in zip(kept, model.parameters(), strict=True)),
                "the weights stay",
            )
            check.true([p.training for p in model.modules()] == modes, "the modes stay")
with Check("loss_surface", "frozen weights, float32") as check:
    model = small_net(3, 4, 3, seed=11)
    model[0].bias.requires_grad_(False)
    first, second = two_directions(model, seed=70)
    x, y = numbers(4, 3, seed=71), numbers(4, 3, seed=72)
    alphas, betas = numbers(2, seed=73), numbers(3, seed=74)
    given = (model, nn.MSELoss(), x, y, first, second, alphas, betas)
    check.equal(check.call(*given), surface_by_copies(*given), "a frozen bias moves, too")
    learns = [weight.requires_grad for weight in model.parameters()]
    check.true(learns == [True, False, True, True], "requires_grad stays")
    model = small_net(3, 4, 2, seed=9).float()
    first, second = ([part.float() for part in one] for one in two_directions(model, seed=75))
    given = (model, nn.MSELoss(), x.float(), x[:, :2].float(), first, second)
    surface = check.call(*given, alphas.float(), betas.float())
    check.equal(surface, surface_by_copies(*given, alphas.float(), betas.float()), "float32")
with Check("loss_surface", "large and far") as check:
    model = small_net(3, 4, 2, seed=10, scale=30.0)
    first, second = two_directions(model, seed=76)
    alphas, betas = 100 * numbers(7, seed=77), 1e-3 * numbers(6, seed=78)
    kept = [weight.detach().clone() for weight in model.parameters()]
    given = (model, nn.MSELoss(), numbers(4, 3), numbers(4, 2), first, second, alphas, betas)
    check.equal(check.call(*given), surface_by_copies(*given), "the losses")
    check.true(
        all(torch.equal(a, b) for a, b in zip(kept, model.parameters(), strict=True)),
        "the weights stay, bit by bit",
    )
# END HIDDEN TESTS

# %% [markdown]
# ## 2 · The same function, another picture
#
# A ReLU lets a positive factor pass: $\text{relu}(10\,a) = 10\,\text{relu}(a)$. So you can multiply one layer (weight and bias) by 10 and the weight of the next by 0.1, and every output stays the same. Do that to a small, untrained network, and draw two slices with the *same* random directions:

# %%
scaled_inputs, scaled_targets = numbers(40, 4, seed=1), torch.arange(40) % 3


def small_relu(factor: float) -> nn.Sequential:
    """The same function for each positive factor: a layer times it, the next weight divided."""
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).double()
    with torch.no_grad():
        for seed, (weight, times) in enumerate(
            zip(model.parameters(), (factor, factor, 1 / factor, 1.0), strict=True)
        ):
            weight.copy_(times * numbers(*weight.shape, seed=seed, scale=0.7))
    return model


def random_directions(model: nn.Module, seed: int) -> list[list[Tensor]]:
    """Two random directions: a tensor for each parameter."""
    draw = torch.Generator().manual_seed(seed)
    shapes = [(weight.shape, weight.dtype) for weight in model.parameters()]
    return [[torch.randn(s, generator=draw, dtype=d) for s, d in shapes] for _ in range(2)]


unit = torch.linspace(-1, 1, 15, dtype=torch.float64)


def slice_of(model: nn.Sequential, directions: list[list[Tensor]]) -> Tensor:
    """A slice of the small network's landscape."""
    first, second = directions
    given = (scaled_inputs, scaled_targets, first, second)
    return loss_surface(model, nn.CrossEntropyLoss(), *given, unit, unit)


plain_slices = {}
for factor in (1.0, 10.0):
    relu_net = small_relu(factor)
    plain_slices[f"factor {factor:g}"] = slice_of(relu_net, random_directions(relu_net, 0))
draw_slices(plain_slices, unit, unit)

# %% [markdown]
# What to see: two different slices for one and the same function. Which of them is “flat” depends on the scale of the weights alone. (Dinh et al., 2017: a minimum can be made as sharp as one likes without changing the function.)

# %%
for factor in (1.0, 10.0):
    matrices = [weight.detach() for weight in small_relu(factor).parameters() if weight.dim() > 1]
    lengths = [float(torch.linalg.vector_norm(matrix)) for matrix in matrices]
    print(f"factor {factor:3g}: the weights' norms are {lengths[0]:.2f} and {lengths[1]:.2f}")

# %% [markdown]
# A step of the same length is short for one matrix, and long for the other. So random directions say little when two networks differ in scale.
#
# A **filter**, here, is all that one output unit multiplies its input by: a row of a linear layer's weight, a kernel of a convolution. In PyTorch, filter $i$ is `weight[i]`.
#
# **Filter normalisation** (Li et al., 2018) gives each filter of a random direction the norm of the model's own filter. A step of 1 along the direction is then as long as the filter itself. Biases and the parameters of norms, which have fewer than two axes, do not move.
#
# **Exercise** (15 minutes). Write `filter_normalize`.
#
# <details><summary>Hint</summary>Take the norm over all axes but axis 0, and keep these axes with <code>keepdim=True</code>. With three such axes, <code>torch.linalg.vector_norm</code> is the function to use.</details>


# %% exercise filter_normalize
def filter_normalize(direction: Tensor, weight: Tensor) -> Tensor:
    """Give each filter direction[i] the norm of weight[i].

    Both have the same shape, which the result has too. A filter of zeros stays zero. Fewer than
    two axes (a bias): zeros.
    """
    # BEGIN SOLUTION
    if weight.dim() < 2:
        return torch.zeros_like(direction)
    axes = tuple(range(1, weight.dim()))
    own = torch.linalg.vector_norm(direction, dim=axes, keepdim=True)
    wanted = torch.linalg.vector_norm(weight, dim=axes, keepdim=True)
    return torch.where(own > 0, direction / own, 0.0) * wanted
    # END SOLUTION


# %% check filter_normalize points=2
hint = "divide each filter of the direction by its own norm, multiply by the weight's"
with Check("filter_normalize", "two filters of two weights", hint) as check:
    weight = double([[3.0, 4.0], [0.0, 2.0], [1.0, 0.0]])
    direction = double([[1.0, 0.0], [3.0, 4.0], [0.0, -2.0]])
    check.equal(
        check.call(direction, weight),
        double([[5.0, 0.0], [1.2, 1.6], [0.0, -1.0]]),
        "the weight's rows have the norms 5, 2 and 1",
        within=1e-6,
    )
with Check("filter_normalize", "the filters of a convolution", hint) as check:
    weight, direction = numbers(4, 3, 2, 5), numbers(4, 3, 2, 5, seed=1, scale=7.0)
    result = check.call(direction, weight)
    check.shape(result, filters=4, channels=3, height=2, width=5)
    check.equal(
        result.flatten(1).square().sum(1),
        weight.flatten(1).square().sum(1),
        "each filter, over all its channels and pixels, has the norm of the weight's filter",
        hint="the norm runs over all axes but axis 0",
        within=1e-5,
    )
    check.equal(
        result[2] / result[2, 0, 0, 0],
        direction[2] / direction[2, 0, 0, 0],
        "inside a filter, only the length changes",
        within=1e-6,
    )
    check.equal(
        check.call(1000 * direction, weight),
        result,
        "the direction's own length does not matter",
        within=1e-5,
    )
with Check("filter_normalize", "biases") as check:
    for shape in ((3,), (1,), ()):
        bias = numbers(*shape)
        check.equal(check.call(bias, bias + 1), 0 * bias, "fewer than two axes: zeros")
with Check("filter_normalize", "slices of zeros") as check:
    weight, direction = numbers(3, 4), numbers(3, 4, seed=1)
    direction[1], weight[2] = 0, 0
    result = check.call(direction, weight)
    check.equal(result[1], 0 * direction[1], "a zero filter of the direction stays zero, not NaN")
    check.equal(result[2], 0 * direction[1], "where the weight's filter is zero, so is the result")
# BEGIN HIDDEN TESTS
with Check("filter_normalize", "other shapes") as check:
    for shape in ((5, 2), (1, 6), (6, 1), (2, 3, 4), (3, 2, 3, 3), (2, 3, 2, 2, 2), (7, 7)):
        for dtype in (torch.float64, torch.float32):
            for scale in (1.0, 200.0, 0.02):
                weight = numbers(*shape, seed=3, scale=scale, dtype=dtype)
                direction = numbers(*shape, seed=4, scale=1 / scale, dtype=dtype)
                result = check.call(direction, weight)
                flat, base = direction.flatten(1).double(), weight.flatten(1).double()
                ratio = base.square().sum(1).sqrt() / flat.square().sum(1).sqrt()
                expected = (flat * ratio[:, None]).reshape(shape)
                check.equal(
                    result.double(), expected.to(dtype).double(), f"{shape}", within=1e-4 * scale
                )
with Check("filter_normalize", "more zeros") as check:
    zeros = torch.zeros(3, 2, 2).double()
    check.equal(check.call(zeros, numbers(3, 2, 2)), zeros, "a direction of zeros")
    check.equal(check.call(numbers(3, 2, 2), zeros), zeros, "a weight of zeros")
    check.equal(check.call(zeros, zeros), zeros, "both zero")
    check.equal(
        check.call(-numbers(4, 3), numbers(4, 3)),
        -numbers(4, 3),
        "the opposite direction",
        within=1e-6,
    )
# END HIDDEN TESTS


# %%
def normalised_directions(model: nn.Module, seed: int) -> list[list[Tensor]]:
    """Two random directions, normalised filter by filter."""
    pair = random_directions(model, seed)
    return [
        [
            filter_normalize(part, weight.detach())
            for part, weight in zip(one, model.parameters(), strict=True)
        ]
        for one in pair
    ]


normalised_slices = {}
for factor in (1.0, 10.0):
    relu_net = small_relu(factor)
    normalised_slices[f"factor {factor:g}"] = slice_of(relu_net, normalised_directions(relu_net, 0))
draw_slices(normalised_slices, unit, unit)

# %% [markdown]
# What to see: now both slices are the same. Each filter's direction $d$ grows and shrinks with the filter $w$: $(10\,w) + \alpha\,(10\,d)$ is $10\,(w + \alpha\,d)$. So the factor cancels everywhere on the slice.
#
# Filter normalisation removes this one way to deceive. Others remain: a slice shows only two of many directions.
#
# **From the lecture**: *Transformers*, CSCI 4360/6360, “Residual Connection” (the two surfaces after Li et al., 2018).

# %% [markdown]
# ## 3 · Four networks
#
# Each network has six blocks of width 32. Two switches, residual connections and layer norm, give four kinds: `plain`, `norm`, `residual` and `both`. All have the same optimiser (Adam), the same learning rate and the same batches. (The norms add 6 · 64 = 384 parameters, 2.5 %.)


# %% folded=true
# The digits, the four networks, and their training: click to unfold.
digit_pixels, digit_targets = load_digits(return_X_y=True)
mixed = torch.randperm(len(digit_targets), generator=torch.Generator().manual_seed(0))
digits = torch.tensor(digit_pixels, dtype=torch.float32)[mixed] / 16
labels = torch.tensor(digit_targets)[mixed]
TRAINED = 1000  # the first digits are for training, the others held out
measured_digits, measured_labels = digits[:500], labels[:500]
cross_entropy = nn.CrossEntropyLoss()
KINDS = ("plain", "norm", "residual", "both")


class Block(nn.Module):
    """Two linear layers, with or without a residual connection and a norm before them."""

    def __init__(self, width: int, residual: bool, norm: bool) -> None:
        super().__init__()
        self.residual = residual
        self.norm = nn.LayerNorm(width) if norm else nn.Identity()
        self.linear1, self.linear2 = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        out = self.linear2(F.relu(self.linear1(self.norm(x))))
        return x + out if self.residual else out


def new_network(kind: str, seed: int) -> nn.Sequential:
    """Six blocks between two linear layers, untrained."""
    torch.manual_seed(seed)
    residual, norm = kind in ("residual", "both"), kind in ("norm", "both")
    blocks = (Block(32, residual, norm) for _ in range(6))
    return nn.Sequential(nn.Linear(64, 32), *blocks, nn.Linear(32, 10))


def fit(
    model: nn.Module, inputs: Tensor, optimizer: Any, steps: int, batch: int, seed: int
) -> None:
    """Train on the first 1,000 digits."""
    draw = torch.Generator().manual_seed(seed)
    for rows in torch.randint(TRAINED, (steps, batch), generator=draw):
        optimizer.zero_grad()
        cross_entropy(model(inputs[rows]), labels[rows]).backward()
        optimizer.step()


@cache  # trains at the first call
def network(kind: str, seed: int, method: str = "Adam", rate: float = 1e-3) -> nn.Sequential:
    """A trained network: 300 steps of Adam or SGD."""
    model = new_network(kind, seed)
    optimizer = {"Adam": torch.optim.Adam, "SGD": torch.optim.SGD}[method]
    fit(model, digits, optimizer(model.parameters(), lr=rate), 300, 64, seed)
    return model


@torch.no_grad()
def accuracy(model: nn.Module, inputs: Tensor) -> float:
    """The share of held-out digits that are right."""
    right = model(inputs[TRAINED:]).argmax(1) == labels[TRAINED:]
    return right.double().mean().item()


# %%
for kind in KINDS:
    print(f"{kind:9} {accuracy(network(kind, 0), digits):.1%} of the held-out digits")

# %% [markdown]
# What to see: of the four, only the plain network misses most of the digits. Is that due to the optimiser or its learning rate? Two of the kinds were also trained with other settings, recorded. **Gradient descent** is the simplest optimiser: each step subtracts the learning rate times the gradient from the parameters. **SGD** (stochastic gradient descent) is gradient descent with the gradient of a single batch in each step.

# %%
recorded_rates = {  # accuracy(network(kind, seed, method, rate), digits), for seeds 0 to 2
    "plain, SGD 0.05": [0.090, 0.097, 0.097],
    "residual, SGD 0.05": [0.923, 0.934, 0.913],
    "plain, Adam 0.001": [0.381, 0.465, 0.488],
    "residual, Adam 0.001": [0.937, 0.935, 0.946],
    "plain, Adam 0.003": [0.738, 0.492, 0.636],
    "residual, Adam 0.003": [0.942, 0.954, 0.890],
}
figures.runs(
    recorded_rates,
    "accuracy on held-out digits",
    "Three optimiser settings, three seeds",
    bottom=0.0,
)

# %% [markdown]
# What to see: with Adam, the larger learning rate helps the plain network. But in each of the three settings, the residual network is far better. (All have PyTorch's default initialisation. Another one might help the plain network: that was not tried.) From here on, the optimiser is Adam with a learning rate of 0.001, unless stated otherwise.
#
# The losses of these networks, here and in part 6, are measured on 500 of the 1,000 training digits. All accuracies are measured on the held-out digits.

# %% [markdown]
# **Predict.** You draw a slice through each trained network. In which one does the loss rise least, from the centre (the trained network) to the highest point of the slice?
#
# <details><summary>plain: it has learned least</summary>Its loss is above 1 everywhere, and above 100 in a corner of this slice.</details>
# <details><summary>norm</summary>Nearly: 9 at most, on this slice. But one network stays lower.</details>
# <details><summary>residual: that is what the two pictures suggest</summary>It stands in a deep basin. But at the edge of this slice, its loss is 59.</details>
# <details><summary>both</summary>Yes: 7 at most, on this slice.</details>

# %%
reach = torch.linspace(-1, 1, 15)


@cache
def digit_slice(kind: str, method: str = "Adam", rate: float = 1e-3) -> Tensor:
    """A slice through a trained network, seed 0, with your functions."""
    model = network(kind, 0, method, rate)
    first, second = normalised_directions(model, 0)
    given = (measured_digits, measured_labels, first, second)
    return loss_surface(model, cross_entropy, *given, reach, reach)


draw_slices({kind: digit_slice(kind) for kind in KINDS}, reach, reach)

# %%
for kind in KINDS:
    drawn = digit_slice(kind)
    spread = f"{drawn.min():5.2f} to {drawn.max():6.2f}"
    print(f"{kind:9} loss at the centre {drawn[7, 7]:.2f}, on the slice {spread}")

# %% [markdown]
# What to see: the star is the trained network. Three of the networks stand in a basin. The plain network stands on a plateau with a loss above 1 and a steep side. At the edges, the loss is at most 9 with norms. Without norms, it is up to 59 (residual) and 124 (plain). None of these slices has the peaks of the lecture's first picture. (The lecture's picture shows a ResNet with 56 layers, without its residual connections. And each of yours is one slice of one seed.)
#
# With SGD and a learning rate of 0.05, the plain network learns almost nothing:

# %%
stuck = network("plain", 0, "SGD", 0.05)
stuck_slice = digit_slice("plain", "SGD", 0.05)
print(f"plain, SGD: {accuracy(stuck, digits):.0%} right, loss {stuck_slice[7, 7]:.4f}")
print(f"loss on the whole slice: {stuck_slice.min():.4f} to {stuck_slice.max():.4f}")
print(f"the loss of equal probabilities, ln 10: {math.log(10):.4f}")

# %% [markdown]
# What to see: this is the flattest slice of all, and the network guesses. Everywhere on the slice, its loss stays within 0.06 of ln 10, the loss of equal probabilities. *Flat* is about how steep and how curved the surface is. *Good* is about its height.
#
# Pictures are hard to compare over five seeds. The next parts measure with one number how curved a landscape is.

# %% [markdown]
# ## 4 · Curvature
#
# How long may a step of gradient descent be? Call the learning rate $\eta$, and try gradient descent on a parabola, $L(x) = \tfrac{\lambda}{2} x^2$. The gradient is $\lambda x$, so a step gives
#
# $$x \leftarrow x - \eta \lambda x = (1 - \eta\lambda)\, x$$
#
# The second derivative $\lambda$ is called the **curvature**.
#
# **Predict.** $\lambda$ is positive. For which positive $\eta$ does $|x|$ shrink?
#
# <details><summary>For every positive η: the gradient points downhill</summary>A long step downhill can end higher, on the other side.</details>
# <details><summary>For η below 1 / λ</summary>Then x keeps its sign. A change of sign is allowed, if |x| gets smaller.</details>
# <details><summary>For η below 2 / λ</summary>Yes: then 1 − ηλ is between −1 and 1.</details>

# %%
descents = {}
for times in (0.5, 1.0, 1.9, 2.1):
    x_values = [1.0]
    while len(x_values) < 11:
        x_values.append(x_values[-1] * (1 - times))
    descents[f"η = {times:g} / λ"] = x_values
figures.curves(list(range(11)), descents, "step", "x", "Ten steps on a parabola")

# %% [markdown]
# What to see: η = 1/λ needs one step, 1.9/λ converges slowly, 2.1/λ diverges.
#
# With many parameters, every direction has its own curvature. The **Hessian** $H$ is the matrix of all second derivatives, $H_{ij} = \partial^2 L / \partial\theta_i\,\partial\theta_j$. A small step $s$ changes the loss by
#
# $$L(\theta + s) - L(\theta) \approx g \cdot s + \tfrac{1}{2}\, s \cdot H s$$
#
# with the gradient $g$. For $s = t v$ with a unit vector $v$ (length 1), the right side is a parabola in $t$:
#
# $$t\,(g \cdot v) + \tfrac{1}{2}\, t^2\, (v \cdot Hv)$$
#
# So the curvature along $v$ is $v \cdot Hv$.

# %% [markdown]
# The Hessian of 15,082 parameters has 227 million entries. A **Hessian–vector product** $Hv$ is the Hessian times a vector, and costs about as much as three gradients.
#
# How? For a fixed $v$, the gradient of the number $g \cdot v$ is $Hv$:
#
# $$\frac{\partial}{\partial\theta_i} \sum_j \frac{\partial L}{\partial\theta_j}\, v_j = \sum_j H_{ij}\, v_j$$

# %%
two_weights = torch.tensor([2.0, 3.0], requires_grad=True)  # a and b
loss_ab = (two_weights[0] * two_weights[1] - 1).square()  # (ab − 1)²
(slope_ab,) = torch.autograd.grad(loss_ab, two_weights, create_graph=True)
print("gradient:", slope_ab.tolist())
for v_ab in (torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])):
    (column_ab,) = torch.autograd.grad(slope_ab @ v_ab, two_weights, retain_graph=True)
    print(f"H times {v_ab.tolist()}: {column_ab.tolist()}")

# %% [markdown]
# What to see: `create_graph=True` makes the gradient itself differentiable. The two products are the columns of $H$ for $(ab - 1)^2$ at $(a, b) = (2, 3)$. By hand: the gradient is $2(ab - 1)\,(b, a)$, and
#
# $$H = \begin{pmatrix} 2b^2 & 4ab - 2 \\ 4ab - 2 & 2a^2 \end{pmatrix} = \begin{pmatrix} 18 & 22 \\ 22 & 8 \end{pmatrix}$$
#
# **Exercise** (25 minutes). Write `hessian_vector_product` for every model, with all its parameters in one flat vector.
#
# <details><summary>Hint 1</summary>Use <code>torch.autograd.grad</code> twice. Unlike <code>backward()</code>, it adds nothing to <code>.grad</code>.</details>
# <details><summary>Hint 2</summary>Join the gradients, flattened, into one vector; multiply by <code>vector</code>; sum; differentiate with respect to the same parameters; join again.</details>
# <details><summary>Hint 3</summary><code>materialize_grads=True</code> gives zeros for a parameter that a gradient does not depend on.</details>


# %% exercise hessian_vector_product
def hessian_vector_product(
    model: nn.Module,
    criterion: Callable[[Tensor, Tensor], Tensor],
    inputs: Tensor,
    targets: Tensor,
    vector: Tensor,
) -> Tensor:
    """The Hessian of criterion(model(inputs), targets) times vector, exact, detached.

    vector and the result: (parameters,), all parameters flattened, in the order of
    model.parameters(); all of them require gradients. The model, its mode and its .grad are left
    unchanged.
    """
    # BEGIN SOLUTION
    parameters = list(model.parameters())
    loss = criterion(model(inputs), targets)
    slopes = torch.autograd.grad(loss, parameters, create_graph=True, materialize_grads=True)
    slope_along_vector = torch.cat([slope.flatten() for slope in slopes]) @ vector
    columns = torch.autograd.grad(slope_along_vector, parameters, materialize_grads=True)
    return torch.cat([column.flatten() for column in columns])
    # END SOLUTION


# %% check hessian_vector_product points=3
hint = "differentiate the dot product of gradient and vector by the parameters"


with Check("hessian_vector_product", "two weights that you can do by hand", hint) as check:
    chain: Any = nn.Sequential(nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)).double()
    with torch.no_grad():
        chain[0].weight.fill_(2.0)
        chain[1].weight.fill_(3.0)
    one = torch.ones(1, 1).double()
    given = (chain, nn.MSELoss(reduction="sum"), one, one)
    for vector, expected in (((1.0, 0.0), (18.0, 22.0)), ((1.0, 10.0), (238.0, 102.0))):
        product = check.call(*given, double(vector))
        check.shape(product, parameters=2)
        check.equal(
            product,
            double(expected),
            f"(ab - 1)² with a = 2 and b = 3 has H = 18 22 above 22 8; times {list(vector)}",
        )
    check.true(not product.requires_grad, "the product is detached")
with Check("hessian_vector_product", "a network, compared with its whole Hessian", hint) as check:
    model = small_net(3, 4, 2, seed=30)
    x, y = numbers(6, 3, seed=31), torch.arange(6) % 2
    whole = true_hessian(model, nn.CrossEntropyLoss(), x, y)
    for i in (0, 13, 25):
        vector = torch.zeros(26).double()
        vector[i] = 1.0
        product = check.call(model, nn.CrossEntropyLoss(), x, y, vector)
        check.shape(product, parameters=26)
        check.equal(
            product, whole[:, i], f"times the unit vector {i}, it is column {i} of the Hessian"
        )
    vector = numbers(26, seed=32)
    product = check.call(model, nn.CrossEntropyLoss(), x, y, vector)
    check.equal(product, whole @ vector, "times a vector without zeros")
    check.equal(
        check.call(model, nn.CrossEntropyLoss(), x, y, vector),
        product,
        "a second call gives the same",
        hint="torch.autograd.grad leaves .grad alone; backward() adds to it",
    )
    check.equal(
        check.call(model, nn.CrossEntropyLoss(), x, y, 1e6 * vector),
        1e6 * product,
        "a vector a million times as long gives a product a million times as long",
        hint="differentiate twice, without a finite step",
    )
with Check(
    "hessian_vector_product",
    "a parameter that the model does not use",
    "materialize_grads=True gives zeros for what a gradient does not depend on",
) as check:
    spare: Any = nn.Sequential(nn.Linear(2, 3), nn.Identity()).double()
    spare[1].register_parameter("unused", nn.Parameter(numbers(2)))
    with torch.no_grad():
        spare[0].weight.copy_(numbers(3, 2, seed=38))
        spare[0].bias.copy_(numbers(3, seed=39))
    x, y, vector = numbers(4, 2), torch.tensor([0, 1, 2, 0]), numbers(11)
    product = check.call(spare, nn.CrossEntropyLoss(), x, y, vector)
    check.shape(product, parameters=11)
    check.equal(
        product,
        true_hessian(spare, nn.CrossEntropyLoss(), x, y) @ vector,
        "the last two entries, of the unused parameter, are zeros",
    )
with Check("hessian_vector_product", "the model afterwards") as check:
    for training in (False, True):
        model = small_net(3, 4, 2, seed=33).train(training)
        kept = [weight.detach().clone() for weight in model.parameters()]
        for weight in model.parameters():
            weight.grad = torch.ones_like(weight)
        check.call(model, nn.MSELoss(reduction="sum"), numbers(2, 3), numbers(2, 2), numbers(26))
        check.true(
            all(torch.equal(old, new) for old, new in zip(kept, model.parameters(), strict=True)),
            "the weights equal the old ones, bit by bit",
        )
        check.true(model.training is training, "the model is in its old mode")
        grads = [weight.grad for weight in model.parameters()]
        check.true(
            all(grad is not None and bool((grad == 1).all()) for grad in grads),
            "each .grad is as it was",
            hint="torch.autograd.grad leaves .grad alone; backward() and zero_grad() do not",
        )
# BEGIN HIDDEN TESTS
dropped = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Dropout(1.0), nn.Linear(4, 3)).double()
for name, model, criterion, x, y in (
    (
        "three layers, summed",
        small_net(2, 3, 4, 2, seed=34),
        nn.MSELoss(reduction="sum"),
        numbers(3, 2),
        numbers(3, 2, seed=1),
    ),
    (
        "ReLU",
        small_net(4, 5, 3, seed=35, between=nn.ReLU),
        nn.CrossEntropyLoss(),
        numbers(7, 4),
        torch.arange(7) % 3,
    ),
    (
        "a batch of one",
        small_net(3, 2, 4, seed=36, between=nn.Softplus),
        nn.CrossEntropyLoss(),
        numbers(1, 3),
        torch.tensor([2]),
    ),
    (
        "large weights",
        small_net(3, 3, 2, seed=37, scale=5.0),
        nn.MSELoss(reduction="sum"),
        numbers(4, 3),
        numbers(4, 2),
    ),
    (
        "a convolution and a norm",
        nn.Sequential(
            nn.Conv2d(1, 2, 2), nn.GELU(), nn.Flatten(), nn.LayerNorm(12), nn.Linear(12, 3)
        ).double(),
        nn.CrossEntropyLoss(),
        numbers(5, 1, 3, 4),
        torch.tensor([0, 2, 1, 1, 0]),
    ),
    (
        "an embedding with unused rows",
        nn.Sequential(nn.Embedding(5, 2), nn.Linear(2, 3)).double(),
        nn.CrossEntropyLoss(),
        torch.tensor([4, 1, 1]),
        torch.tensor([0, 2, 1]),
    ),
    ("dropout that drops all", dropped, nn.MSELoss(reduction="sum"), numbers(4, 2), numbers(4, 3)),
):
    with Check("hessian_vector_product", f"other models: {name}") as check:
        for weight, seed in zip(model.parameters(), range(60, 80), strict=False):
            with torch.no_grad():
                weight.copy_(
                    numbers(*weight.shape, seed=seed, scale=float(weight.std(correction=0)) or 0.5)
                )
        whole = true_hessian(model, criterion, x, y)
        for seed, scale in ((40, 1.0), (41, 1e5), (42, 1e-5)):
            vector = numbers(len(whole), seed=seed, scale=scale)
            product = check.call(model, criterion, x, y, vector)
            check.shape(product, parameters=len(whole))
            check.equal(
                product / scale,
                whole @ vector / scale,
                "the product",
                within=1e-8 * (1 + float(whole.abs().max())),
            )
        check.equal(check.call(model, criterion, x, y, 0 * vector), 0 * vector, "times zero")
with Check("hessian_vector_product", "linear and symmetric") as check:
    model = small_net(3, 3, 3, 2, seed=43)
    given = (model, nn.CrossEntropyLoss(), numbers(5, 3, seed=44), torch.arange(5) % 2)
    one, other = numbers(32, seed=45), numbers(32, seed=46)
    h_one, h_other = check.call(*given, one), check.call(*given, other)
    check.equal(
        check.call(*given, 2 * one - 3 * other), 2 * h_one - 3 * h_other, "linear", within=1e-8
    )
    check.equal(one @ h_other, other @ h_one, "symmetric", within=1e-8)
with Check("hessian_vector_product", "one layer in two positions, and float32") as check:
    shared = nn.Linear(2, 2).double()
    with torch.no_grad():
        shared.weight.copy_(numbers(2, 2, seed=47))
        shared.bias.copy_(numbers(2, seed=48))
    model = nn.Sequential(shared, nn.Tanh(), shared)
    given = (model, nn.MSELoss(reduction="sum"), numbers(4, 2, seed=49), numbers(4, 2, seed=50))
    vector = numbers(6, seed=51)

    def shared_loss(flat, given=given) -> Any:
        w, b = flat[:4].view(2, 2), flat[4:]
        return (torch.tanh(given[2] @ w.T + b) @ w.T + b - given[3]).square().sum()

    flat = torch.cat([weight.detach().flatten() for weight in shared.parameters()])
    expected: Any = torch.autograd.functional.hessian(shared_loss, flat)
    check.equal(check.call(*given, vector), expected @ vector, "a shared layer counts once")
    model = small_net(3, 4, 2, seed=52)
    x, y, vector = numbers(6, 3, seed=53), torch.arange(6) % 2, numbers(26, seed=54)
    expected = true_hessian(model, nn.CrossEntropyLoss(), x, y) @ vector
    product = check.call(model.float(), nn.CrossEntropyLoss(), x.float(), y, vector.float())
    check.equal(product, expected.float(), "float32", within=1e-4)
    kinds = {weight.dtype for weight in model.parameters()}
    check.true(kinds == {torch.float32}, "the model's weights are still float32")
# END HIDDEN TESTS

# %% [markdown]
# ## 5 · Bug hunt: is it a Hessian?
#
# A Hessian–vector product is easy to get wrong in a way that no check of shapes reveals. This code has been written many times:


# %%
def product_by_backward(
    model: nn.Module, inputs: Tensor, targets: Tensor, vector: Tensor
) -> Tensor:
    """A Hessian–vector product by two calls of backward. Is it right?"""
    model.zero_grad()
    weights = list(model.parameters())
    warnings.filterwarnings("ignore", "Using backward")  # zero_grad below breaks the cycle
    cross_entropy(model(inputs), targets).backward(create_graph=True)
    slopes: list[Any] = [weight.grad for weight in weights]
    (torch.cat([slope.flatten() for slope in slopes]) @ vector).backward()
    found: list[Any] = [weight.grad for weight in weights]
    result = torch.cat([part.detach().flatten() for part in found])
    model.zero_grad()
    return result


# %% [markdown]
# For a large model you do not have the true Hessian to compare with. But you know two laws that multiplication by a Hessian obeys:
#
# - A *linear* function preserves sums and multiples: $H(av + bw) = a\,Hv + b\,Hw$ for all numbers $a$, $b$ and vectors $v$, $w$.
# - A **symmetric** matrix equals its transpose, so $v \cdot Hw = w \cdot Hv$. A Hessian is symmetric, as $\partial^2 L/\partial\theta_i\,\partial\theta_j$ does not depend on the order. (That needs continuous second derivatives: a network with ReLUs has kinks, and is smooth between them.)
#
# **Exercise** (25 minutes). Write the test, before you read on: does a function obey both laws?
#
# <details><summary>Hint 1</summary>Random vectors find what unit vectors overlook. Use some of different lengths, with entries of both signs.</details>
# <details><summary>Hint 2</summary>Two ways to compute the same number differ by rounding. Compare the difference with the size of the numbers: a Hessian may have entries of 10⁶ or of 10⁻⁶.</details>


# %% exercise could_be_hessian
def could_be_hessian(product: Callable[[Tensor], Tensor], size: int) -> bool:
    """Is product linear and symmetric, up to rounding?

    product takes a float64 vector (size,), size at least 1, and returns one. False if either law
    is violated by more than a millionth of the size of the products. True if by less than a
    billionth: that is rounding. Between the two, either answer is right.
    """
    # BEGIN SOLUTION
    draw = torch.Generator().manual_seed(17)
    one, other = (torch.randn(size, generator=draw, dtype=torch.float64) for _ in range(2))
    first, second, both = product(one), product(other), product(3 * one - 0.5 * other)
    size_of_both = (3 * first).abs().max() + second.abs().max()
    linear = (both - 3 * first + 0.5 * second).abs().max() <= 1e-9 * size_of_both
    symmetric = (one @ second - other @ first).abs() <= 1e-9 * size * size_of_both
    return bool(linear and symmetric)
    # END SOLUTION


# %% check could_be_hessian points=2
hint = "try random vectors: both laws, with a tolerance relative to the numbers"


with Check("could_be_hessian", "symmetric matrices") as check:
    for size, scale in ((4, 1.0), (1, 1.0), (7, 1e10), (5, 1e-6), (3, 0.0)):
        matrix = symmetric_matrix(size, scale=scale)
        check.true(
            check.call(lambda v, matrix=matrix: matrix @ v, size, returns=bool),
            f"a symmetric matrix of {size} by {size}, entries of about {scale:g}, should pass",
            hint="leave room for rounding, in proportion to the size of the numbers",
        )
with Check("could_be_hessian", "what breaks a law", hint) as check:
    matrix, shift = symmetric_matrix(4, seed=1), numbers(4, seed=2)
    skew = matrix + torch.triu(numbers(4, 4, seed=3), 1)
    for what, wrong in (
        ("a matrix that is not symmetric", lambda v, m=skew: m @ v),
        ("Hv plus a constant vector", lambda v, m=matrix, s=shift: m @ v + s),
        ("H times the absolute values of v", lambda v, m=matrix: m @ v.abs()),
        ("Hv divided by the length of v", lambda v, m=matrix: m @ v / v.norm()),
    ):
        check.true(not check.call(wrong, 4, returns=bool), f"{what} should not pass")
    check.true(
        not check.call(lambda v, m=skew: 1e-12 * (m @ v), 4, returns=bool),
        "a matrix that is not symmetric, with entries of about 10⁻¹², should not pass",
        hint="compare a difference with the size of the numbers, not with a fixed number",
    )
# BEGIN HIDDEN TESTS
with Check("could_be_hessian", "more that pass") as check:
    for size in (1, 2, 6, 30):
        for seed, scale in ((4, 1.0), (5, 1e8), (6, 1e-8), (7, 3e-3)):
            matrix = symmetric_matrix(size, seed=seed, scale=scale)
            check.true(
                check.call(lambda v, m=matrix: m @ v, size, returns=bool), "a symmetric matrix"
            )
            check.true(
                check.call(lambda v, m=matrix: -(m @ (m @ v)), size, returns=bool), "negative"
            )
        check.true(check.call(lambda v: 0 * v, size, returns=bool), "zero")
        check.true(check.call(lambda v: -2.5 * v, size, returns=bool), "a multiple of the identity")
        outer = numbers(size, seed=8)
        check.true(check.call(lambda v, o=outer: o * (o @ v), size, returns=bool), "rank one")
        spread = torch.logspace(-5, 5, size, dtype=torch.float64)
        check.true(
            check.call(lambda v, s=spread: s * v, size, returns=bool), "eigenvalues far apart"
        )
with Check("could_be_hessian", "more that do not pass") as check:
    for size in (2, 5, 30):
        for scale in (1.0, 1e6, 1e-6):
            matrix, shift = (
                symmetric_matrix(size, seed=9, scale=scale),
                scale * numbers(size, seed=10),
            )
            skew = numbers(size, size, seed=11, scale=scale)
            slightly = matrix.clone()
            slightly[0, 1] += 0.01 * scale * size
            corner = matrix.clone()
            corner[0, -1] += scale
            for what, wrong in (
                ("skew", lambda v, m=skew: (m - m.T) @ v),
                ("a triangle", lambda v, m=matrix: m.tril() @ v),
                ("slightly skew", lambda v, m=slightly: m @ v),
                ("skew in one corner", lambda v, m=corner: m @ v),
                ("a shift", lambda v, m=matrix, s=shift: m @ v + s),
                ("a constant", lambda v, s=shift: s + 0 * v),
                ("absolute results", lambda v, m=matrix: (m @ v).abs()),
                ("times the length", lambda v, m=matrix: (m @ v) * v.norm()),
                ("by the largest entry", lambda v, m=matrix: (m @ v) / v.abs().max()),
                ("a cube", lambda v, c=scale: c * v**3),
                ("a cube that keeps multiples", lambda v, c=scale: c * v**3 / (v @ v)),
                ("positive parts", lambda v, m=matrix: m @ v.clamp(min=0)),
                ("reversed", lambda v, m=matrix: (m @ v).flip(0) + m.tril() @ v),
                ("a square added", lambda v, m=matrix, c=scale: m @ v + 0.1 * c * v * v),
            ):
                check.true(not check.call(wrong, size, returns=bool), f"{what}, {size}, {scale:g}")
    barely = double([[1.0, 2.0], [2.0 + 3e-4, 3.0]])
    check.true(not check.call(lambda v, m=barely: m @ v, 2, returns=bool), "3 in 20,000")
    check.true(not check.call(lambda v: v + 1.0, 1, returns=bool), "one number, plus one")
    check.true(not check.call(lambda v: v * v, 1, returns=bool), "one number, squared")
    check.true(not check.call(lambda v: v.abs(), 1, returns=bool), "one number, without its sign")
# END HIDDEN TESTS


# %%
def product_of(model: nn.Module, inputs: Tensor, targets: Tensor) -> Callable[[Tensor], Tensor]:
    """The Hessian–vector product of a model's loss as a function of the vector, with your code."""
    return partial(hessian_vector_product, model, cross_entropy, inputs, targets)


@cache
def double_network() -> nn.Sequential:
    """A small network in float64, for tests."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 8), nn.Tanh(), nn.Linear(8, 10)).double()


few_digits, few_labels = digits[:50].double(), labels[:50]
count = sum(weight.numel() for weight in double_network().parameters())
yours = product_of(double_network(), few_digits, few_labels)
famous = partial(product_by_backward, double_network(), few_digits, few_labels)
print("yours:                ", could_be_hessian(yours, count))
print("two calls of backward:", could_be_hessian(famous, count))

# %% [markdown]
# What to see: the second one breaks both laws. `backward()` *adds* to `.grad`, and the first call has already left the gradient there: the result is $g + Hv$. This is not linear in $v$, and $v \cdot (g + Hw)$ is not $w \cdot (g + Hv)$. At the end of training $g$ is small, and so is the error. But called with a vector of zeros, the function returns the gradient.
#
# The laws are necessary, not sufficient. The **Gauss–Newton matrix** is the Hessian that the loss would have if the logits were linear in the parameters. It obeys both laws, too. But only the Hessian says how the gradient changes with a small step $v$:
#
# $$g(\theta + v) - g(\theta - v) \approx 2\,Hv$$
#
# <details><summary>The Gauss–Newton matrix as a formula</summary>J<sup>T</sup> H<sub>z</sub> J, where J is the Jacobian of the logits with respect to the parameters, and H<sub>z</sub> is the Hessian of the loss with respect to the logits. The Hessian has one more term, with the second derivatives of the logits.</details>

# %% folded=true
# Multiplies by the Gauss–Newton matrix, and computes gradients at other weights: click to unfold.
v_small = numbers(count, seed=5, scale=1e-4)
weights_before = torch.nn.utils.parameters_to_vector(double_network().parameters()).detach()


def in_parts(vector: Tensor, model: nn.Module) -> list[Tensor]:
    """A flat vector as a list of tensors with the shapes of the parameters."""
    weights = list(model.parameters())
    parts = vector.split([weight.numel() for weight in weights])
    return [part.view_as(weight) for part, weight in zip(parts, weights, strict=True)]


def slope_at(point: Tensor) -> Tensor:
    """The gradient of the small network's loss at other weights."""
    model = double_network()
    torch.nn.utils.vector_to_parameters(point, model.parameters())
    slopes = torch.autograd.grad(
        cross_entropy(model(few_digits), few_labels), list(model.parameters())
    )
    torch.nn.utils.vector_to_parameters(weights_before, model.parameters())
    return torch.cat([slope.flatten() for slope in slopes])


def gauss_newton_product(vector: Tensor) -> Tensor:
    """Multiply by the Gauss–Newton matrix: the model as if its logits were linear in the weights."""
    model = double_network()

    def logits_at(point: Tensor) -> Tensor:
        weights = dict(zip(dict(model.named_parameters()), in_parts(point, model), strict=True))
        return torch.func.functional_call(model, weights, (few_digits,))

    def slope_of_logits(logits: Tensor) -> Tensor:
        return torch.func.grad(lambda z: cross_entropy(z, few_labels))(logits)

    logits, change = torch.func.jvp(logits_at, (weights_before,), (vector,))[:2]
    change_of_slope = torch.func.jvp(slope_of_logits, (logits,), (change,))[1]
    return torch.func.vjp(logits_at, weights_before)[1](change_of_slope)[0]


# %%
difference = (slope_at(weights_before + v_small) - slope_at(weights_before - v_small)) / 2
for told, multiply in (("your Hv", yours), ("Gauss–Newton", gauss_newton_product)):
    error = (difference - multiply(v_small)).abs().max() / difference.abs().max()
    passes = could_be_hessian(multiply, count)
    print(f"{told:12} obeys both laws: {passes}; relative difference here: {error:.0e}")

# %% [markdown]
# What to see: both pass your test, but only yours agrees with the change of the gradient.

# %% [markdown]
# **A good place to stop.** You can draw a slice, and multiply by a Hessian. Next: its largest eigenvalue. (Back later? Run all above.)

# %% [markdown]
# ## 6 · The largest eigenvalue
#
# A vector $v$ that $H$ only stretches, $Hv = \lambda v$, is an **eigenvector**, and the factor $\lambda$ is its **eigenvalue**. A symmetric $H$ has a full set of eigenvectors, at right angles to one another. Along each, the curvature is $\lambda$. So the *largest* eigenvalue limits the learning rate: above $2 / \lambda$, steps along its eigenvector diverge.
#
# What happens to a vector that $H$ multiplies again and again? Try a diagonal $H$.
#
# <details><summary>What are its eigenvectors?</summary>A diagonal matrix is zero except on its diagonal. It multiplies each entry of a vector by one number. So the axes are its eigenvectors, and the numbers are its eigenvalues. Each entry is the <em>component</em> of the vector along one eigenvector: its part in that direction.</details>

# %%
three = torch.tensor([5.0, 2.0, -1.0])  # the eigenvalues of a diagonal matrix
at = torch.tensor([1.0, 1.0, 1.0]) / math.sqrt(3)
for step in range(6):
    told = ", ".join(f"{number:6.3f}" for number in at.tolist())
    print(f"after {step} products, as a unit vector: {told}; v · Hv = {at @ (three * at):.3f}")
    at = three * at / (three * at).norm()

# %% [markdown]
# What to see: the component along the eigenvector of the largest eigenvalue, 5, grows fastest, and after five products little else is left. **Power iteration** is the loop “multiply a vector by the matrix, normalise the result, repeat”. $v \cdot Hv$ (the *Rayleigh quotient*) then estimates the eigenvalue with the largest absolute value, with its sign. (A random start practically always has a component along its eigenvector. With 4 and −4 as the largest, the loop does not converge.)
#
# **Predict.** The eigenvalues are 4, 1 and −6. To what does $v \cdot Hv$ converge?
#
# <details><summary>4</summary>It is the largest. But which component of v grows fastest?</details>
# <details><summary>−6</summary>Yes: |−6| is the largest. v changes its sign in each step, and v · Hv does not.</details>
# <details><summary>6</summary>That would be the growth of the length. v · Hv keeps the sign.</details>
#
# **Exercise** (20 minutes). Write `power_iteration`. It gets the Hessian as a function.
#
# <details><summary>Hint 1</summary>Normalise the start before anything else: with 0 steps, you still return a unit vector.</details>
# <details><summary>Hint 2</summary>After the last update, one more product gives the eigenvalue.</details>


# %% exercise power_iteration
def power_iteration(
    product: Callable[[Tensor], Tensor], start: Tensor, steps: int
) -> tuple[Tensor, Tensor]:
    """Return (eigenvalue, vector) after `steps` updates: one number, and (size,).

    The first v is start, normalised (start is not zero). An update replaces v by product(v),
    normalised; if product(v) is zero, v stays. eigenvalue is v · product(v) for the last v, with
    its sign, and vector is that v.
    """
    # BEGIN SOLUTION
    vector = start / torch.linalg.vector_norm(start)
    for _ in range(steps):
        image = product(vector)
        length = torch.linalg.vector_norm(image)
        if length > 0:
            vector = image / length
    return vector @ product(vector), vector
    # END SOLUTION


# %% check power_iteration points=2
hint = "normalise the start; multiply and normalise; at the end v · product(v)"
both_names = {"eigenvalue": float, "vector": Tensor}
with Check("power_iteration", "two eigenvalues, step by step", hint) as check:
    pair = double([4.0, 1.0])
    start = double([3.0, 4.0])

    def stretch(v, pair=pair) -> Any:
        return pair * v

    eigenvalue, vector = check.call(stretch, start, 0, returns=both_names)
    check.shape(vector, size=2)
    check.equal(vector, start / 5, "without any step, the vector is the start, normalised")
    check.equal(
        eigenvalue,
        2.08,
        "(0.6, 0.8) and the eigenvalues 4 and 1: v · Hv = 4 · 0.36 + 1 · 0.64",
    )
    eigenvalue, vector = check.call(stretch, start, 1, returns=both_names)
    check.equal(
        vector,
        double([3.0, 1.0]) / 10**0.5,
        "after a step it is (2.4, 0.8), normalised",
    )
    check.equal(eigenvalue, 3.7, "v · Hv of the last vector: 0.9 · 4 + 0.1 · 1")
    eigenvalue, vector = check.call(stretch, start, 40, returns=both_names)
    check.equal(eigenvalue, 4.0, "after 40 steps: 4", within=1e-8)
with Check("power_iteration", "a negative eigenvalue", hint) as check:
    pair = double([4.0, -6.0, 1.0])
    start = numbers(3, seed=1)
    eigenvalue, vector = check.call(lambda v, p=pair: p * v, start, 90, returns=both_names)
    check.equal(
        eigenvalue,
        -6.0,
        "the eigenvalues are 4, -6 and 1: -6 has the largest absolute value",
        hint="v · Hv keeps the sign; the length of Hv does not",
        within=1e-6,
    )
with Check("power_iteration", "a product of zero", hint) as check:
    flat = double([0.0, 0.0, 3.0])
    start = double([0.0, -2.0, 0.0])
    eigenvalue, vector = check.call(lambda v, p=flat: p * v, start, 3, returns=both_names)
    check.equal(vector, start / 2, "a product of zero leaves the vector as it was")
    check.equal(eigenvalue, 0.0, "and the eigenvalue is 0")
    later = double([[0.0, 2.0, 0.0], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0]])
    start = double([0.0, 0.0, -4.0])
    eigenvalue, vector = check.call(lambda v, m=later: m @ v, start, 9, returns=both_names)
    check.equal(
        vector,
        double([-1.0, 0.0, 0.0]),
        "where the third product is zero, the vector stays as it was after two steps",
    )
    tiny = double([1e-30, 3e-30])
    eigenvalue, vector = check.call(
        lambda v, p=tiny: p * v, double([1.0, 1.0]), 9, returns=both_names
    )
    check.equal(
        vector,
        double([1.0, 3.0**9]) / (1 + 3.0**18) ** 0.5,
        "eigenvalues of 10⁻³⁰ are small, but not zero",
    )
with Check("power_iteration", "four entries, three steps", hint) as check:
    matrix, start = symmetric_matrix(4, seed=3), double([-1.0, 2.0, 0.5, -0.5])
    eigenvalue, vector = check.call(lambda v, m=matrix: m @ v, start, 3, returns=both_names)
    thrice = matrix @ (matrix @ (matrix @ start))
    check.equal(
        vector, thrice / thrice.norm(), "the vector is HHH start, normalised, with its signs"
    )
    check.equal(
        eigenvalue, float(vector @ matrix @ vector), "the eigenvalue is v · Hv of that vector"
    )


# BEGIN HIDDEN TESTS
def by_powers(matrix, start, steps) -> Any:
    """The same with powers of the matrix, at a scale that cannot overflow."""
    size = matrix.abs().max()
    at = torch.linalg.matrix_power(matrix / size, steps) @ (start / start.norm())
    at = at / at.norm()
    return at @ matrix @ at, at


for size, steps, scale in (
    (1, 2, 3.0),
    (2, 3, 1.0),
    (5, 4, 1e4),
    (7, 0, 1.0),
    (6, 11, 1e-5),
    (9, 1, 0.2),
    (3, 40, 1e10),
):
    with Check("power_iteration", f"{size} eigenvalues, {steps} steps, size {scale:g}") as check:
        for seed in range(3):
            matrix = symmetric_matrix(size, seed=20 + seed, scale=scale)
            start = numbers(size, seed=30 + seed, scale=(1e-20, 1.0, 50.0)[seed])
            eigenvalue, vector = check.call(
                lambda v, m=matrix: m @ v, start, steps, returns=both_names
            )
            expected, direction = by_powers(matrix, start, steps)
            check.shape(vector, size=size)
            check.equal(eigenvalue / scale, float(expected) / scale, "the eigenvalue", within=1e-7)
            check.equal(vector, direction, "the vector", within=1e-6)
with Check("power_iteration", "zero, sooner or later, and float32") as check:
    nilpotent = double([[0.0, 2.0, 0.0], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0]])
    start = double([0.0, 0.0, -4.0])
    eigenvalue, vector = check.call(lambda v, m=nilpotent: m @ v, start, 9, returns=both_names)
    check.equal(vector, double([-1.0, 0.0, 0.0]), "stays at the last vector before zero")
    check.equal(eigenvalue, 0.0, "and 0")
    eigenvalue, vector = check.call(lambda v: 0 * v, start, 5, returns=both_names)
    check.equal(vector, start / 4, "a Hessian of zeros")
    saddle_like, start = double([[1.0, -1.0], [-1.0, 1.0]]), double([1.0, 0.0])
    eigenvalue, vector = check.call(lambda v, m=saddle_like: m @ v, start, 1, returns=both_names)
    check.equal(vector, double([1.0, -1.0]) / 2**0.5, "entries that cancel are not zero")
    pair = torch.tensor([-2.0, 1.0])
    eigenvalue, vector = check.call(lambda v, p=pair: p * v, torch.ones(2), 30, returns=both_names)
    check.equal(eigenvalue, -2.0, "float32", within=1e-4)
with Check("power_iteration", "a tiny, but not zero product") as check:
    tiny = double([1e-30, 3e-30])
    start = torch.ones(2).double()
    eigenvalue, vector = check.call(lambda v, p=tiny: p * v, start, 30, returns=both_names)
    check.equal(eigenvalue * 1e30, 3.0, "is not zero", within=1e-6)
# END HIDDEN TESTS


# %%
@cache
def sharpest(kind: str, steps: int = 20) -> tuple[float, Tensor]:
    """The largest eigenvalue of a trained network, seed 0, and its eigenvector."""
    model = network(kind, 0)
    size = sum(weight.numel() for weight in model.parameters())
    product = product_of(model, measured_digits, measured_labels)
    value, vector = power_iteration(product, numbers(size, dtype=torch.float32), steps)
    return float(value), vector


for kind in KINDS:
    top = sharpest(kind)[0]
    print(f"{kind:9} largest eigenvalue {top:6.1f}, 2 / λ = {2 / top:.4f}")
for updates in (10, 20, 40):
    print(f"norm, {updates} steps: {sharpest('norm', updates)[0]:.2f}")

# %% [markdown]
# What to see: 20 steps are enough. Twice as many change the value by less than 0.2 % for `norm`, and by less than 1 % in each network of the next figure. All values are positive, so the largest in absolute value is also the largest. (Papers call the largest eigenvalue the *sharpness*. The limit 2 / λ is for gradient descent: Adam's learning rate cannot be compared with it.)
#
# Here is the same for five seeds, recorded: `power_iteration` with 20 steps, after 300 steps of training. (On your machine, the last digits of seed 0 may differ, because rounding does.)

# %%
recorded_tops = {  # of network(kind, seed), as sharpest(kind) finds them, for seeds 0 to 4
    "plain": [301.2, 182.3, 270.9, 184.1, 265.7],
    "norm": [235.0, 761.1, 478.3, 266.9, 489.4],
    "residual": [63.0, 50.0, 49.5, 42.8, 98.3],
    "both": [163.6, 20.3, 13.7, 72.1, 45.0],
}
figures.runs(recorded_tops, "largest eigenvalue", "Largest curvature, five seeds", bottom=0.0)
recorded_accuracies = {
    "plain": [0.381, 0.465, 0.488, 0.531, 0.443],
    "norm": [0.926, 0.920, 0.928, 0.945, 0.908],
    "residual": [0.937, 0.935, 0.946, 0.945, 0.934],
    "both": [0.949, 0.962, 0.967, 0.967, 0.962],
}
figures.runs(recorded_accuracies, "accuracy on held-out digits", "The same networks", bottom=0.0)

# %% [markdown]
# What to see: residual connections go with a much smaller largest eigenvalue: 43 to 98 against 182 to 301 without norms, 14 to 164 against 235 to 761 with norms. In these networks, the curvature agrees with the lecture's pictures.
#
# But curvature does not predict accuracy. The `norm` networks have the *largest* eigenvalues, on average 446 against 241 for `plain`. They get 91 to 95 % of the digits right, the `plain` ones 38 to 53 %.
#
# <details><summary>Is that a fair comparison?</summary>Not quite: the plain networks also have a much higher loss. A fairer pair is norm and residual at seed 0, which have the same loss, 0.06: λ is 235 against 63, and the accuracy is almost the same.</details>
#
# One more caution: filter normalisation corrects slices, but not λ. Here is the largest eigenvalue of the two small networks of part 2, which compute the same function:

# %%
for factor in (1.0, 10.0):
    same_function = product_of(small_relu(factor), scaled_inputs, scaled_targets)
    value = power_iteration(same_function, numbers(67), 100)[0]
    print(f"factor {factor:3g}: largest eigenvalue {value:.1f}")

# %% [markdown]
# What to see: for one and the same function, λ is 2.9 with factor 1, and 240.6 with factor 10. Where a weight was divided by 10, the second derivative with respect to it has become 100 times as large. So λ says which steps are too long for *these* weights. By itself, it does not say that a function is flat. Keep this in mind in part 7, too, where you compare two architectures by λ.
#
# Does 2 / λ limit a single step, too? Take each of the four trained networks, compute the gradient on the 500 training digits on which λ was measured, and take one step of gradient descent.


# %%
def loss_change(model: nn.Module, rate: float) -> float:
    """The change of the loss after one step of gradient descent; the model stays."""
    loss = cross_entropy(model(measured_digits), measured_labels)
    slopes = torch.autograd.grad(loss, list(model.parameters()))
    zero = [torch.zeros_like(slope) for slope in slopes]
    step, none = torch.tensor([-rate]), torch.zeros(1)
    given = (model, cross_entropy, measured_digits, measured_labels, slopes, zero)
    return (loss_surface(*given, step, none) - loss.detach()).item()


for kind in KINDS:
    top = recorded_tops[kind][0]
    changes = [loss_change(network(kind, 0), times / top) for times in (1, 2, 4)]
    told = ", ".join(f"{change:+.4f}" for change in changes)
    print(f"{kind:9} steps of 1/λ, 2/λ, 4/λ change the loss by {told}")

# %%
recorded_changes = {  # change of the loss, five seeds: loss_change(network(kind, seed), …)
    "plain, 1/λ": [-0.066, -0.143, -0.061, -0.023, -0.027],
    "plain, 4/λ": [0.101, 0.740, -0.036, 0.112, 0.004],
    "norm, 1/λ": [-0.025, -0.039, -0.019, -0.005, -0.137],
    "norm, 4/λ": [0.093, -0.039, -0.032, -0.009, -0.035],
    "residual, 1/λ": [-0.018, -0.017, -0.005, -0.007, -0.037],
    "residual, 4/λ": [0.064, 0.041, 0.006, 0.028, 0.060],
    "both, 1/λ": [-0.0185, -0.0004, -0.0004, -0.0032, -0.0015],
    "both, 4/λ": [-0.0171, 0.0001, 0.0010, -0.0017, 0.0039],
}
for setting, changes in recorded_changes.items():
    lower = sum(change < 0 for change in changes)
    print(f"{setting:13} lowers the loss in {lower} of 5 networks")

# %% [markdown]
# What to see: a step of 1/λ lowers the loss in all 20 networks. At seed 0, a step of 2/λ still lowers it in all four. A step of 4/λ raises it in nine of ten networks without norms, but only in four of ten with norms.
#
# **Predict.** A loss is quadratic in many parameters, and λ is the largest eigenvalue of its Hessian. Does *one* step of 4/λ always raise it?
#
# <details><summary>Yes</summary>It does along eigenvectors with an eigenvalue above λ/2. What does it do along the others?</details>
# <details><summary>No</summary>Right. One step below 2/λ raises the loss along no eigenvector. One of 4/λ can raise it only along those with an eigenvalue above λ/2: the sum depends on where the gradient points. (If you repeat the step, the largest eigenvalue decides.)</details>
#
# A real landscape is close to quadratic only near $\theta$. These runs do not show why the networks with norms differ.
#
# ### A ball in the landscape
#
# The axes of the next slice are the two eigenvectors with the largest eigenvalues. On this slice, a ball takes steps of gradient descent.
#
# <details><summary>How do you find the second eigenvector?</summary>By power iteration on Hv − λ₁ v₁ (v₁ · v), where λ₁ is the first eigenvalue, and v₁ its eigenvector. There, v₁ has the eigenvalue 0.</details>


# %%
@cache
def two_sharpest(kind: str) -> tuple[float, Tensor, float, Tensor]:
    """The two largest eigenvalues, each before its eigenvector."""
    value, vector = sharpest(kind, 30)
    product = product_of(network(kind, 0), measured_digits, measured_labels)

    def without_first(v: Tensor) -> Tensor:
        return product(v) - value * vector * (vector @ v)

    second, direction = power_iteration(without_first, vector.flip(0), 30)
    return value, vector, float(second), direction


first_value, second_value = two_sharpest("residual")[::2]
print(f"the two largest eigenvalues: {first_value:.1f} and {second_value:.1f}")

# %%
from transformer_course.widgets import show_landscape

walked = network("residual", 0)
largest_two = two_sharpest("residual")
show_landscape(
    loss_surface,
    walked,
    cross_entropy,
    measured_digits,
    measured_labels,
    in_parts(largest_two[1], walked),
    in_parts(largest_two[3], walked),
    curvature=largest_two[0],
    reach=0.12,
)

# %% [markdown]
# **Puzzle.** Move the start of the ball with the arrow keys, and the slider of the learning rate. At 0.5 / λ the ball comes to rest from every start. Find a start from which it does not at 1 / λ. Then find one from which it comes to rest even at 2.5 / λ. How can that be, above 2 / λ?
#
# <details><summary>Solution</summary>In the upper corners the loss rises faster than the parabola of λ: the first step is too long, and the ball leaves the slice. A few starts beside the lowest point come to rest even at 2.5 / λ, and none at 3 / λ. λ is the curvature at the centre, where the trained network is. The lowest point of the slice is beside it, and its curvature is smaller.</details>
# <details><summary>You see a picture without a slider?</summary>On the right, two lines cut the slice through the star, the trained network. The dotted parabola has the curvature λ, which the line along α has at the star. But the parabola has no slope there, and the line along α has one. The curvature of this line also changes quickly: it is larger for positive α, and smaller for negative α. (The line along β is close to the parabola by chance: its curvature at the star is the second eigenvalue, 48.7.)</details>

# %% [markdown]
# ## 7 · Both ends of the spectrum
#
# All eigenvalues of a matrix together are its **spectrum**. A second lecture explains Vision Transformers with two pictures: “loss landscape” and “Hessian max eigenvalue spectra”. Both are from Park and Kim (2022): there, attention makes the landscape flatter than convolution does, with a larger number of *negative* eigenvalues. This surface has one eigenvalue of each sign:

# %%
saddle = 1.5 + both_weights[:, None].square() - both_weights.square() / 7
draw_slices({"eigenvalues 2 and −2/7": saddle}, both_weights, both_weights)

# %% [markdown]
# What to see: a saddle point. From the centre, the loss rises along α and falls along β.
#
# Power iteration gives one end only. But its vectors contain more. For every unit vector $u$, $u \cdot Hu$ is a weighted mean of the eigenvalues of $H$. So it lies between its ends. With more vectors to choose $u$ from, you can only come closer to both.
#
# So keep them all, $v, Hv, H^2 v, \dots$, and ask for the largest and the smallest $u \cdot Hu$ of all unit vectors $u$ in their *span*, the set of their weighted sums. The last vector of power iteration is one of them, so the largest $u \cdot Hu$ is not below its estimate.
#
# <details><summary>Why is u · Hu a weighted mean of the eigenvalues?</summary>Write u as a weighted sum of eigenvectors of length 1, at right angles to one another. Multiply by H: the coefficient of each eigenvector is multiplied by its eigenvalue. So u · Hu is the sum of the eigenvalues, each times the square of its coefficient. The squares add up to 1, as u is a unit vector.</details>
#
# First, power iteration alone:

# %%
spread_values = torch.linspace(-2, 10, 40).double()  # the eigenvalues of a diagonal matrix
some_start = numbers(40, seed=3)
vectors = [some_start / some_start.norm()]
while len(vectors) < 8:
    stretched = spread_values * vectors[-1]
    vectors.append(stretched / stretched.norm())
last_only = [float(v @ (spread_values * v)) for v in vectors]
figures.curves(
    list(range(1, 9)),
    {"v · Hv of power iteration": last_only, "largest": [10.0] * 8, "smallest": [-2.0] * 8},
    "vectors",
    "eigenvalue",
    "Power iteration finds one end, slowly",
)

# %% [markdown]
# What to see: after eight vectors, power iteration is still below 10, and says nothing about −2.
#
# **Lanczos iteration** estimates both ends from the whole span. **Orthonormal** vectors are unit vectors at right angles. Make the vectors orthonormal as you go: multiply the newest one by $H$, subtract from the product its components along all vectors so far, and normalise the rest. Let them be the columns of $Q$.
#
# Every unit vector of the span (the *Krylov space*) is $u = Qc$ with a unit vector $c$. So $u \cdot Hu = (Qc) \cdot H(Qc) = c \cdot Tc$, with the small symmetric matrix $T = Q^\top H Q$. The extremes of $c \cdot Tc$ are the largest and the smallest eigenvalue of $T$.
#
# <details><summary>Why is this the span of v, Hv, H²v, …?</summary>H times the newest vector adds the next power of H, and what is subtracted was in the span already. The columns are orthonormal, so the weighted sum u = Qc is as long as c.</details>
#
# <details><summary>Why are these extremes eigenvalues of T?</summary>As before, c · Tc is a weighted mean, here of T's eigenvalues. The largest such mean is the largest eigenvalue, and the smallest is the smallest.</details>
#
# <details><summary>Other texts subtract only two components, and their T is tridiagonal. Why?</summary>Let q be the newest vector and b an earlier one. H is symmetric, so the component of Hq along b is b · Hq = q · Hb. And Hb is a weighted sum of the vectors up to the one after b. If b comes before the last two vectors, q is at right angles to all of these: the component is zero. So without rounding, only the last two components are left, T is tridiagonal (zero except on and beside its diagonal), and the textbook version subtracts these two alone. With rounding, its vectors are soon no longer at right angles. To subtract all components is called <em>full reorthogonalisation</em>.</details>
#
# **Exercise** (35 minutes). Write `spectrum_ends`.
#
# <details><summary>Hint 1</summary>Keep two lists: the orthonormal vectors, and their products. T is then the matrix of all dot products of the two.</details>
# <details><summary>Hint 2</summary>The component of x along a unit vector b is (b · x) b. Subtract the components one after another. Then do it all a second time, to remove what rounding left.</details>
# <details><summary>Hint 3</summary><code>torch.linalg.eigvalsh</code> returns the eigenvalues of a symmetric matrix in ascending order.</details>


# %% exercise spectrum_ends
def spectrum_ends(
    product: Callable[[Tensor], Tensor], start: Tensor, steps: int
) -> tuple[Tensor, Tensor]:
    """Return (lowest, highest): the extremes of u · Hu, two numbers.

    u: all unit vectors in the span of start, H start, …, H^(steps − 1) start, with product(v) = Hv
    for a symmetric H; steps is at least 1, start is not zero. Ends early when the new part of a
    product is less than 1e-8 of the product, or the product is zero.
    """
    # BEGIN SOLUTION
    basis, images = [start / torch.linalg.vector_norm(start)], []
    while True:
        images.append(product(basis[-1]))
        rest = images[-1]
        for known in basis * 2:
            rest = rest - (known @ rest) * known
        length = torch.linalg.vector_norm(rest)
        if len(basis) == steps or length <= 1e-8 * torch.linalg.vector_norm(images[-1]):
            break
        basis.append(rest / length)
    values = torch.linalg.eigvalsh(torch.stack(basis) @ torch.stack(images).T)
    return values[0], values[-1]
    # END SOLUTION


# %% check spectrum_ends points=3
hint = "orthonormal vectors, their products, the small matrix of dot products, its eigenvalues"
end_names = {"lowest": float, "highest": float}
with Check("spectrum_ends", "a diagonal matrix with 3 and -1", hint) as check:
    pair = double([3.0, -1.0])
    start = double([5.0, 5.0])

    def stretch(v, pair=pair) -> Any:
        return pair * v

    lowest, highest = check.call(stretch, start, 1, returns=end_names)
    check.equal(lowest, 1.0, "one step knows the start only: v · Hv = 1")
    check.equal(highest, 1.0, "with one step, both ends are v · Hv")
    lowest, highest = check.call(stretch, start, 2, returns=end_names)
    check.equal(lowest, -1.0, "two steps span the plane: the lowest is -1")
    check.equal(highest, 3.0, "and the highest is 3")
with Check("spectrum_ends", "the span of three vectors", hint) as check:
    matrix, start = symmetric_matrix(8, seed=40), numbers(8, seed=41)
    krylov = torch.stack([start, matrix @ start, matrix @ (matrix @ start)], 1)
    q = torch.linalg.qr(krylov).Q
    inside = torch.linalg.eigvalsh(q.T @ matrix @ q)
    lowest, highest = check.call(lambda v, m=matrix: m @ v, start, 3, returns=end_names)
    check.equal(
        highest, float(inside[-1]), "the largest u · Hu in the span of v, Hv, HHv", within=1e-7
    )
    check.equal(
        lowest, float(inside[0]), "the smallest u · Hu in the span of v, Hv, HHv", within=1e-7
    )
with Check("spectrum_ends", "ends early", hint) as check:
    for what, values, steps, ends in (
        ("the identity, times 2", (2.0, 2.0, 2.0), 3, (2.0, 2.0)),
        ("two eigenvalues, three of each", (5.0, 5.0, 5.0, -4.0, -4.0, -4.0), 6, (-4.0, 5.0)),
        ("more steps than entries", (7.0, -3.0, 1.0), 12, (-3.0, 7.0)),
        ("zero", (0.0, 0.0, 0.0), 3, (0.0, 0.0)),
    ):
        diagonal = double(values)
        start = torch.arange(1.0, len(values) + 1).double()
        lowest, highest = check.call(lambda v, d=diagonal: d * v, start, steps, returns=end_names)
        where = f"{what}: the ends are {ends[0]:g} and {ends[1]:g}"
        told = "stop when nothing new is left of a product"
        check.equal(lowest, ends[0], where, hint=told, within=1e-7)
        check.equal(highest, ends[1], where, hint=told, within=1e-7)
with Check("spectrum_ends", "ends no sooner, and no later", hint) as check:
    diagonal = double([9.0, 3.0, -1.0, -8.0])
    start = double([0.0, 1.0, 2.0, 0.0])
    lowest, highest = check.call(lambda v, d=diagonal: d * v, start, 4, returns=end_names)
    what = "a start without a part along the eigenvectors of 9 and -8 never finds these"
    check.equal(lowest, -1.0, what, within=1e-7)
    check.equal(highest, 3.0, what, within=1e-7)
    for scale in (1.0, 1e-10):
        diagonal = scale * double([10.0, 9.5, 9.0, 8.0, 10.5])
        start = double([1.0, 2.0, 3.0, 2.0, 1.0])
        lowest, highest = check.call(lambda v, d=diagonal: d * v, start, 5, returns=end_names)
        what = f"five products reach all of five eigenvalues, {8 * scale:g} to {10.5 * scale:g}"
        told = "compare what is new with the length of the product: 1e-8 of it is the end"
        check.equal(lowest / scale, 8.0, what, hint=told, within=1e-5)
        check.equal(highest / scale, 10.5, what, hint=told, within=1e-5)
    for new, end in ((1e-7, 100.0), (1e-9, 1.0)):
        matrix = double([[0.0, 1e-3, 0.0], [1e-3, 1.0, new], [0.0, new, 100.0]])
        start = double([1.0, 0.0, 0.0])
        lowest, highest = check.call(lambda v, m=matrix: m @ v, start, 3, returns=end_names)
        what = f"the new part of the second product is {new:g} of it; the end is 1e-8"
        check.equal(highest, end, what, hint=told, within=1e-4)


# BEGIN HIDDEN TESTS
def ends_by_qr(matrix, start, steps) -> Any:
    """The same from an orthonormal basis that is made anew for each vector."""
    basis = (start / start.norm())[:, None]
    for _ in range(steps - 1):
        image = matrix @ basis[:, -1]
        rest = image - basis @ (basis.T @ image)
        rest = rest - basis @ (basis.T @ rest)
        if rest.norm() <= 1e-8 * image.norm():
            break
        basis = torch.cat([basis, (rest / rest.norm())[:, None]], 1)
    return torch.linalg.eigvalsh(basis.T @ matrix @ basis)[[0, -1]]


for size, steps, scale in (
    (1, 1, 2.0),
    (1, 4, -3.0),
    (3, 2, 1.0),
    (6, 4, 1e6),
    (6, 4, 1e-9),
    (9, 9, 1.0),
    (12, 5, 30.0),
    (20, 7, 1e-4),
    (16, 16, 1.0),
):
    with Check("spectrum_ends", f"{size} entries, {steps} steps, size {scale:g}") as check:
        for seed in range(3):
            matrix = symmetric_matrix(size, seed=50 + seed, scale=scale)
            start = numbers(size, seed=60 + seed, scale=(1e-4, 1.0, 300.0)[seed])
            lowest, highest = check.call(lambda v, m=matrix: m @ v, start, steps, returns=end_names)
            low, high = ends_by_qr(matrix, start, steps)
            size_of_it = float(matrix.abs().max())
            check.equal(highest / size_of_it, float(high) / size_of_it, "the highest", within=1e-6)
            check.equal(lowest / size_of_it, float(low) / size_of_it, "the lowest", within=1e-6)
with Check("spectrum_ends", "all negative, all positive, and parts that the start lacks") as check:
    for values in ((-5.0, -2.0, -1.0, -9.0), (5.0, 2.0, 1.0, 9.0), (0.0, 0.0, 4.0, 0.0)):
        diagonal = double(values)
        lowest, highest = check.call(
            lambda v, d=diagonal: d * v, numbers(4, seed=70), 4, returns=end_names
        )
        check.equal(lowest, float(diagonal.min()), "the lowest", within=1e-6)
        check.equal(highest, float(diagonal.max()), "the highest", within=1e-6)
    diagonal = double([9.0, 3.0, -1.0, -8.0])
    start = double([0.0, 1.0, 2.0, 0.0])
    lowest, highest = check.call(lambda v, d=diagonal: d * v, start, 4, returns=end_names)
    check.equal(lowest, -1.0, "what the start lacks stays invisible", within=1e-6)
    check.equal(highest, 3.0, "what the start lacks stays invisible", within=1e-6)
with Check("spectrum_ends", "float32") as check:
    diagonal = torch.linspace(-2, 5, 12)
    lowest, highest = check.call(lambda v, d=diagonal: d * v, torch.ones(12), 10, returns=end_names)
    check.equal(highest, 5.0, "the highest", within=2e-2)
    check.equal(lowest, -2.0, "the lowest", within=2e-2)
# END HIDDEN TESTS

# %%
by_lanczos: dict[str, list[float]] = {"highest": [], "lowest": []}
for products in range(1, 9):
    ends = spectrum_ends(lambda v: spread_values * v, some_start, products)
    for end, value in zip(("lowest", "highest"), ends, strict=True):
        by_lanczos[end].append(float(value))
figures.curves(
    list(range(1, 9)),
    {"v · Hv of power iteration": last_only, **by_lanczos},
    "products",
    "eigenvalue",
    "Lanczos iteration finds both ends",
)

# %% [markdown]
# What to see: after eight products, Lanczos iteration has −1.99 (true: −2) and 9.6 (true: 10). Power iteration has 9.1.

# %% [markdown]
# ### Attention against convolution
#
# Test the lecture's claim with two networks that differ only in how they mix tokens. `spectrum_ends` cannot count eigenvalues. So compare how negative the lowest one is.
#
# Both networks cut the digits into 4 × 4 patches of 2 × 2 pixels, add learned positions, and have two pre-norm blocks of width 32. One mixes tokens by attention with four heads, the other by a convolution of 3 × 3. The convolution has two groups: each half of its output channels sees one half of the input channels. So both networks have about equally many parameters.
#
# <details><summary>How are they trained and measured?</summary>With Adam, here at a learning rate of 0.003 and in batches of 32. Losses and eigenvalues are measured on 300 training digits.</details>


# %% folded=true
# Two networks that differ in how they mix tokens: click to unfold.
def cut_in_four(images: Tensor) -> Tensor:
    """Digits (batch, 64) -> patches (batch, 16, 4)."""
    return images.reshape(-1, 4, 2, 4, 2).transpose(2, 3).reshape(-1, 16, 4)


class MixingBlock(nn.Module):
    """A pre-norm block that mixes tokens by attention or by a convolution."""

    def __init__(self, kind: str, width: int) -> None:
        super().__init__()
        self.mixer = (
            nn.MultiheadAttention(width, 4, batch_first=True)
            if kind == "attention"
            else nn.Conv2d(width, width, 3, padding=1, groups=2)
        )
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.linear1, self.linear2 = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def mix(self, x: Tensor) -> Tensor:
        if isinstance(self.mixer, nn.MultiheadAttention):
            return self.mixer(x, x, x, need_weights=False)[0]
        return self.mixer(x.mT.unflatten(-1, (4, 4))).flatten(2).mT

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.mix(self.norm1(x))
        return x + self.linear2(F.gelu(self.linear1(self.norm2(x))))


class PatchNetwork(nn.Module):
    """Patches (batch, 16, 4) -> logits (batch, 10)."""

    def __init__(self, kind: str, width: int = 32) -> None:
        super().__init__()
        self.projection = nn.Linear(4, width)
        self.positions = nn.Parameter(0.1 * torch.randn(16, width))
        self.blocks = nn.Sequential(*(MixingBlock(kind, width) for _ in range(2)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, patches: Tensor) -> Tensor:
        x = self.blocks(self.projection(patches) + self.positions)
        return self.head(self.norm(x).mean(1))


patches = cut_in_four(digits)


@cache  # trains at the first call
def mixing_network(kind: str, seed: int, steps: int) -> PatchNetwork:
    """Train on the first 1,000 digits with Adam."""
    torch.manual_seed(seed)
    model = PatchNetwork(kind)
    fit(model, patches, torch.optim.Adam(model.parameters(), lr=3e-3), steps, 32, seed)
    return model


def ends_of(kind: str, seed: int, steps: int) -> tuple[float, float, float, float]:
    """Accuracy, loss, lowest and highest eigenvalue, the last three on 300 training digits."""
    model = mixing_network(kind, seed, steps)
    product = product_of(model, patches[:300], labels[:300])
    start = numbers(sum(weight.numel() for weight in model.parameters()), dtype=torch.float32)
    # fused attention has no second derivative
    with sdpa_kernel(SDPBackend.MATH):
        lowest, highest = spectrum_ends(product, start, 20)
    with torch.no_grad():
        loss = cross_entropy(model(patches[:300]), labels[:300]).item()
    return accuracy(model, patches), loss, float(lowest), float(highest)


# %%
for kind in ("convolution", "attention"):
    total = sum(weight.numel() for weight in PatchNetwork(kind).parameters())
    right, at_end, lowest, highest = ends_of(kind, 0, 100)
    print(f"{kind:11} {total:,} parameters, after 100 steps {right:.0%} right, loss {at_end:.2f}")
    print(f"            eigenvalues from {lowest:.1f} to {highest:.1f}")

# %% [markdown]
# Both have been trained for 100 steps only. Longer runs are recorded: 150, 300 and 600 steps, five seeds each.
#
# <details><summary>Are 20 products enough?</summary>For seed 0 after 150 and 300 steps, 40 products change the ends by less than 0.4 %. The other runs were not checked in this way; the small lowest eigenvalues after 600 steps are the least certain. Up to rounding, both ends of Lanczos iteration lie inside the true spectrum, so too few products can only bring them too close together.</details>
#
# **Predict.** After 600 steps, which network has the larger largest eigenvalue?
#
# <details><summary>The convolution, as the paper says</summary>In these runs it is the other way round. But the two networks have different losses, and a later figure takes that into account.</details>
# <details><summary>Attention</summary>Yes: 7 to 55 against 2 to 6.</details>
# <details><summary>They are equal</summary>At equal steps they are not.</details>

# %%
recorded_mixing = {  # ends_of(kind, seed, steps) with 20 products: loss, lowest, highest
    "convolution": {
        150: [(0.262, -2.1, 62.8), (0.180, -0.9, 51.6), (0.626, -2.6, 47.6), (0.255, -2.9, 58.7), (0.171, -1.3, 69.2)],
        300: [(0.064, -2.4, 32.8), (0.072, -2.1, 26.4), (0.059, -0.8, 16.2), (0.041, -1.4, 35.7), (0.048, -1.2, 37.8)],
        600: [(0.0041, -0.04, 3.4), (0.0030, -0.04, 1.9), (0.0041, -0.02, 2.2), (0.0042, -0.09, 4.6), (0.0054, -0.24, 6.1)],
    },
    "attention": {
        150: [(0.388, -2.0, 37.2), (0.399, -1.5, 32.9), (0.925, -2.1, 28.3), (0.466, -1.1, 73.6), (0.376, -2.5, 41.6)],
        300: [(0.167, -2.8, 28.1), (0.120, -1.8, 15.3), (0.264, -9.8, 33.0), (0.095, -1.2, 28.9), (0.121, -1.9, 37.6)],
        600: [(0.014, -0.3, 7.4), (0.027, -1.5, 23.4), (0.050, -1.1, 21.2), (0.100, -10.9, 55.4), (0.040, -2.3, 19.5)],
    },
}  # fmt: skip
figures.runs(
    {
        f"{kind}, {steps} steps": [highest for _, _, highest in found]
        for steps in (150, 300, 600)
        for kind, found in ((kind, by_steps[steps]) for kind, by_steps in recorded_mixing.items())
    },
    "largest eigenvalue",
    "Attention against convolution, five seeds",
    bottom=0.0,
)

# %% [markdown]
# What to see: attention is *lower* after 150 steps, in four of five seeds, about equal after 300, and higher after 600. At equal steps the two also have different losses: the convolution learns faster. Compare them at equal loss:


# %%
def draw_by_loss(
    recorded: dict[str, dict[int, list[tuple[float, float, float]]]],
) -> figures.Picture:
    """Draw the largest eigenvalue, and how negative the lowest one is, against the loss."""
    figure = Figure(figsize=(8.6, 3.4), layout="constrained")
    told = []
    for axes, name in zip(figure.subplots(1, 2), ("largest", "−lowest / largest"), strict=True):
        for i, (kind, by_steps) in enumerate(recorded.items()):
            found = [one for runs in by_steps.values() for one in runs]
            ups = [high if name == "largest" else -low / high for _, low, high in found]
            style = {"color": figures.LINES[i], "label": kind}
            axes.plot([loss for loss, _, _ in found], ups, "os"[i], **style)
            told.append(f"{kind}, {name}: {min(ups):.2g} to {max(ups):.2g}")
        axes.set(xscale="log", xlabel="training loss", ylabel=name)
        axes.set_xticks([0.01, 0.1, 1], ["0.01", "0.1", "1"])
        axes.grid(alpha=0.3)
        axes.legend()
    return figures.Picture(figure, f"Each dot is a run. {'; '.join(told)}.")


draw_by_loss(recorded_mixing)

# %% [markdown]
# What to see, left: in these two networks, the largest eigenvalue goes with the *loss*. Across the four kinds of part 6, it did not. At losses of 0.15 to 0.5, early in training, attention is flatter in most runs. At 0.04 to 0.1, the dots of the two networks overlap. Below 0.04, no two dots of different networks have similar losses to compare.
#
# Right: relative to the largest, attention's lowest eigenvalue is more negative than all of convolution's in six of ten runs at similar losses: four of six at losses of 0.15 to 0.5, two of four at 0.04 to 0.1. (The count depends on these ranges.)
#
# <details><summary>Why divide by the largest? And what if you do not?</summary>Multiply a loss by a constant, and all eigenvalues are multiplied by it: only their ratios stay. Without the division, the two networks overlap. At losses of 0.15 to 0.5, the lowest eigenvalue is −1.1 to −9.8 for attention, and −0.9 to −2.9 for convolution. So a part of the difference on the right is that attention's <em>largest</em> eigenvalue is smaller.</details>

# %%
recorded_600 = {  # the same networks after 600 steps
    "convolution": [0.984, 0.986, 0.976, 0.985, 0.981],
    "attention": [0.944, 0.934, 0.930, 0.936, 0.931],
}
for kind, found in recorded_600.items():
    print(f"{kind:11} {min(found):.1%} to {max(found):.1%} of the held-out digits, after 600 steps")

# %% [markdown]
# The claim holds in part. At similar losses, attention's lowest eigenvalue, divided by the largest, is more negative than all of convolution's in six of ten runs. Attention is flatter only early on. (How *many* eigenvalues are negative, the paper's claim, was not measured.)
#
# After 600 steps, the convolution is at least three percentage points more accurate. A likely reason: its inductive bias.
#
# <details><summary>Is that a fair comparison?</summary>Not quite: it compares equal steps at one learning rate. Attention still has the higher training loss there, so a part of the difference may be how fast each network learns.</details>
#
# **From the lecture**: *transformer*, STATS 403, lecture 7, “How does vision transformer work?”.

# %% [markdown]
# **A good place to stop.** What remains is the cost. (Back later? Run all above.)

# %% [markdown]
# ## 8 · What a FLOP is
#
# A **FLOP** is a floating-point operation, such as one addition or one multiplication. (*FLOPs* is the plural; *FLOPS* often means FLOPs *per second*.) Count those of a dot product:

# %%
dot_product = "a1·b1 + a2·b2 + a3·b3 + a4·b4 + a5·b5"
print(f"{dot_product.count('·')} multiplications, {dot_product.count('+')} additions")

# %% [markdown]
# A **multiply-add** (MAC) multiplies two numbers and adds the result to a sum. A dot product of $n$ pairs has $n$ multiplications and about as many additions: $n$ multiply-adds.
#
# So there are two ways to count the same work. This lesson counts a multiply-add as *two* FLOPs, as PyTorch's own counter does. Only matrix products and convolutions are counted: norms, softmax, biases and activations are left out.
#
# **Predict.** A linear layer maps 100 tokens from width 30 to width 50. How many FLOPs?
#
# <details><summary>1,500</summary>That is the number of its weights.</details>
# <details><summary>150,000</summary>That counts multiply-adds.</details>
# <details><summary>300,000</summary>Yes: 2 · 100 · 30 · 50.</details>

# %%
with FlopCounterMode(display=False) as counter:
    nn.Linear(30, 50)(torch.zeros(100, 30))
print(f"{counter.get_total_flops():,} FLOPs")

# %% [markdown]
# A convolution computes, for each pixel of its *output* and each output channel, a dot product over a square of the input, in all of its channels. With a side of $n$ pixels, padding $p$ on both sides, kernel size $k$ and stride $s$, the output's side is
#
# $$\left\lfloor \frac{n + 2p - k}{s} \right\rfloor + 1$$
#
# **Exercise** (12 minutes). Count the FLOPs of a convolution, for one image.
#
# <details><summary>Hint</summary>How many numbers does the output have? How many multiply-adds does each need?</details>


# %% exercise conv2d_flops
def conv2d_flops(
    in_channels: int,
    out_channels: int,
    kernel_size: int,
    height: int,
    width: int,
    stride: int = 1,
    padding: int = 0,
) -> int:
    """FLOPs of nn.Conv2d on one image, 2 for each multiply-add, without the bias.

    The kernel is square; height and width are those of the input.
    """
    # BEGIN SOLUTION
    rows, columns = ((n + 2 * padding - kernel_size) // stride + 1 for n in (height, width))
    return 2 * rows * columns * out_channels * in_channels * kernel_size**2
    # END SOLUTION


# %% check conv2d_flops points=2
hint = "2 · output pixels · output channels · (input channels · kernel²)"
with Check("conv2d_flops", "one pixel in, one out", hint) as check:
    check.equal(check.call(3, 5, 1, 1, 1, returns=int), 30, "3 channels to 5: 15 multiply-adds")
    check.equal(check.call(1, 1, 3, 3, 3, returns=int), 18, "a kernel of 3 × 3 = 9 multiply-adds")
with Check("conv2d_flops", "padding, stride and other sides", hint) as check:
    check.equal(
        check.call(2, 7, 3, 10, 6, returns=int),
        2 * 8 * 4 * 7 * 18,
        "10 by 6 pixels, kernel 3, no padding: the output has 8 by 4",
    )
    check.equal(
        check.call(2, 7, 3, 10, 6, padding=1, returns=int),
        2 * 10 * 6 * 7 * 18,
        "with padding 1 the output has 10 by 6 pixels",
    )
    check.equal(
        check.call(2, 7, 3, 10, 7, stride=2, padding=1, returns=int),
        2 * 5 * 4 * 7 * 18,
        "10 by 7, kernel 3, stride 2, padding 1: the output has 5 by 4",
        hint="round down, then add 1",
    )
with Check("conv2d_flops", "a patch embedding") as check:
    check.equal(
        check.call(3, 96, 4, 800, 1280, stride=4, returns=int),
        2 * 200 * 320 * 96 * 48,
        "patches of 4 × 4: kernel and stride 4",
    )
# BEGIN HIDDEN TESTS
with Check("conv2d_flops", "counted by multiplying") as check:
    for c, d, k, h, w, s, p in (
        (1, 1, 1, 1, 1, 1, 0), (4, 3, 2, 9, 5, 3, 0), (3, 8, 7, 23, 14, 2, 3), (5, 2, 5, 5, 11, 4, 0),
        (2, 6, 3, 4, 4, 1, 2), (7, 1, 4, 13, 8, 5, 1), (3, 4, 2, 2, 3, 2, 0), (64, 64, 3, 200, 320, 1, 1),
        (1, 2, 3, 8, 9, 3, 2), (256, 512, 1, 200, 320, 2, 0), (2, 3, 1, 4, 5, 1, 2),
    ):  # fmt: skip
        rows, columns = len(range(0, h + 2 * p - k + 1, s)), len(range(0, w + 2 * p - k + 1, s))
        expected = 2 * c * k * k * d * rows * columns
        check.equal(check.call(c, d, k, h, w, s, p, returns=int), expected, "the FLOPs")
        check.equal(
            check.call(c, d, k, h, w, padding=p, stride=s, returns=int), expected, "by name"
        )
# END HIDDEN TESTS

# %% [markdown]
# Now a Transformer block of width $d$ over $n$ tokens. Six matrix products have weights: query, key, value and output ($d \times d$ each), and two of the feed-forward network ($d \times d_{ff}$). Two more have none: the scores, and the weighted sum of the values.
#
# **Predict.** Which part grows with the *square* of the length?
#
# <details><summary>The four projections</summary>They treat each token by itself: linear in n.</details>
# <details><summary>Scores and weighted sum</summary>Yes: n queries, and n keys for each.</details>
# <details><summary>The feed-forward network</summary>It treats each token by itself.</details>
#
# **Exercise** (15 minutes). Count the FLOPs of a block.
#
# <details><summary>Hint 1</summary>The number of heads does not matter: h heads of width d / h cost as much as one of width d.</details>
# <details><summary>Hint 2</summary>The scores: n queries × keys × d multiply-adds. The weighted sum: as many.</details>


# %% exercise block_flops
def block_flops(length: int, d_model: int, d_ff: int, window: int | None = None) -> int:
    """FLOPs of a Transformer block on one sequence, 2 for each multiply-add, products only.

    Each query attends to `window` keys (None: to all). A window larger than length: all keys.
    """
    # BEGIN SOLUTION
    keys = length if window is None else min(window, length)
    with_weights = length * (4 * d_model**2 + 2 * d_model * d_ff)
    return 2 * (with_weights + 2 * length * keys * d_model)
    # END SOLUTION


# %% check block_flops points=2
hint = "four projections, scores, weighted sum, two feed-forward layers; 2 a multiply-add"
with Check("block_flops", "three tokens", hint) as check:
    check.equal(
        check.call(3, 5, 7, returns=int),
        2 * (3 * 100 + 45 + 45 + 3 * 70),
        "3 tokens, d = 5, d_ff = 7: projections 300, scores 45, weighted sum 45, two layers 210",
    )
with Check("block_flops", "each part grows by its own law", hint) as check:
    base = check.call(10, 6, 7, returns=int)
    check.equal(base, 2 * (10 * (144 + 84) + 2 * 100 * 6), "10 tokens, d = 6, d_ff = 7")
    check.equal(
        check.call(10, 6, 8, returns=int) - base,
        2 * 10 * 2 * 6,
        "one more hidden unit costs 2 · 10 · (6 + 6)",
    )
    check.equal(
        check.call(60, 6, 7, returns=int) - 6 * base,
        2 * 2 * 6 * (3600 - 600),
        "six times the length costs more than six times as much: scores grow with n²",
    )
with Check("block_flops", "windows", hint) as check:
    full = check.call(10, 6, 7, returns=int)
    check.equal(
        full - check.call(10, 6, 7, window=4, returns=int),
        2 * 2 * 10 * 6 * 6,
        "with a window of 4 keys, each of 10 queries has 6 keys fewer",
    )
    check.equal(check.call(10, 6, 7, window=10, returns=int), full, "a window of all 10 keys")
    check.equal(
        check.call(10, 6, 7, window=49, returns=int),
        full,
        "10 tokens in a window of 49: a query cannot have more than 10 keys",
    )
# BEGIN HIDDEN TESTS
with Check("block_flops", "counted product by product") as check:
    for n, d, f, window in (
        (1, 3, 5, None), (7, 4, 16, None), (13, 8, 3, 5), (13, 8, 3, 1), (64, 12, 48, 49), (5, 7, 28, 6),
        (4000, 384, 1536, None), (64000, 96, 384, 49), (2, 1, 9, 2), (3, 10, 1, None), (6, 5, 20, 1000), (10, 6, 0, None),
    ):  # fmt: skip
        keys = n if window is None or window > n else window
        macs = sum(n * a * b for a, b in ((d, d), (d, d), (d, d), (d, d), (d, f), (f, d)))
        macs += 2 * n * keys * d
        check.equal(check.call(n, d, f, window, returns=int), 2 * macs, "the FLOPs")
# END HIDDEN TESTS

# %% [markdown]
# PyTorch's counter watches the products as they run, and does not use your formulas:

# %%
with FlopCounterMode(display=False) as counter:
    nn.Conv2d(3, 8, 3, stride=2, padding=1)(torch.zeros(1, 3, 13, 10))
print(
    f"convolution: PyTorch {counter.get_total_flops():,}, you {conv2d_flops(3, 8, 3, 13, 10, 2, 1):,}"
)
encoder_layer = nn.TransformerEncoderLayer(48, 4, 192, batch_first=True)
with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
    encoder_layer(torch.zeros(1, 100, 48))
print(f"block:       PyTorch {counter.get_total_flops():,}, you {block_flops(100, 48, 192):,}")

# %% [markdown]
# Where does the work go? The view calls your `block_flops` and compares it with the block's parameters.

# %%
from transformer_course.widgets import show_cost

show_cost(block_flops)

# %% [markdown]
# **Puzzle.** With all keys and a width of 256, between which two lengths of the slider do scores and weighted sum together overtake projections and feed-forward together? What happens to this crossing when you double the width? Can you derive the exact length? And which sliders change the FLOPs, but never the parameters?
#
# <details><summary>Solution</summary>Between 1,024 and 2,048; exactly at 6 · 256 = 1,536, where 4 n² d equals 24 n d² (with d_ff = 4 d). It doubles with the width. The length and the window change no parameter: parameters say what a model stores, FLOPs what it does.</details>

# %% [markdown]
# ## 9 · Bug hunt: what tables call FLOPs
#
# A **backbone** is the part of a network that turns the image into feature maps. A *detector* adds layers that find objects and draw a box around each. A lecture compares backbones in one detector (Cascade Mask R-CNN, images of 1280 × 800 pixels; R50 is ResNet-50; average precision says how well objects are found):

# %%
table = {  # parameters in millions, “FLOPs” in G, average precision
    "DeiT-S": (80, 889, 48.0),
    "R50": (82, 739, 46.3),
    "Swin-T": (86, 745, 50.5),
    "Swin-S": (107, 838, 51.8),
    "Swin-B": (145, 982, 51.9),
}
for backbone, (millions, billions, precision) in table.items():
    print(f"{backbone:7} {millions:4} M parameters, {billions} G “FLOPs”, AP {precision}")

# %% [markdown]
# The detector around the backbone is nearly the same, so *differences* between rows belong mostly to the backbones. (Its first layers depend on the backbone's channels, and DeiT-S gets a few extra layers that make its maps fit.) These differences you can count.
#
# All but R50 begin with a patch embedding. A stage is a number of blocks of one width. Between two stages, patch merging (lesson 13) halves both sides: it maps $4d$ to $2d$ for each new pixel. DeiT-S, a small Vision Transformer, has a single stage.
#
# **Exercise** (20 minutes). Write a function that counts the FLOPs of a whole backbone. With it, you can test the table.
#
# <details><summary>Hint</summary>Keep three variables: height and width of the map, and its number of channels. Merging is a linear layer on a quarter of the pixels.</details>


# %% exercise backbone_flops
def backbone_flops(
    height: int,
    width: int,
    patch_size: int,
    d_model: int,
    depths: Sequence[int],
    window: int | None = None,
) -> int:
    """FLOPs of a backbone on one image with 3 channels, 2 for each multiply-add, products only.

    First each patch is projected to d_model. Then come stages of depths[0], depths[1], … blocks
    over all patches, with d_ff = 4 × their width, `window` keys for each query (None: all).
    Before each stage but the first, both sides are halved and the width d becomes 2d, by a linear
    layer from 4d to 2d for each new pixel. All sides divide evenly.
    """
    # BEGIN SOLUTION
    flops = conv2d_flops(3, d_model, patch_size, height, width, patch_size)
    pixels = (height // patch_size) * (width // patch_size)
    for stage, depth in enumerate(depths):
        if stage:
            pixels, d_model = pixels // 4, 2 * d_model
            flops += 2 * pixels * (2 * d_model) * d_model
        flops += depth * block_flops(pixels, d_model, 4 * d_model, window)
    return flops
    # END SOLUTION


# %% check backbone_flops points=2
hint = "patch embedding, then for each stage: merging (not before the first), depth × a block"
with Check("backbone_flops", "one patch, no block", hint) as check:
    check.equal(
        check.call(2, 2, 2, 5, (0,), returns=int),
        2 * 12 * 5,
        "one patch of 2 × 2 pixels in 3 channels, projected to 5 features",
    )
with Check("backbone_flops", "one stage", hint) as check:
    embedding = 2 * 6 * 48 * 8
    block = 2 * 6 * (4 * 64 + 2 * 8 * 32) + 4 * 36 * 8
    check.equal(
        check.call(8, 12, 4, 8, (1,), returns=int),
        embedding + block,
        "8 by 12 pixels in patches of 4 are 6 tokens: the embedding and one block",
    )
    check.equal(
        check.call(8, 12, 4, 8, (3,), returns=int),
        embedding + 3 * block,
        "three blocks cost three times as much as one; the embedding comes once",
    )
with Check("backbone_flops", "two stages", hint) as check:
    check.equal(
        check.call(16, 24, 2, 4, (1, 2), window=6, returns=int),
        2 * 96 * 12 * 4
        + (2 * 96 * (4 * 16 + 2 * 4 * 16) + 4 * 96 * 6 * 4)
        + 2 * 24 * 16 * 8
        + 2 * (2 * 24 * (4 * 64 + 2 * 8 * 32) + 4 * 24 * 6 * 8),
        "embedding, a block of 96 tokens of width 4, merging, two blocks of 24 of width 8",
    )
    empty = check.call(16, 24, 2, 4, (0, 0), returns=int)
    check.equal(
        empty,
        2 * 96 * 12 * 4 + 2 * 24 * 16 * 8,
        "merging makes 24 pixels of 96: each is a linear layer from 16 to 8 features",
    )
    check.equal(
        check.call(16, 24, 2, 4, (0, 1), returns=int) - empty,
        2 * 24 * (4 * 64 + 2 * 8 * 32) + 4 * 24 * 24 * 8,
        "a block of the second stage has 24 tokens of width 8, and d_ff 32",
    )
    check.equal(
        check.call(16, 24, 2, 4, (1, 0), window=6, returns=int) - empty,
        2 * 96 * (4 * 16 + 2 * 4 * 16) + 4 * 96 * 6 * 4,
        "a block of the first stage has 96 tokens of width 4; 6 keys for each query",
    )
    check.equal(
        check.call(16, 24, 2, 4, (0, 1), window=50, returns=int),
        check.call(16, 24, 2, 4, (0, 1), returns=int),
        "a window of 50 keys on a map of 24: all 24",
    )
with Check("backbone_flops", "three stages", hint) as check:
    check.equal(
        check.call(16, 24, 2, 4, (0, 0, 0), returns=int),
        2 * 96 * 12 * 4 + 2 * 24 * 16 * 8 + 2 * 6 * 32 * 16,
        "the second merging makes 6 pixels of 24: each is a linear layer from 32 to 16 features",
    )
    check.equal(
        check.call(16, 24, 2, 4, (0, 0, 1), returns=int)
        - check.call(16, 24, 2, 4, (0, 0, 0), returns=int),
        2 * 6 * (4 * 256 + 2 * 16 * 64) + 4 * 6 * 6 * 16,
        "a block of the third stage has 6 tokens of width 16",
    )
# BEGIN HIDDEN TESTS
with Check("backbone_flops", "counted product by product") as check:
    for h, w, p, d, depths, window in (
        (4, 4, 4, 3, (1,), None), (32, 16, 2, 5, (2, 1, 3), None), (32, 16, 2, 5, (2, 1, 3), 4),
        (64, 96, 4, 6, (1, 0, 2), 49), (800, 1280, 16, 384, (12,), None), (800, 1280, 4, 96, (2, 2, 6, 2), 49),
        (8, 8, 1, 2, (0, 0, 0, 1), 9), (24, 40, 8, 7, (0,), None), (16, 32, 4, 10, [1, 1], 1),
    ):  # fmt: skip
        tokens, wide, macs = (h // p) * (w // p), d, 0
        macs += tokens * p * p * 3 * d
        for i, depth in enumerate(depths):
            if i > 0:
                tokens, wide = tokens // 4, wide * 2
                macs += tokens * wide * wide * 2
            keys = tokens if window is None or window > tokens else window
            macs += depth * (12 * tokens * wide * wide + 2 * tokens * keys * wide)
        given = {} if window is None else {"window": window}
        check.equal(check.call(h, w, p, d, depths, **given, returns=int), 2 * macs, "the FLOPs")
# END HIDDEN TESTS

# %%
backbones: dict[str, tuple[Any, ...]] = {  # patch size, width, depths, window
    "DeiT-S": (16, 384, (12,)),
    "Swin-T": (4, 96, (2, 2, 6, 2), 49),
    "Swin-S": (4, 96, (2, 2, 18, 2), 49),
    "Swin-B": (4, 128, (2, 2, 18, 2), 49),
}


def counted_gflops(name: str) -> float:
    """GFLOPs of a backbone in the detector, 2 a multiply-add."""
    return backbone_flops(800, 1280, *backbones[name]) / 1e9


for backbone in ("DeiT-S", "Swin-S", "Swin-B"):
    counted = counted_gflops(backbone) - counted_gflops("Swin-T")
    stated = table[backbone][1] - table["Swin-T"][1]
    print(f"{backbone} − Swin-T: counted {counted:.0f} GFLOPs, in the table {stated} G")

# %% [markdown]
# **Predict.** In all three rows, the count is about twice the table. Why?
#
# <details><summary>The table forgets the scores</summary>For DeiT-S that would nearly fit: 139. But Swin-S and Swin-B would hardly change: 172 and 443, against 93 and 237 in the table. (Without the weighted sums as well, DeiT-S would even fall below Swin-T.)</details>
# <details><summary>The table counts multiply-adds</summary>Yes: half of your counts are 142, 87 and 223, within 7 % of the table. (Swin pads its maps to multiples of 7, which is not counted here. With the padding, Swin-S and Swin-B come to 92 and 236, DeiT-S to 138: its few extra layers are not counted either.)</details>
# <details><summary>The table is for half the image</summary>Then the scores of DeiT-S, which grow with n², would fall by a factor of four, not two.</details>
#
# So one “FLOP” of this table is two FLOPs. Inside a table that does no harm. Across tables it does: a number from another paper may have been counted the other way.
#
# Does the row of R50, a CNN, count multiply-adds, too? A ResNet-50 is a list of convolutions:


# %%
def resnet50_flops(height: int, width: int) -> int:
    """All convolutions of a ResNet-50: a stem, then 16 bottlenecks of three convolutions."""
    total = conv2d_flops(3, 64, 7, height, width, 2, 3)
    height, width, channels = height // 4, width // 4, 64  # max pooling halves once more
    for stage, depth in enumerate((3, 4, 6, 3)):
        inner = 64 * 2**stage
        for block in range(depth):
            stride = 2 if stage and not block else 1
            total += conv2d_flops(channels, inner, 1, height, width)
            total += conv2d_flops(inner, inner, 3, height, width, stride, 1)
            if not block:  # the residual connection changes the shape
                total += conv2d_flops(channels, 4 * inner, 1, height, width, stride)
            height, width, channels = height // stride, width // stride, 4 * inner
            total += conv2d_flops(inner, channels, 1, height, width)
    return total


print(f"ResNet-50 at 224 × 224: {resnet50_flops(224, 224) / 2e9:.2f} G multiply-adds")
counted = counted_gflops("Swin-T") / 2 - resnet50_flops(800, 1280) / 2e9
print(f"Swin-T − R50: counted {counted:.1f} G multiply-adds, in the table {745 - 739} G")

# %% [markdown]
# What to see: 4.1 G at 224 × 224 is the number that most papers give for this version of ResNet-50, which has its strides in the 3 × 3 convolutions. It counts multiply-adds.
#
# In the table, the difference is 6 G. You count 8.2 G. Two things are missing: Swin pads its maps for attention, and the detector's first layers, 1 × 1 convolutions to 256 channels on four maps, depend on the backbone.


# %%
def first_layers(channels: int) -> float:
    """G multiply-adds of the detector's first layers; the largest map has these channels."""
    return sum(conv2d_flops(channels << i, 256, 1, 200 >> i, 320 >> i) for i in range(4)) / 2e9


def padding_cost() -> float:
    """G multiply-adds of Swin-T's attention on what the padding adds."""
    total, rows, columns, wide = 0, 200, 320, 96
    for depth in (2, 2, 6, 2):
        padded = math.ceil(rows / 7) * 7 * math.ceil(columns / 7) * 7
        more = block_flops(padded, wide, 0, 49) - block_flops(rows * columns, wide, 0, 49)
        total += depth * more
        rows, columns, wide = rows // 2, columns // 2, 2 * wide
    return total / 2e9


less = first_layers(256) - first_layers(96)
more = padding_cost()
print(f"padding: {more:+.1f} G, first layers: {-less:+.1f} G")
print(f"Swin-T − R50: counted {counted + more - less:.1f} G multiply-adds")

# %% [markdown]
# What to see: the two nearly cancel, and leave 7.2 G. (The table's 6 G is a difference of two rounded numbers, so it stands for 5 to 7 G. What remains may be operations that you do not count: R50's norms and ReLUs would make the difference smaller.) So both rows count multiply-adds.
#
# <details><summary>What if R50's row counted two FLOPs for each multiply-add, and Swin-T's row one?</summary>By your count, the detector with R50 needs about 7 G less than the one with Swin-T: 738 G multiply-adds. Counted double, its row would say 1,476 G. If only the backbone of R50, about 83 G, were counted double, its row would say 821 G. Neither is near 739 G.</details>
#
# ### Training cost in FLOPs
#
# Another slide has a column “Training Cost (FLOPs)”: 3.3 · 10¹⁸ for the Transformer (base), trained for 100,000 steps. You can count that: a batch had about 25,000 source and 25,000 target tokens, the width is 512, $d_{ff}$ is 2,048, the vocabulary has 37,000 tokens, and a sentence has about 25. The backward pass costs about twice the forward pass.

# %%
sentence = 25
# six blocks each; a decoder block has cross-attention, too: a block without feed-forward, d_ff = 0
encoder_cost = 6 * block_flops(sentence, 512, 2048)
decoder_cost = 6 * (block_flops(sentence, 512, 2048) + block_flops(sentence, 512, 0))
logits_cost = 2 * sentence * 512 * 37_000
sentences = 25_000 / sentence * 100_000
counted = 3 * sentences * (encoder_cost + decoder_cost + logits_cost)
print(f"counted:                        {counted:.1e} FLOPs")
print(f"12 hours × 8 GPUs × 9.5 TFLOPS: {12 * 3600 * 8 * 9.5e12:.1e} FLOPs")

# %% [markdown]
# What to see: the slide's number is the second one. The paper says so: hours, times GPUs, times an estimate of what a GPU sustains. It is a *time*, in the unit of FLOPs. The model itself needs less than a third of that.
#
# The same lecture says of Vision Transformers: “with substantially less compute”. The row of its table that should show this is in TPUv3-core-days: a time again.
#
# **Predict.** Twice the image's sides, the same Swin-T: what happens to its parameters, and to its FLOPs?
#
# <details><summary>Both become four times as large</summary>Which weight matrix would grow? None knows the size of the image.</details>
# <details><summary>The parameters stay, the FLOPs become about four times as large</summary>Yes: linear in the area, as attention stays inside windows.</details>
# <details><summary>Both stay</summary>Four times as many patches go through every layer.</details>

# %%
for sides in ((800, 1280), (1600, 2560)):
    print(f"{sides}: {backbone_flops(*sides, *backbones['Swin-T']) / 1e9:.1f} GFLOPs")

# %% [markdown]
# A third slide lists “parameter efficiency” as an advantage. Such a claim needs a baseline, a task and an equal budget. In the table above, DeiT-S has the *fewest* parameters and the second *most* FLOPs. On the digits, attention and convolution had about equally many parameters, and after 600 steps the convolution was more accurate. Neither result settles the question.
#
# **From the lecture**: *Transformer: Part I (Encoder)*, CS7150, “Transformer vs CNN”; *Introduction to Transformers*, CS60216, “Great Results with Transformers”, “Transformers have shown promise outside NLP”; *transformer*, STATS 403, lecture 7, “advantages of vision transformers”.

# %% [markdown]
# ## 10 · The real thing
#
# Compare your instruments with PyTorch's own, in float64: the Hessian of a small network, all of it, and its eigenvalues.

# %%
torch.manual_seed(1)
small: Any = nn.Sequential(nn.Linear(64, 4), nn.Tanh(), nn.Linear(4, 10)).double()
with torch.no_grad():
    small[0].weight.mul_(4.0)  # larger weights, so that eigenvalues are not close to 0
small_names = [name for name, _ in small.named_parameters()]
small_weights = torch.nn.utils.parameters_to_vector(small.parameters()).detach()


def small_loss(flat: Tensor) -> Tensor:
    """The loss of the small network as a function of its weights."""
    named = dict(zip(small_names, in_parts(flat, small), strict=True))
    return cross_entropy(torch.func.functional_call(small, named, (few_digits,)), few_labels)


whole_hessian = torch.func.hessian(small_loss)(small_weights)
small_product = product_of(small, few_digits, few_labels)
probe = numbers(len(small_weights), seed=7)
gap = (whole_hessian @ probe - small_product(probe)).abs().max()
print(f"Hv: largest difference {gap:.0e}")
all_values = torch.linalg.eigvalsh(whole_hessian)
lowest, highest = spectrum_ends(small_product, probe, 60)
print(f"lowest:  {lowest:.9f} and {all_values[0]:.9f}")
print(f"highest: {highest:.9f} and {all_values[-1]:.9f}")

# %% [markdown]
# What to see: the product agrees to rounding, and 60 products give both ends of a spectrum of 310 eigenvalues to nine digits.

# %% [markdown]
# ## 11 · In your own words
#
# **Question** (12 minutes). A blog post shows one slice for each of two networks, along random directions. It says: “Network B has a flatter landscape, so it generalises better. It also needs half the FLOPs.” Name three questions that you ask before you believe it, and say for each what could deceive you. Write three to six sentences: double-click the cell below. A person reads them.

# %% answer three_questions [markdown] points=2
# <!-- BEGIN SOLUTION -->
# First: were the directions normalised, and how many slices and seeds are there? If one layer is rescaled and the next weight undoes it, the same function can look sharp or flat, and a slice shows two directions of thousands. Second: what are the loss and the accuracy at the centre? A network that has learned nothing can have a perfectly flat slice, and a small curvature does not mean a good network: in our runs, the networks with norms but without residual connections had the largest curvature on average, and were far more accurate than the plain ones. Third: how were FLOPs counted? One table's FLOP is a multiply-add, another's is half of one, and a third is hours times a rate; the same convention, the same input size and the same parts must be counted for both, and FLOPs are not seconds.
# <!-- END SOLUTION -->

# %% [markdown]
# ## Where you stand

# %%
from transformer_course.progress import show_progress

show_progress("17_loss_landscapes")

# %% [markdown]
# - A slice shows the loss on a plane through the weights. Filter normalisation makes slices of rescaled networks comparable.
# - $Hv$ is the gradient of $g \cdot v$: two backward passes, no matrix. Multiplication by a Hessian is linear and symmetric. Multiplication by a Gauss–Newton matrix is, too: passing the test is necessary, not sufficient.
# - Power iteration finds the eigenvalue with the largest absolute value, Lanczos iteration both ends. On a parabola, gradient descent converges below 2 / λ. Steps of 1/λ lowered the loss in 20 of 20 networks.
# - Residual connections went with smaller curvature. But flat does not mean good: the network with the flattest slice only guesses, and the networks with the largest eigenvalues on average got 91 to 95 % of the digits right.
# - Relative to the largest eigenvalue, attention's lowest eigenvalue was more negative than all of convolution's in six of ten runs at similar losses. In these two networks, the largest eigenvalue went with the loss, and attention was flatter early in training only. Multiply a layer before a ReLU by 10 and the next weight by 0.1: λ changes, the function does not.
# - A multiply-add is two FLOPs. The table of detectors counts multiply-adds; the training cost on the slide is a time. The number of parameters does not tell the FLOPs: a longer sequence needs more, with the same parameters.
#
# **What comes next.** This is the last lesson so far. Your functions also work with PyTorch models of your own: draw a slice of one, and find both ends of its spectrum. (PyTorch's fused attention has no second derivative. Call them inside `with sdpa_kernel(SDPBackend.MATH):` for a model that uses it.)
