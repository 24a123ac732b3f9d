"""What is known of each track so far, and which faces are worth a crop.

    faces of a frame -> wishes (which to crop) -> crops taken -> line -> add(line) -> rows

Everything comes out of the lines, so a book that is given them again, from the first one, is the
same as the one that wrote them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from mpflow.export.lines import FaceLine, FrameLine

BETTER = 0.02
"""A face is a track's best when it is better by so much: a crop is written for each of them."""


@dataclass(slots=True)
class Spread:
    """Least, mean and most of a size in pixels."""

    least: float = 0.0
    most: float = 0.0
    total: float = 0.0
    count: int = 0

    def add(self, value: float) -> None:
        """One more."""
        self.least = min(self.least, value) if self.count else value
        self.most = max(self.most, value)
        self.total += value
        self.count += 1

    @property
    def mean(self) -> float:
        """0 of nothing."""
        return self.total / self.count if self.count else 0.0


@dataclass(frozen=True, slots=True)
class Best:
    """A track's best crop: which file, how good, of which frame, and where the points are."""

    crop: str
    quality: float
    frame: int
    time: float | None
    face: FaceLine


@dataclass(slots=True)
class TrackNotes:
    """One track: sightings count, and boxes put where it was not seen are counted apart."""

    track: int
    first: FrameLine | None = None
    last: FrameLine | None = None
    seen: int = 0
    filled: int = 0
    scores: float = 0.0
    widths: Spread = field(default_factory=Spread)
    heights: Spread = field(default_factory=Spread)
    identity: str | None = None
    best: Best | None = None
    cropped: float | None = None
    crops: list[str] = field(default_factory=list)

    @property
    def quality(self) -> float:
        """How good its best crop is; 0 without one."""
        return 0.0 if self.best is None else self.best.quality


class Book:
    """All tracks of one video; a crop is due ``every`` so many seconds (0: only the best are).

    Widths and heights are as the video is seen, where it is stored ``on_its_side`` too.
    """

    def __init__(self, every: float = 0.0, *, on_its_side: bool = False) -> None:
        self.frames = 0
        self._every = every
        self._on_its_side = on_its_side
        self._tracks: dict[int, TrackNotes] = {}

    def __iter__(self) -> Iterator[TrackNotes]:
        """The tracks that were seen, by their numbers."""
        for _, notes in sorted(self._tracks.items()):
            if notes.seen:
                yield notes

    def is_due(self, face: FaceLine, time: float | None) -> bool:
        """Whether a crop is wanted of this face because the last one was long ago."""
        if not self._every or face.track is None or not face.seen or time is None:
            return False
        last = self._notes(face.track).cropped
        return last is None or time - last >= self._every

    def may_be_best(self, face: FaceLine, quality: float) -> bool:
        """Whether a face of this quality would be the best of its track."""
        if face.track is None or not face.seen or quality <= 0:
            return False
        best = self._notes(face.track).best
        return best is None or quality > best.quality + BETTER

    def add(self, line: FrameLine) -> None:
        """Take in the next frame's line."""
        self.frames += 1
        for face in line.faces:
            if face.track is not None:
                self._add(self._notes(face.track), face, line)

    def _notes(self, track: int) -> TrackNotes:
        return self._tracks.setdefault(track, TrackNotes(track))

    def _add(self, notes: TrackNotes, face: FaceLine, line: FrameLine) -> None:
        notes.identity = face.identity or notes.identity
        if not face.seen:
            notes.filled += 1
            return
        notes.first = notes.first or line
        notes.last = line
        notes.seen += 1
        notes.scores += face.score
        sides = face.box[2] - face.box[0], face.box[3] - face.box[1]
        width, height = sides[::-1] if self._on_its_side else sides
        notes.widths.add(width)
        notes.heights.add(height)
        if face.crop:
            self._take(notes, face, line)

    def _take(self, notes: TrackNotes, face: FaceLine, line: FrameLine) -> None:
        quality = face.quality or 0.0
        if self.is_due(face, line.time):
            notes.cropped = line.time
            notes.crops.append(face.crop)
        if self.may_be_best(face, quality):
            notes.best = Best(face.crop, quality, line.frame, line.seconds, face)
