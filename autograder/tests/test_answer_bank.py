"""Answers that are written as changes to others: expanded exactly, or stopped with a fix."""

import shutil
import subprocess
import sys
from typing import Any

import pytest

from autograder import paths
from autograder.authoring.answer_bank import read_answers
from autograder.authoring.lesson import AuthoringError, all_lessons, percent_cells, read_lesson
from autograder.commands import cli
from autograder.paths import COURSE

LESSON = '''\
# %% exercise Scale
class Scale(nn.Module):
    """Multiply by a learned factor."""

    def __init__(self) -> None:
        """Begin with 1."""
        # BEGIN SOLUTION
        super().__init__()
        self.factor = nn.Parameter(torch.ones(()))
        # END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        # BEGIN SOLUTION
        return self.factor * x
        # END SOLUTION


# %% check Scale points=1
check = Check("Scale", "a claim")
'''
SOLUTION = """\
class Scale(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.factor = nn.Parameter(torch.ones(()))

    def forward(self, x: Tensor) -> Tensor:
        return self.factor * x"""
PARAMETER = "        self.factor = nn.Parameter(torch.ones(()))\n"


@pytest.fixture
def read(tmp_path):
    lesson = tmp_path / "01_scale.py"
    lesson.write_text(LESSON)

    def read(bank):
        path = tmp_path / "bank.py"
        path.write_text(bank)
        return {answer.name: answer for answer in read_answers(path, read_lesson(lesson))}

    return read


def changed(*lines, title='wrong Scale tried of="solution"'):
    return "\n".join([f"# %% {title}", "# You did", "# that.", *lines, ""])


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        pytest.param(
            ["# replace: return self.factor * x", "# by:      return x"],
            SOLUTION.replace("self.factor * x", "x"),
            id="a line",
        ),
        pytest.param(
            ["# replace: torch.ones(())", "# by:      torch.zeros(())"],
            SOLUTION.replace("ones", "zeros"),
            id="a part of a line",
        ),
        pytest.param(
            ["# replace: super().__init__()", "# by:"],
            SOLUTION.replace("        super().__init__()\n", ""),
            id="a line deleted",
        ),
        pytest.param(
            ["# replace: return self.factor * x", "# by:"],
            SOLUTION.removesuffix("\n        return self.factor * x"),
            id="the last line deleted",
        ),
        pytest.param(
            ["# replace:  * x", "# by:"],
            SOLUTION.removesuffix(" * x"),
            id="a part of a line deleted",
        ),
        pytest.param(
            [
                "# replace: super().__init__()",
                "# by:      super().__init__()",
                "#          if True:",
                "#              self.extra = 1",
                "#",
                "#          # a comment",
            ],
            SOLUTION.replace(
                PARAMETER,
                "        if True:\n            self.extra = 1\n\n        # a comment\n" + PARAMETER,
            ),
            id="lines inserted",
        ),
        pytest.param(
            [
                "# replace:     self.factor = nn.Parameter(torch.ones(()))",
                "#",
                "#          def forward(self, x: Tensor) -> Tensor:",
                "# by:          self.factor = 1",
                "#",
                "#          @torch.no_grad()",
                "#          def forward(self, x: Tensor) -> Tensor:",
            ],
            SOLUTION.replace("nn.Parameter(torch.ones(()))", "1").replace(
                "    def forward", "    @torch.no_grad()\n    def forward"
            ),
            id="several lines, a blank one, and less indentation",
        ),
        pytest.param(
            [
                "# replace: self.factor = nn.Parameter(torch.ones(()))",
                "# by:      self.scale = nn.Parameter(torch.ones(()))",
                "# replace: return self.factor * x",
                "# by:      return self.scale * x",
            ],
            SOLUTION.replace("factor", "scale"),
            id="two replacements",
        ),
    ],
)
def test_changes_are_made_exactly(read, lines, code):
    answer = read(changed(*lines))["tried"]
    assert answer.source == f"# You did\n# that.\n{code}"
    assert (answer.says, answer.right) == ("You did that.", False)


def test_answers_may_build_on_one_another_in_any_order(read):
    text = changed("# replace: torch.ones", "# by:      torch.zeros", title='wrong Scale b of="a"')
    text += '# %% right Scale c of="b"\n# replace: torch.zeros\n# by:      torch.rand\n'
    text += "# %% right Scale a\n# Not a part of b.\n" + SOLUTION + "\n"
    text += "# %% base Scale d\nscale = 1\n"
    text += '# %% right Scale e of="d"\n# replace: 1\n# by:      2\n'
    answers = read(text)
    assert list(answers) == ["b", "c", "a", "e"]
    assert answers["b"].source == "# You did\n# that.\n" + SOLUTION.replace("ones", "zeros")
    assert answers["c"].source == SOLUTION.replace("ones", "rand")
    assert answers["e"].source == "scale = 2"


ONE, TWO = "# replace: return self.factor * x", "# by:      return x"


@pytest.mark.parametrize(
    ("text", "line", "what", "fix"),
    [
        (changed("# replace: self.scale", TWO), 4, "occurs 0 times in `Scale solution`", "--show"),
        (changed(ONE, TWO, "# replace: self", TWO), 6, "occurs 3 times", "lines around it"),
        (changed(ONE), 4, "do not alternate", "one `# by:`"),
        (changed(TWO), 4, "do not alternate", "one `# by:`"),
        (changed(ONE, ONE, TWO), 4, "do not alternate", "one `# by:`"),
        (changed(ONE, TWO, TWO), 6, "do not alternate", "one `# by:`"),
        (changed("# replace:", TWO), 4, "`replace:` is empty", "write the text"),
        (changed(ONE, "# by: return x"), 5, "belongs to no text", "column 12"),
        (changed(ONE, TWO, "#     return x"), 6, "belongs to no text", "column 12"),
        (changed(ONE, TWO, "return x"), 6, "belongs to no text", "column 12"),
        (changed(), 1, "does not say what to `replace:`", "changes"),
        (changed(SOLUTION), 1, "does not say what to `replace:`", "changes"),
        (changed(ONE, TWO, title="wrong Scale a"), 1, "of what answer", 'of="solution"'),
        (changed(ONE, TWO, title="wrong Scale a of=solution"), 1, "of what", 'of="solution"'),
        (changed(ONE, TWO, title='wrong Scale a of="solutoin"'), 1, "no answer", "solution"),
        (changed(ONE, TWO, title='wrong Scale a of="a"'), 1, "circle: a of a", "whole"),
        (
            changed(ONE, TWO, title='wrong Scale a of="b"')
            + changed(ONE, TWO, title='wrong Scale b of="c"')
            + changed(ONE, TWO, title='right Scale c of="b"'),
            11,
            "circle: a of b of c of b",
            "whole",
        ),
        (changed(SOLUTION, title="right Scale solution"), 1, "the lesson's own", "another name"),
        (changed(SOLUTION, title="base Scale a"), 1, "no answer changes", "delete it"),
        ('# %% wrong Scale a of="solution"\n' + f"{ONE}\n{TWO}\n", 1, "what is wrong", "begin"),
    ],
)
def test_a_mistake_names_line_and_fix(read, text, line, what, fix):
    with pytest.raises(AuthoringError) as stopped:
        read(text)
    first, second = str(stopped.value).split("\n")
    assert f"bank.py:{line}: " in first
    assert what in first
    assert second.startswith("  fix: ")
    assert fix in second


@pytest.fixture(scope="module")
def written_out(tmp_path_factory):
    """A checkout of nothing but the banks, each as if it held no changes.

    In the banks themselves changes are comments, which linters do not read.
    """
    root = tmp_path_factory.mktemp("written_out")
    folder = root / COURSE.answers.relative_to(paths.ROOT)
    folder.mkdir(parents=True)
    shutil.copy(paths.ROOT / "pyproject.toml", root)
    for path in all_lessons():
        bank = COURSE.answers / path.name
        cells = [text for *_, text, data in percent_cells(bank) if data["title"] == "given imports"]
        cells += [answer.source for answer in read_answers(bank, read_lesson(path))]
        text = "".join(f"# %%\n{cell}\n\n\n" for cell in cells)
        (folder / path.name).write_text(f"{text.rstrip()}\n", encoding="utf-8")
    return root


@pytest.mark.parametrize("path", all_lessons(), ids=lambda path: path.stem)
def test_every_answer_compiles(path):
    for answer in read_answers(COURSE.answers / path.name, read_lesson(path)):
        compile(answer.source, f"{answer.exercise} {answer.name}", "exec")


@pytest.mark.parametrize(
    "command",
    [
        ("ruff", "check", "--no-cache", "."),
        ("ruff", "format", "--no-cache", "--check", "."),
        ("pyright", "--pythonpath", sys.executable),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_answers_written_out_obey(command, written_out):
    ran = subprocess.run(command, cwd=written_out, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def shown(*arguments: str) -> Any:
    with pytest.raises(SystemExit) as ended:
        cli.main(["prove", *arguments])
    return ended.value.code


def test_one_answer_is_shown_whole(tmp_path, capsys):
    lesson = read_lesson(COURSE.solutions / "07_encoder.py")
    for answer in read_answers(COURSE.answers / "07_encoder.py", lesson)[::40]:
        assert shown("07", "--show", answer.exercise, answer.name) == 0
        assert capsys.readouterr().out == f"{answer.source}\n"
    assert shown("--show", "FeedForward", "solution") == 0
    assert "BEGIN SOLUTION" not in capsys.readouterr().out


def test_of_a_bank_with_a_mistake_other_answers_are_shown(tmp_path, capsys):
    text = changed(ONE, TWO, title='wrong softmax a of="b"') + "# %% right softmax b\nx = 1\n"
    (tmp_path / "01_dot_product_attention.py").write_text(text)
    assert shown("01", "--answers", str(tmp_path), "--show", "softmax", "b") == 0
    assert capsys.readouterr().out == "x = 1\n"
    said = shown("01", "--answers", str(tmp_path), "--show", "softmax", "a")
    assert "occurs 0 times" in said


def test_an_answer_that_is_not_there_is_told_which_are_like_it():
    said = shown("07", "--show", "FeedForward", "relu_wice")
    assert said.startswith("no answer 'relu_wice' to FeedForward; there is relu_twice")
    assert "\n" not in said
    said = shown("--show", "FedForward", "relu_twice")
    assert said == "no exercise 'FedForward'; there is FeedForward"
