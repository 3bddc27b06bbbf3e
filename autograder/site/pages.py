"""The pages beside the lessons, as Markdown: front page, glossary, pictures, checks, teaching."""

import html
import re
import textwrap

from autograder.authoring.notebook import repository_address
from autograder.authoring.overview import Overview
from autograder.site.lesson_pages import colab
from autograder.site.pictures import Shown

LINK = re.compile(r"\]\((?!https?:|#)([^)\s]+)\)")
TITLE = "Transformers, from the dot product up"
FRONT = """\
# {title}

You build a Transformer yourself, from the dot product of two words to the whole model. Each lesson
is a notebook: you see a picture, predict, write the code, and are told at once *which* mistake you
made. What you see are the attention maps of your own code. There is nothing to download but the
course, and no GPU is needed.

<p class="begin"><a href="lessons/{first}.html">Read lesson 1</a> <a href="{colab}">Do lesson 1 in
Colab</a></p>

{hero}

## The way through

{map}

## Computed in the page

Two trained networks, each in one file that works without a network. In its lesson you make the same
page of your own weights.

<ul>
{explorers}
</ul>

## On your own computer

You need Python 3.11 or later and `make`. Two lines, and JupyterLab opens lesson 1:

```
git clone {repository}
cd {folder} && make lab
```

The [glossary](glossary.md) has every term, [all pictures](gallery.md) lead to their lessons, and
[teaching](teaching.md) shows how a class is graded.
"""
# below the live view at the front
HERO = """
<p>The attention of a small BERT that you train in lesson 12: choose a layer and a head, point at a
cell, change the temperature. The view runs in this page, as all views of the course do.</p>
"""
# above an explorer, whose page is otherwise the one that students keep
BACK = f"""
<link rel="icon" href="../_static/favicon.svg">
<p><a href="../index.html">{TITLE}</a></p>
"""
EXPLORERS = {
    "gpt": '<a href="explorers/gpt.html">A GPT from lesson 9</a>: type a beginning, and see each '
    "head’s attention, what each block adds, and the next character’s probabilities.",
    "vit": '<a href="explorers/vit.html">A Vision Transformer from lesson 8</a>: draw a digit, and '
    "see what it attends to.",
}


def front(lessons: list[Overview], course_map: str, hero: str, explorers: list[str]) -> str:
    """What the course is, where to begin, and the map; `hero` is a live view in HTML."""
    repository, first = repository_address(), lessons[0].name
    return FRONT.format(
        title=TITLE,
        first=first,
        colab=colab(first),
        hero=f"{hero}\n{HERO}" if hero else "",
        map=course_map,
        explorers="\n".join(f"<li>{EXPLORERS[kind]}</li>" for kind in explorers),
        repository=repository,
        folder=repository.rpartition("/")[2],
    )


def contents(lessons: list[Overview], solved: bool) -> str:
    """The order of the pages, for Sphinx; readers see it at the side of each page."""
    named = {"Lessons": [f"lessons/{one.name}" for one in lessons]}
    if solved:
        named["Solutions"] = [f"solutions/{one.name}" for one in lessons]
    named |= {"Look up": ["glossary", "gallery"], "Teach": ["teaching", "checks"]}
    parts = (
        "\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```"])
        for caption, pages in named.items()
    )
    return "\n\n".join(parts)


def gallery(lessons: list[Overview], shown: dict[str, list[Shown]]) -> str:
    """Every picture and live view, each a link to its place."""
    parts = ["# All pictures and live views", ""]
    for one in lessons:
        parts += [f"## {one.number} · {one.title}", "", '<ul class="gallery">']
        parts += [_item(one.name, picture) for picture in shown[one.name]]
        parts += ["</ul>", ""]
    return "\n".join(parts)


def _item(name: str, picture: Shown) -> str:
    first = picture.alt.split(". ")[0].rstrip(".")
    said = html.escape(textwrap.shorten(first, 90, placeholder=" …"))
    live = '<span class="kind">live</span> · ' if picture.kind else ""
    image = f"_static/pictures/{picture.file}"
    return (
        f'<li><a href="lessons/{name}.html#{picture.anchor}">'
        f'<img alt="" src="{image}" loading="lazy" width="{picture.size[0]}" '
        f'height="{picture.size[1]}">{live}{said}</a></li>'
    )


def from_repository(text: str, folder: str) -> str:
    """A document of the repository as a page: lessons are on the site, other files are not.

    `folder` is where the document lies; its relative links begin there.
    """

    def moved(found: re.Match[str]) -> str:
        path, _, place = found[1].partition("#")
        if path.endswith(".ipynb") and "/" not in path:
            return f"](lessons/{path})"
        steps = [part for part in f"{folder}/{path}".split("/") if part not in ("", ".")]
        while ".." in steps:
            at = steps.index("..")
            del steps[at - 1 : at + 1]
        anchor = f"#{place}" if place else ""
        return f"]({repository_address()}/blob/main/{'/'.join(steps)}{anchor})"

    return LINK.sub(moved, text)
