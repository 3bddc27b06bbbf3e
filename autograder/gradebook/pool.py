"""Many submissions: a few at a time on this machine's cores, or on a Dask cluster's workers.

Nothing is listed: tasks are read as workers get free, and what is finished comes out at once.
"""

import logging
import pickle
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from autograder.execution.executor import Executor, GraderError, Limits
from autograder.gradebook.result import Finished, Task
from autograder.gradebook.submission import graded, modules
from autograder.intake.released import Released

LOOK = 1.0  # seconds between two looks at who works
CONNECT = 10.0  # seconds in which a scheduler must answer
ALONE = 60.0  # seconds that a cluster may be without workers: new ones may come
GONE = "the Dask scheduler went away: what came before is kept; start one, then run it again"


class NotStarted(Exception):
    """What becomes of a task that is left to the next run."""


@dataclass(frozen=True)
class Setup:
    """What is the same for all of a lesson's submissions."""

    released: Released
    limits: Limits
    sandboxed: bool = True


@dataclass(frozen=True)
class Workers:
    """How a task is started, and how many may be under way; `GraderError` without workers."""

    start: Callable[[Task], Future[Finished]]
    ahead: Callable[[], int]


def stream(
    workers: Workers, tasks: Iterable[Task], stopping: Callable[[], bool] = lambda: False
) -> Iterator[tuple[Task, Future[Finished]]]:
    """Tasks as they finish, a few at a time; once it is `stopping`, no new one is started."""
    running: dict[Future[Finished], Task] = {}
    waiting = iter(tasks)
    while True:
        if stopping():
            # what waits for its turn is left to the next run
            running = {future: task for future, task in running.items() if not future.cancel()}
        ahead = workers.ahead()
        while len(running) < ahead and not stopping():
            task = next(waiting, None)
            if task is None:
                break
            running[workers.start(task)] = task
        if not running:
            return
        done, _ = wait(running, timeout=LOOK, return_when=FIRST_COMPLETED)
        for future in done:
            task = running.pop(future)
            if not isinstance(future.exception(), NotStarted):
                yield task, future


@contextmanager
def local(setup: Setup, jobs: int, stopping: Callable[[], bool]) -> Iterator[Workers]:
    """Threads of this process, which share two warm processes."""

    def run(task: Task) -> Finished:
        if stopping():  # a thread got free before `stream` took back what waits
            raise NotStarted
        return graded(task, setup.released, setup.limits, executor)

    threads = ThreadPoolExecutor(jobs)
    with Executor(modules(setup.released), setup.sandboxed) as executor:
        try:
            # as many wait: no core does while results are written
            yield Workers(partial(threads.submit, run), lambda: 2 * jobs)
        finally:
            # who still runs was given up, and ends with the executor
            threads.shutdown(wait=False, cancel_futures=True)


@contextmanager
def cluster(setup: Setup, address: str) -> Iterator[Workers]:
    """Workers of a Dask cluster; `GraderError` if its scheduler cannot be reached."""
    packed = pickle.dumps(setup)
    with _client(address) as client:
        yield Workers(lambda task: _sent(client, task, packed), _Threads(client).ahead)


def _client(address: str) -> Any:
    try:
        from distributed import Client, Security
        from distributed.comm.addressing import get_address_host_port
    except ImportError:
        raise GraderError("Dask is not installed: pip install distributed") from None
    # its tracebacks: what they mean is told in one line
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        # a client that fails for such a reason hangs when it is deleted
        get_address_host_port(address)
        secured = Security().get_connection_args("client")["ssl_context"]
        if address.startswith("tls:") and not secured:
            raise ValueError("Dask's configuration names no certificates (distributed.comm.tls)")
        return Client(address, timeout=CONNECT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise GraderError(f"no Dask scheduler answers at {address}: {error}") from None


def _sent(client: Any, task: Task, packed: bytes) -> Future[Finished]:
    """A task on its way; its result is `CancelledError` if the scheduler goes away."""
    # what a task needs goes with it: no worker's death can lose it
    remote = client.submit(on_worker, task, packed, pure=False, retries=2)
    future: Future[Finished] = Future()
    future.set_running_or_notify_cancel()

    # `client.get_executor` would tell nothing of a scheduler that goes while it hands out a result
    async def pass_on() -> None:
        try:
            future.set_result(await remote)
        except BaseException as error:
            future.set_exception(error if remote.status == "error" else CancelledError())

    client.loop.add_callback(pass_on)
    return future


class _Threads:
    """How many threads a cluster has: workers come and go."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._count = 0
        self._looked, self._seen = 0.0, time.monotonic()

    def ahead(self) -> int:
        """One task that waits for each that runs, so that no worker does."""
        now = time.monotonic()
        if now > self._looked + LOOK:
            self._count, self._looked = self._counted(), now
        if self._count:
            self._seen = now
        elif now > self._seen + ALONE:
            raise GraderError("the Dask scheduler has no workers: start some, then run it again")
        return max(1, 2 * self._count)

    def _counted(self) -> int:
        try:
            if self._client.status == "running":
                return sum(self._client.nthreads().values())
        except OSError:
            pass
        raise GraderError(GONE)


def on_worker(task: Task, packed: bytes) -> Finished:
    """Grade a submission in a worker of a cluster, which keeps its warm processes."""
    try:
        with _STARTING:
            setup, wanted = _unpacked(packed)
            executor = _warm(wanted, setup.sandboxed)
        return graded(task, setup.released, setup.limits, executor)
    except GraderError as error:
        raise GraderError(f"{socket.gethostname()}: {error}") from None


_STARTING = threading.Lock()  # a worker's threads share its warm processes


@lru_cache(maxsize=2)  # it comes with each task, and is the same for a whole lesson
def _unpacked(packed: bytes) -> tuple[Setup, frozenset[str]]:
    setup = pickle.loads(packed)
    return setup, frozenset(modules(setup.released))


@lru_cache(maxsize=2)  # lessons at a time; what is dropped ends with its last submission
def _warm(wanted: frozenset[str], sandboxed: bool) -> Executor:
    return Executor(wanted, sandboxed).__enter__()
