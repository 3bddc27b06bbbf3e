"""The pages beside the lessons, as Markdown: front page, glossary, pictures, checks, teaching."""

import html
import posixpath
import re
import textwrap
from itertools import groupby
from pathlib import Path

from autograder.authoring.notebook import repository_address
from autograder.authoring.overview import Overview
from autograder.errors import CourseError
from autograder.site.lesson_pages import colab
from autograder.site.pictures import Shown

# a link or an image that is relative
LINK = re.compile(r"(!?\[[^\]]*)\]\((?![a-z][a-z0-9+.-]*:|#)([^)\s]+)\)")
TITLE = "Transformers, from the dot product up"
GOAL = "09_decoder"  # where a student has trained a GPT
FRONT = Path(__file__).with_name("front.md")


def front(lessons: list[Overview], course_map: str, hero: str, explorers: str) -> str:
    """What the course is, where to begin, and the map; the live views are HTML, or empty."""
    repository, first = repository_address(), lessons[0].name
    project = repository.removeprefix("https://github.com/")
    return FRONT.read_text(encoding="utf-8").format(
        title=TITLE,
        route=_route(lessons),
        first=first,
        colab=colab(first),
        views=f"## Try it here\n\n{hero}\n\n{explorers}" if hero or explorers else "",
        map=course_map,
        repository=repository,
        project=project,
        folder=project.rpartition("/")[2],
    )


def _route(lessons: list[Overview]) -> str:
    """How long the course takes, and how soon it leads to something that works."""
    first = f"Lesson 1 takes {_hours(lessons[:1])} and leaves you with working attention; "
    whole = f"all {len(lessons)} lessons take about {_hours(lessons)}."
    goal = [one for one in lessons if one.name == GOAL]
    if not goal:
        return first + whole
    needs, on_the_way = {one.number: one.needs for one in lessons}, {goal[0].number}
    while more := {need for one in on_the_way for need in needs[one]} - on_the_way:
        on_the_way |= more
    way = [one for one in lessons if one.number in on_the_way]
    return f"{first}after {len(way)} lessons ({_hours(way)}) you have trained a GPT; {whole}"


def _hours(lessons: list[Overview]) -> str:
    return f"{round(sum(one.minutes for one in lessons) / 60)} hours"


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
    # found by their lessons: the search need not show what pictures say
    parts = ["---", "nosearch: true", "---", "# All pictures and live views", ""]
    parts += ["Click a picture to open the lesson at its place.", ""]
    for one in lessons:
        parts += [f"## {one.number} · {one.title}", ""]
        for section, pictures in groupby(shown[one.name], key=lambda picture: picture.section):
            parts += [section, "", '<ul class="gallery">']
            parts += [_item(one.name, picture) for picture in pictures]
            parts += ["</ul>", ""]
    return "\n".join(parts)


def _item(name: str, picture: Shown) -> str:
    said = html.escape(textwrap.shorten(picture.alt, 120, placeholder=" …"))
    live = "<span>live</span>" if picture.kind else ""
    return (
        f'<li><a href="lessons/{name}.html#{picture.anchor}">'
        f'<img alt="{said}" src="_static/pictures/{picture.file}" loading="lazy" '
        f'width="{picture.size[0]}" height="{picture.size[1]}">{live}</a></li>'
    )


def from_repository(text: str, folder: str) -> str:
    """A document of the repository as a page: lessons are on the site, other files are not.

    `folder` is where the document lies; its relative links begin there. `CourseError` for a link
    that leads out of the repository.
    """

    def moved(found: re.Match[str]) -> str:
        link, _, place = found[2].partition("#")
        path = posixpath.normpath(posixpath.join(folder, link))
        if path.startswith("../"):
            raise CourseError(f"a link leads out of the repository: {found[2]}")
        lesson = path.removeprefix("notebooks/")
        if path.endswith(".ipynb") and path != lesson:
            return f"{found[1]}](lessons/{lesson})"
        anchor = f"#{place}" if place else ""
        kind = "raw" if found[1].startswith("!") else "blob"
        return f"{found[1]}]({repository_address()}/{kind}/main/{path}{anchor})"

    return LINK.sub(moved, text)
