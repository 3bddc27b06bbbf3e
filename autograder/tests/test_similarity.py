"""Similarity: disguised copies are found, and independent work is not listed."""

import ast
import re
import shutil

import pytest

from autograder.authoring.answer_bank import Answer, read_answers
from autograder.authoring.lesson import read_lesson
from autograder.authoring.notebook import as_text
from autograder.authoring.samples import filled, solved
from autograder.paths import COURSE, Course
from autograder.similarity.compare import Cohort, Pair
from autograder.similarity.parts import COMMENTS, Baseline, fingerprints, parts
from autograder.similarity.pieces import Code
from autograder.tests.conftest import Instructor

# --- copies, made from the answers bank -----------------------------------------------------


@pytest.fixture(scope="module")
def lesson():
    """Lesson 1."""
    return read_lesson(COURSE.solutions / "01_dot_product_attention.py")


@pytest.fixture(scope="module")
def bank(lesson):
    """Its answers bank."""
    return read_answers(COURSE.answers / lesson.path.name, lesson)


@pytest.fixture(scope="module")
def baseline(lesson):
    """The lesson and its solution, without the bank's right answers."""
    return Baseline.of(lesson, [])


def written(answer: Answer) -> str:
    """What the student wrote: the answer without the bank's leading comment."""
    return answer.source if answer.right else re.sub(r"\A(#.*\n)+", "", answer.source)


class Renamed(ast.NodeTransformer):
    """Replace every name that the student chose."""

    def __init__(self, tree: ast.Module, kept: tuple[str, ...]) -> None:
        stored = {
            name
            for node in ast.walk(tree)
            for name in (
                (node.id,)
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
                else (node.arg,)
                if isinstance(node, ast.arg)
                else ()
            )
        }
        self._new = {name: f"another_{n}" for n, name in enumerate(sorted(stored - set(kept)))}

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self._new.get(node.id, node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.arg, node.annotation = self._new.get(node.arg, node.arg), None
        return node


def renamed(source: str, kept: tuple[str, ...]) -> str:
    """A copy with other names and another layout, without comments and type hints."""
    tree = ast.parse(source)
    return ast.unparse(Renamed(tree, kept).visit(tree))


def test_renaming_and_reformatting_keep_the_fingerprints(bank, baseline):
    different = 0
    for answer in bank:
        source = written(answer)
        copy = renamed(source, baseline.exercises)
        different += copy != source
        before, after = (
            {
                fingerprint
                for piece in Code(text).pieces(baseline.exercises)
                for fingerprint in piece.fingerprints
            }
            for text in (source, copy)
        )
        assert before == after, answer
    assert different > 250


def listed(
    lesson, baseline, handed_in: dict[str, dict[str, str]], at_least: float = 0.8
) -> list[Pair]:
    """The pairs of a class whose students submitted these sources."""
    everyone = Cohort()
    for student, sources in handed_in.items():
        everyone.add(student, fingerprints(parts(filled(lesson, sources), baseline), baseline))
    return everyone.pairs(at_least)


ODD = """\
def softmax(scores: Tensor, dim: int) -> Tensor:
    # I start with the biggest, and go on from thre
    biggest = torch.sort(scores, dim=dim, descending=True).values
    ones = torch.ones_like(scores)
    powers = torch.pow(torch.e * ones, scores - biggest.narrow(dim, 0, 1))
    total = torch.cumsum(powers, dim=dim).narrow(dim, scores.size(dim) - 1, 1)
    return powers / total
"""
HEADING, *STATEMENTS = ODD.strip().split("\n")
DISGUISED = {
    "as it is": ODD,
    "renamed": renamed(ODD, ("softmax",)),
    "reformatted": ODD.replace("(", "(\n        ").replace(" = ", "=").replace("# I", "#I"),
    "without comments": re.sub(r"(?m)^ *#.*\n", "", ODD),
    "reordered": "\n".join([HEADING, *[STATEMENTS[n] for n in (2, 1, 3, 4, 5)]]),
    "with a docstring": ODD.replace("# I start", '"""Mine."""\n    # I start'),
    "with an extra line": ODD.replace("    # I", "    shape = scores.shape\n    # I"),
    "in brackets": ODD.replace("biggest.narrow(dim, 0, 1)", "((biggest).narrow(dim, 0, 1))"),
}


@pytest.mark.parametrize("how", DISGUISED)
def test_a_disguised_copy_is_found(lesson, baseline, how):
    source = DISGUISED[how]
    ast.parse(source)
    assert (how == "as it is") == (source == ODD)
    others = {f"s{n}": {"softmax": f"def softmax(scores, dim):\n    return {n}"} for n in range(5)}
    class_ = {"ada": {"softmax": ODD}, "bo": {"softmax": source}} | others
    (pair,) = listed(lesson, baseline, class_)
    assert pair.students == ("ada", "bo")
    likeness = pair.parts["softmax"].likeness
    assert likeness > 0.8 if how == "with an extra line" else likeness == 1


def test_a_copy_split_over_cells_is_found(lesson, baseline):
    helper = "def total_of(powers, dim, count):\n" + "\n".join(
        [*STATEMENTS[4:5], "    return total"]
    ).replace("scores.size(dim)", "count")
    caller = ODD.replace(STATEMENTS[4], "    total = total_of(powers, dim, scores.size(dim))")
    whole = filled(lesson, {"softmax": f"{helper}\n\n\n{caller}"})
    split = filled(lesson, {"softmax": caller})
    extra = dict(split.cells[2]) | {"id": "extra", "source": helper, "metadata": {}}
    unrelated = extra | {"id": "play", "source": "for number in range(10):\n    print(number)"}
    split.cells[3:3] = [type(split.cells[2])(extra), type(split.cells[2])(unrelated)]
    found = [parts(notebook, baseline)["softmax"] for notebook in (whole, split)]
    assert found[0].fingerprints == found[1].fingerprints
    assert "def total_of" in found[1].text
    assert "print(number)" not in found[1].text


def test_right_answers_written_independently_are_not_listed(lesson, baseline, bank):
    right = [answer for answer in bank if answer.right]
    assert len(right) > 50
    class_ = {f"{a.exercise} {a.name}": {a.exercise: a.source} for a in right}
    assert listed(lesson, baseline, class_) == []


def test_answers_of_the_bank_and_the_solution_do_not_count(lesson, bank, baseline):
    right = {answer.exercise: answer.source for answer in bank if answer.right}
    class_ = {"ada": right, "bo": right, "cleo": solved(lesson), "dan": solved(lesson)}
    known = Baseline.of(lesson, bank)
    assert [pair.students for pair in listed(lesson, baseline, class_)] == [("ada", "bo")]
    assert listed(lesson, known, class_) == []


def test_common_code_does_not_count(lesson, baseline):
    mine = fingerprints(parts(filled(lesson, {"softmax": ODD}), baseline), baseline)
    few, many = Cohort(), Cohort()
    for class_, alike in ((few, 3), (many, 300)):
        for number in range(300):
            class_.add(f"s{number:03}", mine if number < alike else {})
    assert len(few.pairs(0.8)) == 3
    assert many.pairs(0.8) == []


def test_a_rare_shared_mistake_weighs_more_than_a_common_one(lesson, baseline, bank):
    wrong = next(a for a in bank if a.exercise == "SelfAttention" and not a.right)
    mine = fingerprints(
        parts(filled(lesson, {"SelfAttention": written(wrong)}), baseline), baseline
    )
    weights = []
    for alike in (2, 4, 6, 8):
        class_ = Cohort()
        for number in range(100):
            class_.add(f"s{number:03}", mine if number < alike else {})
        rarity = class_.rarity
        weights.append(rarity.weight(mine["SelfAttention"]))
    assert weights[0] > weights[1] > weights[2] > weights[3] == 0


def test_a_short_shared_text_makes_no_pair(lesson, baseline, bank):
    short = next(a for a in bank if (a.exercise, a.name) == ("softmax", "no_exponential"))
    class_ = {student: {"softmax": written(short)} for student in ("ada", "bo")}
    assert listed(lesson, baseline, class_) == []


def test_shared_names_alone_do_not_count(lesson, baseline):
    sums = [f"    odd_{n} = {n}" for n in range(30)]
    texts = [f"    odd_{n} = '{n}' * {n} + 'no' + str({n} * 3)" for n in range(30)]
    class_ = {
        student: {"softmax": "\n".join(["def softmax(scores, dim):", *lines])}
        for student, lines in {"ada": sums, "bo": texts}.items()
    }
    assert listed(lesson, baseline, class_) == []


def test_arguments_are_identified_by_position():
    right = "def attend(query, key):\n    return query @ key.T"
    wrong = "def attend(query, key):\n    return key @ query.T"
    named = "def attend(a, b):\n    return a @ b.T"
    found = [[piece.tokens for piece in Code(code).pieces()] for code in (right, wrong, named)]
    assert found[0] == found[2] != found[1]


def test_an_empty_cohort_has_no_pairs():
    assert Cohort().pairs(0.8) == []


@pytest.mark.parametrize(
    "source",
    [
        "def softmax(scores, dim)\n    return scores",
        "%matplotlib inline\n!ls\ndef softmax(scores, dim):\n    return scores[",
        "-" * 90_000 + "1",
        "not " * 30_000 + "1",
        "(" * 1_000,
        "x = '\x00'",
        "\ufeff\u202e" * 100,
        "é" * 200_000,
        "if 1:\n" + "".join(" " * n + "if 1:\n" for n in range(1, 99)),
        "match x:\n    case 1:\n        y = 2\n    case _:\n        pass",
    ],
)
def test_code_that_does_not_parse_is_compared(lesson, baseline, source):
    part = parts(filled(lesson, {"softmax": source + "\n" + ODD}), baseline)["softmax"]
    assert part.text.startswith(source)


def test_lines_that_do_not_parse_do_not_affect_others(lesson, baseline):
    broken = ODD.replace("    return powers / total", "    return powers / (total")
    assert Code(broken).pieces()[:4] == Code(ODD).pieces()[:4]
    copies = {"ada": {"softmax": broken}, "bo": {"softmax": renamed(ODD, ("softmax",))}}
    assert [pair.students for pair in listed(lesson, baseline, copies)] == [("ada", "bo")]
    twice = {"ada": {"softmax": broken}, "bo": {"softmax": broken.replace("total", "t")}}
    assert listed(lesson, baseline, twice)[0].parts["softmax"].likeness == 1


# --- the command ----------------------------------------------------------------------------

LESSON = """\
# %% [markdown]
# # A lesson

# %% exercise blend
def blend(values):
    # BEGIN SOLUTION
    return sum(values) / len(values)
    # END SOLUTION


# %% check blend points=2
assert blend([1, 3]) == 2

# %% answer why [markdown] points=3
# Why does it work for every list of numbers but for an empty one?
# BEGIN SOLUTION
# Nothing can be divided by zero.
# END SOLUTION
"""
LONG = """\
def blend(values):
    # go throu each, keepin a running mean <script>alert(1)</script>
    mean, seen = 0.0, 0
    for value in reversed(sorted(values, key=abs)):
        seen = seen + 1
        mean = mean * ((seen - 1) / seen) + value * seen ** -1
    return round(mean * 1e6) * 1e-6 if seen else float("nan")
"""
COPY = """\
def blend(numbers):
    m, n = 0.0, 0
    for x in reversed(sorted(numbers, key=abs)):
        n = n + 1
        m = m * ((n - 1) / n) + x * n**-1
    return (
        round(m * 1e6) * 1e-6 if n else float("nan")
    )
"""
OWN = "def blend(values):\n    import statistics\n\n    return statistics.fmean(values)"
PROSE = (
    "My grandmother always shared nine plums among us, and when nobody came to her table there "
    "was no share to speak of, because a share needs a mouth."
)
QUESTION = "Why does it work for every list of numbers but for an empty one?"


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory):
    """Ada and bo share code, cleo and dan share an answer, eve shares nothing."""
    folder = tmp_path_factory.mktemp("similar")
    (folder / "solutions").mkdir()
    (folder / "solutions" / "01_small.py").write_text(LESSON, encoding="utf-8")
    instructor = Instructor(Course(folder), folder / "class")
    code, said = instructor.types("release")
    assert code == 0, said
    answers = {
        "ada": {"blend": LONG},
        "bo": {"blend": COPY},
        "cleo": {"blend": OWN, "why": f"{QUESTION}\n\n{PROSE}"},
        "dan": {"blend": "", "why": PROSE.replace("shared", "*shared*").upper()},
        "eve": {"blend": OWN.replace("fmean", "mean"), "why": QUESTION},
        "<b>fay": {"why": QUESTION},
    }
    for student, sources in answers.items():
        instructor.receives(student, as_text(filled(instructor.lesson, sources)))
    instructor.receives("gil", "no notebook")
    return instructor


@pytest.fixture
def class_(handed_in, tmp_path):
    """A copy of the class for a test that changes it."""
    return handed_in.copy(tmp_path)


def receives(class_: Instructor, student: str, code: str) -> None:
    class_.receives(student, as_text(filled(class_.lesson, {"blend": code})))


def pages(class_: Instructor) -> dict[str, str]:
    folder = class_.folder / "similar" / "01_small"
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())}


def test_the_command_lists_pairs_and_reasons(class_):
    code, said = class_.types("similar")
    assert code == 0
    assert "01_small: 6 submissions compared, 2 similar pairs" in said
    assert re.search(r"ada and bo +│ blend 100% ", said)
    assert re.search(r"cleo and dan +│ why 100% ", said)
    assert "gil: not compared: no JSON" in said
    assert "not a verdict" in said
    index = pages(class_)["index.html"]
    assert '<a href="pair-001.html">ada and bo</a>' in index
    assert "No verdict, and no proof" in index
    assert "gil: no JSON" in index
    assert ">eve" not in index


def test_the_page_of_a_pair_marks_rare_lines(class_):
    class_.types("similar")
    page = pages(class_)["pair-001.html"]
    lines = re.findall(r'<li(?: class="(\w+)")?><span class="mark">(.*?)</span>(.*?)</li>', page)
    marks = {re.sub("<.*?>", "", text).strip(): (kind, mark) for kind, mark, text in lines}
    assert marks["def blend(values):"] == marks["def blend(numbers):"] == ("same", "=")
    for mine, theirs in {
        "seen = seen + 1": "n = n + 1",
        "for value in reversed(sorted(values, key=abs)):": (
            "for x in reversed(sorted(numbers, key=abs)):"
        ),
        "return round(mean * 1e6) * 1e-6 if seen else float(&#34;nan&#34;)": "return (",
    }.items():
        assert marks[mine] == marks[theirs]
        assert marks[mine][0] == "rare"
    rarest = page.split("The rarest")[1].split("Below")[0]
    assert "mean = mean * ((seen - 1) / seen) + value * seen ** -1</code>" in rarest
    assert "(blend; nobody else)" in rarest
    assert "Evidence for a conversation, no verdict" in page


def test_pages_run_nothing_and_load_nothing(class_):
    receives(class_, "bo", "")
    receives(class_, "<b>fay", LONG)
    class_.types("similar")
    for page in pages(class_).values():
        assert "default-src 'none'; style-src 'sha256-" in page
        assert not re.search(r"<script|<b>|https?:|<img|<link|url\(|@import", page)
    assert "&lt;script&gt;alert(1)" in pages(class_)["pair-001.html"]


def test_shared_comments_and_names_are_shown(class_):
    receives(class_, "bo", LONG)
    receives(class_, "eve", "def blend(values):\n    seen = len(values)\n    return seen and 1")
    class_.types("similar")
    page = pages(class_)["pair-001.html"]
    assert "<td>comments<td" in page
    assert "# go throu each, keepin a running mean" in page.split("Below")[0]
    names = page.split("Names that both chose")[1].split("They did not count")[0]
    assert re.findall(r"<code>(\w+)</code>", names) == ["mean", "value"]


def test_shared_comments_alone_make_a_pair(class_):
    story = f"# {PROSE[::-1]}\n"
    more = "\n".join(f"# step {n}: look at number {n * n} and go on" for n in range(40))
    receives(class_, "cleo", f"{story}{more}\n{OWN}")
    receives(class_, "eve", story + "def blend(")
    said = class_.types("similar")[1]
    assert re.search(rf"cleo and eve +│ {COMMENTS} 100% ", said)


def test_pages_of_an_earlier_run_are_deleted(class_):
    class_.types("similar")
    assert pages(class_).keys() == {"index.html", "pair-001.html", "pair-002.html"}
    kept = class_.folder / "similar" / "01_small" / "notes.txt"
    kept.write_text("talked to both")
    assert class_.types("similar", "--top", "1")[0] == 0
    assert pages(class_).keys() == {"index.html", "pair-001.html", "notes.txt"}
    assert "<code>--top 2</code>" in pages(class_)["index.html"]
    for student in ("bo", "dan"):
        receives(class_, student, "")
    assert "no similar pairs" in class_.types("similar")[1]
    assert pages(class_).keys() == {"index.html", "notes.txt"}
    assert "No pair is." in pages(class_)["index.html"]


def test_target_folder_and_threshold_are_options(class_, tmp_path):
    changed = COPY.replace("m, n = 0.0, 0", "m, n = float('0'), int('0') * 7 + len('') - max(0, 0)")
    receives(class_, "bo", changed)
    to = tmp_path / "elsewhere"
    said = class_.types("similar", "--to", str(to))[1]
    assert "1 similar pair\n" in said
    assert f"wrote {to}/01_small/index.html" in said
    assert not (class_.folder / "similar").exists()
    assert "2 similar pairs" in class_.types("similar", "--at-least", "0.5")[1]


@pytest.mark.parametrize("typed", ["x", "0", "-1", "1.1", "nan", "80"])
def test_an_invalid_share_is_refused(class_, typed):
    code, said = class_.types("similar", f"--at-least={typed}")
    assert (code, f"`{typed}` is not a share greater than 0 and at most 1" in said) == (2, True)


def test_a_class_without_submissions_has_no_pairs(class_):
    shutil.rmtree(class_.folder / "submitted")
    code, said = class_.types("similar")
    assert (code, "01_small: 0 submissions compared, no similar pairs" in said) == (0, True)
