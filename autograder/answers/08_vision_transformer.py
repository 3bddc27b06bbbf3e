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


# %% wrong patchify column_by_column
# Your patches run down the columns of the image: as you read, they go along a row first.
def patchify(images: Tensor, patch_size: int) -> Tensor:
    batch, channels, height, width = images.shape
    for side in (height, width):
        if side % patch_size:
            raise ValueError(f"{side} is no multiple of {patch_size}")
    p = patch_size
    cut = images.reshape(batch, channels, height // p, p, width // p, p)
    return cut.permute(0, 4, 2, 1, 3, 5).flatten(1, 2).flatten(2)


# %% wrong patchify patches_transposed
# Each of your patches is mirrored at its diagonal: inside a patch the pixels run row by row, so
# the axis y stands before x.
def patchify(images: Tensor, patch_size: int) -> Tensor:
    batch, channels, height, width = images.shape
    for side in (height, width):
        if side % patch_size:
            raise ValueError(f"{side} is no multiple of {patch_size}")
    p = patch_size
    cut = images.reshape(batch, channels, height // p, p, width // p, p)
    return cut.permute(0, 2, 4, 1, 5, 3).flatten(1, 2).flatten(2)


# %% wrong patchify axes_not_brought_in_order
# Your patches are stripes: the numbers keep the order in which they lie in memory, and a patch
# takes pixels from several rows of the image. Bring the axes in order with permute before you
# flatten.
def patchify(images: Tensor, patch_size: int) -> Tensor:
    batch, channels, height, width = images.shape
    for side in (height, width):
        if side % patch_size:
            raise ValueError(f"{side} is no multiple of {patch_size}")
    p = patch_size
    cut = images.reshape(batch, channels, height // p, p, width // p, p)
    patches = (height // p) * (width // p)
    return cut.reshape(batch, patches, channels * p * p)


# %% wrong patchify pixel_axis_split_first
# You split each side into (p, number of patches), and it should be (number of patches, p): your
# patches hold every second pixel or so, not neighbours.
def patchify(images: Tensor, patch_size: int) -> Tensor:
    batch, channels, height, width = images.shape
    for side in (height, width):
        if side % patch_size:
            raise ValueError(f"{side} is no multiple of {patch_size}")
    p = patch_size
    cut = images.reshape(batch, channels, p, height // p, p, width // p)
    return cut.permute(0, 3, 5, 1, 2, 4).flatten(1, 2).flatten(2)


# %% wrong patchify numbers_before_patches
# You give (batch, numbers, patches), as unfold does: turn the last two axes round.
def patchify(images: Tensor, patch_size: int) -> Tensor:
    for side in images.shape[-2:]:
        if side % patch_size:
            raise ValueError(f"{side} is no multiple of {patch_size}")
    return F.unfold(images, patch_size, stride=patch_size)


# %% wrong patchify overlapping
# Your windows overlap, so there are too many patches: from one to the next they must move by the
# patch size.
def patchify(images: Tensor, patch_size: int) -> Tensor:
    for side in images.shape[-2:]:
        if side % patch_size:
            raise ValueError(f"{side} is no multiple of {patch_size}")
    return F.unfold(images, patch_size).transpose(1, 2)


# %% wrong patchify each_channel_a_patch
# You make patches of each channel alone: a patch holds all channels of its square.
def patchify(images: Tensor, patch_size: int) -> Tensor:
    batch, channels, height, width = images.shape
    for side in (height, width):
        if side % patch_size:
            raise ValueError(f"{side} is no multiple of {patch_size}")
    p = patch_size
    cut = images.reshape(batch, channels, height // p, p, width // p, p)
    return cut.permute(0, 1, 2, 4, 3, 5).reshape(batch, -1, p * p)


# %% wrong patchify batch_in_the_patches
# The batch is gone: you put the patches of all images into one row. Keep the first axis.
def patchify(images: Tensor, patch_size: int) -> Tensor:
    batch, channels, height, width = images.shape
    for side in (height, width):
        if side % patch_size:
            raise ValueError(f"{side} is no multiple of {patch_size}")
    p = patch_size
    cut = images.reshape(batch, channels, height // p, p, width // p, p)
    return cut.permute(0, 2, 4, 1, 3, 5).reshape(1, -1, channels * p * p)


# %% wrong patchify batch_mixed_up
# Patches of different images have changed places: bring the batch to the front before you
# reshape, or never move it away.
def patchify(images: Tensor, patch_size: int) -> Tensor:
    batch, channels, height, width = images.shape
    for side in (height, width):
        if side % patch_size:
            raise ValueError(f"{side} is no multiple of {patch_size}")
    p = patch_size
    cut = images.reshape(batch, channels, height // p, p, width // p, p)
    return cut.permute(2, 4, 0, 1, 3, 5).reshape(batch, -1, channels * p * p)


# %% wrong patchify square_images_only
# You take as many patches across as down: read height and width each from the shape.
def patchify(images: Tensor, patch_size: int) -> Tensor:
    batch, channels, height, width = images.shape
    if height % patch_size or width % patch_size:
        raise ValueError(f"{height} or {width} is no multiple of {patch_size}")
    p, side = patch_size, width // patch_size
    cut = images.reshape(batch, channels, side, p, side, p)
    return cut.permute(0, 2, 4, 1, 3, 5).flatten(1, 2).flatten(2)


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


# %% wrong unpatchify same_permutation_as_forth
# Your image is put together from stripes: bring each axis back to where it was before patchify,
# row of patches beside y, column beside x, and only then reshape.
def unpatchify(patches: Tensor, patch_size: int, channels: int, height: int, width: int) -> Tensor:
    p = patch_size
    apart = patches.reshape(-1, height // p, width // p, channels, p, p)
    return apart.permute(0, 2, 4, 1, 3, 5).reshape(-1, channels, height, width)


# %% wrong unpatchify height_and_width_swapped
# Height and width have changed places: the number of rows of patches comes from the height.
def unpatchify(patches: Tensor, patch_size: int, channels: int, height: int, width: int) -> Tensor:
    p = patch_size
    apart = patches.reshape(-1, width // p, height // p, channels, p, p)
    return apart.permute(0, 3, 1, 4, 2, 5).reshape(-1, channels, width, height)


# %% wrong unpatchify square_grid
# You take as many patches across as down: the root of their number. Height and width tell how
# they stood.
def unpatchify(patches: Tensor, patch_size: int, channels: int, height: int, width: int) -> Tensor:
    p, side = patch_size, int(patches.shape[1] ** 0.5)
    apart = patches.reshape(-1, side, side, channels, p, p)
    return apart.permute(0, 3, 1, 4, 2, 5).reshape(-1, channels, side * p, side * p)


# %% wrong unpatchify pixels_before_patches
# Your rows of pixels stand before the rows of patches: row of patches first, then y inside it,
# together they count the height.
def unpatchify(patches: Tensor, patch_size: int, channels: int, height: int, width: int) -> Tensor:
    p = patch_size
    apart = patches.reshape(-1, height // p, width // p, channels, p, p)
    return apart.permute(0, 3, 4, 1, 5, 2).reshape(-1, channels, height, width)


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


# %% wrong PatchEmbedding layer_with_another_name
# The check loads weights by the name of the layer, which the docstring gives: call it projection.
class PatchEmbedding(nn.Module):
    def __init__(
        self, image_size: int | tuple[int, int], patch_size: int, channels: int, d_model: int
    ) -> None:
        super().__init__()
        self.patch_size = patch_size
        self.linear = nn.Linear(channels * patch_size**2, d_model)

    def forward(self, images: Tensor) -> Tensor:
        return self.linear(patchify(images, self.patch_size))


# %% wrong PatchEmbedding without_bias
# Your layer has no bias: leave `bias=False` out.
class PatchEmbedding(nn.Module):
    def __init__(
        self, image_size: int | tuple[int, int], patch_size: int, channels: int, d_model: int
    ) -> None:
        super().__init__()
        self.patch_size = patch_size
        self.projection = nn.Linear(channels * patch_size**2, d_model, bias=False)

    def forward(self, images: Tensor) -> Tensor:
        return self.projection(patchify(images, self.patch_size))


# %% wrong PatchEmbedding pixels_of_a_side
# Your layer takes channels · patch_size numbers: a patch is a square, so it has patch_size times
# patch_size pixels.
class PatchEmbedding(nn.Module):
    def __init__(
        self, image_size: int | tuple[int, int], patch_size: int, channels: int, d_model: int
    ) -> None:
        super().__init__()
        self.patch_size = patch_size
        self.projection = nn.Linear(channels * patch_size, d_model)

    def forward(self, images: Tensor) -> Tensor:
        return self.projection(patchify(images, self.patch_size))


# %% wrong PatchEmbedding channels_forgotten
# Your layer takes patch_size times patch_size numbers: each channel has as many.
class PatchEmbedding(nn.Module):
    def __init__(
        self, image_size: int | tuple[int, int], patch_size: int, channels: int, d_model: int
    ) -> None:
        super().__init__()
        self.patch_size = patch_size
        self.projection = nn.Linear(patch_size**2, d_model)

    def forward(self, images: Tensor) -> Tensor:
        return self.projection(patchify(images, self.patch_size))


# %% wrong PatchEmbedding sizes_swapped
# The two sizes of nn.Linear are swapped: what goes in stands first.
class PatchEmbedding(nn.Module):
    def __init__(
        self, image_size: int | tuple[int, int], patch_size: int, channels: int, d_model: int
    ) -> None:
        super().__init__()
        self.patch_size = patch_size
        self.projection = nn.Linear(d_model, channels * patch_size**2)

    def forward(self, images: Tensor) -> Tensor:
        return self.projection(patchify(images, self.patch_size))


# %% wrong PatchEmbedding no_patches_cut
# Your layer is applied to stripes of the image: cut it with patchify first.
class PatchEmbedding(nn.Module):
    def __init__(
        self, image_size: int | tuple[int, int], patch_size: int, channels: int, d_model: int
    ) -> None:
        super().__init__()
        self.numbers = channels * patch_size**2
        self.projection = nn.Linear(self.numbers, d_model)

    def forward(self, images: Tensor) -> Tensor:
        return self.projection(images.reshape(len(images), -1, self.numbers))


# %% wrong PatchEmbedding with_relu
# Negative numbers of your tokens have become zero: there is no ReLU in a patch embedding.
class PatchEmbedding(nn.Module):
    def __init__(
        self, image_size: int | tuple[int, int], patch_size: int, channels: int, d_model: int
    ) -> None:
        super().__init__()
        self.patch_size = patch_size
        self.projection = nn.Linear(channels * patch_size**2, d_model)

    def forward(self, images: Tensor) -> Tensor:
        return self.projection(patchify(images, self.patch_size)).relu()


# %% wrong PatchEmbedding tokens_last
# You give (batch, d_model, patches): the d_model numbers of a token stand last.
class PatchEmbedding(nn.Module):
    def __init__(
        self, image_size: int | tuple[int, int], patch_size: int, channels: int, d_model: int
    ) -> None:
        super().__init__()
        self.patch_size = patch_size
        self.projection = nn.Linear(channels * patch_size**2, d_model)

    def forward(self, images: Tensor) -> Tensor:
        return self.projection(patchify(images, self.patch_size)).transpose(1, 2)


# %% wrong PatchEmbedding normalised_pixels
# You normalise the pixels of each patch first: the layer takes the patch as it is.
class PatchEmbedding(nn.Module):
    def __init__(
        self, image_size: int | tuple[int, int], patch_size: int, channels: int, d_model: int
    ) -> None:
        super().__init__()
        self.patch_size = patch_size
        self.projection = nn.Linear(channels * patch_size**2, d_model)

    def forward(self, images: Tensor) -> Tensor:
        patches = patchify(images, self.patch_size)
        return self.projection(F.layer_norm(patches, patches.shape[-1:]))


# %% wrong PatchEmbedding mean_of_all_patches
# You average the patches: one token for each patch should come out.
class PatchEmbedding(nn.Module):
    def __init__(
        self, image_size: int | tuple[int, int], patch_size: int, channels: int, d_model: int
    ) -> None:
        super().__init__()
        self.patch_size = patch_size
        self.projection = nn.Linear(channels * patch_size**2, d_model)

    def forward(self, images: Tensor) -> Tensor:
        return self.projection(patchify(images, self.patch_size)).mean(dim=1)


# %% wrong PatchEmbedding square_grid_only
# You compute the number of patches from one side: an image may be wider than high. Let patchify
# count them.
class PatchEmbedding(nn.Module):
    def __init__(
        self, image_size: int | tuple[int, int], patch_size: int, channels: int, d_model: int
    ) -> None:
        super().__init__()
        side = image_size if isinstance(image_size, int) else image_size[1]
        self.patch_size, self.count = patch_size, (side // patch_size) ** 2
        self.projection = nn.Linear(channels * patch_size**2, d_model)

    def forward(self, images: Tensor) -> Tensor:
        tokens = self.projection(patchify(images, self.patch_size))
        return tokens.reshape(len(images), self.count, -1)


# %% right PatchEmbedding weight_in_a_convolution
class PatchEmbedding(nn.Module):
    def __init__(
        self, image_size: int | tuple[int, int], patch_size: int, channels: int, d_model: int
    ) -> None:
        super().__init__()
        self.shape = (d_model, channels, patch_size, patch_size)
        self.projection = nn.Linear(channels * patch_size * patch_size, d_model)

    def forward(self, images: Tensor) -> Tensor:
        kernels = self.projection.weight.view(self.shape)
        grid = F.conv2d(images, kernels, self.projection.bias, stride=self.shape[-1])
        return grid.flatten(2).mT


# %% right PatchEmbedding patch_after_patch
class PatchEmbedding(nn.Module):
    def __init__(
        self, image_size: int | tuple[int, int], patch_size: int, channels: int, d_model: int
    ) -> None:
        super().__init__()
        self.size = patch_size
        self.projection = nn.Linear(in_features=channels * patch_size**2, out_features=d_model)

    def forward(self, images: Tensor) -> Tensor:
        return torch.stack([self.projection(p) for p in patchify(images, self.size).unbind(1)], 1)


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


# %% right PatchEmbedding own_cut
class PatchEmbedding(nn.Module):
    def __init__(
        self, image_size: int | tuple[int, int], patch_size: int, channels: int, d_model: int
    ) -> None:
        super().__init__()
        self.cut = nn.Unfold(patch_size, stride=patch_size)
        self.projection = nn.Linear(channels * patch_size**2, d_model)

    def forward(self, images: Tensor) -> Tensor:
        return self.projection(self.cut(images).permute(0, 2, 1))


# %% wrong repaired_convolution no_stride
# Your windows overlap: they must move by a whole patch, which `stride` says.
def repaired_convolution(images: Tensor, weight: Tensor, bias: Tensor, patch_size: int) -> Tensor:
    kernels = weight.reshape(len(weight), images.shape[1], patch_size, patch_size)
    return F.conv2d(images, kernels, bias).flatten(2).transpose(1, 2)


# %% wrong repaired_convolution still_a_map
# You give the map (batch, d_model, rows, columns): join rows and columns, and turn the axes so
# that the d_model numbers stand last.
def repaired_convolution(images: Tensor, weight: Tensor, bias: Tensor, patch_size: int) -> Tensor:
    kernels = weight.reshape(len(weight), images.shape[1], patch_size, patch_size)
    return F.conv2d(images, kernels, bias, stride=patch_size)


# %% wrong repaired_convolution d_model_first
# You give (batch, d_model, patches): turn the last two axes round.
def repaired_convolution(images: Tensor, weight: Tensor, bias: Tensor, patch_size: int) -> Tensor:
    kernels = weight.reshape(len(weight), images.shape[1], patch_size, patch_size)
    return F.conv2d(images, kernels, bias, stride=patch_size).flatten(2)


# %% wrong repaired_convolution reshaped_in_place_of_turned
# The shape is right, but the numbers of a token come from several patches: turn the axes with
# transpose, not with reshape.
def repaired_convolution(images: Tensor, weight: Tensor, bias: Tensor, patch_size: int) -> Tensor:
    kernels = weight.reshape(len(weight), images.shape[1], patch_size, patch_size)
    grid = F.conv2d(images, kernels, bias, stride=patch_size)
    return grid.reshape(len(images), -1, len(weight))


# %% wrong repaired_convolution bias_left_out
# The bias is missing: hand it to the convolution as well.
def repaired_convolution(images: Tensor, weight: Tensor, bias: Tensor, patch_size: int) -> Tensor:
    kernels = weight.reshape(len(weight), images.shape[1], patch_size, patch_size)
    return F.conv2d(images, kernels, stride=patch_size).flatten(2).transpose(1, 2)


# %% wrong repaired_convolution kernels_transposed
# Your kernels are mirrored at their diagonal: the rows of the weight hold the pixels of a patch
# row by row, as a kernel does.
def repaired_convolution(images: Tensor, weight: Tensor, bias: Tensor, patch_size: int) -> Tensor:
    kernels = weight.reshape(len(weight), images.shape[1], patch_size, patch_size)
    grid = F.conv2d(images, kernels.transpose(2, 3), bias, stride=patch_size)
    return grid.flatten(2).transpose(1, 2)


# %% wrong repaired_convolution channel_last_in_the_kernels
# You read the weight as if the channels stood last in a patch: channel by channel, its numbers
# stand.
def repaired_convolution(images: Tensor, weight: Tensor, bias: Tensor, patch_size: int) -> Tensor:
    kernels = weight.reshape(len(weight), patch_size, patch_size, -1).permute(0, 3, 1, 2)
    return F.conv2d(images, kernels, bias, stride=patch_size).flatten(2).transpose(1, 2)


# %% wrong repaired_convolution column_by_column
# Your tokens run down the columns: they come row by row, as the patches do.
def repaired_convolution(images: Tensor, weight: Tensor, bias: Tensor, patch_size: int) -> Tensor:
    kernels = weight.reshape(len(weight), images.shape[1], patch_size, patch_size)
    grid = F.conv2d(images, kernels, bias, stride=patch_size)
    return grid.transpose(2, 3).flatten(2).transpose(1, 2)


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


# %% wrong VisionTransformer no_class_token_at_all
# Your model has no class token: the table of positions has one row too few, and the logits are
# read off a patch. Put a learned vector before the patches.
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
        self.positions = nn.Parameter(0.02 * torch.randn(patches, d_model))
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
        x = x + self.positions
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        x = x[:, 0] if self.pool == "cls" else x.mean(dim=1)
        return self.head(x)


# %% wrong VisionTransformer class_token_behind
# You put the class token behind the patches and read off the first token, which is a patch: it
# belongs in front.
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
        x = torch.cat([x, self.class_token.expand(len(x), -1, -1)], dim=1)
        x = x + self.positions
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
        return self.head(x)


# %% wrong VisionTransformer last_token_read
# You read the logits off the last token, and that is a patch: the class token stands first.
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
        x = x[:, -1] if self.pool == "cls" else x[:, 1:].mean(dim=1)
        return self.head(x)


# %% wrong VisionTransformer token_one_read
# You read the logits off the first patch: the class token stands at place 0.
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
        x = x[:, 1] if self.pool == "cls" else x[:, 1:].mean(dim=1)
        return self.head(x)


# %% wrong VisionTransformer always_the_mean
# You read the logits off a mean, whatever `pool` says: with "cls" they are read off the class
# token alone.
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
        x = x[:, 1:].mean(dim=1)
        return self.head(x)


# %% wrong VisionTransformer mean_of_all_tokens_always
# You average all tokens, whatever `pool` says: with "cls" the class token alone is read, with
# "mean" it is left out.
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
        x = x.mean(dim=1)
        return self.head(x)


# %% wrong VisionTransformer pool_ignored
# `pool` has no effect: with "mean" the logits are read off the mean of the patches.
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
        x = x[:, 0]
        return self.head(x)


# %% wrong VisionTransformer class_token_in_the_mean
# Your mean takes in the class token: with "mean" the patches alone count, so begin behind it.
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
        x = x[:, 0] if self.pool == "cls" else x.mean(dim=1)
        return self.head(x)


# %% wrong VisionTransformer sum_for_mean
# You add the patches up: divide by their number, as mean does.
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
        x = x[:, 0] if self.pool == "cls" else x[:, 1:].sum(dim=1)
        return self.head(x)


# %% wrong VisionTransformer mean_without_first_patch
# Your mean leaves out a patch as well as the class token: it begins at place 1.
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
        x = x[:, 0] if self.pool == "cls" else x[:, 2:].mean(dim=1)
        return self.head(x)


# %% wrong VisionTransformer maximum_for_mean
# You take the largest number of all patches: the mean is asked for.
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
        x = x[:, 0] if self.pool == "cls" else x[:, 1:].amax(dim=1)
        return self.head(x)


# %% wrong VisionTransformer positions_forgotten
# Your model has no table of positions with a row of d_model numbers for each token: learn one, (1
# + patches, d_model), and add it.
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
        (height // patch_size) * (width // patch_size)
        self.class_token = nn.Parameter(torch.zeros(1, 1, d_model))
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
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
        return self.head(x)


# %% wrong VisionTransformer positions_never_added
# You make the table of positions and do not use it: add it to the tokens before the first block.
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
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
        return self.head(x)


# %% wrong VisionTransformer positions_not_learned
# Your table of positions is a plain tensor, so it is not learned: nn.Parameter keeps it among the
# weights.
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
        self.positions = 0.02 * torch.randn(1 + patches, d_model)
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


# %% wrong VisionTransformer class_token_without_a_position
# Your table has a row for each patch only: the class token has a position too, the first row. Add
# positions after it is in front.
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
        self.positions = nn.Parameter(0.02 * torch.randn(patches, d_model))
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
        x = x + self.positions
        x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
        return self.head(x)


# %% wrong VisionTransformer one_position_for_all
# All your tokens get the same position: the table has one row for each of them.
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
        (height // patch_size) * (width // patch_size)
        self.class_token = nn.Parameter(torch.zeros(1, 1, d_model))
        self.positions = nn.Parameter(0.02 * torch.randn(1, d_model))
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


# %% wrong VisionTransformer one_number_for_each_position
# Your model has no table of positions with a row of d_model numbers for each token: learn one, (1
# + patches, d_model), and add it.
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
        self.positions = nn.Parameter(0.02 * torch.randn(1 + patches, 1))
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


# %% wrong VisionTransformer square_images_only
# You take as many patches down as across: height and width each have their own number.
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
        _height, width = (image_size, image_size) if isinstance(image_size, int) else image_size
        patches = (width // patch_size) ** 2
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


# %% wrong VisionTransformer pair_not_understood
# image_size may be (height, width): take the pair apart before you compute with it.
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
        height, width = (image_size, image_size)
        patches = (height // patch_size) * (width // patch_size)  # type: ignore
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


# %% wrong VisionTransformer square_not_understood
# image_size may also be one number, for a square: then height and width are both this number.
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
        height, width = image_size  # type: ignore
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


# %% wrong VisionTransformer batch_second
# Images of one batch look at one another: PyTorch's block needs batch_first=True, or it takes the
# batch for the tokens.
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
            nn.TransformerEncoderLayer(d_model, num_heads, d_ff, dropout, "gelu", norm_first=True)
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


# %% wrong VisionTransformer class_token_on_the_batch_axis
# You put the class token along the batch's axis: each image gets one, along the axis of tokens.
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
        x = torch.cat([self.class_token.expand(-1, x.shape[1], -1), x], dim=0)
        x = x + self.positions[: x.shape[1]]
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
        return self.head(x)


# %% wrong VisionTransformer class_token_not_expanded
# One class token for a whole batch does not fit beside its images: expand it to the size of the
# batch.
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
        x = torch.cat([self.class_token, x], dim=1)
        x = x + self.positions
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
        return self.head(x)


# %% wrong VisionTransformer class_token_not_learned
# Your class token is a plain tensor of zeros: nn.Parameter lets it be learned.
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
        self.class_token = torch.zeros(1, 1, d_model)
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
        x = torch.cat([self.class_token.to(x).expand(len(x), -1, -1), x], dim=1)
        x = x + self.positions
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
        return self.head(x)


# %% wrong VisionTransformer post_norm
# Your blocks norm after the residual: pre-norm is asked for, norm_first=True.
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
                d_model, num_heads, d_ff, dropout, "gelu", batch_first=True, norm_first=False
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


# %% wrong VisionTransformer final_norm_missing
# The tokens come from the last block with whatever size they have: a LayerNorm stands behind it.
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
        self.head = nn.Linear(d_model, num_classes)

    def forward(self, images: Tensor) -> Tensor:
        x = self.embedding(images)
        x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
        x = x + self.positions
        for block in self.blocks:
            x = block(x)
        x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
        return self.head(x)


# %% wrong VisionTransformer final_norm_not_used
# You make the final norm and do not use it: it stands behind the last block.
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
        return self.head(x)


# %% wrong VisionTransformer blocks_share_their_weights
# All your blocks are one and the same: each needs weights of its own, so make a new one
# num_layers times.
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
            [
                nn.TransformerEncoderLayer(
                    d_model, num_heads, d_ff, dropout, "gelu", batch_first=True, norm_first=True
                )
            ]
            * num_layers
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


# %% wrong VisionTransformer one_block
# Your model has one block, whatever num_layers says.
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
            for _ in range(1)
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


# %% wrong VisionTransformer plain_list_of_blocks
# Your blocks stand in a plain list, so PyTorch does not know their weights: use nn.ModuleList.
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
        self.blocks = [
            nn.TransformerEncoderLayer(
                d_model, num_heads, d_ff, dropout, "gelu", batch_first=True, norm_first=True
            )
            for _ in range(num_layers)
        ]
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


# %% wrong VisionTransformer dropout_not_handed_over
# `dropout` has no effect: hand it to the blocks.
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
                d_model, num_heads, d_ff, 0.0, "gelu", batch_first=True, norm_first=True
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


# %% wrong VisionTransformer dropout_left_at_its_default
# Your blocks drop a tenth whatever `dropout` says: PyTorch's own default is 0.1, so hand yours
# over.
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
                d_model, num_heads, d_ff, activation="gelu", batch_first=True, norm_first=True
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


# %% wrong VisionTransformer heads_not_handed_over
# `num_heads` has no effect: hand it to the blocks.
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
                d_model, 1, d_ff, dropout, "gelu", batch_first=True, norm_first=True
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


# %% wrong VisionTransformer d_ff_not_handed_over
# `d_ff`, the width of the feed-forward network, has no effect: hand it to the blocks.
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
                d_model, num_heads, 4 * d_model, dropout, "gelu", batch_first=True, norm_first=True
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


# %% wrong VisionTransformer softmax_at_the_end
# You give probabilities: the logits are what the linear layer gives, without softmax.
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
        return self.head(x).softmax(dim=-1)


# %% wrong VisionTransformer tokens_not_pooled
# You give logits for each token: read them off the class token, or off the mean.
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
        return self.head(x)


# %% wrong VisionTransformer d_model_out
# Your model gives d_model numbers for each image: the head, a linear layer to num_classes, is
# missing.
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
        return x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)


# %% wrong VisionTransformer positions_in_each_block
# You add the positions again in front of each block: add the table once, to the tokens, before
# the first block.
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
        for block in self.blocks:
            x = block(x + self.positions)
        x = self.norm(x)
        x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
        return self.head(x)


# %% wrong VisionTransformer norm_before_the_blocks
# Your last norm stands in front of the first block, so the size of what the blocks add reaches
# the logits: it belongs behind the last block.
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
        x = self.norm(x)
        for block in self.blocks:
            x = block(x)
        x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
        return self.head(x)


# %% wrong VisionTransformer norm_behind_each_block
# You use the final norm behind each block: what flows along the thick line is normed once, behind
# the last block.
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
            x = self.norm(block(x))
        x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
        return self.head(x)


# %% right VisionTransformer encoder_of_torch
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
        layer = nn.TransformerEncoderLayer(
            d_model, num_heads, d_ff, dropout, batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(
            layer, num_layers, nn.LayerNorm(d_model), enable_nested_tensor=False
        )
        self.head = nn.Linear(d_model, num_classes)

    def forward(self, images: Tensor) -> Tensor:
        x = self.embedding(images)
        x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
        x = x + self.positions
        x = self.encoder(x)
        x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
        return self.head(x)


# %% right VisionTransformer no_class_token_in_mean
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
        extra = int(pool == "cls")
        self.class_token = nn.Parameter(torch.randn(extra, d_model))
        self.positions = nn.Parameter(torch.zeros(1, extra + patches, d_model))
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
        x = x[:, 0] if self.pool == "cls" else x.mean(dim=1)
        return self.head(x)


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


# %% right VisionTransformer embeddings
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
        self.class_token = nn.Parameter(torch.zeros(d_model))
        self.table = nn.Embedding(1 + patches, d_model)
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
        x = torch.cat([self.class_token.expand(len(x), 1, -1), x], dim=1)
        x = x + self.table.weight
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
        return self.head(x)


# %% right VisionTransformer convolution_and_dropout
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
        self.embedding = nn.Conv2d(channels, d_model, patch_size, patch_size)
        self.drop = nn.Dropout(dropout)
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
        x = self.embedding(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)
        x = self.drop(x + self.positions)
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        x = x[:, 0] if self.pool == "cls" else x[:, 1:].mean(dim=1)
        return self.head(x)


# %% right VisionTransformer position_by_position
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
        first = (self.class_token + self.positions[0]).expand(len(x), -1, -1)
        x = x + self.positions[1:]
        x = torch.cat([first, x], dim=1)
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        x = x.select(1, 0) if self.pool == "cls" else x[:, 1:].sum(1) / (x.shape[1] - 1)
        return self.head(x)


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


# %% wrong VisionTransformer own_blocks_without_residual
# Your blocks replace the tokens in place of adding to them: with silent blocks nothing is left.
# Each sublayer's result is added to x.
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
            x = self.attentions[i](y, y, y, need_weights=False)[0]
            x = self.feeds[i](self.norms[2 * i + 1](x))
        x = self.norms[-1](x)
        return self.out(x[:, 0]) if self.pool == "cls" else self.out(x[:, 1:].mean(1))


# %% wrong train_classifier gradients_pile_up
# Your gradients pile up from step to step: set them to zero before each backward.
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
        for chosen in torch.randperm(len(images)).split(batch_size):
            loss = F.cross_entropy(model(images[chosen]), labels[chosen])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        history.append(sum(losses) / len(losses))
    model.eval()
    return torch.tensor(history)


# %% wrong train_classifier zeroed_after_backward
# No step is taken by the gradients, so the loss stays as it is: zero_grad, backward, step, in
# this order.
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
        for chosen in torch.randperm(len(images)).split(batch_size):
            loss = F.cross_entropy(model(images[chosen]), labels[chosen])
            loss.backward()
            optimizer.zero_grad()
            optimizer.step()
            losses.append(loss.item())
        history.append(sum(losses) / len(losses))
    model.eval()
    return torch.tensor(history)


# %% wrong train_classifier no_step
# No step is taken by the gradients, so the loss stays as it is: zero_grad, backward, step, in
# this order.
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
        for chosen in torch.randperm(len(images)).split(batch_size):
            loss = F.cross_entropy(model(images[chosen]), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            losses.append(loss.item())
        history.append(sum(losses) / len(losses))
    model.eval()
    return torch.tensor(history)


# %% wrong train_classifier softmax_first
# You take softmax before cross_entropy, which takes it itself: hand it the logits.
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
        for chosen in torch.randperm(len(images)).split(batch_size):
            loss = F.cross_entropy(model(images[chosen]).softmax(-1), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        history.append(sum(losses) / len(losses))
    model.eval()
    return torch.tensor(history)


# %% wrong train_classifier plain_gradient_descent
# You step with SGD: torch.optim.AdamW is asked for.
def train_classifier(
    model: nn.Module,
    images: Tensor,
    labels: Tensor,
    epochs: int,
    lr: float = 0.002,
    batch_size: int = 64,
) -> Tensor:
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    history = []
    model.train()
    for _ in range(epochs):
        losses = []
        for chosen in torch.randperm(len(images)).split(batch_size):
            loss = F.cross_entropy(model(images[chosen]), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        history.append(sum(losses) / len(losses))
    model.eval()
    return torch.tensor(history)


# %% wrong train_classifier adam
# Your optimizer is Adam: AdamW, which is asked for, also lets all weights decay a little.
def train_classifier(
    model: nn.Module,
    images: Tensor,
    labels: Tensor,
    epochs: int,
    lr: float = 0.002,
    batch_size: int = 64,
) -> Tensor:
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    history = []
    model.train()
    for _ in range(epochs):
        losses = []
        for chosen in torch.randperm(len(images)).split(batch_size):
            loss = F.cross_entropy(model(images[chosen]), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        history.append(sum(losses) / len(losses))
    model.eval()
    return torch.tensor(history)


# %% wrong train_classifier learning_rate_ignored
# `lr` has no effect: hand it to the optimizer.
def train_classifier(
    model: nn.Module,
    images: Tensor,
    labels: Tensor,
    epochs: int,
    lr: float = 0.002,
    batch_size: int = 64,
) -> Tensor:
    optimizer = torch.optim.AdamW(model.parameters())
    history = []
    model.train()
    for _ in range(epochs):
        losses = []
        for chosen in torch.randperm(len(images)).split(batch_size):
            loss = F.cross_entropy(model(images[chosen]), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        history.append(sum(losses) / len(losses))
    model.eval()
    return torch.tensor(history)


# %% wrong train_classifier fresh_optimizer_each_epoch
# You make a new optimizer for each epoch, so it forgets what it has seen: one for all, before the
# loop.
def train_classifier(
    model: nn.Module,
    images: Tensor,
    labels: Tensor,
    epochs: int,
    lr: float = 0.002,
    batch_size: int = 64,
) -> Tensor:
    history = []
    model.train()
    for _ in range(epochs):
        losses = []
        optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
        for chosen in torch.randperm(len(images)).split(batch_size):
            loss = F.cross_entropy(model(images[chosen]), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        history.append(sum(losses) / len(losses))
    model.eval()
    return torch.tensor(history)


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


# %% wrong train_classifier labels_not_shuffled
# The images come in random order and the labels do not, so they no longer belong together: take
# both by the same places.
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
        for chosen in torch.randperm(len(images)).split(batch_size):
            loss = F.cross_entropy(model(images[chosen]), labels[: len(chosen)])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        history.append(sum(losses) / len(losses))
    model.eval()
    return torch.tensor(history)


# %% wrong train_classifier one_batch_an_epoch
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
        for chosen in torch.randperm(len(images)).split(batch_size)[:1]:
            loss = F.cross_entropy(model(images[chosen]), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        history.append(sum(losses) / len(losses))
    model.eval()
    return torch.tensor(history)


# %% wrong train_classifier one_epoch
# You give one number and not one for each epoch: go through the images `epochs` times.
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
    for _ in range(1):
        losses = []
        for chosen in torch.randperm(len(images)).split(batch_size):
            loss = F.cross_entropy(model(images[chosen]), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        history.append(sum(losses) / len(losses))
    model.eval()
    return torch.tensor(history)


# %% wrong train_classifier sum_of_losses
# Your history holds the sum of an epoch's losses: divide by the number of batches.
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
        for chosen in torch.randperm(len(images)).split(batch_size):
            loss = F.cross_entropy(model(images[chosen]), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        history.append(sum(losses))
    model.eval()
    return torch.tensor(history)


# %% wrong train_classifier last_loss_only
# Your history holds the loss of the last batch of each epoch, not the mean of all.
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
        for chosen in torch.randperm(len(images)).split(batch_size):
            loss = F.cross_entropy(model(images[chosen]), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        history.append(losses[-1])
    model.eval()
    return torch.tensor(history)


# %% wrong train_classifier left_in_training_mode
# You leave the model in training mode: model.eval() at the end.
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
        for chosen in torch.randperm(len(images)).split(batch_size):
            loss = F.cross_entropy(model(images[chosen]), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        history.append(sum(losses) / len(losses))
    return torch.tensor(history)


# %% wrong train_classifier trained_in_evaluation_mode
# You never switch to training mode, so dropout does not drop: model.train() before the loop.
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
    model.eval()
    for _ in range(epochs):
        losses = []
        for chosen in torch.randperm(len(images)).split(batch_size):
            loss = F.cross_entropy(model(images[chosen]), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        history.append(sum(losses) / len(losses))
    model.eval()
    return torch.tensor(history)


# %% wrong train_classifier shuffled_once
# You shuffle once and keep this order in every epoch: draw a new one each time.
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
    order = torch.randperm(len(images))
    for _ in range(epochs):
        losses = []
        for chosen in order.split(batch_size):
            loss = F.cross_entropy(model(images[chosen]), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        history.append(sum(losses) / len(losses))
    model.eval()
    return torch.tensor(history)


# %% wrong train_classifier mean_of_the_images
# You give the mean of the images: asked for is that of the batches, the smaller last one included.
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
        order = torch.randperm(len(images))
        losses = []
        for chosen in order.split(batch_size):
            loss = F.cross_entropy(model(images[chosen]), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item() * len(chosen))
        history.append(sum(losses) / len(images))
    model.eval()
    return torch.tensor(history)


# %% wrong train_classifier shuffled_once_for_the_mean_of_the_images
# You shuffle once and keep this order in every epoch: draw a new one each time.
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
    order = torch.randperm(len(images))
    for _ in range(epochs):
        losses = []
        for chosen in order.split(batch_size):
            loss = F.cross_entropy(model(images[chosen]), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item() * len(chosen))
        history.append(sum(losses) / len(images))
    model.eval()
    return torch.tensor(history)


# %% wrong train_classifier batch_size_ignored
# `batch_size` has no effect: hand it to split.
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
        for chosen in torch.randperm(len(images)).split(64):
            loss = F.cross_entropy(model(images[chosen]), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        history.append(sum(losses) / len(losses))
    model.eval()
    return torch.tensor(history)


# %% wrong train_classifier one_image_a_step
# You step after each single image: batches of batch_size are asked for.
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
        for chosen in torch.randperm(len(images)).split(1):
            loss = F.cross_entropy(model(images[chosen]), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        history.append(sum(losses) / len(losses))
    model.eval()
    return torch.tensor(history)


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


# %% wrong train_classifier drawn_with_replacement
# You draw images at random for each batch: so some come twice in an epoch and others not at all.
# One random order, cut into batches.
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
        for chosen in torch.randint(len(images), (len(images),)).split(batch_size):
            loss = F.cross_entropy(model(images[chosen]), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        history.append(sum(losses) / len(losses))
    model.eval()
    return torch.tensor(history)


# %% wrong train_classifier squared_error
# Your loss is the squared error to the label's one-hot vector: cross-entropy is asked for.
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
        for chosen in torch.randperm(len(images)).split(batch_size):
            loss = F.mse_loss(
                model(images[chosen]),
                F.one_hot(labels[chosen], model(images[:1]).shape[-1]).float(),
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        history.append(sum(losses) / len(losses))
    model.eval()
    return torch.tensor(history)


# %% wrong train_classifier evaluation_from_the_second_epoch_on
# You switch to evaluation mode behind each epoch and never back: from the second epoch on it trains
# without dropout. Switch to training mode in front of each epoch, or to evaluation at the very end.
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
        order = torch.randperm(len(images))
        for chosen in order.split(batch_size):
            loss = F.cross_entropy(model(images[chosen]), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        model.eval()
        history.append(sum(losses) / len(losses))
    return torch.tensor(history)


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


# %% right train_classifier mode_in_each_epoch
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
    for _ in range(epochs):
        model.train()
        losses = []
        for chosen in torch.randperm(len(images)).split(batch_size):
            loss = F.cross_entropy(model(images[chosen]), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        history.append(sum(losses) / len(losses))
    model.eval()
    return torch.as_tensor(history)


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


# %% wrong attention_rollout without_residual
# You multiply the attention alone: half of each token is passed on by the residual, so half the
# identity belongs to it.
def attention_rollout(weights: Sequence[Tensor]) -> Tensor:
    rollout = torch.eye(weights[0].shape[-1]).to(weights[0])
    for of_block in weights:
        mixed = of_block.mean(dim=1)
        rollout = mixed @ rollout
    return rollout


# %% wrong attention_rollout product_turned_round
# You multiply in the wrong order: the last block stands on the left, the first on the right.
def attention_rollout(weights: Sequence[Tensor]) -> Tensor:
    rollout = torch.eye(weights[0].shape[-1]).to(weights[0])
    for of_block in weights:
        mixed = 0.5 * of_block.mean(dim=1) + 0.5 * torch.eye(of_block.shape[-1]).to(of_block)
        rollout = rollout @ mixed
    return rollout


# %% wrong attention_rollout residual_not_halved
# Your rows no longer sum to 1: attention and identity count one half each.
def attention_rollout(weights: Sequence[Tensor]) -> Tensor:
    rollout = torch.eye(weights[0].shape[-1]).to(weights[0])
    for of_block in weights:
        mixed = of_block.mean(dim=1) + torch.eye(of_block.shape[-1]).to(of_block)
        rollout = mixed @ rollout
    return rollout


# %% wrong attention_rollout heads_summed
# You add the heads up: average them.
def attention_rollout(weights: Sequence[Tensor]) -> Tensor:
    rollout = torch.eye(weights[0].shape[-1]).to(weights[0])
    for of_block in weights:
        mixed = 0.5 * of_block.sum(dim=1) + 0.5 * torch.eye(of_block.shape[-1]).to(of_block)
        rollout = mixed @ rollout
    return rollout


# %% wrong attention_rollout largest_head
# You take the largest weight of all heads: average them.
def attention_rollout(weights: Sequence[Tensor]) -> Tensor:
    rollout = torch.eye(weights[0].shape[-1]).to(weights[0])
    for of_block in weights:
        mixed = 0.5 * of_block.amax(dim=1) + 0.5 * torch.eye(of_block.shape[-1]).to(of_block)
        rollout = mixed @ rollout
    return rollout


# %% wrong attention_rollout first_head_only
# You follow the first head only: average over all of them.
def attention_rollout(weights: Sequence[Tensor]) -> Tensor:
    rollout = torch.eye(weights[0].shape[-1]).to(weights[0])
    for of_block in weights:
        mixed = 0.5 * of_block[:, 0] + 0.5 * torch.eye(of_block.shape[-1]).to(of_block)
        rollout = mixed @ rollout
    return rollout


# %% wrong attention_rollout last_block_only
# Only the last block counts in your result: multiply it with those before.
def attention_rollout(weights: Sequence[Tensor]) -> Tensor:
    rollout = torch.eye(weights[0].shape[-1]).to(weights[0])
    for of_block in weights:
        mixed = 0.5 * of_block.mean(dim=1) + 0.5 * torch.eye(of_block.shape[-1]).to(of_block)
        rollout = mixed
    return rollout


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


# %% wrong attention_rollout transposed
# Your matrices are transposed: row i belongs to the token that looks.
def attention_rollout(weights: Sequence[Tensor]) -> Tensor:
    rollout = torch.eye(weights[0].shape[-1]).to(weights[0])
    for of_block in weights:
        mixed = 0.5 * of_block.mean(dim=1) + 0.5 * torch.eye(of_block.shape[-1]).to(of_block)
        rollout = mixed @ rollout
    return rollout.transpose(-2, -1)


# %% wrong attention_rollout averaged_over_tokens
# You average over an axis of tokens: the heads are axis 1 of (batch, heads, n, n).
def attention_rollout(weights: Sequence[Tensor]) -> Tensor:
    rollout = torch.eye(weights[0].shape[-1]).to(weights[0])
    for of_block in weights:
        mixed = 0.5 * of_block.mean(dim=2) + 0.5 * torch.eye(of_block.shape[-1]).to(of_block)
        rollout = mixed @ rollout
    return rollout


# %% wrong attention_rollout averaged_over_the_batch
# You average over the images of the batch, axis 0: the heads are axis 1.
def attention_rollout(weights: Sequence[Tensor]) -> Tensor:
    rollout = torch.eye(weights[0].shape[-1]).to(weights[0])
    for of_block in weights:
        mixed = 0.5 * of_block.mean(dim=(0, 1))[None].expand(
            len(of_block), -1, -1
        ) + 0.5 * torch.eye(of_block.shape[-1]).to(of_block)
        rollout = mixed @ rollout
    return rollout


# %% wrong attention_rollout residual_after_the_product
# You multiply the blocks first and add the identity once at the end: each block has its own
# residual.
def attention_rollout(weights: Sequence[Tensor]) -> Tensor:
    rollout = torch.eye(weights[0].shape[-1]).to(weights[0])
    for of_block in weights:
        mixed = of_block.mean(dim=1)
        rollout = mixed @ rollout
    return 0.5 * rollout + 0.5 * torch.eye(rollout.shape[-1]).to(rollout)


# %% wrong attention_rollout nine_tenths
# Your residual does not count one half: attention and identity get the same share.
def attention_rollout(weights: Sequence[Tensor]) -> Tensor:
    rollout = torch.eye(weights[0].shape[-1]).to(weights[0])
    for of_block in weights:
        mixed = 0.1 * of_block.mean(dim=1) + 0.9 * torch.eye(of_block.shape[-1]).to(of_block)
        rollout = mixed @ rollout
    return rollout


# %% wrong attention_rollout class_token_row_only
# You give the class token's row alone: all rows are asked for.
def attention_rollout(weights: Sequence[Tensor]) -> Tensor:
    rollout = torch.eye(weights[0].shape[-1]).to(weights[0])
    for of_block in weights:
        mixed = 0.5 * of_block.mean(dim=1) + 0.5 * torch.eye(of_block.shape[-1]).to(of_block)
        rollout = mixed @ rollout
    return rollout[:, 0]


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


# %% wrong interpolate_positions class_token_behind
# The class token's row stands last in your table: it is the first.
def interpolate_positions(
    table: Tensor, old_grid: tuple[int, int], new_grid: tuple[int, int]
) -> Tensor:
    height, width = old_grid
    grid = table[1:].reshape(1, height, width, -1).permute(0, 3, 1, 2)
    larger = F.interpolate(grid, size=new_grid, mode="bicubic", align_corners=False)
    return torch.cat([larger.flatten(2)[0].T, table[:1]])


# %% wrong interpolate_positions class_token_at_the_end_of_the_old_table
# You take the last row for the class token's: it is the first one.
def interpolate_positions(
    table: Tensor, old_grid: tuple[int, int], new_grid: tuple[int, int]
) -> Tensor:
    height, width = old_grid
    grid = table[:-1].reshape(1, height, width, -1).permute(0, 3, 1, 2)
    larger = F.interpolate(grid, size=new_grid, mode="bicubic", align_corners=False)
    return torch.cat([table[-1:], larger.flatten(2)[0].T])


# %% wrong interpolate_positions class_token_zero
# The class token's row has become zero: keep it as it is.
def interpolate_positions(
    table: Tensor, old_grid: tuple[int, int], new_grid: tuple[int, int]
) -> Tensor:
    height, width = old_grid
    grid = table[1:].reshape(1, height, width, -1).permute(0, 3, 1, 2)
    larger = F.interpolate(grid, size=new_grid, mode="bicubic", align_corners=False)
    return torch.cat([torch.zeros_like(table[:1]), larger.flatten(2)[0].T])


# %% wrong interpolate_positions corners_aligned
# Your corners are aligned: with align_corners=False a new patch lies where its middle lies in the
# old picture.
def interpolate_positions(
    table: Tensor, old_grid: tuple[int, int], new_grid: tuple[int, int]
) -> Tensor:
    height, width = old_grid
    grid = table[1:].reshape(1, height, width, -1).permute(0, 3, 1, 2)
    larger = F.interpolate(grid, size=new_grid, mode="bicubic", align_corners=True)
    return torch.cat([table[:1], larger.flatten(2)[0].T])


# %% wrong interpolate_positions nearest
# Your new rows are copies of the nearest old ones: bicubic interpolation goes gradually from one
# to the next.
def interpolate_positions(
    table: Tensor, old_grid: tuple[int, int], new_grid: tuple[int, int]
) -> Tensor:
    height, width = old_grid
    grid = table[1:].reshape(1, height, width, -1).permute(0, 3, 1, 2)
    larger = F.interpolate(grid, size=new_grid, mode="nearest")
    return torch.cat([table[:1], larger.flatten(2)[0].T])


# %% wrong interpolate_positions bilinear
# You interpolate in straight lines, between two neighbours: bicubic interpolation is asked for,
# which looks at four.
def interpolate_positions(
    table: Tensor, old_grid: tuple[int, int], new_grid: tuple[int, int]
) -> Tensor:
    grid = table[1:].reshape(1, *old_grid, -1).permute(0, 3, 1, 2)
    larger = F.interpolate(grid, size=new_grid, mode="bilinear", align_corners=False)
    return torch.cat([table[:1], larger.flatten(2)[0].T])


# %% wrong interpolate_positions height_and_width_swapped
# You read the rows as if the grid were turned: (height, width), and the width counts fastest.
def interpolate_positions(
    table: Tensor, old_grid: tuple[int, int], new_grid: tuple[int, int]
) -> Tensor:
    height, width = old_grid
    grid = table[1:].reshape(1, width, height, -1).permute(0, 3, 1, 2)
    larger = F.interpolate(grid, size=new_grid, mode="bicubic", align_corners=False)
    return torch.cat([table[:1], larger.flatten(2)[0].T])


# %% wrong interpolate_positions new_grid_swapped
# The new grid has its height and width exchanged: new_grid is (height, width).
def interpolate_positions(
    table: Tensor, old_grid: tuple[int, int], new_grid: tuple[int, int]
) -> Tensor:
    height, width = old_grid
    grid = table[1:].reshape(1, height, width, -1).permute(0, 3, 1, 2)
    larger = F.interpolate(grid, size=new_grid[::-1], mode="bicubic", align_corners=False)
    return torch.cat([table[:1], larger.flatten(2)[0].T])


# %% wrong interpolate_positions columns_first
# Your new rows run down the columns of the grid: they come row by row.
def interpolate_positions(
    table: Tensor, old_grid: tuple[int, int], new_grid: tuple[int, int]
) -> Tensor:
    height, width = old_grid
    grid = table[1:].reshape(1, height, width, -1).permute(0, 3, 1, 2)
    larger = F.interpolate(grid, size=new_grid, mode="bicubic", align_corners=False)
    return torch.cat([table[:1], larger.transpose(2, 3).flatten(2)[0].T])


# %% wrong interpolate_positions channels_not_moved
# You read the numbers of a row as places in the grid: bring d_model to the front with permute or
# a transpose, not with reshape.
def interpolate_positions(
    table: Tensor, old_grid: tuple[int, int], new_grid: tuple[int, int]
) -> Tensor:
    height, width = old_grid
    grid = table[1:].reshape(1, -1, height, width)
    larger = F.interpolate(grid, size=new_grid, mode="bicubic", align_corners=False)
    return torch.cat([table[:1], larger.flatten(2)[0].T])


# %% wrong interpolate_positions channels_not_moved_back
# The shape is right, but each of your new rows mixes numbers of many patches: turn the axes back
# before you flatten.
def interpolate_positions(
    table: Tensor, old_grid: tuple[int, int], new_grid: tuple[int, int]
) -> Tensor:
    height, width = old_grid
    grid = table[1:].reshape(1, height, width, -1).permute(0, 3, 1, 2)
    larger = F.interpolate(grid, size=new_grid, mode="bicubic", align_corners=False)
    return torch.cat([table[:1], larger.reshape(-1, table.shape[1])])


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


# %% wrong interpolate_positions still_a_grid
# You give the grid: flatten it to rows, and put the class token's row in front.
def interpolate_positions(
    table: Tensor, old_grid: tuple[int, int], new_grid: tuple[int, int]
) -> Tensor:
    height, width = old_grid
    grid = table[1:].reshape(1, height, width, -1).permute(0, 3, 1, 2)
    return F.interpolate(grid, size=new_grid, mode="bicubic", align_corners=False)


# %% wrong interpolate_positions old_table
# Your table is as it was: use new_grid.
def interpolate_positions(
    table: Tensor, old_grid: tuple[int, int], new_grid: tuple[int, int]
) -> Tensor:
    height, width = old_grid
    grid = table[1:].reshape(1, height, width, -1).permute(0, 3, 1, 2)
    larger = F.interpolate(grid, size=old_grid, mode="bicubic", align_corners=False)
    return torch.cat([table[:1], larger.flatten(2)[0].T])


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
