"""A class is changed by one command at a time, and only on its own gradebook."""

import contextlib
import shutil
import sqlite3
import subprocess
import sys

import pytest
from filelock import FileLock

from autograder.gradebook import guard


@pytest.fixture
def busy(small):
    """The class, while another command works on it."""
    (small.folder / guard.HOLDER).write_text("`autograder grade` (process 7 of ada on host)\n")
    with FileLock(small.folder / guard.LOCK):
        yield small


@pytest.mark.parametrize("command", ["grade", "release", "collect", "sample"])
def test_of_two_commands_at_once_the_second_names_the_first(busy, recorder, command):
    more = ["01", str(busy.folder)] if command == "collect" else []
    before = busy.gradebook()
    code, said = busy.types(command, *more)
    assert code == 1
    assert said == (
        "`autograder grade` (process 7 of ada on host) is at work on this class: "
        "run it again when that is done"
    )
    assert recorder == []
    assert busy.gradebook() == before


@pytest.mark.parametrize("command", ["feedback", "export", "similar"])
def test_who_only_reads_waits_for_nobody(busy, command):
    _, said = busy.types(command)
    assert "at work" not in said


def test_who_holds_a_class_says_who_it_is(small):
    with guard.held(small.folder), pytest.raises(guard.Refused, match=r"process \d+ of \w+ on "):
        guard.held(small.folder).__enter__()
    with guard.held(small.folder):
        pass
    assert not (small.folder / guard.HOLDER).exists()


def test_what_was_killed_holds_a_class_no_longer(small):
    source = (
        "import os, pathlib, signal\nfrom autograder.gradebook import guard\n"
        f"with guard.held(pathlib.Path({str(small.folder)!r})):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", source], cwd=guard.paths.ROOT).returncode == -9
    assert (small.folder / guard.HOLDER).exists()
    with guard.held(small.folder):
        pass


def test_a_class_that_is_not_there_is_not_made_by_looking(small, tmp_path):
    with guard.held(tmp_path / "fall"):
        pass
    assert not (tmp_path / "fall").exists()


@pytest.mark.parametrize("kind", ["garbage", "cut short", "a folder"])
@pytest.mark.parametrize("command", ["grade", "feedback", "export", "release"])
def test_a_gradebook_that_cannot_be_read_is_told_in_a_line(small, recorder, kind, command):
    gradebook = small.folder / "gradebook.db"
    data = gradebook.read_bytes()
    gradebook.unlink()
    if kind == "a folder":
        gradebook.mkdir()
    else:
        gradebook.write_bytes(b"no database " * 99 if kind == "garbage" else data[: len(data) // 2])
    code, said = small.types(command)
    assert code == 1
    assert said.count("\n") == 0
    assert f"{gradebook} is no sound gradebook (" in said
    assert "put a copy of it back" in said


def test_another_classs_gradebook_is_refused(small, recorder, tmp_path):
    other = small.copy(tmp_path / "other")
    shutil.rmtree(other.folder)
    assert other.types("release")[0] == 0
    theirs = (other.folder / guard.CLASS_ID).read_text().strip()
    before = other.gradebook()
    shutil.copy(other.folder / "gradebook.db", small.folder)
    code, said = small.types("grade")
    assert code == 1
    assert "gradebook.db is another class's gradebook: put this one's back" in said
    assert f"write {theirs} into {small.folder / guard.CLASS_ID}" in said
    assert small.gradebook() == before
    # as it says, if it is this one's after all
    (small.folder / guard.CLASS_ID).write_text(theirs)
    assert small.types("grade")[0] == 0


def test_a_gradebook_of_nobodys_is_not_taken_for_this_ones(small):
    """It has students, and no class has ever called it its own: nbgrader made it, elsewhere."""
    with contextlib.closing(sqlite3.connect(small.folder / "gradebook.db")) as database:
        database.execute("drop table transformer_course_class")
        database.commit()
    code, said = small.types("grade")
    assert code == 1
    assert "is another class's gradebook: put this one's back" in said


def test_a_class_from_before_there_were_names_gets_one(small, recorder):
    (small.folder / guard.CLASS_ID).unlink()
    with contextlib.closing(sqlite3.connect(small.folder / "gradebook.db")) as database:
        database.execute("drop table transformer_course_class")
        database.commit()
    assert small.types("grade")[0] == 0
    assert recorder == ["ada", "bo"]
    own = (small.folder / guard.CLASS_ID).read_text().strip()
    assert any(own in line for line in small.gradebook())


def test_a_class_with_settings_from_before_formgrader_was_safe_is_refused(small, recorder):
    settings = small.folder / "nbgrader_config.py"
    text = settings.read_text(encoding="utf-8")
    settings.write_text('c = get_config()\nc.CourseDirectory.root = "/"\n', encoding="utf-8")
    code, said = small.types("grade")
    assert (code, recorder) == (1, [])
    assert said.count("\n") == 0
    assert "copy autograder/classroom/nbgrader_config.py there" in said
    settings.write_text(text, encoding="utf-8")
    assert small.types("grade")[0] == 0


def test_a_gradebook_that_was_lost_begins_anew(small):
    (small.folder / "gradebook.db").unlink()
    assert small.types("release")[0] == 0
