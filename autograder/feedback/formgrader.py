"""Make nbgrader's formgrader safe to open: submissions run no scripts and load nothing there.

    config.merge(SETTINGS)
    protect()

nbgrader renders students' markdown, outputs and names unescaped, in a page that could open a
terminal. `SETTINGS` protect its marking page, with a preprocessor that sanitizes the notebook,
filters that escape whatever it did not produce, and a template with a Content-Security-Policy.
`protect` patches what cannot be configured: the other pages and files.
"""

import base64
import hashlib
import re
from functools import cache, wraps
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup, escape
from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output
from nbgrader.server_extensions.formgrader import base, handlers
from tornado.web import HTTPError, authenticated
from traitlets.config import Config

from autograder.feedback import sanitized

GRADE_ID = re.compile(r"[\w.-]{1,200}")
ROLES = ("grade", "solution", "task", "locked")
LINK = re.compile(r'<a((?: [a-z]+="[^"]*")*)>')
HREF = re.compile(r' href="([^"]*)"')
# the inline scripts and event handlers of formgrader's own page
INLINE = re.compile(r'(?s)<script type="text/javascript">(.*?)</script>| onclick="([^"]*)"')
CONFIG_FILE = "nbgrader_config.py"


# --- the marking page --------------------------------------------------------------------------


class Sanitize(Preprocessor):
    """Replace each cell and output by sanitized HTML, in the cell types nbgrader expects."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        sanitized.limit_markup(nb)
        nb.metadata = NotebookNode()
        nb.cells = [_cell(cell, number) for number, cell in enumerate(nb.cells)]
        for name, value in resources.items():
            # nbgrader's template does not escape them, such as the student's name
            if isinstance(value, str):
                resources[name] = escape(value)
        return nb, resources


def _cell(cell: NotebookNode, number: int) -> NotebookNode:
    kept = {"id": f"cell-{number}", "metadata": _metadata(cell)}
    if cell.cell_type == "code":
        source = Markup('<div class="highlight"><pre>{}</pre></div>')
        return new_code_cell(
            source.format(sanitized.code(cell.source)),
            outputs=[html for output in cell.outputs if (html := _output(output))],
            execution_count=cell.get("execution_count"),
            **kept,
        )
    if cell.cell_type == "markdown":
        return new_markdown_cell(
            _without_links(sanitized.markdown(cell.source, cell.get("attachments"))), **kept
        )
    return new_markdown_cell(sanitized.preformatted(cell.source), **kept)


def _metadata(cell: NotebookNode) -> dict[str, Any]:
    """The metadata that the marking page needs; its template converts the points to a number."""
    given = cell.metadata.get("nbgrader")
    if not isinstance(given, dict) or not GRADE_ID.fullmatch(str(given.get("grade_id"))):
        return {}
    kept = {name: given.get(name) for name in ("grade_id", "points")}
    return {"nbgrader": kept | {role: given.get(role) is True for role in ROLES}}


def _output(output: NotebookNode) -> NotebookNode | None:
    html = _without_links(sanitized.output(output))
    return new_output("display_data", {"text/html": html}) if html else None


def _without_links(html: Markup) -> Markup:
    """Replace links by their text, with the address as title.

    Requests to this server have effects (formgrader loads the settings of any folder that an
    address names), so a click on a student's link could be an attack.
    """

    def titled(link: re.Match[str]) -> str:
        address = HREF.search(link[1])
        return f'<a title="{address[1]}">' if address else "<a>"

    return Markup(LINK.sub(titled, html))


def sanitized_or_escaped(source: str, **_: Any) -> str:
    """Keep what `Sanitize` produced; escape everything else."""
    return source if isinstance(source, Markup) else sanitized.preformatted(source)


def policies(bar: str, base_url: str) -> list[str]:
    """Content-Security-Policies that together allow only formgrader's own scripts and API.

    There are two because 'self' cannot be restricted to a path, and submissions are on this server
    too. `bar` is the page's navigation bar, the only part after the policies with inline scripts.
    """
    own = " ".join(["'unsafe-hashes'", *(_hash(a or b) for a, b in INLINE.findall(bar))])
    here = f"*:*{base_url}/formgrader"
    return [
        f"default-src 'none'; script-src 'self' {own}; style-src 'self' 'unsafe-inline'; "
        "img-src data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'",
        f"script-src {here}/static/ {own}; connect-src {here}/api/",
    ]


def _hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


SETTINGS = Config(
    {
        "HTMLExporter": {
            "preprocessors": [Sanitize],
            "filters": {
                "markdown2html": sanitized_or_escaped,
                "highlight_code": sanitized_or_escaped,
                "policies": policies,
            },
            "template_file": str(Path(__file__).with_name("marking.html.j2")),
        }
    }
)


# --- formgrader's other pages ------------------------------------------------------------------

PAGES = Environment(loader=FileSystemLoader(handlers.template_path), autoescape=True)


@cache
def protect() -> None:
    """Patch formgrader's handlers in this process where there is no setting.

    Its lists insert parts of their addresses into scripts, it serves submitted files as pages of
    this server, and it runs the settings of any folder that an address names.
    """
    files: Any = handlers.SubmissionFilesHandler
    index: Any = handlers.FormgraderHandler
    base.BaseHandler.render = _render
    files.content_security_policy = property(_sandboxed)
    index.get = _refusing_subfolders(index.get)


def _render(self: base.BaseHandler, name: str, **values: Any) -> str:
    return PAGES.get_template(name).render(**values)


def _sandboxed(self: base.BaseHandler) -> str:
    return f"{base.BaseHandler.content_security_policy.__get__(self)}; sandbox"


def _refusing_subfolders(get: Any) -> Any:
    """Refuse to open a folder inside a classroom, whose settings a student may have submitted."""

    @authenticated
    @wraps(get)
    def checked(self: base.BaseHandler) -> Any:
        path = self.get_argument("path", "")
        for folder in Path(path).resolve().parents if path else ():
            if (folder / CONFIG_FILE).exists():
                raise HTTPError(400, "%s is inside a classroom: open %s", path, folder)
        return get(self)

    return checked
