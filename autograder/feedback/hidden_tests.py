"""Where a check's hidden tests are, when the first of them ran, and what their author calls them.

A function that is called with a hidden test's inputs can remember them, and its process can say
them in anything that it prints, returns or raises from then on. So nothing here reads an output:
all follows from the check's own source and from the lines in which checks failed, which the
process that runs the tests reports.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from nbformat import NotebookNode

BEGIN, END = "BEGIN HIDDEN TESTS", "END HIDDEN TESTS"
# a check's method -> which of its arguments says in words what should hold
CLAIMS = {"equal": 2, "true": 1, "seal": 2, "fail": 0}
# of which it is certain that their lines run one after another, each once
STRAIGHT = (ast.With, ast.If)


class Title(NamedTuple):
    """A `with Check("exercise", "title")`: both texts, and its first and last line."""

    exercise: str
    text: str
    first: int
    last: int


def hidden_lines(source: str) -> set[int]:
    """The numbers, from 1, of the lines of a check's hidden tests, their marks included."""
    hidden, inside = set(), False
    for number, line in enumerate(source.split("\n"), 1):
        inside = inside or BEGIN in line
        if inside:
            hidden.add(number)
        inside = inside and END not in line
    return hidden


def visible(source: str) -> str:
    """A check as students get it."""
    hidden = hidden_lines(source)
    return "\n".join(t for n, t in enumerate(source.split("\n"), 1) if n not in hidden)


def first_hidden(notebook: NotebookNode, failed: Mapping[str, int]) -> int:
    """The number of the cell in which the first hidden test may have run; of cells, if none did.

    `failed` is `result.Finished`'s. What it does not tell counts as: it ran.
    """
    for number, cell in enumerate(notebook.cells):
        about = cell.metadata.get("nbgrader") or {}
        is_lessons = cell.cell_type == "code" and (about.get("locked") or about.get("grade"))
        if is_lessons and _may_have_run(cell.source, failed.get(about.get("grade_id", ""))):
            return number
    return len(notebook.cells)


def _may_have_run(source: str, line: int | None) -> bool:
    """Whether hidden tests may have run of a check that failed in this line; None: in no line."""
    hidden = hidden_lines(source)
    if not hidden or not line:
        return bool(hidden)
    begin, tree = min(hidden), parsed(source)
    statements = tree.body if tree else []
    while found := next((s for s in statements if s.lineno <= line <= _last(s)), None):
        if _last(found) < begin:
            return False
        # a loop's visible lines run again after its hidden ones, and so on
        if not isinstance(found, STRAIGHT):
            return True
        statements = [*found.body, *getattr(found, "orelse", [])]
    return True


def titles(source: str) -> list[Title]:
    """Each `with Check(…)` of a check in the order of their first lines, so parents come first."""
    tree = parsed(source)
    blocks = [node for node in ast.walk(tree) if isinstance(node, ast.With)] if tree else []
    return sorted(
        (title for block in blocks for title in _titles(block)), key=lambda title: title.first
    )


def around(source: str, line: int | None) -> list[Title]:
    """The titles of the blocks of a check that contain a line, the innermost last."""
    return [title for title in titles(source) if title.first <= (line or 0) <= title.last]


def met(source: str, line: int | None) -> list[Title]:
    """The titles that students see and that were met before a check failed here; None: it did not.

    Only those whose lines run for certain.
    """
    hidden, tree = hidden_lines(source), parsed(source)
    found = [title for block in _straight(tree.body if tree else []) for title in _titles(block)]
    return [t for t in found if t.first not in hidden and (line is None or t.last < line)]


def named(source: str, line: int | None, claim: str) -> tuple[str, str]:
    """What the hidden test that failed in this line tests, and what of it did not hold: in words.

    Both are in the source, and have no digit in them; either may be empty. `claim` is what the
    failure says, which may be anything.
    """
    hidden = hidden_lines(source)
    claims = {text for number, text in _claims(source) if number in hidden}
    innermost = next(reversed(around(source, line)), None)
    is_told = innermost and (_is_plain(innermost.text) or innermost.first not in hidden)
    title = innermost.text if innermost and is_told else ""
    return title, claim if claim in claims and _is_plain(claim) else ""


def _is_plain(words: str) -> bool:
    return not any(sign.isdigit() for sign in words)


def _last(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _straight(statements: Sequence[ast.stmt]) -> Iterator[ast.With]:
    """The `with` blocks that are no part of a loop, a branch or a function."""
    for block in statements:
        if isinstance(block, ast.With):
            yield block
            yield from _straight(block.body)


def _titles(block: ast.With) -> Iterator[Title]:
    for item in block.items:
        call = item.context_expr
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "Check":
            texts = [text for text in map(_text, call.args[:2]) if text is not None]
            if len(texts) == 2:
                yield Title(texts[0], texts[1], block.lineno, _last(block))


def _claims(source: str) -> Iterator[tuple[int, str]]:
    """The plain texts that say what should hold, each with its line."""
    tree = parsed(source)
    for node in ast.walk(tree) if tree else ():
        said: ast.expr | None = None
        if isinstance(node, ast.Assert):
            said = node.msg
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            place = CLAIMS.get(node.func.attr)
            given = [k.value for k in node.keywords if k.arg == "claim"]
            if place is not None:
                said = next(iter([*node.args[place : place + 1], *given]), None)
        if said is not None and (text := _text(said)) is not None:
            yield said.lineno, text


def _text(node: ast.expr) -> str | None:
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return node.value if is_text else None  # type: ignore[attr-defined]


@lru_cache(maxsize=500)  # the checks of a lesson, which are the same in all submissions
def parsed(source: str) -> ast.Module | None:
    """A check's syntax tree; None if it has none."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError):
        return None
