"""The tests' side of one submission: walks its cells, and runs each check at its position."""

import json
import warnings
from collections.abc import Callable
from io import BufferedRWPair
from typing import Any

from transformer_course.failure import Failure

from autograder.execution.isolation.failures import write_failure
from autograder.execution.isolation.framing import LIMIT, ChannelError
from autograder.execution.isolation.messages import (
    CellResult,
    Done,
    Place,
    receive_walk,
    send_report,
)
from autograder.execution.isolation.peer import SAID
from autograder.execution.isolation.shell import JSON, Shell
from autograder.execution.isolation.test_side import TestSide


def walk(shell: Shell, student: BufferedRWPair, supervisor: BufferedRWPair) -> None:
    """Run a job's cells in order; send what became of each as soon as it is known."""
    # an instructor's warning is no student's mistake
    warnings.simplefilter("ignore")
    job = receive_walk(supervisor)
    walker = Walker(shell, TestSide(student, LIMIT), job.exercises)
    walker.place(job.files)
    room = job.outputs
    for number, cell in enumerate(job.cells):
        result = walker.run(cell.role, cell.source)
        kept, room = _kept(result["outputs"], room)
        report = CellResult(
            cell=number,
            outputs=kept,
            failure=result.get("failure"),
            ended=result.get("ended"),
            cut=len(kept) < len(result["outputs"]),
        )
        send_report(supervisor, report)
    send_report(supervisor, Done())


def _kept(outputs: list[dict], room: int) -> tuple[list[dict], int]:
    """The outputs that there is room for, and the room that they leave, in characters.

    After the first that does not fit there is no room for any other.
    """
    kept: list[dict] = []
    for output in outputs:
        room -= len(json.dumps(output))
        if room < 0:
            break
        kept.append(output)
    return kept, room


class Walker:
    """Runs one cell after another: checks here, all else on the student's side."""

    def __init__(self, shell: Shell, side: TestSide, exercises: list[str]) -> None:
        self._shell, self._side, self._exercises = shell, side, exercises
        self._given = dict(shell.user_ns)  # what given cells define, and nothing else
        self._ended = ""  # why the student's side can be asked nothing any more

    def place(self, files: dict[str, bytes]) -> None:
        """Put what was handed in beside the notebook where the student's code finds it."""
        try:
            if files:
                self._side.ask(Place(files))
        except ChannelError as error:
            self._ended = str(error)
        except Exception:  # no room, no such name: the cell that needs it will say so
            return

    def run(self, role: str, source: str) -> dict[str, Any]:
        """The cell's outputs; and why the student's side ended, if before they were complete.

        Whatever that side answers, this is what it comes to.
        """
        try:
            if self._ended:
                raise ChannelError(self._ended)
            return self._check(source) if role == "check" else self._student(role, source)
        except ChannelError as error:
            self._ended = str(error)
            return {"outputs": [], "ended": self._ended}

    def _student(self, role: str, source: str) -> dict[str, Any]:
        try:
            outputs = _sound(self._side.run(source), 2 * self._shell.limit)
        except BaseException as error:  # of the other side's: Ctrl-C between two lines, perhaps
            outputs = _shown(error)
        if role == "given":
            self._in_namespace(source, {})
            self._given = dict(self._shell.user_ns)
        return {"outputs": outputs}

    def _check(self, source: str) -> dict[str, Any]:
        try:
            proxies = self._side.proxies(self._exercises)
        except BaseException as error:
            outputs, failed = _shown(error), error
        else:
            outputs, failed = self._in_namespace(source, proxies)
        if isinstance(failed, ChannelError):
            raise failed
        failure = None
        if failed is not None:
            message = f"{type(failed).__name__}: {failed}"[:SAID]
            clue, line = getattr(failed, "clue", None), _line(failed, self._shell)
            said = getattr(failed, "failure", None)
            said = write_failure(said) if isinstance(said, Failure) else None
            failure = {"message": message, "clue": clue, "line": line, "said": said}
        return {"outputs": outputs, "failure": failure}

    def _in_namespace(self, source: str, more: dict[str, Any]) -> tuple[list, BaseException | None]:
        """Run a cell of the lesson's own with what given cells define, and `more`."""
        namespace = self._shell.user_ns
        namespace.clear()
        namespace.update(self._given, **more)
        return self._shell.run(source)


def _line(error: BaseException, shell: Shell) -> int:
    """The line of the check that an error came from, counted from 1; 0 if it did not begin."""
    traceback = error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_name == "<module>" and traceback.tb_frame.f_globals is shell.user_global_ns:
            return traceback.tb_lineno
        traceback = traceback.tb_next
    return 0


def _shown(error: BaseException) -> list[dict]:
    """An error as a cell's output."""
    if isinstance(error, ChannelError):
        raise error
    name, said = type(error).__name__, str(error)
    shown = {"ename": name, "evalue": said, "traceback": [f"{name}: {said}"]}
    return [{"output_type": "error"} | shown]


def _sound(outputs: Any, limit: int) -> list[dict]:
    """Outputs as nbformat knows them, of what a student's process says they are."""
    try:
        if type(outputs) is list and all(map(_is_output, outputs)):
            text = json.dumps(outputs)
            if len(text) <= limit:
                return json.loads(text)
    except (TypeError, ValueError):  # they are no JSON
        pass
    raise ValueError("what this cell showed is no output of a notebook, or too much of it")


def _is_output(output: Any) -> bool:
    if type(output) is not dict:
        return False
    fields = FIELDS.get(str(output.get("output_type")), {})
    return output.keys() == fields.keys() | {"output_type"} and all(
        holds(output[name]) for name, holds in fields.items()
    )


def _is_text(value: Any) -> bool:
    return type(value) is str


def _is_data(value: Any) -> bool:
    return type(value) is dict and all(
        _is_text(kind) and (_is_text(data) or JSON.fullmatch(kind)) for kind, data in value.items()
    )


def _is_dict(value: Any) -> bool:
    return type(value) is dict


# nbformat's outputs, and what holds of their fields
FIELDS: dict[str, dict[str, Callable[[Any], bool]]] = {
    "stream": {"name": lambda name: name in ("stdout", "stderr"), "text": _is_text},
    "display_data": {"data": _is_data, "metadata": _is_dict},
    "execute_result": {
        "data": _is_data,
        "metadata": _is_dict,
        "execution_count": lambda count: type(count) is int and 0 <= count < 1 << 31,
    },
    "error": {
        "ename": _is_text,
        "evalue": _is_text,
        "traceback": lambda lines: type(lines) is list and all(map(_is_text, lines)),
    },
}
