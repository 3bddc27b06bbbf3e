"""Exceptions that end a check, shown without our own traceback; and hints for common errors."""

from transformer_course.checks.misconceptions import Clue
from transformer_course.failure import Failure

RED, RESET = "\x1b[1;31m", "\x1b[0m"

STAY_IN_TORCH = (
    "stay in torch from the first line to the last: no NumPy, no .detach(), .data or .item(), "
    "no torch.no_grad()"
)
MAKE_A_NEW_ONE = (
    "operations that end in _ (add_, masked_fill_), x[...] = y and x -= y write into the "
    "caller's tensor: make a new one"
)
NOT_A_NUMBER = "inf / inf, inf - inf, 0 · inf and the softmax of nothing but -inf are NaN"
KEEP_THE_DTYPE = (
    "something on the way has another dtype: .float(), a NumPy array, a tensor that you make"
)
SEVEN_DIGITS = (
    "right to seven digits, as float32 has them: what you make yourself, with arange, say, must "
    "have the input's dtype before you compute with it"
)
# a piece of an error's message -> what it means, for those new to torch
EXPLAINED = {
    "before Module.__init__() call": "`super().__init__()` is missing: make it the first line of "
    "`__init__`",
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


def _coloured(text: str) -> list[str]:
    headline, *rest = text.split("\n")
    return [f"{RED}{headline}{RESET}", *rest]
