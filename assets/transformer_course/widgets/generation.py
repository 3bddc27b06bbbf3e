"""Next-token probabilities under temperature and top-k, one step at a time, and the cache."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from torch import Tensor

from transformer_course.figures import LINES, Picture
from transformer_course.widgets.view import View, explains_stubs, labels, matrix, visible

TEMPERATURES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
TOP_K = (1, 2, 3, 5, 10)  # and None, which is all
LIKELIEST = 12  # tokens with a bar
STEPS = 100  # that are sent, 2.5 kB each
PROMPT = 64  # tokens of the prompt with a cell
NEAR = 1e-3  # the rounding of the student's code
TITLE = "the next token’s probabilities, and the cache"

Probabilities = Callable[..., Any]
Case = tuple[float, int | None]


@explains_stubs
def show_generation(
    next_token_probabilities: Probabilities,
    logits: ArrayLike | Tensor,
    tokens: ArrayLike | Tensor,
    names: Sequence[str],
    title: str | None = None,
) -> View:
    """Show what each next token is drawn from, by temperature and top-k, and the cache filling.

    `next_token_probabilities(logits, temperature, top_k)` is called with all steps for each of 7
    temperatures and up to 6 values of top_k. `logits`: (step, vocab), before each next token.
    `tokens`: (prompt + steps,), integers: the prompt, then the token taken at each step. `names`: a
    str for each token of the vocabulary. Of more than 100 steps, the first 100 are shown.
    `ValueError` for other shapes, here or returned, and for results that are no probabilities.
    """
    given = matrix(logits, "logits", "step", "vocab")
    steps, vocab = given.shape
    if vocab < 2:
        raise ValueError(f"logits must be (step, vocab), with 2 tokens or more; got {given.shape}")
    shown = [visible(name) for name in labels(names, "names", vocab)]
    text = _text(tokens, steps, vocab)
    prompt = len(text) - steps
    given, text = given[:STEPS], text[: prompt + STEPS]
    found = _found(next_token_probabilities, _as_given(logits), given, text[prompt:])
    earlier = max(0, prompt - PROMPT)
    used, numbers = np.unique([*found["ids"].flat, *text[earlier:]], return_inverse=True)
    ids, text_ids = np.split(numbers, [found["ids"].size])
    arrays = {
        "ids": _two_bytes(ids.reshape(found["ids"].shape)),
        "probabilities": _two_bytes(np.round(found["probabilities"].clip(0, 1) * 65535)),
        "about": found["about"].astype(np.float32),
        "tokens": _two_bytes(text_ids),
    }
    cut = f", the first {STEPS} of {steps} steps" if steps > STEPS else ""
    options = {"title": (title or TITLE) + cut, "names": [shown[token] for token in used]}
    separator = _separator([shown[token] for token in text])
    options |= {"temperatures": TEMPERATURES, "top_k": _top_k(vocab), "vocab": vocab}
    options |= {"prompt": prompt - earlier, "earlier": earlier, "separator": separator}
    draw = partial(_picture, found, shown, text, prompt, options)
    state: dict[str, Any] = {"step": 0, "bar": 0, "temperature": 1.0, "top_k": None}
    return View("generation", draw, arrays, options, state)


def _text(tokens: ArrayLike | Tensor, steps: int, vocab: int) -> np.ndarray:
    values = matrix(tokens, "tokens", "prompt + steps")
    wrong = values[(values != np.round(values)) | (values < 0) | (values >= vocab)]
    if wrong.size:
        raise ValueError(f"tokens must be integers from 0 to {vocab - 1}; got {wrong[0]:g}")
    if len(values) <= steps:
        needed = f"tokens must be a prompt and the {steps} tokens taken, one for each row of logits"
        raise ValueError(f"{needed}; got {len(values)} in all")
    return values.astype(np.int64)


def _separator(names: list[str]) -> str:
    """What stands between tokens in a text: nothing for characters and pieces of words."""
    pieces = any(mark in name for name in names for mark in "␣Ġ▁")
    return "" if pieces or max(map(len, names)) == 1 else " "


def _as_given(logits: ArrayLike | Tensor) -> Tensor:
    """(step, vocab), in float32 or float64, as the model made them."""
    values = torch.as_tensor(logits).detach().cpu()[:STEPS]
    return values if values.dtype == torch.float64 else values.float()


def _top_k(vocab: int) -> list[int | None]:
    return [*(k for k in TOP_K if k < vocab), None]


def _found(
    function: Probabilities, given: Tensor, logits: np.ndarray, taken: np.ndarray
) -> dict[str, np.ndarray]:
    """The likeliest tokens of each (step, temperature, top_k), and what is said of all tokens.

    `about`: the sum, the number of tokens above 0, and the probability of the token taken.
    """
    settings = _top_k(logits.shape[1])
    # equal probabilities, such as 0, in the order of the logits
    order = np.argsort(-logits, axis=-1, kind="stable")
    ids, probabilities, about = [], [], []
    for case in product(TEMPERATURES, settings):
        result = _asked(function, given, case)
        ordered = np.take_along_axis(result, order, -1)
        best = np.argsort(-ordered, axis=-1, kind="stable")[:, :LIKELIEST]
        ids.append(np.take_along_axis(order, best, -1))
        probabilities.append(np.take_along_axis(ordered, best, -1))
        of_taken = result[np.arange(len(taken)), taken]
        about.append(np.stack([result.sum(-1), (result > 0).sum(-1), of_taken], -1))
    grid = len(logits), len(TEMPERATURES), len(settings), -1
    parts = {"ids": ids, "probabilities": probabilities, "about": about}
    return {name: np.stack(part, 1).reshape(grid) for name, part in parts.items()}


def _asked(function: Probabilities, given: Tensor, case: Case) -> np.ndarray:
    temperature, top_k = case
    call = f"next_token_probabilities(logits, temperature={temperature:g}, top_k={top_k})"
    result = function(given.clone(), temperature=temperature, top_k=top_k)
    needed = f"{call} must be {tuple(given.shape)}, as the logits"
    if result is None:
        raise ValueError(f"{needed}; got None: is a return missing?")
    found = matrix(result, call, "step", "vocab")
    if found.shape != given.shape:
        raise ValueError(f"{needed}; got {found.shape}")
    if found.min() < -NEAR or found.max() > 1 + NEAR:
        worst = found.min() if found.min() < -NEAR else found.max()
        raise ValueError(f"{call} must be probabilities, from 0 to 1; got {worst:.4g}")
    return found


def _two_bytes(whole: np.ndarray) -> np.ndarray:
    """Integers below 65,536 as bytes, the higher one first: shape (…, 2)."""
    numbers = whole.astype(np.int64)[..., None]
    return np.concatenate([numbers // 256, numbers % 256], -1).astype(np.uint8)


def _picture(
    found: dict[str, np.ndarray],
    names: list[str],
    text: np.ndarray,
    prompt: int,
    options: dict[str, Any],
) -> Picture:
    """Draw the first step's bars at three temperatures, and with top-k 3."""
    settings = _top_k(len(names))
    cases: list[Case] = [(0.5, None), (1.0, None), (2.0, None)]
    cases += [(1.0, 3)] if 3 in settings else []
    figure = Figure(figsize=(2.6 * len(cases), 4.2), layout="constrained")
    descriptions = []
    for axes, case in zip(figure.subplots(1, len(cases)), cases, strict=True):
        at = 0, TEMPERATURES.index(case[0]), settings.index(case[1])
        ids, shares = found["ids"][at], found["probabilities"][at]
        _bars(axes, [names[token] for token in ids], shares, ids == text[prompt])
        heading = f"temperature {case[0]:g}" + (f", top-k {case[1]}" if case[1] else "")
        axes.set_title(heading, fontsize=10)
        first = [f"“{names[i]}” {100 * p:.1f} %" for i, p in zip(ids[:3], shares[:3], strict=False)]
        descriptions.append(f"{heading}: {', '.join(first)}")
    before = options["separator"].join(names[token] for token in text[:prompt][-40:])
    said, title = f"after “{before}”; taken: “{names[text[prompt]]}”", options["title"]
    # written as it is: a $ would begin a formula
    figure.suptitle(f"{title}\n{said}", fontsize=11, parse_math=False)
    alt = f"{title}. Step 1 of {len(text) - prompt}, {said}. The likeliest tokens at "
    return Picture(figure, f"{alt}{'; '.join(descriptions)}.")


def _bars(axes: Axes, names: list[str], shares: np.ndarray, taken: np.ndarray) -> None:
    rows = range(len(names))
    axes.barh(rows, 100 * shares, color=[LINES[3 if one else 0] for one in taken])
    for row, (share, one) in enumerate(zip(shares, taken, strict=True)):
        said = f"{100 * share:.1f}{' taken' if one else ''}"
        axes.text(100 * share + 2, row, said, va="center", fontsize=8)
    axes.set_yticks(rows, [name.replace("$", r"\$") for name in names])
    axes.invert_yaxis()
    axes.set(xlim=(0, 145), xticks=[0, 50, 100], xlabel="probability in %")
