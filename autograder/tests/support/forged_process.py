"""A student's process that one can make forge any of its answers, before a real tests' side."""

import contextlib
import io
import socket
import threading
from collections.abc import Callable
from typing import Any

import torch

from autograder.execution.executor import Executor, Limits
from autograder.execution.isolation.framing import LENGTHS, LIMIT, ChannelError
from autograder.execution.isolation.messages import (
    HERE,
    CellResult,
    CodeCell,
    Walk,
    receive_report,
    send_walk,
)
from autograder.execution.isolation.wire import receive, send

GIVEN = """
import torch
from torch import nn
from transformer_course.checks import Check, numbers
"""
CHECK = """
with Check("mix", "twice") as check:
    x, linear = numbers(2, 3).requires_grad_(), nn.Linear(2, 2)
    kept, generator = linear.weight.detach().clone(), torch.Generator()
    result = check.call(x, lambda x: x, linear, generator)
    check.equal(result, 2 * x, "twice the input")
    check.equal(check.gradient(result, x), torch.full((2, 3), 2.0).double(), "slope 2")
    check.equal(linear.weight, kept, "the check's own module stays as it is")
"""
Message = Any
Forge = Callable[[Message, Message], Message]  # what is asked, the honest envelope -> what is sent


class Last(bytes):
    """After these bytes, the student's process is gone."""


class Function:
    """Crosses as a reference to a function of the student's."""


def honest(request: Message) -> Message:
    """What a student's process would answer whose `mix` gives twice its input."""
    do = request["do"]
    answer: Message = None
    if do == "run":
        answer = [{"output_type": "stream", "name": "stdout", "text": "ran"}]
    elif do == "find":
        answer = {"mix": Function()}
    elif do == "call":
        x = request["args"][0]
        answer = {
            "result": 2 * x,
            "requires": [True],
            "call": 1,
            "changed": {},
            "generators": [torch.Generator().get_state()],
            "random": request["random"],
        }
    elif do == "backward":
        answer = [2 * request["slopes"][0], None, None]
    return {"answer": answer, "lent": {}, "said": ""}


def packed(message: Message) -> bytes:
    """A message as it crosses."""
    if isinstance(message, bytes):
        return message
    stream = io.BytesIO()

    def encode_reference(value: Any) -> dict | None:
        if isinstance(value, Function):
            return {"kind": "function", "number": 0, "signature": None}
        return value.told if isinstance(value, Reference) else None

    send(stream, message, LIMIT, encode_reference)  # type: ignore[arg-type]
    return stream.getvalue()


class Reference:
    """Crosses as any reference that one may think of."""

    def __init__(self, **told: Any) -> None:
        self.told = told


def raw(head: str, length: int | None = None) -> bytes:
    """A frame with this head, and perhaps a length of its own."""
    body = head.encode()
    return LENGTHS.pack(len(body) if length is None else length, len(body)) + body


def in_call(**changes: Message) -> Forge:
    """In the answer to a call, these fields are forged."""

    def forge(request: Message, answer: Message) -> Message:
        if request["do"] == "call":
            return answer | {"answer": answer["answer"] | changes}
        return answer

    return forge


def at(do: str, make: Callable[[Message], Message]) -> Forge:
    """This kind of request gets another answer."""
    return lambda request, answer: make(answer) if request["do"] == do else answer


def walked(executor: Executor, forge: Forge, cells: list[tuple[str, str]]) -> list[CellResult]:
    """What the tests' side reports of these cells, when the student's side forges."""
    channel, theirs = socket.socketpair()
    status, told_here = socket.socketpair()
    report, reporting = socket.socketpair()
    _, tests = executor._pair()
    tests.fork(Limits().bounds, [end.fileno() for end in (theirs, told_here, reporting)])
    for end in (theirs, told_here, reporting):
        end.close()
    student = threading.Thread(target=play, args=(channel, forge))
    student.start()
    reports = []
    with status, report, report.makefile("rwb") as stream:
        assert status.recv(len(HERE)) == HERE
        told = [CodeCell(role, source) for role, source in cells]
        send_walk(stream, Walk(told, ["mix"], {}, outputs=10_000))
        while isinstance(told_back := receive_report(stream), CellResult):
            reports.append(told_back)
    channel.close()
    student.join()
    return reports


def play(channel: socket.socket, forge: Forge) -> None:
    """Answer requests until the tests' side is gone."""
    with channel.makefile("rwb") as stream, contextlib.suppress(ChannelError, OSError):
        while True:
            asked = receive(stream, LIMIT, lambda reference: reference)
            if "request" not in asked:  # it was asked something, and has answered
                continue
            message = packed(forge(asked["request"], honest(asked["request"])))
            stream.write(message)
            stream.flush()
            if isinstance(message, Last):
                channel.shutdown(socket.SHUT_RDWR)
                return


CELLS = [("given", GIVEN), ("student", "1"), ("check", CHECK), ("check", CHECK), ("student", "2")]
