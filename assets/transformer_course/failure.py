"""A failed check as data, and as the text that terminals and notebooks show. Needs no torch."""

import textwrap
from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest

LABEL_WIDTH, TEXT_WIDTH = 13, 66


class Kind(StrEnum):
    """What a check found wrong, whatever names and numbers its claim holds."""

    CLAIM = "claim"  # that its author makes does not hold
    ABSENT = "absent"  # the exercise does not exist
    STUB = "stub"
    RAISED = "raised"
    NOT_RAISED = "not raised"  # a ValueError, or not the one that is expected
    CHANGED_INPUT = "changed input"
    WRONG_TYPE = "wrong type"
    NOT_A_TENSOR = "not a tensor"
    NOT_A_MODULE = "not a module"
    SHAPE = "shape"
    DTYPE = "dtype"
    NAN = "nan"
    NO_GRADIENT = "no gradient"
    PARAMETERS = "parameters"


@dataclass(frozen=True)
class Failure:
    """What a failed check has to say, for terminals, notebooks and graders to show."""

    check: str  # the exercise that is checked
    claim: str  # that does not hold, or what was found instead
    fields: tuple[tuple[str, str], ...] = ()  # labelled texts, such as ("got", "1, 2")
    hint: str = ""
    misconception: str = ""
    kind: Kind = Kind.CLAIM
    subject: str = ""  # the name of the exception, of the stub or of the absent exercise

    @property
    def headline(self) -> str:
        """What is wrong; a claim is marked as what should hold, so that nobody reads it as fact."""
        return f"should hold: {self.claim}" if self.kind == Kind.CLAIM else self.claim

    @property
    def all_fields(self) -> list[tuple[str, str]]:
        """Every labelled text in the order in which it is shown."""
        all_of = ("looks like", self.misconception), *self.fields, ("hint", self.hint)
        return [field for field in all_of if field[1]]

    def __str__(self) -> str:
        lines = [f"✗ {self.check}: {self.headline}"]
        for label, text in self.all_fields:
            rows = [row for line in text.split("\n") for row in _wrapped(line)]
            lines += [
                f"  {title:<{LABEL_WIDTH}}{row}"
                for title, row in zip_longest([label], rows, fillvalue="")
            ]
        return "\n".join(lines)


def _wrapped(line: str) -> list[str]:
    # a word with a hyphen stays whole, so that a text can be found again
    return textwrap.wrap(line, TEXT_WIDTH, break_on_hyphens=False)
