"""Matching: which cell is which of the lesson's, when tools dropped what nbgrader knows it by."""

import json
from functools import cache

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from autograder.authoring.lesson import Lesson, all_lessons, read_lesson
from autograder.authoring.notebook import graded_cells, source_notebook, student_version
from autograder.authoring.samples import filled, solved
from autograder.intake.matching import defines, match
from autograder.intake.order import in_order
from autograder.intake.reading import StudentCell, read
from autograder.intake.released import Released, ReleasedCell, fingerprint

LESSONS = [path.stem for path in all_lessons()]


@cache
def lesson_of(name: str) -> Lesson:
    (path,) = (path for path in all_lessons() if path.stem == name)
    return read_lesson(path)


@cache
def released_of(name: str) -> Released:
    """As a gradebook would tell it."""
    source = source_notebook(lesson_of(name))
    shown = student_version(source)
    cells = []
    for (grade_id, cell), as_shown in zip(
        graded_cells(source).items(), graded_cells(shown).values(), strict=True
    ):
        about = cell.metadata.nbgrader
        flags = about.locked, about.grade, about.solution, about.task
        sources = cell.source, as_shown.source
        cells.append(
            ReleasedCell(grade_id, cell.cell_type, *sources, *flags, about.get("points"), "")
        )
    names = [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in shown.cells]
    outline = [n or fingerprint(c.source) for n, c in zip(names, shown.cells, strict=True)]
    return Released(name, {}, tuple(cells), tuple(outline))


def stripped(name: str) -> tuple[NotebookNode, dict[str, int]]:
    """A solved lesson without metadata and ids, and where its cells are."""
    notebook = filled(lesson_of(name), solved(lesson_of(name)))
    places = {
        cell.metadata["nbgrader"]["grade_id"]: at
        for at, cell in enumerate(notebook.cells)
        if "nbgrader" in cell.metadata
    }
    for cell in notebook.cells:
        cell.metadata = NotebookNode()
        del cell["id"]
    return notebook, places


def data(notebook: NotebookNode) -> bytes:
    return json.dumps(notebook).encode()


@pytest.mark.parametrize("name", LESSONS)
def test_every_cell_of_every_lesson_is_known_without_metadata_and_ids(name):
    notebook, places = stripped(name)
    matching = match(read(data(notebook)).cells, released_of(name))
    assert matching.of == places
    assert matching.is_the_lesson
    assert in_order(matching) == ([*range(len(notebook.cells))], "")


@pytest.mark.parametrize("name", LESSONS)
def test_no_other_lesson_is_taken_for_it(name):
    for other in LESSONS:
        if other == name:
            continue
        whole = filled(lesson_of(other), solved(lesson_of(other)))
        for notebook in (whole, stripped(other)[0]):
            assert not match(read(data(notebook)).cells, released_of(name)).is_the_lesson, other


def test_an_exercise_of_the_same_name_does_not_make_it_the_lesson():
    own, other = LESSONS[:2]
    notebook = filled(lesson_of(other), solved(lesson_of(other)))
    name = next(cell.name for cell in released_of(own).cells if cell.solution)
    of_exercises = (c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("solution"))
    next(of_exercises).metadata["nbgrader"]["grade_id"] = name
    matching = match(read(data(notebook)).cells, released_of(own))
    assert name in matching.of
    assert not matching.is_the_lesson


@pytest.mark.parametrize("name", LESSONS)
def test_the_untouched_notebook_is_known_too(name):
    notebook = student_version(source_notebook(lesson_of(name)))
    order = {cell.name: at for at, cell in enumerate(released_of(name).cells)}
    for cell in notebook.cells:
        cell.metadata = NotebookNode()
        del cell["id"]
    matching = match(read(data(notebook)).cells, released_of(name))
    assert matching.of.keys() == order.keys()
    assert sorted(matching.of, key=matching.of.__getitem__) == [*order]


@pytest.mark.parametrize(
    ("source", "is_defined"),
    [
        ("def half(x):\n    return x", True),
        ("import math\nasync def half(x): ...", True),
        ("class half(Module): ...", True),
        ("half = 1", True),
        ("half: float = 1", True),
        ("whole, half = 2, 1", True),
        ("half, whole = 1, 2", True),
        ("other = half = 1", True),
        ("def half(  # never closed", True),
        ("half == 1", False),
        ("half(1)", False),
        ("print(half)", False),
        ("# half = 1", False),
        ("    half = 1", False),
        ("half_of = 1", False),
        ("def halfway(): ...", False),
        ("whole = half", False),
        ("whole = half == 1", False),
        ("from halves import half_of as whole", False),
    ],
)
def test_a_cell_defines_what_stands_at_the_beginning_of_a_line(source, is_defined):
    cell = StudentCell("", "code", source, {}, None)
    assert defines("half", cell) == is_defined


def test_notes_and_copies_of_a_check_do_not_take_its_place():
    name = LESSONS[0]
    notebook, places = stripped(name)
    at = places["check_softmax"]
    # a student's own test, made from the check's code
    notebook.cells[at:at] = [
        new_code_cell("\n".join(notebook.cells[at].source.split("\n")[:12]), id="mine"),
        new_code_cell("scores = torch.zeros(3)\nsoftmax(scores, 0)", id="more"),
    ]
    matching = match(read(data(notebook)).cells, released_of(name))
    assert matching.of == {n: p + 2 if p >= at else p for n, p in places.items()}


@pytest.mark.parametrize(
    "source",
    ["(" * 19_999, "a" * 19_999, "a, " * 6_000, "a = " * 4_000, "\n" * 19_999, "-" * 1_600_000],
)
def test_what_no_person_writes_harms_nobody(source):
    notebook, _ = stripped(LESSONS[0])
    notebook.cells += [new_code_cell(source, id=f"more-{number}") for number in range(3)]
    assert match(read(data(notebook)).cells, released_of(LESSONS[0])).is_the_lesson
