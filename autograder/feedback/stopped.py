"""In which cells a submission was stopped, in words that a student may read."""

from collections.abc import Callable
from typing import Any

from nbformat import NotebookNode

from autograder.execution.executor import modules_of
from autograder.gradebook.submission import NO_MODULE, OUT_OF_MEMORY, State

# the errors of a cell that a limit stopped, and of one with which Python ended: see `submission`
TIMED_OUT, ENDED = "CellTimeoutError", "PythonEnded"
OWN = "a cell that is no exercise"
# what befell a submission -> how it is told in which cells, and which errors tell it
BEFELL: dict[str, tuple[str, Callable[[Any], bool]]] = {
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


def befell(notebook: NotebookNode, state: str) -> str:
    """In which cells a submission was stopped; empty if it was not.

    Unlike `Finished.note`, which is for instructors, it has no exit code, and does not count the
    student's own cells: in both, the student's code could tell what it saw in hidden tests.
    """
    if state == State.WORTH_A_LOOK:
        return ", ".join(_missing_packages(notebook))
    if state not in BEFELL:
        return ""
    words, tells = BEFELL[state]
    cells = [cell for cell in notebook.cells if (error := error_of(cell)) and tells(error)]
    names = [cell.metadata.get("nbgrader", {}).get("grade_id", OWN) for cell in cells] or [OWN]
    return words.format(all=", ".join(dict.fromkeys(names)), first=names[0])


def _missing_packages(notebook: NotebookNode) -> list[str]:
    """The packages that exercises' cells import and that are not there.

    Only what stands in the cell's source: at run time, a name could be made of anything.
    """
    found = []
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        error = error_of(cell) if name.startswith("exercise_") else None
        missing = NO_MODULE.search(error.evalue) if error else None
        if missing and missing[1] in {m.partition(".")[0] for m in modules_of([cell.source])}:
            found.append(f"{name} needs `{missing[1]}`")
    return found


def error_of(cell: NotebookNode) -> Any:
    """The error that a cell ended with."""
    errors = [o for o in cell.get("outputs", []) if o.output_type == "error"]
    return errors[-1] if errors else None
