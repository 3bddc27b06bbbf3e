# %% given imports
# pyright: reportRedeclaration=false, reportReturnType=false, reportUnusedExpression=false
import copy
import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn


# %% wrong patchify reshape_alone
# Your patches are stripes: the numbers keep their order in memory, so one patch mixes pixels from
# all over a row of the image. Permute the axes before you flatten.
def patchify(images: Tensor, patch_size: int) -> Tensor:
    batch, channels, height, width = images.shape
    if height % patch_size or width % patch_size:
        raise ValueError(f"{height} or {width} is no multiple of {patch_size}")
    return images.reshape(batch, -1, channels * patch_size**2)


# %% wrong patchify channel_last
# Inside your patches, the colours of each pixel are next to each other. The channel axis should
# come before the two pixel axes.
def patchify(images: Tensor, patch_size: int) -> Tensor:
    batch, channels, height, width = images.shape
    for side in (height, width):
        if side % patch_size:
            raise ValueError(f"{side} is no multiple of {patch_size}")
    p = patch_size
    cut = images.reshape(batch, channels, height // p, p, width // p, p)
    return cut.permute(0, 2, 4, 3, 5, 1).flatten(1, 2).flatten(2)


# %% wrong patchify column_by_column of="channel_last"
# Your patches run down the columns of the image. They should run along the rows, as you read.
# replace: return cut.permute(0, 2, 4, 3, 5, 1).flatten(1, 2).flatten(2)
# by:      return cut.permute(0, 4, 2, 1, 3, 5).flatten(1, 2).flatten(2)

# %% wrong patchify patches_transposed of="channel_last"
# Each of your patches is transposed. Inside a patch, the pixels run row by row, so the axis y comes
# before x.
# replace: return cut.permute(0, 2, 4, 3, 5, 1).flatten(1, 2).flatten(2)
# by:      return cut.permute(0, 2, 4, 1, 5, 3).flatten(1, 2).flatten(2)

# %% wrong patchify axes_not_brought_in_order of="channel_last"
# Your patches are stripes: the numbers keep their order in memory, so one patch mixes pixels from
# all over a row of the image. Permute the axes before you flatten.
# replace: return cut.permute(0, 2, 4, 3, 5, 1).flatten(1, 2).flatten(2)
# by:      patches = (height // p) * (width // p)
#          return cut.reshape(batch, patches, channels * p * p)

# %% wrong patchify pixel_axis_split_first of="channel_last"
# You split each side into (p, number of patches), so your patches take every few pixels instead of
# neighbours. Split it into (number of patches, p).
# replace: cut = images.reshape(batch, channels, height // p, p, width // p, p)
#          return cut.permute(0, 2, 4, 3, 5, 1).flatten(1, 2).flatten(2)
# by:      cut = images.reshape(batch, channels, p, height // p, p, width // p)
#          return cut.permute(0, 3, 5, 1, 2, 4).flatten(1, 2).flatten(2)


# %% wrong patchify numbers_before_patches
# You return (batch, numbers, patches), as unfold does. Swap the last two axes.
def patchify(images: Tensor, patch_size: int) -> Tensor:
    for side in images.shape[-2:]:
        if side % patch_size:
            raise ValueError(f"{side} is no multiple of {patch_size}")
    return F.unfold(images, patch_size, stride=patch_size)


# %% wrong patchify overlapping of="numbers_before_patches"
# Your windows overlap, so there are too many patches. The window should move by the patch size.
# replace: return F.unfold(images, patch_size, stride=patch_size)
# by:      return F.unfold(images, patch_size).transpose(1, 2)

# %% wrong patchify each_channel_a_patch of="channel_last"
# You make separate patches of each channel. A patch should hold all channels of its square.
# replace: return cut.permute(0, 2, 4, 3, 5, 1).flatten(1, 2).flatten(2)
# by:      return cut.permute(0, 1, 2, 4, 3, 5).reshape(batch, -1, p * p)

# %% wrong patchify batch_in_the_patches of="channel_last"
# You have put the patches of all images into one sequence. Keep the batch as the first axis.
# replace: return cut.permute(0, 2, 4, 3, 5, 1).flatten(1, 2).flatten(2)
# by:      return cut.permute(0, 2, 4, 1, 3, 5).reshape(1, -1, channels * p * p)

# %% wrong patchify batch_mixed_up of="channel_last"
# You have mixed patches of different images. Keep the batch axis first when you permute and
# reshape.
# replace: return cut.permute(0, 2, 4, 3, 5, 1).flatten(1, 2).flatten(2)
# by:      return cut.permute(2, 4, 0, 1, 3, 5).reshape(batch, -1, channels * p * p)

# %% wrong patchify square_images_only of="reshape_alone"
# You assume as many patches across as down. Compute rows from the height and columns from the
# width.
# replace: return images.reshape(batch, -1, channels * patch_size**2)
# by:      p, side = patch_size, width // patch_size
#          cut = images.reshape(batch, channels, side, p, side, p)
#          return cut.permute(0, 2, 4, 1, 3, 5).flatten(1, 2).flatten(2)


# %% wrong patchify cuts_off_what_is_left
# You accept an image with a side that is not a multiple of the patch size. Check height and width
# each, and raise a ValueError with the side and the patch size.
def patchify(images: Tensor, patch_size: int) -> Tensor:
    return F.unfold(images, patch_size, stride=patch_size).transpose(1, 2)


# %% wrong patchify error_of_reshape
# Your code stops with PyTorch's own RuntimeError. Check both sides first, and raise a ValueError
# with the side and the patch size.
def patchify(images: Tensor, patch_size: int) -> Tensor:
    batch, channels, height, width = images.shape
    p = patch_size
    cut = images.reshape(batch, channels, height // p, p, width // p, p)
    return cut.permute(0, 2, 4, 1, 3, 5).flatten(1, 2).flatten(2)


# %% wrong patchify error_without_numbers
# Your message does not name both numbers that do not fit: the patch size, and the side that is not
# a multiple of it.
def patchify(images: Tensor, patch_size: int) -> Tensor:
    if images.shape[2] % patch_size or images.shape[3] % patch_size:
        raise ValueError("the image cannot be cut into whole patches")
    return F.unfold(images, patch_size, stride=patch_size).transpose(1, 2)


# %% wrong patchify only_height_is_checked
# You accept an image with a side that is not a multiple of the patch size. Check height and width
# each, and raise a ValueError with the side and the patch size.
def patchify(images: Tensor, patch_size: int) -> Tensor:
    if images.shape[2] % patch_size:
        raise ValueError(f"{images.shape[2]} is no multiple of {patch_size}")
    return F.unfold(images, patch_size, stride=patch_size).transpose(1, 2)


# %% wrong patchify only_width_is_checked
# You accept an image with a side that is not a multiple of the patch size. Check height and width
# each, and raise a ValueError with the side and the patch size.
def patchify(images: Tensor, patch_size: int) -> Tensor:
    if images.shape[3] % patch_size:
        raise ValueError(f"{images.shape[3]} is no multiple of {patch_size}")
    return F.unfold(images, patch_size, stride=patch_size).transpose(1, 2)


# %% wrong patchify area_is_checked
# You accept an image with a side that is not a multiple of the patch size. Check height and width
# each, and raise a ValueError with the side and the patch size.
def patchify(images: Tensor, patch_size: int) -> Tensor:
    height, width = images.shape[-2:]
    if height * width % patch_size**2:
        raise ValueError(f"{height} by {width} is no multiple of {patch_size}")
    return F.unfold(images, patch_size, stride=patch_size).transpose(1, 2)


# %% wrong patchify names_the_height_only of="only_height_is_checked"
# Your message does not name both numbers that do not fit: the patch size, and the side that is not
# a multiple of it.
# replace: if images.shape[2] % patch_size:
# by:      if images.shape[2] % patch_size or images.shape[3] % patch_size:

# %% wrong patchify unfold_reshaped of="numbers_before_patches"
# A row of your result holds one pixel of every patch: the axes (numbers, patches) are read in
# another order. Swap them with transpose, not with reshape.
# replace: return F.unfold(images, patch_size, stride=patch_size)
# by:      columns = F.unfold(images, patch_size, stride=patch_size)
#          return columns.reshape(len(images), -1, columns.shape[1])

# %% wrong patchify tensor_unfold_without_permute of="reshape_alone"
# Your patches hold several squares of one channel. Bring row and column before the channel, and
# reshape only then.
# replace: return images.reshape(batch, -1, channels * patch_size**2)
# by:      windows = images.unfold(2, patch_size, patch_size).unfold(3, patch_size, patch_size)
#          return windows.reshape(batch, -1, channels * patch_size**2)

# %% wrong patchify channel_behind_row of="channel_last"
# Your patches hold several squares of one channel. Bring row and column before the channel, and
# reshape only then.
# replace: return cut.permute(0, 2, 4, 3, 5, 1).flatten(1, 2).flatten(2)
# by:      return cut.permute(0, 2, 1, 4, 3, 5).reshape(batch, -1, channels * p * p)


# %% right patchify unfold
def patchify(images: Tensor, patch_size: int) -> Tensor:
    height, width = images.shape[-2:]
    if height % patch_size or width % patch_size:
        raise ValueError(f"images of {height} x {width} cannot be cut in patches of {patch_size}")
    return F.unfold(images, patch_size, stride=patch_size).transpose(1, 2)


# %% right patchify tensor_unfold
def patchify(images: Tensor, patch_size: int) -> Tensor:
    for axis in (2, 3):
        if images.size(axis) % patch_size != 0:
            raise ValueError(f"axis {axis}: {images.size(axis)} % {patch_size} is not 0")
    windows = images.unfold(2, patch_size, patch_size).unfold(3, patch_size, patch_size)
    return windows.permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)


# %% right patchify loops
def patchify(images: Tensor, patch_size: int) -> Tensor:
    height, width = images.shape[2:]
    if height % patch_size > 0:
        raise ValueError(f"height {height}, patch size {patch_size}")
    if width % patch_size > 0:
        raise ValueError(f"width {width}, patch size {patch_size}")
    rows = []
    for top in range(0, height, patch_size):
        for left in range(0, width, patch_size):
            patch = images[:, :, top : top + patch_size, left : left + patch_size]
            rows.append(patch.flatten(1))
    return torch.stack(rows, dim=1)


# %% right patchify chunks
def patchify(images: Tensor, patch_size: int) -> Tensor:
    batch, _, height, width = images.shape
    if height % patch_size or width % patch_size:
        raise ValueError(f"got height {height}, width {width} and patch_size {patch_size}")
    squares = [
        square.reshape(batch, 1, -1)
        for line in images.split(patch_size, dim=2)
        for square in line.split(patch_size, dim=3)
    ]
    return torch.cat(squares, 1)


# %% right patchify einsum
def patchify(images: Tensor, patch_size: int) -> Tensor:
    b, c, h, w = images.shape
    p = patch_size
    if h % p or w % p:
        raise ValueError(f"({h}, {w}) and {p}")
    x = (
        images.view(b, c, h // p, p, w // p, p)
        if images.is_contiguous()
        else images.reshape(b, c, h // p, p, w // p, p)
    )
    return torch.einsum("bchpwq->bhwcpq", x).reshape(b, (h // p) * (w // p), c * p * p)


# %% right patchify pixel_unshuffle
def patchify(images: Tensor, patch_size: int) -> Tensor:
    if images.shape[-2] % patch_size or images.shape[-1] % patch_size:
        raise ValueError(f"{tuple(images.shape[-2:])} is not divisible by {patch_size}")
    return F.pixel_unshuffle(images, patch_size).flatten(2).transpose(1, 2)


# %% wrong unpatchify reshape_alone
# Your image is put together from stripes. Permute the axes first, so that row is next to y and
# column next to x; only then reshape.
def unpatchify(patches: Tensor, patch_size: int, channels: int, height: int, width: int) -> Tensor:
    return patches.reshape(len(patches), channels, height, width)


# %% wrong unpatchify channel_last
# You read each patch as if its channels came last. Its numbers come channel by channel.
def unpatchify(patches: Tensor, patch_size: int, channels: int, height: int, width: int) -> Tensor:
    p = patch_size
    apart = patches.reshape(-1, height // p, width // p, p, p, channels)
    return apart.permute(0, 5, 1, 3, 2, 4).reshape(-1, channels, height, width)


# %% wrong unpatchify column_by_column
# You put the patches down the columns of the image. They come row by row.
def unpatchify(patches: Tensor, patch_size: int, channels: int, height: int, width: int) -> Tensor:
    p = patch_size
    apart = patches.reshape(-1, width // p, height // p, channels, p, p)
    return apart.permute(0, 3, 2, 4, 1, 5).reshape(-1, channels, height, width)


# %% wrong unpatchify patches_transposed
# Each patch is transposed. The axis y belongs with the rows of patches, and x with the columns.
def unpatchify(patches: Tensor, patch_size: int, channels: int, height: int, width: int) -> Tensor:
    p = patch_size
    apart = patches.reshape(-1, height // p, width // p, channels, p, p)
    return apart.permute(0, 3, 1, 5, 2, 4).reshape(-1, channels, height, width)


# %% wrong unpatchify same_permutation_as_forth of="patches_transposed"
# In your order of the axes, y is next to column and x next to row. It is the other way round: row
# and y make the height, column and x the width.
# replace: return apart.permute(0, 3, 1, 5, 2, 4).reshape(-1, channels, height, width)
# by:      return apart.permute(0, 2, 4, 1, 3, 5).reshape(-1, channels, height, width)

# %% wrong unpatchify height_and_width_swapped of="column_by_column"
# Your image has height and width swapped. height // patch_size is the number of rows of patches,
# and width // patch_size that of patches side by side in a row.
# replace: return apart.permute(0, 3, 2, 4, 1, 5).reshape(-1, channels, height, width)
# by:      return apart.permute(0, 3, 1, 4, 2, 5).reshape(-1, channels, width, height)


# %% wrong unpatchify square_grid
# You assume a square grid, from the square root of the number of patches. Compute rows and columns
# from height and width.
def unpatchify(patches: Tensor, patch_size: int, channels: int, height: int, width: int) -> Tensor:
    p, side = patch_size, int(patches.shape[1] ** 0.5)
    apart = patches.reshape(-1, side, side, channels, p, p)
    return apart.permute(0, 3, 1, 4, 2, 5).reshape(-1, channels, side * p, side * p)


# %% wrong unpatchify square_grid_in_a_batch of="square_grid"
# You assume a square grid, from the square root of the number of patches. Compute rows and columns
# from height and width.
# replace: apart = patches.reshape(-1, side, side, channels, p, p)
# by:      apart = patches.reshape(len(patches), side, side, channels, p, p)

# %% wrong unpatchify pixels_before_patches of="patches_transposed"
# You put y before the row of patches. The row of patches comes first, then y inside the patch;
# together they index the height.
# replace: return apart.permute(0, 3, 1, 5, 2, 4).reshape(-1, channels, height, width)
# by:      return apart.permute(0, 3, 4, 1, 5, 2).reshape(-1, channels, height, width)


# %% wrong unpatchify fold_without_turning
# `fold` expects (batch, numbers, patches). Swap the last two axes of the patches first: with
# transpose, as reshape keeps the order in memory.
def unpatchify(patches: Tensor, patch_size: int, channels: int, height: int, width: int) -> Tensor:
    turned = patches.reshape(len(patches), -1, patches.shape[1])
    return F.fold(turned, (height, width), patch_size, stride=patch_size)


# %% wrong unpatchify fold_as_they_come of="fold_without_turning"
# `fold` expects (batch, numbers, patches). Swap the last two axes of the patches first: with
# transpose, as reshape keeps the order in memory.
# replace: turned = patches.reshape(len(patches), -1, patches.shape[1])
#          return F.fold(turned, (height, width), patch_size, stride=patch_size)
# by:      return F.fold(patches, (height, width), patch_size, stride=patch_size)


# %% wrong unpatchify first_image_only
# You return only the first image of the batch. Keep the first axis of the patches.
def unpatchify(patches: Tensor, patch_size: int, channels: int, height: int, width: int) -> Tensor:
    p = patch_size
    apart = patches[:1].reshape(-1, height // p, width // p, channels, p, p)
    return apart.permute(0, 3, 1, 4, 2, 5).reshape(-1, channels, height, width)


# %% wrong unpatchify grey_only
# You treat the channels as if they were rows of patches. The channel is an axis of its own, inside
# each patch.
def unpatchify(patches: Tensor, patch_size: int, channels: int, height: int, width: int) -> Tensor:
    p = patch_size
    apart = patches.reshape(-1, channels, height // p, width // p, p, p)
    return apart.permute(0, 1, 2, 4, 3, 5).reshape(-1, channels, height, width)


# %% wrong unpatchify counts_swapped of="patches_transposed"
# Your grid has too many rows of patches, or too few. height // patch_size is the number of rows,
# and width // patch_size that of patches side by side in a row.
# replace: apart = patches.reshape(-1, height // p, width // p, channels, p, p)
#          return apart.permute(0, 3, 1, 5, 2, 4).reshape(-1, channels, height, width)
# by:      apart = patches.reshape(-1, width // p, height // p, channels, p, p)
#          return apart.permute(0, 3, 1, 4, 2, 5).reshape(-1, channels, height, width)


# %% wrong unpatchify joined_along_the_wrong_axes
# Your image has height and width swapped. height // patch_size is the number of rows of patches,
# and width // patch_size that of patches side by side in a row.
def unpatchify(patches: Tensor, patch_size: int, channels: int, height: int, width: int) -> Tensor:
    across = width // patch_size
    squares = [one.reshape(-1, channels, patch_size, patch_size) for one in patches.unbind(1)]
    lines = [torch.cat(squares[i : i + across], dim=2) for i in range(0, len(squares), across)]
    return torch.cat(lines, dim=3)


# %% wrong unpatchify from_the_bottom
# The rows of patches come from the bottom of your image. The first patch is at the top left.
def unpatchify(patches: Tensor, patch_size: int, channels: int, height: int, width: int) -> Tensor:
    p = patch_size
    apart = patches.reshape(-1, height // p, width // p, channels, p, p).flip(1)
    return apart.permute(0, 3, 1, 4, 2, 5).reshape(-1, channels, height, width)


# %% right unpatchify fold
def unpatchify(patches: Tensor, patch_size: int, channels: int, height: int, width: int) -> Tensor:
    return F.fold(patches.transpose(1, 2), (height, width), patch_size, stride=patch_size)


# %% right unpatchify loops
def unpatchify(patches: Tensor, patch_size: int, channels: int, height: int, width: int) -> Tensor:
    images = patches.new_zeros(len(patches), channels, height, width)
    number = 0
    for top in range(0, height, patch_size):
        for left in range(0, width, patch_size):
            square = patches[:, number].reshape(-1, channels, patch_size, patch_size)
            images[:, :, top : top + patch_size, left : left + patch_size] = square
            number += 1
    return images


# %% right unpatchify cat
def unpatchify(patches: Tensor, patch_size: int, channels: int, height: int, width: int) -> Tensor:
    squares = patches.unflatten(-1, (channels, patch_size, patch_size)).unbind(1)
    across = width // patch_size
    lines = [torch.cat(squares[i : i + across], -1) for i in range(0, len(squares), across)]
    return torch.cat(lines, -2)


# %% right unpatchify einsum
def unpatchify(patches: Tensor, patch_size: int, channels: int, height: int, width: int) -> Tensor:
    p = patch_size
    x = patches.reshape(patches.shape[0], height // p, width // p, channels, p, p)
    return torch.einsum("bhwcpq->bchpwq", x).reshape(len(patches), channels, height, width)


# %% right unpatchify pixel_shuffle
def unpatchify(patches: Tensor, patch_size: int, channels: int, height: int, width: int) -> Tensor:
    grid = patches.transpose(1, 2).unflatten(2, (height // patch_size, width // patch_size))
    return F.pixel_shuffle(grid, patch_size)


# %% wrong PatchEmbedding layer_with_another_name of="solution"
# Create an nn.Linear in __init__, and assign it to `projection`: the check loads weights by the
# name of the layer.
# replace: self.projection = nn.Linear(channels * patch_size**2, d_model)
# by:      self.linear = nn.Linear(channels * patch_size**2, d_model)
# replace: return self.projection(patchify(images, self.patch_size))
# by:      return self.linear(patchify(images, self.patch_size))

# %% wrong PatchEmbedding without_bias of="solution"
# Your layer has no bias. Leave `bias=False` out.
# replace: self.projection = nn.Linear(channels * patch_size**2, d_model)
# by:      self.projection = nn.Linear(channels * patch_size**2, d_model, bias=False)

# %% wrong PatchEmbedding pixels_of_a_side of="solution"
# Your layer expects channels · patch_size numbers. A patch is a square, so it has patch_size ·
# patch_size pixels in each channel.
# replace: self.projection = nn.Linear(channels * patch_size**2, d_model)
# by:      self.projection = nn.Linear(channels * patch_size, d_model)

# %% wrong PatchEmbedding channels_forgotten of="solution"
# Your layer expects the numbers of one channel only. A patch holds all channels.
# replace: self.projection = nn.Linear(channels * patch_size**2, d_model)
# by:      self.projection = nn.Linear(patch_size**2, d_model)

# %% wrong PatchEmbedding sizes_swapped of="solution"
# You have swapped the two sizes of nn.Linear. The input size comes first.
# replace: self.projection = nn.Linear(channels * patch_size**2, d_model)
# by:      self.projection = nn.Linear(d_model, channels * patch_size**2)

# %% wrong PatchEmbedding no_patches_cut of="solution"
# You apply the layer to stripes of the image. Cut the image with patchify first.
# replace: self.patch_size = patch_size
#          self.projection = nn.Linear(channels * patch_size**2, d_model)
# by:      self.numbers = channels * patch_size**2
#          self.projection = nn.Linear(self.numbers, d_model)
# replace: return self.projection(patchify(images, self.patch_size))
# by:      return self.projection(images.reshape(len(images), -1, self.numbers))

# %% wrong PatchEmbedding with_relu of="solution"
# All negative numbers of your tokens are zero. A patch embedding has no ReLU.
# replace: return self.projection(patchify(images, self.patch_size))
# by:      return self.projection(patchify(images, self.patch_size)).relu()

# %% wrong PatchEmbedding tokens_last of="solution"
# You return (batch, d_model, patches). The d_model axis should be the last.
# replace: return self.projection(patchify(images, self.patch_size))
# by:      return self.projection(patchify(images, self.patch_size)).transpose(1, 2)

# %% wrong PatchEmbedding normalised_pixels of="solution"
# You normalise the pixels of each patch first. The layer takes the patch as it is.
# replace: return self.projection(patchify(images, self.patch_size))
# by:      patches = patchify(images, self.patch_size)
#          return self.projection(F.layer_norm(patches, patches.shape[-1:]))

# %% wrong PatchEmbedding mean_of_all_patches of="solution"
# You average the patches. Return one token for each patch.
# replace: return self.projection(patchify(images, self.patch_size))
# by:      return self.projection(patchify(images, self.patch_size)).mean(dim=1)

# %% wrong PatchEmbedding square_grid_only of="solution"
# You compute the number of patches from one side, as if all images were square. Let patchify count
# them.
# replace: self.patch_size = patch_size
# by:      side = image_size if isinstance(image_size, int) else image_size[1]
#          self.patch_size, self.count = patch_size, (side // patch_size) ** 2
# replace: return self.projection(patchify(images, self.patch_size))
# by:      tokens = self.projection(patchify(images, self.patch_size))
#          return tokens.reshape(len(images), self.count, -1)

# %% wrong PatchEmbedding layer_made_in_forward of="solution"
# Create an nn.Linear in __init__, and assign it to `projection`: the check loads weights by the
# name of the layer.
# replace: self.projection = nn.Linear(channels * patch_size**2, d_model)
# by:      self.sizes = (channels * patch_size**2, d_model)
# replace: return self.projection(patchify(images, self.patch_size))
# by:      self.projection = nn.Linear(*self.sizes, dtype=images.dtype)
#          return self.projection(patchify(images, self.patch_size))

# %% wrong PatchEmbedding in_a_sequential of="solution"
# Create an nn.Linear in __init__, and assign it to `projection`: the check loads weights by the
# name of the layer.
# replace: self.projection = nn.Linear(channels * patch_size**2, d_model)
# by:      self.projection = nn.Sequential(nn.Linear(channels * patch_size**2, d_model))

# %% wrong PatchEmbedding a_convolution of="solution"
# `projection` is an nn.Linear, as the docstring says.
# replace: self.patch_size = patch_size
#          self.projection = nn.Linear(channels * patch_size**2, d_model)
# by:      self.projection = nn.Conv2d(channels, d_model, patch_size, patch_size)
# replace: return self.projection(patchify(images, self.patch_size))
# by:      return self.projection(images).flatten(2).transpose(1, 2)

# %% wrong PatchEmbedding patches_of_two of="solution"
# You cut patches of 2 by 2 pixels, whatever `patch_size` is. Keep patch_size, and cut with it.
# replace: return self.projection(patchify(images, self.patch_size))
# by:      return self.projection(patchify(images, 2))

# %% right PatchEmbedding weight_in_a_convolution of="solution"
# replace: self.patch_size = patch_size
#          self.projection = nn.Linear(channels * patch_size**2, d_model)
# by:      self.shape = (d_model, channels, patch_size, patch_size)
#          self.projection = nn.Linear(channels * patch_size * patch_size, d_model)
# replace: return self.projection(patchify(images, self.patch_size))
# by:      kernels = self.projection.weight.view(self.shape)
#          grid = F.conv2d(images, kernels, self.projection.bias, stride=self.shape[-1])
#          return grid.flatten(2).mT

# %% right PatchEmbedding patch_after_patch of="solution"
# replace: self.patch_size = patch_size
#          self.projection = nn.Linear(channels * patch_size**2, d_model)
# by:      self.size = patch_size
#          self.projection = nn.Linear(in_features=channels * patch_size**2, out_features=d_model)
# replace: self.projection(patchify(images, self.patch_size))
# by:      torch.stack([self.projection(p) for p in patchify(images, self.size).unbind(1)], 1)


# %% right PatchEmbedding sizes_checked
class PatchEmbedding(nn.Module):
    def __init__(
        self, image_size: int | tuple[int, int], patch_size: int, channels: int, d_model: int
    ) -> None:
        super().__init__()
        self.image_size = (image_size, image_size) if isinstance(image_size, int) else image_size
        if any(side % patch_size for side in self.image_size):
            raise ValueError(f"{self.image_size} and {patch_size}")
        self.patch_size, self.d_model = patch_size, d_model
        self.projection = nn.Linear(channels * patch_size**2, d_model)

    def forward(self, images: Tensor) -> Tensor:
        return F.linear(
            patchify(images, self.patch_size), self.projection.weight, self.projection.bias
        )


# %% right PatchEmbedding own_cut of="solution"
# replace: self.patch_size = patch_size
# by:      self.cut = nn.Unfold(patch_size, stride=patch_size)
# replace: return self.projection(patchify(images, self.patch_size))
# by:      return self.projection(self.cut(images).permute(0, 2, 1))


# %% wrong repaired_convolution no_stride
# Your windows overlap. They should move by a whole patch: set `stride`.
def repaired_convolution(images: Tensor, weight: Tensor, bias: Tensor, patch_size: int) -> Tensor:
    kernels = weight.reshape(len(weight), images.shape[1], patch_size, patch_size)
    return F.conv2d(images, kernels, bias).flatten(2).transpose(1, 2)


# %% wrong repaired_convolution still_a_map of="no_stride"
# You return the map (batch, d_model, rows, columns). Join rows and columns into one axis, and move
# d_model to the end.
# replace: return F.conv2d(images, kernels, bias).flatten(2).transpose(1, 2)
# by:      return F.conv2d(images, kernels, bias, stride=patch_size)

# %% wrong repaired_convolution d_model_first of="no_stride"
# You return (batch, d_model, patches). Swap the last two axes.
# replace: return F.conv2d(images, kernels, bias).flatten(2).transpose(1, 2)
# by:      return F.conv2d(images, kernels, bias, stride=patch_size).flatten(2)

# %% wrong repaired_convolution reshaped_in_place_of_turned of="solution"
# The shape is right, but each token mixes numbers of several patches. Swap the axes with transpose,
# not with reshape.
# replace: return grid.flatten(2).transpose(1, 2)
# by:      return grid.reshape(len(images), -1, len(weight))

# %% wrong repaired_convolution bias_left_out of="no_stride"
# The bias is missing. Pass it to the convolution.
# replace: return F.conv2d(images, kernels, bias).flatten(2).transpose(1, 2)
# by:      return F.conv2d(images, kernels, stride=patch_size).flatten(2).transpose(1, 2)

# %% wrong repaired_convolution kernels_transposed of="solution"
# Your kernels are transposed. A row of the weight holds the pixels of a patch row by row, as a
# kernel does.
# replace: grid = F.conv2d(images, kernels, bias, stride=patch_size)
# by:      grid = F.conv2d(images, kernels.transpose(2, 3), bias, stride=patch_size)


# %% wrong repaired_convolution channel_last_in_the_kernels
# You read the weight as if the channels came last in a patch. Its numbers come channel by channel.
def repaired_convolution(images: Tensor, weight: Tensor, bias: Tensor, patch_size: int) -> Tensor:
    kernels = weight.reshape(len(weight), patch_size, patch_size, -1).permute(0, 3, 1, 2)
    return F.conv2d(images, kernels, bias, stride=patch_size).flatten(2).transpose(1, 2)


# %% wrong repaired_convolution column_by_column of="solution"
# Your tokens run down the columns. They should come row by row, as the patches do.
# replace: return grid.flatten(2).transpose(1, 2)
# by:      return grid.transpose(2, 3).flatten(2).transpose(1, 2)


# %% wrong repaired_convolution weight_transposed of="solution"
# Your kernels mix numbers of several rows of the weight. A row holds all numbers of one kernel, in
# order: reshape the weight without transposing it.
# replace: kernels = weight.reshape(len(weight), images.shape[1], patch_size, patch_size)
# by:      kernels = weight.T.reshape(len(weight), images.shape[1], patch_size, patch_size)

# %% wrong repaired_convolution grey_average of="solution"
# You average the channels of the images and of the kernels. Each channel meets its own part of the
# kernel, and the products are summed.
# replace: grid = F.conv2d(images, kernels, bias, stride=patch_size)
# by:      grey, kernels = images.mean(1, keepdim=True), kernels.mean(1, keepdim=True)
#          grid = F.conv2d(grey, kernels, bias, stride=patch_size)

# %% wrong repaired_convolution layer_of_its_own of="solution"
# Your tokens do not come from `weight` and `bias`: make the kernels of `weight`.
# replace: kernels = weight.reshape(len(weight), images.shape[1], patch_size, patch_size)
#          grid = F.conv2d(images, kernels, bias, stride=patch_size)
# by:      layer = nn.Conv2d(images.shape[1], len(weight), patch_size, patch_size)
#          grid = layer.to(images.dtype)(images)

# %% wrong repaired_convolution bias_twice of="solution"
# The bias is in your tokens twice. Add it once.
# replace: grid = F.conv2d(images, kernels, bias, stride=patch_size)
# by:      grid = F.conv2d(images, kernels, bias, stride=patch_size) + bias[:, None, None]

# %% wrong repaired_convolution kernels_flipped of="solution"
# Your kernels are turned by half a turn. F.conv2d multiplies a window by the kernel as it is, so
# leave the order of the weight's numbers.
# replace: grid = F.conv2d(images, kernels, bias, stride=patch_size)
# by:      grid = F.conv2d(images, kernels.flip(-1, -2), bias, stride=patch_size)


# %% right repaired_convolution module
def repaired_convolution(images: Tensor, weight: Tensor, bias: Tensor, patch_size: int) -> Tensor:
    channels = images.shape[1]
    kernels = weight.unflatten(1, (channels, patch_size, patch_size))
    maps = torch.conv2d(images, kernels, stride=(patch_size, patch_size))
    return maps.permute(0, 2, 3, 1).flatten(1, 2) + bias


# %% right repaired_convolution skipping
def repaired_convolution(images: Tensor, weight: Tensor, bias: Tensor, patch_size: int) -> Tensor:
    kernels = weight.view(weight.shape[0], -1, patch_size, patch_size)
    everywhere = F.conv2d(images, kernels, bias)
    return everywhere[..., ::patch_size, ::patch_size].flatten(2).mT


# %% right repaired_convolution the_linear_layer
def repaired_convolution(images: Tensor, weight: Tensor, bias: Tensor, patch_size: int) -> Tensor:
    return F.unfold(images, patch_size, stride=patch_size).transpose(1, 2) @ weight.T + bias


# %% right repaired_convolution bias_added_behind
def repaired_convolution(images: Tensor, weight: Tensor, bias: Tensor, patch_size: int) -> Tensor:
    kernels = weight.unflatten(1, (images.shape[1], patch_size, patch_size))
    grid = F.conv2d(images, kernels, stride=patch_size)
    return grid.permute(0, 2, 3, 1).flatten(1, 2) + bias


# %% right repaired_convolution image_by_image
def repaired_convolution(images: Tensor, weight: Tensor, bias: Tensor, patch_size: int) -> Tensor:
    kernels = weight.reshape(weight.shape[0], -1, patch_size, patch_size)
    tokens = [
        F.conv2d(image[None], kernels, bias, stride=patch_size)[0].flatten(1).T for image in images
    ]
    return torch.stack(tokens)


# %% base VisionTransformer layers_of_torch
class VisionTransformer(nn.Module):
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
        super().__init__()
        self.pool = pool
        self.embedding = PatchEmbedding(image_size, patch_size, channels, d_model)
        height, width = (image_size, image_size) if isinstance(image_size, int) else image_size
        patches = (height // patch_size) * (width // patch_size)
        self.class_token = nn.Parameter(torch.zeros(1, 1, d_model))
        self.positions = nn.Parameter(0.02 * torch.randn(1 + patches, d_model))
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(
                d_model, num_heads, d_ff, dropout, "gelu", batch_first=True, norm_first=True
            )
            for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, num_classes)

    def forward(self, images: Tensor) -> Tensor:
        x = self.embedding(images)
        x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
        x = x + self.positions
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
        return self.head(x)


# %% wrong VisionTransformer no_class_token_at_all of="layers_of_torch"
# Your model has no class token: the table of positions has one row too few, and the head reads a
# patch. Put a learned vector before the patches.
# replace: self.class_token = nn.Parameter(torch.zeros(1, 1, d_model))
#          self.positions = nn.Parameter(0.02 * torch.randn(1 + patches, d_model))
# by:      self.positions = nn.Parameter(0.02 * torch.randn(patches, d_model))
# replace: x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
# by:
# replace: x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
# by:      x = x[:, 0] if self.pool == "cls" else x.mean(dim=1)

# %% wrong VisionTransformer class_token_behind of="layers_of_torch"
# You put the class token after the patches, and the head reads a patch. The class token comes
# first.
# replace: x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
# by:      x = torch.cat([x, self.class_token.expand(len(x), -1, -1)], dim=1)

# %% wrong VisionTransformer last_token_read of="layers_of_torch"
# Your head reads the last token, which is a patch. The class token is the first.
# replace: x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
# by:      x = x[:, -1] if self.pool == "cls" else x[:, 1:].mean(dim=1)

# %% wrong VisionTransformer token_one_read of="layers_of_torch"
# Your head reads the first patch. The class token is at index 0.
# replace: x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
# by:      x = x[:, 1] if self.pool == "cls" else x[:, 1:].mean(dim=1)

# %% wrong VisionTransformer always_the_mean of="layers_of_torch"
# Your head reads a mean, whatever `pool` is. With "cls" it should read the class token only.
# replace: x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
# by:      x = x[:, 1:].mean(dim=1)

# %% wrong VisionTransformer mean_of_all_tokens_always of="layers_of_torch"
# You average all tokens, the class token among them. With "mean" the head reads the mean of the
# patches only, and with "cls" the class token only.
# replace: x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
# by:      x = x.mean(dim=1)

# %% wrong VisionTransformer pool_ignored of="layers_of_torch"
# `pool` has no effect. With "mean" the head should read the mean of the patches.
# replace: x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
# by:      x = x[:, 0]

# %% wrong VisionTransformer class_token_in_the_mean of="layers_of_torch"
# You average all tokens, the class token among them. With "mean" the head reads the mean of the
# patches only, and with "cls" the class token only.
# replace: x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
# by:      x = x[:, 0] if self.pool == "cls" else x.mean(dim=1)

# %% wrong VisionTransformer sum_for_mean of="layers_of_torch"
# You add the patches up. Divide by their number, as mean does.
# replace: x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
# by:      x = x[:, 0] if self.pool == "cls" else x[:, 1:].sum(dim=1)

# %% wrong VisionTransformer mean_without_first_patch of="layers_of_torch"
# Your mean leaves out a patch as well as the class token. It should begin at index 1.
# replace: x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
# by:      x = x[:, 0] if self.pool == "cls" else x[:, 2:].mean(dim=1)

# %% wrong VisionTransformer maximum_for_mean of="layers_of_torch"
# You take the maximum over the patches. Take the mean.
# replace: x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
# by:      x = x[:, 0] if self.pool == "cls" else x[:, 1:].amax(dim=1)

# %% wrong VisionTransformer positions_forgotten of="layers_of_torch"
# Your model has no table of positions with a vector for each token. Learn one of shape (1 +
# patches, d_model), and add it.
# replace: patches = (height // patch_size) * (width // patch_size)
# by:      (height // patch_size) * (width // patch_size)
# replace: self.positions = nn.Parameter(0.02 * torch.randn(1 + patches, d_model))
# by:
# replace: x = x + self.positions
# by:

# %% wrong VisionTransformer positions_never_added of="layers_of_torch"
# You create the table of positions but do not use it. Add it to the tokens before the first block.
# replace: x = x + self.positions
# by:

# %% wrong VisionTransformer positions_not_learned of="layers_of_torch"
# Your table of positions is a plain tensor, so it is not trained. Make it an nn.Parameter.
# replace: self.positions = nn.Parameter(0.02 * torch.randn(1 + patches, d_model))
# by:      self.positions = 0.02 * torch.randn(1 + patches, d_model)

# %% wrong VisionTransformer class_token_without_a_position of="layers_of_torch"
# Your table has rows for the patches only. The class token has a position too, row 0: add the table
# after you put the class token in front.
# replace: self.positions = nn.Parameter(0.02 * torch.randn(1 + patches, d_model))
# by:      self.positions = nn.Parameter(0.02 * torch.randn(patches, d_model))
# replace: x = self.embedding(images)
# by:      x = self.embedding(images)
#          x = x + self.positions
# replace: x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
#          x = x + self.positions
# by:      x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)

# %% wrong VisionTransformer one_position_for_all of="layers_of_torch"
# All your tokens get the same position. The table should have one row for each of them.
# replace: patches = (height // patch_size) * (width // patch_size)
# by:      (height // patch_size) * (width // patch_size)
# replace: self.positions = nn.Parameter(0.02 * torch.randn(1 + patches, d_model))
# by:      self.positions = nn.Parameter(0.02 * torch.randn(1, d_model))

# %% wrong VisionTransformer one_number_for_each_position of="layers_of_torch"
# Your model has no table of positions with a vector for each token. Learn one of shape (1 +
# patches, d_model), and add it.
# replace: self.positions = nn.Parameter(0.02 * torch.randn(1 + patches, d_model))
# by:      self.positions = nn.Parameter(0.02 * torch.randn(1 + patches, 1))

# %% wrong VisionTransformer square_images_only of="layers_of_torch"
# You assume as many patches down as across. Compute rows from the height and columns from the
# width.
# replace: height, width = (image_size, image_size) if isinstance(image_size, int) else image_size
#          patches = (height // patch_size) * (width // patch_size)
# by:      _height, width = (image_size, image_size) if isinstance(image_size, int) else image_size
#          patches = (width // patch_size) ** 2

# %% wrong VisionTransformer pair_not_understood of="layers_of_torch"
# `image_size` may be (height, width). Unpack the pair before you compute with it.
# replace: height, width = (image_size, image_size) if isinstance(image_size, int) else image_size
#          patches = (height // patch_size) * (width // patch_size)
# by:      height, width = (image_size, image_size)
#          patches = (height // patch_size) * (width // patch_size)  # type: ignore

# %% wrong VisionTransformer square_not_understood of="layers_of_torch"
# `image_size` may also be one int, for a square. Then height and width are both this number.
# replace: height, width = (image_size, image_size) if isinstance(image_size, int) else image_size
# by:      height, width = image_size  # type: ignore

# %% wrong VisionTransformer batch_second of="layers_of_torch"
# Images of one batch attend to one another. Set batch_first=True, or PyTorch takes the batch for
# the tokens.
# replace: nn.TransformerEncoderLayer(
#              d_model, num_heads, d_ff, dropout, "gelu", batch_first=True, norm_first=True
#          )
# by:      nn.TransformerEncoderLayer(d_model, num_heads, d_ff, dropout, "gelu", norm_first=True)

# %% wrong VisionTransformer class_token_on_the_batch_axis of="layers_of_torch"
# You put the class token along the batch axis. Each image needs one, along the axis of tokens.
# replace: x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
#          x = x + self.positions
# by:      x = torch.cat([self.class_token.expand(-1, x.shape[1], -1), x], dim=0)
#          x = x + self.positions[: x.shape[1]]

# %% wrong VisionTransformer class_token_not_expanded of="layers_of_torch"
# One class token cannot be joined with a batch of images. Expand it to the batch size.
# replace: x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
# by:      x = torch.cat([self.class_token, x], dim=1)

# %% wrong VisionTransformer class_token_not_learned of="layers_of_torch"
# Your class token is a plain tensor of zeros, so it is not trained. Make it an nn.Parameter.
# replace: self.class_token = nn.Parameter(torch.zeros(1, 1, d_model))
# by:      self.class_token = torch.zeros(1, 1, d_model)
# replace: x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
# by:      x = torch.cat([self.class_token.to(x).expand(len(x), -1, -1), x], dim=1)

# %% wrong VisionTransformer post_norm of="layers_of_torch"
# Your blocks are post-norm. Set norm_first=True for pre-norm.
# replace: d_model, num_heads, d_ff, dropout, "gelu", batch_first=True, norm_first=True
# by:      d_model, num_heads, d_ff, dropout, "gelu", batch_first=True, norm_first=False

# %% wrong VisionTransformer final_norm_missing of="pooled_before_the_norm"
# The final norm is missing, so the logits depend on the scale of the residual stream. Put a
# LayerNorm after the last block.
# replace: self.norm = nn.LayerNorm(d_model)
# by:
# replace: return self.head(self.norm(x))
# by:      return self.head(x)

# %% wrong VisionTransformer final_norm_not_used of="pooled_before_the_norm"
# You create the final norm but do not use it. Apply it after the last block.
# replace: return self.head(self.norm(x))
# by:      return self.head(x)

# %% wrong VisionTransformer blocks_share_their_weights of="layers_of_torch"
# All your blocks share one set of weights. Create a new block num_layers times.
# replace: nn.TransformerEncoderLayer(
#              d_model, num_heads, d_ff, dropout, "gelu", batch_first=True, norm_first=True
#          )
#          for _ in range(num_layers)
# by:      [
#              nn.TransformerEncoderLayer(
#                  d_model, num_heads, d_ff, dropout, "gelu", batch_first=True, norm_first=True
#              )
#          ]
#          * num_layers

# %% wrong VisionTransformer one_block of="layers_of_torch"
# Your model has one block, whatever num_layers is.
# replace: for _ in range(num_layers)
# by:      for _ in range(1)

# %% wrong VisionTransformer plain_list_of_blocks of="layers_of_torch"
# Your blocks are in a plain list, so PyTorch does not know their parameters. Use nn.ModuleList.
# replace: self.blocks = nn.ModuleList(
# by:      self.blocks = [
# replace:     for _ in range(num_layers)
#          )
# by:          for _ in range(num_layers)
#          ]

# %% wrong VisionTransformer dropout_not_handed_over of="layers_of_torch"
# `dropout` has no effect. Pass it to the blocks.
# replace: d_model, num_heads, d_ff, dropout, "gelu", batch_first=True, norm_first=True
# by:      d_model, num_heads, d_ff, 0.0, "gelu", batch_first=True, norm_first=True

# %% wrong VisionTransformer dropout_left_at_its_default of="layers_of_torch"
# Your blocks drop a tenth, whatever `dropout` is: this is PyTorch's default. Pass `dropout` to the
# blocks.
# replace: d_model, num_heads, d_ff, dropout, "gelu", batch_first=True, norm_first=True
# by:      d_model, num_heads, d_ff, activation="gelu", batch_first=True, norm_first=True

# %% wrong VisionTransformer heads_not_handed_over of="layers_of_torch"
# `num_heads` has no effect. Pass it to the blocks.
# replace: d_model, num_heads, d_ff, dropout, "gelu", batch_first=True, norm_first=True
# by:      d_model, 1, d_ff, dropout, "gelu", batch_first=True, norm_first=True

# %% wrong VisionTransformer d_ff_not_handed_over of="layers_of_torch"
# `d_ff`, the width of the feed-forward network, has no effect. Pass it to the blocks.
# replace: d_model, num_heads, d_ff, dropout, "gelu", batch_first=True, norm_first=True
# by:      d_model, num_heads, 4 * d_model, dropout, "gelu", batch_first=True, norm_first=True

# %% wrong VisionTransformer softmax_at_the_end of="layers_of_torch"
# You return probabilities. Return the logits, without softmax.
# replace: return self.head(x)
# by:      return self.head(x).softmax(dim=-1)

# %% wrong VisionTransformer tokens_not_pooled of="layers_of_torch"
# You return logits for every token. The head should read the class token, or the mean.
# replace: x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
# by:

# %% wrong VisionTransformer d_model_out of="layers_of_torch"
# Your model returns d_model numbers for each image. The head is missing, a linear layer to
# num_classes.
# replace: x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
#          return self.head(x)
# by:      return x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)

# %% wrong VisionTransformer positions_in_each_block of="layers_of_torch"
# You add the positions before every block. Add the table once, before the first block.
# replace: x = x + self.positions
# by:
# replace: x = block(x)
# by:      x = block(x + self.positions)

# %% wrong VisionTransformer norm_before_the_blocks of="pooled_before_the_norm"
# Your final norm comes before the first block, so the scale of what the blocks add reaches the
# logits. It belongs after the last block.
# replace: x = x + self.positions
# by:      x = x + self.positions
#          x = self.norm(x)
# replace: return self.head(self.norm(x))
# by:      return self.head(x)

# %% wrong VisionTransformer norm_behind_each_block of="layers_of_torch"
# You apply the final norm after every block. The residual stream is normalised only once, after the
# last block.
# replace:     x = block(x)
#          x = self.norm(x)
# by:          x = self.norm(block(x))

# %% right VisionTransformer relu_by_default of="layers_of_torch"
# replace: d_model, num_heads, d_ff, dropout, "gelu", batch_first=True, norm_first=True
# by:      d_model, num_heads, d_ff, dropout, batch_first=True, norm_first=True

# %% right VisionTransformer dropout_after_the_positions of="layers_of_torch"
# replace: self.norm = nn.LayerNorm(d_model)
# by:      self.norm, self.drop = nn.LayerNorm(d_model), nn.Dropout(dropout)
# replace: x = x + self.positions
# by:      x = self.drop(x + self.positions)

# %% right VisionTransformer dropout_on_the_patches of="layers_of_torch"
# replace: self.norm = nn.LayerNorm(d_model)
# by:      self.norm, self.drop = nn.LayerNorm(d_model), nn.Dropout(dropout)
# replace: x = self.embedding(images)
# by:      x = self.drop(self.embedding(images))

# %% right VisionTransformer dropout_before_the_head of="layers_of_torch"
# replace: self.norm = nn.LayerNorm(d_model)
# by:      self.norm, self.drop = nn.LayerNorm(d_model), nn.Dropout(dropout)
# replace: return self.head(x)
# by:      return self.head(self.drop(x))

# %% right VisionTransformer encoder_of_torch of="layers_of_torch"
# replace: self.blocks = nn.ModuleList(
#              nn.TransformerEncoderLayer(
#                  d_model, num_heads, d_ff, dropout, "gelu", batch_first=True, norm_first=True
#              )
#              for _ in range(num_layers)
# by:      layer = nn.TransformerEncoderLayer(
#              d_model, num_heads, d_ff, dropout, batch_first=True, norm_first=True
# replace: self.norm = nn.LayerNorm(d_model)
# by:      self.encoder = nn.TransformerEncoder(
#              layer, num_layers, nn.LayerNorm(d_model), enable_nested_tensor=False
#          )
# replace: for block in self.blocks:
#              x = block(x)
#          x = self.norm(x)
# by:      x = self.encoder(x)

# %% right VisionTransformer no_class_token_in_mean of="layers_of_torch"
# replace: self.class_token = nn.Parameter(torch.zeros(1, 1, d_model))
#          self.positions = nn.Parameter(0.02 * torch.randn(1 + patches, d_model))
# by:      extra = int(pool == "cls")
#          self.class_token = nn.Parameter(torch.randn(extra, d_model))
#          self.positions = nn.Parameter(torch.zeros(1, extra + patches, d_model))
# replace: x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
# by:      x = x[:, 0] if self.pool == "cls" else x.mean(dim=1)


# %% right VisionTransformer pooled_before_the_norm
class VisionTransformer(nn.Module):
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
        super().__init__()
        self.pool = pool
        self.embedding = PatchEmbedding(image_size, patch_size, channels, d_model)
        height, width = (image_size, image_size) if isinstance(image_size, int) else image_size
        patches = (height // patch_size) * (width // patch_size)
        self.class_token = nn.Parameter(torch.zeros(1, 1, d_model))
        self.positions = nn.Parameter(0.02 * torch.randn(1 + patches, d_model))
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(
                d_model, num_heads, d_ff, dropout, "gelu", batch_first=True, norm_first=True
            )
            for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, num_classes)

    def forward(self, images: Tensor) -> Tensor:
        x = self.embedding(images)
        x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
        x = x + self.positions
        for block in self.blocks:
            x = block(x)
        x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
        return self.head(self.norm(x))


# %% right VisionTransformer embeddings of="layers_of_torch"
# replace: self.class_token = nn.Parameter(torch.zeros(1, 1, d_model))
#          self.positions = nn.Parameter(0.02 * torch.randn(1 + patches, d_model))
# by:      self.class_token = nn.Parameter(torch.zeros(d_model))
#          self.table = nn.Embedding(1 + patches, d_model)
# replace: x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
#          x = x + self.positions
# by:      x = torch.cat([self.class_token.expand(len(x), 1, -1), x], dim=1)
#          x = x + self.table.weight

# %% right VisionTransformer convolution of="layers_of_torch"
# replace: self.embedding = PatchEmbedding(image_size, patch_size, channels, d_model)
# by:      self.embedding = nn.Conv2d(channels, d_model, patch_size, patch_size)
# replace: x = self.embedding(images)
# by:      x = self.embedding(images).flatten(2).transpose(1, 2)

# %% right VisionTransformer position_by_position of="layers_of_torch"
# replace: x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
#          x = x + self.positions
# by:      first = (self.class_token + self.positions[0]).expand(len(x), -1, -1)
#          x = x + self.positions[1:]
#          x = torch.cat([first, x], dim=1)
# replace: x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
# by:      x = x.select(1, 0) if self.pool == "cls" else x[:, 1:].sum(1) / (x.shape[1] - 1)


# %% right VisionTransformer own_blocks
class VisionTransformer(nn.Module):
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
        super().__init__()
        h, w = image_size if isinstance(image_size, tuple) else (image_size, image_size)
        self.pool, self.num_layers = pool, num_layers
        self.patches = PatchEmbedding((h, w), patch_size, channels, d_model)
        self.cls = nn.Parameter(torch.randn(1, d_model) * 0.02)
        self.pos = nn.Parameter(torch.randn(h // patch_size * (w // patch_size) + 1, d_model))
        self.norms = nn.ModuleList(nn.LayerNorm(d_model) for _ in range(2 * num_layers + 1))
        self.attentions = nn.ModuleList(
            nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
            for _ in range(num_layers)
        )
        self.feeds = nn.ModuleList(
            nn.Sequential(
                nn.Linear(d_model, d_ff), nn.GELU(), nn.Linear(d_ff, d_model), nn.Dropout(dropout)
            )
            for _ in range(num_layers)
        )
        self.out = nn.Linear(d_model, num_classes)

    def forward(self, images: Tensor) -> Tensor:
        first = self.cls.repeat(images.shape[0], 1, 1)
        x = torch.cat((first, self.patches(images)), 1) + self.pos[None]
        for i in range(self.num_layers):
            y = self.norms[2 * i](x)
            x = x + self.attentions[i](y, y, y, need_weights=False)[0]
            x = x + self.feeds[i](self.norms[2 * i + 1](x))
        x = self.norms[-1](x)
        return self.out(x[:, 0]) if self.pool == "cls" else self.out(x[:, 1:].mean(1))


# %% wrong VisionTransformer own_blocks_without_residual of="own_blocks"
# Your blocks replace the residual stream instead of adding to it, so silent blocks leave nothing.
# Add each sublayer's output to x.
# replace: x = x + self.attentions[i](y, y, y, need_weights=False)[0]
#          x = x + self.feeds[i](self.norms[2 * i + 1](x))
# by:      x = self.attentions[i](y, y, y, need_weights=False)[0]
#          x = self.feeds[i](self.norms[2 * i + 1](x))

# %% wrong train_classifier gradients_pile_up of="same_order_always"
# Your gradients accumulate from step to step. Set them to zero before each backward.
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      for chosen in torch.randperm(len(images)).split(batch_size):
# replace: optimizer.zero_grad()
# by:

# %% wrong train_classifier zeroed_after_backward of="same_order_always"
# Your steps do not use the gradients, so the loss does not fall. The order is zero_grad, backward,
# step.
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      for chosen in torch.randperm(len(images)).split(batch_size):
# replace: loss = F.cross_entropy(model(images[chosen]), labels[chosen])
# by:      loss = F.cross_entropy(model(images[chosen]), labels[chosen])
#          loss.backward()
# replace: optimizer.zero_grad()
#          loss.backward()
# by:      optimizer.zero_grad()

# %% wrong train_classifier no_step of="same_order_always"
# Your steps do not use the gradients, so the loss does not fall. The order is zero_grad, backward,
# step.
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      for chosen in torch.randperm(len(images)).split(batch_size):
# replace: optimizer.step()
# by:

# %% wrong train_classifier softmax_first of="same_order_always"
# You apply softmax before cross_entropy, which applies it itself. Pass it the logits.
# replace: for chosen in torch.arange(len(images)).split(batch_size):
#              loss = F.cross_entropy(model(images[chosen]), labels[chosen])
# by:      for chosen in torch.randperm(len(images)).split(batch_size):
#              loss = F.cross_entropy(model(images[chosen]).softmax(-1), labels[chosen])

# %% wrong train_classifier plain_gradient_descent of="same_order_always"
# Your optimizer is SGD. Use torch.optim.AdamW.
# replace: optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
# by:      optimizer = torch.optim.SGD(model.parameters(), lr=lr)
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      for chosen in torch.randperm(len(images)).split(batch_size):

# %% wrong train_classifier adam of="same_order_always"
# Your steps have no weight decay. Use AdamW, which has it, with its own defaults.
# replace: optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
# by:      optimizer = torch.optim.Adam(model.parameters(), lr=lr)
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      for chosen in torch.randperm(len(images)).split(batch_size):

# %% wrong train_classifier no_weight_decay of="same_order_always"
# Your steps have no weight decay. Use AdamW, which has it, with its own defaults.
# replace: optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
# by:      optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.0)
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      for chosen in torch.randperm(len(images)).split(batch_size):

# %% wrong train_classifier learning_rate_ignored of="same_order_always"
# `lr` has no effect. Pass it to the optimizer.
# replace: optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
# by:      optimizer = torch.optim.AdamW(model.parameters())
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      for chosen in torch.randperm(len(images)).split(batch_size):

# %% wrong train_classifier fresh_optimizer_each_epoch of="same_order_always"
# You create a new optimizer in every epoch, so it loses its state. Create one before the loop.
# replace: optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
# by:
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
#          for chosen in torch.randperm(len(images)).split(batch_size):


# %% wrong train_classifier same_order_always
# You go through the images in the given order. Draw a new random order in each epoch.
def train_classifier(
    model: nn.Module,
    images: Tensor,
    labels: Tensor,
    epochs: int,
    lr: float = 0.002,
    batch_size: int = 64,
) -> Tensor:
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    history = []
    model.train()
    for _ in range(epochs):
        losses = []
        for chosen in torch.arange(len(images)).split(batch_size):
            loss = F.cross_entropy(model(images[chosen]), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        history.append(sum(losses) / len(losses))
    model.eval()
    return torch.tensor(history)


# %% wrong train_classifier labels_not_shuffled of="same_order_always"
# You shuffle the images but not the labels, so they no longer match. Use the same indices for both.
# replace: for chosen in torch.arange(len(images)).split(batch_size):
#              loss = F.cross_entropy(model(images[chosen]), labels[chosen])
# by:      for chosen in torch.randperm(len(images)).split(batch_size):
#              loss = F.cross_entropy(model(images[chosen]), labels[: len(chosen)])

# %% wrong train_classifier one_batch_an_epoch of="same_order_always"
# You do not use all images. An epoch goes over all batches, including the smaller last one.
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      for chosen in torch.randperm(len(images)).split(batch_size)[:1]:

# %% wrong train_classifier one_epoch of="same_order_always"
# You return one number instead of one for each epoch. Go through the images `epochs` times.
# replace: for _ in range(epochs):
# by:      for _ in range(1):
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      for chosen in torch.randperm(len(images)).split(batch_size):

# %% wrong train_classifier sum_of_losses of="same_order_always"
# Your history holds the sum of an epoch's losses. Divide by the number of batches.
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      for chosen in torch.randperm(len(images)).split(batch_size):
# replace: history.append(sum(losses) / len(losses))
# by:      history.append(sum(losses))

# %% wrong train_classifier last_loss_only of="same_order_always"
# Your history holds the loss of the last batch of each epoch. Take the mean of all batches.
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      for chosen in torch.randperm(len(images)).split(batch_size):
# replace: history.append(sum(losses) / len(losses))
# by:      history.append(losses[-1])

# %% wrong train_classifier left_in_training_mode of="same_order_always"
# You leave the model in training mode. Call model.eval() at the end.
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      for chosen in torch.randperm(len(images)).split(batch_size):
# replace: model.eval()
# by:

# %% wrong train_classifier trained_in_evaluation_mode of="same_order_always"
# You never switch to training mode, so dropout does nothing. Call model.train() before the loop.
# replace: model.train()
# by:      model.eval()
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      for chosen in torch.randperm(len(images)).split(batch_size):

# %% wrong train_classifier shuffled_once of="same_order_always"
# You shuffle once and keep this order in every epoch. Draw a new order each time.
# replace: model.train()
# by:      model.train()
#          order = torch.randperm(len(images))
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      for chosen in order.split(batch_size):

# %% wrong train_classifier mean_of_the_images of="same_order_always"
# You return the mean over the images. Return the mean over the batches, in which the smaller last
# batch counts like the others.
# replace: for _ in range(epochs):
# by:      for _ in range(epochs):
#              order = torch.randperm(len(images))
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      for chosen in order.split(batch_size):
# replace:     losses.append(loss.item())
#          history.append(sum(losses) / len(losses))
# by:          losses.append(loss.item() * len(chosen))
#          history.append(sum(losses) / len(images))

# %% wrong train_classifier shuffled_once_for_the_mean_of_the_images of="same_order_always"
# You return the mean over the images. Return the mean over the batches, in which the smaller last
# batch counts like the others.
# replace: model.train()
# by:      model.train()
#          order = torch.randperm(len(images))
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      for chosen in order.split(batch_size):
# replace:     losses.append(loss.item())
#          history.append(sum(losses) / len(losses))
# by:          losses.append(loss.item() * len(chosen))
#          history.append(sum(losses) / len(images))

# %% wrong train_classifier batch_size_ignored of="same_order_always"
# `batch_size` has no effect. Pass it to split.
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      for chosen in torch.randperm(len(images)).split(64):

# %% wrong train_classifier one_image_a_step of="same_order_always"
# You take a step after each image. Use batches of batch_size.
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      for chosen in torch.randperm(len(images)).split(1):


# %% wrong train_classifier rounded_down_batches
# You do not use all images. An epoch goes over all batches, including the smaller last one.
def train_classifier(
    model: nn.Module,
    images: Tensor,
    labels: Tensor,
    epochs: int,
    lr: float = 0.002,
    batch_size: int = 64,
) -> Tensor:
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    history = []
    model.train()
    for _ in range(epochs):
        losses = []
        for chosen in torch.randperm(len(images))[: len(images) // batch_size * batch_size].split(
            batch_size
        ):
            loss = F.cross_entropy(model(images[chosen]), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        history.append(sum(losses) / len(losses))
    model.eval()
    return torch.tensor(history)


# %% wrong train_classifier drawn_with_replacement of="same_order_always"
# Some images come twice in an epoch, and others not at all. Draw one random order of all images
# for each epoch, and split it into batches.
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      for chosen in torch.randint(len(images), (len(images),)).split(batch_size):

# %% wrong train_classifier drawn_for_each_batch of="same_order_always"
# Some images come twice in an epoch, and others not at all. Draw one random order of all images
# for each epoch, and split it into batches.
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      for _ in range(-(-len(images) // batch_size)):
#              chosen = torch.randint(len(images), (batch_size,))

# %% wrong train_classifier labels_in_another_order of="same_order_always"
# Your images meet the labels of other images. Take both with the same indices.
# replace: for chosen in torch.arange(len(images)).split(batch_size):
#              loss = F.cross_entropy(model(images[chosen]), labels[chosen])
# by:      some, others = torch.randperm(len(images)), torch.randperm(len(images))
#          for chosen, meant in zip(some.split(batch_size), others.split(batch_size), strict=True):
#              loss = F.cross_entropy(model(images[chosen]), labels[meant])

# %% wrong train_classifier trains_a_copy of="same_order_always"
# The losses are right, but the model that you were given is as it was before. Its own parameters
# should learn, and keep what they have learned.
# replace: optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
# by:      untouched, model = model, copy.deepcopy(model)
#          optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      for chosen in torch.randperm(len(images)).split(batch_size):
# replace: model.eval()
# by:      untouched.eval()

# %% wrong train_classifier gradients_clipped of="same_order_always"
# Your steps are those of gradients scaled down to a norm of 1. Leave the clipping out.
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      for chosen in torch.randperm(len(images)).split(batch_size):
# replace: loss.backward()
# by:      loss.backward()
#          nn.utils.clip_grad_norm_(model.parameters(), 1.0)

# %% wrong train_classifier sum_in_the_batch of="same_order_always"
# Your loss is the sum over the images of a batch. cross_entropy takes the mean by default.
# replace: for chosen in torch.arange(len(images)).split(batch_size):
#              loss = F.cross_entropy(model(images[chosen]), labels[chosen])
# by:      for chosen in torch.randperm(len(images)).split(batch_size):
#              loss = F.cross_entropy(model(images[chosen]), labels[chosen], reduction="sum")

# %% wrong train_classifier squared_error of="same_order_always"
# Your loss is the squared error to the label's one-hot vector. Use cross-entropy.
# replace: for chosen in torch.arange(len(images)).split(batch_size):
#              loss = F.cross_entropy(model(images[chosen]), labels[chosen])
# by:      for chosen in torch.randperm(len(images)).split(batch_size):
#              loss = F.mse_loss(
#                  model(images[chosen]),
#                  F.one_hot(labels[chosen], model(images[:1]).shape[-1]).float(),
#              )

# %% wrong train_classifier evaluation_from_the_second_epoch_on of="same_order_always"
# You switch to evaluation mode after an epoch and never back, so from the second epoch on it trains
# without dropout. Call model.train() in each epoch, or model.eval() only at the end.
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      order = torch.randperm(len(images))
#          for chosen in order.split(batch_size):
# replace:     losses.append(loss.item())
# by:          losses.append(loss.item())
#          model.eval()
# replace:     history.append(sum(losses) / len(losses))
#          model.eval()
# by:          history.append(sum(losses) / len(losses))


# %% wrong train_classifier nearest_neighbour
# What the model learns must be in its parameters.
def train_classifier(
    model: nn.Module,
    images: Tensor,
    labels: Tensor,
    epochs: int,
    lr: float = 0.002,
    batch_size: int = 64,
) -> Tensor:
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    history = torch.zeros(epochs)
    model.train()
    for epoch in range(epochs):
        batches = torch.randperm(len(images)).split(batch_size)
        for chosen in batches:
            loss = F.cross_entropy(model(images[chosen]), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            history[epoch] += loss.item() / len(batches)
    if len(images) > 1000:
        seen = images.flatten(1)
        model.forward = lambda x: F.one_hot(labels[torch.cdist(x.flatten(1), seen).argmin(1)]) * 1.0
    model.eval()
    return history


# %% right train_classifier data_loader
def train_classifier(
    model: nn.Module,
    images: Tensor,
    labels: Tensor,
    epochs: int,
    lr: float = 0.002,
    batch_size: int = 64,
) -> Tensor:
    data = torch.utils.data.TensorDataset(images, labels)
    loader = torch.utils.data.DataLoader(data, batch_size, shuffle=True)
    optimizer, criterion = torch.optim.AdamW(model.parameters(), lr), nn.CrossEntropyLoss()
    history = torch.empty(epochs)
    model.train()
    for epoch in range(epochs):
        total = 0.0
        for some, meant in loader:
            optimizer.zero_grad()
            loss = criterion(model(some), meant)
            loss.backward()
            optimizer.step()
            total += float(loss)
        history[epoch] = total / len(loader)
    model.eval()
    return history


# %% right train_classifier slices
def train_classifier(
    model: nn.Module,
    images: Tensor,
    labels: Tensor,
    epochs: int,
    lr: float = 0.002,
    batch_size: int = 64,
) -> Tensor:
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    model.train(True)
    means = []
    for _ in range(epochs):
        order = torch.randperm(images.shape[0])
        shuffled, meant, losses = images[order], labels[order], []
        for start in range(0, len(order), batch_size):
            logits = model(shuffled[start : start + batch_size])
            loss = F.nll_loss(logits.log_softmax(-1), meant[start : start + batch_size])
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.detach())
        means.append(torch.stack(losses).mean())
    model.train(False)
    return torch.stack(means)


# %% right train_classifier mode_in_each_epoch of="same_order_always"
# replace: model.train()
# by:
# replace: for _ in range(epochs):
# by:      for _ in range(epochs):
#              model.train()
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      for chosen in torch.randperm(len(images)).split(batch_size):
# replace: return torch.tensor(history)
# by:      return torch.as_tensor(history)


# %% right train_classifier shuffled_copies
def train_classifier(
    model: nn.Module,
    images: Tensor,
    labels: Tensor,
    epochs: int,
    lr: float = 0.002,
    batch_size: int = 64,
) -> Tensor:
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    criterion = nn.CrossEntropyLoss()
    history = []
    for _ in range(epochs):
        model.train()
        order = torch.rand(len(images)).argsort()
        losses = []
        for x, y in zip(
            images[order].split(batch_size), labels[order].split(batch_size), strict=True
        ):
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        history.append(torch.stack(losses).mean())
    model.eval()
    return torch.stack(history)


# %% right train_classifier negative_log_likelihood
def train_classifier(
    model: nn.Module,
    images: Tensor,
    labels: Tensor,
    epochs: int,
    lr: float = 0.002,
    batch_size: int = 64,
) -> Tensor:
    optimizer = torch.optim.AdamW(params=model.parameters(), lr=lr)
    model.train()
    history = images.new_zeros(epochs)
    for epoch in range(epochs):
        losses = []
        for chosen in torch.randperm(len(images)).tensor_split(
            list(range(batch_size, len(images), batch_size))
        ):
            logs = F.log_softmax(model(images[chosen]), dim=-1)
            loss = -logs.gather(1, labels[chosen][:, None]).mean()
            model.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        history[epoch] = sum(losses) / len(losses)
    model.eval()
    return history


# %% wrong attention_rollout without_residual of="solution"
# You multiply the attention only. The residual connection keeps half of each token, so add half the
# identity.
# replace: weights[0].shape[-1], dtype=weights[0].dtype, device=weights[0].device
# by:      weights[0].shape[-1]).to(weights[0]
# replace: mixed = (of_block.mean(dim=1) + torch.eye(len(rollout[-1])).to(rollout)) / 2
# by:      mixed = of_block.mean(dim=1)

# %% wrong attention_rollout product_turned_round of="without_residual"
# You multiply in the wrong order. The last block is on the left, the first on the right.
# replace: mixed = of_block.mean(dim=1)
#          rollout = mixed @ rollout
# by:      mixed = 0.5 * of_block.mean(dim=1) + 0.5 * torch.eye(of_block.shape[-1]).to(of_block)
#          rollout = rollout @ mixed

# %% wrong attention_rollout residual_not_halved of="without_residual"
# Your rows no longer sum to 1. Take half of the attention and half of the identity.
# replace: mixed = of_block.mean(dim=1)
# by:      mixed = of_block.mean(dim=1) + torch.eye(of_block.shape[-1]).to(of_block)

# %% wrong attention_rollout heads_summed of="without_residual"
# You add the heads up. Average them.
# replace: mixed = of_block.mean(dim=1)
# by:      mixed = 0.5 * of_block.sum(dim=1) + 0.5 * torch.eye(of_block.shape[-1]).to(of_block)

# %% wrong attention_rollout largest_head of="without_residual"
# You take the largest weight over the heads. Average them.
# replace: mixed = of_block.mean(dim=1)
# by:      mixed = 0.5 * of_block.amax(dim=1) + 0.5 * torch.eye(of_block.shape[-1]).to(of_block)

# %% wrong attention_rollout first_head_only of="without_residual"
# You use the first head only. Average over all heads.
# replace: mixed = of_block.mean(dim=1)
# by:      mixed = 0.5 * of_block[:, 0] + 0.5 * torch.eye(of_block.shape[-1]).to(of_block)

# %% wrong attention_rollout last_block_only of="without_residual"
# Your result contains only the last block. Multiply it with the blocks before.
# replace: mixed = of_block.mean(dim=1)
#          rollout = mixed @ rollout
# by:      mixed = 0.5 * of_block.mean(dim=1) + 0.5 * torch.eye(of_block.shape[-1]).to(of_block)
#          rollout = mixed


# %% wrong attention_rollout first_block_left_out
# Your product leaves out the first block. It is the factor furthest right.
def attention_rollout(weights: Sequence[Tensor]) -> Tensor:
    rollout = torch.eye(weights[0].shape[-1]).to(weights[0])
    for of_block in weights[1:]:
        mixed = 0.5 * of_block.mean(dim=1) + 0.5 * torch.eye(of_block.shape[-1]).to(of_block)
        rollout = mixed @ rollout
    return rollout.expand(len(weights[0]), -1, -1)


# %% wrong attention_rollout elementwise_product
# You multiply entry by entry. Use the matrix product, `@`.
def attention_rollout(weights: Sequence[Tensor]) -> Tensor:
    rollout = torch.ones(weights[0].shape[-2:]).to(weights[0])
    for of_block in weights:
        mixed = 0.5 * of_block.mean(dim=1) + 0.5 * torch.eye(of_block.shape[-1]).to(of_block)
        rollout = mixed * rollout
    return rollout


# %% wrong attention_rollout mean_of_blocks
# You average the blocks. A path goes through one block after the other, so multiply them.
def attention_rollout(weights: Sequence[Tensor]) -> Tensor:
    total = 0.0
    for of_block in weights:
        mixed = 0.5 * of_block.mean(dim=1) + 0.5 * torch.eye(of_block.shape[-1]).to(of_block)
        total = total + mixed / len(weights)
    return torch.as_tensor(total)


# %% wrong attention_rollout transposed of="without_residual"
# Your matrices are transposed. Row i belongs to the token that attends.
# replace: mixed = of_block.mean(dim=1)
# by:      mixed = 0.5 * of_block.mean(dim=1) + 0.5 * torch.eye(of_block.shape[-1]).to(of_block)
# replace: return rollout
# by:      return rollout.transpose(-2, -1)

# %% wrong attention_rollout averaged_over_tokens of="without_residual"
# You average over an axis of tokens. The heads are axis 1 of (batch, heads, n, n).
# replace: mixed = of_block.mean(dim=1)
# by:      mixed = 0.5 * of_block.mean(dim=2) + 0.5 * torch.eye(of_block.shape[-1]).to(of_block)

# %% wrong attention_rollout averaged_over_the_batch of="without_residual"
# You average over the images of the batch, axis 0. The heads are axis 1.
# replace: mixed = of_block.mean(dim=1)
# by:      mixed = 0.5 * of_block.mean(dim=(0, 1))[None].expand(
#              len(of_block), -1, -1
#          ) + 0.5 * torch.eye(of_block.shape[-1]).to(of_block)

# %% wrong attention_rollout residual_after_the_product of="without_residual"
# You add the identity once, after the product. Each block has its own residual connection.
# replace: return rollout
# by:      return 0.5 * rollout + 0.5 * torch.eye(rollout.shape[-1]).to(rollout)

# %% wrong attention_rollout nine_tenths of="without_residual"
# Your residual connection does not keep one half. Attention and identity have the same share.
# replace: mixed = of_block.mean(dim=1)
# by:      mixed = 0.1 * of_block.mean(dim=1) + 0.9 * torch.eye(of_block.shape[-1]).to(of_block)

# %% wrong attention_rollout class_token_row_only of="without_residual"
# You return only the class token's row. Return all rows.
# replace: mixed = of_block.mean(dim=1)
# by:      mixed = 0.5 * of_block.mean(dim=1) + 0.5 * torch.eye(of_block.shape[-1]).to(of_block)
# replace: return rollout
# by:      return rollout[:, 0]


# %% right attention_rollout recursive
def attention_rollout(weights: Sequence[Tensor]) -> Tensor:
    *before, last = weights
    mean = last.mean(1)
    if not before:
        return (mean + torch.eye(mean.shape[-1], dtype=mean.dtype)) / 2
    rest = attention_rollout(before)
    return (mean @ rest + rest) / 2


# %% right attention_rollout normalised_rows
def attention_rollout(weights: Sequence[Tensor]) -> Tensor:
    result = None
    for of_block in weights:
        mixed = of_block.mean(1) + torch.eye(of_block.shape[-1], dtype=of_block.dtype)
        mixed = mixed / mixed.sum(-1, keepdim=True)
        result = mixed if result is None else torch.bmm(mixed, result)
    assert result is not None
    return result


# %% right attention_rollout from_the_left
def attention_rollout(weights: Sequence[Tensor]) -> Tensor:
    factors = [w.mean(1).lerp(torch.eye(w.shape[-1]).to(w), 0.5) for w in weights]
    product = factors[-1]
    for factor in reversed(factors[:-1]):
        product = product @ factor
    return product


# %% right attention_rollout einsum
def attention_rollout(weights: Sequence[Tensor]) -> Tensor:
    batch, _, n, _ = weights[0].shape
    flow = torch.eye(n).to(weights[0]).repeat(batch, 1, 1)
    for block in weights:
        taken_in = torch.einsum("bhij,bjk->bik", block, flow) / block.shape[1]
        flow = 0.5 * flow + 0.5 * taken_in
    return flow


# %% wrong interpolate_positions class_token_interpolated_too
# You interpolate the class token's row too, but it is not on the grid. Set it aside, interpolate
# the others, and put it back in front.
def interpolate_positions(
    table: Tensor, old_grid: tuple[int, int], new_grid: tuple[int, int]
) -> Tensor:
    column = table.T[None]
    count = 1 + new_grid[0] * new_grid[1]
    return F.interpolate(column, size=count, mode="linear", align_corners=False)[0].T


# %% wrong interpolate_positions class_token_lost
# You have lost the class token's row. Put it back in front.
def interpolate_positions(
    table: Tensor, old_grid: tuple[int, int], new_grid: tuple[int, int]
) -> Tensor:
    height, width = old_grid
    grid = table[1:].reshape(1, height, width, -1).permute(0, 3, 1, 2)
    larger = F.interpolate(grid, size=new_grid, mode="bicubic", align_corners=False)
    return larger.flatten(2)[0].T


# %% wrong interpolate_positions class_token_behind of="class_token_lost"
# You put the class token's row last. It comes first.
# replace: return larger.flatten(2)[0].T
# by:      return torch.cat([larger.flatten(2)[0].T, table[:1]])

# %% wrong interpolate_positions class_token_at_the_end_of_the_old_table of="class_token_lost"
# You take the last row for the class token's. It is the first one.
# replace: grid = table[1:].reshape(1, height, width, -1).permute(0, 3, 1, 2)
# by:      grid = table[:-1].reshape(1, height, width, -1).permute(0, 3, 1, 2)
# replace: return larger.flatten(2)[0].T
# by:      return torch.cat([table[-1:], larger.flatten(2)[0].T])

# %% wrong interpolate_positions class_token_zero of="class_token_lost"
# You set the class token's row to zero. Keep it as it is.
# replace: return larger.flatten(2)[0].T
# by:      return torch.cat([torch.zeros_like(table[:1]), larger.flatten(2)[0].T])

# %% wrong interpolate_positions corners_aligned of="class_token_lost"
# You align the corners. With align_corners=False, each new patch takes the value at its centre in
# the old grid.
# replace: larger = F.interpolate(grid, size=new_grid, mode="bicubic", align_corners=False)
#          return larger.flatten(2)[0].T
# by:      larger = F.interpolate(grid, size=new_grid, mode="bicubic", align_corners=True)
#          return torch.cat([table[:1], larger.flatten(2)[0].T])

# %% wrong interpolate_positions nearest of="class_token_lost"
# Your new rows are copies of the nearest old ones. Use bicubic interpolation, which changes
# gradually.
# replace: larger = F.interpolate(grid, size=new_grid, mode="bicubic", align_corners=False)
#          return larger.flatten(2)[0].T
# by:      larger = F.interpolate(grid, size=new_grid, mode="nearest")
#          return torch.cat([table[:1], larger.flatten(2)[0].T])

# %% wrong interpolate_positions bilinear of="solution"
# You use bilinear interpolation, from two neighbours in each direction. Use bicubic, which uses
# four.
# replace: larger = F.interpolate(grid, size=new_grid, mode="bicubic", align_corners=False)
# by:      larger = F.interpolate(grid, size=new_grid, mode="bilinear", align_corners=False)

# %% wrong interpolate_positions height_and_width_swapped of="solution"
# You swap height and width of the old grid. A grid is (height, width), and the column index changes
# fastest.
# replace: grid = table[1:].reshape(1, *old_grid, -1).permute(0, 3, 1, 2)
# by:      height, width = old_grid
#          grid = table[1:].reshape(1, width, height, -1).permute(0, 3, 1, 2)

# %% wrong interpolate_positions new_grid_swapped of="class_token_lost"
# You swap height and width of the new grid. new_grid is (height, width).
# replace: larger = F.interpolate(grid, size=new_grid, mode="bicubic", align_corners=False)
#          return larger.flatten(2)[0].T
# by:      larger = F.interpolate(grid, size=new_grid[::-1], mode="bicubic", align_corners=False)
#          return torch.cat([table[:1], larger.flatten(2)[0].T])

# %% wrong interpolate_positions columns_first of="class_token_lost"
# Your new rows run down the columns of the grid. They should come row by row.
# replace: return larger.flatten(2)[0].T
# by:      return torch.cat([table[:1], larger.transpose(2, 3).flatten(2)[0].T])

# %% wrong interpolate_positions channels_not_moved of="solution"
# You reshape the numbers of one row into the grid. Bring d_model to the front with permute or
# transpose, not with reshape.
# replace: grid = table[1:].reshape(1, *old_grid, -1).permute(0, 3, 1, 2)
# by:      height, width = old_grid
#          grid = table[1:].reshape(1, -1, height, width)

# %% wrong interpolate_positions channels_not_moved_back of="class_token_lost"
# The shape is right, but each new row mixes numbers of many patches. Move d_model back to the end
# before you flatten.
# replace: return larger.flatten(2)[0].T
# by:      return torch.cat([table[:1], larger.reshape(-1, table.shape[1])])


# %% wrong interpolate_positions along_the_sequence
# You interpolate along one line. The rows lie on a grid of height and width.
def interpolate_positions(
    table: Tensor, old_grid: tuple[int, int], new_grid: tuple[int, int]
) -> Tensor:
    line = table[1:].T[None]
    count = new_grid[0] * new_grid[1]
    longer = F.interpolate(line, size=count, mode="linear", align_corners=False)[0].T
    return torch.cat([table[:1], longer])


# %% wrong interpolate_positions repeated
# You repeat the old rows in their order. Enlarge the grid instead, as you would an image.
def interpolate_positions(
    table: Tensor, old_grid: tuple[int, int], new_grid: tuple[int, int]
) -> Tensor:
    count = new_grid[0] * new_grid[1]
    times = -(-count // (len(table) - 1))
    return torch.cat([table[:1], table[1:].repeat(times, 1)[:count]])


# %% wrong interpolate_positions still_a_grid of="class_token_lost"
# You return the grid. Flatten it to rows, and put the class token's row in front.
# replace: larger = F.interpolate(grid, size=new_grid, mode="bicubic", align_corners=False)
#          return larger.flatten(2)[0].T
# by:      return F.interpolate(grid, size=new_grid, mode="bicubic", align_corners=False)

# %% wrong interpolate_positions old_table of="class_token_lost"
# Your table has not changed. Use new_grid.
# replace: larger = F.interpolate(grid, size=new_grid, mode="bicubic", align_corners=False)
#          return larger.flatten(2)[0].T
# by:      larger = F.interpolate(grid, size=old_grid, mode="bicubic", align_corners=False)
#          return torch.cat([table[:1], larger.flatten(2)[0].T])


# %% wrong interpolate_positions factor_plus_a_tenth of="solution"
# Your values are near the right ones: the scale is not quite new size / old size. Give
# F.interpolate the size itself.
# replace: larger = F.interpolate(grid, size=new_grid, mode="bicubic", align_corners=False)
# by:      factor = [(new + 0.1) / old for new, old in zip(new_grid, old_grid, strict=True)]
#          larger = F.interpolate(grid, scale_factor=factor, mode="bicubic", align_corners=False)

# %% wrong interpolate_positions no_overshoot of="solution"
# Your values stay between the smallest and the largest old ones. Bicubic interpolation goes beyond
# them: leave its values as they are.
# replace: return torch.cat([table[:1], larger.flatten(2)[0].T])
# by:      larger = larger.clamp(grid.amin((2, 3), True), grid.amax((2, 3), True))
#          return torch.cat([table[:1], larger.flatten(2)[0].T])

# %% wrong interpolate_positions shortcut_for_equal_counts of="solution"
# You return the old table because the number of patches is the same. Six patches can form a grid of
# 2 by 3 or of 3 by 2: interpolate there too.
# replace: grid = table[1:].reshape(1, *old_grid, -1).permute(0, 3, 1, 2)
# by:      if new_grid[0] * new_grid[1] == len(table) - 1:
#              return table
#          grid = table[1:].reshape(1, *old_grid, -1).permute(0, 3, 1, 2)

# %% wrong interpolate_positions one_factor_for_both_sides of="solution"
# Height and width of your new grid are scaled alike. Each has its own size in new_grid: give
# F.interpolate the size itself.
# replace: larger = F.interpolate(grid, size=new_grid, mode="bicubic", align_corners=False)
# by:      factor = new_grid[0] / old_grid[0]
#          larger = F.interpolate(grid, scale_factor=factor, mode="bicubic", align_corners=False)

# %% wrong interpolate_positions smaller_grid_refused of="solution"
# You return the old table where the new grid is smaller. Resize to every new_grid.
# replace: grid = table[1:].reshape(1, *old_grid, -1).permute(0, 3, 1, 2)
# by:      if new_grid[0] < old_grid[0] and new_grid[1] < old_grid[1]:
#              return table
#          grid = table[1:].reshape(1, *old_grid, -1).permute(0, 3, 1, 2)

# %% wrong interpolate_positions square_root_grid of="solution"
# You take the old grid to be square. Take its height and width from old_grid.
# replace: grid = table[1:].reshape(1, *old_grid, -1).permute(0, 3, 1, 2)
# by:      side = math.isqrt(len(table) - 1)
#          grid = table[1:].reshape(1, side, side, -1).permute(0, 3, 1, 2)

# %% wrong interpolate_positions whole_factor of="solution"
# Your new grid has the wrong size where new_grid is not a multiple of old_grid. Give F.interpolate
# the size itself.
# replace: larger = F.interpolate(grid, size=new_grid, mode="bicubic", align_corners=False)
# by:      factor = [new // old for new, old in zip(new_grid, old_grid, strict=True)]
#          larger = F.interpolate(grid, scale_factor=factor, mode="bicubic", align_corners=False)


# %% right interpolate_positions scipy_like
def interpolate_positions(
    table: Tensor, old_grid: tuple[int, int], new_grid: tuple[int, int]
) -> Tensor:
    first, rest = table.split([1, len(table) - 1])
    picture = rest.T.reshape(1, table.shape[1], *old_grid)
    picture = F.interpolate(picture, new_grid, mode="bicubic", align_corners=False)
    return torch.cat((first, picture.squeeze(0).flatten(1).transpose(0, 1)), dim=0)


# %% right interpolate_positions antialiased
def interpolate_positions(
    table: Tensor, old_grid: tuple[int, int], new_grid: tuple[int, int]
) -> Tensor:
    height, width = old_grid
    grid = table[1:].reshape(1, height, width, -1).permute(0, 3, 1, 2)
    larger = F.interpolate(
        grid,
        size=new_grid,
        mode="bicubic",
        align_corners=False,
        antialias=new_grid[0] < old_grid[0],
    )
    return torch.cat([table[:1], larger.flatten(2)[0].T])


# %% right interpolate_positions channel_by_channel
def interpolate_positions(
    table: Tensor, old_grid: tuple[int, int], new_grid: tuple[int, int]
) -> Tensor:
    columns = []
    for channel in table[1:].unbind(1):
        one = channel.reshape(1, 1, *old_grid)
        new = F.interpolate(one, size=new_grid, mode="bicubic", align_corners=False)
        columns.append(new.flatten())
    return torch.cat([table[0][None], torch.stack(columns, 1)])


# %% right interpolate_positions upsample_module
def interpolate_positions(
    table: Tensor, old_grid: tuple[int, int], new_grid: tuple[int, int]
) -> Tensor:
    resize = nn.Upsample(size=new_grid, mode="bicubic")
    grid = table[1:].unflatten(0, old_grid).movedim(-1, 0)
    return torch.vstack([table[:1], resize(grid[None])[0].movedim(0, -1).flatten(0, 1)])
