"""The files that a class with private solutions publishes to its students, free of secrets."""

import json
import re
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from autograder import paths
from autograder.authoring.answer_bank import read_answers
from autograder.authoring.lesson import Lesson
from autograder.authoring.notebook import (
    as_text,
    repository_address,
    source_notebook,
    student_version,
)
from autograder.errors import CourseError
from autograder.paths import COURSE, Course

FOLDER = "published"  # in the classroom
README = Path(__file__).with_name("students.md")
# copied from the course unchanged
COPIED = ("LICENSE", "constraints.txt", "environment.yml")
# sections of pyproject.toml that installing the kit needs
SECTIONS = ("build-system", "project", "tool.setuptools")
# lines of solutions that may appear elsewhere: they give nothing away
HARMLESS = {
    *("super().__init__()", "return x", "return True", "return False", "return 0.0"),
    *("if mask is None:", "if mask is not None:", "with torch.no_grad():"),
    *("for t in range(length):", "length = x.shape[1]"),
    *("for _ in range(count):", "return tokens"),
}
HARMLESS_LENGTH = 7  # a line of at most so many characters gives nothing away
# a form that badges and pip accept
ADDRESS = re.compile(r"https://github\.com/[\w.-]+/[\w.-]+")

Tree = dict[PurePosixPath, str]  # path -> text


class Leak(CourseError):
    """A published file contains what only instructors may have."""


def tree(lessons: Sequence[Lesson], repository: str, course: Course = COURSE) -> Tree:
    """Every file that students of these lessons need.

    `repository` is where the tree will be hosted: students install the kit from there.
    Raises `Leak` if a file contains a line of a solution or hidden test, or an answer of a bank.
    """
    files = {PurePosixPath(name): _read(course.root / name) for name in COPIED}
    files[PurePosixPath("pyproject.toml")] = _project(repository, course)
    files[PurePosixPath("README.md")] = _readme(lessons, repository, course)
    for file in sorted(course.kit.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            files[PurePosixPath(file.relative_to(course.root).as_posix())] = _read(file)
    private = {text for lesson in lessons for text in (*secrets(lesson), *_answers(lesson))}
    check_leaks(files, private)
    for lesson in lessons:
        path = PurePosixPath("notebooks", f"{lesson.name}.ipynb")
        notebook = student_version(source_notebook(lesson, repository))
        # a lesson may show the solution of another lesson's exercise
        check_leaks({path: "\n".join(cell.source for cell in notebook.cells)}, secrets(lesson))
        files[path] = as_text(notebook)
    return files


def check_leaks(files: Tree, private: Iterable[str]) -> None:
    """Raise `Leak` if a file contains one of these private texts."""
    for path, published in files.items():
        # JSON escapes newlines
        readable = published.replace("\\n", "\n") if path.suffix == ".jsonl" else published
        for text in private:
            if text in readable:
                line = text.strip().split("\n")[0]
                raise Leak(f"{path} contains `{line}`, which only instructors may see: reword it")


def write(tree: Tree, folder: Path) -> None:
    """Write these files to `folder`, and delete files of the kit that are not in the tree."""
    for path, text in tree.items():
        paths.write(folder / path, text)
    kit = Course(folder).kit
    for file in kit.rglob("*"):
        if file.is_file() and PurePosixPath(file.relative_to(folder).as_posix()) not in tree:
            file.unlink()


def address(folder: Path) -> str:
    """The address in the published pyproject.toml; before publication, the course's address."""
    project = folder / FOLDER / "pyproject.toml"
    if not project.exists():
        return repository_address()
    return tomllib.loads(_read(project))["project"]["urls"]["Repository"]


def secrets(lesson: Lesson) -> set[str]:
    """Each line of a solution, and each line of a hidden test that the lesson does not show."""
    text = "\n".join(cell.source for cell in lesson.cells)
    visible = _region("SOLUTION").sub("", _region("HIDDEN TESTS").sub("", text))
    solutions, hidden = (
        {line.strip() for part in _region(name).findall(text) for line in part.split("\n")}
        for name in ("SOLUTION", "HIDDEN TESTS")
    )
    hidden = {line for line in hidden if line not in visible}
    # comments, short lines, single names and the mere beginning of a list or call are not secrets
    return {
        line
        for line in solutions - HARMLESS | hidden
        if len(line) > HARMLESS_LENGTH
        and not line.startswith("#")
        and not line.removesuffix(",").isidentifier()
        and not line.endswith(("= [", "("))
    }


def _answers(lesson: Lesson) -> list[str]:
    """The source of each answer in the bank; a single line of it is no secret."""
    if not lesson.bank.exists():
        return []
    return [answer.source for answer in read_answers(lesson.bank, lesson)]


def _region(name: str) -> re.Pattern[str]:
    """Match a region; its group is what is between BEGIN and END."""
    return re.compile(rf"[^\n]*BEGIN {name}[^\n]*\n(.*?)\n[^\n]*END {name}[^\n]*", re.DOTALL)


def _project(repository: str, course: Course) -> str:
    """The sections of pyproject.toml that install the kit, with the class's address."""
    text = _read(course.root / "pyproject.toml")
    sections = re.split(r"(?m)^(?=\[)", text.replace(repository_address(), repository))
    kept = [part for part in sections if part.startswith(tuple(f"[{name}" for name in SECTIONS))]
    extras = "[project.optional-dependencies]\n"
    lab = json.dumps(tomllib.loads(text)["project"]["optional-dependencies"]["lab"])
    return "".join(f"{extras}lab = {lab}\n\n" if part.startswith(extras) else part for part in kept)


def _readme(lessons: Iterable[Lesson], repository: str, course: Course) -> str:
    """The students' README, with the rows of the course's table for these lessons."""
    rows = _read(course.root / "README.md").split("\n")
    names = [f"(notebooks/{lesson.name}.ipynb)" for lesson in lessons]
    table = [row for row in rows if row.startswith("| [") and any(name in row for name in names)]
    folder = repository.rpartition("/")[2]
    text = _read(README).replace("{table}", "\n".join(table))
    return text.replace("{repository}", repository).replace("{folder}", folder)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")
