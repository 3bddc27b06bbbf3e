"""What a notebook holds as HTML that runs nothing, loads nothing, and stays in its place.

Notebooks come from strangers. Text is escaped; HTML, in markdown and in outputs, keeps what only
formats it; pictures stand in the page itself. The page's Content-Security-Policy is the second
wall.
"""

import base64
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import nh3
from markupsafe import Markup, escape
from nbconvert.filters.ansi import strip_ansi
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbformat import NotebookNode
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

from autograder.feedback.formulas import formula

LONGEST = 50_000  # characters of one text
# characters of one piece, beyond which it is shown as plain text. What is made up to be slow takes
# time with the square of its length: mistune and Pygments a second, nh3 a tenth of that
PROSE = 10_000  # of markdown; the longest cell of a lesson has 1,500
MARKUP = 20_000  # of HTML, pictures not counted, and of code
WHOLE = 300_000  # of all markup, and of all code, in one notebook; a lesson has a fifth of that
MARKUPS = ("text/html", "text/markdown", "text/latex")
SENTENCE = 400  # characters of what is to be read at a glance
CUT = "\n[the rest is left out here]\n"
TAGS = {
    *("a", "abbr", "b", "blockquote", "br", "code", "dd", "del", "details", "div", "dl", "dt"),
    *("em", "figcaption", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img", "ins"),
    *("kbd", "li", "mark", "ol", "p", "pre", "q", "s", "small", "span", "strong", "sub"),
    *("summary", "sup", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "u", "ul"),
}
ATTRIBUTES = {"alt", "colspan", "dir", "lang", "open", "rowspan", "start", "style", "title"}
STYLES = {
    *("background-color", "border", "color", "font-style", "font-weight", "max-width"),
    *("text-align", "text-decoration", "vertical-align", "white-space"),
}
ADDRESS = re.compile(r"(https?://|mailto:)\S+", re.IGNORECASE)
PICTURE = re.compile(r"data:image/(png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/=\s]*")
ENCODED = re.compile(r"base64,[A-Za-z0-9+/=\s]*")
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
OVERWRITTEN = re.compile(r"(?m)^[^\n]*\r(?!\n)")  # a progress bar's earlier states
# stands for a formula while the HTML around it is sanitized
FORMULA, STANDS = "\ue000{}\ue001", re.compile("\ue000(\\d{1,6})\ue001")
NO_WORDS = "a picture without a description"


# --- text and code -----------------------------------------------------------------------------


def plain(text: str) -> str:
    """Text as a terminal would leave it: no colours, no control characters, not endless."""
    text = OVERWRITTEN.sub("", strip_ansi(text).replace("\r\n", "\n"))
    text = text if len(text) <= LONGEST else text[:LONGEST] + CUT
    return CONTROLS.sub("\ufffd", text)


@lru_cache(maxsize=4096)  # a class shares its lesson's cells
def code(source: str) -> Markup:
    """Python, coloured."""
    if len(source) > MARKUP:
        return escape(plain(source))
    lexer = get_lexer_by_name("python")
    return Markup(highlight(plain(source), lexer, HtmlFormatter(nowrap=True)))


def words(text: str) -> Markup:
    """A sentence of plain text, in which `this` is code."""
    return clause(text[:1].upper() + text[1:])


def clause(text: str) -> Markup:
    """The same, inside a sentence that began before it; cut where it is too long to be read."""
    text = plain(" ".join(text.split()))
    text = text if len(text) <= SENTENCE else f"{text[:SENTENCE]}…"
    if text and text[-1] not in ".?!…":
        text += "."
    pieces = text.split("`")
    # an odd number of marks: the last one is no mark
    if len(pieces) % 2 == 0:
        pieces[-2:] = ["`".join(pieces[-2:])]
    marked = [Markup("<code>{}</code>").format(p) if i % 2 else p for i, p in enumerate(pieces)]
    return Markup().join(map(escape, marked))


# --- markdown ----------------------------------------------------------------------------------


class _Renderer(IPythonRenderer):
    """Markdown as HTML that is still to be sanitized; its headings stand below the page's own."""

    def __init__(self, attachments: Mapping[str, Mapping[str, str]]) -> None:
        super().__init__(escape=False, exclude_anchor_links=True)
        self.attachments = dict(attachments)
        self.formulas: dict[int, tuple[str, str]] = {}  # number -> its TeX, and the HTML of it

    def heading(self, text: str, level: int, **attrs: Any) -> str:
        level = min(level + 2, 6)
        return f"<h{level}>{text}</h{level}>\n"

    def image(self, text: str, url: str, title: str | None = None) -> str:
        text = STANDS.sub(lambda stands: self.formulas[int(stands[1])][0], text)
        attached = self.attachments.get(url.removeprefix("attachment:"), {})
        if url.startswith("attachment:"):
            url = next((f"data:{k};base64,{v}" for k, v in attached.items()), "")
        if PICTURE.fullmatch(url):
            return f'<img src="{url}" alt="{escape(text or NO_WORDS)}">'
        # a picture in the network is not fetched: its description stands for it
        return str(escape(text or NO_WORDS))

    def inline_math(self, body: str) -> str:
        return self._kept(body, False)

    def block_math(self, body: str) -> str:
        return self._kept(body, True)

    def latex_environment(self, name: str, body: str) -> str:
        return self._kept(rf"\begin{{{name}}}{body}\end{{{name}}}", True)

    def _kept(self, tex: str, display: bool) -> str:
        number = len(self.formulas)
        self.formulas[number] = tex, formula(tex, display)
        return FORMULA.format(number)


def markdown(source: str, attachments: Mapping[str, Mapping[str, str]] | None = None) -> Markup:
    """Markdown with formulas."""
    if attachments:
        return _markdown(source, attachments)
    return _markdown_alone(source)


@lru_cache(maxsize=4096)  # a class shares its lesson's cells
def _markdown_alone(source: str) -> Markup:
    return _markdown(source, {})


def _markdown(source: str, attachments: Mapping[str, Mapping[str, str]]) -> Markup:
    source = re.sub("[\ue000\ue001]", "\ufffd", CONTROLS.sub("\ufffd", source))
    if len(source) > PROSE:
        return preformatted(source)
    renderer = _Renderer(attachments)
    try:
        clean = html(MarkdownWithMath(renderer=renderer).render(source))
    except RecursionError:  # brackets in brackets in brackets
        return preformatted(source)
    if clean is None:
        return preformatted(source)
    drawn = {number: shown for number, (_, shown) in renderer.formulas.items()}
    return Markup(STANDS.sub(lambda stands: drawn.get(int(stands[1]), ""), clean))


def preformatted(text: str) -> Markup:
    """Text as it stands."""
    return Markup('<pre tabindex="0">{}</pre>').format(plain(text))


# --- HTML --------------------------------------------------------------------------------------


def _attribute(tag: str, name: str, value: str) -> str | None:
    """An attribute's value as it may stay; None: the attribute goes."""
    if (tag, name) == ("img", "src"):
        return value if PICTURE.fullmatch(value) else None
    if (tag, name) == ("a", "href"):
        return value if ADDRESS.fullmatch(value) else None
    return STANDS.sub("", value)  # in a description, a formula would end it


CLEANER = nh3.Cleaner(
    tags=TAGS,
    attributes={"*": ATTRIBUTES, "img": {"src"}, "a": {"href"}},
    attribute_filter=_attribute,
    filter_style_properties=STYLES,
    url_schemes={"http", "https", "mailto", "data"},
    link_rel=None,
    # what may scroll is reached by the keyboard
    set_tag_attribute_values={"pre": {"tabindex": "0"}, "table": {"tabindex": "0"}},
)
# nh3 escapes `<`, `>` and `"` in values: a tag ends at the first `>`, and this is no value's text
UNDESCRIBED = re.compile(r'<img(?![^<>]* alt=")')


def weight(text: str) -> int:
    """How much markup this is, in characters, pictures not counted."""
    return len(ENCODED.sub("", text))


@lru_cache(maxsize=256)  # pictures that the lesson itself draws are the same for everyone
def html(text: str) -> str | None:
    """HTML without what is not harmless; None if there is too much of it."""
    if weight(text) > MARKUP:
        return None
    clean = CLEANER.clean(CONTROLS.sub("\ufffd", text))
    return UNDESCRIBED.sub(f'<img alt="{NO_WORDS}"', clean)


# --- outputs -----------------------------------------------------------------------------------


def spare(notebook: NotebookNode) -> None:
    """Leave as plain text what is more than any honest notebook has; what is graded stays."""
    room = {"markdown": WHOLE, "code": WHOLE}
    for cell in notebook.cells:
        kind = cell.cell_type
        room[kind] = room.get(kind, 0) - len(cell.source)
        if room[kind] < 0 and "nbgrader" not in cell.metadata:
            cell.cell_type = "raw"
        for shown in cell.get("outputs", []):
            data = shown.get("data", {})
            size = sum(weight(_joined(text)) for form, text in data.items() if form in MARKUPS)
            room["markdown"] -= size
            if room["markdown"] < 0:
                shown["data"] = {k: text for k, text in data.items() if k not in MARKUPS}


def output(shown: Mapping[str, Any]) -> Markup:
    """A code cell's output."""
    if shown["output_type"] == "stream":
        return _text("printed", shown["text"])
    if shown["output_type"] == "error":
        return _text("error", "\n".join(shown["traceback"]) or shown["ename"])
    data = shown.get("data", {})
    for kind, drawn in DRAWN.items():
        if kind in data and (found := drawn(_joined(data[kind]), _joined(data.get(TEXT, "")))):
            return found
    return Markup()


def _text(role: str, text: str) -> Markup:
    text = plain(text)
    shown = Markup('<pre class="{}" tabindex="0">{}</pre>').format(role, text)
    return shown if text.strip() else Markup()


def _rich(text: str, _: str) -> Markup:
    clean = html(text) or ""
    # what was nothing but a script
    is_seen = "<img" in clean or re.sub(r"<[^<>]*>", "", clean).strip()
    return Markup('<div class="rich">{}</div>').format(Markup(clean)) if is_seen else Markup()


def _picture(kind: str) -> Callable[[str, str], Markup]:
    def drawn(data: str, said: str) -> Markup:
        source = f"data:{kind};base64,{data.strip()}"
        if not PICTURE.fullmatch(source):
            return Markup()
        return Markup('<img src="{}" alt="{}">').format(source, plain(said)[:500] or NO_WORDS)

    return drawn


def _drawing(text: str, said: str) -> Markup:
    """An SVG as a picture: in a picture, no script runs and nothing is fetched."""
    encoded = base64.b64encode(text.encode("utf-8", "replace")).decode()
    return _picture("image/svg+xml")(encoded, said)


def _joined(data: Any) -> str:
    return data if isinstance(data, str) else "".join(map(str, data))


TEXT = "text/plain"
# how each kind of data is drawn; of several, the first that can be
DRAWN: dict[str, Callable[[str, str], Markup]] = {
    "text/html": _rich,
    "image/svg+xml": _drawing,
    "image/png": _picture("image/png"),
    "image/jpeg": _picture("image/jpeg"),
    "text/markdown": lambda text, _: markdown(text),
    "text/latex": lambda text, _: markdown(text),
    TEXT: lambda text, _: _text("result", text),
}
