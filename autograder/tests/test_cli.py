"""The command line: help that teaches, and one clear line in place of a traceback."""

import subprocess
import sys

import pytest

from autograder.authoring.lesson import all_lessons
from autograder.commands import cli
from autograder.paths import COURSE, Course


def ends(*words: str, course: Course = COURSE) -> str:
    """What `python -m autograder` says as it ends, with an exit code that tells of trouble."""
    with pytest.raises(SystemExit) as ended:
        cli.main(list(words), course)
    assert ended.value.code not in (0, None)
    return str(ended.value.code)


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_help_says_what_a_command_does(command, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main([command, "--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert "LESSON" in said or command == "site"  # which is made of all
    assert len(said.splitlines()) > 8


def test_the_first_help_names_every_command(capsys):
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    said = capsys.readouterr().out
    assert [command for command in cli.COMMANDS if f"    {command} " not in said] == []


def test_the_first_help_imports_no_command():
    script = "from autograder.commands import cli\ntry: cli.main(['--help'])\n"
    listed = f"{script}finally: import sys; print(*sys.modules, file=sys.stderr)"
    ended = subprocess.run([sys.executable, "-c", listed], capture_output=True, text=True)
    assert ended.returncode == 0
    modules = ended.stderr.split()
    assert "autograder.commands.cli" in modules
    heavy = {"torch", "nbgrader", "nbformat", "autograder.commands.grade_command"}
    assert heavy.isdisjoint(modules)


def test_on_windows_a_line_says_where_to_grade():
    """Which has no `resource`; here it is hidden."""
    hidden = "import sys; sys.modules['resource'] = None; from autograder.commands import cli"
    run = [sys.executable, "-c", f"{hidden}; cli.main(['grade', '01'])"]
    ended = subprocess.run(run, capture_output=True, text=True)
    assert ended.returncode == 1
    assert ended.stderr.startswith("no classes on ")
    assert ended.stderr.endswith("autograder/Containerfile\n")


def test_an_unknown_lesson_is_told_which_there_are():
    there = ", ".join(path.stem for path in all_lessons())
    assert ends("build", "99") == f"no lesson '99'; there is {there}"


@pytest.fixture
def course(tmp_path):
    """A checkout of its own."""
    return Course(tmp_path)


@pytest.fixture
def lesson(course):
    """Its only lesson, whose text a test can spoil."""
    course.solutions.mkdir()
    path = course.solutions / "01_small.py"
    path.write_text("# %% [markdown]\n# # A lesson\n", encoding="utf-8")
    return path


def test_a_lesson_that_is_not_utf8_names_the_line(course, lesson):
    lesson.write_bytes("# %% [markdown]\n# # Café\n".encode("latin-1"))
    assert (
        ends("build", "01", course=course)
        == f"{lesson}:2: this is not UTF-8\n  fix: save the file as UTF-8"
    )


def test_a_lesson_without_a_bank_says_so(course, lesson):
    said = ends("build", "01", course=course)
    assert "this lesson has no answers bank" in said
    assert str(course.answers / lesson.name) in said


def test_a_full_disk_is_one_line(course, lesson, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", str(lesson))

    monkeypatch.setattr("os.replace", full)
    assert (
        ends("build", "01", "--no-execute", course=course) == f"No space left on device: {lesson}"
    )


def test_a_file_in_a_folders_place_is_one_line(course, lesson):
    course.notebooks.write_text("not a folder")
    assert ends("build", "01", "--no-execute", course=course) == f"File exists: {course.notebooks}"
