"""What a person should look at: it is graded, and the table says apart from the others why."""

import pytest

from autograder.authoring.notebook import as_text
from autograder.authoring.samples import filled, solved
from autograder.gradebook.result import State
from autograder.tests.conftest import Instructor

MISSING = "import no_such_package.layers\n"
RIGHT = {"double": "def double(x):\n    return x + x", "half": "def half(x):\n    return x / 2"}
HALF = RIGHT["half"]
# who -> the cells of their exercises, and what stands in front of the first
CLASS = {
    "right": (RIGHT, ()),
    "wrong": (RIGHT | {"half": "def half(x):\n    return x"}, ()),
    "lacks_a_package": (RIGHT | {"half": MISSING + HALF}, ()),
    "lacks_it_inside": (RIGHT | {"half": f"def half(x):\n    {MISSING}    return x / 2"}, ()),
    "needs_no_package": (RIGHT, (MISSING,)),
    "needs_a_network": (
        RIGHT | {"half": f"import urllib.request as u\nu.urlopen('http://x.org')\n{HALF}"},
        (),
    ),
    "shows_a_lot": (RIGHT, ("for _ in range(9):\n    print('a' * 100_000)",) * 20),
    "pastes_a_lot": (RIGHT | {"half": f"{HALF}\nDATA = '{'é' * 5_000_000}'"}, ()),
}


@pytest.fixture(scope="module")
def graded(small_class, tmp_path_factory) -> Instructor:
    instructor = small_class.copy(tmp_path_factory.mktemp("look"))
    for student, (sources, own) in CLASS.items():
        notebook = filled(instructor.lesson, solved(instructor.lesson) | sources)
        for source in own:
            notebook.cells.insert(1, type(notebook.cells[1])(cell_type="code", source=source))
            notebook.cells[1] |= {"metadata": {}, "outputs": [], "execution_count": None}
        instructor.receives(student, as_text(notebook))
    code, said = instructor.types("grade")
    assert code == 0, said
    return instructor


@pytest.mark.parametrize(
    ("student", "state", "points", "note"),
    [
        ("right", State.GRADED, 3.0, ""),
        ("wrong", State.GRADED, 2.0, ""),
        (
            "lacks_a_package",
            State.WORTH_A_LOOK,
            2.0,
            "exercise_half needs `no_such_package`, which is not installed here",
        ),
        (
            "lacks_it_inside",
            State.WORTH_A_LOOK,
            2.0,
            "check_half needs `no_such_package`, which is not installed here",
        ),
        ("needs_no_package", State.GRADED, 3.0, ""),
        (
            "needs_a_network",
            State.WORTH_A_LOOK,
            2.0,
            "exercise_half asks for what is refused here (URLError)",
        ),
        (
            "shows_a_lot",
            State.WORTH_A_LOOK,
            3.0,
            "it shows too much: outputs are left out from a cell that is no exercise on",
        ),
        (
            "pastes_a_lot",
            State.UNREADABLE,
            None,
            "more than 5 MB of text in its cells: ask for the file again, without pasted data",
        ),
    ],
)
def test_the_table_says_who_needs_somebody(graded, student, state, points, note):
    result = graded.results()[student]
    assert (result.state, result.points, result.note) == (state, points, note)


def test_what_is_left_out_is_said_where_it_would_stand(graded):
    text = graded.file("autograded", "shows_a_lot").read_text()
    assert 9_000_000 < len(text) < 11_000_000
    assert "what this notebook shows from here on is left out" in text


def test_what_was_looked_at_is_not_run_again(graded, recorder):
    code, said = graded.types("grade")
    assert code == 0, said
    assert recorder == []
    assert "worth a look" in said
