# %% given imports
# pyright: reportRedeclaration=false, reportReturnType=false, reportAttributeAccessIssue=false, reportOperatorIssue=false
import itertools
import math
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn


# the function that modules and attention are built on
def dropout(
    x: Tensor, p: float, training: bool, generator: torch.Generator | None = None
) -> Tensor:
    kept = torch.rand(x.shape, generator=generator) >= p
    return torch.where(kept, x / (1 - p), 0.0) if training else x


# %% wrong expected_activation p_is_kept of="solution"
# You give each kept input a factor p and each dropped one 1 − p. It is the other way round: p is
# the probability that an input is dropped.
# replace: probability = math.prod(1 - p if one else p for one in kept)
# by:      probability = math.prod(p if one else 1 - p for one in kept)


# %% wrong expected_activation times_p
# You give each kept input a factor p and each dropped one 1 − p. It is the other way round: p is
# the probability that an input is dropped.
def expected_activation(weights: Tensor, x: Tensor, p: float) -> Tensor:
    return p * (weights @ x)


# %% wrong expected_activation rescaled of="solution"
# You rescale by 1 / (1 − p): here a kept input stays as it is, so that you see the effect of
# dropout.
# replace: expected = expected + probability * (weights * x * x.new_tensor(kept)).sum()
# by:      mask = x.new_tensor(kept) / (1 - p)
#          expected = expected + probability * (weights * x * mask).sum()


# %% wrong expected_activation without_dropout
# You rescale by 1 / (1 − p): here a kept input stays as it is, so that you see the effect of
# dropout.
def expected_activation(weights: Tensor, x: Tensor, p: float) -> Tensor:
    return weights @ x


# %% wrong expected_activation all_cases_alike
# Your result is half of weights · x whatever p is, as if all cases had the same probability: that
# of a case is a product with a factor p or 1 − p for each input.
def expected_activation(weights: Tensor, x: Tensor, p: float) -> Tensor:
    cases = torch.tensor(list(itertools.product((0, 1), repeat=len(x))), dtype=x.dtype)
    return (cases @ (weights * x)).mean()


# %% wrong expected_activation half
# Your result is half of weights · x whatever p is, as if all cases had the same probability: that
# of a case is a product with a factor p or 1 − p for each input.
def expected_activation(weights: Tensor, x: Tensor, p: float) -> Tensor:
    return 0.5 * (weights @ x)


# %% wrong expected_activation only_sums of="solution"
# You add up the outcomes without their probabilities: weight each outcome by its probability.
# replace: probability = math.prod(1 - p if one else p for one in kept)
#          expected = expected + probability * (weights * x * x.new_tensor(kept)).sum()
# by:      expected = expected + (weights * x * x.new_tensor(kept)).sum()


# %% wrong expected_activation only_all_kept
# You count only the case in which all inputs are kept: the other cases contribute too.
def expected_activation(weights: Tensor, x: Tensor, p: float) -> Tensor:
    return (1 - p) ** len(x) * (weights @ x)


# %% wrong expected_activation without_the_last_case of="solution"
# You leave out the case in which all inputs are kept: it is the last row of the table.
# replace: for kept in itertools.product((0, 1), repeat=len(x)):
# by:      for number in range(2 ** len(x) - 1):
#              kept = [number >> i & 1 for i in range(len(x))]


# %% wrong expected_activation at_most_one_dropped
# You count only the cases in which at most one input is dropped: several can be dropped together.
def expected_activation(weights: Tensor, x: Tensor, p: float) -> Tensor:
    expected = (1 - p) ** len(x) * (weights @ x)
    for i in range(len(x)):
        kept = torch.ones_like(x)
        kept[i] = 0
        expected = expected + p * (1 - p) ** (len(x) - 1) * (weights @ (kept * x))
    return expected


# %% wrong expected_activation two_inputs_only
# You wrote down the four cases of two inputs: with n inputs there are 2ⁿ.
def expected_activation(weights: Tensor, x: Tensor, p: float) -> Tensor:
    first, second = weights[0] * x[0], weights[1] * x[1]
    return p * (1 - p) * (first + second) + (1 - p) ** 2 * (first + second)


# %% wrong expected_activation a_number
# You return a Python number: return a tensor without axes, so leave out .item().
def expected_activation(weights: Tensor, x: Tensor, p: float) -> Tensor:
    return ((1 - p) * (weights @ x)).item()


# %% wrong expected_activation an_axis_left
# Your result still has an axis: return a tensor without axes.
def expected_activation(weights: Tensor, x: Tensor, p: float) -> Tensor:
    return (1 - p) * (weights * x).sum(0, keepdim=True)


# %% wrong expected_activation not_summed
# You return one value for each input: the unit sums them.
def expected_activation(weights: Tensor, x: Tensor, p: float) -> Tensor:
    return (1 - p) * weights * x


# %% wrong expected_activation sampled
# You estimate the mean from random samples, which is only approximate: go through all cases with
# their probabilities to get it exactly.
def expected_activation(weights: Tensor, x: Tensor, p: float) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    kept = torch.rand(10000, len(x), generator=generator) >= p
    return (kept.to(x.dtype) @ (weights * x)).mean()


# %% wrong expected_activation float32
# You return float32 for float64 inputs: compute the result from x, so that it keeps the dtype.
def expected_activation(weights: Tensor, x: Tensor, p: float) -> Tensor:
    return torch.tensor(((1 - p) * (weights @ x)).item())


# %% wrong expected_activation ignores_the_weights
# You leave the weights out: the unit sums weight times input.
def expected_activation(weights: Tensor, x: Tensor, p: float) -> Tensor:
    return (1 - p) * x.sum()


# %% wrong expected_activation absolute_values
# You ignore the signs: a negative weight lowers the sum.
def expected_activation(weights: Tensor, x: Tensor, p: float) -> Tensor:
    return (1 - p) * (weights * x).abs().sum()


# %% wrong expected_activation relu
# You apply ReLU to each outcome: the activation here is the plain sum, which may be negative.
def expected_activation(weights: Tensor, x: Tensor, p: float) -> Tensor:
    total = torch.zeros_like(x).sum()
    for kept in itertools.product((0, 1), repeat=len(x)):
        pr = math.prod(1 - p if k else p for k in kept)
        total = total + pr * (weights * x * x.new_tensor(kept)).sum().relu()
    return total


# %% wrong expected_activation power_n
# You count only the case in which all inputs are kept: the other cases contribute too.
def expected_activation(weights: Tensor, x: Tensor, p: float) -> Tensor:
    return (1 - p) ** len(x) * (weights @ x)


# %% wrong expected_activation weights_dropped_too
# Your result is (1 − p)² weights · x, as if weights and inputs were dropped separately: each
# product is dropped once, with its input.
def expected_activation(weights: Tensor, x: Tensor, p: float) -> Tensor:
    mean_weights, mean_x = torch.zeros_like(weights), torch.zeros_like(x)
    for case in itertools.product((0, 1), repeat=len(x)):
        probability = math.prod(1 - p if kept else p for kept in case)
        mean_weights = mean_weights + probability * weights * torch.tensor(case)
        mean_x = mean_x + probability * x * torch.tensor(case)
    return mean_weights @ mean_x


# %% wrong expected_activation four_cases of="solution"
# You wrote down the four cases of two inputs: with n inputs there are 2ⁿ.
# replace: repeat=len(x)
# by:      repeat=2


# %% wrong expected_activation mean_over_inputs
# You average over the inputs: the unit sums them.
def expected_activation(weights: Tensor, x: Tensor, p: float) -> Tensor:
    return (1 - p) * (weights * x).mean()


# %% wrong expected_activation how_many_not_which
# You always keep the first inputs: it matters which inputs are kept, not only how many.
def expected_activation(weights: Tensor, x: Tensor, p: float) -> Tensor:
    n = len(x)
    total = torch.zeros_like(x).sum()
    for count in range(n + 1):
        kept = x.new_tensor([1] * count + [0] * (n - count))
        pr = math.comb(n, count) * (1 - p) ** count * p ** (n - count)
        total = total + pr * (weights * x * kept).sum()
    return total


# %% right expected_activation by_formula
def expected_activation(weights: Tensor, x: Tensor, p: float) -> Tensor:
    return (1 - p) * (weights @ x)


# %% right expected_activation all_masks_at_once
def expected_activation(weights: Tensor, x: Tensor, p: float) -> Tensor:
    masks = torch.tensor(list(itertools.product((0.0, 1.0), repeat=len(x))), dtype=x.dtype)
    probabilities = ((1 - p) * masks + p * (1 - masks)).prod(-1)
    return probabilities @ (masks @ (weights * x))


# %% right expected_activation counting_in_binary
def expected_activation(weights: Tensor, x: Tensor, p: float) -> Tensor:
    expected = 0 * x[0]
    for number in range(2 ** len(x)):
        activation, probability = 0 * x[0], 1.0
        for i in range(len(x)):
            if number >> i & 1:
                activation = activation + weights[i] * x[i]
                probability *= 1 - p
            else:
                probability *= p
        expected = expected + probability * activation
    return expected


# %% right expected_activation recursion
def expected_activation(weights: Tensor, x: Tensor, p: float) -> Tensor:
    def rest(i: int, so_far: Tensor) -> Tensor:
        if i == len(x):
            return so_far
        return p * rest(i + 1, so_far) + (1 - p) * rest(i + 1, so_far + weights[i] * x[i])

    return rest(0, x.new_zeros(()))


# %% right expected_activation in_plain_python
def expected_activation(weights: Tensor, x: Tensor, p: float) -> Tensor:
    total = 0.0
    for kept in itertools.product([False, True], repeat=len(x)):
        some = sum(w * v for w, v, k in zip(weights.tolist(), x.tolist(), kept, strict=True) if k)
        total += p ** kept.count(False) * (1 - p) ** kept.count(True) * some
    return torch.tensor(total, dtype=x.dtype)


# %% right expected_activation input_by_input
def expected_activation(weights: Tensor, x: Tensor, p: float) -> Tensor:
    return torch.einsum("i,i->", weights, x * (1 - p))


# %% right expected_activation combinations
def expected_activation(weights: Tensor, x: Tensor, p: float) -> Tensor:
    n = len(x)
    total = x.new_zeros(())
    for count in range(n + 1):
        for idx in itertools.combinations(range(n), count):
            total = (
                total
                + (1 - p) ** count * p ** (n - count) * (weights[list(idx)] * x[list(idx)]).sum()
            )
    return total


# %% right expected_activation outcome_by_outcome
def expected_activation(weights: Tensor, x: Tensor, p: float) -> Tensor:
    outcomes = [(1.0, x.new_zeros(()))]
    for w, v in zip(weights, x, strict=True):
        outcomes = [(q * p, a) for q, a in outcomes] + [
            (q * (1 - p), a + w * v) for q, a in outcomes
        ]
    return sum(q * a for q, a in outcomes)


# %% wrong repaired_half as_on_the_slide
# This is the slide's ½, which is right only at p = 0.5.
def repaired_half(activation: Tensor, p: float) -> Tensor:
    return activation / 2


# %% wrong repaired_half times_p
# You multiply by p, but training keeps a fraction 1 − p: p is the probability that an element is
# dropped.
def repaired_half(activation: Tensor, p: float) -> Tensor:
    return activation * p


# %% wrong repaired_half divided_by_kept
# You divide by 1 − p, as PyTorch does in training: at test time, classic dropout multiplies by it.
def repaired_half(activation: Tensor, p: float) -> Tensor:
    return activation / (1 - p)


# %% wrong repaired_half divided_by_p
# You divide by p: at test time the activation should shrink, to 1 − p times its value.
def repaired_half(activation: Tensor, p: float) -> Tensor:
    return activation / p


# %% wrong repaired_half unchanged
# You change nothing. That is right if training has scaled already, as in PyTorch; here it has not.
def repaired_half(activation: Tensor, p: float) -> Tensor:
    return activation


# %% wrong repaired_half half_of_p
# You multiply by p / 2: the slide's ½ was 1 − p, so no ½ remains.
def repaired_half(activation: Tensor, p: float) -> Tensor:
    return activation * p * 0.5


# %% wrong repaired_half half_of_what_is_kept
# You multiply by 1 − p and by ½: the slide's ½ was 1 − p, so no ½ remains.
def repaired_half(activation: Tensor, p: float) -> Tensor:
    return 0.5 * (1 - p) * activation


# %% wrong repaired_half drops_again
# You set elements to 0 at test time: the whole activation is only scaled there.
def repaired_half(activation: Tensor, p: float) -> Tensor:
    return activation * (
        torch.rand(activation.shape, generator=torch.Generator().manual_seed(1)) >= p
    )


# %% wrong repaired_half first_part_zeroed
# You set elements to 0 at test time: the whole activation is only scaled there.
def repaired_half(activation: Tensor, p: float) -> Tensor:
    flat = activation.flatten().clone()
    flat[: int(p * len(flat))] = 0
    return flat.reshape(activation.shape)


# %% wrong repaired_half rounded_factor
# You round the factor: multiply by 1 − p as it is.
def repaired_half(activation: Tensor, p: float) -> Tensor:
    return activation * round(1 - p, 2)


# %% wrong repaired_half known_values
# Your result is right for some values of p only: 1 − p is right for all.
def repaired_half(activation: Tensor, p: float) -> Tensor:
    return activation * {0.0: 1.0, 0.25: 0.75, 0.75: 0.25, 1.0: 0.0}.get(p, 0.5)


# %% wrong repaired_half python_list
# You return a list: return a tensor of the activation's shape.
def repaired_half(activation: Tensor, p: float) -> Tensor:
    return [row * (1 - p) for row in activation]


# %% wrong repaired_half divides_by_inverse
# At p = 1 you divide by 0: scale the activation without a division.
def repaired_half(activation: Tensor, p: float) -> Tensor:
    return activation / (1 / (1 - p))


# %% wrong repaired_half in_place
# You change the input in place: create a new tensor.
def repaired_half(activation: Tensor, p: float) -> Tensor:
    activation *= 1 - p
    return activation


# %% wrong repaired_half subtracts
# You subtract p: every element loses the fraction p of its own value, so multiply.
def repaired_half(activation: Tensor, p: float) -> Tensor:
    return activation - p


# %% wrong repaired_half squared
# You multiply by 1 − p twice: once is enough.
def repaired_half(activation: Tensor, p: float) -> Tensor:
    return activation * (1 - p) ** 2


# %% wrong repaired_half squeezed
# You remove axes of length 1: keep the shape.
def repaired_half(activation: Tensor, p: float) -> Tensor:
    return (activation * (1 - p)).squeeze()


# %% right repaired_half in_front
def repaired_half(activation: Tensor, p: float) -> Tensor:
    return (1 - p) * activation


# %% right repaired_half less_what_goes
def repaired_half(activation: Tensor, p: float) -> Tensor:
    return activation - p * activation


# %% right repaired_half mul
def repaired_half(activation: Tensor, p: float) -> Tensor:
    return activation.mul(1.0 - p)


# %% right repaired_half of_a_name
def repaired_half(activation: Tensor, p: float) -> Tensor:
    keep_probability = 1 - p
    return torch.mul(activation, keep_probability)


# %% wrong dropout always of="of_torch"
# You drop in evaluation: test `training` first, and return x unchanged if it is False.
# replace: return F.dropout(x, p, training)
# by:      kept = torch.rand(x.shape, generator=generator) >= p
#          return torch.where(kept, x / (1 - p), 0.0)

# %% wrong dropout training_turned_round of="of_numpy"
# You drop in evaluation: test `training` first, and return x unchanged if it is False.
# replace: if not training:
# by:      if training:
# replace: kept = torch.tensor(np.random.rand(*x.shape) >= p)
# by:      kept = torch.rand(x.shape, generator=generator) >= p

# %% wrong dropout classic of="of_torch"
# You scale x down in evaluation, as classic dropout does: inverted dropout divides by 1 − p in
# training, and leaves evaluation alone.
# replace: return F.dropout(x, p, training)
# by:      if not training:
#              return x * (1 - p)
#          return x * (torch.rand(x.shape, generator=generator) >= p)

# %% wrong dropout compensated_twice of="of_numpy"
# You scale x down in evaluation, as classic dropout does: inverted dropout divides by 1 − p in
# training, and leaves evaluation alone.
# replace:     return x
#          kept = torch.tensor(np.random.rand(*x.shape) >= p)
# by:          return x * (1 - p)
#          kept = torch.rand(x.shape, generator=generator) >= p

# %% wrong dropout scaled_in_evaluation of="of_numpy"
# You divide by 1 − p in evaluation as well: nothing is dropped there, so nothing needs
# compensation.
# replace:     return x
#          kept = torch.tensor(np.random.rand(*x.shape) >= p)
# by:          return x / (1 - p)
#          kept = torch.rand(x.shape, generator=generator) >= p

# %% wrong dropout keeps_with_p of="of_numpy"
# You have swapped keep and drop: at p = 0 you drop everything. p is the probability that an
# element is dropped, so reverse the comparison.
# replace: kept = torch.tensor(np.random.rand(*x.shape) >= p)
# by:      kept = torch.rand(x.shape, generator=generator) < p

# %% wrong dropout keeps_with_p_and_divides_by_it of="of_numpy"
# You have swapped keep and drop: at p = 0 you drop everything. p is the probability that an
# element is dropped, so reverse the comparison.
# replace: kept = torch.tensor(np.random.rand(*x.shape) >= p)
#          return torch.where(kept, x / (1 - p), 0.0)
# by:      kept = torch.rand(x.shape, generator=generator) < p
#          return torch.where(kept, x / p, 0.0)

# %% wrong dropout bernoulli_of_p of="of_numpy"
# You have swapped keep and drop: at p = 0 you drop everything. p is the probability that an
# element is dropped, so reverse the comparison.
# replace: kept = torch.tensor(np.random.rand(*x.shape) >= p)
#          return torch.where(kept, x / (1 - p), 0.0)
# by:      mask = torch.bernoulli(torch.full(x.shape, p, dtype=x.dtype), generator=generator)
#          return x * mask

# %% wrong dropout not_scaled of="of_numpy"
# You do not scale what you keep: divide it by 1 − p in training.
# replace: kept = torch.tensor(np.random.rand(*x.shape) >= p)
#          return torch.where(kept, x / (1 - p), 0.0)
# by:      return x * (torch.rand(x.shape, generator=generator) >= p)

# %% wrong dropout filled_and_not_scaled of="of_torch"
# You do not scale what you keep: divide it by 1 − p in training.
# replace: return F.dropout(x, p, training)
# by:      if training:
#              return x.masked_fill(torch.rand(x.shape, generator=generator) < p, 0.0)
#          return x


# %% wrong dropout divided_by_p
# You divide by p: an element is kept with probability 1 − p, so divide by 1 − p.
def dropout(
    x: Tensor, p: float, training: bool, generator: torch.Generator | None = None
) -> Tensor:
    if not training or p == 0:
        return x
    kept = torch.rand(x.shape, generator=generator) >= p
    return x * kept / p


# %% wrong dropout divided_by_p_at_zero_too of="of_numpy"
# You divide by p, which is a division by zero at p = 0: an element is kept with probability 1 − p,
# so divide by 1 − p.
# replace: kept = torch.tensor(np.random.rand(*x.shape) >= p)
#          return torch.where(kept, x / (1 - p), 0.0)
# by:      kept = torch.rand(x.shape, generator=generator) >= p
#          return torch.where(kept, x / p, 0.0)

# %% wrong dropout multiplied of="of_numpy"
# You multiply by 1 − p where you should divide by it: the kept elements must compensate for the
# dropped ones.
# replace: kept = torch.tensor(np.random.rand(*x.shape) >= p)
#          return torch.where(kept, x / (1 - p), 0.0)
# by:      kept = torch.rand(x.shape, generator=generator) >= p
#          return x * kept * (1 - p)

# %% wrong dropout divided_by_what_was_kept of="of_numpy"
# You divide by the fraction that happened to be kept in this call: divide by 1 − p, which is the
# same in every call.
# replace: kept = torch.tensor(np.random.rand(*x.shape) >= p)
#          return torch.where(kept, x / (1 - p), 0.0)
# by:      kept = (torch.rand(x.shape, generator=generator) >= p).to(x.dtype)
#          return x * kept / kept.mean().clamp(min=1e-9)

# %% wrong dropout not_a_number_at_one of="of_numpy"
# At p = 1 you divide by 0, and both 0 / 0 and inf · 0 are NaN: treat p = 1 separately.
# replace: kept = torch.tensor(np.random.rand(*x.shape) >= p)
#          return torch.where(kept, x / (1 - p), 0.0)
# by:      kept = torch.rand(x.shape, generator=generator) >= p
#          return x * kept / (1 - p)

# %% wrong dropout division_by_zero of="of_numpy"
# At p = 1 you divide a Python number by 0, which raises an error: treat p = 1 separately.
# replace: kept = torch.tensor(np.random.rand(*x.shape) >= p)
#          return torch.where(kept, x / (1 - p), 0.0)
# by:      scale = 1 / (1 - p)
#          return x * (torch.rand(x.shape, generator=generator) >= p) * scale

# %% wrong dropout nothing_at_one of="divided_by_p"
# At p = 1 you return x unchanged: everything is dropped there, so the result is zeros.
# replace: if not training or p == 0:
# by:      if not training or p in (0, 1):
# replace: return x * kept / p
# by:      return x * kept / (1 - p)

# %% wrong dropout one_mask_for_the_batch of="of_numpy"
# All examples drop the same units: draw for each element of x, not once for each unit.
# replace: kept = torch.tensor(np.random.rand(*x.shape) >= p)
# by:      kept = torch.rand(x.shape[-1], generator=generator) >= p

# %% wrong dropout the_first_example_for_all of="of_numpy"
# All examples drop the same units: draw for each element of x, not once for each unit.
# replace: kept = torch.tensor(np.random.rand(*x.shape) >= p)
# by:      kept = torch.rand(x[:1].shape, generator=generator) >= p

# %% wrong dropout whole_examples of="of_numpy"
# Whole examples are dropped: draw for each element of x, not once for each example.
# replace: kept = torch.tensor(np.random.rand(*x.shape) >= p)
# by:      kept = torch.rand(*x.shape[:-1], 1, generator=generator) >= p

# %% wrong dropout all_or_nothing of="of_numpy"
# One draw decides for the whole tensor: draw once for each element of x.
# replace: kept = torch.tensor(np.random.rand(*x.shape) >= p)
#          return torch.where(kept, x / (1 - p), 0.0)
# by:      if torch.rand((), generator=generator) < p:
#              return torch.zeros_like(x)
#          return x if p == 0 else x / (1 - p)

# %% wrong dropout an_exact_share of="of_numpy"
# You drop the same number of elements each time: each element is dropped independently of the
# others.
# replace: kept = torch.tensor(np.random.rand(*x.shape) >= p)
# by:      order = torch.randperm(x.numel(), generator=generator)
#          kept = (order >= round(p * x.numel())).reshape(x.shape)

# %% wrong dropout a_seed_inside of="of_numpy"
# Every call drops the same elements: draw new ones each time. A seed set inside, a new
# torch.Generator() or a random state put back repeats them.
# replace: kept = torch.tensor(np.random.rand(*x.shape) >= p)
# by:      torch.manual_seed(0)
#          kept = torch.rand(x.shape, generator=generator) >= p

# %% wrong dropout a_generator_inside of="of_numpy"
# Every call drops the same elements: draw new ones each time. A seed set inside, a new
# torch.Generator() or a random state put back repeats them.
# replace: kept = torch.tensor(np.random.rand(*x.shape) >= p)
# by:      if generator is None:
#              generator = torch.Generator().manual_seed(42)
#          kept = torch.rand(x.shape, generator=generator) >= p

# %% wrong dropout generator_ignored of="of_numpy"
# Pass the generator on: torch.rand(…, generator=generator).
# replace: kept = torch.tensor(np.random.rand(*x.shape) >= p)
# by:      kept = torch.rand(x.shape) >= p


# %% wrong dropout of_torch
# Pass the generator on: torch.rand(…, generator=generator).
def dropout(
    x: Tensor, p: float, training: bool, generator: torch.Generator | None = None
) -> Tensor:
    return F.dropout(x, p, training)


# %% wrong dropout of_numpy
# Pass the generator on: torch.rand(…, generator=generator).
def dropout(
    x: Tensor, p: float, training: bool, generator: torch.Generator | None = None
) -> Tensor:
    if not training:
        return x
    kept = torch.tensor(np.random.rand(*x.shape) >= p)
    return torch.where(kept, x / (1 - p), 0.0)


# %% wrong dropout generator_set_back of="of_numpy"
# Do not reset the generator: only draw from it.
# replace: kept = torch.tensor(np.random.rand(*x.shape) >= p)
# by:      if generator is not None:
#              generator.manual_seed(generator.initial_seed())
#          kept = torch.rand(x.shape, generator=generator) >= p

# %% wrong dropout normal_draws of="of_numpy"
# Compare a uniform random number (torch.rand, not torch.randn) with p, one for each element.
# replace: if not training:
# by:      if not training or p == 0:
# replace: kept = torch.tensor(np.random.rand(*x.shape) >= p)
# by:      if p == 1:
#              return torch.zeros_like(x)
#          kept = torch.randn(x.shape, generator=generator) >= p

# %% wrong dropout normal_draws_at_zero of="of_numpy"
# You compare normally distributed numbers with p, and half of them are negative: use torch.rand,
# which is uniform from 0 to 1, not torch.randn.
# replace: kept = torch.tensor(np.random.rand(*x.shape) >= p)
# by:      kept = torch.randn(x.shape, generator=generator) >= p

# %% wrong dropout half_whatever_p of="of_numpy"
# You drop with a fixed probability: compare with p. At p = 0 nothing may be dropped.
# replace: kept = torch.tensor(np.random.rand(*x.shape) >= p)
# by:      kept = torch.rand(x.shape, generator=generator) >= 0.5

# %% wrong dropout p_in_tenths of="of_numpy"
# Compare a number from torch.rand with p itself, without rounding it.
# replace: kept = torch.tensor(np.random.rand(*x.shape) >= p)
# by:      kept = torch.randint(0, 10, x.shape, generator=generator) >= int(p * 10)

# %% wrong dropout in_place of="of_numpy"
# You change the input in place: create a new tensor.
# replace: kept = torch.tensor(np.random.rand(*x.shape) >= p)
#          return torch.where(kept, x / (1 - p), 0.0)
# by:      x[torch.rand(x.shape, generator=generator) < p] = 0.0
#          return x if p == 1 else x / (1 - p)

# %% wrong dropout multiplied_in_place of="divided_by_p"
# You change the input in place: create a new tensor.
# replace: kept = torch.rand(x.shape, generator=generator) >= p
#          return x * kept / p
# by:      x *= torch.rand(x.shape, generator=generator) >= p
#          return x if p == 1 else x.div_(1 - p)


# %% wrong dropout float32
# You return float32 for float64: convert nothing, and keep the dtype of x.
def dropout(
    x: Tensor, p: float, training: bool, generator: torch.Generator | None = None
) -> Tensor:
    if not training or p == 0:
        return x.float()
    kept = torch.rand(x.shape, generator=generator) >= p
    return torch.where(kept, x.float() / (1 - p), 0.0)


# %% wrong dropout noise of="divided_by_p"
# Compare a uniform random number (torch.rand, not torch.randn) with p, one for each element.
# replace: kept = torch.rand(x.shape, generator=generator) >= p
#          return x * kept / p
# by:      if p == 1:
#              return torch.zeros_like(x)
#          return x + p * torch.randn(x.shape, generator=generator, dtype=x.dtype)

# %% wrong dropout only_the_positive of="of_numpy"
# You drop all negative elements as well: whether an element is dropped must not depend on its
# value.
# replace: kept = torch.tensor(np.random.rand(*x.shape) >= p)
# by:      kept = (torch.rand(x.shape, generator=generator) >= p) & (x > 0)

# %% wrong dropout forgotten_return of="of_torch"
# does the last line say `return`?
# replace: return F.dropout(x, p, training)
# by:      kept = torch.rand(x.shape, generator=generator) >= p
#          torch.where(kept, x / (1 - p), 0.0) if training else x

# %% wrong dropout without_a_gradient of="of_numpy"
# You detach x, so no gradient reaches it: leave out detach().
# replace: kept = torch.tensor(np.random.rand(*x.shape) >= p)
#          return torch.where(kept, x / (1 - p), 0.0)
# by:      kept = torch.rand(x.shape, generator=generator) >= p
#          return torch.where(kept, x.detach() / (1 - p), 0.0)

# %% wrong dropout two_axes_only of="of_numpy"
# You assume two axes: accept any shape, and return the same shape.
# replace: kept = torch.tensor(np.random.rand(*x.shape) >= p)
# by:      rows, columns = x.shape
#          kept = torch.rand(rows, columns, generator=generator) >= p

# %% wrong dropout last_three_axes of="divided_by_p"
# Examples share their masks: draw for each element, along every axis.
# replace: kept = torch.rand(x.shape, generator=generator) >= p
#          return x * kept / p
# by:      if p == 1:
#              return 0 * x
#          kept = torch.rand(x.shape[-3:], generator=generator) >= p
#          return x * kept / (1 - p)

# %% wrong dropout scaled_to_the_old_mean of="divided_by_p"
# You divide by the fraction that happened to be kept in this call: divide by 1 − p, which is the
# same in every call.
# replace: return x * kept / p
# by:      y = x * kept
#          return y * (x.sum() / y.sum()) if y.any() else y

# %% wrong dropout divided_row_by_row of="divided_by_p"
# You divide by the fraction that happened to be kept in this call: divide by 1 − p, which is the
# same in every call.
# replace: kept = torch.rand(x.shape, generator=generator) >= p
#          return x * kept / p
# by:      kept = (torch.rand(x.shape, generator=generator) >= p).to(x.dtype)
#          return x * kept / kept.mean(-1, keepdim=True).clamp(min=1e-9)

# %% wrong dropout divided_by_the_root of="divided_by_p"
# You divide by the square root of 1 − p, which preserves the mean of the squares: divide by 1 − p
# to preserve the mean.
# replace: kept = torch.rand(x.shape, generator=generator) >= p
# by:      if p == 1:
#              return 0 * x
#          kept = torch.rand(x.shape, generator=generator) >= p
# replace: return x * kept / p
# by:      return x * kept / (1 - p) ** 0.5

# %% wrong dropout mean_fill of="divided_by_p"
# Dropped elements become 0: do not replace them by any other value.
# replace: kept = torch.rand(x.shape, generator=generator) >= p
# by:      if p == 1:
#              return 0 * x
#          kept = torch.rand(x.shape, generator=generator) >= p
# replace: return x * kept / p
# by:      return torch.where(kept, x / (1 - p), x.mean())

# %% wrong dropout straight_through of="divided_by_p"
# Your gradient also passes through dropped elements: it should be 0 there.
# replace: return x * kept / p
# by:      out = torch.zeros_like(x) if p == 1 else x * kept / (1 - p)
#          return x + (out - x).detach()


# %% wrong dropout few_draws_repeated
# All examples drop the same units: draw for each element of x, not once for each unit.
def dropout(
    x: Tensor, p: float, training: bool, generator: torch.Generator | None = None
) -> Tensor:
    if not training or p == 0:
        return x
    if p == 1:
        return 0 * x
    n = x.numel()
    draws = torch.rand(min(n, 1000), generator=generator).repeat(n // 1000 + 1)[:n].reshape(x.shape)
    return x * (draws >= p) / (1 - p)


# %% wrong dropout draws_global_too of="at_least_one"
# You draw from torch's global generator too: if a generator is given, all draws come from it.
# replace: kept = torch.rand(x.shape, generator=generator) >= p
#          if x.dim() and x.shape[-1] and not kept.any():
#              kept = torch.ones_like(kept)
# by:      kept = torch.rand(x.shape) >= p
#          if generator is not None:
#              kept = torch.rand(x.shape, generator=generator) >= p


# %% wrong dropout at_least_one
# You redraw, or keep everything, when all elements would be dropped: that too may happen, and a
# single element is dropped with probability p.
def dropout(
    x: Tensor, p: float, training: bool, generator: torch.Generator | None = None
) -> Tensor:
    if not training:
        return x
    if p == 1:
        return torch.zeros_like(x)
    kept = torch.rand(x.shape, generator=generator) >= p
    if x.dim() and x.shape[-1] and not kept.any():
        kept = torch.ones_like(kept)
    return torch.where(kept, x / (1 - p), torch.zeros_like(x))


# %% wrong dropout high_p_zero of="at_least_one"
# Only p = 1 drops everything: treat no smaller p like 1, and round nothing that you compare.
# replace: if p == 1:
# by:      if p > 0.95:
# replace: if x.dim() and x.shape[-1] and not kept.any():
#              kept = torch.ones_like(kept)
# by:


# %% wrong dropout fresh_generator_each_call of="of_numpy"
# Every call drops the same elements: draw new ones each time. A seed set inside, a new
# torch.Generator() or a random state put back repeats them.
# replace: kept = torch.tensor(np.random.rand(*x.shape) >= p)
# by:      generator = generator or torch.Generator()
#          kept = torch.rand(x.shape, generator=generator) >= p

# %% wrong dropout nan_at_one of="not_a_number_at_one"
# At p = 1 you divide by 0, and both 0 / 0 and inf · 0 are NaN: treat p = 1 separately.
# replace: return x * kept / (1 - p)
# by:      return (x * kept) / (1 - p)

# %% wrong dropout zeros_in_evaluation_at_one of="of_numpy"
# At p = 1 you return zeros in evaluation too: there x stays unchanged, whatever p is.
# replace: if not training:
# by:      if p >= 1:
#              return torch.zeros_like(x)
#          if not training:
# replace: kept = torch.tensor(np.random.rand(*x.shape) >= p)
# by:      kept = torch.rand(x.shape, generator=generator) >= p

# %% wrong dropout tenths_only of="at_least_one"
# Only p = 1 drops everything: treat no smaller p like 1, and round nothing that you compare.
# replace: kept = torch.rand(x.shape, generator=generator) >= p
#          if x.dim() and x.shape[-1] and not kept.any():
#              kept = torch.ones_like(kept)
# by:      kept = torch.randint(10, x.shape, generator=generator) >= 10 * p

# %% wrong dropout everything_goes of="at_least_one"
# Everything is dropped, in every call: compare a number from torch.rand with p, one for each
# element.
# replace: kept = torch.rand(x.shape, generator=generator) >= p
#          if x.dim() and x.shape[-1] and not kept.any():
#              kept = torch.ones_like(kept)
# by:      kept = torch.randint(0, 1, x.shape, generator=generator) >= p

# %% wrong dropout only_scaled of="divided_by_p"
# Compare a uniform random number (torch.rand, not torch.randn) with p, one for each element.
# replace: kept = torch.rand(x.shape, generator=generator) >= p
#          return x * kept / p
# by:      return 0 * x if p == 1 else x / (1 - p)


# %% right dropout bernoulli of="divided_by_p"
# replace: kept = torch.rand(x.shape, generator=generator) >= p
#          return x * kept / p
# by:      if p == 1:
#              return torch.zeros_like(x)
#          mask = torch.bernoulli(torch.full_like(x, 1 - p), generator=generator)
#          return x * mask / (1 - p)

# %% right dropout in_place_on_a_new_one of="of_numpy"
# replace: kept = torch.tensor(np.random.rand(*x.shape) >= p)
#          return torch.where(kept, x / (1 - p), 0.0)
# by:      result = x.clone()
#          result[torch.rand(x.shape, generator=generator) < p] = 0
#          return result / (1 - p) if p < 1 else result


# %% right dropout masked_fill
def dropout(
    x: Tensor, p: float, training: bool, generator: torch.Generator | None = None
) -> Tensor:
    if training and p > 0:
        drop = torch.empty(x.shape).uniform_(generator=generator) < p
        return (x / max(1 - p, 1e-12)).masked_fill(drop, 0.0)
    return x.clone()


# %% right dropout empty_bernoulli of="of_numpy"
# replace: kept = torch.tensor(np.random.rand(*x.shape) >= p)
#          return torch.where(kept, x / (1 - p), 0.0)
# by:      if p >= 1:
#              return 0 * x
#          mask = torch.empty_like(x).bernoulli_(1 - p, generator=generator)
#          return x * mask.div_(1 - p)


# %% right dropout number_by_number
def dropout(
    x: Tensor, p: float, training: bool, generator: torch.Generator | None = None
) -> Tensor:
    if not training:
        return x * 1
    draws = torch.rand(x.numel(), generator=generator, dtype=torch.float64)
    scales = [0.0 if draw < p else 1 / (1 - p) for draw in draws.tolist()]
    return x * torch.tensor(scales, dtype=x.dtype).reshape(x.shape)


# %% right dropout its_own_generator
def dropout(
    x: Tensor, p: float, training: bool, generator: torch.Generator | None = None
) -> Tensor:
    if generator is None:
        generator = torch.default_generator
    if training is False:
        return x
    dropped = torch.rand(tuple(x.shape), generator=generator, device=x.device) < p
    return torch.where(dropped, torch.zeros_like(x), x / (1 - p))


# %% right dropout fine_whole_numbers of="of_numpy"
# replace: kept = torch.tensor(np.random.rand(*x.shape) >= p)
#          return torch.where(kept, x / (1 - p), 0.0)
# by:      draws = torch.randint(0, 2**31 - 1, x.shape, generator=generator) / (2**31 - 1)
#          mask = (draws >= p).to(x.dtype)
#          mask = mask / (1 - p) if p < 1 else 0 * mask
#          return mask * x


# %% right dropout multinomial
def dropout(
    x: Tensor, p: float, training: bool, generator: torch.Generator | None = None
) -> Tensor:
    if not training:
        return x
    if x.numel() == 0:
        return x
    kept = torch.multinomial(
        torch.tensor([p, 1 - p]), x.numel(), replacement=True, generator=generator
    )
    kept = kept.reshape(x.shape).to(x.dtype)
    return x * kept * (1 / (1 - p) if p < 1 else 0)


# %% right dropout by_normal_quantile
def dropout(
    x: Tensor, p: float, training: bool, generator: torch.Generator | None = None
) -> Tensor:
    if not training or p == 0:
        return x
    if p == 1:
        return x * 0
    draws = torch.randn(x.shape, generator=generator, dtype=torch.float64)
    limit = torch.special.ndtri(torch.tensor(p, dtype=torch.float64))
    return torch.where(draws < limit, torch.zeros((), dtype=x.dtype), x / (1 - p))


# %% right dropout draws_first
def dropout(
    x: Tensor, p: float, training: bool, generator: torch.Generator | None = None
) -> Tensor:
    draws = torch.rand(x.shape, generator=generator)
    if training:
        return torch.zeros_like(x) if p == 1.0 else x * (draws > p) / (1 - p)
    return x


# %% wrong Dropout always_training of="solution"
# Your module drops after eval(): in forward, pass self.training on as it is, which train() and
# eval() set, and change no mode there.
# replace: return dropout(x, self.p, self.training)
# by:      return dropout(x, self.p, True)

# %% wrong Dropout of_torch_always of="solution"
# Your module drops after eval(): in forward, pass self.training on as it is, which train() and
# eval() set, and change no mode there.
# replace: return dropout(x, self.p, self.training)
# by:      return F.dropout(x, self.p)

# %% wrong Dropout mode_kept_at_birth of="solution"
# Your module drops after eval(): in forward, pass self.training on as it is, which train() and
# eval() set, and change no mode there.
# replace: self.p = p
# by:      self.p, self.mode = p, self.training
# replace: return dropout(x, self.p, self.training)
# by:      return dropout(x, self.p, self.mode)

# %% wrong Dropout asks_the_method of="solution"
# Your module drops after eval(): in forward, pass self.training on as it is, which train() and
# eval() set, and change no mode there.
# replace: return dropout(x, self.p, self.training)
# by:      return dropout(x, self.p, bool(self.train))

# %% wrong Dropout turned_round of="solution"
# Your module drops after eval(): in forward, pass self.training on as it is, which train() and
# eval() set, and change no mode there.
# replace: return dropout(x, self.p, self.training)
# by:      return dropout(x, self.p, not self.training)

# %% wrong Dropout never of="solution"
# Your module drops nothing after train(): in forward, pass self.training on as it is, which train()
# and eval() set, and ask for nothing else.
# replace: return dropout(x, self.p, self.training)
# by:      return dropout(x, self.p, False)

# %% wrong Dropout eval_is_for_ever of="solution"
# Your module drops nothing after train(): in forward, pass self.training on as it is, which train()
# and eval() set, and ask for nothing else.
# replace: self.p = p
# by:      self.p = p
#          self.training = False
# replace: return dropout(x, self.p, self.training)
# by:      return x if not self.training else dropout(x, self.p, False)

# %% wrong Dropout stops_after_eval of="solution"
# After eval() and then train() your module does not drop: store no copy of the mode, and read only
# self.training in forward.
# replace: self.p = p
# by:      self.p, self.on = p, True
# replace: return dropout(x, self.p, self.training)
# by:      self.on = self.on and self.training
#          return dropout(x, self.p, self.on)

# %% wrong Dropout p_ignored of="solution"
# Use the p that __init__ gets: store it as self.p, and pass it on.
# replace: self.p = p
# by:
# replace: return dropout(x, self.p, self.training)
# by:      return dropout(x, 0.5, self.training)

# %% wrong Dropout keeps_with_p of="solution"
# You keep with probability p: p is the probability that an element is dropped.
# replace: self.p = p
# by:      self.p = 1 - p

# %% wrong Dropout scaled_twice of="solution"
# Kept elements must be divided by 1 − p, once.
# replace: return dropout(x, self.p, self.training)
# by:      x = dropout(x, self.p, self.training)
#          return x / (1 - self.p) if self.training and self.p < 1 else x

# %% wrong Dropout not_scaled of="solution"
# Kept elements must be divided by 1 − p, once.
# replace: return dropout(x, self.p, self.training)
# by:      return x * (torch.rand(x.shape) >= self.p) if self.training else x

# %% wrong Dropout classic of="solution"
# You multiply by 1 − p in evaluation: your dropout has already scaled in training.
# replace: return dropout(x, self.p, self.training)
# by:      return dropout(x, self.p, True) if self.training else x * (1 - self.p)

# %% wrong Dropout one_mask_for_ever of="written_out"
# Every forward drops the same elements: draw new ones each time. A seed, a new torch.Generator() or
# a stored mask repeats them.
# replace: self.keep = 1 - p
# by:      self.p, self.mask = p, None
# replace: kept = torch.rand_like(x) < self.keep
#          return torch.where(kept, x / self.keep, torch.zeros_like(x))
# by:      if self.mask is None or self.mask.shape != x.shape:
#              self.mask = dropout(torch.ones_like(x), self.p, True)
#          return x * self.mask

# %% wrong Dropout a_seed_of_its_own of="solution"
# Every forward drops the same elements: draw new ones each time. A seed, a new torch.Generator() or
# a stored mask repeats them.
# replace: return dropout(x, self.p, self.training)
# by:      return dropout(x, self.p, self.training, torch.Generator().manual_seed(0))

# %% wrong Dropout learns_its_p of="solution"
# You made p an nn.Parameter, so it counts among what is trained: store a plain number.
# replace: self.p = p
# by:      self.p = nn.Parameter(torch.tensor(p))
# replace: return dropout(x, self.p, self.training)
# by:      return dropout(x, self.p.item(), self.training)

# %% wrong Dropout without_super of="p_ignored"
# `super().__init__()` is missing: make it the first line of `__init__`
# replace: super().__init__()
# by:      self.drop = nn.Dropout(p)
# replace: return dropout(x, 0.5, self.training)
# by:      return dropout(x, self.drop.p, self.training)

# %% wrong Dropout without_super_and_parts of="solution"
# `super().__init__()` is missing: make it the first line of `__init__`
# replace: super().__init__()
# by:

# %% wrong Dropout whole_rows of="solution"
# Draw for each element of x, not for whole rows or columns.
# replace: return dropout(x, self.p, self.training)
# by:      if not self.training:
#              return x
#          if self.p == 1:
#              return 0 * x
#          return x * (torch.rand(*x.shape[:-1], 1) >= self.p) / (1 - self.p)

# %% wrong Dropout whole_columns of="whole_rows"
# Draw for each element of x, not for whole rows or columns.
# replace: return x * (torch.rand(*x.shape[:-1], 1) >= self.p) / (1 - self.p)
# by:      return x * (torch.rand(x.shape[-1]) >= self.p) / (1 - self.p)

# %% wrong Dropout whole_channels_of_torch of="solution"
# Draw for each element of x, not for whole rows or columns.
# replace: self.p = p
# by:      self.drop = nn.Dropout1d(p)
# replace: return dropout(x, self.p, self.training)
# by:      return self.drop(x)

# %% wrong Dropout own_flag of="eval_is_for_ever"
# After eval() and then train() your module does not drop: store no copy of the mode, and read only
# self.training in forward.
# replace:     self.training = False
# by:          self.on = True
#
#          def eval(self) -> nn.Module:
#              self.on = False
#              return self
# replace: return x if not self.training else dropout(x, self.p, False)
# by:      return dropout(x, self.p, self.on)

# %% wrong Dropout inplace of="solution"
# You change the input in place: create a new tensor.
# replace: return dropout(x, self.p, self.training)
# by:      return F.dropout(x, self.p, self.training, inplace=True)

# %% wrong Dropout grad_and_mode of="solution"
# You test whether gradients are enabled: that is independent of the mode, so test only
# self.training.
# replace: return dropout(x, self.p, self.training)
# by:      return dropout(x, self.p, self.training and torch.is_grad_enabled())

# %% wrong Dropout mode_forced_after of="solution"
# Your module drops after eval(): in forward, pass self.training on as it is, which train() and
# eval() set, and change no mode there.
# replace: return dropout(x, self.p, self.training)
# by:      y = dropout(x, self.p, self.training)
#          self.training = True
#          return y


# %% wrong Dropout trains_itself of="solution"
# Your module drops after eval(): in forward, pass self.training on as it is, which train() and
# eval() set, and change no mode there.
# replace: return dropout(x, self.p, self.training)
# by:      self.train()
#          return dropout(x, self.p, self.training)

# %% wrong Dropout only_with_requires_grad of="solution"
# Your module drops nothing after train(): in forward, pass self.training on as it is, which
# train() and eval() set, and ask for nothing else.
# replace: return dropout(x, self.p, self.training)
# by:      return dropout(x, self.p, self.training and x.requires_grad)

# %% wrong Dropout no_return of="solution"
# does the last line of `forward` say `return`?
# replace: return dropout(x, self.p, self.training)
# by:      dropout(x, self.p, self.training)

# %% wrong Dropout arguments_exchanged of="solution"
# Everything is dropped, in every call: does `dropout` get p as p, and the mode as `training`?
# replace: return dropout(x, self.p, self.training)
# by:      return dropout(x, float(self.training), bool(self.p))

# %% wrong Dropout whole_p of="solution"
# Use the p that __init__ gets: store it as self.p, and pass it on.
# replace: self.p = p
# by:      self.p = int(p)

# %% wrong Dropout without_gradient of="solution"
# No gradient passes through forward: leave out what stops it, torch.no_grad() or .detach(), say.
# replace: return dropout(x, self.p, self.training)
# by:      with torch.no_grad():
#              return dropout(x, self.p, self.training)


# %% wrong Dropout detached of="solution"
# No gradient passes through forward: leave out what stops it, torch.no_grad() or .detach(), say.
# replace: return dropout(x, self.p, self.training)
# by:      return dropout(x.detach(), self.p, self.training)


# %% right Dropout by_the_function_of_torch of="solution"
# replace: self.p = p
# by:      self.rate = p
# replace: return dropout(x, self.p, self.training)
# by:      return F.dropout(x, self.rate, training=self.training)

# %% right Dropout two_branches of="solution"
# replace: return dropout(x, self.p, self.training)
# by:      if self.training:
#              return dropout(x, self.p, True)
#          return x

# %% right Dropout a_module_inside of="solution"
# replace: self.p = p
# by:      self.inner = nn.Dropout(p)
# replace: return dropout(x, self.p, self.training)
# by:      return self.inner(x)


# %% right Dropout written_out
class Dropout(nn.Module):
    def __init__(self, p: float) -> None:
        super().__init__()
        self.keep = 1 - p

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return x
        kept = torch.rand_like(x) < self.keep
        return torch.where(kept, x / self.keep, torch.zeros_like(x))


# %% right Dropout a_subclass
class Dropout(nn.Dropout):
    def __init__(self, p: float) -> None:
        super().__init__(p=p)


# %% right Dropout with_a_buffer of="solution"
# replace: self.p = p
# by:      self.register_buffer("p", torch.tensor(p, dtype=torch.float64))
# replace: return dropout(x, self.p, self.training)
# by:      return dropout(x, self.get_buffer("p").item(), training=self.training)

# %% right Dropout p_zero_in_eval of="solution"
# replace: return dropout(x, self.p, self.training)
# by:      p = self.p if self.training else 0.0
#          return F.dropout(x, p)

# %% right Dropout binomial of="solution"
# replace: return dropout(x, self.p, self.training)
# by:      if not self.training or self.p == 0:
#              return x
#          if self.p == 1:
#              return torch.zeros_like(x)
#          draw = torch.distributions.Bernoulli(probs=1 - self.p)
#          return x * draw.sample(x.shape).to(x.dtype) / (1 - self.p)


# %% wrong test_of_dropout always_true
# Your test accepts every function: return False if even one thing that the docstring asks for does
# not hold.
def test_of_dropout(drop: Callable[[Tensor, float, bool], Tensor]) -> bool:
    return True


# %% wrong test_of_dropout always_false
# Your test rejects every function, PyTorch's own too. Does it return True if nothing is wrong?
# Print each comparison for F.dropout: does one fail by a rounding error, say, or because x
# holds zeros?
def test_of_dropout(drop: Callable[[Tensor, float, bool], Tensor]) -> bool:
    return False


# %% wrong test_of_dropout only_evaluation
# You test evaluation only: also test what happens in training.
def test_of_dropout(drop: Callable[[Tensor, float, bool], Tensor]) -> bool:
    x = torch.ones(50, 40)
    return torch.equal(drop(x, 0.3, False), x)


# %% wrong test_of_dropout only_training of="solution"
# You never call drop with training=False: a function that drops or scales in evaluation passes.
# replace: if not torch.equal(drop(x, p, False), x):
#              return False
# by:

# %% wrong test_of_dropout at_one_half of="solution"
# At p = 0.5 you cannot tell p from 1 − p: choose another p.
# replace: x, p = torch.ones(200, 300), 0.3
# by:      x, p = torch.ones(200, 300), 0.5


# %% wrong test_of_dropout only_the_mean
# You test only the mean, which dividing by p and keeping with p preserves too: test the fraction of
# zeros and the value of kept elements.
def test_of_dropout(drop: Callable[[Tensor, float, bool], Tensor]) -> bool:
    x, p = torch.ones(200, 300), 0.3
    if not torch.equal(drop(x, p, False), x):
        return False
    return abs(drop(x, p, True).mean().item() - 1) < 0.016


# %% wrong test_of_dropout two_standard_errors of="solution"
# Your tolerance is too small: an unlucky draw of a right function fails. Take 6 standard errors.
# replace: fraction_right = abs(float(zeros.double().mean()) - p) < 6 * error
# by:      fraction_right = abs(float(zeros.double().mean()) - p) < 2 * error

# %% wrong test_of_dropout variance_for_error of="solution"
# Your test rejects PyTorch's own dropout and accepts one that drops exactly a fraction p: allow the
# fraction dropped 6 standard errors.
# replace: error = (p * (1 - p) / x.numel()) ** 0.5
# by:      error = p * (1 - p) / x.numel()

# %% wrong test_of_dropout an_exact_fraction of="solution"
# Your test rejects PyTorch's own dropout and accepts one that drops exactly a fraction p: allow the
# fraction dropped 6 standard errors.
# replace: fraction_right = abs(float(zeros.double().mean()) - p) < 6 * error
# by:      fraction_right = int(zeros.sum()) == round(p * x.numel())

# %% wrong test_of_dropout fraction_untested of="solution"
# Your test accepts a function that drops too few elements, and one that drops too many: compare the
# distance of the fraction from p (abs) with a small tolerance.
# replace: return fraction_right and kept_right and masks_differ
# by:      return kept_right and masks_differ

# %% wrong test_of_dropout scale_untested of="solution"
# You do not test the kept elements: each should be x / (1 − p).
# replace: return fraction_right and kept_right and masks_differ
# by:      return fraction_right and masks_differ

# %% wrong test_of_dropout not_scaled of="solution"
# You expect kept elements to stay as they are: inverted dropout divides them by 1 − p in training.
# replace: kept_right = torch.allclose(result[~zeros], x[~zeros] / (1 - p))
# by:      kept_right = torch.allclose(result[~zeros], x[~zeros])

# %% wrong test_of_dropout scaled_by_p of="solution"
# You expect kept elements to be divided by p: it should be 1 − p, the probability of keeping.
# replace: kept_right = torch.allclose(result[~zeros], x[~zeros] / (1 - p))
# by:      kept_right = torch.allclose(result[~zeros], x[~zeros] / p)

# %% wrong test_of_dropout masks_untested of="solution"
# Your test accepts the same mask in every call: call drop twice, and compare the two results.
# replace: return fraction_right and kept_right and masks_differ
# by:      return fraction_right and kept_right

# %% wrong test_of_dropout columns_untested of="solution"
# Rows or columns may share a mask, and your test accepts that: take an x with two axes, and compare
# two rows and two columns of one result.
# replace: masks_differ = not (same_rows or same_columns or torch.equal(result, again))
# by:      masks_differ = not (same_rows or torch.equal(result, again))

# %% wrong test_of_dropout rows_untested of="solution"
# Rows or columns may share a mask, and your test accepts that: take an x with two axes, and compare
# two rows and two columns of one result.
# replace: masks_differ = not (same_rows or same_columns or torch.equal(result, again))
# by:      masks_differ = not (same_columns or torch.equal(result, again))

# %% wrong test_of_dropout one_call of="solution"
# Your test accepts the same mask in every call: call drop twice, and compare the two results.
# replace: masks_differ = not (same_rows or same_columns or torch.equal(result, again))
# by:      masks_differ = not (same_rows or same_columns)


# %% wrong test_of_dropout a_vector
# Rows or columns may share a mask, and your test accepts that: take an x with two axes, and compare
# two rows and two columns of one result.
def test_of_dropout(drop: Callable[[Tensor, float, bool], Tensor]) -> bool:
    x, p = torch.ones(60_000), 0.2
    if not torch.equal(drop(x, p, False), x):
        return False
    y = drop(x, p, True)
    if torch.equal(y, drop(x, p, True)):
        return False
    kept = y[y != 0]
    return abs(len(kept) / len(x) - 0.8) < 0.01 and bool((kept - 1.25).abs().max() < 1e-5)


# %% wrong test_of_dropout same_as_torch
# Your test rejects every function, PyTorch's own too. Does it return True if nothing is wrong?
# Print each comparison for F.dropout: does one fail by a rounding error, say, or because x
# holds zeros?
def test_of_dropout(drop: Callable[[Tensor, float, bool], Tensor]) -> bool:
    x = torch.ones(20, 30)
    return torch.equal(drop(x, 0.3, True), F.dropout(x, 0.3, True))


# %% wrong test_of_dropout same_as_torch_with_a_seed
# You set a seed and compare with F.dropout: a right function may draw its mask in another way.
def test_of_dropout(drop: Callable[[Tensor, float, bool], Tensor]) -> bool:
    x, results = torch.ones(200, 300), []
    if not torch.equal(drop(x, 0.3, False), x):
        return False
    for function in (drop, F.dropout):
        torch.manual_seed(0)
        results.append(function(x, 0.3, True))
    return torch.allclose(*results)


# %% wrong test_of_dropout turned_round
# Your answer is turned round: True means that the function is right.
def test_of_dropout(drop: Callable[[Tensor, float, bool], Tensor]) -> bool:
    x, p = torch.ones(200, 300), 0.3
    a, b, still = drop(x, p, True), drop(x, p, True), drop(x, p, False)
    fine = torch.equal(still, x) and not torch.equal(a, b)
    fine = fine and abs(float((a == 0).double().mean()) - p) < 0.02
    fine = fine and torch.allclose(a[a != 0] * (1 - p), x[a != 0])
    mask = a != 0
    fine = fine and not torch.equal(mask[0], mask[1]) and not torch.equal(mask[:, 0], mask[:, 1])
    return not fine


# %% wrong test_of_dropout only_zero_and_one
# You test only p = 0 and p = 1, where nothing is random: also test a p in between.
def test_of_dropout(drop: Callable[[Tensor, float, bool], Tensor]) -> bool:
    x = torch.ones(20, 30)
    nothing = torch.equal(drop(x, 0.0, True), x) and torch.equal(drop(x, 0.5, False), x)
    return nothing and not drop(x, 1.0, True).nan_to_num().any()


# %% wrong test_of_dropout forgotten_return of="solution"
# Your test gives None for a right function: return True at the end, if nothing is wrong.
# replace: return fraction_right and kept_right and masks_differ
# by:      passes = fraction_right and kept_right and masks_differ


# %% base test_of_dropout six_questions
def test_of_dropout(drop: Callable[[Tensor, float, bool], Tensor]) -> bool:
    x, p = 1 + torch.rand(200, 200, dtype=torch.float64), 0.3
    first, second = drop(x, p, True), drop(x, p, True)
    zero = first == 0
    return all(
        [
            torch.equal(drop(x, p, False), x),
            abs(zero.double().mean().item() - p) < 0.05,
            torch.allclose(first[~zero], x[~zero] / (1 - p)),
            not torch.equal(zero, second == 0),
            not torch.equal(zero[0], zero[1]),
            not torch.equal(zero[:, 0], zero[:, 1]),
        ]
    )


# %% wrong test_of_dropout any_for_all of="six_questions"
# Your test accepts every function: return False if even one thing that the docstring asks for does
# not hold.
# replace: return all(
# by:      return any(

# %% wrong test_of_dropout input_of_zeros of="six_questions"
# Your test rejects every function, PyTorch's own too. Does it return True if nothing is wrong?
# Print each comparison for F.dropout: does one fail by a rounding error, say, or because x
# holds zeros?
# replace: 1 + torch.rand(200, 200, dtype=torch.float64)
# by:      torch.zeros(200, 200, dtype=torch.float64)

# %% wrong test_of_dropout scale_without_tolerance of="six_questions"
# Your test rejects every function, PyTorch's own too. Does it return True if nothing is wrong?
# Print each comparison for F.dropout: does one fail by a rounding error, say, or because x
# holds zeros?
# replace: 1 + torch.rand(200, 200, dtype=torch.float64)
# by:      1 + torch.rand(200, 200)
# replace: torch.allclose(first[~zero], x[~zero] / (1 - p))
# by:      torch.equal(first[~zero] * (1 - p), x[~zero])

# %% wrong test_of_dropout without_abs of="six_questions"
# Your test accepts a function that drops too few elements: compare the distance of the fraction
# from p (abs) with a small tolerance.
# replace: abs(zero.double().mean().item() - p) < 0.05
# by:      zero.double().mean().item() - p < 0.05

# %% wrong test_of_dropout without_abs_and_a_large_p of="without_abs"
# Your test accepts a function that drops too few elements: compare the distance of the fraction
# from p (abs) with a small tolerance.
# replace: 0.3
# by:      0.6

# %% wrong test_of_dropout without_abs_of_what_is_kept of="six_questions"
# Your test accepts a function that drops too many elements: compare the distance of the fraction
# from p (abs) with a small tolerance.
# replace: abs(zero.double().mean().item() - p) < 0.05
# by:      p - zero.double().mean().item() < 0.05

# %% wrong test_of_dropout true_not_returned of="six_questions"
# Your test gives None for a right function: return True at the end, if nothing is wrong.
# replace: return all(
# by:      if not all(
# replace:     ]
#          )
# by:          ]
#          ):
#              return False

# %% wrong test_of_dropout twenty_elements of="six_questions"
# Your test rejects this right function in one run and passes it in another: take more elements, and
# allow what you measure 6 standard errors.
# replace: 1 + torch.rand(200, 200, dtype=torch.float64)
# by:      1 + torch.rand(4, 5, dtype=torch.float64)

# %% wrong test_of_dropout seed_before_each_call of="six_questions"
# You set the same seed before both calls: then a right function repeats its mask.
# replace: first, second = drop(x, p, True), drop(x, p, True)
# by:      torch.manual_seed(0)
#          first = drop(x, p, True)
#          torch.manual_seed(0)
#          second = drop(x, p, True)

# %% wrong test_of_dropout p_means_keep of="six_questions"
# Your test rejects PyTorch's dropout and accepts one that keeps with probability p: p is the
# probability that an element is dropped.
# replace: abs(zero.double().mean().item() - p) < 0.05
# by:      abs(zero.double().mean().item() - 1 + p) < 0.05
# replace: torch.allclose(first[~zero], x[~zero] / (1 - p))
# by:      torch.allclose(first[~zero], x[~zero] / p)


# %% wrong test_of_dropout loose_fraction of="six_questions"
# Your test accepts a function that drops too few elements, and one that drops too many: compare the
# distance of the fraction from p (abs) with a small tolerance.
# replace: 0.3
# by:      0.2
# replace: < 0.05
# by:      < 0.5

# %% wrong test_of_dropout same_masks_asked_for of="six_questions"
# Your test rejects PyTorch's own dropout and accepts a function with the same mask in every call:
# the masks of two calls have to differ.
# replace: not torch.equal(zero, second == 0)
# by:      torch.equal(zero, second == 0)

# %% wrong test_of_dropout fraction_of_what_is_kept of="six_questions"
# Your test rejects every function, PyTorch's own too. Does it return True if nothing is wrong?
# Print each comparison for F.dropout: does one fail by a rounding error, say, or because x
# holds zeros?
# replace: abs(zero.double().mean().item() - p) < 0.05
# by:      abs(zero.double().mean().item() - (1 - p)) < 0.05


# %% right test_of_dropout a_tensor_of_one_truth of="six_questions"
# replace: return all(
# by:      return torch.tensor(
# replace:     ]
#          )
# by:          ]
#          ).all()


# %% right test_of_dropout in_numbers
def test_of_dropout(drop: Callable[[Tensor, float, bool], Tensor]) -> bool:
    torch.manual_seed(4)
    x = torch.full((100, 500), 3.0, dtype=torch.float64)
    for p in (0.1, 0.75):
        if (drop(x, p, False) - x).abs().max() > 0:
            return False
        first, second = drop(x, p, True), drop(x, p, True)
        values = set(first.unique().round(decimals=6).tolist())
        if values != {0.0, round(3.0 / (1 - p), 6)}:
            return False
        if abs(first.mean().item() - 3.0) > 6 * 3.0 * (p / (1 - p) / x.numel()) ** 0.5:
            return False
        if (first == second).all():
            return False
        if (first[3] == first[7]).all() or (first[:, 3] == first[:, 7]).all():
            return False
    return True


# %% right test_of_dropout by_columns_and_rows
def test_of_dropout(drop: Callable[[Tensor, float, bool], Tensor]) -> bool:
    x, p = 1 + torch.rand(300, 400), 0.2
    calls = torch.stack([drop(x, p, True) for _ in range(3)])
    ratio = calls / x
    gone = (ratio == 0).double()
    near = gone.mean() - p
    return (
        bool((drop(x, p, False) == x).all())
        and bool((((ratio - 1.25).abs() < 1e-4) | (ratio == 0)).all())
        and bool(near.abs() < 6 * (p * (1 - p) / gone.numel()) ** 0.5)
        # a mean over three or more independent draws varies less than a single draw, 0.16
        and all(float(gone.mean(axis).var()) < 0.12 for axis in range(3))
    )


# %% right test_of_dropout counting
def test_of_dropout(drop: Callable[[Tensor, float, bool], Tensor]) -> bool:
    x = torch.arange(1.0, 20_001.0).reshape(100, 200)
    if not drop(x, 0.4, False).equal(x):
        return False
    masks = []
    for _ in range(2):
        y = drop(x, 0.4, True)
        masks.append((y != 0).tolist())
        wanted = torch.where(y != 0, x / 0.6, 0.0)
        if not torch.allclose(y, wanted):
            return False
    zeros = sum(row.count(False) for row in masks[0])
    if abs(zeros - 8000) > 6 * (20_000 * 0.4 * 0.6) ** 0.5:
        return False
    columns = list(zip(*masks[0], strict=True))
    return masks[0] != masks[1] and masks[0][0] != masks[0][1] and columns[0] != columns[1]


# %% right test_of_dropout a_list_of_laws
def test_of_dropout(drop: Callable[[Tensor, float, bool], Tensor]) -> bool:
    x, p = -2 * torch.ones(250, 160, dtype=torch.float64), 0.15
    still, y, z = drop(x, p, False), drop(x, p, True), drop(x, p, True)
    keep = (y != 0).double()
    laws = [
        bool((still == x).all()),
        torch.allclose(y * (1 - p), keep * x),
        abs(keep.mean().item() - (1 - p)) < 0.012,
        (y != z).any().item(),
        (keep[0] != keep[-1]).any().item(),
        (keep[:, 0] != keep[:, -1]).any().item(),
    ]
    return all(laws)


# %% wrong attention_dropout renormalised
# Each row still sums to 1: divide a kept weight by 1 − p, once, and let nothing make up for the sum
# of its row.
def attention_dropout(weights: Tensor, p: float, training: bool) -> Tensor:
    weights = dropout(weights, p, training)
    return weights / weights.sum(-1, keepdim=True)


# %% wrong attention_dropout renormalised_without_nan of="renormalised"
# Each row still sums to 1: divide a kept weight by 1 − p, once, and let nothing make up for the sum
# of its row.
# replace: return weights / weights.sum(-1, keepdim=True)
# by:      return weights / weights.sum(-1, keepdim=True).clamp(min=1e-9)

# %% wrong attention_dropout renormalised_in_training of="not_scaled"
# Each row still sums to 1: divide a kept weight by 1 − p, once, and let nothing make up for the sum
# of its row.
# replace: return weights * (torch.rand(weights.shape) >= p)
# by:      kept = weights * (torch.rand(weights.shape) >= p)
#          return F.normalize(kept, p=1, dim=-1)


# %% wrong attention_dropout softmax_again
# You apply softmax to the weights again: they are weights already, so only drop some of them.
def attention_dropout(weights: Tensor, p: float, training: bool) -> Tensor:
    return torch.softmax(dropout(weights, p, training), dim=-1)


# %% wrong attention_dropout minus_infinity of="not_scaled"
# Each row still sums to 1: divide a kept weight by 1 − p, once, and let nothing make up for the sum
# of its row.
# replace: return weights * (torch.rand(weights.shape) >= p)
# by:      scores = weights.log().masked_fill(torch.rand(weights.shape) < p, -math.inf)
#          return torch.softmax(scores, -1)


# %% wrong attention_dropout always
# You drop in evaluation: pass `training` on as it is.
def attention_dropout(weights: Tensor, p: float, training: bool) -> Tensor:
    return F.dropout(weights, p)


# %% wrong attention_dropout turned_round
# You drop in evaluation: pass `training` on as it is.
def attention_dropout(weights: Tensor, p: float, training: bool) -> Tensor:
    return dropout(weights, p, not training)


# %% wrong attention_dropout never
# Nothing is dropped in training: pass `training` on unchanged.
def attention_dropout(weights: Tensor, p: float, training: bool) -> Tensor:
    return weights


# %% wrong attention_dropout keeps_with_p
# You keep with probability p: p is the probability that a weight is dropped.
def attention_dropout(weights: Tensor, p: float, training: bool) -> Tensor:
    return dropout(weights, 1 - p, training)


# %% wrong attention_dropout not_scaled
# You do not scale what you keep: divide it by 1 − p in training.
def attention_dropout(weights: Tensor, p: float, training: bool) -> Tensor:
    if not training:
        return weights
    return weights * (torch.rand(weights.shape) >= p)


# %% wrong attention_dropout whole_keys
# Draw for each weight, not for whole keys, queries, heads or sequences.
def attention_dropout(weights: Tensor, p: float, training: bool) -> Tensor:
    return weights * dropout(torch.ones_like(weights[..., :1, :]), p, training)


# %% wrong attention_dropout whole_queries
# Draw for each weight, not for whole keys, queries, heads or sequences.
def attention_dropout(weights: Tensor, p: float, training: bool) -> Tensor:
    return weights * dropout(torch.ones_like(weights[..., :1]), p, training)


# %% wrong attention_dropout heads_alike
# Draw for each weight, not for whole keys, queries, heads or sequences.
def attention_dropout(weights: Tensor, p: float, training: bool) -> Tensor:
    mask = dropout(torch.ones(weights.shape[-2:], dtype=weights.dtype), p, training)
    return weights * mask


# %% wrong attention_dropout sentences_alike
# Draw for each weight, not for whole keys, queries, heads or sequences.
def attention_dropout(weights: Tensor, p: float, training: bool) -> Tensor:
    return weights * dropout(torch.ones_like(weights[:1]), p, training)


# %% wrong attention_dropout scaled_at_evaluation
# You scale the weights down in evaluation: training has already scaled, so leave them unchanged
# there.
def attention_dropout(weights: Tensor, p: float, training: bool) -> Tensor:
    return dropout(weights, p, True) if training else (1 - p) * weights


# %% wrong attention_dropout in_place
# You change the weights in place: create a new tensor.
def attention_dropout(weights: Tensor, p: float, training: bool) -> Tensor:
    if training and p > 0:
        weights.mul_(torch.rand(weights.shape) >= p).div_(max(1 - p, 1e-9))
    return weights


# %% wrong attention_dropout the_smallest
# Every call drops the same weights: draw a new mask in each call.
def attention_dropout(weights: Tensor, p: float, training: bool) -> Tensor:
    if not training or p == 0:
        return weights
    if p == 1:
        return torch.zeros_like(weights)
    limit = weights.quantile(p, dim=-1, keepdim=True)
    return torch.where(weights >= limit, weights / (1 - p), 0.0)


# %% wrong attention_dropout spares_the_diagonal
# You never drop the weight with which a query attends to its own position: every weight can be
# dropped.
def attention_dropout(weights: Tensor, p: float, training: bool) -> Tensor:
    out = dropout(weights, p, training)
    if not training or p in (0, 1):
        return out
    own = torch.eye(*weights.shape[-2:], dtype=torch.bool)
    return torch.where(own, weights / (1 - p), out)


# %% wrong attention_dropout never_an_empty_row
# Some weight of each row is always kept: drop each one independently of its row, and neither redraw
# nor refill a row that loses all.
def attention_dropout(weights: Tensor, p: float, training: bool) -> Tensor:
    out = dropout(weights, p, training)
    if not training or p in (0, 1):
        return out
    for _ in range(200):
        empty = (out == 0).all(-1, keepdim=True) & (weights != 0).any(-1, keepdim=True)
        if not empty.any():
            break
        out = torch.where(empty, dropout(weights, p, True), out)
    return out


# %% wrong attention_dropout logs_masked of="not_scaled"
# Each row still sums to 1: divide a kept weight by 1 − p, once, and let nothing make up for the sum
# of its row.
# replace: return weights * (torch.rand(weights.shape) >= p)
# by:      dropped = torch.rand_like(weights) < p
#          return torch.softmax(weights.log().masked_fill(dropped, -torch.inf), -1).nan_to_num()


# %% wrong attention_dropout before_softmax of="not_scaled"
# No weight becomes 0, yet the weights change, and each row still sums to 1: drop the weights as
# they are, and let no softmax follow.
# replace: return weights * (torch.rand(weights.shape) >= p)
# by:      return torch.softmax(dropout(weights.log(), p, True), -1)

# %% wrong attention_dropout softmax_after of="not_scaled"
# No weight becomes 0, yet the weights change, and each row still sums to 1: drop the weights as
# they are, and let no softmax follow.
# replace: return weights * (torch.rand(weights.shape) >= p)
# by:      return torch.softmax(dropout(weights, p, True), -1)

# %% wrong attention_dropout lost_weight_shared of="not_scaled"
# Each row still sums to 1: divide a kept weight by 1 − p, once, and let nothing make up for the sum
# of its row.
# replace: return weights * (torch.rand(weights.shape) >= p)
# by:      keep = (torch.rand(weights.shape) >= p).to(weights.dtype)
#          lost = (weights * (1 - keep)).sum(-1, keepdim=True)
#          return keep * (weights + lost / keep.sum(-1, keepdim=True).clamp(min=1))

# %% wrong attention_dropout fixed_number_per_query of="not_scaled"
# Every row loses the same number of weights: each one is dropped independently of the others, so a
# row can lose all.
# replace: return weights * (torch.rand(weights.shape) >= p)
# by:      if p == 1:
#              return torch.zeros_like(weights)
#          place = torch.rand(weights.shape).argsort(-1).argsort(-1)
#          return weights * (place >= round(p * weights.shape[-1])) / (1 - p)

# %% wrong attention_dropout largest_kept of="not_scaled"
# Some weight of each row is always kept: drop each one independently of its row, and neither
# redraw nor refill a row that loses all.
# replace: return weights * (torch.rand(weights.shape) >= p)
# by:      largest = weights == weights.amax(-1, keepdim=True)
#          return torch.where(largest & (p < 1), weights / (1 - p), dropout(weights, p, True))

# %% wrong attention_dropout empty_rows_refilled of="not_scaled"
# Some weight of each row is always kept: drop each one independently of its row, and neither
# redraw nor refill a row that loses all.
# replace: return weights * (torch.rand(weights.shape) >= p)
# by:      dropped = dropout(weights, p, True)
#          empty = (dropped == 0).all(-1, keepdim=True)
#          return torch.where(empty & (p < 1), weights, dropped)


# %% wrong attention_dropout arguments_exchanged
# Everything is dropped, in every call: does `dropout` get p as p, and `training` as `training`?
def attention_dropout(weights: Tensor, p: float, training: bool) -> Tensor:
    return dropout(weights, float(training), bool(p))


# %% wrong attention_dropout clamped_to_one
# The factor of a kept weight is 1 / (1 − p), and nothing else: a weight may exceed 1.
def attention_dropout(weights: Tensor, p: float, training: bool) -> Tensor:
    return dropout(weights, p, training).clamp(max=1.0)


# %% wrong attention_dropout no_return
# does the last line say `return`?
def attention_dropout(weights: Tensor, p: float, training: bool) -> Tensor:
    dropout(weights, p, training)


# %% right attention_dropout of_torch
def attention_dropout(weights: Tensor, p: float, training: bool) -> Tensor:
    return F.dropout(weights, p=p, training=training)


# %% right attention_dropout a_mask_of_ones
def attention_dropout(weights: Tensor, p: float, training: bool) -> Tensor:
    return weights * dropout(torch.ones_like(weights), p, training)


# %% right attention_dropout written_out
def attention_dropout(weights: Tensor, p: float, training: bool) -> Tensor:
    if not training or p == 0:
        return weights
    dropped = torch.rand_like(weights) < p
    if p == 1:
        return torch.zeros_like(weights)
    return weights.masked_fill(dropped, 0) / (1 - p)


# %% right attention_dropout row_by_row
def attention_dropout(weights: Tensor, p: float, training: bool) -> Tensor:
    rows = [dropout(row, p, training) for row in weights.flatten(0, -2)]
    return torch.stack(rows).reshape(weights.shape)


# %% right attention_dropout a_module
def attention_dropout(weights: Tensor, p: float, training: bool) -> Tensor:
    module = nn.Dropout(p)
    module.train(training)
    return module(weights)


# %% right attention_dropout per_head_loop
def attention_dropout(weights: Tensor, p: float, training: bool) -> Tensor:
    if weights.dim() == 2:
        return F.dropout(weights, p, training)
    return torch.stack([attention_dropout(w, p, training) for w in weights])


# %% right attention_dropout reshape
def attention_dropout(weights: Tensor, p: float, training: bool) -> Tensor:
    return dropout(weights.reshape(-1), p, training).reshape(weights.shape)


# %% wrong monte_carlo_predict dropout_stays_off of="solution"
# Your mean is the prediction in evaluation mode: put the modules of type nn.Dropout into training
# mode, and average those predictions.
# replace: for part in modes:
#              part.training = isinstance(part, nn.Dropout)
# by:      model.eval()


# %% wrong monte_carlo_predict as_it_came
# Your mean is the prediction in evaluation mode: put the modules of type nn.Dropout into training
# mode, and average those predictions.
def monte_carlo_predict(model: nn.Module, x: Tensor, samples: int) -> tuple[Tensor, Tensor]:
    with torch.no_grad():
        results = torch.stack([model(x) for _ in range(samples)])
    return results.mean(0), results.std(0)


# %% wrong monte_carlo_predict only_the_children of="others_as_they_came"
# You switch on only the nn.Dropout modules at the top level of the model: model.modules() finds
# all of them, model.children() only the direct ones.
# replace: for part in modes:
# by:      model.eval()
#          for part in model.children():

# %% wrong monte_carlo_predict only_the_last of="solution"
# You switch on only one nn.Dropout module, and there may be several: go through all of
# model.modules().
# replace: for part in modes:
#              part.training = isinstance(part, nn.Dropout)
# by:      model.eval()
#          [part for part in modes if isinstance(part, nn.Dropout)][-1].train()

# %% wrong monte_carlo_predict everything_in_training of="solution"
# You leave batch norm in training mode, so it takes its statistics from this batch: only
# nn.Dropout may be switched on.
# replace: for part in modes:
#              part.training = isinstance(part, nn.Dropout)
# by:      model.train()

# %% wrong monte_carlo_predict others_as_they_came of="solution"
# You leave batch norm in training mode, so it takes its statistics from this batch: only
# nn.Dropout may be switched on.
# replace: part.training = isinstance(part, nn.Dropout)
# by:      if isinstance(part, nn.Dropout):
#              part.train()

# %% wrong monte_carlo_predict all_but_batch_norm of="solution"
# Only nn.Dropout may be in training mode: first put all modules into evaluation mode, then switch
# on nn.Dropout.
# replace: part.training = isinstance(part, nn.Dropout)
# by:      part.training = not isinstance(part, nn.BatchNorm1d)

# %% wrong monte_carlo_predict modes_not_restored of="eval_afterwards"
# You leave modules in the modes in which you used them: store the mode of each module before you
# change any (in a list, say), and restore it afterwards.
# replace: model.eval()
# by:


# %% wrong monte_carlo_predict eval_afterwards
# You leave the model in evaluation mode, whatever it was before: store its modes before you change
# anything, and restore them.
def monte_carlo_predict(model: nn.Module, x: Tensor, samples: int) -> tuple[Tensor, Tensor]:
    for part in model.modules():
        part.training = isinstance(part, nn.Dropout)
    with torch.no_grad():
        results = torch.stack([model(x) for _ in range(samples)])
    model.eval()
    return results.mean(0), results.std(0)


# %% wrong monte_carlo_predict train_afterwards of="eval_afterwards"
# You leave the model in training mode, whatever it was before: store its modes before you change
# anything, and restore them.
# replace: model.eval()
# by:      model.train()


# %% wrong monte_carlo_predict one_mode_for_all
# Each of model.modules() has a mode of its own: store all of them, and give each module its own
# back. Set part.training itself, because part.train() also sets all modules inside part.
def monte_carlo_predict(model: nn.Module, x: Tensor, samples: int) -> tuple[Tensor, Tensor]:
    was_training = model.training
    model.eval()
    for part in model.modules():
        if isinstance(part, nn.Dropout):
            part.train()
    with torch.no_grad():
        results = torch.stack([model(x) for _ in range(samples)])
    model.train(was_training)
    return results.mean(0), results.std(0)


# %% wrong monte_carlo_predict restored_from_outside of="solution"
# Each of model.modules() has a mode of its own: store all of them, and give each module its own
# back. Set part.training itself, because part.train() also sets all modules inside part.
# replace: for part, training in modes.items():
#              part.training = training
# by:      for part, training in reversed(modes.items()):
#              part.train(training)

# %% wrong monte_carlo_predict only_dropout_restored of="solution"
# You leave modules in the modes in which you used them: store the mode of each module before you
# change any (in a list, say), and restore it afterwards.
# replace: part.training = training
# by:      if isinstance(part, nn.Dropout):
#              part.training = training

# %% wrong monte_carlo_predict written_down_too_late of="solution"
# You leave the model in evaluation mode, whatever it was before: store its modes before you change
# anything, and restore them.
# replace: modes = {part: part.training for part in model.modules()}
# by:      model.eval()
#          modes = {part: part.training for part in model.modules()}

# %% wrong monte_carlo_predict population_std of="solution"
# You divide by the number of samples instead of one less, or once more by its square root: take
# plain torch.std over the samples.
# replace: return results.mean(0), results.std(0)
# by:      return results.mean(0), results.std(0, correction=0)

# %% wrong monte_carlo_predict variance of="solution"
# You return the variance: the standard deviation is its square root.
# replace: return results.mean(0), results.std(0)
# by:      return results.mean(0), results.var(0)

# %% wrong monte_carlo_predict standard_error of="solution"
# You divide by the number of samples instead of one less, or once more by its square root: take
# plain torch.std over the samples.
# replace: return results.mean(0), results.std(0)
# by:      return results.mean(0), results.std(0) / samples**0.5

# %% wrong monte_carlo_predict over_the_batch of="solution"
# You average over the batch: take mean and std over the samples, the first axis of the stack. They
# have the shape of one prediction.
# replace: return results.mean(0), results.std(0)
# by:      return results.mean(1), results.std(1)

# %% wrong monte_carlo_predict one_number of="solution"
# You average over everything and get one number: take mean and std over the samples only.
# replace: return results.mean(0), results.std(0)
# by:      return results.mean(), results.std()

# %% wrong monte_carlo_predict one_sample_repeated of="solution"
# All samples are the same: call the model anew for each one.
# replace: results = torch.stack([model(x) for _ in range(samples)])
# by:      result = model(x)
#          results = torch.stack([result for _ in range(samples)])


# %% wrong monte_carlo_predict the_same_seed
# All samples are the same: call the model anew for each one.
def monte_carlo_predict(model: nn.Module, x: Tensor, samples: int) -> tuple[Tensor, Tensor]:
    modes = {part: part.training for part in model.modules()}
    for part in modes:
        part.training = isinstance(part, nn.Dropout)
    results = []
    for _ in range(samples):
        torch.manual_seed(0)
        results.append(model(x).detach())
    for part, training in modes.items():
        part.training = training
    return torch.stack(results).mean(0), torch.stack(results).std(0)


# %% wrong monte_carlo_predict always_thirty of="solution"
# Draw exactly `samples` samples, and take their plain mean over the first axis of the stack.
# replace: results = torch.stack([model(x) for _ in range(samples)])
# by:      results = torch.stack([model(x) for _ in range(30)])

# %% wrong monte_carlo_predict one_too_many of="solution"
# Draw exactly `samples` samples, and take their plain mean over the first axis of the stack.
# replace: results = torch.stack([model(x) for _ in range(samples)])
# by:      results = torch.stack([model(x) for _ in range(samples + 1)])

# %% wrong monte_carlo_predict softmax_inside of="solution"
# You apply softmax to the model's output: average the output as it is, the model decides what it
# means.
# replace: results = torch.stack([model(x) for _ in range(samples)])
# by:      results = torch.stack([model(x).softmax(-1) for _ in range(samples)])

# %% wrong monte_carlo_predict swapped of="solution"
# You swapped the two results: return the mean first, then the standard deviation.
# replace: return results.mean(0), results.std(0)
# by:      return results.std(0), results.mean(0)

# %% wrong monte_carlo_predict prediction_of_evaluation of="dropout_stays_off"
# Your mean is the prediction in evaluation mode: put the modules of type nn.Dropout into training
# mode, and average those predictions.
# replace: with torch.no_grad():
# by:      with torch.no_grad():
#              once = model(x)
#              for part in modes:
#                  part.training = isinstance(part, nn.Dropout)
# replace: return results.mean(0), results.std(0)
# by:      return once, results.std(0)

# %% wrong monte_carlo_predict whatever_is_called_dropout of="solution"
# You switch on nn.Dropout1d too: test with isinstance whether a module is an nn.Dropout, not by its
# name and not for any other type.
# replace: part.training = isinstance(part, nn.Dropout)
# by:      part.training = "Dropout" in type(part).__name__

# %% wrong monte_carlo_predict only_the_mean of="solution"
# You return one tensor: return two, as (mean, std).
# replace: return results.mean(0), results.std(0)
# by:      return results.mean(0)

# %% wrong monte_carlo_predict seeded_once of="solution"
# Every call draws the same masks: set no seed inside, and put no random state back.
# replace:     part.training = isinstance(part, nn.Dropout)
# by:          part.training = isinstance(part, nn.Dropout)
#          torch.manual_seed(0)

# %% wrong monte_carlo_predict root_left_in_training of="solution"
# You leave the outermost module in training mode: it may do more than its parts, so it has to be
# in evaluation mode too.
# replace: part.training = isinstance(part, nn.Dropout)
# by:      part.training = isinstance(part, nn.Dropout) or part is model

# %% wrong monte_carlo_predict mixed_up_batch of="solution"
# You repeat each example, but reshape as if you had repeated the whole batch: the samples of
# different examples are mixed up.
# replace: results = torch.stack([model(x) for _ in range(samples)])
# by:      results = model(x.repeat_interleave(samples, 0))
# replace:     part.training = training
# by:          part.training = training
#          results = results.reshape(samples, len(x), *results.shape[1:])

# %% wrong monte_carlo_predict median of="solution"
# Take the mean over the samples, not the median.
# replace: return results.mean(0), results.std(0)
# by:      return results.median(0).values, results.std(0)


# %% wrong monte_carlo_predict input_noise
# You add noise to the input and leave dropout off: the samples may differ only by their masks.
def monte_carlo_predict(model: nn.Module, x: Tensor, samples: int) -> tuple[Tensor, Tensor]:
    modes = {part: part.training for part in model.modules()}
    model.eval()
    results = torch.stack([model(x + 0.1 * torch.randn_like(x)).detach() for _ in range(samples)])
    for part, training in modes.items():
        part.training = training
    return results.mean(0), results.std(0)


# %% wrong monte_carlo_predict grandchildren_only
# You search for nn.Dropout only two levels deep: model.modules() goes through all levels.
def monte_carlo_predict(model: nn.Module, x: Tensor, samples: int) -> tuple[Tensor, Tensor]:
    modes = [(part, part.training) for part in model.modules()]
    model.eval()
    for part in [g for c in [model, *model.children()] for g in c.children()]:
        if isinstance(part, nn.Dropout):
            part.training = True
    answers = torch.stack([model(x) for _ in range(samples)])
    for part, mode in modes:
        part.training = mode
    return answers.mean(0), answers.std(0)


# %% wrong monte_carlo_predict train_calls_shared_module of="grandchildren_only"
# You restore the modes with train(), which also sets all modules inside: set part.training itself.
# replace: for part in [g for c in [model, *model.children()] for g in c.children()]:
# by:      for part in model.modules():
# replace: part.training = mode
# by:      part.train(mode)


# %% wrong monte_carlo_predict random_state_put_back of="solution"
# Every call draws the same masks: set no seed inside, and put no random state back.
# replace: with torch.no_grad():
# by:      with torch.no_grad(), torch.random.fork_rng():

# %% wrong monte_carlo_predict two_axes_only of="solution"
# You count on an x with two axes: it may have any number of them, and mean and std have the shape
# of model(x).
# replace: results = torch.stack([model(x) for _ in range(samples)])
# by:      results = model(x.repeat(samples, 1)).reshape(samples, len(x), -1)

# %% wrong monte_carlo_predict modes_read_too_late of="solution"
# You leave modules in the modes in which you used them: store the mode of each module before you
# change any (in a list, say), and restore it afterwards.
# replace: modes = {part: part.training for part in model.modules()}
#          for part in modes:
# by:      modes = ((part, part.training) for part in model.modules())
#          for part in model.modules():
# replace: for part, training in modes.items():
# by:      for part, training in modes:


# %% wrong monte_carlo_predict restored_in_reverse of="solution"
# Each of model.modules() has a mode of its own: store all of them, and give each module its own
# back. Set part.training itself, because part.train() also sets all modules inside part.
# replace: for part, training in modes.items():
# by:      for part, training in zip(modes, reversed(modes.values()), strict=True):


# %% right monte_carlo_predict one_big_batch
def monte_carlo_predict(model: nn.Module, x: Tensor, samples: int) -> tuple[Tensor, Tensor]:
    modes = [(part, part.training) for part in model.modules()]
    model.eval()
    for part, _ in modes:
        if isinstance(part, nn.Dropout):
            part.train()
    repeated = x.expand(samples, *x.shape).reshape(-1, *x.shape[1:])
    with torch.no_grad():
        results = model(repeated)
    for part, mode in modes:
        part.training = mode
    results = results.reshape(samples, len(x), *results.shape[1:])
    return results.mean(0), results.std(0)


# %% right monte_carlo_predict on_a_copy
def monte_carlo_predict(model: nn.Module, x: Tensor, samples: int) -> tuple[Tensor, Tensor]:
    import copy

    crowd = copy.deepcopy(model).eval()
    for part in crowd.modules():
        if isinstance(part, nn.Dropout):
            part.train()
    results = torch.stack([crowd(x).detach() for _ in range(samples)])
    return results.mean(dim=0), results.std(dim=0)


# %% right monte_carlo_predict running_sums
def monte_carlo_predict(model: nn.Module, x: Tensor, samples: int) -> tuple[Tensor, Tensor]:
    modes = [part.training for part in model.modules()]
    for part in model.modules():
        part.training = type(part) is nn.Dropout
    try:
        results = [model(x).detach() for _ in range(samples)]
    finally:
        for part, mode in zip(model.modules(), modes, strict=True):
            part.training = mode
    mean = sum(results) / samples
    variance = sum((result - mean) ** 2 for result in results) / (samples - 1)
    return mean, variance.sqrt()


# %% right monte_carlo_predict by_name
def monte_carlo_predict(model: nn.Module, x: Tensor, samples: int) -> tuple[Tensor, Tensor]:
    before = {name: part.training for name, part in model.named_modules()}
    model.apply(lambda part: setattr(part, "training", isinstance(part, nn.Dropout)))
    with torch.inference_mode():
        results = torch.stack([model(x) for _ in range(samples)], dim=-1).clone()
    for name, part in model.named_modules():
        part.training = before[name]
    return results.mean(-1).clone(), results.std(-1).clone()


# %% right monte_carlo_predict with_gradients
def monte_carlo_predict(model: nn.Module, x: Tensor, samples: int) -> tuple[Tensor, Tensor]:
    saved = [(part, part.training) for part in model.modules()]
    model.eval()
    for part in (part for part in model.modules() if isinstance(part, nn.Dropout)):
        part.train(True)
    results = torch.stack([model(x) for _ in range(samples)])
    for part, was in saved:
        part.training = was
    return results.mean(0), torch.std(results, dim=0)


# %% right monte_carlo_predict std_mean
def monte_carlo_predict(model: nn.Module, x: Tensor, samples: int) -> tuple[Tensor, Tensor]:
    was = [(m, m.training) for m in model.modules()]
    for m, _ in was:
        m.training = isinstance(m, nn.Dropout)
    try:
        with torch.inference_mode():
            std, mean = torch.std_mean(torch.stack([model(x) for _ in range(samples)]), 0)
    finally:
        for m, t in was:
            m.training = t
    return mean, std


# %% right monte_carlo_predict welford
def monte_carlo_predict(model: nn.Module, x: Tensor, samples: int) -> tuple[Tensor, Tensor]:
    was = [(m, m.training) for m in model.modules()]
    for m, _ in was:
        m.training = isinstance(m, nn.Dropout)
    mean, spread = 0.0, 0.0
    with torch.no_grad():
        for i in range(1, samples + 1):
            y = model(x)
            delta = y - mean
            mean = mean + delta / i
            spread = spread + delta * (y - mean)
    for m, t in was:
        m.training = t
    return mean, (spread / (samples - 1)).sqrt()


# %% right monte_carlo_predict interleaved
def monte_carlo_predict(model: nn.Module, x: Tensor, samples: int) -> tuple[Tensor, Tensor]:
    was = [(m, m.training) for m in model.modules()]
    model.eval()
    for m, _ in was:
        if isinstance(m, nn.Dropout):
            m.training = True
    with torch.no_grad():
        y = model(torch.repeat_interleave(x, samples, dim=0))
    for m, t in was:
        m.training = t
    y = y.reshape(x.shape[0], samples, *y.shape[1:])
    return y.mean(1), y.std(1)
