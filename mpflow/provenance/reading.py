"""Whether a video carries the invisible mark, and what it says.

    frames -> upright luma, a sample for each cell -> what its neighbours do not foretell,
           weighed by how calm the picture is there -> summed over frames -> coded bits -> payload

An unmarked video is taken for a marked one only if two things happen by chance: the tag and the
checksum fit, 24 bits of 48; and the sums agree with the whole word's signs ``LEAST`` times better
than their size lets expect. For signs that were drawn by lot the second is rarer than
exp(-LEAST^2 / 2) for each of the words that could count (W. Hoeffding, 1963), whatever the picture.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import av
import cv2
import msgspec
import numpy as np
import numpy.typing as npt
from av.container import InputContainer

from mpflow.errors import InputError
from mpflow.media.source import explain_read, open_input
from mpflow.provenance.pattern import GRIDS, Grid, spread
from mpflow.provenance.payload import CODED_BITS, Floats, coded, decoded

MOST_FRAMES = 120
LEAST = 9.0
"""How far a mark has to stand out: sums over the signs, by the root of the sum of squares."""

_PLACES = 24
_AT_A_PLACE = 3
_FLOOR, _LIMIT = 0.3, 1.5
# What the eight cells around one foretell of it: their mean, and what a saddle would have there.
_AROUND = np.array([[-5, 22, -5], [22, 4, 22], [-5, 22, -5]], np.float32) / 72


class Found(msgspec.Struct, frozen=True):
    """A mark that was read: its ``version``, how the faces were made (``kind``, one of
    mpflow.spec.Making), the run's number, and how many times the least that counts it stands out
    (``confidence``), over so many ``frames``."""

    version: int
    kind: str
    run_id: int
    confidence: float
    frames: int


class Reader:
    """Sums up frames, and reads the mark from the sum."""

    def __init__(self) -> None:
        self.frames = 0
        self._sums = {grid: np.zeros((grid.short, grid.long), np.float32) for grid in GRIDS}

    def add(self, luma: npt.NDArray[Any]) -> None:
        """Take the luma plane of one more upright picture, [rows, columns], in steps of 8 bits."""
        self.frames += 1
        for grid in GRIDS:
            self._sums[grid] += _evidence(luma, grid)

    def read(self) -> Found | None:
        """What the frames so far say; None where there is no mark."""
        found = [each for grid, total in self._sums.items() if (each := self._read(grid, total))]
        return max(found, key=lambda each: each.confidence, default=None)

    def soft_bits(self) -> list[Floats]:
        """The coded bits as they were summed up, by each grid: [162], positive for 1."""
        return [_bits(grid, total) for grid, total in self._sums.items()]

    def _read(self, grid: Grid, total: Floats) -> Found | None:
        soft = _bits(grid, total)
        size = float(np.sqrt(np.vdot(total, total)))
        payload = decoded(soft) if size > 0 else None
        if payload is None:
            return None
        strength = float(soft @ coded(payload)) / size
        if strength < LEAST:
            return None
        confidence = round(strength / LEAST, 2)
        return Found(payload.version, payload.kind, payload.run_id, confidence, self.frames)


def read_mark(path: Path, most_frames: int = MOST_FRAMES) -> Found | None:
    """The mark in a video, looked for in so many frames at most; None where there is none.

    Looks at a few frames in each of some places first, then at its beginning, frame by frame.
    Raises InputError for what is no video, or cannot be read.
    """
    damage, frames = None, 0
    for pictures_of in (_here_and_there, _from_the_start):
        reader = Reader()
        with open_input(str(path)) as container:
            if not container.streams.video:
                raise InputError(f"{str(path)!r} has no picture stream", cure="give a video file")
            try:
                for picture in islice(pictures_of(container), most_frames):
                    reader.add(_upright_luma(picture))
            except av.FFmpegError as error:  # what was read so far may do
                damage = error
        if found := reader.read():
            return found
        frames += reader.frames
    if damage is not None and not frames:
        raise explain_read(str(path), damage) from damage
    return None


def _here_and_there(container: InputContainer) -> Iterator[av.VideoFrame]:
    """A few frames from each of some places, of which no two are the same; none where it cannot be
    sought."""
    stream = container.streams.video[0]
    length, start = container.duration, container.start_time or 0
    if not length:
        return
    seen: set[int | None] = set()
    for place in range(_PLACES):
        try:
            container.seek(start + length * place // _PLACES)
        except av.FFmpegError:
            return
        for picture in islice(container.decode(stream), _AT_A_PLACE):
            if picture.pts in seen:
                break
            seen.add(picture.pts)
            yield picture


def _from_the_start(container: InputContainer) -> Iterator[av.VideoFrame]:
    """Every frame, in a file that was just opened: some containers cannot go back to its start."""
    yield from container.decode(container.streams.video[0])


def _upright_luma(picture: av.VideoFrame) -> npt.NDArray[Any]:
    gray = picture.reformat(format="gray").to_ndarray()
    return np.rot90(gray, round(picture.rotation / 90))


def _bits(grid: Grid, total: Floats) -> Floats:
    lie = spread(grid)
    return np.bincount(lie.bits, total.ravel() * lie.signs, CODED_BITS).astype(np.float32)


def _evidence(luma: npt.NDArray[Any], grid: Grid) -> Floats:
    """What speaks for a lighter or darker cell, as a picture that lies: [rows, columns]."""
    rows, columns = luma.shape[:2]
    if rows > columns:
        luma = luma.T
    size = grid.long, grid.short
    cells = cv2.resize(
        np.ascontiguousarray(luma).astype(np.float32), size, interpolation=cv2.INTER_AREA
    )
    left = cells - cv2.filter2D(cells, -1, _AROUND)
    spread_of = np.sqrt(cv2.blur(left * left, (3, 3)).clip(0)) + _FLOOR
    return np.asarray((left / spread_of).clip(-_LIMIT, _LIMIT) / spread_of, np.float32)
