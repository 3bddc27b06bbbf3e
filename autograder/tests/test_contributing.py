"""What contributors are told is true: links, commands, versions, hooks and forms."""

import re
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from autograder.commands import cli
from autograder.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "autograder").glob("*.md"))]
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
TEMPLATES = ROOT / ".github" / "ISSUE_TEMPLATE"
FORMS = sorted(form for form in TEMPLATES.glob("*.yml") if form.name != "config.yml")


def text(path: str | Path) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def parsed(path: str | Path) -> Any:
    return yaml.safe_load(text(path))


def anchors(page: Path) -> set[str]:
    """What a link can point to: each heading, as GitHub names it."""
    headings = re.findall(r"^#+ (.+)$", text(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@each_page
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text(page)):
        name, _, anchor = link.partition("#")
        if not link.startswith("http"):
            target = page.parent / name if name else page
            if not target.exists() or (anchor and anchor not in anchors(target)):
                broken.append(link)
    assert broken == []


@each_page
def test_every_make_that_is_named_is_a_target(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):.*## ", text("Makefile"), re.MULTILINE))
    lines = re.findall(r"(?:^|`)make ([a-z -]+)", text(page), re.MULTILINE)
    assert {word for line in lines for word in line.split()} <= targets


@each_page
def test_every_command_that_is_named_exists(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    commands = re.findall(r"^ +([a-z]+)  +\w", capsys.readouterr().out, re.MULTILINE)
    assert set(re.findall(r"python -m autograder ([a-z]+)", text(page))) <= set(commands)


def test_files_in_contributing_exist() -> None:
    named = re.findall(
        r"`((?:autograder|assets|solutions|notebooks)/[^`]*)`", text("CONTRIBUTING.md")
    )
    patterns = {
        name.replace("NN_name", "??_*").replace("NAME", "mask").rstrip("/") for name in named
    }
    assert len(patterns) > 8
    assert [pattern for pattern in sorted(patterns) if not list(ROOT.glob(pattern))] == []


def test_the_repository_is_the_one_of_pyproject() -> None:
    repository = PROJECT["urls"]["Repository"]
    (link,) = parsed(".github/ISSUE_TEMPLATE/config.yml")["contact_links"]
    assert link["url"].startswith(f"{repository}/security/")


def test_the_changelog_begins_with_the_current_version() -> None:
    versions = re.findall(
        r"^## (\S+) \((unreleased|\d{4}-\d\d-\d\d)\)$", text("CHANGELOG.md"), re.M
    )
    assert versions[0][0] == PROJECT["version"]
    assert [when for _, when in versions[1:] if when == "unreleased"] == []


def test_the_workflow_runs_what_everyone_runs() -> None:
    (job,) = parsed(".github/workflows/ci.yml")["jobs"].values()
    assert job["steps"][-1] == {"run": ".ci/run"}
    assert parsed(".github/workflows/ci.yml")["permissions"] == {"contents": "read"}


def test_hooks_run_programs_of_the_environment() -> None:
    (repository,) = parsed(".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    for hook in repository["hooks"]:
        assert hook["language"] == "system"
        program = hook["entry"].removeprefix("bash -c '").split()[0]
        assert shutil.which(program, path=str(Path(sys.executable).parent))


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_issue_forms_are_what_github_takes(form: Path) -> None:
    about = parsed(form)
    assert {"name", "description", "body"} <= about.keys()
    assert len({field["id"] for field in about["body"]}) == len(about["body"])
    for field in about["body"]:
        assert field["type"] in {"input", "textarea", "dropdown"}
        assert field["attributes"]["label"]
