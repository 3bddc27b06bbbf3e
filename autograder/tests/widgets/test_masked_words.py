"""What is special to `show_masked_words`: what is masked together, what crosses, refusals."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from transformer_course.checks import numbers
from transformer_course.widgets import show_masked_words

from autograder.bench.browser import chromium

NAMES = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "it", "was", "not", "good", "bad", "love", "skip"]
VOCAB = len(NAMES)
ROW = [1, 4, 5, 7, 2, 9, 2, 0]
SEGMENTS = [0, 0, 0, 0, 0, 1, 1, 0]


def model(tokens: Tensor, segments: Tensor) -> Tensor:
    """Logits that depend on every token of the row, on the position and on the segment."""
    near = numbers(VOCAB, VOCAB)[tokens].sum(1, keepdim=True)
    return near + numbers(40, VOCAB, seed=1)[: tokens.shape[1]] + segments[..., None]


def sent(view: Any) -> dict[str, np.ndarray]:
    """The arrays as they cross."""
    found = {}
    for about in view.options["arrays"]:
        data, count = view.data[about["at"] :], int(np.prod(about["shape"]))
        array = np.frombuffer(data, about["kind"], count)
        found[about["name"]] = array.reshape(about["shape"])
    return found


def ids(view: Any) -> np.ndarray:
    two = sent(view)["ids"].astype(int)
    return 256 * two[..., 0] + two[..., 1]


def test_every_word_is_masked_alone_and_every_two_together() -> None:
    asked: list[Tensor] = []

    def recording(tokens: Tensor, segments: Tensor) -> Tensor:
        asked.append(tokens.clone())
        assert segments.tolist() == [SEGMENTS[:7]] * len(tokens)
        return model(tokens, segments)

    view = show_masked_words(recording, ROW, NAMES, SEGMENTS)
    (tokens,) = asked  # the padding at the end is left out
    hidden = [tuple(np.flatnonzero(row == 3)) for row in tokens.numpy()]
    words = (1, 2, 3, 5)
    pairs = [(a, b) for a in words for b in words if a < b]
    assert hidden == [(one,) for one in words] + pairs
    kept = tokens != 3
    assert (tokens == torch.tensor(ROW[:7]))[kept].all()
    assert ids(view).shape == (4 + 2 * 6, 10)


def test_what_crosses_is_softmax_of_the_logits_and_the_rank_of_the_word() -> None:
    view = show_masked_words(model, ROW, NAMES, SEGMENTS)
    masked = torch.tensor([ROW[:7]])
    masked[0, [2, 5]] = 3  # the second of the six pairs that begin with position 2 or earlier
    logits = model(masked, torch.tensor([SEGMENTS[:7]]))[0]
    pairs = [(1, 2), (1, 3), (1, 5), (2, 3), (2, 5), (3, 5)]
    for position, answer in ((2, 0), (5, 1)):
        at = 4 + 2 * pairs.index((2, 5)) + answer
        shares = logits[position].softmax(-1)
        order = shares.argsort(descending=True, stable=True)
        assert ids(view)[at].tolist() == order[:10].tolist()
        assert np.allclose(sent(view)["shares"][at], shares[order[:10]], atol=1e-6)
        own, rank = sent(view)["about"][at]
        assert np.isclose(own, shares[ROW[position]], atol=1e-6)
        assert order[int(rank)] == ROW[position]


def test_rows_may_differ_in_length_and_long_ones_have_no_pairs() -> None:
    long = [1, *[4, 5, 6, 7] * 4, 2]
    view = show_masked_words(model, [long, ROW + [0] * 10], NAMES)
    assert view.options["pairs"] == [False, True]
    assert len(ids(view)) == 16 + 4 + 12
    assert sent(view)["tokens1"].shape == (7, 3)
    assert view.state == {"row": 0, "position": 1, "rank": 0, "masked": [1]}


def test_a_vocabulary_of_thirty_thousand_words_crosses_as_its_likeliest_ones() -> None:
    names = [str(number) for number in range(30_000)]
    row = [1, 400, 29_999, 77, 2]

    def flat(tokens: Tensor, segments: Tensor) -> Tensor:
        return torch.zeros(*tokens.shape, 30_000).index_fill(-1, torch.tensor([29_998]), 9.0)

    view = show_masked_words(flat, row, names)
    assert ids(view)[0, 0] == 29_998
    assert len(view.data) < 3000
    assert len(view.options["names"]) < 20
    assert view.options["names"]["29999"] == "29999"


def test_the_model_sees_no_gradient_and_changes_nothing() -> None:
    tokens = torch.tensor(ROW)
    weight = torch.ones((), dtype=torch.float64, requires_grad=True)

    def changing(given: Tensor, segments: Tensor) -> Tensor:
        found = weight * model(given, segments)
        assert not found.requires_grad
        given.zero_()
        return found

    view = show_masked_words(changing, tokens, NAMES)
    assert tokens.tolist() == ROW
    other = show_masked_words(model, ROW, NAMES)
    assert view.data == other.data


def test_the_text_says_what_is_likeliest_at_each_word() -> None:
    def sure(tokens: Tensor, segments: Tensor) -> Tensor:
        return 50.0 * torch.eye(VOCAB)[torch.tensor(ROW[:7])].expand(len(tokens), -1, -1)

    alt = show_masked_words(sure, ROW, NAMES, title="mine").picture.alt
    assert alt.startswith("mine. [CLS] it was good [SEP] love [SEP]. ")
    assert "“good” at position 3: “good” 100 %" in alt


def stub(tokens: Tensor, segments: Tensor) -> Tensor:
    raise NotImplementedError


def test_a_stub_is_told_in_one_line() -> None:
    with pytest.raises(NotImplementedError) as caught:
        show_masked_words(stub, ROW, NAMES)
    (line,) = caught.value._render_traceback_()  # type: ignore[attr-defined]
    assert "`stub` is still a stub" in line


REFUSED = {
    "tokens must be (rows, length) or (length); got (1, 1, 8)": lambda: show_masked_words(
        model, [[ROW]], NAMES
    ),
    "tokens must be integers from 0 to 10; got 11": lambda: show_masked_words(
        model, [1, 11, 2], NAMES
    ),
    "tokens must be integers from 0 to 10; got 4.5": lambda: show_masked_words(
        model, [1, 4.5, 2], NAMES
    ),
    "tokens must have a word, an id above 3, in each row; row 1 has none": lambda: (
        show_masked_words(model, [[1, 4, 2], [1, 2, 0]], NAMES)
    ),
    "segments must be as tokens, (1, 8); got (1, 7)": lambda: show_masked_words(
        model, ROW, NAMES, SEGMENTS[:7]
    ),
    "segments must be 0 or 1; got 2": lambda: show_masked_words(model, ROW, NAMES, [2] * 8),
    "tokens must be at most 12 rows of 24; got (13, 8)": lambda: show_masked_words(
        model, [ROW] * 13, NAMES
    ),
    "must give logits (batch, length, vocab), here (10, 7, 11); got None": lambda: (
        show_masked_words(lambda tokens, segments: None, ROW, NAMES)
    ),
    "must give logits (batch, length, vocab), here (10, 7, 11); got (10, 7, 5)": lambda: (
        show_masked_words(lambda tokens, segments: torch.zeros(*tokens.shape, 5), ROW, NAMES)
    ),
    "must be finite numbers": lambda: show_masked_words(
        lambda tokens, segments: torch.zeros(*tokens.shape, VOCAB) / 0, ROW, NAMES
    ),
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_is_refused_is_told_in_one_line(said: str) -> None:
    with pytest.raises(ValueError, match=r"\A.+\Z") as caught:
        REFUSED[said]()
    assert said in str(caught.value)


def test_words_are_masked_by_key_and_by_click_two_at_most(tmp_path: Path) -> None:
    file = tmp_path / "masked_words.html"
    view = show_masked_words(model, [ROW, [1, 8, 2, 0, 0, 0, 0, 0]], NAMES, [SEGMENTS, [0] * 8])
    file.write_text(view.to_html(), encoding="utf-8")
    with chromium(viewport={"width": 1000, "height": 800}) as context:
        page = context.pages[0]
        page.goto(file.as_uri())
        choice = page.locator(".course-view select")
        told, row = page.locator(".course-view .told"), page.locator(".course-view canvas")
        for control, key, said in (
            (row, "ArrowRight", "position 2 “was”, not masked. At position 1:"),
            (row, "Enter", "position 2 “was”, masked. At position 2:"),
            (row, "ArrowRight", "position 3 “good”, not masked. At position 2:"),
            (row, "Space", "position 3 “good”, masked. At position 3:"),
            (row, "ArrowLeft", "position 2 “was”, masked. At position 2:"),
            (row, "Enter", "position 2 “was”, not masked. At position 3:"),
            (row, "ArrowDown", "rank 2 of 11"),
            (row, "Home", "position 0 “[CLS]”, is no word and cannot be masked. At position 3:"),
            (row, "Enter", "position 0 “[CLS]”, is no word and cannot be masked. At position 3:"),
            (page.get_by_text("mask nothing"), "Enter", "Nothing is masked"),
            (choice, "ArrowDown", "position 1 “bad”, masked. At position 1:"),
        ):
            control.press(key)
            told.filter(has_text=said).wait_for(timeout=5000)
        row.click(position={"x": 80, "y": 45})  # the second box: the word is shown again
        told.filter(has_text="Nothing is masked").wait_for(timeout=5000)
