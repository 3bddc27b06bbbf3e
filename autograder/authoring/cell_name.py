"""A cell's name as nbgrader knows it: its role and what its author called it."""

from dataclasses import dataclass
from typing import Self

ROLES = ("exercise", "check", "answer", "given")


@dataclass(frozen=True)
class CellName:
    """nbgrader's `grade_id`, such as `check_softmax`; a name of another origin has no role."""

    role: str
    name: str

    @classmethod
    def parse(cls, grade_id: str) -> Self:
        """Split a `grade_id` into the role and the name."""
        role, _, name = grade_id.partition("_")
        return cls(role, name) if role in ROLES and name else cls("", grade_id)

    def __str__(self) -> str:
        return f"{self.role}_{self.name}" if self.role else self.name
