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
from autograder.execution.isolation.wire import Foreign, receive, send

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
