"""What nbgrader's `generate_feedback` is given: how a notebook is judged, and the page it becomes.

    config.merge(SETTINGS)

nbgrader keeps the paths, the points, the comments and the penalties. Its own page shows what a
check printed while hidden tests ran, fetches scripts, and runs what a student's output holds.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import BytecodeCache, Environment
from jinja2.bccache import Bucket
from markupsafe import Markup
from nbconvert.exporters.templateexporter import TemplateExporter
from nbformat import NotebookNode
from nbgrader.preprocessors import ClearHiddenTests, GetGrades
from nbgrader.utils import is_grade
from traitlets import default
from traitlets.config import Config

from autograder.feedback import hidden_tests, sanitized
from autograder.feedback.stopped import befell
from autograder.feedback.verdicts import Outcome, Verdict, verdicts
from autograder.gradebook.recorder import NO_RESPONSE
from autograder.gradebook.result_store import kept_beside
from autograder.gradebook.submission import State

# what befell the whole submission -> what it means, and what to do
STATES: dict[str, str] = {
    State.TIMED_OUT: "A cell computed for so long that it was stopped. What the other cells "
    "earned counts. Run the cell by itself: does a loop never end?",
    State.MEMORY: "A cell wanted more memory than a submission may use. What the other cells "
    "earned counts. Look for a tensor that is far larger than it needs to be.",
    State.CRASHED: "A cell ended Python itself, so nothing ran from there on. What was earned "
    "before counts. Restart the kernel, run all cells, and see which one ends it.",
    State.WORTH_A_LOOK: "Something in your notebook could not be graded as it is, such as a cell "
    "that needs a package which is not installed for grading. Your instructor is told to look at "
    "it.",
}


@dataclass(frozen=True)
class Whole:
    """What became of the whole submission."""

    verdicts: tuple[Verdict, ...] = ()
    by_hand: frozenset[str] = frozenset()  # grade_ids whose points a person gave
    state: str = ""  # what befell it, in words
    note: str = ""  # in which cells
    repairs: tuple[str, ...] = ()
    silent: int | None = None  # the number of the cell after which no cell's outputs are shown

    @property
    def waiting(self) -> float:
        """Points that a person has not decided on."""
        return sum(v.max_points for v in self.verdicts if v.outcome == Outcome.WAITS)

    def of(self, cell: NotebookNode) -> Verdict | None:
        """The verdict on a cell that has points."""
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        return next((v for v in self.verdicts if v.name == name), None)


class Judged(GetGrades):
    """Points and comments from the gradebook, a verdict on each check, and the outputs to show."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        nb, resources = super().preprocess(nb, resources)
        folder, name = Path(resources["metadata"]["path"]), resources["unique_key"]
        finished = kept_beside(folder / f"{name}.ipynb")
        cells = [cell for cell in nb.cells if is_grade(cell)]
        abouts = [cell.metadata.nbgrader for cell in cells]
        scores = {about.grade_id: None if about.waits else about.score for about in abouts}
        failed = finished.failed if finished else {}
        state = finished.state if finished else ""
        resources["whole"] = Whole(
            tuple(verdicts(nb, failed, scores)),
            frozenset(about.grade_id for about in abouts if about.by_hand),
            STATES.get(state, ""),
            befell(nb, state),
            finished.repairs if finished else (),
            _silence(nb, hidden_tests.first_hidden(nb, failed)),
        )
        # first: in how much of it there is, a student's code could tell what it saw
        sanitized.spare(nb)
        return nb, resources

    def _get_score(self, cell: NotebookNode, resources: Any) -> None:
        about = cell.metadata.nbgrader
        grade: Any = self.gradebook.find_grade(
            about.grade_id, self.notebook_id, self.assignment_id, self.student_id
        )
        about.score, about.points = grade.score, grade.max_score
        about.waits, about.by_hand = grade.needs_manual_grade, grade.manual_score is not None


def _silence(notebook: NotebookNode, first: int) -> int | None:
    """Take away the outputs that are not to be shown; return after which cell there are none.

    All that a student may read of a check's outputs stands in its verdict. Other cells' are the
    student's process's, which from the `first` hidden test on may know what is hidden.
    """
    code = [(n, cell) for n, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    others = [cell for n, cell in code if n >= first and not is_grade(cell)]
    for cell in [*others, *(cell for _, cell in code if is_grade(cell))]:
        cell.outputs = []
    return first if others else None


class Page(TemplateExporter):
    """One page of HTML, complete in itself."""

    output_mimetype = "text/html"

    @default("file_extension")
    def _file_extension_default(self) -> str:
        return ".html"

    @default("template_name")
    def _template_name_default(self) -> str:
        return "page"

    @default("extra_template_basedirs")
    def _default_extra_template_basedirs(self) -> list[str]:
        return [str(Path(__file__).parent)]

    def default_filters(self) -> Any:
        """Only ours: each gives HTML that is safe, and what has gone through none is escaped."""
        return FILTERS.items()

    def _create_environment(self) -> Environment:
        environment = super()._create_environment()
        environment.autoescape = True
        environment.bytecode_cache = COMPILED
        return environment


class _Compiled(BytecodeCache):
    """Templates compiled once in a process, not once for each student."""

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if bucket.key in self._kept:
            bucket.bytecode_from_string(self._kept[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._kept[bucket.key] = bucket.bytecode_to_string()


COMPILED = _Compiled()


def title(notebook: NotebookNode) -> str:
    """The notebook's first heading; empty if it has none."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and (found := re.match(r"#\s+(.+)", cell.source)):
            return found[1].strip()
    return ""


def points(number: float) -> str:
    """Points as nbgrader rounds them: 2, 0.5, 1.67."""
    return f"{round(number, 2):g}"


def comment(cell: NotebookNode) -> str:
    """What a person has to say; nbgrader's own remark on an untouched cell is the verdict's."""
    said = cell.metadata.get("nbgrader", {}).get("comment") or ""
    return "" if said == NO_RESPONSE else said


def commented(notebook: NotebookNode) -> list[NotebookNode]:
    """The cells that a person commented on."""
    return [cell for cell in notebook.cells if comment(cell)]


def bare(name: str) -> str:
    """A cell's name without its role: `check_softmax` is `softmax` to the student."""
    return name.partition("_")[2] or name


def breakable(name: str) -> Markup:
    """A long name, which a narrow line may break after each underscore."""
    return Markup("_<wbr>").join(name.split("_"))


FILTERS = {
    "bare": bare,
    "breakable": breakable,
    "clause": sanitized.clause,
    "code": sanitized.code,
    "comment": comment,
    "commented": commented,
    "markdown": lambda cell: sanitized.markdown(cell.source, cell.get("attachments")),
    "output": sanitized.output,
    "plain": sanitized.plain,
    "points": points,
    "prose": sanitized.markdown,
    "title": title,
    "words": sanitized.words,
}
SETTINGS = Config(
    {
        "GenerateFeedback": {
            "preprocessors": [Judged, ClearHiddenTests],
            "exporter_class": Page,
        }
    }
)
