# %% given imports
# pyright: reportRedeclaration=false, reportReturnType=false, reportUnusedExpression=false
# pyright: reportArgumentType=false, reportCallIssue=false, reportIndexIssue=false
# pyright: reportAttributeAccessIssue=false, reportIncompatibleVariableOverride=false
# pyright: reportOptionalMemberAccess=false, reportOperatorIssue=false
# pyright: reportGeneralTypeIssues=false, reportUndefinedVariable=false
# pyright: reportOptionalSubscript=false, reportPossiblyUnboundVariable=false
import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformer_course.checks import numbers


def cut_into_patches(images: Tensor, patch_size: int) -> Tensor: ...


def window_partition(x: Tensor, window_size: int) -> Tensor: ...
def window_reverse(windows: Tensor, window_size: int, height: int, width: int) -> Tensor: ...
def shifted_window_mask(height: int, width: int, window_size: int, shift: int) -> Tensor: ...
def relative_position_index(window_size: int) -> Tensor: ...


class WindowAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, window_size: int) -> None: ...


class SwinBlock(nn.Module):
    def __init__(
        self, d_model: int, num_heads: int, window_size: int, shift: int, d_ff: int
    ) -> None: ...


class PatchMerging(nn.Module):
    def __init__(self, d_model: int) -> None: ...


# %% wrong window_partition reshape_alone of="solution"
# You only reshape: the rows of one window lie apart in memory, so bring the two window axes
# together first.
# replace: return cut.transpose(2, 3).
# by:      return cut.


# %% wrong window_partition windows_column_by_column of="solution"
# Your windows come column by column: they should come row by row, as you read.
# replace: return cut.transpose(2, 3)
# by:      return cut.permute(0, 3, 1, 2, 4, 5)


# %% wrong window_partition pixels_column_by_column of="solution"
# Inside a window, your pixels come column by column: they should come row by row.
# replace: return cut.transpose(2, 3)
# by:      return cut.permute(0, 1, 3, 4, 2, 5)


# %% wrong window_partition all_column_by_column of="solution"
# Windows and pixels come column by column: both should come row by row.
# replace: return cut.transpose(2, 3)
# by:      return cut.permute(0, 3, 1, 4, 2, 5)


# %% wrong window_partition rows_of_windows_after_rows_inside of="solution"
# You put the row inside a window before the window's column: first the two axes that number the
# window, then the two inside it.
# replace: return cut.transpose(2, 3)
# by:      return cut.permute(0, 2, 3, 1, 4, 5)


# %% wrong window_partition spread_windows of="solution"
# Your windows are spread over the map: neighbours belong together, so the axis of windows comes
# first when you split a side.
# replace: cut = x.reshape(batch, rows, window_size, columns, window_size, channels)
# by:      cut = x.reshape(batch, window_size, rows, window_size, columns, channels)
# replace: return cut.transpose(2, 3)
# by:      return cut.permute(0, 2, 4, 1, 3, 5)


# %% wrong window_partition rows_and_columns_swapped of="solution"
# You exchange the number of rows of windows and of columns: rows belong to the height.
# replace: rows, columns = height // window_size, width // window_size
# by:      rows, columns = width // window_size, height // window_size


# %% wrong window_partition batch_and_windows_joined of="solution"
# You join batch and windows: keep the batch as the first axis.
# replace: .reshape(batch, rows * columns, window_size**2, channels)
# by:      .reshape(-1, window_size**2, channels)


# %% wrong window_partition squares_of_the_famous_code of="solution"
# You return squares (batch · windows, M, M, channels), as the published code does: here each window
# is a list of M² pixels, and the batch stays.
# replace: .reshape(batch, rows * columns, window_size**2, channels)
# by:      .reshape(-1, window_size, window_size, channels)


# %% wrong window_partition squares_kept of="solution"
# You keep the two axes of a window: list its pixels in one axis.
# replace: .reshape(batch, rows * columns, window_size**2, channels)
# by:      .reshape(batch, -1, window_size, window_size, channels)


# %% wrong window_partition grid_of_windows_kept of="solution"
# You keep the grid of windows as two axes: number them in one.
# replace: .reshape(batch, rows * columns, window_size**2, channels)
# by:      .reshape(batch, rows, columns, window_size**2, channels)


# %% wrong window_partition channels_joined of="solution"
# You join the pixels and channels of a window: the channels stay the last axis.
# replace: .reshape(batch, rows * columns, window_size**2, channels)
# by:      .reshape(batch, rows * columns, window_size**2 * channels)


# %% wrong window_partition channels_before_pixels of="solution"
# Your channels come before the pixels: the channels stay the last axis.
# replace: return cut.transpose(2, 3).reshape(batch, rows * columns, window_size**2, channels)
# by:      cut = cut.transpose(2, 3).reshape(batch, rows * columns, window_size**2, channels)
#          return cut.transpose(2, 3)


# %% wrong window_partition windows_before_batch of="solution"
# Your windows come before the batch: the batch is the first axis.
# replace: return cut.transpose(2, 3).reshape(batch, rows * columns, window_size**2, channels)
# by:      cut = cut.transpose(2, 3).reshape(batch, rows * columns, window_size**2, channels)
#          return cut.transpose(0, 1)


# %% wrong window_partition pixels_before_windows of="solution"
# Your pixels come before the windows: the order is (batch, windows, pixels, channels).
# replace: return cut.transpose(2, 3).reshape(batch, rows * columns, window_size**2, channels)
# by:      cut = cut.transpose(2, 3).reshape(batch, rows * columns, window_size**2, channels)
#          return cut.transpose(1, 2)


# %% wrong window_partition channels_reversed of="solution"
# You reverse the channels: a pixel keeps them in their order.
# replace: .reshape(batch, rows * columns, window_size**2, channels)
# by:      .reshape(batch, rows * columns, window_size**2, channels).flip(-1)


# %% wrong window_partition pixels_backwards of="solution"
# Inside a window, your pixels come backwards: begin at the upper left.
# replace: .reshape(batch, rows * columns, window_size**2, channels)
# by:      .reshape(batch, rows * columns, window_size**2, channels).flip(2)


# %% wrong window_partition windows_backwards of="solution"
# Your windows come backwards: begin at the upper left.
# replace: .reshape(batch, rows * columns, window_size**2, channels)
# by:      .reshape(batch, rows * columns, window_size**2, channels).flip(1)


# %% wrong window_partition mean_of_the_channels of="solution"
# You average over the channels: keep them all.
# replace: return cut.transpose(2, 3).reshape(batch, rows * columns, window_size**2, channels)
# by:      cut = cut.transpose(2, 3).reshape(batch, rows * columns, window_size**2, channels)
#          return cut.mean(-1, keepdim=True)


# %% wrong window_partition first_map_only of="solution"
# You return the windows of the first map only.
# replace: .reshape(batch, rows * columns, window_size**2, channels)
# by:      .reshape(batch, rows * columns, window_size**2, channels)[:1]


# %% wrong window_partition detached of="solution"
# no gradient flows through the result
# replace: return cut.
# by:      return cut.detach().


# %% wrong window_partition single_precision of="solution"
# You convert to float32: the result keeps the dtype of x.
# replace: cut = x.reshape
# by:      cut = x.float().reshape


# %% wrong window_partition overlapping of="solution"
# Your windows overlap: the next one should begin where the last one ends.
# replace: for side in (height, width):
#              if side % window_size:
#                  raise ValueError(f"windows of {window_size} do not fit into a side of {side}")
# by:      for side in (height, width):
#              if side % window_size:
#                  raise ValueError(f"windows of {window_size} do not fit into a side of {side}")
#          slid = x.unfold(1, window_size, 1).unfold(2, window_size, 1)
#          if window_size > 1:
#              return slid.permute(0, 1, 2, 4, 5, 3).flatten(3, 4).flatten(1, 2)


# %% wrong window_partition transposed_map of="solution"
# You read the map column by column: rows are the first of the two axes.
# replace: batch, height, width, channels = x.shape
# by:      x = x.transpose(1, 2)
#          batch, height, width, channels = x.shape


# %% wrong window_partition channels_first_expected of="solution"
# You expect the channels at the front: here they are the last axis.
# replace: batch, height, width, channels = x.shape
# by:      batch, channels, height, width = x.shape


# %% wrong window_partition padded of="solution"
# You pad the map: raise a ValueError if a side is not a multiple of the window size.
# replace: for side in (height, width):
#              if side % window_size:
#                  raise ValueError(f"windows of {window_size} do not fit into a side of {side}")
# by:      x = F.pad(x, (0, 0, 0, -width % window_size, 0, -height % window_size))
#          height, width = x.shape[1:3]


# %% wrong window_partition cropped of="solution"
# You crop the map: raise a ValueError if a side is not a multiple of the window size.
# replace: for side in (height, width):
#              if side % window_size:
#                  raise ValueError(f"windows of {window_size} do not fit into a side of {side}")
# by:      x = x[:, : height // window_size * window_size, : width // window_size * window_size]


# %% wrong window_partition left_to_reshape of="solution"
# You leave the refusal to reshape, whose RuntimeError does not name the window size: raise a
# ValueError yourself.
# replace: for side in (height, width):
#              if side % window_size:
#                  raise ValueError(f"windows of {window_size} do not fit into a side of {side}")
# by:


# %% wrong window_partition height_only of="solution"
# You examine the height only: the width must be a multiple, too.
# replace: for side in (height, width):
# by:      for side in (height,):


# %% wrong window_partition height_only_width_cropped of="solution"
# You examine the height only: the width must be a multiple, too.
# replace: for side in (height, width):
# by:      for side in (height,):
# replace: rows, columns = height // window_size, width // window_size
# by:      rows, columns = height // window_size, width // window_size
#          x = x[:, :, : columns * window_size]


# %% wrong window_partition width_only of="solution"
# You examine the width only: the height must be a multiple, too.
# replace: for side in (height, width):
# by:      for side in (width,):


# %% wrong window_partition width_only_height_cropped of="solution"
# You examine the width only: the height must be a multiple, too.
# replace: for side in (height, width):
# by:      for side in (width,):
# replace: rows, columns = height // window_size, width // window_size
# by:      rows, columns = height // window_size, width // window_size
#          x = x[:, : rows * window_size]


# %% wrong window_partition area_examined of="solution"
# You examine the number of pixels: each side must be a multiple by itself.
# replace: for side in (height, width):
#              if side % window_size:
# by:      for side in (height, width):
#              if height * width % window_size**2:


# %% wrong window_partition area_examined_rest_cropped of="solution"
# You examine the number of pixels: each side must be a multiple by itself.
# replace: for side in (height, width):
#              if side % window_size:
# by:      for side in (height, width):
#              if height * width % window_size**2:
# replace: rows, columns = height // window_size, width // window_size
# by:      rows, columns = height // window_size, width // window_size
#          x = x[:, : rows * window_size, : columns * window_size]


# %% wrong window_partition no_numbers_in_the_message of="solution"
# Your message does not name the side: 7, for example.
# replace: f"windows of {window_size} do not fit into a side of {side}"
# by:      "the windows do not fit"


# %% wrong window_partition side_alone_named of="solution"
# Your message does not name the window size.
# replace: f"windows of {window_size} do not fit into a side of {side}"
# by:      f"the windows do not fit into a side of {side}"


# %% wrong window_partition window_size_alone_named of="solution"
# Your message does not name the side: 7, for example.
# replace: f"windows of {window_size} do not fit into a side of {side}"
# by:      f"windows of {window_size} do not fit"


# %% wrong window_partition asserted of="solution"
# You assert: raise a ValueError, whose message names both numbers.
# replace: if side % window_size:
#              raise ValueError(f"windows of {window_size} do not fit into a side of {side}")
# by:      assert side % window_size == 0, f"{window_size} does not fit into {side}"


# %% wrong window_partition type_error of="solution"
# You raise a TypeError: what is wrong is a value, so raise a ValueError.
# replace: raise ValueError(
# by:      raise TypeError(


# %% wrong window_partition too_small_only of="solution"
# You refuse only maps smaller than a window: a larger side must be a multiple, too.
# replace: if side % window_size:
# by:      if side < window_size:


# %% right window_partition permuted of="solution"
# replace: return cut.transpose(2, 3).reshape(batch, rows * columns, window_size**2, channels)
# by:      return cut.permute(0, 1, 3, 2, 4, 5).flatten(3, 4).flatten(1, 2)


# %% right window_partition unflattened of="solution"
# replace: cut = x.reshape(batch, rows, window_size, columns, window_size, channels)
# by:      cut = x.unflatten(2, (columns, window_size)).unflatten(1, (rows, window_size))


# %% right window_partition by_unfold of="solution"
# replace: cut = x.reshape(batch, rows, window_size, columns, window_size, channels)
# by:
# replace: return cut.transpose(2, 3).reshape(batch, rows * columns, window_size**2, channels)
# by:      squares = x.unfold(1, window_size, window_size).unfold(2, window_size, window_size)
#          return squares.permute(0, 1, 2, 4, 5, 3).reshape(batch, rows * columns, -1, channels)


# %% right window_partition by_slices of="solution"
# replace: cut = x.reshape(batch, rows, window_size, columns, window_size, channels)
#          return cut.transpose(2, 3).reshape(batch, rows * columns, window_size**2, channels)
# by:      found = []
#          for top in range(0, height, window_size):
#              for left in range(0, width, window_size):
#                  square = x[:, top : top + window_size, left : left + window_size]
#                  found.append(square.flatten(1, 2))
#          return torch.stack(found, 1)


# %% right window_partition by_chunks of="solution"
# replace: cut = x.reshape(batch, rows, window_size, columns, window_size, channels)
#          return cut.transpose(2, 3).reshape(batch, rows * columns, window_size**2, channels)
# by:      lines = x.split(window_size, 1)
#          squares = [square for line in lines for square in line.split(window_size, 2)]
#          return torch.stack([square.reshape(batch, -1, channels) for square in squares], dim=1)


# %% right window_partition by_index of="solution"
# replace: cut = x.reshape(batch, rows, window_size, columns, window_size, channels)
#          return cut.transpose(2, 3).reshape(batch, rows * columns, window_size**2, channels)
# by:      inside = torch.arange(window_size)
#          down = torch.arange(rows)[:, None] * window_size + inside  # (rows, M)
#          right = torch.arange(columns)[:, None] * window_size + inside
#          squares = x[:, down[:, None, :, None], right[None, :, None, :]]
#          return squares.reshape(batch, rows * columns, window_size**2, channels)


# %% right window_partition message_in_other_words of="solution"
# replace: f"windows of {window_size} do not fit into a side of {side}"
# by:      f"{side} % {window_size} != 0 (height {height}, width {width})"


# %% wrong window_reverse reshape_alone of="solution"
# You only reshape: the rows of a window go to different rows of the map, so swap the two middle
# axes first.
# replace: return apart.transpose(2, 3).
# by:      return apart.


# %% wrong window_reverse windows_column_by_column of="solution"
# You lay the windows down column by column: they come row by row.
# replace: apart = windows.reshape(-1, rows, columns, window_size, window_size, windows.shape[-1])
# by:      apart = windows.reshape(-1, columns, rows, window_size, window_size, windows.shape[-1])
# replace: return apart.transpose(2, 3)
# by:      return apart.permute(0, 2, 3, 1, 4, 5)


# %% wrong window_reverse pixels_column_by_column of="solution"
# You lay the pixels of a window down column by column: they come row by row.
# replace: return apart.transpose(2, 3)
# by:      return apart.permute(0, 1, 4, 2, 3, 5)


# %% wrong window_reverse all_column_by_column of="solution"
# You lay windows and pixels down column by column: both come row by row.
# replace: apart = windows.reshape(-1, rows, columns, window_size, window_size, windows.shape[-1])
# by:      apart = windows.reshape(-1, columns, rows, window_size, window_size, windows.shape[-1])
# replace: return apart.transpose(2, 3)
# by:      return apart.permute(0, 2, 4, 1, 3, 5)


# %% wrong window_reverse sides_swapped of="solution"
# You exchange height and width: the map is (batch, height, width, channels).
# replace: .reshape(-1, height, width, windows.shape[-1])
# by:      .reshape(-1, width, height, windows.shape[-1])


# %% wrong window_reverse count_begins_again of="solution"
# You count the windows from 0 again in every row of windows: the count goes on.
# replace: apart = windows.reshape(-1, rows, columns, window_size, window_size, windows.shape[-1])
# by:      windows = windows[:, :columns].repeat(1, rows, 1, 1)
#          apart = windows.reshape(-1, rows, columns, window_size, window_size, windows.shape[-1])


# %% wrong window_reverse counted_by_the_height of="solution"
# You count as many windows to a row as there are rows of windows: a row holds
# width // window_size of them.
# replace: apart = windows.reshape(-1, rows, columns, window_size, window_size, windows.shape[-1])
# by:      number = torch.arange(rows)[:, None] * rows + torch.arange(columns)
#          windows = windows[:, number.flatten() % (rows * columns)]
#          apart = windows.reshape(-1, rows, columns, window_size, window_size, windows.shape[-1])


# %% wrong window_reverse transposed of="solution"
# You return the map with its axes exchanged: (batch, height, width, channels).
# replace: .reshape(-1, height, width, windows.shape[-1])
# by:      .reshape(-1, height, width, windows.shape[-1]).transpose(1, 2)


# %% wrong window_reverse rows_and_columns_swapped of="solution"
# You exchange the number of rows of windows and of columns: rows belong to the height.
# replace: rows, columns = height // window_size, width // window_size
# by:      rows, columns = width // window_size, height // window_size


# %% wrong window_reverse spread_windows of="solution"
# You spread the pixels of a window over the map: they are neighbours.
# replace: return apart.transpose(2, 3)
# by:      return apart.permute(0, 3, 1, 4, 2, 5)


# %% wrong window_reverse flattened of="solution"
# You return a list of pixels: the map has an axis for the height and one for the width.
# replace: .reshape(-1, height, width, windows.shape[-1])
# by:      .reshape(-1, height * width, windows.shape[-1])


# %% wrong window_reverse channels_first of="solution"
# You put the channels first: they stay the last axis.
# replace: .reshape(-1, height, width, windows.shape[-1])
# by:      .reshape(-1, height, width, windows.shape[-1]).permute(0, 3, 1, 2)


# %% wrong window_reverse first_map_only of="solution"
# You return the first map only.
# replace: .reshape(-1, height, width, windows.shape[-1])
# by:      .reshape(-1, height, width, windows.shape[-1])[:1]


# %% wrong window_reverse batch_at_the_end of="solution"
# You read the batch as the last axis but one: it is the first.
# replace: apart = windows.reshape(-1, rows, columns, window_size, window_size, windows.shape[-1])
# by:      apart = windows.reshape(rows, columns, window_size, window_size, -1, windows.shape[-1])
# replace: return apart.transpose(2, 3).reshape(-1, height, width, windows.shape[-1])
# by:      return apart.permute(4, 0, 2, 1, 3, 5).reshape(-1, height, width, windows.shape[-1])


# %% wrong window_reverse upside_down of="solution"
# Your map is upside down: the first window is at the upper left.
# replace: .reshape(-1, height, width, windows.shape[-1])
# by:      .reshape(-1, height, width, windows.shape[-1]).flip(1)


# %% wrong window_reverse mirrored of="solution"
# Your map is mirrored: the first window is at the upper left.
# replace: .reshape(-1, height, width, windows.shape[-1])
# by:      .reshape(-1, height, width, windows.shape[-1]).flip(2)


# %% wrong window_reverse channels_reversed of="solution"
# You reverse the channels: a pixel keeps them in their order.
# replace: .reshape(-1, height, width, windows.shape[-1])
# by:      .reshape(-1, height, width, windows.shape[-1]).flip(-1)


# %% wrong window_reverse detached of="solution"
# no gradient flows through the result
# replace: return apart.
# by:      return apart.detach().


# %% wrong window_reverse single_precision of="solution"
# You convert to float32: the result keeps the dtype of the windows.
# replace: return apart.
# by:      return apart.float().


# %% wrong window_reverse square_map_expected of="solution"
# You expect a square map: height and width may differ.
# replace: rows, columns = height // window_size, width // window_size
# by:      rows = columns = math.isqrt(windows.shape[1])
#          height = width = rows * window_size


# %% wrong window_reverse partition_again of="solution"
# You cut into windows again: put them together instead.
# replace: apart = windows.reshape(-1, rows, columns, window_size, window_size, windows.shape[-1])
#          return apart.transpose(2, 3).reshape(-1, height, width, windows.shape[-1])
# by:      x = windows.reshape(-1, height, width, windows.shape[-1])
#          return window_partition(x, window_size).reshape(-1, height, width, windows.shape[-1])


# %% wrong window_reverse batch_lost of="solution"
# You lose the axis of the batch.
# replace: .reshape(-1, height, width, windows.shape[-1])
# by:      .reshape(-1, height, width, windows.shape[-1])[0]


# %% wrong window_reverse half_transposed of="solution"
# You move the window's column in front of its row: exchange the column of windows and the row
# inside.
# replace: return apart.transpose(2, 3)
# by:      return apart.transpose(1, 2)


# %% wrong window_reverse inner_transposed of="solution"
# You exchange the two axes inside a window: exchange the column of windows and the row inside.
# replace: return apart.transpose(2, 3)
# by:      return apart.transpose(3, 4)


# %% wrong window_reverse rounded of="solution"
# You round: the numbers stay as they are.
# replace: return apart.
# by:      return apart.round(decimals=1).


# %% right window_reverse permuted of="solution"
# replace: return apart.transpose(2, 3).reshape(-1, height, width, windows.shape[-1])
# by:      return apart.permute(0, 1, 3, 2, 4, 5).flatten(3, 4).flatten(1, 2)


# %% right window_reverse by_fold of="solution"
# replace: apart = windows.reshape(-1, rows, columns, window_size, window_size, windows.shape[-1])
#          return apart.transpose(2, 3).reshape(-1, height, width, windows.shape[-1])
# by:      batch, count, pixels, channels = windows.shape
#          flat = windows.permute(0, 3, 2, 1).reshape(batch, channels * pixels, count)
#          maps = F.fold(flat, (height, width), window_size, stride=window_size)
#          return maps.permute(0, 2, 3, 1)


# %% right window_reverse by_cat of="solution"
# replace: apart = windows.reshape(-1, rows, columns, window_size, window_size, windows.shape[-1])
#          return apart.transpose(2, 3).reshape(-1, height, width, windows.shape[-1])
# by:      squares = windows.unflatten(2, (window_size, window_size)).unbind(1)
#          lines = [torch.cat(squares[i * columns : (i + 1) * columns], 2) for i in range(rows)]
#          return torch.cat(lines, dim=1)


# %% right window_reverse written_into_zeros of="solution"
# replace: apart = windows.reshape(-1, rows, columns, window_size, window_size, windows.shape[-1])
#          return apart.transpose(2, 3).reshape(-1, height, width, windows.shape[-1])
# by:      x = windows.new_zeros(len(windows), height, width, windows.shape[-1])
#          for number in range(rows * columns):
#              top, left = number // columns * window_size, number % columns * window_size
#              square = windows[:, number].unflatten(1, (window_size, window_size))
#              x[:, top : top + window_size, left : left + window_size] = square
#          return x


# %% right window_reverse by_the_order_of_partition of="solution"
# replace: apart = windows.reshape(-1, rows, columns, window_size, window_size, windows.shape[-1])
#          return apart.transpose(2, 3).reshape(-1, height, width, windows.shape[-1])
# by:      places = torch.arange(height * width).reshape(1, height, width, 1)
#          order = window_partition(places, window_size).flatten().argsort()
#          return windows.flatten(1, 2)[:, order].unflatten(1, (height, width))


# %% wrong shifted_window_mask colliding_pieces of="solution"
# Two pieces get the same number: wrapped by row alone and by column alone both give 1, so they
# may attend to each other.
# replace: 2 * wrapped_rows[:, None] + wrapped_columns
# by:      1 * wrapped_rows[:, None] + wrapped_columns


# %% wrong shifted_window_mask wrapped_at_all of="solution"
# You only ask whether a pixel wrapped around at all: ask by row and by column.
# replace: 2 * wrapped_rows[:, None] + wrapped_columns
# by:      wrapped_rows[:, None] | wrapped_columns


# %% wrong shifted_window_mask wrapped_on_both of="solution"
# You only ask whether a pixel wrapped around on both axes: ask by row and by column.
# replace: 2 * wrapped_rows[:, None] + wrapped_columns
# by:      wrapped_rows[:, None] & wrapped_columns


# %% wrong shifted_window_mask exclusive_or of="solution"
# Your pieces that wrapped on both axes get the number of those that wrapped on none.
# replace: 2 * wrapped_rows[:, None] + wrapped_columns
# by:      wrapped_rows[:, None] ^ wrapped_columns


# %% wrong shifted_window_mask rows_only of="solution"
# You compare rows only: columns wrapped around, too.
# replace: 2 * wrapped_rows[:, None] + wrapped_columns
# by:      wrapped_rows[:, None].expand(height, width)


# %% wrong shifted_window_mask columns_only of="solution"
# You compare columns only: rows wrapped around, too.
# replace: 2 * wrapped_rows[:, None] + wrapped_columns
# by:      wrapped_columns.expand(height, width)


# %% wrong shifted_window_mask half_a_window of="solution"
# Your mask is right for a shift of M // 2 only: take the shift that is given.
# replace: wrapped_rows = torch.arange(height) >= height - shift
# by:      shift = window_size // 2 if shift else 0
#          wrapped_rows = torch.arange(height) >= height - shift


# %% wrong shifted_window_mask half_a_window_always of="solution"
# You shift by M // 2 whatever shift is, even for a shift of 0.
# replace: wrapped_rows = torch.arange(height) >= height - shift
# by:      shift = window_size // 2
#          wrapped_rows = torch.arange(height) >= height - shift


# %% wrong shifted_window_mask rolled_the_other_way of="solution"
# What wrapped around stands at the beginning in your mask: after a roll by -shift it stands at
# the end.
# replace: wrapped_rows = torch.arange(height) >= height - shift
#          wrapped_columns = torch.arange(width) >= width - shift
# by:      wrapped_rows = torch.arange(height) < shift
#          wrapped_columns = torch.arange(width) < shift


# %% wrong shifted_window_mask one_too_few of="solution"
# Your border is one pixel too late: the last `shift` rows wrapped around.
# replace: wrapped_rows = torch.arange(height) >= height - shift
#          wrapped_columns = torch.arange(width) >= width - shift
# by:      wrapped_rows = torch.arange(height) > height - shift
#          wrapped_columns = torch.arange(width) > width - shift


# %% wrong shifted_window_mask one_too_many of="solution"
# Your border is one pixel too early: the last `shift` rows wrapped around.
# replace: wrapped_rows = torch.arange(height) >= height - shift
#          wrapped_columns = torch.arange(width) >= width - shift
# by:      wrapped_rows = torch.arange(height) >= height - shift - 1
#          wrapped_columns = torch.arange(width) >= width - shift - 1


# %% wrong shifted_window_mask window_minus_shift of="solution"
# Your border is M − shift pixels before the end: the last `shift` rows wrapped around.
# replace: wrapped_rows = torch.arange(height) >= height - shift
#          wrapped_columns = torch.arange(width) >= width - shift
# by:      wrapped_rows = torch.arange(height) >= height - (window_size - shift) % window_size
#          wrapped_columns = torch.arange(width) >= width - (window_size - shift) % window_size


# %% wrong shifted_window_mask last_window_as_a_piece of="solution"
# Your mask allows all pairs: forbid those whose offset the roll has changed.
# replace: wrapped_rows = torch.arange(height) >= height - shift
#          wrapped_columns = torch.arange(width) >= width - shift
# by:      wrapped_rows = torch.arange(height) >= height - window_size
#          wrapped_columns = torch.arange(width) >= width - window_size


# %% wrong shifted_window_mask every_window_divided of="solution"
# You divide every window: only those at the lower and right border hold pixels that wrapped
# around.
# replace: wrapped_rows = torch.arange(height) >= height - shift
#          wrapped_columns = torch.arange(width) >= width - shift
# by:      wrapped_rows = torch.arange(height) % window_size >= window_size - shift
#          wrapped_columns = torch.arange(width) % window_size >= window_size - shift


# %% wrong shifted_window_mask windows_before_the_shift of="solution"
# You let pixels attend only within the windows before the shift: then the shift is in vain.
# replace: pieces = 2 * wrapped_rows[:, None] + wrapped_columns  # 0 to 3, on the rolled map
# by:      rows, columns = torch.arange(height), torch.arange(width)
#          pieces = (rows[:, None] // window_size) * width + columns // window_size
#          pieces = pieces.roll((-shift, -shift), (0, 1))


# %% wrong shifted_window_mask all_allowed of="solution"
# Your mask allows all pairs: forbid those whose offset the roll has changed.
# replace: return pieces[:, :, None] == pieces[:, None]
# by:      return torch.ones_like(pieces[:, :, None] == pieces[:, None])


# %% wrong shifted_window_mask inverted of="solution"
# Your mask is True where a pair is forbidden: True means that it may attend.
# replace: return pieces[:, :, None] == pieces[:, None]
# by:      return pieces[:, :, None] != pieces[:, None]


# %% wrong shifted_window_mask minus_a_hundred of="solution"
# You return numbers to add to the scores: return True and False.
# replace: return pieces[:, :, None] == pieces[:, None]
# by:      return torch.where(pieces[:, :, None] == pieces[:, None], 0.0, -100.0)


# %% wrong shifted_window_mask minus_infinity of="solution"
# You return numbers to add to the scores: return True and False.
# replace: return pieces[:, :, None] == pieces[:, None]
# by:      return torch.where(pieces[:, :, None] == pieces[:, None], 0.0, -math.inf)


# %% wrong shifted_window_mask zeros_and_ones of="solution"
# You return zeros and ones: return True and False.
# replace: return pieces[:, :, None] == pieces[:, None]
# by:      return (pieces[:, :, None] == pieces[:, None]).long()


# %% wrong shifted_window_mask floats of="solution"
# You return zeros and ones: return True and False.
# replace: return pieces[:, :, None] == pieces[:, None]
# by:      return (pieces[:, :, None] == pieces[:, None]).float()


# %% wrong shifted_window_mask at_most_as_far of="solution"
# You allow keys of smaller numbers, too: query and key should be in the same piece.
# replace: return pieces[:, :, None] == pieces[:, None]
# by:      return pieces[:, :, None] >= pieces[:, None]


# %% wrong shifted_window_mask not_itself of="solution"
# You forbid a pixel to attend to itself.
# replace: return pieces[:, :, None] == pieces[:, None]
# by:      return (pieces[:, :, None] == pieces[:, None]) & ~torch.eye(window_size**2).bool()


# %% wrong shifted_window_mask last_window_only of="solution"
# You return the mask of the last window only: return one for each window.
# replace: return pieces[:, :, None] == pieces[:, None]
# by:      return (pieces[:, :, None] == pieces[:, None])[-1]


# %% wrong shifted_window_mask batch_axis_kept of="solution"
# You return an axis for the batch: the mask is (windows, M², M²).
# replace: return pieces[:, :, None] == pieces[:, None]
# by:      return (pieces[:, :, None] == pieces[:, None])[None]


# %% wrong shifted_window_mask heads_axis_added of="solution"
# You return an axis for the heads: the mask is (windows, M², M²).
# replace: return pieces[:, :, None] == pieces[:, None]
# by:      return (pieces[:, :, None] == pieces[:, None])[:, None]


# %% wrong shifted_window_mask pieces_returned of="solution"
# You return the numbers of the pieces: compare all pairs of them.
# replace: return pieces[:, :, None] == pieces[:, None]
# by:      return pieces


# %% wrong shifted_window_mask sides_swapped of="solution"
# You exchange height and width.
# replace: wrapped_rows = torch.arange(height) >= height - shift
# by:      height, width = width, height
#          wrapped_rows = torch.arange(height) >= height - shift


# %% wrong shifted_window_mask height_for_width of="solution"
# You take the height for the width: a map need not be square.
# replace: wrapped_columns = torch.arange(width) >= width - shift
# by:      wrapped_columns = torch.arange(width) >= height - shift


# %% wrong shifted_window_mask reshaped_into_windows of="solution"
# You cut the pieces into windows by reshape alone: that takes rows of the map.
# replace: pieces = window_partition(pieces[None, :, :, None], window_size)[0, :, :, 0]
# by:      pieces = pieces.reshape(-1, window_size**2)


# %% wrong shifted_window_mask one_of_two_is_enough of="solution"
# You allow a pair that agrees on one axis: it must agree on both.
# replace: return pieces[:, :, None] == pieces[:, None]
# by:      return (pieces[:, :, None] // 2 == pieces[:, None] // 2) | (
#              pieces[:, :, None] % 2 == pieces[:, None] % 2
#          )


# %% wrong shifted_window_mask over_the_whole_map of="solution"
# You compare all pixels of the map: compare within each window.
# replace: pieces = window_partition(pieces[None, :, :, None], window_size)[0, :, :, 0]
# by:      pieces = pieces.reshape(1, -1)


# %% wrong shifted_window_mask corner_allowed of="solution"
# In the last window, you allow all pairs: there four pieces meet.
# replace: return pieces[:, :, None] == pieces[:, None]
# by:      mask = pieces[:, :, None] == pieces[:, None]
#          mask[-1] = True
#          return mask


# %% wrong shifted_window_mask corner_masked_only of="solution"
# You mask the last window only: all windows at the lower and at the right border hold pixels
# that wrapped around.
# replace: return pieces[:, :, None] == pieces[:, None]
# by:      mask = pieces[:, :, None] == pieces[:, None]
#          mask[:-1] = True
#          return mask


# %% wrong shifted_window_mask keys_alone of="solution"
# You look at the key alone, and mask all that wrapped around: two pixels that both did may attend.
# replace: return pieces[:, :, None] == pieces[:, None]
# by:      return (pieces == 0)[:, None].expand(-1, window_size**2, -1).clone()


# %% wrong shifted_window_mask one_window_allowed of="solution"
# You allow all pairs of a map of one window: rolled, it holds four pieces, too.
# replace: return pieces[:, :, None] == pieces[:, None]
# by:      return (pieces[:, :, None] == pieces[:, None]) | (len(pieces) == 1)


# %% wrong shifted_window_mask borders_by_the_famous_slices of="solution"
# Your slices are those of a shift of M // 2: the second border is `shift` before the end.
# replace: pieces = 2 * wrapped_rows[:, None] + wrapped_columns  # 0 to 3, on the rolled map
# by:      pieces = torch.zeros(height, width)
#          half = window_size // 2 if shift else 0
#          slices = (slice(0, -window_size), slice(-window_size, -half), slice(-half, None))
#          for i in range(3):
#              for j in range(3):
#                  pieces[slices[i], slices[j]] = 3 * i + j


# %% wrong shifted_window_mask causal of="solution"
# You forbid all later pixels: nothing here is causal.
# replace: return pieces[:, :, None] == pieces[:, None]
# by:      same = pieces[:, :, None] == pieces[:, None]
#          return same & torch.ones_like(same).tril()


# %% right shifted_window_mask famous_slices of="solution"
# replace: wrapped_rows = torch.arange(height) >= height - shift
#          wrapped_columns = torch.arange(width) >= width - shift
#          pieces = 2 * wrapped_rows[:, None] + wrapped_columns  # 0 to 3, on the rolled map
# by:      pieces, number = torch.zeros(height, width), 0
#          borders = (slice(0, -window_size), slice(-window_size, -shift), slice(-shift, None))
#          for down in borders:
#              for right in borders:
#                  pieces[down, right] = number
#                  number += 1


# %% right shifted_window_mask by_offsets of="solution"
# replace: wrapped_rows = torch.arange(height) >= height - shift
#          wrapped_columns = torch.arange(width) >= width - shift
#          pieces = 2 * wrapped_rows[:, None] + wrapped_columns  # 0 to 3, on the rolled map
#          pieces = window_partition(pieces[None, :, :, None], window_size)[0, :, :, 0]
#          return pieces[:, :, None] == pieces[:, None]
# by:      row = torch.arange(height)[:, None].expand(height, width)
#          column = torch.arange(width).expand(height, width)
#          before = torch.stack([(row + shift) % height, (column + shift) % width], -1)
#          after = torch.stack([row, column], -1)
#          both = (window_partition(part[None], window_size)[0] for part in (before, after))
#          moved = [part[:, :, None] - part[:, None] for part in both]
#          return (moved[0] == moved[1]).all(-1)


# %% right shifted_window_mask two_channels of="solution"
# replace: pieces = 2 * wrapped_rows[:, None] + wrapped_columns  # 0 to 3, on the rolled map
#          pieces = window_partition(pieces[None, :, :, None], window_size)[0, :, :, 0]
#          return pieces[:, :, None] == pieces[:, None]
# by:      both = torch.stack(torch.meshgrid(wrapped_rows, wrapped_columns, indexing="ij"), -1)
#          wrapped = window_partition(both[None], window_size)[0]
#          return (wrapped[:, :, None] == wrapped[:, None]).all(-1)


# %% right shifted_window_mask by_how_far_a_pixel_moved of="solution"
# replace: wrapped_rows = torch.arange(height) >= height - shift
#          wrapped_columns = torch.arange(width) >= width - shift
#          pieces = 2 * wrapped_rows[:, None] + wrapped_columns  # 0 to 3, on the rolled map
# by:      home = torch.arange(height * width).reshape(height, width)
#          pieces = home.roll((-shift, -shift), (0, 1)) - home


# %% right shifted_window_mask minus_one_and_one of="solution"
# replace: wrapped_rows = torch.arange(height) >= height - shift
#          wrapped_columns = torch.arange(width) >= width - shift
#          pieces = 2 * wrapped_rows[:, None] + wrapped_columns  # 0 to 3, on the rolled map
# by:      pieces = torch.zeros(height, width, dtype=torch.long)
#          pieces[height - shift :] += 1
#          pieces[:, width - shift :] += 10


# %% right shifted_window_mask subtracted of="solution"
# replace: return pieces[:, :, None] == pieces[:, None]
# by:      return (pieces.unsqueeze(1) - pieces.unsqueeze(2)) == 0


# %% right shifted_window_mask window_by_window of="solution"
# replace: pieces = 2 * wrapped_rows[:, None] + wrapped_columns  # 0 to 3, on the rolled map
#          pieces = window_partition(pieces[None, :, :, None], window_size)[0, :, :, 0]
#          return pieces[:, :, None] == pieces[:, None]
# by:      masks = []
#          for top in range(0, height, window_size):
#              for left in range(0, width, window_size):
#                  down = wrapped_rows[top : top + window_size].repeat_interleave(window_size)
#                  right = wrapped_columns[left : left + window_size].repeat(window_size)
#                  masks.append((down[:, None] == down) & (right[:, None] == right))
#          return torch.stack(masks)


# %% wrong scores_that_leak exactly_a_hundred of="solution"
# With 100, a masked key is on a par with each allowed key: where more keys are allowed than
# masked, that is less than half.
# replace: return torch.where(mask, 0.0, 200.0)
# by:      return torch.where(mask, 0.0, 100.0)


# %% wrong scores_that_leak a_hundred_and_one of="solution"
# With 101, one masked key weighs as much as 2.7 allowed ones: that is less than half where more
# are allowed.
# replace: return torch.where(mask, 0.0, 200.0)
# by:      return torch.where(mask, 0.0, 101.0)


# %% wrong scores_that_leak ninety of="solution"
# With 90, the masked keys still lose: they need more than 100.
# replace: return torch.where(mask, 0.0, 200.0)
# by:      return torch.where(mask, 0.0, 90.0)


# %% wrong scores_that_leak fifty of="solution"
# With 50, the masked keys still lose: they need more than 100.
# replace: return torch.where(mask, 0.0, 200.0)
# by:      return torch.where(mask, 0.0, 50.0)


# %% wrong scores_that_leak one of="solution"
# A difference of 1 does not outweigh −100.
# replace: return torch.where(mask, 0.0, 200.0)
# by:      return torch.where(mask, 0.0, 1.0)


# %% wrong scores_that_leak inverted of="solution"
# You make the scores of allowed keys large: the masked ones should win.
# replace: return torch.where(mask, 0.0, 200.0)
# by:      return torch.where(mask, 200.0, 0.0)


# %% wrong scores_that_leak negative of="solution"
# You make the scores of masked keys smaller: they should be larger.
# replace: return torch.where(mask, 0.0, 200.0)
# by:      return torch.where(mask, 0.0, -200.0)


# %% wrong scores_that_leak infinite of="solution"
# Infinite scores are not allowed, and their softmax is NaN.
# replace: return torch.where(mask, 0.0, 200.0)
# by:      return torch.where(mask, 0.0, math.inf)


# %% wrong scores_that_leak allowed_at_minus_infinity of="solution"
# Infinite scores are not allowed: no layer computes them.
# replace: return torch.where(mask, 0.0, 200.0)
# by:      return torch.where(mask, -math.inf, 0.0)


# %% wrong scores_that_leak all_zero of="solution"
# With equal scores, −100 hides enough.
# replace: return torch.where(mask, 0.0, 200.0)
# by:      return torch.zeros(mask.shape)


# %% wrong scores_that_leak all_large of="solution"
# With equal scores, however large, −100 hides enough: the softmax only sees differences.
# replace: return torch.where(mask, 0.0, 200.0)
# by:      return torch.full(mask.shape, 1000.0)


# %% wrong scores_that_leak random_scores of="solution"
# Ordinary scores do not leak: the masked ones have to be more than 100 above the others.
# replace: return torch.where(mask, 0.0, 200.0)
# by:      return numbers(*mask.shape)


# %% wrong scores_that_leak first_query_only of="solution"
# Your scores leak for the first query only: each query counts.
# replace: return torch.where(mask, 0.0, 200.0)
# by:      scores = torch.zeros(mask.shape)
#          scores[0] = torch.where(mask[0], 0.0, 200.0)
#          return scores


# %% wrong scores_that_leak one_row of="solution"
# You return one row: return scores for every query.
# replace: return torch.where(mask, 0.0, 200.0)
# by:      return torch.where(mask[0], 0.0, 200.0)


# %% wrong scores_that_leak transposed of="solution"
# Your scores are (key, query): the queries come first.
# replace: return torch.where(mask, 0.0, 200.0)
# by:      return torch.where(mask, 0.0, 200.0).T


# %% wrong scores_that_leak weights_returned of="solution"
# You return weights: return the scores that lead to them.
# replace: return torch.where(mask, 0.0, 200.0)
# by:      return (200.0 * ~mask).softmax(-1)


# %% wrong scores_that_leak mask_returned of="solution"
# You return where masked keys are: return scores for all.
# replace: return torch.where(mask, 0.0, 200.0)
# by:      return ~mask


# %% wrong scores_that_leak last_key_only of="solution"
# You make the last key's score large: the masked keys may be others.
# replace: return torch.where(mask, 0.0, 200.0)
# by:      scores = torch.zeros(mask.shape)
#          scores[:, -1] = 200.0
#          return scores


# %% wrong scores_that_leak after_the_penalty of="solution"
# You have subtracted 100 already: return the scores before that.
# replace: return torch.where(mask, 0.0, 200.0)
# by:      return torch.where(mask, 0.0, 200.0) - 100.0 * ~mask


# %% wrong scores_that_leak same_for_all_queries of="solution"
# You give a key a large score if any query has it masked: each query needs scores of its own.
# replace: return torch.where(mask, 0.0, 200.0)
# by:      return torch.where(mask.all(0), 0.0, 200.0).expand(mask.shape)


# %% wrong scores_that_leak log_half of="solution"
# A masked key 100 + ln 2 above the others weighs as much as two of them: that is less than half
# where more are allowed.
# replace: return torch.where(mask, 0.0, 200.0)
# by:      return torch.where(mask, 0.0, 100.0 + math.log(2))


# %% right scores_that_leak thousand of="solution"
# replace: return torch.where(mask, 0.0, 200.0)
# by:      return 1000.0 * (~mask).double()


# %% right scores_that_leak allowed_low of="solution"
# replace: return torch.where(mask, 0.0, 200.0)
# by:      return mask * -500.0


# %% right scores_that_leak just_enough of="solution"
# replace: return torch.where(mask, 0.0, 200.0)
# by:      allowed = mask.sum(-1, keepdim=True)
#          return torch.where(mask, 0.0, 100.0 + allowed.double().log())


# %% right scores_that_leak noise_and_three_hundred of="solution"
# replace: return torch.where(mask, 0.0, 200.0)
# by:      return numbers(*mask.shape) + torch.where(mask, 0.0, 300.0)


# %% right scores_that_leak whole_numbers of="solution"
# replace: return torch.where(mask, 0.0, 200.0)
# by:      return 150 * (~mask).long()


# %% right scores_that_leak one_masked_key_is_enough of="solution"
# replace: return torch.where(mask, 0.0, 200.0)
# by:      scores = torch.zeros(mask.shape)
#          first = (~mask).long().argmax(-1)
#          scores[torch.arange(len(mask)), first] = 400.0
#          return scores


# %% right scores_that_leak filled of="solution"
# replace: return torch.where(mask, 0.0, 200.0)
# by:      return torch.zeros(mask.shape).masked_fill(~mask, 110.0 + mask.shape[1])


# %% wrong relative_position_index key_minus_query of="solution"
# You take key − query: here Δ is query − key.
# replace: down = rows[:, None] - rows + window_size - 1
#          right = columns[:, None] - columns + window_size - 1
# by:      down = rows - rows[:, None] + window_size - 1
#          right = columns - columns[:, None] + window_size - 1


# %% wrong relative_position_index rows_the_other_way of="solution"
# You take key − query for the rows: here Δ is query − key.
# replace: down = rows[:, None] - rows + window_size - 1
# by:      down = rows - rows[:, None] + window_size - 1


# %% wrong relative_position_index columns_the_other_way of="solution"
# You take key − query for the columns: here Δ is query − key.
# replace: right = columns[:, None] - columns + window_size - 1
# by:      right = columns - columns[:, None] + window_size - 1


# %% wrong relative_position_index base_m of="solution"
# Your rows count M times: there are 2M − 1 different column offsets, so they count 2M − 1 times.
# replace: return down * (2 * window_size - 1) + right
# by:      return down * window_size + right


# %% wrong relative_position_index base_two_m of="solution"
# Your rows count 2M times: they should count 2M − 1 times.
# replace: return down * (2 * window_size - 1) + right
# by:      return down * (2 * window_size) + right


# %% wrong relative_position_index base_two_m_plus_one of="solution"
# Your rows count 2M + 1 times: they should count 2M − 1 times.
# replace: return down * (2 * window_size - 1) + right
# by:      return down * (2 * window_size + 1) + right


# %% wrong relative_position_index base_two_m_minus_two of="solution"
# Your rows count 2M − 2 times: some offsets share a number. They should count 2M − 1 times.
# replace: return down * (2 * window_size - 1) + right
# by:      return down * (2 * window_size - 2) + right


# %% wrong relative_position_index squared_base of="solution"
# Your rows count M² times: they should count 2M − 1 times.
# replace: return down * (2 * window_size - 1) + right
# by:      return down * window_size**2 + right


# %% wrong relative_position_index base_three of="solution"
# Your rows count 3 times: that is 2M − 1 for windows of 2 only.
# replace: return down * (2 * window_size - 1) + right
# by:      return down * 3 + right


# %% wrong relative_position_index base_m_plus_one of="solution"
# Your rows count M + 1 times: that is 2M − 1 for windows of 2 only.
# replace: return down * (2 * window_size - 1) + right
# by:      return down * (window_size + 1) + right


# %% wrong relative_position_index columns_first of="solution"
# You count the columns 2M − 1 times: the rows should count that often.
# replace: return down * (2 * window_size - 1) + right
# by:      return right * (2 * window_size - 1) + down


# %% wrong relative_position_index not_moved_to_zero of="solution"
# Your offsets are negative for half of the pairs: add M − 1 on each axis.
# replace: down = rows[:, None] - rows + window_size - 1
#          right = columns[:, None] - columns + window_size - 1
# by:      down = rows[:, None] - rows
#          right = columns[:, None] - columns


# %% wrong relative_position_index rows_not_moved of="solution"
# You do not add M − 1 to the rows' difference.
# replace: down = rows[:, None] - rows + window_size - 1
# by:      down = rows[:, None] - rows


# %% wrong relative_position_index columns_not_moved of="solution"
# You do not add M − 1 to the columns' difference.
# replace: right = columns[:, None] - columns + window_size - 1
# by:      right = columns[:, None] - columns


# %% wrong relative_position_index moved_by_m of="solution"
# You add M: the smallest difference is −(M − 1), so add M − 1.
# replace: down = rows[:, None] - rows + window_size - 1
#          right = columns[:, None] - columns + window_size - 1
# by:      down = rows[:, None] - rows + window_size
#          right = columns[:, None] - columns + window_size


# %% wrong relative_position_index flat_offsets of="solution"
# You subtract the pixels' numbers: the end of a row and the beginning of the next then look like
# neighbours. Rows and columns need a difference each.
# replace: return down * (2 * window_size - 1) + right
# by:      return pixels[:, None] - pixels + window_size**2 - 1


# %% wrong relative_position_index absolute_offsets of="solution"
# You drop the signs of the offsets: left and right then share a number.
# replace: down = rows[:, None] - rows + window_size - 1
#          right = columns[:, None] - columns + window_size - 1
# by:      down = (rows[:, None] - rows).abs()
#          right = (columns[:, None] - columns).abs()


# %% wrong relative_position_index absolute_offsets_moved of="solution"
# You drop the signs of the offsets: left and right then share a number.
# replace: down = rows[:, None] - rows + window_size - 1
#          right = columns[:, None] - columns + window_size - 1
# by:      down = (rows[:, None] - rows).abs() + window_size - 1
#          right = (columns[:, None] - columns).abs() + window_size - 1


# %% wrong relative_position_index sum_of_both of="solution"
# You add both differences without a factor: many offsets share a sum.
# replace: return down * (2 * window_size - 1) + right
# by:      return down + right


# %% wrong relative_position_index product_of_both of="solution"
# You multiply both differences: many offsets share a product.
# replace: return down * (2 * window_size - 1) + right
# by:      return down * right


# %% wrong relative_position_index rows_alone of="solution"
# You number the rows' difference alone.
# replace: return down * (2 * window_size - 1) + right
# by:      return down


# %% wrong relative_position_index columns_alone of="solution"
# You number the columns' difference alone.
# replace: return down * (2 * window_size - 1) + right
# by:      return right


# %% wrong relative_position_index as_floats of="solution"
# Your index has the dtype of floats: an index is int64.
# replace: return down * (2 * window_size - 1) + right
# by:      return (down * (2 * window_size - 1) + right).float()


# %% wrong relative_position_index int32 of="solution"
# Your index is int32: the docstring says int64.
# replace: return down * (2 * window_size - 1) + right
# by:      return (down * (2 * window_size - 1) + right).int()


# %% wrong relative_position_index from_one of="solution"
# Your numbers begin at 1: they begin at 0.
# replace: return down * (2 * window_size - 1) + right
# by:      return down * (2 * window_size - 1) + right + 1


# %% wrong relative_position_index pixels_column_by_column of="solution"
# You count the pixels column by column: count them row by row.
# replace: rows, columns = pixels // window_size, pixels % window_size
# by:      rows, columns = pixels % window_size, pixels // window_size


# %% wrong relative_position_index four_axes of="solution"
# You return an axis for each of the four coordinates: join them to (M², M²).
# replace: return down * (2 * window_size - 1) + right
# by:      index = down * (2 * window_size - 1) + right
#          return index.unflatten(1, (window_size, -1)).unflatten(0, (window_size, -1))


# %% wrong relative_position_index flattened of="solution"
# You return a list of M⁴ numbers: return (M², M²).
# replace: return down * (2 * window_size - 1) + right
# by:      return (down * (2 * window_size - 1) + right).flatten()


# %% wrong relative_position_index both_offsets_returned of="solution"
# You return both offsets: join them to one number.
# replace: return down * (2 * window_size - 1) + right
# by:      return torch.stack([down, right], -1)


# %% wrong relative_position_index one_line_only of="solution"
# You count M pixels: a window has M².
# replace: pixels = torch.arange(window_size**2)
# by:      pixels = torch.arange(window_size)


# %% wrong relative_position_index largest_first of="solution"
# Your numbers run backwards.
# replace: return down * (2 * window_size - 1) + right
# by:      return (2 * window_size - 1) ** 2 - 1 - down * (2 * window_size - 1) - right


# %% wrong relative_position_index clipped of="solution"
# You clip the index to the number of pixels.
# replace: return down * (2 * window_size - 1) + right
# by:      return (down * (2 * window_size - 1) + right).clamp(max=window_size**2 - 1)


# %% wrong relative_position_index distance of="solution"
# You number the distance: the direction counts, too.
# replace: return down * (2 * window_size - 1) + right
# by:      return (rows[:, None] - rows) ** 2 + (columns[:, None] - columns) ** 2


# %% wrong relative_position_index position_of_the_key of="solution"
# You number the key's position: the offset from query to key counts.
# replace: return down * (2 * window_size - 1) + right
# by:      return pixels.expand(window_size**2, window_size**2)


# %% right relative_position_index in_one_subtraction of="solution"
# replace: pixels = torch.arange(window_size**2)
#          rows, columns = pixels // window_size, pixels % window_size
#          down = rows[:, None] - rows + window_size - 1
#          right = columns[:, None] - columns + window_size - 1
#          return down * (2 * window_size - 1) + right
# by:      base = 2 * window_size - 1
#          spread = torch.arange(window_size)[:, None] * base + torch.arange(window_size)
#          spread = spread.flatten()
#          return spread[:, None] - spread[None] + (window_size - 1) * (base + 1)


# %% right relative_position_index famous_code of="solution"
# replace: pixels = torch.arange(window_size**2)
#          rows, columns = pixels // window_size, pixels % window_size
#          down = rows[:, None] - rows + window_size - 1
#          right = columns[:, None] - columns + window_size - 1
#          return down * (2 * window_size - 1) + right
# by:      one = torch.arange(window_size)
#          places = torch.stack(torch.meshgrid(one, one, indexing="ij")).flatten(1)
#          apart = (places[:, :, None] - places[:, None, :]).permute(1, 2, 0).contiguous()
#          apart[:, :, 0] += window_size - 1
#          apart[:, :, 1] += window_size - 1
#          apart[:, :, 0] *= 2 * window_size - 1
#          return apart.sum(-1)


# %% right relative_position_index by_loops of="solution"
# replace: pixels = torch.arange(window_size**2)
#          rows, columns = pixels // window_size, pixels % window_size
#          down = rows[:, None] - rows + window_size - 1
#          right = columns[:, None] - columns + window_size - 1
#          return down * (2 * window_size - 1) + right
# by:      count, reach = window_size**2, window_size - 1
#          index = torch.zeros(count, count, dtype=torch.long)
#          for q in range(count):
#              for k in range(count):
#                  down = q // window_size - k // window_size + reach
#                  index[q, k] = down * (2 * reach + 1) + q % window_size - k % window_size + reach
#          return index


# %% right relative_position_index by_pairs_of_places of="solution"
# replace: pixels = torch.arange(window_size**2)
#          rows, columns = pixels // window_size, pixels % window_size
#          down = rows[:, None] - rows + window_size - 1
#          right = columns[:, None] - columns + window_size - 1
#          return down * (2 * window_size - 1) + right
# by:      one = torch.arange(window_size)
#          places = torch.cartesian_prod(one, one)
#          apart = places[:, None] - places + window_size - 1
#          return (apart * torch.tensor([2 * window_size - 1, 1])).sum(-1)


# %% right relative_position_index four_axes_joined of="solution"
# replace: pixels = torch.arange(window_size**2)
#          rows, columns = pixels // window_size, pixels % window_size
#          down = rows[:, None] - rows + window_size - 1
#          right = columns[:, None] - columns + window_size - 1
#          return down * (2 * window_size - 1) + right
# by:      one = torch.arange(window_size)
#          apart = one[:, None] - one + window_size - 1  # (query, key) along one axis
#          index = apart[:, None, :, None] * (2 * window_size - 1) + apart[None, :, None, :]
#          return index.reshape(window_size**2, window_size**2)


# %% right relative_position_index read_from_a_table of="solution"
# replace: pixels = torch.arange(window_size**2)
#          rows, columns = pixels // window_size, pixels % window_size
#          down = rows[:, None] - rows + window_size - 1
#          right = columns[:, None] - columns + window_size - 1
#          return down * (2 * window_size - 1) + right
# by:      base = 2 * window_size - 1
#          table = torch.arange(base * base).reshape(base, base)
#          cut = table.unfold(0, window_size, 1).unfold(1, window_size, 1)
#          return cut.flip(-1, -2).flatten(2).flatten(0, 1)


# %% wrong tells_offsets_apart counted_only of="solution"
# You only count the numbers: which pairs share one counts, too.
# replace: return len(both.unique(dim=0)) == len(mine.unique()) == len(index.unique())
# by:      return len(mine.unique()) == len(index.unique())


# %% wrong tells_offsets_apart equal_offsets_only of="solution"
# You only ask whether equal offsets share a number: different offsets must differ, too.
# replace: return len(both.unique(dim=0)) == len(mine.unique()) == len(index.unique())
# by:      return len(both.unique(dim=0)) == len(mine.unique())


# %% wrong tells_offsets_apart different_offsets_only of="solution"
# You only ask whether different offsets differ: equal offsets must share a number, too.
# replace: return len(both.unique(dim=0)) == len(mine.unique()) == len(index.unique())
# by:      return len(both.unique(dim=0)) == len(index.unique())


# %% wrong tells_offsets_apart as_mine of="solution"
# You expect the very numbers of your own index: other numbers will do, if they tell the same
# offsets apart.
# replace: return len(both.unique(dim=0)) == len(mine.unique()) == len(index.unique())
# by:      return torch.equal(mine, index)


# %% wrong tells_offsets_apart as_mine_or_turned of="solution"
# You expect the numbers of your own index: other numbers will do, too.
# replace: return len(both.unique(dim=0)) == len(mine.unique()) == len(index.unique())
# by:      return torch.equal(mine, index) or torch.equal(mine, index.T)


# %% wrong tells_offsets_apart always_true of="solution"
# Your test accepts every index.
# replace: return len(both.unique(dim=0)) == len(mine.unique()) == len(index.unique())
# by:      return True


# %% wrong tells_offsets_apart always_false of="solution"
# Your test rejects every index.
# replace: return len(both.unique(dim=0)) == len(mine.unique()) == len(index.unique())
# by:      return False


# %% wrong tells_offsets_apart inverted of="solution"
# Your test says the opposite.
# replace: return len(both.unique(dim=0)) == len(mine.unique()) == len(index.unique())
# by:      return not len(both.unique(dim=0)) == len(mine.unique()) == len(index.unique())


# %% wrong tells_offsets_apart first_query_only of="solution"
# You look at the first query only: with 1D offsets, its keys all get different numbers, too.
# replace: return len(both.unique(dim=0)) == len(mine.unique()) == len(index.unique())
# by:      return len(index[0].unique()) == len(index)


# %% wrong tells_offsets_apart each_query_by_itself of="solution"
# You look at each query by itself: equal offsets of different queries must share a number, too.
# replace: return len(both.unique(dim=0)) == len(mine.unique()) == len(index.unique())
# by:      return all(len(row.unique()) == len(row) for row in index)


# %% wrong tells_offsets_apart largest_number of="solution"
# You look at the largest number only: other numbers will do, and a wrong index may have the same.
# replace: return len(both.unique(dim=0)) == len(mine.unique()) == len(index.unique())
# by:      return int(index.max()) == int(mine.max())


# %% wrong tells_offsets_apart all_numbers_from_zero of="solution"
# You expect the numbers 0 to (2M − 1)² − 1: which they are does not matter, but which pairs share
# one.
# replace: return len(both.unique(dim=0)) == len(mine.unique()) == len(index.unique())
# by:      return torch.equal(index.unique(), mine.unique())


# %% wrong tells_offsets_apart as_many_as_pixels of="solution"
# You count as many numbers as there are pixels: there are (2M − 1)² offsets.
# replace: return len(both.unique(dim=0)) == len(mine.unique()) == len(index.unique())
# by:      return len(index.unique()) == len(index)


# %% wrong tells_offsets_apart at_least_as_many of="solution"
# More numbers than offsets are wrong, too: equal offsets then differ.
# replace: return len(both.unique(dim=0)) == len(mine.unique()) == len(index.unique())
# by:      return len(index.unique()) >= len(mine.unique())


# %% wrong tells_offsets_apart diagonal of="solution"
# You look at the diagonal only: all pairs count.
# replace: return len(both.unique(dim=0)) == len(mine.unique()) == len(index.unique())
# by:      return len(index.diagonal().unique()) == 1 and len(index.unique()) == len(mine.unique())


# %% wrong tells_offsets_apart turned_around of="solution"
# You ask whether the index changes if query and key change places: that holds for 1D offsets,
# too.
# replace: return len(both.unique(dim=0)) == len(mine.unique()) == len(index.unique())
# by:      return not torch.equal(index, index.T)


# %% wrong tells_offsets_apart sorted_alike of="solution"
# You ask whether the numbers have the same order as yours: any other order will do, too.
# replace: return len(both.unique(dim=0)) == len(mine.unique()) == len(index.unique())
# by:      order = mine.flatten().argsort(stable=True)
#          return torch.equal(order, index.flatten().argsort(stable=True))


# %% wrong tells_offsets_apart numbers_from_zero_up of="solution"
# You refuse negative numbers: which they are does not matter.
# replace: return len(both.unique(dim=0)) == len(mine.unique()) == len(index.unique())
# by:      good = len(both.unique(dim=0)) == len(mine.unique()) == len(index.unique())
#          return good and int(index.min()) >= 0


# %% wrong tells_offsets_apart opposites_merged of="solution"
# You take an offset and its opposite for the same: they are two.
# replace: mine = relative_position_index(math.isqrt(len(index)))
# by:      size = math.isqrt(len(index))
#          p = torch.arange(len(index))
#          down, right = p[:, None] // size - p // size, p[:, None] % size - p % size
#          mine = down.abs() * size + right.abs()


# %% wrong tells_offsets_apart joined_by_a_sum of="solution"
# You join your number and the given one by a sum: different pairs of numbers may have the same
# sum.
# replace: both = torch.stack([mine.flatten(), index.flatten()], 1)
# by:      both = (mine + index).flatten()


# %% wrong tells_offsets_apart keys_after_queries_only of="solution"
# You look at keys after the query only: the pairs below the diagonal count, too.
# replace: both = torch.stack([mine.flatten(), index.flatten()], 1)
# by:      upper = torch.ones_like(mine).triu().bool()
#          mine, index = mine[upper], index[upper]
#          both = torch.stack([mine, index], 1)


# %% wrong tells_offsets_apart no_gaps of="solution"
# You refuse numbers with gaps between them: which they are does not matter.
# replace: return len(both.unique(dim=0)) == len(mine.unique()) == len(index.unique())
# by:      good = len(both.unique(dim=0)) == len(mine.unique()) == len(index.unique())
#          return good and int(index.max() - index.min()) + 1 == len(index.unique())


# %% wrong tells_offsets_apart row_by_row of="solution"
# You compare the order within each row of the index: any numbering will do.
# replace: return len(both.unique(dim=0)) == len(mine.unique()) == len(index.unique())
# by:      return torch.equal(mine.argsort(1), index.argsort(1))


# %% wrong tells_offsets_apart window_of_four_expected of="solution"
# You expect windows of 4 × 4: M follows from the length of the index.
# replace: return len(both.unique(dim=0)) == len(mine.unique()) == len(index.unique())
# by:      return len(index.unique()) == 49 and len(both.unique(dim=0)) == 49


# %% wrong tells_offsets_apart along_the_diagonals of="solution"
# You ask whether the index is the same along its diagonals: that is the law of 1D offsets.
# replace: return len(both.unique(dim=0)) == len(mine.unique()) == len(index.unique())
# by:      return torch.equal(index[1:, 1:], index[:-1, :-1])


# %% wrong tells_offsets_apart side_not_taken of="solution"
# You take the number of pixels for the side of the window: M is its square root.
# replace: math.isqrt(len(index))
# by:      len(index)


# %% right tells_offsets_apart every_two_pairs of="solution"
# replace: both = torch.stack([mine.flatten(), index.flatten()], 1)
#          return len(both.unique(dim=0)) == len(mine.unique()) == len(index.unique())
# by:      mine, given = mine.flatten(), index.flatten()
#          return torch.equal(mine[:, None] == mine, given[:, None] == given)


# %% right tells_offsets_apart two_dictionaries of="solution"
# replace: mine = relative_position_index(math.isqrt(len(index)))
#          both = torch.stack([mine.flatten(), index.flatten()], 1)
#          return len(both.unique(dim=0)) == len(mine.unique()) == len(index.unique())
# by:      size = math.isqrt(len(index))
#          number_of, offset_of = {}, {}
#          for q, row in enumerate(index.tolist()):
#              for k, number in enumerate(row):
#                  offset = (q // size - k // size, q % size - k % size)
#                  if number_of.setdefault(offset, number) != number:
#                      return False
#                  if offset_of.setdefault(number, offset) != offset:
#                      return False
#          return True


# %% right tells_offsets_apart sets_of_python of="solution"
# replace: mine = relative_position_index(math.isqrt(len(index)))
#          both = torch.stack([mine.flatten(), index.flatten()], 1)
#          return len(both.unique(dim=0)) == len(mine.unique()) == len(index.unique())
# by:      size = math.isqrt(len(index))
#          numbered = set()
#          for q, row in enumerate(index.tolist()):
#              for k, number in enumerate(row):
#                  numbered.add((q // size - k // size, q % size - k % size, number))
#          offsets = {(down, right) for down, right, _ in numbered}
#          found = {number for _, _, number in numbered}
#          return len(numbered) == len(offsets) == len(found)


# %% right tells_offsets_apart one_number_for_each_offset of="solution"
# replace: both = torch.stack([mine.flatten(), index.flatten()], 1)
#          return len(both.unique(dim=0)) == len(mine.unique()) == len(index.unique())
# by:      first = [index[mine == number] for number in mine.unique()]
#          same = all(bool((group == group[0]).all()) for group in first)
#          return same and len({int(group[0]) for group in first}) == len(first)


# %% right tells_offsets_apart renamed of="solution"
# replace: both = torch.stack([mine.flatten(), index.flatten()], 1)
#          return len(both.unique(dim=0)) == len(mine.unique()) == len(index.unique())
# by:      name = torch.zeros(int(mine.max()) + 1, dtype=index.dtype)
#          name[mine.flatten()] = index.flatten()
#          return torch.equal(name[mine], index) and len(name.unique()) == len(name)


# %% wrong WindowAttention unscaled of="solution"
# You do not divide the scores by √d_head.
# replace: scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
# by:      scores = query @ key.transpose(-2, -1)


# %% wrong WindowAttention scaled_by_d_model of="solution"
# You divide by √d_model: each head has d_model / num_heads features.
# replace: / math.sqrt(query.shape[-1])
# by:      / math.sqrt(x.shape[-1])


# %% wrong WindowAttention scaled_by_d_head of="solution"
# You divide by d_head: divide by its root.
# replace: / math.sqrt(query.shape[-1])
# by:      / query.shape[-1]


# %% wrong WindowAttention scaled_by_pixels of="solution"
# You divide by the root of the number of pixels: divide by √d_head.
# replace: / math.sqrt(query.shape[-1])
# by:      / math.sqrt(query.shape[-2])


# %% wrong WindowAttention bias_scaled of="solution"
# You divide the bias by √d_head, too: divide q · k first, then add the bias.
# replace: scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
#          scores = scores + self.table[self.index].permute(2, 0, 1)
# by:      scores = query @ key.transpose(-2, -1) + self.table[self.index].permute(2, 0, 1)
#          scores = scores / math.sqrt(query.shape[-1])


# %% wrong WindowAttention no_bias of="solution"
# You do not add the bias.
# replace: scores = scores + self.table[self.index].permute(2, 0, 1)
# by:


# %% wrong WindowAttention bias_subtracted of="solution"
# You subtract the bias: add it.
# replace: scores + self.table[
# by:      scores - self.table[


# %% wrong WindowAttention bias_on_the_weights of="solution"
# You add the bias to the weights: it belongs to the scores, before the softmax.
# replace: scores = scores + self.table[self.index].permute(2, 0, 1)
# by:
# replace: weights = scores.softmax(-1)
# by:      weights = scores.softmax(-1) + self.table[self.index].permute(2, 0, 1)


# %% wrong WindowAttention bias_multiplied of="solution"
# You multiply the scores by the bias: add it.
# replace: scores + self.table[
# by:      scores * self.table[


# %% wrong WindowAttention bias_of_the_first_head of="solution"
# You add the first head's bias to all heads: each head has a column of its own in the table.
# replace: self.table[self.index].permute(2, 0, 1)
# by:      self.table[self.index][..., 0]


# %% wrong WindowAttention bias_averaged of="solution"
# You average the bias over the heads: each head has its own.
# replace: self.table[self.index].permute(2, 0, 1)
# by:      self.table[self.index].mean(-1)


# %% wrong WindowAttention bias_turned of="solution"
# You read the table at key − query: the rows of the index belong to the query.
# replace: self.table[self.index].permute(2, 0, 1)
# by:      self.table[self.index].permute(2, 1, 0)


# %% wrong WindowAttention bias_heads_reversed of="solution"
# You give the heads' biases in reversed order.
# replace: self.table[self.index].permute(2, 0, 1)
# by:      self.table[self.index].permute(2, 0, 1).flip(0)


# %% wrong WindowAttention bias_reshaped of="solution"
# You bring the heads to the front by reshape: that mixes heads and pairs, so permute.
# replace: self.table[self.index].permute(2, 0, 1)
# by:      self.table[self.index].reshape(self.num_heads, *self.index.shape)


# %% wrong WindowAttention bias_by_flat_offsets of="solution"
# You read the table by the difference of the pixels' numbers: rows and columns need a difference
# each.
# replace: self.register_buffer("index", relative_position_index(window_size))
# by:      place = torch.arange(window_size**2)
#          self.register_buffer("index", (place[:, None] - place) % len(self.table))


# %% wrong WindowAttention bias_through_a_softmax of="solution"
# You put the bias through a softmax: add it as it stands in the table.
# replace: self.table[self.index].permute(2, 0, 1)
# by:      self.table[self.index].permute(2, 0, 1).softmax(-1)


# %% wrong WindowAttention bias_through_a_sigmoid of="solution"
# You put the bias through a sigmoid: add it as it stands in the table.
# replace: self.table[self.index].permute(2, 0, 1)
# by:      self.table[self.index].permute(2, 0, 1).sigmoid()


# %% wrong WindowAttention table_detached of="solution"
# No gradient reaches the table: leave out detach.
# replace: self.table[self.index]
# by:      self.table.detach()[self.index]


# %% wrong WindowAttention bias_frozen_at_the_start of="solution"
# You read the table once, when the module is built: read it in every forward pass, so that it can
# learn.
# replace: self.register_buffer("index", relative_position_index(window_size))
# by:      self.register_buffer("bias", self.table.detach()[relative_position_index(window_size)])
# replace: self.table[self.index]
# by:      self.bias


# %% wrong WindowAttention heads_interleaved of="solution"
# You cut the output of qkv into heads first, then into query, key and value: all queries come
# first.
# replace: parts = self.qkv(x).unflatten(-1, (3, self.num_heads, -1)).transpose(2, 4)
#          query, key, value = parts.unbind(3)
# by:      parts = self.qkv(x).unflatten(-1, (self.num_heads, 3, -1))
#          query, key, value = (part.transpose(2, 3) for part in parts.unbind(4))


# %% wrong WindowAttention key_first of="solution"
# You take the first third as keys: the order is query, key, value.
# replace: query, key, value = parts.unbind(3)
# by:      key, query, value = parts.unbind(3)


# %% wrong WindowAttention value_first of="solution"
# You take the first third as values: the order is query, key, value.
# replace: query, key, value = parts.unbind(3)
# by:      value, query, key = parts.unbind(3)


# %% wrong WindowAttention value_second of="solution"
# You take the second third as values: the order is query, key, value.
# replace: query, key, value = parts.unbind(3)
# by:      query, value, key = parts.unbind(3)


# %% wrong WindowAttention features_of_heads_spread of="solution"
# You spread each head over the features: its features are neighbours.
# replace: parts = self.qkv(x).unflatten(-1, (3, self.num_heads, -1)).transpose(2, 4)
# by:      parts = self.qkv(x).unflatten(-1, (3, -1, self.num_heads))
#          parts = parts.transpose(-2, -1).transpose(2, 4)


# %% wrong WindowAttention softmax_over_queries of="solution"
# Your softmax runs over the queries: it should run over the keys.
# replace: weights = scores.softmax(-1)
# by:      weights = scores.softmax(-2)


# %% wrong WindowAttention softmax_over_heads of="solution"
# Your softmax runs over the heads: it should run over the keys.
# replace: weights = scores.softmax(-1)
# by:      weights = scores.softmax(2)


# %% wrong WindowAttention no_softmax of="solution"
# You return scores: the softmax is missing.
# replace: weights = scores.softmax(-1)
# by:      weights = scores


# %% wrong WindowAttention sigmoid of="solution"
# You use a sigmoid: a softmax makes each query's weights sum to 1.
# replace: weights = scores.softmax(-1)
# by:      weights = scores.sigmoid()


# %% wrong WindowAttention heads_joined_without_transposing of="solution"
# You join the heads without bringing them behind the pixels first: that mixes pixels.
# replace: (weights @ value).transpose(2, 3).flatten(3)
# by:      (weights @ value).reshape(x.shape)


# %% wrong WindowAttention heads_averaged of="solution"
# You average the heads and repeat them: join them.
# replace: (weights @ value).transpose(2, 3).flatten(3)
# by:      (weights @ value).mean(2).repeat(1, 1, 1, self.num_heads)


# %% wrong WindowAttention heads_in_reverse of="solution"
# You join the heads in reversed order.
# replace: (weights @ value).transpose(2, 3)
# by:      (weights @ value).transpose(2, 3).flip(3)


# %% wrong WindowAttention no_projection of="solution"
# You do not apply the projection.
# replace: return self.projection((weights @ value).transpose(2, 3).flatten(3)), weights
# by:      return (weights @ value).transpose(2, 3).flatten(3), weights


# %% wrong WindowAttention projection_twice of="solution"
# You apply the projection twice.
# replace: return self.projection((weights @ value).transpose(2, 3).flatten(3)), weights
# by:      output = self.projection((weights @ value).transpose(2, 3).flatten(3))
#          return self.projection(output), weights


# %% wrong WindowAttention weights_turned of="solution"
# You use the weights the other way round: a query's row holds its weights on the keys.
# replace: (weights @ value)
# by:      (weights.mT @ value)


# %% wrong WindowAttention residual_inside of="solution"
# You add x: the residual connection belongs to the block.
# replace: return self.projection((weights @ value).transpose(2, 3).flatten(3)), weights
# by:      return x + self.projection((weights @ value).transpose(2, 3).flatten(3)), weights


# %% wrong WindowAttention output_alone of="solution"
# You return the output alone: return the weights, too.
# replace: flatten(3)), weights
# by:      flatten(3))


# %% wrong WindowAttention weights_first of="solution"
# You return the weights first: the output comes first.
# replace: return self.projection((weights @ value).transpose(2, 3).flatten(3)), weights
# by:      return weights, self.projection((weights @ value).transpose(2, 3).flatten(3))


# %% wrong WindowAttention weights_averaged_over_heads of="solution"
# You average the weights over the heads: return those of every head.
# replace: flatten(3)), weights
# by:      flatten(3)), weights.mean(2)


# %% wrong WindowAttention scores_returned of="solution"
# You return the scores as weights: return what the softmax gives.
# replace: flatten(3)), weights
# by:      flatten(3)), scores


# %% wrong WindowAttention heads_before_windows of="solution"
# Your weights have the heads before the windows: (batch, windows, heads, query, key).
# replace: return self.projection((weights @ value).transpose(2, 3).flatten(3)), weights
# by:      output = self.projection((weights @ value).transpose(2, 3).flatten(3))
#          return output, weights.transpose(1, 2)


# %% wrong WindowAttention dropout of="solution"
# You drop weights at random: there is no dropout here.
# replace: weights = scores.softmax(-1)
# by:      weights = F.dropout(scores.softmax(-1), 0.1)


# %% wrong WindowAttention all_windows_together of="solution"
# Your pixels attend to those of all windows: each window is by itself.
# replace: weights = scores.softmax(-1)
# by:      weights = scores.softmax(-1)
#          value = value.mean(1, keepdim=True).expand_as(value)


# %% wrong WindowAttention mask_ignored of="solution"
# You ignore the mask.
# replace: if mask is not None:
#              scores = scores.masked_fill(~mask[:, None], -math.inf)
# by:


# %% wrong WindowAttention mask_inverted of="solution"
# You mask the allowed pairs: True means that a query may attend.
# replace: ~mask[:, None]
# by:      mask[:, None]


# %% wrong WindowAttention minus_a_hundred of="solution"
# Your masked scores keep a finite number, such as −100: allowed ones can be lower. Use −∞.
# replace: -math.inf
# by:      -100.0


# %% wrong WindowAttention minus_a_hundred_added of="solution"
# You add a finite number to masked scores, such as −100: that is a penalty, and no mask. Use −∞.
# replace: scores = scores.masked_fill(~mask[:, None], -math.inf)
# by:      scores = scores + torch.where(mask[:, None], 0.0, -100.0).to(x)


# %% wrong WindowAttention minus_ten_thousand_added of="solution"
# You add a finite number to masked scores, such as −10,000: that is a large penalty, and no mask.
# Use −∞.
# replace: scores = scores.masked_fill(~mask[:, None], -math.inf)
# by:      scores = scores + torch.where(mask[:, None], 0.0, -10000.0).to(x)


# %% wrong WindowAttention minus_ten_thousand of="solution"
# Your masked scores keep a finite number, such as −10,000: allowed ones can be lower. Use −∞.
# replace: -math.inf
# by:      -10000.0


# %% wrong WindowAttention zero_scores of="solution"
# You set masked scores to 0: they still get weight. Use −∞.
# replace: -math.inf
# by:      0.0


# %% wrong WindowAttention scores_times_mask of="solution"
# You multiply the scores by the mask: a score of 0 still gets weight. Use −∞.
# replace: scores = scores.masked_fill(~mask[:, None], -math.inf)
# by:      scores = scores * mask[:, None]


# %% wrong WindowAttention masked_after_the_softmax of="solution"
# You mask after the softmax: the other weights then no longer sum to 1.
# replace: if mask is not None:
#              scores = scores.masked_fill(~mask[:, None], -math.inf)
#          weights = scores.softmax(-1)
# by:      weights = scores.softmax(-1)
#          if mask is not None:
#              weights = weights * mask[:, None]


# %% wrong WindowAttention first_mask_for_all of="solution"
# You use the first window's mask for all windows.
# replace: ~mask[:, None]
# by:      ~mask[0]


# %% wrong WindowAttention mask_turned of="solution"
# You use the mask the other way round: its rows belong to the queries.
# replace: ~mask[:, None]
# by:      ~mask[:, None].transpose(-2, -1)


# %% wrong WindowAttention last_mask_for_all of="solution"
# You use the last window's mask for all windows.
# replace: ~mask[:, None]
# by:      ~mask[-1]


# %% wrong WindowAttention mask_backwards of="solution"
# You use the masks of the windows in reversed order.
# replace: ~mask[:, None]
# by:      ~mask.flip(0)[:, None]


# %% wrong WindowAttention mask_for_the_first_head of="solution"
# You mask the first head only.
# replace: scores = scores.masked_fill(~mask[:, None], -math.inf)
# by:      first = scores[:, :, :1].masked_fill(~mask[:, None], -math.inf)
#          scores = torch.cat([first, scores[:, :, 1:]], 2)


# %% wrong WindowAttention mask_for_the_first_map of="solution"
# You mask the first map of the batch only.
# replace: scores = scores.masked_fill(~mask[:, None], -math.inf)
# by:      first = scores[:1].masked_fill(~mask[:, None], -math.inf)
#          scores = torch.cat([first, scores[1:]], 0)


# %% wrong WindowAttention bias_after_the_mask of="solution"
# You mask values, too: they are averaged with weights that are masked already.
# replace: return self.projection((weights @ value).transpose(2, 3).flatten(3)), weights
# by:      if mask is not None:
#              value = value * mask.any(1)[:, None, :, None] * 0.5
#          return self.projection((weights @ value).transpose(2, 3).flatten(3)), weights


# %% wrong WindowAttention no_bias_with_a_mask of="solution"
# With a mask, you leave out the bias: add it either way.
# replace: scores = scores + self.table[self.index].permute(2, 0, 1)
# by:      bias = self.table[self.index].permute(2, 0, 1)
#          scores = scores + bias * (mask is None)


# %% wrong WindowAttention axes_of_the_mask_missing of="solution"
# You give the mask no axis for the heads: (windows, M², M²) needs one between the first two.
# replace: ~mask[:, None]
# by:      ~mask


# %% wrong WindowAttention qkv_without_bias of="solution"
# the parameters are not the ones the docstring names
# replace: nn.Linear(d_model, 3 * d_model)
# by:      nn.Linear(d_model, 3 * d_model, bias=False)


# %% wrong WindowAttention projection_without_bias of="solution"
# the parameters are not the ones the docstring names
# replace: self.projection = nn.Linear(d_model, d_model)
# by:      self.projection = nn.Linear(d_model, d_model, bias=False)


# %% wrong WindowAttention index_as_parameter of="solution"
# leave out index: the docstring names every part
# replace: self.register_buffer("index", relative_position_index(window_size))
# by:      self.index = nn.Parameter(relative_position_index(window_size), requires_grad=False)


# %% wrong WindowAttention table_is_no_parameter of="solution"
# the parameters are not the ones the docstring names
# replace: nn.Parameter(0.02 * torch.randn((2 * window_size - 1) ** 2, num_heads))
# by:      0.02 * torch.randn((2 * window_size - 1) ** 2, num_heads)


# %% wrong WindowAttention heads_first_in_the_table of="solution"
# the parameters are not the ones the docstring names
# replace: torch.randn((2 * window_size - 1) ** 2, num_heads)
# by:      torch.randn(num_heads, (2 * window_size - 1) ** 2)
# replace: self.table[self.index].permute(2, 0, 1)
# by:      self.table[:, self.index]


# %% wrong WindowAttention a_number_for_each_pair of="solution"
# the parameters are not the ones the docstring names
# replace: torch.randn((2 * window_size - 1) ** 2, num_heads)
# by:      torch.randn(window_size**4, num_heads)


# %% wrong WindowAttention one_head_in_the_table of="solution"
# the parameters are not the ones the docstring names
# replace: torch.randn((2 * window_size - 1) ** 2, num_heads)
# by:      torch.randn((2 * window_size - 1) ** 2, 1)


# %% wrong WindowAttention norm_inside of="solution"
# You normalise x: the norm belongs to the block.
# replace: parts = self.qkv(x)
# by:      x = F.layer_norm(x, x.shape[-1:])
#          parts = self.qkv(x)


# %% wrong WindowAttention changed_in_place of="solution"
# operations that end in _ (add_, masked_fill_), x[...] = y and x -= y write into the caller's
# tensor: make a new one
# replace: parts = self.qkv(x)
# by:      x += 0.1
#          parts = self.qkv(x)


# %% wrong WindowAttention computed_in_single of="solution"
# You compute in float32: float64 in should give float64's accuracy.
# replace: weights = scores.softmax(-1)
# by:      weights = scores.float().softmax(-1).to(x.dtype)


# %% wrong WindowAttention remainder_ignored of="solution"
# You refuse nothing: raise a ValueError if the heads do not divide d_model.
# replace: if d_model % num_heads:
#              raise ValueError(f"{num_heads} heads do not divide a d_model of {d_model}")
# by:


# %% wrong WindowAttention asserted of="solution"
# You assert: raise a ValueError.
# replace: if d_model % num_heads:
#              raise ValueError(f"{num_heads} heads do not divide a d_model of {d_model}")
# by:      assert d_model % num_heads == 0, f"{num_heads} {d_model}"


# %% wrong WindowAttention d_model_alone_named of="solution"
# Your message does not name the number of heads.
# replace: f"{num_heads} heads do not divide a d_model of {d_model}"
# by:      f"the heads do not divide a d_model of {d_model}"


# %% wrong WindowAttention heads_alone_named of="solution"
# Your message does not name d_model: 10, for example.
# replace: f"{num_heads} heads do not divide a d_model of {d_model}"
# by:      f"{num_heads} heads do not divide"


# %% wrong WindowAttention nothing_named of="solution"
# Your message does not name d_model: 10, for example.
# replace: f"{num_heads} heads do not divide a d_model of {d_model}"
# by:      "the heads do not divide"


# %% wrong WindowAttention too_many_heads_only of="solution"
# You only refuse more heads than features.
# replace: if d_model % num_heads:
# by:      if num_heads > d_model:


# %% wrong WindowAttention too_many_heads_accepted of="solution"
# You accept more heads than features: each head needs a feature at least.
# replace: if d_model % num_heads:
# by:      if num_heads < d_model and d_model % num_heads:


# %% right WindowAttention in_chunks of="solution"
# replace: parts = self.qkv(x).unflatten(-1, (3, self.num_heads, -1)).transpose(2, 4)
#          query, key, value = parts.unbind(3)
# by:      split = [part.unflatten(-1, (self.num_heads, -1)) for part in self.qkv(x).chunk(3, -1)]
#          query, key, value = (part.transpose(2, 3) for part in split)


# %% right WindowAttention by_einsum of="solution"
# replace: parts = self.qkv(x).unflatten(-1, (3, self.num_heads, -1)).transpose(2, 4)
#          query, key, value = parts.unbind(3)
#          scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
# by:      query, key, value = self.qkv(x).unflatten(-1, (3, self.num_heads, -1)).unbind(3)
#          scores = torch.einsum("bwqhd,bwkhd->bwhqk", query, key) * query.shape[-1] ** -0.5
# replace: return self.projection((weights @ value).transpose(2, 3).flatten(3)), weights
# by:      mean = torch.einsum("bwhqk,bwkhd->bwqhd", weights, value)
#          return self.projection(mean.reshape(x.shape)), weights


# %% right WindowAttention famous_code of="solution"
# replace: parts = self.qkv(x).unflatten(-1, (3, self.num_heads, -1)).transpose(2, 4)
#          query, key, value = parts.unbind(3)
# by:      batch, count, pixels, width = x.shape
#          parts = self.qkv(x.flatten(0, 1)).reshape(batch * count, pixels, 3, self.num_heads, -1)
#          parts = parts.permute(2, 0, 3, 1, 4).unflatten(1, (batch, count))
#          query, key, value = parts[0], parts[1], parts[2]
# replace: scores = scores + self.table[self.index].permute(2, 0, 1)
# by:      bias = self.table[self.index.view(-1)].view(pixels, pixels, -1)
#          scores = scores + bias.permute(2, 0, 1).contiguous()[None, None]


# %% right WindowAttention mask_added of="solution"
# replace: scores = scores.masked_fill(~mask[:, None], -math.inf)
# by:      hidden = torch.zeros(mask.shape, dtype=x.dtype).masked_fill(~mask, -math.inf)
#          scores = scores + hidden.unsqueeze(1)


# %% right WindowAttention mask_by_where of="solution"
# replace: scores = scores.masked_fill(~mask[:, None], -math.inf)
# by:      scores = torch.where(mask[None, :, None], scores, torch.finfo(x.dtype).min)


# %% right WindowAttention scaled_queries of="solution"
# replace: scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
# by:      scores = (query / query.shape[-1] ** 0.5) @ key.mT
# replace: if mask is not None:
#              scores = scores.masked_fill(~mask[:, None], -math.inf)
#          weights = scores.softmax(-1)
# by:      if mask is not None:
#              scores = scores.masked_fill(mask.logical_not()[:, None], -math.inf)
#          scores = scores - scores.amax(-1, keepdim=True)
#          weights = scores.exp() / scores.exp().sum(-1, keepdim=True)


# %% right WindowAttention head_by_head of="solution"
# replace: parts = self.qkv(x).unflatten(-1, (3, self.num_heads, -1)).transpose(2, 4)
#          query, key, value = parts.unbind(3)
#          scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
#          scores = scores + self.table[self.index].permute(2, 0, 1)
#          if mask is not None:
#              scores = scores.masked_fill(~mask[:, None], -math.inf)
#          weights = scores.softmax(-1)
#          return self.projection((weights @ value).transpose(2, 3).flatten(3)), weights
# by:      bias, outputs, weights = self.table[self.index], [], []
#          thirds = [part.chunk(self.num_heads, -1) for part in self.qkv(x).chunk(3, -1)]
#          for head, (query, key, value) in enumerate(zip(*thirds, strict=True)):
#              scores = query @ key.mT / math.sqrt(key.shape[-1]) + bias[..., head]
#              if mask is not None:
#                  scores = scores.masked_fill(~mask, -math.inf)
#              weights.append(scores.softmax(-1))
#              outputs.append(weights[-1] @ value)
#          return self.projection(torch.cat(outputs, -1)), torch.stack(weights, 2)


# %% right WindowAttention index_made_anew of="solution"
# replace: self.register_buffer("index", relative_position_index(window_size))
# by:      self.window_size = window_size
# replace: self.table[self.index]
# by:      self.table[relative_position_index(self.window_size)]


# %% right WindowAttention by_pytorchs_function of="solution"
# replace: return self.projection((weights @ value).transpose(2, 3).flatten(3)), weights
# by:      bias = self.table[self.index].permute(2, 0, 1)[None, None].expand(scores.shape)
#          if mask is not None:
#              bias = bias.masked_fill(~mask[:, None], -math.inf)
#          mean = F.scaled_dot_product_attention(query, key, value, bias)
#          return self.projection(mean.movedim(2, 3).flatten(-2)), weights


# %% right WindowAttention table_of_zeros of="solution"
# replace: nn.Parameter(0.02 * torch.randn((2 * window_size - 1) ** 2, num_heads))
# by:      nn.Parameter(torch.zeros((2 * window_size - 1) ** 2, num_heads))


# %% wrong SwinBlock not_rolled_back of="solution"
# You do not roll back: each pixel gets what another one attended to.
# replace: x = x + attended.roll((shift, shift), (1, 2))
# by:      x = x + attended


# %% wrong SwinBlock rolled_twice of="solution"
# You roll in the same direction again: roll back by +shift.
# replace: x = x + attended.roll((shift, shift), (1, 2))
# by:      x = x + attended.roll((-shift, -shift), (1, 2))


# %% wrong SwinBlock rolled_the_other_way of="solution"
# You roll by +shift first: roll by −shift, and back by +shift.
# replace: rolled = self.norm1(x).roll((-shift, -shift), (1, 2))
# by:      rolled = self.norm1(x).roll((shift, shift), (1, 2))
# replace: x = x + attended.roll((shift, shift), (1, 2))
# by:      x = x + attended.roll((-shift, -shift), (1, 2))


# %% wrong SwinBlock residual_rolled of="solution"
# You add the branch to the rolled map and roll nothing back: the residual stream stays where it
# is.
# replace: x = x + attended.roll((shift, shift), (1, 2))
# by:      x = x.roll((-shift, -shift), (1, 2)) + attended


# %% wrong SwinBlock residual_rolled_as_well of="solution"
# You roll x itself, add the branch that is rolled back, and so add different pixels: only the
# branch is rolled.
# replace: rolled = self.norm1(x).roll((-shift, -shift), (1, 2))
# by:      x = x.roll((-shift, -shift), (1, 2))
#          rolled = self.norm1(x)


# %% wrong SwinBlock rows_rolled_only of="solution"
# You roll the rows only: roll both axes.
# replace: rolled = self.norm1(x).roll((-shift, -shift), (1, 2))
# by:      rolled = self.norm1(x).roll(-shift, 1)
# replace: x = x + attended.roll((shift, shift), (1, 2))
# by:      x = x + attended.roll(shift, 1)


# %% wrong SwinBlock columns_rolled_only of="solution"
# You roll the columns only: roll both axes.
# replace: rolled = self.norm1(x).roll((-shift, -shift), (1, 2))
# by:      rolled = self.norm1(x).roll(-shift, 2)
# replace: x = x + attended.roll((shift, shift), (1, 2))
# by:      x = x + attended.roll(shift, 2)


# %% wrong SwinBlock rows_rolled_back_only of="solution"
# You roll the rows back only: roll both axes back.
# replace: x = x + attended.roll((shift, shift), (1, 2))
# by:      x = x + attended.roll(shift, 1)


# %% wrong SwinBlock channels_rolled of="solution"
# You roll width and channels: roll height and width, axes 1 and 2.
# replace: rolled = self.norm1(x).roll((-shift, -shift), (1, 2))
# by:      rolled = self.norm1(x).roll((-shift, -shift), (2, 3))
# replace: x = x + attended.roll((shift, shift), (1, 2))
# by:      x = x + attended.roll((shift, shift), (2, 3))


# %% wrong SwinBlock batch_rolled of="solution"
# You roll batch and height: roll height and width, axes 1 and 2.
# replace: rolled = self.norm1(x).roll((-shift, -shift), (1, 2))
# by:      rolled = self.norm1(x).roll((-shift, -shift), (0, 1))
# replace: x = x + attended.roll((shift, shift), (1, 2))
# by:      x = x + attended.roll((shift, shift), (0, 1))


# %% wrong SwinBlock no_mask of="solution"
# Pixels of opposite borders attend to one another in your block: mask each window by its own
# mask.
# replace: attended, _ = self.attention(window_partition(rolled, self.window_size), mask)
# by:      attended, _ = self.attention(window_partition(rolled, self.window_size))


# %% wrong SwinBlock never_shifted of="solution"
# You never shift.
# replace: shift = 0 if height == width == self.window_size else self.shift
# by:      shift = 0


# %% wrong SwinBlock masked_but_not_rolled of="solution"
# You mask, but you do not roll.
# replace: rolled = self.norm1(x).roll((-shift, -shift), (1, 2))
# by:      rolled = self.norm1(x)
# replace: x = x + attended.roll((shift, shift), (1, 2))
# by:      x = x + attended


# %% wrong SwinBlock half_a_window of="solution"
# You shift by M // 2: take the shift that is given.
# replace: shift = 0 if height == width == self.window_size else self.shift
# by:      shift = 0 if height == width == self.window_size else self.window_size // 2


# %% wrong SwinBlock half_a_window_if_shifted of="solution"
# You shift by M // 2 whenever there is a shift: take the shift that is given.
# replace: shift = 0 if height == width == self.window_size else self.shift
# by:      shift = self.shift and self.window_size // 2
#          shift = 0 if height == width == self.window_size else shift


# %% wrong SwinBlock mask_of_half_a_window of="solution"
# Your mask is that of a shift of M // 2: take the shift that is given.
# replace: mask = shifted_window_mask(height, width, self.window_size, shift).to(x.device)
# by:      half = self.window_size // 2 if shift else 0
#          mask = shifted_window_mask(height, width, self.window_size, half).to(x.device)


# %% wrong SwinBlock mask_of_half_a_window_always of="solution"
# Your mask is that of a shift of M // 2, even without a shift: take the shift that is given.
# replace: mask = shifted_window_mask(height, width, self.window_size, shift).to(x.device)
# by:      half = self.window_size // 2
#          mask = shifted_window_mask(height, width, self.window_size, half).to(x.device)


# %% wrong SwinBlock square_maps_not_shifted of="solution"
# You do not shift a map of 8 by 8 with windows of 4: only a map of one window stays unshifted.
# replace: shift = 0 if height == width == self.window_size else self.shift
# by:      shift = 0 if height == width else self.shift


# %% wrong SwinBlock shifted_by_one of="solution"
# You shift by 1 whenever there is a shift: take the shift that is given.
# replace: shift = 0 if height == width == self.window_size else self.shift
# by:      shift = 0 if height == width == self.window_size else min(self.shift, 1)


# %% wrong SwinBlock one_window_shifted of="solution"
# You shift a map of one window, too: it has no border to cross.
# replace: shift = 0 if height == width == self.window_size else self.shift
# by:      shift = self.shift


# %% wrong SwinBlock one_window_masked_only of="solution"
# You mask a map of one window by its shift: there nothing is shifted and nothing is masked.
# replace: mask = shifted_window_mask(height, width, self.window_size, shift).to(x.device)
# by:      mask = shifted_window_mask(height, width, self.window_size, self.shift).to(x.device)


# %% wrong SwinBlock mask_sides_swapped of="solution"
# You exchange height and width in the mask.
# replace: shifted_window_mask(height, width,
# by:      shifted_window_mask(width, height,


# %% wrong SwinBlock reversed_sides_swapped of="solution"
# You exchange height and width when you put the windows back.
# replace: window_reverse(attended, self.window_size, height, width)
# by:      window_reverse(attended, self.window_size, width, height).reshape(x.shape)


# %% wrong SwinBlock put_back_by_reshape of="solution"
# You put the windows back by reshape: the rows of a window belong to different rows of the map.
# replace: attended = window_reverse(attended, self.window_size, height, width)
# by:      attended = attended.reshape(x.shape)


# %% wrong SwinBlock cut_by_reshape of="solution"
# You cut the windows by reshape: that takes rows of the map.
# replace: attended, _ = self.attention(window_partition(rolled, self.window_size), mask)
# by:      windows = rolled.reshape(len(x), -1, self.window_size**2, x.shape[-1])
#          attended, _ = self.attention(windows, mask)


# %% wrong SwinBlock mask_of_the_first_map of="solution"
# You make the mask once, for the first map: the next one may have another size.
# replace: mask = shifted_window_mask(height, width, self.window_size, shift).to(x.device)
# by:      if not hasattr(self, "kept"):
#              self.kept = shifted_window_mask(height, width, self.window_size, shift)
#          mask = self.kept


# %% wrong SwinBlock masks_kept_by_the_number_of_windows of="solution"
# You keep the mask of an earlier map with as many windows: its height and width may be others.
# replace: mask = shifted_window_mask(height, width, self.window_size, shift).to(x.device)
# by:      count = height * width // self.window_size**2
#          if not hasattr(self, "kept") or len(self.kept) != count:
#              self.kept = shifted_window_mask(height, width, self.window_size, shift)
#          mask = self.kept


# %% wrong SwinBlock post_norm of="solution"
# You normalise after the sum, as in post-norm: normalise what enters each branch.
# replace: self.norm1(x).roll
# by:      x.roll
# replace: x = x + attended.roll((shift, shift), (1, 2))
# by:      x = self.norm1(x + attended.roll((shift, shift), (1, 2)))
# replace: return x + self.linear2(F.gelu(self.linear1(self.norm2(x))))
# by:      return self.norm2(x + self.linear2(F.gelu(self.linear1(x))))


# %% wrong SwinBlock post_norm_of_attention of="solution"
# You normalise after the attention, as in post-norm: normalise what enters its branch.
# replace: self.norm1(x).roll
# by:      x.roll
# replace: x = x + attended.roll((shift, shift), (1, 2))
# by:      x = self.norm1(x + attended.roll((shift, shift), (1, 2)))


# %% wrong SwinBlock norm1_left_out of="solution"
# You leave out norm1.
# replace: self.norm1(x).roll
# by:      x.roll


# %% wrong SwinBlock norm2_left_out of="solution"
# You leave out norm2.
# replace: self.linear1(self.norm2(x))
# by:      self.linear1(x)


# %% wrong SwinBlock norms_exchanged of="solution"
# You exchange the two norms.
# replace: self.norm1(x).roll
# by:      self.norm2(x).roll
# replace: self.linear1(self.norm2(x))
# by:      self.linear1(self.norm1(x))


# %% wrong SwinBlock norm1_twice of="solution"
# You use norm1 in both branches.
# replace: self.linear1(self.norm2(x))
# by:      self.linear1(self.norm1(x))


# %% wrong SwinBlock first_residual_left_out of="solution"
# You leave out the residual connection around attention.
# replace: x = x + attended.roll((shift, shift), (1, 2))
# by:      x = attended.roll((shift, shift), (1, 2))


# %% wrong SwinBlock second_residual_left_out of="solution"
# You leave out the residual connection around the feed-forward network.
# replace: return x + self.linear2
# by:      return self.linear2


# %% wrong SwinBlock normalised_residual of="solution"
# You add the branch to the normalised map: add it to x itself.
# replace: x = x + attended.roll((shift, shift), (1, 2))
# by:      x = self.norm1(x) + attended.roll((shift, shift), (1, 2))


# %% wrong SwinBlock second_normalised_residual of="solution"
# You add the feed-forward branch to the normalised map: add it to x itself.
# replace: return x + self.linear2(F.gelu(self.linear1(self.norm2(x))))
# by:      x = self.norm2(x)
#          return x + self.linear2(F.gelu(self.linear1(x)))


# %% wrong SwinBlock parallel_branches of="solution"
# Both branches start from the same x: the second one starts from the sum.
# replace: x = x + attended.roll((shift, shift), (1, 2))
# by:      before = x
#          x = x + attended.roll((shift, shift), (1, 2))
# replace: self.linear1(self.norm2(x))
# by:      self.linear1(self.norm2(before))


# %% wrong SwinBlock relu of="solution"
# You use ReLU: the docstring says GELU.
# replace: F.gelu(
# by:      F.relu(


# %% wrong SwinBlock approximate_gelu of="solution"
# You use the tanh approximation of GELU: the docstring says exact.
# replace: F.gelu(self.linear1(self.norm2(x)))
# by:      F.gelu(self.linear1(self.norm2(x)), approximate="tanh")


# %% wrong SwinBlock silu of="solution"
# You use SiLU: the docstring says GELU.
# replace: F.gelu(
# by:      F.silu(


# %% wrong SwinBlock no_nonlinearity of="solution"
# You leave out GELU: two linear layers in a row are one.
# replace: F.gelu(self.linear1(self.norm2(x)))
# by:      self.linear1(self.norm2(x))


# %% wrong SwinBlock gelu_at_the_end of="solution"
# You apply GELU after linear2: it stands between the two layers.
# replace: self.linear2(F.gelu(self.linear1(self.norm2(x))))
# by:      F.gelu(self.linear2(self.linear1(self.norm2(x))))


# %% wrong SwinBlock no_feed_forward of="solution"
# You leave out the feed-forward network.
# replace: return x + self.linear2(F.gelu(self.linear1(self.norm2(x))))
# by:      return x


# %% wrong SwinBlock feed_forward_first of="solution"
# Your feed-forward network comes before attention: attention comes first.
# replace: height, width = x.shape[1:3]
# by:      x = x + self.linear2(F.gelu(self.linear1(self.norm2(x))))
#          height, width = x.shape[1:3]
# replace: return x + self.linear2(F.gelu(self.linear1(self.norm2(x))))
# by:      return x


# %% wrong SwinBlock dropout of="solution"
# You drop numbers at random: there is no dropout here.
# replace: x = x + attended.roll((shift, shift), (1, 2))
# by:      x = x + F.dropout(attended, 0.1).roll((shift, shift), (1, 2))


# %% wrong SwinBlock changed_in_place of="solution"
# operations that end in _ (add_, masked_fill_), x[...] = y and x -= y write into the caller's
# tensor: make a new one
# replace: x = x + attended.roll((shift, shift), (1, 2))
# by:      x += attended.roll((shift, shift), (1, 2))


# %% wrong SwinBlock attended_twice of="solution"
# You apply attention twice.
# replace: attended, _ = self.attention(window_partition(rolled, self.window_size), mask)
# by:      attended, _ = self.attention(window_partition(rolled, self.window_size), mask)
#          attended, _ = self.attention(attended, mask)


# %% wrong SwinBlock detached_attention of="solution"
# No gradient flows through your attention: leave out detach.
# replace: x = x + attended.roll((shift, shift), (1, 2))
# by:      x = x + attended.detach().roll((shift, shift), (1, 2))


# %% wrong SwinBlock mask_inverted of="solution"
# You invert the mask: True means that a pair may attend.
# replace: attended, _ = self.attention(window_partition(rolled, self.window_size), mask)
# by:      mask = ~mask | torch.eye(self.window_size**2).bool()
#          attended, _ = self.attention(window_partition(rolled, self.window_size), mask)


# %% wrong SwinBlock first_windows_mask_for_all of="solution"
# Pixels of opposite borders attend to one another in your block: mask each window by its own
# mask.
# replace: attended, _ = self.attention(window_partition(rolled, self.window_size), mask)
# by:      mask = mask[:1].expand_as(mask)
#          attended, _ = self.attention(window_partition(rolled, self.window_size), mask)


# %% wrong SwinBlock last_windows_mask_for_all of="solution"
# You use the last window's mask for all windows.
# replace: attended, _ = self.attention(window_partition(rolled, self.window_size), mask)
# by:      mask = mask[-1:].expand_as(mask)
#          attended, _ = self.attention(window_partition(rolled, self.window_size), mask)


# %% wrong SwinBlock third_norm of="solution"
# leave out norm3.bias, norm3.weight: the docstring names every part
# replace: self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
# by:      self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
#          self.norm3 = nn.LayerNorm(d_model)
# replace: return x + self.linear2(F.gelu(self.linear1(self.norm2(x))))
# by:      return self.norm3(x + self.linear2(F.gelu(self.linear1(self.norm2(x)))))


# %% wrong SwinBlock shared_norm of="solution"
# Both branches share one norm: each has its own.
# replace: self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
# by:      self.norm1 = self.norm2 = nn.LayerNorm(d_model)


# %% wrong SwinBlock linear_without_bias of="solution"
# the parameters are not the ones the docstring names
# replace: nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
# by:      nn.Linear(d_model, d_ff, bias=False), nn.Linear(d_ff, d_model)


# %% wrong SwinBlock d_ff_ignored of="solution"
# the parameters are not the ones the docstring names
# replace: self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
# by:      self.linear1 = nn.Linear(d_model, 4 * d_model)
#          self.linear2 = nn.Linear(4 * d_model, d_model)


# %% wrong SwinBlock other_epsilon of="solution"
# Your norms have an epsilon of 1e-2: leave nn.LayerNorm as it is.
# replace: nn.LayerNorm(d_model), nn.LayerNorm(d_model)
# by:      nn.LayerNorm(d_model, eps=1e-2), nn.LayerNorm(d_model, eps=1e-2)


# %% wrong SwinBlock flattened of="solution"
# You return a list of pixels: the output has the shape of x.
# replace: return x + self.linear2(F.gelu(self.linear1(self.norm2(x))))
# by:      return (x + self.linear2(F.gelu(self.linear1(self.norm2(x))))).flatten(1, 2)


# %% right SwinBlock without_a_mask_when_unshifted of="solution"
# replace: mask = shifted_window_mask(height, width, self.window_size, shift).to(x.device)
#          rolled = self.norm1(x).roll((-shift, -shift), (1, 2))
#          attended, _ = self.attention(window_partition(rolled, self.window_size), mask)
#          attended = window_reverse(attended, self.window_size, height, width)
#          x = x + attended.roll((shift, shift), (1, 2))
# by:      branch, mask = self.norm1(x), None
#          if shift > 0:
#              branch = torch.roll(branch, shifts=(-shift, -shift), dims=(1, 2))
#              mask = shifted_window_mask(height, width, self.window_size, shift)
#          windows = window_partition(branch, self.window_size)
#          branch, _ = self.attention(windows, mask)
#          branch = window_reverse(branch, self.window_size, height, width)
#          if shift > 0:
#              branch = torch.roll(branch, shifts=(shift, shift), dims=(1, 2))
#          x = x + branch


# %% right SwinBlock norm_after_rolling of="solution"
# replace: rolled = self.norm1(x).roll((-shift, -shift), (1, 2))
# by:      rolled = self.norm1(x.roll((-shift, -shift), (1, 2)))


# %% right SwinBlock rolled_sum of="solution"
# replace: x = x + attended.roll((shift, shift), (1, 2))
# by:      x = (x.roll((-shift, -shift), (1, 2)) + attended).roll((shift, shift), (1, 2))


# %% right SwinBlock everything_rolled of="solution"
# replace: x = x + attended.roll((shift, shift), (1, 2))
#          return x + self.linear2(F.gelu(self.linear1(self.norm2(x))))
# by:      x = x.roll((-shift, -shift), (1, 2)) + attended
#          x = x + self.linear2(F.gelu(self.linear1(self.norm2(x))))
#          return x.roll((shift, shift), (1, 2))


# %% right SwinBlock smaller_side of="solution"
# replace: shift = 0 if height == width == self.window_size else self.shift
# by:      shift = self.shift if min(height, width) > self.window_size else 0


# %% right SwinBlock rolled_by_cat of="solution"
# replace: rolled = self.norm1(x).roll((-shift, -shift), (1, 2))
# by:      rolled = torch.cat([x[:, shift:], x[:, :shift]], 1)
#          rolled = self.norm1(torch.cat([rolled[:, :, shift:], rolled[:, :, :shift]], 2))


# %% right SwinBlock masks_kept_by_size of="solution"
# replace: mask = shifted_window_mask(height, width, self.window_size, shift).to(x.device)
# by:      self.masks = getattr(self, "masks", {})
#          if (height, width) not in self.masks:
#              size = height, width, self.window_size, shift
#              self.masks[height, width] = shifted_window_mask(*size)
#          mask = self.masks[height, width]


# %% right SwinBlock gelu_by_hand of="solution"
# replace: return x + self.linear2(F.gelu(self.linear1(self.norm2(x))))
# by:      z = self.linear1(self.norm2(x))
#          return x + self.linear2(z * (1 + torch.erf(z / math.sqrt(2))) / 2)


# %% right SwinBlock gelu_as_a_layer of="solution"
# replace: self.attention = WindowAttention(d_model, num_heads, window_size)
# by:      self.attention = WindowAttention(d_model, num_heads, window_size)
#          self.gelu = nn.GELU()
# replace: F.gelu(
# by:      self.gelu(


# %% wrong PatchMerging row_by_row of="solution"
# You join the pixels row by row: (0, 0), (1, 0), (0, 1), (1, 1) goes down the first column, then
# the second.
# replace: squares = [x[:, row::2, column::2] for column in (0, 1) for row in (0, 1)]
# by:      squares = [x[:, row::2, column::2] for row in (0, 1) for column in (0, 1)]


# %% wrong PatchMerging around_the_square of="solution"
# You go around the square: (0, 0), (1, 0), (0, 1), (1, 1) goes down the first column, then the
# second.
# replace: squares = [x[:, row::2, column::2] for column in (0, 1) for row in (0, 1)]
# by:      squares = [x[:, row::2, column::2] for row, column in ((0, 0), (1, 0), (1, 1), (0, 1))]


# %% wrong PatchMerging other_way_around of="solution"
# You go around the square: (0, 0), (1, 0), (0, 1), (1, 1) goes down the first column, then the
# second.
# replace: squares = [x[:, row::2, column::2] for column in (0, 1) for row in (0, 1)]
# by:      squares = [x[:, row::2, column::2] for row, column in ((0, 0), (0, 1), (1, 1), (1, 0))]


# %% wrong PatchMerging backwards of="solution"
# You join the pixels backwards.
# replace: squares = [x[:, row::2, column::2] for column in (0, 1) for row in (0, 1)]
# by:      squares = [x[:, row::2, column::2] for column in (1, 0) for row in (1, 0)]


# %% wrong PatchMerging second_column_first of="solution"
# You begin with the second column.
# replace: squares = [x[:, row::2, column::2] for column in (0, 1) for row in (0, 1)]
# by:      squares = [x[:, row::2, column::2] for column in (1, 0) for row in (0, 1)]


# %% wrong PatchMerging lower_row_first of="solution"
# You begin with the lower row.
# replace: squares = [x[:, row::2, column::2] for column in (0, 1) for row in (0, 1)]
# by:      squares = [x[:, row::2, column::2] for column in (0, 1) for row in (1, 0)]


# %% wrong PatchMerging averaged of="solution"
# You average the four pixels: join them.
# replace: return self.reduction(self.norm(torch.cat(squares, -1)))
# by:      return self.reduction(self.norm(torch.stack(squares).mean(0).repeat(1, 1, 1, 4)))


# %% wrong PatchMerging first_pixel_only of="solution"
# You take the first pixel of each square only: join all four.
# replace: return self.reduction(self.norm(torch.cat(squares, -1)))
# by:      return self.reduction(self.norm(squares[0].repeat(1, 1, 1, 4)))


# %% wrong PatchMerging largest_of_four of="solution"
# You take the largest of the four pixels: join them.
# replace: return self.reduction(self.norm(torch.cat(squares, -1)))
# by:      return self.reduction(self.norm(torch.stack(squares).amax(0).repeat(1, 1, 1, 4)))


# %% wrong PatchMerging quarters_of_the_map of="solution"
# You join the four quarters of the map: join the pixels of each square of 2 × 2.
# replace: squares = [x[:, row::2, column::2] for column in (0, 1) for row in (0, 1)]
# by:      half, wide = x.shape[1] // 2, x.shape[2] // 2
#          left, right = x[:, :, :wide], x[:, :, wide:]
#          squares = [left[:, :half], left[:, half:], right[:, :half], right[:, half:]]


# %% wrong PatchMerging channel_by_channel of="solution"
# You join channel by channel: all channels of pixel (0, 0) come first, then those of (1, 0).
# replace: torch.cat(squares, -1)
# by:      torch.stack(squares, -1).flatten(-2)


# %% wrong PatchMerging reshaped of="solution"
# You only reshape: four neighbours in memory are no square.
# replace: squares = [x[:, row::2, column::2] for column in (0, 1) for row in (0, 1)]
#          return self.reduction(self.norm(torch.cat(squares, -1)))
# by:      batch, height, width, channels = x.shape
#          joined = x.reshape(batch, height // 2, width // 2, 4 * channels)
#          return self.reduction(self.norm(joined))


# %% wrong PatchMerging no_norm of="solution"
# You leave out the norm.
# replace: self.norm(torch.cat(squares, -1))
# by:      torch.cat(squares, -1)


# %% wrong PatchMerging normalised_pixel_by_pixel of="solution"
# You normalise each pixel by itself: normalise the four together.
# replace: return self.reduction(self.norm(torch.cat(squares, -1)))
# by:      squares = [F.layer_norm(part, part.shape[-1:]) for part in squares]
#          return self.reduction(self.norm(torch.cat(squares, -1)))


# %% wrong PatchMerging norm_of_the_whole_map of="solution"
# You normalise over the whole map: normalise each joined vector.
# replace: return self.reduction(self.norm(torch.cat(squares, -1)))
# by:      joined = torch.cat(squares, -1)
#          normal = F.layer_norm(joined, joined.shape[1:])
#          return self.reduction(normal * self.norm.weight + self.norm.bias)


# %% wrong PatchMerging norm_after_the_reduction of="solution"
# the parameters are not the ones the docstring names
# replace: self.norm = nn.LayerNorm(4 * d_model)
# by:      self.norm = nn.LayerNorm(2 * d_model)
# replace: return self.reduction(self.norm(torch.cat(squares, -1)))
# by:      return self.norm(self.reduction(torch.cat(squares, -1)))


# %% wrong PatchMerging with_a_bias of="solution"
# pass bias=False to each layer
# replace: nn.Linear(4 * d_model, 2 * d_model, bias=False)
# by:      nn.Linear(4 * d_model, 2 * d_model)


# %% wrong PatchMerging four_times_the_channels of="solution"
# the parameters are not the ones the docstring names
# replace: nn.Linear(4 * d_model, 2 * d_model, bias=False)
# by:      nn.Linear(4 * d_model, 4 * d_model, bias=False)


# %% wrong PatchMerging channels_kept of="solution"
# the parameters are not the ones the docstring names
# replace: nn.Linear(4 * d_model, 2 * d_model, bias=False)
# by:      nn.Linear(4 * d_model, d_model, bias=False)


# %% wrong PatchMerging norm_without_parameters of="solution"
# the parameters are not the ones the docstring names
# replace: nn.LayerNorm(4 * d_model)
# by:      nn.LayerNorm(4 * d_model, elementwise_affine=False)


# %% wrong PatchMerging weight_and_bias_unused of="solution"
# You normalise without the weight and the bias of norm: call norm itself.
# replace: return self.reduction(self.norm(torch.cat(squares, -1)))
# by:      joined = torch.cat(squares, -1)
#          return self.reduction(F.layer_norm(joined, joined.shape[-1:]))


# %% wrong PatchMerging bias_unused of="solution"
# You leave out the bias of norm: call norm itself.
# replace: return self.reduction(self.norm(torch.cat(squares, -1)))
# by:      joined = torch.cat(squares, -1)
#          return self.reduction(F.layer_norm(joined, joined.shape[-1:], self.norm.weight))


# %% wrong PatchMerging flattened of="solution"
# You return a list of pixels: the map keeps its height and its width.
# replace: return self.reduction(self.norm(torch.cat(squares, -1)))
# by:      return self.reduction(self.norm(torch.cat(squares, -1))).flatten(1, 2)


# %% wrong PatchMerging map_transposed of="solution"
# You exchange height and width.
# replace: return self.reduction(self.norm(torch.cat(squares, -1)))
# by:      return self.reduction(self.norm(torch.cat(squares, -1))).transpose(1, 2)


# %% wrong PatchMerging nonlinear of="solution"
# You apply GELU: merging is a norm and a linear layer.
# replace: return self.reduction(self.norm(torch.cat(squares, -1)))
# by:      return F.gelu(self.reduction(self.norm(torch.cat(squares, -1))))


# %% wrong PatchMerging detached of="solution"
# no gradient flows through the result
# replace: return self.reduction(self.norm(torch.cat(squares, -1)))
# by:      return self.reduction(self.norm(torch.cat(squares, -1))).detach()


# %% wrong PatchMerging other_epsilon of="solution"
# Your norm has an epsilon of 0.1: leave nn.LayerNorm as it is.
# replace: nn.LayerNorm(4 * d_model)
# by:      nn.LayerNorm(4 * d_model, eps=0.1)


# %% wrong PatchMerging odd_sides_cropped of="solution"
# You drop the last row or column of an odd side: raise a ValueError.
# replace: for side in x.shape[1:3]:
#              if side % 2:
#                  raise ValueError(f"a side of {side} cannot be halved")
#
# by:      x = x[:, : x.shape[1] // 2 * 2, : x.shape[2] // 2 * 2]
#


# %% wrong PatchMerging odd_sides_padded of="solution"
# You pad an odd side, as the published code does: raise a ValueError.
# replace: for side in x.shape[1:3]:
#              if side % 2:
#                  raise ValueError(f"a side of {side} cannot be halved")
#
# by:      x = F.pad(x, (0, 0, 0, x.shape[2] % 2, 0, x.shape[1] % 2))
#


# %% wrong PatchMerging left_to_cat of="solution"
# You leave the refusal to torch.cat: raise a ValueError that names the side.
# replace: for side in x.shape[1:3]:
#              if side % 2:
#                  raise ValueError(f"a side of {side} cannot be halved")
# by:


# %% wrong PatchMerging height_only of="solution"
# A map of 6 by 7 should be refused: each side must be even by itself.
# replace: for side in x.shape[1:3]:
# by:      for side in x.shape[1:2]:


# %% wrong PatchMerging width_only of="solution"
# You examine the width only.
# replace: for side in x.shape[1:3]:
# by:      for side in x.shape[2:3]:


# %% wrong PatchMerging area_examined of="solution"
# A map of 6 by 7 should be refused: each side must be even by itself.
# replace: if side % 2:
# by:      if x.shape[1] * x.shape[2] % 2:


# %% wrong PatchMerging side_not_named of="solution"
# Your message does not name the side.
# replace: f"a side of {side} cannot be halved"
# by:      "an odd side cannot be halved"


# %% wrong PatchMerging asserted of="solution"
# You assert: raise a ValueError.
# replace: if side % 2:
#              raise ValueError(f"a side of {side} cannot be halved")
# by:      assert side % 2 == 0, f"a side of {side} cannot be halved"


# %% wrong PatchMerging multiples_of_four of="solution"
# You refuse sides that are even, but no multiple of 4.
# replace: if side % 2:
# by:      if side % 4:


# %% right PatchMerging four_slices of="solution"
# replace: squares = [x[:, row::2, column::2] for column in (0, 1) for row in (0, 1)]
#          return self.reduction(self.norm(torch.cat(squares, -1)))
# by:      upper, lower = x[:, 0::2], x[:, 1::2]
#          pairs = [upper[:, :, 0::2], lower[:, :, 0::2], upper[:, :, 1::2], lower[:, :, 1::2]]
#          return self.reduction(self.norm(torch.cat(pairs, dim=-1)))


# %% right PatchMerging by_permuting of="solution"
# replace: squares = [x[:, row::2, column::2] for column in (0, 1) for row in (0, 1)]
#          return self.reduction(self.norm(torch.cat(squares, -1)))
# by:      batch, height, width, channels = x.shape
#          cut = x.reshape(batch, height // 2, 2, width // 2, 2, channels)
#          return self.reduction(self.norm(cut.permute(0, 1, 3, 4, 2, 5).flatten(3)))


# %% right PatchMerging by_windows of="solution"
# replace: squares = [x[:, row::2, column::2] for column in (0, 1) for row in (0, 1)]
#          return self.reduction(self.norm(torch.cat(squares, -1)))
# by:      height, width = x.shape[1:3]
#          pixels = window_partition(x, 2)[:, :, [0, 2, 1, 3]].flatten(2)
#          merged = self.reduction(self.norm(pixels))
#          return merged.unflatten(1, (height // 2, width // 2))


# %% right PatchMerging by_unshuffling of="solution"
# replace: squares = [x[:, row::2, column::2] for column in (0, 1) for row in (0, 1)]
#          return self.reduction(self.norm(torch.cat(squares, -1)))
# by:      apart = F.pixel_unshuffle(x.permute(0, 3, 1, 2), 2)  # channel, row, column
#          apart = apart.unflatten(1, (-1, 2, 2)).permute(0, 4, 5, 3, 2, 1).flatten(3)
#          return self.reduction(self.norm(apart))


# %% right PatchMerging both_sides_at_once of="solution"
# replace: for side in x.shape[1:3]:
#              if side % 2:
#                  raise ValueError(f"a side of {side} cannot be halved")
#
# by:      height, width = x.shape[1:3]
#          if height % 2 or width % 2:
#              raise ValueError(f"a map of {height} by {width} has an odd side")
#


# %% right PatchMerging by_stack of="solution"
# replace: return self.reduction(self.norm(torch.cat(squares, -1)))
# by:      joined = torch.stack(squares, 3).flatten(3)
#          return self.reduction(self.norm(joined))


# %% wrong Swin never_shifted of="solution"
# You never shift: every second block of a stage has the shift window_size // 2.
# replace: shifts = [window_size // 2 * (j % 2) for j in range(depth)]
# by:      shifts = [0 for _ in range(depth)]


# %% wrong Swin always_shifted of="solution"
# You shift every block: 0 and window_size // 2 come in turn.
# replace: shifts = [window_size // 2 * (j % 2) for j in range(depth)]
# by:      shifts = [window_size // 2 for _ in range(depth)]


# %% wrong Swin shifted_first of="solution"
# You shift the first block of a stage: begin with 0.
# replace: shifts = [window_size // 2 * (j % 2) for j in range(depth)]
# by:      shifts = [window_size // 2 * (1 - j % 2) for j in range(depth)]


# %% wrong Swin shifts_count_on of="solution"
# Your shifts go on counting from stage to stage: they begin with 0 in each.
# replace: shifts = [window_size // 2 * (j % 2) for j in range(depth)]
# by:      before = sum(depths[:i])
#          shifts = [window_size // 2 * ((before + j) % 2) for j in range(depth)]


# %% wrong Swin stages_in_turn of="solution"
# You shift every second stage: shift every second block of each stage.
# replace: shifts = [window_size // 2 * (j % 2) for j in range(depth)]
# by:      shifts = [window_size // 2 * (i % 2) for _ in range(depth)]


# %% wrong Swin shifted_by_one of="solution"
# You shift by 1: shift by window_size // 2.
# replace: shifts = [window_size // 2 * (j % 2) for j in range(depth)]
# by:      shifts = [j % 2 for j in range(depth)]


# %% wrong Swin growing_shifts of="solution"
# Your shifts grow with the block: they are 0 and window_size // 2 in turn.
# replace: shifts = [window_size // 2 * (j % 2) for j in range(depth)]
# by:      shifts = [j % window_size for j in range(depth)]


# %% wrong Swin only_the_second_block of="solution"
# You shift the second block only: every second one is shifted.
# replace: shifts = [window_size // 2 * (j % 2) for j in range(depth)]
# by:      shifts = [window_size // 2 * (j == 1) for j in range(depth)]


# %% wrong Swin all_but_the_first of="solution"
# You shift all blocks but the first: 0 and window_size // 2 come in turn.
# replace: shifts = [window_size // 2 * (j % 2) for j in range(depth)]
# by:      shifts = [window_size // 2 * (j > 0) for j in range(depth)]


# %% wrong Swin rounded_up of="solution"
# You round half a window up: the shift is window_size // 2.
# replace: shifts = [window_size // 2 * (j % 2) for j in range(depth)]
# by:      shifts = [(window_size + 1) // 2 * (j % 2) for j in range(depth)]


# %% wrong Swin heads_stay of="solution"
# the parameters are not the ones the docstring names
# replace: heads = num_heads * 2**i
# by:      heads = num_heads


# %% wrong Swin heads_grow_by_one_number of="solution"
# Your heads grow by num_heads from stage to stage: they double.
# replace: heads = num_heads * 2**i
# by:      heads = num_heads * (i + 1)


# %% wrong Swin width_stays of="solution"
# the parameters are not the ones the docstring names
# replace: widths = [d_model * 2**i for
# by:      widths = [d_model for


# %% wrong Swin width_quadruples of="solution"
# the parameters are not the ones the docstring names
# replace: widths = [d_model * 2**i for
# by:      widths = [d_model * 4**i for


# %% wrong Swin d_ff_of_the_first_stage of="solution"
# the parameters are not the ones the docstring names
# replace: shift, 4 * width)
# by:      shift, 4 * d_model)


# %% wrong Swin d_ff_twice of="solution"
# the parameters are not the ones the docstring names
# replace: shift, 4 * width)
# by:      shift, 2 * width)


# %% wrong Swin one_block_repeated of="solution"
# You repeat one block: each has its own weights.
# replace: blocks = (SwinBlock(width, heads, window_size, shift, 4 * width) for shift in shifts)
# by:      block = SwinBlock(width, heads, window_size, 0, 4 * width)
#          blocks = [block for _ in shifts]


# %% wrong Swin merged_after_every_stage of="solution"
# the parameters are not the ones the docstring names
# replace: for width in widths[:-1])
# by:      for width in widths)
# replace: self.norm, self.head = nn.LayerNorm(widths[-1]), nn.Linear(widths[-1], num_classes)
# by:      last = 2 * widths[-1]
#          self.norm, self.head = nn.LayerNorm(last), nn.Linear(last, num_classes)
# replace: x = self.stages[0](x)
#          for merge, stage in zip(self.merges, self.stages[1:], strict=True):
#              x = stage(merge(x))
# by:      for merge, stage in zip(self.merges, self.stages, strict=True):
#              x = merge(stage(x))


# %% wrong Swin merges_not_used of="solution"
# You never merge in forward.
# replace: x = self.stages[0](x)
#          for merge, stage in zip(self.merges, self.stages[1:], strict=True):
#              x = stage(merge(x))
# by:      x = self.stages[0](x)


# %% wrong Swin last_stage_left_out of="solution"
# You leave out the last stage.
# replace: x = self.stages[0](x)
#          for merge, stage in zip(self.merges, self.stages[1:], strict=True):
#              x = stage(merge(x))
# by:      x = self.stages[0](x)
#          for merge, stage in zip(self.merges, self.stages[1:], strict=True):
#              x = merge(x) if stage is self.stages[-1] else stage(merge(x))


# %% wrong Swin no_patch_norm of="solution"
# You leave out patch_norm.
# replace: self.patch_norm(self.projection(cut_into_patches(images, self.patch_size)))
# by:      self.projection(cut_into_patches(images, self.patch_size))


# %% wrong Swin no_norm of="solution"
# You leave out the final norm.
# replace: self.norm(x).mean((1, 2))
# by:      x.mean((1, 2))


# %% wrong Swin norm_after_the_mean of="solution"
# You normalise the mean: normalise each pixel first, then take the mean.
# replace: self.norm(x).mean((1, 2))
# by:      self.norm(x.mean((1, 2)))


# %% wrong Swin first_pixel of="solution"
# You take the first pixel: take the mean over all.
# replace: self.norm(x).mean((1, 2))
# by:      self.norm(x)[:, 0, 0]


# %% wrong Swin last_pixel of="solution"
# You take the last pixel: take the mean over all.
# replace: self.norm(x).mean((1, 2))
# by:      self.norm(x)[:, -1, -1]


# %% wrong Swin summed of="solution"
# You take the sum over the pixels: take the mean.
# replace: self.norm(x).mean((1, 2))
# by:      self.norm(x).sum((1, 2))


# %% wrong Swin largest of="solution"
# You take the maximum over the pixels: take the mean.
# replace: self.norm(x).mean((1, 2))
# by:      self.norm(x).amax((1, 2))


# %% wrong Swin mean_over_rows of="solution"
# You average the rows only, and take the first column: take the mean over both.
# replace: self.norm(x).mean((1, 2))
# by:      self.norm(x).mean(1)[:, 0]


# %% wrong Swin mean_over_columns of="solution"
# You average the columns only, and take the first row: take the mean over both.
# replace: self.norm(x).mean((1, 2))
# by:      self.norm(x).mean(2)[:, 0]


# %% wrong Swin no_mean of="solution"
# You return logits for every pixel: take the mean over the map.
# replace: self.norm(x).mean((1, 2))
# by:      self.norm(x)


# %% wrong Swin no_head of="solution"
# You leave out the head.
# replace: return self.head(self.norm(x).mean((1, 2)))
# by:      return self.norm(x).mean((1, 2))


# %% wrong Swin probabilities of="solution"
# You return probabilities: return logits.
# replace: return self.head(self.norm(x).mean((1, 2)))
# by:      return self.head(self.norm(x).mean((1, 2))).softmax(-1)


# %% wrong Swin log_probabilities of="solution"
# You return log probabilities: return logits.
# replace: return self.head(self.norm(x).mean((1, 2)))
# by:      return self.head(self.norm(x).mean((1, 2))).log_softmax(-1)


# %% wrong Swin channel_last_in_a_patch of="solution"
# Inside a patch, you put the channels last: they come first, as in lesson 8.
# replace: x = self.patch_norm(self.projection(cut_into_patches(images, self.patch_size)))
# by:      patches = cut_into_patches(images, self.patch_size).unflatten(-1, (images.shape[1], -1))
#          x = self.patch_norm(self.projection(patches.transpose(-2, -1).flatten(-2)))


# %% wrong Swin patch_columns_first of="solution"
# Inside a patch, you go column by column: each channel comes row by row.
# replace: x = self.patch_norm(self.projection(cut_into_patches(images, self.patch_size)))
# by:      patches = cut_into_patches(images, self.patch_size)
#          patches = patches.unflatten(-1, (-1, self.patch_size, self.patch_size))
#          x = self.patch_norm(self.projection(patches.transpose(-2, -1).flatten(-3)))


# %% wrong Swin map_transposed of="solution"
# You exchange height and width of the map.
# replace: x = self.patch_norm(self.projection(cut_into_patches(images, self.patch_size)))
# by:      x = self.patch_norm(self.projection(cut_into_patches(images, self.patch_size)))
#          x = x.transpose(1, 2)


# %% wrong Swin relu_after_the_projection of="solution"
# You apply a ReLU to the patches: they go through the projection and the norm only.
# replace: x = self.patch_norm(self.projection(cut_into_patches(images, self.patch_size)))
# by:      x = self.patch_norm(self.projection(cut_into_patches(images, self.patch_size))).relu()


# %% wrong Swin norm_before_the_projection of="solution"
# the parameters are not the ones the docstring names
# replace: nn.LayerNorm(d_model)
#
# by:      nn.LayerNorm(channels * patch_size**2)
#
# replace: self.patch_norm(self.projection(cut_into_patches(images, self.patch_size)))
# by:      self.projection(self.patch_norm(cut_into_patches(images, self.patch_size)))


# %% wrong Swin no_bias_in_the_head of="solution"
# the parameters are not the ones the docstring names
# replace: self.norm, self.head = nn.LayerNorm(widths[-1]), nn.Linear(widths[-1], num_classes)
# by:      self.norm = nn.LayerNorm(widths[-1])
#          self.head = nn.Linear(widths[-1], num_classes, bias=False)


# %% wrong Swin no_bias_in_the_projection of="solution"
# the parameters are not the ones the docstring names
# replace: nn.Linear(channels * patch_size**2, d_model)
# by:      nn.Linear(channels * patch_size**2, d_model, bias=False)


# %% wrong Swin absolute_positions of="solution"
# leave out positions: the docstring names every part
# replace: self.patch_size = patch_size
# by:      self.patch_size = patch_size
#          self.positions = nn.Parameter(torch.zeros(d_model))
# replace: x = self.patch_norm(self.projection(cut_into_patches(images, self.patch_size)))
# by:      x = self.patch_norm(self.projection(cut_into_patches(images, self.patch_size)))
#          x = x + self.positions


# %% wrong Swin dropout of="solution"
# You drop numbers at random: there is no dropout here.
# replace: self.norm(x).mean((1, 2))
# by:      F.dropout(self.norm(x).mean((1, 2)), 0.1)


# %% wrong Swin last_depth_missing of="solution"
# the parameters are not the ones the docstring names
# replace: for j in range(depth)]
# by:      for j in range(max(1, depth - 1))]


# %% wrong Swin images_padded of="solution"
# You pad images that do not fit: the parts raise a ValueError.
# replace: x = self.patch_norm(self.projection(cut_into_patches(images, self.patch_size)))
# by:      fit = self.patch_size * 4 * 2 ** len(self.merges)
#          images = F.pad(images, (0, -images.shape[3] % fit, 0, -images.shape[2] % fit))
#          x = self.patch_norm(self.projection(cut_into_patches(images, self.patch_size)))


# %% wrong Swin error_swallowed of="solution"
# You catch the error of a part: let it pass.
# replace: x = self.stages[0](x)
#          for merge, stage in zip(self.merges, self.stages[1:], strict=True):
#              x = stage(merge(x))
# by:      try:
#              x = self.stages[0](x)
#              for merge, stage in zip(self.merges, self.stages[1:], strict=True):
#                  x = stage(merge(x))
#          except ValueError:
#              x = x.new_zeros(len(x), 1, 1, self.head.in_features)


# %% wrong Swin residual_around_the_stages of="solution"
# You add a residual connection around each stage: the blocks have theirs.
# replace: x = self.stages[0](x)
#          for merge, stage in zip(self.merges, self.stages[1:], strict=True):
#              x = stage(merge(x))
# by:      x = x + self.stages[0](x)
#          for merge, stage in zip(self.merges, self.stages[1:], strict=True):
#              x = merge(x)
#              x = x + stage(x)


# %% wrong Swin blocks_backwards of="solution"
# You apply the blocks of a stage in reversed order.
# replace: x = self.stages[0](x)
#          for merge, stage in zip(self.merges, self.stages[1:], strict=True):
#              x = stage(merge(x))
# by:      for i, stage in enumerate(self.stages):
#              x = self.merges[i - 1](x) if i else x
#              for block in reversed(stage):
#                  x = block(x)


# %% wrong Swin norm_twice of="solution"
# You apply the final norm twice.
# replace: self.norm(x).mean((1, 2))
# by:      self.norm(self.norm(x)).mean((1, 2))


# %% wrong Swin gelu_before_the_head of="solution"
# You apply GELU before the head: it reads the mean.
# replace: self.norm(x).mean((1, 2))
# by:      F.gelu(self.norm(x).mean((1, 2)))


# %% wrong Swin norm_after_every_stage of="solution"
# You apply patch_norm after the stages of the first width, too.
# replace: x = self.stages[0](x)
# by:      x = self.patch_norm(self.stages[0](x))


# %% right Swin lists_of_blocks of="solution"
# replace: self.stages.append(nn.Sequential(*blocks))
# by:      self.stages.append(nn.ModuleList(blocks))
# replace: x = self.stages[0](x)
#          for merge, stage in zip(self.merges, self.stages[1:], strict=True):
#              x = stage(merge(x))
# by:      for i, stage in enumerate(self.stages):
#              if i:
#                  x = self.merges[i - 1](x)
#              for block in stage:
#                  x = block(x)


# %% right Swin by_convolution of="solution"
# replace: x = self.patch_norm(self.projection(cut_into_patches(images, self.patch_size)))
# by:      shape = (-1, images.shape[1], self.patch_size, self.patch_size)
#          if images.shape[2] % self.patch_size or images.shape[3] % self.patch_size:
#              raise ValueError(f"{images.shape} {self.patch_size}")
#          kernels = self.projection.weight.reshape(shape)
#          maps = F.conv2d(images, kernels, self.projection.bias, stride=self.patch_size)
#          x = self.patch_norm(maps.permute(0, 2, 3, 1))


# %% right Swin flattened_mean of="solution"
# replace: return self.head(self.norm(x).mean((1, 2)))
# by:      return self.head(self.norm(x).flatten(1, 2).mean(dim=1))


# %% right Swin mean_of_the_logits of="solution"
# replace: return self.head(self.norm(x).mean((1, 2)))
# by:      return self.head(self.norm(x)).mean((1, 2))


# %% right Swin widths_listed of="solution"
# replace: for i, (width, depth) in enumerate(zip(widths, depths, strict=True)):
#              shifts = [window_size // 2 * (j % 2) for j in range(depth)]
#              heads = num_heads * 2**i
#              blocks = (SwinBlock(width, heads, window_size, shift, 4 * width) for shift in shifts)
#              self.stages.append(nn.Sequential(*blocks))
#          self.merges = nn.ModuleList(PatchMerging(width) for width in widths[:-1])
#          self.norm, self.head = nn.LayerNorm(widths[-1]), nn.Linear(widths[-1], num_classes)
# by:      for i, depth in enumerate(depths):
#              sizes = (widths[i], num_heads * 2**i, window_size)
#              halves = [0, window_size // 2] * depth
#              blocks = [SwinBlock(*sizes, s, 4 * widths[i]) for s in halves[:depth]]
#              self.stages.append(nn.ModuleList(blocks))
#          self.merges = nn.ModuleList([PatchMerging(width) for width in widths])[:-1]
#          self.norm = nn.LayerNorm(d_model * 2 ** (len(depths) - 1))
#          self.head = nn.Linear(d_model * 2 ** (len(depths) - 1), num_classes)
# replace: x = self.stages[0](x)
#          for merge, stage in zip(self.merges, self.stages[1:], strict=True):
#              x = stage(merge(x))
# by:      for i, stage in enumerate(self.stages):
#              for block in stage:
#                  x = block(x)
#              if i < len(self.merges):
#                  x = self.merges[i](x)


# %% right Swin patches_by_hand of="solution"
# replace: x = self.patch_norm(self.projection(cut_into_patches(images, self.patch_size)))
# by:      size = self.patch_size
#          if images.shape[2] % size or images.shape[3] % size:
#              raise ValueError(f"{images.shape} {size}")
#          cut = images.unflatten(3, (-1, size)).unflatten(2, (-1, size))
#          x = self.patch_norm(self.projection(cut.permute(0, 2, 4, 1, 3, 5).flatten(3)))


# %% wrong SwinBlock smaller_epsilon of="solution"
# Your norms have an epsilon of 1e-6: leave nn.LayerNorm as it is.
# replace: nn.LayerNorm(d_model), nn.LayerNorm(d_model)
# by:      nn.LayerNorm(d_model, eps=1e-6), nn.LayerNorm(d_model, eps=1e-6)


# %% wrong SwinBlock masked_on_square_maps_only of="solution"
# You mask square maps only.
# replace: attended, _ = self.attention(window_partition(rolled, self.window_size), mask)
# by:      if height != width:
#              mask = torch.ones_like(mask)
#          attended, _ = self.attention(window_partition(rolled, self.window_size), mask)


# %% wrong SwinBlock smaller_maps_only of="solution"
# You drop the shift only on maps smaller than a window: a map of one window has none either.
# replace: shift = 0 if height == width == self.window_size else self.shift
# by:      shift = self.shift if min(height, width) >= self.window_size else 0


# %% wrong WindowAttention exponentials_overflow of="solution"
# You take exponentials by hand: with large scores they overflow to NaN, so use softmax.
# replace: if mask is not None:
#              scores = scores.masked_fill(~mask[:, None], -math.inf)
#          weights = scores.softmax(-1)
# by:      powers = scores.exp()
#          if mask is not None:
#              powers = powers * mask[:, None]
#          weights = powers / powers.sum(-1, keepdim=True)


# %% wrong WindowAttention something_added_to_the_sum of="solution"
# You add a small number to the sum of the exponentials: the weights then do not sum to 1.
# replace: weights = scores.softmax(-1)
# by:      powers = (scores - scores.amax(-1, keepdim=True)).exp()
#          weights = powers / (powers.sum(-1, keepdim=True) + 1e-3)


# %% wrong WindowAttention mask_by_map of="solution"
# You repeat the mask for the batch in the wrong order: each map has all windows in turn.
# replace: scores = scores.masked_fill(~mask[:, None], -math.inf)
# by:      flat = scores.flatten(0, 1)
#          flat = flat.masked_fill(~mask.repeat_interleave(len(x), 0)[:, None], -math.inf)
#          scores = flat.reshape(scores.shape)


# %% right WindowAttention mask_repeated of="solution"
# replace: scores = scores.masked_fill(~mask[:, None], -math.inf)
# by:      flat = scores.flatten(0, 1)
#          flat = flat.masked_fill(~mask.repeat(len(x), 1, 1)[:, None], -math.inf)
#          scores = flat.reshape(scores.shape)


# %% wrong shifted_window_mask near_enough of="solution"
# You allow pairs that were less than M apart before the roll: their offset must be the same, and
# a wrap may leave them near.
# replace: return pieces[:, :, None] == pieces[:, None]
# by:      home = torch.cartesian_prod(torch.arange(height), torch.arange(width))
#          home = home.reshape(height, width, 2)
#          home = window_partition(home.roll((-shift, -shift), (0, 1))[None], window_size)[0]
#          return ((home[:, :, None] - home[:, None]).abs() < window_size).all(-1)


# %% wrong shifted_window_mask own_window_as_a_piece_too of="solution"
# You number three bands, but let the second begin half a window before the end.
# replace: wrapped_rows = torch.arange(height) >= height - shift
#          wrapped_columns = torch.arange(width) >= width - shift
# by:      wrapped_rows = torch.arange(height) >= height - (shift + 1) // 2
#          wrapped_columns = torch.arange(width) >= width - (shift + 1) // 2


# %% wrong tells_offsets_apart count_and_first_query of="solution"
# You count the numbers, and look at the first query: which pairs share one counts for all
# queries.
# replace: return len(both.unique(dim=0)) == len(mine.unique()) == len(index.unique())
# by:      return len(mine.unique()) == len(index.unique()) and len(index[0].unique()) == len(index)


# %% wrong tells_offsets_apart mirrored_pairs of="solution"
# You ask whether the same pairs are mirrored: that says nothing about different offsets.
# replace: return len(both.unique(dim=0)) == len(mine.unique()) == len(index.unique())
# by:      return torch.equal(mine == mine.T, index == index.T)


# %% wrong relative_position_index base_m_minus_one of="solution"
# Your rows count M − 1 times: they should count 2M − 1 times.
# replace: return down * (2 * window_size - 1) + right
# by:      return down * (window_size - 1) + right


# %% wrong relative_position_index rows_without_sign of="solution"
# You drop the sign of the rows' offset: above and below then share a number.
# replace: down = rows[:, None] - rows + window_size - 1
# by:      down = (rows[:, None] - rows).abs()
