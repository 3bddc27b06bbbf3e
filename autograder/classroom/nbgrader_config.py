"""nbgrader's settings for the class in this folder.

`nbgrader` and its formgrader read them when they are started here, and so does
`python -m autograder`. A class kept elsewhere (`--classroom DIR`) begins with a copy.
"""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

from nbconvert.preprocessors import CSSHTMLHeaderPreprocessor
from nbgrader.preprocessors import ClearHiddenTests, GetGrades

c = get_config()  # noqa: F821 (nbgrader provides it)

# Absolute, and with it the gradebook's address, sqlite:///ROOT/gradebook.db: wherever nbgrader is
# started, it is the same class. For PostgreSQL, set c.CourseDirectory.db_url.
c.CourseDirectory.root = str(Path(__file__).resolve().parent)

# Seconds that one cell may take. One thread for each kernel: with more, small models train slower,
# and on a busy machine several times slower, past the limit.
c.Execute.timeout = 60
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Students read the feedback, and nbgrader shows them every line of a graded cell. The course's own
# page, which formgrader's button and `nbgrader generate_feedback` write too, shows of hidden tests
# what they are called. It lies in the checkout that the kit is installed from; without that, it is
# nbgrader's page, with hidden tests cut out once the grades are read.
kit = find_spec("transformer_course")
checkout = str(Path(kit.origin).parents[2]) if kit and kit.origin else ""
if checkout and checkout not in sys.path:
    sys.path.append(checkout)
try:
    from autograder.feedback.page import SETTINGS

    c.merge(SETTINGS)
except ImportError:
    c.GenerateFeedback.preprocessors = [GetGrades, ClearHiddenTests, CSSHTMLHeaderPreprocessor]

# Errors show no source lines: those of a check that stops half way would be its hidden tests.
c.Execute.extra_arguments = ["--InteractiveShell.xmode=Minimal"]

# What a kernel logs about itself would go to the terminal.
c.Execute.extra_arguments += ["--IPKernelApp.log_level=CRITICAL"]

# What it costs to hand in after the due date (`release --due`); as it stands, nothing. For 10 % of
# what was earned for each day that has begun, after a day of grace, and nothing left after a week,
# take away these `#`. In place of percent_per_day, points_per_day; see autograder/late.py.
# c.AssignLatePenalties.plugin_class = "autograder.late.LatePolicy"
# c.LatePolicy.percent_per_day = 10
# c.LatePolicy.grace_days = 1
# c.LatePolicy.last_day = 7
