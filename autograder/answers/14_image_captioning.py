# %% given imports
# pyright: reportRedeclaration=false, reportReturnType=false, reportUnusedExpression=false
# pyright: reportArgumentType=false, reportCallIssue=false, reportIndexIssue=false
# pyright: reportAttributeAccessIssue=false, reportIncompatibleVariableOverride=false
# pyright: reportOptionalMemberAccess=false, reportOperatorIssue=false
# pyright: reportGeneralTypeIssues=false, reportUndefinedVariable=false
# pyright: reportOptionalSubscript=false, reportPossiblyUnboundVariable=false
import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn


# %% base grid_to_sequence by_permute
def grid_to_sequence(features: Tensor) -> Tensor:
    batch, channels, height, width = features.shape
    moved = features.permute(0, 2, 3, 1)
    return moved.reshape(batch, height * width, channels)


# %% wrong grid_to_sequence reshape_alone of="solution"
# Your vectors mix cells: reshape and view keep the order in memory, in which the numbers of one
# channel are adjacent. Swap the axes with transpose or permute.
# replace: return features.flatten(2).transpose(1, 2)
# by:      batch, channels, height, width = features.shape
#          return features.reshape(batch, height * width, channels)

# %% wrong grid_to_sequence view_alone of="solution"
# Your vectors mix cells: reshape and view keep the order in memory, in which the numbers of one
# channel are adjacent. Swap the axes with transpose or permute.
# replace: return features.flatten(2).transpose(1, 2)
# by:      batch, channels, height, width = features.shape
#          return features.contiguous().view(batch, -1, channels)

# %% wrong grid_to_sequence column_by_column of="solution"
# Your cells come column by column: the docstring says row by row.
# replace: return features.flatten(2).transpose(1, 2)
# by:      return features.transpose(2, 3).flatten(2).transpose(1, 2)

# %% wrong grid_to_sequence column_by_column_permuted of="by_permute"
# Your cells come column by column: keep the rows in front of the columns.
# replace: features.permute(0, 2, 3, 1)
# by:      features.permute(0, 3, 2, 1)

# %% wrong grid_to_sequence channels_first of="solution"
# Your channels are still in front of the cells: swap the two axes.
# replace: return features.flatten(2).transpose(1, 2)
# by:      return features.flatten(2)

# %% wrong grid_to_sequence grid_kept of="by_permute"
# You keep the grid's two axes: join them into one axis of cells.
# replace: return moved.reshape(batch, height * width, channels)
# by:      return moved

# %% wrong grid_to_sequence all_flattened of="by_permute"
# You join all axes into one vector a scene: the channels keep an axis of their own.
# replace: return moved.reshape(batch, height * width, channels)
# by:      return moved.flatten(1)

# %% wrong grid_to_sequence batch_joined of="by_permute"
# You join the scenes of the batch: the batch keeps its axis.
# replace: return moved.reshape(batch, height * width, channels)
# by:      return moved.reshape(batch * height * width, channels)

# %% wrong grid_to_sequence batch_in_the_middle of="solution"
# The batch should stay the first axis: you put the cells first.
# replace: return features.flatten(2).transpose(1, 2)
# by:      return features.flatten(2).permute(2, 0, 1)

# %% wrong grid_to_sequence batch_mixed of="by_permute"
# Your scenes are mixed: the batch axis should stay in front when you move the channels.
# replace: moved = features.permute(0, 2, 3, 1)
# by:      moved = features.permute(2, 3, 0, 1)

# %% wrong grid_to_sequence from_below of="solution"
# Your first cell is the last one of the grid: begin with row 0, column 0.
# replace: return features.flatten(2).transpose(1, 2)
# by:      return features.flatten(2).transpose(1, 2).flip(1)

# %% wrong grid_to_sequence right_to_left of="solution"
# Each of your rows goes from right to left: begin with column 0.
# replace: return features.flatten(2).transpose(1, 2)
# by:      return features.flip(3).flatten(2).transpose(1, 2)

# %% wrong grid_to_sequence first_of_the_batch of="solution"
# You return the first scene of the batch alone, or drop an axis: keep (batch, cells, channels).
# replace: return features.flatten(2).transpose(1, 2)
# by:      return features[0].flatten(1).T

# %% wrong grid_to_sequence squeezed of="solution"
# You drop the batch axis where it is 1: keep (batch, cells, channels).
# replace: return features.flatten(2).transpose(1, 2)
# by:      return features.flatten(2).transpose(1, 2).squeeze(0)

# %% wrong grid_to_sequence rows_and_channels_swapped of="solution"
# Your vectors mix cells: you swap the channels with the rows alone, and reshape does the rest in
# the wrong order.
# replace: return features.flatten(2).transpose(1, 2)
# by:      batch, channels, height, width = features.shape
#          return features.transpose(1, 2).reshape(batch, height * width, channels)

# %% wrong grid_to_sequence averaged_over_rows of="solution"
# You average over the rows of the grid: each cell should keep its own vector.
# replace: return features.flatten(2).transpose(1, 2)
# by:      return features.mean(2).transpose(1, 2)

# %% wrong grid_to_sequence detached of="solution"
# no gradient flows through the result
# replace: return features.flatten(2).transpose(1, 2)
# by:      return features.detach().flatten(2).transpose(1, 2)

# %% wrong grid_to_sequence through_numpy of="solution"
# no gradient flows through the result
# replace: return features.flatten(2).transpose(1, 2)
# by:      return torch.from_numpy(features.detach().numpy()).flatten(2).transpose(1, 2)

# %% wrong grid_to_sequence float32 of="solution"
# something on the way has another dtype: .float(), a NumPy array, a tensor that you make
# replace: return features.flatten(2).transpose(1, 2)
# by:      return features.flatten(2).transpose(1, 2).float()

# %% wrong grid_to_sequence nothing_returned of="solution"
# does the last line say `return`?
# replace: return features.flatten(2).transpose(1, 2)
# by:      features.flatten(2).transpose(1, 2)

# %% wrong grid_to_sequence squares_only of="by_permute"
# Your grid must be square to fit: its height and width may differ.
# replace: return moved.reshape(batch, height * width, channels)
# by:      return moved.reshape(batch, height * height, channels)

# %% wrong grid_to_sequence negative_numbers_lost of="solution"
# You change the numbers: only their order should change.
# replace: return features.flatten(2).transpose(1, 2)
# by:      return features.flatten(2).transpose(1, 2).relu()

# %% right grid_to_sequence permuted of="by_permute"
# replace: moved.reshape(batch, height * width, channels)
# by:      moved.reshape(batch, -1, channels)

# %% right grid_to_sequence cell_by_cell of="solution"
# replace: return features.flatten(2).transpose(1, 2)
# by:      rows, columns = features.shape[2:]
#          spots = [(r, c) for r in range(rows) for c in range(columns)]
#          return torch.stack([features[:, :, r, c] for r, c in spots], dim=1)

# %% right grid_to_sequence einsum of="solution"
# replace: return features.flatten(2).transpose(1, 2)
# by:      return torch.einsum("bchw->bhwc", features).flatten(1, 2)

# %% right grid_to_sequence moved_axis of="solution"
# replace: return features.flatten(2).transpose(1, 2)
# by:      return features.movedim(1, -1).flatten(start_dim=1, end_dim=2)

# %% right grid_to_sequence batched_transpose of="solution"
# replace: return features.flatten(2).transpose(1, 2)
# by:      batch, channels = features.shape[:2]
#          return features.reshape(batch, channels, -1).mT.contiguous()


# %% base receptive_field backwards
def receptive_field(layers: Sequence[tuple[int, int, int]]) -> tuple[int, int, int]:
    low, high, following = 0, 0, 1
    for kernel, stride, padding in reversed(layers):
        low, high = low * stride - padding, high * stride - padding + kernel - 1
        following = following * stride - padding
    return high - low + 1, following - low, low


# %% wrong receptive_field own_stride_counted of="solution"
# You multiply by a layer's own stride before its kernel counts: its kernel sees cells of the layer
# before, which are only as far apart as the strides before it make them.
# replace: size += (kernel - 1) * stride
#          start -= padding * stride
#          stride *= step
# by:      stride *= step
#          size += (kernel - 1) * stride
#          start -= padding * stride

# %% wrong receptive_field own_stride_in_start of="solution"
# Your start multiplies a layer's padding by its own stride: padding is counted in cells of the
# layer before.
# replace: start -= padding * stride
#          stride *= step
# by:      stride *= step
#          start -= padding * stride

# %% wrong receptive_field own_stride_in_size of="solution"
# Your size multiplies a layer's kernel by its own stride: the kernel sees cells of the layer
# before.
# replace: size += (kernel - 1) * stride
#          start -= padding * stride
#          stride *= step
# by:      start -= padding * stride
#          stride *= step
#          size += (kernel - 1) * stride

# %% wrong receptive_field strides_ignored of="solution"
# Your size grows by kernel − 1 in each layer, as if all strides were 1: behind a stride of 2,
# neighbouring cells are 2 pixels apart.
# replace: size += (kernel - 1) * stride
# by:      size += kernel - 1

# %% wrong receptive_field padding_not_scaled of="solution"
# Your start counts every padding in pixels: behind a stride of 2, a cell of padding is 2 pixels.
# replace: start -= padding * stride
# by:      start -= padding

# %% wrong receptive_field padding_to_the_right of="solution"
# Your start has the wrong sign: padding moves the first cell to the left.
# replace: start -= padding * stride
# by:      start += padding * stride

# %% wrong receptive_field padding_ignored of="solution"
# Your start is always 0: padding moves the first cell to the left.
# replace: start -= padding * stride
# by:

# %% wrong receptive_field start_clamped of="solution"
# You cut start off at 0: it is negative where a cell sees padding.
# replace: return size, stride, start
# by:      return size, stride, max(start, 0)

# %% wrong receptive_field padding_taken_from_size of="solution"
# You subtract padding from the size: what a cell sees is as large with padding, part of it lies
# outside.
# replace: size += (kernel - 1) * stride
# by:      size += (kernel - 1 - padding) * stride

# %% wrong receptive_field whole_kernel of="solution"
# You add the whole kernel: its first cell is counted already, so it adds kernel − 1.
# replace: size += (kernel - 1) * stride
# by:      size += kernel * stride

# %% wrong receptive_field kernels_multiplied of="solution"
# You multiply the kernels: neighbouring cells see overlapping pixels, so each layer adds
# (kernel − 1) · stride.
# replace: size += (kernel - 1) * stride
# by:      size *= kernel

# %% wrong receptive_field half_kernel of="solution"
# You add half the kernel: it reaches to both sides, kernel − 1 cells in all.
# replace: size += (kernel - 1) * stride
# by:      size += (kernel // 2) * stride

# %% wrong receptive_field strides_added of="solution"
# You add the strides: cells of cells are apart by the product.
# replace: stride *= step
# by:      stride += step - 1

# %% wrong receptive_field last_stride of="solution"
# Your stride is that of the last layer: in pixels, it is the product of all.
# replace: stride *= step
# by:      stride = step

# %% wrong receptive_field from_the_last of="solution"
# You go through the layers from the last to the first with the rule for the other direction: the
# strides that count are those of the layers before.
# replace: for kernel, step, padding in layers:
# by:      for kernel, step, padding in reversed(layers):

# %% wrong receptive_field backwards_stride_late of="backwards"
# From the last layer back, a cell's neighbours are stride · cell − padding: multiply by the stride
# before you subtract the padding.
# replace: low, high = low * stride - padding, high * stride - padding + kernel - 1
#          following = following * stride - padding
# by:      low, high = (low - padding) * stride, (high - padding) * stride + kernel - 1
#          following = (following - padding) * stride

# %% wrong receptive_field end_excluded of="backwards"
# Your size is one too small: from pixel low to pixel high there are high − low + 1.
# replace: return high - low + 1, following - low, low
# by:      return high - low, following - low, low

# %% wrong receptive_field swapped of="solution"
# You return (stride, size, start): size comes first.
# replace: return size, stride, start
# by:      return stride, size, start

# %% wrong receptive_field start_second of="solution"
# You return (size, start, stride): the docstring says (size, stride, start).
# replace: return size, stride, start
# by:      return size, start, stride

# %% wrong receptive_field size_alone of="solution"
# You return the size alone: the docstring says (size, stride, start).
# replace: return size, stride, start
# by:      return size

# %% wrong receptive_field begins_with_nothing of="solution"
# You begin with size 0: without any layer, a cell is one pixel.
# replace: size, stride, start = 1, 1, 0
# by:      size, stride, start = 0, 1, 0

# %% wrong receptive_field first_layer_left_out of="solution"
# You leave out the first layer: it counts like the others.
# replace: in layers:
# by:      in layers[1:]:

# %% wrong receptive_field stride_and_padding_swapped of="solution"
# You unpack (kernel, padding, stride): each layer is (kernel, stride, padding).
# replace: for kernel, step, padding in layers:
# by:      for kernel, padding, step in layers:

# %% wrong receptive_field middle_as_start of="solution"
# Your start is the middle of what cell 0 sees: it should be the first pixel.
# replace: return size, stride, start
# by:      return size, stride, start + size // 2

# %% wrong receptive_field nothing_returned of="solution"
# does the last line say `return`?
# replace: return size, stride, start
# by:      size, stride, start

# %% wrong receptive_field both_axes of="solution"
# You return the area, size²: the docstring asks for one axis.
# replace: return size, stride, start
# by:      return size**2, stride, start

# %% wrong receptive_field as_large_as_the_image of="solution"
# You stop at 224 pixels: what a cell sees may be larger than the image.
# replace: return size, stride, start
# by:      return min(size, 224), stride, start

# %% wrong receptive_field kernel_of_one_widened of="solution"
# A kernel of 1 sees one cell: it adds nothing.
# replace: size += (kernel - 1) * stride
# by:      size += max(kernel - 1, 1) * stride

# %% right receptive_field from_the_last_back of="backwards"
# replace: return high - low + 1, following - low, low
# by:      return (high - low + 1, following - low, low)

# %% right receptive_field as_a_tuple of="solution"
# replace: for kernel, step, padding in layers:
#              size += (kernel - 1) * stride
#              start -= padding * stride
#              stride *= step
# by:      for layer in layers:
#              size, start, stride = (
#                  size + stride * (layer[0] - 1),
#                  start - stride * layer[2],
#                  stride * layer[1],
#              )

# %% right receptive_field sums of="solution"
# replace: size, stride, start = 1, 1, 0
#          for kernel, step, padding in layers:
#              size += (kernel - 1) * stride
#              start -= padding * stride
#              stride *= step
#          return size, stride, start
# by:      apart = [math.prod(layer[1] for layer in layers[:i]) for i in range(len(layers) + 1)]
#          size = 1 + sum((layer[0] - 1) * a for layer, a in zip(layers, apart, strict=False))
#          start = -sum(layer[2] * a for layer, a in zip(layers, apart, strict=False))
#          return size, apart[-1], start

# %% right receptive_field recursive of="solution"
# replace: size, stride, start = 1, 1, 0
#          for kernel, step, padding in layers:
#              size += (kernel - 1) * stride
#              start -= padding * stride
#              stride *= step
#          return size, stride, start
# by:      if not layers:
#              return 1, 1, 0
#          size, stride, start = receptive_field(layers[:-1])
#          kernel, step, padding = layers[-1]
#          return size + (kernel - 1) * stride, stride * step, start - padding * stride

# %% right receptive_field a_cell_followed of="solution"
# replace: size, stride, start = 1, 1, 0
#          for kernel, step, padding in layers:
#              size += (kernel - 1) * stride
#              start -= padding * stride
#              stride *= step
#          return size, stride, start
# by:      def seen(cell: int) -> list[int]:
#              ends = [cell, cell]
#              for kernel, step, padding in list(layers)[::-1]:
#                  ends = [ends[0] * step - padding, ends[1] * step - padding + kernel - 1]
#              return ends
#
#          first, last = seen(0)
#          return last - first + 1, seen(1)[0] - first, first


# %% base GridAttention of_torch
class GridAttention(nn.Module):
    def __init__(self, d_state: int, d_cell: int, d_attention: int) -> None:
        super().__init__()
        self.w_query = nn.Linear(d_state, d_attention, bias=False)
        self.w_key = nn.Linear(d_cell, d_attention, bias=False)
        self.gate = nn.Linear(d_state, 1)
        self.scale = 1 / d_attention**0.5

    def forward(self, state: Tensor, cells: Tensor) -> tuple[Tensor, Tensor]:
        scores = torch.bmm(self.w_key(cells), self.w_query(state).unsqueeze(-1)) * self.scale
        weights = F.softmax(scores, dim=1)
        context = (weights * cells).sum(dim=1)
        return context * self.gate(state).sigmoid(), weights.squeeze(-1)


# %% wrong GridAttention unscaled of="solution"
# Your scores are the plain dot products: divide them by the root of d_attention.
# replace: (query[:, None] * keys).sum(-1) / math.sqrt(keys.shape[-1])
# by:      (query[:, None] * keys).sum(-1)

# %% wrong GridAttention divided_by_d of="solution"
# You divide by d_attention: it should be its root.
# replace: math.sqrt(keys.shape[-1])
# by:      keys.shape[-1]

# %% wrong GridAttention scaled_by_cells of="solution"
# You divide by the root of the number of cells: it should be the root of d_attention.
# replace: math.sqrt(keys.shape[-1])
# by:      math.sqrt(keys.shape[1])

# %% wrong GridAttention scaled_by_d_cell of="solution"
# You divide by the root of d_cell: queries and keys have d_attention features.
# replace: math.sqrt(keys.shape[-1])
# by:      math.sqrt(cells.shape[-1])

# %% wrong GridAttention scaled_by_d_state of="solution"
# You divide by the root of d_state: queries and keys have d_attention features.
# replace: math.sqrt(keys.shape[-1])
# by:      math.sqrt(state.shape[-1])

# %% wrong GridAttention multiplied of="solution"
# You multiply the scores by the root of d_attention: divide by it.
# replace: (query[:, None] * keys).sum(-1) / math.sqrt(keys.shape[-1])
# by:      (query[:, None] * keys).sum(-1) * math.sqrt(keys.shape[-1])

# %% wrong GridAttention gated_weights of="solution"
# You return the weights times the gate, so they do not sum to 1: the gate belongs to the context.
# replace: return torch.sigmoid(self.gate(state)) * context, weights
# by:      opened = torch.sigmoid(self.gate(state))
#          return opened * context, opened * weights

# %% wrong GridAttention gate_on_scores of="solution"
# Your gate multiplies the scores: it should scale the context, after the softmax.
# replace: math.sqrt(keys.shape[-1])
#          weights = torch.softmax(scores, -1)
# by:      math.sqrt(keys.shape[-1])
#          weights = torch.softmax(torch.sigmoid(self.gate(state)) * scores, -1)
# replace: return torch.sigmoid(self.gate(state)) * context, weights
# by:      return context, weights

# %% wrong GridAttention no_gate of="solution"
# You leave the gate out: the context should be multiplied by sigmoid(gate(state)).
# replace: return torch.sigmoid(self.gate(state)) * context, weights
# by:      return context, weights

# %% wrong GridAttention gate_without_sigmoid of="solution"
# Your gate has no sigmoid: it should lie between 0 and 1.
# replace: torch.sigmoid(self.gate(state)) * context
# by:      self.gate(state) * context

# %% wrong GridAttention tanh_gate of="solution"
# Your gate goes through tanh: it should be a sigmoid.
# replace: torch.sigmoid(self.gate(state)) * context
# by:      torch.tanh(self.gate(state)) * context

# %% wrong GridAttention closed_gate of="solution"
# Your gate is upside down: you multiply by 1 − sigmoid.
# replace: torch.sigmoid(self.gate(state)) * context
# by:      (1 - torch.sigmoid(self.gate(state))) * context

# %% wrong GridAttention gate_added of="solution"
# You add the gate to the context: multiply.
# replace: torch.sigmoid(self.gate(state)) * context
# by:      torch.sigmoid(self.gate(state)) + context

# %% wrong GridAttention residual_gate of="solution"
# You add the state's gate on top of the whole context: the context should be scaled, no more.
# replace: torch.sigmoid(self.gate(state)) * context
# by:      (1 + torch.sigmoid(self.gate(state))) * context

# %% wrong GridAttention keys_as_values of="solution"
# You average the keys: the values are the cells themselves.
# replace: (weights[:, None] @ cells)[:, 0]
# by:      (weights[:, None] @ keys)[:, 0]

# %% wrong GridAttention keys_as_values_square of="of_torch"
# You average the keys: the values are the cells themselves.
# replace: context = (weights * cells).sum(dim=1)
# by:      context = (weights * self.w_key(cells)).sum(dim=1)

# %% wrong GridAttention softmax_over_the_batch of="solution"
# Your softmax runs over the batch: each row should have weights of its own, over the cells.
# replace: torch.softmax(scores, -1)
# by:      torch.softmax(scores, 0)

# %% wrong GridAttention softmax_over_features of="of_torch"
# Your softmax runs over an axis of size 1, so each weight is 1: it should run over the cells.
# replace: F.softmax(scores, dim=1)
# by:      F.softmax(scores, dim=-1)

# %% wrong GridAttention no_softmax of="solution"
# Your weights are the scores: softmax over the cells is missing.
# replace: torch.softmax(scores, -1)
# by:      scores

# %% wrong GridAttention divided_by_their_sum of="solution"
# You divide the scores by their sum: the weights should be their softmax.
# replace: torch.softmax(scores, -1)
# by:      scores / scores.sum(-1, keepdim=True)

# %% wrong GridAttention each_by_sigmoid of="solution"
# You put each score through a sigmoid, so the weights do not sum to 1: softmax over the cells.
# replace: torch.softmax(scores, -1)
# by:      torch.sigmoid(scores)

# %% wrong GridAttention hard of="solution"
# You attend to the best cell alone: softmax gives every cell some weight.
# replace: torch.softmax(scores, -1)
# by:      F.one_hot(scores.argmax(-1), scores.shape[-1]).to(scores)

# %% wrong GridAttention log_weights of="solution"
# Your weights are logarithms: use softmax, not log_softmax.
# replace: torch.softmax(scores, -1)
# by:      torch.log_softmax(scores, -1)

# %% wrong GridAttention mean_context of="solution"
# Your context is the plain mean of the cells: weight them.
# replace: (weights[:, None] @ cells)[:, 0]
# by:      cells.mean(1)

# %% wrong GridAttention divided_by_cells of="solution"
# You divide the weighted sum by the number of cells: the weights sum to 1 already.
# replace: (weights[:, None] @ cells)[:, 0]
# by:      (weights[..., None] * cells).mean(1)

# %% wrong GridAttention scores_returned of="solution"
# You return the scores: the weights are their softmax.
# replace: return torch.sigmoid(self.gate(state)) * context, weights
# by:      return torch.sigmoid(self.gate(state)) * context, scores

# %% wrong GridAttention swapped_results of="solution"
# You return the weights first: the docstring says (context, weights).
# replace: return torch.sigmoid(self.gate(state)) * context, weights
# by:      return weights, torch.sigmoid(self.gate(state)) * context

# %% wrong GridAttention context_alone of="solution"
# You return the context alone: the docstring says (context, weights).
# replace: return torch.sigmoid(self.gate(state)) * context, weights
# by:      return torch.sigmoid(self.gate(state)) * context

# %% wrong GridAttention context_with_an_axis of="solution"
# Your context has an axis for queries: there is one query a row, so drop it.
# replace: (weights[:, None] @ cells)[:, 0]
# by:      weights[:, None] @ cells
# replace: return torch.sigmoid(self.gate(state)) * context, weights
# by:      return torch.sigmoid(self.gate(state))[:, None] * context, weights

# %% wrong GridAttention weights_with_an_axis of="solution"
# Your weights have an axis for queries: there is one query a row, so drop it.
# replace: return torch.sigmoid(self.gate(state)) * context, weights
# by:      return torch.sigmoid(self.gate(state)) * context, weights[:, None]

# %% wrong GridAttention query_with_bias of="solution"
# pass bias=False to each layer
# replace: nn.Linear(d_state, d_attention, bias=False)
# by:      nn.Linear(d_state, d_attention)

# %% wrong GridAttention key_with_bias of="solution"
# pass bias=False to each layer
# replace: nn.Linear(d_cell, d_attention, bias=False)
# by:      nn.Linear(d_cell, d_attention)

# %% wrong GridAttention gate_without_bias of="solution"
# the parameters are not the ones the docstring names
# replace: self.gate = nn.Linear(d_state, 1)
# by:      self.gate = nn.Linear(d_state, 1, bias=False)

# %% wrong GridAttention gate_by_feature of="solution"
# the parameters are not the ones the docstring names
# replace: self.gate = nn.Linear(d_state, 1)
# by:      self.gate = nn.Linear(d_state, d_cell)

# %% wrong GridAttention gate_of_the_context of="solution"
# the parameters are not the ones the docstring names
# replace: self.gate = nn.Linear(d_state, 1)
# by:      self.gate = nn.Linear(d_cell, 1)
# replace: torch.sigmoid(self.gate(state)) * context
# by:      torch.sigmoid(self.gate(context)) * context

# %% wrong GridAttention with_w_value of="solution"
# leave out w_value.weight: the docstring names every part
# replace: self.gate = nn.Linear(d_state, 1)
# by:      self.gate = nn.Linear(d_state, 1)
#          self.w_value = nn.Linear(d_cell, d_cell, bias=False)
# replace: (weights[:, None] @ cells)[:, 0]
# by:      (weights[:, None] @ self.w_value(cells))[:, 0]

# %% wrong GridAttention additive of="solution"
# Your scores are additive, tanh of a sum: the docstring says scaled dot products.
# replace: (query[:, None] * keys).sum(-1) / math.sqrt(keys.shape[-1])
# by:      torch.tanh(query[:, None] + keys).sum(-1)

# %% wrong GridAttention detached_weights of="solution"
# no gradient flows through the result
# replace: return torch.sigmoid(self.gate(state)) * context, weights
# by:      return torch.sigmoid(self.gate(state)) * context, weights.detach()

# %% wrong GridAttention detached_weights_in_the_context of="solution"
# Your context uses detached weights: w_query and w_key would never learn from it.
# replace: (weights[:, None] @ cells)[:, 0]
# by:      (weights.detach()[:, None] @ cells)[:, 0]

# %% wrong GridAttention detached_state of="solution"
# You detach the state: the gradient has to go back through it to the words before.
# replace: self.w_query(state), self.w_key(cells)
# by:      self.w_query(state.detach()), self.w_key(cells)
# replace: torch.sigmoid(self.gate(state)) * context
# by:      torch.sigmoid(self.gate(state.detach())) * context

# %% wrong GridAttention no_gradient of="solution"
# no gradient flows through the result
# replace: query, keys = self.w_query(state), self.w_key(cells)
# by:      with torch.no_grad():
#              query, keys = self.w_query(state), self.w_key(cells)

# %% wrong GridAttention first_query_for_all of="solution"
# All rows of your batch attend with the first state: each row has its own.
# replace: (query[:, None] * keys)
# by:      (query[:1, None] * keys)

# %% wrong GridAttention names of="solution"
# `query.weight` should be called `w_query.weight`
# replace: self.w_query = nn.Linear
# by:      self.query = nn.Linear
# replace: self.w_query(state), self.w_key(cells)
# by:      self.query(state), self.w_key(cells)

# %% wrong GridAttention float32 of="solution"
# something on the way has another dtype: .float(), a NumPy array, a tensor that you make
# replace: return torch.sigmoid(self.gate(state)) * context, weights
# by:      return torch.sigmoid(self.gate(state)) * context, weights.float()

# %% wrong GridAttention in_place of="solution"
# operations that end in _ (add_, masked_fill_), x[...] = y and x -= y write into the caller's
# tensor: make a new one
# replace: query, keys = self.w_query(state), self.w_key(cells)
# by:      query, keys = self.w_query(state), self.w_key(cells)
#          cells = cells.detach().mul_(1.001)

# %% wrong GridAttention values_detached of="solution"
# You detach the cells as values: the gradient has to reach them through the weighted sum, too.
# replace: (weights[:, None] @ cells)[:, 0]
# by:      (weights[:, None] @ cells.detach())[:, 0]

# %% wrong GridAttention always_halved of="solution"
# You always halve the scores: divide them by the root of d_attention.
# replace: math.sqrt(keys.shape[-1])
# by:      2.0

# %% wrong GridAttention whole_root of="solution"
# You round the root of d_attention to a whole number.
# replace: math.sqrt(keys.shape[-1])
# by:      int(math.sqrt(keys.shape[-1]))

# %% wrong GridAttention powers_overflow of="solution"
# Your powers overflow for large scores: torch.softmax subtracts the largest score first.
# replace: torch.softmax(scores, -1)
# by:      scores.exp() / scores.exp().sum(-1, keepdim=True)

# %% wrong GridAttention mean_of_the_gates of="solution"
# All rows of your batch share the mean of their gates: each row has its own.
# replace: torch.sigmoid(self.gate(state)) * context
# by:      torch.sigmoid(self.gate(state)).mean() * context

# %% wrong GridAttention detached_gate of="solution"
# You detach the gate: it should learn.
# replace: torch.sigmoid(self.gate(state)) * context
# by:      torch.sigmoid(self.gate(state)).detach() * context

# %% wrong GridAttention mean_where_closed of="solution"
# Where your gate closes, the mean of the cells comes in: the context should only become smaller.
# replace: return torch.sigmoid(self.gate(state)) * context, weights
# by:      opened = torch.sigmoid(self.gate(state))
#          return opened * context + (1 - opened) * cells.mean(1), weights

# %% wrong GridAttention gate_only_in_training of="solution"
# In evaluation mode you leave out the gate: it counts always.
# replace: return torch.sigmoid(self.gate(state)) * context, weights
# by:      opened = torch.sigmoid(self.gate(state)) if self.training else 1.0
#          return opened * context, weights

# %% wrong GridAttention hard_in_evaluation of="solution"
# In evaluation mode you take the cell with the largest score alone: softmax, always.
# replace: weights = torch.softmax(scores, -1)
# by:      weights = torch.softmax(scores, -1)
#          if not self.training:
#              weights = F.one_hot(scores.argmax(-1), scores.shape[-1]).to(scores.dtype)

# %% wrong GridAttention empty_cells_masked of="solution"
# You leave out cells whose features are all 0: every cell takes part.
# replace: weights = torch.softmax(scores, -1)
# by:      empty = (cells == 0).all(-1)
#          weights = torch.softmax(scores.masked_fill(empty, -torch.inf), -1)

# %% wrong GridAttention one_number_squeezed of="solution"
# With a single row of a single cell you drop an axis of the weights: keep (batch, cells).
# replace: return torch.sigmoid(self.gate(state)) * context, weights
# by:      if weights.numel() == 1:
#              weights = weights[0]
#          return torch.sigmoid(self.gate(state)) * context, weights

# %% right GridAttention with_bmm of="of_torch"
# replace: weights = F.softmax(scores, dim=1)
# by:      weights = scores.softmax(dim=1)

# %% right GridAttention einsum of="solution"
# replace: scores = (query[:, None] * keys).sum(-1) / math.sqrt(keys.shape[-1])
# by:      scores = torch.einsum("ba,bna->bn", query, keys) / keys.shape[-1] ** 0.5
# replace: context = (weights[:, None] @ cells)[:, 0]
# by:      context = torch.einsum("bn,bnc->bc", weights, cells)

# %% right GridAttention fused of="solution"
# replace: scores = (query[:, None] * keys).sum(-1) / math.sqrt(keys.shape[-1])
#          weights = torch.softmax(scores, -1)
#          context = (weights[:, None] @ cells)[:, 0]
#          return torch.sigmoid(self.gate(state)) * context, weights
# by:      scaled = query / math.sqrt(self.w_query.out_features)
#          weights = F.softmax((keys @ scaled[..., None])[..., 0], dim=1)
#          gated = weights * torch.sigmoid(self.gate(state))
#          return torch.sum(gated[..., None] * cells, dim=1), weights

# %% right GridAttention row_by_row of="solution"
# replace: context = (weights[:, None] @ cells)[:, 0]
#          return torch.sigmoid(self.gate(state)) * context, weights
# by:      context = torch.stack([w @ c for w, c in zip(weights, cells, strict=True)])
#          return context * torch.sigmoid(self.gate(state)), weights

# %% right GridAttention gate_first of="solution"
# replace: context = (weights[:, None] @ cells)[:, 0]
#          return torch.sigmoid(self.gate(state)) * context, weights
# by:      opened = 1 / (1 + torch.exp(-self.gate(state)))
#          return opened * torch.bmm(weights.unsqueeze(1), cells).squeeze(1), weights


# %% base Captioner step_by_step
class Captioner(nn.Module):
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
        self.attend = attend
        self.embedding = nn.Embedding(vocab_size, d_embedding)
        self.positions = nn.Parameter(torch.zeros(num_cells, d_cell))
        self.start = nn.Linear(d_cell, d_state)
        self.gru = nn.GRUCell(d_embedding + d_cell, d_state)
        self.output = nn.Linear(d_state, vocab_size)

    def forward(self, cells: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        placed = cells + self.positions
        state = self.start(placed.mean(dim=1)).tanh()
        logits, weights = [], []
        for t in range(tokens.shape[1]):
            context, attended = self.attend(state, placed)
            embedded = self.embedding(tokens[:, t])
            state = self.gru(torch.cat((embedded, context), dim=1), state)
            logits.append(self.output(state))
            weights.append(attended)
        return torch.stack(logits, dim=1), torch.stack(weights, dim=1)


# %% wrong Captioner new_state_attends of="step_by_step"
# You attend with a state that the GRU has already updated for this word: the old state attends,
# and its context goes into the update.
# replace: logits, weights = [], []
# by:      logits, weights, context = [], [], torch.zeros_like(placed[:, 0])
# replace: context, attended = self.attend(state, placed)
#          embedded
# by:      embedded
# replace: state = self.gru(torch.cat((embedded, context), dim=1), state)
# by:      state = self.gru(torch.cat((embedded, context), dim=1), state)
#          context, attended = self.attend(state, placed)

# %% wrong Captioner logits_from_the_old_state of="step_by_step"
# Your logits come from the old state, which has not read this word's token: use the new one.
# replace: embedded = self.embedding(tokens[:, t])
# by:      embedded = self.embedding(tokens[:, t])
#          logits.append(self.output(state))
# replace: logits.append(self.output(state))
#          weights.append
# by:      weights.append

# %% wrong Captioner positions_in_start_only of="step_by_step"
# Only the first state gets your positions: attention should get the cells with their positions too.
# replace: self.attend(state, placed)
# by:      self.attend(state, cells)

# %% wrong Captioner positions_in_attention_only of="step_by_step"
# Only attention gets your positions: the mean for the first state should have them too.
# replace: placed.mean(dim=1)
# by:      cells.mean(dim=1)

# %% wrong Captioner no_positions of="step_by_step"
# Your positions are never added.
# replace: placed = cells + self.positions
# by:      placed = cells

# %% wrong Captioner positions_multiplied of="step_by_step"
# You multiply by the positions: add them.
# replace: placed = cells + self.positions
# by:      placed = cells * self.positions

# %% wrong Captioner positions_added_each_word of="step_by_step"
# You add the positions again for every word: once, before anything else.
# replace: embedded = self.embedding(tokens[:, t])
# by:      placed = placed + self.positions
#          embedded = self.embedding(tokens[:, t])

# %% wrong Captioner positions_no_parameter of="step_by_step"
# the parameters are not the ones the docstring names
# replace: nn.Parameter(torch.zeros(num_cells, d_cell))
# by:      torch.zeros(num_cells, d_cell)

# %% wrong Captioner positions_a_buffer of="step_by_step"
# the parameters are not the ones the docstring names
# replace: self.positions = nn.Parameter(torch.zeros(num_cells, d_cell))
# by:      self.register_buffer("positions", torch.zeros(num_cells, d_cell))

# %% wrong Captioner positions_for_words of="step_by_step"
# the parameters are not the ones the docstring names
# replace: torch.zeros(num_cells, d_cell)
# by:      torch.zeros(vocab_size, d_cell)

# %% wrong Captioner no_tanh of="step_by_step"
# Your first state has no tanh.
# replace: self.start(placed.mean(dim=1)).tanh()
# by:      self.start(placed.mean(dim=1))

# %% wrong Captioner relu_start of="step_by_step"
# Your first state goes through ReLU: it should be tanh.
# replace: self.start(placed.mean(dim=1)).tanh()
# by:      self.start(placed.mean(dim=1)).relu()

# %% wrong Captioner sum_of_cells of="step_by_step"
# Your first state comes from the sum of the cells: it should be their mean.
# replace: placed.mean(dim=1)
# by:      placed.sum(dim=1)

# %% wrong Captioner first_cell of="step_by_step"
# Your first state comes from the first cell: it should be the mean of all.
# replace: placed.mean(dim=1)
# by:      placed[:, 0]

# %% wrong Captioner largest_of_cells of="step_by_step"
# Your first state comes from the largest number of each feature: it should be the mean.
# replace: placed.mean(dim=1)
# by:      placed.amax(dim=1)

# %% wrong Captioner starts_at_zero of="step_by_step"
# Your first state is zero: it should be tanh(start(mean of the cells)).
# replace: self.start(placed.mean(dim=1)).tanh()
# by:      0 * self.start(placed.mean(dim=1)).tanh()

# %% wrong Captioner mean_over_features of="step_by_step"
# You average over the whole batch: each row has its own mean cell.
# replace: placed.mean(dim=1)
# by:      placed.mean(dim=(0, 1)).expand(len(placed), -1)

# %% wrong Captioner mean_of_tanh of="step_by_step"
# You take tanh of every cell's projection and then the mean: first the mean, then start and tanh.
# replace: self.start(placed.mean(dim=1)).tanh()
# by:      self.start(placed).tanh().mean(dim=1)

# %% wrong Captioner context_first of="step_by_step"
# Your GRU reads [context, embedding]: the embedding comes first.
# replace: torch.cat((embedded, context), dim=1)
# by:      torch.cat((context, embedded), dim=1)

# %% wrong Captioner context_unused of="step_by_step"
# Your GRU never reads the context.
# replace: torch.cat((embedded, context), dim=1)
# by:      torch.cat((embedded, 0 * context), dim=1)

# %% wrong Captioner token_unused of="step_by_step"
# Your GRU never reads the token.
# replace: torch.cat((embedded, context), dim=1)
# by:      torch.cat((0 * embedded, context), dim=1)

# %% wrong Captioner output_of_state_and_context of="step_by_step"
# the parameters are not the ones the docstring names
# replace: self.output = nn.Linear(d_state, vocab_size)
# by:      self.output = nn.Linear(d_state + d_cell, vocab_size)
# replace: self.output(state)
# by:      self.output(torch.cat((state, context), dim=1))

# %% wrong Captioner probabilities of="step_by_step"
# You return probabilities: logits come before softmax.
# replace: self.output(state)
# by:      self.output(state).softmax(-1)

# %% wrong Captioner log_probabilities of="step_by_step"
# You return log-probabilities: logits come before softmax.
# replace: self.output(state)
# by:      self.output(state).log_softmax(-1)

# %% wrong Captioner own_words of="step_by_step"
# Your GRU reads the words that it wrote: here it should read the given tokens.
# replace: embedded = self.embedding(tokens[:, t])
# by:      read = tokens[:, 0] if t == 0 else logits[-1].argmax(-1)
#          embedded = self.embedding(read)

# %% wrong Captioner token_before of="step_by_step"
# Word t of yours reads tokens[:, t − 1]: it should read tokens[:, t]; the caller has shifted them.
# replace: embedded = self.embedding(tokens[:, t])
# by:      embedded = self.embedding(tokens[:, max(t - 1, 0)])

# %% wrong Captioner token_after of="step_by_step"
# Word t of yours reads a later token: it should read tokens[:, t].
# replace: embedded = self.embedding(tokens[:, t])
# by:      embedded = self.embedding(tokens[:, min(t + 1, tokens.shape[1] - 1)])

# %% wrong Captioner first_token_for_all of="step_by_step"
# Every word of yours reads the first token.
# replace: embedded = self.embedding(tokens[:, t])
# by:      embedded = self.embedding(tokens[:, 0])

# %% wrong Captioner attends_once of="step_by_step"
# You attend once, before the first word: attend anew for each word.
# replace: logits, weights = [], []
# by:      logits, weights = [], []
#          context, attended = self.attend(state, placed)
# replace: context, attended = self.attend(state, placed)
#          embedded
# by:      embedded

# %% wrong Captioner first_state_attends of="step_by_step"
# The first state attends for every word: use the state that the GRU has updated.
# replace: logits, weights = [], []
# by:      logits, weights, first = [], [], state
# replace: self.attend(state, placed)
# by:      self.attend(first, placed)

# %% wrong Captioner state_not_kept of="step_by_step"
# Every word of yours starts from the first state: keep the new state for the next word.
# replace: state = self.gru(torch.cat((embedded, context), dim=1), state)
#          logits.append(self.output(state))
# by:      new = self.gru(torch.cat((embedded, context), dim=1), state)
#          logits.append(self.output(new))

# %% wrong Captioner state_reset of="step_by_step"
# Your GRU gets no state, so it starts from zero at each word: pass the old state.
# replace: torch.cat((embedded, context), dim=1), state)
# by:      torch.cat((embedded, context), dim=1))

# %% wrong Captioner state_detached of="step_by_step"
# You detach the state from word to word: the gradient should go back through all words.
# replace: context, attended = self.attend(state, placed)
# by:      state = state.detach()
#          context, attended = self.attend(state, placed)

# %% wrong Captioner weights_detached of="step_by_step"
# no gradient flows through the result
# replace: weights.append(attended)
# by:      weights.append(attended.detach())

# %% wrong Captioner attention_detached of="step_by_step"
# You detach the state for attention: the gradient should go through the query, too.
# replace: self.attend(state, placed)
# by:      self.attend(state.detach(), placed)

# %% wrong Captioner cells_detached of="step_by_step"
# You detach the cells: no gradient reaches them.
# replace: placed = cells + self.positions
# by:      placed = cells.detach() + self.positions

# %% wrong Captioner padding_token of="step_by_step"
# Token 0 does not learn: padding_idx=0 switches off its gradient.
# replace: nn.Embedding(vocab_size, d_embedding)
# by:      nn.Embedding(vocab_size, d_embedding, padding_idx=0)

# %% wrong Captioner words_first of="step_by_step"
# Your words come before the batch: stack along axis 1.
# replace: torch.stack(logits, dim=1), torch.stack(weights, dim=1)
# by:      torch.stack(logits), torch.stack(weights)

# %% wrong Captioner words_last of="step_by_step"
# Your words come last: stack along axis 1.
# replace: torch.stack(logits, dim=1), torch.stack(weights, dim=1)
# by:      torch.stack(logits, dim=-1), torch.stack(weights, dim=-1)

# %% wrong Captioner last_word_alone of="step_by_step"
# You return the last word's logits and weights alone: those of all words are wanted.
# replace: torch.stack(logits, dim=1), torch.stack(weights, dim=1)
# by:      logits[-1], weights[-1]

# %% wrong Captioner swapped_results of="step_by_step"
# You return the weights first: the docstring says (logits, weights).
# replace: torch.stack(logits, dim=1), torch.stack(weights, dim=1)
# by:      torch.stack(weights, dim=1), torch.stack(logits, dim=1)

# %% wrong Captioner logits_alone of="step_by_step"
# You return the logits alone: the docstring says (logits, weights).
# replace: return torch.stack(logits, dim=1), torch.stack(weights, dim=1)
# by:      return torch.stack(logits, dim=1)

# %% wrong Captioner contexts_as_weights of="step_by_step"
# You collect the contexts: the second result of attend, the weights, is wanted.
# replace: weights.append(attended)
# by:      weights.append(context)

# %% wrong Captioner normalised_again of="step_by_step"
# You put the weights through softmax again: return them as attend gives them.
# replace: weights.append(attended)
# by:      weights.append(attended.softmax(-1))

# %% wrong Captioner own_attention of="step_by_step"
# You compute the context from the weights yourself: use the one that attend returns, which may be
# gated.
# replace: context, attended = self.attend(state, placed)
# by:      _, attended = self.attend(state, placed)
#          context = (attended[..., None] * placed).sum(1)

# %% wrong Captioner output_without_bias of="step_by_step"
# the parameters are not the ones the docstring names
# replace: nn.Linear(d_state, vocab_size)
# by:      nn.Linear(d_state, vocab_size, bias=False)

# %% wrong Captioner start_from_embedding of="step_by_step"
# the parameters are not the ones the docstring names
# replace: self.start = nn.Linear(d_cell, d_state)
# by:      self.start = nn.Linear(d_state, d_state)
# replace: state = self.start(placed.mean(dim=1)).tanh()
# by:      room = self.start.in_features - placed.shape[2]
#          state = self.start(F.pad(placed.mean(dim=1), (0, room))).tanh()

# %% wrong Captioner an_rnn_cell of="step_by_step"
# the parameters are not the ones the docstring names
# replace: nn.GRUCell(d_embedding + d_cell, d_state)
# by:      nn.RNNCell(d_embedding + d_cell, d_state)

# %% wrong Captioner attend_hidden of="step_by_step"
# You hide `attend` in a list, so its parameters are not yours and would not learn: keep the module
# itself as the part `attend`.
# replace: self.attend = attend
# by:      self.kept = [attend]
# replace: self.attend(state, placed)
# by:      self.kept[0](state, placed)

# %% wrong Captioner dropout of="step_by_step"
# the docstring says no dropout
# replace: logits.append(self.output(state))
# by:      logits.append(self.output(F.dropout(state, 0.5, training=self.training)))

# %% wrong Captioner one_word_too_few of="step_by_step"
# You leave the last word out: there are logits for each token.
# replace: for t in range(tokens.shape[1]):
# by:      for t in range(tokens.shape[1] - 1):

# %% wrong Captioner in_place of="step_by_step"
# operations that end in _ (add_, masked_fill_), x[...] = y and x -= y write into the caller's
# tensor: make a new one
# replace: placed = cells + self.positions
# by:      placed = cells
#          placed.data += self.positions.data

# %% wrong Captioner nothing_returned of="step_by_step"
# does the last line say `return`?
# replace: return torch.stack(logits, dim=1), torch.stack(weights, dim=1)
# by:      torch.stack(logits, dim=1), torch.stack(weights, dim=1)

# %% wrong Captioner attend_copied of="step_by_step"
# You copy `attend`: keep the module that is given, which others may train or read.
# replace: self.attend = attend
# by:      import copy
#
#          self.attend = copy.deepcopy(attend)

# %% wrong Captioner own_words_in_evaluation of="step_by_step"
# In evaluation mode your GRU reads the words that it wrote: it should read the given tokens always.
# replace: embedded = self.embedding(tokens[:, t])
# by:      read = tokens[:, t] if self.training or t == 0 else logits[-1].argmax(-1)
#          embedded = self.embedding(read)

# %% wrong Captioner added_to_the_old_state of="step_by_step"
# You add the GRU's state to the old one: the GRU's state is the new state.
# replace: state = self.gru(torch.cat((embedded, context), dim=1), state)
# by:      state = state + self.gru(torch.cat((embedded, context), dim=1), state)

# %% wrong Captioner tanh_before_start of="step_by_step"
# Your tanh comes before `start`: first the linear layer, then tanh.
# replace: self.start(placed.mean(dim=1)).tanh()
# by:      self.start(placed.mean(dim=1).tanh())

# %% wrong Captioner weights_of_the_new_state of="step_by_step"
# Your weights come from a second call of attend, with the new state: return those of the call
# whose context the GRU reads.
# replace: logits.append(self.output(state))
# by:      logits.append(self.output(state))
#          attended = self.attend(state, placed)[1]

# %% wrong Captioner context_detached of="step_by_step"
# You detach the context: the gradient should go through it to the cells and to `attend`.
# replace: torch.cat((embedded, context), dim=1)
# by:      torch.cat((embedded, context.detach()), dim=1)

# %% wrong Captioner attends_without_gradient of="step_by_step"
# You attend under no_grad: the gradient should go through attention.
# replace: context, attended = self.attend(state, placed)
# by:      with torch.no_grad():
#              context, attended = self.attend(state, placed)

# %% wrong Captioner start_detached of="step_by_step"
# You detach the first state: `start` would never learn.
# replace: self.start(placed.mean(dim=1)).tanh()
# by:      self.start(placed.mean(dim=1)).tanh().detach()

# %% wrong Captioner frozen_after_end of="solution"
# You keep the state at <end>: the GRU reads every token in the same way.
# replace: for embedded in self.embedding(tokens).unbind(1):
# by:      for token, embedded in zip(tokens.T, self.embedding(tokens).unbind(1)):
# replace: state = self.gru(torch.cat([embedded, context], -1), state)
# by:      new = self.gru(torch.cat([embedded, context], -1), state)
#          state = torch.where((token == 10)[:, None], state, new)

# %% wrong Captioner nine_words of="solution"
# You stop after nine words: as many words as there are tokens.
# replace: self.embedding(tokens).unbind(1)
# by:      self.embedding(tokens[:, :9]).unbind(1)

# %% wrong Captioner one_word_squeezed of="solution"
# With a single row of a single word you drop the axes: keep (batch, words, ...).
# replace: return self.output(torch.stack(states, 1)), torch.stack(all_weights, 1)
# by:      if tokens.numel() == 1:
#              return self.output(states[0][0]), all_weights[0][0]
#          return self.output(torch.stack(states, 1)), torch.stack(all_weights, 1)

# %% wrong Captioner state_kept_between_passes of="solution"
# You keep the state from pass to pass: each pass begins with tanh(start(mean of the cells)).
# replace: state = torch.tanh(self.start(cells.mean(1)))
# by:      state = getattr(self, "last", None)
#          if state is None or len(state) != len(cells):
#              state = torch.tanh(self.start(cells.mean(1)))
# replace: return self.output(torch.stack(states, 1)), torch
# by:      self.last = state.detach()
#          return self.output(torch.stack(states, 1)), torch

# %% right Captioner plain_loop of="step_by_step"
# replace: nn.Parameter(torch.zeros(num_cells, d_cell))
# by:      nn.Parameter(torch.randn(num_cells, d_cell) / d_cell**0.5)

# %% right Captioner two_passes of="solution"
# replace: states, all_weights = [], []
#          for embedded in self.embedding(tokens).unbind(1):
# by:      states, all_weights = [], []
#          for embedded in self.embedding(tokens).transpose(0, 1):

# %% right Captioner filled_tensors of="step_by_step"
# replace: logits.append(self.output(state))
# by:      logits.append(self.output(state)[:, None])
# replace: weights.append(attended)
# by:      weights.append(attended.unsqueeze(1))
# replace: torch.stack(logits, dim=1), torch.stack(weights, dim=1)
# by:      torch.cat(logits, 1), torch.cat(weights, 1)

# %% right Captioner positions_in_one_row of="step_by_step"
# replace: placed = cells + self.positions
#          state = self.start(placed.mean(dim=1)).tanh()
# by:      placed = torch.add(cells, self.positions[None])
#          count = placed.shape[1]
#          state = torch.tanh(self.start(placed.sum(dim=1) / count))

# %% right Captioner other_order of="step_by_step"
# replace: context, attended = self.attend(state, placed)
#          embedded = self.embedding(tokens[:, t])
#          state = self.gru(torch.cat((embedded, context), dim=1), state)
# by:      embedded = self.embedding.weight[tokens[:, t]]
#          context, attended = self.attend(state, placed)
#          state = self.gru(torch.cat([embedded, context], -1), state)


# %% base coverage_penalty row_by_row
def coverage_penalty(weights: Tensor, lengths: Tensor) -> Tensor:
    penalties = []
    for row, length in zip(weights, lengths.tolist(), strict=True):
        total = row[:length].sum(0)
        penalties.append(((1 - total) ** 2).sum())
    return torch.stack(penalties).mean()


# %% wrong coverage_penalty padding_counted of="row_by_row"
# Your totals count the words after the end: only the first `length` words of a row count.
# replace: row[:length]
# by:      row

# %% wrong coverage_penalty last_word_left_out of="row_by_row"
# You leave out the last word of each row: lengths counts the words.
# replace: row[:length]
# by:      row[: length - 1]

# %% wrong coverage_penalty one_word_too_many of="row_by_row"
# You count one word after the end of each row.
# replace: row[:length]
# by:      row[: length + 1]

# %% wrong coverage_penalty longest_for_all of="row_by_row"
# You count every row as far as the longest: each row has a length of its own.
# replace: row[:length]
# by:      row[: int(lengths.max())]

# %% wrong coverage_penalty first_length_for_all of="row_by_row"
# You use the first row's length for all rows.
# replace: row[:length]
# by:      row[: int(lengths[0])]

# %% wrong coverage_penalty words_from_the_end of="row_by_row"
# You count the last words of a row: the first ones are the caption.
# replace: row[:length]
# by:      row[row.shape[0] - length :]

# %% wrong coverage_penalty mean_of_words of="row_by_row"
# You average over the words: a cell's total is the sum of its weights.
# replace: row[:length].sum(0)
# by:      row[:length].mean(0)

# %% wrong coverage_penalty squared_first of="row_by_row"
# You square before you sum over the words: first the total of each cell, then the square.
# replace: total = row[:length].sum(0)
#          penalties.append(((1 - total) ** 2).sum())
# by:      penalties.append(((1 - row[:length]) ** 2).sum())

# %% wrong coverage_penalty not_squared of="row_by_row"
# You do not square 1 − total: cells with too much and with too little would cancel.
# replace: ((1 - total) ** 2).sum()
# by:      (1 - total).sum()

# %% wrong coverage_penalty absolute of="row_by_row"
# You take the absolute difference: the docstring says the square.
# replace: ((1 - total) ** 2).sum()
# by:      (1 - total).abs().sum()

# %% wrong coverage_penalty sum_squared of="row_by_row"
# You sum over the cells before you square: each cell counts by itself.
# replace: ((1 - total) ** 2).sum()
# by:      (1 - total).sum() ** 2

# %% wrong coverage_penalty mean_over_cells of="row_by_row"
# You average over the cells: the docstring says the sum.
# replace: ((1 - total) ** 2).sum()
# by:      ((1 - total) ** 2).mean()

# %% wrong coverage_penalty summed_over_the_batch of="row_by_row"
# You sum over the batch: the docstring says the mean.
# replace: torch.stack(penalties).mean()
# by:      torch.stack(penalties).sum()

# %% wrong coverage_penalty one_for_each_row of="row_by_row"
# You return a number for each row: the mean over the batch is wanted.
# replace: torch.stack(penalties).mean()
# by:      torch.stack(penalties)

# %% wrong coverage_penalty over_cells_first of="row_by_row"
# You sum over the cells, where the weights of a word sum to 1 anyway: the total is each cell's,
# over the words.
# replace: row[:length].sum(0)
# by:      row[:length].sum(1)

# %% wrong coverage_penalty divided_by_length of="row_by_row"
# You ask for a total of 1 / length: each cell's total should be 1.
# replace: (1 - total)
# by:      (1 / length - total)

# %% wrong coverage_penalty words_over_cells of="row_by_row"
# You ask each cell for an equal share of the words: the docstring says a total of 1.
# replace: (1 - total)
# by:      (length / row.shape[1] - total)

# %% wrong coverage_penalty root of="row_by_row"
# You take the root of the sum: the docstring says the sum of the squares.
# replace: ((1 - total) ** 2).sum()
# by:      ((1 - total) ** 2).sum() ** 0.5

# %% wrong coverage_penalty batch_total of="solution"
# You average the totals over the batch before you square: each row counts by itself.
# replace: return (1 - totals).square().sum(-1).mean()
# by:      return (1 - totals.mean(0)).square().sum()

# %% wrong coverage_penalty mean_of_everything of="solution"
# You average over the cells as well: sum over the cells, mean over the batch.
# replace: return (1 - totals).square().sum(-1).mean()
# by:      return (1 - totals).square().mean()

# %% wrong coverage_penalty sum_of_everything of="solution"
# You sum over the batch: sum over the cells, mean over the batch.
# replace: return (1 - totals).square().sum(-1).mean()
# by:      return (1 - totals).square().sum()

# %% wrong coverage_penalty up_to_and_with of="solution"
# You count one word after the end: position `length` is the first that does not count.
# replace: device=weights.device) < lengths
# by:      device=weights.device) <= lengths

# %% wrong coverage_penalty words_after_the_end of="solution"
# You count the words after the end, and leave out those that count.
# replace: device=weights.device) < lengths
# by:      device=weights.device) >= lengths

# %% wrong coverage_penalty only_too_little of="solution"
# You penalise only totals below 1: those above count, too.
# replace: (1 - totals).square()
# by:      (1 - totals).clamp(min=0).square()

# %% wrong coverage_penalty only_too_much of="solution"
# You penalise only totals above 1: those below count, too.
# replace: (1 - totals).square()
# by:      (totals - 1).clamp(min=0).square()

# %% wrong coverage_penalty detached of="solution"
# no gradient flows through the result
# replace: return (1 - totals)
# by:      return (1 - totals.detach())

# %% wrong coverage_penalty a_plain_number of="solution"
# the result should be a tensor
# replace: return (1 - totals).square().sum(-1).mean()
# by:      return (1 - totals).square().sum(-1).mean().item()

# %% wrong coverage_penalty with_an_axis of="solution"
# You keep an axis: a 0-d tensor is wanted.
# replace: return (1 - totals).square().sum(-1).mean()
# by:      return (1 - totals).square().sum(-1).mean(0, keepdim=True)

# %% wrong coverage_penalty in_place of="solution"
# operations that end in _ (add_, masked_fill_), x[...] = y and x -= y write into the caller's
# tensor: make a new one
# replace: totals = (weights * counted[..., None]).sum(1)  # (batch, cells)
# by:      weights.data[~counted] = 0.0
#          totals = weights.sum(1)

# %% wrong coverage_penalty float32 of="solution"
# something on the way has another dtype: .float(), a NumPy array, a tensor that you make
# replace: return (1 - totals).square().sum(-1).mean()
# by:      return (1 - totals).square().sum(-1).mean().float()

# %% wrong coverage_penalty nothing_returned of="solution"
# does the last line say `return`?
# replace: return (1 - totals)
# by:      (1 - totals)

# %% wrong coverage_penalty at_least_one_word of="solution"
# You count at least one word of each row: a length may be 0.
# replace: < lengths[:, None]
# by:      < lengths[:, None].clamp(min=1)

# %% wrong coverage_penalty largest_for_total of="solution"
# You take each cell's largest weight: its total is the sum.
# replace: (weights * counted[..., None]).sum(1)
# by:      (weights * counted[..., None]).amax(1)

# %% wrong coverage_penalty divided_by_words of="solution"
# You divide by the number of words: the mean is over the rows.
# replace: return (1 - totals).square().sum(-1).mean()
# by:      return (1 - totals).square().sum() / counted.sum().clamp(min=1)

# %% right coverage_penalty a_loop of="row_by_row"
# replace: torch.stack(penalties).mean()
# by:      torch.stack(penalties).sum() / len(penalties)

# %% right coverage_penalty masked of="solution"
# replace: totals = (weights * counted[..., None]).sum(1)  # (batch, cells)
# by:      totals = weights.masked_fill(~counted.unsqueeze(-1), 0.0).sum(dim=1)

# %% right coverage_penalty expanded_square of="solution"
# replace: return (1 - totals).square().sum(-1).mean()
# by:      return (1 - 2 * totals + totals**2).sum() / weights.shape[0]

# %% right coverage_penalty einsum of="solution"
# replace: totals = (weights * counted[..., None]).sum(1)  # (batch, cells)
#          return (1 - totals).square().sum(-1).mean()
# by:      totals = torch.einsum("btc,bt->bc", weights, counted.to(weights.dtype))
#          return torch.sum((totals - 1) ** 2, dim=1).mean()

# %% right coverage_penalty cumulative of="solution"
# replace: totals = (weights * counted[..., None]).sum(1)  # (batch, cells)
# by:      before = F.pad(weights.cumsum(1), (0, 0, 1, 0))
#          totals = before[torch.arange(len(weights)), lengths]


# %% base weight_on_object by_tiles
def weight_on_object(weights: Tensor, masks: Tensor, stride: int) -> tuple[Tensor, Tensor]:
    batch, count, height, width = masks.shape
    tiles = masks.reshape(batch, count, height // stride, stride, width // stride, stride)
    touched = tiles.any(5).any(3).reshape(batch, count, -1)
    shares, chances = [], []
    for row in range(batch):
        for word in range(count):
            if touched[row, word].any():
                shares.append(weights[row, word][touched[row, word]].sum())
                chances.append(touched[row, word].to(weights.dtype).mean())
    if not shares:
        return torch.zeros((), dtype=weights.dtype), torch.zeros((), dtype=weights.dtype)
    return torch.stack(shares).mean(), torch.stack(chances).mean()


# %% wrong weight_on_object empty_words_counted of="solution"
# You average over all words: those without a mask do not count.
# replace: return on_object[named].mean(), touched.mean(-1)[named].mean()
# by:      return on_object.mean(), touched.mean()

# %% wrong weight_on_object empty_words_in_share of="solution"
# Your share averages over all words: those without a mask do not count.
# replace: on_object[named].mean(), touched
# by:      on_object.mean(), touched

# %% wrong weight_on_object empty_words_in_chance of="solution"
# Your chance averages over all words: those without a mask do not count there either.
# replace: touched.mean(-1)[named].mean()
# by:      touched.mean()

# %% wrong weight_on_object nan_without_words of="solution"
# If no word has a mask, yours is the mean of nothing, which is NaN: it should be 0.
# replace: if not named.any():
#              return weights.new_zeros(()), weights.new_zeros(())
# by:

# %% wrong weight_on_object chance_one_without_words of="solution"
# If no word has a mask, both should be 0.
# replace: return weights.new_zeros(()), weights.new_zeros(())
# by:      return weights.new_zeros(()), weights.new_ones(())

# %% wrong weight_on_object mean_of_rows of="by_tiles"
# You average within each row first: all words count alike, whatever row they are in.
# replace: shares, chances = [], []
#          for row in range(batch):
# by:      shares, chances = [], []
#          all_shares, all_chances = [], []
#          for row in range(batch):
#              shares, chances = [], []
# replace: if not shares:
#              return
# by:          if shares:
#                  all_shares.append(torch.stack(shares).mean())
#                  all_chances.append(torch.stack(chances).mean())
#          if not all_shares:
#              return
# replace: return torch.stack(shares).mean(), torch.stack(chances).mean()
# by:      return torch.stack(all_shares).mean(), torch.stack(all_chances).mean()

# %% wrong weight_on_object whole_cells_only of="solution"
# You count cells that the object fills: one pixel is enough.
# replace: F.max_pool2d(masks.to(weights.dtype), stride).flatten(2)
# by:      -F.max_pool2d(-masks.to(weights.dtype), stride).flatten(2)

# %% wrong weight_on_object by_area of="solution"
# You weight each cell by how much of it the object covers: a cell counts whole if one pixel of the
# object is in it.
# replace: F.max_pool2d(masks.to(weights.dtype), stride)
# by:      F.avg_pool2d(masks.to(weights.dtype), stride)

# %% wrong weight_on_object half_a_cell of="solution"
# You count cells that the object covers by half: one pixel is enough.
# replace: F.max_pool2d(masks.to(weights.dtype), stride)
# by:      (F.avg_pool2d(masks.to(weights.dtype), stride) >= 0.5).to(weights.dtype)

# %% wrong weight_on_object corner_pixel of="solution"
# You test only the first pixel of each cell: any pixel of the object in it counts.
# replace: F.max_pool2d(masks.to(weights.dtype), stride)
# by:      masks[..., ::stride, ::stride].to(weights.dtype)

# %% wrong weight_on_object middle_pixel of="solution"
# You test one pixel of each cell, in its middle: any pixel of the object in it counts.
# replace: F.max_pool2d(masks.to(weights.dtype), stride)
# by:      masks[..., stride // 2 :: stride, stride // 2 :: stride].to(weights.dtype)

# %% wrong weight_on_object column_by_column of="solution"
# Your cells come column by column: the weights have them row by row.
# replace: F.max_pool2d(masks.to(weights.dtype), stride).flatten(2)
# by:      F.max_pool2d(masks.to(weights.dtype), stride).mT.flatten(2)

# %% wrong weight_on_object sliding of="solution"
# Your tiles overlap: each cell begins `stride` pixels after the one before.
# replace: touched = F.max_pool2d(masks.to(weights.dtype), stride).flatten(2)
# by:      padded = F.pad(masks.to(weights.dtype), (1, 1, 1, 1))
#          touched = F.max_pool2d(padded, stride + 2, stride).flatten(2)

# %% wrong weight_on_object mean_weight of="solution"
# You average the weights on the object's cells: sum them.
# replace: (weights * touched).sum(-1)
# by:      (weights * touched).sum(-1) / touched.sum(-1).clamp(min=1)

# %% wrong weight_on_object mean_over_cells of="solution"
# You average over all cells: sum the weight on the object's.
# replace: (weights * touched).sum(-1)
# by:      (weights * touched).mean(-1)

# %% wrong weight_on_object largest_weight of="solution"
# You take the largest weight on the object: sum the weights of its cells.
# replace: (weights * touched).sum(-1)
# by:      (weights * touched).amax(-1)

# %% wrong weight_on_object does_it_hit of="solution"
# You count whether the largest weight is on the object: the weight on its cells is wanted.
# replace: (weights * touched).sum(-1)
# by:      touched.gather(-1, weights.argmax(-1, keepdim=True))[..., 0]

# %% wrong weight_on_object off_the_object of="solution"
# Yours is the weight beside the object.
# replace: (weights * touched).sum(-1)
# by:      (weights * (1 - touched)).sum(-1)

# %% wrong weight_on_object weighted_by_area of="solution"
# Large objects count more in yours: every word with a mask counts alike.
# replace: on_object[named].mean(), touched
# by:      (on_object * touched.sum(-1)).sum() / touched.sum(), touched

# %% wrong weight_on_object chance_in_pixels of="solution"
# Your chance counts pixels: it is the share of the cells that the object touches.
# replace: touched.mean(-1)[named].mean()
# by:      masks.flatten(2).to(weights.dtype).mean(-1)[named].mean()

# %% wrong weight_on_object chance_of_one_cell of="solution"
# Your chance is that of a single cell: an object touches several.
# replace: touched.mean(-1)[named].mean()
# by:      weights.new_tensor(1 / weights.shape[-1])

# %% wrong weight_on_object chance_as_count of="solution"
# Your chance counts cells: divide by the number of all cells.
# replace: touched.mean(-1)[named].mean()
# by:      touched.sum(-1)[named].mean()

# %% wrong weight_on_object chance_beside of="solution"
# Your chance is the share of cells that the object does not touch.
# replace: touched.mean(-1)[named].mean()
# by:      1 - touched.mean(-1)[named].mean()

# %% wrong weight_on_object above_chance of="solution"
# You subtract chance from share: return both as they are.
# replace: on_object[named].mean(), touched
# by:      (on_object - touched.mean(-1))[named].mean(), touched

# %% wrong weight_on_object swapped of="solution"
# You return chance first: the docstring says (share, chance).
# replace: return on_object[named].mean(), touched.mean(-1)[named].mean()
# by:      return touched.mean(-1)[named].mean(), on_object[named].mean()

# %% wrong weight_on_object share_alone of="solution"
# You return the share alone: the docstring says (share, chance).
# replace: return on_object[named].mean(), touched.mean(-1)[named].mean()
# by:      return on_object[named].mean()

# %% wrong weight_on_object one_for_each_word of="solution"
# You return a number for each word: the means over the words with a mask are wanted.
# replace: return on_object[named].mean(), touched.mean(-1)[named].mean()
# by:      return on_object[named], touched.mean(-1)[named]

# %% wrong weight_on_object summed of="solution"
# You sum over the words: the mean is wanted.
# replace: on_object[named].mean(), touched.mean(-1)[named].mean()
# by:      on_object[named].sum(), touched.mean(-1)[named].sum()

# %% wrong weight_on_object plain_numbers of="solution"
# share should be a tensor
# replace: return on_object[named].mean(), touched.mean(-1)[named].mean()
# by:      return on_object[named].mean().item(), touched.mean(-1)[named].mean().item()

# %% wrong weight_on_object union_of_words of="solution"
# You join the objects of all words: each word has its own.
# replace: F.max_pool2d(masks.to(weights.dtype), stride).flatten(2)
# by:      F.max_pool2d(masks.to(weights.dtype), stride).flatten(2)
#          touched = touched.amax(1, keepdim=True).expand_as(touched)

# %% wrong weight_on_object float32 of="solution"
# something on the way has another dtype: .float(), a NumPy array, a tensor that you make
# replace: return on_object[named].mean(), touched.mean(-1)[named].mean()
# by:      return on_object[named].mean().float(), touched.mean(-1)[named].mean().float()

# %% wrong weight_on_object chance_in_float32 of="solution"
# something on the way has another dtype: .float(), a NumPy array, a tensor that you make
# replace: touched.mean(-1)[named].mean()
# by:      touched.float().mean(-1)[named].mean()

# %% wrong weight_on_object in_place of="solution"
# operations that end in _ (add_, masked_fill_), x[...] = y and x -= y write into the caller's
# tensor: make a new one
# replace: on_object = (weights * touched).sum(-1)
# by:      on_object = weights.mul_(touched).sum(-1)

# %% wrong weight_on_object nothing_returned of="solution"
# does the last line say `return`?
# replace: return on_object[named].mean(), touched.mean(-1)[named].mean()
# by:      on_object[named].mean(), touched.mean(-1)[named].mean()

# %% wrong weight_on_object box_around of="by_tiles"
# You count all cells of a box around the object: only those count in which it has a pixel.
# replace: if touched[row, word].any():
# by:      grid = touched[row, word].view(height // stride, width // stride)
#          ys, xs = grid.any(1).nonzero().flatten(), grid.any(0).nonzero().flatten()
#          if len(ys):
#              grid[ys[0] : ys[-1] + 1, xs[0] : xs[-1] + 1] = True
#          if touched[row, word].any():

# %% wrong weight_on_object square_grid of="solution"
# Your grid is as square as the number of cells allows: its sides are those of the image, divided
# by the stride.
# replace: F.max_pool2d(masks.to(weights.dtype), stride).flatten(2)
# by:      F.adaptive_max_pool2d(
#              masks.to(weights.dtype),
#              (int(weights.shape[2] ** 0.5), weights.shape[2] // int(weights.shape[2] ** 0.5)),
#          ).flatten(2)

# %% wrong weight_on_object weight_for_mask of="solution"
# You count only words with weight on their object: a word counts if it has a mask.
# replace: named = touched.any(-1)
#          if not named.any():
#              return weights.new_zeros(()), weights.new_zeros(())
#          on_object = (weights * touched).sum(-1)
# by:      on_object = (weights * touched).sum(-1)
#          named = on_object > 0
#          if not named.any():
#              return weights.new_zeros(()), weights.new_zeros(())

# %% wrong weight_on_object weight_for_mask_in_share of="solution"
# In share you leave out words with no weight on their object: they count as 0.
# replace: return on_object[named].mean(), touched
# by:      counted = on_object[on_object > 0]
#          share = counted.mean() if len(counted) else weights.new_zeros(())
#          return share, touched

# %% wrong weight_on_object normalised of="solution"
# You divide by the sum of a word's weights: share is the plain sum of the weights on the object.
# replace: (weights * touched).sum(-1)
# by:      (weights * touched).sum(-1) / weights.sum(-1)

# %% wrong weight_on_object clamped of="solution"
# You cut share off at 1: it is the plain sum of the weights on the object.
# replace: on_object[named].mean()
# by:      on_object[named].clamp(max=1).mean()

# %% right weight_on_object loops of="by_tiles"
# replace: return torch.zeros((), dtype=weights.dtype), torch.zeros((), dtype=weights.dtype)
# by:      return weights.new_tensor(0.0), weights.new_tensor(0.0)

# %% right weight_on_object divided_by_the_count of="solution"
# replace: if not named.any():
#              return weights.new_zeros(()), weights.new_zeros(())
#          on_object = (weights * touched).sum(-1)
#          return on_object[named].mean(), touched.mean(-1)[named].mean()
# by:      count = named.sum().clamp(min=1)
#          return (weights * touched).sum() / count, touched.mean(-1).sum() / count

# %% right weight_on_object unfolded of="solution"
# replace: F.max_pool2d(masks.to(weights.dtype), stride).flatten(2)
# by:      masks.unfold(2, stride, stride).unfold(3, stride, stride).flatten(4).any(-1)
#          touched = touched.flatten(2).to(weights)

# %% right weight_on_object einsum of="solution"
# replace: on_object = (weights * touched).sum(-1)
#          return on_object[named].mean(), touched.mean(-1)[named].mean()
# by:      on_object = torch.einsum("btc,btc->bt", weights, touched)
#          return on_object[named].mean(), touched[named].mean()

# %% right weight_on_object counted_pixels of="solution"
# replace: F.max_pool2d(masks.to(weights.dtype), stride).flatten(2)
# by:      (F.avg_pool2d(masks.double(), stride) > 0).to(weights.dtype).flatten(2)


# %% base occlusion_map tile_by_tile
def occlusion_map(
    score: Callable[[Tensor], Tensor], image: Tensor, size: int, fill: float = 0.0
) -> Tensor:
    _, height, width = image.shape
    if height % size or width % size:
        raise ValueError(f"size {size} does not divide {height} and {width}")
    whole = score(image.unsqueeze(0))[0]
    rows = []
    for y in range(0, height, size):
        row = []
        for x in range(0, width, size):
            covered = image.clone()
            covered[:, y : y + size, x : x + size] = fill
            row.append(whole - score(covered.unsqueeze(0))[0])
        rows.append(torch.stack(row, dim=-1))
    return torch.stack(rows, dim=1)


# %% wrong occlusion_map covers_pile_up of="tile_by_tile"
# Your covers pile up: each copy should begin with the image as it was.
# replace: rows = []
#          for y in
# by:      rows, covered = [], image.clone()
#          for y in
# replace: covered = image.clone()
#          covered[
# by:      covered[

# %% wrong occlusion_map covers_pile_up_in_rows of="tile_by_tile"
# Your covers pile up within a row: each copy should begin with the image as it was.
# replace: row = []
#          for x in
# by:      row, covered = [], image.clone()
#          for x in
# replace: covered = image.clone()
#          covered[
# by:      covered[

# %% wrong occlusion_map image_changed of="tile_by_tile"
# operations that end in _ (add_, masked_fill_), x[...] = y and x -= y write into the caller's
# tensor: make a new one
# replace: covered = image.clone()
# by:      covered = image

# %% wrong occlusion_map expanded of="solution"
# Your copies share their memory: expand makes views, so every tile is covered in all of them.
# replace: covered = image.repeat(rows * columns, 1, 1, 1)
# by:      covered = image.clone().expand(rows * columns, -1, -1, -1)

# %% wrong occlusion_map after_minus_before of="tile_by_tile"
# Your sign is reversed: it should be the score before minus the score after.
# replace: whole - score(covered.unsqueeze(0))[0]
# by:      score(covered.unsqueeze(0))[0] - whole

# %% wrong occlusion_map score_alone of="tile_by_tile"
# You return the scores of the covered images: subtract them from the score of the whole one.
# replace: whole - score(covered.unsqueeze(0))[0]
# by:      score(covered.unsqueeze(0))[0]

# %% wrong occlusion_map absolute of="tile_by_tile"
# You take the absolute change: a score that rises has a negative entry.
# replace: whole - score(covered.unsqueeze(0))[0]
# by:      (whole - score(covered.unsqueeze(0))[0]).abs()

# %% wrong occlusion_map falls_alone of="tile_by_tile"
# You cut rises off at 0: a score that rises has a negative entry.
# replace: whole - score(covered.unsqueeze(0))[0]
# by:      (whole - score(covered.unsqueeze(0))[0]).clamp(min=0)

# %% wrong occlusion_map relative of="tile_by_tile"
# You divide by the score of the whole image: the difference is wanted.
# replace: whole - score(covered.unsqueeze(0))[0]
# by:      (whole - score(covered.unsqueeze(0))[0]) / whole

# %% wrong occlusion_map fill_ignored of="tile_by_tile"
# You always fill with 0: the caller says with what.
# replace: covered[:, y : y + size, x : x + size] = fill
# by:      covered[:, y : y + size, x : x + size] = 0.0

# %% wrong occlusion_map fill_added of="tile_by_tile"
# You add fill to the tile: replace what is there.
# replace: covered[:, y : y + size, x : x + size] = fill
# by:      covered[:, y : y + size, x : x + size] += fill

# %% wrong occlusion_map fill_multiplied of="tile_by_tile"
# You multiply the tile by fill: replace what is there.
# replace: covered[:, y : y + size, x : x + size] = fill
# by:      covered[:, y : y + size, x : x + size] *= fill

# %% wrong occlusion_map filled_with_the_mean of="tile_by_tile"
# You fill with the image's mean: the caller says with what.
# replace: covered[:, y : y + size, x : x + size] = fill
# by:      covered[:, y : y + size, x : x + size] = image.mean()

# %% wrong occlusion_map first_channel of="tile_by_tile"
# You cover the first channel alone: fill all channels.
# replace: covered[:, y : y + size, x : x + size] = fill
# by:      covered[0, y : y + size, x : x + size] = fill

# %% wrong occlusion_map all_but_the_tile of="tile_by_tile"
# You cover everything but the tile: only the tile is covered.
# replace: covered = image.clone()
#          covered[:, y : y + size, x : x + size] = fill
# by:      covered = torch.full_like(image, fill)
#          covered[:, y : y + size, x : x + size] = image[:, y : y + size, x : x + size]

# %% wrong occlusion_map one_pixel of="tile_by_tile"
# You cover one pixel of each tile: cover size × size.
# replace: covered[:, y : y + size, x : x + size] = fill
# by:      covered[:, y, x] = fill

# %% wrong occlusion_map whole_rows of="tile_by_tile"
# You cover whole rows of the image: a tile is size × size pixels.
# replace: covered[:, y : y + size, x : x + size] = fill
# by:      covered[:, y : y + size] = fill

# %% wrong occlusion_map one_pixel_short of="tile_by_tile"
# Your tile is one pixel short: a slice leaves out its end.
# replace: covered[:, y : y + size, x : x + size] = fill
# by:      covered[:, y : y + max(size - 1, 1), x : x + max(size - 1, 1)] = fill

# %% wrong occlusion_map one_pixel_long of="tile_by_tile"
# Your tile is one pixel too large: a slice leaves out its end.
# replace: covered[:, y : y + size, x : x + size] = fill
# by:      covered[:, y : y + size + 1, x : x + size + 1] = fill

# %% wrong occlusion_map sliding of="tile_by_tile"
# Your tiles overlap: the next one begins `size` pixels further.
# replace: for y in range(0, height, size):
# by:      for y in range(height - size + 1):
# replace: for x in range(0, width, size):
# by:      for x in range(width - size + 1):

# %% wrong occlusion_map columns_first of="tile_by_tile"
# Your rows and columns are swapped: (words, rows, columns).
# replace: return torch.stack(rows, dim=1)
# by:      return torch.stack(rows, dim=1).mT

# %% wrong occlusion_map words_last of="tile_by_tile"
# Your words come last: (words, rows, columns).
# replace: return torch.stack(rows, dim=1)
# by:      return torch.stack(rows, dim=1).movedim(0, -1)

# %% wrong occlusion_map tiles_in_a_row of="tile_by_tile"
# Your tiles stand in one axis: (words, rows, columns).
# replace: return torch.stack(rows, dim=1)
# by:      return torch.stack(rows, dim=1).flatten(1)

# %% wrong occlusion_map reshaped of="solution"
# You reshape (tiles, words) as if the words came first: transpose, then split the tiles.
# replace: return (score(image[None]) - score(covered)).T.unflatten(1, (rows, columns))
# by:      drops = score(image[None]) - score(covered)
#          return drops.reshape(-1, rows, columns)

# %% wrong occlusion_map column_by_column of="solution"
# Your tiles come column by column, but you read them row by row: tile i is in row i // columns.
# replace: y, x = size * (i // columns), size * (i % columns)
# by:      y, x = size * (i % rows), size * (i // rows)

# %% wrong occlusion_map divided_by_rows of="solution"
# You compute a tile's row with the number of rows: tile i is in row i // columns.
# replace: y, x = size * (i // columns), size * (i % columns)
# by:      y, x = size * (i // rows), size * (i % rows)

# %% wrong occlusion_map not_in_pixels of="solution"
# Your tile begins at its number, not at its pixel: multiply by size.
# replace: y, x = size * (i // columns), size * (i % columns)
# by:      y, x = i // columns, i % columns

# %% wrong occlusion_map x_and_y_swapped of="solution"
# You swap rows and columns of the image.
# replace: covered[i, :, y : y + size, x : x + size] = fill
# by:      covered[i, :, x : x + size, y : y + size] = fill

# %% wrong occlusion_map mean_over_words of="tile_by_tile"
# You average over the words: each word has its own map.
# replace: return torch.stack(rows, dim=1)
# by:      return torch.stack(rows, dim=1).mean(0, keepdim=True)

# %% wrong occlusion_map first_word of="tile_by_tile"
# You return the first word's map alone.
# replace: return torch.stack(rows, dim=1)
# by:      return torch.stack(rows, dim=1)[0]

# %% wrong occlusion_map minus_the_mean of="solution"
# You subtract from the mean over the covered images: the score of the whole image is what it falls
# from.
# replace: score(image[None]) - score(covered)
# by:      score(covered).mean(0) - score(covered)

# %% wrong occlusion_map no_error of="solution"
# You cut off what does not fit: the docstring asks for a ValueError.
# replace: if side % size:
# by:      if False:

# %% wrong occlusion_map height_alone of="solution"
# You examine the height alone: the width may not fit either.
# replace: for side in (height, width):
# by:      for side in (height,):

# %% wrong occlusion_map width_alone of="solution"
# You examine the width alone: the height may not fit either.
# replace: for side in (height, width):
# by:      for side in (width,):

# %% wrong occlusion_map an_assert of="solution"
# You stop with an AssertionError: the docstring says ValueError.
# replace: if side % size:
#              raise ValueError(f"tiles of {size} pixels do not divide a side of {side}")
# by:      assert side % size == 0, f"tiles of {size} pixels do not divide a side of {side}"

# %% wrong occlusion_map no_numbers of="solution"
# expected a ValueError that names 3 and 4
# replace: f"tiles of {size} pixels do not divide a side of {side}"
# by:      "the size does not divide the image"

# %% wrong occlusion_map size_not_named of="solution"
# expected a ValueError that names 3 and 4
# replace: f"tiles of {size} pixels do not divide a side of {side}"
# by:      f"the size does not divide a side of {side}"

# %% wrong occlusion_map side_not_named of="solution"
# expected a ValueError that names 3 and 4
# replace: f"tiles of {size} pixels do not divide a side of {side}"
# by:      f"tiles of {size} pixels do not fit"

# %% wrong occlusion_map without_a_batch of="tile_by_tile"
# score needs a batch, (n, channels, height, width): give it image[None].
# replace: whole = score(image.unsqueeze(0))[0]
# by:      whole = score(image)[0]

# %% wrong occlusion_map float32 of="solution"
# something on the way has another dtype: .float(), a NumPy array, a tensor that you make
# replace: .T.unflatten(1, (rows, columns))
# by:      .T.unflatten(1, (rows, columns)).float()

# %% wrong occlusion_map nothing_returned of="tile_by_tile"
# does the last line say `return`?
# replace: return torch.stack(rows, dim=1)
# by:      torch.stack(rows, dim=1)

# %% wrong occlusion_map a_type_error of="solution"
# raise ValueError(f"…"), with 3 and 4 in the message
# replace: raise ValueError(
# by:      raise TypeError(

# %% wrong occlusion_map begins_at_its_number of="tile_by_tile"
# Your tile begins at its number, not at its pixel: multiply by size.
# replace: covered[:, y : y + size, x : x + size] = fill
# by:      covered[:, y // size : y // size + size, x // size : x // size + size] = fill

# %% wrong occlusion_map thirty_two_tiles of="solution"
# You cover 32 tiles at most: there are rows · columns of them.
# replace: for i in range(rows * columns):
# by:      for i in range(min(rows * columns, 32)):

# %% wrong occlusion_map three_channels of="solution"
# You cover the first three channels alone: cover all of them.
# replace: covered[i, :, y
# by:      covered[i, :3, y

# %% wrong occlusion_map area_alone of="solution"
# You examine the area: size should divide each side.
# replace: for side in (height, width):
#              if side % size:
#                  raise ValueError(f"tiles of {size} pixels do not divide a side of {side}")
# by:      if height * width % size**2:
#              raise ValueError(f"tiles of {size} pixels do not divide {height} × {width}")

# %% wrong occlusion_map fill_clamped of="solution"
# You cut fill off at 0 and 1: cover with the number that is given.
# replace: = fill
# by:      = min(max(fill, 0.0), 1.0)

# %% right occlusion_map one_by_one of="tile_by_tile"
# replace: torch.stack(row, dim=-1)
# by:      torch.stack(row, dim=1)

# %% right occlusion_map masked of="solution"
# replace: covered = image.repeat(rows * columns, 1, 1, 1)
#          for i in range(rows * columns):
#              y, x = size * (i // columns), size * (i % columns)
#              covered[i, :, y : y + size, x : x + size] = fill
# by:      tiles = torch.eye(rows * columns, dtype=torch.bool).reshape(-1, 1, rows, columns)
#          tiles = tiles.repeat_interleave(size, 2).repeat_interleave(size, 3)
#          covered = image.masked_fill(tiles, fill)

# %% right occlusion_map whole_first_in_the_batch of="solution"
# replace: covered = image.repeat(rows * columns, 1, 1, 1)
# by:      covered = image[None].expand(1 + rows * columns, -1, -1, -1).clone()
# replace: covered[i, :, y : y + size, x : x + size] = fill
# by:      covered[1 + i, :, y : y + size, x : x + size] = fill
# replace: return (score(image[None]) - score(covered)).T.unflatten(1, (rows, columns))
# by:      scores = score(covered)
#          return (scores[0] - scores[1:]).T.reshape(-1, rows, columns)

# %% right occlusion_map filled_map of="solution"
# replace: covered = image.repeat(rows * columns, 1, 1, 1)
#          for i in range(rows * columns):
#              y, x = size * (i // columns), size * (i % columns)
#              covered[i, :, y : y + size, x : x + size] = fill
#          return (score(image[None]) - score(covered)).T.unflatten(1, (rows, columns))
# by:      before = score(image[None])[0]
#          drops = before.new_zeros(len(before), rows, columns)
#          for row in range(rows):
#              for column in range(columns):
#                  ys, xs = torch.arange(size) + row * size, torch.arange(size) + column * size
#                  copy = image.clone()
#                  copy[:, ys[:, None], xs] = fill
#                  drops[:, row, column] = before - score(copy[None])[0]
#          return drops

# %% right occlusion_map by_batches_of_rows of="solution"
# replace: covered = image.repeat(rows * columns, 1, 1, 1)
#          for i in range(rows * columns):
#              y, x = size * (i // columns), size * (i % columns)
#              covered[i, :, y : y + size, x : x + size] = fill
#          return (score(image[None]) - score(covered)).T.unflatten(1, (rows, columns))
# by:      found = []
#          for y in range(0, height, size):
#              covered = torch.stack([image] * columns)
#              for column, x in enumerate(range(0, width, size)):
#                  covered[column, :, y : y + size, x : x + size] = fill
#              found.append(score(covered))
#          return (score(image[None])[0] - torch.stack(found)).permute(2, 0, 1)
