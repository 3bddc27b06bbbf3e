"""Groups that count memory (cgroup v2): found, bounded, removed; and what they mean for a grade.

The kernel's own part needs a machine that lets this process make groups; here the folder is a plain
one, and a process is killed by hand as the kernel kills who is over the limit.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from autograder.authoring.notebook import as_text
from autograder.authoring.samples import filled, solved
from autograder.execution import cgroups
from autograder.execution.isolation.confine import Bounds
from autograder.gradebook.result import State

BOUNDS = Bounds(1 << 30, 1 << 26, 600)
MOUNTS = "30 1 0:26 / /proc rw - proc proc rw\n41 31 0:38 {root} {point} rw - cgroup2 cgroup2 rw\n"


def found(folder: Path, root: str, own: str) -> cgroups.Groups | None:
    """What is found where the file system stands in `folder`."""
    (folder / "mounts").write_text(MOUNTS.format(root=root, point=folder))
    (folder / "own").write_text(own)
    return cgroups.available(folder / "mounts", folder / "own")


def group_of(folder: Path, controllers: str, handed_down: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cgroup.controllers").write_text(f"{controllers}\n")
    (folder / "cgroup.subtree_control").write_text(f"{handed_down}\n")


@pytest.mark.parametrize(
    ("root", "own"),
    [("/", "4:memory:/else\n0::/a/b\n"), ("/a", "0::/a/b\n"), ("/a/b", "0::/a/b\n")],
)
def test_this_processs_group_is_found_where_it_is_mounted(tmp_path, root, own):
    group_of(tmp_path / Path("/a/b").relative_to(root), "cpu memory pids", "memory")
    assert found(tmp_path, root, own)


@pytest.mark.parametrize(
    ("controllers", "own"),
    [("cpu pids", "0::/a\n"), ("memory", "4:memory:/a\n"), ("memory", "0::/b\n")],
)
def test_where_nothing_counts_memory_there_are_none(tmp_path, controllers, own):
    group_of(tmp_path / "a", controllers, "memory")
    assert found(tmp_path, "/", own) is None


def test_a_group_has_the_submissions_bounds_and_goes_with_it(tmp_path):
    groups = cgroups.Groups(tmp_path)
    with groups.group(BOUNDS) as group:
        assert int((group.folder / "memory.max").read_text()) > BOUNDS.memory + BOUNDS.disk
        assert (group.folder / "memory.swap.max").read_text() == "0"
        group.add(7)
        assert (group.folder / "cgroup.procs").read_text() == "7"
        assert not group.was_full
        assert group.peak == 0
        (group.folder / "memory.events").write_text("max 3\noom 1\noom_kill 1\n")
        (group.folder / "memory.peak").write_text("4096\n")
        assert group.was_full
        assert group.peak == 4096
        for file in group.folder.iterdir():  # the kernel removes its own
            file.unlink()
    assert list(tmp_path.iterdir()) == []


class Full(cgroups.Groups):
    """Groups each of which has too much as soon as it is looked at; and who was in them."""

    @contextmanager
    def group(self, bounds: Bounds) -> Iterator[cgroups.Group]:
        folder = self._folder / "group"
        folder.mkdir(exist_ok=True)
        (folder / "memory.events").write_text("oom_kill 1\n")
        yield cgroups.Group(folder)


def test_who_is_killed_for_the_groups_limit_keeps_what_was_earned(small, tmp_path, monkeypatch):
    """And is not executed again, as one would be whom the whole machine's lack of memory hit."""
    monkeypatch.setattr(cgroups, "available", lambda: Full(tmp_path))
    sources = solved(small.lesson)
    sources["half"] += "\nimport os, signal\nos.kill(os.getpid(), signal.SIGKILL)"
    small.receives("ada", as_text(filled(small.lesson, sources)))
    code, said = small.types("grade", "--no-sandbox", "--student", "ada", "--jobs", "1")
    assert code == 0, said
    result = small.results()["ada"]
    assert (result.state, result.points) == (State.MEMORY, 2.0)
    assert result.note == "more memory than allowed: the whole submission"
    assert (tmp_path / "group" / "cgroup.procs").read_text().isdecimal()
