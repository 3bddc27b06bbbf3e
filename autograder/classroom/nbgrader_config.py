"""nbgrader's settings for the class in this folder.

`nbgrader`, formgrader and `python -m autograder` read this file when they are started here. A
class in another folder (`--classroom DIR`) starts with a copy.
"""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

from markupsafe import escape
from nbconvert.exporters import HTMLExporter, NotebookExporter
from nbconvert.preprocessors import Preprocessor
from nbformat.v4 import new_markdown_cell, new_notebook
from nbgrader.converters.base import NbGraderException
from nbgrader.server_extensions.formgrader.base import BaseHandler

c = get_config()  # noqa: F821 (nbgrader provides it)

# Absolute, and so is the gradebook's URL, sqlite:///ROOT/gradebook.db, so that nbgrader can be
# started anywhere. For PostgreSQL, set c.CourseDirectory.db_url.
c.CourseDirectory.root = str(Path(__file__).resolve().parent)

# Seconds per cell. One thread per kernel: with more, small models train more slowly, on a busy
# machine so slowly that they exceed the limit.
c.Execute.timeout = 60
os.environ.setdefault("OMP_NUM_THREADS", "1")


class Refuses(NotebookExporter):
    """Refuse to export, with a message that names the command to run instead."""

    def __init__(self, parent, **options):
        lesson, folder = parent.coursedir.assignment_id, parent.coursedir.root
        why = WHY[type(parent).__name__].format(lesson.partition("_")[0], folder)
        parent.log.error(why)
        raise NbGraderException(why)


class Withheld(Preprocessor):
    """Replace a submission by the reason why it is not shown."""

    def preprocess(self, nb, resources):
        for name, value in resources.items():
            resources[name] = escape(value) if isinstance(value, str) else value
        return new_notebook(cells=[new_markdown_cell(WITHHELD)]), resources


WHY = {
    "Autograde": "run: python -m autograder grade {} --classroom {} (in a sandbox; nbgrader would "
    "run students' code with your rights)",
    "GenerateFeedback": "run: pip install -e CHECKOUT (it has the feedback page; nbgrader's own "
    "shows hidden tests, and runs scripts that students wrote)",
}
WITHHELD = (
    "Not shown: scripts in submissions could run in this page, and the protection against them is "
    "in the course's checkout. Install it (`pip install -e CHECKOUT`), and restart Jupyter."
)

# Formgrader's button and `nbgrader autograde` would run submissions with the rights of the person
# who started them. They refuse, and name the command that grades in a sandbox.
c.Autograde.exporter_class = Refuses

# Formgrader creates its exporter when the server starts, and would use it without these settings
# for classes that it opens later.
BaseHandler.exporter = property(
    lambda page: HTMLExporter(config=page.settings["nbgrader_formgrader"].config)
)

# Formgrader shows submissions to markers, and feedback pages show them to students; formgrader's
# button and `nbgrader generate_feedback` write the course's page too. nbgrader's own pages would
# run scripts in submissions and show hidden tests. The protection is in the checkout from which the
# kit is installed; without it, nothing is shown. Exceptions must not leave this file, since
# nbgrader would continue without it.
c.HTMLExporter.preprocessors = [Withheld]
c.GenerateFeedback.exporter_class = Refuses
try:
    kit = find_spec("transformer_course")
    checkout = str(Path(kit.origin).parents[2]) if kit and kit.origin else ""
    if checkout and checkout not in sys.path:
        sys.path.append(checkout)
    from autograder.feedback import formgrader, page

    formgrader.protect()
    c.merge(page.SETTINGS)
    c.merge(formgrader.SETTINGS)
except Exception as error:
    print(f"submissions are not shown: {type(error).__name__}: {error}", file=sys.stderr)

# Tracebacks without source lines, which would show the hidden tests of a check.
c.Execute.extra_arguments = ["--InteractiveShell.xmode=Minimal"]

# Keep the kernel's own log messages off the terminal.
c.Execute.extra_arguments += ["--IPKernelApp.log_level=CRITICAL"]

# The penalty for late submissions (`release --due`); by default none. For 10 % of the earned points
# per started day, after a day of grace, and no points after a week, uncomment these lines.
# Instead of percent_per_day, you may set points_per_day; see the docstring of LatePolicy.
# c.AssignLatePenalties.plugin_class = "autograder.gradebook.late.LatePolicy"
# c.LatePolicy.percent_per_day = 10
# c.LatePolicy.grace_days = 1
# c.LatePolicy.last_day = 7
