# %% given imports
# pyright: reportRedeclaration=false, reportReturnType=false, reportUnusedExpression=false
# pyright: reportArgumentType=false, reportCallIssue=false, reportIndexIssue=false
# pyright: reportAttributeAccessIssue=false, reportIncompatibleVariableOverride=false
# pyright: reportOptionalMemberAccess=false, reportOperatorIssue=false
# pyright: reportGeneralTypeIssues=false, reportUndefinedVariable=false
# pyright: reportOptionalCall=false, reportPossiblyUnboundVariable=false
import math
from collections import Counter
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformer_course.checks import numbers


def attend(
    attention: nn.MultiheadAttention,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
) -> tuple[Tensor, Tensor]: ...


class DecoderLayer(nn.Module): ...


# %% wrong shift_right rolled
# Your last token comes round to the front: `begin` belongs there.
def shift_right(target: Tensor, begin: int) -> Tensor:
    return target.roll(1, dims=1)


# %% wrong shift_right shifted_left
# You shift to the left: `begin` comes first, and the last token is left out.
def shift_right(target: Tensor, begin: int) -> Tensor:
    return torch.cat([target[:, 1:], torch.full_like(target[:, :1], begin)], dim=1)


# %% wrong shift_right begin_at_the_end
# You put `begin` at the end: it comes first.
def shift_right(target: Tensor, begin: int) -> Tensor:
    return torch.cat([target[:, :-1], torch.full_like(target[:, :1], begin)], dim=1)


# %% wrong shift_right last_one_kept of="solution"
# Your rows are one token longer than the target: leave out the last token.
# replace: target[:, :-1]]
# by:      target]

# %% wrong shift_right first_one_overwritten of="solution"
# You replace the first token by `begin`: move all tokens one place to the right.
# replace: target[:, :-1]]
# by:      target[:, 1:]]

# %% wrong shift_right two_left_out of="solution"
# You leave out two tokens: only the last one goes.
# replace: target[:, :-1]]
# by:      target[:, :-2]]

# %% wrong shift_right nothing_in_front of="solution"
# You leave out the last token and put nothing in front: `begin` comes first.
# replace: torch.cat([first, target[:, :-1]], dim=1)
# by:      target[:, :-1]


# %% wrong shift_right into_the_caller
# You write into `target`, which the loss still needs: make a new tensor.
def shift_right(target: Tensor, begin: int) -> Tensor:
    target[:, 1:] = target[:, :-1].clone()
    target[:, 0] = begin
    return target


# %% wrong shift_right along_the_batch
# You shift whole rows down the batch: shift along axis 1, inside each row.
def shift_right(target: Tensor, begin: int) -> Tensor:
    return torch.cat([torch.full_like(target[:1], begin), target[:-1]])


# %% wrong shift_right begin_is_0 of="solution"
# You always begin with 0: put the argument `begin` first.
# replace: begin)
# by:      0)

# %% wrong shift_right begin_is_1 of="solution"
# You always begin with 1: put the argument `begin` first.
# replace: begin)
# by:      1)


# %% wrong shift_right floats
# Your ids are floating-point numbers, which no embedding takes: keep the dtype of `target`.
def shift_right(target: Tensor, begin: int) -> Tensor:
    shifted = torch.zeros(target.shape)
    shifted[:, 0] = begin
    shifted[:, 1:] = target[:, :-1]
    return shifted


# %% wrong shift_right whole_batch_rolled
# Your rows begin with the last token of the row before: only the first row begins with `begin`.
def shift_right(target: Tensor, begin: int) -> Tensor:
    shifted = target.roll(1)
    shifted[0, 0] = begin
    return shifted


# %% wrong shift_right first_row_only
# You shift the first row alone: shift all rows of the batch.
def shift_right(target: Tensor, begin: int) -> Tensor:
    return torch.cat([torch.tensor([[begin]]), target[:1, :-1]], dim=1)


# %% wrong shift_right one_begin_for_all
# You make one `begin` for the whole batch: torch.cat needs one for each row, (batch, 1).
def shift_right(target: Tensor, begin: int) -> Tensor:
    return torch.cat([torch.tensor([[begin]]), target[:, :-1]], dim=1)


# %% wrong shift_right nothing_returned
# does the last line say `return`?
def shift_right(target: Tensor, begin: int) -> Tensor:
    torch.cat([torch.full_like(target[:, :1], begin), target[:, :-1]], dim=1)


# %% wrong shift_right copied_on
# You copy `begin` from place to place, so rows hold nothing else: read from `target`, not from the
# tensor that you write.
def shift_right(target: Tensor, begin: int) -> Tensor:
    shifted = target.clone()
    shifted[:, 0] = begin
    for t in range(1, target.shape[1]):
        shifted[:, t] = shifted[:, t - 1]
    return shifted


# %% wrong shift_right end_removed
# You leave out the token 2: the one to leave out is the last of each row, whatever it is.
def shift_right(target: Tensor, begin: int) -> Tensor:
    rows = [[begin, *(token for token in row if token != 2)] for row in target.tolist()]
    return torch.tensor([(row + [0] * 9)[: target.shape[1]] for row in rows])


# %% wrong shift_right squeezed of="solution"
# You remove axes of length 1: a row of one token still has its axis.
# replace: target[:, :-1]], dim=1)
# by:      target[:, :-1]], dim=1).squeeze()

# %% wrong shift_right mirrored of="solution"
# You turn the rows round: the tokens keep their order.
# replace: target[:, :-1]]
# by:      target[:, :-1].flip(1)]


# %% wrong shift_right a_list
# Your result is a list of lists: return a tensor.
def shift_right(target: Tensor, begin: int) -> Tensor:
    return [[begin, *row[:-1]] for row in target.tolist()]


# %% wrong shift_right both_returned of="solution"
# You return two tensors: return the shifted one alone.
# replace: torch.cat([first, target[:, :-1]], dim=1)
# by:      torch.cat([first, target[:, :-1]], dim=1), target

# %% wrong shift_right two_begins of="solution"
# Your rows begin with `begin` twice: one is enough.
# replace: torch.cat([first, target[:, :-1]], dim=1)
# by:      torch.cat([first, first, target[:, :-1]], dim=1)[:, : target.shape[1]]

# %% wrong shift_right transposed of="solution"
# Your result is (length, batch): keep (batch, length).
# replace: dim=1)
# by:      dim=1).T


# %% wrong shift_right padding_left_out
# You take 0 for padding and leave `begin` out there: every id is shifted alike.
def shift_right(target: Tensor, begin: int) -> Tensor:
    shifted = torch.cat([torch.full_like(target[:, :1], begin), target[:, :-1]], dim=1)
    return torch.where(target == 0, 0, shifted)


# %% right shift_right padded
def shift_right(target: Tensor, begin: int) -> Tensor:
    return F.pad(target, (1, -1), value=begin)


# %% right shift_right rolled_and_replaced
def shift_right(target: Tensor, begin: int) -> Tensor:
    shifted = target.roll(1, dims=1)
    shifted[:, 0] = begin
    return shifted


# %% right shift_right whole_batch_rolled_and_replaced
def shift_right(target: Tensor, begin: int) -> Tensor:
    shifted = torch.roll(target, 1)
    shifted[:, 0] = begin
    return shifted


# %% right shift_right in_lists
def shift_right(target: Tensor, begin: int) -> Tensor:
    return torch.tensor([[begin, *row[:-1]] for row in target.tolist()])


# %% right shift_right empty_like
def shift_right(target: Tensor, begin: int) -> Tensor:
    shifted = torch.empty_like(target)
    shifted[:, 0], shifted[:, 1:] = begin, target[:, :-1]
    return shifted


# %% right shift_right new_full
def shift_right(target: Tensor, begin: int) -> Tensor:
    return torch.hstack([target.new_full((len(target), 1), begin), target])[:, :-1]


# %% right shift_right column_by_column
def shift_right(target: Tensor, begin: int) -> Tensor:
    columns = [torch.full((target.size(0),), begin), *target.unbind(1)]
    return torch.stack(columns[:-1], dim=1)


# %% right shift_right gathered
def shift_right(target: Tensor, begin: int) -> Tensor:
    places = torch.arange(target.shape[1]) - 1
    return torch.where(places < 0, begin, target[:, places.clamp(min=0)])


# %% right shift_right torch_full
def shift_right(target: Tensor, begin: int) -> Tensor:
    batch, length = target.size()
    first = torch.ones(batch, 1, dtype=torch.long) * begin
    return torch.concat((first, target.narrow(1, 0, length - 1)), -1)


# %% base translation_loss by_steps
def translation_loss(logits: Tensor, target: Tensor, padding: int) -> Tensor:
    log_chances = logits.log_softmax(dim=-1)
    losses = -log_chances.gather(-1, target[..., None]).squeeze(-1)
    kept = target != padding
    return (losses * kept).sum() / kept.sum()


# %% wrong translation_loss padding_counted of="solution"
# You average over padding too: leave those positions out.
# replace: , ignore_index=padding)
# by:      )

# %% wrong translation_loss padding_is_0 of="solution"
# You leave out the id 0, whatever `padding` is.
# replace: ignore_index=padding
# by:      ignore_index=0


# %% wrong translation_loss padding_is_the_last_id
# You leave out the last id of the vocabulary, whatever `padding` is.
def translation_loss(logits: Tensor, target: Tensor, padding: int) -> Tensor:
    return F.cross_entropy(
        logits.flatten(0, 1), target.flatten(), ignore_index=logits.shape[-1] - 1
    )


# %% wrong translation_loss summed
# You return the sum: divide by the number of tokens.
def translation_loss(logits: Tensor, target: Tensor, padding: int) -> Tensor:
    log_chances = logits.log_softmax(dim=-1)
    losses = -log_chances.gather(-1, target[..., None]).squeeze(-1)
    kept = target != padding
    return (losses * kept).sum()


# %% wrong translation_loss divided_by_all of="by_steps"
# You divide by the number of all positions, padding included: count the tokens alone.
# replace: / kept.sum()
# by:      / kept.numel()

# %% wrong translation_loss divided_by_the_batch of="by_steps"
# You divide by the number of rows: divide by the number of tokens.
# replace: / kept.sum()
# by:      / len(kept)

# %% wrong translation_loss mean_of_rows of="by_steps"
# You average each row first, so a token of a short row counts more: average over all at once.
# replace: return (losses * kept).sum() / kept.sum()
# by:      return ((losses * kept).sum(1) / kept.sum(1)).mean()

# %% wrong translation_loss mean_of_columns of="by_steps"
# You average each column first: average over all tokens of the batch at once.
# replace: return (losses * kept).sum() / kept.sum()
# by:      return ((losses * kept).sum(0) / kept.sum(0).clamp(min=1)).mean()


# %% wrong translation_loss shifted_again
# You shift once more: these logits are for the token at their own position.
def translation_loss(logits: Tensor, target: Tensor, padding: int) -> Tensor:
    return F.cross_entropy(
        logits[:, :-1].flatten(0, 1), target[:, 1:].flatten(), ignore_index=padding
    )


# %% wrong translation_loss shifted_back
# You compare each logit with the token before: these logits are for the token at their own
# position.
def translation_loss(logits: Tensor, target: Tensor, padding: int) -> Tensor:
    return F.cross_entropy(
        logits[:, 1:].flatten(0, 1), target[:, :-1].flatten(), ignore_index=padding
    )


# %% wrong translation_loss rows_mixed
# You put logits and tokens into different orders: flatten both in the same one.
def translation_loss(logits: Tensor, target: Tensor, padding: int) -> Tensor:
    return F.cross_entropy(
        logits.transpose(0, 1).flatten(0, 1), target.flatten(), ignore_index=padding
    )


# %% wrong translation_loss reshaped
# You reshape where you should transpose: the logits of a position are torn apart.
def translation_loss(logits: Tensor, target: Tensor, padding: int) -> Tensor:
    return F.cross_entropy(
        logits.reshape(logits.shape[0], logits.shape[2], -1), target, ignore_index=padding
    )


# %% wrong translation_loss classes_last of="solution"
# F.cross_entropy expects the classes on axis 1: flatten batch and length, or transpose.
# replace: logits.flatten(0, 1), target.flatten()
# by:      logits, target

# %% wrong translation_loss probabilities_in of="solution"
# You pass probabilities to F.cross_entropy, which applies softmax itself: pass the logits.
# replace: logits.flatten(0, 1),
# by:      logits.flatten(0, 1).softmax(-1),

# %% wrong translation_loss log_of_softmax of="by_steps"
# You take the log of a softmax: a small probability becomes 0, and its log infinite. Use
# log_softmax.
# replace: logits.log_softmax(dim=-1)
# by:      logits.softmax(dim=-1).log()

# %% wrong translation_loss exp_by_hand of="by_steps"
# You apply exp to the logits themselves: it overflows where they are large. Use log_softmax.
# replace: logits.log_softmax(dim=-1)
# by:      logits - logits.exp().sum(-1, keepdim=True).log()

# %% wrong translation_loss no_softmax of="by_steps"
# You take the logits for log-probabilities: apply log_softmax first.
# replace: logits.log_softmax(dim=-1)
# by:      logits

# %% wrong translation_loss softmax_over_positions of="by_steps"
# Your softmax goes over the positions: it should go over the vocabulary, the last axis.
# replace: logits.log_softmax(dim=-1)
# by:      logits.log_softmax(dim=1)

# %% wrong translation_loss softmax_over_the_batch of="by_steps"
# Your softmax goes over the batch: it should go over the vocabulary, the last axis.
# replace: logits.log_softmax(dim=-1)
# by:      logits.log_softmax(dim=0)

# %% wrong translation_loss bits of="by_steps"
# Your unit is the bit: for nats, take the natural logarithm.
# replace: / kept.sum()
# by:      / kept.sum() / math.log(2)

# %% wrong translation_loss no_minus of="by_steps"
# Your loss is negative: the cross-entropy is minus the log of the probability.
# replace: -log_chances
# by:      log_chances

# %% wrong translation_loss perplexity of="by_steps"
# You return the perplexity, exp of the loss: return the loss itself.
# replace: return (losses * kept).sum() / kept.sum()
# by:      return ((losses * kept).sum() / kept.sum()).exp()

# %% wrong translation_loss no_logarithm of="by_steps"
# You average probabilities: take minus their logs first.
# replace: logits.log_softmax(dim=-1)
# by:      logits.softmax(dim=-1)

# %% wrong translation_loss log_of_the_mean of="by_steps"
# You take the log of the mean probability: take the mean of the logs.
# replace: logits.log_softmax(dim=-1)
# by:      -logits.softmax(dim=-1)
# replace: return (losses * kept).sum() / kept.sum()
# by:      return -((losses * kept).sum() / kept.sum()).log()


# %% wrong translation_loss label_smoothing
# You smooth the targets: here the whole probability belongs to the token.
def translation_loss(logits: Tensor, target: Tensor, padding: int) -> Tensor:
    return F.cross_entropy(
        logits.flatten(0, 1), target.flatten(), ignore_index=padding, label_smoothing=0.1
    )


# %% wrong translation_loss detached of="solution"
# Your loss has no gradient, so nothing can learn from it: do not detach.
# replace: logits.flatten(0, 1)
# by:      logits.detach().flatten(0, 1)

# %% wrong translation_loss a_python_number of="solution"
# You return a Python number, which has no gradient: return the tensor.
# replace: ignore_index=padding)
# by:      ignore_index=padding).item()


# %% wrong translation_loss one_for_each_token
# You return a loss for each token: return their mean.
def translation_loss(logits: Tensor, target: Tensor, padding: int) -> Tensor:
    return F.cross_entropy(
        logits.flatten(0, 1), target.flatten(), ignore_index=padding, reduction="none"
    )


# %% wrong translation_loss one_for_each_row of="by_steps"
# You return a loss for each row: return one number for the batch.
# replace: return (losses * kept).sum() / kept.sum()
# by:      return (losses * kept).sum(1) / kept.sum(1)

# %% wrong translation_loss axis_kept of="by_steps"
# Your result has an axis of length 1: return a tensor without axes, ().
# replace: return (losses * kept).sum() / kept.sum()
# by:      return ((losses * kept).sum() / kept.sum())[None]

# %% wrong translation_loss padding_column_removed of="by_steps"
# You make the padding token impossible, which raises all other probabilities: leave out positions,
# not a column of the logits.
# replace: log_chances = logits.log_softmax(dim=-1)
# by:      removed = torch.arange(logits.shape[-1]) == padding
#          log_chances = logits.masked_fill(removed, -1e9).log_softmax(dim=-1)


# %% wrong translation_loss logits_zeroed
# You set the logits at padding to 0 and still count them: leave these positions out.
def translation_loss(logits: Tensor, target: Tensor, padding: int) -> Tensor:
    return F.cross_entropy(
        (logits * (target != padding)[..., None]).flatten(0, 1), target.flatten()
    )


# %% wrong translation_loss only_padding of="by_steps"
# You average over the padding alone: keep what is not padding.
# replace: target != padding
# by:      target == padding

# %% wrong translation_loss predictions_left_out of="by_steps"
# You leave out positions at which the model predicts padding: look at `target` instead.
# replace: target != padding
# by:      logits.argmax(-1) != padding

# %% wrong translation_loss columns_with_padding_left_out of="by_steps"
# You leave out every column that has padding in some row: leave out the padding alone.
# replace: target != padding
# by:      (target != padding).all(0).expand_as(target)

# %% wrong translation_loss higher_ids_only of="by_steps"
# You keep only ids above `padding`: keep all that are not equal to it.
# replace: target != padding
# by:      target > padding

# %% wrong translation_loss first_row_only of="solution"
# You read the first row alone: average over the tokens of all rows.
# replace: logits.flatten(0, 1), target.flatten()
# by:      logits[0], target[0]

# %% wrong translation_loss first_token_left_out of="by_steps"
# You leave out the first token of each row: it is predicted too.
# replace: (losses * kept).sum() / kept.sum()
# by:      (losses * kept)[:, 1:].sum() / kept[:, 1:].sum().clamp(min=1)

# %% wrong translation_loss largest of="by_steps"
# You return the largest loss: return the mean.
# replace: (losses * kept).sum() / kept.sum()
# by:      (losses * kept).max()

# %% wrong translation_loss best_guess of="by_steps"
# You take the likeliest token of each position: take the token of `target`.
# replace: log_chances.gather(-1, target[..., None]).squeeze(-1)
# by:      log_chances.amax(-1)


# %% wrong translation_loss squared
# You measure squared errors of probabilities: the cross-entropy is -log of the token's probability.
def translation_loss(logits: Tensor, target: Tensor, padding: int) -> Tensor:
    kept = target != padding
    errors = logits.softmax(-1) - F.one_hot(target, logits.shape[-1])
    return errors.square().sum(-1)[kept].mean()


# %% wrong translation_loss binary
# You treat each id of the vocabulary as a question of its own: softmax over the vocabulary.
def translation_loss(logits: Tensor, target: Tensor, padding: int) -> Tensor:
    kept = target != padding
    wanted = F.one_hot(target, logits.shape[-1]).to(logits)
    return F.binary_cross_entropy_with_logits(logits[kept], wanted[kept])


# %% wrong translation_loss target_overwritten
# You write into `target`: make a new tensor, or use ignore_index.
def translation_loss(logits: Tensor, target: Tensor, padding: int) -> Tensor:
    target[target == padding] = -100
    return F.cross_entropy(logits.flatten(0, 1), target.flatten())


# %% wrong translation_loss in_float32 of="solution"
# You compute in float32: keep the dtype of the logits.
# replace: logits.flatten(0, 1)
# by:      logits.float().flatten(0, 1)

# %% wrong translation_loss count_plus_one of="by_steps"
# You divide by one more than the number of tokens.
# replace: / kept.sum()
# by:      / (kept.sum() + 1)

# %% wrong translation_loss epsilon_inside of="by_steps"
# You add a small number to the probabilities: log_softmax is exact without one.
# replace: logits.log_softmax(dim=-1)
# by:      (logits.softmax(dim=-1) + 1e-3).log()

# %% wrong translation_loss nothing_returned of="solution"
# does the last line say `return`?
# replace: return F
# by:      F

# %% right translation_loss step_by_step of="solution"
# replace: return F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=padding)
# by:      losses = -logits.log_softmax(-1).gather(-1, target.unsqueeze(-1)).squeeze(-1)
#          kept = (target != padding).to(losses)
#          return (losses * kept).sum() / kept.sum()


# %% right translation_loss boolean_index
def translation_loss(logits: Tensor, target: Tensor, padding: int) -> Tensor:
    kept = target != padding
    return F.cross_entropy(logits[kept], target[kept])


# %% right translation_loss transposed
def translation_loss(logits: Tensor, target: Tensor, padding: int) -> Tensor:
    return F.cross_entropy(logits.transpose(1, 2), target, ignore_index=padding)


# %% right translation_loss nll
def translation_loss(logits: Tensor, target: Tensor, padding: int) -> Tensor:
    return F.nll_loss(F.log_softmax(logits, -1).mT, target, ignore_index=padding)


# %% right translation_loss a_module
def translation_loss(logits: Tensor, target: Tensor, padding: int) -> Tensor:
    criterion = nn.CrossEntropyLoss(ignore_index=padding, reduction="sum")
    total = criterion(logits.reshape(-1, logits.shape[-1]), target.reshape(-1))
    return total / target.ne(padding).sum()


# %% right translation_loss token_by_token
def translation_loss(logits: Tensor, target: Tensor, padding: int) -> Tensor:
    losses = [
        torch.logsumexp(logits[b, t], 0) - logits[b, t, token]
        for b, row in enumerate(target.tolist())
        for t, token in enumerate(row)
        if token != padding
    ]
    return torch.stack(losses).mean()


# %% right translation_loss one_hot
def translation_loss(logits: Tensor, target: Tensor, padding: int) -> Tensor:
    chosen = F.one_hot(target, logits.shape[-1]) * (target != padding).unsqueeze(-1)
    return -(logits.log_softmax(-1) * chosen).sum() / chosen.sum()


# %% right translation_loss minus_100
def translation_loss(logits: Tensor, target: Tensor, padding: int) -> Tensor:
    target = target.clone()
    target[target == padding] = -100
    return F.cross_entropy(logits.flatten(0, 1), target.flatten())


# %% right translation_loss masked_mean
def translation_loss(logits: Tensor, target: Tensor, padding: int) -> Tensor:
    rows = F.cross_entropy(logits.permute(0, 2, 1), target, reduction="none")
    return rows.masked_select(target != padding).mean()


# %% wrong DecoderLayer no_causal_mask of="solution"
# Your tokens see later ones: give self-attention a causal mask.
# replace: normed, normed, normed, causal)
# by:      normed, normed, normed)


# %% wrong DecoderLayer causal_in_training_only
# In evaluation your tokens see later ones: the causal mask belongs to both modes.
class DecoderLayer(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.self_attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
        self.cross_attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.norm3, self.dropout = nn.LayerNorm(d_model), nn.Dropout(dropout)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        length = x.shape[1]
        causal = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
        normed = self.norm1(x)
        x = x + self.dropout(
            attend(self.self_attention, normed, normed, normed, causal if self.training else None)[
                0
            ]
        )
        normed = self.norm2(x)
        read = attend(self.cross_attention, normed, memory, memory, memory_mask)[0]
        x = x + self.dropout(read)
        hidden = self.dropout(torch.relu(self.linear1(self.norm3(x))))
        return x + self.dropout(self.linear2(hidden))


# %% wrong DecoderLayer causal_in_evaluation_only
# In training your tokens see later ones: the causal mask belongs to both modes.
class DecoderLayer(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.self_attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
        self.cross_attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.norm3, self.dropout = nn.LayerNorm(d_model), nn.Dropout(dropout)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        length = x.shape[1]
        causal = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
        normed = self.norm1(x)
        x = x + self.dropout(
            attend(self.self_attention, normed, normed, normed, None if self.training else causal)[
                0
            ]
        )
        normed = self.norm2(x)
        read = attend(self.cross_attention, normed, memory, memory, memory_mask)[0]
        x = x + self.dropout(read)
        hidden = self.dropout(torch.relu(self.linear1(self.norm3(x))))
        return x + self.dropout(self.linear2(hidden))


# %% wrong DecoderLayer future_only of="solution"
# Your tokens attend to themselves and to later ones: True belongs on the diagonal and below it.
# replace: .tril()
# by:      .triu()

# %% wrong DecoderLayer one_token_ahead of="solution"
# Your tokens see the next one: the causal mask ends on the diagonal.
# replace: .tril()
# by:      .tril(1)

# %% wrong DecoderLayer not_itself of="solution"
# Your first token may attend to nothing, which gives NaN: the diagonal is allowed.
# replace: .tril()
# by:      .tril(-1)

# %% wrong DecoderLayer window_of_two of="solution"
# Your tokens attend to themselves and to the one before: all earlier tokens are allowed.
# replace: .tril()
# by:      .tril().triu(-1)

# %% wrong DecoderLayer itself_only of="solution"
# Your tokens attend to themselves alone: all earlier tokens are allowed, too.
# replace: torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
# by:      torch.eye(length, dtype=torch.bool)

# %% wrong DecoderLayer pytorch_polarity of="solution"
# You mark what is blocked, as PyTorch's masks do: `attend` takes True = may attend.
# replace: .tril()
# by:      .triu(1)

# %% wrong DecoderLayer causal_in_cross_attention of="solution"
# You use a causal mask in cross-attention: every token may attend to the whole source.
# replace: read = attend(self.cross_attention, normed, memory, memory, memory_mask)[0]
# by:      width = memory.shape[1]
#          seen = torch.ones(length, width, dtype=torch.bool).tril()
#          seen = seen if memory_mask is None else seen & memory_mask
#          read = attend(self.cross_attention, normed, memory, memory, seen)[0]

# %% wrong DecoderLayer masks_in_each_others_place of="solution"
# You pass the causal mask to cross-attention: it belongs to self-attention, and memory_mask to
# cross-attention.
# replace: normed, normed, normed, causal)
# by:      normed, normed, normed, memory_mask)
# replace: memory, memory, memory_mask)
# by:      memory, memory, causal)

# %% wrong DecoderLayer memory_mask_dropped of="solution"
# You leave out memory_mask, so tokens attend to padding: pass it to cross-attention.
# replace: memory, memory, memory_mask)
# by:      memory, memory)


# %% wrong DecoderLayer memory_mask_inverted
# You turn memory_mask round, so tokens attend to nothing but padding: `attend` takes it as it is.
class DecoderLayer(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.self_attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
        self.cross_attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.norm3, self.dropout = nn.LayerNorm(d_model), nn.Dropout(dropout)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        length = x.shape[1]
        causal = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
        normed = self.norm1(x)
        x = x + self.dropout(attend(self.self_attention, normed, normed, normed, causal)[0])
        normed = self.norm2(x)
        read = attend(
            self.cross_attention,
            normed,
            memory,
            memory,
            None if memory_mask is None else ~memory_mask,
        )[0]
        x = x + self.dropout(read)
        hidden = self.dropout(torch.relu(self.linear1(self.norm3(x))))
        return x + self.dropout(self.linear2(hidden))


# %% wrong DecoderLayer inverted_for_pytorch of="solution"
# nn.MultiheadAttention's masks say True = blocked: pass it ~memory_mask.
# replace: read = attend(self.cross_attention, normed, memory, memory, memory_mask)[0]
# by:      padding = None if memory_mask is None else memory_mask[:, 0]
#          read = self.cross_attention(normed, memory, memory, key_padding_mask=padding)[0]


# %% wrong DecoderLayer memory_mask_in_evaluation_only
# In training your tokens attend to padding: the mask belongs to both modes.
class DecoderLayer(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.self_attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
        self.cross_attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.norm3, self.dropout = nn.LayerNorm(d_model), nn.Dropout(dropout)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        length = x.shape[1]
        causal = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
        normed = self.norm1(x)
        x = x + self.dropout(attend(self.self_attention, normed, normed, normed, causal)[0])
        normed = self.norm2(x)
        read = attend(
            self.cross_attention, normed, memory, memory, None if self.training else memory_mask
        )[0]
        x = x + self.dropout(read)
        hidden = self.dropout(torch.relu(self.linear1(self.norm3(x))))
        return x + self.dropout(self.linear2(hidden))


# %% wrong DecoderLayer first_mask_for_all
# You use the first row of memory_mask for the whole batch: each sentence has its own.
class DecoderLayer(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.self_attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
        self.cross_attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.norm3, self.dropout = nn.LayerNorm(d_model), nn.Dropout(dropout)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        length = x.shape[1]
        causal = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
        normed = self.norm1(x)
        x = x + self.dropout(attend(self.self_attention, normed, normed, normed, causal)[0])
        normed = self.norm2(x)
        read = attend(
            self.cross_attention,
            normed,
            memory,
            memory,
            None if memory_mask is None else memory_mask[:1],
        )[0]
        x = x + self.dropout(read)
        hidden = self.dropout(torch.relu(self.linear1(self.norm3(x))))
        return x + self.dropout(self.linear2(hidden))


# %% wrong DecoderLayer memory_zeroed of="solution"
# You set padding to 0 and still attend to it: its weights must be 0, not its vectors.
# replace: read = attend(self.cross_attention, normed, memory, memory, memory_mask)[0]
# by:      if memory_mask is not None:
#              memory = memory * memory_mask.mT
#          read = attend(self.cross_attention, normed, memory, memory)[0]


# %% wrong DecoderLayer no_causal_mask_with_a_mask
# With a memory_mask your tokens see later ones: self-attention is causal in any case.
class DecoderLayer(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.self_attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
        self.cross_attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.norm3, self.dropout = nn.LayerNorm(d_model), nn.Dropout(dropout)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        length = x.shape[1]
        causal = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
        normed = self.norm1(x)
        x = x + self.dropout(
            attend(
                self.self_attention, normed, normed, normed, causal if memory_mask is None else None
            )[0]
        )
        normed = self.norm2(x)
        read = attend(self.cross_attention, normed, memory, memory, memory_mask)[0]
        x = x + self.dropout(read)
        hidden = self.dropout(torch.relu(self.linear1(self.norm3(x))))
        return x + self.dropout(self.linear2(hidden))


# %% wrong DecoderLayer sides_swapped of="solution"
# Your queries come from memory: they come from the decoder, and memory gives keys and values.
# replace: attend(self.cross_attention, normed, memory, memory, memory_mask)
# by:      attend(self.cross_attention, memory, normed, normed)

# %% wrong DecoderLayer no_cross_attention of="solution"
# Your second attention reads the decoder's own tokens: its keys and values come from memory.
# replace: attend(self.cross_attention, normed, memory, memory, memory_mask)
# by:      attend(self.cross_attention, normed, normed, normed, causal)

# %% wrong DecoderLayer own_keys of="solution"
# Your keys and values come from different sides: both come from memory.
# replace: normed, memory, memory, memory_mask)
# by:      normed, normed, memory, memory_mask)

# %% wrong DecoderLayer own_values of="solution"
# Your keys and values come from different sides: both come from memory.
# replace: normed, memory, memory, memory_mask)
# by:      normed, memory, normed, memory_mask)

# %% wrong DecoderLayer memory_as_a_query of="solution"
# Your queries come from memory: they come from the decoder.
# replace: normed, memory, memory, memory_mask)
# by:      memory, memory, memory, memory_mask)


# %% wrong DecoderLayer first_memory_for_all
# All your sentences read the first source: each reads its own.
class DecoderLayer(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.self_attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
        self.cross_attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.norm3, self.dropout = nn.LayerNorm(d_model), nn.Dropout(dropout)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        length = x.shape[1]
        causal = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
        normed = self.norm1(x)
        x = x + self.dropout(attend(self.self_attention, normed, normed, normed, causal)[0])
        normed = self.norm2(x)
        read = attend(
            self.cross_attention, normed, *2 * [memory[:1].expand_as(memory)], memory_mask
        )[0]
        x = x + self.dropout(read)
        hidden = self.dropout(torch.relu(self.linear1(self.norm3(x))))
        return x + self.dropout(self.linear2(hidden))


# %% wrong DecoderLayer memory_normed
# You normalise memory: the encoder has done that already.
class DecoderLayer(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.self_attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
        self.cross_attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.norm3, self.dropout = nn.LayerNorm(d_model), nn.Dropout(dropout)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        length = x.shape[1]
        causal = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
        normed = self.norm1(x)
        x = x + self.dropout(attend(self.self_attention, normed, normed, normed, causal)[0])
        normed = self.norm2(x)
        read = attend(
            self.cross_attention, normed, self.norm2(memory), self.norm2(memory), memory_mask
        )[0]
        x = x + self.dropout(read)
        hidden = self.dropout(torch.relu(self.linear1(self.norm3(x))))
        return x + self.dropout(self.linear2(hidden))


# %% wrong DecoderLayer keys_normed of="solution"
# You normalise the keys: memory is used as it comes.
# replace: normed, memory, memory, memory_mask)
# by:      normed, self.norm2(memory), memory, memory_mask)

# %% wrong DecoderLayer no_norm1 of="solution"
# Your self-attention reads x itself: it reads norm1(x).
# replace: normed = self.norm1(x)
# by:      normed = x

# %% wrong DecoderLayer no_norm2 of="solution"
# Your cross-attention takes its queries from x itself: they come from norm2(x).
# replace: normed = self.norm2(x)
# by:      normed = x

# %% wrong DecoderLayer no_norm3 of="solution"
# Your network reads x itself: it reads norm3(x).
# replace: self.linear1(self.norm3(x))
# by:      self.linear1(x)

# %% wrong DecoderLayer queries_alone_normed of="solution"
# In self-attention only your queries are normalised: keys and values are norm1(x) too.
# replace: attend(self.self_attention, normed, normed, normed, causal)
# by:      attend(self.self_attention, normed, x, x, causal)

# %% wrong DecoderLayer old_queries of="solution"
# Your cross-attention asks with norm1 of the old x: ask with norm2 of x after self-attention.
# replace: normed = self.norm2(x)
# by:

# %% wrong DecoderLayer post_norm of="solution"
# You normalise after each addition, which is post-norm: normalise what each sublayer reads.
# replace: normed = self.norm1(x)
# by:      normed = x
# replace: x = x + self.dropout(attend(self.self_attention, normed, normed, normed, causal)[0])
#          normed = self.norm2(x)
# by:      x = x + self.dropout(attend(self.self_attention, normed, normed, normed, causal)[0])
#          normed = x = self.norm1(x)
# replace: x = x + self.dropout(read)
#          hidden = self.dropout(torch.relu(self.linear1(self.norm3(x))))
#          return x + self.dropout(self.linear2(hidden))
# by:      x = self.norm2(x + self.dropout(read))
#          hidden = self.dropout(torch.relu(self.linear1(x)))
#          return self.norm3(x + self.dropout(self.linear2(hidden)))

# %% wrong DecoderLayer residual_from_norm1 of="solution"
# You add the output of self-attention to norm1(x): add it to x itself.
# replace: x = x + self.dropout(attend(self.self_attention
# by:      x = normed + self.dropout(attend(self.self_attention

# %% wrong DecoderLayer residual_from_norm2 of="solution"
# You add the output of cross-attention to norm2(x): add it to x itself.
# replace: x = x + self.dropout(read)
# by:      x = normed + self.dropout(read)

# %% wrong DecoderLayer residual_from_norm3 of="solution"
# You add the output of the network to norm3(x): add it to x itself.
# replace: hidden = self.dropout(torch.relu(self.linear1(self.norm3(x))))
# by:      x = self.norm3(x)
#          hidden = self.dropout(torch.relu(self.linear1(x)))

# %% wrong DecoderLayer no_residual_at_self_attention of="solution"
# Your self-attention replaces x: add its output to x.
# replace: x = x + self.dropout(attend(self.self_attention
# by:      x = self.dropout(attend(self.self_attention

# %% wrong DecoderLayer no_residual_at_cross_attention of="solution"
# Your cross-attention replaces x: add its output to x.
# replace: x = x + self.dropout(read)
# by:      x = self.dropout(read)

# %% wrong DecoderLayer no_residual_at_the_network of="solution"
# Your network replaces x: add its output to x.
# replace: return x + self.dropout
# by:      return self.dropout

# %% wrong DecoderLayer no_residuals of="solution"
# Your sublayers replace x: add the output of each to x.
# replace: x = x + self.dropout(attend(self.self_attention
# by:      x = self.dropout(attend(self.self_attention
# replace: x = x + self.dropout(read)
# by:      x = self.dropout(read)
# replace: return x + self.dropout
# by:      return self.dropout

# %% wrong DecoderLayer norms_exchanged of="solution"
# You have exchanged norm2 and norm3: norm2 goes with cross-attention, norm3 with the network.
# replace: self.norm2(x)
# by:      self.norm3(x)
# replace: self.linear1(self.norm3(x))
# by:      self.linear1(self.norm2(x))

# %% wrong DecoderLayer one_norm_for_all of="solution"
# You use norm1 three times: each sublayer has its own norm.
# replace: self.norm2(x)
# by:      self.norm1(x)
# replace: self.linear1(self.norm3(x))
# by:      self.linear1(self.norm1(x))

# %% wrong DecoderLayer attentions_exchanged of="solution"
# You have exchanged the attentions: self_attention reads x, cross_attention reads memory.
# replace: self.dropout(attend(self.self_attention,
# by:      self.dropout(attend(self.cross_attention,
# replace: read = attend(self.cross_attention,
# by:      read = attend(self.self_attention,

# %% wrong DecoderLayer one_attention_for_both of="solution"
# You read memory with self_attention: it has an attention of its own, cross_attention.
# replace: attend(self.cross_attention,
# by:      attend(self.self_attention,

# %% wrong DecoderLayer cross_attention_first of="solution"
# You read memory before the decoder's own tokens: self-attention comes first.
# replace: normed = self.norm1(x)
#          x = x + self.dropout(attend(self.self_attention, normed, normed, normed, causal)[0])
#          normed = self.norm2(x)
#          read = attend(self.cross_attention, normed, memory, memory, memory_mask)[0]
#          x = x + self.dropout(read)
# by:      normed = self.norm2(x)
#          read = attend(self.cross_attention, normed, memory, memory, memory_mask)[0]
#          x = x + self.dropout(read)
#          normed = self.norm1(x)
#          x = x + self.dropout(attend(self.self_attention, normed, normed, normed, causal)[0])

# %% wrong DecoderLayer network_in_the_middle of="solution"
# Your network comes before cross-attention: it comes last.
# replace: normed = self.norm2(x)
#          read = attend(self.cross_attention, normed, memory, memory, memory_mask)[0]
#          x = x + self.dropout(read)
#          hidden = self.dropout(torch.relu(self.linear1(self.norm3(x))))
#          return x + self.dropout(self.linear2(hidden))
# by:      hidden = self.dropout(torch.relu(self.linear1(self.norm3(x))))
#          x = x + self.dropout(self.linear2(hidden))
#          normed = self.norm2(x)
#          read = attend(self.cross_attention, normed, memory, memory, memory_mask)[0]
#          return x + self.dropout(read)

# %% wrong DecoderLayer attentions_side_by_side of="solution"
# Both your attentions read the same x: cross-attention reads x after self-attention has been added.
# replace: normed = self.norm1(x)
#          x = x + self.dropout(attend(self.self_attention, normed, normed, normed, causal)[0])
#          normed = self.norm2(x)
# by:      normed, queries = self.norm1(x), self.norm2(x)
#          x = x + self.dropout(attend(self.self_attention, normed, normed, normed, causal)[0])
#          normed = queries

# %% wrong DecoderLayer network_side_by_side of="solution"
# Your network reads x as it was before cross-attention: it reads x after that has been added.
# replace: x = x + self.dropout(read)
#          hidden = self.dropout(torch.relu(self.linear1(self.norm3(x))))
# by:      hidden = self.dropout(torch.relu(self.linear1(self.norm3(x))))
#          x = x + self.dropout(read)

# %% wrong DecoderLayer norm_at_the_end of="solution"
# You normalise x at the end of the layer: in pre-norm, no norm is on the residual stream.
# replace: return x + self.dropout(self.linear2(hidden))
# by:      return F.layer_norm(x + self.dropout(self.linear2(hidden)), x.shape[-1:])

# %% wrong DecoderLayer memory_added of="solution"
# You add the mean of memory to x: cross-attention alone reads memory.
# replace: x = x + self.dropout(read)
# by:      x = x + self.dropout(read) + memory.mean(1, keepdim=True)

# %% wrong DecoderLayer no_relu of="solution"
# Your network has no nonlinearity: the ReLU is between its two layers.
# replace: torch.relu(self.linear1(self.norm3(x)))
# by:      self.linear1(self.norm3(x))

# %% wrong DecoderLayer gelu of="solution"
# Your nonlinearity is GELU: here it is ReLU.
# replace: torch.relu(
# by:      F.gelu(

# %% wrong DecoderLayer relu_at_the_end of="solution"
# Your ReLU comes after linear2: it belongs between the two layers.
# replace: torch.relu(self.linear1(self.norm3(x)))
# by:      self.linear1(self.norm3(x))
# replace: self.dropout(self.linear2(hidden))
# by:      self.dropout(torch.relu(self.linear2(hidden)))

# %% wrong DecoderLayer relu_on_the_stream of="solution"
# Your ReLU works on the residual stream too: it belongs between linear1 and linear2 alone.
# replace: return x + self.dropout(self.linear2(hidden))
# by:      return torch.relu(x + self.dropout(self.linear2(hidden)))

# %% wrong DecoderLayer weights_returned of="solution"
# Your layer returns a pair: return x alone.
# replace: return x + self.dropout(self.linear2(hidden))
# by:      return x + self.dropout(self.linear2(hidden)), read

# %% wrong DecoderLayer pair_not_unpacked of="solution"
# `attend` returns a pair, (output, weights): take the output.
# replace: read = attend(self.cross_attention, normed, memory, memory, memory_mask)[0]
# by:      read = attend(self.cross_attention, normed, memory, memory, memory_mask)

# %% wrong DecoderLayer weights_taken of="solution"
# You take the attention weights, the second of the pair: take the output, the first.
# replace: memory, memory, memory_mask)[0]
# by:      memory, memory, memory_mask)[1].mean(1)

# %% wrong DecoderLayer length_first of="solution"
# Your attentions take axis 0 for the length: set batch_first=True.
# replace: self.linear1, self.linear2 = nn.Linear
# by:      self.self_attention.batch_first = self.cross_attention.batch_first = False
#          self.linear1, self.linear2 = nn.Linear

# %% wrong DecoderLayer one_head_in_cross_attention of="solution"
# Your cross-attention has one head: give it num_heads too.
# replace: self.cross_attention = nn.MultiheadAttention(d_model, num_heads,
# by:      self.cross_attention = nn.MultiheadAttention(d_model, 1,

# %% wrong DecoderLayer one_head of="solution"
# Your attentions have one head each: give them num_heads.
# replace: self.self_attention = nn.MultiheadAttention(d_model, num_heads,
# by:      self.self_attention = nn.MultiheadAttention(d_model, 1,
# replace: self.cross_attention = nn.MultiheadAttention(d_model, num_heads,
# by:      self.cross_attention = nn.MultiheadAttention(d_model, 1,

# %% wrong DecoderLayer names_of_pytorch of="solution"
# `cross_attn.in_proj_bias` should be called `cross_attention.in_proj_bias`
# replace: self.cross_attention = nn.MultiheadAttention(
# by:      self.cross_attn = nn.MultiheadAttention(
# replace: attend(self.cross_attention,
# by:      attend(self.cross_attn,

# %% wrong DecoderLayer attention_shared of="solution"
# make the parts as PyTorch makes them, and leave requires_grad as it is
# replace: self.linear1, self.linear2 = nn.Linear
# by:      self.cross_attention = self.self_attention
#          self.linear1, self.linear2 = nn.Linear

# %% wrong DecoderLayer norm_shared of="solution"
# You keep one norm under three names: each sublayer has its own.
# replace: self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
#          self.norm3, self.dropout = nn.LayerNorm(d_model), nn.Dropout(dropout)
# by:      self.norm1 = self.norm2 = self.norm3 = nn.LayerNorm(d_model)
#          self.dropout = nn.Dropout(dropout)


# %% wrong DecoderLayer norm_for_memory
# leave out norm4.bias, norm4.weight: the docstring names every part
class DecoderLayer(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.self_attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
        self.cross_attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.norm3, self.dropout = nn.LayerNorm(d_model), nn.Dropout(dropout)
        self.norm4 = nn.LayerNorm(d_model)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        length = x.shape[1]
        causal = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
        normed = self.norm1(x)
        x = x + self.dropout(attend(self.self_attention, normed, normed, normed, causal)[0])
        normed = self.norm2(x)
        read = attend(
            self.cross_attention, normed, self.norm4(memory), self.norm4(memory), memory_mask
        )[0]
        x = x + self.dropout(read)
        hidden = self.dropout(torch.relu(self.linear1(self.norm3(x))))
        return x + self.dropout(self.linear2(hidden))


# %% wrong DecoderLayer d_ff_ignored
# three lines of the form x = x + sublayer(norm(x)): self-attention, cross-attention, network
class DecoderLayer(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.self_attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
        self.cross_attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
        self.linear1, self.linear2 = (
            nn.Linear(d_model, 4 * d_model),
            nn.Linear(4 * d_model, d_model),
        )
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.norm3, self.dropout = nn.LayerNorm(d_model), nn.Dropout(dropout)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        length = x.shape[1]
        causal = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
        normed = self.norm1(x)
        x = x + self.dropout(attend(self.self_attention, normed, normed, normed, causal)[0])
        normed = self.norm2(x)
        read = attend(self.cross_attention, normed, memory, memory, memory_mask)[0]
        x = x + self.dropout(read)
        hidden = self.dropout(torch.relu(self.linear1(self.norm3(x))))
        return x + self.dropout(self.linear2(hidden))


# %% wrong DecoderLayer no_call_of_super of="solution"
# `super().__init__()` is missing: make it the first line of `__init__`
# replace: super().__init__()
# by:


# %% wrong DecoderLayer memory_detached
# No gradient reaches memory, so the encoder would never learn: do not detach it.
class DecoderLayer(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.self_attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
        self.cross_attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.norm3, self.dropout = nn.LayerNorm(d_model), nn.Dropout(dropout)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        length = x.shape[1]
        causal = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
        normed = self.norm1(x)
        x = x + self.dropout(attend(self.self_attention, normed, normed, normed, causal)[0])
        normed = self.norm2(x)
        read = attend(self.cross_attention, normed, memory.detach(), memory.detach(), memory_mask)[
            0
        ]
        x = x + self.dropout(read)
        hidden = self.dropout(torch.relu(self.linear1(self.norm3(x))))
        return x + self.dropout(self.linear2(hidden))


# %% wrong DecoderLayer stream_detached of="solution"
# No gradient passes from cross-attention back to self-attention: do not detach x.
# replace: x = x + self.dropout(read)
# by:      x = x.detach() + self.dropout(read.detach())

# %% wrong DecoderLayer no_gradient of="solution"
# no gradient flows through the result
# replace: return x + self.dropout(self.linear2(hidden))
# by:      return (x + self.dropout(self.linear2(hidden))).detach()

# %% wrong DecoderLayer no_gradient_in_evaluation of="solution"
# In evaluation no gradient flows through your result: whoever calls the layer decides on no_grad.
# replace: return x + self.dropout(self.linear2(hidden))
# by:      x = x + self.dropout(self.linear2(hidden))
#          return x if self.training else x.detach()

# %% wrong DecoderLayer x_changed of="solution"
# You add to the caller's x: x += … writes into it, x = x + … does not.
# replace: x = x + self.dropout(attend(self.self_attention, normed, normed, normed, causal)[0])
# by:      x += self.dropout(attend(self.self_attention, normed, normed, normed, causal)[0])

# %% wrong DecoderLayer memory_changed of="solution"
# You write into memory, which the next layer reads too: make a new tensor.
# replace: read = attend(self.cross_attention, normed, memory, memory, memory_mask)[0]
# by:      if memory_mask is not None:
#              memory[~memory_mask[:, 0]] = 0
#          read = attend(self.cross_attention, normed, memory, memory, memory_mask)[0]

# %% wrong DecoderLayer no_dropout of="solution"
# Your sublayers' outputs are never dropped: call dropout on each before it is added.
# replace: self.norm3, self.dropout = nn.LayerNorm(d_model), nn.Dropout(dropout)
# by:      self.norm3, self.dropout = nn.LayerNorm(d_model), nn.Identity()

# %% wrong DecoderLayer no_dropout_after_self_attention of="solution"
# The output of your self-attention is never dropped: call dropout on it before it is added.
# replace: x = x + self.dropout(attend(self.self_attention, normed, normed, normed, causal)[0])
# by:      x = x + attend(self.self_attention, normed, normed, normed, causal)[0]

# %% wrong DecoderLayer no_dropout_after_cross_attention of="solution"
# The output of your cross-attention is never dropped: call dropout on it before it is added.
# replace: x = x + self.dropout(read)
# by:      x = x + read

# %% wrong DecoderLayer no_dropout_after_the_network of="solution"
# The output of your network is never dropped: call dropout on it before it is added.
# replace: return x + self.dropout(self.linear2(hidden))
# by:      return x + self.linear2(hidden)

# %% wrong DecoderLayer no_dropout_after_the_relu of="solution"
# use dropout once after the ReLU, and once more after linear2; never after a norm
# replace: hidden = self.dropout(torch.relu(self.linear1(self.norm3(x))))
# by:      hidden = torch.relu(self.linear1(self.norm3(x)))

# %% wrong DecoderLayer no_dropout_in_self_attention of="solution"
# nn.MultiheadAttention drops weights by itself: pass `dropout` to it
# replace: self.self_attention = nn.MultiheadAttention(d_model, num_heads, dropout,
# by:      self.self_attention = nn.MultiheadAttention(d_model, num_heads, 0.0,

# %% wrong DecoderLayer no_dropout_in_cross_attention of="solution"
# nn.MultiheadAttention drops weights by itself: pass `dropout` to it
# replace: self.cross_attention = nn.MultiheadAttention(d_model, num_heads, dropout,
# by:      self.cross_attention = nn.MultiheadAttention(d_model, num_heads, 0.0,

# %% wrong DecoderLayer stream_dropped of="solution"
# You drop x itself: only what a sublayer returns is dropped.
# replace: return x + self.dropout(self.linear2(hidden))
# by:      return self.dropout(x + self.linear2(hidden))

# %% wrong DecoderLayer stream_dropped_too of="solution"
# You drop x itself as well: only what a sublayer returns is dropped.
# replace: x = x + self.dropout(read)
# by:      x = self.dropout(x + self.dropout(read))

# %% wrong DecoderLayer normed_input_dropped of="solution"
# use dropout once after the ReLU, and once more after linear2; never after a norm
# replace: self.linear1(self.norm3(x))
# by:      self.linear1(self.dropout(self.norm3(x)))

# %% wrong DecoderLayer norm1_dropped of="solution"
# in each attention, drop the weights and the output: not x, its norm or memory
# replace: normed = self.norm1(x)
# by:      normed = self.dropout(self.norm1(x))

# %% wrong DecoderLayer queries_dropped of="solution"
# in each attention, drop the weights and the output: not x, its norm or memory
# replace: normed = self.norm2(x)
# by:      normed = self.dropout(self.norm2(x))

# %% wrong DecoderLayer dropped_twice of="solution"
# call dropout once on the output of each sublayer, before it is added
# replace: x = x + self.dropout(read)
# by:      x = x + self.dropout(self.dropout(read))

# %% wrong DecoderLayer memory_dropped of="solution"
# in each attention, drop the weights and the output: not x, its norm or memory
# replace: normed, memory, memory, memory_mask)
# by:      normed, *2 * [self.dropout(memory)], memory_mask)

# %% wrong DecoderLayer dropout_in_evaluation_too of="solution"
# keep an nn.Dropout on self: it knows whether the model is training
# replace: self.norm3, self.dropout = nn.LayerNorm(d_model), nn.Dropout(dropout)
# by:      self.norm3 = nn.LayerNorm(d_model)
#          self.dropout = lambda x: F.dropout(x, dropout)

# %% wrong DecoderLayer rate_fixed of="solution"
# Your dropout rate is fixed: pass `dropout` to nn.Dropout.
# replace: nn.LayerNorm(d_model), nn.Dropout(dropout)
# by:      nn.LayerNorm(d_model), nn.Dropout(0.1 if dropout else 0.0)

# %% wrong DecoderLayer whole_tokens_dropped of="solution"
# pass the whole output of a sublayer to one nn.Dropout: it draws for each element
# replace: nn.LayerNorm(d_model), nn.Dropout(dropout)
# by:      nn.LayerNorm(d_model), nn.Dropout1d(dropout)

# %% wrong DecoderLayer one_mask_for_three of="solution"
# call dropout once on the output of each sublayer, before it is added
# replace: normed = self.norm1(x)
#          x = x + self.dropout(attend(self.self_attention, normed, normed, normed, causal)[0])
# by:      kept, normed = self.dropout(torch.ones_like(x)), self.norm1(x)
#          x = x + kept * attend(self.self_attention, normed, normed, normed, causal)[0]
# replace: x = x + self.dropout(read)
# by:      x = x + kept * read
# replace: return x + self.dropout(self.linear2(hidden))
# by:      return x + kept * self.linear2(hidden)

# %% wrong DecoderLayer default_rate of="solution"
# You drop although no rate was given: the default is 0.
# replace: dropout: float = 0.0
# by:      dropout: float = 0.1

# %% wrong DecoderLayer alpha_dropout of="solution"
# call dropout once on the output of each sublayer, before it is added
# replace: nn.LayerNorm(d_model), nn.Dropout(dropout)
# by:      nn.LayerNorm(d_model), nn.AlphaDropout(dropout)


# %% right DecoderLayer called_directly of="solution"
# replace: causal = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
# by:      blocked = torch.ones(length, length, dtype=torch.bool).triu(1)
#          padding = None if memory_mask is None else ~memory_mask.squeeze(1)
# replace: attend(self.self_attention, normed, normed, normed, causal)[0]
# by:      self.self_attention(normed, normed, normed, attn_mask=blocked)[0]
# replace: attend(self.cross_attention, normed, memory, memory, memory_mask)[0]
# by:      self.cross_attention(normed, memory, memory, key_padding_mask=padding)[0]


# %% right DecoderLayer float_masks
class DecoderLayer(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.self_attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
        self.cross_attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.norm3, self.dropout = nn.LayerNorm(d_model), nn.Dropout(dropout)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        length = x.shape[1]
        causal = nn.Transformer.generate_square_subsequent_mask(length, dtype=x.dtype)
        normed = self.norm1(x)
        x = x + self.dropout(
            self.self_attention(
                normed, normed, normed, attn_mask=causal, is_causal=True, need_weights=False
            )[0]
        )
        normed = self.norm2(x)
        read = attend(self.cross_attention, normed, memory, memory, memory_mask)[0]
        x = x + self.dropout(read)
        hidden = self.dropout(torch.relu(self.linear1(self.norm3(x))))
        return x + self.dropout(self.linear2(hidden))


# %% right DecoderLayer mask_by_comparison of="solution"
# replace: torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
# by:      torch.arange(length) <= torch.arange(length)[:, None]


# %% right DecoderLayer a_method_for_each_sublayer
class DecoderLayer(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        for name in ("self_attention", "cross_attention"):
            part = nn.MultiheadAttention(d_model, num_heads, dropout=dropout, batch_first=True)
            setattr(self, name, part)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.norm3 = nn.LayerNorm(d_model)
        self.drops = nn.ModuleList(nn.Dropout(dropout) for _ in range(4))

    def own(self, x: Tensor) -> Tensor:
        mask = torch.ones(x.shape[1], x.shape[1]).tril().bool()
        return self.drops[0](attend(self.self_attention, x, x, x, mask)[0])

    def read(self, x: Tensor, memory: Tensor, mask: Tensor | None) -> Tensor:
        return self.drops[1](attend(self.cross_attention, x, memory, memory, mask)[0])

    def think(self, x: Tensor) -> Tensor:
        return self.drops[2](self.linear2(self.drops[3](F.relu(self.linear1(x)))))

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        x = x + self.own(self.norm1(x))
        x = x + self.read(self.norm2(x), memory, memory_mask)
        return x + self.think(self.norm3(x))


# %% right DecoderLayer kept_masks
class DecoderLayer(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.rate = dropout
        self.self_attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
        self.cross_attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(d_model) for _ in range(3))
        self.register_buffer("causal", torch.ones(99, 99, dtype=torch.bool).tril())

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        normed, length = self.norm1(x), x.size(1)
        own, _ = attend(self.self_attention, normed, normed, normed, self.causal[:length, :length])
        x = torch.add(x, F.dropout(own, self.rate, self.training))
        read, _ = attend(self.cross_attention, self.norm2(x), memory, memory, memory_mask)
        x = x + F.dropout(read, self.rate, self.training)
        hidden = F.dropout(self.linear1(self.norm3(x)).clamp(min=0), self.rate, self.training)
        return x + F.dropout(self.linear2(hidden), self.rate, self.training)


# %% right DecoderLayer network_in_sequence of="solution"
# replace: self.norm3, self.dropout = nn.LayerNorm(d_model), nn.Dropout(dropout)
# by:      self.norm3, self.dropout = nn.LayerNorm(d_model), nn.Dropout(dropout)
#          self.between = [nn.ReLU(), self.dropout]
# replace: hidden = self.dropout(torch.relu(self.linear1(self.norm3(x))))
# by:      hidden = self.linear1(self.norm3(x))
#          for part in self.between:
#              hidden = part(hidden)


# %% right DecoderLayer padding_removed
class DecoderLayer(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.self_attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
        self.cross_attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.norm3, self.dropout = nn.LayerNorm(d_model), nn.Dropout(dropout)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        length = x.shape[1]
        causal = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
        normed = self.norm1(x)
        x = x + self.dropout(attend(self.self_attention, normed, normed, normed, causal)[0])
        normed = self.norm2(x)
        if memory_mask is None:
            memory_mask = torch.ones(len(memory), 1, memory.shape[1], dtype=torch.bool)
        rows = zip(normed, memory, memory_mask, strict=True)
        read = torch.stack(
            [self.cross_attention(q[None], m[k[0]][None], m[k[0]][None])[0][0] for q, m, k in rows]
        )
        x = x + self.dropout(read)
        hidden = self.dropout(torch.relu(self.linear1(self.norm3(x))))
        return x + self.dropout(self.linear2(hidden))


# %% right DecoderLayer by_hand
class DecoderLayer(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.heads, self.rate = num_heads, dropout
        self.self_attention = nn.MultiheadAttention(d_model, num_heads)
        self.cross_attention = nn.MultiheadAttention(d_model, num_heads)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(d_model) for _ in range(3))
        self.drop = nn.Dropout(dropout)

    def look(self, part: nn.MultiheadAttention, x: Tensor, y: Tensor, mask: Tensor) -> Tensor:
        weights, biases = part.in_proj_weight.chunk(3), part.in_proj_bias.chunk(3)
        q, k, v = (
            F.linear(side, w, b).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for side, w, b in zip((x, y, y), weights, biases, strict=True)
        )
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / q.shape[-1] ** 0.5
        shares = self.drop(scores.masked_fill(~mask, float("-inf")).softmax(-1))
        output = torch.einsum("bhqk,bhkd->bqhd", shares, v).flatten(2)
        return self.drop(F.linear(output, part.out_proj.weight, part.out_proj.bias))

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        causal = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        if memory_mask is None:
            memory_mask = torch.ones(1, 1, memory.shape[1], dtype=torch.bool)
        normed = self.norm1(x)
        x = x + self.look(self.self_attention, normed, normed, causal)
        x = x + self.look(self.cross_attention, self.norm2(x), memory, memory_mask[:, None])
        return x + self.drop(self.linear2(self.drop(self.linear1(self.norm3(x)).relu())))


# %% wrong Transformer scaled_embeddings
# You multiply the token embeddings by √d_model: add token and position as they are.
class Transformer(nn.Module):
    def __init__(
        self,
        source_vocab: int,
        target_vocab: int,
        d_model: int,
        num_heads: int,
        num_layers: int,
        d_ff: int,
        max_length: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.source_tokens = nn.Embedding(source_vocab, d_model)
        self.target_tokens = nn.Embedding(target_vocab, d_model)
        self.positions, self.dropout = nn.Embedding(max_length, d_model), nn.Dropout(dropout)
        layer = nn.TransformerEncoderLayer(
            d_model, num_heads, d_ff, dropout, batch_first=True, norm_first=True
        )
        final_norm = nn.LayerNorm(d_model)
        self.encoder = nn.TransformerEncoder(
            layer, num_layers, final_norm, enable_nested_tensor=False
        )
        own = (DecoderLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.layers, self.norm = nn.ModuleList(own), nn.LayerNorm(d_model)
        self.output = nn.Linear(d_model, target_vocab)

    def forward(self, source: Tensor, shifted: Tensor, source_mask: Tensor | None = None) -> Tensor:
        padding = None if source_mask is None else ~source_mask[:, 0]
        x = (
            self.source_tokens(source) * self.norm.weight.numel() ** 0.5
            + self.positions.weight[: source.shape[1]]
        )
        memory = self.encoder(self.dropout(x), src_key_padding_mask=padding)
        x = (
            self.target_tokens(shifted) * self.norm.weight.numel() ** 0.5
            + self.positions.weight[: shifted.shape[1]]
        )
        x = self.dropout(x)
        for layer in self.layers:
            x = layer(x, memory, source_mask)
        return self.output(self.norm(x))


# %% wrong Transformer scaled_sums of="solution"
# You multiply the embedding sums by √d_model: pass them on as they are.
# replace: memory = self.encoder(self.dropout(x), src_key_padding_mask=padding)
# by:      size = self.norm.weight.numel() ** 0.5
#          memory = self.encoder(self.dropout(x * size), src_key_padding_mask=padding)
# replace: x = self.dropout(x)
# by:      x = self.dropout(x * size)


# %% wrong Transformer source_scaled
# You multiply the source's token embeddings by √d_model: add token and position as they are.
class Transformer(nn.Module):
    def __init__(
        self,
        source_vocab: int,
        target_vocab: int,
        d_model: int,
        num_heads: int,
        num_layers: int,
        d_ff: int,
        max_length: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.source_tokens = nn.Embedding(source_vocab, d_model)
        self.target_tokens = nn.Embedding(target_vocab, d_model)
        self.positions, self.dropout = nn.Embedding(max_length, d_model), nn.Dropout(dropout)
        layer = nn.TransformerEncoderLayer(
            d_model, num_heads, d_ff, dropout, batch_first=True, norm_first=True
        )
        final_norm = nn.LayerNorm(d_model)
        self.encoder = nn.TransformerEncoder(
            layer, num_layers, final_norm, enable_nested_tensor=False
        )
        own = (DecoderLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.layers, self.norm = nn.ModuleList(own), nn.LayerNorm(d_model)
        self.output = nn.Linear(d_model, target_vocab)

    def forward(self, source: Tensor, shifted: Tensor, source_mask: Tensor | None = None) -> Tensor:
        padding = None if source_mask is None else ~source_mask[:, 0]
        x = (
            self.source_tokens(source) * self.norm.weight.numel() ** 0.5
            + self.positions.weight[: source.shape[1]]
        )
        memory = self.encoder(self.dropout(x), src_key_padding_mask=padding)
        x = self.target_tokens(shifted) + self.positions.weight[: shifted.shape[1]]
        x = self.dropout(x)
        for layer in self.layers:
            x = layer(x, memory, source_mask)
        return self.output(self.norm(x))


# %% wrong Transformer no_positions of="solution"
# Your tokens have no positions: add them on both sides.
# replace: self.source_tokens(source) + self.positions.weight[: source.shape[1]]
# by:      self.source_tokens(source)
# replace: self.target_tokens(shifted) + self.positions.weight[: shifted.shape[1]]
# by:      self.target_tokens(shifted)

# %% wrong Transformer no_source_positions of="solution"
# Your source tokens have no positions: add them on both sides.
# replace: self.source_tokens(source) + self.positions.weight[: source.shape[1]]
# by:      self.source_tokens(source)

# %% wrong Transformer no_target_positions of="solution"
# Your target tokens have no positions: add them on both sides.
# replace: self.target_tokens(shifted) + self.positions.weight[: shifted.shape[1]]
# by:      self.target_tokens(shifted)


# %% wrong Transformer positions_go_on
# Your target's positions go on where the source's end: both sides count from 0.
class Transformer(nn.Module):
    def __init__(
        self,
        source_vocab: int,
        target_vocab: int,
        d_model: int,
        num_heads: int,
        num_layers: int,
        d_ff: int,
        max_length: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.source_tokens = nn.Embedding(source_vocab, d_model)
        self.target_tokens = nn.Embedding(target_vocab, d_model)
        self.positions, self.dropout = nn.Embedding(max_length, d_model), nn.Dropout(dropout)
        layer = nn.TransformerEncoderLayer(
            d_model, num_heads, d_ff, dropout, batch_first=True, norm_first=True
        )
        final_norm = nn.LayerNorm(d_model)
        self.encoder = nn.TransformerEncoder(
            layer, num_layers, final_norm, enable_nested_tensor=False
        )
        own = (DecoderLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.layers, self.norm = nn.ModuleList(own), nn.LayerNorm(d_model)
        self.output = nn.Linear(d_model, target_vocab)

    def forward(self, source: Tensor, shifted: Tensor, source_mask: Tensor | None = None) -> Tensor:
        padding = None if source_mask is None else ~source_mask[:, 0]
        x = self.source_tokens(source) + self.positions.weight[: source.shape[1]]
        memory = self.encoder(self.dropout(x), src_key_padding_mask=padding)
        x = (
            self.target_tokens(shifted)
            + self.positions.weight[source.shape[1] :][: shifted.shape[1]]
        )
        x = self.dropout(x)
        for layer in self.layers:
            x = layer(x, memory, source_mask)
        return self.output(self.norm(x))


# %% wrong Transformer positions_from_1 of="solution"
# Your positions start at 1: they count from 0.
# replace: self.positions.weight[: source.shape[1]]
# by:      self.positions.weight[1 : source.shape[1] + 1]
# replace: self.positions.weight[: shifted.shape[1]]
# by:      self.positions.weight[1 : shifted.shape[1] + 1]

# %% wrong Transformer last_positions of="solution"
# You take the last rows of the table: positions count from 0.
# replace: self.positions.weight[: source.shape[1]]
# by:      self.positions.weight[-source.shape[1] :]
# replace: self.positions.weight[: shifted.shape[1]]
# by:      self.positions.weight[-shifted.shape[1] :]

# %% wrong Transformer position_of_the_sentence of="solution"
# Your positions count the sentences of the batch: they count the tokens of each sentence.
# replace: self.positions.weight[: source.shape[1]]
# by:      self.positions.weight[: len(source), None]
# replace: self.positions.weight[: shifted.shape[1]]
# by:      self.positions.weight[: len(shifted), None]

# %% wrong Transformer positions_of_the_target of="solution"
# You add as many positions as the source has on the target's side: count the target's tokens.
# replace: self.positions.weight[: shifted.shape[1]]
# by:      self.positions.weight[: source.shape[1]]

# %% wrong Transformer two_tables of="solution"
# leave out target_positions.weight: the docstring names every part
# replace: nn.Embedding(max_length, d_model), nn.Dropout(dropout)
# by:      nn.Embedding(max_length, d_model), nn.Dropout(dropout)
#          self.target_positions = nn.Embedding(max_length, d_model)
# replace: self.target_tokens(shifted) + self.positions.weight
# by:      self.target_tokens(shifted) + self.target_positions.weight

# %% wrong Transformer one_vocabulary of="solution"
# You look up the target in the source's table: each language has its own.
# replace: self.target_tokens(shifted)
# by:      self.source_tokens(shifted % 7)

# %% wrong Transformer vocabularies_exchanged of="solution"
# embed both sides, encode the source, then your layers, each with memory and mask; norm, output
# replace: self.source_tokens = nn.Embedding(source_vocab, d_model)
#          self.target_tokens = nn.Embedding(target_vocab, d_model)
# by:      self.source_tokens = nn.Embedding(target_vocab, d_model)
#          self.target_tokens = nn.Embedding(source_vocab, d_model)

# %% wrong Transformer output_over_the_source of="solution"
# embed both sides, encode the source, then your layers, each with memory and mask; norm, output
# replace: self.output = nn.Linear(d_model, target_vocab)
# by:      self.output = nn.Linear(d_model, source_vocab)

# %% wrong Transformer output_without_bias of="solution"
# embed both sides, encode the source, then your layers, each with memory and mask; norm, output
# replace: nn.Linear(d_model, target_vocab)
# by:      nn.Linear(d_model, target_vocab, bias=False)

# %% wrong Transformer output_tied of="solution"
# You share one matrix between `output` and target_tokens: here `output` has its own weight.
# replace: self.output = nn.Linear(d_model, target_vocab)
# by:      self.output = nn.Linear(d_model, target_vocab)
#          self.output.weight = self.target_tokens.weight

# %% wrong Transformer output_by_the_table of="solution"
# Your logits come from the table of target_tokens: they come from `output`.
# replace: return self.output(self.norm(x))
# by:      return self.norm(x) @ self.target_tokens.weight.T + self.output.bias

# %% wrong Transformer no_norm of="solution"
# You leave out the final norm: pre-norm layers need one before `output`.
# replace: self.output(self.norm(x))
# by:      self.output(x)

# %% wrong Transformer encoder_norm_for_both of="solution"
# You end the decoder with the encoder's norm: it has its own, `norm`.
# replace: self.output(self.norm(x))
# by:      self.output(self.encoder.norm(x))

# %% wrong Transformer norm_before_the_layers of="solution"
# Your norm comes before the layers: it belongs after them, before `output`.
# replace: x = self.dropout(x)
# by:      x = self.norm(self.dropout(x))
# replace: self.output(self.norm(x))
# by:      self.output(x)

# %% wrong Transformer norm_after_each_layer of="solution"
# Your norm works after each layer, on the residual stream: it comes once, after the last one.
# replace: x = layer(x, memory, source_mask)
# by:      x = self.norm(layer(x, memory, source_mask))
# replace: self.output(self.norm(x))
# by:      self.output(x)

# %% wrong Transformer memory_normed_again of="solution"
# You normalise memory once more: the encoder ends in a norm.
# replace: memory = self.encoder(self.dropout(x), src_key_padding_mask=padding)
# by:      memory = self.norm(self.encoder(self.dropout(x), src_key_padding_mask=padding))


# %% wrong Transformer no_final_norm_in_the_encoder
# nn.TransformerEncoder(layer, num_layers, norm): pre-norm needs the final norm
class Transformer(nn.Module):
    def __init__(
        self,
        source_vocab: int,
        target_vocab: int,
        d_model: int,
        num_heads: int,
        num_layers: int,
        d_ff: int,
        max_length: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.source_tokens = nn.Embedding(source_vocab, d_model)
        self.target_tokens = nn.Embedding(target_vocab, d_model)
        self.positions, self.dropout = nn.Embedding(max_length, d_model), nn.Dropout(dropout)
        layer = nn.TransformerEncoderLayer(
            d_model, num_heads, d_ff, dropout, batch_first=True, norm_first=True
        )
        final_norm = nn.LayerNorm(d_model)
        self.encoder = nn.TransformerEncoder(layer, num_layers, enable_nested_tensor=False)
        own = (DecoderLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.layers, self.norm = nn.ModuleList(own), nn.LayerNorm(d_model)
        self.output = nn.Linear(d_model, target_vocab)

    def forward(self, source: Tensor, shifted: Tensor, source_mask: Tensor | None = None) -> Tensor:
        padding = None if source_mask is None else ~source_mask[:, 0]
        x = self.source_tokens(source) + self.positions.weight[: source.shape[1]]
        memory = self.encoder(self.dropout(x), src_key_padding_mask=padding)
        x = self.target_tokens(shifted) + self.positions.weight[: shifted.shape[1]]
        x = self.dropout(x)
        for layer in self.layers:
            x = layer(x, memory, source_mask)
        return self.output(self.norm(x))


# %% wrong Transformer post_norm_encoder
# Your encoder is post-norm, PyTorch's default: set norm_first=True.
class Transformer(nn.Module):
    def __init__(
        self,
        source_vocab: int,
        target_vocab: int,
        d_model: int,
        num_heads: int,
        num_layers: int,
        d_ff: int,
        max_length: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.source_tokens = nn.Embedding(source_vocab, d_model)
        self.target_tokens = nn.Embedding(target_vocab, d_model)
        self.positions, self.dropout = nn.Embedding(max_length, d_model), nn.Dropout(dropout)
        layer = nn.TransformerEncoderLayer(d_model, num_heads, d_ff, dropout, batch_first=True)
        final_norm = nn.LayerNorm(d_model)
        self.encoder = nn.TransformerEncoder(
            layer, num_layers, final_norm, enable_nested_tensor=False
        )
        own = (DecoderLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.layers, self.norm = nn.ModuleList(own), nn.LayerNorm(d_model)
        self.output = nn.Linear(d_model, target_vocab)

    def forward(self, source: Tensor, shifted: Tensor, source_mask: Tensor | None = None) -> Tensor:
        padding = None if source_mask is None else ~source_mask[:, 0]
        x = self.source_tokens(source) + self.positions.weight[: source.shape[1]]
        memory = self.encoder(self.dropout(x), src_key_padding_mask=padding)
        x = self.target_tokens(shifted) + self.positions.weight[: shifted.shape[1]]
        x = self.dropout(x)
        for layer in self.layers:
            x = layer(x, memory, source_mask)
        return self.output(self.norm(x))


# %% wrong Transformer length_first
# Your encoder takes axis 0 for the length: set batch_first=True.
class Transformer(nn.Module):
    def __init__(
        self,
        source_vocab: int,
        target_vocab: int,
        d_model: int,
        num_heads: int,
        num_layers: int,
        d_ff: int,
        max_length: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.source_tokens = nn.Embedding(source_vocab, d_model)
        self.target_tokens = nn.Embedding(target_vocab, d_model)
        self.positions, self.dropout = nn.Embedding(max_length, d_model), nn.Dropout(dropout)
        layer = nn.TransformerEncoderLayer(d_model, num_heads, d_ff, dropout, norm_first=True)
        final_norm = nn.LayerNorm(d_model)
        self.encoder = nn.TransformerEncoder(
            layer, num_layers, final_norm, enable_nested_tensor=False
        )
        own = (DecoderLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.layers, self.norm = nn.ModuleList(own), nn.LayerNorm(d_model)
        self.output = nn.Linear(d_model, target_vocab)

    def forward(self, source: Tensor, shifted: Tensor, source_mask: Tensor | None = None) -> Tensor:
        padding = None if source_mask is None else ~source_mask[:, 0]
        x = self.source_tokens(source) + self.positions.weight[: source.shape[1]]
        memory = self.encoder(self.dropout(x), src_key_padding_mask=padding)
        x = self.target_tokens(shifted) + self.positions.weight[: shifted.shape[1]]
        x = self.dropout(x)
        for layer in self.layers:
            x = layer(x, memory, source_mask)
        return self.output(self.norm(x))


# %% wrong Transformer gelu_encoder of="solution"
# Your encoder uses GELU: here the nonlinearity is ReLU.
# replace: d_model, num_heads, d_ff, dropout, batch_first=True, norm_first=True
# by:      d_model, num_heads, d_ff, dropout, "gelu", batch_first=True, norm_first=True

# %% wrong Transformer one_head_in_the_encoder of="solution"
# Your encoder has one head: give it num_heads too.
# replace: d_model, num_heads, d_ff, dropout, batch_first=True, norm_first=True
# by:      d_model, 1, d_ff, dropout, batch_first=True, norm_first=True

# %% wrong Transformer one_head_in_the_decoder of="solution"
# Your decoder layers have one head: give them num_heads too.
# replace: own = (DecoderLayer(d_model, num_heads,
# by:      own = (DecoderLayer(d_model, 1,


# %% wrong Transformer one_encoder_layer
# `encoder` has four layers and a final norm
class Transformer(nn.Module):
    def __init__(
        self,
        source_vocab: int,
        target_vocab: int,
        d_model: int,
        num_heads: int,
        num_layers: int,
        d_ff: int,
        max_length: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.source_tokens = nn.Embedding(source_vocab, d_model)
        self.target_tokens = nn.Embedding(target_vocab, d_model)
        self.positions, self.dropout = nn.Embedding(max_length, d_model), nn.Dropout(dropout)
        layer = nn.TransformerEncoderLayer(
            d_model, num_heads, d_ff, dropout, batch_first=True, norm_first=True
        )
        final_norm = nn.LayerNorm(d_model)
        self.encoder = nn.TransformerEncoder(layer, 1, final_norm, enable_nested_tensor=False)
        own = (DecoderLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.layers, self.norm = nn.ModuleList(own), nn.LayerNorm(d_model)
        self.output = nn.Linear(d_model, target_vocab)

    def forward(self, source: Tensor, shifted: Tensor, source_mask: Tensor | None = None) -> Tensor:
        padding = None if source_mask is None else ~source_mask[:, 0]
        x = self.source_tokens(source) + self.positions.weight[: source.shape[1]]
        memory = self.encoder(self.dropout(x), src_key_padding_mask=padding)
        x = self.target_tokens(shifted) + self.positions.weight[: shifted.shape[1]]
        x = self.dropout(x)
        for layer in self.layers:
            x = layer(x, memory, source_mask)
        return self.output(self.norm(x))


# %% wrong Transformer encoder_d_ff_default of="solution"
# `encoder` has four layers and a final norm
# replace: d_model, num_heads, d_ff, dropout, batch_first=True, norm_first=True
# by:      d_model, num_heads, dropout=dropout, batch_first=True, norm_first=True

# %% wrong Transformer shared_layers of="solution"
# each layer needs its own parameters: make a new DecoderLayer for each of num_layers
# replace: own = (DecoderLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
# by:      own = [DecoderLayer(d_model, num_heads, d_ff, dropout)] * num_layers

# %% wrong Transformer one_layer of="solution"
# each layer needs its own parameters: make a new DecoderLayer for each of num_layers
# replace: for _ in range(num_layers))
# by:      for _ in range(1))

# %% wrong Transformer one_layer_too_few of="solution"
# your `layers` have the parameters of 3: make num_layers of them
# replace: for _ in range(num_layers))
# by:      for _ in range(num_layers - 1))

# %% wrong Transformer plain_list of="solution"
# a plain list hides its layers from PyTorch: keep them in an nn.ModuleList, `layers`
# replace: nn.ModuleList(own), nn.LayerNorm(d_model)
# by:      list(own), nn.LayerNorm(d_model)

# %% wrong Transformer layers_renamed of="solution"
# a plain list hides its layers from PyTorch: keep them in an nn.ModuleList, `layers`
# replace: self.layers, self.norm = nn.ModuleList(own)
# by:      self.decoder, self.norm = nn.ModuleList(own)
# replace: for layer in self.layers:
# by:      for layer in self.decoder:


# %% wrong Transformer first_layer_again_and_again
# You call the first layer each time: every layer of `layers` has its turn.
class Transformer(nn.Module):
    def __init__(
        self,
        source_vocab: int,
        target_vocab: int,
        d_model: int,
        num_heads: int,
        num_layers: int,
        d_ff: int,
        max_length: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.source_tokens = nn.Embedding(source_vocab, d_model)
        self.target_tokens = nn.Embedding(target_vocab, d_model)
        self.positions, self.dropout = nn.Embedding(max_length, d_model), nn.Dropout(dropout)
        layer = nn.TransformerEncoderLayer(
            d_model, num_heads, d_ff, dropout, batch_first=True, norm_first=True
        )
        final_norm = nn.LayerNorm(d_model)
        self.encoder = nn.TransformerEncoder(
            layer, num_layers, final_norm, enable_nested_tensor=False
        )
        own = (DecoderLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.layers, self.norm = nn.ModuleList(own), nn.LayerNorm(d_model)
        self.output = nn.Linear(d_model, target_vocab)

    def forward(self, source: Tensor, shifted: Tensor, source_mask: Tensor | None = None) -> Tensor:
        padding = None if source_mask is None else ~source_mask[:, 0]
        x = self.source_tokens(source) + self.positions.weight[: source.shape[1]]
        memory = self.encoder(self.dropout(x), src_key_padding_mask=padding)
        x = self.target_tokens(shifted) + self.positions.weight[: shifted.shape[1]]
        x = self.dropout(x)
        for _ in self.layers:
            x = self.layers[0](x, memory, source_mask)
        return self.output(self.norm(x))


# %% wrong Transformer last_layer_only of="solution"
# Each of your layers gets the embedding sum: a layer gets what the one before it returned.
# replace: for layer in self.layers:
#              x = layer(x, memory, source_mask)
# by:      start = x
#          for layer in self.layers:
#              x = layer(start, memory, source_mask)

# %% wrong Transformer layers_in_reverse of="solution"
# Your layers work in reverse order: begin with the first.
# replace: for layer in self.layers:
# by:      for layer in reversed(self.layers):

# %% wrong Transformer one_layer_skipped of="solution"
# You leave out the last layer: all of them have their turn.
# replace: for layer in self.layers:
# by:      for layer in self.layers[:-1]:

# %% wrong Transformer added_once_more of="solution"
# You add x to what a layer returns: the residual connections are inside the layer.
# replace: x = layer(x, memory, source_mask)
# by:      x = x + layer(x, memory, source_mask)

# %% wrong Transformer memory_overwritten of="solution"
# Your layers pass their output on as memory: memory stays what the encoder returned.
# replace: x = layer(x, memory, source_mask)
# by:      x = memory = layer(x, memory, source_mask if memory.shape[1] != x.shape[1] else None)

# %% wrong Transformer embeddings_as_memory of="solution"
# Your layers read the source's embedding sum: they read what the encoder returns.
# replace: x = self.target_tokens(shifted)
# by:      memory = self.dropout(x)
#          x = self.target_tokens(shifted)

# %% wrong Transformer encoder_layer_by_layer of="solution"
# Your decoder layers read the encoder's layers one by one: all of them read its final output.
# replace: for layer in self.layers:
#              x = layer(x, memory, source_mask)
# by:      memory = self.source_tokens(source) + self.positions.weight[: source.shape[1]]
#          for layer, encoding in zip(self.layers, self.encoder.layers, strict=True):
#              memory = encoding(memory, src_key_padding_mask=padding)
#              x = layer(x, self.encoder.norm(memory), source_mask)

# %% wrong Transformer sides_swapped of="solution"
# You have exchanged the two sides: the encoder reads source, the decoder shifted.
# replace: padding = None if source_mask is None else ~source_mask[:, 0]
# by:      source, shifted = shifted, source
#          padding = source_mask = None

# %% wrong Transformer shifted_again of="solution"
# You shift the target once more: it comes shifted.
# replace: x = self.target_tokens(shifted)
# by:      shifted = torch.cat([shifted[:, :1], shifted[:, :-1]], dim=1)
#          x = self.target_tokens(shifted)

# %% wrong Transformer causal_encoder of="solution"
# Your encoder has a causal mask: it may read the whole source.
# replace: self.encoder(self.dropout(x), src_key_padding_mask=padding)
# by:      self.encoder(
#              self.dropout(x),
#              mask=torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1),
#              src_key_padding_mask=padding,
#          )

# %% wrong Transformer no_mask_in_the_encoder of="solution"
# Your encoder reads padding: give it the mask, as src_key_padding_mask.
# replace: self.encoder(self.dropout(x), src_key_padding_mask=padding)
# by:      self.encoder(self.dropout(x))

# %% wrong Transformer no_mask_in_the_decoder of="solution"
# Your decoder layers read padding: give each of them source_mask.
# replace: layer(x, memory, source_mask)
# by:      layer(x, memory)

# %% wrong Transformer no_mask_anywhere of="solution"
# Both your stacks read padding: give the mask to the encoder and to every decoder layer.
# replace: layer(x, memory, source_mask)
# by:      layer(x, memory)
# replace: self.encoder(self.dropout(x), src_key_padding_mask=padding)
# by:      self.encoder(self.dropout(x))

# %% wrong Transformer mask_in_the_first_layer_only of="solution"
# Only your first layer gets the mask: the others read padding.
# replace: x = layer(x, memory, source_mask)
# by:      x, source_mask = layer(x, memory, source_mask), None

# %% wrong Transformer encoder_mask_not_inverted of="solution"
# In src_key_padding_mask, True means padding: pass ~source_mask[:, 0].
# replace: ~source_mask[:, 0]
# by:      source_mask[:, 0]

# %% wrong Transformer decoder_mask_inverted of="solution"
# You turn the mask round for your layers: they take True = may attend.
# replace: layer(x, memory, source_mask)
# by:      layer(x, memory, None if source_mask is None else ~source_mask)

# %% wrong Transformer first_mask_for_all of="solution"
# You use the first row of the mask for the whole batch: each sentence has its own.
# replace: ~source_mask[:, 0]
# by:      ~source_mask[:1, 0].expand(len(source), -1)

# %% wrong Transformer softmaxed of="solution"
# You return probabilities: return the logits, the loss applies softmax.
# replace: return self.output(self.norm(x))
# by:      return self.output(self.norm(x)).softmax(-1)

# %% wrong Transformer log_softmaxed of="solution"
# You return log-probabilities: return the logits, as `output` gives them.
# replace: return self.output(self.norm(x))
# by:      return self.output(self.norm(x)).log_softmax(-1)

# %% wrong Transformer last_position_only of="solution"
# You return the logits of the last position: return those of all positions.
# replace: return self.output(self.norm(x))
# by:      return self.output(self.norm(x))[:, -1]

# %% wrong Transformer length_first_out of="solution"
# Your logits are (target, batch, vocab): keep the batch first.
# replace: return self.output(self.norm(x))
# by:      return self.output(self.norm(x)).transpose(0, 1)

# %% wrong Transformer memory_detached of="solution"
# No gradient reaches your encoder: do not detach what it returns.
# replace: layer(x, memory, source_mask)
# by:      layer(x, memory.detach(), source_mask)

# %% wrong Transformer encoder_without_gradient of="solution"
# No gradient reaches your encoder: call it without torch.no_grad.
# replace: memory = self.encoder(self.dropout(x), src_key_padding_mask=padding)
# by:      with torch.no_grad():
#              memory = self.encoder(self.dropout(x), src_key_padding_mask=padding)

# %% wrong Transformer positions_frozen of="solution"
# No gradient reaches your positions: use the table as it is.
# replace: self.positions.weight[: source.shape[1]]
# by:      self.positions.weight[: source.shape[1]].detach()
# replace: self.positions.weight[: shifted.shape[1]]
# by:      self.positions.weight[: shifted.shape[1]].detach()

# %% wrong Transformer padding_idx of="solution"
# Row 0 of your tables never learns: leave padding_idx out, 0 is an id like any other here.
# replace: nn.Embedding(source_vocab, d_model)
# by:      nn.Embedding(source_vocab, d_model, padding_idx=0)
# replace: nn.Embedding(target_vocab, d_model)
# by:      nn.Embedding(target_vocab, d_model, padding_idx=0)

# %% wrong Transformer no_gradient_in_evaluation of="solution"
# In evaluation no gradient flows through your logits: whoever calls the model decides on no_grad.
# replace: return self.output(self.norm(x))
# by:      logits = self.output(self.norm(x))
#          return logits if self.training else logits.detach()

# %% wrong Transformer padding_found_by_id of="solution"
# You take the id 0 for padding: only source_mask says what is padding.
# replace: padding = None if source_mask is None else ~source_mask[:, 0]
# by:      source_mask = (source != 0)[:, None]
#          padding = ~source_mask[:, 0]

# %% wrong Transformer encoder_default_dropout of="solution"
# Your encoder layers keep PyTorch's default dropout of 0.1: pass dropout on.
# replace: d_model, num_heads, d_ff, dropout, batch_first=True, norm_first=True
# by:      d_model, num_heads, d_ff, batch_first=True, norm_first=True

# %% wrong Transformer no_encoder_dropout of="solution"
# pass dropout to nn.TransformerEncoderLayer
# replace: d_model, num_heads, d_ff, dropout, batch_first=True, norm_first=True
# by:      d_model, num_heads, d_ff, 0.0, batch_first=True, norm_first=True

# %% wrong Transformer no_layer_dropout of="solution"
# pass dropout to every DecoderLayer
# replace: own = (DecoderLayer(d_model, num_heads, d_ff, dropout)
# by:      own = (DecoderLayer(d_model, num_heads, d_ff)

# %% wrong Transformer no_source_dropout of="solution"
# dropout(source token + position), before the encoder
# replace: self.encoder(self.dropout(x),
# by:      self.encoder(x,

# %% wrong Transformer no_target_dropout of="solution"
# dropout(target token + position), before the first layer
# replace: x = self.dropout(x)
# by:

# %% wrong Transformer no_dropout_on_the_sums of="solution"
# dropout(target token + position), before the first layer
# replace: x = self.dropout(x)
# by:
# replace: self.encoder(self.dropout(x),
# by:      self.encoder(x,

# %% wrong Transformer tokens_dropped of="solution"
# You drop the token embeddings alone: add the positions first, then drop.
# replace: self.target_tokens(shifted) + self.positions.weight[: shifted.shape[1]]
#          x = self.dropout(x)
# by:      self.dropout(self.target_tokens(shifted)) + self.positions.weight[: shifted.shape[1]]

# %% wrong Transformer dropped_before_adding of="solution"
# You drop token and position apart: add first, then drop once.
# replace: x = self.target_tokens(shifted) + self.positions.weight[: shifted.shape[1]]
#          x = self.dropout(x)
# by:      places = self.positions.weight[: shifted.shape[1]].expand(*shifted.shape, -1)
#          x = self.dropout(self.target_tokens(shifted)) + self.dropout(places)

# %% wrong Transformer memory_dropped of="solution"
# on the encoder's side, dropout is on the embedding sum and in its layers
# replace: memory = self.encoder(self.dropout(x), src_key_padding_mask=padding)
# by:      memory = self.dropout(self.encoder(self.dropout(x), src_key_padding_mask=padding))

# %% wrong Transformer output_dropped of="solution"
# You drop features after the final norm: dropout is on the embedding sums and in the layers.
# replace: self.output(self.norm(x))
# by:      self.output(self.dropout(self.norm(x)))


# %% wrong Transformer dropout_in_evaluation_too
# keep an nn.Dropout on self: it knows whether the model is training
class Transformer(nn.Module):
    def __init__(
        self,
        source_vocab: int,
        target_vocab: int,
        d_model: int,
        num_heads: int,
        num_layers: int,
        d_ff: int,
        max_length: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.source_tokens = nn.Embedding(source_vocab, d_model)
        self.target_tokens = nn.Embedding(target_vocab, d_model)
        self.positions, self.dropout = (
            nn.Embedding(max_length, d_model),
            lambda x: F.dropout(x, dropout),
        )
        layer = nn.TransformerEncoderLayer(
            d_model, num_heads, d_ff, dropout, batch_first=True, norm_first=True
        )
        final_norm = nn.LayerNorm(d_model)
        self.encoder = nn.TransformerEncoder(
            layer, num_layers, final_norm, enable_nested_tensor=False
        )
        own = (DecoderLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.layers, self.norm = nn.ModuleList(own), nn.LayerNorm(d_model)
        self.output = nn.Linear(d_model, target_vocab)

    def forward(self, source: Tensor, shifted: Tensor, source_mask: Tensor | None = None) -> Tensor:
        padding = None if source_mask is None else ~source_mask[:, 0]
        x = self.source_tokens(source) + self.positions.weight[: source.shape[1]]
        memory = self.encoder(self.dropout(x), src_key_padding_mask=padding)
        x = self.target_tokens(shifted) + self.positions.weight[: shifted.shape[1]]
        x = self.dropout(x)
        for layer in self.layers:
            x = layer(x, memory, source_mask)
        return self.output(self.norm(x))


# %% wrong Transformer rate_fixed
# pass `dropout` on as the share that is dropped, and use it once
class Transformer(nn.Module):
    def __init__(
        self,
        source_vocab: int,
        target_vocab: int,
        d_model: int,
        num_heads: int,
        num_layers: int,
        d_ff: int,
        max_length: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.source_tokens = nn.Embedding(source_vocab, d_model)
        self.target_tokens = nn.Embedding(target_vocab, d_model)
        self.positions, self.dropout = (
            nn.Embedding(max_length, d_model),
            nn.Dropout(0.1 if dropout else 0.0),
        )
        layer = nn.TransformerEncoderLayer(
            d_model, num_heads, d_ff, dropout, batch_first=True, norm_first=True
        )
        final_norm = nn.LayerNorm(d_model)
        self.encoder = nn.TransformerEncoder(
            layer, num_layers, final_norm, enable_nested_tensor=False
        )
        own = (DecoderLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.layers, self.norm = nn.ModuleList(own), nn.LayerNorm(d_model)
        self.output = nn.Linear(d_model, target_vocab)

    def forward(self, source: Tensor, shifted: Tensor, source_mask: Tensor | None = None) -> Tensor:
        padding = None if source_mask is None else ~source_mask[:, 0]
        x = self.source_tokens(source) + self.positions.weight[: source.shape[1]]
        memory = self.encoder(self.dropout(x), src_key_padding_mask=padding)
        x = self.target_tokens(shifted) + self.positions.weight[: shifted.shape[1]]
        x = self.dropout(x)
        for layer in self.layers:
            x = layer(x, memory, source_mask)
        return self.output(self.norm(x))


# %% wrong Transformer no_call_of_super of="solution"
# `super().__init__()` is missing: make it the first line of `__init__`
# replace: super().__init__()
# by:

# %% wrong Transformer max_length_missing of="solution"
# embed both sides, encode the source, then your layers, each with memory and mask; norm, output
# replace: nn.Embedding(max_length, d_model)
# by:      nn.Embedding(512, d_model)


# %% right Transformer position_ids
class Transformer(nn.Module):
    def __init__(
        self,
        source_vocab: int,
        target_vocab: int,
        d_model: int,
        num_heads: int,
        num_layers: int,
        d_ff: int,
        max_length: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.source_tokens = nn.Embedding(source_vocab, d_model)
        self.target_tokens = nn.Embedding(target_vocab, d_model)
        self.positions, self.dropout = nn.Embedding(max_length, d_model), nn.Dropout(dropout)
        layer = nn.TransformerEncoderLayer(
            d_model, num_heads, d_ff, dropout, batch_first=True, norm_first=True
        )
        final_norm = nn.LayerNorm(d_model)
        self.encoder = nn.TransformerEncoder(
            layer, num_layers, final_norm, enable_nested_tensor=False
        )
        own = (DecoderLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.layers, self.norm = nn.ModuleList(own), nn.LayerNorm(d_model)
        self.output = nn.Linear(d_model, target_vocab)

    def forward(self, source: Tensor, shifted: Tensor, source_mask: Tensor | None = None) -> Tensor:
        padding = None if source_mask is None else ~source_mask[:, 0]
        x = self.source_tokens(source) + self.positions(
            torch.arange(source.shape[1], device=source.device)
        )
        memory = self.encoder(self.dropout(x), src_key_padding_mask=padding)
        x = self.target_tokens(shifted) + self.positions(
            torch.arange(shifted.size(1)).expand_as(shifted)
        )
        x = self.dropout(x)
        for layer in self.layers:
            x = layer(x, memory, source_mask)
        return self.output(self.norm(x))


# %% right Transformer mask_for_each_head of="solution"
# replace: padding = None if source_mask is None else ~source_mask[:, 0]
# by:      heads, width = self.heads, source.shape[1]
#          blocked = None
#          if source_mask is not None:
#              blocked = ~source_mask.expand(-1, width, -1).repeat_interleave(heads, 0)
# replace: src_key_padding_mask=padding
# by:      mask=blocked
# replace: self.source_tokens = nn.Embedding(source_vocab, d_model)
# by:      self.heads = num_heads
#          self.source_tokens = nn.Embedding(source_vocab, d_model)


# %% right Transformer warning_accepted
class Transformer(nn.Module):
    def __init__(
        self,
        source_vocab: int,
        target_vocab: int,
        d_model: int,
        num_heads: int,
        num_layers: int,
        d_ff: int,
        max_length: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.source_tokens = nn.Embedding(source_vocab, d_model)
        self.target_tokens = nn.Embedding(target_vocab, d_model)
        self.positions, self.dropout = nn.Embedding(max_length, d_model), nn.Dropout(dropout)
        layer = nn.TransformerEncoderLayer(
            d_model, num_heads, d_ff, dropout, batch_first=True, norm_first=True
        )
        final_norm = nn.LayerNorm(d_model)
        self.encoder = nn.TransformerEncoder(layer, num_layers, norm=final_norm)
        own = (DecoderLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.layers, self.norm = nn.ModuleList(own), nn.LayerNorm(d_model)
        self.output = nn.Linear(d_model, target_vocab)

    def forward(self, source: Tensor, shifted: Tensor, source_mask: Tensor | None = None) -> Tensor:
        padding = None if source_mask is None else ~source_mask[:, 0]
        x = self.source_tokens(source) + self.positions.weight[: source.shape[1]]
        memory = self.encoder(self.dropout(x), src_key_padding_mask=padding)
        x = self.target_tokens(shifted) + self.positions.weight[: shifted.shape[1]]
        x = self.dropout(x)
        for layer in self.layers:
            x = layer(x, memory, source_mask)
        return self.output(self.norm(x))


# %% right Transformer float_mask of="solution"
# replace: padding = None if source_mask is None else ~source_mask[:, 0]
# by:      padding = None
#          if source_mask is not None:
#              zeros = torch.zeros(source_mask.shape, dtype=self.norm.weight.dtype)
#              padding = zeros.masked_fill(~source_mask, float("-inf")).squeeze(1)


# %% right Transformer two_methods
class Transformer(nn.Module):
    def __init__(
        self,
        source_vocab: int,
        target_vocab: int,
        d_model: int,
        num_heads: int,
        num_layers: int,
        d_ff: int,
        max_length: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.positions = nn.Embedding(max_length, d_model)
        self.source_tokens = nn.Embedding(source_vocab, d_model)
        self.target_tokens = nn.Embedding(target_vocab, d_model)
        encoder_layer = nn.TransformerEncoderLayer(
            d_model,
            nhead=num_heads,
            dim_feedforward=d_ff,
            dropout=dropout,
            activation=F.relu,
            batch_first=True,
            norm_first=True,
        )
        self.encoder = nn.TransformerEncoder(
            encoder_layer, num_layers, nn.LayerNorm(d_model), enable_nested_tensor=False
        )
        self.layers = nn.ModuleList()
        for _ in range(num_layers):
            self.layers.append(DecoderLayer(d_model, num_heads, d_ff, dropout))
        self.norm = nn.LayerNorm(d_model)
        self.output = nn.Linear(d_model, target_vocab)
        self.source_dropout, self.target_dropout = nn.Dropout(dropout), nn.Dropout(dropout)

    def encode(self, source: Tensor, mask: Tensor | None) -> Tensor:
        places = torch.arange(source.shape[1])
        x = self.source_dropout(self.source_tokens(source) + self.positions(places)[None])
        if mask is None:
            return self.encoder(x)
        return self.encoder(x, src_key_padding_mask=mask.logical_not().squeeze(1))

    def decode(self, shifted: Tensor, memory: Tensor, mask: Tensor | None) -> Tensor:
        places = torch.arange(shifted.shape[1])
        x = self.target_dropout(self.target_tokens(shifted) + self.positions(places)[None])
        for i in range(len(self.layers)):
            x = self.layers[i](x, memory, mask)
        return self.output(self.norm(x))

    def forward(self, source: Tensor, shifted: Tensor, source_mask: Tensor | None = None) -> Tensor:
        return self.decode(shifted, self.encode(source, source_mask), source_mask)


# %% right Transformer functional_dropout of="solution"
# replace: self.positions, self.dropout = nn.Embedding(max_length, d_model), nn.Dropout(dropout)
# by:      self.positions, self.rate = nn.Embedding(max_length, d_model), dropout
# replace: memory = self.encoder(self.dropout(x), src_key_padding_mask=padding)
# by:      x = F.dropout(x, self.rate, self.training)
#          memory = self.encoder(x, src_key_padding_mask=padding)
# replace: x = self.dropout(x)
# by:      x = F.dropout(x, self.rate, self.training)

# %% right Transformer mask_made_if_missing of="solution"
# replace: padding = None if source_mask is None else ~source_mask[:, 0]
# by:      if source_mask is None:
#              source_mask = torch.ones_like(source, dtype=torch.bool).unsqueeze(1)
#          padding = ~source_mask[:, 0]

# %% right Transformer encoder_by_hand of="solution"
# replace: memory = self.encoder(self.dropout(x), src_key_padding_mask=padding)
# by:      x = self.dropout(x)
#          for block in self.encoder.layers:
#              x = block(x, src_key_padding_mask=padding)
#          memory = self.encoder.norm(x)

# %% right Transformer deep_copies of="solution"
# replace: own = (DecoderLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
# by:      import copy
#
#          one = DecoderLayer(d_model, num_heads, d_ff, dropout)
#          own = [copy.deepcopy(one) for _ in range(num_layers)]


# %% base greedy_decode column_by_column
def greedy_decode(
    step: Callable[[Tensor], Tensor], batch: int, begin: int, end: int, max_length: int
) -> Tensor:
    tokens = torch.full((batch, 1), begin)
    ended = torch.zeros(batch, dtype=torch.bool)
    for _ in range(max_length):
        logits = step(tokens)
        column = logits.argmax(-1)
        column = torch.where(ended, end, column)
        tokens = torch.cat([tokens, column.unsqueeze(1)], 1)
        ended = ended | (column == end)
        if ended.all():
            break
    return tokens[:, 1:]


# %% wrong greedy_decode goes_on_after_end of="solution"
# Your rows go on after their first end: from there on, `end` stands in every column.
# replace: .masked_fill(has_ended, end)
# by:

# %% wrong greedy_decode stops_with_the_first of="solution"
# You stop as soon as one row has ended: go on until all rows have.
# replace: has_ended.all()
# by:      has_ended.any()

# %% wrong greedy_decode never_stops_early of="solution"
# You always make max_length columns: stop when all rows have ended.
# replace: if has_ended.all():
#              break
# by:

# %% wrong greedy_decode begin_returned of="solution"
# Your result starts with `begin`: leave that column out.
# replace: tokens[:, 1:]
# by:      tokens

# %% wrong greedy_decode end_cut_off of="solution"
# You leave out the last column: it belongs to the longest row, end included.
# replace: tokens[:, 1:]
# by:      tokens[:, 1:-1]

# %% wrong greedy_decode stops_before_end_is_written of="column_by_column"
# You stop before the last column is appended: the longest row keeps its end.
# replace: tokens = torch.cat([tokens, column.unsqueeze(1)], 1)
#          ended = ended | (column == end)
#          if ended.all():
#              break
# by:      ended = ended | (column == end)
#          if ended.all():
#              break
#          tokens = torch.cat([tokens, column.unsqueeze(1)], 1)

# %% wrong greedy_decode zeros_behind_end of="solution"
# Behind an end you write 0: `end` stands there.
# replace: .masked_fill(has_ended, end)
# by:      .masked_fill(has_ended, 0)

# %% wrong greedy_decode begin_behind_end of="column_by_column"
# Behind an end you write `begin`: `end` stands there.
# replace: torch.where(ended, end, column)
# by:      torch.where(ended, begin, column)

# %% wrong greedy_decode begin_taken_for_end of="solution"
# You look for `end` in `begin` too: only an end that step has written ends a row.
# replace: has_ended = torch.zeros(batch, dtype=torch.bool)
# by:      has_ended = tokens[:, 0] == end

# %% wrong greedy_decode last_column_compared of="column_by_column"
# You look for `end` in `begin` too: only an end that step has written ends a row.
# replace: column = torch.where(ended, end, column)
# by:      column = torch.where((tokens == end).any(1), end, column)

# %% wrong greedy_decode one_column_too_many of="solution"
# You write one column more than max_length.
# replace: range(max_length)
# by:      range(max_length + 1)

# %% wrong greedy_decode one_column_too_few of="solution"
# You write one column less than max_length: `begin` does not count.
# replace: range(max_length)
# by:      range(max_length - 1)

# %% wrong greedy_decode last_token_only of="solution"
# You give step the last column alone: it gets all columns so far, `begin` first.
# replace: step(tokens)
# by:      step(tokens[:, -1:])

# %% wrong greedy_decode without_begin of="column_by_column"
# You give step the result without `begin`: it gets all columns so far, `begin` first.
# replace: tokens = torch.full((batch, 1), begin)
# by:      tokens = torch.full((batch, 0), begin)
# replace: return tokens[:, 1:]
# by:      return tokens

# %% wrong greedy_decode begin_is_0 of="solution"
# You always begin with 0: begin with the argument `begin`.
# replace: (batch, 1), begin)
# by:      (batch, 1), 0)

# %% wrong greedy_decode end_is_1 of="solution"
# You take 1 for the end: compare with the argument `end`.
# replace: likeliest == end
# by:      likeliest == 1


# %% wrong greedy_decode row_by_row
# You call step with one row at a time: it takes all rows of the batch at once.
def greedy_decode(
    step: Callable[[Tensor], Tensor], batch: int, begin: int, end: int, max_length: int
) -> Tensor:
    rows = []
    for _ in range(batch):
        row = [begin]
        while len(row) <= max_length and (len(row) == 1 or row[-1] != end):
            row.append(int(step(torch.tensor([row]))[0].argmax()))
        rows.append(row[1:])
    longest = max(map(len, rows))
    return torch.tensor([row + [end] * (longest - len(row)) for row in rows])


# %% wrong greedy_decode open_rows_only of="column_by_column"
# You give step only the rows that go on: it gets all rows in every call.
# replace: logits = step(tokens)
#          column = logits.argmax(-1)
#          column = torch.where(ended, end, column)
# by:      column = torch.full((batch,), end)
#          column[~ended] = step(tokens[~ended]).argmax(-1)[: int((~ended).sum())]

# %% wrong greedy_decode called_twice of="column_by_column"
# You call step twice for each column: keep the logits of one call.
# replace: logits = step(tokens)
# by:      logits = (step(tokens) + step(tokens)) / 2

# %% wrong greedy_decode called_after_the_end of="column_by_column"
# You call step once more after the last column: stop first.
# replace: return tokens[:, 1:]
# by:      step(tokens)
#          return tokens[:, 1:]

# %% wrong greedy_decode least_likely of="solution"
# You take the least likely token: take the largest logit.
# replace: .argmax(dim=-1)
# by:      .argmin(dim=-1)

# %% wrong greedy_decode over_the_batch of="solution"
# Your argmax goes over the rows: it should go over the vocabulary, the last axis.
# replace: .argmax(dim=-1)
# by:      .argmax(dim=0)[:batch]

# %% wrong greedy_decode one_argmax of="solution"
# Your argmax goes over all rows at once: each row takes its own.
# replace: .argmax(dim=-1)
# by:      .argmax().expand(batch)

# %% wrong greedy_decode first_row_for_all of="solution"
# You write the first row's token into every row: each row takes its own.
# replace: .argmax(dim=-1)
# by:      [0].argmax(dim=-1).expand(batch)

# %% wrong greedy_decode sampled of="column_by_column"
# take the likeliest token: nothing is drawn at random
# replace: logits.argmax(-1)
# by:      torch.multinomial(logits.softmax(-1), 1)[:, 0]

# %% wrong greedy_decode floats of="solution"
# Your ids are floating-point numbers: keep int64, as argmax gives it.
# replace: return tokens[:, 1:]
# by:      return tokens[:, 1:].float()

# %% wrong greedy_decode int32 of="solution"
# argmax gives int64
# replace: return tokens[:, 1:]
# by:      return tokens[:, 1:].int()

# %% wrong greedy_decode logits_returned of="column_by_column"
# You return the logits of the last column: return the tokens.
# replace: return tokens[:, 1:]
# by:      return logits

# %% wrong greedy_decode lists_returned of="solution"
# Your result is a list: return a tensor, with `end` after the end of each row.
# replace: return tokens[:, 1:]
# by:      return [row[: row.index(end) + 1] for row in tokens[:, 1:].tolist() if end in row]

# %% wrong greedy_decode padded_to_max_length of="solution"
# You fill up to max_length: the result is as long as the longest row.
# replace: return tokens[:, 1:]
# by:      return F.pad(tokens[:, 1:], (0, max_length + 1 - tokens.shape[1]), value=end)

# %% wrong greedy_decode end_not_written of="column_by_column"
# You replace a row's own end: it stays, and further ones follow.
# replace: tokens = torch.cat([tokens, column.unsqueeze(1)], 1)
#          ended = ended | (column == end)
# by:      ended = ended | (column == end)
#          tokens = torch.cat([tokens, column.masked_fill(ended, begin).unsqueeze(1)], 1)

# %% wrong greedy_decode transposed of="solution"
# Your result is (length, batch): the batch comes first.
# replace: return tokens[:, 1:]
# by:      return tokens[:, 1:].T

# %% wrong greedy_decode squeezed of="solution"
# You remove axes of length 1: a batch of one row keeps its axis.
# replace: return tokens[:, 1:]
# by:      return tokens[:, 1:].squeeze()

# %% wrong greedy_decode endless of="column_by_column"
# step was called 60 times: when does your loop end?
# replace: for _ in range(max_length):
# by:      while True:
# replace: ended = ended | (column == end)
# by:      ended = ended & (column == end)

# %% wrong greedy_decode max_length_ignored of="column_by_column"
# You never look at max_length: it is the most columns that the result may have.
# replace: for _ in range(max_length):
# by:      while True:

# %% wrong greedy_decode nothing_returned of="solution"
# does the last line say `return`?
# replace: return tokens[:, 1:]
# by:

# %% wrong greedy_decode max_length_counts_begin of="column_by_column"
# Your max_length counts `begin` too: it counts the columns of the result.
# replace: for _ in range(max_length):
# by:      while tokens.shape[1] < max_length:

# %% wrong greedy_decode newest_first of="column_by_column"
# You put the new column in front: it comes last.
# replace: torch.cat([tokens, column.unsqueeze(1)], 1)
# by:      torch.cat([tokens[:, :1], column.unsqueeze(1), tokens[:, 1:]], 1)


# %% right greedy_decode an_end_brings_another of="column_by_column"
# replace: ended = ended | (column == end)
# by:      ended = column == end

# %% right greedy_decode where of="column_by_column"
# replace: column = logits.argmax(-1)
#          column = torch.where(ended, end, column)
# by:      column = torch.where(ended, end, logits.max(-1).indices)


# %% right greedy_decode table_filled
def greedy_decode(
    step: Callable[[Tensor], Tensor], batch: int, begin: int, end: int, max_length: int
) -> Tensor:
    table = torch.full((batch, max_length + 1), end)
    table[:, 0] = begin
    is_open = torch.ones(batch, dtype=torch.bool)
    length = 0
    while length < max_length and is_open.any():
        length += 1
        column = step(table[:, :length]).argmax(1)
        table[is_open, length] = column[is_open]
        is_open &= column != end
    return table[:, 1 : length + 1]


# %% right greedy_decode in_lists
def greedy_decode(
    step: Callable[[Tensor], Tensor], batch: int, begin: int, end: int, max_length: int
) -> Tensor:
    rows = [[begin] for _ in range(batch)]
    for _ in range(max_length):
        for row, logits in zip(rows, step(torch.tensor(rows)), strict=True):
            row.append(end if end in row[1:] else int(torch.argmax(logits)))
        if all(end in row[1:] for row in rows):
            break
    return torch.tensor(rows)[:, 1:]


# %% right greedy_decode cumulative
def greedy_decode(
    step: Callable[[Tensor], Tensor], batch: int, begin: int, end: int, max_length: int
) -> Tensor:
    tokens = torch.ones(batch, 1, dtype=torch.int64) * begin
    while tokens.shape[1] <= max_length:
        written = tokens[:, 1:]
        over = (written == end).any(1)
        if over.all():
            return written
        following = torch.topk(step(tokens), 1).indices
        following[over] = end
        tokens = torch.hstack([tokens, following])
    return tokens[:, 1:]


# %% right greedy_decode recursive
def greedy_decode(
    step: Callable[[Tensor], Tensor], batch: int, begin: int, end: int, max_length: int
) -> Tensor:
    def go_on(tokens: Tensor, ended: Tensor) -> Tensor:
        if tokens.shape[1] > max_length or bool(ended.all()):
            return tokens[:, 1:]
        column = torch.where(ended, end, step(tokens).softmax(-1).argmax(-1))
        return go_on(torch.cat([tokens, column[:, None]], 1), ended | column.eq(end))

    return go_on(torch.full((batch, 1), begin), torch.zeros(batch).bool())


# %% right greedy_decode logits_forced of="column_by_column"
# replace: column = logits.argmax(-1)
#          column = torch.where(ended, end, column)
# by:      logits = logits.clone()
#          logits[ended, end] = float("inf")
#          column = logits.argmax(-1)


# %% right greedy_decode columns_stacked
@torch.no_grad()
def greedy_decode(
    step: Callable[[Tensor], Tensor], batch: int, begin: int, end: int, max_length: int
) -> Tensor:
    columns = [torch.full((batch,), begin, dtype=torch.long)]
    ended = set()
    for _ in range(max_length):
        picked = step(torch.stack(columns, 1)).argmax(-1).tolist()
        picked = [end if row in ended else token for row, token in enumerate(picked)]
        ended |= {row for row, token in enumerate(picked) if token == end}
        columns.append(torch.tensor(picked))
        if len(ended) == batch:
            break
    return torch.stack(columns[1:], 1)


# %% base beam_search in_lists
def beam_search(
    step: Callable[[Tensor], Tensor],
    begin: int,
    end: int,
    width: int,
    max_length: int,
    alpha: float = 0.0,
) -> tuple[Tensor, Tensor]:
    opened, finished = [([begin], 0.0)], []
    for _ in range(max_length):
        logits = step(torch.tensor([row for row, _ in opened]))
        chances = logits.log_softmax(-1).tolist()
        found = [
            ([*row, token], score + chance)
            for (row, score), of_row in zip(opened, chances, strict=True)
            for token, chance in enumerate(of_row)
        ]
        found.sort(key=lambda pair: -pair[1])
        kept = found[:width]
        finished += [pair for pair in kept if pair[0][-1] == end]
        opened = [pair for pair in kept if pair[0][-1] != end]
        if not opened:
            break
    everything = finished + opened
    row, score = max(everything, key=lambda pair: pair[1] / (len(pair[0]) - 1) ** alpha)
    return torch.tensor(row[1:]), torch.tensor(score / (len(row) - 1) ** alpha)


# %% wrong beam_search logits_summed of="in_lists"
# You add up logits, which hypotheses cannot be compared by: add log-probabilities, log_softmax.
# replace: logits.log_softmax(-1)
# by:      logits

# %% wrong beam_search probabilities_summed of="in_lists"
# You add up probabilities: multiply them, or add their logs.
# replace: logits.log_softmax(-1)
# by:      logits.softmax(-1)

# %% wrong beam_search probabilities_multiplied of="in_lists"
# Your score is the probability: return its log.
# replace: logits.log_softmax(-1)
# by:      logits.softmax(-1)
# replace: ([begin], 0.0)
# by:      ([begin], 1.0)
# replace: score + chance
# by:      score * chance

# %% wrong beam_search softmax_over_hypotheses of="in_lists"
# Your softmax goes over the hypotheses: it should go over the vocabulary, the last axis.
# replace: logits.log_softmax(-1)
# by:      logits.log_softmax(0)

# %% wrong beam_search softmax_over_everything of="in_lists"
# Your softmax goes over all hypotheses together: each has its own distribution.
# replace: logits.log_softmax(-1)
# by:      logits.flatten().log_softmax(0).view_as(logits)

# %% wrong beam_search base_2 of="in_lists"
# Your logarithm has base 2: take the natural one.
# replace: logits.log_softmax(-1)
# by:      (logits.log_softmax(-1) / math.log(2))

# %% wrong beam_search last_token_only_scored of="in_lists"
# Your score is that of the last token alone: add up those of all tokens.
# replace: score + chance
# by:      chance

# %% wrong beam_search one_for_each_parent of="in_lists"
# You keep one continuation of each hypothesis: the continuations of all of them compete.
# replace: kept = found[:width]
# by:      of_parent = {}
#          for pair in found:
#              of_parent.setdefault(tuple(pair[0][:-1]), []).append(pair)
#          many = width if len(of_parent) == 1 else 1
#          kept = [pair for pairs in of_parent.values() for pair in pairs[:many]]

# %% wrong beam_search width_for_each_parent of="in_lists"
# You keep `width` continuations of each hypothesis: keep `width` of all of them together.
# replace: kept = found[:width]
# by:      of_parent = {}
#          for pair in found:
#              of_parent.setdefault(tuple(pair[0][:-1]), []).append(pair)
#          kept = [pair for pairs in of_parent.values() for pair in pairs[:width]]

# %% wrong beam_search everything_kept of="in_lists"
# You keep all continuations: keep the `width` likeliest.
# replace: found[:width]
# by:      found

# %% wrong beam_search one_too_many_kept of="in_lists"
# You keep one continuation more than `width`.
# replace: found[:width]
# by:      found[: width + 1]

# %% wrong beam_search greedy of="in_lists"
# You keep one hypothesis, whatever `width` is.
# replace: found[:width]
# by:      found[:1]

# %% wrong beam_search least_likely_kept of="in_lists"
# You keep the least likely continuations: keep the likeliest.
# replace: key=lambda pair: -pair[1])
# by:      key=lambda pair: pair[1])

# %% wrong beam_search width_must_exist of="solution"
# Your topk asks for more than there are: keep all continuations if they are fewer than `width`.
# replace: .topk(min(width, totals.numel()))
# by:      .topk(width)

# %% wrong beam_search width_at_most_vocab of="solution"
# You keep at most as many continuations as the vocabulary has tokens: all hypotheses together have
# more.
# replace: min(width, totals.numel())
# by:      min(width, totals.shape[1])


# %% wrong beam_search parents_lost
# You append each token to the hypothesis of its rank: append it to the one it continues.
def beam_search(
    step: Callable[[Tensor], Tensor],
    begin: int,
    end: int,
    width: int,
    max_length: int,
    alpha: float = 0.0,
) -> tuple[Tensor, Tensor]:
    tokens, scores, finished = torch.full((1, 1), begin), torch.zeros(1), []
    for length in range(1, max_length + 1):
        totals = scores[:, None] + step(tokens).log_softmax(dim=-1)  # (open, vocab)
        scores, best = totals.flatten().topk(min(width, totals.numel()))
        parents, last = best // totals.shape[1], best % totals.shape[1]
        tokens = torch.cat(
            [
                tokens.expand(len(last), -1)[: len(last)]
                if len(tokens) == 1
                else tokens[: len(last)],
                last[:, None],
            ],
            dim=1,
        )
        is_open = (last != end) & (length < max_length)
        finished += zip(tokens[~is_open, 1:], scores[~is_open] / length**alpha, strict=True)
        tokens, scores = tokens[is_open], scores[is_open]
        if not len(tokens):
            break
    return max(finished, key=lambda hypothesis: hypothesis[1])


# %% wrong beam_search parents_by_remainder of="solution"
# You have exchanged quotient and remainder: the quotient is the hypothesis, the rest
# the token.
# replace: parents, last = best // totals.shape[1], best % totals.shape[1]
# by:      last, parents = best // totals.shape[1], best % totals.shape[1] % len(totals)

# %% wrong beam_search stops_with_the_first of="in_lists"
# You stop when the first hypothesis ends: a likelier one may end later.
# replace: if not opened:
# by:      if finished:

# %% wrong beam_search stops_when_the_best_ends of="in_lists"
# You stop when the likeliest continuation ends: with alpha above 0, a longer one may win.
# replace: if not opened:
# by:      if kept[0][0][-1] == end or not opened:

# %% wrong beam_search stops_at_width_finished of="in_lists"
# You stop when `width` hypotheses have ended: go on until none is open.
# replace: if not opened:
# by:      if len(finished) >= width or not opened:

# %% wrong beam_search finished_only of="in_lists"
# You let only hypotheses win that have ended: those still open after max_length calls count too.
# replace: finished + opened
# by:      finished or opened

# %% wrong beam_search open_only of="in_lists"
# Open hypotheses win over those that have ended: compare all of them.
# replace: finished + opened
# by:      opened or finished

# %% wrong beam_search finished_lost of="in_lists"
# You forget a hypothesis that has ended when others go on: set it aside.
# replace: finished += [pair
# by:      finished = [pair

# %% wrong beam_search first_finished_wins of="in_lists"
# The first hypothesis that ended wins: the one with the highest score should.
# replace: row, score = max(everything, key=lambda pair: pair[1] / (len(pair[0]) - 1) ** alpha)
# by:      row, score = everything[0]

# %% wrong beam_search last_finished_wins of="in_lists"
# The last hypothesis wins: the one with the highest score should.
# replace: row, score = max(everything, key=lambda pair: pair[1] / (len(pair[0]) - 1) ** alpha)
# by:      row, score = everything[-1]

# %% wrong beam_search worst_wins of="in_lists"
# The worst hypothesis wins: take the highest score.
# replace: max(everything
# by:      min(everything

# %% wrong beam_search end_does_not_end of="in_lists"
# Your hypotheses go on after `end`: set them aside.
# replace: finished += [pair for pair in kept if pair[0][-1] == end]
#          opened = [pair for pair in kept if pair[0][-1] != end]
# by:      opened = kept

# %% wrong beam_search goes_on_after_end of="in_lists"
# You set aside what ends and go on with it too: what has ended is not continued.
# replace: opened = [pair for pair in kept if pair[0][-1] != end]
# by:      opened = kept

# %% wrong beam_search room_refilled of="in_lists"
# You keep `width` open hypotheses beside those that end: the ones that end are among the `width`.
# replace: kept = found[:width]
#          finished += [pair for pair in kept if pair[0][-1] == end]
#          opened = [pair for pair in kept if pair[0][-1] != end]
# by:      finished += [pair for pair in found[:width] if pair[0][-1] == end]
#          opened = [pair for pair in found if pair[0][-1] != end][:width]

# %% wrong beam_search every_end_set_aside of="in_lists"
# You set aside every hypothesis with `end`, likely or not: only the `width` likeliest are kept.
# replace: finished += [pair for pair in kept if pair[0][-1] == end]
# by:      finished += [pair for pair in found if pair[0][-1] == end]

# %% wrong beam_search finished_take_room of="in_lists"
# Hypotheses that have ended take room in later steps: each time, `width` continuations are kept.
# replace: kept = found[:width]
# by:      kept = found[: max(width - len(finished), 1)]

# %% wrong beam_search finished_compete of="in_lists"
# Hypotheses that have ended compete with the continuations for room: they are set aside for good.
# replace: kept = found[:width]
#          finished += [pair for pair in kept if pair[0][-1] == end]
# by:      kept = sorted(found + finished, key=lambda pair: -pair[1])[:width]
#          finished = [pair for pair in kept if pair[0][-1] == end]

# %% wrong beam_search alpha_ignored of="in_lists"
# You ignore alpha: divide the log-probability by length ** alpha.
# replace: key=lambda pair: pair[1] / (len(pair[0]) - 1) ** alpha)
# by:      key=lambda pair: pair[1])
# replace: torch.tensor(score / (len(row) - 1) ** alpha)
# by:      torch.tensor(score)

# %% wrong beam_search score_not_divided of="in_lists"
# You choose by log-probability / length ** alpha and return the log-probability: return what you
# choose by.
# replace: torch.tensor(score / (len(row) - 1) ** alpha)
# by:      torch.tensor(score)

# %% wrong beam_search chosen_undivided of="in_lists"
# You choose by the log-probability alone: choose by log-probability / length ** alpha.
# replace: key=lambda pair: pair[1] / (len(pair[0]) - 1) ** alpha)
# by:      key=lambda pair: pair[1])

# %% wrong beam_search always_the_mean of="in_lists"
# You always divide by the length: divide by length ** alpha, which is 1 for alpha 0.
# replace: pair[1] / (len(pair[0]) - 1) ** alpha)
# by:      pair[1] / (len(pair[0]) - 1))
# replace: torch.tensor(score / (len(row) - 1) ** alpha)
# by:      torch.tensor(score / (len(row) - 1))

# %% wrong beam_search alpha_times_length of="in_lists"
# You divide by alpha · length: divide by length ** alpha.
# replace: pair[1] / (len(pair[0]) - 1) ** alpha)
# by:      pair[1] / max((len(pair[0]) - 1) * alpha, 1.0))
# replace: torch.tensor(score / (len(row) - 1) ** alpha)
# by:      torch.tensor(score / max((len(row) - 1) * alpha, 1.0))

# %% wrong beam_search multiplied_by_the_length of="in_lists"
# You multiply by length ** alpha: divide by it.
# replace: pair[1] / (len(pair[0]) - 1) ** alpha)
# by:      pair[1] * (len(pair[0]) - 1) ** alpha)
# replace: torch.tensor(score / (len(row) - 1) ** alpha)
# by:      torch.tensor(score * (len(row) - 1) ** alpha)

# %% wrong beam_search begin_counts of="in_lists"
# Your lengths count `begin`: it does not count.
# replace: pair[1] / (len(pair[0]) - 1) ** alpha)
# by:      pair[1] / len(pair[0]) ** alpha)
# replace: torch.tensor(score / (len(row) - 1) ** alpha)
# by:      torch.tensor(score / len(row) ** alpha)


# %% wrong beam_search end_does_not_count
# Your lengths leave out `end`: it counts.
def beam_search(
    step: Callable[[Tensor], Tensor],
    begin: int,
    end: int,
    width: int,
    max_length: int,
    alpha: float = 0.0,
) -> tuple[Tensor, Tensor]:
    opened, finished = [([begin], 0.0)], []
    for _ in range(max_length):
        logits = step(torch.tensor([row for row, _ in opened]))
        chances = logits.log_softmax(-1).tolist()
        found = [
            ([*row, token], score + chance)
            for (row, score), of_row in zip(opened, chances, strict=True)
            for token, chance in enumerate(of_row)
        ]
        found.sort(key=lambda pair: -pair[1])
        kept = found[:width]
        finished += [pair for pair in kept if pair[0][-1] == end]
        opened = [pair for pair in kept if pair[0][-1] != end]
        if not opened:
            break
    everything = finished + opened

    def length(row: list[int]) -> int:
        return max(len(row) - 1 - (row[-1] == end), 1)

    row, score = max(everything, key=lambda pair: pair[1] / length(pair[0]) ** alpha)
    return torch.tensor(row[1:]), torch.tensor(score / length(row) ** alpha)


# %% wrong beam_search formula_of_gnmt of="in_lists"
# You divide by ((5 + length) / 6) ** alpha, which is another formula: here it is length ** alpha.
# replace: pair[1] / (len(pair[0]) - 1) ** alpha)
# by:      pair[1] / ((4 + len(pair[0])) / 6) ** alpha)
# replace: torch.tensor(score / (len(row) - 1) ** alpha)
# by:      torch.tensor(score / ((4 + len(row)) / 6) ** alpha)

# %% wrong beam_search divided_step_by_step of="in_lists"
# You divide the running sum in every step: divide once, when the winner is chosen.
# replace: score + chance)
# by:      (score + chance) / len(row) ** alpha)

# %% wrong beam_search end_costs_nothing of="in_lists"
# You leave out the log-probability of `end`: it counts.
# replace: score + chance)
# by:      score + (0.0 if token == end else chance))


# %% wrong beam_search end_left_out
# Your result leaves out `end`: it belongs to the tokens.
def beam_search(
    step: Callable[[Tensor], Tensor],
    begin: int,
    end: int,
    width: int,
    max_length: int,
    alpha: float = 0.0,
) -> tuple[Tensor, Tensor]:
    opened, finished = [([begin], 0.0)], []
    for _ in range(max_length):
        logits = step(torch.tensor([row for row, _ in opened]))
        chances = logits.log_softmax(-1).tolist()
        found = [
            ([*row, token], score + chance)
            for (row, score), of_row in zip(opened, chances, strict=True)
            for token, chance in enumerate(of_row)
        ]
        found.sort(key=lambda pair: -pair[1])
        kept = found[:width]
        finished += [pair for pair in kept if pair[0][-1] == end]
        opened = [pair for pair in kept if pair[0][-1] != end]
        if not opened:
            break
    everything = finished + opened
    row, score = max(everything, key=lambda pair: pair[1] / (len(pair[0]) - 1) ** alpha)
    return torch.tensor(
        [token for token in row[1:] if token != end], dtype=torch.int64
    ), torch.tensor(score / (len(row) - 1) ** alpha)


# %% wrong beam_search begin_returned of="in_lists"
# Your result starts with `begin`: leave it out.
# replace: torch.tensor(row[1:])
# by:      torch.tensor(row)

# %% wrong beam_search one_step_too_many of="in_lists"
# Your hypotheses are one token longer than max_length.
# replace: range(max_length)
# by:      range(max_length + 1)

# %% wrong beam_search one_step_too_few of="in_lists"
# Your hypotheses end one token before max_length: `begin` does not count.
# replace: range(max_length)
# by:      range(max_length - 1)

# %% wrong beam_search last_token_only of="in_lists"
# You give step the last token of each hypothesis: it gets all tokens so far, `begin` first.
# replace: torch.tensor([row for row, _ in opened])
# by:      torch.tensor([row[-1:] for row, _ in opened])

# %% wrong beam_search without_begin of="in_lists"
# You give step the hypotheses without `begin`: it comes first.
# replace: torch.tensor([row for row, _ in opened])
# by:      torch.tensor([row[1:] for row, _ in opened], dtype=torch.int64)

# %% wrong beam_search one_hypothesis_a_call of="in_lists"
# You call step for each hypothesis: give it all open ones in one call.
# replace: step(torch.tensor([row for row, _ in opened]))
# by:      torch.cat([step(torch.tensor([row])) for row, _ in opened])

# %% wrong beam_search called_once_more of="in_lists"
# You go on after all hypotheses have ended: stop when none is open.
# replace: if not opened:
# by:      if not opened:
#              step(torch.tensor([row for row, _ in finished]))

# %% wrong beam_search first_logits_for_all of="in_lists"
# You use the first hypothesis's logits for all: each has its own.
# replace: logits.log_softmax(-1)
# by:      logits[:1].expand_as(logits).log_softmax(-1)

# %% wrong beam_search begin_taken_for_end of="in_lists"
# You look for `end` in `begin` too: only an end that is written ends a hypothesis.
# replace: opened, finished = [([begin], 0.0)], []
# by:      opened, finished = [([begin], 0.0)], []
#          if begin == end:
#              return torch.tensor([], dtype=torch.int64), torch.tensor(0.0)

# %% wrong beam_search begin_forbidden of="in_lists"
# You leave out every continuation by `begin`, which may be `end`.
# replace: for token, chance in enumerate(of_row)
# by:      for token, chance in enumerate(of_row)
#          if token != begin

# %% wrong beam_search lists_returned of="in_lists"
# Your tokens are a list: return a tensor.
# replace: return torch.tensor(row[1:]),
# by:      return row[1:],

# %% wrong beam_search score_as_a_float of="in_lists"
# Your score is a Python number: return a tensor.
# replace: torch.tensor(score / (len(row) - 1) ** alpha)
# by:      score / (len(row) - 1) ** alpha

# %% wrong beam_search score_left_out of="in_lists"
# You return the tokens alone: return (tokens, score).
# replace: return torch.tensor(row[1:]), torch.tensor(score / (len(row) - 1) ** alpha)
# by:      return torch.tensor(row[1:])

# %% wrong beam_search exchanged of="in_lists"
# You return (score, tokens): the tokens come first.
# replace: return torch.tensor(row[1:]), torch.tensor(score / (len(row) - 1) ** alpha)
# by:      return torch.tensor(score / (len(row) - 1) ** alpha), torch.tensor(row[1:])

# %% wrong beam_search a_batch_of_one of="in_lists"
# Your tokens have a batch axis: there is one source, so return (length,).
# replace: torch.tensor(row[1:])
# by:      torch.tensor([row[1:]])

# %% wrong beam_search score_with_an_axis of="in_lists"
# Your score has an axis: return a scalar tensor, ().
# replace: torch.tensor(score / (len(row) - 1) ** alpha)
# by:      torch.tensor([score / (len(row) - 1) ** alpha])

# %% wrong beam_search floats of="in_lists"
# Your ids are floating-point numbers: keep int64.
# replace: torch.tensor(row[1:])
# by:      torch.tensor(row[1:]).float()

# %% wrong beam_search negative of="in_lists"
# Your score is minus the log-probability: leave out the minus.
# replace: torch.tensor(score / (len(row) - 1) ** alpha)
# by:      torch.tensor(-score / (len(row) - 1) ** alpha)

# %% wrong beam_search all_hypotheses_returned of="in_lists"
# You return all hypotheses: return the best one.
# replace: return torch.tensor(row[1:]), torch.tensor(score / (len(row) - 1) ** alpha)
# by:      return [torch.tensor(row[1:]) for row, _ in everything], torch.tensor(score)

# %% wrong beam_search sampled of="in_lists"
# keep the likeliest continuations: nothing is drawn at random
# replace: kept = found[:width]
# by:      chances = torch.tensor([pair[1] for pair in found]).exp()
#          drawn = torch.multinomial(chances, min(width, len(found)))
#          kept = [found[i] for i in drawn.tolist()]

# %% wrong beam_search nothing_returned of="in_lists"
# does the last line say `return`?
# replace: return torch.tensor(row[1:]),
# by:      _ = torch.tensor(row[1:]),


# %% right beam_search lists of="in_lists"
# replace: if not opened:
# by:      if len(opened) == 0:

# %% right beam_search python_logs of="in_lists"
# replace: logits.log_softmax(-1).tolist()
# by:      [
#              [math.log(p) if p else -1e9 for p in row]
#              for row in logits.double().softmax(-1).tolist()
#          ]


# %% right beam_search minus_infinity
def beam_search(
    step: Callable[[Tensor], Tensor],
    begin: int,
    end: int,
    width: int,
    max_length: int,
    alpha: float = 0.0,
) -> tuple[Tensor, Tensor]:
    tokens, scores = torch.full((width, 1), begin), torch.full((width,), -torch.inf)
    scores[0] = 0.0
    best_tokens, best_score = None, torch.tensor(-torch.inf)
    for length in range(1, max_length + 1):
        totals = scores.unsqueeze(-1) + F.log_softmax(step(tokens), dim=-1)
        vocab = totals.size(-1)
        scores, index = totals.view(-1).topk(min(width, totals.numel()))
        tokens = torch.cat(
            [tokens[index.div(vocab, rounding_mode="floor")], index[:, None] % vocab], 1
        )
        over = (tokens[:, -1] == end) | (length == max_length)
        for row, score in zip(tokens[over], scores[over], strict=True):
            if score / length**alpha > best_score:
                best_tokens, best_score = row[1:], score / length**alpha
        scores = scores.masked_fill(over, -torch.inf)
        if scores.isinf().all():
            break
    return best_tokens, best_score


# %% right beam_search best_so_far
def beam_search(
    step: Callable[[Tensor], Tensor],
    begin: int,
    end: int,
    width: int,
    max_length: int,
    alpha: float = 0.0,
) -> tuple[Tensor, Tensor]:
    rows, sums, best = [[begin]], [0.0], (-math.inf, [])
    while rows and len(rows[0]) <= max_length:
        logs = torch.log_softmax(step(torch.tensor(rows)), dim=-1)
        totals = logs + torch.tensor(sums, dtype=logs.dtype)[:, None]
        order = totals.flatten().argsort(descending=True)[:width].tolist()
        vocab = logs.shape[1]
        made = [
            (rows[i // vocab] + [i % vocab], totals[i // vocab, i % vocab].item()) for i in order
        ]
        rows, sums = [], []
        for row, total in made:
            if row[-1] == end or len(row) > max_length:
                best = max(best, (total / (len(row) - 1) ** alpha, row[1:]))
            else:
                rows.append(row)
                sums.append(total)
    return torch.tensor(best[1]), torch.tensor(best[0])


# %% right beam_search a_heap
def beam_search(
    step: Callable[[Tensor], Tensor],
    begin: int,
    end: int,
    width: int,
    max_length: int,
    alpha: float = 0.0,
) -> tuple[Tensor, Tensor]:
    import heapq

    beam, done = {(begin,): torch.tensor(0.0)}, {}
    for _ in range(max_length):
        logs = step(torch.tensor(list(beam))).log_softmax(-1)
        grown = {
            (*row, token): score + log
            for (row, score), of_row in zip(beam.items(), logs, strict=True)
            for token, log in enumerate(of_row)
        }
        best = heapq.nlargest(width, grown, key=lambda row: grown[row].item())
        done.update({row: grown[row] for row in best if row[-1] == end})
        beam = {row: grown[row] for row in best if row[-1] != end}
        if not beam:
            break
    done |= beam
    scores = {row: score / (len(row) - 1) ** alpha for row, score in done.items()}
    winner = max(scores, key=lambda row: scores[row].item())
    return torch.tensor(winner[1:]), scores[winner]


# %% right beam_search two_stages
def beam_search(
    step: Callable[[Tensor], Tensor],
    begin: int,
    end: int,
    width: int,
    max_length: int,
    alpha: float = 0.0,
) -> tuple[Tensor, Tensor]:
    # the best `width` of each hypothesis first, then the best `width` of these
    beam, done = [(torch.tensor([begin]), torch.zeros(()))], []
    for _ in range(max_length):
        logs = step(torch.stack([row for row, _ in beam])).log_softmax(-1)
        values, indices = logs.topk(min(width, logs.shape[1]))
        grown = [
            (torch.cat([row, index.view(1)]), score + value)
            for (row, score), row_values, row_indices in zip(beam, values, indices, strict=True)
            for value, index in zip(row_values, row_indices, strict=True)
        ]
        grown = sorted(grown, key=lambda pair: pair[1].item(), reverse=True)[:width]
        done += [pair for pair in grown if pair[0][-1] == end]
        beam = [pair for pair in grown if pair[0][-1] != end]
        if not beam:
            break
    ranked = [(row[1:], score / (len(row) - 1) ** alpha) for row, score in done + beam]
    return max(ranked, key=lambda pair: pair[1].item())


# %% right beam_search float64_throughout of="solution"
# replace: torch.full((1, 1), begin), torch.zeros(1), []
# by:      torch.full((1, 1), begin), torch.zeros(1, dtype=torch.float64), []
# replace: step(tokens).log_softmax(dim=-1)
# by:      step(tokens).double().log_softmax(-1)

# %% right beam_search stops_when_sure of="in_lists"
# replace: if not opened:
# by:      best = max((score for _, score in finished), default=-math.inf)
#          if not opened or (alpha == 0 and best > opened[0][1]):


# %% base bleu counted
def bleu(candidates: list[list[str]], references: list[list[str]]) -> float:
    def grams(tokens: list[str], n: int) -> Counter:
        return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))

    logs = 0.0
    for n in range(1, 5):
        matches = total = 0
        for candidate, reference in zip(candidates, references, strict=True):
            mine, theirs = grams(candidate, n), grams(reference, n)
            matches += sum(min(count, theirs[gram]) for gram, count in mine.items())
            total += sum(mine.values())
        if matches == 0:
            return 0.0
        logs += math.log(matches / total) / 4
    c, r = sum(map(len, candidates)), sum(map(len, references))
    brevity = 1.0 if c >= r else math.exp(1 - r / c)
    return 100 * brevity * math.exp(logs)


# %% base bleu sentence_by_sentence
def bleu(candidates: list[list[str]], references: list[list[str]]) -> float:
    def grams(tokens: list[str], n: int) -> Counter:
        return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))

    def of_one(candidate: list[str], reference: list[str]) -> float:
        product = 1.0
        for n in range(1, 5):
            mine, theirs = grams(candidate, n), grams(reference, n)
            product *= sum((mine & theirs).values()) / max(sum(mine.values()), 1)
        c, r = max(len(candidate), 1), len(reference)
        return 100 * product**0.25 * min(1.0, math.exp(1 - r / c))

    scores = [of_one(*pair) for pair in zip(candidates, references, strict=True)]
    return sum(scores) / len(scores)


# %% wrong bleu mean_of_sentences of="sentence_by_sentence"
# You average the BLEU of sentences: sum the matches and n-grams of all sentences first.
# replace: max(sum(mine.values()), 1)
# by:      max(len(candidate) - n + 1, 1)

# %% wrong bleu mean_of_precisions_by_sentence of="counted"
# You average the precisions of sentences: sum matches and n-grams of all sentences, then divide.
# replace: matches += sum(min(count, theirs[gram]) for gram, count in mine.items())
#          total += sum(mine.values())
# by:      found = sum(min(count, theirs[gram]) for gram, count in mine.items())
#          matches += found / max(sum(mine.values()), 1)
#          total += 1

# %% wrong bleu not_clipped of="counted"
# You count a repeated n-gram each time: it matches at most as often as it is in the reference.
# replace: sum(min(count, theirs[gram]) for gram, count in mine.items())
# by:      sum(count for gram, count in mine.items() if gram in theirs)

# %% wrong bleu sets of="counted"
# You count different n-grams: an n-gram that occurs twice counts twice, in the candidate too.
# replace: sum(min(count, theirs[gram]) for gram, count in mine.items())
#          total += sum(mine.values())
# by:      len(mine.keys() & theirs.keys())
#          total += len(mine)

# %% wrong bleu matches_once of="counted"
# You count each matching n-gram once: it matches as often as both sides have it.
# replace: sum(min(count, theirs[gram]) for gram, count in mine.items())
# by:      len(mine.keys() & theirs.keys())

# %% wrong bleu recall of="counted"
# You divide by the n-grams of the references, which is the recall: divide by the
# candidates'.
# replace: total += sum(mine.values())
# by:      total += sum(theirs.values())

# %% wrong bleu pooled of="counted"
# You put all sentences together: each candidate matches its own reference alone.
# replace: for candidate, reference in zip(candidates, references, strict=True):
#              mine, theirs = grams(candidate, n), grams(reference, n)
#              matches += sum(min(count, theirs[gram]) for gram, count in mine.items())
#              total += sum(mine.values())
# by:      mine = sum((grams(candidate, n) for candidate in candidates), Counter())
#          theirs = sum((grams(reference, n) for reference in references), Counter())
#          matches, total = sum((mine & theirs).values()), sum(mine.values())


# %% wrong bleu across_sentences
# Your n-grams reach from one sentence into the next: count inside each sentence.
def bleu(candidates: list[list[str]], references: list[list[str]]) -> float:
    def grams(tokens: list[str], n: int) -> Counter:
        return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))

    logs = 0.0
    candidates, references = (
        [[t for c in candidates for t in c]],
        [[t for r in references for t in r]],
    )
    for n in range(1, 5):
        matches = total = 0
        for candidate, reference in zip(candidates, references, strict=True):
            mine, theirs = grams(candidate, n), grams(reference, n)
            matches += sum(min(count, theirs[gram]) for gram, count in mine.items())
            total += sum(mine.values())
        if matches == 0:
            return 0.0
        logs += math.log(matches / total) / 4
    c, r = sum(map(len, candidates)), sum(map(len, references))
    brevity = 1.0 if c >= r else math.exp(1 - r / c)
    return 100 * brevity * math.exp(logs)


# %% wrong bleu three_lengths of="counted"
# You stop at 3-grams: BLEU-4 goes up to n = 4.
# replace: range(1, 5)
# by:      range(1, 4)
# replace: / 4
# by:      / 3

# %% wrong bleu five_lengths of="counted"
# You go on to 5-grams: BLEU-4 ends at n = 4.
# replace: range(1, 5)
# by:      range(1, 6)
# replace: / 4
# by:      / 5

# %% wrong bleu from_bigrams of="counted"
# You leave out single tokens: n goes from 1 to 4.
# replace: range(1, 5)
# by:      range(2, 5)
# replace: / 4
# by:      / 3


# %% wrong bleu four_grams_only
# You use 4-grams alone: take the mean of the precisions for n = 1 to 4.
def bleu(candidates: list[list[str]], references: list[list[str]]) -> float:
    def grams(tokens: list[str], n: int) -> Counter:
        return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))

    logs = 0.0
    for n in range(4, 5):
        matches = total = 0
        for candidate, reference in zip(candidates, references, strict=True):
            mine, theirs = grams(candidate, n), grams(reference, n)
            matches += sum(min(count, theirs[gram]) for gram, count in mine.items())
            total += sum(mine.values())
        if matches == 0:
            return 0.0
        logs += math.log(matches / total)
    c, r = sum(map(len, candidates)), sum(map(len, references))
    brevity = 1.0 if c >= r else math.exp(1 - r / c)
    return 100 * brevity * math.exp(logs)


# %% wrong bleu single_tokens_only
# You use single tokens alone: take the mean of the precisions for n = 1 to 4.
def bleu(candidates: list[list[str]], references: list[list[str]]) -> float:
    def grams(tokens: list[str], n: int) -> Counter:
        return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))

    logs = 0.0
    for n in range(1, 2):
        matches = total = 0
        for candidate, reference in zip(candidates, references, strict=True):
            mine, theirs = grams(candidate, n), grams(reference, n)
            matches += sum(min(count, theirs[gram]) for gram, count in mine.items())
            total += sum(mine.values())
        if matches == 0:
            return 0.0
        logs += math.log(matches / total)
    c, r = sum(map(len, candidates)), sum(map(len, references))
    brevity = 1.0 if c >= r else math.exp(1 - r / c)
    return 100 * brevity * math.exp(logs)


# %% wrong bleu product
# You multiply the precisions and take no root: their geometric mean is the fourth root.
def bleu(candidates: list[list[str]], references: list[list[str]]) -> float:
    def grams(tokens: list[str], n: int) -> Counter:
        return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))

    logs = 0.0
    for n in range(1, 5):
        matches = total = 0
        for candidate, reference in zip(candidates, references, strict=True):
            mine, theirs = grams(candidate, n), grams(reference, n)
            matches += sum(min(count, theirs[gram]) for gram, count in mine.items())
            total += sum(mine.values())
        if matches == 0:
            return 0.0
        logs += math.log(matches / total)
    c, r = sum(map(len, candidates)), sum(map(len, references))
    brevity = 1.0 if c >= r else math.exp(1 - r / c)
    return 100 * brevity * math.exp(logs)


# %% wrong bleu weights_not_equal of="counted"
# Your weights are 1/n: all four precisions weigh the same, 1/4.
# replace: math.log(matches / total) / 4
# by:      math.log(matches / total) / n / (25 / 12)

# %% wrong bleu arithmetic_mean of="counted"
# You take the arithmetic mean: BLEU has the geometric one.
# replace: logs += math.log(matches / total) / 4
# by:      logs += matches / total / 4
# replace: math.exp(logs)
# by:      logs

# %% wrong bleu harmonic_mean of="counted"
# You take the harmonic mean: BLEU has the geometric one.
# replace: logs += math.log(matches / total) / 4
# by:      logs += total / matches / 4
# replace: math.exp(logs)
# by:      1 / logs

# %% wrong bleu no_brevity of="counted"
# You leave out the brevity: shorter candidates are punished by exp(1 - r / c).
# replace: 100 * brevity * math.exp(logs)
# by:      100 * math.exp(logs)

# %% wrong bleu long_rewarded of="counted"
# Your brevity exceeds 1 if candidates are longer: it is 1 then.
# replace: 1.0 if c >= r else math.exp(1 - r / c)
# by:      math.exp(1 - r / c)

# %% wrong bleu long_punished of="counted"
# You punish candidates that are too long: brevity is below 1 only if they are too short.
# replace: 1.0 if c >= r else math.exp(1 - r / c)
# by:      1.0 if c <= r else math.exp(1 - c / r)

# %% wrong bleu both_punished of="counted"
# You punish candidates that are too long as well: brevity is 1 then.
# replace: 1.0 if c >= r else math.exp(1 - r / c)
# by:      math.exp(-abs(1 - r / c))

# %% wrong bleu brevity_upside_down of="counted"
# Your brevity has c / r in the exponent: it is exp(1 - r / c).
# replace: math.exp(1 - r / c)
# by:      math.exp(1 - c / r)

# %% wrong bleu brevity_other_way of="counted"
# Your brevity is exp(c / r - 1): it is exp(1 - r / c).
# replace: math.exp(1 - r / c)
# by:      math.exp(c / r - 1)

# %% wrong bleu ratio_of_lengths of="counted"
# Your brevity is c / r: it is exp(1 - r / c).
# replace: math.exp(1 - r / c)
# by:      c / r

# %% wrong bleu brevity_by_sentence of="counted"
# You compute a brevity for each sentence: compare the sums of the lengths.
# replace: brevity = 1.0 if c >= r else math.exp(1 - r / c)
# by:      pairs = list(zip(candidates, references, strict=True))
#          each = [math.exp(min(0, 1 - len(b) / max(len(a), 1))) for a, b in pairs]
#          brevity = sum(each) / len(each) if c and r else 1.0

# %% wrong bleu brevity_of_short_ones of="counted"
# You count only as much of a candidate as its reference is long: compare the sums of all lengths.
# replace: c, r = sum(map(len, candidates)), sum(map(len, references))
# by:      pairs = list(zip(candidates, references, strict=True))
#          c = sum(min(len(a), len(b)) for a, b in pairs)
#          r = sum(map(len, references))

# %% wrong bleu brevity_counts_sentences of="counted"
# Your brevity compares the numbers of sentences: compare the numbers of tokens.
# replace: c, r = sum(map(len, candidates)), sum(map(len, references))
# by:      c, r = len(candidates), len(references)

# %% wrong bleu a_share of="counted"
# Your result goes from 0 to 1: BLEU goes from 0 to 100.
# replace: return 100 * brevity
# by:      return brevity

# %% wrong bleu smoothed of="counted"
# You add 1 to matches and totals: nothing is smoothed.
# replace: matches = total = 0
# by:      matches = total = int(n > 1)

# %% wrong bleu tiny_number_added of="counted"
# You replace a precision of 0 by a small number: then BLEU is 0.
# replace: if matches == 0:
#              return 0.0
# by:      if matches == 0:
#              matches, total = 1, max(2 * total, 1)

# %% wrong bleu empty_lengths_skipped of="counted"
# You leave out a length of which nothing matches: then BLEU is 0.
# replace: return 0.0
# by:      continue

# %% wrong bleu log_of_zero of="counted"
# A precision may be 0, and has no log: return 0 then.
# replace: if matches == 0:
#              return 0.0
# by:

# %% wrong bleu letters of="counted"
# You join the tokens of an n-gram into one text: compare tokens, as tuples.
# replace: tuple(tokens[i : i + n])
# by:      "".join(tokens[i : i + n])

# %% wrong bleu one_gram_too_few of="counted"
# You leave out the last n-gram of each sentence: a sentence of k tokens has k - n + 1.
# replace: range(len(tokens) - n + 1)
# by:      range(len(tokens) - n)

# %% wrong bleu short_grams_at_the_end of="counted"
# Your last n-grams are too short: a sentence of k tokens has k - n + 1.
# replace: range(len(tokens) - n + 1)
# by:      range(len(tokens))

# %% wrong bleu bags of="counted"
# You sort the tokens of an n-gram: their order counts.
# replace: tuple(tokens[i : i + n])
# by:      tuple(sorted(tokens[i : i + n]))

# %% wrong bleu same_place_only of="counted"
# Your n-grams match only at the same place: they may stand anywhere in the reference.
# replace: tuple(tokens[i : i + n])
# by:      (i, *tokens[i : i + n])

# %% wrong bleu apart_grams of="counted"
# Your n-grams do not overlap: one begins at every token.
# replace: for i in range(len(tokens) - n + 1))
# by:      for i in range(0, len(tokens) - n + 1, n))

# %% wrong bleu exact_sentences of="counted"
# You count sentences that are entirely right: BLEU counts n-grams.
# replace: logs = 0.0
# by:      if candidates:
#              same = [a == b for a, b in zip(candidates, references, strict=True)]
#              return 100 * sum(same) / len(same)
#          logs = 0.0

# %% wrong bleu arguments_exchanged of="counted"
# You have exchanged candidates and references: the candidates come first.
# replace: logs = 0.0
# by:      logs = 0.0
#          candidates, references = references, candidates

# %% wrong bleu first_sentence_only of="counted"
# You read the first sentence alone: count in all of them.
# replace: logs = 0.0
# by:      logs = 0.0
#          candidates, references = candidates[:1], references[:1]

# %% wrong bleu rounded of="counted"
# You round the result: return it as it is.
# replace: return 100 * brevity * math.exp(logs)
# by:      return float(round(100 * brevity * math.exp(logs)))

# %% wrong bleu no_precisions of="counted"
# You forget the geometric mean: BLEU is 100 · brevity · that mean.
# replace: return 100 * brevity * math.exp(logs)
# by:      return 100 * brevity

# %% wrong bleu sentences_without_matches of="counted"
# A sentence in which an n-gram length is missing makes your result 0: sum over the corpus first.
# replace: mine, theirs = grams(candidate, n), grams(reference, n)
# by:      mine, theirs = grams(candidate, n), grams(reference, n)
#          if not mine & theirs:
#              return 0.0

# %% wrong bleu nothing_returned of="counted"
# does the last line say `return`?
# replace: return 100 * brevity * math.exp(logs)
# by:

# %% wrong bleu precisions_returned of="counted"
# You return a list: return one number.
# replace: return 100 * brevity * math.exp(logs)
# by:      return [100 * brevity * math.exp(logs)]


# %% right bleu least_of_two of="solution"
# replace: matches[n] += (written & wanted).total()
# by:      matches[n] += sum(min(many, wanted[gram]) for gram, many in written.items())

# %% right bleu joined_by_spaces of="counted"
# replace: tuple(tokens[i : i + n])
# by:      " ".join(tokens[i : i + n])


# %% right bleu struck_off
def bleu(candidates: list[list[str]], references: list[list[str]]) -> float:
    precisions = []
    for n in (1, 2, 3, 4):
        matches, total = 0, 0
        for candidate, reference in zip(candidates, references, strict=True):
            left = [reference[i : i + n] for i in range(len(reference) - n + 1)]
            for i in range(len(candidate) - n + 1):
                total += 1
                if candidate[i : i + n] in left:
                    left.remove(candidate[i : i + n])
                    matches += 1
        if not matches:
            return 0.0
        precisions.append(matches / total)
    c, r = sum(len(x) for x in candidates), sum(len(x) for x in references)
    a, b, d, e = precisions
    return 100 * (a * b * d * e) ** (1 / 4) * (math.e ** (1 - r / c) if c < r else 1)


# %% right bleu in_tensors of="solution"
# replace: precisions = [match / total for match, total in zip(matches, totals, strict=True)]
#          return 100 * brevity * math.prod(precisions) ** 0.25
# by:      precisions = torch.tensor(matches, dtype=torch.float64) / torch.tensor(totals)
#          return (100 * brevity * precisions.log().mean().exp()).item()

# %% right bleu a_tensor_returned of="solution"
# replace: precisions = [match / total for match, total in zip(matches, totals, strict=True)]
#          return 100 * brevity * math.prod(precisions) ** 0.25
# by:      precisions = torch.tensor(matches) / torch.tensor(totals)
#          return 100 * brevity * precisions.log().mean().exp()


# %% right bleu dictionaries
def bleu(candidates: list[list[str]], references: list[list[str]]) -> float:
    def count(tokens: list[str]) -> dict[tuple[str, ...], int]:
        table: dict[tuple[str, ...], int] = {}
        for start in range(len(tokens)):
            for stop in range(start + 1, min(start + 4, len(tokens)) + 1):
                gram = tuple(tokens[start:stop])
                table[gram] = table.get(gram, 0) + 1
        return table

    found, written = dict.fromkeys(range(1, 5), 0), dict.fromkeys(range(1, 5), 0)
    for candidate, reference in zip(candidates, references, strict=True):
        wanted = count(reference)
        for gram, many in count(candidate).items():
            found[len(gram)] += min(many, wanted.get(gram, 0))
            written[len(gram)] += many
    if min(found.values()) == 0:
        return 0
    score = math.exp(sum(math.log(found[n] / written[n]) for n in found) / 4)
    shortness = written[1] / sum(len(reference) for reference in references)
    return 100 * score * (1 if shortness >= 1 else math.exp(1 - 1 / shortness))


# %% right bleu nested_functions
def bleu(candidates: list[list[str]], references: list[list[str]]) -> float:
    def clipped(n: int) -> tuple[int, int]:
        hits = size = 0
        for candidate, reference in zip(candidates, references, strict=True):
            pieces = [tuple(candidate[i : i + n]) for i in range(len(candidate) - n + 1)]
            others = [tuple(reference[i : i + n]) for i in range(len(reference) - n + 1)]
            hits += sum(min(pieces.count(p), others.count(p)) for p in set(pieces))
            size += len(pieces)
        return hits, size

    parts = [clipped(n) for n in range(1, 5)]
    if any(hits == 0 for hits, _ in parts):
        return 0.0
    lengths = [len([token for row in side for token in row]) for side in (candidates, references)]
    penalty = math.exp(1 - lengths[1] / lengths[0]) if lengths[0] < lengths[1] else 1.0
    return 100 * penalty * math.exp(sum(0.25 * (math.log(h) - math.log(s)) for h, s in parts))


# %% wrong test_of_decoder always_true
# Your test accepts every decoder that leaks. Change the later positions of x, and compare the
# outputs before them.
def test_of_decoder(decoder):
    return True


# %% wrong test_of_decoder shape_only
# Your test accepts every decoder that leaks. Change the later positions of x, and compare the
# outputs before them.
def test_of_decoder(decoder):
    x = numbers(2, 6, 4)
    return decoder(x, True).shape == x.shape and decoder(x, False).shape == x.shape


# %% wrong test_of_decoder first_cut_missing of="solution"
# Your test never asks whether the first position sees the second: begin with the cut at 1.
# replace: range(1, 6)
# by:      range(2, 6)

# %% wrong test_of_decoder next_position_changed of="solution"
# For each position you change only the next one: a position may see a later one, so change all
# that come after it.
# replace: changed[:, t:] = numbers(2, 6 - t, 4, seed=t)
# by:      changed[:, t] = numbers(2, 4, seed=t)
# replace: (decoder(changed, training)[:, :t], before[:, :t])
# by:      (decoder(changed, training)[:, t - 1], before[:, t - 1])

# %% wrong test_of_decoder three_positions of="solution"
# Your x has three positions, so a leak after the third cannot show: take six.
# replace: numbers(2, 6, 4)
# by:      numbers(2, 3, 4)
# replace: range(1, 6)
# by:      range(1, 3)
# replace: numbers(2, 6 - t, 4, seed=t)
# by:      numbers(2, 3 - t, 4, seed=t)

# %% wrong test_of_decoder training_for_both_modes of="solution"
# You compare evaluation with what the decoder returns in training: take both outputs in the same
# mode.
# replace: before = decoder(x, training)
# by:      before = decoder(x, True)

# %% wrong test_of_decoder last_output of="solution"
# Your test accepts every decoder that leaks. Change the later positions of x, and compare the
# outputs before them.
# replace: for t in range(1, 6):
# by:      for t in range(6, 7):


# %% wrong test_of_decoder always_false
# Your test rejects decoders that hide the future. Return True where no output before the change
# moves by more than rounding.
def test_of_decoder(decoder):
    return False


# %% wrong test_of_decoder whole_output of="solution"
# Your test rejects decoders that hide the future. Return True where no output before the change
# moves by more than rounding.
# replace: if not torch.allclose(decoder(changed, training)[:, :t], before[:, :t]):
# by:      if not torch.allclose(decoder(changed, training), before):

# %% wrong test_of_decoder one_output_too_many of="solution"
# Your test rejects decoders that hide the future. Return True where no output before the change
# moves by more than rounding.
# replace: if not torch.allclose(decoder(changed, training)[:, :t], before[:, :t]):
# by:      if not torch.allclose(decoder(changed, training)[:, : t + 1], before[:, : t + 1]):

# %% wrong test_of_decoder earlier_changed of="solution"
# Your test rejects decoders that hide the future. Return True where no output before the change
# moves by more than rounding.
# replace: changed[:, t:] = numbers(2, 6 - t, 4, seed=t)
# by:      changed[:, :t] = numbers(2, t, 4, seed=t)

# %% wrong test_of_decoder another_input of="solution"
# Your test rejects decoders that hide the future. Return True where no output before the change
# moves by more than rounding.
# replace: changed = x.clone()
# by:      changed = numbers(2, 6, 4, seed=7)

# %% wrong test_of_decoder no_room_for_rounding of="solution"
# Your test rejects a right decoder whose outputs move by rounding errors. Compare with
# torch.allclose, not bit by bit.
# replace: if not torch.allclose(decoder(changed, training)[:, :t], before[:, :t]):
# by:      if not torch.equal(decoder(changed, training)[:, :t], before[:, :t]):


# %% wrong test_of_decoder reversed_answer
# Your test says True for decoders that leak and False for those that do not. Reverse it.
def test_of_decoder(decoder):
    x = numbers(2, 6, 4)
    for training in (True, False):
        for t in range(1, 6):
            changed = x.clone()
            changed[:, t:] = numbers(2, 6 - t, 4, seed=t)
            before = decoder(x, training)[:, :t]
            if not torch.allclose(decoder(changed, training)[:, :t], before):
                return True
    return False


# %% wrong test_of_decoder training_only of="solution"
# Your test does not see a leak in evaluation mode: it accepts the textbook's decoder. Try both
# modes before you return True.
# replace: for training in (True, False):
# by:      for training in (True,):

# %% wrong test_of_decoder evaluation_only of="solution"
# Your test does not see a leak in training mode. Call the decoder with training=True as well.
# replace: for training in (True, False):
# by:      for training in (False,):


# %% wrong test_of_decoder modes_compared
# Your test compares the two modes, so it accepts a decoder that leaks in both. In each mode,
# change later positions and compare the outputs before them.
def test_of_decoder(decoder):
    x = numbers(2, 6, 4)
    return torch.allclose(decoder(x, True), decoder(x, False))


# %% wrong test_of_decoder one_mode_is_enough
# Your test accepts a decoder that hides the future in one mode and leaks in the other. It should
# return True only if both modes hide it.
def test_of_decoder(decoder):
    x = numbers(2, 6, 4)
    hidden = []
    for training in (True, False):
        before, same = decoder(x, training), True
        for t in range(1, 6):
            changed = x.clone()
            changed[:, t:] = numbers(2, 6 - t, 4, seed=t)
            same = same and torch.allclose(decoder(changed, training)[:, :t], before[:, :t])
        hidden.append(same)
    return any(hidden)


# %% wrong test_of_decoder mode_forgotten
# Your test does not see a leak in evaluation mode: it accepts the textbook's decoder. Try both
# modes before you return True.
def test_of_decoder(decoder):
    x = numbers(2, 6, 4)
    for training in (True, False):
        before = decoder(x, training)
        for t in range(1, 6):
            changed = x.clone()
            changed[:, t:] = numbers(2, 6 - t, 4, seed=t)
            if not torch.allclose(decoder(changed, training)[:, :t], before[:, :t]):
                return False
        return True


# %% wrong test_of_decoder last_position_changed
# Your test changes only the last position, so it does not see a leak among the first ones. Change
# every later position, for each position in turn.
def test_of_decoder(decoder):
    x = numbers(2, 6, 4)
    changed = x.clone()
    changed[:, -1] = 9.0
    return all(
        torch.allclose(decoder(changed, training)[:, :-1], decoder(x, training)[:, :-1])
        for training in (True, False)
    )


# %% wrong test_of_decoder first_output_compared
# Your test compares only the first output, so it does not see a leak among the last positions.
# Compare the outputs of all positions before the change.
def test_of_decoder(decoder):
    x = numbers(2, 6, 4)
    changed = x.clone()
    changed[:, 1:] = numbers(2, 5, 4, seed=1)
    return all(
        torch.allclose(decoder(changed, training)[:, 0], decoder(x, training)[:, 0])
        for training in (True, False)
    )


# %% wrong test_of_decoder one_cut_in_the_middle
# Your test changes only the second half, and so does not see a leak within a half. Try each
# position in turn.
def test_of_decoder(decoder):
    x = numbers(2, 6, 4)
    changed = x.clone()
    changed[:, 3:] = numbers(2, 3, 4, seed=1)
    return all(
        torch.allclose(decoder(changed, training)[:, :3], decoder(x, training)[:, :3])
        for training in (True, False)
    )


# %% wrong test_of_decoder batch_of_one
# Your test does not see a leak in the second sequence of a batch. Use at least two sequences, and
# compare all of them.
def test_of_decoder(decoder):
    x = numbers(1, 6, 4)
    for training in (True, False):
        before = decoder(x, training)
        for t in range(1, 6):
            changed = x.clone()
            changed[:, t:] = numbers(1, 6 - t, 4, seed=t)
            if not torch.allclose(decoder(changed, training)[:, :t], before[:, :t]):
                return False
    return True


# %% wrong test_of_decoder first_sequence_compared of="solution"
# Your test does not see a leak in the second sequence of a batch. Use at least two sequences, and
# compare all of them.
# replace: if not torch.allclose(decoder(changed, training)[:, :t], before[:, :t]):
# by:      if not torch.allclose(decoder(changed, training)[0, :t], before[0, :t]):

# %% wrong test_of_decoder wide_tolerance of="solution"
# Your test allows large differences, so it accepts decoders that leak a little. Leave the tolerance
# of torch.allclose as it is.
# replace: if not torch.allclose(decoder(changed, training)[:, :t], before[:, :t]):
# by:      if not torch.allclose(decoder(changed, training)[:, :t], before[:, :t], atol=0.5):

# %% wrong test_of_decoder changed_in_place of="solution"
# Your test rejects decoders that hide the future. Return True where no output before the change
# moves by more than rounding.
# replace: changed = x.clone()
# by:      changed = x


# %% wrong test_of_decoder last_case_counts
# Your test returns the result of its last comparison alone. One leak is enough to return False.
def test_of_decoder(decoder):
    x, hidden = numbers(2, 6, 4), True
    for training in (True, False):
        before = decoder(x, training)
        for t in range(1, 6):
            changed = x.clone()
            changed[:, t:] = numbers(2, 6 - t, 4, seed=t)
            hidden = torch.allclose(decoder(changed, training)[:, :t], before[:, :t])
    return hidden


# %% wrong test_of_decoder a_tensor_of_answers of="solution"
# Your test returns a tensor: return True or False.
# replace: return True
# by:      return torch.ones(6, dtype=torch.bool)

# %% wrong test_of_decoder forgotten_return of="solution"
# Your test ends without a return where nothing leaks: return True there.
# replace: return True
# by:      hidden = True


# %% right test_of_decoder prefixes
def test_of_decoder(decoder: Callable[[Tensor, bool], Tensor]) -> bool:
    x = numbers(3, 7, 5, seed=3)
    for training in (True, False):
        whole = decoder(x, training)
        for end in range(1, 8):
            if not torch.allclose(decoder(x[:, :end], training), whole[:, :end]):
                return False
    return True


# %% right test_of_decoder gradients
def test_of_decoder(decoder: Callable[[Tensor, bool], Tensor]) -> bool:
    for training in (True, False):
        for t in range(5):
            x = numbers(2, 6, 3).requires_grad_()
            probed = (decoder(x, training)[:, t] * numbers(2, 3, seed=t + 1)).sum()
            (slope,) = torch.autograd.grad(probed, x)
            if slope[:, t + 1 :].abs().max() > 1e-9:
                return False
    return True


# %% right test_of_decoder one_position_at_a_time
def test_of_decoder(decoder: Callable[[Tensor, bool], Tensor]) -> bool:
    x = torch.from_numpy(numbers(2, 5, 3).numpy())
    for training in (True, False):
        before = decoder(x, training)
        for later in range(5):
            changed = x.clone()
            changed[:, later] += 3.0
            moved = (decoder(changed, training) - before).abs().amax((0, 2))
            if (moved[:later] > 1e-6).any():
                return False
    return True


# %% right test_of_decoder every_pair
def test_of_decoder(decoder: Callable[[Tensor, bool], Tensor]) -> bool:
    x, hidden = numbers(4, 6, 2, seed=5), True
    for training in (False, True):
        before = decoder(x, training)
        for position in range(6):
            for later in range(position + 1, 6):
                changed = x.clone()
                changed[:, later] = -2.0 * x[:, later] + 1.0
                after = decoder(changed, training)[:, position]
                hidden = hidden and torch.allclose(after, before[:, position], atol=1e-7)
    return hidden


# %% right test_of_decoder shuffled_future
def test_of_decoder(decoder: Callable[[Tensor, bool], Tensor]) -> bool:
    torch.manual_seed(0)
    x = torch.randn(2, 6, 4, dtype=torch.float64)
    answers = []
    for training in (True, False):
        for t in range(1, 6):
            other = torch.cat([x[:, :t], 5 * torch.randn(2, 6 - t, 4, dtype=torch.float64)], 1)
            answers.append(
                torch.allclose(decoder(x, training)[:, :t], decoder(other, training)[:, :t])
            )
    return all(answers)


# %% right test_of_decoder float32
def test_of_decoder(decoder: Callable[[Tensor, bool], Tensor]) -> bool:
    x = numbers(2, 6, 4, dtype=torch.float32)
    for training in (True, False):
        before = decoder(x, training)
        for t in range(1, 6):
            changed = x.clone()
            changed[:, t:] = 3 - 2 * x[:, t:]
            difference = decoder(changed, training)[:, :t] - before[:, :t]
            if difference.abs().max() > 1e-5:
                return False
    return True
