"""Begin a lesson: a small one that is complete, with its answer bank, to be rewritten."""

import re
from pathlib import Path

from autograder import paths
from autograder.authoring.lesson import AuthoringError
from autograder.paths import Course

TEMPLATES = Path(__file__).parent / "templates"


def new_lesson(course: Course, number: str, name: str, title: str) -> list[Path]:
    """Write the lesson and its answer bank; return both files."""
    lesson = course.solutions / f"{number}_{name}.py"
    _examine(course, lesson, number, name)
    title = " ".join(title.split()) or name.replace("_", " ").capitalize()
    text = (TEMPLATES / "lesson.py").read_text(encoding="utf-8")
    known = {"NUMBER": str(int(number)), "TITLE": title, "FILE": lesson.stem}
    for name, value in known.items():
        text = text.replace(f"{{{name}}}", value)
    bank = course.answers / lesson.name
    paths.write(lesson, text)
    paths.write(bank, (TEMPLATES / "answers.py").read_text(encoding="utf-8"))
    return [lesson, bank]


def _examine(course: Course, lesson: Path, number: str, name: str) -> None:
    """A number and a name as every lesson has them, and not taken yet."""
    if not re.fullmatch(r"[0-9]{2}", number):
        fix = "write it with two digits: 09"
        raise AuthoringError(lesson, 1, f"`{number}` is not a lesson's number", fix)
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        fix = "use small letters, digits and underscores: layer_norm"
        raise AuthoringError(lesson, 1, f"`{name}` is not a lesson's name", fix)
    for folder in (course.solutions, course.answers):
        for taken in sorted(folder.glob(f"{number}_*.py")):
            fix = "choose another number, or delete that file first"
            raise AuthoringError(taken, 1, f"number {number} is taken", fix)
