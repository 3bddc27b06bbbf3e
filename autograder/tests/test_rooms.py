"""The map of the code is true: each room imports only rooms on lower floors, none in a circle."""

import graphlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.paths import COURSE, ROOT
from autograder.tests.support.imports import Graph, module_graph

MOST_FLOORS = 9
# From the ground up, as in CONTRIBUTING.md. A room is a package, or a module that stands alone.
FLOORS = (
    (
        "transformer_course.checks",
        "transformer_course.data",
        "transformer_course.figures",
        "autograder.errors",
        "autograder.paths",
    ),
    (
        "transformer_course.progress",
        "transformer_course.widgets",
        "autograder.execution.isolation",
    ),
    ("autograder.execution",),
    ("autograder.authoring",),
    ("autograder.intake", "autograder.similarity", "autograder.site"),
    ("autograder.gradebook",),
    ("autograder.feedback", "autograder.exporting"),
    ("autograder.gradescope",),
    ("autograder.commands",),
)
FLOOR = {room: number for number, floor in enumerate(FLOORS, 1) for room in floor}
# part of a room, but outside its package, whose import takes torch
ANNEXES = {"transformer_course.failure": "transformer_course.checks"}
# what is started, and imported by nothing
STARTED = (
    "autograder.__main__",
    "autograder.bench",
    "autograder.classroom",
    "autograder.install",
)
# text that is not part of the program: lessons' answers, and what `new` copies
DATA = {"tests", "answers", "templates"}
# packages that hold rooms and no code
EMPTY = ("autograder", "transformer_course")


def sources(folder: Path) -> Iterator[Path]:
    """The Python files of a package that are part of the program."""
    for file in sorted(folder.rglob("*.py")):
        if not DATA & set(file.relative_to(folder).parts):
            yield file


GRAPH = module_graph(
    dict.fromkeys(sources(ROOT / "autograder"), ROOT)
    | dict.fromkeys(sources(COURSE.kit), COURSE.kit.parent)
)


def room(module: str) -> str:
    """The room that a module is in: the longest name of one that begins the module's."""
    if module in ANNEXES:
        return ANNEXES[module]
    rooms = [name for name in (*FLOOR, *STARTED, *EMPTY) if f"{module}.".startswith(f"{name}.")]
    return max(rooms, key=len)


def arrows(graph: Graph) -> Iterator[tuple[str, str]]:
    """Each module and each module that it imports from another room."""
    for module in sorted(graph):
        for other in sorted(graph[module]):
            if room(module) != room(other) and other not in EMPTY:
                yield module, other


def upward(graph: Graph) -> list[str]:
    """The imports that do not go to a lower floor."""
    top = len(FLOORS) + 1
    return [
        f"{module} imports {other}"
        for module, other in arrows(graph)
        if FLOOR.get(room(other), top) >= FLOOR.get(room(module), top)
    ]


def circle(graph: Graph) -> list[str]:
    """The modules of one circle of imports, if there is any."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as found:
        return found.args[1]
    return []


def test_every_module_is_in_a_room_and_every_room_has_one() -> None:
    assert {module for module in GRAPH if room(module) in EMPTY} == set(EMPTY)
    assert {room(module) for module in GRAPH} - {*STARTED} == {*FLOOR, *EMPTY}


def test_each_room_imports_only_rooms_on_lower_floors() -> None:
    assert upward(GRAPH) == []


def test_no_imports_run_in_a_circle() -> None:
    assert circle(GRAPH) == []


def test_there_are_few_floors() -> None:
    assert len(FLOORS) <= MOST_FLOORS


@pytest.mark.parametrize(
    ("module", "other"),
    [
        ("autograder.execution.executor", "autograder.gradebook.pool"),
        ("autograder.feedback.page", "autograder.exporting.export"),
        ("autograder.gradebook.pool", "autograder.bench.classes"),
        ("transformer_course.checks.check", "autograder.paths"),
    ],
)
def test_an_import_of_a_higher_or_equal_floor_is_found(module: str, other: str) -> None:
    assert upward({module: {other}}) == [f"{module} imports {other}"]


def test_a_circle_is_found() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})


def test_imports_in_functions_and_for_type_checkers_count(tmp_path: Path) -> None:
    package = tmp_path / "p"
    package.mkdir()
    (package / "__init__.py").write_text("from p.a import x\n")
    (package / "a.py").write_text("import os\nif TYPE_CHECKING:\n    from .b import B\n")
    (package / "b.py").write_text("def f():\n    from p import a, unknown\n")
    graph = module_graph(dict.fromkeys(package.glob("*.py"), tmp_path))
    assert graph == {"p": {"p.a"}, "p.a": {"p.b"}, "p.b": {"p.a", "p"}}


def test_the_map_in_contributing_has_these_floors() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d) \| `([^`]+)` \|", text, re.MULTILINE)
    drawn = {(int(floor), name.strip("/").replace("/", ".")) for floor, name in rows}
    assert drawn == {(floor, name.removeprefix("autograder.")) for name, floor in FLOOR.items()}
