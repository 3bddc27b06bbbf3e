"""Every message between the grader's processes; PROTOCOL.md says who sends which, and when.

Nothing in here needs torch. What is read is checked field by field (see `schema`): a message with
a field too many, or of another type, is refused.
"""

import base64
import json
from dataclasses import dataclass, field
from functools import cache
from io import BufferedRWPair
from typing import Any, Generic, Literal, TypeVar, get_args

from autograder.execution.isolation.confine import Bounds, Isolation
from autograder.execution.isolation.framing import (
    LIMIT,
    read_frame,
    slice_of,
    without_lone_surrogates,
    write_frame,
)
from autograder.execution.isolation.schema import (
    Tensor,
    Variants,
    from_plain,
    reader,
    to_plain,
    writer,
)

T = TypeVar("T")

# --- tests' side and student's side: envelopes ------------------------------------------------
# An envelope that is not one of these ends the channel. Its content, annotated `Any`, is read by
# whoever handles it: there, what is refused fails one request, and the channel goes on.


@dataclass(frozen=True)
class Held:
    """What a module that both ends have holds now: parameters and buffers, and modes.

    `learns` says of each parameter whether it asks for gradients.
    """

    state: dict[str, Tensor]
    modes: dict[str, bool]
    learns: dict[str, bool]


@dataclass(frozen=True)
class Ask:
    """A request, and the calls whose gradients are no longer reachable."""

    request: Any  # of REQUESTS
    forget: list[int]
    lent: dict[int, Held] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """What came of a request; `said`: what the student's code printed, of any type if forged."""

    answer: Any  # of the type that the request names
    said: Any
    lent: dict[int, Held] = field(default_factory=dict)


@dataclass(frozen=True)
class Failed:
    """The exception that a request ended with."""

    error: Any  # Raised
    said: Any
    lent: dict[int, Held] = field(default_factory=dict)


ENVELOPES: dict[str, type[Ask | Answer | Failed]] = {
    "request": Ask,
    "answer": Answer,
    "error": Failed,
}


def read_envelope(told: Any) -> Ask | Answer | Failed:
    """One of the three, told apart by the field that only it has; else `ValueError`."""
    found = told.keys() & ENVELOPES.keys() if type(told) is dict else ()
    if len(found) != 1:
        raise ValueError("neither a request nor an answer")
    return from_plain(ENVELOPES[found.pop()], told)


@dataclass(frozen=True)
class Line:
    """A line of the student's code that an exception passed through."""

    number: int
    text: str
    within: str
    values: str


@dataclass(frozen=True)
class Raised:
    """An exception; `kind`: the nearest of its classes that is Python's own."""

    type: str
    kind: str
    message: str
    lines: list[Line]


# --- tests' side and student's side: requests -------------------------------------------------


class Request(Generic[T]):
    """Something that one end asks of the other, answered by a value of type `T`."""


Signature = list[tuple[str, int, bool]] | None  # name, kind, whether it has a default


@dataclass(frozen=True)
class Described:
    """What the proxy of a student's module mirrors; `borrowed`: parameters of lent modules."""

    name: str
    parameters: dict[str, Tensor]
    borrowed: dict[str, tuple[int, str]]  # the lent module's number, the name there
    frozen: list[str]
    first: dict[str, str]  # of each parameter, in their order, the first name it has
    signature: Signature
    training: bool


@dataclass(frozen=True)
class Called:
    """The result of a call, and what else the call changed; `call`: its number for `Backward`."""

    result: Any
    requires: list[bool]  # for each tensor of the result, whether it has a gradient
    call: int | None
    changed: dict[int, Tensor]  # inputs, by their position
    generators: list[Tensor]  # states
    random: Tensor


@dataclass(frozen=True)
class Call(Request[Called]):
    """Call what was offered under a number."""

    number: int
    args: tuple
    kwargs: dict[str, Any]
    needs: list[bool]  # for each tensor of the arguments, whether it wants a gradient
    with_gradients: bool  # whether they are on where the call was made
    random: Tensor


@dataclass(frozen=True)
class Backward(Request[list[Tensor | None]]):
    """The gradients of a call's inputs and parameters, given those of its outputs."""

    call: int | None
    slopes: list[Tensor]


@dataclass(frozen=True)
class Place(Request[None]):
    """Put files beside the notebook into the working folder."""

    files: dict[str, bytes]


@dataclass(frozen=True)
class Run(Request[Any]):
    """Run a cell; its outputs are checked by `walk`."""

    source: str


@dataclass(frozen=True)
class Begin(Request[None]):
    """Another check begins: what the one before has offered, lent and called is forgotten."""


@dataclass(frozen=True)
class Find(Request[dict[str, Any]]):
    """The exercises of these names that exist."""

    names: list[str]


@dataclass(frozen=True)
class Describe(Request[Described]):
    """A module as it is now."""

    number: int


@dataclass(frozen=True)
class Load(Request[Described]):
    """Load some of a module's parameters."""

    number: int
    state: dict[Any, Any]


@dataclass(frozen=True)
class State(Request[dict[Any, Any]]):
    """A module's `state_dict`, which a student may have overridden."""

    number: int


@dataclass(frozen=True)
class Switch(Request[Described]):
    """Switch a module's mode or precision."""

    number: int
    to: Literal["train", "eval", "double", "float"]


REQUESTS = Variants(
    "do",
    call=Call,
    backward=Backward,
    place=Place,
    run=Run,
    begin=Begin,
    find=Find,
    describe=Describe,
    load=Load,
    state=State,
    switch=Switch,
)


def write_answer(request: Request[T], answer: T) -> Any:
    """The content of an answer to this request."""
    return writer(_answer_type(type(request)))(answer)


def read_answer(request: Request[T], told: Any) -> T:
    """What was answered; `ValueError` if this request has no such answer."""
    return reader(_answer_type(type(request)))(told)


@cache
def _answer_type(kind: type[Request]) -> Any:
    (base,) = kind.__orig_bases__  # type: ignore[attr-defined]
    (answer,) = get_args(base)
    return answer


# --- tests' side and student's side: references, in place of what cannot cross ------------------


@dataclass(frozen=True)
class Yours:
    """What the receiver itself offered."""

    number: int


@dataclass(frozen=True)
class Function:
    """Something callable of the sender's."""

    number: int
    signature: Signature


@dataclass(frozen=True)
class Generator:
    """A `torch.Generator` in this state."""

    state: Tensor


@dataclass(frozen=True)
class Module:
    """A module of the student's."""

    number: int
    described: Described


@dataclass(frozen=True)
class Lent:
    """A module of the tests', pickled the first time. Only the student's side takes it."""

    number: int
    pickle: bytes


REFERENCES = Variants(
    "kind", yours=Yours, function=Function, generator=Generator, module=Module, lent=Lent
)

# --- supervisor and tests' side ---------------------------------------------------------------


@dataclass(frozen=True)
class CodeCell:
    """A cell to execute: `student` or `given` over there, `given` and `check` here."""

    role: str
    source: str


@dataclass(frozen=True)
class Walk:
    """All that a submission's tests' side is given; `outputs`: characters that cells may show."""

    cells: list[CodeCell]
    exercises: list[str]
    files: dict[str, bytes]
    outputs: int


@dataclass(frozen=True)
class CellResult:
    """What became of the cell of this number; cells are reported in order."""

    cell: int
    outputs: list[dict[str, Any]]
    failure: dict[str, Any] | None
    ended: str | None  # why the student's side was gone before the cell was complete
    cut: bool  # some of its outputs are left out


@dataclass(frozen=True)
class Done:
    """All cells are reported."""


REPORTS = Variants("report", cell=CellResult, done=Done)


def send_walk(stream: BufferedRWPair, walk: Walk) -> None:
    """Supervisor to tests' side. The files' bytes follow the head, which has their sizes."""
    sizes = {name: len(data) for name, data in walk.files.items()}
    write_frame(stream, to_plain(walk) | {"files": sizes}, list(walk.files.values()), LIMIT)


def receive_walk(stream: BufferedRWPair) -> Walk:
    """In the tests' side; `ChannelError` for anything else."""
    return read_frame(stream, LIMIT, _read_walk)


def send_report(stream: BufferedRWPair, report: CellResult | Done) -> None:
    """Tests' side to supervisor."""
    write_frame(stream, REPORTS.to_plain(report), [], LIMIT)


def receive_report(stream: BufferedRWPair) -> CellResult | Done:
    """In the supervisor; `ChannelError` for anything else."""
    return read_frame(stream, LIMIT, lambda head, _: REPORTS.from_plain(_clean(head)))


def _read_walk(head: Any, blob: memoryview) -> Walk:
    told = _clean(head)
    files, start = {}, 0
    for name, size in reader(dict[str, int])(told["files"]).items():
        files[name] = bytes(slice_of(blob, start, size))
        start += size
    return from_plain(Walk, told | {"files": files})


def _clean(value: Any) -> Any:
    """JSON without half characters, which no notebook's file could hold."""
    if isinstance(value, str):
        return without_lone_surrogates(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {without_lone_surrogates(key): _clean(item) for key, item in value.items()}
    return value


# --- executor and fork server; forked process and supervisor ------------------------------------
# Datagrams: none is longer than DATAGRAM, none is split.

DATAGRAM = 1 << 16
WARM = b"warm"  # fork server to executor, once: it takes `Fork`s from now on
HERE = b"here"  # forked process to supervisor, once; the kernel adds which process it is


@dataclass(frozen=True)
class IsolationSettings:
    """What isolates a submission, in the form that the fork server is started with."""

    kind: Isolation
    program: str  # the filter of system calls, in base64
    visible: list[str]
    user: int | None  # who runs the fork server behind Landlock
    users: list[int]  # start and stop: one for each submission in turn; empty: all have `user`

    @property
    def filter(self) -> bytes:
        """The filter of system calls, as the kernel takes it."""
        return base64.b64decode(self.program)

    @property
    def submission_users(self) -> range:
        """The users of submissions."""
        return range(*self.users or [0])


@dataclass(frozen=True)
class Settings:
    """The fork server's only argument, as JSON."""

    side: Literal["student", "tests"]
    control: int  # the open file on which `Fork`s come
    modules: list[str]
    isolation: IsolationSettings


@dataclass(frozen=True)
class Fork:
    """Executor to fork server, with a side's open files: a child within these bounds."""

    bounds: Bounds


@dataclass(frozen=True)
class Ended:
    """How a forked process ended, told by its parent, which runs no student's code."""

    ended: int  # the status that wait(2) gives
    cpu: float  # seconds
    memory: int  # KiB
    limit: str  # for which the parent killed it, if it did


def to_json(message: Any) -> bytes:
    """One of these, as it is sent."""
    return json.dumps(to_plain(message)).encode()


def from_json(kind: type[T], told: bytes | str) -> T:
    """One of these; `ValueError` for anything else."""
    return from_plain(kind, json.loads(told))
