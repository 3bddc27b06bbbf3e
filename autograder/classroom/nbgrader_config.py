"""nbgrader's settings for the class in this folder.

`nbgrader` and its formgrader read them when they are started here, and so does
`python -m autograder`. A class kept elsewhere (`--classroom DIR`) begins with a copy.
"""

import os
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

# Students read the feedback, and nbgrader shows them every line of a graded cell. So hidden tests
# are cut out once the grades are read, and errors show no source lines: those of a check that
# stops half way would be its hidden tests.
c.GenerateFeedback.preprocessors = [GetGrades, ClearHiddenTests, CSSHTMLHeaderPreprocessor]
c.Execute.extra_arguments = ["--InteractiveShell.xmode=Minimal"]

# What a kernel logs about itself would go to the terminal.
c.Execute.extra_arguments += ["--IPKernelApp.log_level=CRITICAL"]
