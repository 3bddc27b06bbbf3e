"""Execute submissions: the student's cells in one process, the checks in another, both warm.

    with Executor() as executor:
        execution = executor.execute(Job(cells, exercises))

Each submission gets two forks: its student's side inside the sandbox, and its tests' side, which
alone is given the checks. This process gives them their cells, measures their CPU time from
outside, and stops them. Nothing here knows what a lesson teaches.
"""

import ast
import base64
import contextlib
import os
import select
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, Self

from autograder.errors import CourseError
from autograder.execution import cgroups, sandbox
from autograder.execution.child import Lost
from autograder.execution.isolation.confine import Bounds, Isolation
from autograder.execution.isolation.messages import (
    WARM,
    CodeCell,
    Fork,
    IsolationSettings,
    Settings,
    to_json,
)
from autograder.execution.job import Execution, Job, Limits, Ran
from autograder.execution.supervisor import Supervisor

__all__ = [
    "CodeCell",
    "Execution",
    "Executor",
    "GraderError",
    "Job",
    "Limits",
    "Ran",
    "modules_of",
]
Side = Literal["student", "tests"]
SIDES: tuple[Side, ...] = ("student", "tests")
TRIES = 3  # a submission whose process was killed from outside is executed again


class GraderError(CourseError):
    """The grader's own processes do not work: no student's doing."""


class Executor:
    """Two warm processes, from which each submission gets two forks; threads may share it."""

    def __init__(self, modules: Iterable[str] = (), sandboxed: bool = True) -> None:
        self._modules, self._sandboxed = sorted(modules), sandboxed
        self._isolation, self._program = Isolation.NONE, b""
        self._users: range | None = None
        self._groups: cgroups.Groups | None = None
        self._starting = threading.Lock()
        # warm processes end with the thread that started them: one that lasts
        self._starter = ThreadPoolExecutor(1)
        self._servers: dict[Side, ForkServer] = {}
        self._closed = False

    def __enter__(self) -> Self:
        if sys.platform != "linux":
            raise GraderError(sandbox.refusal())
        if self._sandboxed and (refusal := sandbox.refusal()):
            raise GraderError(f"{refusal} (or, for notebooks you trust: --no-sandbox)")
        if self._sandboxed:
            self._isolation = sandbox.available_isolation()
            self._users = sandbox.users() if self._isolation == Isolation.LANDLOCK else None
            self._program = sandbox.program(self._isolation, self._users)
        self._groups = cgroups.available()
        # side by side: what takes long is importing
        self._servers = {side: self._started(side) for side in SIDES}
        for server in self._servers.values():
            server.wait_until_warm()
        return self

    def __exit__(self, *_: object) -> None:
        """End it, and with it what other threads still execute."""
        with self._starting:
            self._closed = True
            for server in self._servers.values():
                server.close()
        self._starter.shutdown()
        if self._groups:
            self._groups.clear()

    def execute(self, job: Job) -> Execution:
        """Run a job's cells in order; `GraderError` if the grader cannot."""
        last = Lost()
        for _ in range(TRIES):
            try:
                return Supervisor(job, *self._pair(), self._groups).execution()
            except Lost as lost:
                last = lost
        if last.execution:  # the tests' side alone ends each time: the submission's doing
            return last.execution
        said = [str(last), *(server.last_words() for server in self._servers.values())]
        why = "; ".join(filter(None, said))
        raise GraderError(f"the grader's processes end again and again: {why}")

    def _pair(self) -> tuple["ForkServer", "ForkServer"]:
        with self._starting:
            if self._closed:
                raise GraderError("the executor is closed")
            for _ in range(TRIES):
                # one that does not get warm is found dead, like one that ends meanwhile
                dead: list[Side] = [side for side in SIDES if not self._servers[side].lives()]
                for side in dead:
                    self._servers[side].close()
                    self._servers[side] = self._started(side)
                for side in dead:
                    with contextlib.suppress(GraderError):
                        self._servers[side].wait_until_warm()
            return self._servers["student"], self._servers["tests"]

    def _started(self, side: Side) -> "ForkServer":
        users = self._users if side == "student" else None
        isolation = IsolationSettings(
            kind=self._isolation,
            program=base64.b64encode(self._program).decode(),
            visible=[str(path) for path in sandbox.seen()],
            user=sandbox.user(side) if self._isolation == Isolation.LANDLOCK else None,
            users=[users.start, users.stop] if users else [],
        )
        return self._starter.submit(ForkServer, side, self._modules, isolation).result()


def modules_of(sources: Iterable[str]) -> set[str]:
    """The modules that these cells import."""
    found: set[str] = set()
    for source in sources:
        try:
            nodes = list(ast.walk(ast.parse(source)))
        except (SyntaxError, ValueError):  # a cell with magic commands imports late
            continue
        for node in nodes:
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module)
    return found


class ForkServer:
    """This end of a warm process: see `autograder.execution.isolation.fork_server`."""

    def __init__(self, side: Side, modules: list[str], isolation: IsolationSettings) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        # without namespaces, submissions have their folders here; they go when it goes
        self._folder = tempfile.TemporaryDirectory(prefix="grading-", ignore_cleanup_errors=True)
        if isolation.user:
            os.chown(self._folder.name, isolation.user, isolation.user)
            # submissions with users of their own pass through it
            os.chmod(self._folder.name, 0o711 if isolation.users else 0o700)
        settings = Settings(side, theirs.fileno(), modules, isolation)
        program = ["-m", "autograder.execution.isolation.fork_server", to_json(settings).decode()]
        inside = [sys.executable, "-P", *program]
        wrapped = isolation.kind == Isolation.BUBBLEWRAP
        self.process = subprocess.Popen(
            sandbox.command(inside) if wrapped else inside,
            env=sandbox.environment_of(isolation.kind, self._folder.name),
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,  # Ctrl-C in the terminal is for this process alone
        )
        theirs.close()

    def wait_until_warm(self) -> None:
        """`GraderError`, with what it said, if it does not start."""
        if self._control.recv(16) != WARM:
            raise GraderError(f"the sandbox does not start: {self.last_words() or 'killed'}")

    def lives(self) -> bool:
        """Whether it takes messages: it sends none, so all that can be read is its end."""
        return not select.select([self._control], [], [], 0)[0]

    def last_words(self) -> str:
        """The last line that it wrote."""
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    def fork(self, bounds: Bounds, descriptors: list[int]) -> None:
        """A child with these open files."""
        socket.send_fds(self._control, [to_json(Fork(bounds))], descriptors)

    def close(self) -> None:
        """End it, and all its children."""
        self._control.close()
        self.process.kill()
        self.process.wait()
        self._log.close()
        self._folder.cleanup()
