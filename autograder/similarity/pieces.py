"""Cut code and prose into pieces, and pieces into fingerprints: what stays when names change.

Of code, layout, comments, type hints and the names a student chose are left out; what the lesson
and its libraries are called stays. An argument is known by its place, any other own name by the
order in which a statement uses it.
"""

import ast
import builtins
import keyword
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

RUN = 6  # tokens that make one fingerprint
WORDS = 4  # words that do
LONGEST = 100_000  # characters of a cell of which pieces are made
FIXES = 20  # lines that are left out of a cell until it parses
UNPARSABLE = (SyntaxError, ValueError, MemoryError, RecursionError)
# a string, so that no `#` inside one begins a comment; or a comment
STRING_OR_COMMENT = re.compile(
    r"""(?P<quotes>\"{3}|'{3})[\s\S]*?(?P=quotes)"""
    r"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
    # one that does not end is one piece, if it escapes anything: its quotes begin no others
    r"""|"(?=[^"\\\n]*\\)(?:\\.|[^"\\\n])*|'(?=[^'\\\n]*\\)(?:\\.|[^'\\\n])*"""
    r"""|#(?P<comment>[^\n]*)"""
)
# what says how a value is typed, and not what is computed
TYPING = {"annotation", "returns", "type_comment", "type_ignores", "type_params"}
BUILTINS = frozenset(dir(builtins))
BLOCKS = (ast.stmt, ast.ExceptHandler, ast.match_case)


@dataclass(frozen=True)
class Piece:
    """A statement without what stands inside its block, or a sentence of prose or of comments.

    `first` and `last` are its lines in the text, from 1.
    """

    first: int
    last: int
    tokens: tuple[str, ...]
    run: int = RUN

    @property
    def prints(self) -> set[int]:
        """Its fingerprints; the same in this process alone."""
        tokens = ("<", *self.tokens, ">")
        starts = range(max(1, len(tokens) - self.run + 1))
        return {hash(tokens[start : start + self.run]) for start in starts}


def of_prose(text: str) -> list[Piece]:
    """The lines of a written answer."""
    lines = ((n, re.findall(r"\w+", line.lower())) for n, line in enumerate(text.split("\n"), 1))
    return [Piece(n, n, tuple(words), WORDS) for n, words in lines if words]


def of_comments(source: str) -> list[Piece]:
    """What a student says of code: its comments, and strings that are no part of it."""
    pieces = []
    for match in STRING_OR_COMMENT.finditer(source[:LONGEST]):
        line = source.count("\n", 0, match.start()) + 1
        alone = not source[: match.start()].rpartition("\n")[2].strip()
        told = match["comment"] or (match["quotes"] and alone and match[0])
        if words := re.findall(r"\w+", (told or "").lower()):
            pieces.append(Piece(line, line + match[0].count("\n"), tuple(words), WORDS))
    return pieces


class Code:
    """The Python of one cell; lines that are none are taken as they stand."""

    def __init__(self, source: str) -> None:
        self._lines = source[:LONGEST].split("\n")
        self._tree, self._broken = _parsed(self._lines)
        nodes = [*ast.walk(self._tree)]
        names = [node for node in nodes if isinstance(node, ast.Name)]
        self.read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
        self._nodes = nodes
        self._variables = {name for node in nodes for name in _bound(node)}
        self._attributes = {name for node in nodes for name in _kept_in(node)}

    @property
    def statements(self) -> list[ast.stmt]:
        """Those that stand in no other."""
        return self._tree.body

    @property
    def own_names(self) -> set[str]:
        """All that is named here: variables, arguments, functions, attributes, imports."""
        return self._variables | self._attributes

    def pieces(self, kept: Iterable[str] = ()) -> list[Piece]:
        """All statements; the names in `kept` are not the student's own."""
        imported = {
            node.asname or node.name: node.name
            for node in self._nodes
            if isinstance(node, ast.alias)
        }
        own, attributes = self._variables - set(kept), self._attributes
        names = _Names(frozenset(own), frozenset(attributes), imported)
        found = [*_statements(self._tree.body, names)]
        for number in sorted(self._broken):
            if tokens := _of_line(self._lines[number - 1]):
                found.append(Piece(number, number, tokens))
        return sorted(found, key=lambda piece: piece.first)


def binds(statement: ast.stmt) -> set[str]:
    """What one statement names or changes: `f` for `def f`, `f = …` and `f.g = …`."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    changed = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
            root = node.value
            while isinstance(root, ast.Attribute | ast.Subscript):
                root = root.value
            changed |= {root.id} if isinstance(root, ast.Name) else set()
        changed |= _bound(node) if isinstance(node, ast.Name | ast.alias) else set()
    return changed


# --- what parses, and what does not --------------------------------------------------------


def _parsed(lines: list[str]) -> tuple[ast.Module, set[int]]:
    """The tree of what parses, and the numbers of the lines that do not."""
    text, broken = [*lines], set()
    for number, line in enumerate(lines, 1):
        if re.match(r"\s*[%!?]", line):  # IPython's own
            broken.add(number)
            text[number - 1] = _nothing(line)
    for _ in range(FIXES):
        try:
            return ast.parse("\n".join(text)), broken
        except UNPARSABLE as error:
            number = getattr(error, "lineno", None)
            if not number or number > len(lines) or number in broken:
                break
            broken.add(number)
            text[number - 1] = _nothing(text[number - 1])
    return ast.Module([], []), set(range(1, len(lines) + 1))


def _nothing(line: str) -> str:
    """A statement that does nothing, at the same depth."""
    return line[: len(line) - len(line.lstrip())] + "pass"


def _of_line(line: str) -> tuple[str, ...]:
    """A line that is no Python: what is neither called nor an attribute is an own name."""
    order: dict[str, str] = {}
    tokens = []
    for match in re.finditer(r"[^\W\d]\w*|\w+|[^\w\s]", line.partition("#")[0]):
        word, before = match[0], line[: match.start()].rstrip()[-1:]
        named = word.isidentifier() and not keyword.iskeyword(word) and word not in BUILTINS
        if named and before != "." and not line[match.end() :].lstrip().startswith("("):
            word = order.setdefault(word, f"v{len(order)}")
        if word not in "(),;":
            tokens.append(word)
    return tuple(tokens)


# --- statements ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Names:
    """What names mean in a block that stands in `depth` functions."""

    own: frozenset[str]  # variables and functions
    attributes: frozenset[str]  # that are own
    imported: Mapping[str, str]  # as -> name
    places: Mapping[str, str] = field(default_factory=dict)  # argument -> its place
    depth: int = 0

    def inside(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> "_Names":
        """What they mean in a function that stands here."""
        of = function.args
        rest = filter(None, (of.vararg, of.kwarg))
        arguments = [*of.posonlyargs, *of.args, *of.kwonlyargs, *rest]
        places = {a.arg: f"argument {self.depth}.{count}" for count, a in enumerate(arguments)}
        return replace(self, places={**self.places, **places}, depth=self.depth + 1)


def _statements(block: Iterable[ast.AST], names: _Names) -> Iterator[Piece]:
    # Python itself allows a hundred blocks in one another
    for statement in block:
        inner = [node for node in _children(statement) if isinstance(node, BLOCKS)]
        if not _says_nothing(statement):
            first, last = _line(statement), getattr(statement, "end_lineno", 0)
            last = max(first, _line(inner[0]) - 1 if inner else last)
            yield Piece(first, last, tuple(_tokens(statement, names)))
        function = isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef)
        yield from _statements(inner, names.inside(statement) if function else names)


def _line(statement: ast.AST) -> int:
    located: Any = statement.pattern if isinstance(statement, ast.match_case) else statement
    return located.lineno


def _says_nothing(statement: ast.AST) -> bool:
    constant = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return constant or isinstance(statement, ast.Pass | ast.Try | ast.Global | ast.Nonlocal)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    for name in node._fields:
        value = getattr(node, name, None)
        for child in value if isinstance(value, list) else (value,):
            if isinstance(child, ast.AST) and name not in TYPING:
                yield child


def _bound(node: ast.AST) -> set[str]:
    """The name that a node gives to a variable or a function."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return {name}
        case ast.arg(arg=name):
            return {name}
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return set() if name.startswith("__") else {name}
        case ast.alias(name=name, asname=alias):
            return {alias or name.partition(".")[0]}
    return set()


def _kept_in(node: ast.AST) -> set[str]:
    """The attributes that a node gives to something: by assignment, or as a class's methods."""
    match node:
        case ast.Attribute(attr=name, ctx=ast.Store()):
            return {name}
        case ast.ClassDef(body=body):
            return {method.name for method in body if isinstance(method, ast.FunctionDef)}
    return set()


def _tokens(statement: ast.AST, names: _Names) -> Iterator[str]:
    """A statement's tokens, its operators before what they work on: no bracket is needed."""
    order: dict[str, str] = {}

    def named(name: str) -> str:
        if name.startswith("."):
            own = name[1:] in names.attributes
            return f".{order.setdefault(name, f'v{len(order)}')}" if own else name
        known = names.places.get(name) or names.imported.get(name)
        if known or name not in names.own:
            return known or name
        return order.setdefault(name, f"v{len(order)}")

    waiting: list[ast.AST | str] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            yield node
        else:
            waiting += reversed(_spelt(node, named))


def _spelt(node: ast.AST, named: Callable[[str], str]) -> list[ast.AST | str]:
    """What a node is made of: its tokens, and nodes that are still to be spelt."""
    match node:
        case ast.Name(id=name):
            return [named(name)]
        case ast.Constant(value=value):
            return [repr(value)]
        case ast.Attribute(attr=name, value=value):
            return [value, named(f".{name}")]
        case ast.keyword(arg=name, value=value):
            return [f"{name}=", value]
        case ast.Call(func=function, args=args, keywords=keywords):
            return ["call", function, *args, *keywords]
        case ast.BinOp(left=left, op=operator, right=right):
            return [type(operator).__name__, left, right]
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.alias(name=name):
            kind = [f"{type(node).__name__} {named(name)}"]
        case ast.arg() | ast.expr_context():  # how many arguments there are shows in their use
            return []
        case ast.arguments() | ast.Tuple() | ast.UnaryOp() | ast.BoolOp():
            kind = []
        case ast.AnnAssign():
            kind = ["Assign"]
        case _:
            kind = [type(node).__name__]
    return [*kind, *(child for child in _children(node) if not isinstance(child, BLOCKS))]
