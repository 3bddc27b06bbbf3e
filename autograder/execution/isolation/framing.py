"""Frames: how a message is delimited on a stream socket. Knows JSON and bytes, no tensors.

A frame is its length, the length of its head, the head (JSON), and raw bytes that the head
refers to.
"""

import json
import struct
from collections.abc import Callable, Sequence
from io import BufferedRWPair
from typing import Any, TypeVar

LENGTHS = struct.Struct(">QI")
LIMIT = 1 << 26  # bytes of one message, between any two of the grader's processes
CHUNK = 1 << 20  # bytes of one read: a forged length must not reserve memory

T = TypeVar("T")


class ChannelError(BaseException):
    """The other side closed the channel, or sent something that is not a message.

    Not an `Exception`: it is no mistake of the student's code, and no check may take it for one.
    """


def write_frame(stream: BufferedRWPair, head: Any, blobs: Sequence[bytes], limit: int) -> None:
    """Write one frame; `ValueError`, and nothing is written, if it is longer than the limit."""
    encoded = json.dumps(head).encode()
    length = len(encoded) + sum(map(len, blobs))
    if length > limit:
        raise ValueError(f"a result of {length} bytes; the limit is {limit}")
    stream.write(LENGTHS.pack(length, len(encoded)) + encoded)
    for blob in blobs:
        stream.write(blob)
    stream.flush()


def read_frame(stream: BufferedRWPair, limit: int, decode: Callable[[Any, memoryview], T]) -> T:
    """Read one frame and decode its head and bytes; `ChannelError` for anything else."""
    length, head_length = LENGTHS.unpack(_exactly(stream, LENGTHS.size))
    if length > limit or head_length > length:
        raise ChannelError(f"a message of {length} bytes; the limit is {limit}")
    body = _exactly(stream, length)
    try:
        return decode(json.loads(body[:head_length]), memoryview(body)[head_length:])
    except Exception as error:  # whatever a forged message makes of this code, it is no message
        raise ChannelError(f"no message: {error}") from None


def without_lone_surrogates(text: str) -> str:
    """Replace half characters, which can be written to no file."""
    return text.encode(errors="replace").decode()


def slice_of(blob: memoryview, start: int, count: int) -> memoryview:
    """So many bytes from a position; `ValueError` if they are not all there."""
    if not 0 <= start <= start + count <= len(blob):
        raise ValueError("data without its bytes")
    return blob[start : start + count]


def _exactly(stream: BufferedRWPair, count: int) -> bytearray:
    body = bytearray()
    while len(body) < count:
        try:
            part = stream.read(min(count - len(body), CHUNK))
        except OSError as error:  # reset by a peer that was killed
            raise ChannelError(f"the channel broke: {error}") from None
        if not part:
            raise ChannelError("the other side closed the channel")
        body += part
    return body
