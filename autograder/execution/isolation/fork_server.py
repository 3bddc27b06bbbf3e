"""A warm process that is forked for each submission, the fork server.

It has imported what lessons import, and has read no test and no submission. Two of them run, one
for the students' sides and one for the tests' sides.
"""

import base64
import contextlib
import gc
import importlib
import itertools
import json
import os
import random
import secrets
import select
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch

from autograder.execution.isolation import confine, habits, landlock
from autograder.execution.isolation.shell import Shell
from autograder.execution.isolation.student_side import StudentSide
from autograder.execution.isolation.walk import walk
from autograder.execution.isolation.wire import LIMIT

LOOK = 0.1  # seconds between two looks at how much a submission has written
NODES = 4096  # files and folders that it may make


@dataclass(frozen=True)
class Wall:
    """What stands around a submission: see `sandbox.Isolation`, and the names there."""

    name: str
    program: bytes
    seen: list[str]
    users: range  # one for each submission in turn; empty: all have the warm process's own

    @property
    def has_namespaces(self) -> bool:
        return self.name == "bubblewrap"

    @property
    def is_landlock(self) -> bool:
        return self.name == "Landlock"


def main() -> None:
    """Say when warm; then fork for each message that comes, until the sender is gone."""
    settings = json.loads(sys.argv[1])
    control = socket.socket(fileno=settings["control"])
    filtering, users = base64.b64decode(settings["program"]), range(*settings["users"] or [0])
    wall = Wall(settings["wall"], filtering, settings["seen"], users)
    confine.die_with_parent()
    if wall.is_landlock:
        # what bubblewrap does from outside; limits are reckoned from what /proc tells
        landlock.restrict([*wall.seen, "/proc"], [tempfile.gettempdir()])
        if settings["user"]:
            confine.become(settings["user"], confine.CHANGE_USER if users else 0)
    torch.set_num_threads(1)  # a parent with more threads makes its children hang
    shell = Shell.warm()
    warm_up(settings["modules"])
    if settings["side"] == "student":
        habits.accommodate(shell)
    side = {"student": _student, "tests": _tests}[settings["side"]]
    gc.collect()
    gc.freeze()
    # whoever ends is nobody's business but of the one who asked for it
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    control.send(b"warm")
    # graders side by side should not have the same
    first = secrets.randbelow(len(users)) if users else 0
    for number in itertools.count(first):
        message, descriptors, _, _ = socket.recv_fds(control, 1 << 16, 3)
        if not message:
            return
        if os.fork() == 0:
            control.close()
            bounds = confine.Bounds(**json.loads(message)["bounds"])
            user = users[number % len(users)] if users else None
            _run(partial(side, shell, descriptors, bounds, wall, user))
        for descriptor in descriptors:
            os.close(descriptor)


def warm_up(modules: Iterable[str]) -> None:
    """Import once what every child needs; a first figure and a first step import the most."""
    import matplotlib.pyplot as plt

    for module in ("transformer_course.checks", "transformer_course.figures", *modules):
        with contextlib.suppress(ImportError):  # then it is the lesson's cell that fails
            importlib.import_module(module)
    model = torch.nn.Linear(2, 1)
    optimiser = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 2)).sum().backward()
    optimiser.step()
    figure, axes = plt.subplots()
    axes.set_title("warm")
    figure.canvas.draw()
    plt.close(figure)


def _run(child: Callable[[], None]) -> None:
    """Do a child's work, and end it without what Python would do at its end."""
    code = 1
    try:
        confine.die_with_parent()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for seed in (random.seed, np.random.seed, torch.manual_seed):
            seed(0)
        child()
        code = 0
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(code)


def _student(
    shell: Shell, descriptors: list[int], bounds: confine.Bounds, wall: Wall, user: int | None
) -> None:
    """The student's side, in a process of its own; this one waits, and tells how it ended."""
    channel, status = (socket.socket(fileno=descriptor) for descriptor in descriptors)
    work = confine.WORK if wall.has_namespaces else tempfile.mkdtemp(prefix="submission-")
    if wall.has_namespaces:
        confine.enter_namespaces()
    if user:
        os.chown(work, user, user)
    child = os.fork()
    if child == 0:
        _run(partial(_serve, shell, channel, status, bounds, wall, user, work))
    channel.close()
    full = wall.is_landlock and _keep_small(child, Path(work), bounds.disk)
    ended = _end_of(child)
    if not wall.has_namespaces:
        shutil.rmtree(work, ignore_errors=True)
    status.send(json.dumps(ended | {"limit": "the disk limit" if full else ""}).encode())


def _end_of(child: int) -> dict[str, float]:
    """Wait until a process ends: how it did, its CPU seconds, and its memory in KiB."""
    _, ended, used = os.wait4(child, 0)
    return {"ended": ended, "cpu": used.ru_utime + used.ru_stime, "memory": used.ru_maxrss}


def _keep_small(child: int, work: Path, most: int) -> bool:
    """Wait until a process ends; kill it if it writes more into its folder than it may."""
    ended = os.pidfd_open(child)
    full = False
    while not select.select([ended], [], [], LOOK)[0]:
        if _too_much(work, most):
            full = True
            os.kill(child, signal.SIGKILL)
    os.close(ended)
    return full


def _too_much(work: Path, most: int) -> bool:
    """Whether there are more bytes in a folder, or more files, than there may be."""
    nodes = size = 0
    for folder, _, files in os.walk(work):
        nodes += 1 + len(files)
        for name in files:
            with contextlib.suppress(OSError):  # it is gone again
                size += os.lstat(os.path.join(folder, name)).st_blocks * 512
    return size > most or nodes > NODES


def _serve(
    shell: Shell,
    channel: socket.socket,
    status: socket.socket,
    bounds: confine.Bounds,
    wall: Wall,
    user: int | None,
    work: str,
) -> None:
    os.setsid()  # a signal to its own group would reach the nursery, and all who are in it
    if wall.has_namespaces:
        confine.shut_in(bounds, wall.program)
    elif wall.is_landlock:
        os.environ.update(confine.places(work))
        tempfile.tempdir = work
        if user:
            confine.become(user)
        confine.keep_in(work, wall.seen, bounds, wall.program)
    else:
        confine.limit(bounds)
    os.chdir(work)
    sys.path.append(work)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nowhere, descriptor)
    status.send(b"here")
    status.close()
    # only what this submission may know is left open
    os.closerange(3, channel.fileno())
    os.closerange(channel.fileno() + 1, 1 << 12)
    with channel.makefile("rwb") as stream:
        StudentSide(stream, LIMIT, shell).serve()


def _tests(
    shell: Shell, descriptors: list[int], bounds: confine.Bounds, wall: Wall, _: int | None
) -> None:
    """The tests' side, in a process of its own; this one waits, and tells how it ended."""
    channel, status, report = (socket.socket(fileno=descriptor) for descriptor in descriptors)
    child = os.fork()
    if child == 0:
        _run(partial(_walk, shell, channel, status, report, bounds, wall))
    channel.close()
    report.close()
    status.send(json.dumps(_end_of(child) | {"limit": ""}).encode())


def _walk(
    shell: Shell,
    channel: socket.socket,
    status: socket.socket,
    report: socket.socket,
    bounds: confine.Bounds,
    wall: Wall,
) -> None:
    confine.limit(bounds)
    if wall.is_landlock:  # there is no namespace without a network
        confine.drop_privileges()
        confine.filter_calls(wall.program)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    status.send(b"here")
    status.close()
    with channel.makefile("rwb") as student, report.makefile("rwb") as coordinator:
        walk(shell, student, coordinator, LIMIT)


if __name__ == "__main__":
    main()
