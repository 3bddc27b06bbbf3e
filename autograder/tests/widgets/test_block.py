"""What is special to `show_block`: the diagram of what the code does, what a change reaches."""

import re

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from transformer_course.checks import numbers
from transformer_course.widgets import show_block
from transformer_course.widgets.view import View

X = numbers(4, 6, seed=3)
PRE = [("x", []), ("norm1", [0]), ("attention", [1]), ("+", [0, 2])]
PRE += [("norm2", [3]), ("feed-forward", [4]), ("+", [3, 5])]
POST = [("x", []), ("attention", [0]), ("+", [0, 1]), ("norm1", [2])]
POST += [("feed-forward", [3]), ("+", [3, 4]), ("norm2", [5])]


class Block(nn.Module):
    """Pre-norm, with dropout; subclasses change the way of the data."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(6, 2, batch_first=True)
        self.linear1, self.linear2 = nn.Linear(6, 6), nn.Linear(6, 6)  # widths tell nothing
        self.norm1, self.norm2 = nn.LayerNorm(6), nn.LayerNorm(6)
        self.dropout = nn.Dropout(0.5)

    def attend(self, x: Tensor) -> Tensor:
        return self.dropout(self.attention(query=x, key=x, value=x)[0])

    def feed_forward(self, x: Tensor) -> Tensor:
        return self.dropout(self.linear2(self.dropout(torch.relu(self.linear1(x)))))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attend(self.norm1(x))
        return x + self.feed_forward(self.norm2(x))


class PostNorm(Block):
    def forward(self, x: Tensor) -> Tensor:
        x = self.norm1(x + self.attend(x))
        return self.norm2(x + self.feed_forward(x))


class NormedStream(Block):
    def forward(self, x: Tensor) -> Tensor:
        x = self.norm1(x)
        x = x + self.attend(x)
        return x + self.feed_forward(self.norm2(x))


class Parallel(Block):
    def forward(self, x: Tensor) -> Tensor:
        return x + self.attend(self.norm1(x)) + self.feed_forward(self.norm2(x))


class Halved(Block):
    def forward(self, x: Tensor) -> Tensor:
        x = 0.5 * x + self.attend(self.norm1(x))
        return x + self.feed_forward(self.norm2(x))


def shown(kind: type[Block]) -> View:
    torch.manual_seed(0)
    return show_block(kind(), X, ["a", "b", "c", "d"])


def nodes(kind: type[Block]) -> list[tuple[str, list[int]]]:
    return [(node["name"], list(node["reads"])) for node in shown(kind).options["nodes"]]


def branch(kind: type[Block]) -> list[str]:
    return [node["name"] for node in shown(kind).options["nodes"] if not node["on_stream"]]


def values(view: View) -> np.ndarray:
    """(part switched off, token negated, node, token, feature)."""
    (about,) = view.options["arrays"]
    return np.frombuffer(view.data, np.float32).reshape(about["shape"])


def test_the_diagram_is_of_the_code() -> None:
    assert nodes(Block) == PRE
    assert branch(Block) == ["norm1", "attention", "norm2", "feed-forward"]
    assert nodes(PostNorm) == POST
    assert branch(PostNorm) == ["attention", "feed-forward"]


def test_a_norm_on_the_stream_is_drawn_there() -> None:
    assert nodes(NormedStream)[3] == ("+", [1, 2])
    assert branch(NormedStream) == ["attention", "norm2", "feed-forward"]


def test_a_sum_may_have_three_parts() -> None:
    assert nodes(Parallel)[-1] == ("+", [0, 2, 4])


def test_what_no_part_gave_is_read_from_nowhere() -> None:
    names = dict(nodes(Halved))
    assert names["norm2"] == names["output"] == []
    assert "norm2 reads something that no part gave" in shown(Halved).picture.alt


def test_a_feed_forward_network_may_be_a_part() -> None:
    class Own(Block):
        def __init__(self) -> None:
            super().__init__()
            self.network = nn.Sequential(nn.Linear(6, 9), nn.ReLU(), nn.Linear(9, 6))

        def feed_forward(self, x: Tensor) -> Tensor:
            return self.network(x)

    renamed = [
        ("network", reads) if name == "feed-forward" else (name, reads) for name, reads in PRE
    ]
    assert nodes(Own) == renamed


def test_only_attention_carries_a_change_to_other_tokens() -> None:
    computed = values(shown(Block))
    changed = np.abs(computed[0, 2] - computed[0, 0]).max(-1) > 1e-6  # token 1 negated
    only = [False, True, False, False]
    assert changed[:2].tolist() == [only, only]  # x, norm1
    assert changed[2:].all()
    without = np.abs(computed[2, 2] - computed[2, 0]).max(-1) > 1e-6
    assert without[[0, 1, 3, 4, 5, 6]].tolist() == [only] * 6
    assert not without[2].any()


def test_parts_switched_off_give_nothing_but_norms_pass_on() -> None:
    view = shown(Block)
    assert view.options["off"] == ["nothing", "norm1", "attention", "norm2", "feed-forward"]
    computed = values(view)[:, 0]
    assert (computed[1, 1] == computed[1, 0]).all()
    assert not computed[2, 2].any()
    assert (computed[2, 3] == computed[2, 0]).all()
    assert (computed[4, 6] == computed[4, 3]).all()


def test_the_last_place_holds_what_the_block_gives() -> None:
    torch.manual_seed(0)
    block = PostNorm()
    expected = block.eval()(X[None].float())[0].detach().numpy()
    for training in (True, False):
        block.train(training)
        np.testing.assert_allclose(values(show_block(block, X))[0, 0, -1], expected, atol=1e-5)
        assert block.training == training
    assert not any(part._forward_hooks for part in block.modules())


REFUSED = {
    "block must be an nn.Module; got function": lambda: show_block(lambda x: x, X),  # type: ignore[arg-type]
    "x must be 2 to 8 tokens of at most 32 features; got (9, 6)": (
        lambda: show_block(Block(), numbers(9, 6))
    ),
    "x must be 2 to 8 tokens of at most 32 features; got (4, 33)": (
        lambda: show_block(Block(), numbers(4, 33))
    ),
    "words must be 4 names, one for each; got 1": lambda: show_block(Block(), X, ["a"]),
    "block must give (1, 4, 6), as x; got (1, 4, 2)": lambda: show_block(nn.Linear(6, 2), X),
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_cannot_be_shown_is_refused(said) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        REFUSED[said]()


def test_a_stub_is_told_in_one_line() -> None:
    class Stub(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            raise NotImplementedError

    with pytest.raises(NotImplementedError) as caught:
        show_block(Stub(), X)
    (line,) = caught.value._render_traceback_()  # type: ignore[attr-defined]
    assert "`forward` is still a stub" in line
