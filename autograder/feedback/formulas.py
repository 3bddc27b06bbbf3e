"""Formulas in TeX as MathML, which browsers draw by themselves: no script, no network."""

import re
from functools import lru_cache
from html import escape, unescape
from xml.etree.ElementTree import Element

from latex2mathml.converter import convert_to_element

LONGEST = 2_000  # characters; what is longer is shown as it was written
# MathML Core's elements, and attributes that change no more than how a formula looks
ELEMENTS = {
    *("math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "mfrac", "msqrt", "mroot", "mstyle"),
    *("msub", "msup", "msubsup", "munder", "mover", "munderover", "mpadded", "mphantom"),
    *("mtable", "mtr", "mtd"),
}
ATTRIBUTES = {
    *("accent", "accentunder", "columnalign", "depth", "display", "displaystyle", "fence", "form"),
    *("height", "largeop", "linethickness", "mathvariant", "maxsize", "minsize", "movablelimits"),
    *("scriptlevel", "separator", "stretchy", "width"),
}
VALUE = re.compile(r"[\w.+% -]*")
ESCAPED = re.compile(r"\\([_%#&$ ])")  # what TeX wants a backslash before, also in \text


@lru_cache(maxsize=4096)  # a class shares its lesson's formulas
def formula(tex: str, display: bool) -> str:
    """A formula as HTML; what cannot be converted as its TeX, readable, in a code element."""
    kind = "block" if display else "inline"
    try:
        if len(tex) > LONGEST:
            raise ValueError(f"more than {LONGEST} characters")
        drawn = _drawn(convert_to_element(tex.strip(), display=kind))
    # TeX that a student mistyped fails in any of a dozen ways, all of which mean the same
    except Exception:
        drawn = f'<code class="tex">{escape(tex.strip())}</code>'
    # wide formulas scroll by themselves, and the keyboard reaches them
    return f'<div class="formula" tabindex="0">{drawn}</div>' if display else drawn


def _drawn(element: Element) -> str:
    """An element as text. The converter writes entities, and leaves `<` as it is: so we do it."""
    if element.tag not in ELEMENTS:
        raise ValueError(f"<{element.tag}> is not drawn by browsers")
    attributes = "".join(
        f' {name}="{value}"'
        for name, value in element.attrib.items()
        if name in ATTRIBUTES and VALUE.fullmatch(value)
    )
    said = ESCAPED.sub(r"\1", unescape(element.text or ""))
    if "\\" in said:
        raise ValueError(f"{said} is no command that the converter knows")
    inner = escape(said) + "".join(map(_drawn, element))
    return f"<{element.tag}{attributes}>{inner}</{element.tag}>"
