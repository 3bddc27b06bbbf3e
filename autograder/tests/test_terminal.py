"""What strangers call their files never commands the terminal, and is never passed over."""

import io
import os
import re

import pytest
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from autograder.commands import terminal
from autograder.commands.terminal import PrintableConsole, as_table
from autograder.gradebook.classroom import Classroom
from autograder.gradebook.status import State

# what a folder can be called -> how that is shown
NAMES = {
    "a\x1b[2Jb": "a\\x1b[2Jb",
    "c\x1b]0;title\x07": "c\\x1b]0;title\\x07",
    "d\x9b31m": "d\\x9b31m",
    "e\nbo: graded": "e\\nbo: graded",
    "f\u202egpj.exe": "f\\u202egpj.exe",
    "g\u2066h\u2028i": "g\\u2066h\\u2028i",
    "j\r\b\x7f": "j\\r\\x08\\x7f",
    ".hidden": ".hidden",
}
PLAIN = {"[bold]k[/]": "[bold]k[/]", "l :bomb:": "l :bomb:", "m\u200bn": "m\\u200bn", "ö ß": "ö ß"}


def shows(said: str) -> bool:
    """Whether a terminal only shows this, and does nothing else."""
    return all(line.isprintable() for line in said.split("\n"))


@pytest.mark.parametrize(("name", "shown"), (NAMES | PLAIN).items())
def test_whatever_is_printed_is_printable(capsys, name, shown):
    terminal.say(name)
    assert capsys.readouterr().out == f"{shown}\n"
    terminal.console.print(as_table(name, ("x" * 60,), [(name,)]))
    in_table = capsys.readouterr().out
    assert (shows(in_table), in_table.count(shown)) == (True, 2)
    terminal.console.print(Table("x", title=Text(name)), Text.from_ansi(name))
    assert shows(capsys.readouterr().out)


def test_only_its_own_codes_reach_a_terminal():
    """Colours and bars work as ever."""
    said = io.StringIO()
    console = PrintableConsole(
        file=said, force_terminal=True, color_system="standard", width=200, _environ={}
    )
    console.print(*NAMES, style="red")
    with Progress(console=console) as bar:
        for name in NAMES:
            bar.update(bar.add_task(name, total=2), advance=1)
    with console.status("\x1b]0;x\x07"):
        pass
    assert "\x1b[31m" in said.getvalue()
    own = re.compile(r"\x1b\[(\?25[lh]|2K|[0-9;]*m|1A)|\r")
    assert shows(own.sub("", said.getvalue()))


def test_half_a_character_does_not_stop_a_command(capsys):
    terminal.say("a\udcff")
    assert capsys.readouterr().out == "a\\udcff\n"


@pytest.fixture
def odd(small):
    """A class in which folders have odd names, and ada and bo ordinary ones."""
    for name in (*NAMES, "n\udcff"):
        small.receives(name)
    return small


def test_no_folder_is_passed_over(odd, recorder):
    code, said = odd.types("grade")
    assert (code, recorder) == (0, ["ada", "bo"])
    results = odd.results()
    assert {s for s, result in results.items() if result.state == State.GRADED} == {"ada", "bo"}
    for name, shown in NAMES.items():
        assert results[name].state == State.UNREADABLE
        assert f"{shown}: unreadable: rename the folder `{shown}`: plain text, no * ? [ ]" in said
        assert f"│ {shown} " in said
    report = odd.folder / "grade_reports" / "01_small.json"
    assert report.read_bytes().isascii()
    assert odd.report().keys() == results.keys()


def test_a_file_in_a_folders_place_is_told(small, recorder):
    (small.folder / "submitted" / "cleo").mkdir()
    (small.folder / "submitted" / "cleo" / "01_small").touch()
    code, said = small.types("grade")
    assert (code, recorder) == (0, ["ada", "bo"])
    assert "cleo: unreadable: a file called `01_small` in place of a folder" in said


def test_a_class_whose_folder_looks_like_a_pattern(small):
    moved = small.folder.with_name("class [1] *")
    os.rename(small.folder, moved)
    assert Classroom.open(moved).submitted("01_small") == {"ada", "bo"}


@pytest.mark.parametrize(
    "command",
    [
        ("grade", "--again"),
        ("grade", "--preview"),
        ("grade", "--student", "nobody"),
        ("feedback",),
        ("export",),
        ("export", "--format", "canvas"),
        ("export", "01", "--format", "moodle"),
        ("similar",),
        ("release",),
    ],
)
def test_no_command_sends_codes_to_the_terminal(odd, recorder, command):
    odd.types("grade", "--student", "ada")
    code, said = odd.types(*command)
    assert code == ("nobody" in command), said
    assert shows(said)


def test_collecting_sends_no_codes_to_the_terminal(odd, tmp_path):
    """Neither of folders, nor of files, nor of what is broken."""
    odd.folder.rename(tmp_path / "other")
    download = tmp_path / "other" / "submitted"
    for name in NAMES:
        (download / "ada" / name).touch()
        (download / f"{name}.zip").touch()
    (download / "bo" / "e\x1b.zip").write_bytes(b"PK")
    solutions = type(odd)(odd.course, tmp_path / "class")
    assert solutions.types("release")[0] == 0
    for options in ([], ["--from", "folder"], ["--from", "moodle"]):
        _, said = solutions.types("collect", "01", str(download), *options)
        assert shows(said)
        assert "\\x1b" in said or options[1:] == ["moodle"]
    code, said = solutions.types("collect", "01", str(tmp_path / "none\x1b[2J"))
    assert (code, shows(said), "none\\x1b[2J: no such file" in said) == (1, True, True)
