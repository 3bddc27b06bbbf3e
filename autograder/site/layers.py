"""Lay lessons out in layers, so that arrows lead down and pass beside the lessons between.

A lesson's layer is the longest way to it. An arrow over several layers takes a gap in each of
them: a place for no lesson.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, product
from statistics import fmean

Point = tuple[float, int]  # column, in units of a lesson's; layer, from 0
Node = int | tuple[int, int, int]  # a lesson; or the gap of an arrow (from, to) in a layer
GAP = 0.3  # the width of a gap, where a lesson's is 1
SWEEPS = 200  # down and up, in which the columns come to rest


@dataclass(frozen=True)
class Layout:
    """Where lessons stand, and through which points each arrow leads."""

    columns: float  # the width, in units of a lesson's
    layers: int
    places: dict[int, Point]
    arrows: dict[tuple[int, int], list[Point]]


def layout(needs: Mapping[int, Sequence[int]]) -> Layout:
    """Lay out lessons that need others; lesson -> earlier lessons."""
    depth: dict[int, int] = {}
    for number in sorted(needs):
        depth[number] = max((depth[need] + 1 for need in needs[number]), default=0)
    ways = {(need, number): _way(need, number, depth) for number in needs for need in needs[number]}
    edges = [step for way in ways.values() for step in pairwise(way)]
    order = _ordered(_layers(ways, depth), edges)
    columns = max(_width(layer) for layer in order)
    at = _columns(order, edges, columns)
    layer_of = {node: number for number, layer in enumerate(order) for node in layer}
    point = {node: (at[node], layer_of[node]) for node in at}
    arrows = {arrow: [point[node] for node in way] for arrow, way in ways.items()}
    return Layout(columns, len(order), {number: point[number] for number in depth}, arrows)


def _way(first: int, last: int, depth: Mapping[int, int]) -> list[Node]:
    """An arrow's lessons, with its gaps between them."""
    gaps = [(first, last, layer) for layer in range(depth[first] + 1, depth[last])]
    return [first, *gaps, last]


def _layers(
    ways: Mapping[tuple[int, int], Sequence[Node]], depth: Mapping[int, int]
) -> list[list[Node]]:
    """What stands in each layer: lessons by their number, then gaps."""
    layers: list[list[Node]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for number in sorted(depth):
        layers[depth[number]].append(number)
    for way in ways.values():
        for node in way:
            if isinstance(node, tuple):
                layers[node[2]].append(node)
    return layers


def _ordered(layers: list[list[Node]], edges: Sequence[tuple[Node, Node]]) -> list[list[Node]]:
    """The order of each layer, after all exchanges of two nodes that leave fewer crossings."""
    fewest, before = _crossings(layers, edges), -1
    while fewest != before:
        before = fewest
        for layer in layers:
            for one, other in combinations(range(len(layer)), 2):
                layer[one], layer[other] = layer[other], layer[one]
                crossings = _crossings(layers, edges)
                if crossings < fewest:
                    fewest = crossings
                else:
                    layer[one], layer[other] = layer[other], layer[one]
    return layers


def _neighbours(node: Node, edges: Sequence[tuple[Node, Node]], up: bool) -> list[Node]:
    return [a if up else b for a, b in edges if (b if up else a) == node]


def _crossings(layers: Sequence[Sequence[Node]], edges: Sequence[tuple[Node, Node]]) -> int:
    """How many pairs of arrows cross between two layers."""
    place = {n: (number, at) for number, layer in enumerate(layers) for at, n in enumerate(layer)}
    steps = [(place[a], place[b]) for a, b in edges]
    return sum(
        a[0] == c[0] and a[1] < c[1] and b[1] > d[1] for (a, b), (c, d) in product(steps, repeat=2)
    )


def _columns(
    layers: Sequence[Sequence[Node]], edges: Sequence[tuple[Node, Node]], columns: float
) -> dict[Node, float]:
    """Columns of all nodes: near their neighbours, apart from those beside them."""
    at = {node: columns / 2 for layer in layers for node in layer}
    for sweep in range(SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            near = {
                node: _neighbours(node, edges, True) + _neighbours(node, edges, False)
                for node in layer
            }
            wanted = [fmean([at[n] for n in near[node]] or [at[node]]) for node in layer]
            at |= zip(layer, _apart(layer, wanted, columns), strict=True)
    return at


def _apart(layer: Sequence[Node], wanted: Sequence[float], columns: float) -> list[float]:
    """The places nearest to the wanted ones that keep order and distance, within the columns.

    Less the distances that are needed, places only have to rise: pool neighbours that do not.
    """
    needed = [_width(layer[:at]) + _size(node) / 2 for at, node in enumerate(layer)]
    pools: list[list[float]] = []
    for place, start in zip(wanted, needed, strict=True):
        pools.append([place - start])
        while len(pools) > 1 and fmean(pools[-2]) > fmean(pools[-1]):
            last = pools.pop()
            pools[-1] += last
    free = columns - _width(layer)
    levels = [min(max(fmean(pool), 0), free) for pool in pools for _ in pool]
    return [level + start for level, start in zip(levels, needed, strict=True)]


def _size(node: Node) -> float:
    return GAP if isinstance(node, tuple) else 1


def _width(layer: Sequence[Node]) -> float:
    return sum(map(_size, layer))
