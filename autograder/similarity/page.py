"""Render pairs as self-contained pages in which students' text is never markup."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from autograder.similarity.compare import Pair, Rarity
from autograder.similarity.matches import Match, PartComparison, compare_parts
from autograder.similarity.parts import COMMENTS, Baseline, Part, name_fingerprint
from autograder.similarity.pieces import CODE_NGRAM, PROSE_NGRAM

TEMPLATES = Path(__file__).with_name("templates")
MAX_REASONS = 8  # lines shown first
MAX_CHARACTERS = 300  # of such a line
MAX_NAMES = 20


@dataclass(frozen=True)
class _Reason:
    """A shared line; `others` is how many other students share the rarest fingerprint."""

    part: str
    text: str
    others: int


def index_page(
    lesson: str,
    pairs: Sequence[tuple[str, Pair]],
    compared: int,
    hidden: int,
    left_out: Mapping[str, str],
) -> str:
    """The page that lists the pairs, each with a link to its own page."""
    return _render(
        "index.html",
        lesson=lesson,
        pairs=pairs,
        compared=compared,
        hidden=hidden,
        left_out=left_out,
        run=CODE_NGRAM,
        words=PROSE_NGRAM,
    )


def pair_page(
    lesson: str,
    pair: Pair,
    solutions: tuple[Mapping[str, Part], Mapping[str, Part]],
    baseline: Baseline,
    rarity: Rarity,
) -> str:
    """The page of a pair: why it is listed, and both solutions side by side."""
    left, right = solutions
    comparisons = [compare_parts(left[name], right[name], baseline, rarity) for name in left]
    with_comments = COMMENTS in pair.parts
    similar = [
        part
        for part in comparisons
        if part.name in pair.parts or (with_comments and part.comments_match)
    ]
    chosen = [{name for part in parts.values() for name in part.names} for parts in solutions]
    names = sorted(n for n in chosen[0] & chosen[1] if rarity.count(name_fingerprint(n)) == 2)
    return _render(
        "pair.html",
        lesson=lesson,
        pair=pair,
        students=pair.students,
        reasons=_reasons(similar, left),
        names=names[:MAX_NAMES],
        alike=similar,
        rest=[part for part in comparisons if part not in similar and any(part.sides)],
    )


def _reasons(similar: Sequence[PartComparison], left: Mapping[str, Part]) -> list[_Reason]:
    found = [(match, part.name) for part in similar for match in part.matches]
    found.sort(key=lambda item: (item[0].others, -item[0].weight))
    return [
        _Reason(name, _excerpt(match, left[name].text), match.others)
        for match, name in found[:MAX_REASONS]
    ]


def _excerpt(match: Match, text: str) -> str:
    lines = text.split("\n")[match.left.first - 1 : match.left.last]
    excerpt = "\n".join(lines).strip()
    return excerpt if len(excerpt) <= MAX_CHARACTERS else f"{excerpt[:MAX_CHARACTERS]} …"


def _others(count: int) -> str:
    return {0: "nobody else", 1: "1 other"}.get(count, f"{count} others")


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = (TEMPLATES / "style.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    environment.globals |= {"digest": digest, "percent": _percent, "others": _others}
    # not escaped, so that its digest matches the Content-Security-Policy
    environment.globals["style"] = Markup(style)
    return environment


def _render(template: str, **values: object) -> str:
    return _templates().get_template(template).render(values)
