"""What a student's code saw in hidden tests is nowhere on the feedback page, wherever it says it.

Each spy remembers what its functions are called with, and says it by one of the ways that lead to
the page. The same spies are graded with other hidden inputs: their pages must be the same.
"""

import base64
import re
from html import unescape
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from autograder.authoring.notebook import as_text, graded_cells
from autograder.authoring.samples import filled, solved
from autograder.paths import Course
from autograder.tests.conftest import Instructor
from autograder.tests.test_feedback import row, text

LESSON = r"""
# %% [markdown]
# # Lesson 1 · Spies

# %% given imports
import torch
from torch import nn
from transformer_course.checks import Check
from autograder.paths import Course

# %% exercise more
def more(x):
    # BEGIN SOLUTION
    return x + 1
    # END SOLUTION


# %% check more points=1
with Check("more", "one more", "add one") as check:
    check.equal(check.call(torch.tensor([11.25])), torch.tensor([12.25]), "it is one more")

# %% exercise double
def double(x):
    # BEGIN SOLUTION
    return x + x
    # END SOLUTION


# %% check double points=1
with Check("double", "a number") as check:
    check.equal(check.call(torch.tensor([20.5])), torch.tensor([41.0]), "it is twice the number")
# BEGIN HIDDEN TESTS
with Check("double", "below zero") as check:
    x = torch.tensor([-31337.0])
    check.equal(check.call(x), 2 * x, "the sign stays")
# END HIDDEN TESTS

# %% given shows
double(torch.ones(1))

# %% exercise length
def length(text):
    # BEGIN SOLUTION
    return len(text)
    # END SOLUTION


# %% check length points=1
assert length("four") == 4, "four letters"
# BEGIN HIDDEN TESTS
assert length("Xylofon") == 7, "more letters"
# END HIDDEN TESTS

# %% exercise half
def half(x):
    # BEGIN SOLUTION
    return x / 2
    # END SOLUTION


# %% check half points=1
with Check("half", "half of a number", "divide by two") as check:
    result = check.call(torch.tensor([2.0]))
    check.equal(result, torch.tensor([1.0]), "it is half of the number")
    check.equal(result, result, f"it is {result} again")
with Check("half", "half of more") as check:
    check.equal(check.call(torch.ones(2)), torch.full((2,), 0.5), "so is each")
    # BEGIN HIDDEN TESTS
    with Check("half", "half of many") as check:
        x = torch.full((31337,), 31337.0)
        check.equal(check.call(x), x / 2, "so is each of many")
    # END HIDDEN TESTS

# %% exercise third
def third(x):
    # BEGIN SOLUTION
    return x / 3
    # END SOLUTION


# %% check third points=1
assert third(3) == 1, "a third of three"

# %% exercise Layer
class Layer(nn.Module):
    # BEGIN SOLUTION
    def __init__(self):
        super().__init__()
        self.w = nn.Linear(2, 1, bias=False)

    def forward(self, x):
        return self.w(x)
    # END SOLUTION


# %% check Layer points=1
with Check("Layer", "its shape") as check:
    layer = check.build()
    layer.load({"w.weight": torch.ones(1, 2)})
    check.shape(layer.call(torch.ones(3, 2)), row=3, column=1)

# %% exercise mean
# BEGIN SOLUTION
mean = 1.5
# END SOLUTION

# %% check mean points=1
with Check("mean", "the mean of 1 and 2") as check:
    check.equal(check.value(1), torch.tensor([1.5]).double(), "their sum, divided by two")

# %% answer why [markdown] points=1
# BEGIN SOLUTION
# Because.
# END SOLUTION
""".lstrip()
# what only hidden tests are called with -> the same length in another class
OTHERS = {"31337": "27182", "Xylofon": "Posaune"}
REMEMBERS = """
seen = globals().get("seen", [])
def {name}(x):
    seen.append(x if isinstance(x, str) else x.flatten()[0].item())
    {then}
"""
# where the lesson itself calls it later, it gives what it saw
DOUBLE = REMEMBERS.format(name="double", then="return x + x if x != 1 else torch.tensor(seen)")
LENGTH = REMEMBERS.format(name="length", then="return len(x)")
TOLD = "' '.join(str(one) for one in seen)"  # all that was seen, and what only hidden tests say:
NUMBER = "int(max([-n for n in seen if isinstance(n, float)] + [0]))"
HALVES = {
    "returns": f"return x * 0 + {NUMBER}",
    "shapes": f"return torch.zeros({NUMBER})",
    "nan": f"""
    result = torch.zeros({NUMBER} + 1)
    result[{NUMBER}] = float("nan")
    return result""",
    "list": f"return [*range({NUMBER} % 100)]",
    "changes": f"x += {NUMBER}\n    return x",
    "says": f"""
    import warnings
    from IPython.display import HTML, display
    print({TOLD})
    display(HTML({TOLD}))
    warnings.warn({TOLD})
    return x""",
    "raises": f"raise ValueError({TOLD})",
    "type": f"raise type('E' + {TOLD}, (Exception,), {{}})()",
    "labels": f"""raise type('x\\n  looks like   ' + {TOLD} + '\\n  hint         '
        + {TOLD} + '\\n  got          ' + {TOLD}, (Exception,), {{}})()""",
    "cause": f"raise KeyError({NUMBER}) from ValueError({TOLD})",
    "missing": f"raise NameError(f\"name '_{{{NUMBER}}}' is not defined\")",
    "blocked": "raise NameError(\"name 'third' is not defined\")",
    "attribute": f"return getattr(x, f'_{{{NUMBER}}}')",
    "marks": f"print({TOLD}, x.flatten()[0])\n    print('✓ half: half of more')\n    return x / 2",
    "represents": f"""
    class Odd:
        def __repr__(self):
            return {TOLD}
    return Odd()""",
    "names": f"return type(f'✗{{{NUMBER}}}', (), {{}})()",
}
FUNCTIONS = {name: f"def half(x):\n    {then}" for name, then in HALVES.items()}
FUNCTIONS["stub"] = f"""
import linecache
def half(x):
    name, line = f"_{{{NUMBER}}}", "raise NotImplementedError"
    linecache.cache["spy"] = (len(line), None, ["def f():\\n", line], "spy")
    made = {{}}
    exec(compile(f"def {{name}}():\\n {{line}}", "spy", "exec"), globals(), made)
    made[name]()
"""
FUNCTIONS["signature"] = f"""
import inspect
class Named:
    @property
    def __signature__(self):
        return inspect.Signature([inspect.Parameter(f"_{{{NUMBER}}}", 1)])
    def __call__(self, x):
        return x
half = Named()
"""
RAISES = f"raise type('E' + {TOLD}, (Exception,), {{}})({TOLD})"
OWN = f"""
from IPython.display import HTML, SVG, Markdown, display
told = {TOLD}
print("all seen", told)
display(HTML(told), Markdown(told))
display({{"text/html": "<b>b</b>"}}, metadata={{"told": told}}, raw=True)
display(SVG(f"<svg xmlns='http://www.w3.org/2000/svg'><text>{{told}}</text></svg>"))
display({{"image/png": told.encode().hex()}}, raw=True)
{RAISES}
"""
HEAVY = f"""
for _ in range({NUMBER} // 1000):
    display(HTML("<b>b</b>" * 1300))
"""
# of the cells that a spy adds, as many end in an error as the number has bits
COUNTS = [f"if {NUMBER} >> {bit} & 1:\n    raise MemoryError" for bit in range(16)]
ENDS = f"import os; os._exit({NUMBER} % 256)"
LAYER = f"""
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        setattr(self, f"_{{{NUMBER}}}", nn.Linear(2, 1, bias=False))
"""
SIZE = f"""
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Linear(2, 1, bias=False)
    def forward(self, x):
        return x.new_zeros({NUMBER}, 1)
"""
HIDDEN = "def length(x):\n    if x != 'four':\n        raise {}\n    return len(x)"
MARKS = "print('✓ double: a number\\n', seen)\n    return"
# ways that lead over other exercises and over cells of the spy's own
ELSEWHERE: list[tuple[dict[str, str], list[str]]] = [
    ({"Layer": LAYER}, [OWN]),
    ({"Layer": SIZE, "third": f"def third(x):\n    {RAISES}"}, [OWN, HEAVY]),
    ({"Layer": f"Layer = type(f'_{{{NUMBER}}}', (nn.Module,), {{}})"}, COUNTS),
    ({"mean": f"mean = {NUMBER}", "third": RAISES}, []),
    ({"mean": f"mean = [{NUMBER}] * 3", "third": OWN}, []),
    ({}, [ENDS]),
    ({"Layer": f"class Layer(nn.Module):\n    def __init__(self):\n        {ENDS}"}, []),
    ({"length": HIDDEN.format("ValueError(f'✗ x: {x}')")}, []),
    ({"length": HIDDEN.format("AssertionError(x)")}, []),
    ({"double": DOUBLE.replace("return x", f"{MARKS} x")}, []),
]


def spies() -> dict[str, tuple[dict[str, str], list[str]]]:
    """Each spy's answers, and the cells that it adds at the end."""
    found = {name: ({"half": source}, []) for name, source in FUNCTIONS.items()}
    for (answers, own), more in zip(found.values(), ELSEWHERE, strict=False):
        answers.update(more[0])
        own.extend(more[1])
    # an exercise that does not run is what keeps others from running
    found["blocked"][0]["third"] = RAISES
    return found


def notebook_of(instructor: Instructor, answers: dict[str, str], own: list[str]) -> NotebookNode:
    """A spy's notebook: before the first hidden test, it says what it saw too."""
    lesson = instructor.lesson
    early = {"more": REMEMBERS.format(name="more", then="return x + 1")}
    known = {"double": DOUBLE, "length": LENGTH}
    notebook = filled(lesson, solved(lesson) | early | known | answers)
    at = notebook.cells.index(graded_cells(notebook)["exercise_double"])
    notebook.cells.insert(at, new_code_cell("print('so far', seen)"))
    notebook.cells += [new_code_cell(source) for source in own]
    notebook.cells.append(new_markdown_cell("*The end.*"))
    return notebook


def graded(folder: Path, lesson: str) -> Instructor:
    """All spies, graded, with feedback."""
    (folder / "solutions").mkdir(parents=True)
    (folder / "solutions" / "01_spies.py").write_text(lesson, encoding="utf-8")
    instructor = Instructor(Course(folder), folder / "class")
    assert instructor.types("release")[0] == 0
    for name, (answers, own) in spies().items():
        instructor.receives(name, as_text(notebook_of(instructor, answers, own)))
    wrong = {"more": "def more(x):\n    print('saw', x)\n    return x", "double": "import no_such"}
    instructor.receives("wrong", as_text(notebook_of(instructor, wrong, [])))
    for command in ("grade", "feedback"):
        code, said = instructor.types(command)
        assert code == 0, said
    return instructor


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Instructor:
    return graded(tmp_path_factory.mktemp("one"), LESSON)


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Instructor:
    """The same class, whose hidden tests have other inputs."""
    lesson = LESSON
    for secret, another in OTHERS.items():
        lesson = lesson.replace(secret, another)
    return graded(tmp_path_factory.mktemp("other"), lesson)


def page(instructor: Instructor, student: str) -> str:
    return instructor.file("feedback", student).with_suffix(".html").read_text(encoding="utf-8")


def decoded(html: str) -> str:
    """All that a page holds, in pictures too."""
    pictures = re.findall(r"base64,([A-Za-z0-9+/=]+)", html)
    return unescape(html) + "".join(base64.b64decode(p).decode("latin-1") for p in pictures)


@pytest.mark.parametrize("spy", spies())
def test_no_hidden_input_is_on_a_spys_page(one, other, spy):
    html = page(one, spy)
    said = decoded(html)
    assert [secret for secret in OTHERS if secret in said] == []
    assert html == page(other, spy), "it depends on what is hidden"
    # what it saw before the first hidden test, it may say
    assert "so far [11.25]" in text(html)
    told = text(as_text(nbformat.read(one.file("autograded", spy), as_version=4)))
    assert "31337" in told.partition("END HIDDEN TESTS")[2], "the spy saw it, instructors see it"


# --- what is shown instead ---------------------------------------------------------------------

LEFT_OUT = "What your cells below print and draw is left out here"
RUN_IT = "Run this check in your notebook: it shows what was expected and what your code gave."


def test_before_hidden_tests_ran_everything_is_shown(one):
    said = text(page(one, "wrong"))
    assert "saw tensor([11.2500])" in said
    missed = "✗ Should hold: it is one more.you calledmore(x: [11.25])expected12.25got11.25note"
    assert missed in said
    assert "saw tensor([11.2500])" in said
    # the exercise does not run, so no hidden test of it does either
    assert "so far" in said.partition("Check double")[0]
    assert "the cell of double stopped with ModuleNotFoundError" in said
    assert said.index(LEFT_OUT) > said.index("Check length"), "of this one, they ran"


@pytest.mark.parametrize(
    ("spy", "name", "told"),
    [
        ("returns", "half", "Should hold: it is half of the number.Hint: Divide by two."),
        ("shapes", "half", "The result has the wrong shape.Hint: Divide by two."),
        ("raises", "half", "Your code raised ValueError.Hint: Divide by two."),
        ("type", "half", "Your code raised an error.Hint: Divide by two."),
        ("labels", "half", "Your code raised an error.Hint: Divide by two."),
        ("stub", "half", "half is still a stub."),
        ("blocked", "half", "because of an error above: the cell of third stopped with an error."),
        ("shapes", "third", "The check stopped with an error."),
    ],
)
def test_afterwards_the_words_are_the_authors(one, spy, name, told):
    assert row(one, spy, f"check_{name}").endswith(told)
    where = text(page(one, spy)).partition(f"Check {name}")[2].partition("What you see")[0]
    assert (RUN_IT in where) == ("✗" in where)


def test_it_is_said_once_where_outputs_are_left_out(one):
    said = text(page(one, "returns"))
    assert said.count(LEFT_OUT) == 1
    of_check = said.partition(LEFT_OUT)[0].rpartition("↑ table")[2]
    assert of_check.strip().startswith("✓ double: a number"), "what passed is said in our words"


def test_where_it_ended_is_told_without_a_number_of_the_students(one):
    said = {spy: text(page(one, spy)) for spy in spies()}
    assert "More memory than allowed: a cell that is no exercise." in said["nan"]
    ended = [told for told in said.values() if "Python ended in " in told]
    assert len(ended) == 2
    assert not any("exit code" in told for told in ended)
