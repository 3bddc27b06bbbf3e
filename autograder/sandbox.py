"""The sandbox: what a warm process sees of the machine (bubblewrap), and may ask of it (seccomp).

`autograder.apart.confine` is the other half: what each submission gives up in addition.
"""

import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import transformer_course

import autograder
from autograder.apart.confine import WORK

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
CLONE_THREAD = 0x10000
AF_UNIX = 1
TIOCSTI, TIOCLINUX = 0x5412, 0x541C  # type into the terminal that the grader was started from


def refusal() -> str:
    """Why there is no sandbox on this machine, and the mend; empty if there is one."""
    if sys.platform != "linux":
        return f"no sandbox on {sys.platform}: grade on Linux, or in a container"
    missing = [name for name, found in NEEDED.items() if not found()]
    if missing:
        return f"no sandbox without {' and '.join(missing)}: `{APT}`"
    return ""


def command(inside: list[str], seen: Iterable[Path] = ()) -> list[str]:
    """The command line that runs `inside` where it sees Python, the kit and `seen`, all read-only.

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
    visible = [*_python(), *_ours(), *seen]
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


def environment() -> dict[str, str]:
    """All that a warm process finds in its environment, with a sandbox or without."""
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": WORK,
        "PWD": WORK,
        "TMPDIR": WORK,
        "LANG": "C.UTF-8",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "MPLCONFIGDIR": f"{WORK}/matplotlib",
        "IPYTHONDIR": f"{WORK}/ipython",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONSAFEPATH": "1",
        "PYTHONPATH": os.pathsep.join(str(path) for path in _roots()),
    }


def unconfined_environment() -> dict[str, str]:
    """What a warm process needs of that where there is no sandbox: its folders are the user's."""
    private = ("PATH", "HOME", "PWD", "TMPDIR", "LANG", "MPLCONFIGDIR", "IPYTHONDIR")
    return {name: value for name, value in environment().items() if name not in private}


def program() -> bytes:
    """The filter of system calls, as the kernel takes it."""
    import pyseccomp

    calls = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    refuse = pyseccomp.ERRNO(errno.EPERM)
    for name in DENIED:
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
    for request in (TIOCSTI, TIOCLINUX):
        calls.add_rule(refuse, "ioctl", pyseccomp.Arg(1, pyseccomp.EQ, request))
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
