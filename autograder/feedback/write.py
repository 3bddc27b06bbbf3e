"""Write a student's feedback: nbgrader's, as the course's own page."""

from pathlib import Path

from nbgrader.apps.api import NbGraderAPI

from autograder.feedback import page
from autograder.gradebook.guard import Refused
from autograder.gradebook.nbgrader_api import failure
from autograder.paths import notebook_path


def write(api: NbGraderAPI, lesson: str, student: str) -> Path:
    """Write one student's feedback as HTML; `Refused` if nbgrader cannot."""
    # whatever the class's own settings say
    api.update_config(page.SETTINGS)
    if reason := failure(api.generate_feedback(lesson, student)):
        raise Refused(f"no feedback on {lesson}: {reason}")
    return notebook_path(api, "feedback", lesson, student).with_suffix(".html")
