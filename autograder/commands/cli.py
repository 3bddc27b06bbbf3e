"""The command line: `python -m autograder COMMAND`."""

import argparse
import sys
import textwrap
from typing import NoReturn

from autograder.commands import author_commands, class_commands
from autograder.commands.terminal import printable
from autograder.errors import CourseError
from autograder.paths import CONTAINER, COURSE, Course, display_path


def main(arguments: list[str] | None = None, course: Course = COURSE) -> None:
    """Run one command on a course; what a person can fix ends it in a clear line or two."""
    options = parser().parse_args(arguments, argparse.Namespace(course=course))
    try:
        sys.exit(options.run(options))
    except CourseError as error:
        _stop(str(error), error.exit_code)
    except OSError as error:
        # a full disk, a folder that may not be written, a file in a folder's place
        where = error.filename2 or error.filename or ""
        _stop(f"{error.strerror or error}: {where}".rstrip(": "))
    except ModuleNotFoundError as error:
        if error.name != "resource":  # Unix has it
            raise
        container = f"the container: see {display_path(CONTAINER)}"
        _stop(f"no classes on {sys.platform}: use WSL, or {container}")
    except KeyboardInterrupt:
        _stop("interrupted", 130)  # as shells have it


def _stop(message: str, exit_code: int = 1) -> NoReturn:
    """End with a message, which may hold untrusted file names."""
    message = "\n".join(map(printable, message.split("\n")))
    if exit_code == 1:
        sys.exit(message)
    print(message, file=sys.stderr)
    sys.exit(exit_code)


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
