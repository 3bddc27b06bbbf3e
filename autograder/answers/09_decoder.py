# %% given imports
# pyright: reportRedeclaration=false, reportReturnType=false, reportUnusedExpression=false
# pyright: reportArgumentType=false, reportCallIssue=false, reportIndexIssue=false
# pyright: reportAttributeAccessIssue=false, reportIncompatibleVariableOverride=false
# pyright: reportOptionalMemberAccess=false, reportOperatorIssue=false
# pyright: reportGeneralTypeIssues=false, reportUndefinedVariable=false
# pyright: reportOptionalOperand=false, reportFunctionMemberAccess=false
import math
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformer_course.checks import numbers

# %% wrong next_token_loss not_shifted of="solution"
# You compare the logits at position t with token t: they are for token t + 1.
# replace: F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
# by:      F.cross_entropy(logits.flatten(0, 1), tokens.flatten())

# %% wrong next_token_loss shifted_backward of="solution"
# You compare the logits at position t with token t - 1: they are for token t + 1.
# replace: F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
# by:      F.cross_entropy(logits[:, 1:].flatten(0, 1), tokens[:, :-1].flatten())

# %% wrong next_token_loss last_one_dropped_from_both of="solution"
# You leave out the last position of logits and tokens alike, so the logits at t meet token t: they
# are for token t + 1.
# replace: tokens[:, 1:]
# by:      tokens[:, :-1]

# %% wrong next_token_loss first_one_dropped_from_both of="solution"
# You leave out the first position of logits and tokens alike, so the logits at t meet token t: they
# are for token t + 1.
# replace: logits[:, :-1]
# by:      logits[:, 1:]

# %% wrong next_token_loss wraps_around of="solution"
# You compare the last logits of each row with its first token: nothing comes after the last
# position.
# replace: F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
# by:      F.cross_entropy(logits.flatten(0, 1), tokens.roll(-1, 1).flatten())

# %% wrong next_token_loss flattened_before_the_shift of="solution"
# You join all rows before you shift, so the last logits of a row meet the first token of the next
# row: shift inside each row.
# replace: F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
# by:      F.cross_entropy(logits.flatten(0, 1)[:-1], tokens.flatten()[1:])

# %% wrong next_token_loss two_ahead of="solution"
# You compare the logits at position t with token t + 2: they are for token t + 1.
# replace: logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten()
# by:      logits[:, :-2].flatten(0, 1), tokens[:, 2:].flatten()

# %% wrong next_token_loss summed of="solution"
# You sum over the predictions: take their mean.
# replace: tokens[:, 1:].flatten())
# by:      tokens[:, 1:].flatten(), reduction="sum")


# %% wrong next_token_loss summed_in_each_row
# You sum over the positions of a row and average over the rows: take the mean of all predictions.
def next_token_loss(logits: Tensor, tokens: Tensor) -> Tensor:
    length = tokens.shape[1]
    if length < 2:
        raise ValueError(f"a row needs at least two tokens, not {length}")
    loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten(), reduction="sum")
    return loss / len(tokens)


# %% wrong next_token_loss divided_by_the_length
# You divide by all positions: the last one has no next token, so there is one prediction less in
# each row.
def next_token_loss(logits: Tensor, tokens: Tensor) -> Tensor:
    length = tokens.shape[1]
    if length < 2:
        raise ValueError(f"a row needs at least two tokens, not {length}")
    loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten(), reduction="sum")
    return loss / tokens.numel()


# %% wrong next_token_loss in_bits of="solution"
# Your loss is in bits: nats come from the natural logarithm.
# replace: F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
# by:      F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten()) / math.log(2)

# %% wrong next_token_loss perplexity of="solution"
# You return the perplexity, which is exp of the loss: leave out exp.
# replace: tokens[:, 1:].flatten())
# by:      tokens[:, 1:].flatten()).exp()

# %% wrong next_token_loss sign_missing of="solution"
# Your loss is negative: take −log of each probability.
# replace: F.cross_entropy(
# by:      -F.cross_entropy(

# %% wrong next_token_loss softmax_twice of="solution"
# You apply softmax before F.cross_entropy, which does so itself: pass it the logits.
# replace: logits[:, :-1].flatten(0, 1)
# by:      logits[:, :-1].flatten(0, 1).softmax(-1)

# %% wrong next_token_loss logits_as_log_probabilities of="solution"
# You take the logits for log-probabilities: the softmax is missing.
# replace: F.cross_entropy(
# by:      F.nll_loss(

# %% base next_token_loss probabilities_picked of="solution"
# replace: return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
# by:      probabilities = logits.softmax(-1)[:, :-1]
#          picked = probabilities.gather(2, tokens[:, 1:, None])
#          return -picked.log().mean()

# %% wrong next_token_loss log_after_softmax of="probabilities_picked"
# exp overflows: take the log and the softmax together, as F.cross_entropy does
# replace: -picked.log().mean()
# by:      -torch.log(picked).mean()

# %% wrong next_token_loss no_log of="probabilities_picked"
# You average the probabilities: average −log of each.
# replace: -picked.log().mean()
# by:      -picked.mean()

# %% wrong next_token_loss one_minus_probability of="probabilities_picked"
# You average 1 − p: the loss of a prediction is −log p.
# replace: -picked.log().mean()
# by:      (1 - picked).mean()

# %% wrong next_token_loss log_of_the_mean of="probabilities_picked"
# You take the log of the mean probability: take the log first, then the mean.
# replace: -picked.log().mean()
# by:      -picked.mean().log()

# %% wrong next_token_loss small_number_in_the_log of="probabilities_picked"
# You add a small number inside the log, which changes every loss: F.cross_entropy needs none.
# replace: -picked.log().mean()
# by:      -(picked + 1e-6).log().mean()

# %% wrong next_token_loss softmax_over_the_positions of="probabilities_picked"
# Your softmax runs over the positions: it belongs over the vocabulary, the last axis.
# replace: logits.softmax(-1)[:, :-1]
# by:      logits.softmax(1)[:, :-1]

# %% wrong next_token_loss softmax_over_the_rows of="probabilities_picked"
# Your softmax runs over the rows of the batch: it belongs over the vocabulary, the last axis.
# replace: logits.softmax(-1)[:, :-1]
# by:      logits.softmax(0)[:, :-1]

# %% wrong next_token_loss softmax_over_all of="probabilities_picked"
# Your softmax runs over positions and vocabulary together: each position has its own, over the last
# axis.
# replace: logits.softmax(-1)[:, :-1]
# by:      logits.flatten(1).softmax(-1).view_as(logits)[:, :-1]

# %% wrong next_token_loss base_ten of="probabilities_picked"
# You take the logarithm to base 10: nats come from the natural logarithm.
# replace: -picked.log().mean()
# by:      -picked.log10().mean()

# %% wrong next_token_loss averaged_over_the_vocabulary_too of="solution"
# You also average over the vocabulary: one number for each prediction counts, that of the right
# token.
# replace: return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
# by:      right = F.one_hot(tokens[:, 1:], logits.shape[-1])
#          return -(right * logits[:, :-1].log_softmax(-1)).mean()

# %% wrong next_token_loss every_token_counted of="solution"
# You average −log of all probabilities: only that of the right token counts.
# replace: return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
# by:      return -logits[:, :-1].log_softmax(-1).mean()

# %% wrong next_token_loss squared_error of="solution"
# You take a squared error between probabilities and one-hot vectors: cross-entropy is −log of the
# right token's probability.
# replace: return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
# by:      right = F.one_hot(tokens[:, 1:], logits.shape[-1])
#          return (right - logits[:, :-1].softmax(-1)).square().sum(-1).mean()

# %% wrong next_token_loss error_rate of="solution"
# You count how often the likeliest token is wrong: the loss is the mean of −log of the right
# token's probability.
# replace: return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
# by:      return (logits[:, :-1].argmax(-1) != tokens[:, 1:]).to(logits.dtype).mean()

# %% wrong next_token_loss last_prediction_alone of="solution"
# You count the last prediction of each row alone: all positions but the last one predict.
# replace: F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
# by:      F.cross_entropy(logits[:, -2], tokens[:, -1])

# %% wrong next_token_loss first_prediction_alone of="solution"
# You count the first prediction of each row alone: all positions but the last one predict.
# replace: F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
# by:      F.cross_entropy(logits[:, 0], tokens[:, 1])

# %% wrong next_token_loss first_row_alone of="solution"
# You count the first row alone: take the mean over all rows.
# replace: F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
# by:      F.cross_entropy(logits[0, :-1], tokens[0, 1:])

# %% wrong next_token_loss token_zero_ignored of="solution"
# You leave out the predictions of token 0: it is a token like any other.
# replace: tokens[:, 1:].flatten())
# by:      tokens[:, 1:].flatten(), ignore_index=0)


# %% wrong next_token_loss label_smoothing
# You smooth the labels, so other tokens count too: only the right token's probability counts.
def next_token_loss(logits: Tensor, tokens: Tensor) -> Tensor:
    length = tokens.shape[1]
    if length < 2:
        raise ValueError(f"a row needs at least two tokens, not {length}")
    return F.cross_entropy(
        logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten(), label_smoothing=0.1
    )


# %% wrong next_token_loss one_for_each_prediction of="solution"
# You return one loss for each prediction: take their mean.
# replace: tokens[:, 1:].flatten())
# by:      tokens[:, 1:].flatten(), reduction="none")


# %% wrong next_token_loss one_for_each_row
# You return one loss for each row: take the mean over the rows as well.
def next_token_loss(logits: Tensor, tokens: Tensor) -> Tensor:
    length = tokens.shape[1]
    if length < 2:
        raise ValueError(f"a row needs at least two tokens, not {length}")
    losses = F.cross_entropy(logits[:, :-1].transpose(1, 2), tokens[:, 1:], reduction="none")
    return losses.mean(1)


# %% wrong next_token_loss one_for_each_position
# You return one loss for each position: take the mean over the positions as well.
def next_token_loss(logits: Tensor, tokens: Tensor) -> Tensor:
    length = tokens.shape[1]
    if length < 2:
        raise ValueError(f"a row needs at least two tokens, not {length}")
    losses = F.cross_entropy(logits[:, :-1].transpose(1, 2), tokens[:, 1:], reduction="none")
    return losses.mean(0)


# %% wrong next_token_loss vocabulary_reshaped
# You swap positions and vocabulary with a reshape, which mixes their numbers: use transpose.
def next_token_loss(logits: Tensor, tokens: Tensor) -> Tensor:
    length = tokens.shape[1]
    if length < 2:
        raise ValueError(f"a row needs at least two tokens, not {length}")
    return F.cross_entropy(logits[:, :-1].reshape(len(logits), logits.shape[-1], -1), tokens[:, 1:])


# %% wrong next_token_loss of_kept_axis of="solution"
# Your result has an axis of length 1: return a tensor of shape ().
# replace: tokens[:, 1:].flatten())
# by:      tokens[:, 1:].flatten())[None]

# %% wrong next_token_loss as_a_float of="solution"
# the result should be a tensor, got a float
# replace: tokens[:, 1:].flatten())
# by:      tokens[:, 1:].flatten()).item()

# %% wrong next_token_loss no_gradient of="solution"
# no gradient flows through the result
# replace: return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
# by:      with torch.no_grad():
#              return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())

# %% wrong next_token_loss detached of="solution"
# no gradient flows through the result
# replace: tokens[:, 1:].flatten())
# by:      tokens[:, 1:].flatten()).detach()

# %% wrong next_token_loss in_float32 of="solution"
# the result should keep the input's dtype
# replace: logits[:, :-1].flatten(0, 1)
# by:      logits[:, :-1].float().flatten(0, 1)

# %% wrong next_token_loss nothing_returned of="solution"
# does the last line say `return`?
# replace: return F.cross_entropy(
# by:      F.cross_entropy(

# %% wrong next_token_loss no_error of="solution"
# expected a ValueError that names 1, but nothing was raised
# replace: if length < 2:
#              raise ValueError(f"a row needs at least two tokens, not {length}")
# by:

# %% wrong next_token_loss error_at_two of="solution"
# You refuse two tokens: the second of them can be predicted, so only fewer are too few.
# replace: if length < 2:
# by:      if length <= 2:

# %% wrong next_token_loss error_at_none_alone of="solution"
# expected a ValueError that names 1, but nothing was raised
# replace: if length < 2:
# by:      if length < 1:

# %% wrong next_token_loss error_for_batches_of_one of="solution"
# You refuse a single row: the number of tokens in a row counts, which is axis 1.
# replace: length = tokens.shape[1]
# by:      length = min(tokens.shape)

# %% wrong next_token_loss batch_looked_at of="solution"
# You refuse a single row: the number of tokens in a row counts, which is axis 1.
# replace: length = tokens.shape[1]
# by:      length = len(tokens)

# %% wrong next_token_loss zero_without_an_error of="solution"
# expected a ValueError that names 1, but nothing was raised
# replace: raise ValueError(f"a row needs at least two tokens, not {length}")
# by:      return logits.sum() * 0

# %% wrong next_token_loss assertion of="solution"
# You stop with an AssertionError, or with another error of Python's: raise a ValueError.
# replace: if length < 2:
#              raise ValueError(f"a row needs at least two tokens, not {length}")
# by:      assert length >= 2, f"a row needs at least two tokens, not {length}"

# %% wrong next_token_loss unnamed of="solution"
# raise ValueError(f"…"), with 1 in the message
# replace: f"a row needs at least two tokens, not {length}"
# by:      "too few tokens"

# %% wrong next_token_loss clipped of="solution"
# You limit the logits to a range: the loss of large logits changes.
# replace: logits[:, :-1].flatten(0, 1)
# by:      logits[:, :-1].flatten(0, 1).clamp(-3, 3)

# %% wrong next_token_loss sorted_out_repeats of="solution"
# You leave out a token that repeats the one before it: it is predicted like any other.
# replace: return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
# by:      following = tokens[:, 1:].clone()
#          following[following == tokens[:, :-1]] = -100
#          return F.cross_entropy(logits[:, :-1].flatten(0, 1), following.flatten())

# %% right next_token_loss vocabulary_second of="solution"
# replace: F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
# by:      F.cross_entropy(logits[:, :-1].transpose(1, 2), tokens[:, 1:])

# %% right next_token_loss gathered of="solution"
# replace: return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
# by:      picked = logits[:, :-1].log_softmax(-1).gather(2, tokens[:, 1:].unsqueeze(2))
#          return -picked.mean()

# %% right next_token_loss one_hot of="solution"
# replace: return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
# by:      right = F.one_hot(tokens, logits.shape[-1])[:, 1:].to(logits.dtype)
#          return -torch.einsum("btv,btv->bt", right, logits[:, :-1].log_softmax(-1)).mean()

# %% right next_token_loss loss_module of="solution"
# replace: F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
# by:      nn.CrossEntropyLoss()(
#              logits[:, :-1].reshape(-1, logits.size(-1)), tokens[:, 1:].reshape(-1)
#          )

# %% right next_token_loss ignored_target of="solution"
# replace: return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
# by:      following = torch.full_like(tokens, -100)
#          following[:, :-1] = tokens[:, 1:]
#          return F.cross_entropy(logits.flatten(0, 1), following.flatten())


# %% right next_token_loss log_of_a_sum
def next_token_loss(logits: Tensor, tokens: Tensor) -> Tensor:
    if logits.size(1) <= 1:
        raise ValueError(f"no next token: the length is {logits.size(1)}")
    total = 0.0
    for t in range(logits.size(1) - 1):
        right = logits[torch.arange(len(tokens)), t, tokens[:, t + 1]]
        total = total + (logits[:, t].logsumexp(-1) - right).sum()
    return total / (len(tokens) * (logits.size(1) - 1))


# %% right next_token_loss a_row_at_a_time of="solution"
# replace: return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
# by:      losses = [
#              F.cross_entropy(row[:-1], following[1:])
#              for row, following in zip(logits, tokens, strict=True)
#          ]
#          return torch.stack(losses).mean()

# %% right next_token_loss by_nll of="solution"
# replace: F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
# by:      F.nll_loss(
#              torch.log_softmax(logits, dim=2)[:, :-1].permute(0, 2, 1),
#              tokens.narrow(1, 1, length - 1),
#          )


# %% right next_token_loss contiguous_views
def next_token_loss(logits: Tensor, tokens: Tensor) -> Tensor:
    length = tokens.shape[1]
    if length < 2:
        raise ValueError(f"a row needs at least two tokens, not {length}")
    return F.cross_entropy(
        logits[:, :-1].contiguous().view(-1, logits.shape[2]),
        tokens[:, 1:].contiguous().view(-1),
    )


# %% wrong DecoderBlock no_norms of="solution"
# Your sublayers read x without a norm: norm1 comes before attention, norm2 before linear1.
# replace: normed = self.norm1(x)
# by:      normed = x
# replace: self.linear1(self.norm2(x))
# by:      self.linear1(x)

# %% wrong DecoderBlock no_norm1 of="solution"
# Your values come from x without norm1: queries, keys and values should all come from norm1(x).
# replace: normed = self.norm1(x)
# by:      normed = x

# %% wrong DecoderBlock no_norm2 of="solution"
# Your linear1 reads x without norm2: it should read norm2(x).
# replace: self.linear1(self.norm2(x))
# by:      self.linear1(x)

# %% wrong DecoderBlock norms_exchanged of="solution"
# You exchange norm1 and norm2: norm1 goes with attention.
# replace: normed = self.norm1(x)
# by:      normed = self.norm2(x)
# replace: self.linear1(self.norm2(x))
# by:      self.linear1(self.norm1(x))

# %% wrong DecoderBlock norm1_twice of="solution"
# You use norm1 for both sublayers: the feed-forward network has norm2.
# replace: self.linear1(self.norm2(x))
# by:      self.linear1(self.norm1(x))

# %% wrong DecoderBlock norm2_twice of="solution"
# You use norm2 for both sublayers: attention has norm1.
# replace: normed = self.norm1(x)
# by:      normed = self.norm2(x)

# %% wrong DecoderBlock one_norm_under_two_names of="solution"
# make the parts as PyTorch makes them, and leave requires_grad as it is
# replace: self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
# by:      self.norm1 = nn.LayerNorm(d_model)
#          self.norm2 = self.norm1

# %% wrong DecoderBlock post_norm of="solution"
# Your block is post-norm: each norm comes before its sublayer, and none is on the residual stream.
# replace: normed = self.norm1(x)
# by:      normed = x
# replace: x = x + self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))
# by:      attended = (weights @ value).transpose(1, 2).flatten(2)
#          x = self.norm1(x + self.dropout(self.w_output(attended)))
# replace: return x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))
# by:      return self.norm2(x + self.dropout(self.linear2(F.gelu(self.linear1(x)))))

# %% wrong DecoderBlock norm_at_the_end of="solution"
# Your block ends with a norm: no norm is on the residual stream, and the final norm belongs to the
# model.
# replace: return x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))
# by:      return self.norm2(x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x))))))

# %% wrong DecoderBlock residual_from_the_normed_input of="solution"
# You add to the normalised x: add to x as it was before the norm.
# replace: x = x + self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))
# by:      x = normed + self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))

# %% wrong DecoderBlock second_residual_normed of="solution"
# In the second half you add to norm2(x): add to x as it was before the norm.
# replace: return x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))
# by:      x = self.norm2(x)
#          return x + self.dropout(self.linear2(F.gelu(self.linear1(x))))

# %% wrong DecoderBlock both_residuals_normed of="second_residual_normed"
# In both halves you add to the normalised x: add to x as it was before the norm.
# replace: x = x + self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))
# by:      x = normed + self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))

# %% wrong DecoderBlock norm_on_the_sublayers_output of="solution"
# You normalise the output of each sublayer: in pre-norm you normalise its input.
# replace: normed = self.norm1(x)
# by:      normed = x
# replace: x = x + self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))
# by:      attended = (weights @ value).transpose(1, 2).flatten(2)
#          x = x + self.norm1(self.dropout(self.w_output(attended)))
# replace: return x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))
# by:      return x + self.norm2(self.dropout(self.linear2(F.gelu(self.linear1(x)))))

# %% wrong DecoderBlock values_not_normed of="solution"
# Your values come from x without norm1: queries, keys and values should all come from norm1(x).
# replace:     project(normed).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
#              for project in (self.w_query, self.w_key, self.w_value)
# by:          project(y).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
#              for project, y in ((self.w_query, normed), (self.w_key, normed), (self.w_value, x))

# %% wrong DecoderBlock keys_and_values_not_normed of="solution"
# Your values come from x without norm1: queries, keys and values should all come from norm1(x).
# replace:     project(normed).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
#              for project in (self.w_query, self.w_key, self.w_value)
# by:          project(y).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
#              for project, y in ((self.w_query, normed), (self.w_key, x), (self.w_value, x))

# %% wrong DecoderBlock queries_not_normed of="solution"
# Your queries come from x without norm1: queries, keys and values should all come from norm1(x).
# replace:     project(normed).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
#              for project in (self.w_query, self.w_key, self.w_value)
# by:          project(y).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
#              for project, y in ((self.w_query, x), (self.w_key, normed), (self.w_value, normed))

# %% wrong DecoderBlock no_residual_around_attention of="solution"
# You replace x by the output of attention: add it to x.
# replace: x = x + self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))
# by:      x = self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))

# %% wrong DecoderBlock no_residual_around_feed_forward of="solution"
# You replace x by the output of the feed-forward network: add it to x.
# replace: return x + self.dropout(
# by:      return self.dropout(

# %% wrong DecoderBlock no_residual of="no_residual_around_feed_forward"
# You replace x by the output of each sublayer: add it to x.
# replace: x = x + self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))
# by:      x = self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))

# %% wrong DecoderBlock first_x_added_again of="solution"
# In the second half you add to the original x, so the output of attention is lost: add to x after
# attention.
# replace: x = x + self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))
#          return x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))
# by:      after = x + self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))
#          return x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(after)))))

# %% wrong DecoderBlock x_counted_twice of="solution"
# You add x twice: each half adds once, and the second adds to the result of the first.
# replace: x = x + self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))
#          return x + self.dropout(
# by:      after = x + self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))
#          x, original = after, x
#          return original + x + self.dropout(

# %% wrong DecoderBlock side_by_side of="solution"
# Both of your sublayers read the same x: the feed-forward network should read x after attention was
# added.
# replace: x = x + self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))
#          return x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))
# by:      attended = self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))
#          return x + attended + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))

# %% wrong DecoderBlock feed_forward_first of="solution"
# You run the feed-forward network first: attention comes before it.
# replace: normed = self.norm1(x)
# by:      x = x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))
#          normed = self.norm1(x)
# replace: return x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))
# by:      return x

# %% wrong DecoderBlock one_residual_around_both of="solution"
# You have one residual connection around both sublayers: add to x after attention as well.
# replace: x = x + self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))
#          return x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))
# by:      after = self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))
#          return x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(after)))))

# %% wrong DecoderBlock no_feed_forward of="solution"
# Your block ends after attention: the feed-forward network is missing.
# replace: return x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))
# by:      return x

# %% wrong DecoderBlock no_attention of="solution"
# Your tokens never attend to one another: attention is missing.
# replace: x = x + self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))
# by:

# %% wrong DecoderBlock relu of="solution"
# You use ReLU: the nonlinearity here is GELU.
# replace: F.gelu(
# by:      F.relu(


# %% wrong DecoderBlock tanh_gelu
# You use the approximation of GELU by tanh: the docstring asks for the exact one, which is the
# default of F.gelu.
class DecoderBlock(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"d_model = {d_model} is not a multiple of num_heads = {num_heads}")
        self.num_heads = num_heads
        self.w_query, self.w_key = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.w_value, self.w_output = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Tensor, cache: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] | None = None
    ) -> Tensor:
        normed = self.norm1(x)
        query, key, value = (
            project(normed).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for project in (self.w_query, self.w_key, self.w_value)
        )  # (batch, heads, length, d_head)
        if cache is not None:
            key, value = cache(key, value)  # (batch, heads, cached + length, d_head)
        scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
        cached = key.shape[-2] - query.shape[-2]
        future = torch.ones_like(scores, dtype=torch.bool).triu(cached + 1)
        weights = self.dropout(scores.masked_fill(future, -torch.inf).softmax(-1))
        x = x + self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))
        return x + self.dropout(
            self.linear2(F.gelu(self.linear1(self.norm2(x)), approximate="tanh"))
        )


# %% wrong DecoderBlock sigmoid_gelu of="solution"
# You approximate GELU by x · sigmoid(1.702 x): the docstring asks for the exact one, F.gelu.
# replace: return x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))
# by:      hidden = self.linear1(self.norm2(x))
#          return x + self.dropout(self.linear2(hidden * torch.sigmoid(1.702 * hidden)))

# %% wrong DecoderBlock silu of="solution"
# You use SiLU, which is x · sigmoid(x): the nonlinearity here is GELU.
# replace: F.gelu(
# by:      F.silu(

# %% wrong DecoderBlock tanh of="solution"
# You use tanh, which maps every feature between -1 and 1: the nonlinearity here is GELU.
# replace: F.gelu(
# by:      torch.tanh(

# %% wrong DecoderBlock leaky_relu of="solution"
# You use a leaky ReLU: the nonlinearity here is GELU.
# replace: F.gelu(
# by:      F.leaky_relu(

# %% wrong DecoderBlock elu of="solution"
# You use ELU: the nonlinearity here is GELU.
# replace: F.gelu(
# by:      F.elu(

# %% wrong DecoderBlock no_nonlinearity of="solution"
# There is no nonlinearity between linear1 and linear2: without GELU the two layers are one.
# replace: self.linear2(F.gelu(self.linear1(self.norm2(x))))
# by:      self.linear2(self.linear1(self.norm2(x)))

# %% wrong DecoderBlock erf_without_the_root of="solution"
# You leave out √2 in the erf: GELU is x / 2 · (1 + erf(x / √2)).
# replace: return x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))
# by:      hidden = self.linear1(self.norm2(x))
#          return x + self.dropout(self.linear2(hidden / 2 * (1 + torch.erf(hidden))))

# %% wrong DecoderBlock gelu_after_linear2 of="solution"
# Your GELU comes after linear2: it belongs between linear1 and linear2.
# replace: self.linear2(F.gelu(self.linear1(self.norm2(x))))
# by:      F.gelu(self.linear2(self.linear1(self.norm2(x))))

# %% wrong DecoderBlock gelu_twice of="solution"
# You use a second GELU after linear2: it belongs between linear1 and linear2 alone.
# replace: self.linear2(F.gelu(self.linear1(self.norm2(x))))
# by:      F.gelu(self.linear2(F.gelu(self.linear1(self.norm2(x)))))

# %% wrong DecoderBlock gelu_before_linear1 of="solution"
# Your GELU comes before linear1: it belongs between linear1 and linear2.
# replace: self.linear2(F.gelu(self.linear1(self.norm2(x))))
# by:      self.linear2(self.linear1(F.gelu(self.norm2(x))))

# %% wrong DecoderBlock no_mask of="solution"
# Your tokens attend to later tokens too: the causal mask is missing.
# replace: weights = self.dropout(scores.masked_fill(future, -torch.inf).softmax(-1))
# by:      weights = self.dropout(scores.softmax(-1))

# %% wrong DecoderBlock mask_from_the_other_side of="solution"
# Your tokens attend to themselves and to later tokens: a causal mask allows earlier ones.
# replace: future = torch.ones_like(scores, dtype=torch.bool).triu(cached + 1)
# by:      future = torch.ones_like(scores, dtype=torch.bool).tril(cached - 1)

# %% wrong DecoderBlock itself_hidden of="solution"
# A token should attend to itself as well: your mask hides it, and the first token has nothing left.
# replace: triu(cached + 1)
# by:      triu(cached)

# %% wrong DecoderBlock itself_hidden_but_for_the_first of="solution"
# A token should attend to itself as well: your mask hides it, except for the first one.
# replace: future = torch.ones_like(scores, dtype=torch.bool).triu(cached + 1)
# by:      future = torch.ones_like(scores, dtype=torch.bool).triu(cached)
#          future[..., 0, 0] = False

# %% wrong DecoderBlock one_token_ahead of="solution"
# Your tokens attend to one later token: the diagonal of the mask is off by one.
# replace: triu(cached + 1)
# by:      triu(cached + 2)

# %% wrong DecoderBlock allowed_and_forbidden_exchanged of="solution"
# Your tokens attend to later tokens only: what your mask allows and what it hides are exchanged.
# replace: future = torch.ones_like(scores, dtype=torch.bool).triu(cached + 1)
# by:      future = torch.ones_like(scores, dtype=torch.bool).tril(cached)
#          future[..., -1, :] = False

# %% wrong DecoderBlock mask_after_the_softmax of="solution"
# You mask after the softmax, so the weights no longer sum to 1: mask the scores.
# replace: scores.masked_fill(future, -torch.inf).softmax(-1)
# by:      scores.softmax(-1).masked_fill(future, 0.0)

# %% wrong DecoderBlock masked_scores_of_zero of="solution"
# You set the scores of later tokens to 0, which leaves them a weight: set them to -inf.
# replace: scores.masked_fill(future, -torch.inf)
# by:      scores.masked_fill(future, 0.0)

# %% wrong DecoderBlock masked_scores_of_minus_ten of="solution"
# You set the scores of later tokens to a number that is not small enough, so they keep a weight:
# set them to -inf.
# replace: scores.masked_fill(future, -torch.inf)
# by:      scores.masked_fill(future, -10.0)

# %% wrong DecoderBlock masked_scores_of_minus_thousand of="solution"
# Your masked scores are -1000, and other scores may be lower still: make them -inf.
# replace: -torch.inf
# by:      -1e3

# %% wrong DecoderBlock mask_added_as_ones of="solution"
# You subtract 1 from the scores of later tokens, so they keep a weight: set them to -inf.
# replace: scores.masked_fill(future, -torch.inf)
# by:      (scores - future.to(scores.dtype))

# %% wrong DecoderBlock previous_token_alone of="solution"
# Your tokens attend to themselves and one token before: all earlier ones are allowed.
# replace: future = torch.ones_like(scores, dtype=torch.bool).triu(cached + 1)
# by:      everything = torch.ones_like(scores, dtype=torch.bool)
#          future = everything.triu(cached + 1) | everything.tril(cached - 2)

# %% wrong DecoderBlock first_token_hidden of="solution"
# Your tokens cannot attend to the first token: all earlier ones are allowed.
# replace: future = torch.ones_like(scores, dtype=torch.bool).triu(cached + 1)
# by:      future = torch.ones_like(scores, dtype=torch.bool).triu(cached + 1)
#          future[..., 1:, 0] = True


# %% wrong DecoderBlock causal_in_training_alone
# In evaluation your tokens attend to later tokens too: the mask belongs to both modes.
class DecoderBlock(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"d_model = {d_model} is not a multiple of num_heads = {num_heads}")
        self.num_heads = num_heads
        self.w_query, self.w_key = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.w_value, self.w_output = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Tensor, cache: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] | None = None
    ) -> Tensor:
        normed = self.norm1(x)
        query, key, value = (
            project(normed).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for project in (self.w_query, self.w_key, self.w_value)
        )  # (batch, heads, length, d_head)
        if cache is not None:
            key, value = cache(key, value)  # (batch, heads, cached + length, d_head)
        scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
        cached = key.shape[-2] - query.shape[-2]
        future = torch.ones_like(scores, dtype=torch.bool).triu(cached + 1)
        weights = self.dropout(
            scores.masked_fill(future & torch.tensor(self.training), -torch.inf).softmax(-1)
        )
        x = x + self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))
        return x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))


# %% wrong DecoderBlock no_scale of="solution"
# You do not scale the scores: divide them by √d_head.
# replace:  / query.shape[-1] ** 0.5
# by:

# %% wrong DecoderBlock scaled_by_the_width of="solution"
# You divide the scores by √d_model: divide them by √d_head.
# replace: query.shape[-1] ** 0.5
# by:      x.shape[-1] ** 0.5

# %% wrong DecoderBlock scaled_without_a_root of="solution"
# You divide the scores by d_head: divide them by its root.
# replace: query.shape[-1] ** 0.5
# by:      query.shape[-1]

# %% wrong DecoderBlock multiplied_by_the_root of="solution"
# You multiply the scores by √d_head: divide them by it.
# replace: key.transpose(-1, -2) / query.shape[-1] ** 0.5
# by:      key.transpose(-1, -2) * query.shape[-1] ** 0.5

# %% wrong DecoderBlock scaled_twice of="solution"
# You scale twice, so the scores are divided by d_head: divide them by its root.
# replace: query.shape[-1] ** 0.5
# by:      query.shape[-1] ** 0.5 / query.shape[-1] ** 0.5

# %% wrong DecoderBlock scaled_by_the_heads of="solution"
# You divide the scores by the root of the number of heads: divide them by √d_head.
# replace: query.shape[-1] ** 0.5
# by:      self.num_heads**0.5

# %% wrong DecoderBlock scaled_by_the_length of="solution"
# You divide the scores by the root of the length: divide them by √d_head.
# replace: query.shape[-1] ** 0.5
# by:      query.shape[-2] ** 0.5

# %% wrong DecoderBlock softmax_over_queries of="solution"
# Your softmax runs over the queries: it belongs over the keys, the last axis.
# replace: softmax(-1)
# by:      softmax(-2)

# %% wrong DecoderBlock softmax_over_heads of="solution"
# Your softmax runs over the heads: it belongs over the keys, the last axis.
# replace: scores.masked_fill(future, -torch.inf).softmax(-1)
# by:      scores.softmax(1).masked_fill(future, 0.0)

# %% wrong DecoderBlock no_softmax of="solution"
# Your scores are used as weights: the softmax is missing.
# replace: scores.masked_fill(future, -torch.inf).softmax(-1)
# by:      scores.masked_fill(future, 0.0)

# %% wrong DecoderBlock one_head of="solution"
# You use a single head: split the features into num_heads parts.
# replace: unflatten(-1, (self.num_heads, -1))
# by:      unflatten(-1, (1, -1))

# %% wrong DecoderBlock width_and_heads_exchanged of="solution"
# You exchange the number of heads and their width: unflatten(-1, (num_heads, -1)) has the heads
# first.
# replace: unflatten(-1, (self.num_heads, -1))
# by:      unflatten(-1, (-1, self.num_heads))

# %% wrong DecoderBlock heads_interleaved of="solution"
# Your heads take every n-th feature: the features of a head stand side by side.
# replace: project(normed).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
# by:      project(normed).unflatten(-1, (-1, self.num_heads)).permute(0, 3, 1, 2)

# %% wrong DecoderBlock reshaped_into_heads of="solution"
# You reshape to (batch, heads, length, d_head) at once, which mixes tokens: split the last axis,
# then swap length and heads.
# replace: project(normed).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
# by:      project(normed).reshape(len(x), self.num_heads, x.shape[1], -1)

# %% wrong DecoderBlock reshaped_out_of_heads of="solution"
# You join the heads without swapping heads and length back, which mixes tokens.
# replace: (weights @ value).transpose(1, 2).flatten(2)
# by:      (weights @ value).reshape(x.shape)

# %% wrong DecoderBlock heads_joined_interleaved of="solution"
# You join the heads feature by feature: the features of a head stand side by side.
# replace: (weights @ value).transpose(1, 2).flatten(2)
# by:      (weights @ value).permute(0, 2, 3, 1).flatten(2)

# %% wrong DecoderBlock heads_left_as_rows of="solution"
# Your heads and positions change places: attention runs between heads, not between tokens.
# replace: project(normed).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
# by:      project(normed).unflatten(-1, (self.num_heads, -1))
# replace: (weights @ value).transpose(1, 2).flatten(2)
# by:      (weights @ value).flatten(2)

# %% wrong DecoderBlock no_output_projection of="solution"
# You leave out w_output: it mixes the heads after they are joined.
# replace: self.w_output((weights @ value).transpose(1, 2).flatten(2))
# by:      (weights @ value).transpose(1, 2).flatten(2)

# %% wrong DecoderBlock queries_and_keys_exchanged of="solution"
# You exchange queries and keys: softmax runs over the keys, for each query.
# replace: (self.w_query, self.w_key, self.w_value)
# by:      (self.w_key, self.w_query, self.w_value)

# %% wrong DecoderBlock keys_and_values_exchanged of="solution"
# You average what w_key makes: values come from w_value, and keys meet the queries.
# replace: (self.w_query, self.w_key, self.w_value)
# by:      (self.w_query, self.w_value, self.w_key)

# %% wrong DecoderBlock queries_as_keys of="solution"
# You use w_query for keys as well: keys have w_key.
# replace: (self.w_query, self.w_key, self.w_value)
# by:      (self.w_query, self.w_query, self.w_value)

# %% wrong DecoderBlock keys_as_values of="solution"
# You average what w_key makes: values come from w_value, and keys meet the queries.
# replace: (self.w_query, self.w_key, self.w_value)
# by:      (self.w_query, self.w_key, self.w_key)


# %% wrong DecoderBlock tokens_as_values
# You average the tokens themselves: average the values, from w_value.
class DecoderBlock(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"d_model = {d_model} is not a multiple of num_heads = {num_heads}")
        self.num_heads = num_heads
        self.w_query, self.w_key = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.w_value, self.w_output = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Tensor, cache: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] | None = None
    ) -> Tensor:
        normed = self.norm1(x)
        query, key, value = (
            project(normed).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for project in (self.w_query, self.w_key, self.w_value)
        )  # (batch, heads, length, d_head)
        if cache is not None:
            key, value = cache(key, value)  # (batch, heads, cached + length, d_head)
        scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
        cached = key.shape[-2] - query.shape[-2]
        future = torch.ones_like(scores, dtype=torch.bool).triu(cached + 1)
        weights = self.dropout(scores.masked_fill(future, -torch.inf).softmax(-1))
        x = x + self.dropout(
            self.w_output(
                (weights @ normed.unflatten(-1, (self.num_heads, -1)).transpose(1, 2))
                .transpose(1, 2)
                .flatten(2)
            )
        )
        return x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))


# %% wrong DecoderBlock heads_averaged of="solution"
# You average the weights of all heads: each head has its own.
# replace: weights = self.dropout(scores.masked_fill(future, -torch.inf).softmax(-1))
# by:      weights = self.dropout(
#              scores.masked_fill(future, -torch.inf).softmax(-1).mean(1, keepdim=True)
#          )

# %% wrong DecoderBlock batch_taken_for_length of="solution"
# Your tokens attend to the other rows of the batch: attention belongs inside a row.
# replace: project(normed).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
# by:      project(normed).unflatten(-1, (self.num_heads, -1)).permute(1, 2, 0, 3)
# replace: (weights @ value).transpose(1, 2).flatten(2)
# by:      (weights @ value).permute(2, 0, 1, 3).flatten(2)

# %% wrong DecoderBlock first_row_for_all of="solution"
# All rows of the batch get the attention weights of the first one: each row has its own.
# replace: scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
# by:      scores = (query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5)[:1]

# %% wrong DecoderBlock without_biases of="solution"
# the parameters are not the ones the docstring names
# replace: self.w_query, self.w_key = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
#          self.w_value, self.w_output = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
# by:      self.w_query = nn.Linear(d_model, d_model, bias=False)
#          self.w_key = nn.Linear(d_model, d_model, bias=False)
#          self.w_value = nn.Linear(d_model, d_model, bias=False)
#          self.w_output = nn.Linear(d_model, d_model)

# %% wrong DecoderBlock parts_renamed of="solution"
# `w_out.bias` should be called `w_output.bias`
# replace: self.w_value, self.w_output = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
# by:      self.w_value, self.w_out = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
# replace: self.w_output((weights
# by:      self.w_out((weights

# %% wrong DecoderBlock sizes_exchanged of="solution"
# the two sizes of nn.Linear(size in, size out) are swapped; it stores (out, in)
# replace: nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
# by:      nn.Linear(d_ff, d_model), nn.Linear(d_model, d_ff)

# %% wrong DecoderBlock four_times_as_wide of="solution"
# the parameters are not the ones the docstring names
# replace: self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
# by:      self.linear1 = nn.Linear(d_model, 4 * d_model)
#          self.linear2 = nn.Linear(4 * d_model, d_model)

# %% wrong DecoderBlock no_call_of_super of="solution"
# `super().__init__()` is missing: make it the first line of `__init__`
# replace: super().__init__()
# by:

# %% wrong DecoderBlock a_third_norm of="solution"
# leave out norm3.bias, norm3.weight: the docstring names every part
# replace: self.dropout = nn.Dropout(dropout)
# by:      self.dropout = nn.Dropout(dropout)
#          self.norm3 = nn.LayerNorm(d_model)

# %% wrong DecoderBlock one_projection_for_all_three of="solution"
# the parameters are not the ones the docstring names
# replace: self.w_query, self.w_key = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
#          self.w_value, self.w_output = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
# by:      self.w_input = nn.Linear(d_model, 3 * d_model)
#          self.w_output = nn.Linear(d_model, d_model)
# replace: project(normed).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
#          for project in (self.w_query, self.w_key, self.w_value)
# by:      part.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
#          for part in self.w_input(normed).chunk(3, -1)

# %% wrong DecoderBlock norms_that_learn_nothing of="solution"
# the parameters are not the ones the docstring names
# replace: self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
# by:      self.norm1 = nn.LayerNorm(d_model, elementwise_affine=False)
#          self.norm2 = nn.LayerNorm(d_model, elementwise_affine=False)

# %% wrong DecoderBlock rms_norms of="solution"
# the parameters are not the ones the docstring names
# replace: self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
# by:      self.norm1, self.norm2 = nn.RMSNorm(d_model), nn.RMSNorm(d_model)

# %% wrong DecoderBlock large_epsilon of="solution"
# Your norms add another eps to the variance: leave it at the default of nn.LayerNorm.
# replace: self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
# by:      self.norm1, self.norm2 = nn.LayerNorm(d_model, 0.1), nn.LayerNorm(d_model, 0.1)

# %% wrong DecoderBlock frozen_norms of="solution"
# make the parts as PyTorch makes them, and leave requires_grad as it is
# replace: self.dropout = nn.Dropout(dropout)
# by:      self.dropout = nn.Dropout(dropout)
#          self.norm1.requires_grad_(False)

# %% wrong DecoderBlock no_gradient of="solution"
# no gradient flows through the result
# replace: return x + self.dropout(
# by:      x = x.detach()
#          return x + self.dropout(
# replace: self.norm2(x)))))
# by:      self.norm2(x))))).detach()

# %% wrong DecoderBlock weights_detached of="solution"
# leave out no_grad, detach and new tensors on the way
# replace: scores.masked_fill(future, -torch.inf).softmax(-1)
# by:      scores.masked_fill(future, -torch.inf).softmax(-1).detach()

# %% wrong DecoderBlock nothing_returned of="solution"
# does the last line say `return`?
# replace: return x + self.dropout(
# by:      x + self.dropout(

# %% wrong DecoderBlock cache_returned_too of="solution"
# the result should be a tensor, got a tuple
# replace: return x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))
# by:      return x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x))))), cache

# %% wrong DecoderBlock added_in_place of="solution"
# make a new tensor, and leave the input as it is
# replace: x = x + self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))
# by:      x += self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))

# %% wrong DecoderBlock rows_squeezed of="solution"
# You remove axes of length 1: keep (batch, length, d_model).
# replace: return x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))
# by:      return (x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))).squeeze(0)

# %% wrong DecoderBlock no_error of="solution"
# expected a ValueError that names 6 and 4, but nothing was raised
# replace: if d_model % num_heads:
#              raise ValueError(f"d_model = {d_model} is not a multiple of num_heads = {num_heads}")
# by:

# %% wrong DecoderBlock assertion of="solution"
# You stop with an AssertionError, or with another error of Python's: raise a ValueError.
# replace: if d_model % num_heads:
#              raise ValueError(f"d_model = {d_model} is not a multiple of num_heads = {num_heads}")
# by:      assert d_model % num_heads == 0, f"{d_model} is not a multiple of {num_heads}"

# %% wrong DecoderBlock unnamed_numbers of="solution"
# raise ValueError(f"…"), with 6 and 4 in the message
# replace: f"d_model = {d_model} is not a multiple of num_heads = {num_heads}"
# by:      "num_heads must divide d_model"

# %% wrong DecoderBlock error_when_called of="solution"
# expected a ValueError that names 6 and 4, but nothing was raised
# replace: if d_model % num_heads:
#              raise ValueError(f"d_model = {d_model} is not a multiple of num_heads = {num_heads}")
# by:      self.sizes = d_model, num_heads
# replace: normed = self.norm1(x)
# by:      if self.sizes[0] % self.sizes[1]:
#              raise ValueError(f"{self.sizes}")
#          normed = self.norm1(x)

# %% wrong DecoderBlock division_the_other_way_round of="solution"
# You refuse heads that fit: d_model is to be a multiple of num_heads, not the other way round.
# replace: if d_model % num_heads:
# by:      if num_heads % d_model:

# %% wrong DecoderBlock no_dropout of="solution"
# You drop nothing in training: use nn.Dropout on the attention weights, after w_output, and after
# linear2.
# replace: self.dropout = nn.Dropout(dropout)
# by:      self.dropout = nn.Identity()

# %% wrong DecoderBlock dropout_on_weights_alone of="solution"
# You drop only attention weights: use dropout after w_output and after linear2 too.
# replace: x + self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))
# by:      x + self.w_output((weights @ value).transpose(1, 2).flatten(2))
# replace: return x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))
# by:      return x + self.linear2(F.gelu(self.linear1(self.norm2(x))))

# %% wrong DecoderBlock no_dropout_on_weights of="solution"
# drop attention weights, after the softmax; then drop once more, after w_output
# replace: self.dropout(scores.masked_fill(future, -torch.inf).softmax(-1))
# by:      scores.masked_fill(future, -torch.inf).softmax(-1)

# %% wrong DecoderBlock no_dropout_after_w_output of="solution"
# Nothing is dropped from the output of w_output: its bias passes.
# replace: x + self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))
# by:      x + self.w_output((weights @ value).transpose(1, 2).flatten(2))

# %% wrong DecoderBlock no_dropout_after_linear2 of="solution"
# Nothing is dropped from the output of linear2: its bias passes.
# replace: return x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))
# by:      return x + self.linear2(F.gelu(self.linear1(self.norm2(x))))

# %% wrong DecoderBlock dropout_before_w_output of="solution"
# Nothing is dropped from the output of w_output: its bias passes.
# replace: self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))
# by:      self.w_output(self.dropout((weights @ value).transpose(1, 2).flatten(2)))


# %% wrong DecoderBlock dropout_before_w_output_too
# drop attention weights, after the softmax; then drop once more, after w_output
class DecoderBlock(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"d_model = {d_model} is not a multiple of num_heads = {num_heads}")
        self.num_heads = num_heads
        self.w_query, self.w_key = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.w_value, self.w_output = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Tensor, cache: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] | None = None
    ) -> Tensor:
        normed = self.norm1(x)
        query, key, value = (
            project(normed).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for project in (self.w_query, self.w_key, self.w_value)
        )  # (batch, heads, length, d_head)
        if cache is not None:
            key, value = cache(key, value)  # (batch, heads, cached + length, d_head)
        scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
        cached = key.shape[-2] - query.shape[-2]
        future = torch.ones_like(scores, dtype=torch.bool).triu(cached + 1)
        weights = self.dropout(scores.masked_fill(future, -torch.inf).softmax(-1))
        x = x + self.dropout(
            self.w_output(self.dropout((weights @ value).transpose(1, 2).flatten(2)))
        )
        return x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))


# %% wrong DecoderBlock dropout_after_gelu of="solution"
# Nothing is dropped from the output of linear2: its bias passes.
# replace: self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))
# by:      self.linear2(self.dropout(F.gelu(self.linear1(self.norm2(x)))))

# %% wrong DecoderBlock dropout_after_gelu_too of="solution"
# in this block dropout comes after linear2: not after a norm, not after linear1, not after GELU
# replace: self.linear2(F.gelu(self.linear1(self.norm2(x))))
# by:      self.linear2(self.dropout(F.gelu(self.linear1(self.norm2(x)))))

# %% wrong DecoderBlock dropout_after_norm2_too of="solution"
# in this block dropout comes after linear2: not after a norm, not after linear1, not after GELU
# replace: self.linear1(self.norm2(x))
# by:      self.linear1(self.dropout(self.norm2(x)))

# %% wrong DecoderBlock dropout_after_norm1_too of="solution"
# drop attention weights, after the softmax; then drop once more, after w_output
# replace: normed = self.norm1(x)
# by:      normed = self.dropout(self.norm1(x))

# %% wrong DecoderBlock dropout_on_the_sum of="solution"
# You drop features of x itself: drop what a sublayer returns, before the sum.
# replace: return x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))
# by:      return self.dropout(x + self.linear2(F.gelu(self.linear1(self.norm2(x)))))


# %% wrong DecoderBlock dropout_on_the_result_too
# You drop features of x itself: drop what a sublayer returns, before the sum.
class DecoderBlock(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"d_model = {d_model} is not a multiple of num_heads = {num_heads}")
        self.num_heads = num_heads
        self.w_query, self.w_key = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.w_value, self.w_output = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Tensor, cache: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] | None = None
    ) -> Tensor:
        normed = self.norm1(x)
        query, key, value = (
            project(normed).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for project in (self.w_query, self.w_key, self.w_value)
        )  # (batch, heads, length, d_head)
        if cache is not None:
            key, value = cache(key, value)  # (batch, heads, cached + length, d_head)
        scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
        cached = key.shape[-2] - query.shape[-2]
        future = torch.ones_like(scores, dtype=torch.bool).triu(cached + 1)
        weights = self.dropout(scores.masked_fill(future, -torch.inf).softmax(-1))
        x = x + self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))
        return self.dropout(x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x))))))


# %% wrong DecoderBlock dropout_on_the_input of="solution"
# You drop features of x itself: drop what a sublayer returns, before the sum.
# replace: normed = self.norm1(x)
# by:      x = self.dropout(x)
#          normed = self.norm1(x)

# %% wrong DecoderBlock dropout_of_scores of="solution"
# drop attention weights, after the softmax; then drop once more, after w_output
# replace: self.dropout(scores.masked_fill(future, -torch.inf).softmax(-1))
# by:      self.dropout(scores).masked_fill(future, -torch.inf).softmax(-1)


# %% wrong DecoderBlock dropout_of_values
# drop attention weights, not features of the values
class DecoderBlock(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"d_model = {d_model} is not a multiple of num_heads = {num_heads}")
        self.num_heads = num_heads
        self.w_query, self.w_key = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.w_value, self.w_output = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Tensor, cache: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] | None = None
    ) -> Tensor:
        normed = self.norm1(x)
        query, key, value = (
            project(normed).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for project in (self.w_query, self.w_key, self.w_value)
        )  # (batch, heads, length, d_head)
        if cache is not None:
            key, value = cache(key, value)  # (batch, heads, cached + length, d_head)
        scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
        cached = key.shape[-2] - query.shape[-2]
        future = torch.ones_like(scores, dtype=torch.bool).triu(cached + 1)
        weights = scores.masked_fill(future, -torch.inf).softmax(-1)
        x = x + self.dropout(
            self.w_output((weights @ self.dropout(value)).transpose(1, 2).flatten(2))
        )
        return x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))


# %% wrong DecoderBlock dropout_of_queries_keys_and_values of="solution"
# drop attention weights, after the softmax; then drop once more, after w_output
# replace: project(normed).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
# by:      self.dropout(project(normed)).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

# %% wrong DecoderBlock weights_dropped_and_scaled_back of="solution"
# drop attention weights, after the softmax; then drop once more, after w_output
# replace: weights = self.dropout(scores.masked_fill(future, -torch.inf).softmax(-1))
# by:      weights = self.dropout(scores.masked_fill(future, -torch.inf).softmax(-1))
#          weights = weights / weights.sum(-1, keepdim=True).clamp(min=1e-9)

# %% wrong DecoderBlock weights_dropped_twice of="solution"
# drop attention weights, after the softmax; then drop once more, after w_output
# replace: self.dropout(scores.masked_fill(future, -torch.inf).softmax(-1))
# by:      self.dropout(self.dropout(scores.masked_fill(future, -torch.inf).softmax(-1)))

# %% wrong DecoderBlock dropped_twice_after_linear2 of="solution"
# call dropout once after w_output and once after linear2
# replace: return x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))
# by:      return x + self.dropout(self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x))))))

# %% wrong DecoderBlock dropout_in_evaluation_too of="solution"
# You drop in evaluation too: pass training=self.training to F.dropout in forward, or keep an
# nn.Dropout on self.
# replace: self.dropout = nn.Dropout(dropout)
# by:      self.dropout = lambda y: F.dropout(y, dropout)

# %% wrong DecoderBlock weights_dropped_in_evaluation_too of="solution"
# In evaluation you still drop attention weights: pass dropout_p=0 there, as with
# F.scaled_dot_product_attention.
# replace: scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
# by:
# replace: future = torch.ones_like(scores, dtype=torch.bool).triu(cached + 1)
#          weights = self.dropout(scores.masked_fill(future, -torch.inf).softmax(-1))
# by:      new, length = query.shape[-2], key.shape[-2]
#          allowed = torch.ones(new, length, dtype=torch.bool, device=x.device).tril(cached)
#          attended = F.scaled_dot_product_attention(query, key, value, allowed, self.dropout.p)
# replace: (weights @ value).transpose
# by:      attended.transpose

# %% wrong DecoderBlock keep_and_drop_exchanged of="solution"
# You pass 1 - dropout, so a rate of 0 drops everything: nn.Dropout takes the share that is dropped.
# replace: nn.Dropout(dropout)
# by:      nn.Dropout(1 - dropout)

# %% wrong DecoderBlock rate_fixed of="solution"
# you drop something although the rate is 0: pass `dropout` to nn.Dropout
# replace: nn.Dropout(dropout)
# by:      nn.Dropout(0.1)

# %% wrong DecoderBlock rate_halved of="solution"
# Not everything is dropped at a rate of 1: pass `dropout` to nn.Dropout.
# replace: nn.Dropout(dropout)
# by:      nn.Dropout(dropout / 2)

# %% wrong DecoderBlock not_rescaled of="solution"
# call dropout once after w_output and once after linear2
# replace: self.dropout = nn.Dropout(dropout)
# by:      self.dropout = lambda y: y * (torch.rand_like(y) >= dropout if self.training else 1)

# %% wrong DecoderBlock whole_tokens_dropped of="solution"
# pass the whole output of a sublayer to one nn.Dropout: it draws for each element
# replace: x = x + self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))
#          return x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))
# by:      whole = self.dropout(torch.ones_like(x[..., :1]))
#          x = x + whole * self.w_output((weights @ value).transpose(1, 2).flatten(2))
#          whole = self.dropout(torch.ones_like(x[..., :1]))
#          return x + whole * self.linear2(F.gelu(self.linear1(self.norm2(x))))

# %% wrong DecoderBlock mask_shared_by_the_batch of="solution"
# pass the whole output of a sublayer to one nn.Dropout: it draws for each element
# replace: x = x + self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))
#          return x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))
# by:      kept = self.dropout(torch.ones_like(x[:1]))
#          x = x + kept * self.w_output((weights @ value).transpose(1, 2).flatten(2))
#          kept = self.dropout(torch.ones_like(x[:1]))
#          return x + kept * self.linear2(F.gelu(self.linear1(self.norm2(x))))

# %% wrong DecoderBlock one_mask_for_both_sums of="solution"
# call dropout in each position: it draws a new mask in every call
# replace: x = x + self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))
#          return x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))
# by:      kept = self.dropout(torch.ones_like(x))
#          x = x + kept * self.w_output((weights @ value).transpose(1, 2).flatten(2))
#          return x + kept * self.linear2(F.gelu(self.linear1(self.norm2(x))))

# %% wrong DecoderBlock same_draw_each_time of="solution"
# every call draws a new mask: leave torch's random generator as it is
# replace: normed = self.norm1(x)
# by:      torch.manual_seed(0)
#          normed = self.norm1(x)

# %% wrong DecoderBlock cache_ignored of="solution"
# Your block never calls the cache: if there is one, call it with the new keys and values.
# replace: if cache is not None:
#              key, value = cache(key, value)  # (batch, heads, cached + length, d_head)
# by:

# %% wrong DecoderBlock cache_in_evaluation_alone of="solution"
# In training your block does not call the cache: call it in both modes.
# replace: if cache is not None:
# by:      if cache is not None and not self.training:

# %% wrong DecoderBlock cache_in_training_alone of="solution"
# In evaluation your block does not call the cache: call it in both modes.
# replace: if cache is not None:
# by:      if cache is not None and self.training:

# %% wrong DecoderBlock cache_for_single_tokens_alone of="solution"
# For several new tokens your block does not call the cache: call it for any number.
# replace: if cache is not None:
# by:      if cache is not None and x.shape[1] == 1:

# %% wrong DecoderBlock cache_result_ignored of="solution"
# Your new tokens attend only to one another: attend to all keys and values that the cache returns.
# replace: key, value = cache(key, value)
# by:      cache(key, value)

# %% wrong DecoderBlock cached_keys_alone of="solution"
# You use the keys that the cache returns, but the values of the new tokens alone: it returns both.
# replace: key, value = cache(key, value)
# by:      key, _ = cache(key, value)

# %% wrong DecoderBlock cached_values_alone of="solution"
# You use the values that the cache returns, but the keys of the new tokens alone: it returns both.
# replace: key, value = cache(key, value)
# by:      _, value = cache(key, value)


# %% wrong DecoderBlock cache_called_twice
# key, value = cache(key, value): a second call would cache the same tokens again
class DecoderBlock(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"d_model = {d_model} is not a multiple of num_heads = {num_heads}")
        self.num_heads = num_heads
        self.w_query, self.w_key = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.w_value, self.w_output = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Tensor, cache: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] | None = None
    ) -> Tensor:
        normed = self.norm1(x)
        query, key, value = (
            project(normed).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for project in (self.w_query, self.w_key, self.w_value)
        )  # (batch, heads, length, d_head)
        if cache is not None:
            key, value = (
                cache(key, value)[0],
                cache(key, value)[1],
            )  # (batch, heads, cached + length, d_head)
        scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
        cached = key.shape[-2] - query.shape[-2]
        future = torch.ones_like(scores, dtype=torch.bool).triu(cached + 1)
        weights = self.dropout(scores.masked_fill(future, -torch.inf).softmax(-1))
        x = x + self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))
        return x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))


# %% wrong DecoderBlock cache_called_for_each_row of="solution"
# key, value = cache(key, value): a second call would cache the same tokens again
# replace: key, value = cache(key, value)  # (batch, heads, cached + length, d_head)
# by:      rows = [cache(key[i : i + 1], value[i : i + 1]) for i in range(len(x))]
#          key, value = torch.cat([row[0] for row in rows]), torch.cat([row[1] for row in rows])

# %% wrong DecoderBlock cache_called_for_each_head of="solution"
# key, value = cache(key, value): a second call would cache the same tokens again
# replace: key, value = cache(key, value)  # (batch, heads, cached + length, d_head)
# by:      heads = [cache(key[:, i : i + 1], value[:, i : i + 1]) for i in range(self.num_heads)]
#          key, value = torch.cat([h[0] for h in heads], 1), torch.cat([h[1] for h in heads], 1)

# %% wrong DecoderBlock values_first of="solution"
# You pass values first: cache(key, value) takes the keys first.
# replace: cache(key, value)
# by:      cache(value, key)

# %% wrong DecoderBlock result_exchanged of="solution"
# You take the values that the cache returns for keys: it returns keys first.
# replace: key, value = cache(key, value)
# by:      value, key = cache(key, value)


# %% wrong DecoderBlock heads_split_after_the_cache
# split the heads first, then call the cache
class DecoderBlock(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"d_model = {d_model} is not a multiple of num_heads = {num_heads}")
        self.num_heads = num_heads
        self.w_query, self.w_key = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.w_value, self.w_output = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Tensor, cache: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] | None = None
    ) -> Tensor:
        normed = self.norm1(x)
        query, key, value = (
            project(normed) for project in (self.w_query, self.w_key, self.w_value)
        )  # (batch, heads, length, d_head)
        if cache is not None:
            key, value = cache(key, value)  # (batch, heads, cached + length, d_head)
        query, key, value = (
            part.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for part in (query, key, value)
        )
        scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
        cached = key.shape[-2] - query.shape[-2]
        future = torch.ones_like(scores, dtype=torch.bool).triu(cached + 1)
        weights = self.dropout(scores.masked_fill(future, -torch.inf).softmax(-1))
        x = x + self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))
        return x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))


# %% wrong DecoderBlock heads_third of="solution"
# split the heads first, then call the cache
# replace: key, value = cache(key, value)  # (batch, heads, cached + length, d_head)
# by:      key, value = cache(key.transpose(1, 2), value.transpose(1, 2))
#          key, value = key.transpose(1, 2), value.transpose(1, 2)

# %% wrong DecoderBlock tokens_cached of="solution"
# split the heads first, then call the cache
# replace: if cache is not None:
#              key, value = cache(key, value)  # (batch, heads, cached + length, d_head)
# by:      if cache is not None:
#              key, value = cache(normed, normed)

# %% wrong DecoderBlock mask_from_the_top_left of="solution"
# After cached tokens, your mask gives the first new token only the first key: it may attend to all
# cached keys and to itself.
# replace: triu(cached + 1)
# by:      triu(1)


# %% wrong DecoderBlock is_causal
# After cached tokens, your mask gives the first new token only the first key: it may attend to all
# cached keys and to itself.
class DecoderBlock(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"d_model = {d_model} is not a multiple of num_heads = {num_heads}")
        self.num_heads = num_heads
        self.w_query, self.w_key = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.w_value, self.w_output = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Tensor, cache: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] | None = None
    ) -> Tensor:
        normed = self.norm1(x)
        query, key, value = (
            project(normed).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for project in (self.w_query, self.w_key, self.w_value)
        )  # (batch, heads, length, d_head)
        if cache is not None:
            key, value = cache(key, value)  # (batch, heads, cached + length, d_head)
        rate = self.dropout.p if self.training else 0.0
        attended = F.scaled_dot_product_attention(query, key, value, dropout_p=rate, is_causal=True)
        x = x + self.dropout(self.w_output(attended.transpose(1, 2).flatten(2)))
        return x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))


# %% wrong DecoderBlock no_mask_with_a_cache
# the causal mask is needed with a cache as well
class DecoderBlock(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"d_model = {d_model} is not a multiple of num_heads = {num_heads}")
        self.num_heads = num_heads
        self.w_query, self.w_key = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.w_value, self.w_output = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Tensor, cache: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] | None = None
    ) -> Tensor:
        normed = self.norm1(x)
        query, key, value = (
            project(normed).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for project in (self.w_query, self.w_key, self.w_value)
        )  # (batch, heads, length, d_head)
        if cache is not None:
            key, value = cache(key, value)  # (batch, heads, cached + length, d_head)
        scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
        cached = key.shape[-2] - query.shape[-2]
        future = torch.ones_like(scores, dtype=torch.bool).triu(cached + 1)
        weights = self.dropout(
            scores.masked_fill(future & torch.tensor(cache is None), -torch.inf).softmax(-1)
        )
        x = x + self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))
        return x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))


# %% wrong DecoderBlock no_mask_after_cached_tokens
# After cached tokens, your tokens attend to later ones in the same call: the mask is needed there
# too.
class DecoderBlock(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"d_model = {d_model} is not a multiple of num_heads = {num_heads}")
        self.num_heads = num_heads
        self.w_query, self.w_key = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.w_value, self.w_output = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Tensor, cache: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] | None = None
    ) -> Tensor:
        normed = self.norm1(x)
        query, key, value = (
            project(normed).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for project in (self.w_query, self.w_key, self.w_value)
        )  # (batch, heads, length, d_head)
        if cache is not None:
            key, value = cache(key, value)  # (batch, heads, cached + length, d_head)
        scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
        cached = key.shape[-2] - query.shape[-2]
        future = torch.ones_like(scores, dtype=torch.bool).triu(cached + 1)
        weights = self.dropout(
            scores.masked_fill(future & torch.tensor(cached == 0), -torch.inf).softmax(-1)
        )
        x = x + self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))
        return x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))


# %% wrong DecoderBlock new_tokens_see_no_later_cached_ones of="solution"
# After cached tokens, your mask hides the newest key from every token: a token attends to itself
# too.
# replace: triu(cached + 1)
# by:      triu(cached + (cached == 0))

# %% wrong DecoderBlock one_ahead_after_cached_tokens of="solution"
# After cached tokens, a token attends to the next one: the diagonal of the mask is off by one.
# replace: triu(cached + 1)
# by:      triu(cached + 1 + (cached > 0))


# %% wrong DecoderBlock cached_keys_hidden
# Your new tokens attend only to one another: attend to all keys and values that the cache returns.
class DecoderBlock(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"d_model = {d_model} is not a multiple of num_heads = {num_heads}")
        self.num_heads = num_heads
        self.w_query, self.w_key = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.w_value, self.w_output = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Tensor, cache: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] | None = None
    ) -> Tensor:
        normed = self.norm1(x)
        query, key, value = (
            project(normed).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for project in (self.w_query, self.w_key, self.w_value)
        )  # (batch, heads, length, d_head)
        if cache is not None:
            key, value = cache(key, value)  # (batch, heads, cached + length, d_head)
        scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
        cached = key.shape[-2] - query.shape[-2]
        future = torch.ones_like(scores, dtype=torch.bool).triu(cached + 1) | (
            torch.arange(key.shape[-2]) < cached
        )
        weights = self.dropout(scores.masked_fill(future, -torch.inf).softmax(-1))
        x = x + self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))
        return x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))


# %% wrong DecoderBlock new_keys_twice of="solution"
# You join the new keys to what the cache returns, which holds them already.
# replace: key, value = cache(key, value)  # (batch, heads, cached + length, d_head)
# by:      old_key, old_value = cache(key, value)
#          key, value = torch.cat([old_key, key], 2), torch.cat([old_value, value], 2)

# %% wrong DecoderBlock cache_cut_to_the_new_tokens of="solution"
# Your new tokens attend only to one another: attend to all keys and values that the cache returns.
# replace: key, value = cache(key, value)  # (batch, heads, cached + length, d_head)
# by:      keys, values = cache(key, value)
#          key, value = keys[:, :, -x.shape[1] :], values[:, :, -x.shape[1] :]

# %% wrong DecoderBlock oldest_keys_of_the_cache of="solution"
# You use only the oldest keys and values of the cache: the new tokens may attend to all of them.
# replace: key, value = cache(key, value)  # (batch, heads, cached + length, d_head)
# by:      keys, values = cache(key, value)
#          key, value = keys[:, :, : x.shape[1]], values[:, :, : x.shape[1]]

# %% wrong DecoderBlock last_token_alone_with_a_cache of="solution"
# With a cache you return the last token alone: return all tokens of x.
# replace: return x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))
# by:      x = x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))
#          return x if cache is None else x[:, -1:]

# %% wrong DecoderBlock cache_as_an_object of="solution"
# In the cache you use a method or an attribute of your own: it may be any callable, so only call
# it.
# replace: key, value = cache(key, value)
# by:      key, value = cache.forward(key, value)

# %% base DecoderBlock scaled_dot_product of="solution"
# replace: scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
#          cached = key.shape[-2] - query.shape[-2]
#          future = torch.ones_like(scores, dtype=torch.bool).triu(cached + 1)
#          weights = self.dropout(scores.masked_fill(future, -torch.inf).softmax(-1))
#          x = x + self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))
# by:      new, length = query.shape[-2], key.shape[-2]
#          allowed = torch.ones(new, length, dtype=torch.bool, device=x.device).tril(length - new)
#          rate = self.dropout.p if self.training else 0.0
#          attended = F.scaled_dot_product_attention(query, key, value, allowed, rate)
#          x = x + self.dropout(self.w_output(attended.transpose(1, 2).flatten(2)))

# %% right DecoderBlock scaled_keys_cached of="solution"
# replace: if cache is not None:
# by:      key = key / query.shape[-1] ** 0.5
#          if cache is not None:
# replace: key.transpose(-1, -2) / query.shape[-1] ** 0.5
# by:      key.transpose(-1, -2)

# %% right DecoderBlock of_pytorch of="scaled_dot_product"
# replace: return x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))
# by:      hidden = nn.functional.gelu(self.linear1(self.norm2(x)), approximate="none")
#          return x + self.dropout(self.linear2(hidden))

# %% right DecoderBlock is_causal_without_a_cache of="scaled_dot_product"
# replace: attended = F.scaled_dot_product_attention(query, key, value, allowed, rate)
# by:      alone = new == length
#          attended = F.scaled_dot_product_attention(
#              query, key, value, None if alone else allowed, rate, is_causal=alone
#          )

# %% right DecoderBlock a_number_added_to_the_scores of="scaled_dot_product"
# replace: attended = F.scaled_dot_product_attention(query, key, value, allowed, rate)
# by:      added = torch.zeros_like(allowed, dtype=x.dtype).masked_fill(~allowed, float("-inf"))
#          attended = F.scaled_dot_product_attention(query, key, value, added, rate)


# %% right DecoderBlock einsum
class DecoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(str((num_heads, d_model)) + ": the first must divide the second")
        self.d_head = d_model // num_heads
        for name in ("w_query", "w_key", "w_value", "w_output"):
            setattr(self, name, nn.Linear(d_model, d_model))
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.gelu = nn.GELU()
        self.drop_weights = nn.Dropout(dropout)
        self.drop_attention = nn.Dropout(dropout)
        self.drop_network = nn.Dropout(dropout)

    def attend(self, x, cache):
        batch, length, d_model = x.shape
        q = self.w_query(x).view(batch, length, -1, self.d_head).permute(0, 2, 1, 3)
        k = self.w_key(x).view(batch, length, -1, self.d_head).permute(0, 2, 1, 3)
        v = self.w_value(x).view(batch, length, -1, self.d_head).permute(0, 2, 1, 3)
        if cache is not None:
            k, v = cache(k, v)
        total = k.size(2)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) * self.d_head**-0.5
        q_at = torch.arange(total - length, total, device=x.device)[:, None]
        k_at = torch.arange(total, device=x.device)[None, :]
        scores = scores + torch.where(k_at <= q_at, 0.0, float("-inf")).to(x.dtype)
        weights = self.drop_weights(torch.softmax(scores, dim=-1))
        out = torch.einsum("bhqk,bhkd->bqhd", weights, v).reshape(batch, length, d_model)
        return self.drop_attention(self.w_output(out))

    def forward(self, x, cache=None):
        x = x + self.attend(self.norm1(x), cache)
        return x + self.drop_network(self.linear2(self.gelu(self.linear1(self.norm2(x)))))


# %% right DecoderBlock a_head_at_a_time of="solution"
# replace: query, key, value = (
#              project(normed).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
#              for project in (self.w_query, self.w_key, self.w_value)
#          )  # (batch, heads, length, d_head)
#          if cache is not None:
# by:      width = x.shape[-1] // self.num_heads
#          query, key, value = (
#              torch.stack(project(normed).split(width, dim=-1), dim=1)
#              for project in (self.w_query, self.w_key, self.w_value)
#          )
#          if cache:
# replace: x = x + self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))
# by:      heads = [weights[:, h] @ value[:, h] for h in range(self.num_heads)]
#          x = x + self.dropout(self.w_output(torch.cat(heads, dim=-1)))

# %% right DecoderBlock a_query_at_a_time of="solution"
# replace: scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
#          cached = key.shape[-2] - query.shape[-2]
#          future = torch.ones_like(scores, dtype=torch.bool).triu(cached + 1)
#          weights = self.dropout(scores.masked_fill(future, -torch.inf).softmax(-1))
#          x = x + self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))
# by:      before, attended = key.shape[2] - query.shape[2], []
#          for i in range(query.shape[2]):
#              upto = before + i + 1
#              scores = query[:, :, i : i + 1] @ key[:, :, :upto].mT / query.shape[-1] ** 0.5
#              attended.append(self.dropout(scores.softmax(-1)) @ value[:, :, :upto])
#          joined = torch.cat(attended, 2).transpose(1, 2).reshape(x.shape)
#          x = x + self.dropout(self.w_output(joined))

# %% right DecoderBlock a_buffer_for_the_mask of="solution"
# replace: self.dropout = nn.Dropout(dropout)
# by:      self.dropout = nn.Dropout(dropout)
#          self.register_buffer("causal", torch.ones(400, 400).tril() == 1)
# replace: future = torch.ones_like(scores, dtype=torch.bool).triu(cached + 1)
# by:      end = key.shape[-2]
#          future = ~self.causal[end - query.shape[-2] : end, :end]


# %% right DecoderBlock large_negative_number
class DecoderBlock(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"d_model = {d_model} is not a multiple of num_heads = {num_heads}")
        self.num_heads = num_heads
        self.w_query, self.w_key = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.w_value, self.w_output = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Tensor, cache: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] | None = None
    ) -> Tensor:
        normed = self.norm1(x)
        query, key, value = (
            project(normed).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for project in (self.w_query, self.w_key, self.w_value)
        )  # (batch, heads, length, d_head)
        if cache is not None:
            key, value = cache(key, value)  # (batch, heads, cached + length, d_head)
        scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
        cached = key.shape[-2] - query.shape[-2]
        future = torch.ones_like(scores, dtype=torch.bool).triu(cached + 1)
        weights = self.dropout(
            torch.where(future, torch.finfo(scores.dtype).min, scores).softmax(-1)
        )
        x = x + self.dropout(self.w_output((weights @ value).transpose(1, 2).flatten(2)))
        return x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))


# %% right DecoderBlock gelu_by_erf of="solution"
# replace: return x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))
# by:      hidden = self.linear1(self.norm2(x))
#          hidden = 0.5 * hidden * (1.0 + torch.erf(hidden / 2**0.5))
#          return x + self.dropout(self.linear2(hidden))


# %% right DecoderBlock two_methods_and_f_dropout
class DecoderBlock(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        if d_model % num_heads:
            raise ValueError(f"{num_heads} heads cannot share {d_model} features")
        super().__init__()
        self.heads, self.p = num_heads, dropout
        self.norm2, self.norm1 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.linear2, self.linear1 = nn.Linear(d_ff, d_model), nn.Linear(d_model, d_ff)
        self.w_output = nn.Linear(d_model, d_model)
        self.w_value = nn.Linear(d_model, d_model)
        self.w_key = nn.Linear(d_model, d_model)
        self.w_query = nn.Linear(d_model, d_model)

    def drop(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.p, self.training)

    def heads_of(self, x: Tensor) -> Tensor:
        return x.reshape(*x.shape[:2], self.heads, -1).swapaxes(1, 2)

    def forward(self, x: Tensor, cache=None) -> Tensor:
        y = self.norm1(x)
        q, k, v = (self.heads_of(layer(y)) for layer in (self.w_query, self.w_key, self.w_value))
        k, v = (k, v) if cache is None else cache(k, v)
        scores = torch.matmul(q, k.transpose(2, 3)) / (q.shape[3] ** 0.5)
        mask = torch.ones(scores.shape[2:], dtype=torch.bool, device=x.device)
        mask = mask.tril(scores.shape[3] - scores.shape[2])
        weights = self.drop(F.softmax(scores.masked_fill(~mask, float("-inf")), dim=3))
        joined = torch.matmul(weights, v).swapaxes(1, 2).reshape(x.shape)
        x = x + self.drop(self.w_output(joined))
        return x + self.drop(self.linear2(F.gelu(self.linear1(self.norm2(x)))))


# %% wrong GPT output_table_of_its_own of="solution"
# your output has a table of its own: use the rows of `tokens` for it
# replace: self.dropout = nn.Dropout(dropout)
# by:      self.dropout = nn.Dropout(dropout)
#          self.head = nn.Linear(d_model, vocab_size, bias=False)
# replace: F.linear(self.norm(x), self.tokens.weight)
# by:      self.head(self.norm(x))

# %% wrong GPT output_layer_of_its_own of="output_table_of_its_own"
# your output has a table and a bias of its own: use the rows of `tokens`, and no bias
# replace: nn.Linear(d_model, vocab_size, bias=False)
# by:      nn.Linear(d_model, vocab_size)

# %% wrong GPT tied_with_a_bias of="output_table_of_its_own"
# your output has a bias: leave it out
# replace: self.head = nn.Linear(d_model, vocab_size, bias=False)
# by:      self.head = nn.Linear(d_model, vocab_size)
#          self.head.weight = self.tokens.weight

# %% wrong GPT table_copied of="output_table_of_its_own"
# your output has a table of its own: use the rows of `tokens` for it
# replace: self.head = nn.Linear(d_model, vocab_size, bias=False)
# by:      self.head = nn.Linear(d_model, vocab_size, bias=False)
#          self.head.weight.data = self.tokens.weight.data.clone()

# %% wrong GPT numbers_shared_not_the_parameter of="output_table_of_its_own"
# your output has a table of its own: use the rows of `tokens` for it
# replace: self.head = nn.Linear(d_model, vocab_size, bias=False)
# by:      self.head = nn.Linear(d_model, vocab_size, bias=False)
#          self.head.weight.data = self.tokens.weight.data

# %% wrong GPT no_final_norm of="solution"
# You leave out the final norm: the logits come from norm(x).
# replace: F.linear(self.norm(x), self.tokens.weight)
# by:      F.linear(x, self.tokens.weight)

# %% wrong GPT norm_before_the_blocks of="solution"
# Your norm comes before the blocks: it comes after the last one.
# replace: for i, block in enumerate(self.blocks):
# by:      x = self.norm(x)
#          for i, block in enumerate(self.blocks):
# replace: F.linear(self.norm(x), self.tokens.weight)
# by:      F.linear(x, self.tokens.weight)

# %% wrong GPT norm_before_and_after of="solution"
# You use the norm before the blocks as well: it comes after the last one alone.
# replace: for i, block in enumerate(self.blocks):
# by:      x = self.norm(x)
#          for i, block in enumerate(self.blocks):

# %% wrong GPT norm_after_each_block of="solution"
# You use the final norm after every block: it comes after the last one alone.
# replace: x = block(x, None if caches is None else caches[i])
# by:      x = self.norm(block(x, None if caches is None else caches[i]))
# replace: F.linear(self.norm(x), self.tokens.weight)
# by:      F.linear(x, self.tokens.weight)

# %% wrong GPT norm_twice of="solution"
# You use the final norm twice in a row: once is enough.
# replace: self.norm(x)
# by:      self.norm(self.norm(x))

# %% wrong GPT no_positions of="solution"
# Your positions have no influence: add their embeddings to those of the tokens.
# replace: self.tokens(tokens) + self.positions(indices)
# by:      self.tokens(tokens)

# %% wrong GPT no_tokens of="solution"
# Your tokens have no influence: add their embeddings to those of the positions.
# replace: self.tokens(tokens) + self.positions(indices)
# by:      self.positions(indices).expand(*tokens.shape, -1)

# %% wrong GPT embeddings_multiplied of="solution"
# You multiply the embeddings of token and position: add them.
# replace: self.tokens(tokens) + self.positions(indices)
# by:      self.tokens(tokens) * self.positions(indices)

# %% wrong GPT embeddings_averaged of="solution"
# You average the embeddings of token and position: add them.
# replace: self.tokens(tokens) + self.positions(indices)
# by:      (self.tokens(tokens) + self.positions(indices)) / 2

# %% wrong GPT positions_of_the_tokens of="solution"
# You look up positions by the tokens' numbers: a position is 0, 1, 2, … along the row.
# replace: self.positions(indices)
# by:      self.positions(tokens.clamp(max=context - 1))

# %% wrong GPT positions_from_one of="solution"
# Your positions start at 1: the first one is 0.
# replace: self.positions(indices)
# by:      self.positions((indices + 1).clamp(max=context - 1))

# %% wrong GPT positions_from_the_end of="solution"
# Your positions count from the end: the first token has position 0.
# replace: self.positions(indices)
# by:      self.positions(indices.flip(0))

# %% wrong GPT last_positions_of_the_context of="solution"
# You take the last rows of `positions`: the first token has position 0.
# replace: self.positions(indices)
# by:      self.positions(indices - end + context)

# %% wrong GPT one_position_for_all of="solution"
# All of your tokens have position 0: they count 0, 1, 2, … along the row.
# replace: self.positions(indices)
# by:      self.positions(indices * 0)

# %% wrong GPT positions_along_the_batch of="solution"
# Your positions run along the batch: they count along each row.
# replace: self.positions(indices)
# by:      self.positions(torch.arange(len(tokens)))[:, None]


# %% wrong GPT scaled_by_the_root_of_the_width
# You multiply the embeddings of the tokens by √d_model: add them as they are.
class GPT(nn.Module):
    def __init__(
        self,
        vocab_size: int,
        context: int,
        d_model: int,
        num_layers: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, d_model)
        self.positions = nn.Embedding(context, d_model)
        for table in (self.tokens, self.positions):
            nn.init.normal_(table.weight, std=0.1)
        self.blocks = nn.ModuleList(
            DecoderBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        tokens: Tensor,
        caches: Sequence[Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]] | None = None,
        start: int = 0,
    ) -> Tensor:
        end, context = start + tokens.shape[1], self.positions.num_embeddings
        if end > context:
            raise ValueError(f"{end} tokens do not fit into a context of {context}")
        indices = torch.arange(start, end, device=tokens.device)
        x = self.dropout(
            self.tokens(tokens) * self.norm.normalized_shape[0] ** 0.5 + self.positions(indices)
        )
        for i, block in enumerate(self.blocks):
            x = block(x, None if caches is None else caches[i])
        return F.linear(self.norm(x), self.tokens.weight)


# %% wrong GPT both_scaled_by_the_root_of_the_width
# You multiply the embeddings by √d_model: add them as they are.
class GPT(nn.Module):
    def __init__(
        self,
        vocab_size: int,
        context: int,
        d_model: int,
        num_layers: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, d_model)
        self.positions = nn.Embedding(context, d_model)
        for table in (self.tokens, self.positions):
            nn.init.normal_(table.weight, std=0.1)
        self.blocks = nn.ModuleList(
            DecoderBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        tokens: Tensor,
        caches: Sequence[Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]] | None = None,
        start: int = 0,
    ) -> Tensor:
        end, context = start + tokens.shape[1], self.positions.num_embeddings
        if end > context:
            raise ValueError(f"{end} tokens do not fit into a context of {context}")
        indices = torch.arange(start, end, device=tokens.device)
        x = self.dropout(
            (self.tokens(tokens) + self.positions(indices)) * self.norm.normalized_shape[0] ** 0.5
        )
        for i, block in enumerate(self.blocks):
            x = block(x, None if caches is None else caches[i])
        return F.linear(self.norm(x), self.tokens.weight)


# %% wrong GPT sines of="solution"
# the model needs a part called `positions`, kept on self
# replace: self.positions = nn.Embedding(context, d_model)
#          for table in (self.tokens, self.positions):
#              nn.init.normal_(table.weight, std=0.1)
# by:      nn.init.normal_(self.tokens.weight, std=0.1)
#          waves = torch.arange(context)[:, None] / 10_000 ** (torch.arange(d_model) / d_model)
#          self.register_buffer("waves", waves.sin())
# replace: self.positions.num_embeddings
# by:      len(self.waves)
# replace: self.positions(indices)
# by:      self.waves[indices]

# %% wrong GPT standard_deviation_of_one of="solution"
# the parameters in `tokens` should have mean 0 and standard deviation 0.1
# replace: for table in (self.tokens, self.positions):
#              nn.init.normal_(table.weight, std=0.1)
# by:

# %% wrong GPT tokens_drawn_alone of="solution"
# the numbers in `positions` should have mean 0 and standard deviation 0.1
# replace: for table in (self.tokens, self.positions):
# by:      for table in (self.tokens,):

# %% wrong GPT positions_drawn_alone of="solution"
# the parameters in `tokens` should have mean 0 and standard deviation 0.1
# replace: for table in (self.tokens, self.positions):
# by:      for table in (self.positions,):

# %% wrong GPT standard_deviation_of_gpt_2 of="solution"
# the parameters in `tokens` should have mean 0 and standard deviation 0.1
# replace: std=0.1
# by:      std=0.02

# %% wrong GPT variance_for_standard_deviation of="solution"
# the parameters in `tokens` should have mean 0 and standard deviation 0.1
# replace: std=0.1
# by:      std=0.1**0.5

# %% wrong GPT uniform_numbers of="solution"
# the parameters in `tokens` should have mean 0 and standard deviation 0.1
# replace: nn.init.normal_(table.weight, std=0.1)
# by:      nn.init.uniform_(table.weight, -0.1, 0.1)

# %% wrong GPT mean_of_a_tenth of="solution"
# the parameters in `tokens` should have mean 0 and standard deviation 0.1
# replace: nn.init.normal_(table.weight, std=0.1)
# by:      nn.init.normal_(table.weight, 0.1)

# %% wrong GPT positions_of_zeros of="solution"
# the numbers in `positions` should have mean 0 and standard deviation 0.1
# replace: self.blocks = nn.ModuleList(
# by:      nn.init.zeros_(self.positions.weight)
#          self.blocks = nn.ModuleList(

# %% wrong GPT one_block_for_all of="solution"
# each block needs its own parameters: make a new DecoderBlock for each of the num_layers
# replace: self.blocks = nn.ModuleList(
#              DecoderBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)
#          )
# by:      block = DecoderBlock(d_model, num_heads, d_ff, dropout)
#          self.blocks = nn.ModuleList([block] * num_layers)


# %% wrong GPT plain_list
# keep the blocks in an nn.ModuleList, as self.blocks: a plain list hides them
class GPT(nn.Module):
    def __init__(
        self,
        vocab_size: int,
        context: int,
        d_model: int,
        num_layers: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, d_model)
        self.positions = nn.Embedding(context, d_model)
        for table in (self.tokens, self.positions):
            nn.init.normal_(table.weight, std=0.1)
        self.blocks = [DecoderBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)]
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        tokens: Tensor,
        caches: Sequence[Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]] | None = None,
        start: int = 0,
    ) -> Tensor:
        end, context = start + tokens.shape[1], self.positions.num_embeddings
        if end > context:
            raise ValueError(f"{end} tokens do not fit into a context of {context}")
        indices = torch.arange(start, end, device=tokens.device)
        x = self.dropout(self.tokens(tokens) + self.positions(indices))
        for i, block in enumerate(self.blocks):
            x = block(x, None if caches is None else caches[i])
        return F.linear(self.norm(x), self.tokens.weight)


# %% wrong GPT one_block of="solution"
# each block needs its own parameters: make a new DecoderBlock for each of the num_layers
# replace: range(num_layers)
# by:      range(1)

# %% wrong GPT one_block_too_many of="solution"
# `blocks` should hold num_layers DecoderBlocks and nothing else, each with this d_model, num_heads
# and d_ff
# replace: range(num_layers)
# by:      range(num_layers + 1)

# %% wrong GPT blocks_renamed of="solution"
# keep the blocks in an nn.ModuleList, as self.blocks: a plain list hides them
# replace: self.blocks = nn.ModuleList(
# by:      self.layers = nn.ModuleList(
# replace: enumerate(self.blocks)
# by:      enumerate(self.layers)

# %% wrong GPT tokens_renamed of="solution"
# the model needs a part called `tokens`, kept on self
# replace: self.tokens = nn.Embedding(vocab_size, d_model)
# by:      self.embedding = nn.Embedding(vocab_size, d_model)
# replace: (self.tokens, self.positions)
# by:      (self.embedding, self.positions)
# replace: self.tokens(tokens)
# by:      self.embedding(tokens)
# replace: self.tokens.weight
# by:      self.embedding.weight

# %% wrong GPT norm_renamed of="solution"
# the model needs a part called `norm`, kept on self
# replace: self.norm = nn
# by:      self.final_norm = nn
# replace: self.norm(x)
# by:      self.final_norm(x)

# %% wrong GPT sizes_of_the_table_exchanged of="solution"
# it has shape (6, 11): nn.Embedding takes the number of rows, then their length
# replace: nn.Embedding(vocab_size, d_model)
# by:      nn.Embedding(d_model, vocab_size)

# %% wrong GPT positions_for_the_vocabulary of="solution"
# positions.weight should be a parameter of shape (7, 6)
# replace: nn.Embedding(context, d_model)
# by:      nn.Embedding(vocab_size, d_model)

# %% wrong GPT tables_exchanged of="solution"
# tokens.weight should be a parameter of shape (11, 6)
# replace: self.tokens = nn.Embedding(vocab_size, d_model)
#          self.positions = nn.Embedding(context, d_model)
# by:      self.positions = nn.Embedding(vocab_size, d_model)
#          self.tokens = nn.Embedding(context, d_model)

# %% wrong GPT heads_and_width_exchanged of="solution"
# You pass num_heads and d_ff to DecoderBlock in the wrong order.
# replace: DecoderBlock(d_model, num_heads, d_ff, dropout)
# by:      DecoderBlock(d_model, d_ff, num_heads, dropout)

# %% wrong GPT single_heads of="solution"
# Your blocks have another number of heads: pass num_heads on to DecoderBlock.
# replace: DecoderBlock(d_model, num_heads, d_ff, dropout)
# by:      DecoderBlock(d_model, 1, d_ff, dropout)

# %% wrong GPT four_times_the_width of="solution"
# `blocks` should hold num_layers DecoderBlocks and nothing else, each with this d_model, num_heads
# and d_ff
# replace: DecoderBlock(d_model, num_heads, d_ff, dropout)
# by:      DecoderBlock(d_model, num_heads, 4 * d_model, dropout)


# %% wrong GPT encoder_layers_of_pytorch
# the parameters are not the ones the docstring names
class GPT(nn.Module):
    def __init__(
        self,
        vocab_size: int,
        context: int,
        d_model: int,
        num_layers: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, d_model)
        self.positions = nn.Embedding(context, d_model)
        for table in (self.tokens, self.positions):
            nn.init.normal_(table.weight, std=0.1)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(d_model, num_heads, d_ff, dropout, batch_first=True)
            for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        tokens: Tensor,
        caches: Sequence[Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]] | None = None,
        start: int = 0,
    ) -> Tensor:
        end, context = start + tokens.shape[1], self.positions.num_embeddings
        if end > context:
            raise ValueError(f"{end} tokens do not fit into a context of {context}")
        indices = torch.arange(start, end, device=tokens.device)
        x = self.dropout(self.tokens(tokens) + self.positions(indices))
        for i, block in enumerate(self.blocks):
            x = block(x, None if caches is None else caches[i])
        return F.linear(self.norm(x), self.tokens.weight)


# %% wrong GPT no_call_of_super of="solution"
# `super().__init__()` is missing: make it the first line of `__init__`
# replace: super().__init__()
# by:

# %% wrong GPT a_norm_for_the_embeddings of="solution"
# the docstring names every part: leave out any other
# replace: self.dropout = nn.Dropout(dropout)
# by:      self.dropout = nn.Dropout(dropout)
#          self.norm0 = nn.LayerNorm(d_model)
# replace: x = self.dropout(self.tokens(tokens) + self.positions(indices))
# by:      x = self.norm0(self.dropout(self.tokens(tokens) + self.positions(indices)))

# %% wrong GPT no_bias_in_the_norm of="solution"
# a bias or a gain is missing: make `norm` with nn.LayerNorm(d_model)
# replace: nn.LayerNorm(d_model)
# by:      nn.LayerNorm(d_model, bias=False)

# %% wrong GPT blocks_in_reverse of="solution"
# Your blocks run in reverse order: blocks[0] comes first.
# replace: enumerate(self.blocks)
# by:      reversed(list(enumerate(self.blocks)))

# %% wrong GPT last_block_skipped of="solution"
# Your last block is never used: every block runs, in order.
# replace: enumerate(self.blocks)
# by:      enumerate(self.blocks[:-1])

# %% wrong GPT first_block_skipped of="solution"
# Your first block is never used: every block runs, in order.
# replace: for i, block in enumerate(self.blocks):
# by:      for i, block in list(enumerate(self.blocks))[1:]:

# %% wrong GPT first_block_repeated of="solution"
# You run the first block in place of every other: each block runs once, in order.
# replace: x = block(x, None if caches is None else caches[i])
# by:      x = self.blocks[0](x, None if caches is None else caches[i])

# %% wrong GPT blocks_never_used of="solution"
# Your blocks are never used: x passes every block, in order.
# replace: for i, block in enumerate(self.blocks):
#              x = block(x, None if caches is None else caches[i])
# by:

# %% wrong GPT each_block_on_the_embeddings of="solution"
# Each of your blocks reads the embeddings: it should read the output of the block before it.
# replace: for i, block in enumerate(self.blocks):
#              x = block(x, None if caches is None else caches[i])
# by:      embedded = x
#          for i, block in enumerate(self.blocks):
#              x = block(embedded, None if caches is None else caches[i])

# %% wrong GPT residual_around_the_blocks of="solution"
# You add x around each block: a block adds to x itself.
# replace: x = block(x, None if caches is None else caches[i])
# by:      x = x + block(x, None if caches is None else caches[i])

# %% wrong GPT probabilities of="solution"
# You return probabilities: the model returns logits, without a softmax.
# replace: F.linear(self.norm(x), self.tokens.weight)
# by:      F.linear(self.norm(x), self.tokens.weight).softmax(-1)

# %% wrong GPT log_probabilities of="solution"
# You return log-probabilities: the model returns logits, without a softmax.
# replace: F.linear(self.norm(x), self.tokens.weight)
# by:      F.linear(self.norm(x), self.tokens.weight).log_softmax(-1)

# %% wrong GPT last_position_alone of="solution"
# You return the logits of the last position alone: return those of every position.
# replace: F.linear(self.norm(x), self.tokens.weight)
# by:      F.linear(self.norm(x), self.tokens.weight)[:, -1]

# %% wrong GPT last_position_kept_as_an_axis of="solution"
# You return the logits of the last position alone: return those of every position.
# replace: F.linear(self.norm(x), self.tokens.weight)
# by:      F.linear(self.norm(x), self.tokens.weight)[:, -1:]

# %% wrong GPT vocabulary_second of="solution"
# Your logits have the vocabulary before the positions: return (batch, length, vocab_size).
# replace: F.linear(self.norm(x), self.tokens.weight)
# by:      F.linear(self.norm(x), self.tokens.weight).transpose(1, 2)

# %% wrong GPT vectors_returned of="solution"
# You return the output of norm: its dot products with the rows of `tokens` are the logits.
# replace: F.linear(self.norm(x), self.tokens.weight)
# by:      self.norm(x)

# %% wrong GPT logits_from_positions of="solution"
# Your logits come from the table of positions: take the rows of `tokens`.
# replace: F.linear(self.norm(x), self.tokens.weight)
# by:      F.linear(self.norm(x), self.positions.weight)

# %% wrong GPT scaled_logits of="solution"
# You divide the logits by √d_model: they are plain dot products.
# replace: F.linear(self.norm(x), self.tokens.weight)
# by:      F.linear(self.norm(x), self.tokens.weight) / x.shape[-1] ** 0.5

# %% wrong GPT distances of="solution"
# Your logits are distances to the rows of `tokens`: take dot products.
# replace: F.linear(self.norm(x), self.tokens.weight)
# by:      -torch.cdist(self.norm(x), self.tokens.weight.expand(len(x), -1, -1))

# %% wrong GPT cosines of="solution"
# Your logits are cosines, as the rows of `tokens` are scaled to length 1: take dot products.
# replace: F.linear(self.norm(x), self.tokens.weight)
# by:      F.linear(self.norm(x), F.normalize(self.tokens.weight, dim=-1))

# %% wrong GPT output_table_detached of="solution"
# a gradient should reach `tokens` through its use as the output's weights
# replace: F.linear(self.norm(x), self.tokens.weight)
# by:      F.linear(self.norm(x), self.tokens.weight.detach())

# %% wrong GPT input_detached of="solution"
# a gradient should reach `tokens` through its use at the input
# replace: self.tokens(tokens) + self.positions(indices)
# by:      self.tokens(tokens).detach() + self.positions(indices)

# %% wrong GPT positions_frozen of="solution"
# training should be able to change both tables and the norm: leave requires_grad as it is
# replace: self.dropout = nn.Dropout(dropout)
# by:      self.dropout = nn.Dropout(dropout)
#          self.positions.requires_grad_(False)

# %% wrong GPT under_no_grad of="solution"
# no gradient flows through the result
# replace: return F.linear(self.norm(x), self.tokens.weight)
# by:      with torch.no_grad():
#              return F.linear(self.norm(x), self.tokens.weight)

# %% wrong GPT nothing_returned of="solution"
# does the last line say `return`?
# replace: return F.linear(
# by:      F.linear(

# %% wrong GPT loss_returned_too of="solution"
# the result should be a tensor, got a tuple
# replace: return F.linear(self.norm(x), self.tokens.weight)
# by:      return F.linear(self.norm(x), self.tokens.weight), None

# %% wrong GPT padding_of_token_zero of="solution"
# token 0 is a token like any other: leave out padding_idx
# replace: nn.Embedding(vocab_size, d_model)
# by:      nn.Embedding(vocab_size, d_model, padding_idx=0)

# %% wrong GPT no_error of="solution"
# Too many tokens stop in the table of positions, or nowhere: raise a ValueError with both numbers
# before you look anything up.
# replace: if end > context:
#              raise ValueError(f"{end} tokens do not fit into a context of {context}")
# by:

# %% wrong GPT context_full_refused of="solution"
# You refuse as many tokens as the context has: only more are too many.
# replace: if end > context:
# by:      if end >= context:

# %% wrong GPT one_too_many_allowed of="solution"
# Too many tokens stop in the table of positions, or nowhere: raise a ValueError with both numbers
# before you look anything up.
# replace: if end > context:
# by:      if end > context + 1:

# %% wrong GPT assertion of="solution"
# You stop with an AssertionError: raise a ValueError.
# replace: if end > context:
#              raise ValueError(f"{end} tokens do not fit into a context of {context}")
# by:      assert end <= context, f"{end} tokens do not fit into a context of {context}"

# %% wrong GPT unnamed_numbers of="solution"
# raise ValueError(f"…"), with 5 and 4 in the message
# replace: f"{end} tokens do not fit into a context of {context}"
# by:      "too many tokens"

# %% wrong GPT context_alone_named of="solution"
# raise ValueError(f"…"), with 5 and 4 in the message
# replace: f"{end} tokens do not fit into a context of {context}"
# by:      f"more than {context} tokens"

# %% wrong GPT truncated of="solution"
# expected a ValueError that names 5 and 4, but nothing was raised
# replace: end, context = start + tokens.shape[1], self.positions.num_embeddings
#          if end > context:
#              raise ValueError(f"{end} tokens do not fit into a context of {context}")
# by:      tokens = tokens[:, -self.positions.num_embeddings :]
#          end = start + tokens.shape[1]

# %% wrong GPT positions_that_stop_at_the_last of="solution"
# expected a ValueError that names 5 and 4, but nothing was raised
# replace: if end > context:
#              raise ValueError(f"{end} tokens do not fit into a context of {context}")
# by:
# replace: self.positions(indices)
# by:      self.positions(indices.clamp(max=context - 1))

# %% wrong GPT positions_that_begin_again of="solution"
# expected a ValueError that names 5 and 4, but nothing was raised
# replace: if end > context:
#              raise ValueError(f"{end} tokens do not fit into a context of {context}")
# by:
# replace: self.positions(indices)
# by:      self.positions(indices % context)

# %% wrong GPT no_dropout_on_the_embeddings of="solution"
# Your embeddings pass undropped: use dropout on the sum of tokens and positions.
# replace: x = self.dropout(self.tokens(tokens) + self.positions(indices))
# by:      x = self.tokens(tokens) + self.positions(indices)

# %% wrong GPT dropout_on_the_tokens_alone of="solution"
# The embeddings of the positions pass undropped: use dropout on the sum of tokens and positions.
# replace: self.dropout(self.tokens(tokens) + self.positions(indices))
# by:      self.dropout(self.tokens(tokens)) + self.positions(indices)

# %% wrong GPT dropout_on_the_positions_alone of="solution"
# The embeddings of the tokens pass undropped: use dropout on the sum of tokens and positions.
# replace: self.dropout(self.tokens(tokens) + self.positions(indices))
# by:      self.tokens(tokens) + self.dropout(self.positions(indices))

# %% wrong GPT dropout_on_each_embedding of="solution"
# call dropout once, on the sum of both embeddings
# replace: self.dropout(self.tokens(tokens) + self.positions(indices))
# by:      self.dropout(self.tokens(tokens)) + self.dropout(self.positions(indices))

# %% wrong GPT dropout_twice of="solution"
# call dropout once, with the rate that is given
# replace: self.dropout(self.tokens(tokens) + self.positions(indices))
# by:      self.dropout(self.dropout(self.tokens(tokens) + self.positions(indices)))

# %% wrong GPT dropout_after_the_norm_too of="solution"
# You drop features after the final norm as well: norm and logits have no dropout.
# replace: self.norm(x)
# by:      self.dropout(self.norm(x))

# %% wrong GPT dropout_of_the_logits of="solution"
# You drop logits as well: norm and logits have no dropout.
# replace: F.linear(self.norm(x), self.tokens.weight)
# by:      self.dropout(F.linear(self.norm(x), self.tokens.weight))

# %% wrong GPT blocks_without_dropout of="solution"
# Your blocks drop nothing, or too little: pass dropout on to DecoderBlock.
# replace: DecoderBlock(d_model, num_heads, d_ff, dropout)
# by:      DecoderBlock(d_model, num_heads, d_ff)

# %% wrong GPT no_dropout_at_all of="no_dropout_on_the_embeddings"
# You drop nothing in training: use nn.Dropout on the sum of the embeddings, and pass the rate on to
# the blocks.
# replace: DecoderBlock(d_model, num_heads, d_ff, dropout)
# by:      DecoderBlock(d_model, num_heads, d_ff)

# %% wrong GPT dropout_in_evaluation_too of="solution"
# You drop in evaluation too: pass training=self.training to F.dropout in forward, or keep an
# nn.Dropout on self.
# replace: self.dropout = nn.Dropout(dropout)
# by:      self.dropout = lambda y: F.dropout(y, dropout)

# %% wrong GPT rate_fixed of="solution"
# you drop something although the rate is 0: pass `dropout` to nn.Dropout and to the blocks
# replace: nn.Dropout(dropout)
# by:      nn.Dropout(0.1)

# %% wrong GPT dropout_after_each_block of="solution"
# call dropout once, with the rate that is given
# replace: x = block(x, None if caches is None else caches[i])
# by:      x = self.dropout(block(x, None if caches is None else caches[i]))

# %% wrong GPT whole_tokens_dropped of="solution"
# pass the whole sum to one nn.Dropout: it draws for each element
# replace: x = self.dropout(self.tokens(tokens) + self.positions(indices))
# by:      x = self.tokens(tokens) + self.positions(indices)
#          x = x * self.dropout(torch.ones_like(x[..., :1]))

# %% wrong GPT same_mask_for_all_tokens of="solution"
# pass the whole sum to one nn.Dropout: it draws for each element
# replace: x = self.dropout(self.tokens(tokens) + self.positions(indices))
# by:      x = self.tokens(tokens) + self.positions(indices)
#          x = x * self.dropout(torch.ones_like(x[:1, :1]))

# %% wrong GPT start_ignored of="solution"
# Your positions restart at 0 in every call: the first token has position `start`.
# replace: torch.arange(start, end, device=tokens.device)
# by:      torch.arange(end - start, device=tokens.device)

# %% wrong GPT start_with_caches_alone of="solution"
# Without caches your positions restart at 0: the first token has position `start`, with or without
# caches.
# replace: torch.arange(start, end, device=tokens.device)
# by:      torch.arange(end - start, device=tokens.device) + start * (caches is not None)

# %% wrong GPT start_without_caches_alone of="solution"
# With caches your positions restart at 0: the first token has position `start`, with or without
# caches.
# replace: torch.arange(start, end, device=tokens.device)
# by:      torch.arange(end - start, device=tokens.device) + start * (caches is None)

# %% wrong GPT one_past_start of="solution"
# Your first token has position start + 1: it has position `start`.
# replace: torch.arange(start, end, device=tokens.device)
# by:      (torch.arange(start, end) + (start > 0)).clamp(max=context - 1)

# %% wrong GPT start_for_every_token of="solution"
# All of your tokens have position `start`: it is that of the first one, and the others follow.
# replace: torch.arange(start, end, device=tokens.device)
# by:      torch.arange(start, end) if start == 0 else torch.tensor(start)

# %% wrong GPT start_cuts_the_tokens of="solution"
# You leave out the first `start` tokens: `tokens` holds the new ones alone, and start is their
# position.
# replace: end, context = start + tokens.shape[1], self.positions.num_embeddings
# by:      end, context = start + tokens.shape[1], self.positions.num_embeddings
#          if end <= context and start < tokens.shape[1]:
#              tokens, end = tokens[:, start:], tokens.shape[1]

# %% wrong GPT start_left_out_of_the_error of="solution"
# raise ValueError(f"…"), with 10 and 9 in the message
# replace: if end > context:
#              raise ValueError(f"{end} tokens do not fit into a context of {context}")
# by:      if end - start > context:
#              raise ValueError(f"{end - start} tokens do not fit into a context of {context}")

# %% wrong GPT length_named_in_place_of_the_end of="solution"
# expected a ValueError that names 10 and 9
# replace: f"{end} tokens do not fit into a context of {context}"
# by:      f"{tokens.shape[1]} tokens do not fit into a context of {context}"

# %% wrong GPT limit_without_caches_alone of="solution"
# expected a ValueError that names 10 and 9, but nothing was raised
# replace: if end > context:
# by:      if end > context and caches is None:

# %% wrong GPT caches_ignored of="solution"
# You never pass the caches on to the blocks: block i gets caches[i].
# replace: None if caches is None else caches[i]
# by:      None

# %% wrong GPT first_cache_for_all of="solution"
# You pass the first cache to every block: block i gets caches[i].
# replace: caches[i])
# by:      caches[0])

# %% wrong GPT last_cache_for_all of="solution"
# You pass the last cache to every block: block i gets caches[i].
# replace: caches[i])
# by:      caches[-1])

# %% wrong GPT cache_for_the_first_block_alone of="solution"
# Only the first of your blocks gets a cache: block i gets caches[i].
# replace: None if caches is None else caches[i]
# by:      caches[0] if caches is not None and i == 0 else None

# %% wrong GPT cache_for_the_last_block_alone of="solution"
# Only the last of your blocks gets a cache: block i gets caches[i].
# replace: None if caches is None else caches[i]
# by:      caches[-1] if caches is not None and i == len(caches) - 1 else None

# %% wrong GPT caches_in_reverse of="solution"
# You pass the caches in reverse order: block i gets caches[i].
# replace: caches[i])
# by:      caches[-1 - i])

# %% wrong GPT whole_list_to_each_block of="solution"
# You pass the whole list of caches to each block: block i gets caches[i].
# replace: None if caches is None else caches[i]
# by:      caches

# %% wrong GPT caches_in_evaluation_alone of="solution"
# In training you do not pass the caches on: block i gets caches[i] in both modes.
# replace: None if caches is None else caches[i]
# by:      None if caches is None or self.training else caches[i]

# %% wrong GPT caches_at_later_starts_alone of="solution"
# You pass the caches on only if start is above 0: the first tokens belong in them too.
# replace: None if caches is None else caches[i]
# by:      None if caches is None or start == 0 else caches[i]

# %% wrong GPT newest_token_alone_with_caches of="solution"
# With caches you pass only the last token through the blocks: `tokens` holds the new ones alone, so
# pass all of them.
# replace: end, context = start + tokens.shape[1], self.positions.num_embeddings
# by:      if caches is not None:
#              start, tokens = start + tokens.shape[1] - 1, tokens[:, -1:]
#          end, context = start + tokens.shape[1], self.positions.num_embeddings

# %% base GPT tied_layer of="solution"
# replace: self.tokens = nn.Embedding(vocab_size, d_model)
# by:      self.output = nn.Linear(d_model, vocab_size, bias=False)
#          self.tokens = nn.Embedding(vocab_size, d_model)
# replace: self.blocks = nn.ModuleList(
# by:      self.output.weight = self.tokens.weight
#          self.blocks = nn.ModuleList(
# replace: F.linear(self.norm(x), self.tokens.weight)
# by:      self.output(self.norm(x))

# %% right GPT layer_that_shares_the_weight of="tied_layer"
# replace: for i, block in enumerate(self.blocks):
#              x = block(x, None if caches is None else caches[i])
# by:      for block, cache in zip(self.blocks, caches or [None] * len(self.blocks)):
#              x = block(x, cache)

# %% right GPT table_that_shares_the_weight of="tied_layer"
# replace: self.output.weight = self.tokens.weight
# by:      self.tokens.weight = self.output.weight
# replace: for table in (self.tokens, self.positions):
#              nn.init.normal_(table.weight, std=0.1)
# by:      self.positions.weight.data.normal_(0.0, 0.1)
# replace: self.norm = nn.LayerNorm(d_model)
# by:      self.norm = nn.LayerNorm(d_model)
#          with torch.no_grad():
#              self.tokens.weight.normal_(mean=0.0, std=0.1)

# %% right GPT matrix_product of="solution"
# replace: F.linear(self.norm(x), self.tokens.weight)
# by:      self.norm(x) @ self.tokens.weight.T

# %% right GPT einsum_and_slices of="solution"
# replace: indices = torch.arange(start, end, device=tokens.device)
#          x = self.dropout(self.tokens(tokens) + self.positions(indices))
# by:      x = self.tokens.weight[tokens] + self.positions.weight[start:end]
#          x = self.dropout(x)
# replace: F.linear(self.norm(x), self.tokens.weight)
# by:      torch.einsum("btd,vd->btv", self.norm(x), self.tokens.weight)


# %% right GPT a_buffer_and_a_loop
class GPT(nn.Module):
    def __init__(self, vocab_size, context, d_model, num_layers, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.context = context
        self.register_buffer("ids", torch.arange(context))
        self.norm = nn.LayerNorm(d_model)
        self.blocks = nn.ModuleList()
        while len(self.blocks) < num_layers:
            self.blocks.append(DecoderBlock(d_model, num_heads, d_ff, dropout=dropout))
        self.tokens = nn.Embedding(
            vocab_size, d_model, _weight=0.1 * torch.randn(vocab_size, d_model)
        )
        self.positions = nn.Embedding.from_pretrained(
            0.1 * torch.randn(context, d_model), freeze=False
        )
        self.p = dropout

    def embed(self, tokens, start):
        at = self.ids[start : start + tokens.size(1)].unsqueeze(0)
        return F.dropout(self.tokens(tokens) + self.positions(at), self.p, self.training)

    def forward(self, tokens, caches=None, start=0):
        if tokens.size(1) + start > self.context:
            raise ValueError(
                f"start + length = {start + tokens.size(1)}, but the context is {self.context}"
            )
        x = self.embed(tokens, start)
        for i in range(len(self.blocks)):
            x = self.blocks[i](x) if caches is None else self.blocks[i](x, cache=caches[i])
        return self.norm(x).matmul(self.tokens.weight.transpose(0, 1))


# %% right GPT functional_embeddings
class GPT(nn.Module):
    def __init__(
        self,
        vocab_size: int,
        context: int,
        d_model: int,
        num_layers: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, d_model)
        self.positions = nn.Embedding(context, d_model)
        for table in (self.tokens, self.positions):
            nn.init.normal_(table.weight, std=0.1)
        self.blocks = nn.ModuleList(
            DecoderBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        tokens: Tensor,
        caches: Sequence[Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]] | None = None,
        start: int = 0,
    ) -> Tensor:
        end, context = start + tokens.shape[1], self.positions.num_embeddings
        if end > context:
            raise ValueError(f"{end} tokens do not fit into a context of {context}")
        indices = torch.arange(start, end, device=tokens.device)
        x = self.dropout(
            F.embedding(tokens, self.tokens.weight)
            + F.embedding(indices, self.positions.weight)[None]
        )
        waiting = iter(caches) if caches is not None else None
        for block in self.blocks:
            x = block(x, None if waiting is None else next(waiting))
        return F.linear(self.norm(x), self.tokens.weight)


# %% right GPT positions_for_each_row of="solution"
# replace: indices = torch.arange(start, end, device=tokens.device)
# by:      indices = (torch.ones_like(tokens).cumsum(1) - 1) + start

# %% right GPT initial_values_by_apply of="solution"
# replace: for table in (self.tokens, self.positions):
#              nn.init.normal_(table.weight, std=0.1)
# by:
# replace: self.dropout = nn.Dropout(dropout)
# by:      self.dropout = nn.Dropout(dropout)
#          for part in self.modules():
#              if isinstance(part, nn.Embedding):
#                  nn.init.normal_(part.weight, mean=0.0, std=0.1)
#              if isinstance(part, nn.Linear):
#                  nn.init.normal_(part.weight, std=0.02)
#                  nn.init.zeros_(part.bias)

# %% wrong gpt_parameters no_biases_in_attention of="solution"
# 4 · d_model parameters of each block are missing: the biases of the four layers of attention, or
# the gains and biases of the two norms.
# replace: attention = 4 * (d_model * d_model + d_model)
# by:      attention = 4 * d_model * d_model

# %% wrong gpt_parameters no_norms_in_blocks of="solution"
# 4 · d_model parameters of each block are missing: the biases of the four layers of attention, or
# the gains and biases of the two norms.
# replace: (attention + feed_forward + 2 * norm)
# by:      (attention + feed_forward)

# %% wrong gpt_parameters one_norm_in_a_block of="solution"
# 2 · d_model parameters of each block are missing: it has two norms, each with a gain and a bias.
# replace: 2 * norm)
# by:      norm)

# %% wrong gpt_parameters gains_alone of="solution"
# Your norms have no bias: each has a gain and a bias for every feature, the final one too.
# replace: norm = 2 * d_model  # a gain and a bias
# by:      norm = d_model

# %% wrong gpt_parameters three_norms_in_a_block of="solution"
# You count 2 · d_model too many in each block: it has two norms, and the final one comes once.
# replace: 2 * norm)
# by:      3 * norm)

# %% wrong gpt_parameters no_final_norm of="solution"
# You leave out the final norm: it has a gain and a bias for every feature.
# replace:  + norm
# by:

# %% wrong gpt_parameters final_norm_in_every_block of="solution"
# You count the final norm once for each block: it comes once, after the last one.
# replace: num_layers * (attention + feed_forward + 2 * norm) + norm
# by:      num_layers * (attention + feed_forward + 3 * norm)

# %% wrong gpt_parameters output_table_too of="solution"
# You count a table for the output: it uses that of the tokens, which counts once.
# replace: (vocab_size + context) * d_model
# by:      (2 * vocab_size + context) * d_model

# %% wrong gpt_parameters output_layer_too of="solution"
# You count a table and a bias for the output: it uses the table of the tokens, and has no bias.
# replace: (vocab_size + context) * d_model
# by:      (2 * vocab_size + context) * d_model + vocab_size

# %% wrong gpt_parameters output_bias_too of="solution"
# You count a bias for the output: it has none.
# replace: (vocab_size + context) * d_model
# by:      (vocab_size + context) * d_model + vocab_size

# %% wrong gpt_parameters no_positions of="solution"
# You leave out the positions: they have a table of context · d_model numbers.
# replace: (vocab_size + context) * d_model
# by:      vocab_size * d_model

# %% wrong gpt_parameters no_tokens of="solution"
# You leave out the tokens: they have a table of vocab_size · d_model numbers.
# replace: (vocab_size + context) * d_model
# by:      context * d_model

# %% wrong gpt_parameters one_table_for_both of="solution"
# You multiply the sizes of both tables: there is a table for tokens and one for positions, each
# with d_model numbers in a row.
# replace: (vocab_size + context) * d_model
# by:      vocab_size * context * d_model

# %% wrong gpt_parameters tables_not_multiplied of="solution"
# You count the rows of the tables: each row has d_model numbers.
# replace: (vocab_size + context) * d_model
# by:      vocab_size + context

# %% wrong gpt_parameters positions_as_wide_as_the_context of="solution"
# You count context · context numbers for the positions: each of their rows has d_model numbers.
# replace: (vocab_size + context) * d_model
# by:      vocab_size * d_model + context * context

# %% wrong gpt_parameters biases_of_embeddings of="solution"
# You count a bias for each table of embeddings: they have none.
# replace: (vocab_size + context) * d_model
# by:      (vocab_size + context + 2) * d_model

# %% wrong gpt_parameters no_biases_in_the_network of="solution"
# You leave out the biases of the feed-forward network: linear1 has d_ff of them, linear2 d_model.
# replace: d_model * d_ff + d_ff + d_ff * d_model + d_model
# by:      2 * d_model * d_ff

# %% wrong gpt_parameters no_bias_of_linear1 of="solution"
# You leave out the d_ff biases of linear1.
# replace: d_model * d_ff + d_ff + d_ff * d_model + d_model
# by:      d_model * d_ff + d_ff * d_model + d_model

# %% wrong gpt_parameters no_bias_of_linear2 of="solution"
# d_model parameters of each block are missing: linear2 has so many biases, and so has each layer of
# attention.
# replace: d_model * d_ff + d_ff + d_ff * d_model + d_model
# by:      d_model * d_ff + d_ff + d_ff * d_model

# %% wrong gpt_parameters no_bias_in_w_output of="solution"
# d_model parameters of each block are missing: linear2 has so many biases, and so has each layer of
# attention.
# replace: 4 * (d_model * d_model + d_model)
# by:      4 * d_model * d_model + 3 * d_model

# %% wrong gpt_parameters biases_of_linear1_twice of="solution"
# You give both linear layers d_ff biases: linear2 has d_model of them.
# replace: d_ff * d_model + d_model
# by:      d_ff * d_model + d_ff

# %% wrong gpt_parameters biases_of_linear2_twice of="solution"
# You give both linear layers d_model biases: linear1 has d_ff of them.
# replace: d_model * d_ff + d_ff + d_ff * d_model
# by:      d_model * d_ff + d_model + d_ff * d_model

# %% wrong gpt_parameters one_linear_layer of="solution"
# Your feed-forward network has a single layer: linear1 and linear2 are two.
# replace: d_model * d_ff + d_ff + d_ff * d_model + d_model
# by:      d_model * d_ff + d_ff

# %% wrong gpt_parameters three_layers_of_attention of="solution"
# You leave out a layer of attention: w_query, w_key, w_value and w_output are four.
# replace: attention = 4 *
# by:      attention = 3 *

# %% wrong gpt_parameters one_layer_of_attention of="solution"
# You count one layer of attention: w_query, w_key, w_value and w_output are four.
# replace: attention = 4 * (d_model
# by:      attention = 1 * (d_model

# %% wrong gpt_parameters no_attention of="solution"
# You leave out attention: it has four layers of d_model² weights and d_model biases each.
# replace: (attention + feed_forward + 2 * norm)
# by:      (feed_forward + 2 * norm)

# %% wrong gpt_parameters no_network of="solution"
# You leave out the feed-forward network: linear1 and linear2, with their biases.
# replace: (attention + feed_forward + 2 * norm)
# by:      (attention + 2 * norm)

# %% wrong gpt_parameters no_biases_at_all of="no_biases_in_attention"
# You leave out the biases of the linear layers: each has one for every output feature.
# replace: d_model * d_ff + d_ff + d_ff * d_model + d_model
# by:      2 * d_model * d_ff

# %% wrong gpt_parameters matrices_alone of="solution"
# You count matrices alone: biases and norms have parameters too.
# replace: return embeddings + num_layers * (attention + feed_forward + 2 * norm) + norm
# by:      return embeddings + num_layers * (4 * d_model * d_model + 2 * d_model * d_ff)

# %% wrong gpt_parameters width_squared_twelve_times of="solution"
# You count 12 · d_model² for each block: that holds for matrices alone, and for d_ff = 4 · d_model.
# replace: return embeddings + num_layers * (attention + feed_forward + 2 * norm) + norm
# by:      return embeddings + 12 * num_layers * d_model**2

# %% wrong gpt_parameters one_block of="solution"
# You count one block: there are num_layers of them.
# replace: num_layers * (attention + feed_forward + 2 * norm)
# by:      (attention + feed_forward + 2 * norm)

# %% wrong gpt_parameters all_of_it_in_every_layer of="solution"
# You multiply the tables or the final norm by num_layers: only the blocks come num_layers times.
# replace: embeddings + num_layers * (attention + feed_forward + 2 * norm) + norm
# by:      num_layers * (embeddings + attention + feed_forward + 3 * norm)

# %% wrong gpt_parameters tables_in_every_layer of="solution"
# You multiply the tables or the final norm by num_layers: only the blocks come num_layers times.
# replace: embeddings + num_layers * (attention + feed_forward + 2 * norm) + norm
# by:      num_layers * (embeddings + attention + feed_forward + 2 * norm) + norm

# %% wrong gpt_parameters blocks_alone of="solution"
# You count the blocks alone: two tables and a final norm come once.
# replace: return embeddings + num_layers * (attention + feed_forward + 2 * norm) + norm
# by:      return num_layers * (attention + feed_forward + 2 * norm)

# %% wrong gpt_parameters d_ff_ignored of="solution"
# You always take 4 · d_model for d_ff: that holds only if d_ff is None.
# replace: 4 * d_model if d_ff is None else d_ff
# by:      4 * d_model

# %% wrong gpt_parameters d_ff_of_the_width of="solution"
# Without d_ff you take d_model: it should be 4 · d_model.
# replace: 4 * d_model if d_ff is None else d_ff
# by:      d_model if d_ff is None else d_ff

# %% wrong gpt_parameters d_ff_of_the_paper of="solution"
# Without d_ff you take a fixed number: it should be 4 · d_model.
# replace: 4 * d_model if d_ff is None else d_ff
# by:      2048 if d_ff is None else d_ff

# %% wrong gpt_parameters d_ff_multiplied of="solution"
# You multiply a given d_ff by 4: take it as it is.
# replace: 4 * d_model if d_ff is None else d_ff
# by:      4 * d_model if d_ff is None else 4 * d_ff

# %% wrong gpt_parameters none_not_handled of="solution"
# A d_ff of None cannot be multiplied: take 4 · d_model then.
# replace: d_ff = 4 * d_model if d_ff is None else d_ff
# by:

# %% wrong gpt_parameters a_head_for_each_feature of="solution"
# You count the query, key and value layers for each head: all heads together have d_model features.
# replace: attention = 4 * (d_model * d_model + d_model)
# by:      attention = 12 * (3 * d_model * d_model + 3 * d_model) + d_model * d_model + d_model

# %% wrong gpt_parameters cross_attention_too of="solution"
# You count attention twice, as in a decoder that also attends to an encoder: here a block has it
# once.
# replace: (attention + feed_forward + 2 * norm)
# by:      (2 * attention + feed_forward + 2 * norm)

# %% wrong gpt_parameters a_mask_in_every_block of="solution"
# You count a mask of context · context numbers in each block: a mask is no parameter.
# replace: attention = 4 * (d_model * d_model + d_model)
# by:      attention = 4 * (d_model * d_model + d_model) + context * context

# %% wrong gpt_parameters nothing_returned of="solution"
# does the last line say `return`?
# replace: return embeddings +
# by:      embeddings +

# %% wrong gpt_parameters in_millions of="solution"
# You return millions: return the number of parameters.
# replace: return embeddings + num_layers * (attention + feed_forward + 2 * norm) + norm
# by:      count = embeddings + num_layers * (attention + feed_forward + 2 * norm) + norm
#          return round(count / 1e6)

# %% wrong gpt_parameters as_a_text of="solution"
# expected a whole number, got
# replace: return embeddings + num_layers * (attention + feed_forward + 2 * norm) + norm
# by:      return f"{embeddings + num_layers * (attention + feed_forward + 2 * norm) + norm:,}"

# %% wrong gpt_parameters bytes_in_float32 of="solution"
# You return four times as much, the bytes in float32: return the number of parameters.
# replace: return embeddings + num_layers * (attention + feed_forward + 2 * norm) + norm
# by:      return 4 * (embeddings + num_layers * (attention + feed_forward + 2 * norm) + norm)


# %% right gpt_parameters counted_by_pytorch
def gpt_parameters(vocab_size, context, d_model, num_layers, d_ff=None):
    d_ff = d_ff or 4 * d_model
    with torch.device("meta"):
        block = nn.TransformerEncoderLayer(d_model, 1, d_ff)
        rest = nn.Embedding(vocab_size, d_model), nn.Embedding(context, d_model)
        parts = [*block.parameters()] * num_layers + [
            p for table in rest for p in table.parameters()
        ]
    return sum(part.numel() for part in parts) + 2 * d_model


# %% right gpt_parameters one_formula
def gpt_parameters(
    vocab_size: int, context: int, d_model: int, num_layers: int, d_ff: int | None = None
) -> int:
    if d_ff is None:
        d_ff = d_model * 4
    d, n = d_model, num_layers
    return n * (4 * d * d + 2 * d * d_ff + 9 * d + d_ff) + (vocab_size + context + 2) * d


# %% right gpt_parameters a_model_built
def gpt_parameters(vocab_size, context, d_model, num_layers, d_ff=None):
    d_ff = 4 * d_model if d_ff is None else d_ff
    with torch.device("meta"):
        block = DecoderBlock(d_model, 1, d_ff)
    inside = sum(part.numel() for part in block.parameters())
    return vocab_size * d_model + context * d_model + inside * num_layers + 2 * d_model


# %% right gpt_parameters linear_by_linear
def gpt_parameters(vocab_size, context, d_model, num_layers, d_ff=None):
    def linear(d_in, d_out):
        return d_in * d_out + d_out

    hidden = d_ff if d_ff is not None else 4 * d_model
    norm = d_model + d_model
    total = vocab_size * d_model + context * d_model
    for _ in range(num_layers):
        total += 4 * linear(d_model, d_model)
        total += linear(d_model, hidden) + linear(hidden, d_model)
        total += 2 * norm
    return total + norm


# %% right gpt_parameters shapes_multiplied of="solution"
# replace: return embeddings + num_layers * (attention + feed_forward + 2 * norm) + norm
# by:      shapes = [(d_model, d_model), (d_model,)] * 4 + [(d_ff, d_model), (d_ff,)]
#          shapes += [(d_model, d_ff), (d_model,)] + [(d_model,)] * 4
#          block = sum(torch.Size(shape).numel() for shape in shapes)
#          return int(embeddings + num_layers * block + norm)

# %% right gpt_parameters as_a_tensor of="solution"
# replace: return embeddings + num_layers * (attention + feed_forward + 2 * norm) + norm
# by:      blocks = num_layers * (attention + feed_forward + 2 * norm)
#          return torch.tensor([embeddings, blocks, norm]).sum()

# %% wrong next_token_probabilities temperature_ignored of="solution"
# Your temperature has no influence: divide the logits by it.
# replace: (logits / temperature).softmax(-1)
# by:      logits.softmax(-1)

# %% wrong next_token_probabilities multiplied_by_temperature of="solution"
# You multiply the logits by the temperature: divide them by it.
# replace: (logits / temperature).softmax(-1)
# by:      (logits * temperature).softmax(-1)

# %% wrong next_token_probabilities probabilities_divided of="solution"
# You divide the probabilities by the temperature, so they no longer sum to 1: divide the logits.
# replace: (logits / temperature).softmax(-1)
# by:      logits.softmax(-1) / temperature

# %% wrong next_token_probabilities probabilities_divided_and_softmaxed of="solution"
# You divide probabilities by the temperature and take a second softmax: divide the logits, and take
# one.
# replace: (logits / temperature).softmax(-1)
# by:      (logits.softmax(-1) / temperature).softmax(-1)

# %% wrong next_token_probabilities divided_and_scaled_back of="solution"
# You divide the probabilities by the temperature and scale them to sum to 1 again, which changes
# nothing: divide the logits.
# replace: return (logits / temperature).softmax(-1)
# by:      probabilities = logits.softmax(-1) / temperature
#          return probabilities / probabilities.sum(-1, keepdim=True)

# %% wrong next_token_probabilities root_of_temperature of="solution"
# You divide the logits by the root of the temperature: divide by the temperature itself.
# replace: logits / temperature
# by:      logits / temperature**0.5

# %% wrong next_token_probabilities temperature_of_one_at_most of="solution"
# Above 1 your temperature has no influence: divide the logits by any temperature.
# replace: (logits / temperature)
# by:      (logits / min(temperature, 1.0))

# %% wrong next_token_probabilities temperature_of_one_at_least of="solution"
# Below 1 your temperature has no influence: divide the logits by any temperature.
# replace: (logits / temperature)
# by:      (logits / max(temperature, 1.0))

# %% wrong next_token_probabilities softmax_over_the_rows of="solution"
# Your softmax runs along the first axis: it belongs along the last one, the vocabulary.
# replace: softmax(-1)
# by:      softmax(0)

# %% wrong next_token_probabilities softmax_over_axis_one of="solution"
# Your softmax runs along axis 1: the vocabulary is the last axis, whatever their number.
# replace: softmax(-1)
# by:      softmax(1)

# %% wrong next_token_probabilities log_probabilities of="solution"
# You return log-probabilities: return probabilities.
# replace: softmax(-1)
# by:      log_softmax(-1)

# %% wrong next_token_probabilities logits_returned of="solution"
# You return logits: the softmax is missing.
# replace: return (logits / temperature).softmax(-1)
# by:      return logits / temperature

# %% wrong next_token_probabilities sigmoid of="solution"
# You use a sigmoid, so the probabilities do not sum to 1: take the softmax.
# replace: (logits / temperature).softmax(-1)
# by:      (logits / temperature).sigmoid()

# %% wrong next_token_probabilities exponentials_not_normed of="solution"
# You return exponentials: divide each by the sum of its row.
# replace: (logits / temperature).softmax(-1)
# by:      (logits / temperature).exp()

# %% wrong next_token_probabilities normed_without_exp of="solution"
# You divide the logits by their sum: the softmax is missing.
# replace: return (logits / temperature).softmax(-1)
# by:      kept = (logits / temperature).nan_to_num(neginf=0.0)
#          return kept / kept.sum(-1, keepdim=True)

# %% wrong next_token_probabilities exp_that_overflows of="solution"
# Your exp overflows with large logits: use softmax, which subtracts the largest logit first.
# replace: return (logits / temperature).softmax(-1)
# by:      weights = (logits / temperature).exp()
#          return weights / weights.sum(-1, keepdim=True)

# %% wrong next_token_probabilities zero_not_handled of="solution"
# At temperature 0 you divide by 0: give the token with the largest logit probability 1.
# replace: if temperature == 0:
#              return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
# by:

# %% wrong next_token_probabilities zero_refused of="solution"
# You refuse temperature 0: it is allowed, and gives the token with the largest logit probability 1.
# replace: if temperature < 0 or
# by:      if temperature <= 0 or

# %% wrong next_token_probabilities zero_as_a_small_temperature of="solution"
# At temperature 0 you divide by a small number: with close logits, the best token must get
# probability 1 all the same.
# replace: if temperature == 0:
#              return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
# by:      temperature = max(temperature, 0.1)

# %% wrong next_token_probabilities zero_as_the_softmax of="solution"
# At temperature 0 you return the softmax: the token with the largest logit gets probability 1.
# replace: return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
# by:      return logits.softmax(-1)

# %% wrong next_token_probabilities uniform_at_zero of="solution"
# At temperature 0 you give all tokens the same probability: the one with the largest logit gets 1.
# replace: return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
# by:      return torch.full_like(logits, 1 / logits.shape[-1])

# %% wrong next_token_probabilities number_of_the_token_at_zero of="solution"
# At temperature 0 you return the number of the best token: return probabilities, 1 for that token.
# replace: return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
# by:      return logits.argmax(-1)

# %% wrong next_token_probabilities whole_numbers_at_zero of="solution"
# F.one_hot returns integers: turn them into the dtype of the logits, with .to(…)
# replace: return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
# by:      return F.one_hot(logits.argmax(-1), logits.shape[-1])

# %% wrong next_token_probabilities float32_at_zero of="solution"
# the result should keep the input's dtype
# replace: return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
# by:      return F.one_hot(logits.argmax(-1), logits.shape[-1]).float()

# %% wrong next_token_probabilities true_and_false_at_zero of="solution"
# At temperature 0 you return True and False: return 1 and 0 in the dtype of the logits.
# replace: return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
# by:      return logits == logits.amax(-1, keepdim=True)

# %% wrong next_token_probabilities one_best_for_all_rows of="solution"
# At temperature 0 you take one best token for all rows together: each row has its own.
# replace: return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
# by:      return (logits == logits.max()).to(logits.dtype)

# %% wrong next_token_probabilities largest_logit_itself_at_zero of="solution"
# At temperature 0 you return the largest logit itself: the probability is 1.
# replace: return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
# by:      return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype) * logits

# %% wrong next_token_probabilities smallest_at_zero of="solution"
# At temperature 0 you choose the smallest logit: the largest one gets probability 1.
# replace: logits.argmax(-1)
# by:      logits.argmin(-1)

# %% wrong next_token_probabilities top_k_ignored of="solution"
# Your top_k has no influence: only the k tokens with the largest logits keep a probability.
# replace: if top_k is not None:
#              best = logits.topk(min(top_k, logits.shape[-1]), dim=-1)
#              logits = torch.full_like(logits, -torch.inf).scatter(-1, best.indices, best.values)
# by:

# %% wrong next_token_probabilities the_best_alone of="solution"
# Whatever top_k is, you keep the best token alone: keep the k best.
# replace: min(top_k, logits.shape[-1])
# by:      1

# %% wrong next_token_probabilities one_less of="solution"
# You keep one token less than top_k: keep the k best.
# replace: min(top_k, logits.shape[-1])
# by:      max(min(top_k, logits.shape[-1]) - 1, 1)

# %% wrong next_token_probabilities one_more of="solution"
# You keep one token more than top_k: keep the k best.
# replace: min(top_k, logits.shape[-1])
# by:      min(top_k + 1, logits.shape[-1])

# %% wrong next_token_probabilities the_k_smallest of="solution"
# You keep the k smallest logits: keep the largest.
# replace: logits.shape[-1]), dim=-1)
# by:      logits.shape[-1]), dim=-1, largest=False)

# %% wrong next_token_probabilities the_first_k of="solution"
# You keep the first k tokens of the vocabulary: keep those with the largest logits.
# replace: logits = torch.full_like(logits, -torch.inf).scatter(-1, best.indices, best.values)
# by:      first = torch.arange(logits.shape[-1]) < best.values.shape[-1]
#          logits = logits.masked_fill(~first, -torch.inf)

# %% base next_token_probabilities threshold of="solution"
# replace: best = logits.topk(min(top_k, logits.shape[-1]), dim=-1)
#          logits = torch.full_like(logits, -torch.inf).scatter(-1, best.indices, best.values)
# by:      best = logits.topk(min(top_k, logits.shape[-1]), dim=-1).values
#          logits = logits.masked_fill(logits < best[..., -1:], -torch.inf)

# %% wrong next_token_probabilities one_threshold_for_all_rows of="threshold"
# You use one threshold for all rows together: each row keeps its own k best.
# replace: best[..., -1:]
# by:      best[..., -1].min()

# %% wrong next_token_probabilities threshold_of_the_batch of="solution"
# You keep the k largest logits of all rows together: each row keeps its own k best.
# replace: best = logits.topk(min(top_k, logits.shape[-1]), dim=-1)
#          logits = torch.full_like(logits, -torch.inf).scatter(-1, best.indices, best.values)
# by:      best = logits.flatten().topk(min(top_k, logits.numel())).values[-1]
#          logits = logits.masked_fill(logits < best, -1e4)


# %% wrong next_token_probabilities threshold_of_the_first_row
# You use the threshold of the first row for all: each row keeps its own k best.
def next_token_probabilities(
    logits: Tensor, temperature: float = 1.0, top_k: int | None = None
) -> Tensor:
    if temperature < 0 or (top_k is not None and top_k < 1):
        raise ValueError(
            f"temperature {temperature} should be at least 0, top_k {top_k} at least 1"
        )
    if temperature == 0:
        return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
    if top_k is not None:
        best = logits.topk(min(top_k, logits.shape[-1]), dim=-1).values
        logits = logits.masked_fill(
            logits < best.flatten(0, -2)[0, -1] if logits.dim() > 1 else best[-1], -torch.inf
        )
    return (logits / temperature).softmax(-1)


# %% wrong next_token_probabilities threshold_of_the_last_row
# You use the threshold of the last row for all: each row keeps its own k best.
def next_token_probabilities(
    logits: Tensor, temperature: float = 1.0, top_k: int | None = None
) -> Tensor:
    if temperature < 0 or (top_k is not None and top_k < 1):
        raise ValueError(
            f"temperature {temperature} should be at least 0, top_k {top_k} at least 1"
        )
    if temperature == 0:
        return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
    if top_k is not None:
        best = logits.topk(min(top_k, logits.shape[-1]), dim=-1).values
        logits = logits.masked_fill(
            logits < best.flatten(0, -2)[-1, -1] if logits.dim() > 1 else best[-1], -torch.inf
        )
    return (logits / temperature).softmax(-1)


# %% wrong next_token_probabilities tokens_of_the_first_row of="solution"
# You keep the best tokens of the first row in all rows: each row keeps its own k best.
# replace: logits = torch.full_like(logits, -torch.inf).scatter(-1, best.indices, best.values)
# by:      kept = torch.zeros(logits.shape[-1], dtype=torch.bool)
#          kept[best.indices.flatten(0, -2)[0] if logits.dim() > 1 else best.indices] = True
#          logits = logits.masked_fill(~kept, -torch.inf)

# %% wrong next_token_probabilities largest_as_threshold of="threshold"
# Your threshold is the largest logit of each row: it is the k-th largest.
# replace: best[..., -1:]
# by:      best[..., :1]


# %% wrong next_token_probabilities threshold_left_out
# You keep one token less than top_k: the k-th largest itself stays too.
def next_token_probabilities(
    logits: Tensor, temperature: float = 1.0, top_k: int | None = None
) -> Tensor:
    if temperature < 0 or (top_k is not None and top_k < 1):
        raise ValueError(
            f"temperature {temperature} should be at least 0, top_k {top_k} at least 1"
        )
    if temperature == 0:
        return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
    if top_k is not None:
        best = logits.topk(min(top_k, logits.shape[-1]), dim=-1).values
        logits = logits.masked_fill(
            (logits <= best[..., -1:]) & (logits < best[..., :1]), -torch.inf
        )
    return (logits / temperature).softmax(-1)


# %% wrong next_token_probabilities zeros_for_minus_infinity of="solution"
# You set the other logits to 0, which leaves those tokens a probability: set them to -inf.
# replace: torch.full_like(logits, -torch.inf)
# by:      torch.zeros_like(logits)

# %% wrong next_token_probabilities not_small_enough of="solution"
# You set the other logits to a number that is not small enough, so they keep a probability: set
# them to -inf.
# replace: torch.full_like(logits, -torch.inf)
# by:      torch.full_like(logits, -10.0)

# %% wrong next_token_probabilities not_scaled_back of="solution"
# With top_k your probabilities do not sum to 1: take the softmax after the others are left out.
# replace: if top_k is not None:
#              best = logits.topk(min(top_k, logits.shape[-1]), dim=-1)
#              logits = torch.full_like(logits, -torch.inf).scatter(-1, best.indices, best.values)
#          return (logits / temperature).softmax(-1)
# by:      probabilities = (logits / temperature).softmax(-1)
#          if top_k is not None:
#              best = probabilities.topk(min(top_k, logits.shape[-1]), dim=-1)
#              return torch.zeros_like(logits).scatter(-1, best.indices, best.values)
#          return probabilities

# %% wrong next_token_probabilities the_k_best_returned of="solution"
# You return the k best alone: the others keep their positions, with probability 0.
# replace: logits = torch.full_like(logits, -torch.inf).scatter(-1, best.indices, best.values)
# by:      logits = best.values

# %% wrong next_token_probabilities sorted_by_size of="solution"
# Your probabilities are sorted: each token keeps its position.
# replace: logits = torch.full_like(logits, -torch.inf).scatter(-1, best.indices, best.values)
# by:      logits = torch.full_like(logits, -torch.inf)
#          logits[..., : best.values.shape[-1]] = best.values

# %% wrong next_token_probabilities more_than_there_are of="solution"
# With top_k above the vocabulary you stop in topk: then all tokens keep their probability.
# replace: min(top_k, logits.shape[-1])
# by:      top_k

# %% wrong next_token_probabilities more_than_there_are_refused of="solution"
# You refuse a top_k above the vocabulary: then all tokens keep their probability.
# replace: if temperature == 0:
# by:      if top_k is not None and top_k > logits.shape[-1]:
#              raise ValueError(f"{top_k} is more than {logits.shape[-1]}")
#          if temperature == 0:

# %% wrong next_token_probabilities top_k_without_temperature of="solution"
# With top_k your temperature has no influence: use both.
# replace: logits = torch.full_like(logits, -torch.inf).scatter(-1, best.indices, best.values)
# by:      logits = torch.full_like(logits, -torch.inf).scatter(-1, best.indices, best.values)
#          return logits.softmax(-1)

# %% wrong next_token_probabilities temperature_without_top_k of="solution"
# At other temperatures than 1 your top_k has no influence: use both.
# replace: if top_k is not None:
# by:      if top_k is not None and temperature == 1:

# %% wrong next_token_probabilities top_k_of_one_as_none of="solution"
# With top_k=1 you keep all tokens: keep the best alone.
# replace: if top_k is not None:
# by:      if top_k is not None and top_k > 1:

# %% wrong next_token_probabilities top_p of="solution"
# You keep the likeliest tokens up to a share of the probability: top_k is a number of tokens.
# replace: best = logits.topk(min(top_k, logits.shape[-1]), dim=-1)
# by:      share = logits.softmax(-1).sort(-1, descending=True).values.cumsum(-1)
#          count = int((share < top_k / logits.shape[-1]).sum(-1).amax()) + 1
#          best = logits.topk(min(count, logits.shape[-1]), dim=-1)

# %% wrong next_token_probabilities logits_changed of="solution"
# make a new tensor, and leave the input as it is
# replace: return (logits / temperature).softmax(-1)
# by:      logits /= temperature
#          return logits.softmax(-1)

# %% wrong next_token_probabilities logits_filled of="threshold"
# make a new tensor, and leave the input as it is
# replace: logits = logits.masked_fill(logits < best[..., -1:], -torch.inf)
# by:      logits.masked_fill_(logits < best[..., -1:], -torch.inf)

# %% wrong next_token_probabilities no_errors of="solution"
# expected a ValueError that names -0.5, but nothing was raised
# replace: if temperature < 0 or (top_k is not None and top_k < 1):
#              raise ValueError(
#                  f"temperature {temperature} should be at least 0, top_k {top_k} at least 1"
#              )
# by:

# %% wrong next_token_probabilities no_error_for_the_temperature of="solution"
# expected a ValueError that names -0.5, but nothing was raised
# replace: if temperature < 0 or (top_k is not None and top_k < 1):
# by:      if top_k is not None and top_k < 1:

# %% wrong next_token_probabilities no_error_for_top_k of="solution"
# With a top_k of 0 you raise no ValueError: below 1 it makes no sense.
# replace: if temperature < 0 or (top_k is not None and top_k < 1):
# by:      if temperature < 0:

# %% wrong next_token_probabilities zero_taken_for_none of="solution"
# With a top_k of 0 you raise no ValueError: below 1 it makes no sense.
# replace: if temperature < 0 or (top_k is not None and top_k < 1):
# by:      if temperature < 0 or (top_k and top_k < 1):
# replace: if top_k is not None:
# by:      if top_k:

# %% wrong next_token_probabilities negative_top_k_allowed of="solution"
# With a negative top_k you raise no ValueError: below 1 it makes no sense.
# replace: top_k < 1):
# by:      top_k == 0):
# replace: min(top_k, logits.shape[-1])
# by:      min(abs(top_k), logits.shape[-1])

# %% wrong next_token_probabilities assertions of="solution"
# You stop with an AssertionError: raise a ValueError.
# replace: if temperature < 0 or (top_k is not None and top_k < 1):
#              raise ValueError(
#                  f"temperature {temperature} should be at least 0, top_k {top_k} at least 1"
#              )
# by:      assert temperature >= 0, temperature
#          assert top_k is None or top_k >= 1, top_k


# %% wrong next_token_probabilities unnamed_numbers
# raise ValueError(f"…"), with -0.5 in the message
def next_token_probabilities(
    logits: Tensor, temperature: float = 1.0, top_k: int | None = None
) -> Tensor:
    if temperature < 0 or (top_k is not None and top_k < 1):
        raise ValueError("temperature should not be negative, nor top_k below one")
    if temperature == 0:
        return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
    if top_k is not None:
        best = logits.topk(min(top_k, logits.shape[-1]), dim=-1)
        logits = torch.full_like(logits, -torch.inf).scatter(-1, best.indices, best.values)
    return (logits / temperature).softmax(-1)


# %% wrong next_token_probabilities one_refused of="solution"
# You refuse a top_k of 1: only below 1 it makes no sense.
# replace: top_k < 1)
# by:      top_k <= 1)

# %% wrong next_token_probabilities low_temperatures_refused of="solution"
# You refuse temperatures below 1: only below 0 they make no sense.
# replace: if temperature < 0 or
# by:      if 0 < temperature < 1 or temperature < 0 or

# %% wrong next_token_probabilities nothing_returned of="solution"
# does the last line say `return`?
# replace: return (logits / temperature).softmax(-1)
# by:      (logits / temperature).softmax(-1)

# %% wrong next_token_probabilities rounded of="solution"
# You round the probabilities: return all their digits.
# replace: (logits / temperature).softmax(-1)
# by:      (logits / temperature).softmax(-1).round(decimals=3)

# %% wrong next_token_probabilities first_row_alone of="solution"
# You return the first row alone: return all rows.
# replace: (logits / temperature).softmax(-1)
# by:      (logits / temperature).softmax(-1)[0]

# %% right next_token_probabilities by_a_threshold of="threshold"
# replace: if temperature == 0:
#              return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
# by:      if not temperature:
#              return torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), 1.0)

# %% right next_token_probabilities sorted_ranks of="solution"
# replace: best = logits.topk(min(top_k, logits.shape[-1]), dim=-1)
#          logits = torch.full_like(logits, -torch.inf).scatter(-1, best.indices, best.values)
# by:      rank = logits.argsort(dim=-1, descending=True).argsort(dim=-1)
#          logits = torch.where(rank < top_k, logits, -float("inf"))

# %% right next_token_probabilities probabilities_scaled_back of="solution"
# replace: if top_k is not None:
#              best = logits.topk(min(top_k, logits.shape[-1]), dim=-1)
#              logits = torch.full_like(logits, -torch.inf).scatter(-1, best.indices, best.values)
#          return (logits / temperature).softmax(-1)
# by:      probabilities = F.softmax(logits / temperature, dim=-1)
#          if top_k is not None:
#              kept, at = probabilities.topk(min(top_k, logits.size(-1)))
#              probabilities = torch.zeros_like(logits).scatter(-1, at, kept)
#              probabilities = probabilities / probabilities.sum(-1, keepdim=True)
#          return probabilities

# %% right next_token_probabilities softmax_of_the_best of="solution"
# replace: if top_k is not None:
#              best = logits.topk(min(top_k, logits.shape[-1]), dim=-1)
#              logits = torch.full_like(logits, -torch.inf).scatter(-1, best.indices, best.values)
#          return (logits / temperature).softmax(-1)
# by:      best = (logits / temperature).topk(min(top_k or 10**9, logits.shape[-1]))
#          return torch.zeros_like(logits).scatter_(-1, best.indices, best.values.softmax(-1))


# %% right next_token_probabilities exponentials
def next_token_probabilities(logits, temperature=1.0, top_k=None):
    vocab = logits.size(-1)
    if temperature < 0:
        raise ValueError(f"negative temperature: {temperature}")
    if top_k is not None and top_k <= 0:
        raise ValueError(f"top_k must be positive, got {top_k}")
    highest = logits.max(dim=-1, keepdim=True).values
    if temperature == 0:
        hot = torch.zeros_like(logits)
        hot.scatter_(-1, logits.max(dim=-1, keepdim=True).indices, 1)
        return hot
    weights = torch.exp((logits - highest) / temperature)
    if top_k is not None and top_k < vocab:
        smallest = torch.sort(logits, dim=-1).values[..., vocab - top_k, None]
        weights = weights * (logits >= smallest)
    return weights / weights.sum(dim=-1, keepdim=True)


# %% right next_token_probabilities a_row_at_a_time
def next_token_probabilities(
    logits: Tensor, temperature: float = 1.0, top_k: int | None = None
) -> Tensor:
    for name, value, least in (("temperature", temperature, 0), ("top_k", top_k, 1)):
        if value is not None and value < least:
            raise ValueError(f"{name} is {value}, but should be at least {least}")
    result = torch.zeros(logits.numel() // logits.shape[-1], logits.shape[-1], dtype=logits.dtype)
    for i, row in enumerate(logits.reshape(-1, logits.shape[-1])):
        if temperature == 0:
            result[i, row.argmax()] = 1
            continue
        kept = row.argsort(descending=True)[:top_k]
        result[i, kept] = (row[kept] / temperature).softmax(0)
    return result.reshape(logits.shape)


# %% wrong generate window_of_the_prompt of="solution"
# You call the model with the prompt again and again: the tokens drawn so far belong to its input.
# replace: for _ in range(count):
#              logits = model(tokens[:, -context:])[:, -1]  # (batch, vocab)
# by:      prompt = tokens
#          for _ in range(count):
#              logits = model(prompt[:, -context:])[:, -1]

# %% wrong generate drawn_once of="solution"
# call the model again after each token: the next one depends on it
# replace: for _ in range(count):
#              logits = model(tokens[:, -context:])[:, -1]  # (batch, vocab)
# by:      logits = model(tokens[:, -context:])[:, -1]
#          for _ in range(count):

# %% wrong generate whole_row of="solution"
# before each call, truncate each row to its last `context` tokens, axis 1
# replace: tokens[:, -context:]
# by:      tokens

# %% wrong generate first_tokens of="solution"
# You call the model with the first `context` tokens: it takes the last ones.
# replace: tokens[:, -context:]
# by:      tokens[:, :context]

# %% wrong generate last_token_alone of="solution"
# You call the model with the last token alone: it takes the last `context` tokens.
# replace: tokens[:, -context:]
# by:      tokens[:, -1:]

# %% wrong generate window_one_short of="solution"
# You call the model with one token less than `context` allows: it takes the last `context` tokens.
# replace: tokens[:, -context:]
# by:      tokens[:, -max(context - 1, 1) :]

# %% wrong generate window_one_long of="solution"
# You call the model with one token more than `context` allows: it takes the last `context` tokens.
# replace: tokens[:, -context:]
# by:      tokens[:, -context - 1 :]


# %% wrong generate without_the_newest
# You leave out the newest token of the window: it takes the last `context` tokens.
def generate(
    model: Callable[[Tensor], Tensor],
    tokens: Tensor,
    count: int,
    context: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    for _ in range(count):
        logits = model((tokens[:, :-1] if tokens.shape[1] > 1 else tokens)[:, -context:])[
            :, -1
        ]  # (batch, vocab)
        probabilities = next_token_probabilities(logits, temperature, top_k)
        drawn = torch.multinomial(probabilities, 1, generator=generator)  # (batch, 1)
        tokens = torch.cat([tokens, drawn], dim=1)
    return tokens


# %% wrong generate window_cut_once of="solution"
# before each call, truncate each row to its last `context` tokens, axis 1
# replace: for _ in range(count):
#              logits = model(tokens[:, -context:])[:, -1]  # (batch, vocab)
# by:      first = max(tokens.shape[1] - context, 0)
#          for _ in range(count):
#              logits = model(tokens[:, first:])[:, -1]


# %% wrong generate window_begins_again
# When the context is full you begin with an empty window: it slides by one token in each step.
def generate(
    model: Callable[[Tensor], Tensor],
    tokens: Tensor,
    count: int,
    context: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    for _ in range(count):
        logits = model(tokens[:, (tokens.shape[1] - 1) // context * context :])[
            :, -1
        ]  # (batch, vocab)
        probabilities = next_token_probabilities(logits, temperature, top_k)
        drawn = torch.multinomial(probabilities, 1, generator=generator)  # (batch, 1)
        tokens = torch.cat([tokens, drawn], dim=1)
    return tokens


# %% wrong generate reversed_window of="solution"
# You pass the tokens in reverse order: the oldest comes first.
# replace: tokens[:, -context:]
# by:      tokens[:, -context:].flip(1)


# %% wrong generate padded_window
# You fill the window up with zeros: while there are fewer tokens, pass just those.
def generate(
    model: Callable[[Tensor], Tensor],
    tokens: Tensor,
    count: int,
    context: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    for _ in range(count):
        logits = model(F.pad(tokens, (max(context - tokens.shape[1], 0), 0))[:, -context:])[
            :, -1
        ]  # (batch, vocab)
        probabilities = next_token_probabilities(logits, temperature, top_k)
        drawn = torch.multinomial(probabilities, 1, generator=generator)  # (batch, 1)
        tokens = torch.cat([tokens, drawn], dim=1)
    return tokens


# %% wrong generate windows_along_the_batch of="solution"
# before each call, truncate each row to its last `context` tokens, axis 1
# replace: model(tokens[:, -context:])[:, -1]
# by:      model(tokens[-context:])[:, -1]

# %% wrong generate first_position of="solution"
# You use the logits at the first position: those at the last one are for the next token.
# replace: [:, -1]  # (batch, vocab)
# by:      [:, 0]

# %% wrong generate position_before_the_last of="solution"
# You use the logits at an earlier position: those at the last one are for the next token.
# replace: [:, -1]  # (batch, vocab)
# by:      [:, -2:][:, 0]

# %% wrong generate mean_over_the_positions of="solution"
# You average the logits over the positions: those at the last one are for the next token.
# replace: [:, -1]  # (batch, vocab)
# by:      .mean(1)

# %% wrong generate last_row_for_all of="solution"
# You use the logits of the last row for all rows: each row has its own.
# replace: model(tokens[:, -context:])[:, -1]
# by:      model(tokens[:, -context:])[-1, -1].expand(len(tokens), -1)

# %% wrong generate first_row_for_all of="solution"
# You use the logits of the first row for all rows: each row has its own.
# replace: model(tokens[:, -context:])[:, -1]
# by:      model(tokens[:, -context:])[:1, -1].expand(len(tokens), -1)

# %% wrong generate first_row_alone of="solution"
# You pass the first row alone to the model: it takes all rows at once.
# replace: model(tokens[:, -context:])[:, -1]
# by:      model(tokens[:1, -context:])[:, -1].expand(len(tokens), -1)

# %% wrong generate a_row_at_a_time of="solution"
# one call for each new token, with all rows at once
# replace: logits = model(tokens[:, -context:])[:, -1]  # (batch, vocab)
# by:      logits = torch.cat([model(row[None, -context:])[:, -1] for row in tokens])

# %% wrong generate new_tokens_first of="solution"
# You put new tokens in front: each row goes on at its end.
# replace: [tokens, drawn]
# by:      [drawn, tokens]

# %% wrong generate new_tokens_alone of="solution"
# You return the new tokens alone: return the prompt and the new tokens.
# replace: return tokens
# by:      return tokens[:, tokens.shape[1] - count :]

# %% wrong generate cut_to_the_context of="solution"
# You return no more than `context` tokens: the window is for the model, the row stays whole.
# replace: return tokens
# by:      return tokens[:, -context:]

# %% wrong generate row_cut_to_the_context of="solution"
# You cut the row itself to `context`: the window is for the model, the row stays whole.
# replace: tokens = torch.cat([tokens, drawn], dim=1)
# by:      tokens = torch.cat([tokens, drawn], dim=1)[:, -context:]

# %% wrong generate one_too_many of="solution"
# You draw one token more than `count`.
# replace: range(count)
# by:      range(count + 1)

# %% wrong generate one_too_few of="solution"
# You draw one token less than `count`.
# replace: range(count)
# by:      range(max(count - 1, 0))

# %% wrong generate count_as_the_whole_length of="solution"
# You stop when the whole row has `count` tokens: count is the number of new ones.
# replace: range(count)
# by:      range(count - tokens.shape[1])

# %% wrong generate up_to_the_context of="solution"
# You stop when the context is full: `count` tokens are drawn in any case, and the window slides.
# replace: for _ in range(count):
# by:      for _ in range(min(count, max(context - tokens.shape[1], 0))):

# %% wrong generate newest_token_overwritten of="solution"
# You overwrite the newest token in each step: each draw adds one.
# replace: tokens = torch.cat([tokens, drawn], dim=1)
# by:      tokens = torch.cat([tokens[:, : tokens.shape[1] - (_ > 0)], drawn], dim=1)

# %% wrong generate always_greedy of="solution"
# draw from the probabilities, as torch.multinomial does
# replace: torch.multinomial(probabilities, 1, generator=generator)
# by:      probabilities.argmax(-1, keepdim=True)


# %% wrong generate one_draw_for_all_rows
# each row draws its own token: torch.multinomial draws for each row
def generate(
    model: Callable[[Tensor], Tensor],
    tokens: Tensor,
    count: int,
    context: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    for _ in range(count):
        logits = model(tokens[:, -context:])[:, -1]  # (batch, vocab)
        probabilities = next_token_probabilities(logits, temperature, top_k)
        drawn = torch.multinomial(probabilities[:1], 1, generator=generator).expand(
            len(tokens), 1
        )  # (batch, 1)
        tokens = torch.cat([tokens, drawn], dim=1)
    return tokens


# %% wrong generate one_threshold_for_all_rows of="solution"
# each row draws its own token: torch.multinomial draws for each row
# replace: drawn = torch.multinomial(probabilities, 1, generator=generator)  # (batch, 1)
# by:      threshold = torch.rand((), generator=generator, dtype=probabilities.dtype)
#          drawn = (probabilities.cumsum(-1) < threshold).sum(-1, keepdim=True)
#          drawn = drawn.clamp(max=probabilities.shape[-1] - 1)

# %% wrong generate seeded of="solution"
# leave seeds alone: torch's global random generator goes on by itself
# replace: for _ in range(count):
# by:      torch.manual_seed(0)
#          for _ in range(count):

# %% wrong generate seeded_in_each_step of="solution"
# every step draws anew: leave seeds alone
# replace: drawn = torch
# by:      torch.manual_seed(0)
#          drawn = torch

# %% wrong generate own_generator of="solution"
# leave seeds alone: torch's global random generator goes on by itself
# replace: for _ in range(count):
# by:      if generator is None:
#              generator = torch.Generator()
#          for _ in range(count):

# %% wrong generate own_generator_by_chance of="solution"
# draw with torch: its global random generator is what torch.manual_seed sets
# replace: for _ in range(count):
# by:      if generator is None:
#              generator = torch.Generator()
#              generator.seed()
#          for _ in range(count):

# %% wrong generate random_of_python of="solution"
# draw with torch: its global random generator is what torch.manual_seed sets
# replace: drawn = torch.multinomial(probabilities, 1, generator=generator)  # (batch, 1)
# by:      import random
#
#          if generator is not None:
#              random.seed(int(torch.randint(10**6, (1,), generator=generator)))
#          vocab = range(probabilities.shape[-1])
#          drawn = torch.tensor([random.choices(vocab, row) for row in probabilities.tolist()])

# %% wrong generate generator_ignored of="solution"
# pass generator on to torch.multinomial, and leave the global one alone
# replace: torch.multinomial(probabilities, 1, generator=generator)
# by:      torch.multinomial(probabilities, 1)

# %% wrong generate generator_seeded of="solution"
# leave seeds alone: the generator goes on by itself
# replace: for _ in range(count):
# by:      if generator is not None:
#              generator.manual_seed(0)
#          for _ in range(count):

# %% wrong generate generator_begun_again of="solution"
# leave seeds alone: the generator goes on by itself
# replace: for _ in range(count):
# by:      if generator is not None:
#              generator = torch.Generator().manual_seed(generator.initial_seed())
#          for _ in range(count):

# %% wrong generate global_seed_from_the_generator of="solution"
# pass generator on to torch.multinomial, and leave the global one alone
# replace: drawn = torch.multinomial(probabilities, 1, generator=generator)  # (batch, 1)
# by:      if generator is not None:
#              torch.manual_seed(int(torch.randint(10**6, (1,), generator=generator)))
#          drawn = torch.multinomial(probabilities, 1)

# %% wrong generate global_draw_wasted of="solution"
# pass generator on to torch.multinomial, and leave the global one alone
# replace: drawn = torch.multinomial(probabilities, 1, generator=generator)  # (batch, 1)
# by:      drawn = torch.multinomial(probabilities, 1)
#          if generator is not None:
#              drawn = torch.multinomial(probabilities, 1, generator=generator)

# %% wrong generate temperature_ignored of="solution"
# pass temperature on to next_token_probabilities, in every step
# replace: (logits, temperature, top_k)
# by:      (logits, top_k=top_k)

# %% wrong generate top_k_ignored of="solution"
# pass top_k on to next_token_probabilities
# replace: (logits, temperature, top_k)
# by:      (logits, temperature)

# %% wrong generate top_k_as_temperature of="solution"
# You pass top_k and temperature to next_token_probabilities in the wrong order.
# replace: (logits, temperature, top_k)
# by:      (logits, top_k, temperature)

# %% wrong generate probabilities_twice of="solution"
# You take the softmax before next_token_probabilities, which takes it itself: pass it the logits.
# replace: (logits, temperature, top_k)
# by:      (logits.softmax(-1), temperature, top_k)

# %% wrong generate temperature_in_the_first_step_alone of="solution"
# pass temperature on to next_token_probabilities, in every step
# replace: (logits, temperature, top_k)
# by:      (logits, temperature if _ == 0 else 1.0, top_k)

# %% wrong generate logits_drawn_from of="solution"
# You draw from the logits, which can be negative: draw from the probabilities.
# replace: torch.multinomial(probabilities, 1, generator=generator)
# by:      torch.multinomial(logits.clamp(min=0) + 1e-3, 1, generator=generator)


# %% wrong generate uniform_draws
# draw from the probabilities at the last position
def generate(
    model: Callable[[Tensor], Tensor],
    tokens: Tensor,
    count: int,
    context: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    for _ in range(count):
        logits = model(tokens[:, -context:])[:, -1]  # (batch, vocab)
        probabilities = next_token_probabilities(logits, temperature, top_k)
        drawn = torch.multinomial(
            (probabilities > 0).double(), 1, generator=generator
        )  # (batch, 1)
        tokens = torch.cat([tokens, drawn], dim=1)
    return tokens


# %% wrong generate all_drawn_at_once of="solution"
# call the model again after each token: the next one depends on it
# replace: for _ in range(count):
#              logits = model(tokens[:, -context:])[:, -1]  # (batch, vocab)
#              probabilities = next_token_probabilities(logits, temperature, top_k)
#              drawn = torch.multinomial(probabilities, 1, generator=generator)  # (batch, 1)
#              tokens = torch.cat([tokens, drawn], dim=1)
#          return tokens
# by:      if count == 0:
#              return tokens
#          logits = model(tokens[:, -context:])[:, -1]
#          probabilities = next_token_probabilities(logits, temperature, top_k)
#          drawn = torch.multinomial(probabilities, count, replacement=True, generator=generator)
#          return torch.cat([tokens, drawn], dim=1)

# %% wrong generate prompt_changed of="solution"
# make a new tensor, and leave the input as it is
# replace: tokens = torch.cat([tokens, drawn], dim=1)
# by:      tokens.data = torch.cat([tokens, drawn], dim=1)

# %% wrong generate last_token_of_the_prompt_changed of="solution"
# make a new tensor, and leave the input as it is
# replace: return tokens
# by:      if count:
#              prompt[:] = tokens[:, count:]
#          return tokens
# replace: for _ in range(count):
# by:      prompt = tokens
#          for _ in range(count):

# %% wrong generate as_floats of="solution"
# the model should get all three rows at once, as integers
# replace: [tokens, drawn]
# by:      [tokens, drawn.double()]

# %% wrong generate a_list of="solution"
# the result should be a tensor, got a list
# replace: return tokens
# by:      return tokens.tolist()

# %% wrong generate nothing_returned of="solution"
# does the last line say `return`?
# replace: return tokens
# by:

# %% wrong generate switched_to_evaluation of="solution"
# You use methods of nn.Module: the model may be any callable, so only call it.
# replace: for _ in range(count):
# by:      model.eval()
#          for _ in range(count):

# %% wrong generate context_of_the_model of="solution"
# You use an attribute of the model: it may be any callable, so only call it.
# replace: for _ in range(count):
# by:      context = model.positions.num_embeddings
#          for _ in range(count):

# %% wrong generate model_called_with_more of="solution"
# You pass the model more than tokens: call model(tokens), as it may be any callable.
# replace: model(tokens[:, -context:])
# by:      model(tokens[:, -context:], None, 0)

# %% wrong generate stops_at_token_zero of="solution"
# You stop when a row draws token 0: it is a token like any other, and `count` are drawn.
# replace: tokens = torch.cat([tokens, drawn], dim=1)
# by:      tokens = torch.cat([tokens, drawn], dim=1)
#          if (drawn == 0).any():
#              return tokens

# %% wrong generate gumbel_noise_shared of="solution"
# each row draws its own token: torch.multinomial draws for each row
# replace: torch.multinomial(probabilities, 1, generator=generator)
# by:      (
#              probabilities / torch.empty_like(probabilities[:1]).exponential_(generator=generator)
#          ).argmax(-1, keepdim=True)

# %% wrong generate never_ends of="solution"
# You stop when the whole row has `count` tokens: count is the number of new ones.
# replace: for _ in range(count):
# by:      while tokens.shape[1] != count:

# %% right generate gumbel of="solution"
# replace: torch.multinomial(probabilities, 1, generator=generator)
# by:      (
#              probabilities.double()
#              / torch.empty(probabilities.shape).double().exponential_(generator=generator)
#          ).argmax(-1, keepdim=True)

# %% right generate by_thresholds of="solution"
# replace: drawn = torch.multinomial(probabilities, 1, generator=generator)  # (batch, 1)
# by:      share = probabilities.double().cumsum(-1)
#          threshold = torch.rand(len(tokens), 1, generator=generator, dtype=torch.double)
#          drawn = torch.searchsorted(share / share[:, -1:], threshold, right=True)
#          drawn = drawn.clamp(max=share.shape[-1] - 1)

# %% right generate room_for_all_tokens of="solution"
# replace: for _ in range(count):
#              logits = model(tokens[:, -context:])[:, -1]  # (batch, vocab)
# by:      batch, length = tokens.shape
#          result = torch.zeros(batch, length + count, dtype=tokens.dtype, device=tokens.device)
#          result[:, :length] = tokens
#          for end in range(length, length + count):
#              logits = model(result[:, max(0, end - context) : end])[:, -1]
# replace:     tokens = torch.cat([tokens, drawn], dim=1)
#          return tokens
# by:          result[:, end] = drawn[:, 0]
#          return result

# %% right generate without_gradients of="solution"
# replace: def generate(
# by:      @torch.no_grad()
#          def generate(
# replace: model(tokens[:, -context:])[:, -1]
# by:      model(tokens[:, -context:])[:, -1, :]


# %% right generate recursion
def generate(model, tokens, count, context, temperature=1.0, top_k=None, generator=None):
    if count == 0:
        return tokens
    window = tokens if tokens.size(1) <= context else tokens[:, tokens.size(1) - context :]
    with torch.inference_mode():
        logits = model(window)
    chances = next_token_probabilities(logits[:, -1, :], temperature=temperature, top_k=top_k)
    new = torch.multinomial(chances, num_samples=1, generator=generator)
    longer = torch.cat((tokens, new), dim=-1)
    return generate(model, longer, count - 1, context, temperature, top_k, generator)


# %% right generate a_row_draws_by_itself of="solution"
# replace: drawn = torch.multinomial(probabilities, 1, generator=generator)  # (batch, 1)
# by:      drawn = torch.stack(
#              [torch.multinomial(row, 1, generator=generator) for row in probabilities]
#          )

# %% right generate categorical_where_no_generator of="solution"
# replace: drawn = torch.multinomial(probabilities, 1, generator=generator)  # (batch, 1)
# by:      if temperature == 0:
#              drawn = logits.argmax(-1, keepdim=True)
#          elif generator is None:
#              drawn = torch.distributions.Categorical(probabilities).sample()[:, None]
#          else:
#              drawn = probabilities.multinomial(1, generator=generator)

# %% right generate a_list_of_columns of="solution"
# replace: for _ in range(count):
#              logits = model(tokens[:, -context:])[:, -1]  # (batch, vocab)
# by:      columns = list(tokens.unbind(1))
#          while len(columns) < tokens.shape[1] + count:
#              logits = model(torch.stack(columns[-context:], 1))[:, -1]
# replace:     tokens = torch.cat([tokens, drawn], dim=1)
#          return tokens
# by:          columns.append(drawn.squeeze(1))
#          return torch.stack(columns, dim=1)

# %% wrong KeyValueCache keeps_nothing of="solution"
# You return the new keys and values alone: those of earlier calls come first.
# replace: self.keys.append(key)
#          self.values.append(value)
#          return torch.cat(self.keys, dim=2), torch.cat(self.values, dim=2)
# by:      return key, value

# %% wrong KeyValueCache keeps_in_evaluation_alone of="solution"
# In training you return the new keys and values alone: a cache keeps them in both modes.
# replace: return torch.cat(self.keys, dim=2)
# by:      if self.training:
#              self.keys, self.values = [key], [value]
#          return torch.cat(self.keys, dim=2)

# %% wrong KeyValueCache keeps_in_training_alone of="solution"
# In evaluation you return the new keys and values alone: a cache keeps them in both modes.
# replace: return torch.cat(self.keys, dim=2)
# by:      if not self.training:
#              self.keys, self.values = [key], [value]
#          return torch.cat(self.keys, dim=2)

# %% wrong KeyValueCache last_call_alone of="solution"
# You keep the previous call alone: keep all earlier calls.
# replace: return torch.cat(self.keys, dim=2)
# by:      self.keys, self.values = self.keys[-2:], self.values[-2:]
#          return torch.cat(self.keys, dim=2)

# %% wrong KeyValueCache first_call_alone of="solution"
# You keep the first call alone: keep every call.
# replace: return torch.cat(self.keys, dim=2), torch.cat(self.values, dim=2)
# by:      result = torch.cat(self.keys, dim=2), torch.cat(self.values, dim=2)
#          self.keys, self.values = self.keys[:1], self.values[:1]
#          return result

# %% wrong KeyValueCache newest_first of="solution"
# You put the newest keys and values first: the oldest come first.
# replace: torch.cat(self.keys, dim=2), torch.cat(self.values, dim=2)
# by:      torch.cat(self.keys[::-1], dim=2), torch.cat(self.values[::-1], dim=2)

# %% wrong KeyValueCache values_newest_first of="solution"
# You put the newest values first: the oldest come first, as with keys.
# replace: torch.cat(self.values, dim=2)
# by:      torch.cat(self.values[::-1], dim=2)

# %% wrong KeyValueCache along_the_heads of="solution"
# You join along axis 1, the heads: tokens are axis 2.
# replace: torch.cat(self.keys, dim=2), torch.cat(self.values, dim=2)
# by:      torch.cat(self.keys, dim=1), torch.cat(self.values, dim=1)

# %% wrong KeyValueCache along_the_batch of="solution"
# You join along the first axis, the rows: tokens are axis 2.
# replace: torch.cat(self.keys, dim=2), torch.cat(self.values, dim=2)
# by:      torch.cat(self.keys), torch.cat(self.values)

# %% wrong KeyValueCache along_the_last_axis of="solution"
# You join along the last axis, the features: tokens are axis 2.
# replace: torch.cat(self.keys, dim=2), torch.cat(self.values, dim=2)
# by:      torch.cat(self.keys, dim=-1), torch.cat(self.values, dim=-1)

# %% wrong KeyValueCache stacked of="solution"
# You stack the calls along a new axis, for which they must be equally long: join them along axis 2.
# replace: torch.cat(self.keys, dim=2), torch.cat(self.values, dim=2)
# by:      torch.stack(self.keys), torch.stack(self.values)

# %% wrong KeyValueCache values_not_kept of="solution"
# You return the new values alone: those of earlier calls come first, as with keys.
# replace: torch.cat(self.values, dim=2)
# by:      value

# %% wrong KeyValueCache keys_not_kept of="solution"
# You return the new keys alone: those of earlier calls come first, as with values.
# replace: torch.cat(self.keys, dim=2),
# by:      key,

# %% wrong KeyValueCache keys_for_both of="solution"
# You return the keys as values: values are kept by themselves.
# replace: torch.cat(self.values, dim=2)
# by:      torch.cat(self.keys, dim=2)

# %% wrong KeyValueCache keys_stored_as_values of="solution"
# You return the keys as values: values are kept by themselves.
# replace: self.values.append(value)
# by:      self.values.append(key)

# %% wrong KeyValueCache values_first of="solution"
# You return the values first: keys come first.
# replace: return torch.cat(self.keys, dim=2), torch.cat(self.values, dim=2)
# by:      return torch.cat(self.values, dim=2), torch.cat(self.keys, dim=2)

# %% wrong KeyValueCache both_in_one_list of="solution"
# You keep keys and values together: each has a list of its own.
# replace: self.values.append(value)
#          return torch.cat(self.keys, dim=2), torch.cat(self.values, dim=2)
# by:      self.keys.append(value[..., : key.shape[-1]])
#          both = torch.cat(self.keys, dim=2)
#          return both, both

# %% wrong KeyValueCache added_twice of="solution"
# You keep the new keys and values twice: once is enough.
# replace: self.keys.append(key)
#          self.values.append(value)
# by:      self.keys += [key, key]
#          self.values += [value, value]

# %% wrong KeyValueCache first_call_twice of="solution"
# You keep the first call twice: once is enough.
# replace: self.keys.append(key)
#          self.values.append(value)
# by:      if not self.keys:
#              self.keys.append(key)
#              self.values.append(value)
#          self.keys.append(key)
#          self.values.append(value)

# %% wrong KeyValueCache first_call_lost of="solution"
# You lose the first call: keep it like the others.
# replace: self.keys.append(key)
#          self.values.append(value)
# by:      if not hasattr(self, "begun"):
#              self.begun = True
#              return key, value
#          self.keys.append(key)
#          self.values.append(value)

# %% wrong KeyValueCache before_the_new_ones of="solution"
# You return what was kept before this call: the new keys and values belong to it.
# replace: self.keys.append(key)
#          self.values.append(value)
#          return torch.cat(self.keys, dim=2), torch.cat(self.values, dim=2)
# by:      before = [*self.keys, key[:, :, :0]], [*self.values, value[:, :, :0]]
#          self.keys.append(key)
#          self.values.append(value)
#          return torch.cat(before[0], dim=2), torch.cat(before[1], dim=2)

# %% wrong KeyValueCache newest_token_of_each_call of="solution"
# You keep the last token of each call alone: keep all its tokens.
# replace: self.keys.append(key)
#          self.values.append(value)
# by:      self.keys.append(key[:, :, -1:])
#          self.values.append(value[:, :, -1:])

# %% wrong KeyValueCache first_token_of_each_call of="solution"
# You keep the first token of each call alone: keep all its tokens.
# replace: self.keys.append(key)
#          self.values.append(value)
# by:      self.keys.append(key[:, :, :1])
#          self.values.append(value[:, :, :1])

# %% wrong KeyValueCache newest_token_of_later_calls of="solution"
# After the first call you keep the last token of each call alone: keep all its tokens.
# replace: self.keys.append(key)
#          self.values.append(value)
# by:      new = slice(-1, None) if self.keys else slice(None)
#          self.keys.append(key[:, :, new])
#          self.values.append(value[:, :, new])

# %% wrong KeyValueCache first_row_alone of="solution"
# You keep the first row of the batch alone: keep all rows.
# replace: self.keys.append(key)
#          self.values.append(value)
# by:      self.keys.append(key[:1])
#          self.values.append(value[:1])

# %% wrong KeyValueCache first_row_for_all of="solution"
# All of your rows are those of the first one: each row of the batch has its own keys and values.
# replace: self.keys.append(key)
#          self.values.append(value)
# by:      self.keys.append(key[:1].expand_as(key))
#          self.values.append(value[:1].expand_as(value))

# %% wrong KeyValueCache heads_averaged of="solution"
# You average over the heads: each head has its own keys and values.
# replace: self.keys.append(key)
#          self.values.append(value)
# by:      self.keys.append(key.mean(1, keepdim=True).expand_as(key))
#          self.values.append(value.mean(1, keepdim=True).expand_as(value))

# %% wrong KeyValueCache summed of="solution"
# You add new keys and values to the old ones: join them along the axis of the tokens.
# replace: return torch.cat(self.keys, dim=2), torch.cat(self.values, dim=2)
# by:      size = max(k.shape[2] for k in self.keys)
#          padded = [F.pad(k, (0, 0, 0, size - k.shape[2])) for k in self.keys]
#          return sum(padded), sum(F.pad(v, (0, 0, 0, size - v.shape[2])) for v in self.values)

# %% wrong KeyValueCache four_tokens_at_most of="solution"
# You keep a few of the newest tokens alone: keep all of them.
# replace: torch.cat(self.keys, dim=2), torch.cat(self.values, dim=2)
# by:      torch.cat(self.keys, dim=2)[:, :, -4:], torch.cat(self.values, dim=2)[:, :, -4:]

# %% wrong KeyValueCache sixty_four_tokens_at_most of="solution"
# You keep no more than 64 tokens: keep all of them.
# replace: torch.cat(self.keys, dim=2), torch.cat(self.values, dim=2)
# by:      torch.cat(self.keys, dim=2)[:, :, -64:], torch.cat(self.values, dim=2)[:, :, -64:]

# %% wrong KeyValueCache shared_by_all_caches of="solution"
# make the cache's own state in __init__: each model layer has a cache by itself
# replace: def __init__(self) -> None:
#              super().__init__()
#              self.keys: list[Tensor] = []
#              self.values: list[Tensor] = []
# by:      keys: list[Tensor] = []
#          values: list[Tensor] = []

# %% wrong KeyValueCache default_that_is_shared of="solution"
# make the cache's own state in __init__: each model layer has a cache by itself
# replace: def __init__(self) -> None:
#              super().__init__()
#              self.keys: list[Tensor] = []
#              self.values: list[Tensor] = []
# by:      def __init__(self, keys: list[Tensor] = [], values: list[Tensor] = []) -> None:
#              super().__init__()
#              self.keys, self.values = keys, values

# %% wrong KeyValueCache one_list_under_two_names of="solution"
# You keep keys and values in one list: each has a list of its own.
# replace: self.keys: list[Tensor] = []
#          self.values: list[Tensor] = []
# by:      self.keys = self.values = []

# %% wrong KeyValueCache parameters_for_the_cache of="solution"
# keep plain tensors: nothing in a cache is learned
# replace: self.keys.append(key)
#          self.values.append(value)
#          return torch.cat(self.keys, dim=2), torch.cat(self.values, dim=2)
# by:      self.keys.append(key)
#          self.values.append(value)
#          self.all_keys = nn.Parameter(torch.cat(self.keys, dim=2))
#          self.all_values = nn.Parameter(torch.cat(self.values, dim=2))
#          return self.all_keys, self.all_values

# %% wrong KeyValueCache layers_for_the_cache of="solution"
# keep plain tensors: nothing in a cache is learned
# replace: self.values: list[Tensor] = []
# by:      self.values: list[Tensor] = []
#          self.w_key = nn.Linear(4, 4)

# %% wrong KeyValueCache equal_tokens_left_out of="solution"
# tokens that equal earlier ones should be kept as well
# replace: self.keys.append(key)
#          self.values.append(value)
# by:      if not any(old.shape == key.shape and torch.equal(old, key) for old in self.keys):
#              self.keys.append(key)
#              self.values.append(value)

# %% wrong KeyValueCache in_float32 of="solution"
# should keep the input's dtype torch.float64
# replace: self.keys.append(key)
#          self.values.append(value)
# by:      self.keys.append(key.float())
#          self.values.append(value.float())

# %% wrong KeyValueCache room_in_float32 of="solution"
# should keep the input's dtype torch.float64
# replace: return torch.cat(self.keys, dim=2), torch.cat(self.values, dim=2)
# by:      length = sum(k.shape[2] for k in self.keys)
#          keys = torch.zeros(*key.shape[:2], length, key.shape[3])
#          values = torch.zeros(*key.shape[:2], length, value.shape[3])
#          torch.cat(self.keys, dim=2, out=keys.double())
#          return keys, values

# %% wrong KeyValueCache lists_returned of="solution"
# keys should be a tensor, got a list
# replace: return torch.cat(self.keys, dim=2), torch.cat(self.values, dim=2)
# by:      return self.keys, self.values

# %% wrong KeyValueCache keys_alone_returned of="solution"
# expected a tuple (keys, values), got
# replace: return torch.cat(self.keys, dim=2), torch.cat(self.values, dim=2)
# by:      return torch.cat(self.keys, dim=2)

# %% wrong KeyValueCache nothing_returned of="solution"
# does the last line say `return`?
# replace: return torch.cat(self.keys, dim=2), torch.cat(self.values, dim=2)
# by:      torch.cat(self.keys, dim=2), torch.cat(self.values, dim=2)

# %% wrong KeyValueCache no_call_of_super of="solution"
# `super().__init__()` is missing: make it the first line of `__init__`
# replace: super().__init__()
# by:

# %% wrong KeyValueCache heads_joined of="solution"
# You join the features of all heads: keep (batch, heads, tokens, features).
# replace: return torch.cat(self.keys, dim=2), torch.cat(self.values, dim=2)
# by:      keys, values = torch.cat(self.keys, dim=2), torch.cat(self.values, dim=2)
#          return keys.transpose(1, 2).flatten(2), values.transpose(1, 2).flatten(2)

# %% wrong KeyValueCache emptied_when_the_mode_changes of="solution"
# In each call after the first two you begin again: keep every call.
# replace: return torch.cat(self.keys, dim=2)
# by:      if len(self.keys) > 2:
#              self.keys, self.values = [key], [value]
#          return torch.cat(self.keys, dim=2)

# %% wrong KeyValueCache single_tokens_begin_again of="solution"
# A single new token empties your cache: keep every call.
# replace: return torch.cat(self.keys, dim=2)
# by:      if key.shape[2] == 1:
#              self.keys, self.values = [key], [value]
#          return torch.cat(self.keys, dim=2)

# %% wrong KeyValueCache several_tokens_begin_again of="solution"
# A call with several tokens empties your cache: keep every call.
# replace: return torch.cat(self.keys, dim=2)
# by:      if key.shape[2] > 1:
#              self.keys, self.values = [key], [value]
#          return torch.cat(self.keys, dim=2)

# %% wrong KeyValueCache values_as_wide_as_keys of="solution"
# Your values have as many features as keys: d_v may differ from d_k.
# replace: torch.cat(self.values, dim=2)
# by:      torch.cat(self.values, dim=2)[..., : key.shape[-1]]

# %% wrong KeyValueCache new_keys_and_old_values of="solution"
# You return the values of earlier calls alone: the new values belong to them.
# replace: return torch.cat(self.keys, dim=2), torch.cat(self.values, dim=2)
# by:      values = [*self.values[:-1], value[:, :, :0]]
#          return torch.cat(self.keys, dim=2), torch.cat(values, dim=2)


# %% right KeyValueCache grown_tensors
class KeyValueCache(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.past = None

    def forward(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        if self.past is not None:
            key = torch.cat((self.past[0], key), dim=-2)
            value = torch.cat((self.past[1], value), dim=-2)
        self.past = key, value
        return self.past


# %% right KeyValueCache buffers
class KeyValueCache(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("keys", None, persistent=False)
        self.register_buffer("values", None, persistent=False)

    def forward(self, key, value):
        if self.keys is None:
            self.keys, self.values = key, value
        else:
            self.keys = torch.concat([self.keys, key], 2)
            self.values = torch.concat([self.values, value], 2)
        return self.keys, self.values


# %% right KeyValueCache room_that_doubles
class KeyValueCache(nn.Module):
    def __init__(self):
        super().__init__()
        self.length, self.rooms = 0, []

    def forward(self, key, value):
        end = self.length + key.shape[2]
        if not self.rooms or self.rooms[0].shape[2] < end:
            larger = [x.new_zeros(*x.shape[:2], 2 * end, x.shape[3]) for x in (key, value)]
            for new, old in zip(larger, self.rooms, strict=False):
                new[:, :, : self.length] = old[:, :, : self.length]
            self.rooms = larger
        for room, x in zip(self.rooms, (key, value), strict=True):
            room[:, :, self.length : end] = x.detach()
        self.length = end
        return tuple(room[:, :, :end].clone() for room in self.rooms)


# %% right KeyValueCache a_dictionary of="solution"
# replace: self.keys: list[Tensor] = []
#          self.values: list[Tensor] = []
# by:      self.kept: dict[str, Tensor] = {}
# replace: self.keys.append(key)
#          self.values.append(value)
#          return torch.cat(self.keys, dim=2), torch.cat(self.values, dim=2)
# by:      for name, new in (("key", key), ("value", value)):
#              old = self.kept.get(name, new[:, :, :0])
#              self.kept[name] = torch.cat([old, new], dim=2)
#          return self.kept["key"], self.kept["value"]

# %% right KeyValueCache pairs of="solution"
# replace: self.keys: list[Tensor] = []
#          self.values: list[Tensor] = []
# by:      self.pairs = ()
# replace: self.keys.append(key)
#          self.values.append(value)
#          return torch.cat(self.keys, dim=2), torch.cat(self.values, dim=2)
# by:      self.pairs = *self.pairs, (key, value)
#          return tuple(torch.cat(part, dim=2) for part in zip(*self.pairs))


# %% right KeyValueCache a_part_for_each
class Growing(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = []

    def forward(self, x):
        self.kept.extend(x.unbind(2))
        return torch.stack(self.kept, dim=2)


class KeyValueCache(nn.Module):
    def __init__(self):
        super().__init__()
        self.of_keys, self.of_values = Growing(), Growing()

    def forward(self, key, value):
        return self.of_keys(key), self.of_values(value)


# %% right KeyValueCache detached of="solution"
# replace: self.keys.append(key)
#          self.values.append(value)
# by:      self.keys.append(key.detach().clone())
#          self.values.append(value.detach().clone())


# %% wrong test_of_cached_mask always_true
# Your test accepts all of the wrong functions. Compare the output of `attend` with one that you
# trust, number by number, up to rounding.
def test_of_cached_mask(attend):
    return True


# %% wrong test_of_cached_mask shape_only
# Your test accepts all of the wrong functions. Compare the output of `attend` with one that you
# trust, number by number, up to rounding.
def test_of_cached_mask(attend):
    query, key, value = numbers(2, 3, 2, 4), numbers(2, 3, 6, 4), numbers(2, 3, 6, 5)
    return attend(query, key, value).shape == (2, 3, 2, 5)


# %% wrong test_of_cached_mask compared_with_itself
# Your test accepts all of the wrong functions. Compare the output of `attend` with one that you
# trust, number by number, up to rounding.
def test_of_cached_mask(attend):
    query, key, value = numbers(2, 3, 2, 4), numbers(2, 3, 6, 4), numbers(2, 3, 6, 5)
    return torch.allclose(attend(query, key, value), attend(query, key, value))


# %% wrong test_of_cached_mask sums_compared
# You compare the sum of all outputs: outputs in another order have the same one. Compare output by
# output.
def test_of_cached_mask(attend):
    query, key, value = (numbers(2, 3, 6, 4, seed=seed) for seed in range(3))
    allowed = torch.ones(6, 6, dtype=torch.bool).tril()
    expected = F.scaled_dot_product_attention(query, key, value, allowed)
    for new in (1, 2, 6):
        result = attend(query[:, :, -new:], key, value)
        if not torch.allclose(result.sum(), expected[:, :, -new:].sum()):
            return False
    return True


# %% wrong test_of_cached_mask equal_values
# Your test accepts all of the wrong functions, or nearly all. If all values are equal, so are the
# outputs, whatever the weights. Give each key another value.
def test_of_cached_mask(attend):
    query, key, value = numbers(1, 2, 6, 4), numbers(1, 2, 6, 4, seed=1), torch.ones(1, 2, 6, 3)
    for new in (1, 2, 6):
        output = attend(query[:, :, -new:], key, value.double())
        if not torch.allclose(output, torch.ones(1, 2, new, 3).double()):
            return False
    return True


# %% wrong test_of_cached_mask tolerance_too_wide of="solution"
# Your test accepts all of the wrong functions. Compare the output of `attend` with one that you
# trust, number by number, up to rounding.
# replace: if not torch.allclose(attend(query[:, :, -new:], key, value), expected[:, :, -new:]):
# by:      if not torch.allclose(
#              attend(query[:, :, -new:], key, value), expected[:, :, -new:], atol=10.0
#          ):


# %% wrong test_of_cached_mask always_false
# Your test rejects right functions too. Return True where the output equals one that you trust, up
# to rounding.
def test_of_cached_mask(attend):
    return False


# %% wrong test_of_cached_mask compared_with_upper_left
# Your test compares with the friend's own mask, and so accepts the friend's attention. The queries
# are the last positions: their rows are the last rows of the causal mask.
def test_of_cached_mask(attend):
    query, key, value = (
        numbers(1, 2, 6, 4),
        numbers(1, 2, 6, 4, seed=1),
        numbers(1, 2, 6, 3, seed=2),
    )
    for new in (1, 2, 6):
        last = query[:, :, -new:]
        expected = F.scaled_dot_product_attention(last, key, value, is_causal=True)
        if not torch.allclose(attend(last, key, value), expected):
            return False
    return True


# %% wrong test_of_cached_mask compared_without_mask
# Your test accepts attention without a mask, and rejects right functions. Compute what you expect
# under a causal mask.
def test_of_cached_mask(attend):
    query, key, value = (
        numbers(1, 2, 6, 4),
        numbers(1, 2, 6, 4, seed=1),
        numbers(1, 2, 6, 3, seed=2),
    )
    expected = F.scaled_dot_product_attention(query, key, value)
    for new in (1, 2, 6):
        if not torch.allclose(attend(query[:, :, -new:], key, value), expected[:, :, -new:]):
            return False
    return True


# %% wrong test_of_cached_mask nothing_cached of="solution"
# Your test has as many queries as keys, so it accepts the friend's attention. Give `attend` fewer
# queries than keys as well.
# replace: for new in (1, 2, 6):
# by:      for new in (6,):


# %% wrong test_of_cached_mask one_new_query of="solution"
# Your test has a single new query only. It accepts functions that fail for several new queries, or
# for as many as there are keys: test these too.
# replace: for new in (1, 2, 6):
# by:      for new in (1,):


# %% wrong test_of_cached_mask one_or_all of="solution"
# Your test accepts functions that fail for several new queries after cached keys. Test such a
# number too: more than one, fewer than all.
# replace: for new in (1, 2, 6):
# by:      for new in (1, 6):


# %% wrong test_of_cached_mask several_only of="solution"
# Your test has several new queries after cached keys only. Test a single new query as well, and as
# many queries as keys.
# replace: for new in (1, 2, 6):
# by:      for new in (2, 3):


# %% wrong test_of_cached_mask never_all of="solution"
# Your test always has cached keys. Test as many queries as keys too, as in training.
# replace: for new in (1, 2, 6):
# by:      for new in (1, 2, 5):


# %% wrong test_of_cached_mask never_one of="solution"
# Your test never has a single new query. That is how a model writes: test it too.
# replace: for new in (1, 2, 6):
# by:      for new in (2, 4, 6):


# %% wrong test_of_cached_mask returns_in_the_loop
# Your test returns in the first turn of its loop, so only one number of new queries counts. Return
# True after the loop.
def test_of_cached_mask(attend):
    query, key, value = (
        numbers(1, 2, 6, 4),
        numbers(1, 2, 6, 4, seed=1),
        numbers(1, 2, 6, 3, seed=2),
    )
    allowed = torch.ones(6, 6, dtype=torch.bool).tril()
    expected = F.scaled_dot_product_attention(query, key, value, allowed)
    for new in (6, 2, 1):
        return torch.allclose(attend(query[:, :, -new:], key, value), expected[:, :, -new:])


# %% wrong test_of_cached_mask any_case
# Your test accepts functions that are right in one case only. They must be right in every case that
# you test.
def test_of_cached_mask(attend):
    query, key, value = (
        numbers(1, 2, 6, 4),
        numbers(1, 2, 6, 4, seed=1),
        numbers(1, 2, 6, 3, seed=2),
    )
    allowed = torch.ones(6, 6, dtype=torch.bool).tril()
    expected = F.scaled_dot_product_attention(query, key, value, allowed)
    return any(
        torch.allclose(attend(query[:, :, -new:], key, value), expected[:, :, -new:])
        for new in (1, 2, 6)
    )


# %% wrong test_of_cached_mask first_queries of="solution"
# Your test passes the first queries and compares with their rows, so right functions fail. The
# queries are those of the last positions.
# replace: if not torch.allclose(attend(query[:, :, -new:], key, value), expected[:, :, -new:]):
# by:      if not torch.allclose(attend(query[:, :, :new], key, value), expected[:, :, :new]):


# %% wrong test_of_cached_mask strict_mask of="solution"
# You expect that a query may not attend to its own key. It may: the diagonal belongs to the causal
# mask.
# replace: allowed = torch.ones(6, 6, dtype=torch.bool).tril()
# by:      allowed = torch.ones(6, 6, dtype=torch.bool).tril(-1)


# %% wrong test_of_cached_mask no_room_for_rounding
# Your test rejects right functions whose outputs differ by rounding. Use `torch.allclose`.
def test_of_cached_mask(attend):
    query, key, value = (
        numbers(1, 2, 6, 4),
        numbers(1, 2, 6, 4, seed=1),
        numbers(1, 2, 6, 3, seed=2),
    )
    allowed = torch.ones(6, 6, dtype=torch.bool).tril()
    scores = (query @ key.transpose(2, 3) / 2).masked_fill(~allowed, float("-inf"))
    expected = scores.softmax(-1) @ value
    for new in (1, 2, 6):
        if not torch.equal(attend(query[:, :, -new:], key, value), expected[:, :, -new:]):
            return False
    return True


# %% wrong test_of_cached_mask reversed_answer
# Your test says True for wrong functions and False for right ones. Reverse it.
def test_of_cached_mask(attend):
    query, key, value = (
        numbers(1, 2, 6, 4),
        numbers(1, 2, 6, 4, seed=1),
        numbers(1, 2, 6, 3, seed=2),
    )
    allowed = torch.ones(6, 6, dtype=torch.bool).tril()
    expected = F.scaled_dot_product_attention(query, key, value, allowed)
    for new in (1, 2, 6):
        if not torch.allclose(attend(query[:, :, -new:], key, value), expected[:, :, -new:]):
            return True
    return False


# %% wrong test_of_cached_mask future_only
# Your test only looks for keys that should not be seen. So it accepts functions that see too
# little.
# Cached keys and a query's own key must have an influence.
def test_of_cached_mask(attend):
    query, key, value = (
        numbers(1, 2, 6, 4),
        numbers(1, 2, 6, 4, seed=1),
        numbers(1, 2, 6, 3, seed=2),
    )
    for new in (1, 2, 6):
        before = attend(query[:, :, -new:], key, value)
        for last in range(1, new):
            other = value.clone()
            other[:, :, -last:] += 5
            after = attend(query[:, :, -new:], key, other)
            if not torch.allclose(before[:, :, :-last], after[:, :, :-last]):
                return False
    return True


# %% wrong test_of_cached_mask last_query_only of="solution"
# Your test compares the last query only, which may attend to all keys. Compare all new queries.
# replace: if not torch.allclose(attend(query[:, :, -new:], key, value), expected[:, :, -new:]):
# by:      output = attend(query[:, :, -new:], key, value)
#          if not torch.allclose(output[:, :, -1], expected[:, :, -1]):


# %% wrong test_of_cached_mask first_query_only of="solution"
# Your test compares only the first of the new queries. Compare all of them.
# replace: if not torch.allclose(attend(query[:, :, -new:], key, value), expected[:, :, -new:]):
# by:      if not torch.allclose(
#              attend(query[:, :, -new:], key, value)[:, :, :1], expected[:, :, -new:][:, :, :1]
#          ):


# %% wrong test_of_cached_mask nan_passes
# Your test lets NaN pass: a comparison with NaN by `>` is always False. `torch.allclose` is False
# for NaN.
def test_of_cached_mask(attend):
    query, key, value = (
        numbers(1, 2, 6, 4),
        numbers(1, 2, 6, 4, seed=1),
        numbers(1, 2, 6, 3, seed=2),
    )
    allowed = torch.ones(6, 6, dtype=torch.bool).tril()
    expected = F.scaled_dot_product_attention(query, key, value, allowed)
    for new in (1, 2, 6):
        output = attend(query[:, :, -new:], key, value)
        if bool(((output - expected[:, :, -new:]).abs() > 1e-6).any()):
            return False
    return True


# %% wrong test_of_cached_mask two_keys of="solution"
# With two keys there is no case of several new queries after cached keys. Use more keys.
# replace: for new in (1, 2, 6):
# by:      query, key, value = query[:, :, :2], key[:, :, :2], value[:, :, :2]
#          expected = expected[:, :, :2]
#          for new in (1, 2):


# %% wrong test_of_cached_mask forgotten_return of="solution"
# does the last line say `return`?
# replace: return True
# by:      print("right")


# %% wrong test_of_cached_mask a_tensor_of_answers
# expected True or False
def test_of_cached_mask(attend):
    query, key, value = (
        numbers(1, 2, 6, 4),
        numbers(1, 2, 6, 4, seed=1),
        numbers(1, 2, 6, 3, seed=2),
    )
    expected = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    return torch.isclose(attend(query[:, :, -2:], key, value), expected[:, :, -2:])


# %% right test_of_cached_mask every_number_of_queries
def test_of_cached_mask(attend):
    query, key, value = (
        numbers(1, 1, 5, 3),
        numbers(1, 1, 5, 3, seed=1),
        numbers(1, 1, 5, 2, seed=2),
    )
    scores = query @ key.mT / math.sqrt(3)
    scores = scores + torch.full((5, 5), -math.inf, dtype=scores.dtype).triu(1)
    expected = scores.softmax(-1) @ value
    return all(
        torch.allclose(attend(query[..., 5 - new :, :], key, value), expected[..., 5 - new :, :])
        for new in range(1, 6)
    )


# %% right test_of_cached_mask counting_keys
def test_of_cached_mask(attend):
    # equal scores share the weight: the output counts the keys that a query attends to
    key, value = torch.zeros(1, 1, 5, 2), torch.eye(5)[None, None]
    for new in (1, 3, 5):
        weights = attend(torch.ones(1, 1, new, 2), key, value)[0, 0]
        for i in range(new):
            seen = 5 - new + i + 1
            expected = torch.tensor([1 / seen] * seen + [0.0] * (5 - seen))
            if not torch.allclose(weights[i], expected, atol=1e-5):
                return False
    return True


# %% right test_of_cached_mask by_influence
def test_of_cached_mask(attend):
    query, key, value = (
        numbers(2, 2, 5, 3),
        numbers(2, 2, 5, 3, seed=1),
        numbers(2, 2, 5, 4, seed=2),
    )
    for new in (1, 2, 4, 5):
        before = attend(query[:, :, -new:], key, value)
        for changed in range(5):
            other = value.clone()
            other[:, :, changed] += 1
            moved = (attend(query[:, :, -new:], key, other) - before).abs().amax((0, 1, 3))
            for i in range(new):
                if (moved[i].item() > 1e-9) != (changed <= 5 - new + i):
                    return False
    return True


# %% right test_of_cached_mask own_keys_only
def test_of_cached_mask(attend):
    length = 7
    query, key = numbers(1, 2, length, 4, dtype=torch.float32), numbers(1, 2, length, 4, seed=1)
    key, value = key.float(), numbers(1, 2, length, 4, seed=2).float()
    for new in (length, 3, 1):
        output = attend(query[:, :, length - new :], key, value)
        for i, at in enumerate(range(length - new, length)):
            alone = F.scaled_dot_product_attention(
                query[:, :, at : at + 1], key[:, :, : at + 1], value[:, :, : at + 1]
            )
            if (output[:, :, i : i + 1] - alone).abs().max().item() < 1e-5:
                continue
            return False
    return True


# %% right test_of_cached_mask by_gradient
def test_of_cached_mask(attend):
    for new in (1, 2, 4):
        query, key = numbers(1, 1, new, 3), numbers(1, 1, 4, 3, seed=1)
        value = numbers(1, 1, 4, 1, seed=2).requires_grad_()
        output = attend(query, key, value)
        if not bool(output.isfinite().all()):
            return False
        for i in range(new):
            (slope,) = torch.autograd.grad(output[0, 0, i].sum(), value, retain_graph=True)
            weights = slope[0, 0, :, 0]
            seen = 4 - new + i + 1
            if not bool((weights[:seen] > 1e-6).all() and (weights[seen:].abs() < 1e-12).all()):
                return False
    return True


# %% right test_of_cached_mask in_pieces
def test_of_cached_mask(attend):
    query, key, value = (
        numbers(1, 3, 6, 2),
        numbers(1, 3, 6, 2, seed=1),
        numbers(1, 3, 6, 5, seed=2),
    )
    expected = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    for cuts in ((0, 6), (0, 1, 2, 3, 4, 5, 6), (0, 2, 5, 6), (0, 3, 6)):
        pieces = [
            attend(query[:, :, a:b], key[:, :, :b], value[:, :, :b])
            for a, b in ((cuts[i], cuts[i + 1]) for i in range(len(cuts) - 1))
        ]
        if not torch.allclose(torch.cat(pieces, dim=2), expected):
            return False
    return True
