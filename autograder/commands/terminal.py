"""How commands are declared, and how they speak to the terminal."""

import argparse
import contextlib
import signal
import textwrap
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any
from unicodedata import category

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from autograder.gradebook.submission import Finished

Commands = argparse._SubParsersAction


def printable(text: str) -> str:
    """A text whose characters all show: others stand there as `\\x1b` or `\\u202e`.

    Strangers choose the names of files and folders: codes in them could move the cursor, change
    what stands on the screen, or run what a terminal offers to programs.
    """
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() or category(sign) == "Zs" else _escaped(sign) for sign in text
    )


def _escaped(sign: str) -> str:
    return sign.encode("unicode_escape").decode()


class PrintableConsole(Console):
    """A console on which only its own codes work; what it is given as text is one line."""

    def render_str(self, text: str, **how: Any) -> Text:
        """A text, before anything is measured."""
        return super().render_str(printable(text), **how)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """Everything else: bars, and what was made a `Text` elsewhere."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                lines = "\n".join(map(printable, segment.text.split("\n")))
                yield Segment(lines, segment.style)


console = PrintableConsole(highlight=False, emoji=False)
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
    added = declare(commands, name, brief, run, details)
    added.add_argument("lessons", nargs="*", metavar="LESSON", help="01 or a name; none means all")
    return added


def declare(
    commands: Commands,
    name: str,
    brief: str,
    run: Callable[[argparse.Namespace], int],
    details: str,
) -> argparse.ArgumentParser:
    """Add a command."""
    added = commands.add_parser(
        name,
        help=brief,
        description=f"{brief[0].upper()}{brief[1:]}.\n\n{textwrap.dedent(details)}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    added.set_defaults(run=run)
    return added


def progress(more: str = "") -> Progress:
    """A bar that says how far, and how long still; `more` may show a task's own fields."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn(more),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


@contextlib.contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C was typed: once, what runs is to be finished; twice, `KeyboardInterrupt`."""
    typed = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        if typed.is_set():
            raise KeyboardInterrupt
        typed.set()
        say("finishing what runs (Ctrl-C again: give it up)")

    try:
        before = signal.signal(signal.SIGINT, stop)
    except ValueError:  # only a process's main thread has signals
        yield typed.is_set
        return
    try:
        yield typed.is_set
    finally:
        signal.signal(signal.SIGINT, before)


def as_table(title: str, heading: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A table whose first column is never cut."""
    table = Table(title=title, title_justify="left")
    for number, name in enumerate(heading):
        table.add_column(name, no_wrap=number == 0)
    for row in rows:
        table.add_row(*row)
    return table


def counted(kinds: Counter[str]) -> str:
    """How many there are of each kind, the most frequent first."""
    return ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())


def followed(name: str, total: int, results: "Iterable[Finished]") -> "Iterator[Finished]":
    """Results as they come, with a bar that counts their states."""
    kinds: Counter[str] = Counter()
    with progress("{task.fields[kinds]}") as bar:
        line = bar.add_task(name, total=total, kinds="starting")
        for result in results:
            kinds[result.state] += 1
            bar.update(line, advance=1, kinds=counted(kinds))
            yield result
