"""What crosses between the tests and the student's work: data, and nothing else."""

import collections
import io
import json
from fractions import Fraction

import numpy as np
import pytest
import torch
from transformer_course.checks import numbers

from autograder.execution.isolation.framing import LENGTHS, ChannelError
from autograder.execution.isolation.gradients import leaves_of, with_tensors
from autograder.execution.isolation.wire import DEEP, MOST, RESULT, Foreign, receive, send

LIMIT = 1 << 20


def there_and_back(message):
    stream = io.BytesIO()
    send(stream, message, LIMIT)  # type: ignore[arg-type]
    stream.seek(0)
    return receive(stream, LIMIT)  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", [torch.bool, torch.int64, torch.bfloat16, torch.float64])
def test_tensors_cross_unchanged(dtype):
    tensor = (numbers(2, 3, 4) > 0).to(dtype).transpose(0, 2)
    back = there_and_back({"part": (tensor, [1, None, True, 0.1, "ä"]), "empty": torch.zeros(0, 3)})
    assert torch.equal(back["part"][0], tensor)
    assert back["part"][0].dtype == dtype
    assert back["part"][1] == [1, None, True, 0.1, "ä"]
    assert back["empty"].shape == (0, 3)


def test_a_view_that_is_turned_round_arrives_so():
    for turned in (numbers(3, 4).T, numbers(2, 3, 4, 5).permute(2, 0, 3, 1), torch.zeros(0, 3).T):
        back = there_and_back(turned)
        assert torch.equal(back, turned)
        assert back.stride() == turned.stride()
    assert not there_and_back(numbers(3, 4).T).is_contiguous()


def test_a_single_number_of_a_larger_tensor_arrives():
    row = torch.arange(6).reshape(1, 6)
    for value in row[:, 4], numbers(1, 1, 5)[..., 2], numbers(4, 3)[:1, 1]:
        assert there_and_back(value).tolist() == value.tolist()


def test_conjugates_and_negatives_cross_as_what_they_stand_for():
    tensor = torch.tensor([1 + 2j, 3j])
    back = there_and_back([tensor.conj(), tensor.conj().imag])
    assert torch.equal(back[0], torch.tensor([1 - 2j, -3j]))
    assert torch.equal(back[1], torch.tensor([-2.0, -3.0]))


def test_what_is_no_data_crosses_by_name_alone():
    class Loud:
        def __reduce__(self):
            raise AssertionError("pickled")

    unknown = [torch.zeros(2, dtype=torch.uint16), torch.zeros(2, device="meta")]
    unknown += [np.zeros(2, np.uint16), np.array(["a"]), torch.eye(2).to_sparse()]
    unknown += [Fraction(1, 10**5000)]
    back = there_and_back([Loud(), np.float64, 10**5000, *unknown])
    assert all(isinstance(item, Foreign) for item in back)
    assert type(back[0]).__name__.endswith("Loud")


def test_numbers_of_numpy_and_kinds_of_lists_cross_as_python_has_them():
    pair = collections.namedtuple("Pair", "output weights")
    message = [np.float32(0.5), np.arange(3, dtype=">i4"), pair(1, [2]), torch.Size([2, 3])]
    back = there_and_back([*message, collections.OrderedDict(a=1), {1: {2}}, float("-inf")])
    assert back[0] == 0.5
    assert type(back[0]) is np.float32
    assert back[1].tolist() == [0, 1, 2]
    assert back[2:] == [(1, [2]), torch.Size([2, 3]), {"a": 1}, {1: {2}}, float("-inf")]
    assert [type(item) for item in back[2:5]] == [tuple, torch.Size, dict]


class Text(str):
    """Of a student's own class, as are the next."""

    def __str__(self):
        return "lie"

    __slots__ = ()


class Endless(list):
    def __iter__(self):
        while True:
            yield 1

    __len__ = None  # type: ignore[assignment]


class Keyed(dict):
    def items(self):
        raise SystemExit


class Listed(list):
    __hash__ = object.__hash__  # type: ignore[assignment]


class Data(bytes):
    def __len__(self):
        return 10**9


def test_of_a_class_derived_from_pythons_own_the_value_crosses():
    own = [Text("a"), Endless([1, 2]), Keyed(a=b"b"), Data(b"cd"), type("Two", (int,), {})(2)]
    back = there_and_back([*own, type("Half", (float,), {})(0.5), np.str_("n"), np.float64(1.5)])
    assert back == ["a", [1, 2], {"a": b"b"}, b"cd", 2, 0.5, "n", 1.5]
    kinds = [str, list, dict, bytes, int, float, str, np.float64]
    assert [type(item) for item in back] == kinds


def test_what_can_be_no_key_crosses_by_name_alone():
    keys = Listed([1]), (1, Listed()), frozenset([Listed()]), (2, "a")
    back = there_and_back([{key: i for i, key in enumerate(keys)}, {keys[0]}])
    assert [isinstance(key, Foreign) for key in back[0]] == [True, True, True, False]
    assert list(back[0].values()) == [0, 1, 2, 3]
    assert back[0][2, "a"] == 3
    assert isinstance(back[1].pop(), Foreign)


def nested(depth: int) -> list:
    """An empty list in so many others."""
    value: list = []
    for _ in range(depth):
        value = [value]
    return value


def test_nesting_has_an_end():
    assert there_and_back(nested(DEEP)) == nested(DEEP)
    back = there_and_back(nested(5000))
    for _ in range(DEEP + 1):
        (back,) = back
    assert isinstance(back, Foreign)


def test_a_message_of_too_many_values_is_not_written():
    twice: list = []
    twice += [twice, twice]
    for value in [[0] * (MOST + 1), [0] * 30 * MOST, twice, dict.fromkeys(range(MOST))]:
        with pytest.raises(ValueError, match="more than 1,000,000 values"):
            send(io.BytesIO(), value, 1 << 40)  # type: ignore[arg-type]
    for long in "ä" * (LIMIT + 1), [b"a" * LIMIT, "a"]:
        with pytest.raises(ValueError, match="the limit is"):
            send(io.BytesIO(), long, LIMIT)  # type: ignore[arg-type]


def test_what_a_call_returns_is_searched_for_tensors_as_deep_as_it_crosses():
    one = torch.ones(1)
    holds_itself: list = [one]
    holds_itself.append(holds_itself)
    found = [leaf for leaf in leaves_of(holds_itself) if leaf is one]
    assert len(found) == RESULT
    (back,) = there_and_back([{"answer": {"result": holds_itself}}])
    crossed = list(leaves_of(back["answer"]["result"]))
    assert sum(isinstance(leaf, torch.Tensor) for leaf in crossed) == len(found)
    swapped = with_tensors({"a": Endless([one, 2])}, iter([one + 1]))
    assert swapped == {"a": [one + 1, 2]}
    twice: list = []
    twice += [twice, twice]
    with pytest.raises(ValueError, match="more than"):
        list(leaves_of(twice))


def test_fractions_cross_as_they_are():
    message = [Fraction(1, 3), Fraction(-2)]
    back = there_and_back(message)
    assert back == message
    assert [type(item) for item in back] == [Fraction, Fraction]


def test_half_a_character_is_replaced_since_no_file_could_hold_it():
    assert there_and_back({"\ud800": "a\udfff"}) == {"?": "a?"}


def raw(head: str, blob: bytes = b"") -> bytes:
    body = head.encode()
    return LENGTHS.pack(len(body) + len(blob), len(body)) + body + blob


def test_a_forged_truth_value_is_true_or_false():
    head = {"kind": "tensor", "dtype": "bool", "shape": [3], "order": [0], "at": 0}
    stream = io.BytesIO(raw(json.dumps(head), b"\0\1\x7f"))
    back = receive(stream, LIMIT)  # type: ignore[arg-type]
    assert back.view(torch.uint8).tolist() == [0, 1, 1]


HEAD = {"kind": "tensor", "dtype": "float64", "shape": [2], "order": [0], "at": 0}


@pytest.mark.parametrize(
    "head",
    [
        "{",
        "{}",
        "\xff",
        json.dumps(HEAD),
        json.dumps(HEAD | {"shape": [-1]}),
        json.dumps(HEAD | {"order": [1]}),
        json.dumps(HEAD | {"order": "0"}),
        json.dumps(HEAD | {"shape": [1, 2], "order": [0, 0]}),
        json.dumps(HEAD | {"shape": [10**9, 10**9]}),
        json.dumps(HEAD | {"shape": [0, 10**30]}),
        json.dumps(HEAD | {"shape": [float("nan")]}),
        json.dumps(HEAD | {"dtype": "object"}),
        json.dumps(HEAD | {"at": -16}),
        json.dumps({"kind": "pickle", "of": "x"}),
        json.dumps({"kind": ["list"], "items": []}),
        json.dumps({"kind": "set", "items": [{"kind": "list", "items": []}]}),
        json.dumps({"kind": "Size", "items": ["a"]}),
        json.dumps({"kind": "foreign", "module": "a", "name": "a\0b"}),
        json.dumps({"kind": "bytes", "at": 0, "count": 9}),
        json.dumps({"kind": "fraction", "of": ["1e999999999", 1]}),
        json.dumps({"kind": "fraction", "of": [1, 0]}),
        '{"kind": "list", "items": [' * 40 + "]}" * 40,
        "[" * 3000,
        "9" * 5000,
    ],
)
def test_what_is_no_message_is_refused(head):
    with pytest.raises(ChannelError):
        receive(io.BytesIO(raw(head)), LIMIT)  # type: ignore[arg-type]


def test_a_message_has_a_limit_and_an_end():
    stream = io.BytesIO()
    with pytest.raises(ValueError, match="the limit is"):
        send(stream, torch.zeros(LIMIT), LIMIT)  # type: ignore[arg-type]
    assert stream.getvalue() == b""
    for data in (LENGTHS.pack(1 << 60, 1), LENGTHS.pack(1, 2) + b"{}"):
        with pytest.raises(ChannelError, match="the limit is"):
            receive(io.BytesIO(data), LIMIT)  # type: ignore[arg-type]
    with pytest.raises(ChannelError, match="closed"):
        receive(io.BytesIO(LENGTHS.pack(100, 1) + b"{"), LIMIT)  # type: ignore[arg-type]
