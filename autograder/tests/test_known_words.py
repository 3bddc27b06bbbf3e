"""Where hidden tests are, what their author calls them, and the words that a failure may keep."""

import json

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_output
from transformer_course.failure import Failure, Kind

from autograder.authoring.lesson import read_lesson
from autograder.feedback import hidden_tests, known_words
from autograder.feedback.stopped import stopped_cells
from autograder.paths import COURSE

# --- where a submission was stopped ------------------------------------------------------------


def finished(*cells: tuple[str, str]) -> NotebookNode:
    """A notebook of cells that ended in errors of these names, and whose names these are."""
    made = []
    for name, error in cells:
        about = {"nbgrader": {"grade_id": name}} if name else {}
        shown = [new_output("error", ename=error, evalue="", traceback=[])] if error else []
        made.append(new_code_cell("", metadata=about, outputs=shown))
    return NotebookNode(cells=made)


def test_own_cells_that_were_stopped_are_not_counted():
    late = "CellTimeoutError"
    notebook = finished(("", late), ("exercise_a", late), ("", ""), ("", late), ("check_a", late))
    own = "a cell that is no exercise"
    assert (
        stopped_cells(notebook, "timed-out")
        == f"stopped by the time limit: {own}, exercise_a, check_a"
    )
    assert stopped_cells(notebook, "graded") == ""
    assert stopped_cells(notebook, "worth a look") == ""
    ended = "Python ended in {}: what was earned before is kept"
    notebook = finished(("exercise_a", ""), ("check_a", "PythonEnded"), ("", "PythonEnded"))
    assert stopped_cells(notebook, "crashed") == ended.format("check_a")
    assert stopped_cells(finished(), "crashed") == ended.format(own)


@pytest.mark.parametrize(
    ("name", "source", "told"),
    [
        ("exercise_a", "import tensorflow.keras", "exercise_a needs `tensorflow`"),
        # what else it could name is made at run time, of whatever was seen by then
        ("exercise_a", "__import__('tensor' + 'flow')", ""),
        ("", "import tensorflow.keras", ""),
    ],
)
def test_a_package_that_is_not_there_is_named_as_the_cell_names_it(name, source, told):
    notebook = finished((name, "ModuleNotFoundError"))
    notebook.cells[0].source = source
    notebook.cells[0].outputs[0].evalue = "No module named 'tensorflow'"
    assert stopped_cells(notebook, "worth a look") == told
    assert stopped_cells(notebook, "graded") == ""


# --- when the first hidden test ran ------------------------------------------------------------

HIDDEN = "# BEGIN HIDDEN TESTS\n{}\n# END HIDDEN TESTS"
AFTER = "a = 1\n" + HIDDEN.format("b = 2") + "\nc = 3"
NESTED = """\
d = 4
with Check("a", "outer") as check:
    visible()
    with Check("a", "inner") as check:
        more()
        # BEGIN HIDDEN TESTS
        hidden()
        with Check("a", "hidden") as check:
            hidden()
        # END HIDDEN TESTS
    last()"""
LOOP = "for a in b:\n    visible()\n    # BEGIN HIDDEN TESTS\n    hidden()\n    # END HIDDEN TESTS"


@pytest.mark.parametrize(
    ("source", "line", "ran"),
    [
        (AFTER, None, True),
        (AFTER, 0, True),
        (AFTER, 1, False),
        (AFTER, 3, True),
        (AFTER, 5, True),
        ("a = 1", None, False),
        ("a = 1", 1, False),
        (NESTED, 1, False),
        (NESTED, 2, True),  # perhaps when it ended
        (NESTED, 3, False),
        (NESTED, 5, False),
        (NESTED, 7, True),
        (NESTED, 11, True),
        (LOOP, 1, True),
        (LOOP, 2, True),  # perhaps the second time
        (LOOP.replace("for a in b", "if a"), 2, False),
        ("try:\n    visible()\nfinally:\n    hidden() # BEGIN HIDDEN TESTS", 2, True),
        ("no Python\n# BEGIN HIDDEN TESTS", 1, True),
    ],
)
def test_when_the_first_hidden_test_may_have_run(source, line, ran):
    about = {"grade": True, "solution": False, "locked": True, "grade_id": "check_a"}
    cells = [new_code_cell("a"), new_code_cell(source, metadata={"nbgrader": about})]
    failed = {} if line is None else {"check_a": line}
    assert hidden_tests.first_hidden(NotebookNode(cells=cells), failed) == 2 - ran


def test_a_hidden_test_is_called_by_its_innermost_aim():
    assert hidden_tests.named(NESTED, 9, "") == ("hidden", "")
    assert hidden_tests.named(NESTED, 7, "") == ("inner", "")
    assert hidden_tests.named(NESTED, 11, "") == ("outer", "")
    assert hidden_tests.named(NESTED, 1, "") == ("", "")
    # where a number is in it, no other one stands for it
    assert hidden_tests.named(NESTED.replace('"hidden"', '"8191"'), 9, "") == ("", "")
    assert hidden_tests.named(NESTED.replace('"inner"', '"8191"'), 7, "") == ("8191", "")


def test_only_what_its_author_says_of_it_is_told_of_a_hidden_test():
    hidden = """assert f("an input") == "a result", "a law"\ncheck.true(f("x"), claim="another")
check.equal(f("y"), "z", "a third", "a hint")\ncheck.seal(f("y"), "z", f"a {law}")"""
    source = "check.true(1, 'visible')\n" + HIDDEN.format(hidden)
    said = ["an input", "a result", "x", "y", "z", "a hint", "a ", "visible"]
    laws = ["a law", "another", "a third"]
    assert [law for law in [*said, *laws] if hidden_tests.named(source, 3, law)[1]] == laws


def test_the_aims_that_were_met_are_those_that_ran_for_certain():
    source = f'with Check("a", "first"):\n    x\n{LOOP}\nwith Check("a", "last"):\n    x'
    source += '\nfor b in c:\n    with Check("a", "often"):\n        x\n'

    def met(source: str, line: int | None) -> list[str]:
        return [aim.text for aim in hidden_tests.met(source, line)]

    assert met(source, None) == ["first", "last"]
    assert met(source, 4) == ["first"]
    assert met(source, 2) == []
    assert met(NESTED, None) == ["outer", "inner"]
    assert met(NESTED, 11) == ["inner"]
    assert met(NESTED, 7) == []


# --- words that are known ----------------------------------------------------------------------

CHECK = """\
hint = "look at the last dimension"
with Check("softmax", "an example") as check:
    for row in ("upper", "lower"):
        check.equal(check.call(x), y, f"the {row} row has {len(row)} numbers and {total}", hint)
    check.equal(x, y, "a claim that stands there")
# BEGIN HIDDEN TESTS
check.equal(x, y, "a hidden claim", "a hidden hint")
# END HIDDEN TESTS"""


def failure(claim: str, kind: Kind = Kind.CLAIM, subject: str = "") -> Failure:
    return Failure("softmax", claim, kind=kind, subject=subject)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (failure("a claim that stands there"), "a claim that stands there"),
        (failure("a claim that stands there 31337"), ""),
        (failure("a hidden claim"), ""),
        (failure("31337"), ""),
        (failure(""), ""),
        (
            failure("the upper row has 31337 numbers and total"),
            "the upper row has … numbers and total",
        ),
        (failure("the 31337 row has x numbers and y"), "the … row has x numbers and y"),
        (failure("the row"), ""),
        (failure("weights has the wrong shape", Kind.SHAPE), "the result has the wrong shape"),
        (failure("x has the wrong shape", Kind.SHAPE), "x has the wrong shape"),
        (failure("✗ 31337", Kind.RAISED, "ValueError"), "your code raised ValueError"),
        (failure("✗ 31337", Kind.RAISED, "ValueError31337"), "your code raised an error"),
        (failure("✗ 31337", Kind.RAISED, "✗ 31337"), "your code raised an error"),
        (failure("expected a tensor, got None", Kind.WRONG_TYPE), "expected a tensor, got None"),
        (
            failure("expected a tensor, got 31337", Kind.WRONG_TYPE),
            "the result is not of the kind that is expected",
        ),
        (
            failure("x holds NaN (not a number), first at [31337]", Kind.NAN),
            "the result holds NaN (not a number)",
        ),
    ],
)
def test_a_claim_is_told_as_far_as_it_is_known(said, told):
    assert known_words.claim(said, CHECK) == told


def test_each_kind_of_failure_that_the_kit_finds_has_fixed_words():
    told_otherwise = {Kind.CLAIM, Kind.ABSENT, Kind.STUB}
    assert known_words.FIXED.keys() == set(Kind) - told_otherwise
    assert [known_words.fixed(kind) for kind in told_otherwise] == ["", "", ""]


def test_a_hint_is_told_if_it_is_the_checks_or_the_kits():
    assert known_words.hint("look at the last\ndimension", CHECK) == "look at the last dimension"
    assert known_words.hint("does the last line say `return`?", CHECK).startswith("does the last")
    assert known_words.hint("look at 31337", CHECK) == ""
    assert known_words.hint("a hidden hint", CHECK) == ""


def test_what_a_wrong_answer_looks_like_is_told_if_it_is_known():
    said = "You divide the scores themselves by their sum: take exp of them first."
    assert known_words.misconception(said.replace(": ", ":\n"), ["softmax"]) == said
    assert known_words.misconception(said + "31337", ["softmax"]) == ""
    assert known_words.misconception(said, ["causal_mask"]) == ""


def test_what_known_wrong_answers_fail_on_is_told_in_words():
    """Of most, the claim word by word; of nearly all others, what the kit says of it."""
    claims, count = [], 0
    for path in COURSE.solutions.glob("*.py"):
        checks = [cell.source for cell in read_lesson(path).of("check")]
        sources = {(t.exercise, t.text): s for s in checks for t in hidden_tests.titles(s)}
        lines = (
            (COURSE.misconceptions / f"{path.stem}.jsonl").read_text(encoding="utf-8").splitlines()
        )
        found = [json.loads(line) for line in lines[1:]]
        places = [(told["law"], sources.get((told["exercise"], told["check"]))) for told in found]
        claims += [(claim, _known(claim, source)) for claim, source in places if source]
        count += len(found)
    assert len(claims) > 0.9 * count
    assert sum(bool(told) for _, told in claims) > 0.99 * len(claims)
    assert sum(said == told for said, told in claims) > 0.8 * len(claims)


# a piece of the kit's own claims -> their kind, which the stored ones do not say
KINDS = {
    "your code raised ": Kind.RAISED,
    "your code changed its input ": Kind.CHANGED_INPUT,
    " has the wrong shape": Kind.SHAPE,
    " holds NaN ": Kind.NAN,
    " should keep the input's dtype ": Kind.DTYPE,
    "expected a ValueError": Kind.NOT_RAISED,
    " should be a tensor, got ": Kind.NOT_A_TENSOR,
    ", not an nn.Module": Kind.NOT_A_MODULE,
    "no gradient flows ": Kind.NO_GRADIENT,
    "the parameters are not the ones ": Kind.PARAMETERS,
    ", got ": Kind.WRONG_TYPE,
}


def _known(claim: str, source: str) -> str:
    kind = next((kind for piece, kind in KINDS.items() if piece in claim), Kind.CLAIM)
    subject = claim.removeprefix("your code raised ").partition(":")[0]
    return known_words.claim(failure(claim, kind, subject), source)


def test_words_that_take_long_to_look_up_are_not_looked_up():
    many = "the " + " row has " * 20_000
    assert known_words.claim(failure(many), CHECK) == ""
