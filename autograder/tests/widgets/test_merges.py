"""What is special to `show_merges`: which states are asked for, what crosses, refusals."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from transformer_course.widgets import show_merges

from autograder.bench.browser import chromium

Pairs = list[tuple[int, int]]
MERGES = [(97, 98), (256, 97), (195, 169), (32, 257)]  # ab, aba, é, and aba with its space
WORDS = ["aba", " aba", " éab", "c"]


def encode(word: str, merges: Pairs) -> list[int]:
    text = word.encode().decode("latin-1")
    for number, (left, right) in enumerate(merges):
        text = text.replace(chr(left) + chr(right), chr(256 + number))
    return [ord(letter) for letter in text]


def sent(view: Any, name: str) -> list[Any]:
    """An array of two-byte integers as it crosses."""
    about = next(one for one in view.options["arrays"] if one["name"] == name)
    count = int(np.prod(about["shape"]))
    data = np.frombuffer(view.data[about["at"] :], np.uint8, count).reshape(about["shape"])
    return (256 * data[..., 0].astype(int) + data[..., 1]).tolist()


def test_each_different_word_is_encoded_with_none_to_all_of_the_merges() -> None:
    asked: list[tuple[str, int]] = []

    def recording(word: str, merges: Pairs) -> list[int]:
        assert merges == MERGES[: len(merges)]
        asked.append((word, len(merges)))
        return encode(word, merges)

    view = show_merges(recording, MERGES, [*WORDS, "aba"])
    assert view.options["counts"] == [0, 1, 2, 3, 4]
    assert asked == [(word, count) for count in range(5) for word in WORDS]
    for count in range(5):
        rows = [encode(word, MERGES[:count]) for word in [*WORDS, "aba"]]
        assert sent(view, f"tokens{count}") == [token for row in rows for token in row]
        assert sent(view, f"sizes{count}") == [len(row) for row in rows]


def test_of_many_merges_the_first_all_states_and_the_last_are_shown() -> None:
    many = [(97, 97)] + [(256 + number, 97) for number in range(999)]
    counts = show_merges(encode, many, ["aaa"]).options["counts"]
    assert counts[:22] == [*range(21), 22]
    assert {40, 50, 100, 200, 400, 1000} <= set(counts)
    assert counts == sorted(set(counts))
    most = show_merges(encode, [(97, 97)] * 4096, ["a"]).options["counts"]
    assert len(most) <= 96
    assert most[-1] == 4096


def test_the_most_frequent_pairs_of_the_text_cross_with_their_counts() -> None:
    view = show_merges(encode, MERGES, ["aba", " aba", "c"])
    assert sent(view, "pairs0") == [[97, 98, 2], [98, 97, 2], [32, 97, 1]]
    assert sent(view, "pairs2") == [[32, 257, 1]]
    assert sent(view, "pairs4") == [[0, 0, 0]]  # every word is one token


def test_tokens_are_named_by_their_text_or_by_their_bytes() -> None:
    view = show_merges(encode, MERGES, [*WORDS, "\x07\n"])
    names = view.options["names"]
    assert [names[str(token)] for token in (97, 257, 258, 259)] == ["a", "aba", "é", "␣aba"]
    assert [names[str(token)] for token in (195, 7, 10)] == ["C3", "07", "↵"]
    assert view.options["bytes"]["258"] == "c3 a9"


def test_bits_a_byte_are_points_of_a_second_line() -> None:
    view = show_merges(encode, MERGES, WORDS, {4: 2.25, 0: 3.5})
    assert view.options["bits"] == [[0, 3.5], [4, 2.25]]
    assert "3.50 bits per byte at 0; 2.25 bits per byte at 4" in view.picture.alt
    assert "bits" not in show_merges(encode, MERGES, WORDS).picture.alt


def test_the_picture_says_how_many_tokens_the_text_has() -> None:
    alt = show_merges(encode, MERGES, WORDS, title="mine").picture.alt
    assert alt.startswith(
        "mine. 0 merges: 13 tokens, 3.25 per word, beginning a|b|a ␣|a|b|a ␣|C3|A9|a|b"
    )
    assert "4 merges: 6 tokens, 1.50 per word, beginning aba ␣aba ␣|é|ab c" in alt


def test_the_students_function_gets_lists_of_its_own() -> None:
    given = list(MERGES)

    def changing(word: str, merges: Pairs) -> list[int]:
        found = encode(word, merges)
        merges.clear()
        return found

    view = show_merges(changing, given, WORDS)
    assert given == MERGES
    assert view.data == show_merges(encode, MERGES, WORDS).data


def stub(word: str, merges: Pairs) -> list[int]:
    raise NotImplementedError


def test_a_stub_is_told_in_one_line() -> None:
    with pytest.raises(NotImplementedError) as caught:
        show_merges(stub, MERGES, WORDS)
    (line,) = caught.value._render_traceback_()  # type: ignore[attr-defined]
    assert "`stub` is still a stub" in line


def returning(found: Any) -> Any:
    return lambda word, merges: found


REFUSED = {
    "merge 1 must be two tokens from 0 to 256; got (257, 97)": lambda: show_merges(
        encode, [(97, 98), (257, 97)], WORDS
    ),
    "merges must be at most 4096; got 4097": lambda: show_merges(encode, [(97, 97)] * 4097, WORDS),
    "words must be strs, of 1 to 400 bytes together; got a single str": lambda: show_merges(
        encode, MERGES, "aba"
    ),
    "words must be strs, of 1 to 400 bytes together; got 0 bytes": lambda: show_merges(
        encode, MERGES, []
    ),
    "words must be strs, of 1 to 400 bytes together; got 402 bytes": lambda: show_merges(
        encode, MERGES, ["é" * 201]
    ),
    "encode('aba', 0 merges) must be a list of tokens below 256; got None": lambda: show_merges(
        returning(None), MERGES, WORDS
    ),
    "encode('aba', 0 merges) must be a list of tokens below 256; got str": lambda: show_merges(
        returning("aba"), MERGES, WORDS
    ),
    "encode('aba', 0 merges) must be a list of tokens below 256; got 256": lambda: show_merges(
        returning([97, 256]), MERGES, WORDS
    ),
    "encode('aba', 0 merges) must be a list of tokens below 256; got 'a'": lambda: show_merges(
        returning(["a"]), MERGES, WORDS
    ),
    "bits must be numbers from 0 by merges from 0 to 4; got 2 at 5": lambda: show_merges(
        encode, MERGES, WORDS, {5: 2.0}
    ),
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_is_refused_is_told_in_one_line(said: str) -> None:
    with pytest.raises(ValueError, match=r"\A.+\Z") as caught:
        REFUSED[said]()
    assert said in str(caught.value)


def test_the_slider_and_the_keys_choose_merges_and_tokens(tmp_path: Path) -> None:
    file = tmp_path / "merges.html"
    file.write_text(show_merges(encode, MERGES, WORDS).to_html(), encoding="utf-8")
    with chromium(viewport={"width": 1000, "height": 800}) as context:
        page = context.pages[0]
        page.goto(file.as_uri())
        told, text = page.locator(".course-view .told"), page.locator(".course-view canvas")
        slider = page.locator(".course-view input[type=range]")
        for control, key, said in (
            (
                text,
                "ArrowRight",
                "0 merges: 13 tokens in 4 words, 3.25 per word. Token 2 is “b”, id 98",
            ),
            (text, "End", "Token 13 is “c”, id 99, bytes 63, in “c”"),
            (slider, "ArrowRight", "1 merges: 10 tokens in 4 words, 2.5 per word. Token 10 is “c”"),
            (slider, "End", "4 merges: 6 tokens in 4 words, 1.5 per word. Token 6 is “c”"),
            (text, "ArrowDown", "3 merges: 7 tokens"),
            (text, "ArrowUp", "4 merges: 6 tokens"),
            (text, "Home", "Token 1 is “aba”, id 257, bytes 61 62 61, in “aba”"),
            (page.get_by_role("button", name="fewer"), "Enter", "3 merges: 7 tokens"),
            (page.get_by_role("button", name="more"), "Enter", "4 merges: 6 tokens"),
            (page.get_by_role("button", name="more"), "Enter", "4 merges: 6 tokens"),
        ):
            control.press(key)
            told.filter(has_text=said).wait_for(timeout=5000)
