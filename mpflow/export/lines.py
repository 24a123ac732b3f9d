"""One frame's faces as a line of JSON; pixels of the whole frame, seconds, degrees.

    {"frame": 3, "pts": 3, "time": 0.12, "state": "live", "faces": [{"box": [x1, y1, x2, y2],
     "score": 0.9, "points": [[x, y], ...], "track": 1, "sighting": "seen", "pose": [y, p, r],
     "quality": 0.8, "crop": "track-00001-frame-0000003.png"}]}

What is not known of a face is left out; ``quality`` stands where a crop was taken.
"""

from __future__ import annotations

import msgspec

from mpflow.tokens import Face, Sighting, Token

DIGITS = 3
_POSE_DIGITS = 2

_ENCODER = msgspec.json.Encoder()


class FaceLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """One face of a frame; see Face."""

    box: tuple[float, float, float, float]
    score: float
    points: tuple[tuple[float, float], ...] = ()
    track: int | None = None
    identity: str | None = None
    sighting: Sighting = Sighting.SEEN
    pose: tuple[float, float, float] | None = None
    quality: float | None = None
    crop: str = ""

    @property
    def seen(self) -> bool:
        """Whether a detector found it in this very frame."""
        return self.sighting in (Sighting.SEEN, Sighting.WEAK)


class FrameLine(msgspec.Struct, frozen=True):
    """One frame."""

    frame: int
    pts: int | None
    time: float | None
    state: str
    faces: tuple[FaceLine, ...]

    @property
    def seconds(self) -> float | None:
        """When it is shown, rounded as a table shows it."""
        return None if self.time is None else round(self.time, DIGITS)


DECODER = msgspec.json.Decoder(FrameLine)


def line_of(token: Token) -> FrameLine:
    """The line of a frame, without crops."""
    faces = tuple(_face(face) for face in token.faces)
    return FrameLine(token.seq, token.pts, token.time, str(token.state), faces)


def encoded(line: FrameLine) -> bytes:
    """The line as it is written."""
    return _ENCODER.encode(line) + b"\n"


def _face(face: Face) -> FaceLine:
    x1, y1, x2, y2 = (round(side, DIGITS) for side in face.box)
    return FaceLine(
        (x1, y1, x2, y2),
        round(face.score, DIGITS),
        tuple((round(x, DIGITS), round(y, DIGITS)) for x, y in face.points),
        face.track,
        face.identity,
        face.sighting,
        pose=None if face.pose is None else rounded(face.pose),
    )


def rounded(pose: tuple[float, float, float]) -> tuple[float, float, float]:
    """Degrees as they are written."""
    yaw, pitch, roll = (round(angle, _POSE_DIGITS) for angle in pose)
    return yaw, pitch, roll
