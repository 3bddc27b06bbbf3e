"""Lessons: the meaning of titles, errors that stop the build, and round trips through editors."""

import ast

import jupytext
import pytest
from jupytext import TextFileContentsManager
from jupytext.config import load_jupytext_configuration_file

from autograder import paths
from autograder.authoring.lesson import AuthoringError, all_lessons, read_lesson
from autograder.authoring.notebook import source_notebook
from autograder.paths import COURSE

GOOD = """\
# %% [markdown]
# # A lesson

# %% exercise double
def double(x):
    # BEGIN SOLUTION
    return x + x
    # END SOLUTION


# %% check double points=2
assert double(2) == 4
# BEGIN HIDDEN TESTS
assert double(3) == 6
# END HIDDEN TESTS

# %% check double_twice points=1
assert double(double(1)) == 4

# %% answer why [markdown] points=1.5
# Because.
"""


@pytest.fixture
def lesson_of(tmp_path):
    def read(text: str):
        path = tmp_path / "01_small.py"
        path.write_text(text, encoding="utf-8")
        return read_lesson(path)

    return read


def test_titles_give_role_name_and_points(lesson_of):
    lesson = lesson_of(GOOD)
    assert [(cell.grade_id, cell.points) for cell in lesson.cells] == [
        ("", None),
        ("exercise_double", None),
        ("check_double", 2),
        ("check_double_twice", 1),
        ("answer_why", 1.5),
    ]
    assert [check.name for check in lesson.checks_of("double")] == ["double", "double_twice"]


def test_code_cells_fold_where_their_title_says_so(lesson_of):
    plain = "\n# %% folded=true\n1 + 1\n\n# %% given imports folded=true\nimport math\n"
    lesson = lesson_of(GOOD + plain)
    folded = [cell.metadata.get("jupyter") for cell in source_notebook(lesson).cells]
    hidden = {"source_hidden": True}
    # badge, title, setup; exercise, two checks, answer; the two
    assert folded == [None, None, hidden, None, hidden, hidden, None, hidden, hidden]


ERRORS = {
    "folded text": ("answer why [markdown]", "answer why [markdown] folded=true", 20, "code cell"),
    "folded by a number": ("check double_twice", "check double_twice folded=1", 17, "folded=true"),
    "unknown role": ("exercise double", "excercise double", 4, "roles are exercise, check"),
    "no name": ("# %% exercise double", "# %% exercise", 4, "NAME"),
    "missing points": ("check double points=2", "check double", 11, "points=1"),
    "zero points": ("points=2", "points=0", 11, "greater than zero"),
    "endless points": ("points=2", "points=1e999", 11, "greater than zero"),
    "points in words": ("points=2", 'points="two"', 11, "greater than zero"),
    "points on an exercise": ("exercise double", "exercise double points=1", 4, "check"),
    "points without a title": ("# %% check double points=2", "# %% points=2", 11, "title"),
    "duplicate id": ("check double_twice", "check double", 17, "rename one"),
    "check of nothing": ("check double_twice", "check triple", 17, "begin its name"),
    "wrong kind of cell": ("answer why [markdown]", "answer why", 20, "add [markdown]"),
    "never closed": ("    # END SOLUTION\n", "", 6, "add a line `# END SOLUTION`"),
    "never opened": ("# BEGIN HIDDEN TESTS\n", "", 14, "by one END"),
    "nested": ("    return x + x", "    # BEGIN SOLUTION", 7, "do not nest"),
    "no solution": (
        "    # BEGIN SOLUTION\n    return x + x\n    # END SOLUTION",
        "    ...",
        4,
        "around",
    ),
    "region in the wrong cell": ("# BEGIN HIDDEN TESTS", "# BEGIN SOLUTION", 13, "only"),
    "text before the first cell": (
        "# %% [markdown]\n",
        "import torch\n\n# %% [markdown]\n",
        3,
        "begin",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_names_line_and_fix(lesson_of, name):
    old, new, line, fix = ERRORS[name]
    assert old in GOOD
    with pytest.raises(AuthoringError) as stopped:
        lesson_of(GOOD.replace(old, new, 1))
    message = str(stopped.value)
    assert f"01_small.py:{line}: " in message
    assert fix in message.split("fix:")[1]


@pytest.mark.parametrize("path", all_lessons(), ids=lambda path: path.stem)
def test_no_cell_defines_a_name_that_students_would_use(path):
    """A `d_k` left over from a demonstration would let wrong code run with wrong results."""
    lesson = read_lesson(path)
    used = {"d_k", "d_v", "d_model"}
    for cell in lesson.of("exercise"):
        for node in ast.walk(ast.parse(cell.source)):
            if isinstance(node, ast.arg):
                used.add(node.arg)
            # a name at the top level of the cell is the exercise itself
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.col_offset:
                used.add(node.id)
    for cell in lesson.cells:
        if cell.kind == "code" and cell.role in ("", "given"):
            assert used & _assigned(ast.parse(cell.source)) == set(), f"line {cell.line}"


def _assigned(tree: ast.AST) -> set[str]:
    """The names that a cell assigns outside functions, classes and comprehensions."""
    inner = (ast.FunctionDef, ast.ClassDef, ast.Lambda, ast.comprehension, ast.GeneratorExp)
    names = {n.id for n in [tree] if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for child in ast.iter_child_nodes(tree):
        if not isinstance(child, inner):
            names |= _assigned(child)
    return names


PERCENT_SCRIPTS = sorted([*all_lessons(), *COURSE.answers.glob("*.py")])


@pytest.mark.parametrize(
    "path", PERCENT_SCRIPTS, ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_jupytext_keeps_every_byte(path):
    text = path.read_text(encoding="utf-8")
    config = load_jupytext_configuration_file(str(paths.ROOT / "pyproject.toml"))
    notebook = jupytext.reads(text, fmt="py:percent", config=config)
    assert jupytext.writes(notebook, fmt="py:percent", config=config) == text


@pytest.mark.parametrize("path", all_lessons(), ids=lambda path: path.stem)
def test_jupyterlab_keeps_every_byte(path, tmp_path):
    (tmp_path / "pyproject.toml").write_text((paths.ROOT / "pyproject.toml").read_text())
    (tmp_path / path.name).write_bytes(path.read_bytes())
    manager = TextFileContentsManager(root_dir=str(tmp_path))
    model = manager.get(path.name)
    # JupyterLab adds these when it opens and saves a notebook
    model["content"]["metadata"]["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    model["content"]["metadata"]["language_info"] = {"name": "python", "version": "3.13.1"}
    manager.save(model, path.name)
    assert (tmp_path / path.name).read_bytes() == path.read_bytes()
