"""Faces on frames that are not looked at: those of the last look, in boxes that grow with time.

    looked at      carried        carried             looked at
    | face |     |  face  |    |    face    |          | face |

A face that moves between two looks has to stay inside its box, for the box is what is covered.
Whatever makes the last look a bad guess asks for another one: frames that are missing, time that
has passed, a picture that has changed. What nobody can know is a face that comes into an
unchanged picture between two looks: it is found by the next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mpflow.tokens import Face, Token

if TYPE_CHECKING:
    from mpflow.frame import Frame

Sample = NDArray[np.int16]

NO_SAMPLE: Sample = np.zeros((0, 0), np.int16)
"""For a picture that nobody compares with another."""

SPEED = 3.0
"""How many times its own size a face may move in a second. Somebody who runs past a camera makes
about two; a turn of the camera moves all faces so."""

LEAST = 0.1
"""The share of its size by which a box grows on each side with every frame, whatever the clock
says: time stamps may be missing or wrong."""

LONGEST_S = 0.5
"""After so many seconds without a look no face is carried any further."""

_COLUMNS, _ROWS = 32, 18
_DIFFERENT = 24
_CHANGED = 0.3


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """One look at a frame: which one, its time in seconds if known, and how the picture was."""

    seq: int
    time: float | None
    sample: Sample

    def distance(self, token: Token) -> tuple[int, float]:
        """Frames and seconds from this look to a frame; no clock, no seconds."""
        here = token.time
        seconds = 0.0 if self.time is None or here is None else here - self.time
        return token.seq - self.seq, seconds

    def reaches(self, token: Token, sample: Sample, every: int) -> bool:
        """Whether the faces of this look may be carried to a frame, looking at each ``every``-th.

        The frames with a number that ``every`` divides are looked at, so that a run that goes on
        in the middle looks at the same ones.
        """
        frames, seconds = self.distance(token)
        if not 0 < frames < every or token.seq % every == 0:
            return False
        return 0 <= seconds <= LONGEST_S and not _changed(self.sample, sample)


class Carrier:
    """Says which frames are looked at, and gives the others what the last look has found."""

    def __init__(self) -> None:
        self._last: tuple[Look, Sequence[Face]] | None = None

    def forget(self) -> None:
        """Another input begins."""
        self._last = None

    def plan(self, frames: Iterable[tuple[Token, Frame, bool]], every: int) -> list[Look | None]:
        """The look at each frame of a batch; None for those to which faces are carried.

        ``frames`` come with whether they have to be looked at whatever ``every`` says. Nothing is
        kept yet: the looks may fail.
        """
        plan: list[Look | None] = []
        last = self._last[0] if self._last else None
        for token, frame, must in frames:
            sample = NO_SAMPLE if every == 1 else sample_of(frame)
            if last is not None and not must and last.reaches(token, sample, every):
                plan.append(None)
            else:
                last = Look(token.seq, token.time, sample)
                plan.append(last)
        return plan

    def looked(self, look: Look, token: Token, faces: Sequence[Face]) -> Token:
        """Keep what a look has found; the token with it."""
        self._last = (look, faces)
        return token.with_faces(faces)

    def carried(self, token: Token) -> Token:
        """A frame between two looks; it says how many frames ago the last one was."""
        assert self._last is not None, "a plan begins with a look"
        look, faces = self._last
        token = token.with_faces(carry(look, faces, token))
        return token.with_field("detect.carried", token.seq - look.seq)


def carry(look: Look, faces: Sequence[Face], token: Token) -> tuple[Face, ...]:
    """The faces of a look on a later frame: each box is grown by how far the face may have come.

    Points are left out: where the eyes are now nobody knows.
    """
    frames, seconds = look.distance(token)
    share = max(LEAST * frames, SPEED * seconds)
    return tuple(_grown(face, share) for face in faces)


def sample_of(frame: Frame) -> Sample:
    """The brightness of a few hundred pixels in 8 bits, [rows, columns]: how the picture looks."""
    luma = frame.planes[0]
    height, width = luma.shape[:2]
    rows = (np.arange(_ROWS) * 2 + 1) * height // (2 * _ROWS)
    columns = (np.arange(_COLUMNS) * 2 + 1) * width // (2 * _COLUMNS)
    kind = frame.layout.format
    few = luma[np.ix_(rows, columns)] >> (kind.low_bits + kind.depth - 8)
    return few.astype(np.int16)


def _grown(face: Face, share: float) -> Face:
    x1, y1, x2, y2 = face.box
    more = share * max(x2 - x1, y2 - y1)
    return Face((x1 - more, y1 - more, x2 + more, y2 + more), face.score)


def _changed(before: Sample, now: Sample) -> bool:
    """Whether so much of a picture is different that another scene may have begun."""
    if before.shape != now.shape:
        return True
    return float((abs(now - before) > _DIFFERENT).mean()) > _CHANGED
