"""A trained GPT that computes in the page: its tokens, attention, logit lens, cache and samples."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import nn

from transformer_course.figures import LINES, Picture, heatmap
from transformer_course.widgets.gpt_network import Run, names_of, network, reference
from transformer_course.widgets.view import View, explains_stubs, visible

TOKENS = 128  # at most, of a text in the page; a step stays fast
LIKELIEST = 5  # tokens of a row of the logit lens
TITLE = "A GPT, computed in this page"


@explains_stubs
def show_gpt(
    model: nn.Module,
    encode: Callable[[str], Any],
    decode: Callable[[Any], str],
    prompt: str = "A list is ",
    context: int | None = None,
    title: str = TITLE,
) -> View:
    """Let the user's trained GPT compute in the page, for any text that is typed there.

    `model`: a `GPT` of lesson 9, with the names and the arithmetic of its parts, dropout aside; at
    most 5 million parameters and 5,000 tokens. `encode(text)` gives the text's token ids, as a
    sequence or a tensor; `decode(ids)` their text, also of a single one. `prompt`: the first text,
    at least one token. `context`: the most tokens that the page reads, by default all that the
    model has positions for, but at most 128. `ValueError` for another model: it names the parameter
    that is missing, or says by how much the logits differ.
    """
    net = network(model, TOKENS)
    readable = min(net.sizes["positions"], TOKENS)
    used = min(readable if context is None else context, readable)
    if used < 1:
        raise ValueError(f"context must be 1 or more tokens; got {context}")
    words = _vocabulary(decode, net.sizes["vocab"])
    ids = _ids(encode, prompt, net.sizes["vocab"])
    # positions that cannot be read stay here
    sizes = {**net.sizes, "positions": used, "context": used}
    state = {**net.state, "positions.weight": net.state["positions.weight"][:used]}
    values = torch.cat([state[name].flatten() for name in names_of(sizes["depth"])]).numpy()
    half = net.fits_in_half()
    arrays = {"weights": values.astype("<f2").view(np.uint8) if half else values}
    options: dict[str, Any] = {"title": title, "vocabulary": words, "sizes": sizes, "half": half}
    options |= {"same": split(prompt, words) == ids, "longer": readable < net.sizes["positions"]}
    read = ids[-used:]
    on = "1" * sizes["depth"] * (sizes["heads"] + 2)
    shown: dict[str, Any] = {"typed": prompt, "generated": [], "on": on, "block": 0, "head": 0}
    shown |= {"temperature": 1.0, "top_k": None, "seed": 0, "row": len(read) - 1, "column": 0}
    names = [visible(word) if word else f"‹{i}›" for i, word in enumerate(words)]
    run = partial(reference, net.state, sizes["depth"], sizes["heads"], read)
    draw = partial(_picture, run, [names[i] for i in read], names, title)
    return View("gpt", draw, arrays, options, shown)


def _vocabulary(decode: Callable[[Any], str], vocab: int) -> list[str]:
    """Each token's text; empty for a token that has none."""
    try:
        decode([0])
        given: Callable[[list[int]], Any] = list
    except (AttributeError, TypeError):  # it takes a tensor
        given = torch.tensor
    words: list[str] = []
    for i in range(vocab):
        try:
            words.append(decode(given([i])))
        except LookupError as error:
            known = f"the model has {vocab} tokens, more than decode knows"
            raise ValueError(f"decode([{i}]) raises {type(error).__name__}: {known}") from None
        if not isinstance(words[-1], str):
            raise ValueError(
                f"decode([{i}]) must return the token's text, a str; got {words[-1]!r}"
            )
    if not any(words):
        raise ValueError("decode must return the text of a token; got '' for each")
    return words


def _ids(encode: Callable[[str], Any], prompt: str, vocab: int) -> list[int]:
    ids = [int(i) for i in torch.as_tensor(encode(prompt)).flatten()]
    if not ids or min(ids) < 0 or max(ids) >= vocab:
        needed = f"encode(prompt) must return one id or more, each from 0 to {vocab - 1}"
        raise ValueError(f"{needed}; got {ids[:8]}")
    return ids


def split(text: str, words: list[str]) -> list[int]:
    """The ids of a text, the longest match first, as the page finds them."""
    id_of = {word: i for i, word in reversed(list(enumerate(words)))}
    longest, at, found = max(map(len, words)), 0, []
    while at < len(text):
        ends = range(min(at + longest, len(text)), at, -1)
        end = next((end for end in ends if text[at:end] in id_of), None)
        if end is not None:
            found.append(id_of[text[at:end]])
        at = end or at + 1
    return found


def _picture(run: Callable[[], Run], text: list[str], names: list[str], title: str) -> Picture:
    """Draw the likeliest next tokens, the logit lens, and the first head's attention."""
    found = run()
    last = found.logits[:, -1].softmax(-1).topk(min(LIKELIEST, len(names)))
    figure = Figure(figsize=(10.5, 3.6), layout="constrained")
    bars, lens, attention = figure.subplots(1, 3, width_ratios=[1, 1.5, 1.2])
    likeliest = [
        [(names[i], p) for i, p in zip(row.tolist(), shares.tolist(), strict=True)]
        for row, shares in zip(last.indices, last.values, strict=True)
    ]
    _bars(bars, likeliest[-1])
    levels = ["embeddings", *(f"block {i}" for i in range(len(likeliest) - 1))]
    _lens(lens, likeliest, levels)
    weights = found.weights[0][0].numpy()
    heatmap(attention, np.where(np.tri(len(text)), weights, np.nan), [], numbers=False)
    if len(text) <= 24:
        for axis in (attention.set_xticks, attention.set_yticks):
            axis(range(len(text)), [name.replace("$", r"\$") for name in text], fontsize=8)
    attention.set(xlabel="key", ylabel="query")
    attention.set_title("attention: block 0, head 0", fontsize=10)
    figure.suptitle(title, fontsize=11, parse_math=False)
    key = int(weights[-1].argmax())
    told = [
        f"{level} “{row[0][0]}” {_share(row[0][1])}"
        for level, row in zip(levels, likeliest, strict=True)
    ]
    after = " ".join(text) if max(map(len, text)) > 1 else "".join(text)
    first = ", ".join(f"“{name}” {_share(p)}" for name, p in likeliest[-1])
    return Picture(
        figure,
        f"{title}. After “{after}”, the likeliest next tokens: {first}. Logit lens, the likeliest "
        f"token after each part: {', '.join(told)}. In block 0, head 0, the last token attends "
        f"most to “{text[key]}”: {_share(weights[-1, key])}.",
    )


def _share(share: float) -> str:
    """A percentage; only all is 100 %."""
    return "> 99.9 %" if 0.9995 <= share < 1 else f"{100 * share:.1f} %"


def _bars(axes: Axes, likeliest: list[tuple[str, float]]) -> None:
    rows = range(len(likeliest))
    axes.barh(rows, [100 * p for _, p in likeliest], color=LINES[0])
    for row, (_, p) in enumerate(likeliest):
        axes.text(100 * p + 2, row, _share(p), va="center", fontsize=8)
    axes.set_yticks(rows, [name.replace("$", r"\$") for name, _ in likeliest])
    axes.invert_yaxis()
    axes.set(xlim=(0, 140), xticks=[0, 50, 100], xlabel="probability in %")
    axes.set_title("the next token", fontsize=10)


def _lens(axes: Axes, likeliest: list[list[tuple[str, float]]], levels: list[str]) -> None:
    shares = np.array([[p for _, p in row] for row in likeliest])
    axes.imshow(shares, "cividis", aspect="auto", vmin=0, vmax=1)
    for row, tokens in enumerate(likeliest):
        for column, (name, p) in enumerate(tokens):
            told = f"{name}\n{_share(p)}"
            colour = "white" if p < 0.5 else "#222222"
            style = {"ha": "center", "va": "center", "fontsize": 8, "parse_math": False}
            axes.text(column, row, told, color=colour, **style)
    axes.set_yticks(range(len(levels)), levels, fontsize=9)
    axes.set_xticks([])
    axes.set_title("logit lens: read after each part", fontsize=10)
