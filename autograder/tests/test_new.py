"""`new` begins a lesson that builds and proves at once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.authoring.lesson import read_lesson
from autograder.commands import cli
from autograder.paths import Course
from autograder.tests.support.checkout import copy_of_checkout


def types(checkout: Path, *words: str) -> str:
    """Run a command in another checkout, with that checkout's kit; return what it said."""
    kit = os.pathsep.join([str(checkout), str(checkout / "assets")])
    ended = subprocess.run(
        [sys.executable, "-m", "autograder", *words],
        cwd=checkout,
        env=os.environ | {"PYTHONPATH": kit},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_a_new_lesson_builds_and_proves_at_once(tmp_path):
    checkout = copy_of_checkout(tmp_path)
    written = types(checkout, "new", "42", "cosine", "--title", "Length and direction")
    assert "wrote solutions/42_cosine.py" in written
    assert "wrote autograder/answers/42_cosine.py" in written
    assert "python -m autograder prove 42" in written
    built = types(checkout, "build", "42")
    assert "wrote notebooks/42_cosine.ipynb" in built
    proven = types(checkout, "prove", "42")
    # the stub, the solution, a wrong and a right answer
    assert "42_cosine: 4 answers, 0 judged unjustly" in proven
    # rejected, seen and named; accepted; nothing spilled
    report = (checkout / "autograder" / "reports" / "42_cosine.md").read_text(encoding="utf-8")
    assert "| unit_vectors | 2 | 1 of 1 | 1 | 1 | 1 of 1 | 0.0 |" in report


@pytest.fixture
def course(tmp_path):
    """An empty course."""
    return Course(tmp_path)


def new(course: Course, *words: str) -> str | int | None:
    """What `new` ends with."""
    with pytest.raises(SystemExit) as ended:
        cli.main(["new", *words], course)
    return ended.value.code


def test_the_lesson_has_one_of_each_and_the_title(course):
    assert new(course, "09", "causal_models", "--title", "Causal  language\nmodels") == 0
    lesson = read_lesson(course.solutions / "09_causal_models.py")
    assert lesson.cells[0].source.startswith("# Lesson 9 · Causal language models\n")
    assert [len(lesson.of(role)) for role in ("exercise", "check", "answer")] == [1, 1, 1]
    assert "BEGIN HIDDEN TESTS" in lesson.of("check")[0].source


def test_without_a_title_the_name_is_the_title(course):
    assert new(course, "09", "causal_models") == 0
    lesson = read_lesson(course.solutions / "09_causal_models.py")
    assert lesson.cells[0].source.startswith("# Lesson 9 · Causal models\n")


@pytest.mark.parametrize(
    ("words", "fix"),
    [
        (["9", "encoder"], "write it with two digits: 09"),
        (["009", "encoder"], "write it with two digits: 09"),
        (["09", "Encoder"], "use small letters, digits and underscores"),
        (["09", "../encoder"], "use small letters, digits and underscores"),
    ],
)
def test_a_number_or_name_that_no_lesson_has_is_refused(course, words, fix):
    assert f"fix: {fix}" in str(new(course, *words))
    assert list(course.root.iterdir()) == []


@pytest.mark.parametrize("folder", ["solutions", "answers"])
def test_a_number_that_is_taken_is_refused(course, folder):
    taken = getattr(course, folder) / "09_encoder.py"
    taken.parent.mkdir(parents=True)
    taken.write_text("mine", encoding="utf-8")
    said = str(new(course, "09", "decoder"))
    assert said.startswith(f"{taken}:1: number 09 is taken\n  fix: choose another number")
    assert [path.read_text() for path in course.root.rglob("*.py")] == ["mine"]
