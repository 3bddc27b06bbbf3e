# %% given imports
# pyright: reportRedeclaration=false, reportReturnType=false, reportUnusedExpression=false
import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor


# %% wrong causal_mask upper_triangle
# Each query may attend to its own position and to later ones, as if the text ran from right to
# left: keep the other triangle.
def causal_mask(length: int) -> Tensor:
    return torch.ones(length, length, dtype=torch.bool).triu()


# %% wrong causal_mask comparison_turned_round of="comparison"
# Each query may attend to its own position and to later ones, as if the text ran from right to
# left: keep the other triangle.
# replace: return positions[:, None] >= positions
# by:      return positions[:, None] <= positions

# %% wrong causal_mask places_on_the_wrong_sides of="comparison"
# Each query may attend to its own position and to later ones, as if the text ran from right to
# left: keep the other triangle.
# replace: return positions[:, None] >= positions
# by:      return positions >= positions[:, None]


# %% wrong causal_mask diagonal_forbidden
# The diagonal is False, so no query may attend to its own position, and the first query may
# attend to nothing: keep the diagonal, that token is already known.
def causal_mask(length: int) -> Tensor:
    return torch.ones(length, length, dtype=torch.bool).tril(-1)


# %% wrong causal_mask strictly_before of="comparison"
# The diagonal is False, so no query may attend to its own position, and the first query may
# attend to nothing: keep the diagonal, that token is already known.
# replace: return positions[:, None] >= positions
# by:      return positions[:, None] > positions


# %% wrong causal_mask true_is_forbidden
# You mark the keys that are masked out, but here True means may attend: invert the mask.
def causal_mask(length: int) -> Tensor:
    return torch.ones(length, length, dtype=torch.bool).triu(1)


# %% wrong causal_mask later_places of="comparison"
# You mark the keys that are masked out, but here True means may attend: invert the mask.
# replace: return positions[:, None] >= positions
# by:      return positions[:, None] < positions


# %% wrong causal_mask one_too_wide
# Each query may also attend to the next key, which holds its target: the diagonal is the last one
# that is allowed.
def causal_mask(length: int) -> Tensor:
    return torch.ones(length, length, dtype=torch.bool).tril(1)


# %% wrong causal_mask ones_and_zeros
# Your mask contains the numbers 1 and 0, but it should be boolean: convert it to torch.bool.
def causal_mask(length: int) -> Tensor:
    return torch.ones(length, length).tril()


# %% wrong causal_mask whole_numbers
# Your mask contains the numbers 1 and 0, but it should be boolean: convert it to torch.bool.
def causal_mask(length: int) -> Tensor:
    return torch.ones(length, length, dtype=torch.long).tril()


# %% wrong causal_mask minus_infinities
# You return what is added to the scores, 0 and −∞: the mask itself is boolean, True = may attend.
def causal_mask(length: int) -> Tensor:
    return torch.full((length, length), -math.inf).triu(1)


# %% wrong causal_mask all_allowed
# Nothing is masked: every query may attend to later keys too. (`tril` returns a new tensor and
# leaves the old one as it is.)
def causal_mask(length: int) -> Tensor:
    return torch.ones(length, length, dtype=torch.bool)


# %% wrong causal_mask itself_alone
# Each query may attend only to its own position: it may also attend to all earlier ones.
def causal_mask(length: int) -> Tensor:
    return torch.eye(length, dtype=torch.bool)


# %% wrong causal_mask one_word_back
# Each query may attend to its own position and to one before it: it may attend to all earlier
# positions, however far back.
def causal_mask(length: int) -> Tensor:
    square = torch.ones(length, length, dtype=torch.bool)
    return square.tril() & square.triu(-1)


# %% wrong causal_mask other_corner
# Your triangle is upside down: query 0 may attend to every key, and later queries to fewer and
# fewer. The first row should have one True, the last row all.
def causal_mask(length: int) -> Tensor:
    return torch.ones(length, length, dtype=torch.bool).tril().flip(0)


# %% wrong causal_mask mirrored
# Your triangle is mirrored: query 0 may attend only to the last key. Query i may attend to keys 0
# to i.
def causal_mask(length: int) -> Tensor:
    return torch.ones(length, length, dtype=torch.bool).tril().flip(1)


# %% wrong causal_mask first_row_left_out
# The first query may attend to nothing: its own position, key 0, is allowed.
def causal_mask(length: int) -> Tensor:
    mask = torch.zeros(length, length, dtype=torch.bool)
    for i in range(1, length):
        mask[i, : i + 1] = True
    return mask


# %% wrong causal_mask one_row
# You return one row, but a mask has a row for each query: its shape is (length, length).
def causal_mask(length: int) -> Tensor:
    return torch.arange(length) <= length - 1


# %% wrong causal_mask with_a_batch
# Your mask has one axis too many: it is the same for every sequence, so (length, length) is
# enough.
def causal_mask(length: int) -> Tensor:
    return torch.ones(1, length, length, dtype=torch.bool).tril()


# %% wrong causal_mask always_three
# Your mask is 3 by 3 for every length: build it from `length`.
def causal_mask(length: int) -> Tensor:
    return torch.tensor([[True, False, False], [True, True, False], [True, True, True]])


# %% wrong causal_mask one_longer of="comparison"
# Your mask has one row and one column too many: positions run from 0 to length − 1.
# replace: positions = torch.arange(length)
# by:      positions = torch.arange(length + 1)


# %% wrong causal_mask list_of_lists
# You return a Python list: convert it to a tensor.
def causal_mask(length: int) -> Tensor:
    return [[j <= i for j in range(length)] for i in range(length)]


# %% wrong causal_mask forgotten_return
# does the last line say `return`?
def causal_mask(length: int) -> Tensor:
    torch.ones(length, length, dtype=torch.bool).tril()


# %% wrong causal_mask table_of_64
# Your mask never gets larger than 64 by 64: build it for the length that is given.
def causal_mask(length: int) -> Tensor:
    return torch.ones(64, 64, dtype=torch.bool).tril()[:length, :length]


# %% wrong causal_mask one_column_too_many
# Your mask has one column too many: the keys have positions from 0 to length − 1, like the
# queries.
def causal_mask(length: int) -> Tensor:
    return torch.arange(length)[:, None] >= torch.arange(length + 1)


# %% wrong causal_mask last_row_left_out
# The last query may attend to nothing: its row should be all True.
def causal_mask(length: int) -> Tensor:
    mask = torch.zeros(length, length, dtype=torch.bool)
    for i in range(length - 1):
        mask[i, : i + 1] = True
    return mask


# %% wrong causal_mask window_of_three
# No query may attend to more than three keys: allow all earlier positions, however far back.
def causal_mask(length: int) -> Tensor:
    distance = torch.arange(length)[:, None] - torch.arange(length)
    return (distance >= 0) & (distance < 3)


# %% wrong causal_mask only_the_first_sees_itself
# Only the first query may attend to its own position: every query may.
def causal_mask(length: int) -> Tensor:
    mask = torch.ones(length, length, dtype=torch.bool).tril(-1)
    mask[0, 0] = True
    return mask


# %% wrong causal_mask small_integers
# Your positions overflow: int8 ends at 127. Leave the dtype as it is.
def causal_mask(length: int) -> Tensor:
    positions = torch.arange(length).to(torch.int8)
    return positions[:, None] >= positions


# %% right causal_mask comparison
def causal_mask(length: int) -> Tensor:
    positions = torch.arange(length)
    return positions[:, None] >= positions


# %% right causal_mask not_the_upper_triangle
def causal_mask(length: int) -> Tensor:
    return ~torch.ones(length, length, dtype=torch.bool).triu(diagonal=1)


# %% right causal_mask numbers_then_bool
def causal_mask(length: int) -> Tensor:
    return torch.tril(torch.ones((length, length))).bool()


# %% right causal_mask equal_to_one
def causal_mask(length: int) -> Tensor:
    return torch.ones(length, length).tril() == 1


# %% right causal_mask loops
def causal_mask(length: int) -> Tensor:
    mask = torch.zeros(length, length, dtype=torch.bool)
    for i in range(length):
        for j in range(i + 1):
            mask[i, j] = True
    return mask


# %% right causal_mask list_comprehension
def causal_mask(length: int) -> Tensor:
    return torch.tensor([[j <= i for j in range(length)] for i in range(length)])


# %% right causal_mask running_sums
def causal_mask(length: int) -> Tensor:
    return torch.eye(length).cumsum(0) > 0


# %% right causal_mask of_torch
def causal_mask(length: int) -> Tensor:
    float_mask = torch.nn.Transformer.generate_square_subsequent_mask(length)
    return float_mask == 0


# %% wrong repaired_mask as_on_the_slide
# This is the slide's own condition, i ≤ j, under which a query may attend to its own position and
# to later ones: reverse the comparison.
def repaired_mask(query_positions: Tensor, key_positions: Tensor) -> Tensor:
    return query_positions[:, None] <= key_positions


# %% wrong repaired_mask strictly_before
# A query may also attend to its own position, not only to earlier ones.
def repaired_mask(query_positions: Tensor, key_positions: Tensor) -> Tensor:
    return query_positions[:, None] > key_positions


# %% wrong repaired_mask only_the_future
# Your mask is True where attention is not allowed, at positions after the query: invert it.
def repaired_mask(query_positions: Tensor, key_positions: Tensor) -> Tensor:
    return query_positions[:, None] < key_positions


# %% wrong repaired_mask places_of_the_keys_ignored
# You ignore the positions of the keys: read both positions from the tensors that you are given.
def repaired_mask(query_positions: Tensor, key_positions: Tensor) -> Tensor:
    return query_positions[:, None] > torch.arange(len(key_positions))


# %% wrong repaired_mask its_own_place_only
# Each query may attend only to its own position: earlier positions are allowed too.
def repaired_mask(query_positions: Tensor, key_positions: Tensor) -> Tensor:
    return query_positions[:, None] == key_positions


# %% wrong repaired_mask transposed
# Rows and columns are swapped: a row belongs to a query, a column to a key.
def repaired_mask(query_positions: Tensor, key_positions: Tensor) -> Tensor:
    return key_positions[:, None] <= query_positions


# %% wrong repaired_mask turned_the_result
# Rows and columns are swapped: a row belongs to a query, a column to a key.
def repaired_mask(query_positions: Tensor, key_positions: Tensor) -> Tensor:
    return (query_positions[:, None] >= key_positions).T


# %% wrong repaired_mask places_ignored
# You compare indices in the tensors instead of the positions that they hold: the first query need
# not be at the first position of the text.
def repaired_mask(query_positions: Tensor, key_positions: Tensor) -> Tensor:
    return torch.ones(len(query_positions), len(key_positions), dtype=torch.bool).tril()


# %% wrong repaired_mask counted_anew
# You compare indices in the tensors instead of the positions that they hold: the first query need
# not be at the first position of the text.
def repaired_mask(query_positions: Tensor, key_positions: Tensor) -> Tensor:
    return torch.arange(len(query_positions))[:, None] >= torch.arange(len(key_positions))


# %% wrong repaired_mask aligned_at_the_end
# You assume that the last query is at the position of the last key: read both positions from the
# tensors that you are given.
def repaired_mask(query_positions: Tensor, key_positions: Tensor) -> Tensor:
    rows, columns = len(query_positions), len(key_positions)
    return torch.ones(rows, columns, dtype=torch.bool).tril(columns - rows)


# %% wrong repaired_mask no_axis_for_the_queries
# Each query must be compared with every key: give the queries an axis of their own, as rows.
def repaired_mask(query_positions: Tensor, key_positions: Tensor) -> Tensor:
    return query_positions >= key_positions


# %% wrong repaired_mask numbers
# Your mask contains numbers, but it should be boolean: return the comparison as it is.
def repaired_mask(query_positions: Tensor, key_positions: Tensor) -> Tensor:
    return (query_positions[:, None] >= key_positions).float()


# %% wrong repaired_mask one_too_wide
# Each query may also attend to the position after its own: the condition is i ≥ j, with nothing
# added.
def repaired_mask(query_positions: Tensor, key_positions: Tensor) -> Tensor:
    return query_positions[:, None] + 1 >= key_positions


# %% wrong repaired_mask keys_sorted
# Your columns are in another order than the keys: keep the order that you are given.
def repaired_mask(query_positions: Tensor, key_positions: Tensor) -> Tensor:
    return query_positions[:, None] >= key_positions.sort().values


# %% wrong repaired_mask queries_sorted
# Your rows are in another order than the queries: keep the order that you are given.
def repaired_mask(query_positions: Tensor, key_positions: Tensor) -> Tensor:
    return query_positions.sort().values[:, None] >= key_positions


# %% wrong repaired_mask the_last_query_for_all
# Every query gets the same row, that of the last position: compare each query with its own
# position.
def repaired_mask(query_positions: Tensor, key_positions: Tensor) -> Tensor:
    return (key_positions <= query_positions.max()).expand(len(query_positions), -1)


# %% wrong repaired_mask table_of_512
# Your table ends at position 512: compare the positions directly, and any position will work.
def repaired_mask(query_positions: Tensor, key_positions: Tensor) -> Tensor:
    return torch.ones(512, 512).tril().bool()[query_positions][:, key_positions]


# %% wrong repaired_mask minus_infinities
# You return what is added to the scores, 0 and −∞: the mask itself is boolean, True = may attend.
def repaired_mask(query_positions: Tensor, key_positions: Tensor) -> Tensor:
    later = key_positions > query_positions[:, None]
    return torch.zeros(later.shape).masked_fill(later, -math.inf)


# %% wrong repaired_mask distances
# You return distances between positions: a mask says True or False. Which distances are allowed?
def repaired_mask(query_positions: Tensor, key_positions: Tensor) -> Tensor:
    return (query_positions[:, None] - key_positions).clamp(min=0)


# %% wrong repaired_mask half_precision
# You do not tell positions 3000 and 3001 apart: compare the integers as they are.
def repaired_mask(query_positions: Tensor, key_positions: Tensor) -> Tensor:
    return query_positions.half()[:, None] >= key_positions.half()


# %% wrong repaired_mask repeated_in_the_wrong_order
# Queries or keys end up in the wrong places: row i belongs to query i, column j to key j. (`view`
# after `repeat` can mix them.)
def repaired_mask(query_positions: Tensor, key_positions: Tensor) -> Tensor:
    rows, columns = len(query_positions), len(key_positions)
    return query_positions.repeat(columns).view(rows, columns) >= key_positions


# %% wrong repaired_mask one_query_only
# Your code works for a single query only: compare each query with each key.
def repaired_mask(query_positions: Tensor, key_positions: Tensor) -> Tensor:
    return (key_positions <= query_positions.item())[None]


# %% wrong repaired_mask squeezed
# With one query its axis is missing: do not squeeze the result.
def repaired_mask(query_positions: Tensor, key_positions: Tensor) -> Tensor:
    return (query_positions[:, None] >= key_positions).squeeze()


# %% right repaired_mask keys_before
def repaired_mask(query_positions: Tensor, key_positions: Tensor) -> Tensor:
    return key_positions[None, :] <= query_positions[:, None]


# %% right repaired_mask unsqueezed
def repaired_mask(query_positions: Tensor, key_positions: Tensor) -> Tensor:
    return torch.ge(query_positions.unsqueeze(1), key_positions.unsqueeze(0))


# %% right repaired_mask not_after
def repaired_mask(query_positions: Tensor, key_positions: Tensor) -> Tensor:
    return ~(query_positions[:, None] < key_positions)


# %% right repaired_mask differences
def repaired_mask(query_positions: Tensor, key_positions: Tensor) -> Tensor:
    return query_positions[:, None] - key_positions[None] >= 0


# %% right repaired_mask row_by_row
def repaired_mask(query_positions: Tensor, key_positions: Tensor) -> Tensor:
    return torch.stack([key_positions <= position for position in query_positions])


# %% right repaired_mask list_comprehension
def repaired_mask(query_positions: Tensor, key_positions: Tensor) -> Tensor:
    return torch.tensor([[bool(j <= i) for j in key_positions] for i in query_positions])


# %% wrong padding_mask true_is_padding
# You mark the padding, but here True means may attend: real tokens are True, padding is False.
def padding_mask(lengths: Tensor, max_length: int) -> Tensor:
    positions = torch.arange(max_length)
    return (positions >= lengths[:, None])[:, None]


# %% wrong padding_mask turned_round of="true_is_padding"
# You mark the padding, but here True means may attend: real tokens are True, padding is False.
# replace: return (positions >= lengths[:, None])[:, None]
# by:      return ~(positions < lengths[:, None]).unsqueeze(1)

# %% wrong padding_mask one_too_many of="true_is_padding"
# One padding token in each sequence counts as real: positions count from 0, so a sequence of 2
# tokens has positions 0 and 1.
# replace: return (positions >= lengths[:, None])[:, None]
# by:      return (positions <= lengths[:, None])[:, None]


# %% wrong padding_mask one_too_few
# The last real token of each sequence counts as padding: positions count from 0, so a sequence of
# 2 tokens has positions 0 and 1.
def padding_mask(lengths: Tensor, max_length: int) -> Tensor:
    positions = torch.arange(max_length) + 1
    return (positions < lengths[:, None])[:, None]


# %% wrong padding_mask no_axis_for_the_queries
# The axis of size 1 in the middle is missing: without it, the batch axis would align with the
# queries of the scores.
def padding_mask(lengths: Tensor, max_length: int) -> Tensor:
    return torch.arange(max_length) < lengths[:, None]


# %% wrong padding_mask along_the_queries
# Your mask lies along the queries, (batch, max_length, 1): it should lie along the keys, the last
# axis.
def padding_mask(lengths: Tensor, max_length: int) -> Tensor:
    return (torch.arange(max_length) < lengths[:, None])[:, :, None]


# %% wrong padding_mask along_the_queries_from_columns
# Your mask lies along the queries, (batch, max_length, 1): it should lie along the keys, the last
# axis.
def padding_mask(lengths: Tensor, max_length: int) -> Tensor:
    return torch.arange(max_length)[None, :, None] < lengths[:, None, None]


# %% wrong padding_mask axis_in_front
# The axis of size 1 comes first: it belongs between batch and key, where the scores have their
# queries.
def padding_mask(lengths: Tensor, max_length: int) -> Tensor:
    return (torch.arange(max_length) < lengths[:, None])[None]


# %% wrong padding_mask ones_and_zeros
# Your mask contains numbers, but it should be boolean: return the comparison itself.
def padding_mask(lengths: Tensor, max_length: int) -> Tensor:
    return (torch.arange(max_length) < lengths[:, None])[:, None].float()


# %% wrong padding_mask whole_numbers
# Your mask contains numbers, but it should be boolean: return the comparison itself.
def padding_mask(lengths: Tensor, max_length: int) -> Tensor:
    return (torch.arange(max_length) < lengths[:, None])[:, None].long()


# %% wrong padding_mask max_length_ignored of="one_too_few"
# Your mask is only as long as the longest sequence, but the batch is padded to max_length: make
# it that long.
# replace: positions = torch.arange(max_length) + 1
# by:      positions = torch.arange(int(lengths.max()))


# %% wrong padding_mask square
# You mask the queries of the padding too, and return (batch, max_length, max_length): return one
# row that serves all queries.
def padding_mask(lengths: Tensor, max_length: int) -> Tensor:
    seen = torch.arange(max_length) < lengths[:, None]
    return seen[:, None, :] & seen[:, :, None]


# %% wrong padding_mask row_for_each_query of="square"
# You repeat the row for each query: (batch, 1, max_length) is enough, because the axis of size 1
# broadcasts.
# replace: return seen[:, None, :] & seen[:, :, None]
# by:      return seen[:, None, :].expand(-1, max_length, -1)

# %% wrong padding_mask padding_in_front of="true_is_padding"
# Your padding comes before the real tokens: real tokens come first, then the padding.
# replace: return (positions >= lengths[:, None])[:, None]
# by:      return (positions >= max_length - lengths[:, None])[:, None]


# %% wrong padding_mask all_words
# Nothing is masked: the keys from position `length` on are padding.
def padding_mask(lengths: Tensor, max_length: int) -> Tensor:
    return torch.ones(len(lengths), 1, max_length, dtype=torch.bool)


# %% wrong padding_mask only_the_last_word
# Only one key of each sequence is True: its first `length` keys are real tokens.
def padding_mask(lengths: Tensor, max_length: int) -> Tensor:
    return (torch.arange(max_length) == lengths[:, None] - 1)[:, None]


# %% wrong padding_mask lengths_as_a_row
# You compare positions and lengths one by one: each sequence must be compared with every
# position, so the lengths need an axis of their own.
def padding_mask(lengths: Tensor, max_length: int) -> Tensor:
    return (torch.arange(max_length) < lengths)[:, None]


# %% wrong padding_mask the_longest_for_all
# All sequences get the same row, that of the longest one: each needs a row of its own length. (A
# list times n repeats one and the same list.)
def padding_mask(lengths: Tensor, max_length: int) -> Tensor:
    return (torch.arange(max_length) < lengths.max()).expand(len(lengths), 1, max_length)


# %% wrong padding_mask causal_too of="true_is_padding"
# Your mask is causal as well, (batch, max_length, max_length): mask only the padding here. `&`
# adds the causal mask later.
# replace: return (positions >= lengths[:, None])[:, None]
# by:      return (positions[:, None] >= positions) & (positions < lengths[:, None])[:, None]


# %% wrong padding_mask changes_its_input
# Your code modifies the caller's lengths: create a new tensor instead of changing the old one.
def padding_mask(lengths: Tensor, max_length: int) -> Tensor:
    lengths.sub_(1)
    return (torch.arange(max_length) <= lengths[:, None])[:, None]


# %% wrong padding_mask minus_infinities of="square"
# You return what is added to the scores, 0 and −∞: the mask itself is boolean, True = may attend.
# replace: return seen[:, None, :] & seen[:, :, None]
# by:      return torch.zeros(seen.shape).masked_fill(~seen, -math.inf)[:, None]


# %% wrong padding_mask forgotten_return
# does the last line say `return`?
def padding_mask(lengths: Tensor, max_length: int) -> Tensor:
    (torch.arange(max_length) < lengths[:, None])[:, None]


# %% wrong padding_mask list_times_n
# All sequences get the same row, that of the longest one: each needs a row of its own length. (A
# list times n repeats one and the same list.)
def padding_mask(lengths: Tensor, max_length: int) -> Tensor:
    rows = [[False] * max_length] * len(lengths)
    for row, n in zip(rows, lengths.tolist(), strict=True):
        row[:n] = [True] * n
    return torch.tensor(rows)[:, None]


# %% wrong padding_mask last_key_always_allowed
# The last key is True in every sequence, even where it is padding.
def padding_mask(lengths: Tensor, max_length: int) -> Tensor:
    mask = torch.ones(len(lengths), 1, max_length, dtype=torch.bool)
    for i, n in enumerate(lengths.tolist()):
        mask[i, 0, n:-1] = False
    return mask


# %% wrong padding_mask minus_zero
# A sequence without padding has lost all its keys. (A slice `-0:` is the whole row.)
def padding_mask(lengths: Tensor, max_length: int) -> Tensor:
    mask = torch.ones(len(lengths), 1, max_length, dtype=torch.bool)
    for i, n in enumerate(lengths.tolist()):
        mask[i, 0, -(max_length - n) :] = False
    return mask


# %% wrong padding_mask lengths_sorted
# The rows are in another order than the lengths: row i belongs to sequence i.
def padding_mask(lengths: Tensor, max_length: int) -> Tensor:
    ordered = lengths.sort(descending=True).values
    return (torch.arange(max_length) < ordered[:, None])[:, None]


# %% wrong padding_mask at_least_one_token
# An empty sequence keeps a key: with length 0 every key is padding.
def padding_mask(lengths: Tensor, max_length: int) -> Tensor:
    return (torch.arange(max_length) < lengths.clamp(min=1)[:, None])[:, None]


# %% right padding_mask one_comparison
def padding_mask(lengths: Tensor, max_length: int) -> Tensor:
    return torch.arange(max_length) < lengths[:, None, None]


# %% right padding_mask unsqueezed
def padding_mask(lengths: Tensor, max_length: int) -> Tensor:
    positions = torch.arange(max_length).unsqueeze(0)
    return (positions < lengths.unsqueeze(1)).unsqueeze(1)


# %% right padding_mask loop
def padding_mask(lengths: Tensor, max_length: int) -> Tensor:
    mask = torch.zeros(len(lengths), 1, max_length, dtype=torch.bool)
    for i, words in enumerate(lengths.tolist()):
        mask[i, 0, :words] = True
    return mask


# %% right padding_mask list_comprehension
def padding_mask(lengths: Tensor, max_length: int) -> Tensor:
    return torch.tensor([[[j < n for j in range(max_length)]] for n in lengths.tolist()])


# %% right padding_mask counted_down
def padding_mask(lengths: Tensor, max_length: int) -> Tensor:
    positions = torch.ones(len(lengths), max_length, dtype=torch.long).cumsum(1)
    return (positions <= lengths.reshape(-1, 1)).reshape(-1, 1, max_length)


# %% right padding_mask not_the_padding
def padding_mask(lengths: Tensor, max_length: int) -> Tensor:
    padding = torch.arange(max_length)[None, None] >= lengths.view(-1, 1, 1)
    return padding.logical_not()


# %% right padding_mask row_by_row
def padding_mask(lengths: Tensor, max_length: int) -> Tensor:
    rows = [torch.arange(max_length) < n for n in lengths]
    return torch.stack(rows)[:, None, :]


# %% wrong masked_row cut_off
# You set the third weight to 0 and leave the others as they were, so they sum to 0.3: divide 1
# and 2 by their own sum, 1 + 2.
masked_row = [0.1, 0.2, 0.0]

# %% wrong masked_row nothing_forbidden
# These are the weights without a mask: the third key is masked, so its weight is 0.
masked_row = [0.1, 0.2, 0.7]

# %% wrong masked_row score_becomes_zero
# You set the masked score to 0, and exp(0) is 1, not 0: the exponential of the masked score must
# be 0.
masked_row = [1 / 4, 2 / 4, 1 / 4]

# %% wrong masked_row shared_evenly
# You give both keys the same weight: their exponentials are 1 and 2, so the second weight is
# twice the first.
masked_row = [1 / 2, 1 / 2, 0.0]

# %% wrong masked_row rest_handed_out_evenly
# You share the third key's 0.7 equally: it goes to the others in proportion to their
# exponentials, 1 to 2.
masked_row = [0.45, 0.55, 0.0]

# %% wrong masked_row in_the_wrong_order
# The two weights are swapped: the second key has the larger exponential.
masked_row = [2 / 3, 1 / 3, 0.0]

# %% wrong masked_row exp_taken_again
# You take the exponential of 1 and 2, but these are exponentials already: only the division is
# left.
masked_row = [0.269, 0.731, 0.0]

# %% wrong masked_row all_to_the_forbidden
# You give all the weight to the masked key: a masked key gets weight 0.
masked_row = [0.0, 0.0, 1.0]

# %% wrong masked_row the_winner_takes_all
# You give all the weight to the larger one: softmax shares it, 1 part for the first key and 2 for
# the second.
masked_row = [0.0, 1.0, 0.0]

# %% wrong masked_row not_divided
# These are exponentials, not weights yet: divide both by their sum.
masked_row = [1.0, 2.0, 0.0]

# %% wrong masked_row divided_by_the_old_sum_less_one
# These weights do not sum to 1: divide by the sum of the exponentials that are left, 1 + 2.
masked_row = [1 / 9, 2 / 9, 0.0]

# %% wrong masked_row shared_by_three
# You give all three keys the same weight: the masked one gets 0, the others share the 1 as 1 to
# 2.
masked_row = [1 / 3, 1 / 3, 1 / 3]

# %% wrong masked_row the_first_is_forbidden
# You mask the first key: the third one is masked.
masked_row = [0.0, 2 / 9, 7 / 9]

# %% wrong masked_row the_second_is_forbidden
# You mask the second key: the third one is masked.
masked_row = [1 / 8, 0.0, 7 / 8]

# %% wrong masked_row minus_infinity
# The masked score becomes −∞, but not its weight: exp(−∞), divided by the sum, is 0.
masked_row = [1 / 3, 2 / 3, float("-inf")]

# %% wrong masked_row two_numbers
# The masked key is missing: give one weight for each of the three keys.
masked_row = [1 / 3, 2 / 3]

# %% wrong masked_row percent
# These are percentages: as weights they sum to 1.
masked_row = [33.3, 66.7, 0.0]

# %% wrong masked_row softmax_of_the_weights
# These are the softmax of 0.1 and 0.2, but those are weights already: only a division is left, so
# that they sum to 1.
masked_row = [0.475, 0.525, 0.0]

# %% wrong masked_row divided_by_the_forbidden_one
# You divide by 7, the exponential of the masked key: divide by the sum of the other two.
masked_row = [1 / 7, 2 / 7, 0.0]

# %% right masked_row decimals
masked_row = [0.333, 0.667, 0]

# %% right masked_row two_decimals
masked_row = (0.33, 0.67, 0.0)

# %% right masked_row tensor
masked_row = torch.tensor([1.0, 2.0, 0.0]) / 3

# %% right masked_row computed
masked_row = torch.softmax(
    torch.tensor([1.0, 2.0, 7.0]).log().masked_fill(torch.tensor([0, 0, 1]) == 1, -math.inf), 0
)

# %% right masked_row cut_decimals
masked_row = [0.333, 0.666, 0.0]


# %% wrong masked_attention masked_after_softmax
# You apply the mask after the softmax, so the weights that are left no longer sum to 1: mask the
# scores, before the softmax.
def masked_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)
    return weights @ value, weights


# %% wrong masked_attention weights_times_mask of="masked_after_softmax"
# You apply the mask after the softmax, so the weights that are left no longer sum to 1: mask the
# scores, before the softmax.
# replace: weights = weights.masked_fill(~mask, 0.0)
# by:      weights = weights * mask

# %% wrong masked_attention polarity_turned_round of="nan_in_an_empty_row"
# You use the mask the wrong way round: True means may attend, so −∞ goes where the mask is False.
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      scores = scores.masked_fill(mask, -math.inf)
# replace: weights = torch.softmax(scores, dim=-1)
# by:      weights = torch.softmax(scores, dim=-1)
#          if mask is not None:
#              weights = weights.masked_fill(mask, 0.0)

# %% wrong masked_attention polarity_of_where of="nan_in_an_empty_row"
# You use the mask the wrong way round: True means may attend, so −∞ goes where the mask is False.
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      scores = torch.where(mask, -math.inf, scores)
# replace: weights = torch.softmax(scores, dim=-1)
# by:      weights = torch.softmax(scores, dim=-1)
#          weights = weights.nan_to_num()

# %% wrong masked_attention minus_hundred of="masked_after_softmax"
# A masked score that is far above the allowed ones takes all the weight from them: replace it
# with −∞ before the softmax, and before you compute a maximum, if you subtract one.
# replace: scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
# by:      scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
#          if mask is not None:
#              scores = scores.masked_fill(~mask, -100.0)

# %% wrong masked_attention minus_hundred_added of="masked_after_softmax"
# A masked score that is far above the allowed ones takes all the weight from them: replace it
# with −∞ before the softmax, and before you compute a maximum, if you subtract one.
# replace: scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
# by:      scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
#          if mask is not None:
#              scores = scores - 100.0 * (~mask)

# %% wrong masked_attention minus_thousand of="masked_after_softmax"
# A masked score that is far above the allowed ones takes all the weight from them: replace it
# with −∞ before the softmax, and before you compute a maximum, if you subtract one.
# replace: scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
# by:      scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
#          if mask is not None:
#              scores = scores.masked_fill(~mask, -1000.0)

# %% wrong masked_attention score_becomes_zero of="nan_in_an_empty_row"
# The masked scores become 0, or almost 0, and exp(0) is 1, so these keys still get weight:
# replace the scores with −∞.
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      scores = scores.masked_fill(~mask, 0.0)

# %% wrong masked_attention scores_times_mask of="nan_in_an_empty_row"
# The masked scores become 0, or almost 0, and exp(0) is 1, so these keys still get weight:
# replace the scores with −∞.
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      scores = scores * mask

# %% wrong masked_attention mask_added of="nan_in_an_empty_row"
# You add the mask to the scores, as 1 and 0: that raises the allowed scores by 1 and masks
# nothing.
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      scores = scores + mask

# %% wrong masked_attention empty_row_is_uniform of="nan_in_an_empty_row"
# A query that may attend to nothing attends to everything: all its scores fall to the same
# number, and softmax makes them equal weights. Its weights must become 0.
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      scores = scores.masked_fill(~mask, -1e9)

# %% wrong masked_attention smallest_number_of_the_dtype of="nan_in_an_empty_row"
# A query that may attend to nothing attends to everything: all its scores fall to the same
# number, and softmax makes them equal weights. Its weights must become 0.
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)

# %% wrong masked_attention nan_becomes_uniform of="nan_in_an_empty_row"
# A query that may attend to nothing attends to everything: all its scores fall to the same
# number, and softmax makes them equal weights. Its weights must become 0.
# replace: weights = torch.softmax(scores, dim=-1)
# by:      weights = torch.softmax(scores, dim=-1)
#          weights = weights.nan_to_num(1.0 / scores.shape[-1])

# %% wrong masked_attention large_number_subtracted of="nan_in_an_empty_row"
# A query that may attend to nothing attends to everything, as if there were no mask: its weights
# and its output must be 0.
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      scores = scores - 1e6 * (~mask).to(scores.dtype)


# %% wrong masked_attention nan_in_an_empty_row
# The row of a query that may attend to nothing is NaN: at the end, set the weights of masked keys
# to 0 with masked_fill or where. (NaN times 0 is NaN.)
def masked_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights


# %% wrong masked_attention nan_by_where of="nan_in_an_empty_row"
# The row of a query that may attend to nothing is NaN: at the end, set the weights of masked keys
# to 0 with masked_fill or where. (NaN times 0 is NaN.)
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      scores = torch.where(mask, scores, -math.inf)


# %% wrong masked_attention nan_written_over
# You modify the result of softmax in place, but the backward pass still needs it: create a new
# tensor with masked_fill or torch.where.
def masked_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    scores = query @ key.mT / key.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(-1)
    weights[weights.isnan()] = 0.0
    return weights @ value, weights


# %% wrong masked_attention nan_left_in_the_weights of="nan_in_an_empty_row"
# The row of a query that may attend to nothing is NaN: at the end, set the weights of masked keys
# to 0 with masked_fill or where. (NaN times 0 is NaN.)
# replace: return weights @ value, weights
# by:      output = (weights @ value).nan_to_num()
#          return output, weights

# %% wrong masked_attention nan_on_one_side of="nan_in_an_empty_row"
# The weights that you return are 0, but your output was computed from the NaN before: multiply
# the corrected weights by the values.
# replace: return weights @ value, weights
# by:      return weights @ value, weights.nan_to_num()

# %% wrong masked_attention minus_infinity_added of="nan_in_an_empty_row"
# Your values are right, but a NaN on the way still counts in the gradient: replace masked scores
# with −∞ (do not add it), and divide by no sum that is 0.
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      scores = scores + torch.zeros_like(scores).masked_fill(~mask, -math.inf)
# replace: weights = torch.softmax(scores, dim=-1)
# by:      weights = torch.softmax(scores, dim=-1)
#          weights = weights.nan_to_num()

# %% wrong masked_attention logarithm_of_the_mask of="nan_in_an_empty_row"
# Your values are right, but a NaN on the way still counts in the gradient: replace masked scores
# with −∞ (do not add it), and divide by no sum that is 0.
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      scores = scores + mask.to(scores.dtype).log()
# replace: weights = torch.softmax(scores, dim=-1)
# by:      weights = torch.softmax(scores, dim=-1)
#          weights = weights.nan_to_num()

# %% wrong masked_attention minus_infinity_times_the_mask of="nan_in_an_empty_row"
# Your scores contain +∞, or 0 · ∞, which is NaN: use −∞, and only where the mask is False
# (masked_fill or where).
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      scores = scores + (~mask) * -math.inf

# %% wrong masked_attention plus_infinity of="nan_in_an_empty_row"
# Your scores contain +∞, or 0 · ∞, which is NaN: use −∞, and only where the mask is False
# (masked_fill or where).
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      scores = scores.masked_fill(~mask, math.inf)

# %% wrong masked_attention mask_ignored of="nan_in_an_empty_row"
# Your weights are those without a mask: apply it to the scores, before the softmax, not to the
# queries, the values or the output.
# replace: if mask is not None:
#              scores = scores.masked_fill(~mask, -math.inf)
# by:


# %% wrong masked_attention mask_required
# None means that nothing is masked: test for None before you use the mask.
def masked_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    scores = scores.masked_fill(~mask, -math.inf)  # pyright: ignore
    weights = torch.softmax(scores, dim=-1)
    weights = weights.masked_fill(~mask, 0.0)  # pyright: ignore
    return weights @ value, weights


# %% wrong masked_attention nothing_without_a_mask of="mask_required"
# Without a mask every query may attend to every key: you mask everything.
# replace: scores = scores.masked_fill(~mask, -math.inf)  # pyright: ignore
# by:      if mask is None:
#              mask = torch.zeros_like(scores, dtype=torch.bool)
#          scores = scores.masked_fill(~mask, -math.inf)
# replace: weights = weights.masked_fill(~mask, 0.0)  # pyright: ignore
# by:      weights = weights.masked_fill(~mask, 0.0)

# %% wrong masked_attention causal_without_a_mask of="mask_required"
# Without a mask every query may attend to every key, later ones too: you apply a causal mask when
# none is given.
# replace: scores = scores.masked_fill(~mask, -math.inf)  # pyright: ignore
# by:      if mask is None:
#              mask = torch.ones_like(scores, dtype=torch.bool).tril()
#          scores = scores.masked_fill(~mask, -math.inf)
# replace: weights = weights.masked_fill(~mask, 0.0)  # pyright: ignore
# by:      weights = weights.masked_fill(~mask, 0.0)

# %% wrong masked_attention always_causal of="nan_in_an_empty_row"
# You always apply a causal mask: use the mask that is given.
# replace: if mask is not None:
#              scores = scores.masked_fill(~mask, -math.inf)
# by:      mask = torch.ones_like(scores, dtype=torch.bool).tril()
#          scores = scores.masked_fill(~mask, -math.inf)

# %% wrong masked_attention causal_too of="masked_after_softmax"
# You combine the given mask with a causal one: mask only what the given one masks.
# replace: scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
# by:      scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
#          if mask is not None:
#              mask = mask & torch.ones_like(scores, dtype=torch.bool).tril()
#              scores = scores.masked_fill(~mask, -math.inf)

# %% wrong masked_attention mask_along_the_queries of="masked_after_softmax"
# You transpose the mask, so it lies along the queries: its last axis belongs to the keys, like
# that of the scores.
# replace: scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
# by:      scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
#          if mask is not None:
#              mask = mask.transpose(-2, -1)
#              scores = scores.masked_fill(~mask, -math.inf)

# %% wrong masked_attention axis_put_in of="masked_after_softmax"
# You insert an axis into the mask: it broadcasts against the scores as it is.
# replace: scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
# by:      scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
#          if mask is not None:
#              mask = mask.unsqueeze(-3)
#              scores = scores.masked_fill(~mask, -math.inf)

# %% wrong masked_attention axes_squeezed_out of="masked_after_softmax"
# You squeeze the axis of size 1 out of the mask, so its batch axis aligns with the queries: keep
# it, it broadcasts to all queries.
# replace: scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
# by:      scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
#          if mask is not None:
#              mask = mask.squeeze()
#              scores = scores.masked_fill(~mask, -math.inf)

# %% wrong masked_attention first_row_for_all of="masked_after_softmax"
# All queries get the mask of the first one: each row of the mask belongs to its own query.
# replace: scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
# by:      scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
#          if mask is not None:
#              mask = mask[..., :1, :]
#              scores = scores.masked_fill(~mask, -math.inf)

# %% wrong masked_attention rows_with_any_gap_are_emptied of="nan_in_an_empty_row"
# You set every row to 0 in which some key is masked: only a row in which every key is masked
# becomes 0.
# replace: weights = torch.softmax(scores, dim=-1)
# by:      weights = torch.softmax(scores, dim=-1)
#          if mask is not None:
#              weights = torch.where(mask.all(-1, keepdim=True), weights, 0.0)

# %% wrong masked_attention values_set_to_zero of="masked_after_softmax"
# Your weights are those without a mask: apply it to the scores, before the softmax, not to the
# queries, the values or the output.
# replace: weights = weights.masked_fill(~mask, 0.0)
# by:      kept = mask.expand(scores.shape).any(-2)[..., None]
#          value = value * kept


# %% wrong masked_attention output_masked
# Your weights are those without a mask: apply it to the scores, before the softmax, not to the
# queries, the values or the output.
def masked_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    weights = torch.softmax(scores, dim=-1)
    output = weights @ value
    if mask is not None:
        output = output * mask.any(-1, keepdim=True)
    return output, weights


# %% wrong masked_attention softmax_over_axis_one of="nan_in_an_empty_row"
# Your softmax runs over axis 1, which in a batch holds the queries: use the last axis, -1.
# replace: weights = torch.softmax(scores, dim=-1)
# by:      weights = torch.softmax(scores, dim=1).nan_to_num()


# %% wrong masked_attention queries_masked
# Your weights are those without a mask: apply it to the scores, before the softmax, not to the
# queries, the values or the output.
def masked_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    if mask is not None:
        query = query * mask.any(-1, keepdim=True)
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights


# %% wrong masked_attention changes_the_mask of="nan_in_an_empty_row"
# Your code modifies the caller's mask: create a new one instead of changing it.
# replace: if mask is not None:
# by:      if mask is not None:
#              mask[~mask.any(-1)] = True

# %% wrong masked_attention turns_the_mask_in_place of="nan_in_an_empty_row"
# Your code modifies the caller's mask: create a new one instead of changing it.
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      scores = scores.masked_fill(mask.logical_not_(), -math.inf)
# replace: weights = torch.softmax(scores, dim=-1)
# by:      weights = torch.softmax(scores, dim=-1)
#          weights = weights.nan_to_num()

# %% wrong masked_attention empty_rows_see_everything of="nan_in_an_empty_row"
# A query that may attend to nothing attends to everything, as if there were no mask: its weights
# and its output must be 0.
# replace: if mask is not None:
# by:      if mask is not None:
#              mask = mask | ~mask.any(-1, keepdim=True)

# %% wrong masked_attention renormalised_afterwards of="masked_after_softmax"
# A masked score that is far above the allowed ones takes all the weight from them: replace it
# with −∞ before the softmax, and before you compute a maximum, if you subtract one.
# replace:     weights = weights.masked_fill(~mask, 0.0)
# by:          weights = weights * mask
#              weights = weights / weights.sum(-1, keepdim=True)
#          weights = weights.nan_to_num()

# %% wrong masked_attention renormalised_with_an_epsilon of="masked_after_softmax"
# Your weights are right only to a few digits: mask before the softmax, add nothing to the sum,
# and do not convert to float32.
# replace: weights = weights.masked_fill(~mask, 0.0)
# by:      weights = weights * mask
#          weights = weights / (weights.sum(-1, keepdim=True) + 1e-6)

# %% wrong masked_attention exponentials_without_a_shift of="masked_after_softmax"
# exp of a score of 10 000 is infinite, and of −10 000 it is 0: torch.softmax subtracts the
# maximum for you.
# replace: weights = torch.softmax(scores, dim=-1)
# by:      powers = scores.exp()
# replace:     weights = weights.masked_fill(~mask, 0.0)
# by:          powers = powers * mask
#          weights = powers / powers.sum(-1, keepdim=True)

# %% wrong masked_attention exponentials_filled of="masked_after_softmax"
# exp of a score of 10 000 is infinite, and of −10 000 it is 0: torch.softmax subtracts the
# maximum for you.
# replace: weights = torch.softmax(scores, dim=-1)
# by:      powers = scores.exp()
# replace:     weights = weights.masked_fill(~mask, 0.0)
# by:          powers = powers.masked_fill(~mask, 0.0)
#          weights = powers / powers.sum(-1, keepdim=True)


# %% wrong masked_attention exponentials_of_infinity of="nan_in_an_empty_row"
# exp of a score of 10 000 is infinite, and of −10 000 it is 0: torch.softmax subtracts the
# maximum for you.
# replace: weights = torch.softmax(scores, dim=-1)
# by:      powers = scores.exp()
#          weights = (powers / powers.sum(-1, keepdim=True)).nan_to_num()


# %% wrong masked_attention renormalised_and_left_as_it_is of="masked_after_softmax"
# A masked score that is far above the allowed ones takes all the weight from them: replace it
# with −∞ before the softmax, and before you compute a maximum, if you subtract one.
# replace:     weights = weights.masked_fill(~mask, 0.0)
# by:          weights = weights * mask
#              weights = weights / weights.sum(-1, keepdim=True)


# %% wrong masked_attention no_scale of="masked_after_softmax"
# Your weights are too peaked: you do not divide the scores by √d_k.
# replace: scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
# by:      scores = query @ key.transpose(-2, -1)
#          if mask is not None:
#              scores = scores.masked_fill(~mask, -math.inf)

# %% wrong masked_attention divided_by_d_k of="masked_after_softmax"
# Your weights are too even: divide the scores by √d_k, not by d_k.
# replace: scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
# by:      scores = query @ key.transpose(-2, -1) / query.shape[-1]
#          if mask is not None:
#              scores = scores.masked_fill(~mask, -math.inf)

# %% wrong masked_attention root_of_the_length of="masked_after_softmax"
# You divide by the square root of the number of keys: d_k is the size of a query, its last axis.
# replace: scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
# by:      scores = query @ key.transpose(-2, -1) / math.sqrt(key.shape[-2])
#          if mask is not None:
#              scores = scores.masked_fill(~mask, -math.inf)

# %% wrong masked_attention softmax_over_the_queries of="nan_in_an_empty_row"
# Each column sums to 1, but each row should: softmax runs over the keys, the last axis.
# replace: weights = torch.softmax(scores, dim=-1)
# by:      weights = torch.softmax(scores, dim=-2).nan_to_num()

# %% wrong masked_attention two_axes_only of="masked_after_softmax"
# With a batch, your transpose swaps all axes, or the wrong ones: swap the last two.
# replace: scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
# by:      scores = query @ key.T / math.sqrt(query.shape[-1])
#          if mask is not None:
#              scores = scores.masked_fill(~mask, -math.inf)

# %% wrong masked_attention output_only of="nan_in_an_empty_row"
# expected a tuple (output, weights)
# replace: return weights @ value, weights
# by:      if mask is not None:
#              weights = weights.masked_fill(~mask, 0.0)
#          return weights @ value

# %% wrong masked_attention wrong_order of="nan_in_an_empty_row"
# The two results are swapped: return the output first, then the weights.
# replace: return weights @ value, weights
# by:      if mask is not None:
#              weights = weights.masked_fill(~mask, 0.0)
#          return weights, weights @ value

# %% wrong masked_attention scores_returned of="nan_in_an_empty_row"
# You return the scores as the second result: return the weights, after the softmax.
# replace: return weights @ value, weights
# by:      if mask is not None:
#              weights = weights.masked_fill(~mask, 0.0)
#          return weights @ value, scores

# %% wrong masked_attention weights_before_the_mask of="nan_in_an_empty_row"
# You return the weights from before the mask: return those that made the output.
# replace: scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
# by:      scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
#          plain = torch.softmax(scores, dim=-1)
# replace: return weights @ value, weights
# by:      if mask is not None:
#              weights = weights.masked_fill(~mask, 0.0)
#          return weights @ value, plain

# %% wrong masked_attention detached of="masked_after_softmax"
# No gradient flows: use the tensors that you are given, without detach.
# replace: scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
# by:      scores = query.detach() @ key.detach().transpose(-2, -1) / math.sqrt(query.shape[-1])
#          if mask is not None:
#              scores = scores.masked_fill(~mask, -math.inf)

# %% wrong masked_attention float32_on_the_way of="nan_in_an_empty_row"
# Your weights are right only to a few digits: mask before the softmax, add nothing to the sum,
# and do not convert to float32.
# replace: scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
# by:      scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
#          scores = scores.float()
# replace: weights = torch.softmax(scores, dim=-1)
# by:      weights = torch.softmax(scores, dim=-1)
#          if mask is not None:
#              weights = weights.masked_fill(~mask, 0.0)
#          weights = weights.to(query.dtype)

# %% wrong masked_attention forgotten_return of="nan_in_an_empty_row"
# does the last line say `return`?
# replace: return weights @ value, weights
# by:      if mask is not None:
#              weights = weights.masked_fill(~mask, 0.0)
#          weights @ value, weights

# %% wrong masked_attention nan_times_the_mask of="nan_in_an_empty_row"
# The row of a query that may attend to nothing is NaN: at the end, set the weights of masked keys
# to 0 with masked_fill or where. (NaN times 0 is NaN.)
# replace: return weights @ value, weights
# by:      if mask is not None:
#              weights = weights * mask
#          return weights @ value, weights


# %% wrong masked_attention almost_zero_for_a_billion of="nan_in_an_empty_row"
# The masked scores become 0, or almost 0, and exp(0) is 1, so these keys still get weight:
# replace the scores with −∞.
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      scores = scores.masked_fill(~mask, 1e-9)


# %% wrong masked_attention minus_ten_thousand of="masked_after_softmax"
# The number that replaces masked scores is too high: next to allowed scores near −10 000 it gets
# weight. Replace them with −∞.
# replace: scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
# by:      scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
#          if mask is not None:
#              scores = scores.masked_fill(~mask, -10000.0)


# %% wrong masked_attention root_of_the_value_size of="masked_after_softmax"
# You divide by the square root of d_v, the size of a value: d_k is the size of a query.
# replace: scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
# by:      scores = query @ key.transpose(-2, -1) / math.sqrt(value.shape[-1])
#          if mask is not None:
#              scores = scores.masked_fill(~mask, -math.inf)


# %% wrong masked_attention axis_put_into_three of="masked_after_softmax"
# You insert an axis into a mask (batch, 1, key): it broadcasts against the scores as it is.
# replace: scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
# by:      scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
#          if mask is not None:
#              mask = mask.unsqueeze(1) if mask.dim() == 3 else mask
#              scores = scores.masked_fill(~mask, -math.inf)


# %% wrong masked_attention mask_as_an_index of="masked_after_softmax"
# A mask as an index must have the shape of the scores: masked_fill and where broadcast it.
# replace: scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
# by:      scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
#          if mask is not None:
#              scores[~mask] = -math.inf


# %% right masked_attention where_and_nan_to_num of="nan_in_an_empty_row"
# replace:     scores = scores.masked_fill(~mask, -math.inf)
#          weights = torch.softmax(scores, dim=-1)
# by:          scores = torch.where(mask, scores, -math.inf)
#          weights = scores.softmax(-1).nan_to_num()

# %% right masked_attention finite_then_zero of="nan_in_an_empty_row"
# replace: scores = scores.masked_fill(~mask, -math.inf)
# by:      scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
# replace: weights = torch.softmax(scores, dim=-1)
# by:      weights = torch.softmax(scores, dim=-1)
#          if mask is not None:
#              weights = weights * mask


# %% right masked_attention minus_a_billion_then_zero
def masked_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is None:
        mask = torch.ones(scores.shape, dtype=torch.bool)
    scores = torch.where(mask, scores, torch.full_like(scores, -1e9))
    weights = F.softmax(scores, dim=-1).masked_fill(mask.logical_not(), 0)
    return torch.matmul(weights, value), weights


# %% right masked_attention einsum
def masked_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    scores = torch.einsum("...qd,...kd->...qk", query, key) * query.shape[-1] ** -0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = torch.nan_to_num(torch.softmax(scores, dim=-1))
    return torch.einsum("...qk,...kd->...qd", weights, value), weights


# %% right masked_attention in_place_on_its_own_scores of="masked_after_softmax"
# replace: weights = torch.softmax(scores, dim=-1)
# by:      if mask is not None:
#              scores.masked_fill_(~mask, -math.inf)
#          weights = scores.softmax(dim=-1)
# replace: return weights @ value, weights
# by:      return weights.matmul(value), weights


# %% right masked_attention empty_rows_apart
def masked_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is None:
        weights = scores.softmax(-1)
    else:
        some = mask.any(-1, keepdim=True)
        weights = scores.masked_fill(~mask & some, -math.inf).softmax(-1) * some
    return weights @ value, weights


# %% right masked_attention shifted_exponentials
def masked_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is None:
        mask = torch.ones_like(scores, dtype=torch.bool)
    scores = scores.masked_fill(~mask, -1e30)
    powers = (scores - scores.amax(-1, keepdim=True)).exp() * mask
    weights = powers / powers.sum(-1, keepdim=True).clamp(min=1e-30)
    return weights @ value, weights


# %% right masked_attention nan_of_a_constant of="shifted_exponentials"
# replace: weights = powers / powers.sum(-1, keepdim=True).clamp(min=1e-30)
# by:      weights = (powers / powers.sum(-1, keepdim=True)).nan_to_num()

# %% right masked_attention logarithms of="shifted_exponentials"
# replace: scores = scores.masked_fill(~mask, -1e30)
#          powers = (scores - scores.amax(-1, keepdim=True)).exp() * mask
#          weights = powers / powers.sum(-1, keepdim=True).clamp(min=1e-30)
# by:      forbidden = ~mask
#          logs = F.log_softmax(scores.masked_fill(forbidden, -1e12), dim=-1)
#          weights = logs.exp().masked_fill(forbidden, 0.0)

# %% right masked_attention of_pytorch of="empty_rows_apart"
# replace: scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
# by:      leading = torch.broadcast_shapes(query.shape[:-2], key.shape[:-2])
#          identity = torch.eye(key.shape[-2], dtype=query.dtype).expand(*leading, -1, -1)
# replace: weights = scores.softmax(-1)
# by:      weights = F.scaled_dot_product_attention(query, key, identity)
# replace: weights = scores.masked_fill(~mask & some, -math.inf).softmax(-1) * some
# by:      weights = F.scaled_dot_product_attention(query, key, identity, mask | ~some) * some


# %% right masked_attention scaled_query
def masked_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    query = query / query.shape[-1] ** 0.5
    scores = query @ key.mT
    if mask is not None:
        scores = scores.masked_fill(mask == False, -torch.inf)  # noqa: E712
    weights = torch.softmax(scores, -1)
    weights = torch.where(weights.isnan(), torch.zeros_like(weights), weights)
    return weights @ value, weights


# %% right masked_attention row_by_row
def masked_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is None:
        mask = torch.ones_like(scores, dtype=torch.bool)
    mask = mask.expand(scores.shape)
    rows = []
    for row, allowed in zip(
        scores.reshape(-1, scores.shape[-1]), mask.reshape(-1, scores.shape[-1]), strict=True
    ):
        weights_of_row = torch.zeros_like(row)
        if allowed.any():
            weights_of_row = weights_of_row.masked_scatter(allowed, row[allowed].softmax(0))
        rows.append(weights_of_row)
    weights = torch.stack(rows).reshape(scores.shape)
    return weights @ value, weights


# %% wrong test_of_masking ordinary_scores_only of="example_by_hand"
# Your test finds only what goes wrong with ordinary scores: lower the allowed scores to −10 000,
# raise the masked one to 10 000, and let every case count.
# replace: for allowed, masked in ((0.0, 0.0), (0.0, 10000.0), (-10000.0, 0.0)):
# by:      for allowed, masked in ((0.0, 0.0), (0.0, 1.0), (-1.0, 0.0)):

# %% wrong test_of_masking allowed_scores_never_low of="example_by_hand"
# Your test does not find a number that replaces masked scores, such as −100: lower the allowed
# scores to −10 000, and let that case count.
# replace: for allowed, masked in ((0.0, 0.0), (0.0, 10000.0), (-10000.0, 0.0)):
# by:      for allowed, masked in ((0.0, 0.0), (0.0, 10000.0)):

# %% wrong test_of_masking allowed_scores_not_low_enough of="example_by_hand"
# Your test finds −100 but not −10 000: lower the allowed scores to −10 000, the lowest that the
# docstring names. (A score is divided by √d_k.)
# replace: for allowed, masked in ((0.0, 0.0), (0.0, 10000.0), (-10000.0, 0.0)):
# by:      for allowed, masked in ((0.0, 0.0), (0.0, 10000.0), (-1000.0, 0.0)):

# %% wrong test_of_masking no_empty_row of="example_by_hand"
# Your test has no query that may attend to nothing, or does not look at its output: add one, and
# expect 0.
# replace: mask = torch.tensor([[True, True, False], [False, False, False]])
# by:      mask = torch.tensor([[True, True, False], [True, False, False]])
# replace: expected = torch.tensor([[1.5], [0.0]])
# by:      expected = torch.tensor([[1.5], [1.0]])

# %% wrong test_of_masking nan_passes of="example_by_hand"
# Your test lets NaN pass in place of any number: `difference > 1e-4` is False for NaN, and NaN
# must not become 0. Ask whether the output, as it is, is close to the expected one.
# replace: if not torch.allclose(attend(query, key, value, mask), expected):
# by:      if bool(((attend(query, key, value, mask) - expected).abs() > 1e-4).any()):

# %% wrong test_of_masking nan_counts_as_zero of="example_by_hand"
# Your test lets NaN pass where the output should be 0: compare the output as it is, and ask
# whether it equals 0.
# replace: if not torch.allclose(attend(query, key, value, mask), expected):
# by:      if not torch.allclose(attend(query, key, value, mask).nan_to_num(), expected):

# %% wrong test_of_masking mean_for_nothing of="example_by_hand"
# Your test accepts no function whose output is 0 for a query that may attend to nothing: expect 0
# there, not the mean of the values and not NaN.
# replace: expected = torch.tensor([[1.5], [0.0]])
# by:      expected = torch.tensor([[1.5], [3.0]])

# %% wrong test_of_masking nan_for_nothing of="example_by_hand"
# Your test accepts no function whose output is 0 for a query that may attend to nothing: expect 0
# there, not the mean of the values and not NaN.
# replace: if not torch.allclose(attend(query, key, value, mask), expected):
# by:      expected[1] = math.nan
#          if not torch.allclose(attend(query, key, value, mask), expected, equal_nan=True):

# %% wrong test_of_masking true_is_masked of="example_by_hand"
# Your test inverts the mask: True = may attend.
# replace: if not torch.allclose(attend(query, key, value, mask), expected):
# by:      if not torch.allclose(attend(query, key, value, ~mask), expected):


# %% wrong test_of_masking answer_inverted
# Your answers are inverted: True means that the function masks as it should.
def test_of_masking(attend: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> bool:
    query, value = torch.ones(2, 1), torch.tensor([[1.0], [2.0], [6.0]])
    mask = torch.tensor([[True, True, False], [False, False, False]])
    expected = torch.tensor([[1.5], [0.0]])
    for allowed, masked in ((0.0, 0.0), (0.0, 10000.0), (-10000.0, 0.0)):
        key = torch.tensor([[allowed], [allowed], [masked]])
        if not torch.allclose(attend(query, key, value, mask), expected):
            return True
    return False


# %% wrong test_of_masking always_true
# Your test accepts every function, even one that ignores its mask: return False where an output is
# not the expected one.
def test_of_masking(attend: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> bool:
    query, key, value = torch.ones(2, 1), torch.zeros(3, 1), torch.ones(3, 2)
    mask = torch.tensor([[True, True, False], [True, False, False]])
    return bool(torch.allclose(attend(query, key, value, mask), torch.ones(2, 2)))


# %% wrong test_of_masking one_masked_value_changed
# Your test changes the masked values only: change the masked keys too, between −10 000 and 10 000,
# with allowed scores that are low.
def test_of_masking(attend: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> bool:
    query, key = torch.ones(2, 1), torch.tensor([[0.5], [0.1], [-0.3]])
    value, other = torch.tensor([[1.0], [2.0], [6.0]]), torch.tensor([[1.0], [2.0], [9.0]])
    mask = torch.tensor([[True, True, False], [False, False, False]])
    before, after = attend(query, key, value, mask), attend(query, key, other, mask)
    return bool(torch.allclose(before, after)) and bool((before[1] == 0).all())


# %% wrong test_of_masking masked_keys_changed_only
# Your test changes the masked keys only: a masked value can still be in the output, with a weight
# that does not change. Change the masked values too.
def test_of_masking(attend: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> bool:
    query, value = torch.ones(2, 1), torch.tensor([[1.0], [2.0], [6.0]])
    mask = torch.tensor([[True, True, False], [False, False, False]])
    for allowed in (0.0, -10000.0):
        key = torch.tensor([[allowed], [allowed], [-10000.0]])
        other = torch.tensor([[allowed], [allowed], [10000.0]])
        before, after = attend(query, key, value, mask), attend(query, other, value, mask)
        if not torch.allclose(before, after) or not bool((before[1] == 0).all()):
            return False
    return True


# %% wrong test_of_masking infinite_values
# Your test rejects right functions with a weight of 0 for masked values. Are yours ∞ or NaN? Then
# 0 times them is NaN. Make the masked keys and values large, but finite.
def test_of_masking(attend: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> bool:
    query = torch.ones(2, 1)
    value = torch.tensor([[1.0], [2.0], [math.inf]])
    mask = torch.tensor([[True, True, False], [False, False, False]])
    key = torch.tensor([[-10000.0], [-10000.0], [10000.0]])
    return bool(torch.allclose(attend(query, key, value, mask), torch.tensor([[1.5], [0.0]])))


# %% wrong test_of_masking sum_of_the_values of="example_by_hand"
# Your test rejects every function, right ones too: print the output of your own
# `masked_attention` beside the one that you expect, numbers and shapes.
# replace: expected = torch.tensor([[1.5], [0.0]])
# by:      expected = torch.tensor([[3.0], [0.0]])


# %% wrong test_of_masking only_the_empty_row
# Your test looks at the query that may attend to nothing only: the outputs of the others must not
# depend on masked keys and values either.
def test_of_masking(attend: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> bool:
    query, key, value = torch.ones(2, 1), torch.zeros(3, 1), torch.tensor([[1.0], [2.0], [6.0]])
    mask = torch.tensor([[True, True, False], [False, False, False]])
    return bool((attend(query, key, value, mask)[1] == 0).all())


# %% wrong test_of_masking a_tensor_of_answers of="example_by_hand"
# You return a tensor of answers: return a single True or False.
# replace: if not torch.allclose(attend(query, key, value, mask), expected):
#              return False
# by:      return torch.isclose(attend(query, key, value, mask), expected)

# %% wrong test_of_masking forgotten_return of="example_by_hand"
# does the last line say `return`?
# replace: return True
# by:      print("right")


# %% wrong test_of_masking row_for_the_output of="example_by_hand"
# Your test rejects every function, right ones too: print the output of your own
# `masked_attention` beside the one that you expect, numbers and shapes.
# replace: if not torch.allclose(attend(query, key, value, mask), expected):
# by:      if not torch.allclose(attend(query, key, value, mask)[0], expected):


# %% wrong test_of_masking equal_to_the_last_bit
# Your test rejects right functions whose outputs differ by rounding errors: allow small
# differences.
def test_of_masking(attend: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> bool:
    query, value = torch.ones(2, 1), torch.tensor([[0.1, 0.7], [2.3, -0.4], [1.1, 0.3], [6.0, 5.0]])
    mask = torch.tensor([[True, True, True, False], [False] * 4])
    for scores in ((0.3, 0.1, 0.7, 0.2), (0.3, 1.9, 0.7, 1e4), (-1e4, -9999.0, -9998.5, 0.0)):
        key = torch.tensor(scores)[:, None]
        expected = torch.softmax((query @ key.T).masked_fill(~mask, -math.inf), -1)
        if not torch.equal(
            attend(query, key, value, mask), expected.masked_fill(~mask, 0.0) @ value
        ):
            return False
    return True


# %% wrong test_of_masking any_case
# Your test accepts functions that are right on some inputs only: they must be right in every case
# that you test.
def test_of_masking(attend: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> bool:
    query, value = torch.ones(2, 1), torch.tensor([[1.0], [2.0], [6.0]])
    mask = torch.tensor([[True, True, False], [False, False, False]])
    expected = torch.tensor([[1.5], [0.0]])
    right = []
    for allowed, masked in ((0.0, 0.0), (0.0, 10000.0), (-10000.0, 0.0)):
        key = torch.tensor([[allowed], [allowed], [masked]])
        right += torch.isclose(attend(query, key, value, mask), expected).flatten().tolist()
    return any(right)


# %% wrong test_of_masking wide_tolerance of="example_by_hand"
# Your test accepts weights that no longer sum to 1: compare with the output that you expect, and
# allow rounding errors only.
# replace: if not torch.allclose(attend(query, key, value, mask), expected):
# by:      if not torch.allclose(attend(query, key, value, mask), expected, atol=2.0):


# %% wrong test_of_masking returns_in_the_loop
# Your test finds only what goes wrong with ordinary scores. Low allowed scores, high masked ones
# and a query that may attend to nothing must count too. (Does `return` end a loop at once?)
def test_of_masking(attend: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> bool:
    value = torch.tensor([[1.0], [2.0], [4.0]])
    for scores, allowed, expected in (
        ([0.0, 0.0, 0.0], [True, True, False], 1.5),
        ([0.0, 0.0, 10000.0], [True, True, False], 1.5),
        ([-10000.0, -10000.0, 0.0], [True, True, False], 1.5),
        ([0.0, 0.0, 0.0], [False, False, False], 0.0),
    ):
        key = torch.tensor(scores)[:, None]
        output = attend(torch.ones(1, 1), key, value, torch.tensor([allowed]))
        return torch.allclose(output, torch.full((1, 1), expected))


# %% wrong test_of_masking last_case_counts
# Your test finds only what a high masked score reveals: let low allowed scores and a query that
# may attend to nothing count too.
def test_of_masking(attend: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> bool:
    value, right = torch.tensor([[1.0], [2.0], [4.0]]), True
    for scores, allowed, expected in (
        ([0.0, 0.0, 0.0], [False, False, False], 0.0),
        ([-10000.0, -10000.0, 0.0], [True, True, False], 1.5),
        ([0.0, 0.0, 10000.0], [True, True, False], 1.5),
    ):
        key = torch.tensor(scores)[:, None]
        output = attend(torch.ones(1, 1), key, value, torch.tensor([allowed]))
        right = torch.allclose(output, torch.full((1, 1), expected))
    return right


# %% wrong test_of_masking masked_score_never_high of="example_by_hand"
# Your test has no masked score far above the allowed ones: raise one to 10 000.
# replace: for allowed, masked in ((0.0, 0.0), (0.0, 10000.0), (-10000.0, 0.0)):
# by:      for allowed, masked in ((0.0, 0.0), (-10000.0, -10000.0)):


# %% wrong test_of_masking not_above_the_expected of="example_by_hand"
# Your test lets outputs pass that are smaller than the expected one: look at the absolute
# difference.
# replace: if not torch.allclose(attend(query, key, value, mask), expected):
# by:      if not bool((attend(query, key, value, mask) - expected < 1e-4).all()):


# %% wrong test_of_masking equal_values of="example_by_hand"
# Your test sees the sum of the weights only, not which keys have them: give masked keys other
# values than allowed ones.
# replace: query, value = torch.ones(2, 1), torch.tensor([[1.0], [2.0], [6.0]])
# by:      query, value = torch.ones(2, 1), torch.ones(3, 1)
# replace: expected = torch.tensor([[1.5], [0.0]])
# by:      expected = torch.tensor([[1.0], [0.0]])
# replace: for allowed, masked in ((0.0, 0.0), (0.0, 10000.0), (-10000.0, 0.0)):
# by:      for allowed, masked in ((0.0, 0.0), (0.0, 1.0)):


# %% right test_of_masking example_by_hand
def test_of_masking(attend: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> bool:
    query, value = torch.ones(2, 1), torch.tensor([[1.0], [2.0], [6.0]])
    mask = torch.tensor([[True, True, False], [False, False, False]])
    expected = torch.tensor([[1.5], [0.0]])
    for allowed, masked in ((0.0, 0.0), (0.0, 10000.0), (-10000.0, 0.0)):
        key = torch.tensor([[allowed], [allowed], [masked]])
        if not torch.allclose(attend(query, key, value, mask), expected):
            return False
    return True


# %% right test_of_masking masked_keys_and_values_changed
def test_of_masking(attend: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> bool:
    query = torch.ones(2, 1, dtype=torch.float64)
    mask = torch.tensor([[True, False, True, False], [False, False, False, False]])
    outputs = []
    for score, number in ((-10000.0, 3.0), (10000.0, -40.0), (7.0, 500.0)):
        key = torch.tensor([[-10000.0], [score], [-9999.0], [score]], dtype=torch.float64)
        value = torch.tensor([[1.0], [number], [4.0], [number]], dtype=torch.float64)
        outputs.append(attend(query, key, value, mask))
    same = all(torch.allclose(output, outputs[0]) for output in outputs)
    return same and bool((outputs[0][1] == 0).all()) and bool((outputs[0][0] != 0).all())


# %% right test_of_masking masked_keys_removed
def test_of_masking(attend: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> bool:
    row = torch.tensor([[True, False, True, True, False]])
    kept = row[0]
    query, value = torch.ones(1, 4), torch.arange(10.0).view(5, 2) + 1
    for allowed, masked in ((-10000.0, 9000.0), (0.5, -3.0)):
        scores = torch.where(kept, allowed, masked) + torch.tensor([0.0, 1.0, 2.0, 0.0, 1.0])
        key = (scores / 2)[:, None].expand(5, 4)
        all_true = torch.ones(1, int(kept.sum()), dtype=torch.bool)
        with_mask = attend(query, key, value, row)
        without = attend(query, key[kept], value[kept], all_true)
        if not torch.allclose(with_mask, without, atol=1e-3):
            return False
        if not bool((attend(query, key, value, ~(row | True)) == 0).all()):
            return False
    return True


# %% right test_of_masking against_torch
def test_of_masking(attend: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> bool:
    value = torch.tensor([[1.0, 2.0], [5.0, -3.0], [2.0, 8.0]])
    mask = torch.tensor([[True, False, True], [False, True, True], [False, False, False]])
    for scores in ((0.0, 1.0, 0.5), (-10000.0, 10000.0, -9999.0), (-9999.0, -10000.0, -10000.0)):
        query, key = torch.ones(3, 1), torch.tensor(scores)[:, None]
        expected = F.scaled_dot_product_attention(query, key, value, mask)
        expected[2] = 0.0
        if not torch.allclose(attend(query, key, value, mask), expected, atol=1e-4):
            return False
    return True


# %% right test_of_masking gradients
def test_of_masking(attend: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> bool:
    mask = torch.tensor([[True, True, False], [False, False, False]])
    for masked in (10000.0, 0.0, -10000.0):
        query = torch.ones(2, 1, dtype=torch.float64)
        key = torch.tensor([[-10000.0], [-9999.0], [masked]], dtype=torch.float64)
        value = torch.tensor([[1.0], [2.0], [6.0]], dtype=torch.float64, requires_grad=True)
        output = attend(query, key, value, mask)
        if bool(output.isnan().any()) or output[1].abs().max() > 0:
            return False
        (weights,) = torch.autograd.grad(output[0].sum(), value)  # the output is weights @ value
        if abs(weights[2].item()) > 1e-9 or abs(weights.sum().item() - 1) > 1e-6:
            return False
    return True


# %% wrong leaks_future always_leaks
# Your function reports a leak where there is none: test only for dependence on later inputs, and
# return False where there is none.
def leaks_future(attend: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    return True


# %% wrong leaks_future never_leaks
# Your function never reports a leak: a reversal of the tokens does leak.
def leaks_future(attend: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    return False


# %% wrong leaks_future looks_at_the_past
# You test the wrong side of the diagonal, where later outputs depend on earlier inputs, as they
# may: row i is the output, and the columns after i must be 0.
def leaks_future(attend: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    slopes = torch.autograd.functional.jacobian(attend, x)
    strongest = slopes.abs().amax(dim=(1, 3))
    return bool((strongest.tril(-1) > 1e-8).any())


# %% wrong leaks_future axes_turned_round
# You test the wrong side of the diagonal, where later outputs depend on earlier inputs, as they
# may: row i is the output, and the columns after i must be 0.
def leaks_future(attend: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    slopes = torch.autograd.functional.jacobian(attend, x)
    strongest = slopes.abs().amax(dim=(1, 3)).T
    return bool((strongest.triu(1) > 1e-8).any())


# %% wrong leaks_future diagonal_counts of="looks_at_the_past"
# You count the dependence on an output's own input as a leak: only later inputs are forbidden,
# the diagonal is allowed.
# replace: return bool((strongest.tril(-1) > 1e-8).any())
# by:      return bool((strongest.triu() > 1e-8).any())

# %% wrong leaks_future any_dependence of="looks_at_the_past"
# Your function reports a leak where an output depends on an earlier token: only later ones count.
# replace: return bool((strongest.tril(-1) > 1e-8).any())
# by:      own = torch.eye(len(x), dtype=torch.bool)
#          return bool((strongest.masked_fill(own, 0.0) > 1e-8).any())


# %% wrong leaks_future everything_counts
# Your function reports a leak where there is none: test only for dependence on later inputs, and
# return False where there is none.
def leaks_future(attend: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    slopes = torch.autograd.functional.jacobian(attend, x)
    return bool((slopes.abs() > 1e-8).any())


# %% wrong leaks_future sum_of_all_outputs
# You report a leak if some output depends on any token but the first. Is the gradient that of one
# output only (backward adds to `.grad`), and do only the inputs after it count?
def leaks_future(attend: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    x = x.detach().clone().requires_grad_()
    (slope,) = torch.autograd.grad(attend(x).sum(), x)
    return bool((slope[1:].abs() > 1e-8).any())


# %% wrong leaks_future threshold_zero of="looks_at_the_past"
# You count every derivative that is not exactly 0, but rounding alone causes some of 1e-12: the
# docstring gives the threshold.
# replace: return bool((strongest.tril(-1) > 1e-8).any())
# by:      return bool((strongest.triu(1) > 0).any())

# %% wrong leaks_future threshold_too_coarse of="looks_at_the_past"
# Your test misses small leaks: a derivative counts if it is larger than 1e-8. (If you change an
# input and compare outputs, divide the change of the output by that of the input.)
# replace: return bool((strongest.tril(-1) > 1e-8).any())
# by:      return bool((strongest.triu(1) > 1e-2).any())

# %% wrong leaks_future no_absolute_value of="axes_turned_round"
# You miss negative derivatives: take absolute values before you compare.
# replace: strongest = slopes.abs().amax(dim=(1, 3)).T
# by:      strongest = slopes.amax(dim=(1, 3))

# %% wrong leaks_future first_output_only of="looks_at_the_past"
# You test only the first output: test each output against all later inputs.
# replace: return bool((strongest.tril(-1) > 1e-8).any())
# by:      return bool((strongest[0, 1:] > 1e-8).any())

# %% wrong leaks_future last_input_only of="looks_at_the_past"
# You test only the last input: every input can leak into earlier outputs.
# replace: return bool((strongest.tril(-1) > 1e-8).any())
# by:      return bool((strongest[:-1, -1] > 1e-8).any())


# %% wrong leaks_future last_word_changed
# You test only the last input: every input can leak into earlier outputs.
def leaks_future(attend: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    other = x.clone()
    other[-1] += 1.0
    return bool(((attend(other) - attend(x))[:-1].abs() > 1e-8).any())


# %% wrong leaks_future neighbours_only of="looks_at_the_past"
# You test only the next token: later tokens can leak too.
# replace: return bool((strongest.tril(-1) > 1e-8).any())
# by:      return bool((strongest.diagonal(1) > 1e-8).any())

# %% wrong leaks_future two_diagonals_off of="looks_at_the_past"
# You leave out the next token: everything above the diagonal must be 0.
# replace: return bool((strongest.tril(-1) > 1e-8).any())
# by:      return bool((strongest.triu(2) > 1e-8).any())

# %% wrong leaks_future features_for_words of="axes_turned_round"
# You take the maximum over the positions and keep the features: keep the two position axes, and
# take it over the other two.
# replace: strongest = slopes.abs().amax(dim=(1, 3)).T
# by:      strongest = slopes.abs().amax(dim=(0, 2))

# %% wrong leaks_future first_feature_only of="axes_turned_round"
# You do not test every pair of features: a leak may run from any input feature into any output
# feature.
# replace: strongest = slopes.abs().amax(dim=(1, 3)).T
# by:      strongest = slopes[:, 0, :, 0].abs()

# %% wrong leaks_future all_must_leak of="looks_at_the_past"
# You test whether all later inputs leak: one is enough.
# replace: return bool((strongest.tril(-1) > 1e-8).any())
# by:      later = torch.ones(len(x), len(x)).triu(1) == 1
#          return bool((strongest[later] > 1e-8).all())

# %% wrong leaks_future turned_answer of="looks_at_the_past"
# Your answers are inverted: True means that there is a leak.
# replace: return bool((strongest.tril(-1) > 1e-8).any())
# by:      return not bool((strongest.triu(1) > 1e-8).any())


# %% wrong leaks_future change_not_divided
# Your test misses small leaks: a derivative counts if it is larger than 1e-8. (If you change an
# input and compare outputs, divide the change of the output by that of the input.)
def leaks_future(attend: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    for j in range(1, len(x)):
        other = x.clone()
        other[j] += 1e-6
        if ((attend(other) - attend(x))[:j].abs() > 1e-8).any():
            return True
    return False


# %% wrong leaks_future output_against_input
# You compare the output with the input: compare two outputs, before and after a later input
# changes.
def leaks_future(attend: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    return bool(((attend(x) - x).abs() > 1e-8).any())


# %% wrong leaks_future changes_its_input
# Your code modifies the caller's x: change a copy.
def leaks_future(attend: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    before = attend(x)
    for j in range(1, len(x)):
        x[j] += 1.0
        if ((attend(x) - before)[:j].abs() > 1e-8).any():
            return True
        x[j] -= 1.0 + 1e-3
    return False


# %% wrong leaks_future a_mask_in_place_of_an_answer of="looks_at_the_past"
# You return a tensor of answers: return a single True or False, whether any of them is True.
# replace: return bool((strongest.tril(-1) > 1e-8).any())
# by:      return strongest.triu(1) > 1e-8

# %% wrong leaks_future size_in_place_of_an_answer of="looks_at_the_past"
# You return the size of the leak: return True or False, whether it is larger than 1e-8.
# replace: return bool((strongest.tril(-1) > 1e-8).any())
# by:      return strongest.triu(1).max()


# %% wrong leaks_future no_gradient_asked_for
# PyTorch tracks only what is computed from a tensor that requires a gradient: make such a copy of
# x, and compute the output from it, without detach or no_grad. (Or use jacobian.)
def leaks_future(attend: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    output = attend(x)
    for i in range(len(x) - 1):
        (slope,) = torch.autograd.grad(output[i].sum(), x, retain_graph=True)
        if (slope[i + 1 :].abs() > 1e-8).any():
            return True
    return False


# %% wrong leaks_future gradients_added_up
# Your function reports a leak where there is none: is the gradient that of one output only?
# backward adds to what is in `.grad` already.
def leaks_future(attend: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    source = x.detach().clone().requires_grad_()
    output = attend(source)
    for i in reversed(range(len(x) - 1)):
        output[i].sum().backward(retain_graph=True)
        assert source.grad is not None
        if (source.grad[i + 1 :].abs() > 1e-8).any():
            return True
    return False


# %% wrong leaks_future forgotten_return of="looks_at_the_past"
# does the last line say `return`?
# replace: return bool((strongest.tril(-1) > 1e-8).any())
# by:      bool((strongest.triu(1) > 1e-8).any())


# %% wrong leaks_future loose
# Your test misses small leaks: a derivative counts if it is larger than 1e-8. (If you change an
# input and compare outputs, divide the change of the output by that of the input.)
def leaks_future(attend, x):
    jac = torch.autograd.functional.jacobian(attend, x).abs().amax((1, 3))
    return bool((jac.triu(1) > 1e-6).any())


# %% wrong leaks_future norm
# You combine many small derivatives: each one counts by itself, from 1e-8 on.
def leaks_future(attend, x):
    jac = torch.autograd.functional.jacobian(attend, x)
    return bool((jac.norm(dim=(1, 3)).triu(1) > 1e-8).any())


# %% wrong leaks_future relative of="loose"
# You compare each derivative with the largest one: each counts by itself, from 1e-8 on.
# replace: return bool((jac.triu(1) > 1e-6).any())
# by:      return bool(((jac / jac.max()).triu(1) > 1e-8).any())


# %% wrong leaks_future at_zero
# You compute the derivatives at another input: compute them at x.
def leaks_future(attend, x):
    jac = torch.autograd.functional.jacobian(attend, torch.zeros_like(x))
    return bool((jac.abs().amax((1, 3)).triu(1) > 1e-8).any())


# %% wrong leaks_future double of="at_zero"
# You change the dtype of x, but a model has parameters of its own dtype: leave x as it is.
# replace: jac = torch.autograd.functional.jacobian(attend, torch.zeros_like(x))
# by:      jac = torch.autograd.functional.jacobian(attend, x.double())


# %% right leaks_future features_summed
def leaks_future(attend: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    source = x.detach().clone().requires_grad_()
    output = attend(source)
    for i in range(len(x) - 1):
        (slope,) = torch.autograd.grad(output[i].sum(), source, retain_graph=True)
        if (slope[i + 1 :].abs() > 1e-8).any():
            return True
    return False


# %% right leaks_future features_summed_backward
def leaks_future(attend: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    for i in range(len(x) - 1):
        source = x.detach().clone().requires_grad_()
        attend(source)[i].sum().backward()
        assert source.grad is not None
        if source.grad[i + 1 :].abs().amax() > 1e-8:
            return True
    return False


# %% right leaks_future all_features_changed
def leaks_future(attend: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    before = attend(x)
    for j in range(1, len(x)):
        other = x.clone()
        other[j] += 1.0
        if ((attend(other) - before)[:j].abs() > 1e-8).any():
            return True
    return False


# %% wrong leaks_future graph_freed
# PyTorch frees the graph after the first gradient: keep it with retain_graph=True.
def leaks_future(attend: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    source = x.detach().clone().requires_grad_()
    output = attend(source)
    for i in range(len(x)):
        for feature in range(x.shape[1]):
            (slope,) = torch.autograd.grad(output[i, feature], source)
            if (slope[i + 1 :].abs() > 1e-8).any():
                return True
    return False


# %% wrong leaks_future output_of_the_original
# PyTorch tracks only what is computed from a tensor that requires a gradient: make such a copy of
# x, and compute the output from it, without detach or no_grad. (Or use jacobian.)
def leaks_future(attend: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    output = attend(x)
    source = x.detach().clone().requires_grad_()
    for i in range(len(x)):
        (slope,) = torch.autograd.grad(output[i, 0], source, retain_graph=True)
        if (slope[i + 1 :].abs() > 1e-8).any():
            return True
    return False


# %% wrong leaks_future same_feature_only
# You do not test every pair of features: a leak may run from any input feature into any output
# feature.
def leaks_future(attend: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    slopes = torch.autograd.functional.jacobian(attend, x)
    for feature in range(x.shape[1]):
        if (slopes[:, feature, :, feature].triu(1).abs() > 1e-8).any():
            return True
    return False


# %% wrong leaks_future first_output_feature_only of="axes_turned_round"
# You do not test every pair of features: a leak may run from any input feature into any output
# feature.
# replace: strongest = slopes.abs().amax(dim=(1, 3)).T
# by:      strongest = slopes[:, 0].abs().amax(dim=2)


# %% wrong leaks_future mixed_by_reshape
# Your function reports leaks where there are none. Do you reshape the Jacobian? Its axes are
# output position, output feature, input position, input feature, and reshape does not reorder
# them.
def leaks_future(attend: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    length, dim = x.shape
    slopes = torch.autograd.functional.jacobian(attend, x)
    strongest = slopes.reshape(length, length, dim, dim).abs().amax(dim=(2, 3))
    return bool((strongest.triu(1) > 1e-8).any())


# %% wrong leaks_future gradients_accumulate
# You report a leak if some output depends on any token but the first. Is the gradient that of one
# output only (backward adds to `.grad`), and do only the inputs after it count?
def leaks_future(attend: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    source = x.detach().clone().requires_grad_()
    output = attend(source)
    for feature in range(x.shape[1]):
        for i in range(len(x)):
            output[i, feature].backward(retain_graph=True)
            assert source.grad is not None
            if (source.grad[i + 1 :].abs() > 1e-8).any():
                return True
    return False


# %% wrong leaks_future sum_over_the_positions
# You report a leak if some output depends on any token but the first. Is the gradient that of one
# output only (backward adds to `.grad`), and do only the inputs after it count?
def leaks_future(attend: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    slopes = torch.autograd.functional.jacobian(lambda y: attend(y).sum(0), x)
    return bool((torch.as_tensor(slopes)[:, 1:].abs() > 1e-8).any())


# %% wrong leaks_future slopes_added_up of="looks_at_the_past"
# You add derivatives up: then small ones count together, and those of opposite sign cancel. Each
# counts by itself.
# replace: return bool((strongest.tril(-1) > 1e-8).any())
# by:      added = slopes.sum(dim=(1, 3)).abs()
#          return bool((added.triu(1) > 1e-8).any())


# %% wrong leaks_future flattened_triangle
# An output feature may depend on every feature of its own token: compare the positions only.
def leaks_future(attend: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    slopes = torch.autograd.functional.jacobian(attend, x).reshape(x.numel(), x.numel())
    return bool((slopes.abs().triu(1) > 1e-8).any())


# %% wrong leaks_future last_input_left_out of="looks_at_the_past"
# You leave out the last input: it can leak into every earlier output.
# replace: return bool((strongest.tril(-1) > 1e-8).any())
# by:      return bool((strongest[:, :-1].triu(1) > 1e-8).any())


# %% right leaks_future transform
def leaks_future(attend: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    slopes = torch.func.jacrev(attend)(x).abs().amax((1, 3))
    later = torch.arange(len(x)) > torch.arange(len(x))[:, None]
    return (slopes[later] > 1e-8).any()


# %% right leaks_future changed_inputs
def leaks_future(attend: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    before = attend(x)
    for j in range(1, len(x)):
        for feature in range(x.shape[1]):
            other = x.clone()
            other[j, feature] += 1.0
            if ((attend(other) - before)[:j].abs() > 1e-8).any():
                return True
    return False


# %% right leaks_future small_steps
def leaks_future(attend: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    step = 1e-4 if x.dtype == torch.float64 else 1e-2
    for j in range(1, len(x)):
        for feature in range(x.shape[1]):
            moved = torch.zeros_like(x)
            moved[j, feature] = step
            change = (attend(x + moved) - attend(x - moved))[:j] / (2 * step)
            if bool((change.abs() > 1e-8).any()):
                return True
    return False


# %% right leaks_future each_entry
def leaks_future(attend: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    length, dim = x.shape
    source = x.clone().requires_grad_(True)
    output = attend(source)
    largest = 0.0
    for i in range(length - 1):
        for feature in range(dim):
            slope = torch.autograd.grad(output[i, feature], source, retain_graph=True)[0]
            largest = max(largest, slope[i + 1 :].abs().max().item())
    return largest > 1e-8


# %% right leaks_future backward
def leaks_future(attend: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    for i in range(len(x) - 1):
        for feature in range(x.shape[1]):
            source = x.detach().clone().requires_grad_()
            attend(source)[i, feature].backward()
            if source.grad is not None and source.grad[i + 1 :].abs().amax() > 1e-8:
                return True
    return False


# %% right leaks_future mask_of_the_jacobian
def leaks_future(attend: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    slopes = torch.autograd.functional.jacobian(attend, x)
    strongest = slopes.abs().amax(3).amax(1)
    allowed = torch.ones(len(x), len(x), dtype=torch.bool).tril()
    return bool(strongest.masked_fill(allowed, 0.0).max() > 1e-8)
