"""Submissions executed: what each cell showed and earned, and what stops whom."""

import os
import signal
import tempfile
import threading
from concurrent.futures import Future
from pathlib import Path

import psutil
import pytest

from autograder.execution.executor import (
    TRIES,
    CodeCell,
    Execution,
    Executor,
    GraderError,
    Job,
    Limits,
    Side,
    modules_of,
)
from autograder.execution.supervisor import PATIENCE

GIVEN = "import torch\nfrom transformer_course.checks import Check, numbers"
CHECK = """
with Check("mix", "twice") as check:
    check.equal(check.call(numbers(2)), 2 * numbers(2), "twice the input")
"""
RIGHT = "def mix(x):\n    return 2 * x"
USUAL, SHORT = Limits(), Limits(timeout=0.3)


@pytest.fixture(scope="module")
def executor():
    with Executor(sandboxed=False) as executor:
        yield executor


def executed(executor: Executor, *cells: str, limits=USUAL, files=None) -> Execution:
    """Execute cells; the checks among them are known by their first words."""
    given = CodeCell("given", GIVEN)
    coded = [
        CodeCell("check" if source.strip().startswith("with Check") else "student", source)
        for source in cells
    ]
    return executor.execute(Job([given, *coded], ["mix"], files or {}, limits))


def verdicts(execution: Execution) -> list[bool]:
    """Which cells ran to their end without a failed check."""
    return [ran.complete and not ran.failure for ran in execution.cells[1:]]


# --- what stops a cell ---------------------------------------------------------------------


def test_a_loop_is_stopped_and_the_rest_goes_on(executor):
    execution = executed(executor, "while True:\n    pass", RIGHT, CHECK, limits=SHORT)
    assert [ran.stopped for ran in execution.cells] == [False, True, False, False]
    assert execution.cells[1].outputs[0]["ename"] == "KeyboardInterrupt"
    assert verdicts(execution) == [True, True, True]
    assert execution.ended == ""


def test_a_loop_in_a_function_fails_the_check_that_calls_it(executor):
    loop = "def mix(x):\n    while True:\n        x = x + 0"
    execution = executed(executor, loop, CHECK, RIGHT, CHECK, limits=SHORT)
    assert [ran.stopped for ran in execution.cells[1:]] == [False, True, False, False]
    assert "took too long" in str(execution.cells[2].failure)
    assert verdicts(execution) == [True, False, True, True]


def test_a_loop_that_swallows_its_interruption_ends_the_work_but_keeps_what_was_earned(executor):
    loop = """
while True:
    try:
        while True:
            pass
    except BaseException:
        pass
"""
    execution = executed(executor, RIGHT, CHECK, loop, CHECK, limits=SHORT)
    assert verdicts(execution) == [True, True, False, False]
    assert execution.cells[3].stopped
    assert execution.ended == "the time limit"


def test_sleeping_uses_no_time_of_the_processor_and_is_stopped_all_the_same(executor):
    sleep = "import time\ntime.sleep(600)"
    execution = executed(executor, sleep, RIGHT, CHECK, limits=SHORT)
    assert execution.cells[1].stopped
    assert verdicts(execution) == [True, True, True]
    assert execution.cpu < 5


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("import os\nos._exit(7)", "exit code 7"),
        ("import ctypes\nctypes.string_at(0)", "signal SIGSEGV"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGTERM)", "signal SIGTERM"),
    ],
)
def test_an_end_keeps_what_was_earned_before(executor, source, why):
    execution = executed(executor, RIGHT, CHECK, source, CHECK)
    assert verdicts(execution) == [True, True, False, False]
    assert execution.ended == why


def test_an_end_inside_a_check_costs_this_one_and_those_after_it(executor):
    execution = executed(executor, "import os\ndef mix(x):\n    os._exit(0)", CHECK, CHECK)
    assert verdicts(execution) == [True, False, False]
    assert execution.ended == "exit code 0"


@pytest.mark.parametrize(
    "leave", ["exit()", "quit()", "raise SystemExit(1)", "import sys\nsys.exit()"]
)
def test_leaving_ends_a_cell_and_not_the_notebook(executor, leave):
    execution = executed(executor, leave, RIGHT, CHECK)
    assert verdicts(execution) == [True, True, True]


def test_memory_has_a_limit_and_the_rest_goes_on(executor):
    wants = "held = bytearray(1 << 30)"
    execution = executed(executor, wants, RIGHT, CHECK, limits=Limits(memory=1 << 29))
    assert execution.cells[1].outputs[0]["ename"] == "MemoryError"
    assert verdicts(execution) == [True, True, True]
    tensors = "held = torch.ones(1 << 27, dtype=torch.float64)"
    execution = executed(executor, tensors, RIGHT, CHECK, limits=Limits(memory=1 << 29))
    assert "memory" in execution.cells[1].outputs[0]["evalue"]
    assert verdicts(execution) == [True, True, True]


# --- files, folders, processes --------------------------------------------------------------


def test_files_beside_the_notebook_are_found_and_shadow_nothing(executor):
    files = {
        "mine.py": b"def double(x):\n    return 2 * x",
        "data/numbers.csv": b"1,2",
        "torch.py": b"raise SystemExit('shadowed')",
        "transformer_course.py": b"raise SystemExit('shadowed')",
        # a module of Python's own that nothing else has imported
        "tabnanny.py": b"raise SystemExit('shadowed')",
    }
    student = (
        "import torch, tabnanny, mine, transformer_course\nfrom mine import double as mix\n"
        "print(open('data/numbers.csv').read(), tabnanny.verbose == 0, torch.ones(1).item())"
    )
    execution = executed(executor, student, CHECK, files=files)
    assert execution.cells[1].outputs[0]["text"] == "1,2 True 1.0\n"
    assert verdicts(execution) == [True, True]


def test_a_file_that_cannot_be_placed_stops_nobody(executor):
    files = {"a": b"", "a/b": b""}
    assert verdicts(executed(executor, RIGHT, CHECK, files=files)) == [True, True]


def test_nothing_is_left_of_working_folders(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Executor(sandboxed=False) as executor:
        wrote = "from pathlib import Path\nPath('here').write_text('x')\nPath.cwd()"
        execution = executed(executor, wrote)
        (folder,) = execution.cells[1].outputs
        executed(executor, wrote + "\nimport os\nos._exit(1)")
    assert str(tmp_path) in folder["data"]["text/plain"]
    assert not list(tmp_path.iterdir())


def test_one_submission_leaves_nothing_to_the_next(executor):
    executed(executor, "import torch, builtins\nbuiltins.mine = torch.mine = 1\nx = 2")
    later = executed(executor, "import builtins\n'x' in dir(), hasattr(builtins, 'mine')")
    assert later.cells[1].outputs[0]["data"] == {"text/plain": "(False, False)"}


def test_each_submission_draws_the_same_numbers(executor):
    source = "import random, numpy\nrandom.random(), numpy.random.rand(), torch.rand(1).item()"
    first, second = (executed(executor, f"import torch\n{source}").cells for _ in range(2))
    assert first[1].outputs[0]["data"] == second[1].outputs[0]["data"]


def test_what_a_whole_notebook_shows_has_a_limit_and_the_rest_goes_on(executor):
    """In many cells, of which none shows too much; and a check that fails still says so."""
    wrong = "def mix(x):\n    print('wrong')\n    return x"
    cells = ["print('a' * 900)"] * 9 + [RIGHT, CHECK, wrong, CHECK]
    execution = executed(executor, *cells, limits=Limits(outputs=5_000))
    assert verdicts(execution) == [True] * 12 + [False]
    assert execution.cells[-1].outputs[0]["ename"] == "CheckFailed"
    shown = [ran for ran in execution.cells[1:] if ran.outputs and not ran.failure]
    assert len(shown) == 5
    assert [ran.cut for ran in execution.cells[1:]] == [False] * 5 + [True] * 4 + [
        False,
        True,
        False,
        True,
    ]


def test_sleeping_in_many_cells_is_stopped_as_in_one(executor):
    """Each would be stopped after five limits; all of them together get one cell's patience."""
    sleep = "import time\ntime.sleep(600)"
    execution = executed(executor, *[sleep] * 20, RIGHT, CHECK, limits=SHORT)
    assert all(ran.stopped for ran in execution.cells[1:21])
    assert verdicts(execution)[-1]
    assert execution.seconds < 20 * SHORT.timeout * PATIENCE


@pytest.mark.parametrize("side", ["student", "tests"])
def test_a_process_that_was_killed_is_replaced_and_the_submission_executed_again(side, tmp_path):
    with Executor(sandboxed=False) as executor:
        assert all(verdicts(executed(executor, RIGHT, CHECK)))
        killed = executor._servers[side].process
        psutil.Process(killed.pid).kill()
        killed.wait()
        assert all(verdicts(executed(executor, RIGHT, CHECK)))

        # and so in the midst of a submission, which says when it is there
        there, go = tmp_path / "there", tmp_path / "go"
        os.mkfifo(there)
        wait = (
            f"import os, time\nif not os.path.exists({str(go)!r}):\n"
            f"    open({str(there)!r}, 'w').close()\n    time.sleep(600)"
        )
        executions: list[Execution] = []
        thread = threading.Thread(
            target=lambda: executions.append(executed(executor, wait, RIGHT, CHECK))
        )
        thread.start()
        Path(there).read_text()
        go.touch()
        os.kill(executor._servers[side].process.pid, signal.SIGKILL)
        thread.join()
    assert verdicts(executions[0]) == [True, True, True]


@pytest.mark.parametrize("side", ["student", "tests"])
def test_a_submission_whose_process_is_killed_from_outside_is_executed_again(side, tmp_path):
    """As the machine's OOM killer does: it costs nobody a point."""
    with Executor(sandboxed=False) as executor:
        ran = _killed(executor, side, tmp_path, times=1)
        assert verdicts(ran.result()) == [True, True, True]


@pytest.mark.parametrize("side", ["student", "tests"])
def test_what_is_killed_from_outside_each_time_gets_no_grade(side, tmp_path):
    with Executor(sandboxed=False) as executor:
        ran = _killed(executor, side, tmp_path, times=TRIES)
        with pytest.raises(GraderError, match="out of memory"):
            ran.result()


def _killed(executor: Executor, side: Side, folder: Path, times: int) -> Future[Execution]:
    """A submission in the midst of which one of its processes is killed, so many times."""
    there, go = folder / "there", folder / "go"
    os.mkfifo(there)
    wait = (
        f"import os, time\nif not os.path.exists({str(go)!r}):\n"
        f"    open({str(there)!r}, 'w').close()\n    time.sleep(600)"
    )
    ran: Future[Execution] = Future()

    def execute() -> None:
        try:
            ran.set_result(executed(executor, wait, RIGHT, CHECK))
        except GraderError as error:
            ran.set_exception(error)

    thread = threading.Thread(target=execute)
    thread.start()
    for number in range(times):
        there.read_text()
        if number == TRIES - 1 or times == 1:
            go.touch()
        # the last one is the process itself; the one above waits for it, and says how it ended
        *_, process = psutil.Process(executor._servers[side].process.pid).children(recursive=True)
        process.kill()
    thread.join()
    return ran


def test_threads_share_an_executor(executor):
    together = threading.Barrier(2)
    answers = ["return 2 * x", "return 3 * x"]
    results: dict[str, list[list[bool]]] = {answer: [] for answer in answers}

    def work(answer: str) -> None:
        together.wait()
        for _ in range(5):
            execution = executed(executor, f"def mix(x):\n    {answer}", CHECK)
            results[answer].append(verdicts(execution))

    threads = [threading.Thread(target=work, args=(answer,)) for answer in answers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {answers[0]: [[True, True]] * 5, answers[1]: [[True, False]] * 5}


def test_what_was_used_is_told(executor):
    execution = executed(executor, "held = bytearray(1 << 28)\nsum(range(10**7))")
    assert execution.cpu > 0.05
    assert execution.memory > 1 << 28
    assert execution.seconds > 0


def test_a_check_prints_what_the_students_code_prints_and_no_more(executor):
    (ran,) = executed(executor, "def mix(x):\n    print('here')\n    return 2 * x", CHECK).cells[2:]
    assert [output["text"] for output in ran.outputs] == ["here\n✓ mix: twice\n"]


def test_the_modules_that_cells_import():
    cells = ["import numpy as np, torch.nn.functional\nfrom a.b import c", "%pip install x", "x =="]
    cells += ["def f():\n    from . import d\n    import json\n"]
    assert modules_of(cells) == {"numpy", "torch.nn.functional", "a.b", "json"}
