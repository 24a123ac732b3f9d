"""The token: a frame's task card. What it is, what is still to be done to it, what was done, when.

A token is never changed in place; every update makes a new one. It travels as msgpack
(mpflow.wire) beside the frame's slot, so it holds plain values only: no path, no picture and no
name of a person. Times are nanoseconds of the monotonic clock; boxes and points are pixels of
the whole frame, x to the right and y down, the centre of the first pixel at (0, 0).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from typing import Any

from mpflow.errors import ContractError

Box = tuple[float, float, float, float]
Point = tuple[float, float]


class FrameState(StrEnum):
    """What has become of a frame so far."""

    LIVE = "live"
    MASKED = "masked"
    PASSED = "passed"
    DROPPED = "dropped"


class Mode(StrEnum):
    """How the pipeline ran while the frame was in it."""

    THROUGHPUT = "throughput"
    SINGLE_FRAME = "single-frame"


class Sighting(StrEnum):
    """How it is known that a face is where its box is.

    A detector found it there (SEEN), or something that only a track makes a face (WEAK); the looks
    around the frame enclose it (CARRIED); its track has been seen before and after (FILLED), or
    only on one side (EXTENDED).
    """

    SEEN = "seen"
    WEAK = "weak"
    CARRIED = "carried"
    FILLED = "filled"
    EXTENDED = "extended"


@dataclass(frozen=True, slots=True)
class Face:
    """One face: box (x1, y1, x2, y2), score 0..1, and five points.

    The points are image-left eye, image-right eye, nose, image-left and image-right corner of
    the mouth. ``track`` numbers the faces of one person in one take; ``identity`` says whom of a
    gallery it shows, by a mark without a name. ``refs`` names arrays beside the picture (a mesh,
    a crop; see ``Frame.attach``). ``pose`` is yaw, pitch and roll in degrees: positive where the
    face looks to the image's right, looks up, and is turned clockwise as it is seen.
    """

    box: Box
    score: float
    points: tuple[Point, ...] = ()
    track: int | None = None
    identity: str | None = None
    refs: Mapping[str, int] = field(default_factory=dict)
    pose: tuple[float, float, float] | None = None
    sighting: Sighting = Sighting.SEEN


@dataclass(frozen=True, slots=True)
class Stamp:
    """When one stage had the frame: taken from the ring, work started, work ended."""

    stage: str
    worker: int
    taken: int
    started: int
    ended: int


@dataclass(frozen=True, slots=True)
class Change:
    """One change of state, operations or mode, with the stage that made it and its reason."""

    stage: str
    what: str
    reason: str


@dataclass(frozen=True, slots=True)
class Token:
    """The task card of one frame.

    ``ops`` lists the stages still to come, in order; a stage that is not in it passes the frame
    on untouched. ``pts`` and ``duration`` are in units of ``time_base`` seconds. ``fields`` holds
    values of stages from outside, each under its own ``package.key`` name.
    """

    request: str
    seq: int
    stream: int = 0
    pts: int | None = None
    time_base: tuple[int, int] = (1, 1)
    duration: int = 0
    key: bool = False
    ops: tuple[str, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict)
    state: FrameState = FrameState.LIVE
    born: int = 0
    deadline: int | None = None
    ttl: int | None = None
    retries: int = 0
    mode: Mode = Mode.THROUGHPUT
    degradations: tuple[str, ...] = ()
    faces: tuple[Face, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    stamps: tuple[Stamp, ...] = ()
    changes: tuple[Change, ...] = ()

    @property
    def time(self) -> float | None:
        """Presentation time in seconds, or None for a frame without a time stamp."""
        if self.pts is None:
            return None
        return float(self.pts * Fraction(*self.time_base))

    @property
    def since(self) -> int:
        """Since when nobody has worked on the frame: the last stage's end, or its birth."""
        return self.stamps[-1].ended if self.stamps else self.born

    def wants(self, stage: str) -> bool:
        """Whether ``stage`` is still to be done."""
        return stage in self.ops

    def with_faces(self, faces: Sequence[Face]) -> Token:
        """The same card with these faces."""
        return replace(self, faces=tuple(faces))

    def with_field(self, name: str, value: Any) -> Token:
        """Set a namespaced value; raises ContractError for a name without its package."""
        if "." not in name:
            raise ContractError(
                f"token field {name!r} has no namespace", cure="name it package.key"
            )
        return replace(self, fields={**self.fields, name: value})

    def with_state(self, state: FrameState, *, stage: str, reason: str) -> Token:
        """Change the frame's state, saying who did it and why."""
        change = Change(stage, f"state:{self.state}>{state}", reason)
        return replace(self, state=state, changes=(*self.changes, change))

    def without_op(self, op: str, *, stage: str, reason: str) -> Token:
        """Take a stage out of what is to be done, saying who did it and why."""
        change = Change(stage, f"ops:-{op}", reason)
        ops = tuple(name for name in self.ops if name != op)
        return replace(self, ops=ops, changes=(*self.changes, change))

    def with_degradations(self, notes: Sequence[str]) -> Token:
        """Note what the frame was not given of what was asked, each once."""
        new = tuple(note for note in notes if note not in self.degradations)
        return replace(self, degradations=(*self.degradations, *new)) if new else self

    def with_mode(self, mode: Mode, *, stage: str, reason: str) -> Token:
        """Note the mode the frame ran under, saying who set it and why."""
        change = Change(stage, f"mode:{self.mode}>{mode}", reason)
        return replace(self, mode=mode, changes=(*self.changes, change))

    def done(self, stamp: Stamp) -> Token:
        """Strike the stage off the card and keep its stamp."""
        ops = tuple(name for name in self.ops if name != stamp.stage)
        return replace(self, ops=ops, stamps=(*self.stamps, stamp))
