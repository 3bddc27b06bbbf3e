"""A student's process that forges its answers: no check passes, nothing runs, all cells end."""

import json
import pickle
from pathlib import Path

import nbformat
import pytest
import torch
from transformer_course.checks import numbers

from autograder.execution.executor import Executor
from autograder.execution.isolation.messages import CellResult
from autograder.tests.support.forged_process import (
    CELLS,
    LENGTHS,
    Forge,
    Function,
    Last,
    Reference,
    at,
    in_call,
    packed,
    raw,
    walked,
)


@pytest.fixture(scope="module")
def executor():
    with Executor(sandboxed=False) as executor:
        yield executor


def test_the_honest_one_passes(executor):
    frames = walked(executor, lambda _, answer: answer, CELLS)
    assert [frame.failure for frame in frames] == [None] * len(CELLS)
    assert not any(frame.ended for frame in frames)


NAN = torch.full((2, 3), float("nan")).double()
STATE = {
    "state": {"weight": torch.zeros(2, 2), "bias": torch.zeros(2)},
    "modes": {"": True},
    "learns": {},
}
ERROR = {"type": "ValueError", "kind": "ValueError", "message": "no", "lines": []}
X = numbers(2, 3)
CALLS: dict[str, Forge] = {
    "another result": in_call(result=3 * X),
    "no number": in_call(result=NAN),
    "no result": in_call(result=None),
    "a result of another kind": in_call(result={"shape": [2, 3]}),
    "tensors that claim no gradient": in_call(requires=[False]),
    "too many claims": in_call(requires=[True] * 7),
    "claims of no kind": in_call(requires="yes"),
    "a call that is none": in_call(call="first", requires=[True, True]),
    "a changed input": in_call(changed={0: torch.zeros(2, 3).double()}),
    "a changed input of another shape": in_call(changed={0: torch.zeros(7)}),
    "a change of what was not sent": in_call(changed={5: torch.zeros(7)}),
    "a change with no place": in_call(changed={"x": torch.zeros(7)}),
    "no changes": in_call(changed=None),
    "a random state of three bytes": in_call(random=torch.zeros(3, dtype=torch.uint8)),
    "a random state of zeros": in_call(random=torch.zeros(5056, dtype=torch.uint8)),
    "a random state of floats": in_call(random=torch.zeros(5056)),
    "a random state of text": in_call(random="seed"),
    "no generators": in_call(generators=[]),
    "a generator's state of nothing": in_call(generators=[torch.zeros(0)]),
    "a generator's state of garbage": in_call(generators=[torch.full((5056,), 255).byte()]),
    "an answer that is a number": at("call", lambda answer: answer | {"answer": 3}),
    "an answer without its parts": at("call", lambda answer: answer | {"answer": {}}),
    "no answer": at("call", lambda _: {"lent": {}, "said": ""}),
    "answer and request": at("call", lambda answer: answer | {"request": {}, "forget": []}),
    "a field too many": at("call", lambda answer: answer | {"passed": True}),
    "a field too many in the answer": in_call(passed=True),
    "no field for what was said": at("call", lambda a: {"answer": a["answer"], "lent": {}}),
    "a request that forgets no calls": at(
        "call", lambda _: {"request": {"do": "begin"}, "forget": [[1], {}], "lent": {}}
    ),
    "a request that lends what it never had": at(
        "call", lambda _: {"request": {"do": "begin"}, "forget": [], "lent": {99: STATE}}
    ),
    "no message": at("call", lambda _: [1, 2]),
    "nothing lent": at("call", lambda a: {"answer": a["answer"], "said": ""}),
    "what was never lent": at("call", lambda answer: answer | {"lent": {99: STATE}}),
    "lent, a mode that is none": at(
        "call", lambda answer: answer | {"lent": {1: STATE | {"modes": {"": torch.ones(2)}}}}
    ),
    "lent, of no kind": at("call", lambda answer: answer | {"lent": "all"}),
    "lent by name": at("call", lambda answer: answer | {"lent": {"linear": STATE}}),
    "gradients of another shape": at("backward", lambda a: a | {"answer": [X[0], None, None]}),
    "gradients of no kind": at("backward", lambda a: a | {"answer": ["2"] * 3}),
    "too few gradients": at("backward", lambda a: a | {"answer": []}),
    "too many gradients": at("backward", lambda a: a | {"answer": [2 * X] * 99}),
    "gradients that are no list": at("backward", lambda a: a | {"answer": {"x": 2}}),
    "a length beyond all limits": at("call", lambda _: raw("{}", 1 << 62)),
    "half a frame": at("call", lambda _: Last(raw("{}", 1 << 20))),
    "half a length": at("call", lambda _: Last(b"12345")),
    "a head longer than its frame": at("call", lambda _: LENGTHS.pack(1, 99) + b"{" * 99),
    "no JSON": at("call", lambda _: raw("{'do': eval}")),
    "numbers that JSON has not": at("call", lambda _: raw('{"kind": Infinity, "items": NaN}')),
    "deep nesting": at("call", lambda _: raw("[" * 100_000)),
    "deep nesting of ours": at("call", lambda _: raw('{"kind":"list","items":[' * 500)),
    "a proxy that is none": at(
        "find", lambda a: a | {"answer": {"mix": Reference(kind="module", number=0)}}
    ),
    "a proxy with a forged signature": at(
        "find",
        lambda a: a | {"answer": {"mix": Reference(kind="function", number=0, signature=[[1]])}},
    ),
    "the check's own function, before there is one": at(
        "find", lambda a: a | {"answer": {"mix": Reference(kind="yours", number=0)}}
    ),
    "a proxy of text": at("find", lambda a: a | {"answer": {"mix": "2 * x"}}),
    "proxies that are no names": at("find", lambda a: a | {"answer": [["mix", 1]]}),
    "names of the check's own": at(
        "find", lambda a: a | {"answer": {"Check": Function(), "numbers": Function()}}
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_no_forged_answer_passes_or_stops_the_walk(executor, name):
    fails(executor, CALLS[name])


def fails(executor: Executor, forge: Forge) -> list[CellResult]:
    """Every check fails, and each cell has a frame of its own."""
    frames = walked(executor, forge, CELLS)
    assert [frame.cell for frame in frames] == list(range(len(CELLS)))
    for frame in frames[2:4]:
        assert frame.ended or (frame.failure or {})["message"]
    return frames


ERRORS = [
    {"type": "CheckFailed", "kind": "AssertionError"},
    {"type": "KeyboardInterrupt", "kind": "KeyboardInterrupt"},
    {"type": "SystemExit", "kind": "SystemExit"},
    {"type": "ChannelError", "kind": "BaseException"},
    {"type": "GeneratorExit", "kind": "GeneratorExit"},
    {"type": "StopIteration", "kind": "StopIteration"},
    {"type": "UnicodeDecodeError", "kind": "UnicodeDecodeError"},
    {"type": "NotImplementedError", "lines": [{"number": 1, "text": "x", "within": "mix"}]},
    {"type": "NotImplementedError", "lines": [{"number": "one"}]},
    {"type": "x", "kind": "eval"},
    {"type": "x", "kind": "__import__"},
    {"type": "x\0y", "kind": "print"},
    {"type": ["x"], "kind": 3, "message": None},
    {"message": "x" * 5_000_000},
    {"lines": "many"},
    {"lines": [{"number": 1, "text": "x" * 10**6, "within": "y" * 10**6}]},
]


@pytest.mark.parametrize("do", ["run", "begin", "find", "call", "backward"])
def test_no_forged_error_passes_or_stops_the_walk(executor, do):
    for told in [*({**ERROR, **error} for error in ERRORS), {}, None, "error"]:

        def forge(request, answer, told=told):
            return {"error": told, "said": "", "lent": {}} if request["do"] == do else answer

        frames = walked(executor, forge, CELLS)
        assert len(frames) == len(CELLS)
        assert all(len(json.dumps(vars(frame))) < 300_000 for frame in frames)
        if do in ("find", "call", "backward"):
            assert all(frame.ended or frame.failure for frame in frames[2:4])


@pytest.mark.parametrize("kind", ["SystemExit", "GeneratorExit", "ChannelError", "eval", "print"])
def test_what_an_error_claims_to_be_is_at_most_one_of_the_students(executor, kind):
    told = ERROR | {"type": kind, "kind": kind}
    frames = walked(executor, at("call", lambda _: {"error": told, "said": "", "lent": {}}), CELLS)
    said = (frames[2].failure or {})["message"]
    assert said.startswith(f"CheckFailed: ✗ mix: your code raised {kind}\n")


OUTPUTS = [
    "ran",
    {"output_type": "stream"},
    [3],
    [{"output_type": "stream", "name": "stdout"}],
    [{"output_type": "stream", "name": "stdlog", "text": "a"}],
    [{"output_type": "stream", "name": "stdout", "text": ["a"]}],
    [{"output_type": "stream", "name": "stdout", "text": "a", "metadata": {}}],
    [{"output_type": "stream", "name": "stdout", "text": "a" * 3_000_000}],
    [{"output_type": "stream", "name": "stdout", "text": "a"}] * 100_000,
    [{"output_type": ["stream"], "name": "stdout", "text": "a"}],
    [{"output_type": "display_data", "data": {"text/plain": 3}, "metadata": {}}],
    [{"output_type": "display_data", "data": {"text/json": [3]}, "metadata": {}}],
    [{"output_type": "display_data", "data": {3: "text"}, "metadata": {}}],
    [{"output_type": "display_data", "data": {"application/json": torch.zeros(2)}, "metadata": {}}],
    [{"output_type": "display_data", "data": {}, "metadata": {"of": {1, 2}}}],
    [{"output_type": "execute_result", "data": {}, "metadata": {}, "execution_count": -1}],
    [{"output_type": "execute_result", "data": {}, "metadata": {}, "execution_count": 10**20}],
    [{"output_type": "execute_result", "data": {}, "metadata": {}, "execution_count": True}],
    [{"output_type": "error", "ename": "E", "evalue": "e", "traceback": "line"}],
    [{"output_type": "error", "ename": "E", "evalue": "e", "traceback": [1]}],
    [{"output_type": "update_display_data", "data": {}, "metadata": {}}],
]


@pytest.mark.parametrize("outputs", OUTPUTS, ids=lambda outputs: repr(outputs)[:40])
def test_what_are_no_outputs_of_a_cell_reach_no_notebook(executor, outputs):
    frames = walked(executor, at("run", lambda answer: answer | {"answer": outputs}), CELLS)
    assert len(frames) == len(CELLS)
    for frame in (frames[0], frames[1], frames[4]):
        (error,) = frame.outputs
        assert "no output of a notebook" in error["evalue"]


def test_outputs_that_are_taken_are_valid(executor):
    forged = [
        {
            "output_type": "display_data",
            "data": {"application/json": (1, 2)},
            "metadata": {3: (1,)},
        },
        {"output_type": "stream", "name": "stderr", "text": "\ud800"},
    ]
    frames = walked(executor, at("run", lambda answer: answer | {"answer": forged}), CELLS)
    cell = nbformat.v4.new_code_cell(outputs=[nbformat.from_dict(o) for o in frames[1].outputs])
    notebook = nbformat.v4.new_notebook(cells=[cell])
    nbformat.validate(notebook)
    assert nbformat.writes(notebook).encode()
    assert frames[1].outputs[0]["metadata"] == {"3": [1]}


@pytest.mark.parametrize("said", [3, ["a"], None, "a" * 30_000_000])
def test_what_is_said_is_text_and_short(executor, said):
    frames = walked(executor, lambda _, answer: answer | {"said": said}, CELLS)
    assert all(len(json.dumps(frame.outputs)) < 200_000 for frame in frames)
    assert [frame.failure for frame in frames[2:4]] == [None, None]


CALL = {"do": "call", "number": 0, "args": (), "kwargs": {}, "needs": []}
CALL |= {"with_gradients": True, "random": torch.get_rng_state()}
REQUESTS = [
    CALL | {"number": 10**6},
    CALL | {"number": True},
    CALL | {"args": [X]},
    CALL | {"kwargs": {"self": 1}, "self": 1},
    CALL | {"needs": [1]},
    CALL | {"random": "seed"},
    {"do": "call"},
    {"do": "backward", "call": 1, "slopes": [X]},
    {"do": "backward", "call": None, "slopes": []},
    {"do": "run", "source": "raise SystemExit"},
    {"do": "place", "files": {"a": b"b"}},
    {"do": "begin"},
    {"do": "find", "names": ["mix"]},
    {"do": "state", "number": 0},
    {"do": "__class__"},
    {"do": ["call"]},
    {},
    [],
    None,
]


def test_requests_are_refused_but_for_what_a_check_has_offered(executor):
    for request in REQUESTS:
        asked = []

        def forge(told, answer, request=request, asked=asked):
            if told["do"] == "call" and not asked:
                asked.append(told)
                envelope = {"request": request, "forget": [], "lent": {}}
                return packed(envelope) + packed(answer)
            return answer

        frames = walked(executor, forge, CELLS)
        assert asked
        assert [frame.failure for frame in frames[2:4]] == [None, None]


def test_the_random_state_that_a_forged_call_brings_does_no_harm(executor):
    def forge(told, answer):
        if told["do"] != "call":
            return answer
        number = told["args"][1]["number"]  # of the check's own function
        asked = CALL | {"number": number, "args": (X,), "needs": [True], "random": X}
        return packed({"request": asked, "forget": [], "lent": {}}) + packed(answer)

    frames = walked(executor, forge, CELLS)
    assert [frame.failure for frame in frames[2:4]] == [None, None]


class Touch:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.mark.parametrize("kind", ["lent", "pickle", "module", "yours", "function", "generator"])
def test_nothing_is_unpickled(executor, tmp_path, kind):
    data = pickle.dumps(Touch(tmp_path / "touched"))
    pickle.loads(data)
    (tmp_path / "touched").unlink()  # it does what it says
    told = {"number": 0, "pickle": data, "state": data, "signature": data}
    for fields in (told, {"number": 0, "pickle": data}):
        reference = Reference(kind=kind, **fields)
        fails(executor, in_call(result=reference, random=reference))
        fails(executor, at("find", lambda a, told=reference: a | {"answer": {"mix": told}}))
    assert not list(tmp_path.iterdir())
