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
import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Self

from autograder.execution import cgroups, sandbox
from autograder.execution.isolation.confine import Bounds
from autograder.execution.sandbox import Isolation
from autograder.execution.supervisor import CodeCell, Execution, Job, Limits, Lost, Ran, Supervisor

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
TRIES = 3  # a submission whose process was killed from outside is executed again


class GraderError(Exception):
    """The grader's own processes do not work: no student's doing."""


class Executor:
    """Two warm processes, from which each submission gets two forks; threads may share it."""

    def __init__(self, modules: Iterable[str] = (), sandboxed: bool = True) -> None:
        self._modules, self._sandboxed = sorted(modules), sandboxed
        self._wall, self._program = Isolation.NONE, b""
        self._users: range | None = None
        self._groups: cgroups.Groups | None = None
        self._starting = threading.Lock()
        # warm processes end with the thread that started them: one that lasts
        self._starter = ThreadPoolExecutor(1)
        self._nurseries: dict[str, _Nursery] = {}
        self._closed = False

    def __enter__(self) -> Self:
        if sys.platform != "linux":
            raise GraderError(sandbox.refusal())
        if self._sandboxed and (refusal := sandbox.refusal()):
            raise GraderError(f"{refusal} (or, for notebooks you trust: --no-sandbox)")
        if self._sandboxed:
            self._wall = sandbox.available_isolation()
            self._users = sandbox.users() if self._wall == Isolation.LANDLOCK else None
            self._program = sandbox.program(self._wall, self._users)
        self._groups = cgroups.available()
        # side by side: what takes long is importing
        self._nurseries = {side: self._started(side) for side in ("student", "tests")}
        for nursery in self._nurseries.values():
            nursery.wait_until_warm()
        return self

    def __exit__(self, *_: object) -> None:
        """End it, and with it what other threads still execute."""
        with self._starting:
            self._closed = True
            for nursery in self._nurseries.values():
                nursery.close()
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
        said = [str(last), *(nursery.last_words() for nursery in self._nurseries.values())]
        why = "; ".join(filter(None, said))
        raise GraderError(f"the grader's processes end again and again: {why}")

    def _pair(self) -> tuple["_Nursery", "_Nursery"]:
        with self._starting:
            if self._closed:
                raise GraderError("the executor is closed")
            for _ in range(TRIES):
                # one that does not get warm is found dead, like one that ends meanwhile
                dead = [side for side, nursery in self._nurseries.items() if not nursery.lives()]
                for side in dead:
                    self._nurseries[side].close()
                    self._nurseries[side] = self._started(side)
                for side in dead:
                    with contextlib.suppress(GraderError):
                        self._nurseries[side].wait_until_warm()
            return self._nurseries["student"], self._nurseries["tests"]

    def _started(self, side: str) -> "_Nursery":
        users = self._users if side == "student" else None
        arguments = side, self._modules, self._wall, self._program, users
        return self._starter.submit(_Nursery, *arguments).result()


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


class _Nursery:
    """A warm process: see `autograder.execution.isolation.fork_server`."""

    def __init__(
        self, side: str, modules: list[str], wall: Isolation, program: bytes, users: range | None
    ) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        # without namespaces, submissions have their folders here; they go when it goes
        self._folder = tempfile.TemporaryDirectory(prefix="grading-", ignore_cleanup_errors=True)
        user = sandbox.user(side) if wall == Isolation.LANDLOCK else None
        if user:
            os.chown(self._folder.name, user, user)
            os.chmod(self._folder.name, 0o711 if users else 0o700)  # they pass through it
        settings = {
            "side": side,
            "control": theirs.fileno(),
            "modules": modules,
            "wall": wall,
            "program": base64.b64encode(program).decode(),
            "seen": [str(path) for path in sandbox.seen()],
            "user": user,
            "users": [users.start, users.stop] if users else [],
        }
        inside = [
            sys.executable,
            "-P",
            "-m",
            "autograder.execution.isolation.fork_server",
            json.dumps(settings),
        ]
        self.process = subprocess.Popen(
            sandbox.command(inside) if wall == Isolation.BUBBLEWRAP else inside,
            env=sandbox.environment_of(wall, self._folder.name),
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,  # Ctrl-C in the terminal is for this process alone
        )
        theirs.close()

    def wait_until_warm(self) -> None:
        """`GraderError`, with what it said, if it does not start."""
        if self._control.recv(16) != b"warm":
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
        socket.send_fds(
            self._control, [json.dumps({"bounds": asdict(bounds)}).encode()], descriptors
        )

    def close(self) -> None:
        """End it, and all its children."""
        self._control.close()
        self.process.kill()
        self.process.wait()
        self._log.close()
        self._folder.cleanup()
