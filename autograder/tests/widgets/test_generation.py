"""What is special to `show_generation`: what the function is asked, what crosses, refusals."""

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from transformer_course.checks import numbers
from transformer_course.widgets import show_generation
from transformer_course.widgets.view import View

from autograder.tests.widgets.examples import probabilities

LOGITS = 3 * numbers(3, 16)
TOKENS = [7, 0, 15, 3, 9]
NAMES = "abcdefghijklmno "
TEMPERATURES = [0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0]
TOP_K = [1, 2, 3, 5, 10, None]
CASES = [(temperature, top_k) for temperature in TEMPERATURES for top_k in TOP_K]


def sent(view: View, name: str) -> np.ndarray:
    about = next(one for one in view.options["arrays"] if one["name"] == name)
    kind = np.dtype(about["kind"])
    count = int(np.prod(about["shape"]))
    found = np.frombuffer(view.data, kind, count, about["at"]).reshape(about["shape"])
    return found if kind == np.float32 else found.astype(int) @ [256, 1]


def shown(**changes: Any) -> View:
    given: dict[str, Any] = {"logits": LOGITS, "tokens": TOKENS, "names": NAMES}
    function = changes.pop("function", probabilities)
    return show_generation(function, **given | changes)


def recording(asked: list[Any]) -> Callable[..., Tensor]:
    def function(logits: Tensor, temperature: float = 1.0, top_k: int | None = None) -> Tensor:
        asked.append((logits.clone(), temperature, top_k))
        return probabilities(logits, temperature, top_k)

    return function


def test_the_function_is_asked_once_for_each_setting_with_all_steps() -> None:
    asked: list[Any] = []
    shown(function=recording(asked))
    assert [case for _, *case in asked] == [[*case] for case in CASES]
    assert all(torch.equal(logits, LOGITS) for logits, *_ in asked)


def test_a_function_that_changes_its_logits_is_asked_with_the_right_ones() -> None:
    asked: list[Any] = []
    inner = recording(asked)

    def function(logits: Tensor, **settings: Any) -> Tensor:
        result = inner(logits, **settings)
        logits.zero_()
        return result

    given = LOGITS.clone()
    shown(function=function, logits=given)
    assert all(torch.equal(logits, LOGITS) for logits, *_ in asked)
    assert torch.equal(given, LOGITS)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [(torch.float64, torch.float64), (torch.float32, torch.float32), (torch.int64, torch.float32)],
)
def test_logits_keep_their_precision(dtype: torch.dtype, expected: torch.dtype) -> None:
    asked: list[Any] = []
    shown(function=recording(asked), logits=LOGITS.to(dtype))
    assert {logits.dtype for logits, *_ in asked} == {expected}


def test_the_twelve_likeliest_tokens_of_each_setting_cross() -> None:
    view = shown()
    ids, shares = sent(view, "ids"), sent(view, "probabilities") / 65535
    assert ids.shape == shares.shape == (3, 7, 6, 12)
    for number, (temperature, top_k) in enumerate(CASES):
        expected = probabilities(LOGITS, temperature, top_k).sort(descending=True).values[:, :12]
        np.testing.assert_allclose(shares.reshape(3, 42, 12)[:, number], expected, atol=1e-5)
    step, all_tokens = 1, probabilities(LOGITS)
    named = [view.options["names"][token] for token in ids[step, 4, 5]]
    best = all_tokens[step].argsort(descending=True)[:12].tolist()
    assert named == [NAMES[token].replace(" ", "␣") for token in best]


def test_tokens_that_are_cut_off_keep_the_order_of_their_logits() -> None:
    ids = sent(shown(), "ids")
    assert (ids == ids[:, 4:5, 5:6]).all()


def test_the_sum_the_tokens_above_zero_and_the_one_taken_are_of_all_tokens() -> None:
    about = sent(shown(), "about").reshape(3, 42, 3)
    taken = torch.tensor(TOKENS[2:])
    for number, (temperature, top_k) in enumerate(CASES):
        expected = probabilities(LOGITS, temperature, top_k)
        np.testing.assert_allclose(about[:, number, 0], 1, atol=1e-6)
        assert (about[:, number, 1] == (expected > 0).sum(-1).numpy()).all()
        np.testing.assert_allclose(about[:, number, 2], expected[range(3), taken], atol=1e-6)


def test_what_does_not_sum_to_one_stays_in_sight() -> None:
    view = shown(function=lambda logits, temperature, top_k: probabilities(logits) / 2)
    np.testing.assert_allclose(sent(view, "about")[..., 0], 0.5, atol=1e-6)
    assert view.picture.png != shown().picture.png


def test_a_small_vocabulary_has_no_top_k_above_it() -> None:
    view = shown(logits=LOGITS[:, :5], tokens=[1, 2, 3, 4], names="abcde")
    assert view.options["top_k"] == [1, 2, 3, None]
    assert sent(view, "ids").shape == (3, 7, 4, 5)


def test_the_prompt_is_what_comes_before_the_steps() -> None:
    view = shown()
    assert (view.options["prompt"], view.options["earlier"]) == (2, 0)
    text = [view.options["names"][token] for token in sent(view, "tokens")]
    assert "".join(text) == "ha␣dj"


def test_of_a_long_prompt_the_end_is_shown() -> None:
    view = shown(tokens=[1] * 36 + [2] * 64 + TOKENS[2:])
    assert (view.options["prompt"], view.options["earlier"]) == (64, 36)
    assert len(sent(view, "tokens")) == 64 + 3


def test_of_many_steps_the_first_are_asked_for_and_the_title_says_so() -> None:
    asked: list[Any] = []
    logits = numbers(120, 16)
    view = shown(function=recording(asked), logits=logits, tokens=[0] * 125, title="T")
    assert {len(logits) for logits, *_ in asked} == {100}
    assert view.options["title"] == "T, the first 100 of 120 steps"
    assert (view.options["prompt"], len(sent(view, "tokens"))) == (5, 105)


def test_only_names_that_are_shown_cross() -> None:
    vocab = 5000
    logits = numbers(2, vocab)
    view = shown(logits=logits, tokens=[4999, 1, 2], names=[f"t{i}" for i in range(vocab)])
    assert len(view.options["names"]) < 60
    assert view.options["names"][sent(view, "tokens")[0]] == "t4999"
    assert len(json.dumps(view.options)) < 2_000


@pytest.mark.parametrize(
    ("names", "before"),
    [
        (NAMES, "“ha”"),
        ([f"w{i}" for i in range(16)], "“w7 w0”"),
        ([f"▁w{i}" for i in range(16)], "“▁w7▁w0”"),
        ([f" w{i}" for i in range(16)], "“␣w7␣w0”"),
    ],
    ids=["characters", "words", "pieces", "spaces"],
)
def test_words_stand_apart_in_the_text_and_pieces_do_not(names: Any, before: str) -> None:
    assert f"after {before}" in shown(names=names).picture.alt


def test_the_text_says_the_likeliest_tokens_and_the_one_taken() -> None:
    logits = torch.tensor([4.0, 2.0, 1.0, 1.0]).log()[None]
    view = shown(logits=logits, tokens=[0, 1], names=["a", "$", "c", "d"], title="One")
    assert view.picture.alt == (
        "One. Step 1 of 1, after “a”; taken: “$”. The likeliest tokens at "
        "temperature 0.5: “a” 72.7 %, “$” 18.2 %, “c” 4.5 %; "
        "temperature 1: “a” 50.0 %, “$” 25.0 %, “c” 12.5 %; "
        "temperature 2: “a” 36.9 %, “$” 26.1 %, “c” 18.5 %; "
        "temperature 1, top-k 3: “a” 50.0 %, “$” 25.0 %, “c” 12.5 %."
    )


def fixed(result: Any) -> Callable[..., Any]:
    return lambda logits, temperature, top_k: result


CALL = "next_token_probabilities(logits, temperature=0, top_k=1)"
REFUSED: dict[str, dict[str, Any]] = {
    "logits must be (step, vocab); got (16,)": {"logits": LOGITS[0]},
    "logits must be (step, vocab), with 2 tokens or more; got (3, 1)": {"logits": LOGITS[:, :1]},
    "logits must be finite numbers; some are infinite or NaN": {"logits": LOGITS / 0},
    "names must be 16 names, one for each; got 3": {"names": "abc"},
    "tokens must be (prompt + steps); got (1, 5)": {"tokens": [TOKENS]},
    "tokens must be integers from 0 to 15; got 16": {"tokens": [0, 1, 2, 3, 16]},
    "tokens must be integers from 0 to 15; got 0.5": {"tokens": [0, 1, 2, 3, 0.5]},
    "tokens must be a prompt and the 3 tokens taken, one for each row of logits; got 3 in all": {
        "tokens": [0, 1, 2]
    },
    f"{CALL} must be (3, 16), as the logits; got None: is a return missing?": {
        "function": fixed(None)
    },
    f"{CALL} must be (3, 16), as the logits; got (3, 1)": {"function": fixed(torch.ones(3, 1))},
    f"{CALL} must be (step, vocab); got (16,)": {"function": fixed(torch.ones(16))},
    f"{CALL} must be finite numbers; some are infinite or NaN": {
        "function": fixed(torch.ones(3, 16) / 0)
    },
    f"{CALL} must be probabilities, from 0 to 1; got 2": {
        "function": fixed(torch.full((3, 16), 2.0))
    },
    f"{CALL} must be probabilities, from 0 to 1; got -0.5": {
        "function": fixed(torch.full((3, 16), -0.5))
    },
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_is_refused_is_told_in_one_line(said: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        shown(**REFUSED[said])


def test_a_stub_is_one_line() -> None:
    def next_token_probabilities(logits: Tensor, temperature: float, top_k: int | None) -> Tensor:
        raise NotImplementedError

    with pytest.raises(NotImplementedError) as caught:
        shown(function=next_token_probabilities)
    (line,) = caught.value._render_traceback_()  # type: ignore[attr-defined]
    assert "`next_token_probabilities` is still a stub" in line
