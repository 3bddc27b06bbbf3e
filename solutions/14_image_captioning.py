# %% [markdown]
# # Lesson 14 · Image captioning: what did the model attend to?
#
# **You build** a network that describes an image in words and attends to it while it writes. Then you test what its attention explains: you cover parts of the image.
#
# **You need** the ideas of lessons 1, 3 and 10: scaled dot products, `view` and `transpose`, and a GRU that attends before each step. A convolution's kernel, stride and padding (lesson 8) help.
#
# **You take away** `grid_to_sequence`, `receptive_field`, `GridAttention`, `Captioner`, a measure of where attention goes, and `occlusion_map`, which tests it.
#
# **Time**: about 285 minutes: 180 for the exercises and the question. Good places to stop are marked after about 65, 145, 210 and 250.

# %% given imports
import math
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import torch
import torch.nn.functional as F
from IPython.display import display
from torch import Tensor, nn
from transformer_course import figures
from transformer_course.checks import Check, numbers
from transformer_course.data.scenes import BEGIN, END, WORDS, Scenes, caption, scenes

torch.set_num_threads(1)  # tiny models train fastest on one core

# %% [markdown]
# Papers on image captioning show a map like those below for each word. The brighter a cell (drawn as 4 × 4 pixels), the more the network attends to it.

# %% folded=true
# Draws scenes, with the weights of their cells over them: click to unfold.
import textwrap

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

CELL = 4  # pixels of a cell's side


def draw_scene(axes: Axes, image: Tensor, name: str, over: Tensor | None = None) -> None:
    """Draw a scene; `over` (rows, columns), 0 to 1: the larger a value, the brighter its cell."""
    pixels = 0.3 + 0.7 * image.detach().clamp(0, 1).movedim(0, -1).numpy()  # grey, not black
    box = (0, pixels.shape[1], pixels.shape[0], 0)
    axes.imshow(pixels, extent=box)
    if over is not None:
        shade = np.zeros((*over.shape, 4))
        shade[..., 3] = 0.85 * (1 - over.clamp(0, 1).numpy())
        axes.imshow(shade, extent=box)
        row, column = divmod(int(over.argmax()), over.shape[1])
        corner = (CELL * column, CELL * row)
        axes.add_patch(Rectangle(corner, CELL, CELL, fill=False, edgecolor=figures.LINES[1]))
    axes.set_title(textwrap.fill(name, 30), fontsize=9)
    axes.set(xticks=[], yticks=[])


def draw_scenes(
    images: Sequence[Tensor],
    names: Sequence[str],
    title: str,
    over: Sequence[Tensor | None] | None = None,
    across: int = 3,
    least: float = 1e-9,
) -> figures.Picture:
    """Draw scenes in rows with their names; `over`: a value for each one's cells, or None.

    The largest value is outlined, and bright if it is at least `least`.
    """
    lines = -(-len(images) // across)
    figure = Figure(figsize=(2.6 * across, 1.75 * lines + 0.4), layout="constrained")
    panels = figure.subplots(lines, across, squeeze=False).ravel()
    for axes in panels:
        axes.axis("off")
    for axes, image, name, values in zip(
        panels, images, names, over or [None] * len(names), strict=False
    ):
        axes.axis("on")
        scale = 1.0 if values is None else max(float(values.max()), least)
        draw_scene(axes, image, name, None if values is None else values / scale)
    figure.suptitle(title, fontsize=11)
    return figures.Picture(figure, f"{title}. {'; '.join(names)}.")


# %%
RECORDED_OPENING = {  # weights in percent: a line for each row of cells
    "network 1": [
        [0, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 9, 7, 0, 0, 0],
        [0, 0, 3, 30, 40, 0, 0, 0],
        [1, 1, 2, 5, 3, 0, 0, 0],
    ],
    "network 2": [
        [0, 0, 0, 0, 0, 0, 0, 0],
        [0, 100, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 0],
    ],
}
SHOWN = 300  # this scene of the test set returns in parts 5 and 7
draw_scenes(
    [scenes(500, seed=1).images[SHOWN]] * 3,
    ["the scene", *(f"{name}, at “square”" for name in RECORDED_OPENING)],
    "Both write: red square and green cross",
    [None, *(torch.tensor(rows) for rows in RECORDED_OPENING.values())],
)

# %% [markdown]
# What to see: two networks that differ only in their seed write the same correct caption. (Each map has its own scale: its largest weight is outlined and brightest, here 40 % for network 1 and 100 % for network 2.) At *square*, network 2 attends to the square. Network 1 attends to the empty middle: less than 1 % of its weight is on the square. (Both are recorded.)
#
# **Predict.** Network 1 does not attend to the square and yet writes *square*. How can that be?
#
# <details><summary>It guesses: with four shapes, one guess in four is right</summary>Over 500 scenes, guessing would show. Part 4 measures how many captions are right.</details>
# <details><summary>It knew the word before it attended</summary>Possible: it has a state, and it has attended before. Part 7 tests this.</details>
# <details><summary>The bright cells are not what the network has seen</summary>Possible too: part 2 computes what a cell has seen.</details>
#
# What does such a map explain? You build the network, measure where it attends, and then cover parts of the scene. The network's whole vocabulary is:

# %%
print(*WORDS)

# %% [markdown]
# **Recall.** Three questions on lessons 1, 3 and 10. Answer first, then open your choice.
#
# 1. Why does scaled dot-product attention divide by $\sqrt{d}$?
#
# <details><summary>So that the weights sum to 1</summary>Softmax does that, whatever the scale.</details>
# <details><summary>Because dot products of d features grow like √d, and large scores saturate softmax</summary>Yes. A saturated softmax passes almost no gradient.</details>
# <details><summary>So that the output has the values' scale</summary>The output is a weighted mean of the values, whatever the scale of the scores.</details>
#
# 2. A decoder with attention is about to write word t. Which state is its query in lesson 10?
#
# <details><summary>The old state, from before word t's update</summary>Yes. The context belongs to the update's input, so the new state does not exist yet.</details>
# <details><summary>The new state</summary>It is computed from the context, so it cannot be the query for it.</details>
# <details><summary>The encoder's last state</summary>Only before the first word.</details>
#
# 3. You split heads by `view` without `transpose`. Shapes fit, and no error is raised. What is wrong?
#
# <details><summary>Nothing, if the shapes fit</summary>A tensor of the right shape can hold its numbers in the wrong order.</details>
# <details><summary>Numbers of different tokens are mixed</summary>Yes. <code>view</code> and <code>reshape</code> keep the order in memory. You will need this in part 1.</details>
# <details><summary>The gradient cannot flow</summary>It flows, to the wrong numbers.</details>

# %% [markdown]
# ## 1 · An image becomes a grid of features
#
# A scene has 16 × 32 pixels and one to three shapes, which the caption names from left to right.

# %%
some_scenes = scenes(6, seed=5)
draw_scenes(
    list(some_scenes.images),
    [caption(words) for words in some_scenes.captions],
    "Scenes and captions",
)

# %% [markdown]
# A convolutional neural network (CNN, lesson 8) moves small filters over an image: each output number depends on a small window of the input. Three convolutions turn a scene into a feature map of 4 × 8 cells, a grid with a vector of 48 features in each cell. (Here the channels come first, as PyTorch's convolutions return them; in lesson 13 they came last.)
#
# The CNN is trained first, on scenes with a single shape: it learns to name the colour and the shape. Then it is frozen, as in *Show, Attend and Tell* (Xu et al., 2015), where the CNN was a VGG-19 trained on ImageNet. (**From the lecture**: “Use CNN to extract a grid of features”, CS7150.)


# %%
def make_cnn() -> nn.Sequential:
    """Make a CNN: images (batch, 3, 16, 32) -> features (batch, 48, 4, 8)."""
    return nn.Sequential(
        nn.Conv2d(3, 24, kernel_size=3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(24, 48, kernel_size=3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(48, 48, kernel_size=3, stride=1, padding=1),
        nn.ReLU(),
    )


# %% folded=true
# Trains the CNN on single shapes, then freezes it: click to unfold.
def random_batches(count: int, size: int, steps: int, seed: int) -> list[Tensor]:
    """Draw the indices of `steps` batches."""
    generator = torch.Generator().manual_seed(seed)
    return list(torch.randint(count, (steps, size), generator=generator))


@cache
@torch.enable_grad()
def trained_cnn(seed: int) -> nn.Sequential:
    """Train a CNN to name the colour and the shape of single objects; return it frozen."""
    torch.manual_seed(seed)
    cnn, head = make_cnn(), nn.Linear(48, 8)  # logits of 4 colours, then of 4 shapes
    single = scenes(4000, seed=100, most=1)
    learned = [*cnn.parameters(), *head.parameters()]
    optimizer = torch.optim.AdamW(learned)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 8e-3, total_steps=300)
    for batch in random_batches(4000, 32, 300, seed):
        found = head(cnn(single.images[batch]).amax((2, 3)))  # the strongest cell of each feature
        colours, shapes = single.captions[batch, :2].T - torch.tensor([[1], [5]])
        loss = F.cross_entropy(found[:, :4], colours) + F.cross_entropy(found[:, 4:], shapes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return cnn.requires_grad_(False).eval()


# %%
feature_map = trained_cnn(0)(some_scenes.images)
print("images", tuple(some_scenes.images.shape), "→ features", tuple(feature_map.shape))
strongest = feature_map[0].amax((1, 2)).topk(6).indices
draw_scenes(
    [some_scenes.images[0]] * 6,
    [f"feature {number}" for number in strongest],
    "The six strongest features of the first scene, in 4 × 8 cells",
    list(feature_map[0, strongest]),
)

# %% [markdown]
# What to see: five of these six features are strongest on the green square, feature 9 at the left edge of a red shape. So the features say what is there, and their cells roughly where.
#
# Attention needs a sequence of keys. The grid has the shape (batch, channels, height, width); the sequence should have the shape (batch, cells, channels), a vector for each cell.
#
# **Hunt.** This line runs, and its result has the right shape:
#
# ```python
# sequence = features.reshape(batch, cells, channels)
# ```
#
# Before you read on, write a test that this line fails: fill in `an_example` with a small feature map in which you can tell every number's cell, for instance `torch.arange(12.0).reshape(1, 2, 2, 3)`. Then say what the first vector *should* be.

# %%
an_example = torch.zeros(1, 2, 2, 3)  # change this: 2 channels, 2 × 3 cells
first_vector = torch.zeros(2)  # and this: both features of the first cell
reshaped = an_example.reshape(1, 6, 2)
print("the first vector:", reshaped[0, 0].tolist(), "should be", first_vector.tolist())
print("fails your test" if not torch.equal(reshaped[0, 0], first_vector) else "passes: try others")

# %% [markdown]
# <details><summary>What a test shows</summary>With <code>torch.arange(12.0).reshape(1, 2, 2, 3)</code>, channel 0 holds 0 to 5 and channel 1 holds 6 to 11. The first cell's vector should be [0, 6]. The line gives [0, 1]: channel 0 of two different cells.</details>
#
# Would you notice this in training? The loss still falls. In five recorded runs of part 4's captioner with this line, 26 to 33 % of the captions had no error. With the right order, 89 to 92 % had none.
#
# **Exercise** (8 minutes). Write it.
#
# <details><summary>Hint 1</summary>Join the two axes of the grid first. They are adjacent, so that keeps the order.</details>
# <details><summary>Hint 2</summary>Then two axes are in the wrong order. Which function swaps axes without mixing numbers?</details>


# %% exercise grid_to_sequence
def grid_to_sequence(features: Tensor) -> Tensor:
    """Turn a grid of features into a sequence with a vector for each cell.

    (batch, channels, height, width) -> (batch, height · width, channels). Cells come row by row,
    each from left to right: the cell at (row, column) is number row · width + column.
    """
    # BEGIN SOLUTION
    return features.flatten(2).transpose(1, 2)
    # END SOLUTION


# %% check grid_to_sequence points=1
hint = "a vector should hold all channels of one cell; cells should come row by row"
with Check("grid_to_sequence", "two channels, two rows of three cells", hint) as check:
    # channel 0 has 0 to 5, channel 1 has 10 to 15
    grid = torch.tensor([[[[0.0, 1, 2], [3, 4, 5]], [[10, 11, 12], [13, 14, 15]]]]).double()
    pair = check.call(torch.cat([grid, grid + 20]))
    check.shape(pair, batch=2, cells=6, channels=2)
    sequence = check.call(grid)
    check.shape(sequence, batch=1, cells=6, channels=2)
    check.equal(
        sequence[0, 0], grid[0, :, 0, 0], "the first vector is [0, 10]: one cell, 2 channels"
    )
    check.equal(sequence[0, 1], grid[0, :, 0, 1], "the second vector is that of row 0, column 1")
    check.equal(sequence[0, 3], grid[0, :, 1, 0], "vector 3 is that of row 1, column 0")
    check.equal(
        sequence[0],
        torch.stack([torch.arange(6.0), torch.arange(10.0, 16.0)], 1).double(),
        "the vectors are [0, 10], [1, 11], [2, 12], [3, 13], [4, 14], [5, 15]",
    )
with Check("grid_to_sequence", "a batch", hint) as check:
    grid = numbers(3, 4, 2, 5).requires_grad_()
    sequence = check.call(grid)
    check.shape(sequence, batch=3, cells=10, channels=4)
    check.equal(
        sequence[1].detach(),
        torch.stack([grid[1, :, row, column].detach() for row in (0, 1) for column in range(5)]),
        "the vectors of 2 rows of 5 cells come row by row, their numbers unchanged",
    )
    slope = check.gradient(sequence[:, 7], grid)
    expected = torch.zeros_like(grid)
    expected[:, :, 1, 2] = 1.0
    check.equal(
        slope,
        expected,
        "the gradient of vector 7 of 2 rows of 5 cells reaches row 1, column 2, and no other cell",
        hint="leave out no_grad, detach and new tensors on the way",
    )
    alone = check.call(grid[1:2])
    check.equal(sequence[1], alone[0], "a scene gives the same vectors in a batch as alone")
# BEGIN HIDDEN TESTS
with Check("grid_to_sequence", "other sizes, scales and dtypes") as check:
    for batch, channels, height, width, dtype, scale in (
        (1, 1, 3, 2, torch.float64, 1.0),
        (2, 5, 1, 4, torch.float64, 30.0),
        (4, 3, 6, 1, torch.float32, 0.1),
        (2, 3, 3, 3, torch.float64, 1.0),
        (3, 6, 2, 3, torch.float64, 1.0),
        (1, 7, 1, 1, torch.float64, 1.0),
    ):
        grid = numbers(batch, height, channels, width, seed=3, scale=scale, dtype=dtype)
        grid = grid.transpose(1, 2)
        sequence = check.call(grid)
        check.shape(sequence, batch=batch, cells=height * width, channels=channels)
        cells_in_order = [grid[:, :, r, c] for r in range(height) for c in range(width)]
        check.equal(sequence, torch.stack(cells_in_order, 1), "a vector for each cell, row by row")
# END HIDDEN TESTS

# %% [markdown]
# ## 2 · What a cell sees
#
# Cell (0, 0) is the top left corner of the grid. An attention map brightens the top left 4 × 4 pixels for it. Are these the pixels from which the cell is computed? The cell's gradient with respect to the pixels answers this: where it is not 0, the cell depends on the pixel. (The figure takes cell (4, 8) of a larger scene, so that the edge cuts nothing off.)

# %%
probe = torch.zeros(1, 3, 32, 64, requires_grad=True)  # a larger scene, so that nothing is cut off
torch.manual_seed(0)
untrained = make_cnn().double()
untrained(probe.double())[0, :, 4, 8].sum().backward()
depends = probe.grad[0].abs().sum(0) > 0 if probe.grad is not None else torch.zeros(32, 64)
seen_rows, seen_columns = depends.nonzero().T
figure = Figure(figsize=(6, 3.2), layout="constrained")
axes = figure.subplots()
axes.imshow(depends.float().numpy(), cmap="cividis")
axes.add_patch(Rectangle((31.5, 15.5), 4, 4, fill=False, edgecolor="white", linewidth=2))
axes.set(xlabel="pixel column", ylabel="pixel row")
axes.set_title("yellow: pixels on which cell (4, 8) depends; white: its 4 × 4 tile", fontsize=10)
span = f"columns {int(seen_columns.min())} to {int(seen_columns.max())}"
figures.Picture(figure, f"The pixels on which one cell depends: {span}; its tile is 32 to 35.")

# %% [markdown]
# What to see: the cell depends on 15 × 15 pixels, 14 times the area of its tile. The tile lies near their middle, a little below and to the right of it.
#
# A cell's **receptive field** is the part of the input on which it can depend. Along one axis, two neighbouring outputs of a convolution are `stride` inputs apart, and each sees `kernel` inputs. Padding moves the first window to the left, by `padding` inputs. By hand, for two convolutions (kernel 3, stride 2, padding 1):


# %% folded=true
# Draws two convolutions over one row of pixels: click to unfold.
def draw_fields() -> figures.Picture:
    """Draw which pixels cells 0 and 1 of two convolutions see, (3, 2, 1) twice."""
    figure = Figure(figsize=(8.4, 2.7), layout="constrained")
    axes = figure.subplots()
    rows = {  # name -> its cells, how many pixels apart they are
        "pixels": (range(-3, 10), 1),
        "layer 1": (range(-1, 5), 2),
        "layer 2": (range(2), 4),
    }
    for height, (name, (numbered, apart)) in enumerate(rows.items()):
        axes.text(-4.3, height, name, ha="right", va="center")
        for number in numbered:
            edge = figures.INK if number >= 0 else "#BBBBBB"
            box = {"boxstyle": "circle", "facecolor": "none", "edgecolor": edge}
            axes.text(
                apart * number, height, str(number), ha="center", va="center", bbox=box, fontsize=8
            )
    for number, colour in ((0, figures.LINES[0]), (1, figures.LINES[1])):
        for below in range(2 * number - 1, 2 * number + 2):
            axes.plot([4 * number, 2 * below], [1.78, 1.22], color=colour)
            for pixel in range(2 * below - 1, 2 * below + 2):
                axes.plot([2 * below, pixel], [0.78, 0.22], color=colour, alpha=0.6)
    axes.set(xlim=(-6.5, 10), ylim=(-0.4, 2.4))
    axes.axis("off")
    told = "cell 0 sees pixels -3 to 3, cell 1 pixels 1 to 7"
    return figures.Picture(figure, f"Two convolutions with kernel 3, stride 2, padding 1: {told}.")


# %%
draw_fields()

# %% [markdown]
# What to see: cell 0 of the first layer sees pixels −1, 0 and 1; cell 1 sees 1, 2 and 3. Cell 0 of the second layer sees cells −1, 0 and 1 of the first, so pixels −3 to 3. Cell 1 sees pixels 1 to 7. (Grey: padding. Cell −1 of the first layer is a 0 that sees no pixel; counting it gives every cell the same size.)
#
# **Predict.** A third convolution follows, with kernel 3, *stride 1* and padding 1. How many more pixels does a cell see along this axis?
#
# <details><summary>2: a kernel of 3 adds one cell on each side</summary>It adds one cell on each side, but cells of the layer before are 4 pixels apart.</details>
# <details><summary>8: one cell on each side, and cells are 4 pixels apart</summary>Yes: 7 + 8 = 15. A layer's own stride does not count yet: it sets how far apart this layer's cells are, which matters for the layers after it.</details>
# <details><summary>None: its stride is 1</summary>Its own stride says how far apart its cells are. How much more each of them sees depends on the kernel, and on the strides <em>before</em>.</details>
#
# **Exercise** (20 minutes). Compute the receptive field for any stack of layers: its size, its stride and where it starts.
#
# <details><summary>Hint 1</summary>Begin with a single pixel: size 1, stride 1, start 0. Then go through the layers and update all three.</details>
# <details><summary>Hint 2</summary>How far apart, in pixels, are the cells that a layer's kernel sees: before or after this layer's own stride?</details>
# <details><summary>Hint 3</summary>Padding moves the start to the left by <code>padding</code> cells of the layer before. How many pixels is that?</details>


# %% exercise receptive_field
def receptive_field(layers: Sequence[tuple[int, int, int]]) -> tuple[int, int, int]:
    """What one cell of the last layer sees along one axis: (size, stride, start), whole numbers.

    layers: (kernel, stride, padding) of each convolution or pooling, the first one first.
    Cell i sees `size` pixels, the first of them at start + i · stride. Pixel 0 is the first of the
    image; start is negative where a cell sees padding. Without any layer: (1, 1, 0).
    """
    # BEGIN SOLUTION
    size, stride, start = 1, 1, 0
    for kernel, step, padding in layers:
        size += (kernel - 1) * stride
        start -= padding * stride
        stride *= step
    return size, stride, start
    # END SOLUTION


# %% check receptive_field points=2
hint = "a kernel of k sees k cells; how far apart these are is the product of the strides before it"


three_numbers = {"size": int, "stride": int, "start": int}
cases = {
    "without a layer, a cell is a pixel": ([], (1, 1, 0)),
    "one layer (3, 1, 0): cell 0 sees pixels 0 to 2": ([(3, 1, 0)], (3, 1, 0)),
    "one layer (5, 3, 2): cell 0 sees pixels -2 to 2, cell 1 begins 3 further": (
        [(5, 3, 2)],
        (5, 3, -2),
    ),
    "two layers (3, 2, 1): cell 0 sees pixels -3 to 3, cell 1 begins 4 further": (
        [(3, 2, 1)] * 2,
        (7, 4, -3),
    ),
    "the CNN of this lesson, (3, 2, 1), (3, 2, 1), (3, 1, 1): a cell sees 15 pixels": (
        [(3, 2, 1), (3, 2, 1), (3, 1, 1)],
        (15, 4, -7),
    ),
    "pooling (2, 2, 0), then (3, 1, 1): a cell sees 3 cells of 2 pixels": (
        [(2, 2, 0), (3, 1, 1)],
        (6, 2, -2),
    ),
    "the same two in the other order": ([(3, 1, 1), (2, 2, 0)], (4, 2, -1)),
    "(1, 3, 0), then (3, 1, 0): cell 0 sees from pixel 0 to pixel 6": (
        [(1, 3, 0), (3, 1, 0)],
        (7, 3, 0),
    ),
    "eight layers (3, 2, 1): the size doubles in each, plus 1": (
        [(3, 2, 1)] * 8,
        (511, 256, -255),
    ),
}
with Check("receptive_field", "layers you can do by hand", hint) as check:
    for told, (case, want) in cases.items():
        answer = check.call(list(case), returns=three_numbers)
        check.equal(answer, want, told)
# BEGIN HIDDEN TESTS
with Check("receptive_field", "many layers, from the last one back") as check:
    for case in (
        [(7, 2, 3), (3, 2, 1), (3, 1, 1), (3, 1, 1)],
        [(1, 3, 0), (4, 2, 0), (5, 1, 2), (2, 2, 1)],
        [(11, 4, 2), (3, 2, 0), (5, 1, 2), (3, 2, 0), (3, 1, 1)],
        [(4, 4, 0)],
        [(3, 1, 1)] * 9,
        [(2, 2, 0)] * 5,
        [(16, 16, 0), (1, 1, 0), (3, 2, 3)],
        ((3, 2, 0), (6, 5, 4)),
    ):
        ends = []
        for cell in (0, 1):
            low = high = cell
            for window, jump, pad in reversed(case):
                low, high = low * jump - pad, high * jump - pad + window - 1
            ends.append((low, high))
        (low, high), (following, _) = ends
        found = check.call(case, returns=three_numbers)
        check.equal(found, (high - low + 1, following - low, low), "size, stride and start")
# END HIDDEN TESTS

# %% [markdown]
# **From the lecture**: *Transformers (Part 2)*, Data C182, slide “Motivation / intuition”, and *Transformer: Part I (Encoder)*, CS7150, “Image captioning with RNNs and attention”. Both take their examples from Xu et al.
#
# **Hunt.** Xu et al. attend to 14 × 14 cells of an image of 224 × 224 pixels. Their VGG-19 has blocks of 2, 2, 4, 4 and 4 convolutions (kernel 3, stride 1, padding 1), with a pooling (kernel 2, stride 2) between blocks. Their pictures show each cell as 16 × 16 blurred pixels. A reader takes a bright spot for the pixels that the network used. What is wrong with that? Guess how many pixels a cell sees along one axis, then run your function.

# %%
convolution, pooling = (3, 1, 1), (2, 2, 0)
vgg = []
for convolutions in (2, 2, 4, 4, 4):
    vgg += [*([pooling] if vgg else []), *([convolution] * convolutions)]
for network, its_layers in {
    "the CNN of this lesson": [(3, 2, 1), (3, 2, 1), (3, 1, 1)],
    "Xu et al.'s VGG-19": vgg,
}.items():
    pixels_seen, apart, begins = receptive_field(its_layers)
    print(f"{network:22}: a cell sees {pixels_seen} pixels, {apart} apart, cell 0 from {begins}")
print(f"by the gradient: {int(seen_columns.max() - seen_columns.min()) + 1} pixels")

# %% [markdown]
# <details><summary>What is wrong with the pictures</summary>A cell of the VGG-19 has a receptive field of 252 × 252 pixels, more than the whole image. A cell in the middle can see all of the image, a corner cell 134 × 134 pixels of it. A cell's 16 × 16 pixels say where the cell <em>is</em>. They do not say from which pixels it was computed. (The smooth look does not come from the network either: the weights were enlarged, then blurred by a Gaussian filter.)</details>
# <details><summary>Back to the opening: has network 1's outlined cell, (2, 4), seen the square?</summary>No. By your function, it sees columns 4 · 4 − 7 = 9 to 23, and the square is in columns 1 to 7. But cell (2, 3), with 30 % of the weight, sees columns 5 to 19, so a part of the square.</details>
#
# The receptive field is an upper bound: a cell need not use all of it, and pixels near its middle usually count more (the *effective* receptive field; Luo et al., 2016). Still, “it attended to this tile” and “it used these pixels” are different claims. Part 7 tests the second.
#
# **A good place to stop.** Next, a state attends to the cells. (Back later? Run all cells above first.)
#
# ## 3 · Attention over the grid
#
# Before each word, the decoder's state attends to the cells: the state gives the query, each cell a key, and the cells are the values. Here are three cells with two features, [4, 0], [0, 4] and [2, 2], the scores of one query, and a *gate*, as in lesson 10:

# %%
three_cells = torch.tensor([[4.0, 0.0], [0.0, 4.0], [2.0, 2.0]])
their_scores = torch.tensor([[math.log(8.0), 0.0, 0.0]])
their_weights = their_scores.softmax(-1)
figures.steps(
    {
        "scores": (their_scores, "cell", ["0", "1", "2"]),
        "weights": (their_weights, "cell", ["0", "1", "2"]),
        "weighted sum": (their_weights @ three_cells, "feature", ["0", "1"]),
        "gate": (torch.tensor([[0.2]]), "σ", [""]),
        "context": (0.2 * their_weights @ three_cells, "feature", ["0", "1"]),
    },
    "query",
    ["state"],
)

# %% [markdown]
# What to see: the weights sum to 1, and the weighted sum is multiplied by the gate, 0.2. With the state $s$, cells $x_i$, scores $e_i$, weights $\alpha_i$ and the context $c$:
#
# $$e_i = \frac{(W_q\, s) \cdot (W_k\, x_i)}{\sqrt{d_\text{attention}}} \qquad \alpha = \mathrm{softmax}(e) \qquad c = \sigma(w_g \cdot s + b_g) \sum_i \alpha_i\, x_i$$
#
# A **gate** is a factor between 0 and 1, computed by the network, that passes a vector on or turns it down. Here, the state gives a single factor for the whole context, through a linear layer and the sigmoid $\sigma$. Xu et al. added this gate and report that their weights then lie more on objects.
#
# <details><summary>Differences to know when you read the sources</summary>In Xu et al., attention is additive, and the decoder is an LSTM. They compare <em>soft</em> attention, which you build here, with <em>hard</em> attention, which samples a single cell. C182 calls the pictures of the weights “attention masks”; in this course, an attention mask is applied <em>before</em> softmax.</details>
#
# **Predict.** The gate of a word is 0.01. What does the map of its weights show?
#
# <details><summary>A dark map: all weights are near 0</summary>Weights sum to 1, whatever the gate is.</details>
# <details><summary>A map like any other, although the word hardly uses it</summary>Yes. The gate scales the context, not the weights. That is another reason for doubt, besides the receptive field. (Recorded, in part 4's captioners: in scenes of two shapes, the mean gate is 0.83 to 0.92 at colour words and 0.39 to 0.65 at shape words.)</details>
# <details><summary>Equal weights</summary>The weights come from the scores alone. The gate does not enter them.</details>
#
# **Exercise** (30 minutes). Write the module.
#
# <details><summary>Hint 1</summary>Three linear layers: two without bias, and one from d_state to a single number, with bias.</details>
# <details><summary>Hint 2</summary>The query has no axis for cells. Give it one with <code>[:, None]</code>, multiply with the keys, and sum over the last axis.</details>
# <details><summary>Hint 3</summary><code>weights[:, None] @ cells</code> has the shape (batch, 1, d_cell).</details>


# %% exercise GridAttention
class GridAttention(nn.Module):
    """Attend to the cells of a grid with one query for each row of the batch.

    Linear layers: `w_query` (d_state -> d_attention) and `w_key` (d_cell -> d_attention), without
    bias; `gate` (d_state -> 1), with bias.
    forward(state (batch, d_state), cells (batch, cells, d_cell)) -> (context, weights).
    weights (batch, cells): softmax over the cells of the scaled dot products of w_query(state) and
    w_key(cell), divided by the root of d_attention.
    context (batch, d_cell): the weighted sum of the cells themselves, times sigmoid(gate(state)).
    """

    def __init__(self, d_state: int, d_cell: int, d_attention: int) -> None:
        super().__init__()
        # BEGIN SOLUTION
        self.w_query = nn.Linear(d_state, d_attention, bias=False)
        self.w_key = nn.Linear(d_cell, d_attention, bias=False)
        self.gate = nn.Linear(d_state, 1)
        # END SOLUTION

    def forward(self, state: Tensor, cells: Tensor) -> tuple[Tensor, Tensor]:
        """Return (context, weights)."""
        # BEGIN SOLUTION
        query, keys = self.w_query(state), self.w_key(cells)
        scores = (query[:, None] * keys).sum(-1) / math.sqrt(keys.shape[-1])
        weights = torch.softmax(scores, -1)
        context = (weights[:, None] @ cells)[:, 0]
        return torch.sigmoid(self.gate(state)) * context, weights
        # END SOLUTION


# %% given attention_weights folded=true
# Fixed weights for the checks of GridAttention: click to unfold.
def attention_weights(
    d_state: int, d_cell: int, d_attention: int, seed: int = 0
) -> dict[str, Tensor]:
    """Make parameters that depend only on the sizes and the seed."""
    return {
        "w_query.weight": numbers(d_attention, d_state, seed=seed),
        "w_key.weight": numbers(d_attention, d_cell, seed=seed + 1),
        "gate.weight": numbers(1, d_state, seed=seed + 2),
        "gate.bias": numbers(1, seed=seed + 3),
    }


# %% check GridAttention points=3
hint = "dot products over √d_attention, softmax over the cells, weighted sum of the cells, then the gate"
detached = "leave out no_grad, detach and new tensors on the way"
names = ("context", "weights")
cells_by_hand = torch.tensor([[1.0, 0.0, 5.0], [0.0, 2.0, 5.0], [2.0, 4.0, 5.0]]).double()
by_hand = torch.tensor([2.0, 1.0, 4.0], dtype=torch.float64) / 7  # weights
with Check("GridAttention", "an example you can do by hand", hint) as check:
    # d_attention is 4, so scores are halved; the state [1, 0] has the query [2 ln 2, 0, 0, 0]
    attention = check.build(2, 3, 4).double()
    w_query = torch.zeros(4, 2, dtype=torch.float64)
    w_query[0, 0] = 2 * math.log(2)
    w_gate = torch.tensor([[math.log(3), 0.0]], dtype=torch.float64)
    given = {"w_query.weight": w_query, "w_key.weight": torch.eye(4, 3).double()}
    attention.load({**given, "gate.weight": w_gate, "gate.bias": torch.zeros(1).double()})
    inputs = torch.eye(2).double(), cells_by_hand.expand(2, 3, 3).clone()
    context, weights = attention.call(*inputs, returns=names)
    check.shape(weights, batch=2, cells=3)
    check.shape(context, batch=2, d_cell=3)
    check.equal(
        weights[0],
        by_hand,
        "for the state [1, 0] the scores are ln 2 · 1, 0 and ln 2 · 2, so the weights 2/7, 1/7, 4/7",
    )
    check.equal(
        weights[1],
        torch.full_like(by_hand, 1 / 3),
        "for the state [0, 1] all scores are 0, so each weight is 1/3",
    )
    check.equal(
        context[0],
        torch.tensor([10 / 7, 18 / 7, 5.0], dtype=torch.float64) * 3 / 4,
        "for the state [1, 0] the gate is 3/4, and the context 3/4 of the weighted sum of the cells",
    )
    check.equal(
        context[1],
        torch.tensor([1.0, 2.0, 5.0], dtype=torch.float64) / 2,
        "for the state [0, 1] the gate is 1/2, and the context half the mean of the cells",
    )
with Check("GridAttention", "another width, large scores, and equal weights", hint) as check:
    # d_attention is 2, so scores are divided by the root of 2
    attention = check.build(2, 3, 2).double()
    w_query = torch.tensor([[math.sqrt(2) * math.log(2), 0.0], [0.0, 0.0]], dtype=torch.float64)
    given = {"w_query.weight": w_query, "w_key.weight": torch.eye(2, 3).double()}
    given |= {"gate.weight": torch.zeros(1, 2).double(), "gate.bias": torch.zeros(1).double()}
    attention.load(given)
    state = torch.tensor([[1.0, 0.0], [0.0, 3.0], [3e4, 0.0]], dtype=torch.float64)
    inputs = state, cells_by_hand.expand(3, 3, 3).clone().requires_grad_()
    context, weights = attention.call(*inputs, returns=names)
    check.shape(weights, batch=3, cells=3)
    check.shape(context, batch=3, d_cell=3)
    check.equal(
        weights[0],
        by_hand,
        "with d_attention=2 and a query of √2 ln 2, the weights are 2/7, 1/7, 4/7 again",
    )
    check.equal(
        weights[2],
        torch.tensor([0.0, 0.0, 1.0], dtype=torch.float64),
        "with scores of about 21,000, 0 and 42,000, the cell with the largest score has weight 1",
    )
    blank = cells_by_hand * torch.tensor([[0.0], [1.0], [1.0]], dtype=torch.float64)
    _, weights_blank = attention.call(state[1:2], blank[None], returns=names)
    check.equal(
        weights_blank[0],
        torch.full_like(by_hand, 1 / 3),
        "with a query of 0, a cell of zeros has weight 1/3 like the others",
    )
    check.equal(
        check.gradient(context[1], inputs[1])[1],
        torch.full((3, 3), 1 / 6, dtype=torch.float64),
        "with a query of 0 and a gate of 1/2, the context has the gradient 1/6 for each of 3 cells",
        hint="the cells are the values: no detach there",
    )
with Check("GridAttention", "a batch, and what may be learned", hint) as check:
    attention = check.build(5, 3, 6).double()
    attention.load(attention_weights(5, 3, 6))
    state, cells_given = numbers(2, 5, seed=5).requires_grad_(), numbers(2, 4, 3, seed=6)
    cells_given.requires_grad_()
    context, weights = attention.call(state, cells_given, returns=names)
    check.shape(weights, batch=2, cells=4)
    check.shape(context, batch=2, d_cell=3)
    check.equal(
        weights.detach().sum(-1), torch.ones(2, dtype=torch.float64), "the weights sum to 1"
    )
    alone, weights_alone = attention.call(state[1:], cells_given[1:], returns=names)
    check.equal(weights[1], weights_alone[0], "a row gets the same weights in a batch as alone")
    check.equal(context[1], alone[0], "a row gets the same context in a batch as alone")
    order = torch.tensor([2, 0, 3, 1])
    moved, weights_moved = attention.call(state, cells_given[:, order], returns=names)
    check.equal(weights_moved, weights[:, order], "in another order, each cell keeps its weight")
    check.equal(moved, context, "in another order, the cells give the same context")
    attention.eval()
    evaluated, weights_evaluated = attention.call(state, cells_given, returns=names)
    check.equal(weights_evaluated, weights, "in evaluation mode, the weights are the same")
    check.equal(evaluated, context, "in evaluation mode, the context is the same")
    attention.train()
    for label, result in zip(names, (context, weights), strict=True):
        for name, slope in attention.gradients(result.square()).items():
            if label == "weights" and name.startswith("gate"):
                none = torch.zeros_like(slope)
                check.equal(slope, none, "the weights do not depend on the gate")
            else:
                check.true(
                    bool((slope != 0).all()),
                    f"a gradient reaches {name} from the {label}",
                    hint=detached,
                )
        for name, source in (("state", state), ("cells", cells_given)):
            check.true(
                bool((check.gradient(result.square(), source) != 0).all()),
                f"a gradient reaches {name} from the {label}",
                hint=detached,
            )
# BEGIN HIDDEN TESTS
with Check("GridAttention", "the formula, in other sizes, scales and dtypes") as check:
    for sizes, batch, count, dtype, scale in (
        ((4, 6, 3), 3, 5, torch.float64, 1.0),
        ((7, 2, 9), 1, 8, torch.float64, 3.0),
        ((1, 5, 1), 4, 1, torch.float64, 1.0),
        ((4, 2, 3), 1, 1, torch.float64, 1.0),
        ((3, 3, 3), 3, 3, torch.float64, 0.2),
        ((6, 4, 16), 2, 7, torch.float32, 1.0),
        ((2, 8, 5), 5, 6, torch.float64, 200.0),
    ):
        attention = check.build(*sizes)
        attention = attention.double() if dtype == torch.float64 else attention
        parts = {name: w.to(dtype) for name, w in attention_weights(*sizes, seed=7).items()}
        attention.load(parts)
        state = numbers(batch, sizes[0], seed=8, scale=scale, dtype=dtype)
        grid = numbers(batch, sizes[1], count, seed=9, dtype=dtype).transpose(1, 2)
        queries = torch.einsum("bs,as->ba", state, parts["w_query.weight"])
        products = torch.einsum("ba,ac,bnc->bn", queries, parts["w_key.weight"], grid)
        expected = (products / sizes[2] ** 0.5).softmax(-1)
        opened = (state @ parts["gate.weight"][0] + parts["gate.bias"]).sigmoid()
        context, weights = attention.call(state, grid, returns=names)
        check.equal(weights.detach(), expected, "weights")
        check.equal(
            context.detach(),
            torch.einsum("b,bn,bnc->bc", opened, expected, grid),
            "the gated context",
        )
with Check("GridAttention", "the gradients of PyTorch's own attention") as check:
    attention, parts = check.build(4, 6, 3).double(), attention_weights(4, 6, 3, seed=11)
    attention.load(parts)
    state, grid = (
        numbers(3, 4, seed=12).requires_grad_(),
        numbers(3, 5, 6, seed=13).requires_grad_(),
    )
    context, weights = attention.call(state, grid, returns=names)
    queries, keys = state @ parts["w_query.weight"].T, grid @ parts["w_key.weight"].T
    plain = F.scaled_dot_product_attention(queries[:, None], keys, grid)[:, 0]
    gated = plain * F.linear(state, parts["gate.weight"], parts["gate.bias"]).sigmoid()
    for source in (state, grid):
        slope = check.gradient(context.square(), source)
        check.equal(slope, check.gradient(gated.square(), source), "the gradient")
# END HIDDEN TESTS

# %% [markdown]
# ## 4 · The captioner
#
# Now the whole decoder. Before the first word it needs a state: the mean of all cells, through a linear layer and tanh. Then, for each word:


# %% folded=true
# Draws two steps of the captioner as boxes and arrows: click to unfold.
def draw_arrow(axes: Axes, tail: tuple[float, float], head: tuple[float, float], **style) -> None:
    """Draw an arrow from tail to head."""
    drawn = {"arrowstyle": "-|>", "color": figures.INK, "linewidth": 1.5, **style}
    axes.annotate("", head, tail, arrowprops=drawn)


def draw_box(axes: Axes, at: tuple[float, float], text: str, colour: str = figures.INK) -> None:
    """Draw a box around a text."""
    box = {"boxstyle": "round", "facecolor": "none", "edgecolor": colour}
    axes.text(*at, text, ha="center", va="center", bbox=box, fontsize=10)


def draw_captioner() -> figures.Picture:
    """Draw two steps: the old state attends, the GRU updates, the new state gives the logits."""
    figure = Figure(figsize=(8.6, 3.3), layout="constrained")
    axes = figure.subplots()
    draw_box(axes, (0, 0), "start")
    draw_arrow(axes, (0, -1.4), (0, -0.35))
    axes.text(0, -1.6, "mean cell", ha="center")
    for step, (word, written) in enumerate((("<begin>", "red"), ("red", "circle"))):
        x = 3.4 * step
        draw_arrow(axes, (x + 0.45, 0), (x + 2.85, 0), linewidth=2.5)
        axes.text(x + 0.75, 0.18, f"s{step}", fontsize=10)
        draw_box(axes, (x + 1.5, -1.6), "attend", figures.LINES[2])
        draw_arrow(axes, (x + 0.85, -0.05), (x + 1.2, -1.3), color=figures.LINES[2])
        draw_arrow(axes, (x + 1.9, -1.3), (x + 2.9, -0.35), color=figures.LINES[2])
        axes.text(x + 1.5, -2.5, "all cells", ha="center", color=figures.LINES[2])
        draw_arrow(axes, (x + 1.5, -2.3), (x + 1.5, -1.95), color=figures.LINES[2])
        draw_box(axes, (x + 3.25, 0), "GRU", figures.LINES[0])
        draw_arrow(axes, (x + 3.25, -1.4), (x + 3.25, -0.35))
        axes.text(x + 3.25, -1.6, word, ha="center")
        draw_arrow(axes, (x + 3.25, 0.35), (x + 3.25, 1.15))
        axes.text(x + 3.25, 1.25, written, ha="center", weight="bold")
    draw_arrow(axes, (7.1, 0), (8.0, 0), linewidth=2.5)
    axes.text(7.4, 0.18, "s2", fontsize=10)
    axes.set(xlim=(-0.7, 8.2), ylim=(-2.8, 1.7))
    axes.axis("off")
    told = "The old state attends to all cells; the GRU reads the token and the context"
    return figures.Picture(figure, f"Two steps of the captioner. {told}; its new state writes.")


# %%
draw_captioner()

# %% [markdown]
# What to see: the *old* state attends; the GRU reads the token's embedding and the context; the *new* state gives the logits of the next word. (In lesson 10, the output layer read the context as well. Here, the GRU has to pass it on.) In training, the tokens are those of the true caption (teacher forcing, lesson 10).
#
# A cell says *what* is there. But where? Attention ignores the order of its keys, so each cell needs its position: a learned vector per cell, which is added before anything else, as in a Vision Transformer. (The figure leaves this out.)
#
# **Predict.** Without these positions, what does the captioner lose?
#
# <details><summary>Nothing: the CNN's features contain the position</summary>A convolution treats all positions alike. (Padding tells it about the edges, no more.)</details>
# <details><summary>The order of the shapes: it cannot know which one is to the left</summary>Yes. It still sees what is there. The first figure after training shows how much that costs.</details>
# <details><summary>The colours</summary>Colours are features. They need no position.</details>
#
# **Exercise** (40 minutes). Write the captioner.
#
# <details><summary>Hint 1</summary>Add the positions once, in the first line. The result is used for everything below: the mean, and attention.</details>
# <details><summary>Hint 2</summary>A loop over the words. Keep one variable <code>state</code>; collect states and weights in two lists; <code>torch.stack(…, 1)</code>.</details>
# <details><summary>Hint 3</summary>Within a step: first attend with the state that you have, then compute the new one.</details>


# %% exercise Captioner
class Captioner(nn.Module):
    """Write a caption word by word, and attend to the cells before each word.

    Parts: `attend`, as given: attend(state, cells) -> (context (batch, d_cell), weights (batch,
    cells)); `embedding` of the tokens; `positions`, a parameter (num_cells, d_cell); `start`
    (d_cell -> d_state); `gru`, an nn.GRUCell that reads [embedding, context]; `output` (d_state ->
    vocab_size). The linear layers have a bias.
    forward(cells (batch, num_cells, d_cell), tokens (batch, words)) -> (logits (batch, words,
    vocab_size), weights (batch, words, num_cells)). The positions are added to the cells first.
    The first state is tanh(start(mean of the cells)). For word t, the old state attends; the GRU
    reads tokens[:, t] and the context; logits[:, t] come from the new state.
    No dropout; nothing is detached.
    """

    def __init__(
        self,
        attend: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]],
        vocab_size: int,
        num_cells: int,
        d_embedding: int,
        d_cell: int,
        d_state: int,
    ) -> None:
        super().__init__()
        # BEGIN SOLUTION
        self.attend = attend
        self.embedding = nn.Embedding(vocab_size, d_embedding)
        self.positions = nn.Parameter(0.1 * torch.randn(num_cells, d_cell))
        self.start = nn.Linear(d_cell, d_state)
        self.gru = nn.GRUCell(d_embedding + d_cell, d_state)
        self.output = nn.Linear(d_state, vocab_size)
        # END SOLUTION

    def forward(self, cells: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Return (logits, weights) of all words."""
        # BEGIN SOLUTION
        cells = cells + self.positions
        state = torch.tanh(self.start(cells.mean(1)))
        states, all_weights = [], []
        for embedded in self.embedding(tokens).unbind(1):
            context, weights = self.attend(state, cells)
            state = self.gru(torch.cat([embedded, context], -1), state)
            states.append(state)
            all_weights.append(weights)
        return self.output(torch.stack(states, 1)), torch.stack(all_weights, 1)
        # END SOLUTION


# %% given captioner_weights folded=true
# Fixed weights for the checks of Captioner: click to unfold.
def captioner_weights(
    vocab_size: int, num_cells: int, d_embedding: int, d_cell: int, d_state: int, seed: int = 0
) -> dict[str, Tensor]:
    """Make parameters that depend only on the sizes and the seed."""
    shapes = {
        "positions": (num_cells, d_cell),
        "embedding.weight": (vocab_size, d_embedding),
        "start.weight": (d_state, d_cell),
        "start.bias": (d_state,),
        "gru.weight_ih": (3 * d_state, d_embedding + d_cell),
        "gru.weight_hh": (3 * d_state, d_state),
        "gru.bias_ih": (3 * d_state,),
        "gru.bias_hh": (3 * d_state,),
        "output.weight": (vocab_size, d_state),
        "output.bias": (vocab_size,),
    }
    return {
        name: numbers(*shape, seed=seed + number, scale=0.6)
        for number, (name, shape) in enumerate(shapes.items())
    }


# %% check Captioner points=4
hint = "positions; first state; for each word: the old state attends, the GRU, logits from the new state"
detached = "leave out no_grad, detach and new tensors on the way"
names = ("logits", "weights")
sizes = (11, 6, 4, 3, 5)  # vocab_size, num_cells, d_embedding, d_cell, d_state


def attend_and_note(d_state, d_cell, calls):
    """Attention by a fixed matrix, which notes what it gets and gives."""
    w = numbers(d_state, d_cell, seed=50)

    def attend(state, cells):
        if len(calls) >= 60:
            raise RuntimeError("attend is called without end: more than 60 times")
        weights = torch.einsum("bs,sc,bnc->bn", state, w.to(state), cells).softmax(-1)
        context = 2 * torch.einsum("bn,bnc->bc", weights, cells)
        given = (state, cells, context, weights)
        calls.append([part.detach().clone() for part in given])
        return context, weights

    return attend


def fixed_gru(parts, d_embedding, d_cell, d_state):
    """The GRU of these parameters."""
    gru = nn.GRUCell(d_embedding + d_cell, d_state).to(parts["positions"])
    gru.load_state_dict({n[4:]: w for n, w in parts.items() if n.startswith("gru.")})
    return gru


def captioned(check, calls, dtype=torch.float64):
    """Build a captioner with fixed weights and run it on three rows of four words."""
    captioner = check.build(attend_and_note(5, 3, calls), *sizes).double()
    captioner.load(captioner_weights(*sizes))
    grid, words = (
        numbers(3, 6, 3, seed=51),
        torch.tensor([[0, 4, 2, 2], [7, END, 1, 8], [3, 5, 6, 0]]),
    )
    return captioner, grid, words, captioner.call(grid, words, returns=names)


with Check("Captioner", "what attend gets", hint) as check:
    calls, parts = [], captioner_weights(*sizes)
    captioner, grid, words, (logits, weights) = captioned(check, calls)
    calls = list(calls)
    check.shape(logits, batch=3, words=4, vocab_size=11)
    check.shape(weights, batch=3, words=4, num_cells=6)
    check.true(
        len(calls) == 4,
        f"attend is called once for each of 4 words; you call it {len(calls)} times",
    )
    placed = grid + parts["positions"]
    check.equal(calls[0][1], placed, "attend gets the cells with their positions added")
    check.equal(calls[3][1], placed, "for every word, attend gets the same cells")
    first = F.linear(placed.mean(1), parts["start.weight"], parts["start.bias"]).tanh()
    check.equal(
        calls[0][0],
        first,
        "for the first word, attend gets tanh(start(mean of the cells)); the positions count",
    )
    gru = fixed_gru(parts, 4, 3, 5)
    for t in range(1, 4):
        state, _, context, _ = calls[t - 1]
        embedded = parts["embedding.weight"][words[:, t - 1]]
        new = gru(torch.cat([embedded, context], -1), state).detach()
        told = f"the GRU's new state after word {t}: it read tokens[:, {t - 1}] and the context"
        check.equal(calls[t][0], new, f"for word {t + 1}, attend gets {told}")
with Check("Captioner", "what it returns", hint) as check:
    calls, parts = [], captioner_weights(*sizes)
    captioner, grid, words, (logits, weights) = captioned(check, calls)
    calls, gru = list(calls), fixed_gru(parts, 4, 3, 5)
    check.shape(logits, batch=3, words=4, vocab_size=11)
    check.shape(weights, batch=3, words=4, num_cells=6)
    again = captioner.call(grid, words, returns=names)
    check.equal(
        again[0],
        logits,
        "two passes give the same logits",
        hint="no dropout, and each pass begins with a first state of its own",
    )
    for t in range(min(4, len(calls))):
        state, _, context, attended = calls[t]
        embedded = parts["embedding.weight"][words[:, t]]
        new = gru(torch.cat([embedded, context], -1), state).detach()
        expected = F.linear(new, parts["output.weight"], parts["output.bias"])
        check.equal(weights[:, t].detach(), attended, f"weights[:, {t}] are those of call {t + 1}")
        check.equal(
            logits[:, t].detach(),
            expected,
            f"logits[:, {t}] are output(the new state of word {t + 1}), and nothing else",
        )
    alone = captioner.call(grid[1:2], words[1:2], returns=names)
    check.equal(alone[0][0], logits[1], "a row gives the same logits in a batch as alone")
    shorter = captioner.call(grid, words[:, :2], returns=names)
    check.equal(shorter[0], logits[:, :2], "the first logits do not depend on later tokens")
    captioner.eval()
    check.equal(
        captioner.call(grid, words, returns=names)[0],
        logits,
        "in evaluation mode, too, the GRU reads the given tokens",
    )
with Check("Captioner", "what may be learned", hint) as check:
    captioner, grid, words, (logits, weights) = captioned(check, [])
    for label, result in (("the last logits", logits[:, -1]), ("the last weights", weights[:, -1])):
        for name, slope in captioner.gradients(result.square()).items():
            if label == "the last weights" and name.startswith("output"):
                continue
            check.true(
                bool((slope != 0).any()),
                f"a gradient reaches {name} from {label}",
                hint=detached,
            )
    from_logits = captioner.gradients(logits.square())
    check.true(
        bool((from_logits["embedding.weight"][words.unique()] != 0).all()),
        "a gradient reaches the embedding of each token, of token 0 too",
        hint="make the embedding with its two sizes and nothing else",
    )
    source = grid.clone().requires_grad_()
    for name, result in zip(names, captioner.call(source, words, returns=names), strict=True):
        slopes = check.gradient(result[:, -1].square(), source)
        check.true(
            bool((slopes != 0).all()),
            f"a gradient reaches every cell from the last {name}",
            hint=detached,
        )
    parts = captioner_weights(*sizes)
    captioner.load({**parts, "start.weight": torch.zeros_like(parts["start.weight"])})
    slopes = check.gradient(captioner.call(source, words, returns=names)[0][:, -1], source)
    check.true(
        bool((slopes != 0).all()),
        "a gradient reaches every cell through the context, too",
        hint=detached,
    )
    inner = nn.Linear(2, 7).double()
    captioner = check.build(inner, *sizes)
    check.true(
        "attend.weight" in captioner.parameters(),
        "should keep the module that is given as the part `attend`, so that it can learn",
        hint="assign attend itself to an attribute of that name",
    )
    with torch.no_grad():
        inner.weight.zero_()
    check.true(
        not captioner.state()["attend.weight"].any(),
        "`attend` should be the module that is given, not a copy of it",
        hint="assign attend itself to an attribute of that name",
    )


# BEGIN HIDDEN TESTS
def by_formula(parts, gru, grid, words):
    """The logits and the weights of each word."""
    d_state, d_cell = parts["start.weight"].shape
    attend, placed = attend_and_note(d_state, d_cell, []), grid + parts["positions"]
    state = F.linear(placed.mean(1), parts["start.weight"], parts["start.bias"]).tanh()
    for token in words.T:
        context, attended = attend(state, placed)
        state = gru(torch.cat([parts["embedding.weight"][token], context], -1), state)
        yield F.linear(state, parts["output.weight"], parts["output.bias"]), attended


with Check("Captioner", "the formulas, in other sizes, scales and dtypes") as check:
    for its_sizes, batch, count, dtype, scale in (
        ((5, 3, 2, 7, 4), 2, 12, torch.float64, 1.0),
        ((6, 5, 3, 4, 2), 1, 1, torch.float64, 1.0),
        ((12, 1, 6, 2, 3), 4, 1, torch.float64, 1.0),
        ((4, 8, 5, 5, 5), 1, 9, torch.float64, 4.0),
        ((7, 4, 3, 6, 8), 5, 3, torch.float32, 1.0),
    ):
        vocab, length, d_embedding, d_cell, d_state = its_sizes
        calls = []
        captioner = check.build(attend_and_note(d_state, d_cell, calls), *its_sizes)
        captioner = captioner.double() if dtype == torch.float64 else captioner
        parts = {n: w.to(dtype) for n, w in captioner_weights(*its_sizes, seed=20).items()}
        captioner.load(parts)
        grid = numbers(batch, d_cell, length, seed=52, scale=scale, dtype=dtype).transpose(1, 2)
        words = (torch.arange(batch * count).reshape(batch, count) * 3 + 2) % vocab
        logits, weights = captioner.call(grid, words, returns=names)
        expected = by_formula(parts, fixed_gru(parts, *its_sizes[2:]), grid, words)
        for t, (logit, attended) in enumerate(expected):
            check.equal(weights[:, t].detach(), attended.detach(), "weights")
            check.equal(logits[:, t].detach(), logit.detach(), "logits")
with Check("Captioner", "gradients through all words") as check:
    captioner, grid, words, _ = captioned(check, [])
    parts, source = captioner_weights(*sizes), grid.clone().requires_grad_()
    logits, weights = captioner.call(source, words, returns=names)
    total = torch.zeros((), dtype=torch.float64)
    for logit, attended in by_formula(parts, fixed_gru(parts, 4, 3, 5), source, words):
        total = total + logit.square().sum() + attended.square().sum()
    slope = check.gradient(logits.square().sum() + weights.square().sum(), source)
    check.equal(slope, check.gradient(total, source), "the gradient by the cells")
# END HIDDEN TESTS

# %% [markdown]
# **A good place to stop.** (Back later? Run all cells above first.)

# %% [markdown]
# ### Train it
#
# You train three captioners, one for each seed, on 4,000 scenes. Each has its own frozen CNN. For each seed, you also train a control, *mean context*: in place of attention, every word gets the mean of all cells. (The first figure trains all six, so it takes a while.) A second control, without positions, is recorded. The metric on 500 new scenes is **exact match**: the share of captions in which *every* word is right.
#
# <details><summary>How they are trained</summary>500 steps with batches of 64, AdamW, and a one-cycle schedule: the learning rate rises, then falls. The initial parameters are fixed, so your numbers should be close to those in the text.</details>
#
# **Predict.** At test time, a captioner writes by itself. But the code below compares the argmax of each word with the truth, under teacher forcing. Is the exact match the same?
#
# <details><summary>No: by itself, it reads its own words</summary>True, but ask what those are in a caption that is right so far.</details>
# <details><summary>Yes, for the share of captions without an error</summary>Yes. Up to its first error, it has written what teacher forcing would have given it. So both find the same first error, or none.</details>
# <details><summary>Yes, also for the share of right words</summary>After an error the two differ: only by itself does it read the wrong word.</details>

# %% folded=true
# Trains and tests captioners: click to unfold.
train_set, test_set = scenes(4000, seed=0), scenes(500, seed=1)
NUM_CELLS, D_CELL, D_STATE = 32, 48, 64


class MeanContext(nn.Module):
    """The control: every word gets the mean of all cells."""

    def forward(self, state: Tensor, cells: Tensor) -> tuple[Tensor, Tensor]:
        return cells.mean(1), cells.new_full(cells.shape[:2], 1 / cells.shape[1])


def inputs_of(batch: Scenes) -> Tensor:
    """The captions, one position later: what the decoder reads under teacher forcing."""
    return F.pad(batch.captions[:, :-1], (1, 0), value=BEGIN)


def as_cells(images: Tensor, seed: int) -> Tensor:
    """The cells of images, (batch, cells, d_cell), by the CNN of this seed."""
    with torch.no_grad():
        return grid_to_sequence(trained_cnn(seed)(images))


def initial_values(seed: int, kind: str) -> dict[str, Tensor]:
    """The parameters before training, in whatever order `Captioner` makes its parts."""
    torch.manual_seed(seed)
    parts: dict[str, nn.Module] = {}
    if kind != "mean context":
        parts["attend.w_query"] = nn.Linear(D_STATE, 32, bias=False)
        parts["attend.w_key"] = nn.Linear(D_CELL, 32, bias=False)
        parts["attend.gate"] = nn.Linear(D_STATE, 1)
    parts["embedding"] = nn.Embedding(len(WORDS), 24)
    positions = 0.1 * torch.randn(NUM_CELLS, D_CELL)
    parts["start"] = nn.Linear(D_CELL, D_STATE)
    parts["gru"] = nn.GRUCell(24 + D_CELL, D_STATE)
    parts["output"] = nn.Linear(D_STATE, len(WORDS))
    named = {
        f"{part}.{name}": values
        for part, module in parts.items()
        for name, values in module.state_dict().items()
    }
    return {"positions": positions, **named}


def trained_captioner(seed: int, kind: str = "attention", penalty: float = 0.0) -> Captioner:
    """A captioner: kind is "attention", "mean context", "no positions" or "reshaped"."""
    return train_once(seed, kind, penalty)


@cache  # the next parts use the same networks
@torch.enable_grad()
def train_once(seed: int, kind: str, penalty: float) -> Captioner:
    """Train a captioner with AdamW: 500 batches of 64 scenes, a one-cycle schedule."""
    attend = MeanContext() if kind == "mean context" else GridAttention(D_STATE, D_CELL, 32)
    captioner = Captioner(attend, len(WORDS), NUM_CELLS, 24, D_CELL, D_STATE)
    captioner.load_state_dict(initial_values(seed, kind), strict=False)
    if kind == "no positions":
        captioner.positions.requires_grad_(False).zero_()
    sequence, read = cells_for(train_set, seed, kind), inputs_of(train_set)
    optimizer = torch.optim.AdamW([w for w in captioner.parameters() if w.requires_grad])
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 8e-3, total_steps=500)
    for batch in random_batches(4000, 64, 500, seed):
        logits, weights = captioner(sequence[batch], read[batch])
        targets = train_set.captions[batch].flatten()
        loss = F.cross_entropy(logits.flatten(0, 1), targets, ignore_index=BEGIN)
        if penalty:
            loss = loss + penalty * coverage_penalty(weights, train_set.lengths[batch])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(captioner.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return captioner.requires_grad_(False)


def cells_for(batch: Scenes, seed: int, kind: str) -> Tensor:
    """The cells that a captioner of this kind reads."""
    if kind != "reshaped":
        return as_cells(batch.images, seed)
    with torch.no_grad():
        return trained_cnn(seed)(batch.images).reshape(len(batch), NUM_CELLS, D_CELL)


@cache
def teacher_forced(
    seed: int, kind: str = "attention", penalty: float = 0.0
) -> tuple[Tensor, Tensor]:
    """The argmax of each word of the test set, under teacher forcing, and the weights."""
    captioner = trained_captioner(seed, kind, penalty)
    logits, weights = captioner(cells_for(test_set, seed, kind), inputs_of(test_set))
    return logits.argmax(-1), weights


def exact(written: Tensor, count: int | None = None) -> float:
    """The share of captions without an error, among the scenes with `count` shapes."""
    right = ((written == test_set.captions) | (test_set.captions == BEGIN)).all(1)
    chosen = right if count is None else right[test_set.lengths == 3 * count]
    return chosen.float().mean().item()


# %%
by_shapes = {
    name: [
        [exact(teacher_forced(seed, name)[0], count) for count in (1, 2, 3)] for seed in range(3)
    ]
    for name in ("attention", "mean context")
}
by_shapes["no positions (recorded)"] = [
    [0.994, 0.602, 0.259],
    [1.000, 0.602, 0.191],
    [1.000, 0.472, 0.185],
]
figures.curves(
    [1, 2, 3],
    by_shapes,
    x="shapes in the scene",
    y="captions without an error",
    title="Captions of 500 new scenes: mean and range of 3 seeds",
    bottom=0.0,
)

# %% [markdown]
# What to see: with attention, almost all captions of one shape are right, and about four in five of three shapes. With the mean context, 8 % are right for three. In a mean of all cells, the positions are a constant, so nothing says which shape is to the left. Guessing the order, and which colour goes with which shape, would give about as many. Without positions, 47 to 60 % are right for two, 19 to 26 % for three. Guessing only the order would give about as many.
#
# <details><summary>What guessing gives, and how large the controls are</summary>In this test set, with the colours and the shapes known and both orders guessed, 10 % of the captions of three shapes would be right. With the objects known and their order guessed, it would be 52 % for two and 20 % for three: sometimes two objects are equal. The two controls are also a little smaller: of the captioner's 35,796 parameters, “mean context” lacks 3,649 (10 %) and “no positions” 1,536 (4 %).</details>

# %% [markdown]
# ## 5 · Where did it attend?
#
# Now let the three trained captioners write by themselves, and plot the weights of each word.


# %%
@torch.no_grad()
def write_captions(images: Tensor, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Write a caption for each image, greedily; return (tokens, weights) of nine words."""
    captioner, sequence = trained_captioner(seed), as_cells(images, seed)
    tokens, found = torch.full((len(images), 1), BEGIN), torch.zeros(0)
    for _ in range(test_set.captions.shape[1]):
        logits, found = captioner(sequence, tokens)
        tokens = torch.cat([tokens, logits[:, -1:].argmax(-1)], 1)
    return tokens[:, 1:], found


for seed in range(3):
    its_tokens, its_weights = write_captions(test_set.images[[SHOWN]], seed)
    wrote = caption(its_tokens[0]).split()
    maps = its_weights[0, : len(wrote)].unflatten(1, (4, 8))
    picture = draw_scenes(
        [test_set.images[SHOWN]] * len(wrote),
        [f"“{word}” {100 * m.max():.0f} %" for word, m in zip(wrote, maps, strict=True)],
        f"Seed {seed}: the weights of each word, and the largest of them",
        list(maps),
        across=len(wrote),
    )
    display(picture)

# %% [markdown]
# What to see (above a map is its largest weight, shown brightest): at colour words, all three attend to the named object. At shape words, two of them do; seed 0 attends to empty cells. (Seeds 0 and 1 opened this lesson.) At *and*, the three maps differ.
#
# One scene proves nothing. The scenes come with a **segmentation mask** for each word: the pixels of the object that it names. So you can measure the *share* of the weight that is on the object. Without a comparison, the share means nothing: an object that touches 6 of 32 cells gets 19 % even with equal weights. So you also return this *chance*.
#
# **Exercise** (25 minutes). Write this measure.
#
# <details><summary>Hint 1</summary>First find the cells that an object touches: one pixel in a cell is enough. <code>F.max_pool2d</code> gives the largest number of each tile; it needs floats.</details>
# <details><summary>Hint 2</summary>Then everything has the shape (batch, words, cells). Call <code>touched</code> 1 for a cell that the object touches, and 0 for any other. A word's share is the sum over the cells of its weight times <code>touched</code>; its chance is the mean of <code>touched</code>.</details>
# <details><summary>Hint 3</summary>A boolean tensor (batch, words) says which words have a mask; <code>values[has]</code> keeps those. The mean of nothing is NaN: what should it be?</details>


# %% exercise weight_on_object
def weight_on_object(weights: Tensor, masks: Tensor, stride: int) -> tuple[Tensor, Tensor]:
    """How much weight is on the object that a word names: (share, chance), both 0-d.

    weights (batch, words, cells): each word's weights, the cells row by row. masks: bool (batch,
    words, height, width), the pixels of the word's object; all False for a word without one.
    A cell is stride × stride pixels; stride divides both sides. An object touches a cell if at
    least one of its pixels is in it.
    share: the weight on the cells that the object touches, summed over them, as a mean over all
    words of the batch that have a mask. chance: the share of all cells that the object touches, as
    a mean over the same words: what equal weights would give. If no word has a mask, both are 0.
    Both are tensors of the weights' dtype.
    """
    # BEGIN SOLUTION
    touched = F.max_pool2d(masks.to(weights.dtype), stride).flatten(2)
    named = touched.any(-1)
    if not named.any():
        return weights.new_zeros(()), weights.new_zeros(())
    on_object = (weights * touched).sum(-1)
    return on_object[named].mean(), touched.mean(-1)[named].mean()
    # END SOLUTION


# %% check weight_on_object points=3
hint = "which cells does each object touch? sum the weights there; mean over the words with a mask"
names = ("share", "chance")


def pixels(height, width, *at):
    """A mask with these pixels."""
    mask = torch.zeros(height, width, dtype=torch.bool)
    for row, column in at:
        mask[row, column] = True
    return mask


with Check("weight_on_object", "words you can do by hand", hint) as check:
    # 4 × 6 pixels, cells of 2 × 2: 2 rows of 3 cells
    given = torch.tensor(
        [[[0.4, 0.2, 0.1, 0.15, 0.1, 0.05], [0.1, 0.1, 0.1, 0.1, 0.1, 0.5]]],
        dtype=torch.float64,
    )
    one, nothing = pixels(4, 6, (1, 1), (1, 2)), pixels(4, 6)
    other = pixels(4, 6, (2, 4), (3, 5), (0, 4), (3, 0))

    def measured(weights, *marks):
        """Share and chance of one row of words with these masks, in cells of 2 × 2."""
        share, chance = check.call(weights, torch.stack(marks)[None], 2, returns=names)
        check.true(
            share.dim() == 0 and chance.dim() == 0,
            f"both are 0-d; share has the shape {tuple(share.shape)}, chance {tuple(chance.shape)}",
        )
        return share, chance

    measured(given, one, other)  # its numbers are compared below
    share, chance = measured(given[:, :1], one)
    check.equal(share, 0.6, "an object with pixels in cells 0 and 1 has weight 0.4 + 0.2 on it")
    check.equal(chance, 2 / 6, "it touches 2 of 6 cells, so equal weights would give 1/3")
    share, chance = measured(given, one, nothing)
    check.equal(share, 0.6, "a word without a mask does not count: share is that of the other")
    check.equal(chance, 2 / 6, "a word without a mask does not count: chance is that of the other")
    share, chance = measured(given, one, other)
    check.equal(
        share,
        (0.6 + 0.7) / 2,
        "another object touches cells 2, 3 and 5, with 0.7 of its word's weight: the mean is 0.65",
    )
    check.equal(chance, (2 / 6 + 3 / 6) / 2, "the two touch 2 and 3 of 6 cells: the mean is 5/12")
    beside = given.clone()
    beside[0, 1] = torch.tensor([0.3, 0.7, 0.0, 0.0, 0.0, 0.0])  # none of it on the object
    share, chance = measured(beside, one, other)
    check.equal(
        share, 0.3, "a word with no weight on its object counts as 0: the mean of 0.6 and 0"
    )
    check.equal(
        chance,
        (2 / 6 + 3 / 6) / 2,
        "for chance, a word with no weight on its object counts, too",
    )
    share, _ = measured(2 * given, one, other)
    check.equal(share, 1.3, "weights are summed as they are: twice the weights, twice the share")
    row = torch.tensor([[[0.1, 0.2, 0.3, 0.4]]], dtype=torch.float64)
    share, chance = measured(row, pixels(2, 8, (0, 5)))
    check.equal(share, 0.3, "of 1 × 4 cells, the pixel (0, 5) is in cell 2")
    check.equal(chance, 0.25, "of 1 × 4 cells, an object in one touches 1/4")
    share, chance = measured(given, nothing, nothing)
    check.equal(share, 0.0, "if no word has a mask, share is 0")
    check.equal(chance, 0.0, "if no word has a mask, chance is 0")
with Check("weight_on_object", "rows with unequal numbers of words", hint) as check:
    given = numbers(2, 3, 6).softmax(-1)
    marks = torch.zeros(2, 3, 4, 6, dtype=torch.bool)
    marks[0, 0, :2, :2] = marks[0, 1, 2:, 2:4] = marks[0, 2, :, 4:] = marks[1, 2, 0, 0] = True
    share, chance = check.call(given, marks, 2, returns=names)
    on = [given[0, 0, 0], given[0, 1, 4], given[0, 2, 2] + given[0, 2, 5], given[1, 2, 0]]
    check.equal(
        share,
        torch.stack(on).mean(),
        "with 3 words in one row and 1 in the other, share is the mean over all 4 words",
    )
    check.equal(chance, 5 / 24, "with 3 words in one row and 1 in the other, chance is 5/24")
    share, chance = check.call(given, torch.ones_like(marks), 2, returns=names)
    check.equal(share, 1.0, "an object that fills the image has all the weight on it")
    check.equal(chance, 1.0, "an object that fills the image touches all the cells")
    equal_weights = torch.full((2, 3, 6), 1 / 6, dtype=torch.float64)
    share, chance = check.call(equal_weights, marks, 2, returns=names)
    check.equal(share, chance, "with equal weights, share is chance")
# BEGIN HIDDEN TESTS
with Check("weight_on_object", "other sizes, strides and dtypes, cell by cell") as check:
    for batch, count, height, width, stride, dtype in (
        (2, 5, 6, 9, 3, torch.float64),
        (1, 1, 4, 4, 4, torch.float64),
        (3, 2, 2, 8, 1, torch.float64),
        (4, 3, 10, 5, 5, torch.float32),
        (2, 4, 8, 12, 4, torch.float64),
    ):
        rows, columns = height // stride, width // stride
        given = numbers(batch, rows * columns, count, seed=60).softmax(1).transpose(1, 2).to(dtype)
        marks = numbers(batch, count, height, width, seed=61) > 1.6
        marks[0, 0] = False
        on, of = [], []
        for i in range(batch):
            for t in range(count):
                tiles = marks[i, t].reshape(rows, stride, columns, stride).sum((1, 3)).flatten() > 0
                if tiles.any():
                    on.append(given[i, t][tiles].sum())
                    of.append(tiles.to(dtype).mean())
        empty = torch.zeros((), dtype=dtype)
        share, chance = check.call(given, marks, stride, returns=names)
        check.equal(share, torch.stack(on).mean() if on else empty, "share")
        check.equal(chance, torch.stack(of).mean() if of else empty, "chance")
# END HIDDEN TESTS

# %% [markdown]
# From here to the end of part 7, the captioners read the true caption again (teacher forcing). So the weights belong to its words.
#
# **Predict.** By themselves, the three captioners write about 90 % of all captions without an error. How much of a shape word's weight (*circle*, *square*, …) is on its object?
#
# <details><summary>Nearly all, in each of the three</summary>That is what the pictures in papers suggest. Run the next cell.</details>
# <details><summary>Nearly all in some, about chance in others</summary>Yes, although they are about equally good at writing.</details>
# <details><summary>About chance in each</summary>In one of the three, it is even below chance. In the other two, nearly all of it is on the object.</details>


# %%
def on_kind(weights_of_words: Tensor, words: slice) -> tuple[float, float]:
    """Your measure for every third word: colours begin at 0, shapes at 1."""
    on_it, by_luck = weight_on_object(
        weights_of_words[:, words].contiguous(), test_set.masks[:, words].contiguous(), CELL
    )
    return float(on_it), float(by_luck)


COLOUR_WORDS, SHAPE_WORDS = slice(0, None, 3), slice(1, None, 3)
found_weights = [teacher_forced(seed)[1] for seed in range(3)]
by_chance = on_kind(found_weights[0], COLOUR_WORDS)[1]
figures.runs(
    {
        "exact match": [exact(teacher_forced(seed)[0]) for seed in range(3)],
        "weight on the object, colours": [on_kind(w, COLOUR_WORDS)[0] for w in found_weights],
        "weight on the object, shapes": [on_kind(w, SHAPE_WORDS)[0] for w in found_weights],
    },
    "share",
    f"Three captioners that differ only in their seed (chance: {100 * by_chance:.0f} %)",
    linked=True,
    bottom=0.0,
)

# %% [markdown]
# What to see: each line joins the values of one network. At colour words, all three have at least 93 % of their weight on the object; equal weights would put 17 % there. At shape words, two have 95 and 96 % there. Seed 0 has 13 %, *below* chance, and writes 89 % of the captions without an error, against 92 %.
#
# How does seed 0's network know the shape? A cell sees 15 × 15 pixels. So an empty cell can have seen the object. Or the *colour*'s context held the shape, and the state kept it. Part 7 tests both.
#
# ## 6 · A loss that moves the map
#
# How much weight does each cell get in total, over all words of a caption?

# %%
words_there = int(test_set.lengths[SHOWN])
totals_of = [
    teacher_forced(seed)[1][SHOWN, :words_there].sum(0).unflatten(0, (4, 8)) for seed in range(3)
]
draw_scenes(
    [test_set.images[SHOWN]] * 3,
    [f"seed {seed}: 0 to {total.max():.1f}" for seed, total in enumerate(totals_of)],
    "Total weight of each cell over the words of “red square and green cross <end>”",
    totals_of,
)

# %% [markdown]
# What to see: a few cells get most of the weight, the others almost none. Xu et al. added a term to the loss that asks each cell for a total weight of 1, so that nothing is left out:
#
# $$\sum_{i \in \text{cells}} \Big(1 - \sum_{t} \alpha_{ti}\Big)^2$$
#
# They call it *doubly stochastic attention*. The **coverage penalty**, as it is called here, is zero if every cell gets a total weight of 1. Here it cannot be zero: the 32 totals sum to the number of words, 3 to 9 with *&lt;end&gt;*. (In the paper, with 196 cells, it cannot be zero either.) It is smallest if all totals are equal.
#
# **Exercise** (15 minutes). Write this penalty for a batch of captions of different lengths.
#
# <details><summary>Hint 1</summary>Words after the end of a caption have weights too, and they must not count. Compare <code>torch.arange(words)</code> with the lengths.</details>
# <details><summary>Hint 2</summary>Sum over the words before you square, over the cells after.</details>


# %% exercise coverage_penalty
def coverage_penalty(weights: Tensor, lengths: Tensor) -> Tensor:
    """How far each cell's total weight is from 1: a 0-d tensor.

    weights (batch, words, cells); lengths (batch,): integers from 0, how many words of each row
    count, from the first one on. Per row: the sum over all cells of (1 − the cell's total
    weight)², where the total is over the words that count. Returned is the mean over the batch.
    """
    # BEGIN SOLUTION
    counted = torch.arange(weights.shape[1], device=weights.device) < lengths[:, None]
    totals = (weights * counted[..., None]).sum(1)  # (batch, cells)
    return (1 - totals).square().sum(-1).mean()
    # END SOLUTION


# %% check coverage_penalty points=2
hint = "total of each cell over the words that count; (1 − total)²; sum over cells; mean over the batch"
with Check("coverage_penalty", "rows you can do by hand", hint) as check:
    # totals of two words: 1, 0.5, 0.5; of the first alone: 0.5, 0.5, 0
    given = torch.tensor(
        [[[0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 0.1, 0.9], [1.0, 0.0, 0.0]]],
        dtype=torch.float64,
    )
    two = check.call(given, torch.tensor([2]))
    alone = check.call(given, torch.tensor([1]))
    every = check.call(given, torch.tensor([4]))
    batch = check.call(torch.cat([given, given]), torch.tensor([2, 1]))
    empty = check.call(given, torch.tensor([0]))
    check.shape(two)
    check.equal(two, 0.5, "two words with totals of 1, 0.5 and 0.5 give 0 + 0.25 + 0.25")
    check.equal(alone, 1.5, "one word with weights of 0.5, 0.5 and 0 gives 0.25 + 0.25 + 1")
    check.equal(empty, 3.0, "without any word that counts, each of 3 cells gives 1")
    check.equal(every, 1.0 + 0.16 + 0.16, "totals of 2, 0.6 and 1.4 give 1 + 0.16 + 0.16")
    check.shape(batch)
    check.equal(batch, 1.0, "a batch of both gives the mean of 0.5 and 1.5")
    even = torch.eye(3, dtype=torch.float64)[None]
    check.equal(check.call(even, torch.tensor([3])), 0.0, "if each cell has a total of 1, it is 0")
with Check("coverage_penalty", "what may be learned", hint) as check:
    given = numbers(2, 4, 3).softmax(-1).requires_grad_()
    slope = check.gradient(check.call(given, torch.tensor([4, 2])), given)
    check.true(
        bool((slope[0] != 0).all()) and bool((slope[1, :2] != 0).all()),
        "a gradient reaches every weight that counts",
        hint="leave out no_grad, detach and new tensors on the way",
    )
    check.equal(
        slope[1, 2:],
        torch.zeros(2, 3, dtype=torch.float64),
        "no gradient reaches the words after the end",
    )
# BEGIN HIDDEN TESTS
with Check("coverage_penalty", "other sizes, lengths and dtypes") as check:
    for batch, count, length, dtype in (
        (3, 5, 7, torch.float64),
        (1, 1, 4, torch.float64),
        (4, 6, 2, torch.float32),
        (2, 3, 3, torch.float64),
        (5, 2, 9, torch.float64),
    ):
        given = numbers(batch, length, count, seed=70).softmax(1).transpose(1, 2).to(dtype)
        counts = (torch.arange(batch) * 2) % count + 1
        rows = [(1 - given[i, : counts[i]].sum(0)).square().sum() for i in range(batch)]
        check.equal(check.call(given, counts), torch.stack(rows).mean(), "the mean of all rows")
    given = 3 * numbers(2, 5, 4, seed=71)
    expected = (1 - given[0, :3].sum(0)).square().sum() + 4.0
    found = check.call(given, torch.tensor([3, 0]))
    check.equal(found, expected / 2, "any numbers; a row without words gives 1 a cell")
# END HIDDEN TESTS

# %% [markdown]
# **Predict.** The captioner is trained with the loss plus 0.1 times your penalty (recorded; to train one yourself, run `exact(teacher_forced(0, penalty=0.1)[0])`). What changes?
#
# <details><summary>Captions get worse: attention is forced to go elsewhere</summary>It goes elsewhere. But look at the exact match in the next figure.</details>
# <details><summary>The maps change; the captions hardly do</summary>Yes. The same accuracy, with other maps.</details>
# <details><summary>Nothing: 0.1 is too small</summary>For the maps it is large enough.</details>

# %%
# five seeds each, from teacher_forced(seed) or teacher_forced(seed, penalty=0.1):
# exact(its argmax), on_kind(its weights, COLOUR_WORDS)[0], on_kind(its weights, SHAPE_WORDS)[0]
RECORDED_PLAIN = [
    [0.888, 0.918, 0.920, 0.920, 0.898],
    [0.966, 0.937, 0.934, 0.768, 0.728],
    [0.126, 0.961, 0.954, 0.950, 0.941],
]
RECORDED_PENALTY = [
    [0.896, 0.916, 0.936, 0.928, 0.914],
    [0.569, 0.582, 0.386, 0.353, 0.323],
    [0.189, 0.245, 0.535, 0.545, 0.467],
]
figures.runs(
    {
        f"{told}, {name}": values[row]
        for row, told in enumerate(("exact match", "on object: colours", "on object: shapes"))
        for name, values in (("plain", RECORDED_PLAIN), ("penalty", RECORDED_PENALTY))
    },
    "share",
    "Without and with the coverage penalty: 5 seeds (recorded)",
    bottom=0.0,
)

# %% [markdown]
# What to see: exact match is as high as before (90 to 94 %, against 89 to 92 %). The weight on the object falls: at colour words from 73–97 % to 32–58 %, and at shape words, in four of five networks, from 94–96 % to 25–55 %. (For seed 0, it rises from 13 to 19 %.)
#
# **From the lecture**: *Transformers (Part 2)*, Data C182, slide “Attention”: “we want the model to tell us ‘why’”. A term in the loss, chosen by hand, moves this *why*.
#
# **A good place to stop.** (Back later? Run all cells above first.)
#
# ## 7 · Cover it
#
# Did a tile's pixels *matter*? Cover them. Here are three of the 32 tiles, in grey:

# %%
three_covers = []
for number in (1, 9, 20):
    covered_image = test_set.images[SHOWN].clone()
    top, left = CELL * (number // 8), CELL * (number % 8)
    covered_image[:, top : top + CELL, left : left + CELL] = 0.5  # grey, to be seen
    three_covers.append(covered_image)
draw_scenes(three_covers, ["tile 1", "tile 9", "tile 20"], "One tile covered")

# %% [markdown]
# **Occlusion sensitivity** (Zeiler and Fergus, 2014) covers one part of an image after another and measures how much a score falls. Here the parts are tiles, and each word has a score.
#
# **Exercise** (30 minutes). Write a function that computes a map of these drops for any score.
#
# <details><summary>Hint 1</summary>Make a batch with one copy of the image per tile. <code>image.repeat(tiles, 1, 1, 1)</code> makes real copies; <code>expand</code> does not.</details>
# <details><summary>Hint 2</summary>In copy i, fill tile i and nothing else. Tile i is in row i // columns.</details>
# <details><summary>Hint 3</summary>The score gives (tiles, words). Words come first in the result, then rows, then columns.</details>


# %% exercise occlusion_map
def occlusion_map(
    score: Callable[[Tensor], Tensor], image: Tensor, size: int, fill: float = 0.0
) -> Tensor:
    """How much each word's score falls when a tile of the image is covered: (words, rows, columns).

    score: images (n, channels, height, width) -> (n, words); it treats each image alone.
    image (channels, height, width) stays as it is. Tiles are size × size pixels, side by side,
    from the top left corner. Entry (word, row, column) is the word's score of the image, minus its
    score of the image in which only that tile is covered: `fill` in all its pixels and channels.
    ValueError that names size and the side, if size does not divide the height or the width.
    """
    # BEGIN SOLUTION
    height, width = image.shape[1:]
    for side in (height, width):
        if side % size:
            raise ValueError(f"tiles of {size} pixels do not divide a side of {side}")
    rows, columns = height // size, width // size
    covered = image.repeat(rows * columns, 1, 1, 1)
    for i in range(rows * columns):
        y, x = size * (i // columns), size * (i % columns)
        covered[i, :, y : y + size, x : x + size] = fill
    return (score(image[None]) - score(covered)).T.unflatten(1, (rows, columns))
    # END SOLUTION


# %% check occlusion_map points=3
hint = "one copy of the image per tile, one tile filled in each; score before minus score after"
with Check("occlusion_map", "scores you can do by hand", hint) as check:
    # two channels of 4 × 6 pixels, tiles of 2 × 2; word 0 sums channel 0, word 1 all
    image = torch.arange(48, dtype=torch.float64).reshape(2, 4, 6) / 10

    def sums(images):
        if images.dim() != 4:
            raise RuntimeError(f"score takes (n, channels, height, width); got {images.shape}")
        return torch.stack([images[:, 0].sum((1, 2)), images.sum((1, 2, 3))], 1)

    drops = check.call(sums, image, 2)
    check.shape(drops, words=2, rows=2, columns=3)
    by_channel = image.reshape(2, 2, 2, 3, 2).sum((2, 4))  # (channels, rows, columns)
    check.equal(
        drops[0, 0, 0],
        1.4,
        "covered with 0, the first tile (0, 0.1, 0.6, 0.7 in channel 0) takes 1.4 from word 0",
    )
    check.equal(drops[0], by_channel[0], "each tile takes its own sum from word 0")
    check.equal(drops[1], by_channel.sum(0), "the sum of both channels is taken from word 1")
    filled = check.call(sums, image, 2, 1.0)
    check.equal(
        filled,
        torch.stack([by_channel[0] - 4, by_channel.sum(0) - 8]),
        "with fill=1, a tile takes its sum minus the 4 (of both channels: 8) that it gets",
    )
with Check("occlusion_map", "a score that is not a sum", hint) as check:
    image, kept = numbers(4, 6, 8, seed=1), numbers(4, 6, 8, seed=1)
    w = numbers(5, 4, 6, 8, seed=2)

    def curved(images, w=w):
        return torch.einsum("nchw,vchw->nv", images, w).div(4).tanh()

    drops = check.call(curved, image, 2, -0.5)
    check.shape(drops, words=5, rows=3, columns=4)
    check.equal(image, kept, "the image stays as it is")
    one = kept.clone()
    one[:, 2:4, 6:] = -0.5
    check.equal(
        drops[:, 1, 3],
        (curved(kept[None]) - curved(one[None]))[0],
        "in the copy for row 1, column 3, that tile alone is covered",
        hint="every copy begins with the image as it was; the tile is filled with `fill`, as given",
    )
    one = kept.clone()
    one[:, 4:, :2] = -0.5
    check.equal(
        drops[:, 2, 0],
        (curved(kept[None]) - curved(one[None]))[0],
        "in the copy for row 2, column 0, that tile alone is covered",
    )
with Check("occlusion_map", "a size that does not fit") as check:
    image = numbers(1, 4, 6)

    def sum_of_all(images):
        return images.sum((1, 2, 3))[:, None]

    check.raises(sum_of_all, image, 3, naming=(3, 4))
    check.raises(sum_of_all, numbers(2, 8, 6), 4, naming=(4, 6))
    check.raises(sum_of_all, numbers(1, 4, 9), 6, naming=(6,))
# BEGIN HIDDEN TESTS
with Check("occlusion_map", "other sizes, fills and dtypes, tile by tile") as check:
    for channels, height, width, size, words, fill, dtype in (
        (1, 4, 4, 4, 3, 0.0, torch.float64),
        (3, 9, 6, 3, 2, 2.5, torch.float64),
        (2, 3, 5, 1, 1, 0.0, torch.float64),
        (4, 2, 8, 2, 6, -1.0, torch.float32),
        (3, 8, 4, 2, 4, 0.3, torch.float64),
        (2, 10, 12, 2, 3, 0.0, torch.float64),
        (1, 7, 8, 1, 2, 0.5, torch.float64),
    ):
        image = numbers(channels, width, height, seed=3, dtype=dtype).transpose(1, 2)
        w = numbers(words, channels, height, width, seed=4, dtype=dtype)

        def bent(images, w=w):
            return torch.einsum("nchw,vchw->nv", images, w).div(3).sin()

        drops = check.call(bent, image, size, fill)
        check.shape(drops, words=words, rows=height // size, columns=width // size)
        for row in range(height // size):
            for column in range(width // size):
                one = image.clone()
                one[:, row * size : (row + 1) * size, column * size : (column + 1) * size] = fill
                lost = (bent(image[None]) - bent(one[None]))[0]
                check.equal(drops[:, row, column], lost, "the score before minus the score after")
with Check("occlusion_map", "more sizes that do not fit") as check:

    def mean_of_all(images):
        return images.mean((1, 2, 3))[:, None]

    check.raises(mean_of_all, numbers(3, 10, 4), 4, naming=(4, 10))
    check.raises(mean_of_all, numbers(3, 4, 7), 2, naming=(2, 7))
    check.raises(mean_of_all, numbers(3, 5, 5), 7, naming=(7, 5))
# END HIDDEN TESTS

# %% [markdown]
# The score here is the log-probability of each word of the caption, given the words before it. So a drop of 1 means that the word became $e$ times less probable.
#
# Cover tiles of 4 × 4 pixels with 0, the mean of the background. For the scene of part 5, the figures show the weights above and the drops below:


# %%
def word_scores(number: int, seed: int) -> Callable[[Tensor], Tensor]:
    """A score for occlusion: the log-probability of each word of a test scene's caption."""
    targets, read = test_set.captions[number], inputs_of(test_set)[number]
    count = int(test_set.lengths[number])

    def log_probabilities(images: Tensor) -> Tensor:
        logits, _ = trained_captioner(seed)(as_cells(images, seed), read.expand(len(images), -1))
        every = logits.log_softmax(-1)
        return every[:, range(count), targets[:count]]

    return log_probabilities


def drops_of(number: int, seed: int) -> Tensor:
    """Your occlusion map of a test scene: (words, 4, 8)."""
    return occlusion_map(word_scores(number, seed), test_set.images[number], CELL)


for seed in (0, 1):
    its_words = caption(test_set.captions[SHOWN]).split()
    maps = teacher_forced(seed)[1][SHOWN, : len(its_words)].unflatten(1, (4, 8))
    falls = drops_of(SHOWN, seed)[: len(its_words)].clamp(min=0)
    display(
        draw_scenes(
            [test_set.images[SHOWN]] * (2 * len(its_words)),
            [
                *(f"“{word}”: weights" for word in its_words),
                *(f"drop, at most {fall.max():.1f}" for fall in falls),
            ],
            f"Seed {seed}: attention weights (above) and the drop when a tile is covered (below)",
            [*(m / m.max() for m in maps), *falls],
            across=len(its_words),
            least=1.0,
        )
    )

# %% [markdown]
# What to see (a drop below 1 stays darker; an outline at 0.0 means nothing): shape words lose most at a tile of their own object, though seed 0 attends elsewhere. At *square*, seed 1 attends to a tile that matters little. Colour words lose almost nothing: the rest of the object still shows the colour. (Recorded, in scenes of two shapes: covering the whole first object changes its colour word in 81 %.)
#
# ### Which tile changes the word?
#
# Now take 60 scenes. Cover one tile and ask whether a colour or a shape word (the argmax) *changes*. There are five choices:
#
# | choice | the tile that you cover |
# |---|---|
# | largest weight | the tile of the cell with the word's largest weight |
# | object, most of it | the tile with the most pixels of the word's object |
# | object, another tile | a random tile that the object touches, but neither of the two above |
# | elsewhere | a random tile that the object does not touch, other than the one of the largest weight |
# | largest drop | the tile with the largest value in your occlusion map |
#
# **Predict.** Which changes more words when covered: the tile with the largest weight, or the one with most of the object?
#
# <details><summary>The tile with the largest weight: that is where the network read the word</summary>It changes fewer, in all three networks. (The word may still be read there: the cover hides only 16 of the 225 pixels that this cell sees, and changes up to 15 other cells.)</details>
# <details><summary>The tile with most of the object</summary>Yes: 40 to 46 % against 8 to 34 %.</details>
# <details><summary>Neither: one tile of 32 is too small</summary>Both change words.</details>

# %% folded=true
# Covers single tiles of 60 scenes and counts which words change: click to unfold.
TRIED = [number for number in range(len(test_set)) if test_set.lengths[number] > 3][:60]


def cover(images: Tensor, tiles: Tensor) -> Tensor:
    """Images with these tiles, bool (…, 32), covered with 0."""
    covered = torch.kron(tiles.unflatten(-1, (4, 8)), torch.ones(CELL, CELL).bool())
    return images.masked_fill(covered[..., None, :, :], 0.0)


def object_pixels(number: int) -> Tensor:
    """How many pixels of each word's object are in each tile: (words, tiles)."""
    tiles = test_set.masks[number].unflatten(-1, (-1, CELL)).unflatten(-3, (-1, CELL))
    return tiles.sum((-3, -1)).flatten(1)


def draw_from(allowed: Tensor, generator: torch.Generator) -> int:
    """Draw one of the allowed tiles."""
    return int(torch.multinomial(allowed.float(), 1, generator=generator))


def changed_words(number: int, seed: int) -> Tensor:
    """Which words change when a tile is covered, under teacher forcing: bool (tiles, words)."""
    images = cover(test_set.images[number], torch.eye(NUM_CELLS).bool())
    read = inputs_of(test_set)[[number]].expand(NUM_CELLS, -1)
    logits, _ = trained_captioner(seed)(as_cells(images, seed), read)
    return logits.argmax(-1) != teacher_forced(seed)[0][number]


@cache
def changes_of(seed: int) -> dict[str, float]:
    """The share of colours and shapes that change when one tile is covered, by which tile."""
    generator = torch.Generator().manual_seed(0)
    totals: dict[str, list[float]] = {}
    for number in TRIED:
        falls, on_object = drops_of(number, seed).flatten(1), object_pixels(number)
        changes = changed_words(number, seed)
        for word in on_object.any(-1).nonzero().flatten().tolist():
            largest = int(teacher_forced(seed)[1][number, word].argmax())
            most = int(on_object[word].argmax())
            others = torch.ones(NUM_CELLS).bool()
            others[[largest, most]] = False
            for name, tile in {
                "largest weight": largest,
                "object, most of it": most,
                "object, another tile": draw_from(others & (on_object[word] > 0), generator),
                "elsewhere": draw_from(others & (on_object[word] == 0), generator),
                "largest drop": int(falls[word].argmax()),
            }.items():
                totals.setdefault(name, []).append(float(changes[tile, word]))
    return {name: sum(found) / len(found) for name, found in totals.items()}


# %%
figures.runs(
    {name: [changes_of(seed)[name] for seed in range(3)] for name in changes_of(0)},
    "share of words that change",
    "Words that change when one tile is covered (60 scenes, 3 seeds)",
    linked=True,
    bottom=0.0,
)

# %% [markdown]
# What to see: covering a tile elsewhere changes at most 1 % of words (a weak control). In each network, the tile with most of the object changes more words than that of the largest weight: 46, 42 and 40 %, against 8, 29 and 34 %. Compare the largest weight with another tile of the object. For seeds 1 and 2, it changes more words (29 and 34 %, against 17 and 18 %); for seed 0, fewer (8 against 22 %). So a large weight is a hint, at best.
#
# <details><summary>Is “another tile” a fair control?</summary>Not quite. The tile of the largest weight may also be the one with most of the object; “another tile” never is. So for seeds 1 and 2, part of its lead over “another tile” may come from how much of the object is covered, not from attention. A fairer control is a tile with as many of the object's pixels.</details>
# <details><summary>Are colours and shapes alike?</summary>No, though the figure counts them together. Seed 0 attends to the object at colour words only. And shapes change more often (recorded: with the tile that has most of the object covered, 14 to 23 % of the colours and 65 to 69 % of the shapes change).</details>
# <details><summary>How far can you trust these numbers?</summary>Most tiles elsewhere are background, and a cover in the background's mean colour hides almost nothing there. For the same reason, the 8 % of seed 0, which attends to empty cells at shape words, do not show that it does not use those cells. There are 306 words, so a share has a standard error of about 3 points, or more, since the words of one scene are not independent: for seed 2, 40 against 34 % is close. The tile with the largest drop changes most, 47 to 52 %, but the same covers have chosen it, so this comparison tests nothing. And in training, the CNN saw no covers.</details>
#
# **A good place to stop.** (Back later? Run all cells above first.)
#
# ### One word early
#
# How does the opening's network 1 (seed 0) know *square*? The test needs two scenes:

# %%
display(
    draw_scenes(
        [test_set.images[SHOWN], cover(test_set.images[SHOWN], object_pixels(SHOWN)[0] > 0)],
        ["the whole scene", "the first object covered"],
        "Two scenes for the words of one caption",
        across=2,
    )
)

# %% [markdown]
# The network reads the scene several times: for the first state, and for each word's attention. Nothing forces these to be the *same* scene. So show it the covered scene at one of these moments, and the whole scene at all others (a form of activation patching, lesson 1). If the shape then changes, the network needed to see the object at that moment. If not, another moment may have been enough. Count this in 150 scenes of two shapes.
#
# **Predict.** In seed 0's network, when does the *shape* change?
#
# <details><summary>If the object is covered for the shape's attention</summary>Its weights are elsewhere: 1 % of the shapes change.</details>
# <details><summary>If it is covered for the colour's attention, one word before</summary>Yes: 65 % change.</details>
# <details><summary>In neither case: the first state knows the shape</summary>The first state has the whole scene. Yet in one of the two cases the shape changes.</details>

# %% folded=true
# Gives the first state and each word's attention scenes of their own: click to unfold.
PAIRS = [number for number in range(len(test_set)) if test_set.lengths[number] == 6][:150]
WHOLE, READ = test_set.images[PAIRS], inputs_of(test_set)[PAIRS]
# two objects each: bool (scenes, cells)
FIRST, SECOND = torch.stack([object_pixels(number)[[0, 3]] > 0 for number in PAIRS]).unbind(1)


def written_from(seed: int, for_start: Tensor, for_attention: Sequence[Tensor]) -> Tensor:
    """The word written last, under teacher forcing: the first state and each word have images."""
    captioner = trained_captioner(seed)
    placed = as_cells(for_start, seed) + captioner.positions
    hidden = torch.tanh(captioner.start(placed.mean(1)))
    for word, images in enumerate(for_attention):
        seen, _ = captioner.attend(hidden, as_cells(images, seed) + captioner.positions)
        hidden = captioner.gru(torch.cat([captioner.embedding(READ[:, word]), seen], -1), hidden)
    return captioner.output(hidden).argmax(-1)


@cache
def shapes_changed(seed: int) -> dict[str, float]:
    """How often the first shape changes, by the words for which its object is covered."""
    less, before = cover(WHOLE, FIRST), teacher_forced(seed)[0][PAIRS, 1]
    return {
        name: float((written_from(seed, WHOLE, images) != before).float().mean())
        for name, images in {
            "the shape": (WHOLE, less),
            "the colour": (less, WHOLE),
            "both words": (less, less),
        }.items()
    }


# %%
figures.runs(
    {name: [shapes_changed(seed)[name] for seed in range(3)] for name in shapes_changed(0)},
    "first shapes that change",
    "The first object covered for the attention of …; 3 seeds",
    linked=True,
    bottom=0.0,
)

# %% [markdown]
# What to see: with the object covered for the shape's attention, 1 % of seed 0's shapes change. With it covered for the colour's, 65 % change, although the GRU reads the true colour. So in most scenes, it needed to see the object one word early: it “knew the word before it attended”. With the object covered for the shape's attention, no cell could see it, yet 99 % of the shapes stayed. For seeds 1 and 2, the shape's attention counts more (40 and 33 %, against 22 and 8 %).
#
# <details><summary>How strict is this test?</summary>With the object covered for both words, 71 to 78 % of the shapes change; if the network guessed one of four shapes, 75 % would. (For seeds 1 and 2, that is more than the sum of the shares for the two single covers, 40 + 22 % and 33 + 8 %: so in some scenes, either moment alone is enough.) But a cover may also lead the attention to another object. A stricter test: for the colour's attention, show a scene in which the object has another <em>shape</em>, in the same place and colour. Does the word follow? This is not measured here; you could try it with <code>written_from</code>.</details>
#
# ### Optional: the word “and”
#
# **Predict.** You cover the whole second object of two; the GRU still reads the true words. Which word does the network now write after the first shape?
#
# <details><summary><em>and</em>: that word depends on grammar, not on the image</summary>Run the code below: it does depend on the image.</details>
# <details><summary><em>&lt;end&gt;</em></summary>Yes. But is that because the network attends to the second object? The figure has a control.</details>
# <details><summary>The colour of the first object again</summary>In the training captions, only <em>and</em> or <em>&lt;end&gt;</em> follows a shape.</details>


# %% folded=true
# Covers whole objects, or as many tiles of the background, before “and”: click to unfold.
def share_of_end(seed: int, for_start: Tensor, for_attention: Tensor) -> float:
    """How often the third word is <end>, with these images for the two."""
    return float((written_from(seed, for_start, [for_attention] * 3) == END).float().mean())


def draw_background() -> Tensor:
    """Draw as many tiles as the second object has, off both objects: bool (scenes, tiles)."""
    order = torch.rand(FIRST.shape, generator=torch.Generator().manual_seed(0))
    ranks = order.masked_fill(FIRST | SECOND, 2.0).argsort(-1).argsort(-1)
    return ranks < SECOND.sum(-1, keepdim=True)


def weight_at_and(seed: int, on: Tensor) -> float:
    """The weight of “and” on these cells, a mean over the scenes."""
    return float((teacher_forced(seed)[1][PAIRS, 2] * on).sum(-1).mean())


# %%
covers = {
    "background": draw_background(),
    "first object": FIRST & ~SECOND,
    "second object": SECOND,
}
figures.runs(
    {
        "weight, first object": [weight_at_and(seed, FIRST) for seed in range(3)],
        "weight, second object": [weight_at_and(seed, SECOND) for seed in range(3)],
        **{
            f"<end> if covered, {name}": [
                share_of_end(seed, *[cover(WHOLE, on)] * 2) for seed in range(3)
            ]
            for name, on in covers.items()
        },
    },
    "share",
    "Before “and” in scenes of two shapes: weights, and what covering does; 3 seeds",
    bottom=0.0,
)

# %% [markdown]
# What to see: covering the second object always turns *and* into *&lt;end&gt;*. But covering the *first* object, already named, has almost the same effect (93 to 97 %), with at most 12 % of the weight on it. Covering as many tiles of the background has no effect (a weak control: a cover in the background's mean colour hides almost nothing). So what counts is how many shapes the scene shows (or its coloured area), not which one is covered.
#
# **Predict.** How does the network know this? The first state comes from the mean of all cells. Give the *attention* of all three words the covered scene, the *first state* the whole one; then swap them. Which ends the caption?
#
# <details><summary>Attention with the covered scene</summary>It has little effect: at most 7 % end.</details>
# <details><summary>The first state of the covered scene</summary>Yes, in 85 to 98 % of the scenes.</details>
# <details><summary>Each of them by itself</summary>One of them does nearly all of it.</details>

# %%
less = cover(WHOLE, SECOND)
figures.runs(
    {
        name: [share_of_end(seed, *images) for seed in range(3)]
        for name, images in {
            "neither": (WHOLE, WHOLE),
            "attention": (WHOLE, less),
            "the first state": (less, WHOLE),
            "both": (less, less),
        }.items()
    },
    "<end> instead of “and”",
    "The second object covered for …; 3 seeds",
    linked=True,
    bottom=0.0,
)

# %% [markdown]
# What to see: if only the *first state* comes from the covered scene, 85 to 98 % of the captions end; if only *attention* does, 1 to 7 %. So the first state says whether a second shape follows; what attention sees of it hardly matters.
#
# ### Is attention an explanation?
#
# Jain and Wallace (2019, “Attention is not Explanation”) studied networks that read text. They found very different weights that gave nearly the same predictions. Wiegreffe and Pinter (2019, “Attention is not not Explanation”) proposed stricter tests. Whether weights explain the output has to be tested.
#
# ## 8 · The live view
#
# Your captioner (seed 0) writes by itself. Choose a word to see its weights; click a cell (or press Enter) to cover its tile.

# %%
from transformer_course.widgets import show_caption

show_caption(
    write_captions,
    test_set.images[[0, 8, 5, 7]],
    WORDS,
    CELL,
    end=END,
    title="What your captioner attends to, and what it writes when a tile is covered",
)

# %% [markdown]
# **Puzzle.** Take scene 0. Find a tile that ends the caption after the first shape when it is covered. Is it the tile of a cell with a large weight at *and*? Then find a tile that changes *both* words of the first shape.
#
# <details><summary>Answer (in the recorded run; rows and columns count from 0)</summary>Covering row 2, column 5 ends the caption there, and so does covering column 4 or 5 of row 3: these are tiles of the triangle. <em>and</em> has 97 % of its weight on row 3, column 6; cover that tile, and nothing changes. Covering row 1, column 3, the cell with the largest weight at <em>red</em>, makes the caption “green triangle and green triangle”: the network names the second shape twice.</details>

# %% [markdown]
# ## 9 · The real thing
#
# Compare with PyTorch, in float64. With a gate of 1, your attention is `F.scaled_dot_product_attention` with one query. With a query of zero, all weights are equal: then your context is the average of the grid, as in `nn.AdaptiveAvgPool2d`.

# %%
attention = GridAttention(5, 6, 7).double()
some_state, some_grid = numbers(3, 5), numbers(3, 6, 4, 8, seed=1)
with torch.no_grad():
    attention.gate.weight.zero_()
    attention.gate.bias.fill_(50.0)  # sigmoid(50) is 1 in float64
    some_sequence = grid_to_sequence(some_grid)
    mine, some_weights = attention(some_state, some_sequence)
    theirs = F.scaled_dot_product_attention(
        attention.w_query(some_state)[:, None], attention.w_key(some_sequence), some_sequence
    )[:, 0]
    attention.w_query.weight.zero_()
    averaged, some_weights = attention(some_state, some_sequence)
    pooled = nn.AdaptiveAvgPool2d(1)(some_grid).flatten(1)
for name, difference in {
    "F.scaled_dot_product_attention": mine - theirs,
    "nn.AdaptiveAvgPool2d, zero query": averaged - pooled,
}.items():
    print(f"{name:34} largest difference {difference.abs().max().item():.0e}")

# %% [markdown]
# Differences below 1e-12 are rounding errors.

# %% [markdown]
# ## 10 · In your own words
#
# **Question** (12 minutes). A colleague shows you an attention map over an X-ray image. For the word *fracture*, one cell is bright. “So we know why it said *fracture*.” Name two reasons from your own measurements why the map alone does not show that. Say what you would measure instead, and one thing that your measurement does not show either. Write three to five sentences: double-click the cell below. A person reads them.

# %% answer attention_as_explanation [markdown] points=2
# <!-- BEGIN SOLUTION -->
# First, in part 5 one of three networks that write about equally well had 13 % of its weight on the shapes, below chance, so a map need not show what was used; and in part 6 a term in the loss moved the maps, not the captions. Second, a cell's receptive field is much larger than the tile that is drawn. I would cover the tile of the bright cell, and other tiles as a control, and see whether *fracture* changes: in part 7 covering the tile with the largest weight changed 8 to 34 % of the words, the tile with most of the object 40 to 46 %. That does not show what the network does inside, and the network has never seen a covered X-ray image, so a change may come from the cover itself.
# <!-- END SOLUTION -->


# %% [markdown]
# ## Where you stand

# %%
from transformer_course.progress import show_progress

show_progress("14_image_captioning")

# %% [markdown]
# - A CNN's grid of features, flattened row by row with the channels last, gives the keys and values of attention.
# - A cell's receptive field is larger than its tile: 15 × 15 pixels here. In Xu et al.'s VGG-19 it is 252 × 252, more than the image. A bright tile says where a cell is, not what it has seen.
# - The old state attends, the GRU reads the context, the new state writes. With the mean of all cells in place of attention, only 8 % of the captions of three shapes are right; with attention, 79 %.
# - Networks that write about equally well attend differently: at shape words, one has 13 % of its weight on the object, the others 95 and 96 % (chance: 17 %). The coverage penalty moved the weights, too.
# - Occlusion is one test: cover the tile of the cell that was attended to and, as a control, other tiles. In all three networks, covering the tile with most of the object changed more words than covering the one with the largest weight. In most scenes, one network needed to see the object one word before the shape. (Optional part: the first state, and hardly what attention saw, said whether *and* follows.)
#
# **What comes next.** In text, a token has so far been a word from a list, or a single character. Lesson 15 cuts text into learned pieces, for words that no list holds.
