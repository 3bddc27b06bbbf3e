"""What a page needs of a trained GPT: its parameters, its number of heads, and the arithmetic."""

import copy
import math
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

MOST = {"parameters": 5_000_000, "vocab": 5_000}  # of a page; a step stays fast
SAME = 1e-4  # of the largest logit: the rounding of float32
NEAR = 5e-4  # a change of a probability that float16 may make
LARGEST = 65_504  # the largest number in float16
EPS = 1e-5  # of the page's LayerNorm
ABLE = (
    "it computes pre-norm blocks with causal attention, the exact GELU, learned positions and "
    "logits from the table of tokens, as in lesson 9"
)
LINEAR = ("w_query", "w_key", "w_value", "w_output", "norm2", "linear1", "linear2")
DECLARED = ("num_heads", "heads", "n_head")  # names of a block's attribute

State = dict[str, Tensor]


@dataclass(frozen=True)
class Run:
    """A text through the network: attention weights by block, logits by level of the stream."""

    weights: list[Tensor]  # each (heads, query, key)
    logits: Tensor  # (blocks + 1, length, vocab); the last are the model's


@dataclass(frozen=True)
class Network:
    """The parameters of a model that the page can compute, and texts on which it was compared."""

    state: State
    sizes: dict[str, int]
    probes: list[list[int]]

    def fits_in_half(self) -> bool:
        """Whether parameters in float16 give the same probabilities."""
        if any(value.abs().max() > LARGEST for value in self.state.values()):
            return False
        rounded = {name: value.half().float() for name, value in self.state.items()}
        return all(self._change(rounded, ids) <= NEAR for ids in self.probes)

    def _change(self, other: State, ids: list[int]) -> float:
        depth, heads = self.sizes["depth"], self.sizes["heads"]
        one, two = (reference(s, depth, heads, ids).logits.softmax(-1) for s in (self.state, other))
        return (one - two).abs().max().item()


@torch.no_grad()
def network(model: nn.Module, most: int) -> Network:
    """Read a model, and compare its logits with the page's on texts of at most `most` tokens.

    A copy in float32 is compared, in eval mode; the model itself is left as it is. `ValueError` in
    one line for a model that the page cannot compute.
    """
    model = _copied(model)
    everything = model.state_dict()
    names = names_of(_depth(everything))
    missing = next((name for name in names if name not in everything), None)
    if missing:
        raise ValueError(
            f"model has no parameter `{missing}`: name the parts as lesson 9's GPT does"
        )
    state = {name: everything[name] for name in names}
    sizes = _sizes(state)
    state["positions.weight"] = state["positions.weight"][:most]  # no text is longer
    for name, value in state.items():
        if not value.isfinite().all():
            raise ValueError(
                f"the model's `{name}` has values that are infinite or NaN: train again"
            )
    _check_norms(model, state)
    texts = _probes(sizes["vocab"], min(sizes["positions"], most))
    sizes["heads"] = _heads(model, state, sizes, texts)
    return Network(state, sizes, texts)


def _copied(model: nn.Module) -> nn.Module:
    """A copy in float32 on the CPU, in eval mode; `ValueError` for none, or a large one."""
    if not isinstance(model, nn.Module):
        raise ValueError(f"model must be your GPT, an nn.Module; got {type(model).__name__}")
    count = sum(part.numel() for part in model.parameters())
    if count > MOST["parameters"]:
        needed = f"at most {MOST['parameters']:,} parameters, to compute in a page"
        raise ValueError(f"model must have {needed}; got {count:,}: train a smaller one")
    kept = [value for part in model.modules() for value in vars(part).values()]
    tensors = [value for value in kept if isinstance(value, Tensor)]
    # attention weights that a block kept, say, belong to a graph, which deepcopy refuses
    known: dict[int, Any] = {id(value): value.detach().cpu() for value in tensors}
    return copy.deepcopy(model, known).cpu().float().eval()


def names_of(depth: int) -> list[str]:
    """The parameters in the order in which they cross."""
    blocks = [f"blocks.{i}.{part}" for i in range(depth) for part in ("norm1", *LINEAR)]
    pairs = [f"{part}.{kind}" for part in (*blocks, "norm") for kind in ("weight", "bias")]
    return ["tokens.weight", "positions.weight", *pairs]


def _depth(state: State) -> int:
    numbers = [name.split(".")[1] for name in state if name.startswith("blocks.")]
    depth = 1 + max((int(number) for number in numbers if number.isdigit()), default=-1)
    if not depth and "tokens.weight" in state:
        raise ValueError("model must have one block or more in `blocks`, as lesson 9's GPT; got 0")
    return depth


def _sizes(state: State) -> dict[str, int]:
    for name in ("tokens.weight", "positions.weight"):
        if state[name].ndim != 2 or not state[name].numel():
            got = tuple(state[name].shape)
            raise ValueError(f"the model's `{name}` must be a table (number, d_model); got {got}")
    (vocab, width), positions = state["tokens.weight"].shape, len(state["positions.weight"])
    if vocab > MOST["vocab"]:
        needed = f"at most {MOST['vocab']:,} tokens, so that a step in the page stays fast"
        raise ValueError(f"model must have {needed}; got {vocab:,}: use a smaller vocabulary")
    hidden = state["blocks.0.linear1.bias"].numel()
    wide = {"linear1": (hidden, width), "linear2": (width, hidden)}
    wide |= {"tokens": (vocab, width), "positions": (positions, width)}
    for name, value in state.items():
        part, kind = name.split(".")[-2:]
        shape = wide.get(part, (width, width))
        shape = shape[:1] if kind == "bias" or "norm" in part else shape
        if value.shape != shape:
            got = tuple(value.shape)
            raise ValueError(f"the model's `{name}` must be {shape}, as the other sizes; got {got}")
    depth = _depth(state)
    return {
        "vocab": vocab,
        "positions": positions,
        "width": width,
        "hidden": hidden,
        "depth": depth,
    }


def _check_norms(model: nn.Module, state: State) -> None:
    """Refuse a LayerNorm with another eps, which matters only where the variance is small."""
    names = [name.removesuffix(".weight") for name in state if name.endswith("weight")]
    for name in (name for name in names if "norm" in name):
        weight, bias = _pair(state, name)
        small = 1e-3 * torch.linspace(-1, 1, len(weight)) ** 3
        wanted = F.layer_norm(small, small.shape, weight, bias, EPS)
        norm = model.get_submodule(name)
        if not torch.allclose(norm(small[None])[0], wanted, rtol=1e-3, atol=1e-5):
            eps = getattr(norm, "eps", None)
            said = f"has eps = {eps}" if eps not in (None, EPS) else "differs from it"
            raise ValueError(f"the page computes LayerNorm with eps = 1e-5; your `{name}` {said}")


def _probes(vocab: int, length: int) -> list[list[int]]:
    """Random texts of `length` tokens, in which each token occurs."""
    draw = torch.Generator().manual_seed(0)
    rows = -(-vocab // length)
    again = torch.randint(vocab, (rows * length - vocab,), generator=draw)
    every = torch.cat([torch.randperm(vocab, generator=draw), again])
    return every[torch.randperm(len(every), generator=draw)].reshape(rows, length).tolist()


def reference(state: State, depth: int, heads: int, ids: list[int]) -> Run:
    """What the page computes, in torch, for a text of `ids`."""
    x = state["tokens.weight"][ids] + state["positions.weight"][: len(ids)]  # (length, d_model)
    future = torch.ones(len(ids), len(ids), dtype=torch.bool).triu(1)
    stream, found = [x], []
    for number in range(depth):
        block = {name: _pair(state, f"blocks.{number}.{name}") for name in ("norm1", *LINEAR)}
        read = F.layer_norm(x, x.shape[-1:], *block["norm1"])
        query, key, value = (
            F.linear(read, *block[name]).unflatten(-1, (heads, -1)).transpose(0, 1)
            for name in ("w_query", "w_key", "w_value")
        )  # (heads, length, d_head)
        scores = query @ key.mT / math.sqrt(query.shape[-1])
        found.append(scores.masked_fill(future, -torch.inf).softmax(-1))
        x = x + F.linear((found[-1] @ value).transpose(0, 1).flatten(1), *block["w_output"])
        read = F.layer_norm(x, x.shape[-1:], *block["norm2"])
        x = x + F.linear(F.gelu(F.linear(read, *block["linear1"])), *block["linear2"])
        stream.append(x)
    read = F.layer_norm(torch.stack(stream), x.shape[-1:], *_pair(state, "norm"))
    return Run(found, F.linear(read, state["tokens.weight"]))


def _pair(state: State, name: str) -> tuple[Tensor, Tensor]:
    return state[f"{name}.weight"], state[f"{name}.bias"]


def _heads(model: nn.Module, state: State, sizes: dict[str, int], probes: list[list[int]]) -> int:
    """The number of heads with which the reference gives the model's own logits."""
    width, depth = sizes["width"], sizes["depth"]
    fitting = [heads for heads in range(1, width + 1) if width % heads == 0]
    for ids in probes:
        own = model(torch.tensor([ids]))[0].float()
        if own.shape != (len(ids), sizes["vocab"]):
            got, needed = (1, *own.shape), (1, len(ids), sizes["vocab"])
            raise ValueError(f"model(tokens) must return logits {needed}; got {got}")
        differences = {
            heads: (reference(state, depth, heads, ids).logits[-1] - own).abs().max().item()
            for heads in fitting
        }
        best = min(fitting, key=lambda heads: differences[heads])
        near = SAME * max(1.0, own.abs().max().item())
        if not differences[best] <= near:
            said = f"with {_heads_named([best])} they differ by {differences[best]:.2g}"
            raise ValueError(f"the page would give other logits than your model ({said}): {ABLE}")
        fitting = [heads for heads in fitting if differences[heads] <= near]
    return _declared(model, fitting)


def _declared(model: nn.Module, fitting: list[int]) -> int:
    """Of several numbers of heads with the same logits, the one that a block declares."""
    block = model.get_submodule("blocks.0")
    declared = next((getattr(block, name) for name in DECLARED if hasattr(block, name)), None)
    if len(fitting) == 1:
        return fitting[0]
    if isinstance(declared, int) and declared in fitting:
        return declared
    same = f"with these weights, {_heads_named(fitting)} give the same logits"
    raise ValueError(f"{same}: train the model first, or set `num_heads` in its blocks")


def _heads_named(numbers: list[int]) -> str:
    *most, last = map(str, numbers)
    listed = f"{', '.join(most)} and {last}" if most else last
    return f"{listed} {'head' if numbers == [1] else 'heads'}"
