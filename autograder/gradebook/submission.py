"""What a worker does with one submission: repair it, execute it, and say what it earned.

Data in, data out: the same function serves this machine's threads and other machines' workers.
"""

import ast
import hashlib
import json
import platform
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import nbformat
from nbformat import NotebookNode
from nbgrader.preprocessors import LimitOutput
from nbgrader.utils import compute_checksum, determine_grade

from autograder.authoring.notebook import as_text
from autograder.execution.executor import (
    CodeCell,
    Execution,
    Executor,
    Job,
    Limits,
    Ran,
    modules_of,
)
from autograder.execution.isolation.failures import read_failure
from autograder.gradebook.result import Finished, State, Task, key
from autograder.intake.reading import Unreadable
from autograder.intake.released import Released
from autograder.intake.repair import Repaired, repair

# what a student's code lacked here, by the errors of Python, of its network and of the sandbox
NO_MODULE = re.compile(r"No module named '([\w.]{1,60})'")
REFUSED = ("PermissionError", "URLError", "ConnectionError", "gaierror")
OUT_OF_MEMORY = ("MemoryError", "can't allocate memory")  # Python's own words, and torch's
LEFT_OUT = "\n[what this notebook shows from here on is left out: it is too much]\n"
FEW = 5  # of such things that a note names
RED, RESET = "\x1b[0;31m", "\x1b[0m"
# what a kernel says of itself: formgrader and feedback colour code by it
LANGUAGE = {
    "name": "python",
    "version": platform.python_version(),
    "mimetype": "text/x-python",
    "codemirror_mode": {"name": "ipython", "version": 3},
    "pygments_lexer": "ipython3",
    "nbconvert_exporter": "python",
    "file_extension": ".py",
}


def modules(released: Released) -> set[str]:
    """What a lesson's cells import: worth importing once."""
    return modules_of(cell.source for cell in released.cells if cell.cell_type == "code")


def graded(task: Task, released: Released, limits: Limits, executor: Executor) -> Finished:
    """Grade one submission; what is wrong with it is told, not raised."""
    name = key(task, released)
    try:
        repaired = repair(task.notebook, released)
    except Unreadable as why:
        return Finished(task.student, name, State.UNREADABLE, str(why))
    notebook = repaired.notebook
    cells = _code(notebook)
    job = _job(notebook, task, released, limits)
    execution = executor.execute(job)
    for count, (cell, ran) in enumerate(zip(cells, execution.cells, strict=True), 1):
        _fill_in(cell, count, ran, execution.ended, limits)
    notebook.metadata.language_info = nbformat.from_dict(LANGUAGE)
    notebook, _ = LimitOutput().preprocess(notebook, {})
    state, note = _standing(cells, execution)
    return Finished(
        task.student,
        name,
        state,
        note,
        as_text(notebook),
        _repairs(task, repaired),
        round(execution.seconds, 3),
        round(execution.cpu, 3),
        *_earned(notebook),
        failed=_failed(cells, execution),
        failures=_failures(cells, execution),
        executed=_digest(task, job),
        answers=_answers(notebook),
    )


def graded_before(task: Task, released: Released, earlier: Finished) -> Finished | None:
    """What the same cells earn that ran `earlier`, points and all else as they are today.

    None if something else was handed in, or other cells would run, or not all ran to their end.
    """
    try:
        repaired = repair(task.notebook, released)
    except Unreadable:
        return None
    notebook = repaired.notebook
    job = _job(notebook, task, released, Limits())
    whole = earlier.state in (State.GRADED, State.WORTH_A_LOOK)
    if not whole or earlier.executed != _digest(task, job):
        return None
    ran = _code(nbformat.reads(earlier.notebook, as_version=4))
    for cell, before in zip(_code(notebook), ran, strict=True):
        cell.outputs, cell.execution_count = before.outputs, before.execution_count
    notebook.metadata.language_info = nbformat.from_dict(LANGUAGE)
    scores, untouched = _earned(notebook)
    return replace(
        earlier,
        key=key(task, released),
        notebook=as_text(notebook),
        repairs=_repairs(task, repaired),
        scores=scores,
        untouched=untouched,
        answers=_answers(notebook),
    )


def _code(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def _job(notebook: NotebookNode, task: Task, released: Released, limits: Limits) -> Job:
    coded = [CodeCell(_role(cell), cell.source) for cell in _code(notebook)]
    return Job(coded, _exercises(released), task.files, limits)


def _digest(task: Task, job: Job) -> str:
    """What tells a submission and the code that it runs from others, whatever the limits."""
    cells = [
        [cell.role, cell.source if cell.role == "student" else _meaning(cell.source)]
        for cell in job.cells
    ]
    files = {name: hashlib.sha256(data).hexdigest() for name, data in job.files.items()}
    told = json.dumps([cells, list(job.exercises), files], sort_keys=True)
    return hashlib.sha256(told.encode() + task.notebook).hexdigest()


@lru_cache(maxsize=500)  # the lesson's own cells, which are the same in all submissions
def _meaning(source: str) -> str:
    """A cell's code at its places: a comment that says its points changes nothing."""
    try:
        return ast.dump(ast.parse(source), include_attributes=True)
    except (SyntaxError, ValueError):  # not Python, but IPython's
        return source


def _repairs(task: Task, repaired: Repaired) -> tuple[str, ...]:
    return (*filter(None, [task.note]), *repaired.repairs)


def _answers(notebook: NotebookNode) -> dict[str, str]:
    """What a person is to mark, and what tells its text from another one."""
    return {
        cell.metadata.nbgrader.grade_id: hashlib.sha256(
            json.dumps([cell.source, cell.get("attachments")], sort_keys=True).encode()
        ).hexdigest()
        for cell in notebook.cells
        if (about := cell.metadata.get("nbgrader", {})).get("grade") and about["solution"]
    }


def _role(cell: NotebookNode) -> str:
    """Who runs a cell: see `executor.CodeCell`."""
    about = cell.metadata.get("nbgrader", {})
    if about.get("grade") and not about["solution"]:
        return "check"
    return "given" if about.get("locked") else "student"


def _exercises(released: Released) -> list[str]:
    """The names that checks may ask for: those of the cells that students solve in code."""
    return [cell.exercise for cell in released.cells if cell.exercise]


def _fill_in(cell: NotebookNode, count: int, ran: Ran, ended: str, limits: Limits) -> None:
    """Give a cell its outputs, and an error where it was stopped or never ran."""
    cell.execution_count = count
    outputs = [*ran.outputs]
    if ran.stopped:
        said = f"stopped after {limits.timeout:g} s of computing: does a loop never end?"
        outputs.append(_error("CellTimeoutError", said))
    elif not ran.complete:
        # nbgrader takes a check without an error for one that passed
        outputs.append(_error("PythonEnded", f"{ended}: nothing from here on ran to its end"))
    if ran.cut:
        outputs.append({"output_type": "stream", "name": "stdout", "text": LEFT_OUT})
    for output in outputs:
        if output["output_type"] == "execute_result":
            output["execution_count"] = count
        if output.get("name") == "stderr" and _role(cell) == "check":
            # nbgrader takes any warning in a check for a failure
            output["name"] = "stdout"
    cell.outputs = [nbformat.from_dict(output) for output in outputs]


def _error(name: str, said: str) -> dict:
    lines = [f"{RED}{name}{RESET}: {said}"]
    return {"output_type": "error", "ename": name, "evalue": said, "traceback": lines}


def _standing(cells: list[NotebookNode], execution: Execution) -> tuple[State, str]:
    """What befell the submission, apart from points, and in which cells."""
    rans = list(zip(cells, execution.cells, strict=True))
    stopped = [_called(cell) for cell, ran in rans if ran.stopped]
    if stopped:
        return State.TIMED_OUT, f"stopped by the time limit: {', '.join(stopped)}"
    full = [_called(cell) for cell, _ in rans if _out_of_memory(cell)]
    if execution.ended == "the memory limit":
        full.append("the whole submission")
    if full:
        return State.MEMORY, f"more memory than allowed: {', '.join(full)}"
    if execution.ended:
        first = next((_called(cell) for cell, ran in rans if not ran.complete), "the last cell")
        kept = "what was earned before is kept"
        return State.CRASHED, f"Python ended in {first} ({execution.ended}): {kept}"
    odd = [*_left_out(rans), *_lacked(rans)]
    return (State.WORTH_A_LOOK, "; ".join(odd)) if odd else (State.GRADED, "")


def _left_out(rans: Sequence[tuple[NotebookNode, Ran]]) -> list[str]:
    """From where on the notebook shows more than is kept."""
    first = next((_called(cell) for cell, ran in rans if ran.cut), "")
    return [f"it shows too much: outputs are left out from {first} on"] if first else []


def _lacked(rans: Sequence[tuple[NotebookNode, Ran]]) -> list[str]:
    """What the student's code asked for and did not get, if a check failed: it may be right."""
    if not any(ran.failure for _, ran in rans):
        return []
    found = {}
    for cell, _ in rans:
        for error in (output for output in cell.outputs if output.output_type == "error"):
            if missing := NO_MODULE.search(error.evalue):
                said = f"{_called(cell)} needs `{missing[1]}`, which is not installed here"
                found.setdefault(missing[1], said)
            elif error.ename in REFUSED and _role(cell) == "student":
                said = f"{_called(cell)} asks for what is refused here ({error.ename})"
                found.setdefault(error.ename, said)
    return [*found.values()][:FEW]


def _failed(cells: list[NotebookNode], execution: Execution) -> dict[str, int]:
    """Where each check that failed did so: the tests' own word, which no output can forge."""
    rans = zip(cells, execution.cells, strict=True)
    return {_called(cell): ran.failure["line"] for cell, ran in rans if ran.failure}


def _failures(cells: list[NotebookNode], execution: Execution) -> dict[str, dict]:
    """What each check that failed says, where that is a `Failure`."""
    rans = zip(cells, execution.cells, strict=True)
    said = {_called(cell): ran.failure["said"] for cell, ran in rans if ran.failure}
    return {name: told for name, told in said.items() if read_failure(told)}


def _called(cell: NotebookNode) -> str:
    return cell.metadata.get("nbgrader", {}).get("grade_id", "a cell that is no exercise")


def _out_of_memory(cell: NotebookNode) -> bool:
    errors = [output for output in cell.outputs if output.output_type == "error"]
    return any(words in f"{e.ename} {e.evalue}" for e in errors for words in OUT_OF_MEMORY)


def _earned(notebook: NotebookNode) -> tuple[dict[str, float | None], tuple[str, ...]]:
    """Points by nbgrader's own rules, and the answers that were left empty."""
    scores, untouched = {}, []
    for cell in notebook.cells:
        about = cell.metadata.get("nbgrader", {})
        if about.get("grade"):
            scores[about["grade_id"]] = determine_grade(cell)[0]
        if about.get("solution") and about["checksum"] == compute_checksum(cell):
            untouched.append(about["grade_id"])
    return scores, tuple(untouched)
