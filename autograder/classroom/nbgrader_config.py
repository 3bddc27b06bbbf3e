"""nbgrader's settings for the class in this folder.

`nbgrader` and its formgrader read them when they are started here, and so does
`python -m autograder`. A class kept elsewhere (`--classroom DIR`) begins with a copy.
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

# Absolute, and with it the gradebook's address, sqlite:///ROOT/gradebook.db: wherever nbgrader is
# started, it is the same class. For PostgreSQL, set c.CourseDirectory.db_url.
c.CourseDirectory.root = str(Path(__file__).resolve().parent)

# Seconds that one cell may take. One thread for each kernel: with more, small models train slower,
# and on a busy machine several times slower, past the limit.
c.Execute.timeout = 60
os.environ.setdefault("OMP_NUM_THREADS", "1")


class Refuses(NotebookExporter):
    """In place of what writes a notebook: why nothing is done, before anything is."""

    def __init__(self, parent, **told):
        lesson, folder = parent.coursedir.assignment_id, parent.coursedir.root
        why = WHY[type(parent).__name__].format(lesson.partition("_")[0], folder)
        parent.log.error(why)
        raise NbGraderException(why)


class Withheld(Preprocessor):
    """In place of a submission: why it is not shown."""

    def preprocess(self, nb, resources):
        for name, value in resources.items():
            resources[name] = escape(value) if isinstance(value, str) else value
        return new_notebook(cells=[new_markdown_cell(WITHHELD)]), resources


WHY = {
    "Autograde": "run: python -m autograder grade {} --classroom {} (in a sandbox; nbgrader would "
    "run what students wrote with your rights)",
    "GenerateFeedback": "run: pip install -e CHECKOUT (the course's page is there; nbgrader's own "
    "shows hidden tests, and runs what students wrote)",
}
WITHHELD = (
    "Not shown: what students write could run in this page, and what keeps it from that lies in "
    "the course's checkout. Install it (`pip install -e CHECKOUT`), and start Jupyter anew."
)

# Whoever runs a submission here runs it with the rights of who started nbgrader, and so would
# formgrader's button and `nbgrader autograde`. They say instead what runs it in a sandbox.
c.Autograde.exporter_class = Refuses

# Formgrader makes its exporter when the server starts, also for the classes that it opens later:
# those would be shown without these settings.
BaseHandler.exporter = property(
    lambda page: HTMLExporter(config=page.settings["nbgrader_formgrader"].config)
)

# What students handed in is shown to people: to whom marks it by formgrader, and to themselves as
# feedback, by the course's own page, which formgrader's button and `nbgrader generate_feedback`
# write too. As nbgrader shows it, it may run scripts there, and hidden tests are no longer hidden.
# What is against that lies in the checkout that the kit is installed from. Without that, nothing
# is shown: whatever goes wrong there must not end this file, as nbgrader would go on without it.
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
    print(f"nothing of a submission is shown: {type(error).__name__}: {error}", file=sys.stderr)

# Errors show no source lines: those of a check that stops half way would be its hidden tests.
c.Execute.extra_arguments = ["--InteractiveShell.xmode=Minimal"]

# What a kernel logs about itself would go to the terminal.
c.Execute.extra_arguments += ["--IPKernelApp.log_level=CRITICAL"]

# What it costs to hand in after the due date (`release --due`); as it stands, nothing. For 10 % of
# what was earned for each day that has begun, after a day of grace, and nothing left after a week,
# take away these `#`. In place of percent_per_day, points_per_day; see its docstring.
# c.AssignLatePenalties.plugin_class = "autograder.gradebook.late.LatePolicy"
# c.LatePolicy.percent_per_day = 10
# c.LatePolicy.grace_days = 1
# c.LatePolicy.last_day = 7
