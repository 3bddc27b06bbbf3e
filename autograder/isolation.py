"""Run a notebook's cells in a process of their own, forked from a warm one."""

import contextlib
import io
import linecache
import multiprocessing
from dataclasses import dataclass
from multiprocessing.connection import Connection

import torch
from transformer_course.checks.misconceptions import Clue


@dataclass(frozen=True)
class Outcome:
    """What became of one cell; a check that failed on the answer's results leaves a clue."""

    passed: bool
    message: str = ""
    clue: Clue | None = None


def warm_up(cells: list[str]) -> None:
    """Import once what every child needs; a parent with one torch thread can be forked safely."""
    torch.set_num_threads(1)
    _run([], cells)


def outcomes(setup: list[str], judged: list[str], timeout: float = 60.0) -> list[Outcome]:
    """Run `setup`, then each of `judged`, in one namespace; errors stop a cell, not the run."""
    fork = multiprocessing.get_context("fork")
    receiver, sender = fork.Pipe(duplex=False)
    child = fork.Process(target=_send, args=(sender, setup, judged))
    child.start()
    sender.close()
    try:
        # a child that dies closes its end: poll returns, and recv raises EOFError
        if receiver.poll(timeout):
            return receiver.recv()
        return [Outcome(False, f"no result after {timeout:g} s")] * len(judged)
    except EOFError:
        return [Outcome(False, "the process ended before it gave a result")] * len(judged)
    finally:
        child.kill()
        child.join()


def _send(sender: Connection, setup: list[str], judged: list[str]) -> None:
    sender.send(_run(setup, judged))


def _run(setup: list[str], judged: list[str]) -> list[Outcome]:
    namespace: dict = {"__name__": "__main__"}
    results = []
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        for number, source in enumerate([*setup, *judged]):
            results.append(_outcome(source, f"<cell {number}>", namespace))
    return results[len(setup) :]


def _outcome(source: str, name: str, namespace: dict) -> Outcome:
    # where tracebacks look for the text of a line
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    try:
        exec(compile(source, name, "exec"), namespace)
    except Exception as error:
        return Outcome(False, f"{type(error).__name__}: {error}", getattr(error, "clue", None))
    return Outcome(True)
