"""Exceptions that end a check, shown without our own traceback; and hints for common errors."""

import ast
import linecache
from dataclasses import dataclass
from itertools import islice
from types import TracebackType
from typing import Any

from torch import Tensor, nn

from transformer_course.checks.misconceptions import Clue
from transformer_course.failure import Failure

MOST_VALUES = 6  # of a failing expression
LONGEST = 1000  # characters of one whose values are shown
RED, RESET = "\x1b[1;31m", "\x1b[0m"

STAY_IN_TORCH = "stay in torch from the first line to the last: no NumPy, no .detach(), no .item()"
MAKE_A_NEW_ONE = (
    "operations that end in _ (add_, masked_fill_) and x[...] = y write into the caller's "
    "tensor: make a new one"
)
NOT_A_NUMBER = "inf / inf, inf - inf, 0 · inf and the softmax of nothing but -inf are NaN"
KEEP_THE_DTYPE = "a NumPy array or a constant tensor on the way brings its own dtype"
SEVEN_DIGITS = (
    "right to seven digits, as float32 has them: what you make yourself, with arange, say, must "
    "have the input's dtype before you compute with it"
)
# a piece of an error's message -> what it means, for those new to torch
EXPLAINED = {
    "before Module.__init__() call": "the first line of `__init__` is `super().__init__()`",
    'required "forward"': "a module is called through its method `forward`: is yours spelt so, and "
    "indented inside the class?",
    "return_types": "max and min with a `dim` return values and indices: take .values, or use amax",
    "must be real number, not Tensor": "`math` takes single numbers: torch.exp takes tensors",
    "only one element tensors can be converted": "`math` takes single numbers: torch.exp takes "
    "tensors",
    "scalar Tensor": "`math` takes single numbers: torch.exp takes tensors",
    "Can't call numpy() on Tensor that requires grad": STAY_IN_TORCH,
    "'float' object is not callable": "you call a number: is `self.dropout`, say, the rate and no "
    "nn.Dropout?",
    "is not defined": "a typo? Your code sees its parameters, its own variables, the imports and "
    "the exercises",
}


class CheckFailed(AssertionError):
    """What was expected, what came, which misconception it looks like, and one hint.

    `clue` is what the build stores for a known wrong answer, so that the next student who gives
    it can be told what it means.
    """

    def __init__(self, failure: Failure, clue: Clue | None = None) -> None:
        super().__init__(str(failure))
        self.failure, self.clue = failure, clue

    def _render_traceback_(self) -> list[str]:
        """IPython shows these lines in place of a traceback."""
        return _coloured(str(self))


def not_done(failure: Failure, fix: str) -> NotImplementedError:
    """A plain `NotImplementedError` that IPython shows in one line.

    It keeps its own type: in an untouched notebook it is the only kind of error.
    """
    error = NotImplementedError(f"{failure.claim}: {fix}")
    error.failure = failure  # type: ignore[attr-defined]
    return in_one_line(error, str(error))


def in_one_line(error: NotImplementedError, message: str) -> NotImplementedError:
    """The same error, which IPython shows as this message, without a traceback."""
    error._render_traceback_ = lambda: _coloured(f"NotImplementedError: {message}")  # type: ignore[attr-defined]
    return error


def explained(error: BaseException) -> str:
    """What an error's message means, where it is known to say too little."""
    return next((text for piece, text in EXPLAINED.items() if piece in str(error)), "")


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
    variables = traceback.tb_frame.f_locals
    try:
        tree = ast.parse(_expression(traceback), mode="eval")
        used = [node for node in ast.walk(tree) if isinstance(node, ast.Name | ast.Attribute)]
        told = {node: _told(_looked_up(node, variables)) for node in used}
        # of `self.w.bias` that is one value, not three
        parts = {part for node in used if told[node] for part in ast.walk(node) if part != node}
        used = sorted(set(used) - parts, key=lambda node: (node.lineno, node.col_offset))
        named = {ast.unparse(node): told[node] for node in used if told[node]}
    # a statement, a line that is no longer there, a name or a number without end
    except (SyntaxError, ValueError, RecursionError):
        return ""
    shown = islice(named.items(), MOST_VALUES)
    return ", ".join(f"{name} {value}" for name, value in shown)


def _expression(traceback: TracebackType) -> str:
    """The source of the expression that failed."""
    code = traceback.tb_frame.f_code
    first, last, start, end = next(islice(code.co_positions(), traceback.tb_lasti // 2, None))
    if first is None or last is None or start is None or end is None:
        return ""
    lines = linecache.getlines(code.co_filename, traceback.tb_frame.f_globals)[first - 1 : last]
    source = b"\n".join(line.rstrip("\n").encode() for line in lines)  # columns count bytes
    cut = len(lines[-1].rstrip("\n").encode()) - end if lines else 0
    found = source[start : len(source) - cut].decode(errors="replace")
    return found if len(found) <= LONGEST else ""


def _looked_up(node: ast.expr, variables: dict[str, Any]) -> Any:
    """What a name or a dotted name stands for; runs no code of the student's."""
    if isinstance(node, ast.Name):
        return variables.get(node.id)
    if not isinstance(node, ast.Attribute):
        return None
    owner = _looked_up(node.value, variables)
    held = getattr(owner, "__dict__", {}) if isinstance(owner, nn.Module) else {}
    places = (held, *(held.get(part, {}) for part in ("_parameters", "_buffers", "_modules")))
    return next((place[node.attr] for place in places if node.attr in place), None)


def _told(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{tuple(value.shape)} {str(value.dtype).removeprefix('torch.')}"
    if isinstance(value, nn.Linear):
        return f"Linear {value.in_features} → {value.out_features}"
    return str(value) if type(value) in (bool, int, float) else ""


def _coloured(text: str) -> list[str]:
    headline, *rest = text.split("\n")
    return [f"{RED}{headline}{RESET}", *rest]
