"""The `feedback` command: write feedback for students."""

import argparse

from autograder import paths
from autograder.commands.class_options import (
    add_classroom,
    add_students,
    chosen_students,
    open_class,
    typed,
)
from autograder.commands.terminal import add_lessons, progress, say
from autograder.errors import CourseError
from autograder.feedback.write import write
from autograder.gradebook.classroom import Submission
from autograder.gradebook.status import results

DETAILS = """\
    For each graded submission, one page of HTML that needs no network and no other file:
      CLASSROOM/feedback/STUDENT/NN_name/NN_name.html
    It begins with a table of the checks: points, the misconception and a hint; then follows
    the graded notebook, with outputs and comments. A failed hidden test is only described in
    its author's words, without code, inputs and numbers. Run this again after marking, since
    the page shows the points. nbgrader's `generate_feedback` and formgrader's button write the
    same page."""


def add_options(added: argparse.ArgumentParser) -> None:
    """Declare its options."""
    add_lessons(added)
    add_classroom(added)
    add_students(added)


def run(options: argparse.Namespace) -> int:
    """Write the pages; 1 if one failed or there is none."""
    classroom, lessons = open_class(options)
    failed, pages = 0, []
    for lesson in lessons:
        found = results(classroom, lesson)
        chosen = chosen_students([result.student for result in found], options)
        if all(result.points is None for result in found):
            say(f"no submission of {lesson} is graded: run `{typed('grade', lesson, options)}`")
            continue
        with progress() as bar:
            for result in bar.track([r for r in found if r.student in chosen], description=lesson):
                if result.points is None:
                    say(f"{result.student}: no feedback: {result.state}")
                elif _writes_feedback(classroom.submission(lesson, result.student)):
                    pages.append(result)
                else:
                    failed += 1
    unmarked = sum(result.to_mark for result in pages)
    if unmarked:
        shown = "1 page shows" if unmarked == 1 else f"{unmarked} pages show"
        say(f"{shown} 0 for answers that are not marked yet")
    return 1 if failed or not pages else 0


def _writes_feedback(submission: Submission) -> bool:
    try:
        say(f"wrote {paths.display_path(write(submission))}")
    except CourseError as refusal:
        say(f"{submission.student}: {refusal}")
        return False
    return True
