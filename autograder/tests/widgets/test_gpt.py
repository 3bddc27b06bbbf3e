"""What is special to `show_gpt`: the page computes what the model does."""

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from transformer_course.widgets import gpt, gpt_network, show_gpt
from transformer_course.widgets.view import View

from autograder.tests.widgets.examples import GPT, LETTERS, letter_ids, letters
from autograder.tests.widgets.test_views import run_node

CONTEXT = 9
PROMPTS = ["a", "ba", "a ball", "ll\nbcadek", "        "]
CLOSE = 1e-3
# the text and the parts that are on, call by call -> logits of each position and weights, and what
# was read from the cache
READ = """
import { readFileSync } from "node:fs";
import { address } from "./kind.mjs";
const { arrays, network, reader, unpackHalf } = await import(address("gpt"));
const [bytes, given] = process.argv.slice(1).map((name) => readFileSync(name));
const { options, calls } = JSON.parse(given);
const data = new DataView(new Uint8Array(bytes).buffer);
const { weights } = arrays({ get: (name) => ({ data, options })[name] });
const { sizes, half } = options;
const values = half ? unpackHalf(weights.data, weights.data.length / 2) : weights.data;
const look = reader(network(sizes, values));
const all = (length, each) => Array.from({ length }, (_, i) => each(i));
console.log(JSON.stringify(calls.map(([ids, on]) => {
  const { reused, logits, weight } = look(ids, on);
  return {
    reused,
    logits: all(sizes.depth + 1, (level) => all(ids.length, (i) => [...logits(level, i)])),
    weights: all(sizes.depth, (block) => all(sizes.heads, (head) =>
      all(ids.length, (query) => all(ids.length, (key) => weight(block, head, query, key))))),
  };
})));
"""

Call = tuple[list[int], str]


def in_page(view: View, calls: list[Call], folder: Path) -> list[dict[str, Any]]:
    """What the page computes for texts, one after another, with parts on or off."""
    (folder / "data").write_bytes(view.data)
    (folder / "calls").write_text(json.dumps({"options": view.options, "calls": calls}))
    files = str(folder / "data"), str(folder / "calls")
    done = run_node("--input-type=module", "--eval", READ, "--", *files)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def with_off(model: nn.Module, off: list[tuple[int, str]], heads: int) -> nn.Module:
    """The model with parts off: "attention", "feed-forward", or a head by its number."""
    model = copy.deepcopy(model)
    with torch.no_grad():
        for block, part in off:
            name = {"attention": "w_output", "feed-forward": "linear2"}.get(part, "w_output")
            layer = model.get_submodule(f"blocks.{block}.{name}")
            assert isinstance(layer, nn.Linear)
            if part.isdigit():
                size = layer.in_features // heads
                layer.weight[:, int(part) * size : (int(part) + 1) * size] = 0
            else:
                layer.weight.zero_()
                layer.bias.zero_()
    return model


def bits(off: list[tuple[int, str]], depth: int, heads: int) -> str:
    parts = ["attention", "feed-forward", *map(str, range(heads))]
    return "".join("01"[(i, part) not in off] for i in range(depth) for part in parts)


@torch.no_grad()
def truth(model: nn.Module, ids: list[int]) -> np.ndarray:
    """The model's own probabilities: (length, vocab)."""
    return model(torch.tensor([ids]))[0].softmax(-1).numpy()


def probabilities(found: dict[str, Any]) -> np.ndarray:
    return torch.tensor(found["logits"][-1]).softmax(-1).numpy()


def sized(depth: int, heads: int) -> tuple[nn.Module, View]:
    model = GPT(len(LETTERS), CONTEXT, 12, depth, heads)
    return model, show_gpt(model, letter_ids, letters, "a ball")


# --- the numbers -------------------------------------------------------------------------


@pytest.mark.parametrize(("depth", "heads"), [(1, 1), (2, 3), (3, 4)], ids=str)
def test_the_page_gives_the_models_probabilities(depth: int, heads: int, tmp_path: Path) -> None:
    model, view = sized(depth, heads)
    texts = [letter_ids(prompt)[0].tolist() for prompt in PROMPTS]
    on = bits([], depth, heads)
    for ids, found in zip(texts, in_page(view, [(t, on) for t in texts], tmp_path), strict=True):
        assert np.abs(probabilities(found) - truth(model, ids)).max() < CLOSE
        ran = gpt_network.reference(model.state_dict(), depth, heads, ids)
        for name, wanted in (("weights", torch.stack(ran.weights)), ("logits", ran.logits)):
            got = torch.tensor(found[name])
            assert got.shape == wanted.shape
            different = (
                (got.softmax(-1) - wanted.softmax(-1)).abs() if name == "logits" else got - wanted
            )
            assert different.abs().max() < CLOSE


OFF = [
    [(0, "1")],
    [(1, "0"), (1, "2")],
    [(0, "attention")],
    [(1, "feed-forward")],
    [(0, "attention"), (0, "feed-forward")],
    [(0, "0"), (0, "1"), (0, "2")],
]


@pytest.mark.parametrize("off", OFF, ids=str)
def test_a_part_that_is_off_adds_nothing(off: list[tuple[int, str]], tmp_path: Path) -> None:
    model, view = sized(2, 3)
    ids = letter_ids("ll\nbcadek")[0].tolist()
    (found,) = in_page(view, [(ids, bits(off, 2, 3))], tmp_path)
    wanted = truth(with_off(model, off, 3), ids)
    assert np.abs(probabilities(found) - wanted).max() < CLOSE
    assert np.abs(wanted - truth(model, ids)).max() > 10 * CLOSE, "it changes something"


def test_a_new_token_is_computed_with_the_cache(tmp_path: Path) -> None:
    """Token by token, then other texts: each time the rest alone, with the same result."""
    model, view = sized(2, 3)
    ids = letter_ids("ll\nbcadek")[0].tolist()
    calls = [ids[:end] for end in (2, *range(3, 10))]
    calls += [ids[:4], [*ids[:3], 0, 1], [5, *ids[:8]]]
    found = in_page(view, [(text, bits([], 2, 3)) for text in calls], tmp_path)
    assert [one["reused"] for one in found] == [0, 2, 3, 4, 5, 6, 7, 8, 4, 3, 0]
    for text, one in zip(calls, found, strict=True):
        assert np.abs(probabilities(one) - truth(model, text)).max() < CLOSE


def test_a_switch_empties_the_cache(tmp_path: Path) -> None:
    model, view = sized(2, 3)
    ids = letter_ids("a ball")[0].tolist()
    off = [(0, "1")]
    calls = [(ids, bits([], 2, 3)), (ids, bits(off, 2, 3)), ([*ids, 2], bits(off, 2, 3))]
    found = in_page(view, calls, tmp_path)
    assert [one["reused"] for one in found] == [0, 0, 6]
    wanted = truth(with_off(model, off, 3), [*ids, 2])
    assert np.abs(probabilities(found[-1]) - wanted).max() < CLOSE


def test_numbers_that_float16_cannot_hold_cross_as_float32(tmp_path: Path) -> None:
    model, view = sized(2, 3)
    assert view.options["half"]
    with torch.no_grad():
        model.get_parameter("blocks.0.linear2.weight").mul_(1e-6)
        model.get_parameter("blocks.0.linear1.weight").mul_(1e6)
        model.get_parameter("blocks.0.linear1.bias").mul_(1e6)
    view = show_gpt(model, letter_ids, letters, "a ball")
    assert not view.options["half"]
    ids = letter_ids("a ball")[0].tolist()
    (found,) = in_page(view, [(ids, bits([], 2, 3))], tmp_path)
    assert np.abs(probabilities(found) - truth(model, ids)).max() < CLOSE


# --- what the model is asked -------------------------------------------------------------


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float64], ids=str)
def test_a_model_of_another_precision_is_computed_in_float32(
    kind: torch.dtype, tmp_path: Path
) -> None:
    model = GPT(len(LETTERS), CONTEXT, 12, 2, 3).to(kind)
    view = show_gpt(model, letter_ids, letters, "a ball")
    assert {part.dtype for part in model.parameters()} == {kind}
    ids = letter_ids("a ball")[0].tolist()
    (found,) = in_page(view, [(ids, bits([], 2, 3))], tmp_path)
    assert np.abs(probabilities(found) - truth(model.float(), ids)).max() < CLOSE


def test_the_model_stays_as_it_was() -> None:
    model = GPT(len(LETTERS), CONTEXT, 12, 2, 3).train()
    model.blocks[1].eval()
    before = [part.training for part in model.modules()], copy.deepcopy(model.state_dict())
    show_gpt(model, letter_ids, letters, "a ball")
    assert [part.training for part in model.modules()] == before[0]
    assert all(torch.equal(model.state_dict()[name], value) for name, value in before[1].items())


def test_a_model_that_keeps_what_it_computed_is_copied() -> None:
    class Keeping(GPT):
        def forward(self, tokens: Tensor) -> Tensor:
            self.last = super().forward(tokens)
            return self.last

    model = Keeping(len(LETTERS), CONTEXT, 12, 2, 3)
    before = model(letter_ids("ball"))
    show_gpt(model, letter_ids, letters, "a ball")
    assert model.last is before


def test_dropout_is_off_while_the_model_is_compared() -> None:
    class Dropping(GPT):
        def forward(self, tokens: Tensor) -> Tensor:
            return nn.functional.dropout(super().forward(tokens), 0.5, self.training)

    show_gpt(Dropping(len(LETTERS), CONTEXT, 12, 2, 3).train(), letter_ids, letters, "a ball")


@pytest.mark.parametrize("take", ["list", "tensor", "batch"])
def test_ids_may_be_lists_or_tensors(take: str) -> None:
    def encode(text: str) -> Any:
        ids = letter_ids(text)
        return {"list": ids[0].tolist(), "tensor": ids[0], "batch": ids}[take]

    def decode(ids: Any) -> str:
        return "".join(LETTERS[i] for i in ids) if take == "list" else letters(ids)

    view = show_gpt(GPT(len(LETTERS), CONTEXT, 12, 2, 3), encode, decode, "a ball")
    assert view.options["vocabulary"] == list(LETTERS)
    assert view.options["same"]


def test_an_encode_that_splits_otherwise_is_said() -> None:
    def backwards(text: str) -> Tensor:
        return letter_ids(text[::-1])

    view = show_gpt(GPT(len(LETTERS), CONTEXT, 12, 2, 3), backwards, letters, "a ball")
    assert not view.options["same"]


def test_the_longest_match_splits_a_text() -> None:
    words = ["a", "b", "ab", "abc", "a", ""]
    assert gpt.split("abcaba", words) == [3, 2, 0]
    assert gpt.split("a?b", words) == [0, 1]


@pytest.mark.parametrize(("context", "read"), [(None, 9), (4, 4), (99, 9)])
def test_the_context_may_be_shortened(context: int | None, read: int) -> None:
    model = GPT(len(LETTERS), CONTEXT, 12, 2, 3)
    view = show_gpt(model, letter_ids, letters, "a ball", context=context)
    assert view.options["sizes"]["context"] == read


def test_a_context_without_tokens_is_refused() -> None:
    with pytest.raises(ValueError, match="context must be 1 or more tokens; got 0"):
        show_gpt(GPT(len(LETTERS), CONTEXT, 12, 2, 3), letter_ids, letters, "a ball", context=0)


def test_a_long_prompt_is_pictured_by_its_end() -> None:
    model = GPT(len(LETTERS), CONTEXT, 12, 2, 3)
    view = show_gpt(model, letter_ids, letters, "abcdefg", context=3)
    assert "After “efg”" in view.picture.alt
    assert view.state["row"] == 2


def test_a_long_context_is_cut_and_the_view_says_so() -> None:
    view = show_gpt(GPT(len(LETTERS), 300, 12, 2, 3), letter_ids, letters, "a ball")
    assert view.options["sizes"]["context"] == 128
    assert view.options["longer"]


def test_the_picture_says_what_the_model_predicts() -> None:
    model, view = sized(2, 3)
    last = truth(model, letter_ids("a ball")[0].tolist())[-1]
    first = last.argmax()
    name = {" ": "␣", "\n": "↵"}.get(LETTERS[first], LETTERS[first])
    alt = view.picture.alt
    assert f"After “a␣ball”, the likeliest next tokens: “{name}” {100 * last[first]:.1f} %" in alt
    assert f"block 1 “{name}” {100 * last[first]:.1f} %" in alt


# --- refusals ----------------------------------------------------------------------------


class Scaled(GPT):
    def forward(self, tokens: Tensor) -> Tensor:
        return 1.1 * super().forward(tokens)


def without(name: str) -> nn.Module:
    model = GPT(len(LETTERS), CONTEXT, 12, 2, 3)
    delattr(model.get_submodule(name.rpartition(".")[0]), name.rpartition(".")[2])
    return model


def wider(name: str) -> nn.Module:
    model = GPT(len(LETTERS), CONTEXT, 12, 2, 3)
    setattr(model.get_submodule(name.rpartition(".")[0]), name.rpartition(".")[2], nn.Linear(7, 7))
    return model


def changed(name: str, value: Any) -> nn.Module:
    """A model with a parameter filled with a value, or with another tensor."""
    model = GPT(len(LETTERS), CONTEXT, 12, 2, 3)
    layer, _, kind = name.rpartition(".")
    if isinstance(value, Tensor):
        setattr(model.get_submodule(layer), kind, nn.Parameter(value))
    else:
        nn.init.constant_(model.get_parameter(name), value)
    return model


def with_eps(eps: float) -> nn.Module:
    model = GPT(len(LETTERS), CONTEXT, 12, 2, 3)
    part = model.get_submodule("blocks.1.norm2")
    part.eps = eps  # type: ignore[assignment]
    return model


class Late(GPT):
    """It gives other logits from position 40 on."""

    def forward(self, tokens: Tensor) -> Tensor:
        late = torch.arange(tokens.shape[1]) >= 40
        return super().forward(tokens) * (1 + 0.1 * late[:, None])


class Padded(GPT):
    """It reads its last token as its first."""

    def forward(self, tokens: Tensor) -> Tensor:
        return super().forward(tokens.where(tokens < len(self.tokens.weight) - 1, 0))


def silent(context: int = CONTEXT) -> nn.Module:
    """A model whose attention adds nothing, as far as its blocks are concerned."""
    model = GPT(len(LETTERS), context, 12, 2, 3)
    for block in model.blocks:
        nn.init.zeros_(block.get_parameter("w_output.weight"))
    return model


REFUSED = {
    "NaN": (lambda: changed("blocks.1.w_key.bias", float("nan")), r"`blocks\.1\.w_key\.bias` has"),
    "infinite": (lambda: changed("norm.weight", float("inf")), r"`norm\.weight` has values"),
    "an eps": (lambda: with_eps(1e-12), r"eps = 1e-5; your `blocks\.1\.norm2` has eps = 1e-12"),
    "late": (lambda: Late(len(LETTERS), 60, 12, 2, 3), "heads? they differ by [0-9]"),
    "a token": (lambda: Padded(len(LETTERS), 60, 12, 2, 3), "heads? they differ by [0-9]"),
    "no heads": (silent, "1, 2, 3, 4, 6 and 12 heads give the same logits: train the model first"),
    "no blocks": (lambda: GPT(len(LETTERS), CONTEXT, 12, 0, 3), "one block or more"),
    "a flat table": (lambda: changed("tokens.weight", torch.ones(14)), r"a table .*; got \(14,\)"),
    "vocabulary": (lambda: GPT(5001, CONTEXT, 12, 1, 3), "at most 5,000 tokens.*; got 5,001"),
    "no module": (lambda: len, "an nn.Module; got builtin"),
    "no table": (lambda: nn.Linear(2, 2), r"no parameter `tokens\.weight`"),
    "no norm": (lambda: without("norm"), r"no parameter `norm\.weight`"),
    "no query": (lambda: without("blocks.1.w_query"), r"no parameter `blocks\.1\.w_query\.weight`"),
    "a width": (lambda: wider("blocks.0.w_key"), r"`blocks\.0\.w_key\.weight` must be \(12, 12\)"),
    "other logits": (lambda: Scaled(len(LETTERS), CONTEXT, 12, 2, 3), "heads they differ by [0-9]"),
    "too large": (lambda: GPT(len(LETTERS), 500_000, 12, 2, 3), "at most 5,000,000 parameters"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_another_model_is_refused_in_one_line(what: str) -> None:
    model, said = REFUSED[what]
    with pytest.raises(ValueError, match=said) as caught:
        show_gpt(model(), letter_ids, letters, "a ball")
    assert "\n" not in str(caught.value)


def test_ids_outside_the_vocabulary_are_refused() -> None:
    model = GPT(len(LETTERS), CONTEXT, 12, 2, 3)
    with pytest.raises(ValueError, match=r"from 0 to 13; got \[99\]"):
        show_gpt(model, lambda text: [99], letters, "a ball")
    with pytest.raises(ValueError, match=r"one id or more.*got \[\]"):
        show_gpt(model, letter_ids, letters, "")


def test_a_decode_without_texts_is_refused() -> None:
    model = GPT(len(LETTERS), CONTEXT, 12, 2, 3)
    no_text: Any = len
    with pytest.raises(ValueError, match="a str; got 1"):
        show_gpt(model, letter_ids, no_text, "a ball")
    with pytest.raises(ValueError, match="got '' for each"):
        show_gpt(model, letter_ids, lambda ids: "", "a ball")
    larger = GPT(len(LETTERS) + 1, CONTEXT, 12, 2, 3)
    with pytest.raises(ValueError, match="IndexError: the model has 15 tokens, more than decode"):
        show_gpt(larger, letter_ids, letters, "a ball")


@pytest.mark.parametrize("name", ["num_heads", "heads", "n_head"])
def test_a_declared_number_of_heads_decides_where_several_fit(name: str) -> None:
    for model in (silent(), GPT(len(LETTERS), 1, 12, 2, 3)):
        for block in model.blocks:  # type: ignore[union-attr]
            setattr(block, name, 3)
        view = show_gpt(model, letter_ids, letters, "a")
        assert view.options["sizes"]["heads"] == 3


def test_only_the_positions_that_can_be_read_cross() -> None:
    views = [
        show_gpt(GPT(len(LETTERS), 60, 12, 2, 3), letter_ids, letters, "a ball", context=context)
        for context in (60, 10)
    ]
    bytes_each = 2 if views[0].options["half"] else 4
    assert len(views[0].data) - len(views[1].data) == 50 * 12 * bytes_each


def test_float16_is_used_only_where_it_can_hold_each_number() -> None:
    # of the last position, which no short text reads
    model = GPT(len(LETTERS), CONTEXT, 12, 2, 3)
    with torch.no_grad():
        model.positions.weight[-1] = 70_000
    assert not show_gpt(model, letter_ids, letters, "a ball").options["half"]


def test_a_stub_is_named() -> None:
    def encode(text: str) -> Tensor:
        raise NotImplementedError

    with pytest.raises(NotImplementedError) as caught:
        show_gpt(GPT(len(LETTERS), CONTEXT, 12, 2, 3), encode, letters, "a ball")
    (line,) = caught.value._render_traceback_()  # type: ignore[attr-defined]
    assert "`encode` is still a stub" in line
