# %% given imports
# pyright: reportRedeclaration=false, reportReturnType=false, reportArgumentType=false
import math
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformer_course.checks import numbers


# %% wrong sinusoidal_encoding as_in_the_listing
# The sine and the cosine of a pair have different angles, as in the slide's listing. i counts
# pairs, so columns 2i and 2i + 1 share one frequency.
def sinusoidal_encoding(length: int, d_model: int, base: float = 10000.0) -> Tensor:
    if d_model % 2:
        raise ValueError(f"d_model must be even; got {d_model}")
    columns = torch.arange(d_model)
    angles = torch.arange(length)[:, None] / base ** (2 * columns / d_model)
    return torch.where(columns % 2 == 0, angles.sin(), angles.cos())


# %% wrong sinusoidal_encoding as_in_the_listing_by_loops
# The sine and the cosine of a pair have different angles, as in the slide's listing. i counts
# pairs, so columns 2i and 2i + 1 share one frequency.
def sinusoidal_encoding(length: int, d_model: int, base: float = 10000.0) -> Tensor:
    if d_model % 2:
        raise ValueError(f"d_model must be even; got {d_model}")
    table = torch.zeros(length, d_model)
    for p in range(length):
        for i in range(d_model):
            wave = math.cos if i % 2 else math.sin
            table[p, i] = wave(p / base ** (2 * i / d_model))
    return table


# %% wrong sinusoidal_encoding a_speed_for_each_column of="as_in_the_listing"
# Each column has its own frequency, base^(-column / d_model). Columns 2i and 2i + 1 should share
# the frequency of their pair.
# replace: angles = torch.arange(length)[:, None] / base ** (2 * columns / d_model)
# by:      angles = torch.arange(length)[:, None] / base ** (columns / d_model)


# %% wrong sinusoidal_encoding halves
# All sines are in the left half and all cosines in the right. They should alternate, the sine and
# cosine of a pair side by side.
def sinusoidal_encoding(length: int, d_model: int, base: float = 10000.0) -> Tensor:
    if d_model % 2:
        raise ValueError(f"d_model must be even; got {d_model}")
    angles = torch.arange(length)[:, None] * base ** (-torch.arange(0, d_model, 2) / d_model)
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


# %% wrong sinusoidal_encoding cosine_first of="halves"
# Your cosines are in the even columns and your sines in the odd ones. The sine comes first.
# replace: return torch.cat([angles.sin(), angles.cos()], dim=-1)
# by:      return torch.stack([angles.cos(), angles.sin()], dim=-1).flatten(-2)

# %% wrong sinusoidal_encoding places_from_one of="clocks_that_get_faster"
# Your first row is position 1. Positions count from 0, and position 0 is [0, 1, 0, 1, …].
# replace: length)[:, None] * base ** (
# by:      1, length + 1)[:, None] * base ** (-

# %% wrong sinusoidal_encoding linear_speeds of="clocks_that_get_faster"
# Your frequencies fall in equal steps, 1 - 2i / d_model. They should fall by equal factors, as
# powers of the base.
# replace: angles = torch.arange(length)[:, None] * base ** (torch.arange(0, d_model, 2) / d_model)
# by:      speeds = 1 - torch.arange(0, d_model, 2) / d_model
#          angles = torch.arange(length)[:, None] * speeds

# %% wrong sinusoidal_encoding speeds_of_one_over_i of="clocks_that_get_faster"
# Your frequencies are 1, 1/2, 1/3, … They should be powers of the base, each smaller than the one
# before by the same factor.
# replace: angles = torch.arange(length)[:, None] * base ** (torch.arange(0, d_model, 2) / d_model)
# by:      speeds = 1 / torch.arange(1, d_model // 2 + 1)
#          angles = torch.arange(length)[:, None] * speeds

# %% wrong sinusoidal_encoding half_the_exponent of="clocks_that_get_faster"
# Each of your frequencies is the square root of what it should be, base^(-2i / d_model).
# replace: angles = torch.arange(length)[:, None] * base ** (torch.arange(0, d_model, 2) / d_model)
# by:      speeds = base ** (-torch.arange(d_model // 2) / d_model)
#          angles = torch.arange(length)[:, None] * speeds

# %% wrong sinusoidal_encoding twice_the_exponent of="clocks_that_get_faster"
# Each of your frequencies is the square of what it should be, base^(-2i / d_model). An arange in
# steps of 2 already holds 2i.
# replace: angles = torch.arange(length)[:, None] * base ** (torch.arange(0, d_model, 2) / d_model)
# by:      evens = torch.arange(0, d_model, 2)
#          angles = torch.arange(length)[:, None] * base ** (-2 * evens / d_model)

# %% wrong sinusoidal_encoding logarithm_of_base_ten of="clocks_that_get_faster"
# You take the logarithm of the base to base 10, but exp is the inverse of the natural logarithm,
# math.log.
# replace: angles = torch.arange(length)[:, None] * base ** (torch.arange(0, d_model, 2) / d_model)
# by:      speeds = torch.exp(torch.arange(0, d_model, 2) * (-math.log10(base) / d_model))
#          angles = torch.arange(length)[:, None] * speeds

# %% wrong sinusoidal_encoding logarithm_of_base_two of="clocks_that_get_faster"
# You take the logarithm of the base to base 2, but exp is the inverse of the natural logarithm,
# math.log.
# replace: angles = torch.arange(length)[:, None] * base ** (torch.arange(0, d_model, 2) / d_model)
# by:      speeds = torch.exp(torch.arange(0, d_model, 2) * (-math.log2(base) / d_model))
#          angles = torch.arange(length)[:, None] * speeds

# %% wrong sinusoidal_encoding base_ignored of="clocks_that_get_faster"
# Your frequencies are those of base 10000, whatever the caller gives. Use the argument `base`.
# replace: length)[:, None] * base ** (
# by:      length)[:, None] * 10000.0 ** (-


# %% wrong sinusoidal_encoding clocks_that_get_faster
# Your frequencies rise from left to right. They should fall: pair i has base^(-2i / d_model).
def sinusoidal_encoding(length: int, d_model: int, base: float = 10000.0) -> Tensor:
    if d_model % 2:
        raise ValueError(f"d_model must be even; got {d_model}")
    angles = torch.arange(length)[:, None] * base ** (torch.arange(0, d_model, 2) / d_model)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


# %% wrong sinusoidal_encoding exponent_down_to_minus_one of="clocks_that_get_faster"
# Your last frequency is 1 / base exactly. Pair i has base^(-2i / d_model), and the last 2i is less
# than d_model.
# replace: angles = torch.arange(length)[:, None] * base ** (torch.arange(0, d_model, 2) / d_model)
# by:      speeds = base ** -torch.linspace(0, 1, d_model // 2)
#          angles = torch.arange(length)[:, None] * speeds

# %% wrong sinusoidal_encoding last_speed_missing_its_place of="clocks_that_get_faster"
# Your first frequency is already below 1. The pairs count from i = 0, and base^0 = 1.
# replace: torch.arange(0, d_model, 2)
# by:      -torch.arange(2, d_model + 2, 2)

# %% wrong sinusoidal_encoding turned_table of="halves"
# Your table is transposed: a row is a position, a column is a wave.
# replace: return torch.cat([angles.sin(), angles.cos()], dim=-1)
# by:      return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2).T


# %% wrong sinusoidal_encoding angles_only
# These are the angles. Their sines and cosines are still missing.
def sinusoidal_encoding(length: int, d_model: int, base: float = 10000.0) -> Tensor:
    if d_model % 2:
        raise ValueError(f"d_model must be even; got {d_model}")
    speeds = base ** (-torch.arange(0, d_model, 2) / d_model)
    return (torch.arange(length)[:, None] * speeds).repeat_interleave(2, dim=-1)


# %% wrong sinusoidal_encoding sines_only of="angles_only"
# Every column holds a sine. The odd columns should hold the cosine of the same angle.
# replace: return (torch.arange(length)[:, None] * speeds).repeat_interleave(2, dim=-1)
# by:      return (torch.arange(length)[:, None] * speeds).repeat_interleave(2, dim=-1).sin()

# %% wrong sinusoidal_encoding turns_for_radians of="clocks_that_get_faster"
# Your angles are 2π times too large. The frequency ω is already in radians per position, so there
# is no 2π in the formula.
# replace: angles = torch.arange(length)[:, None] * base ** (torch.arange(0, d_model, 2) / d_model)
# by:      speeds = 2 * math.pi * base ** (-torch.arange(0, d_model, 2) / d_model)
#          angles = torch.arange(length)[:, None] * speeds

# %% wrong sinusoidal_encoding places_as_a_share of="clocks_that_get_faster"
# You divide the positions by the length, so a step depends on the length of the text. The angle is
# the position itself times the frequency.
# replace: angles = torch.arange(length)[:, None] * base ** (torch.arange(0, d_model, 2) / d_model)
# by:      places = torch.arange(length)[:, None] / length
#          angles = places * base ** (-torch.arange(0, d_model, 2) / d_model)

# %% wrong sinusoidal_encoding degrees of="clocks_that_get_faster"
# You convert the angles from degrees to radians, but they are in radians already.
# replace: angles = torch.arange(length)[:, None] * base ** (torch.arange(0, d_model, 2) / d_model)
# by:      angles = torch.arange(length)[:, None] * base ** (-torch.arange(0, d_model, 2) / d_model)
#          angles = torch.deg2rad(angles)


# %% wrong sinusoidal_encoding numpy_float64
# Your values are right, but their dtype is float64. Return torch's default dtype.
def sinusoidal_encoding(length: int, d_model: int, base: float = 10000.0) -> Tensor:
    if d_model % 2:
        raise ValueError(f"d_model must be even; got {d_model}")
    speeds = base ** (-np.arange(0, d_model, 2) / d_model)
    angles = np.arange(length)[:, None] * speeds
    return torch.from_numpy(np.stack([np.sin(angles), np.cos(angles)], axis=-1)).flatten(-2)


# %% wrong sinusoidal_encoding axes_stacked_the_wrong_way of="halves"
# All sines are in the left half and all cosines in the right. They should alternate, the sine and
# cosine of a pair side by side.
# replace: return torch.cat([angles.sin(), angles.cos()], dim=-1)
# by:      return torch.stack([angles.sin(), angles.cos()], dim=1).flatten(1)

# %% wrong sinusoidal_encoding whole_numbers of="clocks_that_get_faster"
# All your pairs have the frequency 1. Pair i has base^(-2i / d_model); with //, the exponent would
# be rounded to 0.
# replace: angles = torch.arange(length)[:, None] * base ** (torch.arange(0, d_model, 2) / d_model)
# by:      angles = torch.arange(length)[:, None] * base ** (
#              -(torch.arange(0, d_model, 2) // d_model).float()
#          )

# %% wrong sinusoidal_encoding half_precision of="halves"
# Your values went through half precision. Compute in the default dtype.
# replace: return torch.cat([angles.sin(), angles.cos()], dim=-1)
# by:      return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2).half().float()

# %% wrong sinusoidal_encoding plus_for_times of="clocks_that_get_faster"
# You add the frequency to the position. The angle is the position times the frequency.
# replace: angles = torch.arange(length)[:, None] * base ** (torch.arange(0, d_model, 2) / d_model)
# by:      angles = torch.arange(length)[:, None] + base ** (-torch.arange(0, d_model, 2) / d_model)

# %% wrong sinusoidal_encoding with_a_batch_axis of="halves"
# Your table has a batch axis in front. Return (length, d_model), which broadcasts over every
# batch.
# replace: return torch.cat([angles.sin(), angles.cos()], dim=-1)
# by:      return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)[None]

# %% wrong sinusoidal_encoding scaled_to_length_one of="halves"
# Your rows have length 1. Do not normalise: sine and cosine are used as they are.
# replace: return torch.cat([angles.sin(), angles.cos()], dim=-1)
# by:      return F.normalize(torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2), dim=-1)


# %% wrong sinusoidal_encoding odd_width_truncated
# An odd width is accepted. Raise a ValueError that names it, before you compute anything.
def sinusoidal_encoding(length: int, d_model: int, base: float = 10000.0) -> Tensor:
    angles = torch.arange(length)[:, None] * base ** (-torch.arange(0, d_model, 2) / d_model)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)[:, :d_model]


# %% wrong sinusoidal_encoding odd_width_in_silence of="odd_width_asserted"
# An odd width is accepted. Raise a ValueError that names it, before you compute anything.
# replace: assert d_model % 2 == 0, f"d_model is odd: {d_model}"
# by:


# %% wrong sinusoidal_encoding odd_width_asserted
# An odd width ends in an AssertionError. Raise a ValueError, the exception for wrong values.
def sinusoidal_encoding(length: int, d_model: int, base: float = 10000.0) -> Tensor:
    assert d_model % 2 == 0, f"d_model is odd: {d_model}"
    angles = torch.arange(length)[:, None] * base ** (-torch.arange(0, d_model, 2) / d_model)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


# %% wrong sinusoidal_encoding odd_width_without_its_number of="odd_width_asserted"
# Your error does not name the width. Put d_model into its message.
# replace: assert d_model % 2 == 0, f"d_model is odd: {d_model}"
# by:      if d_model % 2:
#              raise ValueError("d_model must be even")


# %% wrong sinusoidal_encoding odd_width_does_not_fit
# An odd width ends in PyTorch's own error about shapes. Check d_model first, and raise a
# ValueError that names it.
def sinusoidal_encoding(length: int, d_model: int, base: float = 10000.0) -> Tensor:
    table = torch.zeros(length, d_model)
    angles = torch.arange(length)[:, None] * base ** (-torch.arange(0, d_model, 2) / d_model)
    table[:, 0::2] = angles.sin()
    table[:, 1::2] = angles.cos()
    return table


# %% wrong sinusoidal_encoding length_looked_at of="odd_width_asserted"
# You refuse odd lengths. A text may have any length; it is the width, d_model, that must be even.
# replace: assert d_model % 2 == 0, f"d_model is odd: {d_model}"
# by:      if length % 2:
#              raise ValueError(f"must be even: {length}")


# %% wrong sinusoidal_encoding overflow
# base to the power of 2i overflows float32. Divide the exponent by d_model first.
def sinusoidal_encoding(length, d_model, base=10000.0):
    if d_model % 2:
        raise ValueError(f"odd d_model {d_model}")
    speeds = 1 / (base ** torch.arange(0, d_model, 2)) ** (1 / d_model)
    a = torch.arange(length)[:, None] * speeds
    return torch.stack([a.sin(), a.cos()], -1).flatten(1)


# %% wrong sinusoidal_encoding kept_for_the_width
# You keep something from an earlier call that was computed with another base.
_tables = {}


def sinusoidal_encoding(length, d_model, base=10000.0):
    if d_model % 2:
        raise ValueError(f"odd d_model {d_model}")
    if d_model not in _tables or len(_tables[d_model]) < length:
        a = torch.arange(length)[:, None] * base ** (-torch.arange(0, d_model, 2) / d_model)
        _tables[d_model] = torch.stack([a.sin(), a.cos()], -1).flatten(1)
    return _tables[d_model][:length]


# %% wrong sinusoidal_encoding clocks_that_get_faster_by_exp of="clocks_that_get_faster"
# Your frequencies rise from left to right. They should fall: pair i has base^(-2i / d_model).
# replace: angles = torch.arange(length)[:, None] * base ** (torch.arange(0, d_model, 2) / d_model)
# by:      speeds = torch.exp(torch.arange(0, d_model, 2) * (math.log(base) / d_model))
#          angles = torch.arange(length)[:, None] * speeds

# %% wrong sinusoidal_encoding root_of_the_base of="clocks_that_get_faster"
# Each of your frequencies is the square root of what it should be, base^(-2i / d_model).
# replace: angles = torch.arange(length)[:, None] * base ** (torch.arange(0, d_model, 2) / d_model)
# by:      angles = torch.arange(length)[:, None] * math.sqrt(base) ** (
#              -torch.arange(0, d_model, 2) / d_model
#          )

# %% wrong sinusoidal_encoding positions_in_a_row of="clocks_that_get_faster"
# Four positions and three frequencies do not fit together. Make the positions a column, (length,
# 1).
# replace: angles = torch.arange(length)[:, None] * base ** (torch.arange(0, d_model, 2) / d_model)
# by:      angles = torch.arange(length) * base ** (-torch.arange(0, d_model, 2) / d_model)

# %% wrong sinusoidal_encoding float64_by_torch of="halves"
# Your values are right, but their dtype is float64. Return torch's default dtype.
# replace: return torch.cat([angles.sin(), angles.cos()], dim=-1)
# by:      angles = angles.double()
#          return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


# %% right sinusoidal_encoding filled_table
def sinusoidal_encoding(length: int, d_model: int, base: float = 10000.0) -> Tensor:
    if d_model % 2 == 1:
        raise ValueError(f"an odd width has no pairs: d_model = {d_model}")
    table = torch.empty(length, d_model)
    exponents = torch.arange(0, d_model, 2).float() / d_model
    angles = torch.outer(torch.arange(length).float(), 1.0 / base**exponents)
    table[:, 0::2], table[:, 1::2] = torch.sin(angles), torch.cos(angles)
    return table


# %% right sinusoidal_encoding exp_of_log
def sinusoidal_encoding(length: int, d_model: int, base: float = 10000.0) -> Tensor:
    if d_model % 2 != 0:
        raise ValueError(f"d_model = {d_model} is odd")
    speeds = torch.exp(torch.arange(0, d_model, 2) * (-math.log(base) / d_model))
    angles = torch.arange(length).unsqueeze(1) * speeds
    return torch.stack((angles.sin(), angles.cos()), dim=2).reshape(length, d_model)


# %% right sinusoidal_encoding loops
def sinusoidal_encoding(length: int, d_model: int, base: float = 10000.0) -> Tensor:
    if d_model % 2:
        raise ValueError(f"{d_model} columns cannot be paired")
    rows = []
    for p in range(length):
        row = []
        for i in range(d_model // 2):
            angle = p / base ** (2 * i / d_model)
            row += [math.sin(angle), math.cos(angle)]
        rows.append(row)
    return torch.tensor(rows)


# %% right sinusoidal_encoding numpy_and_back
def sinusoidal_encoding(length: int, d_model: int, base: float = 10000.0) -> Tensor:
    if d_model % 2:
        raise ValueError(f"d_model={d_model}: odd")
    columns = np.arange(d_model)
    angles = np.arange(length)[:, None] / np.power(base, 2 * (columns // 2) / d_model)
    angles[:, 1::2] += np.pi / 2
    return torch.tensor(np.sin(angles), dtype=torch.get_default_dtype())


# %% right sinusoidal_encoding complex_numbers
def sinusoidal_encoding(length: int, d_model: int, base: float = 10000.0) -> Tensor:
    if d_model % 2:
        raise ValueError(f"d_model should be even and is {d_model}")
    speeds = base ** (-torch.arange(d_model // 2) / (d_model // 2))
    angles = torch.einsum("p,i->pi", torch.arange(length).float(), speeds)
    hands = torch.view_as_real(torch.polar(torch.ones_like(angles), angles))
    return hands.flip(-1).reshape(length, d_model)


# %% right sinusoidal_encoding float64_inside
def sinusoidal_encoding(length: int, d_model: int, base: float = 10000.0) -> Tensor:
    if d_model & 1:
        raise ValueError(f"got the odd width {d_model}")
    columns = torch.arange(d_model)
    exponents = (columns - columns % 2).double() / d_model
    angles = torch.arange(length)[:, None] / torch.tensor(base, dtype=torch.float64) ** exponents
    return torch.where(columns % 2 == 0, angles.sin(), angles.cos()).to(torch.get_default_dtype())


# %% wrong shift_matrix transposed of="offset_negated"
# Your matrix moves back by offset steps, not forward: the sines have the wrong signs. The encoding
# is a row on the left of the matrix, so the first column makes the new sine.
# replace: angles = -offset * base ** (-torch.arange(0, d_model, 2) / d_model)
# by:      angles = offset * base ** (-torch.arange(0, d_model, 2) / d_model)
# replace: matrix[2 * i, 2 * i + 1] = -b.sin()
#          matrix[2 * i + 1, 2 * i] = b.sin()
# by:      matrix[2 * i, 2 * i + 1] = b.sin()
#          matrix[2 * i + 1, 2 * i] = -b.sin()


# %% wrong shift_matrix offset_negated
# Your matrix moves back by offset steps, not forward: the sines have the wrong signs. The encoding
# is a row on the left of the matrix, so the first column makes the new sine.
def shift_matrix(offset: int, d_model: int, base: float = 10000.0) -> Tensor:
    angles = -offset * base ** (-torch.arange(0, d_model, 2) / d_model)
    matrix = torch.zeros(d_model, d_model)
    for i, b in enumerate(angles):
        matrix[2 * i, 2 * i] = b.cos()
        matrix[2 * i, 2 * i + 1] = -b.sin()
        matrix[2 * i + 1, 2 * i] = b.sin()
        matrix[2 * i + 1, 2 * i + 1] = b.cos()
    return matrix


# %% wrong shift_matrix turned_at_the_end of="offset_negated"
# Your matrix moves back by offset steps, not forward: the sines have the wrong signs. The encoding
# is a row on the left of the matrix, so the first column makes the new sine.
# replace: angles = -offset * base ** (-torch.arange(0, d_model, 2) / d_model)
# by:      angles = offset * base ** (-torch.arange(0, d_model, 2) / d_model)
# replace: return matrix
# by:      return matrix.T

# %% wrong shift_matrix no_minus of="offset_negated"
# Both sines have the same sign. In cos(a + b) = cos a cos b - sin a sin b there is a minus.
# replace: angles = -offset * base ** (-torch.arange(0, d_model, 2) / d_model)
# by:      angles = offset * base ** (-torch.arange(0, d_model, 2) / d_model)
# replace: matrix[2 * i, 2 * i + 1] = -b.sin()
# by:      matrix[2 * i, 2 * i + 1] = b.sin()

# %% wrong shift_matrix both_minus of="offset_negated"
# Both sines are negative. In sin(a + b) = sin a cos b + cos a sin b there is a plus.
# replace: angles = -offset * base ** (-torch.arange(0, d_model, 2) / d_model)
# by:      angles = offset * base ** (-torch.arange(0, d_model, 2) / d_model)
# replace: matrix[2 * i + 1, 2 * i] = b.sin()
# by:      matrix[2 * i + 1, 2 * i] = -b.sin()


# %% wrong shift_matrix sine_on_the_diagonal
# The sines are on the diagonal and the cosines beside it. With offset 0 nothing should move, so
# the diagonal holds cos 0 = 1.
def shift_matrix(offset: int, d_model: int, base: float = 10000.0) -> Tensor:
    angles = offset * base ** (-torch.arange(0, d_model, 2) / d_model)
    matrix = torch.zeros(d_model, d_model)
    for i, b in enumerate(angles):
        matrix[2 * i, 2 * i] = b.sin()
        matrix[2 * i, 2 * i + 1] = b.cos()
        matrix[2 * i + 1, 2 * i] = -b.cos()
        matrix[2 * i + 1, 2 * i + 1] = b.sin()
    return matrix


# %% wrong shift_matrix one_speed_for_all of="offset_negated"
# All pairs rotate with the same frequency, 1 radian per step. Each pair has its own, base^(-2i /
# d_model).
# replace: angles = -offset * base ** (-torch.arange(0, d_model, 2) / d_model)
# by:      angles = torch.full((d_model // 2,), float(offset))

# %% wrong shift_matrix half_the_exponent of="offset_negated"
# Your second frequency is the square root of what it should be. Pair i has base^(-2i / d_model).
# replace: angles = -offset * base ** (-torch.arange(0, d_model, 2) / d_model)
# by:      angles = offset * base ** (-torch.arange(d_model // 2) / d_model)

# %% wrong shift_matrix twice_the_exponent of="offset_negated"
# Your second frequency is 1 / base here, which is too low. Pair i has base^(-2i / d_model); an
# arange in steps of 2 already holds 2i.
# replace: angles = -offset * base ** (-torch.arange(0, d_model, 2) / d_model)
# by:      angles = offset * base ** (-2 * torch.arange(0, d_model, 2) / d_model)

# %% wrong shift_matrix base_ignored of="offset_negated"
# Your frequencies are those of base 10000, whatever the caller gives. Use the argument `base`.
# replace: angles = -offset * base ** (-torch.arange(0, d_model, 2) / d_model)
# by:      angles = offset * 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)

# %% wrong shift_matrix faster_clocks of="offset_negated"
# Your angles rise from pair to pair. They should fall: the offset times base^(-2i / d_model).
# replace: angles = -offset * base ** (-torch.arange(0, d_model, 2) / d_model)
# by:      angles = offset * base ** (torch.arange(0, d_model, 2) / d_model)

# %% wrong shift_matrix offset_ignored of="offset_negated"
# Your matrix moves by one step whatever offset is. The angle of a pair is the offset times its
# frequency.
# replace: angles = -offset * base ** (-torch.arange(0, d_model, 2) / d_model)
# by:      angles = base ** (-torch.arange(0, d_model, 2) / d_model)

# %% wrong shift_matrix distance_without_sign of="offset_negated"
# Your matrix moves forward even when offset is negative. Keep its sign.
# replace: angles = -offset * base ** (-torch.arange(0, d_model, 2) / d_model)
# by:      angles = abs(offset) * base ** (-torch.arange(0, d_model, 2) / d_model)


# %% wrong shift_matrix halves
# Your pairs are column i and column i + d_model / 2. In this encoding a sine and its cosine are
# neighbours, 2i and 2i + 1.
def shift_matrix(offset: int, d_model: int, base: float = 10000.0) -> Tensor:
    angles = offset * base ** (-torch.arange(0, d_model, 2) / d_model)
    cosines, sines = torch.diag(angles.cos()), torch.diag(angles.sin())
    return torch.cat([torch.cat([cosines, -sines], 1), torch.cat([sines, cosines], 1)])


# %% wrong shift_matrix all_pairs_mixed
# You have blocks outside the diagonal too, so the pairs mix. Outside the 2 × 2 blocks on the
# diagonal all entries should be 0.
def shift_matrix(offset: int, d_model: int, base: float = 10000.0) -> Tensor:
    angles = offset * base ** (-torch.arange(0, d_model, 2) / d_model)
    rows = torch.stack(
        [
            torch.stack([angles.cos(), -angles.sin()], -1),
            torch.stack([angles.sin(), angles.cos()], -1),
        ],
        dim=1,
    )
    return rows.reshape(d_model, 2).repeat(1, d_model // 2)


# %% wrong shift_matrix permutation_of_rows
# Your matrix moves columns to other columns. It should rotate each pair by an angle.
def shift_matrix(offset: int, d_model: int, base: float = 10000.0) -> Tensor:
    return torch.eye(d_model).roll(offset, dims=1)


# %% wrong shift_matrix cosines_only
# Only the cosines are there. A rotation also needs the sines beside the diagonal.
def shift_matrix(offset: int, d_model: int, base: float = 10000.0) -> Tensor:
    angles = offset * base ** (-torch.arange(0, d_model, 2) / d_model)
    return torch.diag(angles.cos().repeat_interleave(2))


# %% wrong shift_matrix stacked_blocks of="all_pairs_mixed"
# You return a stack of blocks. Put them on the diagonal of one matrix, (d_model, d_model).
# replace: rows = torch.stack(
# by:      return torch.stack(
# replace: return rows.reshape(d_model, 2).repeat(1, d_model // 2)
# by:

# %% wrong shift_matrix float64 of="offset_negated"
# Your values are right, but their dtype is float64. Return torch's default dtype.
# replace: angles = -offset * base ** (-torch.arange(0, d_model, 2) / d_model)
# by:      angles = offset * base ** (-torch.arange(0, d_model, 2) / d_model)
# replace: return matrix
# by:      return matrix.double()


# %% wrong shift_matrix first_block_for_all
# All pairs rotate with the same frequency, 1 radian per step. Each pair has its own, base^(-2i /
# d_model).
def shift_matrix(offset: int, d_model: int, base: float = 10000.0) -> Tensor:
    b = torch.tensor(float(offset))
    block = torch.stack([b.cos(), -b.sin(), b.sin(), b.cos()]).reshape(2, 2)
    return torch.kron(torch.eye(d_model // 2), block)


# %% wrong shift_matrix turns_for_radians of="offset_negated"
# Your angles are 2π times too large. The frequencies are already in radians per position.
# replace: angles = -offset * base ** (-torch.arange(0, d_model, 2) / d_model)
# by:      angles = 2 * math.pi * offset * base ** (-torch.arange(0, d_model, 2) / d_model)


# %% wrong shift_matrix a_speed_for_each_column
# Each column rotates by its own angle. Both columns of a pair share one frequency, base^(-2i /
# d_model).
def shift_matrix(offset: int, d_model: int, base: float = 10000.0) -> Tensor:
    angles = offset * base ** (-torch.arange(d_model) / d_model)
    matrix = torch.diag(angles.cos())
    for i in range(0, d_model, 2):
        matrix[i, i + 1], matrix[i + 1, i] = -angles[i + 1].sin(), angles[i].sin()
    return matrix


# %% wrong shift_matrix whole_turns_only_forward of="offset_negated"
# Your matrix is the identity for a negative offset. It should move back.
# replace: angles = -offset * base ** (-torch.arange(0, d_model, 2) / d_model)
# by:      angles = max(offset, 0) * base ** (-torch.arange(0, d_model, 2) / d_model)


# %% wrong shift_matrix overflow
# base to the power of 2i overflows float32. Divide the exponent by d_model first.
def shift_matrix(offset, d_model, base=10000.0):
    a = offset / (base ** torch.arange(0, d_model, 2)) ** (1 / d_model)
    return torch.block_diag(
        *[torch.stack([t.cos(), -t.sin(), t.sin(), t.cos()]).view(2, 2) for t in a]
    )


# %% wrong shift_matrix least_squares
# Some entries outside the 2 × 2 blocks are not 0, as when you solve for a matrix that shifts. Fill
# in the blocks alone.
def shift_matrix(offset, d_model, base=10000.0):
    a = torch.arange(-100, 100)[:, None] * base ** (-torch.arange(0, d_model, 2) / d_model)
    b = (torch.arange(-100, 100)[:, None] + offset) * base ** (
        -torch.arange(0, d_model, 2) / d_model
    )
    e = torch.stack([a.sin(), a.cos()], -1).flatten(1)
    f = torch.stack([b.sin(), b.cos()], -1).flatten(1)
    return torch.linalg.lstsq(e, f).solution


# %% wrong shift_matrix divided_by_the_frequency of="offset_negated"
# Your angles rise from pair to pair. They should fall: the offset times base^(-2i / d_model).
# replace: angles = -offset * base ** (-torch.arange(0, d_model, 2) / d_model)
# by:      angles = offset / base ** (-torch.arange(0, d_model, 2) / d_model)

# %% wrong shift_matrix sine_on_the_diagonal_and_minus_above of="sine_on_the_diagonal"
# The sines are on the diagonal and the cosines beside it. With offset 0 nothing should move, so the
# diagonal holds cos 0 = 1.
# replace: matrix[2 * i, 2 * i + 1] = b.cos()
#          matrix[2 * i + 1, 2 * i] = -b.cos()
# by:      matrix[2 * i, 2 * i + 1] = -b.cos()
#          matrix[2 * i + 1, 2 * i] = b.cos()


# %% wrong shift_matrix outer_product
# The first row of your block is 0. That is right for position 0 alone, whose sine is 0: each block
# needs four entries.
def shift_matrix(offset: int, d_model: int, base: float = 10000.0) -> Tensor:
    start = torch.tensor([0.0, 1.0]).repeat(d_model // 2)
    b = offset * base ** (-torch.arange(0, d_model, 2) / d_model)
    goal = torch.stack([b.sin(), b.cos()], -1).flatten()
    return torch.outer(start, goal) / (start @ start)


# %% wrong shift_matrix last_block_missing of="offset_negated"
# For one pair all entries of your matrix are 0. Each of the d_model / 2 pairs has its block.
# replace: angles = -offset * base ** (-torch.arange(0, d_model, 2) / d_model)
# by:      angles = offset * base ** (-torch.arange(0, d_model, 2) / d_model)
# replace: for i, b in enumerate(angles):
# by:      for i, b in enumerate(angles[:-1]):

# %% wrong shift_matrix starts_from_identity of="offset_negated"
# Each diagonal entry is too large by 1. Outside the blocks there is nothing to add: begin with
# zeros.
# replace: angles = -offset * base ** (-torch.arange(0, d_model, 2) / d_model)
# by:      angles = offset * base ** (-torch.arange(0, d_model, 2) / d_model)
# replace: return matrix
# by:      return matrix + torch.eye(d_model)

# %% wrong shift_matrix zero_for_no_step of="offset_negated"
# For offset 0 your matrix is 0. It should change nothing: cos 0 = 1 is on its diagonal.
# replace: angles = -offset * base ** (-torch.arange(0, d_model, 2) / d_model)
# by:      angles = offset * base ** (-torch.arange(0, d_model, 2) / d_model)
# replace: return matrix
# by:      return matrix * bool(offset)


# %% wrong shift_matrix list_not_unpacked
# You give block_diag one list. It takes the blocks as separate arguments: unpack the list with *.
def shift_matrix(offset: int, d_model: int, base: float = 10000.0) -> Tensor:
    blocks = []
    for i in range(d_model // 2):
        b = offset * base ** (-2 * i / d_model)
        blocks.append(torch.tensor([[math.cos(b), -math.sin(b)], [math.sin(b), math.cos(b)]]))
    return torch.block_diag(blocks)  # pyright: ignore[reportArgumentType]


# %% right shift_matrix filled_by_slices
def shift_matrix(offset: int, d_model: int, base: float = 10000.0) -> Tensor:
    angles = offset / base ** (torch.arange(0, d_model, 2) / d_model)
    matrix = torch.zeros(d_model, d_model)
    sine_rows, cosine_rows = torch.arange(0, d_model, 2), torch.arange(1, d_model, 2)
    matrix[sine_rows, sine_rows] = matrix[cosine_rows, cosine_rows] = angles.cos()
    matrix[sine_rows, cosine_rows], matrix[cosine_rows, sine_rows] = -angles.sin(), angles.sin()
    return matrix


# %% right shift_matrix loop_with_math
def shift_matrix(offset: int, d_model: int, base: float = 10000.0) -> Tensor:
    blocks = []
    for i in range(d_model // 2):
        b = offset * base ** (-2 * i / d_model)
        blocks.append(torch.tensor([[math.cos(b), -math.sin(b)], [math.sin(b), math.cos(b)]]))
    return torch.block_diag(*blocks)


# %% right shift_matrix matrix_exponential
def shift_matrix(offset: int, d_model: int, base: float = 10000.0) -> Tensor:
    generator = torch.zeros(d_model, d_model, dtype=torch.float64)
    for i in range(d_model // 2):
        speed = base ** (-2 * i / d_model)
        generator[2 * i, 2 * i + 1], generator[2 * i + 1, 2 * i] = -speed, speed
    return torch.matrix_exp(offset * generator).to(torch.get_default_dtype())


# %% right shift_matrix powers_of_one_step
def shift_matrix(offset: int, d_model: int, base: float = 10000.0) -> Tensor:
    speeds = [base ** (-2 * i / d_model) for i in range(d_model // 2)]
    one = torch.block_diag(
        *(
            torch.tensor([[math.cos(s), -math.sin(s)], [math.sin(s), math.cos(s)]]).double()
            for s in speeds
        )
    )
    return torch.linalg.matrix_power(one, offset).float()


# %% right shift_matrix encodings_of_the_offset
def shift_matrix(offset: int, d_model: int, base: float = 10000.0) -> Tensor:
    angles = offset * base ** (-torch.arange(0, d_model, 2) / d_model)
    sines, cosines = angles.sin(), angles.cos()
    matrix = torch.diag(cosines.repeat_interleave(2))
    beside = torch.stack([sines, torch.zeros_like(sines)], -1).flatten()[:-1]
    return matrix + torch.diag(beside, -1) - torch.diag(beside, 1)


# %% wrong repaired_entry as_in_the_listing
# This is the angle of the listing, in which every column has its own. Columns 2i and 2i + 1 should
# share one.
def repaired_entry(position: int, column: int, d_model: int) -> float:
    angle = position / 10000 ** (2 * column / d_model)
    return math.cos(angle) if column % 2 else math.sin(angle)


# %% wrong repaired_entry column_in_the_exponent of="as_in_the_listing"
# Your exponent is column / d_model, so the cosine of a pair has a smaller angle than its sine. Use
# 2i with i = column // 2.
# replace: angle = position / 10000 ** (2 * column / d_model)
# by:      angle = position / 10000 ** (column / d_model)

# %% wrong repaired_entry half_the_exponent of="as_in_the_listing"
# Your exponent is half of what it should be. It is 2i / d_model, where i is the number of the pair.
# replace: angle = position / 10000 ** (2 * column / d_model)
# by:      angle = position / 10000 ** (column // 2 / d_model)

# %% wrong repaired_entry twice_the_exponent of="as_in_the_listing"
# Your exponent is twice too large. With i = column // 2, 2i is the even one of the two columns.
# replace: angle = position / 10000 ** (2 * column / d_model)
# by:      angle = position / 10000 ** (4 * (column // 2) / d_model)


# %% wrong repaired_entry cosine_first
# Sine and cosine are swapped. Even columns hold the sine.
def repaired_entry(position: int, column: int, d_model: int) -> float:
    angle = position / 10000 ** (2 * (column // 2) / d_model)
    return math.sin(angle) if column % 2 else math.cos(angle)


# %% wrong repaired_entry halves
# Your sines are in the left half and your cosines in the right. They should alternate.
def repaired_entry(position: int, column: int, d_model: int) -> float:
    half = d_model // 2
    angle = position / 10000 ** (2 * (column % half) / d_model)
    return math.cos(angle) if column >= half else math.sin(angle)


# %% wrong repaired_entry sines_only
# Odd columns hold the cosine, not the sine.
def repaired_entry(position: int, column: int, d_model: int) -> float:
    return math.sin(position / 10000 ** (2 * (column // 2) / d_model))


# %% wrong repaired_entry exponent_positive of="as_in_the_listing"
# Your angles grow from pair to pair. They should fall: the position times 10000^(-2i / d_model).
# replace: angle = position / 10000 ** (2 * column / d_model)
# by:      angle = position * 10000 ** (2 * (column // 2) / d_model)

# %% wrong repaired_entry rounded_exponent of="as_in_the_listing"
# All columns have the same angle, the position itself. Divide it by 10000^(2i / d_model), with /
# and not // in the exponent.
# replace: angle = position / 10000 ** (2 * column / d_model)
# by:      angle = position / 10000 ** (column // 2 * 2 // d_model)

# %% wrong repaired_entry rounded_up of="as_in_the_listing"
# You round up, so columns 1 and 2 form a pair. Columns 0 and 1 are pair 0: round down.
# replace: angle = position / 10000 ** (2 * column / d_model)
# by:      angle = position / 10000 ** (2 * ((column + 1) // 2) / d_model)

# %% wrong repaired_entry position_from_one of="as_in_the_listing"
# You count positions from 1. The first is 0.
# replace: angle = position / 10000 ** (2 * column / d_model)
# by:      angle = (position + 1) / 10000 ** (2 * (column // 2) / d_model)


# %% wrong repaired_entry angle_only
# This is the angle. Its sine or cosine is still missing.
def repaired_entry(position: int, column: int, d_model: int) -> float:
    return position / 10000 ** (2 * (column // 2) / d_model)


# %% wrong repaired_entry another_base of="as_in_the_listing"
# Your base is not the 10000 of the slide. Count its zeros.
# replace: angle = position / 10000 ** (2 * column / d_model)
# by:      angle = position / 1000 ** (2 * (column // 2) / d_model)


# %% wrong repaired_entry cosine_of_the_next_pair
# You round up, so columns 1 and 2 form a pair. Columns 0 and 1 are pair 0: round down.
def repaired_entry(position: int, column: int, d_model: int) -> float:
    pair = (column + column % 2) / 2
    wave = math.cos if column % 2 else math.sin
    return wave(position / 10000 ** (2 * pair / d_model))


# %% wrong repaired_entry parity_of_the_pair
# Both columns of a pair hold the same wave. Even columns hold the sine, odd columns the cosine.
def repaired_entry(position: int, column: int, d_model: int) -> float:
    pair = column // 2
    angle = position / 10000 ** (2 * pair / d_model)
    return math.cos(angle) if pair % 2 else math.sin(angle)


# %% wrong repaired_entry divided_outside
# You divide the sine or cosine of the position. Divide the position first: the angle is position /
# 10000^(2i / d_model).
def repaired_entry(position: int, column: int, d_model: int) -> float:
    wave = math.cos if column % 2 else math.sin
    return wave(position) / 10000 ** (2 * (column // 2) / d_model)


# %% wrong repaired_entry rounded_to_even of="as_in_the_listing"
# Column 3 gets the angle of pair 2. Columns 2 and 3 are pair 1: always round down.
# replace: angle = position / 10000 ** (2 * column / d_model)
# by:      angle = position / 10000 ** (2 * round(column / 2) / d_model)

# %% wrong repaired_entry width_eight_assumed of="as_in_the_listing"
# Your frequencies are 1, 1/10, 1/100, … for width 4 too. They depend on d_model.
# replace: angle = position / 10000 ** (2 * column / d_model)
# by:      angle = position / 10 ** (column // 2)

# %% wrong repaired_entry nothing_at_position_zero of="as_in_the_listing"
# Column 1 of position 0 should be cos 0, which is 1, not 0.
# replace: angle = position / 10000 ** (2 * column / d_model)
# by:      if position == 0:
#              return 0.0
#          angle = position / 10000 ** (2 * (column // 2) / d_model)


# %% right repaired_entry even_part_of_the_column
def repaired_entry(position: int, column: int, d_model: int) -> float:
    angle = position * 10000.0 ** (-(column - column % 2) / d_model)
    return math.sin(angle + math.pi / 2 * (column % 2))


# %% right repaired_entry from_the_whole_table
def repaired_entry(position: int, column: int, d_model: int) -> float:
    return sinusoidal_encoding(position + 1, d_model)[position, column].item()


# %% right repaired_entry tensor_of_one_number
def repaired_entry(position: int, column: int, d_model: int) -> float:
    angle = torch.tensor(position / 10000 ** (column // 2 * 2 / d_model), dtype=torch.float64)
    return (angle.sin(), angle.cos())[column % 2]  # pyright: ignore[reportReturnType]


# %% right repaired_entry divmod
def repaired_entry(position: int, column: int, d_model: int) -> float:
    pair, is_cosine = divmod(column, 2)
    angle = math.exp(math.log(10000) * -2 * pair / d_model) * position
    if is_cosine:
        return math.cos(angle)
    return math.sin(angle)


# %% right repaired_entry numpy
def repaired_entry(position: int, column: int, d_model: int) -> float:
    angle = position / np.power(10000.0, 2 * (column // 2) / d_model)
    return np.cos(angle) if column % 2 == 1 else np.sin(angle)


# %% wrong wavelengths without_two_pi
# The factor 2π is missing. A full turn is 2π radians, and 1 / ω positions make only one radian.
def wavelengths(d_model: int, base: float = 10000.0) -> Tensor:
    return base ** (torch.arange(0, d_model, 2) / d_model)


# %% wrong wavelengths half_a_turn
# These are half turns. A full turn is 2π radians.
def wavelengths(d_model: int, base: float = 10000.0) -> Tensor:
    return math.pi * base ** (torch.arange(0, d_model, 2) / d_model)


# %% wrong wavelengths speeds
# These are the frequencies, in radians per position. How many positions make 2π radians?
def wavelengths(d_model: int, base: float = 10000.0) -> Tensor:
    return base ** (-torch.arange(0, d_model, 2) / d_model)


# %% wrong wavelengths turns_in_a_step
# Your wavelengths get shorter from pair to pair. The lower a frequency, the longer its wave: 2π
# divided by the frequency.
def wavelengths(d_model: int, base: float = 10000.0) -> Tensor:
    return 2 * math.pi * base ** (-torch.arange(0, d_model, 2) / d_model)


# %% wrong wavelengths turns_upside_down
# This is the fraction of a turn in one step. Its reciprocal is the number of positions.
def wavelengths(d_model: int, base: float = 10000.0) -> Tensor:
    return base ** (-torch.arange(0, d_model, 2) / d_model) / (2 * math.pi)


# %% wrong wavelengths one_for_each_column
# You return one value per column. Sine and cosine of a pair share one, so there are d_model / 2.
def wavelengths(d_model: int, base: float = 10000.0) -> Tensor:
    return 2 * math.pi * base ** (torch.arange(d_model) // 2 * 2 / d_model)


# %% wrong wavelengths half_the_exponent
# Your wavelengths grow too slowly, by the square root of the right factor. Pair i has the frequency
# base^(-2i / d_model).
def wavelengths(d_model: int, base: float = 10000.0) -> Tensor:
    return 2 * math.pi * base ** (torch.arange(d_model // 2) / d_model)


# %% wrong wavelengths twice_the_exponent
# Your wavelengths grow too fast, by the square of the right factor. Pair i has the frequency
# base^(-2i / d_model); an arange in steps of 2 already holds 2i.
def wavelengths(d_model: int, base: float = 10000.0) -> Tensor:
    return 2 * math.pi * base ** (2 * torch.arange(0, d_model, 2) / d_model)


# %% wrong wavelengths base_ignored
# Your wavelengths are those of base 10000, whatever the caller gives. Use the argument `base`.
def wavelengths(d_model: int, base: float = 10000.0) -> Tensor:
    return 2 * math.pi * 10000.0 ** (torch.arange(0, d_model, 2) / d_model)


# %% wrong wavelengths degrees
# A full turn is 2π here, not 360. The frequencies are in radians.
def wavelengths(d_model: int, base: float = 10000.0) -> Tensor:
    return 360 * base ** (torch.arange(0, d_model, 2) / d_model)


# %% wrong wavelengths rounded
# You round to whole positions. A turn may end between two positions.
def wavelengths(d_model: int, base: float = 10000.0) -> Tensor:
    return (2 * math.pi * base ** (torch.arange(0, d_model, 2) / d_model)).round()


# %% wrong wavelengths slowest_first
# Your wavelengths are in the wrong order. The shortest comes first.
def wavelengths(d_model: int, base: float = 10000.0) -> Tensor:
    return (2 * math.pi * base ** (torch.arange(0, d_model, 2) / d_model)).flip(0)


# %% wrong wavelengths slowest_alone
# You return a single wavelength. There should be one for each pair.
def wavelengths(d_model: int, base: float = 10000.0) -> Tensor:
    return torch.tensor([2 * math.pi * base ** ((d_model - 2) / d_model)])


# %% wrong wavelengths up_to_the_base
# Your longest wavelength is 2π · base. Pair i has the frequency base^(-2i / d_model), and the last
# 2i is less than d_model.
def wavelengths(d_model: int, base: float = 10000.0) -> Tensor:
    return 2 * math.pi * base ** torch.linspace(0, 1, d_model // 2)


# %% wrong wavelengths from_pair_one
# Your first wavelength is too long. The pairs count from i = 0, and the first frequency is 1.
def wavelengths(d_model: int, base: float = 10000.0) -> Tensor:
    return 2 * math.pi * base ** (torch.arange(2, d_model + 2, 2) / d_model)


# %% wrong wavelengths power_before_division
# You take the power first and divide by d_model then. The exponent is 2i / d_model: set brackets.
def wavelengths(d_model: int, base: float = 10000.0) -> Tensor:
    return 2 * math.pi * base ** torch.arange(0, d_model, 2) / d_model


# %% wrong wavelengths cut_off
# You cut off the fractions. A turn may end between two positions.
def wavelengths(d_model: int, base: float = 10000.0) -> Tensor:
    return (2 * math.pi * base ** (torch.arange(0, d_model, 2) / d_model)).floor()


# %% wrong wavelengths doubling
# Your wavelengths double from pair to pair. The factor between two pairs is base^(2 / d_model).
def wavelengths(d_model: int, base: float = 10000.0) -> Tensor:
    return 2 * math.pi * 2.0 ** torch.arange(d_model // 2)


# %% wrong wavelengths ten_times
# Your wavelengths grow tenfold from pair to pair. The factor between two pairs is base^(2 /
# d_model).
def wavelengths(d_model: int, base: float = 10000.0) -> Tensor:
    return 2 * math.pi * 10.0 ** torch.arange(d_model // 2)


# %% wrong wavelengths clipped_at_the_base
# No wavelength of yours is longer than the base. The base is no maximum: wavelengths may be longer.
def wavelengths(d_model: int, base: float = 10000.0) -> Tensor:
    return (2 * math.pi * base ** (torch.arange(0, d_model, 2) / d_model)).clamp(max=base)


# %% right wavelengths two_pi_over_the_speed
def wavelengths(d_model: int, base: float = 10000.0) -> Tensor:
    speeds = base ** (-torch.arange(0, d_model, 2) / d_model)
    return 2 * math.pi / speeds


# %% right wavelengths loop
def wavelengths(d_model: int, base: float = 10000.0) -> Tensor:
    return torch.tensor([2 * math.pi * base ** (2 * i / d_model) for i in range(d_model // 2)])


# %% right wavelengths exp_of_log
def wavelengths(d_model: int, base: float = 10000.0) -> Tensor:
    pairs = torch.arange(d_model // 2, dtype=torch.float64)
    return torch.exp(math.log(base) * 2 * pairs / d_model + math.log(2 * math.pi))


# %% right wavelengths geometric
def wavelengths(d_model: int, base: float = 10000.0) -> Tensor:
    factor = base ** (2 / d_model)
    return torch.cumprod(torch.tensor([2 * math.pi] + [factor] * (d_model // 2 - 1)), 0)


# %% right wavelengths from_numpy
def wavelengths(d_model: int, base: float = 10000.0) -> Tensor:
    return torch.from_numpy(
        np.float32(2 * np.pi) * np.power(base, np.arange(0, d_model, 2) / d_model)
    )


# %% wrong LearnedPositions one_row_for_each_sequence of="solution"
# Your rows go along the batch: every token of sequence b gets row b. Positions count along the
# length, x.shape[-2].
# replace: length, most = x.shape[-2], self.table.num_embeddings
# by:      length, most = x.shape[-2], self.table.weight.shape[0]
# replace:     raise ValueError(f"the input has length {length}, the table only {most} rows")
#          return x + self.table.weight[:length]
# by:          raise ValueError(f"{length} words, but only {most} rows")
#          return x + self.table.weight[: x.shape[0], None]

# %% wrong LearnedPositions indices_of_the_batch of="one_row_for_each_sequence"
# Your rows go along the batch: every token of sequence b gets row b. Positions count along the
# length, x.shape[-2].
# replace: return x + self.table.weight[: x.shape[0], None]
# by:      return x + self.table(torch.arange(x.shape[0]))[:, None]

# %% wrong LearnedPositions as_many_rows_as_sequences of="one_row_for_each_sequence"
# You add three rows to two tokens. Take as many rows as there are tokens, x.shape[-2].
# replace: return x + self.table.weight[: x.shape[0], None]
# by:      return x + self.table.weight[: x.shape[0]]

# %% wrong LearnedPositions rows_only of="one_row_for_each_sequence"
# You return the rows alone. They should be added to x.
# replace: return x + self.table.weight[: x.shape[0], None]
# by:      return self.table.weight[:length]

# %% wrong LearnedPositions rows_for_each_sequence_only of="one_row_for_each_sequence"
# You return the rows alone. They should be added to x.
# replace: return x + self.table.weight[: x.shape[0], None]
# by:      return self.table.weight[:length].expand_as(x)

# %% wrong LearnedPositions multiplied of="one_row_for_each_sequence"
# You multiply x by the rows. They should be added.
# replace: return x + self.table.weight[: x.shape[0], None]
# by:      return x * self.table.weight[:length]

# %% wrong LearnedPositions from_row_one of="one_row_for_each_sequence"
# You begin at row 1. The first token is at position 0 and gets row 0.
# replace: return x + self.table.weight[: x.shape[0], None]
# by:      return x + self.table(torch.arange(1, length + 1) % most)

# %% wrong LearnedPositions last_rows of="one_row_for_each_sequence"
# You take the last rows of the table. The first token should get row 0.
# replace: return x + self.table.weight[: x.shape[0], None]
# by:      return x + self.table.weight[-length:]

# %% wrong LearnedPositions rows_turned_round of="one_row_for_each_sequence"
# Your rows are in reverse order. Token p should get row p.
# replace: return x + self.table.weight[: x.shape[0], None]
# by:      return x + self.table.weight[:length].flip(0)

# %% wrong LearnedPositions first_row_for_all of="one_row_for_each_sequence"
# All tokens get row 0. Token p should get row p.
# replace: return x + self.table.weight[: x.shape[0], None]
# by:      return x + self.table.weight[0]

# %% wrong LearnedPositions last_row_for_all of="one_row_for_each_sequence"
# All tokens get the same row, the one of the last position. Token p should get row p.
# replace: return x + self.table.weight[: x.shape[0], None]
# by:      return x + self.table(torch.tensor(length - 1))

# %% wrong LearnedPositions detached of="one_row_for_each_sequence"
# No gradient reaches the table, so it cannot be trained. Add rows of self.table itself, without
# detach, .data, requires_grad_(False) or a copy.
# replace: return x + self.table.weight[: x.shape[0], None]
# by:      return x + self.table.weight[:length].detach()

# %% wrong LearnedPositions data of="one_row_for_each_sequence"
# No gradient reaches the table, so it cannot be trained. Add rows of self.table itself, without
# detach, .data, requires_grad_(False) or a copy.
# replace: return x + self.table.weight[: x.shape[0], None]
# by:      return x + self.table.weight.data[:length]

# %% wrong LearnedPositions frozen of="one_row_for_each_sequence"
# No gradient reaches the table, so it cannot be trained. Add rows of self.table itself, without
# detach, .data, requires_grad_(False) or a copy.
# replace: self.table = nn.Embedding(max_length, d_model)
# by:      self.table = nn.Embedding(max_length, d_model)
#          self.table.requires_grad_(False)
# replace: return x + self.table.weight[: x.shape[0], None]
# by:      return x + self.table.weight[:length]

# %% wrong LearnedPositions scaled of="one_row_for_each_sequence"
# You scale x by √d_model before the addition. Here x is used as it is.
# replace: return x + self.table.weight[: x.shape[0], None]
# by:      return x * x.shape[-1] ** 0.5 + self.table.weight[:length]

# %% wrong LearnedPositions added_in_place of="one_row_for_each_sequence"
# You modify the caller's x. Make a new tensor, x + rows.
# replace: return x + self.table.weight[: x.shape[0], None]
# by:      x += self.table.weight[:length]
#          return x

# %% wrong LearnedPositions another_name of="one_row_for_each_sequence"
# The module's parameters are not those of the docstring. It has one part, `table`, an
# nn.Embedding(max_length, d_model), and no other layer.
# replace: self.table = nn.Embedding(max_length, d_model)
# by:      self.positions = nn.Embedding(max_length, d_model)
# replace: length, most = x.shape[-2], self.table.weight.shape[0]
# by:      length, most = x.shape[-2], self.positions.num_embeddings
# replace: return x + self.table.weight[: x.shape[0], None]
# by:      return x + self.positions.weight[:length]

# %% wrong LearnedPositions a_bare_parameter of="one_row_for_each_sequence"
# The module's parameters are not those of the docstring. It has one part, `table`, an
# nn.Embedding(max_length, d_model), and no other layer.
# replace: self.table = nn.Embedding(max_length, d_model)
# by:      self.table = nn.Parameter(torch.randn(max_length, d_model))
# replace: length, most = x.shape[-2], self.table.weight.shape[0]
# by:      length, most = x.shape[-2], len(self.table)
# replace: return x + self.table.weight[: x.shape[0], None]
# by:      return x + self.table[:length]

# %% wrong LearnedPositions sizes_swapped of="one_row_for_each_sequence"
# The module's parameters are not those of the docstring. It has one part, `table`, an
# nn.Embedding(max_length, d_model), and no other layer.
# replace: self.table = nn.Embedding(max_length, d_model)
# by:      self.table = nn.Embedding(d_model, max_length)
# replace: return x + self.table.weight[: x.shape[0], None]
# by:      return x + self.table.weight[:length]

# %% wrong LearnedPositions one_row_more of="one_row_for_each_sequence"
# The module's parameters are not those of the docstring. It has one part, `table`, an
# nn.Embedding(max_length, d_model), and no other layer.
# replace: self.table = nn.Embedding(max_length, d_model)
# by:      self.table = nn.Embedding(max_length + 1, d_model)
# replace: return x + self.table.weight[: x.shape[0], None]
# by:      return x + self.table.weight[:length]

# %% wrong LearnedPositions row_zero_kept_for_padding of="one_row_for_each_sequence"
# Row 0 of the table gets no gradient. Here it is the first position, not padding.
# replace: self.table = nn.Embedding(max_length, d_model)
# by:      self.table = nn.Embedding(max_length, d_model, padding_idx=0)
# replace: return x + self.table.weight[: x.shape[0], None]
# by:      return x + self.table(torch.arange(length))


# %% wrong LearnedPositions too_long_unnoticed
# An input that is too long ends in PyTorch's own error. Compare its length with max_length, and
# raise a ValueError that names both.
class LearnedPositions(nn.Module):
    def __init__(self, max_length: int, d_model: int) -> None:
        super().__init__()
        self.table = nn.Embedding(max_length, d_model)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.table.weight[: x.shape[-2]]


# %% wrong LearnedPositions too_long_by_index of="too_long_unnoticed"
# An input that is too long ends in PyTorch's own error. Compare its length with max_length, and
# raise a ValueError that names both.
# replace: return x + self.table.weight[: x.shape[-2]]
# by:      return x + self.table(torch.arange(x.shape[-2]))

# %% wrong LearnedPositions too_long_gets_the_last_row of="too_long_unnoticed"
# An input that is too long is accepted without an error. Raise a ValueError that names its length
# and max_length.
# replace: return x + self.table.weight[: x.shape[-2]]
# by:      last = self.table.num_embeddings - 1
#          return x + self.table(torch.arange(x.shape[-2]).clamp(max=last))

# %% wrong LearnedPositions too_long_begins_again of="too_long_unnoticed"
# An input that is too long is accepted without an error. Raise a ValueError that names its length
# and max_length.
# replace: return x + self.table.weight[: x.shape[-2]]
# by:      return x + self.table(torch.arange(x.shape[-2]) % self.table.num_embeddings)

# %% wrong LearnedPositions too_long_is_cut of="too_long_unnoticed"
# An input that is too long is accepted without an error. Raise a ValueError that names its length
# and max_length.
# replace: return x + self.table.weight[: x.shape[-2]]
# by:      return x[..., : self.table.num_embeddings, :] + self.table.weight[: x.shape[-2]]

# %% wrong LearnedPositions as_long_as_the_table_refused of="too_long_unnoticed"
# You refuse an input of length max_length, although the table has a row for each token. Refuse
# only longer ones.
# replace: def forward(self, x: Tensor) -> Tensor:
# by:      def forward(self, x: Tensor) -> Tensor:
#              if x.shape[-2] >= self.table.num_embeddings:
#                  raise ValueError(f"{x.shape[-2]} words for {self.table.num_embeddings} rows")

# %% wrong LearnedPositions one_number_named of="too_long_unnoticed"
# Your error does not name both numbers. Give the length and max_length.
# replace: def forward(self, x: Tensor) -> Tensor:
# by:      def forward(self, x: Tensor) -> Tensor:
#              if x.shape[-2] > self.table.num_embeddings:
#                  raise ValueError(f"{x.shape[-2]} words are too many")

# %% wrong LearnedPositions index_error of="too_long_unnoticed"
# You raise an IndexError. The docstring asks for a ValueError.
# replace: def forward(self, x: Tensor) -> Tensor:
# by:      def forward(self, x: Tensor) -> Tensor:
#              if x.shape[-2] > self.table.num_embeddings:
#                  raise IndexError(f"{x.shape[-2]} words for {self.table.num_embeddings} rows")

# %% wrong LearnedPositions asserted of="solution"
# An assert ends in an AssertionError. The docstring asks for a ValueError.
# replace: if length > most:
#              raise ValueError(f"the input has length {length}, the table only {most} rows")
# by:      assert length <= most, f"{length} words for {most} rows"

# %% wrong LearnedPositions second_axis of="too_long_unnoticed"
# For one sequence alone you take two rows for three tokens. Axis 1 is the length only in a batch:
# count axes from the end.
# replace: return x + self.table.weight[: x.shape[-2]]
# by:      many, most = x.shape[1], self.table.num_embeddings
#          if many > most:
#              raise ValueError(f"{many} words for {most} rows")
#          return x + self.table(torch.arange(many))

# %% wrong LearnedPositions dropout_too of="one_row_for_each_sequence"
# Some values of your result are 0 and the others larger. There is no dropout in this module.
# replace: return x + self.table.weight[: x.shape[0], None]
# by:      return F.dropout(x + self.table.weight[:length], 0.5)

# %% wrong LearnedPositions a_projection_too of="one_row_for_each_sequence"
# The module's parameters are not those of the docstring. It has one part, `table`, an
# nn.Embedding(max_length, d_model), and no other layer.
# replace: self.table = nn.Embedding(max_length, d_model)
# by:      self.table = nn.Embedding(max_length, d_model)
#          self.mix = nn.Linear(d_model, d_model)
# replace: return x + self.table.weight[: x.shape[0], None]
# by:      return self.mix(x + self.table.weight[:length])

# %% wrong LearnedPositions copied_at_the_start of="one_row_for_each_sequence"
# You add a copy that was made when the module was built. Use self.table in forward, so that
# training and loading have an effect.
# replace: self.table = nn.Embedding(max_length, d_model)
# by:      self.table = nn.Embedding(max_length, d_model)
#          self.rows = self.table.weight.detach().clone()
# replace: return x + self.table.weight[: x.shape[0], None]
# by:      return x + self.rows[:length]

# %% wrong LearnedPositions rows_kept of="only_in_training"
# A call with more tokens gets as many rows as the call before it. Count the tokens anew in each
# call.
# replace: self.table = nn.Embedding(max_length, d_model)
# by:      self.table = nn.Embedding(max_length, d_model)
#          self.places = None
# replace: return x + self.table.weight[:n] if self.training else x + 0
# by:      if self.places is None:
#              self.places = torch.arange(n)
#          return x + self.table(self.places)

# %% wrong LearnedPositions stale_rows of="only_in_training"
# You keep a copy of the table, so later training has no effect.
# replace: self.table = nn.Embedding(max_length, d_model)
# by:      self.table = nn.Embedding(max_length, d_model)
#          self.kept = {}
# replace: return x + self.table.weight[:n] if self.training else x + 0
# by:      if n not in self.kept:
#              self.kept[n] = self.table.weight[:n].clone()
#          return x + self.kept[n]


# %% wrong LearnedPositions only_in_training
# The positions are missing in evaluation mode. They should always be added.
class LearnedPositions(nn.Module):
    def __init__(self, max_length, d_model):
        super().__init__()
        self.table = nn.Embedding(max_length, d_model)

    def forward(self, x):
        n, most = x.shape[-2], self.table.num_embeddings
        if n > most:
            raise ValueError(f"{n} > {most}")
        return x + self.table.weight[:n] if self.training else x + 0


# %% wrong LearnedPositions counting_on of="only_in_training"
# You go on counting from the last call. Each call should begin with row 0.
# replace: self.table = nn.Embedding(max_length, d_model)
# by:      self.table = nn.Embedding(max_length, d_model)
#          self.start = 0
# replace: return x + self.table.weight[:n] if self.training else x + 0
# by:      places = (self.start + torch.arange(n)) % most
#          self.start += n
#          return x + self.table(places)

# %% wrong LearnedPositions checked_in_a_batch_only of="too_long_unnoticed"
# An input that is too long ends in PyTorch's own error when it has no batch. Compare its length
# with max_length there too.
# replace: def forward(self, x: Tensor) -> Tensor:
# by:      def forward(self, x: Tensor) -> Tensor:
#              if x.dim() == 3 and x.shape[1] > self.table.num_embeddings:
#                  raise ValueError(f"{x.shape[1]} words for {self.table.num_embeddings} rows")

# %% right LearnedPositions lookup of="solution"
# replace: if length > most:
#              raise ValueError(f"the input has length {length}, the table only {most} rows")
#          return x + self.table.weight[:length]
# by:      if most < length:
#              raise ValueError(f"max_length is {most}, got {length} words")
#          places = torch.arange(length, device=x.device)
#          return self.table(places) + x


# %% right LearnedPositions remembers_its_length
class LearnedPositions(nn.Module):
    def __init__(self, max_length: int, d_model: int) -> None:
        super().__init__()
        self.max_length = max_length
        self.table = nn.Embedding(max_length, d_model)

    def forward(self, x: Tensor) -> Tensor:
        if x.size(-2) > self.max_length:
            raise ValueError(f"length {x.size(-2)} > max_length {self.max_length}")
        rows = F.embedding(torch.arange(x.size(-2)), self.table.weight)
        return torch.add(x, rows)


# %% right LearnedPositions places_as_a_buffer
class LearnedPositions(nn.Module):
    def __init__(self, max_length: int, d_model: int) -> None:
        super().__init__()
        self.table = nn.Embedding(max_length, d_model)
        self.register_buffer("places", torch.arange(max_length))

    def forward(self, x: Tensor) -> Tensor:
        length = x.shape[-2]
        places = self.get_buffer("places")
        if length > len(places):
            raise ValueError(f"{len(places)} places, {length} words")
        return x + self.table(places[:length]).expand_as(x)


# %% right LearnedPositions narrow_and_start
class LearnedPositions(nn.Module):
    def __init__(self, max_length: int, d_model: int) -> None:
        super().__init__()
        self.table = nn.Embedding(max_length, d_model)
        nn.init.normal_(self.table.weight, std=0.02)

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[-2] > self.table.num_embeddings:
            raise ValueError(
                f"cannot place {x.shape[-2]} words on {self.table.num_embeddings} rows"
            )
        return x + torch.narrow(self.table.weight, 0, 0, x.shape[-2])


# %% right LearnedPositions one_hot
class LearnedPositions(nn.Module):
    def __init__(self, max_length: int, d_model: int) -> None:
        super().__init__()
        self.most = max_length
        self.table = nn.Embedding(max_length, d_model)

    def forward(self, x: Tensor) -> Tensor:
        length = x.shape[-2]
        if length > self.most:
            raise ValueError(f"{length} is more than {self.most}")
        choose = torch.eye(self.most, dtype=x.dtype)[:length]
        return x + choose @ self.table.weight


# %% wrong relative_bias offsets_reversed
# Your offsets have the wrong sign, that of query - key. The token before has the offset -1, which
# is key - query.
def relative_bias(query_length: int, key_length: int, table: Tensor) -> Tensor:
    far = (len(table) - 1) // 2
    offsets = torch.arange(query_length)[:, None] - torch.arange(key_length)
    rows = offsets.clamp(-far, far) + far
    return table[rows].permute(2, 0, 1)


# %% wrong relative_bias index_reversed of="solution"
# Your offsets have the wrong sign, that of query - key. The token before has the offset -1, which
# is key - query.
# replace: rows = offsets.clamp(-far, far) + far  # (query, key)
# by:      rows = far - offsets.clamp(-far, far)

# %% wrong relative_bias table_reversed of="query_and_key_swapped"
# Your offsets have the wrong sign, that of query - key. The token before has the offset -1, which
# is key - query.
# replace: return table[rows].permute(2, 1, 0)
# by:      return table.flip(0)[rows].permute(2, 0, 1)

# %% wrong relative_bias distance_without_direction of="offsets_reversed"
# The token before and the token after get the same value. Keep the sign of the offset.
# replace: offsets = torch.arange(query_length)[:, None] - torch.arange(key_length)
# by:      offsets = (torch.arange(key_length) - torch.arange(query_length)[:, None]).abs()

# %% wrong relative_bias not_moved_to_the_middle of="solution"
# Offset 0 reads row 0, and negative offsets read from the end of the table. Add max_distance, so
# that -max_distance becomes row 0.
# replace: rows = offsets.clamp(-far, far) + far  # (query, key)
# by:      rows = offsets.clamp(-far, far)

# %% wrong relative_bias not_clipped_below of="solution"
# You clip only large positive offsets. Large negative ones lead to a negative row index, which
# counts from the end of the table.
# replace: rows = offsets.clamp(-far, far) + far  # (query, key)
# by:      rows = offsets.clamp(max=far) + far

# %% wrong relative_bias not_clipped of="solution"
# You read beyond the end of the table. Clip the offsets to ±max_distance, which is (number of rows
# - 1) / 2.
# replace: rows = offsets.clamp(-far, far) + far  # (query, key)
# by:      rows = offsets + far

# %% wrong relative_bias wrapped_round of="solution"
# Offsets beyond the table wrap around to its other end, so far after becomes far before. Clip them
# to ±max_distance.
# replace: rows = offsets.clamp(-far, far) + far  # (query, key)
# by:      rows = (offsets + far) % len(table)

# %% wrong relative_bias clipped_after_adding of="solution"
# All tokens after the query get the value of the query's own position. Clip the offset to
# ±max_distance, and then add max_distance.
# replace: rows = offsets.clamp(-far, far) + far  # (query, key)
# by:      rows = (offsets + far).clamp(0, far)

# %% wrong relative_bias clipped_one_too_near of="solution"
# You clip the offsets one step too early. The rows at both ends of the table are never read.
# replace: rows = offsets.clamp(-far, far) + far  # (query, key)
# by:      rows = offsets.clamp(1 - far, far - 1) + far

# %% wrong relative_bias heads_last of="query_and_key_swapped"
# Your heads are the last axis. Scores have the shape (heads, query, key).
# replace: return table[rows].permute(2, 1, 0)
# by:      return table[rows]


# %% wrong relative_bias query_and_key_swapped
# Queries and keys are swapped. A row is a query, a column is a key.
def relative_bias(query_length: int, key_length: int, table: Tensor) -> Tensor:
    far = (len(table) - 1) // 2
    offsets = torch.arange(key_length) - torch.arange(query_length)[:, None]
    rows = offsets.clamp(-far, far) + far
    return table[rows].permute(2, 1, 0)


# %% wrong relative_bias heads_in_between of="query_and_key_swapped"
# Your heads are between queries and keys. Scores have the shape (heads, query, key).
# replace: return table[rows].permute(2, 1, 0)
# by:      return table[rows].transpose(1, 2)

# %% wrong relative_bias reshaped of="query_and_key_swapped"
# You reshape (query, key, heads) into (heads, query, key), which mixes the values up. Move the
# axis with permute.
# replace: return table[rows].permute(2, 1, 0)
# by:      return table[rows].reshape(table.shape[1], query_length, key_length)

# %% wrong relative_bias heads_meaned of="query_and_key_swapped"
# You use one value for all heads. Each head has its own column of the table.
# replace: return table[rows].permute(2, 1, 0)
# by:      return table.mean(1, keepdim=True)[rows].permute(2, 0, 1).expand(table.shape[1], -1, -1)

# %% wrong relative_bias first_head_for_all of="query_and_key_swapped"
# All heads get the first column. Each head has its own.
# replace: return table[rows].permute(2, 1, 0)
# by:      return table[:, :1][rows].permute(2, 0, 1).expand(table.shape[1], -1, -1)

# %% wrong relative_bias far_gets_nothing of="query_and_key_swapped"
# Offsets beyond max_distance get 0. They should get the value at the nearest end of the table.
# replace: return table[rows].permute(2, 1, 0)
# by:      return torch.where(offsets.abs() <= far, table[rows].permute(2, 0, 1), 0.0)


# %% wrong relative_bias aligned_at_the_end
# You align the last query with the last key. Here both count from position 0.
def relative_bias(query_length: int, key_length: int, table: Tensor) -> Tensor:
    far = (len(table) - 1) // 2
    offsets = (
        torch.arange(key_length) - torch.arange(query_length)[:, None] - (key_length - query_length)
    )
    rows = offsets.clamp(-far, far) + far
    return table[rows].permute(2, 0, 1)


# %% wrong relative_bias one_off of="offsets_reversed"
# Your offsets are one too large. A token has the offset 0 to itself.
# replace: offsets = torch.arange(query_length)[:, None] - torch.arange(key_length)
# by:      offsets = torch.arange(key_length) - torch.arange(query_length)[:, None] + 1

# %% wrong relative_bias softmaxed of="query_and_key_swapped"
# You apply softmax. This is the bias alone; softmax comes after it is added to the scores.
# replace: return table[rows].permute(2, 1, 0)
# by:      return table[rows].permute(2, 0, 1).softmax(-1)


# %% wrong relative_bias max_distance_too_large
# You read beyond the end of the table. Clip the offsets to ±max_distance, which is (number of rows
# - 1) / 2.
def relative_bias(query_length: int, key_length: int, table: Tensor) -> Tensor:
    far = len(table) // 2 + 1
    offsets = torch.arange(key_length) - torch.arange(query_length)[:, None]
    rows = offsets.clamp(-far, far) + far
    return table[rows].permute(2, 0, 1)


# %% wrong relative_bias detached of="query_and_key_swapped"
# No gradient reaches the table, so it cannot be trained. Index the table itself, without detach,
# .data or a new tensor of its values.
# replace: return table[rows].permute(2, 1, 0)
# by:      return table.detach()[rows].permute(2, 0, 1)


# %% wrong relative_bias made_anew
# No gradient reaches the table, so it cannot be trained. Index the table itself, without detach,
# .data or a new tensor of its values.
def relative_bias(query_length: int, key_length: int, table: Tensor) -> Tensor:
    far = (len(table) - 1) // 2
    heads = table.shape[1]
    bias = torch.zeros(heads, query_length, key_length, dtype=table.dtype)
    for q in range(query_length):
        for k in range(key_length):
            bias[:, q, k] = torch.tensor(table[max(-far, min(far, k - q)) + far].tolist())
    return bias


# %% wrong relative_bias square of="offsets_reversed"
# Your result has as many keys as queries. The two lengths may differ.
# replace: offsets = torch.arange(query_length)[:, None] - torch.arange(key_length)
# by:      offsets = torch.arange(query_length) - torch.arange(query_length)[:, None]

# %% wrong relative_bias index_as_the_bias of="query_and_key_swapped"
# These are the row indices. Look up the values in the table.
# replace: return table[rows].permute(2, 1, 0)
# by:      return rows.to(table.dtype).expand(table.shape[1], -1, -1)

# %% wrong relative_bias transposed_rows of="query_and_key_swapped"
# Your offsets have the wrong sign, that of query - key. The token before has the offset -1, which
# is key - query.
# replace: offsets = torch.arange(key_length) - torch.arange(query_length)[:, None]
# by:      offsets = torch.arange(query_length) - torch.arange(key_length)[:, None]

# %% wrong relative_bias kept_rows
# Your rows do not fit this table of three rows. Its max_distance is 1, (number of rows - 1) / 2,
# whatever an earlier table had.
_rows = {}


def relative_bias(query_length, key_length, table):
    far = len(table) // 2
    if (query_length, key_length) not in _rows:
        o = torch.arange(key_length) - torch.arange(query_length)[:, None]
        _rows[query_length, key_length] = o.clamp(-far, far) + far
    return table[_rows[query_length, key_length]].permute(2, 0, 1)


# %% wrong relative_bias max_distance_of_two of="solution"
# Your rows do not fit this table of three rows. Its max_distance is 1, (number of rows - 1) / 2,
# whatever an earlier table had.
# replace: far = (len(table) - 1) // 2
# by:      far = 2

# %% wrong relative_bias causal_as_well of="query_and_key_swapped"
# Keys after the query get -∞. There is no mask here: each pair gets a value of the table.
# replace: return table[rows].permute(2, 1, 0)
# by:      return table[rows].permute(2, 0, 1).masked_fill(offsets > 0, -math.inf)

# %% wrong relative_bias mean_removed of="query_and_key_swapped"
# Each row of your result has the mean 0. Return the values of the table as they are.
# replace: return table[rows].permute(2, 1, 0)
# by:      bias = table[rows].permute(2, 0, 1)
#          return bias - bias.mean(-1, keepdim=True)

# %% wrong relative_bias last_row_never_read of="solution"
# You never read the last row of the table. Rows run from 0 to 2 · max_distance.
# replace: rows = offsets.clamp(-far, far) + far  # (query, key)
# by:      rows = (offsets + far).clamp(0, 2 * far - 1)

# %% wrong relative_bias one_query_is_the_last of="solution"
# You take a single query for the last token. Here queries and keys both count from position 0.
# replace: offsets = torch.arange(key_length) - torch.arange(query_length)[:, None]
# by:      first = key_length - 1 if query_length == 1 else 0
#          offsets = torch.arange(key_length) - first - torch.arange(query_length)[:, None]

# %% wrong relative_bias squeezed of="query_and_key_swapped"
# An axis of length 1 is gone. Keep it: the shape is always (heads, query, key).
# replace: return table[rows].permute(2, 1, 0)
# by:      return table[rows].permute(2, 0, 1).squeeze()


# %% right relative_bias flat_lookup
def relative_bias(query_length: int, key_length: int, table: Tensor) -> Tensor:
    most = table.shape[0] // 2
    places = torch.arange(key_length)[None, :] - torch.arange(query_length)[:, None]
    index = (places + most).clamp(0, 2 * most)
    return table.T[:, index.flatten()].reshape(-1, query_length, key_length)


# %% right relative_bias embedding
def relative_bias(query_length: int, key_length: int, table: Tensor) -> Tensor:
    most = (table.shape[0] - 1) // 2
    steps = torch.arange(key_length).unsqueeze(0) - torch.arange(query_length).unsqueeze(1)
    steps = torch.minimum(torch.maximum(steps, torch.tensor(-most)), torch.tensor(most))
    return F.embedding(steps + most, table).movedim(-1, 0)


# %% right relative_bias loops
def relative_bias(query_length: int, key_length: int, table: Tensor) -> Tensor:
    most = (len(table) - 1) // 2
    rows = [
        torch.stack([table[max(-most, min(most, k - q)) + most] for k in range(key_length)])
        for q in range(query_length)
    ]
    return torch.stack(rows).permute(2, 0, 1)


# %% right relative_bias one_hot
def relative_bias(query_length: int, key_length: int, table: Tensor) -> Tensor:
    most = (len(table) - 1) // 2
    places = (torch.arange(key_length) - torch.arange(query_length)[:, None]).clip(
        -most, most
    ) + most
    choose = F.one_hot(places, len(table)).to(table.dtype)
    return torch.einsum("qkr,rh->hqk", choose, table)


# %% right relative_bias sliding_window
def relative_bias(query_length: int, key_length: int, table: Tensor) -> Tensor:
    most = (len(table) - 1) // 2
    line = torch.arange(1 - query_length, key_length).clamp(-most, most) + most
    strip = table[line].T  # (heads, query + key - 1)
    return strip.unfold(1, key_length, 1).flip(1)


# %% base rotary_embedding pairs_stacked
def rotary_embedding(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    if x.shape[-1] % 2:
        raise ValueError(f"an odd number of features: {x.shape[-1]}")
    speeds = base ** (-torch.arange(0, x.shape[-1], 2, dtype=x.dtype) / x.shape[-1])
    angles = positions[:, None] * speeds
    first, second = x[..., 0::2], x[..., 1::2]
    pair = (
        first * angles.cos() - second * angles.sin(),
        first * angles.sin() + second * angles.cos(),
    )
    return torch.stack(pair, -1).flatten(-2)


# %% wrong rotary_embedding half_split of="pairs_stacked"
# Your pairs are feature i and feature i + d/2, as in some libraries. Here neighbours form a pair,
# 2i and 2i + 1.
# replace: first, second = x[..., 0::2], x[..., 1::2]
# by:      first, second = x.chunk(2, -1)
# replace: return torch.stack(pair, -1).flatten(-2)
# by:      return torch.cat(pair, -1)


# %% wrong rotary_embedding rotate_half
# Your pairs are feature i and feature i + d/2, as in some libraries. Here neighbours form a pair,
# 2i and 2i + 1.
def rotary_embedding(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    if x.shape[-1] % 2:
        raise ValueError(f"an odd number of features: {x.shape[-1]}")
    speeds = base ** (-torch.arange(0, x.shape[-1], 2, dtype=x.dtype) / x.shape[-1])
    angles = (positions[:, None] * speeds).repeat(1, 2)
    first, second = x.chunk(2, -1)
    return x * angles.cos() + torch.cat([-second, first], -1) * angles.sin()


# %% wrong rotary_embedding put_together_in_halves of="pairs_stacked"
# You rotate the right pairs, but return the new features in two halves. Features 2i and 2i + 1
# should be interleaved again.
# replace: return torch.stack(pair, -1).flatten(-2)
# by:      return torch.cat(pair, -1)

# %% wrong rotary_embedding positions_ignored of="pairs_stacked"
# You count the rows yourself, 0, 1, 2, … The position of each row is given by `positions`.
# replace: angles = positions[:, None] * speeds
# by:      angles = torch.arange(x.shape[-2])[:, None] * speeds

# %% wrong rotary_embedding turned_backwards of="pairs_stacked"
# You rotate in the wrong direction. At position 1, [1, 0] should become [cos 1, sin 1]: the minus
# belongs to the first feature.
# replace: first * angles.cos() - second * angles.sin(),
#          first * angles.sin() + second * angles.cos(),
# by:      first * angles.cos() + second * angles.sin(),
#          second * angles.cos() - first * angles.sin(),

# %% wrong rotary_embedding positions_negated of="pairs_stacked"
# You rotate in the wrong direction. At position 1, [1, 0] should become [cos 1, sin 1]: the minus
# belongs to the first feature.
# replace: angles = positions[:, None] * speeds
# by:      angles = -positions[:, None] * speeds

# %% wrong rotary_embedding no_minus of="pairs_stacked"
# Both features are sums. The first should be a difference, even · cos - odd · sin; otherwise the
# lengths change.
# replace: first * angles.cos() - second * angles.sin(),
# by:      first * angles.cos() + second * angles.sin(),

# %% wrong rotary_embedding second_from_the_new_first of="pairs_stacked"
# Your second feature is computed from the new first one. Both new features are computed from both
# old ones.
# replace: pair = (
#              first * angles.cos() - second * angles.sin(),
#              first * angles.sin() + second * angles.cos(),
#          )
# by:      first = first * angles.cos() - second * angles.sin()
#          pair = first, first * angles.sin() + second * angles.cos()

# %% wrong rotary_embedding sine_and_cosine_swapped of="pairs_stacked"
# Sine and cosine are swapped. Nothing should rotate at position 0, where cos 0 = 1 keeps each
# feature.
# replace: first * angles.cos() - second * angles.sin(),
#          first * angles.sin() + second * angles.cos(),
# by:      first * angles.sin() - second * angles.cos(),
#          first * angles.cos() + second * angles.sin(),

# %% wrong rotary_embedding first_features_only of="pairs_stacked"
# Only the first feature of each pair changes. The second should become even · sin + odd · cos.
# replace: pair = (
#              first * angles.cos() - second * angles.sin(),
#              first * angles.sin() + second * angles.cos(),
#          )
# by:      pair = first * angles.cos() - second * angles.sin(), second

# %% wrong rotary_embedding scaled_only of="pairs_stacked"
# Each feature is only multiplied by a cosine or a sine. A rotation mixes the two features of a
# pair.
# replace: pair = (
#              first * angles.cos() - second * angles.sin(),
#              first * angles.sin() + second * angles.cos(),
#          )
# by:      pair = first * angles.cos(), second * angles.sin()

# %% wrong rotary_embedding added_as_an_encoding of="pairs_stacked"
# You add sines and cosines to x. RoPE rotates x and adds nothing.
# replace: pair = (
#              first * angles.cos() - second * angles.sin(),
#              first * angles.sin() + second * angles.cos(),
#          )
# by:      pair = first + angles.sin(), second + angles.cos()

# %% wrong rotary_embedding base_ignored of="pairs_stacked"
# Your frequencies are those of base 10000, whatever the caller gives. Use the argument `base`.
# replace: speeds = base ** (-torch.arange(0, x.shape[-1], 2, dtype=x.dtype) / x.shape[-1])
# by:      speeds = 10000.0 ** (-torch.arange(0, x.shape[-1], 2, dtype=x.dtype) / x.shape[-1])

# %% wrong rotary_embedding half_the_exponent of="pairs_stacked"
# Your second frequency is the square root of what it should be. Pair i has base^(-2i / d).
# replace: speeds = base ** (-torch.arange(0, x.shape[-1], 2, dtype=x.dtype) / x.shape[-1])
# by:      speeds = base ** (-torch.arange(x.shape[-1] // 2, dtype=x.dtype) / x.shape[-1])

# %% wrong rotary_embedding twice_the_exponent of="pairs_stacked"
# Your second frequency is 1 / base here, which is too low. Pair i has base^(-2i / d); an arange in
# steps of 2 already holds 2i.
# replace: speeds = base ** (-torch.arange(0, x.shape[-1], 2, dtype=x.dtype) / x.shape[-1])
# by:      speeds = base ** (-2 * torch.arange(0, x.shape[-1], 2, dtype=x.dtype) / x.shape[-1])

# %% wrong rotary_embedding faster_pairs of="pairs_stacked"
# Your angles rise from pair to pair. They should fall: the position times base^(-2i / d).
# replace: speeds = base ** (-torch.arange(0, x.shape[-1], 2, dtype=x.dtype) / x.shape[-1])
# by:      speeds = base ** (torch.arange(0, x.shape[-1], 2, dtype=x.dtype) / x.shape[-1])

# %% wrong rotary_embedding one_speed_for_all of="pairs_stacked"
# All pairs have the same frequency. Pair i has base^(-2i / d).
# replace: speeds = base ** (-torch.arange(0, x.shape[-1], 2, dtype=x.dtype) / x.shape[-1])
# by:      speeds = torch.ones(x.shape[-1] // 2, dtype=x.dtype)

# %% wrong rotary_embedding linear_speeds of="pairs_stacked"
# Your second frequency is half of the first. Frequencies are powers of the base: base^(-2i / d).
# replace: speeds = base ** (-torch.arange(0, x.shape[-1], 2, dtype=x.dtype) / x.shape[-1])
# by:      speeds = 1 - torch.arange(0, x.shape[-1], 2, dtype=x.dtype) / x.shape[-1]


# %% wrong rotary_embedding a_speed_for_each_feature
# Each feature has its own frequency. The two features of a pair rotate together, by one angle.
def rotary_embedding(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    if x.shape[-1] % 2:
        raise ValueError(f"an odd number of features: {x.shape[-1]}")
    speeds = base ** (-torch.arange(x.shape[-1], dtype=x.dtype) / x.shape[-1])
    angles = positions[:, None] * speeds
    other = torch.stack([-x[..., 1::2], x[..., 0::2]], -1).flatten(-2)
    return x * angles.cos() + other * angles.sin()


# %% wrong rotary_embedding positions_from_one of="pairs_stacked"
# You count positions from 1. Position 0 should not rotate at all.
# replace: angles = positions[:, None] * speeds
# by:      angles = (positions[:, None] + 1) * speeds

# %% wrong rotary_embedding positions_squared of="pairs_stacked"
# Your angles grow with the square of the position, so moving a text changes its scores. The angle
# is the position times the frequency.
# replace: angles = positions[:, None] * speeds
# by:      angles = positions[:, None] ** 2 * speeds

# %% wrong rotary_embedding relative_to_the_first of="pairs_stacked"
# You count positions from the first row. Use the absolute positions that are given.
# replace: angles = positions[:, None] * speeds
# by:      angles = (positions - positions[0])[:, None] * speeds

# %% wrong rotary_embedding positions_sorted of="pairs_stacked"
# You sort the positions. Each belongs to its own row of x.
# replace: angles = positions[:, None] * speeds
# by:      angles = positions.sort().values[:, None] * speeds

# %% wrong rotary_embedding float32_speeds of="pairs_stacked"
# Your angles have only the accuracy of float32. Compute frequencies and angles in the dtype of x.
# replace: speeds = base ** (-torch.arange(0, x.shape[-1], 2, dtype=x.dtype) / x.shape[-1])
#          angles = positions[:, None] * speeds
# by:      speeds = base ** (-torch.arange(0, x.shape[-1], 2) / x.shape[-1])
#          angles = (positions[:, None] * speeds).to(x.dtype)

# %% wrong rotary_embedding float32_out of="pairs_stacked"
# Your result is float32 whatever x is. Keep the dtype of x.
# replace: speeds = base ** (-torch.arange(0, x.shape[-1], 2, dtype=x.dtype) / x.shape[-1])
# by:      speeds = base ** (-torch.arange(0, x.shape[-1], 2) / x.shape[-1])
# replace: first, second = x[..., 0::2], x[..., 1::2]
# by:      first, second = x.float()[..., 0::2], x.float()[..., 1::2]

# %% wrong rotary_embedding float64_out of="pairs_stacked"
# Your result is float64 whatever x is. Keep the dtype of x.
# replace: speeds = base ** (-torch.arange(0, x.shape[-1], 2, dtype=x.dtype) / x.shape[-1])
# by:      speeds = base ** (-torch.arange(0, x.shape[-1], 2, dtype=torch.float64) / x.shape[-1])


# %% wrong rotary_embedding in_place
# You modify the caller's x. Make a new tensor.
def rotary_embedding(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    if x.shape[-1] % 2:
        raise ValueError(f"an odd number of features: {x.shape[-1]}")
    speeds = base ** (-torch.arange(0, x.shape[-1], 2, dtype=x.dtype) / x.shape[-1])
    angles = positions[:, None] * speeds
    first, second = x[..., 0::2].clone(), x[..., 1::2].clone()
    x[..., 0::2] = first * angles.cos() - second * angles.sin()
    x[..., 1::2] = first * angles.sin() + second * angles.cos()
    return x


# %% wrong rotary_embedding along_the_batch of="pairs_stacked"
# Your angles run along the first axis, the batch. Positions belong to the length, the second axis
# from the end.
# replace: angles = positions[:, None] * speeds
# by:      angles = positions.repeat(x.shape[0])[: x.shape[0], None] * speeds
#          if x.dim() > 2:
#              angles = angles.reshape(x.shape[0], *[1] * (x.dim() - 2), -1)

# %% wrong rotary_embedding degrees of="pairs_stacked"
# You treat the angles as degrees. They are in radians already.
# replace: angles = positions[:, None] * speeds
# by:      angles = torch.deg2rad(positions[:, None] * speeds)

# %% wrong rotary_embedding turns_for_radians of="pairs_stacked"
# Your angles are 2π times too large. Position times frequency is already in radians.
# replace: angles = positions[:, None] * speeds
# by:      angles = 2 * math.pi * positions[:, None] * speeds

# %% wrong rotary_embedding no_batch_allowed of="pairs_stacked"
# Your function accepts two axes only. There may be a batch and heads in front: count axes from the
# end.
# replace: first, second = x[..., 0::2], x[..., 1::2]
# by:      first, second = x[:, 0::2], x[:, 1::2]
# replace: return torch.stack(pair, -1).flatten(-2)
# by:      return torch.stack(pair, -1).flatten(1)

# %% wrong rotary_embedding scaled of="pairs_stacked"
# The lengths of your rows change, but a rotation keeps them. Do not divide by a square root here.
# replace: return torch.stack(pair, -1).flatten(-2)
# by:      return torch.stack(pair, -1).flatten(-2) / x.shape[-1] ** 0.5

# %% wrong rotary_embedding detached of="pairs_stacked"
# No gradient flows back to x. Compute with x itself, without detach or .data.
# replace: first, second = x[..., 0::2], x[..., 1::2]
# by:      first, second = x.detach()[..., 0::2], x.detach()[..., 1::2]

# %% wrong rotary_embedding odd_width_in_silence of="pairs_stacked"
# An odd width ends in PyTorch's own error about shapes. Check the width first, and raise a
# ValueError that names it.
# replace: if x.shape[-1] % 2:
#              raise ValueError(f"an odd number of features: {x.shape[-1]}")
# by:

# %% wrong rotary_embedding odd_width_asserted of="pairs_stacked"
# An odd width ends in an AssertionError. Raise a ValueError.
# replace: if x.shape[-1] % 2:
#              raise ValueError(f"an odd number of features: {x.shape[-1]}")
# by:      assert x.shape[-1] % 2 == 0, f"odd: {x.shape[-1]}"

# %% wrong rotary_embedding odd_width_left_over of="pairs_stacked"
# The last feature of an odd width is left unchanged, without an error. Raise a ValueError that
# names the width.
# replace: raise ValueError(f"an odd number of features: {x.shape[-1]}")
# by:      return torch.cat([rotary_embedding(x[..., :-1], positions, base), x[..., -1:]], -1)

# %% wrong rotary_embedding odd_width_without_its_number of="pairs_stacked"
# Your error does not name the width. Put it into the message.
# replace: raise ValueError(f"an odd number of features: {x.shape[-1]}")
# by:      raise ValueError("the width must be even")

# %% wrong rotary_embedding odd_length_refused of="pairs_stacked"
# You refuse odd lengths. It is the width, the last axis, that must be even.
# replace: if x.shape[-1] % 2:
#              raise ValueError(f"an odd number of features: {x.shape[-1]}")
# by:      if x.shape[-2] % 2:
#              raise ValueError(f"odd: {x.shape[-2]}")


# %% wrong rotary_embedding overflow
# base to the power of 2i overflows float32. Divide the exponent by d first.
def rotary_embedding(x, positions, base=10000.0):
    d = x.shape[-1]
    if d % 2:
        raise ValueError(f"odd {d}")
    a = positions[:, None] / (base ** torch.arange(0, d, 2, dtype=x.dtype)) ** (1 / d)
    e, o = x[..., ::2], x[..., 1::2]
    return torch.stack([e * a.cos() - o * a.sin(), e * a.sin() + o * a.cos()], -1).flatten(-2)


# %% wrong rotary_embedding heads_before_length of="overflow"
# With as many heads as tokens, your angles do not go along the length. It is always the second axis
# from the end.
# replace: a = positions[:, None] / (base ** torch.arange(0, d, 2, dtype=x.dtype)) ** (1 / d)
# by:      a = positions[:, None] * base ** (-torch.arange(0, d, 2, dtype=x.dtype) / d)
#          where = [i for i, n in enumerate(x.shape[:-1]) if n == len(positions)]
#          a = (
#              a.reshape([-1 if i == where[0] else 1 for i in range(x.dim() - 1)] + [d // 2])
#              if len(positions) > 1 and x.dim() == 4
#              else a
#          )


# %% wrong rotary_embedding exponent_down_to_minus_one of="pairs_stacked"
# Your second frequency is 1 / base here, which is too low. Pair i has base^(-2i / d); an arange in
# steps of 2 already holds 2i.
# replace: speeds = base ** (-torch.arange(0, x.shape[-1], 2, dtype=x.dtype) / x.shape[-1])
# by:      speeds = base ** -torch.linspace(0, 1, x.shape[-1] // 2, dtype=x.dtype)

# %% wrong rotary_embedding layouts_mixed of="rotate_half"
# The angles are made for neighbours, but you rotate feature i with feature i + d/2. Here neighbours
# form a pair, 2i and 2i + 1.
# replace: angles = (positions[:, None] * speeds).repeat(1, 2)
# by:      angles = (positions[:, None] * speeds).repeat_interleave(2, -1)


# %% wrong rotary_embedding complex64
# Your result has only the accuracy of float32, although x is float64. Neither x nor its angles may
# pass through float32 or complex64.
def rotary_embedding(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    if x.shape[-1] % 2:
        raise ValueError(f"an odd number of features: {x.shape[-1]}")
    speeds = base ** (-torch.arange(0, x.shape[-1], 2, dtype=torch.float64) / x.shape[-1])
    angles = positions[:, None] * speeds
    turns = torch.polar(torch.ones_like(angles), angles).to(torch.complex64)
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turns).flatten(-2).type_as(x)


# %% wrong rotary_embedding angles_along_the_heads of="pairs_stacked"
# Your angles go along axis 1, the heads. Positions belong to the length, the second axis from the
# end.
# replace: angles = positions[:, None] * speeds
# by:      angles = positions[:, None] * speeds
#          if x.dim() == 4:
#              angles = angles[:, None]

# %% wrong rotary_embedding table_of_512_positions of="pairs_stacked"
# Your angles end at position 511. A position may be any integer.
# replace: angles = positions[:, None] * speeds
# by:      angles = torch.outer(torch.arange(512, dtype=x.dtype), speeds)[positions]


# %% right rotary_embedding complex_numbers
def rotary_embedding(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    width = x.shape[-1]
    if width % 2 == 1:
        raise ValueError(f"width {width} is odd")
    angles = positions.to(x.dtype)[:, None] / base ** (
        torch.arange(0, width, 2, dtype=x.dtype) / width
    )
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2).contiguous())
    turned = pairs * torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(turned).reshape(x.shape)


# %% right rotary_embedding matrices_of_two_by_two
def rotary_embedding(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    width = x.shape[-1]
    if width % 2 != 0:
        raise ValueError(f"cannot pair {width} features")
    angles = torch.outer(
        positions.to(x.dtype), base ** (-torch.arange(0, width, 2).to(x.dtype) / width)
    )
    cosines, sines = angles.cos(), angles.sin()
    turn = torch.stack([torch.stack([cosines, -sines], -1), torch.stack([sines, cosines], -1)], -2)
    pairs = x.unflatten(-1, (width // 2, 2))
    return torch.einsum("lpij,...lpj->...lpi", turn, pairs).flatten(-2)


# %% right rotary_embedding repeated_angles
def rotary_embedding(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    width = x.shape[-1]
    if width % 2:
        raise ValueError(f"even widths only, not {width}")
    exponents = torch.arange(width // 2, dtype=torch.float64) * 2 / width
    angles = (positions[:, None].double() * base**-exponents).repeat_interleave(2, -1)
    other = torch.stack([-x[..., 1::2], x[..., 0::2]], dim=-1).reshape(x.shape)
    return x * angles.cos().to(x.dtype) + other * angles.sin().to(x.dtype)


# %% right rotary_embedding loop_over_pairs
def rotary_embedding(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    width = x.shape[-1]
    if width % 2:
        raise ValueError(f"the number of features is {width}, which is odd")
    columns = []
    for i in range(0, width, 2):
        angle = positions.to(x.dtype) * base ** (-i / width)
        columns.append(x[..., i] * torch.cos(angle) - x[..., i + 1] * torch.sin(angle))
        columns.append(x[..., i] * torch.sin(angle) + x[..., i + 1] * torch.cos(angle))
    return torch.stack(columns, dim=-1)


# %% right rotary_embedding filled_result
def rotary_embedding(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    if x.shape[-1] % 2:
        raise ValueError(f"d = {x.shape[-1]} is odd")
    rates = torch.exp(
        -math.log(base) * torch.arange(0, x.shape[-1], 2, dtype=x.dtype) / x.shape[-1]
    )
    angles = positions.unsqueeze(-1) * rates
    result = torch.empty_like(x)
    result[..., ::2] = x[..., ::2] * angles.cos() - x[..., 1::2] * angles.sin()
    result[..., 1::2] = x[..., ::2] * angles.sin() + x[..., 1::2] * angles.cos()
    return result


# %% right rotary_embedding one_matrix_for_each_row
def rotary_embedding(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    width = x.shape[-1]
    if width % 2:
        raise ValueError(f"got {width} features, need pairs")
    rows = []
    for row, place in enumerate(positions.tolist()):
        blocks = []
        for i in range(0, width, 2):
            b = place * base ** (-i / width)
            block = [[math.cos(b), math.sin(b)], [-math.sin(b), math.cos(b)]]
            blocks.append(torch.tensor(block, dtype=x.dtype))
        rows.append(x[..., row, :] @ torch.block_diag(*blocks))
    return torch.stack(rows, -2)


# %% wrong test_of_rotation always_true
# Your test accepts every version that is wrong: it does not test, or does not demand, each of the
# four properties.
def test_of_rotation(rotate: Callable[[Tensor, Tensor], Tensor]) -> bool:
    return True


# %% wrong test_of_rotation shape_only
# Your test accepts every version that is wrong: it does not test, or does not demand, each of the
# four properties.
def test_of_rotation(rotate: Callable[[Tensor, Tensor], Tensor]) -> bool:
    x = numbers(4, 6)
    return rotate(x, torch.arange(4)).shape == x.shape


# %% wrong test_of_rotation always_false
# Your test rejects every version, the right ones too. Look for a comparison without room for
# rounding (far positions in float32 need much), or one that can never be true.
def test_of_rotation(rotate: Callable[[Tensor, Tensor], Tensor]) -> bool:
    return False


# %% wrong test_of_rotation no_room_for_rounding of="solution"
# Your test rejects every version, the right ones too. Look for a comparison without room for
# rounding (far positions in float32 need much), or one that can never be true.
# replace: same_products = torch.allclose(shifted @ shifted.T, turned @ turned.T)
# by:      same_products = torch.equal(shifted @ shifted.T, turned @ turned.T)

# %% wrong test_of_rotation reversed_answer of="solution"
# Your test says True for wrong versions and False for right ones. Reverse it.
# replace: return same_lengths and same_products and other_products and own_positions
# by:      return not (same_lengths and same_products and other_products and own_positions)


# %% wrong test_of_rotation compared_with_mine
# Your test rejects right versions with other pairs or other frequencies. Test the four properties,
# instead of comparing with one layout.
def test_of_rotation(rotate: Callable[[Tensor, Tensor], Tensor]) -> bool:
    x, at = numbers(4, 6), torch.tensor([3, 11, 0, 6])
    return torch.allclose(rotate(x, at), rotary_embedding(x, at))


# %% wrong test_of_rotation scores_compared_with_mine
# Your test rejects right versions with other pairs or other frequencies. Test the four properties,
# instead of comparing with one layout.
def test_of_rotation(rotate: Callable[[Tensor, Tensor], Tensor]) -> bool:
    x, at = numbers(4, 6), torch.tensor([3, 11, 0, 6])
    turned, expected = rotate(x, at), rotary_embedding(x, at)
    return torch.allclose(turned @ turned.T, expected @ expected.T)


# %% wrong test_of_rotation every_feature_must_change
# Your test rejects a version that rotates only the first pair. That is allowed: only some dot
# products have to change.
def test_of_rotation(rotate: Callable[[Tensor, Tensor], Tensor]) -> bool:
    x, at = numbers(4, 6), torch.tensor([3, 11, 5, 6])
    turned, moved = rotate(x, at), rotate(x, at + 7)
    same_lengths = torch.allclose(turned.norm(dim=-1), x.norm(dim=-1))
    same_products = torch.allclose(moved @ moved.T, turned @ turned.T)
    own_positions = torch.allclose(rotate(x[1:], at[1:]), turned[1:])
    changed = bool(((turned - x).abs() > 1e-9).all())
    return same_lengths and same_products and own_positions and changed


# %% wrong test_of_rotation lengths_only of="solution"
# Your test accepts every version that keeps the lengths. Test the other three properties too.
# replace: return same_lengths and same_products and other_products and own_positions
# by:      return same_lengths

# %% wrong test_of_rotation lengths_left_out of="solution"
# Your test accepts rows that all become twice as long. Compare the length of each row before and
# after.
# replace: return same_lengths and same_products and other_products and own_positions
# by:      return same_products and other_products and own_positions

# %% wrong test_of_rotation never_moved of="solution"
# Your test accepts an angle that grows with the square of the position. Move all positions by the
# same number of steps, and compare all dot products.
# replace: return same_lengths and same_products and other_products and own_positions
# by:      return same_lengths and other_products and own_positions

# %% wrong test_of_rotation moved_by_nothing of="solution"
# Your test accepts an angle that grows with the square of the position. Move all positions by the
# same number of steps, and compare all dot products.
# replace: rotate(x, at + 7)
# by:      rotate(x, at + 0)

# %% wrong test_of_rotation offsets_left_out of="solution"
# Your test accepts a version that rotates nothing. Change the offsets, and ask that some dot
# products change.
# replace: return same_lengths and same_products and other_products and own_positions
# by:      return same_lengths and same_products and own_positions

# %% wrong test_of_rotation own_positions_left_out of="solution"
# Your test accepts rows that count from the first row's position. Leave out the first row: the
# other rows should not change.
# replace: return same_lengths and same_products and other_products and own_positions
# by:      return same_lengths and same_products and other_products

# %% wrong test_of_rotation last_row_left_out of="solution"
# Your test accepts rows that count from the first row's position. Leave out the first row: the
# other rows should not change.
# replace: own_positions = torch.allclose(rotate(x[1:], at[1:]), turned[1:])
# by:      own_positions = torch.allclose(rotate(x[:-1], at[:-1]), turned[:-1])

# %% wrong test_of_rotation one_is_enough of="solution"
# Your test accepts every version that is wrong: it does not test, or does not demand, each of the
# four properties.
# replace: return same_lengths and same_products and other_products and own_positions
# by:      return same_lengths or same_products or other_products or own_positions

# %% wrong test_of_rotation width_two of="solution"
# Your test accepts pairs of one layout with the angles of the other. With width 2 all layouts are
# the same: take 4 or more.
# replace: x, at = numbers(4, 6), torch.tensor([0, 11, 3, 6])
# by:      x, at = numbers(4, 2), torch.tensor([0, 11, 3, 6])

# %% wrong test_of_rotation all_at_position_zero of="solution"
# Your test rejects every version, the right ones too. Look for a comparison without room for
# rounding (far positions in float32 need much), or one that can never be true.
# replace: x, at = numbers(4, 6), torch.tensor([0, 11, 3, 6])
# by:      x, at = numbers(4, 6), torch.zeros(4)

# %% wrong test_of_rotation other_products_reversed of="solution"
# Your test demands that other offsets change no dot product. In a rotation some should change.
# replace: other_products = not torch.allclose(apart @ apart.T, turned @ turned.T)
# by:      other_products = torch.allclose(apart @ apart.T, turned @ turned.T)


# %% wrong test_of_rotation asserts of="solution"
# Your test raises an error for a version that is wrong. It should return False there.
# replace: return same_lengths and same_products and other_products and own_positions
# by:      assert same_lengths
#          assert same_products
#          assert other_products
#          assert own_positions
#          return True

# %% wrong test_of_rotation first_feature_alone of="solution"
# Your test accepts a version in which a minus sign is missing. It changes the lengths of rows
# without zeros: take such rows.
# replace: x, at = numbers(4, 6), torch.tensor([0, 11, 3, 6])
# by:      x, at = torch.eye(6)[:1].double().expand(4, 6), torch.tensor([0, 11, 3, 6])

# %% wrong test_of_rotation float32_far_away of="solution"
# Your test rejects every version, the right ones too. Look for a comparison without room for
# rounding (far positions in float32 need much), or one that can never be true.
# replace: x, at = numbers(4, 6), torch.tensor([0, 11, 3, 6])
# by:      x, at = numbers(4, 6, dtype=torch.float32), torch.tensor([0, 11, 3, 6])
# replace: rotate(x, at + 7)
# by:      rotate(x, at + 10_000)

# %% wrong test_of_rotation reordered of="solution"
# Your test accepts rows that count from the smallest position. Leave out the row that has it: the
# other rows should not change.
# replace: own_positions = torch.allclose(rotate(x[1:], at[1:]), turned[1:])
# by:      own_positions = torch.allclose(rotate(x.flip(0), at.flip(0)), turned.flip(0))

# %% wrong test_of_rotation smallest_position_kept of="solution"
# Your test accepts rows that count from the smallest position. Leave out the row that has it: the
# other rows should not change.
# replace: torch.tensor([0, 11, 3, 6])
# by:      torch.tensor([3, 11, 0, 6])

# %% wrong test_of_rotation position_zero_must_stay of="solution"
# Your test rejects positions that count from 5. The offsets are the same: none of the four
# properties is about position 0.
# replace: return same_lengths and same_products and other_products and own_positions
# by:      start = torch.allclose(turned[0], x[0])
#          return start and same_lengths and same_products and other_products and own_positions

# %% wrong test_of_rotation any_change_is_enough of="solution"
# Your test accepts one and the same rotation at all positions. Ask that dot products change when
# the offsets change.
# replace: other_products = not torch.allclose(apart @ apart.T, turned @ turned.T)
# by:      other_products = not torch.allclose(turned, x)


# %% right test_of_rotation row_by_row
def test_of_rotation(rotate: Callable[[Tensor, Tensor], Tensor]) -> bool:
    query, key = numbers(1, 8), numbers(1, 8, seed=1)

    def score(m: int, n: int) -> float:
        turned = rotate(query, torch.tensor([m])), rotate(key, torch.tensor([n]))
        return (turned[0] * turned[1]).sum().item()

    kept = abs(rotate(query, torch.tensor([9])).norm().item() - query.norm().item()) < 1e-9
    alike = all(abs(score(m, m + 3) - score(0, 3)) < 1e-9 for m in (1, 4, 25))
    used = abs(score(2, 3) - score(2, 6)) > 1e-6
    both = rotate(torch.cat([query, key]), torch.tensor([4, 9]))
    own = torch.allclose(both[1:], rotate(key, torch.tensor([9])))
    return kept and alike and used and own


# %% right test_of_rotation constant_diagonals
def test_of_rotation(rotate: Callable[[Tensor, Tensor], Tensor]) -> bool:
    same = numbers(1, 4).expand(6, 4)  # one vector at all positions
    turned = rotate(same, torch.arange(6) + 2)
    scores = turned @ turned.mT
    if not torch.allclose(scores.diagonal(), same.square().sum(-1)):
        return False
    if not torch.allclose(scores[1:, 1:], scores[:-1, :-1]):
        return False
    if torch.allclose(scores[0], scores[0, :1]):
        return False
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    alone = rotate(same[:1], torch.tensor([5]))
    return torch.allclose(rotate(same, order + 2), turned[order]) and torch.allclose(
        alone, turned[3]
    )


# %% right test_of_rotation float32_with_room
def test_of_rotation(rotate: Callable[[Tensor, Tensor], Tensor]) -> bool:
    torch.manual_seed(0)
    for width in (4, 6, 10):
        x, at = torch.randn(5, width), torch.tensor([8, 0, 2, 5, 13])
        first, later, doubled = (rotate(x, p) for p in (at, at + 5, 2 * at))
        products = [t @ t.T for t in (first, later, doubled)]
        good = (first.square().sum(1) - x.square().sum(1)).abs().max() < 1e-3
        good &= (products[0] - products[1]).abs().max() < 1e-3
        good &= (products[0] - products[2]).abs().max() > 1e-3
        good &= (rotate(x[2:], at[2:]) - first[2:]).abs().max() < 1e-3
        if not good:
            return False
    return True


# %% right test_of_rotation linear_map_of_each_row
def test_of_rotation(rotate: Callable[[Tensor, Tensor], Tensor]) -> bool:
    def matrix(p: int) -> Tensor:
        """Return what a rotation at position p does to each unit vector: one row each."""
        return rotate(torch.eye(6).double(), torch.full((6,), p))

    unit = torch.eye(6).double()
    orthogonal = all(torch.allclose(matrix(p) @ matrix(p).T, unit) for p in (0, 1, 7))
    steps = [matrix(p) @ matrix(p + 2).T for p in (0, 3, 10)]
    alike = all(torch.allclose(step, steps[0]) for step in steps)
    used = not torch.allclose(steps[0], matrix(0) @ matrix(5).T)
    at = torch.tensor([5, 2, 9, 0, 1, 4])
    mixed = torch.stack([matrix(int(p))[row] for row, p in enumerate(at)])
    return orthogonal and alike and used and torch.allclose(rotate(unit, at), mixed)


# %% wrong rotary_attention value_turned_too of="solution"
# You rotate the values too. They carry content and should not be rotated.
# replace: key = rotary_embedding(key, positions, base)
# by:      key = rotary_embedding(key, positions, base)
#          value = rotary_embedding(value, positions, base)

# %% wrong rotary_attention output_turned of="solution"
# You rotate the output. Only queries and keys are rotated, before the scores.
# replace: F.scaled_dot_product_attention(query, key, value)
# by:      rotary_embedding(F.scaled_dot_product_attention(query, key, value), positions, base)


# %% wrong rotary_attention nothing_turned
# Your result is attention without rotation. Queries and keys should be rotated, each row by its own
# position.
def rotary_attention(
    query: Tensor, key: Tensor, value: Tensor, positions: Tensor, base: float = 10000.0
) -> Tensor:
    return F.scaled_dot_product_attention(query, key, value)


# %% wrong rotary_attention results_forgotten of="solution"
# Your result is attention without rotation. Queries and keys should be rotated, each row by its own
# position.
# replace: query = rotary_embedding(query, positions, base)
#          key = rotary_embedding(key, positions, base)
# by:      rotary_embedding(query, positions, base)
#          rotary_embedding(key, positions, base)

# %% wrong rotary_attention query_only of="solution"
# Only the queries are rotated. Rotate the keys by their positions too, so that the score depends
# on the offset.
# replace: key = rotary_embedding(key, positions, base)
# by:

# %% wrong rotary_attention key_only of="solution"
# Only the keys are rotated. Rotate the queries by their positions too, so that the score depends
# on the offset.
# replace: query = rotary_embedding(query, positions, base)
# by:

# %% wrong rotary_attention value_in_place_of_key of="solution"
# You rotate the values instead of the keys. The scores are computed from queries and keys.
# replace: key = rotary_embedding(key, positions, base)
# by:      value = rotary_embedding(value, positions, base)

# %% wrong rotary_attention own_positions of="solution"
# Your two tokens are rotated as if they were neighbours. Use the argument `positions` as it is: 4
# and 6 here.
# replace: ) -> Tensor:
# by:      ) -> Tensor:
#              positions = torch.arange(query.shape[-2])

# %% wrong rotary_attention keys_turned_backwards of="solution"
# You rotate the keys in the other direction. Then the score depends on the sum of the two
# positions, not on their offset.
# replace: key = rotary_embedding(key, positions, base)
# by:      key = rotary_embedding(key, -positions, base)

# %% wrong rotary_attention base_forgotten of="solution"
# Your angles are those of base 10000, although the caller gives another. Pass `base` on.
# replace: query = rotary_embedding(query, positions, base)
#          key = rotary_embedding(key, positions, base)
# by:      query, key = rotary_embedding(query, positions), rotary_embedding(key, positions)

# %% wrong rotary_attention no_scale of="solution"
# Your weights are too sharp. The scores are not divided by √d_k.
# replace: return F.scaled_dot_product_attention(query, key, value)
# by:      return torch.softmax(query @ key.transpose(-2, -1), dim=-1) @ value

# %% wrong rotary_attention divided_by_d_k of="solution"
# Your weights are too even. Divide by √d_k, not by d_k.
# replace: return F.scaled_dot_product_attention(query, key, value)
# by:      return torch.softmax(query @ key.transpose(-2, -1) / key.shape[-1], dim=-1) @ value

# %% wrong rotary_attention scale_of_the_values of="solution"
# You divide by √d_v. A score is a sum of d_k products, so divide by √d_k.
# replace: F.scaled_dot_product_attention(query, key, value)
# by:      torch.softmax(query @ key.transpose(-2, -1) / value.shape[-1] ** 0.5, dim=-1) @ value

# %% wrong rotary_attention softmax_over_queries of="solution"
# Your weights sum to 1 over the queries. Softmax runs over the keys, the last axis.
# replace: return F.scaled_dot_product_attention(query, key, value)
# by:      scores = query @ key.transpose(-2, -1) / key.shape[-1] ** 0.5
#          return torch.softmax(scores, dim=-2) @ value

# %% wrong rotary_attention causal_as_well of="solution"
# Your first token attends only to itself. There should be no causal mask.
# replace: return F.scaled_dot_product_attention(query, key, value)
# by:      return F.scaled_dot_product_attention(query, key, value, is_causal=True)

# %% wrong rotary_attention keys_turned_by_the_query of="solution"
# You use the rotated query as the key. Rotate the key itself.
# replace: key = rotary_embedding(key, positions, base)
# by:      key = rotary_embedding(query, positions, base)

# %% wrong rotary_attention turned_twice of="solution"
# Every offset counts double. Queries and keys are rotated once, each by its position times the
# frequency.
# replace: key = rotary_embedding(key, positions, base)
# by:      key = rotary_embedding(key, positions, base)
#          query = rotary_embedding(query, positions, base)
#          key = rotary_embedding(key, positions, base)

# %% wrong rotary_attention weights_only of="solution"
# These are the weights. Multiply them by the values.
# replace: return F.scaled_dot_product_attention(query, key, value)
# by:      return torch.softmax(query @ key.transpose(-2, -1) / key.shape[-1] ** 0.5, dim=-1)

# %% wrong rotary_attention with_the_weights of="solution"
# You return the weights too. The docstring asks for the output alone.
# replace: return F.scaled_dot_product_attention(query, key, value)
# by:      weights = torch.softmax(query @ key.transpose(-2, -1) / key.shape[-1] ** 0.5, dim=-1)
#          return weights @ value, weights

# %% wrong rotary_attention turned_after_the_scores of="nothing_turned"
# You rotate the scores. Queries and keys are rotated before the scores are computed.
# replace: return F.scaled_dot_product_attention(query, key, value)
# by:      scores = query @ key.transpose(-2, -1) / key.shape[-1] ** 0.5
#          scores = rotary_embedding(scores, positions, base)
#          return torch.softmax(scores, dim=-1) @ value

# %% wrong rotary_attention query_and_key_exchanged of="solution"
# Queries and keys are swapped. Each query has its own row of weights, which sums to 1.
# replace: return F.scaled_dot_product_attention(query, key, value)
# by:      return F.scaled_dot_product_attention(key, query, value)


# %% wrong rotary_attention only_the_output_turned of="nothing_turned"
# Your scores are those without rotation, and the output is rotated. Rotate queries and keys, before
# the scores.
# replace: return F.scaled_dot_product_attention(query, key, value)
# by:      mixed = F.scaled_dot_product_attention(query, key, value)
#          return rotary_embedding(mixed, positions, base)

# %% wrong rotary_attention base_for_queries_only of="solution"
# `base` reaches the queries alone. The keys need it too.
# replace: key = rotary_embedding(key, positions, base)
# by:      key = rotary_embedding(key, positions)

# %% wrong rotary_attention base_for_keys_only of="solution"
# `base` reaches the keys alone. The queries need it too.
# replace: query = rotary_embedding(query, positions, base)
# by:      query = rotary_embedding(query, positions)

# %% wrong rotary_attention another_default_base of="solution"
# Without `base`, your angles are those of base 1000. Its default is 10000.
# replace: base: float = 10000.0
# by:      base: float = 1000.0

# %% wrong rotary_attention one_position_for_all of="solution"
# Your result is attention without rotation. Queries and keys should be rotated, each row by its own
# position.
# replace: query = rotary_embedding(query, positions, base)
#          key = rotary_embedding(key, positions, base)
# by:      query = rotary_embedding(query, positions[:1], base)
#          key = rotary_embedding(key, positions[:1], base)


# %% wrong rotary_attention half_split_inside
# Features 2 and 3 rotate by the position itself. Use rotary_embedding, in which neighbours form a
# pair and the second pair is slower.
def rotary_attention(
    query: Tensor, key: Tensor, value: Tensor, positions: Tensor, base: float = 10000.0
) -> Tensor:
    width = query.shape[-1]
    speeds = base ** (-torch.arange(0, width, 2, dtype=query.dtype) / width)
    angles = (positions[:, None] * speeds).repeat(1, 2)

    def rotate(x: Tensor) -> Tensor:
        first, second = x.chunk(2, -1)
        return x * angles.cos() + torch.cat([-second, first], -1) * angles.sin()

    return F.scaled_dot_product_attention(rotate(query), rotate(key), value)


# %% wrong rotary_attention all_axes_reversed of="solution"
# In a batch with heads, .T reverses all axes of the key. Swap the last two alone.
# replace: return F.scaled_dot_product_attention(query, key, value)
# by:      return torch.softmax(query @ key.T / key.shape[-1] ** 0.5, dim=-1) @ value


# %% right rotary_attention by_hand
def rotary_attention(
    query: Tensor, key: Tensor, value: Tensor, positions: Tensor, base: float = 10000.0
) -> Tensor:
    query = rotary_embedding(query, positions, base)
    key = rotary_embedding(key, positions, base)
    weights = torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]), dim=-1)
    return weights @ value


# %% right rotary_attention in_one_call of="nothing_turned"
# replace: return F.scaled_dot_product_attention(query, key, value)
# by:      asks, answers = (rotary_embedding(role, positions, base=base) for role in (query, key))
#          return F.scaled_dot_product_attention(query=asks, key=answers, value=value)

# %% right rotary_attention stacked of="nothing_turned"
# replace: return F.scaled_dot_product_attention(query, key, value)
# by:      both = rotary_embedding(torch.stack([query, key]), positions, base)
#          scores = torch.einsum("...qd,...kd->...qk", both[0], both[1]) * query.shape[-1] ** -0.5
#          return torch.einsum("...qk,...kv->...qv", scores.softmax(-1), value)

# %% right rotary_attention places_from_the_first of="solution"
# replace: query = rotary_embedding(query, positions, base)
#          key = rotary_embedding(key, positions, base)
# by:      places = positions - positions[0]  # only distances count
#          query, key = rotary_embedding(query, places, base), rotary_embedding(key, places, base)


# %% right rotary_attention query_scaled_first
def rotary_attention(
    query: Tensor, key: Tensor, value: Tensor, positions: Tensor, base: float = 10000.0
) -> Tensor:
    query = rotary_embedding(query / math.sqrt(query.size(-1)), positions, base)
    key = rotary_embedding(key, positions, base)
    scores = torch.matmul(query, key.mT)
    powers = (scores - scores.amax(-1, keepdim=True)).exp()
    return (powers / powers.sum(-1, keepdim=True)) @ value
