"""A process that runs one side of a submission, seen from outside: its CPU time and its end."""

import contextlib
import os
import select
import signal
import socket
import struct
from dataclasses import dataclass

import psutil

from autograder.execution.isolation.messages import DATAGRAM, HERE, Ended, from_json
from autograder.execution.job import Execution, Limits

CREDENTIALS = struct.Struct("3i")  # process, user, group


class Lost(Exception):
    """A process ended that should not have: not to be counted; `why` it did, where that is known.

    `execution`: what had been collected by then, where nothing outside the submission was at fault.
    """

    def __init__(self, why: str = "", execution: Execution | None = None) -> None:
        super().__init__(why)
        self.execution = execution


@dataclass(frozen=True)
class End(Ended):
    """How a process ended, as its parent saw it."""

    by_itself: bool  # and not because the supervisor killed it

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


class Child:
    """A fork of a fork server, as the supervisor sees and stops it."""

    def __init__(self, status: socket.socket) -> None:
        self._status = status
        message, ancillary, _, _ = status.recvmsg(4, socket.CMSG_SPACE(CREDENTIALS.size))
        if message != HERE:
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
        """How it ended: by itself within so many seconds, or killed; `Lost` if that is unknown.

        Its parent reports it, out of reach of the student's code.
        """
        by_itself = bool(select.select([self._status], [], [], patience)[0])
        self.signal(signal.SIGKILL)
        try:
            told = from_json(Ended, self._status.recv(DATAGRAM))
        except ValueError:  # of nothing too: the parent is gone
            raise Lost from None
        return End(**vars(told), by_itself=by_itself)

    def close(self) -> None:
        """Kill it."""
        self.signal(signal.SIGKILL)
        os.close(self._handle)


def status_pair() -> tuple[socket.socket, socket.socket]:
    """A pair of sockets; the first learns which process writes into the other."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    return ours, theirs
