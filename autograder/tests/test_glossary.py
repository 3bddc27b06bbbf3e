"""The glossary: up to date, one entry a term, from bold words alone."""

import re
from itertools import accumulate
from pathlib import Path

import pytest

from autograder.authoring import glossary
from autograder.authoring.lesson import AuthoringError, all_lessons, read_lesson
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

# a heading, a lecture's own words, and a sentence that sends its reader to another lesson
AHEAD = re.compile(r"^#|^\W*From the lecture|[Ll]essons? \d")
CODE = re.compile(r"`[^`]*`|\$[^$]*\$")
# Terms that a text may use before the lesson that introduces them, and why.
READ_EARLIER = {
    "there it has its everyday meaning, or another one": {
        *("agreement", "block", "byte", "candidate", "filter", "gain", "gate", "head"),
        *("hypothesis", "interpolation", "memory", "merge", "patch", "segment", "slice"),
    },
    "who begins lesson 1 knows it: Python, PyTorch, school, a first course on neural networks": {
        *("bias", "convolution", "dot product", "fine-tuning", "gradient descent"),
        *("held-out data", "jacobian", "language model", "softmax", "symmetric"),
    },
    "the same part says what it is": {
        *("eigenvalue", "gru", "key", "mask", "occlusion", "offset"),
        *("peak rate", "query", "redundancy", "value"),
    },
    "only its name is told, or what it is, in a few words": {
        *("batch norm", "bert", "bleu", "convolutional neural network", "encoder"),
        *("exact match", "feed-forward network", "flop", "gelu", "gpt", "pooling"),
        *("positional head", "recurrent neural network", "residual connection", "rms norm"),
        *("shifted windows", "tokenizer", "vision transformer"),
    },
}


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


def used_before_introduced(course: Course) -> set[str]:
    """Terms that a sentence uses, and a later one introduces.

    A lesson's first cell and its headings announce what comes, a quoted lecture has its own words,
    and a sentence that names another lesson sends its reader there.
    """
    lessons = [read_lesson(path) for path in all_lessons(course)]
    told = [pair for lesson in lessons for pair in glossary.sentences(lesson)]
    introduced: dict[str, int] = {}
    for at, (_, sentence) in enumerate(told):
        for term in glossary.terms(sentence):
            introduced.setdefault(term.casefold(), at)
    openings = [lesson.cells[0] for lesson in lessons]
    read = [
        "" if cell in openings or AHEAD.search(sentence) else CODE.sub("", sentence).casefold()
        for cell, sentence in told
    ]
    text, begins = "\n".join(read), [0, *accumulate(len(sentence) + 1 for sentence in read)]
    return {
        term
        for term, at in introduced.items()
        if re.compile(rf"(?<![\w-]){re.escape(term)}(?:s|es)?(?![\w-])").search(text, 0, begins[at])
    }


def test_no_lesson_uses_a_term_before_it_is_introduced() -> None:
    assert used_before_introduced(COURSE) == set().union(*READ_EARLIER.values())


def test_a_term_is_used_early_in_a_sentence_and_nowhere_else(course: Course) -> None:
    early = LESSON.replace("**mask** says", "mask says")
    later = LESSON.replace("Lesson 1", "Lesson 2")
    (course.solutions / "01_small.py").write_text(early, encoding="utf-8")
    (course.solutions / "02_other.py").write_text(later, encoding="utf-8")
    assert used_before_introduced(course) == set()
    said = early.replace("What then?", "What then?\n\n# %% [markdown]\n# Two masks.")
    (course.solutions / "01_small.py").write_text(said, encoding="utf-8")
    assert used_before_introduced(course) == {"mask"}
    for announced in ("# ## Two masks", "# Two masks come in lesson 2.", "# Here is `mask`."):
        (course.solutions / "01_small.py").write_text(
            said.replace("# Two masks.", announced), encoding="utf-8"
        )
        assert used_before_introduced(course) == set()
