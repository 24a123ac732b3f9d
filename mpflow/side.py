"""Arrays beside a picture, in its slot: what is too large for a token (a mesh, a crop).

    array | array | ...     array:  size u32 | dtype u8 | axes u8 | shape 4 x u16 | pad | bytes

Each stage writes behind what the stages before it have left, and the token's faces say where
(``Face.refs``). So a frame that is worked on again finds what was there before, and writes over
what a dead worker has begun. Nothing is journalled: nobody reads what no token names.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpflow.errors import ContractError

_HEAD = struct.Struct("<IBB4H2x")
HEAD_BYTES = _HEAD.size
ALIGNMENT = 16
_KINDS = tuple(np.dtype(kind) for kind in ("u1", "i2", "u2", "i4", "f2", "f4", "f8"))
_MOST_AXES = 4


def bytes_for(shape: tuple[int, ...], dtype: str | np.dtype[Any]) -> int:
    """How many bytes one array takes beside a picture: what a stage's ``side_bytes`` adds up."""
    return _rounded(HEAD_BYTES + int(np.prod(shape)) * np.dtype(dtype).itemsize)


def write(area: NDArray[np.uint8], at: int, array: NDArray[Any]) -> int | None:
    """Keep an array at byte ``at`` of the area; where the next may begin, or None for no room."""
    end = at + bytes_for(array.shape, array.dtype)
    if end > len(area):
        return None
    if array.dtype not in _KINDS or array.ndim > _MOST_AXES or max(array.shape, default=0) > 0xFFFF:
        raise ContractError(
            f"an array of {array.dtype} {list(array.shape)} cannot be kept beside a picture",
            cure=f"four axes at most, of {', '.join(kind.name for kind in _KINDS)}",
        )
    shape = (*array.shape, *[0] * (_MOST_AXES - array.ndim))
    kind = _KINDS.index(array.dtype)
    data = np.ascontiguousarray(array).view(np.uint8).reshape(-1)
    head = _HEAD.pack(len(data), kind, array.ndim, *shape)
    area[at : at + HEAD_BYTES] = np.frombuffer(head, np.uint8)
    area[at + HEAD_BYTES : at + HEAD_BYTES + len(data)] = data
    return end


def read(area: NDArray[np.uint8], at: int) -> NDArray[Any]:
    """A copy of the array at byte ``at``; raises ContractError where there is none."""
    size, kind, axes, *shape = _head(area, at)
    data = area[at + HEAD_BYTES : at + HEAD_BYTES + size].tobytes()
    if kind >= len(_KINDS) or axes > _MOST_AXES or len(data) < size:
        raise _nothing_at(at)
    try:
        return np.frombuffer(data, _KINDS[kind]).reshape(shape[:axes])
    except ValueError as error:
        raise _nothing_at(at) from error


def behind(area: NDArray[np.uint8], refs: Iterable[int]) -> int:
    """Where the area is free, behind the arrays that begin at these bytes."""
    last = max(refs, default=None)
    if last is None:
        return 0
    return last + _rounded(HEAD_BYTES + _head(area, last)[0])


def _head(area: NDArray[np.uint8], at: int) -> tuple[int, ...]:
    head = area[at : at + HEAD_BYTES].tobytes()
    if len(head) < HEAD_BYTES:
        raise _nothing_at(at)
    return _HEAD.unpack(head)


def _nothing_at(at: int) -> ContractError:
    return ContractError(f"there is no array at byte {at} beside the picture")


def _rounded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
