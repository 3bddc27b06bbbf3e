"""Checks run apart from the work they check: the same verdicts, and nothing but data in between."""

import io
import json
import socket
import threading

import numpy as np
import pytest
import torch
from torch import nn
from transformer_course.checks import Check, CheckFailed, numbers

from autograder.apart.student_side import StudentSide
from autograder.apart.test_side import TestSide
from autograder.apart.wire import LENGTHS, ChannelError, Foreign, receive, send
from autograder.isolation import Trial, outcomes
from autograder.tests.test_checks import FAILURES, run

LIMIT = 1 << 20


@pytest.fixture
def side():
    """The tests' side of a channel whose other end a thread serves."""
    ours, theirs = socket.socketpair()
    student = theirs.makefile("rwb")
    serving = threading.Thread(target=StudentSide(student, LIMIT).serve)
    serving.start()
    with ours, ours.makefile("rwb") as stream:
        yield TestSide(stream, LIMIT)
        ours.shutdown(socket.SHUT_RDWR)
    serving.join()
    student.close()
    theirs.close()


def there_and_back(message):
    stream = io.BytesIO()
    send(stream, message, LIMIT)  # type: ignore[arg-type]
    stream.seek(0)
    return receive(stream, LIMIT)  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", [torch.bool, torch.int64, torch.bfloat16, torch.float64])
def test_tensors_cross_unchanged(dtype):
    tensor = (numbers(2, 3, 4) > 0).to(dtype).transpose(0, 2)
    back = there_and_back({"part": (tensor, [1, None, True, 0.1, "ä"]), "empty": torch.zeros(0, 3)})
    assert torch.equal(back["part"][0], tensor)
    assert back["part"][0].dtype == dtype
    assert back["part"][1] == [1, None, True, 0.1, "ä"]
    assert back["empty"].shape == (0, 3)


def test_what_is_no_data_crosses_by_name_alone():
    class Loud:
        def __reduce__(self):
            raise AssertionError("pickled")

    back = there_and_back([Loud(), np.float64, {1: 2}, 10**5000, np.arange(3)])
    assert all(isinstance(item, Foreign) for item in back[:4])
    assert type(back[0]).__name__.endswith("Loud")
    assert isinstance(back[4], np.ndarray)


HEAD = {"kind": "tensor", "dtype": "float64", "shape": [2], "at": 0}


@pytest.mark.parametrize(
    "head",
    [
        "{",
        "{}",
        json.dumps(HEAD),
        json.dumps(HEAD | {"shape": [-1]}),
        json.dumps(HEAD | {"shape": [10**9, 10**9]}),
        json.dumps(HEAD | {"dtype": "object"}),
        json.dumps(HEAD | {"at": -16}),
        json.dumps({"kind": "pickle", "of": "x"}),
        "[" * 3000,
    ],
)
def test_what_is_no_message_is_refused(head):
    body = head.encode()
    stream = io.BytesIO(LENGTHS.pack(len(body), len(body)) + body)
    with pytest.raises(ChannelError):
        receive(stream, LIMIT)  # type: ignore[arg-type]


def test_a_message_has_a_limit_and_an_end():
    with pytest.raises(ChannelError, match="the limit is"):
        there_and_back(torch.zeros(LIMIT))
    with pytest.raises(ChannelError, match="the limit is"):
        receive(io.BytesIO(LENGTHS.pack(1 << 60, 1)), LIMIT)  # type: ignore[arg-type]
    with pytest.raises(ChannelError, match="closed"):
        receive(io.BytesIO(LENGTHS.pack(100, 1) + b"{"), LIMIT)  # type: ignore[arg-type]


def judged(side: TestSide, student: str, check: str) -> str:
    """What a check cell says of work on the other side; empty if it passes."""
    side.run("from torch import nn\nimport torch", "<student>")
    side.run(student, "<student>")
    namespace = {"Check": Check, "numbers": numbers, "torch": torch, "nn": nn}
    namespace |= side.stand_ins(["mix", "Mix", "answer"])
    try:
        exec(check, namespace)
    except CheckFailed as failure:
        return " ".join(str(failure).split())
    return ""


@pytest.mark.parametrize("name", FAILURES)
def test_a_check_says_the_same_as_beside_the_work(side, name):
    check, student, fragments = FAILURES[name]
    message = judged(side, student, check)
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
    check.true(len(mix.gradients(mix.call(numbers(2, 3)))) == 1, "one layer")
"""


def test_a_layer_under_two_names_is_two_parts_and_one_parameter(side):
    assert judged(side, SHARED, TWICE) == ""
    run(SHARED, TWICE)


def test_gradients_of_inputs_and_parameters_cross(side):
    side.run(
        "import torch\nclass Mix(torch.nn.Module):\n"
        "    def __init__(self, d):\n        super().__init__()\n"
        "        self.w = torch.nn.Linear(d, 2, bias=False)\n"
        "    def forward(self, x):\n        return self.w(x).square(), x.detach()\n",
        "<student>",
    )
    remote = side.stand_ins(["Mix"])["Mix"](3).double()
    local = nn.Linear(3, 2, bias=False).double()
    local.load_state_dict({"weight": remote.state_dict()["w.weight"]})
    x = numbers(4, 3).requires_grad_()
    squares, detached = remote(x)
    assert squares.requires_grad
    assert not detached.requires_grad
    (weight,) = dict(remote.named_parameters()).values()
    found = torch.autograd.grad(squares[0].sum(), (x, weight), retain_graph=True)
    expected = torch.autograd.grad(local(x).square()[0].sum(), (x, local.weight))
    for one, other in zip(found, expected, strict=True):
        assert torch.allclose(one, other)


def test_the_random_state_goes_there_and_comes_back():
    work = "import torch\ndef mix(x):\n    return x + torch.rand(2, dtype=x.dtype)"
    check = """
import torch
from transformer_course.checks import Check, numbers
with Check("mix", "random") as check:
    torch.manual_seed(3)
    drawn = torch.cat([check.call(numbers(2)) - numbers(2) for _ in range(2)])
    torch.manual_seed(3)
    expected = torch.cat([torch.rand(2, dtype=torch.float64) for _ in range(2)])
    check.equal(drawn, expected, "the numbers that the tests would have drawn")
"""
    (outcome,) = outcomes(Trial(work=[work], exercises=["mix"], given=[], checks=[check]))
    assert outcome.passed, outcome.message


def test_switches_cross(side):
    side.run("import torch\ndef Mix(p):\n    return torch.nn.Dropout(p)", "<student>")
    dropout = side.stand_ins(["Mix"])["Mix"](0.5)
    first, second = dropout(torch.ones(100)), dropout(torch.ones(100))
    assert not torch.equal(first, second)
    dropout.eval()
    assert torch.equal(dropout(torch.ones(100)), torch.ones(100))
