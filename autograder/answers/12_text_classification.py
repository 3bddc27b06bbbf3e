# %% given imports
# pyright: reportRedeclaration=false, reportReturnType=false, reportUnusedExpression=false
# pyright: reportArgumentType=false, reportCallIssue=false, reportIndexIssue=false
# pyright: reportAttributeAccessIssue=false, reportIncompatibleVariableOverride=false
# pyright: reportOptionalMemberAccess=false, reportOperatorIssue=false
# pyright: reportGeneralTypeIssues=false, reportUndefinedVariable=false
# pyright: reportOptionalSubscript=false, reportPossiblyUnboundVariable=false
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformer_course.checks import numbers

PADDING, CLS, SEP, MASK = range(4)
FIRST_WORD = 4


# %% base pack filled
def pack(first: list[int], second: list[int] | None, length: int) -> tuple[Tensor, Tensor]:
    row = [CLS, *first, SEP]
    end = len(row)
    if second is not None:
        row = row + second + [SEP]
    if len(row) > length:
        raise ValueError(f"the row has {len(row)} tokens, length is {length}")
    tokens = torch.zeros(length, dtype=torch.int64)
    segments = torch.zeros(length, dtype=torch.int64)
    tokens[: len(row)] = torch.tensor(row)
    segments[end : len(row)] = 1
    return tokens, segments


# %% wrong pack no_cls of="filled"
# Your row has no [CLS]: it comes first.
# replace: [CLS, *first, SEP]
# by:      [*first, SEP]

# %% wrong pack no_sep_after_first of="filled"
# Your row has no [SEP] after the first sentence: it ends each sentence.
# replace: [CLS, *first, SEP]
# by:      [CLS, *first]

# %% wrong pack no_sep_at_the_end of="filled"
# Your row has no [SEP] after the second sentence: it ends each sentence.
# replace: row + second + [SEP]
# by:      row + second

# %% wrong pack two_cls of="filled"
# You put a second [CLS] before the second sentence: a row has one.
# replace: row + second + [SEP]
# by:      [*row, CLS, *second, SEP]

# %% wrong pack cls_at_the_end of="filled"
# You put [CLS] at the end: it comes first.
# replace: [CLS, *first, SEP]
# by:      [*first, SEP]
# replace: if len(row) > length
# by:      row = [*row, CLS]
#          if len(row) > length

# %% wrong pack sep_and_cls_swapped of="filled"
# You swap [CLS] and [SEP]: [CLS] is 1, [SEP] is 2.
# replace: [CLS, *first, SEP]
# by:      [SEP, *first, CLS]
# replace: second + [SEP]
# by:      second + [CLS]

# %% wrong pack segment_from_the_first_sep of="filled"
# The [SEP] that ends the first sentence belongs to segment 0; yours has 1.
# replace: segments[end : len(row)]
# by:      segments[end - 1 : len(row)]

# %% wrong pack last_sep_in_segment_0 of="filled"
# The [SEP] that ends the second sentence belongs to segment 1; yours has 0.
# replace: segments[end : len(row)] = 1
# by:      segments[end : max(end, len(row) - 1)] = 1

# %% wrong pack padding_in_segment_1 of="filled"
# Your padding has segment 1: it has 0.
# replace: segments[end : len(row)]
# by:      segments[end:]

# %% wrong pack padding_in_segment_1_of_pairs of="filled"
# Your padding has segment 1: it has 0.
# replace: segments[end : len(row)] = 1
# by:      segments[end:] = 0 if second is None else 1

# %% wrong pack no_segments of="filled"
# Your segments are 0 everywhere: the second sentence has segment 1.
# replace: segments[end : len(row)] = 1
# by:

# %% wrong pack segments_1_and_2 of="filled"
# Your segments count from 1: they are 0 and 1.
# replace: segments[end : len(row)] = 1
# by:      segments[:end] = 1
#          segments[end : len(row)] = 2

# %% wrong pack segments_swapped of="filled"
# You swap the segments: the first sentence has 0, the second 1.
# replace: segments[end : len(row)] = 1
# by:      segments[:end] = 1

# %% wrong pack padding_of_minus_1 of="filled"
# You fill up with -1: [PAD] is 0.
# replace: tokens = torch.zeros(length, dtype=torch.int64)
# by:      tokens = torch.full((length,), -1)

# %% wrong pack padded_with_sep of="filled"
# You fill up with [SEP]: [PAD] is 0.
# replace: tokens = torch.zeros(length, dtype=torch.int64)
# by:      tokens = torch.full((length,), SEP)

# %% wrong pack padded_in_front of="filled"
# You put the padding in front: it comes at the end.
# replace: tokens[: len(row)] = torch.tensor(row)
#          segments[end : len(row)] = 1
# by:      front = length - len(row)
#          tokens[front:] = torch.tensor(row)
#          segments[front + end :] = 1

# %% wrong pack not_padded of="solution"
# Your row is as long as its tokens: fill it up to `length`.
# replace: padding = [PADDING] * (length - total)
# by:      padding = []

# %% wrong pack padding_before_second of="filled"
# You fill up the first sentence before the second one: padding comes at the end of the row.
# replace: row = row + second + [SEP]
# by:      row = row + [PADDING] * (length - len(row) - len(second) - 1) + second + [SEP]
#          end = length - len(second) - 1

# %% wrong pack cut_to_length of="filled"
# A row that is too long passes unnoticed: compare the number of all its tokens with `length`.
# replace: raise ValueError(f"the row has {len(row)} tokens, length is {length}")
# by:      row = row[:length]

# %% wrong pack never_raises of="solution"
# A row that is too long passes unnoticed: compare the number of all its tokens with `length`.
# replace: if total > length:
#              raise ValueError(f"{total} tokens do not fit into a row of length {length}")
# by:

# %% wrong pack words_counted of="filled"
# Your message should name how many tokens the row has, [CLS] and [SEP] counted, and `length`.
# replace: {len(row)} tokens
# by:      {len(first) + len(second or [])} tokens

# %% wrong pack special_tokens_forgotten of="filled"
# You compare the number of words with `length`: [CLS] and [SEP] need room too.
# replace: if len(row) > length:
# by:      if len(first) + len(second or []) > length:

# %% wrong pack full_row_refused of="filled"
# A row that fills `length` exactly fits: refuse only longer ones.
# replace: if len(row) > length
# by:      if len(row) >= length

# %% wrong pack message_without_numbers of="filled"
# Your message should name how many tokens the row has, [CLS] and [SEP] counted, and `length`.
# replace: f"the row has {len(row)} tokens, length is {length}"
# by:      "the row is too long"

# %% wrong pack message_without_length of="filled"
# Your message should name how many tokens the row has, [CLS] and [SEP] counted, and `length`.
# replace: f"the row has {len(row)} tokens, length is {length}"
# by:      f"the row has {len(row)} tokens: too many"

# %% wrong pack message_with_the_excess of="filled"
# Your message should name how many tokens the row has, [CLS] and [SEP] counted, and `length`.
# replace: the row has {len(row)} tokens, length is {length}
# by:      {len(row) - length} tokens too many for {length}

# %% wrong pack only_singles_examined of="filled"
# A row that is too long passes unnoticed: compare the number of all its tokens with `length`.
# replace: end = len(row)
# by:      end = len(row)
#          if len(row) > length:
#              raise ValueError(f"the row has {len(row)} tokens, length is {length}")
# replace: if len(row) > length:
#              raise ValueError(f"the row has {len(row)} tokens, length is {length}")
#          tokens =
# by:      row = row[:length]
#          tokens =

# %% wrong pack assertion of="filled"
# You raise an AssertionError: it should be a ValueError.
# replace: if len(row) > length:
#              raise ValueError(f"the row has {len(row)} tokens, length is {length}")
# by:      assert len(row) <= length, f"the row has {len(row)} tokens, length is {length}"

# %% wrong pack float_tokens of="filled"
# Your tokens are floating-point numbers: an embedding needs int64.
# replace: tokens = torch.zeros(length, dtype=torch.int64)
# by:      tokens = torch.zeros(length)

# %% wrong pack int32_tokens of="filled"
# Your tokens are int32: the docstring says int64.
# replace: tokens = torch.zeros(length, dtype=torch.int64)
# by:      tokens = torch.zeros(length, dtype=torch.int32)

# %% wrong pack float_segments of="filled"
# Your segments are floating-point numbers: an embedding needs int64.
# replace: segments = torch.zeros(length, dtype=torch.int64)
# by:      segments = torch.zeros(length)

# %% wrong pack boolean_segments of="filled"
# Your segments are True and False: the docstring says int64.
# replace: return tokens, segments
# by:      return tokens, segments.bool()

# %% wrong pack swapped_results of="filled"
# You return segments, then tokens: the docstring says (tokens, segments).
# replace: return tokens, segments
# by:      return segments, tokens

# %% wrong pack tokens_alone of="filled"
# You return the tokens alone: the docstring says (tokens, segments).
# replace: return tokens, segments
# by:      return tokens

# %% wrong pack lists of="filled"
# You return lists: make tensors of them.
# replace: return tokens, segments
# by:      return tokens.tolist(), segments.tolist()

# %% wrong pack a_batch_of_one of="filled"
# Your row has an axis for a batch: the docstring says (length,).
# replace: return tokens, segments
# by:      return tokens[None], segments[None]

# %% wrong pack sentences_swapped of="filled"
# You put the second sentence first.
# replace: if second is not None:
# by:      if second is not None:
#              row, second = [CLS, *second, SEP], first
#              end = len(row)

# %% wrong pack second_expected of="filled"
# The second sentence may be None: your code needs one.
# replace: if second is not None:
#              row
# by:      if True:
#              row

# %% wrong pack sep_for_a_missing_second of="filled"
# Without a second sentence the row ends after the first [SEP]; yours has another one.
# replace: if second is not None:
#              row = row + second + [SEP]
# by:      row = row + (second or []) + [SEP]

# %% wrong pack empty_first_refused of="filled"
# You refuse an empty first sentence: only a row that is too long is a ValueError.
# replace: if len(row) > length:
# by:      if not first or len(row) > length:

# %% wrong pack empty_second_is_none of="filled"
# You take an empty second sentence for None: it has a [SEP] of its own.
# replace: if second is not None:
# by:      if second:

# %% wrong pack segments_of_words_alone of="filled"
# Your segments leave out [SEP] of the second sentence, and begin a position too early: each
# segment stands beside its token.
# replace: segments[end : len(row)] = 1
# by:      segments[end - 1 : max(end - 1, len(row) - 2)] = 1

# %% right pack filled_in of="filled"
# replace: tokens[: len(row)]
# by:      tokens[0 : len(row)]

# %% right pack padded_by_f_pad of="solution"
# replace: padding = [PADDING] * (length - total)
#          segments = [0] * len(row) + [1] * len(rest) + [0] * len(padding)
#          return torch.tensor(row + rest + padding), torch.tensor(segments)
# by:      kinds = torch.tensor([0] * len(row) + [1] * len(rest))
#          rest_of_row = (0, length - total)
#          return F.pad(torch.tensor(row + rest), rest_of_row), F.pad(kinds, rest_of_row)


# %% right pack segments_by_comparison
def pack(first: list[int], second: list[int] | None, length: int) -> tuple[Tensor, Tensor]:
    sentences = [first] if second is None else [first, second]
    row = [CLS]
    for sentence in sentences:
        row.extend(sentence)
        row.append(SEP)
    if len(row) > length:
        raise ValueError(f"length {length} is too small for {len(row)} tokens")
    tokens = torch.tensor(row + [0] * (length - len(row)), dtype=torch.long)
    at = torch.arange(length)
    return tokens, ((at >= len(first) + 2) & (at < len(row))).long()


# %% right pack token_by_token
def pack(first: list[int], second: list[int] | None, length: int) -> tuple[Tensor, Tensor]:
    both = [(CLS, 0), *((word, 0) for word in first), (SEP, 0)]
    if second is not None:
        both += [*((word, 1) for word in second), (SEP, 1)]
    if (count := len(both)) > length:
        raise ValueError(f"{count} > {length}")
    both += [(PADDING, 0)] * (length - count)
    tokens, segments = zip(*both, strict=True)
    return torch.tensor(tokens), torch.tensor(segments)


# %% right pack counted_first
def pack(first: list[int], second: list[int] | None, length: int) -> tuple[Tensor, Tensor]:
    needed = 2 + len(first) if second is None else 3 + len(first) + len(second)
    if needed > length:
        raise ValueError(f"need {needed} positions, have {length}")
    tokens, segments = torch.zeros(2, length, dtype=torch.int64)
    tokens[0] = 1
    for i, word in enumerate(first):
        tokens[1 + i] = word
    tokens[1 + len(first)] = 2
    if second is not None:
        for i, word in enumerate(second):
            tokens[2 + len(first) + i] = word
        tokens[needed - 1] = 2
        segments[2 + len(first) : needed] = 1
    return tokens, segments


# %% base mask_tokens one_draw
def mask_tokens(
    tokens: Tensor, vocab_size: int, p: float = 0.15, generator: torch.Generator | None = None
) -> tuple[Tensor, Tensor]:
    draw = torch.rand(tokens.shape, generator=generator)
    chosen = (draw < p) & (tokens > MASK)
    masked = chosen & (draw < 0.8 * p)
    other = chosen & (draw >= 0.8 * p) & (draw < 0.9 * p)
    words = torch.randint(4, vocab_size, tokens.shape, generator=generator)
    inputs, labels = tokens.clone(), tokens.clone()
    labels[~chosen] = -100
    inputs[masked] = MASK
    inputs[other] = words[other]
    return inputs, labels


# %% wrong mask_tokens special_tokens_chosen of="one_draw"
# You choose special tokens too: [PAD], [CLS], [SEP] and [MASK] are never chosen.
# replace: (draw < p) & (tokens > MASK)
# by:      draw < p

# %% wrong mask_tokens padding_alone_spared of="one_draw"
# You spare [PAD] alone: [CLS], [SEP] and [MASK] are never chosen either.
# replace: tokens > MASK
# by:      tokens != PADDING

# %% wrong mask_tokens mask_may_be_chosen of="one_draw"
# You may choose a [MASK] that is in the tokens: ids below 4 are never chosen.
# replace: tokens > MASK
# by:      tokens > SEP

# %% wrong mask_tokens first_word_spared of="one_draw"
# You never choose word 4: ids from 4 on are words.
# replace: tokens > MASK
# by:      tokens > FIRST_WORD

# %% wrong mask_tokens labels_after_masking of="one_draw"
# Your labels are made after the words were replaced: they should be the words as they were.
# replace: inputs, labels = tokens.clone(), tokens.clone()
#          labels[~chosen] = -100
#          inputs[masked] = MASK
#          inputs[other] = words[other]
# by:      inputs = tokens.clone()
#          inputs[masked] = MASK
#          inputs[other] = words[other]
#          labels = inputs.masked_fill(~chosen, -100)

# %% wrong mask_tokens labels_at_masks_only of="one_draw"
# Your labels are missing where the word was kept or drawn at random: all chosen words have one.
# replace: labels[~chosen] = -100
# by:      labels[~masked] = -100

# %% wrong mask_tokens no_label_for_kept of="one_draw"
# Your labels are missing where the word was kept: all chosen words have one.
# replace: labels[~chosen] = -100
# by:      labels[~(masked | other)] = -100

# %% wrong mask_tokens labels_everywhere of="one_draw"
# Every token of yours has a label: only chosen words have one, and all else -100.
# replace: labels[~chosen] = -100
# by:

# %% wrong mask_tokens labels_of_the_unchosen of="one_draw"
# Your labels stand where nothing was chosen: turn the condition round.
# replace: labels[~chosen] = -100
# by:      labels[chosen] = -100

# %% wrong mask_tokens label_minus_one of="one_draw"
# You mark positions without a label by -1: it should be -100, which cross_entropy ignores.
# replace: = -100
# by:      = -1

# %% wrong mask_tokens label_zero of="one_draw"
# You mark positions without a label by 0: that is [PAD], and it should be -100.
# replace: = -100
# by:      = 0

# %% wrong mask_tokens always_mask of="one_draw"
# not every chosen word becomes [MASK]
# replace: (draw < 0.8 * p)
# by:      (draw < p)

# %% wrong mask_tokens none_kept of="one_draw"
# You replace 20 % of the chosen words by any word: 10 %, and another 10 % stay.
# replace: (draw < 0.9 * p)
# by:      (draw < p)

# %% wrong mask_tokens none_random of="one_draw"
# You keep 20 % of the chosen words: 10 % should become any word.
# replace: inputs[other] = words[other]
# by:

# %% wrong mask_tokens shares_of_all_words of="one_draw"
# You take the 80 % of all words, not of the chosen ones.
# replace: draw = torch.rand(tokens.shape, generator=generator)
#          chosen = (draw < p) & (tokens > MASK)
#          masked = chosen & (draw < 0.8 * p)
#          other = chosen & (draw >= 0.8 * p) & (draw < 0.9 * p)
# by:      draw = torch.rand(tokens.shape, generator=generator)
#          chosen = (draw < p) & (tokens > MASK)
#          masked = chosen & (draw < 0.8)
#          other = chosen & (draw >= 0.8) & (draw < 0.9)

# %% wrong mask_tokens masked_and_then_drawn of="solution"
# You draw 10 % of the *remaining* words, and the shares are no longer 80, 10 and 10.
# replace: inputs = torch.where(chosen & (fate >= 0.9), words, inputs)
# by:      again = torch.rand(tokens.shape, generator=generator)
#          rest = chosen & (inputs != MASK) & (again < 0.1)
#          inputs = torch.where(rest, words, inputs)

# %% wrong mask_tokens ninety_percent of="solution"
# You replace 90 % of the chosen words by [MASK]: it should be 80 %.
# replace: (fate < 0.8)
# by:      (fate < 0.9)

# %% wrong mask_tokens half_random of="solution"
# Too many of the chosen words become other words: 80 % [MASK], 10 % any word, 10 % as they are.
# replace: (fate < 0.8)
# by:      (fate < 0.5)
# replace: (fate >= 0.9)
# by:      (fate >= 0.6)

# %% wrong mask_tokens probability_p_kept of="one_draw"
# You choose a word with the probability 1 - p.
# replace: draw = torch.rand(tokens.shape, generator=generator)
# by:      draw = 1 - torch.rand(tokens.shape, generator=generator)
#          p = 1 - p

# %% wrong mask_tokens fixed_p of="one_draw"
# You choose with the probability 0.15 whatever p is.
# replace: draw = torch.rand
# by:      p = 0.15
#          draw = torch.rand

# %% wrong mask_tokens default_of_30_percent of="one_draw"
# Your default for p is 0.3: the signature says 0.15.
# replace: p: float = 0.15
# by:      p: float = 0.3

# %% wrong mask_tokens special_words_drawn of="one_draw"
# Your random words may be special tokens: draw from 4 on.
# replace: torch.randint(4, vocab_size
# by:      torch.randint(0, vocab_size

# %% wrong mask_tokens mask_drawn of="one_draw"
# Your random words may be [MASK], 3: draw from 4 on.
# replace: torch.randint(4, vocab_size
# by:      torch.randint(3, vocab_size

# %% wrong mask_tokens first_word_never_drawn of="one_draw"
# Your random words never are word 4: draw from 4 on.
# replace: torch.randint(4, vocab_size
# by:      torch.randint(5, vocab_size

# %% wrong mask_tokens last_word_never_drawn of="one_draw"
# Your random words never are the last one: randint leaves its upper bound out already.
# replace: torch.randint(4, vocab_size,
# by:      torch.randint(4, vocab_size - 1,

# %% wrong mask_tokens one_word_too_many of="one_draw"
# Your random words may be vocab_size itself, which is no id: the last one is vocab_size - 1.
# replace: torch.randint(4, vocab_size,
# by:      torch.randint(4, vocab_size + 1,

# %% wrong mask_tokens never_itself of="one_draw"
# Your random word is never the word itself: each word should be equally likely, that one too.
# replace: inputs[other] = words[other]
# by:      words = torch.where(words == tokens, 4 + (words - 3) % (vocab_size - 4), words)
#          inputs[other] = words[other]

# %% wrong mask_tokens words_of_the_batch of="one_draw"
# You draw random words from the batch, where frequent ones are likelier: draw from the vocabulary.
# replace: words = torch.randint(4, vocab_size, tokens.shape, generator=generator)
# by:      order = torch.randperm(tokens.numel(), generator=generator)
#          words = tokens.flatten()[order].reshape(tokens.shape)

# %% wrong mask_tokens one_random_word of="one_draw"
# You draw one random word for all positions: each needs a draw of its own.
# replace: words = torch.randint(4, vocab_size, tokens.shape, generator=generator)
# by:      words = torch.randint(4, vocab_size, (1, 1), generator=generator).expand_as(tokens)

# %% wrong mask_tokens one_mask_for_all_rows of="one_draw"
# All rows of yours have the same chosen positions: draw for each word of each row.
# replace: draw = torch.rand(tokens.shape, generator=generator)
# by:      draw = torch.rand(tokens.shape[1:], generator=generator).expand_as(tokens)

# %% wrong mask_tokens whole_rows_chosen of="one_draw"
# You choose whole rows: each word is chosen on its own.
# replace: draw = torch.rand(tokens.shape, generator=generator)
# by:      draw = torch.rand(len(tokens), 1, generator=generator).expand_as(tokens)

# %% wrong mask_tokens one_fate_for_a_row of="solution"
# All chosen words of a row share one fate: draw for each word whether it becomes [MASK].
# replace: fate = torch.rand(tokens.shape, generator=generator)
# by:      fate = torch.rand(len(tokens), 1, generator=generator)

# %% wrong mask_tokens one_fate_for_a_batch of="solution"
# All chosen words of the batch share one fate: draw for each word whether it becomes [MASK].
# replace: fate = torch.rand(tokens.shape, generator=generator)
# by:      fate = torch.rand(1, 1, generator=generator)

# %% wrong mask_tokens fixed_number_in_a_row of="one_draw"
# You choose the same number of words in each row: each is chosen by a draw of its own.
# replace: chosen = (draw < p) & (tokens > MASK)
# by:      order = torch.rand(tokens.shape, generator=generator).argsort(1).argsort(1)
#          chosen = (order < round(p * tokens.shape[1])) & (tokens > MASK)
#          draw = p * draw

# %% wrong mask_tokens one_at_least of="one_draw"
# You choose at least one word in each row: a row may have none.
# replace: masked = chosen
# by:      chosen[:, 0] |= ~chosen.any(1) & (tokens[:, 0] > MASK)
#          masked = chosen

# %% wrong mask_tokens fixed_number_in_all of="one_draw"
# You choose a fixed number of words of the batch: each is chosen by a draw of its own.
# replace: chosen = (draw < p) & (tokens > MASK)
# by:      is_word = tokens > MASK
#          count = round(p * int(is_word.sum()))
#          order = draw.masked_fill(~is_word, 2.0).flatten().argsort().argsort()
#          chosen = (order < count).reshape(tokens.shape) & is_word
#          draw = p * torch.rand(tokens.shape, generator=generator)

# %% wrong mask_tokens generator_forgotten of="one_draw"
# You draw from torch's global generator, not from the one that you are given.
# replace: draw = torch.rand(tokens.shape, generator=generator)
# by:      draw = torch.rand(tokens.shape)
# replace: tokens.shape, generator=generator)
#          inputs
# by:      tokens.shape)
#          inputs

# %% wrong mask_tokens words_from_the_global_generator of="one_draw"
# Your random words come from torch's global generator: pass `generator` to randint, too.
# replace: tokens.shape, generator=generator)
#          inputs
# by:      tokens.shape)
#          inputs

# %% wrong mask_tokens fates_from_the_global_generator of="solution"
# What becomes of a chosen word is drawn from torch's global generator: pass `generator` to each
# draw.
# replace: fate = torch.rand(tokens.shape, generator=generator)
# by:      fate = torch.rand(tokens.shape)

# %% wrong mask_tokens seed_of_its_own of="one_draw"
# You set the seed in the function, so every batch has the same places: leave the generator alone.
# replace: draw = torch.rand
# by:      generator = torch.Generator().manual_seed(0)
#          draw = torch.rand

# %% wrong mask_tokens generator_set_back of="one_draw"
# You set the seed in the function, so every batch has the same places: leave the generator alone.
# replace: draw = torch.rand
# by:      if generator is not None:
#              generator.manual_seed(0)
#          draw = torch.rand

# %% wrong mask_tokens in_place of="one_draw"
# operations that end in _ (add_, masked_fill_), x[...] = y and x -= y write into the caller's
# tensor: make a new one
# replace: inputs, labels = tokens.clone(), tokens.clone()
# by:      inputs, labels = tokens, tokens.clone()

# %% wrong mask_tokens swapped_results of="one_draw"
# You return labels, then inputs: the docstring says (inputs, labels).
# replace: return inputs, labels
# by:      return labels, inputs

# %% wrong mask_tokens inputs_alone of="one_draw"
# You return the inputs alone: the docstring says (inputs, labels).
# replace: return inputs, labels
# by:      return inputs

# %% wrong mask_tokens float_labels of="one_draw"
# Your labels are floating-point numbers: cross_entropy needs int64.
# replace: return inputs, labels
# by:      return inputs, labels.float()

# %% wrong mask_tokens chosen_returned of="one_draw"
# You return which words were chosen, True or False: labels are the words themselves.
# replace: return inputs, labels
# by:      return inputs, chosen

# %% wrong mask_tokens cls_as_mask of="one_draw"
# You put 1 in the place of a chosen word, which is [CLS]: [MASK] is 3.
# replace: inputs[masked] = MASK
# by:      inputs[masked] = CLS

# %% wrong mask_tokens padding_as_mask of="one_draw"
# You put 0 in the place of a chosen word, which is [PAD]: [MASK] is 3.
# replace: inputs[masked] = MASK
# by:      inputs[masked] = 0

# %% wrong mask_tokens unchosen_replaced of="one_draw"
# You also replace words that were not chosen: without a label, a word stays.
# replace: other = chosen & (draw >= 0.8 * p) & (draw < 0.9 * p)
# by:      other = (draw >= 0.8 * p) & (draw < 1.1 * p) & (tokens > MASK)

# %% wrong mask_tokens new_generator_if_none of="one_draw"
# Without a generator you make a new one, which draws the same each time: use torch's global one.
# replace: draw = torch.rand
# by:      generator = torch.Generator() if generator is None else generator
#          draw = torch.rand

# %% wrong mask_tokens share_of_the_length of="one_draw"
# You raise the probability to make up for special tokens: each word is chosen with probability p.
# replace: draw = torch.rand
# by:      p = min(1.0, p * tokens.numel() / max(1, int((tokens > MASK).sum())))
#          draw = torch.rand


# %% wrong mask_tokens masks_replaced_later
# You replace some [MASK] again, those too that stood in the tokens: special tokens stay.
def mask_tokens(
    tokens: Tensor, vocab_size: int, p: float = 0.15, generator: torch.Generator | None = None
) -> tuple[Tensor, Tensor]:
    chosen = (torch.rand(tokens.shape, generator=generator) < p) & (tokens > 3)
    fate = torch.rand(tokens.shape, generator=generator)
    words = torch.randint(4, vocab_size, tokens.shape, generator=generator)
    inputs = tokens.masked_fill(chosen, 3)
    inputs = torch.where((inputs == 3) & (fate < 0.1), words, inputs)
    inputs = torch.where((inputs == 3) & (fate > 0.9), tokens, inputs)
    return inputs, tokens.masked_fill(~chosen, -100)


# %% right mask_tokens one_uniform_draw of="one_draw"
# replace: tokens > MASK
# by:      tokens >= 4

# %% right mask_tokens bernoulli of="solution"
# replace: chosen = (torch.rand(tokens.shape, generator=generator) < p) & (tokens >= FIRST_WORD)
# by:      chances = torch.full(tokens.shape, p).masked_fill(tokens < FIRST_WORD, 0.0)
#          chosen = torch.bernoulli(chances, generator=generator).bool()

# %% right mask_tokens fates_as_integers of="solution"
# replace: fate = torch.rand(tokens.shape, generator=generator)
# by:      fate = torch.randint(10, tokens.shape, generator=generator)
# replace: fate < 0.8
# by:      fate < 8
# replace: fate >= 0.9
# by:      fate == 9


# %% right mask_tokens indices
def mask_tokens(
    tokens: Tensor, vocab_size: int, p: float = 0.15, generator: torch.Generator | None = None
) -> tuple[Tensor, Tensor]:
    inputs, labels = tokens.clone(), torch.full_like(tokens, -100)
    words = (tokens > 3).nonzero()
    words = words[torch.rand(len(words), generator=generator) < p]
    rows, columns = words[:, 0], words[:, 1]
    labels[rows, columns] = tokens[rows, columns]
    fate = torch.rand(len(words), generator=generator)
    drawn = torch.randint(4, vocab_size, (len(words),), generator=generator)
    new = torch.where(fate < 0.1, drawn, tokens[rows, columns])
    inputs[rows, columns] = torch.where(fate > 0.2, torch.tensor(3), new)
    return inputs, labels


# %% right mask_tokens word_by_word
def mask_tokens(
    tokens: Tensor, vocab_size: int, p: float = 0.15, generator: torch.Generator | None = None
) -> tuple[Tensor, Tensor]:
    numbers = torch.rand(3, *tokens.shape, generator=generator).tolist()
    inputs, labels = tokens.tolist(), tokens.tolist()
    for i, row in enumerate(tokens.tolist()):
        for j, word in enumerate(row):
            chosen, fate, which = (part[i][j] for part in numbers)
            if word < 4 or chosen >= p:
                labels[i][j] = -100
            elif fate < 0.8:
                inputs[i][j] = 3
            elif fate < 0.9:
                inputs[i][j] = 4 + min(int(which * (vocab_size - 4)), vocab_size - 5)
    return torch.tensor(inputs), torch.tensor(labels)


# %% right mask_tokens multinomial
def mask_tokens(
    tokens: Tensor, vocab_size: int, p: float = 0.15, generator: torch.Generator | None = None
) -> tuple[Tensor, Tensor]:
    shares = torch.tensor([1 - p, 0.8 * p, 0.1 * p, 0.1 * p])
    kind = torch.multinomial(shares, tokens.numel(), True, generator=generator).view_as(tokens)
    kind = kind.masked_fill(tokens < 4, 0)
    words = torch.randint(4, vocab_size, tokens.shape, generator=generator)
    labels = torch.where(kind > 0, tokens, torch.full_like(tokens, -100))
    inputs = torch.where(kind == 1, torch.full_like(tokens, 3), tokens)
    return torch.where(kind == 2, words, inputs), labels


# %% base masked_lm_loss picked
def masked_lm_loss(logits: Tensor, labels: Tensor) -> Tensor:
    has_label = labels != -100
    count = has_label.sum().clamp(min=1)
    log_probs = logits.log_softmax(-1)
    picked = log_probs.gather(-1, labels.clamp(min=0)[..., None]).squeeze(-1)
    return -(picked * has_label).sum() / count


# %% wrong masked_lm_loss over_all_positions of="picked"
# You divide by the number of positions: divide by the number of labels.
# replace: count = has_label.sum().clamp(min=1)
# by:      count = labels.numel()

# %% wrong masked_lm_loss summed of="picked"
# You return the sum over the labels: it should be their mean.
# replace: .sum() / count
# by:      .sum()

# %% wrong masked_lm_loss mean_of_rows of="picked"
# You average in each row first: then a label in a row with few labels counts more.
# replace: return -(picked * has_label).sum() / count
# by:      each = has_label.sum(1).clamp(min=1)
#          return -((picked * has_label).sum(1) / each).mean()

# %% wrong masked_lm_loss over_the_batch of="picked"
# You divide by the number of rows: divide by the number of labels.
# replace: count = has_label.sum().clamp(min=1)
# by:      count = len(labels)

# %% wrong masked_lm_loss every_position_counts of="picked"
# Positions without a label count in your loss: leave them out.
# replace: (picked * has_label).sum()
# by:      picked.sum()

# %% wrong masked_lm_loss every_position_averaged of="picked"
# You average over all positions, labelled or not: leave out those without a label.
# replace: return -(picked * has_label).sum() / count
# by:      return -picked.mean()

# %% wrong masked_lm_loss sign of="picked"
# Your loss is the mean log-probability: the loss is its negative.
# replace: return -(
# by:      return (

# %% wrong masked_lm_loss no_softmax of="picked"
# You take the logits for log-probabilities: apply log_softmax first.
# replace: logits.log_softmax(-1)
# by:      logits

# %% wrong masked_lm_loss log_forgotten of="picked"
# You average the probabilities: it should be their logarithms.
# replace: logits.log_softmax(-1)
# by:      logits.softmax(-1)

# %% wrong masked_lm_loss softmax_over_positions of="picked"
# Your softmax runs over the positions: it should run over the vocabulary, the last axis.
# replace: logits.log_softmax(-1)
# by:      logits.log_softmax(1)

# %% wrong masked_lm_loss softmax_twice of="solution"
# You give probabilities to cross_entropy, which takes logits: it applies softmax itself.
# replace: logits.flatten(0, 1)
# by:      logits.softmax(-1).flatten(0, 1)

# %% wrong masked_lm_loss log_of_softmax of="picked"
# You take the logarithm of softmax, which is -inf where a logit is small: take log_softmax.
# replace: logits.log_softmax(-1)
# by:      logits.softmax(-1).log()

# %% wrong masked_lm_loss bits of="picked"
# Your loss is in bits: it should be in nats, with the natural logarithm.
# replace: .sum() / count
# by:      .sum() / count / torch.log(torch.tensor(2.0, dtype=logits.dtype))

# %% wrong masked_lm_loss exponentiated of="picked"
# You return the perplexity, exp of the loss: return the loss.
# replace: return -(picked * has_label).sum() / count
# by:      return torch.exp(-(picked * has_label).sum() / count)

# %% wrong masked_lm_loss nan_without_labels of="solution"
# Without labels you divide 0 by 0: the loss should be 0.
# replace: total = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum")
#          return total / max(1, int((labels != -100).sum()))
# by:      return F.cross_entropy(logits.flatten(0, 1), labels.flatten())

# %% wrong masked_lm_loss divided_by_zero of="picked"
# Without labels you divide 0 by 0: the loss should be 0.
# replace: has_label.sum().clamp(min=1)
# by:      has_label.sum()

# %% right masked_lm_loss nan_to_num of="solution"
# replace: total = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum")
#          return total / max(1, int((labels != -100).sum()))
# by:      return F.cross_entropy(logits.flatten(0, 1), labels.flatten()).nan_to_num()

# %% wrong masked_lm_loss new_zero of="picked"
# Without labels you return a new tensor, through which no gradient flows.
# replace: count = has_label
# by:      if not has_label.any():
#              return torch.zeros((), dtype=logits.dtype)
#          count = has_label

# %% wrong masked_lm_loss one_more_label of="picked"
# You add 1 to the number of labels: it is needed only where there is none.
# replace: has_label.sum().clamp(min=1)
# by:      has_label.sum() + 1

# %% wrong masked_lm_loss small_number_added of="picked"
# You add a small number to the number of labels: then the mean is not exact. Divide by 1 if there
# is none.
# replace: has_label.sum().clamp(min=1)
# by:      has_label.sum() + 1e-4

# %% wrong masked_lm_loss per_position of="picked"
# You return the loss of each position: it should be one number.
# replace: return -(picked * has_label).sum() / count
# by:      return -(picked * has_label) / count

# %% wrong masked_lm_loss per_row of="picked"
# You return the loss of each row: it should be one number for the batch.
# replace: return -(picked * has_label).sum() / count
# by:      return -(picked * has_label).sum(1) / count

# %% wrong masked_lm_loss one_axis_left of="picked"
# Your loss has shape (1,): it should be a single number, of shape ().
# replace: return -(picked * has_label).sum() / count
# by:      return (-(picked * has_label).sum() / count)[None]

# %% wrong masked_lm_loss python_number of="picked"
# expected a tensor, got a number: .item() ends the graph
# replace: return -(picked * has_label).sum() / count
# by:      return float(-(picked * has_label).sum() / count)

# %% wrong masked_lm_loss detached of="picked"
# no gradient flows through the result
# replace: logits.log_softmax(-1)
# by:      logits.detach().log_softmax(-1)

# %% wrong masked_lm_loss labels_of_the_next of="picked"
# You shift the labels by one, as for a decoder: here a label stands at its own position.
# replace: has_label = labels != -100
# by:      labels = F.pad(labels[:, 1:], (0, 1), value=-100)
#          has_label = labels != -100

# %% wrong masked_lm_loss whole_distribution of="picked"
# You average the log-probabilities of all tokens: only that of the label counts.
# replace: picked = log_probs.gather(-1, labels.clamp(min=0)[..., None]).squeeze(-1)
# by:      picked = log_probs.mean(-1)

# %% wrong masked_lm_loss squared of="picked"
# You take a squared error of the probability: it should be the cross-entropy.
# replace: return -(picked * has_label).sum() / count
# by:      return ((1 - picked.exp()).square() * has_label).sum() / count

# %% wrong masked_lm_loss wrong_ignored of="solution"
# You ignore another label than -100: leave ignore_index as it is.
# replace: F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum")
# by:      F.cross_entropy(
#              logits.flatten(0, 1), labels.clamp(min=0).flatten(), reduction="sum", ignore_index=4
#          )

# %% wrong masked_lm_loss smoothed of="solution"
# You smooth the labels: the plain cross-entropy is asked for.
# replace: F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum")
# by:      F.cross_entropy(
#              logits.flatten(0, 1), labels.flatten(), reduction="sum", label_smoothing=0.1
#          )

# %% wrong masked_lm_loss float32 of="picked"
# something on the way has another dtype: .float(), a NumPy array, a tensor that you make
# replace: logits.log_softmax(-1)
# by:      logits.float().log_softmax(-1)

# %% right masked_lm_loss picked_log_probabilities of="picked"
# replace: logits.log_softmax(-1)
# by:      logits - logits.logsumexp(-1, keepdim=True)

# %% right masked_lm_loss selected of="picked"
# replace: log_probs = logits.log_softmax(-1)
#          picked = log_probs.gather(-1, labels.clamp(min=0)[..., None]).squeeze(-1)
#          return -(picked * has_label).sum() / count
# by:      total = F.cross_entropy(logits[has_label], labels[has_label], reduction="sum")
#          return total / count

# %% right masked_lm_loss vocabulary_second of="picked"
# replace: log_probs = logits.log_softmax(-1)
#          picked = log_probs.gather(-1, labels.clamp(min=0)[..., None]).squeeze(-1)
#          return -(picked * has_label).sum() / count
# by:      each = F.cross_entropy(logits.transpose(1, 2), labels, reduction="none")
#          return each.sum() / count

# %% right masked_lm_loss zero_of_the_logits of="picked"
# replace: count = has_label.sum().clamp(min=1)
# by:      if not bool(has_label.any()):
#              return 0.0 * logits.sum()
#          count = has_label.sum()

# %% right masked_lm_loss one_hot of="picked"
# replace: picked = log_probs.gather(-1, labels.clamp(min=0)[..., None]).squeeze(-1)
# by:      wanted = F.one_hot(labels.clamp(min=0), logits.shape[-1])
#          picked = (log_probs * wanted).sum(-1)

# %% right masked_lm_loss mean_if_there_is_one of="solution"
# replace: total = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum")
#          return total / max(1, int((labels != -100).sum()))
# by:      if (labels == -100).all():
#              return logits.sum() * 0
#          return F.cross_entropy(logits.view(-1, logits.size(-1)), labels.view(-1))


# %% base Bert by_hand_positions
class Bert(nn.Module):
    def __init__(
        self, vocab_size, max_length, d_model, num_layers, num_heads, d_ff, dropout=0.0
    ) -> None:
        super().__init__()
        self.max_length = max_length
        self.token_table = nn.Embedding(vocab_size, d_model)
        self.position_table = nn.Embedding(max_length, d_model)
        self.segment_table = nn.Embedding(2, d_model)
        self.norm = nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)
        layer = nn.TransformerEncoderLayer(
            d_model=d_model,
            nhead=num_heads,
            dim_feedforward=d_ff,
            dropout=dropout,
            activation="gelu",
            batch_first=True,
        )
        self.encoder = nn.TransformerEncoder(layer, num_layers)

    def forward(self, tokens: Tensor, segments: Tensor | None = None) -> Tensor:
        batch, length = tokens.shape
        if length > self.max_length:
            raise ValueError(f"length {length} exceeds max_length {self.max_length}")
        if segments is None:
            segments = torch.zeros_like(tokens)
        positions = torch.arange(length, device=tokens.device).expand(batch, length)
        x = self.token_table(tokens) + self.position_table(positions)
        x = x + self.segment_table(segments)
        x = self.drop(self.norm(x))
        return self.encoder(x, src_key_padding_mask=tokens == 0)


# %% wrong Bert segments_lost of="by_hand_positions"
# The vectors of the segments are missing: add them.
# replace: x = x + self.segment_table(segments)
# by:

# %% wrong Bert segments_ignored of="by_hand_positions"
# You use segment 0 for every token, whatever segments you are given.
# replace: if segments is None:
#              segments
# by:      if True:
#              segments

# %% wrong Bert none_adds_nothing of="by_hand_positions"
# Without segments you add no segment vector: all are 0, so the vector of segment 0 is added.
# replace: if segments is None:
#              segments = torch.zeros_like(tokens)
# by:
# replace: x = x + self.segment_table(segments)
# by:      if segments is not None:
#              x = x + self.segment_table(segments)

# %% wrong Bert none_is_one of="by_hand_positions"
# Without segments you take segment 1 for all: it should be 0.
# replace: segments = torch.zeros_like(tokens)
# by:      segments = torch.ones_like(tokens)

# %% wrong Bert segments_expected of="by_hand_positions"
# Your model needs segments: they may be None.
# replace: segments: Tensor | None = None
# by:      segments: Tensor

# %% wrong Bert positions_lost of="by_hand_positions"
# The vectors of the positions are missing: add them.
# replace: self.token_table(tokens) + self.position_table(positions)
# by:      self.token_table(tokens)

# %% wrong Bert positions_from_one of="by_hand_positions"
# Your positions count from 1: they count from 0.
# replace: torch.arange(length, device=tokens.device).expand(batch, length)
# by:      torch.arange(1, length + 1).clamp(max=self.max_length - 1).expand(batch, length)

# %% wrong Bert positions_reversed of="by_hand_positions"
# Your positions run backwards: the first token has position 0.
# replace: torch.arange(length, device=tokens.device)
# by:      torch.arange(length - 1, -1, -1)

# %% wrong Bert positions_in_segments of="by_hand_positions"
# Your positions begin anew in the second sentence: they count through the whole row.
# replace: x = self.token_table
# by:      lengths = (segments == 0).sum(1, keepdim=True)
#          positions = torch.where(segments == 1, positions - lengths, positions).clamp(min=0)
#          x = self.token_table

# %% wrong Bert norm_lost of="by_hand_positions"
# The norm after the sum of the embeddings is missing.
# replace: self.drop(self.norm(x))
# by:      self.drop(x)

# %% wrong Bert norm_of_the_tokens of="by_hand_positions"
# You normalise the token's vector before the others are added: the norm comes after the sum.
# replace: x = self.token_table(tokens) +
# by:      x = self.norm(self.token_table(tokens)) +
# replace: self.drop(self.norm(x))
# by:      self.drop(x)

# %% wrong Bert norm_without_segments of="by_hand_positions"
# You normalise before the segment's vector is added: the norm comes after the whole sum.
# replace: x = x + self.segment_table(segments)
#          x = self.drop(self.norm(x))
# by:      x = self.norm(x) + self.segment_table(segments)
#          x = self.drop(x)

# %% wrong Bert mean_of_embeddings of="by_hand_positions"
# You normalise each embedding and add them: add first, then normalise once.
# replace: x = self.token_table(tokens) + self.position_table(positions)
#          x = x + self.segment_table(segments)
#          x = self.drop(self.norm(x))
# by:      x = self.norm(self.token_table(tokens)) + self.norm(self.position_table(positions))
#          x = self.drop(x + self.norm(self.segment_table(segments)))

# %% wrong Bert pre_norm of="by_hand_positions"
# Your layers are pre-norm, with the norm before each sublayer: BERT is post-norm.
# replace: activation="gelu",
# by:      activation="gelu",
#          norm_first=True,

# %% wrong Bert relu of="by_hand_positions"
# Your feed-forward networks use ReLU, PyTorch's default: pass activation="gelu".
# replace: activation="gelu",
# by:

# %% wrong Bert gelu_by_tanh of="by_hand_positions"
# You use the tanh approximation of GELU: take the exact one, activation="gelu".
# replace: activation="gelu",
# by:      activation=nn.GELU(approximate="tanh"),

# %% wrong Bert length_first of="by_hand_positions"
# Your encoder reads the batch as the length: pass batch_first=True.
# replace: batch_first=True,
# by:
# replace: src_key_padding_mask=tokens == 0
# by:      src_key_padding_mask=(tokens == 0).T

# %% wrong Bert length_first_without_mask of="by_hand_positions"
# Your encoder reads the batch as the length: pass batch_first=True.
# replace: batch_first=True,
# by:
# replace: self.encoder(x, src_key_padding_mask=tokens == 0)
# by:      self.encoder(x)

# %% wrong Bert no_mask of="by_hand_positions"
# Your encoder attends to padding: pass the padding mask.
# replace: self.encoder(x, src_key_padding_mask=tokens == 0)
# by:      self.encoder(x)

# %% wrong Bert inverted_mask of="by_hand_positions"
# Your padding mask is the wrong way round: for PyTorch's encoder, True means that a key is masked.
# replace: tokens == 0)
# by:      tokens != 0)

# %% wrong Bert special_tokens_masked of="by_hand_positions"
# You mask all special tokens as keys: only padding, id 0, is masked.
# replace: tokens == 0)
# by:      (tokens < 4) & (tokens != 1))

# %% wrong Bert mask_tokens_masked of="by_hand_positions"
# You mask [MASK] as well as padding: only padding, id 0, is no key.
# replace: tokens == 0)
# by:      (tokens == 0) | (tokens == 3))

# %% wrong Bert segment_mask of="by_hand_positions"
# You mask the second sentence as padding: only id 0 is padding.
# replace: tokens == 0)
# by:      segments == 1)

# %% wrong Bert causal of="by_hand_positions"
# Your encoder is causal: BERT is bidirectional, so leave the causal mask out.
# replace: return self.encoder(x, src_key_padding_mask=tokens == 0)
# by:      later = torch.ones(length, length, dtype=torch.bool).triu(1)
#          return self.encoder(x, mask=later, src_key_padding_mask=tokens == 0)

# %% wrong Bert final_norm of="by_hand_positions"
# encoder has no final norm of its own
# replace: nn.TransformerEncoder(layer, num_layers)
# by:      nn.TransformerEncoder(layer, num_layers, norm=nn.LayerNorm(d_model))

# %% wrong Bert norm_used_twice of="by_hand_positions"
# You use `norm` once more at the end: it stands before the encoder only.
# replace: return self.encoder(x, src_key_padding_mask=tokens == 0)
# by:      return self.norm(self.encoder(x, src_key_padding_mask=tokens == 0))

# %% wrong Bert norm_after_dropout of="by_hand_positions"
# Your dropout comes before the norm: it comes after it.
# replace: self.drop(self.norm(x))
# by:      self.norm(self.drop(x))

# %% wrong Bert dropout_of_the_embeddings_lost of="by_hand_positions"
# The dropout after the norm is missing.
# replace: self.drop(self.norm(x))
# by:      self.norm(x)

# %% wrong Bert dropout_of_the_layers_default of="by_hand_positions"
# Your layers have PyTorch's default dropout of 0.1: pass `dropout` on.
# replace: dropout=dropout,
# by:

# %% wrong Bert dropout_of_the_layers_zero of="by_hand_positions"
# Your layers have no dropout: pass `dropout` on.
# replace: dropout=dropout,
# by:      dropout=0.0,

# %% wrong Bert dropout_in_evaluation of="by_hand_positions"
# Your dropout drops in evaluation mode too: use nn.Dropout, or pass self.training.
# replace: self.drop(self.norm(x))
# by:      F.dropout(self.norm(x), self.drop.p)

# %% wrong Bert scaled of="by_hand_positions"
# You multiply the token's vector by the root of d_model: BERT does not.
# replace: x = self.token_table(tokens) + self.position_table(positions)
# by:      x = self.token_table(tokens) * self.token_table.embedding_dim**0.5
#          x = x + self.position_table(positions)

# %% wrong Bert one_layer of="by_hand_positions"
# encoder has num_layers layers
# replace: nn.TransformerEncoder(layer, num_layers)
# by:      nn.TransformerEncoder(layer, 1)

# %% wrong Bert one_layer_too_many of="by_hand_positions"
# encoder has num_layers layers
# replace: nn.TransformerEncoder(layer, num_layers)
# by:      nn.TransformerEncoder(layer, num_layers + 1)

# %% wrong Bert one_head of="by_hand_positions"
# Your attention has one head: pass num_heads on.
# replace: nhead=num_heads
# by:      nhead=1

# %% wrong Bert default_width of="by_hand_positions"
# the feed-forward networks of the encoder have the width d_ff
# replace: dim_feedforward=d_ff,
# by:

# %% wrong Bert three_segments of="by_hand_positions"
# segment_table is an nn.Embedding with 2 rows of d_model numbers
# replace: nn.Embedding(2, d_model)
# by:      nn.Embedding(3, d_model)

# %% wrong Bert one_segment of="by_hand_positions"
# segment_table is an nn.Embedding with 2 rows of d_model numbers
# replace: nn.Embedding(2, d_model)
# by:      nn.Embedding(1, d_model)

# %% wrong Bert position_parameter of="by_hand_positions"
# position_table is an nn.Embedding with max_length rows of d_model numbers
# replace: self.position_table = nn.Embedding(max_length, d_model)
# by:      self.position_table = nn.Parameter(torch.randn(max_length, d_model))
# replace: self.position_table(positions)
# by:      self.position_table[positions]

# %% wrong Bert positions_for_the_vocabulary of="by_hand_positions"
# position_table is an nn.Embedding with max_length rows of d_model numbers
# replace: nn.Embedding(max_length, d_model)
# by:      nn.Embedding(vocab_size, d_model)

# %% wrong Bert other_names of="by_hand_positions"
# the learned parts are token_table, position_table, segment_table, norm and encoder
# replace: self.token_table = nn
# by:      self.tokens = nn
# replace: self.token_table(tokens)
# by:      self.tokens(tokens)

# %% wrong Bert projection_too_many of="by_hand_positions"
# there are no learned parts that the docstring does not name
# replace: self.drop = nn.Dropout(dropout)
# by:      self.drop = nn.Dropout(dropout)
#          self.pooler = nn.Linear(d_model, d_model)

# %% wrong Bert length_unchecked of="by_hand_positions"
# A row that is too long ends in an IndexError: raise a ValueError that names both lengths.
# replace: if length > self.max_length:
#              raise ValueError(f"length {length} exceeds max_length {self.max_length}")
# by:

# %% wrong Bert cut_off of="by_hand_positions"
# You cut rows that are too long: raise a ValueError that names both lengths.
# replace: if length > self.max_length:
#              raise ValueError(f"length {length} exceeds max_length {self.max_length}")
# by:      tokens = tokens[:, : self.max_length]
#          segments = None if segments is None else segments[:, : self.max_length]
#          batch, length = tokens.shape

# %% wrong Bert full_length_refused of="by_hand_positions"
# A row of max_length tokens fits: refuse only longer ones.
# replace: if length > self.max_length
# by:      if length >= self.max_length

# %% wrong Bert message_without_numbers of="by_hand_positions"
# Your message names no lengths: name that of the row, and max_length.
# replace: f"length {length} exceeds max_length {self.max_length}"
# by:      "too long"

# %% wrong Bert message_without_the_length of="by_hand_positions"
# Your message names max_length alone: name the length of the row as well.
# replace: f"length {length} exceeds max_length {self.max_length}"
# by:      f"a row may have {self.max_length} tokens at most"

# %% wrong Bert cls_returned of="by_hand_positions"
# You return the output at [CLS] alone: return those of all positions.
# replace: return self.encoder(x, src_key_padding_mask=tokens == 0)
# by:      return self.encoder(x, src_key_padding_mask=tokens == 0)[:, 0]

# %% wrong Bert encoder_left_out of="by_hand_positions"
# You return the embeddings: the encoder is never called.
# replace: return self.encoder(x, src_key_padding_mask=tokens == 0)
# by:      return x

# %% wrong Bert no_gradient of="by_hand_positions"
# no gradient flows through the result
# replace: return self.encoder(x, src_key_padding_mask=tokens == 0)
# by:      with torch.no_grad():
#              return self.encoder(x, src_key_padding_mask=tokens == 0)

# %% wrong Bert embeddings_detached of="by_hand_positions"
# No gradient reaches the three tables: leave detach out.
# replace: self.norm(x)
# by:      self.norm(x.detach())

# %% wrong Bert gradient_in_training_alone of="by_hand_positions"
# In evaluation mode you switch gradients off: the mode has nothing to do with gradients.
# replace: return self.encoder(x, src_key_padding_mask=tokens == 0)
# by:      with torch.set_grad_enabled(self.training):
#              return self.encoder(x, src_key_padding_mask=tokens == 0)

# %% wrong Bert padding_of_the_first_row of="by_hand_positions"
# You use the padding of the first row for all rows: each row has its own.
# replace: src_key_padding_mask=tokens == 0
# by:      src_key_padding_mask=(tokens[:1] == 0).expand_as(tokens)

# %% wrong Bert real_tokens_counted of="by_hand_positions"
# You count the real tokens alone: the length of a row includes its padding.
# replace: if length > self.max_length:
# by:      if int((tokens != 0).sum(1).max()) > self.max_length:

# %% wrong Bert table_frozen of="by_hand_positions"
# The table of tokens cannot learn: leave requires_grad as it is.
# replace: x = self.token_table(tokens) +
# by:      x = self.token_table(tokens).detach() +

# %% wrong Bert positions_frozen of="by_hand_positions"
# No gradient reaches the position table: leave detach out.
# replace: self.position_table(positions)
# by:      self.position_table(positions).detach()

# %% wrong Bert no_super of="by_hand_positions"
# `super().__init__()` is missing: make it the first line of `__init__`
# replace: super().__init__()
#          self.max_length
# by:      self.max_length

# %% wrong Bert segment_zero_cannot_learn of="by_hand_positions"
# Segment 0 is no padding: with padding_idx=0 its vector never learns.
# replace: nn.Embedding(2, d_model)
# by:      nn.Embedding(2, d_model, padding_idx=0)

# %% wrong Bert epsilon_of_bert of="by_hand_positions"
# Your norm has an epsilon of 1e-12: the docstring asks for PyTorch's default.
# replace: nn.LayerNorm(d_model)
# by:      nn.LayerNorm(d_model, eps=1e-12)

# %% wrong Bert batch_compared of="by_hand_positions"
# You compare the number of rows with max_length: compare the length of the rows.
# replace: if length > self.max_length
# by:      if max(batch, length) > self.max_length

# %% right Bert positions_by_arange of="by_hand_positions"
# replace: self.drop(self.norm(x))
# by:      F.dropout(self.norm(x), self.drop.p, self.training)

# %% right Bert padding_row_of_zeros of="by_hand_positions"
# replace: nn.Embedding(vocab_size, d_model)
# by:      nn.Embedding(vocab_size, d_model, padding_idx=0)

# %% right Bert tables_of_small_numbers of="by_hand_positions"
# replace: self.drop = nn.Dropout(dropout)
# by:      for table in (self.token_table, self.position_table, self.segment_table):
#              nn.init.normal_(table.weight, std=0.02)
#          self.drop = nn.Dropout(dropout)

# %% right Bert masked_by_a_matrix of="by_hand_positions"
# replace: return self.encoder(x, src_key_padding_mask=tokens == 0)
# by:      padding = (tokens == 0)[:, None, None].expand(-1, self.heads, length, -1)
#          return self.encoder(x, mask=padding.flatten(0, 1))
# replace: self.max_length = max_length
# by:      self.max_length, self.heads = max_length, num_heads

# %% right Bert minus_infinity of="by_hand_positions"
# replace: return self.encoder(x, src_key_padding_mask=tokens == 0)
# by:      mask = torch.zeros_like(tokens, dtype=x.dtype).masked_fill(tokens == 0, -torch.inf)
#          return self.encoder(x, src_key_padding_mask=mask)

# %% right Bert layer_by_layer of="by_hand_positions"
# replace: return self.encoder(x, src_key_padding_mask=tokens == 0)
# by:      for layer in self.encoder.layers:
#              x = layer(x, src_key_padding_mask=tokens == 0)
#          return x

# %% right Bert gelu_function of="by_hand_positions"
# replace: activation="gelu"
# by:      activation=F.gelu

# %% right Bert length_first_inside of="by_hand_positions"
# replace: batch_first=True
# by:      batch_first=False
# replace: return self.encoder(x, src_key_padding_mask=tokens == 0)
# by:      return self.encoder(x.transpose(0, 1), src_key_padding_mask=tokens == 0).transpose(0, 1)


# %% base MaskedLM table
class MaskedLM(nn.Module):
    def __init__(
        self, vocab_size, max_length, d_model, num_layers, num_heads, d_ff, dropout=0.0
    ) -> None:
        super().__init__()
        self.bert = Bert(vocab_size, max_length, d_model, num_layers, num_heads, d_ff, dropout)
        self.bias = nn.Parameter(torch.zeros(vocab_size))

    def forward(self, tokens: Tensor, segments: Tensor | None = None) -> Tensor:
        hidden = self.bert(tokens, segments)
        logits = hidden @ self.bert.token_table.weight.T
        return logits + self.bias


# %% wrong MaskedLM untied of="table"
# there are no learned parts but `bert` and `bias`: the table of tokens makes the logits
# replace: self.bias = nn.Parameter(torch.zeros(vocab_size))
# by:      self.bias = nn.Parameter(torch.zeros(vocab_size))
#          self.output = nn.Linear(d_model, vocab_size, bias=False)
# replace: logits = hidden @ self.bert.token_table.weight.T
# by:      logits = self.output(hidden)

# %% wrong MaskedLM copied_at_first of="table"
# You copy the table when the model is made: it changes in training, and the copy does not.
# replace: self.bias = nn.Parameter(torch.zeros(vocab_size))
# by:      self.bias = nn.Parameter(torch.zeros(vocab_size))
#          self.register_buffer("table", self.bert.token_table.weight.detach().clone())
# replace: self.bert.token_table.weight.T
# by:      self.table.T

# %% wrong MaskedLM detached_table of="table"
# No gradient reaches the table from the logits: use it without detach.
# replace: self.bert.token_table.weight.T
# by:      self.bert.token_table.weight.detach().T

# %% wrong MaskedLM data_of_the_table of="table"
# No gradient reaches the table from the logits: use the weight itself, not its data.
# replace: self.bert.token_table.weight.T
# by:      self.bert.token_table.weight.data.T

# %% right MaskedLM tied_under_two_names of="table"
# replace: self.bias = nn.Parameter(torch.zeros(vocab_size))
# by:      self.bias = nn.Parameter(torch.zeros(vocab_size))
#          self.output = nn.Linear(d_model, vocab_size, bias=False)
#          self.output.weight = self.bert.token_table.weight
# replace: logits = hidden @ self.bert.token_table.weight.T
# by:      logits = self.output(hidden)

# %% wrong MaskedLM bias_in_a_layer of="table"
# `bias` is an nn.Parameter of the model itself
# replace: self.bias = nn.Parameter(torch.zeros(vocab_size))
# by:      self.output = nn.Linear(1, vocab_size)
# replace: logits + self.bias
# by:      logits + self.output.bias

# %% wrong MaskedLM bias_forgotten of="table"
# You never add the bias.
# replace: return logits + self.bias
# by:      return logits

# %% wrong MaskedLM no_bias of="table"
# `bias` is an nn.Parameter of the model itself
# replace: self.bias = nn.Parameter(torch.zeros(vocab_size))
# by:
# replace: return logits + self.bias
# by:      return logits

# %% wrong MaskedLM bias_subtracted of="table"
# You subtract the bias: add it.
# replace: logits + self.bias
# by:      logits - self.bias

# %% wrong MaskedLM random_bias of="table"
# `bias` begins as vocab_size zeros, one for each token
# replace: torch.zeros(vocab_size)
# by:      torch.linspace(-1, 1, vocab_size)

# %% wrong MaskedLM bias_of_ones of="table"
# `bias` begins as vocab_size zeros, one for each token
# replace: torch.zeros(vocab_size)
# by:      torch.ones(vocab_size)

# %% wrong MaskedLM bias_is_a_tensor of="table"
# `bias` is an nn.Parameter of the model itself
# replace: nn.Parameter(torch.zeros(vocab_size))
# by:      torch.zeros(vocab_size)

# %% wrong MaskedLM bias_is_a_buffer of="table"
# `bias` is an nn.Parameter of the model itself
# replace: self.bias = nn.Parameter(torch.zeros(vocab_size))
# by:      self.register_buffer("bias", torch.zeros(vocab_size))

# %% wrong MaskedLM bias_of_the_width of="table"
# `bias` begins as vocab_size zeros, one for each token
# replace: torch.zeros(vocab_size)
# by:      torch.zeros(d_model)
# replace: logits = hidden @
# by:      logits = (hidden + self.bias) @
# replace: return logits + self.bias
# by:      return logits

# %% wrong MaskedLM segments_lost of="table"
# You do not pass the segments on to Bert.
# replace: self.bert(tokens, segments)
# by:      self.bert(tokens)

# %% wrong MaskedLM segments_required of="table"
# Your model needs segments: they may be left out.
# replace: segments: Tensor | None = None
# by:      segments: Tensor

# %% wrong MaskedLM probabilities of="table"
# You return probabilities: return logits, the loss applies softmax itself.
# replace: return logits + self.bias
# by:      return (logits + self.bias).softmax(-1)

# %% wrong MaskedLM log_probabilities of="table"
# You return log-probabilities: return the logits as they are.
# replace: return logits + self.bias
# by:      return (logits + self.bias).log_softmax(-1)

# %% wrong MaskedLM scaled of="table"
# You divide the logits by the root of d_model: nothing stands between the dot product and the bias.
# replace: return logits + self.bias
# by:      return logits / hidden.shape[-1] ** 0.5 + self.bias

# %% wrong MaskedLM normalised of="table"
# You normalise the output once more before the table: nothing stands between.
# replace: logits = hidden @
# by:      logits = F.layer_norm(hidden, hidden.shape[-1:]) @

# %% wrong MaskedLM gelu_between of="table"
# You put a nonlinearity between the output and the table: nothing stands between.
# replace: logits = hidden @
# by:      logits = F.gelu(hidden) @

# %% wrong MaskedLM transform_between of="table"
# there are no learned parts but `bert` and `bias`: the table of tokens makes the logits
# replace: self.bias = nn.Parameter(torch.zeros(vocab_size))
# by:      self.bias = nn.Parameter(torch.zeros(vocab_size))
#          self.transform = nn.Linear(d_model, d_model)
# replace: logits = hidden @
# by:      logits = self.transform(hidden) @

# %% wrong MaskedLM cosine of="table"
# You compare directions, by the cosine: a logit is the plain dot product.
# replace: logits = hidden @ self.bert.token_table.weight.T
# by:      table = F.normalize(self.bert.token_table.weight, dim=-1)
#          logits = F.normalize(hidden, dim=-1) @ table.T

# %% wrong MaskedLM position_table of="table"
# You compare with the table of positions: use that of the tokens.
# replace: logits = hidden @ self.bert.token_table.weight.T
# by:      table = self.bert.position_table.weight
#          logits = F.pad(hidden @ table.T, (0, len(self.bias) - len(table)))

# %% wrong MaskedLM embeddings_of_the_input of="table"
# You compare with the embeddings of this row's tokens: take the whole table.
# replace: logits = hidden @ self.bert.token_table.weight.T
#          return logits + self.bias
# by:      own = self.bert.token_table(tokens)
#          return hidden @ own.transpose(1, 2)

# %% wrong MaskedLM cls_alone of="table"
# You return logits at [CLS] alone: return them at each position.
# replace: hidden = self.bert(tokens, segments)
# by:      hidden = self.bert(tokens, segments)[:, 0]

# %% wrong MaskedLM before_the_encoder of="table"
# You compute the logits from the embeddings: take the output of your Bert.
# replace: hidden = self.bert(tokens, segments)
# by:      hidden = self.bert.norm(self.bert.token_table(tokens))

# %% wrong MaskedLM dropout_lost of="table"
# You do not pass `dropout` on to Bert.
# replace: num_heads, d_ff, dropout)
# by:      num_heads, d_ff)

# %% wrong MaskedLM dropout_of_its_own of="table"
# You drop features once more before the table: Bert has all the dropout there is.
# replace: hidden = self.bert(tokens, segments)
# by:      hidden = F.dropout(self.bert(tokens, segments), 0.5, self.training)

# %% wrong MaskedLM probabilities_in_evaluation of="table"
# In evaluation mode you return probabilities: it should be logits in both modes.
# replace: return logits + self.bias
# by:      logits = logits + self.bias
#          return logits if self.training else logits.softmax(-1)

# %% wrong MaskedLM gradient_in_training_alone of="table"
# In evaluation mode you switch gradients off: the mode has nothing to do with gradients.
# replace: logits = hidden @ self.bert.token_table.weight.T
#          return logits + self.bias
# by:      with torch.set_grad_enabled(self.training):
#              return hidden @ self.bert.token_table.weight.T + self.bias

# %% wrong MaskedLM columns_of_padding_removed of="table"
# You remove the positions where every row has padding: the logits should have the length of tokens.
# replace: hidden = self.bert(tokens, segments)
# by:      most = int((tokens != 0).sum(1).max())
#          if tokens.shape[1] <= self.bert.position_table.num_embeddings:
#              tokens = tokens[:, :most]
#              segments = None if segments is None else segments[:, :most]
#          hidden = self.bert(tokens, segments)

# %% wrong MaskedLM no_gradient_to_bert of="table"
# No gradient reaches Bert through your logits: leave no_grad and detach out.
# replace: hidden = self.bert(tokens, segments)
# by:      hidden = self.bert(tokens, segments).detach()

# %% wrong MaskedLM encoder_name of="table"
# your Bert is the part `bert`
# replace: self.bert = Bert
# by:      self.encoder = Bert
# replace: hidden = self.bert(
# by:      hidden = self.encoder(
# replace: self.bert.token
# by:      self.encoder.token

# %% wrong MaskedLM tuple_returned of="table"
# You return a tuple: return the logits alone.
# replace: return logits + self.bias
# by:      return hidden, logits + self.bias

# %% wrong MaskedLM super_forgotten of="table"
# `super().__init__()` is missing: make it the first line of `__init__`
# replace: super().__init__()
#          self.bert
# by:      self.bert

# %% right MaskedLM matrix_product of="table"
# replace: hidden @ self.bert.token_table.weight.T
# by:      torch.matmul(hidden, self.bert.token_table.weight.transpose(0, 1))

# %% right MaskedLM einsum of="table"
# replace: logits = hidden @ self.bert.token_table.weight.T
# by:      logits = torch.einsum("bld,vd->blv", hidden, self.bert.token_table.weight)

# %% right MaskedLM every_token_looked_up of="table"
# replace: logits = hidden @ self.bert.token_table.weight.T
# by:      every = self.bert.token_table(torch.arange(len(self.bias)))
#          logits = (hidden[:, :, None] * every).sum(-1)

# %% right MaskedLM all_arguments of="table"
# replace: self.bert(tokens, segments)
# by:      self.bert(tokens, segments=segments)
# replace: torch.zeros(vocab_size)
# by:      torch.zeros(vocab_size), requires_grad=True

# %% right MaskedLM bias_by_addition of="table"
# replace: return logits + self.bias
# by:      return torch.add(self.bias.expand_as(logits), logits)


# %% base sentence_vector summed
def sentence_vector(hidden: Tensor, tokens: Tensor, pool: str = "cls") -> Tensor:
    if pool == "cls":
        return hidden[:, 0]
    if pool == "mean":
        real = (tokens != 0).unsqueeze(-1)
        total = (hidden * real).sum(1)
        count = real.sum(1)
        return total / count
    raise ValueError(f"unknown pool {pool}")


# %% wrong sentence_vector padding_pooled of="summed"
# Your mean counts padding: leave it out of the sum and of the number.
# replace: real = (tokens != 0).unsqueeze(-1)
# by:      real = torch.ones_like(tokens).unsqueeze(-1)

# %% wrong sentence_vector divided_by_the_length of="summed"
# You leave padding out of the sum, but divide by the whole length: divide by the number of real
# tokens.
# replace: count = real.sum(1)
# by:      count = tokens.shape[1]

# %% wrong sentence_vector padding_in_the_sum of="summed"
# Padding is in your sum, and only its number is right: leave it out of both.
# replace: total = (hidden * real).sum(1)
# by:      total = hidden.sum(1)

# %% wrong sentence_vector summed_up of="summed"
# You return the sum: divide by the number of real tokens.
# replace: return total / count
# by:      return total

# %% wrong sentence_vector words_alone of="summed"
# Your mean leaves out [CLS] and [SEP]: they count as well, only padding does not.
# replace: tokens != 0
# by:      tokens > 3

# %% wrong sentence_vector without_cls of="summed"
# Your mean leaves out [CLS]: it counts as well.
# replace: tokens != 0
# by:      tokens > 1

# %% wrong sentence_vector without_sep of="summed"
# Your mean leaves out [SEP]: it counts as well.
# replace: tokens != 0
# by:      (tokens != 0) & (tokens != 2)

# %% wrong sentence_vector words_alone_whatever of="summed"
# Your mean begins after [CLS]: it counts as well.
# replace: total = (hidden * real).sum(1)
#          count = real.sum(1)
# by:      total = (hidden * real)[:, 1:].sum(1)
#          count = real[:, 1:].sum(1)

# %% wrong sentence_vector inverted of="summed"
# You average over the padding: turn the condition round.
# replace: tokens != 0
# by:      tokens == 0

# %% wrong sentence_vector mean_of_features of="summed"
# You average over the features: average over the positions, axis 1.
# replace: total = (hidden * real).sum(1)
#          count = real.sum(1)
#          return total / count
# by:      return hidden.mean(-1)

# %% wrong sentence_vector maximum of="summed"
# You take the largest value of each feature: take the mean.
# replace: total = (hidden * real).sum(1)
#          count = real.sum(1)
#          return total / count
# by:      return hidden.masked_fill(~real, -torch.inf).amax(1)

# %% wrong sentence_vector nonzero_outputs of="summed"
# You look for padding in the outputs: padding is where tokens is 0.
# replace: (tokens != 0).unsqueeze(-1)
# by:      hidden != 0

# %% wrong sentence_vector one_count_for_all of="summed"
# You divide every row by the same number: each row has its own number of real tokens.
# replace: count = real.sum(1)
# by:      count = real.sum(1).max()

# %% wrong sentence_vector mean_of_the_batch of="summed"
# You average over all rows of the batch: each row has its own vector.
# replace: total = (hidden * real).sum(1)
#          count = real.sum(1)
#          return total / count
# by:      total = (hidden * real).sum((0, 1))
#          return (total / real.sum()).expand(len(hidden), -1)

# %% wrong sentence_vector last_position of="summed"
# You take the last position: [CLS] stands at position 0.
# replace: hidden[:, 0]
# by:      hidden[:, -1]

# %% wrong sentence_vector second_position of="summed"
# You take position 1: [CLS] stands at position 0.
# replace: hidden[:, 0]
# by:      hidden[:, 1]

# %% wrong sentence_vector first_row of="summed"
# You take the first row of the batch: take position 0 of each row.
# replace: hidden[:, 0]
# by:      hidden[0]

# %% wrong sentence_vector first_feature of="summed"
# You take the first feature of each position: take position 0.
# replace: hidden[:, 0]
# by:      hidden[..., 0]

# %% wrong sentence_vector position_axis_kept of="summed"
# Your vector keeps an axis of 1 for the position: the docstring says (batch, d_model).
# replace: hidden[:, 0]
# by:      hidden[:, :1]

# %% wrong sentence_vector mean_axis_kept of="summed"
# Your mean keeps an axis of 1 for the position: the docstring says (batch, d_model).
# replace: return total / count
# by:      return (total / count)[:, None]

# %% wrong sentence_vector last_real_token of="summed"
# You take the last real token, [SEP]: pool="cls" is position 0.
# replace: return hidden[:, 0]
# by:      return hidden[torch.arange(len(hidden)), (tokens != 0).sum(1) - 1]

# %% wrong sentence_vector always_cls of="summed"
# You return the output at [CLS] whatever pool is.
# replace: if pool == "cls":
# by:      if pool in ("cls", "mean"):

# %% wrong sentence_vector always_mean of="summed"
# You return the mean whatever pool is.
# replace: if pool == "cls":
#              return hidden[:, 0]
#          if pool == "mean":
# by:      if True:

# %% wrong sentence_vector mean_by_default of="summed"
# Without pool you take the mean: the default is "cls".
# replace: pool: str = "cls"
# by:      pool: str = "mean"

# %% wrong sentence_vector anything_is_mean of="summed"
# For another word than "cls" and "mean" nothing is raised: raise a ValueError.
# replace: if pool == "mean":
# by:      if pool != "cls":

# %% wrong sentence_vector anything_is_cls of="summed"
# For another word than "cls" and "mean" nothing is raised: raise a ValueError.
# replace: if pool == "cls":
# by:      if pool != "mean":

# %% wrong sentence_vector key_error of="summed"
# For another pool you raise a KeyError: it should be a ValueError.
# replace: raise ValueError(f"unknown pool {pool}")
# by:      raise KeyError(pool)

# %% wrong sentence_vector nothing_raised of="summed"
# For another word than "cls" and "mean" nothing is raised: raise a ValueError.
# replace: raise ValueError(f"unknown pool {pool}")
# by:      return None

# %% wrong sentence_vector assertion of="summed"
# For another pool you raise an AssertionError: it should be a ValueError.
# replace: raise ValueError(f"unknown pool {pool}")
# by:      raise AssertionError(pool)

# %% wrong sentence_vector tokens_averaged of="summed"
# You average the tokens' ids: average the outputs.
# replace: (hidden * real).sum(1)
# by:      (tokens[..., None] * real).sum(1).to(hidden.dtype).expand_as(hidden[:, 0])

# %% wrong sentence_vector detached of="summed"
# no gradient flows through the result
# replace: return total / count
# by:      return (total / count).detach()

# %% wrong sentence_vector cls_detached of="summed"
# no gradient flows through the result
# replace: return hidden[:, 0]
# by:      return hidden[:, 0].detach()

# %% wrong sentence_vector normalised of="summed"
# You give the vector length 1: return it as it is.
# replace: return total / count
# by:      return F.normalize(total / count, dim=-1)

# %% wrong sentence_vector in_place of="summed"
# operations that end in _ (add_, masked_fill_), x[...] = y and x -= y write into the caller's
# tensor: make a new one
# replace: total = (hidden * real).sum(1)
# by:      with torch.no_grad():
#              hidden.masked_fill_(~real, 0.0)
#          total = hidden.sum(1)

# %% wrong sentence_vector float32 of="summed"
# something on the way has another dtype: .float(), a NumPy array, a tensor that you make
# replace: return total / count
# by:      return (total / count).float()

# %% wrong sentence_vector one_token_too_few of="summed"
# You divide by one less than the number of real tokens.
# replace: count = real.sum(1)
# by:      count = (real.sum(1) - 1).clamp(min=1)

# %% right sentence_vector masked_fill of="summed"
# replace: total = (hidden * real).sum(1)
# by:      total = hidden.masked_fill(~real, 0).sum(dim=1)

# %% right sentence_vector einsum of="summed"
# replace: total = (hidden * real).sum(1)
#          count = real.sum(1)
#          return total / count
# by:      share = real[..., 0].to(hidden.dtype)
#          share = share / share.sum(1, keepdim=True)
#          return torch.einsum("bl,bld->bd", share, hidden)

# %% right sentence_vector row_by_row of="summed"
# replace: total = (hidden * real).sum(1)
#          count = real.sum(1)
#          return total / count
# by:      return torch.stack([row[kept[:, 0]].mean(0) for row, kept in zip(hidden, real)])

# %% right sentence_vector matrix_product of="summed"
# replace: total = (hidden * real).sum(1)
# by:      total = (real.to(hidden.dtype).transpose(1, 2) @ hidden).squeeze(1)

# %% right sentence_vector match of="solution"
# replace: if pool == "cls":
#              return hidden[:, 0]
#          if pool != "mean":
#              raise ValueError(f"pool should be 'cls' or 'mean', got {pool!r}")
# by:      if pool not in ("cls", "mean"):
#              raise ValueError(f"pool should be 'cls' or 'mean', got {pool!r}")
#          if pool == "cls":
#              return hidden.select(1, 0)


# %% base test_of_vectors two_questions
def test_of_vectors(vector: Callable[[Tensor], Tensor]) -> bool:
    row = torch.tensor([[1, 5, 9, 4, 2]])
    other = torch.tensor([[1, 7, 6, 11, 2]])
    padded = torch.tensor([[1, 5, 9, 4, 2, 0, 0, 0]])
    alone, with_padding, different = vector(row), vector(padded), vector(other)
    same = bool((alone - with_padding).abs().max() < 1e-4)
    matters = bool((alone - different).abs().max() > 1e-4)
    return same and matters


# %% wrong test_of_vectors always_true of="two_questions"
# Your test accepts everything: it should return False for a vector that padding changes.
# replace: return same and matters
# by:      return True

# %% wrong test_of_vectors always_false of="two_questions"
# Your test accepts nothing, not even a usable vector: ask each question by itself.
# replace: return same and matters
# by:      return False

# %% wrong test_of_vectors padding_alone of="two_questions"
# You ask about padding alone: a row of the table does not depend on it, nor on the words.
# replace: return same and matters
# by:      return same

# %% wrong test_of_vectors words_alone of="two_questions"
# Your test does not notice what padding changes: compare a row with the same row and padding.
# replace: return same and matters
# by:      return matters

# %% wrong test_of_vectors either of="two_questions"
# One right answer is enough for you: both questions have to be passed.
# replace: same and matters
# by:      same or matters

# %% wrong test_of_vectors inverted of="two_questions"
# Your answer is the wrong way round: True means usable.
# replace: return same and matters
# by:      return not (same and matters)

# %% wrong test_of_vectors padding_should_matter of="two_questions"
# You expect padding to change the vector: it should not.
# replace: .abs().max() < 1e-4)
# by:      .abs().max() > 1e-4)

# %% wrong test_of_vectors words_should_not_matter of="two_questions"
# You expect other words to give the same vector: they should change it.
# replace: .abs().max() > 1e-4)
# by:      .abs().max() < 1e-4)

# %% wrong test_of_vectors exactly_equal of="two_questions"
# You compare with ==: rounding may change the last digits.
# replace: bool((alone - with_padding).abs().max() < 1e-4)
# by:      torch.equal(alone, with_padding)

# %% wrong test_of_vectors much_too_strict of="two_questions"
# You allow too little for rounding: only a change above 1e-4 counts.
# replace: .abs().max() < 1e-4)
# by:      .abs().max() < 1e-12)

# %% wrong test_of_vectors too_tolerant of="two_questions"
# You tolerate large changes: padding may change the vector by rounding only.
# replace: .abs().max() < 1e-4)
# by:      .abs().max() < 1.0)

# %% wrong test_of_vectors a_hundredth_tolerated of="two_questions"
# You tolerate large changes: padding may change the vector by rounding only.
# replace: .abs().max() < 1e-4)
# by:      .abs().max() < 1e-2)

# %% wrong test_of_vectors relative_tolerance of="two_questions"
# You tolerate changes in proportion to the numbers: padding may not change large ones either.
# replace: bool((alone - with_padding).abs().max() < 1e-4)
# by:      torch.allclose(alone, with_padding, rtol=1e-2, atol=1e-5)

# %% wrong test_of_vectors large_changes_asked_for of="two_questions"
# You ask for a large change by other words: a vector may have small numbers.
# replace: .abs().max() > 1e-4)
# by:      .abs().max() > 0.2)

# %% wrong test_of_vectors one_direction of="two_questions"
# You look for what padding raises: it may lower a number as well. Take the absolute value.
# replace: (alone - with_padding).abs().max() < 1e-4
# by:      (with_padding - alone).max() < 1e-4

# %% wrong test_of_vectors norms_compared of="two_questions"
# You compare how long the vectors are: two vectors of the same length may differ.
# replace: (alone - with_padding).abs().max() < 1e-4
# by:      (alone.norm() - with_padding.norm()).abs() < 1e-4

# %% wrong test_of_vectors little_and_much_padding of="two_questions"
# You compare one [PAD] with several: compare with a row that has none, too.
# replace: alone, with_padding, different = vector(row), vector(padded), vector(other)
# by:      alone, different = vector(F.pad(row, (0, 1))), vector(F.pad(other, (0, 1)))
#          with_padding = vector(padded)

# %% wrong test_of_vectors last_word_alone of="two_questions"
# You change the last word alone: a vector may depend on another one.
# replace: [[1, 7, 6, 11, 2]]
# by:      [[1, 5, 9, 11, 2]]

# %% wrong test_of_vectors words_out_of_range of="two_questions"
# Your rows contain words above 11: `vector` is made for those from 4 to 11.
# replace: [[1, 7, 6, 11, 2]]
# by:      [[1, 14, 6, 15, 2]]

# %% wrong test_of_vectors row_too_long of="two_questions"
# Your padded row is longer than 12 tokens: `vector` is made for a length up to 12.
# replace: padded = torch.tensor([[1, 5, 9, 4, 2, 0, 0, 0]])
# by:      padded = F.pad(row, (0, 9))

# %% wrong test_of_vectors padded_before_sep of="two_questions"
# You put padding before [SEP]: it comes at the end.
# replace: [[1, 5, 9, 4, 2, 0, 0, 0]]
# by:      [[1, 5, 9, 4, 0, 0, 0, 2]]

# %% wrong test_of_vectors mean_difference of="two_questions"
# Your test does not notice what padding changes: compare a row with the same row and padding.
# replace: bool((alone - with_padding).abs().max() < 1e-4)
# by:      bool((alone - with_padding).mean() < 1e-4)

# %% wrong test_of_vectors other_length of="two_questions"
# Your second sentence has another length: a vector that only counts tokens passes.
# replace: [[1, 7, 6, 11, 2]]
# by:      [[1, 7, 6, 2]]

# %% wrong test_of_vectors same_row_twice of="two_questions"
# Your test accepts nothing, not even a usable vector: ask each question by itself.
# replace: [[1, 7, 6, 11, 2]]
# by:      [[1, 5, 9, 4, 2]]

# %% wrong test_of_vectors nothing_padded of="two_questions"
# Your test does not notice what padding changes: compare a row with the same row and padding.
# replace: [[1, 5, 9, 4, 2, 0, 0, 0]]
# by:      [[1, 5, 9, 4, 2]]

# %% wrong test_of_vectors padded_with_sep of="two_questions"
# Your test accepts nothing, not even a usable vector: ask each question by itself.
# replace: 2, 0, 0, 0]]
# by:      2, 2, 2, 2]]

# %% wrong test_of_vectors padded_with_mask of="two_questions"
# Your test accepts nothing, not even a usable vector: ask each question by itself.
# replace: 2, 0, 0, 0]]
# by:      2, 3, 3, 3]]

# %% wrong test_of_vectors padded_in_front of="two_questions"
# You put padding in front: then [CLS] is no longer at position 0. It comes at the end.
# replace: [[1, 5, 9, 4, 2, 0, 0, 0]]
# by:      [[0, 0, 0, 1, 5, 9, 4, 2]]

# %% wrong test_of_vectors padded_other_sentence of="two_questions"
# Your test accepts nothing, not even a usable vector: ask each question by itself.
# replace: padded = torch.tensor([[1, 5, 9, 4, 2, 0, 0, 0]])
# by:      padded = torch.tensor([[1, 7, 6, 11, 2, 0, 0, 0]])

# %% wrong test_of_vectors both_padded of="two_questions"
# Both your rows have the same padding, so nothing shows whether it matters.
# replace: row = torch.tensor([[1, 5, 9, 4, 2]])
# by:      row = torch.tensor([[1, 5, 9, 4, 2, 0, 0, 0]])

# %% wrong test_of_vectors order_should_matter of="two_questions"
# You ask whether the order matters: a mean of embeddings is usable, and has no order.
# replace: [[1, 7, 6, 11, 2]]
# by:      [[1, 9, 4, 5, 2]]

# %% wrong test_of_vectors padding_compared_with_words of="two_questions"
# You ask whether padding changes the vector less than words do: it should not change it at all.
# replace: same = bool((alone - with_padding).abs().max() < 1e-4)
# by:      same = bool((alone - with_padding).norm() < (alone - different).norm())

# %% wrong test_of_vectors shapes_compared of="two_questions"
# Your test does not notice what padding changes: compare a row with the same row and padding.
# replace: bool((alone - with_padding).abs().max() < 1e-4)
# by:      alone.shape == with_padding.shape

# %% wrong test_of_vectors first_feature of="two_questions"
# You compare the first feature alone: a change may show in another one.
# replace: same = bool((alone - with_padding).abs().max() < 1e-4)
#          matters = bool((alone - different).abs().max() > 1e-4)
# by:      same = bool((alone - with_padding)[:, 0].abs().max() < 1e-4)
#          matters = True

# %% wrong test_of_vectors two_of_three of="two_questions"
# You swap the two questions: other words should change the vector, padding should not.
# replace: alone, with_padding, different = vector(row), vector(padded), vector(other)
# by:      alone, with_padding, different = vector(row), vector(other), vector(padded)

# %% wrong test_of_vectors every_feature_must_change of="two_questions"
# Your test accepts nothing, not even a usable vector: ask each question by itself.
# replace: bool((alone - different).abs().max() > 1e-4)
# by:      bool((different > alone).all())

# %% wrong test_of_vectors no_return of="two_questions"
# Your test returns nothing: does its last line say `return`?
# replace: return same and matters
# by:      same and matters

# %% wrong test_of_vectors numbers_returned of="two_questions"
# You return how much padding changes the vector: return True or False.
# replace: return same and matters
# by:      return float((alone - with_padding).abs().max())

# %% wrong test_of_vectors padding_first_row_of_a_batch of="two_questions"
# Your test does not notice what padding changes: compare a row with the same row and padding.
# replace: alone, with_padding, different = vector(row), vector(padded), vector(other)
# by:      both = vector(torch.cat([row, other]))
#          alone, with_padding, different = vector(row), both[:1], both[1:]

# %% wrong test_of_vectors length_as_padding of="two_questions"
# Your test accepts nothing, not even a usable vector: ask each question by itself.
# replace: [[1, 5, 9, 4, 2, 0, 0, 0]]
# by:      [[1, 5, 9, 2]]

# %% right test_of_vectors differences of="two_questions"
# replace: [[1, 5, 9, 4, 2, 0, 0, 0]]
# by:      [[1, 5, 9, 4, 2, 0]]

# %% right test_of_vectors in_a_batch of="two_questions"
# replace: alone, with_padding, different = vector(row), vector(padded), vector(other)
# by:      longer = torch.tensor([[1, 4, 6, 8, 10, 7, 5, 2]])
#          alone, different = vector(row), vector(other)
#          with_padding = vector(torch.cat([longer, padded]))[1:]

# %% right test_of_vectors many_sentences of="two_questions"
# replace: matters = bool((alone - different).abs().max() > 1e-4)
# by:      rows = torch.tensor([[1, a, b, c, 2] for a in (4, 8) for b in (5, 9) for c in (6, 10)])
#          matters = bool(vector(rows).std(0).max() > 1e-4)

# %% right test_of_vectors several_paddings of="two_questions"
# replace: same = bool((alone - with_padding).abs().max() < 1e-4)
# by:      same = all(
#              torch.allclose(vector(F.pad(row, (0, n))), alone, rtol=1e-4, atol=1e-4)
#              for n in (1, 2, 5, 7)
#          )

# %% right test_of_vectors early_returns of="two_questions"
# replace: return same and matters
# by:      if not same:
#              return False
#          return matters

# %% right test_of_vectors distances of="two_questions"
# replace: same = bool((alone - with_padding).abs().max() < 1e-4)
#          matters = bool((alone - different).abs().max() > 1e-4)
# by:      same = torch.dist(alone, with_padding).item() < 1e-4
#          matters = torch.dist(alone, different).item() > 1e-3


# %% base SentenceClassifier plain
class SentenceClassifier(nn.Module):
    def __init__(
        self,
        num_classes,
        vocab_size,
        max_length,
        d_model,
        num_layers,
        num_heads,
        d_ff,
        dropout=0.0,
        pool="cls",
    ) -> None:
        super().__init__()
        self.pool = pool
        self.bert = Bert(vocab_size, max_length, d_model, num_layers, num_heads, d_ff, dropout)
        self.head = nn.Linear(d_model, num_classes)

    def forward(self, tokens: Tensor, segments: Tensor | None = None) -> Tensor:
        hidden = self.bert(tokens, segments)
        vector = sentence_vector(hidden, tokens, self.pool)
        return self.head(vector)


# %% wrong SentenceClassifier cls_embedding of="plain"
# You classify the row of [CLS] in the table of tokens, which is the same for every sentence: take
# the output of Bert.
# replace: hidden = self.bert(tokens, segments)
# by:      self.bert(tokens, segments)
#          hidden = self.bert.token_table(tokens)

# %% wrong SentenceClassifier pool_lost of="plain"
# You do not pass `pool` on, so it is always "cls".
# replace: sentence_vector(hidden, tokens, self.pool)
# by:      sentence_vector(hidden, tokens)

# %% wrong SentenceClassifier always_mean of="plain"
# Your classifier always takes the mean: pass `pool` on.
# replace: sentence_vector(hidden, tokens, self.pool)
# by:      sentence_vector(hidden, tokens, "mean")

# %% wrong SentenceClassifier mean_by_default of="plain"
# Your default for pool is "mean": it should be "cls".
# replace: pool="cls"
# by:      pool="mean"

# %% wrong SentenceClassifier mean_with_padding of="plain"
# Your mean counts padding: use your sentence_vector.
# replace: vector = sentence_vector(hidden, tokens, self.pool)
# by:      vector = hidden[:, 0] if self.pool == "cls" else hidden.mean(1)

# %% wrong SentenceClassifier segments_lost of="plain"
# You do not pass the segments on to Bert.
# replace: self.bert(tokens, segments)
# by:      self.bert(tokens)

# %% wrong SentenceClassifier segments_required of="plain"
# Your classifier needs segments: they may be left out.
# replace: segments: Tensor | None = None
# by:      segments: Tensor

# %% wrong SentenceClassifier dropout_lost of="plain"
# You do not pass `dropout` on to Bert.
# replace: num_heads, d_ff, dropout)
# by:      num_heads, d_ff)

# %% wrong SentenceClassifier dropout_before_the_head of="plain"
# You drop features once more before the head: Bert has all the dropout there is.
# replace: self.head(vector)
# by:      self.head(F.dropout(vector, 0.5, self.training))

# %% wrong SentenceClassifier dropout_at_cls_alone of="plain"
# You drop parts of the vector at [CLS]: there is no dropout but Bert's own.
# replace: self.pool = pool
# by:      self.pool = pool
#          self.drop = nn.Dropout(dropout if pool == "cls" else 0.0)
# replace: self.head(vector)
# by:      self.head(self.drop(vector))

# %% wrong SentenceClassifier probabilities_in_evaluation of="plain"
# In evaluation mode you return probabilities: it should be logits in both modes.
# replace: return self.head(vector)
# by:      logits = self.head(vector)
#          return logits if self.training else logits.softmax(-1)

# %% wrong SentenceClassifier probabilities of="plain"
# You return probabilities: return logits, the loss applies softmax itself.
# replace: return self.head(vector)
# by:      return self.head(vector).softmax(-1)

# %% wrong SentenceClassifier log_probabilities of="plain"
# You return log-probabilities: return the logits as they are.
# replace: return self.head(vector)
# by:      return self.head(vector).log_softmax(-1)

# %% wrong SentenceClassifier sigmoid of="plain"
# You put the logits through a sigmoid: return them as they are.
# replace: return self.head(vector)
# by:      return self.head(vector).sigmoid()

# %% wrong SentenceClassifier argmax of="plain"
# You return the likeliest class: return the logits.
# replace: return self.head(vector)
# by:      return self.head(vector).argmax(-1)

# %% wrong SentenceClassifier tanh_before_the_head of="plain"
# You put a tanh before the head, as BERT's pooler does: the head comes right after the pooling.
# replace: self.head(vector)
# by:      self.head(vector.tanh())

# %% wrong SentenceClassifier pooler of="plain"
# there are no learned parts but `bert` and `head`
# replace: self.head = nn.Linear(d_model, num_classes)
# by:      self.head = nn.Linear(d_model, num_classes)
#          self.pooler = nn.Linear(d_model, d_model)
# replace: self.head(vector)
# by:      self.head(self.pooler(vector).tanh())

# %% wrong SentenceClassifier norm_before_the_head of="plain"
# You normalise the vector before the head: the head comes right after the pooling.
# replace: self.head(vector)
# by:      self.head(F.layer_norm(vector, vector.shape[-1:]))

# %% wrong SentenceClassifier two_layers of="plain"
# `head` is one nn.Linear from d_model to num_classes, with a bias
# replace: nn.Linear(d_model, num_classes)
# by:      nn.Sequential(nn.Linear(d_model, d_ff), nn.GELU(), nn.Linear(d_ff, num_classes))

# %% wrong SentenceClassifier head_without_bias of="plain"
# `head` is one nn.Linear from d_model to num_classes, with a bias
# replace: nn.Linear(d_model, num_classes)
# by:      nn.Linear(d_model, num_classes, bias=False)

# %% wrong SentenceClassifier head_swapped of="plain"
# `head` is one nn.Linear from d_model to num_classes, with a bias
# replace: nn.Linear(d_model, num_classes)
# by:      nn.Linear(num_classes, d_model)

# %% wrong SentenceClassifier two_classes of="plain"
# `head` is one nn.Linear from d_model to num_classes, with a bias
# replace: nn.Linear(d_model, num_classes)
# by:      nn.Linear(d_model, 2)

# %% wrong SentenceClassifier vocabulary_head of="plain"
# `head` is one nn.Linear from d_model to num_classes, with a bias
# replace: nn.Linear(d_model, num_classes)
# by:      nn.Linear(d_model, vocab_size)

# %% wrong SentenceClassifier every_position of="plain"
# You classify every position: the head gets one vector for each row.
# replace: return self.head(vector)
# by:      return self.head(hidden)

# %% wrong SentenceClassifier pooled_logits of="plain"
# You take the logits at the last position: take your sentence_vector, then the head.
# replace: return self.head(vector)
# by:      return self.head(hidden)[:, -1]

# %% wrong SentenceClassifier frozen_bert of="plain"
# No gradient reaches Bert: leave no_grad and detach out; fine_tune decides what is frozen.
# replace: hidden = self.bert(tokens, segments)
# by:      hidden = self.bert(tokens, segments).detach()

# %% wrong SentenceClassifier no_gradient of="plain"
# no gradient flows through the result
# replace: return self.head(vector)
# by:      with torch.no_grad():
#              return self.head(vector)

# %% wrong SentenceClassifier classifier_name of="plain"
# `head` is one nn.Linear from d_model to num_classes, with a bias
# replace: self.head = nn
# by:      self.classifier = nn
# replace: self.head(vector)
# by:      self.classifier(vector)

# %% wrong SentenceClassifier encoder_name of="plain"
# your Bert is the part `bert`
# replace: self.bert = Bert
# by:      self.encoder = Bert
# replace: hidden = self.bert(
# by:      hidden = self.encoder(

# %% wrong SentenceClassifier masked_lm of="plain"
# your Bert is the part `bert`
# replace: self.bert = Bert(
# by:      self.bert = MaskedLM(
# replace: hidden = self.bert(tokens, segments)
# by:      hidden = self.bert.bert(tokens, segments)

# %% wrong SentenceClassifier super_forgotten of="plain"
# `super().__init__()` is missing: make it the first line of `__init__`
# replace: super().__init__()
#          self.pool
# by:      self.pool

# %% wrong SentenceClassifier last_classes_dropped of="plain"
# You squeeze the logits of the batch into one axis: they are (batch, num_classes).
# replace: return self.head(vector)
# by:      return self.head(vector).flatten()

# %% wrong SentenceClassifier pair_of_results of="plain"
# You return the vector as well: return the logits alone.
# replace: return self.head(vector)
# by:      return self.head(vector), vector

# %% wrong SentenceClassifier mean_of_both of="plain"
# You add the mean to the output at [CLS]: `pool` says which of the two it is.
# replace: vector = sentence_vector(hidden, tokens, self.pool)
# by:      vector = sentence_vector(hidden, tokens) + sentence_vector(hidden, tokens, "mean")

# %% right SentenceClassifier by_itself of="plain"
# replace: vector = sentence_vector(hidden, tokens, self.pool)
# by:      vector = sentence_vector(hidden, tokens, pool=self.pool)

# %% right SentenceClassifier columns_of_padding_removed of="plain"
# replace: hidden = self.bert(tokens, segments)
# by:      most = int((tokens != 0).sum(1).max())
#          if tokens.shape[1] <= self.bert.position_table.num_embeddings:
#              tokens = tokens[:, :most]
#              segments = None if segments is None else segments[:, :most]
#          hidden = self.bert(tokens, segments)

# %% right SentenceClassifier functional of="plain"
# replace: return self.head(vector)
# by:      return F.linear(vector, self.head.weight, self.head.bias)

# %% right SentenceClassifier pooled_by_itself of="plain"
# replace: vector = sentence_vector(hidden, tokens, self.pool)
# by:      real = (tokens != 0)[..., None].to(hidden.dtype)
#          if self.pool == "cls":
#              real = (torch.arange(tokens.shape[1]) == 0)[None, :, None].to(hidden.dtype)
#          vector = (hidden * real).sum(1) / real.sum(1)

# %% right SentenceClassifier mean_of_the_logits of="plain"
# replace: return self.head(vector)
# by:      return sentence_vector(self.head(hidden), tokens, self.pool)

# %% right SentenceClassifier kept_in_a_function of="plain"
# replace: self.pool = pool
# by:      self.reduce = lambda hidden, tokens: sentence_vector(hidden, tokens, pool)
# replace: sentence_vector(hidden, tokens, self.pool)
# by:      self.reduce(hidden, tokens)


# %% base fine_tune switched
def fine_tune(
    model: nn.Module,
    tokens: Tensor,
    labels: Tensor,
    steps: int,
    lr: float,
    batch_size: int = 16,
    frozen: bool = False,
    generator: torch.Generator | None = None,
) -> Tensor:
    model.train()
    before = {name: w.requires_grad for name, w in model.named_parameters()}
    if frozen:
        model.bert.eval()
        for weight in model.bert.parameters():
            weight.requires_grad = False
    optimizer = torch.optim.AdamW([w for w in model.parameters() if w.requires_grad], lr=lr)
    losses = []
    for _ in range(steps):
        rows = torch.randint(0, len(tokens), (batch_size,), generator=generator)
        loss = F.cross_entropy(model(tokens[rows]), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    for name, weight in model.named_parameters():
        weight.requires_grad = before[name]
    model.eval()
    return torch.tensor(losses)


# %% wrong fine_tune sgd of="switched"
# You train with SGD: it should be AdamW.
# replace: torch.optim.AdamW([w for w in model.parameters() if w.requires_grad], lr=lr)
# by:      torch.optim.SGD([w for w in model.parameters() if w.requires_grad], lr=lr)

# %% wrong fine_tune adam of="switched"
# You train with Adam, which has no weight decay: it should be AdamW.
# replace: torch.optim.AdamW(
# by:      torch.optim.Adam(

# %% wrong fine_tune no_weight_decay of="switched"
# You switch the weight decay off: leave AdamW's defaults.
# replace: torch.optim.AdamW([w for w in model.parameters() if w.requires_grad], lr=lr)
# by:      torch.optim.AdamW(
#              [w for w in model.parameters() if w.requires_grad], lr=lr, weight_decay=0.0
#          )

# %% wrong fine_tune more_weight_decay of="switched"
# You set the weight decay yourself: leave AdamW's defaults.
# replace: torch.optim.AdamW([w for w in model.parameters() if w.requires_grad], lr=lr)
# by:      torch.optim.AdamW(
#              [w for w in model.parameters() if w.requires_grad], lr=lr, weight_decay=0.1
#          )

# %% wrong fine_tune fixed_rate of="switched"
# You train with AdamW's default rate: pass lr on.
# replace: , lr=lr)
# by:      )

# %% wrong fine_tune other_betas of="switched"
# You set AdamW's betas yourself: leave its defaults.
# replace: torch.optim.AdamW([w for w in model.parameters() if w.requires_grad], lr=lr)
# by:      torch.optim.AdamW(
#              [w for w in model.parameters() if w.requires_grad], lr=lr, betas=(0.9, 0.98)
#          )

# %% wrong fine_tune schedule of="switched"
# Your rate falls from step to step: it should stay lr.
# replace: losses = []
# by:      losses = []
#          schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
# replace: losses.append(loss.item())
# by:      schedule.step()
#          losses.append(loss.item())

# %% wrong fine_tune warm_up of="switched"
# Your rate rises in the first steps: it should be lr from the first step on.
# replace: optimizer.step()
# by:      optimizer.param_groups[0]["lr"] = lr * min(1.0, (len(losses) + 1) / 4)
#          optimizer.step()

# %% wrong fine_tune gradients_kept of="switched"
# You never set the gradients back to zero, so they add up from step to step.
# replace: optimizer.zero_grad()
# by:

# %% wrong fine_tune gradients_cleared_after_backward of="switched"
# You clear the gradients after backward, so that no update happens.
# replace: optimizer.zero_grad()
#          loss.backward()
# by:      loss.backward()
#          optimizer.zero_grad()

# %% wrong fine_tune no_update of="switched"
# You never let the optimizer take a step, so nothing is learned.
# replace: optimizer.step()
# by:

# %% wrong fine_tune head_alone of="switched"
# You train the head alone, even if bert is not frozen.
# replace: [w for w in model.parameters() if w.requires_grad]
# by:      model.head.parameters()

# %% wrong fine_tune optimizer_in_the_loop of="switched"
# You make a new optimizer in each step, which forgets its moments: make it once.
# replace: optimizer.zero_grad()
# by:      optimizer = torch.optim.AdamW([w for w in model.parameters() if w.requires_grad], lr=lr)
#          optimizer.zero_grad()

# %% wrong fine_tune clipped of="switched"
# You clip the gradients: the docstring asks for one plain update.
# replace: optimizer.step()
# by:      nn.utils.clip_grad_norm_([w for w in model.parameters() if w.requires_grad], 1e-3)
#          optimizer.step()

# %% wrong fine_tune two_updates_a_step of="switched"
# You update twice in each step.
# replace: optimizer.step()
# by:      optimizer.step()
#          optimizer.step()

# %% wrong fine_tune loss_after_the_update of="switched"
# You keep the loss after the update: keep the one before it.
# replace: losses.append(loss.item())
# by:      losses.append(F.cross_entropy(model(tokens[rows]), labels[rows]).item())

# %% wrong fine_tune summed_loss of="switched"
# You sum the loss over the batch: take the mean.
# replace: labels[rows])
# by:      labels[rows], reduction="sum")

# %% wrong fine_tune softmax_twice of="switched"
# You give probabilities to cross_entropy, which takes logits: it applies softmax itself.
# replace: model(tokens[rows])
# by:      model(tokens[rows]).softmax(-1)

# %% wrong fine_tune smoothed of="switched"
# You smooth the labels: the plain cross-entropy is asked for.
# replace: labels[rows])
# by:      labels[rows], label_smoothing=0.1)

# %% wrong fine_tune last_loss of="switched"
# You return the last loss alone: return the loss of each step.
# replace: return torch.tensor(losses)
# by:      return torch.tensor(losses[-1:])

# %% wrong fine_tune mean_loss of="switched"
# You return the mean of all losses: return the loss of each step.
# replace: return torch.tensor(losses)
# by:      return torch.tensor(losses).mean()

# %% wrong fine_tune running_mean of="switched"
# You return a running mean of the losses: return the loss of each step.
# replace: return torch.tensor(losses)
# by:      return torch.tensor(losses).cumsum(0) / torch.arange(1, steps + 1)

# %% wrong fine_tune list_returned of="switched"
# You return a list: make a tensor of it.
# replace: return torch.tensor(losses)
# by:      return losses

# %% wrong fine_tune losses_with_graph of="switched"
# Your losses still hang on the graph: detach them.
# replace: losses.append(loss.item())
# by:      losses.append(loss)
# replace: return torch.tensor(losses)
# by:      return torch.stack(losses)

# %% wrong fine_tune model_returned of="switched"
# You return the model: return the losses.
# replace: return torch.tensor(losses)
# by:      return model

# %% wrong fine_tune one_column of="switched"
# Your losses have the shape (steps, 1): the docstring says (steps,).
# replace: return torch.tensor(losses)
# by:      return torch.tensor(losses)[:, None]

# %% wrong fine_tune rate_falls_after_50_steps of="switched"
# Your rate falls after 50 steps: it should stay lr.
# replace: losses = []
# by:      losses = []
#          schedule = torch.optim.lr_scheduler.StepLR(optimizer, 50, 0.1)
# replace: losses.append(loss.item())
# by:      schedule.step()
#          losses.append(loss.item())

# %% wrong fine_tune last_update_left_out of="switched"
# Your last step makes no update: each of the steps makes one.
# replace: optimizer.step()
# by:      if len(losses) < steps - 1:
#              optimizer.step()

# %% wrong fine_tune every_other_loss of="switched"
# You take one step too few.
# replace: range(steps)
# by:      range(steps - 1)

# %% wrong fine_tune epochs of="switched"
# You take `steps` as passes over all rows: a step is one update.
# replace: for _ in range(steps):
# by:      for _ in range(steps * max(1, len(tokens) // 2 + 1)):

# %% wrong fine_tune without_replacement of="switched"
# You draw rows without replacement: a batch may contain a row twice.
# replace: torch.randint(0, len(tokens), (batch_size,), generator=generator)
# by:      torch.randperm(len(tokens), generator=generator)[:batch_size]

# %% wrong fine_tune replaced_only_if_needed of="switched"
# You draw with replacement only if the batch is larger than the data: it should always be so.
# replace: rows = torch.randint(0, len(tokens), (batch_size,), generator=generator)
# by:      alike, larger = torch.ones(len(tokens)), batch_size > len(tokens)
#          rows = torch.multinomial(alike, batch_size, larger, generator=generator)

# %% wrong fine_tune shuffled_epochs of="switched"
# You go through all rows before one comes again: draw with replacement.
# replace: losses = []
# by:      losses, left = [], torch.zeros(0, dtype=torch.int64)
# replace: rows = torch.randint(0, len(tokens), (batch_size,), generator=generator)
# by:      while len(left) < batch_size:
#              left = torch.cat([left, torch.randperm(len(tokens), generator=generator)])
#          rows, left = left[:batch_size], left[batch_size:]

# %% wrong fine_tune all_rows of="switched"
# You use all rows in every step: draw batch_size of them.
# replace: torch.randint(0, len(tokens), (batch_size,), generator=generator)
# by:      torch.arange(len(tokens))

# %% wrong fine_tune first_rows of="switched"
# You use the same rows in every step: draw new ones.
# replace: torch.randint(0, len(tokens), (batch_size,), generator=generator)
# by:      torch.arange(batch_size) % len(tokens)

# %% wrong fine_tune in_order of="switched"
# You take the rows in their order: draw them at random.
# replace: torch.randint(0, len(tokens), (batch_size,), generator=generator)
# by:      (torch.arange(batch_size) + batch_size * len(losses)) % len(tokens)

# %% wrong fine_tune drawn_once of="switched"
# You draw the rows once, before the loop: draw new ones in each step.
# replace: losses = []
# by:      losses = []
#          rows = torch.randint(0, len(tokens), (batch_size,), generator=generator)
# replace: for _ in range(steps):
#              rows = torch.randint(0, len(tokens), (batch_size,), generator=generator)
# by:      for _ in range(steps):

# %% wrong fine_tune labels_of_other_rows of="switched"
# You draw the labels apart from the rows: each row needs its own label.
# replace: loss = F.cross_entropy(model(tokens[rows]), labels[rows])
# by:      others = torch.randint(0, len(tokens), (batch_size,), generator=generator)
#          loss = F.cross_entropy(model(tokens[rows]), labels[others])

# %% wrong fine_tune last_row_never of="switched"
# Your last row is never drawn: randint leaves its upper bound out already.
# replace: torch.randint(0, len(tokens), (
# by:      torch.randint(0, max(1, len(tokens) - 1), (

# %% wrong fine_tune first_row_never of="switched"
# Your first row is never drawn: draw from 0 on.
# replace: rows = torch.randint(0, len(tokens), (batch_size,), generator=generator)
# by:      least = min(1, len(tokens) - 1)
#          rows = torch.randint(least, len(tokens), (batch_size,), generator=generator)

# %% wrong fine_tune generator_forgotten of="switched"
# You draw from torch's global generator, not from the one that you are given.
# replace: (batch_size,), generator=generator)
# by:      (batch_size,))

# %% wrong fine_tune seed_of_its_own of="switched"
# You set the seed in the function: leave the generator as it is.
# replace: model.train()
#          before
# by:      if generator is not None:
#              generator.manual_seed(0)
#          model.train()
#          before

# %% wrong fine_tune own_generator of="switched"
# You draw from a generator of your own: use the one that you are given.
# replace: model.train()
#          before
# by:      generator = torch.Generator().manual_seed(0)
#          model.train()
#          before

# %% wrong fine_tune batch_size_fixed of="switched"
# Your batch always has 16 rows: draw batch_size.
# replace: (batch_size,)
# by:      (16,)

# %% wrong fine_tune other_default of="switched"
# Your default for batch_size is 8: the signature says 16.
# replace: batch_size: int = 16
# by:      batch_size: int = 8

# %% wrong fine_tune larger_default of="switched"
# Your default for batch_size is 32: the signature says 16.
# replace: batch_size: int = 16
# by:      batch_size: int = 32

# %% wrong fine_tune never_training of="switched"
# You train in whatever mode the model comes in: switch to training mode first.
# replace: model.train()
#          before
# by:      before

# %% wrong fine_tune trained_in_evaluation_mode of="switched"
# You train in evaluation mode: dropout and batch norm are off.
# replace: model.train()
#          before
# by:      model.eval()
#          before

# %% wrong fine_tune left_in_training_mode of="switched"
# You leave the model in training mode: switch it to evaluation at the end.
# replace: model.eval()
#          return
# by:      return

# %% wrong fine_tune left_by_part of="switched"
# You leave parts of the model in training mode: switch all of it to evaluation.
# replace: model.eval()
#          return
# by:      model.bert.eval()
#          return

# %% wrong fine_tune frozen_in_training_mode of="switched"
# Your frozen bert is in training mode: its dropout is on, and batch norm changes its statistics.
# replace: model.bert.eval()
# by:

# %% wrong fine_tune training_mode_after_freezing of="switched"
# You switch the whole model to training mode after bert was switched to evaluation: turn the order
# round.
# replace: losses = []
# by:      losses = []
#          model.train()

# %% wrong fine_tune everything_in_evaluation of="switched"
# Your frozen bert is in evaluation mode, and so is the head: that one is still trained in training
# mode.
# replace: model.bert.eval()
# by:      model.eval()

# %% wrong fine_tune frozen_ignored of="switched"
# You train bert although it is frozen.
# replace: if frozen:
# by:      if False:

# %% wrong fine_tune frozen_by_mode of="switched"
# Evaluation mode does not keep weights from changing: keep them out of the optimizer.
# replace: for weight in model.bert.parameters():
#              weight.requires_grad = False
# by:

# %% wrong fine_tune zero_gradients of="switched"
# You set the gradients of a frozen bert to zero, but AdamW still shrinks its weights: keep them out
# of the optimizer.
# replace: for weight in model.bert.parameters():
#              weight.requires_grad = False
# by:
# replace: optimizer.step()
# by:      if frozen:
#              for weight in model.bert.parameters():
#                  if weight.grad is not None:
#                      weight.grad.zero_()
#          optimizer.step()

# %% wrong fine_tune rate_of_zero_for_bert of="switched"
# You give a frozen bert a tiny rate: it should not change at all.
# replace: for weight in model.bert.parameters():
#              weight.requires_grad = False
# by:
# replace: optimizer = torch.optim.AdamW([w for w in model.parameters() if w.requires_grad], lr=lr)
# by:      groups = [
#              {"params": list(model.bert.parameters()), "lr": lr * 1e-3 if frozen else lr},
#              {"params": list(model.head.parameters())},
#          ]
#          optimizer = torch.optim.AdamW(groups, lr=lr)

# %% wrong fine_tune first_part_frozen of="switched"
# You freeze the table of bert alone: all of its parameters stay.
# replace: for weight in model.bert.parameters():
#              weight.requires_grad = False
# by:      next(model.bert.parameters()).requires_grad = False

# %% wrong fine_tune head_by_its_name of="switched"
# You train `head` alone when bert is frozen: all parts but bert are trained, whatever their names.
# replace: [w for w in model.parameters() if w.requires_grad]
# by:      (model.head if frozen else model).parameters()

# %% wrong fine_tune modes_by_name of="switched"
# You switch bert and head alone to training mode: a model may have other parts. Take model.train().
# replace: model.train()
#          before
# by:      model.bert.train()
#          model.head.train()
#          before

# %% wrong fine_tune names_that_begin_with_bert of="solution"
# You freeze every parameter whose name begins with bert: take those of model.bert alone.
# replace: name.startswith("bert.")
# by:      name.startswith("bert")

# %% wrong fine_tune names_with_bert of="solution"
# You freeze every parameter with bert in its name: take those of model.bert alone.
# replace: name.startswith("bert.")
# by:      "bert" in name

# %% wrong fine_tune head_frozen of="switched"
# You freeze the head: it is the part that is trained.
# replace: for weight in model.bert.parameters():
#              weight.requires_grad = False
# by:      for weight in model.head[1].parameters():
#              weight.requires_grad = False

# %% wrong fine_tune left_frozen of="switched"
# You leave bert with requires_grad = False: set each back to what it was.
# replace: for name, weight in model.named_parameters():
#              weight.requires_grad = before[name]
# by:

# %% wrong fine_tune all_thawed of="switched"
# You set requires_grad to True everywhere: some weights may have needed no gradient before.
# replace: weight.requires_grad = before[name]
# by:      weight.requires_grad = True

# %% wrong fine_tune all_thawed_at_first of="switched"
# You set requires_grad to True before training: some weights may have needed no gradient.
# replace: losses = []
# by:      losses = []
#          if not frozen:
#              for weight in model.parameters():
#                  weight.requires_grad = True
#              optimizer = torch.optim.AdamW(model.parameters(), lr=lr)

# %% wrong fine_tune trained_on_a_copy of="switched"
# You train a copy of the model: train the one that you are given.
# replace: model.train()
#          before
# by:      import copy
#
#          model.eval()
#          model = copy.deepcopy(model)
#          model.train()
#          before

# %% wrong fine_tune set_back_at_the_end of="switched"
# You load the old weights at the end: the model should keep what it has learned.
# replace: before = {name
# by:      old = {name: w.detach().clone() for name, w in model.state_dict().items()}
#          before = {name
# replace: model.eval()
#          return
# by:      model.load_state_dict(old)
#          model.eval()
#          return

# %% wrong fine_tune evaluated_between of="switched"
# You call the model twice in each step, in training mode: once is enough.
# replace: optimizer.zero_grad()
# by:      model(tokens[rows])
#          optimizer.zero_grad()

# %% wrong fine_tune loss_in_evaluation_mode of="switched"
# You keep a loss that you compute in evaluation mode: keep the one that you train with.
# replace: optimizer.zero_grad()
# by:      model.eval()
#          with torch.no_grad():
#              kept = F.cross_entropy(model(tokens[rows]), labels[rows])
#          model.train()
#          model.bert.train(not frozen)
#          optimizer.zero_grad()
# replace: losses.append(loss.item())
# by:      losses.append(kept.item())

# %% right fine_tune requires_grad_switched of="switched"
# replace: torch.randint(0, len(tokens), (batch_size,), generator=generator)
# by:      torch.randint(len(tokens), size=(batch_size,), generator=generator)

# %% right fine_tune uniform_numbers of="switched"
# replace: torch.randint(0, len(tokens), (batch_size,), generator=generator)
# by:      (torch.rand(batch_size, generator=generator) * len(tokens)).long()

# %% right fine_tune multinomial of="switched"
# replace: torch.randint(0, len(tokens), (batch_size,), generator=generator)
# by:      torch.multinomial(torch.ones(len(tokens)), batch_size, True, generator=generator)

# %% right fine_tune gradients_asked_for of="switched"
# replace: optimizer.zero_grad()
#          loss.backward()
# by:      chosen = [w for w in model.parameters() if w.requires_grad]
#          slopes = torch.autograd.grad(loss, chosen)
#          for weight, slope in zip(chosen, slopes, strict=True):
#              weight.grad = slope

# %% right fine_tune all_given_to_the_optimizer of="switched"
# replace: [w for w in model.parameters() if w.requires_grad]
# by:      model.parameters()
# replace: optimizer.zero_grad()
# by:      model.zero_grad(set_to_none=True)

# %% right fine_tune head_parameters of="solution"
# replace: named = list(model.named_parameters())
#          trained = [w for name, w in named if not (frozen and name.startswith("bert."))]
# by:      of_bert = set(model.bert.parameters()) if frozen else set()
#          trained = [weight for weight in model.parameters() if weight not in of_bert]

# %% right fine_tune written_into_zeros of="solution"
# replace: optimizer, losses = torch.optim.AdamW(trained, lr=lr), []
#          for _ in range(steps):
# by:      optimizer, losses = torch.optim.AdamW(trained, lr=lr), torch.zeros(steps)
#          for step in range(steps):
# replace: losses.append(loss.detach())
# by:      losses[step] = loss.detach()
# replace: return torch.stack(losses)
# by:      return losses

# %% right fine_tune log_softmax of="switched"
# replace: loss = F.cross_entropy(model(tokens[rows]), labels[rows])
# by:      log_probs = model(tokens[rows]).log_softmax(-1)
#          loss = -log_probs[torch.arange(batch_size), labels[rows]].mean()

# %% right fine_tune written_out of="switched"
# replace: rows = torch.randint(0, len(tokens), (batch_size,), generator=generator)
#          loss = F.cross_entropy(model(tokens[rows]), labels[rows])
# by:      rows = torch.randint(0, len(tokens), (batch_size,), generator=generator)
#          criterion = nn.CrossEntropyLoss()
#          loss = criterion(model(tokens.index_select(0, rows)), labels.index_select(0, rows))


# %% wrong mask_tokens one_word_for_each_row of="solution"
# You draw one word for a whole row: each chosen word gets a draw of its own.
# replace: words = torch.randint(FIRST_WORD, vocab_size, tokens.shape, generator=generator)
# by:      words = torch.randint(FIRST_WORD, vocab_size, (len(tokens), 1), generator=generator)


# %% wrong masked_lm_loss ignores_zero
# You leave out labels of 0: only -100 means that there is no label.
def masked_lm_loss(logits: Tensor, labels: Tensor) -> Tensor:
    at = labels > 0
    total = F.cross_entropy(logits[at], labels[at], reduction="sum")
    return total / max(1, int(at.sum()))


# %% wrong sentence_vector any_case of="solution"
# You accept "CLS" as well: anything but "cls" and "mean" should be a ValueError.
# replace: if pool == "cls":
# by:      if pool.lower() == "cls":


# %% wrong sentence_vector begins_with_cls of="solution"
# You compare the beginning of `pool` alone: "clsx" is no "cls".
# replace: if pool == "cls":
# by:      if pool.startswith("cls"):


# %% wrong sentence_vector by_its_beginning of="solution"
# You compare the beginning of `pool` alone: "median" is no "mean".
# replace: if pool != "mean":
# by:      if not pool.startswith("me"):


# %% wrong fine_tune own_seed_without_generator of="solution"
# Without a generator you draw from one of your own, with a fixed seed: take torch's global one.
# replace: named = list(model.named_parameters())
# by:      generator = generator or torch.Generator().manual_seed(0)
#          named = list(model.named_parameters())


# %% wrong test_of_vectors mean_of_the_difference of="solution"
# You average the difference: what rises in one number and falls in another cancels. Compare each.
# replace: same_with_padding = torch.allclose(alone, padded, atol=1e-4)
# by:      same_with_padding = (alone - padded).mean().abs().item() < 1e-4


# %% wrong test_of_vectors first_number of="solution"
# You compare the first number of the vectors alone: padding may change any of them.
# replace: same_with_padding = torch.allclose(alone, padded, atol=1e-4)
# by:      same_with_padding = (alone - padded)[0, 0].abs().item() < 1e-4
