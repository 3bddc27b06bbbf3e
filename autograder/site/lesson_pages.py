"""A lesson as a page: the student's cells, beside what the solved lesson shows."""

import html
import re
from dataclasses import dataclass

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_notebook, new_output

from autograder.authoring.lesson import Lesson
from autograder.authoring.notebook import repository_address
from autograder.site.pictures import Pictures, Shown

PROGRESS = re.compile(r"^show_progress\(", re.MULTILINE)  # where the student stands, not the reader


@dataclass(frozen=True)
class LessonPage:
    """A notebook that Sphinx turns into a page, and the pictures on it."""

    notebook: NotebookNode
    shown: list[Shown]


def lesson_page(lesson: Lesson, pictures: Pictures, solved: bool, linked: bool) -> LessonPage:
    """The page of a lesson: stubs as students have them, or solutions where it is the `solved` one.

    `linked`: whether there is the other page, so that each exercise and solution leads to it.
    """
    course, name = lesson.course, lesson.name
    executed = nbformat.read(course.solutions / f"{name}.ipynb", as_version=4)
    student = nbformat.read(course.notebooks / f"{name}.ipynb", as_version=4)
    outputs = {cell.id: cell.get("outputs", []) for cell in executed.cells}
    _, title, _, *rest = (executed if solved else student).cells  # without badge and setup
    cells, shown = [title, new_markdown_cell(_ways(name), id="ways")], []
    for cell in rest:
        role = _role(cell)
        if cell.cell_type == "code":
            kept = outputs[cell.id] if role != "check" and not PROGRESS.search(cell.source) else []
            cell.outputs, found = _outputs(kept, cell.id, pictures)
            shown += found
            folded = role == "check" or "source_hidden" in cell.metadata.get("jupyter", {})
            cell.metadata = _folded(cell.source) if folded else {}
            cell.execution_count = None
        cells.append(cell)
        if role == "exercise":
            cells.append(new_markdown_cell(_beside(lesson, cell.id, solved, linked)))
    return LessonPage(new_notebook(cells=cells, metadata=student.metadata), shown)


def colab(name: str) -> str:
    """Where Colab opens a lesson."""
    project = repository_address().removeprefix("https://github.com/")
    return f"https://colab.research.google.com/github/{project}/blob/main/notebooks/{name}.ipynb"


def _folded(source: str) -> dict:
    """Metadata for which MyST-NB folds a cell; its first line says what it is."""
    first = source.partition("\n")[0]
    name = first.lstrip("# ").partition(" Shift+Enter")[0].partition("; click")[0].rstrip(".")
    prompt = name if first.startswith("#") else "Show the code"
    return {
        "tags": ["hide-input"],
        "mystnb": {"code_prompt_show": prompt, "code_prompt_hide": prompt},
    }


def _role(cell: NotebookNode) -> str:
    about = cell.metadata.get("nbgrader", {})
    if about.get("solution") and cell.cell_type == "code":
        return "exercise"
    return "check" if about.get("grade") and about.get("locked") else ""


def _outputs(
    outputs: list[NotebookNode], identifier: str, pictures: Pictures
) -> tuple[list[NotebookNode], list[Shown]]:
    kept, shown = [], []
    for number, output in enumerate(outputs):
        data = output.get("data", {})
        if "text/html" not in data:
            kept.append(output)
            continue
        text, found = pictures.taken_out(data, f"{identifier}-{number}", "../")
        shown += found
        # without a text, which a page that shows HTML does not need
        kept.append(new_output("display_data", data={"text/html": text}))
    return kept, shown


def _ways(name: str) -> str:
    """How to do the lesson, at the top of its page."""
    return (
        f'<p class="ways"><a href="{colab(name)}">Open in Colab</a> or, in your copy of the '
        f"course, <code>make lab LESSON=notebooks/{name}.ipynb</code>: here you read, there you "
        f"write, and every check answers.</p>"
    )


def _beside(lesson: Lesson, identifier: str, solved: bool, linked: bool) -> str:
    """What stands below an exercise: where it is written, and its solution if the site has it."""
    anchor = html.escape(f"beside-{identifier}")
    if solved:
        said = f'<a href="../lessons/{lesson.name}.html#{anchor}">Back to the exercise</a>'
    else:
        local = f"make lab LESSON=notebooks/{lesson.name}.ipynb"
        said = f'Write it <a href="{colab(lesson.name)}">in Colab</a> or in <code>{local}</code>. '
        said += "The check below says there what is wrong."
        if linked:
            said += f' <a href="../solutions/{lesson.name}.html#{anchor}">One solution</a>'
    return f'<p class="beside" id="{anchor}">{said}</p>'
