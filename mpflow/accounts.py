"""What is told of a job's frames: what became of each, and how long it took where.

Plain values that travel in summaries and reports. Times are seconds.
"""

from __future__ import annotations

import msgspec

LEFT = "redact.left"
"""The field of a token whose frame was left as it is because it lies outside of all spans."""

COVERED, OPEN = "redact.covered", "redact.open"
"""The fields of a token that say how many of its faces a redaction has covered, and how many it
has left open because that was asked for; one that is 0 is not there."""

DRIFT = "swap.drift"
"""The field of a token with a made face that was found not to be like its source: the cosine."""


def counted(count: int, noun: str) -> str:
    """``1 frame``, ``2 frames``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


class _Account(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Frozen and strict, like every value that travels."""


class LostFrame(_Account, frozen=True):
    """A frame that was not delivered as asked: what became of it, at which stage, and why."""

    frame: int
    pts: int | None
    state: str
    stage: str
    reason: str


class LedgerSummary(_Account, frozen=True):
    """What became of every frame: it was delivered, masked, passed or dropped.

    ``masked`` frames are covered whole, ``passed`` ones left as they were, ``dropped`` ones not in
    the output. ``rows`` are the first that were not delivered as asked; ``more`` counts the rest.
    ``degraded`` ones are among the delivered, made with less than was asked (see the ladder);
    ``single_frame`` ones went through the pipeline in that mode, and ``left`` ones were left as
    they are because that was asked for: they lie outside of the spans to be redacted.
    ``faces`` were found, ``covered`` of them covered (all those of a masked frame are), and
    ``open`` of them left open because that was asked for, by the spans or by whose they are; both
    are 0 where no stage redacts. In ``drifted`` frames a made face was looked at and was not like
    its source. ``changed``: what was in force other than asked for, and in how many frames
    (``detect.score=0.9``, ``-enhance``), whatever became of them.
    """

    frames: int = 0
    delivered: int = 0
    masked: int = 0
    passed: int = 0
    dropped: int = 0
    degraded: int = 0
    single_frame: int = 0
    left: int = 0
    faces: int = 0
    frames_with_faces: int = 0
    covered: int = 0
    open: int = 0
    drifted: int = 0
    changed: dict[str, int] = {}
    rows: tuple[LostFrame, ...] = ()
    more: int = 0

    @property
    def not_as_asked(self) -> int:
        """Frames that were masked, passed or dropped, or delivered degraded."""
        return self.masked + self.passed + self.dropped + self.degraded

    def words(self) -> str:
        """``2 frames masked, 1 dropped``; empty when every frame was delivered as asked."""
        counts = {
            "masked": self.masked,
            "passed": self.passed,
            "dropped": self.dropped,
            "degraded": self.degraded,
        }
        told = [(count, word) for word, count in counts.items() if count]
        if not told:
            return ""
        (count, word), *others = told
        first = f"{counted(count, 'frame')} {word}"
        return ", ".join([first, *(f"{count} {word}" for count, word in others)])


class Spread(_Account, frozen=True):
    """How a time is spread over frames: its mean, four quantiles and the largest."""

    count: int = 0
    mean: float = 0.0
    p50: float = 0.0
    p90: float = 0.0
    p95: float = 0.0
    p99: float = 0.0
    max: float = 0.0


class StageLatency(_Account, frozen=True):
    """One stage: how long it worked on a frame, and how long the frame had waited before that."""

    name: str
    service: Spread
    waiting: Spread

    @property
    def idle_ratio(self) -> float:
        """The share of a frame's time at this stage, 0..1, in which nobody worked on it."""
        waiting = self.waiting.mean * self.waiting.count
        whole = waiting + self.service.mean * self.service.count
        return waiting / whole if whole else 0.0


class Latency(_Account, frozen=True):
    """Where the frames' time went, from the first stage's beginning to the last one's end.

    ``idle_ratio`` is the sum of all waiting over the sum of all time.
    """

    whole: Spread
    idle_ratio: float
    stages: tuple[StageLatency, ...] = ()
