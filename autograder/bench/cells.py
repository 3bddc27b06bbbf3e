"""`python -m autograder.bench.cells MODULE …`: what executed notebooks' cells cost by themselves.

Reads paths from standard input; prints the CPU seconds that all their code cells take in forks of
one warm process, with neither a sandbox nor a channel: what no grader can do without.
"""

import os
import resource
import sys

import nbformat
import torch

from autograder.execution.isolation.fork_server import warm_up
from autograder.execution.isolation.shell import Shell


def main() -> None:
    """Fork for each notebook, and add up."""
    torch.set_num_threads(1)
    shell = Shell.warm()
    warm_up(sys.argv[1:])
    for path in sys.stdin.read().split("\n"):
        cells = nbformat.read(path, as_version=4).cells
        child = os.fork()
        if child == 0:
            for cell in cells:
                if cell.cell_type == "code":
                    shell.run(cell.source)
            os._exit(0)
        os.waitpid(child, 0)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(used.ru_utime + used.ru_stime)


if __name__ == "__main__":
    main()
