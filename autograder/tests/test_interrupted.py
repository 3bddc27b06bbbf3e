"""Grading that is stopped in the middle, and goes on: everyone is graded exactly once."""

import signal
import sqlite3
import subprocess
import sys
import time
from typing import Self

from nbformat.v4 import new_code_cell

from autograder import paths
from autograder.authoring.notebook import as_text
from autograder.authoring.samples import filled, solved
from autograder.gradebook.result import State
from autograder.tests.conftest import Instructor

TYPED = """\
import sys
from pathlib import Path
from autograder.commands import cli
from autograder.paths import Course
cli.main(sys.argv[2:], Course(Path(sys.argv[1])))
"""
# by files that only a grader without a sandbox sees: the test knows that the cell runs, and
# decides when it ends
WAIT = """\
import pathlib, time
pathlib.Path({here!r}).touch()
while not pathlib.Path({go!r}).exists():
    time.sleep(0.01)
"""


class Grader:
    """`grade` in a process of its own: two at a time, of whom bo and cleo wait for the test."""

    def __init__(self, small: Instructor, *options: str) -> None:
        self.go = small.folder / "go"
        self._here = [small.folder / student for student in ("bo", "cleo")]
        for here in self._here:
            notebook = filled(small.lesson, solved(small.lesson))
            wait = WAIT.format(here=str(here), go=str(self.go))
            notebook.cells.insert(0, new_code_cell(wait))
            small.receives(here.name, as_text(notebook))
        small.receives("dora")
        words = ["grade", "--no-sandbox", "--jobs", "2", "--classroom", str(small.folder)]
        self._command = [sys.executable, "-c", TYPED, str(small.course.root), *words, *options]

    def __enter__(self) -> Self:
        """Start it; wait until bo and cleo run, so that ada is executed."""
        self.process = subprocess.Popen(
            self._command,
            cwd=paths.ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        while not all(here.exists() for here in self._here):
            assert self.process.poll() is None, self.process.communicate()[0]
            time.sleep(0.01)
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        with self.process:  # waits for its end, and closes what it wrote to
            pass

    def interrupt(self, words: str) -> None:
        """Type Ctrl-C; wait until it says these words."""
        self.process.send_signal(signal.SIGINT)
        assert self.process.stdout
        lines = iter(self.process.stdout.readline, "")
        assert any(words in line for line in lines)

    def end(self) -> tuple[int, str]:
        """Its exit code, and what else it said."""
        said, _ = self.process.communicate()
        return self.process.returncode, said


def test_ctrl_c_finishes_what_runs_and_the_same_command_goes_on(small, recorder):
    with Grader(small) as grader:
        grader.interrupt("finishing what runs (Ctrl-C again: give it up)")
        grader.go.touch()
        code, said = grader.end()
    told = "interrupted: what finished is graded and recorded; run the same command to continue\n"
    assert (code, said.endswith(told)) == (130, True), said
    assert "Traceback" not in said
    results = small.results()
    assert [results[name].points for name in ("ada", "bo", "cleo")] == [3, 3, 3]
    assert results["dora"].state == State.UNGRADED
    assert small.report()["dora"]["state"] == "not graded yet"
    assert small.types("grade")[0] == 0
    assert recorder == ["dora"]


def test_a_second_ctrl_c_gives_up_what_runs(small, recorder):
    with Grader(small, "--again") as grader:
        grader.interrupt("finishing what runs")
        grader.process.send_signal(signal.SIGINT)
        code, said = grader.end()
    told = "interrupted: what finished is graded and recorded; "
    told += "run the same command without `--again` to continue\n"
    assert (code, said.endswith(told)) == (130, True), said
    assert small.types("grade")[0] == 0
    assert recorder == ["bo", "cleo", "dora"]


def test_a_grader_that_was_killed_grades_everyone_once(small, recorder):
    with Grader(small) as grader:
        grader.process.kill()
        assert grader.end()[0] == -signal.SIGKILL
    assert [result.points for result in small.results().values()] == [None] * 4
    assert small.types("grade")[0] == 0
    # what was executed before is recorded, and not executed again
    assert recorder == ["bo", "cleo", "dora"]
    assert [result.points for result in small.results().values()] == [3] * 4
    with sqlite3.connect(small.folder / "gradebook.db") as database:
        counted = "select count(*), count(distinct student_id) from submitted_assignment"
        assert database.execute(counted).fetchone() == (4, 4)
    before = small.gradebook()
    assert "0 graded now" in small.types("grade")[1]
    assert small.gradebook() == before
