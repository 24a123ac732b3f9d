"""What a detector found on a frame, in a few bytes: from them the forward pass can be repeated.

    find | find | ...      find: sighting u8 | points u8 | score f4 | box 4 x f4 | points x 2 x f4

Numbers are rounded to 32 bits before they are used, so that they are the same when they are used
again.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from mpflow.errors import InternalError
from mpflow.tokens import Face, Sighting

_HEAD = struct.Struct("<BB5f")
_SIGHTINGS = tuple(Sighting)


def packed(faces: Iterable[Face]) -> bytes:
    """The finds of one frame as bytes; boxes, scores, points and how they were sighted."""
    return b"".join(_packed(face) for face in faces)


def unpacked(data: bytes) -> tuple[Face, ...]:
    """The finds of such bytes; raises InternalError for others."""
    try:
        return tuple(_unpacked(data))
    except (struct.error, IndexError) as error:
        raise InternalError(f"{len(data)} bytes that are no finds of a frame: {error}") from error


def _packed(face: Face) -> bytes:
    points = [value for point in face.points for value in point]
    kind = _SIGHTINGS.index(face.sighting)
    head = _HEAD.pack(kind, len(face.points), face.score, *face.box)
    return head + struct.pack(f"<{len(points)}f", *points)


def _unpacked(data: bytes) -> Iterator[Face]:
    at = 0
    while at < len(data):
        kind, count, score, x1, y1, x2, y2 = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        flat = struct.unpack_from(f"<{2 * count}f", data, at)
        at += 8 * count
        points = tuple(zip(flat[::2], flat[1::2], strict=True))
        yield Face((x1, y1, x2, y2), score, points, sighting=_SIGHTINGS[kind])
