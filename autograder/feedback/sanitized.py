"""Convert untrusted notebooks to HTML that runs no scripts, loads nothing and overlays nothing.

Text is escaped; HTML in markdown and outputs keeps only formatting; images are embedded. The
page's Content-Security-Policy is a second line of defence.
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

MAX_TEXT = 50_000  # characters of one text
# Longer markup is shown as plain text. On malicious input, libraries take time quadratic in its
# length; at these limits, mistune and Pygments take a second, nh3 a tenth of that.
MAX_MARKDOWN = 10_000  # characters; the longest cell of a lesson has 1,500
MAX_MARKUP = 20_000  # characters of HTML, images not counted, or of code
MAX_NOTEBOOK = 300_000  # characters of all markup, and of all code; a lesson has a fifth of that
MARKUP_TYPES = ("text/html", "text/markdown", "text/latex")
MAX_SENTENCE = 400  # characters
TRUNCATED = "\n[the rest is left out here]\n"
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
IMAGE = re.compile(r"data:image/(png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/=\s]*")
ENCODED = re.compile(r"base64,[A-Za-z0-9+/=\s]*")
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
OVERWRITTEN = re.compile(r"(?m)^[^\n]*\r(?!\n)")  # earlier states of a progress bar
# replaces a formula while the HTML around it is sanitized
FORMULA, PLACEHOLDER = "\ue000{}\ue001", re.compile("\ue000(\\d{1,6})\ue001")
NO_DESCRIPTION = "a picture without a description"


# --- text and code -----------------------------------------------------------------------------


def plain(text: str) -> str:
    """Remove colours, overwritten lines and control characters from text, and truncate it."""
    text = OVERWRITTEN.sub("", strip_ansi(text).replace("\r\n", "\n"))
    text = text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + TRUNCATED
    return CONTROLS.sub("\ufffd", text)


@lru_cache(maxsize=4096)  # all students of a lesson share its cells
def code(source: str) -> Markup:
    """Python with syntax highlighting."""
    if len(source) > MAX_MARKUP:
        return escape(plain(source))
    lexer = get_lexer_by_name("python")
    return Markup(highlight(plain(source), lexer, HtmlFormatter(nowrap=True)))


def sentence(text: str) -> Markup:
    """A capitalised sentence of plain text, in which `this` is code."""
    return clause(text[:1].upper() + text[1:])


def clause(text: str) -> Markup:
    """The same without the capital, to continue a sentence; truncated if it is too long."""
    text = plain(" ".join(text.split()))
    text = text if len(text) <= MAX_SENTENCE else f"{text[:MAX_SENTENCE]}…"
    if text and text[-1] not in ".?!…":
        text += "."
    pieces = text.split("`")
    # with an odd number of backticks, the last one is literal
    if len(pieces) % 2 == 0:
        pieces[-2:] = ["`".join(pieces[-2:])]
    marked = [Markup("<code>{}</code>").format(p) if i % 2 else p for i, p in enumerate(pieces)]
    return Markup().join(map(escape, marked))


# --- markdown ----------------------------------------------------------------------------------


class _Renderer(IPythonRenderer):
    """Render markdown as HTML that is not sanitized yet; headings rank below the page's own."""

    def __init__(self, attachments: Mapping[str, Mapping[str, str]]) -> None:
        super().__init__(escape=False, exclude_anchor_links=True)
        self.attachments = dict(attachments)
        self.formulas: dict[int, tuple[str, str]] = {}  # number -> TeX, HTML

    def heading(self, text: str, level: int, **attrs: Any) -> str:
        level = min(level + 2, 6)
        return f"<h{level}>{text}</h{level}>\n"

    def image(self, text: str, url: str, title: str | None = None) -> str:
        text = PLACEHOLDER.sub(lambda match: self.formulas[int(match[1])][0], text)
        attached = self.attachments.get(url.removeprefix("attachment:"), {})
        if url.startswith("attachment:"):
            url = next((f"data:{k};base64,{v}" for k, v in attached.items()), "")
        if IMAGE.fullmatch(url):
            return f'<img src="{url}" alt="{escape(text or NO_DESCRIPTION)}">'
        # a remote image is not loaded: show its description instead
        return str(escape(text or NO_DESCRIPTION))

    def inline_math(self, body: str) -> str:
        return self._placeholder(body, False)

    def block_math(self, body: str) -> str:
        return self._placeholder(body, True)

    def latex_environment(self, name: str, body: str) -> str:
        return self._placeholder(rf"\begin{{{name}}}{body}\end{{{name}}}", True)

    def _placeholder(self, tex: str, display: bool) -> str:
        number = len(self.formulas)
        self.formulas[number] = tex, formula(tex, display)
        return FORMULA.format(number)


def markdown(source: str, attachments: Mapping[str, Mapping[str, str]] | None = None) -> Markup:
    """Markdown with formulas."""
    if attachments:
        return _markdown(source, attachments)
    return _cached_markdown(source)


@lru_cache(maxsize=4096)  # all students of a lesson share its cells
def _cached_markdown(source: str) -> Markup:
    return _markdown(source, {})


def _markdown(source: str, attachments: Mapping[str, Mapping[str, str]]) -> Markup:
    source = re.sub("[\ue000\ue001]", "\ufffd", CONTROLS.sub("\ufffd", source))
    if len(source) > MAX_MARKDOWN:
        return preformatted(source)
    renderer = _Renderer(attachments)
    try:
        clean = html(MarkdownWithMath(renderer=renderer).render(source))
    except RecursionError:  # deeply nested brackets
        return preformatted(source)
    if clean is None:
        return preformatted(source)
    rendered = {number: formula for number, (_, formula) in renderer.formulas.items()}
    return Markup(PLACEHOLDER.sub(lambda match: rendered.get(int(match[1]), ""), clean))


def preformatted(text: str) -> Markup:
    """Plain text with its line breaks."""
    return Markup('<pre tabindex="0">{}</pre>').format(plain(text))


# --- HTML --------------------------------------------------------------------------------------


def _attribute(tag: str, name: str, value: str) -> str | None:
    """Filter an attribute's value; None removes the attribute."""
    if (tag, name) == ("img", "src"):
        return value if IMAGE.fullmatch(value) else None
    if (tag, name) == ("a", "href"):
        return value if ADDRESS.fullmatch(value) else None
    return PLACEHOLDER.sub("", value)  # the HTML of a formula would end the attribute


CLEANER = nh3.Cleaner(
    tags=TAGS,
    attributes={"*": ATTRIBUTES, "img": {"src"}, "a": {"href"}},
    attribute_filter=_attribute,
    filter_style_properties=STYLES,
    url_schemes={"http", "https", "mailto", "data"},
    link_rel=None,
    # focusable, so that they can be scrolled by keyboard
    set_tag_attribute_values={"pre": {"tabindex": "0"}, "table": {"tabindex": "0"}},
)
# nh3 escapes `<`, `>` and `"` in values, so a tag ends at the first `>`
WITHOUT_ALT = re.compile(r'<img(?![^<>]* alt=")')


def markup_size(text: str) -> int:
    """The number of characters, embedded images not counted."""
    return len(ENCODED.sub("", text))


@lru_cache(maxsize=256)  # figures of the lesson itself are the same for all students
def html(text: str) -> str | None:
    """Sanitize HTML; None if it is too long."""
    if markup_size(text) > MAX_MARKUP:
        return None
    clean = CLEANER.clean(CONTROLS.sub("\ufffd", text))
    return WITHOUT_ALT.sub(f'<img alt="{NO_DESCRIPTION}"', clean)


# --- outputs -----------------------------------------------------------------------------------


def limit_markup(notebook: NotebookNode) -> None:
    """Show markup and code beyond a notebook's limit as plain text, except in graded cells."""
    remaining = {"markdown": MAX_NOTEBOOK, "code": MAX_NOTEBOOK}
    for cell in notebook.cells:
        kind = cell.cell_type
        remaining[kind] = remaining.get(kind, 0) - len(cell.source)
        if remaining[kind] < 0 and "nbgrader" not in cell.metadata:
            cell.cell_type = "raw"
        for result in cell.get("outputs", []):
            data = result.get("data", {})
            markup = [_joined(text) for kind, text in data.items() if kind in MARKUP_TYPES]
            remaining["markdown"] -= sum(map(markup_size, markup))
            if remaining["markdown"] < 0:
                result["data"] = {k: text for k, text in data.items() if k not in MARKUP_TYPES}


def output(result: Mapping[str, Any]) -> Markup:
    """An output of a code cell."""
    if result["output_type"] == "stream":
        return _text("printed", result["text"])
    if result["output_type"] == "error":
        return _text("error", "\n".join(result["traceback"]) or result["ename"])
    data = result.get("data", {})
    text = _joined(data.get(TEXT, ""))
    for kind, render in RENDERERS.items():
        if kind in data and (rendered := render(_joined(data[kind]), text)):
            return rendered
    return Markup()


def _text(role: str, text: str) -> Markup:
    text = plain(text)
    block = Markup('<pre class="{}" tabindex="0">{}</pre>').format(role, text)
    return block if text.strip() else Markup()


def _rich(text: str, _: str) -> Markup:
    clean = html(text) or ""
    # nothing is visible if it was only a script
    is_visible = "<img" in clean or re.sub(r"<[^<>]*>", "", clean).strip()
    return Markup('<div class="rich">{}</div>').format(Markup(clean)) if is_visible else Markup()


def _image(kind: str) -> Callable[[str, str], Markup]:
    def render(data: str, alt: str) -> Markup:
        source = f"data:{kind};base64,{data.strip()}"
        if not IMAGE.fullmatch(source):
            return Markup()
        return Markup('<img src="{}" alt="{}">').format(source, plain(alt)[:500] or NO_DESCRIPTION)

    return render


def _svg(text: str, alt: str) -> Markup:
    """An SVG as an image, in which scripts do not run and nothing is loaded."""
    encoded = base64.b64encode(text.encode("utf-8", "replace")).decode()
    return _image("image/svg+xml")(encoded, alt)


def _joined(data: Any) -> str:
    return data if isinstance(data, str) else "".join(map(str, data))


TEXT = "text/plain"
# in order of preference
RENDERERS: dict[str, Callable[[str, str], Markup]] = {
    "text/html": _rich,
    "image/svg+xml": _svg,
    "image/png": _image("image/png"),
    "image/jpeg": _image("image/jpeg"),
    "text/markdown": lambda text, _: markdown(text),
    "text/latex": lambda text, _: markdown(text),
    TEXT: lambda text, _: _text("result", text),
}
