"""`show_training`: what is told while a loop runs, and what stays however it ends."""

import types
import warnings
from collections.abc import Iterator
from typing import Any

import nbformat
import numpy as np
import pytest
import torch
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.events import EventManager
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from nbclient import NotebookClient
from transformer_course.widgets import TrainingPlot, show_training, training

LIVE = "application/vnd.jupyter.widget-view+json"


@pytest.fixture(autouse=True)
def shell(monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    """What displays, and captures it; `get_ipython` finds no kernel."""
    shell = InteractiveShell.instance()
    monkeypatch.setattr(shell, "display_pub", CapturingDisplayPublisher(parent=shell))
    monkeypatch.setattr(training, "get_ipython", lambda: None)
    yield shell
    InteractiveShell.clear_instance()


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch, shell: InteractiveShell) -> Any:
    """A kernel whose clock stands still until `kernel.now` is moved."""
    there = types.SimpleNamespace(kernel=object(), now=100.0)
    there.events = EventManager(shell, {"post_run_cell": lambda result: None})
    there.end_cell = lambda: there.events.trigger("post_run_cell", None)
    monkeypatch.setattr(training, "get_ipython", lambda: there)
    clock = types.SimpleNamespace(monotonic=lambda: there.now)
    monkeypatch.setattr(training, "time", clock)
    return there


def trained(steps: int = 20, total: int | None = None) -> TrainingPlot:
    plot = show_training(total)
    for step in range(1, steps + 1):
        plot.add(loss=1 / step, accuracy=step / steps)
    return plot


def sent(plot: TrainingPlot, name: str) -> np.ndarray:
    """An array as the live view gets it."""
    view = plot.view
    (about,) = (about for about in view.options["arrays"] if about["name"] == name)
    return np.frombuffer(view.data, np.float32, about["shape"][0], about["at"])


# --- what is added -----------------------------------------------------------------------


@pytest.mark.parametrize("number", [2, 0.5, "0.5", np.float32(0.5), torch.tensor([0.5])], ids=repr)
def test_a_number_is_taken_whatever_holds_it(number: Any) -> None:
    plot = show_training()
    plot.add(loss=number)
    assert sent(plot, "values 0").tolist() == [float(number)]


def test_a_tensor_that_needs_gradients_is_taken_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        show_training().add(loss=torch.tensor(0.5, requires_grad=True))


@pytest.mark.parametrize(
    ("value", "got"),
    [(torch.zeros(2, 3), "the shape (2, 3)"), (None, "None"), ("low", "'low'")],
    ids=["tensor", "nothing", "text"],
)
def test_what_is_no_number_is_refused(value: Any, got: str) -> None:
    with pytest.raises(ValueError, match="loss must be one number; got") as caught:
        show_training().add(loss=value)
    assert str(caught.value) == f"loss must be one number; got {got}"


def test_a_fifth_series_is_refused() -> None:
    plot = show_training()
    plot.add(a=1, b=2, c=3, d=4)
    with pytest.raises(ValueError, match="at most 4 series; got a, b, c, d and e"):
        plot.add(e=5)


def test_nan_and_infinity_are_gaps() -> None:
    plot = show_training()
    for value in (3, float("nan"), float("inf"), 1e300, 1):
        plot.add(loss=value)
    assert np.isnan(sent(plot, "values 0")).tolist() == [False, True, True, True, False]
    assert all(
        np.isfinite([about["low"], about["high"]]).all() for about in plot.view.options["arrays"]
    )
    assert "loss from 3 to 1, lowest 1 at step 5, 2 not finite" in plot.view.picture.alt


def test_a_series_without_a_finite_number_is_drawn_as_none() -> None:
    plot = show_training()
    plot.add(loss=float("nan"))
    assert "loss: no finite number" in plot.view.picture.alt


def test_a_series_may_miss_steps() -> None:
    plot = show_training()
    for step in range(1, 7):
        plot.add(loss=step, **({"val_accuracy": 0.5} if step % 3 == 0 else {}))
    assert sent(plot, "steps 1").tolist() == [3, 6]
    assert plot.view.options["names"] == ["loss", "val accuracy"]


@pytest.mark.parametrize("count", [1, 299, 300, 301, 4321])
def test_at_most_300_points_cross_evenly_and_the_last_always(count: int) -> None:
    plot = trained(count)
    steps = sent(plot, "steps 0")
    assert min(count, 150) <= len(steps) <= 300
    assert steps[0] == 1
    assert steps[-1] == count
    assert len(set(np.diff(steps[:-1]))) <= 1
    assert len(plot.view.data) < 10_000
    assert np.array_equal(sent(plot, "values 0"), (1 / steps).astype(np.float32))


def test_points_that_stay_do_not_move() -> None:
    earlier, later = (set(sent(trained(count), "steps 0")[:-1]) for count in (700, 3000))
    assert {step for step in later if step < 700} <= earlier


def test_accuracies_have_a_panel_of_their_own() -> None:
    plot = show_training()
    plot.add(loss=1, accuracy=0.5, val_loss=2, val_acc=0.4)
    panels = plot.view.options["panels"]
    assert panels == [{"name": "loss", "series": [0, 2]}, {"name": "accuracy", "series": [1, 3]}]
    perplexed = show_training()
    perplexed.add(loss=1, perplexity=3)
    assert perplexed.view.options["panels"] == [{"name": "loss, perplexity", "series": [0, 1]}]


def test_the_text_says_how_far_it_came_and_what_was_best() -> None:
    told = "training, after 20 of 50 steps; loss from 1 to 0.05, lowest 0.05 at step 20; "
    told += "accuracy from 0.05 to 1, highest 1 at step 20."
    assert trained(20, total=50).view.picture.alt == told
    assert "after 20 steps;" in trained(20, total=20).view.picture.alt


# --- without a kernel --------------------------------------------------------------------


def test_without_a_kernel_only_the_last_picture_is_shown() -> None:
    with capture_output() as captured:
        with show_training(total=5) as plot:
            for _ in range(5):
                plot.add(loss=1)
        plot.close()
    (figure,) = captured.outputs
    assert "after 5 steps" in figure.data["text/html"]


def test_without_a_kernel_a_step_costs_nothing_but_its_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plot = trained(1)
    for dear in ("_send_update", "_figure", "_arrays", "_options", "show"):
        monkeypatch.setattr(plot, dear, None)
    plot.add(loss=1, accuracy=1)


def test_a_loop_that_breaks_leaves_its_picture() -> None:
    def stopped() -> None:
        with show_training(total=5) as plot:
            plot.add(loss=1)
            raise KeyboardInterrupt

    with capture_output() as captured, pytest.raises(KeyboardInterrupt):
        stopped()
    assert "after 1 of 5 steps" in captured.outputs[0].data["text/html"]


def test_a_loop_without_steps_leaves_nothing() -> None:
    with capture_output() as captured, show_training():
        pass
    assert captured.outputs == []


# --- with a kernel -----------------------------------------------------------------------


def test_with_a_kernel_the_place_of_the_picture_comes_first(kernel: Any) -> None:
    with capture_output() as captured:
        show_training(total=5).show()
    figure, live = captured.outputs
    assert figure.data["text/html"].startswith('<div data-picture="training-')
    assert LIVE in live.data


def test_at_most_ten_updates_a_second_are_sent(
    kernel: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    plot = show_training(total=1000)
    with capture_output():
        plot.show()
    updates = []
    monkeypatch.setattr(plot, "_send", lambda options, data: updates.append(options["steps"]))
    for _ in range(1000):
        kernel.now += 0.002
        plot.add(loss=1)
    assert 18 <= len(updates) <= 21
    assert updates == sorted(set(updates))


def test_an_update_is_one_message_and_keeps_the_picture_named(
    kernel: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    plot = show_training(total=5)
    with capture_output():
        plot.show()
    name = plot._live.options["picture"]
    told = []
    monkeypatch.setattr(plot._live, "send_state", lambda key: told.append(set(key)))
    plot.add(loss=1)
    assert told == [{"options", "data"}]
    assert plot._live.options["picture"] == name
    assert plot._live.options["names"] == ["loss"]


@pytest.mark.parametrize("way", ["close", "end of the cell"])
def test_at_the_end_the_live_view_hides_the_picture_that_takes_its_place(
    kernel: Any, shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    plot = show_training(total=5)
    replaced = []

    def update(bundle: dict[str, str], raw: bool, display_id: str) -> None:
        replaced.append((bundle["text/html"], display_id, plot._live.options["picture"]))

    monkeypatch.setattr(training, "update_display", update)
    with capture_output():
        plot.show()
        plot.add(loss=2)
        plot.add(loss=1)  # the clock stands still: not told yet
        kernel.end_cell() if way == "end of the cell" else plot.close()
    ((markup, place, hidden),) = replaced
    assert f'data-picture="{hidden}"' in markup
    assert "after 2 of 5 steps" in markup
    assert place == plot._display_id
    assert plot._live.options["steps"] == 2
    plot.close()
    kernel.end_cell()
    assert len(replaced) == 1, "nothing new, nothing to replace"
    assert kernel.events.callbacks["post_run_cell"] == []


def test_what_is_added_in_a_later_cell_is_left_too(
    kernel: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    replaced = []
    monkeypatch.setattr(training, "update_display", lambda bundle, **_: replaced.append(bundle))
    with capture_output():
        plot = show_training()
        plot.show()
        kernel.end_cell()
        assert replaced == []
        for _ in range(2):
            plot.add(loss=1)
            kernel.end_cell()
        plot.close()
        plot.add(loss=1)
        kernel.end_cell()
    assert ["after 3 steps" in bundle["text/html"] for bundle in replaced] == [False, False, True]


def test_in_a_notebook_that_nobody_watches_the_picture_stays(tmp_path: Any) -> None:
    """With a real kernel: the loop breaks, nobody closes, and the picture is there."""
    loop = """
    from transformer_course.widgets import show_training
    plot = show_training(total=9)
    plot.show()
    for step in range(9):
        plot.add(loss=1)
        if step == 4:
            raise KeyboardInterrupt
    """
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell("if True:\n" + loop)],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )
    done = NotebookClient(notebook, allow_errors=True, timeout=60).execute(cwd=str(tmp_path))
    figure, live, error = done.cells[0].outputs
    assert "after 5 of 9 steps" in figure.data["text/html"]
    assert LIVE in live.data
    assert error.ename == "KeyboardInterrupt"
