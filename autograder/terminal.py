"""How commands are declared, and how they speak to the terminal."""

import argparse
import textwrap
from collections.abc import Callable

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

Commands = argparse._SubParsersAction
console = Console(highlight=False)


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
    )
