"""The layout of the course map: what stands in a layer stands apart, and arrows cross little."""

import random
from itertools import pairwise

import pytest

from autograder.site.layers import GAP, layout


@pytest.mark.parametrize("seed", range(8))
def test_layers_keep_what_stands_in_them_apart(seed: int) -> None:
    draw = random.Random(seed)
    needs = {n: sorted(draw.sample(range(n), min(n, draw.randrange(3)))) for n in range(18)}
    laid = layout(needs)
    places: list[dict[float, float]] = [{} for _ in range(laid.layers)]
    for column, layer in laid.places.values():
        places[layer][column] = 1
    for (first, last), way in laid.arrows.items():
        assert (way[0], way[-1]) == (laid.places[first], laid.places[last])
        layers = [layer for _, layer in way]
        assert layers == [*range(layers[0], layers[-1] + 1)]
        for column, layer in way[1:-1]:
            places[layer][column] = GAP
    for sizes in places:
        for (one, size), (other, beside) in pairwise(sorted(sizes.items())):
            assert other - one >= (size + beside) / 2 - 1e-9
        edges = [(column - size / 2, column + size / 2) for column, size in sizes.items()]
        assert min(left for left, _ in edges) >= -1e-9
        assert max(right for _, right in edges) <= laid.columns + 1e-9
    counted = sum(map(len, places))
    assert counted == len(needs) + sum(len(way) - 2 for way in laid.arrows.values())


def test_exchanges_leave_no_crossing_where_there_needs_to_be_none() -> None:
    laid = layout({1: [], 2: [], 3: [2], 4: [1], 5: [4], 6: [3]})
    for layer in (1, 2):
        steps = [way for way in laid.arrows.values() if way[-1][1] == layer]
        ends = [way[-1] for way in sorted(steps)]
        assert ends == sorted(ends)
