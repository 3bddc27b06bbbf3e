"""What is special to `show_cached`: what each call does with each position, and refusals."""

import re
from typing import Any

import numpy as np
import pytest
import torch
from transformer_course.widgets import show_cached
from transformer_course.widgets.view import View

WORDS = ["the", "animal", "was", "too", "tired"]
CALLS = [(0, 2), (0, 3), (0, 4)]
CACHED = [(0, 2), (2, 3), (3, 4)]
ABSENT, FIRST, AGAIN, READ = 0, 1, 2, 3


def sent(view: View, name: str) -> list[list[int]]:
    about = next(one for one in view.options["arrays"] if one["name"] == name)
    count = int(np.prod(about["shape"]))
    assert about["kind"] == "uint8"
    return np.frombuffer(view.data, np.uint8, count, about["at"]).reshape(about["shape"]).tolist()


def test_without_a_cache_all_earlier_positions_are_computed_again() -> None:
    assert sent(show_cached(CALLS, CACHED, WORDS), "without") == [
        [FIRST, FIRST, ABSENT, ABSENT],
        [AGAIN, AGAIN, FIRST, ABSENT],
        [AGAIN, AGAIN, AGAIN, FIRST],
    ]


def test_with_a_cache_they_are_read() -> None:
    assert sent(show_cached(CALLS, CACHED, WORDS), "with") == [
        [FIRST, FIRST, ABSENT, ABSENT],
        [READ, READ, FIRST, ABSENT],
        [READ, READ, READ, FIRST],
    ]


def test_a_cache_that_is_not_used_stays_in_sight() -> None:
    assert sent(show_cached(CALLS, CALLS, WORDS), "with") == sent(
        show_cached(CALLS, CACHED, WORDS), "without"
    )


def test_a_position_that_no_call_computed_is_not_read() -> None:
    assert sent(show_cached(CALLS, [(1, 2), (3, 4)], WORDS), "with") == [
        [ABSENT, FIRST, ABSENT, ABSENT],
        [ABSENT, READ, ABSENT, FIRST],
    ]


def test_a_window_leaves_positions_out_and_the_legend_says_so() -> None:
    assert show_cached(CALLS, CACHED, WORDS).options["names"][ABSENT] == "not there yet"
    view = show_cached([(0, 2), (1, 3)], CACHED, WORDS)
    assert sent(view, "without")[1] == [ABSENT, AGAIN, FIRST, ABSENT]
    assert view.options["names"][ABSENT] == "not there yet, or left out"


def test_it_begins_at_the_last_call_of_the_longer_list() -> None:
    assert show_cached(CALLS, [(0, 4)], WORDS).state == {"step": 2, "position": 0}
    assert show_cached([(0, 4)], CACHED, WORDS).state == {"step": 2, "position": 0}


def test_only_positions_of_a_call_are_shown_and_spaces_can_be_seen() -> None:
    view = show_cached([(0, 2)], [(0, 3)], [" a", "\n", "c", "d"])
    assert view.options["tokens"] == ["␣a", "↵", "c"]


def test_ranges_may_be_tensors_or_rows_of_an_array() -> None:
    expected = show_cached(CALLS, CACHED, WORDS)
    assert show_cached(torch.tensor(CALLS), np.array(CACHED), WORDS).data == expected.data  # type: ignore[arg-type]


def test_the_text_counts_what_is_computed() -> None:
    alt = show_cached(CALLS, CACHED, WORDS, title="Calls").picture.alt
    assert alt == (
        "Calls, 4 positions. Without a cache, 3 calls compute 9 positions, 5 of them again; the "
        "last call computes 4 and reads 0. With a cache, 3 calls compute 4 positions, 0 of them "
        "again; the last call computes 1 and reads 3."
    )


def test_of_many_calls_the_first_are_shown_and_the_title_says_so() -> None:
    many = [(0, i + 1) for i in range(300)]
    view = show_cached(many, many, [str(i) for i in range(300)])
    assert np.shape(sent(view, "without")) == (256, 256)
    assert view.options["title"].endswith(", the first 256 of 300 calls")
    assert len(view.options["tokens"]) == 256
    assert "the first" not in show_cached(CALLS, CACHED, WORDS).options["title"]


REFUSED: dict[str, tuple[Any, Any, list[str]]] = {
    "calls must be a list of pairs of integers, (start, stop)": ([1, 2], CACHED, WORDS),
    "cached_calls must be a list of pairs of integers, (start, stop)": (CALLS, [(0, 1, 2)], WORDS),
    "calls must hold a call or more; got none": ([], CACHED, WORDS),
    "calls must be (start, stop) within the 5 tokens; call 1 is (0, 6)": (
        [(0, 2), (0, 6)],
        CACHED,
        WORDS,
    ),
    "cached_calls must be (start, stop) within the 5 tokens; call 0 is (2, 2)": (
        CALLS,
        [(2, 2)],
        WORDS,
    ),
    "cached_calls must be (start, stop) within the 5 tokens; call 0 is (-1, 2)": (
        CALLS,
        [(-1, 2)],
        WORDS,
    ),
    "tokens must be at most 512 positions; the calls reach 513": (CALLS, [(0, 513)], ["x"] * 600),
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_is_refused_is_told_in_one_line(said: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        show_cached(*REFUSED[said])
