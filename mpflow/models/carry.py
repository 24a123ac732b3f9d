"""Faces on frames that are not looked at: those of the looks around them, in larger boxes.

    looked at       between         between           looked at
    | face |   |  face, or where  |    both looks    |   face |
               |  it may have come   put it          |

A face that moves between two looks has to stay inside its box, for the box is what is covered. So
a frame that is not looked at waits for the next look (``ahead`` of them at most, from batch to
batch): a face in both looks is covered from one place to the other, and one that only the next
look has found is covered already.

No frame is given on without a look behind it that says something of it: else it is looked at
itself, when it is about to go. Whatever makes a look a bad guess asks for another one: frames
that are missing, time that has passed, a picture that has changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mpflow.scenes import NO_SAMPLE, Sample, changed, sample_of
from mpflow.tokens import Face, Token

if TYPE_CHECKING:
    from mpflow.frame import Frame

SPEED = 3.0
"""How many times its own size a face may move in a second. Somebody who runs past a camera makes
about two; a turn of the camera moves all faces so."""

LEAST = 0.1
"""The share of its size by which a box grows on each side with every frame, whatever the clock
says: time stamps may be missing or wrong."""

LONGEST_S = 0.5
"""After so many seconds without a look no face is carried any further."""


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """A frame as far as looks are concerned: which one, its time if known, and how it looks."""

    seq: int
    time: float | None
    sample: Sample

    def reaches(self, other: View, every: int) -> bool:
        """Whether faces found here may be carried to a later frame, looking at each ``every``-th.

        The frames with a number that ``every`` divides are looked at, so that a run that goes on
        in the middle looks at the same ones.
        """
        return 0 < other.seq - self.seq < every and other.seq % every != 0 and self.resembles(other)

    def resembles(self, other: View) -> bool:
        """Whether a frame comes after this one, soon, and shows about the same."""
        return 0 <= self._seconds_to(other) <= LONGEST_S and not changed(self.sample, other.sample)

    def grown(self, faces: Iterable[Face], here: View) -> list[Face]:
        """Faces of this frame as they may be found on another, before or after it."""
        return [_grown(face, self.share(here)) for face in faces]

    def share(self, here: View) -> float:
        """By which share of its size a face may have moved from this frame to another."""
        return max(LEAST * abs(here.seq - self.seq), SPEED * abs(self._seconds_to(here)))

    def _seconds_to(self, other: View) -> float:
        return 0.0 if self.time is None or other.time is None else other.time - self.time


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """A frame that was looked at, and the faces on it."""

    view: View
    faces: Sequence[Face]


@dataclass(frozen=True, slots=True, eq=False)
class Sight:
    """A frame that came. The looks around it are at most ``apart`` frames from each other."""

    token: Token
    frame: Frame
    view: View
    apart: int
    must: bool = False

    def lies_between(self, before: View, after: View) -> bool:
        """Whether two looks say which faces may be here."""
        in_order = before.seq < self.view.seq < after.seq <= before.seq + self.apart
        return in_order and before.resembles(self.view) and self.view.resembles(after)


Plan = Sequence[tuple[Sight, bool]]
"""Frames in the order in which they are given on, each with whether it is looked at."""


class Carrier:
    """Says which frames are looked at, and gives the others what the looks around have found.

    ``ahead`` frames at most wait for a look that comes with a later batch.
    """

    def __init__(self, ahead: int = 0) -> None:
        self._ahead = ahead
        self._last: Look | None = None
        self._waiting: list[Sight] = []

    def forget(self) -> None:
        """Another input begins, or the same one again."""
        self._last = None
        self._waiting.clear()

    def plan(self, frames: Iterable[tuple[Token, Frame, bool]], every: int) -> Plan:
        """Those that wait and a batch: which of them are to be looked at.

        ``frames`` come with whether they have to be, whatever ``every`` says. Nothing is kept yet:
        the looks may fail.
        """
        sights = list(self._waiting)
        compared = every > 1 or bool(sights)
        for token, frame, must in frames:
            view = View(token.seq, token.time, sample_of(frame) if compared else NO_SAMPLE)
            sights.append(Sight(token, frame, view, every, must))
        return self._plan(sights, self._ahead)

    def last_plan(self) -> Plan:
        """What is to be looked at of those that wait, as no other frame will come."""
        return self._plan(self._waiting, room=0)

    def given(self, plan: Plan, found: Iterable[Sequence[Face]]) -> Iterator[Token]:
        """The tokens of a plan's frames, as far as nothing is left to wait for.

        ``found`` are the faces of those that were looked at, in their order.
        """
        looks = iter(found)
        self._waiting = []
        for sight, looked_at in plan:
            if looked_at:
                yield from self._looked(sight, Look(sight.view, next(looks)))
            else:
                self._waiting.append(sight)

    def _plan(self, sights: Sequence[Sight], room: int) -> Plan:
        last = self._last.view if self._last else None
        looks: set[int] = set()
        waiting: list[Sight] = []
        for sight in sights:
            if last is None or sight.must or not last.reaches(sight.view, sight.apart):
                looks |= {sight.view.seq, *_left_alone(last, waiting, sight)}
                last, waiting = sight.view, []
            else:
                waiting.append(sight)
        if len(waiting) > room:
            looks |= {waiting[-1].view.seq, *_left_alone(last, waiting[:-1], waiting[-1])}
        return [(sight, sight.view.seq in looks) for sight in sights]

    def _looked(self, sight: Sight, look: Look) -> Iterator[Token]:
        """Keep what a look has found; the tokens that waited for it, and its own."""
        while self._waiting:
            yield self._carried(self._waiting.pop(0), look)
        self._last = look
        yield sight.token.with_faces(look.faces)

    def _carried(self, sight: Sight, after: Look) -> Token:
        """A frame between two looks; it says how many frames ago the last one was."""
        before = self._last
        assert before is not None, "a plan begins with a look"
        token = sight.token.with_field("detect.carried", sight.view.seq - before.view.seq)
        return token.with_faces(between(before, sight.view, after))


def _left_alone(before: View | None, waiting: Sequence[Sight], after: Sight) -> Iterator[int]:
    """The numbers of those that wait and need a look of their own: the last one of them, and
    others that do not lie between that and the look before."""
    while before and not all(sight.lies_between(before, after.view) for sight in waiting):
        *waiting, after = waiting
        yield after.view.seq


def between(before: Look, here: View, after: Look) -> list[Face]:
    """The faces of a frame between two looks.

    One that both have seen is anywhere between its two places; one of a single look may have come
    from there, or go there. Points are left out: where the eyes are nobody knows.
    """
    faces: list[Face] = []
    lone = list(zip(after.faces, after.view.grown(after.faces, here), strict=True))
    nearest = min(before.view.share(here), after.view.share(here))
    for face, grown in zip(before.faces, before.view.grown(before.faces, here), strict=True):
        mates = [pair for pair in lone if _meet(grown, pair[1])]
        if not mates:
            faces.append(grown)
            continue
        mate = min(mates, key=lambda pair: _distance(face, pair[0]))
        lone.remove(mate)
        if _meet(face, mate[0]):
            faces.append(_grown(_hull(face, mate[0]), nearest))
        else:  # it may be another person's
            faces.append(_hull(grown, mate[1]))
    return faces + [grown for _, grown in lone]


def _grown(face: Face, share: float) -> Face:
    x1, y1, x2, y2 = face.box
    more = share * max(x2 - x1, y2 - y1)
    return Face((x1 - more, y1 - more, x2 + more, y2 + more), face.score)


def _hull(one: Face, other: Face) -> Face:
    (a1, b1, a2, b2), (x1, y1, x2, y2) = one.box, other.box
    box = min(a1, x1), min(b1, y1), max(a2, x2), max(b2, y2)
    return Face(box, max(one.score, other.score))


def _meet(one: Face, other: Face) -> bool:
    (a1, b1, a2, b2), (x1, y1, x2, y2) = one.box, other.box
    return a1 < x2 and x1 < a2 and b1 < y2 and y1 < b2


def _distance(one: Face, other: Face) -> float:
    """How far two boxes are apart, and how different in size."""
    return sum(abs(a - b) for a, b in zip(one.box, other.box, strict=True))
