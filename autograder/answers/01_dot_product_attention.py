# %% given imports
# pyright: reportRedeclaration=false, reportReturnType=false, reportUnusedExpression=false
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

FEATURES = ["pronoun", "animal", "place", "verb", "size", "speed"]  # as the lesson gives them

# %% wrong softmax over_first_dimension of="global_maximum"
# Each of your columns sums to 1. With dim=-1, each row should: sum along the dimension `dim`
# that you are given.
# replace: return powers / powers.sum(dim=dim, keepdim=True)
# by:      return powers / powers.sum(0)

# %% wrong softmax over_the_whole_tensor of="global_maximum"
# All your weights together sum to 1, but each row should on its own: take the sum and the
# maximum of one row, not of the whole tensor.
# replace: return powers / powers.sum(dim=dim, keepdim=True)
# by:      return powers / powers.sum()


# %% wrong softmax no_exponential
# You divide the scores themselves by their sum: take exp of them first.
def softmax(scores: Tensor, dim: int) -> Tensor:
    return scores / scores.sum(dim=dim, keepdim=True)


# %% wrong softmax not_normalised
# The largest weight of each row is 1: you still have to divide the exponentials of a row by
# their sum.
def softmax(scores: Tensor, dim: int) -> Tensor:
    return (scores - scores.amax(dim=dim, keepdim=True)).exp()


# %% wrong softmax exponential_only
# Your numerator is the exponential of the raw score, but you do not divide it by the sum of
# those same exponentials: use the same ones in numerator and denominator.
def softmax(scores: Tensor, dim: int) -> Tensor:
    return scores.exp()


# %% wrong softmax always_last_dimension of="sum_ignores_dim"
# You always sum along the last dimension, whatever `dim` says: pass `dim` to both the maximum
# and the sum.
# replace: powers = (scores - scores.amax(dim=dim, keepdim=True)).exp()
# by:      powers = (scores - scores.amax(dim=-1, keepdim=True)).exp()


# %% wrong softmax sum_ignores_dim
# Your maximum runs along `dim`, but your sum always runs along the last dimension: use `dim` for
# both.
def softmax(scores: Tensor, dim: int) -> Tensor:
    powers = (scores - scores.amax(dim=dim, keepdim=True)).exp()
    return powers / powers.sum(dim=-1, keepdim=True)


# %% wrong softmax divided_by_mean of="sum_ignores_dim"
# Each row of your weights sums to the number of its scores: divide by the sum of the
# exponentials, not by their mean.
# replace: return powers / powers.sum(dim=-1, keepdim=True)
# by:      return powers / powers.mean(dim=dim, keepdim=True)

# %% wrong softmax euclidean_norm of="sum_ignores_dim"
# The squares of your weights sum to 1, but the weights themselves do not: divide by the sum of
# the exponentials, not by their norm.
# replace: return powers / powers.sum(dim=-1, keepdim=True)
# by:      return powers / powers.norm(dim=dim, keepdim=True)


# %% wrong softmax hard_maximum
# The largest score gets all the weight and the others get exactly 0: softmax gives every score a
# weight above 0.
def softmax(scores: Tensor, dim: int) -> Tensor:
    return torch.zeros_like(scores).scatter(dim, scores.argmax(dim=dim, keepdim=True), 1.0)


# %% wrong softmax logarithm
# All your numbers are negative, because they are the logarithms of the weights: one exp is still
# missing.
def softmax(scores: Tensor, dim: int) -> Tensor:
    return F.log_softmax(scores, dim=dim)


# %% wrong softmax negated_scores of="global_maximum"
# The smallest score gets the largest weight, so the sign inside exp is wrong: if you shift the
# scores, take score minus maximum, not maximum minus score.
# replace: powers = (scores - scores.max()).exp()
# by:      powers = (scores.amax(dim=dim, keepdim=True) - scores).exp()

# %% wrong softmax base_two of="global_maximum"
# Your weights use powers of 2: softmax uses powers of e, that is, exp.
# replace: powers = (scores - scores.max()).exp()
# by:      powers = 2 ** (scores - scores.amax(dim=dim, keepdim=True))


# %% wrong softmax each_score_alone
# You map each score to a number between 0 and 1 on its own, as the sigmoid does: a softmax
# weight also depends on the other scores of its row.
def softmax(scores: Tensor, dim: int) -> Tensor:
    return 1 / (1 + (-scores).exp())


# %% wrong softmax exponential_after_normalising
# You divide the scores by their sum and take exp of the result: exp comes first, the division
# by the sum last.
def softmax(scores: Tensor, dim: int) -> Tensor:
    return (scores / scores.sum(dim=dim, keepdim=True)).exp()


# %% wrong softmax shifted_numerator_only
# You subtract the maximum in the numerator but not in the denominator: use the same shifted
# exponentials in both.
def softmax(scores: Tensor, dim: int) -> Tensor:
    shifted = scores - scores.amax(dim=dim, keepdim=True)
    return shifted.exp() / scores.exp().sum(dim=dim, keepdim=True)


# %% wrong softmax overflow of="global_maximum"
# exp(10000) is too large for a float, and inf / inf is not a number: subtract the maximum of
# each row before exp.
# replace: powers = (scores - scores.max()).exp()
# by:      powers = scores.exp()

# %% wrong softmax clamped_scores of="global_maximum"
# You clamp 10000 and 9999 to the same limit, so they get the same weight: subtract the maximum
# of the row, which keeps their difference.
# replace: powers = (scores - scores.max()).exp()
# by:      powers = scores.clamp(-80.0, 80.0).exp()

# %% wrong softmax mean_subtracted of="global_maximum"
# You subtract a number far below the largest score of a row, so its exp is still infinite:
# subtract the maximum of the row, and no exponent is above 0.
# replace: powers = (scores - scores.max()).exp()
# by:      powers = (scores - scores.mean(dim=dim, keepdim=True)).exp()


# %% wrong softmax global_maximum
# You subtract a number far above the largest score of the second row, so all its exponentials
# are 0, and 0 / 0 is not a number: subtract the maximum of each row on its own.
def softmax(scores: Tensor, dim: int) -> Tensor:
    powers = (scores - scores.max()).exp()
    return powers / powers.sum(dim=dim, keepdim=True)


# %% wrong softmax not_a_number_to_zero
# You replace NaN by 0, so the largest scores get no weight at all: keep exp from overflowing by
# subtracting the maximum of each row first.
def softmax(scores: Tensor, dim: int) -> Tensor:
    powers = scores.exp()
    return (powers / powers.sum(dim=dim, keepdim=True)).nan_to_num(0.0)


# %% wrong softmax epsilon_in_denominator of="sum_ignores_dim"
# Your weights are only right to a few digits: add nothing to the sum, do not round, and do not
# convert to float32.
# replace: return powers / powers.sum(dim=-1, keepdim=True)
# by:      return powers / (powers.sum(dim=dim, keepdim=True) + 1e-6)

# %% wrong softmax rounded of="sum_ignores_dim"
# You round the weights, so they no longer sum to 1 and have no gradient: return them unrounded.
# replace: return powers / powers.sum(dim=-1, keepdim=True)
# by:      return (powers / powers.sum(dim=dim, keepdim=True)).round(decimals=2)

# %% wrong softmax sum_loses_its_dimension of="sum_ignores_dim"
# Your sum or your maximum has one dimension fewer than the scores, so it does not line up with
# their rows: keep that dimension with size 1.
# replace: return powers / powers.sum(dim=-1, keepdim=True)
# by:      return powers / powers.sum(dim=dim)


# %% wrong softmax two_dimensions_only
# With dim=0 and three dimensions you sum along dimension 1: pass `dim` to both the maximum and
# the sum.
def softmax(scores: Tensor, dim: int) -> Tensor:
    rows = scores.T if dim == 0 else scores
    powers = (rows - rows.amax(dim=1, keepdim=True)).exp()
    weights = powers / powers.sum(dim=1, keepdim=True)
    return weights.T if dim == 0 else weights


# %% wrong softmax detached of="global_maximum"
# Your weights are detached from the scores, so no gradient can flow back: use torch operations
# on the scores themselves, not on a copy.
# replace: powers = (scores - scores.max()).exp()
# by:      powers = (scores.detach() - scores.detach().amax(dim=dim, keepdim=True)).exp()


# %% wrong softmax changes_its_input
# Your code modifies the scores of the caller: create a new tensor instead.
def softmax(scores: Tensor, dim: int) -> Tensor:
    scores -= scores.amax(dim=dim, keepdim=True)
    powers = scores.exp()
    return powers / powers.sum(dim=dim, keepdim=True)


# %% wrong softmax forgotten_return of="sum_ignores_dim"
# does the last line say `return`?
# replace: return powers / powers.sum(dim=-1, keepdim=True)
# by:      powers / powers.sum(dim=dim, keepdim=True)


# %% wrong softmax always_dimension_one
# With dim=0 and three dimensions you sum along dimension 1: pass `dim` to both the maximum and
# the sum.
def softmax(scores: Tensor, dim: int) -> Tensor:
    powers = (scores - scores.amax(dim=1, keepdim=True)).exp()
    return powers / powers.sum(dim=1, keepdim=True)


# %% wrong softmax maximum_loses_its_dimension of="global_maximum"
# Your sum or your maximum has one dimension fewer than the scores, so it does not line up with
# their rows: keep that dimension with size 1.
# replace: powers = (scores - scores.max()).exp()
# by:      powers = torch.exp(scores - torch.max(scores, dim)[0])


# %% wrong softmax maximum_with_its_places
# With a dimension, `max` returns two things, the values and their indices: subtract only the
# values.
def softmax(scores: Tensor, dim: int) -> Tensor:
    largest = scores.max(dim, keepdim=True)
    powers = torch.exp(scores - largest)  # pyright: ignore[reportOperatorIssue]
    return powers / powers.sum(dim=dim, keepdim=True)


# %% wrong softmax maximum_along_first_dimension of="global_maximum"
# Your maximum runs along the first dimension, whatever `dim` says: pass `dim` to both the
# maximum and the sum.
# replace: powers = (scores - scores.max()).exp()
# by:      powers = (scores - scores.amax(dim=0, keepdim=True)).exp()

# %% wrong softmax maximum_along_last_dimension of="global_maximum"
# Your maximum always runs along the last dimension: pass `dim` to both the maximum and the sum.
# replace: powers = (scores - scores.max()).exp()
# by:      powers = (scores - scores.amax(dim=-1, keepdim=True)).exp()

# %% wrong softmax minimum_subtracted of="global_maximum"
# You subtract a number far below the largest score of a row, so its exp is still infinite:
# subtract the maximum of the row, and no exponent is above 0.
# replace: powers = (scores - scores.max()).exp()
# by:      powers = (scores - scores.amin(dim=dim, keepdim=True)).exp()

# %% wrong softmax largest_size_subtracted of="global_maximum"
# You subtract a number far above the largest score of the second row, so all its exponentials
# are 0, and 0 / 0 is not a number: subtract the maximum of each row on its own.
# replace: powers = (scores - scores.max()).exp()
# by:      powers = (scores - scores.abs().amax(dim=dim, keepdim=True)).exp()

# %% wrong softmax shifted_denominator_only of="shifted_numerator_only"
# Your numerator is the exponential of the raw score, but you do not divide it by the sum of
# those same exponentials: use the same ones in numerator and denominator.
# replace: return shifted.exp() / scores.exp().sum(dim=dim, keepdim=True)
# by:      return scores.exp() / shifted.exp().sum(dim=dim, keepdim=True)

# %% wrong softmax maximum_divided of="global_maximum"
# You divide the scores by their maximum: subtract it instead, because only a difference cancels
# in the fraction.
# replace: powers = (scores - scores.max()).exp()
# by:      powers = (scores / scores.amax(dim=dim, keepdim=True)).exp()


# %% wrong softmax exponential_of_math
# `math.exp` takes a single number, and you have a tensor: use the exp of torch.
def softmax(scores: Tensor, dim: int) -> Tensor:
    powers = math.exp(scores)  # pyright: ignore[reportArgumentType]
    return powers / powers.sum(dim=dim, keepdim=True)  # pyright: ignore[reportAttributeAccessIssue]


# %% wrong softmax numpy_on_the_way
# You convert to NumPy on the way, and no gradient flows through NumPy: use exp, sum and maximum
# from torch.
import numpy as np


def softmax(scores: Tensor, dim: int) -> Tensor:
    powers = np.exp(scores.numpy() - scores.numpy().max(axis=dim, keepdims=True))
    return torch.from_numpy(powers / powers.sum(axis=dim, keepdims=True))


# %% wrong softmax numpy_result of="numpy_on_the_way"
# You return a NumPy array: use torch from the first line to the last.
# replace: return torch.from_numpy(powers / powers.sum(axis=dim, keepdims=True))
# by:      return powers / powers.sum(axis=dim, keepdims=True)


# %% right softmax of_torch
def softmax(scores: Tensor, dim: int) -> Tensor:
    return scores.softmax(dim=dim)


# %% right softmax logsumexp
def softmax(scores: Tensor, dim: int) -> Tensor:
    return (scores - scores.logsumexp(dim, keepdim=True)).exp()


# %% right softmax exponential_of_log_softmax
def softmax(scores: Tensor, dim: int) -> Tensor:
    return nn.LogSoftmax(dim=dim)(scores).exp()


# %% right softmax softmin_of_negated_scores
def softmax(scores: Tensor, dim: int) -> Tensor:
    return F.softmin(-scores, dim=dim)


# %% right softmax last_axis_moved_and_back
def softmax(scores: Tensor, dim: int) -> Tensor:
    rows = scores.movedim(dim, -1)
    powers = torch.exp(rows - rows.max(-1, keepdim=True).values.detach())
    return (powers / powers.sum(-1).unsqueeze(-1)).movedim(-1, dim)


# %% right softmax loop_over_rows
def softmax(scores: Tensor, dim: int) -> Tensor:
    moved = scores.transpose(dim, -1)
    weights = []
    for row in moved.reshape(-1, moved.shape[-1]):
        powers = (row - max(row)).exp()
        weights.append(powers / sum(powers))
    return torch.stack(weights).reshape(moved.shape).transpose(dim, -1)


# %% right softmax of_differences
# each weight is 1 / sum of exp(other score - this score)
def softmax(scores: Tensor, dim: int) -> Tensor:
    rows = scores.movedim(dim, -1)
    differences = rows.unsqueeze(-2) - rows.unsqueeze(-1)
    return (1 / differences.exp().sum(-1)).movedim(-1, dim)


# %% right softmax in_double_precision
def softmax(scores: Tensor, dim: int) -> Tensor:
    exact = scores.double()
    powers = (exact - exact.amax(dim, True)).exp()
    return powers.div(powers.sum(dim, True)).to(scores.dtype)


# %% wrong similarity_attention over_queries
# The weights that a token gives to all tokens do not sum to 1: take softmax along each row of
# the scores, and do not transpose the weights afterwards.
def similarity_attention(x: Tensor) -> Tensor:
    return softmax(x @ x.T, dim=0) @ x


# %% wrong similarity_attention elementwise_product
# You multiply x by itself elementwise: the score of two tokens is their dot product, and a
# matrix product computes it for every pair.
def similarity_attention(x: Tensor) -> Tensor:
    return softmax(x * x, dim=-1) @ x


# %% wrong similarity_attention scores_of_features
# You compare the columns of x, which are features: compare its rows, the tokens, and get scores
# of shape (length, length).
def similarity_attention(x: Tensor) -> Tensor:
    return softmax(x.T @ x, dim=-1) @ x


# %% wrong similarity_attention product_not_transposed
# You multiply x by itself without a transpose, so rows of x meet columns: the dot product of two
# tokens needs two rows.
def similarity_attention(x: Tensor) -> Tensor:
    return softmax(x @ x, dim=-1) @ x


# %% wrong similarity_attention scaled_by_root_of_width
# Your scores are the dot products divided by √2: this first version has no scale yet.
def similarity_attention(x: Tensor) -> Tensor:
    return softmax(x @ x.T / math.sqrt(x.shape[-1]), dim=-1) @ x


# %% wrong similarity_attention scaled_by_width
# Your scores are half as large as the dot products: this first version has no scale yet.
def similarity_attention(x: Tensor) -> Tensor:
    return softmax(x @ x.T / x.shape[-1], dim=-1) @ x


# %% wrong similarity_attention returns_weights
# These are the weights: the last step is missing, the weighted sum of the tokens.
def similarity_attention(x: Tensor) -> Tensor:
    return softmax(x @ x.T, dim=-1)


# %% wrong similarity_attention returns_scores
# These are the dot products: turn each row into weights, then take the weighted sum of the
# tokens.
def similarity_attention(x: Tensor) -> Tensor:
    return x @ x.T


# %% wrong similarity_attention no_softmax
# You use the raw dot products as weights, and they do not sum to 1: first turn each row of scores
# into weights that do.
def similarity_attention(x: Tensor) -> Tensor:
    return x @ x.T @ x


# %% wrong similarity_attention scores_divided_by_their_sum
# You divide each row of scores by its sum: softmax takes exp of the scores first.
def similarity_attention(x: Tensor) -> Tensor:
    scores = x @ x.T
    return scores / scores.sum(-1, keepdim=True) @ x


# %% wrong similarity_attention softmax_before_products
# You take softmax of the embeddings themselves: first compare the tokens, then turn the scores
# into weights.
def similarity_attention(x: Tensor) -> Tensor:
    weights = softmax(x, dim=-1)
    return weights @ weights.T @ x


# %% wrong similarity_attention softmax_at_the_end
# Your outputs are positive and sum to 1 over the features: take softmax of the scores, not of
# the weighted sum.
def similarity_attention(x: Tensor) -> Tensor:
    return softmax(x @ x.T @ x, dim=-1)


# %% wrong similarity_attention most_similar_word
# In this example you return every token unchanged: the output is a weighted sum of all tokens,
# not only the token with the largest score.
def similarity_attention(x: Tensor) -> Tensor:
    return x[(x @ x.T).argmax(dim=-1)]


# %% wrong similarity_attention itself_left_out
# In your version no token attends to itself: its dot product with itself counts, too.
def similarity_attention(x: Tensor) -> Tensor:
    itself = torch.eye(len(x), dtype=torch.bool)
    return softmax((x @ x.T).masked_fill(itself, -torch.inf), dim=-1) @ x


# %% wrong similarity_attention only_itself_and_before
# You return the first token unchanged, because no token attends to a later one: in this lesson
# every token attends to all tokens.
def similarity_attention(x: Tensor) -> Tensor:
    later = torch.ones(len(x), len(x), dtype=torch.bool).triu(1)
    return softmax((x @ x.T).masked_fill(later, -torch.inf), dim=-1) @ x


# %% wrong similarity_attention word_added
# You add the token itself to the weighted sum: here the output is the weighted sum alone.
def similarity_attention(x: Tensor) -> Tensor:
    return x + softmax(x @ x.T, dim=-1) @ x


# %% wrong similarity_attention blend_divided_by_length
# Your outputs are half as large as they should be: the weights already sum to 1, so do not
# divide the weighted sum again.
def similarity_attention(x: Tensor) -> Tensor:
    return softmax(x @ x.T, dim=-1) @ x / len(x)


# %% wrong similarity_attention all_words_alike
# You give every token the same output, the plain mean: the weights of a token come from its own
# dot products.
def similarity_attention(x: Tensor) -> Tensor:
    return x.mean(0).expand_as(x)


# %% wrong similarity_attention cosine_similarity
# You normalise the tokens before you compare them: the score is the plain dot product, so a
# longer vector counts more.
def similarity_attention(x: Tensor) -> Tensor:
    directions = F.normalize(x, dim=-1)
    return softmax(directions @ directions.T, dim=-1) @ x


# %% wrong similarity_attention negative_distance
# You score two tokens by their distance: use their dot product.
def similarity_attention(x: Tensor) -> Tensor:
    return softmax(-(x[:, None] - x[None]).norm(dim=-1), dim=-1) @ x


# %% wrong similarity_attention over_the_whole_matrix
# All your weights together sum to 1: each row of weights must sum to 1 on its own.
def similarity_attention(x: Tensor) -> Tensor:
    return softmax((x @ x.T).flatten(), dim=0).reshape(len(x), len(x)) @ x


# %% wrong similarity_attention words_weigh_features
# Your weights are on the right of x, so they mix features: to mix tokens, put them on the left.
def similarity_attention(x: Tensor) -> Tensor:
    return x @ softmax(x @ x.T, dim=-1)


# %% wrong similarity_attention returns_weights_too
# You return a tuple: this first version returns one tensor, the output. (A comma at the end of the
# line makes a tuple, too.)
def similarity_attention(x: Tensor) -> Tensor:
    weights = softmax(x @ x.T, dim=-1)
    return weights @ x, weights


# %% wrong similarity_attention single_precision
# The tokens are float64, but your result is float32: do not convert them, and give a tensor that
# you create on the way the dtype of x.
def similarity_attention(x: Tensor) -> Tensor:
    x = x.float()
    return softmax(x @ x.T, dim=-1) @ x


# %% wrong similarity_attention numpy_result
# You return a NumPy array, and no gradient flows through NumPy: use torch from the first line to
# the last.
def similarity_attention(x: Tensor) -> Tensor:
    return (softmax(x @ x.T, dim=-1) @ x).numpy()


# %% wrong similarity_attention overflow
# Large tokens have dot products in the thousands, and their exp is infinite: use your softmax,
# which subtracts the maximum.
def similarity_attention(x: Tensor) -> Tensor:
    powers = (x @ x.T).exp()
    return powers / powers.sum(-1, keepdim=True) @ x


# %% wrong similarity_attention weights_transposed
# The weights that a token gives to all tokens do not sum to 1: take softmax along each row of
# the scores, and do not transpose the weights afterwards.
def similarity_attention(x: Tensor) -> Tensor:
    return softmax(x @ x.T, dim=-1).T @ x


# %% wrong similarity_attention slide_product
# You multiply x and its transpose elementwise: a score is a dot product, so use the matrix
# product.
def similarity_attention(x: Tensor) -> Tensor:
    return softmax(x * x.T, dim=-1) @ x


# %% wrong similarity_attention blend_elementwise
# You multiply weights and tokens elementwise: a weighted sum of tokens is a matrix product, too.
def similarity_attention(x: Tensor) -> Tensor:
    return softmax(x @ x.T, dim=-1) * x


# %% wrong similarity_attention softmax_without_dim
# You call softmax without a dimension: say along which one the weights of a token sum to 1.
def similarity_attention(x: Tensor) -> Tensor:
    return softmax(x @ x.T) @ x  # pyright: ignore[reportCallIssue]


# %% wrong similarity_attention exponentials_not_divided
# Your weights are the exps of the scores and do not sum to 1: divide each row by its sum.
def similarity_attention(x: Tensor) -> Tensor:
    return (x @ x.T).exp() @ x


# %% wrong similarity_attention largest_weight_one
# The largest weight of each row is 1, so your weights do not sum to 1: divide each row by its sum.
def similarity_attention(x: Tensor) -> Tensor:
    scores = x @ x.T
    return (scores - scores.amax(dim=-1, keepdim=True)).exp() @ x


# %% wrong similarity_attention softmax_twice
# You take softmax twice, so your weights are too uniform: once is enough.
def similarity_attention(x: Tensor) -> Tensor:
    return softmax(softmax(x @ x.T, dim=-1), dim=-1) @ x


# %% wrong similarity_attention table_of_the_default_dtype
# The tokens are float64, but your result is float32: do not convert them, and give a tensor that
# you create on the way the dtype of x.
def similarity_attention(x: Tensor) -> Tensor:
    output = torch.zeros(x.shape)
    for i in range(len(x)):
        output[i] = softmax(x @ x[i], dim=0) @ x
    return output


# %% wrong similarity_attention weights_detached
# Your numbers are right, but their gradient is not, because something on the way is detached from
# x: it must flow through the scores and through the tokens that you add up.
def similarity_attention(x: Tensor) -> Tensor:
    return softmax(x @ x.T, dim=-1).detach() @ x


# %% wrong similarity_attention keys_detached
# Your numbers are right, but their gradient is not, because something on the way is detached from
# x: it must flow through the scores and through the tokens that you add up.
def similarity_attention(x: Tensor) -> Tensor:
    return softmax(x @ x.detach().T, dim=-1) @ x


# %% wrong similarity_attention tokens_detached
# Your numbers are right, but their gradient is not, because something on the way is detached from
# x: it must flow through the scores and through the tokens that you add up.
def similarity_attention(x: Tensor) -> Tensor:
    return softmax(x @ x.T, dim=-1) @ x.detach()


# %% wrong similarity_attention features_compared_and_mixed
# You compare the columns of x and mix them: compare its rows, the tokens, and put their weights on
# the left of x.
def similarity_attention(x: Tensor) -> Tensor:
    return x @ softmax(x.T @ x, dim=-1)


# %% right similarity_attention of_torch
def similarity_attention(x: Tensor) -> Tensor:
    return torch.matmul(torch.softmax(x.matmul(x.t()), dim=1), x)


# %% right similarity_attention columns_of_a_symmetric_matrix
# the scores are symmetric, so softmax over columns and a transpose give the same weights
def similarity_attention(x: Tensor) -> Tensor:
    return softmax(x @ x.T, dim=0).T @ x


# %% right similarity_attention einsum
def similarity_attention(x: Tensor) -> Tensor:
    scores = torch.einsum("if,jf->ij", x, x)
    return torch.einsum("ij,jf->if", scores.softmax(-1), x)


# %% right similarity_attention fused
def similarity_attention(x: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(x, x, x, scale=1.0)


# %% right similarity_attention one_word_at_a_time
def similarity_attention(x: Tensor) -> Tensor:
    outputs = []
    for word in x:
        weights = softmax(torch.stack([word.dot(other) for other in x]), dim=0)
        outputs.append(sum(weight * other for weight, other in zip(weights, x, strict=True)))
    return torch.stack(outputs)


# %% right similarity_attention normalised_after_the_sum
def similarity_attention(x: Tensor) -> Tensor:
    scores = x @ x.T
    powers = (scores - scores.amax(-1, keepdim=True)).exp()
    return powers @ x / powers.sum(-1, keepdim=True)


# %% right similarity_attention broadcast
def similarity_attention(x: Tensor) -> Tensor:
    scores = (x.unsqueeze(1) * x.unsqueeze(0)).sum(-1)
    return (softmax(scores, -1).unsqueeze(-1) * x).sum(1)


# %% wrong repaired_scores as_on_the_slide
# This is still the product of the slide, which multiplies elementwise: use the matrix product.
def repaired_scores(x: Tensor) -> Tensor:
    return x * x.T


# %% wrong repaired_scores elementwise_square
# You square each entry of x: a score adds up the products of the features of two tokens.
def repaired_scores(x: Tensor) -> Tensor:
    return x * x


# %% wrong repaired_scores features_compared
# You compare the columns of x, which are features: swap the two factors, so that rows meet rows.
def repaired_scores(x: Tensor) -> Tensor:
    return x.T @ x


# %% wrong repaired_scores transpose_dropped
# Without the transpose, rows of x meet columns of x: a dot product of two tokens needs two rows.
def repaired_scores(x: Tensor) -> Tensor:
    return x @ x


# %% wrong repaired_scores only_with_itself
# You return one number for each token, its product with itself: every pair of tokens has a
# score.
def repaired_scores(x: Tensor) -> Tensor:
    return (x * x).sum(dim=-1)


# %% wrong repaired_scores not_summed
# You multiply the features of all pairs of tokens but do not add up the products: a score is one
# number.
def repaired_scores(x: Tensor) -> Tensor:
    return x[:, None] * x[None]


# %% wrong repaired_scores scaled
# Your scores are divided by √2: the formula on the slide has no scale, so only fix its product.
def repaired_scores(x: Tensor) -> Tensor:
    return x @ x.T / math.sqrt(x.shape[-1])


# %% wrong repaired_scores softmaxed
# These are weights already: fix the product and return the scores, without softmax.
def repaired_scores(x: Tensor) -> Tensor:
    return softmax(x @ x.T, dim=-1)


# %% wrong repaired_scores blended_words
# You go one step too far and take the weighted sum: return the scores.
def repaired_scores(x: Tensor) -> Tensor:
    return x @ x.T @ x


# %% wrong repaired_scores cosine_similarity
# You divide each token by its norm: the score is the plain dot product.
def repaired_scores(x: Tensor) -> Tensor:
    directions = F.normalize(x, dim=-1)
    return directions @ directions.T


# %% wrong repaired_scores slide_whole
# You still multiply elementwise, and then take softmax: use the matrix product, and return only
# the scores.
def repaired_scores(x: Tensor) -> Tensor:
    return softmax(x * x.T, dim=1)


# %% wrong repaired_scores softmaxed_in_columns
# These are weights already: fix the product and return the scores, without softmax.
def repaired_scores(x: Tensor) -> Tensor:
    return softmax(x @ x.T, dim=0)


# %% wrong repaired_scores upper_half_only
# The part of your table below the diagonal is empty: token 1 has a score with token 0, too.
def repaired_scores(x: Tensor) -> Tensor:
    return (x @ x.T).triu()


# %% wrong repaired_scores first_two_tokens
# Your table has two rows, and x has three tokens: score every pair of them.
def repaired_scores(x: Tensor) -> Tensor:
    return x[:2] @ x[:2].T


# %% wrong repaired_scores numbers_of_the_example
# You return the table of another x: compute the scores from x.
def repaired_scores(x: Tensor) -> Tensor:
    return x.new_tensor([[5.0, 6.0], [6.0, 9.0]])


# %% right repaired_scores matmul
def repaired_scores(x: Tensor) -> Tensor:
    return torch.matmul(x, x.t())


# %% right repaired_scores einsum
def repaired_scores(x: Tensor) -> Tensor:
    return torch.einsum("if,jf->ij", x, x)


# %% right repaired_scores inner
def repaired_scores(x: Tensor) -> Tensor:
    return torch.inner(x, x)


# %% right repaired_scores pairs
def repaired_scores(x: Tensor) -> Tensor:
    return torch.stack([torch.stack([one.dot(other) for other in x]) for one in x])


# %% right repaired_scores elementwise_and_sum
# the slide's own product, with the axes and the sum that it leaves out
def repaired_scores(x: Tensor) -> Tensor:
    return (x[:, None, :] * x[None, :, :]).sum(-1)


# %% wrong project_qkv transposed_matrices of="solution"
# You multiply by the transposed matrices: they have the shape (d_model, d_out), so use them as
# they are.
# replace: return x @ w_query, x @ w_key, x @ w_value
# by:      return x @ w_query.T, x @ w_key.T, x @ w_value.T

# %% wrong project_qkv matrix_on_the_left of="solution"
# Your results have the shape (d_out, length), but tokens should stay in rows: put x on the left
# of the matrix.
# replace: return x @ w_query, x @ w_key, x @ w_value
# by:      return w_query @ x.T, w_key @ x.T, w_value @ x.T

# %% wrong project_qkv roles_in_columns of="solution"
# Your numbers are right but transposed: return one row for each token, (length, d_out).
# replace: return x @ w_query, x @ w_key, x @ w_value
# by:      return (x @ w_query).T, (x @ w_key).T, (x @ w_value).T

# %% wrong project_qkv key_first of="solution"
# You swap query and key: the order is query, key, value.
# replace: return x @ w_query, x @ w_key, x @ w_value
# by:      return x @ w_key, x @ w_query, x @ w_value

# %% wrong project_qkv value_before_key of="solution"
# You swap key and value: the order is query, key, value.
# replace: return x @ w_query, x @ w_key, x @ w_value
# by:      return x @ w_query, x @ w_value, x @ w_key

# %% wrong project_qkv value_first of="solution"
# You return the three in reverse: the order is query, key, value.
# replace: return x @ w_query, x @ w_key, x @ w_value
# by:      return x @ w_value, x @ w_key, x @ w_query

# %% wrong project_qkv key_from_query_matrix of="solution"
# Your key is the same as your query: compute it with its own matrix, w_key.
# replace: return x @ w_query, x @ w_key, x @ w_value
# by:      return x @ w_query, x @ w_query, x @ w_value

# %% wrong project_qkv value_from_key_matrix of="solution"
# Your value is the same as your key: compute it with its own matrix, w_value.
# replace: return x @ w_query, x @ w_key, x @ w_value
# by:      return x @ w_query, x @ w_key, x @ w_key

# %% wrong project_qkv one_matrix_for_all of="solution"
# Your query, key and value are equal, because you use one matrix three times: each role has its
# own.
# replace: return x @ w_query, x @ w_key, x @ w_value
# by:      query = x @ w_query
#          return query, query, query

# %% wrong project_qkv values_not_projected of="solution"
# Your value is x itself: project it as well, with w_value.
# replace: return x @ w_query, x @ w_key, x @ w_value
# by:      return x @ w_query, x @ w_key, x

# %% wrong project_qkv only_query_projected of="solution"
# Your key and value are x itself: all three roles are projections of x.
# replace: return x @ w_query, x @ w_key, x @ w_value
# by:      return x @ w_query, x, x

# %% wrong project_qkv one_after_the_other of="solution"
# You project the query to get the key, and the key to get the value: all three start from x.
# replace: return x @ w_query, x @ w_key, x @ w_value
# by:      query = x @ w_query
#          key = query @ w_key
#          return query, key, key @ w_value

# %% wrong project_qkv already_scaled of="solution"
# Your results are too small by a constant factor: a projection is a plain matrix product,
# without a scale.
# replace: return x @ w_query, x @ w_key, x @ w_value
# by:      scale = math.sqrt(x.shape[-1])
#          return x @ w_query / scale, x @ w_key / scale, x @ w_value / scale

# %% wrong project_qkv softmaxed of="solution"
# Each row of your results sums to 1: softmax belongs to the scores, and a projection is a plain
# matrix product.
# replace: return x @ w_query, x @ w_key, x @ w_value
# by:      return softmax(x @ w_query, -1), softmax(x @ w_key, -1), softmax(x @ w_value, -1)

# %% wrong project_qkv activated of="solution"
# Your results contain no negative number: a projection is linear, so no ReLU follows it.
# replace: return x @ w_query, x @ w_key, x @ w_value
# by:      return (x @ w_query).relu(), (x @ w_key).relu(), (x @ w_value).relu()

# %% wrong project_qkv word_added of="solution"
# You add x to its projections: return the projections alone.
# replace: return x @ w_query, x @ w_key, x @ w_value
# by:      return x + x @ w_query, x + x @ w_key, x + x @ w_value

# %% wrong project_qkv all_of_one_width of="solution"
# You split the packed result into three equal parts, but the matrices may differ in width: split
# it by their own sizes.
# replace: return x @ w_query, x @ w_key, x @ w_value
# by:      query, key, value = (x @ torch.cat([w_query, w_key, w_value], dim=-1)).chunk(3, dim=-1)
#          return query, key, value

# %% wrong project_qkv elementwise_product of="solution"
# You combine x and a matrix elementwise, which needs matching shapes: a projection is a matrix
# product.
# replace: return x @ w_query, x @ w_key, x @ w_value
# by:      return x * w_query, x * w_key, x * w_value

# %% wrong project_qkv one_tensor of="solution"
# You return a single tensor: return three, query, key and value, because their widths may differ.
# replace: return x @ w_query, x @ w_key, x @ w_value
# by:      return torch.cat([x @ w_query, x @ w_key, x @ w_value], dim=-1)

# %% wrong project_qkv one_sequence_only of="solution"
# Your product only takes a single (length, d_model) matrix, but x may be a batch: use a product
# that leaves the leading dimensions alone.
# replace: return x @ w_query, x @ w_key, x @ w_value
# by:      return torch.mm(x, w_query), torch.mm(x, w_key), torch.mm(x, w_value)

# %% wrong project_qkv batch_flattened of="solution"
# You flatten all sequences into one long list of tokens: keep the leading dimensions of x.
# replace: return x @ w_query, x @ w_key, x @ w_value
# by:      words = x.reshape(-1, x.shape[-1])
#          return words @ w_query, words @ w_key, words @ w_value

# %% wrong project_qkv copied_matrices of="solution"
# You copy the matrices, and the copies are detached from what is trained: multiply by the
# matrices themselves.
# replace: return x @ w_query, x @ w_key, x @ w_value
# by:      return x @ w_query.detach(), x @ w_key.detach(), x @ w_value.detach()

# %% wrong project_qkv matrix_before_x of="solution"
# The matrix is on the left of x, and their sizes do not match: each token is a row of x, so the
# matrix goes on the right.
# replace: return x @ w_query, x @ w_key, x @ w_value
# by:      return w_query @ x, w_key @ x, w_value @ x

# %% wrong project_qkv words_transposed of="solution"
# You transpose x, so its tokens become columns: keep each token as a row.
# replace: return x @ w_query, x @ w_key, x @ w_value
# by:      return x.T @ w_query, x.T @ w_key, x.T @ w_value

# %% wrong project_qkv matrix_called of="solution"
# You call a matrix as if it were a function: it is a tensor, so multiply x by it.
# replace: return x @ w_query, x @ w_key, x @ w_value
# by:      return w_query(x), w_key(x), w_value(x)  # pyright: ignore[reportCallIssue]

# %% wrong project_qkv elementwise_from_the_left of="solution"
# You combine x and a matrix elementwise, which needs matching shapes: a projection is a matrix
# product.
# replace: return x @ w_query, x @ w_key, x @ w_value
# by:      return w_query * x, w_key * x, w_value * x

# %% right project_qkv matmul_into_a_list of="solution"
# replace: return x @ w_query, x @ w_key, x @ w_value
# by:      return [torch.matmul(x, matrix) for matrix in (w_query, w_key, w_value)]


# %% right project_qkv einsum
def project_qkv(
    x: Tensor, w_query: Tensor, w_key: Tensor, w_value: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    def project(matrix: Tensor) -> Tensor:
        return torch.einsum("...i,io->...o", x, matrix)

    return project(w_query), project(w_key), project(w_value)


# %% right project_qkv linear of="solution"
# replace: return x @ w_query, x @ w_key, x @ w_value
# by:      return F.linear(x, w_query.T), F.linear(x, w_key.T), F.linear(x, w_value.T)

# %% right project_qkv packed of="solution"
# replace: return x @ w_query, x @ w_key, x @ w_value
# by:      matrices = (w_query, w_key, w_value)
#          packed = x @ torch.cat(matrices, dim=1)
#          return packed.split([matrix.shape[1] for matrix in matrices], dim=-1)

# %% right project_qkv transposed_twice of="solution"
# replace: return x @ w_query, x @ w_key, x @ w_value
# by:      columns = x.mT
#          return (w_query.T @ columns).mT, (w_key.T @ columns).mT, (w_value.T @ columns).mT


# %% right project_qkv tensordot
def project_qkv(
    x: Tensor, w_query: Tensor, w_key: Tensor, w_value: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    return (
        torch.tensordot(x, w_query, dims=1),
        torch.tensordot(x, w_key, dims=1),
        torch.tensordot(x, w_value, dims=1),
    )


# %% right project_qkv sum_of_products of="all_of_one_width"
# replace: query, key, value = (x @ torch.cat([w_query, w_key, w_value], dim=-1)).chunk(3, dim=-1)
# by:      query = (x.unsqueeze(-1) * w_query).sum(dim=-2)
#          key = (x.unsqueeze(-1) * w_key).sum(dim=-2)
#          value = (x.unsqueeze(-1) * w_value).sum(dim=-2)

# %% wrong programmed_head query_and_key_swapped of="solution"
# You swap query and key: `it` is a pronoun and asks, so the row of the pronoun belongs in
# w_query, and the row of the animal in w_key.
# replace: return w_query, w_key, w_value
# by:      return w_key, w_query, w_value

# %% wrong programmed_head key_of_the_pronoun of="solution"
# Your keys mark the pronoun, so `it` finds itself: the key is what a token can be found by, and
# you want to find animals.
# replace: w_key[FEATURES.index("animal")] = 1.0
# by:      w_key[FEATURES.index("pronoun")] = 1.0

# %% wrong programmed_head query_of_the_animal of="solution"
# Your queries belong to the animals, so `it` has a query of zero: the row of w_query is a feature
# of the token that asks, and `it` is a pronoun.
# replace: w_query[FEATURES.index("pronoun")] = 10.0
# by:      w_query[FEATURES.index("animal")] = 10.0

# %% wrong programmed_head scores_too_small of="solution"
# Your head finds the animal, but its score is only 1 above the others, so their weights stay
# large: make an entry of w_query or w_key larger.
# replace: w_query[FEATURES.index("pronoun")] = 10.0
# by:      w_query[FEATURES.index("pronoun")] = 1.0

# %% wrong programmed_head scores_a_little_too_small of="solution"
# The score of the animal is 3 above the others: with ten other tokens, that gives it only two
# thirds of the weight. Make an entry of w_query or w_key larger.
# replace: w_query[FEATURES.index("pronoun")] = 10.0
# by:      w_query[FEATURES.index("pronoun")] = 3.0

# %% wrong programmed_head sign_of_the_query of="solution"
# Query and key have opposite signs, so the animal gets the smallest score of all: their product
# must be positive.
# replace: w_query[FEATURES.index("pronoun")] = 10.0
# by:      w_query[FEATURES.index("pronoun")] = -10.0

# %% wrong programmed_head sign_of_the_key of="solution"
# Query and key have opposite signs, so the animal gets the smallest score of all: their product
# must be positive.
# replace: w_key[FEATURES.index("animal")] = 1.0
# by:      w_key[FEATURES.index("animal")] = -1.0

# %% wrong programmed_head key_of_the_place of="solution"
# Your keys mark the places, as those of the verb's head do: this head should find animals.
# replace: w_key[FEATURES.index("animal")] = 1.0
# by:      w_key[FEATURES.index("place")] = 1.0

# %% wrong programmed_head copied_verb_head of="solution"
# This is the head of the verb: `it` has no verb feature, so its query is zero. Ask three new
# questions: who asks, what should it find, what should it bring back?
# replace: w_query[FEATURES.index("pronoun")] = 10.0
# by:      w_query[FEATURES.index("verb")] = 10.0
# replace: w_key[FEATURES.index("animal")] = 1.0
# by:      w_key[FEATURES.index("place")] = 1.0

# %% wrong programmed_head animals_and_places of="solution"
# Your keys mark animals and places alike, so `it` shares its weight between the two: mark only
# what you want to find.
# replace: w_key[FEATURES.index("animal")] = 1.0
# by:      w_key[FEATURES.index("animal")] = 1.0
#          w_key[FEATURES.index("place")] = 1.0

# %% wrong programmed_head animals_and_itself of="solution"
# Your keys mark animals and the pronoun alike, so `it` keeps half of the weight for itself: mark
# only what you want to find.
# replace: w_key[FEATURES.index("animal")] = 1.0
# by:      w_key[FEATURES.index("pronoun")] = 1.0
#          w_key[FEATURES.index("animal")] = 1.0

# %% wrong programmed_head key_of_the_speed of="solution"
# Your keys say how fast a token is, so a slow animal is not found: use the feature that all
# animals have.
# replace: w_key[FEATURES.index("animal")] = 1.0
# by:      w_key[FEATURES.index("speed")] = 1.0

# %% wrong programmed_head key_of_the_size of="solution"
# Your keys say how large a token is, and the street is larger than the dog: use a feature that
# only animals have.
# replace: w_key[FEATURES.index("animal")] = 1.0
# by:      w_key[FEATURES.index("size")] = 1.0

# %% wrong programmed_head value_left_at_zero of="solution"
# `it` attends to the animal, but your values are all zero, so nothing comes back: w_value needs
# an entry for the size and one for the speed.
# replace: w_value[FEATURES.index("size"), 0] = 1.0
#          w_value[FEATURES.index("speed"), 1] = 1.0
# by:

# %% wrong programmed_head speed_first of="solution"
# Your output is [speed, size]: column 0 of w_value belongs to the size, column 1 to the speed.
# replace: w_value[FEATURES.index("size"), 0] = 1.0
#          w_value[FEATURES.index("speed"), 1] = 1.0
# by:      w_value[FEATURES.index("speed"), 0] = 1.0
#          w_value[FEATURES.index("size"), 1] = 1.0

# %% wrong programmed_head only_the_size of="solution"
# You set one column of w_value and leave the other at zero: each number of the output needs a
# column of its own.
# replace: w_value[FEATURES.index("speed"), 1] = 1.0
# by:

# %% wrong programmed_head value_in_every_column of="solution"
# Each of your outputs is the sum of size and speed, because both rows are set in both columns:
# column 0 takes the size, column 1 the speed.
# replace: w_value[FEATURES.index("size"), 0] = 1.0
#          w_value[FEATURES.index("speed"), 1] = 1.0
# by:      w_value[FEATURES.index("size")] = 1.0
#          w_value[FEATURES.index("speed")] = 1.0

# %% wrong programmed_head value_is_the_animal of="solution"
# Your output says that an animal was found, not what it is like: the value passes on size and
# speed, another feature than the key.
# replace: w_value[FEATURES.index("size"), 0] = 1.0
#          w_value[FEATURES.index("speed"), 1] = 1.0
# by:      w_value[FEATURES.index("animal")] = 1.0

# %% wrong programmed_head value_enlarged_too of="solution"
# The weights are right, but the output is ten times too large: large entries belong in w_query
# or w_key, while w_value passes the numbers on as they are.
# replace: w_value[FEATURES.index("size"), 0] = 1.0
#          w_value[FEATURES.index("speed"), 1] = 1.0
# by:      w_value[FEATURES.index("size"), 0] = 10.0
#          w_value[FEATURES.index("speed"), 1] = 10.0

# %% wrong programmed_head transposed of="solution"
# Your matrices are transposed: x @ w needs one row for each feature, so their shape is (6, d_out).
# replace: return w_query, w_key, w_value
# by:      return w_query.T, w_key.T, w_value.T

# %% wrong programmed_head vectors of="solution"
# w_query and w_key are vectors here: make them matrices with six rows and one column, (6, 1).
# replace: return w_query, w_key, w_value
# by:      return w_query[:, 0], w_key[:, 0], w_value

# %% wrong programmed_head different_widths of="solution"
# Your queries have two numbers and your keys have one, so they have no dot product: give w_query
# and w_key the same number of columns.
# replace: return w_query, w_key, w_value
# by:      return torch.cat([w_query, w_query], 1), w_key, w_value

# %% wrong programmed_head value_of_all_features of="solution"
# Your output has all six features: w_value needs two columns, one for the size and one for the
# speed.
# replace: return w_query, w_key, w_value
# by:      return w_query, w_key, torch.eye(6)

# %% wrong programmed_head value_first of="solution"
# You return the value's matrix first: the order is query, key, value.
# replace: return w_query, w_key, w_value
# by:      return w_value, w_query, w_key


# %% wrong programmed_head no_projection
# With the identity, query and key are the embedding itself, and `it` finds itself: w_query and
# w_key must turn different features into the same number.
def programmed_head() -> tuple[Tensor, Tensor, Tensor]:
    return 10 * torch.eye(6), torch.eye(6), torch.eye(6)[:, 4:]


# %% wrong programmed_head everything_is_one
# All your features count in every role, so the token with the largest sum of features wins: set
# only the rows that belong to the question.
def programmed_head() -> tuple[Tensor, Tensor, Tensor]:
    return 10 * torch.ones(6, 1), torch.ones(6, 1), torch.eye(6)[:, 4:]


# %% wrong programmed_head from_animal_to_pronoun
# Your w_query has the entry in the row of the animal and the column of the pronoun: rows are
# features of the token that asks, so rows and columns must change places.
def programmed_head() -> tuple[Tensor, Tensor, Tensor]:
    w_query = torch.zeros(6, 6)
    w_query[1, 0] = 10.0
    return w_query, torch.eye(6), torch.eye(6)[:, 4:]


# %% wrong programmed_head query_and_key_in_other_columns
# The query is in column 0 and the key in column 1, so their product is 0: a feature of the query
# meets the same feature of the key.
def programmed_head() -> tuple[Tensor, Tensor, Tensor]:
    w_query, w_key = torch.zeros(6, 2), torch.zeros(6, 2)
    w_query[0, 0], w_key[1, 1] = 10.0, 10.0
    return w_query, w_key, torch.eye(6)[:, 4:]


# %% wrong programmed_head columns_never_meet of="query_and_key_in_other_columns"
# The query is in column 0 and the key in column 1, so their product is 0: a feature of the query
# meets the same feature of the key.
# replace: w_query[0, 0], w_key[1, 1] = 10.0, 10.0
# by:      w_query[0, 0], w_key[1, 1] = 8.0, 8.0

# %% wrong programmed_head infinite_entry of="solution"
# An entry is infinite, and 0 · inf is not a number, so your weights are NaN: a finite entry such as
# 10 is enough.
# replace: w_key[FEATURES.index("animal")] = 1.0
# by:      w_key[FEATURES.index("animal")] = math.inf

# %% wrong programmed_head others_pushed_away of="solution"
# Your animal has the score 0, as have all tokens outside the lexicon: give its own row of w_key a
# positive entry.
# replace: w_key[FEATURES.index("animal")] = 1.0
# by:      for feature in ("pronoun", "place", "verb"):
#              w_key[FEATURES.index(feature)] = -1.0


# %% wrong programmed_head one_tensor_with_three_names
# Your three matrices are one and the same tensor, so each entry is set in all of them: create
# three.
def programmed_head() -> tuple[Tensor, Tensor, Tensor]:
    w_query = w_key = w_value = torch.zeros(6, 2)
    w_query[0, 0] = 8.0
    w_key[1, 0] = 1.0
    w_value[4, 0] = w_value[5, 1] = 1.0
    return w_query, w_key, w_value


# %% right programmed_head keys_in_the_features_themselves
def programmed_head() -> tuple[Tensor, Tensor, Tensor]:
    w_query = torch.zeros(6, 6)
    w_query[0, 1] = 8.0  # a pronoun asks for an animal
    return w_query, torch.eye(6), torch.eye(6)[:, 4:]


# %% right programmed_head typed_as_lists
def programmed_head() -> tuple[Tensor, Tensor, Tensor]:
    w_query = torch.tensor([[3], [0], [0], [0], [0], [0]])
    w_key = torch.tensor([[0], [3], [0], [0], [0], [0]])
    w_value = torch.tensor([[0, 0], [0, 0], [0, 0], [0, 0], [1, 0], [0, 1]])
    return w_query, w_key, w_value


# %% right programmed_head both_negative
def programmed_head() -> tuple[Tensor, Tensor, Tensor]:
    pronoun, animal, _, _, size, speed = torch.eye(6, dtype=torch.float64)
    return -30.0 * pronoun[:, None], -animal[:, None], torch.stack([size, speed], dim=1)


# %% right programmed_head place_pushed_away
def programmed_head() -> tuple[Tensor, Tensor, Tensor]:
    w_query = torch.nn.functional.one_hot(torch.tensor([0]), 6).float().T * 40
    w_key = torch.tensor([[-1.0, 1.0, -1.0, -1.0, 0.0, 0.0]]).T
    return w_query, w_key, torch.cat([torch.zeros(4, 2), torch.eye(2)])


# %% right programmed_head every_token_asks
# of all features, `it` has only the first
def programmed_head() -> tuple[Tensor, Tensor, Tensor]:
    w_key = torch.zeros(6, 3)
    w_key[1] = 4.0
    return torch.full((6, 3), 2.0), w_key, torch.eye(6)[:, -2:]


# %% right programmed_head several_columns of="solution"
# replace: return w_query, w_key, w_value
# by:      return w_query.repeat(1, 4), w_key.repeat(1, 4), w_value


# %% wrong flying_output no_scale
# You take the softmax of the plain dot products 1 and -1: divide them by √d_k first.
flying_output = [0.762, 0.119]

# %% wrong flying_output divided_by_d_k
# You divide the dot products by d_k = 2: the scale is the square root of d_k.
flying_output = [0.462, 0.269]

# %% wrong flying_output multiplied_by_root
# You multiply the dot products by √2: divide them by it.
flying_output = [0.888, 0.056]

# %% wrong flying_output scale_after_softmax
# You divide by √2 after the softmax: divide the dot products before it.
flying_output = [0.539, 0.084]

# %% wrong flying_output query_and_key_swapped
# You compare the key of flying with the queries: take the query of flying and both keys.
flying_output = [-0.340, 0.670]

# %% wrong flying_output key_and_value_swapped
# You compare the query with the values and add up the keys: it is the other way round.
flying_output = [0.330, -0.340]

# %% wrong flying_output rounded_to_one_decimal
# close: the last digits are off. Keep four digits on the way, round only the result, to three
# decimals, and do not cut.
flying_output = [0.6, 0.2]

# %% wrong flying_output root_rounded
# close: the last digits are off. Keep four digits on the way, round only the result, to three
# decimals, and do not cut.
flying_output = [0.613, 0.193]

# %% wrong flying_output weights
# These are the two weights: use them to add up the two values.
flying_output = [0.804, 0.196]

# %% wrong flying_output weights_swapped
# You multiply each weight with the wrong value: the first weight belongs to the value of flying.
flying_output = [-0.609, 0.804]

# %% wrong flying_output other_word
# This is the output for arrows: start from the query of flying.
flying_output = [0.786, 0.107]

# %% wrong flying_output largest_score_only
# This is the value of flying alone: the value of arrows has a weight, too.
flying_output = [1.0, 0.0]

# %% wrong flying_output equal_weights
# You give both values the same weight: the query of flying matches the two keys differently.
flying_output = [0.0, 0.5]

# %% wrong flying_output no_softmax
# You use the scaled dot products as weights, and one of them is negative: softmax turns them
# into weights first.
flying_output = [1.414, -0.707]

# %% wrong flying_output not_normalised
# Your weights are the exponentials of the scores and do not sum to 1: divide each by their sum.
flying_output = [1.535, 0.493]

# %% wrong flying_output softmax_over_queries
# You take each softmax over the two queries: the two weights of flying sum to 1 over the keys.
flying_output = [-0.170, 0.500]

# %% wrong flying_output cut_to_two_decimals
# close: the last digits are off. Keep four digits on the way, round only the result, to three
# decimals, and do not cut.
flying_output = [0.61, 0.19]

# %% wrong flying_output cut_after_the_first
# close: the last digits are off. Keep four digits on the way, round only the result, to three
# decimals, and do not cut.
flying_output = [0.60, 0.19]

# %% wrong flying_output order_swapped
# Your two numbers are right but swapped: give the first feature first, then the second.
flying_output = [0.196, 0.609]

# %% wrong flying_output keys_blended
# Your weights are right, but you add up the keys with them: add up the values.
flying_output = [0.804, 0.609]

# %% wrong flying_output dot_products_as_weights
# You use the dot products 1 and -1 as weights: divide them by √2 and take their softmax first.
flying_output = [2.0, -1.0]

# %% wrong flying_output sign_of_the_value_lost
# Your weights are right, but the value of arrows is [-1, 1]: you lose its minus sign.
flying_output = [1.0, 0.196]

# %% right flying_output more_digits
flying_output = [0.6088594, 0.1955703]

# %% right flying_output tuple
flying_output = (0.609, 0.196)

# %% right flying_output two_decimals
flying_output = [0.61, 0.2]

# %% right flying_output computed
weights = torch.softmax(torch.tensor([1.0, -1.0]) / math.sqrt(2), dim=0)
flying_output = weights @ torch.tensor([[1.0, 0.0], [-1.0, 1.0]])

# %% right flying_output numpy
import numpy as np

flying_scores = np.array([1.0, -1.0]) / np.sqrt(2)
flying_weights = np.exp(flying_scores) / np.exp(flying_scores).sum()
flying_output = flying_weights @ np.array([[1.0, 0.0], [-1.0, 1.0]])

# %% wrong arrows_output no_scale
# You take the softmax of the plain dot products 2 and -1: divide them by √d_k first.
arrows_output = [0.905, 0.047]

# %% wrong arrows_output divided_by_d_k
# You divide the dot products by d_k = 2: the scale is the square root of d_k.
arrows_output = [0.635, 0.182]

# %% wrong arrows_output multiplied_by_root
# You multiply the dot products by √2: divide them by it.
arrows_output = [0.972, 0.014]

# %% wrong arrows_output scale_after_softmax
# You divide by √2 after the softmax: divide the dot products before it.
arrows_output = [0.640, 0.034]

# %% wrong arrows_output query_and_key_swapped
# You give both values the same weight: take the query of arrows, which matches the two keys
# differently.
arrows_output = [0.0, 0.5]

# %% wrong arrows_output key_and_value_swapped
# You compare the query with the values and add up the keys: it is the other way round.
arrows_output = [0.670, 0.340]

# %% wrong arrows_output rounded_to_one_decimal
# close: the last digits are off. Keep four digits on the way, round only the result, to three
# decimals, and do not cut.
arrows_output = [0.8, 0.1]

# %% wrong arrows_output weights
# These are the two weights: use them to add up the two values.
arrows_output = [0.893, 0.107]

# %% wrong arrows_output weights_swapped
# You multiply each weight with the wrong value: the first weight belongs to the value of flying.
arrows_output = [-0.786, 0.893]

# %% wrong arrows_output other_word
# This is the output for flying: start from the query of arrows.
arrows_output = [0.609, 0.196]

# %% wrong arrows_output own_value
# This is the value of arrows alone: attention adds up both values, and this query matches the
# key of flying better than its own.
arrows_output = [-1.0, 1.0]

# %% wrong arrows_output largest_score_only
# This is the value of flying alone: the value of arrows has a weight, too.
arrows_output = [1.0, 0.0]

# %% wrong arrows_output no_softmax
# You use the scaled dot products as weights, and one of them is negative: softmax turns them
# into weights first.
arrows_output = [2.121, -0.707]

# %% wrong arrows_output not_normalised
# Your weights are the exponentials of the scores and do not sum to 1: divide each by their sum.
arrows_output = [3.620, 0.493]

# %% wrong arrows_output softmax_over_queries
# You take each softmax over the two queries: the two weights of arrows sum to 1 over the keys.
arrows_output = [0.170, 0.500]

# %% wrong arrows_output cut_to_two_decimals
# close: the last digits are off. Keep four digits on the way, round only the result, to three
# decimals, and do not cut.
arrows_output = [0.78, 0.10]

# %% wrong arrows_output one_of_them_cut
# close: the last digits are off. Keep four digits on the way, round only the result, to three
# decimals, and do not cut.
arrows_output = [0.78, 0.11]

# %% wrong arrows_output the_other_cut
# close: the last digits are off. Keep four digits on the way, round only the result, to three
# decimals, and do not cut.
arrows_output = [0.79, 0.10]

# %% wrong arrows_output root_rounded
# close: the last digits are off. Keep four digits on the way, round only the result, to three
# decimals, and do not cut.
arrows_output = [0.790, 0.105]

# %% wrong arrows_output one_over_root_rounded
# close: the last digits are off. Keep four digits on the way, round only the result, to three
# decimals, and do not cut.
arrows_output = [0.782, 0.109]

# %% wrong arrows_output order_swapped
# Your two numbers are right but swapped: give the first feature first, then the second.
arrows_output = [0.107, 0.786]

# %% wrong arrows_output keys_blended
# Your weights are right, but you add up the keys with them: add up the values.
arrows_output = [0.893, 0.786]

# %% wrong arrows_output dot_products_as_weights
# Your weights are 2 and -1, as the dot products are (divided by their sum, 1, or not): divide these
# by √2 and take their softmax first.
arrows_output = [3.0, -1.0]

# %% wrong arrows_output sign_of_the_value_lost
# Your weights are right, but the value of arrows is [-1, 1]: you lose its minus sign.
arrows_output = [1.0, 0.107]

# %% wrong arrows_output sign_of_the_score_lost
# Your weights, 0.670 and 0.330, belong to the scores 2 and 1: look at the sign of the second,
# [1, 1] · [0, -1].
arrows_output = [0.340, 0.330]

# %% wrong arrows_output key_in_place_of_query
# Your weights are those of the query [0, -1], the key of arrows (or those of flying, swapped):
# start from the query of arrows, [1, 1].
arrows_output = [-0.609, 0.804]

# %% right arrows_output more_digits
arrows_output = [0.7859164, 0.1070418]

# %% right arrows_output tuple
arrows_output = (0.786, 0.107)

# %% right arrows_output two_decimals
arrows_output = [0.79, 0.11]

# %% right arrows_output computed
arrows_weight = torch.sigmoid(torch.tensor(3 / math.sqrt(2)))
arrows_output = torch.stack([2 * arrows_weight - 1, 1 - arrows_weight])

# %% right arrows_output numpy
import numpy as np

arrows_output = np.array([0.786, 0.107], dtype=np.float32)

# %% wrong scaled_dot_product_attention no_scale of="solution"
# Your weights are too sharp: you do not divide the scores by √d_k.
# replace: scores = query @ key.transpose(-2, -1)  # (…, query_length, key_length)
#          weights = softmax(scores / math.sqrt(query.shape[-1]), dim=-1)
# by:      weights = softmax(query @ key.transpose(-2, -1), dim=-1)

# %% wrong scaled_dot_product_attention divided_by_d_k of="solution"
# Your weights are too uniform: you divide the scores by d_k, or by √d_k twice. Divide once, by
# the square root.
# replace: scores = query @ key.transpose(-2, -1)  # (…, query_length, key_length)
#          weights = softmax(scores / math.sqrt(query.shape[-1]), dim=-1)
# by:      weights = softmax(query @ key.transpose(-2, -1) / query.shape[-1], dim=-1)

# %% wrong scaled_dot_product_attention root_of_d_v of="solution"
# You divide by √5, and 5 is the width of the values: d_k is the width of queries and keys.
# replace: scores = query @ key.transpose(-2, -1)  # (…, query_length, key_length)
#          weights = softmax(scores / math.sqrt(query.shape[-1]), dim=-1)
# by:      weights = softmax(query @ key.transpose(-2, -1) / math.sqrt(value.shape[-1]), dim=-1)

# %% wrong scaled_dot_product_attention root_of_key_length of="solution"
# You divide by √3, and 3 is the number of keys: d_k is their width, the last axis.
# replace: scores = query @ key.transpose(-2, -1)  # (…, query_length, key_length)
#          weights = softmax(scores / math.sqrt(query.shape[-1]), dim=-1)
# by:      weights = softmax(query @ key.transpose(-2, -1) / math.sqrt(key.shape[-2]), dim=-1)

# %% wrong scaled_dot_product_attention root_of_query_length of="solution"
# You divide the scores by √2, the root of the number of queries, of the number of axes or of d_k
# in the example by hand: here d_k is the size of the last axis of the query.
# replace: scores = query @ key.transpose(-2, -1)  # (…, query_length, key_length)
#          weights = softmax(scores / math.sqrt(query.shape[-1]), dim=-1)
# by:      weights = softmax(query @ key.transpose(-2, -1) / math.sqrt(len(query)), dim=-1)

# %% wrong scaled_dot_product_attention root_of_axis_one of="solution"
# Your scale changes in a batch, because axis 1 is then the length: d_k is the size of the last
# axis, with and without a batch.
# replace: scores = query @ key.transpose(-2, -1)  # (…, query_length, key_length)
#          weights = softmax(scores / math.sqrt(query.shape[-1]), dim=-1)
# by:      weights = softmax(query @ key.transpose(-2, -1) / math.sqrt(query.shape[1]), dim=-1)

# %% wrong scaled_dot_product_attention multiplied_by_root of="solution"
# Your weights are far too sharp, because you multiply the scores by √d_k: divide by it.
# replace: scores = query @ key.transpose(-2, -1)  # (…, query_length, key_length)
#          weights = softmax(scores / math.sqrt(query.shape[-1]), dim=-1)
# by:      weights = softmax(query @ key.transpose(-2, -1) * math.sqrt(query.shape[-1]), dim=-1)

# %% wrong scaled_dot_product_attention weights_scaled of="solution"
# Your weights do not sum to 1, because you divide them by √d_k: divide the scores, before the
# softmax.
# replace: scores = query @ key.transpose(-2, -1)  # (…, query_length, key_length)
#          weights = softmax(scores / math.sqrt(query.shape[-1]), dim=-1)
# by:      weights = softmax(query @ key.transpose(-2, -1), dim=-1) / math.sqrt(query.shape[-1])

# %% wrong scaled_dot_product_attention output_scaled of="no_scale"
# You divide the output by √d_k: divide the scores instead, before the softmax.
# replace: return weights @ value, weights
# by:      return weights @ value / math.sqrt(query.shape[-1]), weights

# %% wrong scaled_dot_product_attention scale_known_by_heart of="solution"
# You divide by 8, which is right only for d_k = 64: read d_k from the shape of the query.
# replace: scores = query @ key.transpose(-2, -1)  # (…, query_length, key_length)
#          weights = softmax(scores / math.sqrt(query.shape[-1]), dim=-1)
# by:      weights = softmax(query @ key.transpose(-2, -1) / 8, dim=-1)

# %% wrong scaled_dot_product_attention scale_in_single_precision of="solution"
# Your numbers are only right to a few digits: take the root of a plain Python number (the root
# of a float32 tensor has only seven digits), and do not round it.
# replace: scores = query @ key.transpose(-2, -1)  # (…, query_length, key_length)
#          weights = softmax(scores / math.sqrt(query.shape[-1]), dim=-1)
# by:      scores = query @ key.transpose(-2, -1) / torch.sqrt(torch.tensor(query.shape[-1]))
#          weights = softmax(scores, dim=-1)

# %% wrong scaled_dot_product_attention scale_of_the_example of="solution"
# Here d_k is 3, and you divide by 2: read d_k from the last axis of the query, and do not round
# its root.
# replace: scores = query @ key.transpose(-2, -1)  # (…, query_length, key_length)
#          weights = softmax(scores / math.sqrt(query.shape[-1]), dim=-1)
# by:      weights = softmax(query @ key.transpose(-2, -1) / 2, dim=-1)

# %% wrong scaled_dot_product_attention over_axis_one of="solution"
# In a batch, axis 1 holds the queries: take softmax over the keys, the last axis, with and
# without a batch.
# replace: scores = query @ key.transpose(-2, -1)  # (…, query_length, key_length)
#          weights = softmax(scores / math.sqrt(query.shape[-1]), dim=-1)
# by:      weights = softmax(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]), dim=1)

# %% wrong scaled_dot_product_attention over_queries of="solution"
# Each of your columns of weights sums to 1, but each row should: take softmax over the keys, the
# last axis.
# replace: scores = query @ key.transpose(-2, -1)  # (…, query_length, key_length)
#          weights = softmax(scores / math.sqrt(query.shape[-1]), dim=-1)
# by:      weights = softmax(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]), dim=-2)

# %% wrong scaled_dot_product_attention over_the_whole_matrix of="solution"
# All your weights together sum to 1, so every output is too small: the weights of each query sum
# to 1 on their own.
# replace: scores = query @ key.transpose(-2, -1)  # (…, query_length, key_length)
#          weights = softmax(scores / math.sqrt(query.shape[-1]), dim=-1)
# by:      scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
#          weights = softmax(scores.flatten(-2), dim=-1).reshape(scores.shape)

# %% wrong scaled_dot_product_attention no_softmax of="solution"
# Your weights are the scaled scores themselves: turn each row into weights that sum to 1.
# replace: scores = query @ key.transpose(-2, -1)  # (…, query_length, key_length)
#          weights = softmax(scores / math.sqrt(query.shape[-1]), dim=-1)
# by:      weights = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])

# %% wrong scaled_dot_product_attention scores_divided_by_their_sum of="over_the_whole_matrix"
# You divide each row of scores by its sum: softmax takes exp of the scores first.
# replace: weights = softmax(scores.flatten(-2), dim=-1).reshape(scores.shape)
# by:      weights = scores / scores.sum(dim=-1, keepdim=True)

# %% wrong scaled_dot_product_attention returns_scores of="over_the_whole_matrix"
# Your output is right, but you return the scores beside it: return the weights, which come after
# the softmax.
# replace: weights = softmax(scores.flatten(-2), dim=-1).reshape(scores.shape)
#          return weights @ value, weights
# by:      return softmax(scores, dim=-1) @ value, scores

# %% wrong scaled_dot_product_attention each_score_alone of="solution"
# You take a sigmoid of each score on its own: with softmax, the keys of one query compete.
# replace: scores = query @ key.transpose(-2, -1)  # (…, query_length, key_length)
#          weights = softmax(scores / math.sqrt(query.shape[-1]), dim=-1)
# by:      weights = (query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])).sigmoid()

# %% wrong scaled_dot_product_attention best_key_only of="over_the_whole_matrix"
# You give each query only the value of its best key: softmax gives every key a weight above 0.
# replace: weights = softmax(scores.flatten(-2), dim=-1).reshape(scores.shape)
# by:      weights = F.one_hot(scores.argmax(dim=-1), scores.shape[-1]).to(value.dtype)

# %% wrong scaled_dot_product_attention later_keys_hidden of="over_the_whole_matrix"
# In your version no query attends to a key that comes after it: here every query attends to all
# keys.
# replace: weights = softmax(scores.flatten(-2), dim=-1).reshape(scores.shape)
# by:      later = torch.ones_like(scores, dtype=torch.bool).triu(1)
#          weights = softmax(scores.masked_fill(later, -torch.inf), dim=-1)

# %% wrong scaled_dot_product_attention cosine_similarity of="scale_in_single_precision"
# You normalise queries and keys: a score is the plain dot product, divided by √d_k.
# replace: scores = query @ key.transpose(-2, -1) / torch.sqrt(torch.tensor(query.shape[-1]))
# by:      scores = F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).transpose(-2, -1)

# %% wrong scaled_dot_product_attention weights_first of="blend_elementwise"
# You return the weights before the output: the order is output, weights.
# replace: return weights * value, weights
# by:      return weights, weights @ value


# %% wrong scaled_dot_product_attention output_only
# You return a single tensor: return two, the output and then the weights.
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor
) -> tuple[Tensor, Tensor]:
    return softmax(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]), dim=-1) @ value


# %% wrong scaled_dot_product_attention blends_queries of="blend_elementwise"
# You add up the queries: the weights multiply the values, one for each key.
# replace: return weights * value, weights
# by:      return weights @ query, weights

# %% wrong scaled_dot_product_attention blends_keys of="blend_elementwise"
# You add up the keys: keys only decide the weights, and the weights multiply the values.
# replace: return weights * value, weights
# by:      return weights @ key, weights

# %% wrong scaled_dot_product_attention blend_divided_by_length of="blend_elementwise"
# Your outputs are three times too small: the weights already sum to 1, so do not divide the
# weighted sum again.
# replace: return weights * value, weights
# by:      return weights @ value / key.shape[-2], weights

# %% wrong scaled_dot_product_attention values_not_summed of="blend_elementwise"
# Your output still has an axis for the keys: multiply each value by its weight and add up over
# the keys, as a matrix product does.
# replace: return weights * value, weights
# by:      return weights.unsqueeze(-1) * value.unsqueeze(-3), weights

# %% wrong scaled_dot_product_attention elementwise_scores of="blend_elementwise"
# You multiply queries and keys elementwise: a score is a dot product, so use the matrix product.
# replace: weights = softmax(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]), dim=-1)
# by:      weights = softmax(query * key / math.sqrt(query.shape[-1]), dim=-1)

# %% wrong scaled_dot_product_attention batch_transposed of="solution"
# Your transpose moves the batch axis: swap only the last two axes of the keys.
# replace: scores = query @ key.transpose(-2, -1)  # (…, query_length, key_length)
#          weights = softmax(scores / math.sqrt(query.shape[-1]), dim=-1)
# by:      turned = key.permute(*reversed(range(key.dim())))
#          weights = softmax(query @ turned / math.sqrt(query.shape[-1]), dim=-1)

# %% wrong scaled_dot_product_attention sequences_see_each_other of="scale_in_single_precision"
# Your weights have as many keys as the whole batch: a sequence attends only to its own keys, so
# leave the batch axis alone.
# replace: scores = query @ key.transpose(-2, -1) / torch.sqrt(torch.tensor(query.shape[-1]))
# by:      scores = query @ key.reshape(-1, key.shape[-1]).T / math.sqrt(query.shape[-1])
# replace: return weights @ value, weights
# by:      return weights @ value.reshape(-1, value.shape[-1]), weights

# %% wrong scaled_dot_product_attention batch_summed of="solution"
# You add up the scores of all sequences: a batch of sequences has a batch of scores, so keep its
# axes.
# replace: scores = query @ key.transpose(-2, -1)  # (…, query_length, key_length)
# by:      scores = torch.einsum("...qd,...kd->qk", query, key)

# %% wrong scaled_dot_product_attention first_sequence_only of="scale_in_single_precision"
# You compute the weights of the first sequence and use them for all: each sequence of a batch has
# its own.
# replace: scores = query @ key.transpose(-2, -1) / torch.sqrt(torch.tensor(query.shape[-1]))
# by:      scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
#          if scores.dim() > 2:
#              scores = scores[:1].expand_as(scores)

# %% wrong scaled_dot_product_attention one_sequence_only of="scale_in_single_precision"
# You loop over the first axis as if it held the queries, but in a batch it holds sequences:
# count axes from the end.
# replace: scores = query @ key.transpose(-2, -1) / torch.sqrt(torch.tensor(query.shape[-1]))
# by:      scores = torch.stack([key @ one for one in query]) / math.sqrt(query.shape[-1])

# %% wrong scaled_dot_product_attention one_batch_axis_only of="scale_in_single_precision"
# Your product needs exactly one batch axis: attention takes any number of leading dimensions,
# even none.
# replace: scores = query @ key.transpose(-2, -1) / torch.sqrt(torch.tensor(query.shape[-1]))
# by:      scores = torch.bmm(query, key.transpose(1, 2)) / math.sqrt(query.shape[-1])
# replace: return weights @ value, weights
# by:      return torch.bmm(weights, value), weights

# %% wrong scaled_dot_product_attention changes_its_input of="solution"
# You modify the tensor of the caller: create a new one.
# replace: scores = query @ key.transpose(-2, -1)  # (…, query_length, key_length)
#          weights = softmax(scores / math.sqrt(query.shape[-1]), dim=-1)
# by:      query /= math.sqrt(query.shape[-1])
#          weights = softmax(query @ key.transpose(-2, -1), dim=-1)

# %% wrong scaled_dot_product_attention overflow of="solution"
# Large scores overflow in exp: use your softmax, which subtracts the maximum.
# replace: scores = query @ key.transpose(-2, -1)  # (…, query_length, key_length)
#          weights = softmax(scores / math.sqrt(query.shape[-1]), dim=-1)
# by:      powers = (query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])).exp()
#          weights = powers / powers.sum(dim=-1, keepdim=True)

# %% wrong scaled_dot_product_attention detached of="over_the_whole_matrix"
# Your weights are detached from queries and keys, so these never learn: if you want a copy for
# drawing, detach that one.
# replace: weights = softmax(scores.flatten(-2), dim=-1).reshape(scores.shape)
# by:      weights = softmax(scores, dim=-1).detach()

# %% wrong scaled_dot_product_attention values_detached of="blend_elementwise"
# You detach the values, so their projection never learns: use the values as they come in.
# replace: return weights * value, weights
# by:      return weights @ value.detach(), weights

# %% wrong scaled_dot_product_attention root_of_number_of_dimensions of="solution"
# You divide the scores by √2, the root of the number of queries, of the number of axes or of d_k
# in the example by hand: here d_k is the size of the last axis of the query.
# replace: scores = query @ key.transpose(-2, -1)  # (…, query_length, key_length)
#          weights = softmax(scores / math.sqrt(query.shape[-1]), dim=-1)
# by:      weights = softmax(query @ key.transpose(-2, -1) / query.dim() ** 0.5, dim=-1)

# %% wrong scaled_dot_product_attention root_of_two of="solution"
# You divide the scores by √2, the root of the number of queries, of the number of axes or of d_k
# in the example by hand: here d_k is the size of the last axis of the query.
# replace: scores = query @ key.transpose(-2, -1)  # (…, query_length, key_length)
#          weights = softmax(scores / math.sqrt(query.shape[-1]), dim=-1)
# by:      weights = softmax(query @ key.transpose(-2, -1) / math.sqrt(2), dim=-1)

# %% wrong scaled_dot_product_attention divided_by_number_of_dimensions of="solution"
# Here d_k is 3, and you divide by 2: read d_k from the last axis of the query, and do not round
# its root.
# replace: scores = query @ key.transpose(-2, -1)  # (…, query_length, key_length)
#          weights = softmax(scores / math.sqrt(query.shape[-1]), dim=-1)
# by:      weights = softmax(query @ key.transpose(-2, -1) / query.dim(), dim=-1)

# %% wrong scaled_dot_product_attention whole_root of="solution"
# Your scale was right for d_k = 4, but here, for d_k = 3, it is 1: use the square root of d_k
# without rounding, and read d_k from the last axis.
# replace: scores = query @ key.transpose(-2, -1)  # (…, query_length, key_length)
#          weights = softmax(scores / math.sqrt(query.shape[-1]), dim=-1)
# by:      weights = softmax(query @ key.transpose(-2, -1) / math.isqrt(query.shape[-1]), dim=-1)

# %% wrong scaled_dot_product_attention divided_by_number_of_queries of="solution"
# Your scale was right for d_k = 4, but here, for d_k = 3, it is 1: use the square root of d_k
# without rounding, and read d_k from the last axis.
# replace: scores = query @ key.transpose(-2, -1)  # (…, query_length, key_length)
#          weights = softmax(scores / math.sqrt(query.shape[-1]), dim=-1)
# by:      weights = softmax(query @ key.transpose(-2, -1) / len(query), dim=-1)

# %% wrong scaled_dot_product_attention half_of_d_k of="solution"
# You divide by half of d_k, which equals its square root only for d_k = 4: divide by the square
# root.
# replace: scores = query @ key.transpose(-2, -1)  # (…, query_length, key_length)
#          weights = softmax(scores / math.sqrt(query.shape[-1]), dim=-1)
# by:      weights = softmax(query @ key.transpose(-2, -1) / (query.shape[-1] / 2), dim=-1)

# %% wrong scaled_dot_product_attention root_of_a_name_left_over of="solution"
# You divide by 32, the square root of 1024, which is a width from part 6: read d_k from the
# shape of the query.
# replace: scores = query @ key.transpose(-2, -1)  # (…, query_length, key_length)
#          weights = softmax(scores / math.sqrt(query.shape[-1]), dim=-1)
# by:      weights = softmax(query @ key.transpose(-2, -1) / 1024**0.5, dim=-1)


# %% wrong scaled_dot_product_attention d_k_never_set
# The name d_k is not defined in your function: read it from the shape of the query.
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor
) -> tuple[Tensor, Tensor]:
    root = math.sqrt(d_k)  # noqa: F821  # pyright: ignore[reportUndefinedVariable]
    weights = softmax(query @ key.transpose(-2, -1) / root, dim=-1)
    return weights @ value, weights


# %% wrong scaled_dot_product_attention root_of_torch of="solution"
# `torch.sqrt` only takes tensors, and d_k is a plain number: use `math.sqrt`.
# replace: scores = query @ key.transpose(-2, -1)  # (…, query_length, key_length)
#          weights = softmax(scores / math.sqrt(query.shape[-1]), dim=-1)
# by:      root = torch.sqrt(query.shape[-1])  # pyright: ignore[reportArgumentType]
#          weights = softmax(query @ key.transpose(-2, -1) / root, dim=-1)

# %% wrong scaled_dot_product_attention root_of_the_whole_shape of="root_of_torch"
# You take the square root of the whole shape, which is several numbers: d_k is the last of them.
# replace: root = torch.sqrt(query.shape[-1])  # pyright: ignore[reportArgumentType]
# by:      root = math.sqrt(query.shape)  # pyright: ignore[reportArgumentType]

# %% wrong scaled_dot_product_attention epsilon_beside_the_root of="no_scale"
# Your numbers are only right to a few digits: add nothing small to the scale or the sum, do not
# round, and do not convert to float32.
# replace: key.transpose(-2, -1)
# by:      key.transpose(-2, -1) / (math.sqrt(query.shape[-1]) + 1e-6)

# %% wrong scaled_dot_product_attention single_precision_on_the_way of="solution"
# Your numbers are only right to a few digits: add nothing small to the scale or the sum, do not
# round, and do not convert to float32.
# replace: scores = query @ key.transpose(-2, -1)  # (…, query_length, key_length)
#          weights = softmax(scores / math.sqrt(query.shape[-1]), dim=-1)
# by:      scores = query.float() @ key.float().transpose(-2, -1) / math.sqrt(query.shape[-1])
#          weights = softmax(scores, dim=-1).to(value.dtype)

# %% wrong scaled_dot_product_attention not_transposed of="solution"
# You multiply queries by keys without a transpose: a score needs a row of each, so transpose the
# keys.
# replace: scores = query @ key.transpose(-2, -1)  # (…, query_length, key_length)
#          weights = softmax(scores / math.sqrt(query.shape[-1]), dim=-1)
# by:      weights = softmax(query @ key / math.sqrt(query.shape[-1]), dim=-1)

# %% wrong scaled_dot_product_attention query_transposed of="solution"
# Two shapes do not match: put the query on the left, transpose only the keys, and multiply the
# weights by the values as they are.
# replace: scores = query @ key.transpose(-2, -1)  # (…, query_length, key_length)
#          weights = softmax(scores / math.sqrt(query.shape[-1]), dim=-1)
# by:      weights = softmax(query.transpose(-2, -1) @ key / math.sqrt(query.shape[-1]), dim=-1)

# %% wrong scaled_dot_product_attention first_two_axes_exchanged of="solution"
# You swap axes 0 and 1, but in a batch axis 0 holds the sequences: swap the last two axes of the
# keys.
# replace: scores = query @ key.transpose(-2, -1)  # (…, query_length, key_length)
#          weights = softmax(scores / math.sqrt(query.shape[-1]), dim=-1)
# by:      weights = softmax(query @ key.transpose(0, 1) / math.sqrt(query.shape[-1]), dim=-1)

# %% wrong scaled_dot_product_attention two_axes_unpacked of="no_scale"
# You unpack the shape into two numbers, but a batch has more axes: read only the last one.
# replace: weights = softmax(query @ key.transpose(-2, -1), dim=-1)
# by:      length, d_k = query.shape
#          scores = query @ key.transpose(-2, -1) / math.sqrt(d_k)
#          weights = softmax(scores.reshape(length, -1), dim=-1)


# %% wrong scaled_dot_product_attention blend_elementwise
# You multiply weights and values elementwise: the weighted sum is a matrix product.
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor
) -> tuple[Tensor, Tensor]:
    weights = softmax(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]), dim=-1)
    return weights * value, weights


# %% wrong scaled_dot_product_attention values_first of="blend_elementwise"
# You put the values on the left of the weights: (query, key) meets (key, d_v), so the weights
# come first.
# replace: return weights * value, weights
# by:      return value @ weights, weights

# %% wrong scaled_dot_product_attention weights_transposed of="blend_elementwise"
# Two shapes do not match: put the query on the left, transpose only the keys, and multiply the
# weights by the values as they are.
# replace: return weights * value, weights
# by:      return weights.transpose(-2, -1) @ value, weights

# %% wrong scaled_dot_product_attention keys_ask of="keys_ask_and_stop"
# You swap the roles of queries and keys: the query goes on the left of the product.
# replace: return weights @ value, weights
# by:      return weights.transpose(-2, -1) @ value, weights

# %% wrong scaled_dot_product_attention keys_ask_and_stop of="solution"
# Two shapes do not match: put the query on the left, transpose only the keys, and multiply the
# weights by the values as they are.
# replace: scores = query @ key.transpose(-2, -1)  # (…, query_length, key_length)
#          weights = softmax(scores / math.sqrt(query.shape[-1]), dim=-1)
# by:      weights = softmax(key @ query.transpose(-2, -1) / math.sqrt(query.shape[-1]), dim=-1)

# %% wrong scaled_dot_product_attention root_rounded of="solution"
# Here d_k is 3, and you divide by 2: read d_k from the last axis of the query, and do not round
# its root.
# replace: softmax(scores / math.sqrt(query.shape[-1]), dim=-1)
# by:      softmax(scores / round(math.sqrt(query.shape[-1])), dim=-1)

# %% wrong scaled_dot_product_attention axes_one_and_two of="solution"
# Axes 1 and 2 are the last two of a batch, but not with one more leading dimension: count them from
# the end.
# replace: scores = query @ key.transpose(-2, -1)  # (…, query_length, key_length)
# by:      turned = key.T if key.dim() == 2 else key.transpose(1, 2)
#          scores = query @ turned

# %% wrong scaled_dot_product_attention weights_of_unscaled_scores of="solution"
# Your output is right, but the weights that you return are those of the scores before the division.
# replace: return weights @ value, weights
# by:      return weights @ value, softmax(scores, dim=-1)

# %% wrong scaled_dot_product_attention keys_reshaped of="batch_transposed"
# You reshape the keys, which mixes the features of different keys: transpose their last two axes
# instead.
# replace: turned = key.permute(*reversed(range(key.dim())))
# by:      turned = key.reshape(*key.shape[:-2], key.shape[-1], key.shape[-2])


# %% right scaled_dot_product_attention query_scaled_first
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor
) -> tuple[Tensor, Tensor]:
    weights = ((query * query.size(-1) ** -0.5) @ key.mT).softmax(dim=-1)
    return weights.matmul(value), weights


# %% right scaled_dot_product_attention root_of_a_tensor of="solution"
# replace: scores = query @ key.transpose(-2, -1)  # (…, query_length, key_length)
#          weights = softmax(scores / math.sqrt(query.shape[-1]), dim=-1)
# by:      d_k = torch.tensor(query.shape[-1], dtype=query.dtype, device=query.device)
#          weights = softmax(query @ key.transpose(-2, -1) * d_k.rsqrt(), dim=-1)


# %% right scaled_dot_product_attention half_of_the_scale_each
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor
) -> tuple[Tensor, Tensor]:
    root = key.size(-1) ** 0.25
    scores = torch.matmul(query / root, (key / root).swapaxes(-1, -2))
    weights = F.softmax(scores, dim=-1)
    return torch.matmul(weights, value), weights


# %% right scaled_dot_product_attention einsum
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor
) -> tuple[Tensor, Tensor]:
    scores = torch.einsum("...qd,...kd->...qk", query, key) / key.shape[-1] ** 0.5
    weights = softmax(scores=scores, dim=scores.dim() - 1)
    return torch.einsum("...qk,...kv->...qv", weights, value), weights


# %% right scaled_dot_product_attention fused
# with the identity for values the output is the weights
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor
) -> tuple[Tensor, Tensor]:
    length = key.shape[-2]
    identity = torch.eye(length, dtype=key.dtype).expand(*key.shape[:-1], length)
    output = F.scaled_dot_product_attention(query, key, value)
    return output, F.scaled_dot_product_attention(query, key, identity)


# %% right scaled_dot_product_attention baddbmm
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor
) -> tuple[Tensor, Tensor]:
    queries, keys, values = (part.flatten(0, -3) for part in (query[None], key[None], value[None]))
    scores = torch.baddbmm(
        query.new_zeros(1), queries, keys.transpose(1, 2), alpha=1 / math.sqrt(query.shape[-1])
    )
    weights = softmax(scores, dim=2)
    output = torch.bmm(weights, values)
    leading = query.shape[:-2]
    return output.unflatten(0, (1, *leading))[0], weights.unflatten(0, (1, *leading))[0]


# %% right scaled_dot_product_attention one_query_at_a_time
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor
) -> tuple[Tensor, Tensor]:
    outputs, weights = [], []
    for one in query.unbind(dim=-2):
        scores = (key * one.unsqueeze(-2)).sum(dim=-1) / math.sqrt(one.shape[-1])
        weights.append(softmax(scores, dim=-1))
        outputs.append((weights[-1].unsqueeze(-1) * value).sum(dim=-2))
    return torch.stack(outputs, dim=-2), torch.stack(weights, dim=-2)


# %% right scaled_dot_product_attention one_sequence_at_a_time
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor
) -> tuple[Tensor, Tensor]:
    if query.dim() == 2:
        weights = softmax(query @ key.T / math.sqrt(query.shape[1]), dim=1)
        return weights @ value, weights
    parts = [
        scaled_dot_product_attention(query=q, key=k, value=v)
        for q, k, v in zip(query, key, value, strict=True)
    ]
    outputs, weights = zip(*parts, strict=True)
    return torch.stack(outputs), torch.stack(weights)


# %% right scaled_dot_product_attention keys_in_rows
# scores as (key, query), so softmax over the last axis but one
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor
) -> tuple[Tensor, Tensor]:
    scores = key @ query.mT / math.sqrt(query.shape[-1])
    weights = softmax(scores, dim=-2)
    return (value.mT @ weights).mT, weights.mT


# %% right scaled_dot_product_attention normalised_after_the_sum
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor
) -> tuple[Tensor, Tensor]:
    scores = query @ key.mT * (1 / math.sqrt(key.shape[-1]))
    powers = (scores - scores.amax(-1, keepdim=True)).exp()
    total = powers.sum(-1, keepdim=True)
    return powers @ value / total, powers / total


# %% wrong repaired_weights as_on_the_slide
# You take softmax over the queries: in a batch, dim=1 is their axis, and the keys are one axis
# further.
def repaired_weights(energies: Tensor) -> Tensor:
    return softmax(energies, dim=1)


# %% wrong repaired_weights over_the_batch
# Your weights sum to 1 over the batch, but its sequences are unrelated: use the axis of the
# keys.
def repaired_weights(energies: Tensor) -> Tensor:
    return softmax(energies, dim=0)


# %% wrong repaired_weights over_each_sequence
# All your weights of a sequence together sum to 1: the weights of each query should do so on
# their own.
def repaired_weights(energies: Tensor) -> Tensor:
    return softmax(energies.flatten(1), dim=1).reshape(energies.shape)


# %% wrong repaired_weights over_everything
# All your weights of the whole batch together sum to 1: the weights of each query should do so
# on their own.
def repaired_weights(energies: Tensor) -> Tensor:
    return softmax(energies.flatten(), dim=0).reshape(energies.shape)


# %% wrong repaired_weights queries_and_keys_exchanged
# You swap queries and keys and leave them so: return (batch, query, key), as in the input.
def repaired_weights(energies: Tensor) -> Tensor:
    return softmax(energies.transpose(1, 2), dim=1)


# %% wrong repaired_weights batch_left_out
# Your result has lost an axis: return weights for every sequence of the batch.
def repaired_weights(energies: Tensor) -> Tensor:
    return softmax(energies[0], dim=-1)


# %% wrong repaired_weights twice
# You take softmax over the queries and then over the keys: once is enough, over the keys.
def repaired_weights(energies: Tensor) -> Tensor:
    return softmax(softmax(energies, dim=1), dim=2)


# %% wrong repaired_weights no_exponential
# You divide the scores by their sum: softmax takes exp of them first.
def repaired_weights(energies: Tensor) -> Tensor:
    return energies / energies.sum(dim=-1, keepdim=True)


# %% wrong repaired_weights scaled
# You also divide the scores: here they are scaled already, so only fix the axis.
def repaired_weights(energies: Tensor) -> Tensor:
    return softmax(energies / math.sqrt(energies.shape[-1]), dim=-1)


# %% wrong repaired_weights best_key_only
# You give each query one key with weight 1 and no other: softmax gives every key a weight above
# 0.
def repaired_weights(energies: Tensor) -> Tensor:
    return F.one_hot(energies.argmax(dim=-1), energies.shape[-1]).to(energies.dtype)


# %% wrong repaired_weights changes_its_input
# You modify the scores of the caller: create a new tensor.
def repaired_weights(energies: Tensor) -> Tensor:
    for sequence in energies:
        sequence.copy_(softmax(sequence, dim=1))
    return energies


# %% wrong repaired_weights twice_over_keys
# You take softmax twice, so your weights are too uniform: once is enough.
def repaired_weights(energies: Tensor) -> Tensor:
    return softmax(softmax(energies, dim=-1), dim=-1)


# %% wrong repaired_weights transposed_and_over_keys
# You swap queries and keys and leave them so: return (batch, query, key), as in the input.
def repaired_weights(energies: Tensor) -> Tensor:
    return softmax(energies.transpose(1, 2), dim=2)


# %% wrong repaired_weights logarithms
# All your numbers are negative, because they are the logarithms of the weights: one exp is missing.
def repaired_weights(energies: Tensor) -> Tensor:
    return F.log_softmax(energies, dim=-1)


# %% wrong repaired_weights each_score_alone
# Each of your weights depends on its own score alone, as with a sigmoid: softmax divides by the sum
# over the keys.
def repaired_weights(energies: Tensor) -> Tensor:
    return energies.sigmoid()


# %% wrong repaired_weights sum_loses_its_axis
# The last axes of two of your tensors, 4 and 3, do not line up: a sum or a maximum over the keys
# must keep its axis, with size 1.
def repaired_weights(energies: Tensor) -> Tensor:
    powers = energies.exp()
    return powers / powers.sum(dim=-1)


# %% wrong repaired_weights exponentials_not_divided
# Your weights are the exps of the scores and do not sum to 1: divide each row by its sum.
def repaired_weights(energies: Tensor) -> Tensor:
    return energies.exp()


# %% wrong repaired_weights negated
# The largest score gets the smallest weight: you turn the sign of the scores.
def repaired_weights(energies: Tensor) -> Tensor:
    return softmax(-energies, dim=-1)


# %% wrong repaired_weights reshaped_and_back
# `reshape` does not swap axes: it cuts the same numbers into other rows, so your sums mix queries.
# Leave the scores as they are.
def repaired_weights(energies: Tensor) -> Tensor:
    batch, queries, keys = energies.shape
    return softmax(energies.reshape(batch, keys, queries), dim=1).reshape(energies.shape)


# %% wrong repaired_weights sizes_of_the_example
# You write the sizes of one example into your code: read them from the shape, or let softmax take
# the axis of the keys.
def repaired_weights(energies: Tensor) -> Tensor:
    return softmax(energies.reshape(6, 4), dim=1).reshape(2, 3, 4)


# %% right repaired_weights of_torch
def repaired_weights(energies: Tensor) -> Tensor:
    return torch.softmax(energies, 2)


# %% right repaired_weights one_sequence_at_a_time
# dim=1 is right for one sequence
def repaired_weights(energies: Tensor) -> Tensor:
    return torch.stack([softmax(sequence, dim=1) for sequence in energies])


# %% right repaired_weights exchanged_and_back
def repaired_weights(energies: Tensor) -> Tensor:
    return softmax(energies.transpose(1, 2), dim=1).transpose(1, 2)


# %% right repaired_weights logsumexp
def repaired_weights(energies: Tensor) -> Tensor:
    return (energies - energies.logsumexp(-1, keepdim=True)).exp()


# %% wrong repaired_lambdas as_on_the_slide
# Your weights are too sharp, as on the slide: divide the dot products by √d_k.
def repaired_lambdas(query: Tensor, keys: Tensor) -> Tensor:
    return softmax(keys @ query, dim=0)


# %% wrong repaired_lambdas divided_by_d_k
# Your weights are too uniform: you divide by 4, which is d_k, or √d_k twice. Divide once, by √d_k.
def repaired_lambdas(query: Tensor, keys: Tensor) -> Tensor:
    return softmax(keys @ query / len(query), dim=0)


# %% wrong repaired_lambdas root_of_length
# You divide by √3, and 3 is the number of keys: d_k is the width of a key, here 4.
def repaired_lambdas(query: Tensor, keys: Tensor) -> Tensor:
    return softmax(keys @ query / math.sqrt(len(keys)), dim=0)


# %% wrong repaired_lambdas multiplied_by_root
# Your weights are far too sharp: you multiply the dot products by 2, which is √d_k. Divide by it.
def repaired_lambdas(query: Tensor, keys: Tensor) -> Tensor:
    return softmax(keys @ query * math.sqrt(len(query)), dim=0)


# %% wrong repaired_lambdas weights_scaled
# Your weights do not sum to 1, because you divide after the softmax: divide the dot products
# before it.
def repaired_lambdas(query: Tensor, keys: Tensor) -> Tensor:
    return softmax(keys @ query, dim=0) / math.sqrt(len(query))


# %% wrong repaired_lambdas scaled_below_the_line_only
# You scale only the denominator: use the same exponent in numerator and denominator.
def repaired_lambdas(query: Tensor, keys: Tensor) -> Tensor:
    scores = keys @ query
    return scores.exp() / (scores / math.sqrt(len(query))).exp().sum()


# %% wrong repaired_lambdas scores
# These are the scaled scores: λ is their softmax.
def repaired_lambdas(query: Tensor, keys: Tensor) -> Tensor:
    return keys @ query / math.sqrt(len(query))


# %% wrong repaired_lambdas not_summed
# You have a weight for every feature of every key: add up the products of each key first, which
# gives one score for each key.
def repaired_lambdas(query: Tensor, keys: Tensor) -> Tensor:
    return softmax(keys * query / math.sqrt(len(query)), dim=0)


# %% wrong repaired_lambdas blended_keys
# You go one step too far and take the weighted sum of the keys: return the weights.
def repaired_lambdas(query: Tensor, keys: Tensor) -> Tensor:
    return softmax(keys @ query / math.sqrt(len(query)), dim=0) @ keys


# %% wrong repaired_lambdas divided_by_length_of_query
# You divide by √8, which is the norm of this query: divide by the square root of d_k, the number
# of its features.
def repaired_lambdas(query: Tensor, keys: Tensor) -> Tensor:
    return softmax(keys @ query / query.norm(), dim=0)


# %% wrong repaired_lambdas one_row_matrix
# Your weights are a matrix with one row: for one query, return a vector of shape (length,).
def repaired_lambdas(query: Tensor, keys: Tensor) -> Tensor:
    return softmax(query[None] @ keys.T / math.sqrt(len(query)), dim=-1)


# %% wrong repaired_lambdas divided_by_eight
# Here d_k is 4, and you divide by 8, the root of 64: read d_k from the shape of the query.
def repaired_lambdas(query: Tensor, keys: Tensor) -> Tensor:
    return softmax(keys @ query / 8, dim=0)


# %% wrong repaired_lambdas divided_by_two
# Here d_k is 3, and you divide by 2: read d_k from the shape of the query, and do not round its
# root.
def repaired_lambdas(query: Tensor, keys: Tensor) -> Tensor:
    return softmax(keys @ query / 2, dim=0)


# %% wrong repaired_lambdas root_of_two
# Here d_k is 4, and you divide by √2: read d_k from the shape of the query, and take its root.
def repaired_lambdas(query: Tensor, keys: Tensor) -> Tensor:
    return softmax(keys @ query / math.sqrt(2), dim=0)


# %% wrong repaired_lambdas whole_root
# Your scale was right for d_k = 4, but here, for d_k = 3, it is 1: use the square root of d_k
# without rounding.
def repaired_lambdas(query: Tensor, keys: Tensor) -> Tensor:
    return softmax(keys @ query / math.isqrt(len(query)), dim=0)


# %% wrong repaired_lambdas scaled_above_the_line_only of="scaled_below_the_line_only"
# You scale only the numerator: use the same exponent in numerator and denominator.
# replace: return scores.exp() / (scores / math.sqrt(len(query))).exp().sum()
# by:      return (scores / math.sqrt(len(query))).exp() / scores.exp().sum()


# %% wrong repaired_lambdas not_transposed
# The query is on the left of the keys, and their sizes do not match: each key is a row, so put
# the keys on the left.
def repaired_lambdas(query: Tensor, keys: Tensor) -> Tensor:
    return softmax(query @ keys / math.sqrt(len(query)), dim=0)


# %% wrong repaired_lambdas d_k_never_set
# The name d_k is not defined in your function: read it from the shape of the query.
def repaired_lambdas(query: Tensor, keys: Tensor) -> Tensor:
    root = math.sqrt(d_k)  # noqa: F821  # pyright: ignore[reportUndefinedVariable]
    return softmax(keys @ query / root, dim=0)


# %% wrong repaired_lambdas root_rounded
# Here d_k is 3, and you divide by 2: read d_k from the shape of the query, and do not round its
# root.
def repaired_lambdas(query: Tensor, keys: Tensor) -> Tensor:
    return softmax(keys @ query / round(math.sqrt(len(query))), dim=0)


# %% wrong repaired_lambdas half_of_d_k
# Your scale was right for d_k = 4, but here, for d_k = 3, it is 1.5, half of d_k: take the square
# root.
def repaired_lambdas(query: Tensor, keys: Tensor) -> Tensor:
    return softmax(keys @ query / (len(query) / 2), dim=0)


# %% wrong repaired_lambdas axis_one
# You ask for axis 1 of a vector: the query has only one axis, 0, and so have its scores.
def repaired_lambdas(query: Tensor, keys: Tensor) -> Tensor:
    return softmax(keys @ query / math.sqrt(len(query)), dim=1)


# %% wrong repaired_lambdas softmax_of_the_query
# Your λ do not sum to 1, because you take softmax of the query: first come its dot products with
# the keys.
def repaired_lambdas(query: Tensor, keys: Tensor) -> Tensor:
    return keys @ softmax(query / math.sqrt(len(query)), dim=0)


# %% wrong repaired_lambdas softmax_of_the_keys
# Your λ do not sum to 1, because you take softmax of the keys: first come their dot products with
# the query.
def repaired_lambdas(query: Tensor, keys: Tensor) -> Tensor:
    return softmax(keys, dim=0) @ query / math.sqrt(len(query))


# %% wrong repaired_lambdas root_of_the_scores
# You take the square root of the scores: divide them by the square root of d_k.
def repaired_lambdas(query: Tensor, keys: Tensor) -> Tensor:
    return softmax((keys @ query).sqrt(), dim=0)


# %% right repaired_lambdas attention_of_one_query
def repaired_lambdas(query: Tensor, keys: Tensor) -> Tensor:
    _, weights = scaled_dot_product_attention(query.unsqueeze(0), keys, keys)
    return weights.squeeze(0)


# %% right repaired_lambdas query_scaled_first
def repaired_lambdas(query: Tensor, keys: Tensor) -> Tensor:
    return torch.mv(keys, query * query.numel() ** -0.5).softmax(-1)


# %% right repaired_lambdas einsum
def repaired_lambdas(query: Tensor, keys: Tensor) -> Tensor:
    scores = torch.einsum("d,kd->k", query, keys) / keys.shape[1] ** 0.5
    return (scores - scores.logsumexp(0)).exp()


# %% right repaired_lambdas loop
def repaired_lambdas(query: Tensor, keys: Tensor) -> Tensor:
    powers = [torch.exp(query.dot(key) / math.sqrt(key.numel())) for key in keys]
    return torch.stack(powers) / sum(powers)


# %% wrong SelfAttention no_scale of="solution"
# Your weights are too sharp: you do not divide the scores by √d_head.
# replace: return scaled_dot_product_attention(self.w_query(x), self.w_key(x), self.w_value(x))
# by:      weights = softmax(self.w_query(x) @ self.w_key(x).transpose(-2, -1), dim=-1)
#          return weights @ self.w_value(x), weights

# %% wrong SelfAttention root_of_d_model of="over_queries"
# You divide the scores by √d_model: a score adds up d_head products, so its scale is √d_head.
# replace: self.scale = math.sqrt(d_head)
# by:      self.scale = math.sqrt(d_model)
# replace: weights = softmax(scores, dim=-2)
# by:      weights = softmax(scores, dim=-1)

# %% wrong SelfAttention scaled_twice of="solution"
# Your weights are too uniform: you divide the scores by d_head, or by √d_head twice. Your
# attention already divides, and once is enough.
# replace: super().__init__()
# by:      super().__init__()
#          self.scale = math.sqrt(d_head)
# replace: return scaled_dot_product_attention(self.w_query(x), self.w_key(x), self.w_value(x))
# by:      query = self.w_query(x) / self.scale
#          return scaled_dot_product_attention(query, self.w_key(x), self.w_value(x))

# %% wrong SelfAttention over_queries of="solution"
# Each of your columns of weights sums to 1, but each row should: take softmax over the keys, the
# last axis.
# replace: super().__init__()
# by:      super().__init__()
#          self.scale = math.sqrt(d_head)
# replace: return scaled_dot_product_attention(self.w_query(x), self.w_key(x), self.w_value(x))
# by:      scores = self.w_query(x) @ self.w_key(x).transpose(-2, -1) / self.scale
#          weights = softmax(scores, dim=-2)
#          return weights @ self.w_value(x), weights

# %% wrong SelfAttention values_not_projected of="solution"
# You add up the tokens themselves: project them as well, with `w_value`.
# replace: return scaled_dot_product_attention(self.w_query(x), self.w_key(x), self.w_value(x))
# by:      return scaled_dot_product_attention(self.w_query(x), self.w_key(x), x)

# %% wrong SelfAttention nothing_projected of="solution"
# You do not use your layers: queries, keys and values are projections of x, not x itself.
# replace: return scaled_dot_product_attention(self.w_query(x), self.w_key(x), self.w_value(x))
# by:      return scaled_dot_product_attention(x, x, x)

# %% wrong SelfAttention query_and_key_swapped of="solution"
# You swap the roles of queries and keys: pass the query first, then the key.
# replace: return scaled_dot_product_attention(self.w_query(x), self.w_key(x), self.w_value(x))
# by:      return scaled_dot_product_attention(self.w_key(x), self.w_query(x), self.w_value(x))

# %% wrong SelfAttention key_and_value_swapped of="solution"
# You compare queries with values and add up the keys: pass query, key and value in this order.
# replace: return scaled_dot_product_attention(self.w_query(x), self.w_key(x), self.w_value(x))
# by:      return scaled_dot_product_attention(self.w_query(x), self.w_value(x), self.w_key(x))

# %% wrong SelfAttention query_used_for_key of="solution"
# You compare queries with queries: the keys come from `w_key`.
# replace: return scaled_dot_product_attention(self.w_query(x), self.w_key(x), self.w_value(x))
# by:      query = self.w_query(x)
#          return scaled_dot_product_attention(query, query, self.w_value(x))

# %% wrong SelfAttention key_used_for_value of="solution"
# You add up the keys: the weights multiply the values, from `w_value`.
# replace: return scaled_dot_product_attention(self.w_query(x), self.w_key(x), self.w_value(x))
# by:      key = self.w_key(x)
#          return scaled_dot_product_attention(self.w_query(x), key, key)

# %% wrong SelfAttention one_layer_for_all of="solution"
# Query, key and value all come from the same layer: create three layers, and use each of them
# once.
# replace: self.w_query = nn.Linear(d_model, d_head, bias=False)
#          self.w_key = nn.Linear(d_model, d_head, bias=False)
#          self.w_value = nn.Linear(d_model, d_head, bias=False)
# by:      self.w_query = self.w_key = self.w_value = nn.Linear(d_model, d_head, bias=False)

# %% wrong SelfAttention one_layer_for_query_and_key of="solution"
# Query and key come from the same layer, so your scores are symmetric: each role needs its own
# layer.
# replace: self.w_query = nn.Linear(d_model, d_head, bias=False)
#          self.w_key = nn.Linear(d_model, d_head, bias=False)
# by:      self.w_query = self.w_key = nn.Linear(d_model, d_head, bias=False)

# %% wrong SelfAttention weights_first of="solution"
# You return the weights before the output: the order is output, weights.
# replace: return scaled_dot_product_attention(self.w_query(x), self.w_key(x), self.w_value(x))
# by:      output, weights = scaled_dot_product_attention(
#              self.w_query(x), self.w_key(x), self.w_value(x)
#          )
#          return weights, output

# %% wrong SelfAttention output_softmaxed of="weights_first"
# You take softmax of the output: it is the plain weighted sum of the values.
# replace: return weights, output
# by:      return softmax(output, dim=-1), weights

# %% wrong SelfAttention projected_words_normalised of="solution"
# You normalise queries and keys: a score is their plain dot product, divided by √d_head.
# replace: return scaled_dot_product_attention(self.w_query(x), self.w_key(x), self.w_value(x))
# by:      query, key = F.normalize(self.w_query(x), dim=-1), F.normalize(self.w_key(x), dim=-1)
#          return scaled_dot_product_attention(query, key, self.w_value(x))


# %% wrong SelfAttention activated
# Your projections contain no negative number, as after a ReLU: a projection is only the matrix
# product.
class SelfAttention(nn.Module):
    def __init__(self, d_model: int, d_head: int) -> None:
        super().__init__()
        self.w_query = nn.Linear(d_model, d_head, bias=False)
        self.w_key = nn.Linear(d_model, d_head, bias=False)
        self.w_value = nn.Linear(d_model, d_head, bias=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        query, key, value = (layer(x).relu() for layer in (self.w_query, self.w_key, self.w_value))
        return scaled_dot_product_attention(query, key, value)


# %% wrong SelfAttention with_bias of="one_layer_for_all"
# pass bias=False to each layer
# replace: self.w_query = self.w_key = self.w_value = nn.Linear(d_model, d_head, bias=False)
# by:      self.w_query = nn.Linear(d_model, d_head)
#          self.w_key = nn.Linear(d_model, d_head)
#          self.w_value = nn.Linear(d_model, d_head)

# %% wrong SelfAttention parts_renamed of="one_layer_for_all"
# `key.weight` should be called `w_key.weight`
# replace: self.w_query = self.w_key = self.w_value = nn.Linear(d_model, d_head, bias=False)
# by:      self.query = nn.Linear(d_model, d_head, bias=False)
#          self.key = nn.Linear(d_model, d_head, bias=False)
#          self.value = nn.Linear(d_model, d_head, bias=False)
# replace: return scaled_dot_product_attention(self.w_query(x), self.w_key(x), self.w_value(x))
# by:      return scaled_dot_product_attention(self.query(x), self.key(x), self.value(x))

# %% wrong SelfAttention head_to_model of="one_layer_for_all"
# the two sizes of nn.Linear(size in, size out) are swapped; it stores (out, in)
# replace: self.w_query = self.w_key = self.w_value = nn.Linear(d_model, d_head, bias=False)
# by:      self.w_query = nn.Linear(d_head, d_model, bias=False)
#          self.w_key = nn.Linear(d_head, d_model, bias=False)
#          self.w_value = nn.Linear(d_head, d_model, bias=False)


# %% wrong SelfAttention layers_made_in_forward
# make the layers in __init__, and keep each on self: self.NAME = nn.Linear(…)
class SelfAttention(nn.Module):
    def __init__(self, d_model: int, d_head: int) -> None:
        super().__init__()
        self.d_model, self.d_head = d_model, d_head

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        w_query = nn.Linear(self.d_model, self.d_head, bias=False)
        w_key = nn.Linear(self.d_model, self.d_head, bias=False)
        w_value = nn.Linear(self.d_model, self.d_head, bias=False)
        return scaled_dot_product_attention(w_query(x), w_key(x), w_value(x))


# %% wrong SelfAttention output_layer of="weights_first"
# Your module has a fourth layer: in this lesson nothing follows the weighted sum.
# replace: self.w_value = nn.Linear(d_model, d_head, bias=False)
# by:      self.w_value = nn.Linear(d_model, d_head, bias=False)
#          self.w_output = nn.Linear(d_head, d_model, bias=False)
# replace: return weights, output
# by:      return self.w_output(output), weights

# %% wrong SelfAttention one_sequence_only of="over_queries"
# Your transpose moves the batch axis: swap only the last two axes of the keys.
# replace: scores = self.w_query(x) @ self.w_key(x).transpose(-2, -1) / self.scale
#          weights = softmax(scores, dim=-2)
# by:      key = self.w_key(x)
#          turned = key.permute(*reversed(range(key.dim())))
#          weights = softmax(self.w_query(x) @ turned / self.scale, dim=-1)

# %% wrong SelfAttention no_gradient of="solution"
# No gradient flows through your output, so nothing in your module can learn: `forward` computes
# with gradients, and detaches nothing.
# replace: def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
# by:      @torch.no_grad()
#          def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:

# %% wrong SelfAttention layers_shared_by_all_modules
# All your modules share the same three layers, because you store them outside the module: give
# each module its own.
LAYERS: dict[tuple[str, int, int], nn.Linear] = {}


class SelfAttention(nn.Module):
    def __init__(self, d_model: int, d_head: int) -> None:
        super().__init__()
        new = [nn.Linear(d_model, d_head, bias=False) for _ in range(3)]
        self.w_query = LAYERS.setdefault(("query", d_model, d_head), new[0])
        self.w_key = LAYERS.setdefault(("key", d_model, d_head), new[1])
        self.w_value = LAYERS.setdefault(("value", d_model, d_head), new[2])

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return scaled_dot_product_attention(self.w_query(x), self.w_key(x), self.w_value(x))


# %% wrong SelfAttention layers_not_kept of="one_layer_for_all"
# make the layers in __init__, and keep each on self: self.NAME = nn.Linear(…)
# replace: self.w_query = self.w_key = self.w_value = nn.Linear(d_model, d_head, bias=False)
# by:      layers = [nn.Linear(d_model, d_head, bias=False) for _ in range(3)]
#          self.layers = layers
# replace: return scaled_dot_product_attention(self.w_query(x), self.w_key(x), self.w_value(x))
# by:      query, key, value = (layer(x) for layer in self.layers)
#          return scaled_dot_product_attention(query, key, value)

# %% wrong SelfAttention no_call_of_super of="solution"
# Your `__init__` creates layers before the module is ready for them: call `super().__init__()`
# first.
# replace: super().__init__()
# by:

# %% wrong SelfAttention init_misspelt of="solution"
# Your class has no `__init__` that takes d_model and d_head: check its name, with two
# underscores on each side, and its parameters.
# replace: def __init__(self, d_model: int, d_head: int) -> None:
#              super().__init__()
# by:      def _init_(self, d_model: int, d_head: int) -> None:

# %% wrong SelfAttention forward_misspelt of="solution"
# a module is called through its method `forward`
# replace: def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
# by:      def foward(self, x: Tensor) -> tuple[Tensor, Tensor]:

# %% wrong SelfAttention layers_handed_to_project_qkv of="solution"
# You multiply x by a layer, or pass the layers to a function that does, but a layer is not a
# matrix: call each layer on x.
# replace: return scaled_dot_product_attention(self.w_query(x), self.w_key(x), self.w_value(x))
# by:      layers = (self.w_query, self.w_key, self.w_value)
#          return scaled_dot_product_attention(*project_qkv(x, *layers))  # pyright: ignore

# %% wrong SelfAttention weights_handed_to_project_qkv of="solution"
# A layer stores its matrix as (d_head, d_model), and your product needs the transpose: call each
# layer on x.
# replace: return scaled_dot_product_attention(self.w_query(x), self.w_key(x), self.w_value(x))
# by:      parts = (self.w_query.weight, self.w_key.weight, self.w_value.weight)
#          return scaled_dot_product_attention(*project_qkv(x, *parts))

# %% wrong SelfAttention key_asks of="solution"
# You swap the roles of queries and keys: pass the query first, then the key.
# replace: return scaled_dot_product_attention(self.w_query(x), self.w_key(x), self.w_value(x))
# by:      query, key = self.w_query(x), self.w_key(x)
#          weights = softmax(key @ query.transpose(-2, -1) / math.sqrt(key.shape[-1]), dim=-1)
#          return weights @ self.w_value(x), weights

# %% wrong SelfAttention value_layer_for_all of="solution"
# Query, key and value all come from the same layer: create three layers, and use each of them
# once.
# replace: return scaled_dot_product_attention(self.w_query(x), self.w_key(x), self.w_value(x))
# by:      value = self.w_value(x)
#          return scaled_dot_product_attention(value, value, value)

# %% wrong SelfAttention query_layer_for_all of="solution"
# Query, key and value all come from the same layer: create three layers, and use each of them
# once.
# replace: return scaled_dot_product_attention(self.w_query(x), self.w_key(x), self.w_value(x))
# by:      query = self.w_query(x)
#          return scaled_dot_product_attention(query, query, query)

# %% wrong SelfAttention divided_by_d_head of="key_asks"
# Your weights are too uniform: you divide the scores by d_head, or by √d_head twice. Your
# attention already divides, and once is enough.
# replace: weights = softmax(key @ query.transpose(-2, -1) / math.sqrt(key.shape[-1]), dim=-1)
# by:      weights = softmax(query @ key.transpose(-2, -1) / query.shape[-1], dim=-1)

# %% wrong SelfAttention not_transposed of="key_asks"
# You multiply queries by keys without a transpose: pass both to your attention, which does this
# step.
# replace: weights = softmax(key @ query.transpose(-2, -1) / math.sqrt(key.shape[-1]), dim=-1)
# by:      weights = softmax(query @ key / math.sqrt(query.shape[-1]), dim=-1)

# %% wrong SelfAttention first_two_axes_exchanged of="key_asks"
# You swap axes 0 and 1, but in a batch axis 0 holds the sequences: pass query and key to your
# attention, which swaps the last two.
# replace: weights = softmax(key @ query.transpose(-2, -1) / math.sqrt(key.shape[-1]), dim=-1)
# by:      weights = softmax(query @ key.transpose(0, 1) / math.sqrt(query.shape[-1]), dim=-1)


# %% wrong SelfAttention d_head_in_forward
# `forward` does not see the arguments of `__init__`: store d_head on self there, or pass
# everything to your attention, which reads it from the shape.
class SelfAttention(nn.Module):
    def __init__(self, d_model: int, d_head: int) -> None:
        super().__init__()
        self.w_query = nn.Linear(d_model, d_head, bias=False)
        self.w_key = nn.Linear(d_model, d_head, bias=False)
        self.w_value = nn.Linear(d_model, d_head, bias=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        query, key = self.w_query(x), self.w_key(x)
        root = math.sqrt(d_head)  # noqa: F821  # pyright: ignore[reportUndefinedVariable]
        weights = softmax(query @ key.transpose(-2, -1) / root, dim=-1)
        return weights @ self.w_value(x), weights


# %% wrong SelfAttention self_forgotten
# `forward` does not see w_query under its bare name: the layers are stored on self, so write
# `self.w_query`.
class SelfAttention(nn.Module):
    def __init__(self, d_model: int, d_head: int) -> None:
        super().__init__()
        self.w_query = nn.Linear(d_model, d_head, bias=False)
        self.w_key = nn.Linear(d_model, d_head, bias=False)
        self.w_value = nn.Linear(d_model, d_head, bias=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        query = w_query(x)  # noqa: F821  # pyright: ignore[reportUndefinedVariable]
        return scaled_dot_product_attention(query, self.w_key(x), self.w_value(x))


# %% wrong SelfAttention output_only of="solution"
# You return a single tensor: return two, the output and then the weights.
# replace: return scaled_dot_product_attention(self.w_query(x), self.w_key(x), self.w_value(x))
# by:      return scaled_dot_product_attention(self.w_query(x), self.w_key(x), self.w_value(x))[0]

# %% wrong SelfAttention query_and_key_detached of="solution"
# Your numbers are right, but w_query gets no gradient and so never learns: detach nothing.
# replace: return scaled_dot_product_attention(self.w_query(x), self.w_key(x), self.w_value(x))
# by:      query, key = self.w_query(x).detach(), self.w_key(x).detach()
#          return scaled_dot_product_attention(query, key, self.w_value(x))

# %% wrong SelfAttention key_detached of="solution"
# Your numbers are right, but w_key gets no gradient and so never learns: detach nothing.
# replace: return scaled_dot_product_attention(self.w_query(x), self.w_key(x), self.w_value(x))
# by:      key = self.w_key(x).detach()
#          return scaled_dot_product_attention(self.w_query(x), key, self.w_value(x))

# %% wrong SelfAttention value_detached of="solution"
# Your numbers are right, but w_value gets no gradient and so never learns: detach nothing.
# replace: return scaled_dot_product_attention(self.w_query(x), self.w_key(x), self.w_value(x))
# by:      value = self.w_value(x).detach()
#          return scaled_dot_product_attention(self.w_query(x), self.w_key(x), value)

# %% wrong SelfAttention layer_frozen of="solution"
# A layer of yours never learns, because `requires_grad` is off: leave it on.
# replace: self.w_key = nn.Linear(d_model, d_head, bias=False)
# by:      self.w_key = nn.Linear(d_model, d_head, bias=False).requires_grad_(False)

# %% right SelfAttention attention_of_torch of="solution"
# replace: return scaled_dot_product_attention(self.w_query(x), self.w_key(x), self.w_value(x))
# by:      query, key, value = self.w_query(x), self.w_key(x), self.w_value(x)
#          weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), dim=-1)
#          return F.scaled_dot_product_attention(query, key, value), weights

# %% right SelfAttention packed of="solution"
# replace: return scaled_dot_product_attention(self.w_query(x), self.w_key(x), self.w_value(x))
# by:      matrices = [self.w_query.weight, self.w_key.weight, self.w_value.weight]
#          return scaled_dot_product_attention(*F.linear(x, torch.cat(matrices)).chunk(3, dim=-1))

# %% right SelfAttention projected_by_earlier_exercise of="solution"
# replace: return scaled_dot_product_attention(self.w_query(x), self.w_key(x), self.w_value(x))
# by:      query, key, value = project_qkv(
#              x, self.w_query.weight.T, self.w_key.weight.T, self.w_value.weight.T
#          )
#          return scaled_dot_product_attention(query, key, value)


# %% right SelfAttention scale_in_a_buffer
class SelfAttention(nn.Module):
    scale: Tensor

    def __init__(self, d_model: int, d_head: int) -> None:
        super().__init__()
        self.register_buffer("scale", torch.tensor(d_head**-0.5, dtype=torch.float64))
        self.w_query = nn.Linear(d_model, d_head, bias=False)
        self.w_key = nn.Linear(d_model, d_head, bias=False)
        self.w_value = nn.Linear(d_model, d_head, bias=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        weights = softmax(self.w_query(x) @ self.w_key(x).mT * self.scale, dim=-1)
        return weights @ self.w_value(x), weights


# %% right SelfAttention values_projected_last
class SelfAttention(nn.Module):
    def __init__(self, d_model: int, d_head: int) -> None:
        super().__init__()
        self.w_value = nn.Linear(d_model, d_head, bias=False)
        self.w_key = nn.Linear(d_model, d_head, bias=False)
        self.w_query = nn.Linear(d_model, d_head, bias=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        blend, weights = scaled_dot_product_attention(self.w_query(x), self.w_key(x), x)
        return self.w_value(blend), weights


# %% right SelfAttention one_bilinear_form of="solution"
# query · key = x (w_queryᵀ w_key) xᵀ
# replace: return scaled_dot_product_attention(self.w_query(x), self.w_key(x), self.w_value(x))
# by:      form = self.w_query.weight.T @ self.w_key.weight
#          scores = x @ form @ x.mT * self.w_key.out_features**-0.5
#          weights = softmax(scores, dim=-1)
#          return weights @ self.w_value(x), weights

# %% right SelfAttention einsum of="solution"
# replace: super().__init__()
# by:      super().__init__()
#          self.d_head = d_head
# replace: return scaled_dot_product_attention(self.w_query(x), self.w_key(x), self.w_value(x))
# by:      scores = torch.einsum("...qd,...kd->...qk", self.w_query(x), self.w_key(x))
#          weights = (scores / self.d_head**0.5).softmax(-1)
#          return torch.einsum("...qk,...kd->...qd", weights, self.w_value(x)), weights


# %% right SelfAttention derived_layer
class Projection(nn.Linear):
    def __init__(self, d_model: int, d_head: int) -> None:
        super().__init__(in_features=d_model, out_features=d_head, bias=False)
        nn.init.xavier_uniform_(self.weight)


class SelfAttention(nn.Module):
    def __init__(self, d_model: int, d_head: int) -> None:
        super().__init__()
        self.add_module("w_query", Projection(d_model, d_head))
        self.add_module("w_key", Projection(d_model, d_head))
        self.add_module("w_value", Projection(d_model, d_head))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        roles = {name: layer(x) for name, layer in self.named_children()}
        return scaled_dot_product_attention(
            key=roles["w_key"], value=roles["w_value"], query=roles["w_query"]
        )
