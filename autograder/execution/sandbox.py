"""The sandbox: what a warm process sees of the machine, and may ask of it (seccomp).

There are two kinds of isolation. bubblewrap's namespaces hide the machine; where it cannot make
them, as in most containers, Landlock denies access to what is there. `isolation/confine.py` is the
other half: what each submission gives up in addition.
"""

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import transformer_course

import autograder
from autograder.execution import system_calls
from autograder.execution.isolation import confine, landlock
from autograder.execution.isolation.confine import (
    CHANGE_USER,
    SUBMISSIONS,
    USERS,
    WORK,
    Isolation,
)
from autograder.paths import CONTAINER, display_path

NEEDED = {
    "bubblewrap": lambda: shutil.which("bwrap"),
    "libseccomp2": lambda: _seccomp(),
}
APT = "sudo apt install bubblewrap libseccomp2"

OLDEST_LANDLOCK = 3  # before, files could still be made empty: Linux 6.2
ELSEWHERE = (
    f"grade on Linux, or in a container: its commands are at the top of {display_path(CONTAINER)}"
)


def refusal() -> str:
    """Why there is no sandbox on this machine, and the fix; empty if there is one."""
    if sys.platform != "linux":
        return f"no sandbox on {sys.platform}: {ELSEWHERE}"
    missing = [name for name, found in NEEDED.items() if not found()]
    if missing:
        return f"no sandbox without {' and '.join(missing)}: `{APT}`"
    why = _bubblewrap_fails(shutil.which("bwrap") or "")
    # a user who owns nothing can truncate no file in any case
    oldest = 1 if why and user("student") else OLDEST_LANDLOCK
    if why and landlock.version() < oldest:
        has = f"Landlock {landlock.version()}" if landlock.version() else "no Landlock"
        return (
            f"no sandbox: bubblewrap does not work here ({why}), and this kernel has {has}: "
            "allow user namespaces, or grade on Linux 6.2 or later"
        )
    return ""


def available_isolation() -> Isolation:
    """The stronger isolation that works here, where there is no `refusal`."""
    return (
        Isolation.LANDLOCK
        if _bubblewrap_fails(shutil.which("bwrap") or "")
        else Isolation.BUBBLEWRAP
    )


def weakness() -> str:
    """What a person must know about the isolation here; empty for the stronger one."""
    if refusal() or available_isolation() == Isolation.BUBBLEWRAP:
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
    inside = "from autograder.execution.isolation import confine; confine.enter_namespaces()"
    whole = command([sys.executable, "-P", "-c", inside])
    try:
        tried = subprocess.run([program, *whole[1:]], capture_output=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    said = tried.stderr.decode(errors="replace").strip().splitlines()
    return "" if not tried.returncode else (said or ["it says nothing"])[-1]


def user(side: str) -> int | None:
    """The user that runs a side behind Landlock: where root grades, one without an account.

    Whoever else grades remains the one; so does root without the privilege to change, or with a
    Python that only root can read.
    """
    if os.getuid() or not _may_change():
        return None
    return USERS[side] if _is_mapped(USERS[side]) and all(map(_is_public, seen())) else None


def users() -> range | None:
    """A user for each submission behind Landlock, so that none can reach another's processes.

    None where all of them are run by one.
    """
    both_ends = _is_mapped(SUBMISSIONS[0]) and _is_mapped(SUBMISSIONS[-1])
    return SUBMISSIONS if user("student") and both_ends else None


def _may_change() -> bool:
    """Whether this process may start others as another user, and end them."""
    (held,) = re.findall(r"(?m)^CapEff:\s*(\w+)", Path("/proc/self/status").read_text())
    return int(held, 16) & CHANGE_USER == CHANGE_USER


def seen() -> list[Path]:
    """What a warm process may read: Python, the kit, and what of ours runs there."""
    return [*_python(), *_ours()]


def _is_mapped(number: int) -> bool:
    """Whether it is the number of a user and of a group in this user namespace."""
    for kind in ("uid", "gid"):
        lines = Path(f"/proc/self/{kind}_map").read_text().splitlines()
        ranges = [(int(first), int(count)) for first, _, count in (line.split() for line in lines)]
        if not any(first <= number < first + count for first, count in ranges):
            return False
    return True


def _is_public(path: Path) -> bool:
    """Whether a file or a folder is world-readable."""
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
        **confine.folder_variables(work),
        "LANG": "C.UTF-8",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONSAFEPATH": "1",
        "PYTHONPATH": os.pathsep.join(str(path) for path in _roots()),
    }


def environment_of(isolation: Isolation, folder: str) -> dict[str, str]:
    """What a warm process is started with; `folder` is its own."""
    if isolation == Isolation.LANDLOCK:
        return environment(folder)
    if isolation == Isolation.BUBBLEWRAP:  # for bubblewrap, which clears it
        return dict(os.environ)
    # without isolation, its folders are the user's, but for those of submissions
    private = ("PATH", "HOME", "PWD", "LANG", "MPLCONFIGDIR", "IPYTHONDIR")
    own = {name: value for name, value in environment(folder).items() if name not in private}
    return os.environ | own


def program(isolation: Isolation, users: range | None) -> bytes:
    """The filter of system calls for this isolation, as the kernel takes it."""
    if isolation == Isolation.BUBBLEWRAP:
        more = (*system_calls.SIGNALS, *system_calls.MODES, *system_calls.TIMES)
        return system_calls.program(more)
    return system_calls.program(system_calls.MODES if users else ())


def _seccomp() -> bool:
    try:
        import pyseccomp  # importing it fails where there is no libseccomp

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
    execution = package / "execution"
    around = [package / "__init__.py", execution / "__init__.py"]
    return [*around, execution / "isolation", Path(transformer_course.__file__).parent]


def _roots() -> list[Path]:
    return [Path(autograder.__file__).parents[1], Path(transformer_course.__file__).parents[1]]
