"""The `build` command: make the notebooks of lessons."""

import argparse

from rich.text import Text

from autograder import paths
from autograder.authoring import glossary, reference
from autograder.authoring.build import BuildFailed, build
from autograder.authoring.lesson import find_lessons
from autograder.commands.terminal import add_lessons, console, say

DETAILS = """\
    solutions/NN_name.py is read, and from it are made
      notebooks/NN_name.ipynb   the student's version
      solutions/NN_name.ipynb   the solved lesson, executed
      the kit's list of checks  for the view of a student's progress
      the kit's misconceptions  from autograder/answers/NN_name.py
    and from all lessons, whichever are named,
      notebooks/GLOSSARY.md     from the terms that they introduce in bold
      autograder/CHECKS.md      what a check may call, from the kit's docstrings
    Only what is out of date is made again; files that do not change are not touched."""


def add_options(added: argparse.ArgumentParser) -> None:
    """Declare its options."""
    add_lessons(added)
    added.add_argument(
        "--no-execute", action="store_true", help="only the student's notebook: in seconds"
    )


def run(options: argparse.Namespace) -> int:
    """Build the lessons; 1 where a solution does not run."""
    for path in find_lessons(options.lessons, options.course):
        with console.status(path.stem) as status:
            try:
                changed = build(
                    path,
                    execute=not options.no_execute,
                    told=lambda step, name=path.stem: status.update(f"{name}: {step}"),
                )
            except BuildFailed as failure:
                say(f"{path.stem}: the solution does not run")
                console.print(Text.from_ansi(str(failure)), soft_wrap=True)
                return 1
        for file in changed:
            say(f"wrote {paths.display_path(file)}")
        if not changed:
            say(f"{path.stem} is up to date")
    pages = {
        reference.PATH: reference.page(),
        glossary.path(options.course): glossary.page(options.course),
    }
    for page, text in pages.items():
        if paths.write(page, text):
            say(f"wrote {paths.display_path(page)}")
    return 0
