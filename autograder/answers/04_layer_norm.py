# %% given imports
# pyright: reportRedeclaration=false, reportReturnType=false, reportUnusedExpression=false
import torch
import torch.nn.functional as F
from torch import Tensor, nn


# %% wrong layer_norm unbiased_variance
# Your variance divides by d − 1, as `var` does by itself: here it is the plain mean of the squared
# deviations, so divide by d.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    variance = x.var(dim=-1, keepdim=True)
    return gain * (x - x.mean(-1, keepdim=True)) / (variance + eps).sqrt() + bias


# %% wrong layer_norm unbiased_deviation of="no_eps"
# Your variance divides by d − 1, as `var` does by itself: here it is the plain mean of the squared
# deviations, so divide by d.
# replace: deviation = x.std(-1, keepdim=True, correction=0)
# by:      deviation = (x.std(-1, keepdim=True).square() + eps).sqrt()

# %% wrong layer_norm eps_outside_the_root of="no_eps"
# You add eps to the standard deviation, behind the root: add it to the variance, then take the
# root.
# replace: return gain * (x - x.mean(-1, keepdim=True)) / deviation + bias
# by:      return gain * (x - x.mean(-1, keepdim=True)) / (deviation + eps) + bias


# %% wrong layer_norm eps_squared
# You add the square of eps under the root: eps itself belongs there, beside the variance.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    variance = x.var(-1, keepdim=True, correction=0)
    return gain * (x - x.mean(-1, keepdim=True)) / (variance + eps**2).sqrt() + bias


# %% wrong layer_norm no_eps
# eps changes nothing here: it is added to the variance, under the root, however large the
# variance is.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    deviation = x.std(-1, keepdim=True, correction=0)
    return gain * (x - x.mean(-1, keepdim=True)) / deviation + bias


# %% wrong layer_norm eps_written_as_a_number of="eps_squared"
# Your result is right to a few digits only: something other than `eps` stands under the root, or
# a step runs in float32.
# replace: return gain * (x - x.mean(-1, keepdim=True)) / (variance + eps**2).sqrt() + bias
# by:      return gain * (x - x.mean(-1, keepdim=True)) / (variance + 1e-5).sqrt() + bias


# %% wrong layer_norm eps_as_a_floor
# eps changes nothing here: it is added to the variance, under the root, however large the
# variance is.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    variance = x.var(-1, keepdim=True, correction=0).clamp(min=eps)
    return gain * (x - x.mean(-1, keepdim=True)) / variance.sqrt() + bias


# %% wrong layer_norm another_default
# Without eps you take another number than 0.00001: keep the default of the stub.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-6) -> Tensor:
    return F.layer_norm(x, gain.shape, gain, bias, eps)


# %% wrong layer_norm divided_by_variance of="eps_squared"
# You divide by the variance: take its root first.
# replace: return gain * (x - x.mean(-1, keepdim=True)) / (variance + eps**2).sqrt() + bias
# by:      return gain * (x - x.mean(-1, keepdim=True)) / (variance + eps) + bias

# %% wrong layer_norm root_taken_twice of="no_eps"
# The root is taken twice, so large words stay large: `std` has taken it already.
# replace: return gain * (x - x.mean(-1, keepdim=True)) / deviation + bias
# by:      return gain * (x - x.mean(-1, keepdim=True)) / (deviation + eps).sqrt() + bias

# %% wrong layer_norm sum_for_mean of="eps_squared"
# You subtract the sum of the features and not their mean: divide the sum by their number.
# replace: return gain * (x - x.mean(-1, keepdim=True)) / (variance + eps**2).sqrt() + bias
# by:      return gain * (x - x.sum(-1, keepdim=True)) / (variance + eps).sqrt() + bias


# %% wrong layer_norm as_the_slide_has_it
# Your numbers are those of a formula with a sum in place of the mean: divide μ by d, also where it
# enters the variance.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    centred = x - x.sum(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    return gain * centred / (variance + eps).sqrt() + bias


# %% wrong layer_norm sum_of_squares
# You divide by the root of the sum of the squares: the variance is their mean.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.square().sum(-1, keepdim=True)
    return gain * centred / (variance + eps).sqrt() + bias


# %% wrong layer_norm length_of_the_word
# You divide by the root of the sum of the squares: the variance is their mean.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    length = (centred.norm(dim=-1, keepdim=True).square() + eps).sqrt()
    return gain * centred / length + bias


# %% wrong layer_norm mean_not_subtracted of="eps_squared"
# You divide by the deviation, but the mean is still in: subtract it above the fraction line.
# replace: return gain * (x - x.mean(-1, keepdim=True)) / (variance + eps**2).sqrt() + bias
# by:      return gain * x / (variance + eps).sqrt() + bias


# %% wrong layer_norm root_mean_square
# You divide by the root of the mean square of the word as it is: the variance is the mean square of
# its deviations from the mean.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    return gain * centred / (x.square().mean(-1, keepdim=True) + eps).sqrt() + bias


# %% wrong layer_norm no_mean_at_all
# That is RMS norm, which comes later: layer norm subtracts the mean, above and below the line.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return gain * x / (x.square().mean(-1, keepdim=True) + eps).sqrt() + bias


# %% wrong layer_norm mean_only
# The mean is 0 now, but words keep their size: divide by the standard deviation too.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return gain * (x - x.mean(-1, keepdim=True)) + bias


# %% wrong layer_norm mean_of_sizes of="root_mean_square"
# You divide by the mean of the absolute deviations: square them, take the mean, then the root.
# replace: return gain * centred / (x.square().mean(-1, keepdim=True) + eps).sqrt() + bias
# by:      return gain * centred / (centred.abs().mean(-1, keepdim=True) + eps) + bias


# %% wrong layer_norm between_smallest_and_largest
# You divide by the distance from the smallest to the largest feature: divide by the standard
# deviation.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    spread = x.amax(-1, keepdim=True) - x.amin(-1, keepdim=True)
    return gain * (x - x.mean(-1, keepdim=True)) / (spread + eps) + bias


# %% wrong layer_norm over_the_words
# You normalise each feature over the words: the mean and the variance of a word run over its own
# features, the last axis.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    centred = x - x.mean(0, keepdim=True)
    variance = centred.square().mean(0, keepdim=True)
    return gain * centred / (variance + eps).sqrt() + bias


# %% wrong layer_norm over_everything
# All words share one mean and one variance: each word has its own, along the last axis.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return gain * (x - x.mean()) / (x.var(correction=0) + eps).sqrt() + bias


# %% wrong layer_norm over_the_second_axis
# You always take axis 1, which holds the features only as long as there are two axes: count from
# the end, and take the last one.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    centred = x - x.mean(1, keepdim=True)
    variance = centred.square().mean(1, keepdim=True)
    return gain * centred / (variance + eps).sqrt() + bias


# %% wrong layer_norm over_a_sentence
# All words of a sentence share one mean and one variance: each word has its own, along the last
# axis alone.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    axes = tuple(range(1, x.dim())) if x.dim() > 2 else (-1,)
    centred = x - x.mean(axes, keepdim=True)
    return gain * centred / (centred.square().mean(axes, keepdim=True) + eps).sqrt() + bias


# %% wrong layer_norm own_mean_but_shared_variance of="root_mean_square"
# Each word has its own mean, but all share one variance: the variance, too, belongs to one word.
# replace: return gain * centred / (x.square().mean(-1, keepdim=True) + eps).sqrt() + bias
# by:      return gain * centred / (centred.square().mean() + eps).sqrt() + bias


# %% wrong layer_norm axis_lost
# The mean of the words lines up with the features, or with nothing: keep the axis that you
# average, with size 1.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return gain * (x - x.mean(-1)) / (x.var(-1, correction=0) + eps).sqrt() + bias


# %% wrong layer_norm gain_unused
# The gain does nothing: multiply the normalised features by it.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], None, bias, eps)


# %% wrong layer_norm bias_unused
# The bias does nothing: add it at the end.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], gain, None, eps)


# %% wrong layer_norm neither_gain_nor_bias
# Gain and bias do nothing: multiply by the one, then add the other.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], None, None, eps)


# %% wrong layer_norm bias_before_gain
# You add the bias first and multiply by the gain after it: the bias comes last.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return gain * (F.layer_norm(x, x.shape[-1:], None, None, eps) + bias)


# %% wrong layer_norm gain_and_bias_swapped
# Gain and bias have changed places: the gain multiplies, the bias is added.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], bias, gain, eps)


# %% wrong layer_norm bias_subtracted
# You subtract the bias: it is added.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], gain, -bias, eps)


# %% wrong layer_norm gain_before_the_norm
# You multiply by the gain before you normalise: it comes after, or the norm takes it away again.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return F.layer_norm(gain * x, x.shape[-1:], None, bias, eps)


# %% wrong layer_norm brackets_forgotten of="eps_squared"
# Only the mean is divided, because a division binds before a subtraction: put x minus the mean in
# brackets.
# replace: return gain * (x - x.mean(-1, keepdim=True)) / (variance + eps**2).sqrt() + bias
# by:      return gain * (x - x.mean(-1, keepdim=True) / (variance + eps).sqrt()) + bias


# %% wrong layer_norm mean_without_gradient
# You cut the mean off from x, so the gradient misses a part: let it flow through every step.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    centred = x - x.mean(-1, keepdim=True).detach()
    return gain * centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt() + bias


# %% wrong layer_norm statistics_without_gradient
# You cut the mean off from x, so the gradient misses a part: let it flow through every step.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    with torch.no_grad():
        mean, variance = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, correction=0)
    return gain * (x - mean) / (variance + eps).sqrt() + bias


# %% wrong layer_norm deviation_without_gradient of="sum_of_squares"
# You cut the variance off from x, so the gradient misses a part: let it flow through every step.
# replace: variance = centred.square().sum(-1, keepdim=True)
# by:      variance = centred.square().mean(-1, keepdim=True).detach()


# %% wrong layer_norm changes_its_input
# Your code writes into the caller's x: make a new tensor in place of changing the old one.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    x -= x.mean(-1, keepdim=True)
    return gain * x / (x.square().mean(-1, keepdim=True) + eps).sqrt() + bias


# %% wrong layer_norm numpy_on_the_way
# You leave torch for NumPy on the way, and no gradient can follow you there: tensors have mean and
# var themselves.
import numpy as np


def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    rows = x.numpy()
    scaled = (rows - rows.mean(-1, keepdims=True)) / np.sqrt(rows.var(-1, keepdims=True) + eps)
    return gain * torch.from_numpy(scaled) + bias


# %% wrong layer_norm narrower_numbers
# Your result is right to a few digits only: something other than `eps` stands under the root, or
# a step runs in float32.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    normalised = F.layer_norm(x.float(), x.shape[-1:], None, None, eps)
    return gain * normalised.to(x.dtype) + bias


# %% wrong layer_norm forgotten_return of="root_mean_square"
# does the last line say `return`?
# replace: return gain * centred / (x.square().mean(-1, keepdim=True) + eps).sqrt() + bias
# by:      gain * centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt() + bias


# %% right layer_norm of_torch
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return F.layer_norm(x, gain.shape, gain, bias, eps)


# %% right layer_norm with_var
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    mean = torch.mean(x, dim=-1, keepdim=True)
    variance = torch.var(x, dim=-1, unbiased=False, keepdim=True)
    return (x - mean) / torch.sqrt(variance + eps) * gain + bias


# %% right layer_norm reciprocal_root
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
    return torch.addcmul(bias, (x - mean) * (variance + eps).rsqrt(), gain)


# %% right layer_norm square_of_deviation
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    deviation = x - x.sum(-1, keepdim=True) / x.size(-1)
    size = deviation.pow(2).sum(-1, keepdim=True) / x.size(-1)
    return deviation / (size + eps) ** 0.5 * gain + bias


# %% right layer_norm mean_of_squares_less_square_of_mean
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    exact = x.double()
    mean = exact.mean(-1, keepdim=True)
    variance = (exact * exact).mean(-1, keepdim=True) - mean * mean
    return (gain * (exact - mean) / (variance.clamp(min=0) + eps).sqrt() + bias).to(x.dtype)


# %% right layer_norm loop_over_words
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    words = []
    for word in x.reshape(-1, x.shape[-1]):
        centred = word - word.mean()
        words.append(centred / (centred.dot(centred) / len(word) + eps).sqrt() * gain + bias)
    return torch.stack(words).reshape(x.shape)


# %% right layer_norm matrix_that_subtracts_the_mean
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    width = x.shape[-1]
    centred = x @ (torch.eye(width, dtype=x.dtype) - 1 / width)
    variance = torch.einsum("...d,...d->...", centred, centred).unsqueeze(-1) / width
    return gain * centred / (variance + eps).sqrt() + bias


# %% right layer_norm unbiased_then_corrected
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    width = x.shape[-1]
    variance = x.var(-1, keepdim=True) * (width - 1) / width
    return gain * (x - x.mean(-1, keepdim=True)) / (variance + eps).sqrt() + bias


# %% wrong repaired_divisor as_on_the_slide
# This is the slide's own divisor: it has a sum in place of a mean, a root too many, and eps outside
# the root.
def repaired_divisor(x: Tensor, eps: float) -> Tensor:
    sigma = (x - x.sum(-1, keepdim=True)).square().mean(-1, keepdim=True).sqrt()
    return sigma.sqrt() + eps


# %% wrong repaired_divisor sum_still_there of="solution"
# The roots are mended, but μ is still a sum: divide it by d.
# replace: variance = x.var(dim=-1, correction=0, keepdim=True)
# by:      variance = (x - x.sum(-1, keepdim=True)).square().mean(-1, keepdim=True)


# %% wrong repaired_divisor eps_outside
# One root is gone, but eps still stands outside: it is added to the variance, under the root.
def repaired_divisor(x: Tensor, eps: float) -> Tensor:
    return x.std(-1, correction=0, keepdim=True) + eps


# %% wrong repaired_divisor root_of_deviation
# The slide's second root is still there: σ is a root already, and one root is enough.
def repaired_divisor(x: Tensor, eps: float) -> Tensor:
    return (x.std(-1, correction=0, keepdim=True) + eps).sqrt()


# %% wrong repaired_divisor only_the_mean_mended
# The mean is mended, but there is still a root too many, and eps stands outside the root.
def repaired_divisor(x: Tensor, eps: float) -> Tensor:
    return x.std(-1, correction=0, keepdim=True).sqrt() + eps


# %% wrong repaired_divisor no_root
# Now there is no root at all: the slide has one too many, not two.
def repaired_divisor(x: Tensor, eps: float) -> Tensor:
    return x.var(-1, correction=0, keepdim=True) + eps


# %% wrong repaired_divisor without_eps
# eps is missing, and a word whose features are all equal gives a divisor of 0.
def repaired_divisor(x: Tensor, eps: float) -> Tensor:
    return x.std(-1, correction=0, keepdim=True)


# %% wrong repaired_divisor unbiased
# Your variance divides by d − 1; the slide's divides by d, and that is right.
def repaired_divisor(x: Tensor, eps: float) -> Tensor:
    return (x.var(-1, keepdim=True) + eps).sqrt()


# %% wrong repaired_divisor axis_lost
# Your result lacks the axis of size 1, with which it lines up with the words: keep it.
def repaired_divisor(x: Tensor, eps: float) -> Tensor:
    return (x.var(-1, correction=0) + eps).sqrt()


# %% wrong repaired_divisor of_all_words
# You give one divisor for all words: each word has its own.
def repaired_divisor(x: Tensor, eps: float) -> Tensor:
    return (x.var(correction=0) + eps).sqrt()


# %% wrong repaired_divisor over_the_words
# Your divisor belongs to a feature: it should belong to a word, so average over the last axis.
def repaired_divisor(x: Tensor, eps: float) -> Tensor:
    return (x.var(0, correction=0, keepdim=True) + eps).sqrt()


# %% wrong repaired_divisor whole_norm
# This is the normalised word: only what it is divided by is asked for.
def repaired_divisor(x: Tensor, eps: float) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], eps=eps)


# %% wrong repaired_divisor mean_square
# You take the mean square of the features as they are: subtract the mean of the word first.
def repaired_divisor(x: Tensor, eps: float) -> Tensor:
    return (x.square().mean(-1, keepdim=True) + eps).sqrt()


# %% right repaired_divisor by_hand
def repaired_divisor(x: Tensor, eps: float) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    return torch.sqrt((centred**2).mean(-1, keepdim=True) + eps)


# %% right repaired_divisor square_of_std
def repaired_divisor(x: Tensor, eps: float) -> Tensor:
    return (x.std(-1, unbiased=False, keepdim=True) ** 2 + eps) ** 0.5


# %% right repaired_divisor sum_divided
def repaired_divisor(x: Tensor, eps: float) -> Tensor:
    width = x.shape[-1]
    mu = x.sum(-1, keepdim=True) / width
    return ((x - mu).pow(2).sum(-1, keepdim=True) / width + eps).sqrt()


# %% right repaired_divisor of_several_functions
def repaired_divisor(x: Tensor, eps: float) -> Tensor:
    return torch.var_mean(x, -1, correction=0)[0].add(eps).sqrt().unsqueeze(-1)


# %% right repaired_divisor reciprocal
def repaired_divisor(x: Tensor, eps: float) -> Tensor:
    return 1 / (x.var(dim=-1, correction=0) + eps).rsqrt()[..., None]


# %% wrong fooling_word zeros
# Four zeros fool every formula, and the text leaves them out: both numerators are 0.
fooling_word = [0, 0, 0, 0]

# %% wrong fooling_word ones
# The sum of your word is 4 and its mean 1: slide and norm subtract different numbers.
fooling_word = [1.0, 1.0, 1.0, 1.0]

# %% wrong fooling_word mean_not_zero
# The mean of your word is not 0, so the slide's sum is four times as large as it.
fooling_word = [2.0, 0.0, 2.0, 0.0]

# %% wrong fooling_word too_large
# The mean is 0, but your word has the standard deviation 2, and √2 is not 2.
fooling_word = [2.0, -2.0, 2.0, -2.0]

# %% wrong fooling_word counted
# The mean of your word is not 0, and its deviation is not 1: neither slip of the slide is hidden.
fooling_word = [1.0, 2.0, 3.0, 4.0]

# %% wrong fooling_word unbiased_deviation_of_one
# You made the deviation 1 with the variance divided by d − 1: here it is divided by d, so your σ is
# a little below 1.
fooling_word = [0.866, -0.866, 0.866, -0.866]

# %% wrong fooling_word length_of_one
# The squares of your word have the sum 1: it is their mean that must be 1.
fooling_word = [0.5, -0.5, 0.5, -0.5]

# %% wrong fooling_word one_pair
# The mean is 0, but the mean of the squares is 1/2, because two of your numbers are 0.
fooling_word = [1.0, -1.0, 0.0, 0.0]

# %% wrong fooling_word three_numbers
# expected 4 numbers
fooling_word = [1.22, 0.0, -1.22]

# %% wrong fooling_word one_column
# expected 4 numbers
fooling_word = torch.tensor([[1.0], [-1.0], [1.0], [-1.0]])

# %% wrong fooling_word the_word_of_the_text
# This is the word of the text: find another one.
fooling_word = [1.34, 0.45, -0.45, -1.34]

# %% wrong fooling_word of_the_text_turned_round
# This is the word of the text: find another one.
fooling_word = [-1.34, -0.45, 0.45, 1.34]

# %% wrong fooling_word evenly_spread
# The mean is 0, but the deviation is 1.12: divide your word by its standard deviation.
fooling_word = [1.5, 0.5, -0.5, -1.5]

# %% wrong fooling_word far_side
# The numbers of your word are no fooling word: the two formulas differ in the second decimal.
fooling_word = [1.0, -1.0, 1.01, -1.02]

# %% right fooling_word other_order
fooling_word = [1, 1, -1, -1]

# %% right fooling_word two_roots
fooling_word = [2**0.5, -(2**0.5), 0, 0]

# %% right fooling_word to_two_decimals
fooling_word = [1.41, 0.0, 0.0, -1.41]

# %% right fooling_word tensor
fooling_word = torch.tensor([-1.0, 1.0, 1.0, -1.0])

# %% right fooling_word one_against_three
fooling_word = [1.73, -0.58, -0.58, -0.57]

# %% right fooling_word computed
some = torch.tensor([4.0, 1.0, 0.0, 7.0])
fooling_word = ((some - some.mean()) / some.std(correction=0)).tolist()

# %% wrong LayerNorm parameters_called_otherwise of="solution"
# The parameters have PyTorch's names, or stand in a module of PyTorch's: make `gain` and `bias`
# yourself, each a parameter on self.
# replace: self.gain = nn.Parameter(torch.ones(d_model))
# by:      self.weight = nn.Parameter(torch.ones(d_model))
# replace: return layer_norm(x, self.gain, self.bias, self.eps)
# by:      return layer_norm(x, self.weight, self.bias, self.eps)


# %% wrong LayerNorm parts_of_torch
# The parameters have PyTorch's names, or stand in a module of PyTorch's: make `gain` and `bias`
# yourself, each a parameter on self.
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d_model, eps=eps)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(x)


# %% wrong LayerNorm plain_tensors of="no_bias"
# Nothing is learned here: gain and bias must be parameters, so wrap each tensor in nn.Parameter,
# and leave its requires_grad as it is.
# replace: self.gain = nn.Parameter(torch.ones(d_model))
# by:      self.gain = torch.ones(d_model)
#          self.bias = torch.zeros(d_model)
# replace: return F.layer_norm(x, x.shape[-1:], self.gain, None, self.eps)
# by:      gain, bias = self.gain.to(x.dtype), self.bias.to(x.dtype)
#          return layer_norm(x, gain, bias, self.eps)

# %% wrong LayerNorm buffers of="solution"
# Nothing is learned here: gain and bias must be parameters, so wrap each tensor in nn.Parameter,
# and leave its requires_grad as it is.
# replace: self.gain = nn.Parameter(torch.ones(d_model))
#          self.bias = nn.Parameter(torch.zeros(d_model))
# by:      self.register_buffer("gain", torch.ones(d_model))
#          self.register_buffer("bias", torch.zeros(d_model))
# replace: layer_norm(x, self.gain, self.bias, self.eps)
# by:      layer_norm(x, self.gain, self.bias, self.eps)  # pyright: ignore[reportArgumentType]

# %% wrong LayerNorm frozen of="solution"
# Nothing is learned here: gain and bias must be parameters, so wrap each tensor in nn.Parameter,
# and leave its requires_grad as it is.
# replace: self.gain = nn.Parameter(torch.ones(d_model))
#          self.bias = nn.Parameter(torch.zeros(d_model))
# by:      self.gain = nn.Parameter(torch.ones(d_model), requires_grad=False)
#          self.bias = nn.Parameter(torch.zeros(d_model), requires_grad=False)

# %% wrong LayerNorm gain_of_zeros of="solution"
# A new module gives zeros, because its gain starts at 0: start it at 1.
# replace: self.gain = nn.Parameter(torch.ones(d_model))
# by:      self.gain = nn.Parameter(torch.zeros(d_model))

# %% wrong LayerNorm bias_of_ones of="solution"
# A new module adds 1 to everything, because its bias starts at 1: start it at 0.
# replace: self.bias = nn.Parameter(torch.zeros(d_model))
# by:      self.bias = nn.Parameter(torch.ones(d_model))

# %% wrong LayerNorm start_swapped of="gain_of_zeros"
# A new module gives ones everywhere: gain and bias have changed places, in what they start with
# or in forward.
# replace: self.bias = nn.Parameter(torch.zeros(d_model))
# by:      self.bias = nn.Parameter(torch.ones(d_model))

# %% wrong LayerNorm random_start of="solution"
# A new module should only normalise, and yours does not: start the gain at 1 and the bias at 0, not
# at random.
# replace: self.gain = nn.Parameter(torch.ones(d_model))
#          self.bias = nn.Parameter(torch.zeros(d_model))
# by:      torch.manual_seed(0)
#          self.gain = nn.Parameter(torch.randn(d_model))
#          self.bias = nn.Parameter(torch.randn(d_model))

# %% wrong LayerNorm gain_not_used of="solution"
# What is loaded into gain and bias changes nothing: hand self.gain and self.bias to layer_norm.
# replace: return layer_norm(x, self.gain, self.bias, self.eps)
# by:      return F.layer_norm(x, x.shape[-1:], eps=self.eps)

# %% wrong LayerNorm bias_not_used of="solution"
# What is loaded into the bias changes nothing: add self.bias.
# replace: return layer_norm(x, self.gain, self.bias, self.eps)
# by:      return F.layer_norm(x, x.shape[-1:], self.gain, None, self.eps)

# %% wrong LayerNorm gain_and_bias_swapped of="solution"
# A new module gives ones everywhere: gain and bias have changed places, in what they start with
# or in forward.
# replace: return layer_norm(x, self.gain, self.bias, self.eps)
# by:      return F.layer_norm(x, x.shape[-1:], self.bias, self.gain, self.eps)

# %% wrong LayerNorm eps_forgotten of="solution"
# The eps that the module is built with changes nothing: keep it on self, and hand it on.
# replace: self.eps = eps
# by:
# replace: return layer_norm(x, self.gain, self.bias, self.eps)
# by:      return F.layer_norm(x, x.shape[-1:], self.gain, self.bias)

# %% wrong LayerNorm another_default of="solution"
# Without eps your module takes another number than 0.00001: keep the default of the stub.
# replace: def __init__(self, d_model: int, eps: float = 1e-5) -> None:
# by:      def __init__(self, d_model: int, eps: float = 1e-6) -> None:
# replace: return layer_norm(x, self.gain, self.bias, self.eps)
# by:      return F.layer_norm(x, x.shape[-1:], self.gain, self.bias, self.eps)

# %% wrong LayerNorm one_number_for_all_features of="solution"
# Your gain or your bias has another shape than (d_model,): one number for each feature, along one
# axis.
# replace: self.gain = nn.Parameter(torch.ones(d_model))
#          self.bias = nn.Parameter(torch.zeros(d_model))
# by:      self.gain = nn.Parameter(torch.ones(1))
#          self.bias = nn.Parameter(torch.zeros(1))
# replace: return layer_norm(x, self.gain, self.bias, self.eps)
# by:      return self.gain * F.layer_norm(x, x.shape[-1:], eps=self.eps) + self.bias

# %% wrong LayerNorm no_bias of="solution"
# Your module has no bias that learns: make it a parameter beside the gain, zeros at first.
# replace: self.bias = nn.Parameter(torch.zeros(d_model))
# by:
# replace: return layer_norm(x, self.gain, self.bias, self.eps)
# by:      return F.layer_norm(x, x.shape[-1:], self.gain, None, self.eps)

# %% wrong LayerNorm cut_off of="solution"
# No gradient reaches gain and bias, because forward cuts them off: hand over the parameters
# themselves.
# replace: return layer_norm(x, self.gain, self.bias, self.eps)
# by:      return F.layer_norm(x, x.shape[-1:], self.gain.data, self.bias, self.eps)

# %% wrong LayerNorm unbiased_variance of="solution"
# Your module's own variance divides by d − 1: divide by d, as your layer_norm does.
# replace: return layer_norm(x, self.gain, self.bias, self.eps)
# by:      variance, mean = torch.var_mean(x, -1, keepdim=True)
#          return self.gain * (x - mean) / (variance + self.eps).sqrt() + self.bias

# %% wrong LayerNorm eps_outside of="solution"
# Your module adds eps behind the root: add it to the variance, as your layer_norm does.
# replace: return layer_norm(x, self.gain, self.bias, self.eps)
# by:      deviation = x.std(-1, keepdim=True, correction=0)
#          return self.gain * (x - x.mean(-1, keepdim=True)) / (deviation + self.eps) + self.bias

# %% wrong LayerNorm no_super of="solution"
# the first line of `__init__` is `super().__init__()`
# replace: super().__init__()
# by:

# %% wrong LayerNorm forgotten_return of="solution"
# does the last line say `return`?
# replace: return layer_norm(x, self.gain, self.bias, self.eps)
# by:      layer_norm(x, self.gain, self.bias, self.eps)

# %% wrong LayerNorm third_parameter of="solution"
# only gain and bias are learned
# replace: self.bias = nn.Parameter(torch.zeros(d_model))
# by:      self.bias = nn.Parameter(torch.zeros(d_model))
#          self.scale = nn.Parameter(torch.ones(d_model))
# replace: return layer_norm(x, self.gain, self.bias, self.eps)
# by:      return self.scale * F.layer_norm(x, x.shape[-1:], self.gain, self.bias, self.eps)

# %% right LayerNorm function_of_torch of="solution"
# replace: return layer_norm(x, self.gain, self.bias, self.eps)
# by:      return F.layer_norm(x, self.gain.shape, self.gain, self.bias, self.eps)


# %% right LayerNorm registered_parameters
class LayerNorm(nn.Module):
    gain: nn.Parameter
    bias: nn.Parameter

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.register_parameter("bias", nn.Parameter(torch.full((d_model,), 0.0)))
        self.register_parameter("gain", nn.Parameter(torch.full((d_model,), 1.0)))
        self.smallest = eps

    def forward(self, x: Tensor) -> Tensor:
        return layer_norm(x, self.gain, self.bias, eps=self.smallest)


# %% right LayerNorm written_out
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps, self.d_model = eps, d_model
        self.gain = nn.Parameter(torch.empty(d_model))
        self.bias = nn.Parameter(torch.empty(d_model))
        nn.init.ones_(self.gain)
        nn.init.zeros_(self.bias)

    def forward(self, x: Tensor) -> Tensor:
        centred = x - x.sum(-1, keepdim=True) / self.d_model
        variance = (centred**2).sum(-1, keepdim=True) / self.d_model
        return torch.addcmul(self.bias, self.gain, centred * (variance + self.eps).rsqrt())


# %% right LayerNorm eps_in_a_buffer of="solution"
# replace: self.eps = eps
# by:      self.norm = lambda x: F.layer_norm(x, (d_model,), eps=eps)
# replace: return layer_norm(x, self.gain, self.bias, self.eps)
# by:      return self.norm(x) * self.gain + self.bias


# %% wrong rms_norm mean_subtracted
# You subtract the mean first: RMS norm takes the features as they are.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], gain, None, eps)


# %% wrong rms_norm divided_by_deviation
# You divide by the standard deviation: the mean square is taken of the features as they are, with
# no mean subtracted.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return gain * x / (x.var(-1, correction=0, keepdim=True) + eps).sqrt()


# %% wrong rms_norm mean_subtracted_above
# You subtract the mean above the fraction line: leave x as it is there.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    divisor = (x.square().mean(-1, keepdim=True) + eps).sqrt()
    return gain * (x - x.mean(-1, keepdim=True)) / divisor


# %% wrong rms_norm eps_outside
# You add eps behind the root: add it to the mean square, then take the root.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return gain * x / (x.square().mean(-1, keepdim=True).sqrt() + eps)


# %% wrong rms_norm without_eps
# eps changes nothing here: add the argument `eps` to the mean square, under the root.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return gain * x / x.square().mean(-1, keepdim=True).sqrt()


# %% wrong rms_norm eps_written_as_a_number
# eps changes nothing here: add the argument `eps` to the mean square, under the root.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return gain * x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt()


# %% wrong rms_norm sum_of_squares
# You take the sum of the squares: their mean is what the formula asks for.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return gain * x / (x.square().sum(-1, keepdim=True) + eps).sqrt()


# %% wrong rms_norm length_of_the_word
# You divide by the length of the word, the root of the sum of its squares: take the root of their
# mean.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return gain * x / (x.norm(dim=-1, keepdim=True) + eps)


# %% wrong rms_norm no_root
# You divide by the mean square itself: take its root.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return gain * x / (x.square().mean(-1, keepdim=True) + eps)


# %% wrong rms_norm square_of_the_mean
# You square the mean of the features: take the mean of their squares.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return gain * x / (x.mean(-1, keepdim=True).square() + eps).sqrt()


# %% wrong rms_norm mean_of_sizes
# You take the mean of the absolute features: square them, take the mean, then the root.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return gain * x / (x.abs().mean(-1, keepdim=True) + eps)


# %% wrong rms_norm gain_unused
# The gain does nothing: multiply by it.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt()


# %% wrong rms_norm gain_added
# You add the gain: it multiplies.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return gain + x / (x.square().mean(-1, keepdim=True) + eps).sqrt()


# %% wrong rms_norm gain_first
# You multiply by the gain before you normalise, so it counts in the mean square: it comes last.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    x = gain * x
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt()


# %% wrong rms_norm one_plus_gain
# You multiply by 1 + gain, as some models do: here it is the gain alone.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return (1 + gain) * x / (x.square().mean(-1, keepdim=True) + eps).sqrt()


# %% wrong rms_norm over_the_words
# You average each feature over the words: average each word over its features, the last axis.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return gain * x / (x.square().mean(0, keepdim=True) + eps).sqrt()


# %% wrong rms_norm over_everything
# All words share one mean square: each word has its own, along the last axis.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return gain * x / (x.square().mean() + eps).sqrt()


# %% wrong rms_norm over_the_second_axis
# You always take axis 1, which holds the features only as long as there are two axes: take the last
# one.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return gain * x / (x.square().mean(1, keepdim=True) + eps).sqrt()


# %% wrong rms_norm axis_lost
# The mean square of the words lines up with the features, or with nothing: keep the axis that you
# average, with size 1.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return gain * x / (x.square().mean(-1) + eps).sqrt()


# %% wrong rms_norm size_without_gradient
# You cut the root mean square off from x, so the gradient misses a part: let it flow through every
# step.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return gain * x / (x.detach().square().mean(-1, keepdim=True) + eps).sqrt()


# %% wrong rms_norm changes_its_input
# Your code writes into the caller's x: make a new tensor in place of changing the old one.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    x /= (x.square().mean(-1, keepdim=True) + eps).sqrt()
    return gain * x


# %% right rms_norm of_torch
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return F.rms_norm(x, gain.shape, gain, eps)


# %% right rms_norm reciprocal_root
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * gain


# %% right rms_norm from_the_norm
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    mean_square = torch.linalg.vector_norm(x, dim=-1, keepdim=True) ** 2 / x.shape[-1]
    return gain * x / torch.sqrt(mean_square + eps)


# %% right rms_norm variance_and_mean
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
    return gain * x / (variance + mean.square() + eps).sqrt()


# %% right rms_norm einsum
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    mean_square = torch.einsum("...d,...d->...", x, x) / x.shape[-1]
    return torch.einsum("...d,d,...->...d", x, gain, (mean_square + eps) ** -0.5)


# %% wrong batch_norm padding_counted
# The padding counts in your mean and variance: only the real tokens take part.
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    mean, variance = x.mean((0, 1)), x.var((0, 1), correction=0)
    return gain * (x - mean) / (variance + eps).sqrt() + bias


# %% wrong batch_norm padding_as_zeros
# The padding still counts, as zeros: divide by the number of real tokens, and leave the others out
# of the variance as well.
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    real = (torch.arange(x.shape[1]) < lengths[:, None])[..., None]
    filled = torch.where(real, x, 0.0)
    mean, variance = filled.mean((0, 1)), filled.var((0, 1), correction=0)
    return gain * (x - mean) / (variance + eps).sqrt() + bias


# %% wrong batch_norm padding_in_the_number
# The padding is out of your sums, but you still divide by the number of all tokens: count the real
# ones.
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    real = (torch.arange(x.shape[1]) < lengths[:, None])[..., None]
    count = x.shape[0] * x.shape[1]
    mean = torch.where(real, x, 0.0).sum((0, 1)) / count
    variance = torch.where(real, (x - mean).square(), 0.0).sum((0, 1)) / count
    return gain * (x - mean) / (variance + eps).sqrt() + bias


# %% wrong batch_norm padding_in_the_mean
# The padding is out of your variance, but it still counts in the mean.
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    real = torch.arange(x.shape[1]) < lengths[:, None]
    mean = x.mean((0, 1))
    variance = (x - mean)[real].square().mean(0)
    return gain * (x - mean) / (variance + eps).sqrt() + bias


# %% wrong batch_norm padding_in_the_variance
# The padding is out of your mean, but it still counts in the variance.
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    real = torch.arange(x.shape[1]) < lengths[:, None]
    mean = x[real].mean(0)
    variance = (x - mean).square().mean((0, 1))
    return gain * (x - mean) / (variance + eps).sqrt() + bias


# %% wrong batch_norm zeroed_before_the_variance
# Padding set to zero before the mean is subtracted becomes −mean after it, and counts in the
# variance: set the squared deviations to zero, or leave the padding out altogether.
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    real = (torch.arange(x.shape[1]) < lengths[:, None])[..., None].to(x.dtype)
    count = lengths.sum()
    mean = (x * real).sum((0, 1)) / count
    variance = (x * real - mean).square().sum((0, 1)) / count
    return gain * (x - mean) / (variance + eps).sqrt() + bias


# %% wrong batch_norm one_token_too_many
# One token of padding still counts in each sequence: the real ones have the places 0 to length − 1.
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    tokens = x[torch.arange(x.shape[1]) <= lengths[:, None]]
    mean, variance = tokens.mean(0), tokens.var(0, correction=0)
    return gain * (x - mean) / (variance + eps).sqrt() + bias


# %% wrong batch_norm one_token_too_few of="one_token_too_many"
# The last real token of each sequence does not count: the real ones have the places 0 to
# length − 1.
# replace: tokens = x[torch.arange(x.shape[1]) <= lengths[:, None]]
# by:      tokens = x[torch.arange(x.shape[1]) < lengths[:, None] - 1]

# %% wrong batch_norm padding_instead of="one_token_too_many"
# You keep the padding and leave the real tokens out: turn the comparison round.
# replace: tokens = x[torch.arange(x.shape[1]) <= lengths[:, None]]
# by:      tokens = x[torch.arange(x.shape[1]) > lengths[:, None]]


# %% wrong batch_norm each_sequence_alone
# Each sequence has its own mean and variance here: batch norm takes them over all sequences
# together.
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    results = []
    for sequence, length in zip(x, lengths.tolist(), strict=True):
        tokens = sequence[:length]
        deviation = (tokens.var(0, correction=0) + eps).sqrt()
        results.append(gain * (sequence - tokens.mean(0)) / deviation + bias)
    return torch.stack(results)


# %% wrong batch_norm mean_of_means
# You average the means of the sequences, so a token of a short sequence counts more than one of a
# long one: gather all tokens first.
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    parts = [sequence[:length] for sequence, length in zip(x, lengths.tolist(), strict=True)]
    mean = torch.stack([part.mean(0) for part in parts]).mean(0)
    variance = torch.stack([(part - mean).square().mean(0) for part in parts]).mean(0)
    return gain * (x - mean) / (variance + eps).sqrt() + bias


# %% wrong batch_norm layer_norm_again
# That is layer norm, over the channels of each token: batch norm runs over the tokens, for each
# channel.
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], gain, bias, eps)


# %% wrong batch_norm over_all_channels
# All channels share one mean and one variance: each channel has its own.
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    tokens = x[torch.arange(x.shape[1]) < lengths[:, None]]
    return gain * (x - tokens.mean()) / (tokens.var(correction=0) + eps).sqrt() + bias


# %% wrong batch_norm each_place_alone
# Each place of the sequences has its own mean and variance: batch norm takes them over batch and
# length together.
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    real = (torch.arange(x.shape[1]) < lengths[:, None])[..., None].to(x.dtype)
    count = real.sum(0, keepdim=True).clamp(min=1)
    mean = (x * real).sum(0, keepdim=True) / count
    variance = ((x - mean).square() * real).sum(0, keepdim=True) / count
    return gain * (x - mean) / (variance + eps).sqrt() + bias


# %% wrong batch_norm unbiased_variance of="over_all_channels"
# Your variance divides by the number of tokens less one, as `var` does by itself: divide by their
# number.
# replace: return gain * (x - tokens.mean()) / (tokens.var(correction=0) + eps).sqrt() + bias
# by:      return gain * (x - tokens.mean(0)) / (tokens.var(0) + eps).sqrt() + bias

# %% wrong batch_norm eps_outside of="over_all_channels"
# You add eps to the standard deviation: add it to the variance, then take the root.
# replace: return gain * (x - tokens.mean()) / (tokens.var(correction=0) + eps).sqrt() + bias
# by:      return gain * (x - tokens.mean(0)) / (tokens.std(0, correction=0) + eps) + bias

# %% wrong batch_norm eps_unused of="over_all_channels"
# eps changes nothing: add it to the variance, under the root.
# replace: return gain * (x - tokens.mean()) / (tokens.var(correction=0) + eps).sqrt() + bias
# by:      return gain * (x - tokens.mean(0)) / (tokens.var(0, correction=0) + 1e-5).sqrt() + bias

# %% wrong batch_norm divided_by_variance of="over_all_channels"
# You divide by the variance: take its root first.
# replace: return gain * (x - tokens.mean()) / (tokens.var(correction=0) + eps).sqrt() + bias
# by:      return gain * (x - tokens.mean(0)) / (tokens.var(0, correction=0) + eps) + bias

# %% wrong batch_norm root_taken_twice of="over_all_channels"
# The root is taken twice: `std` has taken it already.
# replace: return gain * (x - tokens.mean()) / (tokens.var(correction=0) + eps).sqrt() + bias
# by:      return gain * (x - tokens.mean(0)) / (tokens.std(0, correction=0) + eps).sqrt() + bias

# %% wrong batch_norm mean_not_subtracted of="over_all_channels"
# The mean is still in: subtract it before you divide.
# replace: return gain * (x - tokens.mean()) / (tokens.var(correction=0) + eps).sqrt() + bias
# by:      return gain * x / (tokens.var(0, correction=0) + eps).sqrt() + bias

# %% wrong batch_norm gain_unused of="over_all_channels"
# The gain does nothing: multiply the normalised channels by it.
# replace: return gain * (x - tokens.mean()) / (tokens.var(correction=0) + eps).sqrt() + bias
# by:      return (x - tokens.mean(0)) / (tokens.var(0, correction=0) + eps).sqrt() + bias

# %% wrong batch_norm bias_unused of="over_all_channels"
# The bias does nothing: add it at the end.
# replace: return gain * (x - tokens.mean()) / (tokens.var(correction=0) + eps).sqrt() + bias
# by:      return gain * (x - tokens.mean(0)) / (tokens.var(0, correction=0) + eps).sqrt()

# %% wrong batch_norm bias_before_gain of="over_all_channels"
# You add the bias first and multiply by the gain after it: the bias comes last.
# replace: return gain * (x - tokens.mean()) / (tokens.var(correction=0) + eps).sqrt() + bias
# by:      return gain * ((x - tokens.mean(0)) / (tokens.var(0, correction=0) + eps).sqrt() + bias)

# %% wrong batch_norm real_tokens_only of="over_all_channels"
# You return the real tokens in one long row: return all of (batch, length, channels).
# replace: return gain * (x - tokens.mean()) / (tokens.var(correction=0) + eps).sqrt() + bias
# by:      return F.batch_norm(tokens, None, None, gain, bias, True, eps=eps)


# %% wrong batch_norm padding_not_a_number
# You put NaN into the padding, and whatever is computed from it later becomes NaN too: any number
# will do there.
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    real = torch.arange(x.shape[1]) < lengths[:, None]
    result = torch.full_like(x, torch.nan)
    result[real] = F.batch_norm(x[real], None, None, gain, bias, True, eps=eps)
    return result


# %% wrong batch_norm changes_its_input
# Your code writes into the caller's x: make a new tensor in place of changing the old one.
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    real = torch.arange(x.shape[1]) < lengths[:, None]
    tokens = x[real]
    x[~real] = 0.0
    return gain * (x - tokens.mean(0)) / (tokens.var(0, correction=0) + eps).sqrt() + bias


# %% wrong batch_norm statistics_without_gradient
# The statistics are cut off from x, so the gradient misses a part: let it flow through every step.
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    tokens = x.detach()[torch.arange(x.shape[1]) < lengths[:, None]]
    return gain * (x - tokens.mean(0)) / (tokens.var(0, correction=0) + eps).sqrt() + bias


# %% wrong batch_norm not_a_number_in_the_gradient
# Your gradient is not a number: NaN that is put in and taken out again on the way up spoils the way
# down. Gather the real tokens, or fill with 0.
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    real = (torch.arange(x.shape[1])[None] < lengths[:, None])[:, :, None]
    kept = torch.where(real, x, torch.nan)
    mean = kept.nanmean((0, 1))
    variance = (kept - mean).square().nanmean((0, 1))
    return torch.where(real, gain * (x - mean) / (variance + eps).sqrt() + bias, 0.0)


# %% wrong batch_norm forgotten_return of="over_all_channels"
# does the last line say `return`?
# replace: return gain * (x - tokens.mean()) / (tokens.var(correction=0) + eps).sqrt() + bias
# by:      gain * (x - tokens.mean(0)) / (tokens.var(0, correction=0) + eps).sqrt() + bias


# %% wrong batch_norm longest_only
# You cut all sequences at the longest one: padding of the shorter ones still counts.
def batch_norm(x, lengths, gain, bias, eps=1e-5):
    t = x[:, : lengths.max()].flatten(0, 1)
    return gain * (x - t.mean(0)) / (t.var(0, correction=0) + eps).sqrt() + bias


# %% right batch_norm of_torch
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    real = torch.arange(x.shape[1]) < lengths[:, None]
    result = torch.zeros_like(x)
    result[real] = F.batch_norm(x[real], None, None, gain, bias, training=True, eps=eps)
    return result


# %% right batch_norm weighted_sums
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    real = (torch.arange(x.shape[1]) < lengths[:, None]).unsqueeze(-1).to(x.dtype)
    count = real.sum()
    mean = (x * real).sum((0, 1), keepdim=True) / count
    centred = (x - mean) * real
    variance = centred.square().sum((0, 1), keepdim=True) / count
    return (gain * centred / (variance + eps).sqrt() + bias) * real


# %% right batch_norm loop_over_sequences
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    tokens = torch.cat([x[i, : int(length)] for i, length in enumerate(lengths)])
    mean = tokens.mean(dim=0)
    variance = (tokens - mean).pow(2).mean(dim=0)
    return (x - mean) / torch.sqrt(variance + eps) * gain + bias


# %% right batch_norm loop_over_channels
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    real = torch.zeros(x.shape[:2], dtype=torch.bool)
    for line, length in zip(real, lengths.tolist(), strict=True):
        line[:length] = True
    channels = []
    for i in range(x.shape[2]):
        values = x[:, :, i].masked_select(real)
        variance, mean = torch.var_mean(values, correction=0)
        channels.append((x[:, :, i] - mean) / (variance + eps).sqrt() * gain[i] + bias[i])
    return torch.stack(channels, -1)


# %% right batch_norm einsum
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    share = (torch.arange(x.shape[1]) < lengths[:, None]).to(x.dtype) / lengths.sum()
    mean = torch.einsum("blc,bl->c", x, share)
    variance = torch.einsum("blc,bl->c", (x - mean).square(), share)
    return gain * (x - mean) * (variance + eps).rsqrt() + bias


# %% right batch_norm where
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    real = (torch.arange(x.shape[1])[None] < lengths[:, None])[:, :, None]
    count = real.sum()
    mean = torch.where(real, x, 0.0).sum((0, 1)) / count
    variance = torch.where(real, (x - mean) ** 2, 0.0).sum((0, 1)) / count
    return torch.where(real, gain * (x - mean) / (variance + eps).sqrt() + bias, 0.0)


# %% wrong Residual normalised_word_added of="norm_of_the_sublayer"
# With the norm first you add the normalised word: what is added is x itself, as it came in.
# replace: return x + self.norm(self.sublayer(x))
# by:      if self.norm_first:
#              x = self.norm(x)
#              return x + self.sublayer(x)
#          return self.norm(x + self.sublayer(x))

# %% wrong Residual x_not_added of="norm_of_the_sublayer"
# x is not added: what comes out is the sublayer's own work, done once or twice.
# replace: return x + self.norm(self.sublayer(x))
# by:      if self.norm_first:
#              return self.sublayer(self.norm(x))
#          return self.norm(self.sublayer(x))

# %% wrong Residual x_not_added_at_the_end of="norm_of_the_sublayer"
# With the norm last you normalise what the sublayer gives alone: add x before the norm.
# replace: return x + self.norm(self.sublayer(x))
# by:      if self.norm_first:
#              return x + self.sublayer(self.norm(x))
#          return self.norm(self.sublayer(x))

# %% wrong Residual choice_turned_round of="norm_of_the_sublayer"
# The two choices are the wrong way round: norm_first=True puts the norm before the sublayer.
# replace: return x + self.norm(self.sublayer(x))
# by:      if not self.norm_first:
#              return x + self.sublayer(self.norm(x))
#          return self.norm(x + self.sublayer(x))

# %% wrong Residual always_norm_last of="norm_of_the_sublayer"
# The two choices are the wrong way round: norm_first=True puts the norm before the sublayer.
# replace: self.sublayer, self.norm, self.norm_first = sublayer, nn.LayerNorm(d_model), norm_first
# by:      self.sublayer, self.norm = sublayer, nn.LayerNorm(d_model)
# replace: return x + self.norm(self.sublayer(x))
# by:      return self.norm(x + self.sublayer(x))

# %% wrong Residual always_norm_first of="norm_of_the_sublayer"
# With norm_first=False the norm still stands before the sublayer: it belongs behind the addition.
# replace: self.sublayer, self.norm, self.norm_first = sublayer, nn.LayerNorm(d_model), norm_first
# by:      self.sublayer, self.norm = sublayer, nn.LayerNorm(d_model)
# replace: return x + self.norm(self.sublayer(x))
# by:      return x + self.sublayer(self.norm(x))


# %% wrong Residual norm_of_the_sublayer
# You normalise what the sublayer gives, and add x after it: with the norm last, the sum is
# normalised; with the norm first, what goes into the sublayer.
class Residual(nn.Module):
    def __init__(self, sublayer: nn.Module, d_model: int, norm_first: bool) -> None:
        super().__init__()
        self.sublayer, self.norm, self.norm_first = sublayer, nn.LayerNorm(d_model), norm_first

    def forward(self, x: Tensor) -> Tensor:
        return x + self.norm(self.sublayer(x))


# %% wrong Residual norm_before_the_addition of="norm_of_the_sublayer"
# With the norm last you normalise what the sublayer gives, and then add x: add first, then
# normalise the sum.
# replace: def forward(self, x: Tensor) -> Tensor:
# by:      def forward(self, x: Tensor) -> Tensor:
#              if self.norm_first:
#                  return x + self.sublayer(self.norm(x))

# %% wrong Residual both_norms of="norm_of_the_sublayer"
# With the norm first you normalise a second time at the end: leave the sum as it is.
# replace: return x + self.norm(self.sublayer(x))
# by:      inner = self.norm(x) if self.norm_first else x
#          return self.norm(x + self.sublayer(inner))

# %% wrong Residual norm_first_in_both of="norm_of_the_sublayer"
# With the norm last the sublayer gets a normalised word: there it gets x as it is, and only the sum
# is normalised.
# replace: return x + self.norm(self.sublayer(x))
# by:      total = x + self.sublayer(self.norm(x))
#          return total if self.norm_first else self.norm(total)

# %% wrong Residual no_norm of="norm_of_the_sublayer"
# Nothing is normalised: the norm is missing from forward.
# replace: return x + self.norm(self.sublayer(x))
# by:      return x + self.sublayer(x)

# %% wrong Residual sublayer_twice of="norm_of_the_sublayer"
# x is not added: what comes out is the sublayer's own work, done once or twice.
# replace: return x + self.norm(self.sublayer(x))
# by:      if self.norm_first:
#              x = self.norm(x)
#          changed = self.sublayer(x)
#          total = changed + self.sublayer(changed)
#          return total if self.norm_first else self.norm(total)

# %% wrong Residual x_doubled of="norm_of_the_sublayer"
# x is added twice: once is enough.
# replace: return x + self.norm(self.sublayer(x))
# by:      if self.norm_first:
#              return 2 * x + self.sublayer(self.norm(x))
#          return self.norm(2 * x + self.sublayer(x))

# %% wrong Residual subtracted of="norm_of_the_sublayer"
# What the sublayer gives is subtracted: it is added.
# replace: return x + self.norm(self.sublayer(x))
# by:      if self.norm_first:
#              return x - self.sublayer(self.norm(x))
#          return self.norm(x - self.sublayer(x))

# %% wrong Residual changes_x of="norm_of_the_sublayer"
# Your code writes into the caller's x: += changes it, so write x = x + … in its place.
# replace: return x + self.norm(self.sublayer(x))
# by:      if self.norm_first:
#              x += self.sublayer(self.norm(x))
#              return x
#          return self.norm(x + self.sublayer(x))

# %% wrong Residual parts_called_otherwise of="norm_of_the_sublayer"
# The parts have other names than the docstring gives them: they are `sublayer` and `norm`.
# replace: self.sublayer, self.norm
# by:      self.layer, self.layer_norm
# replace: return x + self.norm(self.sublayer(x))
# by:      if self.norm_first:
#              return x + self.layer(self.layer_norm(x))
#          return self.layer_norm(x + self.layer(x))

# %% wrong Residual two_norms of="norm_that_learns_nothing"
# Your module has two norms, and needs one: the same `norm` serves both choices.
# replace: self.norm = lambda x: F.layer_norm(x, (d_model,))
# by:      self.norm, self.last_norm = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
# replace: return self.norm(x + self.sublayer(x))
# by:      return self.last_norm(x + self.sublayer(x))

# %% wrong Residual norm_that_learns_nothing of="solution"
# Your norm learns nothing that lasts: make one module with a gain and a bias in __init__, and
# keep it on self as `norm`.
# replace: self.sublayer = sublayer
#          self.norm = LayerNorm(d_model)
#          self.norm_first = norm_first
# by:      self.sublayer, self.norm_first = sublayer, norm_first
#          self.norm = lambda x: F.layer_norm(x, (d_model,))


# %% wrong Residual norm_made_in_forward
# Your norm learns nothing that lasts: make one module with a gain and a bias in __init__, and
# keep it on self as `norm`.
class Residual(nn.Module):
    def __init__(self, sublayer: nn.Module, d_model: int, norm_first: bool) -> None:
        super().__init__()
        self.sublayer, self.norm_first = sublayer, norm_first

    def forward(self, x: Tensor) -> Tensor:
        norm = nn.LayerNorm(x.shape[-1], dtype=x.dtype)
        if self.norm_first:
            return x + self.sublayer(norm(x))
        return norm(x + self.sublayer(x))


# %% wrong Residual way_around_cut_off of="norm_of_the_sublayer"
# The gradient cannot take the way around, because you cut x off: add x itself.
# replace: return x + self.norm(self.sublayer(x))
# by:      if self.norm_first:
#              return x.detach() + self.sublayer(self.norm(x))
#          return self.norm(x.detach() + self.sublayer(x))

# %% wrong Residual copied_sublayer of="solution"
# You keep a copy of the sublayer: keep the one that is handed over.
# replace: def __init__(self, sublayer: nn.Module, d_model: int, norm_first: bool) -> None:
# by:      def __init__(self, sublayer: nn.Module, d_model: int, norm_first: bool) -> None:
#              from copy import deepcopy
#
# replace: self.sublayer = sublayer
#          self.norm = LayerNorm(d_model)
# by:      self.sublayer, self.norm = deepcopy(sublayer), nn.LayerNorm(d_model)

# %% wrong Residual no_super of="solution"
# the first line of `__init__` is `super().__init__()`
# replace: super().__init__()
#          self.sublayer = sublayer
#          self.norm = LayerNorm(d_model)
#          self.norm_first = norm_first
# by:      self.sublayer, self.norm, self.norm_first = sublayer, nn.LayerNorm(d_model), norm_first

# %% wrong Residual forgotten_return of="norm_of_the_sublayer"
# does the last line say `return`?
# replace: return x + self.norm(self.sublayer(x))
# by:      if self.norm_first:
#              x + self.sublayer(self.norm(x))
#          else:
#              self.norm(x + self.sublayer(x))


# %% wrong Residual sublayer_set_to_eval
# You change the sublayer's mode: whether it trains is for others to say.
class Residual(nn.Module):
    def __init__(self, sublayer, d_model, norm_first):
        super().__init__()
        self.sublayer, self.norm, self.norm_first = (
            sublayer.eval(),
            nn.LayerNorm(d_model),
            norm_first,
        )

    def forward(self, x):
        self.sublayer.eval()
        if self.norm_first:
            return x + self.sublayer(self.norm(x))
        return self.norm(x + self.sublayer(x))


# %% right Residual norm_of_torch
class Residual(nn.Module):
    def __init__(self, sublayer: nn.Module, d_model: int, norm_first: bool) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.sublayer = sublayer
        self.first = norm_first

    def forward(self, x: Tensor) -> Tensor:
        changed = self.sublayer(self.norm(x) if self.first else x)
        return x + changed if self.first else self.norm(x + changed)


# %% right Residual two_ways_chosen_once
class Residual(nn.Module):
    def __init__(self, sublayer: nn.Module, d_model: int, norm_first: bool) -> None:
        super().__init__()
        self.sublayer = sublayer
        self.norm = LayerNorm(d_model)
        self.way = self.before if norm_first else self.after

    def before(self, x: Tensor) -> Tensor:
        return self.sublayer(self.norm(x)) + x

    def after(self, x: Tensor) -> Tensor:
        return self.norm(self.sublayer(x) + x)

    def forward(self, x: Tensor) -> Tensor:
        return self.way(x)


# %% right Residual step_by_step
class Residual(nn.Module):
    sublayer: nn.Module
    norm: nn.LayerNorm

    def __init__(self, sublayer: nn.Module, d_model: int, norm_first: bool) -> None:
        super().__init__()
        self.add_module("sublayer", sublayer)
        self.add_module("norm", nn.LayerNorm(d_model, eps=1e-5))
        self.norm_first = norm_first

    def forward(self, x: Tensor) -> Tensor:
        kept = x
        if self.norm_first:
            x = self.norm(x)
        x = self.sublayer(x)
        x = torch.add(kept, x)
        if not self.norm_first:
            x = self.norm(x)
        return x


# %% right Residual norm_of_its_own
class OwnNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.bias, self.gamma = nn.Parameter(torch.zeros(width)), nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(x, self.bias.shape, self.gamma, self.bias)


class Residual(nn.Module):
    def __init__(self, sublayer: nn.Module, d_model: int, norm_first: bool) -> None:
        super().__init__()
        self.sublayer, self.norm, self.norm_first = sublayer, OwnNorm(d_model), norm_first

    def forward(self, x: Tensor) -> Tensor:
        if self.norm_first:
            return x + self.sublayer(self.norm(x))
        return self.norm(x + self.sublayer(x))


# %% right Residual buffered_choice of="solution"
# replace: self.norm_first = norm_first
# by:      self.register_buffer("norm_first", torch.tensor(norm_first))


# %% wrong repaired_gradient one_everywhere
# You add 1 to every entry: only the diagonal gets one, because input 1 is not added to output 2.
def repaired_gradient(jacobian: Tensor) -> Tensor:
    return 1 + jacobian


# %% wrong repaired_gradient identity_alone
# This is the slide's claim, the way around alone: the way through the layer adds its own Jacobian.
def repaired_gradient(jacobian: Tensor) -> Tensor:
    return torch.eye(len(jacobian), dtype=jacobian.dtype)


# %% wrong repaired_gradient ones_alone
# You return ones only: the way around has the identity as its Jacobian, and the layer adds its own.
def repaired_gradient(jacobian: Tensor) -> Tensor:
    return torch.ones_like(jacobian)


# %% wrong repaired_gradient layer_alone
# This is the layer's Jacobian alone: the way around is missing.
def repaired_gradient(jacobian: Tensor) -> Tensor:
    return jacobian.clone()


# %% wrong repaired_gradient product
# You multiply the two ways: what is added going up is added in the gradient too.
def repaired_gradient(jacobian: Tensor) -> Tensor:
    return torch.eye(len(jacobian), dtype=jacobian.dtype) * jacobian


# %% wrong repaired_gradient subtracted
# You subtract the layer's Jacobian: it is added.
def repaired_gradient(jacobian: Tensor) -> Tensor:
    return torch.eye(len(jacobian), dtype=jacobian.dtype) - jacobian


# %% wrong repaired_gradient subtracted_the_other_way
# You subtract the identity: it is added.
def repaired_gradient(jacobian: Tensor) -> Tensor:
    return jacobian - torch.eye(len(jacobian), dtype=jacobian.dtype)


# %% wrong repaired_gradient transposed
# Rows and columns have changed places: row i belongs to output i, as in the Jacobian that you get.
def repaired_gradient(jacobian: Tensor) -> Tensor:
    return torch.eye(len(jacobian), dtype=jacobian.dtype) + jacobian.T


# %% wrong repaired_gradient diagonal_replaced
# You put 1 in place of the diagonal: add it to what stands there.
def repaired_gradient(jacobian: Tensor) -> Tensor:
    return jacobian.clone().fill_diagonal_(1.0)


# %% wrong repaired_gradient two_by_two
# Your identity is always 2 by 2: make it as large as the Jacobian.
def repaired_gradient(jacobian: Tensor) -> Tensor:
    return jacobian + torch.tensor([[1, 0], [0, 1]])


# %% wrong repaired_gradient changes_its_input
# Your code writes into the caller's Jacobian: make a new tensor in place of changing the old one.
def repaired_gradient(jacobian: Tensor) -> Tensor:
    jacobian.diagonal().add_(1)
    return jacobian


# %% right repaired_gradient as_if_filled
def repaired_gradient(jacobian: Tensor) -> Tensor:
    return jacobian + torch.diag(torch.ones(jacobian.shape[0])).to(jacobian)


# %% right repaired_gradient diagonal_of_a_copy
def repaired_gradient(jacobian: Tensor) -> Tensor:
    result = jacobian.clone()
    for i in range(len(result)):
        result[i, i] += 1
    return result


# %% right repaired_gradient asked_of_autograd
def repaired_gradient(jacobian: Tensor) -> Tensor:
    point = torch.zeros(len(jacobian), dtype=jacobian.dtype)
    return torch.autograd.functional.jacobian(lambda x: x + jacobian @ x, point)


# %% right repaired_gradient comparison
def repaired_gradient(jacobian: Tensor) -> Tensor:
    places = torch.arange(len(jacobian))
    return torch.where(places == places[:, None], jacobian + 1, jacobian)


# %% right repaired_gradient identity_inferred
def repaired_gradient(jacobian: Tensor) -> Tensor:
    return jacobian + torch.eye(*jacobian.shape)
