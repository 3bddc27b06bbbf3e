"""`collect`: downloads as Canvas, Moodle and Gradescope name them, and what strangers put in."""

import io
import os
import re
import stat
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from autograder.authoring.notebook import as_text
from autograder.authoring.samples import filled, solved
from autograder.gradebook.classroom import Classroom
from autograder.gradebook.result_store import MARK
from autograder.intake import archive, metadata, naming
from autograder.intake.archive import Piece, Rejected

LESSON = "01_small"


@pytest.fixture
def solution(small_class):
    """The lesson, solved."""
    return as_text(filled(small_class.lesson, solved(small_class.lesson))).encode()


@pytest.fixture
def classroom(small_class, tmp_path):
    """A small lesson, released, and handed in by nobody yet."""
    return small_class.copy(tmp_path)


def zipped(files: Mapping[str, Any], to: Path | None = None) -> bytes:
    """A zip of these files; on the disk as well, if `to` says where."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as written:
        for name, content in files.items():
            about = zipfile.ZipInfo(name, (2026, 9, 1, 12, 0, 0))
            written.writestr(about, content, zipfile.ZIP_DEFLATED)
    if to:
        to.write_bytes(data.getvalue())
    return data.getvalue()


def counts(said: str) -> list[int]:
    """Collected, replaced, unchanged, late, refused: the table at the end."""
    row = [line for line in said.splitlines() if re.fullmatch(r"│(\s*\d+\s*│){5}", line)]
    return [int(number) for number in re.findall(r"\d+", row[0])]


def in_place(classroom, student: str) -> dict[str, bytes]:
    """What lies where a student's submission is graded."""
    folder = classroom.file("submitted", student).parent
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def students(classroom) -> dict[str, dict[str, str]]:
    """What the gradebook tells of each student."""
    with Classroom.open(classroom.folder).gradebook as gradebook:
        return {str(student.id): student.to_dict() for student in gradebook.students}


# --- naming schemes -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "student", "key", "file", "late", "number"),
    [
        ("lovelaceada_17_501_01_small.ipynb", "17", "17", "01_small.ipynb", False, 501),
        ("lovelaceada_LATE_17_501_01_small-1.ipynb", "17", "17", "01_small-1.ipynb", True, 501),
        ("delacruz_jr_17_501_a_2_b.ipynb", "17", "17", "a_2_b.ipynb", False, 501),
        ("anon_Xy12z_501_a.ipynb", "anon_Xy12z", "anon_Xy12z", "a.ipynb", False, 501),
        ("LATE_anon_Xy12z_501_a.ipynb", "anon_Xy12z", "anon_Xy12z", "a.ipynb", True, 501),
        ("lovelaceada_17_text.html", "17", "17", "", False, 0),
        ("anon_Xy12z_501_02_a.ipynb", "anon_Xy12z", "anon_Xy12z", "02_a.ipynb", False, 501),
        ("late_17_501_a.ipynb", "17", "17", "a.ipynb", False, 501),
    ],
)
def test_canvas_names(path, student, key, file, late, number):
    (owner,) = naming.canvas(path)
    assert (owner.student, owner.key, owner.file) == (student, key, file)
    assert (owner.late, owner.number) == (late, number)


@pytest.mark.parametrize(
    ("path", "student", "key", "file"),
    [
        ("Ada Lovelace_9_assignsubmission_file_/a.ipynb", "Ada Lovelace", "9", "a.ipynb"),
        ("Ada Lovelace_9_assignsubmission_file/x/a.ipynb", "Ada Lovelace", "9", "x/a.ipynb"),
        ("Ada Lovelace_9_assignsubmission_file_a_b.ipynb", "Ada Lovelace", "9", "a_b.ipynb"),
        ("Ada_9_assignsubmission_onlinetext_/onlinetext.html", "Ada", "9", ""),
        ("Team 3_assignsubmission_file_/a.ipynb", "Team 3", "Team 3", "a.ipynb"),
    ],
)
def test_moodle_names(path, student, key, file):
    (owner,) = naming.moodle(path)
    assert (owner.student, owner.key, owner.file) == (student, key, file)


@pytest.mark.parametrize("path", ["01_small.ipynb", "ada/01_small.ipynb", "ada_1.ipynb"])
def test_other_names_are_neither(path):
    assert (naming.canvas(path), naming.moodle(path)) == ([], [])


METADATA = b"""\
---
submission_41:
  :submitters:
  - :name: Ada Lovelace
    :sid: '1815'
    :email: Ada@Example.edu
  - :name: Bo Lee
    :sid: '1816'
    :email: bo@example.edu
  :created_at: 2026-09-01 02:50:30.147684000 Z
  :results: !ruby/hash:ActiveSupport::HashWithIndifferentAccess
    score: 1.0
submission_42:
  :submitters:
  - :name: Cleo
    :sid:
    :email: cleo@example.edu
  :created_at: !ruby/object:ActiveSupport::TimeWithZone
    utc: &1 2026-09-02 09:47:15.879669000 Z
    zone: &2 !ruby/object:ActiveSupport::TimeZone
      name: Etc/UTC
    time: *1
"""


def test_gradescope_names():
    owners = metadata.read(METADATA).owners
    ada, bo = owners("submission_41/x/a.ipynb")
    assert (ada.student, ada.lms_user_id, ada.file) == ("ada@example.edu", "1815", "x/a.ipynb")
    assert (bo.student, bo.first_name, bo.last_name) == ("bo@example.edu", "Bo", "Lee")
    (cleo,) = owners("submission_42/a.ipynb")
    assert [str(owner.time)[:19] for owner in (ada, cleo)] == [
        "2026-09-01 02:50:30",
        "2026-09-02 09:47:15",
    ]
    assert owners("submission_43/a.ipynb") == []


@pytest.mark.parametrize("text", [b"a: [", b"- 1", b"", b"\xff\xfe\xff", b"[" * 2_000_000])
def test_broken_metadata_are_told(text):
    with pytest.raises(ValueError, match=r"."):
        metadata.read(text)


@pytest.mark.parametrize(
    "student", ["a*", "a[b]", "..", ".x", "a/b", " a", "a\n", "a,b", "=1+1", ""]
)
def test_what_is_no_id(student):
    assert naming.unfit(student)


# --- each LMS -------------------------------------------------------------------------------------


def test_canvas(classroom, solution, tmp_path):
    files = {
        "lovelaceada_17_501_01_small.ipynb": solution,
        "bo_LATE_18_502_my work.ipynb": solution,
        "cleo_19_text.html": b"<p>here</p>",
        "bo_LATE_18_503_data.csv": b"1,2\n",
        "dan_20_504_work.pdf": b"%PDF",
        "roster.txt": b"whose?",
    }
    zipped(files, tmp_path / "submissions.zip")
    code, said = classroom.types("collect", "01", str(tmp_path / "submissions.zip"))
    assert (code, counts(said)) == (0, [2, 0, 0, 1, 3])
    assert in_place(classroom, "17") == {"01_small.ipynb": solution}
    assert in_place(classroom, "18") == {"01_small.ipynb": solution, "data.csv": b"1,2\n"}
    assert (
        "19 (cleo): refused: typed text in place of a file, no notebook: ask for the .ipynb" in said
    )
    assert "20 (dan): refused: `work.pdf`: no notebook: ask for the .ipynb" in said
    assert "roster.txt: refused: not named as canvas names files, so it is no student's" in said
    assert "Canvas's own late policy can apply one): 18 (bo)\n" in said
    assert students(classroom)["17"]["lms_user_id"] == "17"
    assert f"`python -m autograder grade 01 --classroom {classroom.folder}`" in said


def test_canvas_with_its_gradebook(classroom, solution, tmp_path):
    """Its file names tell a name in one word, its gradebook both names."""
    zipped({"lovelaceada_17_1_a.ipynb": solution}, tmp_path / "a.zip")
    gradebook = tmp_path / "gradebook.csv"
    gradebook.write_text(
        'Student,ID,SIS Login ID,Section\n"Lovelace, Ada",17,ada@example.edu,A\n', encoding="utf-8"
    )
    told = []
    for options in ([], ["--gradebook", str(gradebook)], []):
        assert classroom.types("collect", "01", str(tmp_path / "a.zip"), *options)[0] == 0
        about = students(classroom)["17"]
        told.append((about["last_name"], about["first_name"], about["email"]))
    assert told[0] == ("lovelaceada", None, None)
    assert told[1] == told[2] == ("Lovelace", "Ada", "ada@example.edu")


def test_moodle_with_its_worksheet(classroom, solution, tmp_path):
    name = "Ada Lovelace_901_assignsubmission_file_/01_small.ipynb"
    twins = [f"Wei Zhang_{number}_assignsubmission_file_/a.ipynb" for number in (902, 903)]
    zipped(dict.fromkeys([name, *twins], solution), tmp_path / "moodle.zip")
    worksheet = tmp_path / "worksheet.csv"
    worksheet.write_text(
        '\ufeffIdentifier,"Full name","Email address",Status,Grade,"Maximum grade",'
        '"Last modified (submission)"\r\n'
        "Participant 901,Ada Lovelace,ada@example.edu,Submitted,,10.00,"
        '"Wednesday, 2 September 2026, 2:14 PM"\r\n'
        "Participant 902,Wei Zhang,wei@example.edu,Submitted,,10.00,-\r\n",
        encoding="utf-8",
    )
    code, said = classroom.types("release", "--due", "2026-09-02 13:00 +0000")
    assert code == 0
    code, said = classroom.types(
        *("collect", "01", str(tmp_path / "moodle.zip"), "--gradebook", str(worksheet)),
        *("--timezone", "America/New_York"),
    )
    assert (code, counts(said)) == (0, [3, 0, 0, 1, 0])
    assert in_place(classroom, "Ada Lovelace")["timestamp.txt"] == (
        b"2026-09-02 18:14:00.000000 UTC"
    )
    assert set(in_place(classroom, "Wei Zhang (902)")) == {"01_small.ipynb"}
    assert set(in_place(classroom, "Wei Zhang (903)")) == {"01_small.ipynb"}
    ada = students(classroom)["Ada Lovelace"]
    assert (ada["first_name"], ada["last_name"]) == ("Ada", "Lovelace")
    assert ada["email"] == "ada@example.edu"


def test_two_of_one_name_stay_two_when_the_second_comes_later(classroom, solution, tmp_path):
    for number in (902, 903):
        name = f"Wei Zhang_{number}_assignsubmission_file_/a.ipynb"
        zipped({name: solution}, tmp_path / f"{number}.zip")
        assert classroom.types("collect", "01", str(tmp_path / f"{number}.zip"))[0] == 0
    there = {path.name for path in (classroom.folder / "submitted").iterdir()}
    assert there == {"Wei Zhang", "Wei Zhang (903)"}


def test_two_of_one_name_in_two_downloads_stay_two(classroom, solution, tmp_path):
    for number in (902, 903):
        name = f"Wei Zhang_{number}_assignsubmission_file_/a.ipynb"
        zipped({name: solution}, tmp_path / f"{number}.zip")
    downloads = [str(tmp_path / f"{number}.zip") for number in (902, 903)]
    assert counts(classroom.types("collect", "01", *downloads)[1]) == [2, 0, 0, 0, 0]
    there = {path.name for path in (classroom.folder / "submitted").iterdir()}
    assert there == {"Wei Zhang (902)", "Wei Zhang (903)"}


def test_gradescope(classroom, solution, tmp_path):
    files = {
        "assignment_7_export/submission_metadata.yml": METADATA,
        "assignment_7_export/submission_41/01_small.ipynb": solution,
        "assignment_7_export/submission_41/data/x.csv": b"1\n",
        "assignment_7_export/submission_42/01_small.ipynb": solution,
        "assignment_7_export/submission_43/01_small.ipynb": solution,
    }
    zipped(files, tmp_path / "export.zip")
    code, said = classroom.types("collect", "01", str(tmp_path / "export.zip"))
    assert (code, counts(said)) == (0, [3, 0, 0, 0, 1])
    handed_in = in_place(classroom, "ada@example.edu")
    assert handed_in == in_place(classroom, "bo@example.edu")  # a group's
    assert handed_in.keys() == {"01_small.ipynb", "data/x.csv", "timestamp.txt"}
    assert handed_in["timestamp.txt"] == b"2026-09-01 02:50:30.147684 UTC"
    assert "submission_43: refused: submission_metadata.yml does not tell who" in said
    assert students(classroom)["ada@example.edu"]["lms_user_id"] == "1815"


def test_a_plain_folder(classroom, solution, tmp_path):
    folder = tmp_path / "submitted"
    for name in ("ada/final.ipynb", "bo.ipynb", "cleo/01_small/01_small.ipynb"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(solution)
    (folder / "ada/x.csv").write_bytes(b"1")
    (folder / "ada/.DS_Store").write_bytes(b"x")
    code, said = classroom.types("collect", "01", str(folder))
    assert (code, counts(said)) == (0, [3, 0, 0, 0, 0])
    assert in_place(classroom, "ada").keys() == {"01_small.ipynb", "x.csv"}


@pytest.mark.parametrize("around", ["", "submitted/"])
def test_another_class_of_nbgraders(classroom, solution, tmp_path, around):
    """Where nbgrader collected, and nowhere else, its times are believed."""
    files = {f"{name}/{LESSON}/{LESSON}.ipynb": solution for name in ("ada", "bo", "cleo")}
    files |= {"ada/02_other/02_other.ipynb": b"{}", "bo/whose.txt": b"?"}
    files |= {f"ada/{LESSON}/timestamp.txt": b"2026-09-01 10:00:00.147684 UTC"}
    zipped({around + name: data for name, data in files.items()}, tmp_path / "other.zip")
    options = [] if around else ["--from", "nbgrader"]
    code, said = classroom.types("collect", "01", str(tmp_path / "other.zip"), *options)
    assert (code, counts(said)) == (0, [3, 0, 0, 0, 1])
    assert f"{around}bo/whose.txt: refused: not named as nbgrader names files" in said
    assert in_place(classroom, "ada").keys() == {f"{LESSON}.ipynb", "timestamp.txt"}
    assert in_place(classroom, "ada")["timestamp.txt"] == b"2026-09-01 10:00:00.147684 UTC"
    with zipfile.ZipFile(tmp_path / "other.zip") as other:
        other.extractall(tmp_path / ("" if around else "submitted"))
    same = classroom.types("collect", "01", str(tmp_path / "submitted"))[1]
    assert counts(same) == [0, 0, 3, 0, 1]


def test_a_folder_of_folders_is_a_students_or_a_classs(classroom, solution, tmp_path):
    zipped({f"group/{name}/a.ipynb": solution for name in ("ada", "bo")}, tmp_path / "a.zip")
    code, said = classroom.types("collect", "01", str(tmp_path / "a.zip"))
    assert (code, (classroom.folder / "submitted").exists()) == (1, False)
    students = "if they are students, unpack it and name `group` itself"
    assert f"`group` holds 2 folders: {students}; if `group` is one student's, add" in said
    with zipfile.ZipFile(tmp_path / "a.zip") as unpacked:
        unpacked.extractall(tmp_path)
    classroom.types("collect", "01", str(tmp_path / "group"))
    assert {path.name for path in (classroom.folder / "submitted").iterdir()} == {"ada", "bo"}
    classroom.types("collect", "01", str(tmp_path / "a.zip"), "--from", "folder")
    assert "group" in {path.name for path in (classroom.folder / "submitted").iterdir()}


def test_one_students_folders_are_no_students(classroom, solution, tmp_path):
    files = {"ada/homework/a.ipynb": solution, "ada/data/x.csv": b"1"}
    lessons = {f"bo/{name}/{name}.ipynb": solution for name in ("01_small", "02_other")}
    for name, content in {"ada.zip": files, "bo.zip": lessons}.items():
        zipped(content, tmp_path / name)
        assert counts(classroom.types("collect", "01", str(tmp_path / name))[1])[0] == 1
    assert {path.name for path in (classroom.folder / "submitted").iterdir()} == {"ada", "bo"}


def test_a_scheme_that_does_not_fit_is_told(classroom, solution, tmp_path):
    zipped({"ada/a.ipynb": solution}, tmp_path / "a.zip")
    for scheme, said in {
        "canvas": "nothing here is named as canvas names files: leave out `--from`",
        "gradescope": "no submission_metadata.yml: take the whole zip of Gradescope's "
        "`Export Submissions`",
    }.items():
        found = classroom.types("collect", "01", str(tmp_path / "a.zip"), "--from", scheme)
        assert found == (1, f"{tmp_path / 'a.zip'}: {said}\n")


# --- one student's files --------------------------------------------------------------------------


def test_a_zip_in_the_zip(classroom, solution, tmp_path):
    inner = zipped(
        {"hw/final.ipynb": solution, "hw/data.csv": b"1", "__MACOSX/._final.ipynb": b"x"}
    )
    zipped({"ada_17_1_work.zip": inner, "bo_18_2_deep.zip": zipped({"a.zip": inner})},
           tmp_path / "a.zip")  # fmt: skip
    assert counts(classroom.types("collect", "01", str(tmp_path / "a.zip"))[1]) == [2, 0, 0, 0, 0]
    assert in_place(classroom, "17") == {"01_small.ipynb": solution, "data.csv": b"1"}
    assert in_place(classroom, "18") == in_place(classroom, "17")


def test_of_several_notebooks_the_lessons_newest_counts(classroom, solution, tmp_path):
    other = solution.replace(b"x + x", b"2 * x")
    files = {
        "ada_17_10_01_small.ipynb": other,
        "ada_17_11_01_small-1.ipynb": solution,
        "ada_17_12_scratch.ipynb": b'{"cells": [], "metadata": {}, "nbformat": 4}',
    }
    zipped(files, tmp_path / "a.zip")
    _, said = classroom.types("collect", "01", str(tmp_path / "a.zip"))
    assert in_place(classroom, "17") == {"01_small.ipynb": solution}
    assert (
        "17 (ada): collected: the newest notebook of this lesson counts, `01_small-1.ipynb`, "
        "not `01_small.ipynb`, `scratch.ipynb`"
    ) in said


def test_a_notebook_that_a_browser_named_txt(classroom, solution, tmp_path):
    zipped({"ada_17_1_a.ipynb.txt": solution, "ada_17_2_notes.txt": b"hi"}, tmp_path / "a.zip")
    classroom.types("collect", "01", str(tmp_path / "a.zip"), "--from", "canvas")
    assert in_place(classroom, "17") == {"01_small.ipynb": solution, "notes.txt": b"hi"}
    (tmp_path / "ada.l.ipynb.txt").write_bytes(solution)
    (tmp_path / "bo.json").write_bytes(solution)
    names = [str(tmp_path / name) for name in ("ada.l.ipynb.txt", "bo.json")]
    assert classroom.types("collect", "01", *names)[0] == 0
    assert in_place(classroom, "ada.l") == in_place(classroom, "bo") == {"01_small.ipynb": solution}


# --- again ----------------------------------------------------------------------------------------


def test_collected_again(classroom, recorder, solution, tmp_path):
    """Unchanged and older files change nothing; newer ones are graded again; nothing is lost."""
    better = solution.replace(b"x + x", b"2 * x")
    first, second = tmp_path / "first.zip", tmp_path / "second.zip"
    zipped({"ada_17_10_a.ipynb": solution, "bo_18_11_a.ipynb": solution}, first)
    zipped({"ada_17_20_a.ipynb": better, "bo_18_11_a.ipynb": solution}, second)
    assert counts(classroom.types("collect", "01", str(first))[1]) == [2, 0, 0, 0, 0]
    classroom.types("grade")
    assert counts(classroom.types("collect", "01", str(first))[1]) == [0, 0, 2, 0, 0]
    code, said = classroom.types("collect", "01", str(second))
    assert (code, counts(said)) == (0, [0, 1, 1, 0, 0])
    kept = classroom.folder / "replaced" / LESSON / "17" / "1"
    assert f"17 (ada): replaced: before: {kept}" in said
    assert (kept / "01_small.ipynb").read_bytes() == solution
    marks = [classroom.file("autograded", each).with_name(MARK).exists() for each in ("17", "18")]
    assert marks == [False, True]
    code, said = classroom.types("collect", "01", str(first))
    assert counts(said) == [0, 0, 2, 0, 0]
    assert "17 (ada): unchanged: older than what is there" in said
    assert in_place(classroom, "17") == {"01_small.ipynb": better}
    recorder.clear()
    classroom.types("grade")
    assert recorder == ["17"]


def test_what_was_put_there_by_hand_is_kept(small, solution, tmp_path):
    before = in_place(small, "ada")
    zipped({"ada/a.ipynb": solution.replace(b"x + x", b"2 * x")}, tmp_path / "a.zip")
    assert counts(small.types("collect", "01", str(tmp_path / "a.zip"))[1]) == [0, 1, 0, 0, 0]
    kept = small.folder / "replaced" / LESSON / "ada" / "1"
    assert (kept / "01_small.ipynb").read_bytes() == before["01_small.ipynb"]


def test_a_full_disk_loses_nothing(small, solution, tmp_path, monkeypatch):
    before = in_place(small, "ada")
    zipped({"ada/a.ipynb": solution.replace(b"x + x", b"2 * x")}, tmp_path / "a.zip")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        code, said = small.types("collect", "01", str(tmp_path / "a.zip"))
    assert (code, "No space left on device" in said) == (1, True)
    assert in_place(small, "ada") == before
    assert counts(small.types("collect", "01", str(tmp_path / "a.zip"))[1]) == [0, 1, 0, 0, 0]


def test_a_link_in_the_class_is_not_followed(classroom, solution, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (classroom.folder / "submitted").mkdir()
    (classroom.folder / "submitted" / "ada").symlink_to(tmp_path / "elsewhere")
    zipped({"ada/a.ipynb": solution}, tmp_path / "a.zip")
    code, said = classroom.types("collect", "01", str(tmp_path / "a.zip"))
    assert (code, [*(tmp_path / "elsewhere").iterdir()]) == (1, [])
    assert "is a link: put a folder in its place" in said


# --- what strangers put into zips -----------------------------------------------------------------


def test_names_that_lead_out_are_refused(classroom, solution, tmp_path):
    names = [
        "../../evil.ipynb",
        "/etc/evil.ipynb",
        "C:/evil.ipynb",
        "..\\evil.ipynb",
        "e\x1b.ipynb",
    ]
    inner = zipped({**dict.fromkeys(names, solution), "ok.ipynb": solution})
    outer = dict.fromkeys((f"../ada_1{n}_5_a.ipynb" for n in range(2)), solution)
    zipped({"ada_17_1_a.zip": inner, **outer}, tmp_path / "a.zip")
    before = set(tmp_path.rglob("*"))
    code, said = classroom.types("collect", "01", str(tmp_path / "a.zip"), "--from", "canvas")
    assert (code, counts(said)) == (0, [1, 0, 0, 0, 2])
    out = "refused: its name leads out of the folder: ask for the file itself"
    assert f"`../../evil.ipynb`, `/etc/evil.ipynb`, `C:/evil.ipynb` and 1 more {out}" in said
    assert said.count(out) == 3
    assert said.count("its name is no plain text") == 1
    new = {path for path in tmp_path.rglob("*") if path.is_file()} - before
    assert {path.name for path in new} - {".lock"} == {"01_small.ipynb", "01_small.json"}


def spoiled(data: bytes, flags: int) -> bytes:
    """The same zip, whose files are said to have these flags."""
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = data.find(mark)
        while start >= 0:
            data = data[: start + at] + struct.pack("<H", flags) + data[start + at + 2 :]
            start = data.find(mark, start + 1)
    return data


def linked(target: str) -> bytes:
    """A zip with a link in it."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as written:
        link = zipfile.ZipInfo("a.ipynb")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        written.writestr(link, target)
    return data.getvalue()


def twice(solution: bytes) -> bytes:
    """A zip with two files of one name."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as written:
        written.writestr("a.ipynb", solution)
        with pytest.warns(UserWarning, match="Duplicate"):
            written.writestr("a.ipynb", b"other")
    return data.getvalue()


def test_what_cannot_be_trusted_is_refused_and_the_rest_goes_on(classroom, solution, tmp_path):
    whole = zipped({"a.ipynb": solution})
    middle = len(whole) // 3
    bad = {
        "link": (linked("/etc/passwd"), "a link in place of a file: ask for the file itself"),
        "locked": (spoiled(whole, 1), "encrypted: ask for it without a password"),
        "cut": (whole[: len(whole) // 2], "no sound zip: ask for the notebook itself"),
        "rotten": (whole[:middle] + b"\0" * 40 + whole[middle + 40 :], "cannot be read"),
        "bomb": (zipped({"a.ipynb": b"0" * (archive.LARGEST + 1)}), "larger than 50 MB"),
        "empty": (zipped({}), "an empty zip: no notebook: ask for the .ipynb"),
    }
    files = {f"{name}_{n}_1_a.zip": data for n, (name, (data, _)) in enumerate(bad.items(), 1)}
    files["ada_17_1_a.zip"] = twice(solution)
    zipped(files, tmp_path / "a.zip")
    code, said = classroom.types("collect", "01", str(tmp_path / "a.zip"))
    assert (code, counts(said)) == (0, [1, 0, 0, 0, len(bad)])
    for number, (name, (_, why)) in enumerate(bad.items(), 1):
        (line,) = [
            line for line in said.splitlines() if line.startswith((f"{number} (", f"{name}_"))
        ]
        assert why in line
    assert in_place(classroom, "17") == {"01_small.ipynb": solution}
    assert "two files of this name: only the first counts" in said


def test_a_size_that_is_a_lie_is_not_believed():
    """A zip that says 1 byte, and holds more."""
    data = zipped({"a.ipynb": b"0" * 5000})
    at = data.find(b"PK\x01\x02")
    lie = data[: at + 24] + struct.pack("<I", 1) + data[at + 28 :]
    (piece,) = archive.unzipped(Piece("a.zip", lambda: lie)).pieces
    with pytest.raises(Rejected, match="cannot be read"):
        piece.read()


def test_a_huge_file_in_a_folder_is_not_read_whole(classroom, tmp_path):
    (tmp_path / "ada").mkdir()
    with (tmp_path / "ada" / "a.ipynb").open("wb") as file:
        file.truncate(1 << 40)
    code, said = classroom.types("collect", "01", str(tmp_path / "ada"))
    assert (code, "larger than 50 MB: ask for the file again" in said) == (1, True)


def test_a_listing_without_end_is_not_read(monkeypatch):
    monkeypatch.setattr(archive, "LARGEST_LISTING", 1000)
    data = zipped({f"{number}.txt": b"" for number in range(100)})
    with pytest.raises(Rejected, match="far too many files"):
        archive.unzipped(Piece("a.zip", lambda: data))


def test_links_and_pipes_in_a_folder_are_refused(classroom, solution, tmp_path):
    folder, secret = tmp_path / "folder", tmp_path / "secret"
    (folder / "ada").mkdir(parents=True)
    secret.mkdir()
    (secret / "a.ipynb").write_bytes(solution)
    (folder / "ada/a.ipynb").symlink_to(secret / "a.ipynb")
    (folder / "bo").symlink_to(secret)
    os.mkfifo(folder / "ada/pipe")
    code, said = classroom.types("collect", "01", str(folder))
    assert (code, counts(said)) == (1, [0, 0, 0, 0, 3])
    assert not (classroom.folder / "submitted").exists()


def test_a_download_that_is_broken_stops_no_other(classroom, solution, tmp_path):
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04 cut")
    zipped({"ada/a.ipynb": solution}, tmp_path / "a.zip")
    downloads = [str(tmp_path / name) for name in ("broken.zip", "none.zip", "a.zip")]
    code, said = classroom.types("collect", "01", *downloads)
    assert (code, counts(said)) == (1, [1, 0, 0, 0, 0])
    assert f"{downloads[0]}: no sound zip" in said
    assert f"{downloads[1]}: no such file or folder" in said


def test_a_lesson_that_is_not_released(classroom, tmp_path):
    code, said = classroom.types("collect", "99", str(tmp_path))
    assert code == 1
    assert "99" in said
