"""Build the static site of executed lessons with Sphinx: nothing is executed, nothing is asked of
another host, and the pages work wherever files are served.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat.v4 import new_notebook
from sphinx.cmd.build import main as sphinx
from transformer_course.widgets import view

from autograder import paths
from autograder.authoring import glossary, reference
from autograder.authoring.build import LIVE
from autograder.authoring.lesson import Lesson, all_lessons, read_lesson
from autograder.authoring.notebook import as_text, repository_address
from autograder.authoring.overview import Overview, overview
from autograder.errors import CourseError
from autograder.paths import Course, display_path
from autograder.site import pages
from autograder.site.cards import card, front_card
from autograder.site.course_map import course_map
from autograder.site.formulas import KATEX
from autograder.site.lesson_pages import lesson_page
from autograder.site.pictures import Pictures, Shown

HERE = Path(__file__).parent
HERO = "12_text_classification", "attention"  # the live view at the front, and its lesson
# networks that compute in the page, and the lesson in which each was trained
EXPLORERS = {"gpt": "09_decoder", "vit": "08_vision_transformer"}
NAMED = {
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="All pages">',
    '<aside class="toc-drawer">': '<aside class="toc-drawer" aria-label="This page">',
    '<p class="caption" role="heading">': '<p class="caption" role="heading" aria-level="2">',
}
OWN = ".buildinfo"  # what Sphinx leaves in a site
Step = Callable[[str], None]


@dataclass(frozen=True)
class Site:
    """Where a site lies, and how much is on it."""

    folder: Path
    lessons: int
    pictures: int
    views: int


def build_site(course: Course, output: Path, solutions: bool, told: Step) -> Site:
    """Build the site of a course into `output`; `solutions` adds a page of them for each lesson."""
    _refuse(output)
    work = output.with_name(f"{output.name}-work")
    shutil.rmtree(work, ignore_errors=True)
    source = work / "source"
    pictures = Pictures(source / "_static")
    lessons = [read_lesson(path) for path in all_lessons(course)]
    about = [overview(lesson) for lesson in lessons]
    shown: dict[str, list[Shown]] = {}
    for lesson in lessons:
        told(f"{lesson.name}: pictures and cells")
        shown[lesson.name] = _write_lesson(lesson, source, pictures, solutions)
    told("cards")
    _write_cards(about, shown, source)
    told("front page, glossary, pictures, teaching")
    live = next(_live_outputs(course, *HERO), None)
    hero, _ = pictures.taken_out(live, "hero", "") if live else ("", [])
    explorers = _write_explorers(course, source)
    front = pages.front(about, course_map(lessons), hero, explorers)
    _write_pages(course, about, shown, source, front, solutions)
    _write_static(source, pictures.kinds)
    told("Sphinx draws the pages and formulas")
    _draw(source, output)
    every = [picture for of_lesson in shown.values() for picture in of_lesson]
    views = sum(1 for picture in every if picture.kind)
    return Site(output, len(lessons), len(every), views)


def _draw(source: Path, output: Path) -> None:
    """Let Sphinx draw the pages; a site is replaced when the new one is whole."""
    work = source.parent
    options = ["-q", "-W", "--keep-going", "-j", "2", "-c", str(HERE)]
    if sphinx([*options, str(source), str(work / "site")]):
        raise CourseError("Sphinx could not build the site: what it says stands above")
    for file in (work / "site").rglob("*.html"):
        paths.write(file, _with_names(file.read_text(encoding="utf-8")))
    shutil.rmtree(output, ignore_errors=True)
    (work / "site").rename(output)
    shutil.rmtree(work)


def _with_names(page: str) -> str:
    """A page whose parts say to a screen reader what they are, which the theme leaves out."""
    for found, named in NAMED.items():
        page = page.replace(found, named)
    return page


def _refuse(output: Path) -> None:
    """Another folder than a site's is not emptied."""
    if output.exists() and any(output.iterdir()) and not (output / OWN).exists():
        fix = "name an empty folder, or one that does not exist"
        raise CourseError(f"{display_path(output)} holds something else than a site: {fix}")
    if not KATEX.exists():
        raise CourseError("the fonts of formulas are missing: run `make tools`")


def _write_lesson(lesson: Lesson, source: Path, pictures: Pictures, solutions: bool) -> list[Shown]:
    page = lesson_page(lesson, pictures, solved=False, linked=solutions)
    paths.write(source / "lessons" / f"{lesson.name}.ipynb", as_text(page.notebook))
    if solutions:
        other = lesson_page(lesson, pictures, solved=True, linked=True)
        paths.write(source / "solutions" / f"{lesson.name}.ipynb", as_text(other.notebook))
    return page.shown


def _write_cards(about: list[Overview], shown: dict[str, list[Shown]], source: Path) -> None:
    """A picture for each page that somebody may share, and what the page's head says of it."""
    folder, told = source / "_static" / "cards", {}
    folder.mkdir(parents=True)
    for one in about:
        largest = max(shown[one.name], key=lambda picture: picture.size[0] * picture.size[1])
        png = source / "_static" / "pictures" / largest.file
        (folder / f"{one.name}.png").write_bytes(card(one, png.read_bytes()))
        title = f"Lesson {one.number} · {one.title}"
        told[f"lessons/{one.name}"] = {
            "file": f"{one.name}.png",
            "title": title,
            "says": one.builds,
        }
    (folder / "course.png").write_bytes(front_card(about))
    says = "You build a Transformer yourself, and are told at once which mistake you made."
    told["index"] = {"file": "course.png", "title": pages.TITLE, "says": says}
    text = json.dumps({"address": _address(), "cards": told})
    paths.write(source / "course.json", text)


def _address() -> str:
    """Where GitHub publishes the pages of the course's repository."""
    owner, project = repository_address().removeprefix("https://github.com/").split("/")
    return f"https://{owner}.github.io/{project}/"


def _live_outputs(course: Course, name: str, kind: str) -> Iterator[dict]:
    """What the executed lesson, if the course has it, shows in live views of this kind."""
    file = course.solutions / f"{name}.ipynb"
    notebook = nbformat.read(file, as_version=4) if file.exists() else new_notebook()
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if data.get(LIVE, {}).get("kind") == kind:
                yield data


def _write_explorers(course: Course, source: Path) -> list[str]:
    """A page of its own, in one file, for each network that computes in the page."""
    written = []
    for kind, name in EXPLORERS.items():
        for data in _live_outputs(course, name, kind):
            shown = {part: data[LIVE][part] for part in ("options", "state")}
            page = view.page(kind, shown, data[LIVE]["data"].strip(), data["text/html"])
            page = page.replace("<main>", f"{pages.BACK}<main>")
            paths.write(source / "extra" / "explorers" / f"{kind}.html", page)
            written.append(kind)
            break
    return written


def _write_pages(
    course: Course,
    about: list[Overview],
    shown: dict[str, list[Shown]],
    source: Path,
    front: str,
    solutions: bool,
) -> None:
    written = {
        "index": f"{front}\n{pages.contents(about, solutions)}\n",
        "gallery": pages.gallery(about, shown),
        "glossary": pages.from_repository(glossary.page(course), "notebooks"),
        "checks": pages.from_repository(reference.page(), "autograder"),
        "teaching": pages.from_repository(
            (paths.ROOT / "autograder" / "README.md").read_text(encoding="utf-8"), "autograder"
        ),
    }
    for name, text in written.items():
        paths.write(source / f"{name}.md", text)


def _write_static(source: Path, kinds: set[str]) -> None:
    """The programs and styles of the pages, and the fonts of formulas."""
    static = source / "_static"
    (source / "extra").mkdir(exist_ok=True)
    shutil.copytree(KATEX, static / "katex", ignore=shutil.ignore_patterns("*.js"))
    shutil.copytree(HERE / "static", static, dirs_exist_ok=True)
    program = (HERE / "static" / "live.js").read_text(encoding="utf-8")
    paths.write(static / "live.js", f"{view.page_model()}\n{program}")
    paths.write(static / "view.css", view.style())
    for kind in kinds:
        paths.write(static / "views" / f"{kind}.js", view.source(kind))
