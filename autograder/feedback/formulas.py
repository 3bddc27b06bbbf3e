"""Convert TeX formulas to MathML, which browsers render without scripts or a network."""

import re
from functools import lru_cache
from html import escape, unescape
from xml.etree.ElementTree import Element

from latex2mathml.converter import convert_to_element

MAX_CHARACTERS = 2_000  # longer formulas are shown as TeX
# elements of MathML Core, and attributes that affect only the appearance of a formula
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
ESCAPED = re.compile(r"\\([_%#&$ ])")  # characters that TeX requires to be escaped, also in \text


@lru_cache(maxsize=4096)  # all students of a lesson share its formulas
def formula(tex: str, display: bool) -> str:
    """A formula as HTML; if it cannot be converted, its TeX in a code element."""
    kind = "block" if display else "inline"
    try:
        if len(tex) > MAX_CHARACTERS:
            raise ValueError(f"more than {MAX_CHARACTERS} characters")
        rendered = _serialised(convert_to_element(tex.strip(), display=kind))
    # the converter raises many kinds of exceptions on malformed TeX
    except Exception:
        rendered = f'<code class="tex">{escape(tex.strip())}</code>'
    # focusable, so that wide formulas can be scrolled by keyboard
    return f'<div class="formula" tabindex="0">{rendered}</div>' if display else rendered


def _serialised(element: Element) -> str:
    """Serialise an element; the converter's own text mixes entities and unescaped `<`."""
    if element.tag not in ELEMENTS:
        raise ValueError(f"browsers do not render <{element.tag}>")
    attributes = "".join(
        f' {name}="{value}"'
        for name, value in element.attrib.items()
        if name in ATTRIBUTES and VALUE.fullmatch(value)
    )
    text = ESCAPED.sub(r"\1", unescape(element.text or ""))
    if "\\" in text:
        raise ValueError(f"the converter does not know {text}")
    inner = escape(text) + "".join(map(_serialised, element))
    return f"<{element.tag}{attributes}>{inner}</{element.tag}>"
