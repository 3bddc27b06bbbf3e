"""What `prove` found, as tables: printed for the author, kept as a page for instructors."""

from collections.abc import Iterable, Sequence

from rich.table import Table

from autograder.prove import Verdict

Row = Sequence[str]


def misses(verdicts: Iterable[Verdict]) -> list[str]:
    """One line for each answer that was judged unjustly."""
    return [
        f"{v.answer.exercise} {v.answer.name}: "
        + (
            f"right, but loses {v.points - v.kept:g} of {v.points:g} points\n{_failure(v)}"
            if v.answer.right
            else f"wrong, but keeps all {v.points:g} points"
        )
        for v in verdicts
        if not v.just
    ]


def summary(verdicts: Sequence[Verdict]) -> tuple[Row, list[Row]]:
    """Heading and rows: one row for each exercise, and one for all of them."""
    heading = ("exercise", "points", "wrong rejected", "seen", "named", "right accepted", "spill")
    exercises = list(dict.fromkeys(verdict.answer.exercise for verdict in verdicts))
    rows = [_counts(name, [v for v in verdicts if v.answer.exercise == name]) for name in exercises]
    return heading, [*rows, _counts("all", verdicts)]


def details(verdicts: Iterable[Verdict]) -> tuple[Row, list[Row]]:
    """Heading and rows: what becomes of each wrong answer, and what its student is told."""
    heading = ("exercise", "wrong answer", "caught by", "the student is told")
    rows = []
    for verdict in verdicts:
        if not verdict.answer.right:
            seen = "visible check" if verdict.visible else "hidden test"
            told = verdict.answer.says if verdict.named else _first_line(verdict)
            caught = seen if verdict.just else "nothing"
            rows.append((verdict.answer.exercise, verdict.answer.name, caught, told))
    return heading, rows


def as_table(title: str, heading: Row, rows: Iterable[Row]) -> Table:
    """For the terminal."""
    table = Table(title=title, title_justify="left")
    for name in heading:
        table.add_column(name)
    for row in rows:
        table.add_row(*row)
    return table


def as_markdown(heading: Row, rows: Iterable[Row]) -> str:
    """For a page."""
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in r)} |" for r in lines
    )


def _counts(name: str, verdicts: Sequence[Verdict]) -> Row:
    wrong = [v for v in verdicts if not v.answer.right]
    right = [v for v in verdicts if v.answer.right]
    points = {v.answer.exercise: v.points for v in verdicts}
    spill = sum(v.spilled for v in wrong) / max(len(wrong), 1)
    return (
        name,
        f"{sum(points.values()):g}",
        f"{sum(v.just for v in wrong)} of {len(wrong)}",
        f"{sum(v.visible is not None for v in wrong)}",
        f"{sum(v.named for v in wrong)}",
        f"{sum(v.just for v in right)} of {len(right)}",
        f"{spill:.1f}",
    )


def _failure(verdict: Verdict) -> str:
    failed = verdict.visible or verdict.hidden
    return failed.message if failed else ""


def _first_line(verdict: Verdict) -> str:
    failed = verdict.visible
    return failed.message.split("\n")[0].partition(": ✗ ")[2] if failed else "(nothing)"
