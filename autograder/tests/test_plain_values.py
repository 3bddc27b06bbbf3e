"""Texts, numbers, lists and dictionaries as results: read, compared, told apart, limited."""

import collections
import enum
import inspect
import itertools
import resource
import time

import numpy as np
import pytest
import torch
from torch import Tensor
from transformer_course.checks import CheckFailed, misconceptions, results
from transformer_course.checks.fingerprints import fingerprint
from transformer_course.checks.misconceptions import clue, same_clue
from transformer_course.checks.plain_differences import contrast, difference, same
from transformer_course.checks.plain_symptoms import symptom

from autograder.execution.executor import Executor
from autograder.tests.test_checks import failure, run
from autograder.tests.test_isolation import executed, judged, said

Pair = collections.namedtuple("Pair", "left right")
Level = enum.IntEnum("Level", "LOW HIGH")


class Text(str):
    """A text of a student's own class."""

    __slots__ = ()


def seen(expected, actual) -> str:
    """The labelled texts of a failure, in one line."""
    found = difference(actual, expected)
    assert found
    return "; ".join(f"{label} {text}" for label, text in contrast(expected, actual, found).items())


# --- read -----------------------------------------------------------------------------------

READ = {
    "Counter": (collections.Counter({(97, 98): 3}), {(97, 98): 3}),
    "defaultdict": (collections.defaultdict(int, a=1), {"a": 1}),
    "OrderedDict": (collections.OrderedDict(a=[b"\xff"]), {"a": [b"\xff"]}),
    "named tuple": ([Pair(1, 2)], [(1, 2)]),
    "Size": (torch.Size([2, 3]), (2, 3)),
    "numbers of NumPy": ({np.int64(3): (np.float64(0.5), np.bool_(True))}, {3: (0.5, True)}),
    "tensors of one number": ([torch.tensor(3), np.array(2.5)], [3, 2.5]),
    "keys that are tensors": ({torch.tensor(3): 1}, {3: 1}),
    "classes of one's own": ([Text("a"), Level.HIGH], ["a", 2]),
    "as it is": ({"a": [None, True, 1, 1.5, b"", ()]}, {"a": [None, True, 1, 1.5, b"", ()]}),
}


@pytest.mark.parametrize("name", READ)
def test_values_are_read_in_pythons_own_types(name):
    value, expected = READ[name]
    assert repr(results.read(value)) == repr(expected)


def test_numbers_become_of_the_kind_that_is_asked_for():
    assert repr(results.read(3, float)) == "3.0"
    assert repr(results.read(torch.tensor(3.0), int)) == "3"
    assert repr(results.read(2.5, int)) == "2.5"
    assert repr(results.read(float("inf"), int)) == "inf"
    assert repr(results.read(True, int)) == "True"
    assert repr(results.read(1 << 3000, float)) == repr(1 << 3000)


# --- compared -------------------------------------------------------------------------------

EQUAL = [
    ([1, 2.0], [1.0, 2]),
    ([0.1 + 0.2], [0.3]),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ({(97, 98): [b"a"]}, collections.Counter({(97, 98): [b"a"]})),
    ([torch.ones(2)], [torch.ones(2)]),
    (float("inf"), float("inf")),
    (None, None),
]
DIFFERENT = [0, 0.5, False, True, 1, "", b"", [], (), {}, None, [0], [[]], [()], (None,)]
DIFFERENT += ["0", b"0", {0: 1}, {False: 1}, {(0,): 1}, [1, 0], [0, 1], "01", {1: 0}, 1 << 4000]


@pytest.mark.parametrize("pair", EQUAL)
def test_equal_values_are_equal(pair):
    assert same(*pair)
    assert same(*pair[::-1])


def test_no_two_other_values_are_equal_or_spelled_alike():
    for one, other in itertools.permutations([*DIFFERENT, 0.0], 2):
        zeros = {type(one), type(other)} == {int, float} and one == other
        assert same(one, other) is zeros
        assert fingerprint(one) != fingerprint(other)


def test_numbers_may_differ_within_what_a_check_says():
    assert same({"a": [1.0, 2]}, {"a": [1.04, 2.0]}, within=0.05)
    assert not same({"a": [1.0]}, {"a": [1.06]}, within=0.05)
    assert not same([True], [1], within=2)
    assert not same([1 << 4000], [0.5], within=2)


# --- the first difference -------------------------------------------------------------------

LONG = [(i, i + 1) for i in range(500)]
COUNTS = {(i, i + 1): i for i in range(500)}
SEEN = {
    "inside": (
        [[1], [2], [3], [4, 5]],
        [[1], [2], [3], [4, 6]],
        ["at [3][1];", "expected [[1], [2]", "[4, 6]]"],
    ),
    "in a long list": (
        LONG,
        [*LONG[:300], (300, 7), *LONG[301:]],
        ["at [300][1];", "[… (298, 299), (299, 300), (300, 301)", "(300, 7), (301"],
    ),
    "at a key": ({(97, 98): 3}, {(97, 98): 4}, ["at key (97, 98);", "got {(97, 98): 4}"]),
    "at a key of many": (
        COUNTS,
        COUNTS | {(7, 8): 0},
        ["at key (7, 8);", "{…, (7, 8): 7, …}", "{…, (7, 8): 0, …}"],
    ),
    "keys": (
        {1: 2, 3: 4, 5: 6},
        {1: 2, 7: 8},
        ["at missing key 3 and 1 more; unexpected key 7;", "{1: 2, 3: 4, 5: 6}"],
    ),
    "keys of many": (COUNTS, {}, ["missing key (0, 1) and 499 more", "got {}"]),
    "keys within": ([{1: 2}], [{}], ["at [0]: missing key 1;"]),
    "length": ([1] * 7, [1] * 5, ["at [5]; length 5, expected 7;"]),
    "length and item": ([1, 2, 3], [1, 4], ["at [1]; length 2, expected 3;"]),
    "length within": ([[1, 2]], [[1]], ["at [0][1]; [0] has length 1, expected 2;"]),
    "a list for a tuple": ([(97, 98)], [[97, 98]], ["at [0]; a list, expected a tuple;"]),
    "a text for bytes": ([b"a"], ["a"], ["at [0]; a text, expected bytes;"]),
    "True for 1": ([1], [True], ["at [0];", "got [True]"]),
    "a key that is True": ({1: 2}, {True: 2}, ["missing key 1; unexpected key True"]),
    "in a text": ("a" * 400, "a" * 200 + "ä" + "a" * 199, ["at [200];", "… 'aaaa", "aäa"]),
    "in bytes": (b"\0\1", b"\0\2", [r"at [1];", r"expected b'\x00\x01'", r"got b'\x00\x02'"]),
    "one long item": (["b" * 500], ["b" * 499 + "c"], ["at [0][499];", "bc'"]),
    "many long items": ([["x" * 500] * 9], [["x" * 500] * 8 + [1]], ["at [0][8]; a whole number"]),
    "None": ([None], [3], ["at [0];", "expected [None]", "got [3]"]),
}


@pytest.mark.parametrize("name", SEEN)
def test_the_first_difference_is_told_with_its_place(name):
    expected, actual, fragments = SEEN[name]
    message = seen(expected, actual)
    for fragment in fragments:
        assert fragment in message
    assert len(message) < 1200


# --- symptoms -------------------------------------------------------------------------------

WORDS = ["the", "cat", "the", "mat"]
MERGES = [(97, 98), (256, 99), (1, 2)]
SYMPTOMS = {
    "the result is empty": ({}, {"a": 1}),
    "the result is in reverse order": (WORDS[::-1], WORDS),
    "the first one is missing": ("bcd", "abcd"),
    "the last one is missing": (MERGES[:-1], MERGES),
    "there is one too many at the beginning": (b"abc", b"bc"),
    "there is one too many at the end": ([*MERGES, (3, 4)], MERGES),
    "only the first 2 of 4 are there": (WORDS[:2], WORDS),
    "only the last 2 of 4 are there": (WORDS[2:], WORDS),
    "there are 2 too many at the end": ([*WORDS, "a", "b"], WORDS),
    "there are 2 too many at the beginning": (["a", "b", *WORDS], WORDS),
    "the same ones, in another order": (["cat", "the", "mat", "the"], WORDS),
    "only capital letters differ": ("a cat", "A cat"),
    "only spaces between the words or at the ends differ": (" a  cat", "a cat"),
    "only spaces differ": (b"acat", b"a cat"),
    "each one is there once only, where the expected result repeats some": (
        ["the", "cat", "mat"],
        ["the", "cat", "mat", "the", "cat"],
    ),
    "each inner list or tuple is in reverse order": ([(2, 1), (4, 3)], [(1, 2), (3, 4)]),
    "the same values in the same order, but nested differently": ([1, 2, 3], [[1, 2], [3]]),
    "the result is as expected, but for lists in place of tuples": (
        {"a": [[1, 2], (3,)]},
        {"a": [(1, 2), (3,)]},
    ),
    "the result is as expected, but for tuples in place of lists": (((1,), (2,)), [[1], [2]]),
    "the result is as expected, but for texts in place of bytes": (["ä"], ["ä".encode()]),
    "the result is as expected, but for bytes in place of texts": ({b"a": 1}, {"a": 1}),
    "every number is 2 times the expected one": ([2, 6], [1, 3]),
    "every number is -1 times the expected one": ([-1.5, 2.0], [1.5, -2.0]),
    "every number is 1 more than expected": ([1, 4, 6, 2], [0, 3, 5, 1]),
    "every number is 0.5 less than expected": ([0.5, 2.5, 1.0], [1.0, 3.0, 1.5]),
    "every value is 0.5 times the expected one": ({"a": 1, "b": 2}, {"b": 4, "a": 2}),
    "every value is 1": ({"a": 1, "b": 1, "c": 1}, {"a": 2, "b": 1, "c": 5}),
    "1 of 3 keys missing, all else as expected": ({1: 2, 3: 4}, {1: 2, 3: 4, 5: 6}),
    "2 keys too many, all else as expected": ({1: 2, 3: 4, 5: 6}, {1: 2}),
    "each key is in reverse order, all else as expected": ({(1, 2): 3}, {(2, 1): 3}),
    "keys and values are swapped": ({3: (1, 2)}, {(1, 2): 3}),
}
# of which nothing can be said
SILENT = [
    ([1, 2, 3], [4, 1, 9]),
    ([4], [2]),
    ({"a": 4}, {"a": 2}),
    ([1, 1], [3, 3]),
    ({(1, 2): 3}, {(1, 3): 3}),
    ({(1, 2): 3, (2, 1): 4}, {(1, 2): 4, (2, 1): 4}),
    ({"a": 1, "b": 1}, {1: "b"}),
    ("a dog", "a cat"),
    (3, 5),
    (None, [1, 2]),
    ([True, False], [False, True, True]),
    ([float("inf"), 1.0, 2.0], [1.0, 2.0, 3.0]),
    ([1 << 4000, 2.5, 1], [1, 2.5, 3]),
    ([0, 0, 0, 1], [1, 0, 2, 0]),
]


@pytest.mark.parametrize("sentence", SYMPTOMS)
def test_what_a_wrong_value_has_in_common_with_the_expected_one_is_said(sentence):
    assert symptom(*SYMPTOMS[sentence]) == sentence


@pytest.mark.parametrize("pair", SILENT)
def test_nothing_is_said_where_no_law_holds(pair):
    assert symptom(*pair) == ""


# --- fingerprints ---------------------------------------------------------------------------


def left_by(value):
    """The clue that a wrong answer leaves which returns this."""
    return clue("a check", "a law", [[fingerprint(results.read(value))]])


def test_a_clue_of_any_length_tells_values_apart():
    for one in (LONG, COUNTS, "a" * 500, bytes(500), [0.5] * 500, [b"\xff", None] * 90):
        for other in _with_its_last_changed(one):
            assert same_clue(left_by(one), left_by(one))
            assert not same_clue(left_by(one), left_by(other))


def _with_its_last_changed(value):
    if isinstance(value, dict):
        return [value | {(499, 500): 7}, {**value, (7, 499): 0}]
    last = {str: "b", bytes: b"\1", list: [0.25]}[type(value)]
    return [value[:-1] + last, value + last, value[:-1]]


def test_equal_values_leave_one_clue():
    assert same_clue(left_by({"a": 1, "b": 0.3}), left_by({"b": 0.1 + 0.2, "a": 1}))
    assert same_clue(left_by([Pair(1, 2)]), left_by([(np.int64(1), torch.tensor(2))]))
    assert same_clue(left_by([1 / 3] * 99), left_by([1 / 3 + 1e-12] * 99))
    assert same_clue(left_by([float("inf")] * 99), left_by([float("inf")] * 99))
    assert not same_clue(left_by([0.5, 1]), left_by([1, 0.5]))
    assert not same_clue(left_by([[1], 2]), left_by([1, [2]]))
    assert not same_clue(left_by([[1], 2]), left_by([[1, 2]]))
    assert not same_clue(left_by({1: 2, 3: [4]}), left_by({1: 2, 3: []}))
    assert not same_clue(left_by(["a", "b"]), left_by(["ab", ""]))


def test_a_clue_of_before_fingerprints_is_nobodys():
    old = clue("a check", "a law", [[torch.tensor([1.0])]])
    assert not same_clue(old, left_by(1.0))


TOKENS = """
with Check("mix", "tokens") as check:
    check.equal(check.call("abab", returns=list), [(97, 98), (97, 98)], "the pairs")
"""
LISTS = """
with Check("mix", "pairs") as check:
    check.call("abab", returns={"pairs": dict, "most": bytes})
"""


def test_a_misconception_is_known_by_a_plain_value(monkeypatch):
    wrong = "def mix(text):\n    return [(97, 98)]"
    with pytest.raises(CheckFailed) as failed:
        run(wrong, TOKENS)
    known = {"mix": [{**failed.value.clue, "says": "Each pair counts."}]}  # type: ignore[dict-item]
    monkeypatch.setattr(misconceptions, "_known", lambda: known)
    assert "looks like   Each pair counts." in failure(wrong, TOKENS)
    for other in ("[(97, 99)]", "[(98, 97)]", "[[97, 98]]", "[(97, 98, 97)]", "[]", "['ab']"):
        assert "looks like" not in failure(f"def mix(text):\n    return {other}", TOKENS)


# --- checks, beside the work and apart --------------------------------------------------------


@pytest.fixture(scope="module")
def executor():
    with Executor(sandboxed=False) as executor:
        yield executor


def asked(kind: str, wanted: str) -> str:
    """A check that asks for a value of a kind and compares it."""
    return f"""
from torch import Tensor
with Check("mix", "a value") as check:
    check.equal(check.call({{(1, 2): b"a"}}, returns={kind}), {wanted}, "as expected")
"""


PARTS = """
from torch import Tensor
with Check("mix", "a pair") as check:
    value, vector = check.call(numbers(3), returns={"eigenvalue": float, "vector": Tensor})
    check.equal(value, 2.0, "two")
    check.equal(vector, numbers(3), "the vector")
"""
# a check, a right answer, a wrong one, and what it is told, in pieces
APART = {
    "bytes": (
        asked("bytes", 'b"a"'),
        "return words[1, 2]",
        "return 'a'",
        "expected bytes, got a text: 'a'|hint .encode() makes bytes of a text",
    ),
    "a tuple": (
        asked("tuple", '(b"a", (1, 2))'),
        "import collections; Two = collections.namedtuple('Two', 'a b'); return Two(b'a', (1, 2))",
        "return [b'a', (1, 2)]",
        "expected a tuple, got a list: [b'a', (1, 2)]|hint tuple(…) makes a tuple of a list",
    ),
    "a counter": (
        asked("dict", "{(1, 2): 3, b'a': 1}"),
        "import collections; return collections.Counter({b'a': 1, (1, 2): 3})",
        "return {(1, 2): 6, b'a': 2}",
        "note every value is 2 times the expected one",
    ),
    "a list of pairs": (
        asked("list", "[(1, 2)]"),
        "return list(words)",
        "return [list(pair) for pair in words]",
        "at [0]; a list, expected a tuple",
    ),
    "a tensor for a list": (
        asked("list", "[1, 2]"),
        "return [1, 2]",
        "return torch.tensor([1, 2])",
        "expected a list, got a tensor [1, 2]|hint .tolist() makes a list of a tensor",
    ),
    "an array for a list": (
        asked("list", "[1, 2]"),
        "return [1, 2]",
        "return torch.tensor([1, 2]).numpy()",
        "hint .tolist() makes a list of an array",
    ),
    "a set for a list": (
        asked("list", "[1, 2]"),
        "return [1, 2]",
        "return {1, 2}",
        "expected a list, got a set",
    ),
    "a key that is a list": (
        asked("dict", "{1: 2}"),
        "return {1: 2}",
        "of = {'__hash__': lambda _: 1, '__module__': 'builtins'}; "
        "return {type('Key', (list,), of)(): 2}",
        "missing key 1; unexpected key a Key",
    ),
    "NaN within": (
        asked("list", "[0.5]"),
        "return [0.5]",
        "return [float('nan')]",
        "the result holds NaN",
    ),
    "a large whole number": (
        asked("int", "3"),
        "return torch.tensor(3)",
        "return 10**40",
        f"got {10**40}",
    ),
    "parts": (
        PARTS,
        "return torch.tensor(2), words",
        "return 3, words",
        "expected 2 got 3",
    ),
    "a part of another kind": (
        PARTS,
        "return [2, words]",
        "return words, words",
        "eigenvalue should be a number, got a tensor [",
    ),
    "a part that is no tensor": (
        PARTS,
        "return 2.0, words.clone()",
        "return 2.0, [1]",
        "vector should be a tensor, got list",
    ),
    "a part too few": (
        PARTS,
        "return 2.0, words.clone()",
        "return 2.0",
        "expected a tuple (eigenvalue, vector), got float",
    ),
    "a part of another dtype": (
        PARTS,
        "return 2.0, words.clone()",
        "return 2.0, words.float()",
        "vector should keep the input's dtype",
    ),
}


@pytest.mark.parametrize("name", APART)
def test_plain_values_are_told_the_same_apart_as_beside(executor, name):
    check, right, wrong, expected = APART[name]
    work = "import torch\ndef mix(words):\n    {}"
    assert judged(executor, work.format(right), check) == ""
    run(work.format(right), check)
    message = " ".join(failure(work.format(wrong), check).split())
    for fragment in expected.split("|"):
        assert fragment in message
    assert judged(executor, work.format(wrong), check) == f"CheckFailed: {message}"


# --- limits ---------------------------------------------------------------------------------

LIAR = """
class Liar({base}):
    def __len__(self):
        return 10**9
    def __iter__(self):
        while True:
            yield 1
    def __getitem__(self, at):
        return 1
    def __eq__(self, other):
        return True
    def __hash__(self):
        raise SystemExit
    def __repr__(self):
        raise SystemExit
    items = keys = values = __iter__
"""
ANY = """
with Check("mix", "any list") as check:
    check.equal(check.call(returns=list), [0], "as expected")
"""
AGAIN = """
with Check("answer", "the next check") as check:
    check.equal(check.value(int), 3, "three")
"""
HOSTILE = {
    "deep": ("value = []\nfor _ in range(20):\n    value = [value]", "nested deeper than 20"),
    "very deep": ("value = []\nfor _ in range(9999):\n    value = [value]", "deeper than 20"),
    "holds itself": ("value = [1]\nvalue.append(value)", "nested deeper than 20"),
    "holds itself twice": ("value = []\nvalue += [value, value]", ""),
    "holds itself in a dict": ("value = [{}]\nvalue[0][1] = value", "nested deeper than 20"),
    "many": ("value = [0] * 300_000", "holds more than 200,000 values"),
    "too many": ("value = [0] * 30_000_000", "more than"),
    "many lists": ("value = [[[0] * 100] * 100] * 100", "more than"),
    "long": ("value = ['a' * 5_000_000]", "holds more than 4,000,000 characters"),
    "long bytes": ("value = [bytes(5_000_000)]", "holds more than 4,000,000 characters"),
    "very long": ("value = ['ä' * 100_000_000]", ""),
    "a million digits": ("value = [1 << 3_400_000]", "a huge int"),
    "half a character": ("value = ['\\ud800']", ""),
    "NaN as a key": ("value = [{float('nan'): 1, float('nan'): 2}]", "holds NaN"),
    "a key twice": ("value = [{torch.tensor(5): 1, torch.tensor(5): 2}]", "the key 5 twice"),
    **{
        f"a {base} that lies": (LIAR.format(base=base) + f"value = [Liar({of}), 1]", "as expected")
        for base, of in {
            "list": "[5]",
            "tuple": "(5,)",
            "dict": "{5: 6}",
            "str": "'5'",
            "bytes": "b'5'",
            "object": "",
        }.items()
    },
    "an int that lies": (
        "class Liar(int):\n    __eq__ = __int__ = __index__ = lambda *_: 0\n"
        "    bit_length = lambda self: 1\n    __hash__ = int.__hash__\nvalue = [Liar(5)]",
        "got [5]",
    ),
    "a dict whose keys lie": (
        "class Key(str):\n    __hash__ = lambda self: id(self)\n    __eq__ = lambda *_: True\n"
        "value = [{Key('a'): 1, Key('b'): 2}]",
        "got [{'a': 1, 'b': 2}]",
    ),
}
SECONDS, MEGABYTES = 20, 1500


def _beside(work: str) -> str:
    try:
        return " ".join(failure(work, ANY).split())
    except RecursionError:
        pytest.fail("a value ends the check")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_value_is_told_in_a_line_within_a_budget(executor, name):
    made, expected = HOSTILE[name]
    work = f"import torch\n{made}\ndef mix():\n    return value\nanswer = 3"
    began = time.perf_counter()
    beside = _beside(work)
    assert expected in beside
    assert time.perf_counter() - began < SECONDS
    began = time.perf_counter()
    failed, passed = executed(executor, work, ANY, AGAIN).cells[2:]
    apart = said(failed)
    assert expected in apart
    assert "CheckFailed" in apart
    assert len(apart) < 1500
    assert said(passed) == ""
    assert time.perf_counter() - began < SECONDS
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < MEGABYTES << 10


def test_what_a_check_can_call_and_read_says_so():
    documented = inspect.getdoc(run.__globals__["Check"].call) or ""
    for kind in results.KINDS:
        assert kind.__name__ in documented
    assert f"{results.DEEPEST} levels, {results.MOST:,} values" in documented
    assert f"{results.LONGEST:,} characters" in documented
    assert Tensor.__name__ in documented
