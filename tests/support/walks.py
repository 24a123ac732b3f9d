"""Faces that move as a test says, and what a follower makes of them. 25 frames a second."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mpflow.tokens import Box, Face, Sighting, Token
from mpflow.tracking.filling import Reach
from mpflow.tracking.finds import packed, unpacked
from mpflow.tracking.follower import Follower
from mpflow.tracking.tracks import Tracker

SIZE = 60.0
_POINTS = ((0.3, 0.4), (0.7, 0.4), (0.5, 0.6), (0.35, 0.8), (0.65, 0.8))

Walk = Callable[[int], tuple[float, float]]


def face_at(x: float, y: float, size: float = SIZE, **changes: Any) -> Face:
    """A face with its middle at a place, five points in it."""
    box = x - size / 2, y - size / 2, x + size / 2, y + size / 2
    points = tuple((box[0] + size * u, box[1] + size * v) for u, v in _POINTS)
    return replace(Face(box, 0.9, points), **changes)


def straight(x: float, y: float, across: float, down: float = 0.0) -> Walk:
    """So many pixels a frame from a place on."""
    return lambda seq: (x + across * seq, y + down * seq)


def trembling(seed: int, pixels: float) -> Callable[[Face], Face]:
    """Moves all of a face's numbers a little, each by its own chance."""
    chance = np.random.default_rng(seed)

    def shaken(face: Face) -> Face:
        box: Any = tuple(v + chance.normal(0, pixels) for v in face.box)
        points: Any = tuple(
            (x + chance.normal(0, pixels), y + chance.normal(0, pixels)) for x, y in face.points
        )
        return replace(face, box=box, points=points)

    return shaken


def tokens_of(frames: Iterable[Sequence[Face]], start: int = 0, rate: int = 25) -> list[Token]:
    """A token for each frame's faces, so many frames a second."""
    return [
        Token("1", seq, pts=seq, time_base=(1, rate), duration=1).with_faces(faces)
        for seq, faces in enumerate(frames, start)
    ]


def follow(
    frames: Iterable[Sequence[Face]], cuts: Sequence[int] = (), rate: int = 25, **options: Any
) -> list[Token]:
    """The tokens that a follower gives; ``cuts`` are frames with which a scene begins."""
    follower = follower_with(**options)
    given: list[Token] = []
    for token in tokens_of(frames, rate=rate):
        follower.add(token, unpacked(packed(token.faces)), cut=token.seq in cuts)
        given += follower.given()
    return given + list(follower.given(all_of_them=True))


def follower_with(
    *,
    ahead: int = 10,
    before: float = 0.4,
    after: float = 0.6,
    bridge: float = 1.0,
    smooth: int = 0,
) -> Follower:
    """A follower with the defaults of the stage, but for what is said."""
    return Follower(Tracker(bridge, 0.6, ahead), Reach(before, after), ahead, smooth)


def walking(walk: Walk, frames: int, missed: Iterable[int] = ()) -> list[list[Face]]:
    """One face on so many frames, but for those on which it is missed."""
    gone = set(missed)
    return [[] if seq in gone else [face_at(*walk(seq))] for seq in range(frames)]


def together(*walks: Sequence[Sequence[Face]]) -> list[list[Face]]:
    """Several faces on the same frames."""
    return [[face for faces in frame for face in faces] for frame in zip(*walks, strict=True)]


def tracks_of(tokens: Iterable[Token]) -> set[int | None]:
    """All tracks that any frame names."""
    return {face.track for token in tokens for face in token.faces}


def boxes_of(tokens: Iterable[Token], track: int) -> dict[int, Box]:
    """Where a track is, by frame."""
    return {t.seq: face.box for t in tokens for face in t.faces if face.track == track}


def sightings_of(tokens: Iterable[Token], track: int) -> dict[int, Sighting]:
    """How a track was sighted, by frame."""
    return {t.seq: face.sighting for t in tokens for face in t.faces if face.track == track}


def covers(box: Box, face: Face) -> bool:
    """Whether all of a face is in a box."""
    (x1, y1, x2, y2), (u1, v1, u2, v2) = box, face.box
    return x1 <= u1 and y1 <= v1 and x2 >= u2 and y2 >= v2
