"""Masked language modelling: hide one word or two, see the distribution over the vocabulary."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from torch import Tensor

from transformer_course.figures import LINES, Picture
from transformer_course.widgets.view import View, explains_stubs, labels, matrix, visible

LIKELIEST = 10  # words with a bar
ROWS = 12  # rows of tokens
LENGTH = 24  # tokens of a row
PAIRED = 12  # words of a row, up to which pairs are computed too
DRAWN = 6  # words that the static picture hides, one at a time
TITLE = "what the model predicts where a word is masked"

Logits = Callable[..., Any]
Answers = dict[str, np.ndarray]


@explains_stubs
def show_masked_words(
    model: Logits,
    tokens: ArrayLike | Tensor,
    names: Sequence[str],
    segments: ArrayLike | Tensor | None = None,
    mask: int = 3,
    title: str | None = None,
) -> View:
    """Show what a masked language model predicts for each word, and for each pair of words.

    `model(tokens, segments)`, both int64 (batch, length), gives logits (batch, length, vocab); it
    is called once for each row, with every word masked and, in a row of at most 12, every two.
    `tokens` (rows, length) or (length,), at most 12 rows of 24; `names`: a str for each id. Ids
    above `mask`, the id of [MASK], are words; those below stay, and trailing zeros are not shown.
    `segments` as `tokens`, 0 or 1. `ValueError` for other shapes, here or returned.
    """
    rows = _rows(tokens, segments, mask, len(names))
    shown = [visible(name) for name in labels(names, "names", len(names))]
    found = [_answers(model, row, kinds, mask, len(names)) for row, kinds in rows]
    ids = np.concatenate([one["ids"] for one in found])
    arrays = {
        "ids": np.stack([ids // 256, ids % 256], -1).astype(np.uint8),
        "shares": np.concatenate([one["shares"] for one in found]).astype(np.float32),
        "about": np.concatenate([one["about"] for one in found]).astype(np.float32),
    }
    for number, (row, kinds) in enumerate(rows):
        arrays[f"tokens{number}"] = np.stack([row // 256, row % 256, kinds], -1).astype(np.uint8)
    used = sorted({*ids.flat, *(int(token) for row, _ in rows for token in row), mask})
    options: dict[str, Any] = {"title": title or TITLE, "mask": mask, "vocab": len(names)}
    options |= {"names": {str(token): shown[token] for token in used}, "pairs": []}
    options["pairs"] = [int((row > mask).sum()) <= PAIRED for row, _ in rows]
    first = int((rows[0][0] > mask).argmax())
    state = {"row": 0, "position": first, "rank": 0, "masked": [first]}
    return View(
        "masked_words", partial(_picture, rows, found, shown, mask, options), arrays, options, state
    )


def _rows(tokens: Any, segments: Any, mask: int, vocab: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Each row without trailing zeros, and its segments."""
    given = matrix(tokens, "tokens", "(rows)", "length")
    kinds = (
        np.zeros_like(given)
        if segments is None
        else matrix(segments, "segments", "(rows)", "length")
    )
    if kinds.shape != given.shape:
        raise ValueError(f"segments must be as tokens, {given.shape}; got {kinds.shape}")
    wrong = given[(given != np.round(given)) | (given < 0) | (given >= vocab)]
    if wrong.size:
        raise ValueError(f"tokens must be integers from 0 to {vocab - 1}; got {wrong[0]:g}")
    if not np.isin(kinds, (0, 1)).all():
        raise ValueError(f"segments must be 0 or 1; got {kinds[~np.isin(kinds, (0, 1))][0]:g}")
    if len(given) > ROWS or given.shape[1] > LENGTH:
        raise ValueError(f"tokens must be at most {ROWS} rows of {LENGTH}; got {given.shape}")
    cut = []
    for number, (row, own) in enumerate(
        zip(given.astype(np.int64), kinds.astype(np.int64), strict=True)
    ):
        if not (row > mask).any():
            raise ValueError(
                f"tokens must have a word, an id above {mask}, in each row; row {number} has none"
            )
        length = int(np.flatnonzero(row)[-1]) + 1
        cut.append((row[:length], own[:length]))
    return cut


def _cases(row: np.ndarray, mask: int) -> Iterator[tuple[int, ...]]:
    """The positions that are masked together: each alone, then two by two."""
    words = np.flatnonzero(row > mask).tolist()
    yield from combinations(words, 1)
    if len(words) <= PAIRED:
        yield from combinations(words, 2)


def _answers(model: Logits, row: np.ndarray, kinds: np.ndarray, mask: int, vocab: int) -> Answers:
    """The likeliest words at each masked position of each case, in the order of the cases.

    `about`: the probability of the word that was masked, and its rank, from 0.
    """
    cases = list(_cases(row, mask))
    tokens = torch.as_tensor(row).repeat(len(cases), 1)
    for number, case in enumerate(cases):
        tokens[number, list(case)] = mask
    with torch.no_grad():
        result = model(tokens.clone(), torch.as_tensor(kinds).repeat(len(cases), 1))
    logits = _checked(result, len(cases), len(row), vocab)
    at = [(number, position) for number, case in enumerate(cases) for position in case]
    picked = logits[[number for number, _ in at], [position for _, position in at]]
    shares = torch.softmax(torch.as_tensor(picked), -1).numpy()
    own = row[[position for _, position in at]]
    order = np.argsort(-shares, axis=-1, kind="stable")
    likeliest = order[:, : min(LIKELIEST, vocab)]
    true = shares[np.arange(len(own)), own]
    rank = (order == own[:, None]).argmax(-1)
    return {
        "ids": likeliest,
        "shares": np.take_along_axis(shares, likeliest, -1),
        "about": np.stack([true, rank], -1),
    }


def _checked(result: Any, batch: int, length: int, vocab: int) -> np.ndarray:
    shape = (batch, length, vocab)
    needed = f"model(tokens, segments) must give logits (batch, length, vocab), here {shape}"
    if result is None:
        raise ValueError(f"{needed}; got None: is a return missing?")
    found = matrix(result, "model(tokens, segments)", "batch", "length", "vocab")
    if found.shape != shape:
        raise ValueError(f"{needed}; got {found.shape}")
    return found


def _picture(
    rows: list[tuple[np.ndarray, np.ndarray]],
    found: list[Answers],
    names: list[str],
    mask: int,
    options: dict[str, Any],
) -> Picture:
    """Draw the first row, with one word after another masked."""
    row, answers = rows[0][0], found[0]
    words = np.flatnonzero(row > mask).tolist()
    # of many words, those of which the model is least sure: most is to be seen there
    shown = sorted(np.argsort(answers["shares"][: len(words), 0], kind="stable")[:DRAWN].tolist())
    figure = Figure(
        figsize=(2.2 * min(3, len(shown)), 2.5 * -(-len(shown) // 3)), layout="constrained"
    )
    grid = figure.subplots(-(-len(shown) // 3), min(3, len(shown)), squeeze=False).ravel()
    descriptions = []
    for axes in grid[len(shown) :]:
        axes.axis("off")
    for axes, number in zip(grid, shown, strict=False):
        position = words[number]
        ids, shares = answers["ids"][number][:5], answers["shares"][number][:5]
        _bars(axes, [names[token] for token in ids], shares, ids == row[position])
        axes.set_title(f"{position}: “{names[row[position]]}” masked", fontsize=9, parse_math=False)
        likely = [f"“{names[i]}” {100 * p:.0f} %" for i, p in zip(ids[:3], shares[:3], strict=True)]
        descriptions.append(f"“{names[row[position]]}” at position {position}: {', '.join(likely)}")
    text = " ".join(names[token] for token in row)
    figure.suptitle(f"{options['title']}\n{text}", fontsize=11, parse_math=False)
    alt = f"{options['title']}. {text}. One word masked at a time, the likeliest words there: "
    return Picture(figure, f"{alt}{'; '.join(descriptions)}.")


def _bars(axes: Axes, names: list[str], shares: np.ndarray, own: np.ndarray) -> None:
    places = range(len(names))
    axes.barh(places, 100 * shares, color=[LINES[3 if one else 0] for one in own])
    for place, (share, one) in enumerate(zip(shares, own, strict=True)):
        axes.text(
            100 * share + 2,
            place,
            f"{100 * share:.0f}{' ◂' if one else ''}",
            va="center",
            fontsize=8,
        )
    axes.set_yticks(places, [name.replace("$", r"\$") for name in names], fontsize=9)
    axes.invert_yaxis()
    axes.set(xlim=(0, 140), xticks=[0, 50, 100], xlabel="probability in %")
