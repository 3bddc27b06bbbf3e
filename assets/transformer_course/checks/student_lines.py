"""The lines of the student's code that an error passed through, and what the last one used."""

import ast
import linecache
from dataclasses import dataclass
from itertools import islice
from types import TracebackType
from typing import Any

from torch import Tensor, nn

MOST_VALUES = 6  # of a failing expression
LONGEST = 1000  # characters of one whose values are shown


@dataclass(frozen=True)
class StudentLine:
    """A line of the student's code that an error passed through."""

    number: int
    text: str
    within: str
    values: str  # of the innermost line: the tensors and numbers that its expression uses


def student_lines(error: BaseException, namespace: dict[str, Any]) -> list[StudentLine]:
    """The lines of the student's own cells in `error`'s traceback, the innermost last.

    An error that comes from the student's work in another process brings them along.
    """
    if hasattr(error, "student_lines"):
        return error.student_lines  # type: ignore[attr-defined]
    passed = []
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_globals is namespace:
            passed.append(traceback)
        traceback = traceback.tb_next
    return [_line(traceback, innermost=traceback is passed[-1]) for traceback in passed]


def _line(traceback: TracebackType, innermost: bool) -> StudentLine:
    frame, number = traceback.tb_frame, traceback.tb_lineno
    text = linecache.getline(frame.f_code.co_filename, number, frame.f_globals).strip()
    values = _values(traceback) if innermost else ""
    return StudentLine(number, text, frame.f_code.co_qualname, values)


def _values(traceback: TracebackType) -> str:
    """The tensors and numbers that the failing expression names: `x (2, 3) float32, n 4`."""
    try:
        shown = islice(_named_values(traceback), MOST_VALUES)
        return ", ".join(f"{name} {value}" for name, value in shown)
    # A statement, a line that is no longer there, a number without end, or whatever the
    # student's own classes raise: the error itself must be told all the same.
    except Exception:
        return ""


def _named_values(traceback: TracebackType) -> list[tuple[str, str]]:
    variables = traceback.tb_frame.f_locals
    tree = ast.parse(f"({_expression(traceback)})", mode="eval")
    used = [node for node in ast.walk(tree) if isinstance(node, ast.Name | ast.Attribute)]
    told = {node: _told(_looked_up(node, variables)) for node in used}
    # of `self.w.bias` that is one value, not three
    parts = {part for node in used if told[node] for part in ast.walk(node) if part != node}
    used = sorted(set(used) - parts, key=lambda node: (node.lineno, node.col_offset))
    return list({ast.unparse(node): told[node] for node in used if told[node]}.items())


def _expression(traceback: TracebackType) -> str:
    """The source of the expression that failed."""
    code, nowhere = traceback.tb_frame.f_code, (None,) * 4
    at = next(islice(code.co_positions(), traceback.tb_lasti // 2, None), nowhere)
    first, last, start, end = at
    if first is None or last is None or start is None or end is None:
        return ""
    lines = linecache.getlines(code.co_filename, traceback.tb_frame.f_globals)[first - 1 : last]
    source = b"\n".join(line.rstrip("\n").encode() for line in lines)  # columns count bytes
    cut = len(lines[-1].rstrip("\n").encode()) - end if lines else 0
    found = source[start : len(source) - cut].decode(errors="replace")
    return found if len(found) <= LONGEST else ""


def _looked_up(node: ast.expr, variables: dict[str, Any]) -> Any:
    """What a name, or a dotted name of a module, stands for."""
    if isinstance(node, ast.Name):
        return variables.get(node.id)
    if not isinstance(node, ast.Attribute):
        return None
    owner = _looked_up(node.value, variables)
    held = vars(owner) if issubclass(type(owner), nn.Module) else {}
    places = (held, *(held.get(part, {}) for part in ("_parameters", "_buffers", "_modules")))
    return next((place[node.attr] for place in places if node.attr in place), None)


def _told(value: Any) -> str:
    """A tensor's shape and dtype, a layer's widths or a plain number; nothing of other classes."""
    if type(value) in (Tensor, nn.Parameter):
        return f"{tuple(value.shape)} {str(value.dtype).removeprefix('torch.')}"
    if type(value) is nn.Linear:
        return f"Linear {value.in_features} → {value.out_features}"
    return str(value) if type(value) in (bool, int, float) else ""
