"""How many frames apart a detector looks: as many as the faces' motion allows.

    a look --> how far did faces go since the last one? did one come, or go?
           --> the gap to the next look: 1 at once where something happens, one more at a time

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
