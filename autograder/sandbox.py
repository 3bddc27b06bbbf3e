"""The sandbox: what a warm process sees of the machine, and may ask of it (seccomp).

There are two walls. bubblewrap's namespaces hide the machine; where it cannot make them, as in
most containers, Landlock closes what is there. `autograder.apart.confine` is the other half: what
each submission gives up in addition.
"""

import errno
import os
import re
import shutil
import subprocess
import sys
import tempfile
from enum import StrEnum
from functools import cache
from pathlib import Path

import transformer_course

import autograder
from autograder.apart import confine, landlock
from autograder.apart.confine import USERS, WORK
from autograder.places import CONTAINER, shown


class Wall(StrEnum):
    """What stands around a student's code."""

    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "Landlock"
    NONE = ""  # `--no-sandbox`


NEEDED = {
    "bubblewrap": lambda: shutil.which("bwrap"),
    "libseccomp2": lambda: _seccomp(),
}
APT = "sudo apt install bubblewrap libseccomp2"

# Nothing that these do is part of a lesson. No child processes, so that memory, CPU time and
# leftovers are one process's; no sockets but anonymous pairs, which asyncio wants, and no open
# files sent over them; no way to a new privilege, to other processes or to the kernel's log.
DENIED = """
fork vfork execve execveat
socket connect bind listen accept accept4 sendmsg sendmmsg setsockopt
ptrace process_vm_readv process_vm_writev kcmp pidfd_getfd process_madvise
mount umount2 pivot_root chroot unshare setns move_mount open_tree mount_setattr
fsopen fsmount fspick fsconfig statmount listmount
keyctl add_key request_key bpf perf_event_open userfaultfd
io_uring_setup io_uring_enter io_uring_register io_setup
memfd_create memfd_secret shmget msgget semget mq_open
init_module finit_module delete_module kexec_load kexec_file_load reboot swapon swapoff
acct quotactl settimeofday clock_settime clock_adjtime adjtimex sethostname setdomainname
personality modify_ldt ioperm iopl lookup_dcookie name_to_handle_at open_by_handle_at
fanotify_init inotify_init inotify_init1 landlock_create_ruleset seccomp syslog vmsplice
setpriority sched_setscheduler sched_setparam sched_setattr ioprio_set
""".split()  # noqa: SIM905 (a list would be forty lines)
# Without namespaces other processes are in reach, other users, and what Landlock does not guard,
# the modes of files: nothing is signalled, shared by its number, or changed.
DENIED_IN_THE_OPEN = """
setuid setgid setreuid setregid setresuid setresgid setfsuid setfsgid setgroups
kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_send_signal process_mrelease
migrate_pages move_pages shmat shmctl msgsnd msgrcv msgctl semop semtimedop semctl mq_unlink
chmod fchmod fchmodat fchmodat2 chown lchown fchown fchownat utime utimes utimensat futimesat
setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr fremovexattr removexattrat
""".split()  # noqa: SIM905
CLONE_THREAD = 0x10000
AF_UNIX = 1
TIOCSTI, TIOCLINUX = 0x5412, 0x541C  # type into the terminal that the grader was started from
# have the kernel send a signal when a file is ready
FIOSETOWN, SIOCSPGRP = 0x8901, 0x8902
F_SETOWN, F_SETSIG, F_SETOWN_EX = 8, 10, 15
PR_SET_PDEATHSIG = 1
# of these calls: the number of an argument, and its values that are refused
REFUSED = {"ioctl": (1, (TIOCSTI, TIOCLINUX))}
REFUSED_IN_THE_OPEN = {
    "ioctl": (1, (FIOSETOWN, SIOCSPGRP)),
    "fcntl": (1, (F_SETOWN, F_SETSIG, F_SETOWN_EX)),
    "prctl": (0, (PR_SET_PDEATHSIG,)),
}
OF_A_PROCESS = ("prlimit64", "sched_setaffinity")  # only its own, which is number 0
# the capabilities CHOWN, DAC_OVERRIDE, KILL, SETGID, SETUID: see capabilities(7)
CHANGE_USER = 1 << 0 | 1 << 1 | 1 << 5 | 1 << 6 | 1 << 7
OLDEST_LANDLOCK = 3  # before, files could still be made empty: Linux 6.2
ELSEWHERE = f"grade on Linux, or in a container: its commands are at the top of {shown(CONTAINER)}"


def refusal() -> str:
    """Why there is no sandbox on this machine, and the mend; empty if there is one."""
    if sys.platform != "linux":
        return f"no sandbox on {sys.platform}: {ELSEWHERE}"
    missing = [name for name, found in NEEDED.items() if not found()]
    if missing:
        return f"no sandbox without {' and '.join(missing)}: `{APT}`"
    why = _bubblewrap_fails(shutil.which("bwrap") or "")
    # who owns nothing could make no file of anybody's empty in any case
    oldest = 1 if why and user("student") else OLDEST_LANDLOCK
    if why and landlock.version() < oldest:
        has = f"Landlock {landlock.version()}" if landlock.version() else "no Landlock"
        return (
            f"no sandbox: bubblewrap does not work here ({why}), and this kernel has {has}: "
            "allow user namespaces, or grade on Linux 6.2 or later"
        )
    return ""


def wall() -> Wall:
    """The wall that there is, where there is no `refusal`: the stronger one, if it works."""
    return Wall.LANDLOCK if _bubblewrap_fails(shutil.which("bwrap") or "") else Wall.BUBBLEWRAP


def weakness() -> str:
    """What a person must know about the wall that there is; empty for the stronger one."""
    if refusal() or wall() == Wall.BUBBLEWRAP:
        return ""
    why = _bubblewrap_fails(shutil.which("bwrap") or "")
    return (
        f"WEAKER SANDBOX: bubblewrap does not work here ({why}). Landlock and seccomp stand in: "
        "students' code opens no files, starts and signals no processes and has no network, but "
        "can tell which files exist; disk space is watched, not reserved"
    )


@cache
def _bubblewrap_fails(program: str) -> str:
    """Why bubblewrap cannot do here what it is needed for; empty if it can."""
    inside = "from autograder.apart import confine; confine.enter_namespaces()"
    whole = command([sys.executable, "-P", "-c", inside])
    try:
        tried = subprocess.run([program, *whole[1:]], capture_output=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    said = tried.stderr.decode(errors="replace").strip().splitlines()
    return "" if not tried.returncode else (said or ["it says nothing"])[-1]


def user(side: str) -> int | None:
    """Who runs a side behind Landlock: nobody of this machine's, where root grades.

    Whoever else grades remains the one; so does root without the privilege to change, or with a
    Python that nobody else can read.
    """
    if os.getuid() or not _may_change():
        return None
    mapped = all(_is_mapped(USERS[side], kind) for kind in ("uid", "gid"))
    return USERS[side] if mapped and all(map(_is_public, seen())) else None


def _may_change() -> bool:
    """Whether this process may start others as another user, and end them."""
    (held,) = re.findall(r"(?m)^CapEff:\s*(\w+)", Path("/proc/self/status").read_text())
    return int(held, 16) & CHANGE_USER == CHANGE_USER


def seen() -> list[Path]:
    """What a warm process may read: Python, the kit, and what of ours runs there."""
    return [*_python(), *_ours()]


def _is_mapped(number: int, kind: str) -> bool:
    """Whether a user's or a group's number means anybody in this user namespace."""
    lines = Path(f"/proc/self/{kind}_map").read_text().splitlines()
    ranges = [(int(first), int(count)) for first, _, count in (line.split() for line in lines)]
    return any(first <= number < first + count for first, count in ranges)


def _is_public(path: Path) -> bool:
    """Whether anybody can read a file or a folder."""
    folders = path.resolve().parents
    return bool(path.stat().st_mode & 0o004) and all(f.stat().st_mode & 0o001 for f in folders)


def command(inside: list[str]) -> list[str]:
    """The command line that runs `inside` where it sees Python and the kit, read-only.

    No network, no other process, an empty environment; it ends with the thread that started it.
    """
    options = [
        "--unshare-all",
        "--die-with-parent",
        "--new-session",
        "--clearenv",
        "--hostname",
        "grading",
    ]
    for name, value in environment().items():
        options += ["--setenv", name, value]
    visible = seen()
    for path in visible:
        options += ["--ro-bind", str(path), str(path)]
    for link in ("bin", "lib", "lib64", "sbin"):
        if Path("/", link).is_symlink():
            options += ["--symlink", os.readlink(Path("/", link)), f"/{link}"]
        elif link.startswith("lib") and Path("/", link).is_dir():
            options += ["--ro-bind", f"/{link}", f"/{link}"]
    options += ["--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev"]
    options += ["--size", str(1 << 26), "--tmpfs", WORK]
    if not any(path.is_relative_to("/tmp") for path in visible):
        options += ["--symlink", WORK, "/tmp"]
    options += ["--remount-ro", "/", "--chdir", WORK]
    return ["bwrap", *options, "--", *inside]


def environment(work: str = WORK) -> dict[str, str]:
    """All that a warm process, whose own folder is `work`, finds in its environment."""
    return {
        "PATH": "/usr/bin:/bin",
        **confine.places(work),
        "LANG": "C.UTF-8",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONSAFEPATH": "1",
        "PYTHONPATH": os.pathsep.join(str(path) for path in _roots()),
    }


def environment_of(wall: Wall, folder: str) -> dict[str, str]:
    """What a warm process is started with; `folder` is its own."""
    if wall == Wall.LANDLOCK:
        return environment(folder)
    if wall == Wall.BUBBLEWRAP:  # for bubblewrap, which clears it
        return dict(os.environ)
    # with no wall, its folders are the user's, but for those of submissions
    private = ("PATH", "HOME", "PWD", "LANG", "MPLCONFIGDIR", "IPYTHONDIR")
    own = {name: value for name, value in environment(folder).items() if name not in private}
    return os.environ | own


def program(wall: Wall) -> bytes:
    """The filter of system calls that belongs to a wall, as the kernel takes it."""
    import pyseccomp

    calls = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    refuse = pyseccomp.ERRNO(errno.EPERM)
    in_the_open = wall == Wall.LANDLOCK
    for name in DENIED + DENIED_IN_THE_OPEN * in_the_open:
        try:
            calls.add_rule(refuse, name)
        except (OSError, ValueError):  # a call that this machine, or its libseccomp, has not got
            continue
    # threads are clones too; what clone3 asks for cannot be seen, so glibc has to use clone
    no_thread = pyseccomp.Arg(0, pyseccomp.MASKED_EQ, CLONE_THREAD, 0)
    calls.add_rule(refuse, "clone", no_thread)
    calls.add_rule(pyseccomp.ERRNO(errno.ENOSYS), "clone3")
    calls.add_rule(refuse, "socketpair", pyseccomp.Arg(0, pyseccomp.NE, AF_UNIX))
    # what is sent goes to the other end of the pair, not to an address
    calls.add_rule(refuse, "sendto", pyseccomp.Arg(4, pyseccomp.NE, 0))
    for table in (REFUSED, REFUSED_IN_THE_OPEN)[: 1 + in_the_open]:
        for name, (number, values) in table.items():
            for value in values:
                calls.add_rule(refuse, name, pyseccomp.Arg(number, pyseccomp.EQ, value))
    for name in OF_A_PROCESS * in_the_open:
        calls.add_rule(refuse, name, pyseccomp.Arg(0, pyseccomp.NE, 0))
    with tempfile.TemporaryFile() as file:
        calls.export_bpf(file)
        file.seek(0)
        return file.read()


def _seccomp() -> bool:
    try:
        import pyseccomp

        return bool(pyseccomp.get_api())
    except (ImportError, OSError, RuntimeError):
        return False


def _python() -> list[Path]:
    """The interpreter's files, its packages, and the libraries that they load."""
    prefixes = {Path(sys.prefix), Path(sys.base_prefix)}
    found = {Path("/usr/lib"), Path("/usr/lib64"), Path("/etc/ld.so.cache")}
    for prefix in prefixes:
        found |= {prefix / "lib", prefix / "lib64", prefix / "bin", prefix / "pyvenv.cfg"}
    found |= {Path(os.path.realpath(sys.executable)).parent}
    return sorted(path for path in found if path.exists() and not path.is_symlink())


def _ours() -> list[Path]:
    package = Path(autograder.__file__).parent
    return [package / "__init__.py", package / "apart", Path(transformer_course.__file__).parent]


def _roots() -> list[Path]:
    return [Path(autograder.__file__).parents[1], Path(transformer_course.__file__).parents[1]]
