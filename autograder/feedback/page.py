"""Settings for nbgrader's `generate_feedback`: a preprocessor and an exporter for feedback pages.

    config.merge(SETTINGS)

Paths, points, comments and penalties remain nbgrader's. Its own page would show what a check
printed while hidden tests ran, load scripts, and run scripts in students' outputs.
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

from autograder.authoring.cell_name import CellName
from autograder.feedback import hidden_tests, sanitized
from autograder.feedback.stopped import stopped_cells
from autograder.feedback.verdicts import Outcome, Verdict, verdicts
from autograder.gradebook.recorder import NO_RESPONSE
from autograder.gradebook.result import State
from autograder.gradebook.result_store import kept_beside

# state of a submission -> what it means, and what to do
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
class Summary:
    """The outcome of a submission as a whole."""

    verdicts: tuple[Verdict, ...] = ()
    by_hand: frozenset[str] = frozenset()  # grade_ids with manual points
    state: str = ""  # explains why it was stopped
    stopped_cells: str = ""
    repairs: tuple[str, ...] = ()
    hidden_from: int | None = None  # index of the cell after which no outputs are shown

    @property
    def unmarked(self) -> float:
        """Points of answers that still wait for marking."""
        return sum(v.max_points for v in self.verdicts if v.outcome == Outcome.WAITS)

    def verdict_on(self, cell: NotebookNode) -> Verdict | None:
        """The verdict on a graded cell; None for other cells."""
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        return next((v for v in self.verdicts if v.name == name), None)


class AddVerdicts(GetGrades):
    """Add grades, comments and a verdict on each check; remove outputs that must stay hidden."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        nb, resources = super().preprocess(nb, resources)
        folder, name = Path(resources["metadata"]["path"]), resources["unique_key"]
        finished = kept_beside(folder / f"{name}.ipynb")
        cells = [cell for cell in nb.cells if is_grade(cell)]
        grades = [cell.metadata.nbgrader for cell in cells]
        scores = {grade.grade_id: None if grade.waits else grade.score for grade in grades}
        failed = finished.failed if finished else {}
        state = finished.state if finished else ""
        resources["summary"] = Summary(
            tuple(verdicts(nb, failed, scores, finished.failures if finished else {})),
            frozenset(grade.grade_id for grade in grades if grade.by_hand),
            STATES.get(state, ""),
            stopped_cells(nb, state),
            finished.repairs if finished else (),
            _clear_outputs(nb, hidden_tests.first_hidden(nb, failed)),
        )
        # after outputs are cleared: their size could reveal hidden inputs
        sanitized.limit_markup(nb)
        return nb, resources

    def _get_score(self, cell: NotebookNode, resources: Any) -> None:
        metadata = cell.metadata.nbgrader
        grade: Any = self.gradebook.find_grade(
            metadata.grade_id, self.notebook_id, self.assignment_id, self.student_id
        )
        metadata.score, metadata.points = grade.score, grade.max_score
        metadata.waits, metadata.by_hand = grade.needs_manual_grade, grade.manual_score is not None


def _clear_outputs(notebook: NotebookNode, first: int) -> int | None:
    """Clear outputs that must stay hidden; return the index from which all are, if any.

    The verdict on a check contains what a student may read of its outputs. Other outputs come from
    the student's process, which may know hidden inputs from the `first` hidden test on.
    """
    code = [(n, cell) for n, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    others = [cell for n, cell in code if n >= first and not is_grade(cell)]
    for cell in [*others, *(cell for _, cell in code if is_grade(cell))]:
        cell.outputs = []
    return first if others else None


class FeedbackExporter(TemplateExporter):
    """Export a notebook as a self-contained page of HTML."""

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
        """Only filters that return safe HTML; everything else is escaped."""
        return FILTERS.items()

    def _create_environment(self) -> Environment:
        environment = super()._create_environment()
        environment.autoescape = True
        environment.bytecode_cache = TEMPLATE_CACHE
        return environment


class _TemplateCache(BytecodeCache):
    """Compile templates once per process, not once per student."""

    def __init__(self) -> None:
        self._bytecode: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if bucket.key in self._bytecode:
            bucket.bytecode_from_string(self._bytecode[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._bytecode[bucket.key] = bucket.bytecode_to_string()


TEMPLATE_CACHE = _TemplateCache()


def title(notebook: NotebookNode) -> str:
    """The notebook's first heading; empty if it has none."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and (found := re.match(r"#\s+(.+)", cell.source)):
            return found[1].strip()
    return ""


def points(number: float) -> str:
    """Format points as nbgrader rounds them: 2, 0.5, 1.67."""
    return f"{round(number, 2):g}"


def comment(cell: NotebookNode) -> str:
    """A person's comment; nbgrader's automatic one on an untouched cell is left out."""
    text = cell.metadata.get("nbgrader", {}).get("comment") or ""
    return "" if text == NO_RESPONSE else text


def commented(notebook: NotebookNode) -> list[NotebookNode]:
    """The cells with a comment."""
    return [cell for cell in notebook.cells if comment(cell)]


def without_role(name: str) -> str:
    """Strip the role from a grade_id: `check_softmax` becomes `softmax`."""
    return CellName.parse(name).name


def breakable(name: str) -> Markup:
    """Allow line breaks after the underscores of a name."""
    return Markup("_<wbr>").join(name.split("_"))


FILTERS = {
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
    "sentence": sanitized.sentence,
    "title": title,
    "without_role": without_role,
}
SETTINGS = Config(
    {
        "GenerateFeedback": {
            "preprocessors": [AddVerdicts, ClearHiddenTests],
            "exporter_class": FeedbackExporter,
        }
    }
)
