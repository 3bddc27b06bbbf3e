"""Printing to the terminal, and the lessons that commands take."""

import argparse
import contextlib
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any
from unicodedata import category

from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from autograder.gradebook.result import Finished


def printable(text: str) -> str:
    """Escape unprintable characters, as `\\x1b` or `\\u202e`.

    Names of files and folders are untrusted: control sequences in them could move the cursor,
    overwrite the screen, or trigger functions of the terminal.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or category(char) == "Zs" else _escaped(char) for char in text
    )


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode()


class PrintableConsole(Console):
    """A console that escapes control characters in everything it prints."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Escape strings before they are measured."""
        return super().render_str(printable(text), **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """Escape everything else, such as progress bars and `Text` objects."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                lines = "\n".join(map(printable, segment.text.split("\n")))
                yield Segment(lines, segment.style)


console = PrintableConsole(highlight=False, emoji=False)
# no wrapping, so that paths can be copied, and no markup, so that [brackets] are literal
say = partial(console.print, soft_wrap=True, markup=False)


def add_lessons(added: argparse.ArgumentParser) -> None:
    """Add the lessons that a command takes."""
    added.add_argument("lessons", nargs="*", metavar="LESSON", help="01 or a name (default: all)")


def progress(more: str = "") -> Progress:
    """A progress bar with the remaining time; `more` is a template for further fields."""
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
    """Yield a function that tells whether Ctrl-C was pressed; a second Ctrl-C raises."""
    typed = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        if typed.is_set():
            raise KeyboardInterrupt
        typed.set()
        say("finishing what runs (Ctrl-C again: give it up)")

    try:
        before = signal.signal(signal.SIGINT, stop)
    except ValueError:  # signals can only be handled in the main thread
        yield typed.is_set
        return
    try:
        yield typed.is_set
    finally:
        signal.signal(signal.SIGINT, before)


def as_table(title: str, heading: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A table whose first column is never truncated; [brackets] are literal."""
    table = Table(title=escape(title), title_justify="left")
    for number, name in enumerate(heading):
        table.add_column(name, no_wrap=number == 0)
    for row in rows:
        table.add_row(*map(escape, row))
    return table


def counted(kinds: Counter[str]) -> str:
    """Format counts, the most frequent first: `3 graded, 1 missing`."""
    return ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())


def followed(name: str, total: int, results: "Iterable[Finished]") -> "Iterator[Finished]":
    """Yield results as they arrive, with a progress bar that counts their states."""
    kinds: Counter[str] = Counter()
    with progress("{task.fields[kinds]}") as bar:
        line = bar.add_task(name, total=total, kinds="starting")
        for result in results:
            kinds[result.state] += 1
            bar.update(line, advance=1, kinds=counted(kinds))
            yield result
