"""Frames of two videos side by side, by their time stamps.

    input    0    33   67  100  133
    output   0    33       100  133  167
    pairs   both both  in  both both out

The other's frame is None where it has none at that time: a frame that was left out, or added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")

_LEAST_TOLERANCE_S = 0.002  # containers that count milliseconds round by half of one
_OF_A_FRAME = 0.25


def tolerance(rate: float) -> float:
    """How far the stamps of one frame may lie apart, in seconds, at so many frames a second."""
    return max(_LEAST_TOLERANCE_S, _OF_A_FRAME / rate) if rate > 0 else _LEAST_TOLERANCE_S


def shift(start_in: float, start_out: float, rate: float, lacking: int | None) -> float:
    """By how many seconds an output's clock is ahead of its input's, by their first frames.

    An output that begins later by no more frames than it lacks (``lacking``, None where nobody
    knows) has lost its first ones, and keeps the clock.
    """
    ahead = start_out - start_in
    if abs(ahead) <= tolerance(rate) or 0 < round(ahead * rate) <= (lacking or 0):
        return 0.0
    return ahead


def paired(
    inputs: Iterator[A],
    outputs: Iterator[B],
    times: tuple[Callable[[A], float], Callable[[B], float]],
    within: float,
) -> Iterator[tuple[A | None, B | None]]:
    """Walk through both in order; a side's next is asked for only when its last one was given.

    ``times`` read the seconds of either side's items, which must not fall.
    """
    one, other = next(inputs, None), next(outputs, None)
    while one is not None or other is not None:
        if one is None or other is None:
            gap = -inf if other is None else inf
        else:
            gap = times[0](one) - times[1](other)
        takes_one, takes_other = gap <= within, gap >= -within
        yield one if takes_one else None, other if takes_other else None
        if takes_one:
            one = next(inputs, None)
        if takes_other:
            other = next(outputs, None)
