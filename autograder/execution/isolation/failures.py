"""A failed check as plain values: written by the tests' side, checked where it is received.

Names and texts in it may be a student's.
"""

from dataclasses import asdict, fields
from typing import Any

from transformer_course.failure import Failure, Kind

LONGEST = 20_000  # characters of a text
MOST = 10  # labelled texts
NAMES = {field.name for field in fields(Failure)}


def write_failure(failure: Failure) -> dict[str, Any]:
    """Plain values of bounded size."""
    texts = {name: str(text)[:LONGEST] for name, text in asdict(failure).items()}
    labelled = [[str(part)[:LONGEST] for part in field] for field in failure.fields[:MOST]]
    return texts | {"fields": labelled}


def read_failure(told: object) -> Failure | None:
    """What `write_failure` wrote; None if it is anything else."""
    if type(told) is not dict or told.keys() != NAMES:
        return None
    labelled, texts = told["fields"], [told[name] for name in NAMES - {"fields"}]
    if type(labelled) is not list or len(labelled) > MOST or not all(map(_is_field, labelled)):
        return None
    if not all(map(_is_text, texts)) or told["kind"] not in set(Kind):
        return None
    made = {"fields": tuple((label, text) for label, text in labelled), "kind": Kind(told["kind"])}
    return Failure(**(told | made))


def _is_text(value: object) -> bool:
    return type(value) is str and len(value) <= LONGEST


def _is_field(field: object) -> bool:
    return type(field) is list and len(field) == 2 and all(map(_is_text, field))
