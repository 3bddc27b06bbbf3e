"""What a cell showed: outputs as a notebook has them, and so much of them."""

import nbformat
import pytest
from IPython.core.inputtransformer2 import TransformerManager

from autograder.execution.executor import Executor
from autograder.execution.isolation.shell import MAGIC
from autograder.tests.test_executor import CHECK, RIGHT, executed, verdicts


@pytest.fixture(scope="module")
def executor():
    with Executor(sandboxed=False) as executor:
        yield executor


def shown(executor: Executor, source: str) -> list[dict]:
    """The outputs of one cell, which a notebook may have."""
    outputs = executed(executor, source).cells[-1].outputs
    cell = nbformat.v4.new_code_cell(outputs=[nbformat.from_dict(o) for o in outputs])
    nbformat.validate(nbformat.v4.new_notebook(cells=[cell]))
    return outputs


def test_what_is_printed_is_one_stream_until_something_else_comes(executor):
    outputs = shown(
        executor,
        "import sys\nprint('a')\nprint('b', end='')\nprint('c', file=sys.stderr)\nprint('d')",
    )
    streams = [(output["name"], output["text"]) for output in outputs]
    assert streams == [("stdout", "a\nb"), ("stderr", "c\n"), ("stdout", "d\n")]


def test_the_last_line_is_the_result_and_a_semicolon_hides_it(executor):
    (output,) = shown(executor, "1\n{'a': 2}")
    assert output["output_type"] == "execute_result"
    assert output["data"] == {"text/plain": "{'a': 2}"}
    assert shown(executor, "3;") == []
    assert shown(executor, "x = 3") == []


def test_an_error_has_its_name_its_message_and_no_source_lines(executor):
    (output,) = shown(executor, "def f():\n    secret = 1\n    raise ValueError('no')\nf()")
    assert (output["ename"], output["evalue"]) == ("ValueError", "no")
    assert "secret" not in "".join(output["traceback"])
    (output,) = shown(executor, "if True print(1)")
    assert output["ename"] == "SyntaxError"


@pytest.mark.parametrize(
    "special",
    [
        *("%who", "for i in x:\n    %time f()", "a = %pwd", "a, b =!ls", "!ls", "?x", "x?"),
        *("x.y??\nz", "%%time\nx", "  a = 1\n  b = 2", ">>> a", "In [1]: a", ", f a", "/f 1"),
        *(";f a", "\n\nx"),
    ],
)
def test_what_ipython_alone_understands_is_not_taken_for_python(special):
    assert TransformerManager().transform_cell(special) != special + "\n"
    assert MAGIC.search(special)


def test_a_display_is_updated_in_its_place(executor):
    outputs = shown(
        executor,
        "from IPython.display import display\n"
        "shown = display('first', display_id=True)\nprint('between')\nshown.update('second')",
    )
    assert [output["output_type"] for output in outputs] == ["display_data", "stream"]
    assert outputs[0]["data"] == {"text/plain": "'second'"}


def test_figures_are_images(executor):
    outputs = shown(executor, "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()")
    assert outputs[0]["data"]["image/png"].startswith("iVBOR")


def test_data_that_no_notebook_may_hold_becomes_text(executor):
    outputs = shown(
        executor,
        "from IPython.display import display\ndisplay({'text/plain': 3}, raw=True)\n"
        "display({'application/json': {'a': 1}}, raw=True)\nprint('\\ud800')",
    )
    assert outputs[0]["data"] == {"text/plain": "3"}
    assert outputs[1]["data"] == {"application/json": {"a": 1}}
    assert outputs[2]["text"] == "?\n"


def test_what_is_cleared_makes_room_for_what_comes_after(executor):
    clear = "from IPython.display import clear_output\nprint('a')\nclear_output({})\n"
    assert shown(executor, clear.format("")) == []
    assert [o["text"] for o in shown(executor, clear.format("wait=True"))] == ["a\n"]
    outputs = shown(executor, clear.format("wait=True") + "print('b')")
    assert [output["text"] for output in outputs] == ["b\n"]
    progress = "for i in range(30):\n    clear_output()\n    print('x' * 100_000, i)"
    (output,) = shown(executor, clear.format("") + progress)
    assert output["text"].endswith("x 29\n")


@pytest.mark.parametrize(
    "source",
    [
        "print('x' * 10**8)",
        "for _ in range(30_000):\n    print('x' * 100)",
        "import sys\nfor i in range(30_000):\n    print(i, file=(sys.stdout, sys.stderr)[i % 2])",
        "print('\\0' * 3_000_000)",
        "for _ in range(99):\n    display('x' * 100_000)",
        "'x' * 10**7",
        "raise ValueError('x' * 10**7)",
    ],
)
def test_a_cell_shows_so_much_and_no_more_and_the_next_goes_on(executor, source):
    execution = executed(executor, source, RIGHT, CHECK)
    outputs = execution.cells[1].outputs
    text = nbformat.writes(nbformat.v4.new_notebook(metadata={"outputs": outputs}))
    assert len(text) < 2_500_000
    assert "left out" in text
    assert verdicts(execution) == [True, True, True]


def test_commands_of_the_system_do_not_run(executor):
    outputs = shown(executor, "files = !ls\n!echo here\nfiles")
    assert [output.get("text", "") for output in outputs[:1]] == [
        "not run while grading: !ls\nnot run while grading: !echo here\n"
    ]
