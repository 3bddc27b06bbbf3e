"""No text keeps a regular expression busy: each is run on a megabyte of its worst (slowest.py)."""

import copy
import itertools
import re
import signal
import subprocess
import sys

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from autograder import paths
from autograder.execution.isolation.shell import MAGIC
from autograder.feedback import sanitized
from autograder.intake import matching
from autograder.similarity.pieces import STRING_OR_COMMENT
from autograder.tests.support import patterns
from autograder.tests.support.slowest import TABLE, Worst


def test_each_pattern_has_its_worst_text() -> None:
    """Whoever writes a pattern says in slowest.py on which text it is slowest."""
    there = {(one.file, one.text) for one in patterns.found()}
    told = {(file, text) for file, texts in TABLE.items() for text in texts}
    assert there - told == set(), "without an entry in slowest.py"
    assert told - there == set(), "in slowest.py, and nowhere else"


def test_patterns_that_are_made_as_the_program_runs_are_those_of_the_table() -> None:
    def instead(file: str) -> set[str]:
        texts = TABLE[file].values()
        return {worst.instead for worst in texts if isinstance(worst, Worst)} - {""}

    assert instead("autograder/intake/matching.py") == {matching._definition("f").pattern}


def too_slow(kind: str) -> list[str]:
    """Which of these tasks were ended because they computed for too long."""
    slow: list[str] = []
    first = 0
    while True:
        command = [sys.executable, "-m", "autograder.tests.support.patterns", kind, str(first)]
        ended = subprocess.run(command, cwd=paths.ROOT, capture_output=True, text=True)
        if ended.returncode == 0:
            return slow
        assert ended.returncode == -signal.SIGXCPU, ended.stderr
        number, _, name = ended.stdout.strip().split("\n")[-1].partition(" ")
        slow.append(name)
        first = int(number) + 1


@pytest.mark.parametrize("kind", ["patterns", "libraries"])
def test_none_takes_longer_than_a_text_is_long(kind: str) -> None:
    assert too_slow(kind) == []


def test_more_than_an_honest_notebook_is_not_given_to_a_library() -> None:
    """Many cells, each at its bound: what is left for mistune and Pygments has a bound too."""
    shown = [
        new_output("display_data", {"text/html": "a" * sanitized.MAX_MARKUP}) for _ in range(99)
    ]
    cells = [new_code_cell(outputs=shown)]
    cells += [new_markdown_cell("a" * sanitized.MAX_MARKDOWN) for _ in range(99)]
    cells += [new_code_cell("a" * sanitized.MAX_MARKUP) for _ in range(99)]
    for part in (cells, cells[1:]):
        notebook = new_notebook(cells=copy.deepcopy(part))
        sanitized.limit_markup(notebook)
        marked = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
        for cell in notebook.cells:
            marked += [output.data.get("text/html", "") for output in cell.get("outputs", [])]
        code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
        assert 0 < len("".join(marked)) <= sanitized.MAX_NOTEBOOK
        assert 0 < len("".join(code)) <= sanitized.MAX_NOTEBOOK


# --- faster, and the same ----------------------------------------------------------------------

# the pattern, what it was while some text kept it busy, and the signs of which all texts are tried
FASTER = {
    "a progress bar": (sanitized.OVERWRITTEN, r"[^\n]*\r(?!\n)", "ab\r\n"),
    "magic": (MAGIC, r"(?m)^\s*([%!?,;/>]|In \[)|=\s*[%!]|\?\s*$|\A\s", "a \n%=?"),
    # but for a quote that is escaped in a string without an end
    "strings and comments": (
        STRING_OR_COMMENT,
        r"""(?P<quotes>\"{3}|'{3})[\s\S]*?(?P=quotes)"""
        r"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|#(?P<comment>[^\n]*)""",
        "a\"'#\n",
    ),
}


@pytest.mark.parametrize("which", FASTER)
def test_a_faster_pattern_finds_what_the_slow_one_found(which: str) -> None:
    pattern, slow, signs = FASTER[which]
    texts = map("".join, itertools.product(signs, repeat=6))
    if which == "magic":  # asked only whether there is any
        different = [t for t in texts if bool(pattern.search(t)) != bool(re.search(slow, t))]
    else:
        before = re.compile(slow)
        different = [t for t in texts if pattern.sub("-", t) != before.sub("-", t)]
    assert different == []
