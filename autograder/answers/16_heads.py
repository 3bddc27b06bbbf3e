# %% given imports
# pyright: reportRedeclaration=false, reportReturnType=false, reportUnusedExpression=false
# pyright: reportArgumentType=false, reportCallIssue=false, reportIndexIssue=false
# pyright: reportAttributeAccessIssue=false, reportOptionalMemberAccess=false
# pyright: reportOperatorIssue=false, reportGeneralTypeIssues=false
# pyright: reportUndefinedVariable=false, reportPossiblyUnboundVariable=false
import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

# %% wrong pointing_accuracy padding_counted of="solution"
# You divide by all queries: those without a target (-1) don't count.
# replace: counted.sum().clamp(min=1)
# by:      counted.numel()


# %% wrong pointing_accuracy mean_of_sentences
# You average the shares of the sentences: pool the queries of all sentences instead.
def pointing_accuracy(weights: Tensor, targets: Tensor) -> Tensor:
    valid = targets >= 0
    hits = (weights.argmax(-1) == targets[:, None]) & valid[:, None]
    return (hits.sum(2).to(weights.dtype) / valid.sum(1, keepdim=True).clamp(min=1)).mean(0)


# %% wrong pointing_accuracy mean_of_sentences_with_a_target
# You average the shares of the sentences: pool the queries of all sentences instead.
def pointing_accuracy(weights: Tensor, targets: Tensor) -> Tensor:
    shares = []
    for row, aims in zip(weights, targets, strict=True):
        valid = aims >= 0
        if valid.any():
            hits = row.argmax(-1)[:, valid] == aims[valid]
            shares.append(hits.to(weights.dtype).mean(-1))
    return torch.stack(shares).mean(0) if shares else weights.new_zeros(weights.shape[1])


# %% wrong pointing_accuracy argmax_over_queries of="solution"
# You take the largest weight of each key over the queries: it should be over the keys, axis -1.
# replace: hits = (weights.argmax(-1) == targets[:, None]) & counted[:, None]
# by:      best = F.pad(weights.argmax(-2), (0, weights.shape[2]))[..., : weights.shape[2]]
#          hits = (best == targets[:, None]) & counted[:, None]


# %% wrong pointing_accuracy weight_on_the_target
# You return the mean weight on the target: count how often the largest weight is there.
def pointing_accuracy(weights: Tensor, targets: Tensor) -> Tensor:
    valid = targets >= 0
    at = targets.clamp(min=0)[:, None, :, None].expand(-1, weights.shape[1], -1, 1)
    on_target = weights.gather(-1, at)[..., 0] * valid[:, None]
    return on_target.sum((0, 2)) / valid.sum().clamp(min=1)


# %% wrong pointing_accuracy weight_above_a_half
# You ask whether the weight on the target is above ½: the largest weight may be smaller.
def pointing_accuracy(weights: Tensor, targets: Tensor) -> Tensor:
    valid = targets >= 0
    at = targets.clamp(min=0)[:, None, :, None].expand(-1, weights.shape[1], -1, 1)
    hits = (weights.gather(-1, at)[..., 0] > 0.5) & valid[:, None]
    return hits.sum((0, 2)).to(weights.dtype) / valid.sum().clamp(min=1)


# %% wrong pointing_accuracy one_number of="solution"
# You pool the heads, too: give a share for each head.
# replace: return hits.sum((0, 2)).to(weights.dtype) / counted.sum().clamp(min=1)
# by:      return hits.sum().to(weights.dtype) / counted.sum().clamp(min=1)


# %% wrong pointing_accuracy for_each_sentence of="solution"
# You give a share for each sentence and head: pool the sentences.
# replace: return hits.sum((0, 2)).to(weights.dtype) / counted.sum().clamp(min=1)
# by:      return hits.sum(2).to(weights.dtype) / counted.sum(1, keepdim=True).clamp(min=1)


# %% wrong pointing_accuracy nan_without_targets of="solution"
# You divide 0 by 0: without any target, the share is 0.
# replace: counted.sum().clamp(min=1)
# by:      counted.sum()


# %% wrong pointing_accuracy counts of="solution"
# You return how many hits there are: divide by the number of queries with a target.
# replace:  / counted.sum().clamp(min=1)
# by:


# %% wrong pointing_accuracy target_0_ignored of="solution"
# You leave out the targets at key 0: only -1 means no target.
# replace: counted = targets >= 0
# by:      counted = targets > 0


# %% wrong pointing_accuracy first_sentence of="solution"
# You use the first sentence only.
# replace: counted = targets >= 0
# by:      weights, targets = weights[:1], targets[:1]
#          counted = targets >= 0


# %% wrong pointing_accuracy heads_averaged_first of="solution"
# You average the weights of the heads: each head is measured by itself.
# replace: hits = (weights.argmax(-1) == targets[:, None]) & counted[:, None]
# by:      averaged = weights.mean(1, keepdim=True).expand_as(weights)
#          hits = (averaged.argmax(-1) == targets[:, None]) & counted[:, None]


# %% wrong pointing_accuracy no_target_wraps
# You index with -1: a query without a target then points to the last key. Leave it out.
def pointing_accuracy(weights: Tensor, targets: Tensor) -> Tensor:
    wanted = targets % weights.shape[-1]
    return (weights.argmax(-1) == wanted[:, None]).to(weights.dtype).mean((0, 2))


# %% wrong pointing_accuracy any_of_the_largest
# With equal weights, you count a hit for each of them: only the first one counts as the largest.
def pointing_accuracy(weights: Tensor, targets: Tensor) -> Tensor:
    valid = targets >= 0
    at = targets.clamp(min=0)[:, None, :, None].expand(-1, weights.shape[1], -1, 1)
    hits = (weights.gather(-1, at)[..., 0] >= weights.amax(-1)) & valid[:, None]
    return hits.sum((0, 2)).to(weights.dtype) / valid.sum().clamp(min=1)


# %% wrong pointing_accuracy smallest_weight of="solution"
# You take the smallest weight: a head points where its weight is largest.
# replace: weights.argmax(-1)
# by:      weights.argmin(-1)


# %% wrong pointing_accuracy in_percent of="solution"
# You return percent: a share is a number from 0 to 1.
# replace: return hits
# by:      return 100 * hits


# %% wrong pointing_accuracy single_precision of="solution"
# Your shares are float32: the result keeps the dtype of the weights.
# replace: .to(weights.dtype)
# by:      .float()


# %% wrong pointing_accuracy last_of_equal of="solution"
# Of equal weights, you take the last one: the first one counts as the largest.
# replace: hits = (weights.argmax(-1) == targets[:, None]) & counted[:, None]
# by:      last = weights.shape[-1] - 1 - weights.flip(-1).argmax(-1)
#          hits = (last == targets[:, None]) & counted[:, None]


# %% wrong pointing_accuracy shared_by_heads of="solution"
# You divide by the queries of all heads: each head has the queries with a target to itself.
# replace: counted.sum().clamp(min=1)
# by:      (counted.sum().clamp(min=1) * weights.shape[1])


# %% wrong pointing_accuracy largest_of_the_target
# You ask which query gives the target the most: ask which key gets the most of the query.
def pointing_accuracy(weights: Tensor, targets: Tensor) -> Tensor:
    valid, best = targets >= 0, weights.argmax(2)
    asks = best.gather(2, targets.clamp(min=0)[:, None].expand(-1, weights.shape[1], -1))
    hits = (asks == torch.arange(targets.shape[1])) & valid[:, None]
    return hits.sum((0, 2)).to(weights.dtype) / valid.sum().clamp(min=1)


# %% right pointing_accuracy by_selection
def pointing_accuracy(weights: Tensor, targets: Tensor) -> Tensor:
    valid = targets >= 0
    if not valid.any():
        return torch.zeros(weights.shape[1], dtype=weights.dtype)
    aimed = weights.argmax(-1).transpose(1, 2)[valid]  # (queries with a target, heads)
    return (aimed == targets[valid][:, None]).to(weights.dtype).mean(0)


# %% right pointing_accuracy by_loops
def pointing_accuracy(weights: Tensor, targets: Tensor) -> Tensor:
    hits, total = [0] * weights.shape[1], 0
    for sentence, aims in enumerate(targets.tolist()):
        for query, key in enumerate(aims):
            if key == -1:
                continue
            total += 1
            for head in range(len(hits)):
                hits[head] += int(weights[sentence, head, query].argmax()) == key
    return torch.tensor([one / max(total, 1) for one in hits], dtype=weights.dtype)


# %% right pointing_accuracy by_max
def pointing_accuracy(weights: Tensor, targets: Tensor) -> Tensor:
    best = weights.max(dim=3).indices
    hits = (best == targets.unsqueeze(1)).masked_fill((targets < 0).unsqueeze(1), False)
    total = max(int((targets != -1).sum()), 1)
    return hits.to(weights).sum(dim=(0, 2)) / total


# %% right pointing_accuracy never_equal_to_minus_1
def pointing_accuracy(weights: Tensor, targets: Tensor) -> Tensor:
    hits = (weights.argmax(-1) == targets[:, None]).transpose(0, 1).flatten(1)
    total = torch.count_nonzero(targets + 1)
    return hits.sum(1).to(weights.dtype) / (total if total else 1)


# %% right pointing_accuracy by_einsum
def pointing_accuracy(weights: Tensor, targets: Tensor) -> Tensor:
    one_hot = F.one_hot(weights.argmax(-1), weights.shape[-1]).to(weights.dtype)
    wanted = F.one_hot(targets.clamp(min=0), weights.shape[-1]).to(weights.dtype)
    wanted = wanted * (targets >= 0)[..., None]
    total = wanted.sum()
    return torch.einsum("bhqk,bqk->h", one_hot, wanted) / torch.where(total > 0, total, 1.0)


# %% wrong neighbour_targets round_the_corner
# You go round the corner: the first word of a sentence has no left neighbour.
def neighbour_targets(lengths: Tensor, max_length: int, offset: int) -> Tensor:
    queries = torch.arange(max_length).expand(len(lengths), -1)
    ends = lengths[:, None]
    return torch.where(queries < ends, (queries + offset) % ends, -1)


# %% wrong neighbour_targets padding_has_targets of="solution"
# You give targets to padding: a query behind the end of the sentence has none.
# replace: (queries < ends) & (keys < ends) & (keys >= 0)
# by:      (keys < ends) & (keys >= 0)


# %% wrong neighbour_targets into_padding of="solution"
# You point into padding: the key must be inside the sentence, too.
# replace: (queries < ends) & (keys < ends) & (keys >= 0)
# by:      (queries < ends) & (keys < max_length) & (keys >= 0)


# %% wrong neighbour_targets ignores_lengths of="solution"
# You ignore the lengths: padding is no neighbour, and has none.
# replace: (queries < ends) & (keys < ends) & (keys >= 0)
# by:      (keys < max_length) & (keys >= 0)


# %% wrong neighbour_targets negative_stays of="solution"
# You return positions below -1: what is in front of the sentence is -1.
# replace: (queries < ends) & (keys < ends) & (keys >= 0)
# by:      (queries < ends) & (keys < ends)


# %% wrong neighbour_targets offset_reversed of="solution"
# Your offset -1 goes to the right: it is the left neighbour, i - 1.
# replace: queries + offset
# by:      queries - offset


# %% wrong neighbour_targets clamped of="solution"
# You clamp to the ends of the sentence: a word without such a neighbour has the target -1.
# replace: inside = (queries < ends) & (keys < ends) & (keys >= 0)
#          return torch.where(inside, keys, -1)
# by:      return torch.where(queries < ends, torch.minimum(keys, ends - 1).clamp(min=0), -1)


# %% wrong neighbour_targets first_position_lost of="solution"
# You leave out the key 0: it is a position of the sentence.
# replace: (keys >= 0)
# by:      (keys > 0)


# %% wrong neighbour_targets one_too_far of="solution"
# You allow the key `length`: the last position of a sentence is length - 1.
# replace: (keys < ends)
# by:      (keys <= ends)


# %% wrong neighbour_targets query_one_too_far of="solution"
# You give a target to position `length`: the last position of a sentence is length - 1.
# replace: (queries < ends)
# by:      (queries <= ends)


# %% wrong neighbour_targets zero_for_none of="solution"
# You write 0 where there is no target: 0 is the first word; no target is -1.
# replace: torch.where(inside, keys, -1)
# by:      torch.where(inside, keys, 0)


# %% wrong neighbour_targets offsets_not_positions of="solution"
# You return the offset: the target is a position, i + offset.
# replace: torch.where(inside, keys, -1)
# by:      torch.where(inside, torch.full_like(keys, offset), -1)


# %% wrong neighbour_targets floats of="solution"
# Your targets are not int64: they are positions, and positions are indices.
# replace: torch.where(inside, keys, -1)
# by:      torch.where(inside, keys, -1).float()


# %% wrong neighbour_targets always_one_step of="solution"
# You always go one step: the offset may be larger.
# replace: queries + offset
# by:      queries + (1 if offset > 0 else -1 if offset < 0 else 0)


# %% wrong neighbour_targets one_length_for_all of="solution"
# You use the longest sentence's length for all: each sentence has its own.
# replace: lengths[:, None]
# by:      lengths.max()


# %% wrong neighbour_targets always_left of="solution"
# You always go to the left: the offset has a sign.
# replace: queries + offset
# by:      queries - abs(offset)


# %% wrong neighbour_targets cut_at_the_longest
# You return only as many positions as the longest sentence has: there are max_length of them.
def neighbour_targets(lengths: Tensor, max_length: int, offset: int) -> Tensor:
    longest = int(lengths.max())
    queries = torch.arange(longest).expand(len(lengths), -1)
    keys = queries + offset
    inside = (queries < lengths[:, None]) & (keys >= 0) & (keys < lengths[:, None])
    return torch.where(inside, keys, -1)


# %% wrong neighbour_targets rolled
# You roll: what falls out at one end comes in at the other. Set it to -1.
def neighbour_targets(lengths: Tensor, max_length: int, offset: int) -> Tensor:
    positions = torch.arange(max_length).roll(-offset).expand(len(lengths), -1)
    real = torch.arange(max_length) < lengths[:, None]
    return torch.where(real & (positions < lengths[:, None]), positions, -1)


# %% wrong neighbour_targets sign_dropped of="solution"
# Your offset -1 goes to the right: it is the left neighbour, i - 1.
# replace: queries + offset
# by:      queries + abs(offset)


# %% right neighbour_targets masked_fill
def neighbour_targets(lengths: Tensor, max_length: int, offset: int) -> Tensor:
    i = torch.arange(max_length).repeat(lengths.numel(), 1)
    j = i + offset
    outside = (i >= lengths.unsqueeze(1)) | (j >= lengths.unsqueeze(1)) | (j < 0)
    return j.masked_fill(outside, -1)


# %% right neighbour_targets by_slices
def neighbour_targets(lengths: Tensor, max_length: int, offset: int) -> Tensor:
    targets = torch.full((len(lengths), max_length), -1)
    for row, length in enumerate(lengths.tolist()):
        first, last = max(0, -offset), min(length, length - offset)
        if first < last:
            targets[row, first:last] = torch.arange(first + offset, last + offset)
    return targets


# %% right neighbour_targets by_loops
def neighbour_targets(lengths: Tensor, max_length: int, offset: int) -> Tensor:
    rows = []
    for length in lengths.tolist():
        row = []
        for i in range(max_length):
            inside = i < length and 0 <= i + offset < length
            row.append(i + offset if inside else -1)
        rows.append(row)
    return torch.tensor(rows)


# %% right neighbour_targets by_arithmetic
def neighbour_targets(lengths: Tensor, max_length: int, offset: int) -> Tensor:
    i = torch.arange(max_length)[None]
    real = (i < lengths[:, None]).long()
    there = ((i + offset >= 0) & (i + offset < lengths[:, None])).long()
    return (i + offset + 1) * real * there - 1


# %% right neighbour_targets in_place
def neighbour_targets(lengths: Tensor, max_length: int, offset: int) -> Tensor:
    found = torch.arange(offset, max_length + offset).repeat(len(lengths), 1)
    n = lengths.view(-1, 1)
    found[(found < 0) | (found >= n) | (torch.arange(max_length) >= n)] = -1
    return found


# %% wrong rarest_targets padding_searched of="solution"
# You search the padding, too: only the words of the sentence count.
# replace: .masked_fill(~real, torch.inf)
# by:


# %% wrong rarest_targets padding_has_targets of="solution"
# You give padding a target: it has none, -1.
# replace: return torch.where(real, rarity.argmin(1, keepdim=True), -1)
# by:      return rarity.argmin(1, keepdim=True).repeat(1, tokens.shape[1])


# %% wrong rarest_targets most_frequent of="solution"
# You point to the most frequent word: the rarest has the smallest count.
# replace: .masked_fill(~real, torch.inf)
# by:      .masked_fill(~real, -torch.inf)
# replace: rarity.argmin(1, keepdim=True)
# by:      rarity.argmax(1, keepdim=True)


# %% wrong rarest_targets last_of_equal of="solution"
# Of equal counts, you take the last position: it should be the first.
# replace: rarity.argmin(1, keepdim=True)
# by:      (tokens.shape[1] - 1 - rarity.flip(1).argmin(1, keepdim=True))


# %% wrong rarest_targets smallest_token of="solution"
# You compare the tokens: compare how often they occur, counts[tokens].
# replace: counts[tokens].double()
# by:      tokens.double()


# %% wrong rarest_targets token_returned of="solution"
# You return the token: the target is its position in the sentence.
# replace: rarity.argmin(1, keepdim=True)
# by:      tokens.gather(1, rarity.argmin(1, keepdim=True))


# %% wrong rarest_targets token_0_is_padding of="solution"
# You take token 0 for padding: the lengths say what is padding, and token 0 may be a word.
# replace: torch.arange(tokens.shape[1]) < lengths[:, None]
# by:      tokens != 0


# %% wrong rarest_targets within_the_sentence
# You count within the sentence: `counts` says how often a word occurs in the language.
def rarest_targets(tokens: Tensor, counts: Tensor, lengths: Tensor) -> Tensor:
    real = torch.arange(tokens.shape[1]) < lengths[:, None]
    here = (tokens[:, :, None] == tokens[:, None]).logical_and(real[:, None]).sum(-1)
    rarity = here.double().masked_fill(~real, torch.inf)
    return torch.where(real, rarity.argmin(1, keepdim=True), -1)


# %% wrong rarest_targets zero_counts_left_out of="solution"
# You leave out words with the count 0: they are the rarest of all.
# replace: rarity = counts[tokens].double().masked_fill(~real, torch.inf)
# by:      rarity = counts[tokens].double().masked_fill(~real, torch.inf)
#          rarity = rarity.masked_fill(rarity == 0, 1e300)


# %% wrong rarest_targets itself_excluded
# You give the rarest word no target: it points to itself.
def rarest_targets(tokens: Tensor, counts: Tensor, lengths: Tensor) -> Tensor:
    positions = torch.arange(tokens.shape[1])
    real = positions < lengths[:, None]
    rarity = counts[tokens].double().masked_fill(~real, torch.inf)
    best = rarity.argmin(1, keepdim=True)
    return torch.where(real & (positions != best), best, -1)


# %% wrong rarest_targets one_for_each_sentence of="solution"
# You return one position for each sentence: give it to each of its words.
# replace: return torch.where(real, rarity.argmin(1, keepdim=True), -1)
# by:      return rarity.argmin(1)


# %% wrong rarest_targets large_padding of="solution"
# You put 1000 in place of padding: real counts may be larger. Use infinity.
# replace: torch.inf
# by:      1000.0


# %% wrong rarest_targets single_precision of="solution"
# You compare in float32: large counts that differ become equal.
# replace: .double()
# by:      .float()


# %% wrong rarest_targets floats of="solution"
# Your targets are not int64: they are positions, and positions are indices.
# replace: return torch.where(real, rarity.argmin(1, keepdim=True), -1)
# by:      return torch.where(real, rarity.argmin(1, keepdim=True), -1).double()


# %% wrong rarest_targets zero_for_none of="solution"
# You write 0 at padding: 0 is the first word; no target is -1.
# replace: return torch.where(real, rarity.argmin(1, keepdim=True), -1)
# by:      return torch.where(real, rarity.argmin(1, keepdim=True), 0)


# %% wrong rarest_targets first_length_for_all of="solution"
# You use one length for all sentences: each has its own.
# replace: lengths[:, None]
# by:      lengths[0]


# %% wrong rarest_targets rarest_of_the_batch
# You give all sentences the same position: each has its own rarest word.
def rarest_targets(tokens: Tensor, counts: Tensor, lengths: Tensor) -> Tensor:
    real = torch.arange(tokens.shape[1]) < lengths[:, None]
    rarity = counts[tokens].double().masked_fill(~real, torch.inf)
    best = rarity.amin(0).argmin()
    return torch.where(real, best, -1)


# %% wrong rarest_targets word_before of="solution"
# You are off by one: positions are counted from 0.
# replace: rarity.argmin(1, keepdim=True)
# by:      (rarity.argmin(1, keepdim=True) + 1)


# %% wrong rarest_targets last_word_left_out of="solution"
# You leave out the last word of each sentence.
# replace: rarity = counts[tokens].double().masked_fill(~real, torch.inf)
# by:      searched = torch.arange(tokens.shape[1]) < (lengths[:, None] - 1).clamp(min=1)
#          rarity = counts[tokens].double().masked_fill(~searched, torch.inf)


# %% right rarest_targets by_loops
def rarest_targets(tokens: Tensor, counts: Tensor, lengths: Tensor) -> Tensor:
    targets = torch.full_like(tokens, -1)
    for row, length in enumerate(lengths.tolist()):
        targets[row, :length] = counts[tokens[row, :length]].argmin()
    return targets


# %% right rarest_targets with_the_largest_count
def rarest_targets(tokens: Tensor, counts: Tensor, lengths: Tensor) -> Tensor:
    padded = torch.arange(tokens.shape[1])[None] >= lengths[:, None]
    rarity = counts[tokens].masked_fill(padded, counts.max() + 1)
    best = rarity.min(1).indices
    return best[:, None].expand_as(tokens).masked_fill(padded, -1)


# %% right rarest_targets sorted_stably
def rarest_targets(tokens: Tensor, counts: Tensor, lengths: Tensor) -> Tensor:
    real = torch.arange(tokens.shape[1]) < lengths[:, None]
    rarity = counts[tokens].double().where(real, float("inf"))
    first = rarity.sort(dim=1, stable=True).indices[:, :1]
    return first.repeat(1, tokens.shape[1]).where(real, -1)


# %% right rarest_targets plain_python
def rarest_targets(tokens: Tensor, counts: Tensor, lengths: Tensor) -> Tensor:
    rows, often = [], counts.tolist()
    for sentence, length in zip(tokens.tolist(), lengths.tolist(), strict=True):
        best = min(range(length), key=lambda i: often[sentence[i]])
        rows.append([best] * length + [-1] * (len(sentence) - length))
    return torch.tensor(rows)


# %% wrong offset_baseline mean_of_sentences
# You choose the best offset of each sentence: one offset should serve all sentences.
def offset_baseline(targets: Tensor) -> float:
    shares = []
    for row in targets.tolist():
        found = [to - i for i, to in enumerate(row) if to >= 0]
        if found:
            shares.append(max(map(found.count, found)) / len(found))
    return sum(shares) / len(shares) if shares else 0.0


# %% wrong offset_baseline share_of_each_sentence_averaged
# You average the shares of the sentences: pool the queries of all sentences.
from collections import Counter


def offset_baseline(targets: Tensor) -> float:
    shares: Counter[int] = Counter()
    rows = [[to - i for i, to in enumerate(row) if to >= 0] for row in targets.tolist()]
    rows = [row for row in rows if row]
    for row in rows:
        for offset in row:
            shares[offset] += 1 / len(row) / len(rows)
    return max(shares.values(), default=0.0)


# %% wrong offset_baseline all_queries_divide of="solution"
# You divide by all queries: those without a target don't count.
# replace: .max().item() / len(steps)
# by:      .max().item() / targets.numel()


# %% wrong offset_baseline no_target_has_an_offset of="solution"
# You take -1 for a position: a query without a target has no offset.
# replace: [targets >= 0]
# by:      [targets >= -1]


# %% wrong offset_baseline positions_not_offsets of="solution"
# You count positions: an offset is the target minus the position of the query.
# replace: (targets - torch.arange(targets.shape[1]))
# by:      targets


# %% wrong offset_baseline distance of="solution"
# You count distances: one to the left and one to the right are two offsets.
# replace: (targets - torch.arange(targets.shape[1]))
# by:      (targets - torch.arange(targets.shape[1])).abs()


# %% wrong offset_baseline left_only of="solution"
# You count offsets to the left only: the best offset may have any sign.
# replace: steps = (targets - torch.arange(targets.shape[1]))[targets >= 0]
# by:      steps = (targets - torch.arange(targets.shape[1]))[targets >= 0]
#          steps = steps[steps < 0]


# %% wrong offset_baseline left_offsets_among_all
# You try offsets to the left only: the best offset may have any sign.
def offset_baseline(targets: Tensor) -> float:
    found = [to - i for row in targets.tolist() for i, to in enumerate(row) if to >= 0]
    return max((found.count(o) for o in found if o < 0), default=0) / max(len(found), 1)


# %% wrong offset_baseline without_itself of="solution"
# You leave out the offset 0: a query may point to itself.
# replace: steps = (targets - torch.arange(targets.shape[1]))[targets >= 0]
# by:      steps = (targets - torch.arange(targets.shape[1]))[targets >= 0]
#          steps = steps[steps != 0]


# %% wrong offset_baseline zero_never_best
# You leave out the offset 0: a query may point to itself.
def offset_baseline(targets: Tensor) -> float:
    found = [to - i for row in targets.tolist() for i, to in enumerate(row) if to >= 0]
    return max((found.count(o) for o in found if o != 0), default=0) / max(len(found), 1)


# %% wrong offset_baseline only_near
# You try near offsets only: the best one may be further away.
def offset_baseline(targets: Tensor) -> float:
    found = [to - i for row in targets.tolist() for i, to in enumerate(row) if to >= 0]
    return max(found.count(offset) for offset in (-1, 0, 1)) / max(len(found), 1)


# %% wrong offset_baseline count_returned of="solution"
# You return how often the best offset occurs: divide by the number of targets.
# replace:  / len(steps)
# by:


# %% wrong offset_baseline offset_returned
# You return the best offset: return the share that it hits.
from collections import Counter


def offset_baseline(targets: Tensor) -> float:
    found = [to - i for row in targets.tolist() for i, to in enumerate(row) if to >= 0]
    return float(Counter(found).most_common(1)[0][0]) if found else 0.0


# %% wrong offset_baseline nan_without_targets
# You divide by 0: without any target, the share is 0.
def offset_baseline(targets: Tensor) -> float:
    found = [to - i for row in targets.tolist() for i, to in enumerate(row) if to >= 0]
    return max((found.count(o) for o in found), default=0) / len(found)


# %% wrong offset_baseline one_without_targets of="solution"
# Without any target, you return 1: the share is 0.
# replace: return 0.0
# by:      return 1.0


# %% wrong offset_baseline mean_offset
# You round the mean offset: the most frequent one may be another.
def offset_baseline(targets: Tensor) -> float:
    steps = (targets - torch.arange(targets.shape[1]))[targets >= 0].double()
    return (steps == steps.mean().round()).double().mean().item() if len(steps) else 0.0


# %% wrong offset_baseline median_offset
# You take the median offset: the most frequent one may be another.
def offset_baseline(targets: Tensor) -> float:
    steps = (targets - torch.arange(targets.shape[1]))[targets >= 0]
    return (steps == steps.median()).double().mean().item() if len(steps) else 0.0


# %% wrong offset_baseline least_frequent of="solution"
# You take the rarest offset: the best one hits most.
# replace: .max().item()
# by:      .min().item()


# %% wrong offset_baseline share_of_offsets of="solution"
# You divide by the number of different offsets: divide by the number of targets.
# replace:  / len(steps)
# by:       / len(steps.unique())


# %% wrong offset_baseline first_sentence_chooses
# You choose the offset by the first sentence: it should serve all sentences best.
from collections import Counter


def offset_baseline(targets: Tensor) -> float:
    found = [to - i for row in targets.tolist() for i, to in enumerate(row) if to >= 0]
    first = [to - i for i, to in enumerate(targets[0].tolist()) if to >= 0] or [0]
    return found.count(Counter(first).most_common(1)[0][0]) / max(len(found), 1)


# %% wrong offset_baseline key_0_ignored of="solution"
# You leave out the targets at key 0: only -1 means no target.
# replace: [targets >= 0]
# by:      [targets > 0]


# %% wrong offset_baseline best_of_each_sentence
# You let each sentence choose its own offset: one offset serves all sentences.
def offset_baseline(targets: Tensor) -> float:
    hits = total = 0
    for row in targets.tolist():
        found = [to - i for i, to in enumerate(row) if to >= 0]
        hits += max(map(found.count, found), default=0)
        total += len(found)
    return hits / max(total, 1)


# %% wrong offset_baseline positions_run_on
# You number the queries of all sentences on: each sentence begins at position 0.
def offset_baseline(targets: Tensor) -> float:
    found = [to - i for i, to in enumerate(targets.flatten().tolist()) if to >= 0]
    return max(map(found.count, found), default=0) / max(len(found), 1)


# %% wrong offset_baseline up_to_eight
# You try the offsets from -8 to 8 only: the best one may be further away.
def offset_baseline(targets: Tensor) -> float:
    found = [to - i for row in targets.tolist() for i, to in enumerate(row) if to >= 0]
    return max(found.count(offset) for offset in range(-8, 9)) / max(len(found), 1)


# %% right offset_baseline counter
from collections import Counter


def offset_baseline(targets: Tensor) -> float:
    offsets = Counter(
        key - query for row in targets.tolist() for query, key in enumerate(row) if key != -1
    )
    return max(offsets.values()) / offsets.total() if offsets else 0.0


# %% right offset_baseline every_offset
def offset_baseline(targets: Tensor) -> float:
    valid = targets >= 0
    total, best = int(valid.sum()), 0
    far = int(targets.max()) + targets.shape[1] + 1
    for offset in range(-far, far + 1):
        at = torch.arange(targets.shape[1]) + offset
        best = max(best, int(((targets == at) & valid).sum()))
    return best / total if total else 0.0


# %% right offset_baseline bincount
def offset_baseline(targets: Tensor) -> float:
    valid = targets != -1
    if not valid.any():
        return 0.0
    shifted = (targets + targets.shape[1] - torch.arange(targets.shape[1]))[valid]
    return float(shifted.bincount().max()) / float(valid.sum())


# %% right offset_baseline mode
def offset_baseline(targets: Tensor) -> float:
    query = torch.arange(targets.shape[1]).expand_as(targets)
    steps = targets[targets >= 0] - query[targets >= 0]
    if steps.numel() == 0:
        return 0.0
    return (steps == steps.mode().values).double().mean().item()


# %% right offset_baseline by_neighbours
def offset_baseline(targets: Tensor) -> float:
    total = (targets >= 0).sum().item()
    steps = (targets - torch.arange(targets.shape[1])).masked_fill(targets < 0, 10**9)
    return max(
        (((steps == one).sum().item() / total) for one in steps.unique() if one != 10**9),
        default=0.0,
    )


# %% wrong gate_heads rows of="solution"
# You gate the rows: each head has columns of the output projection.
# replace: return w_output * gates.repeat_interleave(columns // count)
# by:      rows = gates.repeat_interleave(-(-len(w_output) // count))[: len(w_output)]
#          return w_output * rows[:, None]


# %% wrong gate_heads interleaved of="solution"
# Your heads alternate: the columns of one head are neighbours.
# replace: gates.repeat_interleave(columns // count)
# by:      gates.repeat(columns // count)


# %% wrong gate_heads in_place of="solution"
# You change the given weight: return a new tensor.
# replace: return w_output * gates.repeat_interleave(columns // count)
# by:      factors = gates.repeat_interleave(columns // count)
#          w_output.data *= factors.detach()
#          return w_output * 1.0


# %% wrong gate_heads gates_detached of="solution"
# Not every gate gets its gradient: multiply by the gates as they are, one of 0 included.
# replace: gates.repeat_interleave
# by:      gates.detach().repeat_interleave


# %% wrong gate_heads weight_detached of="solution"
# No gradient reaches the weight.
# replace: return w_output *
# by:      return w_output.detach() *


# %% wrong gate_heads list_of_numbers of="solution"
# Not every gate gets its gradient: multiply by the gates as they are, one of 0 included.
# replace: return w_output * gates.repeat_interleave(columns // count)
# by:      size, scaled = columns // count, w_output.clone()
#          for head, gate in enumerate(gates.tolist()):
#              scaled[:, head * size : (head + 1) * size] = (
#                  w_output[:, head * size : (head + 1) * size] * gate
#              )
#          return scaled


# %% wrong gate_heads cut_out of="solution"
# You cut out the shut heads: a gate of 0 leaves columns of zeros.
# replace: return w_output * gates.repeat_interleave(columns // count)
# by:      factors = gates.repeat_interleave(columns // count)
#          return (w_output * factors)[:, factors != 0]


# %% wrong gate_heads open_or_shut of="solution"
# You only tell open from shut: a gate may be any number.
# replace: gates.repeat_interleave
# by:      (gates > 0).to(gates).repeat_interleave


# %% wrong gate_heads rounded of="solution"
# You round the gates: a gate may be any number, and needs a gradient.
# replace: gates.repeat_interleave
# by:      gates.round().repeat_interleave


# %% wrong gate_heads zeros_only of="solution"
# You only write zeros: a gate may be any number.
# replace: return w_output * gates.repeat_interleave(columns // count)
# by:      return w_output.masked_fill(gates.repeat_interleave(columns // count) == 0, 0.0)


# %% wrong gate_heads one_column of="solution"
# You gate one column for each head: a head has several.
# replace: gates.repeat_interleave(columns // count)
# by:      F.pad(gates, (0, columns - count), value=1.0)


# %% wrong gate_heads reversed of="solution"
# Your gates come backwards: gate 0 belongs to the first columns.
# replace: gates.repeat_interleave
# by:      gates.flip(0).repeat_interleave


# %% wrong gate_heads normalised of="solution"
# You divide by the sum of the gates: they are factors as they are.
# replace: gates.repeat_interleave
# by:      (gates * count / gates.sum()).repeat_interleave


# %% wrong gate_heads one_minus of="solution"
# You turn the gates over: 1 leaves a head open.
# replace: gates.repeat_interleave
# by:      (1 - gates).repeat_interleave


# %% wrong gate_heads clamped of="solution"
# You clamp the gates to 0 … 1: multiply by them as they are.
# replace: gates.repeat_interleave
# by:      gates.clamp(0, 1).repeat_interleave


# %% wrong gate_heads heads_added of="solution"
# You add up the columns of a head: keep them all.
# replace: return w_output * gates.repeat_interleave(columns // count)
# by:      return w_output.unflatten(1, (count, -1)).sum(-1) * gates


# %% wrong gate_heads axis_of_heads_kept of="solution"
# You keep an axis of heads: return a matrix like w_output.
# replace: return w_output * gates.repeat_interleave(columns // count)
# by:      return w_output.unflatten(1, (count, -1)) * gates[:, None]


# %% wrong gate_heads single_precision of="solution"
# You convert to float32: the result keeps the dtype of w_output.
# replace: return w_output *
# by:      return w_output.float() *


# %% wrong gate_heads square of="solution"
# You take the number of rows for the number of columns: the matrix need not be square.
# replace: columns, count = w_output.shape[1], len(gates)
# by:      columns, count = len(w_output), len(gates)


# %% wrong gate_heads rest_ungated of="solution"
# You accept gates that don't divide the columns: raise a ValueError.
# replace: if columns % count:
#              raise ValueError(f"{columns} columns cannot be shared by {count} gates")
# by:
# replace: return w_output * gates.repeat_interleave(columns // count)
# by:      factors = gates.repeat_interleave(columns // count)
#          return w_output * F.pad(factors, (0, columns - len(factors)), value=1.0)


# %% wrong gate_heads left_to_torch of="solution"
# You leave the refusal to torch, whose RuntimeError names other numbers: raise a ValueError
# yourself.
# replace: if columns % count:
#              raise ValueError(f"{columns} columns cannot be shared by {count} gates")
# by:


# %% wrong gate_heads no_numbers of="solution"
# Your message does not name the number of columns.
# replace: f"{columns} columns cannot be shared by {count} gates"
# by:      "the gates do not fit"


# %% wrong gate_heads gates_alone_named of="solution"
# Your message does not name the number of columns.
# replace: f"{columns} columns cannot be shared by {count} gates"
# by:      f"{count} gates do not fit"


# %% wrong gate_heads columns_alone_named of="solution"
# Your message does not name the number of gates.
# replace: f"{columns} columns cannot be shared by {count} gates"
# by:      f"{columns} columns cannot be shared"


# %% wrong gate_heads asserted of="solution"
# You assert: raise a ValueError, whose message names both numbers.
# replace: if columns % count:
#              raise ValueError(f"{columns} columns cannot be shared by {count} gates")
# by:      assert columns % count == 0, f"{columns} {count}"


# %% wrong gate_heads zeros_filled of="solution"
# Not every gate gets its gradient: multiply by the gates as they are, one of 0 included.
# replace: return w_output * gates.repeat_interleave(columns // count)
# by:      factors = gates.repeat_interleave(columns // count)
#          return (w_output * factors).masked_fill(factors == 0, 0.0)


# %% wrong gate_heads unchanged_when_open of="solution"
# You return the given weight itself if all gates are 1: then no gate has a gradient.
# replace: return w_output * gates.repeat_interleave(columns // count)
# by:      if (gates == 1).all():
#              return w_output
#          return w_output * gates.repeat_interleave(columns // count)


# %% right gate_heads unflattened of="solution"
# replace: return w_output * gates.repeat_interleave(columns // count)
# by:      return (w_output.unflatten(1, (count, -1)) * gates[:, None]).flatten(1)


# %% right gate_heads chunks of="solution"
# replace: return w_output * gates.repeat_interleave(columns // count)
# by:      parts = zip(w_output.chunk(count, dim=1), gates, strict=True)
#          return torch.cat([part * gate for part, gate in parts], dim=1)


# %% right gate_heads diagonal of="solution"
# replace: return w_output * gates.repeat_interleave(columns // count)
# by:      return w_output @ torch.diag(gates.repeat_interleave(columns // count))


# %% right gate_heads einsum
def gate_heads(w_output: Tensor, gates: Tensor) -> Tensor:
    rows, width = w_output.shape
    heads = gates.numel()
    if width / heads != width // heads:
        raise ValueError(f"cannot split {width} columns among {heads} heads")
    blocks = w_output.reshape(rows, heads, width // heads)
    return torch.einsum("rhd,h->rhd", blocks, gates).reshape(rows, width)


# %% right gate_heads kronecker of="solution"
# replace: return w_output * gates.repeat_interleave(columns // count)
# by:      return w_output * torch.kron(gates, torch.ones(columns // count).to(gates))


# %% wrong redundancy loss_of_both
# You return the loss without both heads: compare it with the other losses.
def redundancy(loss: Callable[[Tensor], float], first: int, second: int, num_heads: int) -> float:
    gates = torch.ones(num_heads)
    gates[[first, second]] = 0.0
    return loss(gates)


# %% wrong redundancy joint_rise of="solution"
# You return the rise without both heads: subtract what each of them costs alone.
# replace: return without(first, second) - without(first) - without(second) + without()
# by:      return without(first, second) - without()


# %% wrong redundancy base_forgotten of="solution"
# You subtract losses, not rises: each rise starts from the loss with all heads open.
# replace: return without(first, second) - without(first) - without(second) + without()
# by:      return without(first, second) - without(first) - without(second)


# %% wrong redundancy base_subtracted of="solution"
# The loss with all heads has the wrong sign: it is in all three rises, once plus and twice minus.
# replace: - without(second) + without()
# by:      - without(second) - without()


# %% wrong redundancy base_twice of="solution"
# You add the loss with all heads twice: the joint rise starts from it, too.
# replace: + without()
# by:      + 2 * without()


# %% wrong redundancy sign of="solution"
# The sign is reversed: twins, which cost more together, have a positive redundancy.
# replace: return without(first, second) - without(first) - without(second) + without()
# by:      return without(first) + without(second) - without(first, second) - without()


# %% wrong redundancy absolute of="solution"
# You drop the sign: heads may cost less together than alone.
# replace: return without(first, second) - without(first) - without(second) + without()
# by:      return abs(without(first, second) - without(first) - without(second) + without())


# %% wrong redundancy never_negative of="solution"
# You cut at 0: heads may cost less together than alone.
# replace: return without(first, second) - without(first) - without(second) + without()
# by:      return max(0.0, without(first, second) - without(first) - without(second) + without())


# %% wrong redundancy larger_single_rise of="solution"
# You subtract only the larger of the two single rises: subtract both.
# replace: - without(first) - without(second) + without()
# by:      - max(without(first), without(second))


# %% wrong redundancy mean_of_single_rises of="solution"
# You subtract the mean of the two single rises: subtract their sum.
# replace: - without(first) - without(second) + without()
# by:      - (without(first) + without(second)) / 2


# %% wrong redundancy ratio of="solution"
# You divide: the redundancy is a difference of losses.
# replace: return without(first, second) - without(first) - without(second) + without()
# by:      together = without(first, second) - without()
#          return together / max(without(first) + without(second) - 2 * without(), 1e-9)


# %% wrong redundancy only_first of="solution"
# You forget the rise without the second head.
# replace: - without(first) - without(second) + without()
# by:      - without(first)


# %% wrong redundancy only_these_open of="solution"
# You open only these heads: all others stay open, and these are shut.
# replace: state = torch.ones(num_heads)
#          state[list(shut)] = 0.0
# by:      state = torch.zeros(num_heads)
#          state[list(shut)] = 1.0


# %% wrong redundancy one_tensor
# You go on with the same gates: open the first head again before you shut the second alone.
def redundancy(loss: Callable[[Tensor], float], first: int, second: int, num_heads: int) -> float:
    gates = torch.ones(num_heads)
    whole = loss(gates.clone())
    gates[first] = 0.0
    without_first = loss(gates.clone())
    gates[second] = 0.0
    both = loss(gates.clone())
    return both - without_first - loss(gates.clone()) + whole


# %% wrong redundancy second_after_first
# You compare with the rise after the first head only: each head is also shut alone.
def redundancy(loss: Callable[[Tensor], float], first: int, second: int, num_heads: int) -> float:
    gates = torch.ones(num_heads)
    whole = loss(gates.clone())
    gates[first] = 0.0
    without_first = loss(gates.clone())
    gates[second] = 0.0
    return loss(gates.clone()) - 2 * without_first + whole


# %% wrong redundancy heads_from_1 of="solution"
# You count heads from 1: they are counted from 0.
# replace: state[list(shut)] = 0.0
# by:      state[[head - 1 for head in shut]] = 0.0


# %% wrong redundancy bool_gates of="solution"
# You hand over booleans: the gates are floats.
# replace: state = torch.ones(num_heads)
#          state[list(shut)] = 0.0
# by:      state = torch.ones(num_heads, dtype=torch.bool)
#          state[list(shut)] = False


# %% wrong redundancy whole_numbers of="solution"
# You hand over whole numbers: the gates are floats.
# replace: torch.ones(num_heads)
# by:      torch.ones(num_heads, dtype=torch.int64)


# %% wrong redundancy relative of="solution"
# You divide by the loss with all heads: the redundancy is a difference of losses.
# replace: return without(first, second) - without(first) - without(second) + without()
# by:      whole = without()
#          return (without(first, second) - without(first) - without(second)) / whole + 1


# %% wrong redundancy half_open of="solution"
# You shut the heads half: a shut head has the gate 0.
# replace: state[list(shut)] = 0.0
# by:      state[list(shut)] = 0.5


# %% wrong redundancy list_of_gates of="solution"
# Your gates are not a tensor with one number for each head.
# replace: loss(state)
# by:      loss(state.tolist())


# %% right redundancy rises
def redundancy(loss: Callable[[Tensor], float], first: int, second: int, num_heads: int) -> float:
    whole = loss(torch.ones(num_heads))
    rises = []
    for shut in ([first, second], [first], [second]):
        gates = torch.ones(num_heads)
        gates[shut] = 0.0
        rises.append(loss(gates) - whole)
    return rises[0] - rises[1] - rises[2]


# %% right redundancy signed_sum
import itertools


def redundancy(loss: Callable[[Tensor], float], first: int, second: int, num_heads: int) -> float:
    total = 0.0
    for one, other in itertools.product((0.0, 1.0), repeat=2):
        gates = torch.ones(num_heads)
        gates[first], gates[second] = one, other
        total += (1 if one == other else -1) * loss(gates)
    return total


# %% right redundancy from_lists
def redundancy(loss: Callable[[Tensor], float], first: int, second: int, num_heads: int) -> float:
    def at(shut: set[int]) -> float:
        return loss(torch.tensor([0.0 if head in shut else 1.0 for head in range(num_heads)]))

    return (at({first, second}) - at({first})) - (at({second}) - at(set()))


# %% right redundancy by_columns
def redundancy(loss: Callable[[Tensor], float], first: int, second: int, num_heads: int) -> float:
    states = torch.ones(4, num_heads, dtype=torch.float64)
    states[1::2, first] = 0
    states[2:, second] = 0
    whole, one, two, both = (float(loss(state)) for state in states)
    return math.fsum([both, -one, -two, whole])


# %% wrong pruning_order ranked_alone
# You rank each head as if it were shut alone: after a head is shut, compute the losses of all open
# heads anew, with those that are shut already.
def pruning_order(loss: Callable[[Tensor], float], num_heads: int) -> list[int]:
    damage = []
    for head in range(num_heads):
        gates = torch.ones(num_heads)
        gates[head] = 0.0
        damage.append(loss(gates))
    return sorted(range(num_heads), key=damage.__getitem__)


# %% wrong pruning_order most_important_first of="solution"
# Your costliest heads go first: take the lowest loss, where 1 is an open head and 0 a shut one.
# replace: min(losses, key=losses.__getitem__)
# by:      max(losses, key=losses.__getitem__)


# %% wrong pruning_order reversed of="solution"
# Your order is reversed: the head that is shut first comes first.
# replace: return removed
# by:      return removed[::-1]


# %% wrong pruning_order highest_of_equal of="solution"
# Of equal losses, you take the highest head: it should be the lowest.
# replace: min(losses, key=losses.__getitem__)
# by:      min(reversed(losses), key=losses.__getitem__)


# %% wrong pruning_order last_head_missing of="solution"
# You stop one head early: the list has all heads.
# replace: while len(removed) < num_heads:
# by:      while len(removed) < num_heads - 1:


# %% wrong pruning_order backward_addition
# You open heads one by one, beginning with none: begin with all, and shut them.
def pruning_order(loss: Callable[[Tensor], float], num_heads: int) -> list[int]:
    gates, added = torch.zeros(num_heads), []
    while len(added) < num_heads:
        best, lowest = -1, math.inf
        for head in range(num_heads):
            if head in added:
                continue
            trial = gates.clone()
            trial[head] = 1.0
            value = loss(trial)
            if best < 0 or value < lowest:
                best, lowest = head, value
        gates[best] = 1.0
        added.append(best)
    return added[::-1]


# %% wrong pruning_order opened_again of="solution"
# You rank each head as if it were shut alone: after a head is shut, compute the losses of all open
# heads anew, with those that are shut already.
# replace: trial = kept.clone()
# by:      trial = torch.ones(num_heads)


# %% wrong pruning_order closest_to_the_loss_now
# You shut the head that changes the loss least, in either direction: the lowest loss counts.
def pruning_order(loss: Callable[[Tensor], float], num_heads: int) -> list[int]:
    gates, removed = torch.ones(num_heads), []
    while len(removed) < num_heads:
        now, changes = loss(gates.clone()), {}
        for head in gates.nonzero().flatten().tolist():
            trial = gates.clone()
            trial[head] = 0.0
            changes[head] = abs(loss(trial) - now)
        removed.append(min(changes, key=changes.__getitem__))
        gates[removed[-1]] = 0.0
    return removed


# %% wrong pruning_order needed_alone
# You measure each head alone, with all others shut: shut one head, and leave the others open.
def pruning_order(loss: Callable[[Tensor], float], num_heads: int) -> list[int]:
    losses = []
    for head in range(num_heads):
        gates = torch.zeros(num_heads)
        gates[head] = 1.0
        losses.append(loss(gates))
    return sorted(range(num_heads), key=losses.__getitem__, reverse=True)


# %% wrong pruning_order in_order
# Your heads come in the order of their numbers: undo each trial, and take the lowest loss of all.
def pruning_order(loss: Callable[[Tensor], float], num_heads: int) -> list[int]:
    return list(range(num_heads))


# %% wrong pruning_order tensor_returned of="solution"
# You return a tensor: return a list of ints.
# replace: return removed
# by:      return torch.tensor(removed)


# %% wrong pruning_order tuple_returned of="solution"
# You return a tuple: return a list of ints.
# replace: return removed
# by:      return tuple(removed)


# %% wrong pruning_order heads_from_1 of="solution"
# You count the heads from 1: they are counted from 0.
# replace: return removed
# by:      return [head + 1 for head in removed]


# %% wrong pruning_order losses_returned of="solution"
# You return losses: return the heads.
# replace: return removed
# by:      return [float(head) + 0.5 for head in removed]


# %% wrong pruning_order bool_gates of="solution"
# You hand over booleans: the gates are floats.
# replace: losses[head] = loss(trial)
# by:      losses[head] = loss(trial.bool())


# %% wrong pruning_order whole_numbers of="solution"
# You hand over whole numbers: the gates are floats.
# replace: losses[head] = loss(trial)
# by:      losses[head] = loss(trial.long())


# %% wrong pruning_order two_at_a_time
# You shut the two cheapest heads at once: shut one, then compute all losses anew.
def pruning_order(loss: Callable[[Tensor], float], num_heads: int) -> list[int]:
    gates, removed = torch.ones(num_heads), []
    while len(removed) < num_heads:
        losses = {}
        for head in gates.nonzero().flatten().tolist():
            trial = gates.clone()
            trial[head] = 0.0
            losses[head] = loss(trial)
        for head in sorted(losses, key=losses.__getitem__)[:2]:
            gates[head] = 0.0
            removed.append(head)
    return removed


# %% wrong pruning_order best_subsets
# You search for the best set of each size: greedy pruning never opens a head again.
import itertools


def pruning_order(loss: Callable[[Tensor], float], num_heads: int) -> list[int]:
    order: list[int] = []
    before = set(range(num_heads))
    for size in range(num_heads - 1, -1, -1):
        best, lowest = None, math.inf
        for some in itertools.combinations(range(num_heads), size):
            gates = torch.zeros(num_heads)
            gates[list(some)] = 1.0
            value = loss(gates)
            if best is None or value < lowest:
                best, lowest = set(some), value
        gone = sorted(before - best)
        order.append(gone[0] if gone else -1)
        before = best
    return order


# %% wrong pruning_order first_loss_kept of="solution"
# You rank each head as if it were shut alone: after a head is shut, compute the losses of all open
# heads anew, with those that are shut already.
# replace: kept, removed = torch.ones(num_heads), []
# by:      kept, removed, known = torch.ones(num_heads), [], {}
# replace: losses[head] = loss(trial)
# by:      losses[head] = known.setdefault(head, loss(trial))


# %% wrong pruning_order one_missing_at_0 of="solution"
# You forget head 0.
# replace: for head in kept.nonzero().flatten().tolist():
# by:      for head in kept.nonzero().flatten().tolist()[1:] or kept.nonzero().flatten().tolist():


# %% wrong pruning_order trial_not_undone of="solution"
# Your heads come in the order of their numbers: undo each trial, and take the lowest loss of all.
# replace: trial = kept.clone()
# by:      trial = kept
# replace: kept[removed[-1]] = 0.0
# by:      kept = torch.ones(num_heads)
#          kept[removed] = 0.0


# %% wrong pruning_order lowest_starts_at_0 of="solution"
# Your heads come in the order of their numbers: undo each trial, and take the lowest loss of all.
# replace: removed.append(min(losses, key=losses.__getitem__))
# by:      best, lowest = int(kept.nonzero()[0]), 0.0
#          for head, value in losses.items():
#              if value < lowest:
#                  best, lowest = head, value
#          removed.append(best)


# %% wrong pruning_order one_for_shut of="solution"
# Your costliest heads go first: take the lowest loss, where 1 is an open head and 0 a shut one.
# replace: loss(trial)
# by:      loss(1 - trial)


# %% wrong pruning_order list_of_gates of="solution"
# Your gates are not a tensor with one number for each head.
# replace: loss(trial)
# by:      loss(trial.tolist())


# %% right pruning_order strict_minimum
def pruning_order(loss: Callable[[Tensor], float], num_heads: int) -> list[int]:
    still_open = list(range(num_heads))
    order = []
    while still_open:
        best, lowest = None, None
        for head in still_open:
            gates = torch.zeros(num_heads)
            gates[[one for one in still_open if one != head]] = 1.0
            value = loss(gates)
            if lowest is None or value < lowest:
                best, lowest = head, value
        still_open.remove(best)
        order.append(best)
    return order


# %% right pruning_order last_one_without_a_call
def pruning_order(loss: Callable[[Tensor], float], num_heads: int) -> list[int]:
    rest, order = set(range(num_heads)), []
    while len(rest) > 1:
        pairs = []
        for head in sorted(rest):
            gates = torch.tensor([float(i in rest and i != head) for i in range(num_heads)])
            pairs.append((loss(gates), head))
        _, shut = min(pairs)
        rest.discard(shut)
        order.append(shut)
    return order + list(rest)


# %% right pruning_order recursive
def pruning_order(loss: Callable[[Tensor], float], num_heads: int) -> list[int]:
    def rest(gates: Tensor) -> list[int]:
        heads = [i for i, gate in enumerate(gates.tolist()) if gate]
        if not heads:
            return []
        trials = [gates * (torch.arange(num_heads) != head) for head in heads]
        values = [loss(trial) for trial in trials]
        at = values.index(min(values))
        return [heads[at], *rest(trials[at])]

    return rest(torch.ones(num_heads))


# %% right pruning_order argmin
def pruning_order(loss: Callable[[Tensor], float], num_heads: int) -> list[int]:
    gates, order = torch.ones(num_heads, dtype=torch.float64), []
    for _ in range(num_heads):
        heads = [head for head in range(num_heads) if head not in order]
        values = []
        for head in heads:
            gates[head] = 0.0
            values.append(float(loss(gates)))
            gates[head] = 1.0
        shut = heads[int(torch.tensor(values, dtype=torch.float64).argmin())]
        gates[shut] = 0.0
        order.append(shut)
    return order


# %% wrong hard_concrete no_stretch of="solution"
# You do not stretch: then no gate is exactly 0 or 1.
# replace: (squashed * (high - low) + low).clamp(0, 1)
# by:      squashed


# %% wrong hard_concrete no_clip of="solution"
# Your gates are below 0 or above 1: stretch first, then clip to 0 … 1.
# replace: return (squashed * (high - low) + low).clamp(0, 1)
# by:      return squashed * (high - low) + low


# %% wrong hard_concrete clipped_first of="solution"
# Your gates are below 0 or above 1: stretch first, then clip to 0 … 1.
# replace: (squashed * (high - low) + low).clamp(0, 1)
# by:      squashed.clamp(0, 1) * (high - low) + low


# %% wrong hard_concrete clipped_to_the_stretch of="solution"
# Your gates are below 0 or above 1: stretch first, then clip to 0 … 1.
# replace: .clamp(0, 1)
# by:      .clamp(low, high)


# %% wrong hard_concrete multiplied_by_the_temperature of="solution"
# You multiply by the temperature: divide by it.
# replace: logits / temperature
# by:      logits * temperature


# %% wrong hard_concrete no_temperature of="solution"
# You leave out the temperature.
# replace: logits / temperature
# by:      logits


# %% wrong hard_concrete no_temperature_without_noise of="solution"
# Without noise you leave out the temperature, as the paper's test-time gate does: the stub divides.
# replace: squashed = torch.sigmoid(logits / temperature)
# by:      squashed = torch.sigmoid(logits / (1.0 if noise is None else temperature))


# %% wrong hard_concrete temperature_on_the_noise_alone of="solution"
# You divide only log_alpha or only the noise: the sum is divided by the temperature.
# replace: log_alpha + torch.logit(noise)
# by:      log_alpha * temperature + torch.logit(noise)


# %% wrong hard_concrete noise_undivided of="solution"
# You add the noise after the division: the sum is divided by the temperature.
# replace: log_alpha + torch.logit(noise)
# by:      log_alpha + temperature * torch.logit(noise)


# %% wrong hard_concrete noise_added of="solution"
# You add the noise itself: log(noise) - log(1 - noise) enters.
# replace: torch.logit(noise)
# by:      noise


# %% wrong hard_concrete log_of_the_noise of="solution"
# You forget - log(1 - noise).
# replace: torch.logit(noise)
# by:      noise.log()


# %% wrong hard_concrete noise_reversed of="solution"
# The noise has the wrong sign: log(noise) - log(1 - noise) is added.
# replace: log_alpha + torch.logit(noise)
# by:      log_alpha - torch.logit(noise)


# %% wrong hard_concrete alpha_for_log_alpha of="solution"
# You take the logarithm of log_alpha: it is a logarithm already.
# replace: logits = log_alpha if noise is None else log_alpha + torch.logit(noise)
# by:      log_alpha = log_alpha.abs().clamp(min=1e-9).log()
#          logits = log_alpha if noise is None else log_alpha + torch.logit(noise)


# %% wrong hard_concrete draws of="solution"
# You draw noise where none is given: without noise, nothing is random.
# replace: logits = log_alpha if noise is None else log_alpha + torch.logit(noise)
# by:      noise = torch.rand_like(log_alpha) if noise is None else noise
#          logits = log_alpha + torch.logit(noise)


# %% wrong hard_concrete noise_ignored of="solution"
# You ignore the noise.
# replace: log_alpha if noise is None else log_alpha + torch.logit(noise)
# by:      log_alpha


# %% wrong hard_concrete rounded of="solution"
# You round the gates: between 0 and 1 they keep their values and gradients.
# replace: .clamp(0, 1)
# by:      .clamp(0, 1).round()


# %% wrong hard_concrete detached of="solution"
# No gradient reaches log_alpha.
# replace: torch.sigmoid(logits / temperature)
# by:      torch.sigmoid(logits.detach() / temperature)


# %% wrong hard_concrete stretched_from_0 of="solution"
# You forget to add low: the stretched gate begins at low.
# replace: (squashed * (high - low) + low)
# by:      (squashed * (high - low))


# %% wrong hard_concrete width_is_high of="solution"
# The width of the stretch is high - low.
# replace: squashed * (high - low) + low
# by:      squashed * high + low


# %% wrong hard_concrete ends_swapped of="solution"
# You exchange low and high.
# replace: squashed * (high - low) + low
# by:      squashed * (low - high) + high


# %% wrong hard_concrete defaults_built_in of="solution"
# You built in -0.1 and 1.1: use low and high.
# replace: (squashed * (high - low) + low)
# by:      (squashed * 1.2 - 0.1)


# %% wrong hard_concrete temperature_built_in of="solution"
# You built in 0.33: use temperature.
# replace: logits / temperature
# by:      logits / 0.33


# %% wrong hard_concrete straight_through of="solution"
# You let gradients through clipped gates: a clipped gate has none.
# replace: return (squashed * (high - low) + low).clamp(0, 1)
# by:      stretched = squashed * (high - low) + low
#          return stretched + (stretched.clamp(0, 1) - stretched).detach()


# %% wrong hard_concrete softmax of="solution"
# You normalise over the gates: each gate is by itself, a sigmoid.
# replace: torch.sigmoid(logits / temperature)
# by:      torch.softmax(logits / temperature, -1)


# %% wrong hard_concrete tanh of="solution"
# You use tanh: the formula has a sigmoid.
# replace: torch.sigmoid(logits / temperature)
# by:      torch.tanh(logits / temperature)


# %% wrong hard_concrete single_precision of="solution"
# You convert to float32: the result keeps the dtype of log_alpha.
# replace: torch.sigmoid(logits / temperature)
# by:      torch.sigmoid(logits.float() / temperature)


# %% wrong hard_concrete exponentials of="solution"
# You divide exp(x) by 1 + exp(x), which is NaN for a large log α: take the sigmoid.
# replace: squashed = torch.sigmoid(logits / temperature)
# by:      large = torch.exp(logits / temperature)
#          squashed = large / (1 + large)


# %% right hard_concrete minimum_and_maximum
def hard_concrete(
    log_alpha: Tensor,
    noise: Tensor | None = None,
    temperature: float = 0.33,
    low: float = -0.1,
    high: float = 1.1,
) -> Tensor:
    if noise is None:
        noise = torch.full_like(log_alpha, 0.5).detach()
    s = torch.sigmoid((log_alpha + noise.log() - (1 - noise).log()) / temperature)
    stretched = low + (high - low) * s
    return torch.minimum(torch.ones_like(s), torch.maximum(torch.zeros_like(s), stretched))


# %% right hard_concrete hardtanh
def hard_concrete(
    log_alpha: Tensor,
    noise: Tensor | None = None,
    temperature: float = 0.33,
    low: float = -0.1,
    high: float = 1.1,
) -> Tensor:
    odds = 1.0 if noise is None else noise / (1 - noise)
    s = 1 / (1 + (torch.exp(-log_alpha) / odds) ** (1 / temperature))
    return F.hardtanh(torch.lerp(torch.full_like(s, low), torch.full_like(s, high), s), 0, 1)


# %% right hard_concrete where
def hard_concrete(
    log_alpha: Tensor,
    noise: Tensor | None = None,
    temperature: float = 0.33,
    low: float = -0.1,
    high: float = 1.1,
) -> Tensor:
    logits = log_alpha
    if noise is not None:
        logits = logits + torch.log(noise) - torch.log1p(-noise)
    gate = (high - low) * torch.sigmoid(logits / temperature) + low
    gate = torch.where(gate > 0, gate, torch.zeros_like(gate))
    return torch.where(gate < 1, gate, torch.ones_like(gate))


# %% right hard_concrete relu
def hard_concrete(
    log_alpha: Tensor,
    noise: Tensor | None = None,
    temperature: float = 0.33,
    low: float = -0.1,
    high: float = 1.1,
) -> Tensor:
    drawn = torch.zeros_like(log_alpha) if noise is None else torch.logit(noise)
    stretched = torch.sigmoid((drawn + log_alpha) / temperature) * (high - low) + low
    return 1 - F.relu(1 - F.relu(stretched))


# %% right hard_concrete half_tanh of="solution"
# replace: squashed = torch.sigmoid(logits / temperature)
# by:      squashed = (torch.tanh(logits / (2 * temperature)) + 1) / 2
