"""A trained GPT that computes in the page: its tokens, attention, logit lens, cache and samples."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor, nn

from transformer_course.figures import LINES, Picture, heatmap
from transformer_course.widgets.view import View, explains_stubs, visible

MOST = {"parameters": 5_000_000, "tokens": 128}  # of a page; a step stays fast
SAME = 1e-4  # of the largest logit: the rounding of float32
NEAR = 5e-4  # a change of a probability that float16 may make
LIKELIEST = 5  # tokens of a row of the logit lens
PROBES = 32  # tokens of the text on which the page's arithmetic is compared
TITLE = "your GPT, computed in this page"
ABLE = (
    "it computes pre-norm blocks with causal attention, the exact GELU, learned positions and "
    "logits from the table of tokens, as in lesson 9"
)
LINEAR = ("w_query", "w_key", "w_value", "w_output", "norm2", "linear1", "linear2")

State = dict[str, Tensor]


@dataclass(frozen=True)
class Run:
    """A text through the network: attention weights by block, logits by level of the stream."""

    weights: list[Tensor]  # each (heads, query, key)
    logits: Tensor  # (blocks + 1, length, vocab); the last are the model's


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
    most 5 million parameters. `encode(text)` gives the text's token ids, as a sequence or a tensor;
    `decode(ids)` their text, also of a single one. `prompt`: the first text, at least one token.
    `context`: the most tokens that the page reads, by default all that the model has positions for,
    but at most 128. `ValueError` for another model: it names the parameter that is missing, or says
    by how much the logits differ.
    """
    state, depth = _parameters(model)
    sizes: dict[str, Any] = _sizes(state, depth)
    readable = min(sizes["positions"], MOST["tokens"])
    sizes["context"] = min(readable if context is None else context, readable)
    if sizes["context"] < 1:
        raise ValueError(f"context must be 1 or more tokens; got {context}")
    words = _vocabulary(decode, sizes["vocab"])
    ids = _ids(encode, prompt, sizes["vocab"])
    probe = (ids * PROBES)[: min(PROBES, sizes["positions"])]
    sizes["heads"] = _heads(model, state, depth, probe)
    values = torch.cat([state[name].flatten() for name in _names(depth)]).numpy()
    half = _fits_in_half(state, depth, sizes["heads"], probe)
    arrays = {"weights": values.astype("<f2").view(np.uint8) if half else values}
    same = split(prompt, words) == ids
    options = {"title": title, "vocabulary": words, "same": same, "sizes": sizes, "half": half}
    options["longer"] = readable < sizes["positions"]
    read = ids[-sizes["context"] :]
    on = "1" * depth * (sizes["heads"] + 2)
    shown: dict[str, Any] = {"typed": prompt, "generated": [], "on": on, "block": 0, "head": 0}
    shown |= {"temperature": 1.0, "top_k": None, "seed": 0, "row": len(read) - 1, "column": 0}
    names = [visible(word) for word in words]
    run = partial(reference, state, depth, sizes["heads"], read)
    draw = partial(_picture, run, [names[i] for i in read], names, title)
    return View("gpt", draw, arrays, options, shown)


def _names(depth: int) -> list[str]:
    """The parameters in the order in which they cross."""
    blocks = [f"blocks.{i}.{part}" for i in range(depth) for part in ("norm1", *LINEAR)]
    pairs = [f"{part}.{kind}" for part in (*blocks, "norm") for kind in ("weight", "bias")]
    return ["tokens.weight", "positions.weight", *pairs]


def _parameters(model: nn.Module) -> tuple[State, int]:
    """The model's parameters in float32, and its number of blocks; `ValueError` for another's."""
    if not isinstance(model, nn.Module):
        raise ValueError(f"model must be your GPT, an nn.Module; got {type(model).__name__}")
    count = sum(part.numel() for part in model.parameters())
    if count > MOST["parameters"]:
        needed = f"at most {MOST['parameters']:,} parameters, to compute in a page"
        raise ValueError(f"model must have {needed}; got {count:,}: train a smaller one")
    state = {name: value.detach().cpu().float() for name, value in model.state_dict().items()}
    numbers = [name.split(".")[1] for name in state if name.startswith("blocks.")]
    depth = 1 + max((int(number) for number in numbers if number.isdigit()), default=0)
    missing = next((name for name in _names(depth) if name not in state), None)
    if missing:
        raise ValueError(
            f"model has no parameter `{missing}`: name the parts as lesson 9's GPT does"
        )
    return state, depth


def _sizes(state: State, depth: int) -> dict[str, int]:
    vocab, width = state["tokens.weight"].shape
    hidden = len(state["blocks.0.linear1.bias"])
    wide = {"linear1": (hidden, width), "linear2": (width, hidden)}
    wanted = {"tokens": (vocab, width), "positions": (len(state["positions.weight"]), width)}
    for name in _names(depth):
        part, kind = name.split(".")[-2:]
        shape = wide.get(part, wanted.get(part, (width, width)))
        shape = shape[:1] if kind == "bias" or "norm" in part else shape
        if state[name].shape != shape:
            got = tuple(state[name].shape)
            raise ValueError(f"the model's `{name}` must be {shape}, as the other sizes; got {got}")
    positions = wanted["positions"][0]
    return {
        "vocab": vocab,
        "positions": positions,
        "width": width,
        "hidden": hidden,
        "depth": depth,
    }


def _vocabulary(decode: Callable[[Any], str], vocab: int) -> list[str]:
    """Each token's text."""
    try:
        decode([0])
        given: Callable[[list[int]], Any] = list
    except (AttributeError, TypeError):  # it takes a tensor
        given = torch.tensor
    words = [decode(given([i])) for i in range(vocab)]
    wrong = next((word for word in words if not isinstance(word, str)), None)
    if wrong is not None or "".join(words) == "":
        raise ValueError(f"decode([0]) must return the token's text, a str; got {wrong!r}")
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


def reference(state: State, depth: int, heads: int, ids: list[int]) -> Run:
    """What the page computes, in torch, for a text of `ids`."""
    x = state["tokens.weight"][ids] + state["positions.weight"][: len(ids)]  # (length, d_model)
    future = torch.ones(len(ids), len(ids), dtype=torch.bool).triu(1)
    stream, found = [x], []
    for i in range(depth):
        block = {name: _pair(state, f"blocks.{i}.{name}") for name in ("norm1", *LINEAR)}
        read = F.layer_norm(x, x.shape[-1:], *block["norm1"])
        query, key, value = (
            F.linear(read, *block[name]).unflatten(-1, (heads, -1)).transpose(0, 1)
            for name in ("w_query", "w_key", "w_value")
        )  # (heads, length, d_head)
        scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
        found.append(scores.masked_fill(future, -torch.inf).softmax(-1))
        x = x + F.linear((found[-1] @ value).transpose(0, 1).flatten(1), *block["w_output"])
        read = F.layer_norm(x, x.shape[-1:], *block["norm2"])
        x = x + F.linear(F.gelu(F.linear(read, *block["linear1"])), *block["linear2"])
        stream.append(x)
    read = F.layer_norm(torch.stack(stream), x.shape[-1:], *_pair(state, "norm"))
    return Run(found, F.linear(read, state["tokens.weight"]))


def _pair(state: State, name: str) -> tuple[Tensor, Tensor]:
    return state[f"{name}.weight"], state[f"{name}.bias"]


@torch.no_grad()
def _heads(model: nn.Module, state: State, depth: int, probe: list[int]) -> int:
    """The number of heads with which the reference gives the model's own logits."""
    modes = [(part, part.training) for part in model.modules()]
    device = next(model.parameters()).device
    try:
        own = model.eval()(torch.tensor([probe], device=device))[0].cpu().float()
    finally:
        for part, mode in modes:
            part.training = mode
    width = state["tokens.weight"].shape[1]
    divisors = [heads for heads in range(1, width + 1) if width % heads == 0]
    differences = {
        heads: (reference(state, depth, heads, probe).logits[-1] - own).abs().max().item()
        for heads in divisors
    }
    best = min(divisors, key=lambda heads: differences[heads])
    if not differences[best] <= SAME * max(1.0, own.abs().max().item()):
        said = f"with {best} heads they differ by {differences[best]:.2g}"
        raise ValueError(f"the page would give other logits than your model ({said}): {ABLE}")
    return best


def _fits_in_half(state: State, depth: int, heads: int, probe: list[int]) -> bool:
    """Whether parameters in float16 give the same probabilities."""
    rounded = {name: value.half().float() for name, value in state.items()}
    exact, near = (reference(s, depth, heads, probe).logits.softmax(-1) for s in (state, rounded))
    return bool((exact - near).abs().max() <= NEAR)


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
    return f"{100 * share:.1f} %"


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
