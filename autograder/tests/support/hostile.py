"""The bank of hostile notebooks: what students' code may try, as data. None of it runs here.

Each is executed in the sandbox, beside an honest exercise and a wrong one: see `test_sandbox`.
A cell prints `LEAK` where it got what it must not get, and `tried` where it came to its end.
In the cells, what stands in capitals below is replaced by values of this machine.
"""

import hashlib
from dataclasses import dataclass

SECRET = "zq-hidden-tests-"  # the hidden tests' marker begins so, and goes on with what follows
REST = "5d0c1a7be94f"
MARKER = SECRET + REST
CANARY = "zq-secret-of-the-environment"

LIVES, STOPPED, ENDS, ANY = "lives", "stopped", "ends", "any"

HONEST = "def double(x):\n    return x + x"
WRONG = "def half(x):\n    return x + 0"
RIGHT = "def half(x):\n    return x / 2"
GIVEN = """
import numpy as np
import torch
from transformer_course.checks import Check, numbers


def close(one, other):
    return bool(abs(one - other) < 1e-9)
"""
CHECK_DOUBLE = f"""
with Check("double", "twice each number") as check:
    check.equal(check.call(numbers(4)), 2 * numbers(4), "each number twice")
### BEGIN HIDDEN TESTS
marker = "{MARKER}"  # {MARKER}
assert double(3.0) == 6.0
### END HIDDEN TESTS
"""
# each asks for a half in another way, and each must fail where the answer is wrong
CHECKS_OF_HALF = {
    "kit": f"""
with Check("half", "half of each number") as check:
    check.equal(check.call(numbers(4)), numbers(4) / 2, "half of each number")  # {MARKER}
""",
    "kit, the input once more": """
with Check("half", "half of each number") as check:
    x = numbers(4)
    check.equal(check.call(x), x / 2, "half of each number")
""",
    "torch": "assert torch.allclose(half(torch.ones(3)), torch.full((3,), 0.5))",
    "numpy": "np.testing.assert_allclose(half(np.ones(3)), np.full(3, 0.5))",
    "python": "assert all([abs(half(x) - x / 2) < 1e-9 for x in (2.0, 3.0)])",
    "equality": "assert half(2.0) == 1.0",
    "message": "got = half(2.0)\nassert got == 1.0, f'expected 1.0, got {got!r}'",
    "print": "got = half(2.0)\nprint(got)\nassert got == 1.0",
    "not unequal": "assert not half(2.0) != 1.0",
    "lesson": "assert close(half(2.0), 1.0)",
}
# What cells below may use. It stands in a cell of the student's: it is theirs, and forgeable.
TOOLS = """
import ctypes, gc, hashlib, json, os, struct, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)

def attempt(what, work, *args, **kwargs):
    try:
        got = work(*args, **kwargs)
    except Exception as error:
        print("refused:", what, type(error).__name__, str(error)[:200])
    else:
        print("LEAK:", what, repr(got)[:200])

def call(name, *args):
    ctypes.set_errno(0)
    result = getattr(libc, name)(*args)
    if result == -1:
        raise OSError(ctypes.get_errno(), name)
    return result

def marked(value):
    # the end of the tests' marker is known here as a digest alone
    data = value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")
    rests = [part[:LENGTH] for part in data.split(b"SECRET")[1:]]
    return any(hashlib.sha256(rest).hexdigest() == "DIGEST" for rest in rests)

def files():
    found = []
    for descriptor in range(1024):
        try:
            os.fstat(descriptor)
            found.append(descriptor)
        except OSError:
            pass
    return found

def side():
    return next(o for o in gc.get_objects() if type(o).__name__ == "StudentSide")

def handle(kind, work):
    handlers = side().handlers
    asked = {one.__name__: one for one in handlers}[kind]  # KeyError: the attack is out of date
    served, handlers[asked] = handlers[asked], work
    return served

def forging(change):
    channel = sys.modules[type(side()).__mro__[1].__module__]
    send = channel.send
    channel.send = lambda stream, told, *rest: send(stream, change(told), *rest)

def packed(value):
    if isinstance(value, dict):
        return {"kind": "dict", "items": [[packed(k), packed(v)] for k, v in value.items()]}
    if isinstance(value, (list, tuple)):
        return {"kind": "list", "items": [packed(item) for item in value]}
    return value

def frame(head):
    data = head if isinstance(head, bytes) else json.dumps(head).encode()
    return struct.pack(">QI", len(data), len(data)) + data

def everywhere(data):
    for descriptor in files():
        try:
            os.write(descriptor, data)
        except OSError:
            pass
"""
for _name, _value in (
    ("LENGTH", str(len(REST))),
    ("SECRET", SECRET),
    ("DIGEST", hashlib.sha256(REST.encode()).hexdigest()),
):
    TOOLS = TOOLS.replace(_name, _value)


@dataclass(frozen=True)
class Hostile:
    """A notebook's cells, and what may become of the process that runs them."""

    name: str
    attempts: str
    cells: tuple[str, ...]
    may: str = LIVES
    half: str = WRONG  # the answer to the second exercise, which must not pass
    broken: bool = False  # its cells may fail with errors of any kind
    timeout: float = 1.0  # CPU seconds


def _(name: str, attempts: str, *cells: str, **more: object) -> Hostile:
    return Hostile(name, attempts, cells, **more)  # type: ignore[arg-type]


FORGED = [
    _(
        "builtins",
        "make every comparison true for who uses this process's builtins",
        """
import builtins
true = lambda *args, **kwargs: True
builtins.all = builtins.any = builtins.isinstance = true
builtins.abs = lambda x: 0
builtins.AssertionError = Warning
""",
        may=ANY,
        broken=True,
    ),
    _(
        "torch_and_numpy",
        "replace the comparisons of torch and numpy",
        """
import numpy as np, torch
true = lambda *args, **kwargs: torch.ones(4, dtype=torch.bool)
torch.isclose = torch.eq = torch.Tensor.__eq__ = torch.Tensor.eq = true
torch.allclose = torch.equal = torch.testing.assert_close = lambda *args, **kwargs: True
np.allclose = np.isclose = np.array_equal = lambda *args, **kwargs: True
np.testing.assert_allclose = np.testing.assert_array_equal = lambda *args, **kwargs: None
print("tried")
""",
    ),
    _(
        "kit",
        "replace the methods of Check itself",
        """
import transformer_course.checks as checks
from transformer_course.checks import CheckFailed
for name in ("equal", "true", "shape", "fail", "stop"):
    setattr(checks.Check, name, lambda *args, **kwargs: None)
checks.Check.__exit__ = lambda *args: True
CheckFailed.__init__ = lambda *args: sys.exit(0)
print("tried")
""",
    ),
    _(
        "ipython_hooks",
        "strip assertions from cells by every hook that IPython has",
        """
import ast
shell = get_ipython()
class Strip(ast.NodeTransformer):
    def visit_Assert(self, node):
        return ast.Pass()
    def visit_With(self, node):
        return ast.Pass()
shell.ast_transformers.append(Strip())
shell.input_transformers_cleanup.append(lambda lines: ["pass"] if "assert" in str(lines) else lines)
for event in ("pre_run_cell", "post_run_cell", "pre_execute", "post_execute"):
    shell.events.register(event, lambda *args: shell.user_ns.update(half=lambda x: x))
shell.set_custom_exc((Exception,), lambda *args, **kwargs: None)
shell.showtraceback = lambda *args, **kwargs: None
""",
        "print('tried')",
        half="def half(x):\n    return x + 0\nfor _ in range(3):\n    pass",
        broken=True,
    ),
    _(
        "shell_replaced",
        "replace the methods that run a cell and keep its outputs",
        """
shell = get_ipython()
type(shell).run = lambda self, source: ([], None)
type(shell).run_cell = lambda self, *args, **kwargs: None
""",
        "print('not run')",
        broken=True,
    ),
    _(
        "trace",
        "see or change the tests by tracing functions and audit hooks",
        """
seen = []
def tracer(frame, event, argument):
    if marked(frame.f_code.co_consts) or marked(frame.f_globals.get("marker")):
        seen.append(frame)
        print("LEAK: a frame of the tests")
    return tracer
""",
        "sys.setprofile(tracer); threading.settrace(tracer); sys.settrace(tracer); print('tried')",
    ),
    _(
        "objects",
        "find the hidden tests among all objects of this process",
        """
sources = [o for o in gc.get_objects() if isinstance(o, (dict, list, tuple))]
parts = (part for o in sources for part in (o.values() if isinstance(o, dict) else o))
for text in [part for part in parts if isinstance(part, (str, bytes))]:
    if marked(text):
        print("LEAK:", text)
print("tried")
""",
        timeout=3,
    ),
    _(
        "memory",
        "find the hidden tests in the memory around this process's objects",
        """
def region(start, length):
    receive, send = os.pipe()
    for page in range(start, start + length, 4096):
        ctypes.set_errno(0)
        if libc.write(send, ctypes.c_void_p(page), ctypes.c_size_t(4096)) == 4096:
            yield os.read(receive, 4096)
held = object()
for near in {id(held), id([]), id("x" * 999), id(b"x" * 9999), ctypes.addressof(ctypes.c_int())}:
    start = max(near - (8 << 20), 0) & ~4095
    if any(marked(page) for page in region(start, 16 << 20)):
        print("LEAK: the tests' marker")
print("tried")
""",
        timeout=3,
    ),
    _(
        "always_equal",
        "answer with an object that equals everything",
        half="""
class Equal:
    __array_priority__ = 1e9
    def yes(self, *args, **kwargs):
        return True
    def same(self, *args, **kwargs):
        return self
    __eq__ = __lt__ = __gt__ = __le__ = __ge__ = __bool__ = __contains__ = yes
    __ne__ = lambda self, other: False
    __sub__ = __rsub__ = __abs__ = __neg__ = __call__ = __getitem__ = same
    __float__ = lambda self: 1.0
    __hash__ = lambda self: 0
    __getattr__ = same
def half(x):
    return Equal()
""",
    ),
    _(
        "subclasses",
        "answer with subclasses of numbers and tensors whose comparisons are always true",
        half="""
import numpy as np, torch
class Number(float):
    __eq__ = __lt__ = lambda self, other: True
    __sub__ = __abs__ = lambda self, *other: self
    __ne__ = lambda self, other: False
    __hash__ = float.__hash__
class Array(np.ndarray):
    def __array_function__(self, *args, **kwargs):
        return True
    def __array_ufunc__(self, *args, **kwargs):
        return True
class Tensor(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function in (torch.allclose, torch.equal):
            return True
        return super().__torch_function__(function, types, args, kwargs)
def half(x):
    if isinstance(x, torch.Tensor):
        return x.as_subclass(Tensor)
    return x.view(Array) if isinstance(x, np.ndarray) else Number(x)
""",
    ),
    _(
        "imports",
        "replace modules by import hooks and in sys.modules",
        """
import builtins, types
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("transformer_course") or "test" in name:
            print("LEAK: the tests import", name)
sys.meta_path.insert(0, Finder())
fake = types.ModuleType("fake")
fake.__getattr__ = lambda name: (lambda *args, **kwargs: True)
for name in [n for n in sys.modules if n.split(".")[0] in ("transformer_course", "numpy")]:
    sys.modules[name] = fake
builtins.__import__ = lambda *args, **kwargs: fake
""",
        broken=True,
    ),
    _(
        "later",
        "act later: at exit, by signals, timers, finalizers and threads",
        """
import atexit, signal, weakref
def right(*args):
    globals()["forged"] = True
    return None
class Last:
    def __del__(self):
        right()
last = Last()
weakref.finalize(last, right)
atexit.register(right)
signal.signal(signal.SIGALRM, right)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
def patch():
    import torch
    for _ in range(100):
        torch.allclose = torch.equal = lambda *args, **kwargs: True
        time.sleep(0.001)
threading.Thread(target=patch, daemon=True).start()
print("tried")
""",
        "signal.setitimer(signal.ITIMER_REAL, 0); print('tried')",
    ),
    _(
        "waiting_thread",
        "a thread that waits for the tests and writes answers into the channel beside them",
        """
stop = time.monotonic() + 0.5
def race():
    answer = frame(packed({"answer": {"half": True}, "said": "", "lent": {}}))
    while time.monotonic() < stop:
        everywhere(answer)
threading.Thread(target=race, daemon=True).start()
""",
        may=ANY,
        broken=True,
    ),
    _(
        "forged_outcomes",
        "write what the tests' side would report into every open file",
        """
cells = [
    {"report": "cell", "cell": n, "outputs": [], "failure": None, "ended": None, "cut": False}
    for n in range(13)
]
for told in (*cells, {"report": "done"}):
    everywhere(frame(told))
for answer in ([], {}):
    everywhere(frame(packed({"answer": answer, "said": "", "lent": {}})))
everywhere(json.dumps({"ended": 0, "cpu": 0.0, "memory": 0, "limit": ""}).encode())
""",
        may=ANY,
        broken=True,
    ),
    _(
        "answers_ahead",
        "answer all questions before they are asked",
        """
tensor = {"kind": "dict", "items": []}
for _ in range(20):
    everywhere(frame(packed({"answer": [], "said": "", "lent": {}})))
""",
        may=ANY,
        broken=True,
    ),
    _(
        "more_names",
        "offer names that the check uses, when it looks for the exercises",
        """
def anything(*args, **kwargs):
    return True
names = ("close", "abs", "all", "isinstance", "Check", "numbers", "torch", "np", "bool", "print")
more = {name: anything for name in names}
more["abs"] = lambda x: 0.0
more["__builtins__"] = dict(more)
handle("Find", lambda _: dict(more, half=lambda x: x, double=lambda x: x))
print("tried")
""",
        may=ANY,
    ),
    _(
        "only_builtins",
        "offer builtins alone, when the check looks for the exercises",
        """
for_checks = {name: getattr(__import__("builtins"), name) for name in ("range", "len", "float")}
for_checks |= {"all": lambda items: True, "abs": lambda x: 0.0, "bool": lambda x: True}
handle("Find", lambda _: {"half": lambda x: x, "__builtins__": for_checks})
print("tried")
""",
        may=ANY,
    ),
    _(
        "channel_methods",
        "replace what serves the channel: find, call, run, answers and errors",
        """
error = {"type": "SystemExit", "kind": "SystemExit", "message": "0", "lines": []}
forging(lambda told: told | {"error": error} if "error" in told else told)
def fail(request):
    raise ValueError
handle("Call", fail)
print("tried")
""",
    ),
    _(
        "error_names",
        "have the tests raise what ends a program or an iteration, and not a test",
        """
names = iter(["SystemExit", "StopIteration", "KeyboardInterrupt", "GeneratorExit", "SkipTest",
    "StopAsyncIteration", "BaseException", "Warning", "x" * 10**6, "a" + chr(0) + "b", "__class__"])
def change(told):
    if "error" not in told:
        return told
    name = next(names, "StopIteration")
    return told | {"error": {"type": name, "kind": name, "message": "0", "lines": []}}
forging(change)
print("tried")
""",
        half="def half(x):\n    raise ValueError",
    ),
    _(
        "stop_iteration",
        "end the loop of a test from inside",
        half="def half(x):\n    raise StopIteration",
    ),
    _("interrupts", "interrupt a test", half="def half(x):\n    raise KeyboardInterrupt"),
    _("exits", "exit in a test", half="def half(x):\n    raise SystemExit(0)"),
    _(
        "huge_error",
        "fail with a message so long that the failure is cut from the outputs",
        half="def half(x):\n    raise ValueError('x' * 3_000_000)",
    ),
    _(
        "huge_text",
        "answer with a text so long that the test's own message is cut from the outputs",
        half="def half(x):\n    return 'x' * 3_000_000",
    ),
    _(
        "odd_text",
        "answer with a text that cannot be written into a file",
        half="def half(x):\n    return '\\ud800\\x00\\x1b[2J'",
    ),
    _(
        "odd_error",
        "fail with messages and names that no file can hold",
        half="""
class Odd(Exception):
    def __str__(self):
        return "\\ud800 \\x00 \\x1b[2J"
def half(x):
    raise Odd
""",
    ),
    _(
        "loud_answers",
        "print so much in a test that its failure does not fit any more",
        """
forging(lambda told: told | {"said": "x" * 3_000_000} if "said" in told else told)
print("tried")
""",
    ),
    _(
        "changed_input",
        "change the test's own input, so that the wrong answer is right",
        half="def half(x):\n    x *= 0\n    return x",
        broken=True,
    ),
    _(
        "changed_starred_input",
        "change the test's own input where its name is not seen",
        half="""
def half(*x):
    if hasattr(x[0], "zero_"):
        x[0].zero_()
    return x[0]
""",
    ),
    _(
        "changed_state",
        "claim changes of the test's inputs and random state",
        """
import torch
def change(told):
    called = told.get("answer")
    if not isinstance(called, dict) or "changed" not in called:
        return told
    zero = torch.zeros((), dtype=torch.float64)
    return told | {"answer": called | {"changed": {-1: zero, 0: zero}, "random": zero}}
forging(change)
print("tried")
""",
    ),
    _(
        "own_things_back",
        "answer with references to what the tests have",
        """
mine = side()
replies = iter(range(-3, 9))
plain = mine._plain_reference
class Theirs:
    pass
def reference(value):
    if type(value) is Theirs:
        return {"kind": "yours", "number": next(replies)}
    return plain(value)
def change(told):
    called = told.get("answer")
    if not isinstance(called, dict) or "changed" not in called:
        return told
    return told | {"answer": called | {"result": Theirs()}}
mine._plain_reference = reference
forging(change)
print("tried")
""",
        may=ANY,
    ),
    _(
        "asks_the_tests",
        "ask the tests' side for its variables and methods",
        """
mine = side()
channel = sys.modules[type(mine).__mro__[1].__module__]
def asked(do, **fields):
    request = {"do": do} | fields
    channel.send(mine._stream, {"request": request, "forget": [], "lent": {}}, mine._limit)
    told = mine._receive()
    if type(told).__name__ != "Failed":
        print("LEAK:", do, told)
    elif do not in ("backward", "__class__") and "not asked of this side" not in str(told.error):
        raise KeyError(f"the attack is out of date: {told.error}")
for do, fields in (
    ("run", {"source": "print(marker)"}), ("find", {"names": ["marker"]}), ("begin", {}),
    ("state", {"number": 0}), ("describe", {"number": 0}), ("place", {"files": {}}),
    ("load", {"number": 0, "state": {}}), ("switch", {"number": 0, "to": "eval"}),
    ("backward", {"call": 0, "slopes": []}), ("__class__", {}),
):
    asked(do, **fields)
print("tried")
""",
    ),
    _(
        "calls_the_tests",
        "call what the tests' side may offer, by its number",
        """
import torch
mine = side()
for number in range(-2, 3):
    try:
        print(mine.call(number, ("x",), {}, []), "LEAK")
    except BaseException as error:
        print(type(error))
""",
        may=ANY,
        broken=True,
    ),
    _(
        "modules_of_the_channel",
        "replace json, struct and pickle where the channel uses them",
        """
import pickle
dumps = json.dumps
json.dumps = lambda value, **more: dumps(value, **more).replace("false", "true")
json.loads = lambda text, **more: {"do": "run", "with": {"source": ""}}
struct.Struct.pack = pickle.loads = pickle.dumps = None
""",
        may=ANY,
        broken=True,
    ),
    _(
        "reduce",
        "answer with an object whose pickle runs code where it is read",
        half="""
import os
class Reduced:
    def __reduce__(self):
        return os.system, ("echo LEAK",)
def half(x):
    return Reduced()
""",
    ),
    _(
        "pickles",
        "send pickles, marshalled code and references of other kinds",
        """
import marshal, pickle
class Reduced:
    def __reduce__(self):
        return print, ("LEAK",)
data = pickle.dumps(Reduced())
everywhere(frame({"kind": "lent", "about": {"number": 0, "pickle": data.decode("latin1")}}))
everywhere(struct.pack(">QI", len(data), len(data)) + data)
""",
        may=ANY,
        broken=True,
    ),
    _(
        "ctypes",
        "write over the memory of numbers, functions and None",
        """
ctypes.c_uint32.from_address(id(3) + 24).value = 4
ctypes.memset(id(close) + 16, 0xFF, 64)
close(1, 2)
""",
        may=ANY,
        broken=True,
    ),
    _(
        "lesson_names",
        "define again what the lesson's own cells defined",
        """
def close(one, other):
    return True
def numbers(*shape):
    import torch
    return torch.zeros(shape)
class Check:
    def __init__(self, *args): pass
    def __enter__(self): return self
    def __exit__(self, *args): return True
    def __getattr__(self, name): return lambda *args, **kwargs: None
print("tried")
""",
    ),
]

FRAMES = [
    _("garbage", "send what is no message", 'everywhere(b"x" * 9999)', may=ANY, broken=True),
    _(
        "endless_frame",
        "announce a message without end",
        'everywhere(struct.pack(">QI", 2**63, 2**31)); time.sleep(0)',
        may=ANY,
        broken=True,
    ),
    _(
        "slow_frame",
        "send a long message a byte at a time",
        """
everywhere(struct.pack(">QI", 1 << 25, 1 << 25))
while True:
    everywhere(b" ")
    time.sleep(0.05)
""",
        may=STOPPED,
        broken=True,
        timeout=0.3,
    ),
    _(
        "half_a_frame",
        "begin a message, and read what was for the channel",
        """
everywhere(struct.pack(">QI", 1 << 20, 1 << 20))
for descriptor in files()[3:]:
    os.read(descriptor, 1 << 20)
""",
        may=STOPPED,
        broken=True,
        timeout=0.3,
    ),
    _(
        "deep_frame",
        "send lists nested without end",
        'everywhere(frame(b"[" * (1 << 20)))\neverywhere(frame(b"[" * 900 + b"]" * 900))',
        may=ANY,
        broken=True,
    ),
    _(
        "large_frame",
        "send as much as a message may hold, as small objects",
        """
data = b'{"kind":"list","items":[' + b'[],' * (15 << 20) + b'[]]}'
everywhere(frame(data))
""",
        may=ANY,
        broken=True,
        timeout=2,
    ),
    _(
        "impossible_tensors",
        "send tensors of impossible sizes",
        """
for shape in ([-1], [1 << 62, 0], [1 << 40, 1 << 40], ["9" * 4000], [1e300], [None]):
    tensor = {"kind": "tensor", "dtype": "float64", "shape": shape, "at": 0}
    everywhere(frame({"kind": "dict", "items": [["answer", tensor]]}))
""",
        may=ANY,
        broken=True,
    ),
    _(
        "odd_outputs",
        "send outputs that no notebook can hold",
        """
import torch
odd = [{"output_type": "display_data", "data": {"text/plain": "x"}, "metadata": metadata}
    for metadata in ({"a": torch.ones(2)}, {"b": len}, {3: 4}, {(1, 2): 3}, {"c": b"x"})]
odd += [{"output_type": "display_data", "data": {"a/json": {1, 2}}, "metadata": {}}]
odd += [{"output_type": "stream", "name": "stdout", "text": "\\ud800"}]
served = handle("Run", lambda _: odd)
""",
        "pass",
        may=ANY,
    ),
    _(
        "many_outputs",
        "send more outputs than the shell keeps",
        """
loud = {"output_type": "stream", "name": "stdout", "text": "x" * (40 << 20)}
served = handle("Run", lambda _: [loud])
""",
        "pass",
        may=ANY,
        timeout=2,
    ),
]

READING = [
    _(
        "files",
        "read solutions, gradebook, others' work, the tests' code, passwords and home",
        """
for path in OUTSIDE:
    attempt(path, lambda: os.listdir(path) if os.path.isdir(path) else open(path, "rb").read(99))
print("tried")
""",
    ),
    _(
        "environment",
        "find secrets in the environment, in this process and in others",
        """
import glob
texts = [repr(os.environ)]
for name in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline"):
    try:
        texts.append(open(name, "rb").read().decode("latin1"))
    except OSError:
        pass
if "zq-" + "secret-of-" in " ".join(texts):
    print("LEAK: the environment")
print("tried")
""",
    ),
    _(
        "proc",
        "see other processes",
        """
numbers = [name for name in os.listdir("/proc") if name.isdigit()]
if len(numbers) > 1 or os.getppid():
    print("LEAK:", numbers, os.getppid())
for path in ("/proc/kcore", "/proc/kmsg", "/proc/1/root/etc/passwd", "/proc/2/mem"):
    attempt(path, lambda: open(path, "rb").read(9))
for path in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/self/oom_score_adj"):
    attempt(path, lambda: open(path, "r+b"))
print("tried")
""",
    ),
    _(
        "leaves_notes",
        "leave files for the next submission, wherever one can write",
        """
for folder in ("/submission", "/tmp", os.getcwd(), os.path.expanduser("~")):
    try:
        open(folder + "/note-to-the-next", "w").write("note")
    except OSError as error:
        print(error)
print("tried")
""",
    ),
    _(
        "finds_notes",
        "find what the submission before left",
        """
import os
for folder in ("/submission", "/tmp", "/dev/shm", "/var/tmp", "/run", "."):
    if os.path.isdir(folder) and set(os.listdir(folder)) & {"note-to-the-next", "torch.py"}:
        print("LEAK:", folder, os.listdir(folder))
print("tried")
""",
    ),
    _(
        "kernel_log",
        "read the kernel's log, its keys and its counters",
        """
buffer = ctypes.create_string_buffer(4096)
attempt("klogctl", call, "klogctl", 3, buffer, 4096)
for name in ("keyctl", "add_key", "bpf", "perf_event_open", "syslog"):
    attempt(name, call, "syscall", CALL[name], 0, 0, 0, 0, 0)
print("tried")
""",
    ),
]

NETWORK = [
    _(
        "sockets",
        "reach others over TCP, UDP, UNIX sockets and raw ones",
        """
import socket
def connect(family, kind, address):
    with socket.socket(family, kind) as line:
        line.settimeout(0.2)
        line.connect(address)
        line.send(b"x")
for family, kind, address in LISTENERS:
    attempt(address, connect, family, kind, address)
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_PACKET, socket.AF_NETLINK, 1, 38, 40):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
        attempt(f"{family} {kind}", socket.socket, family, kind)
attempt("getaddrinfo", socket.getaddrinfo, "example.org", 80)
attempt("create_server", socket.create_server, ("127.0.0.1", 0))
print("tried")
""",
    ),
    _(
        "socketpairs",
        "reach others through an anonymous pair of sockets",
        """
import array, socket
one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
one.send(b"x")
assert other.recv(9) == b"x"
for _, kind, address in LISTENERS:
    attempt(address, one.sendto, b"x", address)
try:
    one.sendto(b"x", "\\0nobody")
except PermissionError as error:
    print(error)
except OSError as error:
    print("LEAK: looked for an address", error)
attempt("option", one.setsockopt, socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
attempt("files", socket.send_fds, one, [b"x"], [0])
for descriptor in files():
    if descriptor > 2:
        line = socket.socket(fileno=os.dup(descriptor))
        attempt("files over the channel", socket.send_fds, line, [b"x"], [0])
attempt("tipc", socket.socketpair, 30, socket.SOCK_STREAM)
if one.getsockname():
    print("LEAK: a name", one.getsockname())
print("tried")
""",
    ),
    _(
        "io_uring",
        "make system calls past the filter by io_uring, or by another calling convention",
        """
import mmap, platform
attempt("io_uring", call, "syscall", CALL["io_uring_setup"], 8, ctypes.create_string_buffer(120))
attempt("io_setup", call, "syscall", CALL["io_setup"], 8, ctypes.byref(ctypes.c_ulong(0)))
print("tried")
""",
    ),
    _(
        "other_calls",
        "make the 32-bit system call for a fork",
        """
import mmap, platform
if platform.machine() == "x86_64":
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(b"\\xb8\\x02\\x00\\x00\\x00\\xcd\\x80\\xc3")  # mov eax, 2; int 0x80; ret
    work = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    forked = work()
    if forked > 0:
        print("LEAK: forked", forked)
    if forked == 0:
        os._exit(0)
print("tried")
""",
        may=ANY,
        broken=True,
    ),
    _(
        "x32_calls",
        "make the system call for a socket by the x32 convention",
        """
import platform
if platform.machine() == "x86_64":
    attempt("x32", call, "syscall", 0x40000000 + 41, 1, 1, 0)
print("tried")
""",
        may=ANY,
        broken=True,
    ),
]

WRITING = [
    _(
        "outside",
        "write outside of the working folder, or change what is there",
        """
import site, torch, transformer_course
kit = os.path.dirname(transformer_course.__file__)
packages = os.path.dirname(os.path.dirname(torch.__file__))
places = ["/", "/usr", "/usr/lib", "/etc", "/dev", "/dev/shm", "/dev/pts", "/proc", kit, packages]
places += [os.path.dirname(os.__file__), *sys.path[:3]]
for place in places:
    attempt(place, lambda: open(os.path.join(place, "hostile-was-here"), "w"))
for path in [kit + "/__init__.py", torch.__file__, os.__file__, sys.executable, *OUTSIDE]:
    attempt("write " + path, lambda: open(path, "r+b"))
    attempt("mode " + path, lambda: os.chmod(path, os.stat(path).st_mode))
    attempt("times " + path, lambda: os.utime(path))
    attempt("remove " + path, lambda: os.rename(path, path + "-moved"))
attempt("attribute", lambda: os.setxattr(kit, "user.hostile", b"x"))
print("tried")
""",
    ),
    _(
        "flags_and_locks",
        "lock, lease or flag the files that all submissions see",
        """
import fcntl, torch, transformer_course
GETFLAGS, SETFLAGS, FSSETXATTR, SETVERSION = 0x80086601, 0x40086602, 0x401C5820, 0x40087602
for path in (torch.__file__, transformer_course.__file__, os.__file__, "/dev/null"):
    file = os.open(path, os.O_RDONLY)
    for number in (GETFLAGS, SETFLAGS, FSSETXATTR, SETVERSION):
        attempt(hex(number), fcntl.ioctl, file, number, bytearray(28))
    for how in (fcntl.LOCK_SH, fcntl.LOCK_EX):
        attempt("flock", fcntl.flock, file, how | fcntl.LOCK_NB)
    attempt("lockf", fcntl.lockf, file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    attempt("lock of the open file", fcntl.fcntl, file, 37, bytearray(32))
    attempt("lease", fcntl.fcntl, file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    attempt("notify", fcntl.fcntl, file, fcntl.F_NOTIFY, fcntl.DN_MODIFY)
    attempt("owner", fcntl.fcntl, file, fcntl.F_SETOWN, os.getpid())
print("tried")
""",
    ),
    _(
        "devices",
        "change the machine's devices, open terminals, make nodes",
        """
for node in ("null", "zero", "full", "random", "urandom", "tty"):
    path = "/dev/" + node
    attempt("mode " + node, lambda: os.chmod(path, os.stat(path).st_mode))
    attempt("owner " + node, lambda: os.chown(path, os.getuid(), -1))
    attempt("times " + node, lambda: os.utime(path))
attempt("terminal", os.openpty)
attempt("type", lambda: __import__("fcntl").ioctl(0, 0x5412, b"x"))
attempt("node", lambda: os.mknod("disk", 0o60600, os.makedev(8, 0)))
attempt("mode of /proc", lambda: os.chmod("/proc", 0o777))
print("tried")
""",
    ),
    _(
        "links",
        "reach outside by links in the working folder",
        """
for number, path in enumerate(["/", "/etc/passwd", "/proc/1/root", *OUTSIDE]):
    os.symlink(path, f"link{number}")
    attempt(path, lambda: open(f"link{number}", "rb").read(9))
    attempt("write " + path, lambda: open(f"link{number}/hostile-was-here", "w"))
    attempt("hard link " + path, lambda: os.link(path, f"hard{number}"))
print("tried")
""",
    ),
    _(
        "shadows",
        "put modules with the names of the grader's own into the working folder",
        """
for name in ("torch", "numpy", "json", "autograder", "transformer_course", "sitecustomize"):
    open(name + ".py", "w").write("print('LEAK: imported'); raise SystemExit(0)")
    os.makedirs(name, exist_ok=True)
    open(name + "/__init__.py", "w").write("print('LEAK: imported'); raise SystemExit(0)")
sys.path.append(os.getcwd())
os.environ["PYTHONPATH"] = os.getcwd()
import importlib
importlib.invalidate_caches()
""",
        "import torch, numpy, transformer_course\nprint('tried')",
    ),
]

PROCESSES = [
    _(
        "children",
        "start processes, by every way that Python has",
        """
import multiprocessing, pty, subprocess
def start(work):
    number = work()
    if number == 0:
        os._exit(0)
    return number
attempt("fork", start, os.fork)
attempt("forkpty", lambda: start(lambda: os.forkpty()[0]))
attempt("fork by number", lambda: start(lambda: call("syscall", CALL["fork"])))
attempt("vfork", lambda: start(lambda: call("syscall", CALL["vfork"])))
attempt("clone", lambda: start(lambda: call("syscall", CALL["clone"], 17, 0, 0, 0, 0)))
attempt("clone3", call, "syscall", CALL["clone3"], 0, 0)
attempt("exec", os.execv, sys.executable, [sys.executable, "-c", "print('LEAK')"])
attempt("spawn", os.posix_spawn, sys.executable, [sys.executable, "-c", ""], {})
attempt("subprocess", subprocess.run, [sys.executable, "-c", ""])
attempt("shell", subprocess.run, "true", shell=True)
attempt("process", multiprocessing.Process(target=print).start)
attempt("pool", multiprocessing.Pool, 2)
for method in ("spawn", "forkserver"):
    attempt(method, multiprocessing.get_context(method).Process(target=print).start)
if os.system("true") == 0:
    print("LEAK: a shell")
print("tried")
""",
    ),
    _(
        "threads",
        "start threads without end",
        """
threading.stack_size(1 << 16)
waiting = threading.Event()
started = []
try:
    while len(started) < 20_000:
        started.append(threading.Thread(target=waiting.wait, daemon=True))
        started[-1].start()
    print("LEAK: threads", len(started))
except (RuntimeError, MemoryError) as error:
    print(error)
waiting.set()
""",
        may=ANY,
        broken=True,
        timeout=1,
    ),
]

MEMORY = [
    _(
        "bytes",
        "take all memory, slowly",
        """
held = []
while len(held) < 1024:
    held.append(bytearray(1 << 20))
print("LEAK:", len(held))
""",
        "held.clear()",
        may=ANY,
        timeout=3,
    ),
    _(
        "tensors",
        "take all memory, at once",
        """
import torch
attempt("torch", torch.zeros, 1 << 30)
attempt("python", lambda: bytearray(1 << 40))
print("tried")
""",
    ),
    _(
        "shared_memory",
        "take memory that is not counted as this process's own",
        """
import mmap
from multiprocessing import shared_memory
held = []
def take():
    while len(held) < 20:
        held.append(mmap.mmap(-1, 32 << 20))
        held[-1][:: 4096] = bytes(len(held[-1][:: 4096]))
attempt("mmap", take)
held.clear()
attempt("memfd", lambda: os.memfd_create("x"))
attempt("shared_memory", lambda: shared_memory.SharedMemory(create=True, size=1 << 20))
for name in ("shmget", "msgget", "semget"):
    attempt(name, call, name, 0, 1 << 20, 0o1600)
print("tried")
""",
        timeout=1,
    ),
    _(
        "disk",
        "fill the working folder, by a file, by many and by holes",
        """
data = bytes(1 << 20)
def fill(name, most=64):
    with open(name, "wb") as file:
        for _ in range(most):
            file.write(data)
attempt("one file", fill, "file")
attempt("files", lambda: [fill(f"part{i}", 4) for i in range(16)])
attempt("hole", lambda: os.truncate("part0", 1 << 40))
attempt("allocate", lambda: os.posix_fallocate(os.open("x", os.O_RDWR | os.O_CREAT), 0, 1 << 30))
print("tried")
""",
        timeout=1,
    ),
    _(
        "inodes",
        "make small files without end",
        """
def many():
    for i in range(20_000):
        os.close(os.open(f"empty{i}", os.O_CREAT))
attempt("files", many)
print("tried")
""",
        timeout=2,
    ),
    _(
        "buffers",
        "fill the buffers of pipes and sockets",
        """
import fcntl, socket
ends = []
def fill(pair):
    ends.append(pair)
    writing = pair[1] if isinstance(pair[1], int) else pair[1].fileno()
    try:
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 1 << 20)
    except OSError:
        pass
    os.set_blocking(writing, False)
    try:
        while True:
            os.write(writing, bytes(1 << 16))
    except OSError:
        pass
def all_pipes():
    for _ in range(1000):
        fill(os.pipe())
def all_sockets():
    for _ in range(1000):
        fill(socket.socketpair())
attempt("pipes", all_pipes)
for pair in ends:
    for end in pair:
        os.close(end)
ends.clear()
attempt("sockets", all_sockets)
ends.clear()
print("tried")
""",
        timeout=2,
    ),
]

OUTPUT = [
    _(
        "prints",
        "print without end",
        """
for _ in range(1000):
    print("x" * 1_000_000)
""",
        timeout=2,
    ),
    _(
        "lines",
        "print many short lines to both streams by turns",
        """
for _ in range(20_000):
    print("o")
    print("e", file=sys.stderr)
    sys.stdout.write("")
    sys.stderr.write("")
""",
        may=ANY,
        timeout=1,
    ),
    _(
        "displays",
        "display without end",
        """
from IPython.display import HTML, display
for _ in range(3000):
    display(HTML("x" * 10_000))
""",
        may=ANY,
        timeout=2,
    ),
    _(
        "tracebacks",
        "fail with a huge traceback",
        "raise ValueError('x' * 50_000_000)",
        "def deep(n):\n    return 1 / 0 if n == 0 else deep(n - 1)\ndeep(900)",
        may=ANY,
        broken=True,
        timeout=2,
    ),
    _(
        "descriptors",
        "write to the descriptors of standard output and error, past Python",
        """
for _ in range(200):
    os.write(1, b"x" * 1_000_000)
    os.write(2, b"x" * 1_000_000)
libc.puts(b"x" * 1_000_000)
libc.perror(b"x" * 1_000_000)
print("tried")
""",
    ),
    _(
        "logs",
        "fill the log: logging, warnings, faulthandler, and what Python says at its end",
        """
import faulthandler, logging, warnings
logging.basicConfig(level=0, stream=sys.__stderr__, force=True)
for i in range(2000):
    logging.error("x" * 10_000)
    warnings.warn("x" * 1000 + str(i))
sys.__stdout__.write("x" * 10_000_000)
faulthandler.enable(file=sys.__stderr__, all_threads=True)
sys.excepthook = sys.unraisablehook = None
print("tried")
""",
        timeout=2,
    ),
    _(
        "numbers",
        "print a number of ten million digits",
        "sys.set_int_max_str_digits(0)\nprint(10**10**7)",
        may=ANY,
        timeout=0.3,
    ),
    _(
        "number_answer",
        "answer with a number of ten million digits",
        "sys.set_int_max_str_digits(0)",
        half="def half(x):\n    return 10**10**6",
        may=ANY,
        timeout=1,
    ),
    _(
        "broken_text",
        "print what is no text, and show what cannot be shown",
        """
print("\\ud800\\udfff\\x00\\x1b]0;title\\x07")
class Odd:
    def __repr__(self):
        return "\\udc80"
    def _repr_html_(self):
        return "\\ud800"
    def _repr_png_(self):
        return b"no picture"
    def _repr_json_(self):
        return {"a": float("nan"), 1: {2, 3}}
Odd()
""",
        "from IPython.display import display\ndisplay({'text/plain': 3, 4: 5}, raw=True)",
        may=ANY,
        broken=True,
    ),
]

LOOPS = [
    _("loop", "loop for ever", "while True:\n    pass", may=STOPPED, timeout=0.3),
    _(
        "c_loop",
        "loop in C, where no signal is seen",
        "sum(range(10**12))",
        may=STOPPED,
        timeout=0.3,
    ),
    _(
        "regular_expression",
        "a regular expression that needs for ever",
        "import re\nre.match(r'(a|aa)+$', 'a' * 90 + 'b')",
        may=STOPPED,
        timeout=0.3,
    ),
    _(
        "swallows",
        "loop for ever, and swallow the interrupt",
        """
while True:
    try:
        while True:
            pass
    except BaseException:
        pass
""",
        may=STOPPED,
        timeout=0.3,
    ),
    _(
        "deaf",
        "loop for ever, and ignore signals",
        """
import signal
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
while True:
    pass
""",
        may=STOPPED,
        timeout=0.3,
    ),
    _(
        "loop_in_a_check",
        "loop for ever when a check calls",
        half="def half(x):\n    while True:\n        pass",
        may=STOPPED,
        timeout=0.3,
    ),
    _("sleeps", "wait for ever", "time.sleep(10**6)", may=STOPPED, timeout=0.3),
    _(
        "waits",
        "wait for ever, in C, with signals blocked",
        """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
os.read(os.pipe()[0], 1)
""",
        may=STOPPED,
        timeout=0.5,
    ),
    _(
        "busy_threads",
        "compute on all cores, past the time of one",
        """
import hashlib
def work():
    while True:
        hashlib.sha256(bytes(1 << 20))
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
threading.Event().wait()
""",
        may=STOPPED,
        timeout=0.3,
    ),
]

ENDINGS = [
    _("exit", "end Python with success", "os._exit(0)", may=ENDS),
    _("sys_exit", "exit as programs do", "sys.exit(0)", "exit()", "raise SystemExit", broken=True),
    _("segfault", "read where there is nothing", "ctypes.string_at(0)", may=ENDS),
    _("abort", "abort", "os.abort()", may=ENDS),
    _(
        "kills",
        "kill every process in reach: its own group, all, its parent, process 1",
        """
import signal
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGSTOP, signal.SIGKILL):
    for process in (0, -1, os.getppid(), 1, 2, 3, -os.getpgid(0)):
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            os.kill(process, number)
        except OSError as error:
            print(error)
os.killpg(0, signal.SIGKILL)
""",
        may=ANY,
    ),
    _(
        "as_if_killed",
        "end as if something outside had killed it, and so be executed again and again",
        """
import resource, signal
class Event(ctypes.Structure):
    _fields_ = [("value", ctypes.c_void_p), ("signal", ctypes.c_int), ("notify", ctypes.c_int)]
    _fields_ += [("more", ctypes.c_int * 12)]
timer = ctypes.c_void_p()
attempt("timer", call, "timer_create", 0, ctypes.byref(Event(0, 9, 0)), ctypes.byref(timer))
attempt("seconds", resource.setrlimit, resource.RLIMIT_CPU, (0, 0))
attempt("parent", call, "prctl", 1, 9, 0, 0, 0)
for kill in (os.kill, os.killpg, signal.pthread_kill):
    try:
        kill(threading.get_ident() if kill is signal.pthread_kill else os.getpid(), signal.SIGKILL)
    except OSError as error:
        print("refused:", error)
print("tried")
""",
    ),
    _(
        "closes",
        "close all files",
        "os.closerange(0, 1 << 16)",
        may=ENDS,
    ),
    _(
        "covers",
        "put other files in the place of all that are open",
        """
null = os.open("/dev/null", os.O_RDWR)
receive, send = os.pipe()
for descriptor in files():
    os.dup2(send if descriptor % 2 else null, descriptor)
""",
        may=ENDS,
    ),
    _(
        "fills_the_channel",
        "shut the channel down in one direction",
        """
import socket
for descriptor in files()[3:]:
    socket.socket(fileno=os.dup(descriptor)).shutdown(socket.SHUT_RD)
""",
        may=ENDS,
    ),
    _(
        "raises_from_the_limit",
        "raise the limits, and stay when the parent ends",
        """
import resource
for name in ("AS", "CPU", "FSIZE", "NOFILE"):
    kind = getattr(resource, "RLIMIT_" + name)
    soft, hard = resource.getrlimit(kind)
    attempt(name, resource.setrlimit, kind, (hard + 1, hard + 1))
    attempt(name + " without end", resource.setrlimit, kind, (-1, -1))
    if hard == resource.RLIM_INFINITY:
        print("LEAK: no limit of", name)
attempt("nice", os.nice, -5)
attempt("nicer", os.setpriority, os.PRIO_USER, 0, 19)
attempt("real time", os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(9))
libc.prctl(1, 0, 0, 0, 0)
libc.prctl(4, 1, 0, 0, 0)
print("tried")
""",
    ),
    _(
        "dumps_core",
        "dump core into the working folder, and where the machine keeps cores",
        """
import resource
libc.prctl(4, 1, 0, 0, 0)
attempt("core", resource.setrlimit, resource.RLIMIT_CORE, (1 << 30, 1 << 30))
ctypes.string_at(0)
""",
        may=ENDS,
    ),
]

KERNEL = [
    _(
        "privileges",
        "become another user, enter or make namespaces, mount, change the root",
        """
flags = (0x10000000, 0x20000, 0x20000000, 0x40000000, 0x8000000, 0x4000000, 0x2000000)
for flag in flags:
    attempt(f"unshare {flag:x}", call, "unshare", flag)
attempt("setns", call, "setns", 0, 0)
attempt("mount", call, "mount", b"tmpfs", b"/submission", b"tmpfs", 0, None)
attempt("remount", call, "mount", None, b"/", None, 32, None)
for path in (b"/proc", b"/submission", b"/dev/pts", b"/dev/null"):
    attempt("unmount", call, "umount2", path, 2)
attempt("chroot", os.chroot, ".")
for number in (0, 1, 65534):
    attempt("user", os.setuid, number)
    attempt("group", os.setgid, number)
attempt("groups", os.setgroups, [0])
attempt("name", call, "sethostname", b"x", 1)
attempt("clock", lambda: time.clock_settime(0, 0))
print("tried")
""",
    ),
    _(
        "other_processes",
        "read and steer processes: ptrace, their memory, their files",
        """
for request in (0, 16, 0x4206):
    attempt("ptrace", call, "ptrace", request, 1, 0, 0)
buffer = ctypes.create_string_buffer(64)
vector = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 64)
for name in ("process_vm_readv", "process_vm_writev"):
    attempt(name, call, name, 1, vector, 1, vector, 1, 0)
for name in ("pidfd_getfd", "kcmp", "process_madvise"):
    attempt(name, call, "syscall", CALL[name], 1, 1, 0, 0, 0)
for process in range(2, 400):
    try:
        os.kill(process, 0)
        print("LEAK: a process", process)
    except OSError:
        pass
print("tried")
""",
    ),
    _(
        "own_memory",
        "open its own memory as a file",
        """
attempt("memory for writing", lambda: open("/proc/self/mem", "r+b"))
print("tried")
""",
    ),
    _(
        "prctl",
        "undo what was given up: privileges, filter, capabilities",
        """
for option, argument in ((38, 0), (22, 0), (24, 0), (28, 0), (35, 1), (47, 2)):
    attempt(f"prctl {option}", call, "prctl", option, argument, 5, 0, 0)
attempt("seccomp", call, "syscall", CALL["seccomp"], 1, 8, 0)
attempt("personality", call, "personality", 0x40000)
header = (ctypes.c_uint32 * 2)(0x20080522, 0)
attempt("capset", call, "capset", header, (ctypes.c_uint32 * 6)(*[0xFFFFFFFF] * 6))
print("tried")
""",
    ),
]

DEPTH = [
    _(
        "recursion",
        "recurse without end, in Python and in C",
        """
import pickle
def deep():
    return deep()
nested = []
for _ in range(10**5):
    nested = [nested]
attempt("python", deep)
attempt("repr", repr, nested)
attempt("json", json.dumps, nested)
attempt("json back", json.loads, "[" * 10**6)
attempt("pickle", pickle.dumps, nested)
attempt("compile", compile, "(" * 10**5 + ")" * 10**5, "x", "eval")
attempt("eval", eval, "-" * 10**6 + "1")
print("tried")
""",
        may=ANY,
        timeout=1,
    ),
    _(
        "no_recursion_limit",
        "recurse past the end of the stack",
        """
sys.setrecursionlimit(10**9)
def deep(n):
    return [deep(n + 1)]
class Deep:
    def __repr__(self):
        return repr([self])
repr(Deep())
deep(0)
""",
        may=ANY,
        timeout=1,
    ),
    _(
        "deep_answer",
        "answer with what is nested without end, or in itself",
        half="""
def half(x):
    nested = []
    for _ in range(10**5):
        nested = [nested]
    itself = {}
    itself["itself"] = itself
    return nested if isinstance(x, float) else itself
""",
        may=ANY,
    ),
    _(
        "large_answer",
        "answer with more than a message may hold",
        half="import torch\ndef half(x):\n    return torch.zeros(10**7, dtype=torch.float64)",
        may=ANY,
        timeout=2,
    ),
]

EXOTIC = [
    _(
        "streams",
        "put garbage in the place of standard output",
        "sys.stdout = sys.stderr = sys.__stdout__ = 3",
        "print('x')",
        broken=True,
    ),
    _(
        "no_builtins",
        "remove the builtins",
        "del __builtins__.print\nimport builtins\nfor name in ('len', 'range', 'open', 'type'):\n"
        "    delattr(builtins, name)",
        may=ANY,
        broken=True,
    ),
    _(
        "no_modules",
        "empty the modules and the path",
        "sys.modules.clear()\nsys.path.clear()",
        "import torch",
        may=ANY,
        broken=True,
    ),
    _(
        "time",
        "stop the clocks",
        "time.time = time.monotonic = time.perf_counter = time.process_time = lambda: 0.0\n"
        "print('tried')",
    ),
    _(
        "random",
        "fix every random state",
        """
import random, numpy as np, torch
random.seed = np.random.seed = torch.manual_seed = lambda *args: None
torch.get_rng_state = lambda: torch.zeros(5056, dtype=torch.uint8)
torch.set_rng_state = lambda state: None
torch.set_default_dtype(torch.float16)
torch.set_grad_enabled(False)
print("tried")
""",
        may=ANY,
    ),
    _(
        "warnings",
        "make warnings errors",
        "import warnings\nwarnings.simplefilter('error')\nwarnings.warn('x')",
        broken=True,
    ),
    _(
        "audit",
        "an audit hook that refuses everything",
        """
def refuse(event, args):
    if refusing:
        raise RuntimeError(event)
refusing = False
sys.addaudithook(refuse)
refusing = True
""",
        may=ANY,
        broken=True,
    ),
    _(
        "collector",
        "collect garbage at every step, fault handlers, no hash seeds",
        """
import faulthandler, gc
gc.set_threshold(1, 1, 1)
faulthandler.dump_traceback_later(0.01, exit=True)
for _ in range(100):
    gc.freeze()
    time.sleep(0.001)
""",
        may=ANY,
        broken=True,
    ),
    _(
        "magics",
        "IPython's magics and the commands of the system",
        "!touch /tmp/hostile-was-here; id",
        "%%bash\necho LEAK",
        "%%script python3\nprint('LEAK')",
        "%cd /\n%reset -f\n%config InteractiveShell.xmode = 'Verbose'",
        "%load_ext autoreload\n%autoreload 2\n%xdel nothing",
        broken=True,
    ),
    _(
        "folder",
        "leave the working folder, and remove it",
        """
import shutil
attempt("remove", lambda: os.rmdir("/submission"))
shutil.rmtree("/submission", ignore_errors=True)
os.chmod("/submission", 0)
os.chdir("/")
print("tried")
""",
    ),
    _(
        "asks_for_input",
        "wait for somebody who types",
        "input()",
        "breakpoint()",
        "import getpass; getpass.getpass()",
        may=ANY,
        broken=True,
        timeout=0.3,
    ),
    _(
        "names_of_checks",
        "define the exercise as something else than a function",
        half="half = type('half', (), {'__new__': lambda cls, x: x})",
    ),
    _(
        "variables_of_the_shell",
        "a namespace whose values lie",
        """
class Lying(dict):
    def __getitem__(self, name):
        return True
    def __contains__(self, name):
        return True
get_ipython().user_ns = Lying()
""",
        may=ANY,
        broken=True,
    ),
    _(
        "values_that_resist",
        "fail in an expression whose values do harm when a report looks at them",
        half="""
import torch
from torch import nn
class Sly(torch.Tensor):
    def no(self, *args):
        raise KeyboardInterrupt
    shape = dtype = __class__ = property(no)
    __format__ = __repr__ = __str__ = no
class Endless(nn.Module):
    @property
    def __dict__(self):
        raise KeyboardInterrupt
class Wide(nn.Linear):
    def __getattribute__(self, name):
        raise RecursionError(name)
sly, endless, huge = torch.ones(2).as_subclass(Sly), Endless(), 10 ** 10**5
try:
    wide = Wide(1, 1)
except RecursionError:
    wide = Wide.__new__(Wide)
def half(x):
    return [sly, endless.w, wide.weight, huge, sly.a][9]
""",
    ),
    _(
        "forged_traceback",
        "raise an error whose traceback points to lines and positions that do not exist",
        half="""
import sys, types
def half(x):
    try:
        raise ValueError("x")
    except ValueError as error:
        frame = sys._getframe()
        forged = None
        for last, line in ((10**9, 1), (0, 10**9), (-2, -5), (10**6, 0)):
            try:
                forged = types.TracebackType(forged, frame, last, line)
            except (ValueError, OverflowError):
                pass
        raise error.with_traceback(forged)
""",
    ),
    _(
        "another_time",
        "give a wrong number first, and something else when asked the same again",
        half="""
import itertools, torch
given = itertools.cycle([lambda x: x + 0, lambda x: (), lambda x: x + 0, lambda x: None,
                         lambda x: x + 0, lambda x: exit(), lambda x: x + 0, lambda x: "x" * 10**6,
                         lambda x: x + 0, lambda x: torch.zeros(10**6)])
def half(x):
    return next(given)(x)
""",
    ),
    _(
        "later_for_ever",
        "give a wrong number first, and never return when asked the same again",
        half="""
asked = []
def half(x):
    asked.append(x)
    while len(asked) > 1:
        pass
    return x + 0
""",
        may=STOPPED,
    ),
    _(
        "await",
        "leave tasks running in an event loop",
        """
import asyncio
async def for_ever():
    while True:
        await asyncio.sleep(0.001)
task = asyncio.ensure_future(for_ever())
await asyncio.sleep(0.01)
print("tried")
""",
    ),
]

BANK = [
    *FORGED,
    *FRAMES,
    *READING,
    *NETWORK,
    *WRITING,
    *PROCESSES,
    *MEMORY,
    *OUTPUT,
    *LOOPS,
    *ENDINGS,
    *KERNEL,
    *DEPTH,
    *EXOTIC,
]
