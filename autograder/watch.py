"""One execution, seen from outside: what it is given, what came of it, and when it is stopped.

The student's process and the tests' are forks of two warm ones. CPU time counts, not the clock: on
a busy machine honest work takes long. Nothing that a student's process says of itself is believed.
"""

import contextlib
import json
import os
import select
import signal
import socket
import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Protocol

import psutil

from autograder.apart.confine import Bounds
from autograder.apart.wire import ChannelError, receive, send

MESSAGE = 1 << 28  # bytes of one message between this process and the tests' side
PATIENCE = 5  # seconds of wall time for one of CPU time: others want the machine too
GRACE = 2.0  # CPU seconds, after it was interrupted, that a cell may take to end
WHOLE = 10  # times what one cell may take, for all cells together
SHOWN = 10_000  # characters of a failure that did not fit into its cell's outputs
CREDENTIALS = struct.Struct("3i")  # process, user, group


@dataclass(frozen=True)
class Limits:
    """What a submission may use: CPU seconds of one cell, bytes of memory, bytes of files.

    `whole` is the wall seconds of all cells together; 0: many times what one may take.
    """

    timeout: float = 60.0
    memory: int = 2 << 30
    disk: int = 64 << 20
    whole: float = 0.0

    @property
    def bounds(self) -> Bounds:
        """The same, as the kernel is told."""
        return Bounds(self.memory, self.disk, max(1, round(self.timeout * WHOLE)))


@dataclass(frozen=True)
class CodeCell:
    """A cell to execute: `student` or `given` over there, `given` and `check` here."""

    role: str
    source: str


@dataclass(frozen=True)
class Job:
    """One submission's cells, the names that its checks ask for, the files that lay beside it."""

    cells: Sequence[CodeCell]
    exercises: Sequence[str]
    files: Mapping[str, bytes] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)


@dataclass
class Ran:
    """What became of a cell: its outputs, and what the check that failed has to say."""

    outputs: list[dict] = field(default_factory=list)
    failure: dict | None = None  # message, clue, line of the check
    stopped: bool = False  # by the time limit
    complete: bool = False  # the student's side was there to the end of it


@dataclass
class Execution:
    """What became of a submission: CPU and wall seconds, bytes of memory, how its process ended."""

    cells: list[Ran]
    cpu: float = 0.0
    seconds: float = 0.0
    memory: int = 0
    ended: str = ""  # empty if the student's process lived to the end, else why it did not


class Lost(Exception):
    """A process of the grader's ended, and a submission's with it: not to be counted."""

    def __init__(self, execution: Execution | None = None) -> None:
        super().__init__()
        self.execution = execution  # what had been collected by then


class Nursery(Protocol):
    """A warm process, as far as it matters here."""

    def fork(self, bounds: Bounds, descriptors: list[int]) -> None:
        """A child with these open files."""


class _Child:
    """A fork of a nursery, as this process sees and stops it."""

    def __init__(self, line: socket.socket) -> None:
        message, ancillary, _, _ = line.recvmsg(4, socket.CMSG_SPACE(CREDENTIALS.size))
        if message != b"here":
            raise Lost
        # the kernel translates the process number between namespaces
        pid = CREDENTIALS.unpack(ancillary[0][2])[0]
        try:
            self._handle, self._process = os.pidfd_open(pid), psutil.Process(pid)
        except (OSError, psutil.NoSuchProcess):
            raise Lost from None

    def cpu(self) -> float:
        """CPU seconds so far."""
        try:
            times = self._process.cpu_times()
        except psutil.NoSuchProcess:
            return 0.0
        return times.user + times.system

    def signal(self, number: int) -> None:
        """Signal it, if it still lives: the handle means no other process, ever."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, number)

    def close(self) -> None:
        """Kill it."""
        self.signal(signal.SIGKILL)
        os.close(self._handle)


class Watch:
    """One execution: gives out the cells, collects what became of them, keeps the time."""

    def __init__(self, job: Job, students: Nursery, tests: Nursery) -> None:
        self._job, self._limits = job, job.limits
        self._cells = [Ran() for _ in job.cells]
        self._done = 0  # cells
        self._cpu_of_tests = 0.0
        self._reason, self._gave_up = "", False
        channel = socket.socketpair()
        self._status, status = _line(socket.SOCK_SEQPACKET)
        self._report, report = _line(socket.SOCK_STREAM)
        with contextlib.ExitStack() as theirs:
            for end in (*channel, status, report):
                theirs.enter_context(end)
            try:
                students.fork(self._limits.bounds, [channel[0].fileno(), status.fileno()])
                tests.fork(self._limits.bounds, [channel[1].fileno(), report.fileno()])
            except OSError:
                self._status.close()
                self._report.close()
                raise Lost from None

    def execution(self) -> Execution:
        """Run it to its end."""
        start = time.monotonic()
        with self._status, self._report, contextlib.ExitStack() as children:
            self._student = children.enter_context(contextlib.closing(_Child(self._status)))
            self._tests = children.enter_context(contextlib.closing(_Child(self._report)))
            try:
                self._give_cells()
                complete = self._collect()
            except OSError:  # nobody takes the cells
                raise Lost from None
            # one that ended by itself is about to say how
            whole = all(ran.complete for ran in self._cells)
            by_itself = bool(select.select([self._status], [], [], 0 if whole else 1)[0])
            self._student.signal(signal.SIGKILL)
            told = self._status.recv(1 << 12)
        if not told:
            raise Lost
        how = json.loads(told)
        if not whole and not self._reason:
            why = _why(how, self._limits) if by_itself else "it broke the channel to the checks"
            self._reason = why if complete else "the checks ended"
        seconds, memory = time.monotonic() - start, how["memory"] << 10
        cpu = how["cpu"] + self._cpu_of_tests
        execution = Execution(self._cells, cpu, seconds, memory, self._reason)
        if not complete and not self._gave_up:
            raise Lost(execution)
        return execution

    def _give_cells(self) -> None:
        job = {
            "cells": [asdict(cell) for cell in self._job.cells],
            "exercises": list(self._job.exercises),
            "files": dict(self._job.files),
        }
        with self._report.makefile("wb") as stream:
            send(stream, job, MESSAGE)  # type: ignore[arg-type]

    def _collect(self) -> bool:
        """Take what comes until all cells are done; False if the tests' side ends before."""
        stream = self._report.makefile("rb", buffering=0)
        began = time.monotonic()
        with stream:
            while True:
                self._keep_time(began)
                try:
                    told = receive(stream, MESSAGE)  # type: ignore[arg-type]
                except ChannelError:
                    return False
                if "cell" not in told:
                    self._cpu_of_tests = told["cpu"]
                    return True
                ran = self._cells[told["cell"]]
                ran.outputs, ran.failure = told["outputs"], told.get("failure")
                if ran.failure and not any(o["output_type"] == "error" for o in ran.outputs):
                    ran.outputs.append(_error(ran.failure["message"]))
                ran.complete = "ended" not in told
                self._done += 1

    def _keep_time(self, began: float) -> None:
        """Wait for the next message; stop the cell that runs when its time is over."""
        start, before = time.monotonic(), self._used()
        stop = None  # CPU and wall seconds at which the next, stronger measure is taken
        measures = iter([self._interrupt, self._kill_student, self._kill_tests])
        limit = self._limits.timeout
        whole = self._limits.whole or limit * PATIENCE * WHOLE
        while not select.select([self._report], [], [], 0.1)[0]:
            now = time.monotonic()
            used, passed = self._used() - before, now - start
            if stop is None:
                stop = limit, limit * PATIENCE
                if now - began > whole:
                    stop = 0.0, 0.0
            if used > stop[0] or passed > stop[1]:
                next(measures, self._kill_tests)()
                stop = used + GRACE, passed + GRACE * PATIENCE

    def _used(self) -> float:
        return self._student.cpu() + self._tests.cpu()

    def _interrupt(self) -> None:
        if self._done < len(self._cells):
            self._cells[self._done].stopped = True
        self._student.signal(signal.SIGINT)

    def _kill_student(self) -> None:
        self._reason = "the time limit"
        self._student.signal(signal.SIGKILL)

    def _kill_tests(self) -> None:
        self._gave_up = True
        self._tests.signal(signal.SIGKILL)


def _error(message: str) -> dict:
    """A check's failure, where what a student made it say left no room for it in the outputs.

    nbgrader takes a check without an error for one that passed.
    """
    name, _, said = message[:SHOWN].partition(": ")
    shown = {"ename": name, "evalue": said, "traceback": [message[:SHOWN]]}
    return {"output_type": "error"} | shown


def _line(kind: int) -> tuple[socket.socket, socket.socket]:
    """A pair of sockets; the first learns which process writes into the other."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, kind)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    return ours, theirs


def _why(how: dict, limits: Limits) -> str:
    """Why the student's process ended, of what its parent saw."""
    ended = how["ended"]
    if how["cpu"] >= limits.bounds.seconds:
        return "the time limit"
    if os.WIFSIGNALED(ended):
        return f"signal {signal.Signals(os.WTERMSIG(ended)).name}"
    return f"exit code {os.WEXITSTATUS(ended)}"
