"""A class to grade: an instructor who types commands, and students who hand in notebooks."""

import contextlib
import functools
import io
import json
import re
import shutil
import sqlite3
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbgrader.api
import pytest

from autograder.authoring.lesson import Lesson, read_lesson
from autograder.authoring.notebook import as_text
from autograder.authoring.samples import filled, solved
from autograder.commands import cli, grade_command
from autograder.execution.executor import Execution, Executor, Job, Ran
from autograder.gradebook import pool, status, submission
from autograder.gradebook.classroom import Classroom
from autograder.gradebook.grade import ExecutionConfig
from autograder.gradebook.result import Finished, Task
from autograder.intake.released import Released
from autograder.paths import COURSE, Course
from autograder.tests.support.colab import Colab, kit_on_colab

# for each new gradebook nbgrader asks another process, for a second, which version its tables have
nbgrader.api.get_alembic_version = functools.cache(nbgrader.api.get_alembic_version)

# what `make check` runs: files whose tests start no kernel, browser, sandbox or class
FAST = {
    *("test_answer_bank", "test_cgroups", "test_checks", "test_container", "test_contributing"),
    *("test_environment", "test_finding", "test_install", "test_lesson", "test_matching"),
    *("test_proofs", "test_rooms", "test_terminal", "test_views", "test_wire"),
}

# needs no import, so that a kernel starts fast
SMALL = """\
# %% [markdown]
# # A lesson

# %% exercise double
def double(x):
    # BEGIN SOLUTION
    return x + x
    # END SOLUTION


# %% check double points=2
assert double(2) == 4
# BEGIN HIDDEN TESTS
assert double(3) == 6
# END HIDDEN TESTS

# %% exercise half
def half(x):
    # BEGIN SOLUTION
    return x / 2
    # END SOLUTION


# %% check half points=1
assert half(2) == 1
"""


def pytest_addoption(parser):
    """Take `--all`."""
    told = "prove again what has not changed, with whole classes and banks: see CONTRIBUTING.md"
    parser.addoption("--all", action="store_true", dest="everything", help=told)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what `make check` runs."""
    for item in items:
        if item.path.stem in FAST:
            item.add_marker("fast")


@pytest.fixture(scope="session")
def everything(request: pytest.FixtureRequest) -> bool:
    """Whether `--all` was given."""
    return bool(request.config.getoption("everything"))


@dataclass(frozen=True)
class Instructor:
    """Types commands about the class in `folder`, with the lessons of `course`."""

    course: Course
    folder: Path

    def types(self, command: str, *options: str) -> tuple[int, str]:
        """Run a command; return its exit code, and all that it said."""
        said = io.StringIO()
        with (
            contextlib.redirect_stdout(said),
            contextlib.redirect_stderr(said),
            pytest.raises(SystemExit) as ended,
        ):
            cli.main([command, "--classroom", str(self.folder), *options], self.course)
        code = ended.value.code
        # Python prints a message that a program exits with, and makes it exit code 1
        return (
            (code, said.getvalue()) if isinstance(code, int) else (1, said.getvalue() + f"{code}")
        )

    @property
    def lesson(self) -> Lesson:
        """The only lesson."""
        (path,) = self.course.solutions.glob("*.py")
        return read_lesson(path)

    def file(self, step: str, student: str = ".") -> Path:
        """Where the lesson's notebook lies after a step of nbgrader's."""
        return self.folder / step / student / self.lesson.name / f"{self.lesson.name}.ipynb"

    def results(self) -> dict[str, status.Result]:
        """What became of each student's submission."""
        classroom = Classroom.open(self.folder)
        return {result.student: result for result in status.results(classroom, self.lesson.name)}

    def report(self) -> dict[str, dict[str, Any]]:
        """The same, as `grade` wrote it for other programs."""
        path = self.folder / grade_command.REPORTS / f"{self.lesson.name}.json"
        return {about["student"]: about for about in json.loads(path.read_text(encoding="utf-8"))}

    def gradebook(self) -> list[str]:
        """All that the gradebook holds."""
        with contextlib.closing(sqlite3.connect(self.folder / "gradebook.db")) as database:
            return list(database.iterdump())

    def receives(self, student: str, text: str = "") -> None:
        """A student hands in a file; without a text, the solved lesson."""
        path = self.file("submitted", student)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text or as_text(filled(self.lesson, solved(self.lesson))), encoding="utf-8")

    def copy(self, folder: Path) -> "Instructor":
        """The same class, for a test that changes it."""
        course = Course(folder)
        shutil.copytree(self.course.solutions, course.solutions)
        shutil.copytree(self.folder, folder / "class")
        return Instructor(course, folder / "class")


@pytest.fixture(scope="module")
def small_class(tmp_path_factory):
    """A small lesson, released."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "solutions").mkdir()
    (folder / "solutions" / "01_small.py").write_text(SMALL, encoding="utf-8")
    instructor = Instructor(Course(folder), folder / "class")
    code, said = instructor.types("release")
    assert code == 0, said
    return instructor


@pytest.fixture
def small(small_class, tmp_path):
    """A small lesson, released, and handed in by ada and bo."""
    instructor = small_class.copy(tmp_path)
    instructor.receives("ada")
    instructor.receives("bo")
    return instructor


@dataclass(frozen=True)
class Graded(Instructor):
    """A class that went all the way, and what the commands said."""

    said: dict[str, str]


def first_lesson(folder: Path) -> Instructor:
    """A class that is to get lesson 1, without its experiments, which only take time."""
    instructor = Instructor(Course(folder), folder / "class")
    path = COURSE.solutions / "01_dot_product_attention.py"
    cells = re.split(r"(?m)^(?=# %%)", path.read_text(encoding="utf-8"))
    course = instructor.course
    course.solutions.mkdir()
    titled = [cell for cell in cells if not cell.startswith("# %%\n")]
    (course.solutions / path.name).write_text("".join(titled), encoding="utf-8")
    course.answers.mkdir(parents=True)
    shutil.copy(COURSE.answers / path.name, course.answers)
    return instructor


@pytest.fixture(scope="session")
def graded(tmp_path_factory):
    """The sample class and two more, graded, with feedback and grades."""
    instructor = first_lesson(tmp_path_factory.mktemp("class"))
    said = {"sample": instructor.types("sample")}
    instructor.receives("cut_short", as_text(filled(instructor.lesson, {}))[:5000])
    sources = solved(instructor.lesson)
    sources["softmax"] += "\nF = None"  # a name that the lesson's own checks use
    instructor.receives("reuses_a_name", as_text(filled(instructor.lesson, sources)))
    said["grade"] = instructor.types("grade", "--timeout", "3")
    said |= {command: instructor.types(command) for command in ("feedback", "export")}
    assert not any(code for code, _ in said.values()), "\n".join(text for _, text in said.values())
    texts = {command: text for command, (_, text) in said.items()}
    return Graded(instructor.course, instructor.folder, texts)


class Passes:
    """In place of an executor: runs nothing, so that every check passes."""

    def __init__(self, student: str, ran: list[str]) -> None:
        self.student, self._ran = student, ran

    def execute(self, job: Job) -> Execution:
        self._ran.append(self.student)
        return Execution([Ran(complete=True) for _ in job.cells])


@pytest.fixture
def recorder(monkeypatch):
    """Who is executed while a test runs."""
    ran: list[str] = []

    @contextlib.contextmanager
    def workers(
        how: ExecutionConfig, released: Released, stopping: object
    ) -> Iterator[pool.Workers]:
        def start(task: Task) -> Future[Finished]:
            future: Future[Finished] = Future()
            executor: Any = Passes(task.student, ran)
            try:
                future.set_result(submission.graded(task, released, how.limits, executor))
            except Exception as error:
                future.set_exception(error)
            return future

        yield pool.Workers(start, ahead=lambda: 1)

    monkeypatch.setattr(ExecutionConfig, "workers", workers)
    return ran


@pytest.fixture(scope="session")
def colab(tmp_path_factory: pytest.TempPathFactory) -> Colab:
    """An environment like Colab's, with the kit."""
    return kit_on_colab(tmp_path_factory.mktemp("colab"), tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def warm_executor():
    """All commands of a test file share their executors: starting one takes seconds."""
    with contextlib.ExitStack() as running, pytest.MonkeyPatch.context() as patch:

        @functools.cache
        def started(wanted: frozenset[str], sandboxed: bool) -> Executor:
            return running.enter_context(Executor(wanted, sandboxed))

        def kept(wanted: set[str], sandboxed: bool) -> contextlib.AbstractContextManager[Executor]:
            return contextlib.nullcontext(started(frozenset(wanted), sandboxed))

        patch.setattr(pool, "Executor", kept)
        yield
