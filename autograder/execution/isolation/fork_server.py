"""A warm process that is forked for each submission, the fork server.

It has imported what lessons import, and has read no test and no submission. Two of them run, one
for the students' sides and one for the tests' sides.
"""

import contextlib
import gc
import importlib
import itertools
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
from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch

from autograder.execution.isolation import confine, habits, landlock
from autograder.execution.isolation.confine import Bounds, Isolation
from autograder.execution.isolation.framing import LIMIT
from autograder.execution.isolation.messages import (
    DATAGRAM,
    HERE,
    WARM,
    Ended,
    Fork,
    IsolationSettings,
    Settings,
    from_json,
    to_json,
)
from autograder.execution.isolation.shell import Shell
from autograder.execution.isolation.student_side import StudentSide
from autograder.execution.isolation.walk import walk

LOOK = 0.1  # seconds between two looks at how much a submission has written
NODES = 4096  # files and folders that it may make


def main() -> None:
    """Say when warm; then fork for each message that comes, until the sender is gone."""
    settings = from_json(Settings, sys.argv[1])
    isolation = settings.isolation
    control = socket.socket(fileno=settings.control)
    confine.die_with_parent()
    if isolation.kind == Isolation.LANDLOCK:
        # what bubblewrap does from outside; limits are computed from what /proc tells
        landlock.restrict([*isolation.visible, "/proc"], [tempfile.gettempdir()])
        if isolation.user:
            confine.become(isolation.user, confine.CHANGE_USER if isolation.users else 0)
    torch.set_num_threads(1)  # a parent with more threads makes its children hang
    shell = Shell.warm()
    warm_up(settings.modules)
    if settings.side == "student":
        habits.accommodate(shell)
    side = {"student": _student, "tests": _tests}[settings.side]
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children are reaped automatically
    control.send(WARM)
    _fork_on_request(control, isolation, partial(side, shell))


def _fork_on_request(
    control: socket.socket, isolation: IsolationSettings, side: Callable[..., None]
) -> None:
    users = isolation.submission_users
    # graders side by side should not have the same
    first = secrets.randbelow(len(users)) if users else 0
    for number in itertools.count(first):
        message, descriptors, _, _ = socket.recv_fds(control, DATAGRAM, 3)
        if not message:
            return
        if os.fork() == 0:
            control.close()
            bounds = from_json(Fork, message).bounds
            user = users[number % len(users)] if users else None
            _run(partial(side, descriptors, bounds, isolation, user))
        for descriptor in descriptors:
            os.close(descriptor)


def warm_up(modules: Iterable[str]) -> None:
    """Import once what every child needs; a first figure and a first step import the most."""
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
    shell: Shell,
    descriptors: list[int],
    bounds: Bounds,
    isolation: IsolationSettings,
    user: int | None,
) -> None:
    """The student's side, in a process of its own; this one waits, and tells how it ended."""
    channel, status = (socket.socket(fileno=descriptor) for descriptor in descriptors)
    has_namespaces = isolation.kind == Isolation.BUBBLEWRAP
    work = confine.WORK if has_namespaces else tempfile.mkdtemp(prefix="submission-")
    if has_namespaces:
        confine.enter_namespaces()
    if user:
        os.chown(work, user, user)
    child = os.fork()
    if child == 0:
        _run(partial(_serve, shell, channel, status, bounds, isolation, user, work))
    channel.close()
    watched = isolation.kind == Isolation.LANDLOCK
    full = watched and _keep_small(child, Path(work), bounds.disk)
    ended = _end_of(child, "the disk limit" if full else "")
    if not has_namespaces:
        shutil.rmtree(work, ignore_errors=True)
    status.send(to_json(ended))


def _end_of(child: int, limit: str) -> Ended:
    """Wait until a process ends; `limit`: for which this process killed it."""
    _, ended, used = os.wait4(child, 0)
    return Ended(ended, used.ru_utime + used.ru_stime, used.ru_maxrss, limit)


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
    bounds: Bounds,
    isolation: IsolationSettings,
    user: int | None,
    work: str,
) -> None:
    os.setsid()  # a signal to its own group would reach the fork server and all its children
    if isolation.kind == Isolation.BUBBLEWRAP:
        confine.shut_in(bounds, isolation.filter)
    elif isolation.kind == Isolation.LANDLOCK:
        os.environ.update(confine.folder_variables(work))
        tempfile.tempdir = work
        if user:
            confine.become(user)
        confine.keep_in(work, isolation.visible, bounds, isolation.filter)
    else:
        confine.limit(bounds)
    os.chdir(work)
    sys.path.append(work)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nowhere, descriptor)
    status.send(HERE)
    status.close()
    # only what this submission may know is left open
    os.closerange(3, channel.fileno())
    os.closerange(channel.fileno() + 1, 1 << 12)
    with channel.makefile("rwb") as stream:
        StudentSide(stream, LIMIT, shell).serve()


def _tests(
    shell: Shell,
    descriptors: list[int],
    bounds: Bounds,
    isolation: IsolationSettings,
    _: int | None,
) -> None:
    """The tests' side, in a process of its own; this one waits, and tells how it ended."""
    channel, status, report = (socket.socket(fileno=descriptor) for descriptor in descriptors)
    child = os.fork()
    if child == 0:
        _run(partial(_walk, shell, channel, status, report, bounds, isolation))
    channel.close()
    report.close()
    status.send(to_json(_end_of(child, "")))


def _walk(
    shell: Shell,
    channel: socket.socket,
    status: socket.socket,
    report: socket.socket,
    bounds: Bounds,
    isolation: IsolationSettings,
) -> None:
    confine.limit(bounds)
    if isolation.kind == Isolation.LANDLOCK:  # there is no namespace without a network
        confine.drop_privileges()
        confine.filter_calls(isolation.filter)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    status.send(HERE)
    status.close()
    with channel.makefile("rwb") as student, report.makefile("rwb") as supervisor:
        walk(shell, student, supervisor)


if __name__ == "__main__":
    main()
