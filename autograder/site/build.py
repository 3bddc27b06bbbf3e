"""Build the static site of executed lessons with Sphinx: nothing is executed, nothing is asked of
another host, and the pages work wherever files are served.
"""

import json
import math
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sphinx.cmd.build import main as sphinx
from transformer_course.widgets import view

from autograder import paths
from autograder.authoring import glossary, reference
from autograder.authoring.lesson import Lesson, all_lessons, read_lesson
from autograder.authoring.notebook import as_text, repository_address
from autograder.authoring.overview import Overview, overview
from autograder.errors import CourseError
from autograder.paths import Course, display_path
from autograder.site import explorers, pages
from autograder.site.cards import card, front_card, said_in_a_line
from autograder.site.course_map import course_map
from autograder.site.formulas import KATEX
from autograder.site.lesson_pages import lesson_page
from autograder.site.pictures import Pictures, Shown

HERE = Path(__file__).parent
NAMED = {
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="All pages">',
    '<aside class="toc-drawer">': '<aside class="toc-drawer" aria-label="This page">',
    '<p class="caption" role="heading">': '<p class="caption" role="heading" aria-level="2">',
}
TEACHING = paths.ROOT / "autograder" / "README.md"
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
    """Build the site of a course into `output`; `solutions` adds a page of them for each lesson.

    `CourseError` for an `output` that is no site, lessons that are not built, and what Sphinx says.
    """
    output = output.resolve()
    _examine(output)
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{output.name}-", dir=output.parent) as work:
        source = Path(work, "source")
        site = _write_source(course, source, output, solutions, told)
        told("Sphinx draws the pages and formulas")
        _draw(source, Path(work, "site"))
        if output.exists():
            output.rename(Path(work, "before"))  # the old site is whole, or gone
        Path(work, "site").rename(output)
    return site


def _write_source(course: Course, source: Path, output: Path, solutions: bool, told: Step) -> Site:
    """Write all that Sphinx reads."""
    pictures = Pictures(source / "_static")
    lessons = [read_lesson(path) for path in all_lessons(course)]
    if not lessons:
        raise CourseError("this course has no lessons", "python -m autograder new --help")
    about = [overview(lesson) for lesson in lessons]
    shown: dict[str, list[Shown]] = {}
    for lesson in lessons:
        told(f"{lesson.name}: pictures and cells")
        shown[lesson.name] = _write_lesson(lesson, source, pictures, solutions)
    told("cards")
    _write_cards(about, shown, source)
    told("front page, glossary, pictures, teaching")
    tried = explorers.write_explorers(course, source / "extra" / "explorers", pages.TITLE)
    front = pages.front(about, course_map(lessons), explorers.hero(course, pictures), tried)
    written = {
        "index": f"{front}\n{pages.contents(about, solutions)}\n",
        "gallery": pages.gallery(about, shown),
        "glossary": pages.from_repository(glossary.page(course), "notebooks"),
        "checks": pages.from_repository(reference.page(), "autograder"),
        "teaching": pages.from_repository(TEACHING.read_text(encoding="utf-8"), "autograder"),
    }
    for name, text in written.items():
        paths.write(source / f"{name}.md", text)
    _write_static(source, pictures.kinds)
    every = [picture for of_lesson in shown.values() for picture in of_lesson]
    return Site(output, len(lessons), len(every), sum(1 for one in every if one.kind))


def _draw(source: Path, target: Path) -> None:
    """Let Sphinx draw the pages."""
    doctrees = str(source.parent / "doctrees")  # not among the pages
    options = ["-q", "-W", "--keep-going", "-j", "2", "-d", doctrees, "-c", str(HERE)]
    if sphinx([*options, str(source), str(target)]):
        raise CourseError("Sphinx could not build the site: what it says stands above")
    for file in target.rglob("*.html"):
        paths.write(file, _with_names(file.read_text(encoding="utf-8")))


def _with_names(page: str) -> str:
    """A page whose parts say to a screen reader what they are, which the theme leaves out."""
    for found, named in NAMED.items():
        page = page.replace(found, named)
    return page


def _examine(output: Path) -> None:
    """Another folder than a site's is not emptied, and without KaTeX nothing is begun."""
    site = not output.exists() or (output / OWN).exists()
    if not site and (not output.is_dir() or any(output.iterdir())):
        fix = "name an empty folder, or one that does not exist"
        raise CourseError(f"{display_path(output)} is something else than a site", fix)
    if not (KATEX / "katex.min.js").exists():
        raise CourseError("KaTeX, which draws the formulas, is missing", "run `make site`")


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
        largest = max(shown[one.name], key=lambda p: math.prod(p.size), default=None)
        png = (source / "_static" / "pictures" / largest.file).read_bytes() if largest else None
        (folder / f"{one.name}.png").write_bytes(card(one, png))
        told[f"lessons/{one.name}"] = {
            "file": f"{one.name}.png",
            "title": f"Lesson {one.number} · {one.title}",
            "says": said_in_a_line(one.builds),
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


def _write_static(source: Path, kinds: set[str]) -> None:
    """The programs and styles of the pages, and the fonts of formulas."""
    static = source / "_static"
    (source / "extra").mkdir(exist_ok=True)
    unused = shutil.ignore_patterns("*.js", "*.ttf", "*.woff")
    shutil.copytree(KATEX, static / "katex", ignore=unused)
    shutil.copytree(HERE / "static", static, dirs_exist_ok=True)
    for name in ("course.gif", "lesson.png"):
        shutil.copy(paths.ROOT / "assets" / "figures" / name, static)
    program = (HERE / "static" / "live.js").read_text(encoding="utf-8")
    paths.write(static / "live.js", f"{view.page_model()}\n{program}")
    paths.write(static / "view.css", view.style())
    for kind in kinds:
        paths.write(static / "views" / f"{kind}.js", view.source(kind))
