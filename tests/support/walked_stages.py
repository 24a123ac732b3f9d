"""A film of people who walk, without a model: faces where they are known to be, some missed.

Three scenes, told apart by their brightness; in each two people cross. What is missed is set.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import walks
from foreign_stages import fill
from trap_stages import Read, Rows, Trap

from mpflow.frame import Frame
from mpflow.spec import BEGINNING, Place
from mpflow.stage import Options, Picture, Stage, Work
from mpflow.stages.track import Track, TrackOptions
from mpflow.tokens import Face, Sighting, Token

CUTS = (40, 85)
MISSED = (3, 12, 13, 25, 38, 39, 40, 41, 60, 61, 62, 63, 86, 100, 101)
HALF_MISSED = (8, 9, 50, 51, 52, 110)
WEAK = (13, 41, 61)


def faces_of(seq: int) -> list[Face]:
    """Who is there on a frame, found or not."""
    return [walks.face_at(100 + 3 * (seq % 60), 100), walks.face_at(400 - 3 * (seq % 70), 130)]


def found_on(seq: int) -> list[Face]:
    """What a detector finds of them."""
    faces = [walks.trembling(seq, 0.7)(face) for face in faces_of(seq)]
    if seq in WEAK:
        return [replace(faces[0], score=0.3, sighting=Sighting.WEAK)]
    return [] if seq in MISSED else faces[: 1 if seq in HALF_MISSED else 2]


class Film(Read):
    """Each scene has a brightness of its own."""

    def pictures(self, place: Place = BEGINNING) -> Iterator[Picture]:
        for number, picture in enumerate(super().pictures(place), place.frame):
            bright = 40 + 60 * sum(number >= cut for cut in CUTS)
            yield replace(picture, fill=lambda frame, value=bright: fill(frame, value))


class Find(Stage[Options]):
    """Finds people as ``found_on`` says."""

    gives = ("faces",)

    def process(self, batch: Sequence[Work]) -> Iterator[Token]:
        for work in batch:
            yield work.token.with_faces(found_on(work.token.seq))


class TrappedTrackOptions(TrackOptions, frozen=True):
    """See trap_stages.TrapOptions; ``raises_at`` raises once on other frames."""

    habit: str = ""
    at: tuple[int, ...] = ()
    raises_at: tuple[int, ...] = ()
    once: str = ""


class TrappedTrack(Trap, Track):
    """Track with a trap."""

    Options = TrappedTrackOptions
    options: Any

    def process(self, batch: Sequence[Work]) -> Iterable[Token]:
        for work in batch:
            self.spring(work.token.seq)
            self._raise_once(work.token.seq)
        return super().process(batch)

    def _raise_once(self, seq: int) -> None:
        if seq in self.options.raises_at and self._is_armed_for(f"raise-{seq}"):
            self._snapped(f"raise-{seq}").touch()
            raise ValueError(f"a trap at {seq}")


class FaceRows(Rows):
    """One JSON line a frame, with its faces; see trap_stages.Rows."""

    def write(self, token: Token, frame: Frame) -> None:
        self.spring(token.seq)
        faces = [[f.track, f.sighting, f.box, f.points, f.score] for f in token.faces]
        self._rows.append(json.dumps({"seq": token.seq, "faces": faces}).encode() + b"\n")
        if (token.seq + 1) % self.options.grid == 0:
            self._keep(token.seq + 1)
