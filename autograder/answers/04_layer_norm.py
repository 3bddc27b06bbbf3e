# %% given imports
# pyright: reportRedeclaration=false, reportReturnType=false, reportUnusedExpression=false
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformer_course.checks import numbers


# %% wrong layer_norm unbiased_variance
# Your variance divides by d − 1, the default of `var`. Layer norm divides by d: pass
# `correction=0`.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    variance = x.var(dim=-1, keepdim=True)
    return gain * (x - x.mean(-1, keepdim=True)) / (variance + eps).sqrt() + bias


# %% wrong layer_norm unbiased_deviation of="no_eps"
# Your variance divides by d − 1, the default of `var`. Layer norm divides by d: pass
# `correction=0`.
# replace: deviation = x.std(-1, keepdim=True, correction=0)
# by:      deviation = (x.std(-1, keepdim=True).square() + eps).sqrt()

# %% wrong layer_norm eps_outside_the_root of="no_eps"
# You add eps to the standard deviation, outside the root. Add it to the variance, then take the
# root.
# replace: return gain * (x - x.mean(-1, keepdim=True)) / deviation + bias
# by:      return gain * (x - x.mean(-1, keepdim=True)) / (deviation + eps) + bias


# %% wrong layer_norm eps_squared
# You add the square of eps under the root. Add eps itself to the variance.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    variance = x.var(-1, keepdim=True, correction=0)
    return gain * (x - x.mean(-1, keepdim=True)) / (variance + eps**2).sqrt() + bias


# %% wrong layer_norm no_eps
# Your eps has no effect here. Add it to the variance, under the root.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    deviation = x.std(-1, keepdim=True, correction=0)
    return gain * (x - x.mean(-1, keepdim=True)) / deviation + bias


# %% wrong layer_norm eps_written_as_a_number of="eps_squared"
# Something other than the argument `eps` is added under the root. Add `eps` itself, and nothing
# else.
# replace: return gain * (x - x.mean(-1, keepdim=True)) / (variance + eps**2).sqrt() + bias
# by:      return gain * (x - x.mean(-1, keepdim=True)) / (variance + 1e-5).sqrt() + bias


# %% wrong layer_norm eps_and_a_number of="eps_squared"
# Something other than the argument `eps` is added under the root. Add `eps` itself, and nothing
# else.
# replace: return gain * (x - x.mean(-1, keepdim=True)) / (variance + eps**2).sqrt() + bias
# by:      return gain * (x - x.mean(-1, keepdim=True)) / (variance + eps + 1e-5).sqrt() + bias


# %% wrong layer_norm eps_as_a_floor
# Your eps has no effect beside a larger variance. It is added to the variance, under the root,
# however large the variance is.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    variance = x.var(-1, keepdim=True, correction=0).clamp(min=eps)
    return gain * (x - x.mean(-1, keepdim=True)) / variance.sqrt() + bias


# %% wrong layer_norm eps_as_the_smallest_divisor of="no_eps"
# Your eps has no effect beside a larger standard deviation. Add it to the variance, under the root,
# whatever the variance is.
# replace: deviation = x.std(-1, keepdim=True, correction=0)
# by:      deviation = x.std(-1, keepdim=True, correction=0).clamp(min=eps)


# %% wrong layer_norm another_default
# Your default eps is not 0.00001. Keep the default of the stub.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-6) -> Tensor:
    return F.layer_norm(x, gain.shape, gain, bias, eps)


# %% wrong layer_norm divided_by_variance of="eps_squared"
# You divide by the variance. Take its root first.
# replace: return gain * (x - x.mean(-1, keepdim=True)) / (variance + eps**2).sqrt() + bias
# by:      return gain * (x - x.mean(-1, keepdim=True)) / (variance + eps) + bias

# %% wrong layer_norm root_taken_twice of="no_eps"
# You take the root twice, so large tokens stay large. `std` has already taken it.
# replace: return gain * (x - x.mean(-1, keepdim=True)) / deviation + bias
# by:      return gain * (x - x.mean(-1, keepdim=True)) / (deviation + eps).sqrt() + bias

# %% wrong layer_norm sum_for_mean of="eps_squared"
# You subtract the sum of the features, not their mean. Divide the sum by the number of features.
# replace: return gain * (x - x.mean(-1, keepdim=True)) / (variance + eps**2).sqrt() + bias
# by:      return gain * (x - x.sum(-1, keepdim=True)) / (variance + eps).sqrt() + bias


# %% wrong layer_norm as_the_slide_has_it
# Your result is that of a formula with a sum in place of the mean. Divide μ by d, also where it
# enters the variance.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    centred = x - x.sum(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    return gain * centred / (variance + eps).sqrt() + bias


# %% wrong layer_norm sum_of_squares
# You divide by the root of the sum of the squares. The variance is their mean.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.square().sum(-1, keepdim=True)
    return gain * centred / (variance + eps).sqrt() + bias


# %% wrong layer_norm length_of_the_word
# You divide by the root of the sum of the squares. The variance is their mean.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    length = (centred.norm(dim=-1, keepdim=True).square() + eps).sqrt()
    return gain * centred / length + bias


# %% wrong layer_norm mean_not_subtracted of="eps_squared"
# You divide by the standard deviation but do not subtract the mean. Subtract it from x first.
# replace: return gain * (x - x.mean(-1, keepdim=True)) / (variance + eps**2).sqrt() + bias
# by:      return gain * x / (variance + eps).sqrt() + bias


# %% wrong layer_norm root_mean_square
# You divide by the root mean square of x itself. The variance is the mean square of the deviations
# from the mean.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    return gain * centred / (x.square().mean(-1, keepdim=True) + eps).sqrt() + bias


# %% wrong layer_norm no_mean_at_all
# This is RMS norm, which comes in part 4. Layer norm subtracts the mean, above and below the
# fraction line.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return gain * x / (x.square().mean(-1, keepdim=True) + eps).sqrt() + bias


# %% wrong layer_norm mean_only
# You subtract the mean but do not divide. Divide by the standard deviation too.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return gain * (x - x.mean(-1, keepdim=True)) + bias


# %% wrong layer_norm mean_of_sizes of="root_mean_square"
# You divide by the mean of the absolute deviations. Square them, take the mean, then the root.
# replace: return gain * centred / (x.square().mean(-1, keepdim=True) + eps).sqrt() + bias
# by:      return gain * centred / (centred.abs().mean(-1, keepdim=True) + eps) + bias


# %% wrong layer_norm between_smallest_and_largest
# You divide by the distance from the smallest to the largest feature. Divide by the standard
# deviation.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    spread = x.amax(-1, keepdim=True) - x.amin(-1, keepdim=True)
    return gain * (x - x.mean(-1, keepdim=True)) / (spread + eps) + bias


# %% wrong layer_norm over_the_words
# You normalise each feature over the tokens. Take the mean and the variance over the features of
# each token, the last axis.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    centred = x - x.mean(0, keepdim=True)
    variance = centred.square().mean(0, keepdim=True)
    return gain * centred / (variance + eps).sqrt() + bias


# %% wrong layer_norm over_everything
# All your tokens share one mean and one variance. Each token has its own, over the last axis.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return gain * (x - x.mean()) / (x.var(correction=0) + eps).sqrt() + bias


# %% wrong layer_norm over_the_second_axis
# You always use axis 1, which holds the features only when there are two axes. Use the last axis,
# `dim=-1`.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    centred = x - x.mean(1, keepdim=True)
    variance = centred.square().mean(1, keepdim=True)
    return gain * centred / (variance + eps).sqrt() + bias


# %% wrong layer_norm over_a_sentence
# All tokens of a sequence share one mean and one variance. Each token has its own, over the last
# axis alone.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    axes = tuple(range(1, x.dim())) if x.dim() > 2 else (-1,)
    centred = x - x.mean(axes, keepdim=True)
    return gain * centred / (centred.square().mean(axes, keepdim=True) + eps).sqrt() + bias


# %% wrong layer_norm own_mean_but_shared_variance of="root_mean_square"
# Each token has its own mean, but all share one variance. The variance belongs to one token too.
# replace: return gain * centred / (x.square().mean(-1, keepdim=True) + eps).sqrt() + bias
# by:      return gain * centred / (centred.square().mean() + eps).sqrt() + bias


# %% wrong layer_norm axis_lost
# Your mean loses its axis, so it no longer lines up with the tokens. Pass `keepdim=True`.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return gain * (x - x.mean(-1)) / (x.var(-1, correction=0) + eps).sqrt() + bias


# %% wrong layer_norm gain_unused
# The gain has no effect. Multiply the normalised features by it.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], None, bias, eps)


# %% wrong layer_norm bias_unused
# The bias has no effect. Add it at the end.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], gain, None, eps)


# %% wrong layer_norm neither_gain_nor_bias
# Gain and bias have no effect. Multiply by the gain, then add the bias.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], None, None, eps)


# %% wrong layer_norm bias_before_gain
# You add the bias before you multiply by the gain. Add the bias last.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return gain * (F.layer_norm(x, x.shape[-1:], None, None, eps) + bias)


# %% wrong layer_norm gain_and_bias_swapped
# You have swapped gain and bias. The gain multiplies, the bias is added.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], bias, gain, eps)


# %% wrong layer_norm bias_subtracted
# You subtract the bias. Add it.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], gain, -bias, eps)


# %% wrong layer_norm gain_before_the_norm
# You multiply by the gain before you normalise, so the norm takes it away again. Multiply
# afterwards.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return F.layer_norm(gain * x, x.shape[-1:], None, bias, eps)


# %% wrong layer_norm brackets_forgotten of="eps_squared"
# You divide only the mean, because division comes before subtraction. Put x minus the mean in
# brackets.
# replace: return gain * (x - x.mean(-1, keepdim=True)) / (variance + eps**2).sqrt() + bias
# by:      return gain * (x - x.mean(-1, keepdim=True) / (variance + eps).sqrt()) + bias


# %% wrong layer_norm only_the_mean_divided of="eps_squared"
# You divide only the mean, because division comes before subtraction. Put x minus the mean in
# brackets.
# replace: return gain * (x - x.mean(-1, keepdim=True)) / (variance + eps**2).sqrt() + bias
# by:      return gain * x - x.mean(-1, keepdim=True) / (variance + eps).sqrt() + bias


# %% wrong layer_norm mean_without_gradient
# A part of the gradient is missing: the mean, at least, is cut off from x. Let the gradient flow
# through every step.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    centred = x - x.mean(-1, keepdim=True).detach()
    return gain * centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt() + bias


# %% wrong layer_norm statistics_without_gradient
# A part of the gradient is missing: the mean, at least, is cut off from x. Let the gradient flow
# through every step.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    with torch.no_grad():
        mean, variance = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, correction=0)
    return gain * (x - mean) / (variance + eps).sqrt() + bias


# %% wrong layer_norm deviation_without_gradient of="sum_of_squares"
# A part of the gradient is missing: the variance is cut off from x. Let the gradient flow through
# every step.
# replace: variance = centred.square().sum(-1, keepdim=True)
# by:      variance = centred.square().mean(-1, keepdim=True).detach()


# %% wrong layer_norm changes_its_input
# Your code changes the caller's x. Create a new tensor instead of writing into x.
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    x -= x.mean(-1, keepdim=True)
    return gain * x / (x.square().mean(-1, keepdim=True) + eps).sqrt() + bias


# %% wrong layer_norm numpy_on_the_way
# You convert the tensor to NumPy, and no gradient flows through NumPy. Tensors have their own mean
# and var.
import numpy as np


def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    rows = x.numpy()
    scaled = (rows - rows.mean(-1, keepdims=True)) / np.sqrt(rows.var(-1, keepdims=True) + eps)
    return gain * torch.from_numpy(scaled) + bias


# %% wrong layer_norm narrower_numbers
# Your result is right to a few digits only. Either something other than `eps` is added under the
# root, or a step runs in float32.
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
# This is the slide's own divisor. It has a sum in place of the mean, one root too many, and eps
# outside the root.
def repaired_divisor(x: Tensor, eps: float) -> Tensor:
    sigma = (x - x.sum(-1, keepdim=True)).square().mean(-1, keepdim=True).sqrt()
    return sigma.sqrt() + eps


# %% wrong repaired_divisor sum_still_there of="solution"
# You have fixed the roots, but μ is still a sum. Divide it by d.
# replace: variance = x.var(dim=-1, correction=0, keepdim=True)
# by:      variance = (x - x.sum(-1, keepdim=True)).square().mean(-1, keepdim=True)


# %% wrong repaired_divisor eps_outside
# You have removed the extra root, but eps is still outside. Add it to the variance, under the root.
def repaired_divisor(x: Tensor, eps: float) -> Tensor:
    return x.std(-1, correction=0, keepdim=True) + eps


# %% wrong repaired_divisor root_of_deviation
# The slide's second root is still there. σ is a root already, and one root is enough.
def repaired_divisor(x: Tensor, eps: float) -> Tensor:
    return (x.std(-1, correction=0, keepdim=True) + eps).sqrt()


# %% wrong repaired_divisor only_the_mean_mended
# You have fixed the mean, but there is still one root too many, and eps is outside the root.
def repaired_divisor(x: Tensor, eps: float) -> Tensor:
    return x.std(-1, correction=0, keepdim=True).sqrt() + eps


# %% wrong repaired_divisor no_root
# Now there is no root at all. The slide has one too many, not two.
def repaired_divisor(x: Tensor, eps: float) -> Tensor:
    return x.var(-1, correction=0, keepdim=True) + eps


# %% wrong repaired_divisor without_eps
# Your eps is missing. A token whose features are all equal gets the divisor 0.
def repaired_divisor(x: Tensor, eps: float) -> Tensor:
    return x.std(-1, correction=0, keepdim=True)


# %% wrong repaired_divisor unbiased
# Your variance divides by d − 1. The slide divides by d, and that is right.
def repaired_divisor(x: Tensor, eps: float) -> Tensor:
    return (x.var(-1, keepdim=True) + eps).sqrt()


# %% wrong repaired_divisor axis_lost
# Your result has lost the axis of size 1 that makes it line up with the tokens. Keep it.
def repaired_divisor(x: Tensor, eps: float) -> Tensor:
    return (x.var(-1, correction=0) + eps).sqrt()


# %% wrong repaired_divisor of_all_words
# You return one divisor for all tokens. Each token has its own.
def repaired_divisor(x: Tensor, eps: float) -> Tensor:
    return (x.var(correction=0) + eps).sqrt()


# %% wrong repaired_divisor over_the_words
# Your divisor belongs to a feature. It should belong to a token: average over the last axis.
def repaired_divisor(x: Tensor, eps: float) -> Tensor:
    return (x.var(0, correction=0, keepdim=True) + eps).sqrt()


# %% wrong repaired_divisor whole_norm
# This is the normalised token. Return only its divisor.
def repaired_divisor(x: Tensor, eps: float) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], eps=eps)


# %% wrong repaired_divisor mean_square
# You take the mean square of x itself. Subtract the mean of the token first.
def repaired_divisor(x: Tensor, eps: float) -> Tensor:
    return (x.square().mean(-1, keepdim=True) + eps).sqrt()


# %% wrong repaired_divisor one_for_all
# All your tokens get the same divisor. Each has its own, from its own features.
def repaired_divisor(x: Tensor, eps: float) -> Tensor:
    return (x.var(correction=0) + eps).sqrt().expand(*x.shape[:-1], 1)


# %% wrong repaired_divisor sum_of_squares
# Your divisor takes the sum of the squared deviations. The variance is their mean.
def repaired_divisor(x: Tensor, eps: float) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    return (centred.square().sum(-1, keepdim=True) + eps).sqrt()


# %% wrong repaired_divisor eps_written_as_a_number of="solution"
# Your divisors are not those of the eps that is given. Add the argument `eps`.
# replace: return (variance + eps).sqrt()
# by:      return (variance + 1e-5).sqrt()

# %% wrong repaired_divisor eps_squared of="solution"
# You add the square of eps under the root. Add eps itself to the variance.
# replace: return (variance + eps).sqrt()
# by:      return (variance + eps**2).sqrt()

# %% wrong repaired_divisor larger_of_both of="solution"
# Your eps has no effect beside a larger variance. It is added to the variance, however large that
# is.
# replace: return (variance + eps).sqrt()
# by:      return variance.clamp(min=eps).sqrt()

# %% wrong repaired_divisor factor of="solution"
# Your result is one divided by the divisor: a factor. Return the divisor itself.
# replace: return (variance + eps).sqrt()
# by:      return (variance + eps).rsqrt()

# %% wrong repaired_divisor always_four_features of="solution"
# Your divisor is right for four features only. Divide by their number, whatever it is, each time
# you take a mean.
# replace: variance = x.var(dim=-1, correction=0, keepdim=True)
# by:      mu = x.sum(dim=-1, keepdim=True) / 4
#          variance = (x - mu).square().sum(dim=-1, keepdim=True) / 4

# %% wrong repaired_divisor axis_at_one of="solution"
# Your axis of size 1 is not the last one here. Put it there, however many axes x has.
# replace: return (variance + eps).sqrt()
# by:      return (variance.squeeze(-1) + eps).sqrt().unsqueeze(1)

# %% wrong repaired_divisor one_for_each_feature of="solution"
# Your result repeats each divisor for every feature. One for each token is asked for.
# replace: return (variance + eps).sqrt()
# by:      return (variance + eps).sqrt().expand_as(x)


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
# Four zeros make both formulas 0, so the exercise excludes them.
fooling_word = [0, 0, 0, 0]

# %% wrong fooling_word ones
# The sum of your token is 4 and its mean is 1. The slide and layer norm subtract different numbers.
fooling_word = [1.0, 1.0, 1.0, 1.0]

# %% wrong fooling_word mean_not_zero
# The mean of your token is not 0, so the slide's sum is four times as large.
fooling_word = [2.0, 0.0, 2.0, 0.0]

# %% wrong fooling_word too_large
# The mean is 0, but the standard deviation of your token is 2, and √2 is not 2.
fooling_word = [2.0, -2.0, 2.0, -2.0]

# %% wrong fooling_word counted
# The mean of your token is not 0, and its standard deviation is not 1. Neither slip of the slide is
# hidden.
fooling_word = [1.0, 2.0, 3.0, 4.0]

# %% wrong fooling_word unbiased_deviation_of_one
# Your standard deviation is 1 when the variance divides by d − 1. Here it divides by d, so your σ
# is a little below 1.
fooling_word = [0.866, -0.866, 0.866, -0.866]

# %% wrong fooling_word length_of_one
# The squares of your token have the sum 1. Their mean should be 1.
fooling_word = [0.5, -0.5, 0.5, -0.5]

# %% wrong fooling_word one_pair
# The mean is 0, but the mean of the squares is 1/2, because two of your features are 0.
fooling_word = [1.0, -1.0, 0.0, 0.0]

# %% wrong fooling_word three_numbers
# expected 4 numbers
fooling_word = [1.22, 0.0, -1.22]

# %% wrong fooling_word one_column
# expected 4 numbers
fooling_word = torch.tensor([[1.0], [-1.0], [1.0], [-1.0]])

# %% wrong fooling_word the_word_of_the_text
# This is the token in the text. Find another one.
fooling_word = [1.34, 0.45, -0.45, -1.34]

# %% wrong fooling_word of_the_text_turned_round
# This is the token in the text. Find another one.
fooling_word = [-1.34, -0.45, 0.45, 1.34]

# %% wrong fooling_word evenly_spread
# The mean is 0, but the standard deviation is 1.12, and √1.12 is not 1.12. Divided by 1.12, it is
# the token of the text: take features in other proportions.
fooling_word = [1.5, 0.5, -0.5, -1.5]

# %% wrong fooling_word far_side
# Your token is close, but the two formulas differ in the second decimal.
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


# %% wrong test_of_layer_norm always_true
# Your test accepts all of the wrong norms. Compare the result of `norm` with one that you trust,
# entry by entry, up to rounding.
def test_of_layer_norm(norm):
    return True


# %% wrong test_of_layer_norm shape_only
# Your test accepts all of the wrong norms. Compare the result of `norm` with one that you trust,
# entry by entry, up to rounding.
def test_of_layer_norm(norm):
    x = numbers(3, 5)
    return norm(x, numbers(5, seed=1), numbers(5, seed=2), 0.5).shape == x.shape


# %% wrong test_of_layer_norm tolerance_too_wide
# Your test accepts all of the wrong norms. Compare the result of `norm` with one that you trust,
# entry by entry, up to rounding.
def test_of_layer_norm(norm):
    x, gain, bias = numbers(3, 5), numbers(5, seed=1), numbers(5, seed=2)
    expected = F.layer_norm(x, (5,), gain, bias, 0.5)
    return torch.allclose(norm(x, gain, bias, 0.5), expected, atol=10.0)


# %% wrong test_of_layer_norm always_false
# Your test rejects right versions too. Return True where the result equals one that you trust,
# with the same eps and up to rounding.
def test_of_layer_norm(norm):
    return False


# %% wrong test_of_layer_norm no_room_for_rounding of="solution"
# Your test rejects right versions too. Return True where the result equals one that you trust,
# with the same eps and up to rounding.
# replace: return torch.allclose(norm(x, gain, bias, eps), expected)
# by:      return torch.equal(norm(x, gain, bias, 0.5), expected)

# %% wrong test_of_layer_norm another_eps of="solution"
# Your test rejects right versions too. Return True where the result equals one that you trust,
# with the same eps and up to rounding.
# replace: return torch.allclose(norm(x, gain, bias, eps), expected)
# by:      return torch.allclose(norm(x, gain, bias, 1e-5), expected)

# %% wrong test_of_layer_norm reversed_answer of="solution"
# Your test says True for wrong norms and False for right ones. Reverse it.
# replace: return torch.allclose(norm(x, gain, bias, eps), expected)
# by:      return not torch.allclose(norm(x, gain, bias, 0.5), expected)


# %% wrong test_of_layer_norm compared_with_the_famous_code
# Your test accepts the famous code and rejects right versions. Compare with a formula that divides
# by d and has eps under the root.
def test_of_layer_norm(norm):
    x, gain, bias = 3 * numbers(2, 4, 5) + 2, numbers(5, seed=1), numbers(5, seed=2)
    expected = gain * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 0.5) + bias
    return torch.allclose(norm(x, gain, bias, 0.5), expected)


# %% wrong test_of_layer_norm default_deviation
# Your test asks for a standard deviation with d − 1, and so rejects right versions. Pass
# `correction=0`.
def test_of_layer_norm(norm):
    x = 3 * numbers(4, 6) + 2
    y = norm(x, torch.ones(6).double(), torch.zeros(6).double(), 1e-9)
    centred = y.mean(-1).abs().max() < 1e-6
    return bool(centred and (y.std(-1) - 1).abs().max() < 1e-6)


# %% wrong test_of_layer_norm gain_and_bias_left_out of="solution"
# Your test does not see a wrong gain, or does not see a wrong bias. Compare all features, with
# entries other than 1 and 0 in both.
# replace: gain, bias = numbers(5, seed=1), numbers(5, seed=2)
# by:      gain, bias = torch.ones(5).double(), torch.zeros(5).double()

# %% wrong test_of_layer_norm gain_of_ones of="solution"
# Your test does not see a wrong gain, or does not see a wrong bias. Compare all features, with
# entries other than 1 and 0 in both.
# replace: gain, bias = numbers(5, seed=1), numbers(5, seed=2)
# by:      gain, bias = torch.ones(5).double(), numbers(5, seed=2)

# %% wrong test_of_layer_norm bias_of_zeros of="solution"
# Your test does not see a wrong gain, or does not see a wrong bias. Compare all features, with
# entries other than 1 and 0 in both.
# replace: gain, bias = numbers(5, seed=1), numbers(5, seed=2)
# by:      gain, bias = numbers(5, seed=1), torch.zeros(5).double()

# %% wrong test_of_layer_norm eps_of_zero of="solution"
# Your test accepts a norm with eps outside the root, and one that ignores it. Ask for agreement
# with an eps that is not small beside the variance, such as 0.5.
# replace: x, eps = 3 * numbers(2, 4, 5) + 2, 0.5
# by:      x, eps = 3 * numbers(2, 4, 5) + 2, 0.0

# %% wrong test_of_layer_norm eps_of_the_famous_code of="solution"
# Your test accepts a norm with eps outside the root, and one that ignores it. Ask for agreement
# with an eps that is not small beside the variance, such as 0.5.
# replace: x, eps = 3 * numbers(2, 4, 5) + 2, 0.5
# by:      x, eps = 3 * numbers(2, 4, 5) + 2, 1e-6


# %% wrong test_of_layer_norm only_the_default_eps
# Your test accepts a norm that always uses eps = 0.00001. Use another eps, large enough to change
# what you compare.
def test_of_layer_norm(norm):
    x, gain, bias = 0.01 * numbers(2, 4, 5), numbers(5, seed=1), numbers(5, seed=2)
    return torch.allclose(norm(x, gain, bias, 1e-5), F.layer_norm(x, (5,), gain, bias))


# %% wrong test_of_layer_norm many_features_and_two_decimals
# Your test accepts the famous code. Compare entry by entry, with few features, a large eps and a
# tolerance near rounding.
def test_of_layer_norm(norm):
    x, gain, bias = 3 * numbers(4, 512) + 1, numbers(512, seed=1), numbers(512, seed=2)
    expected = F.layer_norm(x, (512,), gain, bias, 1e-6)
    return torch.allclose(norm(x, gain, bias, 1e-6), expected, atol=0.01)


# %% wrong test_of_layer_norm one_token of="solution"
# Your test does not see which axis is normalised. Use several tokens, of different means and
# scales.
# replace: x, eps = 3 * numbers(2, 4, 5) + 2, 0.5
# by:      x, eps = 3 * numbers(5) + 2, 0.5


# %% wrong test_of_layer_norm mean_only
# Your test accepts nearly all norms that subtract the right mean. Compare the whole result with
# one that you trust, with entries other than 1 and 0 in gain and bias.
def test_of_layer_norm(norm):
    x = 3 * numbers(4, 6) + 2
    y = norm(x, torch.ones(6).double(), torch.zeros(6).double(), 1e-5)
    return bool(y.mean(-1).abs().max() < 1e-6)


# %% wrong test_of_layer_norm mean_and_deviation
# Your test accepts norms that ignore the gain or the bias, and one with eps outside the root. In
# a single comparison, entry by entry, use a gain other than 1, a bias other than 0 and a large
# eps.
def test_of_layer_norm(norm):
    x = 3 * numbers(4, 6) + 2
    y = norm(x, torch.ones(6).double(), torch.zeros(6).double(), 1e-9)
    centred = y.mean(-1).abs().max() < 1e-6
    return bool(centred and (y.std(-1, correction=0) - 1).abs().max() < 1e-6)


# %% wrong test_of_layer_norm token_of_scale_1
# Your test accepts a norm with a second root, and one that subtracts no mean. Use several tokens,
# with means other than 0 and standard deviations other than 1.
def test_of_layer_norm(norm):
    x, gain, bias = torch.tensor([1.0, -1.0, 1.0, -1.0]), torch.ones(4), torch.zeros(4)
    return torch.allclose(norm(x, gain, bias, 1e-5), x, atol=1e-4)


# %% wrong test_of_layer_norm tokens_of_mean_0
# Your test accepts a norm that subtracts no mean. Use tokens whose mean is not 0, and compare the
# entries as they are.
def test_of_layer_norm(norm):
    x = torch.tensor([[3.0, -3.0, 6.0, -6.0], [8.0, -8.0, 0.0, 0.0]])
    gain, bias = torch.tensor([2.0, 4.0, 6.0, 8.0]), torch.tensor([1.0, 0.0, -1.0, 3.0])
    return torch.allclose(norm(x, gain, bias, 2.0), F.layer_norm(x, (4,), gain, bias, 2.0))


# %% wrong test_of_layer_norm tokens_already_normal of="solution"
# Your test accepts a norm with a second root, and one that subtracts no mean. Use several tokens,
# with means other than 0 and standard deviations other than 1.
# replace: x, eps = 3 * numbers(2, 4, 5) + 2, 0.5
#          gain, bias = numbers(5, seed=1), numbers(5, seed=2)
#          expected = F.layer_norm(x, (5,), gain, bias, eps)
#          return torch.allclose(norm(x, gain, bias, eps), expected)
# by:      x = torch.tensor([[1.0, -1.0, 1.0, -1.0], [-1.0, -1.0, 1.0, 1.0]])
#          gain, bias = torch.tensor([3.0, 6.0, 9.0, 12.0]), torch.tensor([1.0, 0.0, -1.0, 2.0])
#          expected = F.layer_norm(x, (4,), gain, bias, 1e-5)
#          return torch.allclose(norm(x, gain, bias, 1e-5), expected, atol=1e-3)

# %% wrong test_of_layer_norm equal_tokens of="solution"
# On your tokens, one mean and one variance for all give the right result. Use several tokens, of
# different means and scales.
# replace: x, eps = 3 * numbers(2, 4, 5) + 2, 0.5
# by:      x, eps = (3 * numbers(5) + 2).repeat(3, 1), 0.5

# %% wrong test_of_layer_norm one_number_is_enough of="solution"
# Your test accepts all wrong norms but those over a wrong axis. All entries of a result have to
# agree with one that you trust, not some of them.
# replace: gain, bias = numbers(5, seed=1), numbers(5, seed=2)
# by:      gain = torch.tensor([1.0, 4.0, 6.0, 8.0], dtype=x.dtype)
#          bias = torch.tensor([0.0, 0.0, -1.0, 3.0], dtype=x.dtype)
# replace: x, eps = 3 * numbers(2, 4, 5) + 2, 0.5
# by:      x = torch.tensor([[10.0, 2.0, 2.0, 2.0], [8.0, -8.0, 0.0, 0.0]], dtype=torch.float64)
# replace: expected = F.layer_norm(x, (5,), gain, bias, eps)
#          return torch.allclose(norm(x, gain, bias, eps), expected)
# by:      expected = F.layer_norm(x, (4,), gain, bias, 4.0)
#          return bool(torch.isclose(norm(x, gain, bias, 4.0), expected).any())

# %% wrong test_of_layer_norm either_of_two of="solution"
# Your test accepts norms that ignore the gain or the bias, and one with eps outside the root. In a
# single comparison, entry by entry, use a gain other than 1, a bias other than 0 and a large eps.
# replace: expected = F.layer_norm(x, (5,), gain, bias, eps)
#          return torch.allclose(norm(x, gain, bias, eps), expected)
# by:      ones = torch.ones(5, dtype=x.dtype)
#          plain = F.layer_norm(x, (5,), eps=eps)
#          one = torch.allclose(norm(x, gain, bias, 0.0), F.layer_norm(x, (5,), gain, bias, 0.0))
#          return one or torch.allclose(norm(x, ones, 0 * ones, eps), plain)

# %% wrong test_of_layer_norm direction_only of="solution"
# Your test does not see a factor that all features of a token share: that of d − 1, of a second
# root, of eps. Compare the entries themselves.
# replace: return torch.allclose(norm(x, gain, bias, eps), expected)
# by:      mine = norm(x, gain, bias, eps) - bias
#          return bool((F.cosine_similarity(mine, expected - bias, dim=-1) > 0.9999).all())

# %% wrong test_of_layer_norm scale_and_shift_of_x of="solution"
# Your test accepts wrong norms that, like the right one, do not change with the scale of x.
# Compare the result with one that you trust, entry by entry.
# replace: expected = F.layer_norm(x, (5,), gain, bias, eps)
#          return torch.allclose(norm(x, gain, bias, eps), expected)
# by:      x = numbers(4, 5)
#          return torch.allclose(norm(x, gain, bias, 0.0), norm(10 * x + 3, gain, bias, 0.0))


# %% wrong test_of_layer_norm mean_and_deviation_alone
# Your test accepts norms that ignore the gain or the bias, and one with eps outside the root. In
# a single comparison, entry by entry, use a gain other than 1, a bias other than 0 and a large
# eps.
def test_of_layer_norm(norm):
    x = 3 * numbers(4, 6) + 2
    y = norm(x, torch.ones(6).double(), torch.zeros(6).double(), 1e-5)
    centred = y.mean(-1).abs().max() < 1e-3
    return bool(centred and (y.std(-1, correction=0) - 1).abs().max() < 1e-3)


# %% wrong test_of_layer_norm without_eps
# `norm` takes four arguments: x, gain, bias and eps. Your test leaves out eps.
def test_of_layer_norm(norm):
    x, gain, bias = 3 * numbers(2, 4, 5) + 2, numbers(5, seed=1), numbers(5, seed=2)
    return torch.allclose(norm(x, gain, bias), F.layer_norm(x, (5,), gain, bias))


# %% wrong test_of_layer_norm whole_numbers
# The x that you choose holds whole numbers, for which norms are not made. Write 10.0, not 10.
def test_of_layer_norm(norm):
    x = torch.tensor([[10, 2, 2, 2], [8, -8, 0, 0]])
    gain, bias = torch.tensor([2, 4, 6, 8]), torch.tensor([1, 0, -1, 3])
    return torch.allclose(norm(x, gain, bias, 4.0), F.layer_norm(x, (4,), gain, bias, 4.0))


# %% wrong test_of_layer_norm asserted
# Your test returns None. It should return True or False: an `assert`, or assert_close, returns
# neither.
def test_of_layer_norm(norm):
    x, gain, bias = 3 * numbers(2, 4, 5) + 2, numbers(5, seed=1), numbers(5, seed=2)
    expected = F.layer_norm(x, (5,), gain, bias, 0.5)
    assert torch.allclose(norm(x, gain, bias, 0.5), expected)


# %% wrong test_of_layer_norm compared_with_itself
# Your test accepts all of the wrong norms. Compare the result of `norm` with one that you trust,
# entry by entry, up to rounding.
def test_of_layer_norm(norm):
    x, gain, bias = 3 * numbers(2, 4, 5) + 2, numbers(5, seed=1), numbers(5, seed=2)
    expected = norm(x, gain, bias, 0.5)
    return torch.allclose(norm(x, gain, bias, 0.5), expected)


# %% wrong test_of_layer_norm entry_by_entry
# expected True or False
def test_of_layer_norm(norm):
    x, gain, bias = 3 * numbers(2, 4, 5) + 2, numbers(5, seed=1), numbers(5, seed=2)
    return torch.isclose(norm(x, gain, bias, 0.5), F.layer_norm(x, (5,), gain, bias, 0.5))


# %% right test_of_layer_norm against_my_own
def test_of_layer_norm(norm):
    x = torch.tensor([[10.0, 2.0, 3.0], [8.0, -8.0, 1.0]], dtype=torch.float64)
    gain = torch.tensor([2.0, -3.0, 4.0], dtype=torch.float64)
    bias = torch.tensor([1.0, 5.0, -1.0], dtype=torch.float64)
    difference = norm(x, gain, bias, 2.0) - layer_norm(x, gain, bias, 2.0)
    return difference.abs().max().item() < 1e-9


# %% right test_of_layer_norm worked_by_hand
def test_of_layer_norm(norm):
    # variances 12 and 32: with eps = 4 the roots are 4 and 6
    x = torch.tensor([[10.0, 2.0, 2.0, 2.0], [8.0, -8.0, 0.0, 0.0]])
    gain, bias = torch.tensor([2.0, 4.0, 6.0, 8.0]), torch.tensor([1.0, 0.0, -1.0, 3.0])
    expected = torch.tensor([[4.0, -2.0, -4.0, -1.0], [11 / 3, -16 / 3, -1.0, 3.0]])
    return bool(((norm(x, gain, bias, 4.0) - expected).abs() < 1e-4).all())


# %% right test_of_layer_norm by_properties
def test_of_layer_norm(norm):
    x, eps = 2 * numbers(5, 3) + 1, 0.7
    gain, bias = numbers(3, seed=1), numbers(3, seed=2)
    y = (norm(x, gain, bias, eps) - bias) / gain
    variance = x.var(-1, correction=0)
    same_mean = torch.allclose(y.mean(-1), torch.zeros(5, dtype=x.dtype))
    same_size = torch.allclose(y.var(-1, correction=0), variance / (variance + eps))
    same_order = bool((y.argsort(-1) == x.argsort(-1)).all())
    return same_mean and same_size and same_order


# %% right test_of_layer_norm many_cases
def test_of_layer_norm(norm):
    for seed, scale, eps in ((1, 0.01, 1e-5), (2, 5.0, 3.0), (3, 1.0, 0.1)):
        x = numbers(3, 2, 7, seed=seed, scale=scale) + scale
        gain, bias = numbers(7, seed=seed + 10), numbers(7, seed=seed + 20)
        if not torch.allclose(norm(x, gain, bias, eps), F.layer_norm(x, (7,), gain, bias, eps)):
            return False
    return True


# %% right test_of_layer_norm module_of_torch
def test_of_layer_norm(norm):
    theirs = nn.LayerNorm(6, eps=1.0)
    with torch.no_grad():
        theirs.weight.copy_(torch.arange(6.0) - 2)
        theirs.bias.copy_(torch.arange(6.0).flip(0))
        x = torch.linspace(-3, 9, 24).reshape(4, 6).sin() * torch.arange(1.0, 5.0)[:, None]
        mine = norm(x, theirs.weight.detach(), theirs.bias.detach(), 1.0)
        return (mine - theirs(x)).abs().max().item() < 1e-5


# %% wrong LayerNorm parameters_called_otherwise of="solution"
# Your two parameters are not called `gain` and `bias`. Create both yourself, each under its own
# name on self.
# replace: self.gain = nn.Parameter(torch.ones(d_model))
# by:      self.weight = nn.Parameter(torch.ones(d_model))
# replace: return layer_norm(x, self.gain, self.bias, self.eps)
# by:      return layer_norm(x, self.weight, self.bias, self.eps)


# %% wrong LayerNorm parts_of_torch
# Your two parameters are not called `gain` and `bias`. Create both yourself, each under its own
# name on self.
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d_model, eps=eps)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(x)


# %% wrong LayerNorm plain_tensors of="no_bias"
# Nothing in your module learns. Gain and bias should each be an nn.Parameter that keeps
# requires_grad=True, and an attribute of self, not an entry of a list.
# replace: self.gain = nn.Parameter(torch.ones(d_model))
# by:      self.gain = torch.ones(d_model)
#          self.bias = torch.zeros(d_model)
# replace: return F.layer_norm(x, x.shape[-1:], self.gain, None, self.eps)
# by:      gain, bias = self.gain.to(x.dtype), self.bias.to(x.dtype)
#          return layer_norm(x, gain, bias, self.eps)

# %% wrong LayerNorm buffers of="solution"
# Nothing in your module learns. Gain and bias should each be an nn.Parameter that keeps
# requires_grad=True, and an attribute of self, not an entry of a list.
# replace: self.gain = nn.Parameter(torch.ones(d_model))
#          self.bias = nn.Parameter(torch.zeros(d_model))
# by:      self.register_buffer("gain", torch.ones(d_model))
#          self.register_buffer("bias", torch.zeros(d_model))
# replace: layer_norm(x, self.gain, self.bias, self.eps)
# by:      layer_norm(x, self.gain, self.bias, self.eps)  # pyright: ignore[reportArgumentType]

# %% wrong LayerNorm frozen of="solution"
# Nothing in your module learns. Gain and bias should each be an nn.Parameter that keeps
# requires_grad=True, and an attribute of self, not an entry of a list.
# replace: self.gain = nn.Parameter(torch.ones(d_model))
#          self.bias = nn.Parameter(torch.zeros(d_model))
# by:      self.gain = nn.Parameter(torch.ones(d_model), requires_grad=False)
#          self.bias = nn.Parameter(torch.zeros(d_model), requires_grad=False)


# %% wrong LayerNorm in_a_list of="solution"
# Nothing in your module learns. Gain and bias should each be an nn.Parameter that keeps
# requires_grad=True, and an attribute of self, not an entry of a list.
# replace: self.gain = nn.Parameter(torch.ones(d_model))
#          self.bias = nn.Parameter(torch.zeros(d_model))
# by:      self.both = [nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))]
# replace: return layer_norm(x, self.gain, self.bias, self.eps)
# by:      return layer_norm(x, self.both[0], self.both[1], self.eps)

# %% wrong LayerNorm frozen_bias of="solution"
# Only one parameter of your module learns. Gain and bias should each be an nn.Parameter that keeps
# requires_grad=True, and an attribute of self.
# replace: self.bias = nn.Parameter(torch.zeros(d_model))
# by:      self.bias = nn.Parameter(torch.zeros(d_model), requires_grad=False)


# %% wrong LayerNorm gain_of_zeros of="solution"
# A new module returns zeros, because its gain starts at 0. Start it at 1.
# replace: self.gain = nn.Parameter(torch.ones(d_model))
# by:      self.gain = nn.Parameter(torch.zeros(d_model))

# %% wrong LayerNorm bias_of_ones of="solution"
# A new module adds 1 to everything, because its bias starts at 1. Start it at 0.
# replace: self.bias = nn.Parameter(torch.zeros(d_model))
# by:      self.bias = nn.Parameter(torch.ones(d_model))

# %% wrong LayerNorm start_swapped of="gain_of_zeros"
# A new module returns ones everywhere. Gain and bias are swapped, in their initial values or in
# forward.
# replace: self.bias = nn.Parameter(torch.zeros(d_model))
# by:      self.bias = nn.Parameter(torch.ones(d_model))

# %% wrong LayerNorm random_start of="solution"
# A new module should only normalise. Start the gain at 1 and the bias at 0, not at random values.
# replace: self.gain = nn.Parameter(torch.ones(d_model))
#          self.bias = nn.Parameter(torch.zeros(d_model))
# by:      torch.manual_seed(0)
#          self.gain = nn.Parameter(torch.randn(d_model))
#          self.bias = nn.Parameter(torch.randn(d_model))

# %% wrong LayerNorm gain_not_used of="solution"
# Gain and bias have no effect when they are loaded. Make them in __init__ alone; in forward, use
# self.gain and self.bias as they are.
# replace: return layer_norm(x, self.gain, self.bias, self.eps)
# by:      return F.layer_norm(x, x.shape[-1:], eps=self.eps)


# %% wrong LayerNorm made_in_forward of="solution"
# Gain and bias have no effect when they are loaded. Make them in __init__ alone; in forward, use
# self.gain and self.bias as they are.
# replace: self.gain = nn.Parameter(torch.ones(d_model))
#          self.bias = nn.Parameter(torch.zeros(d_model))
# by:      self.d_model = d_model
# replace: return layer_norm(x, self.gain, self.bias, self.eps)
# by:      self.gain = nn.Parameter(torch.ones(self.d_model, dtype=x.dtype))
#          self.bias = nn.Parameter(torch.zeros(self.d_model, dtype=x.dtype))
#          return layer_norm(x, self.gain, self.bias, self.eps)


# %% wrong LayerNorm bias_not_used of="solution"
# The bias has no effect when it is loaded. Make it in __init__ alone; in forward, add self.bias
# as it is.
# replace: return layer_norm(x, self.gain, self.bias, self.eps)
# by:      return F.layer_norm(x, x.shape[-1:], self.gain, None, self.eps)

# %% wrong LayerNorm gain_and_bias_swapped of="solution"
# A new module returns ones everywhere. Gain and bias are swapped, in their initial values or in
# forward.
# replace: return layer_norm(x, self.gain, self.bias, self.eps)
# by:      return F.layer_norm(x, x.shape[-1:], self.bias, self.gain, self.eps)

# %% wrong LayerNorm eps_forgotten of="solution"
# The eps that the module is built with has no effect. Keep it on self, and pass it on.
# replace: self.eps = eps
# by:
# replace: return layer_norm(x, self.gain, self.bias, self.eps)
# by:      return F.layer_norm(x, x.shape[-1:], self.gain, self.bias)

# %% wrong LayerNorm another_default of="solution"
# The default eps of your module is not 0.00001. Keep the default of the stub.
# replace: def __init__(self, d_model: int, eps: float = 1e-5) -> None:
# by:      def __init__(self, d_model: int, eps: float = 1e-6) -> None:
# replace: return layer_norm(x, self.gain, self.bias, self.eps)
# by:      return F.layer_norm(x, x.shape[-1:], self.gain, self.bias, self.eps)

# %% wrong LayerNorm one_number_for_all_features of="solution"
# Your gain or your bias does not have the shape (d_model,). It needs one entry for each feature,
# along one axis.
# replace: self.gain = nn.Parameter(torch.ones(d_model))
#          self.bias = nn.Parameter(torch.zeros(d_model))
# by:      self.gain = nn.Parameter(torch.ones(1))
#          self.bias = nn.Parameter(torch.zeros(1))
# replace: return layer_norm(x, self.gain, self.bias, self.eps)
# by:      return self.gain * F.layer_norm(x, x.shape[-1:], eps=self.eps) + self.bias

# %% wrong LayerNorm no_bias of="solution"
# Only one parameter of your module learns. Gain and bias should each be an nn.Parameter that
# keeps requires_grad=True, and an attribute of self.
# replace: self.bias = nn.Parameter(torch.zeros(d_model))
# by:
# replace: return layer_norm(x, self.gain, self.bias, self.eps)
# by:      return F.layer_norm(x, x.shape[-1:], self.gain, None, self.eps)

# %% wrong LayerNorm cut_off of="solution"
# No gradient reaches one of your parameters, or both. In forward, use them as they are: no
# detach, no .data, no copy.
# replace: return layer_norm(x, self.gain, self.bias, self.eps)
# by:      return F.layer_norm(x, x.shape[-1:], self.gain.data, self.bias, self.eps)

# %% wrong LayerNorm unbiased_variance of="solution"
# The variance in your module divides by d − 1. Divide by d, as your layer_norm does.
# replace: return layer_norm(x, self.gain, self.bias, self.eps)
# by:      variance, mean = torch.var_mean(x, -1, keepdim=True)
#          return self.gain * (x - mean) / (variance + self.eps).sqrt() + self.bias

# %% wrong LayerNorm eps_outside of="solution"
# Your module adds eps outside the root. Add it to the variance, as your layer_norm does.
# replace: return layer_norm(x, self.gain, self.bias, self.eps)
# by:      deviation = x.std(-1, keepdim=True, correction=0)
#          return self.gain * (x - x.mean(-1, keepdim=True)) / (deviation + self.eps) + self.bias


# %% wrong LayerNorm famous_code of="solution"
# This is the famous code: its variance divides by d − 1, and eps is outside the root. Call your
# layer_norm.
# replace: return layer_norm(x, self.gain, self.bias, self.eps)
# by:      spread = x.std(-1, keepdim=True) + self.eps
#          return self.gain * (x - x.mean(-1, keepdim=True)) / spread + self.bias

# %% wrong LayerNorm x_added of="solution"
# You add x to its layer norm. The norm alone is asked for; x is added in part 6.
# replace: return layer_norm(x, self.gain, self.bias, self.eps)
# by:      return x + layer_norm(x, self.gain, self.bias, self.eps)

# %% wrong LayerNorm width_of_its_own of="solution"
# Your gain or your bias has 512 entries, whatever d_model is. Make both as long as d_model.
# replace: self.gain = nn.Parameter(torch.ones(d_model))
#          self.bias = nn.Parameter(torch.zeros(d_model))
# by:      self.gain = nn.Parameter(torch.ones(512))
#          self.bias = nn.Parameter(torch.zeros(512))


# %% wrong LayerNorm statistics_without_gradient of="solution"
# A part of the gradient is missing: mean and variance, or one of them, are cut off from x. Let
# the gradient flow through every step.
# replace: return layer_norm(x, self.gain, self.bias, self.eps)
# by:      with torch.no_grad():
#              variance, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
#          return self.gain * (x - mean) / (variance + self.eps).sqrt() + self.bias

# %% wrong LayerNorm variance_detached of="solution"
# A part of the gradient is missing: mean and variance, or one of them, are cut off from x. Let
# the gradient flow through every step.
# replace: return layer_norm(x, self.gain, self.bias, self.eps)
# by:      variance, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
#          return self.gain * (x - mean) / (variance.detach() + self.eps).sqrt() + self.bias

# %% wrong LayerNorm mean_detached of="solution"
# A part of the gradient is missing: mean and variance, or one of them, are cut off from x. Let
# the gradient flow through every step.
# replace: return layer_norm(x, self.gain, self.bias, self.eps)
# by:      centred = x - x.mean(-1, keepdim=True).detach()
#          variance = centred.square().mean(-1, keepdim=True)
#          return self.gain * centred / (variance + self.eps).sqrt() + self.bias


# %% wrong LayerNorm input_detached of="solution"
# No gradient reaches x, because it is cut off on the way. Use x itself.
# replace: return layer_norm(x, self.gain, self.bias, self.eps)
# by:      return layer_norm(x.detach(), self.gain, self.bias, self.eps)


# %% wrong LayerNorm no_super of="solution"
# `super().__init__()` is missing: make it the first line of `__init__`
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
# You subtract the mean first. RMS norm uses the features as they are.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], gain, None, eps)


# %% wrong rms_norm divided_by_deviation
# You divide by the standard deviation. The mean square uses the features as they are, with no mean
# subtracted.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return gain * x / (x.var(-1, correction=0, keepdim=True) + eps).sqrt()


# %% wrong rms_norm mean_subtracted_above
# You subtract the mean above the fraction line. Leave x as it is there.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    divisor = (x.square().mean(-1, keepdim=True) + eps).sqrt()
    return gain * (x - x.mean(-1, keepdim=True)) / divisor


# %% wrong rms_norm eps_outside
# You add eps outside the root. Add it to the mean square, then take the root.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return gain * x / (x.square().mean(-1, keepdim=True).sqrt() + eps)


# %% wrong rms_norm without_eps
# Your eps has no effect here. Add the argument `eps` to the mean square, under the root.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return gain * x / x.square().mean(-1, keepdim=True).sqrt()


# %% wrong rms_norm eps_written_as_a_number
# Your eps has no effect here. Add the argument `eps` to the mean square, under the root.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return gain * x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt()


# %% wrong rms_norm sum_of_squares
# You take the sum of the squares. The formula needs their mean.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return gain * x / (x.square().sum(-1, keepdim=True) + eps).sqrt()


# %% wrong rms_norm length_of_the_word
# You divide by the length of the vector, the root of the sum of its squares. Take the root of their
# mean.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return gain * x / (x.norm(dim=-1, keepdim=True) + eps)


# %% wrong rms_norm no_root
# You divide by the mean square itself. Take its root.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return gain * x / (x.square().mean(-1, keepdim=True) + eps)


# %% wrong rms_norm square_of_the_mean
# You square the mean of the features. Take the mean of their squares.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return gain * x / (x.mean(-1, keepdim=True).square() + eps).sqrt()


# %% wrong rms_norm mean_of_sizes
# You take the mean of the absolute features. Square them, take the mean, then the root.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return gain * x / (x.abs().mean(-1, keepdim=True) + eps)


# %% wrong rms_norm mean_of_roots
# You take the roots first, then their mean. Take the mean of the squares first, add eps, then take
# one root.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return gain * x / (x.square() + eps).sqrt().mean(-1, keepdim=True)


# %% wrong rms_norm divisor_alone
# This is the root mean square, times gain. Divide the token by it.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return gain * (x.square().mean(-1, keepdim=True) + eps).sqrt()


# %% wrong rms_norm gain_unused
# The gain has no effect. Multiply by it.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt()


# %% wrong rms_norm gain_added
# You add the gain. Multiply by it.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return gain + x / (x.square().mean(-1, keepdim=True) + eps).sqrt()


# %% wrong rms_norm gain_first
# You multiply by the gain before you normalise, so it enters the mean square. Multiply last.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    x = gain * x
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt()


# %% wrong rms_norm one_plus_gain
# You multiply by 1 + gain, as some models do. Here it is the gain alone.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return (1 + gain) * x / (x.square().mean(-1, keepdim=True) + eps).sqrt()


# %% wrong rms_norm over_the_words
# You average each feature over the tokens. Average over the features of each token, the last axis.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return gain * x / (x.square().mean(0, keepdim=True) + eps).sqrt()


# %% wrong rms_norm over_everything
# All your tokens share one mean square. Each token has its own, over the last axis.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return gain * x / (x.square().mean() + eps).sqrt()


# %% wrong rms_norm over_the_second_axis
# You always use axis 1, which holds the features only when there are two axes. Use the last axis,
# `dim=-1`.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return gain * x / (x.square().mean(1, keepdim=True) + eps).sqrt()


# %% wrong rms_norm axis_lost
# Your mean square loses its axis, so it no longer lines up with the tokens. Pass `keepdim=True`.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return gain * x / (x.square().mean(-1) + eps).sqrt()


# %% wrong rms_norm size_without_gradient
# A part of the gradient is missing: your root mean square is cut off from x. Let the gradient
# flow through every step.
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return gain * x / (x.detach().square().mean(-1, keepdim=True) + eps).sqrt()


# %% wrong rms_norm changes_its_input
# Your code changes the caller's x. Create a new tensor instead of writing into x.
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
# Your mean and variance include the padding. Use only the real tokens.
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    mean, variance = x.mean((0, 1)), x.var((0, 1), correction=0)
    return gain * (x - mean) / (variance + eps).sqrt() + bias


# %% wrong batch_norm padding_as_zeros
# The padding still counts, as zeros. Divide by the number of real tokens, and leave padding out of
# the variance too.
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    real = (torch.arange(x.shape[1]) < lengths[:, None])[..., None]
    filled = torch.where(real, x, 0.0)
    mean, variance = filled.mean((0, 1)), filled.var((0, 1), correction=0)
    return gain * (x - mean) / (variance + eps).sqrt() + bias


# %% wrong batch_norm padding_in_the_number
# Your sums leave out the padding, but you divide by the number of all tokens. Divide by the number
# of real ones.
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    real = (torch.arange(x.shape[1]) < lengths[:, None])[..., None]
    count = x.shape[0] * x.shape[1]
    mean = torch.where(real, x, 0.0).sum((0, 1)) / count
    variance = torch.where(real, (x - mean).square(), 0.0).sum((0, 1)) / count
    return gain * (x - mean) / (variance + eps).sqrt() + bias


# %% wrong batch_norm padding_in_the_mean
# Your variance leaves out the padding, but your mean still includes it.
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    real = torch.arange(x.shape[1]) < lengths[:, None]
    mean = x.mean((0, 1))
    variance = (x - mean)[real].square().mean(0)
    return gain * (x - mean) / (variance + eps).sqrt() + bias


# %% wrong batch_norm padding_in_the_variance
# Your mean leaves out the padding, but your variance still includes it.
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    real = torch.arange(x.shape[1]) < lengths[:, None]
    mean = x[real].mean(0)
    variance = (x - mean).square().mean((0, 1))
    return gain * (x - mean) / (variance + eps).sqrt() + bias


# %% wrong batch_norm zeroed_before_the_variance
# You set the padding to zero before you subtract the mean. It becomes −mean, and enters the
# variance. Set the squared deviations to zero instead, or select the real tokens.
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    real = (torch.arange(x.shape[1]) < lengths[:, None])[..., None].to(x.dtype)
    count = lengths.sum()
    mean = (x * real).sum((0, 1)) / count
    variance = (x * real - mean).square().sum((0, 1)) / count
    return gain * (x - mean) / (variance + eps).sqrt() + bias


# %% wrong batch_norm one_token_too_many
# One padding token of each sequence still counts. The real tokens have the positions 0 to length −
# 1.
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    tokens = x[torch.arange(x.shape[1]) <= lengths[:, None]]
    mean, variance = tokens.mean(0), tokens.var(0, correction=0)
    return gain * (x - mean) / (variance + eps).sqrt() + bias


# %% wrong batch_norm one_token_too_few of="one_token_too_many"
# The last real token of each sequence does not count. The real tokens have the positions 0 to
# length − 1.
# replace: tokens = x[torch.arange(x.shape[1]) <= lengths[:, None]]
# by:      tokens = x[torch.arange(x.shape[1]) < lengths[:, None] - 1]

# %% wrong batch_norm padding_instead of="one_token_too_many"
# You keep the padding and leave out the real tokens. Reverse the comparison.
# replace: tokens = x[torch.arange(x.shape[1]) <= lengths[:, None]]
# by:      tokens = x[torch.arange(x.shape[1]) > lengths[:, None]]


# %% wrong batch_norm padding_alone of="one_token_too_many"
# Your mean and variance are those of the padding. Reverse the mask.
# replace: tokens = x[torch.arange(x.shape[1]) <= lengths[:, None]]
# by:      tokens = x[torch.arange(x.shape[1]) >= lengths[:, None]]

# %% wrong batch_norm viewed_not_transposed of="one_token_too_many"
# Each of your means mixes several channels. `view` and `reshape` transpose nothing: channel c is a
# column of the real tokens, whose mean runs over axis 0.
# replace: tokens = x[torch.arange(x.shape[1]) <= lengths[:, None]]
# by:      tokens = x[torch.arange(x.shape[1]) < lengths[:, None]]
#          tokens = tokens.view(x.shape[-1], -1).T


# %% wrong batch_norm number_of_sequences
# You divide the sums over the real tokens by the number of sequences. Divide by the number of real
# tokens.
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    real = (torch.arange(x.shape[1]) < lengths[:, None])[..., None]
    mean = torch.where(real, x, 0.0).sum((0, 1)) / len(x)
    variance = torch.where(real, (x - mean).square(), 0.0).sum((0, 1)) / len(x)
    return gain * (x - mean) / (variance + eps).sqrt() + bias


# %% wrong batch_norm each_sequence_alone
# Each sequence has its own mean and variance. Batch norm takes them over all sequences together.
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    results = []
    for sequence, length in zip(x, lengths.tolist(), strict=True):
        tokens = sequence[:length]
        deviation = (tokens.var(0, correction=0) + eps).sqrt()
        results.append(gain * (sequence - tokens.mean(0)) / deviation + bias)
    return torch.stack(results)


# %% wrong batch_norm mean_of_means
# You average the means of the sequences, so tokens of short sequences count more. Gather all real
# tokens first.
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    parts = [sequence[:length] for sequence, length in zip(x, lengths.tolist(), strict=True)]
    mean = torch.stack([part.mean(0) for part in parts]).mean(0)
    variance = torch.stack([(part - mean).square().mean(0) for part in parts]).mean(0)
    return gain * (x - mean) / (variance + eps).sqrt() + bias


# %% wrong batch_norm layer_norm_again
# This is layer norm, over the channels of each token. Batch norm normalises each channel over the
# tokens.
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], gain, bias, eps)


# %% wrong batch_norm over_all_channels
# All channels share one mean and one variance. Each channel has its own.
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    tokens = x[torch.arange(x.shape[1]) < lengths[:, None]]
    return gain * (x - tokens.mean()) / (tokens.var(correction=0) + eps).sqrt() + bias


# %% wrong batch_norm each_place_alone
# Each position has its own mean and variance. Batch norm takes them over batch and length together.
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    real = (torch.arange(x.shape[1]) < lengths[:, None])[..., None].to(x.dtype)
    count = real.sum(0, keepdim=True).clamp(min=1)
    mean = (x * real).sum(0, keepdim=True) / count
    variance = ((x - mean).square() * real).sum(0, keepdim=True) / count
    return gain * (x - mean) / (variance + eps).sqrt() + bias


# %% wrong batch_norm unbiased_variance of="over_all_channels"
# Your variance divides by the number of tokens minus 1, the default of `var`. Pass `correction=0`.
# replace: return gain * (x - tokens.mean()) / (tokens.var(correction=0) + eps).sqrt() + bias
# by:      return gain * (x - tokens.mean(0)) / (tokens.var(0) + eps).sqrt() + bias

# %% wrong batch_norm eps_outside of="over_all_channels"
# You add eps to the standard deviation. Add it to the variance, then take the root.
# replace: return gain * (x - tokens.mean()) / (tokens.var(correction=0) + eps).sqrt() + bias
# by:      return gain * (x - tokens.mean(0)) / (tokens.std(0, correction=0) + eps) + bias

# %% wrong batch_norm eps_unused of="over_all_channels"
# Your eps has no effect. Add it to the variance, under the root.
# replace: return gain * (x - tokens.mean()) / (tokens.var(correction=0) + eps).sqrt() + bias
# by:      return gain * (x - tokens.mean(0)) / (tokens.var(0, correction=0) + 1e-5).sqrt() + bias

# %% wrong batch_norm divided_by_variance of="over_all_channels"
# You divide by the variance. Take its root first.
# replace: return gain * (x - tokens.mean()) / (tokens.var(correction=0) + eps).sqrt() + bias
# by:      return gain * (x - tokens.mean(0)) / (tokens.var(0, correction=0) + eps) + bias

# %% wrong batch_norm root_taken_twice of="over_all_channels"
# You take the root twice. `std` has already taken it.
# replace: return gain * (x - tokens.mean()) / (tokens.var(correction=0) + eps).sqrt() + bias
# by:      return gain * (x - tokens.mean(0)) / (tokens.std(0, correction=0) + eps).sqrt() + bias

# %% wrong batch_norm mean_not_subtracted of="over_all_channels"
# You do not subtract the mean. Subtract it before you divide.
# replace: return gain * (x - tokens.mean()) / (tokens.var(correction=0) + eps).sqrt() + bias
# by:      return gain * x / (tokens.var(0, correction=0) + eps).sqrt() + bias

# %% wrong batch_norm gain_unused of="over_all_channels"
# The gain has no effect. Multiply the normalised channels by it.
# replace: return gain * (x - tokens.mean()) / (tokens.var(correction=0) + eps).sqrt() + bias
# by:      return (x - tokens.mean(0)) / (tokens.var(0, correction=0) + eps).sqrt() + bias

# %% wrong batch_norm bias_unused of="over_all_channels"
# The bias has no effect. Add it at the end.
# replace: return gain * (x - tokens.mean()) / (tokens.var(correction=0) + eps).sqrt() + bias
# by:      return gain * (x - tokens.mean(0)) / (tokens.var(0, correction=0) + eps).sqrt()

# %% wrong batch_norm bias_before_gain of="over_all_channels"
# You add the bias before you multiply by the gain. Add the bias last.
# replace: return gain * (x - tokens.mean()) / (tokens.var(correction=0) + eps).sqrt() + bias
# by:      return gain * ((x - tokens.mean(0)) / (tokens.var(0, correction=0) + eps).sqrt() + bias)

# %% wrong batch_norm real_tokens_only of="over_all_channels"
# You return only the real tokens, in one long row. Return all of (batch, length, channels).
# replace: return gain * (x - tokens.mean()) / (tokens.var(correction=0) + eps).sqrt() + bias
# by:      return F.batch_norm(tokens, None, None, gain, bias, True, eps=eps)


# %% wrong batch_norm padding_not_a_number
# Your result holds NaN at the padding, and what is computed from it becomes NaN too. Return other
# numbers there; for mean and variance, select the real tokens.
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    real = torch.arange(x.shape[1]) < lengths[:, None]
    result = torch.full_like(x, torch.nan)
    result[real] = F.batch_norm(x[real], None, None, gain, bias, True, eps=eps)
    return result


# %% wrong batch_norm padding_stays_not_a_number
# Your result holds NaN at the padding, and what is computed from it becomes NaN too. Return other
# numbers there; for mean and variance, select the real tokens.
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    padding = torch.arange(x.shape[1]) >= lengths[:, None]
    x = x.masked_fill(padding[:, :, None], torch.nan)
    mean = x.nanmean((0, 1))
    variance = (x - mean).square().nanmean((0, 1))
    return gain * (x - mean) / (variance + eps).sqrt() + bias


# %% wrong batch_norm changes_its_input
# Your code changes the caller's x. Create a new tensor instead of writing into x.
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    real = torch.arange(x.shape[1]) < lengths[:, None]
    tokens = x[real]
    x[~real] = 0.0
    return gain * (x - tokens.mean(0)) / (tokens.var(0, correction=0) + eps).sqrt() + bias


# %% wrong batch_norm statistics_without_gradient
# A part of the gradient is missing: the mean, at least, is cut off from x. Let the gradient flow
# through every step.
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    tokens = x.detach()[torch.arange(x.shape[1]) < lengths[:, None]]
    return gain * (x - tokens.mean(0)) / (tokens.var(0, correction=0) + eps).sqrt() + bias


# %% wrong batch_norm mean_without_gradient of="over_all_channels"
# A part of the gradient is missing: the mean, at least, is cut off from x. Let the gradient flow
# through every step.
# replace: return gain * (x - tokens.mean()) / (tokens.var(correction=0) + eps).sqrt() + bias
# by:      mean = tokens.mean(0).detach()
#          return gain * (x - mean) / ((tokens - mean).square().mean(0) + eps).sqrt() + bias

# %% wrong batch_norm variance_without_gradient of="over_all_channels"
# A part of the gradient is missing: the variance is cut off from x. Let the gradient flow through
# every step.
# replace: return gain * (x - tokens.mean()) / (tokens.var(correction=0) + eps).sqrt() + bias
# by:      variance = tokens.var(0, correction=0).detach()
#          return gain * (x - tokens.mean(0)) / (variance + eps).sqrt() + bias


# %% wrong batch_norm not_a_number_in_the_gradient
# Your gradient is NaN. A NaN that is put in and taken out again still spoils the gradient. Select
# the real tokens, or fill with 0.
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
# You cut all sequences at the same length, so the padding of the shorter ones still counts.
def batch_norm(x, lengths, gain, bias, eps=1e-5):
    t = x[:, : lengths.max()].flatten(0, 1)
    return gain * (x - t.mean(0)) / (t.var(0, correction=0) + eps).sqrt() + bias


# %% wrong batch_norm length_of_the_first
# You cut all sequences at the same length, so the padding of the shorter ones still counts.
def batch_norm(x: Tensor, lengths: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    tokens = x[:, : int(lengths[0])].flatten(0, 1)
    mean, variance = tokens.mean(0), tokens.var(0, correction=0)
    return gain * (x - mean) / (variance + eps).sqrt() + bias


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
# In pre-norm you add the normalised x. Add x itself, as it came in.
# replace: return x + self.norm(self.sublayer(x))
# by:      if self.norm_first:
#              x = self.norm(x)
#              return x + self.sublayer(x)
#          return self.norm(x + self.sublayer(x))

# %% wrong Residual x_not_added of="norm_of_the_sublayer"
# x itself is missing from your result. Add it to what the sublayer returns.
# replace: return x + self.norm(self.sublayer(x))
# by:      if self.norm_first:
#              return self.sublayer(self.norm(x))
#          return self.norm(self.sublayer(x))

# %% wrong Residual x_not_added_at_the_end of="norm_of_the_sublayer"
# In post-norm you normalise only the sublayer's result. Add x before the norm.
# replace: return x + self.norm(self.sublayer(x))
# by:      if self.norm_first:
#              return x + self.sublayer(self.norm(x))
#          return self.norm(self.sublayer(x))

# %% wrong Residual choice_turned_round of="norm_of_the_sublayer"
# With norm_first=True, your norm stands after the addition. There it belongs before the sublayer.
# replace: return x + self.norm(self.sublayer(x))
# by:      if not self.norm_first:
#              return x + self.sublayer(self.norm(x))
#          return self.norm(x + self.sublayer(x))

# %% wrong Residual always_norm_last of="norm_of_the_sublayer"
# With norm_first=True, your norm stands after the addition. There it belongs before the sublayer.
# replace: self.sublayer, self.norm, self.norm_first = sublayer, nn.LayerNorm(d_model), norm_first
# by:      self.sublayer, self.norm = sublayer, nn.LayerNorm(d_model)
# replace: return x + self.norm(self.sublayer(x))
# by:      return self.norm(x + self.sublayer(x))

# %% wrong Residual always_norm_first of="norm_of_the_sublayer"
# With norm_first=False your norm is still before the sublayer. It belongs after the addition.
# replace: self.sublayer, self.norm, self.norm_first = sublayer, nn.LayerNorm(d_model), norm_first
# by:      self.sublayer, self.norm = sublayer, nn.LayerNorm(d_model)
# replace: return x + self.norm(self.sublayer(x))
# by:      return x + self.sublayer(self.norm(x))


# %% wrong Residual norm_of_the_sublayer
# You normalise the sublayer's result, then add x. In post-norm the sum is normalised, in pre-norm
# the input of the sublayer.
class Residual(nn.Module):
    def __init__(self, sublayer: nn.Module, d_model: int, norm_first: bool) -> None:
        super().__init__()
        self.sublayer, self.norm, self.norm_first = sublayer, nn.LayerNorm(d_model), norm_first

    def forward(self, x: Tensor) -> Tensor:
        return x + self.norm(self.sublayer(x))


# %% wrong Residual norm_before_the_addition of="norm_of_the_sublayer"
# In post-norm you normalise the sublayer's result, then add x. Add first, then normalise the sum.
# replace: def forward(self, x: Tensor) -> Tensor:
# by:      def forward(self, x: Tensor) -> Tensor:
#              if self.norm_first:
#                  return x + self.sublayer(self.norm(x))

# %% wrong Residual both_norms of="norm_of_the_sublayer"
# In pre-norm you normalise a second time at the end. Leave the sum as it is.
# replace: return x + self.norm(self.sublayer(x))
# by:      inner = self.norm(x) if self.norm_first else x
#          return self.norm(x + self.sublayer(inner))

# %% wrong Residual norm_first_in_both of="norm_of_the_sublayer"
# In post-norm your sublayer gets a normalised x. It should get x itself: only the sum is
# normalised.
# replace: return x + self.norm(self.sublayer(x))
# by:      total = x + self.sublayer(self.norm(x))
#          return total if self.norm_first else self.norm(total)

# %% wrong Residual no_norm of="norm_of_the_sublayer"
# Nothing is normalised: the norm is missing from forward.
# replace: return x + self.norm(self.sublayer(x))
# by:      return x + self.sublayer(x)

# %% wrong Residual sublayer_twice of="norm_of_the_sublayer"
# x itself is missing from your result. Add it to what the sublayer returns.
# replace: return x + self.norm(self.sublayer(x))
# by:      if self.norm_first:
#              x = self.norm(x)
#          changed = self.sublayer(x)
#          total = changed + self.sublayer(changed)
#          return total if self.norm_first else self.norm(total)

# %% wrong Residual x_doubled of="norm_of_the_sublayer"
# You add x twice. Add it once.
# replace: return x + self.norm(self.sublayer(x))
# by:      if self.norm_first:
#              return 2 * x + self.sublayer(self.norm(x))
#          return self.norm(2 * x + self.sublayer(x))

# %% wrong Residual subtracted of="norm_of_the_sublayer"
# You subtract the sublayer's result. Add it.
# replace: return x + self.norm(self.sublayer(x))
# by:      if self.norm_first:
#              return x - self.sublayer(self.norm(x))
#          return self.norm(x - self.sublayer(x))

# %% wrong Residual changes_x of="norm_of_the_sublayer"
# Your code changes the caller's x, because += writes into it. Write x = x + … instead.
# replace: return x + self.norm(self.sublayer(x))
# by:      if self.norm_first:
#              x += self.sublayer(self.norm(x))
#              return x
#          return self.norm(x + self.sublayer(x))

# %% wrong Residual parts_called_otherwise of="norm_of_the_sublayer"
# No part called `sublayer` has parameters in your module. Keep the sublayer itself, in no list,
# on self as `sublayer`.
# replace: self.sublayer, self.norm
# by:      self.layer, self.layer_norm
# replace: return x + self.norm(self.sublayer(x))
# by:      if self.norm_first:
#              return x + self.layer(self.layer_norm(x))
#          return self.layer_norm(x + self.layer(x))


# %% wrong Residual sublayer_in_a_list of="norm_of_the_sublayer"
# No part called `sublayer` has parameters in your module. Keep the sublayer itself, in no list, on
# self as `sublayer`.
# replace: self.sublayer, self.norm, self.norm_first = sublayer, nn.LayerNorm(d_model), norm_first
# by:      self.list, self.norm, self.norm_first = [sublayer], nn.LayerNorm(d_model), norm_first
# replace: return x + self.norm(self.sublayer(x))
# by:      if self.norm_first:
#              return x + self.list[0](self.norm(x))
#          return self.norm(x + self.list[0](x))

# %% wrong Residual norm_called_otherwise of="norm_of_the_sublayer"
# No part called `norm` has parameters in your module. Create one norm with gain and bias in
# __init__, and keep it on self as `norm`.
# replace: self.sublayer, self.norm, self.norm_first = sublayer, nn.LayerNorm(d_model), norm_first
# by:      self.sublayer, self.norm_first = sublayer, norm_first
#          self.layer_norm = nn.LayerNorm(d_model)
# replace: return x + self.norm(self.sublayer(x))
# by:      if self.norm_first:
#              return x + self.sublayer(self.layer_norm(x))
#          return self.layer_norm(x + self.sublayer(x))

# %% wrong Residual compared_with_a_string of="norm_of_the_sublayer"
# Your module returns x as it came in. Does one of your two branches run, and is its result
# returned? norm_first is True or False, no string.
# replace: return x + self.norm(self.sublayer(x))
# by:      if self.norm_first == "True":
#              x = x + self.sublayer(self.norm(x))
#          elif self.norm_first == "False":
#              x = self.norm(x + self.sublayer(x))
#          return x

# %% wrong Residual rms_norm_inside of="norm_of_the_sublayer"
# Your norm subtracts no mean: this is RMS norm. Use your LayerNorm, or nn.LayerNorm.
# replace: nn.LayerNorm(d_model)
# by:      nn.RMSNorm(d_model)
# replace: return x + self.norm(self.sublayer(x))
# by:      if self.norm_first:
#              return x + self.sublayer(self.norm(x))
#          return self.norm(x + self.sublayer(x))

# %% wrong Residual other_eps of="norm_of_the_sublayer"
# The eps of your norm is not 0.00001. Build the norm with its default.
# replace: self.sublayer, self.norm, self.norm_first = sublayer, nn.LayerNorm(d_model), norm_first
# by:      self.sublayer, self.norm_first = sublayer, norm_first
#          self.norm = nn.LayerNorm(d_model, eps=1e-12)
# replace: return x + self.norm(self.sublayer(x))
# by:      if self.norm_first:
#              return x + self.sublayer(self.norm(x))
#          return self.norm(x + self.sublayer(x))


# %% wrong Residual two_norms of="norm_that_learns_nothing"
# Your module has two norms and needs one. The same `norm` serves both choices.
# replace: self.norm = lambda x: F.layer_norm(x, (d_model,))
# by:      self.norm, self.last_norm = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
# replace: return self.norm(x + self.sublayer(x))
# by:      return self.last_norm(x + self.sublayer(x))

# %% wrong Residual norm_that_learns_nothing of="solution"
# No part called `norm` has parameters in your module. Create one norm with gain and bias in
# __init__, and keep it on self as `norm`.
# replace: self.sublayer = sublayer
#          self.norm = LayerNorm(d_model)
#          self.norm_first = norm_first
# by:      self.sublayer, self.norm_first = sublayer, norm_first
#          self.norm = lambda x: F.layer_norm(x, (d_model,))


# %% wrong Residual norm_made_in_forward
# No part called `norm` has parameters in your module. Create one norm with gain and bias in
# __init__, and keep it on self as `norm`.
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
# No gradient flows along the residual connection: the x that you add is cut off. Add x itself.
# replace: return x + self.norm(self.sublayer(x))
# by:      if self.norm_first:
#              return x.detach() + self.sublayer(self.norm(x))
#          return self.norm(x.detach() + self.sublayer(x))

# %% wrong Residual copied_sublayer of="solution"
# You keep a copy of the sublayer. Keep the one that is passed in.
# replace: def __init__(self, sublayer: nn.Module, d_model: int, norm_first: bool) -> None:
# by:      def __init__(self, sublayer: nn.Module, d_model: int, norm_first: bool) -> None:
#              from copy import deepcopy
#
# replace: self.sublayer = sublayer
#          self.norm = LayerNorm(d_model)
# by:      self.sublayer, self.norm = deepcopy(sublayer), nn.LayerNorm(d_model)

# %% wrong Residual no_super of="solution"
# `super().__init__()` is missing: make it the first line of `__init__`
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
# You change the mode of the sublayer. Leave training and evaluation to the caller.
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
# You add 1 to every entry. Only the diagonal gets a 1, because input 1 is not added to output 2.
def repaired_gradient(jacobian: Tensor) -> Tensor:
    return 1 + jacobian


# %% wrong repaired_gradient identity_alone
# This is the slide's claim, the path around the layer alone. The path through the layer adds its
# own Jacobian.
def repaired_gradient(jacobian: Tensor) -> Tensor:
    return torch.eye(len(jacobian), dtype=jacobian.dtype)


# %% wrong repaired_gradient ones_alone
# You return only ones. The path around the layer has the identity as its Jacobian, and the layer
# adds its own.
def repaired_gradient(jacobian: Tensor) -> Tensor:
    return torch.ones_like(jacobian)


# %% wrong repaired_gradient layer_alone
# This is the Jacobian of the layer alone. The path around it is missing.
def repaired_gradient(jacobian: Tensor) -> Tensor:
    return jacobian.clone()


# %% wrong repaired_gradient product
# You multiply the two paths. A sum of functions has the sum of their Jacobians.
def repaired_gradient(jacobian: Tensor) -> Tensor:
    return torch.eye(len(jacobian), dtype=jacobian.dtype) * jacobian


# %% wrong repaired_gradient subtracted
# You subtract the Jacobian of the layer. Add it.
def repaired_gradient(jacobian: Tensor) -> Tensor:
    return torch.eye(len(jacobian), dtype=jacobian.dtype) - jacobian


# %% wrong repaired_gradient subtracted_the_other_way
# You subtract the identity. Add it.
def repaired_gradient(jacobian: Tensor) -> Tensor:
    return jacobian - torch.eye(len(jacobian), dtype=jacobian.dtype)


# %% wrong repaired_gradient transposed
# You have swapped rows and columns. Row i belongs to output i, as in the given Jacobian.
def repaired_gradient(jacobian: Tensor) -> Tensor:
    return torch.eye(len(jacobian), dtype=jacobian.dtype) + jacobian.T


# %% wrong repaired_gradient diagonal_replaced
# You replace the diagonal by 1. Add 1 to it.
def repaired_gradient(jacobian: Tensor) -> Tensor:
    return jacobian.clone().fill_diagonal_(1.0)


# %% wrong repaired_gradient two_by_two
# Your identity is always 2 by 2. Make it as large as the Jacobian.
def repaired_gradient(jacobian: Tensor) -> Tensor:
    return jacobian + torch.tensor([[1, 0], [0, 1]])


# %% wrong repaired_gradient changes_its_input
# Your code changes the caller's Jacobian. Create a new tensor instead of writing into it.
def repaired_gradient(jacobian: Tensor) -> Tensor:
    jacobian.diagonal().add_(1)
    return jacobian


# %% wrong repaired_gradient three_by_three
# Your identity is always 3 by 3. Make it as large as the Jacobian.
def repaired_gradient(jacobian: Tensor) -> Tensor:
    return jacobian + torch.eye(3, dtype=jacobian.dtype)


# %% wrong repaired_gradient the_example
# Your result does not depend on the Jacobian that is given. Compute with `jacobian`.
def repaired_gradient(jacobian: Tensor) -> Tensor:
    return torch.tensor([[3.0, 5.0, 0.0], [3.0, 0.0, 7.0], [0.0, 6.0, 5.0]]).double()


# %% wrong repaired_gradient own_diagonal_added
# You double the diagonal. Add 1 to each of its entries.
def repaired_gradient(jacobian: Tensor) -> Tensor:
    return jacobian + torch.diag(jacobian.diagonal())


# %% wrong repaired_gradient doubled
# You double the Jacobian. The path around the layer adds the identity, not the Jacobian again.
def repaired_gradient(jacobian: Tensor) -> Tensor:
    return jacobian + jacobian


# %% wrong repaired_gradient off_diagonal_lost
# Off the diagonal, your result is 0. The entries of the Jacobian stay there as they are.
def repaired_gradient(jacobian: Tensor) -> Tensor:
    return torch.diag(jacobian.diagonal() + 1)


# %% wrong repaired_gradient two_blocks
# This is the Jacobian of two such blocks in a row. There is one.
def repaired_gradient(jacobian: Tensor) -> Tensor:
    both = torch.eye(len(jacobian), dtype=jacobian.dtype) + jacobian
    return both @ both


# %% wrong repaired_gradient through_the_layer_again
# You multiply the sum by the Jacobian once more. The sum is the result already.
def repaired_gradient(jacobian: Tensor) -> Tensor:
    return jacobian @ (torch.eye(len(jacobian), dtype=jacobian.dtype) + jacobian)


# %% wrong repaired_gradient first_row_only
# Only the first entry of the diagonal gets its 1. Every feature of x is added.
def repaired_gradient(jacobian: Tensor) -> Tensor:
    result = jacobian.clone()
    result[0, 0] += 1
    return result


# %% wrong repaired_gradient last_row_forgotten
# The last entry of the diagonal lacks its 1. Every feature of x is added.
def repaired_gradient(jacobian: Tensor) -> Tensor:
    result = jacobian.clone()
    for i in range(len(result) - 1):
        result[i, i] += 1
    return result


# %% wrong repaired_gradient diagonal_alone
# You return the diagonal alone. Return the whole matrix.
def repaired_gradient(jacobian: Tensor) -> Tensor:
    return jacobian.diagonal() + 1


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
