"""Repair: what students and their editors do to a notebook, and what is made of it."""

import json
import pickle
from collections.abc import Iterator
from typing import Any

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell
from nbgrader.api import SourceCell
from nbgrader.converters import Autograde
from nbgrader.nbgraderformat import MetadataValidator
from nbgrader.utils import compute_checksum, determine_grade
from sqlalchemy import text

from autograder.authoring.notebook import as_text, graded_cells, source_notebook
from autograder.authoring.samples import SAMPLES, filled, solved
from autograder.gradebook.classroom import Classroom
from autograder.gradebook.release import release
from autograder.gradebook.result import Task, key
from autograder.intake.reading import Unreadable
from autograder.intake.released import Released
from autograder.intake.repair import Repaired, repair
from autograder.paths import Course
from autograder.tests.conftest import SMALL, Instructor

ANSWER = "\n# %% answer why [markdown] points=3\n# BEGIN SOLUTION\nBecause.\n# END SOLUTION\n"


@pytest.fixture(scope="module")
def teacher(tmp_path_factory):
    """The small lesson with a written answer, released."""
    folder = tmp_path_factory.mktemp("answer")
    (folder / "solutions").mkdir()
    (folder / "solutions" / "01_small.py").write_text(SMALL + ANSWER, encoding="utf-8")
    instructor = Instructor(Course(folder), folder / "class")
    classroom = Classroom.open(instructor.folder)
    release(classroom, instructor.lesson)
    return instructor


@pytest.fixture(scope="module")
def lesson(teacher) -> Released:
    return Classroom.open(teacher.folder).released("01_small")


@pytest.fixture
def solution(teacher) -> NotebookNode:
    """A perfect notebook, for a test to spoil."""
    return filled(teacher.lesson, solved(teacher.lesson))


def names(notebook: NotebookNode) -> list[str]:
    return list(graded_cells(notebook))


def remove(notebook: NotebookNode, *deleted: str) -> None:
    gone = [graded_cells(notebook)[name] for name in deleted]
    notebook.cells = [cell for cell in notebook.cells if cell not in gone]


def repaired(notebook: NotebookNode, lesson: Released) -> Repaired:
    """Repaired from the notebook's file, and sound."""
    result = repair(json.dumps(notebook).encode(), lesson)
    nbformat.validate(result.notebook)
    MetadataValidator().validate_nb(result.notebook)
    return result


def by_nbgrader(notebook: NotebookNode, teacher: Instructor) -> NotebookNode:
    """What nbgrader's own sanitising makes of a notebook."""
    classroom = Classroom.open(teacher.folder)
    about = {"notebook": "01_small", "assignment": "01_small", "student": "ada"}
    course: Any = classroom.api.coursedir
    resources = {"nbgrader": {**about, "db_url": course.db_url}}
    notebook = nbformat.reads(as_text(notebook), as_version=4)
    for step in Autograde.class_traits()["sanitize_preprocessors"].default() or []:
        notebook, _ = step().preprocess(notebook, resources)
    return notebook


# --- what needs no repair ------------------------------------------------------------------


@pytest.mark.parametrize("student", ["perfect", "untouched", "colab_saved", "infinite_loop"])
def test_a_sound_notebook_is_as_nbgrader_would_have_it(teacher, lesson, student):
    handed_in = SAMPLES[student](teacher.lesson, [])
    handed_in.cells.insert(3, new_markdown_cell("a note"))
    ours, theirs = repaired(handed_in, lesson), by_nbgrader(handed_in, teacher)
    assert ours.repairs == ()
    assert ours.notebook.metadata.kernelspec == theirs.metadata.kernelspec
    for one, other in zip(ours.notebook.cells, theirs.cells, strict=True):
        for part in ("nbgrader", "deletable", "editable"):
            assert one.metadata.get(part) == other.metadata.get(part)
        for part in ("cell_type", "source", "outputs", "execution_count"):
            assert one.get(part) == other.get(part)
        if handed_in.nbformat_minor == 5:
            assert one.id == other.id


def test_what_is_released_is_all_that_grading_needs(teacher, lesson):
    assert [cell.name for cell in lesson.cells] == names(filled(teacher.lesson, {}))
    check = next(cell for cell in lesson.cells if cell.name == "check_double")
    assert "double(3) == 6" in check.source
    assert "double(3) == 6" not in check.shown
    assert (check.points, check.locked, check.grade, check.solution) == (2, True, True, False)
    assert pickle.loads(pickle.dumps(lesson)) == lesson
    # another prose is no reason to grade everyone again
    assert Released(lesson.lesson, lesson.kernelspec, lesson.cells).digest == lesson.digest
    assert [name for name in lesson.outline if len(name) < 64] == [c.name for c in lesson.cells]
    other = Released(lesson.lesson, lesson.kernelspec, lesson.cells[1:])
    assert other.digest != lesson.digest
    tasks = Task("ada", b"a"), Task("ada", b"b"), Task("ada", b"a", {"data.csv": b"1"})
    assert len({key(tasks[0], other), *(key(task, lesson) for task in tasks)}) == 4


def test_cells_are_in_the_lessons_order_whatever_the_gradebooks(teacher, lesson, tmp_path):
    classroom = Classroom.open(teacher.copy(tmp_path).folder)
    with classroom.gradebook as gradebook:
        # as PostgreSQL moves a row that is updated
        gradebook.db.execute(text("create table moved as select * from source_cell order by name"))
        gradebook.db.query(SourceCell).delete()
        gradebook.db.execute(text("insert into source_cell select * from moved"))
        gradebook.db.commit()
        stored: Any = gradebook.find_notebook("01_small", "01_small")
        assert [cell.name for cell in stored.source_cells] != [cell.name for cell in lesson.cells]
    assert classroom.released("01_small") == lesson


# --- what students do ----------------------------------------------------------------------


def test_of_copies_the_last_one_counts_and_the_others_run(solution, lesson):
    cells = graded_cells(solution)
    first = NotebookNode(cells["exercise_double"], source="double = 1", id="another")
    solution.cells.insert(0, first)
    solution.cells.insert(1, cells["check_double"])
    result = repaired(solution, lesson)
    assert names(result.notebook) == [cell.name for cell in lesson.cells]
    copies = result.notebook.cells[:2]
    assert [cell.source for cell in copies] == ["double = 1", cells["check_double"].source]
    assert ["nbgrader" in cell.metadata for cell in copies] == [False, False]
    assert graded_cells(result.notebook)["exercise_double"].source.startswith("def double")
    assert result.repairs == (
        "`exercise_double` is there 2 times: the last one counts",
        "`check_double` is there 2 times: the last one counts",
    )


@pytest.mark.parametrize(
    "deleted",
    [
        ["check_half"],
        ["given_setup"],
        ["given_setup", "check_double"],
        ["check_double", "check_half", "answer_why"],
        ["check_half", "answer_why"],
    ],
)
def test_deleted_cells_stand_at_their_place_again(solution, lesson, deleted):
    expected = graded_cells(repaired(solution, lesson).notebook)
    expected["answer_why"].source = next(c.source for c in lesson.cells if c.name == "answer_why")
    remove(solution, *deleted)
    result = repaired(solution, lesson)
    assert names(result.notebook) == [cell.name for cell in lesson.cells]
    known = {cell.name: cell for cell in lesson.cells}
    for name in deleted:
        cell = graded_cells(result.notebook)[name]
        assert cell == expected[name]
        assert compute_checksum(cell) == known[name].checksum
    in_order = [cell.name for cell in lesson.cells if cell.name in deleted]
    assert result.repairs == tuple(f"`{name}` was deleted: put back" for name in in_order)


def test_cells_are_put_back_behind_the_nearest_that_is_left(solution, lesson):
    remove(solution, "exercise_half", "check_half", "check_double")
    solution.cells.append(new_code_cell("last = True"))
    result = repaired(solution, lesson)
    assert names(result.notebook) == [
        "given_setup",
        "exercise_double",
        "check_double",
        "check_half",
        "answer_why",
    ]
    assert result.notebook.cells[-1].source == "last = True"
    assert "`exercise_half` was deleted: left out, but its checks count" in result.repairs


def test_a_deleted_answer_is_no_answer(solution, lesson):
    remove(solution, "answer_why")
    answer = graded_cells(repaired(solution, lesson).notebook)["answer_why"]
    assert determine_grade(answer) == (0, 3)


@pytest.mark.parametrize(
    ("name", "change", "what"),
    [
        ("check_double", {"source": "pass"}, "text"),
        ("given_setup", {"source": "pass"}, "text"),
        ("check_double", {"cell_type": "markdown"}, "type"),
        ("exercise_half", {"cell_type": "raw"}, "type"),
        ("answer_why", {"cell_type": "code"}, "type"),
        ("check_double", {"points": 200}, "points"),
        ("answer_why", {"points": -1}, "points"),
        ("check_double", {"locked": False, "solution": True}, "role"),
        ("check_double", {"grade": False}, "role"),
        ("exercise_half", {"grade": True, "points": 50}, "role"),
        ("exercise_half", {"locked": True, "solution": False}, "role"),
        ("given_setup", {"task": True}, "role"),
    ],
)
def test_what_a_student_cannot_change_is_put_back(solution, lesson, name, change, what):
    expected = repaired(solution, lesson).notebook
    cell = graded_cells(solution)[name]
    for part, value in change.items():
        (cell if part in cell else cell.metadata.nbgrader)[part] = value
    result = repaired(solution, lesson)
    assert result.notebook == expected
    assert result.repairs == (f"`{name}` was changed ({what}): put back",)


def test_hidden_tests_that_stand_in_a_check_are_no_change(teacher, lesson):
    handed_in = source_notebook(teacher.lesson)
    assert "double(3) == 6" in graded_cells(handed_in)["check_double"].source
    assert repaired(handed_in, lesson).repairs == ()


def test_spaces_at_the_end_of_a_line_are_no_change(solution, lesson):
    graded_cells(solution)["check_double"].source += "  \n"
    assert repaired(solution, lesson).repairs == ()


def test_cells_of_another_lesson_are_plain_ones(solution, lesson):
    expected = repaired(solution, lesson).notebook
    other = NotebookNode(graded_cells(solution)["check_half"], source="1 / 0", id="other")
    other.metadata = {"nbgrader": {**other.metadata.nbgrader, "grade_id": "\x1b[31mcheck"}}
    solution.cells += [other, NotebookNode(other, id="more")]
    result = repaired(solution, lesson)
    assert result.notebook.cells[:-2] == expected.cells
    for cell in result.notebook.cells[-2:]:
        assert (cell.source, cell.metadata) == ("1 / 0", {})
    assert result.repairs == ("2 of nbgrader's cells not of this lesson: taken for plain ones",)


def test_only_the_text_of_a_cell_is_the_students(solution, lesson):
    expected = repaired(solution, lesson).notebook
    for cell in solution.cells:
        # nbclient runs no cell with this tag, and nbgrader gives all points to a check without
        # an error
        cell.metadata.tags = ["skip-execution"]
        cell.metadata.deletable = True
        if cell.cell_type == "code":
            cell.outputs = [{"output_type": "stream", "name": "stdout", "text": "100 points"}]
            cell.execution_count = 7
    solution.metadata = {"widgets": "none", "language": 5, "kernelspec": {"name": "bash"}}
    assert repaired(solution, lesson).notebook == expected


def test_a_pasted_image_stays_in_its_answer(solution, lesson):
    answer = graded_cells(solution)["answer_why"]
    answer.attachments = {"a.png": {"image/png": "iVBO"}, "b": {"application/json": [[1]]}}
    # left over when a cell was a written one
    graded_cells(solution)["exercise_half"].attachments = answer.attachments
    cells = graded_cells(repaired(solution, lesson).notebook)
    assert "attachments" not in cells["exercise_half"]
    assert cells["answer_why"].attachments == {"a.png": {"image/png": "iVBO"}, "b": {}}


# --- what editors do -----------------------------------------------------------------------


@pytest.mark.parametrize("minor", range(6))
def test_every_format_4_is_read(solution, lesson, minor):
    expected = repaired(solution, lesson).notebook
    solution.nbformat_minor = minor
    if minor < 5:
        for cell in solution.cells:
            del cell["id"]
    cells = repaired(solution, lesson).notebook.cells
    assert [c.source for c in cells] == [c.source for c in expected.cells]


@pytest.mark.parametrize("wanted", [None, "", "same", "a b", "x" * 65, 5, "new\n"])
def test_each_cell_gets_an_id_of_its_own_and_always_the_same(solution, lesson, wanted):
    for cell in solution.cells:
        cell["id"] = wanted
    result = repaired(solution, lesson)
    assert len({cell.id for cell in result.notebook.cells}) == len(solution.cells)
    assert repaired(solution, lesson) == result


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: text.replace("\\n", "\\r\\n").encode(),
        lambda text: text.encode("utf-8-sig"),
        lambda text: text.encode("utf-16"),
    ],
    ids=["Windows lines", "Windows lines in cells", "BOM", "UTF-16"],
)
def test_how_a_file_was_saved_changes_nothing(solution, lesson, damage):
    expected = repaired(solution, lesson)
    assert repair(damage(as_text(solution)), lesson) == expected


@pytest.mark.parametrize("version", [None, 0, 1, 2, 4, "3", 10**30])
def test_the_version_of_nbgraders_metadata_changes_nothing(solution, lesson, version):
    expected = repaired(solution, lesson)
    for cell in graded_cells(solution).values():
        about = cell.metadata.nbgrader
        for later in ("schema_version", "checksum", "cell_type", "task"):
            del about[later]
        if version is not None:
            about.schema_version = version
    assert repaired(solution, lesson) == expected


# --- what nobody can read ------------------------------------------------------------------

NO_JSON = "no JSON, or cut short: ask for the file again, as .ipynb"
UNSOUND = "JSON, but no sound notebook: ask for the file again, as .ipynb"
FOREIGN = "none of the lesson's cells: ask for the lesson's own notebook"


@pytest.mark.parametrize(
    ("data", "fix"),
    [
        (b"", "an empty file: ask for the file again"),
        (b" \r\n\x00", "an empty file: ask for the file again"),
        (b"PK\x03\x04\xff\x00", "no sound zip: ask for the notebook itself"),
        (b"\x1f\x8b\x08", NO_JSON),
        (b"\xff\xd8\xff\xe0", NO_JSON),
        (b"\n<!DOCTYPE html>", "a web page in place of a notebook: ask for the file itself"),
        (b'{"cells": [', NO_JSON),
        (b'{"nbformat": 4, "cells": [], "n": ' + b"9" * 5000 + b"}", NO_JSON),
        (b"null", UNSOUND),
        (b"[]", UNSOUND),
        (b"{}", UNSOUND),
        (b"[" * 100_000, UNSOUND),
        (b'{"nbformat": 4, "cells": 5}', UNSOUND),
        (b'{"nbformat": 4, "cells": [5]}', UNSOUND),
        (b'{"nbformat": 4, "cells": [{"cell_type": "code", "source": 5}]}', UNSOUND),
        (b'{"nbformat": 4, "cells": [{"cell_type": "heading", "source": ""}]}', UNSOUND),
        (b'{"nbformat": 5, "cells": []}', UNSOUND),
        (b'{"nbformat": [], "cells": []}', UNSOUND),
        (
            b'{"nbformat": 4, "cells": ['
            + b'{"cell_type": "raw"},' * 5000
            + b'{"cell_type": "raw"}]}',
            UNSOUND,
        ),
        (b'{"nbformat": 3, "worksheets": []}', "in an old notebook format: ask for the file again"),
        (b'{"nbformat": 4, "cells": []}', FOREIGN),
        (b'{"nbformat": 4, "cells": [{"cell_type": "code", "source": "x"}]}', FOREIGN),
        (b" " * 50_000_001, "larger than 50 MB: ask for the file again"),
    ],
)
def test_what_cannot_be_read_says_how_to_fix_it(lesson, data, fix):
    with pytest.raises(Unreadable) as why:
        repair(data, lesson)
    assert str(why.value).startswith(fix)
    assert "\n" not in str(why.value)


def deep(levels: int) -> list:
    return [deep(levels - 1)] if levels else []


POISON = [
    None,
    True,
    -1,
    10**400,
    float("nan"),
    float("inf"),
    "",
    "\ud800",
    [],
    ["a", 5],
    {},
    {"grade_id": {}},
    {"\ud800": "\udfff"},
    {"nbgrader": []},
    deep(200),
]


def branches(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Each place in a JSON tree: the list or dictionary, and the index or key in it."""
    keys = range(len(tree)) if isinstance(tree, list) else tree if isinstance(tree, dict) else ()
    for at in list(keys):
        yield tree, at
        yield from branches(tree[at])


@pytest.mark.parametrize("poison", POISON, ids=lambda value: str(value)[:12])
def test_whatever_stands_in_a_notebook_it_is_sound_or_unreadable(solution, lesson, poison):
    expected = repaired(solution, lesson).notebook
    sound = [cell.metadata.get("nbgrader") for cell in expected.cells]
    graded_cells(solution)["answer_why"].attachments = {"a.png": {"image/png": "iVBO"}}
    tree = json.loads(json.dumps(solution))
    read = 0
    for branch, at in branches(tree):
        before, branch[at] = branch[at], poison
        try:
            notebook = repair(json.dumps(tree).encode(), lesson).notebook
        except Unreadable:
            continue
        finally:
            branch[at] = before
        read += 1
        nbformat.validate(notebook)
        assert all(cell.metadata.get("nbgrader") in sound for cell in notebook.cells)
        as_text(notebook).encode()
        json.dumps(notebook, allow_nan=False)
    # what only nbgrader or an editor reads makes nothing unreadable
    assert read > 100
