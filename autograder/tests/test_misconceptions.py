"""A clue's sentence is true of every wrong answer that leaves it."""

from transformer_course.checks.misconceptions import Clue

from autograder.authoring.answer_bank import Answer
from autograder.authoring.misconceptions import Found, rows


def found(says: str, value: float, of: str = "mix", exercise: str = "mix") -> Found:
    clue: Clue = {"check": "one", "law": "twice", "observed": [[{"shape": [1], "values": [value]}]]}
    return Found(Answer(of, "a", False, "", says), exercise, clue)


def says(*all_found: Found) -> list[str]:
    return [row["says"] for row in rows(all_found)]


def test_each_clue_has_the_sentence_of_its_answer() -> None:
    assert says(found("A.", 1), found("B.", 2)) == ["A.", "B."]


def test_one_clue_of_two_causes_names_both_of_three_none() -> None:
    assert says(found("A.", 1), found("B.", 1.000001)) == ["Either: A. Or: B."]
    assert says(found("A.", 1), found("B.", 1), found("A.", 1)) == ["Either: A. Or: B."]
    assert says(found("A.", 1), found("B.", 1), found("C.", 1)) == []


def test_a_mistake_in_an_earlier_exercise_is_named_where_it_shows() -> None:
    earlier = found("A.", 1, of="softmax")
    assert says(earlier) == ["A mistake in `softmax` gives this result: run its checks."]
    both = rows([earlier, found("B.", 1)])[0]
    assert both["says"] == "B. A mistake in `softmax` gives this result too: run its checks."
    assert (both["exercise"], both["earlier"], both["alone"]) == ("mix", ["softmax"], "B.")
