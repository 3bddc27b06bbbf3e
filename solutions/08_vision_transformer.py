# %% [markdown]
# # Lesson 8 · Vision Transformer
#
# **You build** a Transformer that classifies images. You cut an image into patches, turn each patch into a token, add a class token and positions, and train the model on handwritten digits.
#
# **You need** lessons 1 to 7: attention, heads, layer norm, dropout, positions and the encoder block. In PyTorch, a batch of images has the shape (batch, channels, height, width).
#
# **You take away** `VisionTransformer`, two ways to inspect its attention, and measurements of what it knows about images before training, and what it learns from them.
#
# **Time**: about 260 minutes: 160 for the exercises. Good places to stop are marked after about 130, before and after part 7. Its text can wait, but run its cells. What is marked *optional* goes deeper: nothing later needs it.

# %% given imports
import copy
import importlib
import importlib.util
import inspect
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits, load_sample_image
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn
from transformer_course import figures
from transformer_course.checks import Check, numbers

torch.set_num_threads(1)  # such small models train fastest on one core

# %% [markdown]
# The encoder block of lesson 7 comes from PyTorch, as `nn.TransformerEncoderLayer`.
#
# **Recall 1.** You shuffle the tokens of a sequence. The encoder has no positional encoding. What comes out?
#
# <details><summary>The same vectors, shuffled in the same way</summary>Yes. Without positions, an encoder is permutation equivariant (lesson 6).</details>
# <details><summary>The same vectors in the old order</summary>Each vector stays with its token, and the tokens have moved.</details>
# <details><summary>Quite different vectors</summary>Attention is a weighted sum, and a sum does not depend on the order of its terms.</details>
#
# **Recall 2.** 4 heads become 8, and `d_model` stays. What happens to the number of parameters?
#
# <details><summary>It doubles</summary>Each head is half as wide: d_model is divided among the heads (lesson 3).</details>
# <details><summary>It stays the same</summary>Yes. The projections are still d_model by d_model; the heads only divide their output (lesson 3).</details>
# <details><summary>It halves</summary>The projections keep their size: d_model by d_model (lesson 3).</details>
#
# **Recall 3.** Why does a pre-norm stack need one more norm at its end?
#
# <details><summary>To make the gradient smaller</summary>The reason lies in the forward pass: ask what the norms inside the blocks normalise.</details>
# <details><summary>To keep dropout from shifting the mean</summary>Dropout keeps the expectation by itself (lesson 5).</details>
# <details><summary>Because nothing has normalised the residual stream</summary>Yes. A pre-norm block normalises only what enters its branches (lesson 7).</details>
#
# ## 1 · A sequence made of squares
#
# Your encoder turns a sequence of vectors into a sequence of vectors. A photo has no words. How do you turn it into a sequence?
#
# The first idea is one token for each pixel. But attention compares every token with every token.
#
# **Predict.** How many pairs does attention compare in a photo of 224 × 224 pixels?
#
# <details><summary>50,176</summary>That is the number of pixels, 224 · 224.</details>
# <details><summary>About 2.5 billion</summary>Yes: 50,176 pixels, and each attends to all 50,176.</details>
# <details><summary>About 100,000</summary>That would be two pairs for each pixel. Attention compares each pixel with all of them.</details>

# %%
for edge in (8, 64, 224):
    pixels = edge * edge
    print(f"{edge} × {edge} pixels: {pixels:,} tokens, {pixels**2:,} pairs per head and block")

# %% [markdown]
# What to see: at 8 × 8, one token per pixel is cheap. At 224 × 224 it is far too expensive. So cut the image into squares. A **patch** is a small square of the image, and each patch becomes one token.
#
# The paper that did this is called *An image is worth 16 × 16 words* (Dosovitskiy et al., 2020). Its model, the **Vision Transformer** (ViT), is an encoder whose tokens are patches of an image. Here is one photo, cut into patches of three sizes.

# %%
from transformer_course.widgets import show_patches

whole = torch.tensor(load_sample_image("china.jpg")).permute(2, 0, 1) / 255.0  # 3, 427, 640
photo = F.avg_pool2d(whole[:, :384, 32:608], 6)  # cropped, then shrunk by a factor of 6
print("channels, height, width:", tuple(photo.shape))
show_patches(photo, [32, 16, 8], title="One photo, cut into patches of three sizes")

# %% [markdown]
# What to see: patches of 32 × 32 pixels cut the photo into six large pieces. A patch of 8 × 8 pixels shows only a bit of roof or a bit of sky. Choose a size in the view, and click on a patch to see its numbers.
#
# **Predict.** You halve the patch size. By what factor does the number of pairs grow?
#
# <details><summary>2</summary>The patches are half as wide <em>and</em> half as high, so even the number of patches grows by more than 2.</details>
# <details><summary>4</summary>That is the factor for the number of patches. Attention compares every patch with every patch.</details>
# <details><summary>16</summary>Yes: 4 times as many patches, so 4 · 4 times as many pairs. This is why the patch size is part of a model's name: ViT-B/16 has patches of 16 × 16 pixels.</details>

# %%
for size in (32, 16, 8):
    count = (64 // size) * (96 // size)
    print(f"patches of {size} × {size} pixels: {count} tokens, {count**2:,} pairs")

# %% [markdown]
# ## 2 · Cut
#
# How do you cut an image in code? Begin with one that you can follow by hand: 4 rows of 6 pixels, numbered from 0 to 23.

# %%
counting = torch.arange(24.0).reshape(1, 4, 6)
print(counting[0])
show_patches(counting, 2, title="An image of 4 × 6 pixels: patches 0 to 5, in reading order")

# %% [markdown]
# **Predict.** Cut into patches of 2 by 2 pixels, the small image gives six patches, 0 to 5. Which four pixels are in patch 4?
#
# <details><summary>14, 15, 20, 21</summary>Yes. Patches 0 to 2 are in the upper row, so patch 4 is the middle one of the lower row. Click on it in the view.</details>
# <details><summary>8, 9, 14, 15</summary>That square lies between two rows of patches. The patches do not overlap.</details>
# <details><summary>16, 17, 18, 19</summary>These are four neighbours in memory. A patch is a square of the image.</details>
#
# In general, an image has $C$ channels (three colours, or one grey), height $H$ and width $W$. The patch size $p$ is the side of a patch. There are $\frac{H}{p} \cdot \frac{W}{p}$ patches, and each is a vector of $C \cdot p \cdot p$ numbers. The order is a convention:
#
# - the patches come row by row, as you read;
# - inside a patch, the numbers come channel by channel: all its red pixels row by row, then green, then blue.
#
# Is one `reshape` enough?

# %%
stripes = photo.reshape(24, 3 * 16 * 16)  # 4 · 6 patches
show_patches(photo, 16, patches=stripes, title="Cut by reshape alone, then drawn back as patches")

# %% [markdown]
# What to see: the shape is right, and the patches are wrong. `reshape` keeps the numbers in the order in which they lie in memory, pixel row by pixel row. So the first $3 \cdot 16 \cdot 16$ numbers are the red values of a stripe across the whole width. A correct shape proves nothing about the order.
#
# **Predict.** First split the height into (rows of patches, $p$) and the width into (columns of patches, $p$). The tensor now has six axes. In which order must they be before you flatten?
#
# <details><summary>batch, channel, row, column, y, x</summary>Then every channel gets patches of its own. A patch holds all its channels.</details>
# <details><summary>batch, row, column, channel, y, x</summary>Yes. Row and column say which patch; channel, y and x say which number inside it.</details>
# <details><summary>batch, row, column, y, x, channel</summary>That also gives patches, with the three colours of a pixel side by side. The convention here puts the channel first.</details>

# %% [markdown]
# **Exercise** (28 minutes). Write `patchify`. If a side is not a multiple of the patch size, raise a `ValueError` whose message contains that side and the patch size.
#
# <details><summary>Hint 1</summary><code>reshape</code> can split one axis into two: (…, height, …) becomes (…, rows, p, …). <code>permute</code> reorders axes.</details>
# <details><summary>Hint 2</summary>After <code>permute</code>, <code>flatten(1, 2)</code> joins row and column into one axis of patches. <code>flatten(2)</code> joins the rest.</details>


# %% exercise patchify
def patchify(images: Tensor, patch_size: int) -> Tensor:
    """Cut images into square patches, and flatten each patch to a vector.

    images (batch, channels, height, width) -> (batch, patches, channels · patch_size · patch_size).
    Patches row by row; inside a patch channel by channel, each channel row by row.
    Raises a ValueError that names the side and patch_size if a side is not a multiple of it.
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
hint = "split height and width into two axes each, permute the six axes, then flatten"
with Check("patchify", "one grey image, 4 by 6, in patches of 2", hint) as check:
    image = torch.arange(24.0, dtype=torch.float64).reshape(1, 1, 4, 6)
    patches = check.call(image, 2)
    check.shape(patches, batch=1, patches=6, numbers=4)
    check.equal(
        patches[0, 0],
        torch.tensor([0.0, 1.0, 6.0, 7.0], dtype=torch.float64),
        "the image has 0 to 5 in its first row and 6 to 11 in its second, so its first patch is "
        "0 1 above 6 7",
    )
    check.equal(
        patches[0, :, 0],
        torch.tensor([0.0, 2.0, 4.0, 12.0, 14.0, 16.0], dtype=torch.float64),
        "the patches come row by row: their upper left pixels are 0 2 4, then 12 14 16",
        hint="as you read: all patches of the upper row, then those of the next",
    )
with Check("patchify", "colours, and a batch", hint) as check:
    image = torch.arange(4 * 3 * 2 * 4, dtype=torch.float64).reshape(4, 3, 2, 4)
    patches = check.call(image, 2)
    check.shape(patches, batch=4, patches=2, numbers=12)
    check.equal(
        patches[0, 0],
        image[0, :, :, :2].flatten(),
        "inside a patch all of channel 0 comes first, then all of channel 1, then channel 2",
        hint="a patch is one square with all its channels, each channel row by row",
    )
    check.equal(
        patches[2],
        check.call(image[2:3], 2)[0],
        "an image gives the same patches in a batch as alone",
    )
# BEGIN HIDDEN TESTS
with Check("patchify", "other sizes, compared with F.unfold") as check:
    for shape, size in (((2, 3, 6, 9), 3), ((3, 2, 8, 4), 4), ((1, 1, 5, 5), 5), ((2, 4, 3, 2), 1)):
        for dtype in (torch.float64, torch.float32):
            images = numbers(*shape, seed=size, scale=3.0, dtype=dtype)
            expected = F.unfold(images, size, stride=size).transpose(1, 2)
            check.equal(check.call(images, size), expected, "the patches, row by row")
with Check("patchify", "a view that is not contiguous, and its gradient") as check:
    images = numbers(2, 6, 4, 3, seed=1).permute(0, 3, 1, 2).requires_grad_()
    patches = check.call(images, 2)
    expected = F.unfold(images, 2, stride=2).transpose(1, 2)
    check.equal(patches, expected, "the patches of a view")
    slope = check.gradient(patches[1, 2].square(), images)
    check.equal(slope, check.gradient(expected[1, 2].square(), images), "the gradient of one patch")
# END HIDDEN TESTS

# %% check patchify_refuses points=1
with Check("patchify", "sides that are not a multiple") as check:
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
# Now draw the photo back from *your* patches.

# %%
show_patches(photo, 16, patches=patchify(photo[None], 16)[0], title="Cut by your patchify")

# %% [markdown]
# What to see: drawn back from your patches, the photo is itself again, without stripes.
#
# ## 3 · And back
#
# Later in this lesson you rearrange the patches of an image and want to see the result. For that you need the inverse of `patchify`. It takes the same steps in the opposite order.
#
# **Exercise** (13 minutes). Write `unpatchify`. Twelve patches can form a grid of 2 by 6 or of 3 by 4, so the function is told the height and the width.
#
# <details><summary>Hint</summary>First split into the same six axes as before: batch, row, column, channel, y, x. Then bring row next to y, and column next to x.</details>


# %% exercise unpatchify
def unpatchify(patches: Tensor, patch_size: int, channels: int, height: int, width: int) -> Tensor:
    """Put patches back together: the inverse of patchify.

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
hint = "the same six axes as in patchify, permuted back to the order of the image"
with Check("unpatchify", "eight patches of one grey image, 4 by 8", hint) as check:
    patches = torch.arange(32.0, dtype=torch.float64).reshape(1, 8, 4)
    image = check.call(patches, 2, 1, 4, 8)
    check.shape(image, batch=1, channel=1, height=4, width=8)
    check.equal(
        image[0, 0, :2],
        torch.tensor(
            [[0, 1, 4, 5, 8, 9, 12, 13], [2, 3, 6, 7, 10, 11, 14, 15]], dtype=torch.float64
        ),
        "the first patch is 0 1 above 2 3, and the next one, 4 5 above 6 7, is to its right: so "
        "begin the first two rows of pixels",
    )
with Check("unpatchify", "colours, a batch, and several rows of patches", hint) as check:
    image = torch.arange(5 * 3 * 6 * 4, dtype=torch.float64).reshape(5, 3, 6, 4)
    patches = F.unfold(image, 2, stride=2).transpose(1, 2)
    back = check.call(patches, 2, 3, 6, 4)
    check.shape(back, batch=5, channel=3, height=6, width=4)
    check.equal(
        back[0, 0], image[0, 0], "the patches come row by row, and each has channel 0 first"
    )
    check.equal(back, image, "every pixel of every image is back in its position")
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
# A patch is a vector of $C p^2$ numbers. The encoder needs vectors of width $d_{\text{model}}$. The **patch embedding** is a linear layer that maps each patch to a vector of width $d_{\text{model}}$. It does for a patch what the embedding table does for a word. From here on, that vector is called the patch's *token*.
#
# **Exercise** (10 minutes). Write the patch embedding. The check loads weights by the name of the layer, so the name matters. `image_size` plays no part in the computation; it only records which images the module is made for.


# %% exercise PatchEmbedding
class PatchEmbedding(nn.Module):
    """Cut images into patches, and project each patch to a vector of width d_model.

    Part: `projection`, an `nn.Linear` from channels · patch_size · patch_size to d_model.
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
with Check("PatchEmbedding", "its one layer", hint) as check:
    # patches of 3 channels and 2 by 2 pixels
    learned = check.build((4, 6), 2, 3, 5).parameters()
    check.true(
        "projection.weight" in learned,
        "the weight of the nn.Linear is called projection.weight; your parameters: "
        f"{', '.join(learned) or 'none'}",
        hint="Create an nn.Linear in __init__, and assign it to `projection`: the check loads "
        "weights by the name of the layer.",
    )
    weight = learned["projection.weight"]
    check.true(
        weight.dim() == 2,
        f"the weight of an nn.Linear has two axes; that of your projection has {weight.dim()}",
        hint="`projection` is an nn.Linear, as the docstring says.",
    )
    after, before = weight.shape
    told = {
        (5, 12): "You have swapped the two sizes of nn.Linear. The input size comes first.",
        (6, 5): "Your layer expects channels · patch_size numbers. A patch is a square, so it has "
        "patch_size · patch_size pixels in each channel.",
        (4, 5): "Your layer expects the numbers of one channel only. A patch holds all channels.",
    }
    check.true(
        (before, after) == (12, 5),
        "with patches of 3 channels and 2 by 2 pixels, and d_model=5, the layer goes from 12 "
        f"numbers to 5; yours goes from {before} to {after}",
        hint=told.get((before, after), "a patch holds channels · patch_size · patch_size numbers"),
    )
    check.true(
        "projection.bias" in learned,
        "the layer has a bias",
        hint="Your layer has no bias. Leave `bias=False` out.",
    )
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
        "the token of a patch is the sum of its pixels, its first pixel, and its last pixel plus 10",
    )
with Check("PatchEmbedding", "colours, a batch, and image_size as one int", hint) as check:
    embedding = check.build(6, 3, 2, 5).double()  # patches of 2 channels and 3 by 3 pixels
    weight, bias = numbers(5, 18, seed=1), numbers(5, seed=2)
    embedding.load({"projection.weight": weight, "projection.bias": bias})
    images = numbers(3, 2, 6, 6, seed=3)
    tokens = embedding.call(images)
    check.shape(tokens, batch=3, patches=4, d_model=5)
    check.equal(tokens[:, 3], images[:, :, 3:, 3:].flatten(1) @ weight.T + bias, "the last token")
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
# **From the lecture** (Data C182, Lecture 12, slide "Application: image classification (ViT)"): the linear projection of flattened patches "is basically a Conv2d".
#
# A **convolution** applies one small linear layer to every window of an image, with the same weights everywhere. The weights of one of its outputs are a *kernel*. Take the slide at its word: use a `Conv2d` whose kernel is as large as a patch.

# %%
as_said = nn.Conv2d(3, 20, kernel_size=16)
print("your patch embedding:", tuple(PatchEmbedding((64, 96), 16, 3, 20)(photo[None]).shape))
print("a Conv2d, literally: ", tuple(as_said(photo[None]).shape))

# %% [markdown]
# What to see: 24 tokens of width 20, against 20 maps of 49 by 81. The word *basically* hides two things. By default, a convolution moves its window by *one pixel* at a time, so the windows overlap. And its output has the channels first, (batch, d_model, rows, columns), where an encoder needs (batch, patches, d_model).
#
# **Exercise** (13 minutes). Fix both: compute the tokens with `F.conv2d(images, kernels, bias, …)`, from the weight and the bias of the linear layer. The kernels have the shape (d_model, channels, p, p).
#
# <details><summary>Hint 1</summary>One row of the weight holds its numbers channel by channel, row by row. A kernel has the same order, so one <code>reshape</code> is enough.</details>
# <details><summary>Hint 2</summary>How far must the window move from one patch to the next? Read about <code>stride</code>.</details>


# %% exercise repaired_convolution
def repaired_convolution(images: Tensor, weight: Tensor, bias: Tensor, patch_size: int) -> Tensor:
    """The tokens of a patch embedding, computed by a convolution.

    images (batch, channels, height, width); weight (d_model, channels · patch_size · patch_size)
    and bias (d_model,) of the linear layer -> (batch, patches, d_model).
    """
    # BEGIN SOLUTION
    kernels = weight.reshape(len(weight), images.shape[1], patch_size, patch_size)
    grid = F.conv2d(images, kernels, bias, stride=patch_size)
    return grid.flatten(2).transpose(1, 2)
    # END SOLUTION


# %% check repaired_convolution points=1
hint = "windows that do not overlap; tokens row by row, with the d_model axis last"
with Check("repaired_convolution", "an example you can do by hand", hint) as check:
    weight = torch.tensor([[1, 1, 1, 1], [1, 0, 0, 0], [0, 0, 0, 1]], dtype=torch.float64)
    bias = torch.tensor([0.0, 0.0, 10.0], dtype=torch.float64)
    image = torch.tensor([[[[1, 2, 5, 6], [3, 4, 7, 8]]]], dtype=torch.float64)
    tokens = check.call(image, weight, bias, 2)
    check.shape(tokens, batch=1, patches=2, d_model=3)
    check.equal(
        tokens[0],
        torch.tensor([[10.0, 1.0, 14.0], [26.0, 5.0, 18.0]], dtype=torch.float64),
        "the token of a patch is the sum of its pixels, its first pixel, and its last pixel plus 10",
        hint="each row of the weight is one kernel, in the same order, and each kernel has one bias",
    )
with Check("repaired_convolution", "colours, and a batch", hint) as check:
    weight, bias, images = numbers(5, 12, seed=1), numbers(5, seed=2), numbers(2, 3, 4, 6, seed=3)
    tokens = check.call(images, weight, bias, 2)
    check.shape(tokens, batch=2, patches=6, d_model=5)
    patches = F.unfold(images, 2, stride=2).transpose(1, 2)
    check.equal(
        tokens,
        patches @ weight.T + bias,
        "the output of the linear layer for each patch",
        hint="each channel meets its own part of the kernel, and all products are summed",
    )
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
# You have tokens. Before the encoder can classify an image, it needs three more things. The first two belong to its input.
#
# *Positions.* Attention does not know where a patch was (lesson 6). The model learns a table with one vector for each token, and adds it. The rows are in reading order. In a grid four patches wide, patch 7 lies below patch 3, but nothing tells the model so.
#
# *One vector for the whole image.* The **class token** is a learned vector, the same for every image, that is put in front of the patches. Block by block, it gathers from the patches what the answer needs. (BERT's `[CLS]` is the same idea.)

# %%
class_token = numbers(1, 3).round(decimals=1)
patch_tokens = numbers(4, 3, seed=1).round(decimals=1)
position_rows = numbers(5, 3, seed=2, scale=0.5).round(decimals=1)
in_front = torch.vstack([class_token, patch_tokens])
figures.steps(
    {
        "tokens": (in_front, "d_model", ["0", "1", "2"]),
        "table of positions": (position_rows, "d_model", ["0", "1", "2"]),
        "input of block 1": (in_front + position_rows, "d_model", ["0", "1", "2"]),
    },
    "token",
    ["class", "patch 0", "patch 1", "patch 2", "patch 3"],
)

# %% [markdown]
# What to see: four patches make five tokens, and the class token has a position too: row 0 of the table.
#
# The third thing belongs to the output. A **classification head** is a linear layer from $d_{\text{model}}$ to one logit per class. (It has nothing to do with attention heads.) It reads the class token after the last block. The alternative is **mean pooling**: the classification head reads the mean of the patch tokens after the last block.
#
# With $e_1, \dots, e_n$ the patch tokens, $c$ the class token, and $P$ the table of positions:
#
# $$X = [c, e_1, \dots, e_n] + P \qquad Y = \mathrm{Norm}(\mathrm{blocks}(X)) \qquad \mathrm{logits} = \mathrm{Head}(Y_0) \;\text{ or }\; \mathrm{Head}\Big(\frac{1}{n}\sum_{i=1}^{n} Y_i\Big)$$
#
# **Predict.** In a batch of 8 images, how many class tokens are learned, and how many are in the tensor $X$?
#
# <details><summary>8 learned, 8 in the tensor</summary>Then a model trained on batches of 8 could not read 9 images. A parameter never depends on the batch size.</details>
# <details><summary>1 learned, 1 in the tensor</summary>Every image is a sequence of its own, and needs its own copy to gather in.</details>
# <details><summary>1 learned, 8 in the tensor</summary>Yes. Every image gets a copy of the same vector. After the first block the eight differ, because each has attended to different patches.</details>

# %%
print(*inspect.signature(nn.TransformerEncoderLayer).parameters, sep=", ")

# %% [markdown]
# Here is the whole model, with its shapes for one digit of section 6: 12 by 12 pixels, patches of 3 by 3, a width of 32, two blocks.

# %% folded=true
# Draws the Vision Transformer with the shapes for one digit; click to unfold
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle


def draw_architecture(image: Any) -> figures.Picture:
    """The path of one image (12, 12) through the model; shaded: has parameters."""
    parts = {  # name -> (its output's shape, whether it has parameters)
        "patchify": ("16, 9", False),
        "projection": ("16, 32", True),
        "class token\nin front": ("17, 32", True),
        "+ table of\npositions": ("17, 32", True),
        "2 encoder\nblocks": ("17, 32", True),
        "final\nnorm": ("17, 32", True),
        "row 0": ("32", False),
        "head": ("10", True),
    }
    drawing = Figure(figsize=(10.5, 1.9), layout="constrained")
    axes = drawing.subplots()
    axes.imshow(image, cmap="gray", extent=(0, 1.6, -0.8, 0.8), zorder=2)
    for cut in (0.4, 0.8, 1.2):
        axes.plot([cut, cut], [-0.8, 0.8], color=figures.LINES[1], lw=1, zorder=3)
        axes.plot([0, 1.6], [cut - 0.8, cut - 0.8], color=figures.LINES[1], lw=1, zorder=3)
    axes.text(0.8, -1.05, "1, 12, 12", ha="center", va="top", color=figures.INK)
    axes.text(0.8, 1.0, "image", ha="center", va="bottom", color=figures.INK)
    for i, (name, (shape, learned)) in enumerate(parts.items()):
        left = 2.1 + 2.15 * i
        arrow = {"arrowstyle": "-|>", "color": figures.INK, "lw": 1.5}
        axes.annotate("", (left + 0.05, 0), (left - 0.55, 0), arrowprops=arrow)
        face = Rectangle((left, -0.6), 1.65, 1.2, fc="#FBE3CC" if learned else "#E3EEF6")
        axes.add_patch(face)
        axes.text(left + 0.82, 0, name, ha="center", va="center", color=figures.ON_LIGHT, size=9)
        axes.text(left + 0.82, -1.05, shape, ha="center", va="top", color=figures.INK)
    axes.set(xlim=(-0.1, 19.1), ylim=(-1.6, 1.5), aspect="equal")
    axes.axis("off")
    path = ", ".join(f"{' '.join(name.split())} ({shape})" for name, (shape, _) in parts.items())
    drawn = f"The Vision Transformer as a row of boxes, from an image (1, 12, 12): {path}."
    shaded = ", ".join(" ".join(name.split()) for name, (_, learned) in parts.items() if learned)
    return figures.Picture(drawing, f"{drawn} Shaded, because they have parameters: {shaded}.")


draw_architecture(np.pad(load_digits(return_X_y=True)[0][0].reshape(8, 8), 2))

# %% [markdown]
# What to see: below each box stands the shape of its output, without the batch. Orange boxes have parameters. With mean pooling, the mean of rows 1 to 16 takes the place of row 0.
#
# **Exercise** (40 minutes). Build the model. It is the largest here. Begin with your `PatchEmbedding`. The blocks are PyTorch's `nn.TransformerEncoderLayer`, whose arguments are printed above. You need pre-norm, GELU as the activation, and the batch as the first axis. Stack `num_layers` of them, each with its own weights, and put one `nn.LayerNorm` after the last. Pass `dropout` to the blocks, and nowhere else. Here `image_size` matters: it gives the number of rows of the table. Choose the names of the parts.
#
# <details><summary>Hint 1: parameters</summary>If <code>image_size</code> is an int, make a pair of it first. <code>nn.Parameter(torch.zeros(1, 1, d_model))</code> on <code>self</code> is a learned class token. Make the table of positions in the same way, and start it with small random numbers: <code>0.02 * torch.randn(…)</code>.</details>
# <details><summary>Hint 2: the class token in front</summary><code>torch.cat([…, …], dim=1)</code> joins two tensors along the axis of tokens. Before it, <code>expand(len(images), -1, -1)</code> gives every image its class token.</details>
# <details><summary>Hint 3: the stack</summary>An <code>nn.ModuleList</code> of blocks works. <code>nn.TransformerEncoder</code> does too: it copies the layer that you give it (so all blocks start with equal weights, but each trains its own), and takes the final norm as <code>norm</code>. If it warns about nested tensors, set <code>enable_nested_tensor=False</code>.</details>
# <details><summary>Hint 4: the mean</summary>If your model has a class token with "mean" too, leave it out of the mean.</details>


# %% exercise VisionTransformer
class VisionTransformer(nn.Module):
    """Classify images: patches, learned positions, encoder blocks, a classification head.

    image_size: an int for a square, or (height, width).
    forward: images (batch, channels, height, width) -> logits (batch, num_classes).
    pool="cls": a learned class token is put before the patches, and the head reads it.
    pool="mean": the head reads the mean of the patches; a class token, if any, is not in it.
    A learned table (1 + patches, d_model) is added to the tokens, the class token's row first
    (without a class token: (patches, d_model)). Blocks: pre-norm; then one final
    LayerNorm, before or after the mean.
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
# You chose the names of the parts, so the checks find your parameters by their shapes. The next cell is for the checks: it gives a model fixed weights, or makes its blocks *silent*. A silent block adds zero to the residual stream, so you can say what must come out.


# %% given weights_for_the_checks folded=true
# Gives a model fixed weights, or makes its blocks silent; click to unfold
def fixed(parameters: dict[str, Tensor], scale: float = 1.0) -> dict[str, Tensor]:
    """Weights that depend only on their shapes."""
    filled = {}
    for name, part in parameters.items():
        size = [side for side in part.shape if side > 1]
        filled[name] = numbers(*part.shape, seed=sum(size), scale=scale, dtype=part.dtype)
    return filled


def silent(parameters: dict[str, Tensor], d_model: int, d_ff: int) -> dict[str, Tensor]:
    """The same, but the output of attention and of the feed-forward network is zero."""
    inside = {(d_model, d_model), (3 * d_model, d_model), (d_ff, d_model), (d_model, d_ff)}
    return {
        name: torch.zeros_like(part)
        if tuple(part.shape) in inside or name.endswith("bias")
        else part
        for name, part in fixed(parameters).items()
    }


def is_class_token(name: str, part: Tensor) -> bool:
    """Whether a parameter of d_model numbers is the class token, not part of a norm or a bias."""
    return part.dim() > 1 or not name.endswith(("weight", "bias"))


# %% check VisionTransformer points=3
hint = "embed, class token in front, add positions, blocks, final norm, pool, head"
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
        "in evaluation mode, two passes give the same logits",
        hint="nn.Dropout knows the mode; F.dropout needs training=self.training",
    )
    alone = model.call(images[1:2])
    check.equal(
        logits[1],
        alone[0],
        "an image gives the same logits in a batch as alone",
        hint="every image has its own class token, and the batch stays the first axis throughout",
    )
    slopes = model.gradients(logits.square())
    tables = [slope for slope in slopes.values() if tuple(slope.shape[-2:]) == (7, 12)]
    check.true(
        len(tables) > 0,
        "the parameters contain a table of positions, (1 + patches, d_model): here 7 rows of 12",
        hint="nn.Parameter makes a tensor a parameter; the class token has a row too",
    )
    check.true(
        all(bool((s.abs().amax(-1) > 0).all()) for s in tables), "each row of the table is used"
    )
    tokens = [n for n, s in slopes.items() if s.numel() == 12 and is_class_token(n, s)]
    check.true(
        len(tokens) > 0,
        "the parameters contain a class token of width d_model: here 12",
        hint="nn.Parameter makes a tensor a parameter",
    )
    blocks = [name for name, slope in slopes.items() if tuple(slope.shape) == (20, 12)]
    check.true(
        len(blocks) == 2,
        "with num_layers=2, the parameters contain two layers from d_model to d_ff",
        hint="num_layers blocks, each with its own weights, in an nn.ModuleList or encoder",
    )
    check.true(
        all(bool(s.abs().max() > 0) for name, s in slopes.items() if not name.endswith("bias")),
        "a gradient reaches every weight",
    )
with Check("VisionTransformer", "silent blocks: the class token gathers nothing", hint) as check:
    model = check.build((6, 9), 3, 2, 5, 12, 2, 3, 20).double().eval()
    quiet = silent(model.parameters(), 12, 20)
    model.load(quiet, whole=False)
    logits = model.call(numbers(2, 2, 6, 9, seed=1))
    check.equal(
        logits[0],
        logits[1],
        "with silent blocks the class token gathers nothing, so all images give the same logits",
        hint="the head reads the token that you put in front, and no other",
    )
    slopes = model.gradients(logits.square())
    norms = [s for n, s in slopes.items() if s.shape == (12,) and n.endswith("weight")]
    check.equal(
        sum(bool(slope.abs().max() > 1e-12) for slope in norms),
        1,
        "with silent blocks, only one norm affects the logits: the final one",
        hint="pre-norm blocks only add to the residual stream; after the last block comes one more "
        "norm",
    )
    louder = {
        n: p * 3 if p.shape[-1] == 12 and p.shape[0] != 5 and is_class_token(n, p) else p
        for n, p in quiet.items()
    }
    model.load(louder, whole=False)
    check.equal(
        model.call(numbers(1, 2, 6, 9, seed=1))[0],
        logits[0],
        "the final norm removes the scale: a class token three times as long gives the same logits",
        hint="a LayerNorm comes after the last block",
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
        "the table is added once: where its first row is minus the class token, their sum is zero, "
        "and so are the logits",
        hint="the class token comes first, with row 0 of the table; the table is added once, before "
        "the first block",
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
        "silent blocks change nothing: one of them gives the same logits as three",
        hint="there is one final norm, after the last block, and nothing between the blocks",
    )
with Check("VisionTransformer", "blocks with large weights, and the final norm", hint) as check:
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
        "the final norm removes the scale: blocks that add a million times as much, or twice that, "
        "give the same logits",
        hint="the final LayerNorm comes after the last block, not before the first",
        within=1e-3,
    )
with Check("VisionTransformer", "the position of a patch", hint) as check:
    model = check.build((6, 9), 3, 2, 5, 12, 2, 3, 20).double().eval()
    weights = fixed(model.parameters())
    model.load(weights, whole=False)
    image = numbers(1, 2, 6, 9, seed=2)
    swapped = torch.cat([image[..., 6:], image[..., 3:6], image[..., :3]], dim=-1)
    apart = (model.call(image) - model.call(swapped)).abs().max().item()
    check.true(
        apart > 1e-6,
        "an image with its left and right patches swapped gives different logits",
        hint="add the table of positions to the tokens, before the blocks",
    )
    lost = {n: p * 0 if tuple(p.shape[-2:]) == (7, 12) else p for n, p in weights.items()}
    model.load(lost, whole=False)
    check.equal(
        model.call(swapped),
        model.call(image),
        "with all positions zero, swapping patches does not change the logits",
        hint="each token is one whole patch, and only its position says where it was",
    )
with Check("VisionTransformer", "dropout, in both modes", hint) as check:
    model = check.build((6, 9), 3, 2, 5, 12, 2, 3, 20, dropout=0.5).double().train()
    model.load(fixed(model.parameters()), whole=False)
    images = numbers(2, 2, 6, 9, seed=3)
    first, second = model.call(images), model.call(images)
    check.true(
        not torch.equal(first, second),
        "in training mode with dropout=0.5, two passes give different logits",
        hint="pass dropout to the blocks",
    )
    model.eval()
    check.equal(model.call(images), model.call(images), "in evaluation mode, two passes agree")
    model = check.build((6, 9), 3, 2, 5, 12, 2, 3, 20).double().train()
    model.load(fixed(model.parameters()), whole=False)
    check.equal(
        model.call(images),
        model.call(images),
        "without dropout two passes agree, in training mode too",
        hint="pass dropout to the blocks: PyTorch's default is 0.1",
    )
with Check("VisionTransformer", "image_size as one int, and the heads", hint) as check:
    told = []
    for heads in (2, 3):
        model = check.build(6, 3, 2, 5, 12, 2, heads, 20).double().eval()
        model.load(fixed(model.parameters(), 0.5), whole=False)
        told.append(model.call(numbers(3, 2, 6, 6, seed=4)))
        check.shape(told[-1], batch=3, num_classes=5)
    check.true(
        (told[0] - told[1]).abs().max().item() > 1e-9,
        "with the same weights, two heads and three heads give different logits",
        hint="pass num_heads to the blocks",
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
        check.true(bool((slope[1].abs().amax(0) > 0).all()), "every pixel affects the logits")
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
        check.true(len(heard) == 1, "with silent blocks, only the final norm affects the logits")
with Check(
    "VisionTransformer", "the number of heads has an effect, and two modules share nothing"
) as check:
    images, told = numbers(2, 2, 6, 9, seed=6), []
    for heads in (1, 2, 6):
        model = check.build((6, 9), 3, 2, 5, 12, 2, heads, 20).double().eval()
        model.load(fixed(model.parameters(), 0.5), whole=False)
        told.append(model.call(images))
    for one, other in ((0, 1), (1, 2), (0, 2)):
        gap = (told[one] - told[other]).abs().max().item()
        check.true(gap > 1e-9, "another number of heads gives different logits")
    first, second = (check.build(4, 2, 1, 3, 8, 1, 2, 10) for _ in range(2))
    kept = second.parameters()
    first.load(fixed(first.parameters()), whole=False)
    for name, part in second.parameters().items():
        check.equal(part, kept[name], f"{name} of the other module")
# END HIDDEN TESTS

# %% check VisionTransformer_mean points=1
hint = "the mean of the patch tokens only; a class token, if there is one, is not in it"
with Check("VisionTransformer", "the mean of the patches", hint) as check:
    model = check.build((6, 9), 3, 2, 5, 12, 2, 3, 20, pool="mean").double().eval()
    quiet = silent(model.parameters(), 12, 20)
    model.load(quiet, whole=False)
    images = numbers(3, 2, 6, 9, seed=1)
    logits = model.call(images)
    check.shape(logits, batch=3, num_classes=5)
    check.true(
        (logits[0] - logits[1]).abs().max().item() > 1e-6,
        "with silent blocks the patch tokens are unchanged, so two images give different logits",
        hint='with pool="mean", the head reads the mean of the patches',
    )
    check.equal(
        model.call(images[1:2])[0], logits[1], "an image gives the same logits alone as in a batch"
    )
    slope = check.gradient(model.call(pixels := images.clone().requires_grad_())[0], pixels)
    seen = slope[0].abs().amax(0).reshape(2, 3, 3, 3).amax((1, 3))
    check.true(bool((seen > 1e-9).all()), "each of the six patches affects the mean")
    slopes = model.gradients(logits.square())
    alone = [
        slope
        for name, slope in slopes.items()
        if slope.numel() == 12 and not name.endswith("bias")
        if slope.dim() > 1 or not name.endswith("weight")
    ]
    check.true(
        all(bool((s.abs() < 1e-12).all()) for s in alone),
        "with silent blocks, a class token does not affect the mean",
        hint="the class token is at index 0, so the mean begins at index 1",
    )
with Check("VisionTransformer", "six equal patches", hint) as check:
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
        "without positions, six equal patches have the same mean as one of them",
        hint="a mean is a sum divided by the number of patches",
    )
    other = numbers(1, 2, 3, 3, seed=9)  # a row of three patches above another
    rare = torch.cat([torch.cat([alike, other, other], -1), other.repeat(1, 1, 1, 3)], -2)
    often = torch.cat([torch.cat([other, alike, alike], -1), alike.repeat(1, 1, 1, 3)], -2)
    check.true(
        (model.call(rare) - model.call(often)).abs().max().item() > 1e-6,
        "without positions, it counts how often a patch occurs: one of a kind and five of another "
        "give other logits than five and one",
        hint="the mean of the patches, not their maximum",
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
        check.true(min(gaps) < 1e-3, "the mean of the normed patches, each with its position")
# END HIDDEN TESTS

# %% [markdown]
# **A good place to stop.** You have a complete Vision Transformer, and it has not seen an image yet. Next you train it on handwritten digits, find out what it knows about images, and look inside. (Back later? Run all cells above first.)

# %% [markdown]
# ## 6 · Train it
#
# scikit-learn contains 1,797 handwritten digits of 8 by 8 grey pixels. 360 of them are *held out*: no model trains on them. Each digit gets a black margin of two pixels, so the images are 12 by 12: 16 patches of 3 by 3 pixels. A pixel is a number from 0 (black) to 1.

# %%
digits: Any = load_digits()
without_margin = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
all_images = F.pad(without_margin, (2, 2, 2, 2))  # (1797, 1, 12, 12)
all_labels = torch.tensor(digits.target)
order = torch.tensor(np.random.RandomState(0).permutation(len(all_labels)))
test_images, test_labels = all_images[order[:360]], all_labels[order[:360]]
train_images, train_labels = all_images[order[360:]], all_labels[order[360:]]
print(f"{len(train_labels)} images to train on, {len(test_labels)} held out")
figures.tiles(
    list(test_images[:12, 0]),
    [str(label) for label in test_labels[:12].tolist()],
    title="Twelve of the held-out digits",
)

# %% [markdown]
# **Exercise** (16 minutes). Write the loop that trains any classifier. In every epoch, draw a new random order, and go through it batch by batch: loss, gradients, step. The model is an argument, so you can train other models with it too.
#
# <details><summary>Hint 1</summary><code>torch.randperm(len(images)).split(batch_size)</code> gives the batches of one epoch. Each is a tensor of indices, with which you take images <em>and</em> labels.</details>
# <details><summary>Hint 2</summary>Three lines make a step: set the old gradients to zero, compute the new ones with <code>backward</code>, then <code>step</code>.</details>


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

    images (count, channels, height, width), float32; labels (count,), integers from 0.
    Use one `torch.optim.AdamW` with learning rate lr. Each epoch uses every image once, in a new
    random order, in batches of batch_size (the last one may be smaller). Train in training mode,
    and leave the model in evaluation mode. Returns (epochs,), float32 too: for each epoch, the
    mean of its batches' losses.
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
        "the first loss is the cross-entropy of the untrained model",
        hint="all twelve images, each once and with its own label; the loss is a mean, from logits",
        within=1e-4,
    )
    told = torch.tensor(expected, dtype=torch.float64)
    check.equal(history.double(), told, "the loss of each epoch", within=1e-4)
    learned = torch.cat([layer.weight, layer.bias[:, None]], dim=1).detach()
    wanted = torch.cat([same_layer.weight, same_layer.bias[:, None]], dim=1).detach()
    check.true(
        not torch.equal(learned[:, :6], numbers(4, 6, seed=1, scale=0.5).float()),
        "training changes the weights of the model that it is given",
        hint="The losses are right, but the model has the weights that it began with. Train it in "
        "place.",
    )
    check.equal(learned, wanted, "the weights after four steps of AdamW", within=1e-4)
    check.true(not model.training, "the model is left in evaluation mode", hint="model.eval()")
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
with Check("train_classifier", "five images in batches of four, in a new order each time") as check:
    images, labels = numbers(5, 1, 2, 3, seed=3, dtype=torch.float32), torch.tensor([0, 1, 2, 3, 0])
    layer = nn.Linear(6, 4)
    layer.load_state_dict({"weight": numbers(4, 6, seed=4), "bias": numbers(4, seed=5)})
    model = nn.Sequential(nn.Flatten(), layer)
    each = F.cross_entropy(model(images), labels, reduction="none").detach()
    # steps so small that the model does not change: a loss tells which images were in the batch
    torch.manual_seed(0)
    history = check.call(model, images, labels, 12, lr=1e-9, batch_size=4).float()
    check.shape(history, epochs=12)
    one_alone = (each.sum() - each) / 8 + each / 2
    found = (history[:, None] - one_alone).abs() < 1e-3
    check.true(
        bool(found.any(1).all()),
        "an epoch has one batch of four images and one of the remaining image, each with its own "
        "label, and its loss is the mean of the two batches' losses",
        hint="torch.randperm(len(images)).split(…), then the same indices for images and labels",
    )
    check.true(
        bool(found.any(0).sum() > 1),
        "over twelve epochs, different images are left for the last batch",
        hint="a new torch.randperm for each epoch",
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
        "in training mode, a dropout of 1 drops everything, so the loss is ln 3 in each epoch",
        "call model.train() before the loop",
        within=1e-3,
    )
# BEGIN HIDDEN TESTS
with Check("train_classifier", "a different order in another run, and a loss that falls") as check:
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
    check.true(not torch.equal(*weights), "another seed gives another order, and so other weights")
# END HIDDEN TESTS

# %% check train_classifier_digits points=1
hint = "the same indices for images and labels, all batches of all epochs, cross-entropy of logits"
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
    check.true(right >= 0.9, f"held-out accuracy is at least 90 %; it is {right:.0%}")
    copied = check.other("VisionTransformer").build(8, 4, 1, 10, 32, 2, 4, 64).eval()
    copied.load(reader.parameters(), whole=False)
    gap = copied.call(images[held_out]) - reader.call(images[held_out])
    check.true(
        gap.abs().max().item() < 1e-3,
        "another model with the same parameters gives the same logits",
        hint="What the model learns must be in its parameters.",
    )
    # BEGIN HIDDEN TESTS
    untrained = check.other("VisionTransformer").build(8, 4, 1, 10, 32, 2, 4, 64).eval()
    read = untrained.call(images[held_out]).argmax(-1)
    guessed = float((read == labels[held_out]).float().mean())
    check.true(guessed < 0.5, "an untrained model reads fewer than half")
    # END HIDDEN TESTS

# %% [markdown]
# First a baseline. **Logistic regression** is a linear classifier trained with cross-entropy: here, one linear layer from the 144 pixels to the ten logits.


# %%
def accuracy(model: nn.Module, images: Tensor, labels: Tensor) -> float:
    """The share of images whose largest logit is that of their label."""
    with torch.no_grad():
        return (model.eval()(images).argmax(-1) == labels).float().mean().item()


linear = LogisticRegression(max_iter=1000).fit(train_images.flatten(1), train_labels)
linear_accuracy = float(linear.score(test_images.flatten(1), test_labels))
print(f"logistic regression: {linear_accuracy:.1%} of the held-out digits")

# %% [markdown]
# **Predict.** Your Vision Transformer has twelve times as many parameters as this baseline. You train three of them for 6 epochs, from three seeds. How do they do on the held-out digits?
#
# <details><summary>Worse than logistic regression</summary>Yes, all three. The next sections ask why, and what helps.</details>
# <details><summary>Better than logistic regression</summary>Run it. More parameters help only if training finds good values for them.</details>
# <details><summary>About 10 %, which is chance</summary>They learn more than that: you will see the loss fall.</details>


# %%
import functools
from collections.abc import Callable


def new_vit() -> nn.Module:
    """An untrained Vision Transformer for the digits: 16 patches, two blocks of two heads."""
    return VisionTransformer(12, 3, 1, 10, d_model=32, num_layers=2, num_heads=2, d_ff=64)


def trained(make: Callable[[], nn.Module], images: Tensor, seed: int) -> tuple[nn.Module, Any]:
    """A new model after 6 epochs on these training images, and its loss in each epoch."""
    torch.manual_seed(seed)
    model = make()
    losses = train_classifier(model, images, train_labels, epochs=6, lr=0.003)
    return model, losses.tolist()


@functools.cache  # trains at the first call; later calls return the same models
def three_runs(make: Callable[[], nn.Module]) -> list[tuple[nn.Module, Any]]:
    """Three models, trained on the digits from three seeds, each with its losses."""
    return [trained(make, train_images, seed) for seed in range(3)]


def accuracies(make: Callable[[], nn.Module]) -> list[float]:
    """The held-out accuracy of the three models."""
    return [accuracy(model, test_images, test_labels) for model, _ in three_runs(make)]


figures.curves(
    list(range(1, 7)),
    {"training loss of three runs": [losses for _, losses in three_runs(new_vit)]},
    x="epoch",
    y="mean loss",
    title="Three Vision Transformers learn to classify digits",
    bottom=0.0,
)

# %%
parameters = sum(part.numel() for part in new_vit().parameters())
print(f"parameters: {144 * 10 + 10:,} in logistic regression, {parameters:,} in each ViT")
figures.runs(
    {"logistic regression": [linear_accuracy], "ViT": accuracies(new_vit)},
    "held-out accuracy",
    "Linear classifier and ViT",
)

# %% [markdown]
# What to see: all three runs stay below the baseline. One reason is plain: the loss is still falling. Another question: what could a model know from the start?
#
# **A good place to stop.** Part 7 is long: give it its own day.
#
# ## 7 · What does a model know before training?
#
# What an architecture assumes before it has seen any data is its **inductive bias**. A **convolutional neural network** (CNN) is a stack of convolutions with small kernels. It makes two assumptions:
#
# 1. A pattern means the same wherever it is: the same kernel is applied everywhere.
# 2. Neighbouring pixels belong together: a kernel sees only a small window. This is called *locality*.
#
# Here is a small CNN.


# %%
def new_cnn(stride: int = 2) -> nn.Module:
    """Two convolutions; then the maximum of each of 64 channels over all positions."""
    first = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2, stride))
    second = nn.Sequential(nn.Conv2d(16, 64, 3, padding=1), nn.ReLU(), nn.AdaptiveMaxPool2d(1))
    return nn.Sequential(first, second, nn.Flatten(), nn.Linear(64, 10))


print(new_cnn())

# %% [markdown]
# What to see: each convolution has `padding=1`, a border of one zero on each side of its input. So height and width stay the same. (The padding tokens of lesson 2 are something else.) After the first convolution, **max pooling** keeps only the largest value of each square of 2 × 2. Its *stride* says how far the square moves. At the end, `AdaptiveMaxPool2d` takes the maximum over all positions.
#
# **Predict.** How large a window of the image does one output of the second convolution see?
#
# <details><summary>3 × 3 pixels</summary>Its kernel covers 3 × 3 outputs of the max pooling. Each of these sees several pixels.</details>
# <details><summary>5 × 5 pixels</summary>Two convolutions alone would give that. But between them, the max pooling halves height and width.</details>
# <details><summary>8 × 8 pixels</summary>Yes: 3 outputs of the max pooling cover 6 of the first convolution, and those see 8 pixels.</details>

# %%
print(f"{sum(part.numel() for part in new_cnn().parameters()):,} parameters in each CNN")
for right in accuracies(new_cnn):
    print(f"held-out accuracy: {right:.1%}")

# %% [markdown]
# What to see: with about half the parameters and the same number of steps, the CNN is clearly ahead of the ViT, and at least as good as the linear classifier. Is its inductive bias the reason? Test each assumption by itself.
#
# ### Assumption 1: a pattern means the same wherever it is
#
# All models train on digits as they are. Then you move the held-out digits by one or two pixels, which the margin allows.
#
# **Predict.** Which model reads the moved digits best?
#
# <details><summary>The ViT: every patch attends to every patch</summary>Attention can compare all patches. But a moved digit has other patches, at other positions.</details>
# <details><summary>Logistic regression</summary>It has one weight for each pixel and class. Move the digit, and every weight meets the wrong pixel.</details>
# <details><summary>The CNN</summary>Yes. Your ViT shares its kernels too, but applies them only at every third pixel, and then adds a position.</details>


# %%
def moved(images: Tensor, pixels: int) -> list[Tensor]:
    """The images moved up, down, left and right. The margin is black."""
    steps = [(-pixels, 0), (pixels, 0), (0, -pixels), (0, pixels)]
    return [images.roll(step, dims=(2, 3)) for step in steps]


def moved_accuracies(model: nn.Module) -> list[float]:
    """The held-out accuracy for digits moved by 0, 1 and 2 pixels."""
    shifted = [torch.cat(moved(test_images, pixels)) for pixels in (1, 2)]
    in_place = accuracy(model, test_images, test_labels)
    return [in_place, *(accuracy(model, images, test_labels.repeat(4)) for images in shifted)]


def linear_on(images: Tensor) -> float:
    """The accuracy of logistic regression on moved digits."""
    return float(linear.score(images.flatten(1), test_labels.repeat(4)))


# %%
cnn_on_moved = [moved_accuracies(cnn) for cnn, _ in three_runs(new_cnn)]
figures.curves(
    [0, 1, 2],
    {
        "CNN": cnn_on_moved,
        "ViT": [moved_accuracies(vit) for vit, _ in three_runs(new_vit)],
        "logistic regression": [linear_on(torch.cat(moved(test_images, k))) for k in (0, 1, 2)],
    },
    x="pixels by which the held-out digits are moved",
    y="accuracy",
    title="Trained on digits in place, tested on moved ones (bands: 3 runs)",
    bottom=0.0,
)

# %% [markdown]
# What to see: one pixel takes the ViT and the linear classifier below one half, two pixels almost to chance. The CNN keeps most of its accuracy, although it has not seen a moved digit either. (Oddly, it reads digits moved by two pixels better than those moved by one.)
#
# Which part of the CNN does this: the convolutions, or the maximum over all positions? Leave the convolutions in and take the maximum out. The control *flattens*: a linear layer reads every channel at every position. It has 20 channels in place of 64, so the two CNNs have about the same number of parameters.
#
# **Predict.** How does the control do on moved digits?
#
# <details><summary>As well as the CNN: it has the same kind of kernels</summary>Its kernels find a moved stroke. But which weights of the linear layer read what they found?</details>
# <details><summary>It loses most of the CNN's advantage</summary>Yes. The convolutions still say <em>where</em> they found a stroke, and the linear layer has learned other positions.</details>
# <details><summary>It cannot even read digits in place</summary>In place, its linear layer meets each stroke where it has learned it.</details>


# %%
def new_flat_cnn(channels: int = 20) -> nn.Module:
    """Two convolutions; then a linear layer that reads each channel at each of 36 positions."""
    first = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
    second = nn.Sequential(nn.Conv2d(16, channels, 3, padding=1), nn.ReLU())
    return nn.Sequential(first, second, nn.Flatten(), nn.Linear(channels * 36, 10))


print(f"{sum(part.numel() for part in new_flat_cnn().parameters()):,} parameters in each control")
control_on_moved = [moved_accuracies(model) for model, _ in three_runs(new_flat_cnn)]
figures.runs(
    {
        f"{name}, by {pixels}": [of_run[pixels] for of_run in of_runs]
        for pixels in (0, 1, 2)
        for name, of_runs in {"maximum": cnn_on_moved, "flatten": control_on_moved}.items()
    },
    "accuracy",
    "Two CNNs on digits moved by 0, 1 or 2 pixels",
)

# %% [markdown]
# What to see: in place, both read well. On moved digits, the control loses most of the CNN's advantage. So convolutions alone do not explain it.
#
# A convolution has **translation equivariance**: if its input is shifted, its output is shifted too, but otherwise unchanged (except at borders). The maximum over all positions then discards the position. Only both together approach **translation invariance**: if the input is shifted, the output does not change.
#
# **Your turn.** Change `channels: int = 20` to 64 and run the cell again. Does that help? Then change it back and run it again.
#
# <details><summary>Answer</summary>No. It has three times as many parameters, and still reads only half of the digits moved by one pixel.</details>
#
# If the architecture is the reason, it must show *before* any training: how much does a shift change the logits of an untrained model?


# %% folded=true
# Measures how much a shift changes the logits of untrained models; click to unfold
def change(model: nn.Module, images: Tensor, pixels: int) -> float:
    """How much a shift changes the logits; 1: as much as another held-out image does."""
    with torch.no_grad():
        logits = model.eval()(images)
        gaps = [(model(shifted) - logits).square().mean() for shifted in moved(images, pixels)]
        others = (logits.roll(1, dims=0) - logits).square().mean()
    return float((torch.stack(gaps).mean() / others).sqrt())


def untrained_changes(make: Callable[[], nn.Module], images: Tensor, pixels: int) -> list[float]:
    """The change of the logits of three untrained models."""
    changes = []
    for seed in range(3):
        torch.manual_seed(seed)
        changes.append(change(make(), images, pixels))
    return changes


# %%
figures.runs(
    {
        f"{name}, by {pixels}": untrained_changes(make, test_images, pixels)
        for name, make in {"CNN": new_cnn, "flatten": new_flat_cnn, "ViT": new_vit}.items()
        for pixels in (1, 2)
    },
    "change of the logits\n(1: as much as another image)",
    "Untrained models, and digits moved by 1 or 2 pixels",
)

# %% [markdown]
# What to see: two pixels change the logits of the control and of the ViT more than another image does, and those of the CNN about half as much: an inductive bias. At one pixel, the CNN hardly beats its control.
#
# Two suspects. *The border*: beyond it are zeros, but after the first convolution black is not 0. *The stride of the first max pooling*: its squares move by two pixels, so it is equivariant only to even shifts.
#
# **Your turn.** A wider margin keeps digits from the border; with stride 1 the squares move pixel by pixel. Change `margin` to 8, then `stride` to 1. Which suspect spoils the shift by two pixels, and which the shift by one?

# %%
margin, stride = 2, 2
with_black = F.pad(without_margin, (margin, margin, margin, margin))[order[:360]]
for shift in (1, 2):
    found = untrained_changes(lambda: new_cnn(stride), with_black, shift)
    print(f"moved by {shift}: the logits change by", *(f"{value:.2f}" for value in found))

# %% [markdown]
# <details><summary>Answer</summary>With a margin of 8, a shift by two pixels changes nothing at all: the border was to blame. A shift by one pixel still does, until the stride is 1 as well. Then the CNN is exactly invariant. This fits the oddity above: the pooling keeps up with a shift by two pixels, but not by one.</details>
#
# ### Assumption 2: neighbours belong together (locality)
#
# Now destroy the neighbourhoods. With your own functions, cut images into patches, and put them back in another order. Three ways: shuffle the 16 patches, in the *same* way for all images. Shuffle the 144 *pixels*, again all images alike. Shuffle the patches in a *new* way for each image.


# %%
orders = torch.Generator().manual_seed(0)
patch_order = torch.randperm(16, generator=orders)
pixel_order = torch.randperm(144, generator=orders)


def in_one_order(images: Tensor, patch_size: int, order: Tensor) -> Tensor:
    """The images with their patches in this order, the same for all images."""
    return unpatchify(patchify(images, patch_size)[:, order], patch_size, 1, 12, 12)


def in_new_orders(images: Tensor, seed: int) -> Tensor:
    """The images with their patches of 3 by 3 in a random order, a new one for each image."""
    draw = torch.Generator().manual_seed(seed)
    order = torch.rand(len(images), 16, generator=draw).argsort(dim=1)
    patches = patchify(images, 3)
    return unpatchify(patches[torch.arange(len(images))[:, None], order], 3, 1, 12, 12)


# %%
arranged = [
    test_images,
    in_one_order(test_images, 3, patch_order),
    in_one_order(test_images, 1, pixel_order),
    in_new_orders(test_images, seed=1),
]
figures.tiles(
    [images[i, 0] for i in (0, 1) for images in arranged],
    ["as it is", "patches,\nsame shuffle", "pixels,\nsame shuffle", "patches,\nnew shuffle each"]
    * 2,
    title="Two digits, arranged in four ways",
    across=4,
)

# %% [markdown]
# **Predict.** You train and test a ViT on images whose patches are shuffled, in the *same* way for all images. What does this cost it?
#
# <details><summary>It cannot learn them at all</summary>You cannot read them. But nothing ever told the model that patch 7 lies below patch 3.</details>
# <details><summary>About half of its accuracy</summary>What does the model lose, if patch 11 is always where patch 5 was? The rows of its table start as random vectors.</details>
# <details><summary>Nothing</summary>Yes. The order of the rows in its table is arbitrary: the row for patch 5 learns what the row for patch 11 would have learned.</details>
#
# The next cell tests this without training: it changes nothing but a trained table of positions.


# %%
def position_table(model: nn.Module) -> Tensor:
    """The learned table of positions of a model for the digits: (17, 32)."""
    parts = (part for part in model.parameters() if part.shape[-1] == 32)
    return next(part for part in parts if part.numel() == 17 * 32).detach().reshape(17, 32)


def with_moved_rows(vit: nn.Module) -> nn.Module:
    """A copy whose table has its rows in the order of the shuffled patches."""
    rearranged = copy.deepcopy(vit).eval()
    rows = position_table(rearranged)  # a view: writing to it changes the model
    rows[1:] = rows[1:][patch_order]  # row 0 is the class token's, and stays
    return rearranged


trained_vit = three_runs(new_vit)[0][0]
with torch.no_grad():
    logits = trained_vit(test_images)
    again = with_moved_rows(trained_vit)(in_one_order(test_images, 3, patch_order))
print(f"largest difference of the logits: {(again - logits).abs().max().item():.0e}")

# %% [markdown]
# What to see: with the rows of the table in the order of the patches, the logits stay the same up to rounding. So an equally good model exists for the shuffled images, and the rows start in no order. To a ViT, images whose *patches* are all shuffled alike are as easy as the originals. Shuffled *pixels* are not: they change what is inside each patch.
#
# **From the lecture** (CS7150, Transformer Part I, slide on representing each patch): "Positional encoding: 1D is sufficient". In a *learned* table, *1D* only numbers the rows. With fixed sinusoids (lesson 6) it would matter.
#
# **Predict.** You train a CNN on images whose *pixels* are all shuffled alike. What happens to its accuracy?
#
# <details><summary>It falls by a few points</summary>Yes. This CNN can do without neighbourhoods.</details>
# <details><summary>It falls to chance</summary>That is a common belief. But the same pixels still carry the same information, at other positions.</details>
# <details><summary>Nothing changes</summary>This holds exactly for logistic regression, which has one weight for each pixel. A CNN shares its kernels.</details>


# %% folded=true
# Trains three CNNs on shuffled pixels and three ViTs on shuffled patches; click to unfold
@functools.cache  # trains at the first call
def cnns_on_shuffled_pixels() -> list[float]:
    """The held-out accuracy of three CNNs on digits with shuffled pixels, all alike."""
    train, test = (in_one_order(x, 1, pixel_order) for x in (train_images, test_images))
    return [accuracy(trained(new_cnn, train, seed)[0], test, test_labels) for seed in range(3)]


@functools.cache  # trains at the first call
def vits_on_shuffled_patches() -> list[float]:
    """The held-out accuracy of three ViTs on digits with shuffled patches, each in a new way."""
    train, test = in_new_orders(train_images, seed=0), in_new_orders(test_images, seed=1)
    return [accuracy(trained(new_vit, train, seed)[0], test, test_labels) for seed in range(3)]


# %%
figures.runs(
    {
        "CNN, as it is": accuracies(new_cnn),
        "CNN, pixels, same shuffle": cnns_on_shuffled_pixels(),
        "ViT, as it is": accuracies(new_vit),
        "ViT, patches, new shuffle each": vits_on_shuffled_patches(),
    },
    "held-out accuracy",
    "Trained and tested on rearranged digits",
)

# %% [markdown]
# What to see: shuffling all pixels in the same way costs the CNN a few points: its errors about triple. But it is far from lost. A reason may be its windows of 8 × 8 pixels: each contains nearly half of the image. (This is not tested here.)
#
# And the ViT, with a new order of patches for every image, still reads most digits. It sees a *bag of patches*: which there are, not where.
#
# ### Fewer images
#
# What happens when you have only 100 images? Every network takes 140 steps, about as many as before, in smaller batches.
#
# **Predict.** Which of the four loses most?
#
# <details><summary>The CNN</summary>Its few kernels are shared by all positions. That leaves less to learn from 100 images.</details>
# <details><summary>The CNN on shuffled pixels</summary>It has lost its neighbourhoods, and still has its shared kernels and its maximum.</details>
# <details><summary>The ViT</summary>Yes, by far. Run it, and see how logistic regression does.</details>


# %% folded=true
# Trains two CNNs, a ViT and a linear classifier on 100 digits; click to unfold
def with_few(make: Any, train: Tensor, test: Tensor, seed: int) -> float:
    """The held-out accuracy of a new model that is trained on 100 of the images."""
    torch.manual_seed(seed)
    chosen = torch.randperm(len(train))[:100]
    model = make()
    few, labels = train[chosen], train_labels[chosen]
    train_classifier(model, few, labels, epochs=35, lr=0.003, batch_size=25)  # 140 steps
    return accuracy(model, test, test_labels)


def linear_with_few(seed: int) -> float:
    """The same for logistic regression."""
    torch.manual_seed(seed)
    chosen = torch.randperm(len(train_images))[:100]
    few = LogisticRegression(max_iter=1000).fit(
        train_images[chosen].flatten(1), train_labels[chosen]
    )
    return float(few.score(test_images.flatten(1), test_labels))


settings: dict[str, tuple[Any, Tensor, Tensor]] = {
    "CNN": (new_cnn, train_images, test_images),
    "CNN, pixels, same shuffle": (
        new_cnn,
        in_one_order(train_images, 1, pixel_order),
        in_one_order(test_images, 1, pixel_order),
    ),
    "ViT": (new_vit, train_images, test_images),
}
with_all = {
    "CNN": accuracies(new_cnn),
    "CNN, pixels, same shuffle": cnns_on_shuffled_pixels(),
    "ViT": accuracies(new_vit),
}
by_few = {
    name: [[with_few(*settings[name], seed), with_all[name][seed]] for seed in range(3)]
    for name in settings
}
by_few["logistic regression"] = [[linear_with_few(seed), linear_accuracy] for seed in range(3)]
figures.curves(
    [100, 1437],
    by_few,
    x="training images",
    y="held-out accuracy",
    title="Fewer images (bands: 3 runs)",
    logarithmic="x",
)

# %% [markdown]
# What to see: with 100 images, the ViT falls much further behind than with 1,437. Locality alone is not the reason: between the two CNNs, the gap stays a few points. Even the CNN on rearranged pixels is far ahead of the ViT, and so is a linear classifier.
#
# But after 140 steps the ViT may also be unfinished. (Here this stays open.) So may your three ViTs of section 6, which saw all 1,437 images. Try two remedies on those, each by itself: more data, or more steps.
#
# ### More images, or more steps
#
# A digit that is turned or moved a little is still the same digit. **Data augmentation** is training on changed copies of the images, with the labels of the originals.


# %%
def turned_and_moved(images: Tensor, seed: int, pixels: float) -> Tensor:
    """Each image turned by up to 12 degrees, moved by up to so many pixels, scaled by 10 %."""
    generator = torch.Generator().manual_seed(seed)
    angles, sizes, right, down = 2 * torch.rand(4, len(images), generator=generator) - 1
    sine, cosine = (angles * math.radians(12)).sin(), (angles * math.radians(12)).cos()
    sizes = 1 + 0.1 * sizes
    first_row = torch.stack([sizes * cosine, -sizes * sine, pixels * right / 6], dim=1)
    second_row = torch.stack([sizes * sine, sizes * cosine, pixels * down / 6], dim=1)
    maps = torch.stack([first_row, second_row], dim=1)  # (count, 2, 3)
    grid = F.affine_grid(maps, list(images.shape), align_corners=False)
    return F.grid_sample(images, grid, align_corners=False)


# %%
copies = turned_and_moved(train_images, seed=0, pixels=1)
many_images, many_labels = torch.cat([train_images, copies]), train_labels.repeat(2)
figures.tiles(
    [versions[i, 0] for i in (3, 6, 8) for versions in (train_images, copies)],
    ["original", "copy"] * 3,
    title=f"Three digits and their copies: {len(many_labels):,} images in all",
)

# %% [markdown]
# **Fine-tuning** is training a trained model further, usually on other data or for another task. Fine-tune your three ViTs in two ways, with nearly the same number of steps: for four epochs on the 1,437 originals, or for two epochs on the originals *and* their copies. In both, the second half has a smaller learning rate.
#
# **Predict.** The copies are moved by at most one pixel. Which held-out digits does augmentation help with?
#
# <details><summary>Those moved by one pixel, not by two</summary>Yes. No copy is shifted by two pixels. How much does it help?</details>
# <details><summary>All moved digits: the model understands moving</summary>Nothing in its architecture makes two pixels follow from one.</details>
# <details><summary>None: a ViT cannot learn this</summary>It has no such assumption built in. But it can learn from examples.</details>


# %%
def tuned(vit: nn.Module, images: Tensor, labels: Tensor, epochs: int) -> nn.Module:
    """A copy of a trained model, fine-tuned."""
    torch.manual_seed(0)
    further = copy.deepcopy(vit)
    train_classifier(further, images, labels, epochs // 2, lr=0.002)
    train_classifier(further, images, labels, epochs // 2, lr=0.0005)
    return further


@functools.cache  # trains at the first call
def longer() -> list[nn.Module]:
    """The three ViTs after four more epochs on the originals: 92 steps."""
    return [tuned(vit, train_images, train_labels, 4) for vit, _ in three_runs(new_vit)]


@functools.cache  # trains at the first call
def augmented() -> list[nn.Module]:
    """The three ViTs after two more epochs on originals and copies: 90 steps."""
    return [tuned(vit, many_images, many_labels, 2) for vit, _ in three_runs(new_vit)]


@functools.cache  # measures at the first call
def before_and_after_tuning() -> dict[str, list[list[float]]]:
    """The accuracies of the three ViTs on digits moved by 0, 1 and 2 pixels."""
    return {
        "as trained": [moved_accuracies(vit) for vit, _ in three_runs(new_vit)],
        "+ originals": [moved_accuracies(vit) for vit in longer()],
        "+ copies": [moved_accuracies(vit) for vit in augmented()],
    }


figures.runs(
    {
        f"{name}, by {shift}": [of_run[shift] for of_run in of_runs]
        for shift in (1, 2)
        for name, of_runs in before_and_after_tuning().items()
    },
    "accuracy",
    "Three ViTs, fine-tuned in two ways, on digits moved by 1 or 2 pixels",
)

# %% [markdown]
# What to see: at one pixel, the copies raise the accuracy from about 30 % to about 46 %, and more steps on the originals hardly do. The CNN reads far more, without any moved image. At two pixels, neither helps. Here, augmentation teaches a part of what it shows, and nothing beyond.
#
# **Predict.** And on the digits *in place*: which helps more?
#
# <details><summary>The copies: they are more varied</summary>That often helps when a model overfits. Here the training loss was still falling.</details>
# <details><summary>More steps on the originals</summary>Yes, in these runs. The held-out digits in place look like the originals.</details>
# <details><summary>Neither: the architecture is the limit</summary>Then much longer training would not help either. Run it.</details>

# %%
for name, of_runs in before_and_after_tuning().items():
    print(f"{name}, in place:", *(f"{in_place:.1%}" for in_place, _, _ in of_runs))
print(f"logistic regression, in place: {linear_accuracy:.1%}")

# %% [markdown]
# What to see: more steps raise the accuracy in place from about 89 % to about 95 %, close to the linear classifier. So more training alone closes much of the gap in section 6, with no assumption built in. (The CNN needed fewer steps.) (The smaller final learning rate may have helped too.) On moved digits, the assumption counts.
#
# **Your turn.** What if the copies *are* moved by two pixels? Where they are made, change `pixels=1` to 2. Run that cell again, and the one that draws the accuracies. Then change it back, and rerun both.
#
# <details><summary>Answer</summary>At two pixels, the accuracy is now about 16 %, against about 13 % as trained. At one pixel, it is about 5 points lower than with copies moved by one. One copy of each image and two epochs are not much for so many positions.</details>
#
# The next cell shows digits that one of the models with copies still misreads. Which could you have misread?

# %%
with torch.no_grad():
    guesses = augmented()[0](test_images).argmax(-1)
missed = (guesses != test_labels).nonzero()[:, 0][:12]
if len(missed):
    names = [f"{test_labels[i].item()}, read as {guesses[i].item()}" for i in missed]
    figures.tiles(
        list(test_images[missed, 0]),
        names,
        title="Held-out digits that it misreads (at most twelve)",
    )

# %% [markdown]
# ### At full size (optional)
#
# In **pretraining**, a model is first trained on a very large data set, here with labels. The **ResNet** is a CNN with residual connections.
#
# **Predict.** The paper pretrains both on 1.3, on 14 and on 300 million images, then fine-tunes on ImageNet (1,000 classes). Where is the ViT ahead of the ResNet?
#
# <details><summary>With all three</summary>With 1.3 million, it is a few points behind.</details>
# <details><summary>Clearly only with 300 million</summary>Yes. With 14 million, the best models of both kinds are about level.</details>
# <details><summary>With none of them</summary>That is what 100 digits suggest.</details>
#
# **From the lecture** (CS60216, slide "Image Classification"): numbers of Dosovitskiy et al., 2020, table 2.
#
# | model | pretraining images | ImageNet accuracy | compute for pretraining (TPUv3-core-days) |
# | --- | --- | --- | --- |
# | ViT-L/16 | 300 million | 87.76 % | 680 |
# | ViT-L/16 | 14 million | 85.30 % | 230 |
# | ResNet-152x4 (BiT-L) | 300 million | 87.54 % | 9,900 |
#
# **Predict.** What do the first and the last row show?
#
# <details><summary>Attention is better than convolution</summary>Their accuracies differ by 0.2 points. And with 1.3 million images the order is reversed.</details>
# <details><summary>The same accuracy, for about a fifteenth of the compute</summary>Yes: 680 against 9,900 core-days.</details>
# <details><summary>ViTs need fewer images</summary>Both had the same 300 million. Row 2 shows what fewer cost the ViT.</details>
#
# **From the lecture** (STATS 403, lecture 7, "a history" and "advantages"):
#
# | year | model | what was new |
# | --- | --- | --- |
# | 2015 | ResNet (He et al.) | CNNs of more than 100 layers, by residual connections |
# | 2020 | ViT (Dosovitskiy et al.) | patches as tokens, and a plain encoder |
# | 2020 | DeiT (Touvron et al.) | 1.3 million images are enough, with strong augmentation and a CNN as teacher |
# | 2021 | Swin (Liu et al.) | attention inside shifted windows: locality is built in again |
# | 2022 | ConvNeXt (Liu et al.) | a CNN, built with design choices of ViTs and trained as they are |
#
# **Predict.** The slide lists global context, scalability and parameter efficiency. Which do *your* measurements contradict?
#
# <details><summary>Global context</summary>Every patch can attend to every patch. Section 8 measures how far.</details>
# <details><summary>Scalability</summary>Your data sets are far too small to judge this. The table above supports it.</details>
# <details><summary>Parameter efficiency</summary>Yes. Your CNN has about half the parameters of your ViT, and reads more digits after as many steps. How many parameters a model needs depends on the data and the training.</details>

# %% [markdown]
# ### Does the table know the grid?
#
# **Predict.** The rows start as random vectors. After training, which two patches have the most similar rows?
#
# <details><summary>Two neighbours</summary>The paper found this after millions of photos. See what your digits taught.</details>
# <details><summary>Two patches that nearly always have ink</summary>The model must tell these apart: which stroke is where decides the digit.</details>
# <details><summary>Two patches that are nearly always black</summary>Yes. Their pixels are the same in nearly every digit, so they mean the same: nothing is here.</details>


# %%
where = torch.cartesian_prod(torch.arange(4), torch.arange(4)).float()
neighbours = torch.cdist(where, where, p=1) == 1  # (patch, patch), one step apart


def mean_similarity(vits: list[nn.Module], pairs: Tensor) -> list[float]:
    """The mean cosine similarity of the rows of these pairs of patches, for each model."""
    found = []
    for vit in vits:
        rows = position_table(vit)[1:]
        rows = F.normalize(rows - rows.mean(0), dim=-1)
        found.append(float((rows @ rows.T)[pairs].mean()))
    return found


def untrained_vits() -> list[nn.Module]:
    """Three ViTs that have seen nothing."""
    made = []
    for seed in range(3):
        torch.manual_seed(seed)
        made.append(new_vit().eval())
    return made


def kinds_of_pairs() -> dict[str, Tensor]:
    """Pairs of different patches (patch, patch), by whether more than half of the digits have ink."""
    ink = (patchify(train_images, 3).mean(-1) > 0.05).float().mean(0) > 0.5
    different = ~torch.eye(16, dtype=torch.bool)
    return {
        "both black": ~ink[:, None] & ~ink & different,
        "both with ink": ink[:, None] & ink & different,
        "one of each": ink[:, None] != ink,
        "neighbours": neighbours,
    }


both_black = kinds_of_pairs()["both black"]
figures.runs(
    {"untrained, both black": mean_similarity(untrained_vits(), both_black)}
    | {name: mean_similarity(augmented(), pairs) for name, pairs in kinds_of_pairs().items()},
    "mean cosine similarity",
    "Rows of the table for pairs of patches",
)

# %% [markdown]
# What to see: only the rows of two black patches (here the left and the right column) became somewhat alike: about 0.2 to 0.3, where 1 means the same direction. Neighbours did not. (The mean row is subtracted first, so unrelated rows come out slightly below zero.) So these digits have taught the table where ink is rare, and hardly its grid. Photos can: in the paper, after pretraining on millions, neighbours are alike.
#
# **A good place to stop.**
#
# ## 8 · What does the class token attend to?
#
# The class token gathers with attention. Inspect it in the ViTs of `augmented()`, fine-tuned on originals and copies. PyTorch's blocks do not return their weights. The function below records the input of each block, and computes the weights again.


# %%
def attention_of(model: nn.Module, images: Tensor) -> list[Tensor]:
    """The attention weights of each block: (batch, heads, tokens, tokens)."""
    found: list[Tensor] = []

    def record(block: Any, inputs: tuple[Tensor, ...]) -> None:
        x = block.norm1(inputs[0])
        found.append(block.self_attn(x, x, x, average_attn_weights=False)[1])

    blocks = [part for part in model.modules() if isinstance(part, nn.TransformerEncoderLayer)]
    hooks = [block.register_forward_pre_hook(record) for block in blocks]
    with torch.no_grad():
        model.eval()(images)
    for hook in hooks:
        hook.remove()
    return found


for number, attended in enumerate(attention_of(augmented()[0], test_images), start=1):
    print(f"block {number}: (images, heads, tokens, tokens) = {tuple(attended.shape)}")

# %% [markdown]
# How do you combine two blocks? Say that in the second block, the class token attends to patch 6. By then, the token of patch 6 is no longer that patch alone: in the first block, it has taken in others.
#
# **Attention rollout** (Abnar and Zuidema, 2020) follows the paths through all blocks. Let $A_l$ be the weights of block $l$, averaged over the heads. Rollout assumes that each token keeps half of itself, by the residual connection, and takes in the other half by attention:
#
# $$\tilde A_l = \tfrac12 I + \tfrac12 A_l \qquad R = \tilde A_L \cdots \tilde A_2\, \tilde A_1$$
#
# $I$ is the identity matrix and $L$ the number of blocks. Under this assumption, $R_{ij}$ is the share of token $i$'s output that comes from input token $j$.

# %%
first = torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]])
second = torch.tensor([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
numbered = ["0", "1", "2"]
figures.steps(
    {
        "block 1, with residual": (first, "from token", numbered),
        "block 2, with residual": (second, "from token", numbered),
    },
    "to token",
    numbered,
)

# %% [markdown]
# **Predict.** In block 1, token 1 attends to token 2. In block 2, token 0 attends to token 1. The two matrices above include the residual. Why is block 1 the factor on the *right*?
#
# <details><summary>It does not matter: a product is a product</summary>Matrices do not commute. The order decides which block came first.</details>
# <details><summary>A row of block 2 says which tokens it mixes; block 1 says what those were made of</summary>Yes. Start at a row of the last block, and go back: each factor further right belongs to an earlier block.</details>
# <details><summary>Block 1 counts most</summary>All blocks count alike: each is a factor once.</details>

# %%
print("second @ first:", second @ first, sep="\n")
print("first @ second:", first @ second, sep="\n")

# %% [markdown]
# What to see: only in the first product does token 0 receive a quarter from token 2.
#
# **Exercise** (14 minutes). Write `attention_rollout`.
#
# <details><summary>Hint</summary>Begin with the identity, and multiply each block from the left. <code>torch.eye(n)</code> needs the dtype of the weights.</details>


# %% exercise attention_rollout
def attention_rollout(weights: Sequence[Tensor]) -> Tensor:
    """Follow attention through all blocks; the residual connection keeps half of each token.

    weights: one tensor (batch, heads, n, n) for each block, the first block first. Rows sum to
    1; the number of heads may differ. Average the heads. Returns (batch, n, n).
    """
    # BEGIN SOLUTION
    rollout = torch.eye(weights[0].shape[-1], dtype=weights[0].dtype, device=weights[0].device)
    for of_block in weights:
        mixed = (of_block.mean(dim=1) + torch.eye(len(rollout[-1])).to(rollout)) / 2
        rollout = mixed @ rollout
    return rollout
    # END SOLUTION


# %% check attention_rollout points=2
hint = "average the heads; half of that plus half the identity; multiply, later blocks on the left"
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
    # in the first block token 1 attends to token 2, in the second block token 0 to token 1
    first = torch.tensor([[1, 0, 0], [0, 0, 1], [0, 0, 1]], dtype=torch.float64)[None, None]
    second = torch.tensor([[0, 1, 0], [0, 1, 0], [0, 0, 1]], dtype=torch.float64)[None, None]
    rollout = check.call([first, second])
    check.shape(rollout, batch=1, token=3, tokens=3)
    check.equal(
        rollout[0],
        torch.tensor([[0.5, 0.25, 0.25], [0, 0.5, 0.5], [0, 0, 1]], dtype=torch.float64),
        "token 0 attends to token 1 after token 1 has taken in half of token 2: a quarter arrives",
        hint="the second block is the factor on the left",
    )
with Check(
    "attention_rollout", "a batch, and blocks with different numbers of heads", hint
) as check:
    weights = [
        torch.softmax(numbers(3, heads, 5, 5, seed=heads, scale=2.0), -1) for heads in (2, 4, 1)
    ]
    rollout = check.call(weights)
    check.shape(rollout, batch=3, token=5, tokens=5)
    check.equal(
        rollout.sum(-1),
        torch.ones(3, 5, dtype=torch.float64),
        "every row of the rollout sums to 1",
    )
    alone = check.call([of_block[1:2] for of_block in weights])
    check.equal(rollout[1], alone[0], "an image gives the same rollout in a batch as alone")
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
# Now see all of it on a held-out digit: each head of each block, and your rollout.


# %%
def show_reader(digit: int) -> None:
    """Show what the class token attends to in the first held-out image of this digit."""
    image = test_images[(test_labels == digit).nonzero()[0]]  # (1, 1, 12, 12)
    weights = attention_of(augmented()[0], image)
    show_patches(
        image[0],
        3,
        weights=torch.cat(weights),
        rollout=attention_rollout(weights)[0],
        title=f"What the class token attends to in a {digit}",
    ).show()


show_reader(7)


# %% [markdown]
# What to see: different heads attend to different patches. Choose another head and block (*layer*, from 0) in the view, or another digit in the last line.
#
# ### How far away does a head attend? (optional)
#
# A head can attend to any patch. Does it stay close? The **mean attention distance** (Dosovitskiy et al., 2020, figure 7) is the distance between a patch and those it attends to, weighted by the attention. Here, the class token is left out.
#
# Controls: even attention, untrained models, and one more: let *every* patch of an image attend as the average patch does. Such a head knows no neighbours.
#
# **Predict.** In block 1, trained heads attend to closer patches than untrained ones. What becomes of this when all patches attend alike?
#
# <details><summary>The distance rises to that of even attention</summary>That would be a head which has learned to attend to neighbours, as some do after pretraining on photos.</details>
# <details><summary>It stays as short</summary>Yes. A head that attends to the middle, where the ink usually is, is near to every patch without knowing any neighbours.</details>
# <details><summary>It rises about half way</summary>Then half of the effect would come from neighbours. Run it.</details>


# %%
def attention_distance(weights: Tensor, alike: bool = False) -> list[float]:
    """How many pixels away a patch attends, on average, for each head; alike: with mean rows."""
    among_patches = F.normalize(weights[:, :, 1:, 1:], p=1, dim=-1)  # without the class token
    if alike:  # in each image, every patch attends as the average patch does
        among_patches = among_patches.mean(dim=2, keepdim=True).expand_as(among_patches)
    pixels_apart = 3 * torch.cdist(where, where)  # (patch, patch), between the patches' centres
    return (among_patches * pixels_apart).sum(-1).mean(dim=(0, 2)).tolist()


def distances(models: list[nn.Module], block: int, alike: bool = False) -> list[float]:
    """The distance of every head of this block (1 or 2), in all models."""
    found = [attention_of(model, test_images)[block - 1] for model in models]
    return [pixels for weights in found for pixels in attention_distance(weights, alike)]


figures.runs(
    {
        "even attention": attention_distance(torch.ones(1, 1, 17, 17)),
        "untrained, block 1": distances(untrained_vits(), 1),
        "trained, block 1": distances(augmented(), 1),
        "block 1, all patches alike": distances(augmented(), 1, alike=True),
        "untrained, block 2": distances(untrained_vits(), 2),
        "trained, block 2": distances(augmented(), 2),
        "block 2, all patches alike": distances(augmented(), 2, alike=True),
    },
    "mean attention distance (pixels)",
    "How far a patch attends: two heads of each of three models",
)

# %% [markdown]
# What to see: even attention has a mean distance of 6 pixels, and untrained models nearly the same. In block 1, it is shorter in all six trained heads: 5.3 on average. With all patches alike, the distance does not rise. So a short distance is no evidence of locality here. In the paper, on photos, some heads of the first blocks attend to a small part of the image.
#
# ### Does the class token attend to the strokes?
#
# Which share of the rollout comes from patches with ink? Two controls are needed. One is an *untrained* model. The other is the rollout of *another image*: how much of it falls on the ink of this one?
#
# **Predict.** How large is the share with the rollout of another image?
#
# <details><summary>As in an untrained model</summary>Then the rollout would depend on the image alone, and not on where ink usually is.</details>
# <details><summary>Halfway between untrained and trained</summary>Then half of what training added would belong to this digit.</details>
# <details><summary>Nearly as large as with its own rollout</summary>Yes. Nearly the same patches have ink in every digit, so another image's rollout falls on them too.</details>


# %%
def share_from_ink(models: list[nn.Module], other: int = 0) -> list[float]:
    """The share of the rollout that comes from ink; other=1: the rollout of another image."""
    shares = []
    for model in models:
        from_patches = attention_rollout(attention_of(model, test_images))[:, 0, 1:]
        from_patches = (from_patches / from_patches.sum(-1, keepdim=True)).roll(other, dims=0)
        shares.append(float((from_patches * has_ink).sum(-1).mean()))
    return shares


def patches_with_ink(images: Tensor) -> Tensor:
    """Which patches of 3 by 3 have ink: (images, patches)."""
    return patchify(images, 3).mean(-1) > 0.05


has_ink = patches_with_ink(test_images)
figures.runs(
    {
        "patches with ink": [has_ink.float().mean().item()],
        "untrained, own rollout": share_from_ink(untrained_vits()),
        "trained, another's rollout": share_from_ink(augmented(), other=1),
        "trained, own rollout": share_from_ink(augmented()),
    },
    "share",
    "What reaches the class token from patches with ink",
)

# %% [markdown]
# What to see: nearly half of the patches have ink. In an untrained model, about the same share reaches the class token from them. After training, it is about four fifths, and with the rollout of another image nearly as large. So training has turned the attention to the patches that *usually* have ink.
#
# Does it also follow the strokes of *this* digit? Imagine a rollout that does so perfectly: it is spread evenly over the ink of its own image.
#
# **Predict.** What share of this perfect rollout falls on the ink of *another* image?
#
# <details><summary>About 46 %</summary>That is the share of patches with ink. Chance would give it if the ink could be anywhere.</details>
# <details><summary>About 80 %</summary>That would be as much as the trained model's. It is more.</details>
# <details><summary>Over 90 %</summary>Yes. Digits differ in their strokes, but hardly in <em>which patches</em> have ink.</details>

# %%
has_ink = patches_with_ink(test_images)
perfect = has_ink / has_ink.sum(-1, keepdim=True)
on_another = (perfect.roll(1, dims=0) * has_ink).sum(-1).mean().item()
print(f"a perfect rollout, on the ink of another image: {on_another:.0%}")
print("share of the digits with ink, for each patch:")
print(has_ink.float().mean(0).reshape(4, 4))

# %% [markdown]
# What to see: in the two middle columns, each patch has ink in at least four fifths of all digits. So this measure can hardly tell one digit from another, and a high share is no evidence that the model attends to these strokes.
#
# Such maps are a hint. Rollout also ignores values and feed-forward networks, and its *half* is an assumption.
#
# ### Draw a digit
#
# Now draw: your model computes in the page. scikit-learn's digits were scans of 32 by 32 pixels: each grey pixel counts the ink in a square of 4 by 4. The page counts the same way. Training digits fill the height, so it first *centres and scales* your drawing.
#
# **Predict.** You untick *centre and scale*, set *width* to 2, and draw a digit half as large in the middle. What does the model answer?
#
# <details><summary>The right digit: a small 3 is a 3</summary>Every digit in the training set fills the height.</details>
# <details><summary>All ten probabilities are near 10 %: it has never seen such an image</summary>Softmax compares the ten logits with each other. It does not say how familiar the image is.</details>
# <details><summary>Often a wrong digit, with a high probability</summary>Yes. Try it. The cell after the next measures it for the held-out digits.</details>

# %%
from transformer_course.widgets import show_vit

one_of_each = torch.stack([(test_labels == digit).nonzero()[0, 0] for digit in range(10)])
show_vit(
    augmented()[0],
    test_images[one_of_each],
    [f"test image of a {digit}" for digit in range(10)],
    targets=range(10),
    title="Draw a digit: your Vision Transformer reads it",
)

# %% [markdown]
# **Your turn.** Tick *centre and scale*, and draw each digit twice. How many of your 20 drawings does it read? Compare with the accuracy of the first of the three models, which the next cell prints. Then press *Clear*: what does it answer when nothing is drawn?
#
# Choose *test image of a 7*. Click a head's small map, then *switch … off*: its output becomes 0, the zero ablation of lesson 7. Press *all heads on* before the next. Which head changes the probability of 7 most? (The page counts from 0: its block 0 is block 1 above.)
#
# <details><summary>Answer for one trained model; yours may differ</summary>With nothing drawn, it answers 5 (85 %). Block 0, head 1 matters most: without it, the probability of 7 falls from 94 % to 1 %, and the model answers 1. Without another head, it stays at 87 % or more. For the test image of a 6, it is block 0, head 0. So a head that hardly matters for one image may decide another.</details>

# %%
small_digits = F.pad(F.avg_pool2d(test_images, 2), (3, 3, 3, 3))  # half as large, in the middle
for described, pictures in (("as they are", test_images), ("half as large", small_digits)):
    with torch.no_grad():
        largest = [vit(pictures).softmax(-1).amax(-1).mean().item() for vit in augmented()]
    print(f"{described}:")
    print("  accuracy:", *(f"{accuracy(vit, pictures, test_labels):.0%}" for vit in augmented()))
    print("  mean of the largest probability:", *(f"{mean:.2f}" for mean in largest))
print("chance: 10%")

# %% [markdown]
# What to see: on digits half as large, the accuracy is near chance, and yet the largest probability is above 0.5 on average. On real digits the largest probability is about 0.84 on average, so it does fall, but far too little: about 0.6, where one answer in ten is right. (Halving also makes the strokes greyer. So size is not the only change.)
#
# ### A pretrained model on a photo
#
# The same function works for a model of 12 blocks. The next cell looks for `google/vit-base-patch16-224` on your machine, and never downloads it. If it is there, you see your rollout on the photo of section 1. (To get it, run `transformers.ViTModel.from_pretrained("google/vit-base-patch16-224")` once: 350 MB.)

# %% folded=true
# Draws your rollout of a pretrained ViT on the photo, if that model is on this machine; click to unfold
PRETRAINED = "google/vit-base-patch16-224"


def pretrained_attention(pixels: Tensor) -> list[Tensor] | None:
    """The attention weights of the pretrained ViT's 12 blocks; None where it is missing."""
    if not importlib.util.find_spec("transformers"):
        print("no pretrained model: the library transformers is not installed here")
        return None
    library = importlib.import_module("transformers")
    how = {"local_files_only": True, "attn_implementation": "eager", "add_pooling_layer": False}
    try:
        model = library.ViTModel.from_pretrained(PRETRAINED, **how)
    except (OSError, ValueError, ImportError):
        print(f"no pretrained model: {PRETRAINED} is not on this machine")
        return None
    with torch.no_grad():
        return list(model.eval()(2 * pixels - 1, output_attentions=True).attentions)


middle = whole[None, :, :384, 128:512]  # 384 by 384 pixels of the photo
square = F.interpolate(middle, size=(224, 224), mode="bicubic", antialias=True).clamp(0, 1)
if photo_weights := pretrained_attention(square):
    from_photo = attention_rollout(photo_weights)[0, 0, 1:].reshape(14, 14)
    blocks_of_16 = from_photo.repeat_interleave(16, 0).repeat_interleave(16, 1)
    figures.tiles(
        [square[0].mean(0), blocks_of_16 / blocks_of_16.max()],
        ["the photo, in grey", "your rollout"],
        title="What reaches the class token of ViT-B/16",
        across=2,
    )

# %% [markdown]
# **Your turn.** If you see the map: which control does it need before you say what the model attends to?
#
# <details><summary>Answer</summary>The two from above: an untrained model of the same size, and the rollout of another photo. A bright roof in this map alone is no evidence.</details>
#
# ## 9 · Larger images
#
# Your model reads images of 12 by 12. Now they are 18 by 18: 6 by 6 patches. But its table of positions has rows for a grid of 4 by 4 only.

# %%
by_channel = position_table(augmented()[0])[1:].reshape(4, 4, 32)
figures.tiles(
    [by_channel[:, :, channel] for channel in range(6)],
    [f"channel {channel}" for channel in range(6)],
    title="The table of positions as small images: the first 6 of its 32 channels",
    colours="cividis",
)

# %% [markdown]
# What to see: over the grid, each of the $d_{\text{model}}$ channels is a small image of 4 by 4. So enlarge it as you would enlarge an image, by bicubic interpolation. The class token's row is not on the grid, and stays as it is.
#
# **Exercise** (16 minutes). Write `interpolate_positions`.
#
# <details><summary>Hint</summary><code>F.interpolate(grid, size=…, mode="bicubic", align_corners=False)</code> expects (batch, channels, height, width). So turn (h · w, d_model) into (1, d_model, h, w), and back afterwards.</details>


# %% exercise interpolate_positions
def interpolate_positions(
    table: Tensor, old_grid: tuple[int, int], new_grid: tuple[int, int]
) -> Tensor:
    """Resize a table of positions to another grid of patches, by bicubic interpolation.

    table (1 + h · w, d_model), (h, w) the old_grid: the class token's row, which is kept, then
    the patches row by row -> (1 + new h · new w, d_model). Use align_corners=False.
    """
    # BEGIN SOLUTION
    grid = table[1:].reshape(1, *old_grid, -1).permute(0, 3, 1, 2)
    larger = F.interpolate(grid, size=new_grid, mode="bicubic", align_corners=False)
    return torch.cat([table[:1], larger.flatten(2)[0].T])
    # END SOLUTION


# %% check interpolate_positions points=2
hint = "set the class token's row aside; resize the others from an image of old_grid's size to new_grid"
with Check("interpolate_positions", "from 1 by 2 to 3 by 6", hint) as check:
    table = torch.tensor([[7.0, -7.0, 5.0], [0.0, 1.0, 3.0], [6.0, 1.0, 0.0]], dtype=torch.float64)
    larger = check.call(table, (1, 2), (3, 6))
    check.shape(larger, rows=19, d_model=3)
    check.equal(larger[0], table[0], "the class token's row is kept as it is")
    check.equal(
        larger[1:, 1],
        torch.ones(18, dtype=torch.float64),
        "a column that is constant over the patches stays constant",
        hint="each of the d_model numbers is a channel of its own",
    )
    check.equal(
        larger[1:, 0].reshape(3, 6)[:, [1, 4]],
        torch.tensor([[0.0, 6.0]] * 3, dtype=torch.float64),
        "with three times as many columns, every third value is an old one: it lies at the centre of "
        "an old patch",
        hint="rows in reading order, exactly new_grid as the size, and align_corners=False",
    )
    across = larger[1:, 0].reshape(3, 6)[0, 1:5]
    check.true(
        bool((across.diff() > 0.1).all()),
        "between two old patches the values change gradually",
        hint='mode="bicubic"',
    )
    step = torch.tensor([[5.0], [0.0], [0.0], [6.0], [6.0]], dtype=torch.float64)
    wide = check.call(step, (1, 4), (1, 12))
    check.shape(wide, rows=13, d_model=1)
    check.true(
        bool(wide[1:].min() < -0.05) and bool(wide[1:].max() > 6.05),
        "bicubic interpolation overshoots: next to a step from 0 to 6, it goes a little below 0 and "
        "a little above 6",
        hint='mode="bicubic", and its values as they are',
    )
with Check("interpolate_positions", "a grid that is not square", hint) as check:
    table = numbers(7, 4)
    check.equal(check.call(table, (2, 3), (2, 3)), table, "the same grid gives the same table")
    larger = check.call(table, (2, 3), (6, 9))
    check.shape(larger, rows=55, d_model=4)
    check.equal(
        larger[1:].reshape(6, 9, 4)[1::3, 1::3].reshape(6, 4),
        table[1:],
        "at the centre of each old patch, the row is the old one",
        hint="grids are (height, width): the column index changes fastest",
    )
    check.shape(check.call(table, (2, 3), (4, 5)), rows=21, d_model=4)
    check.shape(check.call(table, (2, 3), (1, 2)), rows=3, d_model=4)
    check.true(
        not torch.equal(check.call(table, (2, 3), (3, 2)), table),
        "the same number of patches in another grid gives another table",
        hint="the two grids decide, not the number of patches",
    )
# BEGIN HIDDEN TESTS
with Check("interpolate_positions", "transposed, scaled and added tables") as check:
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
    check.equal(slope[1:].sum(0), total, "the weights of each new row sum to 1")
# END HIDDEN TESTS

# %% [markdown]
# Try it on digits that are enlarged to 18 by 18. Three models get two tables each: your interpolated one, and a control that repeats the old rows in reading order, as if there were no grid. Everything else is equal: the other parameters, and one epoch of fine-tuning on large digits.


# %%
def enlarged(images: Tensor) -> Tensor:
    """From 12 by 12 to 18 by 18 pixels."""
    return F.interpolate(images, size=(18, 18), mode="bicubic", align_corners=False)


def with_table(vit: nn.Module, table: Tensor) -> nn.Module:
    """A model for 18 by 18 with this table (37, 32), and all else from a model for 12 by 12."""
    large = VisionTransformer(18, 3, 1, 10, d_model=32, num_layers=2, num_heads=2, d_ff=64)
    state = vit.state_dict()
    for name, part in large.state_dict().items():
        if part.numel() == table.numel() and part.shape[-1] == 32:
            state[name] = table.reshape(part.shape)
    large.load_state_dict(state)
    return large


def before_and_after(vit: nn.Module, table: Tensor) -> list[float]:
    """The accuracy on large digits, before and after one epoch of fine-tuning on them."""
    large = with_table(vit, table)
    before = accuracy(large, enlarged(test_images), test_labels)
    torch.manual_seed(0)
    train_classifier(large, enlarged(train_images), train_labels, epochs=1, lr=0.001)
    return [before, accuracy(large, enlarged(test_images), test_labels)]


# %%
def both_tables(vit: nn.Module) -> list[float]:
    """The accuracies with the interpolated and with the repeated table, before and after."""
    old = position_table(vit)
    interpolated = interpolate_positions(old, (4, 4), (6, 6))
    repeated = torch.cat([old[:1], old[1:].repeat(3, 1)[:36]])
    return [*before_and_after(vit, repeated), *before_and_after(vit, interpolated)]


before_repeated, after_repeated, before_interpolated, after_interpolated = zip(
    *map(both_tables, augmented()), strict=True
)
figures.runs(
    {
        "repeated, before": before_repeated,
        "interpolated, before": before_interpolated,
        "repeated, after": after_repeated,
        "interpolated, after": after_interpolated,
    },
    "held-out accuracy",
    "Two tables for larger images, before and after one epoch of fine-tuning",
)

# %% [markdown]
# What to see: the interpolated table is ahead, before fine-tuning and after it. Only the tables were different at the start. It helps although neighbouring rows are not alike: each new row is made from the old rows nearest to the same place in the digit. The control puts most old rows elsewhere. Even so, interpolation alone is not enough. A likely reason: in an enlarged digit, each patch holds a smaller part of a stroke. So Vision Transformers are adapted to larger images in two steps: interpolate the positions, then fine-tune.
#
# ## 10 · Parity
#
# Is what you built the real thing? Two comparisons, both in float64. First PyTorch's `Conv2d`, with the weights of your patch embedding.

# %%
embedding = PatchEmbedding(12, 3, 1, 32).double()
convolution = nn.Conv2d(1, 32, kernel_size=3, stride=3).double()
as_kernels = embedding.projection.weight.reshape(32, 1, 3, 3)
convolution.load_state_dict({"weight": as_kernels, "bias": embedding.projection.bias})
eight = test_images[:8].double()
with torch.no_grad():
    difference = embedding(eight) - convolution(eight).flatten(2).transpose(1, 2)
print(f"patch embedding and Conv2d: largest difference {difference.abs().max().item():.0e}")

# %% [markdown]
# Second, Hugging Face's `ViTModel`, if the library `transformers` is installed. It gets the parameters of your trained model (the head stays yours), so nothing is downloaded. Its parts have other names. The two folded cells below say which is which, and copy them.


# %% folded=true
# Finds the part of PyTorch's block that Hugging Face calls by another name; click to unfold
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


def source_for(name: str, model: nn.Module) -> Tensor:
    """The part of your reader that Hugging Face calls by this name."""
    kind, parts = name.rsplit(".")[-1], list(model.modules())
    if name.startswith("embeddings.patch"):
        embedding = next(part for part in parts if isinstance(part, PatchEmbedding))
        return getattr(embedding.projection, kind)
    if "position" in name:
        return position_table(model)
    if name.startswith("embeddings"):
        named = model.named_parameters()
        return next(p for n, p in named if p.numel() == 32 and is_class_token(n, p))
    blocks = [part for part in parts if isinstance(part, nn.TransformerEncoderLayer)]
    if "layer." in name or "layers." in name:
        return part_for(name, blocks[next(int(s) for s in name.split(".") if s.isdigit())])
    inside = {part for block in blocks for part in block.modules()}
    norms = [part for part in parts if isinstance(part, nn.LayerNorm) and part not in inside]
    return getattr(norms[-1], kind)


# %% folded=true
# Makes a ViTModel of your reader's sizes, with your reader's parameters; click to unfold
@torch.no_grad()
def hugging_face(model: nn.Module, images: Tensor) -> Tensor:
    """The logits of `ViTModel`, with the parameters of a reader of 12 by 12 digits."""
    library = importlib.import_module("transformers")
    config = library.ViTConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        image_size=12,
        patch_size=3,
        num_channels=1,
        layer_norm_eps=1e-5,
    )
    twin = library.ViTModel(config, add_pooling_layer=False).to(images.dtype).eval()
    for name, part in twin.named_parameters():
        part.copy_(source_for(name, model).reshape(part.shape))
    layers = [part for part in model.modules() if isinstance(part, nn.Linear)]
    head = next(layer for layer in layers if layer.out_features == 10)
    return head(twin(images).last_hidden_state[:, 0])


# %%
if importlib.util.find_spec("transformers"):
    exact_reader = copy.deepcopy(augmented()[0]).double()
    with torch.no_grad():
        difference = exact_reader(eight) - hugging_face(exact_reader, eight)
    print(f"whole model and ViTModel: largest difference {difference.abs().max().item():.0e}")
else:
    print("Hugging Face's library is not installed here; `pip install transformers` installs it")

# %% [markdown]
# What to see: the differences are 0 or around 1e-15, which is rounding. `google/vit-base-patch16-224` has the same parts as your model, with 12 blocks and a width of 768.
#
# ## 11 · In your own words
#
# **Question** (10 minutes). A friend leaves the table of positions out of a Vision Transformer and trains it on the digits. It still reads more than half of them. How can it read any at all, and what can it not know? Write three or four sentences: double-click the cell below. A person reads them.

# %% answer without_positions [markdown] points=2
# <!-- BEGIN SOLUTION -->
# Without positions, the model gets a bag of patches: swap any two of them, and the logits stay the same. It still sees what is inside each patch (strokes, corners, empty patches) and how many there are of each kind, and this tells many digits apart, such as a 1 from an 8. It cannot know where a patch was, or which patches are neighbours. So two images that are made of the same patches in different arrangements give the same logits.
# <!-- END SOLUTION -->

# %% [markdown]
# ## Where you stand

# %%
from transformer_course.progress import show_progress

show_progress("08_vision_transformer")

# %% [markdown]
# - An image becomes a sequence of $\frac{H}{p} \cdot \frac{W}{p}$ patches. The patch embedding, one linear layer, makes a token of each. It equals a `Conv2d` whose stride is its kernel size.
# - A class token, or mean pooling, gives one vector for the image. The classification head turns it into logits.
# - The positions are a learned table. The order of its rows is arbitrary, and it can be interpolated to a larger grid.
# - A CNN has a stronger inductive bias than a ViT. Equivariant convolutions, *together with* a maximum over all positions, read digits moved by distances never seen. Convolutions alone read far fewer. With the same few steps, the CNN also does better on few images.
# - A ViT must learn such things from examples: by data augmentation, or by pretraining before fine-tuning. Here, brief augmentation taught a part of what it showed, and nothing beyond.
# - Attention rollout is a hint at what the class token uses. Compare it with an untrained model, and with the rollout of another image.
#
# **What comes next.** Your encoder reads: it takes in a whole image or sentence, and classifies it. It cannot write. What turns it into a model that generates a text, token by token? That is lesson 9, the decoder.
