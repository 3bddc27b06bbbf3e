"""Split code and prose into pieces, and pieces into fingerprints that survive renaming.

Layout, comments, type hints and the student's own names are dropped from code; the names of the
lesson and its libraries stay. An argument is identified by its position, any other own name by the
order in which a statement uses it.
"""

import ast
import builtins
import keyword
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

CODE_NGRAM = 6  # tokens per fingerprint
PROSE_NGRAM = 4  # words per fingerprint
MAX_CHARACTERS = 100_000  # of a cell that are split into pieces
MAX_DROPPED_LINES = 20  # of a cell, so that the rest of it parses
UNPARSABLE = (SyntaxError, ValueError, MemoryError, RecursionError)
# a string, because a `#` inside one does not begin a comment; or a comment
STRING_OR_COMMENT = re.compile(
    r"""(?P<quotes>\"{3}|'{3})[\s\S]*?(?P=quotes)"""
    r"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
    # an unterminated string with an escape: its quotes do not open further strings
    r"""|"(?=[^"\\\n]*\\)(?:\\.|[^"\\\n])*|'(?=[^'\\\n]*\\)(?:\\.|[^'\\\n])*"""
    r"""|#(?P<comment>[^\n]*)"""
)
# fields of nodes that are type hints
TYPING = {"annotation", "returns", "type_comment", "type_ignores", "type_params"}
BUILTINS = frozenset(dir(builtins))
BLOCKS = (ast.stmt, ast.ExceptHandler, ast.match_case)


@dataclass(frozen=True)
class Piece:
    """A statement without its block, or a line of prose or comments.

    `first` and `last` are its line numbers in the text, from 1.
    """

    first: int
    last: int
    tokens: tuple[str, ...]
    ngram: int = CODE_NGRAM

    @property
    def fingerprints(self) -> set[int]:
        """Hashes of its n-grams; they differ between processes."""
        tokens = ("<", *self.tokens, ">")
        starts = range(max(1, len(tokens) - self.ngram + 1))
        return {hash(tokens[start : start + self.ngram]) for start in starts}


def prose_pieces(text: str) -> list[Piece]:
    """The lines of a written answer."""
    lines = ((n, re.findall(r"\w+", line.lower())) for n, line in enumerate(text.split("\n"), 1))
    return [Piece(n, n, tuple(words), PROSE_NGRAM) for n, words in lines if words]


def comment_pieces(source: str) -> list[Piece]:
    """The comments of code, and strings that are statements of their own."""
    pieces = []
    for match in STRING_OR_COMMENT.finditer(source[:MAX_CHARACTERS]):
        line = source.count("\n", 0, match.start()) + 1
        alone = not source[: match.start()].rpartition("\n")[2].strip()
        text = match["comment"] or (match["quotes"] and alone and match[0])
        if words := re.findall(r"\w+", (text or "").lower()):
            pieces.append(Piece(line, line + match[0].count("\n"), tuple(words), PROSE_NGRAM))
    return pieces


class Code:
    """The code of a cell; lines that do not parse are tokenised without a syntax tree."""

    def __init__(self, source: str) -> None:
        self._lines = source[:MAX_CHARACTERS].split("\n")
        self._tree, self._broken = _parsed(self._lines)
        nodes = [*ast.walk(self._tree)]
        names = [node for node in nodes if isinstance(node, ast.Name)]
        self.read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
        self._nodes = nodes
        self._variables = {name for node in nodes for name in _bound(node)}
        self._attributes = {name for node in nodes for name in _set_attributes(node)}

    @property
    def statements(self) -> list[ast.stmt]:
        """The top-level statements."""
        return self._tree.body

    @property
    def own_names(self) -> set[str]:
        """All names defined here: variables, arguments, functions, attributes and imports."""
        return self._variables | self._attributes

    def pieces(self, kept: Iterable[str] = ()) -> list[Piece]:
        """The pieces of all statements; names in `kept` are not treated as the student's own."""
        imported = {
            node.asname or node.name: node.name
            for node in self._nodes
            if isinstance(node, ast.alias)
        }
        own, attributes = self._variables - set(kept), self._attributes
        names = _Names(frozenset(own), frozenset(attributes), imported)
        found = [*_statements(self._tree.body, names)]
        for number in sorted(self._broken):
            if tokens := _line_tokens(self._lines[number - 1]):
                found.append(Piece(number, number, tokens))
        return sorted(found, key=lambda piece: piece.first)


def bound_names(statement: ast.stmt) -> set[str]:
    """The names that a statement binds or changes: `f` for `def f`, `f = …` and `f.g = …`."""
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


# --- parsing --------------------------------------------------------------------------------


def _parsed(lines: list[str]) -> tuple[ast.Module, set[int]]:
    """The syntax tree of the lines that parse, and the numbers of those that do not."""
    text, broken = [*lines], set()
    for number, line in enumerate(lines, 1):
        if re.match(r"\s*[%!?]", line):  # IPython syntax
            broken.add(number)
            text[number - 1] = _pass_for(line)
    for _ in range(MAX_DROPPED_LINES):
        try:
            return ast.parse("\n".join(text)), broken
        except UNPARSABLE as error:
            number = getattr(error, "lineno", None)
            if not number or number > len(lines) or number in broken:
                break
            broken.add(number)
            text[number - 1] = _pass_for(text[number - 1])
    return ast.Module([], []), set(range(1, len(lines) + 1))


def _pass_for(line: str) -> str:
    """A `pass` with the indentation of the line."""
    return line[: len(line) - len(line.lstrip())] + "pass"


def _line_tokens(line: str) -> tuple[str, ...]:
    """Tokens of a line that does not parse; names that are not called or attributes are own."""
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
    """How to write names in a block inside `depth` functions."""

    own: frozenset[str]  # variables and functions
    attributes: frozenset[str]  # own ones
    imported: Mapping[str, str]  # alias -> name
    positions: Mapping[str, str] = field(default_factory=dict)  # of arguments, by name
    depth: int = 0

    def inside(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> "_Names":
        """The same for the body of a function in this block."""
        args = function.args
        variadic = filter(None, (args.vararg, args.kwarg))
        every = [*args.posonlyargs, *args.args, *args.kwonlyargs, *variadic]
        positions = {a.arg: f"argument {self.depth}.{count}" for count, a in enumerate(every)}
        return replace(self, positions={**self.positions, **positions}, depth=self.depth + 1)


def _statements(block: Iterable[ast.AST], names: _Names) -> Iterator[Piece]:
    # recursion is safe: Python allows at most a hundred nested blocks
    for statement in block:
        inner = [node for node in _children(statement) if isinstance(node, BLOCKS)]
        if not _is_trivial(statement):
            first, last = _line(statement), getattr(statement, "end_lineno", 0)
            last = max(first, _line(inner[0]) - 1 if inner else last)
            yield Piece(first, last, tuple(_tokens(statement, names)))
        function = isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef)
        yield from _statements(inner, names.inside(statement) if function else names)


def _line(statement: ast.AST) -> int:
    located: Any = statement.pattern if isinstance(statement, ast.match_case) else statement
    return located.lineno


def _is_trivial(statement: ast.AST) -> bool:
    constant = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return constant or isinstance(statement, ast.Pass | ast.Try | ast.Global | ast.Nonlocal)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    for name in node._fields:
        value = getattr(node, name, None)
        for child in value if isinstance(value, list) else (value,):
            if isinstance(child, ast.AST) and name not in TYPING:
                yield child


def _bound(node: ast.AST) -> set[str]:
    """The name that a node binds to a variable, function or module."""
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


def _set_attributes(node: ast.AST) -> set[str]:
    """The attributes that a node sets, by assignment or as the methods of a class."""
    match node:
        case ast.Attribute(attr=name, ctx=ast.Store()):
            return {name}
        case ast.ClassDef(body=body):
            return {method.name for method in body if isinstance(method, ast.FunctionDef)}
    return set()


def _tokens(statement: ast.AST, names: _Names) -> Iterator[str]:
    """A statement's tokens in prefix notation, which needs no brackets."""
    order: dict[str, str] = {}

    def normalised(name: str) -> str:
        if name.startswith("."):
            own = name[1:] in names.attributes
            return f".{order.setdefault(name, f'v{len(order)}')}" if own else name
        known = names.positions.get(name) or names.imported.get(name)
        if known or name not in names.own:
            return known or name
        return order.setdefault(name, f"v{len(order)}")

    stack: list[ast.AST | str] = [statement]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            yield node
        else:
            stack += reversed(_expanded(node, normalised))


def _expanded(node: ast.AST, normalised: Callable[[str], str]) -> list[ast.AST | str]:
    """A node's own tokens and its children, which are still to be expanded."""
    match node:
        case ast.Name(id=name):
            return [normalised(name)]
        case ast.Constant(value=value):
            return [repr(value)]
        case ast.Attribute(attr=name, value=value):
            return [value, normalised(f".{name}")]
        case ast.keyword(arg=name, value=value):
            return [f"{name}=", value]
        case ast.Call(func=function, args=args, keywords=keywords):
            return ["call", function, *args, *keywords]
        case ast.BinOp(left=left, op=operator, right=right):
            return [type(operator).__name__, left, right]
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.alias(name=name):
            kind = [f"{type(node).__name__} {normalised(name)}"]
        case ast.arg() | ast.expr_context():  # uses of arguments show their number
            return []
        case ast.arguments() | ast.Tuple() | ast.UnaryOp() | ast.BoolOp():
            kind = []
        case ast.AnnAssign():
            kind = ["Assign"]
        case _:
            kind = [type(node).__name__]
    return [*kind, *(child for child in _children(node) if not isinstance(child, BLOCKS))]
