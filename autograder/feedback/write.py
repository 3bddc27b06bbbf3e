"""Write a student's feedback: nbgrader's, as the course's own page."""

from pathlib import Path

from autograder.feedback import page
from autograder.gradebook.classroom import Submission
from autograder.gradebook.guard import Refused
from autograder.gradebook.nbgrader_api import failure


def write(submission: Submission) -> Path:
    """Write one student's feedback as HTML; `Refused` if nbgrader cannot."""
    # whatever the class's own settings say
    api = submission.classroom.api
    api.update_config(page.SETTINGS)
    outcome = api.generate_feedback(submission.lesson, submission.student)
    if reason := failure(submission.classroom, outcome):
        raise Refused(f"no feedback on {submission.lesson}: {reason}")
    return submission.path("feedback").with_suffix(".html")
