"""The course map of the front page: each lesson a link, with arrows from what it needs.

One list serves all: where the page is wide its lessons stand in layers over an SVG of the arrows;
where it is narrow, and to a screen reader, it is a list that tells what each lesson needs.
`static/course_map.css` draws it, `static/course_map.js` marks where a student stands.
"""

import json
from collections.abc import Mapping, Sequence
from html import escape

from autograder.authoring.lesson import Lesson
from autograder.authoring.overview import Overview, direct_needs, overview
from autograder.site.layers import Layout, Point, layout

# in em of the page, as in course_map.css
COLUMN, ROW = 11, 6.5  # from one lesson to the next
BOX_HEIGHT = 4.4
PORT = 1.1  # between two arrows at one lesson
HEAD = 0.12  # that an arrow ends above a lesson, for its head's tip
FILE_SHOWN = "progress.json"

STAND = f"""\
<section class="course-map-stand" aria-label="Where you stand" hidden>
<p><label>Show where you stand: <input type="file" accept=".json"></label>
<button type="button" hidden>Forget</button></p>
<p class="course-map-told" role="status"></p>
<p class="course-map-note">Choose <code>.transformer_course/{FILE_SHOWN}</code> in your home folder
(the folder is hidden; on Colab it is in your Google Drive). Points are those that your checks see.
The next lesson is one with less than half of its points, where you have half of the points of every
lesson that it needs. The file is read in this page and sent nowhere; this browser keeps the points
until you choose <em>Forget</em>.</p>
</section>
"""


def course_map(lessons: Sequence[Lesson]) -> str:
    """The map of these lessons as HTML, without blank lines; links lead to `lessons/NAME.html`."""
    overviews = sorted(map(overview, lessons), key=lambda one: one.number)
    needs = direct_needs(overviews)
    laid = layout(needs)
    items = "".join(_item(one, needs[one.number], laid.places[one.number]) for one in overviews)
    size = f"--columns: {laid.columns:g}; --layers: {laid.layers}"
    return (
        f'<div class="course-map" style="{size}">\n'
        f'<nav aria-label="Course map">\n{_arrows(laid)}<ol role="list">\n{items}</ol>\n</nav>\n'
        f"{STAND}{_data(lessons, overviews, needs)}</div>\n"
    )


def _item(one: Overview, needs: Sequence[int], place: Point) -> str:
    """A lesson of the list: a link that says all by itself."""
    needed = told_needs(needs)
    name = f"Lesson {one.number}, {one.title}, {one.minutes} minutes, {needed}"
    short, colon, rest = one.title.partition(":")
    return (
        f'<li data-lesson="{escape(one.name)}" '
        f'style="--column: {place[0]:.3f}; --layer: {place[1]}">'
        f'<a href="lessons/{escape(one.name)}.html" aria-label="{escape(name)}">'
        f'<span class="course-map-head"><span><b>{one.number}</b> · {one.minutes} min</span>'
        f'<span class="course-map-points"></span></span>'
        f'<span class="course-map-title">{escape(short)}'
        f'<span class="course-map-rest">{escape(colon + rest)}</span></span>'
        f'<span class="course-map-needs">{needed}</span>'
        f'<span class="course-map-badge"></span><span class="course-map-bar"></span></a></li>\n'
    )


def told_needs(needs: Sequence[int]) -> str:
    """What a lesson needs, in words: `needs lessons 5 and 6`."""
    if not needs:
        return "needs no other lesson"
    *first, last = map(str, needs)
    if not first:
        return f"needs lesson {last}"
    return f"needs lessons {', '.join(first)} and {last}"


def _arrows(laid: Layout) -> str:
    """The arrows as SVG, in em; screen readers skip it, because each link says what it needs."""
    width, height = laid.columns * COLUMN, (laid.layers - 1) * ROW + BOX_HEIGHT
    paths = "".join(
        f'<path data-from="{first}" data-to="{last}" d="{_curve(laid, (first, last))}"/>\n'
        for first, last in laid.arrows
    )
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" aria-hidden="true" focusable="false">\n'
        '<defs><marker id="course-map-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="0.55" '
        'markerHeight="0.55" markerUnits="userSpaceOnUse" orient="auto">'
        '<path d="M0 0 8 4 0 8z"/></marker></defs>\n'
        f'<g marker-end="url(#course-map-tip)">\n{paths}</g></svg>\n'
    )


def _curve(laid: Layout, arrow: tuple[int, int]) -> str:
    """An arrow's path: it bends only between layers, where no lesson stands."""
    way = laid.arrows[arrow]
    xs = [column * COLUMN for column, _ in way]
    xs[0] += _port(laid, arrow, out=True)
    xs[-1] += _port(laid, arrow, out=False)
    layers = [layer for _, layer in way]
    drawn = f"M{xs[0]:.2f} {layers[0] * ROW + BOX_HEIGHT:.2f}"
    for x, then, layer in zip(xs, xs[1:], layers[1:], strict=False):
        last = layer == layers[-1]
        top = layer * ROW - (HEAD if last else 0)
        middle = layer * ROW - (ROW - BOX_HEIGHT) / 2
        drawn += f"C{x:.2f} {middle:.2f} {then:.2f} {middle:.2f} {then:.2f} {top:.2f}"
        drawn += "" if last else f"V{layer * ROW + BOX_HEIGHT:.2f}"
    return drawn


def _port(laid: Layout, arrow: tuple[int, int], out: bool) -> float:
    """How far from a lesson's middle an arrow begins or ends: beside the others, uncrossed."""
    end, beyond = (0, 1) if out else (1, -2)
    there = [other for other in laid.arrows if other[end] == arrow[end]]
    there.sort(key=lambda other: laid.arrows[other][beyond][0])
    return (there.index(arrow) - (len(there) - 1) / 2) * PORT


def _data(
    lessons: Sequence[Lesson], overviews: Sequence[Overview], needs: Mapping[int, Sequence[int]]
) -> str:
    """What course_map.js reads: each lesson with its needs and the points of its checks."""
    files = {one.name: one.course.progress / f"{one.name}.json" for one in lessons}
    names = {one.number: one.name for one in overviews}
    rows = {
        one.name: {
            "number": one.number,
            "title": one.title,
            "needs": [names[need] for need in needs[one.number]],
            "points": {
                check["name"]: check["points"]
                for check in json.loads(files[one.name].read_text(encoding="utf-8"))["checks"]
            },
        }
        for one in overviews
    }
    # `<` would end the script early, or begin a comment in it
    text = json.dumps(rows, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" class="course-map-data">{text}</script>\n'
