"""`python -m autograder`: see `autograder.commands.cli`."""

from autograder.commands.cli import main

main()
