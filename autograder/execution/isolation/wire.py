"""Values as they cross between the tests and the student's work: JSON and raw tensor bytes.

Never pickle. What is neither a plain value nor a tensor crosses as a reference, if a peer knows
how to make one, or else by the name of its type alone.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from io import BufferedRWPair
from itertools import islice
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from autograder.execution.isolation.framing import (
    read_frame,
    slice_of,
    without_lone_surrogates,
    write_frame,
)

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
TEXTS_AND_NUMBERS = (str, bool, int, float)
LONGEST = 4096  # bits of a whole number: digits without end would only fill the channel
# nested further than that is no result of an exercise: the kit takes 20 levels, and the outermost
# ones are the message's own
DEEP = 25
RESULT = DEEP - 4  # levels of a result that are sure to cross
MOST = 1_000_000  # values of one message: the kit takes 200,000
TOO_MANY = f"a result of more than {MOST:,} values"

EncodeReference = Callable[[Any], dict | None]
DecodeReference = Callable[[dict], Any]


class Foreign:
    """What the other side has and cannot send: only the name of its type crosses."""


def foreign(module: str, name: str) -> Foreign:
    """A value whose type has the name of the other side's."""
    return type(name, (Foreign,), {"__module__": module})()


def no_references(told: dict) -> Any:
    """Refuse a reference, where none can be meant."""
    raise ValueError(f"an unknown kind {str(told['kind'])[:20]!r}")


def send(
    stream: BufferedRWPair,
    value: Any,
    limit: int,
    encode_reference: EncodeReference = lambda _: None,
) -> None:
    """Write one value; `ValueError`, and nothing is written, if it is longer than the limit."""
    blobs: list[bytes] = []
    head = _Encoder(blobs, encode_reference, limit).encoded(value, 0)
    write_frame(stream, head, blobs, limit)


def receive(
    stream: BufferedRWPair, limit: int, decode_reference: DecodeReference = no_references
) -> Any:
    """Read one value; `ChannelError` for anything else."""

    def decode(head: Any, blob: memoryview) -> Any:
        return _Decoder(blob, decode_reference).decoded(head, 0)

    return read_frame(stream, limit, decode)


def contents(value: Any) -> list[Any]:
    """The items of a list, tuple or set, or the pairs of a dict, as Python's own type has them.

    A class derived from it may be the student's: its `__iter__` need not end. Of more than `MOST`,
    there are as many as it takes to refuse them.
    """
    if isinstance(value, dict):
        return list(islice(dict.items(value), MOST + 1))
    owner: Any = next(kind for kind in (list, tuple, set, frozenset) if isinstance(value, kind))
    return list(islice(owner.__iter__(value), MOST + 1))


def _foreign(kind: type, name: str = "") -> dict:
    module = "builtins" if name else getattr(kind, "__module__", "builtins")
    return {"kind": "foreign", "module": module, "name": name or kind.__qualname__}


class _Encoder:
    """Encodes one value: JSON for the head, the bytes of tensors into `blobs`."""

    def __init__(self, blobs: list[bytes], encode_reference: EncodeReference, limit: int) -> None:
        self._blobs, self._encode_reference, self._length = blobs, encode_reference, 0
        self._limit, self._values, self._characters = limit, 0, 0

    def encoded(self, value: Any, depth: int) -> Any:
        kind = type(value)
        self._values += 1
        if self._values > MOST:
            raise ValueError(TOO_MANY)
        if depth > DEEP:
            return _foreign(kind, "deeply nested value")
        if kind in PLAIN:
            return self._text_or_number(value, kind)
        if kind is Fraction and max(map(int.bit_length, value.as_integer_ratio())) <= LONGEST:
            return {"kind": "fraction", "of": value.as_integer_ratio()}
        if isinstance(value, (*KINDS, dict)):
            return self._container(value, depth)
        if isinstance(value, (np.ndarray, np.generic)) and value.dtype.name in DTYPES:
            one = self._tensor(torch.from_numpy(np.array(value, value.dtype.newbyteorder("="))))
            return {"kind": "scalar" if isinstance(value, np.generic) else "array", "of": one}
        if owner := next((of for of in TEXTS_AND_NUMBERS if isinstance(value, of)), None):
            return self._text_or_number(value, owner)
        if kind is torch.dtype:
            return {"kind": "dtype", "name": str(value).removeprefix("torch.")}
        if isinstance(value, bytes):
            exact = bytes.__getitem__(value, slice(None))
            return {"kind": "bytes", "at": self._blob(exact), "count": len(exact)}
        if isinstance(value, Tensor) and _can_cross(value):
            return self._tensor(value)
        return self._reference(value, depth) or _foreign(kind)

    def _text_or_number(self, value: Any, kind: type) -> Any:
        """One of Python's own types, even if the value is of a class derived from it."""
        if kind is str:
            text = str.__str__(value)
            self._characters += len(text)
            self._check_length()
            return text
        if kind is int:
            number = int.__int__(value)
            return number if number.bit_length() <= LONGEST else _foreign(int, "huge int")
        return value

    def _container(self, value: Any, depth: int) -> dict:
        if isinstance(value, dict):
            pairs = contents(value)
            items = [[self._key(k, depth + 1), self.encoded(v, depth + 1)] for k, v in pairs]
            return {"kind": "dict", "items": items}
        name = next(n for n, c in NARROWEST if isinstance(value, c))
        encode = self._key if isinstance(value, (set, frozenset)) else self.encoded
        return {"kind": name, "items": [encode(item, depth + 1) for item in contents(value)]}

    def _key(self, value: Any, depth: int) -> Any:
        """A list whose class has a hash of its own is a key for the student's side alone."""
        return self.encoded(value, depth) if _is_key(value, depth) else _foreign(type(value))

    def _reference(self, value: Any, depth: int) -> dict | None:
        reference = self._encode_reference(value)
        if reference is None:
            return None
        about = {k: self.encoded(v, depth + 1) for k, v in reference.items() if k != "kind"}
        return {"kind": reference["kind"], "about": about}

    def _tensor(self, value: Tensor) -> dict:
        data = value.detach().resolve_conj().resolve_neg().cpu()
        # as it lies in memory: a view that is turned round arrives so, and `.view` refuses it there
        order = sorted(range(data.dim()), key=lambda axis: -data.stride(axis))
        # `contiguous` would leave a single number its stride, which the last `.view` refuses
        data = data.permute(order).clone(memory_format=torch.contiguous_format)
        start = self._blob(data.flatten().view(torch.uint8).numpy().tobytes())
        about = {"dtype": NAMES[data.dtype], "shape": list(data.shape), "order": order}
        return {"kind": "tensor", "at": start} | about

    def _blob(self, data: bytes) -> int:
        start = self._length
        self._blobs.append(data)
        self._length += len(data)
        self._check_length()
        return start

    def _check_length(self) -> None:
        """Stop before all of it is encoded: a character takes a byte at least."""
        if (length := self._length + self._characters) > self._limit:
            raise ValueError(
                f"a result of more than {length - 1} bytes; the limit is {self._limit}"
            )


def _is_key(value: Any, depth: int) -> bool:
    if depth > DEEP or not isinstance(value, (*KINDS, dict, np.ndarray)):
        return True
    inside = contents(value) if isinstance(value, (tuple, frozenset)) else None
    return inside is not None and all(_is_key(item, depth + 1) for item in inside)


def _can_cross(value: Tensor) -> bool:
    dense = value.layout == torch.strided and value.device.type != "meta"
    return dense and value.dtype in NAMES


class _Decoder:
    """Decodes one value; whatever is raised on the way, the message is refused."""

    def __init__(self, blob: memoryview, decode_reference: DecodeReference) -> None:
        self._blob, self._decode_reference = blob, decode_reference

    def decoded(self, told: Any, depth: int) -> Any:
        kind = type(told)
        if kind is str:
            return told if told.isascii() else without_lone_surrogates(told)
        if kind in PLAIN:
            return told
        if depth > DEEP + 2:
            raise ValueError("nested too deeply")
        decode = _Decoder.DECODERS.get(told["kind"], _Decoder._reference)
        return decode(self, told, depth)

    def _tensor(self, told: Any, depth: int = 0) -> Tensor:
        dtype, shape = DTYPES[told["dtype"]], [int(size) for size in told["shape"]]
        if min(shape, default=0) < 0:
            raise ValueError("a tensor of negative size")
        axes = [told["order"].index(axis) for axis in range(len(shape))]
        part = slice_of(self._blob, told["at"], math.prod(shape) * dtype.itemsize)
        if not part:
            return torch.empty(shape, dtype=dtype).permute(axes)
        # a copy, which torch may write into; a truth value is 0 or 1
        data = torch.frombuffer(bytearray(part), dtype=torch.uint8)
        data = (data != 0 if dtype == torch.bool else data.view(dtype)).reshape(shape)
        return data.permute(axes)

    def _array(self, told: Any, depth: int) -> Any:
        return self._tensor(told["of"]).numpy()

    def _scalar(self, told: Any, depth: int) -> Any:
        return self._tensor(told["of"]).numpy()[()]

    def _container(self, told: Any, depth: int) -> Any:
        return CONTAINERS[told["kind"]](self.decoded(item, depth + 1) for item in told["items"])

    def _dict(self, told: Any, depth: int) -> dict:
        return {
            self.decoded(key, depth + 1): self.decoded(item, depth + 1)
            for key, item in told["items"]
        }

    def _fraction(self, told: Any, depth: int) -> Fraction:
        above, below = told["of"]
        if not type(above) is type(below) is int:  # of a text such as 1e999999999 it never ends
            raise ValueError("no fraction")
        return Fraction(above, below)

    def _dtype(self, told: Any, depth: int) -> torch.dtype:
        return DTYPES[told["name"]]

    def _bytes(self, told: Any, depth: int) -> bytes:
        return bytes(slice_of(self._blob, told["at"], told["count"]))

    def _foreign(self, told: Any, depth: int) -> Foreign:
        return foreign(str(told["module"])[:99], str(told["name"])[:99])

    def _reference(self, told: Any, depth: int) -> Any:
        about = {name: self.decoded(part, depth + 1) for name, part in told["about"].items()}
        return self._decode_reference({"kind": told["kind"]} | about)

    DECODERS: ClassVar[dict[str, Callable[["_Decoder", Any, int], Any]]] = {
        **dict.fromkeys(CONTAINERS, _container),
        "tensor": _tensor,
        "array": _array,
        "scalar": _scalar,
        "dict": _dict,
        "fraction": _fraction,
        "dtype": _dtype,
        "bytes": _bytes,
        "foreign": _foreign,
    }
