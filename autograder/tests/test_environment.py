"""`environment.yml`, the conda way in, asks for exactly what `pyproject.toml` asks for."""

import tomllib
from collections.abc import Iterable

import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from autograder.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CONDA = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
# PyPI's name -> conda-forge's; matplotlib-base is matplotlib without a desktop toolkit
RENAMED = {"matplotlib": "matplotlib-base", "torch": "pytorch"}


def floors(requirements: Iterable[str]) -> dict[str, SpecifierSet]:
    """What is asked of each package, all in all."""
    asked: dict[str, SpecifierSet] = {}
    for requirement in map(Requirement, requirements):
        name = RENAMED.get(requirement.name, requirement.name)
        asked[name] = asked.get(name, SpecifierSet()) & requirement.specifier
    return asked


def test_the_packages_are_those_of_the_kit_and_of_the_lab() -> None:
    wanted = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["lab"]]
    wanted += [f"python{PROJECT['requires-python']}", "pip"]
    listed = [entry for entry in CONDA["dependencies"] if isinstance(entry, str)]
    assert floors(listed) == floors(wanted)
    assert len(listed) == len(floors(listed)), "a package stands there twice"


def test_pip_installs_the_kit_alone() -> None:
    assert [entry for entry in CONDA["dependencies"] if isinstance(entry, dict)] == [
        {"pip": ["-e ."]}
    ]


def test_the_environment_has_the_project_s_name() -> None:
    assert CONDA["name"] == PROJECT["name"]
