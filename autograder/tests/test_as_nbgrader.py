"""Grading gives what `nbgrader autograde` gives; where that is wrong, see the tests beside this.

`python -m pytest --all autograder/tests/test_as_nbgrader.py` compares the whole sample class and
every answer of the bank, in five minutes; without it, a few notebooks of each.
"""

import difflib
import html
import re
from typing import Any

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from autograder.authoring.answer_bank import Answer, read_answers
from autograder.authoring.lesson import Lesson
from autograder.authoring.notebook import as_text, graded_cells
from autograder.authoring.samples import filled, sample_class, solved
from autograder.gradebook.classroom import Classroom
from autograder.paths import COURSE
from autograder.tests.conftest import first_lesson
from autograder.tests.support.nbgrader_parity import gradebook_of, graded_by_both, plain, shown

SAMPLED = ["perfect", "partly_right", "broken_syntax", "infinite_loop", "bank-24"]


def packed(lesson: Lesson, bank: list[Answer]) -> dict[str, NotebookNode]:
    """Few notebooks that hold all answers: the k-th of each exercise in the k-th notebook.

    A cell of the student's after an exercise's checks solves it, so that no answer harms another.
    """
    answers = {cell.name: [a for a in bank if a.exercise == cell.name] for cell in lesson.cells}
    notebooks = {}
    for k in range(max(map(len, answers.values()))):
        chosen = [of_one[k] for of_one in answers.values() if k < len(of_one)]
        solution = solved(lesson)
        notebook = filled(lesson, solution | {a.exercise: a.source for a in chosen})
        for answer in chosen:
            names = [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in notebook.cells]
            after = names.index(lesson.checks_of(answer.exercise)[-1].grade_id) + 1
            identifier = f"solved-{answer.exercise.replace('_', '-')}"
            cell = new_code_cell(solution[answer.exercise], id=identifier)
            notebook.cells.insert(after, cell)
        notebooks[f"bank-{k:02}"] = notebook
    return notebooks


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A class that got lesson 1."""
    instructor = first_lesson(tmp_path_factory.mktemp("both"))
    code, said = instructor.types("release")
    assert code == 0, said
    return instructor


@pytest.fixture(scope="module")
def bank(released):
    """Lesson 1's answers."""
    return read_answers(COURSE.answers / released.lesson.path.name, released.lesson)


@pytest.fixture(scope="module")
def bank_notebooks(released, bank):
    """All of them, in few notebooks."""
    return packed(released.lesson, bank)


@pytest.fixture(scope="module")
def both(released, bank, bank_notebooks, everything):
    """The sample class and one that hands in the bank, or a few of each, graded."""
    notebooks = sample_class(released.lesson, bank) | bank_notebooks
    for student in notebooks if everything else SAMPLED:
        released.receives(student, as_text(notebooks[student]))
    return graded_by_both(released, "--timeout", "2")


def test_every_answer_of_the_bank_is_in_a_notebook(bank, bank_notebooks):
    held = {cell.source for notebook in bank_notebooks.values() for cell in notebook.cells}
    assert [answer for answer in bank if answer.source not in held] == []
    assert len(bank_notebooks) < len(bank) / 4


def test_points_and_comments_are_nbgraders(both):
    lesson = both.ours.lesson.name
    ours, nbgraders = (Classroom.open(c.folder) for c in (both.ours, both.nbgraders))
    assert both.failed == ()
    for student in both.students:
        expected = gradebook_of(nbgraders, lesson, student)
        assert (student, gradebook_of(ours, lesson, student)) == (student, expected)


def test_each_answer_of_the_bank_is_judged_justly(both, bank):
    lesson = both.ours.lesson
    classroom, judged = Classroom.open(both.ours.folder), 0
    for student in both.students:
        if not student.startswith("bank-"):
            continue
        scores = gradebook_of(classroom, lesson.name, student)
        sources = graded_cells(nbformat.read(both.ours.file("submitted", student), as_version=4))
        for answer in bank:
            if sources[f"exercise_{answer.exercise}"].source == answer.source:
                checks = lesson.checks_of(answer.exercise)
                earned = [scores[check.grade_id][0] == check.points for check in checks]
                assert all(earned) == answer.right, (student, answer)
                judged += 1
    assert judged >= 4


def test_autograded_notebooks_are_nbgraders(both):
    differing = {}
    for student in both.students:
        ours, nbgraders = (
            nbformat.read(classroom.file("autograded", student), as_version=4)
            for classroom in (both.ours, both.nbgraders)
        )
        for name in ("kernelspec", "language_info"):
            assert ours.metadata[name] == nbgraders.metadata[name]
        for number, pair in enumerate(zip(ours.cells, nbgraders.cells, strict=True)):
            one, other = map(told, pair)
            if one != other:
                differing[student, number] = one, other
    assert differing == {}


def told(cell: NotebookNode) -> dict[str, Any]:
    """What counts of a cell; its id and what editors note about it do not."""
    parts = {name: cell.get(name) for name in ("cell_type", "source", "execution_count")}
    return parts | {"nbgrader": cell.metadata.get("nbgrader"), "outputs": shown(cell)}


def test_feedback_is_nbgraders(both):
    differing = {}
    for student in both.students:
        ours, nbgraders = (
            lines_of(classroom.file("feedback", student).with_suffix(".html").read_text("utf-8"))
            for classroom in (both.ours, both.nbgraders)
        )
        if ours != nbgraders:
            differing[student] = list(difflib.unified_diff(nbgraders, ours, lineterm="", n=0))
    assert differing == {}


def lines_of(page: str) -> list[str]:
    """What a page says, line by line."""
    text = html.unescape(re.sub(r"(?s)<(style|script)\b.*?</\1>|<[^>]*>", "", page))
    lines = [plain(line.strip(), drawn=True) for line in text.split("\n")]
    return [line for line in lines if line]
