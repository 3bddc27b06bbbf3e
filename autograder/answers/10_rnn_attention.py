# %% given imports
# pyright: reportRedeclaration=false, reportReturnType=false, reportUnusedExpression=false
# pyright: reportArgumentType=false, reportCallIssue=false, reportIndexIssue=false
# pyright: reportAttributeAccessIssue=false, reportIncompatibleVariableOverride=false
# pyright: reportOptionalMemberAccess=false, reportOperatorIssue=false
# pyright: reportGeneralTypeIssues=false, reportUndefinedVariable=false
# pyright: reportOptionalSubscript=false, reportPossiblyUnboundVariable=false
import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from transformer_course.checks import numbers


def additive_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    w_query: Tensor,
    w_key: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
) -> tuple[Tensor, Tensor]: ...


# %% base encode unpacked
def encode(gru: nn.GRU, embedded: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    is_token = (torch.arange(embedded.shape[1]) < lengths[:, None])[..., None]
    states, last = gru(embedded)
    states = states * is_token
    return states, last.transpose(0, 1).flatten(1)


# %% base encode gathered
def encode(gru: nn.GRU, embedded: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    rows, width = torch.arange(len(lengths)), gru.hidden_size
    packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
    states = pad_packed_sequence(gru(packed)[0], True, total_length=embedded.shape[1])[0]
    first, end = states[:, 0, width:], states[rows, lengths - 1, :width]
    return states, torch.cat([end, first], -1)


# %% base encode row_by_row
def encode(gru: nn.GRU, embedded: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    all_states, all_last = [], []
    for row, count in zip(embedded, lengths.tolist(), strict=True):
        states, last = gru(row[None, :count])
        all_states.append(F.pad(states[0], (0, 0, 0, len(row) - count)))
        all_last.append(last[:, 0].flatten())
    return torch.stack(all_states), torch.stack(all_last)


# %% base encode sorted_rows
def encode(gru: nn.GRU, embedded: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    order = lengths.argsort(descending=True)
    back = order.argsort()
    packed = pack_padded_sequence(embedded[order], lengths[order], batch_first=True)
    states, last = gru(packed)
    states, _ = pad_packed_sequence(states, batch_first=True, total_length=embedded.shape[1])
    last = last.transpose(0, 1).flatten(1)
    return states[back], last[back]


# %% wrong encode padding_read of="unpacked"
# Your GRU reads the padding too, so `last` is its state after the padding: stop each row after
# its last token.
# replace: states = states * is_token
#          return
# by:      return

# %% wrong encode states_zeroed_only of="unpacked"
# You zero the states at padding, but the GRU has read it: `last` is still the state after the
# padding.
# replace: states, last = gru(embedded)
# by:      states, last = gru(embedded)
#          # zero at padding

# %% wrong encode backward_reads_padding of="unpacked"
# Your backward direction begins at the end of the padding, and carries it into the states of the
# tokens.
# replace: return states, last.transpose(0, 1).flatten(1)
# by:      rows, width = torch.arange(len(lengths)), gru.hidden_size
#          end, first = states[rows, lengths - 1, :width], states[:, 0, width:]
#          return states, torch.cat([end, first], -1)

# %% wrong encode padding_zeroed_first of="unpacked"
# You make the embeddings of the padding 0, but the GRU still reads them, and its state changes
# there.
# replace: states, last = gru(embedded)
# by:      states, last = gru(embedded * is_token)

# %% wrong encode padding_zeroed_first_and_gathered of="unpacked"
# Your backward direction begins with zeros that stand for padding: a GRU reads a zero, too, and
# its bias changes the state.
# replace: states, last = gru(embedded)
# by:      states, last = gru(embedded * is_token)
# replace: return states, last.transpose(0, 1).flatten(1)
# by:      rows, width = torch.arange(len(lengths)), gru.hidden_size
#          end, first = states[rows, lengths - 1, :width], states[:, 0, width:]
#          return states, torch.cat([end, first], -1)

# %% wrong encode zeroed_in_place of="unpacked"
# operations that end in _ (add_, masked_fill_), x[...] = y and x -= y write into the caller's
# tensor: make a new one
# replace: states, last = gru(embedded)
# by:      embedded[~is_token[..., 0]] = 0.0
#          states, last = gru(embedded)

# %% wrong encode states_at_padding_kept of="unpacked"
# Your states at padding are not 0: the GRU goes on there, and attention could read what it makes
# of padding.
# replace: is_token = (torch.arange(embedded.shape[1]) < lengths[:, None])[..., None]
#          states, last = gru(embedded)
#          states = states * is_token
#          return states, last.transpose(0, 1).flatten(1)
# by:      states, _ = gru(embedded)
#          return states, encode_alone(gru, embedded, lengths)
# replace: def encode(
# by:      def encode_alone(gru: nn.GRU, embedded: Tensor, lengths: Tensor) -> Tensor:
#              packed = pack_padded_sequence(embedded, lengths, True, enforce_sorted=False)
#              return gru(packed)[1].transpose(0, 1).flatten(1)
#
#
#          def encode(

# %% wrong encode minus_one_at_padding of="solution"
# Your states at padding are -1: the docstring says zero.
# replace: batch_first=True, total_length=length)
# by:      True, -1.0, total_length=length)

# %% wrong encode last_state_repeated of="gathered"
# You repeat the last state of a row at its padding: the states there should be zero.
# replace: return states, torch.cat([end, first], -1)
# by:      column = torch.minimum(torch.arange(embedded.shape[1]), lengths[:, None] - 1)
#          return states[rows[:, None], column], torch.cat([end, first], -1)

# %% wrong encode last_column of="gathered"
# You take the last column of `states`: for a shorter row that is padding.
# replace: end = states[:, 0, width:], states[rows, lengths - 1, :width]
# by:      end = states[:, 0, width:], states[:, -1, :width]

# %% wrong encode both_at_the_last_token of="gathered"
# You take the backward state at the last token, where it has read one token only: take it at the
# first.
# replace: states[:, 0, width:]
# by:      states[rows, lengths - 1, width:]

# %% wrong encode both_at_the_first_token of="gathered"
# You take the forward state at the first token, where it has read one token only: take it at the
# last.
# replace: states[rows, lengths - 1, :width]
# by:      states[:, 0, :width]

# %% wrong encode one_before_the_last of="gathered"
# Your `last` is the state one token before the last one: positions count from 0, so the last one
# is lengths - 1.
# replace: states[rows, lengths - 1, :width]
# by:      states[rows, (lengths - 2).clamp(min=0), :width]

# %% wrong encode last_by_the_longest_row of="gathered"
# You take `last` at the end of the longest row: each row has a length of its own.
# replace: states[rows, lengths - 1, :width]
# by:      states[:, lengths.max() - 1, :width]

# %% wrong encode last_direction_only of="solution"
# You return one direction of `last`, the backward one: join the forward state and the backward
# state.
# replace: return states, last.transpose(0, 1).flatten(1)
# by:      return states, last[-1]

# %% wrong encode first_direction_only of="solution"
# You return one direction of `last`, the forward one: join the forward state and the backward
# state.
# replace: return states, last.transpose(0, 1).flatten(1)
# by:      return states, last[0]

# %% wrong encode reshaped_without_transposing of="solution"
# Your `last` mixes the rows of the batch: its first axis is the direction, so transpose before
# you join.
# replace: return states, last.transpose(0, 1).flatten(1)
# by:      return states, last.reshape(len(lengths), -1)

# %% wrong encode backward_first of="solution"
# You put the backward state in front: the forward state comes first.
# replace: return states, last.transpose(0, 1).flatten(1)
# by:      return states, last.flip(0).transpose(0, 1).flatten(1)

# %% wrong encode directions_summed of="solution"
# You add the two directions of `last`: put them side by side.
# replace: return states, last.transpose(0, 1).flatten(1)
# by:      return states, last.sum(0)

# %% wrong encode directions_averaged of="solution"
# You average the two directions of `last`: put them side by side.
# replace: return states, last.transpose(0, 1).flatten(1)
# by:      return states, last.mean(0)

# %% wrong encode states_summed_over_directions of="solution"
# You add the two directions of `states`: put them side by side.
# replace: return states, last.transpose(0, 1).flatten(1)
# by:      states = states.unflatten(-1, (-1, gru.hidden_size)).sum(2)
#          return states, last.transpose(0, 1).flatten(1)

# %% wrong encode last_as_the_gru_gives_it of="solution"
# You return `last` as the GRU gives it, (directions, batch, d_hidden): bring the batch to the
# front and join the directions.
# replace: return states, last.transpose(0, 1).flatten(1)
# by:      return states, last

# %% wrong encode last_not_joined of="solution"
# Your `last` has an axis for the directions: join them, so that it is (batch, directions ·
# d_hidden).
# replace: return states, last.transpose(0, 1).flatten(1)
# by:      return states, last.transpose(0, 1)

# %% wrong encode last_squeezed of="solution"
# You squeeze `last`: with two directions its first axis is 2, and stays.
# replace: return states, last.transpose(0, 1).flatten(1)
# by:      return states, last.squeeze(0)

# %% wrong encode two_directions_expected of="solution"
# Your code expects two directions: a GRU may have one.
# replace: return states, last.transpose(0, 1).flatten(1)
# by:      return states, torch.cat([last[-2], last[-1]], -1)

# %% wrong encode cut_to_the_longest of="solution"
# Your states are as long as the longest row: pad_packed_sequence takes the total_length of
# embedded.
# replace: states, _ = pad_packed_sequence(packed_states, batch_first=True, total_length=length)
# by:      states, _ = pad_packed_sequence(packed_states, batch_first=True)

# %% wrong encode packed_length_first of="solution"
# You pack without batch_first=True, so the batch is read as the length.
# replace: lengths.cpu(), batch_first=True, enforce
# by:      lengths.cpu(), enforce

# %% wrong encode padded_length_first of="solution"
# You return states as (length, batch, …): pad_packed_sequence needs batch_first=True, too.
# replace: packed_states, batch_first=True, total
# by:      packed_states, total

# %% wrong encode sorted_expected of="solution"
# You pack as if the rows came sorted, longest first: set enforce_sorted=False.
# replace: , enforce_sorted=False
# by:

# %% wrong encode left_sorted of="sorted_rows"
# You sort the rows by their lengths and return them in that order: put them back.
# replace: return states[back], last[back]
# by:      return states, last

# %% wrong encode last_left_sorted of="sorted_rows"
# You put the states back in order, but not `last`: its rows are still sorted by length.
# replace: return states[back], last[back]
# by:      return states[back], last

# %% wrong encode states_left_sorted of="sorted_rows"
# You put `last` back in order, but not the states: their rows are still sorted by length.
# replace: return states[back], last[back]
# by:      return states, last[back]

# %% wrong encode put_back_by_the_same_order of="sorted_rows"
# You put the rows back by the order that sorted them: it takes the inverse, order.argsort().
# replace: back = order.argsort()
# by:      back = order

# %% wrong encode last_token_left_out of="solution"
# You leave out the last token of each row: lengths counts the tokens.
# replace: packed = pack_padded_sequence(embedded, lengths.cpu(),
# by:      counts = (lengths - 1).clamp(min=1)
#          packed = pack_padded_sequence(embedded, counts,

# %% wrong encode one_token_too_many of="solution"
# You read one padding behind each row: lengths counts the tokens.
# replace: packed = pack_padded_sequence(embedded, lengths.cpu(),
# by:      counts = (lengths + 1).clamp(max=embedded.shape[1])
#          packed = pack_padded_sequence(embedded, counts,

# %% wrong encode longest_for_all of="solution"
# You read every row as far as the longest: each row has a length of its own.
# replace: packed = pack_padded_sequence(embedded, lengths.cpu(),
# by:      counts = lengths.max().expand_as(lengths)
#          packed = pack_padded_sequence(embedded, counts,

# %% wrong encode shortest_for_all of="solution"
# You read every row only as far as the shortest: each row has a length of its own.
# replace: packed = pack_padded_sequence(embedded, lengths.cpu(),
# by:      counts = lengths.min().expand_as(lengths)
#          packed = pack_padded_sequence(embedded, counts,

# %% wrong encode state_carried_over of="row_by_row"
# Each of your rows begins with the last state of the row before: every row begins at zero.
# replace: all_states, all_last = [], []
# by:      all_states, all_last, last = [], [], None
# replace: gru(row[None, :count])
# by:      gru(row[None, :count], last)

# %% wrong encode padded_in_front of="row_by_row"
# You put the padding in front of the states: the tokens come first.
# replace: (0, 0, 0, len(row) - count)
# by:      (0, 0, len(row) - count, 0)

# %% wrong encode tokens_from_the_end of="row_by_row"
# You read the last tokens of each row, which are padding: the first `length` ones are the tokens.
# replace: row[None, :count]
# by:      row[None, -count:]

# %% wrong encode reversed_rows of="row_by_row"
# You read each row from its last token to its first: gru has the directions it needs.
# replace: row[None, :count]
# by:      row[None, :count].flip(1)

# %% wrong encode length_axis_first of="row_by_row"
# Your GRU gets the axes (length, batch, d_embedding): it expects the batch first.
# replace: gru(row[None, :count])
# by:      gru(row[:count, None])

# %% wrong encode starts_at_one of="solution"
# You start from a state of ones: leave the first state to the GRU, which takes zeros.
# replace: packed_states, last = gru(packed)
# by:      ones = embedded.new_ones(1 + gru.bidirectional, len(lengths), gru.hidden_size)
#          packed_states, last = gru(packed, ones)

# %% wrong encode no_gradient of="solution"
# no gradient flows through the result
# replace: packed_states, last = gru(packed)
# by:      with torch.no_grad():
#              packed_states, last = gru(packed)

# %% wrong encode last_detached of="solution"
# no gradient flows through the result
# replace: return states, last.transpose(0, 1).flatten(1)
# by:      return states, last.detach().transpose(0, 1).flatten(1)

# %% wrong encode input_detached of="solution"
# No gradient reaches the embeddings from your states: detach cuts it off.
# replace: packed = pack_padded_sequence(embedded,
# by:      embedded = embedded.detach()
#          packed = pack_padded_sequence(embedded,

# %% wrong encode mean_as_last of="solution"
# Your `last` is the mean of a row's states: it should be the last one.
# replace: return states, last.transpose(0, 1).flatten(1)
# by:      return states, states.sum(1) / lengths[:, None]

# %% wrong encode maximum_as_last of="solution"
# Your `last` is the largest value of each feature: it should be the last state.
# replace: return states, last.transpose(0, 1).flatten(1)
# by:      return states, states.amax(1)

# %% wrong encode sum_as_last of="solution"
# Your `last` is the sum of a row's states: it should be the last one.
# replace: return states, last.transpose(0, 1).flatten(1)
# by:      return states, states.sum(1)

# %% wrong encode swapped_results of="solution"
# You return last, then states: the docstring says (states, last).
# replace: return states, last.transpose(0, 1).flatten(1)
# by:      return last.transpose(0, 1).flatten(1), states

# %% wrong encode states_alone of="solution"
# You return the states alone: the docstring says (states, last).
# replace: return states, last.transpose(0, 1).flatten(1)
# by:      return states

# %% wrong encode still_packed of="solution"
# You return the packed states: unpack them with pad_packed_sequence.
# replace: return states, last.transpose(0, 1).flatten(1)
# by:      return packed_states, last.transpose(0, 1).flatten(1)

# %% wrong encode gru_of_its_own of="solution"
# You make a new GRU in the function: use the one that you are given.
# replace: packed_states, last = gru(packed)
# by:      gru = nn.GRU(embedded.shape[2], gru.hidden_size, batch_first=True)
#          packed_states, last = gru(packed)

# %% wrong encode evaluation_mode of="solution"
# call gru, and change nothing in it
# replace: packed_states, last = gru(packed)
# by:      packed_states, last = gru.eval()(packed)

# %% wrong encode weights_frozen of="solution"
# call gru, and change nothing in it
# replace: packed_states, last = gru(packed)
# by:      packed_states, last = gru.requires_grad_(False)(packed)

# %% wrong encode tanh_of_last of="solution"
# You put `last` through tanh: it should be the GRU's state as it is.
# replace: return states, last.transpose(0, 1).flatten(1)
# by:      return states, last.transpose(0, 1).flatten(1).tanh()

# %% wrong encode float32 of="solution"
# something on the way has another dtype: .float(), a NumPy array, a tensor that you make
# replace: return states, last.transpose(0, 1).flatten(1)
# by:      return states.float(), last.transpose(0, 1).flatten(1).float()

# %% wrong encode nothing_returned of="solution"
# does the last line say `return`?
# replace: return states, last.transpose(0, 1).flatten(1)
# by:      last.transpose(0, 1).flatten(1)

# %% wrong encode states_flattened of="solution"
# You join the axes of `states` too: they should be (batch, length, directions · d_hidden).
# replace: return states, last.transpose(0, 1).flatten(1)
# by:      return states.flatten(1), last.transpose(0, 1).flatten(1)

# %% wrong encode one_behind_the_last of="gathered"
# You take the state one position behind the last token: its index is lengths - 1.
# replace: states[rows, lengths - 1, :width]
# by:      states[rows, lengths.clamp(max=states.shape[1] - 1), :width]

# %% wrong encode every_length_of_every_row of="gathered"
# You take the states at all lengths from every row: pair each row with its own length.
# replace: return states, torch.cat([end, first], -1)
# by:      return states, states[:, lengths - 1]

# %% wrong encode ends_exchanged of="gathered"
# You take the forward state at the first token and the backward state at the last: there, each has
# read one token only.
# replace: return states, torch.cat([end, first], -1)
# by:      if not gru.bidirectional:
#              return states, end
#          return states, torch.cat([states[:, 0, :width], states[rows, lengths - 1, width:]], -1)

# %% wrong encode infinity_at_padding of="gathered"
# You fill the padding of `states` with −∞: it should be 0.
# replace: return states, torch.cat([end, first], -1)
# by:      is_token = torch.arange(embedded.shape[1]) < lengths[:, None]
#          return states.masked_fill(~is_token[..., None], -math.inf), torch.cat([end, first], -1)

# %% right encode without_total_length of="solution"
# replace: states, _ = pad_packed_sequence(packed_states, batch_first=True, total_length=length)
# by:      states, _ = pad_packed_sequence(packed_states, batch_first=True)
#          states = F.pad(states, (0, 0, 0, length - states.shape[1]))
# replace: return states, last.transpose(0, 1).flatten(1)
# by:      return states, torch.cat(list(last), -1)

# %% right encode each_row_alone of="row_by_row"
# replace: torch.stack(all_states), torch.stack(all_last)
# by:      torch.stack(all_states, 0), torch.stack(all_last, 0)

# %% right encode sorted_and_put_back of="sorted_rows"
# replace: last = last.transpose(0, 1).flatten(1)
# by:      last = last.permute(1, 0, 2).reshape(len(lengths), -1)

# %% right encode from_the_states of="gathered"
# replace: torch.cat([end, first], -1)
# by:      torch.cat((end, first), dim=1)

# %% right encode pack_sequence_of_rows of="solution"
# replace: pack_padded_sequence(embedded, lengths.cpu(), batch_first=True, enforce_sorted=False)
# by:      nn.utils.rnn.pack_sequence(
#              [row[:count] for row, count in zip(embedded, lengths.tolist(), strict=True)],
#              enforce_sorted=False,
#          )


# %% right encode cell_by_cell
def encode(gru: nn.GRU, embedded: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    steps = range(embedded.shape[1])
    parts, ends = [], []
    for end in ("", "_reverse") if gru.bidirectional else ("",):
        kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        weights = [getattr(gru, f"{kind}_l0{end}") for kind in kinds]
        state = embedded.new_zeros(len(embedded), gru.hidden_size)
        columns = {}
        for t in reversed(steps) if end else steps:
            new = torch.gru_cell(embedded[:, t], state, *weights)
            is_token = (t < lengths)[:, None]
            state = torch.where(is_token, new, state)
            columns[t] = torch.where(is_token, new, 0.0)
        parts.append(torch.stack([columns[t] for t in steps], 1))
        ends.append(state)
    return torch.cat(parts, -1), torch.cat(ends, -1)


# %% right encode gates_by_hand
def encode(gru: nn.GRU, embedded: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    def read(row: Tensor, end: str) -> Tensor:
        w_ih, w_hh = getattr(gru, "weight_ih_l0" + end), getattr(gru, "weight_hh_l0" + end)
        b_ih, b_hh = getattr(gru, "bias_ih_l0" + end), getattr(gru, "bias_hh_l0" + end)
        state, states = row.new_zeros(gru.hidden_size), []
        for x in row:
            r, z, n = (w_ih @ x + b_ih).chunk(3)
            r_old, z_old, n_old = (w_hh @ state + b_hh).chunk(3)
            update = torch.sigmoid(z + z_old)
            candidate = torch.tanh(n + torch.sigmoid(r + r_old) * n_old)
            state = (1 - update) * candidate + update * state
            states.append(state)
        return torch.stack(states)

    all_states, all_last = [], []
    for i, count in enumerate(lengths.tolist()):
        tokens = embedded[i, :count]
        states = read(tokens, "")
        last = states[-1]
        if gru.bidirectional:
            backward = read(tokens.flip(0), "_reverse")
            states, last = (
                torch.cat([states, backward.flip(0)], -1),
                torch.cat([last, backward[-1]]),
            )
        all_states.append(F.pad(states, (0, 0, 0, embedded.shape[1] - count)))
        all_last.append(last)
    return torch.stack(all_states), torch.stack(all_last)


# %% right encode padded_by_pad_sequence of="row_by_row"
# replace: all_states.append(F.pad(states[0], (0, 0, 0, len(row) - count)))
# by:      all_states.append(states[0])
# replace: return torch.stack(all_states), torch.stack(all_last)
# by:      states = nn.utils.rnn.pad_sequence(all_states, batch_first=True)
#          missing = embedded.shape[1] - states.shape[1]
#          return F.pad(states, (0, 0, 0, missing)), torch.stack(all_last)

# %% right encode list_of_lengths of="solution"
# replace: embedded, lengths.cpu(), batch_first=True,
# by:      embedded, lengths.tolist(), True,
# replace: return states, last.transpose(0, 1).flatten(1)
# by:      return states, last.permute(1, 0, 2).reshape(embedded.shape[0], -1)

# %% right encode written_into_zeros of="row_by_row"
# replace: all_states, all_last = [], []
# by:      width = gru.hidden_size * (1 + gru.bidirectional)
#          states = embedded.new_zeros(*embedded.shape[:2], width)
#          all_last = []
# replace: for row, count in zip(embedded, lengths.tolist(), strict=True):
#              states, last = gru(row[None, :count])
#              all_states.append(F.pad(states[0], (0, 0, 0, len(row) - count)))
# by:      for i, count in enumerate(lengths.tolist()):
#              own, last = gru(embedded[i, :count])
#              states[i, :count] = own
# replace: last[:, 0].flatten()
# by:      last.flatten()
# replace: return torch.stack(all_states), torch
# by:      return states, torch

# %% wrong dot_score scaled of="solution"
# You divide by √d: these scores have no scale.
# replace: return query @ key.transpose(1, 2)
# by:      return query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])

# %% wrong dot_score divided_by_d of="solution"
# You divide by d, as a mean of the products does: a dot product is their sum.
# replace: return query @ key.transpose(1, 2)
# by:      return query @ key.transpose(1, 2) / query.shape[-1]

# %% wrong dot_score times_root_d of="solution"
# You multiply by √d: these scores have no scale.
# replace: return query @ key.transpose(1, 2)
# by:      return query @ key.transpose(1, 2) * query.shape[-1] ** 0.5

# %% wrong dot_score scaled_by_keys of="solution"
# You divide by the root of the number of keys: these scores have no scale.
# replace: return query @ key.transpose(1, 2)
# by:      return query @ key.transpose(1, 2) / math.sqrt(key.shape[1])

# %% wrong dot_score softmaxed of="solution"
# You return weights: the scores are what goes into the softmax.
# replace: return query @ key.transpose(1, 2)
# by:      return torch.softmax(query @ key.transpose(1, 2), dim=-1)

# %% wrong dot_score scaled_and_softmaxed of="solution"
# You return attention weights, scaled and after a softmax: return the plain dot products.
# replace: return query @ key.transpose(1, 2)
# by:      return torch.softmax(query @ key.transpose(1, 2) / query.shape[-1] ** 0.5, dim=-1)

# %% wrong dot_score log_softmaxed of="solution"
# You subtract a normaliser from each row, as log_softmax does: return the plain dot products.
# replace: return query @ key.transpose(1, 2)
# by:      return torch.log_softmax(query @ key.transpose(1, 2), dim=-1)

# %% wrong dot_score axes_swapped of="solution"
# Your scores are (batch, key, query): the queries come first.
# replace: return query @ key.transpose(1, 2)
# by:      return key @ query.transpose(1, 2)

# %% wrong dot_score cosine of="solution"
# You divide by the lengths of the vectors, which gives their cosine: return the plain dot
# product.
# replace: return query @ key.transpose(1, 2)
# by:      return F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).transpose(1, 2)

# %% wrong dot_score keys_normalised of="solution"
# You divide each key by its length: return the plain dot product.
# replace: return query @ key.transpose(1, 2)
# by:      return query @ F.normalize(key, dim=-1).transpose(1, 2)

# %% wrong dot_score queries_normalised of="solution"
# You divide each query by its length: return the plain dot product.
# replace: return query @ key.transpose(1, 2)
# by:      return F.normalize(query, dim=-1) @ key.transpose(1, 2)

# %% wrong dot_score batch_mixed of="solution"
# You add up over the batch: each row scores its own keys.
# replace: return query @ key.transpose(1, 2)
# by:      return torch.einsum("bqd,ckd->bqk", query, key)

# %% wrong dot_score first_keys_for_all of="solution"
# Every row of your batch scores the keys of the first one: each has its own.
# replace: return query @ key.transpose(1, 2)
# by:      return query @ key[0].T

# %% wrong dot_score first_row_only of="solution"
# You compute the first row of the batch only.
# replace: return query @ key.transpose(1, 2)
# by:      return query[:1] @ key[:1].transpose(1, 2)

# %% wrong dot_score all_axes_reversed of="solution"
# .T reverses all three axes of key: swap the last two.
# replace: return query @ key.transpose(1, 2)
# by:      return query @ key.T

# %% wrong dot_score batch_axis_swapped of="solution"
# You swap the batch with the keys: swap the last two axes of key.
# replace: return query @ key.transpose(1, 2)
# by:      return query @ key.transpose(0, 1)

# %% wrong dot_score not_transposed of="solution"
# You multiply query and key as they are: swap the last two axes of key first.
# replace: return query @ key.transpose(1, 2)
# by:      return query @ key

# %% wrong dot_score elementwise of="solution"
# * multiplies number by number: a dot product also adds up.
# replace: return query @ key.transpose(1, 2)
# by:      return query * key

# %% wrong dot_score not_summed of="solution"
# You keep the products of the single features: add them up over d.
# replace: return query @ key.transpose(1, 2)
# by:      return query[:, :, None] * key[:, None]

# %% wrong dot_score best_alone of="solution"
# You return the score of the best key only: return one for every key.
# replace: return query @ key.transpose(1, 2)
# by:      return (query @ key.transpose(1, 2)).amax(-1)

# %% wrong dot_score distance of="solution"
# You return negative squared distances: return dot products.
# replace: return query @ key.transpose(1, 2)
# by:      return -(query[:, :, None] - key[:, None]).square().sum(-1)

# %% wrong dot_score absolute of="solution"
# You drop the sign of the scores.
# replace: return query @ key.transpose(1, 2)
# by:      return (query @ key.transpose(1, 2)).abs()

# %% wrong dot_score relu of="solution"
# You make negative scores 0: they may be negative.
# replace: return query @ key.transpose(1, 2)
# by:      return torch.relu(query @ key.transpose(1, 2))

# %% wrong dot_score tanh of="solution"
# You put the scores through tanh: that belongs to the additive score.
# replace: return query @ key.transpose(1, 2)
# by:      return torch.tanh(query @ key.transpose(1, 2))

# %% wrong dot_score squared of="solution"
# You square the scores.
# replace: return query @ key.transpose(1, 2)
# by:      return (query @ key.transpose(1, 2)).square()

# %% wrong dot_score negative of="solution"
# Your scores have the wrong sign: the key that fits best should have the highest.
# replace: return query @ key.transpose(1, 2)
# by:      return -query @ key.transpose(1, 2)

# %% wrong dot_score exponential of="solution"
# You return exp(score): the softmax comes later, and takes the exponential itself.
# replace: return query @ key.transpose(1, 2)
# by:      return (query @ key.transpose(1, 2)).exp()

# %% wrong dot_score centred of="solution"
# You subtract the mean over the keys: return the plain dot products.
# replace: return query @ key.transpose(1, 2)
# by:      scores = query @ key.transpose(1, 2)
#          return scores - scores.mean(-1, keepdim=True)

# %% wrong dot_score maximum_subtracted of="solution"
# You subtract the largest score of each query, as a softmax does inside: return the plain dot
# products.
# replace: return query @ key.transpose(1, 2)
# by:      scores = query @ key.transpose(1, 2)
#          return scores - scores.amax(-1, keepdim=True)

# %% wrong dot_score one_hot of="solution"
# You mark the best key of each query: return the scores themselves.
# replace: return query @ key.transpose(1, 2)
# by:      scores = query @ key.transpose(1, 2)
#          return F.one_hot(scores.argmax(-1), key.shape[1]).to(scores)

# %% wrong dot_score in_place of="solution"
# operations that end in _ (add_, masked_fill_), x[...] = y and x -= y write into the caller's
# tensor: make a new one
# replace: return query @ key.transpose(1, 2)
# by:      key.mul_(2)
#          return query @ key.transpose(1, 2) / 2

# %% wrong dot_score transposed_in_place of="solution"
# operations that end in _ (add_, masked_fill_), x[...] = y and x -= y write into the caller's
# tensor: make a new one
# replace: return query @ key.transpose(1, 2)
# by:      return query @ key.transpose_(1, 2)

# %% wrong dot_score float32 of="solution"
# something on the way has another dtype: .float(), a NumPy array, a tensor that you make
# replace: return query @ key.transpose(1, 2)
# by:      return query.float() @ key.float().transpose(1, 2)

# %% wrong dot_score half_way_in_float32 of="solution"
# right to seven digits, as float32 has them: what you make yourself, with arange, say, must have
# the input's dtype before you compute with it
# replace: return query @ key.transpose(1, 2)
# by:      return (query.float() @ key.float().transpose(1, 2)).to(query)

# %% wrong dot_score no_gradient of="solution"
# no gradient flows through the result
# replace: return query @ key.transpose(1, 2)
# by:      with torch.no_grad():
#              return query @ key.transpose(1, 2)

# %% wrong dot_score keys_detached of="solution"
# No gradient reaches your keys: they are learned, too.
# replace: return query @ key.transpose(1, 2)
# by:      return query @ key.detach().transpose(1, 2)

# %% wrong dot_score queries_detached of="solution"
# No gradient reaches your queries: they are learned, too.
# replace: return query @ key.transpose(1, 2)
# by:      return query.detach() @ key.transpose(1, 2)

# %% wrong dot_score squeezed of="solution"
# You remove the batch axis when the batch is 1: keep it.
# replace: return query @ key.transpose(1, 2)
# by:      return (query @ key.transpose(1, 2)).squeeze(0)

# %% wrong dot_score flattened of="solution"
# You join the batch with the queries: keep three axes.
# replace: return query @ key.transpose(1, 2)
# by:      return (query @ key.transpose(1, 2)).flatten(0, 1)

# %% wrong dot_score attended of="solution"
# You return the attended keys: return the scores.
# replace: return query @ key.transpose(1, 2)
# by:      return torch.softmax(query @ key.transpose(1, 2), -1) @ key

# %% wrong dot_score reshaped of="solution"
# reshape keeps the order of the numbers: swap the last two axes of key with transpose.
# replace: return query @ key.transpose(1, 2)
# by:      return query @ key.reshape(key.shape[0], key.shape[2], key.shape[1])

# %% wrong dot_score nothing_returned of="solution"
# does the last line say `return`?
# replace: return query @ key.transpose(1, 2)
# by:      query @ key.transpose(1, 2)

# %% wrong dot_score every_row_with_every_row of="solution"
# You score the queries of each row with the keys of every row: each row has its own keys.
# replace: query @ key.transpose(1, 2)
# by:      torch.tensordot(query, key, dims=([2], [2]))

# %% right dot_score einsum of="solution"
# replace: return query @ key.transpose(1, 2)
# by:      return torch.einsum("bqd,bkd->bqk", query, key)

# %% right dot_score bmm of="solution"
# replace: return query @ key.transpose(1, 2)
# by:      return torch.bmm(query, key.transpose(-1, -2))

# %% right dot_score mt of="solution"
# replace: return query @ key.transpose(1, 2)
# by:      return torch.matmul(query, key.mT)

# %% right dot_score summed_products of="solution"
# replace: return query @ key.transpose(1, 2)
# by:      return (query[:, :, None] * key[:, None]).sum(-1)

# %% right dot_score permuted of="solution"
# replace: return query @ key.transpose(1, 2)
# by:      return query.matmul(key.permute(0, 2, 1))

# %% right dot_score row_by_row of="solution"
# replace: return query @ key.transpose(1, 2)
# by:      return torch.stack([q @ k.T for q, k in zip(query, key, strict=True)])

# %% right dot_score keys_first of="solution"
# replace: return query @ key.transpose(1, 2)
# by:      return (key @ query.mT).mT

# %% right dot_score pair_by_pair of="solution"
# replace: return query @ key.transpose(1, 2)
# by:      rows = zip(query, key, strict=True)
#          return torch.stack(
#              [torch.stack([torch.stack([q.dot(k) for k in ks]) for q in qs]) for qs, ks in rows]
#          )

# %% right dot_score linear of="solution"
# replace: return query @ key.transpose(1, 2)
# by:      return torch.stack([F.linear(q, k) for q, k in zip(query, key, strict=True)])

# %% wrong general_score w_transposed of="solution"
# You use the transpose of w: its rows belong to the query, its columns to the key.
# replace: return query @ w @ key.transpose(1, 2)
# by:      return query @ w.T @ key.transpose(1, 2)

# %% wrong general_score w_left_out of="solution"
# You leave out w: query and key have different widths, and w leads from one to the other.
# replace: return query @ w @ key.transpose(1, 2)
# by:      return query @ key.transpose(1, 2)

# %% wrong general_score w_for_the_key of="solution"
# You multiply the key by w: it takes queries, d_query → d_key.
# replace: return query @ w @ key.transpose(1, 2)
# by:      return query @ (key @ w).transpose(1, 2)

# %% wrong general_score w_on_both_sides of="solution"
# You use w twice, for the query and for the key: once is enough.
# replace: return query @ w @ key.transpose(1, 2)
# by:      return (query @ w) @ (key @ w).transpose(1, 2)

# %% wrong general_score scaled_by_keys_width of="solution"
# You divide by √d_key: these scores have no scale.
# replace: return query @ w @ key.transpose(1, 2)
# by:      return query @ w @ key.transpose(1, 2) / math.sqrt(key.shape[-1])

# %% wrong general_score scaled_by_queries_width of="solution"
# You divide by √d_query: these scores have no scale.
# replace: return query @ w @ key.transpose(1, 2)
# by:      return query @ w @ key.transpose(1, 2) / math.sqrt(query.shape[-1])

# %% wrong general_score divided_by_width of="solution"
# You divide by d_key: these scores have no scale.
# replace: return query @ w @ key.transpose(1, 2)
# by:      return query @ w @ key.transpose(1, 2) / key.shape[-1]

# %% wrong general_score softmaxed of="solution"
# You return weights: the scores are what goes into the softmax.
# replace: return query @ w @ key.transpose(1, 2)
# by:      return torch.softmax(query @ w @ key.transpose(1, 2), dim=-1)

# %% wrong general_score log_softmaxed of="solution"
# You subtract a normaliser from each row, as log_softmax does: return the plain scores.
# replace: return query @ w @ key.transpose(1, 2)
# by:      return torch.log_softmax(query @ w @ key.transpose(1, 2), dim=-1)

# %% wrong general_score tanh_of_the_scores of="solution"
# You put the scores through tanh: that belongs to the additive score.
# replace: return query @ w @ key.transpose(1, 2)
# by:      return torch.tanh(query @ w @ key.transpose(1, 2))

# %% wrong general_score tanh_inside of="solution"
# You put query @ w through tanh: the general score is linear in the query.
# replace: return query @ w @ key.transpose(1, 2)
# by:      return torch.tanh(query @ w) @ key.transpose(1, 2)

# %% wrong general_score relu_inside of="solution"
# You make negative features of query @ w 0: the general score is linear in the query.
# replace: return query @ w @ key.transpose(1, 2)
# by:      return torch.relu(query @ w) @ key.transpose(1, 2)

# %% wrong general_score sigmoid of="solution"
# You put the scores through a sigmoid: return them as they are.
# replace: return query @ w @ key.transpose(1, 2)
# by:      return torch.sigmoid(query @ w @ key.transpose(1, 2))

# %% wrong general_score axes_swapped of="solution"
# Your scores are (batch, key, query): the queries come first.
# replace: return query @ w @ key.transpose(1, 2)
# by:      return key @ w.T @ query.transpose(1, 2)

# %% wrong general_score cosine of="solution"
# You divide by the lengths of the vectors: return the plain score.
# replace: return query @ w @ key.transpose(1, 2)
# by:      return F.normalize(query @ w, dim=-1) @ F.normalize(key, dim=-1).transpose(1, 2)

# %% wrong general_score query_normalised of="solution"
# You divide the projected query by its length: return the plain score.
# replace: return query @ w @ key.transpose(1, 2)
# by:      return F.normalize(query @ w, dim=-1) @ key.transpose(1, 2)

# %% wrong general_score w_normalised of="solution"
# You scale the columns of w to length 1: use w as it is.
# replace: return query @ w @ key.transpose(1, 2)
# by:      return query @ F.normalize(w, dim=0) @ key.transpose(1, 2)

# %% wrong general_score w_softmaxed of="solution"
# You put w through a softmax: use it as it is.
# replace: return query @ w @ key.transpose(1, 2)
# by:      return query @ torch.softmax(w, -1) @ key.transpose(1, 2)

# %% wrong general_score residual of="solution"
# You add the plain dot product: the general score is query · w · key alone.
# replace: return query @ w @ key.transpose(1, 2)
# by:      w = w + torch.eye(*w.shape).to(w)
#          return query @ w @ key.transpose(1, 2)

# %% wrong general_score batch_mixed of="solution"
# You add up over the batch: each row scores its own keys.
# replace: return query @ w @ key.transpose(1, 2)
# by:      return torch.einsum("bqd,de,cke->bqk", query, w, key)

# %% wrong general_score first_keys_for_all of="solution"
# Every row of your batch scores the keys of the first one: each has its own.
# replace: return query @ w @ key.transpose(1, 2)
# by:      return query @ w @ key[0].T

# %% wrong general_score first_queries_for_all of="solution"
# Every row of your batch uses the queries of the first one: each has its own.
# replace: return query @ w @ key.transpose(1, 2)
# by:      return query[:1] @ w @ key.transpose(1, 2)

# %% wrong general_score all_axes_reversed of="solution"
# .T reverses all three axes of key: swap the last two.
# replace: return query @ w @ key.transpose(1, 2)
# by:      return query @ w @ key.T

# %% wrong general_score not_transposed of="solution"
# You multiply by key as it is: swap its last two axes first.
# replace: return query @ w @ key.transpose(1, 2)
# by:      return query @ w @ key

# %% wrong general_score projected_query of="solution"
# You return query @ w: the dot products with the keys are missing.
# replace: return query @ w @ key.transpose(1, 2)
# by:      return query @ w

# %% wrong general_score not_summed of="solution"
# You keep the products of the single features: add them up.
# replace: return query @ w @ key.transpose(1, 2)
# by:      return (query @ w)[:, :, None] * key[:, None]

# %% wrong general_score best_alone of="solution"
# You return the score of the best key only: return one for every key.
# replace: return query @ w @ key.transpose(1, 2)
# by:      return (query @ w @ key.transpose(1, 2)).amax(-1)

# %% wrong general_score absolute of="solution"
# You drop the sign of the scores.
# replace: return query @ w @ key.transpose(1, 2)
# by:      return (query @ w @ key.transpose(1, 2)).abs()

# %% wrong general_score negative of="solution"
# Your scores have the wrong sign: the key that fits best should have the highest.
# replace: return query @ w @ key.transpose(1, 2)
# by:      return -(query @ w @ key.transpose(1, 2))

# %% wrong general_score distance of="solution"
# You return negative squared distances: return query · w · key.
# replace: return query @ w @ key.transpose(1, 2)
# by:      return -((query @ w)[:, :, None] - key[:, None]).square().sum(-1)

# %% wrong general_score maximum_subtracted of="solution"
# You subtract the largest score of each query, as a softmax does inside: return the plain scores.
# replace: return query @ w @ key.transpose(1, 2)
# by:      scores = query @ w @ key.transpose(1, 2)
#          return scores - scores.amax(-1, keepdim=True)

# %% wrong general_score in_place of="solution"
# operations that end in _ (add_, masked_fill_), x[...] = y and x -= y write into the caller's
# tensor: make a new one
# replace: return query @ w @ key.transpose(1, 2)
# by:      w.mul_(2)
#          return query @ w @ key.transpose(1, 2) / 2

# %% wrong general_score float32 of="solution"
# something on the way has another dtype: .float(), a NumPy array, a tensor that you make
# replace: return query @ w @ key.transpose(1, 2)
# by:      return query.float() @ w.float() @ key.float().transpose(1, 2)

# %% wrong general_score half_way_in_float32 of="solution"
# right to seven digits, as float32 has them: what you make yourself, with arange, say, must have
# the input's dtype before you compute with it
# replace: return query @ w @ key.transpose(1, 2)
# by:      return (query.float() @ w.float() @ key.float().transpose(1, 2)).to(query)

# %% wrong general_score no_gradient of="solution"
# no gradient flows through the result
# replace: return query @ w @ key.transpose(1, 2)
# by:      with torch.no_grad():
#              return query @ w @ key.transpose(1, 2)

# %% wrong general_score w_detached of="solution"
# No gradient reaches w: it is what the general score learns.
# replace: return query @ w @ key.transpose(1, 2)
# by:      return query @ w.detach() @ key.transpose(1, 2)

# %% wrong general_score w_as_data of="solution"
# No gradient reaches w: it is what the general score learns.
# replace: return query @ w @ key.transpose(1, 2)
# by:      return F.linear(query, w.data.T) @ key.transpose(1, 2)

# %% wrong general_score keys_detached of="solution"
# No gradient reaches your keys: they are learned, too.
# replace: return query @ w @ key.transpose(1, 2)
# by:      return query @ w @ key.detach().transpose(1, 2)

# %% wrong general_score own_matrix of="solution"
# You make a matrix of your own: use the w that you are given.
# replace: return query @ w @ key.transpose(1, 2)
# by:      w = torch.ones(*w.shape).to(w)
#          return query @ w @ key.transpose(1, 2)

# %% wrong general_score squeezed of="solution"
# You remove the batch axis when the batch is 1: keep it.
# replace: return query @ w @ key.transpose(1, 2)
# by:      return (query @ w @ key.transpose(1, 2)).squeeze(0)

# %% wrong general_score symmetric of="solution"
# You average w and its transpose: use w as it is.
# replace: return query @ w @ key.transpose(1, 2)
# by:      if w.shape[0] == w.shape[1]:
#              w = (w + w.T) / 2
#          return query @ w @ key.transpose(1, 2)

# %% wrong general_score transposed_if_square of="solution"
# For a square w you use its transpose: the rows of w belong to the query whatever its shape.
# replace: return query @ w @ key.transpose(1, 2)
# by:      if w.shape[0] == w.shape[1]:
#              w = w.T
#          return query @ w @ key.transpose(1, 2)

# %% wrong general_score w_reshaped of="solution"
# reshape keeps the order of the numbers: w has the shape it needs.
# replace: return query @ w @ key.transpose(1, 2)
# by:      w = w.reshape(w.shape[1], w.shape[0]).T
#          return query @ w @ key.transpose(1, 2)

# %% wrong general_score nothing_returned of="solution"
# does the last line say `return`?
# replace: return query @ w @ key.transpose(1, 2)
# by:      query @ w @ key.transpose(1, 2)

# %% wrong general_score keys_reshaped of="solution"
# reshape keeps the order of the numbers: swap the last two axes of key with transpose.
# replace: key.transpose(1, 2)
# by:      key.reshape(len(key), key.shape[2], key.shape[1])

# %% right general_score einsum of="solution"
# replace: return query @ w @ key.transpose(1, 2)
# by:      return torch.einsum("bqd,de,bke->bqk", query, w, key)

# %% right general_score key_first of="solution"
# replace: return query @ w @ key.transpose(1, 2)
# by:      return query @ (key @ w.T).transpose(1, 2)

# %% right general_score linear of="solution"
# replace: return query @ w @ key.transpose(1, 2)
# by:      return torch.bmm(F.linear(query, w.T), key.mT)

# %% right general_score summed_products of="solution"
# replace: return query @ w @ key.transpose(1, 2)
# by:      return ((query @ w)[:, :, None] * key[:, None]).sum(-1)

# %% right general_score row_by_row of="solution"
# replace: return query @ w @ key.transpose(1, 2)
# by:      return torch.stack([q @ w @ k.T for q, k in zip(query, key, strict=True)])

# %% right general_score bilinear of="solution"
# replace: return query @ w @ key.transpose(1, 2)
# by:      batch, n, m = query.shape[0], query.shape[1], key.shape[1]
#          pairs_q = query[:, :, None].expand(batch, n, m, query.shape[2]).contiguous()
#          pairs_k = key[:, None].expand(batch, n, m, key.shape[2]).contiguous()
#          return F.bilinear(pairs_q, pairs_k, w[None])[..., 0]

# %% right general_score transposed_twice of="solution"
# replace: return query @ w @ key.transpose(1, 2)
# by:      return (key @ (query @ w).mT).mT

# %% right general_score tensordot of="solution"
# replace: return query @ w @ key.transpose(1, 2)
# by:      return torch.tensordot(query, w, dims=1) @ key.permute(0, 2, 1)

# %% right general_score weighted_pairs of="solution"
# replace: return query @ w @ key.transpose(1, 2)
# by:      pairs = query[:, :, None, :, None] * key[:, None, :, None, :]
#          return (pairs * w).sum((-2, -1))


# %% base additive_attention weights_masked
def additive_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    w_query: Tensor,
    w_key: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    summed = (query @ w_query).unsqueeze(2) + (key @ w_key).unsqueeze(1)
    weights = torch.softmax(torch.tanh(summed) @ v, dim=-1)
    if mask is not None:
        weights = weights * mask
    return weights @ value, weights


# %% base additive_attention one_fill
def additive_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    w_query: Tensor,
    w_key: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    summed = (query @ w_query).unsqueeze(2) + (key @ w_key).unsqueeze(1)
    scores = torch.tanh(summed) @ v
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights


# %% wrong additive_attention no_tanh of="solution"
# You leave out tanh: without it the query adds the same to all scores, and the softmax cancels
# it.
# replace: scores = torch.tanh(hidden) @ v
# by:      scores = hidden @ v

# %% wrong additive_attention tanh_of_each of="solution"
# You put query and key through tanh before you add them: add first, then tanh.
# replace: hidden = (query @ w_query)[:, :, None] + (key @ w_key)[:, None]
# by:      hidden = torch.tanh(query @ w_query)[:, :, None] + torch.tanh(key @ w_key)[:, None]

# %% wrong additive_attention tanh_of_each_alone of="solution"
# Every query gets the same weights from your scores: add query and key first, and take tanh of
# the sum.
# replace: hidden = (query @ w_query)[:, :, None] + (key @ w_key)[:, None]
# by:      hidden = torch.tanh(query @ w_query)[:, :, None] + torch.tanh(key @ w_key)[:, None]
# replace: scores = torch.tanh(hidden) @ v
# by:      scores = hidden @ v

# %% wrong additive_attention tanh_of_the_key_alone of="solution"
# Every query gets the same weights from your scores: add query and key first, and take tanh of
# the sum.
# replace: hidden = (query @ w_query)[:, :, None] + (key @ w_key)[:, None]
# by:      hidden = (query @ w_query)[:, :, None] + torch.tanh(key @ w_key)[:, None]
# replace: scores = torch.tanh(hidden) @ v
# by:      scores = hidden @ v

# %% wrong additive_attention tanh_of_the_score of="solution"
# You take tanh after the product with v: it comes before.
# replace: scores = torch.tanh(hidden) @ v
# by:      scores = torch.tanh(hidden @ v)

# %% wrong additive_attention tanh_twice of="solution"
# You take tanh of the score, too: it belongs between the sum and v only.
# replace: scores = torch.tanh(hidden) @ v
# by:      scores = torch.tanh(torch.tanh(hidden) @ v)

# %% wrong additive_attention tanh_behind_v of="solution"
# You multiply by v inside tanh: v comes after it.
# replace: scores = torch.tanh(hidden) @ v
# by:      scores = torch.tanh(hidden * v).sum(-1)

# %% wrong additive_attention sigmoid of="solution"
# You use a sigmoid: the nonlinearity here is tanh.
# replace: scores = torch.tanh(hidden) @ v
# by:      scores = torch.sigmoid(hidden) @ v

# %% wrong additive_attention relu of="solution"
# You use ReLU: the nonlinearity here is tanh.
# replace: scores = torch.tanh(hidden) @ v
# by:      scores = torch.relu(hidden) @ v

# %% wrong additive_attention gelu of="solution"
# You use GELU: the nonlinearity here is tanh.
# replace: scores = torch.tanh(hidden) @ v
# by:      scores = F.gelu(hidden) @ v

# %% wrong additive_attention product of="solution"
# You multiply query and key: the additive score adds them.
# replace: [:, :, None] + (key
# by:      [:, :, None] * (key

# %% wrong additive_attention difference of="solution"
# You subtract the key: the additive score adds it.
# replace: [:, :, None] + (key
# by:      [:, :, None] - (key

# %% wrong additive_attention averaged of="solution"
# You halve the sum of query and key: tanh takes the sum.
# replace: scores = torch.tanh(hidden) @ v
# by:      scores = torch.tanh(hidden / 2) @ v

# %% wrong additive_attention scaled of="solution"
# You divide by √d_hidden: these scores have no scale.
# replace: scores = torch.tanh(hidden) @ v
# by:      scores = torch.tanh(hidden) @ v / math.sqrt(len(v))

# %% wrong additive_attention scaled_by_the_query of="solution"
# You divide by √d_query: these scores have no scale.
# replace: scores = torch.tanh(hidden) @ v
# by:      scores = torch.tanh(hidden) @ v / query.shape[-1] ** 0.5

# %% wrong additive_attention mean_over_hidden of="solution"
# You divide by d_hidden, as a mean does: v · tanh(…) is a sum.
# replace: scores = torch.tanh(hidden) @ v
# by:      scores = (torch.tanh(hidden) * v).mean(-1)

# %% wrong additive_attention v_left_out of="solution"
# You add up the features without v: each has its own weight in v.
# replace: scores = torch.tanh(hidden) @ v
# by:      scores = torch.tanh(hidden).sum(-1)

# %% wrong additive_attention v_softmaxed of="solution"
# You put v through a softmax: use it as it is.
# replace: scores = torch.tanh(hidden) @ v
# by:      scores = torch.tanh(hidden) @ torch.softmax(v, 0)

# %% wrong additive_attention v_normalised of="solution"
# You scale v to length 1: use it as it is.
# replace: scores = torch.tanh(hidden) @ v
# by:      scores = torch.tanh(hidden) @ F.normalize(v, dim=0)

# %% wrong additive_attention query_left_out of="solution"
# Every query gets the same weights from your scores: add query and key first, and take tanh of
# the sum.
# replace: hidden = (query @ w_query)[:, :, None] + (key @ w_key)[:, None]
# by:      hidden = (0 * query @ w_query)[:, :, None] + (key @ w_key)[:, None]

# %% wrong additive_attention key_left_out of="solution"
# Your scores do not depend on the keys: every key gets the same weight.
# replace: hidden = (query @ w_query)[:, :, None] + (key @ w_key)[:, None]
# by:      hidden = (query @ w_query)[:, :, None] + 0 * (key @ w_key)[:, None]

# %% wrong additive_attention matrices_swapped of="solution"
# You swap the two matrices: w_query takes the query, w_key the key.
# replace: hidden = (query @ w_query)[:, :, None] + (key @ w_key)[:, None]
# by:      hidden = (query @ w_key)[:, :, None] + (key @ w_query)[:, None]

# %% wrong additive_attention one_matrix_for_both of="solution"
# You use w_query for the keys, too: they have their own, w_key.
# replace: hidden = (query @ w_query)[:, :, None] + (key @ w_key)[:, None]
# by:      hidden = (query @ w_query)[:, :, None] + (key @ w_query)[:, None]

# %% wrong additive_attention matrices_transposed of="solution"
# You transpose the matrices: they are (d_in, d_hidden), so no transpose is needed.
# replace: hidden = (query @ w_query)[:, :, None] + (key @ w_key)[:, None]
# by:      hidden = (query @ w_query.T)[:, :, None] + (key @ w_key.T)[:, None]

# %% wrong additive_attention axes_not_inserted of="solution"
# You add (batch, query, d_hidden) and (batch, key, d_hidden) as they are: insert an axis in each,
# so that every query meets every key.
# replace: hidden = (query @ w_query)[:, :, None] + (key @ w_key)[:, None]
# by:      hidden = query @ w_query + key @ w_key

# %% wrong additive_attention axes_swapped of="solution"
# Your weights are (batch, key, query): the queries come first.
# replace: hidden = (query @ w_query)[:, :, None] + (key @ w_key)[:, None]
# by:      hidden = (query @ w_query)[:, None] + (key @ w_key)[:, :, None]

# %% wrong additive_attention softmax_over_queries of="solution"
# Your softmax runs over the queries: the weights of one query, over the keys, sum to 1.
# replace: torch.softmax(scores, -1)
# by:      torch.softmax(scores, 1)

# %% wrong additive_attention softmax_over_the_batch of="solution"
# Your softmax runs over the batch: it should run over the keys.
# replace: torch.softmax(scores, -1)
# by:      torch.softmax(scores, 0)

# %% wrong additive_attention softmax_over_everything of="solution"
# Your softmax runs over all pairs of a row at once: each query has weights that sum to 1.
# replace: torch.softmax(scores, -1)
# by:      torch.softmax(scores.flatten(1), -1).view_as(scores)

# %% wrong additive_attention no_softmax of="solution"
# You use the scores as weights: the softmax is missing.
# replace: weights = torch.softmax(scores, -1)
# by:      weights = scores

# %% wrong additive_attention sigmoid_weights of="solution"
# You use a sigmoid for the weights: with a softmax, those of a query sum to 1.
# replace: weights = torch.softmax(scores, -1)
# by:      weights = torch.sigmoid(scores)

# %% wrong additive_attention softmax_twice of="solution"
# You take the softmax twice.
# replace: weights = torch.softmax(scores, -1)
# by:      weights = torch.softmax(torch.softmax(scores, -1), -1)

# %% wrong additive_attention hard of="solution"
# You give the best key all the weight: softmax shares it.
# replace: weights = torch.softmax(scores, -1)
# by:      weights = F.one_hot(scores.argmax(-1), key.shape[1]).to(scores) + 0 * scores

# %% wrong additive_attention projected_keys_as_values of="solution"
# You add up the projected keys: the output is the weighted sum of the values.
# replace: return weights @ value, weights
# by:      return weights @ (key @ w_key), weights

# %% wrong additive_attention keys_as_values of="solution"
# You add up the keys: the output is the weighted sum of the values.
# replace: return weights @ value, weights
# by:      return weights @ key, weights

# %% wrong additive_attention hidden_as_values of="solution"
# You add up tanh of the sums: the output is the weighted sum of the values.
# replace: return weights @ value, weights
# by:      return (weights[..., None] * torch.tanh(hidden)).sum(2), weights

# %% wrong additive_attention mean_of_values of="solution"
# Your output is the mean of the values: each counts with its weight.
# replace: return weights @ value, weights
# by:      mean = 0 * weights @ value + value.mean(1, keepdim=True)
#          return mean, weights

# %% wrong additive_attention residual of="solution"
# You add the query to the output: it is the weighted sum of the values alone.
# replace: return weights @ value, weights
# by:      output = weights @ value
#          query = query if query.shape == output.shape else query.mean(-1, keepdim=True)
#          return output + query, weights

# %% wrong additive_attention divided_by_keys of="solution"
# You divide the output by the number of keys: the weights sum to 1 already.
# replace: return weights @ value, weights
# by:      return weights @ value / key.shape[1], weights

# %% wrong additive_attention first_values_for_all of="solution"
# Every row of your batch adds up the values of the first one: each has its own.
# replace: return weights @ value, weights
# by:      return weights @ value[0], weights

# %% wrong additive_attention first_keys_for_all of="solution"
# Every row of your batch attends to the keys of the first one: each has its own.
# replace: hidden = (query @ w_query)[:, :, None] + (key @ w_key)[:, None]
# by:      hidden = (query @ w_query)[:, :, None] + (key[0] @ w_key)[None, None]

# %% wrong additive_attention first_query_for_all of="solution"
# Every query gets the weights of the first one: each asks for itself.
# replace: hidden = (query @ w_query)[:, :, None] + (key @ w_key)[:, None]
# by:      query = query[:, :1].expand_as(query)
#          hidden = (query @ w_query)[:, :, None] + (key @ w_key)[:, None]

# %% wrong additive_attention swapped_results of="solution"
# You return the weights first: the docstring says (output, weights).
# replace: return weights @ value, weights
# by:      return weights, weights @ value

# %% wrong additive_attention output_alone of="solution"
# You return the output alone: the docstring says (output, weights).
# replace: return weights @ value, weights
# by:      return weights @ value

# %% wrong additive_attention scores_returned of="solution"
# You return the scores in place of the weights.
# replace: return weights @ value, weights
# by:      return weights @ value, scores

# %% wrong additive_attention squeezed of="solution"
# You remove axes of length 1: keep the batch.
# replace: return weights @ value, weights
# by:      return (weights @ value).squeeze(0), weights.squeeze(0)

# %% wrong additive_attention weights_detached of="solution"
# No gradient passes your weights: query, key and v would never learn.
# replace: return weights @ value, weights
# by:      return weights.detach() @ value, weights

# %% wrong additive_attention keys_detached of="solution"
# No gradient reaches the keys through your scores: the encoder learns from them.
# replace: (key @ w_key)
# by:      (key.detach() @ w_key)

# %% wrong additive_attention query_detached of="solution"
# No gradient reaches the query: the decoder learns through it.
# replace: (query @ w_query)
# by:      (query.detach() @ w_query)

# %% wrong additive_attention values_detached of="solution"
# No gradient reaches the values: the encoder learns from them.
# replace: return weights @ value, weights
# by:      return weights @ value.detach(), weights

# %% wrong additive_attention no_gradient of="solution"
# no gradient flows through the result
# replace: return weights @ value, weights
# by:      return (weights @ value).detach(), weights.detach()

# %% wrong additive_attention in_place of="solution"
# operations that end in _ (add_, masked_fill_), x[...] = y and x -= y write into the caller's
# tensor: make a new one
# replace: return weights @ value, weights
# by:      value *= 2
#          return weights @ value / 2, weights

# %% wrong additive_attention float32 of="solution"
# something on the way has another dtype: .float(), a NumPy array, a tensor that you make
# replace: return weights @ value, weights
# by:      return (weights @ value).float(), weights.float()

# %% wrong additive_attention half_way_in_float32 of="solution"
# right to seven digits, as float32 has them: what you make yourself, with arange, say, must have
# the input's dtype before you compute with it
# replace: weights = torch.softmax(scores, -1)
# by:      weights = torch.softmax(scores.float(), -1).to(scores)


# %% wrong additive_attention exp_by_hand
# exp overflows at large scores: subtract the largest one first, or take torch.softmax.
def additive_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    w_query: Tensor,
    w_key: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    summed = (query @ w_query).unsqueeze(2) + (key @ w_key).unsqueeze(1)
    powers = (torch.tanh(summed) @ v).exp()
    if mask is not None:
        powers = powers * mask
    total = powers.sum(-1, keepdim=True)
    weights = powers / torch.where(total == 0, 1.0, total)
    return weights @ value, weights


# %% wrong additive_attention mask_ignored of="solution"
# You do not use the mask: padding gets weight.
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      scores = scores + 0
# replace: weights = weights.masked_fill(~mask, 0.0)
# by:      weights = weights + 0

# %% wrong additive_attention mask_inverted of="solution"
# Your mask is inverted: True = may attend.
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      scores = scores.masked_fill(mask, -math.inf)
# replace: weights = weights.masked_fill(~mask, 0.0)
# by:      weights = weights.masked_fill(mask, 0.0)

# %% wrong additive_attention mask_afterwards of="weights_masked"
# You mask after the softmax, so the weights that are left no longer sum to 1.
# replace: weights = weights * mask
# by:      weights = weights.masked_fill(~mask, 0.0)

# %% wrong additive_attention divided_afterwards of="weights_masked"
# You mask after the softmax and divide by what is left: with a far higher masked score, that is
# 0.
# replace: weights = weights * mask
# by:      weights = weights * mask
#          weights = weights / weights.sum(-1, keepdim=True)

# %% wrong additive_attention divided_afterwards_safely of="weights_masked"
# With allowed scores far below, your masked keys take all the weight before you take it away:
# replace their scores by −∞ before the softmax.
# replace: weights = weights * mask
# by:      weights = weights * mask
#          weights = weights / weights.sum(-1, keepdim=True).clamp(min=1e-12)

# %% wrong additive_attention minus_a_hundred of="solution"
# With allowed scores far below, your masked keys take all the weight before you take it away:
# replace their scores by −∞ before the softmax.
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      scores = scores.masked_fill(~mask, -100.0)

# %% wrong additive_attention minus_ten_thousand of="solution"
# With allowed scores far below, your masked keys take all the weight before you take it away:
# replace their scores by −∞ before the softmax.
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      scores = scores.masked_fill(~mask, -10000.0)

# %% wrong additive_attention scores_times_mask of="solution"
# You multiply the scores by the mask: a score of 0 still gets weight. Use −∞.
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      scores = scores * mask
# replace: weights = weights.masked_fill(~mask, 0.0)
# by:      weights = weights + 0

# %% wrong additive_attention scores_times_mask_and_zeroed of="solution"
# You give masked keys a score of 0 and take their weights away afterwards, so the others do not
# sum to 1.
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      scores = scores * mask

# %% wrong additive_attention keys_zeroed of="solution"
# You make masked keys 0, and they still get weight: mask the scores.
# replace: hidden = (query @ w_query)[:, :, None] + (key @ w_key)[:, None]
# by:      if mask is not None:
#              key = key * mask.expand(query.shape[0], query.shape[1], key.shape[1])[:, 0, :, None]
#          hidden = (query @ w_query)[:, :, None] + (key @ w_key)[:, None]
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      scores = scores + 0
# replace: weights = weights.masked_fill(~mask, 0.0)
# by:      weights = weights + 0

# %% wrong additive_attention values_masked of="solution"
# You take the masked values out of the sum, but their keys keep their weights: mask the scores.
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      scores = scores + 0
# replace: weights = weights.masked_fill(~mask, 0.0)
# by:      weights = weights + 0
# replace: return weights @ value, weights
# by:      seen = weights if mask is None else weights * mask
#          return seen @ value, weights

# %% wrong additive_attention mask_added of="solution"
# You add the mask to the scores, as 0 and 1: replace masked scores by −∞.
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      scores = scores + mask
# replace: weights = weights.masked_fill(~mask, 0.0)
# by:      weights = weights + 0

# %% wrong additive_attention empty_row_nan of="one_fill"
# A query that may attend to nothing gets NaN: the softmax of −∞ alone has no value.
# replace: scores = torch.tanh(summed) @ v
# by:      hidden = torch.tanh(summed)
#          scores = hidden @ v

# %% wrong additive_attention empty_row_uniform of="one_fill"
# A query that may attend to nothing gets equal weights: they should be 0.
# replace: -math.inf
# by:      -1e9

# %% wrong additive_attention empty_row_uniform_lowest of="one_fill"
# A query that may attend to nothing gets equal weights: they should be 0.
# replace: -math.inf
# by:      torch.finfo(scores.dtype).min

# %% wrong additive_attention infinity_added of="solution"
# a NaN on the way still counts in the gradient: replace masked scores with −∞ (do not add it),
# and divide by no sum that is 0
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      scores = scores + torch.zeros_like(scores).masked_fill(~mask, -math.inf)

# %% wrong additive_attention mask_without_query_axis of="solution"
# You squeeze the mask: it broadcasts against (batch, query, key) as it is.
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      mask = mask.squeeze(1) if mask.dim() == 3 else mask
#          scores = scores.masked_fill(~mask, -math.inf)

# %% wrong additive_attention mask_with_an_axis_too_many of="solution"
# You insert an axis into the mask: it broadcasts against (batch, query, key) as it is.
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      mask = mask.unsqueeze(1)
#          scores = scores.masked_fill(~mask, -math.inf)

# %% wrong additive_attention first_row_of_the_mask of="solution"
# You use the first query's row of the mask for all queries.
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      mask = mask.expand(scores.shape)[:, :1]
#          scores = scores.masked_fill(~mask, -math.inf)

# %% wrong additive_attention first_mask_for_all of="solution"
# You use the mask of the first row of the batch for all rows.
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      mask = mask.expand(scores.shape)[:1]
#          scores = scores.masked_fill(~mask, -math.inf)

# %% wrong additive_attention keys_cut_off of="solution"
# Your code takes the same keys from every row: a mask differs from row to row.
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      mask = mask.expand(scores.shape).all(0).all(0)
#          scores = scores.masked_fill(~mask, -math.inf)

# %% wrong additive_attention mask_changed of="solution"
# operations that end in _ (add_, masked_fill_), x[...] = y and x -= y write into the caller's
# tensor: make a new one
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      mask.logical_not_()
#          scores = scores.masked_fill(mask, -math.inf)
# replace: weights = weights.masked_fill(~mask, 0.0)
# by:      weights = weights.masked_fill(mask, 0.0)

# %% wrong additive_attention mask_by_its_shape of="solution"
# Your mask works on (batch, 1, key) only: it may have any shape that broadcasts.
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      scores = scores.masked_fill(~mask[:, 0][:, None], -math.inf)
# replace: weights = weights.masked_fill(~mask, 0.0)
# by:      weights = weights.masked_fill(~mask[:, 0][:, None], 0.0)

# %% wrong additive_attention nothing_returned of="solution"
# does the last line say `return`?
# replace: return weights @ value, weights
# by:      weights @ value, weights

# %% wrong additive_attention divided_afterwards_by_more of="weights_masked"
# You mask after the softmax, and divide by the sum and a small number: then the weights do not sum
# to 1, and with a far higher masked score they are 0.
# replace: weights = weights * mask
# by:      weights = weights * mask
#          weights = weights / (weights.sum(-1, keepdim=True) + 1e-9)

# %% wrong additive_attention masked_before_tanh of="one_fill"
# You put −∞ into the sum, and tanh makes it −1: mask the scores.
# replace: scores = torch.tanh(summed) @ v
#          if mask is not None:
#              scores = scores.masked_fill(~mask, -math.inf)
# by:      if mask is not None:
#              summed = summed.masked_fill(~mask.unsqueeze(-1), -math.inf)
#          scores = torch.tanh(summed) @ v

# %% wrong additive_attention inverted_once of="solution"
# You replace the scores of the keys that may be attended to: True = may attend.
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      scores = scores.masked_fill(mask, -math.inf)

# %% wrong additive_attention empty_row_not_masked of="one_fill"
# A query that may attend to nothing gets the weights that it has without a mask: they should be 0.
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      empty = ~mask.expand(scores.shape).any(-1, keepdim=True)
#          scores = scores.masked_fill(~(mask | empty), -math.inf)

# %% wrong additive_attention billion_subtracted of="one_fill"
# A query that may attend to nothing gets the weights that it has without a mask: they should be 0.
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      scores = scores - 1e9 * ~mask


# %% wrong additive_attention empty_output_alone
# Of a query that may attend to nothing, you make the output 0 and leave its weights: they should be
# 0, too.
def additive_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    w_query: Tensor,
    w_key: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    scores = torch.tanh((query @ w_query).unsqueeze(2) + (key @ w_key).unsqueeze(1)) @ v
    mask = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask.expand(scores.shape)
    empty = ~mask.any(-1, keepdim=True)
    weights = scores.masked_fill(~(mask | empty), -math.inf).softmax(-1)
    return (weights @ value).masked_fill(empty, 0.0), weights


# %% right additive_attention where of="solution"
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      scores = torch.where(mask, scores, -math.inf)
# replace: weights = weights.masked_fill(~mask, 0.0)
# by:      weights = torch.where(mask, weights, 0.0)

# %% right additive_attention lowest_number_and_mask of="solution"
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
# replace: weights = weights.masked_fill(~mask, 0.0)
# by:      weights = weights * mask

# %% right additive_attention nan_to_num of="solution"
# replace: weights = weights.masked_fill(~mask, 0.0)
# by:      weights = weights.nan_to_num(0.0)

# %% right additive_attention einsum of="solution"
# replace: hidden = (query @ w_query)[:, :, None] + (key @ w_key)[:, None]
# by:      hidden = torch.einsum("bqi,ih->bqh", query, w_query).unsqueeze(-2) + torch.einsum(
#              "bki,ih->bkh", key, w_key
#          ).unsqueeze(-3)
# replace: scores = torch.tanh(hidden) @ v
# by:      scores = torch.einsum("bqkh,h->bqk", hidden.tanh(), v)
# replace: return weights @ value, weights
# by:      return torch.einsum("bqk,bkd->bqd", weights, value), weights

# %% right additive_attention pair_joined of="solution"
# replace: hidden = (query @ w_query)[:, :, None] + (key @ w_key)[:, None]
# by:      n, m = query.shape[1], key.shape[1]
#          pairs = torch.cat(
#              [query[:, :, None].expand(-1, -1, m, -1), key[:, None].expand(-1, n, -1, -1)], -1
#          )
#          hidden = pairs @ torch.cat([w_query, w_key])

# %% right additive_attention one_query_at_a_time of="solution"
# replace: hidden = (query @ w_query)[:, :, None] + (key @ w_key)[:, None]
# by:      projected = key @ w_key
# replace: scores = torch.tanh(hidden) @ v
# by:      scores = torch.stack(
#              [torch.tanh(q[:, None] + projected) @ v for q in (query @ w_query).unbind(1)], 1
#          )
# replace: return weights @ value, weights
# by:      return torch.bmm(weights, value), weights

# %% right additive_attention sum_of_products of="solution"
# replace: scores = torch.tanh(hidden) @ v
# by:      scores = (hidden.tanh() * v).sum(dim=-1)
# replace: return weights @ value, weights
# by:      return (weights[..., None] * value[:, None]).sum(2), weights

# %% right additive_attention linear of="solution"
# replace: hidden = (query @ w_query)[:, :, None] + (key @ w_key)[:, None]
# by:      hidden = F.linear(query, w_query.T)[:, :, None] + F.linear(key, w_key.T)[:, None]
# replace: scores = torch.tanh(hidden) @ v
# by:      scores = F.linear(torch.tanh(hidden), v[None]).squeeze(-1)

# %% right additive_attention stable_by_hand of="solution"
# replace: weights = torch.softmax(scores, -1)
# by:      top = scores.detach().amax(-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).min)
#          powers = (scores - top).exp()
#          total = powers.sum(-1, keepdim=True)
#          weights = powers / torch.where(total == 0, torch.ones_like(total), total)

# %% right additive_attention sdpa of="solution"
# replace: weights = torch.softmax(scores, -1)
# by:      batch, n, m = scores.shape
#          one = torch.eye(m).to(scores).expand(batch, m, m)
#          weights = torch.softmax(scores, -1)
# replace: return weights @ value, weights
# by:      ones = one @ value
#          return weights @ ones, weights


# %% right additive_attention row_by_row
def additive_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    w_query: Tensor,
    w_key: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    shape = (query.shape[0], query.shape[1], key.shape[1])
    allowed = torch.ones(shape, dtype=torch.bool) if mask is None else mask.expand(shape)
    outputs, rows = [], []
    for b in range(shape[0]):
        for i in range(shape[1]):
            kept = allowed[b, i]
            scores = torch.tanh(query[b, i] @ w_query + key[b, kept] @ w_key) @ v
            few = torch.softmax(scores, 0)
            row = torch.zeros_like(value[b, :, 0]).masked_scatter(kept, few)
            rows.append(row)
            outputs.append(row @ value[b])
    weights = torch.stack(rows).unflatten(0, shape[:2])
    return torch.stack(outputs).unflatten(0, shape[:2]), weights


# %% base AttentionDecoder attend_method
class AttentionDecoder(nn.Module):
    def __init__(self, vocab_size: int, d_embedding: int, d_states: int, d_hidden: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_embedding)
        self.w_query = nn.Linear(d_hidden, d_hidden, bias=False)
        self.w_key = nn.Linear(d_states, d_hidden, bias=False)
        self.v = nn.Linear(d_hidden, 1, bias=False)
        self.cell = nn.GRUCell(d_embedding + d_states, d_hidden)
        self.output = nn.Linear(d_hidden + d_states, vocab_size)

    def attend(self, asking: Tensor, states: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        query = self.w_query(asking).unsqueeze(1)
        scores = self.v(torch.tanh(query + self.w_key(states))).transpose(1, 2)
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = torch.softmax(scores, dim=-1)
        return torch.bmm(weights, states)[:, 0], weights[:, 0]

    def forward(
        self, token: Tensor, state: Tensor, states: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        embedded = self.embedding(token)
        context, weights = self.attend(state, states, mask)
        new = self.cell(torch.cat([embedded, context], dim=1), state)
        logits = self.output(torch.cat([new, context], dim=1))
        return logits, new, weights


# %% wrong AttentionDecoder new_state_asks_again of="attend_method"
# You attend a second time, with the new state: the old state asks, once.
# replace: logits = self.output
# by:      context, weights = self.attend(new, states, mask)
#          logits = self.output

# %% wrong AttentionDecoder new_state_asks_before_the_output of="attend_method"
# Your returned weights are those of the new state: return those with which the old state asked.
# replace: logits = self.output(torch.cat([new, context], dim=1))
# by:      logits = self.output(torch.cat([new, context], dim=1))
#          weights = self.attend(new, states, mask)[1]

# %% wrong AttentionDecoder new_context_for_the_output of="attend_method"
# You give the output a context for which the new state asked: it gets the one that the cell got.
# replace: logits = self.output
# by:      context = self.attend(new, states, mask)[0]
#          logits = self.output

# %% wrong AttentionDecoder new_state_asks of="attend_method"
# Your cell reads no context before the new state asks: the old state asks first.
# replace: context, weights = self.attend(state, states, mask)
#          new = self.cell(torch.cat([embedded, context], dim=1), state)
# by:      empty = torch.zeros_like(states[:, 0])
#          new = self.cell(torch.cat([embedded, empty], dim=1), state)
#          context, weights = self.attend(new, states, mask)

# %% wrong AttentionDecoder no_context_in_the_cell of="attend_method"
# Your cell gets zeros in place of the context: its input is [embedding, context].
# replace: torch.cat([embedded, context], dim=1), state
# by:      torch.cat([embedded, torch.zeros_like(context)], dim=1), state

# %% wrong AttentionDecoder no_context_in_the_output of="attend_method"
# Your output layer gets zeros in place of the context: it reads [new state, context].
# replace: torch.cat([new, context], dim=1)
# by:      torch.cat([new, torch.zeros_like(context)], dim=1)

# %% wrong AttentionDecoder no_embedding of="attend_method"
# Your cell gets zeros in place of the embedding: it should know which token came before.
# replace: embedded = self.embedding(token)
# by:      embedded = 0 * self.embedding(token)

# %% wrong AttentionDecoder context_first_in_the_cell of="attend_method"
# Your cell's input is [context, embedding]: the docstring says [embedding, context].
# replace: torch.cat([embedded, context], dim=1)
# by:      torch.cat([context, embedded], dim=1)

# %% wrong AttentionDecoder context_first_in_the_output of="attend_method"
# Your output layer reads [context, new state]: the docstring says [new state, context].
# replace: torch.cat([new, context], dim=1)
# by:      torch.cat([context, new], dim=1)

# %% wrong AttentionDecoder output_of_the_old_state of="attend_method"
# Your output layer reads the old state: it gets the new one.
# replace: torch.cat([new, context], dim=1)
# by:      torch.cat([state, context], dim=1)

# %% wrong AttentionDecoder old_state_returned of="attend_method"
# You return the old state: the next step needs the new one.
# replace: return logits, new, weights
# by:      return logits, state, weights

# %% wrong AttentionDecoder state_not_given_to_the_cell of="attend_method"
# You call the cell without the old state, so it starts from zeros at every step.
# replace: torch.cat([embedded, context], dim=1), state
# by:      torch.cat([embedded, context], dim=1)

# %% wrong AttentionDecoder token_asks of="attend_method"
# Your query is the new token's embedding: the old state asks.
# replace: context, weights = self.attend(state, states, mask)
# by:      asking = F.pad(embedded, (0, state.shape[1] - embedded.shape[1]))
#          context, weights = self.attend(asking, states, mask)

# %% wrong AttentionDecoder state_does_not_ask of="attend_method"
# Your scores do not depend on the state: it is the query.
# replace: self.w_query(asking)
# by:      self.w_query(torch.zeros_like(asking))

# %% wrong AttentionDecoder keys_left_out of="attend_method"
# Your scores do not depend on the encoder's states: every position gets the same weight.
# replace: query + self.w_key(states)
# by:      query + 0 * self.w_key(states)

# %% wrong AttentionDecoder no_tanh of="attend_method"
# You leave out tanh: without it the state adds the same to all scores, and the softmax cancels
# it.
# replace: torch.tanh(query + self.w_key(states))
# by:      query + self.w_key(states)

# %% wrong AttentionDecoder tanh_of_each of="attend_method"
# You put state and keys through tanh before you add them: add first, then tanh.
# replace: torch.tanh(query + self.w_key(states))
# by:      torch.tanh(query) + torch.tanh(self.w_key(states))

# %% wrong AttentionDecoder tanh_of_the_score of="attend_method"
# You take tanh after v: it comes before.
# replace: self.v(torch.tanh(query + self.w_key(states)))
# by:      torch.tanh(self.v(query + self.w_key(states)))

# %% wrong AttentionDecoder relu of="attend_method"
# You use ReLU in the scores: the nonlinearity is tanh.
# replace: torch.tanh(query
# by:      torch.relu(query

# %% wrong AttentionDecoder product of="attend_method"
# You multiply the projections: the additive score adds them.
# replace: query + self.w_key(states)
# by:      query * self.w_key(states)

# %% wrong AttentionDecoder scaled of="attend_method"
# You divide the scores by √d_hidden: additive scores have no scale.
# replace: weights = torch.softmax(scores, dim=-1)
# by:      weights = torch.softmax(scores / math.sqrt(asking.shape[-1]), dim=-1)

# %% wrong AttentionDecoder no_softmax of="attend_method"
# You use the scores as weights: the softmax is missing.
# replace: weights = torch.softmax(scores, dim=-1)
# by:      weights = scores

# %% wrong AttentionDecoder softmax_over_the_batch of="attend_method"
# Your softmax runs over the batch: it should run over the positions.
# replace: torch.softmax(scores, dim=-1)
# by:      torch.softmax(scores, dim=0)

# %% wrong AttentionDecoder softmax_over_one of="attend_method"
# Your softmax runs over an axis of length 1, so every weight is 1: it should run over the
# positions.
# replace: torch.softmax(scores, dim=-1)
# by:      torch.softmax(scores, dim=1)

# %% wrong AttentionDecoder mean_as_context of="attend_method"
# Your context is the plain mean of the states: each counts with its weight.
# replace: torch.bmm(weights, states)[:, 0]
# by:      states.mean(1)

# %% wrong AttentionDecoder last_state_as_context of="attend_method"
# Your context is the last state: it should be the weighted sum of all of them.
# replace: torch.bmm(weights, states)[:, 0]
# by:      states[:, -1]

# %% wrong AttentionDecoder hard of="attend_method"
# You take the one state with the largest weight: the context is the weighted sum.
# replace: torch.bmm(weights, states)[:, 0]
# by:      states[torch.arange(len(states)), weights[:, 0].argmax(-1)]

# %% wrong AttentionDecoder projected_keys_as_values of="attend_method"
# You add up the projected keys: the values are `states` themselves.
# replace: torch.bmm(weights, states)[:, 0]
# by:      torch.bmm(weights, self.w_key(states))[:, 0]

# %% wrong AttentionDecoder softmaxed_logits of="attend_method"
# You return probabilities: the logits are what goes into the softmax.
# replace: return logits, new
# by:      return torch.softmax(logits, -1), new

# %% wrong AttentionDecoder log_softmaxed_logits of="attend_method"
# You return log-probabilities: return the logits as the output layer gives them.
# replace: return logits, new
# by:      return torch.log_softmax(logits, -1), new

# %% wrong AttentionDecoder tanh_of_the_output of="attend_method"
# You put [new state, context] through tanh before the output layer: it reads them as they are.
# replace: self.output(torch.cat([new, context], dim=1))
# by:      self.output(torch.tanh(torch.cat([new, context], dim=1)))

# %% wrong AttentionDecoder residual_state of="attend_method"
# You add the old state to the new one: the cell already mixes the two.
# replace: new = self.cell(torch.cat([embedded, context], dim=1), state)
# by:      new = state + self.cell(torch.cat([embedded, context], dim=1), state)

# %% wrong AttentionDecoder relu_of_the_embedding of="attend_method"
# You put the embedding through ReLU: the cell gets it as it is.
# replace: embedded = self.embedding(token)
# by:      embedded = torch.relu(self.embedding(token))

# %% wrong AttentionDecoder dropout_on_the_embedding of="attend_method"
# old state → weights → context → cell → new state → output
# replace: embedded = self.embedding(token)
# by:      embedded = F.dropout(self.embedding(token), 0.5)

# %% wrong AttentionDecoder weights_with_a_query_axis of="attend_method"
# Your weights keep the query axis: they should be (batch, length).
# replace: [:, 0], weights[:, 0]
# by:      [:, 0], weights

# %% wrong AttentionDecoder results_in_another_order of="attend_method"
# You return the state first: the docstring says (logits, state, weights).
# replace: return logits, new, weights
# by:      return new, logits, weights

# %% wrong AttentionDecoder weights_not_returned of="attend_method"
# You return two of the three: the docstring says (logits, state, weights).
# replace: return logits, new, weights
# by:      return logits, new

# %% wrong AttentionDecoder context_returned of="attend_method"
# You return the context in place of the weights.
# replace: return logits, new, weights
# by:      return logits, new, context

# %% wrong AttentionDecoder squeezed of="attend_method"
# You squeeze every axis of length 1: with a batch of 1, that is the batch, too.
# replace: torch.bmm(weights, states)[:, 0], weights[:, 0]
# by:      torch.bmm(weights, states).squeeze(), weights.squeeze()

# %% wrong AttentionDecoder first_states_for_all of="attend_method"
# Every row of your batch attends to the states of the first one: each has its own.
# replace: context, weights = self.attend(state, states, mask)
# by:      context, weights = self.attend(state, states[:1].expand_as(states), mask)

# %% wrong AttentionDecoder state_kept_on_self of="attend_method"
# You keep the state on self and prefer it to the one you are given: a second sentence begins with
# the end of the first.
# replace: embedded = self.embedding(token)
# by:      if self.kept is not None and self.kept.shape == state.shape:
#              state = self.kept
#          embedded = self.embedding(token)
# replace: return logits, new, weights
# by:      self.kept = new
#          return logits, new, weights
# replace: self.embedding = nn.Embedding(vocab_size, d_embedding)
# by:      self.embedding = nn.Embedding(vocab_size, d_embedding)
#          self.kept = None

# %% wrong AttentionDecoder state_overwritten of="attend_method"
# operations that end in _ (add_, masked_fill_), x[...] = y and x -= y write into the caller's
# tensor: make a new one
# replace: return logits, new, weights
# by:      with torch.no_grad():
#              state.copy_(new)
#          return logits, new, weights

# %% wrong AttentionDecoder state_detached of="attend_method"
# No gradient passes from your step to the old state: the steps before it would learn nothing from
# a later loss.
# replace: context, weights = self.attend(state, states, mask)
# by:      state = state.detach()
#          context, weights = self.attend(state, states, mask)

# %% wrong AttentionDecoder context_detached of="attend_method"
# No gradient reaches w_query from your logits: something between the query and the context is
# detached.
# replace: new = self.cell
# by:      context = context.detach()
#          new = self.cell

# %% wrong AttentionDecoder query_detached of="attend_method"
# No gradient reaches w_query from your logits: something between the query and the context is
# detached.
# replace: self.w_query(asking)
# by:      self.w_query(asking).detach()

# %% wrong AttentionDecoder weights_detached of="attend_method"
# no gradient flows through the result
# replace: return logits, new, weights
# by:      return logits, new, weights.detach()

# %% wrong AttentionDecoder no_gradient of="attend_method"
# no gradient flows through the result
# replace: return logits, new, weights
# by:      return logits.detach(), new.detach(), weights.detach()

# %% wrong AttentionDecoder no_gradient_in_evaluation of="attend_method"
# no gradient flows through the result
# replace: return logits, new, weights
# by:      if not self.training:
#              return logits.detach(), new, weights
#          return logits, new, weights

# %% wrong AttentionDecoder embedding_frozen of="attend_method"
# make the parts as PyTorch makes them, and leave requires_grad as it is
# replace: self.w_query = nn
# by:      self.embedding.requires_grad_(False)
#          self.w_query = nn

# %% wrong AttentionDecoder padding_token of="attend_method"
# Your embedding never learns token 0: leave out padding_idx, for 0 is a token like the others.
# replace: nn.Embedding(vocab_size, d_embedding)
# by:      nn.Embedding(vocab_size, d_embedding, padding_idx=0)

# %% wrong AttentionDecoder mask_ignored of="attend_method"
# You do not use the mask: padding gets weight.
# replace: if mask is not None:
# by:      if mask is False:

# %% wrong AttentionDecoder mask_inverted of="attend_method"
# Your mask is inverted: True = may attend.
# replace: masked_fill(~mask,
# by:      masked_fill(mask,

# %% wrong AttentionDecoder mask_afterwards of="attend_method"
# You mask after the softmax, so the weights that are left no longer sum to 1.
# replace: if mask is not None:
#              scores = scores.masked_fill(~mask, -math.inf)
#          weights = torch.softmax(scores, dim=-1)
# by:      weights = torch.softmax(scores, dim=-1)
#          if mask is not None:
#              weights = weights * mask

# %% wrong AttentionDecoder divided_afterwards of="attend_method"
# You mask after the softmax and divide by what is left: with a far higher masked score, that is
# 0.
# replace: if mask is not None:
#              scores = scores.masked_fill(~mask, -math.inf)
#          weights = torch.softmax(scores, dim=-1)
# by:      weights = torch.softmax(scores, dim=-1)
#          if mask is not None:
#              weights = weights * mask
#              weights = weights / weights.sum(-1, keepdim=True)

# %% wrong AttentionDecoder minus_a_hundred of="attend_method"
# You replace masked scores by -100, which others can be far below: use −∞.
# replace: -math.inf
# by:      -100.0

# %% wrong AttentionDecoder minus_ten_thousand of="attend_method"
# You replace masked scores by -10 000, which others can be far below: use −∞.
# replace: -math.inf
# by:      -10000.0

# %% wrong AttentionDecoder scores_times_mask of="attend_method"
# You multiply the scores by the mask: a score of 0 still gets weight. Use −∞.
# replace: scores.masked_fill(~mask, -math.inf)
# by:      scores * mask

# %% wrong AttentionDecoder states_zeroed of="attend_method"
# You make masked states 0, and they still get weight: mask the scores.
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      states = states * mask.transpose(1, 2)
# replace: scores = self.v(torch.tanh(query + self.w_key(states))).transpose(1, 2)
#          if mask is not None:
#              states = states * mask.transpose(1, 2)
# by:      if mask is not None:
#              states = states * mask.transpose(1, 2)
#          scores = self.v(torch.tanh(query + self.w_key(states))).transpose(1, 2)

# %% wrong AttentionDecoder mask_with_its_query_axis of="solution"
# Your scores are (batch, length) and the mask (batch, 1, length): together they make (batch,
# batch, length). Squeeze one, or keep both.
# replace: scores = scores.masked_fill(~mask.squeeze(1), -math.inf)
# by:      scores = scores.masked_fill(~mask, -math.inf)

# %% wrong AttentionDecoder first_mask_for_all of="attend_method"
# You use the mask of the first row for all rows.
# replace: masked_fill(~mask,
# by:      masked_fill(~mask[:1],

# %% wrong AttentionDecoder padding_in_the_context of="attend_method"
# Your returned weights leave the padding out, but your context does not.
# replace: if mask is not None
# by:      free = scores
#          if mask is not None
# replace: torch.bmm(weights, states)[:, 0]
# by:      torch.bmm(torch.softmax(free, -1), states)[:, 0]

# %% wrong AttentionDecoder biases of="solution"
# pass bias=False to each layer
# replace: self.w_query = nn.Linear(d_hidden, d_hidden, bias=False)
# by:      self.w_query = nn.Linear(d_hidden, d_hidden)
# replace: self.w_key = nn.Linear(d_states, d_hidden, bias=False)
# by:      self.w_key = nn.Linear(d_states, d_hidden)
# replace: self.v = nn.Linear(d_hidden, 1, bias=False)
# by:      self.v = nn.Linear(d_hidden, 1)

# %% wrong AttentionDecoder bias_of_v of="solution"
# pass bias=False to each layer
# replace: self.v = nn.Linear(d_hidden, 1, bias=False)
# by:      self.v = nn.Linear(d_hidden, 1)

# %% wrong AttentionDecoder output_of_the_state_alone of="solution"
# old state → weights → context → cell → new state → output
# replace: self.output = nn.Linear(d_hidden + d_states, vocab_size)
# by:      self.output = nn.Linear(d_hidden, vocab_size)
# replace: return self.output(torch.cat([state, context], -1)), state, weights
# by:      return self.output(state), state, weights

# %% wrong AttentionDecoder cell_of_the_embedding_alone of="solution"
# old state → weights → context → cell → new state → output
# replace: self.cell = nn.GRUCell(d_embedding + d_states, d_hidden)
# by:      self.cell = nn.GRUCell(d_embedding, d_hidden)
# replace: state = self.cell(torch.cat([self.embedding(token), context], -1), state)
# by:      state = self.cell(self.embedding(token), state)

# %% wrong AttentionDecoder sizes_swapped of="solution"
# old state → weights → context → cell → new state → output
# replace: self.w_key = nn.Linear(d_states, d_hidden, bias=False)
# by:      self.w_key = nn.Linear(d_hidden, d_states, bias=False)

# %% wrong AttentionDecoder gru_for_the_cell of="solution"
# `cell.bias_hh_l0` should be called `cell.bias_hh`
# replace: self.cell = nn.GRUCell(d_embedding + d_states, d_hidden)
# by:      self.cell = nn.GRU(d_embedding + d_states, d_hidden, batch_first=True)
# replace: state = self.cell(torch.cat([self.embedding(token), context], -1), state)
# by:      read = torch.cat([self.embedding(token), context], -1)
#          state = self.cell(read[:, None], state[None])[1][0]

# %% wrong AttentionDecoder rnn_cell of="solution"
# old state → weights → context → cell → new state → output
# replace: self.cell = nn.GRUCell(d_embedding + d_states, d_hidden)
# by:      self.cell = nn.RNNCell(d_embedding + d_states, d_hidden)

# %% wrong AttentionDecoder part_renamed of="solution"
# `rnn.bias_hh` should be called `cell.bias_hh`
# replace: self.cell = nn.GRUCell(d_embedding + d_states, d_hidden)
# by:      self.rnn = nn.GRUCell(d_embedding + d_states, d_hidden)
# replace: state = self.cell(torch.cat([self.embedding(token), context], -1), state)
# by:      state = self.rnn(torch.cat([self.embedding(token), context], -1), state)

# %% wrong AttentionDecoder layers_made_in_forward of="solution"
# old state → weights → context → cell → new state → output
# replace: self.w_query = nn.Linear(d_hidden, d_hidden, bias=False)
# by:      self.width = d_hidden
# replace: hidden = self.w_query(state)[:, None] + self.w_key(states)
# by:      asking = nn.Linear(self.width, self.width, bias=False)
#          hidden = asking(state)[:, None] + self.w_key(states)

# %% wrong AttentionDecoder no_call_of_super of="solution"
# `super().__init__()` is missing: make it the first line of `__init__`
# replace: super().__init__()
# by:

# %% wrong AttentionDecoder projection_of_the_state of="solution"
# leave out bridge.bias, bridge.weight: the docstring names every part
# replace: self.output = nn.Linear(d_hidden + d_states, vocab_size)
# by:      self.output = nn.Linear(d_hidden + d_states, vocab_size)
#          self.bridge = nn.Linear(d_hidden, d_hidden)
# replace: state = self.cell(torch.cat([self.embedding(token), context], -1), state)
# by:      state = self.cell(torch.cat([self.embedding(token), context], -1), state)
#          state = torch.tanh(self.bridge(state))

# %% wrong AttentionDecoder float32 of="attend_method"
# something on the way has another dtype: .float(), a NumPy array, a tensor that you make
# replace: return logits, new, weights
# by:      return logits.float(), new.float(), weights.float()

# %% wrong AttentionDecoder nothing_returned of="attend_method"
# does the last line say `return`?
# replace: return logits, new, weights
# by:      logits, new, weights

# %% wrong AttentionDecoder dot_of_the_projections of="attend_method"
# You score by the dot product of the projections: additive scores add them, then come tanh and v.
# replace: self.v(torch.tanh(query + self.w_key(states))).transpose(1, 2)
# by:      query @ self.w_key(states).mT

# %% wrong AttentionDecoder tanh_twice of="attend_method"
# You put the scores through tanh: they go into the softmax as v makes them.
# replace: self.v(torch.tanh(query + self.w_key(states)))
# by:      torch.tanh(self.v(torch.tanh(query + self.w_key(states))))

# %% wrong AttentionDecoder mask_with_its_query_axis_and_bmm of="attend_method"
# Your scores are (batch, length) and the mask (batch, 1, length): together they make (batch,
# batch, length). Squeeze one, or keep both.
# replace: self.w_key(states))).transpose(1, 2)
# by:      self.w_key(states))).squeeze(-1)
# replace: torch.bmm(weights, states)[:, 0], weights[:, 0]
# by:      torch.bmm(weights.unsqueeze(1), states).squeeze(1), weights

# %% wrong AttentionDecoder states_zeroed_after_the_scores of="attend_method"
# You take the masked states out of the context, and they keep their weights: mask the scores.
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      states = states * mask.transpose(1, 2)

# %% wrong AttentionDecoder sum_as_context of="attend_method"
# Your context is the plain sum of the states: each counts with its weight.
# replace: torch.bmm(weights, states)[:, 0]
# by:      states.sum(1)

# %% wrong AttentionDecoder weights_before_the_state of="attend_method"
# You return the weights before the state: the docstring says (logits, state, weights).
# replace: return logits, new, weights
# by:      return logits, weights, new

# %% wrong AttentionDecoder scores_returned of="solution"
# You return the scores in place of the weights.
# replace: return self.output(torch.cat([state, context], -1)), state, weights
# by:      return self.output(torch.cat([state, context], -1)), state, scores

# %% wrong AttentionDecoder bias_of_w_query of="solution"
# pass bias=False to each layer
# replace: self.w_query = nn.Linear(d_hidden, d_hidden, bias=False)
# by:      self.w_query = nn.Linear(d_hidden, d_hidden)

# %% wrong AttentionDecoder output_without_bias of="solution"
# Your output layer has no bias: only w_query, w_key and v go without.
# replace: self.output = nn.Linear(d_hidden + d_states, vocab_size)
# by:      self.output = nn.Linear(d_hidden + d_states, vocab_size, bias=False)

# %% wrong AttentionDecoder scores_squeezed of="solution"
# You squeeze every axis of length 1: with a batch of 1, that is the batch, too.
# replace: scores = self.v(torch.tanh(hidden)).squeeze(-1)
# by:      scores = self.v(torch.tanh(hidden)).squeeze()
# replace: context = (weights[:, None] @ states).squeeze(1)
# by:      context = torch.bmm(weights.unsqueeze(1), states).squeeze(1)

# %% right AttentionDecoder attention_in_a_method of="attend_method"
# replace: torch.bmm(weights, states)[:, 0], weights[:, 0]
# by:      torch.bmm(weights, states).squeeze(1), weights.squeeze(1)

# %% right AttentionDecoder additive_attention of="solution"
# replace: hidden = self.w_query(state)[:, None] + self.w_key(states)
# by:      asked = additive_attention(
#              state[:, None],
#              states,
#              states,
#              self.w_query.weight.T,
#              self.w_key.weight.T,
#              self.v.weight[0],
#              mask,
#          )
# replace: scores = self.v(torch.tanh(hidden)).squeeze(-1)  # (batch, length)
#          if mask is not None:
#              scores = scores.masked_fill(~mask.squeeze(1), -math.inf)
#          weights = torch.softmax(scores, -1)
#          context = (weights[:, None] @ states).squeeze(1)
# by:      context, weights = asked[0][:, 0], asked[1][:, 0]

# %% right AttentionDecoder einsum of="solution"
# replace: scores = self.v(torch.tanh(hidden)).squeeze(-1)
# by:      scores = torch.einsum("blh,oh->bl", torch.tanh(hidden), self.v.weight)
# replace: context = (weights[:, None] @ states).squeeze(1)
# by:      context = torch.einsum("bl,bld->bd", weights, states)

# %% right AttentionDecoder weighted_sum of="solution"
# replace: context = (weights[:, None] @ states).squeeze(1)
# by:      context = (weights.unsqueeze(-1) * states).sum(dim=1)
# replace: scores = scores.masked_fill(~mask.squeeze(1), -math.inf)
# by:      scores = torch.where(mask[:, 0], scores, -math.inf)

# %% right AttentionDecoder gates_by_hand of="solution"
# replace: state = self.cell(torch.cat([self.embedding(token), context], -1), state)
# by:      x = torch.cat([self.embedding(token), context], -1)
#          r, z, n = F.linear(x, self.cell.weight_ih, self.cell.bias_ih).chunk(3, -1)
#          from_state = F.linear(state, self.cell.weight_hh, self.cell.bias_hh)
#          r_old, z_old, n_old = from_state.chunk(3, -1)
#          update = torch.sigmoid(z + z_old)
#          new = torch.tanh(n + torch.sigmoid(r + r_old) * n_old)
#          state = new + update * (state - new)

# %% right AttentionDecoder lowest_number of="solution"
# replace: scores = scores.masked_fill(~mask.squeeze(1), -math.inf)
# by:      scores = scores.masked_fill(~mask[:, 0], torch.finfo(scores.dtype).min)
# replace: return self.output(torch.cat([state, context], -1)), state, weights
# by:      both = torch.cat((state, context), 1)
#          return F.linear(both, self.output.weight, self.output.bias), state, weights

# %% right AttentionDecoder position_by_position of="solution"
# replace: hidden = self.w_query(state)[:, None] + self.w_key(states)
# by:      asked = self.w_query(state)
# replace: scores = self.v(torch.tanh(hidden)).squeeze(-1)
# by:      keys = self.w_key(states).unbind(1)
#          scores = torch.cat([self.v(torch.tanh(asked + key)) for key in keys], 1)

# %% right AttentionDecoder a_buffer_of_its_own of="solution"
# replace: self.output = nn.Linear(d_hidden + d_states, vocab_size)
# by:      self.output = nn.Linear(d_hidden + d_states, vocab_size)
#          self.register_buffer("never", torch.tensor(-math.inf), persistent=False)
# replace: scores = scores.masked_fill(~mask.squeeze(1), -math.inf)
# by:      scores = torch.where(mask.squeeze(1), scores, self.never.to(scores))

# %% right AttentionDecoder parts_under_other_names_too of="solution"
# replace: self.embedding = nn.Embedding(vocab_size, d_embedding)
# by:      self.embedding = nn.Embedding(vocab_size, d_embedding)
#          self.register_buffer("steps", torch.zeros((), dtype=torch.long))
# replace: hidden = self.w_query(state)[:, None] + self.w_key(states)
# by:      self.steps += 1
#          hidden = self.w_query(state)[:, None] + self.w_key(states)
# replace: state = self.cell(torch.cat([self.embedding(token), context], -1), state)
# by:      state = self.cell(input=torch.cat([self.embedding.weight[token], context], -1), hx=state)

# %% right AttentionDecoder sdpa_for_the_sum of="solution"
# replace: context = (weights[:, None] @ states).squeeze(1)
# by:      context = torch.matmul(states.mT, weights[..., None]).squeeze(-1)

# %% wrong unroll state_lost of="solution"
# You give every call the first state: each call needs the state that the call before returned.
# replace: logits, state, weights = step(token, state)
# by:      logits, _, weights = step(token, state)

# %% wrong unroll state_only_once of="solution"
# You give the first state to the first call, and None to the others: each needs the state that
# the call before returned.
# replace: logits, state, weights = step(token, state)
# by:      logits, _, weights = step(token, state if t == 0 else None)

# %% wrong unroll first_state_dropped of="solution"
# Your call 0 gets no state: give it the one that you are given.
# replace: token, all_logits, all_weights = begin, [], []
# by:      token, all_logits, all_weights = begin, [], []
#          state = None

# %% wrong unroll begin_left_out of="solution"
# Your call 0 gets the first target: it should get begin.
# replace: token = logits.argmax(-1) if target is None else target[:, t]
# by:      token = logits.argmax(-1)
# replace: logits, state, weights = step(token, state)
# by:      token = token if target is None else target[:, t]
#          logits, state, weights = step(token, state)

# %% wrong unroll begin_always of="solution"
# Every call gets begin: later ones need a token from the call before.
# replace: for t in range(length):
# by:      for _ in range(length):
# replace: token = logits.argmax(-1) if target is None else target[:, t]
# by:      token = begin

# %% wrong unroll target_late of="solution"
# Your targets come one call late: call t + 1 gets target[:, t].
# replace: token = logits.argmax(-1) if target is None else target[:, t]
# by:      token = logits.argmax(-1) if target is None else target[:, max(t - 1, 0)]

# %% wrong unroll stops_when_stuck of="solution"
# You stop when every row repeats its token: there are always `length` calls.
# replace: token = logits.argmax(-1) if target is None else target[:, t]
# by:      last = token
#          token = logits.argmax(-1) if target is None else target[:, t]
#          if target is None and bool((token == last).all()):
#              break

# %% wrong unroll target_wraps_round of="solution"
# Your call 1 gets the last target: the index t - 1 is -1 in the first round.
# replace: token = logits.argmax(-1) if target is None else target[:, t]
# by:      token = logits.argmax(-1) if target is None else target[:, t - 1]

# %% wrong unroll target_early of="solution"
# Your targets come one call early: after call t comes target[:, t].
# replace: token = logits.argmax(-1) if target is None else target[:, t]
# by:      token = logits.argmax(-1) if target is None else target[:, (t + 1) % length]

# %% wrong unroll target_reversed of="solution"
# You read the target from its end: after call t comes target[:, t].
# replace: token = logits.argmax(-1) if target is None else target[:, t]
# by:      token = logits.argmax(-1) if target is None else target[:, -1 - t]

# %% wrong unroll first_target_for_all of="solution"
# Every later call gets the first target: after call t comes target[:, t].
# replace: for t in range(length):
# by:      for _ in range(length):
# replace: token = logits.argmax(-1) if target is None else target[:, t]
# by:      token = logits.argmax(-1) if target is None else target[:, 0]

# %% wrong unroll target_transposed of="solution"
# target[t] is a row of the batch: a column, target[:, t], holds one token for each row.
# replace: token = logits.argmax(-1) if target is None else target[:, t]
# by:      token = logits.argmax(-1) if target is None else target[t % len(target)]

# %% wrong unroll first_row_of_the_target of="solution"
# Every row gets the target of the first one: target[:, t] holds one token for each row.
# replace: token = logits.argmax(-1) if target is None else target[:, t]
# by:      token = logits.argmax(-1) if target is None else target[:1, t].expand_as(begin)

# %% wrong unroll target_ignored of="solution"
# You ignore the target: with one, each call gets the target of the call before.
# replace: for t in range(length):
# by:      for _ in range(length):
# replace: token = logits.argmax(-1) if target is None else target[:, t]
# by:      token = logits.argmax(-1)

# %% wrong unroll target_in_the_first_call_only of="solution"
# You force call 1 only: with a target, every later call gets the target of the call
# before.
# replace: token = logits.argmax(-1) if target is None else target[:, t]
# by:      token = logits.argmax(-1) if target is None or t > 0 else target[:, t]

# %% wrong unroll every_other_token_forced of="solution"
# You mix targets and predictions: with a target, every later call gets the target.
# replace: token = logits.argmax(-1) if target is None else target[:, t]
# by:      token = logits.argmax(-1) if target is None or t % 2 else target[:, t]

# %% wrong unroll target_where_right of="solution"
# You use the target only where the prediction is right, so it changes nothing: with a target,
# every later call gets it.
# replace: token = logits.argmax(-1) if target is None else target[:, t]
# by:      best = logits.argmax(-1)
#          token = best
#          if target is not None:
#              token = torch.where(best == target[:, t], target[:, t], best)

# %% wrong unroll target_as_a_condition of="solution"
# A tensor is neither true nor false: ask whether target is None.
# replace: token = logits.argmax(-1) if target is None else target[:, t]
# by:      token = target[:, t] if target else logits.argmax(-1)

# %% wrong unroll none_forgotten of="solution"
# Without a target there is nothing to index: take the argmax of the logits then.
# replace: token = logits.argmax(-1) if target is None else target[:, t]
# by:      token = target[:, t]

# %% wrong unroll argmax_over_rows of="solution"
# Your argmax runs over the rows of the batch: it should run over the vocabulary, the last axis.
# replace: token = logits.argmax(-1) if target is None else target[:, t]
# by:      token = logits.argmax(0) if target is None else target[:, t]

# %% wrong unroll argmax_of_everything of="solution"
# Your argmax finds one number for all rows and tokens together: it should run over the last axis.
# replace: token = logits.argmax(-1) if target is None else target[:, t]
# by:      token = logits.argmax() if target is None else target[:, t]

# %% wrong unroll first_row_decides of="solution"
# Every row gets the token that the first row chose: each chooses its own.
# replace: token = logits.argmax(-1) if target is None else target[:, t]
# by:      token = logits[:1].argmax(-1).expand_as(begin) if target is None else target[:, t]

# %% wrong unroll argmin of="solution"
# You take the token with the lowest logit.
# replace: token = logits.argmax(-1) if target is None else target[:, t]
# by:      token = logits.argmin(-1) if target is None else target[:, t]

# %% wrong unroll second_best of="solution"
# You take the token with the second highest logit.
# replace: token = logits.argmax(-1) if target is None else target[:, t]
# by:      token = logits.topk(2).indices[:, 1] if target is None else target[:, t]

# %% wrong unroll argmax_of_the_weights of="solution"
# You take the argmax of the attention weights: that is a position of the source, no token.
# replace: token = logits.argmax(-1) if target is None else target[:, t]
# by:      token = weights.argmax(-1) if target is None else target[:, t]

# %% wrong unroll largest_absolute of="solution"
# You take the argmax of |logits|: a very low logit is not a likely token.
# replace: token = logits.argmax(-1) if target is None else target[:, t]
# by:      token = logits.abs().argmax(-1) if target is None else target[:, t]

# %% wrong unroll axis_kept of="solution"
# Your tokens are (batch, 1): step takes (batch,).
# replace: token = logits.argmax(-1) if target is None else target[:, t]
# by:      token = logits.argmax(-1, keepdim=True) if target is None else target[:, t : t + 1]

# %% wrong unroll probabilities_as_token of="solution"
# You hand the logits on: step takes the number of a token.
# replace: token = logits.argmax(-1) if target is None else target[:, t]
# by:      token = logits if target is None else target[:, t]

# %% wrong unroll float_tokens of="solution"
# Your tokens are floating-point numbers: step takes whole ones.
# replace: token = logits.argmax(-1) if target is None else target[:, t]
# by:      token = logits.argmax(-1).to(logits) if target is None else target[:, t]

# %% wrong unroll whole_target of="solution"
# You hand over the whole target: each call takes one token for each row.
# replace: for t in range(length):
# by:      for _ in range(length):
# replace: token = logits.argmax(-1) if target is None else target[:, t]
# by:      token = logits.argmax(-1) if target is None else target

# %% wrong unroll all_tokens_so_far of="solution"
# You hand over all tokens so far: step takes the last one of each row, the state remembers the
# others.
# replace: token = logits.argmax(-1) if target is None else target[:, t]
# by:      new = logits.argmax(-1) if target is None else target[:, t]
#          token = torch.cat([token.reshape(len(begin), -1), new[:, None]], 1)

# %% wrong unroll one_call_more of="solution"
# You make one call of step too many: length counts the calls.
# replace: return torch.stack(all_logits, 1), torch.stack(all_weights, 1)
# by:      step(token, state)
#          return torch.stack(all_logits, 1), torch.stack(all_weights, 1)

# %% wrong unroll one_call_less of="solution"
# You make one call of step too few: length counts the calls.
# replace: for t in range(length):
# by:      for t in range(length - 1):

# %% wrong unroll two_calls_each of="solution"
# You call step twice for each token, once for the logits and once for the rest: one call returns
# all three.
# replace: logits, state, weights = step(token, state)
# by:      logits = step(token, state)[0]
#          _, state, weights = step(token, state)

# %% wrong unroll ends_with_begin of="solution"
# You stop when a row gives the token that it began with: there are always `length` calls.
# replace: token = logits.argmax(-1) if target is None else target[:, t]
# by:      token = logits.argmax(-1) if target is None else target[:, t]
#          if (token == begin).any():
#              break


# %% wrong unroll row_by_row
# You call step for each row of the batch: it takes all rows at once.
def unroll(
    step: Callable[[Tensor, Tensor | None], tuple[Tensor, Tensor, Tensor]],
    state: Tensor | None,
    begin: Tensor,
    length: int,
    target: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    rows, kept = [], state
    for i in range(len(begin)):
        token, parts, state = begin, [], kept
        for t in range(length):
            logits, state, weights = step(token, state)
            parts.append((logits[i], weights[i]))
            token = logits.argmax(-1) if target is None else target[:, t]
        rows.append([torch.stack(part) for part in zip(*parts, strict=True)])
    logits, weights = zip(*rows, strict=True)
    return torch.stack(logits), torch.stack(weights)


# %% wrong unroll stacked_in_front of="solution"
# Your results are (length, batch, …): stack along axis 1, behind the batch.
# replace: return torch.stack(all_logits, 1), torch.stack(all_weights, 1)
# by:      return torch.stack(all_logits), torch.stack(all_weights)

# %% wrong unroll stacked_at_the_end of="solution"
# You stack along the last axis: the calls belong behind the batch, axis 1.
# replace: return torch.stack(all_logits, 1), torch.stack(all_weights, 1)
# by:      return torch.stack(all_logits, -1), torch.stack(all_weights, -1)

# %% wrong unroll weights_stacked_in_front of="solution"
# Your weights are (length, batch, …): stack them along axis 1, like the logits.
# replace: return torch.stack(all_logits, 1), torch.stack(all_weights, 1)
# by:      return torch.stack(all_logits, 1), torch.stack(all_weights)

# %% wrong unroll joined_not_stacked of="solution"
# torch.cat joins along an axis that exists, and the calls lose their own: stack makes a new axis.
# replace: return torch.stack(all_logits, 1), torch.stack(all_weights, 1)
# by:      return torch.cat(all_logits, 1), torch.cat(all_weights, 1)

# %% wrong unroll reshaped_for_transposed of="solution"
# reshape keeps the order of the numbers, which is by call: swap the two axes.
# replace: return torch.stack(all_logits, 1), torch.stack(all_weights, 1)
# by:      logits, weights = torch.stack(all_logits), torch.stack(all_weights)
#          return logits.reshape(len(begin), length, -1), weights.reshape(len(begin), length, -1)

# %% wrong unroll last_alone of="solution"
# You return the results of the last call only: return those of all calls.
# replace: return torch.stack(all_logits, 1), torch.stack(all_weights, 1)
# by:      return logits, weights

# %% wrong unroll last_weights_alone of="solution"
# You return the weights of the last call only: return those of all calls.
# replace: return torch.stack(all_logits, 1), torch.stack(all_weights, 1)
# by:      return torch.stack(all_logits, 1), weights

# %% wrong unroll reversed of="solution"
# Your last call comes first: keep the order of the calls.
# replace: return torch.stack(all_logits, 1), torch.stack(all_weights, 1)
# by:      return torch.stack(all_logits[::-1], 1), torch.stack(all_weights[::-1], 1)

# %% wrong unroll lists of="solution"
# You return lists: stack them along axis 1.
# replace: return torch.stack(all_logits, 1), torch.stack(all_weights, 1)
# by:      return all_logits, all_weights

# %% wrong unroll swapped_results of="solution"
# You return the weights first: the docstring says (logits, weights).
# replace: return torch.stack(all_logits, 1), torch.stack(all_weights, 1)
# by:      return torch.stack(all_weights, 1), torch.stack(all_logits, 1)

# %% wrong unroll logits_alone of="solution"
# You return the logits alone: the docstring says (logits, weights).
# replace: return torch.stack(all_logits, 1), torch.stack(all_weights, 1)
# by:      return torch.stack(all_logits, 1)

# %% wrong unroll states_returned of="solution"
# You return the states in place of the weights.
# replace: all_weights.append(weights)
# by:      all_weights.append(state)

# %% wrong unroll tokens_returned of="solution"
# You return tokens in place of logits.
# replace: all_logits.append(logits)
# by:      all_logits.append(logits.argmax(-1))

# %% wrong unroll softmaxed of="solution"
# You return probabilities: return the logits as step gives them.
# replace: all_logits.append(logits)
# by:      all_logits.append(torch.softmax(logits, -1))

# %% wrong unroll log_softmaxed of="solution"
# You return log-probabilities: return the logits as step gives them.
# replace: all_logits.append(logits)
# by:      all_logits.append(torch.log_softmax(logits, -1))

# %% wrong unroll weights_summed of="solution"
# You add up the weights of the calls: keep those of each call.
# replace: all_weights.append(weights)
# by:      all_weights.append(weights if t == 0 else weights + all_weights[-1])

# %% wrong unroll state_detached of="solution"
# You detach the state between two calls: the loss of a late token could not teach the earlier
# calls.
# replace: token = logits.argmax(-1) if target is None else target[:, t]
# by:      token = logits.argmax(-1) if target is None else target[:, t]
#          state = state.detach()

# %% wrong unroll first_state_detached of="solution"
# no gradient flows through the result
# replace: token, all_logits, all_weights = begin, [], []
# by:      token, all_logits, all_weights = begin, [], []
#          state = None if state is None else state.detach()

# %% wrong unroll logits_detached of="solution"
# no gradient flows through the result
# replace: all_logits.append(logits)
# by:      all_logits.append(logits.detach())

# %% wrong unroll weights_detached of="solution"
# no gradient flows through the result
# replace: all_weights.append(weights)
# by:      all_weights.append(weights.detach())

# %% wrong unroll no_gradient of="solution"
# no gradient flows through the result
# replace: logits, state, weights = step(token, state)
# by:      with torch.no_grad():
#              logits, state, weights = step(token, state)

# %% wrong unroll no_gradient_without_a_target of="solution"
# no gradient flows through the result
# replace: logits, state, weights = step(token, state)
# by:      with torch.set_grad_enabled(target is not None):
#              logits, state, weights = step(token, state)

# %% wrong unroll copied_numbers of="solution"
# no gradient flows through the result
# replace: return torch.stack(all_logits, 1), torch.stack(all_weights, 1)
# by:      return torch.stack(all_logits, 1).clone().detach(), torch.stack(all_weights, 1).data


# %% wrong unroll one_list_for_all_calls
# Your lists keep what an earlier call of unroll put into them: a default value is made once, when
# Python reads the def.
def unroll(
    step: Callable[[Tensor, Tensor | None], tuple[Tensor, Tensor, Tensor]],
    state: Tensor | None,
    begin: Tensor,
    length: int,
    target: Tensor | None = None,
    results: list = [],
) -> tuple[Tensor, Tensor]:
    token = begin
    for t in range(length):
        logits, state, weights = step(token, state)
        results.append((logits, weights))
        token = logits.argmax(-1) if target is None else target[:, t]
    both = zip(*results, strict=True)
    logits, weights = (torch.stack(part, 1) for part in both)
    return logits, weights


# %% wrong unroll same_list of="solution"
# You collect logits and weights in one list: keep two.
# replace: token, all_logits, all_weights = begin, [], []
# by:      token = begin
#          all_logits = all_weights = []

# %% wrong unroll float32_table of="solution"
# something on the way has another dtype: .float(), a NumPy array, a tensor that you make
# replace: return torch.stack(all_logits, 1), torch.stack(all_weights, 1)
# by:      return torch.stack(all_logits, 1).float(), torch.stack(all_weights, 1).float()

# %% wrong unroll begin_overwritten of="solution"
# operations that end in _ (add_, masked_fill_), x[...] = y and x -= y write into the caller's
# tensor: make a new one
# replace: token = logits.argmax(-1) if target is None else target[:, t]
# by:      token.copy_(logits.argmax(-1) if target is None else target[:, t])

# %% wrong unroll target_overwritten of="solution"
# operations that end in _ (add_, masked_fill_), x[...] = y and x -= y write into the caller's
# tensor: make a new one
# replace: token = logits.argmax(-1) if target is None else target[:, t]
# by:      token = logits.argmax(-1) if target is None else target[:, t]
#          if target is not None:
#              target[:, t] = logits.argmax(-1)

# %% wrong unroll state_needed of="solution"
# Your code asks the state for its shape: it may be None.
# replace: token, all_logits, all_weights = begin, [], []
# by:      token, all_logits, all_weights = begin, [], []
#          state = state.reshape(state.shape)

# %% wrong unroll zeros_for_none of="solution"
# You replace a state of None by zeros of a size you cannot know: hand None over as it is.
# replace: token, all_logits, all_weights = begin, [], []
# by:      token, all_logits, all_weights = begin, [], []
#          if state is None:
#              state = torch.zeros(len(begin), 2).to(torch.float64)

# %% wrong unroll state_and_weights_swapped of="solution"
# You take the weights for the state: step returns (logits, state, weights).
# replace: logits, state, weights = step(token, state)
# by:      logits, weights, state = step(token, state)

# %% wrong unroll arguments_swapped of="solution"
# You call step(state, token): it takes the token first.
# replace: logits, state, weights = step(token, state)
# by:      logits, state, weights = step(state, token)

# %% wrong unroll without_end of="solution"
# step is called without end: more than 40 times
# replace: logits, state, weights = step(token, state)
# by:      logits, state, weights = step(token, state)
#          while logits.sum() < math.inf:
#              logits, state, weights = step(token, state)

# %% wrong unroll nothing_returned of="solution"
# does the last line say `return`?
# replace: return torch.stack(all_logits, 1), torch.stack(all_weights, 1)
# by:      torch.stack(all_logits, 1), torch.stack(all_weights, 1)

# %% wrong unroll begin_again_without_a_target of="solution"
# Without a target, every call of yours gets begin: later ones get the argmax of the call before.
# replace: logits.argmax(-1) if target is None
# by:      begin if target is None

# %% wrong unroll state_detached_without_a_target of="solution"
# You detach the state between two calls: the loss of a late token could not teach the earlier
# calls.
# replace: token = logits.argmax(-1) if target is None else target[:, t]
# by:      token = logits.argmax(-1) if target is None else target[:, t]
#          state = state.detach() if target is None else state

# %% wrong unroll axis_of_the_argmax_kept of="solution"
# Your tokens are (batch, 1): step takes (batch,).
# replace: logits.argmax(-1) if target is None
# by:      logits.argmax(-1, keepdim=True) if target is None

# %% wrong unroll starts_at_one of="solution"
# You make one call of step too few: length counts the calls.
# replace: for t in range(length):
# by:      for t in range(1, length):

# %% wrong unroll one_round_more of="solution"
# You make one call of step too many: length counts the calls.
# replace: for t in range(length):
# by:      for t in range(length + 1):

# %% wrong unroll sampled of="solution"
# You draw a token from the probabilities: without a target, the argmax of the logits is read.
# replace: token = logits.argmax(-1) if target is None else target[:, t]
# by:      generator = torch.Generator().manual_seed(t)
#          drawn = torch.multinomial(logits.detach().softmax(-1), 1, generator=generator)[:, 0]
#          token = drawn if target is None else target[:, t]

# %% right unroll inputs_made_first of="solution"
# replace: token, all_logits, all_weights = begin, [], []
# by:      all_logits, all_weights = [], []
#          inputs = None if target is None else torch.cat([begin[:, None], target], 1)
#          token = begin
# replace: logits, state, weights = step(token, state)
# by:      token = token if inputs is None else inputs[:, t]
#          logits, state, weights = step(token, state)
# replace: token = logits.argmax(-1) if target is None else target[:, t]
# by:      token = logits.argmax(-1)

# %% right unroll results_in_one_list of="solution"
# replace: token, all_logits, all_weights = begin, [], []
# by:      token, results = begin, []
# replace: all_logits.append(logits)
#          all_weights.append(weights)
# by:      results.append((logits, weights))
# replace: return torch.stack(all_logits, 1), torch.stack(all_weights, 1)
# by:      logits, weights = zip(*results, strict=True)
#          return torch.stack(logits, dim=1), torch.stack(weights, dim=1)

# %% right unroll joined_with_new_axis of="solution"
# replace: all_logits.append(logits)
# by:      all_logits.append(logits[:, None])
# replace: all_weights.append(weights)
# by:      all_weights.append(weights.unsqueeze(1))
# replace: return torch.stack(all_logits, 1), torch.stack(all_weights, 1)
# by:      return torch.cat(all_logits, 1), torch.cat(all_weights, 1)

# %% right unroll while_loop of="solution"
# replace: for t in range(length):
# by:      while len(all_logits) < length:
# replace: token = logits.argmax(-1) if target is None else target[:, t]
# by:      token = logits.argmax(-1) if target is None else target[:, len(all_logits) - 1]


# %% right unroll recursion
def unroll(
    step: Callable[[Tensor, Tensor | None], tuple[Tensor, Tensor, Tensor]],
    state: Tensor | None,
    begin: Tensor,
    length: int,
    target: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    logits, state, weights = step(begin, state)
    first = logits[:, None], weights[:, None]
    if length == 1:
        return first
    token = logits.argmax(-1) if target is None else target[:, 0]
    later = unroll(step, state, token, length - 1, None if target is None else target[:, 1:])
    return torch.cat([first[0], later[0]], 1), torch.cat([first[1], later[1]], 1)


# %% right unroll swapped_afterwards of="solution"
# replace: return torch.stack(all_logits, 1), torch.stack(all_weights, 1)
# by:      return torch.stack(all_logits).transpose(0, 1), torch.stack(all_weights).movedim(0, 1)

# %% right unroll argmax_without_gradient of="solution"
# replace: token = logits.argmax(-1) if target is None else target[:, t]
# by:      if target is not None:
#              token = target[:, t]
#          else:
#              with torch.no_grad():
#                  token = logits.detach().softmax(-1).max(-1).indices

# %% right unroll topk of="solution"
# replace: token = logits.argmax(-1) if target is None else target[:, t]
# by:      token = target.select(1, t) if target is not None else logits.topk(1).indices.squeeze(-1)

# %% right unroll written_into_empty of="solution"
# replace: token, all_logits, all_weights = begin, [], []
# by:      token, made, attended = begin, None, None
# replace: all_logits.append(logits)
# by:      if made is None:
#              made = logits.new_empty(len(begin), length, logits.shape[-1])
#              attended = weights.new_empty(len(begin), length, weights.shape[-1])
#          made[:, t] = logits
# replace: all_weights.append(weights)
# by:      attended[:, t] = weights
# replace: return torch.stack(all_logits, 1), torch.stack(all_weights, 1)
# by:      return made, attended


# %% right unroll generator_of_calls
def unroll(
    step: Callable[[Tensor, Tensor | None], tuple[Tensor, Tensor, Tensor]],
    state: Tensor | None,
    begin: Tensor,
    length: int,
    target: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    def results():
        token, now = begin, state
        for t in range(length):
            logits, now, weights = step(token, now)
            yield logits, weights
            token = logits.argmax(dim=1) if target is None else target[:, t]

    both = list(results())
    return torch.stack([pair[0] for pair in both], 1), torch.stack([pair[1] for pair in both], 1)


# %% right unroll called_by_name of="solution"
# replace: logits, state, weights = step(token, state)
# by:      logits, state, weights = step(token=token, state=state)

# %% right unroll columns_of_the_target of="solution"
# replace: token, all_logits, all_weights = begin, [], []
# by:      token, all_logits, all_weights = begin, [], []
#          columns = [None] * length if target is None else target.unbind(1)
# replace: for t in range(length):
# by:      for column in columns:
# replace: token = logits.argmax(-1) if target is None else target[:, t]
# by:      token = torch.argmax(logits, dim=-1) if column is None else column


# %% wrong test_of_attention always_true
# Your test accepts every function. Change the order of the states, then their content, then the
# state, and ask each time what happens to the weights.
def test_of_attention(attend):
    return True


# %% wrong test_of_attention shape_and_sum
# Your test accepts every function. Change the order of the states, then their content, then the
# state, and ask each time what happens to the weights.
def test_of_attention(attend):
    weights = attend(numbers(2, 4), numbers(2, 6, 4, seed=1))
    sums_to_one = torch.allclose(weights.sum(-1), torch.ones(2, dtype=weights.dtype))
    return weights.shape == (2, 6) and sums_to_one and bool((weights >= 0).all())


# %% wrong test_of_attention always_false
# Your test rejects correct functions too. Compare weights up to rounding, and each weight with
# that of the same state in its new position.
def test_of_attention(attend):
    return False


# %% wrong test_of_attention exactly_equal of="solution"
# Your test compares exactly, but weights differ by rounding: use torch.allclose.
# replace: moved = torch.allclose(attend(state, states[:, order]), weights[:, order])
# by:      moved = weights.tolist() == attend(state, states.flip(1)).tolist()

# %% wrong test_of_attention weights_should_stay of="solution"
# Your test rejects correct functions too. Compare weights up to rounding, and each weight with
# that of the same state in its new position.
# replace: moved = torch.allclose(attend(state, states[:, order]), weights[:, order])
# by:      moved = torch.allclose(attend(state, states[:, order]), weights)

# %% wrong test_of_attention inverse_order of="solution"
# Your test rejects correct functions too. Compare weights up to rounding, and each weight with
# that of the same state in its new position.
# replace: moved = torch.allclose(attend(state, states[:, order]), weights[:, order])
# by:      moved = torch.allclose(attend(state, states[:, order])[:, order], weights)


# %% wrong test_of_attention against_the_dot_product
# Your test rejects correct functions too. Compare weights up to rounding, and each weight with
# that of the same state in its new position.
def test_of_attention(attend):
    state, states = numbers(2, 4), numbers(2, 6, 4, seed=1)
    expected = (states @ state[:, :, None])[..., 0].softmax(-1) * 1.5
    return torch.allclose(attend(state, states), expected)


# %% wrong test_of_attention only_dot_products
# Your test accepts one way to score, and rejects others that attend by content too. Ask for what
# all of them have in common.
def test_of_attention(attend):
    state, states = numbers(2, 4), numbers(2, 6, 4, seed=1)
    expected = (states @ state[:, :, None])[..., 0].softmax(-1)
    return torch.allclose(attend(state, states), expected)


# %% wrong test_of_attention reversed_answer of="solution"
# Your test says True for faulty functions and False for correct ones. Reverse it.
# replace: return moved and by_states and by_state
# by:      return not (moved and by_states and by_state)

# %% wrong test_of_attention only_order of="solution"
# Your test does not ask whether the weights depend on the content of the states, or on the state.
# Equal weights for all states pass it.
# replace: return moved and by_states and by_state
# by:      return moved

# %% wrong test_of_attention state_forgotten of="solution"
# Your test accepts weights that ignore the state of the decoder. Then every step of the decoder
# would attend to the same states.
# replace: return moved and by_states and by_state
# by:      return moved and by_states

# %% wrong test_of_attention order_forgotten of="solution"
# Your test accepts weights that depend on positions too. Put the states into another order: their
# weights should move with them.
# replace: return moved and by_states and by_state
# by:      return by_states and by_state


# %% wrong test_of_attention only_content
# Your test asks only whether the weights change with the states. Weights that depend on positions
# too, or not on the state, pass it.
def test_of_attention(attend):
    state = numbers(3, 5)
    one, other = attend(state, numbers(3, 4, 5, seed=1)), attend(state, numbers(3, 4, 5, seed=2))
    return not torch.allclose(one, other)


# %% wrong test_of_attention any_change_of_order of="solution"
# Your test accepts weights that depend on positions too. Put the states into another order: their
# weights should move with them.
# replace: moved = torch.allclose(attend(state, states[:, order]), weights[:, order])
# by:      moved = not torch.allclose(attend(state, states[:, order]), weights)

# %% wrong test_of_attention reversed_order of="solution"
# Your test changes the order in one way only, and some positions are treated alike in it. Try
# orders without a pattern: neither reversed, nor shifted, nor with one end fixed.
# replace: order = torch.tensor([2, 0, 5, 1, 3, 4])
# by:      order = torch.tensor([5, 4, 3, 2, 1, 0])

# %% wrong test_of_attention shifted_order of="solution"
# Your test changes the order in one way only, and some positions are treated alike in it. Try
# orders without a pattern: neither reversed, nor shifted, nor with one end fixed.
# replace: order = torch.tensor([2, 0, 5, 1, 3, 4])
# by:      order = torch.tensor([1, 2, 3, 4, 5, 0])

# %% wrong test_of_attention last_stays of="solution"
# Your test changes the order in one way only, and some positions are treated alike in it. Try
# orders without a pattern: neither reversed, nor shifted, nor with one end fixed.
# replace: order = torch.tensor([2, 0, 5, 1, 3, 4])
# by:      order = torch.tensor([2, 0, 4, 1, 3, 5])

# %% wrong test_of_attention sum_of_weights of="solution"
# Your test accepts weights that depend on positions too. Put the states into another order: their
# weights should move with them.
# replace: moved = torch.allclose(attend(state, states[:, order]), weights[:, order])
# by:      moved = torch.allclose(attend(state, states[:, order]).sum(-1), weights.sum(-1))


# %% wrong test_of_attention largest_weight_only
# Your test assumes which weight is the largest. That depends on the score: compare the weights
# before and after a change of order instead.
def test_of_attention(attend):
    state, states = numbers(1, 4), numbers(1, 3, 4, seed=1)
    states[0, 1] += 40 * state[0]
    flipped = attend(state, states[:, [1, 2, 0]])
    other = attend(-state, states)
    return (
        attend(state, states).argmax().item() == 1 and flipped.argmax() == 0 and other[0, 1] < 0.5
    )


# %% wrong test_of_attention asserted
# Your test says True or stops with an error. It should return False for a faulty function.
def test_of_attention(attend):
    state, states = numbers(2, 4), numbers(2, 6, 4, seed=1)
    order = torch.tensor([2, 0, 5, 1, 3, 4])
    assert torch.allclose(attend(state, states[:, order]), attend(state, states)[:, order])
    assert not torch.allclose(attend(state, states), attend(2 * state, states))
    return True


# %% wrong test_of_attention one_of_three of="solution"
# Your test says True where one of its answers is yes: all of them should be.
# replace: return moved and by_states and by_state
# by:      return moved or by_states or by_state

# %% wrong test_of_attention not_up_to_rounding of="solution"
# Your test compares exactly, but weights differ by rounding: use torch.allclose.
# replace: moved = torch.allclose(attend(state, states[:, order]), weights[:, order])
# by:      moved = torch.equal(attend(state, states[:, order]), weights[:, order])

# %% wrong test_of_attention wide_tolerance of="solution"
# Your tolerance lets wrong weights pass: weights lie between 0 and 1, and rounding is far smaller.
# replace: moved = torch.allclose(attend(state, states[:, order]), weights[:, order])
# by:      moved = torch.allclose(attend(state, states[:, order]), weights[:, order], atol=0.5)

# %% wrong test_of_attention sorted_weights of="solution"
# You compare sorted weights, which may belong to other states: each weight moves with its state.
# replace: moved = torch.allclose(attend(state, states[:, order]), weights[:, order])
# by:      moved_weights = attend(state, states[:, order]).sort(-1).values
#          moved = torch.allclose(moved_weights, weights.sort(-1).values)

# %% wrong test_of_attention largest_one_alone of="solution"
# You compare which weight is the largest: all of them move with their states.
# replace: moved = torch.allclose(attend(state, states[:, order]), weights[:, order])
# by:      largest = order[attend(state, states[:, order]).argmax(-1)]
#          moved = torch.equal(largest, weights.argmax(-1))

# %% wrong test_of_attention two_states of="solution"
# Your test has two states only, and their one other order is the reversed one. Take more.
# replace: state, states = numbers(2, 4), numbers(2, 6, 4, seed=1)
#          order = torch.tensor([2, 0, 5, 1, 3, 4])
# by:      state, states = numbers(2, 4), numbers(2, 2, 4, seed=1)
#          order = torch.tensor([1, 0])
# replace: numbers(2, 6, 4, seed=2)
# by:      numbers(2, 2, 4, seed=2)

# %% wrong test_of_attention features_in_another_order of="solution"
# You put the features into another order. A score may treat each in its own way: reorder the
# states.
# replace: moved = torch.allclose(attend(state, states[:, order]), weights[:, order])
# by:      turned = torch.tensor([2, 0, 3, 1])
#          moved = torch.allclose(attend(state[:, turned], states[..., turned]), weights)

# %% wrong test_of_attention should_not_change of="solution"
# Your test wants the weights to stay when the states or the state are others: they should change.
# replace: not torch.allclose(attend(state, numbers(2, 6, 4, seed=2)), weights)
# by:      torch.allclose(attend(state, numbers(2, 6, 4, seed=2)), weights)
# replace: not torch.allclose(attend(numbers(2, 4, seed=3), states), weights)
# by:      torch.allclose(attend(numbers(2, 4, seed=3), states), weights)

# %% wrong test_of_attention two_equal_states of="solution"
# You compare the weights of two equal states. Some positions are treated alike: reorder all states.
# replace: moved = torch.allclose(attend(state, states[:, order]), weights[:, order])
# by:      double = states.clone()
#          double[:, 1] = double[:, 4]
#          equal = attend(state, double)
#          moved = torch.allclose(equal[:, 1], equal[:, 4])


# %% right test_of_attention all_orders
def test_of_attention(attend):
    from itertools import permutations

    state, states = numbers(1, 3), numbers(1, 4, 3, seed=1)
    weights = attend(state, states)
    for order in permutations(range(4)):
        if not torch.allclose(attend(state, states[:, list(order)]), weights[:, list(order)]):
            return False
    changed = states.clone()
    changed[0, 2] += 1.0
    if torch.allclose(attend(state, changed), weights):
        return False
    return not torch.allclose(attend(state + numbers(3, seed=5), states), weights)


# %% right test_of_attention by_gradients
def test_of_attention(attend):
    state = numbers(2, 5).requires_grad_()
    states = numbers(2, 7, 5, seed=3).requires_grad_()
    weights = attend(state, states)
    for source in (state, states):
        if not weights.requires_grad:
            return False
        grads = torch.autograd.grad(
            weights[:, 3].sum(), source, retain_graph=True, allow_unused=True
        )
        if grads[0] is None or float(grads[0].abs().max()) < 1e-9:
            return False
    order = [3, 6, 0, 2, 5, 1, 4]
    return bool((attend(state, states[:, order]) - weights[:, order]).abs().max() < 1e-9)


# %% right test_of_attention single_precision
def test_of_attention(attend):
    torch.manual_seed(0)
    for length, d in ((5, 2), (9, 6), (6, 3)):
        state, states = torch.randn(3, d), torch.randn(3, length, d)
        weights = attend(state, states)
        for _ in range(4):
            order = torch.randperm(length)
            if (attend(state, states[:, order]) - weights[:, order]).abs().max() > 1e-4:
                return False
        if (attend(torch.randn(3, d), states) - weights).abs().max() < 1e-4:
            return False
        if (attend(state, torch.randn(3, length, d)) - weights).abs().max() < 1e-4:
            return False
    return True


# %% right test_of_attention one_state_walks
def test_of_attention(attend):
    # one state moves through all positions, past others that differ: its weight goes with it
    state, others = numbers(1, 4), numbers(1, 5, 4, seed=2)
    walker = 0.8 * state[:, None]
    rows = [
        attend(state, torch.cat([others[:, :i], walker, others[:, i:]], 1))[0] for i in range(6)
    ]
    same = all(abs(float(row[i] - rows[0][0])) < 1e-8 for i, row in enumerate(rows))
    rest = [torch.cat([row[:i], row[i + 1 :]]) for i, row in enumerate(rows)]
    in_order = all(torch.allclose(row, rest[0]) for row in rest)
    swapped = attend(state, torch.cat([others[:, [3, 0, 4, 2, 1]], walker], 1))[0]
    in_order = in_order and torch.allclose(swapped[:5], rest[0][[3, 0, 4, 2, 1]])
    another = attend(numbers(1, 4, seed=7), torch.cat([walker, others], 1))[0]
    content = attend(state, torch.cat([walker, others + 0.5], 1))[0]
    return same and in_order and not any(torch.allclose(x, rows[0]) for x in (another, content))


# %% right test_of_attention by_dictionary
def test_of_attention(attend):
    state, states = numbers(1, 4, seed=8), numbers(1, 6, 4, seed=9)

    def weight_of_each(query, order):
        return dict(zip(order, attend(query, states[:, order])[0].tolist(), strict=True))

    first = weight_of_each(state, [0, 1, 2, 3, 4, 5])
    second = weight_of_each(state, [4, 1, 5, 0, 3, 2])
    third = weight_of_each(state, [1, 4, 0, 2, 5, 3])
    moves = all(abs(first[i] - other[i]) < 1e-9 for other in (second, third) for i in range(6))
    asked = weight_of_each(-3 * state, [0, 1, 2, 3, 4, 5])
    fewer = attend(state, states[:, :1].expand(1, 6, 4))[0].tolist()
    return (
        moves
        and max(abs(asked[i] - first[i]) for i in range(6)) > 1e-6
        and max(abs(fewer[i] - first[i]) for i in range(6)) > 1e-6
    )


# %% right test_of_attention two_questions of="solution"
# replace: return moved and by_states and by_state
# by:      return moved and by_state
