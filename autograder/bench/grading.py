"""`python -m autograder.bench.grading`: measure the speed and the CPU time of grading.

Both sides of every ratio are measured in turn, in this run. Needs an otherwise idle machine: CPU
time is read from the whole system, because sandboxed processes hide theirs.
"""

import argparse
import dataclasses
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from autograder import paths
from autograder.bench import classes
from autograder.commands.terminal import as_table, console
from autograder.execution.executor import Executor, Limits
from autograder.gradebook.classroom import Classroom
from autograder.gradebook.grade import BATCH
from autograder.gradebook.recorder import Recorder
from autograder.gradebook.result import Task
from autograder.gradebook.result_store import keep
from autograder.gradebook.submission import graded, modules

CORES = os.cpu_count() or 1
ROUNDS = 2


def main() -> None:
    """Run the benchmarks, and print a table for each."""
    parser = argparse.ArgumentParser(prog="python -m autograder.bench.grading")
    parser.add_argument(
        "--soak", type=int, metavar="N", help="only grow a class up to N small submissions"
    )
    soak = parser.parse_args().soak
    # on the disk of temporary files, which grading uses too
    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    try:
        if soak:
            _print(
                "growth", ("submissions", "a minute", "memory of the grader"), _soak(folder, soak)
            )
            return
        kinds = ("lesson", "nbgrader", "ours", "ratio", "of the CPU limit", "CPU s over the cells'")
        _print("submissions a minute, sandboxed", kinds, _throughput(folder))
        _print("on a Dask cluster of local workers", ("pool", "cluster", "ratio"), _cluster(folder))
        _print("recording", ("results", "a second"), _recording(folder))
    finally:
        shutil.rmtree(folder)


def _print(title: str, heading: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> None:
    with console.status(title):
        found = list(rows)
    console.print(as_table(title, heading, found))


def _throughput(folder: Path) -> Iterator[tuple[str, ...]]:
    """Submissions per minute of light, whole and training lessons, including start-up."""
    for name, cut, stock_size, our_size in (
        ("light: no experiments", classes.light, 3, 200),
        ("lesson 01 whole", classes.whole, 2, 30),
        ("light, and 3 s of training", classes.training, 2, 20),
    ):
        stock = classes.make(folder, f"stock {name}", cut)
        ours = classes.make(folder, f"ours {name}", cut)
        stock.receives(stock_size)
        ours.receives(our_size)
        theirs, mine, busy = 0.0, 0.0, 0.0
        for _ in range(ROUNDS):
            theirs += _seconds(lambda c=stock: c.grade(c.stock_command()))
            before = _busy()
            mine += _seconds(lambda c=ours: c.grade(c.command("--again")))
            busy += _busy() - before
        own = _cells_alone(ours)
        rate, other = 60 * ROUNDS * our_size / mine, 60 * ROUNDS * stock_size / theirs
        start, cost = _start(ours)
        over = (busy - ROUNDS * cost) / (ROUNDS * our_size) - own
        limit = own * ROUNDS * our_size / CORES / (mine - ROUNDS * start)
        yield (
            name,
            f"{other:.1f}",
            f"{rate:.0f}",
            f"{rate / other:.0f} ×",
            f"{limit:.2f}",
            f"{over:.2f} over {own:.2f}",
        )


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _busy() -> float:
    """CPU seconds used by the whole machine."""
    times = psutil.cpu_times()
    return times.user + times.system + times.nice


def _start(group: classes.BenchmarkClass) -> tuple[float, float]:
    """Wall and CPU seconds of the command's start-up."""
    before = _busy()
    seconds = _seconds(lambda: group.grade(group.command("--again", "--student", "student-00000")))
    own = _cells_alone(group, 1)
    return seconds - own, _busy() - before - own


def _cells_alone(group: classes.BenchmarkClass, count: int = 10) -> float:
    """CPU seconds of a submission's cells alone, in a warm process."""
    classroom = Classroom.open(group.folder)
    as_released = classroom.released(group.lesson.name)
    program = [sys.executable, "-m", "autograder.bench.cells", *sorted(modules(as_released))]
    notebooks = [
        str(classroom.path("autograded", group.lesson.name, f"student-{number:05}"))
        for number in range(count)
    ]
    completed = subprocess.run(program, input="\n".join(notebooks), capture_output=True, text=True)
    return float(completed.stdout) / count


def _cluster(folder: Path) -> Iterator[tuple[str, ...]]:
    """Compare the local pool with a cluster of as many local workers, after warming up."""
    group = classes.make(folder, "cluster", classes.light)
    group.receives(120)
    with _workers(folder, CORES) as address:
        pool = cluster = 0.0
        for round_ in range(ROUNDS + 1):
            on_cluster = _rate(group, "--scheduler", address)
            locally = _rate(group)
            if round_:  # the first round warms the workers
                cluster, pool = cluster + on_cluster / ROUNDS, pool + locally / ROUNDS
    yield f"{pool:.0f} a minute", f"{cluster:.0f} a minute", f"{cluster / pool:.2f}"


def _rate(group: classes.BenchmarkClass, *options: str) -> float:
    """Submissions per minute, without start-up."""
    few = _seconds(
        lambda: group.grade(group.command("--again", "--student", "student-00000", *options))
    )
    every = _seconds(lambda: group.grade(group.command("--again", *options)))
    return 60 * 119 / (every - few)


@contextmanager
def _workers(folder: Path, count: int) -> Iterator[str]:
    """A Dask cluster of local workers, started by Dask's command line."""
    file = folder / "scheduler.json"
    python = [sys.executable, "-m"]
    scheduler = [*python, "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    worker = [*python, "distributed.cli.dask_worker", "--scheduler-file", str(file)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": paths.ROOT}
    running = [
        subprocess.Popen([*scheduler, "--no-dashboard", "--scheduler-file", str(file)], **quiet),
        *(
            subprocess.Popen([*worker, "--nthreads", "1", "--no-dashboard"], **quiet)
            for _ in range(count)
        ),
    ]
    try:
        from distributed import Client

        while not file.exists():
            time.sleep(0.1)
        with Client(scheduler_file=str(file), set_as_default=False) as client:
            client.wait_for_workers(count, timeout=60)
            address = str(client.scheduler_info()["address"])
        yield address
    finally:
        for process in reversed(running):
            process.terminate()
            process.wait()


def _recording(folder: Path) -> Iterator[tuple[str, ...]]:
    """Record results of lesson 01 in a SQLite gradebook, in batches as `grade` does."""
    group = classes.make(folder, "recording")
    group.receives(1)
    classroom = Classroom.open(group.folder)
    lesson = group.lesson.name
    as_released = classroom.released(lesson)
    path = classroom.path("submitted", lesson, "student-00000")
    with Executor(modules(as_released)) as executor:
        one = graded(Task("student-00000", path.read_bytes()), as_released, Limits(), executor)
    results = [dataclasses.replace(one, student=f"s{number:04}") for number in range(1000)]
    for result in results:
        keep(classroom.path("autograded", lesson, result.student), result)
    with Recorder(classroom, lesson) as recorder:

        def record() -> None:
            for start in range(0, len(results), BATCH):
                recorder.record(results[start : start + BATCH])

        for title in ("1,000 new ones", "1,000 again"):
            yield title, f"{len(results) / _seconds(record):.0f}"


def _soak(folder: Path, most: int) -> Iterator[tuple[str, ...]]:
    """Grade ever larger classes of the smallest lesson, each by one command."""
    count = max(1, most // 100)
    while count <= most:
        group = classes.make(folder, f"soak {count}", classes.smallest)
        group.receives(count)
        start = time.perf_counter()
        peak = int(group.grade(group.command())) / 1024
        seconds = time.perf_counter() - start
        classroom = Classroom.open(group.folder)
        names = (f"student-{number:05}" for number in range(count))
        missing = sum(classroom.submission(group.lesson.name, name).kept is None for name in names)
        rate = f"{60 * count / seconds:.0f}" + (f", {missing} MISSING" if missing else "")
        yield f"{count:,}", rate, f"{peak:.0f} MiB"
        count *= 10


if __name__ == "__main__":
    main()
