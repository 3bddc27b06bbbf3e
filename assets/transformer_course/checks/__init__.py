"""Checks that teach: the small vocabulary in which every check cell is written.

A check treats the student's work as a black box. It calls it with tensors and plain
values, loads or reads its parameters, asks for gradients, and compares what comes back.
So the same check cell runs beside the student's code in a notebook, and apart from it
when it is graded.
"""

from transformer_course.checks.check import Check
from transformer_course.checks.failure import CheckFailed
from transformer_course.checks.formatting import seal
from transformer_course.checks.numbers import numbers
from transformer_course.failure import Failure

__all__ = ["Check", "CheckFailed", "Failure", "numbers", "seal"]
