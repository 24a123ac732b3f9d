"""The token's bytes: a checked header, then msgpack of positional arrays.

    0      3         4            8        12
    | "MPT"| version | body bytes | crc32  | msgpack body ...

The order of the fields is the order of the dataclasses in mpflow.tokens, so a change there is a
new version here. Lists inside ``params`` and ``fields`` come back as tuples: a token is frozen.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import msgpack

from mpflow.errors import InternalError
from mpflow.tokens import Change, Face, FrameState, Mode, Sighting, Stamp, Token

MAGIC = b"MPT"
VERSION = 2
MAX_BYTES = 49152
"""A face with its track takes about 220: a crowd has to fit, or its frame is given up."""

_HEADER = struct.Struct("<3sBII")
_STATES = {state.value: state for state in FrameState}
_MODES = {mode.value: mode for mode in Mode}
_SIGHTINGS = {sighting.value: sighting for sighting in Sighting}
_NAMES = [each.name for each in fields(Token)]
_FIELDS = len(_NAMES)
_STATE, _MODE, _FACES, _STAMPS, _CHANGES = (
    _NAMES.index(name) for name in ("state", "mode", "faces", "stamps", "changes")
)


class WireError(InternalError):
    """Bytes that are no token of ours, or a token that cannot become bytes."""


class ForeignBytes(WireError):
    """These bytes do not start as a token does."""


class UnknownVersion(WireError):
    """A token written by another version of mpflow; facts: version, known."""


class TruncatedToken(WireError):
    """The token ends too early; facts: expected, got (bytes)."""


class DamagedToken(WireError):
    """The token's bytes were changed on their way."""


class UnpackableToken(WireError):
    """The token holds a value that does not travel; facts: seq."""


class TokenTooLarge(WireError):
    """The token does not fit its place; facts: seq, bytes, limit."""


def pack(token: Token, limit: int = MAX_BYTES) -> bytes:
    """Turn a token into at most ``limit`` bytes; raises UnpackableToken or TokenTooLarge."""
    try:
        body: bytes = msgpack.packb(_to_array(token))
    except (TypeError, ValueError, OverflowError, AttributeError) as error:
        raise UnpackableToken(
            f"the token of frame {token.seq} holds a value that does not travel: {error}",
            cure="use plain numbers, strings, bytes, lists and dicts",
            facts={"seq": token.seq},
        ) from error
    size = _HEADER.size + len(body)
    if size > limit:
        raise TokenTooLarge(
            f"the token of frame {token.seq} has {size} bytes, {limit} fit",
            cure="keep large arrays in the slot's side area and name them by reference",
            facts={"seq": token.seq, "bytes": size, "limit": limit},
        )
    return _HEADER.pack(MAGIC, VERSION, len(body), zlib.crc32(body)) + body


def unpack(data: bytes) -> Token:
    """Turn bytes into the token they hold; raises the WireError that says what is wrong."""
    body = _checked_body(data)
    try:
        return _from_array(msgpack.unpackb(body, use_list=False, strict_map_key=False))
    except (TypeError, ValueError, KeyError, msgpack.UnpackException) as error:
        raise DamagedToken(f"the token's content makes no sense: {error}") from error


def face_row(face: Face) -> tuple[Any, ...]:
    """A face as plain values, in the order of its fields."""
    place = face.box, face.score, face.points, face.track, face.identity, face.refs
    return *place, face.pose, face.sighting.value


def face_of(row: Sequence[Any]) -> Face:
    """The face of such a row; raises ValueError or KeyError for one of another kind."""
    box, score, points, track, identity, refs, pose, sighting = row
    return Face(box, score, points, track, identity, refs, pose, _SIGHTINGS[sighting])


def _checked_body(data: bytes) -> bytes:
    if data[: len(MAGIC)] != MAGIC[: len(data)] or not data:
        raise ForeignBytes(f"not a token: the bytes start with {bytes(data[:3])!r}")
    if len(data) < _HEADER.size:
        raise _truncated(_HEADER.size, len(data))
    _, version, length, crc = _HEADER.unpack_from(data)
    if version != VERSION:
        raise UnknownVersion(
            f"a token of version {version}, this mpflow knows {VERSION}",
            cure="run the same mpflow on both sides",
            facts={"version": version, "known": VERSION},
        )
    body = data[_HEADER.size :]
    if len(body) < length:
        raise _truncated(_HEADER.size + length, len(data))
    if len(body) > length or zlib.crc32(body) != crc:
        raise DamagedToken("the token's bytes do not match their checksum")
    return body


def _truncated(expected: int, got: int) -> TruncatedToken:
    return TruncatedToken(
        f"the token ends after {got} of {expected} bytes", facts={"expected": expected, "got": got}
    )


def _to_array(token: Token) -> tuple[Any, ...]:
    return (
        token.request,
        token.seq,
        token.stream,
        token.pts,
        token.time_base,
        token.duration,
        token.key,
        token.ops,
        token.params,
        token.state.value,
        token.born,
        token.deadline,
        token.ttl,
        token.retries,
        token.mode.value,
        token.degradations,
        [face_row(face) for face in token.faces],
        token.fields,
        [(s.stage, s.worker, s.taken, s.started, s.ended) for s in token.stamps],
        [(c.stage, c.what, c.reason) for c in token.changes],
    )


def _from_array(array: tuple[Any, ...]) -> Token:
    if len(array) != _FIELDS:
        raise ValueError(f"{len(array)} fields instead of {_FIELDS}")
    values = list(array)
    values[_STATE] = _STATES[array[_STATE]]
    values[_MODE] = _MODES[array[_MODE]]
    values[_FACES] = tuple([face_of(row) for row in array[_FACES]])
    values[_STAMPS] = tuple([Stamp(*stamp) for stamp in array[_STAMPS]])
    values[_CHANGES] = tuple([Change(*change) for change in array[_CHANGES]])
    return Token(*values)
