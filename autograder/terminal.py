"""How commands are declared, and how they speak to the terminal."""

import argparse
import textwrap
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

Commands = argparse._SubParsersAction
console = Console(highlight=False)
# plain words: a path stays one line, which can be copied, and [brackets] are brackets
say = partial(console.print, soft_wrap=True, markup=False)


def command(
    commands: Commands,
    name: str,
    brief: str,
    run: Callable[[argparse.Namespace], int],
    details: str,
) -> argparse.ArgumentParser:
    """Add a command that takes lessons."""
    added = commands.add_parser(
        name,
        help=brief,
        description=f"{brief[0].upper()}{brief[1:]}.\n\n{textwrap.dedent(details)}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    added.add_argument("lessons", nargs="*", metavar="LESSON", help="01 or a name; none means all")
    added.set_defaults(run=run)
    return added


def progress() -> Progress:
    """A bar that says how far, and how long still."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def as_table(title: str, heading: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A table whose first column is never cut."""
    table = Table(title=title, title_justify="left")
    for number, name in enumerate(heading):
        table.add_column(name, no_wrap=number == 0)
    for row in rows:
        table.add_row(*row)
    return table
