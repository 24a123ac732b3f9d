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

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from mpflow.models.looks import Look, View, between, motion
from mpflow.policies.pace import SOON_S, close_due, gap_after
from mpflow.scenes import NO_SAMPLE, sample_of, stir
from mpflow.tokens import Face, Token

if TYPE_CHECKING:
    from mpflow.frame import Frame

Every = int | Literal["auto"]
"""Which frames are looked at: those with a number that it divides, or as motion asks for."""

LOOK = "detect.look"
"""Field of a frame that was looked at: the gap from there on, how the picture looked, the
frame from which on glances are enough, and number and time of the last close look."""

STIRRED = 0.15
"""The share of the picture that may change until the next look, where motion decides."""

CLEAR = 20
"""Pixels of the scaled picture: a face of so many is found at a glance as it is closely."""

WARY = 30
"""Frames for which there are no glances after a face was found that one may miss."""

_TICK_S = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Sight:
    """A frame that came. The looks around it are at most ``apart`` frames from each other.

    ``numbered``: the frames with a number that ``apart`` divides are looked at, so that a run that
    goes on in the middle looks at the same ones. ``close``: how it is looked at, if it is.
    """

    token: Token
    frame: Frame
    view: View
    apart: int
    numbered: bool = True
    must: bool = False
    close: bool = True

    def reached_from(self, look: View) -> bool:
        """Whether faces found at a look before may be carried here."""
        if self.must or not 0 < self.view.seq - look.seq < self.apart:
            return False
        if not look.resembles(self.view):
            return False
        if self.numbered:
            return self.view.seq % self.apart != 0
        soon = look.seconds_to(self.view) < SOON_S - _TICK_S
        return soon and stir(look.sample, self.view.sample) <= STIRRED

    def lies_between(self, before: View, after: View) -> bool:
        """Whether two looks say which faces may be here."""
        in_order = before.seq < self.view.seq < after.seq <= before.seq + self.apart
        return in_order and before.resembles(self.view) and self.view.resembles(after)


Plan = Sequence[tuple[Sight, bool]]
"""Frames in the order in which they are given on, each with whether it is looked at."""


class Carrier:
    """Says which frames are looked at, and gives the others what the looks around have found.

    ``ahead`` frames at most wait for a look that comes with a later batch; where motion decides,
    looks are ``most`` frames apart at most. ``glance``: the longer side of the scaled picture of
    looks that need not be close; 0 where all are.
    """

    def __init__(self, ahead: int = 0, most: int = 1, glance: int = 0) -> None:
        self.glance = glance
        self._ahead, self._most = ahead, most
        self._gap = 1
        self._near: View | None = None
        self._wary = 0
        self._last: Look | None = None
        self._waiting: list[Sight] = []

    def forget(self, ahead: int) -> None:
        """Another input begins, or the same one again; so many frames may wait from now on."""
        self._ahead = ahead
        self._last, self._near, self._gap, self._wary = None, None, 1, 0
        self._waiting.clear()

    def recall(self, tokens: Iterable[Token]) -> None:
        """Take up what tokens that were given on say: the last look, and when the next is due."""
        for token in tokens:
            if row := token.fields.get(LOOK):
                self._gap, data, *near = row
                if near:
                    self._wary, self._near = near[0], View(near[1], near[2], NO_SAMPLE)
                sample = np.frombuffer(data, np.uint8).astype(np.int16)
                self._last = Look(View(token.seq, token.time, sample), token.faces)

    def plan(self, frames: Iterable[tuple[Token, Frame, bool]], every: Every) -> Plan:
        """Those that wait and a batch: which of them are to be looked at.

        ``frames`` come with whether they have to be, whatever ``every`` says. Nothing is kept yet:
        the looks may fail.
        """
        sights = list(self._waiting)
        apart = self._gap if every == "auto" else every
        compared = every != 1 or bool(sights)
        for token, frame, must in frames:
            view = View(token.seq, token.time, sample_of(frame) if compared else NO_SAMPLE)
            sights.append(Sight(token, frame, view, apart, every != "auto", must))
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
            if last is None or not sight.reached_from(last):
                looks |= {sight.view.seq, *_left_alone(last, waiting, sight)}
                last, waiting = sight.view, []
            else:
                waiting.append(sight)
        if len(waiting) > room:
            looks |= {waiting[-1].view.seq, *_left_alone(last, waiting[:-1], waiting[-1])}
        return list(self._with_closeness(sights, looks))

    def _with_closeness(
        self, sights: Iterable[Sight], looks: Collection[int]
    ) -> Iterator[tuple[Sight, bool]]:
        """Frames, each with whether it is looked at; those that are know how closely."""
        before = self._last.view if self._last else None
        for sight in sights:
            if sight.view.seq in looks:
                yield replace(sight, close=self._closely(sight, before)), True
                before = sight.view
            else:
                yield sight, False

    def _closely(self, sight: Sight, before: View | None) -> bool:
        """Whether a look has to be close, the one before it being that of another frame."""
        near = self._near
        if not self.glance or sight.must or near is None or before is None:
            return True
        if sight.view.seq < self._wary or not before.resembles(sight.view):
            return True
        most = sight.apart if sight.numbered else self._most
        return close_due(sight.view.seq - near.seq, near.seconds_to(sight.view), most)

    def _looked(self, sight: Sight, look: Look) -> Iterator[Token]:
        """Keep what a look has found; the tokens that waited for it, and its own."""
        while self._waiting:
            yield self._carried(self._waiting.pop(0), look)
        last = self._last
        follows = last is not None and last.view.resembles(look.view)
        moved = motion(last, look) if last is not None and follows else None
        self._gap = gap_after(self._gap, moved, self._most)
        self._last = look
        self._note_closeness(sight, look, calm=moved is not None and not moved.strange)
        token = sight.token.with_faces(look.faces)
        if sight.view.sample.size:
            near = (self._wary, self._near.seq, self._near.time) if self._near else ()
            row = self._gap, sight.view.sample.astype(np.uint8).tobytes(), *near
            token = token.with_field(LOOK, row)
        yield token

    def _note_closeness(self, sight: Sight, look: Look, *, calm: bool) -> None:
        """Say from a look that was made for how long others have to be close."""
        if not self.glance:
            return
        if sight.close:
            self._near = sight.view
        if not calm:
            self._wary = max(self._wary, sight.view.seq + 2)
        least = CLEAR * max(sight.frame.width, sight.frame.height) / self.glance
        if any(max(x2 - x1, y2 - y1) < least for x1, y1, x2, y2 in (f.box for f in look.faces)):
            self._wary = sight.view.seq + WARY

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
