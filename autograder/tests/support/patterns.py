"""Find every regular expression of the grader and of the kit, and run them with a limit.

`python -m autograder.tests.support.patterns patterns FIRST` runs the `FIRST`th and all after it,
each on a megabyte of the text on which it is slowest (slowest.py), and tells before which it runs.
Each may compute for `BUDGET` seconds; one that takes more ends the process. So it does for
`libraries`.
"""

import ast
import importlib
import math
import re
import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.tests.support.slowest import LIBRARIES, TABLE, Worst

ROOT = Path(__file__).parents[3]
ROOMS = ("autograder", "assets/transformer_course")
NOT_SHIPPED = ("autograder/tests/", "autograder/answers/")
FUNCTIONS = {"search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn"}
SIZE = 1_000_000  # characters
# seconds: what is linear takes some hundredths of one, what is quadratic minutes to hours
BUDGET = 20


# --- the patterns that there are ---------------------------------------------------------------


@dataclass(frozen=True)
class Found:
    """A regular expression in the source."""

    file: str
    line: int
    text: str  # the pattern, or the code that makes it
    flags: int
    methods: tuple[str, ...]  # by which it is used, as far as that is known


def found() -> list[Found]:
    """All of them, in the order of files and lines."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in _sources()}
    methods: dict[str, set[str]] = {}
    for tree in trees.values():
        for name, method in _used(tree):
            methods.setdefault(name, set()).add(method)
    return [one for path, tree in trees.items() for one in _in_tree(path, tree, methods)]


def _sources() -> list[Path]:
    paths = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
    return [p for p in paths if not p.relative_to(ROOT).as_posix().startswith(NOT_SHIPPED)]


def _used(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """By which methods names are used: `ADDRESS.fullmatch(…)`, `late.ADDRESS.fullmatch(…)`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in FUNCTIONS:
            yield ast.unparse(node.value).rpartition(".")[2], node.attr


def _in_tree(path: Path, tree: ast.AST, used: dict[str, set[str]]) -> Iterator[Found]:
    names = {id(value): name for name, value in _assigned(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom | ast.Import) and "re" in _renamed(node):
            raise ValueError(f"{path}: write `import re`, so that its patterns can be found here")
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("re."):
            function = ast.unparse(node.func).removeprefix("re.")
            if function in FUNCTIONS | {"compile"}:
                methods = {function} - {"compile"} or used.get(names.get(id(node), "no name"))
                yield Found(
                    path.relative_to(ROOT).as_posix(),
                    node.lineno,
                    _text(node.args[0]),
                    _flags(node),
                    tuple(sorted(methods or {"finditer", "fullmatch"})),
                )


def _renamed(node: ast.ImportFrom | ast.Import) -> set[str]:
    """The modules of which an import makes names that do not say so."""
    if isinstance(node, ast.ImportFrom):
        return {node.module or ""}
    return {alias.name for alias in node.names if alias.asname}


def _assigned(tree: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                pairs = [(target, node.value)]
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = [*zip(target.elts, node.value.elts, strict=True)]
                yield from ((ast.unparse(name), value) for name, value in pairs)


def _text(pattern: ast.expr) -> str:
    value = pattern.value if isinstance(pattern, ast.Constant) else ast.unparse(pattern)
    return value.decode() if isinstance(value, bytes) else str(value)


def _flags(call: ast.Call) -> int:
    told = [*call.args[1:], *(keyword.value for keyword in call.keywords)]
    nodes = (node for each in told for node in ast.walk(each))
    names = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return sum(getattr(re, name) for name in names if name in re.RegexFlag.__members__)


# --- run ---------------------------------------------------------------------------------------

Task = tuple[str, Callable[[], object]]  # its name, and what it does


def patterns() -> list[Task]:
    """Each pattern that reads what others wrote, on its text, as it is used."""
    tasks = []
    for one in found():
        worst = TABLE.get(one.file, {}).get(one.text)
        if isinstance(worst, Worst):
            tasks += [(f"{one.file}:{one.line} {m}", _run(one, worst, m)) for m in one.methods]
    return tasks


def _run(one: Found, worst: Worst, method: str) -> Callable[[], object]:
    def run() -> None:
        pattern, text = re.compile(worst.instead or one.text, one.flags), worst.text(SIZE)
        if method in ("search", "match", "fullmatch"):
            getattr(pattern, method)(text)
        else:
            for _ in pattern.finditer(text):  # what all others do
                pass

    return run


def libraries() -> list[Task]:
    """Each of our functions that gives such text to a library."""
    return [
        (f"{name}: {function}", lambda f=function, t=text: _function(f)(t(SIZE)))
        for name, (function, text) in LIBRARIES.items()
    ]


def _function(name: str) -> Callable[[str], object]:
    module, _, function = name.rpartition(".")
    return getattr(importlib.import_module(module), function)


def main(kind: str, first: str) -> None:
    """Run these tasks from the `first` on."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    for number, (name, task) in enumerate({"patterns": patterns, "libraries": libraries}[kind]()):
        if number >= int(first):
            print(number, name, flush=True)
            limit = math.ceil(time.process_time()) + BUDGET
            resource.setrlimit(resource.RLIMIT_CPU, (limit, most))
            task()


if __name__ == "__main__":
    main(*sys.argv[1:])
