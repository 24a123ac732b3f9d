"""How many frames apart a detector looks: as many as the faces' motion allows.

    a look --> how far did faces go since the last one? did one come, or go?
           --> the gap to the next look: 1 at once where something happens, one more at a time
           --> how closely to look then: a glance is enough where nothing happens

Between two looks a face is covered from one place to the other, and a little beyond. That is
enough for a face that goes straight on; the less it moves, the less it can have done besides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

REACH = 0.3
"""How far a face may go between two looks, in sides of its box. It is covered 0.1 of a side around
wherever it was seen (``looks.LEAST``), whatever it does meanwhile."""

SOON_S = 0.2
"""The longest time between two looks. Somebody who is there for less may not be seen at all."""

NEAR_FRAMES, NEAR_S = 10, 0.4
"""The most frames, and seconds, from one close look to the next. A face that is too small for a
glance is found so late; a tracker covers it before that (``ahead`` and ``before`` of ``track``)."""

_TICK_S = 1e-6


@dataclass(frozen=True, slots=True)
class Motion:
    """What two looks, so many frames apart, tell of the faces: the way of the one that moved
    most, in sides of its box, and whether there is one that only one of them has found."""

    frames: int
    way: float
    strange: bool = False


def gap_after(gap: int, motion: Motion | None, most: int) -> int:
    """How many frames after a look the next is due, when it was ``gap`` until now.

    ``motion`` is None for the first look of a scene, which tells nothing of motion. A gap grows by
    one from look to look, up to ``most``: where it grew too fast, a face would be the one to pay.
    """
    if motion is None or motion.strange:
        return 1
    allowed = most
    if motion.way > 0:
        allowed = min(most, math.floor(REACH * motion.frames / motion.way))
    return max(1, min(allowed, gap + 1))


def close_due(frames: int, seconds: float, most: int) -> bool:
    """Whether a look so long after the last close one has to be close itself.

    The one after it may be ``most`` frames later, and would be late then.
    """
    if frames <= 0 or seconds < 0:
        return True
    later = min(SOON_S, most * seconds / frames)
    return frames + most > NEAR_FRAMES or seconds + later > NEAR_S + _TICK_S
