"""What crosses between the tests and the student's work: JSON and raw tensor bytes, never pickle.

A message is a frame: its length, the length of its head, the head (JSON), the tensors' bytes.
What is no plain value and no tensor crosses by the name of its type alone.
"""

import json
import math
import struct
from io import BufferedRWPair
from typing import Any

import numpy as np
import torch
from torch import Tensor

LENGTHS = struct.Struct(">QI")
DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        torch.bool,
        torch.uint8,
        torch.int8,
        torch.int16,
        torch.int32,
        torch.int64,
        torch.float16,
        torch.bfloat16,
        torch.float32,
        torch.float64,
        torch.complex64,
        torch.complex128,
    )
}
PLAIN = (type(None), bool, int, float, str)
DEEP = 20  # nested further than that is no result of an exercise


class ChannelError(BaseException):
    """The other side closed the channel, or sent what is no message.

    No `Exception`: it is no mistake of the student's code, and no check may take it for one.
    """


class Foreign:
    """What the other side has and cannot send: only the name of its type crosses."""


def foreign(module: str, name: str) -> Foreign:
    """A stand-in whose type bears the name of the other side's."""
    return type(name, (Foreign,), {"__module__": module})()


def send(stream: BufferedRWPair, message: Any, limit: int) -> None:
    """Write one message."""
    blobs: list[bytes] = []
    head = json.dumps(_packed(message, blobs, 0)).encode()
    length = len(head) + sum(map(len, blobs))
    if length > limit:
        raise ChannelError(f"a message of {length} bytes; the limit is {limit}")
    stream.write(LENGTHS.pack(length, len(head)) + head)
    for blob in blobs:
        stream.write(blob)
    stream.flush()


def receive(stream: BufferedRWPair, limit: int) -> Any:
    """Read one message; `ChannelError` for anything else."""
    length, head_length = LENGTHS.unpack(_exactly(stream, LENGTHS.size))
    if length > limit or head_length > length:
        raise ChannelError(f"a message of {length} bytes; the limit is {limit}")
    body = _exactly(stream, length)
    try:
        return _unpacked(json.loads(body[:head_length]), memoryview(body)[head_length:], 0)
    except (ValueError, KeyError, TypeError, RecursionError, AttributeError) as error:
        raise ChannelError(f"no message: {error}") from None


def _exactly(stream: BufferedRWPair, count: int) -> bytearray:
    body = bytearray()
    while len(body) < count:
        part = stream.read(min(count - len(body), 1 << 20))
        if not part:
            raise ChannelError("the other side closed the channel")
        body += part
    return body


def _packed(value: Any, blobs: list[bytes], depth: int) -> Any:
    if depth > DEEP:
        return {"kind": "foreign", "module": "builtins", "name": "deeply nested value"}
    if type(value) in PLAIN:
        # digits without end would only fill the channel
        huge = isinstance(value, int) and value.bit_length() > 4096
        return {"kind": "foreign", "module": "builtins", "name": "huge int"} if huge else value
    if type(value) is np.ndarray and value.dtype.kind in "biufc":
        return {"kind": "array", "of": _packed(torch.from_numpy(value.copy()), blobs, depth)}
    if isinstance(value, Tensor) and value.layout == torch.strided:
        data = value.detach().cpu().contiguous()
        start = sum(map(len, blobs))
        blobs.append(data.flatten().view(torch.uint8).numpy().tobytes())
        dtype = str(data.dtype).removeprefix("torch.")
        return {"kind": "tensor", "dtype": dtype, "shape": list(data.shape), "at": start}
    if type(value) in (list, tuple):
        kind = type(value).__name__
        return {"kind": kind, "items": [_packed(item, blobs, depth + 1) for item in value]}
    if type(value) is dict and all(type(key) is str for key in value):
        items = {key: _packed(item, blobs, depth + 1) for key, item in value.items()}
        return {"kind": "dict", "items": items}
    return {"kind": "foreign", "module": type(value).__module__, "name": type(value).__qualname__}


def _unpacked(packed: Any, blob: memoryview, depth: int) -> Any:
    if type(packed) in PLAIN:
        return packed
    if depth > DEEP:
        raise ValueError("nested too deeply")
    kind = packed["kind"]
    if kind == "tensor":
        return _tensor(packed, blob)
    if kind == "array":
        return _unpacked(packed["of"], blob, depth + 1).numpy()
    if kind in ("list", "tuple"):
        items = [_unpacked(item, blob, depth + 1) for item in packed["items"]]
        return items if kind == "list" else tuple(items)
    if kind == "dict":
        return {str(k): _unpacked(item, blob, depth + 1) for k, item in packed["items"].items()}
    if kind == "foreign":
        return foreign(str(packed["module"])[:99], str(packed["name"])[:99])
    raise ValueError(f"an unknown kind {str(kind)[:20]!r}")


def _tensor(packed: Any, blob: memoryview) -> Tensor:
    dtype, shape = DTYPES[packed["dtype"]], [int(size) for size in packed["shape"]]
    count, start = math.prod(shape) * dtype.itemsize, int(packed["at"])
    if min(shape, default=0) < 0 or len(blob) < start + count:
        raise ValueError("a tensor without its bytes")
    if not count:
        return torch.empty(shape, dtype=dtype)
    # a copy, which torch may write into
    return torch.frombuffer(bytearray(blob[start : start + count]), dtype=dtype).reshape(shape)
