"""Commands as processes of their own, so that they can be killed, and what they leave behind."""

import contextlib
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import psutil

from autograder import paths
from autograder.gradebook.result_store import MARK, RESULT
from autograder.tests.conftest import SMALL, Instructor

PATIENCE = 600  # seconds until a test gives up waiting for what must come
# the command line, about the lessons of another folder
COMMAND = """\
import sys
from pathlib import Path
from autograder.commands import cli
from autograder.paths import Course
cli.main(sys.argv[2:], Course(Path(sys.argv[1])))
"""
# warm processes are told what a lesson imports: by this name they are found, and no other test's
NAME = f"imported_by_{os.getpid()}"
LESSON = f"""\
# %% given imports
try:
    import {NAME}
except ImportError:
    pass

{SMALL}"""
WROTE = {
    "students": "SELECT id, first_name, last_name, email FROM student",
    "submissions": "SELECT student_id, timestamp, extension FROM submitted_assignment",
    "notebooks": """
        SELECT student_id, flagged, late_submission_penalty
        FROM submitted_notebook AS n JOIN submitted_assignment AS s ON s.id = n.assignment_id""",
    "grades": """
        SELECT student_id, name, auto_score, manual_score, extra_credit, needs_manual_grade
        FROM grade AS g JOIN base_cell AS c ON c.id = g.cell_id
        JOIN submitted_notebook AS n ON n.id = g.notebook_id
        JOIN submitted_assignment AS s ON s.id = n.assignment_id""",
    "comments": """
        SELECT student_id, name, auto_comment, manual_comment
        FROM comment AS g JOIN base_cell AS c ON c.id = g.cell_id
        JOIN submitted_notebook AS n ON n.id = g.notebook_id
        JOIN submitted_assignment AS s ON s.id = n.assignment_id""",
}

Value = TypeVar("Value")


def sooner_or_later(there: Callable[[], Value]) -> Value:
    """What `there` returns once it is something; fails if that never comes."""
    deadline = time.monotonic() + PATIENCE
    while not (value := there()):
        assert time.monotonic() < deadline, "what a test waits for never came"
        time.sleep(0.005)
    return value


def environment() -> dict[str, str]:
    """What programs are started with: they find the checkout's own modules."""
    return os.environ | {"PYTHONPATH": str(paths.ROOT)}


def warm_processes() -> list[psutil.Process]:
    """All processes of this session that execute submissions, and what surrounds them."""
    found = []
    for process in psutil.process_iter():
        try:
            if NAME in " ".join(process.cmdline()):
                found.append(process)
        except psutil.Error:
            continue
    return found


def live(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Those that have not ended; one that has may wait for its parent to ask how."""
    found = []
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.status() != psutil.STATUS_ZOMBIE and process.is_running():
                found.append(process)
    return found


@dataclass(frozen=True)
class Run:
    """A running program, and the file with all that it says."""

    process: subprocess.Popen
    output: Path

    @classmethod
    def of(cls, command: list[str], output: Path) -> "Run":
        """Start it."""
        with output.open("wb") as file:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=environment()
            )
        return cls(process, output)

    @property
    def said(self) -> str:
        """All that it has said."""
        return self.output.read_text(encoding="utf-8")

    def ends(self) -> tuple[int, str]:
        """Its exit code, and all that it said, once it has ended; no process of its is left."""
        code = self.process.wait(PATIENCE)
        sooner_or_later(lambda: not warm_processes())
        return code, self.said

    def kill(self) -> None:
        """`kill -9`."""
        self.process.kill()
        self.process.wait()

    def kill_warm(self, side: str, depth: int) -> None:
        """`kill -9` a warm process (3), bubblewrap's first one in there (2), or bubblewrap (1)."""

        def found() -> list[psutil.Process]:
            process = psutil.Process(self.process.pid)
            try:
                for _ in range(depth):
                    (process,) = [p for p in process.children() if _is_of(p, side)]
            except (psutil.Error, ValueError):  # being started
                return []
            return [process]

        sooner_or_later(found)[0].kill()


def _is_of(process: psutil.Process, side: str) -> bool:
    return f'"side": "{side}"' in " ".join(process.cmdline())


@dataclass(frozen=True)
class Processes(Instructor):
    """A class whose commands run as processes of their own."""

    def starts(self, command: str, *options: str) -> Run:
        """Start a command."""
        typed = [str(self.course.root), command, "--classroom", str(self.folder), *options]
        output = self.folder.with_name(f"said-{len(list(self.folder.parent.glob('said-*')))}")
        return Run.of([sys.executable, "-c", COMMAND, *typed], output)

    def copied(self, folder: Path) -> "Processes":
        """The same class, for a test that changes it."""
        copy = self.copy(folder)
        return Processes(copy.course, copy.folder)

    def keeps(self) -> int:
        """How many submissions were executed; counts one as soon as its folder is there."""
        folder = self.folder / "autograded"
        return len(os.listdir(folder)) if folder.exists() else 0

    def executed(self) -> dict[str, int]:
        """When each submission was executed whose result is kept: nanoseconds."""
        found = (self.folder / "autograded").glob(f"*/*/{RESULT}")
        return {path.parts[-3]: path.stat().st_mtime_ns for path in found}

    def recorded(self) -> set[str]:
        """Whose submissions are marked as recorded."""
        return {p.parts[-3] for p in (self.folder / "autograded").glob(f"*/*/{MARK}")}

    def is_recording(self) -> bool:
        """Whether a transaction is under way."""
        return (self.folder / "gradebook.db-journal").exists()

    def wrote(self, students: Iterable[str]) -> dict[str, object]:
        """All that grading wrote about these students, but for ids and times."""
        chosen = set(students)
        there: dict[str, object] = {}
        with sqlite3.connect(self.folder / "gradebook.db") as gradebook:
            for name, query in WROTE.items():
                rows = [row for row in gradebook.execute(query) if row[0] in chosen]
                there[name] = sorted(rows, key=str)
        for name in (MARK, f"{self.lesson.name}.ipynb"):
            found = (self.folder / "autograded").glob(f"*/*/{name}")
            there[name] = {p.parts[-3]: p.read_bytes() for p in found if p.parts[-3] in chosen}
        there["parts"] = sorted((self.folder / "autograded").rglob("*.part"))
        return there
