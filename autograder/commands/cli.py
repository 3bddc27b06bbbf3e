"""The command line: `python -m autograder COMMAND`."""

import argparse
import sys
import textwrap
from importlib import import_module
from typing import NoReturn

from autograder.commands.terminal import printable
from autograder.errors import CourseError
from autograder.paths import CONTAINER, COURSE, Course, display_path

# command -> what it does; the module `NAME_command` has its DETAILS, add_options and run
COMMANDS = {
    "new": "begin a lesson",
    "build": "make the notebooks of lessons",
    "prove": "prove checks against the answers bank",
    "release": "prepare lessons for grading",
    "collect": "sort downloaded submissions into the classroom",
    "grade": "grade what students handed in",
    "feedback": "write feedback for students",
    "export": "write the grades as CSV",
    "gradescope": "write an autograder for Gradescope",
    "similar": "list pairs of similar submissions",
    "sample": "create a class to try grading",
    "site": "make the static site",
}


def main(arguments: list[str] | None = None, course: Course = COURSE) -> None:
    """Run one command on a course; what a person can fix ends it in a clear line or two."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        chosen = parser(*arguments[:1])
        options = chosen.parse_args(arguments, argparse.Namespace(course=course))
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


def parser(chosen: str = "") -> argparse.ArgumentParser:
    """The command line; only the chosen command is imported, so that `--help` is fast."""
    top = argparse.ArgumentParser(
        prog="python -m autograder",
        description="Build, prove and grade the lessons.",
        formatter_class=_Help,
        epilog=textwrap.dedent("""\
            authors:      new, build, prove, site
            instructors:  release, collect, grade, similar, feedback, export, gradescope
                          (and sample, for a class to try them on)

            LESSON is a number (01) or a name (01_dot_product_attention); none means all.
            `python -m autograder COMMAND --help` says more about each."""),
    )
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, brief in COMMANDS.items():
        added = commands.add_parser(name, help=brief, formatter_class=top.formatter_class)
        if name == chosen:
            command = import_module(f"autograder.commands.{name}_command")
            title = f"{brief[0].upper()}{brief[1:]}."
            added.description = f"{title}\n\n{textwrap.dedent(command.DETAILS)}"
            command.add_options(added)
            added.set_defaults(run=command.run)
    return top
