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
from dataclasses import asdict, dataclass, field, replace
from typing import Protocol

import psutil

from autograder.execution.cgroups import Groups
from autograder.execution.isolation.confine import Bounds
from autograder.execution.isolation.wire import LIMIT, ChannelError, receive, send

PATIENCE = 5  # seconds of wall time for one of CPU time: others want the machine too
GRACE = 2.0  # CPU seconds, after it was interrupted, that a cell may take to end
WHOLE = 10  # times what one cell may take, for all cells together
DYING = 3.0  # seconds in which one that ends by itself has told how
SHOWN = 10_000  # characters of a failure that did not fit into its cell's outputs
CREDENTIALS = struct.Struct("3i")  # process, user, group
KILLED = "something outside the grader killed its process (SIGKILL): is the machine out of memory?"


@dataclass(frozen=True)
class Limits:
    """What a submission may use: CPU seconds of one cell, bytes of memory, bytes of files.

    And characters that all its cells may show together.

    `whole` is the wall seconds of all cells together; 0: what one may wait, and a few for each
    second of CPU time that they use.
    """

    timeout: float = 60.0
    memory: int = 2 << 30
    disk: int = 64 << 20
    whole: float = 0.0
    outputs: int = 10_000_000  # the fullest lesson shows a tenth of it

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
    cut: bool = False  # some of what it showed is left out: the notebook shows too much


@dataclass
class Execution:
    """What became of a submission: CPU and wall seconds, bytes of memory, how its process ended."""

    cells: list[Ran]
    cpu: float = 0.0
    seconds: float = 0.0
    memory: int = 0
    ended: str = ""  # empty if the student's process lived to the end, else why it did not


class Lost(Exception):
    """A process ended that should not have: not to be counted; `why` it did, where that is known.

    `execution`: what had been collected by then, where nothing outside the submission was at fault.
    """

    def __init__(self, why: str = "", execution: Execution | None = None) -> None:
        super().__init__(why)
        self.execution = execution


class Nursery(Protocol):
    """A warm process, as far as it matters here."""

    def fork(self, bounds: Bounds, descriptors: list[int]) -> None:
        """A child with these open files."""


@dataclass(frozen=True)
class End:
    """How a process ended, as its parent saw it."""

    ended: int  # the status that wait(2) gives
    cpu: float  # seconds
    memory: int  # KiB
    limit: str  # for which it was killed, if it was and by our own
    by_itself: bool  # and not because we killed it

    def was_killed(self, limits: Limits) -> bool:
        """Whether somebody else killed it: not it itself, which cannot, none of its limits, not we.

        It is the machine's OOM killer, as a rule.
        """
        killed = os.WIFSIGNALED(self.ended) and os.WTERMSIG(self.ended) == signal.SIGKILL
        return killed and self.by_itself and not self.limit and not self.is_over(limits)

    def is_over(self, limits: Limits) -> bool:
        """Whether it used up its CPU time, for which the kernel kills it."""
        return self.cpu >= limits.bounds.seconds

    def why(self, limits: Limits) -> str:
        """Why it ended."""
        if self.is_over(limits):
            return "the time limit"
        if self.limit:
            return self.limit
        if os.WIFSIGNALED(self.ended):
            return f"signal {signal.Signals(os.WTERMSIG(self.ended)).name}"
        return f"exit code {os.WEXITSTATUS(self.ended)}"


class _Child:
    """A fork of a nursery, as this process sees and stops it."""

    def __init__(self, status: socket.socket) -> None:
        self._status = status
        message, ancillary, _, _ = status.recvmsg(4, socket.CMSG_SPACE(CREDENTIALS.size))
        if message != b"here":
            raise Lost
        # the kernel translates the process number between namespaces
        self.pid = CREDENTIALS.unpack(ancillary[0][2])[0]
        try:
            self._handle, self._process = os.pidfd_open(self.pid), psutil.Process(self.pid)
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

    def end(self, patience: float) -> End:
        """How it ended: by itself within so many seconds, or else killed; `Lost` if nobody tells.

        Its parent, which no student's code can reach, tells.
        """
        by_itself = bool(select.select([self._status], [], [], patience)[0])
        self.signal(signal.SIGKILL)
        told = self._status.recv(1 << 12)
        if not told:
            raise Lost
        return End(**json.loads(told), by_itself=by_itself)

    def close(self) -> None:
        """Kill it."""
        self.signal(signal.SIGKILL)
        os.close(self._handle)


class Supervisor:
    """One execution: gives out the cells, collects what became of them, keeps the time."""

    def __init__(
        self, job: Job, students: Nursery, tests: Nursery, groups: Groups | None = None
    ) -> None:
        self._groups = groups
        self._job, self._limits = job, job.limits
        self._cells = [Ran() for _ in job.cells]
        self._done = 0  # cells
        self._reason, self._gave_up = "", False
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
            channel = socket.socketpair()
            lines = [_line(), _line(), socket.socketpair()]
            self._statuses = [ours.enter_context(line[0]) for line in lines[:2]]
            self._report = ours.enter_context(lines[2][0])
            student, check, report = (theirs.enter_context(line[1]).fileno() for line in lines)
            ends = [theirs.enter_context(end).fileno() for end in channel]
            try:
                students.fork(self._limits.bounds, [ends[0], student])
                tests.fork(self._limits.bounds, [ends[1], check, report])
            except OSError:
                raise Lost from None
            self._ours = ours.pop_all()

    def execution(self) -> Execution:
        """Run it to its end."""
        start = time.monotonic()
        with self._ours, contextlib.ExitStack() as stack:
            bounds = self._limits.bounds
            group = stack.enter_context(self._groups.group(bounds)) if self._groups else None
            self._student, self._tests = (
                stack.enter_context(contextlib.closing(_Child(status))) for status in self._statuses
            )
            try:
                if group:
                    group.add(self._student.pid)
                self._give_cells()
                complete = self._collect()
            except OSError:  # nobody takes the cells
                raise Lost from None
            tests = self._tests.end(DYING)
            student = self._student.end(0 if self._is_whole() else DYING)
            if group and group.was_full:
                student = replace(student, limit="the memory limit")
            memory = group.peak if group and group.peak else student.memory << 10
        self._explain(complete, student, tests)
        seconds, cpu = time.monotonic() - start, student.cpu + tests.cpu
        execution = Execution(self._cells, cpu, seconds, memory, self._reason)
        if not complete and not self._gave_up:
            raise Lost("the checks ended", execution)
        return execution

    def _is_whole(self) -> bool:
        return all(ran.complete for ran in self._cells)

    def _explain(self, complete: bool, student: End, tests: End) -> None:
        """Say why not all cells ran; `Lost` if something outside the submission is at fault."""
        if not complete and not self._gave_up and tests.was_killed(self._limits):
            raise Lost(KILLED)
        if self._is_whole() or self._reason:
            return
        if student.was_killed(self._limits):
            raise Lost(KILLED)
        broken = "it broke the channel to the checks"
        why = student.why(self._limits) if student.by_itself else broken
        self._reason = why if complete else "the checks ended"

    def _give_cells(self) -> None:
        job = {
            "cells": [asdict(cell) for cell in self._job.cells],
            "exercises": list(self._job.exercises),
            "files": dict(self._job.files),
            "outputs": self._limits.outputs,
        }
        with self._report.makefile("wb") as stream:
            send(stream, job, LIMIT)  # type: ignore[arg-type]

    def _collect(self) -> bool:
        """Take what comes until all cells are done; False if the tests' side ends before."""
        stream = self._report.makefile("rb", buffering=0)
        began = time.monotonic()
        with stream:
            while True:
                self._keep_time(began)
                try:
                    told = receive(stream, LIMIT)  # type: ignore[arg-type]
                except ChannelError:
                    return False
                if "done" in told:
                    return True
                ran = self._cells[told["cell"]]
                ran.outputs, ran.failure, ran.cut = (
                    told["outputs"],
                    told.get("failure"),
                    told["cut"],
                )
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
        while not select.select([self._report], [], [], 0.1)[0]:
            now = time.monotonic()
            used, passed = self._used() - before, now - start
            if stop is None:
                stop = limit, limit * PATIENCE
                # who sleeps in every cell uses no CPU time, and gets no more than one cell would
                whole = self._limits.whole or PATIENCE * (limit + before + used)
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


def _line() -> tuple[socket.socket, socket.socket]:
    """A pair of sockets; the first learns which process writes into the other."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    return ours, theirs
