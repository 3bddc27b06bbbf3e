"""The glossary: up to date, one entry a term, from bold words alone."""

from pathlib import Path

import pytest

from autograder.authoring import glossary
from autograder.authoring.lesson import AuthoringError
from autograder.paths import COURSE, Course

LESSON = """\
# %% [markdown]
# # Lesson 1
#
# **You build** a thing. A **logit** is what softmax takes, *not* a probability. More text.
#
# - (See part 2.) The **mask** says who may attend. **Predict.** What then?

# %% exercise double
def double(x):
    # BEGIN SOLUTION
    return x + x
    # END SOLUTION


# %% check double points=1
assert double(2) == 4
"""


@pytest.fixture
def course(tmp_path: Path) -> Course:
    course = Course(tmp_path)
    course.solutions.mkdir()
    path = course.solutions / "01_small.py"
    path.write_text(LESSON, encoding="utf-8")
    return course


def test_the_committed_page_is_up_to_date() -> None:
    assert glossary.path(COURSE).read_text(encoding="utf-8") == glossary.page(COURSE)


def test_a_bold_term_has_its_sentence_and_a_label_is_none(course: Course) -> None:
    entries = glossary.page(course).strip().split("\n\n")[2:]
    assert entries == [
        "**logit** ([lesson 1](01_small.ipynb)): A logit is what softmax takes, *not* a "
        "probability.",
        "**mask** ([lesson 1](01_small.ipynb)): The mask says who may attend.",
    ]


def test_the_first_lesson_that_introduces_a_term_has_it(course: Course) -> None:
    again = LESSON.replace("A **logit** is", "A **Logit** was").replace("**mask**", "**key**")
    (course.solutions / "02_other.py").write_text(again, encoding="utf-8")
    page = glossary.page(course)
    assert "A logit is" in page
    assert "was" not in page
    assert "**key** ([lesson 2](02_other.ipynb))" in page


def test_bold_that_is_no_term_stops_the_build(course: Course) -> None:
    (course.solutions / "01_small.py").write_text(
        LESSON.replace("More", "**This is far too long here.** **a b c d e f**")
    )
    with pytest.raises(AuthoringError, match=r"01_small\.py:4: `a b c d e f` is no term"):
        glossary.page(course)
