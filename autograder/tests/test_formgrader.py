"""Formgrader, where a person marks: what students wrote runs nothing there, and loads nothing.

A real server, a real browser, a real class, and a bank of attacks: see attacks.toml. On a copy of
the class without our settings, dozens of them run.
"""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from autograder.bench.browser import chromium, jupyter
from autograder.gradebook.classroom import SETTINGS, Classroom
from autograder.paths import Course
from autograder.tests.conftest import Instructor
from autograder.tests.support import attacks
from autograder.tests.support.attacks import ELSEWHERE, PIXEL, attacked, displayed, ran, written

LESSON = """\
# %% [markdown]
# # Lesson 1 · Twice

# %% exercise double
def double(x):
    # BEGIN SOLUTION
    return x + x
    # END SOLUTION


# %% check double points=2
assert double(2) == 4

# %% answer why [markdown] points=2
# BEGIN SOLUTION
# Because.
# END SOLUTION
"""
BANK = attacks.attacks()
NAMES = {attack.place: attack.text for attack in BANK if attack.place in attacks.NAMES}
MALLORY = NAMES["student id"]  # a student whose folder is called so
# what comes last is to be seen, whatever stands before it
HONEST = [
    written(r"The mean is $$\frac{a + b}{2}$$ and a [source](https://a.example/paper)"),
    written("![mine](attachment:a.png)", attachments={"a.png": {"image/png": PIXEL}}),
    ran(displayed({"image/png": PIXEL, "text/plain": "<Figure>"}), source="plot(data)"),
    ran({"output_type": "stream", "name": "stdout", "text": "loss < 0.5\n"}, source="train()"),
]
# of the class's settings, what a copy of it lacks
LACKING = {
    "bare": ("preprocessors", "filters", "template_file"),
    "policy": ("preprocessors", "filters.markdown2html", "filters.highlight_code"),
    "harmless": ("template_file",),
}
SEEN = """() => {
  const box = e => e.getBoundingClientRect();
  const score = document.querySelector("#answer_why");
  score.scrollIntoView({ block: "center" });
  const { x, y } = box(score);
  return {
    formula: box(document.querySelector("math mfrac")).height > 9,
    pictures: [...document.querySelectorAll("#notebook-container img[src]")]
      .map(image => image.naturalWidth).filter(width => width === 1).length,
    text: document.body.innerText.includes("loss < 0.5"),
    code: document.body.innerText.includes("plot(data)"),
    uncovered: document.elementFromPoint(x + 5, y + 5) === score,
    bar: box(document.querySelector(".navbar")).height > 9,
    scores: [...document.querySelectorAll("input.score")].map(input => input.id),
  };
}"""
# every event that a person could cause, at everything that is not formgrader's own
POKE = """own => {
  const kinds = ["pointerenter", "mouseover", "pointerdown", "mousedown", "focus", "click",
                 "toggle", "beforetoggle", "animationstart", "scrollend", "load", "error"];
  for (const e of document.querySelectorAll("body *")) {
    if (e.closest(own)) continue;
    if (e.matches("details")) e.open = true;
    for (const kind of kinds) e.dispatchEvent(new MouseEvent(kind, { bubbles: true }));
  }
}"""
OWN = ".navbar, .scoring-buttons, input.score, input.extra-credit, textarea.comment, .help"


@dataclass
class Watched:
    """A browser, and what happened in it."""

    context: Any
    fired: list[int] = field(default_factory=list)  # the numbers of attacks that ran
    asked: list[str] = field(default_factory=list)  # each request: its method, its address

    @property
    def ran(self) -> list[tuple[str, str]]:
        """The attacks whose scripts ran."""
        return sorted({(BANK[n].name, BANK[n].place) for n in self.fired})

    def open(self, address: str) -> Any:
        """A new page, which has come to rest."""
        self.fired.clear()
        self.asked.clear()
        page = self.context.new_page()
        page.goto(address)
        page.wait_for_load_state("networkidle")
        return page

    def strange(self, base: str, *paths: str) -> list[str]:
        """What was asked for that is no page of this server's below these paths."""
        usual = re.compile(f"GET ({re.escape(base)}({'|'.join(paths)})|data:image/)")
        return [request for request in self.asked if not usual.match(request)]


@pytest.fixture(scope="module")
def watched() -> Iterator[Watched]:
    with chromium(viewport={"width": 1100, "height": 900}) as context:
        context.set_default_timeout(30_000)
        watched = Watched(context)
        context.expose_binding("fire", lambda source, number: watched.fired.append(number))
        context.on("request", lambda r: watched.asked.append(f"{r.method} {r.url}"))
        here = re.compile(r"http://127\.0\.0\.1:\d+/|file:|data:|blob:|about:")
        context.route("**", lambda r: r.continue_() if here.match(r.request.url) else r.abort())
        yield watched


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Instructor:
    """A class whose students are ada, who is honest, and eve and mallory, who try the bank."""
    folder = tmp_path_factory.mktemp("formgrader")
    (folder / "solutions").mkdir()
    (folder / "solutions" / "01_twice.py").write_text(LESSON, encoding="utf-8")
    instructor = Instructor(Course(folder), folder / "class")
    instructor.types("release")
    for student in ("ada", "eve", MALLORY):
        instructor.receives(student)
    code, said = instructor.types("grade")
    assert code == 0, said
    for student in ("eve", MALLORY):
        path = instructor.file("autograded", student)
        hostile = attacked(path.read_text(encoding="utf-8"), BANK, HONEST, student == MALLORY)
        path.write_text(hostile, encoding="utf-8")
    names: Any = {"first_name": NAMES["first name"], "last_name": NAMES["last name"]}
    with Classroom.open(instructor.folder).gradebook as gradebook:
        for student in ("eve", MALLORY):
            gradebook.update_or_create_student(student, **names)
    return instructor


def api(course: Instructor) -> Classroom:
    return Classroom.open(course.folder)


def submission(course: Instructor, student: str) -> str:
    """The id of a student's notebook, which is in the marking page's address."""
    name = course.lesson.name
    with api(course).gradebook as gradebook:
        found: Any = gradebook.find_submission_notebook(name, name, student)
        return found.id


# --- servers -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server(course: Instructor) -> Iterator[str]:
    """Where formgrader is, in a server that was started in the class's folder."""
    with jupyter(Path(sys.executable), "lab", course.folder) as address:
        yield address.partition("lab/")[0] + "formgrader/"


@pytest.fixture(scope="module")
def elsewhere(course: Instructor) -> Iterator[Callable[[str], str]]:
    """The same where a server was started above the class, for a copy that lacks settings."""
    for name, lacking in LACKING.items():
        copy = course.copy(course.folder.with_name(f"without-{name}")).folder
        with (copy / SETTINGS).open("a", encoding="utf-8") as settings:
            for setting in lacking:
                part, _, key = f"HTMLExporter.{setting}".rpartition(".")
                settings.write(f"del c.{part}[{key!r}]\n")
    with ExitStack() as open_servers:
        bases: list[str] = []

        def opened(name: str) -> str:
            if not bases:
                started = jupyter(Path(sys.executable), "lab", course.folder.parent)
                bases.append(open_servers.enter_context(started).partition("lab/")[0])
            folder = course.folder.with_name(f"without-{name}") / "class"
            return f"{bases[0]}formgrader?path={folder if name else course.folder}"

        yield opened


@pytest.fixture
def marking(server: str, course: Instructor, watched: Watched) -> Iterator[Callable[[str], Any]]:
    """Opens the page on which a student's work is marked."""
    pages: list[Any] = []

    def opened(student: str) -> Any:
        pages.append(watched.open(f"{server}submissions/{submission(course, student)}/"))
        return pages[-1]

    yield opened
    for page in pages:
        page.close()


# --- the marking page --------------------------------------------------------------------------


@pytest.mark.parametrize("student", ["eve", MALLORY], ids=["eve", "mallory"])
def test_nothing_that_is_handed_in_runs_or_loads_where_it_is_marked(
    marking, server, watched, student
):
    page = marking(student)
    where = page.url
    page.evaluate(POKE, OWN)
    page.wait_for_load_state("networkidle")
    assert watched.ran == []
    usual = "static/", "submissions/", r"api/(grades|comments)\?"
    assert watched.strange(server, *usual) == []
    assert page.url.partition("?")[0] == where.partition("?")[0]
    seen = page.evaluate(SEEN)
    assert seen.pop("scores").count("answer_why") == 1
    assert seen.pop("pictures") >= 2
    assert all(seen.values()), seen


def test_a_link_shows_its_address_and_is_not_followed(marking):
    page = marking("eve")
    source = page.locator("a", has_text="source")
    assert source.get_attribute("href") is None
    shown = source.evaluate("e => getComputedStyle(e, '::after').content")
    assert "https://a.example/paper" in shown
    assert page.locator("#notebook-container [href]").count() == 0


def test_a_mark_and_a_comment_arrive_in_the_gradebook(marking, course):
    page = marking("eve")
    name = course.lesson.name
    for field_, value, part in (
        ("#answer_why", "1.5", "grade"),
        ("#answer_why-comment", "Say why", "comment"),
    ):
        page.locator(field_).fill(value)
        with page.expect_response(lambda r, part=part: f"/api/{part}/" in r.url) as saved:
            page.keyboard.press("Tab")
        assert saved.value.request.method == "PUT"
    with api(course).gradebook as gradebook:
        grade: Any = gradebook.find_grade("answer_why", name, name, "eve")
        comment: Any = gradebook.find_comment("answer_why", name, name, "eve")
        assert (grade.manual_score, comment.manual_comment) == (1.5, "Say why")


def test_formgraders_own_buttons_and_keys_work_under_the_policy(marking):
    page = marking("ada")
    assert page.locator(".name-shown").first.is_hidden()
    page.locator("span.glyphicon.name-hidden").click()
    assert page.locator("a.name-shown", has_text="ada").is_visible()
    page.locator("#check_double").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "check_double_extra_credit"


# --- each wall by itself, and none -------------------------------------------------------------


def test_each_wall_holds_alone_and_without_them_attacks_run(elsewhere, course, watched):
    """In a server that was started elsewhere and opened the class by its path."""

    def opened(name: str, student: str = "eve") -> list[tuple[str, str]]:
        watched.context.request.get(elsewhere(name))
        base = elsewhere(name).partition("?")[0]
        watched.open(f"{base}/submissions/{submission(course, student)}/").close()
        return watched.ran

    ran = opened("bare")
    assert len(ran) > 40
    assert ("a picture that fails", "markdown") in ran
    assert [request for request in watched.asked if f"GET {ELSEWHERE}" in request]
    assert opened("policy") == []
    for student in ("eve", MALLORY):
        assert opened("harmless", student) == []
        others = {request for request in watched.asked if "127.0.0.1" not in request}
        # which nbgrader's own template asks for
        assert all("mathjax" in request or "GET data:" in request for request in others)
    assert opened("") == []
    assert watched.strange(elsewhere("").partition("?")[0]) == []


# --- formgrader's other pages ------------------------------------------------------------------


def test_names_are_text_in_every_list(server, course, watched):
    lesson, mallory = course.lesson.name, quote(MALLORY, safe="")
    places = [
        *("manage_assignments", f"manage_submissions/{lesson}", "manage_students", "gradebook"),
        *(f"gradebook/{lesson}", f"gradebook/{lesson}/{lesson}", f"manage_students/{mallory}"),
        *(f"manage_students/{mallory}/{lesson}", "manage_students/%22;fire(0);%22"),
        f"manage_submissions/{quote('<img src=x onerror=fire(0)>')}",
    ]
    shown = ""
    for place in places:
        page = watched.open(server + place)
        assert (place, watched.ran, watched.strange(server)) == (place, [], [])
        shown += page.inner_text("body")
        page.close()
    assert NAMES["first name"] in shown
    assert MALLORY in shown


def test_a_file_beside_the_notebook_is_no_page_of_this_server(server, course, watched):
    path = course.file("autograded", "eve").with_name("page.html")
    path.write_text("<p>read me</p><script>fire(0)</script>", encoding="utf-8")
    page = watched.open(f"{server}submissions/{submission(course, 'eve')}/page.html")
    assert (page.inner_text("p"), watched.ran) == ("read me", [])
    page.close()


def test_settings_that_a_student_handed_in_are_not_run(server, course, watched, tmp_path):
    canary = tmp_path / "canary"
    folder = course.folder / "submitted" / "eve" / "settings"
    folder.mkdir()
    text = f"open({str(canary)!r}, 'w')\n"
    (folder / SETTINGS).write_text(text, encoding="utf-8")
    page = watched.open(f"{server.removesuffix('/')}?path={folder}")
    assert f"open {course.folder}" in page.inner_text("body")
    assert not canary.exists()
    page.close()


# --- nothing is executed -----------------------------------------------------------------------


@pytest.fixture
def canary(course: Instructor, tmp_path: Path) -> Iterator[Path]:
    """A file that ada's code would write, if it were run with the rights of these tests."""
    canary, path = tmp_path / "canary", course.file("submitted", "ada")
    before = path.read_text(encoding="utf-8")
    told = json.loads(before)
    told["cells"].append(ran(source=f"open({str(canary)!r}, 'w')", id="canary"))
    path.write_text(json.dumps(told), encoding="utf-8")
    yield canary
    path.write_text(before, encoding="utf-8")


def assert_untouched(course: Instructor, before: dict[Path, bytes], canary: Path) -> None:
    assert not canary.exists()
    assert {path: path.read_bytes() for path in before} == before


def graded_files(course: Instructor) -> dict[Path, bytes]:
    files = course.file("autograded", "ada").parent.iterdir()
    return {path: path.read_bytes() for path in [*files, course.folder / "gradebook.db"]}


def test_the_autograde_button_says_what_grades_and_runs_nothing(server, course, watched, canary):
    before = graded_files(course)
    page = watched.open(f"{server}manage_submissions/{course.lesson.name}")
    page.locator("tr", has_text="ada").locator(".autograde a").click()
    said = page.locator(".modal-body").inner_text()
    assert f"python -m autograder grade 01 --classroom {course.folder}" in said
    assert_untouched(course, before, canary)
    page.close()


def test_so_does_nbgraders_command(course, canary):
    before = graded_files(course)
    command = [sys.executable, "-m", "nbgrader", "autograde", course.lesson.name, "--force"]
    ended = subprocess.run(command, cwd=course.folder, capture_output=True, text=True)
    (line,) = [line for line in ended.stderr.split("\n") if "ERROR" in line]
    assert f"python -m autograder grade 01 --classroom {course.folder}" in line
    assert (ended.returncode, "Traceback" in ended.stderr) == (1, False)
    assert_untouched(course, before, canary)


# --- where the checkout is not ----------------------------------------------------------------

EXPORT = """
import json, sys
from nbconvert import HTMLExporter
from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from nbgrader.server_extensions.formgrader import handlers
from traitlets.config.loader import PyFileConfigLoader
config = PyFileConfigLoader("nbgrader_config.py", ".").load_config()
config.HTMLExporter.template_name = "formgrade"
config.HTMLExporter.extra_template_basedirs = [handlers.template_path]
told = dict.fromkeys(["assignment_id", "notebook_id", "submission_id", "base_url"], "a")
told |= dict(index=0, total=1, notebook_path="a", student=sys.argv[2], first_name="", last_name="")
page, _ = HTMLExporter(config=config).from_filename(sys.argv[1], resources=told)
api = NbGraderAPI(CourseDirectory(config=config), config=config)
outcome = api.generate_feedback(sys.argv[3], "ada")
print(json.dumps([page, outcome["success"], outcome["log"]]))
"""


@pytest.mark.parametrize("checkout", ["absent", "broken"])
def test_without_the_checkout_nothing_is_shown_or_written(course, watched, checkout, tmp_path):
    kit = tmp_path / "assets" / "transformer_course"
    kit.mkdir(parents=True)
    (kit / "__init__.py").touch()
    if checkout == "broken":
        (tmp_path / "autograder").mkdir()
        (tmp_path / "autograder" / "__init__.py").write_text("1 / 0", encoding="utf-8")
    found = {"PYTHONPATH": str(kit.parent), "PATH": str(Path(sys.executable).parent)}
    notebook = course.file("autograded", "eve")
    command = [sys.executable, "-c", EXPORT, str(notebook), MALLORY, course.lesson.name]
    ended = subprocess.run(command, cwd=course.folder, env=found, capture_output=True, text=True)
    made, is_written, log = json.loads(ended.stdout)
    assert (is_written, "pip install -e CHECKOUT" in log) == (False, True)
    assert not course.file("feedback", "ada").parent.exists()
    (tmp_path / "page.html").write_text(made, encoding="utf-8")
    page = watched.open((tmp_path / "page.html").as_uri())
    said = page.inner_text("body")
    assert ("pip install -e CHECKOUT" in said, MALLORY in said) == (True, True)
    assert ("loss < 0.5" in said, watched.ran) == (False, [])
    page.close()


# --- the page that students read ---------------------------------------------------------------


def test_nothing_of_the_bank_runs_or_loads_in_the_feedback(course, watched, tmp_path):
    course = course.copy(tmp_path)
    code, said = course.types("feedback", "--student", "eve")
    assert code == 0, said
    page = watched.open(course.file("feedback", "eve").with_suffix(".html").as_uri())
    page.evaluate(POKE, "a[href^='http'], a[href^='#']")
    assert watched.ran == []
    assert [request for request in watched.asked if not request.startswith("GET file:")] == []
    assert page.locator("math mfrac").is_visible()
    assert page.locator("text=loss < 0.5").is_visible()
    page.close()
