# %% given imports
# pyright: reportRedeclaration=false, reportReturnType=false, reportUnusedExpression=false
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn


# %% wrong patchify reshape_alone
# Your patches are stripes: the numbers keep the order in which they lie in memory, and a patch
# takes pixels from several rows of the image. Bring the axes in order with permute before you
# flatten.
def patchify(images: Tensor, patch_size: int) -> Tensor:
    batch, channels, height, width = images.shape
    if height % patch_size or width % patch_size:
        raise ValueError(f"{height} or {width} is no multiple of {patch_size}")
    return images.reshape(batch, -1, channels * patch_size**2)


# %% wrong patchify channel_last
# Inside your patches the colours of each pixel stand side by side: the channel comes first, then
# the rows and columns of pixels.
def patchify(images: Tensor, patch_size: int) -> Tensor:
    batch, channels, height, width = images.shape
    for side in (height, width):
        if side % patch_size:
            raise ValueError(f"{side} is no multiple of {patch_size}")
    p = patch_size
    cut = images.reshape(batch, channels, height // p, p, width // p, p)
    return cut.permute(0, 2, 4, 3, 5, 1).flatten(1, 2).flatten(2)


# %% wrong patchify column_by_column of="channel_last"
# Your patches run down the columns of the image: as you read, they go along a row first.
# replace: return cut.permute(0, 2, 4, 3, 5, 1).flatten(1, 2).flatten(2)
# by:      return cut.permute(0, 4, 2, 1, 3, 5).flatten(1, 2).flatten(2)

# %% wrong patchify patches_transposed of="channel_last"
# Each of your patches is mirrored at its diagonal: inside a patch the pixels run row by row, so
# the axis y stands before x.
# replace: return cut.permute(0, 2, 4, 3, 5, 1).flatten(1, 2).flatten(2)
# by:      return cut.permute(0, 2, 4, 1, 5, 3).flatten(1, 2).flatten(2)

# %% wrong patchify axes_not_brought_in_order of="channel_last"
# Your patches are stripes: the numbers keep the order in which they lie in memory, and a patch
# takes pixels from several rows of the image. Bring the axes in order with permute before you
# flatten.
# replace: return cut.permute(0, 2, 4, 3, 5, 1).flatten(1, 2).flatten(2)
# by:      patches = (height // p) * (width // p)
#          return cut.reshape(batch, patches, channels * p * p)

# %% wrong patchify pixel_axis_split_first of="channel_last"
# You split each side into (p, number of patches), and it should be (number of patches, p): your
# patches hold every second pixel or so, not neighbours.
# replace: cut = images.reshape(batch, channels, height // p, p, width // p, p)
#          return cut.permute(0, 2, 4, 3, 5, 1).flatten(1, 2).flatten(2)
# by:      cut = images.reshape(batch, channels, p, height // p, p, width // p)
#          return cut.permute(0, 3, 5, 1, 2, 4).flatten(1, 2).flatten(2)


# %% wrong patchify numbers_before_patches
# You give (batch, numbers, patches), as unfold does: turn the last two axes round.
def patchify(images: Tensor, patch_size: int) -> Tensor:
    for side in images.shape[-2:]:
        if side % patch_size:
            raise ValueError(f"{side} is no multiple of {patch_size}")
    return F.unfold(images, patch_size, stride=patch_size)


# %% wrong patchify overlapping of="numbers_before_patches"
# Your windows overlap, so there are too many patches: from one to the next they must move by the
# patch size.
# replace: return F.unfold(images, patch_size, stride=patch_size)
# by:      return F.unfold(images, patch_size).transpose(1, 2)

# %% wrong patchify each_channel_a_patch of="channel_last"
# You make patches of each channel alone: a patch holds all channels of its square.
# replace: return cut.permute(0, 2, 4, 3, 5, 1).flatten(1, 2).flatten(2)
# by:      return cut.permute(0, 1, 2, 4, 3, 5).reshape(batch, -1, p * p)

# %% wrong patchify batch_in_the_patches of="channel_last"
# The batch is gone: you put the patches of all images into one row. Keep the first axis.
# replace: return cut.permute(0, 2, 4, 3, 5, 1).flatten(1, 2).flatten(2)
# by:      return cut.permute(0, 2, 4, 1, 3, 5).reshape(1, -1, channels * p * p)

# %% wrong patchify batch_mixed_up of="channel_last"
# Patches of different images have changed places: bring the batch to the front before you
# reshape, or never move it away.
# replace: return cut.permute(0, 2, 4, 3, 5, 1).flatten(1, 2).flatten(2)
# by:      return cut.permute(2, 4, 0, 1, 3, 5).reshape(batch, -1, channels * p * p)

# %% wrong patchify square_images_only of="reshape_alone"
# You take as many patches across as down: read height and width each from the shape.
# replace: return images.reshape(batch, -1, channels * patch_size**2)
# by:      p, side = patch_size, width // patch_size
#          cut = images.reshape(batch, channels, side, p, side, p)
#          return cut.permute(0, 2, 4, 1, 3, 5).flatten(1, 2).flatten(2)


# %% wrong patchify cuts_off_what_is_left
# An image with a side that is no multiple goes through: check height and width each, and raise a
# ValueError that names the side and the patch size.
def patchify(images: Tensor, patch_size: int) -> Tensor:
    return F.unfold(images, patch_size, stride=patch_size).transpose(1, 2)


# %% wrong patchify error_of_reshape
# It stops, but with torch's own RuntimeError: check both sides first, and raise a ValueError that
# names the side and the patch size.
def patchify(images: Tensor, patch_size: int) -> Tensor:
    batch, channels, height, width = images.shape
    p = patch_size
    cut = images.reshape(batch, channels, height // p, p, width // p, p)
    return cut.permute(0, 2, 4, 1, 3, 5).flatten(1, 2).flatten(2)


# %% wrong patchify error_without_numbers
# Your message does not say which numbers do not fit: put the side and the patch size into it.
def patchify(images: Tensor, patch_size: int) -> Tensor:
    if images.shape[2] % patch_size or images.shape[3] % patch_size:
        raise ValueError("the image cannot be cut into whole patches")
    return F.unfold(images, patch_size, stride=patch_size).transpose(1, 2)


# %% wrong patchify only_height_is_checked
# An image with a side that is no multiple goes through: check height and width each, and raise a
# ValueError that names the side and the patch size.
def patchify(images: Tensor, patch_size: int) -> Tensor:
    if images.shape[2] % patch_size:
        raise ValueError(f"{images.shape[2]} is no multiple of {patch_size}")
    return F.unfold(images, patch_size, stride=patch_size).transpose(1, 2)


# %% wrong patchify only_width_is_checked
# An image with a side that is no multiple goes through: check height and width each, and raise a
# ValueError that names the side and the patch size.
def patchify(images: Tensor, patch_size: int) -> Tensor:
    if images.shape[3] % patch_size:
        raise ValueError(f"{images.shape[3]} is no multiple of {patch_size}")
    return F.unfold(images, patch_size, stride=patch_size).transpose(1, 2)


# %% wrong patchify area_is_checked
# An image with a side that is no multiple goes through: check height and width each, and raise a
# ValueError that names the side and the patch size.
def patchify(images: Tensor, patch_size: int) -> Tensor:
    height, width = images.shape[-2:]
    if height * width % patch_size**2:
        raise ValueError(f"{height} by {width} is no multiple of {patch_size}")
    return F.unfold(images, patch_size, stride=patch_size).transpose(1, 2)


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
# Your image is put together from stripes: bring each axis back to where it was before patchify,
# row of patches beside y, column beside x, and only then reshape.
def unpatchify(patches: Tensor, patch_size: int, channels: int, height: int, width: int) -> Tensor:
    return patches.reshape(len(patches), channels, height, width)


# %% wrong unpatchify channel_last
# You read each patch as if its channels came last: its numbers stand channel by channel.
def unpatchify(patches: Tensor, patch_size: int, channels: int, height: int, width: int) -> Tensor:
    p = patch_size
    apart = patches.reshape(-1, height // p, width // p, p, p, channels)
    return apart.permute(0, 5, 1, 3, 2, 4).reshape(-1, channels, height, width)


# %% wrong unpatchify column_by_column
# You put the patches down the columns of the image: they come row by row.
def unpatchify(patches: Tensor, patch_size: int, channels: int, height: int, width: int) -> Tensor:
    p = patch_size
    apart = patches.reshape(-1, width // p, height // p, channels, p, p)
    return apart.permute(0, 3, 2, 4, 1, 5).reshape(-1, channels, height, width)


# %% wrong unpatchify patches_transposed
# Each patch stands mirrored at its diagonal: y belongs to the rows of patches, x to the columns.
def unpatchify(patches: Tensor, patch_size: int, channels: int, height: int, width: int) -> Tensor:
    p = patch_size
    apart = patches.reshape(-1, height // p, width // p, channels, p, p)
    return apart.permute(0, 3, 1, 5, 2, 4).reshape(-1, channels, height, width)


# %% wrong unpatchify same_permutation_as_forth of="patches_transposed"
# Your image is put together from stripes: bring each axis back to where it was before patchify,
# row of patches beside y, column beside x, and only then reshape.
# replace: return apart.permute(0, 3, 1, 5, 2, 4).reshape(-1, channels, height, width)
# by:      return apart.permute(0, 2, 4, 1, 3, 5).reshape(-1, channels, height, width)

# %% wrong unpatchify height_and_width_swapped of="column_by_column"
# Height and width have changed places: the number of rows of patches comes from the height.
# replace: return apart.permute(0, 3, 2, 4, 1, 5).reshape(-1, channels, height, width)
# by:      return apart.permute(0, 3, 1, 4, 2, 5).reshape(-1, channels, width, height)


# %% wrong unpatchify square_grid
# You take as many patches across as down: the root of their number. Height and width tell how
# they stood.
def unpatchify(patches: Tensor, patch_size: int, channels: int, height: int, width: int) -> Tensor:
    p, side = patch_size, int(patches.shape[1] ** 0.5)
    apart = patches.reshape(-1, side, side, channels, p, p)
    return apart.permute(0, 3, 1, 4, 2, 5).reshape(-1, channels, side * p, side * p)


# %% wrong unpatchify pixels_before_patches of="patches_transposed"
# Your rows of pixels stand before the rows of patches: row of patches first, then y inside it,
# together they count the height.
# replace: return apart.permute(0, 3, 1, 5, 2, 4).reshape(-1, channels, height, width)
# by:      return apart.permute(0, 3, 4, 1, 5, 2).reshape(-1, channels, height, width)


# %% wrong unpatchify fold_without_turning
# `fold` wants (batch, numbers, patches): turn the last two axes of the patches round first.
def unpatchify(patches: Tensor, patch_size: int, channels: int, height: int, width: int) -> Tensor:
    turned = patches.reshape(len(patches), -1, patches.shape[1])
    return F.fold(turned, (height, width), patch_size, stride=patch_size)


# %% wrong unpatchify first_image_only
# Only the first image of the batch comes back: keep the first axis of the patches.
def unpatchify(patches: Tensor, patch_size: int, channels: int, height: int, width: int) -> Tensor:
    p = patch_size
    apart = patches[:1].reshape(-1, height // p, width // p, channels, p, p)
    return apart.permute(0, 3, 1, 4, 2, 5).reshape(-1, channels, height, width)


# %% wrong unpatchify grey_only
# You put the channels one after another as if each were a row of patches: the channel is an axis
# of its own inside a patch.
def unpatchify(patches: Tensor, patch_size: int, channels: int, height: int, width: int) -> Tensor:
    p = patch_size
    apart = patches.reshape(-1, channels, height // p, width // p, p, p)
    return apart.permute(0, 1, 2, 4, 3, 5).reshape(-1, channels, height, width)


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
# The check loads weights by the name of the layer, which the docstring gives: call it projection.
# replace: self.projection = nn.Linear(channels * patch_size**2, d_model)
# by:      self.linear = nn.Linear(channels * patch_size**2, d_model)
# replace: return self.projection(patchify(images, self.patch_size))
# by:      return self.linear(patchify(images, self.patch_size))

# %% wrong PatchEmbedding without_bias of="solution"
# Your layer has no bias: leave `bias=False` out.
# replace: self.projection = nn.Linear(channels * patch_size**2, d_model)
# by:      self.projection = nn.Linear(channels * patch_size**2, d_model, bias=False)

# %% wrong PatchEmbedding pixels_of_a_side of="solution"
# Your layer takes channels · patch_size numbers: a patch is a square, so it has patch_size times
# patch_size pixels.
# replace: self.projection = nn.Linear(channels * patch_size**2, d_model)
# by:      self.projection = nn.Linear(channels * patch_size, d_model)

# %% wrong PatchEmbedding channels_forgotten of="solution"
# Your layer takes patch_size times patch_size numbers: each channel has as many.
# replace: self.projection = nn.Linear(channels * patch_size**2, d_model)
# by:      self.projection = nn.Linear(patch_size**2, d_model)

# %% wrong PatchEmbedding sizes_swapped of="solution"
# The two sizes of nn.Linear are swapped: what goes in stands first.
# replace: self.projection = nn.Linear(channels * patch_size**2, d_model)
# by:      self.projection = nn.Linear(d_model, channels * patch_size**2)

# %% wrong PatchEmbedding no_patches_cut of="solution"
# Your layer is applied to stripes of the image: cut it with patchify first.
# replace: self.patch_size = patch_size
#          self.projection = nn.Linear(channels * patch_size**2, d_model)
# by:      self.numbers = channels * patch_size**2
#          self.projection = nn.Linear(self.numbers, d_model)
# replace: return self.projection(patchify(images, self.patch_size))
# by:      return self.projection(images.reshape(len(images), -1, self.numbers))

# %% wrong PatchEmbedding with_relu of="solution"
# Negative numbers of your tokens have become zero: there is no ReLU in a patch embedding.
# replace: return self.projection(patchify(images, self.patch_size))
# by:      return self.projection(patchify(images, self.patch_size)).relu()

# %% wrong PatchEmbedding tokens_last of="solution"
# You give (batch, d_model, patches): the d_model numbers of a token stand last.
# replace: return self.projection(patchify(images, self.patch_size))
# by:      return self.projection(patchify(images, self.patch_size)).transpose(1, 2)

# %% wrong PatchEmbedding normalised_pixels of="solution"
# You normalise the pixels of each patch first: the layer takes the patch as it is.
# replace: return self.projection(patchify(images, self.patch_size))
# by:      patches = patchify(images, self.patch_size)
#          return self.projection(F.layer_norm(patches, patches.shape[-1:]))

# %% wrong PatchEmbedding mean_of_all_patches of="solution"
# You average the patches: one token for each patch should come out.
# replace: return self.projection(patchify(images, self.patch_size))
# by:      return self.projection(patchify(images, self.patch_size)).mean(dim=1)

# %% wrong PatchEmbedding square_grid_only of="solution"
# You compute the number of patches from one side: an image may be wider than high. Let patchify
# count them.
# replace: self.patch_size = patch_size
# by:      side = image_size if isinstance(image_size, int) else image_size[1]
#          self.patch_size, self.count = patch_size, (side // patch_size) ** 2
# replace: return self.projection(patchify(images, self.patch_size))
# by:      tokens = self.projection(patchify(images, self.patch_size))
#          return tokens.reshape(len(images), self.count, -1)

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
# Your windows overlap: they must move by a whole patch, which `stride` says.
def repaired_convolution(images: Tensor, weight: Tensor, bias: Tensor, patch_size: int) -> Tensor:
    kernels = weight.reshape(len(weight), images.shape[1], patch_size, patch_size)
    return F.conv2d(images, kernels, bias).flatten(2).transpose(1, 2)


# %% wrong repaired_convolution still_a_map of="no_stride"
# You give the map (batch, d_model, rows, columns): join rows and columns, and turn the axes so
# that the d_model numbers stand last.
# replace: return F.conv2d(images, kernels, bias).flatten(2).transpose(1, 2)
# by:      return F.conv2d(images, kernels, bias, stride=patch_size)

# %% wrong repaired_convolution d_model_first of="no_stride"
# You give (batch, d_model, patches): turn the last two axes round.
# replace: return F.conv2d(images, kernels, bias).flatten(2).transpose(1, 2)
# by:      return F.conv2d(images, kernels, bias, stride=patch_size).flatten(2)

# %% wrong repaired_convolution reshaped_in_place_of_turned of="solution"
# The shape is right, but the numbers of a token come from several patches: turn the axes with
# transpose, not with reshape.
# replace: return grid.flatten(2).transpose(1, 2)
# by:      return grid.reshape(len(images), -1, len(weight))

# %% wrong repaired_convolution bias_left_out of="no_stride"
# The bias is missing: hand it to the convolution as well.
# replace: return F.conv2d(images, kernels, bias).flatten(2).transpose(1, 2)
# by:      return F.conv2d(images, kernels, stride=patch_size).flatten(2).transpose(1, 2)

# %% wrong repaired_convolution kernels_transposed of="solution"
# Your kernels are mirrored at their diagonal: the rows of the weight hold the pixels of a patch
# row by row, as a kernel does.
# replace: grid = F.conv2d(images, kernels, bias, stride=patch_size)
# by:      grid = F.conv2d(images, kernels.transpose(2, 3), bias, stride=patch_size)


# %% wrong repaired_convolution channel_last_in_the_kernels
# You read the weight as if the channels stood last in a patch: channel by channel, its numbers
# stand.
def repaired_convolution(images: Tensor, weight: Tensor, bias: Tensor, patch_size: int) -> Tensor:
    kernels = weight.reshape(len(weight), patch_size, patch_size, -1).permute(0, 3, 1, 2)
    return F.conv2d(images, kernels, bias, stride=patch_size).flatten(2).transpose(1, 2)


# %% wrong repaired_convolution column_by_column of="solution"
# Your tokens run down the columns: they come row by row, as the patches do.
# replace: return grid.flatten(2).transpose(1, 2)
# by:      return grid.transpose(2, 3).flatten(2).transpose(1, 2)


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
# Your model has no class token: the table of positions has one row too few, and the logits are
# read off a patch. Put a learned vector before the patches.
# replace: self.class_token = nn.Parameter(torch.zeros(1, 1, d_model))
#          self.positions = nn.Parameter(0.02 * torch.randn(1 + patches, d_model))
# by:      self.positions = nn.Parameter(0.02 * torch.randn(patches, d_model))
# replace: x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
# by:
# replace: x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
# by:      x = x[:, 0] if self.pool == "cls" else x.mean(dim=1)

# %% wrong VisionTransformer class_token_behind of="layers_of_torch"
# You put the class token behind the patches and read off the first token, which is a patch: it
# belongs in front.
# replace: x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
# by:      x = torch.cat([x, self.class_token.expand(len(x), -1, -1)], dim=1)

# %% wrong VisionTransformer last_token_read of="layers_of_torch"
# You read the logits off the last token, and that is a patch: the class token stands first.
# replace: x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
# by:      x = x[:, -1] if self.pool == "cls" else x[:, 1:].mean(dim=1)

# %% wrong VisionTransformer token_one_read of="layers_of_torch"
# You read the logits off the first patch: the class token stands at place 0.
# replace: x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
# by:      x = x[:, 1] if self.pool == "cls" else x[:, 1:].mean(dim=1)

# %% wrong VisionTransformer always_the_mean of="layers_of_torch"
# You read the logits off a mean, whatever `pool` says: with "cls" they are read off the class
# token alone.
# replace: x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
# by:      x = x[:, 1:].mean(dim=1)

# %% wrong VisionTransformer mean_of_all_tokens_always of="layers_of_torch"
# You average all tokens, whatever `pool` says: with "cls" the class token alone is read, with
# "mean" it is left out.
# replace: x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
# by:      x = x.mean(dim=1)

# %% wrong VisionTransformer pool_ignored of="layers_of_torch"
# `pool` has no effect: with "mean" the logits are read off the mean of the patches.
# replace: x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
# by:      x = x[:, 0]

# %% wrong VisionTransformer class_token_in_the_mean of="layers_of_torch"
# Your mean takes in the class token: with "mean" the patches alone count, so begin behind it.
# replace: x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
# by:      x = x[:, 0] if self.pool == "cls" else x.mean(dim=1)

# %% wrong VisionTransformer sum_for_mean of="layers_of_torch"
# You add the patches up: divide by their number, as mean does.
# replace: x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
# by:      x = x[:, 0] if self.pool == "cls" else x[:, 1:].sum(dim=1)

# %% wrong VisionTransformer mean_without_first_patch of="layers_of_torch"
# Your mean leaves out a patch as well as the class token: it begins at place 1.
# replace: x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
# by:      x = x[:, 0] if self.pool == "cls" else x[:, 2:].mean(dim=1)

# %% wrong VisionTransformer maximum_for_mean of="layers_of_torch"
# You take the largest number of all patches: the mean is asked for.
# replace: x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
# by:      x = x[:, 0] if self.pool == "cls" else x[:, 1:].amax(dim=1)

# %% wrong VisionTransformer positions_forgotten of="layers_of_torch"
# Your model has no table of positions with a row of d_model numbers for each token: learn one, (1
# + patches, d_model), and add it.
# replace: patches = (height // patch_size) * (width // patch_size)
# by:      (height // patch_size) * (width // patch_size)
# replace: self.positions = nn.Parameter(0.02 * torch.randn(1 + patches, d_model))
# by:
# replace: x = x + self.positions
# by:

# %% wrong VisionTransformer positions_never_added of="layers_of_torch"
# You make the table of positions and do not use it: add it to the tokens before the first block.
# replace: x = x + self.positions
# by:

# %% wrong VisionTransformer positions_not_learned of="layers_of_torch"
# Your table of positions is a plain tensor, so it is not learned: nn.Parameter keeps it among the
# weights.
# replace: self.positions = nn.Parameter(0.02 * torch.randn(1 + patches, d_model))
# by:      self.positions = 0.02 * torch.randn(1 + patches, d_model)

# %% wrong VisionTransformer class_token_without_a_position of="layers_of_torch"
# Your table has a row for each patch only: the class token has a position too, the first row. Add
# positions after it is in front.
# replace: self.positions = nn.Parameter(0.02 * torch.randn(1 + patches, d_model))
# by:      self.positions = nn.Parameter(0.02 * torch.randn(patches, d_model))
# replace: x = self.embedding(images)
# by:      x = self.embedding(images)
#          x = x + self.positions
# replace: x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
#          x = x + self.positions
# by:      x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)

# %% wrong VisionTransformer one_position_for_all of="layers_of_torch"
# All your tokens get the same position: the table has one row for each of them.
# replace: patches = (height // patch_size) * (width // patch_size)
# by:      (height // patch_size) * (width // patch_size)
# replace: self.positions = nn.Parameter(0.02 * torch.randn(1 + patches, d_model))
# by:      self.positions = nn.Parameter(0.02 * torch.randn(1, d_model))

# %% wrong VisionTransformer one_number_for_each_position of="layers_of_torch"
# Your model has no table of positions with a row of d_model numbers for each token: learn one, (1
# + patches, d_model), and add it.
# replace: self.positions = nn.Parameter(0.02 * torch.randn(1 + patches, d_model))
# by:      self.positions = nn.Parameter(0.02 * torch.randn(1 + patches, 1))

# %% wrong VisionTransformer square_images_only of="layers_of_torch"
# You take as many patches down as across: height and width each have their own number.
# replace: height, width = (image_size, image_size) if isinstance(image_size, int) else image_size
#          patches = (height // patch_size) * (width // patch_size)
# by:      _height, width = (image_size, image_size) if isinstance(image_size, int) else image_size
#          patches = (width // patch_size) ** 2

# %% wrong VisionTransformer pair_not_understood of="layers_of_torch"
# image_size may be (height, width): take the pair apart before you compute with it.
# replace: height, width = (image_size, image_size) if isinstance(image_size, int) else image_size
#          patches = (height // patch_size) * (width // patch_size)
# by:      height, width = (image_size, image_size)
#          patches = (height // patch_size) * (width // patch_size)  # type: ignore

# %% wrong VisionTransformer square_not_understood of="layers_of_torch"
# image_size may also be one number, for a square: then height and width are both this number.
# replace: height, width = (image_size, image_size) if isinstance(image_size, int) else image_size
# by:      height, width = image_size  # type: ignore

# %% wrong VisionTransformer batch_second of="layers_of_torch"
# Images of one batch look at one another: PyTorch's block needs batch_first=True, or it takes the
# batch for the tokens.
# replace: nn.TransformerEncoderLayer(
#              d_model, num_heads, d_ff, dropout, "gelu", batch_first=True, norm_first=True
#          )
# by:      nn.TransformerEncoderLayer(d_model, num_heads, d_ff, dropout, "gelu", norm_first=True)

# %% wrong VisionTransformer class_token_on_the_batch_axis of="layers_of_torch"
# You put the class token along the batch's axis: each image gets one, along the axis of tokens.
# replace: x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
#          x = x + self.positions
# by:      x = torch.cat([self.class_token.expand(-1, x.shape[1], -1), x], dim=0)
#          x = x + self.positions[: x.shape[1]]

# %% wrong VisionTransformer class_token_not_expanded of="layers_of_torch"
# One class token for a whole batch does not fit beside its images: expand it to the size of the
# batch.
# replace: x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
# by:      x = torch.cat([self.class_token, x], dim=1)

# %% wrong VisionTransformer class_token_not_learned of="layers_of_torch"
# Your class token is a plain tensor of zeros: nn.Parameter lets it be learned.
# replace: self.class_token = nn.Parameter(torch.zeros(1, 1, d_model))
# by:      self.class_token = torch.zeros(1, 1, d_model)
# replace: x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
# by:      x = torch.cat([self.class_token.to(x).expand(len(x), -1, -1), x], dim=1)

# %% wrong VisionTransformer post_norm of="layers_of_torch"
# Your blocks norm after the residual: pre-norm is asked for, norm_first=True.
# replace: d_model, num_heads, d_ff, dropout, "gelu", batch_first=True, norm_first=True
# by:      d_model, num_heads, d_ff, dropout, "gelu", batch_first=True, norm_first=False

# %% wrong VisionTransformer final_norm_missing of="pooled_before_the_norm"
# The tokens come from the last block with whatever size they have: a LayerNorm stands behind it.
# replace: self.norm = nn.LayerNorm(d_model)
# by:
# replace: return self.head(self.norm(x))
# by:      return self.head(x)

# %% wrong VisionTransformer final_norm_not_used of="pooled_before_the_norm"
# You make the final norm and do not use it: it stands behind the last block.
# replace: return self.head(self.norm(x))
# by:      return self.head(x)

# %% wrong VisionTransformer blocks_share_their_weights of="layers_of_torch"
# All your blocks are one and the same: each needs weights of its own, so make a new one
# num_layers times.
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
# Your model has one block, whatever num_layers says.
# replace: for _ in range(num_layers)
# by:      for _ in range(1)

# %% wrong VisionTransformer plain_list_of_blocks of="layers_of_torch"
# Your blocks stand in a plain list, so PyTorch does not know their weights: use nn.ModuleList.
# replace: self.blocks = nn.ModuleList(
# by:      self.blocks = [
# replace:     for _ in range(num_layers)
#          )
# by:          for _ in range(num_layers)
#          ]

# %% wrong VisionTransformer dropout_not_handed_over of="layers_of_torch"
# `dropout` has no effect: hand it to the blocks.
# replace: d_model, num_heads, d_ff, dropout, "gelu", batch_first=True, norm_first=True
# by:      d_model, num_heads, d_ff, 0.0, "gelu", batch_first=True, norm_first=True

# %% wrong VisionTransformer dropout_left_at_its_default of="layers_of_torch"
# Your blocks drop a tenth whatever `dropout` says: PyTorch's own default is 0.1, so hand yours
# over.
# replace: d_model, num_heads, d_ff, dropout, "gelu", batch_first=True, norm_first=True
# by:      d_model, num_heads, d_ff, activation="gelu", batch_first=True, norm_first=True

# %% wrong VisionTransformer heads_not_handed_over of="layers_of_torch"
# `num_heads` has no effect: hand it to the blocks.
# replace: d_model, num_heads, d_ff, dropout, "gelu", batch_first=True, norm_first=True
# by:      d_model, 1, d_ff, dropout, "gelu", batch_first=True, norm_first=True

# %% wrong VisionTransformer d_ff_not_handed_over of="layers_of_torch"
# `d_ff`, the width of the feed-forward network, has no effect: hand it to the blocks.
# replace: d_model, num_heads, d_ff, dropout, "gelu", batch_first=True, norm_first=True
# by:      d_model, num_heads, 4 * d_model, dropout, "gelu", batch_first=True, norm_first=True

# %% wrong VisionTransformer softmax_at_the_end of="layers_of_torch"
# You give probabilities: the logits are what the linear layer gives, without softmax.
# replace: return self.head(x)
# by:      return self.head(x).softmax(dim=-1)

# %% wrong VisionTransformer tokens_not_pooled of="layers_of_torch"
# You give logits for each token: read them off the class token, or off the mean.
# replace: x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
# by:

# %% wrong VisionTransformer d_model_out of="layers_of_torch"
# Your model gives d_model numbers for each image: the head, a linear layer to num_classes, is
# missing.
# replace: x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
#          return self.head(x)
# by:      return x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)

# %% wrong VisionTransformer positions_in_each_block of="layers_of_torch"
# You add the positions again in front of each block: add the table once, to the tokens, before
# the first block.
# replace: x = x + self.positions
# by:
# replace: x = block(x)
# by:      x = block(x + self.positions)

# %% wrong VisionTransformer norm_before_the_blocks of="pooled_before_the_norm"
# Your last norm stands in front of the first block, so the size of what the blocks add reaches
# the logits: it belongs behind the last block.
# replace: x = x + self.positions
# by:      x = x + self.positions
#          x = self.norm(x)
# replace: return self.head(self.norm(x))
# by:      return self.head(x)

# %% wrong VisionTransformer norm_behind_each_block of="layers_of_torch"
# You use the final norm behind each block: what flows along the thick line is normed once, behind
# the last block.
# replace:     x = block(x)
#          x = self.norm(x)
# by:          x = self.norm(block(x))

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

# %% right VisionTransformer convolution_and_dropout of="layers_of_torch"
# replace: self.embedding = PatchEmbedding(image_size, patch_size, channels, d_model)
# by:      self.embedding = nn.Conv2d(channels, d_model, patch_size, patch_size)
#          self.drop = nn.Dropout(dropout)
# replace: x = self.embedding(images)
# by:      x = self.embedding(images).flatten(2).transpose(1, 2)
# replace: x = x + self.positions
# by:      x = self.drop(x + self.positions)

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
                nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model), nn.Dropout(dropout)
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
# Your blocks replace the tokens in place of adding to them: with silent blocks nothing is left.
# Each sublayer's result is added to x.
# replace: x = x + self.attentions[i](y, y, y, need_weights=False)[0]
#          x = x + self.feeds[i](self.norms[2 * i + 1](x))
# by:      x = self.attentions[i](y, y, y, need_weights=False)[0]
#          x = self.feeds[i](self.norms[2 * i + 1](x))

# %% wrong train_classifier gradients_pile_up of="same_order_always"
# Your gradients pile up from step to step: set them to zero before each backward.
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      for chosen in torch.randperm(len(images)).split(batch_size):
# replace: optimizer.zero_grad()
# by:

# %% wrong train_classifier zeroed_after_backward of="same_order_always"
# No step is taken by the gradients, so the loss stays as it is: zero_grad, backward, step, in
# this order.
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      for chosen in torch.randperm(len(images)).split(batch_size):
# replace: loss = F.cross_entropy(model(images[chosen]), labels[chosen])
# by:      loss = F.cross_entropy(model(images[chosen]), labels[chosen])
#          loss.backward()
# replace: optimizer.zero_grad()
#          loss.backward()
# by:      optimizer.zero_grad()

# %% wrong train_classifier no_step of="same_order_always"
# No step is taken by the gradients, so the loss stays as it is: zero_grad, backward, step, in
# this order.
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      for chosen in torch.randperm(len(images)).split(batch_size):
# replace: optimizer.step()
# by:

# %% wrong train_classifier softmax_first of="same_order_always"
# You take softmax before cross_entropy, which takes it itself: hand it the logits.
# replace: for chosen in torch.arange(len(images)).split(batch_size):
#              loss = F.cross_entropy(model(images[chosen]), labels[chosen])
# by:      for chosen in torch.randperm(len(images)).split(batch_size):
#              loss = F.cross_entropy(model(images[chosen]).softmax(-1), labels[chosen])

# %% wrong train_classifier plain_gradient_descent of="same_order_always"
# You step with SGD: torch.optim.AdamW is asked for.
# replace: optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
# by:      optimizer = torch.optim.SGD(model.parameters(), lr=lr)
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      for chosen in torch.randperm(len(images)).split(batch_size):

# %% wrong train_classifier adam of="same_order_always"
# Your optimizer is Adam: AdamW, which is asked for, also lets all weights decay a little.
# replace: optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
# by:      optimizer = torch.optim.Adam(model.parameters(), lr=lr)
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      for chosen in torch.randperm(len(images)).split(batch_size):

# %% wrong train_classifier learning_rate_ignored of="same_order_always"
# `lr` has no effect: hand it to the optimizer.
# replace: optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
# by:      optimizer = torch.optim.AdamW(model.parameters())
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      for chosen in torch.randperm(len(images)).split(batch_size):

# %% wrong train_classifier fresh_optimizer_each_epoch of="same_order_always"
# You make a new optimizer for each epoch, so it forgets what it has seen: one for all, before the
# loop.
# replace: optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
# by:
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
#          for chosen in torch.randperm(len(images)).split(batch_size):


# %% wrong train_classifier same_order_always
# You go through the images in the order in which they come: each epoch needs a new random one.
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
# The images come in random order and the labels do not, so they no longer belong together: take
# both by the same places.
# replace: for chosen in torch.arange(len(images)).split(batch_size):
#              loss = F.cross_entropy(model(images[chosen]), labels[chosen])
# by:      for chosen in torch.randperm(len(images)).split(batch_size):
#              loss = F.cross_entropy(model(images[chosen]), labels[: len(chosen)])

# %% wrong train_classifier one_batch_an_epoch of="same_order_always"
# Not all images are used: an epoch goes over all of its batches, the last and smaller one too.
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      for chosen in torch.randperm(len(images)).split(batch_size)[:1]:

# %% wrong train_classifier one_epoch of="same_order_always"
# You give one number and not one for each epoch: go through the images `epochs` times.
# replace: for _ in range(epochs):
# by:      for _ in range(1):
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      for chosen in torch.randperm(len(images)).split(batch_size):

# %% wrong train_classifier sum_of_losses of="same_order_always"
# Your history holds the sum of an epoch's losses: divide by the number of batches.
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      for chosen in torch.randperm(len(images)).split(batch_size):
# replace: history.append(sum(losses) / len(losses))
# by:      history.append(sum(losses))

# %% wrong train_classifier last_loss_only of="same_order_always"
# Your history holds the loss of the last batch of each epoch, not the mean of all.
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      for chosen in torch.randperm(len(images)).split(batch_size):
# replace: history.append(sum(losses) / len(losses))
# by:      history.append(losses[-1])

# %% wrong train_classifier left_in_training_mode of="same_order_always"
# You leave the model in training mode: model.eval() at the end.
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      for chosen in torch.randperm(len(images)).split(batch_size):
# replace: model.eval()
# by:

# %% wrong train_classifier trained_in_evaluation_mode of="same_order_always"
# You never switch to training mode, so dropout does not drop: model.train() before the loop.
# replace: model.train()
# by:      model.eval()
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      for chosen in torch.randperm(len(images)).split(batch_size):

# %% wrong train_classifier shuffled_once of="same_order_always"
# You shuffle once and keep this order in every epoch: draw a new one each time.
# replace: model.train()
# by:      model.train()
#          order = torch.randperm(len(images))
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      for chosen in order.split(batch_size):

# %% wrong train_classifier mean_of_the_images of="same_order_always"
# You give the mean of the images: asked for is that of the batches, the smaller last one included.
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
# You shuffle once and keep this order in every epoch: draw a new one each time.
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
# `batch_size` has no effect: hand it to split.
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      for chosen in torch.randperm(len(images)).split(64):

# %% wrong train_classifier one_image_a_step of="same_order_always"
# You step after each single image: batches of batch_size are asked for.
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      for chosen in torch.randperm(len(images)).split(1):


# %% wrong train_classifier rounded_down_batches
# Not all images are used: an epoch goes over all of its batches, the last and smaller one too.
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
# You draw images at random for each batch: so some come twice in an epoch and others not at all.
# One random order, cut into batches.
# replace: for chosen in torch.arange(len(images)).split(batch_size):
# by:      for chosen in torch.randint(len(images), (len(images),)).split(batch_size):

# %% wrong train_classifier squared_error of="same_order_always"
# Your loss is the squared error to the label's one-hot vector: cross-entropy is asked for.
# replace: for chosen in torch.arange(len(images)).split(batch_size):
#              loss = F.cross_entropy(model(images[chosen]), labels[chosen])
# by:      for chosen in torch.randperm(len(images)).split(batch_size):
#              loss = F.mse_loss(
#                  model(images[chosen]),
#                  F.one_hot(labels[chosen], model(images[:1]).shape[-1]).float(),
#              )

# %% wrong train_classifier evaluation_from_the_second_epoch_on of="same_order_always"
# You switch to evaluation mode behind each epoch and never back: from the second epoch on it trains
# without dropout. Switch to training mode in front of each epoch, or to evaluation at the very end.
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
# Your model answers with the label of the most similar training image: what it has learned must
# be in its parameters.
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
# You multiply the attention alone: half of each token is passed on by the residual, so half the
# identity belongs to it.
# replace: weights[0].shape[-1], dtype=weights[0].dtype, device=weights[0].device
# by:      weights[0].shape[-1]).to(weights[0]
# replace: mixed = (of_block.mean(dim=1) + torch.eye(len(rollout[-1])).to(rollout)) / 2
# by:      mixed = of_block.mean(dim=1)

# %% wrong attention_rollout product_turned_round of="without_residual"
# You multiply in the wrong order: the last block stands on the left, the first on the right.
# replace: mixed = of_block.mean(dim=1)
#          rollout = mixed @ rollout
# by:      mixed = 0.5 * of_block.mean(dim=1) + 0.5 * torch.eye(of_block.shape[-1]).to(of_block)
#          rollout = rollout @ mixed

# %% wrong attention_rollout residual_not_halved of="without_residual"
# Your rows no longer sum to 1: attention and identity count one half each.
# replace: mixed = of_block.mean(dim=1)
# by:      mixed = of_block.mean(dim=1) + torch.eye(of_block.shape[-1]).to(of_block)

# %% wrong attention_rollout heads_summed of="without_residual"
# You add the heads up: average them.
# replace: mixed = of_block.mean(dim=1)
# by:      mixed = 0.5 * of_block.sum(dim=1) + 0.5 * torch.eye(of_block.shape[-1]).to(of_block)

# %% wrong attention_rollout largest_head of="without_residual"
# You take the largest weight of all heads: average them.
# replace: mixed = of_block.mean(dim=1)
# by:      mixed = 0.5 * of_block.amax(dim=1) + 0.5 * torch.eye(of_block.shape[-1]).to(of_block)

# %% wrong attention_rollout first_head_only of="without_residual"
# You follow the first head only: average over all of them.
# replace: mixed = of_block.mean(dim=1)
# by:      mixed = 0.5 * of_block[:, 0] + 0.5 * torch.eye(of_block.shape[-1]).to(of_block)

# %% wrong attention_rollout last_block_only of="without_residual"
# Only the last block counts in your result: multiply it with those before.
# replace: mixed = of_block.mean(dim=1)
#          rollout = mixed @ rollout
# by:      mixed = 0.5 * of_block.mean(dim=1) + 0.5 * torch.eye(of_block.shape[-1]).to(of_block)
#          rollout = mixed


# %% wrong attention_rollout first_block_left_out
# Your product begins with the second block: the first is its rightmost factor.
def attention_rollout(weights: Sequence[Tensor]) -> Tensor:
    rollout = torch.eye(weights[0].shape[-1]).to(weights[0])
    for of_block in weights[1:]:
        mixed = 0.5 * of_block.mean(dim=1) + 0.5 * torch.eye(of_block.shape[-1]).to(of_block)
        rollout = mixed @ rollout
    return rollout.expand(len(weights[0]), -1, -1)


# %% wrong attention_rollout elementwise_product
# You multiply entry by entry: the product of matrices follows paths, `@`.
def attention_rollout(weights: Sequence[Tensor]) -> Tensor:
    rollout = torch.ones(weights[0].shape[-2:]).to(weights[0])
    for of_block in weights:
        mixed = 0.5 * of_block.mean(dim=1) + 0.5 * torch.eye(of_block.shape[-1]).to(of_block)
        rollout = mixed * rollout
    return rollout


# %% wrong attention_rollout mean_of_blocks
# You average the blocks: a path goes through one after the other, so they are multiplied.
def attention_rollout(weights: Sequence[Tensor]) -> Tensor:
    total = 0.0
    for of_block in weights:
        mixed = 0.5 * of_block.mean(dim=1) + 0.5 * torch.eye(of_block.shape[-1]).to(of_block)
        total = total + mixed / len(weights)
    return torch.as_tensor(total)


# %% wrong attention_rollout transposed of="without_residual"
# Your matrices are transposed: row i belongs to the token that looks.
# replace: mixed = of_block.mean(dim=1)
# by:      mixed = 0.5 * of_block.mean(dim=1) + 0.5 * torch.eye(of_block.shape[-1]).to(of_block)
# replace: return rollout
# by:      return rollout.transpose(-2, -1)

# %% wrong attention_rollout averaged_over_tokens of="without_residual"
# You average over an axis of tokens: the heads are axis 1 of (batch, heads, n, n).
# replace: mixed = of_block.mean(dim=1)
# by:      mixed = 0.5 * of_block.mean(dim=2) + 0.5 * torch.eye(of_block.shape[-1]).to(of_block)

# %% wrong attention_rollout averaged_over_the_batch of="without_residual"
# You average over the images of the batch, axis 0: the heads are axis 1.
# replace: mixed = of_block.mean(dim=1)
# by:      mixed = 0.5 * of_block.mean(dim=(0, 1))[None].expand(
#              len(of_block), -1, -1
#          ) + 0.5 * torch.eye(of_block.shape[-1]).to(of_block)

# %% wrong attention_rollout residual_after_the_product of="without_residual"
# You multiply the blocks first and add the identity once at the end: each block has its own
# residual.
# replace: return rollout
# by:      return 0.5 * rollout + 0.5 * torch.eye(rollout.shape[-1]).to(rollout)

# %% wrong attention_rollout nine_tenths of="without_residual"
# Your residual does not count one half: attention and identity get the same share.
# replace: mixed = of_block.mean(dim=1)
# by:      mixed = 0.1 * of_block.mean(dim=1) + 0.9 * torch.eye(of_block.shape[-1]).to(of_block)

# %% wrong attention_rollout class_token_row_only of="without_residual"
# You give the class token's row alone: all rows are asked for.
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
# The class token's row lies on no grid: set it aside, interpolate the others, and put it back in
# front.
def interpolate_positions(
    table: Tensor, old_grid: tuple[int, int], new_grid: tuple[int, int]
) -> Tensor:
    column = table.T[None]
    count = 1 + new_grid[0] * new_grid[1]
    return F.interpolate(column, size=count, mode="linear", align_corners=False)[0].T


# %% wrong interpolate_positions class_token_lost
# The class token's row is gone: put it back in front.
def interpolate_positions(
    table: Tensor, old_grid: tuple[int, int], new_grid: tuple[int, int]
) -> Tensor:
    height, width = old_grid
    grid = table[1:].reshape(1, height, width, -1).permute(0, 3, 1, 2)
    larger = F.interpolate(grid, size=new_grid, mode="bicubic", align_corners=False)
    return larger.flatten(2)[0].T


# %% wrong interpolate_positions class_token_behind of="class_token_lost"
# The class token's row stands last in your table: it is the first.
# replace: return larger.flatten(2)[0].T
# by:      return torch.cat([larger.flatten(2)[0].T, table[:1]])

# %% wrong interpolate_positions class_token_at_the_end_of_the_old_table of="class_token_lost"
# You take the last row for the class token's: it is the first one.
# replace: grid = table[1:].reshape(1, height, width, -1).permute(0, 3, 1, 2)
# by:      grid = table[:-1].reshape(1, height, width, -1).permute(0, 3, 1, 2)
# replace: return larger.flatten(2)[0].T
# by:      return torch.cat([table[-1:], larger.flatten(2)[0].T])

# %% wrong interpolate_positions class_token_zero of="class_token_lost"
# The class token's row has become zero: keep it as it is.
# replace: return larger.flatten(2)[0].T
# by:      return torch.cat([torch.zeros_like(table[:1]), larger.flatten(2)[0].T])

# %% wrong interpolate_positions corners_aligned of="class_token_lost"
# Your corners are aligned: with align_corners=False a new patch lies where its middle lies in the
# old picture.
# replace: larger = F.interpolate(grid, size=new_grid, mode="bicubic", align_corners=False)
#          return larger.flatten(2)[0].T
# by:      larger = F.interpolate(grid, size=new_grid, mode="bicubic", align_corners=True)
#          return torch.cat([table[:1], larger.flatten(2)[0].T])

# %% wrong interpolate_positions nearest of="class_token_lost"
# Your new rows are copies of the nearest old ones: bicubic interpolation goes gradually from one
# to the next.
# replace: larger = F.interpolate(grid, size=new_grid, mode="bicubic", align_corners=False)
#          return larger.flatten(2)[0].T
# by:      larger = F.interpolate(grid, size=new_grid, mode="nearest")
#          return torch.cat([table[:1], larger.flatten(2)[0].T])

# %% wrong interpolate_positions bilinear of="solution"
# You interpolate in straight lines, between two neighbours: bicubic interpolation is asked for,
# which looks at four.
# replace: larger = F.interpolate(grid, size=new_grid, mode="bicubic", align_corners=False)
# by:      larger = F.interpolate(grid, size=new_grid, mode="bilinear", align_corners=False)

# %% wrong interpolate_positions height_and_width_swapped of="solution"
# You read the rows as if the grid were turned: (height, width), and the width counts fastest.
# replace: grid = table[1:].reshape(1, *old_grid, -1).permute(0, 3, 1, 2)
# by:      height, width = old_grid
#          grid = table[1:].reshape(1, width, height, -1).permute(0, 3, 1, 2)

# %% wrong interpolate_positions new_grid_swapped of="class_token_lost"
# The new grid has its height and width exchanged: new_grid is (height, width).
# replace: larger = F.interpolate(grid, size=new_grid, mode="bicubic", align_corners=False)
#          return larger.flatten(2)[0].T
# by:      larger = F.interpolate(grid, size=new_grid[::-1], mode="bicubic", align_corners=False)
#          return torch.cat([table[:1], larger.flatten(2)[0].T])

# %% wrong interpolate_positions columns_first of="class_token_lost"
# Your new rows run down the columns of the grid: they come row by row.
# replace: return larger.flatten(2)[0].T
# by:      return torch.cat([table[:1], larger.transpose(2, 3).flatten(2)[0].T])

# %% wrong interpolate_positions channels_not_moved of="solution"
# You read the numbers of a row as places in the grid: bring d_model to the front with permute or
# a transpose, not with reshape.
# replace: grid = table[1:].reshape(1, *old_grid, -1).permute(0, 3, 1, 2)
# by:      height, width = old_grid
#          grid = table[1:].reshape(1, -1, height, width)

# %% wrong interpolate_positions channels_not_moved_back of="class_token_lost"
# The shape is right, but each of your new rows mixes numbers of many patches: turn the axes back
# before you flatten.
# replace: return larger.flatten(2)[0].T
# by:      return torch.cat([table[:1], larger.reshape(-1, table.shape[1])])


# %% wrong interpolate_positions along_the_sequence
# You stretch the rows as one line: they lie on a grid of height and width.
def interpolate_positions(
    table: Tensor, old_grid: tuple[int, int], new_grid: tuple[int, int]
) -> Tensor:
    line = table[1:].T[None]
    count = new_grid[0] * new_grid[1]
    longer = F.interpolate(line, size=count, mode="linear", align_corners=False)[0].T
    return torch.cat([table[:1], longer])


# %% wrong interpolate_positions repeated
# You repeat the old rows in their order: the grid is to be enlarged, as a picture is.
def interpolate_positions(
    table: Tensor, old_grid: tuple[int, int], new_grid: tuple[int, int]
) -> Tensor:
    count = new_grid[0] * new_grid[1]
    times = -(-count // (len(table) - 1))
    return torch.cat([table[:1], table[1:].repeat(times, 1)[:count]])


# %% wrong interpolate_positions still_a_grid of="class_token_lost"
# You give the grid: flatten it to rows, and put the class token's row in front.
# replace: larger = F.interpolate(grid, size=new_grid, mode="bicubic", align_corners=False)
#          return larger.flatten(2)[0].T
# by:      return F.interpolate(grid, size=new_grid, mode="bicubic", align_corners=False)

# %% wrong interpolate_positions old_table of="class_token_lost"
# Your table is as it was: use new_grid.
# replace: larger = F.interpolate(grid, size=new_grid, mode="bicubic", align_corners=False)
#          return larger.flatten(2)[0].T
# by:      larger = F.interpolate(grid, size=old_grid, mode="bicubic", align_corners=False)
#          return torch.cat([table[:1], larger.flatten(2)[0].T])


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
