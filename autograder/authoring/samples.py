"""A small class of made-up students: each hands in one kind of notebook that a grader meets.

Data in, data out: only `autograder.commands.class_commands` writes the files.
"""

import hashlib
import re
from collections.abc import Callable

from nbformat import NotebookNode
from nbformat.v4 import new_output

from autograder.authoring.answer_bank import Answer
from autograder.authoring.lesson import Lesson
from autograder.authoring.notebook import graded_cells, source_notebook, student_version

Sources = dict[str, str]  # an exercise's or answer's name -> the text of its cell

LOOP = "while True:\n    pass\n\n"
UNCLOSED = "weights = (1, 2\n\n"


def filled(lesson: Lesson, answers: Sources) -> NotebookNode:
    """The student's notebook, with these answers in the cells that the student writes."""
    notebook = student_version(source_notebook(lesson))
    cells = graded_cells(notebook)
    places = {c.name: c.grade_id for role in ("exercise", "answer") for c in lesson.of(role)}
    for name, source in answers.items():
        cells[places[name]].source = source
    return notebook


def solved(lesson: Lesson) -> Sources:
    """Everything that a student writes, as the lesson solves it."""
    written = [*lesson.of("exercise"), *lesson.of("answer")]
    return {cell.name: _without_markers(cell.source) for cell in written}


def sample_class(lesson: Lesson, bank: list[Answer]) -> dict[str, NotebookNode]:
    """Each made-up student's notebook, by the student's name."""
    return {student: make(lesson, bank) for student, make in SAMPLES.items()}


def _perfect(lesson: Lesson, _: list[Answer]) -> NotebookNode:
    return filled(lesson, solved(lesson))


def _partly_right(lesson: Lesson, bank: list[Answer]) -> NotebookNode:
    """Every other exercise wrong, as the bank has it wrong first; the last one not done.

    Only exercises that no other builds on, so that each loses its own points alone.
    """
    # the bank's comment is the teacher's, not the student's
    wrong = {
        answer.exercise: re.sub(r"\A(#.*\n)+", "", answer.source)
        for answer in reversed(bank)
        if not answer.right
    }
    *names, last = _ends(lesson)
    sources = solved(lesson)
    del sources[last]
    return filled(lesson, sources | {name: wrong[name] for name in names[::2] if name in wrong})


def _untouched(lesson: Lesson, _: list[Answer]) -> NotebookNode:
    return filled(lesson, {})


def _broken_syntax(lesson: Lesson, _: list[Answer]) -> NotebookNode:
    """In the exercise that most others build on."""
    names = [cell.name for cell in lesson.of("exercise")]
    return _spoiled(lesson, max(names, key=lambda name: len(lesson.built_on(name))), UNCLOSED)


def _infinite_loop(lesson: Lesson, _: list[Answer]) -> NotebookNode:
    """In the first exercise that no other builds on."""
    return _spoiled(lesson, _ends(lesson)[0], LOOP)


def _colab_saved(lesson: Lesson, bank: list[Answer]) -> NotebookNode:
    notebook = _perfect(lesson, bank)
    as_colab_saves(notebook)
    return notebook


def as_colab_saves(notebook: NotebookNode) -> None:
    """Change in a notebook what Colab changes in a file when it saves it."""
    notebook.nbformat_minor = 0  # which has no cell ids: Colab puts its own into the metadata
    notebook.metadata = NotebookNode(
        colab={"provenance": []},
        kernelspec={"name": "python3", "display_name": "Python 3"},
        language_info={"name": "python"},
    )
    for count, cell in enumerate(notebook.cells, 1):
        own = hashlib.sha256(cell.pop("id").encode()).hexdigest()
        cell.metadata["id"] = own[:12]
        if cell.cell_type == "code":
            cell.metadata["colab"] = {"base_uri": "https://localhost:8080/"}
            cell.metadata["outputId"] = (
                f"{own[:8]}-{own[8:12]}-{own[12:16]}-{own[16:20]}-{own[20:32]}"
            )
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


def _spoiled(lesson: Lesson, name: str, by: str) -> NotebookNode:
    """Perfect, but the cell of one exercise begins with `by`."""
    sources = solved(lesson)
    return filled(lesson, sources | {name: by + sources[name]})


def _ends(lesson: Lesson) -> list[str]:
    """The exercises that no other one builds on."""
    return [cell.name for cell in lesson.of("exercise") if not lesson.built_on(cell.name)]


def _without_markers(source: str) -> str:
    kept = [line for line in source.split("\n") if not re.search("(BEGIN|END) SOLUTION", line)]
    return "\n".join(kept)
