"""The course map in a browser: links, layers, the list on a phone, and where a student stands."""

import json
import shutil
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from transformer_course.progress.states import lesson_checks

from autograder.authoring.lesson import all_lessons, read_lesson
from autograder.authoring.overview import direct_needs, overview
from autograder.bench.browser import chromium
from autograder.paths import COURSE, ROOT, Course
from autograder.site.course_map import course_map, told_needs
from autograder.tests.widgets.pages import assert_accessible

STATIC = ROOT / "autograder" / "site" / "static"
ADDRESS = "http://course.test/"
WIDE, PHONE = {"width": 1100, "height": 900}, {"width": 390, "height": 844}
LESSONS = [read_lesson(path) for path in all_lessons(COURSE)]
OVERVIEWS = [overview(lesson) for lesson in LESSONS]
NEEDS = direct_needs(OVERVIEWS)
MAP = course_map(LESSONS)
# furo's colours, and how wide it sets a text
THEME = """
body { --color-foreground-primary: #000; --color-foreground-secondary: #5a5c63;
  --color-foreground-border: #878787; --color-background-primary: #fff;
  --color-background-secondary: #f8f9fb; --color-brand-content: #2757dd;
  background: var(--color-background-primary); color: var(--color-foreground-primary);
  font: 16px/1.5 "DejaVu Sans", sans-serif; margin: 0 auto; max-width: 46em; padding: 0 1em; }
body[data-theme="dark"] { --color-foreground-primary: #cfd0d0;
  --color-foreground-secondary: #9ca0a5; --color-foreground-border: #666;
  --color-background-primary: #131416; --color-background-secondary: #1a1c1e;
  --color-brand-content: #5ca5ff; }
"""
PAGE = f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Course</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>{THEME}{(STATIC / "course_map.css").read_text(encoding="utf-8")}</style></head>
<body data-theme="light"><main><h1>Course</h1>{MAP}</main>
<script>{(STATIC / "course_map.js").read_text(encoding="utf-8")}</script></body></html>"""
LINKS = ".course-map li a"
TOLD = ".course-map-told"
States = dict[str, dict[str, str]]


@pytest.fixture(scope="module")
def context() -> Iterator[Any]:
    with chromium(viewport=WIDE) as context:
        yield context


@pytest.fixture
def opened(context: Any) -> Iterator[Callable[..., Any]]:
    """A function that opens the map; nothing but the page is asked for, and no error is raised."""
    pages, errors, asked = [], [], []

    def answer(route: Any) -> None:
        asked.append(route.request.url)
        route.fulfill(body=PAGE, content_type="text/html")

    def open_page(size: dict[str, int] = WIDE, before: str = "") -> Any:
        page = context.new_page()
        pages.append(page)
        page.set_default_timeout(10_000)
        page.set_viewport_size(size)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.route("**", answer)
        page.add_init_script(before)
        page.goto(ADDRESS)
        return page

    yield open_page
    for page in pages:
        page.evaluate("() => { try { localStorage.clear() } catch { /* kept from the page */ } }")
        page.close()
    assert errors == []
    assert {url.removeprefix(ADDRESS).partition("/")[0] for url in asked} <= {"", "lessons"}


def choose(page: Any, content: str | bytes, name: str = "progress.json") -> str:
    """Choose a file with this content; return what is told then."""
    before = page.locator(TOLD).text_content()
    data = content.encode() if isinstance(content, str) else content
    page.evaluate(f"() => {{ document.querySelector('{TOLD}').textContent = '' }}")
    file = {"name": name, "mimeType": "application/json", "buffer": data}
    page.locator("input[type=file]").set_input_files(file)
    page.locator(f"{TOLD}:not(:empty)").wait_for()
    return page.locator(TOLD).text_content() or f"nothing after {before}"


def shares(**share: float) -> States:
    """The states of lessons, by their number (`n7=1`), with at least this share of their points."""
    states: States = {}
    for one in OVERVIEWS:
        wanted, got = share.get(f"n{one.number}", 0), 0.0
        checks = lesson_checks(one.name).checks
        states[one.name] = {}
        for check in checks:
            passed = got < wanted * sum(each.points for each in checks)
            got += check.points if passed else 0
            states[one.name][check.name] = "passed" if passed else "failed"
    return states


def badges(page: Any) -> dict[str, str]:
    """What is marked, by the lesson's number."""
    marked = page.eval_on_selector_all(
        ".course-map li[data-badge]",
        "all => all.map(li => [li.querySelector('b').textContent,"
        " li.querySelector('.course-map-badge').textContent])",
    )
    return dict(marked)


def widths(page: Any) -> list[float]:
    """How far the bar of each lesson reaches, as a share of the lesson's width."""
    return page.eval_on_selector_all(
        ".course-map-bar",
        "all => all.map(bar => bar.offsetWidth / bar.parentElement.clientWidth)",
    )


# --- the map -----------------------------------------------------------------------------


def test_each_lesson_is_a_link_that_says_what_it_needs(opened: Any) -> None:
    page = opened()
    links = page.get_by_role("navigation", name="Course map").get_by_role("link")
    assert links.count() == len(LESSONS) == page.get_by_role("listitem").count()
    assert [link.get_attribute("href") for link in links.all()] == [
        f"lessons/{lesson.name}.html" for lesson in LESSONS
    ]
    for one in OVERVIEWS:
        said = f"Lesson {one.number}, {one.title}, {one.minutes} minutes"
        name = f"{said}, {told_needs(NEEDS[one.number])}"
        assert page.get_by_role("link", name=name, exact=True).is_visible()


def test_what_a_lesson_needs_is_told_in_words() -> None:
    assert told_needs([]) == "needs no other lesson"
    assert told_needs([2]) == "needs lesson 2"
    assert told_needs([5, 6]) == "needs lessons 5 and 6"
    assert told_needs([1, 5, 6]) == "needs lessons 1, 5 and 6"


def test_the_arrows_are_what_lessons_need_and_run_through_none(opened: Any) -> None:
    page = opened()
    drawn = page.evaluate(
        """() => [...document.querySelectorAll(".course-map g path")].map(path => {
          const to = path.getScreenCTM(), points = [], all = path.getTotalLength();
          for (let at = 0; at <= 200; at++) {
            const point = path.getPointAtLength(all * at / 200).matrixTransform(to);
            points.push([point.x, point.y]);
          }
          return { arrow: [Number(path.dataset.from), Number(path.dataset.to)], points };
        })"""
    )
    assert {tuple(one["arrow"]) for one in drawn} == {
        (need, number) for number, needs in NEEDS.items() for need in needs
    }
    boxes = dict(zip(NEEDS, (li.bounding_box() for li in page.locator("li").all()), strict=True))
    for one in drawn:
        through = {
            number
            for number, box in boxes.items()
            for x, y in one["points"]
            if 1 < x - box["x"] < box["width"] - 1 and 1 < y - box["y"] < box["height"] - 1
        }
        assert through == set(), one["arrow"]
        first, last = (boxes[number] for number in one["arrow"])
        for box, (x, y), edge in (
            (first, one["points"][0], first["y"] + first["height"]),
            (last, one["points"][-1], last["y"]),
        ):
            assert abs(y - edge) < 4
            assert box["x"] < x < box["x"] + box["width"]


def test_lessons_stand_apart_and_their_texts_fit(opened: Any) -> None:
    page = opened()
    choose(page, json.dumps(shares(n1=1)))
    boxes = [li.bounding_box() for li in page.locator("li").all()]
    for one, other in combinations(boxes, 2):
        beside = abs(one["x"] - other["x"]) >= one["width"]
        assert beside or abs(one["y"] - other["y"]) >= one["height"]
    for link in page.locator(LINKS).all():
        assert link.evaluate("a => a.scrollHeight <= a.clientHeight"), link.inner_text()
        assert link.evaluate("a => a.scrollWidth <= a.clientWidth"), link.inner_text()


def test_on_a_phone_the_map_is_a_list_in_order_with_what_each_needs(opened: Any) -> None:
    page = opened(PHONE)
    assert not page.locator(".course-map svg").is_visible()
    tops = [li.bounding_box()["y"] for li in page.locator("li").all()]
    assert tops == sorted(tops)
    for one, link in zip(OVERVIEWS, page.locator(LINKS).all(), strict=True):
        text = " ".join(link.inner_text().split())
        minutes, needed = f"{one.minutes} min", told_needs(NEEDS[one.number])
        assert text == f"{one.number} · {minutes} {one.title} {needed}"
    assert page.evaluate("() => document.documentElement.scrollWidth") == PHONE["width"]


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_map_is_accessible(opened: Any, theme: str, size: dict[str, int]) -> None:
    page = opened(size)
    page.evaluate("theme => { document.body.dataset.theme = theme }", theme)
    assert_accessible(page, "body")
    choose(page, json.dumps(shares(n1=1, n2=1, n3=0.6, n4=0.1)))
    assert len(badges(page)) == 2
    assert_accessible(page, "body")


def test_keys_go_through_the_lessons_in_order_and_light_their_arrows(opened: Any) -> None:
    page = opened()
    for one in OVERVIEWS:
        page.keyboard.press("Tab")
        focus = page.locator("a:focus-visible")
        assert f"/{one.name}." in focus.get_attribute("href")
        assert focus.evaluate("a => getComputedStyle(a).outlineStyle") == "solid"
        lit = page.locator("path[data-lit]").evaluate_all(
            "all => all.map(path => [Number(path.dataset.from), Number(path.dataset.to)])"
        )
        around = [
            (need, n) for n, needs in NEEDS.items() for need in needs if one.number in (n, need)
        ]
        assert sorted(map(tuple, lit)) == sorted(around)
    page.keyboard.press("Tab")
    assert page.locator("input[type=file]:focus").count() == 1
    page.locator(LINKS).nth(2).press("Enter")
    page.wait_for_url(f"{ADDRESS}lessons/{LESSONS[2].name}.html")


# --- where a student stands --------------------------------------------------------------


def test_the_points_are_those_of_the_kit_and_stay_until_forgotten(opened: Any) -> None:
    page = opened()
    names = page.locator(LINKS).evaluate_all("all => all.map(a => a.ariaLabel)")
    assert not page.get_by_role("button", name="Forget").is_visible()
    states = shares(n1=1, n2=0.7, n5=0.2)
    told = choose(page, json.dumps(states, indent=1))
    points = [lesson_checks(one.name).points(states[one.name]) for one in OVERVIEWS]
    got, of = (sum(each) for each in zip(*points, strict=True))
    assert told == f"You have {got:g} of {of:g} points. Next: lesson 3, Multi-head attention."
    for _ in range(2):
        shown = page.locator(".course-map-points").all_text_contents()
        assert [text.removeprefix("✓ ") for text in shown] == [f"{a:g}/{b:g}" for a, b in points]
        assert [text[0] == "✓" for text in shown] == [a == b for a, b in points]
        assert widths(page) == [pytest.approx(a / b, abs=0.01) for a, b in points]
        marked = page.locator(LINKS).evaluate_all("all => all.map(a => a.ariaLabel)")
        assert marked[2] == f"{names[2]}, {points[2][0]:g} of {points[2][1]:g} points, next"
        page.reload()
    page.get_by_role("button", name="Forget").click()
    assert page.evaluate("() => localStorage.length") == 0
    assert page.locator("input[type=file]:focus").count() == 1
    for _ in range(2):
        assert page.locator(LINKS).evaluate_all("all => all.map(a => a.ariaLabel)") == names
        assert page.locator("[data-share], [data-badge]").count() == 0
        assert "".join(page.locator(".course-map-points").all_text_contents()) == ""
        assert set(widths(page)) == {0}
        page.reload()


EVERY = {f"n{one.number}": 1.0 for one in OVERVIEWS}
MARKED = {
    "a beginner": ({}, {"1": "next"}),
    "begun": ({"n1": 0.1}, {"1": "next"}),
    "half of what it needs": ({"n1": 0.5}, {"2": "next"}),
    "a choice": ({"n1": 1, "n2": 1, "n3": 1}, {"4": "next", "6": "ready"}),
    "the one that is begun": (
        {"n1": 1, "n2": 1, "n3": 1, "n6": 0.1},
        {"4": "ready", "6": "next"},
    ),
    "one that needs two": (
        {"n1": 1, "n2": 1, "n3": 1, "n4": 1, "n5": 1},
        {"6": "next"},
    ),
    "what is left": (
        EVERY | {"n5": 0.8},
        {"5": "next"},
    ),
    "nothing is left": (EVERY, {}),
}


@pytest.mark.parametrize("case", MARKED)
def test_the_next_lesson_is_marked_and_those_that_are_ready(opened: Any, case: str) -> None:
    share, expected = MARKED[case]
    page = opened()
    told = choose(page, json.dumps(shares(**share)))
    assert badges(page) == expected
    following = [number for number, badge in expected.items() if badge == "next"]
    assert ("Next" in told, "finished" in told) == (bool(following), not following)
    for number in following:
        assert f"lesson {number}, " in told


NO_FILES = {
    "empty": "",
    "no JSON": "passed",
    "markup": "<script>alert(1)</script>",
    "null": "null",
    "a number": "3",
    "a text": json.dumps(LESSONS[0].name),
    "a list": json.dumps([shares(n1=1)]),
    "an object": "{}",
    "a notebook": json.dumps({"cells": [], "metadata": {}, "nbformat": 4}),
    "a lesson that is a list": json.dumps({LESSONS[0].name: ["passed"]}),
    "a lesson that is null": json.dumps(shares(n1=1) | {LESSONS[4].name: None}),
    "prototypes": f'{{"__proto__": {json.dumps(shares(n1=1))}, "constructor": {{}}}}',
    "deep": "[" * 200_000,
    "deep in a lesson": f'{{"{LESSONS[0].name}": {"[" * 200_000}',
    "no UTF-8": b"\xff\xfe\x00\x80{}",
    "large": json.dumps(shares(n1=1)) + " " * 1_000_000,
}


def test_what_is_no_progress_file_is_told_in_a_line_and_changes_nothing(opened: Any) -> None:
    page = opened()
    for case, content in NO_FILES.items():
        told = choose(page, content, "notes.json")
        assert told.startswith("“\u2068notes.json\u2069” is not a progress file. Choose"), case
        assert page.locator("[data-share]").count() == 0, case
    choose(page, json.dumps(shares(n1=1)))
    before = page.locator(".course-map nav").inner_html()
    choose(page, "{}")
    assert page.locator(".course-map nav").inner_html() == before


def test_the_name_of_a_file_is_only_text_and_not_long(opened: Any) -> None:
    page = opened()
    name = "<img src=x onerror=alert(1)>\u202e" + "a" * 100 + ".json"
    told = choose(page, "{}", name)
    assert told.startswith("“\u2068<img src=x onerror=alert(1)>")
    assert len(told.partition("”")[0]) < 70
    assert page.locator(f"{TOLD} *").count() == 0


def test_only_known_checks_count_and_only_those_that_passed(opened: Any) -> None:
    page = opened()
    first = LESSONS[0].name
    check = lesson_checks(first).checks[0]
    odd = {"passed": "passed", "toString": "passed", "<b>": "passed", check.name: "passed"}
    others: dict[str, Any] = {one.name: True for one in lesson_checks(first).checks[1:]}
    content = {first: odd | others | {"list": ["passed"]}, "99_later": {"x": "passed"}, "x": 3}
    text = json.dumps(content)[:-1] + ', "__proto__": {"polluted": "passed"}}'
    choose(page, text)
    all_points = lesson_checks(first).points({})[1]
    shown = page.locator(".course-map-points").first.text_content()
    assert shown == f"{check.points:g}/{all_points:g}"
    assert page.evaluate("() => ({}).polluted") is None
    kept = page.evaluate("() => Object.values(localStorage)")
    assert [json.loads(one) for one in kept] == [{first: {check.name: "passed"}}]


@pytest.mark.parametrize("kept", ["", "{", "null", '{"01_dot_product_attention": 3}'])
def test_what_a_browser_kept_may_be_anything(opened: Any, kept: str) -> None:
    page = opened(before=f"localStorage['transformer-course-progress'] = {json.dumps(kept)}")
    assert page.locator("[data-share]").count() == 0
    assert page.locator("input[type=file]").is_visible()


def test_a_browser_that_keeps_nothing_says_so(opened: Any) -> None:
    page = opened(
        before="""Object.defineProperty(window, "localStorage", {
          get() { throw new DOMException("denied", "SecurityError") } })"""
    )
    told = choose(page, json.dumps(shares(n1=1)))
    assert told.endswith("This browser does not keep it: choose the file again next time.")
    assert badges(page) == {"2": "next"}
    page.get_by_role("button", name="Forget").click()
    assert page.locator("[data-share]").count() == 0


# --- what is made without a browser ------------------------------------------------------


def test_the_map_can_stand_in_markdown() -> None:
    assert "\n\n" not in MAP


def test_a_name_in_the_data_cannot_end_them(tmp_path: Path) -> None:
    course = Course(tmp_path)
    course.solutions.mkdir()
    course.progress.mkdir(parents=True)
    path = shutil.copy(LESSONS[0].path, course.solutions)
    stored = json.dumps({"checks": [{"name": "</script><!--<b>", "points": 1}]})
    (course.progress / f"{LESSONS[0].name}.json").write_text(stored, encoding="utf-8")
    drawn = course_map([read_lesson(Path(path))])
    data = drawn.partition('class="course-map-data">')[2].partition("</script>")[0]
    assert json.loads(data)[LESSONS[0].name]["points"] == {"</script><!--<b>": 1}
    assert "<" not in data
