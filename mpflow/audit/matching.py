"""Which face of the input explains a find in the output, and finds that follow each other.

Boxes are (x1, y1, x2, y2) in pixels of the output.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from mpflow.boxes import area, centre_of, overlap, shared
from mpflow.tokens import Box

NEAR = 0.25
"""By what share of its sides a face's box is grown: what is found of a covered face often is the
edge of its cover."""

_INSIDE = 0.5
_SAME_PLACE = 0.2


def explained(
    finds: Sequence[Box], faces: Sequence[Box], allowed: Collection[int] = ()
) -> list[int | None]:
    """For each find the number of the face that explains it best, None where none does.

    A face that is ``allowed`` to show explains one find, the one that lies best over it: another
    beside it is somebody else. Of a covered face all is its cover's.
    """
    belongs = [_best(find, faces) for find in finds]
    for number in allowed:
        mine = [at for at, to in enumerate(belongs) if to == number]
        own = max(mine, key=lambda at: overlap(finds[at], faces[number]), default=None)
        for at in mine:
            if at != own:
                belongs[at] = None
    return belongs


def _best(find: Box, faces: Sequence[Box]) -> int | None:
    ranked = [(overlap(find, face), number) for number, face in enumerate(faces)]
    near = [pair for pair in ranked if explains(faces[pair[1]], find)]
    return max(near, default=(0.0, None), key=lambda pair: pair[0])[1]


def explains(face: Box, find: Box) -> bool:
    """Whether a find belongs to a face: its middle lies near it, or much of one in the other."""
    x1, y1, x2, y2 = face
    right, down = (x2 - x1) * NEAR, (y2 - y1) * NEAR
    x, y = centre_of(find)
    if x1 - right <= x <= x2 + right and y1 - down <= y <= y2 + down:
        return True
    return shared(face, find) >= _INSIDE * min(area(face), area(find)) > 0


@dataclass
class Links:
    """Numbers for boxes without a track: one that lies where one lay just before has its number.

    They count down from -1, so that none is a track's.
    """

    patience: float
    _last: dict[int, tuple[float, Box]] = field(default_factory=dict)
    _next: int = -1

    def number(self, box: Box, time: float) -> int:
        """The number of a box at a time in seconds, which must not fall."""
        self._last = {
            number: (seen, place)
            for number, (seen, place) in self._last.items()
            if time - seen <= self.patience
        }
        free = [(overlap(box, p), n) for n, (seen, p) in self._last.items() if seen < time]
        best, number = max(free, default=(0.0, 0))
        if best < _SAME_PLACE:
            number, self._next = self._next, self._next - 1
        self._last[number] = time, box
        return number
