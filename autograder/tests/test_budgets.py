"""No zip, folder or disk stops the class: what one student's files cost is bounded."""

import contextlib
import errno
import itertools
import os
import shutil
import struct
import subprocess
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from autograder.gradebook.status import State
from autograder.intake import archive, handins
from autograder.intake.archive import LARGEST, Piece, Rejected
from autograder.intake.beside import MOST
from autograder.intake.budget import Budget
from autograder.intake.listing import DEEPEST, walk
from autograder.tests.test_collect import LESSON, counts, in_place, zipped
from autograder.tests.test_finding import task

NOTEBOOK = f"{LESSON}.ipynb"
HAN = "学" * 86  # 258 bytes


@pytest.fixture
def classroom(small_class, tmp_path):
    """A small lesson, released, and handed in by nobody yet."""
    return small_class.copy(tmp_path / "of")


@pytest.fixture
def solution(small):
    """The lesson, solved."""
    return small.file("submitted", "ada").read_bytes()


# --- zips -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Member:
    """A file in a zip that is written byte by byte; `data` is as it is to lie there."""

    name: bytes
    data: bytes
    size: int
    crc: int
    method: int = zipfile.ZIP_DEFLATED

    def header(self, local: bool, at: int = 0) -> bytes:
        """Before the data, or in the listing."""
        about = (20, 0, self.method, 0, 0x5B21, self.crc, len(self.data), self.size, len(self.name))
        if local:
            return struct.pack("<4s5H3I2H", b"PK\3\4", *about, 0) + self.name
        return struct.pack("<4s6H3I5H2I", b"PK\1\2", 20, *about, *[0] * 5, at) + self.name


def written(members: Iterable[Member]) -> tuple[bytes, bytes]:
    """What lies in a zip before its listing, and the listing."""
    data, listing = b"", b""
    for member in members:
        listing += member.header(False, len(data))
        data += member.header(True) + member.data
    return data, listing


def ended(data: bytes, listing: bytes, entries: bytes = b"\0" * 4, comment: bytes = b"") -> bytes:
    """A zip; what it says of the number of its files is read by nobody."""
    end = struct.pack("<4sHH4sIIH", b"PK\5\6", 0, 0, entries, len(listing), len(data), len(comment))
    return data + listing + end + comment


def deflated(data: bytes) -> bytes:
    packing = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packing.compress(data) + packing.flush()


def named(number: int, ending: str, data: bytes) -> list[Member]:
    """So many files that hold the same, deflated once."""
    packed, crc = deflated(data), zlib.crc32(data)
    return [Member(f"{n}.{ending}".encode(), packed, len(data), crc) for n in range(number)]


def overlapping(number: int, data: bytes) -> bytes:
    """Files that each hold all the following ones, with their headers: after David Fifield."""
    tail, members = data, []
    for n in reversed(range(number)):
        member = Member(f"{n}.ipynb".encode(), tail, len(tail), zlib.crc32(tail), 0)
        tail = member.header(True) + tail
        members.append((member, len(tail)))
    listing = b"".join(member.header(False, len(tail) - left) for member, left in members)
    return ended(tail, listing)


def long_listing(data: bytes) -> tuple[bytes, bytes]:
    """A notebook, and as much again of a listing as a zip may have."""
    notebook = Member(b"a.ipynb", data, len(data), zlib.crc32(data), 0)
    many = named(archive.LARGEST_LISTING // 46, "txt", b"")
    return written([notebook, *many])


def zip64(data: bytes, listing: bytes) -> bytes:
    """The listing's true length stands in a second record; the first says little."""
    at = len(data) + len(listing)
    second = struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, len(listing), len(data))
    found = struct.pack("<4sIQI", b"PK\6\7", 0, at, 1)
    return data + listing + second + found + ended(b"", b"")


Made = Callable[[bytes], bytes]

# a zip that a student hands in -> whether it is collected, what is said
TOO_MANY = "a zip of far too many files: ask for the notebook itself"
TAKEN = "left out: another file or folder has this name"
LONG = "left out: its name is too long for a disk"
BANK: Mapping[str, tuple[Made, bool, str]] = {
    "a file, and a folder of its name": (
        lambda s: zipped({"a.ipynb": s, "a": b"1", "a/b": b"2"}),
        True,
        f"`a/b` {TAKEN}",
    ),
    "a folder, and a file of its name": (
        lambda s: zipped({"a.ipynb": s, "a/b": b"2", "a": b"1"}),
        True,
        f"`a` {TAKEN}",
    ),
    "a name of over 255 bytes": (
        lambda s: zipped({"a.ipynb": s, f"{HAN}.txt": b"1", "ok": b""}),
        True,
        f"`{HAN}.txt` {LONG}",
    ),
    "a notebook's name of over 255 bytes": (lambda s: zipped({f"{HAN}/{HAN}.ipynb": s}), True, ""),
    "a hundred folders": (lambda s: zipped({"a.ipynb": s, "d/" * 100 + "f": b"1"}), True, LONG),
    "two thousand folders": (
        lambda s: zipped({"a.ipynb": s, "d/" * 2000 + "f": b"1"}),
        True,
        LONG,
    ),
    "a notebook in two thousand folders": (
        lambda s: zipped({"d/" * 2000 + "a.ipynb": s}),
        True,
        "",
    ),
    "a path longer than any disk's": (
        lambda s: zipped({"a.ipynb": s, f"{'d' * 250}/" * 20 + "f": b"1"}),
        True,
        LONG,
    ),
    "a file without a name": (
        lambda s: ended(*written([*named(1, "ipynb", s), Member(b"", b"", 0, 0, 0)])),
        True,
        "its name leads out of the folder",
    ),
    "more files than may lie beside a notebook": (
        lambda s: ended(*written([*named(MOST + 9, "txt", b""), *named(1, "ipynb", s)])),
        True,
        f"and {9 - 3} more left out: over {MOST:,} files and folders beside the notebook",
    ),
    "a listing that is too long": (lambda s: ended(*long_listing(s)), False, TOO_MANY),
    "the same, and the end says so twice": (
        lambda s: ended(*long_listing(s), entries=b"PK\5\6"),
        False,
        TOO_MANY,
    ),
    "the same, in a zip64": (lambda s: zip64(*long_listing(s)), False, TOO_MANY),
    "a comment that looks like the end": (
        lambda s: ended(*long_listing(s), comment=ended(b"", b"") + b"x"),
        False,
        "an empty zip",
    ),
    "50 MB that unpack to 15 GB": (
        lambda s: ended(*written([*named(300, "bin", bytes(LARGEST)), *named(1, "ipynb", s)])),
        True,
        "`0.bin`, `1.bin`, `2.bin` and 297 more left out: over 10 MB beside the notebook",
    ),
    "50 MB of notebooks that unpack to 15 GB": (
        lambda s: ended(*written([*named(1, "ipynb", s), *named(300, "ipynb.1", bytes(LARGEST))])),
        True,
        "and 296 more refused: unpacks to over 100 MB altogether: ask for the notebook itself",
    ),
    "notebooks that overlap": (
        lambda s: overlapping(300, s + b" " * (1 << 20)),
        True,
        "refused: unpacks to over 100 MB altogether",
    ),
    "zips in a zip that unpack to 15 GB": (
        lambda s: ended(*written([*named(300, "zip", bytes(LARGEST)), *named(1, "ipynb", s)])),
        True,
        "refused: unpacks to over 100 MB altogether",
    ),
    "zips in a zip, each of thousands of files of no use": (
        lambda s: zipped(
            {"a.ipynb": s}
            | {f"{n}.zip": ended(*written(named(12_000, "d/", b""))) for n in range(9)}
        ),
        True,
        "refused: too many files in zips: ask for the notebook itself",
    ),
}


@pytest.mark.parametrize("name", BANK)
def test_a_zip_costs_its_student_at_most(classroom, solution, tmp_path, monkeypatch, name):
    made, is_collected, said = BANK[name]
    read: list[int] = []
    whole = archive._whole
    monkeypatch.setattr(
        archive, "_whole", lambda opening: read.append(len(data := whole(opening))) or data
    )
    zipped({"ada_17_1_a.zip": made(solution), "bo_18_2_a.ipynb": solution}, tmp_path / "a.zip")
    code, told = classroom.types("collect", "01", str(tmp_path / "a.zip"))
    assert (code, counts(told)) == (0, [1 + is_collected, 0, 0, 0, 1 - is_collected]), told
    assert said in told
    assert in_place(classroom, "18") == {NOTEBOOK: solution}
    if is_collected:
        assert in_place(classroom, "17")[NOTEBOOK].rstrip(b" ") == solution
        # the same again changes nothing
        assert counts(classroom.types("collect", "01", str(tmp_path / "a.zip"))[1])[2] == 2
    # both times, each notebook once to compare them, and the newest once more
    assert sum(read) < 5 * Budget.room


@pytest.mark.parametrize("name", BANK)
def test_the_same_zip_costs_grading_no_more(small, recorder, tmp_path, name):
    """It was put into `submitted` by hand."""
    solution = small.file("submitted", "bo").read_bytes()
    small.file("submitted", "bo").with_name("a.zip").write_bytes(BANK[name][0](solution))
    small.file("submitted", "bo").unlink()
    code, said = small.types("grade")
    state = small.results()["bo"].state
    assert (code, recorder[0]) == (0, "ada"), said
    assert state == (State.GRADED if BANK[name][1] else State.UNREADABLE), said
    for file, data in task(small, "bo").files.items():
        # as the student's process does, in its own folder
        (tmp_path / "placed" / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "placed" / file).write_bytes(data)


def test_what_is_newer_is_unpacked_first(classroom, solution, tmp_path):
    older = zipped({f"{n}.ipynb": bytes(45 << 20) for n in range(2)})
    newer = zipped({"c.ipynb": solution + b" " * (40 << 20)})
    zipped({"ada_17_1_a.zip": older, "ada_17_2_c.zip": newer}, tmp_path / "a.zip")
    _, said = classroom.types("collect", "01", str(tmp_path / "a.zip"))
    assert in_place(classroom, "17")[NOTEBOOK].rstrip(b" ") == solution
    assert "`1.ipynb` refused: unpacks to over 100 MB altogether" in said


def test_a_long_listing_is_not_read():
    with pytest.raises(Rejected, match="far too many files"):
        archive.unzipped(Piece("a.zip", lambda: ended(*long_listing(b""))))


def test_an_instructors_own_zip_may_be_large(classroom, solution, tmp_path):
    """Its listing is longer than a student's may be."""
    files = {f"{student}/{'x' * 200}{n}.txt": b"" for student in "ab" for n in range(2_500)}
    zipped(files | {"a/a.ipynb": solution, "b/b.ipynb": solution}, tmp_path / "a.zip")
    listing = sum(len(name) + 46 for name in files)
    code, said = classroom.types("collect", "01", str(tmp_path / "a.zip"))
    assert (code, counts(said), listing > archive.LARGEST_LISTING) == (0, [2, 0, 0, 0, 0], True)


def test_odd_files_by_the_thousand_are_told_in_few_lines(classroom, solution, tmp_path):
    odd = {f"ada/{n}\x07.txt": b"" for n in range(5_000)}
    zipped(odd | {"ada/a.ipynb": solution}, tmp_path / "a.zip")
    code, said = classroom.types("collect", "01", str(tmp_path / "a.zip"))
    assert (code, counts(said)) == (0, [1, 0, 0, 0, 5_000])
    assert "and 4,980 more: its name is no plain text: ask for it under another name" in said
    assert len(said.splitlines()) < 50


def test_very_many_loose_files_of_one_student(classroom, solution, tmp_path, monkeypatch):
    """As Gradescope unpacks them: the notebook counts, wherever it stands."""
    monkeypatch.setattr(handins, "MOST_FILES", 50)
    files = {f"ada/{n}.txt": b"" for n in range(60)} | {"ada/z.ipynb": solution}
    zipped(files | {"bo/a.ipynb": solution}, tmp_path / "a.zip")
    code, said = classroom.types("collect", "01", str(tmp_path / "a.zip"))
    assert (code, counts(said)) == (0, [2, 0, 0, 0, 0])
    assert "ada: over 50 files: those further down are left out" in said
    assert len(in_place(classroom, "ada")) == 51


def test_very_many_notebooks_of_one_student(classroom, solution, tmp_path):
    inside = {f"{n:03}.ipynb": solution + b" " * n for n in range(100)}
    zipped({"ada_17_1_a.zip": zipped(inside)}, tmp_path / "a.zip")
    _, said = classroom.types("collect", "01", str(tmp_path / "a.zip"))
    assert "100 notebooks: only the newest 20 are looked at" in said
    assert "`a.zip/001.ipynb`, `a.zip/002.ipynb`, `a.zip/003.ipynb` and 16 more" in said
    assert in_place(classroom, "17") == {NOTEBOOK: solution}


# --- folders --------------------------------------------------------------------------------------


@pytest.fixture
def deep(tmp_path):
    """Two thousand folders inside one another, which no ordinary program can remove."""
    (top := tmp_path / "deep").mkdir()
    before = os.open(top, os.O_RDONLY)
    for _ in range(2_000):
        os.mkdir("d", dir_fd=before)
        inside = os.open("d", os.O_RDONLY, dir_fd=before)
        os.close(before)
        before = inside
    os.close(before)
    yield top
    subprocess.run(["rm", "-rf", tmp_path], check=True)


def test_a_folder_is_listed_however_deep(deep):
    (deep / "d/a.txt").touch()
    files = [*walk(str(deep))]
    assert [(each.called, each.why_not) for each in files] == [
        ("d/a.txt", ""),
        ("d" + "/d" * DEEPEST, "over 100 folders inside one another: ask for the notebook itself"),
    ]


def test_of_very_many_files_the_first_are_listed(tmp_path):
    for name in ("b", "a", "c", ".x"):
        (tmp_path / "d" / name).mkdir(parents=True)
        (tmp_path / "d" / name / "f").touch()
    for most, listed in ((5, []), (6, ["d/a/f"]), (99, ["d/a/f", "d/b/f", "d/c/f"])):
        files = [*walk(str(tmp_path), most)]
        assert [each.called for each in files if not each.why_not] == listed
        too_many = [each.why_not for each in files if each.why_not]
        told = [f"over {most} files and folders: ask for the notebook itself"]
        assert too_many == (told if most < 8 else [])


def test_of_a_folder_without_end_no_more_is_read(tmp_path, monkeypatch):
    (tmp_path / "a").touch()
    scandir = os.scandir

    @contextlib.contextmanager
    def endless(path: str) -> Iterator[Iterator[os.DirEntry[str]]]:
        with scandir(path) as entries:
            yield itertools.islice(itertools.repeat(next(entries)), 1_000_000)

    monkeypatch.setattr(os, "scandir", endless)
    tracemalloc.start()
    assert len([*walk(str(tmp_path), 10)]) == 11
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_folders_two_thousand_deep_stop_nobody(small, recorder, deep, tmp_path):
    """Neither in a download, nor where it is graded."""
    (deep / "ada").mkdir()
    shutil.copy(small.file("submitted", "ada"), deep / "ada" / NOTEBOOK)
    os.rename(deep / "d", deep / "ada" / "d")
    code, said = small.types("collect", "01", str(deep))
    refused = "over 100 folders inside one another: ask for the notebook itself"
    assert (code, refused in said, counts(said)) == (0, True, [0, 0, 1, 0, 1])
    os.rename(deep / "ada" / "d", small.file("submitted", "ada").parent / "d")
    code, said = small.types("grade")
    assert (code, recorder) == (0, ["ada", "bo"]), said
    small.file("submitted", "ada").unlink()
    code, said = small.types("grade")
    assert (code, f"{refused}\n" in said.split("ada: unreadable: ")[1]) == (0, True)


def test_very_many_files_in_a_folder_stop_nobody(small, recorder):
    place = small.file("submitted", "ada")
    for number in range(MOST + 2):
        (place.parent / f"{number}.txt").touch()
    too_many = f"over {MOST:,} files and folders: ask for the notebook itself"
    found = task(small, "ada")
    assert found.files == {}
    assert found.note == f"nothing beside the notebook is taken along: {too_many}"
    assert (small.types("grade")[0], recorder) == (0, ["ada", "bo"])
    place.rename(place.with_suffix(".txt"))
    code, said = small.types("grade")
    assert (code, f"ada: unreadable: {too_many}" in said) == (0, True)


def test_a_file_beside_that_cannot_be_read_is_left_out(small, monkeypatch):
    other = small.file("submitted", "ada").with_name("data.csv")
    other.touch()
    monkeypatch.setattr(Path, "read_bytes", raising(errno.EACCES, other.name, Path.read_bytes))
    assert task(small, "ada").note == "`data.csv` left out: Permission denied"
    monkeypatch.setattr(Path, "read_bytes", raising(errno.EIO, other.name, Path.read_bytes))
    with pytest.raises(OSError, match="Input/output error"):
        task(small, "ada")


def test_a_notebook_that_cannot_be_read_is_passed_over(small, monkeypatch):
    place = small.file("submitted", "ada")
    shutil.copy(place, place.with_name("b.ipynb"))
    place.rename(place.with_name("a.ipynb"))
    monkeypatch.setattr(Path, "open", raising(errno.EACCES, "b.ipynb", Path.open))
    assert task(small, "ada").note.endswith("the notebook was found in `a.ipynb`")
    monkeypatch.setattr(Path, "open", raising(errno.EIO, "b.ipynb", Path.open))
    with pytest.raises(OSError, match="Input/output error"):
        task(small, "ada")


def test_a_zip_whose_only_notebook_is_broken_stops_nobody(small, recorder):
    place = small.file("submitted", "bo")
    whole = zipped({"a.ipynb": place.read_bytes()})
    middle = len(whole) // 3
    place.with_name("a.zip").write_bytes(whole[:middle] + bytes(40) + whole[middle + 40 :])
    place.unlink()
    code, said = small.types("grade")
    assert (code, recorder) == (0, ["ada"]), said
    assert "bo: unreadable: cannot be read (" in said


# --- disks ----------------------------------------------------------------------------------------


def raising(code: int, name: str, otherwise: Callable) -> Callable:
    """In place of a method of `Path`: an error for files of this name."""

    def method(path: Path, *given: object, **named: object) -> object:
        if path.name == name:
            raise OSError(code, os.strerror(code), str(path))
        return otherwise(path, *given, **named)

    return method


STUDENTS = ("ENAMETOOLONG", "EINVAL", "EILSEQ", "ENOTDIR", "EISDIR", "ELOOP", "EACCES")
EVERYBODYS = ("ENOSPC", "EDQUOT", "EROFS", "EIO", "ENOMEM", "EMFILE")


@pytest.mark.parametrize("name", STUDENTS)
def test_what_a_disk_cannot_hold_is_left_out(classroom, solution, tmp_path, monkeypatch, name):
    code = getattr(errno, name)
    monkeypatch.setattr(Path, "write_bytes", raising(code, "x", Path.write_bytes))
    files = {"ada_17_1_a.zip": zipped({"a.ipynb": solution, "x": b"1", "y": b"2"})}
    zipped(files | {"bo_18_2_a.ipynb": solution}, tmp_path / "a.zip")
    told = classroom.types("collect", "01", str(tmp_path / "a.zip"))
    assert (told[0], counts(told[1])) == (0, [2, 0, 0, 0, 0])
    assert f"`x` left out: this disk cannot hold it ({os.strerror(code)})" in told[1]
    assert in_place(classroom, "17") == {NOTEBOOK: solution, "y": b"2"}
    again = classroom.types("collect", "01", str(tmp_path / "a.zip"))
    assert (again[0], counts(again[1])) == (0, [0, 0, 2, 0, 0])
    assert not (classroom.folder / ".collecting").exists()


@pytest.mark.parametrize("name", EVERYBODYS)
def test_what_is_wrong_with_the_disk_is_one_clear_error(
    classroom, solution, tmp_path, monkeypatch, name
):
    code = getattr(errno, name)
    monkeypatch.setattr(Path, "write_bytes", raising(code, "x", Path.write_bytes))
    files = {"ada_17_1_a.zip": zipped({"a.ipynb": solution, "x": b"1"})}
    zipped(files | {"bo_18_2_a.ipynb": solution}, tmp_path / "a.zip")
    ended, said = classroom.types("collect", "01", str(tmp_path / "a.zip"))
    assert (ended, os.strerror(code) in said.splitlines()[-1]) == (1, True)
    assert not (classroom.folder / "submitted" / "17").exists()


@pytest.mark.parametrize(("name", "stops"), [("EIO", True), ("EACCES", False)])
def test_a_download_that_cannot_be_read(classroom, solution, tmp_path, monkeypatch, name, stops):
    """A broken disk is no student's; a file that nobody may read is."""
    code = getattr(errno, name)
    for student in ("ada", "bo"):
        (tmp_path / "d" / student).mkdir(parents=True)
        (tmp_path / "d" / student / f"{student}.ipynb").write_bytes(solution)
    otherwise = archive._whole

    def whole(opening: Callable) -> bytes:
        with opening() as file:
            path = Path(file.name)
        return otherwise(lambda: raising(code, "ada.ipynb", Path.open)(path, "rb"))

    monkeypatch.setattr(archive, "_whole", whole)
    ended, said = classroom.types("collect", "01", str(tmp_path / "d"))
    assert (ended, (classroom.folder / "submitted" / "bo").exists()) == (stops, not stops)
    told = os.strerror(code) if stops else f"cannot be read ({os.strerror(code)}): ask for the"
    assert told in said


def test_a_student_whose_folder_cannot_be_made_stops_nobody(
    classroom, solution, tmp_path, monkeypatch
):
    (classroom.folder / "submitted").mkdir()
    (classroom.folder / "submitted" / "17").touch()
    zipped({f"x_{n}_1_a.ipynb": solution for n in (17, 18)}, tmp_path / "a.zip")
    code, said = classroom.types("collect", "01", str(tmp_path / "a.zip"))
    assert (code, counts(said)) == (0, [1, 0, 0, 0, 1])
    assert "17 (x): refused: this disk cannot hold it (" in said


def test_what_was_there_stays_if_nothing_can_take_its_place(small, tmp_path, monkeypatch):
    before = in_place(small, "ada")
    zipped({"ada/a.ipynb": before[NOTEBOOK] + b"\n"}, tmp_path / "a.zip")
    rename = os.rename

    def once(source: Path, target: Path) -> None:
        if ".collecting" in str(source):
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
        rename(source, target)

    monkeypatch.setattr(os, "rename", once)
    code, said = small.types("collect", "01", str(tmp_path / "a.zip"), "--from", "folder")
    assert (code, "File name too long" in said) == (1, True)
    assert in_place(small, "ada") == before
