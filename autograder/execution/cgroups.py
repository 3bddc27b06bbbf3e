"""Memory accounting by the kernel (cgroup v2), where it can be had: for root, in a container of its
own, or in a delegated scope (`systemd-run --user --scope -p Delegate=yes …`).

The limit on address space holds in any case. A group counts besides it what no process has mapped:
files in its working folder, pipes, page tables, stacks in the kernel.
See the kernel's Documentation/admin-guide/cgroup-v2.rst.
"""

import contextlib
import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from autograder.execution.isolation.confine import THREADS, Bounds

# bytes that a group may have beyond memory and files: its page tables, its pipes
SLACK = 64 << 20


@dataclass(frozen=True)
class Group:
    """What one submission's process is counted in."""

    folder: Path

    def add(self, process: int) -> None:
        """From here on, what this process asks for is counted; `OSError` if it is gone."""
        (self.folder / "cgroup.procs").write_text(f"{process}")

    @property
    def was_full(self) -> bool:
        """Whether the kernel killed a process of the group because the group had too much."""
        return _table(self.folder / "memory.events").get("oom_kill", 0) > 0

    @property
    def peak(self) -> int:
        """The most bytes that it had at a time; 0 where the kernel does not tell."""
        with contextlib.suppress(OSError, ValueError):
            return int((self.folder / "memory.peak").read_text())
        return 0


class Groups:
    """A folder of groups, one for each submission that runs."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._name, self._numbers = folder, f"submission-{os.getpid()}-", count()

    @contextmanager
    def group(self, bounds: Bounds) -> Iterator[Group]:
        """A group within these bounds, for as long as this lasts."""
        folder = self._folder / f"{self._name}{next(self._numbers)}"
        folder.mkdir()
        (folder / "memory.max").write_text(f"{bounds.memory + bounds.disk + SLACK}")
        for name, value in (("memory.swap.max", 0), ("memory.oom.group", 1), ("pids.max", THREADS)):
            # an older kernel, or one without swap, has fewer of these
            with contextlib.suppress(OSError):
                (folder / name).write_text(f"{value}")
        try:
            yield Group(folder)
        finally:
            self.clear()

    def clear(self) -> None:
        """Remove the groups whose processes are gone, also those that ended with this one."""
        for folder in self._folder.glob(f"{self._name}*"):
            with contextlib.suppress(OSError):  # in use: the next run removes it
                folder.rmdir()


def available(
    mounts: Path = Path("/proc/self/mountinfo"), own: Path = Path("/proc/self/cgroup")
) -> Groups | None:
    """Where this process may make groups that count memory; None where it may not."""
    try:
        folder = _own_folder(mounts, own)
        if folder and "memory" in (folder / "cgroup.controllers").read_text().split():
            _hand_down(folder)
            groups = Groups(folder)
            with groups.group(Bounds(1 << 30, 0, 1)):  # better now than in each submission
                return groups
    except OSError:
        pass
    return None


def _own_folder(mounts: Path, own: Path) -> Path | None:
    """This process's group in the file system."""
    fields = [line.split() for line in mounts.read_text().splitlines()]
    # see proc(5): root and mount point; behind a dash, the kind
    found = [(f[3], f[4]) for f in fields if f[f.index("-") + 1] == "cgroup2"]
    names = [line[3:] for line in own.read_text().splitlines() if line.startswith("0::")]
    if not found or not names:
        return None
    root, point = found[0]
    return Path(point, Path(names[0]).relative_to(root))


def _hand_down(folder: Path) -> None:
    """Let the groups below a group count memory; `OSError` if it may not, or others are in it."""
    control = folder / "cgroup.subtree_control"
    if "memory" in control.read_text().split():
        return
    try:
        control.write_text("+memory")
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        # only a group without processes can hand it down: this one moves into a group of its own
        leaf = folder / f"grader-{os.getpid()}"
        leaf.mkdir()
        (leaf / "cgroup.procs").write_text(f"{os.getpid()}")
        try:
            control.write_text("+memory")
        except OSError:
            (folder / "cgroup.procs").write_text(f"{os.getpid()}")
            leaf.rmdir()
            raise
    if "pids" in (folder / "cgroup.controllers").read_text().split():
        control.write_text("+pids")


def _table(path: Path) -> dict[str, int]:
    try:
        return {name: int(value) for name, value in map(str.split, path.read_text().splitlines())}
    except (OSError, ValueError):
        return {}
