"""Keep a made face's colour and edge from flickering along a track, never far behind the truth.

    value, time -> how far from the one before?
                   a little: trembling; approached within some tenths of a second
                   a lot:    the light has changed, a hand has come; taken as it is, at once

So what is given is at no time farther from what was found than ``near``, and no later frame is
waited for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpflow.models.detections import Floats
from mpflow.swapping.colours import Matching, Shift

LONGEST_S = 1.0
"""After so many seconds without the track, what was is forgotten."""

_NEAR_LEVELS = 6.0
"""Colours that differ by so many levels of 255 have changed. (They tremble by one or two.)"""
_NEAR_GAIN = 0.15
_REACH = np.array([1.0, 0.4, 0.4])
"""Of a shift's rows: what grows towards the crop's border is that much at the face's."""
_NEAR_WEIGHT = 0.25


@dataclass(frozen=True, slots=True, eq=False)
class _Past:
    """What was given for the frame before."""

    time: float
    weight: Floats
    shift: Shift | None


class Steady:
    """The memory of one track; ``seconds`` is the time constant of what trembles."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._past: _Past | None = None

    @property
    def seen(self) -> float | None:
        """When the track was seen last."""
        return None if self._past is None else self._past.time

    def steadied(
        self, weight: Floats, found: Matching | None, time: float
    ) -> tuple[Floats, Matching | None]:
        """The weight [s, s] and the matching of a frame, less their trembling.

        Frames come in their order; one that is earlier than the last begins anew.
        """
        past = self._past
        if past is None or not 0 <= time - past.time <= LONGEST_S:
            past = None
        share = 1.0 if past is None else -math.expm1(-(time - past.time) / self._seconds)
        if past is not None and past.weight.shape == weight.shape:
            weight = _approached(past.weight, weight, share, _NEAR_WEIGHT).astype(np.float32)
        shift = found.shift if found else None
        if past is not None and past.shift is not None and shift is not None:
            shift = _steadied(past.shift, shift, share)
        self._past = _Past(time, weight, shift)
        return weight, Matching(shift, found.mean) if found and shift else None


class Tracks:
    """The memories of all tracks; those that have not been seen for long are let go of.

    With ``seconds`` 0, and for a face without a track, there is none.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._known: dict[int, Steady] = {}

    def of(self, track: int | None, time: float) -> Steady | None:
        """The memory of a track, on a frame at ``time`` seconds."""
        if track is None or not self._seconds:
            return None
        self._known = {
            number: steady
            for number, steady in self._known.items()
            if steady.seen is None or abs(time - steady.seen) <= LONGEST_S
        }
        return self._known.setdefault(track, Steady(self._seconds))


def _steadied(past: Shift, shift: Shift, share: float) -> Shift:
    """Gain and offset go together: a face that has changed has changed in both."""
    far = max(
        float((_REACH @ np.abs(shift.off - past.off)).max()) / _NEAR_LEVELS,
        float(np.abs(shift.gain - past.gain).max()) / _NEAR_GAIN,
    )
    part = _part(share, far)
    return Shift(
        past.gain + part * (shift.gain - past.gain), past.off + part * (shift.off - past.off)
    )


def _approached(past: NDArray[Any], now: NDArray[Any], share: float, near: float) -> NDArray[Any]:
    """Each pixel on its own."""
    step = now - past
    part = _part(np.float32(share), np.abs(step) * np.float32(1 / near))
    approached: NDArray[Any] = past + part * step
    return approached


def _part(share: Any, far: Any) -> Any:
    """The part of the way that is gone: ``share`` of it where it is short, all where ``far`` is 1
    or more."""
    return share + (1 - share) * np.minimum(far, 1) ** 2
