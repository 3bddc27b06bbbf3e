"""What a student reads: each mistake has its own clear message, and no traceback of ours."""

import linecache

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from transformer_course.checks import Check, CheckFailed, formatting, misconceptions, numbers, seal
from transformer_course.failure import Failure

PAIR = """
with Check("mix", "a pair") as check:
    x = numbers(2, 3)
    output, weights = check.call(x, returns=("output", "weights"))
    check.shape(weights, query=2, key=2)
    check.equal(output, 2 * x, "the output is twice the input", hint="add it to itself")
"""
ONE = """
with Check("mix", "one") as check:
    check.equal(check.call(numbers(2, 3)), 2 * numbers(2, 3), "twice the input")
"""
MODULE = """
with Check("Mix", "a module") as check:
    module = check.build(3).double()
    module.load({"w.weight": torch.eye(3, dtype=torch.float64)})
    check.equal(module.call(numbers(2, 3)), numbers(2, 3), "the input, projected")
"""
TWICE = """
with Check("mix", "two calls") as check:
    small, large = check.call(numbers(1, 2)), check.call(numbers(3, 4))
    check.equal({judged}, {expected}, "a law")
"""
WORDS = """
with Check("mix", "words") as check:
    words, numbers = ["not", "a", "bad", "film"], [[3, 1], [2]]
    check.equal(check.call(words, numbers, None, returns=list), words, "the words, unchanged")
"""
TEXT = """
with Check("mix", "a text") as check:
    text = 20 * "to be or not "
    check.equal(check.call(text, returns=str), text + "to be", "the text, and `to be`")
"""
REFUSES = """
with Check("mix", "an odd width") as check:
    check.raises(numbers(2, 7), naming=[7])
"""
VALUE = f"""
with Check("answer", "a number") as check:
    check.seal(check.value(2), {seal(torch.tensor([0.25, 0.5]))!r}, "not right yet")
"""


def run(student: str, check: str) -> dict:
    """Run a student's cell and a check cell as a notebook does, in one namespace."""
    namespace = {"Check": Check, "numbers": numbers, "torch": torch, "nn": torch.nn}
    for name, source in (("<student>", student), ("<check>", check)):
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        exec(compile(source, name, "exec"), namespace)
    return namespace


def failure(student: str, check: str) -> str:
    with pytest.raises(CheckFailed) as failed:
        run(student, check)
    return str(failed.value)


FAILURES = {
    "another order": (
        WORDS,
        "def mix(words, numbers, nothing):\n    return sorted(words)",
        [
            "mix(words: ['not', 'a', 'bad', 'film'], numbers: [[3, 1], [2]], nothing: None)",
            "expected ['not', 'a', 'bad', 'film'] got ['a', 'bad', 'film', 'not']",
            "the same ones, in another order",
        ],
    ),
    "a list changed in place": (
        WORDS,
        "def mix(words, *rest):\n    words.reverse()\n    return words",
        ["expected ['not', 'a', 'bad', 'film']", "in reverse order"],
    ),
    "no list": (WORDS, "def mix(*given):\n    return tuple(given[0])", ["expected a list"]),
    "a list of None": (WORDS, "def mix(*given):\n    return [None, 2]", ["got [None, 2]"]),
    "a text cut short": (TEXT, "def mix(text):\n    return text[1:] + 'to be'", ["at [0]"]),
    "forgotten return": (ONE, "def mix(x):\n    x + x", ["got None", "`return`"]),
    "wrong type": (ONE, "def mix(x):\n    return x.numpy() * 2", ["numpy.ndarray"]),
    "a tuple for a tensor": (ONE, "def mix(x):\n    return x, x", ["a tensor", "tuple"]),
    "one for two": (PAIR, "def mix(x):\n    return x", ["a tuple (output, weights)", "Tensor"]),
    "three for two": (PAIR, "def mix(x):\n    return x, x, x", ["got 3 values"]),
    "wrong shape": (
        PAIR,
        "def mix(x):\n    return 2 * x, x",
        ["weights has the wrong shape", "(2, 2): query 2, key 2", "(2, 3)"],
    ),
    "wrong numbers": (
        PAIR,
        "def mix(x):\n    return 3 * x, x @ x.T",
        ["twice the input", "3.528, 0.8003", "5.292, 1.2", "6 of 6 numbers", "add it to itself"],
    ),
    "a hair's breadth": (
        ONE,
        "def mix(x):\n    return 2 * x + 1e-7",
        ["expected 3.5281047,", "got 3.5281048,"],
    ),
    "right in single precision": (
        ONE,
        "def mix(x):\n    return (2 * x.float()).double()",
        ["right to seven digits", "float32"],
    ),
    "the first of two calls": (
        TWICE.format(judged="small", expected="2 * numbers(1, 2)"),
        "def mix(x):\n    return x",
        ["you called mix(x: [[1.764, 0.4002]])"],
    ),
    "what comes of two calls": (
        TWICE.format(judged="small.sum() + large.sum()", expected="torch.zeros(()).double()"),
        "def mix(x):\n    return x",
        ["last called mix(x: [[1.764, 0.4002, 0.9787"],
    ),
    "large tensors": (
        ONE.replace("2, 3", "4, 5"),
        "def mix(x):\n    return 3 * x",
        ["mix(x: tensor (4, 5))", "at [0, 0], [0, 1], [0, 2] expected 3.528,", "20 of 20 numbers"],
    ),
    "a check's own variable": (
        ONE.replace("check.equal(", "wide = numbers(2, 3)\n    check.equal("),
        "def mix(x):\n    return 2 * wide",
        ["raised NameError", "'wide' is not defined", "a typo?"],
    ),
    "the check's hint": (
        ONE.replace('"one")', '"one", hint="add it to itself")'),
        "def mix(x):\n    return x @ x",
        ["raised RuntimeError", "hint add it to itself"],
    ),
    "values and indices": (
        ONE,
        "def mix(x):\n    return x - x.max(0)",
        ["raised TypeError", "return values and indices"],
    ),
    "math on a tensor": (
        ONE,
        "import math\ndef mix(x):\n    return math.exp(x)",
        ["`math` takes single numbers"],
    ),
    "NaN": (ONE, "def mix(x):\n    return x * float('nan')", ["NaN", "first at [0, 0]"]),
    "dtype": (ONE, "def mix(x):\n    return 2 * x.float()", ["torch.float64", "torch.float32"]),
    "float32 on the way": (ONE, "def mix(x):\n    return (2 * x.float()).double()", ["twice"]),
    "changed input": (
        ONE,
        "def mix(x):\n    return x.mul_(2)",
        ["changed its input `x`", "make a new one"],
    ),
    "exception": (
        ONE,
        "def mix(x):\n    wide = x + 1\n    return wide @ wide",
        [
            "raised RuntimeError",
            "cannot be multiplied",
            "in mix, line 3: return wide @ wide with wide (2, 3) float64",
        ],
    ),
    "wrong arguments": (ONE, "def mix():\n    return 1", ["raised TypeError", "positional"]),
    "not a module": (MODULE, "def Mix(d):\n    return 3", ["int", "nn.Module"]),
    "wrong parts": (
        MODULE,
        "class Mix(nn.Module):\n    def __init__(self, d):\n        super().__init__()\n"
        "        self.q = nn.Linear(d, d)",
        ["docstring names", "w.weight (3, 3)", "q.weight (3, 3)", "q.bias (3,)"],
    ),
    "bias": (
        MODULE,
        "class Mix(nn.Module):\n    def __init__(self, d):\n        super().__init__()\n"
        "        self.w = nn.Linear(d, d)",
        ["docstring names", "bias=False"],
    ),
    "misspelt part": (
        MODULE,
        "class Mix(nn.Module):\n    def __init__(self, d):\n        super().__init__()\n"
        "        self.ww = nn.Linear(d, d, bias=False)",
        ["`ww.weight` should be called `w.weight`"],
    ),
    "swapped sizes": (
        MODULE.replace("torch.eye(3, dtype=torch.float64)", "numbers(5, 3)"),
        "class Mix(nn.Module):\n    def __init__(self, d):\n        super().__init__()\n"
        "        self.w = nn.Linear(5, d, bias=False)",
        ["are swapped"],
    ),
    "swapped sizes of a layer with a bias": (
        MODULE.replace(
            '{"w.weight": torch.eye(3, dtype=torch.float64)}',
            '{"w.weight": numbers(5, 3), "w.bias": numbers(3)}',
        ),
        "class Mix(nn.Module):\n    def __init__(self, d):\n        super().__init__()\n"
        "        self.w = nn.Linear(5, d)",
        ["are swapped"],
    ),
    "asserted in place of raised": (
        REFUSES,
        "def mix(x):\n    assert x.shape[-1] % 2 == 0, 'odd: 7'",
        ["raised AssertionError", "raise ValueError"],
    ),
    "no parts": (
        MODULE,
        "class Mix(nn.Module):\n    def forward(self, x):\n        return x\n"
        "    def __init__(self, d):\n        super().__init__()",
        ["keep each on self"],
    ),
    "misspelt forward": (
        MODULE,
        "class Mix(nn.Module):\n    def __init__(self, d):\n        super().__init__()\n"
        "        self.w = nn.Linear(d, d, bias=False)\n    def foward(self, x):\n        return x",
        ["raised NotImplementedError", "its method `forward`: is yours spelt so"],
    ),
    "no super().__init__()": (
        MODULE,
        "class Mix(nn.Module):\n    def __init__(self, d):\n        self.w = nn.Linear(d, d)",
        ["raised AttributeError", "Mix.__init__, line 3: self.w", "the first line of `__init__`"],
    ),
    "not numbers": (VALUE, "answer = 'a half'", ["expected 2 numbers", "'a half'"]),
    "too many numbers": (VALUE, "answer = [1, 2, 3]", ["expected 2 numbers", "[1, 2, 3]"]),
    "wrong value": (VALUE, "answer = [0.25, 0.6]", ["not right yet", "[0.25, 0.6]"]),
}


@pytest.mark.parametrize("name", FAILURES)
def test_message(name):
    check, student, fragments = FAILURES[name]
    message = " ".join(failure(student, check).split())
    for fragment in fragments:
        assert fragment in message


# test_isolation runs every case of FAILURES apart as well, where these two are told otherwise
def test_a_module_without_parts_is_told_to_call_the_init_of_nn_module():
    student = "class Mix(nn.Module):\n    def __init__(self, d):\n        self.d = d"
    message = " ".join(failure(student, MODULE).split())
    assert "never calls that of nn.Module" in message
    assert "the first line of `__init__`" in message


def test_of_two_calls_that_give_plain_numbers_the_failing_one_is_shown():
    count = """
with Check("count", "two numbers") as check:
    few, many = check.call(2, returns=float), check.call(5, returns=float)
    check.equal(few, 2.5, "half more")
    check.equal(many, 5.5, "half more")
"""
    message = " ".join(failure("def count(n):\n    return float(n)", count).split())
    assert "you called count(n: 2)" in message


def test_the_message_holds_no_expected_answer():
    assert "0.5" not in failure("answer = [0.2, 0.6]", VALUE)


def test_a_check_leaves_no_variables_behind():
    student = (
        "x = 'mine'\ncalls = 0\ndef mix(x):\n    global calls\n    calls += 1\n    return 2 * x"
    )
    check = ONE.replace("check.equal(", "x = wide = numbers(2, 3)\n    check.equal(")
    namespace = run(student, check)
    assert (namespace["x"], namespace["calls"]) == ("mine", 1)
    assert not {"wide", "check"} & namespace.keys()


def test_right_work_passes_and_says_so(capsys):
    run("def mix(x):\n    return 2 * x, x @ x.T", PAIR)
    run("answer = (0.251, 0.499)", VALUE)
    assert capsys.readouterr().out.splitlines() == ["✓ mix: a pair", "✓ answer: a number"]


@pytest.mark.parametrize(
    ("student", "where"),
    [
        ("", "`mix` does not exist yet"),
        ("def mix(x):\n    raise NotImplementedError", "`mix` is still a stub"),
        (
            "def mix(x):\n    return part(x)\ndef part(x):\n    raise NotImplementedError()",
            "`part`",
        ),
    ],
)
def test_a_stub_is_no_failure_of_its_own_kind(student, where):
    with pytest.raises(NotImplementedError) as stopped:
        run(student, ONE)
    assert type(stopped.value) is NotImplementedError
    assert where in str(stopped.value)


def test_an_operation_that_torch_does_not_have_is_no_stub():
    with pytest.raises(CheckFailed, match="your code raised NotImplementedError"):
        run("def mix(x):\n    return torch.ones(2, device='meta').tolist()", ONE)


def test_ipython_shows_the_message_in_place_of_a_traceback(capsys):
    shell = InteractiveShell()
    shell.run_cell("from transformer_course.checks import Check, numbers")
    shell.run_cell("def mix(x):\n    return x @ x")
    shell.run_cell(ONE)
    shown = capsys.readouterr().out
    assert "✗ mix: your code raised RuntimeError" in shown
    assert "return x @ x" in shown
    assert "Traceback" not in shown
    assert "check.py" not in shown


def test_gradients_are_asked_for_and_missing_ones_are_explained():
    law = """
with Check("mix", "a gradient") as check:
    x = numbers(2, 3).requires_grad_()
    check.equal(check.gradient(check.call(x), x), 2 * torch.ones_like(x.detach()), "slope 2")
"""
    run("def mix(x):\n    return 2 * x", law)
    assert "no gradient flows" in failure("def mix(x):\n    return 2 * x.detach()", law)


def test_a_frozen_parameter_is_named():
    law = """
with Check("Scale", "a gradient") as check:
    scale = check.build()
    check.true(bool(scale.gradients(scale.call(numbers(2, 3)))["s"]), "slope")
"""
    work = """
class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.s = torch.nn.Parameter(torch.ones(1){})

    def forward(self, x):
        return self.s * x.requires_grad_()
"""
    run(work.format(""), law)
    assert "`s` cannot learn" in failure(work.format(", requires_grad=False"), law)


def test_a_known_misconception_is_named_and_others_are_not(monkeypatch):
    with pytest.raises(CheckFailed) as failed:
        run("def mix(x):\n    return x * x", ONE)
    assert failed.value.clue
    known = {"mix": [{**failed.value.clue, "says": "That squares; you want twice."}]}
    monkeypatch.setattr(misconceptions, "_known", lambda: known)
    assert "looks like   That squares" in failure("def mix(x):\n    return x**2", ONE)
    assert "looks like" not in failure("def mix(x):\n    return x**3", ONE)
    assert "looks like" not in failure("def mix(x):\n    return x.numpy() ** 2", ONE)


def test_a_mistake_elsewhere_is_no_cause_once_the_checks_there_hold(monkeypatch):
    with pytest.raises(CheckFailed) as failed:
        run("def mix(x):\n    return x * x", ONE)
    assert failed.value.clue
    both = {"says": "That squares. Or `softmax`.", "alone": "That squares.", "earlier": ["softmax"]}
    known = {"mix": [{**failed.value.clue, **both}]}
    monkeypatch.setattr(misconceptions, "_known", lambda: known)
    square = "def mix(x):\n    return x**2"
    for held, said in ({}, True), ({"one": True, "two": False}, True), ({"one": True}, False):
        outcomes = {("softmax", title): is_held for title, is_held in held.items()}
        monkeypatch.setattr("transformer_course.checks.outcomes.OUTCOMES", outcomes)
        assert ("Or `softmax`" in failure(square, ONE)) == said
        assert "That squares." in failure(square, ONE)


def test_a_misconception_about_a_text_is_told_from_others(monkeypatch):
    with pytest.raises(CheckFailed) as failed:
        run("def mix(text):\n    return text", TEXT)
    assert failed.value.clue
    known = {"mix": [{**failed.value.clue, "says": "`to be` is missing."}]}
    monkeypatch.setattr(misconceptions, "_known", lambda: known)
    assert "looks like   `to be` is missing" in failure("def mix(t):\n    return str(t)", TEXT)
    for other in ("t + 'x'", "t[:-1] + '!'", "t.title()", "''"):
        assert "looks like" not in failure(f"def mix(t):\n    return {other}", TEXT)


def test_an_error_that_students_raise_themselves_is_known_by_its_text(monkeypatch):
    """Two students may stop the same call for different reasons."""
    own = "def mix(x):\n    if len(x) < 9:\n        raise KeyError('{}')"
    with pytest.raises(CheckFailed) as failed:
        run(own.format("too short"), ONE)
    assert failed.value.clue
    known = {"mix": [{**failed.value.clue, "says": "Any length is fine."}]}
    monkeypatch.setattr(misconceptions, "_known", lambda: known)
    assert "looks like   Any length" in failure(own.format("too short"), ONE)
    assert "looks like" not in failure(own.format("odd"), ONE)


def test_numbers_are_the_same_everywhere():
    # NumPy keeps RandomState's stream frozen; these are its first numbers for seed 0
    expected = torch.tensor([1.764052345967664, 0.4001572083672233], dtype=torch.float64)
    assert torch.equal(numbers(2), expected)
    assert numbers(2, 3, scale=2.0).shape == (2, 3)


@pytest.mark.parametrize(
    ("text", "named"),
    [("12 by 7", True), ("7", True), ("(7,)", True), ("17 or 70", False), ("7.5, 0.7", False)],
)
def test_a_number_is_named_if_it_stands_alone(text, named):
    assert formatting.mentions(text, 7) is named


def test_what_stands_in_a_message_is_short_and_the_same_every_time():
    class Thing:
        pass

    shown = [
        formatting.brief(value) for value in (run, Thing(), torch.Generator(), torch.nn.Tanh())
    ]
    assert shown[0] == "run"
    assert shown[3] == "Tanh(…)"
    assert not any("0x" in text for text in shown)
    assert formatting.brief([torch.zeros(3, 5), "q", (1,)]) == "[tensor (3, 5), 'q', (1)]"
    assert len(formatting.brief(["x" * 10**6] * 10**6)) < 5000


def test_a_wrapped_text_can_be_found_again():
    for length in range(40, 66):
        said = f"{'x' * length} feed-forward"
        shown = str(Failure("mix", "each is twice", misconception=said))
        assert said in " ".join(shown.split())
