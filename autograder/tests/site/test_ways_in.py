"""The ways into the course name what exists: repository, notebooks, what `make` installs."""

import json
import os
import re
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from autograder.authoring.notebook import repository_address
from autograder.commands import cli
from autograder.paths import CONTAINER, ROOT
from autograder.tests.support.checkout import pins

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
README = (ROOT / "README.md").read_text(encoding="utf-8")
NAME = repository_address().removeprefix("https://github.com/")
LESSON = "notebooks/01_dot_product_attention.ipynb"
CPU = "https://download.pytorch.org/whl/cpu"
BINDER = ROOT / ".binder"
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def asked_of_make(command: str, **variables: str) -> str:
    """What a `make` command would run where nothing is installed; an absent target fails."""
    make, *arguments = shlex.split(command.replace(".venv", ".absent"))
    assert make == "make"
    # as from a shell, also where `make test` has started this
    shell = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    asked = subprocess.run(
        ["make", "--dry-run", *arguments, "VENV=.absent"],
        check=True,
        cwd=ROOT,
        env=shell | variables,
        capture_output=True,
        text=True,
    )
    return asked.stdout


def devcontainer() -> dict[str, Any]:
    """What devcontainer.json says, without its comments."""
    text = (ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8")
    return json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE))


def workflow(path: Path) -> dict[str, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in workflow(path)["jobs"].values() for step in job["steps"]]


def python_of_workflows() -> str:
    """The Python of the workflows, which is the one that constraints.txt is written with."""
    said = {s["with"]["python-version"] for p in WORKFLOWS for s in steps(p) if "python" in str(s)}
    (version,) = said
    return version


# --- README ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    [
        f"https://colab.research.google.com/github/{NAME}/blob/main/{LESSON}",
        f"https://mybinder.org/v2/gh/{NAME}/main?urlpath=lab/tree/{LESSON}",
        f"https://codespaces.new/{NAME}",
    ],
    ids=["Colab", "Binder", "Codespaces"],
)
def test_a_badge_opens_the_first_lesson_of_this_repository(address: str) -> None:
    badges, _, _ = README.partition("\n\nAn interactive")
    assert f"]({address})" in badges


def test_readme_names_no_other_repository_and_no_absent_notebook() -> None:
    hosts = (
        r"colab\.research\.google\.com/github|mybinder\.org/v2/gh|codespaces\.new|git clone \S+com"
    )
    assert set(re.findall(rf"(?:{hosts})/([\w.-]+/[\w.-]+)", README)) == {NAME}
    notebooks = set(re.findall(r"notebooks/\w+\.ipynb", README))
    assert LESSON in notebooks
    assert [path for path in sorted(notebooks) if not (ROOT / path).exists()] == []


def test_what_readme_says_to_type_enters_the_folder_that_git_makes() -> None:
    (typed,) = re.findall(r"^git clone .*$", README, re.MULTILINE)
    clone, enter, make = typed.split(" && ")
    assert clone == f"git clone {repository_address()}"
    assert enter == f"cd {NAME.rpartition('/')[2]}"
    assert LESSON in asked_of_make(make)


# --- Binder ------------------------------------------------------------------------------------


def test_binder_installs_the_kit_and_the_pinned_versions_that_satisfy_it() -> None:
    text = (BINDER / "requirements.txt").read_text(encoding="utf-8")
    index, constraints, *packages = [
        line for line in text.splitlines() if line and not line.startswith("#")
    ]
    # PyPI's torch has CUDA, for which Binder has no room
    assert index == f"--extra-index-url {CPU}"
    option, path = constraints.split()
    assert option == "-c"
    assert (BINDER / path).resolve() == ROOT / "constraints.txt"
    # pip looks for this folder where it is started, which is the root
    assert packages == ["torch", "-e ."]
    pinned = pins(ROOT / "constraints.txt")
    for requirement in map(Requirement, PROJECT["dependencies"]):
        assert pinned[requirement.name] in requirement.specifier, requirement


def test_binder_asks_no_question_that_covers_the_lesson() -> None:
    script = BINDER / "postBuild"
    assert os.access(script, os.X_OK)
    (disable,) = re.findall(r"^jupyter labextension .*$", script.read_text(), re.MULTILINE)
    assert disable in asked_of_make("make .venv/.lab")


def test_all_ways_take_the_python_that_is_tested() -> None:
    version = python_of_workflows()
    assert version in SpecifierSet(PROJECT["requires-python"])
    assert (BINDER / "runtime.txt").read_text(encoding="utf-8").strip() == f"python-{version}"
    assert re.search(rf"/python:\d+-{re.escape(version)}-\w+$", devcontainer()["image"])
    assert f"/python:{version}-slim" in CONTAINER.read_text(encoding="utf-8")


# --- dev container -----------------------------------------------------------------------------


def test_the_dev_container_installs_what_make_lab_installs_for_the_cpu() -> None:
    config = devcontainer()
    installed = asked_of_make(config["postCreateCommand"], **config["containerEnv"])
    assert f"--extra-index-url {CPU} torch==" in installed
    started = asked_of_make("make lab", **config["containerEnv"])
    assert started.startswith(installed)
    (start,) = started.removeprefix(installed).splitlines()
    assert "-m jupyterlab" in start


def test_the_dev_container_opens_the_first_lesson_with_its_kernel() -> None:
    config = devcontainer()
    assert f"code {LESSON};" in config["postAttachCommand"]
    vscode = config["customizations"]["vscode"]
    assert "ms-toolsai.jupyter" in vscode["extensions"]
    folder, _, python = vscode["settings"]["python.defaultInterpreterPath"].partition("/")
    assert (folder, python) == ("${containerWorkspaceFolder}", ".venv/bin/python")


# --- workflows ---------------------------------------------------------------------------------


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_little_and_pins_the_actions_that_it_uses(path: Path) -> None:
    assert workflow(path)["permissions"] == {"contents": "read"}
    assert workflow(path)["concurrency"]
    used = [step["uses"] for step in steps(path) if "uses" in step]
    assert [action for action in used if not re.fullmatch(r"actions/[\w-]+@v\d+", action)] == []


def test_the_site_s_workflow_publishes_what_make_builds() -> None:
    path = ROOT / ".github" / "workflows" / "site.yml"
    jobs = workflow(path)["jobs"]
    (make,) = [step["run"] for step in steps(path) if "run" in step]
    asked = asked_of_make(make)
    assert f"--extra-index-url {CPU} torch==" in asked
    (upload,) = [s["with"]["path"] for s in steps(path) if "upload-pages" in s.get("uses", "")]
    (typed,) = re.findall(r"python -m autograder (.*)$", asked, re.MULTILINE)
    built = cli.parser("site").parse_args(shlex.split(typed)).output
    assert built.resolve() == ROOT / upload
    assert jobs["deploy"]["needs"] == "build"
    assert jobs["deploy"]["permissions"] == {"pages": "write", "id-token": "write"}
    assert "permissions" not in jobs["build"]
