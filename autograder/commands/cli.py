"""The command line: `python -m autograder COMMAND`."""

import argparse
import sys
import textwrap

from autograder.authoring.lesson import AuthoringError
from autograder.commands import author_commands, class_commands
from autograder.commands.terminal import printable
from autograder.paths import CONTAINER, display_path


def main(arguments: list[str] | None = None) -> None:
    """Run one command; what a person can mend ends in a clear line or two and exit code 1."""
    options = parser().parse_args(arguments)
    try:
        _run(options)
    except SystemExit as ended:
        if isinstance(ended.code, str):
            # it may hold what strangers called their files
            ended.code = "\n".join(map(printable, ended.code.split("\n")))
        raise


def _run(options: argparse.Namespace) -> None:
    try:
        sys.exit(options.run(options))
    except AuthoringError as mistake:
        sys.exit(str(mistake))
    except OSError as error:
        # a full disk, a folder that may not be written, a file in a folder's place
        sys.exit(
            f"{error.strerror or error}: {error.filename2 or error.filename or ''}".rstrip(": ")
        )
    except ModuleNotFoundError as error:
        if error.name != "resource":  # Unix has it
            raise
        container = f"the container: see {display_path(CONTAINER)}"
        sys.exit(f"no classes on {sys.platform}: use WSL, or {container}")
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)  # as shells have it
    except Exception as error:
        if "database is locked" in str(error):
            sys.exit("another program holds the gradebook: close the formgrader, then run it again")
        if "disk is full" in str(error):  # in SQLite's words
            sys.exit("No space left on device: make room for the gradebook, then run it again")
        # not imported here: it brings torch, which most commands need not wait for
        executor = sys.modules.get("autograder.execution.executor")
        if executor and isinstance(error, executor.GraderError):
            sys.exit(str(error))
        raise


class _Help(argparse.RawDescriptionHelpFormatter):
    """Each command on one line."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog)
        # argparse forgets that commands are indented: the longest would get a line of its own
        self._action_max_length = len("    gradescope")


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = argparse.ArgumentParser(
        prog="python -m autograder",
        description="Build, prove and grade the lessons.",
        formatter_class=_Help,
        epilog=textwrap.dedent("""\
            authors:      new, build, prove
            instructors:  release, collect, grade, similar, feedback, export, gradescope
                          (and sample, for a class to try them on)

            LESSON is a number (01) or a name (01_dot_product_attention); none means all.
            `python -m autograder COMMAND --help` says more about each."""),
    )
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    author_commands.add_commands(commands)
    class_commands.add_commands(commands)
    return top
