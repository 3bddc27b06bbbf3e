"""How Sphinx makes the site: MyST-NB reads the notebooks, Furo is the theme, KaTeX the formulas.

`build.py` calls Sphinx, and hands over what depends on the course by `course.json`.
"""

import html
import json
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from autograder.site.pages import TITLE

project = TITLE
html_title = project
language = "en"
project_copyright = "the authors: prose and figures CC BY 4.0, code BSD-3-Clause"
extensions = ["myst_nb", "autograder.site.formulas"]
html_math_renderer = "katex"

nb_execution_mode = "off"  # executed once, by `python -m autograder build`
nb_code_prompt_show = "Show the code"
nb_code_prompt_hide = "Hide the code"
nb_mime_priority_overrides = [("html", "text/html", 0)]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
smartquotes = False

html_theme = "furo"
html_css_files = ["view.css", "site.css", "course_map.css"]
html_js_files = [("live.js", {"type": "module"}), ("course_map.js", {"defer": "defer"})]
html_favicon = "static/favicon.svg"
html_copy_source = False
html_show_sourcelink = False
html_last_updated_fmt = None
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"


def setup(app: Sphinx) -> None:
    """Add what only this course's pages have."""
    about = json.loads(Path(app.srcdir, "course.json").read_text(encoding="utf-8"))
    # conf.py is not among the pages
    folders = {"html_static_path": "_static", "html_extra_path": "extra"}
    set_to = {"html_baseurl": about["address"]}
    set_to |= {name: [str(Path(app.srcdir, part))] for name, part in folders.items()}
    for name, value in set_to.items():
        setattr(app.config, name, value)

    def add_card(app: Sphinx, page: str, template: str, context: dict, doctree: Any) -> None:
        """What other sites show of a page that somebody shares."""
        card = about["cards"].get(page)
        if card:
            image = f"{about['address']}_static/cards/{card['file']}"
            properties = {"og:title": card["title"], "og:description": card["says"]}
            properties |= {"og:image": image, "og:image:alt": card["title"], "og:type": "article"}
            tags = [
                f'<meta property="{name}" content="{html.escape(value)}">'
                for name, value in properties.items()
            ]
            tags += ['<meta name="twitter:card" content="summary_large_image">']
            tags += [f'<meta name="description" content="{html.escape(card["says"])}">']
            context["metatags"] = context.get("metatags", "") + "\n".join(tags)

    app.connect("html-page-context", add_card)
