"""AAC out of its ADTS frames (ISO/IEC 13818-7, 6.2), which only transport streams and files keep.

syncword 12 | id 1 | layer 2 | no crc 1 | profile 2 | rate 4 | private 1 | channels 3 | ...
... | frame length 13 | fullness 11 | blocks 2 | (crc 16)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

_HEADER, _CRC = 7, 2


@dataclass(frozen=True, slots=True)
class AdtsFrame:
    """One frame: its bare ``payload``, and ``config``, the AudioSpecificConfig it stands for; that
    is empty where the payload alone tells the channels."""

    payload: bytes
    config: bytes

    @classmethod
    def of(cls, data: bytes) -> Self | None:
        """The frame that ``data`` is; None where it is none.

        The configuration has five bits of object type, four of rate, four of channels, three of 0
        (ISO/IEC 14496-3, 1.6.2.1).
        """
        if len(data) <= _HEADER or data[0] != 0xFF or data[1] & 0xF6 != 0xF0:
            return None
        header = _HEADER if data[1] & 1 else _HEADER + _CRC
        kind = (data[2] >> 6) + 1
        rate = (data[2] >> 2) & 0xF
        channels = (data[2] & 1) << 2 | data[3] >> 6
        if not channels:
            return cls(data[header:], b"")
        config = kind << 11 | rate << 7 | channels << 3
        return cls(data[header:], config.to_bytes(2, "big"))
