# %% given imports
# pyright: reportRedeclaration=false, reportReturnType=false, reportUnusedExpression=false
# pyright: reportArgumentType=false, reportCallIssue=false, reportIndexIssue=false
# pyright: reportAttributeAccessIssue=false, reportIncompatibleVariableOverride=false
# pyright: reportOptionalMemberAccess=false, reportOperatorIssue=false
# pyright: reportGeneralTypeIssues=false, reportUndefinedVariable=false
# pyright: reportOptionalSubscript=false, reportPossiblyUnboundVariable=false
import math
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise, product

import torch


def pair_counts(words: dict[tuple[int, ...], int]) -> dict[tuple[int, int], int]: ...
def merge(tokens: Sequence[int], pair: tuple[int, int], new_token: int) -> list[int]: ...
def train_bpe(words: dict[tuple[int, ...], int], num_merges: int) -> list[tuple[int, int]]: ...
def vocabulary(merges: list[tuple[int, int]]) -> list[bytes]: ...
def encode(word: str, merges: list[tuple[int, int]]) -> list[int]: ...
def decode(tokens: Sequence[int], merges: list[tuple[int, int]]) -> str: ...


# %% wrong pair_counts word_counts_forgotten of="solution"
# You count each word once: a pair in a word that occurs 3 times counts 3 times.
# replace: occurrences[pair] += times
# by:      occurrences[pair] += 1


# %% wrong pair_counts once_a_word of="solution"
# You count a pair once in each word: it counts as often as it occurs there.
# replace: for pair in pairwise(word):
# by:      for pair in set(pairwise(word)):


# %% wrong pair_counts assigned of="solution"
# You overwrite the count at each occurrence: add to it.
# replace: occurrences[pair] += times
# by:      occurrences[pair] = times


# %% wrong pair_counts largest_instead_of_sum of="solution"
# You keep the largest count of a pair: add up those of all its occurrences.
# replace: occurrences[pair] += times
# by:      occurrences[pair] = max(occurrences[pair], times)


# %% wrong pair_counts squared of="solution"
# You count each occurrence times the square of the word's count: add the count once.
# replace: occurrences[pair] += times
# by:      occurrences[pair] += times * times


# %% wrong pair_counts step_of_two of="solution"
# You cut the word into pairs that do not overlap: every two neighbours are a pair.
# replace: for pair in pairwise(word):
# by:      for pair in zip(word[::2], word[1::2], strict=False):


# %% wrong pair_counts last_pair_missing of="solution"
# You leave out the last pair of each word.
# replace: for pair in pairwise(word):
# by:      for pair in pairwise(word[:-1]):


# %% wrong pair_counts first_pair_missing of="solution"
# You leave out the first pair of each word.
# replace: for pair in pairwise(word):
# by:      for pair in pairwise(word[1:]):


# %% wrong pair_counts around_the_end of="solution"
# You also pair the last token of a word with its first one: a word is no circle.
# replace: for pair in pairwise(word):
# by:      for pair in zip(word, word[1:] + word[:1], strict=True):


# %% wrong pair_counts not_neighbours of="solution"
# You pair tokens with another one between them: a pair is two neighbours.
# replace: for pair in pairwise(word):
# by:      for pair in zip(word, word[2:], strict=False):


# %% wrong pair_counts all_combinations of="solution"
# You count all combinations of two tokens in a word: only neighbours are pairs.
# replace: for pair in pairwise(word):
# by:      from itertools import combinations
#
#          for pair in combinations(word, 2):


# %% wrong pair_counts sorted_pairs of="solution"
# You sort the two tokens of a pair: 8·9 and 9·8 are two different pairs.
# replace: occurrences[pair] += times
# by:      occurrences[min(pair), max(pair)] += times


# %% wrong pair_counts reversed_pairs of="solution"
# Your pairs are the wrong way round: the left token comes first.
# replace: occurrences[pair] += times
# by:      occurrences[pair[1], pair[0]] += times


# %% wrong pair_counts single_tokens of="solution"
# You count single tokens: count pairs of neighbours.
# replace: for pair in pairwise(word):
# by:      for pair in word:


# %% wrong pair_counts triples of="solution"
# You count triples: a pair has two tokens.
# replace: for pair in pairwise(word):
# by:      for pair in zip(word, word[1:], word[2:], strict=False):


# %% wrong pair_counts first_word_only of="solution"
# You return inside the loop, so only the first word is counted.
# replace:     return dict(occurrences)
# by:              return dict(occurrences)
#              return dict(occurrences)


# %% wrong pair_counts most_frequent_only of="solution"
# You return only the most frequent pair: return the counts of all pairs.
# replace: return dict(occurrences)
# by:      return dict(occurrences.most_common(1))


# %% wrong pair_counts as_a_list of="solution"
# You return a list of pairs and counts: return a dict.
# replace: return dict(occurrences)
# by:      return list(occurrences.items())


# %% wrong pair_counts nothing_returned of="solution"
# You return nothing: the last line should return the dict.
# replace: return dict(occurrences)
# by:      dict(occurrences)


# %% wrong pair_counts shares of="solution"
# You return the shares of the pairs: return how often each occurs.
# replace: return dict(occurrences)
# by:      return {pair: count / occurrences.total() for pair, count in occurrences.items()}


# %% wrong pair_counts bytes_as_keys of="solution"
# Your keys are bytes: a key should be a tuple of two tokens, which may be above 255.
# replace: occurrences[pair] += times
# by:      occurrences[bytes(pair)] += times


# %% wrong pair_counts texts_as_keys of="solution"
# Your keys are texts: a key should be a tuple of two tokens.
# replace: occurrences[pair] += times
# by:      occurrences[f"{pair[0]} {pair[1]}"] += times


# %% wrong pair_counts sets_as_keys of="solution"
# Your keys are sets, which have no order: a key should be a tuple of two tokens.
# replace: occurrences[pair] += times
# by:      occurrences[frozenset(pair)] += times


# %% wrong pair_counts modulo_256 of="solution"
# You take tokens modulo 256: after the first merges there are larger ones.
# replace: occurrences[pair] += times
# by:      occurrences[pair[0] % 256, pair[1] % 256] += times


# %% wrong pair_counts zeros_too of="solution"
# You give pairs that never occur an entry of 0: leave them out.
# replace: return dict(occurrences)
# by:      tokens = {token for word in words for token in word}
#          return {(a, b): occurrences[a, b] for a in tokens for b in tokens}


# %% wrong pair_counts rare_pairs_dropped of="solution"
# You drop pairs that occur only once: they count, too.
# replace: return dict(occurrences)
# by:      return {pair: count for pair, count in occurrences.items() if count > 1}


# %% wrong pair_counts runs_counted_like_text
# In a run of equal tokens you skip overlapping pairs: 7·7·7 has the pair 7·7 twice.
def pair_counts(words: dict[tuple[int, ...], int]) -> dict[tuple[int, int], int]:
    occurrences: Counter[tuple[int, int]] = Counter()
    for word, times in words.items():
        skipped = False
        for pair in pairwise(word):
            if pair[0] == pair[1] and skipped:
                skipped = False
                continue
            occurrences[pair] += times
            skipped = pair[0] == pair[1]
    return dict(occurrences)


# %% wrong pair_counts words_joined
# You join the words before you count: a pair never spans two words.
def pair_counts(words: dict[tuple[int, ...], int]) -> dict[tuple[int, int], int]:
    text = [token for word, times in words.items() for token in word * times]
    return dict(Counter(pairwise(text)))


# %% wrong pair_counts equal_neighbours_skipped
# You leave out pairs of two equal tokens: they are pairs like all others.
def pair_counts(words: dict[tuple[int, ...], int]) -> dict[tuple[int, int], int]:
    occurrences: Counter[tuple[int, int]] = Counter()
    for word, times in words.items():
        for left, right in pairwise(word):
            if left != right:
                occurrences[left, right] += times
    return dict(occurrences)


# %% wrong pair_counts length_times
# You multiply by the length of the word: multiply by how often the word occurs.
def pair_counts(words: dict[tuple[int, ...], int]) -> dict[tuple[int, int], int]:
    occurrences: Counter[tuple[int, int]] = Counter()
    for word in words:
        for pair in pairwise(word):
            occurrences[pair] += len(word)
    return dict(occurrences)


# %% wrong pair_counts short_words_skipped
# You skip words of two tokens: such a word has one pair.
def pair_counts(words: dict[tuple[int, ...], int]) -> dict[tuple[int, int], int]:
    occurrences: Counter[tuple[int, int]] = Counter()
    for word, times in words.items():
        if len(word) > 2:
            for pair in pairwise(word):
                occurrences[pair] += times
    return dict(occurrences)


# %% wrong pair_counts text_of_digits
# You count in a text of digits, where 1,2 is found in 11,2, too: compare tokens.
def pair_counts(words: dict[tuple[int, ...], int]) -> dict[tuple[int, int], int]:
    counts: dict[tuple[int, int], int] = {}
    for word, times in words.items():
        text = ",".join(map(str, word))
        for left, right in set(pairwise(word)):
            found = len(re.findall(f"(?={left},{right})", text))
            counts[left, right] = counts.get((left, right), 0) + times * found
    return counts


# %% wrong pair_counts zero_at_the_end
# You leave out pairs that end in token 0: 0 is a token like any other.
def pair_counts(words: dict[tuple[int, ...], int]) -> dict[tuple[int, int], int]:
    counts = Counter()
    for word, times in words.items():
        for left, right in zip(word, [*word[1:], None], strict=False):
            if right:
                counts[left, right] += times
    return dict(counts)


# %% right pair_counts plain_dict
def pair_counts(words: dict[tuple[int, ...], int]) -> dict[tuple[int, int], int]:
    counts = {}
    for word in words:
        for i in range(len(word) - 1):
            pair = (word[i], word[i + 1])
            counts[pair] = counts.get(pair, 0) + words[word]
    return counts


# %% right pair_counts counter_returned
def pair_counts(words: dict[tuple[int, ...], int]) -> dict[tuple[int, int], int]:
    counts = Counter()
    for word, n in words.items():
        counts.update({pair: k * n for pair, k in Counter(pairwise(word)).items()})
    return counts


# %% right pair_counts default_dict
from collections import defaultdict


def pair_counts(words: dict[tuple[int, ...], int]) -> dict[tuple[int, int], int]:
    counts = defaultdict(int)
    for word, n in words.items():
        for left, right in pairwise(word):
            counts[left, right] += n
    return counts


# %% right pair_counts list_then_sum
def pair_counts(words: dict[tuple[int, ...], int]) -> dict[tuple[int, int], int]:
    found = [(pair, n) for word, n in words.items() for pair in pairwise(word)]
    return {pair: sum(n for other, n in found if other == pair) for pair in dict(found)}


# %% right pair_counts previous_token
def pair_counts(words: dict[tuple[int, ...], int]) -> dict[tuple[int, int], int]:
    counts = {}
    for word, n in words.items():
        previous = None
        for token in word:
            if previous is not None:
                counts.setdefault((previous, token), 0)
                counts[previous, token] += n
            previous = token
    return dict(sorted(counts.items(), reverse=True))


# %% wrong merge overlaps_merged_twice of="solution"
# After a merge you go on inside the pair: go on behind it, since each token is used once.
# replace: at += 2 if found else 1
# by:      at += 1


# %% wrong merge always_two_steps of="solution"
# You always go on by two: without a merge, go on by one.
# replace: at += 2 if found else 1
# by:      at += 2


# %% wrong merge last_token_lost of="solution"
# You lose the last token: it has no neighbour behind it, but it stays.
# replace: while at < len(tokens):
# by:      while at < len(tokens) - 1:


# %% wrong merge first_token_compared of="solution"
# You compare only the first token of the pair: both have to be equal.
# replace: found = tuple(tokens[at : at + 2]) == pair
# by:      found = tokens[at] == pair[0]


# %% wrong merge second_token_ignored of="solution"
# You only ask whether the next token exists: it has to be the pair's second.
# replace: found = tuple(tokens[at : at + 2]) == pair
# by:      found = tokens[at] == pair[0] and at + 1 < len(tokens)


# %% wrong merge either_order of="solution"
# You merge the pair in either order: 3·1 is not 1·3.
# replace: found = tuple(tokens[at : at + 2]) == pair
# by:      found = sorted(tokens[at : at + 2]) == sorted(pair)


# %% wrong merge reversed_pair of="solution"
# You look for the pair the wrong way round.
# replace: found = tuple(tokens[at : at + 2]) == pair
# by:      found = tuple(tokens[at : at + 2]) == (pair[1], pair[0])


# %% wrong merge is_comparison of="solution"
# You compare tokens with `is`: above 256, equal numbers are different objects in Python, so use
# ==.
# replace: found = tuple(tokens[at : at + 2]) == pair
# by:      found = at + 1 < len(tokens) and tokens[at] is pair[0] and tokens[at + 1] is pair[1]


# %% wrong merge list_and_tuple of="solution"
# You compare a list with a tuple, which are never equal, so nothing is merged.
# replace: found = tuple(tokens[at : at + 2]) == pair
# by:      found = list(tokens[at : at + 2]) == pair


# %% wrong merge slice_and_tuple of="solution"
# You compare a slice with the pair as it is: a slice of a list is a list, and never equals a
# tuple.
# replace: found = tuple(tokens[at : at + 2]) == pair
# by:      found = tokens[at : at + 2] == pair


# %% wrong merge one_past_the_end of="solution"
# At the last token you read a neighbour that is not there: the word ends.
# replace: found = tuple(tokens[at : at + 2]) == pair
# by:      found = (tokens[at], tokens[at + 1]) == pair


# %% wrong merge always_256 of="solution"
# Your new token is always 256: take new_token.
# replace: merged.append(new_token if found else tokens[at])
# by:      merged.append(256 if found else tokens[at])


# %% wrong merge pair_appended of="solution"
# You append the pair itself: append the new token.
# replace: merged.append(new_token if found else tokens[at])
# by:      merged.append(pair if found else tokens[at])


# %% wrong merge new_token_added of="solution"
# You put the new token behind the pair's first one: it replaces both.
# replace: merged.append(new_token if found else tokens[at])
# by:      merged.extend([tokens[at], new_token] if found else [tokens[at]])


# %% wrong merge pair_dropped of="solution"
# You remove the pair, and put no new token there.
# replace: merged.append(new_token if found else tokens[at])
# by:      merged.extend([] if found else [tokens[at]])


# %% wrong merge two_new_tokens of="solution"
# You put the new token twice: one token replaces the pair.
# replace: merged.append(new_token if found else tokens[at])
# by:      merged.extend([new_token] * 2 if found else [tokens[at]])


# %% wrong merge only_merged_kept of="solution"
# You keep only the new tokens: all others stay, too.
# replace: merged.append(new_token if found else tokens[at])
# by:      merged.extend([new_token] if found else [])


# %% wrong merge sum_of_the_pair of="solution"
# Your new token is the sum of the pair's numbers: a token is a name; take new_token.
# replace: merged.append(new_token if found else tokens[at])
# by:      merged.append(sum(pair) if found else tokens[at])


# %% wrong merge tuple_returned of="solution"
# You return a tuple: return a list.
# replace: return merged
# by:      return tuple(merged)


# %% wrong merge nothing_returned of="solution"
# You return nothing: the last line should return the new list.
# replace: return merged
# by:      merged.copy()


# %% wrong merge returned_in_the_loop of="solution"
# You return inside the loop, after the first token.
# replace: at += 2 if found else 1
# by:      at += 2 if found else 1
#          return merged


# %% wrong merge zero_skipped of="solution"
# You treat token 0 as if it were missing: it is a token like any other.
# replace: merged.append(new_token if found else tokens[at])
# by:      if found or tokens[at]:
#              merged.append(new_token if found else tokens[at])


# %% wrong merge from_the_right
# You merge from the right: in a run of 3 the first two are merged.
def merge(tokens: Sequence[int], pair: tuple[int, int], new_token: int) -> list[int]:
    merged = list(tokens)
    at = len(merged) - 2
    while at >= 0:
        if (merged[at], merged[at + 1]) == pair:
            merged[at : at + 2] = [new_token]
            at -= 1
        at -= 1
    return merged


# %% wrong merge first_only
# You merge only the first occurrence: merge all of them.
def merge(tokens: Sequence[int], pair: tuple[int, int], new_token: int) -> list[int]:
    merged = list(tokens)
    for at in range(len(merged) - 1):
        if (merged[at], merged[at + 1]) == pair:
            merged[at : at + 2] = [new_token]
            break
    return merged


# %% wrong merge last_only
# You merge only the last occurrence: merge all of them.
def merge(tokens: Sequence[int], pair: tuple[int, int], new_token: int) -> list[int]:
    merged = list(tokens)
    for at in range(len(merged) - 2, -1, -1):
        if (merged[at], merged[at + 1]) == pair:
            merged[at : at + 2] = [new_token]
            break
    return merged


# %% wrong merge even_positions
# You compare only the pairs that begin at an even position: a pair may begin anywhere.
def merge(tokens: Sequence[int], pair: tuple[int, int], new_token: int) -> list[int]:
    merged = []
    for at in range(0, len(tokens), 2):
        if tuple(tokens[at : at + 2]) == pair:
            merged.append(new_token)
        else:
            merged.extend(tokens[at : at + 2])
    return merged


# %% wrong merge single_tokens_replaced
# You replace each token of the pair wherever it is: both have to be neighbours.
def merge(tokens: Sequence[int], pair: tuple[int, int], new_token: int) -> list[int]:
    merged = [new_token if token == pair[0] else token for token in tokens]
    return [token for token in merged if token != pair[1]]


# %% wrong merge text_of_digits
# You replace inside a text of digits: there, 1 3 is also found in 11 3. Compare tokens.
def merge(tokens: Sequence[int], pair: tuple[int, int], new_token: int) -> list[int]:
    text = " ".join(map(str, tokens))
    return [int(part) for part in text.replace(f"{pair[0]} {pair[1]}", str(new_token)).split()]


# %% wrong merge bytes_replaced
# You turn the tokens into bytes: tokens above 255 do not fit.
def merge(tokens: Sequence[int], pair: tuple[int, int], new_token: int) -> list[int]:
    return list(bytes(tokens).replace(bytes(pair), bytes([new_token % 256])))


# %% wrong merge for_loop_index
# You change the list while a loop runs over its old length, so the index runs past the end.
def merge(tokens: Sequence[int], pair: tuple[int, int], new_token: int) -> list[int]:
    merged = list(tokens)
    for at in range(len(merged) - 1):
        if (merged[at], merged[at + 1]) == pair:
            merged[at : at + 2] = [new_token]
    return merged


# %% wrong merge enumerate_without_skip
# You append the new token for the pair, and then its second token again: skip it.
def merge(tokens: Sequence[int], pair: tuple[int, int], new_token: int) -> list[int]:
    merged = []
    for at, token in enumerate(tokens):
        if at + 1 < len(tokens) and (token, tokens[at + 1]) == pair:
            merged.append(new_token)
        else:
            merged.append(token)
    return merged


# %% wrong merge short_lists_empty
# You return an empty list for a single token: it stays.
def merge(tokens: Sequence[int], pair: tuple[int, int], new_token: int) -> list[int]:
    if len(tokens) < 2:
        return []
    merged, at = [], 0
    while at < len(tokens):
        found = tuple(tokens[at : at + 2]) == pair
        merged.append(new_token if found else tokens[at])
        at += 2 if found else 1
    return merged


# %% wrong merge list_methods
# You use a method that only lists have: the tokens may be a tuple.
def merge(tokens: Sequence[int], pair: tuple[int, int], new_token: int) -> list[int]:
    merged = tokens.copy()
    at = 0
    while at < len(merged) - 1:
        if (merged[at], merged[at + 1]) == pair:
            merged[at] = new_token
            merged.pop(at + 1)
        at += 1
    return merged


# %% wrong merge zero_added
# You add a 0 at the end, and merge it with the last token where the pair ends in 0.
def merge(tokens: Sequence[int], pair: tuple[int, int], new_token: int) -> list[int]:
    padded, merged, at = [*tokens, 0], [], 0
    while at < len(tokens):
        if (padded[at], padded[at + 1]) == pair:
            merged.append(new_token)
            at += 2
        else:
            merged.append(padded[at])
            at += 1
    return merged


# %% right merge list_in_place
def merge(tokens: Sequence[int], pair: tuple[int, int], new_token: int) -> list[int]:
    result = list(tokens)
    i = 0
    while i < len(result) - 1:
        if result[i] == pair[0] and result[i + 1] == pair[1]:
            result[i : i + 2] = [new_token]
        i += 1
    return result


# %% right merge as_text
def merge(tokens: Sequence[int], pair: tuple[int, int], new_token: int) -> list[int]:
    text = "".join(map(chr, tokens))
    return [ord(c) for c in text.replace(chr(pair[0]) + chr(pair[1]), chr(new_token))]


# %% right merge waiting_token
def merge(tokens: Sequence[int], pair: tuple[int, int], new_token: int) -> list[int]:
    result = []
    free = False  # whether the last token of the result may still be merged
    for token in tokens:
        if free and (result[-1], token) == pair:
            result[-1] = new_token
            free = False
        else:
            result.append(token)
            free = True
    return result


# %% right merge skip_flag
def merge(tokens: Sequence[int], pair: tuple[int, int], new_token: int) -> list[int]:
    result, skip = [], False
    for i, token in enumerate(tokens):
        if skip:
            skip = False
        elif i + 1 < len(tokens) and token == pair[0] and tokens[i + 1] == pair[1]:
            result.append(new_token)
            skip = True
        else:
            result.append(token)
    return result


# %% right merge iterator
def merge(tokens: Sequence[int], pair: tuple[int, int], new_token: int) -> list[int]:
    result, stack = [], list(tokens)[::-1]
    while stack:
        token = stack.pop()
        if token == pair[0] and stack and stack[-1] == pair[1]:
            stack.pop()
            token = new_token
        result.append(token)
    return result


# %% wrong train_bpe first_seen of="solution"
# Of equally frequent pairs you take the first that is seen: take the smallest.
# replace: best = min(counts, key=lambda pair: (-counts[pair], pair))
# by:      best = max(counts, key=lambda pair: counts[pair])


# %% wrong train_bpe last_seen of="solution"
# Of equally frequent pairs you take the last that is seen: take the smallest.
# replace: best = min(counts, key=lambda pair: (-counts[pair], pair))
# by:      best = max(reversed(counts), key=lambda pair: counts[pair])


# %% wrong train_bpe largest_pair of="solution"
# Of equally frequent pairs you take the largest: take the smallest.
# replace: best = min(counts, key=lambda pair: (-counts[pair], pair))
# by:      best = max(counts, key=lambda pair: (counts[pair], pair))


# %% wrong train_bpe second_token_first of="solution"
# Of equally frequent pairs you compare the second token first: compare the first token first.
# replace: best = min(counts, key=lambda pair: (-counts[pair], pair))
# by:      best = min(counts, key=lambda pair: (-counts[pair], pair[1], pair[0]))


# %% wrong train_bpe sum_of_tokens of="solution"
# Of equally frequent pairs you take the smallest sum: compare the first token, then the second.
# replace: best = min(counts, key=lambda pair: (-counts[pair], pair))
# by:      best = min(counts, key=lambda pair: (-counts[pair], sum(pair), pair))


# %% wrong train_bpe compared_as_text of="solution"
# You compare pairs as texts, in which 98 is larger than 256: compare numbers.
# replace: best = min(counts, key=lambda pair: (-counts[pair], pair))
# by:      best = min(counts, key=lambda pair: (-counts[pair], str(pair)))


# %% wrong train_bpe first_token_only of="solution"
# Of equally frequent pairs you compare only the first token: then compare the second.
# replace: best = min(counts, key=lambda pair: (-counts[pair], pair))
# by:      best = min(sorted(counts, reverse=True), key=lambda pair: (-counts[pair], pair[0]))


# %% wrong train_bpe least_frequent of="solution"
# You take the least frequent pair: take the most frequent.
# replace: best = min(counts, key=lambda pair: (-counts[pair], pair))
# by:      best = min(counts, key=lambda pair: (counts[pair], pair))


# %% wrong train_bpe smallest_pair of="solution"
# You take the smallest pair, however rare it is: take the most frequent.
# replace: best = min(counts, key=lambda pair: (-counts[pair], pair))
# by:      best = min(counts)


# %% wrong train_bpe word_counts_forgotten of="solution"
# You weigh the words wrongly: a pair counts as often as its word occurs, after a merge, too.
# replace: best = min(counts, key=lambda pair: (-counts[pair], pair))
# by:      counts = pair_counts(dict.fromkeys(words, 1))
#          best = min(counts, key=lambda pair: (-counts[pair], pair))


# %% wrong train_bpe counts_reset of="solution"
# You weigh the words wrongly: a pair counts as often as its word occurs, after a merge, too.
# replace: words = {
#              tuple(merge(word, best, 256 + len(merges))): times for word, times in words.items()
#          }
# by:      words = {tuple(merge(word, best, 256 + len(merges))): 1 for word in words}


# %% wrong train_bpe words_not_merged of="solution"
# You never merge in the words, so the same pair is found again and again.
# replace: words = {
#              tuple(merge(word, best, 256 + len(merges))): times for word, times in words.items()
#          }
# by:


# %% wrong train_bpe tokens_from_257 of="solution"
# Your first new token is 257: it should be 256.
# replace: 256 + len(merges)
# by:      257 + len(merges)


# %% wrong train_bpe tokens_from_255 of="solution"
# Your first new token is 255, which is a byte: it should be 256.
# replace: 256 + len(merges)
# by:      255 + len(merges)


# %% wrong train_bpe same_new_token of="solution"
# Every merge makes the token 256: merge i makes 256 + i.
# replace: words = {
#              tuple(merge(word, best, 256 + len(merges))): times for word, times in words.items()
#          }
# by:      words = {tuple(merge(word, best, 256)): times for word, times in words.items()}


# %% wrong train_bpe one_too_few of="solution"
# You stop one merge too early.
# replace: len(merges) < num_merges
# by:      len(merges) < num_merges - 1


# %% wrong train_bpe one_too_many of="solution"
# You make one merge too many.
# replace: len(merges) < num_merges
# by:      len(merges) <= num_merges


# %% wrong train_bpe vocabulary_size of="solution"
# You take num_merges for the size of the vocabulary: it is the number of merges.
# replace: len(merges) < num_merges
# by:      256 + len(merges) < num_merges


# %% wrong train_bpe rare_pairs_left of="solution"
# You stop when the most frequent pair occurs only once: go on while there is any pair.
# replace: best = min(counts, key=lambda pair: (-counts[pair], pair))
# by:      best = min(counts, key=lambda pair: (-counts[pair], pair))
#          if counts[best] < 2:
#              break


# %% wrong train_bpe no_early_end of="solution"
# When no pair is left, you still look for the best one: end early.
# replace: while len(merges) < num_merges and (counts := pair_counts(words)):
# by:      while len(merges) < num_merges:
#              counts = pair_counts(words)


# %% wrong train_bpe dict_returned of="solution"
# You return a dict from pair to token: return the list of pairs.
# replace: return merges
# by:      return {pair: 256 + i for i, pair in enumerate(merges)}


# %% wrong train_bpe lists_for_pairs of="solution"
# Your pairs are lists: each should be a tuple of two tokens.
# replace: merges.append(best)
# by:      merges.append(list(best))


# %% wrong train_bpe sorted_merges of="solution"
# You return the merges sorted: their order is that in which they were learned.
# replace: return merges
# by:      return sorted(merges)


# %% wrong train_bpe reversed_merges of="solution"
# You return the merges in reverse order: the first learned comes first.
# replace: return merges
# by:      return merges[::-1]


# %% wrong train_bpe with_counts of="solution"
# You return each pair with its count: return the pairs alone.
# replace: merges.append(best)
# by:      merges.append((best, counts[best]))


# %% wrong train_bpe new_tokens_returned of="solution"
# You return the new tokens: return the pairs that they replace.
# replace: return merges
# by:      return [256 + i for i in range(len(merges))]


# %% wrong train_bpe nothing_returned of="solution"
# You return nothing: the last line should return the merges.
# replace: return merges
# by:      merges.copy()


# %% wrong train_bpe longest_words_first of="solution"
# You weigh the words wrongly: a pair counts as often as its word occurs, after a merge, too.
# replace: best = min(counts, key=lambda pair: (-counts[pair], pair))
# by:      counts = pair_counts({word: len(word) for word in words})
#          best = min(counts, key=lambda pair: (-counts[pair], pair))


# %% wrong train_bpe returned_early of="solution"
# You return inside the loop, after the first merge.
# replace: merges.append(best)
# by:      merges.append(best)
#          return merges


# %% wrong train_bpe only_first_occurrence of="solution"
# You merge only the first occurrence of the pair in a word: merge all of them.
# replace: words = {
#              tuple(merge(word, best, 256 + len(merges))): times for word, times in words.items()
#          }
# by:      new_words = {}
#          for word, times in words.items():
#              i = next((i for i in range(len(word) - 1) if word[i : i + 2] == best), None)
#              if i is not None:
#                  word = (*word[:i], 256 + len(merges), *word[i + 2 :])
#              new_words[word] = times
#          words = new_words


# %% wrong train_bpe bytes_only of="solution"
# You never count a pair with a new token: new tokens are merged again.
# replace: while len(merges) < num_merges and (counts := pair_counts(words)):
# by:      while len(merges) < num_merges and (
#              counts := {p: n for p, n in pair_counts(words).items() if max(p) < 256}
#          ):


# %% wrong train_bpe new_tokens_first of="solution"
# Of equally frequent pairs you take the one with the newest tokens: take the smallest.
# replace: best = min(counts, key=lambda pair: (-counts[pair], pair))
# by:      best = min(counts, key=lambda pair: (-counts[pair], -max(pair), pair))


# %% wrong train_bpe merged_words_lost of="solution"
# You keep only the words in which something was merged: all words stay.
# replace: words = {
#              tuple(merge(word, best, 256 + len(merges))): times for word, times in words.items()
#          }
# by:      words = {
#              tuple(merge(word, best, 256 + len(merges))): times
#              for word, times in words.items()
#              if best in pairwise(word)
#          }


# %% wrong train_bpe counted_once
# You count only once, before the first merge: count again after every merge.
def train_bpe(words: dict[tuple[int, ...], int], num_merges: int) -> list[tuple[int, int]]:
    counts = pair_counts(words)
    return sorted(counts, key=lambda pair: (-counts[pair], pair))[:num_merges]


# %% wrong train_bpe padded_with_last
# When no pair is left, you repeat the last merge: end early.
def train_bpe(words: dict[tuple[int, ...], int], num_merges: int) -> list[tuple[int, int]]:
    merges = []
    for new_token in range(256, 256 + num_merges):
        counts = pair_counts(words)
        if counts:
            best = min(counts, key=lambda pair: (-counts[pair], pair))
            words = {tuple(merge(word, best, new_token)): n for word, n in words.items()}
        elif not merges:
            break
        merges.append(best)
    return merges


# %% wrong train_bpe all_ties_at_once
# You merge all equally frequent pairs at once: merge one, then count again.
def train_bpe(words: dict[tuple[int, ...], int], num_merges: int) -> list[tuple[int, int]]:
    merges = []
    while len(merges) < num_merges and (counts := pair_counts(words)):
        most = max(counts.values())
        for pair in sorted(pair for pair in counts if counts[pair] == most):
            if len(merges) < num_merges:
                new_token = 256 + len(merges)
                words = {tuple(merge(word, pair, new_token)): n for word, n in words.items()}
                merges.append(pair)
    return merges


# %% wrong train_bpe text_pieces
# Your merges are pairs of bytes objects: they should be pairs of token numbers.
def train_bpe(words: dict[tuple[int, ...], int], num_merges: int) -> list[tuple[int, int]]:
    names = [bytes([byte]) for byte in range(256)]
    merges = []
    while len(merges) < num_merges and (counts := pair_counts(words)):
        left, right = min(counts, key=lambda pair: (-counts[pair], pair))
        words = {tuple(merge(word, (left, right), len(names))): n for word, n in words.items()}
        merges.append((names[left], names[right]))
        names.append(names[left] + names[right])
    return merges


# %% wrong train_bpe text_of_digits
# You replace in a text of digits, where 97 98 is found in 197 98, too: compare tokens.
def train_bpe(words: dict[tuple[int, ...], int], num_merges: int) -> list[tuple[int, int]]:
    texts = {" ".join(map(str, word)): times for word, times in words.items()}
    merges: list[tuple[int, int]] = []
    for number in range(num_merges):
        counts = pair_counts({tuple(map(int, t.split())): times for t, times in texts.items()})
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        merges.append(best)
        old, new = f"{best[0]} {best[1]}", str(256 + number)
        texts = {text.replace(old, new): times for text, times in texts.items()}
    return merges


# %% wrong train_bpe packed_pairs of="solution"
# You compare 256 · first + second, which is wrong for tokens above 255: compare pairs as tuples.
# replace: (-counts[pair], pair))
# by:      (-counts[pair], 256 * pair[0] + pair[1]))


# %% wrong train_bpe second_as_text of="solution"
# You compare second tokens as texts, where 10 comes before 7: compare numbers.
# replace: (-counts[pair], pair))
# by:      (-counts[pair], pair[0], str(pair[1])))


# %% wrong train_bpe heap_of_old_counts
# You count each pair only when it first occurs: a merge makes other pairs rarer.
def train_bpe(words: dict[tuple[int, ...], int], num_merges: int) -> list[tuple[int, int]]:
    import heapq

    heap, known, merges = [], set(), []
    while len(merges) < num_merges:
        counts = pair_counts(words)
        for pair in counts.keys() - known:
            heapq.heappush(heap, (-counts[pair], pair))
        known |= counts.keys()
        while heap and heap[0][1] not in counts:
            heapq.heappop(heap)
        if not heap:
            break
        _, best = heapq.heappop(heap)
        new = 256 + len(merges)
        words = {tuple(merge(word, best, new)): times for word, times in words.items()}
        merges.append(best)
    return merges


# %% right train_bpe max_with_negative
def train_bpe(words: dict[tuple[int, ...], int], num_merges: int) -> list[tuple[int, int]]:
    merges = []
    for new_token in range(256, 256 + num_merges):
        counts = pair_counts(words)
        if not counts:
            break
        best = max(counts, key=lambda p: (counts[p], -p[0], -p[1]))
        merges.append(best)
        words = {tuple(merge(list(word), best, new_token)): n for word, n in words.items()}
    return merges


# %% right train_bpe sorted_first
def train_bpe(words: dict[tuple[int, ...], int], num_merges: int) -> list[tuple[int, int]]:
    merges, corpus = [], [(list(word), n) for word, n in words.items()]
    for i in range(num_merges):
        counts = Counter()
        for word, n in corpus:
            for pair in pairwise(word):
                counts[pair] += n
        if len(counts) == 0:
            return merges
        most = max(counts.values())
        pair = sorted(p for p, n in counts.items() if n == most)[0]
        corpus = [(merge(word, pair, 256 + i), n) for word, n in corpus]
        merges.append(pair)
    return merges


# %% right train_bpe on_texts
def train_bpe(words: dict[tuple[int, ...], int], num_merges: int) -> list[tuple[int, int]]:
    texts = {"".join(map(chr, word)): n for word, n in words.items()}
    merges = []
    while len(merges) < num_merges:
        counts = {}
        for text, n in texts.items():
            for a, b in pairwise(text):
                counts[a + b] = counts.get(a + b, 0) + n
        if not counts:
            break
        best = min(counts, key=lambda p: (-counts[p], p))
        merges.append((ord(best[0]), ord(best[1])))
        texts = {text.replace(best, chr(255 + len(merges))): n for text, n in texts.items()}
    return merges


# %% right train_bpe recursive
def train_bpe(words: dict[tuple[int, ...], int], num_merges: int) -> list[tuple[int, int]]:
    def learn(words, done):
        counts = pair_counts(words)
        if len(done) >= num_merges or not counts:
            return done
        best = min(sorted(counts), key=lambda p: -counts[p])
        new = 256 + len(done)
        return learn({tuple(merge(w, best, new)): n for w, n in words.items()}, [*done, best])

    return learn(words, [])


# %% right train_bpe only_words_with_the_pair
def train_bpe(words: dict[tuple[int, ...], int], num_merges: int) -> list[tuple[int, int]]:
    merges = []
    current = dict(words)
    while len(merges) < num_merges:
        counts = pair_counts(current)
        if not counts:
            break
        best = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[0][0]
        for word in [w for w in current if best in pairwise(w)]:
            current[tuple(merge(word, best, 256 + len(merges)))] = current.pop(word)
        merges.append(best)
    return merges


# %% wrong vocabulary zeros of="solution"
# bytes(200) is 200 zeros: the single byte is bytes([200]).
# replace: entries = [bytes([byte]) for byte in range(256)]
# by:      entries = [bytes(byte) for byte in range(256)]


# %% wrong vocabulary characters_encoded of="solution"
# You encode characters: from 128 on, chr(200).encode() is two bytes. A single byte is
# bytes([200]).
# replace: entries = [bytes([byte]) for byte in range(256)]
# by:      entries = [chr(byte).encode() for byte in range(256)]


# %% wrong vocabulary right_before_left of="solution"
# You join the two tokens the wrong way round: the left one comes first.
# replace: entries.append(entries[left] + entries[right])
# by:      entries.append(entries[right] + entries[left])


# %% wrong vocabulary one_byte_short of="solution"
# You have only the bytes 0 to 254: 255 is a byte, too.
# replace: entries = [bytes([byte]) for byte in range(256)]
# by:      entries = [bytes([byte]) for byte in range(255)]


# %% wrong vocabulary one_byte_more of="solution"
# You have 257 single entries: there are 256 bytes.
# replace: entries = [bytes([byte]) for byte in range(256)]
# by:      entries = [bytes([byte % 256]) for byte in range(257)]


# %% wrong vocabulary from_one of="solution"
# You begin with byte 1: token 0 is byte 0.
# replace: entries = [bytes([byte]) for byte in range(256)]
# by:      entries = [bytes([byte]) for byte in range(1, 256)]


# %% wrong vocabulary ascii_only of="solution"
# You have only the 128 bytes of ASCII: there are 256 bytes.
# replace: entries = [bytes([byte]) for byte in range(256)]
# by:      entries = [bytes([byte]) for byte in range(128)]


# %% wrong vocabulary bytes_of_the_pair of="solution"
# You make bytes of the two token numbers: a token above 255 stands for several bytes, its entry.
# replace: entries.append(entries[left] + entries[right])
# by:      entries.append(bytes([left % 256, right % 256]))


# %% wrong vocabulary bytes_of_large_tokens of="solution"
# You make bytes of the two token numbers, which fails above 255: join their entries.
# replace: entries.append(entries[left] + entries[right])
# by:      entries.append(bytes([left, right]))


# %% wrong vocabulary merges_only of="solution"
# You return only the entries of the merges: the 256 bytes come first.
# replace: return entries
# by:      return entries[256:]


# %% wrong vocabulary merges_first of="solution"
# Your merges come before the single bytes: the bytes are the tokens 0 to 255.
# replace: return entries
# by:      return entries[256:] + entries[:256]


# %% wrong vocabulary bytes_only of="solution"
# You return only the single bytes: add an entry for each merge.
# replace: return entries
# by:      return entries[:256]


# %% wrong vocabulary reversed_order of="solution"
# Your list is in reverse order.
# replace: return entries
# by:      return entries[::-1]


# %% wrong vocabulary sorted_entries of="solution"
# You sort the entries: they stand in the order of the tokens.
# replace: return entries
# by:      return sorted(entries)


# %% wrong vocabulary as_text of="solution"
# You return texts: an entry is bytes, since it may be a part of a character.
# replace: return entries
# by:      return [entry.decode(errors="replace") for entry in entries]


# %% wrong vocabulary as_latin_text of="solution"
# Your entries are texts of single characters: they should be bytes.
# replace: return entries
# by:      return [entry.decode("latin-1") for entry in entries]


# %% wrong vocabulary as_dict of="solution"
# You return a dict: return a list, whose index is the token.
# replace: return entries
# by:      return dict(enumerate(entries))


# %% wrong vocabulary as_tuple of="solution"
# You return a tuple: return a list.
# replace: return entries
# by:      return tuple(entries)


# %% wrong vocabulary lists_of_numbers of="solution"
# Your entries are lists of numbers: they should be bytes.
# replace: return entries
# by:      return [list(entry) for entry in entries]


# %% wrong vocabulary numbers_for_bytes of="solution"
# Your first 256 entries are numbers: they should be bytes of length 1.
# replace: return entries
# by:      return [*range(256), *entries[256:]]


# %% wrong vocabulary byte_arrays of="solution"
# Your entries are bytearrays, which can change: they should be bytes.
# replace: return entries
# by:      return [bytearray(entry) for entry in entries]


# %% wrong vocabulary nothing_returned of="solution"
# You return nothing: the last line should return the list.
# replace: return entries
# by:      entries.copy()


# %% wrong vocabulary first_merge_only of="solution"
# You return inside the loop, after the first merge.
# replace: entries.append(entries[left] + entries[right])
# by:      entries.append(entries[left] + entries[right])
#          return entries


# %% wrong vocabulary with_separator of="solution"
# You put a space between the two parts: join them directly.
# replace: entries.append(entries[left] + entries[right])
# by:      entries.append(entries[left] + b" " + entries[right])


# %% wrong vocabulary only_the_left of="solution"
# Your entry is that of the left token alone: join both.
# replace: entries.append(entries[left] + entries[right])
# by:      entries.append(entries[left])


# %% wrong vocabulary left_twice of="solution"
# You join the left token with itself: join left and right.
# replace: entries.append(entries[left] + entries[right])
# by:      entries.append(entries[left] + entries[left])


# %% wrong vocabulary equal_entries_once of="solution"
# You leave out what is already in the list: then the tokens behind it have wrong numbers.
# replace: entries.append(entries[left] + entries[right])
# by:      joined = entries[left] + entries[right]
#          if joined not in entries:
#              entries.append(joined)


# %% wrong vocabulary last_merge_missing of="solution"
# You leave out the last merge.
# replace: for left, right in merges:
# by:      for left, right in merges[:-1]:


# %% wrong vocabulary first_merge_missing of="solution"
# You leave out the first merge.
# replace: for left, right in merges:
# by:      for left, right in merges[1:]:


# %% wrong vocabulary pairs_of_entries of="solution"
# Your entries for merges are pairs: join the two bytes objects.
# replace: entries.append(entries[left] + entries[right])
# by:      entries.append((entries[left], entries[right]))


# %% wrong vocabulary prefixed of="solution"
# You put the entry in front of the list, which moves all others: append it.
# replace: entries.append(entries[left] + entries[right])
# by:      entries.insert(0, entries[left] + entries[right])


# %% right vocabulary growing_dict
def vocabulary(merges: list[tuple[int, int]]) -> list[bytes]:
    table = {i: i.to_bytes(1, "big") for i in range(256)}
    for i, pair in enumerate(merges):
        table[256 + i] = table[pair[0]] + table[pair[1]]
    return list(table.values())


# %% right vocabulary recursive_spelling
def vocabulary(merges: list[tuple[int, int]]) -> list[bytes]:
    @cache
    def spell(token):
        if token < 256:
            return bytes([token])
        left, right = merges[token - 256]
        return spell(left) + spell(right)

    return [spell(token) for token in range(256 + len(merges))]


# %% right vocabulary latin_letters
def vocabulary(merges: list[tuple[int, int]]) -> list[bytes]:
    texts = [chr(i) for i in range(256)]
    for left, right in merges:
        texts += [texts[left] + texts[right]]
    return [text.encode("latin-1") for text in texts]


# %% right vocabulary slices_of_all_bytes
def vocabulary(merges: list[tuple[int, int]]) -> list[bytes]:
    every = bytes(range(256))
    result = [every[i : i + 1] for i in range(256)]
    for pair in merges:
        result.append(b"".join(result[token] for token in pair))
    return result


# %% right vocabulary preallocated
def vocabulary(merges: list[tuple[int, int]]) -> list[bytes]:
    result = [b""] * (256 + len(merges))
    for i in range(len(result)):
        result[i] = (
            bytes((i,)) if i < 256 else result[merges[i - 256][0]] + result[merges[i - 256][1]]
        )
    return result


# %% base encode ranked
def encode(word: str, merges: list[tuple[int, int]]) -> list[int]:
    rank = {pair: number for number, pair in enumerate(merges)}
    tokens = list(word.encode())
    while len(tokens) > 1:
        earliest = min(pairwise(tokens), key=lambda pair: rank.get(pair, len(merges)))
        if earliest not in rank:
            break
        tokens = merge(tokens, earliest, 256 + rank[earliest])
    return tokens


# %% wrong encode no_merges of="ranked"
# You return the bytes: apply the merges.
# replace: return tokens
# by:      return list(word.encode())


# %% wrong encode code_points of="ranked"
# You take the code points of characters: take the bytes, word.encode().
# replace: tokens = list(word.encode())
# by:      tokens = [ord(character) for character in word]


# %% wrong encode one_byte_a_character of="ranked"
# You keep one byte of each character: UTF-8 has up to four.
# replace: tokens = list(word.encode())
# by:      tokens = [ord(character) % 256 for character in word]


# %% wrong encode latin of="ranked"
# You encode as latin-1, in which é is another byte and 한 has none: UTF-8 is the default.
# replace: tokens = list(word.encode())
# by:      tokens = list(word.encode("latin-1", "ignore"))


# %% wrong encode ascii_only of="ranked"
# You drop all characters outside ASCII: every byte counts.
# replace: tokens = list(word.encode())
# by:      tokens = list(word.encode("ascii", "ignore"))


# %% wrong encode question_marks of="ranked"
# You replace characters outside ASCII by a question mark: take their bytes.
# replace: tokens = list(word.encode())
# by:      tokens = list(word.encode("ascii", "replace"))


# %% wrong encode utf_16 of="ranked"
# You encode as UTF-16: UTF-8 is the default.
# replace: tokens = list(word.encode())
# by:      tokens = list(word.encode("utf-16-le"))


# %% wrong encode utf_8_with_mark of="ranked"
# You put a byte order mark in front: the codec is utf-8.
# replace: tokens = list(word.encode())
# by:      tokens = list(word.encode("utf-8-sig"))


# %% wrong encode stripped of="ranked"
# You strip the spaces: they belong to the word.
# replace: tokens = list(word.encode())
# by:      tokens = list(word.strip().encode())


# %% wrong encode space_in_front_lost of="ranked"
# You strip the space in front: it belongs to the word.
# replace: tokens = list(word.encode())
# by:      tokens = list(word.lstrip().encode())


# %% wrong encode spaces_behind_lost of="ranked"
# You strip the spaces behind the word: they belong to it.
# replace: tokens = list(word.encode())
# by:      tokens = list(word.rstrip().encode())


# %% wrong encode double_spaces_joined of="ranked"
# You make one space of two: the word is taken as it is.
# replace: tokens = list(word.encode())
# by:      tokens = list(word.replace("  ", " ").encode())


# %% wrong encode space_added of="ranked"
# You put a space in front: the word is taken as it is.
# replace: tokens = list(word.encode())
# by:      tokens = list((" " + word).encode())


# %% wrong encode small_letters of="ranked"
# You make all letters small: A and a are different bytes.
# replace: tokens = list(word.encode())
# by:      tokens = list(word.lower().encode())


# %% wrong encode normalised_nfc of="ranked"
# You normalise the text (NFC): e with a separate accent should stay two characters.
# replace: tokens = list(word.encode())
# by:      import unicodedata
#
#          tokens = list(unicodedata.normalize("NFC", word).encode())


# %% wrong encode normalised_nfkc of="ranked"
# You normalise the text (NFKC): the word is taken as it is.
# replace: tokens = list(word.encode())
# by:      import unicodedata
#
#          tokens = list(unicodedata.normalize("NFKC", word).encode())


# %% wrong encode normalised_nfd of="ranked"
# You normalise the text (NFD), so that é becomes two characters: the word is taken as it is.
# replace: tokens = list(word.encode())
# by:      import unicodedata
#
#          tokens = list(unicodedata.normalize("NFD", word).encode())


# %% wrong encode last_learned_first of="ranked"
# Of all pairs you merge the one that was learned last: the one learned first comes first.
# replace: earliest = min(pairwise(tokens), key=lambda pair: rank.get(pair, len(merges)))
# by:      earliest = max(pairwise(tokens), key=lambda pair: rank.get(pair, -1))


# %% wrong encode leftmost_first of="ranked"
# Of the pairs that are merges you take the leftmost: take the one that was learned first.
# replace: earliest = min(pairwise(tokens), key=lambda pair: rank.get(pair, len(merges)))
# by:      earliest = next((pair for pair in pairwise(tokens) if pair in rank), None)


# %% wrong encode rightmost_first of="ranked"
# You merge the rightmost pair that is a merge: the order learned decides.
# replace: earliest = min(pairwise(tokens), key=lambda pair: rank.get(pair, len(merges)))
# by:      earliest = next((pair for pair in reversed([*pairwise(tokens)]) if pair in rank), None)


# %% wrong encode smallest_pair_first of="ranked"
# Of the pairs that are merges you take the smallest: take the one that was learned first.
# replace: earliest = min(pairwise(tokens), key=lambda pair: rank.get(pair, len(merges)))
# by:      known = [pair for pair in pairwise(tokens) if pair in rank]
#          earliest = min(known, default=None)


# %% wrong encode most_frequent_first of="ranked"
# Of the pairs that are merges you take the most frequent: take the one that was learned first.
# replace: earliest = min(pairwise(tokens), key=lambda pair: rank.get(pair, len(merges)))
# by:      seen = Counter(pair for pair in pairwise(tokens) if pair in rank)
#          earliest = min(seen, key=lambda pair: (-seen[pair], pair), default=None)


# %% wrong encode tokens_from_257 of="ranked"
# Your tokens for merges are one too large: merge 0 makes 256.
# replace: tokens = merge(tokens, earliest, 256 + rank[earliest])
# by:      tokens = merge(tokens, earliest, 257 + rank[earliest])


# %% wrong encode tokens_from_255 of="ranked"
# Your tokens for merges are one too small: merge 0 makes 256.
# replace: tokens = merge(tokens, earliest, 256 + rank[earliest])
# by:      tokens = merge(tokens, earliest, 255 + rank[earliest])


# %% wrong encode tokens_from_zero of="ranked"
# Your tokens for merges begin at 0, which is a byte: merge 0 makes 256.
# replace: tokens = merge(tokens, earliest, 256 + rank[earliest])
# by:      tokens = merge(tokens, earliest, rank[earliest])


# %% wrong encode one_merge_only of="ranked"
# You apply only one merge: go on until no pair is a merge.
# replace: tokens = merge(tokens, earliest, 256 + rank[earliest])
# by:      tokens = merge(tokens, earliest, 256 + rank[earliest])
#          break


# %% wrong encode limit_300 of="ranked"
# You use only the first 300 merges: use all of them.
# replace: rank = {pair: number for number, pair in enumerate(merges)}
# by:      rank = {pair: number for number, pair in enumerate(merges[:300])}


# %% wrong encode last_merge_missing of="ranked"
# You leave out the last merge.
# replace: rank = {pair: number for number, pair in enumerate(merges)}
# by:      rank = {pair: number for number, pair in enumerate(merges[:-1])}


# %% wrong encode first_merge_missing of="ranked"
# You leave out the first merge: merge 0 counts, too.
# replace: rank = {pair: number for number, pair in enumerate(merges)}
# by:      rank = {pair: number for number, pair in enumerate(merges) if number}


# %% wrong encode reversed_order of="ranked"
# You apply the merges in reverse order: the first learned comes first.
# replace: earliest = min(pairwise(tokens), key=lambda pair: rank.get(pair, len(merges)))
# by:      earliest = min(pairwise(tokens), key=lambda pair: -rank.get(pair, -1))


# %% wrong encode bytes_only of="ranked"
# You never merge a token that a merge has made: merges may use it.
# replace: rank = {pair: number for number, pair in enumerate(merges)}
# by:      rank = {pair: number for number, pair in enumerate(merges) if max(pair) < 256}


# %% wrong encode pairs_reversed of="ranked"
# You look for the pairs the wrong way round.
# replace: rank = {pair: number for number, pair in enumerate(merges)}
# by:      rank = {(right, left): number for number, (left, right) in enumerate(merges)}


# %% wrong encode tuple_returned of="ranked"
# You return a tuple: return a list.
# replace: return tokens
# by:      return tuple(tokens)


# %% wrong encode text_pieces of="ranked"
# You return the pieces of the text: return their token numbers.
# replace: return tokens
# by:      pieces = vocabulary(merges)
#          return [pieces[token] for token in tokens]


# %% wrong encode nothing_returned of="ranked"
# You return nothing: the last line should return the tokens.
# replace: return tokens
# by:      tokens.copy()


# %% wrong encode end_token of="ranked"
# You add a token for the end of the word: only the word's own tokens are asked for.
# replace: return tokens
# by:      return [*tokens, 256 + len(merges)]


# %% wrong encode each_token_once of="ranked"
# You return each token once: a token may occur several times.
# replace: return tokens
# by:      return list(dict.fromkeys(tokens))


# %% wrong encode as_it_reads
# You merge while you read the word: of all its pairs, the one learned first is merged first.
def encode(word: str, merges: list[tuple[int, int]]) -> list[int]:
    rank = {pair: number for number, pair in enumerate(merges)}
    tokens = []
    for byte in word.encode():
        tokens.append(byte)
        while len(tokens) > 1 and (tokens[-2], tokens[-1]) in rank:
            tokens[-2:] = [256 + rank[tokens[-2], tokens[-1]]]
    return tokens


# %% wrong encode longest_token
# You take the longest token that fits: apply the merges in the order in which they were learned.
def encode(word: str, merges: list[tuple[int, int]]) -> list[int]:
    index = {entry: token for token, entry in reversed([*enumerate(vocabulary(merges))])}
    rest, tokens = word.encode(), []
    while rest:
        size = next(n for n in range(len(rest), 0, -1) if rest[:n] in index)
        tokens.append(index[rest[:size]])
        rest = rest[size:]
    return tokens


# %% wrong encode first_occurrence_only
# You apply each merge only once in a word: apply it wherever its pair occurs.
def encode(word: str, merges: list[tuple[int, int]]) -> list[int]:
    tokens = list(word.encode())
    for number, pair in enumerate(merges):
        for at in range(len(tokens) - 1):
            if (tokens[at], tokens[at + 1]) == pair:
                tokens[at : at + 2] = [256 + number]
                break
    return tokens


# %% wrong encode from_the_right
# You merge a run from the right: merge from the left.
def encode(word: str, merges: list[tuple[int, int]]) -> list[int]:
    tokens = list(word.encode())
    for number, pair in enumerate(merges):
        at = len(tokens) - 2
        while at >= 0:
            if (tokens[at], tokens[at + 1]) == pair:
                tokens[at : at + 2] = [256 + number]
                at -= 1
            at -= 1
    return tokens


# %% wrong encode stops_at_a_gap
# You stop at the first merge that does not occur in the word: go on with the next one.
def encode(word: str, merges: list[tuple[int, int]]) -> list[int]:
    tokens = list(word.encode())
    for number, pair in enumerate(merges):
        if pair not in pairwise(tokens):
            break
        tokens = merge(tokens, pair, 256 + number)
    return tokens


# %% wrong encode one_pass
# You go through the word once, and merge each pair of neighbours once: merged tokens are merged
# again.
def encode(word: str, merges: list[tuple[int, int]]) -> list[int]:
    rank = {pair: number for number, pair in enumerate(merges)}
    row, tokens, at = list(word.encode()), [], 0
    while at < len(row):
        pair = tuple(row[at : at + 2])
        tokens.append(256 + rank[pair] if pair in rank else row[at])
        at += 2 if pair in rank else 1
    return tokens


# %% wrong encode words_split
# You split at spaces and lose them: the word is taken as it is.
def encode(word: str, merges: list[tuple[int, int]]) -> list[int]:
    tokens = []
    for part in word.split():
        row = list(part.encode())
        for number, pair in enumerate(merges):
            row = merge(row, pair, 256 + number)
        tokens += row
    return tokens


# %% wrong encode each_character_alone
# You apply the merges to each character alone: merges join characters.
def encode(word: str, merges: list[tuple[int, int]]) -> list[int]:
    tokens = []
    for character in word:
        row = list(character.encode())
        for number, pair in enumerate(merges):
            row = merge(row, pair, 256 + number)
        tokens += row
    return tokens


# %% wrong encode trained_anew
# You train on the word: use the merges that are given.
def encode(word: str, merges: list[tuple[int, int]]) -> list[int]:
    tokens = tuple(word.encode())
    for number, pair in enumerate(train_bpe({tokens: 1}, len(merges))):
        tokens = tuple(merge(tokens, pair, 256 + number))
    return list(tokens)


# %% wrong encode text_of_digits
# You replace in a text of digits, where 32 97 is found in 132 97, too: compare tokens.
def encode(word: str, merges: list[tuple[int, int]]) -> list[int]:
    text = " ".join(map(str, word.encode()))
    for number, (left, right) in enumerate(merges):
        text = text.replace(f"{left} {right}", str(256 + number))
    return [int(token) for token in text.split()]


# %% wrong encode kept_by_length
# You keep a word's tokens by the number of merges: two lists of one length may differ.
KEPT: dict[tuple[str, int], list[int]] = {}


def encode(word: str, merges: list[tuple[int, int]]) -> list[int]:
    key = word, len(merges)
    if key not in KEPT:
        tokens = list(word.encode())
        for number, pair in enumerate(merges):
            tokens = merge(tokens, pair, 256 + number)
        KEPT[key] = tokens
    return KEPT[key]


# %% wrong encode line_ends_unified of="ranked"
# You change line ends: the word is taken as it is.
# replace: tokens = list(word.encode())
# by:      tokens = list(word.replace("\r\n", "\n").encode())


# %% right encode merge_after_merge
def encode(word: str, merges: list[tuple[int, int]]) -> list[int]:
    tokens = list(word.encode("utf-8"))
    for i, pair in enumerate(merges):
        tokens = merge(tokens, pair, 256 + i)
    return tokens


# %% right encode on_text
def encode(word: str, merges: list[tuple[int, int]]) -> list[int]:
    text = word.encode().decode("latin-1")
    for i, (left, right) in enumerate(merges):
        text = text.replace(chr(left) + chr(right), chr(256 + i))
    return [ord(c) for c in text]


# %% right encode one_occurrence_at_a_time
def encode(word: str, merges: list[tuple[int, int]]) -> list[int]:
    rank = {pair: i for i, pair in enumerate(merges)}
    tokens = [*word.encode()]
    while True:
        found = [(rank[p], i) for i, p in enumerate(pairwise(tokens)) if p in rank]
        if not found:
            return tokens
        number, i = min(found)
        tokens[i : i + 2] = [256 + number]


# %% right encode recursive
def encode(word: str, merges: list[tuple[int, int]]) -> list[int]:
    rank = {pair: i for i, pair in enumerate(merges)}

    def joined(row):
        known = [pair for pair in pairwise(row) if pair in rank]
        if not known:
            return row
        first = min(known, key=rank.__getitem__)
        return joined(merge(row, first, rank[first] + 256))

    return joined(list(word.encode()))


# %% right encode only_merges_of_the_word
def encode(word: str, merges: list[tuple[int, int]]) -> list[int]:
    tokens = list(word.encode())
    learned = {pair: 256 + i for i, pair in enumerate(merges)}
    known = sorted(learned[p] for p in set(pairwise(tokens)) if p in learned)
    while known:
        token = known[0]
        tokens = merge(tokens, merges[token - 256], token)
        known = sorted(learned[p] for p in set(pairwise(tokens)) if p in learned)
    return tokens


# %% right encode earliest_pair
def encode(word: str, merges: list[tuple[int, int]]) -> list[int]:
    rank = {pair: number for number, pair in enumerate(merges)}
    tokens = list(word.encode())
    while len(tokens) > 1:
        earliest = min(pairwise(tokens), key=lambda pair: rank.get(pair, len(merges)))
        if earliest not in rank:
            break
        tokens = merge(tokens, earliest, 256 + rank[earliest])
    return tokens


# %% wrong encode number_of_the_pair_lost of="solution"
# You count the merges from 1: merge 0 makes 256.
# replace: enumerate(merges)
# by:      enumerate(merges, 1)


# %% wrong encode second_token_asked of="solution"
# You skip a merge unless its second token is in the bytes of the word: earlier merges may make it.
# replace: if pair[0] in tokens:
# by:      if pair[1] in word.encode():


# %% wrong is_right_encoder always_true of="solution"
# No wrong encoder gets False from you: compare every result with that of your own encode, and ask
# that all are equal.
# replace: return all(encoder(*one) == encode(*one) for one in product([*odd, *short], lists))
# by:      return True


# %% wrong is_right_encoder always_false of="solution"
# You always return False: a right encoder gets True.
# replace: return all(encoder(*one) == encode(*one) for one in product([*odd, *short], lists))
# by:      return False


# %% wrong is_right_encoder inverted of="solution"
# Your answer is the wrong way round: True means that the encoder is right.
# replace: return all(
# by:      return not all(


# %% wrong is_right_encoder any_instead_of_all of="solution"
# No wrong encoder gets False from you: compare every result with that of your own encode, and ask
# that all are equal.
# replace: return all(
# by:      return any(


# %% wrong is_right_encoder lengths_only of="solution"
# You compare only how many tokens there are: compare the tokens.
# replace: encoder(*one) == encode(*one)
# by:      len(encoder(*one)) == len(encode(*one))


# %% wrong is_right_encoder sets_compared of="solution"
# You ignore the order of the tokens: compare the lists themselves.
# replace: encoder(*one) == encode(*one)
# by:      set(encoder(*one)) == set(encode(*one))


# %% wrong is_right_encoder sorted_tokens of="solution"
# You ignore the order of the tokens: compare the lists themselves.
# replace: return all(encoder(*one) == encode(*one) for one in product([*odd, *short], lists))
# by:      tried = product([*odd, *short], lists)
#          return all(sorted(encoder(*one)) == sorted(encode(*one)) for one in tried)


# %% wrong is_right_encoder first_tokens_only of="solution"
# You compare only the first token.
# replace: encoder(*one) == encode(*one)
# by:      encoder(*one)[:1] == encode(*one)[:1]


# %% wrong is_right_encoder sums_compared of="solution"
# You ignore the order of the tokens: compare the lists themselves.
# replace: encoder(*one) == encode(*one)
# by:      sum(encoder(*one)) == sum(encode(*one))


# %% wrong is_right_encoder round_trip of="solution"
# You only decode again: wrong tokens may decode to the right text. Compare the tokens.
# replace: encoder(*one) == encode(*one)
# by:      decode(encoder(*one), one[1]) == one[0]


# %% wrong is_right_encoder no_merges_tried of="solution"
# You try no merges at all, so that every encoder that gives bytes is right.
# replace: encoder(*one) == encode(*one)
# by:      encoder(one[0], []) == encode(one[0], [])


# %% wrong is_right_encoder one_merge_tried of="solution"
# You try only lists with a single merge: a wrong order needs several.
# replace: return all(encoder(*one) == encode(*one) for one in product([*odd, *short], lists))
# by:      return all(
#              encoder(one[0], one[1][:1]) == encode(one[0], one[1][:1])
#              for one in product([*odd, *short], lists)
#          )


# %% wrong is_right_encoder letters_only of="solution"
# You try only small letters: an encoder may go wrong with spaces, capitals or é.
# replace: odd = [" ab", "ab ", "é ", "aéb", "Ab", "ba\n", "한", "aaaaa", "ababa"]
# by:      odd = []


# %% wrong is_right_encoder no_spaces of="solution"
# You try no text with a space: an encoder may strip it.
# replace: odd = [" ab", "ab ", "é ", "aéb", "Ab", "ba\n", "한", "aaaaa", "ababa"]
# by:      odd = ["é", "aéb", "Ab", "AAB", "한a", "aaaaa"]


# %% wrong is_right_encoder no_space_in_front of="solution"
# You try no text with a space in front: an encoder may strip it.
# replace: " ab", "ab ", "é "
# by:      "ab ", "é "


# %% wrong is_right_encoder no_space_behind of="solution"
# You try no text with a space behind it: an encoder may strip it.
# replace: "ab ", "é ", "aéb", "Ab", "ba\n"
# by:      "aéb", "Ab"


# %% wrong is_right_encoder no_capitals of="solution"
# You try no capital letters: an encoder may make them small.
# replace: "Ab", "ba\n"
# by:      "ba\n"


# %% wrong is_right_encoder ascii_only of="solution"
# You try only ASCII: an encoder may take characters for bytes.
# replace: "é ", "aéb", "Ab", "ba\n", "한"
# by:      "Ab", "ba\n"


# %% wrong is_right_encoder single_letters of="solution"
# You try no text of several letters: merges need at least two.
# replace: "".join(letters) for size in range(1, 5) for letters in product("ab", repeat=size)
# by:      "", "a", "b"
# replace: odd = [" ab", "ab ", "é ", "aéb", "Ab", "ba\n", "한", "aaaaa", "ababa"]
# by:      odd = [" ", "é", "A"]


# %% wrong is_right_encoder runs_only of="solution"
# You try only runs of one letter: then the order of the merges never shows.
# replace: "".join(letters) for size in range(1, 5) for letters in product("ab", repeat=size)
# by:      "a" * size for size in range(9)
# replace: odd = [" ab", "ab ", "é ", "aéb", "Ab", "ba\n", "한", "aaaaa", "ababa"]
# by:      odd = [" a", "a ", "é", "A", "aaé"]


# %% wrong is_right_encoder no_runs of="solution"
# You try no runs of a letter: an encoder may merge them from the right.
# replace: "".join(letters) for size in range(1, 5) for letters in product("ab", repeat=size)
# by:      "ab", "ba", "abab", "baba"
# replace: odd = [" ab", "ab ", "é ", "aéb", "Ab", "ba\n", "한", "aaaaa", "ababa"]
# by:      odd = [" ab", "ab ", "é ", "Ab", "한"]


# %% wrong is_right_encoder return_in_the_loop of="solution"
# You return after the first text: try all of them.
# replace: return all(encoder(*one) == encode(*one) for one in product([*odd, *short], lists))
# by:      for one in product([*odd, *short], lists):
#              return encoder(*one) == encode(*one)
#          return True


# %% wrong is_right_encoder last_one_decides of="solution"
# No wrong encoder gets False from you: compare every result with that of your own encode, and ask
# that all are equal.
# replace: return all(encoder(*one) == encode(*one) for one in product([*odd, *short], lists))
# by:      answer = True
#          for one in product([*odd, *short], lists):
#              answer = encoder(*one) == encode(*one)
#          return answer


# %% wrong is_right_encoder most_are_right of="solution"
# You return True if most results are right: all of them have to be.
# replace: return all(encoder(*one) == encode(*one) for one in product([*odd, *short], lists))
# by:      right = [encoder(*one) == encode(*one) for one in product([*odd, *short], lists)]
#          return sum(right) > 0.5 * len(right)


# %% wrong is_right_encoder wrong_ones_returned of="solution"
# You return the texts that went wrong: return True or False.
# replace: return all(encoder(*one) == encode(*one) for one in product([*odd, *short], lists))
# by:      trials = product([*odd, *short], lists)
#          return [one for one in trials if encoder(*one) != encode(*one)]


# %% wrong is_right_encoder compared_with_itself of="solution"
# No wrong encoder gets False from you: compare every result with that of your own encode, and ask
# that all are equal.
# replace: encoder(*one) == encode(*one)
# by:      encoder(*one) == encoder(*one)


# %% wrong is_right_encoder type_only of="solution"
# No wrong encoder gets False from you: compare every result with that of your own encode, and ask
# that all are equal.
# replace: encoder(*one) == encode(*one)
# by:      isinstance(encoder(*one), list)


# %% wrong is_right_encoder tokens_known of="solution"
# You only ask whether all tokens are known: compare the tokens.
# replace: return all(encoder(*one) == encode(*one) for one in product([*odd, *short], lists))
# by:      return all(
#              set(encoder(*one)) <= set(range(256 + len(one[1])))
#              for one in product([*odd, *short], lists)
#          )


# %% wrong is_right_encoder no_merges_of_merges of="solution"
# Your merges only join bytes: an encoder may go wrong with merges of merges.
# replace: lists = [
# by:      lists = [[(97, 98), (98, 97), (97, 97), (98, 98)], [(98, 97), (97, 98), (195, 169)]]
#          unused = [


# %% wrong is_right_encoder nothing_returned of="solution"
# You return nothing: return True or False.
# replace: return all(
# by:      all(


# %% wrong is_right_encoder famous_test
# You use only minbpe's text and merges, and the encoder that merges as it reads passes that test.
def is_right_encoder(encoder: Callable[[str, list[tuple[int, int]]], list[int]]) -> bool:
    famous = [(97, 97), (256, 97), (257, 98)]
    return encoder("aaabdaaabac", famous) == [258, 100, 258, 97, 99]


# %% wrong is_right_encoder one_long_word
# You try only one word: a wrong encoder may be right for it.
def is_right_encoder(encoder: Callable[[str, list[tuple[int, int]]], list[int]]) -> bool:
    merges = [(97, 98), (98, 99), (256, 99), (97, 97)]
    return encoder("xabcab", merges) == encode("xabcab", merges)


# %% wrong is_right_encoder exact_list_object
# You ask whether both are the same object: two equal lists are not. Use ==.
def is_right_encoder(encoder: Callable[[str, list[tuple[int, int]]], list[int]]) -> bool:
    merges = [(97, 98), (98, 97), (256, 97)]
    return all(encoder(text, merges) is encode(text, merges) for text in ("ab", "aba", "é", " A"))


# %% wrong is_right_encoder too_many_calls of="solution"
# You call the encoder more than 1,000 times: short texts find mistakes with fewer calls.
# replace: for size in range(1, 5)
# by:      for size in range(1, 10)


# %% right is_right_encoder own_reference
def is_right_encoder(encoder: Callable[[str, list[tuple[int, int]]], list[int]]) -> bool:
    def reference(word, merges):
        text = word.encode().decode("latin-1")
        for i, (left, right) in enumerate(merges):
            text = text.replace(chr(left) + chr(right), chr(256 + i))
        return [ord(c) for c in text]

    lists = [
        [(97, 98), (256, 97), (98, 97), (97, 97), (256, 256), (32, 97)],
        [(98, 97), (97, 98), (97, 97), (258, 97), (256, 256), (195, 169)],
        [(97, 97), (256, 97), (256, 256), (97, 98), (98, 257), (32, 256)],
    ]
    for merges in lists:
        for n in range(6):
            for letters in product("ab", repeat=n):
                for word in ("".join(letters), " " + "".join(letters)):
                    if encoder(word, merges) != reference(word, merges):
                        return False
        for word in ("ab ", "Ab", "aAb", "é", "aéb", " 한 ", "ba  "):
            if encoder(word, merges) != reference(word, merges):
                return False
    return True


# %% right is_right_encoder random_words
def is_right_encoder(encoder: Callable[[str, list[tuple[int, int]]], list[int]]) -> bool:
    generator = random.Random(0)
    for _ in range(250):
        merges = []
        letters = [97, 98, 99, 32, 65, 195, 169]
        for i in range(generator.randrange(1, 9)):
            merges.append((generator.choice(letters), generator.choice(letters)))
            if len(set(merges)) < len(merges):
                merges.pop()
                break
            letters.append(256 + i)
        for _ in range(3):
            size = generator.randrange(1, 9)
            word = "".join(generator.choice("aaabbc Aé") for _ in range(size))
            if list(encoder(word, list(merges))) != encode(word, merges):
                return False
    merges = [(97, 98), (98, 97), (256, 97), (97, 97), (256, 256)]
    words = ["".join(w) for n in range(1, 6) for w in product("ab", repeat=n)]
    words += [" ab", "ab ", "Ab", "éa", "é"]
    return all(encoder(word, merges) == encode(word, merges) for word in words)


# %% right is_right_encoder trained_merges
def is_right_encoder(encoder: Callable[[str, list[tuple[int, int]]], list[int]]) -> bool:
    seen = {tuple(f" {a}{b}{c}é".encode()): 2 for a in "ab" for b in "ab" for c in "aab"}
    lists = [
        train_bpe(seen, 12),
        [(97, 97), (256, 97), (256, 256)],
        [(97, 98), (98, 97), (256, 97)],
    ]
    lists.append([(98, 97), (97, 98), (97, 97), (257, 256), (258, 258), (258, 98)])
    words = ["".join(w) for n in range(7) for w in product("ab", repeat=n)][:200]
    words += [" aab", "ab ", "ABa", "é", " éaé", "\taa"]
    return not any(encoder(w, m) != encode(w, m) for m in lists for w in words)


# %% right is_right_encoder named_cases
def is_right_encoder(encoder: Callable[[str, list[tuple[int, int]]], list[int]]) -> bool:
    abc = [(97, 98), (98, 99), (256, 99), (97, 97), (259, 259), (259, 98), (32, 97)]
    two = [(98, 97), (97, 98), (97, 256), (257, 97), (257, 257), (195, 169)]
    runs = [(97, 97), (256, 97), (256, 256), (258, 258)]
    cases = [("abc", abc), ("bcab", abc), ("aab", abc), ("aaa", abc), ("aaaaa", abc), (" ab", abc)]
    cases += [("ab ", abc), ("ABC", abc), ("Ab", abc), ("é", abc), ("aé", abc), ("abcabc", abc)]
    cases += [("abab", two), ("baba", two), ("aba", two), ("bab", two), ("ababa", two), ("éé", two)]
    cases += [("abba", two), ("aabb", two), ("abaab", two), ("babab", two), ("  ", two)]
    cases += [("a" * n, runs) for n in range(12)] + [("xaaay", runs), ("aabaa", runs)]
    cases += [(" a a", abc), ("a\n", abc), ("abcbcab", abc), ("aabc", abc), ("", abc), ("한", two)]
    for word, merges in cases:
        got = encoder(word, merges)
        if got != encode(word, merges):
            return False
    return True


# %% wrong decode token_by_token of="solution"
# You decode each token by itself: join the bytes of all tokens first.
# replace: return b"".join(entries[token] for token in tokens).decode("utf-8", errors="replace")
# by:      return "".join(entries[token].decode("utf-8", errors="replace") for token in tokens)


# %% wrong decode errors_ignored of="solution"
# You drop bytes that are no valid UTF-8: they become �.
# replace: return b"".join(entries[token] for token in tokens).decode("utf-8", errors="replace")
# by:      return b"".join(entries[token] for token in tokens).decode("utf-8", errors="ignore")


# %% wrong decode strict of="solution"
# Your decoding stops at bytes that are no valid UTF-8: use errors="replace".
# replace: return b"".join(entries[token] for token in tokens).decode("utf-8", errors="replace")
# by:      return b"".join(entries[token] for token in tokens).decode("utf-8")


# %% wrong decode backslashes of="solution"
# You write invalid bytes as \x and digits: they become �.
# replace: "utf-8", errors="replace"
# by:      "utf-8", errors="backslashreplace"


# %% wrong decode surrogates of="solution"
# You keep invalid bytes as surrogates: they become �.
# replace: "utf-8", errors="replace"
# by:      "utf-8", errors="surrogateescape"


# %% wrong decode latin of="solution"
# You decode as latin-1, one character for each byte: the text is UTF-8.
# replace: return b"".join(entries[token] for token in tokens).decode("utf-8", errors="replace")
# by:      return b"".join(entries[token] for token in tokens).decode("latin-1", errors="replace")


# %% wrong decode ascii of="solution"
# You decode as ASCII: the text is UTF-8.
# replace: return b"".join(entries[token] for token in tokens).decode("utf-8", errors="replace")
# by:      return b"".join(entries[token] for token in tokens).decode("ascii", errors="replace")


# %% wrong decode utf_16 of="solution"
# You decode as UTF-16: the text is UTF-8.
# replace: return b"".join(entries[token] for token in tokens).decode("utf-8", errors="replace")
# by:      return b"".join(entries[token] for token in tokens).decode("utf-16-le", errors="replace")


# %% wrong decode mark_dropped of="solution"
# You drop a byte order mark at the beginning (utf-8-sig): it is a character of the text.
# replace: return b"".join(entries[token] for token in tokens).decode("utf-8", errors="replace")
# by:      return b"".join(entries[token] for token in tokens).decode("utf-8-sig", errors="replace")


# %% wrong decode question_marks of="solution"
# You put ? for invalid bytes: they become �.
# replace: return b"".join(entries[token] for token in tokens).decode("utf-8", errors="replace")
# by:      text = b"".join(entries[token] for token in tokens).decode("utf-8", errors="replace")
#          return text.replace("\ufffd", "?")


# %% wrong decode one_mark_a_run of="solution"
# You put one � for a run of invalid bytes: leave it to errors="replace".
# replace: return b"".join(entries[token] for token in tokens).decode("utf-8", errors="replace")
# by:      text = b"".join(entries[token] for token in tokens).decode("utf-8", errors="replace")
#          return re.sub("\ufffd+", "\ufffd", text)


# %% wrong decode stripped of="solution"
# You strip the text: spaces and line ends stay.
# replace: errors="replace")
# by:      errors="replace").strip()


# %% wrong decode with_spaces of="solution"
# You put spaces between the tokens: they carry their own.
# replace: return b"".join(entries[token] for token in tokens).decode("utf-8", errors="replace")
# by:      return b" ".join(entries[token] for token in tokens).decode("utf-8", errors="replace")


# %% wrong decode bytes_returned of="solution"
# You return bytes: return the text.
# replace: return b"".join(entries[token] for token in tokens).decode("utf-8", errors="replace")
# by:      return b"".join(entries[token] for token in tokens)


# %% wrong decode reversed_text of="solution"
# Your text is in reverse order.
# replace: entries[token] for token in tokens
# by:      entries[token] for token in reversed(tokens)


# %% wrong decode zero_skipped of="solution"
# You leave out token 0: it is a byte like any other.
# replace: entries[token] for token in tokens
# by:      entries[token] for token in tokens if token


# %% wrong decode zeros_removed of="solution"
# You remove the character 0: it is a character like any other.
# replace: return b"".join(entries[token] for token in tokens).decode("utf-8", errors="replace")
# by:      text = b"".join(entries[token] for token in tokens).decode("utf-8", errors="replace")
#          return text.replace("\x00", "")


# %% wrong decode line_ends_unified of="solution"
# You change line ends: the text stays as it is.
# replace: return b"".join(entries[token] for token in tokens).decode("utf-8", errors="replace")
# by:      text = b"".join(entries[token] for token in tokens).decode("utf-8", errors="replace")
#          return text.replace("\r\n", "\n")


# %% wrong decode normalised of="solution"
# You normalise the text: it stays as it is.
# replace: return b"".join(entries[token] for token in tokens).decode("utf-8", errors="replace")
# by:      import unicodedata
#
#          text = b"".join(entries[token] for token in tokens).decode("utf-8", errors="replace")
#          return unicodedata.normalize("NFC", text)


# %% wrong decode marks_removed of="solution"
# You remove �: it stands for bytes that are no valid UTF-8.
# replace: return b"".join(entries[token] for token in tokens).decode("utf-8", errors="replace")
# by:      text = b"".join(entries[token] for token in tokens).decode("utf-8", errors="replace")
#          return text.replace("\ufffd", "")


# %% wrong decode nothing_returned of="solution"
# You return nothing: return the text.
# replace: return b"".join(entries[token] for token in tokens).decode("utf-8", errors="replace")
# by:      b"".join(entries[token] for token in tokens).decode("utf-8", errors="replace")


# %% wrong decode negative_tokens of="solution"
# You accept negative tokens: in Python, index −1 is the last entry. Raise a ValueError.
# replace: if not 0 <= token < len(entries):
# by:      if token >= len(entries):


# %% wrong decode one_too_many of="solution"
# You accept the token 256 + len(merges): the last one is 255 + len(merges).
# replace: if not 0 <= token < len(entries):
# by:      if not 0 <= token <= len(entries):


# %% wrong decode no_check of="solution"
# You do not ask whether a token is known: raise a ValueError that names it.
# replace: for token in tokens:
#              if not 0 <= token < len(entries):
#                  raise ValueError(f"token {token} is unknown: there are {len(entries)} tokens")
# by:


# %% wrong decode unknown_skipped of="solution"
# You skip unknown tokens: raise a ValueError that names the token.
# replace: for token in tokens:
#              if not 0 <= token < len(entries):
#                  raise ValueError(f"token {token} is unknown: there are {len(entries)} tokens")
# by:      tokens = [token for token in tokens if 0 <= token < len(entries)]


# %% wrong decode unknown_replaced of="solution"
# You put � for unknown tokens: raise a ValueError that names the token.
# replace: for token in tokens:
#              if not 0 <= token < len(entries):
#                  raise ValueError(f"token {token} is unknown: there are {len(entries)} tokens")
# by:      tokens = [token if 0 <= token < len(entries) else 255 for token in tokens]


# %% wrong decode unnamed of="solution"
# Your error does not name the token.
# replace: raise ValueError(f"token {token} is unknown: there are {len(entries)} tokens")
# by:      raise ValueError("a token is unknown")


# %% wrong decode position_named of="solution"
# Your error names the position of the token: it should name the token.
# replace: raise ValueError(f"token {token} is unknown: there are {len(entries)} tokens")
# by:      raise ValueError(f"the token at position {list(tokens).index(token)} is unknown")


# %% wrong decode index_error of="solution"
# You raise an IndexError: it should be a ValueError.
# replace: raise ValueError(f"token {token} is unknown: there are {len(entries)} tokens")
# by:      raise IndexError(f"token {token} is unknown: there are {len(entries)} tokens")


# %% wrong decode key_error of="solution"
# You raise a KeyError: it should be a ValueError.
# replace: raise ValueError(f"token {token} is unknown: there are {len(entries)} tokens")
# by:      raise KeyError(f"token {token} is unknown: there are {len(entries)} tokens")


# %% wrong decode assertion of="solution"
# You use assert: raise a ValueError.
# replace: if not 0 <= token < len(entries):
#              raise ValueError(f"token {token} is unknown: there are {len(entries)} tokens")
# by:      assert 0 <= token < len(entries), f"token {token} is unknown"


# %% wrong decode ascii_for_vocabulary of="solution"
# You take each token for a character: take its bytes.
# replace: b"".join(entries[token] for token in tokens).decode("utf-8", errors="replace"
# by:      "".join(chr(token) if token < 256 else entries[token].decode() for token in tokens


# %% wrong decode first_only of="solution"
# You decode only the first token.
# replace: return b"".join(entries[token] for token in tokens).decode("utf-8", errors="replace")
# by:      return b"".join(entries[token] for token in tokens[:1]).decode("utf-8", errors="replace")


# %% wrong decode set_of_tokens of="solution"
# You decode each token once: a token may occur several times.
# replace: return b"".join(entries[token] for token in tokens).decode("utf-8", errors="replace")
# by:      tokens = list(dict.fromkeys(tokens))
#          return b"".join(entries[token] for token in tokens).decode("utf-8", errors="replace")


# %% wrong decode limit_256 of="solution"
# You refuse all tokens from 256 on: merges have made some of them.
# replace: if not 0 <= token < len(entries):
# by:      if not 0 <= token < 256:


# %% wrong decode empty_is_an_error of="solution"
# You raise an error for no tokens: the text is empty.
# replace: entries = vocabulary(merges)
# by:      entries = vocabulary(merges)
#          if not tokens:
#              raise ValueError("no tokens")


# %% wrong decode lists_only of="solution"
# You use a method that only lists have: the tokens may be a tuple.
# replace: for token in tokens:
# by:      for token in tokens.copy():


# %% wrong decode mark_for_each_byte
# You write a � for each byte of a character that is cut off: errors="replace" writes one.
def decode(tokens: Sequence[int], merges: list[tuple[int, int]]) -> str:
    entries = vocabulary(merges)
    for token in tokens:
        if not 0 <= token < len(entries):
            raise ValueError(f"token {token} is unknown")
    joined = b"".join(entries[token] for token in tokens)
    return re.sub("[\udc80-\udcff]", "�", joined.decode(errors="surrogateescape"))


# %% right decode expanded_by_hand
def decode(tokens: Sequence[int], merges: list[tuple[int, int]]) -> str:
    rest, found = list(tokens)[::-1], bytearray()
    while rest:
        token = rest.pop()
        if token < 0 or token >= 256 + len(merges):
            raise ValueError(f"unknown token: {token}")
        if token < 256:
            found.append(token)
        else:
            left, right = merges[token - 256]
            rest += [right, left]
    return found.decode(errors="replace")


# %% right decode dict_lookup
def decode(tokens: Sequence[int], merges: list[tuple[int, int]]) -> str:
    table = dict(enumerate(vocabulary(merges)))
    data = b""
    for token in tokens:
        try:
            data += table[token]
        except KeyError:
            raise ValueError(f"{token} is no token") from None
    return str(data, "utf-8", "replace")


# %% right decode checked_first
def decode(tokens: Sequence[int], merges: list[tuple[int, int]]) -> str:
    size = 256 + len(merges)
    unknown = [token for token in tokens if token < 0 or token >= size]
    if unknown:
        raise ValueError(f"unknown tokens {unknown}")
    pieces = vocabulary(merges)
    return bytes(byte for token in tokens for byte in pieces[token]).decode(errors="replace")


# %% right decode unmerged
def decode(tokens: Sequence[int], merges: list[tuple[int, int]]) -> str:
    row = list(tokens)
    for token in row:
        if token not in range(256 + len(merges)):
            raise ValueError(f"{token} is not between 0 and {255 + len(merges)}")
    for i in reversed(range(len(merges))):
        row = [part for token in row for part in (merges[i] if token == 256 + i else (token,))]
    return bytes(row).decode("utf8", "replace")


# %% right decode incremental_decoder
def decode(tokens: Sequence[int], merges: list[tuple[int, int]]) -> str:
    import codecs

    reader = codecs.getincrementaldecoder("utf-8")(errors="replace")
    pieces, text = vocabulary(merges), ""
    for token in tokens:
        if not (token >= 0 and token < len(pieces)):
            raise ValueError(f"the vocabulary has no token {token}")
        text += reader.decode(pieces[token])
    return text + reader.decode(b"", final=True)


# %% wrong longest_match stripped of="solution"
# You strip the spaces: they belong to the word.
# replace: rest, pieces = word.encode(), []
# by:      rest, pieces = word.strip().encode(), []


# %% wrong longest_match space_behind_lost of="solution"
# You strip the spaces behind the word: they belong to it.
# replace: rest, pieces = word.encode(), []
# by:      rest, pieces = word.rstrip().encode(), []


# %% wrong longest_match small_letters of="solution"
# You make all letters small: A is not a.
# replace: rest, pieces = word.encode(), []
# by:      rest, pieces = word.lower().encode(), []


# %% wrong longest_match normalised of="solution"
# You normalise the text (NFC): it is taken as it is.
# replace: rest, pieces = word.encode(), []
# by:      import unicodedata
#
#          rest, pieces = unicodedata.normalize("NFC", word).encode(), []


# %% wrong longest_match compatibility of="solution"
# You normalise the text (NFKC): it is taken as it is.
# replace: rest, pieces = word.encode(), []
# by:      import unicodedata
#
#          rest, pieces = unicodedata.normalize("NFKC", word).encode(), []


# %% wrong longest_match ascii_only of="solution"
# You drop characters outside ASCII: every byte counts.
# replace: rest, pieces = word.encode(), []
# by:      rest, pieces = word.encode("ascii", "ignore"), []


# %% wrong longest_match latin of="solution"
# You encode as latin-1: UTF-8 is the default.
# replace: rest, pieces = word.encode(), []
# by:      rest, pieces = word.encode("latin-1", "ignore"), []


# %% wrong longest_match pieces_returned of="solution"
# You return the pieces of the word: return their indices in the vocabulary.
# replace: pieces.append(index[rest[:size]])
# by:      pieces.append(rest[:size])


# %% wrong longest_match sorted_vocabulary of="solution"
# Your indices belong to the sorted vocabulary: a token is the index in the list as given.
# replace: index = {entry: number for number, entry in enumerate(vocabulary)}
# by:      index = {entry: number for number, entry in enumerate(sorted(vocabulary))}


# %% wrong longest_match sorted_by_length of="solution"
# Your indices belong to the vocabulary sorted by length: a token is the index in the list as
# given.
# replace: index = {entry: number for number, entry in enumerate(vocabulary)}
# by:      index = {entry: number for number, entry in enumerate(sorted(vocabulary, key=len))}


# %% wrong longest_match bytes_first_assumed of="solution"
# You take a single byte's number as its token: the vocabulary may be in any order.
# replace: pieces.append(index[rest[:size]])
# by:      pieces.append(rest[0] if size == 1 else index[rest[:size]])


# %% wrong longest_match one_off of="solution"
# Your indices begin at 1: the first entry has index 0.
# replace: index = {entry: number for number, entry in enumerate(vocabulary)}
# by:      index = {entry: number for number, entry in enumerate(vocabulary, 1)}


# %% wrong longest_match one_byte_forward of="solution"
# You always go on by one byte: go on behind the piece.
# replace: rest = rest[size:]
# by:      rest = rest[1:]


# %% wrong longest_match first_piece_only of="solution"
# You stop after the first piece: go on with the rest.
# replace: rest = rest[size:]
# by:      break


# %% wrong longest_match one_too_short of="solution"
# You never try the whole rest: begin with all of it.
# replace: size = len(rest)
# by:      size = max(1, len(rest) - 1)


# %% wrong longest_match limit_16 of="solution"
# You try pieces of 16 bytes at most: an entry may be longer.
# replace: size = len(rest)
# by:      size = min(16, len(rest))


# %% wrong longest_match limit_in_characters of="solution"
# You limit a piece to the characters of the word: work with bytes.
# replace: size = len(rest)
# by:      size = min(len(rest), max(1, len(word) - len(pieces)))


# %% wrong longest_match tuple_returned of="solution"
# You return a tuple: return a list.
# replace: return pieces
# by:      return tuple(pieces)


# %% wrong longest_match reversed_tokens of="solution"
# Your tokens are in reverse order.
# replace: return pieces
# by:      return pieces[::-1]


# %% wrong longest_match nothing_returned of="solution"
# You return nothing: return the tokens.
# replace: return pieces
# by:      pieces.copy()


# %% wrong longest_match each_once of="solution"
# You return each token once: a token may occur several times.
# replace: return pieces
# by:      return list(dict.fromkeys(pieces))


# %% wrong longest_match bytes_left_out of="solution"
# You leave out pieces of a single byte.
# replace: return pieces
# by:      return [token for token in pieces if len(vocabulary[token]) > 1]


# %% wrong longest_match no_longer_pieces
# You take a shorter entry where a longer one fits: take the longest.
def longest_match(word: str, vocabulary: list[bytes]) -> list[int]:
    return [vocabulary.index(bytes([byte])) for byte in word.encode()]


# %% wrong longest_match shortest
# You take a shorter entry where a longer one fits: take the longest.
def longest_match(word: str, vocabulary: list[bytes]) -> list[int]:
    index = {entry: number for number, entry in enumerate(vocabulary)}
    rest, pieces = word.encode(), []
    while rest:
        size = next(size for size in range(1, len(rest) + 1) if rest[:size] in index)
        pieces.append(index[rest[:size]])
        rest = rest[size:]
    return pieces


# %% wrong longest_match first_in_the_list
# You take a shorter entry where a longer one fits: take the longest.
def longest_match(word: str, vocabulary: list[bytes]) -> list[int]:
    rest, pieces = word.encode(), []
    while rest:
        token = next(i for i, entry in enumerate(vocabulary) if rest.startswith(entry))
        pieces.append(token)
        rest = rest[len(vocabulary[token]) :]
    return pieces


# %% wrong longest_match last_in_the_list
# You take the last entry of the list that fits: take the longest.
def longest_match(word: str, vocabulary: list[bytes]) -> list[int]:
    rest, pieces = word.encode(), []
    while rest:
        token = max(i for i, entry in enumerate(vocabulary) if rest.startswith(entry))
        pieces.append(token)
        rest = rest[len(vocabulary[token]) :]
    return pieces


# %% wrong longest_match from_the_right
# You do not begin with the longest piece on the left: take it first, even if the rest then splits
# worse.
def longest_match(word: str, vocabulary: list[bytes]) -> list[int]:
    index = {entry: number for number, entry in enumerate(vocabulary)}
    rest, pieces = word.encode(), []
    while rest:
        size = len(rest)
        while rest[-size:] not in index:
            size -= 1
        pieces.insert(0, index[rest[-size:]])
        rest = rest[:-size]
    return pieces


# %% wrong longest_match grown_piece
# You make the piece longer as long as it is in the vocabulary: a longer one may be there although
# that one is not.
def longest_match(word: str, vocabulary: list[bytes]) -> list[int]:
    index = {entry: number for number, entry in enumerate(vocabulary)}
    rest, pieces = word.encode(), []
    while rest:
        size = 1
        while size < len(rest) and rest[: size + 1] in index:
            size += 1
        pieces.append(index[rest[:size]])
        rest = rest[size:]
    return pieces


# %% wrong longest_match fewest_tokens
# You do not begin with the longest piece on the left: take it first, even if the rest then splits
# worse.
def longest_match(word: str, vocabulary: list[bytes]) -> list[int]:
    index = {entry: number for number, entry in enumerate(vocabulary)}
    data = word.encode()
    best = [[]]
    for end in range(1, len(data) + 1):
        starts = [start for start in range(end) if data[start:end] in index]
        best.append(min(([*best[start], index[data[start:end]]] for start in starts), key=len))
    return best[-1]


# %% wrong longest_match longest_anywhere
# You do not begin with the longest piece on the left: take it first, even if the rest then splits
# worse.
def longest_match(word: str, vocabulary: list[bytes]) -> list[int]:
    def split(data):
        if not data:
            return []
        entry = max((entry for entry in vocabulary if entry in data), key=len)
        before, _, after = data.partition(entry)
        return [*split(before), vocabulary.index(entry), *split(after)]

    return split(word.encode())


# %% wrong longest_match whole_characters
# You work with characters: an entry may begin or end inside one. Work with bytes.
def longest_match(word: str, vocabulary: list[bytes]) -> list[int]:
    index = {entry: number for number, entry in enumerate(vocabulary)}
    rest, pieces = word, []
    while rest:
        size = len(rest)
        while size and rest[:size].encode() not in index:
            size -= 1
        found = [rest[:size].encode()] if size else [bytes([b]) for b in rest[0].encode()]
        pieces += [index[piece] for piece in found]
        rest = rest[max(size, 1) :]
    return pieces


# %% wrong longest_match texts_of_entries
# You turn the entries into text: one that is a part of a character has none.
def longest_match(word: str, vocabulary: list[bytes]) -> list[int]:
    index = {entry.decode(errors="ignore"): number for number, entry in enumerate(vocabulary)}
    rest, pieces = word, []
    while rest:
        size = len(rest)
        while rest[:size] not in index:
            size -= 1
        pieces.append(index[rest[:size]])
        rest = rest[size:] if size else rest[1:]
    return pieces


# %% wrong longest_match pattern_unescaped
# You make a pattern of the entries without escaping them: there, a . matches any byte.
def longest_match(word: str, vocabulary: list[bytes]) -> list[int]:
    index = {entry: number for number, entry in enumerate(vocabulary)}
    longer = sorted((entry for entry in vocabulary if len(entry) > 1), key=len, reverse=True)
    pattern = re.compile(b"|".join([*longer, b"(?s:.)"]))
    pieces = []
    for piece in pattern.findall(word.encode()):
        pieces += [index[piece]] if piece in index else [index[bytes([b])] for b in piece]
    return pieces


# %% wrong longest_match byte_pairs
# You merge neighbours that give an entry, as BPE does: take the longest piece from the left.
def longest_match(word: str, vocabulary: list[bytes]) -> list[int]:
    index = {entry: number for number, entry in enumerate(vocabulary)}
    parts = [bytes([byte]) for byte in word.encode()]
    at = 0
    while at < len(parts) - 1:
        if parts[at] + parts[at + 1] in index:
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
            at = max(at - 1, 0)
        else:
            at += 1
    return [index[part] for part in parts]


# %% wrong longest_match words_split
# You split at spaces and lose them: they belong to the word.
def longest_match(word: str, vocabulary: list[bytes]) -> list[int]:
    index = {entry: number for number, entry in enumerate(vocabulary)}
    pieces = []
    for part in word.split():
        rest = part.encode()
        while rest:
            size = next(n for n in range(len(rest), 0, -1) if rest[:n] in index)
            pieces.append(index[rest[:size]])
            rest = rest[size:]
    return pieces


# %% wrong longest_match unknown_token
# You give up where no longer entry fits: a single byte always does.
def longest_match(word: str, vocabulary: list[bytes]) -> list[int]:
    longer = {entry: number for number, entry in enumerate(vocabulary) if len(entry) > 1}
    rest, pieces = word.encode(), []
    while rest:
        size = next((n for n in range(len(rest), 0, -1) if rest[:n] in longer), None)
        if size is None:
            return [0]
        pieces.append(longer[rest[:size]])
        rest = rest[size:]
    return pieces


# %% wrong longest_match marked_inside
# You mark the pieces inside a word by ##: the entries here have no such mark.
def longest_match(word: str, vocabulary: list[bytes]) -> list[int]:
    index = {entry: number for number, entry in enumerate(vocabulary)}
    data, start, pieces = word.encode(), 0, []
    while start < len(data):
        end = len(data)
        while end > start + 1:
            piece = data[start:end] if start == 0 else b"##" + data[start:end]
            if piece in index:
                break
            end -= 1
        pieces.append(index[data[start:end]])
        start = end
    return pieces


# %% right longest_match longest_prefix
def longest_match(word: str, vocabulary: list[bytes]) -> list[int]:
    rest, result = word.encode(), []
    while rest:
        fits = [i for i, entry in enumerate(vocabulary) if rest.startswith(entry)]
        best = max(fits, key=lambda i: len(vocabulary[i]))
        result.append(best)
        rest = rest[len(vocabulary[best]) :]
    return result


# %% right longest_match escaped_pattern
def longest_match(word: str, vocabulary: list[bytes]) -> list[int]:
    index = {entry: i for i, entry in enumerate(vocabulary)}
    ordered = sorted(vocabulary, key=len, reverse=True)
    pattern = re.compile(b"|".join(map(re.escape, ordered)), re.DOTALL)
    return [index[piece] for piece in pattern.findall(word.encode())]


# %% right longest_match prefix_tree
def longest_match(word: str, vocabulary: list[bytes]) -> list[int]:
    tree = {}
    for i, entry in enumerate(vocabulary):
        node = tree
        for byte in entry:
            node = node.setdefault(byte, {})
        node["token"] = i
    data, start, result = word.encode(), 0, []
    while start < len(data):
        node, best = tree, (start + 1, None)
        for at in range(start, len(data)):
            if data[at] not in node:
                break
            node = node[data[at]]
            if "token" in node:
                best = (at + 1, node["token"])
        start = best[0]
        result.append(best[1])
    return result


# %% right longest_match longest_entry_first
def longest_match(word: str, vocabulary: list[bytes]) -> list[int]:
    longest = max(map(len, vocabulary))
    where = {entry: i for i, entry in enumerate(vocabulary)}
    data = word.encode("utf-8")
    start, result = 0, []
    while start < len(data):
        for end in range(min(start + longest, len(data)), start, -1):
            if data[start:end] in where:
                result.append(where[data[start:end]])
                start = end
                break
    return result


# %% right longest_match recursive
def longest_match(word: str, vocabulary: list[bytes]) -> list[int]:
    def split(data):
        if not data:
            return []
        size = max(len(entry) for entry in vocabulary if data[: len(entry)] == entry)
        return [vocabulary.index(data[:size]), *split(data[size:])]

    return split(word.encode())


# %% wrong bits_per_byte still_nats of="solution"
# You return nats for each byte: divide by ln 2 for bits.
# replace: return nats_per_token * num_tokens / (math.log(2) * num_bytes)
# by:      return nats_per_token * num_tokens / num_bytes


# %% wrong bits_per_byte times_ln2 of="solution"
# You multiply by ln 2: a bit is fewer nats, so there are more bits. Divide.
# replace: return nats_per_token * num_tokens / (math.log(2) * num_bytes)
# by:      return nats_per_token * num_tokens * math.log(2) / num_bytes


# %% wrong bits_per_byte swapped of="solution"
# You exchange tokens and bytes: multiply by the tokens, divide by the bytes.
# replace: return nats_per_token * num_tokens / (math.log(2) * num_bytes)
# by:      return nats_per_token * num_bytes / (math.log(2) * num_tokens)


# %% wrong bits_per_byte for_each_token of="solution"
# You return bits for each token: convert to bytes, too.
# replace: return nats_per_token * num_tokens / (math.log(2) * num_bytes)
# by:      return nats_per_token / math.log(2)


# %% wrong bits_per_byte tokens_forgotten of="solution"
# You divide by the bytes without multiplying by the tokens: first the loss of the whole text.
# replace: return nats_per_token * num_tokens / (math.log(2) * num_bytes)
# by:      return nats_per_token / (math.log(2) * num_bytes)


# %% wrong bits_per_byte whole_text of="solution"
# You return the bits of the whole text: divide by its bytes.
# replace: return nats_per_token * num_tokens / (math.log(2) * num_bytes)
# by:      return nats_per_token * num_tokens / math.log(2)


# %% wrong bits_per_byte bits_of_the_bytes of="solution"
# You divide by the bits of the text: divide by its bytes.
# replace: return nats_per_token * num_tokens / (math.log(2) * num_bytes)
# by:      return nats_per_token * num_tokens / (math.log(2) * num_bytes * 8)


# %% wrong bits_per_byte times_eight of="solution"
# You multiply by 8: bits per byte is the loss in bits, for each byte.
# replace: return nats_per_token * num_tokens / (math.log(2) * num_bytes)
# by:      return 8 * nats_per_token * num_tokens / (math.log(2) * num_bytes)


# %% wrong bits_per_byte at_most_8 of="solution"
# You cap the result at 8: a bad model may need more bits for a byte.
# replace: return nats_per_token * num_tokens / (math.log(2) * num_bytes)
# by:      return min(8.0, nats_per_token * num_tokens / (math.log(2) * num_bytes))


# %% wrong bits_per_byte log_of_the_loss of="solution"
# You take the logarithm of the loss: the loss is a logarithm already. Divide by ln 2.
# replace: return nats_per_token * num_tokens / (math.log(2) * num_bytes)
# by:      return math.log2(max(nats_per_token, 1e-9)) * num_tokens / num_bytes


# %% wrong bits_per_byte perplexity of="solution"
# You take e to the power of the loss: that is the perplexity. Bits are the loss divided by ln 2.
# replace: return nats_per_token * num_tokens / (math.log(2) * num_bytes)
# by:      return math.exp(nats_per_token) * num_tokens / num_bytes


# %% wrong bits_per_byte power_of_two of="solution"
# You take 2 to the power of the loss: bits are the loss divided by ln 2.
# replace: return nats_per_token * num_tokens / (math.log(2) * num_bytes)
# by:      return 2**nats_per_token * num_tokens / num_bytes


# %% wrong bits_per_byte base_ten of="solution"
# You divide by ln 10: a bit is ln 2 nats.
# replace: return nats_per_token * num_tokens / (math.log(2) * num_bytes)
# by:      return nats_per_token * num_tokens / (math.log(10) * num_bytes)


# %% wrong bits_per_byte divided_by_two of="solution"
# You divide by 2: a bit is ln 2 = 0.693 nats.
# replace: return nats_per_token * num_tokens / (math.log(2) * num_bytes)
# by:      return nats_per_token * num_tokens / (2 * num_bytes)


# %% wrong bits_per_byte log2_of_e_inverted of="solution"
# You divide by log2(e), which is above 1: multiply by it.
# replace: return nats_per_token * num_tokens / (math.log(2) * num_bytes)
# by:      return nats_per_token * num_tokens / (math.log2(math.e) * num_bytes)


# %% wrong bits_per_byte log_two_bytes of="solution"
# You take the logarithm of the number of bytes: divide by the bytes, and by ln 2.
# replace: return nats_per_token * num_tokens / (math.log(2) * num_bytes)
# by:      return nats_per_token * num_tokens / math.log(2 * num_bytes)


# %% wrong bits_per_byte precedence of="solution"
# Your division ends before the bytes: both ln 2 and the bytes belong below the line.
# replace: return nats_per_token * num_tokens / (math.log(2) * num_bytes)
# by:      return nats_per_token * num_tokens / math.log(2) * num_bytes


# %% wrong bits_per_byte rounded of="solution"
# You round the result: keep all digits.
# replace: return nats_per_token * num_tokens / (math.log(2) * num_bytes)
# by:      return round(nats_per_token * num_tokens / (math.log(2) * num_bytes), 2)


# %% wrong bits_per_byte whole_bits of="solution"
# You use //, which drops the fraction: use /.
# replace: return nats_per_token * num_tokens / (math.log(2) * num_bytes)
# by:      return nats_per_token * num_tokens // (math.log(2) * num_bytes)


# %% wrong bits_per_byte whole_bytes_a_token of="solution"
# You round the bytes of a token: use /, not //.
# replace: return nats_per_token * num_tokens / (math.log(2) * num_bytes)
# by:      return nats_per_token / math.log(2) / max(num_bytes // num_tokens, 1)


# %% wrong bits_per_byte rough_ln2 of="solution"
# Your ln 2 is too rough: math.log(2).
# replace: return nats_per_token * num_tokens / (math.log(2) * num_bytes)
# by:      return nats_per_token * num_tokens / (0.7 * num_bytes)


# %% wrong bits_per_byte three_digits of="solution"
# Your ln 2 has three digits: math.log(2).
# replace: return nats_per_token * num_tokens / (math.log(2) * num_bytes)
# by:      return nats_per_token * num_tokens / (0.693 * num_bytes)


# %% wrong bits_per_byte inverted of="solution"
# Your result is the wrong way round: bits for each byte, not bytes for each bit.
# replace: return nats_per_token * num_tokens / (math.log(2) * num_bytes)
# by:      return math.log(2) * num_bytes / max(nats_per_token * num_tokens, 1e-9)


# %% wrong bits_per_byte difference of="solution"
# You add and subtract: multiply by the tokens, divide by ln 2 and by the bytes.
# replace: return nats_per_token * num_tokens / (math.log(2) * num_bytes)
# by:      return nats_per_token / math.log(2) + num_tokens - num_bytes


# %% wrong bits_per_byte compressed_share of="solution"
# You return a share of 8 bits: return the bits.
# replace: return nats_per_token * num_tokens / (math.log(2) * num_bytes)
# by:      return 1 - nats_per_token * num_tokens / (math.log(2) * num_bytes) / 8


# %% wrong bits_per_byte as_text of="solution"
# You return a text: return a number.
# replace: return nats_per_token * num_tokens / (math.log(2) * num_bytes)
# by:      return f"{nats_per_token * num_tokens / (math.log(2) * num_bytes):.3f}"


# %% wrong bits_per_byte negative of="solution"
# Your result is negative: a loss in nats is positive, and so are its bits.
# replace: return nats_per_token * num_tokens / (math.log(2) * num_bytes)
# by:      return -nats_per_token * num_tokens / (math.log(2) * num_bytes)


# %% wrong bits_per_byte tokens_and_bytes of="solution"
# You divide by tokens and bytes together: divide by the bytes.
# replace: return nats_per_token * num_tokens / (math.log(2) * num_bytes)
# by:      return nats_per_token * num_tokens / (math.log(2) * (num_tokens + num_bytes))


# %% wrong bits_per_byte nothing_returned of="solution"
# You return nothing: return the value.
# replace: return nats_per_token * num_tokens / (math.log(2) * num_bytes)
# by:      nats_per_token * num_tokens / (math.log(2) * num_bytes)


# %% right bits_per_byte log2_of_e
def bits_per_byte(nats_per_token: float, num_tokens: int, num_bytes: int) -> float:
    return nats_per_token * math.log2(math.e) * num_tokens / num_bytes


# %% right bits_per_byte step_by_step
def bits_per_byte(nats_per_token: float, num_tokens: int, num_bytes: int) -> float:
    total_nats = nats_per_token * num_tokens
    total_bits = total_nats / math.log(2)
    return total_bits / num_bytes


# %% right bits_per_byte bytes_of_a_token
def bits_per_byte(nats_per_token: float, num_tokens: int, num_bytes: int) -> float:
    bytes_per_token = num_bytes / num_tokens
    bits_per_token = nats_per_token / 0.6931471805599453
    return bits_per_token / bytes_per_token


# %% right bits_per_byte with_torch
def bits_per_byte(nats_per_token: float, num_tokens: int, num_bytes: int) -> float:
    ln2 = torch.log(torch.tensor(2.0, dtype=torch.float64))
    return float(nats_per_token * num_tokens / num_bytes / ln2)


# %% right bits_per_byte zero_dimensional
def bits_per_byte(nats_per_token: float, num_tokens: int, num_bytes: int) -> float:
    return torch.tensor(nats_per_token, dtype=torch.float64) * num_tokens / math.log(2) / num_bytes
