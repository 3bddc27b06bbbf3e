"""What is special to `show_beam`: what a search keeps and drops, read from its calls."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from transformer_course.widgets import show_beam

from autograder.bench.browser import chromium
from autograder.tests.widgets.examples import beam_search, next_word

BEGIN, END = 0, 1
NAMES = ["<begin>", "<end>", "a", "b"]
# what has been written -> the probabilities of <end>, a and b
CHANCES = {"": [0.05, 0.55, 0.4], "a": [0.3, 0.36, 0.34], "b": [0.9, 0.06, 0.04]}
FALLBACK = [0.4, 0.35, 0.25]
SEARCH = Callable[..., Any]


def step(tokens: Tensor) -> Tensor:
    """Logits, as many as there are names; a constant is added, which changes no probability."""
    rows = ["".join(NAMES[token] for token in row[1:]) for row in tokens.tolist()]
    chances = torch.tensor([[1e-9, *CHANCES.get(row, FALLBACK)] for row in rows])
    return chances.double().log() + 7


def show(search: SEARCH = beam_search, width: int = 2, max_length: int = 3, **more: Any) -> Any:
    return show_beam(search, step, BEGIN, END, width, max_length, NAMES, **more)


def nodes(view: Any) -> list[tuple[int, str, float, float, int, bool]]:
    """Each node: step, hypothesis, log-probability, score, fate, whether it is returned."""
    (about,) = view.options["arrays"]
    rows = np.frombuffer(view.data, np.float32).reshape(about["shape"])
    texts: list[str] = []
    for (_, parent, *_), name in zip(rows, view.options["names"], strict=True):
        texts.append(f"{texts[int(parent)]} {name}" if parent > 0 else name)
    return [
        (int(row[0]), text, round(float(row[2]), 3), round(float(row[3]), 3), int(row[4]), row[5])
        for row, text in zip(rows, texts, strict=True)
    ]


def fates(view: Any, number: int) -> dict[str, str]:
    """What became of each continuation of a step."""
    names = ("dropped", "open", "ended")
    return {text: names[fate] for at, text, _, _, fate, _ in nodes(view) if at == number}


def row_by_row(step: Callable[[Tensor], Tensor], *given: Any, **more: Any) -> Any:
    """The same search, which calls `step` with one row at a time."""
    return beam_search(
        lambda rows: torch.cat([step(row[None]) for row in rows.flip(0)]).flip(0), *given, **more
    )


def carrying(step: Callable[[Tensor], Tensor], *given: Any, **more: Any) -> Any:
    """The same search, with a finished row in each call beside the open ones."""

    def wider(rows: Tensor) -> Tensor:
        ended = torch.full_like(rows[:1], END)
        ended[:, 0] = BEGIN
        return step(torch.cat([rows, ended]) if rows.shape[1] > 1 else rows)[: len(rows)]

    return beam_search(wider, *given, **more)


@pytest.mark.parametrize("search", [beam_search, row_by_row, carrying])
def test_what_is_in_the_next_call_was_kept(search: SEARCH) -> None:
    view = show(search)
    assert fates(view, 1) == {"a": "open", "b": "open", "<end>": "dropped", "<begin>": "dropped"}
    assert fates(view, 2) == {
        **{"b <end>": "ended", "a a": "open"},
        **{"a b": "dropped", "a <end>": "dropped", "b a": "dropped"},
    }
    assert fates(view, 3)["a a <end>"] == "ended"
    assert view.options["faults"] == []


def test_scores_are_sums_of_log_probabilities_and_by_the_length() -> None:
    for alpha, score in ((0.0, np.log(0.36)), (1.0, np.log(0.36) / 2)):
        found = {node[1]: node for node in nodes(show(alpha=alpha))}
        assert found["b <end>"][2:4] == (round(np.log(0.36), 3), round(score, 3))


def test_what_is_returned_is_marked_and_told() -> None:
    view = show()
    assert [text for _, text, *_, path in nodes(view) if path] == ["<begin>", "b", "b <end>"]
    assert "Returned: “b <end>”, score −1.02." in view.picture.alt
    assert "Step 2 keeps “b <end>” −1.02, “a a” −1.62; drops “a b” −1.68" in view.picture.alt


def test_the_function_is_called_once_with_what_was_given() -> None:
    calls = []

    def search(*given: Any, **more: Any) -> Any:
        calls.append((given[1:], more))
        return beam_search(*given, **more)

    show(search, alpha=0.5)
    assert calls == [((BEGIN, END, 2, 3), {"alpha": 0.5})]


def test_begin_may_equal_end() -> None:
    def search(*given: Any, **more: Any) -> Any:
        return beam_search(*given, **more)

    def step(tokens: Tensor) -> Tensor:
        return torch.tensor([0.3, 0.7]).log().expand(len(tokens), 2)

    view = show_beam(search, step, 0, 0, 2, 2, ["<s>", "a"])
    assert fates(view, 1) == {"<s>": "ended", "a": "open"}
    assert view.options["faults"] == []


def test_siblings_stand_together_in_the_order_of_their_parents() -> None:
    (about,) = (view := show()).options["arrays"]
    rows = np.frombuffer(view.data, np.float32).reshape(about["shape"])
    for number in (1, 2, 3):
        parents = rows[rows[:, 0] == number, 1].tolist()
        assert parents == sorted(parents)


# --- searches that go wrong --------------------------------------------------------------


def rows_of(tokens: list[list[int]]) -> Tensor:
    return torch.tensor([[BEGIN, *row] for row in tokens])


def calling(calls: list[list[list[int]]], result: Any) -> SEARCH:
    """A search that makes these calls, whatever it hears, and returns this."""

    def search(step: Callable[[Tensor], Tensor], *given: Any, **more: Any) -> Any:
        for tokens in calls:
            step(rows_of(tokens))
        return result

    return search


BEST = torch.tensor([3, END]), torch.tensor(0.36).log()
WRONG = {
    "step 1 drops “a” (−0.60), one of the 2 likeliest": calling([[[]], [[3]]], BEST),
    "step 1 drops “b” (−0.92) and keeps “<begin>” (−20.72)": calling([[[]], [[2], [0]]], BEST),
    "step 1 keeps 3 continuations but width is 2": calling([[[]], [[2], [3], [0]]], BEST),
    "step 2 keeps 3 continuations, with the 1 that ended, but width is 2": calling(
        [[[]], [[2], [3]], [[2, 2], [2, 3]]], BEST
    ),
    "“b” is returned: it lacks its end": calling(
        [[[]], [[2], [3]], [[2, 2]]], (torch.tensor([3]), BEST[1])
    ),
    "“<begin> b <end>” is returned: it still has begin": calling(
        [[[]], [[2], [3]], [[2, 2]]], (torch.tensor([0, 3, 1]), BEST[1])
    ),
    "“b b b” is returned, but was not kept by the search": calling(
        [[[]], [[2], [3]], [[2, 2]]], (torch.tensor([3, 3, 3]), BEST[1])
    ),
    "the score −4.00 is returned; it should be −1.02": calling(
        [[[]], [[2], [3]], [[2, 2]]], (BEST[0], -4.0)
    ),
    "“a a a” is returned with −2.67, but “b <end>” has a better score, −1.02": calling(
        [[[]], [[2], [3]], [[2, 2]]], (torch.tensor([2, 2, 2]), torch.tensor(0.0693).log())
    ),
    "step is called with hypotheses that already have max_length = 3 tokens": calling(
        [[[]], [[2], [3]], [[2, 2]], [[2, 2, 2]]], BEST
    ),
}


@pytest.mark.parametrize("said", WRONG)
def test_what_is_wrong_with_a_search_is_told(said: str) -> None:
    view = show(WRONG[said])
    assert said in view.options["faults"]
    assert said in view.picture.alt


def test_the_first_two_steps_with_faults_are_told_and_the_others_counted() -> None:
    def alike(tokens: Tensor) -> Tensor:
        return torch.tensor([0.01, 0.01, 0.58, 0.4]).log().expand(len(tokens), 4)

    greedy = calling([[[2] * length] for length in range(5)], BEST)
    first, second, third, *_ = show_beam(greedy, alike, 0, 1, 2, 5, NAMES).options["faults"]
    assert first.startswith("step 1 drops")
    assert second.startswith("step 2 drops")
    assert third == "2 more of the 5 steps have faults like these"


def test_equally_likely_continuations_may_be_kept_in_any_order() -> None:
    def alike(tokens: Tensor) -> Tensor:
        return torch.zeros(len(tokens), len(NAMES))

    # with width 1, an end that is as likely as what is open was not kept
    for first, second in ((2, 3), (3, 0)):
        returned = torch.tensor([first, second, second]), 3 * torch.tensor(0.25).log()
        search = calling([[[]], [[first]], [[first, second]]], returned)
        faults = show_beam(search, alike, 0, 1, 1, 3, NAMES).options["faults"]
        assert not [fault for fault in faults if "step" in fault]
    # with width 4, all were kept, end too
    search = calling([[[]], [[0], [2], [3]]], (torch.tensor([1]), torch.tensor(0.25).log()))
    assert show_beam(search, alike, 0, 1, 4, 2, NAMES).options["faults"] == []


def returning(result: Any) -> SEARCH:
    return calling([[[]]], result)


def endless(step: Callable[[Tensor], Tensor], *given: Any, **more: Any) -> Any:
    while True:
        step(rows_of([[]]))


NEEDED = "the result of beam_search must be (tokens, score)"
CALLED = "beam_search must call step with int64 tokens (rows, so far)"
REFUSED: dict[str, Callable[[], Any]] = {
    f"{NEEDED}; got None: is a return missing?": lambda: show(returning(None)),
    f"{NEEDED}; got Tensor": lambda: show(returning(torch.tensor([1, 2]))),
    f"{NEEDED}, a tensor and a number; got (str, int)": lambda: show(returning(("ab", 1))),
    f"{NEEDED} with int64 tokens (length,); got torch.int64 of shape (1, 2)": lambda: show(
        returning((torch.ones(1, 2).long(), 0.0))
    ),
    f"{NEEDED} with int64 tokens (length,); got torch.float32 of shape (0,)": lambda: show(
        returning(([], 0.0))
    ),
    f"{NEEDED} with a single score; got (2,)": lambda: show(returning(([1], torch.ones(2)))),
    f"{NEEDED} with tokens of the vocabulary; got [9]": lambda: show(returning(([9], 0.0))),
    "beam_search must call step, first with a row of begin alone": lambda: show(
        lambda *given, **more: BEST
    ),
    f"{CALLED}; got list": lambda: show(lambda step, *given, **more: step([[0]])),
    f"{CALLED}; got (1,)": lambda: show(lambda step, *given, **more: step(torch.tensor([0]))),
    f"{CALLED}; got torch.float32": lambda: show(
        lambda step, *given, **more: step(torch.zeros(1, 1))
    ),
    f"{CALLED}, each row with begin = 0 first; a row is [2]": lambda: show(
        lambda step, *given, **more: step(torch.tensor([[2]]))
    ),
    f"{CALLED}, from the vocabulary; a row is [0, 7]": lambda: show(calling([[[7]]], BEST)),
    "a row of 3 tokens continues no row that was open before": lambda: show(
        calling([[[]], [[2]], [[3, 3]]], BEST)
    ),
    "beam_search keeps 9 hypotheses open after step 2; width is 2": lambda: show(
        calling([[[]], [[0], [2], [3]], [[a, b] for a in (0, 2, 3) for b in (0, 2, 3)]], BEST)
    ),
    "beam_search has called step 64 times: does it ever stop?": lambda: show(endless),
    "step must return logits (rows, vocab), here (1, 3) with a name for each token; got (1, 4)": (
        lambda: show_beam(beam_search, step, 0, 1, 2, 3, NAMES[:3])
    ),
    "step must return logits; some of its log-probabilities are NaN": lambda: show_beam(
        beam_search, lambda tokens: step(tokens) * torch.nan, 0, 1, 2, 3, NAMES
    ),
    "width must be from 1 to 12; got 13": lambda: show(width=13),
    "max_length must be from 1 to 64; got 0": lambda: show(max_length=0),
    "end must be one of the 4 tokens in names; got 4": lambda: show_beam(
        beam_search, step, 0, 4, 2, 3, NAMES
    ),
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_is_refused_is_told_in_one_line(said: str) -> None:
    with pytest.raises(ValueError, match=r"\A.+\Z") as caught:
        REFUSED[said]()
    assert said in str(caught.value)


def unwritten(step: Any, begin: int, end: int, width: int, max_length: int, alpha: float) -> Any:
    raise NotImplementedError


def test_a_stub_is_told_in_one_line() -> None:
    with pytest.raises(NotImplementedError) as caught:
        show(unwritten)
    (line,) = caught.value._render_traceback_()  # type: ignore[attr-defined]
    assert "`unwritten` is still a stub" in line


def test_what_the_function_raises_comes_through() -> None:
    def search(*given: Any, **more: Any) -> Any:
        raise IndexError("my own mistake")

    with pytest.raises(IndexError, match="my own mistake"):
        show(search)


def test_a_long_and_wide_search_stays_small() -> None:
    names = [f"token {number}" for number in range(6)]
    view = show_beam(beam_search, next_word, 0, 1, width=12, max_length=64, names=names)
    assert len(view.data) < 30_000
    assert "the first 9 of" not in view.options["title"]
    assert view.picture.png


def test_the_cursor_stays_in_the_tree_as_it_shrinks_and_grows(tmp_path: Path) -> None:
    file = tmp_path / "beam.html"
    file.write_text(show(max_length=4).to_html(), encoding="utf-8")
    with chromium(viewport={"width": 1000, "height": 800}) as context:
        page = context.pages[0]
        page.goto(file.as_uri())
        told = page.locator(".course-view .told")
        for control, key, said in (
            ("canvas", "ArrowDown", "step 4, “a a a a”"),
            ("input[type=range]", "ArrowLeft", "step 3, “a a <end>”"),
            ("input[type=range]", "ArrowLeft", "step 2, “a a”"),
            ("canvas", "ArrowLeft", "step 1, “a”"),
            ("canvas", "ArrowDown", "step 1, “b”"),
            ("input[type=checkbox]", "Space", "step 2, “a a”"),
        ):
            page.locator(f".course-view {control}").press(key)
            told.filter(has_text=said).wait_for(timeout=5000)
