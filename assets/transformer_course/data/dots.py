"""Generated pictures of two neighbouring dots: are they of the same colour?

A picture has two dots, one beside the other or below it, each red or blue. If windows of a fixed
size divide the picture, a pair may lie inside one window, or across the border of two.
"""

import torch
from torch import Tensor

SIDE = 8  # pixels of a side
RED, BLUE = 0, 1  # the channels


def pairs(across: bool, window_size: int, side: int = SIDE) -> Tensor:
    """List the neighbouring pixels: (pairs, 2, 2), the (row, column) of each of the two.

    `across`: those whose two pixels belong to two windows; otherwise those inside one window.
    """
    found = []
    for row in range(side):
        for column in range(side):
            for next_row, next_column in ((row, column + 1), (row + 1, column)):
                if max(next_row, next_column) == side:
                    continue
                rows, columns = (row, next_row), (column, next_column)
                same = all(one // window_size == two // window_size for one, two in (rows, columns))
                if same != across:
                    found.append([[row, column], [next_row, next_column]])
    return torch.tensor(found)


def two_dots(across: bool, window_size: int, side: int = SIDE) -> tuple[Tensor, Tensor]:
    """Make every picture there is: each pair of `pairs`, in each of four colourings.

    Returns pictures (4 · pairs, 2, side, side), whose channels are red and blue, and labels
    (4 · pairs,): 1 for dots of the same colour, 0 for two colours.
    """
    places = pairs(across, window_size, side)
    colours = torch.cartesian_prod(torch.arange(2), torch.arange(2)).repeat(len(places), 1)
    places = places.repeat_interleave(4, 0)
    pictures = torch.zeros(len(places), 2, side, side)
    which = torch.arange(len(places))
    for dot in range(2):
        pictures[which, colours[:, dot], places[:, dot, 0], places[:, dot, 1]] = 1.0
    return pictures, (colours[:, 0] == colours[:, 1]).long()
