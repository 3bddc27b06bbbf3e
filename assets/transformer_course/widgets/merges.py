"""Byte pair encoding: the tokens of a text fuse as more merges are applied."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from transformer_course.figures import LINES, Picture
from transformer_course.widgets.view import View, explains_stubs, visible

BYTES = 400  # of the text
MERGES = 4096
STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500)  # from one computed number of merges to the next
DRAWN = 4  # of these in the static picture
PAIRS = 6  # frequent pairs with a bar
TITLE = "a text in tokens, by the number of merges"

Encoder = Callable[[str, list[tuple[int, int]]], list[int]]
Pair = tuple[int, int]
Rows = list[list[int]]  # the tokens of each word


@explains_stubs
def show_merges(
    encode: Encoder,
    merges: Sequence[Pair],
    words: Sequence[str],
    bits: Mapping[int, float] | None = None,
    title: str | None = None,
) -> View:
    """Show the tokens of a text, its most frequent pairs and its tokens per word, by the merges.

    `encode(word, merges[:n])` is called for each different word and up to 96 values of n, from 0 to
    all. Token 256 + i is merge i, of two tokens below it; at most 4,096 merges. `words`: strs,
    together at most 400 bytes. `bits`: n -> bits per byte, drawn beside the tokens per word.
    `ValueError` for anything else, and for results that are no lists of known tokens.
    """
    learned, entries = _learned(merges)
    text = _text(words)
    counts = _counts(len(learned))
    states = [_encoded(encode, learned[:count], text) for count in counts]
    pairs = [_frequent(rows) for rows in states]
    used = {t for rows in states for row in rows for t in row} | set(range(256, len(entries)))
    used |= {token for pair in learned for token in pair}
    arrays: dict[str, np.ndarray] = {}
    for number, (rows, most) in enumerate(zip(states, pairs, strict=True)):
        arrays[f"tokens{number}"] = _two_bytes([token for row in rows for token in row])
        arrays[f"sizes{number}"] = _two_bytes([len(row) for row in rows])
        arrays[f"pairs{number}"] = _two_bytes([[*pair, count] for pair, count in most] or [[0] * 3])
    options: dict[str, Any] = {"title": title or TITLE, "counts": counts, "words": list(text)}
    options |= {"names": {str(token): _name(entries[token]) for token in sorted(used)}}
    options |= {"bytes": {str(token): entries[token].hex(" ") for token in sorted(used)}}
    options |= {"learned": learned, "bits": _bits(bits, len(learned))}
    state = {"merges": 0, "row": 0, "token": 0}
    return View("merges", partial(_picture, states, entries, options), arrays, options, state)


def _learned(merges: Sequence[Pair]) -> tuple[list[Pair], list[bytes]]:
    """The merges as pairs of ints, and the bytes of every token."""
    if len(merges) > MERGES:
        raise ValueError(f"merges must be at most {MERGES}; got {len(merges)}")
    spelled = [bytes((byte,)) for byte in range(256)]
    pairs: list[Pair] = []
    for at, pair in enumerate(merges):
        first, second = (int(token) for token in pair)
        if not (0 <= first < len(spelled) and 0 <= second < len(spelled)):
            known = f"two tokens from 0 to {len(spelled) - 1}"
            raise ValueError(f"merge {at} must be {known}; got {(first, second)}")
        pairs.append((first, second))
        spelled.append(spelled[first] + spelled[second])
    return pairs, spelled


def _text(words: Sequence[str]) -> list[str]:
    text = [str(word) for word in words if word]
    size = sum(len(word.encode()) for word in text)
    if isinstance(words, str) or not 0 < size <= BYTES:
        got = "a single str" if isinstance(words, str) else f"{size} bytes"
        raise ValueError(f"words must be strs, of 1 to {BYTES} bytes together; got {got}")
    return text


def _counts(most: int) -> list[int]:
    """Numbers of merges from 0 to all: each one up to 20, then in steps that grow."""
    found, count = [], 0
    while count < most:
        found.append(count)
        count += next(step for step in STEPS if 20 * step > count)
    return [*found, most]


def _encoded(encode: Encoder, merges: list[Pair], text: list[str]) -> Rows:
    known = 256 + len(merges)
    rows: dict[str, list[int]] = {}
    for word in dict.fromkeys(text):
        found = encode(word, list(merges))
        needed = f"encode({word!r}, {len(merges)} merges) must be a list of tokens below {known}"
        if found is None:
            raise ValueError(f"{needed}; got None: is a return missing?")
        if not isinstance(found, Sequence) or isinstance(found, (str, bytes)):
            raise ValueError(f"{needed}; got {type(found).__name__}")
        wrong = [t for t in found if not isinstance(t, (int, np.integer)) or not 0 <= t < known]
        if wrong:
            raise ValueError(f"{needed}; got {wrong[0]!r}")
        rows[word] = [int(token) for token in found]
    return [rows[word] for word in text]


def _frequent(rows: Rows) -> list[tuple[Pair, int]]:
    """The most frequent pairs of the text, of equals the smallest first."""
    counted = Counter(pair for row in rows for pair in pairwise(row))
    return sorted(counted.items(), key=lambda item: (-item[1], item[0]))[:PAIRS]


def _bits(bits: Mapping[int, float] | None, most: int) -> list[list[float]]:
    points = sorted((int(count), float(value)) for count, value in (bits or {}).items())
    for count, value in points:
        if not (0 <= count <= most and np.isfinite(value) and value >= 0):
            known = f"numbers from 0 by merges from 0 to {most}"
            raise ValueError(f"bits must be {known}; got {value:g} at {count}")
    return [list(point) for point in points]


def _two_bytes(whole: ArrayLike) -> np.ndarray:
    """Integers below 65,536 as bytes, the higher one first: shape (…, 2)."""
    numbers = np.asarray(whole, dtype=np.int64)[..., None]
    return np.concatenate([numbers // 256, numbers % 256], -1).astype(np.uint8)


def _name(entry: bytes) -> str:
    """A token for reading: its text, or its bytes in hexadecimal where they are no text."""
    try:
        text = visible(entry.decode())
    except UnicodeDecodeError:
        return entry.hex(" ").upper()
    return text if text.isprintable() else entry.hex(" ").upper()


def _picture(states: list[Rows], entries: list[bytes], options: dict[str, Any]) -> Picture:
    """Draw the text in tokens at a few numbers of merges, and the curve."""
    counts: list[int] = options["counts"]
    chosen = sorted({round(at) for at in np.linspace(0, len(counts) - 1, DRAWN)})
    figure = Figure(figsize=(8.6, 1.2 * len(chosen) + 2.2), layout="constrained")
    grid = figure.add_gridspec(len(chosen) + 1, 1, height_ratios=[*[1.0] * len(chosen), 1.8])
    told = []
    for place, at in enumerate(chosen):
        axes = figure.add_subplot(grid[place])
        tokens = sum(map(len, states[at]))
        heading = f"{counts[at]} merges: {tokens} tokens, {tokens / len(states[at]):.2f} per word"
        axes.set_title(heading, fontsize=10, loc="left")
        _boxes(axes, states[at], entries)
        spelled = " ".join("|".join(_name(entries[t]) for t in row) for row in states[at][:8])
        told.append(f"{heading}, beginning {spelled}")
    below = figure.add_subplot(grid[len(chosen)])
    per_word = [sum(map(len, rows)) / len(rows) for rows in states]
    below.plot(counts, per_word, color=LINES[0], label="tokens per word")
    upwards = "tokens per word" + ", bits per byte" * bool(options["bits"])
    below.set(xlabel="merges", ylabel=upwards, ylim=(0, None))
    below.grid(alpha=0.3)
    if options["bits"]:
        across, up = zip(*options["bits"], strict=True)
        below.plot(across, up, "o--", color=LINES[1], label="bits per byte")
        below.legend()
    figure.suptitle(options["title"], fontsize=11, parse_math=False)
    bits = "".join(f"; {value:.2f} bits per byte at {count:g}" for count, value in options["bits"])
    return Picture(figure, f"{options['title']}. {'; '.join(told)}{bits}.")


def _boxes(axes: Axes, rows: Rows, entries: list[bytes]) -> None:
    """Write the tokens as boxes, line by line; the tokens of a word touch."""
    wide, x, y = 118.0, 0.0, 0.0
    for number, row in enumerate(rows):
        names = [_name(entries[token]) for token in row]
        if x > 0 and x + sum(len(name) + 0.9 for name in names) > wide:
            x, y = 0.0, y - 1.0
        for name in names:
            size = len(name) + 0.9
            if x + size > wide:
                x, y = 0.0, y - 1.0
            tint = f"{LINES[0]}33" if number % 2 else f"{LINES[1]}33"
            axes.barh(y, size - 0.25, left=x, height=0.8, color=tint)
            style = {"ha": "center", "va": "center", "fontsize": 6.5, "family": "monospace"}
            axes.text(x + size / 2 - 0.12, y, name, parse_math=False, **style)
            x += size
        x += 0.7
    axes.set(xlim=(0, wide), ylim=(y - 0.6, 0.6))
    axes.axis("off")
