"""What became of what nbgrader's API was asked to do, which it tells as text."""

import re

from autograder.gradebook.classroom import Classroom
from autograder.gradebook.guard import LOCKED, Refused, is_locked


def failure(classroom: Classroom, outcome: dict) -> str:
    """Why nbgrader did not do it, in one line; empty if it did."""
    # nbgrader's API catches Ctrl-C like any error
    if "KeyboardInterrupt" in outcome.get("error", "").strip().split("\n")[-1]:
        raise KeyboardInterrupt
    if outcome["success"]:
        return ""
    return str(Refused(*LOCKED)) if is_locked(classroom.api) else _reason(outcome)


def _reason(outcome: dict) -> str:
    """The error that nbgrader ends with, in one line: of its traceback, or else of its log."""
    text = outcome.get("log") or outcome.get("error", "")
    lines = [line.strip() for line in text.split("\n")]
    errors = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Interrupt)\b", line)]
    logged = re.findall(r"(?ms)^\[(?:ERROR|CRITICAL)\] (.*?)(?=^\[[A-Z]+\] |\Z)", text)
    last = (errors or logged or ["nbgrader does not say why"])[-1]
    return " ".join(last.split())
