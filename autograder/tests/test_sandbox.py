"""Hostile notebooks gain nothing, see nothing, and leave nothing behind; the grader lives on.

Behind both walls: bubblewrap's, and Landlock's, which stands where bubblewrap fails.
"""

import contextlib
import errno
import json
import os
import re
import signal
import socket
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
import transformer_course

import autograder
from autograder.execution import executor as executors
from autograder.execution import sandbox, supervisor, system_calls
from autograder.execution.executor import (
    CodeCell,
    Execution,
    Executor,
    GraderError,
    Job,
    Limits,
    Ran,
)
from autograder.execution.isolation import landlock
from autograder.execution.job import WHOLE
from autograder.execution.sandbox import Isolation
from autograder.paths import COURSE
from autograder.tests.support import hostile
from autograder.tests.support.hostile import (
    BANK,
    CANARY,
    CHECKS_OF_HALF,
    LIVES,
    MARKER,
    STOPPED,
    Hostile,
)

FIRST = 2  # the check of the honest exercise; then the tools, then the hostile cells
AT_ONCE = 3  # notebooks that are expected to be killed run side by side
WRITTEN = "hostile-was-here"
# Landlock has no file system of a fixed size: the folder is watched, see below
WATCHED = {"disk", "inodes"}
LEFTOVERS = 10  # seconds in which the kernel must have ended what was killed
# a cell of the bank that fails with one of these was not tried
MISTAKES = ("NameError", "SyntaxError", "AttributeError", "TypeError", "ImportError", "KeyError")
OWN = b"zq-of-the-student"
BUSY = "held = 'zq-of-the-' + 'student'\nwhile True:\n    pass"


@dataclass(frozen=True)
class Afterwards:
    """What became of a hostile notebook, and of the honest one that came next."""

    hostile: Hostile
    execution: Execution
    honest: Execution
    left: list[str]  # processes that were not there before


@dataclass(frozen=True)
class Machine:
    """What a hostile notebook would like to reach: files, and addresses where we listen."""

    outside: list[str]
    listeners: list[socket.socket]

    def cells(self, cells: tuple[str, ...]) -> list[CodeCell]:
        """A student's cells, with this machine's values in the place of the bank's names."""
        addresses = [(line.family, line.type, line.getsockname()) for line in self.listeners]
        values = {
            "OUTSIDE": self.outside,
            "LISTENERS": [(int(family), int(kind), where) for family, kind, where in addresses],
            "CALL": _numbers(),
        }
        sources = [
            re.sub(r"\b(OUTSIDE|LISTENERS|CALL)\b", lambda name: repr(values[name[0]]), cell)
            for cell in cells
        ]
        return [CodeCell("student", source) for source in sources]


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """Files that must stay unread, and listeners whom nobody must reach."""
    folder = tmp_path_factory.mktemp("class")
    for name in ("gradebook.db", "submitted/ada/lesson.ipynb", "solutions/lesson.py"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(MARKER)
    found = [COURSE.solutions, COURSE.solutions.parent / ".git", Path(hostile.__file__).parent]
    found += [Path(executors.__file__), *map(Path, ("/etc/passwd", "/etc/hosts", "/var", "/run"))]
    # Python itself may stand in a home folder
    found += [path for path in Path.home().iterdir() if path not in Path(sys.base_prefix).parents]
    found = [path for path in (*found, folder, *folder.rglob("*")) if path.exists()]
    with contextlib.ExitStack() as closing:
        tcp = closing.enter_context(socket.create_server(("127.0.0.1", 0)))
        udp = closing.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        lines = [tcp, udp]
        for address in (str(folder / "line"), f"\0hostile-{os.getpid()}"):
            for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                line = closing.enter_context(socket.socket(socket.AF_UNIX, kind))
                line.bind(address + str(int(kind)))
                if kind == socket.SOCK_STREAM:
                    line.listen()
                lines.append(line)
        yield Machine([str(path) for path in found], lines)


@pytest.fixture(scope="module", params=[Isolation.BUBBLEWRAP, Isolation.LANDLOCK])
def isolation(request, tmp_path_factory):
    """Each in turn; as in a container, Landlock is taken because bubblewrap fails."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == Isolation.LANDLOCK:
            without_namespaces(patch, tmp_path_factory.mktemp("bin"))
        assert sandbox.available_isolation() == request.param
        yield request.param


@pytest.fixture(scope="module")
def executor(isolation):
    """One for all; it starts with a secret in its environment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADEBOOK_PASSWORD", CANARY)
        patch.setattr(supervisor, "GRACE", 0.3)
        with Executor() as started:
            yield started


@pytest.fixture(scope="module")
def bank(executor, machine):
    """What became of each hostile notebook, by its name."""
    before = _processes()

    def done(case: Hostile, alone: bool) -> Afterwards:
        execution = executor.execute(_job(case, machine))
        honest = executor.execute(_honest())
        left = _settled(before) if alone else []
        return Afterwards(case, execution, honest, left)

    slow = [case for case in BANK if case.may == STOPPED]
    found = {case.name: done(case, alone=True) for case in BANK if case not in slow}
    with ThreadPoolExecutor(AT_ONCE) as threads:
        found |= {o.hostile.name: o for o in threads.map(lambda case: done(case, False), slow)}
    left = _settled(before)
    assert not left, left
    missing = before - _processes()
    assert not missing, f"the grader's own processes were ended: {missing}"
    return found


each = pytest.mark.parametrize("name", [case.name for case in BANK])


@each
def test_nothing_is_gained_and_nothing_lost(bank, name):
    cells = bank[name].execution.cells
    assert _passed(cells[FIRST]), "the points earned before"
    for what, ran in zip(CHECKS_OF_HALF, cells[-len(CHECKS_OF_HALF) :], strict=True):
        assert not _passed(ran), f"a wrong answer passes the check by {what}"
        if ran.complete:
            # nbgrader looks at one of them, the grader's own state at the other
            assert ran.failure, what
            assert ran.stopped or _errors(ran), what


@each
def test_nothing_is_reached(bank, name, isolation):
    said = _text(bank[name].execution)
    if isolation == Isolation.BUBBLEWRAP or name not in WATCHED:
        assert "LEAK" not in said, said[said.index("LEAK") :][:300]
    assert MARKER not in said
    assert CANARY not in said


@each
def test_it_does_what_it_says(bank, name, isolation):
    case, execution = bank[name].hostile, bank[name].execution
    own = execution.cells[FIRST + 1 : -len(CHECKS_OF_HALF)]
    if not case.broken:
        errors = [error["ename"] for ran in own for error in _errors(ran)]
        assert not set(errors) & set(MISTAKES), errors
        assert "NameError" not in "".join(repr(ran.outputs) for ran in own)
    if case.may == LIVES and (isolation == Isolation.BUBBLEWRAP or name not in WATCHED):
        assert not execution.ended
        assert all(ran.complete for ran in execution.cells)
    elif case.may == STOPPED:
        assert any(ran.stopped for ran in execution.cells)
    elif case.may == hostile.ENDS:
        assert execution.ended


@each
def test_outputs_are_small_and_fit_into_a_notebook(bank, name):
    for ran in bank[name].execution.cells:
        text = json.dumps([ran.outputs, ran.failure], ensure_ascii=False, allow_nan=True)
        assert len(text.encode()) < 16 << 20


@each
def test_the_next_submission_keeps_its_points(bank, name):
    assert [_passed(ran) for ran in bank[name].honest.cells] == [True] * 3
    assert not bank[name].honest.ended


@each
def test_no_process_is_left(bank, name):
    assert not bank[name].left


def test_nobody_was_called_and_nothing_written(bank, machine):
    for line in machine.listeners:
        line.setblocking(False)
        with pytest.raises(BlockingIOError):
            line.accept() if line.type == socket.SOCK_STREAM else line.recv(1)
    kit = Path(transformer_course.__file__).parent
    folders = ["/", "/usr", "/usr/lib", "/etc", "/tmp", "/dev/shm", kit, kit.parent, *sys.path]
    written = [folder for folder in folders if Path(folder, WRITTEN).exists()]
    assert not written
    assert all(Path(path).exists() for path in machine.outside)


def test_the_bank_is_large_and_its_checks_can_be_passed(executor):
    """A right answer passes all that the wrong ones are to fail."""
    assert len(BANK) >= 45
    checks = [CodeCell("check", source) for source in CHECKS_OF_HALF.values()]
    cells = [*_beginning(), CodeCell("student", hostile.RIGHT), *checks]
    assert all(map(_passed, executor.execute(Job(cells, ["double", "half"])).cells))


# --- the student's process, seen from outside ---------------------------------------------


@dataclass(frozen=True)
class Seen:
    """A student's process at work, after the checks ran."""

    holds: dict[bytes, bool]  # strings, and whether its memory holds them
    namespaces: dict[str, str]
    status: dict[str, str]
    files: int


@pytest.fixture(scope="module")
def two(executor):
    """Two students at work at the same time, and whether the tests' marker is beside them."""
    before = _processes()
    cells = [*_beginning(), CodeCell("student", BUSY)]
    job = Job(cells, ["double"], limits=Limits(30))
    with ThreadPoolExecutor(2) as threads:
        running = [threads.submit(executor.execute, job) for _ in range(2)]
        students = _until(lambda: [p for p in _new(before) if _is_first(p)], 2)
        for process in students:
            _until(lambda process=process: [OWN] if _holds(process, OWN) else [], 1)
        seen = [_seen(process) for process in students]
        others = [p for p in _new(before) if p not in students]
        with_tests = [p for p in others if _holds(p, MARKER.encode())]
        for process in students:
            process.send_signal(signal.SIGSEGV)  # killed, it would be executed again
    assert all(_passed(run.result().cells[FIRST]) for run in running)
    assert len(with_tests) == 2, "the search does not find what is there"
    return seen


def test_hidden_tests_are_never_in_the_students_memory(two):
    for student in two:
        assert student.holds[OWN]
        assert not student.holds[MARKER.encode()]
        assert not student.holds[CANARY.encode()], "a secret of the grader's environment"


def test_behind_bubblewrap_each_student_is_in_namespaces_of_its_own(two, isolation):
    one, other = two
    own = ("user", "mnt", "pid", "ipc") if isolation == Isolation.BUBBLEWRAP else ()
    for kind in ("user", "mnt", "pid", "ipc", "net", "uts"):
        ours = os.readlink(f"/proc/self/ns/{kind}")
        is_ours = ours in (one.namespaces[kind], other.namespaces[kind])
        assert is_ours == (isolation == Isolation.LANDLOCK), kind
    for kind in own:
        assert one.namespaces[kind] != other.namespaces[kind], kind


def test_a_student_has_no_privilege_and_one_open_file_of_ours(two):
    for student in two:
        for kind in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            assert int(student.status[kind], 16) == 0
        assert student.status["NoNewPrivs"] == "1"
        assert student.status["Seccomp"] == "2", "no filter of system calls"
        assert student.files == 4, "more than standard streams and the channel"


# --- what is inside -----------------------------------------------------------------------


def test_every_call_that_is_allowed_is_known():
    """One that is misspelt would be refused, here or on another kind of machine."""
    here = {*system_calls.known().values()}
    names = {*system_calls.ALLOWED, *system_calls.SIGNALS, *system_calls.MODES}
    names |= {*system_calls.TIMES}
    assert system_calls.CONDITIONS.keys() <= here
    assert not names & system_calls.CONDITIONS.keys()
    # newer than some machines' libseccomp
    new = {"futex_wake", "futex_wait", "futex_requeue", "fchmodat2", "epoll_pwait2", "futex_waitv"}
    assert names - here <= new


def test_all_calls_but_the_allowed_ones_are_refused(executor, isolation):
    """Also those that this machine's kernel knows, and its libseccomp does not."""
    source = """
for number in NUMBERS:
    ctypes.set_errno(0)
    result = libc.syscall(number, 0, 0, 0, 0, 0, 0)
    if result == 0 and number in FORKS:
        os._exit(0)
    if result != -1 or ctypes.get_errno() not in REFUSED:
        print(number, result, ctypes.get_errno())
print("tried")
"""
    known = system_calls.known()
    more = ()
    if isolation == Isolation.BUBBLEWRAP:
        more = (*system_calls.SIGNALS, *system_calls.MODES, *system_calls.TIMES)
    if isolation == Isolation.LANDLOCK and sandbox.users():
        more = system_calls.MODES
    allowed = {*system_calls.ALLOWED, *system_calls.CONDITIONS, *more}
    # no filter sees those of uprobes (335, 336 on x86), which end whoever makes them by himself
    refused = [n for n in range(600) if known.get(n) not in allowed and n not in (335, 336)]
    assert len(refused) > 350
    values = {
        "NUMBERS": refused,
        "FORKS": [number for number in refused if "fork" in known.get(number, "")],
        "REFUSED": (errno.EPERM, errno.ENOSYS),
    }
    for name, value in values.items():
        source = source.replace(name, repr(value))
    assert _inside(executor, source) == "tried\n"


def test_the_environment_is_as_written_down(executor):
    said = _inside(executor, "print(json.dumps([dict(os.environ), os.getcwd()]))")
    found, work = json.loads(said)
    # torch adds this one itself
    found.pop("TORCHINDUCTOR_CACHE_DIR", None)
    assert found == sandbox.environment(work)


def test_only_python_and_the_kit_are_visible(executor, isolation):
    kit, ours = Path(transformer_course.__file__).parent, Path(autograder.__file__).parent
    allowed = [Path("/usr/lib"), Path("/usr/lib64"), Path("/lib64"), Path("/proc"), Path("/dev")]
    execution = ours / "execution"
    allowed += [ours / "__init__.py", execution / "__init__.py", execution / "isolation"]
    allowed += [kit, Path("/etc/ld.so.cache")]
    allowed += [Path(os.path.realpath(sys.executable)).parent]
    for prefix in (sys.prefix, sys.base_prefix):
        allowed += [Path(prefix, part) for part in ("lib", "lib64", "bin", "pyvenv.cfg")]
    source = f"""
allowed = set({[str(path) for path in allowed]!r})
for folder, folders, names in os.walk("/"):
    folders[:] = [name for name in folders if os.path.join(folder, name) not in allowed]
    for path in (os.path.join(folder, name) for name in names):
        if path not in allowed and not os.path.islink(path):
            print(path)
print("walked")
"""
    assert _inside(executor, source) == "walked\n"
    if isolation == Isolation.BUBBLEWRAP:
        for folder, beside in ((ours, "execution"), (execution, "isolation")):
            seen = json.loads(_inside(executor, f"print(json.dumps(os.listdir({str(folder)!r})))"))
            assert sorted(seen) == ["__init__.py", beside]
    else:  # their names can be guessed, and no more
        for path in (ours, execution / "executor.py", Path.cwd(), "/etc/passwd", "/proc/self"):
            opened = f"try:\n    os.open('{path}', 0)\nexcept OSError as e:\n    print(e.errno)"
            assert _inside(executor, opened) == f"{errno.EACCES}\n", path


def test_a_student_is_not_root(executor, isolation):
    said = _inside(executor, "print(os.getuid(), os.geteuid(), os.getgid(), os.getpid())")
    user, effective, group, process = map(int, said.split())
    if isolation == Isolation.BUBBLEWRAP:
        assert (user, effective, group, process) == (1000, 1000, 1000, 1)
    elif users := sandbox.users():
        assert user in users
        assert effective == group == user
    else:  # root too, where nobody else could read Python; without a privilege: see above
        assert {user, effective} == {sandbox.user("student") or os.getuid()}


def test_limits_hold_for_what_the_kernel_counts(executor, isolation):
    kinds = ("NPROC", "NOFILE", "CORE", "CPU", "FSIZE")
    source = "import resource\nprint([resource.getrlimit(getattr(resource, 'RLIMIT_' + kind))"
    said = _inside(executor, f"{source} for kind in {kinds!r}])")
    limits = Limits()
    # a core of 0 bytes would still start the machine's crash handler
    most = (256, 256, 1, limits.timeout * WHOLE + 1, limits.disk)
    found = json.loads(said.replace("(", "[").replace(")", "]"))
    if isolation == Isolation.LANDLOCK:  # the user's own processes are counted too
        assert 256 <= found[0][0] == found[0][1] < 100_000
        found[0] = [256, 256]
    assert found == [[m, m] for m in most]


def test_what_is_written_is_watched_where_no_file_system_limits_it(executor, isolation):
    """In many files, or as many files, and then waits: a process that fills the disk is ended."""
    for attempt in (
        "for i in range(9):\n    open(f'part{i}', 'wb').write(bytes(8 << 20))",
        "for i in range(9999):\n    open(f'empty{i}', 'w')",
        "import shutil\nos.makedirs('a/b/c')\nos.umask(0o777)\nos.mkdir('closed')\n"
        "for i in range(9):\n    open(f'a/b/c/{i}', 'wb').write(bytes(8 << 20))",
    ):
        cells = [CodeCell("student", hostile.TOOLS), CodeCell("student", f"{attempt}\n{BUSY}")]
        limits = Limits(30, disk=16 << 20)
        execution = executor.execute(Job(cells, [], limits=limits))
        if isolation == Isolation.LANDLOCK:
            assert execution.ended == "the disk limit"
        else:
            assert "No space left" in repr(execution.cells[-1].outputs)


def test_nothing_outlives_a_grader_that_is_killed(isolation):
    """Even if the student's process asked not to die with its parent."""
    cells = [CodeCell("student", hostile.TOOLS + "libc.prctl(1, 0, 0, 0, 0)\n" + BUSY)]
    source = f"""
from autograder.execution.executor import *
with Executor() as executor:
    executor.execute(Job({cells!r}, []))
"""
    here = {"PYTHONPATH": sandbox.environment()["PYTHONPATH"]}
    grader = psutil.Popen([sys.executable, "-c", source], env=os.environ | here)
    try:
        (student,) = _until(lambda: [p for p in grader.children(recursive=True) if _is_first(p)], 1)
        _until(lambda: [OWN] if _holds(student, OWN) else [], 1)
        started = grader.children(recursive=True)
    finally:
        grader.kill()
        grader.wait()
    _, alive = psutil.wait_procs(started, timeout=LEFTOVERS)
    for process in alive:
        process.kill()
    assert not alive


def test_the_tests_side_reaches_neither_files_nor_a_network(executor, machine):
    """It reads what a student's process sends: it is shut in too, though less."""
    tcp = next(line for line in machine.listeners if line.family == socket.AF_INET)
    for attempt in (
        f"open({machine.outside[-1]!r}, 'rb').read()",
        "open('/etc/passwd').read()",
        f"import socket\nsocket.create_connection({tcp.getsockname()!r}, timeout=1)",
    ):
        execution = executor.execute(Job([CodeCell("check", attempt)], []))
        failure = execution.cells[0].failure
        assert failure, attempt
        assert re.match("(FileNotFound|Permission|OS|ConnectionRefused)Error", failure["message"])


# --- where there is no sandbox ------------------------------------------------------------


@pytest.mark.parametrize("package", ["bubblewrap", "libseccomp2"])
def test_what_is_missing_is_named(monkeypatch, package):
    if package == "bubblewrap":
        monkeypatch.setenv("PATH", "")
    else:
        monkeypatch.setitem(sys.modules, "pyseccomp", None)
    (other,) = {"bubblewrap", "libseccomp2"} - {package}
    why, fix = sandbox.refusal().split(":", 1)
    assert package in why
    assert other not in why
    assert "sudo apt install bubblewrap libseccomp2" in fix
    with pytest.raises(GraderError, match="--no-sandbox") as refused, Executor():
        pass
    assert package in str(refused.value)


def test_elsewhere_another_machine_is_named(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert "no sandbox on darwin: grade on Linux" in sandbox.refusal()
    assert "autograder/Containerfile" in sandbox.refusal()
    with pytest.raises(GraderError, match="autograder/Containerfile"), Executor(sandboxed=False):
        pass


@pytest.mark.parametrize(
    ("version", "user", "told"),
    [
        (0, None, "no Landlock"),
        (2, None, "Landlock 2"),
        (3, None, ""),
        (0, 64_731, "no Landlock"),
        (1, 64_731, ""),
    ],
)
def test_a_container_without_landlock_is_refused(monkeypatch, tmp_path, version, user, told):
    """Before version 3 it lets one make files empty: only those that one owns, though."""
    without_namespaces(monkeypatch, tmp_path)
    monkeypatch.setattr(landlock, "version", lambda: version)
    monkeypatch.setattr(sandbox, "user", lambda side: user)
    assert told in sandbox.refusal()
    assert bool(sandbox.refusal()) == bool(told)
    if told:
        assert "No permissions to create a new namespace" in sandbox.refusal()
        with pytest.raises(GraderError, match="--no-sandbox"), Executor():
            pass


def test_the_weaker_isolation_is_told_and_the_stronger_one_not(isolation, small, recorder):
    code, said = small.types("grade")
    assert code == 0, said
    told = "WEAKER SANDBOX: bubblewrap does not work here (bwrap: No permissions to create"
    assert said.startswith(told) == (isolation == Isolation.LANDLOCK)
    assert ("WEAKER" in said) == (isolation == Isolation.LANDLOCK)


# --- helpers ------------------------------------------------------------------------------


def without_namespaces(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """A bubblewrap that fails as it does in most containers stands first on the PATH."""
    program = folder / "bwrap"
    program.write_text(
        "#!/bin/sh\necho 'bwrap: No permissions to create a new namespace' >&2; exit 1"
    )
    program.chmod(0o755)
    patch.setenv("PATH", str(folder), prepend=os.pathsep)


def _beginning() -> list[CodeCell]:
    return [
        CodeCell("given", hostile.GIVEN),
        CodeCell("student", hostile.HONEST),
        CodeCell("check", hostile.CHECK_DOUBLE),
    ]


def _honest() -> Job:
    return Job(_beginning(), ["double"])


def _job(case: Hostile, machine: Machine) -> Job:
    cells = [
        *_beginning(),
        *machine.cells((hostile.TOOLS, *case.cells, case.half)),
        *(CodeCell("check", source) for source in CHECKS_OF_HALF.values()),
    ]
    return Job(cells, ["double", "half"], limits=Limits(case.timeout, 384 << 20, 16 << 20))


def _numbers() -> dict[str, int]:
    """The numbers of the system calls that the bank makes by number, on this machine."""
    return {name: number for number, name in system_calls.known().items()}


def _inside(executor: Executor, source: str) -> str:
    """What a student's cell prints."""
    cells = [CodeCell("student", hostile.TOOLS), CodeCell("student", source)]
    execution = executor.execute(Job(cells, []))
    assert not execution.ended
    (output,) = execution.cells[-1].outputs
    return output["text"]


def _passed(ran: Ran) -> bool:
    return ran.complete and not ran.stopped and ran.failure is None and not _errors(ran)


def _errors(ran: Ran) -> list[dict]:
    return [output for output in ran.outputs if output["output_type"] == "error"]


def _text(execution: Execution) -> str:
    return "\n".join(repr([ran.outputs, ran.failure]) for ran in execution.cells)


def _processes() -> set[int]:
    return {process.pid for process in psutil.Process().children(recursive=True)}


def _new(before: set[int]) -> list[psutil.Process]:
    return [p for p in psutil.Process().children(recursive=True) if p.pid not in before]


def _settled(before: set[int]) -> list[str]:
    """The processes that are still there when the killed ones must be gone."""
    end = time.monotonic() + LEFTOVERS
    while (left := _new(before)) and time.monotonic() < end:
        psutil.wait_procs(left, timeout=0.05)
    return [str(process) for process in left]


def _until(found: Callable[[], list], count: int) -> list:
    """Ask until that many are found."""
    end = time.monotonic() + 60
    while len(got := found()) < count:
        assert time.monotonic() < end, "the student's process does not come"
    return got


def _is_first(process: psutil.Process) -> bool:
    """Whether it is the first process of a namespace: a student's, where bubblewrap's is not."""
    try:
        # behind Landlock, it is the one in a submission's folder
        is_in_folder = Path(process.cwd()).name.startswith("submission-")
    except psutil.Error:
        return False
    return is_in_folder or _status(process).get("NSpid", "").split()[2:] == ["1"]


def _status(process: psutil.Process) -> dict[str, str]:
    try:
        text = Path(f"/proc/{process.pid}/status").read_text()
    except OSError:
        return {}
    return {name: value.strip() for name, _, value in (t.partition(":") for t in text.splitlines())}


def _seen(process: psutil.Process) -> Seen:
    wanted = (OWN, MARKER.encode(), CANARY.encode())
    spaces = Path(f"/proc/{process.pid}/ns")
    return Seen(
        {text: _holds(process, text) for text in wanted},
        {space.name: os.readlink(space) for space in spaces.iterdir()},
        _status(process),
        process.num_fds(),
    )


def _holds(process: psutil.Process, text: bytes) -> bool:
    """Whether a process's memory holds a text."""
    with (
        open(f"/proc/{process.pid}/maps") as maps,
        open(f"/proc/{process.pid}/mem", "rb", 0) as memory,
    ):
        for line in maps:
            where, rights, *_ = line.split()
            start, end = (int(side, 16) for side in where.split("-"))
            # what is not written to is what files hold that anybody has
            if rights.startswith("rw") and text in _part(memory, start, end):
                return True
    return False


def _part(memory: Any, start: int, end: int) -> bytes:
    try:
        memory.seek(start)
        return memory.read(end - start)
    except OSError:  # mapped, and not readable
        return b""
