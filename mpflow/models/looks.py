"""What a look at a frame says of the frames around it: faces in larger boxes.

A face that moves between two looks has to stay inside its box, for the box is what is covered: a
face in both looks is covered from one place to the other, and one of a single look may have come
from anywhere near, or go there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mpflow import boxes
from mpflow.policies.pace import Motion
from mpflow.scenes import Sample, changed
from mpflow.tokens import Face, Sighting

SPEED = 3.0
"""How many times its own size a face may move in a second. Somebody who runs past a camera makes
about two; a turn of the camera moves all faces so."""

LEAST = 0.1
"""The share of its size by which a box grows on each side with every frame, whatever the clock
says: time stamps may be missing or wrong."""

DETOUR, ASIDE = 0.5, 0.03
"""Beside the hull of its two places a face may be by half of its way, and a box trembles a little.
More would have boxes swell and shrink between looks, which an encoder pays for."""

LONGEST_S = 0.5
"""After so many seconds without a look no face is carried any further."""

_FAR = 1.0  # sides of a face: nobody goes so far between two looks


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """A frame as far as looks are concerned: which one, its time if known, and how it looks."""

    seq: int
    time: float | None
    sample: Sample

    def resembles(self, other: View) -> bool:
        """Whether a frame comes after this one, soon, and shows about the same."""
        return 0 <= self.seconds_to(other) <= LONGEST_S and not changed(self.sample, other.sample)

    def grown(self, faces: Iterable[Face], here: View) -> list[Face]:
        """Faces of this frame as they may be found on another, before or after it."""
        return [_grown(face, self.share(here)) for face in faces]

    def share(self, here: View) -> float:
        """By which share of its size a face may have moved from this frame to another."""
        return max(LEAST * abs(here.seq - self.seq), SPEED * abs(self.seconds_to(here)))

    def seconds_to(self, other: View) -> float:
        """How much later another frame is shown; 0 where the time of one is not known."""
        return 0.0 if self.time is None or other.time is None else other.time - self.time


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """A frame that was looked at, and the faces on it. Weak finds, which only a track makes
    faces, say nothing of other frames."""

    view: View
    faces: Sequence[Face]

    @property
    def sure(self) -> list[Face]:
        """The faces that are surely there."""
        return [face for face in self.faces if face.sighting is not Sighting.WEAK]


def between(before: Look, here: View, after: Look) -> list[Face]:
    """The faces of a frame between two looks.

    One that both have seen is anywhere between its two places; one of a single look may have come
    from there, or go there. Points are left out: where the eyes are nobody knows.
    """
    faces: list[Face] = []
    sure, later = before.sure, after.sure
    lone = list(zip(later, after.view.grown(later, here), strict=True))
    nearest = min(before.view.share(here), after.view.share(here))
    for face, grown in zip(sure, before.view.grown(sure, here), strict=True):
        mates = [pair for pair in lone if boxes.meet(grown.box, pair[1].box)]
        if not mates:
            faces.append(grown)
            continue
        mate = min(mates, key=lambda pair: _distance(face, pair[0]))
        lone.remove(mate)
        if boxes.meet(face.box, mate[0].box):
            aside = ASIDE + DETOUR * _way(face, mate[0])
            faces.append(_grown(_hull(face, mate[0]), min(nearest, aside)))
        else:  # it may be another person's
            faces.append(_hull(grown, mate[1]))
    return faces + [grown for _, grown in lone]


def motion(before: Look, after: Look) -> Motion:
    """How much faces have moved from one look to the next.

    A weak find may be the other end of a way, so that a face near the threshold is not taken for
    one that comes and goes.
    """
    frames = after.view.seq - before.view.seq
    pairs = _ways(before.sure, after.faces), _ways(after.sure, before.faces)
    ways = [way for each in pairs for way in each]
    known = [way for way in ways if way is not None]
    return Motion(frames, max(known, default=0.0), len(known) < len(ways))


def _ways(faces: Sequence[Face], others: Sequence[Face]) -> list[float | None]:
    """How far the nearest of the others is from each face, in sides of it; None where none is."""
    ways: list[float | None] = []
    for face in faces:
        way = min((_way(face, other) for other in others), default=_FAR)
        ways.append(way if way < _FAR else None)
    return ways


def _way(one: Face, other: Face) -> float:
    """The way of the edge that moved most, in sides of the box."""
    x1, y1, x2, y2 = one.box
    most = max(abs(a - b) for a, b in zip(one.box, other.box, strict=True))
    return most / max(x2 - x1, y2 - y1, 1.0)


def _grown(face: Face, share: float) -> Face:
    x1, y1, x2, y2 = face.box
    box = boxes.wider(face.box, share * max(x2 - x1, y2 - y1))
    return Face(box, face.score, sighting=Sighting.CARRIED)


def _hull(one: Face, other: Face) -> Face:
    box = boxes.hull(one.box, other.box)
    return Face(box, max(one.score, other.score), sighting=Sighting.CARRIED)


def _distance(one: Face, other: Face) -> float:
    """How far two boxes are apart, and how different in size."""
    return sum(abs(a - b) for a, b in zip(one.box, other.box, strict=True))
