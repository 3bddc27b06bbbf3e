"""The autograder for Gradescope, run as Gradescope runs it: its folders, its two scripts, as root.

A root of its own stands in for Gradescope's image (bubblewrap), where apt-get and install.py only
write down what they were asked for, and this checkout is not to be seen.
"""

import json
import os
import re
import stat
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from nbformat.v4 import new_code_cell

from autograder.authoring.lesson import Lesson, read_lesson
from autograder.authoring.notebook import as_text
from autograder.authoring.samples import filled, solved
from autograder.commands import cli
from autograder.execution.isolation.confine import SUBMISSIONS
from autograder.feedback.verdicts import Outcome, Verdict
from autograder.gradescope import outcome, package
from autograder.gradescope.settings import LESSON, Settings, read
from autograder.paths import ROOT
from autograder.tests.test_sandbox import without_namespaces

TEXT = """\
# %% [markdown]
# # A lesson

# %% given imports
import torch
from transformer_course.checks import Check, numbers

# %% exercise double
def double(x):
    # BEGIN SOLUTION
    return x + x
    # END SOLUTION


# %% check double points=2
with Check("double", "twice each number") as check:
    x = torch.tensor([1.0, 20.0])
    check.equal(check.call(x), 2 * x, "each number twice", hint="add it to itself")
# BEGIN HIDDEN TESTS
with Check("double", "numbers below zero") as check:
    x = torch.tensor([-7.8125])
    check.equal(check.call(x), 2 * x, "the sign stays")
# END HIDDEN TESTS

# %% exercise half
def half(x):
    # BEGIN SOLUTION
    return x / 2
    # END SOLUTION


# %% check half points=1
with Check("half", "half of each number", hint="divide") as check:
    check.equal(check.call(torch.ones(1)), torch.full((1,), 0.5), "half of it")

# %% answer why [markdown] points=3
# Because.
"""
SECRET = "-7.8125"  # what only the hidden test calls with
# inside Gradescope's image, the Python of these tests, with the packages that setup.sh wants
PIP = """\
#!/bin/sh
if [ "$1" = autograder/install.py ]; then shift 2; echo "install $*" >>/opt/asked; exit; fi
PYTHONPATH="/opt/transformer-course/assets:$PYTHONPATH" exec {python} "$@"
"""
PYTHON = """\
#!/bin/sh
if [ "$1 $2" = "-m venv" ]; then mkdir -p "$3/bin"; cp /opt/pip "$3/bin/python"; exit; fi
exec {python} "$@"
"""
APT = '#!/bin/sh\necho "apt-get $*" >>/opt/asked\n'


@dataclass(frozen=True)
class Gradescope:
    """What Gradescope makes of an autograder's zip: an image, in which submissions are graded."""

    folder: Path
    lesson: Lesson

    def build(self, archive: Path) -> str:
        """Unpack the zip, and run its setup.sh; return what was asked of apt-get and pip."""
        for name in ("autograder/source", "opt/bin"):
            (self.folder / name).mkdir(parents=True)
        unpack(archive, self.folder / "autograder/source")
        programs = {"bin/python3": PYTHON, "pip": PIP, "bin/apt-get": APT}
        for name, text in programs.items():
            path = self.folder / "opt" / name
            path.write_text(text.format(python=sys.executable))
            path.chmod(0o755)
        self.runs("/autograder/source/setup.sh")
        script = self.folder / "autograder/run_autograder"
        script.write_bytes((self.folder / "autograder/source/run_autograder").read_bytes())
        script.chmod(0o755)
        return (self.folder / "opt/asked").read_text()

    def grades(self, files: dict[str, str | bytes], namespaces: bool = True) -> dict[str, Any]:
        """Hand in these files; return the results, and in `log` what instructors see."""
        here = self.folder / "autograder"
        subprocess.run(["rm", "-rf", here / "submission", here / "results"], check=True)
        for folder in ("submission", "results"):
            (here / folder).mkdir()
        for name, text in files.items():
            data = text.encode() if isinstance(text, str) else text
            (here / "submission" / name).write_bytes(data)
        about = {"id": 1, "assignment": {"total_points": "20.0"}, "users": [{"email": "a@b.org"}]}
        (here / "submission_metadata.json").write_text(json.dumps(about))
        broken = self.folder / "opt/broken"
        broken.mkdir(exist_ok=True)
        with pytest.MonkeyPatch.context() as patch:
            without_namespaces(patch, broken)
        log = self.runs("/autograder/run_autograder", "" if namespaces else "/opt/broken:")
        results = json.loads((here / "results/results.json").read_text())
        assert_specified(results)
        return results | {"log": log}

    def answers(self, *own: str, **answers: str) -> dict[str, str | bytes]:
        """A notebook with these answers, for the rest the solved ones, and cells of its own."""
        told = filled(self.lesson, solved(self.lesson) | answers)
        told.cells += map(new_code_cell, own)
        return {"my lesson (2).ipynb": as_text(told)}

    def runs(self, program: str, path: str = "") -> str:
        """Run a program in the image; return what it says."""
        run = subprocess.run(
            [*self._image(path), "--", program],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert run.returncode == 0, run.stdout
        return run.stdout

    def _image(self, path: str) -> Iterator[str]:
        """bubblewrap's command line: root, in a root folder that looks like Gradescope's."""
        yield "bwrap"
        yield from ["--cap-add", "ALL"] if os.getuid() == 0 else ["--unshare-user"]
        yield from ["--uid", "0", "--gid", "0"] if os.getuid() else []
        for top in sorted(Path("/").iterdir()):
            if top.is_symlink():
                yield from ["--symlink", os.readlink(top), str(top)]
            elif top.name not in ("autograder", "dev", "home", "opt", "proc", "root", "tmp"):
                yield from ["--ro-bind", str(top), str(top)]
        yield from ["--tmpfs", "/tmp", "--chmod", "1777", "/tmp", "--tmpfs", str(ROOT)]
        # a folder that only root may enter is made anew, for all
        for prefix in sorted({sys.base_prefix, sys.prefix}):
            for above in [*Path(prefix).parents][-2::-1]:
                yield from ["--perms", "0755", "--dir", str(above)]
            yield from ["--ro-bind", prefix, prefix]
        for name in ("autograder", "opt"):
            yield from ["--bind", str(self.folder / name), f"/{name}"]
        # the whole of /proc: within a part of it, no namespace could have its own
        yield from ["--bind", "/proc", "/proc", "--dev", "/dev"]
        yield from ["--chdir", "/autograder", "--clearenv"]
        yield from ["--setenv", "PATH", f"{path}/opt/bin:/usr/bin:/bin:/usr/sbin:/sbin"]


def unpack(archive: Path, folder: Path) -> None:
    """As the program `unzip` does, which keeps what may be run."""
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(folder)
        for entry in opened.infolist():
            (folder / entry.filename).chmod(entry.external_attr >> 16)


def assert_specified(results: dict[str, Any]) -> None:
    """Results have the names, types and values of Gradescope's specification."""
    kinds = {"score": float, "max_score": float, "execution_time": int, "tests": list}
    kinds |= {"extra_data": dict}
    formats = {"text", "html", "simple_format", "md", "ansi"}
    top = {"score", "execution_time", "output", "output_format", "visibility", "extra_data"}
    top |= {"test_output_format", "test_name_format", "stdout_visibility", "tests"}
    of_test = {"score", "max_score", "status", "name", "number", "output", "visibility"}
    assert results.keys() <= top
    for part, names in ((results, top), *((test, of_test) for test in results["tests"])):
        assert part.keys() <= names
        assert all(isinstance(value, kinds.get(name, str)) for name, value in part.items())
        assert part["visibility"] == "visible"
        assert part.get("status", "passed") in ("passed", "failed")
        assert {value for name, value in part.items() if name.endswith("format")} <= formats
        assert ("score" in part) == ("max_score" in part) or part is results
    assert results["stdout_visibility"] == "hidden"


@pytest.fixture(scope="module")
def lesson(tmp_path_factory):
    path = tmp_path_factory.mktemp("lesson") / "solutions" / "01_small.py"
    path.parent.mkdir()
    path.write_text(TEXT, encoding="utf-8")
    return read_lesson(path)


@pytest.fixture(scope="module")
def archive(lesson, tmp_path_factory):
    """Its zip; cells get little time."""
    path = tmp_path_factory.mktemp("zip") / "small.zip"
    package.write(lesson, Settings(timeout=2), path)
    return path


@pytest.fixture(scope="module")
def gradescope(lesson, archive, tmp_path_factory):
    """An image that is built."""
    started = Gradescope(tmp_path_factory.mktemp("gradescope"), lesson)
    started.build(archive)
    return started


# --- the zip ------------------------------------------------------------------------------


def test_the_zip_holds_hidden_tests_in_one_file_and_no_solution(archive):
    with zipfile.ZipFile(archive) as opened:
        texts = {name: opened.read(name).decode() for name in opened.namelist()}
    assert {"setup.sh", "run_autograder", LESSON} <= texts.keys()
    assert [name for name, text in texts.items() if SECRET in text] == [LESSON]
    assert not any("return x + x" in text for text in texts.values())
    folders = {Path(name).parts[2] for name in texts if name.startswith("course/autograder/")}
    assert not folders & {"answers", "tests", "classroom", "reports"}
    assert not any("__pycache__" in name for name in texts)


def test_the_same_lesson_gives_the_same_zip(lesson, archive, tmp_path):
    package.write(lesson, Settings(timeout=2), tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == archive.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["again.zip"]


def test_scripts_are_sound_and_can_be_run(archive, tmp_path):
    unpack(archive, tmp_path)
    for name in package.SCRIPTS:
        assert os.access(tmp_path / name, os.X_OK)
        subprocess.run(["bash", "-n", tmp_path / name], check=True)


def test_the_command_writes_it_and_says_what_to_set(lesson, tmp_path, capsys):
    to = str(tmp_path / "a.zip")
    with pytest.raises(SystemExit) as ended:
        cli.main(["gradescope", "01", "--to", to, "--hidden", "nothing"], lesson.course)
    said = capsys.readouterr().out
    assert ended.value.code == 0, said
    assert f"wrote {to}" in said
    assert "Autograder Points 3" in said
    assert "Manual Grading, a question `why` of 3 points" in said
    with zipfile.ZipFile(to) as opened:
        (tmp_path / LESSON).write_bytes(opened.read(LESSON))
    settings, released = read(tmp_path / LESSON)
    assert settings.hidden == "nothing"
    assert released.lesson == "01_small"
    with pytest.raises(SystemExit, match="is a folder: name a file"):
        cli.main(["gradescope", "--to", str(tmp_path)], lesson.course)


# --- the image ----------------------------------------------------------------------------


def test_setup_asks_for_the_pinned_packages(archive, lesson, tmp_path):
    asked = Gradescope(tmp_path, lesson).build(archive).splitlines()
    torch = next(
        line for line in (ROOT / "constraints.txt").read_text().splitlines() if "torch==" in line
    )
    assert asked[:2] == [
        "apt-get update",
        "apt-get install --yes --no-install-recommends make python3 python3-venv",
    ]
    index = "--extra-index-url https://download.pytorch.org/whl/cpu"
    assert asked[2:] == [
        f"install {index} {torch}",
        "install -c constraints.txt -e .[author,grade,colab]",
    ]
    assert (tmp_path / "opt/transformer-course/assets/transformer_course/__init__.py").exists()
    assert not (tmp_path / "opt/transformer-course" / LESSON).exists()


# --- submissions --------------------------------------------------------------------------


def test_all_right(gradescope):
    results = gradescope.grades(gradescope.answers(why="Since it is so."))
    assert results["score"] == 3
    double, half, why = results["tests"]
    assert (double["score"], double["max_score"], double["name"]) == (2, 2, "double")
    assert double["status"] == half["status"] == "passed"
    assert "score" not in why
    assert "A person marks what you wrote: up to 3 points." in why["output"]
    assert results["output"].splitlines() == [
        "3 of 3 points from tests.",
        "A person marks what you wrote, for up to 3 more: why.",
    ]
    assert "WEAKER" not in results["log"]
    assert "out of 20 points, and the lesson has checks 3, why 3" in results["log"]


def test_the_policy_decides_what_is_told_of_a_hidden_test():
    failed = Verdict("check_double", "double", Outcome.HIDDEN, 0, 2, "the sign stays", "below zero")
    told = {policy: tell(failed) for policy, tell in outcome.HIDDEN.items()}
    assert told == {
        "name": "What you see of the check passes, the hidden test “below zero: the sign stays” "
        "does not.",
        "nothing": "What you see of the check passes, a hidden test does not.",
    }


SPY = """
import os, socket, sys
seen = []
def attempt(path):
    try:
        print("LEAK", path, os.listdir(path) if os.path.isdir(path) else open(path).read(99))
    except OSError as error:
        print("refused")
def double(x):
    seen.append(x.tolist())
    print("user", os.getuid())
    for path in ("/autograder", "/autograder/source/lesson.json", "/autograder/results",
                 "/autograder/submission", "/autograder/submission_metadata.json", "/etc/passwd",
                 "/opt/transformer-course/Makefile", "/proc/1/environ",
                 f"/proc/{os.getppid()}/cmdline"):
        attempt(path)
    try:
        socket.socket()
        print("LEAK: a socket")
    except OSError:
        print("refused")
    return x + x + (x < 0)
"""


@pytest.mark.parametrize("namespaces", [True, False])
def test_a_spy_learns_nothing(gradescope, namespaces):
    """Neither of the grader's files, nor what the hidden test called it with."""
    half = "def half(x):\n    double(x)\n    raise ValueError(seen)"
    results = gradescope.grades(gradescope.answers(double=SPY, half=half), namespaces)
    double, half, _ = results["tests"]
    assert results["score"] == 0
    assert double["output"] == (
        "What you see of the check passes, the hidden test “numbers below zero: the sign stays” "
        "does not."
    )
    assert "[1.0, 20.0]" in half["output"], "what it was called with in the visible test"
    assert half["output"].count("refused") == 10
    assert "divide" in half["output"]
    students = json.dumps(results | {"log": ""})
    assert "LEAK" not in students
    assert SECRET not in students
    assert ("WEAKER SANDBOX" in results["log"]) == (not namespaces)
    (user,) = set(re.findall(r"user (\d+)", half["output"]))
    if os.getuid() == 0:  # the only one who can be another
        assert user == "1000" if namespaces else int(user) in SUBMISSIONS
    here = gradescope.folder / "autograder"
    assert stat.S_IMODE(here.stat().st_mode) & 0o077 == 0


KEEPS = """
import os
seen = []
places = [".", os.environ["HOME"], os.environ["TMPDIR"], "/tmp", "/var/tmp", "/dev/shm", "/run"]
def double(x):
    seen.append(abs(x).sum().item())
    for place in places:
        try:
            with open(f"{place}/kept", "a") as file:
                file.write(f"{seen} ")
        except OSError:
            pass
    return x + x
"""
TELLS = """
def half(x):
    for place in places:
        if os.path.exists(f"{place}/kept"):
            print("found", open(f"{place}/kept").read())
    kind = type(f"E{seen}\\n  hint         {seen}", (Exception,), {})
    raise kind(seen)
"""


@pytest.mark.parametrize("namespaces", [True, False])
def test_what_a_spy_saw_in_hidden_tests_leads_nowhere(gradescope, namespaces):
    """Neither through files, of one run to the next, nor through how its process ended."""
    own = "print(seen)\nraise type(f'{seen}', (Exception,), {})(seen)"
    ends = "os._exit(int(100 * seen[-1]) % 256)"  # 13: of what only the hidden test calls with
    results = gradescope.grades(gradescope.answers(own, ends, double=KEEPS, half=TELLS), namespaces)
    assert results["score"] == 2
    double, half, _ = results["tests"]
    assert double["output"] == "Everything passes."
    assert "found [21.0] " in half["output"], "what it saw in the visible test"
    students = json.dumps(results | {"log": ""})
    assert SECRET.removeprefix("-") not in students
    assert "crashed: Python ended in a cell that is no exercise: what was" in results["output"]
    assert "exit code" not in students
    assert "exit code 13" in results["log"], "instructors see it"


def test_endless_loops_and_stubs_keep_the_other_points(gradescope):
    files = gradescope.answers(double="while True:\n    pass")
    results = gradescope.grades(files)
    assert [test.get("score") for test in results["tests"]] == [0, 1, None]
    assert "timed-out: stopped by the time limit: exercise_double" in results["output"]
    told = "It cannot run: the cell of `double` was stopped by the time limit. Fix that first."
    assert results["tests"][0]["output"] == told


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({}, "There is no notebook in what you handed in: hand in 01_small.ipynb."),
        ({"a.txt": "x"}, "There is no notebook in what you handed in: hand in 01_small.ipynb."),
        ({"a.ipynb": "{"}, "This cannot be graded: no JSON, or cut short: hand in the file again"),
        ({"a.ipynb": '{"nbformat": 4, "cells": []}'}, "This cannot be graded: none of the lesson"),
    ],
)
def test_what_cannot_be_graded_gets_one_message(gradescope, files, told):
    results = gradescope.grades(files)
    assert (results["score"], results["tests"]) == (0, [])
    assert results["output"].startswith(told)
    assert "Traceback" not in results["log"]


def test_a_grader_that_fails_says_so(gradescope, lesson, archive, tmp_path):
    broken = Gradescope(tmp_path, lesson)
    broken.build(archive)
    settings = tmp_path / "autograder/source" / LESSON
    settings.write_text(settings.read_text()[:99])
    results = broken.grades(broken.answers())
    assert results["output"].startswith("The grader could not run: ")
    assert "Traceback" in results["log"]
    (tmp_path / "opt/transformer-course/.venv/bin/python").write_text("#!/bin/sh\nexit 3")
    here = tmp_path / "autograder"
    (here / "results/results.json").unlink()
    broken.runs("/autograder/run_autograder")
    told = json.loads((here / "results/results.json").read_text())
    assert told == {"score": 0, "output": "The grader itself ended: please tell your instructor."}
