"""In which order cells are to run.

The order of the file, as Run All has it: that is what the student saw. But where a cell stands
before what it needs, Run All can never have passed, and the lesson's order holds.
"""

import re
from collections.abc import Sequence

from autograder.intake.matching import Matching, defines
from autograder.intake.released import ReleasedCell


def in_order(matching: Matching) -> tuple[list[int], str]:
    """The positions of all cells in the order in which they are to run, and what was wrong."""
    present = [cell for cell in matching.released.cells if cell.name in matching.of]
    early = (c for rank, c in enumerate(present) if _is_early(c, present[:rank], matching))
    first = next(early, None)
    if first is None:
        return [*range(len(matching.cells))], ""
    moved = "all cells were put into the lesson's order"
    return _by_lesson(present, matching), f"`{first.name}` came before what it needs: {moved}"


def _is_early(cell: ReleasedCell, before: Sequence[ReleasedCell], matching: Matching) -> bool:
    """Whether it comes before a cell that it needs; `before`: what the lesson has before it."""
    at = matching.of[cell.name]
    later = [other for other in before if matching.of[other.name] > at]
    if cell.cell_type != "code" or not later:
        return False
    source = cell.source if cell.locked else matching.cells[at].source
    return any(
        other.given
        or (
            other.exercise
            and re.search(rf"\b{other.exercise}\b", source)
            and not any(defines(other.exercise, cell) for cell in matching.cells[:at])
        )
        for other in later
    )


def _by_lesson(present: Sequence[ReleasedCell], matching: Matching) -> list[int]:
    """The lesson's cells as the lesson has them, each behind the student's own before it.

    So a helper function keeps its order relative to the rest, but comes after what is given.
    """
    ranks = {matching.of[cell.name]: rank for rank, cell in enumerate(present)}
    given = {matching.of[cell.name] for cell in present if cell.given}
    order: list[tuple[float, int, int]] = []
    follows = float("inf")  # the lesson's first exercise or check of all that follow
    for at in reversed(range(len(matching.cells))):
        if at in ranks and at not in given:
            follows = min(follows, ranks[at])
        order.append((ranks[at], 1, at) if at in ranks else (follows, 0, at))
    return [at for _, _, at in sorted(order)]
