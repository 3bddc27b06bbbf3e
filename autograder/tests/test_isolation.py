"""Checks run apart from the work they check: the same verdicts, and work that cannot end them."""

import re

import pytest

from autograder.execution.executor import CodeCell, Execution, Executor, Job, Limits, Ran
from autograder.tests.test_checks import FAILURES, failure, run

GIVEN = """
import math
import torch
from torch import nn
from transformer_course.checks import Check, numbers
"""


@pytest.fixture(scope="module")
def executor():
    with Executor(sandboxed=False) as executor:
        yield executor


def executed(executor: Executor, student: str, *checks: str, timeout: float = 60.0) -> Execution:
    """A student's cell and the checks of it."""
    cells = [CodeCell("given", GIVEN), CodeCell("student", student)]
    cells += [CodeCell("check", check) for check in checks]
    exercises = ["mix", "Mix", "answer"]
    return executor.execute(Job(cells, exercises, limits=Limits(timeout=timeout)))


def said(ran: Ran) -> str:
    """What a check says; empty if it passes."""
    assert ran.complete
    return " ".join(ran.failure["message"].split()) if ran.failure else ""


def judged(executor: Executor, student: str, check: str) -> str:
    """What one check says of a student's cell."""
    return said(executed(executor, student, check).cells[-1])


@pytest.mark.parametrize("name", FAILURES)
def test_a_check_says_the_same_as_beside_the_work(executor, name):
    check, student, fragments = FAILURES[name]
    message = judged(executor, student, check)
    for fragment in fragments:
        assert fragment in message


SHARED = """
class Mix(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.a = self.b = nn.Linear(d, d, bias=False)
    def forward(self, x):
        return self.b(self.a(x))
"""
TWICE = """
with Check("Mix", "two names") as check:
    mix = check.build(3).double()
    eye = torch.eye(3, dtype=torch.float64)
    mix.load({"a.weight": eye, "b.weight": eye})
    check.equal(mix.call(numbers(2, 3)), numbers(2, 3), "the input, unchanged")
    check.true(len(mix.parameters()) == 1, "one layer")
    slopes = mix.gradients(mix.call(numbers(2, 3)))
    check.true(slopes.keys() == {"a.weight", "b.weight"}, "under each of its names")
    check.equal(slopes["a.weight"], slopes["b.weight"], "the same")
"""


def test_a_layer_under_two_names_is_two_parts_and_one_parameter(executor):
    assert judged(executor, SHARED, TWICE) == ""
    run("import torch\nfrom torch import nn" + SHARED, TWICE)


GRADIENTS = """
with Check("Mix", "gradients") as check:
    mine, theirs = check.build(3).double(), nn.Linear(3, 2, bias=False).double()
    mine.load({"w.weight": theirs.weight.detach()})
    x = numbers(4, 3).requires_grad_()
    squares, detached = mine.call(x, returns=("squares", "detached"))
    expected = theirs(x).square()
    check.true(squares.requires_grad and not detached.requires_grad, "as over there")
    for actual, wanted in ((squares[0], expected[0]), (squares, expected)):
        check.equal(check.gradient(actual, x), check.gradient(wanted, x), "of the input")
        slope = check.gradient(wanted, theirs.weight)
        check.equal(mine.gradients(actual)["w.weight"], slope, "of the weight")
"""


def test_gradients_of_inputs_and_parameters_cross(executor):
    student = """
class Mix(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.w = nn.Linear(d, 2, bias=False)
    def forward(self, x):
        return self.w(x).square(), x.detach()
"""
    assert judged(executor, student, GRADIENTS) == ""


def test_a_module_that_is_handed_over_twice_has_one_gradient(executor):
    check = """
with Check("mix", "twice the same layer") as check:
    linear, x = nn.Linear(3, 2), torch.ones(4, 3)
    result = check.call(linear, x, linear)
    check.equal(check.gradient(result, linear.bias), 8 * torch.ones(2), "twice each row's")
"""
    student = "def mix(one, x, other):\n    return one(x) + other(x)"
    assert judged(executor, student, check) == ""
    run("import torch\n" + student, check)


def test_an_error_in_a_backward_pass_is_told_as_one_of_the_students(executor):
    student = """
class Broken(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, slope):
        return slope @ slope
def mix(x):
    return Broken.apply(x)
"""
    check = """
with Check("mix", "a gradient") as check:
    x = numbers(2, 3).requires_grad_()
    check.gradient(check.call(x), x)
"""
    message = judged(executor, student, check)
    assert "your code raised RuntimeError" in message
    assert "Broken.backward, line 7" in message


def test_whether_gradients_are_on_is_known_there(executor):
    check = """
with Check("mix", "off, and on") as check:
    with torch.no_grad():
        check.equal(check.call(torch.ones(2)), torch.zeros(2), "off")
    check.equal(check.call(torch.ones(2)), torch.ones(2), "on")
"""
    student = "def mix(x):\n    return x * torch.is_grad_enabled()"
    assert judged(executor, student, check) == ""
    run("import torch\n" + student, check)


def test_the_random_state_goes_there_and_comes_back(executor):
    check = """
with Check("mix", "random") as check:
    torch.manual_seed(3)
    drawn = torch.cat([check.call(numbers(2)) - numbers(2) for _ in range(2)])
    torch.manual_seed(3)
    expected = torch.cat([torch.rand(2, dtype=torch.float64) for _ in range(2)])
    check.equal(drawn, expected, "the numbers that the tests would have drawn")
"""
    assert judged(executor, "def mix(x):\n    return x + torch.rand(2, dtype=x.dtype)", check) == ""


CALLS = """
with Check("mix", "{}") as check:
    check.call(numbers(2))
"""


def test_what_a_call_prints_stands_in_the_checks_output_even_if_it_fails(executor):
    student = "def mix(x):\n    print('x is', len(x))\n    return x @ x.oops"
    (ran,) = executed(executor, student, CALLS).cells[2:]
    assert ran.outputs[0] == {"output_type": "stream", "name": "stdout", "text": "x is 2\n"}
    assert "raised AttributeError" in said(ran)


DOUBLES = """
with Check("mix", "twice") as check:
    check.equal(check.call(numbers(2)), 2 * numbers(2), "twice the input")
"""


@pytest.mark.parametrize(
    "first",
    [
        "torch.zeros(3000, 5000, dtype=torch.float64)",
        "[[[0] * 300] * 300] * 300",
        "sys.exit(3)",
        "exec('raise BaseException(1)')",
        "exec('raise Silent')",
        "(lambda deep: [deep := [deep] for _ in range(5000)][-1])([])",
    ],
)
def test_no_result_and_no_error_ends_what_comes_after(executor, first):
    student = f"""
import sys
class Silent(Exception):
    def __str__(self):
        raise SystemExit
calls = []
def mix(x):
    calls.append(1)
    return {first} if len(calls) == 1 else 2 * x
"""
    failed, passed = executed(executor, student, DOUBLES, DOUBLES).cells[2:]
    assert said(failed)
    assert said(passed) == ""


def test_a_value_too_large_to_cross_costs_no_other_exercise_its_points(executor):
    student = "answer = torch.zeros(3000, 5000).double()\ndef mix(x):\n    return 2 * x"
    checks = ["with Check('answer', 'few') as check:\n    check.value(2)", DOUBLES]
    failed, passed = executed(executor, student, *checks).cells[2:]
    assert "expected 2 numbers, got value too large" in said(failed)
    assert said(passed) == ""


CALLBACK = """
with Check("mix", "a function of the check's") as check:
    check.call(lambda x: 2 * x, returns=None)
"""


def test_a_loop_around_the_checks_own_function_is_stopped_and_the_next_check_goes_on(executor):
    student = """
def mix(x):
    while callable(x):
        x(torch.ones(2))
    return 2 * x
"""
    execution = executed(executor, student, CALLBACK, DOUBLES, timeout=0.3)
    assert execution.cells[2].stopped
    assert "took too long" in said(execution.cells[2])
    assert said(execution.cells[3]) == ""


@pytest.mark.parametrize(
    "work",
    [
        "x(torch.zeros(3000, 5000).double())",
        "x([[[0] * 300] * 300] * 300)",
        "x((lambda deep: [deep := [deep] for _ in range(5000)][-1])([]))",
        "x(object())",
        "x(nn.Linear(2, 2))",
        "x(lambda y: x(y))",
        "x(x)",
        "x(torch.ones(2), out=torch.ones(2))",
        "x.__class__(None, 0, None)(torch.ones(2))",
        "x(type('Liar', (torch.Tensor,), {'shape': property(lambda self: 1 / 0)})())",
    ],
)
def test_what_is_handed_to_the_checks_own_function_costs_no_other_check_its_points(executor, work):
    student = f"def mix(x):\n    return {work} if callable(x) else 2 * x"
    failed, passed = executed(executor, student, CALLBACK, DOUBLES).cells[2:]
    assert said(failed)
    assert said(passed) == ""


def test_a_check_that_is_over_leaves_nothing_to_call(executor):
    student = """
kept = []
def mix(x):
    kept.append(x)
    return kept[0](x) if torch.is_tensor(x) else None
"""
    execution = executed(executor, student, CALLBACK, DOUBLES)
    assert said(execution.cells[2]) == ""
    assert "KeyError" in said(execution.cells[3])


def test_an_error_of_the_checks_own_function_reaches_the_student_as_what_it_is(executor):
    student = """
def mix(attend):
    try:
        attend(torch.ones(2))
    except ValueError as error:
        return str(error)
"""
    check = """
def refuses(x):
    raise ValueError(f"{len(x)} is too few")
with Check("mix", "an error") as check:
    check.true(check.call(refuses, returns=str) == "2 is too few", "the message")
"""
    assert judged(executor, student, check) == ""


def test_a_check_cannot_hand_over_what_the_student_would_have_to_unpickle(executor):
    check = """
class Own(nn.Module):
    pass
with Check("mix", "a module of the check's own class") as check:
    check.call(Own())
"""
    message = judged(executor, "def mix(x):\n    return 1", check)
    assert "a check can hand over modules of torch and the kit" in message


TRAINED = """
torch.manual_seed(0)
x = torch.linspace(-1, 1, 20)[:, None]
answer = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Dropout(0.5), nn.Linear(8, 1))
answer[2].p = 0.0
optimiser = torch.optim.Adam(answer.parameters(), 0.05)
for _ in range({steps}):
    optimiser.zero_grad()
    (answer(x) - x**2).square().mean().backward()
    optimiser.step()
answer[2].p = 0.5
"""
TRAINS = """
with Check("answer", "it has learned the square") as check:
    x = torch.tensor([[-0.7], [0.1], [0.8]])
    prediction = check.module().eval().call(x)
    check.equal(prediction, x.square(), "within a tenth", within=0.1)
    check.true(not torch.equal(check.call(x), check.module().train().call(x)), "modes")
"""
JACOBIAN = """
def mix(attend, x):
    slopes = torch.func.jacrev(attend)(x).abs().amax((1, 3))
    return bool((slopes[torch.ones(len(x), len(x)).triu(1).bool()] > 1e-8).any())
"""
LEAKS = """
with Check("mix", "through a transform") as check:
    x = numbers(4, 3)
    check.true(check.call(lambda x: x.flip(0), x, returns=bool), "a flip leaks")
    check.true(not check.call(lambda x: x.cumsum(0), x, returns=bool), "a running sum does not")
"""

SLOPES = """
def mix(attend, x):
    x = x.clone().requires_grad_()
    result = attend(x)
    return [torch.autograd.grad(part.sum(), x{})[0].sum().item() > 0 for part in result]
"""
EACH_ROW = """
with Check("mix", "a gradient for each row") as check:
    slopes = check.call(lambda x: x.exp(), numbers(3, 2), returns=list)
    check.true(slopes == [True] * 3, "each row depends on itself")
"""
TURNS = """
with Check("mix", "turned") as check:
    x = numbers(2, 3)
    check.equal(check.call(x), x.T, "rows become columns")
"""
FREEZES = """
with Check("mix", "a layer of the check's own") as check:
    layer = nn.Linear(2, 2)
    check.call(layer, returns=None)
    check.true(layer.weight.requires_grad, "the layer learns on")
"""


def plain(kind: str, wanted: str) -> str:
    """A check of a plain value."""
    check = f"with Check('answer', 'a value') as check:\n    answer = check.value({kind})\n"
    return check + f"    check.true(answer == {wanted}, 'not right yet')"


STEPS = """
with Check("mix", "three steps") as check:
    asked = []
    def step(tokens, asked=asked):
        asked.append(tokens.shape[1])
        return tokens[:, -1:] + 1
    made = check.call(step, torch.zeros(2, 1, dtype=torch.int64))
    check.equal(made, torch.tensor([[0, 1, 2, 3]] * 2), "counted on")
    check.equal(asked, [1, 2, 3], "one call a token, of all tokens so far")
"""
COUNTS = """
def mix(step, tokens):
    for _ in range(3):
        tokens = torch.cat([tokens, step({asked})], 1)
    return tokens
"""
CACHES = """
with Check("mix", "caches of yours") as check:
    caches = [check.other("Mix").build() for _ in range(2)]
    for new, kept in ((1.0, 1.0), (3.0, 4.0)):
        check.equal(check.call(caches, torch.ones(2) * new), new * torch.ones(2), "a sum each")
        check.equal(caches[1].call(torch.zeros(2)), kept * torch.ones(2), "kept")
"""
SUMS = """
class Mix(nn.Module):
    ours = torch.zeros(2)
    def __init__(self):
        super().__init__()
        self.mine = torch.zeros(2)
    def forward(self, x):
        {total} = {total} + x
        return {total}
def mix(caches, x):
    first, second = caches
    before = first(torch.zeros(2))
    second(x)
    return first(x) - before
"""


# what no lesson's bank asks of the kit: a check, a right answer, a wrong one, and what it is told
REST = {
    "module": (TRAINS, TRAINED.format(steps=400), TRAINED.format(steps=2), "within a tenth"),
    "transform": (LEAKS, JACOBIAN, JACOBIAN.replace("triu(1)", "tril(-1)"), "a running sum"),
    "a graph that is freed": (
        EACH_ROW,
        SLOPES.format(", retain_graph=True"),
        SLOPES.format(""),
        "a second time",
    ),
    "an input of another shape": (
        TURNS,
        "def mix(x):\n    return x.T.clone()",
        "def mix(x):\n    return x.transpose_(0, 1)",
        "changed its input `x`",
    ),
    "a layer that is frozen": (
        FREEZES,
        "def mix(layer):\n    pass",
        "def mix(layer):\n    layer.weight.requires_grad_(False)",
        "the layer learns on",
    ),
    "a function that is called back": (
        STEPS,
        COUNTS.format(asked="tokens"),
        COUNTS.format(asked="tokens[:, -1:]"),
        "one call a token",
    ),
    "modules in a list": (
        CACHES,
        SUMS.format(total="self.mine"),
        SUMS.format(total="Mix.ours"),
        "a sum each",
    ),
    "float": (plain("float", "0.5"), "answer = torch.tensor(0.5)", "answer = 'half'", "a number"),
    "int": (plain("int", "8"), "answer = 8", "answer = True", "a whole number, got True"),
    "bool": (plain("bool", "True"), "answer = True", "answer = 1", "True or False, got 1"),
    "str": (plain("str", "'keys'"), "answer = 'keys'", "answer = ['keys']", "a text, got"),
    "list": (plain("list", "['q', 'k']"), "answer = ['q', 'k']", "answer = ['q']", "not right yet"),
    "dict": (plain("dict", "{'q': [2.0]}"), "answer = {'q': [2.0]}", "answer = {}", "answer {}"),
}


@pytest.mark.parametrize("name", REST)
def test_what_no_bank_asks_for_is_told_the_same_apart_as_beside(executor, name):
    check, right, wrong, expected = REST[name]
    beside = "import torch\nfrom torch import nn\n"
    assert judged(executor, right, check) == ""
    run(beside + right, check)
    message = " ".join(failure(beside + wrong, check).split())
    assert expected in message
    # beside the work, its cell begins three lines later
    apart = re.sub(
        r"line (\d+)", lambda found: f"line {int(found[1]) + 3}", judged(executor, wrong, check)
    )
    assert apart == f"CheckFailed: {message}"
