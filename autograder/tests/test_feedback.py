"""Feedback: what a student reads of each check, and what nobody gets to see or to run."""

import dataclasses
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from typing import Any

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_output
from transformer_course.failure import Failure, Kind

from autograder.authoring.notebook import as_text, graded_cells
from autograder.authoring.samples import filled, solved
from autograder.bench.browser import chromium
from autograder.execution.isolation.failures import write_failure
from autograder.feedback import sanitized
from autograder.feedback.formulas import formula
from autograder.feedback.verdicts import Outcome, Verdict, verdicts
from autograder.gradebook.classroom import Classroom
from autograder.paths import COURSE, Course
from autograder.tests.conftest import Instructor
from autograder.tests.widgets.pages import assert_accessible

LESSON = r"""
# %% [markdown]
# # Lesson 1 · Twice
#
# $$\mathrm{twice}(x) = \begin{cases} x + x & \text{always} \end{cases}$$
#
# ![a badge](https://example.org/badge.svg)

# %% given imports
import torch
from transformer_course.checks import Check

# %% exercise double
def double(x):
    # BEGIN SOLUTION
    return x + x
    # END SOLUTION


# %% check double points=2
with Check("double", "two numbers", "add it to itself") as check:
    check.equal(check.call(torch.tensor([1.0, 2.5])), torch.tensor([2.0, 5.0]), "each one twice")
# BEGIN HIDDEN TESTS
with Check("double", "numbers below zero") as check:
    told = torch.tensor([-31337.0, 4242.0])
    check.equal(check.call(told), 2 * told, "the sign stays")
with Check("double", "many at once") as check:
    for many in (8191, 6007):
        check.equal(check.call(torch.ones(many)).sum(), 2.0 * many, f"{many} numbers")
# END HIDDEN TESTS

# %% exercise half
def half(x):
    # BEGIN SOLUTION
    return x / 2
    # END SOLUTION


# %% check half points=1
assert half(2) == 1

# %% answer why [markdown] points=2
# BEGIN SOLUTION
# Because.
# END SOLUTION
""".lstrip()
HIDDEN_NUMBERS = ("31337", "4242", "8191", "6007")
TALE = """
def double(x):
    print("seen", x.tolist())
    if (x < 0).any():
        raise type(str(x.tolist()), (Exception,), {})(f"{x}\\n  looks like   {x.tolist()}")
    return x + x
"""
LOOP = "while True:\n    pass\ndef double(x): return x + x"
ATTACK = """<script>attacked = 1</script><img src=x onerror="attacked = 1">
<svg onload="attacked = 1"><script>attacked = 1</script></svg><style>* {display: none}</style>
<iframe srcdoc="<script>parent.attacked = 1</script>"></iframe>
<a href="javascript:attacked = 1">a link</a> <a href=" &#106;avascript:attacked = 1">another</a>
<form action="https://example.org"><button autofocus onfocus="attacked = 1">b</button></form>
<math><mtext><table><mglyph><style><img src=x onerror="attacked = 1"></style></table></math>
<div style="position: fixed; background: url(https://example.org/i)" id="summary">on top</div>
<img src="https://example.org/pixel.png"><link rel=stylesheet href="https://example.org/s.css">
<meta http-equiv="refresh" content="0; url=https://example.org"><base href="https://example.org">
$\\text{<script>attacked = 1</script>}$ $\\href{javascript:attacked = 1}{x}$ <!-- -->
![<img src=x onerror=attacked=1>](https://example.org/p.png) ![$x$](data:image/png;base64,AAAA)
[a]: <javascript:attacked=1>
"""
BROKEN = "<img src=x onerror='attacked = 1'>"
RAISES = f"""
def double(x):
    print({BROKEN!r})
    raise ValueError({BROKEN!r})
"""
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
SHOWS = f"""
from IPython.display import HTML, SVG, Markdown, display
attack = {ATTACK!r}
print(attack)
display(HTML(attack), Markdown(attack))
display(HTML('<img src="data:image/png;base64,{PIXEL}" alt="drawn by the kit">'))
display(SVG('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">'
            '<script>parent.attacked = 1</script><rect width="9" height="9"/></svg>'))
print("wide " * 200)
raise ValueError(attack)
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Instructor:
    """A class of every kind of student, graded, marked by a person, with feedback."""
    folder = tmp_path_factory.mktemp("feedback")
    (folder / "solutions").mkdir()
    (folder / "solutions" / "01_twice.py").write_text(LESSON, encoding="utf-8")
    instructor = Instructor(Course(folder), folder / "class")
    assert instructor.types("release")[0] == 0
    lesson = instructor.lesson
    right = solved(lesson)
    students = {
        "right": {"double": f'{right["double"]}\nprint("my own")'},
        "wrong": {"double": "def double(x):\n    return x"},
        "below": {"double": "def double(x):\n    print(x)\n    return 2 * x.abs()"},
        "teller": {"double": TALE},
        "broken": {"double": "weights = (1,"},
        "loops": {"double": LOOP},
        "attacks": {"why": ATTACK, "half": SHOWS, "double": RAISES},
    }
    for student, answers in students.items():
        notebook = filled(lesson, right | answers)
        if student == "attacks":
            heading = next(cell for cell in notebook.cells if cell.source.startswith("# Lesson"))
            heading.source = heading.source.replace("Twice", BROKEN)
        instructor.receives(student, as_text(notebook))
    instructor.receives("untouched", as_text(filled(lesson, {})))
    cut = filled(lesson, right)
    cut.cells.remove(graded_cells(cut)["check_half"])
    instructor.receives("cut", as_text(cut))
    assert instructor.types("grade", "--timeout", "2")[0] == 0
    _mark(instructor)
    code, said = instructor.types("feedback")
    assert (code, "wrote" in said) == (0, True), said
    return instructor


def _mark(instructor: Instructor) -> None:
    """A person gives points, comments, and a penalty to `wrong`."""
    name = instructor.lesson.name
    with Classroom.open(instructor.folder).gradebook as gradebook:
        points: Any = gradebook.find_grade("check_half", name, name, "wrong")
        points.manual_score = 0.5
        answer: Any = gradebook.find_grade("answer_why", name, name, "wrong")
        answer.manual_score, answer.needs_manual_grade = 1.25, False
        comment: Any = gradebook.find_comment("exercise_double", name, name, "wrong")
        comment.manual_comment = "**Look** at $x + x$ <script>attacked = 1</script>"
        notebook: Any = gradebook.find_submission_notebook(name, name, "wrong")
        notebook.late_submission_penalty = 0.25
        gradebook.db.commit()


def page(instructor: Instructor, student: str) -> str:
    return instructor.file("feedback", student).with_suffix(".html").read_text(encoding="utf-8")


def text(html: str) -> str:
    """What a page says, in one line."""
    return " ".join(unescape(re.sub(r"<[^>]*>", "", html)).split())


def row(instructor: Instructor, student: str, name: str) -> str:
    """What the table says of a check."""
    found = re.search(rf'(?s)<tr role="row" id="row-{name}">.*?</tr>', page(instructor, student))
    assert found
    return text(found[0])


# --- the table ---------------------------------------------------------------------------------


def test_a_visible_failure_says_what_was_wrong_and_gives_the_hint(written):
    told = row(written, "wrong", "check_double")
    assert told == "double0 of 2failedShould hold: each one twice.Hint: Add it to itself."
    assert "expected2, 5got1, 2.5note2 of 2 numbers differ" in text(page(written, "wrong"))


def test_who_is_right_reads_no_more_than_passed(written):
    assert row(written, "right", "check_double") == "double2 of 2passed"
    assert row(written, "right", "check_half") == "half1 of 1passed"


def test_a_hidden_failure_is_named_in_its_authors_words(written):
    told = row(written, "below", "check_double")
    words = "the hidden test “numbers below zero: the sign stays” does not."
    assert told == f"double0 of 2hidden test failedWhat you see of the check passes, {words}"
    told = row(written, "teller", "check_double")
    assert "“numbers below zero: your code raised an error” does not" in told


@pytest.mark.parametrize("student", ["right", "below", "teller", "wrong", "untouched"])
def test_no_line_and_no_number_of_a_hidden_test_is_on_any_page(written, student):
    html = page(written, student)
    lines = re.findall(r"(?s)# BEGIN HIDDEN TESTS\n(.*?)# END", LESSON)[0].strip().split("\n")
    assert [line for line in lines if line.strip() in unescape(html)] == []
    assert [number for number in HIDDEN_NUMBERS if number in html] == []
    # where hidden tests ran, what the student's code printed before them is no exception
    assert "seen [" not in html
    with_tests = nbformat.read(written.file("autograded", student), as_version=4)
    assert "31337" in as_text(with_tests), "the instructor's notebook has them"


def test_what_an_error_above_kept_from_running_says_which(written):
    told = row(written, "broken", "check_double")
    assert "not runNot run because of an error above: the cell of double stopped" in told
    assert "with SyntaxError." in told
    assert row(written, "broken", "check_half") == "half1 of 1passed"


def test_an_answer_waits_for_marking_until_it_is_marked(written):
    told = row(written, "right", "answer_why")
    assert told == "why– of 2waits for markingA person reads this answer and gives the points."
    assert "2 of the 5 points wait for marking" in text(page(written, "right"))
    assert row(written, "wrong", "answer_why") == "why1.25 of 2marked"
    assert "wait for marking" not in text(page(written, "wrong"))
    assert "not doneNothing is written here." in row(written, "untouched", "answer_why")
    assert "not done`double` is" not in row(written, "untouched", "check_double")
    assert "not donedouble is still a stub." in row(written, "untouched", "check_double")


def test_points_comments_and_penalty_are_the_gradebooks(written):
    html = page(written, "wrong")
    assert "Score: 1.5 of 5" in text(html)
    assert row(written, "wrong", "check_half") == "half0.5 of 1passed points given by a person"
    assert "Handed in late−0.25" in text(html)
    assert "<strong>Look</strong> at <math" in html
    assert 'href="#comment-exercise_double"' in html
    assert "Comments on your work" not in page(written, "right")


def test_what_befell_the_whole_submission_is_told_in_words(written):
    said = text(page(written, "loops"))
    assert "Stopped. A cell computed for so long that it was stopped." in said
    assert "Stopped by the time limit: exercise_double." in said
    assert "the cell of double was stopped by the time limit" in row(
        written, "loops", "check_double"
    )
    assert "Stopped." not in text(page(written, "right"))


def test_repairs_are_told(written):
    assert "check_half was deleted: put back." in text(page(written, "cut"))
    assert "repaired" not in text(page(written, "right"))


def test_table_and_cells_lead_to_one_another(written):
    for student in ("right", "wrong", "cut", "attacks"):
        html = page(written, student)
        ids = Counter(re.findall(r'<[^>]* id="([^"]*)"', html))
        assert [name for name, count in ids.items() if count > 1] == []
        targets = set(re.findall(r'href="#([^"]*)"', html))
        assert targets - ids.keys() == set()
        for name in ("check_double", "check_half", "answer_why"):
            assert {name, f"row-{name}"} <= targets


def test_nbgraders_own_command_writes_the_same_page(written, tmp_path):
    instructor = written.copy(tmp_path)
    before = page(instructor, "below")
    shutil.rmtree(instructor.folder / "feedback")
    name = instructor.lesson.name
    command = [sys.executable, "-m", "nbgrader", "generate_feedback", name, "--student", "below"]
    subprocess.run(command, cwd=instructor.folder, check=True, capture_output=True)
    assert page(instructor, "below") == before


# --- verdicts, one by one ----------------------------------------------------------------------


def judged(
    source: str,
    error: tuple[str, str] | Failure,
    line: int | None = None,
    printed: str = "",
) -> Verdict:
    """The verdict on a check that ended with an error, or with a failure that is told as data."""
    failures = {}
    if isinstance(error, Failure):
        failures["check_double"] = write_failure(error)
        stopped = error.kind in (Kind.STUB, Kind.ABSENT)
        error = ("NotImplementedError" if stopped else "CheckFailed", str(error))
    about = {"grade": True, "solution": False, "locked": True, "grade_id": "check_double"}
    shown = [new_output("stream", name="stdout", text=printed)] if printed else []
    shown.append(new_output("error", ename=error[0], evalue=error[1], traceback=[]))
    cell = new_code_cell(source, outputs=shown, metadata={"nbgrader": about | {"points": 2}})
    notebook = NotebookNode(cells=[cell])
    failed = {} if line is None else {"check_double": line}
    (verdict,) = verdicts(notebook, failed, failures=failures)
    return verdict


CHECK = re.search(r"(?s)(with Check.*?# END HIDDEN TESTS)", LESSON)
SOURCE = CHECK[1] if CHECK else ""
NUMBERED = list(enumerate(SOURCE.split("\n"), 1))


def at(piece: str) -> int:
    """The line of the check in which this stands."""
    return next(number for number, line in NUMBERED if piece in line)


def test_a_misconception_is_one_sentence_and_numbers_keep_their_rows():
    sentence = (
        "You add one where the number itself is to be added, " * 3 + "so only 1 comes out right"
    )
    fields = (("you called", "double(x)"), ("expected", "1, 2\n3, 4"))
    said = Failure("double", "each one twice", fields, "add it to itself", sentence)
    verdict = judged(SOURCE, said, at("each one twice"))
    assert (verdict.outcome, verdict.points, verdict.max_points) == (Outcome.FAILED, 0, 2)
    assert (verdict.sentence, verdict.hint) == (sentence, "add it to itself")
    assert verdict.told == str(said)
    diagnosis, hint = ("looks like", sentence), ("hint", "add it to itself")
    assert verdict.lines == (diagnosis, *fields, hint)


def test_what_the_students_code_raised_is_told_with_its_message_in_one_line():
    said = Failure("double", "your code raised KeyError", (("message", "no\n  such"),))
    raised = dataclasses.replace(said, kind=Kind.RAISED, subject="KeyError")
    verdict = judged(SOURCE, raised, at("each one twice"))
    assert verdict.sentence == "your code raised KeyError: no such"
    bare = dataclasses.replace(raised, fields=())
    assert judged(SOURCE, bare, at("each one twice")).sentence == "your code raised KeyError"


@pytest.mark.parametrize(
    ("kind", "claim"),
    [(Kind.STUB, "`part` is still a stub"), (Kind.ABSENT, "`part` does not exist yet")],
)
def test_what_is_not_done_is_named(kind, claim):
    stub = Failure("part", claim, kind=kind, subject="part")
    verdict = judged(SOURCE, stub, at("each one twice"))
    assert (verdict.outcome, verdict.sentence) == (Outcome.NOT_DONE, claim)


def test_where_nobody_says_which_line_failed_it_counts_as_hidden():
    assert judged(SOURCE, Failure("double", "each one twice")).outcome == Outcome.HIDDEN
    assert judged("assert 1 == 2", ("AssertionError", "")).outcome == Outcome.FAILED


def test_a_result_without_the_data_is_shown_as_its_text():
    """An older version's, or nbgrader's own: only the error's output is there."""
    told = "✗ double: each one twice\n  expected     1, 2\n  hint         add it to itself"
    verdict = judged(SOURCE, ("CheckFailed", told), at("each one twice"))
    assert (verdict.outcome, verdict.sentence) == (Outcome.FAILED, "double: each one twice")
    assert verdict.lines == (("", told.partition("\n")[2]),)
    assert verdict.told == told
    plain = judged("assert 1 == 2", ("AssertionError", "one\ntwo"))
    assert (plain.sentence, plain.lines) == ("one", (("", "two"),))
    stub = judged(SOURCE, ("NotImplementedError", "`x` is still a stub: …"), at("each one twice"))
    assert (stub.outcome, stub.sentence) == (Outcome.NOT_DONE, "still a stub")


def test_of_a_result_without_the_data_nothing_is_read_once_hidden_tests_ran():
    told = "✗ double: 31337\n  looks like   31337\n  hint         add it to itself 31337"
    source = SOURCE + "\nassert later"
    verdict = judged(source, ("CheckFailed", told), at("END HIDDEN TESTS") + 1)
    assert verdict.outcome == Outcome.FAILED
    assert "31337" not in f"{verdict}"


def test_a_claim_with_a_number_in_it_is_left_out():
    verdict = judged(SOURCE, Failure("double", "8191 numbers", hint="8191"), at("{many} numbers"))
    assert (verdict.title, verdict.claim) == ("many at once", "")
    assert "8191" not in f"{verdict}"


def test_a_student_cannot_speak_through_a_hidden_failure():
    forged = "✗ double: your code raised x\n  looks like   31337\n  hint         31337"
    spoken = Failure("31337", "31337", (("31337", "31337"),), "31337", "31337")
    named = dataclasses.replace(spoken, kind=Kind.RAISED, subject="31337")
    texts = ("✗ double: 31337 it was", "the sign stays 31337", forged)
    for said in (*(("CheckFailed", text) for text in texts), spoken, named):
        verdict = judged(SOURCE, said, at("the sign stays"), "31337\n")
        assert verdict.outcome == Outcome.HIDDEN
        assert "31337" not in f"{verdict}"


def test_what_a_check_printed_is_shown_only_if_no_hidden_test_ran():
    passed, told = "✓ double: two numbers\n", ("CheckFailed", "✗ double: the sign stays")
    line = at("the sign stays")
    # not cut where the student's text says, but said in our own words
    for said in (f"a\n{passed}secret\n", f"{passed}secret\n{passed}", "secret\n"):
        assert judged(SOURCE, told, line, said).printed == passed
        assert judged(SOURCE, told, None, said).printed == ""
    visible = judged(SOURCE, told, at("two numbers"), "a\nb\n")
    assert (visible.outcome, visible.printed) == (Outcome.FAILED, "a\nb\n")


# --- strangers' markup -------------------------------------------------------------------------


class Seen(HTMLParser):
    """Every element of a page, with its attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))


def test_a_page_holds_nothing_that_runs_or_loads(written):
    html = page(written, "attacks")
    elements = Seen(html).elements
    own = {"html", "head", "meta", "title", "style", "body", "header", "main", "section", "article"}
    own |= {"table", "caption", "wbr", "math"}
    tags = {tag for tag, _ in elements}
    assert {t for t in tags if not t.startswith("m")} <= sanitized.TAGS | own
    for tag, attributes in elements:
        assert [name for name in attributes if name.startswith("on")] == []
        assert (attributes.get("src") or "data:image/").startswith("data:image/")
        if tag == "a":
            assert re.match(r"#|https?://|mailto:", attributes.get("href") or "#")
    assert Counter(tag for tag, _ in elements)["style"] == 1
    styles = "".join(attributes.get("style") or "" for _, attributes in elements)
    assert re.search(r"url|position|display", styles) is None
    assert re.search(r"url\(|@import", html.partition("</style>")[0]) is None
    policy = [a["content"] for t, a in elements if t == "meta" and "http-equiv" in a]
    assert [p and p.startswith("default-src 'none'; img-src data:;") for p in policy] == [True]
    assert "<script>attacked = 1</script>" in text(html), "the text of it can be read"
    assert text(html).count(BROKEN) > 4, "in the title, the table, the check and what it printed"


def test_markup_that_would_take_long_is_shown_as_text():
    bomb = "<div>" * 5000
    assert sanitized.html(bomb) is None
    assert str(sanitized.markdown(bomb)).startswith('<pre tabindex="0">&lt;div&gt;')
    shown = {"output_type": "display_data", "data": {"text/html": bomb, "text/plain": "<bomb>"}}
    assert "&lt;bomb&gt;" in sanitized.output(shown)
    picture = f'<img src="data:image/png;base64,{"A" * 90_000}">'
    assert "A" * 90_000 in (sanitized.html(picture) or "")


def test_an_attached_picture_is_shown_and_a_missing_one_is_described():
    drawn = sanitized.markdown("![mine](attachment:a.png)", {"a.png": {"image/png": PIXEL}})
    assert f'<img src="data:image/png;base64,{PIXEL}" alt="mine">' in drawn
    attack = {"a.png": {"image/png": '"><script>'}}
    for attached in ({}, attack):
        assert sanitized.markdown("![mine](attachment:a.png)", attached) == "<p>mine</p>\n"


# --- formulas ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", sorted(COURSE.notebooks.glob("*.ipynb")), ids=lambda path: path.stem
)
def test_every_formula_of_the_lessons_is_drawn(path):
    notebook = nbformat.read(path, as_version=4)
    sources = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    html = "".join(str(sanitized.markdown(source)) for source in sources)
    prose = re.sub(r"(?s)<(pre|code)\b.*?</\1>", "", html)
    assert "<math" in html
    assert (prose.count("$"), prose.count("\\"), html.count('class="tex"')) == (0, 0, 0)


@pytest.mark.parametrize("tex", [r"\foo{a}", r"\left( x", "}{", r"\frac", "x" * 3000, "{" * 3000])
def test_a_formula_that_cannot_be_drawn_can_be_read(tex):
    assert formula(tex, False) == f'<code class="tex">{tex}</code>'


def test_a_formula_in_a_description_is_its_tex():
    drawn = sanitized.markdown("![the $x$ of it](data:image/png;base64,AAAA) $y$")
    assert 'alt="the x of it"> <math' in drawn
    # what stands for a formula while the rest is sanitized ends no attribute
    assert "\ue000" not in (sanitized.html('<i title="\ue0000\ue001">a</i>') or "\ue000")


def test_a_formula_cannot_carry_markup():
    assert "<mtext>&lt;b&gt;" in formula(r"\text{<b>}", False)
    for tex in (r"\href{javascript:a}{x}", r"\style{position:fixed}{x}", r"\class{a}{x}"):
        assert not re.search("href|style=|class=", formula(tex, False))


# --- in a browser ------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["light", "dark"])
def browser(request: pytest.FixtureRequest) -> Iterator[Any]:
    with chromium(viewport={"width": 360, "height": 740}, color_scheme=request.param) as context:
        context.set_default_timeout(10_000)
        yield context


@pytest.fixture
def phone(browser: Any) -> Iterator[Any]:
    """A page that is to ask no network for anything, and to run nothing."""
    page, asked, popped = browser.new_page(), [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: popped.append(dialog.message))
    yield page
    ran = page.evaluate("typeof attacked")
    page.close()
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert (popped, ran) == ([], "undefined")


@pytest.mark.parametrize("student", ["wrong", "attacks", "loops", "untouched"])
def test_a_phone_shows_it_whole_and_so_does_a_screen_reader(written, phone, student):
    phone.goto(written.file("feedback", student).with_suffix(".html").as_uri())
    phone.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert phone.evaluate("document.documentElement.scrollWidth") == 360
    beyond = """() => [...document.querySelectorAll("main *")]
        .filter(e => !e.closest("pre, .formula, thead, .prose table, .rich table"))
        .filter(e => e.getBoundingClientRect().right > 360.5).map(e => e.outerHTML.slice(0, 99))"""
    assert phone.evaluate(beyond) == []
    assert_accessible(phone, "html")


def test_pictures_and_formulas_are_seen(written, phone):
    phone.goto(written.file("feedback", "attacks").with_suffix(".html").as_uri())
    widths = """() => [...document.querySelectorAll(".output img")]
        .filter(i => i.hasAttribute("src")).map(i => i.naturalWidth)"""
    assert phone.evaluate(widths).count(1) == 1, "what the kit drew"
    assert 9 in phone.evaluate(widths), "an SVG"
    assert phone.locator(".formula math mfrac, .formula math mtable").first.bounding_box()
    phone.locator('a[href="#check_double"]').click()
    assert phone.evaluate("location.hash") == "#check_double"
    phone.locator('#check_double a[href="#row-check_double"]').click()
    assert phone.evaluate("location.hash") == "#row-check_double"


def test_on_paper_no_line_is_cut(written, phone):
    phone.goto(written.file("feedback", "attacks").with_suffix(".html").as_uri())
    phone.emulate_media(media="print")
    cut = """() => [...document.querySelectorAll("pre")].filter(
        e => e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1).length"""
    assert phone.evaluate(cut) == 0
