"""What is shipped, who imports whom, and which versions fit together."""

import re
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from autograder.paths import COURSE, ROOT
from autograder.tests.support.checkout import build_wheel, files, pins
from autograder.tests.support.imports import imported

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PINS = pins(ROOT / "constraints.txt")
# Colab's own Python and torch stand here: colab.txt says why they are not in it.
COLAB = pins(ROOT / "autograder/tests/colab.txt") | {"python": "3.13", "torch": "2.11.0"}

# PyPI's name -> the module's, where they differ
MODULES = {"ipython": "IPython", "scikit-learn": "sklearn"}
LESSONS_IMPORT = {"IPython", "matplotlib", "numpy", "sklearn", "torch", "transformer_course"}
PICTURES = {"transformer_course.figures", "matplotlib", "IPython"}


# --- the wheel ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


def test_the_wheel_is_pure_python(wheel: Path) -> None:
    assert wheel.name.endswith("-py3-none-any.whl")


def test_the_wheel_holds_the_kit_and_nothing_else(wheel: Path) -> None:
    """Every file of the kit's folder, data and scripts too; no solution, no answer, no test."""
    names = set(zipfile.ZipFile(wheel).namelist())
    shipped = {name for name in names if ".dist-info/" not in name}
    kit = files("--cached", "--others", "--exclude-standard", "assets/transformer_course")
    assert shipped == {path.removeprefix("assets/") for path in kit}
    assert "transformer_course/py.typed" in shipped
    assert any(re.fullmatch(r"transformer_course/misconceptions/.+\.jsonl", n) for n in shipped)
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


# --- the arrows: transformer_course <- lessons <- autograder ------------------------------


def strangers(folder: Path, root: Path, allowed: set[str]) -> list[str]:
    """The imports below `folder` that are neither Python's own nor `allowed`."""
    scripts = sorted(folder.rglob("*.py"))
    assert scripts, f"no Python below {folder}"
    known = allowed | sys.stdlib_module_names
    return [
        f"{script.relative_to(ROOT)} imports {name}"
        for script in scripts
        for name in imported(script, root)
        if name.split(".")[0] not in known
    ]


def test_the_kit_imports_only_itself_and_what_it_requires() -> None:
    required = {Requirement(text).name for text in PROJECT["dependencies"]}
    allowed = {MODULES.get(name, name) for name in required} | {"transformer_course"}
    assert strangers(COURSE.kit, COURSE.kit.parent, allowed) == []


def test_lessons_import_only_the_kit_and_what_students_know() -> None:
    assert strangers(COURSE.solutions, ROOT, LESSONS_IMPORT) == []


def test_no_picture_is_needed_to_check() -> None:
    scripts = sorted((COURSE.kit / "checks").rglob("*.py"))
    drawn = [
        f"{script.relative_to(ROOT)} imports {name}"
        for script in scripts
        for name in imported(script, COURSE.kit.parent)
        if any(f"{name}.".startswith(f"{picture}.") for picture in PICTURES)
    ]
    assert scripts
    assert drawn == []


# --- versions ----------------------------------------------------------------------------


def requirements() -> list[Requirement]:
    """What the project asks for with all its extras."""
    extras = PROJECT["optional-dependencies"].values()
    return [Requirement(text) for group in (PROJECT["dependencies"], *extras) for text in group]


def needed() -> set[str]:
    """Every package that the project with all its extras brings in, by canonical name."""
    seen: set[tuple[str, frozenset[str]]] = set()
    asked = requirements()
    while asked:
        requirement = asked.pop()
        one = (canonicalize_name(requirement.name), frozenset(requirement.extras))
        if one not in seen:
            seen.add(one)
            asked += children(requirement)
    return {name for name, _ in seen}


def children(requirement: Requirement) -> Iterator[Requirement]:
    """What an installed package requires in its turn, on this machine."""
    extras = requirement.extras or {""}
    for child in map(Requirement, metadata.requires(requirement.name) or []):
        if not child.marker or any(child.marker.evaluate({"extra": extra}) for extra in extras):
            yield child


@pytest.mark.parametrize("requirement", PROJECT["dependencies"])
def test_colab_s_versions_meet_the_kit_s_floors(requirement: str) -> None:
    floor = Requirement(requirement)
    assert floor.specifier.contains(COLAB[canonicalize_name(floor.name)])


def test_colab_s_python_will_do() -> None:
    assert SpecifierSet(PROJECT["requires-python"]).contains(COLAB["python"])


@pytest.mark.parametrize("requirement", requirements(), ids=str)
def test_each_requirement_is_pinned_to_a_version_that_fits(requirement: Requirement) -> None:
    assert requirement.specifier.contains(PINS[canonicalize_name(requirement.name)])


def test_everything_that_is_installed_is_pinned() -> None:
    # torch pins the GPU's libraries itself; the others are of another Python or system than ours
    elsewhere = re.compile("nvidia-|cuda-|triton|appnope|colorama|pywin")
    assert {name for name in needed() - PINS.keys() if not elsewhere.match(name)} == set()


def test_every_pinned_version_runs_on_the_oldest_python() -> None:
    oldest = PROJECT["requires-python"].removeprefix(">=") + ".0"
    packages = [d for d in metadata.distributions() if canonicalize_name(d.name) in PINS]
    # not every package says it, and another library's finder raises where there is none
    saying = [d for d in packages if "Requires-Python" in d.metadata]
    asked = {f"{d.name} {d.version}": d.metadata["Requires-Python"] for d in saying}
    assert asked
    assert {k: v for k, v in asked.items() if not SpecifierSet(v).contains(oldest)} == {}


# --- text --------------------------------------------------------------------------------


def test_no_file_names_a_folder_of_somebody_s_machine() -> None:
    # put together here, so that this file names none either
    folders = [f"{ROOT}/", "/".join(["", "work", ""]), "/".join(["", "tmp", "scratch"])]
    tracked = files()
    assert "pyproject.toml" in tracked
    named = [
        f"{path}: {folder}"
        for path in tracked
        for folder in folders
        if folder.encode() in (ROOT / path).read_bytes()
    ]
    assert named == []
