"""A class of fictitious students, each of whom submits one typical kind of notebook.

Nothing here writes files: `autograder.commands.sample_command` does.
"""

import hashlib
import re
from collections.abc import Callable
from uuid import UUID

from nbformat import NotebookNode
from nbformat.v4 import new_output

from autograder.authoring.answer_bank import Answer
from autograder.authoring.answer_variants import without_markers
from autograder.authoring.lesson import Lesson
from autograder.authoring.notebook import graded_cells, source_notebook, student_version

Sources = dict[str, str]  # name of an exercise or answer -> source of its cell

INFINITE_LOOP = "while True:\n    pass\n\n"
SYNTAX_ERROR = "weights = (1, 2\n\n"


def filled(lesson: Lesson, answers: Sources) -> NotebookNode:
    """The student version with these sources in its exercise and answer cells."""
    notebook = student_version(source_notebook(lesson))
    cells = graded_cells(notebook)
    grade_ids = {c.name: c.grade_id for role in ("exercise", "answer") for c in lesson.of(role)}
    for name, source in answers.items():
        cells[grade_ids[name]].source = source
    return notebook


def solved(lesson: Lesson) -> Sources:
    """The lesson's own solution to every exercise and answer."""
    written = [*lesson.of("exercise"), *lesson.of("answer")]
    return {cell.name: without_markers(cell.source) for cell in written}


def sample_class(lesson: Lesson, bank: list[Answer]) -> dict[str, NotebookNode]:
    """The notebook of each fictitious student, by name."""
    return {student: make(lesson, bank) for student, make in SAMPLES.items()}


def _perfect(lesson: Lesson, _: list[Answer]) -> NotebookNode:
    return filled(lesson, solved(lesson))


def _partly_right(lesson: Lesson, bank: list[Answer]) -> NotebookNode:
    """Every other exercise has the bank's first wrong answer; the last one is untouched.

    Only exercises without dependents, so that a wrong answer loses points in one exercise.
    """
    # students do not write the bank's leading comment
    wrong = {
        answer.exercise: re.sub(r"\A(#.*\n)+", "", answer.source)
        for answer in reversed(bank)
        if not answer.right
    }
    *names, last = _without_dependents(lesson)
    sources = solved(lesson)
    del sources[last]
    return filled(lesson, sources | {name: wrong[name] for name in names[::2] if name in wrong})


def _untouched(lesson: Lesson, _: list[Answer]) -> NotebookNode:
    return filled(lesson, {})


def _broken_syntax(lesson: Lesson, _: list[Answer]) -> NotebookNode:
    """A syntax error in the exercise with the most dependents."""
    names = [cell.name for cell in lesson.of("exercise")]
    name = max(names, key=lambda name: len(lesson.dependents(name)))
    return _with_prefix(lesson, name, SYNTAX_ERROR)


def _infinite_loop(lesson: Lesson, _: list[Answer]) -> NotebookNode:
    """An infinite loop in the first exercise without dependents."""
    return _with_prefix(lesson, _without_dependents(lesson)[0], INFINITE_LOOP)


def _colab_saved(lesson: Lesson, bank: list[Answer]) -> NotebookNode:
    notebook = _perfect(lesson, bank)
    as_colab_saves(notebook)
    return notebook


def as_colab_saves(notebook: NotebookNode) -> None:
    """Make the changes to a notebook that Colab makes when it saves one."""
    notebook.nbformat_minor = 0  # has no cell ids: Colab puts its own into the metadata
    notebook.metadata = NotebookNode(
        colab={"provenance": []},
        kernelspec={"name": "python3", "display_name": "Python 3"},
        language_info={"name": "python"},
    )
    for count, cell in enumerate(notebook.cells, 1):
        digest = hashlib.sha256(cell.pop("id").encode()).hexdigest()
        cell.metadata["id"] = digest[:12]
        if cell.cell_type == "code":
            cell.metadata["colab"] = {"base_uri": "https://localhost:8080/"}
            cell.metadata["outputId"] = str(UUID(digest[:32]))
            cell.execution_count = count
            cell.outputs = [new_output("stream", name="stdout", text=["✓ ran in Colab\n"])]


SAMPLES: dict[str, Callable[[Lesson, list[Answer]], NotebookNode]] = {
    "perfect": _perfect,
    "partly_right": _partly_right,
    "untouched": _untouched,
    "broken_syntax": _broken_syntax,
    "infinite_loop": _infinite_loop,
    "colab_saved": _colab_saved,
}


def _with_prefix(lesson: Lesson, name: str, prefix: str) -> NotebookNode:
    """The solved notebook, with `prefix` before the source of one exercise."""
    sources = solved(lesson)
    return filled(lesson, sources | {name: prefix + sources[name]})


def _without_dependents(lesson: Lesson) -> list[str]:
    return [cell.name for cell in lesson.of("exercise") if not lesson.dependents(cell.name)]
