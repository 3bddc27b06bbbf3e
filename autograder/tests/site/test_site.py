"""The static site, as Sphinx made it, read in a browser: every page, link and live view."""

import functools
import html
import http.server
import re
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag, urljoin

import pytest

from autograder.authoring.lesson import all_lessons, read_lesson
from autograder.authoring.notebook import repository_address
from autograder.authoring.publish import secrets
from autograder.bench.browser import chromium
from autograder.errors import CourseError
from autograder.paths import COURSE, Course
from autograder.site import build
from autograder.site.build import Site, build_site
from autograder.site.formulas import drawn
from autograder.site.pages import from_repository
from autograder.tests.widgets.pages import VIEW, assert_accessible

LESSONS = [read_lesson(path) for path in all_lessons(COURSE)]
FIRST = f"lessons/{LESSONS[0].name}.html"
MEGABYTE = 1_000_000
# all of a page's links, and all places that links may lead to
LINKS = "[...document.querySelectorAll('a[href]')].map(a => a.href)"
PLACES = "[...document.querySelectorAll('[id]')].map(e => e.id)"
WIDE = "document.documentElement.scrollWidth > innerWidth"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """The site; Sphinx fails at a warning, such as a link of a page that leads nowhere."""
    return build_site(COURSE, tmp_path_factory.mktemp("site") / "out", False, lambda _: None)


@pytest.fixture(scope="module")
def address(site: Site) -> Iterator[str]:
    """Where the site is served."""
    handler = functools.partial(Quiet, directory=str(site.folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server that says nothing."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def context() -> Iterator[Any]:
    with chromium(viewport={"width": 1200, "height": 900}) as context:
        yield context


@pytest.fixture
def page(context: Any, address: str) -> Iterator[Any]:
    """A page of the browser that may ask no other host, and may complain of nothing."""
    page, complaints = context.new_page(), []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda s: complaints.append(s.text) if s.type == "error" else None)
    page.on("request", lambda r: None if r.url.startswith(own) else complaints.append(r.url))
    own = (address, "data:", "blob:")
    yield page
    page.close()
    assert complaints == []


def test_only_pages_are_published(site: Site) -> None:
    assert {file.name for file in site.folder.iterdir() if file.name.startswith(".")} == {build.OWN}


def pages(site: Site) -> list[str]:
    return sorted(str(file.relative_to(site.folder)) for file in site.folder.rglob("*.html"))


# --- every page --------------------------------------------------------------------------


def test_every_link_within_the_site_leads_to_its_place(site: Site, page: Any, address: str) -> None:
    places: dict[str, set[str]] = {}
    links: dict[str, set[str]] = {}
    for name in pages(site):
        page.goto(address + name)
        places[address + name] = set(page.evaluate(PLACES)) | {"", "top"}
        links[name] = set(page.evaluate(LINKS))
    assert len(places) > len(LESSONS)
    lost = {}
    for name, leads in links.items():
        for link in leads:
            target, place = urldefrag(urljoin(address + name, link))
            target += "index.html" if target.endswith("/") else ""
            if target.startswith(address) and place not in places.get(target, ()):
                lost.setdefault(name, []).append(link)
    assert lost == {}


def test_every_lesson_is_reached_from_the_front_page(page: Any, address: str) -> None:
    page.goto(address)
    leads = set(page.evaluate(LINKS))
    assert {f"{address}lessons/{lesson.name}.html" for lesson in LESSONS} <= leads


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    "name", ["index.html", FIRST, "glossary.html", "gallery.html", "teaching.html", "search.html"]
)
def test_axe_finds_nothing(page: Any, address: str, name: str, theme: Any) -> None:
    page.emulate_media(color_scheme=theme)
    page.goto(address + name)
    assert_accessible(page, "body")


def test_no_page_is_wider_than_a_phone(site: Site, page: Any, address: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    wide = []
    for name in pages(site):
        page.goto(address + name)
        wide += [name] if page.evaluate(WIDE) else []
    assert wide == []


# --- lessons -----------------------------------------------------------------------------


def test_the_first_lesson_is_light_before_its_pictures_are_scrolled_to(
    page: Any, address: str
) -> None:
    weights: list[int] = []
    page.on("response", lambda response: weights.append(len(response.body())))
    page.goto(address + FIRST)
    page.wait_for_load_state("networkidle")
    assert 0.2 * MEGABYTE < sum(weights) < MEGABYTE


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_every_live_view_takes_the_place_of_its_picture(
    page: Any, address: str, lesson: Any
) -> None:
    page.goto(f"{address}lessons/{lesson.name}.html")
    # the result of a prediction is folded
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    views = page.locator("[data-live]").all()
    assert views
    for view in views:
        view.scroll_into_view_if_needed()
        view.locator(f"{VIEW}[data-frames]").wait_for()
    assert page.locator("[data-picture]:visible").count() == 0


def test_the_answer_to_a_prediction_is_folded_until_a_click(page: Any, address: str) -> None:
    page.goto(f"{address}lessons/03_multi_head_attention.html")
    result = page.locator(".tag_hide-output").first
    assert not result.locator(".cell_output").is_visible()
    result.get_by_text("Show the result").click()
    assert result.locator(".cell_output img").first.is_visible()


def test_without_scripts_the_pictures_stay(context: Any, address: str) -> None:
    without = context.browser.new_context(java_script_enabled=False)
    page = without.new_page()
    page.goto(address + FIRST)
    assert page.locator("[data-picture] img:visible").count() > 1
    without.close()


def test_on_paper_pictures_take_the_place_of_live_views(page: Any, address: str) -> None:
    page.goto(address + FIRST)
    page.locator("[data-live]").first.scroll_into_view_if_needed()
    page.locator(f"{VIEW}[data-frames]").first.wait_for()
    page.emulate_media(media="print")
    assert page.locator(f"{VIEW}:visible").count() == 0
    pictures = page.locator("[data-picture]")
    assert page.locator("[data-picture]:visible").count() == pictures.count() > 1


def test_a_page_holds_no_solution_and_no_hidden_test(site: Site) -> None:
    for lesson in LESSONS:
        text = (site.folder / "lessons" / f"{lesson.name}.html").read_text(encoding="utf-8")
        text = html.unescape(re.sub(r"<[^>]*>", "", text))
        assert text.count("raise NotImplementedError") >= len(lesson.of("exercise"))
        assert [line for line in sorted(secrets(lesson)) if line in text] == []
        assert "HIDDEN TESTS" not in text
        assert "BEGIN SOLUTION" not in text
    assert not (site.folder / "solutions").exists()


def test_a_screen_reader_is_told_the_parts_of_a_page(site: Site) -> None:
    text = (site.folder / FIRST).read_text(encoding="utf-8")
    assert [named for named in build.NAMED.values() if named not in text] == []


def test_a_page_says_what_others_show_of_it(site: Site) -> None:
    text = (site.folder / FIRST).read_text(encoding="utf-8")
    (image,) = re.findall(r'property="og:image" content="([^"]*)"', text)
    assert image.startswith("https://")
    assert (site.folder / "_static" / "cards" / Path(image).name).exists()


# --- search, solutions, refusals ---------------------------------------------------------


def test_the_search_finds_a_lesson(page: Any, address: str) -> None:
    page.goto(f"{address}search.html?q=softmax")
    page.locator("#search-results li a", has_text="Dot-product attention").first.wait_for()


def test_solutions_are_pages_of_their_own(tmp_path: Path) -> None:
    course, name = Course(tmp_path / "course"), "03_multi_head_attention"
    for folder in (COURSE.solutions, COURSE.notebooks, COURSE.progress):
        copy = course.root / folder.relative_to(COURSE.root)
        copy.mkdir(parents=True)
        for file in folder.glob(f"{name}.*"):
            shutil.copy(file, copy)
    beside = tmp_path / "site-work" / "thesis.txt"
    beside.parent.mkdir()
    beside.write_text("years of work")
    folder = build_site(course, tmp_path / "site", True, lambda _: None).folder
    assert {file.name for file in tmp_path.iterdir()} == {"course", "site", "site-work"}
    assert beside.exists()
    assert "Try it here" not in (folder / "index.html").read_text(encoding="utf-8")
    solved = (folder / "solutions" / f"{name}.html").read_text(encoding="utf-8")
    assert "NotImplementedError" not in re.sub(r"<[^>]*>", "", solved)
    (exercise,) = re.findall(r'id="(beside-exercise-split-heads)"', solved)
    lesson = (folder / "lessons" / f"{name}.html").read_text(encoding="utf-8")
    assert f'href="../solutions/{name}.html#{exercise}"' in lesson


def test_another_folder_is_not_emptied(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(CourseError, match="something else than a site"):
        build_site(COURSE, tmp_path, False, lambda _: None)
    assert (tmp_path / "thesis.txt").exists()


def test_a_site_that_sphinx_cannot_build_leaves_the_one_before(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tmp_path / "site"
    shutil.copytree(site.folder, before)
    monkeypatch.setattr(build, "sphinx", lambda arguments: 1)
    with pytest.raises(CourseError, match="Sphinx could not"):
        build_site(COURSE, before, False, lambda _: None)
    assert (before / FIRST).exists()
    assert [file.name for file in tmp_path.iterdir()] == ["site"]


def test_a_lesson_that_is_not_built_is_one_line(tmp_path: Path) -> None:
    course = Course(tmp_path / "course")
    course.solutions.mkdir(parents=True)
    shutil.copy(LESSONS[0].path, course.solutions)
    with pytest.raises(CourseError, match=f"is not built: .* build {LESSONS[0].name}"):
        build_site(course, tmp_path / "site", False, lambda _: None)


@pytest.mark.parametrize(
    ("link", "moved"),
    [
        ("[a](02_masking.ipynb)", "[a](lessons/02_masking.ipynb)"),
        ("[a](../SECURITY.md#hidden)", "[a]({}/blob/main/SECURITY.md#hidden)"),
        ("![a](picture.png)", "![a]({}/raw/main/notebooks/picture.png)"),
        ("[a](mailto:a@b.org)", "[a](mailto:a@b.org)"),
        ("[a](#place)", "[a](#place)"),
        ("[a](https://b.org)", "[a](https://b.org)"),
    ],
)
def test_links_of_a_document_lead_to_the_site_or_to_the_repository(link: str, moved: str) -> None:
    assert from_repository(link, "notebooks") == moved.format(repository_address())


def test_a_link_out_of_the_repository_is_refused() -> None:
    with pytest.raises(CourseError, match="out of the repository"):
        from_repository("[a](../../x.md)", "autograder")


def test_a_formula_that_cannot_be_drawn_is_one_line() -> None:
    with pytest.raises(CourseError, match=r"a formula cannot be drawn: .*Error") as failed:
        drawn([(r"\frac{1}", False)])
    assert "\n" not in str(failed.value)


def test_without_the_fonts_of_formulas_a_line_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "KATEX", tmp_path / "katex")
    with pytest.raises(CourseError, match="make site"):
        build_site(COURSE, tmp_path / "site", False, lambda _: None)
