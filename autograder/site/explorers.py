"""Networks that compute in a page of their own, and the live view at the front."""

import html
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
from transformer_course.widgets import view

from autograder import paths
from autograder.authoring.build import LIVE
from autograder.paths import Course
from autograder.site.pictures import Pictures


@dataclass(frozen=True)
class Explorer:
    """A kind of live view, the lesson whose own is on the site, and what the front page says."""

    kind: str
    lesson: str
    says: str


EXPLORERS = (
    Explorer(
        "gpt",
        "09_decoder",
        '<a href="explorers/gpt.html">A GPT from lesson 9</a>, in a page that works offline: type '
        "a prompt, and see each head’s attention, the logit lens and the next character. In the "
        "lesson you make this page of your own model.",
    ),
    Explorer(
        "vit",
        "08_vision_transformer",
        '<a href="explorers/vit.html">A Vision Transformer from lesson 8</a>: draw a digit, and '
        "see what the model attends to, and what it answers.",
    ),
)
HERO = Explorer(
    "attention",
    "12_text_classification",
    "In the lessons, views like this show your own code. This one shows a small BERT, trained in "
    "lesson 12 to tell good reviews from bad ones. Each row is a token, and yellow marks what it "
    "attends to most: choose a layer and a head, point at a cell.",
)
# above an explorer, whose page is otherwise the one that students keep
BACK = """
<link rel="icon" href="../_static/favicon.svg">
<p>From <a href="../index.html">{title}</a></p>
"""


def hero(course: Course, pictures: Pictures) -> str:
    """The live view at the front in HTML, if the course has it."""
    for data in _live_outputs(course, HERO):
        return f"<p>{HERO.says}</p>\n{pictures.taken_out(data, 'hero', '')[0]}"
    return ""


def write_explorers(course: Course, folder: Path, title: str) -> str:
    """Write the pages of the course's explorers; return a list in HTML that leads to them."""
    written = []
    for one in EXPLORERS:
        for data in _live_outputs(course, one):
            live = data[LIVE]
            shown = {part: live[part] for part in ("options", "state")}
            page = view.page(one.kind, shown, live["data"].strip(), data["text/html"])
            named = f"<title>{html.escape(live['options']['title'])}</title>"
            page = page.replace(f"<title>{one.kind}</title>", named, 1)
            page = page.replace("<main>", f"{BACK.format(title=title)}<main>", 1)
            paths.write(folder / f"{one.kind}.html", page)
            written.append(f"<li>{one.says}</li>")
            break
    return "\n".join(["<ul>", *written, "</ul>"]) if written else ""


def _live_outputs(course: Course, wanted: Explorer) -> Iterator[dict]:
    """What the executed lesson, if the course has it, shows in live views of this kind."""
    file = course.solutions / f"{wanted.lesson}.ipynb"
    for cell in nbformat.read(file, as_version=4).cells if file.exists() else []:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if data.get(LIVE, {}).get("kind") == wanted.kind:
                yield data
