"""A lesson as a page: the student's cells, beside what the solved lesson shows."""

import html
import re
from dataclasses import dataclass

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_notebook, new_output

from autograder.authoring.lesson import Lesson
from autograder.authoring.notebook import repository_address, source_notebook
from autograder.errors import CourseError
from autograder.site.pictures import Pictures, Shown

RUN = "Run the cells from top to bottom with Shift+Enter."  # on a page, nothing runs
HEADING = re.compile(r"^##+ (.+)$", re.MULTILINE)
ASKED = re.compile(r"\*\*(Predict|Recall)\b")
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
    name = lesson.name
    executed, student = _built(lesson)
    outputs = {cell.id: cell.get("outputs", []) for cell in executed.cells}
    _, title, _, *rest = (executed if solved else student).cells  # without badge and setup
    title.source = _with_ways(title.source, name)
    cells, shown, above, section = [title], [], title, ""
    for cell in rest:
        role = _role(cell)
        if cell.cell_type == "code":
            kept = outputs[cell.id] if role != "check" and not PROGRESS.search(cell.source) else []
            cell.outputs, found = _outputs(kept, cell.id, pictures, section)
            shown += found
            cell.metadata = _folded(cell, role == "check", bool(ASKED.search(above.source)))
            cell.execution_count = None
        for heading in HEADING.findall(cell.source if cell.cell_type == "markdown" else ""):
            section = heading
        cells.append(cell)
        if role == "exercise":
            cells.append(new_markdown_cell(_beside(lesson, cell.id, solved, linked)))
        above = cells[-1]
    return LessonPage(new_notebook(cells=cells, metadata=student.metadata), shown)


def _built(lesson: Lesson) -> tuple[NotebookNode, NotebookNode]:
    """The executed notebook and the student's; `CourseError` where one is missing or older."""
    course, fix = lesson.course, f"python -m autograder build {lesson.name}"
    files = [folder / f"{lesson.name}.ipynb" for folder in (course.solutions, course.notebooks)]
    if not all(file.exists() for file in files):
        raise CourseError(f"{lesson.name} is not built", fix)
    executed, student = (nbformat.read(file, as_version=4) for file in files)
    source = source_notebook(lesson)
    ids = [cell.id for cell in student.cells]
    sources = [cell.source for cell in source.cells]
    if sources != [cell.source for cell in executed.cells] or ids != [c.id for c in source.cells]:
        raise CourseError(f"{lesson.name} has changed since it was built", fix)
    return executed, student


def colab(name: str) -> str:
    """Where Colab opens a lesson."""
    project = repository_address().removeprefix("https://github.com/")
    return f"https://colab.research.google.com/github/{project}/blob/main/notebooks/{name}.ipynb"


def _folded(cell: NotebookNode, check: bool, asked: bool) -> dict:
    """Metadata for which MyST-NB folds the source of a cell, or the answer to what was asked."""
    tags, prompts = [], {}
    if check or "source_hidden" in cell.metadata.get("jupyter", {}):
        first = cell.source.partition("\n")[0]
        name = first.lstrip("# ").partition(" Shift+Enter")[0].partition("; click")[0].rstrip(".")
        prompt = name if first.startswith("#") else "Show the code"
        tags.append("hide-input")
        prompts |= {"code_prompt_show": prompt, "code_prompt_hide": prompt}
    if asked and cell.outputs:
        tags.append("hide-output")
        prompts |= {"code_prompt_show": "Show the result", "code_prompt_hide": "Hide the result"}
    return {"tags": tags, "mystnb": prompts} if tags else {}


def _role(cell: NotebookNode) -> str:
    about = cell.metadata.get("nbgrader", {})
    if about.get("solution") and cell.cell_type == "code":
        return "exercise"
    return "check" if about.get("grade") and about.get("locked") else ""


def _outputs(
    outputs: list[NotebookNode], identifier: str, pictures: Pictures, section: str
) -> tuple[list[NotebookNode], list[Shown]]:
    kept, shown = [], []
    for number, output in enumerate(outputs):
        data = output.get("data", {})
        if "text/html" not in data:
            kept.append(output)
            continue
        text, found = pictures.taken_out(data, f"{identifier}-{number}", "../", section)
        shown += found
        # text/plain is dropped: the page shows the HTML
        kept.append(new_output("display_data", data={"text/html": text}))
    return kept, shown


def _with_ways(text: str, name: str) -> str:
    """A lesson's first cell with a box on how to do the lesson, instead of how to run its cells."""
    heading, _, rest = text.partition("\n")
    box = (
        f'<p class="ways">You are reading the lesson: what it shows comes from its solutions, and '
        f"the exercises are empty. To solve them, and have them checked: "
        f'<a href="{colab(name)}">open it in Colab</a> or, in your copy of the course, '
        f"<code>make lab LESSON=notebooks/{name}.ipynb</code>.</p>"
    )
    return f"{heading}\n\n{box}\n{rest.replace(RUN, '')}"


def _beside(lesson: Lesson, identifier: str, solved: bool, linked: bool) -> str:
    """What stands below an exercise: where it is written, and its solution if the site has it."""
    anchor = html.escape(f"beside-{identifier}")
    if solved:
        said = f'<a href="../lessons/{lesson.name}.html#{anchor}">Back to the exercise</a>'
    else:
        said = f'Write it, and have it checked, <a href="{colab(lesson.name)}">in Colab</a> '
        said += "or in your copy of the course."
        if linked:
            said += f' <a href="../solutions/{lesson.name}.html#{anchor}">One solution</a>'
    return f'<p class="beside" id="{anchor}">{said}</p>'
