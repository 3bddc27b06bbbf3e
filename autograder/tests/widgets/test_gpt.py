"""What is special to `show_gpt`: the page computes what the model does."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from transformer_course.widgets import gpt, show_gpt
from transformer_course.widgets.view import View

from autograder.bench.browser import chromium
from autograder.tests.widgets.examples import GPT, LETTERS, letter_ids, letters
from autograder.tests.widgets.pages import assert_accessible
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
        ran = gpt.reference(model.state_dict(), depth, heads, ids)
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


def test_the_model_stays_as_it_was() -> None:
    model = GPT(len(LETTERS), CONTEXT, 12, 2, 3).train()
    model.blocks[1].eval()
    before = [part.training for part in model.modules()], copy.deepcopy(model.state_dict())
    show_gpt(model, letter_ids, letters, "a ball")
    assert [part.training for part in model.modules()] == before[0]
    assert all(torch.equal(model.state_dict()[name], value) for name, value in before[1].items())


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


# --- the page ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium(viewport={"width": 1000, "height": 800}) as context:
        yield context.browser


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """A function that opens the page of a view; `settings` are those of a browser's context."""
    contexts = []

    def open_page(view: View, **settings: Any) -> Any:
        file = tmp_path / "gpt.html"
        file.write_text(view.to_html(), encoding="utf-8")
        contexts.append(browser.new_context(viewport={"width": 390, "height": 800}, **settings))
        page = contexts[-1].new_page()
        page.clock.install(time=0)
        page.clock.pause_at(3600)
        page.set_default_timeout(10_000)
        page.goto(file.as_uri())
        page.locator(".course-view").wait_for()
        page.clock.run_for(50)
        return page

    yield open_page
    for context in contexts:
        context.close()


def press(page: Any, name: str) -> None:
    page.get_by_role("button", name=name).press("Enter")
    page.clock.run_for(50)


def written(page: Any) -> str:
    """The text that the page reads, by its chips, with its white space made visible."""
    names = "chips => chips.map((chip) => chip.firstChild.textContent).join('')"
    return page.locator(".gpt-chips span").evaluate_all(names)


def bars(page: Any) -> dict[str, list[str]]:
    """The rows of the next tokens: what is said of each."""
    rows = page.locator(".gpt-next tr").evaluate_all(
        "rows => rows.slice(1).map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    return {name: [text.replace("\u00a0", " ") for text in rest] for name, _, *rest in rows}


def visible(text: str) -> str:
    return text.replace(" ", "␣").replace("\n", "↵")


def assert_says(page: Any, column: int, model: nn.Module, text: str) -> None:
    """A column of the bars holds the model's probabilities after a text, in %, to one decimal."""
    last = truth(model, letter_ids(text)[0].tolist())[-1]
    wanted = {visible(name): 100 * p for name, p in zip(LETTERS, last, strict=True)}
    found = bars(page)
    assert len(found) >= 8
    for name, said in found.items():
        number = float(said[column].removesuffix(" %").removeprefix("< "))
        assert abs(number - wanted[name]) <= 0.05 + 100 * CLOSE, (name, said)


def test_what_is_typed_is_read(opened: Any) -> None:
    model, view = sized(2, 3)
    page = opened(view)
    page.get_by_label("prompt").fill("?a\nzb")
    page.clock.run_for(50)
    assert written(page) == "a↵b"
    assert "left out: ? z." in page.locator(".gpt-top").inner_text()
    assert_says(page, 0, model, "a\nb")


def test_without_a_token_nothing_else_is_shown(opened: Any) -> None:
    page = opened(sized(2, 3)[1])
    page.get_by_label("prompt").fill("?")
    page.clock.run_for(50)
    assert not page.locator(".gpt-section").first.is_visible()
    press(page, "Next token")
    press(page, "Generate")
    assert "Type at least one token." in page.locator(".told").inner_text()
    page.get_by_label("prompt").fill("a")
    page.clock.run_for(50)
    assert page.locator(".gpt-section").first.is_visible()


def test_a_longer_text_than_the_context_is_cut(opened: Any) -> None:
    page = opened(sized(2, 3)[1])
    page.get_by_label("prompt").fill("abcabcabcde")
    page.clock.run_for(50)
    assert written(page) == "cabcabcde"
    assert "The first 2 tokens do not fit" in page.locator(".gpt-top").inner_text()


def test_the_next_token_is_the_one_marked_and_is_computed_alone(opened: Any) -> None:
    model, view = sized(2, 3)
    page = opened(view)
    (name,) = [name for name, said in bars(page).items() if said[-1]]
    press(page, "Next token")
    assert written(page) == f"a␣ball{name}"
    cache = page.locator(".gpt-section", has_text="key–value cache").inner_text()
    assert "7 of 9 positions are cached: the last call read 6 and computed 1." in cache
    assert_says(page, 0, model, "a ball" + name.replace("␣", " ").replace("↵", "\n"))


def test_generation_goes_on_until_it_is_stopped(opened: Any) -> None:
    page = opened(sized(2, 3)[1])
    press(page, "Generate")
    assert len(written(page)) == 7
    page.clock.run_for(250)
    assert len(written(page)) == 8
    press(page, "Stop")
    page.clock.run_for(5000)
    assert len(written(page)) == 8
    press(page, "Back to the prompt")
    assert written(page) == "a␣ball"


def test_generation_ends_where_the_context_does_and_says_so(opened: Any) -> None:
    """With less motion at once, token by token otherwise; the likeliest each time, if cold."""
    model, view = sized(2, 3)
    view._state["temperature"] = 0
    text = "a ball"
    while len(text) < CONTEXT:
        text += LETTERS[truth(model, letter_ids(text)[0].tolist())[-1].argmax()]
    for motion in ("reduce", "no-preference"):
        page = opened(view, reduced_motion=motion)
        press(page, "Generate")
        if motion == "no-preference":
            page.clock.run_for(5000)
        assert written(page) == visible(text)
        assert "The context is full: 9 tokens." in page.locator(".told").inner_text()
        press(page, "Next token")
        assert written(page) == visible(text)
        assert page.get_by_role("button", name="Generate").is_visible()


def test_a_switch_shows_the_probabilities_before_and_after(opened: Any) -> None:
    model, view = sized(2, 3)
    page = opened(view)
    page.get_by_role("group", name="parts of block 1").get_by_label("head 2").press("Space")
    page.clock.run_for(50)
    assert_says(page, 0, with_off(model, [(1, "2")], 3), "a ball")
    assert_says(page, 1, model, "a ball")
    press(page, "all on")
    assert_says(page, 0, model, "a ball")
    page.get_by_role("group", name="parts of block 0").get_by_label("attention").press("Space")
    page.clock.run_for(50)
    assert page.get_by_label("head 0").first.is_disabled()


def test_a_position_is_chosen_by_keys(opened: Any) -> None:
    model, view = sized(2, 3)
    page = opened(view)
    with torch.no_grad():
        ids = letter_ids("a ball")[0].tolist()
        first = gpt.reference(model.state_dict(), 2, 3, ids).logits[:, 2].argmax(-1).tolist()
    page.get_by_role("listbox").press("Home")
    for _ in range(2):
        page.get_by_role("listbox").press("ArrowRight")
    page.clock.run_for(50)
    assert page.locator(".told").inner_text() == "position 2: “b”, id 1"
    cells = page.locator(".gpt-lens tr td:nth-child(2)").evaluate_all(
        "cells => cells.map((cell) => cell.firstChild.textContent)"
    )
    assert cells == [visible(LETTERS[i]) for i in first]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_narrow_page_needs_no_scrolling_and_is_accessible(opened: Any, theme: str) -> None:
    page = opened(sized(3, 12)[1], color_scheme=theme, reduced_motion="reduce")
    press(page, "Generate")
    page.get_by_label("head 0").first.press("Space")
    page.clock.run_for(50)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.clock.resume()  # axe waits for timers of its own
    assert_accessible(page, "main")


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


REFUSED = {
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
    no_text: Any = len
    with pytest.raises(ValueError, match="a str; got 1"):
        show_gpt(model, letter_ids, no_text, "a ball")


def test_a_stub_is_named() -> None:
    def encode(text: str) -> Tensor:
        raise NotImplementedError

    with pytest.raises(NotImplementedError) as caught:
        show_gpt(GPT(len(LETTERS), CONTEXT, 12, 2, 3), encode, letters, "a ball")
    (line,) = caught.value._render_traceback_()  # type: ignore[attr-defined]
    assert "`encode` is still a stub" in line
