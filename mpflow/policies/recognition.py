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

from mpflow.boxes import area, centre_of, meet, shared
from mpflow.policies.identity import OTHER, Mark
from mpflow.tokens import Box

USABLE = 0.15
"""A face of less quality (mpflow.models.pose) is not looked at: from the front, one of less than 18
pixels, which would be like nobody."""

CLEAR = 0.3
"""From this quality on a look may say that it is nobody of the gallery, and overrules others: from
the front, a face of 36 pixels, or a large one turned by 70 degrees."""

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
    """What is known of a track: its mark, the last look, how many looks in a row left nobody sure,
    and when and where it was last seen."""

    mark: Mark = None
    look: Look | None = None
    unsure: int = 0
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
    return gone(known, time) or _jumped(known.box, box)


def gone(known: Known, time: float) -> bool:
    """Whether it is too long since the track was seen to believe that it is the same face."""
    return known.seen is not None and time - known.seen > GAP_S


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
    if quality >= known.look.quality + BETTER:
        return since >= SHORTEST_S
    return since >= _patience(known, known.look, again)


def looked(known: Known, look: Look) -> Known:
    """What is known after one more look."""
    mark = _after(known, look)
    unsure = known.unsure + 1 if mark is None else 0
    return replace(known, mark=mark, look=look, unsure=unsure, doubted=False)


def meeting(one: Box, other: Box) -> bool:
    """Whether two faces cover so much of each other that a track may slip over."""
    return meet(one, other) and shared(one, other) >= MEETING * min(area(one), area(other))


def _patience(known: Known, last: Look, again: float) -> float:
    """Seconds from the last look to the next one, if nothing happens: longer each time that it
    leaves nobody sure, as in a crowd far away."""
    if known.mark is not None:
        return again
    if last.mark == OTHER and last.quality >= CLEAR:
        return SHORTEST_S
    return min(again, UNSURE_S * 2.0 ** (known.unsure - 1))


def _after(known: Known, look: Look) -> Mark:
    """The mark after a look.

    A clear look decides, but that it is nobody of the gallery takes two of them, one after the
    other: a person who turns away is easily like nobody. Another look can say who it is where
    nobody knew; where it contradicts what was known, nobody is sure.
    """
    clear = look.quality >= CLEAR
    if look.mark is None:
        return None if clear else known.mark
    if look.mark != OTHER:
        return look.mark if clear or known.mark in {None, look.mark} else None
    return OTHER if known.mark == OTHER or (clear and _said_other(known)) else None


def _said_other(known: Known) -> bool:
    """Whether the last look, and a clear one, said so already, and nothing cast doubt since."""
    last = known.look
    return last is not None and last.mark == OTHER and last.quality >= CLEAR and not known.doubted


def _jumped(before: Box, now: Box) -> bool:
    side = max(now[2] - now[0], now[3] - now[1], before[2] - before[0], before[3] - before[1])
    return math.dist(centre_of(before), centre_of(now)) > JUMP * side
