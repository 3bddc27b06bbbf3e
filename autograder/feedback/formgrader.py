"""nbgrader's formgrader, made safe to open: nothing that a student handed in runs or loads there.

    config.merge(SETTINGS)
    protect()

nbgrader renders students' markdown, outputs and names as they stand, in a page that may open a
terminal. `SETTINGS` are for its marking page: a preprocessor that leaves nothing but harmless
HTML, filters that escape whatever has not gone through it, and a template with a
Content-Security-Policy. `protect` is for what no setting reaches: the other pages and files.
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
# what formgrader's own page runs beside its files: scripts without a `src`, and clicks
INLINE = re.compile(r'(?s)<script type="text/javascript">(.*?)</script>| onclick="([^"]*)"')
CLASS = "nbgrader_config.py"


# --- what a person marks -----------------------------------------------------------------------


class Harmless(Preprocessor):
    """A submission as HTML that runs nothing and loads nothing, in the cells nbgrader expects."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        sanitized.spare(nb)
        nb.metadata = NotebookNode()
        nb.cells = [_cell(cell, number) for number, cell in enumerate(nb.cells)]
        for name, value in resources.items():
            # the template writes a student's name, for one, as it stands
            if isinstance(value, str):
                resources[name] = escape(value)
        return nb, resources


def _cell(cell: NotebookNode, number: int) -> NotebookNode:
    kept = {"id": f"cell-{number}", "metadata": _metadata(cell)}
    if cell.cell_type == "code":
        source = Markup('<div class="highlight"><pre>{}</pre></div>')
        return new_code_cell(
            source.format(sanitized.code(cell.source)),
            outputs=[made for shown in cell.outputs if (made := _output(shown))],
            execution_count=cell.get("execution_count"),
            **kept,
        )
    if cell.cell_type == "markdown":
        return new_markdown_cell(
            _unlinked(sanitized.markdown(cell.source, cell.get("attachments"))), **kept
        )
    return new_markdown_cell(sanitized.preformatted(cell.source), **kept)


def _metadata(cell: NotebookNode) -> dict[str, Any]:
    """Of a cell's metadata what the marking page needs; its template makes the points a number."""
    about = cell.metadata.get("nbgrader")
    if not isinstance(about, dict) or not GRADE_ID.fullmatch(str(about.get("grade_id"))):
        return {}
    told = {name: about.get(name) for name in ("grade_id", "points")}
    return {"nbgrader": told | {role: about.get(role) is True for role in ROLES}}


def _output(shown: NotebookNode) -> NotebookNode | None:
    made = _unlinked(sanitized.output(shown))
    return new_output("display_data", {"text/html": made}) if made else None


def _unlinked(made: Markup) -> Markup:
    """The same, with each link's address to be read and not to be followed.

    Jupyter does what an address on this server says (formgrader reads the settings of any folder
    that is named in one), so a click on a student's link would be enough.
    """

    def titled(link: re.Match[str]) -> str:
        address = HREF.search(link[1])
        return f'<a title="{address[1]}">' if address else "<a>"

    return Markup(LINK.sub(titled, made))


def as_made(source: str, **_: Any) -> str:
    """What `Harmless` made, as it is; escaped, what it did not make."""
    return source if isinstance(source, Markup) else sanitized.preformatted(source)


def policies(bar: str, base_url: str) -> list[str]:
    """Content-Security-Policies, all of which hold: only formgrader's own scripts, and its API.

    Two, since 'self' cannot be narrowed to a folder: what students handed in lies on this server
    too. `bar` is the page's navigation, the only part after the policies that has scripts inline.
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
            "preprocessors": [Harmless],
            "filters": {"markdown2html": as_made, "highlight_code": as_made, "policies": policies},
            "template_file": str(Path(__file__).with_name("marking.html.j2")),
        }
    }
)


# --- formgrader's other pages ------------------------------------------------------------------

PAGES = Environment(loader=FileSystemLoader(handlers.template_path), autoescape=True)


@cache
def protect() -> None:
    """Change what formgrader's handlers do in this process where no setting can.

    Its lists write parts of their addresses into scripts; it serves what students handed in as
    pages of this server; and it runs the settings of whatever folder it is pointed to.
    """
    files: Any = handlers.SubmissionFilesHandler
    opened: Any = handlers.FormgraderHandler
    base.BaseHandler.render = _render
    files.content_security_policy = property(_sandboxed)
    opened.get = _outside_classes(opened.get)


def _render(self: base.BaseHandler, name: str, **told: Any) -> str:
    return PAGES.get_template(name).render(**told)


def _sandboxed(self: base.BaseHandler) -> str:
    return f"{base.BaseHandler.content_security_policy.__get__(self)}; sandbox"


def _outside_classes(get: Any) -> Any:
    @authenticated
    @wraps(get)
    def checked(self: base.BaseHandler) -> Any:
        told = self.get_argument("path", "")
        for folder in Path(told).resolve().parents if told else ():
            if (folder / CLASS).exists():
                raise HTTPError(400, "%s lies inside a class: open %s", told, folder)
        return get(self)

    return checked
