"""The container file says what it must: its packages, what it leaves out, commands that exist."""

import re
import shlex
import subprocess

import pytest

from autograder.commands import cli
from autograder.execution import sandbox
from autograder.paths import CONTAINER, ROOT
from autograder.tests.support.checkout import files

TEXT = CONTAINER.read_text(encoding="utf-8")
HEAD, STEPS = TEXT.split("\nFROM ")
# docker's lines, put together where they go on in the next one
STEPS = [re.sub(r"\s+", " ", step) for step in f"FROM {STEPS}".replace("\\\n", " ").split("\n")]
IGNORED = CONTAINER.with_suffix(".dockerignore").read_text(encoding="utf-8").splitlines()


def test_it_installs_what_the_makefile_installs():
    """By the same targets: apt's packages for the sandbox, and constraints.txt."""
    (made,) = [step for step in STEPS if "make system tools" in step]
    arguments = made.partition("make ")[2].partition(" && ")[0]
    asked = subprocess.run(
        ["make", "-n", *shlex.split(arguments.replace("/opt/course", "/nowhere"))],
        check=True,
        cwd=ROOT,
        capture_output=True,
        text=True,
    ).stdout
    assert f"apt-get install --yes --no-install-recommends {' '.join(sandbox.NEEDED)}" in asked
    install = "/nowhere/bin/python autograder/install.py /nowhere"
    torch = rf"{install} --extra-index-url https://\S+/cpu torch==[\d.]+$"
    assert re.search(torch, asked, re.MULTILINE)
    assert f'{install} -c constraints.txt -e ".[author,grade,colab]"' in asked
    assert "COPY autograder/install.py autograder/" in STEPS[: STEPS.index(made)]
    assert "ENV PATH=/opt/course/bin:$PATH" in " ".join(STEPS)


def test_it_holds_what_grading_needs_and_no_students_work():
    copied = [step.split()[1:-1] for step in STEPS if step.startswith("COPY ")]
    names = {name for step in copied for name in step}
    assert {"assets", "autograder", "solutions", "pyproject.toml", "constraints.txt"} <= names
    tracked = files()
    assert all(any(path == n or path.startswith(f"{n}/") for path in tracked) for n in names)
    kept = IGNORED.index("!autograder/classroom/nbgrader_config.py")
    assert IGNORED.index("autograder/classroom/*") < kept
    assert STEPS.index("USER grader") < STEPS.index('ENTRYPOINT ["python", "-m", "autograder"]')


def test_the_command_in_its_head_is_one_that_the_grader_takes():
    commands = " ".join(line.lstrip("# ").rstrip("\\") for line in HEAD.split("\n"))
    (run,) = re.findall(r"docker run (.*?transformer-course .*?/class)\b", commands)
    options, _, typed = run.partition(" transformer-course ")
    mounted = re.findall(r'-v "\$PWD/class:(\S+)"', options)
    words = shlex.split(typed)
    assert cli.parser(words[0]).parse_args(words).classroom.as_posix() == mounted[0]
    for option in ("--network none", "--read-only", "--tmpfs /tmp", "--cap-drop ALL"):
        assert option in options
    (build,) = re.findall(r"docker build -f (\S+) -t transformer-course \.", commands)
    assert ROOT / build == CONTAINER


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_who_cannot_grade_here_is_sent_to_it(monkeypatch, system):
    monkeypatch.setattr("sys.platform", system)
    assert "autograder/Containerfile" in sandbox.refusal()
