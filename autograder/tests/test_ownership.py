"""Whose work is whose: nothing that a student names or writes gives it to another student."""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from autograder.authoring.notebook import as_text
from autograder.authoring.samples import filled, solved
from autograder.intake import metadata
from autograder.intake.handins import time_of
from autograder.intake.identity import canvas_doubts
from autograder.intake.naming import fold
from autograder.tests.test_collect import LESSON, METADATA, in_place, students, zipped

EXPORT = "assignment_7_export"
MOODLE = "assignsubmission_file_"
# as Gradescope writes it, but it says that 41 and 42 are each other's
SWAPPED = METADATA.replace(b"_41", b"_4x").replace(b"_42", b"_41").replace(b"_4x", b"_42")
NFD = unicodedata.normalize("NFD", "José")


@dataclass(frozen=True)
class Download:
    """Paths and who wrote what lies there; whose work is to lie at whose place in the end.

    A value in bytes is no notebook, but what stands in the file. `said` is what a person is told.
    """

    files: Mapping[str, str | bytes]
    owners: Mapping[str, str]
    said: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    there: tuple[str, ...] = ()  # who is in the class already
    name: str = "download"
    zipped: bool = True
    files_of: Mapping[str, set[str]] = field(default_factory=dict)


BANK = {
    "metadata before Gradescope's own": Download(
        {
            f"{EXPORT}/submission_42/submission_metadata.yml": SWAPPED,
            f"{EXPORT}/submission_42/a.ipynb": "cleo",
            f"{EXPORT}/submission_42/submission_41/a.ipynb": "cleo",
            f"{EXPORT}/submission_41/a.ipynb": "ada",
            f"{EXPORT}/submission_metadata.yml": METADATA,
        },
        {"ada@example.edu": "ada", "bo@example.edu": "ada", "cleo@example.edu": "cleo"},
    ),
    "metadata that a student made, without a folder around": Download(
        {
            "submission_41/a.ipynb": "ada",
            "submission_42/a.ipynb": "cleo",
            "submission_42/submission_metadata.yml": SWAPPED,
            "submission_metadata.yml": METADATA,
        },
        {"ada@example.edu": "ada", "bo@example.edu": "ada", "cleo@example.edu": "cleo"},
    ),
    "metadata in a Moodle download": Download(
        {
            f"Mallory_5_{MOODLE}/submission_metadata.yml": METADATA,
            f"Mallory_5_{MOODLE}/submission_41/a.ipynb": "mallory",
            f"Ada Lovelace_9_{MOODLE}/a.ipynb": "ada",
        },
        {"Mallory": "mallory", "Ada Lovelace": "ada"},
    ),
    "metadata in a folder": Download(
        {
            "mallory/submission_metadata.yml": METADATA,
            "mallory/submission_41/a.ipynb": "mallory",
            "cleo/a.ipynb": "cleo",
        },
        {"mallory": "mallory", "cleo": "cleo"},
    ),
    "metadata at the top, and no submissions": Download(
        {"submission_metadata.yml": METADATA, "ada/a.ipynb": "ada", "cleo.ipynb": "cleo"},
        {"ada": "ada", "cleo": "cleo"},
    ),
    "work outside of Gradescope's export": Download(
        {
            f"{EXPORT}/submission_metadata.yml": METADATA,
            f"{EXPORT}/submission_41/a.ipynb": "ada",
            "submission_41/a.ipynb": "mallory",
        },
        {"ada@example.edu": "ada", "bo@example.edu": "ada"},
        (
            "submission_41/a.ipynb: refused: not named as gradescope names files, "
            "so it is no student's",
        ),
    ),
    "no metadata but a student's": Download(
        {
            f"{EXPORT}/submission_42/submission_metadata.yml": METADATA,
            f"{EXPORT}/submission_42/submission_41/a.ipynb": "mallory",
        },
        {},
        ("no submission_metadata.yml: take the whole zip",),
        ("--from", "gradescope"),
    ),
    "Moodle's names in a student's folder": Download(
        {
            "mallory/a.ipynb": "mallory",
            **{f"mallory/Ada Lovelace_9_{MOODLE}/{n}.ipynb": "mallory" for n in range(9)},
            "cleo/a.ipynb": "cleo",
        },
        {"mallory": "mallory", "cleo": "cleo"},
    ),
    "Moodle's names in the folder of a student's, on Moodle": Download(
        {f"Mallory_5_{MOODLE}/Ada Lovelace_9_{MOODLE}/a.ipynb": "mallory"}, {"Mallory": "mallory"}
    ),
    "Moodle's names in the only student's folder": Download(
        {f"mallory/Ada Lovelace_9_{MOODLE}/a.ipynb": "mallory"},
        {},
        (
            "`mallory` holds what looks like a download of Moodle's: if it is one, add",
            "--from moodle`; if `mallory` is one student's, add `--from folder`",
        ),
    ),
    "the same, when a person said whose it is": Download(
        {f"mallory/Ada Lovelace_9_{MOODLE}/a.ipynb": "mallory"},
        {"mallory": "mallory"},
        options=("--from", "folder"),
    ),
    "the same, when a person said that it is Moodle's": Download(
        {f"unpacked/Ada Lovelace_9_{MOODLE}/a.ipynb": "ada"},
        {"Ada Lovelace": "ada"},
        options=("--from", "moodle"),
    ),
    "Canvas's names in a student's folder": Download(
        {
            **{f"mallory/lovelaceada_17_{n}_a.ipynb": "mallory" for n in range(9)},
            "cleo/a.ipynb": "cleo",
        },
        {"mallory": "mallory", "cleo": "cleo"},
    ),
    "Canvas's names in the only student's folder": Download(
        {"mallory/lovelaceada_17_501_a.ipynb": "mallory"},
        {},
        ("`mallory` holds what looks like a download of Canvas's",),
    ),
    "Gradescope's layout in the only student's folder": Download(
        {
            f"mallory/{EXPORT}/submission_metadata.yml": METADATA,
            f"mallory/{EXPORT}/submission_41/a.ipynb": "mallory",
        },
        {},
        ("`mallory` holds what looks like a download of Gradescope's",),
    ),
    "two of Gradescope's exports": Download(
        {
            f"assignment_{n}_export/{name}": data
            for n in (7, 8)
            for name, data in (("submission_metadata.yml", METADATA), ("submission_41/a", b""))
        },
        {},
        ("several of Gradescope's exports, assignment_7_export/, assignment_8_export/: name one",),
    ),
    "students' names in the only student's folder": Download(
        {"mallory/ada/a.ipynb": "mallory", "mallory/cleo/a.ipynb": "mallory"},
        {},
        ("`mallory` holds 2 folders",),
    ),
    "a student's zip with a whole class in it": Download(
        {
            "mallory.zip": zipped(
                {
                    f"{EXPORT}/submission_metadata.yml": METADATA,
                    f"{EXPORT}/submission_41/a.ipynb": b"{}",
                    f"Ada Lovelace_9_{MOODLE}/a.ipynb": b"{}",
                    "ada/a.ipynb": b"{}",
                }
            ),
        },
        {"mallory": ""},
        zipped=False,
    ),
    "a Canvas user called 18": Download(
        {"18_77_503_a.ipynb": "mallory", "lovelaceada_17_501_a.ipynb": "ada"},
        {"77": "mallory", "17": "ada"},
    ),
    "a Canvas user called bo_18_502_x": Download(
        {
            "bo_18_502_x_77_503_a.ipynb": "mallory",
            "leebo_18_400_a.ipynb": "bo",
            "lovelaceada_17_501_a.ipynb": "ada",
        },
        {"17": "ada"},
        ("bo_18_502_x_77_503_a.ipynb: refused: `bo` and `leebo` have one number, 18: put it into",),
    ),
    "the same, of a user who is known": Download(
        {"bo_18_502_x_77_503_a.ipynb": "mallory", "lovelaceada_17_501_a.ipynb": "ada"},
        {"17": "ada"},
        ("bo_18_502_x_77_503_a.ipynb: refused: it could be 18's or 77's: put it into a folder",),
        there=("77",),
    ),
    "a Canvas file with numbers in its name": Download(
        {"lovelaceada_17_501_01_02_small.ipynb": "ada", "anon_late_5_a.ipynb": "late"},
        {"17": "ada", "anon_late": "late"},
    ),
    "a name that ends as those of two of one name": Download(
        {
            f"Wei Zhang (902)_55_{MOODLE}/a.ipynb": "mallory",
            f"Wei Zhang_902_{MOODLE}/a.ipynb": "wei",
            f"Wei Zhang_903_{MOODLE}/a.ipynb": "other wei",
        },
        {"Wei Zhang (903)": "other wei"},
        ("another student would be `Wei Zhang (902)` too",),
    ),
    "a group called as a participant": Download(
        {f"9_{MOODLE}/a.ipynb": "mallory", f"Ada Lovelace_9_{MOODLE}/a.ipynb": "ada"},
        {"Ada Lovelace": "ada"},
        (f"9_{MOODLE}/a.ipynb: refused: not named as moodle names files",),
        ("--from", "moodle"),
    ),
    "names that differ in case": Download(
        {"ada/a.ipynb": "ada", "ADA/a.ipynb": "mallory", "cleo/a.ipynb": "cleo"},
        {"cleo": "cleo"},
        ("ada: refused: it differs from `ADA` only in case", "ADA: refused: it differs from `ada`"),
    ),
    "names that differ in case from who is there": Download(
        {"Ada/a.ipynb": "mallory", "cleo/a.ipynb": "cleo"},
        {"cleo": "cleo"},
        ("Ada: refused: it differs from `ada` only in case",),
        there=("ada",),
    ),
    "names that differ in a last dot, or in width": Download(
        {"ada./a.ipynb": "mallory", "ａｄａ/a.ipynb": "mallory", "cleo/a.ipynb": "cleo"},
        {"cleo": "cleo"},
        ("ada.: refused: it differs from `ada`", "ａｄａ: refused: it differs from `ada`"),
        there=("ada",),
    ),
    "names with signs that do not show": Download(
        {"ada\u200b/a.ipynb": "mallory", "a\u202eda/a.ipynb": "mallory", "ada/a.ipynb": "ada"},
        {"ada": "ada"},
        ("\\u200b/a.ipynb: refused: its name is no plain text",),
    ),
    "accents in both of their forms are one student": Download(
        {f"{NFD}/a.ipynb": "josé", f"{NFD}/data.csv": b"1", "cleo/a.ipynb": "cleo"},
        {"José": "josé", "cleo": "cleo"},
    ),
    "and stay as they were written first": Download(
        {"José/a.ipynb": "josé", "cleo/a.ipynb": "cleo"},
        {NFD: "josé", "cleo": "cleo"},
        there=(NFD,),
    ),
    "times and notebooks that students name": Download(
        {
            "ada/a.ipynb": "ada",
            "ada/timestamp.txt": b"2020-01-01 10:00:00 UTC",
            "ada/TIMESTAMP.TXT": b"2020-01-01 10:00:00 UTC",
            "ada/ＴimeStamp.txt": b"2020-01-01 10:00:00 UTC",
            f"ada/{LESSON.upper()}.IPYNB/x": b"1",
            "ada/.result.json": b"{}",
            "ada/.graded": b"x",
            "ada/.answers.json": b"{}",
            "ada/x/timestamp.txt": b"mine",
            f"cleo/{LESSON}/{LESSON}.ipynb": "cleo",
            f"cleo/{LESSON}/timestamp.txt": b"2020-01-01 10:00:00 UTC",
        },
        {"ada": "ada", "cleo": "cleo"},
        (
            "`timestamp.txt`, `TIMESTAMP.TXT`, `ＴimeStamp.txt` and 1 more left out: "
            "a name of nbgrader's own",
            "cleo: collected: `timestamp.txt` left out: a name of nbgrader's own",
        ),
        files_of={"ada": {f"{LESSON}.ipynb", "x/timestamp.txt"}, "cleo": {f"{LESSON}.ipynb"}},
    ),
    "times in a folder called as nbgrader's, which it is not": Download(
        {
            f"mallory/{LESSON}/{LESSON}.ipynb": "mallory",
            f"mallory/{LESSON}/timestamp.txt": b"2020-01-01 10:00:00 UTC",
            "ada/a.ipynb": "ada",
            "cleo/a.ipynb": "cleo",
        },
        {"mallory": "mallory", "ada": "ada", "cleo": "cleo"},
        name="submitted",
        zipped=False,
        files_of={"mallory": {f"{LESSON}.ipynb"}},
    ),
    "times in a folder laid out as nbgrader's, which is called otherwise": Download(
        {
            f"mallory/{LESSON}/{LESSON}.ipynb": "mallory",
            f"mallory/{LESSON}/timestamp.txt": b"2020-01-01 10:00:00 UTC",
        },
        {"mallory": "mallory"},
        ("mallory: collected: `timestamp.txt` left out: a name of nbgrader's own",),
        zipped=False,
        files_of={"mallory": {f"{LESSON}.ipynb"}},
    ),
    "files that some disks take for one": Download(
        {
            "ada/a.ipynb": "ada",
            "ada/data.csv": b"1",
            "ada/DATA.csv": b"2",
            f"ada/{NFD}.csv": b"1",
            "ada/José.csv": b"2",
            "ada/data.CSV/x": b"3",
        },
        {"ada": "ada"},
        ("left out: another file or folder has this name, or one that some disks take for the",),
        ("--from", "folder"),
    ),
}


@pytest.fixture
def classroom(small_class, tmp_path):
    """A small lesson, released, and handed in by nobody yet."""
    return small_class.copy(tmp_path / "of")


@pytest.fixture(scope="module")
def work(small_class):
    """The lesson, solved by somebody: who it was can be told."""
    solution = as_text(filled(small_class.lesson, solved(small_class.lesson)))
    return lambda student: solution.replace("x + x", f"x + x  # {student}'s").encode()


@pytest.mark.parametrize("name", BANK)
def test_nobody_gets_anothers_work(classroom, work, tmp_path, name):
    case = BANK[name]
    for student in case.there:
        classroom.receives(student)
    files = {
        path: work(data) if isinstance(data, str) else data for path, data in case.files.items()
    }
    download = tmp_path / (f"{case.name}.zip" if case.zipped else case.name)
    if case.zipped:
        zipped(files, download)
    else:
        for path, data in files.items():
            (download / path).parent.mkdir(parents=True, exist_ok=True)
            (download / path).write_bytes(data)
    _, said = classroom.types("collect", "01", str(download), *case.options)
    placed = {path.name for path in (classroom.folder / "submitted").glob("*")}
    assert placed == {*case.owners, *case.there}, said
    for student, author in case.owners.items():
        found = in_place(classroom, student)
        if author:
            assert found[f"{LESSON}.ipynb"] == work(author), said
        assert case.files_of.get(student, found.keys()) == found.keys(), said
    for line in case.said:
        assert line in said


def test_of_files_that_some_disks_take_for_one_the_first_is_kept(classroom, work, tmp_path):
    case = BANK["files that some disks take for one"]
    files = {n: work(data) if isinstance(data, str) else data for n, data in case.files.items()}
    zipped(files, tmp_path / "a.zip")
    classroom.types("collect", "01", str(tmp_path / "a.zip"), "--from", "folder")
    names = [fold(name) for name in in_place(classroom, "ada")]
    assert len({*names}) == len(names) == 3


def test_a_number_that_a_student_typed_is_nobody_elses(classroom, work, tmp_path):
    """On Gradescope students type their own numbers: an earlier collection's owner is no key."""
    forged = METADATA.replace(b"  - :name: Cleo\n    :sid:", b"  - :name: Cleo\n    :sid: '1815'")
    for number, told in enumerate((METADATA, forged)):
        files = {
            f"{EXPORT}/submission_metadata.yml": told,
            f"{EXPORT}/submission_42/a.ipynb": work("cleo"),
        }
        ada = {f"{EXPORT}/submission_41/a.ipynb": work("ada")}
        zipped(files if number else files | ada, tmp_path / "export.zip")
        classroom.types("collect", "01", str(tmp_path / "export.zip"))
    assert in_place(classroom, "ada@example.edu")[f"{LESSON}.ipynb"] == work("ada")
    assert in_place(classroom, "cleo@example.edu")[f"{LESSON}.ipynb"] == work("cleo")
    assert not students(classroom)["cleo@example.edu"]["lms_user_id"]


def test_who_has_a_name_already_keeps_it(classroom, work, tmp_path):
    first = {f"Wei Zhang_{n}_{MOODLE}/a.ipynb": work(f"{n}") for n in (902, 903)}
    zipped(first, tmp_path / "a.zip")
    classroom.types("collect", "01", str(tmp_path / "a.zip"))
    later = first | {f"Wei Zhang (902)_55_{MOODLE}/a.ipynb": work("mallory")}
    zipped(later, tmp_path / "a.zip")
    classroom.types("collect", "01", str(tmp_path / "a.zip"))
    assert in_place(classroom, "Wei Zhang (902)")[f"{LESSON}.ipynb"] == work("902")
    assert in_place(classroom, "Wei Zhang (902) (55)")[f"{LESSON}.ipynb"] == work("mallory")


# --- Gradescope's file ----------------------------------------------------------------------------

LAUGHS = b"a: &a [x]\n" + b"".join(
    b"%c: &%c [%s]\n" % (n + 1, n + 1, b",".join([b"*%c" % n] * 9)) for n in b"abcdefgh"
)
# what stands below `submission_7:` -> whose it is, and whether a person is told of its time
ONE = b"  :submitters:\n  - :email: a@x.edu\n"
ENTRIES = {
    ONE.replace(b"a@x", b"A@X"): (["a@x.edu"], True),
    ONE + b"  - :email: A@x.edu\n": (["a@x.edu"], True),
    b"  :submitters:\n  - :sid: 0123\n    :name: Ada": (["0123"], True),
    b"  :submitters:\n  - :sid: bo@x.edu": ([], False),
    b"  :submitters:\n  - :name: Ada": ([], False),
    b"  :submitters:\n  - :email: [a@x.edu]\n  - :email:\n      a: b\n  - 7\n  -\n  - [1]": (
        [],
        False,
    ),
    b"  :submitters:\n    :email: a@x.edu": ([], False),
    b"  :submitters: ~": ([], False),
    b"  :submitters:\n  - :email: *i": ([], False),
    b"  :submitters: *i": ([], False),
    ONE + b"    ? [1, 2]\n    : 3\n    4: 5\n    <<: *i": (["a@x.edu"], True),
    ONE + b"  ? [1, 2]\n  : 3\n  4: 5\n  <<: *i": (["a@x.edu"], True),
    b"  1": ([], False),
    b"  " + b"[" * 500 + b"]" * 500: ([], False),
    b"  :submitters: " + b"[" * 500 + b"]" * 500: ([], False),
    ONE + b"  :created_at: 2026-13-45 99:00:00 Z": (["a@x.edu"], True),
    ONE + b"  :created_at: 9999-12-31 23:59:59 -23:00": (["a@x.edu"], True),
    ONE + b"  :created_at: 2026-09-01 10:00:00.5 Z": (["a@x.edu"], False),
    ONE + b"  :created_at:\n    utc: 2026-09-01 10:00:00 +02:00": (["a@x.edu"], False),
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_one_submissions_entry_never_hides_the_others(entry):
    wanted, odd = ENTRIES[entry]
    text = LAUGHS + b"submission_7:\n%s\n" % entry + METADATA.removeprefix(b"---\n")
    told = metadata.read(text)
    assert [owner.student for owner in told.owners("submission_7/a.ipynb")] == wanted
    assert ("submission_7" in told.notes) == odd
    assert [owner.student for owner in told.owners("submission_42/a.ipynb")] == ["cleo@example.edu"]


def test_a_submission_that_stands_twice_is_nobodys():
    told = metadata.read(METADATA + METADATA.replace(b"_41", b"_43").removeprefix(b"---\n"))
    assert [told.owners(f"submission_{n}/a") != [] for n in (41, 42, 43)] == [True, False, True]


def test_a_bad_entry_is_told_and_the_rest_goes_on(classroom, work, tmp_path):
    told = METADATA.replace(b":email: cleo@example.edu", b":email: [cleo]")
    told = told.replace(b"2026-09-01 02:50", b"2026-09-01 92:50")
    files = {
        f"{EXPORT}/submission_{n}/{name}": work(str(n))
        for n in (41, 42)
        for name in ("a.ipynb", "b")
    }
    zipped(files | {f"{EXPORT}/submission_metadata.yml": told}, tmp_path / "export.zip")
    code, said = classroom.types("collect", "01", str(tmp_path / "export.zip"))
    nobody = f"{EXPORT}/submission_42: refused: submission_metadata.yml does not tell who handed it"
    assert (code, said.count(nobody)) == (0, 1)
    assert f"{EXPORT}/submission_41: submission_metadata.yml does not tell when" in said
    assert in_place(classroom, "ada@example.edu")[f"{LESSON}.ipynb"] == work("41")


def test_an_export_that_is_broken_stops_no_other_download(classroom, work, tmp_path):
    broken = {f"{EXPORT}/submission_metadata.yml": b"a: [", f"{EXPORT}/submission_41/a": b""}
    zipped(broken, tmp_path / "broken.zip")
    zipped({"ada/a.ipynb": work("ada")}, tmp_path / "a.zip")
    downloads = [str(tmp_path / name) for name in ("broken.zip", "a.zip")]
    code, said = classroom.types("collect", "01", *downloads)
    assert (code, f"{downloads[0]}: submission_metadata.yml is broken (" in said) == (1, True)
    assert in_place(classroom, "ada")[f"{LESSON}.ipynb"] == work("ada")


# --- names and times ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("paths", "there", "doubtful"),
    [
        (["ada_17_501_01_small.ipynb", "bo_18_502_a.ipynb"], [], []),
        (["ada_17_501_18_2_a.ipynb", "bo_18_502_a.ipynb"], [], ["ada_17_501_18_2_a.ipynb"]),
        (["x_18_77_503_a.ipynb"], ["77"], ["x_18_77_503_a.ipynb"]),
        (["x_18_77_503_a.ipynb"], ["503", "a"], []),
        (["ada_17_1_a.ipynb", "ada_LATE_17_2_a.ipynb", "ada_17_text.html"], ["17"], []),
    ],
)
def test_which_of_canvas_files_could_be_two_users(paths, there, doubtful):
    assert [*canvas_doubts(paths, there)] == doubtful


@pytest.mark.parametrize(
    "text", ["10", "tomorrow", "2026-09-01", "2026-09-01 10:00:00 /etc/localtime", "", "9" * 99]
)
def test_what_is_no_time_of_nbgraders(text):
    assert time_of(text.encode()) is None
