"""What was proven is not proven again, until something changes that it rests on."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder import paths
from autograder.authoring import proofs
from autograder.authoring.lesson import Lesson, read_lesson
from autograder.commands import cli
from autograder.paths import COURSE, Course
from autograder.tests.conftest import SMALL
from autograder.tests.support.proven import proof

BANK = """\
# %% wrong double squared
# You square the number.
def double(x):
    return x * x


# %% right double product
def double(x):
    return 2 * x


# %% wrong half whole
# You leave it whole.
def half(x):
    return x
"""


@pytest.fixture
def lesson(tmp_path) -> Lesson:
    """A small lesson with a bank, in a copy of what proving it rests on."""
    course = Course(tmp_path)
    for folder in ("execution", "authoring"):
        shutil.copytree(paths.ROOT / "autograder" / folder, tmp_path / "autograder" / folder)
    shutil.copytree(COURSE.kit, course.kit)
    shutil.copyfile(paths.ROOT / "pyproject.toml", tmp_path / "pyproject.toml")
    for folder in (course.solutions, course.answers, course.reports):
        folder.mkdir()
    (course.answers / "01_small.py").write_text(BANK, encoding="utf-8")
    (course.solutions / "01_small.py").write_text(SMALL, encoding="utf-8")
    return read_lesson(course.solutions / "01_small.py")


def again(lesson: Lesson) -> Lesson:
    """The lesson, read anew."""
    return read_lesson(lesson.path)


def replace(path: str, old: str, new: str) -> Callable[[Path], None]:
    """What changes a file below the copy."""

    def change(root: Path) -> None:
        file = root / path
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        assert old in text
        file.write_text(text.replace(old, new, 1) if old else text + new, encoding="utf-8")

    return change


CHANGES = {
    "an answer": replace("autograder/answers/01_small.py", "x * x", "x**2"),
    "what a teacher says": replace("autograder/answers/01_small.py", "You leave", "You left"),
    "a solution": replace("solutions/01_small.py", "x + x", "2 * x"),
    "a hidden test": replace("solutions/01_small.py", "double(3) == 6", "double(4) == 8"),
    "points": replace("solutions/01_small.py", "points=2", "points=3"),
    "the executor": replace("autograder/execution/executor.py", "", "\n# changed\n"),
    "the channel": replace("autograder/execution/isolation/wire.py", "", "\n# changed\n"),
    "the prover": replace("autograder/authoring/prove.py", "", "\n# changed\n"),
    "the kit's checks": replace("assets/transformer_course/checks/check.py", "", "\n# changed\n"),
    "a failed check": replace("assets/transformer_course/failure.py", "", "\n# changed\n"),
    "misconceptions": replace("assets/transformer_course/misconceptions/01_small.jsonl", "", "{}"),
    "the report": replace("autograder/reports/01_small.md", "", "All is well.\n"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_a_proof_rests_on_is_noticed_and_proven_anew(lesson, tmp_path, change):
    def kept() -> str:
        return proofs.digest_of_bank(again(lesson))

    proofs.keep(proofs.BANK, lesson, kept())
    with (
        pytest.raises(pytest.skip.Exception, match="proven before"),
        proof(proofs.BANK, lesson, kept(), again=False),
    ):
        pytest.fail("it was proven before")
    change(tmp_path)
    # or else this test would be skipped, not fail
    assert not proofs.fits(proofs.BANK, again(lesson), kept())
    ran = False
    with proof(proofs.BANK, lesson, kept(), again=False):
        ran = True
    assert ran


def test_another_torch_is_noticed(lesson, monkeypatch):
    before = proofs.digest_of_bank(lesson), proofs.digest_of_execution(lesson)
    monkeypatch.setattr(proofs, "version", lambda package: "99.0+cpu")
    after = proofs.digest_of_bank(lesson), proofs.digest_of_execution(lesson)
    assert not set(before) & set(after)


def test_prose_changes_neither(lesson, tmp_path):
    before = proofs.digest_of_bank(lesson), proofs.digest_of_execution(lesson)
    replace("solutions/01_small.py", "# # A lesson", "# # Another")(tmp_path)
    assert (
        proofs.digest_of_bank(again(lesson)),
        proofs.digest_of_execution(again(lesson)),
    ) == before


def test_code_that_is_not_graded_changes_what_is_executed_alone(lesson, tmp_path):
    before = proofs.digest_of_bank(lesson), proofs.digest_of_execution(lesson)
    replace("solutions/01_small.py", "", "\n# %%\n1 + 1\n")(tmp_path)
    after = proofs.digest_of_bank(again(lesson)), proofs.digest_of_execution(again(lesson))
    assert (before[0] == after[0], before[1] == after[1]) == (True, False)


@pytest.mark.parametrize(
    ("program", "code", "counts"),
    [
        ("view.js", "", True),
        ("mask.js", "show_mask(scores)", True),
        ("mask.py", "show_mask(scores)", True),
        ("mask.js", "show_block(block)", False),
        ("mask.py", "show_block(block)", False),
        ("gpt.forward.js", "show_gpt(model, encode, decode)", True),
        ("gpt.forward.js", "show_mask(scores)", False),
        ("gpt_network.py", "show_gpt(model, encode, decode)", True),
        ("gpt_network.py", "show_mask(scores)", False),
        ("layers.js", "show_gpt(model, encode, decode)", True),
        ("layers.js", "show_mask(scores)", False),
        ("windows.py", "show_reach(model)", True),
    ],
)
def test_a_program_of_a_view_changes_what_is_executed_where_it_is_shown(
    lesson, tmp_path, program, code, counts
):
    replace("solutions/01_small.py", "", f"\n# %%\n{code}\n")(tmp_path)
    before = proofs.digest_of_execution(again(lesson))
    replace(f"assets/transformer_course/widgets/{program}", "", "\n\n")(tmp_path)
    assert (proofs.digest_of_execution(again(lesson)) != before) == counts


@pytest.mark.parametrize(("code", "counts"), [("", False), ("from t.data.dots import two", True)])
def test_data_change_what_is_executed_where_they_are_imported(lesson, tmp_path, code, counts):
    replace("solutions/01_small.py", "", f"\n# %%\n{code}\n")(tmp_path)
    dots = tmp_path / "assets/transformer_course/data/dots.py"
    dots.parent.mkdir(exist_ok=True)
    dots.write_text("two = 2\n", encoding="utf-8")
    before = proofs.digest_of_execution(again(lesson))
    dots.write_text("two = 3\n", encoding="utf-8")
    assert (proofs.digest_of_execution(again(lesson)) != before) == counts


def test_no_data_use_others():
    for path in (COURSE.kit / "data").glob("*.py"):
        assert "transformer_course.data" not in path.read_text()


def test_what_confines_changes_no_proof(lesson, tmp_path):
    before = proofs.digest_of_bank(lesson)
    found = sorted((tmp_path / "autograder/execution").rglob("*.py"))
    confining = [path for path in found if path.name in proofs.CONFINING]
    assert len(confining) == len(proofs.CONFINING)
    for path in confining:
        path.write_text("# changed\n", encoding="utf-8")
    assert proofs.digest_of_bank(lesson) == before


def test_no_view_uses_another():
    programs = {path.stem: path for path in (COURSE.kit / "widgets").glob("*.py")}
    del programs["__init__"]
    views = [name for name, path in programs.items() if f"def show_{name}(" in path.read_text()]
    assert views
    for name, path in programs.items():
        imported = re.findall(r"transformer_course\.widgets\.(\w+)", path.read_text())
        assert not {*imported} & {*views} - {name}


def test_a_proof_that_fails_is_not_kept(lesson):
    with pytest.raises(AssertionError), proof("script", lesson, "0", again=True):
        raise AssertionError
    assert not proofs.fits("script", lesson, "0")
    with proof("script", lesson, "0", again=True):
        pass
    assert proofs.fits("script", lesson, "0")


def test_prove_keeps_what_it_proved(lesson, tmp_path):
    assert prove(lesson) == 0
    assert proofs.fits(proofs.BANK, lesson, proofs.digest_of_bank(lesson))
    replace("autograder/answers/01_small.py", "2 * x", "3 * x")(tmp_path)
    assert prove(lesson) == 1
    assert not proofs.fits(proofs.BANK, lesson, proofs.digest_of_bank(lesson))


def test_one_exercise_can_be_proven_alone_and_nothing_is_kept(lesson, tmp_path, capsys):
    replace("autograder/answers/01_small.py", "x * x", "2 * x")(tmp_path)
    assert prove(lesson, "--only", "half") == 0
    assert "3 answers, 0 judged unjustly" in capsys.readouterr().out
    assert not [*lesson.course.reports.iterdir()]
    assert prove(lesson, "--only", "half", "--only", "double") == 1


def test_an_exercise_that_is_not_there_is_named(lesson):
    with pytest.raises(SystemExit, match="no exercise 'halves'; there is half"):
        cli.main(["prove", "--only", "halves"], lesson.course)


def prove(lesson: Lesson, *options: str) -> int:
    """The exit code of the command."""
    with pytest.raises(SystemExit) as ended:
        cli.main(["prove", *options], lesson.course)
    assert isinstance(ended.value.code, int)
    return ended.value.code
