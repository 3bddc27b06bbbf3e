"""Judge answers in two processes, forked from a warm one: the work in one, its checks in another.

Enough for answers banks, which authors write. Not for strangers' code: nothing confines it, and
the process that both are forked from has read the tests.
"""

import contextlib
import io
import linecache
import multiprocessing
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import torch
from transformer_course.checks.misconceptions import Clue

from autograder.apart.student_side import StudentSide
from autograder.apart.test_side import TestSide
from autograder.apart.wire import ChannelError

LIMIT = 1 << 26  # bytes of one message: results of exercises are small
fork = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Outcome:
    """What became of one check; one that failed on the answer's results leaves a clue."""

    passed: bool
    message: str = ""
    clue: Clue | None = None


@dataclass(frozen=True)
class Trial:
    """What the student's side runs (`work`), and what the tests' side does (`given`, `checks`)."""

    work: Sequence[str]
    exercises: Sequence[str]
    given: Sequence[str]
    checks: Sequence[str]


def warm_up(cells: Sequence[str]) -> None:
    """Import once what every child needs; a parent with one torch thread can be forked safely."""
    torch.set_num_threads(1)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for cell in cells:
        exec(cell, namespace)


def outcomes(trial: Trial, timeout: float = 60.0) -> list[Outcome]:
    """What becomes of each check; a trial that takes too long or dies passes none."""
    ours, theirs = socket.socketpair()
    receiver, sender = fork.Pipe(duplex=False)
    student = fork.Process(target=_serve, args=(theirs, ours))
    student.start()
    theirs.close()
    tests = fork.Process(target=_judge, args=(ours, sender, trial))
    tests.start()
    ours.close()
    sender.close()
    try:
        # a child that dies closes its end: poll returns, and recv raises EOFError
        if receiver.poll(timeout):
            return receiver.recv()
        return [Outcome(False, f"no result after {timeout:g} s")] * len(trial.checks)
    except EOFError:
        return [Outcome(False, "the checks ended before they gave a result")] * len(trial.checks)
    finally:
        for process in (tests, student):
            process.kill()
            process.join()


def _serve(end: socket.socket, other: socket.socket) -> None:
    other.close()
    with end.makefile("rwb") as stream:
        StudentSide(stream, LIMIT).serve()


def _judge(end: socket.socket, sender: Connection, trial: Trial) -> None:
    with end.makefile("rwb") as stream, contextlib.redirect_stdout(io.StringIO()):
        side = TestSide(stream, LIMIT)
        try:
            for number, source in enumerate(trial.work):
                # as in a notebook, a cell that stops does not stop the next
                with contextlib.suppress(Exception):
                    side.run(source, f"<cell {number}>")
            results = [_outcome(side, trial, source) for source in trial.checks]
        except ChannelError as error:
            results = [Outcome(False, f"the student's process ended: {error}")] * len(trial.checks)
    sender.send(results)


def _outcome(side: TestSide, trial: Trial, source: str) -> Outcome:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for cell in trial.given:
        exec(cell, namespace)
    namespace |= side.stand_ins(trial.exercises)
    linecache.cache["<check>"] = (len(source), None, source.splitlines(keepends=True), "<check>")
    try:
        exec(compile(source, "<check>", "exec"), namespace)
    except Exception as error:
        return Outcome(False, f"{type(error).__name__}: {error}", getattr(error, "clue", None))
    return Outcome(True)
