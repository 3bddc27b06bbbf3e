"""How a check that fails speaks: a few lines of text, and never our own traceback."""

import linecache
import textwrap
from dataclasses import dataclass, field
from itertools import zip_longest
from types import FrameType
from typing import Any

from transformer_course.checks.misconceptions import Clue

RED, RESET = "\x1b[1;31m", "\x1b[0m"
LABEL_WIDTH, TEXT_WIDTH = 13, 66


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


def student_frames(error: BaseException, namespace: dict[str, Any]) -> list[tuple[FrameType, int]]:
    """The frames of `error`'s traceback, with their lines, that run the student's own cells."""
    frames = []
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_globals is namespace:
            frames.append((traceback.tb_frame, traceback.tb_lineno))
        traceback = traceback.tb_next
    return frames


def source_line(frame: FrameType, line: int) -> str:
    """The text of a line of the student's, without its indentation."""
    return linecache.getline(frame.f_code.co_filename, line, frame.f_globals).strip()


def _coloured(text: str) -> list[str]:
    headline, *rest = text.split("\n")
    return [f"{RED}{headline}{RESET}", *rest]
