# %% [markdown]
# # Lesson 8 · Vision Transformer
#
# **You build** a Transformer that reads images: you cut a picture into patches, put a class token in front, and train the whole on handwritten digits.
#
# **You need** lessons 1 to 7: attention, masks aside; heads; layer norm; positions; the encoder block. And how PyTorch stores images: (batch, channels, height, width).
#
# **You take away** `VisionTransformer`, which reads digits that it has never seen, and two ways to look into it.
#
# **Time**: about 90 minutes.

# %% [markdown]
# **How to work**, as before: read, predict, run, cell by cell. This notebook runs alone. The encoder block that you built in lesson 7 comes from PyTorch here: `nn.TransformerEncoderLayer`.

# %% [markdown]
# ## 1 · A sentence made of squares
#
# Lesson 7 ended with a question. An encoder turns a row of vectors into a row of vectors, and does not care what they stand for. So far they were words. An image is no row of words. Or is it? How do you make a row of vectors out of a picture?
#
# One vector for each **pixel** is the first idea. But attention compares all pairs: a photo of 224 × 224 pixels has 50,176 of them, and 2.5 billion pairs. So cut the picture into squares, the **patches**, and make one vector of each. *An image is worth 16 × 16 words* is the title of the paper that did it (Dosovitskiy et al., 2020). Its patches are 16 pixels wide.

# %% given imports
import copy
import functools
import importlib
import importlib.util
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits, load_sample_image
from torch import Tensor, nn
from transformer_course import figures
from transformer_course.checks import Check, numbers

# %%
from transformer_course.widgets import show_patches

whole = torch.tensor(load_sample_image("china.jpg")).permute(2, 0, 1) / 255.0  # 3, 427, 640
photo = F.avg_pool2d(whole[:, :384, 32:608], 3)  # cropped, and each 3 × 3 pixels made one
print("channels, height, width:", tuple(photo.shape))
show_patches(photo, [64, 32, 16], title="one photo, three patch sizes")

# %% [markdown]
# What to see: squares of 64 pixels cut the temple into four large pieces; in squares of 16, each patch holds a bit of roof or sky, and there are many. Choose a size in the view, and click on a patch to see its numbers.
#
# **Predict.** You halve the patch size. How many more pairs does attention compare?
#
# <details><summary>2 times as many</summary>The patches get half as wide <em>and</em> half as high: already their number grows more than that.</details>
# <details><summary>4 times as many</summary>That is the number of patches. Attention compares each patch with each.</details>
# <details><summary>16 times as many</summary>Yes: 4 times the patches, 4 · 4 times the pairs. This is why the patch size is the first number in the name of a model: ViT-B/16 has patches 16 pixels wide.</details>

# %% [markdown]
# ## 2 · Cut
#
# Names first. The image has $C$ channels (three colours, or one grey), height $H$ and width $W$. The patch size $p$ is the side of the square. Then there are $\frac{H}{p} \cdot \frac{W}{p}$ patches, and each one is a row of $C \cdot p \cdot p$ numbers.
#
# The order is a convention, and here it is:
#
# - the **patches** come row by row, as you read: the top row from left to right, then the next;
# - **inside** a patch, channel by channel: first all its red pixels, row by row, then green, then blue.
#
# `reshape` changes the shape of a tensor and keeps its numbers in their order. So is `reshape` alone enough? Here is what it cuts.

# %%
many = (128 // 32) * (192 // 32)
stripes = photo.reshape(many, 3 * 32 * 32)
show_patches(photo, 32, patches=stripes, title="cut by reshape alone")

# %% [markdown]
# What to see: the shape is right, and no patch is a patch. The numbers of a tensor lie in memory pixel row by pixel row, so the first 3 · 32 · 32 of them are a stripe of red across the whole width. The shape of a tensor never tells you whether its numbers are in place.

# %% [markdown]
# **Predict.** You split the height into (rows of patches, $p$), and the width into (columns of patches, $p$). Now the tensor has six axes: batch, channel, row, $y$ in the patch, column, $x$ in the patch. In which order do you want them?
#
# <details><summary>batch, row, column, channel, y, x</summary>Yes. The first three say which patch, the last three which number in it. Then two flattenings finish the work.</details>
# <details><summary>batch, channel, row, column, y, x</summary>Then each channel has its patches for itself. A patch should hold all its channels.</details>
# <details><summary>batch, row, column, y, x, channel</summary>That is a patch too, with the colours of each pixel side by side. But the convention here puts the channel first.</details>

# %% [markdown]
# **Exercise** (15 minutes). Cut. If a side is no multiple of the patch size, stop with a clear error: `raise ValueError(f"…")`, with that side and the patch size in the message.
#
# <details><summary>Hint 1</summary><code>reshape</code> may split an axis into two: (…, height, …) becomes (…, rows, p, …). <code>permute</code> puts axes in another order.</details>
# <details><summary>Hint 2</summary>After <code>permute</code>, <code>flatten(1, 2)</code> joins row and column to one axis of patches, and <code>flatten(2)</code> joins the rest.</details>


# %% exercise patchify
def patchify(images: Tensor, patch_size: int) -> Tensor:
    """Cut images into square patches, and make each patch a row of numbers.

    images (batch, channels, height, width) -> (batch, patches, channels · patch_size · patch_size).
    Patches row by row; inside a patch channel by channel, each channel row by row.
    A height or width that is no multiple of patch_size: ValueError that names it and patch_size.
    """
    # BEGIN SOLUTION
    batch, channels, height, width = images.shape
    for side in (height, width):
        if side % patch_size:
            raise ValueError(f"patches of {patch_size} do not fit into a side of {side}")
    rows, columns = height // patch_size, width // patch_size
    cut = images.reshape(batch, channels, rows, patch_size, columns, patch_size)
    return cut.permute(0, 2, 4, 1, 3, 5).flatten(1, 2).flatten(2)
    # END SOLUTION


# %% check patchify points=2
hint = "split height and width each into two axes, bring the six axes in order, then flatten"
with Check("patchify", "one grey image, 4 by 6, in patches of 2", hint) as check:
    image = torch.arange(24.0, dtype=torch.float64).reshape(1, 1, 4, 6)
    patches = check.call(image, 2)
    check.shape(patches, batch=1, patches=6, numbers=4)
    check.equal(
        patches[0, 0],
        torch.tensor([0.0, 1.0, 6.0, 7.0], dtype=torch.float64),
        "the image counts 0 to 5 in its first row, 6 to 11 in its second; its first patch is "
        "0 1 above 6 7",
    )
    check.equal(
        patches[0, :, 0],
        torch.tensor([0.0, 2.0, 4.0, 12.0, 14.0, 16.0], dtype=torch.float64),
        "the patches come row by row, as you read: their upper left pixels are 0 2 4, then 12 14 16",
        hint="after permute, the axis of patch rows stands before that of patch columns",
    )
with Check("patchify", "colours, and a batch", hint) as check:
    image = torch.arange(4 * 3 * 2 * 4, dtype=torch.float64).reshape(4, 3, 2, 4)
    patches = check.call(image, 2)
    check.shape(patches, batch=4, patches=2, numbers=12)
    check.equal(
        patches[0, 0],
        image[0, :, :, :2].flatten(),
        "inside a patch all of channel 0 comes first, then all of channel 1, then channel 2",
        hint="the channel's axis stands before the two axes of the pixels",
    )
    check.equal(patches[2], check.call(image[2:3], 2)[0], "an image is cut in a batch as alone")
# BEGIN HIDDEN TESTS
with Check("patchify", "other sizes, as torch's own unfold cuts") as check:
    for shape, size in (((2, 3, 6, 9), 3), ((3, 2, 8, 4), 4), ((1, 1, 5, 5), 5), ((2, 4, 3, 2), 1)):
        for dtype in (torch.float64, torch.float32):
            images = numbers(*shape, seed=size, scale=3.0, dtype=dtype)
            expected = F.unfold(images, size, stride=size).transpose(1, 2)
            check.equal(check.call(images, size), expected, "the patches, row by row")
with Check("patchify", "a view that is not contiguous, and its gradient") as check:
    images = numbers(2, 6, 4, 3, seed=1).permute(0, 3, 1, 2).requires_grad_()
    patches = check.call(images, 2)
    expected = F.unfold(images, 2, stride=2).transpose(1, 2)
    check.equal(patches, expected, "a view, cut")
    slope = check.gradient(patches[1, 2].square(), images)
    check.equal(slope, check.gradient(expected[1, 2].square(), images), "the gradient of one patch")
# END HIDDEN TESTS

# %% check patchify_refuses points=1
with Check("patchify", "sides that are no multiple") as check:
    check.raises(torch.ones(1, 1, 4, 7), 2, naming=(7, 2))
    check.raises(torch.ones(1, 1, 10, 8), 4, naming=(10, 4))
# BEGIN HIDDEN TESTS
with Check("patchify", "refused and accepted") as check:
    check.raises(torch.ones(2, 3, 9, 10), 5, naming=(9, 5))
    check.raises(torch.ones(2, 3, 3, 6), 6, naming=(3, 6))
    # as many pixels as whole patches have
    check.raises(torch.ones(1, 1, 2, 8), 4, naming=(2, 4))
    check.shape(check.call(torch.ones(2, 3, 9, 12), 3), batch=2, patches=12, numbers=27)
# END HIDDEN TESTS


# %% [markdown]
# Your own patches, drawn back into an image: each row of yours is put at its place as the convention says.

# %%
show_patches(photo, 32, patches=patchify(photo[None], 32)[0], title="cut by you")

# %% [markdown]
# What to see: the same picture twice. Compare it with the stripes above.

# %% [markdown]
# ## 3 · And back
#
# To draw patches, or to let a model paint them, you need the way back. It is the same steps in the opposite order.
#
# **Exercise** (8 minutes). The number of patches alone does not say whether they stood 2 by 6 or 3 by 4. So you are told height and width.
#
# <details><summary>Hint</summary>First split into the six axes of before: batch, row, column, channel, y, x. Then bring row and y side by side, and column and x.</details>


# %% exercise unpatchify
def unpatchify(patches: Tensor, patch_size: int, channels: int, height: int, width: int) -> Tensor:
    """Put patches back to images: what patchify has cut.

    patches (batch, patches, channels · patch_size · patch_size)
    -> (batch, channels, height, width).
    """
    # BEGIN SOLUTION
    rows, columns = height // patch_size, width // patch_size
    apart = patches.reshape(-1, rows, columns, channels, patch_size, patch_size)
    together = apart.permute(0, 3, 1, 4, 2, 5)
    return together.reshape(-1, channels, height, width)
    # END SOLUTION


# %% check unpatchify points=1
hint = "the same six axes as in patchify, brought back into the order of the image"
with Check("unpatchify", "four patches of one grey image, 2 by 8", hint) as check:
    patches = torch.arange(16.0, dtype=torch.float64).reshape(1, 4, 4)
    image = check.call(patches, 2, 1, 2, 8)
    check.shape(image, batch=1, channel=1, height=2, width=8)
    check.equal(
        image[0, 0],
        torch.tensor(
            [[0, 1, 4, 5, 8, 9, 12, 13], [2, 3, 6, 7, 10, 11, 14, 15]], dtype=torch.float64
        ),
        "the first patch is 0 1 above 2 3, and the next one, 4 5 above 6 7, stands to its right",
    )
with Check("unpatchify", "colours, a batch, and several rows of patches", hint) as check:
    image = torch.arange(5 * 3 * 6 * 4, dtype=torch.float64).reshape(5, 3, 6, 4)
    patches = F.unfold(image, 2, stride=2).transpose(1, 2)
    back = check.call(patches, 2, 3, 6, 4)
    check.shape(back, batch=5, channel=3, height=6, width=4)
    check.equal(back[0, 0], image[0, 0], "patches stand in rows, and each has channel 0 first")
    check.equal(back, image, "every pixel of every image is back at its place")
# BEGIN HIDDEN TESTS
with Check("unpatchify", "other sizes") as check:
    for shape, size in (((2, 3, 6, 9), 3), ((3, 2, 8, 4), 4), ((1, 1, 5, 5), 5), ((2, 4, 3, 2), 1)):
        for dtype in (torch.float64, torch.float32):
            images = numbers(*shape, seed=size, scale=3.0, dtype=dtype)
            patches = F.unfold(images, size, stride=size).transpose(1, 2)  # not contiguous
            check.equal(check.call(patches, size, *shape[1:]), images, "the images again")
with Check("unpatchify", "a gradient") as check:
    patches = numbers(2, 6, 18, seed=2).requires_grad_()
    slope = check.gradient(check.call(patches, 3, 2, 9, 6)[1, 0, 4].square(), patches)
    expected = torch.zeros_like(patches)
    expected[1, 2:4, 3:6] = 2 * patches.detach()[1, 2:4, 3:6]
    check.equal(slope, expected, "one row of pixels comes from the middle rows of two patches")
# END HIDDEN TESTS


# %% [markdown]
# ## 4 · From a patch to a token
#
# A patch is a row of $C p^2$ numbers, and the encoder wants vectors of width $d_{\text{model}}$. One linear layer makes the one from the other. It is to patches what the embedding table is to words. What comes out is called a **token**.
#
# **Exercise** (5 minutes). The name of the layer matters: the check loads weights by it. You do not need `image_size` for the computation; it says for which images the module is made.


# %% exercise PatchEmbedding
class PatchEmbedding(nn.Module):
    """Cut images into patches, and project each patch to d_model numbers.

    Part: `projection`, an `nn.Linear` from channels · patch_size · patch_size to d_model numbers.
    image_size: an int for a square, or (height, width).
    forward: images (batch, channels, height, width) -> (batch, patches, d_model).
    """

    def __init__(
        self, image_size: int | tuple[int, int], patch_size: int, channels: int, d_model: int
    ) -> None:
        # BEGIN SOLUTION
        super().__init__()
        self.patch_size = patch_size
        self.projection = nn.Linear(channels * patch_size**2, d_model)
        # END SOLUTION

    def forward(self, images: Tensor) -> Tensor:
        # BEGIN SOLUTION
        return self.projection(patchify(images, self.patch_size))
        # END SOLUTION


# %% check PatchEmbedding points=2
hint = "an nn.Linear called projection, applied to patchify(images, patch_size)"
with Check("PatchEmbedding", "an example you can do by hand", hint) as check:
    embedding = check.build((2, 4), 2, 1, 3).double()
    weight = torch.tensor([[1, 1, 1, 1], [1, 0, 0, 0], [0, 0, 0, 1]], dtype=torch.float64)
    bias = torch.tensor([0.0, 0.0, 10.0], dtype=torch.float64)
    embedding.load({"projection.weight": weight, "projection.bias": bias})
    image = torch.tensor([[[[1, 2, 5, 6], [3, 4, 7, 8]]]], dtype=torch.float64)
    tokens = embedding.call(image)
    check.shape(tokens, batch=1, patches=2, d_model=3)
    check.equal(
        tokens[0],
        torch.tensor([[10.0, 1.0, 14.0], [26.0, 5.0, 18.0]], dtype=torch.float64),
        "a patch's token: the sum of its pixels, its first pixel, and its last pixel plus 10",
    )
with Check("PatchEmbedding", "colours, a batch, and a square given as one number", hint) as check:
    embedding = check.build(4, 2, 3, 5).double()
    weight, bias = numbers(5, 12, seed=1), numbers(5, seed=2)
    embedding.load({"projection.weight": weight, "projection.bias": bias})
    images = numbers(2, 3, 4, 4, seed=3)
    tokens = embedding.call(images)
    check.shape(tokens, batch=2, patches=4, d_model=5)
    check.equal(tokens[:, 3], images[:, :, 2:, 2:].flatten(1) @ weight.T + bias, "the last token")
    slopes = embedding.gradients(tokens.square()).values()
    check.true(all(bool(s.abs().max() > 0) for s in slopes), "a gradient reaches the layer")
# BEGIN HIDDEN TESTS
with Check("PatchEmbedding", "equal to a strided convolution") as check:
    for height, width, size, dtype in (
        (6, 9, 3, torch.float64),
        (8, 4, 4, torch.float64),
        (4, 6, 1, torch.float32),
    ):
        weight = numbers(7, 2 * size**2, seed=size, dtype=dtype)
        bias = numbers(7, seed=5, dtype=dtype)
        embedding = check.build((height, width), size, 2, 7)
        embedding = embedding.double() if dtype == torch.float64 else embedding
        embedding.load({"projection.weight": weight, "projection.bias": bias})
        images = numbers(3, 2, height, width, seed=6, scale=2.0, dtype=dtype)
        kernels = weight.reshape(7, 2, size, size)
        expected = F.conv2d(images, kernels, bias, stride=size).flatten(2).transpose(1, 2)
        check.equal(embedding.call(images), expected, "the tokens, row by row")
with Check("PatchEmbedding", "two modules do not share their weights") as check:
    first, second = check.build(4, 2, 1, 3), check.build(4, 2, 1, 3)
    kept = second.state()
    first.load({"projection.weight": torch.zeros(3, 4), "projection.bias": torch.zeros(3)})
    for name, part in second.state().items():
        check.equal(part, kept[name], f"{name} of the other module")
# END HIDDEN TESTS


# %% [markdown]
# ### Bug hunt: "basically a Conv2d"
#
# A lecture slide says of this linear projection of flattened patches that it is "basically a Conv2d". Take it at its word: a `Conv2d` with a kernel as large as a patch.

# %%
as_said = nn.Conv2d(3, 16, kernel_size=32)
print("your patch embedding:", tuple(PatchEmbedding((128, 192), 32, 3, 16)(photo[None]).shape))
print("a Conv2d, as said:   ", tuple(as_said(photo[None]).shape))

# %% [markdown]
# What to see: 24 tokens against a map of 97 by 161. The slide is right, and the word *basically* hides two things. A convolution slides its kernel **pixel by pixel**, unless you tell it otherwise, so its windows overlap. And it gives a map with the channels first, (batch, d_model, rows, columns), where an encoder wants (batch, patches, d_model).

# %% [markdown]
# **Exercise** (8 minutes). Compute the tokens with `F.conv2d(images, kernels, bias, …)`, from the weight and bias of the linear layer. So you show that the two are one. Its kernels have the shape (d_model, channels, p, p).
#
# <details><summary>Hint 1</summary>A row of the weight holds channel by channel, row by row: just what one kernel holds. A <code>reshape</code> turns the one into the other.</details>
# <details><summary>Hint 2</summary>How far must the window move from one patch to the next? See <code>stride</code>.</details>


# %% exercise repaired_convolution
def repaired_convolution(images: Tensor, weight: Tensor, bias: Tensor, patch_size: int) -> Tensor:
    """The tokens of a patch embedding, by a convolution: what the slide means by "a Conv2d".

    images (batch, channels, height, width); weight (d_model, channels · patch_size · patch_size)
    and bias (d_model,) of the linear layer -> (batch, patches, d_model).
    """
    # BEGIN SOLUTION
    kernels = weight.reshape(len(weight), images.shape[1], patch_size, patch_size)
    grid = F.conv2d(images, kernels, bias, stride=patch_size)
    return grid.flatten(2).transpose(1, 2)
    # END SOLUTION


# %% check repaired_convolution points=1
hint = "windows that do not overlap, and the tokens row by row with their d_model numbers last"
with Check("repaired_convolution", "an example you can do by hand", hint) as check:
    weight = torch.tensor([[1, 1, 1, 1], [1, 0, 0, 0], [0, 0, 0, 1]], dtype=torch.float64)
    bias = torch.tensor([0.0, 0.0, 10.0], dtype=torch.float64)
    image = torch.tensor([[[[1, 2, 5, 6], [3, 4, 7, 8]]]], dtype=torch.float64)
    tokens = check.call(image, weight, bias, 2)
    check.shape(tokens, batch=1, patches=2, d_model=3)
    check.equal(
        tokens[0],
        torch.tensor([[10.0, 1.0, 14.0], [26.0, 5.0, 18.0]], dtype=torch.float64),
        "a patch's token: the sum of its pixels, its first pixel, and its last pixel plus 10",
    )
with Check("repaired_convolution", "colours, and a batch", hint) as check:
    weight, bias, images = numbers(5, 12, seed=1), numbers(5, seed=2), numbers(2, 3, 4, 6, seed=3)
    tokens = check.call(images, weight, bias, 2)
    check.shape(tokens, batch=2, patches=6, d_model=5)
    patches = F.unfold(images, 2, stride=2).transpose(1, 2)
    check.equal(tokens, patches @ weight.T + bias, "what the linear layer gives for each patch")
# BEGIN HIDDEN TESTS
with Check("repaired_convolution", "other sizes") as check:
    for shape, size in (((2, 3, 6, 9), 3), ((3, 2, 8, 4), 4), ((2, 4, 3, 2), 1)):
        weight = numbers(7, shape[1] * size**2, seed=4)
        bias, images = numbers(7, seed=5), numbers(*shape, seed=6, scale=2.0)
        expected = F.unfold(images, size, stride=size).transpose(1, 2) @ weight.T + bias
        check.equal(check.call(images, weight, bias, size), expected, "the same tokens")
# END HIDDEN TESTS


# %% [markdown]
# ## 5 · The whole model
#
# You have tokens. Three things are missing before the encoder can classify a picture.
#
# **Positions.** Attention does not know where a patch stood (lesson 6). The model learns a table with one row of $d_{\text{model}}$ numbers for each token, and adds it. The rows are numbered in reading order; nothing tells the model that patch 7 lies below patch 3.
#
# **A class token.** The encoder gives one vector for each patch, and you want one answer for the picture. So put one more token **in front**: a learned vector, the same for every picture. It has seen nothing yet. Block by block it gathers from the patches what it needs, and at the end the answer is read off it alone. (BERT's `[CLS]` is the same idea.) The other way has no class token: take the **mean** of the patches at the end.
#
# **A head**: a linear layer from $d_{\text{model}}$ to one number for each class, the **logits**. (It has nothing to do with the heads of attention.)
#
# With $e_1, \dots, e_n$ the tokens of the patches, $c$ the class token, and $P$ the table of positions:
#
# $$X = [c, e_1, \dots, e_n] + P \qquad Y = \mathrm{Norm}(\mathrm{blocks}(X)) \qquad \mathrm{logits} = \mathrm{Head}(Y_0) \;\text{ or }\; \mathrm{Head}\Big(\frac{1}{n}\sum_{i=1}^{n} Y_i\Big)$$

# %% [markdown]
# **Predict.** In a batch of 8 pictures, how many class tokens are learned, and how many stand in the tensor?
#
# <details><summary>8 learned, 8 in the tensor</summary>Then a model trained on batches of 8 could not read 9 pictures. A parameter never has a batch axis of its own.</details>
# <details><summary>1 learned, 1 in the tensor</summary>Each picture is a sequence of its own, and needs its own place to gather in.</details>
# <details><summary>1 learned, 8 in the tensor</summary>Yes. <code>expand</code> shows the one vector to each picture. From the first block on the eight differ, because each looks at other patches.</details>

# %% [markdown]
# **Exercise** (25 minutes). The largest of this lesson. Begin with your `PatchEmbedding`. Take PyTorch's block, `nn.TransformerEncoderLayer`, with `"gelu"` as its activation, `batch_first=True` and `norm_first=True`, and stack `num_layers` of them, each with its own weights, with one `nn.LayerNorm` behind the last. (`nn.TransformerEncoder(layer, num_layers, norm, enable_nested_tensor=False)` does both: it copies the layer that you give it.) Later cells look into these blocks. You choose the names of the parts.
#
# <details><summary>Hint 1: what is learned</summary><code>nn.Parameter(torch.zeros(1, 1, d_model))</code> on <code>self</code> is a learned class token. A table of positions is made alike; begin it with small random numbers, <code>0.02 * torch.randn(…)</code>.</details>
# <details><summary>Hint 2: in front</summary><code>torch.cat([…, …], dim=1)</code> puts tensors one behind the other along the axis of tokens. Before it, <code>expand(len(images), -1, -1)</code> gives each picture its class token.</details>
# <details><summary>Hint 3: the mean</summary>If your model has a class token in "mean" too, leave it out of the mean.</details>


# %% exercise VisionTransformer
class VisionTransformer(nn.Module):
    """Classify images: patches, learned positions, encoder blocks, one linear layer at the end.

    image_size: an int for a square, or (height, width).
    forward: images (batch, channels, height, width) -> logits (batch, num_classes).
    pool="cls": a learned class token stands before the patches, and the logits are read off it.
    pool="mean": off the mean of the patches; a class token may be absent, and is not in the mean.
    To the tokens a learned table (1 + patches, d_model) is added, the class token's row first
    (without class token: (patches, d_model)). Blocks: pre-norm, then one final LayerNorm.
    """

    def __init__(
        self,
        image_size: int | tuple[int, int],
        patch_size: int,
        channels: int,
        num_classes: int,
        d_model: int,
        num_layers: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.0,
        pool: str = "cls",
    ) -> None:
        # BEGIN SOLUTION
        super().__init__()
        self.pool = pool
        self.embedding = PatchEmbedding(image_size, patch_size, channels, d_model)
        height, width = (image_size, image_size) if isinstance(image_size, int) else image_size
        num_patches = (height // patch_size) * (width // patch_size)
        self.class_token = nn.Parameter(torch.zeros(1, 1, d_model))
        self.positions = nn.Parameter(0.02 * torch.randn(1, 1 + num_patches, d_model))
        block = nn.TransformerEncoderLayer(
            d_model, num_heads, d_ff, dropout, "gelu", batch_first=True, norm_first=True
        )
        norm = nn.LayerNorm(d_model)
        self.encoder = nn.TransformerEncoder(block, num_layers, norm, enable_nested_tensor=False)
        self.head = nn.Linear(d_model, num_classes)
        # END SOLUTION

    def forward(self, images: Tensor) -> Tensor:
        # BEGIN SOLUTION
        tokens = self.embedding(images)
        class_tokens = self.class_token.expand(len(images), -1, -1)
        encoded = self.encoder(torch.cat([class_tokens, tokens], dim=1) + self.positions)
        pooled = encoded[:, 0] if self.pool == "cls" else encoded[:, 1:].mean(dim=1)
        return self.head(pooled)
        # END SOLUTION


# %% [markdown]
# The names in your model are yours, so the checks find its weights by their shapes. The next cell is for them: it gives a model fixed weights, or makes its blocks **silent**, so that each passes its tokens on as they came. In a silent model you can say what must come out.


# %% given weights_for_the_checks
def fixed(parameters: dict[str, Tensor], scale: float = 1.0) -> dict[str, Tensor]:
    """Weights that depend on nothing but their shape."""
    filled = {}
    for name, part in parameters.items():
        size = [side for side in part.shape if side > 1]
        filled[name] = numbers(*part.shape, seed=sum(size), scale=scale, dtype=part.dtype)
    return filled


def silent(parameters: dict[str, Tensor], d_model: int, d_ff: int) -> dict[str, Tensor]:
    """The same, but what attention and the feed-forward network give is zero."""
    inside = {(d_model, d_model), (3 * d_model, d_model), (d_ff, d_model), (d_model, d_ff)}
    return {
        name: torch.zeros_like(part)
        if tuple(part.shape) in inside or name.endswith("bias")
        else part
        for name, part in fixed(parameters).items()
    }


def is_class_token(name: str, part: Tensor) -> bool:
    """Whether a part of d_model numbers is the class token: no norm and no bias is."""
    return part.dim() > 1 or not name.endswith(("weight", "bias"))


# %% check VisionTransformer points=3
hint = "embed, class token in front, add positions, blocks, final norm, read off, linear layer"
with Check("VisionTransformer", "logits for each image", hint) as check:
    # images of 6 by 9 with 2 channels, in 6 patches; 5 classes
    model = check.build((6, 9), 3, 2, 5, 12, 2, 3, 20, 0.5).double().eval()
    images = numbers(4, 2, 6, 9)
    model.load(fixed(model.parameters()), whole=False)
    logits = model.call(images)
    check.shape(logits, batch=4, num_classes=5)
    check.equal(
        model.call(images),
        logits,
        "in evaluation two passes agree",
        hint="nn.Dropout knows the mode; F.dropout must be told: training=self.training",
    )
    alone = model.call(images[1:2])
    check.equal(
        logits[1],
        alone[0],
        "an image gives the same logits in a batch as it gives alone",
        hint="each picture has its class token: the batch stays the first axis from begin to end",
    )
    slopes = model.gradients(logits.square())
    tables = [slope for slope in slopes.values() if tuple(slope.shape[-2:]) == (7, 12)]
    check.true(
        len(tables) > 0,
        "a learned table of positions has 1 + patches rows of d_model numbers: here 7 rows of 12",
        hint="nn.Parameter keeps it among what is learned; the class token has a row too",
    )
    check.true(
        all(bool((s.abs().amax(-1) > 0).all()) for s in tables), "each row of the table is used"
    )
    tokens = [n for n, s in slopes.items() if s.numel() == 12 and is_class_token(n, s)]
    check.true(
        len(tokens) > 0,
        "a learned class token has d_model numbers: here 12",
        hint="nn.Parameter keeps it among what is learned",
    )
    blocks = [name for name, slope in slopes.items() if tuple(slope.shape) == (20, 12)]
    check.true(
        len(blocks) == 2,
        "two blocks are asked for, so two layers from d_model to d_ff are learned",
        hint="num_layers blocks, each with its own weights, in an nn.ModuleList or encoder",
    )
    check.true(
        all(bool(s.abs().max() > 0) for name, s in slopes.items() if not name.endswith("bias")),
        "a gradient reaches everything that is learned",
    )
with Check("VisionTransformer", "silent blocks: the class token has seen nothing", hint) as check:
    model = check.build((6, 9), 3, 2, 5, 12, 2, 3, 20).double().eval()
    quiet = silent(model.parameters(), 12, 20)
    model.load(quiet, whole=False)
    logits = model.call(numbers(2, 2, 6, 9, seed=1))
    check.equal(
        logits[0],
        logits[1],
        "the class token has gathered nothing, so the logits of all images are the same",
        hint="read the logits off the token that you put in front, and off no other",
    )
    slopes = model.gradients(logits.square())
    norms = [s for n, s in slopes.items() if s.shape == (12,) and n.endswith("weight")]
    check.equal(
        sum(bool(slope.abs().max() > 1e-12) for slope in norms),
        1,
        "when its blocks are silent, of all norms the final one alone is heard",
        hint="pre-norm, norm_first=True: tokens pass a block unchanged but for what is added; and "
        "behind the last block stands one more norm",
    )
    louder = {
        n: p * 3 if p.shape[-1] == 12 and p.shape[0] != 5 and is_class_token(n, p) else p
        for n, p in quiet.items()
    }
    model.load(louder, whole=False)
    check.equal(
        model.call(numbers(1, 2, 6, 9, seed=1))[0],
        logits[0],
        "a final norm takes the size away: a class token three times as long gives the same logits",
        hint="a LayerNorm stands behind the last block",
        within=1e-3,
    )
    token = next(p for n, p in quiet.items() if p.numel() == 12 and is_class_token(n, p))
    against = {
        n: torch.cat([-token.reshape(1, 12), p.reshape(7, 12)[1:]]).reshape(p.shape)
        if tuple(p.shape[-2:]) == (7, 12)
        else p
        for n, p in quiet.items()
    }
    model.load(against, whole=False)
    check.equal(
        model.call(numbers(1, 2, 6, 9, seed=1))[0],
        torch.zeros(5, dtype=torch.float64),
        "each position is added once: where the first row of the table is minus the class token, "
        "nothing is left of both, and the logits are zero",
        hint="the class token stands in front, at row 0 of the table; the table is added once, "
        "before the first block",
    )
with Check("VisionTransformer", "silent blocks, one or three", hint) as check:
    told = []
    for blocks in (1, 3):
        model = check.build((6, 9), 3, 2, 5, 12, blocks, 3, 20).double().eval()
        model.load(silent(model.parameters(), 12, 20), whole=False)
        told.append(model.call(numbers(2, 2, 6, 9, seed=1)))
    check.equal(
        told[1],
        told[0],
        "silent blocks pass on what comes as it is: with one or three of them, the logits are the "
        "same",
        hint="the final norm stands once, behind the last block; nothing else stands between blocks",
    )
with Check("VisionTransformer", "loud blocks, and a final norm behind them", hint) as check:
    model = check.build((6, 9), 3, 2, 5, 12, 2, 3, 20).double().eval()
    weights, told = fixed(model.parameters()), []
    for loud in (1e6, 2e6):
        model.load(
            {n: p * loud if tuple(p.shape) == (12, 20) else p for n, p in weights.items()},
            whole=False,
        )
        told.append(model.call(numbers(2, 2, 6, 9, seed=1)))
    check.equal(
        told[1],
        told[0],
        "a final norm takes the size away: where the blocks add a million times as much, or twice "
        "that, the logits are the same",
        hint="the last LayerNorm stands behind the last block, not in front of the first",
        within=1e-3,
    )
with Check("VisionTransformer", "where a patch stands", hint) as check:
    model = check.build((6, 9), 3, 2, 5, 12, 2, 3, 20).double().eval()
    weights = fixed(model.parameters())
    model.load(weights, whole=False)
    image = numbers(1, 2, 6, 9, seed=2)
    swapped = torch.cat([image[..., 6:], image[..., 3:6], image[..., :3]], dim=-1)
    apart = (model.call(image) - model.call(swapped)).abs().max().item()
    check.true(
        apart > 1e-6,
        "with its left and right patches swapped, an image gives other logits",
        hint="add the table of positions to the tokens, before the blocks",
    )
    lost = {n: p * 0 if tuple(p.shape[-2:]) == (7, 12) else p for n, p in weights.items()}
    model.load(lost, whole=False)
    check.equal(
        model.call(swapped),
        model.call(image),
        "with all positions zero, no order is left: swapped patches change nothing",
        hint="each token is one whole patch, and only the positions say where it stood",
    )
with Check("VisionTransformer", "dropout, and its modes", hint) as check:
    model = check.build((6, 9), 3, 2, 5, 12, 2, 3, 20, dropout=0.5).double().train()
    model.load(fixed(model.parameters()), whole=False)
    images = numbers(2, 2, 6, 9, seed=3)
    first, second = model.call(images), model.call(images)
    check.true(
        not torch.equal(first, second),
        "in training, with dropout=0.5, two passes differ",
        hint="hand dropout to the blocks",
    )
    model.eval()
    check.equal(model.call(images), model.call(images), "in evaluation two passes agree")
    model = check.build((6, 9), 3, 2, 5, 12, 2, 3, 20).double().train()
    model.load(fixed(model.parameters()), whole=False)
    check.equal(
        model.call(images),
        model.call(images),
        "without dropout two passes agree, in training too",
        hint="hand dropout to the blocks: left out, it is PyTorch's own 0.1",
    )
with Check("VisionTransformer", "a square given as one number, and the heads", hint) as check:
    told = []
    for heads in (2, 3):
        model = check.build(6, 3, 2, 5, 12, 2, heads, 20).double().eval()
        model.load(fixed(model.parameters(), 0.5), whole=False)
        told.append(model.call(numbers(3, 2, 6, 6, seed=4)))
        check.shape(told[-1], batch=3, num_classes=5)
    check.true(
        (told[0] - told[1]).abs().max().item() > 1e-9,
        "two heads and three heads, with the same weights, give other logits",
        hint="hand num_heads to the blocks",
    )
# BEGIN HIDDEN TESTS
with Check("VisionTransformer", "other sizes, a square, and float32") as check:
    for size, patch, channels, classes, d_model, layers, heads, d_ff in (
        (8, 2, 1, 10, 16, 1, 4, 24),
        ((4, 12), 4, 3, 2, 10, 3, 2, 14),
    ):
        model = check.build(size, patch, channels, classes, d_model, layers, heads, d_ff).eval()
        height, width = (size, size) if isinstance(size, int) else size
        images = numbers(3, channels, height, width, seed=4, dtype=torch.float32)
        logits = model.call(images)
        check.shape(logits, batch=3, num_classes=classes)
        shapes = [tuple(part.shape) for part in model.parameters().values()]
        check.true(shapes.count((d_ff, d_model)) == layers, f"{layers} blocks of their own")
        rows = 1 + (height // patch) * (width // patch)
        check.true(
            any(shape[-2:] == (rows, d_model) for shape in shapes), f"a table of {rows} rows"
        )
        check.equal(model.call(images[2:])[0], logits[2], "an image alone", within=1e-4)
        slope = check.gradient(model.call(images.requires_grad_())[1], images)
        check.equal(slope[0], torch.zeros_like(slope[0]), "no leak into another image")
        check.true(bool((slope[1].abs().amax(0) > 0).all()), "every pixel has a say")
with Check("VisionTransformer", "pre-norm blocks, and one final norm") as check:
    for pool in ("cls", "mean"):
        model = check.build((6, 9), 3, 2, 5, 12, 3, 2, 20, pool=pool).double().eval()
        model.load(silent(model.parameters(), 12, 20), whole=False)
        slopes = model.gradients(model.call(numbers(2, 2, 6, 9, seed=5)).square())
        heard = [
            name
            for name, slope in slopes.items()
            if tuple(slope.shape) == (12,)
            and name.endswith("weight")
            and bool(slope.abs().max() > 1e-12)
        ]
        check.true(len(heard) == 1, "when its blocks are silent, only the last norm is heard")
with Check("VisionTransformer", "the number of heads counts, two modules share nothing") as check:
    images, told = numbers(2, 2, 6, 9, seed=6), []
    for heads in (1, 2, 6):
        model = check.build((6, 9), 3, 2, 5, 12, 2, heads, 20).double().eval()
        model.load(fixed(model.parameters(), 0.5), whole=False)
        told.append(model.call(images))
    for one, other in ((0, 1), (1, 2), (0, 2)):
        gap = (told[one] - told[other]).abs().max().item()
        check.true(gap > 1e-9, "other heads, other logits")
    first, second = (check.build(4, 2, 1, 3, 8, 1, 2, 10) for _ in range(2))
    kept = second.parameters()
    first.load(fixed(first.parameters()), whole=False)
    for name, part in second.parameters().items():
        check.equal(part, kept[name], f"{name} of the other module")
# END HIDDEN TESTS

# %% check VisionTransformer_mean points=1
hint = "the mean of the patches' tokens alone: a class token, if there is one, is not in it"
with Check("VisionTransformer", "the mean of the patches", hint) as check:
    model = check.build((6, 9), 3, 2, 5, 12, 2, 3, 20, pool="mean").double().eval()
    quiet = silent(model.parameters(), 12, 20)
    model.load(quiet, whole=False)
    images = numbers(3, 2, 6, 9, seed=1)
    logits = model.call(images)
    check.shape(logits, batch=3, num_classes=5)
    check.true(
        (logits[0] - logits[1]).abs().max().item() > 1e-6,
        "with silent blocks the patches are what they were, and their mean tells images apart",
        hint='look at pool: "mean" reads the logits off the patches',
    )
    check.equal(model.call(images[1:2])[0], logits[1], "an image alone gives the same logits")
    slope = check.gradient(model.call(pixels := images.clone().requires_grad_())[0], pixels)
    seen = slope[0].abs().amax(0).reshape(2, 3, 3, 3).amax((1, 3))
    check.true(bool((seen > 1e-9).all()), "each of the six patches has its part in the mean")
    slopes = model.gradients(logits.square())
    alone = [
        slope
        for name, slope in slopes.items()
        if slope.numel() == 12 and not name.endswith("bias")
        if slope.dim() > 1 or not name.endswith("weight")
    ]
    check.true(
        all(bool((s.abs() < 1e-12).all()) for s in alone),
        "with silent blocks a class token has no part in the mean",
        hint="the class token stands at place 0: begin the mean behind it",
    )
with Check("VisionTransformer", "six patches that are all alike", hint) as check:
    alike = numbers(1, 2, 3, 3, seed=8)
    told = []
    for image in (alike, alike.repeat(1, 1, 2, 3)):
        model = check.build(tuple(image.shape[2:]), 3, 2, 5, 12, 2, 3, 20, pool="mean")
        weights = silent(model.double().eval().parameters(), 12, 20)
        rows = image[0, 0].numel() // 9
        tables = {(rows, 12), (rows + 1, 12)}
        nowhere = {
            n: p * 0 if p.dim() > 1 and tuple(p.shape[-2:]) in tables else p
            for n, p in weights.items()
        }
        model.load(nowhere, whole=False)
        told.append(model.call(image))
    check.equal(
        told[1],
        told[0],
        "without positions, six patches that are alike have the mean of one of them",
        hint="a mean is a sum divided by the number of patches",
    )
# BEGIN HIDDEN TESTS
with Check("VisionTransformer", "a mean, not a sum, of each patch with its position") as check:
    for size, patch, channels in (((6, 9), 3, 2), ((12, 8), 4, 1), ((2, 6), 2, 2)):
        model = check.build(size, patch, channels, 5, 12, 2, 3, 20, pool="mean").double().eval()
        height, width = (size, size) if isinstance(size, int) else size
        n = (height // patch) * (width // patch)
        quiet = silent(model.parameters(), 12, 20)
        model.load(quiet, whole=False)
        images = numbers(3, channels, height, width, seed=7)
        across = channels * patch**2
        weight = next(p for p in quiet.values() if p.numel() == 12 * across and p.shape[0] == 12)
        table = next(p for p in quiet.values() if p.shape[-2:] in ((n, 12), (n + 1, 12)))
        head = next(p for p in quiet.values() if tuple(p.shape) == (5, 12))
        gain = next(p for p in quiet.values() if tuple(p.shape) == (12,) and bool(p.any()))
        patches = F.unfold(images, patch, stride=patch).transpose(1, 2)
        tokens = patches @ weight.reshape(12, across).T + table.reshape(-1, 12)[-n:]
        normed = F.layer_norm(tokens, (12,)).mean(1) * gain  # norm before the mean, or behind it
        late = F.layer_norm(tokens.mean(1), (12,)) * gain
        gaps = [(model.call(images) - e @ head.T).abs().max().item() for e in (normed, late)]
        check.true(min(gaps) < 1e-3, "linear layer, norm and mean of each patch with its position")
# END HIDDEN TESTS


# %% [markdown]
# ## 6 · It learns to read
#
# 1,797 handwritten digits, 8 by 8 grey pixels each, come with scikit-learn. 360 of them are **held out**: the model never trains on them. Pixels from 0 to 16 become numbers from −1 to 1.

# %%
torch.set_num_threads(1)  # so tiny models train fastest
digits: Any = load_digits()
all_images = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 8 - 1  # 1797, 1, 8, 8
all_labels = torch.tensor(digits.target)
order = torch.tensor(np.random.RandomState(0).permutation(len(all_labels)))
test_images, test_labels = all_images[order[:360]], all_labels[order[:360]]
train_images, train_labels = all_images[order[360:]], all_labels[order[360:]]
print(f"{len(train_labels)} images to train on, {len(test_labels)} held out")
figures.tiles(
    list(test_images[:12, 0]),
    [str(label) for label in test_labels[:12].tolist()],
    title="twelve of the held-out digits",
)

# %% [markdown]
# **Exercise** (12 minutes). Write the loop that trains any classifier: for each epoch a new random order, in this order batch by batch the loss, its gradients, a step. It is handed the model, so that you can train others with it too.
#
# <details><summary>Hint 1</summary><code>torch.randperm(len(images)).split(batch_size)</code> gives one epoch's batches: each a tensor of places, with which you take images <em>and</em> labels.</details>
# <details><summary>Hint 2</summary>Three lines make a step: the old gradients to zero, the new ones by <code>backward</code>, then <code>step</code>.</details>


# %% exercise train_classifier
def train_classifier(
    model: nn.Module,
    images: Tensor,
    labels: Tensor,
    epochs: int,
    lr: float = 0.002,
    batch_size: int = 64,
) -> Tensor:
    """Train the model in place, by cross-entropy between its logits and the labels.

    images (count, channels, height, width), labels (count,): whole numbers from 0.
    One `torch.optim.AdamW` with learning rate lr; each epoch sees every image once, in a new
    random order, in batches of batch_size (the last one may be smaller). Trains in training mode,
    leaves the model in evaluation mode. Returns (epochs,), in the images' dtype: the mean loss of
    each epoch's batches.
    """
    # BEGIN SOLUTION
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    history = torch.zeros(epochs)
    model.train(True)
    for epoch in range(epochs):
        batches = torch.randperm(len(images)).split(batch_size)
        for chosen in batches:
            loss = F.cross_entropy(model(images[chosen]), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            history[epoch] += loss.item() / len(batches)
    model.train(False)
    return history
    # END SOLUTION


# %% check train_classifier points=1
hint = "zero_grad, backward, step: for each batch of each epoch, with one optimizer for all"
with Check("train_classifier", "twelve images in one batch", hint) as check:
    images, labels = numbers(12, 1, 2, 3, dtype=torch.float32), torch.arange(12) % 4
    layer, same_layer = nn.Linear(6, 4), nn.Linear(6, 4)
    model, twin = nn.Sequential(nn.Flatten(), layer), nn.Sequential(nn.Flatten(), same_layer)
    for one in (layer, same_layer):
        one.load_state_dict(
            {"weight": numbers(4, 6, seed=1, scale=0.5), "bias": numbers(4, seed=2)}
        )
    steps, expected = torch.optim.AdamW(twin.parameters(), lr=0.05), []
    for _ in range(4):
        error = F.cross_entropy(twin(images), labels)
        steps.zero_grad()
        error.backward()
        steps.step()
        expected.append(error.item())
    torch.manual_seed(0)
    history = check.call(model, images, labels, 4, lr=0.05, batch_size=12)
    check.shape(history, epochs=4)
    check.equal(
        history[0].item(),
        expected[0],
        "the first loss: cross-entropy of the model as it comes",
        within=1e-4,
    )
    check.equal(history.float(), torch.tensor(expected), "the loss of each epoch", within=1e-4)
    learned = torch.cat([layer.weight, layer.bias[:, None]], dim=1).detach()
    wanted = torch.cat([same_layer.weight, same_layer.bias[:, None]], dim=1).detach()
    check.equal(learned, wanted, "the weights after four steps of AdamW", within=1e-4)
    check.true(not model.training, "the model is left in evaluation mode", hint="model.eval()")
with Check("train_classifier", "five images in batches of four, in a new order each time") as check:
    images, labels = numbers(5, 1, 2, 3, seed=3, dtype=torch.float32), torch.tensor([0, 1, 2, 3, 0])
    layer = nn.Linear(6, 4)
    layer.load_state_dict({"weight": numbers(4, 6, seed=4), "bias": numbers(4, seed=5)})
    model = nn.Sequential(nn.Flatten(), layer)
    each = F.cross_entropy(model(images), labels, reduction="none").detach()
    # so small steps that the model stays as it is: a loss tells who was in the batch
    torch.manual_seed(0)
    history = check.call(model, images, labels, 12, lr=1e-9, batch_size=4).float()
    check.shape(history, epochs=12)
    one_alone = (each.sum() - each) / 8 + each / 2
    found = (history[:, None] - one_alone).abs() < 1e-3
    check.true(
        bool(found.any(1).all()),
        "an epoch has a batch of four images and one of the image that is left, each with its own "
        "label; the mean of these two losses is the epoch's",
        hint="torch.randperm(len(images)), split, and images and labels taken by the same places",
    )
    check.true(
        bool(found.any(0).sum() > 1),
        "in twelve epochs, not always the same image is left over",
        hint="a new torch.randperm for each epoch",
    )
with Check("train_classifier", "six equal images in batches of two: three steps", hint) as check:
    images, labels = (
        numbers(1, 1, 2, 3, dtype=torch.float32).repeat(6, 1, 1, 1),
        torch.ones(6).long(),
    )
    layer, same_layer = nn.Linear(6, 4), nn.Linear(6, 4)
    for one in (layer, same_layer):
        one.load_state_dict(
            {"weight": numbers(4, 6, seed=1, scale=0.5), "bias": numbers(4, seed=2)}
        )
    steps = torch.optim.AdamW(same_layer.parameters(), lr=0.05)
    for _ in range(3):
        error = F.cross_entropy(same_layer(images.flatten(1)), labels)
        steps.zero_grad()
        error.backward()
        steps.step()
    history = check.call(
        nn.Sequential(nn.Flatten(), layer), images, labels, 1, lr=0.05, batch_size=2
    )
    check.equal(
        layer.weight.detach(),
        same_layer.weight.detach(),
        "the weights after three steps of AdamW",
        within=1e-4,
    )
with Check("train_classifier", "training mode", hint) as check:
    images, labels = numbers(10, 1, 2, 2, seed=3, dtype=torch.float32), torch.arange(10) % 3
    layer = nn.Linear(4, 3)
    nn.init.zeros_(layer.bias)
    model = nn.Sequential(nn.Flatten(), nn.Dropout(1.0), layer).eval()
    history = check.call(model, images, labels, 3, lr=0.001, batch_size=10)
    check.shape(history, epochs=3)
    check.equal(
        history.double(),
        torch.full((3,), math.log(3), dtype=torch.float64),
        "a dropout of all leaves nothing: the loss is ln 3, in each epoch",
        "model.train()",
        within=1e-3,
    )
# BEGIN HIDDEN TESTS
with Check("train_classifier", "another order in another run, and a loss that falls") as check:
    images, labels = numbers(30, 1, 2, 3, seed=6, dtype=torch.float32), torch.arange(30) % 3
    start, weights = nn.Linear(6, 3).state_dict(), []
    for seed in (1, 2):
        layer = nn.Linear(6, 3)
        layer.load_state_dict(start)
        torch.manual_seed(seed)
        model = nn.Sequential(nn.Flatten(), layer)
        history = check.call(model, images, labels, 3, lr=0.05, batch_size=7)
        check.true(bool(history[2] < history[0]), "the loss falls")
        weights.append(layer.weight.detach().clone())
    check.true(not torch.equal(*weights), "other random numbers, another order, other weights")
# END HIDDEN TESTS

# %% check train_classifier_digits points=1
hint = "images and labels in the same order, all batches of all epochs, cross-entropy of the logits"
with Check("train_classifier", "your Vision Transformer reads digits", hint) as check:
    digits: Any = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 8 - 1
    labels = torch.tensor(digits.target)
    order = torch.tensor(np.random.RandomState(1).permutation(len(labels)))
    held_out, rest = order[:360], order[360:]
    torch.manual_seed(0)
    reader = check.other("VisionTransformer").build(8, 4, 1, 10, 32, 2, 4, 64)
    check.call(reader, images[rest], labels[rest], 10, batch_size=32)
    read = reader.call(images[held_out]).argmax(-1)
    right = float((read == labels[held_out]).float().mean())
    check.true(right >= 0.9, f"at least 90 % of the held-out digits are read; {right:.0%} are")
    # BEGIN HIDDEN TESTS
    untrained, copied = (
        check.other("VisionTransformer").build(8, 4, 1, 10, 32, 2, 4, 64).eval() for _ in range(2)
    )
    read = untrained.call(images[held_out]).argmax(-1)
    guessed = float((read == labels[held_out]).float().mean())
    check.true(guessed < 0.5, "a model that was not trained cannot read")
    copied.load(reader.parameters(), whole=False)
    check.equal(
        copied.call(images[held_out]),
        reader.call(images[held_out]),
        "another model with the same parameters gives the same logits",
        within=1e-3,
    )
    # END HIDDEN TESTS


# %% [markdown]
# Now in earnest. Each digit gets a margin of two pixels, so 12 by 12, and you cut it into patches of 3: four by four. 1,437 images are few, and a Vision Transformer knows nothing about pictures: not that neighbours belong together, not that a 7 moved to the right is still a 7. A convolution has this built in; your model must learn it from examples. So make more of them: each training image also in four copies, turned and moved a little.


# %%
def with_margin(images: Tensor) -> Tensor:
    """Two pixels of black all around: (count, 1, 12, 12)."""
    return F.pad(images, (2, 2, 2, 2), value=-1.0)


def turned_and_moved(images: Tensor, seed: int) -> Tensor:
    """Each image turned by up to 12 degrees, moved by up to a pixel, a little larger or smaller."""
    generator = torch.Generator().manual_seed(seed)
    angles, sizes, right, down = 2 * torch.rand(4, len(images), generator=generator) - 1
    sine, cosine = (angles * math.radians(12)).sin(), (angles * math.radians(12)).cos()
    sizes = 1 + 0.1 * sizes
    first_row = torch.stack([sizes * cosine, -sizes * sine, right / 6], dim=1)
    second_row = torch.stack([sizes * sine, sizes * cosine, down / 6], dim=1)
    maps = torch.stack([first_row, second_row], dim=1)  # (count, 2, 3)
    places = F.affine_grid(maps, list(images.shape), align_corners=False)
    return F.grid_sample(images + 1, places, align_corners=False) - 1


small_train, small_test = with_margin(train_images), with_margin(test_images)
copies = [turned_and_moved(small_train, seed) for seed in range(4)]
many_images, many_labels = torch.cat([small_train, *copies]), train_labels.repeat(5)
one_digit = torch.stack([versions[3, 0] for versions in (small_train, *copies)])
figures.tiles(
    list(one_digit),
    ["as it is", *["a copy"] * 4],
    title=f"one digit ({train_labels[3].item()}) and its copies: {len(many_labels)} images in all",
)

# %% [markdown]
# **Predict.** How many of the held-out digits will it read?
#
# <details><summary>About 10 %</summary>That is chance: one of ten.</details>
# <details><summary>About 90 %</summary>Some 36 of 360 misread: a straight line between classes (logistic regression) does better than that already.</details>
# <details><summary>More than 97 %</summary>Run it, and see.</details>


# %%
def share_right(reader: nn.Module, images: Tensor, labels: Tensor) -> float:
    """The share of images whose largest logit is that of their label."""
    reader.eval()
    with torch.no_grad():
        return (reader(images).argmax(-1) == labels).float().mean().item()


@functools.cache  # trained once: later cells ask for it again, and get the same
def trained_reader() -> tuple[nn.Module, list[float]]:
    """Your model, trained on the digits, and the mean loss of each epoch."""
    torch.manual_seed(0)
    reader = VisionTransformer(12, 3, 1, 10, d_model=48, num_layers=2, num_heads=4, d_ff=96)
    large_steps = train_classifier(reader, many_images, many_labels, epochs=8, lr=0.002)
    small_steps = train_classifier(reader, many_images, many_labels, epochs=3, lr=0.0003)
    return reader, torch.cat([large_steps, small_steps]).tolist()


digit_reader, all_losses = trained_reader()
learned = sum(part.numel() for part in digit_reader.parameters())
read = share_right(digit_reader, small_test, test_labels)
print(f"{learned} learned numbers; held-out digits read: {read:.1%}")
figures.curves(
    list(range(1, 12)),
    {"training loss": all_losses},
    x="epoch",
    y="mean loss",
    title="Eight epochs of large steps, three of small ones",
    bottom=0.0,
)

# %%
digit_reader, _ = trained_reader()
with torch.no_grad():
    guesses = digit_reader(small_test).argmax(-1)
missed = (guesses != test_labels).nonzero()[:, 0][:12]
if len(missed):
    names = [f"{test_labels[i].item()}, read {guesses[i].item()}" for i in missed]
    figures.tiles(list(small_test[missed, 0]), names, title="held-out digits that it misread")

# %% [markdown]
# What to see: more than 97 % are right, and of the few that are wrong, some you would misread yourself. Where the small steps begin, the loss falls once more: large steps jump around the best place, small ones find into it.

# %% [markdown]
# ### A puzzle
#
# Nothing tells the model which patch lies beside which. Test how much it knows. Cut all images into patches, and put the patches back in another order, with your own `patchify` and `unpatchify`. First in **one** order, drawn once, the same for all images. Then in a **new** order for each image.
#
# **Predict.** Both are unreadable for you. Which one can it learn?
#
# <details><summary>Neither</summary>What does the model lose, if patch 5 always stands where patch 11 stood? The rows of its table of positions have no order of their own.</details>
# <details><summary>Both</summary>In the second, a position says nothing any more, for training and held-out images alike. The patches are left as a bag of pieces.</details>
# <details><summary>The one with the same order for all</summary>Yes. To the model it is as good as the picture itself: row 5 of the table learns what row 11 would have learned.</details>

# %%
generator = torch.Generator().manual_seed(0)
one_order = torch.randperm(16, generator=generator)


def rearranged(images: Tensor, same_for_all: bool) -> Tensor:
    """The images with their patches in another order."""
    patches = patchify(images, 2)
    if same_for_all:
        patches = patches[:, one_order]
    else:
        orders = torch.rand(len(images), 16, generator=generator).argsort(dim=1)
        patches = patches[torch.arange(len(images))[:, None], orders]
    return unpatchify(patches, 2, 1, 8, 8)


puzzles = {
    "as it is": (train_images, test_images),
    "one order for all": (rearranged(train_images, True), rearranged(test_images, True)),
    "a new order for each": (rearranged(train_images, False), rearranged(test_images, False)),
}
figures.tiles(
    [test[i, 0] for i in range(2) for _, test in puzzles.values()],
    ["as it is", "one order", "new order"] * 2,
    title="two digits, three ways",
    across=3,
)
for name, (for_training, for_test) in puzzles.items():
    torch.manual_seed(0)
    reader = VisionTransformer(8, 2, 1, 10, d_model=32, num_layers=2, num_heads=4, d_ff=64)
    train_classifier(reader, for_training, train_labels, epochs=12, lr=0.003)
    print(f"{name:21} {share_right(reader, for_test, test_labels):.0%} of the held-out digits read")

# %% [markdown]
# What to see: one order for all costs nothing that matters, a new order for each costs a lot. So positions matter, and what they say is learned. (That a bag of patches is still read more often than not shows how much their kinds alone tell.) A lecture slide puts it this way: for image classification, a 1D positional encoding is sufficient. A convolution would suffer more: it is made for neighbours.
#
# Has the model learned where its patches lie? Look at the table of positions of the model above. For each patch, a picture of 4 by 4: how similar its row is to the rows of all patches.


# %%
def learned_positions() -> Tensor:
    """The table of positions that the digit reader has learned: (17, 48)."""
    parts = trained_reader()[0].parameters()
    table = next(part for part in parts if part.numel() == 17 * 48 and part.shape[-1] == 48)
    return table.detach().reshape(17, 48)


learned_table = learned_positions()
rows_of_patches = F.normalize(learned_table[1:] - learned_table[1:].mean(0), dim=-1)
figures.tiles(
    [similar.reshape(4, 4) for similar in rows_of_patches @ rows_of_patches.T],
    [f"patch {i}" for i in range(16)],
    title="similarity of each patch's position to all others (bright: alike)",
    across=8,
    colours="cividis",
)

# %% [markdown]
# What to see: each patch is most like itself (brightest). The corners, where hardly a digit reaches, tend to be alike. Beyond that, the picture is less tidy than the ones in the paper, where rows and columns appear: a few thousand digits teach less than millions of photographs.

# %% [markdown]
# ## 7 · Where does it look?
#
# The class token gathers with attention, and attention can be looked at. PyTorch's blocks keep their weights to themselves. The function below listens to what goes into each block, and computes the weights again.


# %%
def attention_of(model: nn.Module, images: Tensor) -> list[Tensor]:
    """The attention weights of each block: (batch, heads, tokens, tokens)."""
    found: list[Tensor] = []

    def listen(block: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        assert isinstance(block, nn.TransformerEncoderLayer)
        x = block.norm1(inputs[0])
        found.append(block.self_attn(x, x, x, average_attn_weights=False)[1])

    blocks = [part for part in model.modules() if isinstance(part, nn.TransformerEncoderLayer)]
    listeners = [block.register_forward_pre_hook(listen) for block in blocks]
    with torch.no_grad():
        model.eval()(images)
    for listener in listeners:
        listener.remove()
    return found


looked = attention_of(trained_reader()[0], small_test)
print([tuple(weights.shape) for weights in looked], ": (images, heads, tokens, tokens), each block")

# %% [markdown]
# But how do you put two blocks together? In the second block the class token looks at *patch 6*, say. By then the token of patch 6 is no longer that patch alone: in the first block it has taken in others.
#
# **Attention rollout** (Abnar and Zuidema, 2020) follows the paths through all blocks. With $A_l$ the weights of block $l$, the heads averaged, it makes two assumptions. Each token passes on half of what it was, by the residual connection, and takes in the other half by attention:
#
# $$\tilde A_l = \tfrac12 I + \tfrac12 A_l \qquad R = \tilde A_L \cdots \tilde A_2\, \tilde A_1$$
#
# $I$ is the identity matrix, and $L$ the number of blocks. $R_{ij}$ says how much of what entered at token $j$ arrives at token $i$.
#
# **Predict.** Why does the first block stand on the right?
#
# <details><summary>It does not matter: a product is a product</summary>For numbers. Matrices do not commute: here the order decides who looked first.</details>
# <details><summary>Row i of the last block says from which tokens it takes; these were made by the blocks before</summary>Yes. Start at the class token's row of the last block, and go down: the next factor to the right says what those tokens were made of.</details>
# <details><summary>The first block counts most</summary>All count alike: each one is a factor once.</details>

# %% [markdown]
# **Exercise** (8 minutes).
#
# <details><summary>Hint</summary>Begin with the identity, and multiply each block from the left. <code>torch.eye(n)</code> needs the dtype of the weights.</details>


# %% exercise attention_rollout
def attention_rollout(weights: Sequence[Tensor]) -> Tensor:
    """Follow attention through all blocks, half of each token passed on by the residual.

    weights: one tensor (batch, heads, n, n) for each block, the first block first; their rows
    sum to 1, and the number of heads may differ. Heads are averaged. Returns (batch, n, n).
    """
    # BEGIN SOLUTION
    rollout = torch.eye(weights[0].shape[-1], dtype=weights[0].dtype, device=weights[0].device)
    for of_block in weights:
        mixed = (of_block.mean(dim=1) + torch.eye(len(rollout[-1])).to(rollout)) / 2
        rollout = mixed @ rollout
    return rollout
    # END SOLUTION


# %% check attention_rollout points=2
hint = "average the heads, half of it plus half the identity, then multiply: later blocks left"
with Check("attention_rollout", "one block of two heads", hint) as check:
    heads = torch.tensor(
        [[[[1.0, 0.0], [0.6, 0.4]], [[0.6, 0.4], [0.2, 0.8]]]], dtype=torch.float64
    )
    rollout = check.call([heads])
    check.shape(rollout, batch=1, token=2, tokens=2)
    check.equal(
        rollout[0],
        torch.tensor([[0.9, 0.1], [0.2, 0.8]], dtype=torch.float64),
        "the mean of the heads is [0.8, 0.2], [0.4, 0.6]; half of it, and half the identity",
    )
with Check("attention_rollout", "two blocks", hint) as check:
    # in the first block token 1 looks at token 2, in the second block token 0 looks at token 1
    first = torch.tensor([[1, 0, 0], [0, 0, 1], [0, 0, 1]], dtype=torch.float64)[None, None]
    second = torch.tensor([[0, 1, 0], [0, 1, 0], [0, 0, 1]], dtype=torch.float64)[None, None]
    rollout = check.call([first, second])
    check.shape(rollout, batch=1, token=3, tokens=3)
    check.equal(
        rollout[0],
        torch.tensor([[0.5, 0.25, 0.25], [0, 0.5, 0.5], [0, 0, 1]], dtype=torch.float64),
        "token 0 looks at token 1 when that has taken in half of token 2: a quarter arrives",
        hint="the second block stands on the left of the first",
    )
with Check("attention_rollout", "a batch, and blocks with other heads", hint) as check:
    weights = [
        torch.softmax(numbers(3, heads, 5, 5, seed=heads, scale=2.0), -1) for heads in (2, 4, 1)
    ]
    rollout = check.call(weights)
    check.shape(rollout, batch=3, token=5, tokens=5)
    check.equal(
        rollout.sum(-1),
        torch.ones(3, 5, dtype=torch.float64),
        "what arrives at a token sums to 1, whatever the number of blocks",
    )
    alone = check.call([of_block[1:2] for of_block in weights])
    check.equal(rollout[1], alone[0], "an image in a batch gives what it gives alone")
# BEGIN HIDDEN TESTS
with Check("attention_rollout", "equal to the formula") as check:
    for dtype, depth, n in ((torch.float64, 4, 6), (torch.float32, 2, 3), (torch.float64, 1, 4)):
        weights = [
            torch.softmax(numbers(2, 3, n, n, seed=10 + layer, scale=2.0, dtype=dtype), -1)
            for layer in range(depth)
        ]
        factors = [0.5 * torch.eye(n, dtype=dtype) + 0.5 * w.mean(1) for w in weights]
        expected = factors[0]
        for factor in factors[1:]:
            expected = torch.einsum("bij,bjk->bik", factor, expected)
        check.equal(check.call(weights), expected, "the product of all blocks")
        check.equal(check.call(tuple(weights)), expected, "a tuple is a sequence too")
# END HIDDEN TESTS


# %% [markdown]
# See all of it on held-out digits: each head of each block, and your rollout.

# %%
looked = attention_of(trained_reader()[0], small_test)
two_digits = [int((test_labels == digit).nonzero()[0]) for digit in (0, 7)]
for place in two_digits:
    of_image = [weights[place : place + 1] for weights in looked]
    show_patches(
        small_test[place],
        3,
        weights=torch.cat(of_image),
        rollout=attention_rollout(of_image)[0],
        title=f"a {test_labels[place].item()}: where the class token looks",
    ).show()

# %%
looked = attention_of(trained_reader()[0], small_test)
# (images, patches): what comes from each patch to the class token
arriving = attention_rollout(looked)[:, 0, 1:]
brightness = patchify(small_test, 3).mean(-1)  # (images, patches)
inked = brightness > -0.9
on_ink = (arriving * inked).sum(-1) / arriving.sum(-1)
print(f"patches with ink: {inked.float().mean():.0%} of all")
print(f"from them comes {on_ink.mean():.0%} of what arrives at the class token from patches")

# %% [markdown]
# What to see: the heads look at different places, and some at one patch almost alone. Most of what arrives at the class token comes from patches with ink, as the two printed numbers say. Choose another head and block in the view (it says *layer*), and compare with the rollout. Take such maps as a hint, not as a proof: rollout leaves out the values and the feed-forward networks, and it assumes the *half*.

# %% [markdown]
# ## 8 · Larger images
#
# Your model reads images of 12 by 12. Hand it one of 18 by 18: the patches are no trouble, there are 6 by 6 of them now. But the table of positions has a row for each patch of 4 by 4.
#
# The rows lie on a grid, so enlarge the grid as you enlarge a picture: with each of the $d_{\text{model}}$ numbers as one channel, by bicubic interpolation. The row of the class token lies on no grid, and stays.
#
# **Exercise** (10 minutes).
#
# <details><summary>Hint</summary><code>F.interpolate(grid, size=…, mode="bicubic", align_corners=False)</code> wants (batch, channels, height, width). So bring (h · w, d_model) into (1, d_model, h, w), and back afterwards.</details>


# %% exercise interpolate_positions
def interpolate_positions(
    table: Tensor, old_grid: tuple[int, int], new_grid: tuple[int, int]
) -> Tensor:
    """Fit a table of positions to another grid of patches, by bicubic interpolation.

    table (1 + h · w, d_model): the class token's row, which is kept, then the patches row by row;
    (h, w) is old_grid -> (1 + new h · new w, d_model). align_corners=False.
    """
    # BEGIN SOLUTION
    grid = table[1:].reshape(1, *old_grid, -1).permute(0, 3, 1, 2)
    larger = F.interpolate(grid, size=new_grid, mode="bicubic", align_corners=False)
    return torch.cat([table[:1], larger.flatten(2)[0].T])
    # END SOLUTION


# %% check interpolate_positions points=2
hint = "the class token's row apart; the others as a picture with d_model channels"
with Check("interpolate_positions", "from 1 by 2 to 3 by 6", hint) as check:
    table = torch.tensor([[7.0, -7.0, 5.0], [0.0, 1.0, 3.0], [6.0, 1.0, 0.0]], dtype=torch.float64)
    larger = check.call(table, (1, 2), (3, 6))
    check.shape(larger, rows=19, d_model=3)
    check.equal(larger[0], table[0], "the class token's row is kept as it is")
    check.equal(
        larger[1:, 1],
        torch.ones(18, dtype=torch.float64),
        "a number that is the same in all patches stays the same",
        hint="each of the d_model numbers is a channel of its own",
    )
    check.equal(
        larger[1:, 0].reshape(3, 6)[:, [1, 4]],
        torch.tensor([[0.0, 6.0]] * 3, dtype=torch.float64),
        "three times as many: every third one lies on the middle of an old patch, and is as it was",
        hint="align_corners=False, and the rows of the table in reading order",
    )
    across = larger[1:, 0].reshape(3, 6)[0, 1:5]
    check.true(
        bool((across.diff() > 0.1).all()),
        "between two old patches the numbers go gradually from one to the other",
        hint='mode="bicubic"',
    )
    step = torch.tensor([[5.0], [0.0], [0.0], [6.0], [6.0]], dtype=torch.float64)
    wide = check.call(step, (1, 4), (1, 12))[1:, 0]
    check.true(
        bool(wide.min() < -0.05) and bool(wide.max() > 6.05),
        "bicubic interpolation takes a swing: beside a step from 0 to 6, it goes a little below 0, "
        "and a little above 6",
        hint='mode="bicubic"',
    )
with Check("interpolate_positions", "a grid that is no square", hint) as check:
    table = numbers(7, 4)
    check.equal(check.call(table, (2, 3), (2, 3)), table, "the same grid gives the same table")
    larger = check.call(table, (2, 3), (6, 9))
    check.shape(larger, rows=55, d_model=4)
    check.equal(
        larger[1:].reshape(6, 9, 4)[1::3, 1::3].reshape(6, 4),
        table[1:],
        "on the middle of each old patch stands the old row",
        hint="grids are (height, width): the width counts fastest",
    )
# BEGIN HIDDEN TESTS
with Check("interpolate_positions", "turned, scaled and added tables") as check:
    for old, new, width, dtype in (
        ((2, 3), (4, 5), 6, torch.float64),
        ((3, 4), (5, 4), 2, torch.float64),
        ((4, 4), (6, 9), 3, torch.float32),
        ((2, 2), (3, 3), 5, torch.float64),
    ):
        table = numbers(1 + old[0] * old[1], width, seed=width, scale=2.0, dtype=dtype)
        other = numbers(*table.shape, seed=9, dtype=dtype)
        larger = check.call(table, old, new)
        check.shape(larger, rows=1 + new[0] * new[1], d_model=width)
        check.equal(larger[0], table[0], "the class token's row")
        turned = table[1:].reshape(*old, width).transpose(0, 1).reshape(-1, width)
        again = check.call(torch.cat([table[:1], turned]), old[::-1], new[::-1])
        expected = larger[1:].reshape(*new, width).transpose(0, 1).reshape(-1, width)
        check.equal(again[1:], expected, "rows and columns exchanged", within=1e-4)
        mirrored = table[1:].reshape(*old, width).flip(1).reshape(-1, width)
        again = check.call(torch.cat([table[:1], mirrored]), old, new)
        expected = larger[1:].reshape(*new, width).flip(1).reshape(-1, width)
        check.equal(again[1:], expected, "left and right exchanged", within=1e-4)
        check.equal(
            check.call(2 * table + other, old, new),
            2 * larger + check.call(other, old, new),
            "twice one table and another",
            within=1e-4,
        )
        some = [width - 1, 0]
        check.equal(
            check.call(table[:, some], old, new), larger[:, some], "each channel for itself"
        )
with Check("interpolate_positions", "a gradient") as check:
    table = numbers(7, 4, seed=3).requires_grad_()
    slope = check.gradient(check.call(table, (2, 3), (4, 6)), table)
    check.equal(slope[0], torch.ones(4, dtype=torch.float64), "the class token's row, once")
    total = torch.tensor([24.0] * 4, dtype=torch.float64)
    check.equal(slope[1:].sum(0), total, "each new row is made of shares that sum to 1")
# END HIDDEN TESTS


# %% [markdown]
# Try it: digits enlarged to 18 by 18. The weights are the ones from above; only the table of positions is new. Beside yours stands a table that repeats the old rows in reading order, as if the grid did not matter. Both are tested as they are, and after one epoch of training on large digits.


# %%
def enlarged(images: Tensor) -> Tensor:
    """From 12 by 12 to 18 by 18 pixels."""
    return F.interpolate(images, size=(18, 18), mode="bicubic", align_corners=False)


def reader_of_large(positions: Tensor) -> nn.Module:
    """The digit reader, with this table of positions (37, 48)."""
    reader = VisionTransformer(18, 3, 1, 10, d_model=48, num_layers=2, num_heads=4, d_ff=96)
    parts = {
        name: positions.reshape(reader.state_dict()[name].shape)
        if part.numel() == learned_table.numel() and part.shape[-1] == 48
        else part
        for name, part in trained_reader()[0].state_dict().items()
    }
    reader.load_state_dict(parts)
    return reader


learned_table = learned_positions()
repeated = torch.cat([learned_table[:1], learned_table[1:].repeat(3, 1)[:36]])
interpolated = interpolate_positions(learned_table, (4, 4), (6, 6))
for name, positions in {"interpolated": interpolated, "repeated": repeated}.items():
    reader = reader_of_large(positions)
    before = share_right(reader, enlarged(small_test), test_labels)
    torch.manual_seed(0)
    train_classifier(reader, enlarged(small_train), train_labels, epochs=1, lr=0.001)
    after = share_right(reader, enlarged(small_test), test_labels)
    print(f"{name:13} {before:.0%} of the large digits read, after one epoch {after:.0%}")

# %% [markdown]
# What to see: as they are, both are bad, the repeated table far worse. Strokes have become thicker than any that the model has seen. But the interpolated table knows where each patch lies, so one epoch brings it most of the way; the repeated one must first learn that anew. So are Vision Transformers put to larger images: interpolate, then train a little more.

# %% [markdown]
# ## 9 · The real thing
#
# Two comparisons. First, PyTorch's `Conv2d`, with the weights of your patch embedding.

# %%
embedding = PatchEmbedding(12, 3, 1, 48).double()
convolution = nn.Conv2d(1, 48, kernel_size=3, stride=3).double()
with torch.no_grad():
    convolution.weight.copy_(embedding.projection.weight.reshape(48, 1, 3, 3))
    convolution.bias.copy_(embedding.projection.bias)  # type: ignore[union-attr]
    some = small_test[:8].double()
    difference = embedding(some) - convolution(some).flatten(2).transpose(1, 2)
print(f"patch embedding and Conv2d: largest difference {difference.abs().max().item():.0e}")

# %% [markdown]
# Second, Hugging Face's `ViTModel`, with all the weights of your digit reader, where the library `transformers` is installed (nothing is downloaded: it gets your weights). Its parts have other names. This table says which of a block's parts is which.


# %%
def part_for(name: str, block: nn.TransformerEncoderLayer) -> Tensor:
    """The part of PyTorch's block that Hugging Face, old or new, calls by this name."""
    kind = name.rsplit(".")[-1]  # weight or bias
    packed = getattr(block.self_attn, f"in_proj_{kind}").chunk(3)
    for theirs, yours in (
        (("q_proj", "query"), packed[0]),
        (("k_proj", "key"), packed[1]),
        (("v_proj", "value"), packed[2]),
        (("o_proj", "attention.output"), block.self_attn.out_proj),
        (("fc1", "intermediate"), block.linear1),
        (("fc2", "output.dense"), block.linear2),
        (("before",), block.norm1),
        (("after",), block.norm2),
    ):
        if any(piece in name for piece in theirs):
            return yours if isinstance(yours, Tensor) else getattr(yours, kind)
    raise KeyError(name)


# %% [markdown]
# And this function makes a `ViTModel` of your digit reader's sizes, and fills it.


# %%
@torch.no_grad()
def hugging_face(reader: nn.Module, images: Tensor) -> Tensor:
    """The logits of `ViTModel`, with the weights of a reader of 12 by 12 digits."""
    library = importlib.import_module("transformers")
    config = library.ViTConfig(
        hidden_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=96,
        image_size=12,
        patch_size=3,
        num_channels=1,
        layer_norm_eps=1e-5,
    )
    twin = library.ViTModel(config, add_pooling_layer=False).to(images.dtype).eval()
    named = dict(reader.named_parameters())
    is_token = [
        n for n, p in named.items() if p.numel() == 48 and not n.endswith(("weight", "bias"))
    ]
    is_table = [n for n, p in named.items() if p.numel() == 17 * 48 and p.shape[-1] == 48]
    parts = list(reader.modules())
    blocks = [part for part in parts if isinstance(part, nn.TransformerEncoderLayer)]
    norm = [part for part in parts if isinstance(part, nn.LayerNorm)][-1]
    head = [part for part in parts if isinstance(part, nn.Linear) and part.out_features == 10][-1]
    projection = next(part for part in parts if isinstance(part, PatchEmbedding)).projection
    for name, part in twin.named_parameters():
        kind = name.rsplit(".")[-1]
        if name.startswith("embeddings.patch"):
            source = getattr(projection, kind)
        elif name.startswith("embeddings"):
            source = named[is_token[0] if "cls" in name else is_table[0]]
        elif "layer." in name or "layers." in name:
            number = next(int(piece) for piece in name.split(".") if piece.isdigit())
            source = part_for(name, blocks[number])
        else:
            source = getattr(norm, kind)
        part.copy_(source.reshape(part.shape))
    return head(twin(images).last_hidden_state[:, 0])


digit_reader = copy.deepcopy(trained_reader()[0]).double()
if importlib.util.find_spec("transformers"):
    with torch.no_grad():
        difference = digit_reader(some) - hugging_face(digit_reader, some)
    print(f"whole model and ViTModel: largest difference {difference.abs().max().item():.0e}")
else:
    print("Hugging Face's library is not installed here; `pip install transformers` brings it")

# %% [markdown]
# Differences of 0, or around 1e-15, are no more than rounding. What you wrote is what runs when somebody loads `google/vit-base-patch16-224`: the same parts, 12 blocks of them, 768 numbers wide.

# %% [markdown]
# ## 10 · In your own words
#
# **Question.** A friend leaves the table of positions out of a Vision Transformer, and finds that it still reads more than half of the digits. How can it read any at all, and what can it not know? Three or four sentences: double-click the cell below and write them there. A person reads them.

# %% answer without_positions [markdown] points=2
# <!-- BEGIN SOLUTION -->
# Without positions the model gets a bag of patches: swap any two and the logits stay the same. It still sees what is inside each patch, strokes, corners and empty patches, and how many of each kind there are; that tells many digits apart, such as a 1 from an 8. It cannot know where a piece stands or which pieces are neighbours, so what differs only in the arrangement of the same pieces, such as a 6 and a 9, looks the same to it.
# <!-- END SOLUTION -->


# %% [markdown]
# ## What you know now
#
# - An image becomes a sequence of **patches**: $\frac{H}{p} \cdot \frac{W}{p}$ of them, $C p^2$ numbers each. Cutting takes a split of axes, a `permute`, and a flattening; `reshape` alone gives stripes.
# - One **linear layer** makes tokens of patches. It equals a `Conv2d` whose stride is its kernel size.
# - A learned **class token** in front gathers the answer; or the **mean** of the patches gives it, without the class token.
# - **Positions** are a learned table. It knows nothing of neighbours, learns what it needs, and can be interpolated to a larger grid.
# - A Vision Transformer has nothing built in about pictures: few images need to be made many.
# - **Attention rollout** multiplies the blocks' weights, half of each the identity, the last block on the left. It is a hint, not a proof.
#
# **The question that is left.** Your encoder reads: it takes a whole image or sentence in, and says what it is. It cannot write. What turns a reader into a writer, which makes a text word by word? That is lesson 9, the decoder.
