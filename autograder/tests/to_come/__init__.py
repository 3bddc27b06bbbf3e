"""Exercises of lessons that are not written yet, tried on the channel and the kit beforehand."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """A right answer, a wrong one, a check, and what the check says to the wrong one."""

    exercise: str
    right: str
    wrong: str
    check: str
    says: str


GIVEN = """
import copy
import math
import torch
from torch import nn
import torch.nn.functional as F
from transformer_course.checks import Check, numbers
"""
