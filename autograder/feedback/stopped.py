"""Describe to students in which cells a submission was stopped."""

from collections.abc import Callable
from typing import Any

from nbformat import NotebookNode

from autograder.authoring.cell_name import CellName
from autograder.execution.executor import modules_of
from autograder.gradebook.result import State
from autograder.gradebook.submission import NO_MODULE, OUT_OF_MEMORY

# the errors of a cell that a limit stopped, and of one with which Python ended: see `submission`
TIMED_OUT, ENDED = "CellTimeoutError", "PythonEnded"
OWN = "a cell that is no exercise"
# state -> description, and a test for the errors that belong to it
STOPPED: dict[str, tuple[str, Callable[[Any], bool]]] = {
    State.TIMED_OUT: ("stopped by the time limit: {all}", lambda error: error.ename == TIMED_OUT),
    State.MEMORY: (
        "more memory than allowed: {all}",
        lambda error: any(words in f"{error.ename} {error.evalue}" for words in OUT_OF_MEMORY),
    ),
    State.CRASHED: (
        "Python ended in {first}: what was earned before is kept",
        lambda error: error.ename == ENDED,
    ),
}


def stopped_cells(notebook: NotebookNode, state: str) -> str:
    """Describe in which cells a submission was stopped; empty if it was not.

    Unlike `Finished.note`, which is for instructors, it gives no exit code and does not count the
    student's own cells: code that knows hidden inputs could leak them through either.
    """
    if state == State.WORTH_A_LOOK:
        return ", ".join(_missing_packages(notebook))
    if state not in STOPPED:
        return ""
    description, belongs = STOPPED[state]
    cells = [cell for cell in notebook.cells if (error := error_of(cell)) and belongs(error)]
    names = [cell.metadata.get("nbgrader", {}).get("grade_id", OWN) for cell in cells] or [OWN]
    return description.format(all=", ".join(dict.fromkeys(names)), first=names[0])


def _missing_packages(notebook: NotebookNode) -> list[str]:
    """The missing packages that exercise cells import.

    Only names in the cell's source: a name computed at run time could contain anything.
    """
    found = []
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        error = error_of(cell) if CellName.parse(name).role == "exercise" else None
        missing = NO_MODULE.search(error.evalue) if error else None
        if missing and missing[1] in {m.partition(".")[0] for m in modules_of([cell.source])}:
            found.append(f"{name} needs `{missing[1]}`")
    return found


def error_of(cell: NotebookNode) -> Any:
    """The last error among a cell's outputs."""
    errors = [o for o in cell.get("outputs", []) if o.output_type == "error"]
    return errors[-1] if errors else None
