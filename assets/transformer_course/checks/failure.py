"""How a check that fails speaks: a few lines of text, and never our own traceback."""

import linecache
import textwrap
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from transformer_course.checks.misconceptions import Clue

RED, RESET = "\x1b[1;31m", "\x1b[0m"
LABEL_WIDTH, TEXT_WIDTH = 13, 66

STAY_IN_TORCH = "stay in torch from the first line to the last: no NumPy, no .detach(), no .item()"
MAKE_A_NEW_ONE = (
    "operations that end in _ (add_, masked_fill_) and x[...] = y write into the caller's "
    "tensor: make a new one"
)
NOT_A_NUMBER = "inf / inf, inf - inf, 0 · inf and the softmax of nothing but -inf are NaN"
KEEP_THE_DTYPE = "a NumPy array or a constant tensor on the way brings its own dtype"
SEVEN_DIGITS = (
    "right to seven digits, as float32 has them: what you make yourself, with arange, say, must "
    "have the input's dtype before you reckon with it"
)
# a piece of an error's message -> what it means to who does not know torch well
EXPLAINED = {
    "before Module.__init__() call": "the first line of `__init__` is `super().__init__()`",
    'required "forward"': "a module is called through its method `forward`: is yours spelt so, and "
    "indented inside the class?",
    "return_types": "max and min with a `dim` return values and places: take .values, or use amax",
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

    def __init__(self, message: str, clue: Clue | None = None) -> None:
        super().__init__(message)
        self.clue = clue

    def _render_traceback_(self) -> list[str]:
        """IPython shows these lines in place of a traceback."""
        return _coloured(str(self))


@dataclass
class Story:
    """The lines of a failure, in the order in which they are told; `law` is what did not hold."""

    exercise: str
    law: str
    lines: list[tuple[str, str]] = field(default_factory=list)

    def tell(self, label: str, text: str) -> None:
        """Add one labelled line; an empty text adds nothing."""
        if text:
            self.lines.append((label, text))

    def __str__(self) -> str:
        lines = [f"✗ {self.exercise}: {self.law}"]
        for label, text in self.lines:
            rows = [row for line in text.split("\n") for row in textwrap.wrap(line, TEXT_WIDTH)]
            lines += [
                f"  {title:<{LABEL_WIDTH}}{row}"
                for title, row in zip_longest([label], rows, fillvalue="")
            ]
        return "\n".join(lines)


def still_a_stub(message: str) -> NotImplementedError:
    """A plain `NotImplementedError` that IPython shows in one line.

    It keeps its own type: in an untouched notebook it is the only kind of error.
    """
    error = NotImplementedError(message)
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


def student_lines(error: BaseException, namespace: dict[str, Any]) -> list[StudentLine]:
    """The lines of the student's own cells in `error`'s traceback, the innermost last.

    An error that comes from the student's work in another process brings them along.
    """
    if hasattr(error, "student_lines"):
        return error.student_lines  # type: ignore[attr-defined]
    lines = []
    traceback = error.__traceback__
    while traceback is not None:
        frame, number = traceback.tb_frame, traceback.tb_lineno
        if frame.f_globals is namespace:
            text = linecache.getline(frame.f_code.co_filename, number, frame.f_globals).strip()
            lines.append(StudentLine(number, text, frame.f_code.co_qualname))
        traceback = traceback.tb_next
    return lines


def _coloured(text: str) -> list[str]:
    headline, *rest = text.split("\n")
    return [f"{RED}{headline}{RESET}", *rest]
