"""Whatever ends a process or fills a disk, the same command again grades each submission once."""

import json
import random
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import Future
from pathlib import Path

import psutil
import pytest

from autograder.authoring.notebook import as_text
from autograder.authoring.samples import filled, solved
from autograder.gradebook import pool
from autograder.gradebook.classroom import SETTINGS
from autograder.gradebook.result import Finished, Task
from autograder.paths import Course
from autograder.tests.support import small_disk
from autograder.tests.support.fault_injection import (
    COMMAND,
    LESSON,
    Processes,
    Run,
    environment,
    live,
    sooner_or_later,
    warm_processes,
)

SEED = 5
STUDENTS = [f"student{number:04}" for number in range(1000)]
FEWER = 200  # without `--all`
ON_DASK = STUDENTS[:100]
# who ends the command when, and the warm processes that are killed: side, how deep in the sandbox
ENDS = ["kill -9", "kill -9 while it records", "SIGTERM", "Ctrl-C"]
WARM = [[("tests", 3)], [("student", 3)], [("student", 1), ("tests", 2)]]


def kinds(instructor: Processes) -> list[str]:
    """What students hand in: solved, wrong, untouched, ending Python, and no notebook."""
    lesson = instructor.lesson
    right = solved(lesson)
    wrong, ends = {"half": "half = abs"}, {"half": "import os\nos._exit(1)"}
    answers = (right, right | wrong, {}, right | ends)
    return [*(as_text(filled(lesson, answer)) for answer in answers), "no notebook"]


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A class of its own, to which a small lesson was released."""
    folder = tmp_path_factory.mktemp("faults")
    (folder / "solutions").mkdir()
    (folder / "solutions" / "01_small.py").write_text(LESSON, encoding="utf-8")
    course = Processes(Course(folder), folder / "class")
    assert course.types("release")[0] == 0
    return course


@pytest.fixture(scope="module")
def students(everything):
    """Who is in the class."""
    return STUDENTS if everything else STUDENTS[:FEWER]


@pytest.fixture(scope="module")
def undisturbed(released, students, tmp_path_factory):
    """The whole class, graded in one go."""
    course = released.copied(tmp_path_factory.mktemp("undisturbed"))
    hand_in(course, students)
    run = course.starts("grade")
    code, said = run.ends()
    assert code == 0, said
    assert {"crashed", "graded", "unreadable"} == {r["state"] for r in course.report().values()}
    return course


def hand_in(course: Processes, students: list[str], texts: list[str] | None = None) -> None:
    """Hand something in for each, the same for the same student in every class."""
    texts = texts or kinds(course)
    for student in students:
        course.receives(student, random.Random(student).choice(texts))


def assert_each_kept_once(course: Processes, before: dict[str, int]) -> None:
    """What had been executed before a disturbance was not executed again."""
    now = course.executed()
    assert {student: now.get(student) for student in before} == before


def test_submissions_survive_whatever_is_killed(released, undisturbed, students, tmp_path):
    course = released.copied(tmp_path)
    hand_in(course, students)
    chosen = random.Random(SEED)
    todo = [*ENDS, *WARM]
    chosen.shuffle(todo)
    readable = len(undisturbed.executed())
    # a few submissions apart: one that is hit three times is not graded
    moments = sorted(chosen.sample(range(3, readable - 20, 7), len(todo)))
    executed: dict[str, int] = {}
    run, begun = course.starts("grade"), 0
    for moment, disturbance in zip(moments, todo, strict=True):
        after = max(moment, begun)
        sooner_or_later(lambda after=after: course.keeps() > after)
        assert run.process.poll() is None, run.said
        if isinstance(disturbance, str):
            end(course, run, disturbance)
            assert_each_kept_once(course, executed)
            executed = course.executed()
            run, begun = course.starts("grade"), course.keeps()
        else:
            for side, depth in disturbance:
                run.kill_warm(side, depth)
    code, said = run.ends()
    assert code == 0, said
    assert_each_kept_once(course, executed)
    assert course.wrote(students) == undisturbed.wrote(students)
    assert course.recorded() == set(undisturbed.executed())


def end(course: Processes, run: Run, how: str) -> None:
    """End a run in one of these ways; nothing of it goes on."""
    if how == "kill -9 while it records":
        sooner_or_later(course.is_recording)
    number = {"SIGTERM": signal.SIGTERM, "Ctrl-C": signal.SIGINT}.get(how, signal.SIGKILL)
    run.process.send_signal(number)
    code, said = run.ends()
    if how == "Ctrl-C":
        assert code == 130
        assert "interrupted: what finished is graded and recorded" in said
        assert course.recorded() == set(course.executed())
    else:
        assert code == -number


def test_ctrl_c_twice_gives_up_what_runs(released, tmp_path):
    course = released.copied(tmp_path)
    hand_in(course, STUDENTS[:8], kinds(course)[:1])
    loop = solved(course.lesson) | {"half": "while True:\n    pass"}
    course.receives("zoe", as_text(filled(course.lesson, loop)))
    run = course.starts("grade", "--jobs", "2")
    sooner_or_later(lambda: len(course.executed()) == 8)
    run.process.send_signal(signal.SIGINT)
    sooner_or_later(lambda: "finishing what runs" in run.said)
    run.process.send_signal(signal.SIGINT)
    code, said = run.ends()
    assert (code, "interrupted: what finished is graded" in said) == (130, True)
    assert course.recorded() == course.executed().keys() == set(STUDENTS[:8])


# --- the gradebook and the disk ------------------------------------------------------------


def test_a_locked_gradebook_costs_no_execution(released, undisturbed, tmp_path, monkeypatch):
    course = released.copied(tmp_path)
    students = [s for s in STUDENTS if s in undisturbed.executed()][:20]
    hand_in(course, students)
    locked = (1, "another program holds the gradebook: close the formgrader, then run it again")
    with (course.folder / SETTINGS).open("a", encoding="utf-8") as settings:
        # seconds that SQLite waits for a lock
        settings.write(
            "c.CourseDirectory.db_url = 'sqlite:///" + f"{course.folder}/gradebook.db?timeout=1'\n"
        )
    holder = sqlite3.connect(course.folder / "gradebook.db", isolation_level=None)
    run = course.starts("grade")
    sooner_or_later(lambda: course.keeps() >= 5)
    holder.execute("BEGIN EXCLUSIVE")
    code, said = run.ends()
    assert (code, said.strip()) == locked
    executed = course.executed()
    assert executed.keys() == set(students)
    assert course.recorded() == set()
    assert course.types("grade") == locked
    holder.execute("ROLLBACK")
    # nobody can execute anything now: all that is left to do is to record
    monkeypatch.setattr(pool, "local", None)
    code, said = course.types("grade")
    assert code == 0, said
    assert course.executed() == executed
    assert course.wrote(students) == undisturbed.wrote(students)


def test_a_full_disk_loses_nothing(released, undisturbed, tmp_path):
    course = released.copied(tmp_path)
    students = STUDENTS[:60]
    hand_in(course, students)
    (disk := tmp_path / "disk").mkdir()
    rooms = [25_000, 500_000, 30_000_000]  # bytes: first for few notebooks, then for all of them
    small = ["bwrap", "--dev-bind", "/", "/", "--size", str(50_000_000), "--tmpfs", disk, "--"]
    grade = [COMMAND, course.course.root, "grade", "--no-sandbox", "--classroom", disk / "class"]
    filling = [small_disk.__file__, disk, course.folder, tmp_path / "kept", json.dumps(rooms)]
    subprocess.run(
        [*small, sys.executable, *filling, sys.executable, "-c", *grade],
        check=True,
        env=environment(),
    )
    before: dict[str, int] = {}
    for number in range(len(rooms)):
        after = Processes(course.course, tmp_path / "kept" / f"{number}" / "class")
        code, said = json.loads((after.folder.parent / "said").read_text(encoding="utf-8"))
        assert_each_kept_once(after, before)
        before = after.executed()
        if number < len(rooms) - 1:
            _, line = said.splitlines()  # the first warns that there is no sandbox
            assert (code, line.startswith("No space left on device")) == (1, True)
            assert before.keys() - after.recorded()
        else:
            assert code == 0, said
            assert after.wrote(students) == undisturbed.wrote(students)


# --- a cluster -----------------------------------------------------------------------------


class Cluster:
    """A Dask scheduler and its workers, without a dashboard, on this machine."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        told = folder / "scheduler.json"
        options = ["--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(told)]
        self.scheduler = self._start("scheduler", *options)
        sooner_or_later(told.exists)
        sooner_or_later(lambda: told.read_text(encoding="utf-8"))
        self.address = json.loads(told.read_text(encoding="utf-8"))["address"]
        self.workers: list[Run] = []

    def add_worker(self) -> None:
        """With a thread, and no nanny to start it again."""
        options = ["--nthreads", "1", "--no-nanny", "--local-directory", str(self._folder)]
        self.workers.append(self._start("worker", self.address, *options))

    def end(self) -> None:
        """End all of it that still runs."""
        for run in (self.scheduler, *self.workers):
            run.kill()

    def _start(self, what: str, *options: str) -> Run:
        program = [sys.executable, "-m", f"distributed.cli.dask_{what}", "--no-dashboard"]
        output = self._folder / f"{what}-{len(list(self._folder.iterdir()))}"
        return Run.of([*program, *options], output)


@pytest.fixture
def clusters(tmp_path):
    """Starts clusters, which end with the test."""
    started: list[Cluster] = []

    def start() -> Cluster:
        started.append(Cluster(tmp_path / f"cluster-{len(started)}"))
        return started[-1]

    yield start
    for cluster in started:
        cluster.end()
    sooner_or_later(lambda: not warm_processes())


def test_dask_survives_a_worker_and_goes_on_with_a_new_scheduler(
    released, undisturbed, tmp_path, clusters
):
    course = released.copied(tmp_path)
    hand_in(course, ON_DASK)
    chosen = random.Random(SEED)
    readable = len(undisturbed.executed().keys() & set(ON_DASK))
    of_worker, of_scheduler = sorted(chosen.sample(range(1, readable - 20), 2))
    cluster = clusters()
    for _ in range(2):
        cluster.add_worker()
    run = course.starts("grade", "--scheduler", cluster.address)
    sooner_or_later(lambda: course.keeps() >= of_worker)
    dying = chosen.choice(cluster.workers)
    its = psutil.Process(dying.process.pid).children(recursive=True)
    dying.kill()
    sooner_or_later(lambda: not live(its))
    sooner_or_later(lambda: course.keeps() >= of_scheduler)
    assert run.process.poll() is None, run.said
    cluster.scheduler.kill()
    code, said = run.ends()
    assert (code, said.strip().splitlines()[-1]) == (1, pool.GONE)
    executed = course.executed()
    assert course.recorded() == executed.keys()
    cluster = clusters()
    cluster.add_worker()
    run = course.starts("grade", "--scheduler", cluster.address)
    assert run.process.wait() == 0, run.said
    assert_each_kept_once(course, executed)
    assert course.wrote(ON_DASK) == undisturbed.wrote(ON_DASK)


def test_a_cluster_that_cannot_grade_is_told(released, tmp_path, clusters, monkeypatch):
    course = released.copied(tmp_path)
    hand_in(course, STUDENTS[:3])
    monkeypatch.setattr(pool, "ALONE", 0.1)
    monkeypatch.setattr(pool, "CONNECT", 1)
    cluster = clusters()
    nobody = "the Dask scheduler has no workers: start some, then run it again"
    code, said = course.types("grade", "--scheduler", cluster.address)
    assert (code, said.splitlines()[-1]) == (1, nobody)
    for address, why in {
        "tcp://127.0.0.1:1": "Timed out trying to connect",
        "127.0.0.1": "missing port number",
        "smoke://127.0.0.1:1": "unknown address scheme 'smoke'",
        "tls://127.0.0.1:1": "Dask's configuration names no certificates",
    }.items():
        code, said = course.types("grade", "--scheduler", address)
        last = said.splitlines()[-1]
        assert (code, f"no Dask scheduler answers at {address}: {why}" in last) == (1, True)


def test_tasks_are_read_as_workers_get_free():
    started: list[str] = []

    def start(task: Task) -> Future[Finished]:
        started.append(task.student)
        future: Future[Finished] = Future()
        future.set_result(Finished(task.student, "", "graded"))
        return future

    tasks = (Task(f"{number}", b"") for number in range(1000))
    most = 0
    for count, _ in enumerate(pool.stream(pool.Workers(start, lambda: 3), tasks), 1):
        most = max(most, len(started) - count)
    assert (most, len(started)) == (2, 1000)


def test_what_waits_for_its_turn_is_left_to_the_next_run():
    started: list[Future[Finished]] = []
    stopping: list[bool] = []

    def start(task: Task) -> Future[Finished]:
        started.append(Future())
        if len(started) == 1:
            started[0].set_running_or_notify_cancel()
        if len(started) == 3:
            started[0].set_result(Finished(task.student, "", "graded"))
            stopping.append(True)
        return started[-1]

    tasks = [Task(f"{number}", b"") for number in range(9)]
    finished = pool.stream(pool.Workers(start, lambda: 3), tasks, lambda: bool(stopping))
    assert [task.student for task, _ in finished] == ["0"]
    assert [future.cancelled() for future in started] == [False, True, True]
