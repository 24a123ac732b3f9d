"""When a track's face is looked at for who it is, and what a look changes.

    first good sight -> look -> mark -> looked at again when it is seen much better, when it is
                                        unsure, when a while has passed, and when it is in doubt
    doubt            -> no mark until the next look

A track may slip from one person to another: where two faces meet, over a gap, by a jump. So a mark
is never for ever, and where the track may have slipped it is gone at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from mpflow.policies.identity import OTHER, Mark
from mpflow.tokens import Box

USABLE = 0.3
"""A face of less quality is not looked at: it would be like everybody, or like nobody."""

CLEAR = 0.5
"""From this quality on a look may say that it is nobody of the gallery, and overrules others."""

BETTER = 0.15
"""A face is seen much better from so much more quality on."""

SHORTEST_S, UNSURE_S = 0.2, 0.5
"""Seconds between two looks at a track at least, and between two at one that is unsure."""

GAP_S = 0.5
"""A track that nobody has seen for longer may have come back as somebody else."""

MEETING = 0.3
"""Two faces meet when they share so much of the smaller one."""

JUMP = 1.0
"""The farthest that a face moves between two sightings, in its own sides."""


@dataclass(frozen=True, slots=True)
class Look:
    """What one look at a track's face said, at a quality of 0..1 and a time in seconds."""

    mark: Mark
    quality: float
    time: float


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a track: its mark, the last look, and when and where it was last seen."""

    mark: Mark = None
    look: Look | None = None
    doubted: bool = False
    seen: float | None = None
    box: Box | None = None


NEW = Known()


def sighted(known: Known, box: Box, time: float) -> Known:
    """The track was seen by a detector, at ``time`` seconds."""
    after = replace(known, seen=time, box=box)
    return doubt(after) if slipped(known, box, time) else after


def slipped(known: Known, box: Box, time: float) -> bool:
    """Whether a gap or a jump since the last sighting may have made it somebody else's track."""
    if known.seen is None or known.box is None:
        return False
    return time - known.seen > GAP_S or _jumped(known.box, box)


def doubt(known: Known) -> Known:
    """It may be somebody else from now on."""
    return replace(known, mark=None, doubted=True)


def due(known: Known, quality: float, time: float, *, again: float) -> bool:
    """Whether a face of this quality is looked at now; every ``again`` seconds in any case."""
    if quality < USABLE:
        return False
    if known.look is None or known.doubted:
        return True
    since = time - known.look.time
    if since < SHORTEST_S:
        return False
    if quality >= known.look.quality + BETTER:
        return True
    return since >= (again if known.mark is not None else min(again, UNSURE_S))


def looked(known: Known, look: Look) -> Known:
    """What is known after one more look."""
    return replace(known, mark=_after(known.mark, look), look=look, doubted=False)


def meeting(one: Box, other: Box) -> bool:
    """Whether two faces cover so much of each other that a track may slip over."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    smaller = min(_area(one), _area(other))
    return width > 0 and height > 0 and width * height >= MEETING * smaller


def _after(mark: Mark, look: Look) -> Mark:
    """A clear look decides. Another can say who it is where nobody knew, but not that it is nobody
    of the gallery; and one that contradicts what was known leaves nobody sure."""
    if look.quality >= CLEAR:
        return look.mark
    if look.mark in {None, mark}:
        return mark
    return look.mark if mark is None and look.mark != OTHER else None


def _area(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def _jumped(before: Box, now: Box) -> bool:
    side = max(now[2] - now[0], now[3] - now[1], before[2] - before[0], before[3] - before[1])
    across = (now[0] + now[2] - before[0] - before[2]) / 2
    down = (now[1] + now[3] - before[1] - before[3]) / 2
    return math.hypot(across, down) > JUMP * side
