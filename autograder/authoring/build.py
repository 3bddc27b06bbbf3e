"""Build everything that is made from a lesson, and only what is out of date.

    solutions/NN.py -> notebooks/NN.ipynb                 the student's version
                    -> solutions/NN.ipynb                 executed, for reading
                    -> the kit's progress/NN.json         its checks, for the view of progress
    answers/NN.py   -> the kit's misconceptions/NN.jsonl  what wrong answers return

A built file says in its metadata what it was built from. So a build without news writes nothing.
"""

import copy
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

from autograder import paths
from autograder.authoring.answer_bank import read_answers
from autograder.authoring.lesson import AuthoringError, Lesson, read_lesson
from autograder.authoring.listed_checks import listed_checks
from autograder.authoring.notebook import as_text, code_of, source_notebook, student_version
from autograder.authoring.proofs import kit_behind

STAMP = "built_from"
VIEW = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"
# a live view in an executed notebook: its kind, its data and the state of its controls
LIVE = "application/vnd.transformer-course.view+json"
Step = Callable[[str], None]  # told what begins


class BuildFailed(Exception):
    """A lesson that does not run; the message shows the cell and its error."""


def build(path: Path, execute: bool, told: Step) -> list[Path]:
    """Bring one lesson's built files up to date; return those that changed."""
    lesson = read_lesson(path)
    source = source_notebook(lesson)
    student = lesson.course.notebooks / f"{lesson.name}.ipynb"
    version = student_version(source)
    changed = [student] if paths.write(student, as_text(version)) else []
    checks = lesson.course.progress / f"{lesson.name}.json"
    changed += [checks] if paths.write(checks, listed_checks(lesson, version)) else []
    if execute:
        changed += build_misconceptions(lesson, told)
        changed += build_solution(lesson, source, told)
    return changed


def build_misconceptions(lesson: Lesson, told: Step) -> list[Path]:
    """Run the wrong answers through the visible checks, and store what they return."""
    bank, kit = lesson.bank, lesson.course.kit
    if not bank.exists():
        fix = f"write {paths.display_path(bank)}, with wrong and right answers to its exercises"
        raise AuthoringError(lesson.path, 1, "this lesson has no answers bank", fix)
    target = lesson.course.misconceptions / f"{lesson.name}.jsonl"
    # what a check sees of an answer has crossed the channel
    channel = sorted((paths.ROOT / "autograder" / "execution" / "isolation").glob("*.py"))
    checks = sorted((kit / "checks").rglob("*.py"))
    run = json.dumps([(cell.grade_id, cell.source) for cell in lesson.cells if cell.role])
    built_from = _digest([bank, *checks, *channel], run)
    if target.exists() and built_from in target.read_text(encoding="utf-8").split("\n")[0]:
        return []
    # these import torch, which a build without news does not need
    from autograder.authoring.misconceptions import rows
    from autograder.authoring.prove import BankRunner

    told("running the wrong answers")
    head = {"generated": f"from {paths.display_path(bank)}: never edit", STAMP: built_from}
    wrong = [answer for answer in read_answers(bank, lesson) if not answer.right]
    with BankRunner(lesson) as bench:
        found = [one for left in bench.each(bench.clues, wrong) for one in left]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in [head, *rows(found)])
    return [target] if paths.write(target, text) else []


def build_solution(lesson: Lesson, source: NotebookNode, told: Step) -> list[Path]:
    """Execute the solved lesson, if its code or the kit changed since; prose is just replaced."""
    target = lesson.path.with_suffix(".ipynb")
    code = code_of(source)
    built_from = _digest(kit_behind(lesson, code), json.dumps(code))
    before = nbformat.read(target, as_version=4) if target.exists() else source
    if before.metadata.get("transformer_course", {}).get(STAMP) == built_from:
        executed = _with_outputs_of(before, source)
    else:
        told("executing the solution")
        executed = execute(source)
    executed.metadata["transformer_course"] = {STAMP: built_from}
    return [target] if paths.write(target, as_text(executed)) else []


def _with_outputs_of(executed: NotebookNode, source: NotebookNode) -> NotebookNode:
    """The source, with what the same code gave when it was executed."""
    notebook = copy.deepcopy(source)
    notebook.metadata = executed.metadata
    pairs = (
        [cell for cell in cells if cell.cell_type == "code"]
        for cells in (notebook.cells, executed.cells)
    )
    for cell, before in zip(*pairs, strict=True):
        cell.outputs, cell.execution_count = before.outputs, before.execution_count
    return notebook


def execute(notebook: NotebookNode, allow_errors: bool = False) -> NotebookNode:
    """Run a notebook from top to bottom in a fresh kernel; return it with its outputs."""
    executed = copy.deepcopy(notebook)
    # one thread, so that sums are added in the same order on every run
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    progress = tempfile.TemporaryDirectory()  # nobody's own, so that it begins empty
    environment["TRANSFORMER_COURSE_PROGRESS"] = str(Path(progress.name, "progress.json"))
    client = NotebookClient(
        executed,
        timeout=600,
        allow_errors=allow_errors,
        coalesce_streams=True,  # how often a kernel flushes is chance
        record_timing=False,
        kernel_name="python3",
        extra_arguments=["--IPKernelApp.log_level=CRITICAL"],  # it logs about itself
    )
    with progress:
        try:
            client.execute(env=environment)
        except CellExecutionError as error:
            raise BuildFailed(str(error)) from None
    # the kernel's exact version: noise in a file that is kept under version control
    executed.metadata["language_info"] = {"name": "python"}
    widgets = executed.metadata.pop("widgets", {}).get(STATE, {}).get("state", {})
    for cell in executed.cells:
        if cell.cell_type == "code":
            _keep_views(cell, widgets)
    return executed


def _keep_views(cell: NotebookNode, widgets: dict) -> None:
    """Keep what a live view shows beside its picture; the widget itself goes with its kernel."""
    live = [output for output in cell.outputs if VIEW in output.get("data", {})]
    cell.outputs = [output for output in cell.outputs if output not in live]
    for output in live:
        view = widgets.get(output.data[VIEW]["model_id"], {})
        options = view.get("state", {}).get("options")
        if not isinstance(options, dict) or "picture" not in options:
            continue  # another library's widget
        name = options["picture"]
        for picture in cell.outputs:
            if f'data-picture="{name}"' in picture.get("data", {}).get("text/html", ""):
                picture.data[LIVE] = {
                    "kind": name.rpartition("-")[0],
                    "options": options,
                    "state": view["state"]["state"],
                    # in base64
                    "data": next(b["data"] for b in view["buffers"] if b["path"] == ["data"]),
                }


def _digest(files: Iterable[Path], text: str = "") -> str:
    digest = hashlib.sha256(text.encode())
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
