"""What makes a perfect notebook messy: changes that tools and students make, and ways to save it.

A form is a function from the perfect notebook of `LESSON` to the files that a student hands in.
"""

import io
import json
import random
import zipfile
from collections.abc import Callable

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from autograder.authoring.notebook import as_text, graded_cells

LESSON = """\
# %% [markdown]
# # A lesson

# %% given imports
import math

# %% [markdown]
# Write what is asked for.

# %% exercise root
def root(x):
    # BEGIN SOLUTION
    return math.sqrt(x)
    # END SOLUTION


# %% check root points=2
for number in (1, 4, 9):
    assert root(number) ** 2 == number, "the square of the root is the number itself"
# BEGIN HIDDEN TESTS
assert root(16) == 4
# END HIDDEN TESTS

# %%
table = [root(x) for x in range(5)]

# %% [markdown]
# By hand, once: the root of 25.

# %% exercise by_hand
# by_hand = ?
# BEGIN SOLUTION
by_hand = root(25) + 0
# END SOLUTION

# %% check by_hand points=1
assert by_hand * by_hand == 25, "five times five is twenty-five, and nothing else is"

# %% exercise Scale
class Scale:
    # BEGIN SOLUTION
    def __call__(self, x):
        return root(x) * by_hand
    # END SOLUTION


# %% check Scale points=3
scale = Scale()
assert scale(4) == 10, "a scale multiplies the root with what was found by hand"

# %% [markdown]
# **Question.** Why?

# %% answer why [markdown] points=2
# BEGIN SOLUTION
Because it is so.
# END SOLUTION

# %% [markdown]
# The end.
"""
NAME = "01_small"
FILE = f"{NAME}.ipynb"
POINTS = 6  # without the answer, which a person marks

Files = dict[str, bytes]
Change = Callable[[NotebookNode], object]


def saved(*changes: Change, name: str = FILE) -> Callable[[NotebookNode], Files]:
    """The notebook after changes, saved as one file."""

    def files(notebook: NotebookNode) -> Files:
        for change in changes:
            change(notebook)
        return {name: as_file(notebook)}

    return files


def written(write: Callable[[str], bytes], name: str = FILE) -> Callable[[NotebookNode], Files]:
    """The notebook, its text written in some way."""
    return lambda notebook: {name: write(as_text(notebook))}


def raw(data: bytes, name: str = FILE) -> Callable[[NotebookNode], Files]:
    """A file that has nothing of the notebook."""
    return lambda _: {name: data}


def as_file(notebook: NotebookNode) -> bytes:
    """As it is: `nbformat` would repair some of it."""
    return json.dumps(notebook, ensure_ascii=False, indent=1).encode()


def zipped(members: Files, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip file of these."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


# --- changes of a notebook -----------------------------------------------------------------


def of_version(minor: int) -> Change:
    """An older format 4.x: cells have no ids, but in 4.5."""

    def change(notebook: NotebookNode) -> None:
        notebook.nbformat_minor = minor
        if minor < 5:
            without_ids(notebook)

    return change


def without_ids(notebook: NotebookNode) -> None:
    for cell in notebook.cells:
        del cell["id"]


def with_new_ids(notebook: NotebookNode) -> None:
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"


def without_metadata(*names: str) -> Change:
    """nbgrader's metadata are gone: of these cells, or of all."""

    def change(notebook: NotebookNode) -> None:
        for name, cell in graded_cells(notebook).items():
            if name in names or not names:
                del cell.metadata["nbgrader"]

    return change


def kernel(**metadata: object) -> Change:
    """Other metadata of the notebook."""
    return lambda notebook: notebook.update(metadata=metadata)


def as_vs_code_saves(notebook: NotebookNode) -> None:
    kernel(
        kernelspec={"display_name": ".venv (3.12.3)", "language": "python", "name": "python3"},
        language_info={"name": "python", "version": "3.12.3", "file_extension": ".py"},
        orig_nbformat=4,
    )(notebook)
    for cell in notebook.cells:
        cell.metadata["vscode"] = {"languageId": "python"}
        if cell.cell_type == "code":
            cell.execution_count = 3


def as_kaggle_saves(notebook: NotebookNode) -> None:
    without_metadata()(notebook)
    of_version(4)(notebook)
    for cell in notebook.cells:
        cell.metadata = {"_uuid": "8f2839f25d086af736a60e9eeb907d3b93b6e0e5", "trusted": True}


def turned_round(notebook: NotebookNode) -> None:
    notebook.cells.reverse()


def shuffled(notebook: NotebookNode) -> None:
    random.Random(5).shuffle(notebook.cells)


def last(*names: str) -> Change:
    """These cells stand at the end."""

    def change(notebook: NotebookNode) -> None:
        for name in names:
            cell = graded_cells(notebook)[name]
            notebook.cells.remove(cell)
            notebook.cells.append(cell)

    return change


def without(*names: str) -> Change:
    """These cells are deleted."""

    def change(notebook: NotebookNode) -> None:
        cells = graded_cells(notebook)
        notebook.cells = [c for c in notebook.cells if not any(c is cells[n] for n in names)]

    return change


def split(keeps: bool) -> Change:
    """An exercise takes two cells; the second has the metadata too, or has none."""

    def change(notebook: NotebookNode) -> None:
        cell = graded_cells(notebook)["exercise_Scale"]
        rest = new_code_cell(cell.source.replace("root(x) * by_hand", "helped(x)"), id="rest")
        cell.source = "def helped(x):\n    return root(x) * by_hand"
        rest.metadata = dict(cell.metadata) if keeps else {}
        notebook.cells.insert(notebook.cells.index(cell) + 1, rest)

    return change


def merged(notebook: NotebookNode) -> None:
    cells = graded_cells(notebook)
    cells["exercise_root"].source += f"\n\n\n{cells['exercise_by_hand'].source}"
    notebook.cells.remove(cells["exercise_by_hand"])


def with_copy(notebook: NotebookNode) -> None:
    cell = graded_cells(notebook)["exercise_root"]
    copy = NotebookNode(cell, id="copy", source="def root(x):\n    raise NotImplementedError()")
    notebook.cells.insert(notebook.cells.index(cell), copy)


def rewritten(notebook: NotebookNode) -> None:
    """The exercise's cell is deleted; another one solves it, with a helper in a third."""
    cell = graded_cells(notebook)["exercise_Scale"]
    at = notebook.cells.index(cell)
    solved = new_code_cell(f"{cell.source}\n\n    helped = helper", id="solved")
    notebook.cells[at : at + 1] = [new_code_cell("helper = by_hand", id="helper"), solved]


def with_more(notebook: NotebookNode) -> None:
    more = ["%matplotlib inline", "!pip install numpy", "1 / 0", "def broken(:", "root = root"]
    for number, source in enumerate(more):
        notebook.cells.insert(5 * number, new_code_cell(source, id=f"more-{number}"))
    notebook.cells.insert(4, new_markdown_cell("a note, longer than the answer: " + "so " * 50))


def reformatted(notebook: NotebookNode) -> None:
    """As a formatter with shorter lines leaves locked cells, when a tool forgot the locks."""
    for name, cell in graded_cells(notebook).items():
        if name.startswith("check"):
            cell.source = cell.source.replace(", ", ",\n    ")


def with_outputs(notebook: NotebookNode) -> None:
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [new_output("stream", text="spam " * 200_000), new_output("error")]


def helped_by_another(notebook: NotebookNode) -> None:
    """The exercises in another order, each with the student's own helper before both."""
    last("exercise_root", "check_root", "answer_why")(notebook)
    cells = graded_cells(notebook)
    cells["exercise_by_hand"].source = "by_hand = helper(root(25))"
    helper = new_code_cell("def helper(x):\n    return x", id="helper")
    notebook.cells.insert(notebook.cells.index(cells["exercise_by_hand"]), helper)


# --- files ---------------------------------------------------------------------------------


def older_and_newer(notebook: NotebookNode) -> Files:
    """Browsers number what is downloaded again."""
    newer = as_file(notebook)
    graded_cells(notebook)["exercise_root"].source = "def root(x):\n    raise NotImplementedError()"
    return {f"{NAME} (1).ipynb": as_file(notebook), f"{NAME} (2).ipynb": newer}


def beside_another(notebook: NotebookNode) -> Files:
    data = as_file(notebook)
    foreign(notebook)
    return {"a.ipynb": as_file(notebook), "b.ipynb": data, "z.ipynb": b"{}"}


def in_zip(notebook: NotebookNode) -> Files:
    """As macOS zips a folder; the cells open a file beside the notebook."""
    graded_cells(notebook)["exercise_by_hand"].source = "by_hand = float(open('hand.txt').read())"
    inside = {f"homework/{FILE}": as_file(notebook), "homework/hand.txt": b"5", "up.txt": b"6"}
    return {"handed.zip": zipped(inside | {f"__MACOSX/homework/._{FILE}": b"\0\5\26\7"})}


def foreign(notebook: NotebookNode) -> None:
    """Another lesson's, which begins in the same way."""
    for name, cell in graded_cells(notebook).items():
        if not name.startswith("given"):
            cell.metadata.nbgrader.grade_id = f"{name}_of_another"
            cell.source = f"other = '{name}'"
            cell["id"] = f"other-{name.replace('_', '-')}"
    badge = "[![Open](badge.svg)](https://github.com/a/b/blob/main/notebooks/02_other.ipynb)"
    notebook.cells.insert(0, new_markdown_cell(badge, id="badge"))
