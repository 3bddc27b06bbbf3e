"""The same submissions, graded by us and by `nbgrader autograde`."""

import re
import shutil
from dataclasses import dataclass
from typing import Any

from nbformat import NotebookNode

from autograder.gradebook.classroom import SETTINGS, Classroom
from autograder.gradebook.result_store import RESULT
from autograder.tests.conftest import Instructor

# nbgrader executes after all, and loops for a short while
EXECUTES = """
c.Autograde.exporter_class = NotebookExporter
c.Execute.timeout_func = lambda cell: 1 if 'while True' in cell.source else 60
"""


@dataclass(frozen=True)
class Both:
    """The same submissions, graded by us and by nbgrader itself."""

    ours: Instructor
    nbgraders: Instructor
    failed: tuple[str, ...]  # whom nbgrader could not grade

    @property
    def students(self) -> list[str]:
        """Everyone who handed in."""
        return sorted(path.name for path in (self.ours.folder / "submitted").iterdir())


def graded_by_both(ours: Instructor, *options: str) -> Both:
    """Grade what was handed in, and write the feedback, here and in a copy of the class."""
    nbgraders = Instructor(ours.course, ours.folder.with_name("nbgraders"))
    shutil.copytree(ours.folder, nbgraders.folder)
    with (nbgraders.folder / SETTINGS).open("a", encoding="utf-8") as settings:
        settings.write(EXECUTES)
    code, said = ours.types("grade", *options)
    assert code == 0, said
    ours.types("feedback")
    api, lesson = Classroom.open(nbgraders.folder).api, ours.lesson.name
    failed = []
    for student in sorted(api.get_submitted_students(lesson)):
        if not api.autograde(lesson, student)["success"]:
            failed.append(student)
            continue
        # nbgrader does not know in which line a check failed, and the page says less without it
        results = (c.file("autograded", student).with_name(RESULT) for c in (ours, nbgraders))
        shutil.copyfile(*results)
        api.generate_feedback(lesson, student)
    return Both(ours, nbgraders, tuple(failed))


def gradebook_of(classroom: Classroom, lesson: str, student: str) -> dict[str, Any]:
    """All that a gradebook holds about a submission."""
    with classroom.gradebook as gradebook:
        notebook: Any = gradebook.find_submission_notebook(lesson, lesson, student)
        grades = {
            grade.name: (grade.auto_score, grade.manual_score, grade.needs_manual_grade)
            for grade in notebook.grades
        }
        comments = {f"comment on {comment.name}": comment.comment for comment in notebook.comments}
        late = notebook.late_submission_penalty
        return grades | comments | {"score": notebook.score, "late": late}


def shown(cell: NotebookNode) -> list[dict[str, Any]]:
    """A cell's outputs, but for what differs each time, and what is told in tests of its own."""
    outputs: list[dict[str, Any]] = []
    for given in cell.get("outputs", []):
        output = dict(given)
        if output["output_type"] == "stream":
            if cell.metadata.get("nbgrader", {}).get("grade"):
                output["name"] = "stdout"  # see the test on warnings
            # a kernel sends what is printed in pieces, as time goes by
            if outputs and outputs[-1].get("name") == output["name"]:
                outputs[-1]["text"] += output["text"]
                continue
        outputs.append(output)
    drawn = "SelfAttention" in cell.source  # its weights: see the test on random numbers
    return [{name: plain(value, drawn) for name, value in o.items()} for o in outputs]


VARYING = [
    (r"\x1b\[[\d;]*m", ""),
    (r"<ipython-input-\d+-\w+>|(/tmp/ipykernel_\d+/)?\b\d{5,}\.py", "CELL"),
    # nbgrader knows only that no reply came; for that, the message is empty
    (r"CellTimeoutError: .*", "CellTimeoutError"),
    (r"^stopped after 2 s of computing: does a loop never end\?$", ""),
]


def plain(value: Any, drawn: bool = False) -> Any:
    """Without what differs each time."""
    if isinstance(value, list):
        return [plain(part, drawn) for part in value]
    if not isinstance(value, str):
        return value
    for pattern, instead in [*VARYING, *([(r"-?\d+\.\d+(e-\d+)?", "0.0")] if drawn else [])]:
        value = re.sub(pattern, instead, value)
    return value
