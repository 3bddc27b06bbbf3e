"""Show pairs as pages that load nothing and run nothing: students' text stays text."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from autograder.similarity.compare import Pair, Rarity
from autograder.similarity.matches import Compared, Match, compared
from autograder.similarity.parts import COMMENTS, Baseline, Part, name_print
from autograder.similarity.pieces import RUN, WORDS

TEMPLATES = Path(__file__).with_name("templates")
REASONS = 8  # lines that are shown first
SHOWN = 300  # characters of such a line
NAMES = 20  # that are shown


@dataclass(frozen=True)
class _Reason:
    """A line that two share, and how many others have what is rarest in it."""

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
    """The page that lists the pairs, each with its own page's name, and says what they are."""
    return _filled(
        "index.html",
        lesson=lesson,
        pairs=pairs,
        compared=compared,
        hidden=hidden,
        left_out=left_out,
        run=RUN,
        words=WORDS,
    )


def pair_page(
    lesson: str,
    pair: Pair,
    solutions: tuple[Mapping[str, Part], Mapping[str, Part]],
    baseline: Baseline,
    rarity: Rarity,
) -> str:
    """The page of one pair: why it is listed, and both solutions side by side."""
    one, other = solutions
    shown = [compared(one[name], other[name], baseline, rarity) for name in one]
    said = COMMENTS in pair.parts
    told = [part for part in shown if part.name in pair.parts or (said and part.told)]
    chosen = [{name for part in of.values() for name in part.names} for of in solutions]
    names = sorted(n for n in chosen[0] & chosen[1] if rarity.count(name_print(n)) == 2)
    return _filled(
        "pair.html",
        lesson=lesson,
        pair=pair,
        students=pair.students,
        reasons=_reasons(told, one),
        names=names[:NAMES],
        alike=told,
        rest=[part for part in shown if part not in told and any(part.sides)],
    )


def _reasons(shown: Sequence[Compared], one: Mapping[str, Part]) -> list[_Reason]:
    found = [(match, part.name) for part in shown for match in part.matches]
    found.sort(key=lambda about: (about[0].others, -about[0].weight))
    return [
        _Reason(name, _text(match, one[name].text), match.others) for match, name in found[:REASONS]
    ]


def _text(match: Match, text: str) -> str:
    lines = text.split("\n")[match.one.first - 1 : match.one.last]
    whole = "\n".join(lines).strip()
    return whole if len(whole) <= SHOWN else f"{whole[:SHOWN]} …"


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
    # ours, word for word: its digest is what allows it
    environment.globals["style"] = Markup(style)
    return environment


def _filled(template: str, **values: object) -> str:
    return _templates().get_template(template).render(values)
