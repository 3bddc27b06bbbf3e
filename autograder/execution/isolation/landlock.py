"""Landlock: a process gives up all files but those that it names, for itself and its children.

It needs no privilege and no namespace, so it works inside containers, where bubblewrap does not.
The numbers are those of the kernel's linux/landlock.h; see landlock(7).
"""

import ctypes
import errno
import os
from collections.abc import Iterable

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # system calls, the same on all machines
VERSION, PATH_BENEATH = 1, 1
PR_SET_NO_NEW_PRIVS = 38
# what a right's version of Landlock is, and the first that knows the next ones: all but
# rename across folders (2), truncate (3) and control of devices (5) are in the first
RIGHTS = {1: (1 << 13) - 1, 2: 1 << 13, 3: 1 << 14, 5: 1 << 15}
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE = 1, 2, 4, 8, 1 << 14
MAKE_CHAR, MAKE_SOCK, MAKE_BLOCK, CONTROL = 1 << 6, 1 << 9, 1 << 11, 1 << 15
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | CONTROL
READ = READ_FILE | READ_DIR
NEVER = EXECUTE | MAKE_CHAR | MAKE_SOCK | MAKE_BLOCK | CONTROL
NETWORK, TCP = 4, 3  # the version that knows TCP; its rights to bind and connect
SCOPES, SCOPED = 6, 3  # the version that knows signals and abstract sockets; both
DEVICES = {"/dev/null": READ_FILE | WRITE_FILE | TRUNCATE} | {
    f"/dev/{name}": READ_FILE for name in ("zero", "full", "random", "urandom")
}

libc = ctypes.CDLL(None, use_errno=True)


class _Ruleset(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("files", "network", "scoped")]


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


def version() -> int:
    """The kernel's version of Landlock; 0 if it has none, or it is switched off or refused."""
    return max(0, libc.syscall(CREATE_RULESET, None, 0, VERSION))


def restrict(readable: Iterable[str], writable: Iterable[str]) -> None:
    """From here on, only these folders and files can be opened; nothing of it can be undone.

    Nothing can be run, and no other process than this one and its children be signalled or
    reached over TCP, as far as the kernel's version knows. What is open already stays open.
    """
    known = version()
    if not known:
        raise OSError(errno.EOPNOTSUPP, "no Landlock")
    handled = sum(rights for since, rights in RIGHTS.items() if since <= known)
    network, scoped = TCP * (known >= NETWORK), SCOPED * (known >= SCOPES)
    ruleset = _Ruleset(handled, network, scoped)
    # an older kernel knows fewer fields, and takes no longer structure than it knows
    size = 8 * (1 + (known >= NETWORK) + (known >= SCOPES))
    rules = _call(CREATE_RULESET, ctypes.byref(ruleset), size, 0)
    granted = dict.fromkeys(readable, READ) | DEVICES
    granted |= dict.fromkeys(writable, handled & ~NEVER)
    for path, rights in granted.items():
        _allow(rules, path, rights & handled)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")
    _call(RESTRICT_SELF, rules, 0)
    os.close(rules)


def _allow(rules: int, path: str, rights: int) -> None:
    """Grant these rights to a file, or to all beneath a folder; what is missing needs none."""
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        rights &= ~0 if os.path.isdir(path) else OF_FILES
        beneath = _Beneath(rights, opened)
        _call(ADD_RULE, rules, PATH_BENEATH, ctypes.byref(beneath), 0)
    finally:
        os.close(opened)


def _call(number: int, *arguments: object) -> int:
    result = libc.syscall(number, *arguments)
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"Landlock: {os.strerror(error)}")
    return result
