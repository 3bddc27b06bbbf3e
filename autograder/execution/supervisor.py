"""One execution, seen from outside: what it is given, what came of it, and when it is stopped.

The student's process and the tests' are forks of two warm ones. CPU time counts, not the clock: on
a busy machine honest work takes long. Nothing that a student's process says of itself is believed.
"""

import contextlib
import select
import signal
import socket
import time
from dataclasses import replace
from typing import Protocol

from autograder.execution.cgroups import Groups
from autograder.execution.child import Child, End, Lost, status_pair
from autograder.execution.isolation.confine import Bounds
from autograder.execution.isolation.framing import ChannelError
from autograder.execution.isolation.messages import (
    CellResult,
    Done,
    Walk,
    receive_report,
    send_walk,
)
from autograder.execution.job import Execution, Job, Ran

PATIENCE = 5  # seconds of wall time for one of CPU time: others want the machine too
GRACE = 2.0  # CPU seconds, after it was interrupted, that a cell may take to end
DYING = 3.0  # seconds in which one that ends by itself has told how
SHOWN = 10_000  # characters of a failure that did not fit into its cell's outputs
KILLED = "something outside the grader killed its process (SIGKILL): is the machine out of memory?"


class Forks(Protocol):
    """A fork server, as far as it matters here."""

    def fork(self, bounds: Bounds, descriptors: list[int]) -> None:
        """A child with these open files."""


class Supervisor:
    """One execution: gives out the cells, collects what became of them, keeps the time."""

    def __init__(
        self, job: Job, students: Forks, tests: Forks, groups: Groups | None = None
    ) -> None:
        self._groups = groups
        self._job, self._limits = job, job.limits
        self._cells = [Ran() for _ in job.cells]
        self._done = 0  # cells
        self._reason, self._gave_up = "", False
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
            channel = socket.socketpair()
            lines = [status_pair(), status_pair(), socket.socketpair()]
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
                stack.enter_context(contextlib.closing(Child(status))) for status in self._statuses
            )
            try:
                if group:
                    group.add(self._student.pid)
                self._give_cells()
                complete = self._collect()
            except OSError:  # the process has ended
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
        job = self._job
        cells, exercises, files = list(job.cells), list(job.exercises), dict(job.files)
        with self._report.makefile("wb") as stream:
            send_walk(stream, Walk(cells, exercises, files, self._limits.outputs))  # type: ignore[arg-type]

    def _collect(self) -> bool:
        """Take what comes until all cells are done; False if the tests' side ends before."""
        stream = self._report.makefile("rb", buffering=0)
        began = time.monotonic()
        with stream:
            while True:
                self._keep_time(began)
                try:
                    report = receive_report(stream)  # type: ignore[arg-type]
                except ChannelError:
                    return False
                if isinstance(report, Done):
                    return self._done == len(self._cells)
                if report.cell != self._done or report.cell >= len(self._cells):
                    return False
                self._take(report)

    def _take(self, report: CellResult) -> None:
        ran = self._cells[report.cell]
        ran.outputs, ran.failure, ran.cut = report.outputs, report.failure, report.cut
        if ran.failure and not any(o["output_type"] == "error" for o in ran.outputs):
            ran.outputs.append(_error(ran.failure["message"]))
        ran.complete = report.ended is None
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
