"""Expand answers that are written as changes to another answer, or to the lesson's solution.

    # %% wrong EncoderBlock drops_norms of="solution"
    # You leave out the norms: normalise what attention and the feed-forward network read.
    # replace: x = x + self.attend(self.norm1(x), mask)
    # by:      x = x + self.attend(x, mask)

Both texts begin in the same column, and may continue there on further lines. They are dedented:
the line in which the old text is found gives their indentation. An old text occurs exactly once.
An empty `by:` deletes; to insert, repeat the line before or after. Several replacements are made
in their order.
"""

import ast
import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

from autograder.authoring.lesson import AuthoringError

REPLACE, BY = "# replace:", "# by:"
COLUMN = len("# replace: ")  # where texts begin


@dataclass(frozen=True)
class Replacement:
    """A text and what takes its place; `line` is the replacement's in the file."""

    line: int
    old: str
    new: str

    def positions(self, text: str) -> list[int]:
        """Where the old text begins."""
        first = re.escape(self.old.split("\n")[0])
        starts = [match.start() for match in re.finditer(f"(?={first})", text)]
        return [start for start in starts if text.startswith(_at(text, start, self.old), start)]

    def apply(self, text: str) -> str:
        """Replace the old text, which occurs once."""
        (start,) = self.positions(text)
        before, after = text[:start], text[start + len(_at(text, start, self.old)) :]
        if not self.new and _whole_lines(before, after):
            return (before.rstrip(" ") + after.removeprefix("\n")).rstrip("\n")
        return before + _at(text, start, self.new) + after


def has_replacements(source: str) -> bool:
    """Whether an answer holds replacements."""
    return re.search(rf"^({REPLACE}|{BY})", source, re.MULTILINE) is not None


def split_comment(source: str) -> tuple[str, str]:
    """An answer's leading comment, which holds the teacher's sentence, and what follows it."""
    lines = source.split("\n")
    ends = (n for n, line in enumerate(lines) if not line.startswith("#") or has_replacements(line))
    end = next(ends, len(lines))
    return "\n".join(lines[:end]), "\n".join(lines[end:])


def read_replacements(path: Path, line: int, text: str) -> list[Replacement]:
    """The replacements in a text whose first line is `line` of the file."""
    blocks: list[tuple[int, str, list[str]]] = []
    for number, written in enumerate(text.split("\n"), line):
        keyword = next((word for word in (REPLACE, BY) if written.startswith(word)), "")
        if keyword:
            blocks.append((number, keyword, []))
        if not written.startswith("#") or written[len(keyword) or 1 : COLUMN].strip():
            what = "this line belongs to no text of `replace:` or `by:`"
            fix = f"begin each text in column {COLUMN + 1}, behind `#`, `{REPLACE}` or `{BY}`"
            raise AuthoringError(path, number, what, fix)
        blocks[-1][2].append(written[COLUMN:])
    return [_pair(path, blocks[n : n + 2]) for n in range(0, len(blocks), 2)]


def solution_code(source: str) -> str:
    """The code of a solved exercise as answers have it: no markers, no docstrings."""
    solved = without_markers(source)
    lines: list[str | None] = [*solved.split("\n")]
    for node in ast.walk(ast.parse(solved)):
        if not isinstance(node, ast.FunctionDef | ast.ClassDef) or not ast.get_docstring(node):
            continue
        start, end = node.body[0].lineno - 1, node.body[0].end_lineno or node.body[0].lineno
        if lines[end : end + 1] != [""]:
            end -= 1
        lines[start : end + 1] = [None] * (end + 1 - start)
    return "\n".join(line for line in lines if line is not None)


def without_markers(source: str) -> str:
    """A solved cell without the lines that mark its solution."""
    kept = [line for line in source.split("\n") if not re.search("(BEGIN|END) SOLUTION", line)]
    return "\n".join(kept)


def _pair(path: Path, blocks: list[tuple[int, str, list[str]]]) -> Replacement:
    """A `replace:` and the `by:` that follows it."""
    line = blocks[0][0]
    if [keyword for _, keyword, _ in blocks] != [REPLACE, BY]:
        fix = "follow each `# replace:` by one `# by:`, which is empty if the text is to go"
        raise AuthoringError(path, line, "`replace:` and `by:` do not alternate", fix)
    old, new = ("\n".join(lines) for _, _, lines in blocks)
    if not old.split("\n")[0].strip():
        raise AuthoringError(path, line, "`replace:` is empty", "write the text that is to change")
    return Replacement(line, old, new)


def _at(text: str, start: int, dedented: str) -> str:
    """A dedented text as it would be written at `start`: further lines have its indentation."""
    before = text[text.rfind("\n", 0, start) + 1 : start]
    indentation = before[: len(before) - len(before.lstrip(" "))]
    return textwrap.indent(dedented, indentation).removeprefix(indentation)


def _whole_lines(before: str, after: str) -> bool:
    """Whether what lies between the two takes up whole lines."""
    return not before[before.rfind("\n") + 1 :].strip() and after[:1] in ("\n", "")
