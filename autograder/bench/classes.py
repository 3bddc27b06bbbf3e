"""Classrooms to benchmark: shortened lessons, and submissions from their answers banks."""

import dataclasses
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from autograder import paths
from autograder.authoring.answer_bank import Answer, read_answers
from autograder.authoring.lesson import Lesson, read_lesson
from autograder.authoring.notebook import as_text
from autograder.authoring.samples import filled, solved
from autograder.gradebook.classroom import Classroom
from autograder.gradebook.release import release

LESSON = "01_dot_product_attention"
# trains a model for three seconds of CPU time
TRAINING = """\
# %%
import time
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8))
optimiser = torch.optim.Adam(model.parameters())
batch, target = torch.randn(256, 64), torch.randint(8, (256,))
until = time.process_time() + 3
while time.process_time() < until:
    optimiser.zero_grad()
    torch.nn.functional.cross_entropy(model(batch), target).backward()
    optimiser.step()

"""
# the command line with lessons from another folder; prints its peak memory in KiB at the end
ELSEWHERE = """\
import atexit, resource, sys
from pathlib import Path
from autograder.commands import cli
from autograder.paths import Course
course = Course(Path(sys.argv.pop(1)))
atexit.register(lambda: print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))
cli.main(sys.argv[1:], course)
"""


@dataclasses.dataclass(frozen=True)
class BenchmarkClass:
    """A classroom with one released lesson."""

    course: paths.Course
    folder: Path
    lesson: Lesson
    bank: list[Answer]

    def receives(self, count: int, seed: int = 0) -> None:
        """Add submissions of `count` students; about half of each one's answers are right."""
        draw = random.Random(seed)
        names = {cell.name for cell in self.lesson.of("exercise")}
        bank = {name: [a for a in self.bank if a.exercise == name] for name in names}
        classroom = Classroom.open(self.folder)
        for number in range(count):
            sources = solved(self.lesson)
            for name in sorted(names):
                if draw.random() < 0.5:
                    sources[name] = draw.choice(bank[name]).source
            path = classroom.path("submitted", self.lesson.name, f"student-{number:05}")
            paths.write(path, as_text(filled(self.lesson, sources)))

    def command(self, *options: str) -> list[str]:
        """`python -m autograder grade` on this class."""
        ours = [sys.executable, "-c", ELSEWHERE, str(self.course.root), "grade"]
        return [*ours, "--classroom", str(self.folder), *options]

    def stock_command(self) -> list[str]:
        """`nbgrader autograde` on this class, overriding its settings, which refuse it."""
        executes = "--Autograde.exporter_class=nbconvert.exporters.NotebookExporter"
        return [
            sys.executable,
            "-m",
            "nbgrader",
            "autograde",
            self.lesson.name,
            "--force",
            executes,
        ]

    def grade(self, command: Sequence[str]) -> str:
        """Run one of these commands; return its last line of output."""
        found = os.environ | {"PYTHONPATH": str(paths.ROOT)}
        ran = subprocess.run(command, cwd=self.folder, env=found, capture_output=True, text=True)
        if ran.returncode:
            raise RuntimeError(ran.stdout + ran.stderr)
        return ran.stdout.split("\n")[-2] if ran.stdout else ""


def light(text: str) -> str:
    """The lesson's exercises, checks and given cells, without experiments."""
    return "".join(cell for cell in _cells(text) if not cell.startswith("# %%\n"))


def training(text: str) -> str:
    """The light lesson, with three seconds of training."""
    return light(text) + "\n" + TRAINING


def smallest(text: str) -> str:
    """The given cells, the first exercise and its checks."""
    kept = "given", "exercise softmax", "check softmax"
    return "".join(c for n, c in enumerate(_cells(text)) if n == 0 or _title(c).startswith(kept))


def whole(text: str) -> str:
    """The unchanged lesson."""
    return text


def make(folder: Path, name: str, cut: Callable[[str], str] = whole) -> BenchmarkClass:
    """Release lesson 01, shortened by `cut`, in a new classroom."""
    original = read_lesson(paths.COURSE.solutions / f"{LESSON}.py")
    course = paths.Course(folder / name)
    course.solutions.mkdir(parents=True)
    path = course.solutions / f"{LESSON}.py"
    path.write_text(cut(original.path.read_text(encoding="utf-8")), encoding="utf-8")
    lesson = read_lesson(path)
    release(Classroom.open(folder / name / "class"), lesson)
    bank = read_answers(original.bank, original)
    return BenchmarkClass(course, folder / name / "class", lesson, bank)


def _cells(text: str) -> list[str]:
    return re.split(r"(?m)^(?=# %%)", text)


def _title(cell: str) -> str:
    return cell.split("\n")[0].removeprefix("# %%").strip()
