"""Stretches of a video as a user types them: ``0:05-0:10,1:00-`` or ``f120-f240``.

Times count from the first picture, as a player shows them; frames from 0, both ends meant. A side
that is left out is the video's own. Text becomes ``Spans`` once; an input is held against them
before a frame of it is decoded, and each frame is asked for as it comes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from mpflow.errors import ConfigError

EXAMPLE = "write for example 0:05-0:10,1:00- or f120-f240"

_CLOCK = re.compile(r"(?:(?:(\d{1,4}):)?(\d{1,4}):)?(\d{1,6}(?:\.\d{0,9})?|\.\d{1,9})", re.ASCII)
_FRAME = re.compile(r"f(\d{1,12})", re.ASCII | re.IGNORECASE)
_SUBTITLE = re.compile(r"(\d:\d\d:\d\d),(\d{3})(?!\d)", re.ASCII)
_TIMECODE = re.compile(r"\d+:\d+:\d+[:;]\d+", re.ASCII)

# How much later than the video a span may end: durations are rounded, and people round too.
_SLACK_S = 1
# How far frames of a range may be from where the average rate puts them.
_UNEVEN = Fraction(1, 10)


@dataclass(frozen=True, slots=True)
class Moment:
    """An end of a span: a time in seconds, or a frame's number."""

    at: Fraction
    frame: bool

    @property
    def unit(self) -> str:
        """What is counted."""
        return "frames" if self.frame else "times"


@dataclass(frozen=True, slots=True)
class Span:
    """From ``start`` to ``stop``, each None where it is the video's own; ``text`` as typed.

    A frame belongs to it when it is on show at any moment of it, be it the last one.
    """

    text: str
    start: Moment | None
    stop: Moment | None

    def holds(self, frame: int, begin: Fraction | None, end: Fraction | None) -> bool:
        """Whether a frame is within, on show from ``begin`` to ``end`` seconds (None: unknown).

        One whose time is not known is within every span of times.
        """
        return self._started(frame, end) and not self._stopped(frame, begin)

    def _started(self, frame: int, end: Fraction | None) -> bool:
        if self.start is None:
            return True
        if self.start.frame:
            return frame >= self.start.at
        return end is None or end > self.start.at

    def _stopped(self, frame: int, begin: Fraction | None) -> bool:
        if self.stop is None:
            return False
        if self.stop.frame:
            return frame > self.stop.at
        return begin is not None and begin >= self.stop.at


@dataclass(frozen=True, slots=True)
class Spans:
    """All the spans of one option; without any, the whole video is meant."""

    spans: tuple[Span, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Spans:
        """Read what was typed; raises ConfigError that names the part that is wrong.

        The comma of a subtitle's time, 00:00:01,500, is one where no other reading is possible.
        """
        if not text:
            return cls()
        try:
            return cls(tuple(_span(part.strip()) for part in text.split(",")))
        except ConfigError:
            plain = _SUBTITLE.sub(r"\1.\2", text)
            if plain == text:
                raise
            return cls.parse(plain)

    def hold(self, frame: int, begin: Fraction | None, end: Fraction | None) -> bool:
        """Whether a frame is within one of them; see ``Span.holds``."""
        if not self.spans:
            return True
        return any(span.holds(frame, begin, end) for span in self.spans)

    def check(self, name: str, frames: int | None, seconds: float | None) -> None:
        """Raise ConfigError for a span that a video of that length does not have.

        ``name`` is what the video is called; a length that is None is not known.
        """
        for span in self.spans:
            for end in (span.start, span.stop):
                if end is None:
                    continue
                length = frames if end.frame else seconds
                if length is not None and _outside(end, length, first=end is span.start):
                    raise _not_there(span, end, name, length)

    def check_range(self, start: int, stop: int | None, rate: Fraction | None) -> None:
        """Raise ConfigError where no frame from ``start`` up to ``stop`` is within any span.

        ``rate`` is the input's average, by which spans of times are judged with some grace.
        """
        if not self.spans or any(_meets(span, start, stop, rate) for span in self.spans):
            return
        wanted = f"{start}-{'' if stop is None else stop - 1}"
        raise ConfigError(
            f"no frame of {wanted} lies within the spans"
            f" {','.join(span.text for span in self.spans)}: nothing would be covered",
            cure="count spans from the input's first frame, not from the first that is wanted",
        )


def _meets(span: Span, start: int, stop: int | None, rate: Fraction | None) -> bool:
    """Whether a range of frames and a span may have a moment in common."""
    from_ = None if span.start is None else span.start.at
    to = None if span.stop is None else span.stop.at
    first, behind = Fraction(start), None if stop is None else Fraction(stop)
    end = span.start or span.stop
    if end is not None and not end.frame:
        if rate is None:
            return True
        first = first / rate * (1 - _UNEVEN) - _SLACK_S
        behind = None if behind is None else behind / rate * (1 + _UNEVEN) + _SLACK_S
    return (to is None or to >= first) and (from_ is None or behind is None or from_ < behind)


def _span(text: str) -> Span:
    first, dash, last = text.partition("-")
    if not dash or not (first.strip() or last.strip()):
        raise ConfigError(f"{text!r} is no span: it is not FROM-TO", cure=EXAMPLE)
    start, stop = (_moment(side.strip(), text) for side in (first, last))
    if start is not None and stop is not None:
        _check_order(text, start, stop)
    return Span(text, start, stop)


def _moment(text: str, span: str) -> Moment | None:
    if not text:
        return None
    if (frame := _FRAME.fullmatch(text)) is not None:
        return Moment(Fraction(frame[1]), frame=True)
    clock = _CLOCK.fullmatch(text)
    parts = [Fraction(part) for part in clock.groups() if part is not None] if clock else []
    if _TIMECODE.fullmatch(text):
        raise ConfigError(
            f"{text!r} in the span {span!r} is a time code, which counts frames at a rate and from"
            " a start of its own",
            cure="write hours:minutes:seconds, as in 0:00:01.5, or frames, as in f120-f240; both"
            " count from the first picture",
        )
    if not parts or any(part >= 60 for part in parts[1:]):
        raise ConfigError(
            f"{text!r} in the span {span!r} is neither a time nor a frame",
            cure=f"{EXAMPLE}; a time is hours:minutes:seconds, with a point for fractions",
        )
    seconds = sum((part * 60**place for place, part in enumerate(reversed(parts))), Fraction(0))
    return Moment(seconds, frame=False)


def _check_order(text: str, start: Moment, stop: Moment) -> None:
    if start.frame != stop.frame:
        raise ConfigError(f"the span {text!r} goes from a time to a frame", cure=EXAMPLE)
    if stop.at < start.at:
        raise ConfigError(f"the span {text!r} ends before it begins", cure="swap the two")
    if stop.at == start.at and not start.frame:
        raise ConfigError(f"the span {text!r} is empty: it ends where it begins", cure=EXAMPLE)


def _outside(end: Moment, length: float, *, first: bool) -> bool:
    """Whether a span's end lies behind a video of ``length`` seconds or frames."""
    if first or end.frame:
        return end.at >= length
    return end.at > length + _SLACK_S


def _not_there(span: Span, end: Moment, name: str, length: float) -> ConfigError:
    if end.frame:
        there = f"{length:.0f} frames, f0-f{length - 1:.0f}" if length != 1 else "1 frame, f0"
    else:
        there = f"{length:.2f} s of picture"
    open_end = "" if end is span.start else f"; {span.text.partition('-')[0]}- means to the end"
    return ConfigError(
        f"{name!r} has {there}; the span {span.text} is not within it",
        cure=f"name {end.unit} that it has{open_end}",
        facts={"span": span.text},
    )
