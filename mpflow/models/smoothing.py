"""Take the trembling out of points that are followed from frame to frame, without lag.

    points of the frames around one -> a straight line through each coordinate, by least squares
                                    -> where the line is on that frame

A line through a steady motion is that motion, with frames on both sides or on one: what is smoothed
does not lag behind. A motion that changes is no line; frames where the points are not near it count
less, down to nothing, and then the points stay as they were found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mpflow.models.detections import Floats
from mpflow.tokens import Token

Doubles = NDArray[np.float64]

# How far points may be from the line, as a share of the face's size, for their frame to count
# (a standard deviation). The mesh network trembles by less than half of that on a small face.
_NEAR = 0.012

_LEAST = 3  # frames; a line through two of them is where they are


@dataclass(frozen=True, slots=True, eq=False)
class _Seen:
    """The points of one track on one frame."""

    seq: int
    time: float | None
    points: Floats


class Window:
    """The points of every track on the frames around one: ``behind`` before it, ``ahead`` after."""

    def __init__(self, behind: int, ahead: int) -> None:
        self._behind = behind
        self._ahead = ahead
        self._tracks: dict[int, dict[int, _Seen]] = {}

    def add(self, token: Token, track: int, points: Floats) -> None:
        """Keep the points [k, d] of a track on the token's frame."""
        self._tracks.setdefault(track, {})[token.seq] = _Seen(token.seq, token.time, points)

    def steadied(self, seq: int, track: int) -> Floats:
        """The points of a track on a frame that was added, by those on the frames around it."""
        seen = self._tracks[track]
        near = [seen[n] for n in range(seq - self._behind, seq + self._ahead + 1) if n in seen]
        times = [each.time for each in near]
        known = [time for time in times if time is not None]
        whole = len(known) == len(times)
        at = next(place for place, each in enumerate(near) if each.seq == seq)
        return steadied(
            known if whole else [each.seq for each in near], [each.points for each in near], at
        )

    def forget_before(self, seq: int) -> None:
        """Let go of what no frame from ``seq`` on needs."""
        for track, seen in list(self._tracks.items()):
            for old in [number for number in seen if number < seq - self._behind]:
                del seen[old]
            if not seen:
                del self._tracks[track]


def steadied(times: Sequence[float], points: Sequence[Floats], at: int) -> Floats:
    """Points [k, d] of frame number ``at`` of some, with the trembling taken out.

    ``times`` are of the frames, in any unit, rising; each of ``points`` is [k, d], all of the same
    face. The farther away a frame is, the less it counts.
    """
    away = np.asarray(times, np.float64) - times[at]
    reach = np.abs(away).max()
    if len(points) < _LEAST or not reach > 0:
        return points[at]
    stack = np.asarray(points, np.float64).reshape(len(points), -1)
    weights = np.exp(-2 * (away / reach) ** 2)
    _, slope = _line(away, stack, weights)
    off = stack - stack[at] - away[:, None] * slope
    weights *= np.exp(-0.5 * (_rms(off) / (_NEAR * _size(points[at]))) ** 2)
    place, _ = _line(away, stack, weights)
    return place.reshape(points[at].shape).astype(np.float32)


def _line(away: Doubles, values: Doubles, weights: Doubles) -> tuple[Doubles, Doubles]:
    """Value at 0 and slope of the weighted lines through values [n, m] at places [n]."""
    total = weights.sum()
    mean = (weights * away).sum() / total
    spread = (weights * (away - mean) ** 2).sum()
    middle = weights @ values / total
    if not spread > 1e-9 * total:
        return middle, np.zeros_like(middle)
    slope = (weights * (away - mean)) @ values / spread
    return middle - mean * slope, slope


def _rms(off: Doubles) -> Doubles:
    """The root of the mean square of every row."""
    root: Doubles = np.sqrt((off**2).mean(axis=1))
    return root


def _size(points: Floats) -> float:
    """The longer side of the box around points."""
    return max(float(np.ptp(points[:, :2], axis=0).max()), 1e-6)
