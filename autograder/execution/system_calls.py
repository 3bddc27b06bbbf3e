"""The filter of system calls (seccomp): what a process that runs a student's code may ask of Linux.

An allow-list: what is not named here is refused, and so is what the kernel learns tomorrow. What
this machine's libseccomp knows is refused with EPERM, as Python expects it; what it does not know
does not exist (ENOSYS), so that a newer C library falls back to an older call.
See seccomp(2), syscalls(2).
"""

import errno
import tempfile
from collections.abc import Iterable

# Files: those that are in sight; what may be written is decided by the mounts, or by Landlock.
FILES = """
read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 open openat openat2 creat
close close_range lseek dup dup2 dup3 pipe pipe2 stat fstat lstat newfstatat
statx statfs fstatfs access faccessat faccessat2
getdents getdents64 getcwd chdir fchdir rename renameat renameat2 mkdir mkdirat rmdir unlink
unlinkat link linkat symlink symlinkat readlink readlinkat truncate ftruncate
fallocate fsync fdatasync sync_file_range sendfile copy_file_range umask
fadvise64 readahead getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr
poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait
epoll_pwait2 eventfd eventfd2 timerfd_create timerfd_settime timerfd_gettime
""".split()  # noqa: SIM905 (a list would be forty lines)
MEMORY = """
mmap mprotect munmap mremap madvise brk mlock mlock2 munlock mincore msync membarrier
get_mempolicy set_mempolicy mbind pkey_alloc pkey_free pkey_mprotect
""".split()  # noqa: SIM905
# Its own process and threads: no other one is made, signalled or read.
OWN = """
exit exit_group getpid getppid gettid getpgrp getpgid getsid getuid geteuid getgid getegid
getresuid getresgid getgroups capget uname sysinfo getcpu
getrlimit getrusage times getpriority sched_yield sched_getaffinity
sched_getparam sched_getscheduler sched_get_priority_max sched_get_priority_min
sched_rr_get_interval sched_getattr wait4 waitid set_tid_address set_robust_list
get_robust_list arch_prctl rseq restart_syscall futex futex_waitv
futex_wake futex_wait futex_requeue rt_sigaction rt_sigprocmask rt_sigreturn
rt_sigpending rt_sigtimedwait rt_sigsuspend sigaltstack pause alarm setitimer getitimer
clock_gettime clock_getres clock_nanosleep
nanosleep gettimeofday time getrandom
""".split()  # noqa: SIM905
# The other end of an anonymous pair: no address, and no open files along with the data.
PAIRS = "recvfrom shutdown getsockname getpeername getsockopt".split()  # noqa: SIM905
# Where it sees no process but its own, which is its namespace's first: that cannot kill itself.
SIGNALS = ("kill", "tkill", "tgkill")
# Where all files that others have are read-only, or another user's.
MODES = "chmod fchmod fchmodat fchmodat2".split()  # noqa: SIM905
# Where they are read-only: "now" may be set by who may write, so by all users of /dev/null.
TIMES = "utime utimes utimensat futimesat".split()  # noqa: SIM905
ALLOWED = (*FILES, *MEMORY, *OWN, *PAIRS)

CLONE_THREAD = 0x10000
AF_UNIX = 1
RLIMIT_CPU = 0
# What must hold of an argument: its number, how it compares, with what, and under which mask.
Condition = tuple[int, str, int, int]


def _one_of(argument: int, *values: int) -> list[list[Condition]]:
    return [[(argument, "EQ", value, 0)] for value in values]


# call -> the sets of conditions under which it is allowed; the numbers are those of linux/*.h
CONDITIONS: dict[str, list[list[Condition]]] = {
    # F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC, F_GETPIPE_SZ: no locks, leases
    # or signals, which a file that all submissions see would carry from one to another
    "fcntl": _one_of(1, 0, 1, 2, 3, 4, 1030, 1032),
    # TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX: no inode flags, no typing into the
    # terminal that the grader was started from
    "ioctl": _one_of(1, 0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451),
    # PR_SET_NAME, PR_GET_NAME, PR_SET_VMA: names of threads and of memory
    "prctl": _one_of(0, 15, 16, 0x53564D41),
    "socketpair": _one_of(0, AF_UNIX),
    # what is sent goes to the other end of the pair, not to an address
    "sendto": _one_of(4, 0),
    # only its own, which is number 0
    "sched_setaffinity": _one_of(0, 0),
    # and not how much CPU time it has: for that the kernel would kill it, as if from outside
    "prlimit64": [
        [(0, "EQ", 0, 0), (1, "NE", RLIMIT_CPU, 0)],
        [(0, "EQ", 0, 0), (2, "EQ", 0, 0)],
    ],
    # threads are clones too; what clone3 asks for cannot be seen, so glibc has to use clone
    "clone": [[(0, "MASKED_EQ", CLONE_THREAD, CLONE_THREAD)]],
}
NUMBERS = 1024  # no system has more calls, and none will have for decades


def program(more: Iterable[str] = ()) -> bytes:
    """The filter as the kernel takes it; `more`: calls that are allowed besides."""
    import pyseccomp  # importing it fails where there is no libseccomp

    calls = pyseccomp.SyscallFilter(pyseccomp.ERRNO(errno.EPERM))
    # as a tree: a call is found in ten steps, not in a thousand
    calls.set_attr(pyseccomp.Attr.CTL_OPTIMIZE, 2)
    here = known()
    for number in {*range(NUMBERS)} - here.keys():
        calls.add_rule(pyseccomp.ERRNO(errno.ENOSYS), number)
    calls.add_rule(pyseccomp.ERRNO(errno.ENOSYS), "clone3")
    for name in {*ALLOWED, *more} & {*here.values()}:
        calls.add_rule(pyseccomp.ALLOW, name)
    for name, sets in CONDITIONS.items():
        for conditions in sets:
            compared = [
                pyseccomp.Arg(argument, getattr(pyseccomp, how), mask or value, value)
                for argument, how, value, mask in conditions
            ]
            calls.add_rule(pyseccomp.ALLOW, name, *compared)
    with tempfile.TemporaryFile() as file:
        calls.export_bpf(file)
        file.seek(0)
        return file.read()


def known() -> dict[int, str]:
    """The calls of this machine that its libseccomp knows, by their numbers."""
    import pyseccomp

    found = {}
    for number in range(NUMBERS):
        try:
            name = pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, number)
        except ValueError:  # there is none of this number, or none yet
            continue
        found[number] = name.decode() if isinstance(name, bytes) else str(name)
    return found
