"""What students get of a class whose solutions stay private: files to host, without a secret."""

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

FOLDER = "published"  # in a class's folder
README = Path(__file__).with_name("students.md")
# from the course as they are
COPIED = ("LICENSE", "constraints.txt", "environment.yml")
# sections of pyproject.toml that install the kit; the others are for authors and instructors
SECTIONS = ("build-system", "project", "tool.setuptools")
# lines of solutions that stand in lessons for good reasons, and give nothing away
PLAIN = {"super().__init__()", "return x", "if mask is None:"}
SHORT = 7  # letters of a line that gives nothing away
# as badges and pip take it
ADDRESS = re.compile(r"https://github\.com/[\w.-]+/[\w.-]+")

Tree = dict[PurePosixPath, str]  # a file's text, by its path


class Leak(Exception):
    """What students must not have, and the file in which it stands, in one line."""


def tree(lessons: Sequence[Lesson], repository: str) -> Tree:
    """Every file that students of these lessons need.

    `repository` is the address at which the tree will be hosted: the kit is installed from there.
    Raises `Leak` if a line of a solution, a hidden test or an answers bank stands in one of them.
    """
    files = {PurePosixPath(name): _read(paths.ROOT / name) for name in COPIED}
    files[PurePosixPath("pyproject.toml")] = _project(repository)
    files[PurePosixPath("README.md")] = _readme(lessons, repository)
    for file in sorted(paths.KIT.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            files[PurePosixPath(file.relative_to(paths.ROOT).as_posix())] = _read(file)
    search(files, {text for lesson in lessons for text in (*secrets(lesson), *_answers(lesson))})
    for lesson in lessons:
        path = PurePosixPath("notebooks", f"{lesson.name}.ipynb")
        notebook = student_version(source_notebook(lesson, repository))
        # one lesson may show what another asks for
        search({path: "\n".join(cell.source for cell in notebook.cells)}, secrets(lesson))
        files[path] = as_text(notebook)
    return files


def search(files: Tree, secret: Iterable[str]) -> None:
    """Raise `Leak` if one of these texts stands in one of these files."""
    for path, text in files.items():
        # JSON writes the end of a line as two letters
        readable = text.replace("\\n", "\n") if path.suffix == ".jsonl" else text
        for one in secret:
            if one in readable:
                line = one.strip().split("\n")[0]
                raise Leak(f"{path} holds `{line}`, which is for instructors alone: word it anew")


def write(tree: Tree, folder: Path) -> None:
    """Make `folder` hold these files; of its others, only what was the kit's goes."""
    for path, text in tree.items():
        paths.write(folder / path, text)
    kit = folder / paths.KIT.relative_to(paths.ROOT)
    for file in kit.rglob("*"):
        if file.is_file() and PurePosixPath(file.relative_to(folder).as_posix()) not in tree:
            file.unlink()


def address(folder: Path) -> str:
    """Where a class's tree is hosted, as its own pyproject.toml says; else the course's address."""
    project = folder / FOLDER / "pyproject.toml"
    if not project.exists():
        return repository_address()
    return tomllib.loads(_read(project))["project"]["urls"]["Repository"]


def secrets(lesson: Lesson) -> set[str]:
    """Each line that solutions, hidden tests or the bank hold, and what is shown does not need."""
    text = "\n".join(cell.source for cell in lesson.cells)
    shown = _region("SOLUTION").sub("", _region("HIDDEN TESTS").sub("", text))
    solutions, hidden = (
        {line.strip() for part in _region(name).findall(text) for line in part.split("\n")}
        for name in ("SOLUTION", "HIDDEN TESTS")
    )
    hidden = {line for line in hidden if line not in shown}
    # comments, and what is too short to give anything away, are no secrets
    return {
        line
        for line in solutions - PLAIN | hidden
        if len(line) > SHORT and not line.startswith("#")
    }


def _answers(lesson: Lesson) -> list[str]:
    """The bank's answers, whole: a line of one may well stand elsewhere."""
    bank = paths.ANSWERS / f"{lesson.name}.py"
    return [answer.source for answer in read_answers(bank, lesson)] if bank.exists() else []


def _region(name: str) -> re.Pattern[str]:
    """What stands between BEGIN and END."""
    return re.compile(rf"[^\n]*BEGIN {name}[^\n]*\n(.*?)\n[^\n]*END {name}[^\n]*", re.DOTALL)


def _project(repository: str) -> str:
    """The course's pyproject.toml, as far as it installs the kit, with the class's address."""
    text = _read(paths.ROOT / "pyproject.toml")
    sections = re.split(r"(?m)^(?=\[)", text.replace(repository_address(), repository))
    kept = [part for part in sections if part.startswith(tuple(f"[{name}" for name in SECTIONS))]
    extras = "[project.optional-dependencies]\n"
    lab = json.dumps(tomllib.loads(text)["project"]["optional-dependencies"]["lab"])
    return "".join(f"{extras}lab = {lab}\n\n" if part.startswith(extras) else part for part in kept)


def _readme(lessons: Iterable[Lesson], repository: str) -> str:
    """The students' README: the rows of the course's own table, for what this class has."""
    rows = _read(paths.ROOT / "README.md").split("\n")
    names = [f"(notebooks/{lesson.name}.ipynb)" for lesson in lessons]
    table = [row for row in rows if row.startswith("| [") and any(name in row for name in names)]
    folder = repository.rpartition("/")[2]
    text = _read(README).replace("{table}", "\n".join(table))
    return text.replace("{repository}", repository).replace("{folder}", folder)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")
