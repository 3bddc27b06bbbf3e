"""Who imports whom, read from the source: imports inside functions and for type checkers too."""

import ast
import importlib.util
from collections.abc import Iterator, Mapping
from pathlib import Path

Graph = dict[str, set[str]]


def imported(file: Path, root: Path) -> Iterator[str]:
    """The full names of what a file imports; `root` is the folder that imports start from."""
    package = ".".join(file.relative_to(root).parent.parts)
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            relative = "." * node.level + (node.module or "")
            module = importlib.util.resolve_name(relative, package)
            yield from (f"{module}.{alias.name}" for alias in node.names)


def module_graph(files: Mapping[Path, Path]) -> Graph:
    """Each module of these files, and the others of them that it imports.

    The mapping names, for each file, the folder that imports start from.
    """
    modules = {_module(file, root): (file, root) for file, root in files.items()}
    return {
        module: {_known(name, modules) for name in imported(file, root)} - {"", module}
        for module, (file, root) in modules.items()
    }


def _module(file: Path, root: Path) -> str:
    return ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def _known(name: str, modules: Mapping[str, object]) -> str:
    """The module that `name` is, or is defined in; empty for one that is not of these."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name
