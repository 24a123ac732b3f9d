"""When a frame of a file is on show: its number and its times as a user counts them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from mpflow.errors import ConfigError
from mpflow.spans import Spans
from mpflow.spec import Job, JobSpec, MediaInfo
from mpflow.tokens import Token

OnShow = tuple[int, Fraction | None, Fraction | None]
"""A frame's number, and from when to when it is on show, in seconds; None where nobody knows."""


@dataclass(frozen=True, slots=True)
class Clock:
    """Counts frames from the input's first, and seconds from when that is shown.

    ``usual`` is how long a frame is on show that does not say so, rather too long than too short.
    """

    frame: int = 0
    time: Fraction = Fraction(0)
    usual: Fraction = Fraction(1)

    @classmethod
    def of(cls, job: Job) -> Clock:
        """The clock of an input, whichever part of it the job is about."""
        video = job.media.video
        start = (video.start or 0) * Fraction(*video.time_base)
        usual = 1 / Fraction(*video.average_rate) if video.average_rate else Fraction(1)
        return cls(job.spec.start, start, usual)

    def on_show(self, token: Token) -> OnShow:
        """When a frame is on show."""
        number = self.frame + token.seq
        if token.pts is None:
            return number, None, None
        tick = Fraction(*token.time_base)
        begin = token.pts * tick - self.time
        length = token.duration * tick if token.duration > 0 else self.usual
        return number, begin, begin + length


def check_spans(spans: Spans, job: JobSpec, media: MediaInfo) -> None:
    """Raise ConfigError for spans that the input does not have, or not in what is wanted of it."""
    if not spans.spans:
        return
    if job.live:
        raise ConfigError(
            "spans are times of a file, and a stream has none",
            cure="leave them out: a live run covers all the time",
        )
    spans.check(job.input, frames_of(media), media.duration)
    if not job.chunk:  # of a farm's chunks some may lie outside
        rate = media.video.average_rate
        spans.check_range(job.start, job.stop, Fraction(*rate) if rate else None)


def frames_of(media: MediaInfo) -> int | None:
    """How many frames an input has, or about how many where its container does not tell."""
    if media.video.frames is not None or not media.duration or not media.video.average_rate:
        return media.video.frames
    return round((media.duration + 1) * Fraction(*media.video.average_rate))
