"""The `new` command: begin a lesson."""

import argparse

from autograder import paths
from autograder.authoring.new import new_lesson
from autograder.commands.terminal import say

DETAILS = """\
    Writes a small lesson that is complete, to be rewritten part by part:
      solutions/NN_NAME.py            title, picture, exercise, check, written answer
      autograder/answers/NN_NAME.py   a wrong and a right answer to the exercise
    NN_NAME is then a LESSON to every other command, and builds and proves at once."""


def add_options(added: argparse.ArgumentParser) -> None:
    """Declare its options."""
    added.add_argument("number", metavar="NN", help="the lesson's number, two digits: 09")
    added.add_argument("name", metavar="NAME", help="the lesson's name: layer_norm")
    added.add_argument("--title", default="", help="its title; without it, the name in words")


def run(options: argparse.Namespace) -> int:
    """Write the lesson and its answer bank."""
    for file in new_lesson(options.course, options.number, options.name, options.title):
        say(f"wrote {paths.display_path(file)}")
    lesson = options.number
    say(f"next: `python -m autograder build {lesson}` and `python -m autograder prove {lesson}`")
    return 0
