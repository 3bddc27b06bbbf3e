"""What a failed comparison says of the numbers holds, and is said only where it is clear."""

import pytest
import torch
from transformer_course.checks import numbers
from transformer_course.checks.symptoms import symptom

from autograder.tests.test_checks import failure

X = numbers(3, 3)
WEIGHTS = torch.softmax(X, dim=-1)
SAID = {
    "zeros": (torch.zeros(3, 3), X, "all numbers of the result are 0"),
    "the input": (X, 2 * X + 1, "the result equals the input `x`"),
    "transposed": (WEIGHTS.T, WEIGHTS, "the last two axes of the result are swapped"),
    "a factor": (X * 0.5, X, "every number is 0.5 times the expected one"),
    "a sign": (-X, X, "every number has the opposite sign"),
    "more": (X + 0.25, X, "every number is 0.25 more than expected"),
    "less": (X - 0.25, X, "every number is 0.25 less than expected"),
    "other axis": (
        torch.softmax(X, 0),
        WEIGHTS,
        "the result sums to 1 along axis 0, not along axis 1",
    ),
    "one number": (torch.full((3, 3), 0.7), X, "all numbers of the result are equal"),
    "rows": (X[:1].expand(3, 3), X, "all numbers along axis 0 of the result are equal"),
    "columns": (X[:, :1].expand(3, 3), X, "all numbers along axis 1 of the result are equal"),
    "float32": ((2 * X).float(), X, "every number is 2 times the expected one"),
}
UNSAID = {
    "rounding": (X * 1.001, X),
    "another result": (numbers(3, 3, seed=1), X),
    "one number is not enough": (torch.tensor([2.0]), torch.tensor([1.0])),
    "whole numbers": (torch.arange(4), 2 * torch.arange(4)),
    "not finite": (X / 0, X),
    "constant, as expected": (torch.full((4,), 2.0), torch.full((4,), 3.0)),
}


@pytest.mark.parametrize("name", SAID)
def test_a_law_is_said(name: str) -> None:
    actual, expected, said = SAID[name]
    assert symptom(actual, expected, {"x": X}) == said


@pytest.mark.parametrize("name", UNSAID)
def test_no_law_is_said(name: str) -> None:
    assert symptom(*UNSAID[name], {}) == ""


def test_a_diagnosis_comes_without_it() -> None:
    check = """
with Check("mix", "one") as check:
    check.equal(check.call(numbers(2, 3)), 3 * numbers(2, 3), "three times the input")
"""
    message = failure("def mix(x):\n    return 2 * x", check)
    assert (
        "note         6 of 6 numbers differ; every number is 0.6667 times the expected" in message
    )


def test_a_result_that_changes_from_call_to_call_is_said() -> None:
    check = """
with Check("mix", "one") as check:
    check.equal(check.call(numbers(2, 3)), 3 * numbers(2, 3), "three times the input")
"""
    message = " ".join(failure("def mix(x):\n    return x + torch.rand_like(x)", check).split())
    assert "the same call, made again, gives another result" in message
    drawn = check.replace("numbers(2, 3))", "numbers(2, 3), torch.Generator())")
    student = "def mix(x, g):\n    return x + torch.rand(x.shape, generator=g)"
    assert "made again" not in " ".join(failure(student, drawn).split())


def test_of_equal_numbers_the_call_that_is_judged_is_shown() -> None:
    check = """
with Check("count", "two widths") as check:
    few, many = check.call(2, returns=int), check.call(3, returns=int)
    check.equal(few, 16, "as it should")
    check.equal(many, 24, "more")
"""
    message = failure("def count(n):\n    return 16", check)
    assert "you called   count(n: 3)" in message


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("x @ self.w.weight", "x (2, 3) float64, self.w.weight (4, 4) float32"),
        ("self.w(x * n)", "self.w Linear 4 → 4, x (2, 3) float64, n 2"),
        ("self.rows[9]", ""),
        ("[][n]", "n 2"),
        ("self.w.bias.sum(n)", "self.w.bias (4,) float32, n 2"),
    ],
)
def test_an_error_shows_what_the_failing_expression_uses(line: str, values: str) -> None:
    check = """
with Check("Mix", "a module") as check:
    check.build().call(numbers(2, 3), 2)
"""
    student = (
        "class Mix(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.w = nn.Linear(4, 4)\n        self.rows = []\n"
        f"    def forward(self, x, n):\n        return {line}"
    )
    message = " ".join(failure(student, check).split())
    assert message.endswith(f"return {line} with {values}" if values else f"return {line}")


def test_a_second_call_that_gives_less_adds_nothing() -> None:
    check = """
with Check("halves", "one") as check:
    first, second = check.call(numbers(4), returns=("first", "second"))
    check.equal(second, 3 * numbers(4), "three times the input")
"""
    student = (
        "given = []\ndef halves(x):\n    given.append(x)\n"
        "    return (x + 1, torch.rand(4).double()) if len(given) < 2 else [x]"
    )
    message = failure(student, check)
    assert "4 of 4 numbers differ" in message
    assert "made again" not in message


def test_a_call_that_took_long_is_not_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    check = """
with Check("mix", "one") as check:
    check.equal(check.call(numbers(2, 3)), 3 * numbers(2, 3), "three times the input")
"""
    student = "def mix(x):\n    return x + torch.rand_like(x)"
    assert "made again" in " ".join(failure(student, check).split())
    monkeypatch.setattr("transformer_course.checks.runner.QUICK", -1.0)
    assert "made again" not in " ".join(failure(student, check).split())


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("(x.sum()\n            .view(n, n, x.w))", "x"),
        ("self.sly.sum(n, n)", "n 2"),
    ],
)
def test_values_are_shown_of_several_lines_and_asked_of_no_class_of_the_students(
    line: str, values: str
) -> None:
    check = """
with Check("Mix", "a module") as check:
    check.build().call(numbers(2, 3), 2)
"""
    student = (
        "class Sly(torch.Tensor):\n    shape = property(lambda self: 1 / 0)\n"
        "class Mix(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.sly = torch.ones(2).as_subclass(Sly)\n"
        f"    def forward(self, x, n):\n        return {line}"
    )
    message = " ".join(failure(student, check).split())
    assert f"with {values}" in message
