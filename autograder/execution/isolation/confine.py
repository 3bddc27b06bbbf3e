"""What a process of ours gives up before it runs a student's code (Linux).

Behind bubblewrap, which has already taken away the files, the network and the environment, one
submission is shut off from the next: namespaces and a small working folder of its own, limits, and
a filter of system calls. Where there are no namespaces, Landlock and a user of its own stand in
for them. See namespaces(7), user_namespaces(7), seccomp(2), landlock(7).
"""

import ctypes
import os
import resource
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from autograder.execution.isolation import landlock

WORK = "/submission"  # where a submission's own, empty, size-capped file system is mounted
NEW_NS, NEW_IPC, NEW_USER, NEW_PID = 0x20000, 0x8000000, 0x10000000, 0x20000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND = 1, 2, 4, 8, 32, 0x1000
MS_REC, MS_PRIVATE = 0x4000, 1 << 18
THREADS = 256  # the kernel's own memory for them is not accounted
NODES = ("null", "zero", "full", "random", "urandom", "tty")  # what bubblewrap has in /dev
PR_SET_PDEATHSIG, PR_SET_KEEPCAPS, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 8, 22, 38
SECCOMP_MODE_FILTER = 2
CAPABILITY_VERSION_3 = 0x20080522
# user ids for the sides when root grades without namespaces: unused on any system we know of
USERS = {"student": 64_731, "tests": 64_732}
SUBMISSIONS = range(66_000, 96_000)  # and each submission in turn
# the capabilities CHOWN, DAC_OVERRIDE, KILL, SETGID, SETUID: see capabilities(7)
CHANGE_USER = 1 << 0 | 1 << 1 | 1 << 5 | 1 << 6 | 1 << 7
SIGKILL = 9

libc = ctypes.CDLL(None, use_errno=True)


class Isolation(StrEnum):
    """How a student's code is isolated."""

    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "Landlock"
    NONE = ""  # `--no-sandbox`


@dataclass(frozen=True)
class Bounds:
    """What one submission may use: bytes, and CPU seconds in all."""

    memory: int
    disk: int
    seconds: int


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


class _Capabilities(ctypes.Structure):
    _fields_ = [
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    ]


def enter_namespaces() -> None:
    """From here on, users, mounts and messages are our own; so are our children's processes."""
    user, group = os.getuid(), os.getgid()
    _call(libc.unshare, NEW_USER | NEW_NS | NEW_IPC | NEW_PID)
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"1000 {user} 1"),
        ("gid_map", f"1000 {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    _call(libc.mount, None, b"/", None, MS_REC | MS_PRIVATE, None)


def shut_in(bounds: Bounds, program: bytes) -> None:
    """In the first process of the namespaces: nothing of this can be undone afterwards."""
    flags = MS_NOSUID | MS_NODEV
    size = f"size={bounds.disk},nr_inodes=4096,mode=700".encode()
    _call(libc.mount, b"tmpfs", WORK.encode(), b"tmpfs", flags, size)
    limit(bounds)
    # in our own namespace no other process of the user's counts; root has no such limit
    resource.setrlimit(resource.RLIMIT_NPROC, (THREADS, THREADS))
    _keep_devices()
    try:  # read-only: for root, the kernel's settings are files of its own
        _call(libc.mount, b"proc", b"/proc", b"proc", flags | MS_RDONLY, None)
    except PermissionError:  # when root grades, bubblewrap's own has covered parts: show none
        _cover("/proc")
    drop_privileges()
    filter_calls(program)


def keep_in(work: str, seen: Sequence[str], bounds: Bounds, program: bytes) -> None:
    """Without namespaces: nothing but `work` can be written, and `seen` be read."""
    limit(bounds)
    # all processes of this user's count: those of others must not keep a submission from starting
    own = os.getuid() in (*USERS.values(), *SUBMISSIONS)
    most = THREADS + (0 if own else _tasks(os.getuid()))
    resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
    landlock.restrict(seen, [work])
    drop_privileges()
    filter_calls(program)


def become(user: int, keep: int = 0) -> None:
    """A user who owns nothing: from here on, what is root's alone can be neither read nor ended.

    But for what the capabilities allow that it keeps, such as to become another one.
    """
    _call(libc.prctl, PR_SET_KEEPCAPS, bool(keep), 0, 0, 0)
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    _hold(keep)
    die_with_parent()  # the kernel forgets it when the user changes


def drop_privileges() -> None:
    """Give up every capability, and every way to a new one."""
    _hold(0)
    _call(libc.prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def _hold(capabilities: int) -> None:
    """Have these capabilities, and no others."""
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    held = (_Capabilities * 2)(_Capabilities(capabilities, capabilities, 0))
    _call(libc.capset, header, held)


def filter_calls(program: bytes) -> None:
    """From here on, the kernel refuses what this filter refuses."""
    filtered = _Program(len(program) // 8, program)
    _call(libc.prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(filtered), 0, 0)


def _tasks(user: int) -> int:
    """How many threads a user has."""
    found = 0
    for process in os.scandir("/proc"):
        try:
            if process.name.isdigit() and process.stat().st_uid == user:
                found += len(os.listdir(f"{process.path}/task"))
        except OSError:  # it has just ended
            continue
    return found


def _keep_devices() -> None:
    """Leave the machine's devices as they are, and no terminals, which submissions would share."""
    _cover("/dev/pts")
    for node in (f"/dev/{name}" for name in NODES if os.path.ismount(f"/dev/{name}")):
        # if root grades, the nodes are its own: only their being read-only keeps their modes
        kept = os.statvfs(node).f_flag & (MS_NOSUID | MS_NODEV | MS_NOEXEC)
        _call(libc.mount, None, node.encode(), None, MS_REMOUNT | MS_BIND | MS_RDONLY | kept, None)


def _cover(folder: str) -> None:
    """Mount an empty, read-only folder over this one."""
    flags = MS_RDONLY | MS_NOSUID | MS_NODEV
    _call(libc.mount, b"tmpfs", folder.encode(), b"tmpfs", flags, b"nr_inodes=1,mode=500")


def folder_variables(work: str) -> dict[str, str]:
    """The variables of the environment that name the folder in which one may write."""
    return {
        "HOME": work,
        "PWD": work,
        "TMPDIR": work,
        "MPLCONFIGDIR": f"{work}/matplotlib",
        "IPYTHONDIR": f"{work}/ipython",
    }


def limit(bounds: Bounds) -> None:
    """The limits that any Unix knows. Address space, so that shared memory counts too."""
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[0])
    space = pages * resource.getpagesize() + bounds.memory
    for kind, most in (
        (resource.RLIMIT_AS, space),
        # one more than it may have: then who looks at it afterwards sees that it had too much
        (resource.RLIMIT_CPU, bounds.seconds + 1),
        (resource.RLIMIT_FSIZE, bounds.disk),
        (resource.RLIMIT_NOFILE, 256),
        # 0 would still start the machine's crash handler, where there is one: see coredump.c
        (resource.RLIMIT_CORE, 1),
    ):
        resource.setrlimit(kind, (most, most))


def die_with_parent() -> None:
    """End when the process that started this one ends."""
    _call(libc.prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)


def _call(function: Any, *arguments: object) -> None:
    if function(*arguments):
        error = ctypes.get_errno()
        raise OSError(error, f"{function.__name__}: {os.strerror(error)}")
