"""Read an answers bank: wrong and right answers to each exercise of a lesson.

A percent script beside the lesson's: `# %% wrong softmax over_rows` is a cell that replaces the
cell of the exercise `softmax`; its leading comment is what a teacher would say to it.
"""

from dataclasses import dataclass
from pathlib import Path

from autograder.authoring.lesson import AuthoringError, Lesson, percent_cells


@dataclass(frozen=True)
class Answer:
    """One answer to one exercise; `says` is the teacher's sentence to a wrong one.

    An untouched one is the stub: it must not only lose points but earn none.
    """

    exercise: str
    name: str
    right: bool
    source: str
    says: str
    untouched: bool = False


def read_answers(path: Path, lesson: Lesson) -> list[Answer]:
    """The answers of a bank; `Mistake` names the first thing that is wrong with it."""
    exercises = [cell.name for cell in lesson.of("exercise")]
    answers: dict[tuple[str, str], Answer] = {}
    for line, _, source, metadata in percent_cells(path):
        title = metadata.get("title", "")
        kind, exercise, name, *_ = [*title.split(), "", "", ""]
        if kind == "given":
            continue
        if kind not in ("wrong", "right") or not name:
            mend = "write `# %% wrong EXERCISE NAME` or `# %% right EXERCISE NAME`"
            raise AuthoringError(path, line, f"`{title}` is no title of an answer", mend)
        if exercise not in exercises:
            mend = f"the exercises of {lesson.name} are {', '.join(exercises)}"
            raise AuthoringError(path, line, f"there is no exercise `{exercise}`", mend)
        if (exercise, name) in answers:
            mend = "give one of the two another name"
            raise AuthoringError(path, line, f"`{exercise} {name}` stands twice", mend)
        says = _leading_comment(source)
        if kind == "wrong" and not says:
            mend = "begin the cell with a comment: the sentence a teacher says to this student"
            raise AuthoringError(path, line, f"`{title}` does not say what is wrong", mend)
        answers[exercise, name] = Answer(exercise, name, kind == "right", source, says)
    return list(answers.values())


def _leading_comment(source: str) -> str:
    lines = []
    for line in source.split("\n"):
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# "))
    return " ".join(lines)
