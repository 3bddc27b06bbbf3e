"""`python -m autograder.bench.cells MODULE …`: the CPU time of notebooks' cells alone.

Reads paths from standard input, and prints the CPU seconds that their code cells take in forks of
one warm process, without sandbox and channel: the lower bound for every grader.
"""

import os
import resource
import sys

import nbformat
import torch

from autograder.execution.isolation.fork_server import warm_up
from autograder.execution.isolation.shell import Shell


def main() -> None:
    """Fork for each notebook, and print the total."""
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
