"""What the invisible mark says, in 32 bits, and how these become bits that bear being damaged.

    tag 8 | version 4 | kind 4 | run 16 -> + CRC 16 -> convolutional code -> 162 bits, +1 or -1
                                        <- tag, CRC fit? <- Viterbi, soft <- 162 numbers

The code is the one of rate 1/3 and constraint length 7 with the generators 133, 171 and 165
(octal), ended by six zeros; it is read by A. J. Viterbi's algorithm ("Error bounds for
convolutional codes", 1967), which takes into account how sure each bit is. The CRC is CCITT's.
"""

from __future__ import annotations

import binascii
from dataclasses import dataclass
from functools import lru_cache
from typing import get_args

import numpy as np
import numpy.typing as npt

from mpflow.spec import Making

Floats = npt.NDArray[np.float32]

VERSION = 1
RUNS = 1 << 16
KINDS: tuple[Making, ...] = get_args(Making)
"""By their number in the mark: the order may only be added to. The first is for faces of which
nobody has said how they were made."""

_TAG = 0x6D
_MEMORY = 6
_GENERATORS = (0o133, 0o171, 0o165)
_DATA_BITS = 48
CODED_BITS = len(_GENERATORS) * (_DATA_BITS + _MEMORY)
_CRC_START = 0xFFFF


@dataclass(frozen=True, slots=True)
class Payload:
    """What a mark says: its version, how the faces were made, and 16 bits that tell runs apart."""

    kind: Making
    run_id: int
    version: int = VERSION


def coded(payload: Payload) -> Floats:
    """The coded bits of a payload, [162], each +1 or -1."""
    bits = np.unpackbits(np.frombuffer(_packed(payload), np.uint8))
    state, out = 0, []
    for bit in (*bits.tolist(), *[0] * _MEMORY):
        register = state << 1 | bit
        out += [_parity(register & generator) for generator in _GENERATORS]
        state = register & _states() - 1
    return np.array(out, np.float32) * 2 - 1


def decoded(soft: Floats) -> Payload | None:
    """The payload that coded bits [162] say, each the more positive or negative the surer it is;
    None where the nearest word is none of a payload."""
    data = np.packbits(_nearest(soft)).tobytes()
    tag, sort, run_id = data[0], data[1], int.from_bytes(data[2:4], "big")
    version, kind = sort >> 4, sort & 15
    if tag != _TAG or version != VERSION or kind >= len(KINDS):
        return None
    payload = Payload(KINDS[kind], run_id, version)
    return payload if _packed(payload) == data else None


def _packed(payload: Payload) -> bytes:
    sort = payload.version << 4 | KINDS.index(payload.kind)
    data = bytes((_TAG, sort)) + payload.run_id.to_bytes(2, "big")
    return data + binascii.crc_hqx(data, _CRC_START).to_bytes(2, "big")


def _nearest(soft: Floats) -> npt.NDArray[np.uint8]:
    """The 48 bits whose coded word correlates best with ``soft``."""
    before, words = _trellis()
    score = np.full(_states(), -np.inf, np.float32)
    score[0] = 0
    chosen = []
    for three in soft.reshape(-1, len(_GENERATORS)):
        ways = score[before] + words @ three
        best = ways.argmax(axis=1)
        score = ways[np.arange(len(best)), best]
        chosen.append(best)
    state, bits = 0, []
    for best in reversed(chosen):
        bits.append(state & 1)
        state = int(before[state, best[state]])
    return np.array(bits[::-1][:_DATA_BITS], np.uint8)


@lru_cache(maxsize=1)
def _trellis() -> tuple[npt.NDArray[np.intp], Floats]:
    """For each state the two it may come from, and the coded bits on the way: [64, 2] and
    [64, 2, 3]."""
    after, way = np.meshgrid(np.arange(_states()), np.arange(2), indexing="ij")
    before = after >> 1 | way << (_MEMORY - 1)
    register = before << 1 | after & 1
    words = [[[_parity(int(r) & g) for g in _GENERATORS] for r in row] for row in register]
    return before.astype(np.intp), np.array(words, np.float32) * 2 - 1


def _states() -> int:
    return 1 << _MEMORY


def _parity(value: int) -> int:
    return value.bit_count() & 1
