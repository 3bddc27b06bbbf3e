"""`export`: CSV that nbgrader's users, Canvas and Moodle take as it is."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from nbgrader.plugins import CsvExportPlugin

from autograder.exporting import gradesheet
from autograder.exporting.gradesheet import Column, Score
from autograder.exporting.sheet import Sheet, number
from autograder.gradebook.classroom import Classroom
from autograder.tests.test_collect import zipped

CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,Notes,01 Small (77),Essay (78),Current Score,Final Score
,,,,,,Manual Posting,,,
    Points Possible,,,,,,3.00,10.00,(read only),(read only)
"Lovelace, Ada",17,s17,ada,CS 1,x,1.00,9.00,80,80
"Lee, Bo",18,s18,bo@example.edu,CS 1,,,8.00,80,80
"Zed, Zoë",19,s19,zoe,CS 1,,2.00,,80,80
"Student, Test",99,,abc,CS 1,,,,,
"""
WORKSHEET = """\
Identifier,"Full name","Email address","ID number",Status,Grade,"Maximum grade",\
"Grade can be changed","Last modified (submission)","Last modified (grade)","Feedback comments"
"Participant 901","Ada Lovelace",ada@example.edu,s17,Submitted,,3.00,Yes,-,-,"<p>ok, so</p>"
"Participant 902","Bo Lee",bo@example.edu,s18,"No submission",2.00,3.00,Yes,-,-,
"""


def rows(path: Path) -> list[list[str]]:
    """What a CSV file holds."""
    return [*csv.reader(io.StringIO(path.read_text(encoding="utf-8-sig"), ""))]


@pytest.fixture
def on_canvas(small, recorder, tmp_path):
    """17 and 18 handed in on Canvas, ada and bo otherwise; all but bo are graded."""
    notebook = small.file("submitted", "ada").read_bytes()
    files = {"lovelaceada_17_1_a.ipynb": notebook, "leebo_18_2_a.ipynb": notebook}
    zipped(files, tmp_path / "canvas.zip")
    assert small.types("collect", "01", str(tmp_path / "canvas.zip"))[0] == 0
    for student in ("17", "18", "ada"):
        small.types("grade", "--student", student)
    return small


@pytest.fixture
def on_moodle(small_class, recorder, tmp_path):
    """Ada Lovelace and Cleo handed in on Moodle, and are graded."""
    instructor = small_class.copy(tmp_path)
    instructor.receives("x")
    notebook = instructor.file("submitted", "x").read_bytes()
    instructor.file("submitted", "x").unlink()
    names = ("Ada Lovelace_901", "Cleo_903")
    files = {f"{name}_assignsubmission_file_/a.ipynb": notebook for name in names}
    zipped(files, tmp_path / "moodle.zip")
    assert instructor.types("collect", "01", str(tmp_path / "moodle.zip"))[0] == 0
    instructor.types("grade")
    return instructor


def written(folder: Path, text: str, encoding: str = "utf-8") -> str:
    """A list that an LMS exported."""
    path = folder / "list.csv"
    path.write_text(text, encoding=encoding, newline="")
    return str(path)


# --- nbgrader -------------------------------------------------------------------------------------


def test_it_is_what_nbgrader_writes(on_canvas):
    code, said = on_canvas.types("export")
    assert (code, "bo has no row for 01_small: not graded yet" in said) == (0, True)
    classroom = Classroom.open(on_canvas.folder)
    plugin = CsvExportPlugin(parent=classroom.api)
    plugin.to, plugin.student = str(on_canvas.folder / "theirs.csv"), ["17", "18", "ada"]
    with classroom.gradebook as gradebook:
        plugin.export(gradebook)
    ours, theirs = (rows(on_canvas.folder / name) for name in ("grades.csv", "theirs.csv"))
    assert ours[0] == theirs[0]
    assert sorted(ours) == sorted(theirs)


def test_a_name_is_no_formula_and_breaks_no_row(on_canvas):
    with Classroom.open(on_canvas.folder).gradebook as gradebook:
        names: dict[str, Any] = {"last_name": '=cmd|"/c calc", x', "first_name": "@A"}
        gradebook.update_or_create_student("17", **names)
    on_canvas.types("export")
    found = rows(on_canvas.folder / "grades.csv")
    assert {len(row) for row in found} == {11}
    assert found[1][4:6] == ['\'=cmd|"/c calc", x', "'@A"]


# --- Canvas ---------------------------------------------------------------------------------------


def test_canvas_own_list_is_filled_in(on_canvas, tmp_path):
    """The other assignments stay out of it, so that no newer grade is overwritten."""
    template = written(tmp_path, CANVAS)
    code, said = on_canvas.types("export", "--format", "canvas", "--gradebook", template)
    assert code == 0
    assert (on_canvas.folder / "canvas.csv").read_bytes().decode() == (
        "Student,ID,SIS User ID,SIS Login ID,Section,01 Small (77)\n"
        ",,,,,Manual Posting\n"
        "    Points Possible,,,,,3.00\n"
        '"Lovelace, Ada",17,s17,ada,CS 1,1.00\n'
        '"Lee, Bo",18,s18,bo@example.edu,CS 1,3\n'
        '"Zed, Zoë",19,s19,zoe,CS 1,2.00\n'
        '"Student, Test",99,,abc,CS 1,\n'
    ).replace("CS 1,1.00", "CS 1,3")
    # 17 comes before ada, whose login is in the same row
    assert f"ada has points, but no row in {template}" in said
    assert "bo has no row for 01_small: not graded yet" in said


def test_a_column_that_canvas_does_not_have_is_added(on_canvas, tmp_path):
    template = written(tmp_path, CANVAS.replace("01 Small (77)", "Homework 1 (77)"))
    _code, said = on_canvas.types("export", "--format", "canvas", "--gradebook", template)
    found = rows(on_canvas.folder / "canvas.csv")
    assert [row[5] for row in found] == ["01_small", "", "3", "3", "3", "", ""]
    assert "no column `01_small`: Canvas makes a new assignment, or name one: --column" in said


@pytest.mark.parametrize("name", ["Essay (78)", "Essay", "essay"])
def test_a_column_that_is_named(on_canvas, tmp_path, name):
    template = written(tmp_path, CANVAS)
    _code, said = on_canvas.types(
        *("export", "--format", "canvas", "--gradebook", template, "--column", name)
    )
    found = rows(on_canvas.folder / "canvas.csv")
    assert [row[5] for row in found] == ["Essay (78)", "", "10.00", "3", "3", "", ""]
    assert "`Essay (78)` counts 10.00 points there, the lesson 3: not scaled" in said


def test_a_column_that_there_is_not(on_canvas, tmp_path):
    template = written(tmp_path, CANVAS)
    options = ("--format", "canvas", "--gradebook", template, "--column", "Final Score")
    said = "no column `Final Score`: there are `01 Small (77)`, `Essay (78)`"
    assert on_canvas.types("export", *options) == (1, said)
    assert not (on_canvas.folder / "canvas.csv").exists()


def test_a_list_is_written_as_it_was_read(on_canvas, tmp_path):
    """Canvas's option for Excel: semicolons, commas in numbers, a mark of UTF-8."""
    text = CANVAS.replace(",", ";").replace("3.00", "3,00").replace("\n", "\r\n")
    template = written(tmp_path, text, "utf-8-sig")
    _code, said = on_canvas.types("export", "--format", "canvas", "--gradebook", template)
    found = (on_canvas.folder / "canvas.csv").read_bytes()
    assert found.startswith("\ufeffStudent;ID;".encode())
    assert found.count(b"\r\n") == found.count(b"\n") == 7
    assert "Lee; Bo;18;s18;bo@example.edu;CS 1;3\r\n" in found.decode().replace('"', "")
    assert "not scaled" not in said


def test_canvas_without_its_list_gets_a_new_assignment(on_canvas):
    _code, said = on_canvas.types("export", "--format", "canvas")
    assert rows(on_canvas.folder / "canvas.csv") == [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "01_small"],
        ["    Points Possible", "", "", "", "", "3"],
        ["lovelaceada", "17", "", "", "", "3"],
        ["leebo", "18", "", "", "", "3"],
        ["ada", "", "", "ada", "", "3"],
        ["bo", "", "", "bo", "", ""],  # not graded: no 0
    ]
    assert "Canvas creates an assignment for each column: to fill one, add --gradebook" in said


def test_what_is_no_list_of_canvas(on_canvas, tmp_path):
    for text, why in {
        "a,b\n1,2\n": "no columns ID and Section: take what Canvas's gradebook exports",
        "": f"{tmp_path}/list.csv is empty: export it again",
    }.items():
        template = written(tmp_path, text)
        found = on_canvas.types("export", "--format", "canvas", "--gradebook", template)
        assert found == (1, why)
    template = str(tmp_path / "list.csv")
    Path(template).write_bytes("Zoë".encode("utf-16"))
    _code, said = on_canvas.types("export", "--format", "canvas", "--gradebook", template)
    assert said == f"{template} is no CSV in UTF-8: export it again, and do not open it"


# --- Moodle ---------------------------------------------------------------------------------------


def test_moodles_worksheet_is_filled_in(on_moodle, tmp_path):
    template = written(tmp_path, WORKSHEET, "utf-8-sig")
    code, said = on_moodle.types("export", "--format", "moodle", "--gradebook", template)
    before, after = rows(Path(template)), rows(on_moodle.folder / "moodle.csv")
    assert code == 0
    assert (on_moodle.folder / "moodle.csv").read_bytes().startswith("\ufeffIdentifier,".encode())
    assert [row[5] for row in after] == ["Grade", "3", "2.00"]  # Bo keeps what Moodle has
    for row in before + after:
        row[5] = ""
    assert after == before
    assert f"Cleo has points, but no row in {template}" in said


def test_a_worksheet_in_another_language_needs_the_columns_name(on_moodle, tmp_path):
    text = WORKSHEET.replace("Identifier", "ID").replace("Participant", "Teilnehmer/in ")
    template = written(tmp_path, text.replace("Grade,", "Bewertung,"))
    options = ("export", "--format", "moodle", "--gradebook", template)
    code, said = on_moodle.types(*options)
    assert (code, said.startswith("no column `Grade`: there are `ID`, `Full name`")) == (1, True)
    assert said.endswith("name it with --column")
    assert on_moodle.types(*options, "--column", "Bewertung")[0] == 0
    assert [row[5] for row in rows(on_moodle.folder / "moodle.csv")] == ["Bewertung", "3", "2.00"]


def test_moodle_without_its_worksheet_gets_a_list_to_import(on_moodle, tmp_path):
    with Classroom.open(on_moodle.folder).gradebook as gradebook:
        for student in ("Ada Lovelace", "Bo Lee"):
            told: dict[str, Any] = {"email": f"{student.split()[0].lower()}@example.edu"}
            gradebook.update_or_create_student(student, **told)
    _code, said = on_moodle.types("export", "--format", "moodle")
    assert rows(on_moodle.folder / "moodle.csv") == [
        ["Full name", "Email address", "ID number", "01_small"],
        ["Ada Lovelace", "ada@example.edu", "", "3"],
        ["Cleo", "", "", "3"],
    ]  # without Bo Lee: Moodle takes an empty cell for no grade, and would delete one
    assert "Cleo has no e-mail address or ID number here: pass Moodle's worksheet" in said


# --- what cannot be done --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--gradebook", "x.csv"], "--gradebook and --column need `--format canvas` or"),
        (["--format", "canvas", "--gradebook", "x.csv", "--to", "./x.csv"], "would be overwritten"),
        (["--format", "canvas", "--gradebook", "none.csv"], "No such file or directory: none.csv"),
    ],
)
def test_what_cannot_be_done_is_told(small, options, why):
    code, said = small.types("export", *options)
    assert (code, why in said) == (1, True), said


def test_a_key_that_two_rows_have_fills_neither():
    """A number that is one student's in Moodle's first column, and another's ID number."""
    sheet = Sheet(
        [
            ["Identifier", "ID number", "Grade", "Last modified (grade)"],
            ["Participant 5", "9", "", ""],
            ["Participant 9", "5", "", ""],
            ["Participant 6", "", "", ""],
        ]
    )
    scores = Score("ada", 1.0, ("5",)), Score("bo", 2.0, ("6",)), Score("cleo", 3.0, ())
    filled = gradesheet.into_moodle(sheet, Column("01", 3, scores))
    assert [row[2] for row in filled.sheet.rows[1:]] == ["", "", "2"]
    assert filled.unmatched == ("ada", "cleo")


@pytest.mark.parametrize(
    ("keys", "grades", "unmatched"),
    [
        # mallory typed ada's number; ada is known by her address, which comes first
        ({"mallory": ("m@b.org", "6"), "ada": ("a@b.org", "6")}, "2", ("mallory",)),
        ({"ada": ("a@b.org", "6"), "mallory": ("m@b.org", "6")}, "2", ("mallory",)),
        ({"mallory": ("m@b.org", "6"), "ada": ("", "6")}, "", ("mallory", "ada")),
    ],
)
def test_a_row_that_two_claim_is_the_better_known_ones_or_nobodys(keys, grades, unmatched):
    sheet = Sheet(
        [
            ["Identifier", "Email address", "Grade", "Last modified (grade)"],
            ["Participant 6", "a@b.org", "", ""],
        ]
    )
    points = {"mallory": 3.0, "ada": 2.0}
    scores = tuple(Score(student, points[student], keys[student]) for student in keys)
    filled = gradesheet.into_moodle(sheet, Column("01", 3, scores))
    assert filled.sheet.rows[1][2] == grades
    assert filled.unmatched == unmatched


@pytest.mark.parametrize(
    ("points", "cell"), [(None, ""), (0.0, "0"), (2.5, "2.5"), (1 / 3, "0.3333")]
)
def test_points_in_a_cell(points, cell):
    assert number(points) == cell
