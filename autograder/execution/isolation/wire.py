"""What crosses between the tests and the student's work: JSON and raw tensor bytes, never pickle.

A message is a frame: its length, the length of its head, the head (JSON), the tensors' bytes.
What is neither a plain value nor a tensor crosses as a reference, if a peer knows how to make
one, or else by the name of its type alone.
"""

import json
import math
import struct
from collections.abc import Callable
from fractions import Fraction
from io import BufferedRWPair
from typing import Any

import numpy as np
import torch
from torch import Tensor

LENGTHS = struct.Struct(">QI")
LIMIT = 1 << 26  # bytes of one message, between any two of the grader's processes
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
CONTAINERS = {kind.__name__: kind for kind in (list, tuple, set, frozenset, torch.Size)}
NARROWEST = tuple(reversed(CONTAINERS.items()))  # a torch.Size is a tuple too
KINDS = tuple(CONTAINERS.values())
NAMES = {dtype: name for name, dtype in DTYPES.items()}
LONGEST = 4096  # bits of a whole number: digits without end would only fill the channel
DEEP = 20  # nested further than that is no result of an exercise

Refer = Callable[[Any], dict | None]
Resolve = Callable[[dict], Any]


class ChannelError(BaseException):
    """The other side closed the channel, or sent what is no message.

    No `Exception`: it is no mistake of the student's code, and no check may take it for one.
    """


class Foreign:
    """What the other side has and cannot send: only the name of its type crosses."""


def foreign(module: str, name: str) -> Foreign:
    """A stand-in whose type bears the name of the other side's."""
    return type(name, (Foreign,), {"__module__": module})()


def send(stream: BufferedRWPair, message: Any, limit: int, refer: Refer = lambda _: None) -> None:
    """Write one message; `refer` makes references of what cannot cross itself.

    `ValueError`, and nothing is written, if it is longer than the limit.
    """
    blobs: list[bytes] = []
    head = json.dumps(_Packing(blobs, refer).packed(message, 0)).encode()
    length = len(head) + sum(map(len, blobs))
    if length > limit:
        raise ValueError(f"a result of {length} bytes; the limit is {limit}")
    stream.write(LENGTHS.pack(length, len(head)) + head)
    for blob in blobs:
        stream.write(blob)
    stream.flush()


def no_references(packed: dict) -> Any:
    """Where no reference can be meant, one is no message."""
    raise ValueError(f"an unknown kind {str(packed['kind'])[:20]!r}")


def receive(stream: BufferedRWPair, limit: int, resolve: Resolve = no_references) -> Any:
    """Read one message; `resolve` finds what references mean. `ChannelError` for anything else."""
    length, head_length = LENGTHS.unpack(_exactly(stream, LENGTHS.size))
    if length > limit or head_length > length:
        raise ChannelError(f"a message of {length} bytes; the limit is {limit}")
    body = _exactly(stream, length)
    try:
        blob = memoryview(body)[head_length:]
        return _unpacked(json.loads(body[:head_length]), blob, resolve, 0)
    except Exception as error:  # whatever a forged message makes of this code, it is no message
        raise ChannelError(f"no message: {error}") from None


def _exactly(stream: BufferedRWPair, count: int) -> bytearray:
    body = bytearray()
    while len(body) < count:
        try:
            part = stream.read(min(count - len(body), 1 << 20))
        except OSError as error:  # reset by a peer that was killed
            raise ChannelError(f"the channel broke: {error}") from None
        if not part:
            raise ChannelError("the other side closed the channel")
        body += part
    return body


class _Packing:
    """Packs one message: what is JSON into its head, the bytes of tensors into `blobs`."""

    def __init__(self, blobs: list[bytes], refer: Refer) -> None:
        self._blobs, self._refer, self._length = blobs, refer, 0

    def packed(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if depth > DEEP:
            return {"kind": "foreign", "module": "builtins", "name": "deeply nested value"}
        if kind in PLAIN:
            huge = isinstance(value, int) and value.bit_length() > LONGEST
            return {"kind": "foreign", "module": "builtins", "name": "huge int"} if huge else value
        if kind is Fraction and max(map(int.bit_length, value.as_integer_ratio())) <= LONGEST:
            return {"kind": "fraction", "of": value.as_integer_ratio()}
        if isinstance(value, KINDS):
            name = next(n for n, c in NARROWEST if isinstance(value, c))
            items = [self.packed(item, depth + 1) for item in list(value)]
            return {"kind": name, "items": items}
        if isinstance(value, dict):
            items = [
                [self.packed(part, depth + 1) for part in pair] for pair in list(value.items())
            ]
            return {"kind": "dict", "items": items}
        if isinstance(value, (np.ndarray, np.generic)) and value.dtype.name in DTYPES:
            one = self._tensor(torch.from_numpy(np.array(value, value.dtype.newbyteorder("="))))
            return {"kind": "scalar" if isinstance(value, np.generic) else "array", "of": one}
        if kind is torch.dtype:
            return {"kind": "dtype", "name": str(value).removeprefix("torch.")}
        if isinstance(value, bytes):
            return {"kind": "bytes", "at": self._blob(value), "count": len(value)}
        if isinstance(value, Tensor) and _can_cross(value):
            return self._tensor(value)
        name = {"kind": "foreign", "module": kind.__module__, "name": kind.__qualname__}
        return self._referred(value, depth) or name

    def _referred(self, value: Any, depth: int) -> dict | None:
        reference = self._refer(value)
        if reference is None:
            return None
        about = {k: self.packed(v, depth + 1) for k, v in reference.items() if k != "kind"}
        return {"kind": reference["kind"], "about": about}

    def _tensor(self, value: Tensor) -> dict:
        data = value.detach().resolve_conj().resolve_neg().cpu()
        # as it lies in memory: a view that is turned round arrives so, and `.view` refuses it there
        order = sorted(range(data.dim()), key=lambda axis: -data.stride(axis))
        data = data.permute(order).contiguous()
        start = self._blob(data.flatten().view(torch.uint8).numpy().tobytes())
        about = {"dtype": NAMES[data.dtype], "shape": list(data.shape), "order": order}
        return {"kind": "tensor", "at": start} | about

    def _blob(self, data: bytes) -> int:
        start = self._length
        self._blobs.append(data)
        self._length += len(data)
        return start


def _can_cross(value: Tensor) -> bool:
    dense = value.layout == torch.strided and value.device.type != "meta"
    return dense and value.dtype in NAMES


def _unpacked(packed: Any, blob: memoryview, resolve: Resolve, depth: int) -> Any:
    if type(packed) is str:  # half a character can be written nowhere
        return packed.encode(errors="replace").decode()
    if type(packed) in PLAIN:
        return packed
    if depth > DEEP + 2:
        raise ValueError("nested too deeply")
    kind = packed["kind"]
    if kind == "tensor":
        return _tensor(packed, blob)
    if kind == "array":
        return _tensor(packed["of"], blob).numpy()
    if kind == "scalar":
        return _tensor(packed["of"], blob).numpy()[()]
    if kind in CONTAINERS:
        return CONTAINERS[kind](_unpacked(p, blob, resolve, depth + 1) for p in packed["items"])
    if kind == "dict":
        return {
            _unpacked(key, blob, resolve, depth + 1): _unpacked(item, blob, resolve, depth + 1)
            for key, item in packed["items"]
        }
    if kind == "fraction":
        above, below = packed["of"]
        if not type(above) is type(below) is int:  # of a text such as 1e999999999 it never ends
            raise ValueError("no fraction")
        return Fraction(above, below)
    if kind == "dtype":
        return DTYPES[packed["name"]]
    if kind == "bytes":
        return bytes(_part(blob, packed["at"], packed["count"]))
    if kind == "foreign":
        return foreign(str(packed["module"])[:99], str(packed["name"])[:99])
    about = {k: _unpacked(v, blob, resolve, depth + 1) for k, v in packed["about"].items()}
    return resolve({"kind": kind} | about)


def _tensor(packed: Any, blob: memoryview) -> Tensor:
    dtype, shape = DTYPES[packed["dtype"]], [int(size) for size in packed["shape"]]
    if min(shape, default=0) < 0:
        raise ValueError("a tensor of negative size")
    places = [packed["order"].index(axis) for axis in range(len(shape))]
    part = _part(blob, packed["at"], math.prod(shape) * dtype.itemsize)
    if not part:
        return torch.empty(shape, dtype=dtype).permute(places)
    # a copy, which torch may write into; a truth value is 0 or 1
    data = torch.frombuffer(bytearray(part), dtype=torch.uint8)
    data = (data != 0 if dtype == torch.bool else data.view(dtype)).reshape(shape)
    return data.permute(places)


def _part(blob: memoryview, start: int, count: int) -> memoryview:
    if not 0 <= start <= start + count <= len(blob):
        raise ValueError("data without its bytes")
    return blob[start : start + count]
