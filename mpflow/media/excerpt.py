"""The streams beside the picture, cut to the time of a range of frames and moved to begin at 0.

    packet -> does it belong to the range? -> cut to it (text) -> moved

Sound begins with the first packet inside, so that it never leads; text that is on screen at the
begin is shown from there on; another picture begins with its first key frame inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from av import Packet
from av.stream import Stream

from mpflow.media.probe import is_attached
from mpflow.media.ranges import Span

if TYPE_CHECKING:
    from av.container.core import Chapter

# How far another stream's packets may lie behind the picture's in a file that is well interleaved.
_LAG_S = 10


class Excerpt:
    """What of each stream lies in a span of the input's clock; all of it without a span."""

    def __init__(self, span: Span | None) -> None:
        self.span = span
        self._begin, self._end = span or (Fraction(0), None)
        self._pictures: set[int] = set()
        self._begun: dict[int, Fraction] = {}
        self._ended: dict[int, bool] = {}

    def take(self, packet: Packet[Stream], out: Stream) -> bool:
        """Whether a packet (with both its times) is wanted; it is then cut and moved."""
        if self.span is None or (out.type == "video" and is_attached(out)):
            return True
        if out.type == "subtitle":
            wanted = self._cut(packet)
        elif out.type == "video":
            wanted = self._follows_key(packet)
        else:
            wanted = self._is_inside(packet)
        if wanted:
            ticks = round(self._begin / packet.time_base)
            packet.pts = (packet.pts or 0) - ticks
            packet.dts = (packet.dts or 0) - ticks
        return wanted

    def is_over(self, clock: Fraction) -> bool:
        """Whether nothing of the span can follow, the picture having come to ``clock``.

        Sound and pictures must have passed the end themselves; text is too sparse to wait for.
        """
        return self._end is not None and clock >= self._end + _LAG_S and all(self._ended.values())

    @property
    def keyless(self) -> set[int]:
        """Streams of pictures of which nothing in the span can be shown."""
        return self._pictures - self._begun.keys()

    def chapters(self, chapters: Sequence[Chapter]) -> list[Chapter]:
        """Chapters that overlap the span, cut and moved."""
        if self.span is None:
            return list(chapters)
        return [made for chapter in chapters if (made := self._chapter(chapter)) is not None]

    def _is_inside(self, packet: Packet[Stream]) -> bool:
        """Whether a packet is presented in the span; an early one is dropped, not cut."""
        at = (packet.pts or 0) * packet.time_base
        self._ended[packet.stream_index] = self._end is not None and at >= self._end
        return self._spans(at)

    def _follows_key(self, packet: Packet[Stream]) -> bool:
        """Whether a picture can be decoded from what is kept, and is needed for what is shown."""
        shown = (packet.pts or 0) * packet.time_base
        read = (packet.dts or 0) * packet.time_base
        index = packet.stream_index
        self._pictures.add(index)
        self._ended[index] = self._end is not None and read >= self._end
        if index not in self._begun and packet.is_keyframe and self._spans(shown):
            self._begun[index] = shown
        return index in self._begun and shown >= self._begun[index] and not self._ended[index]

    def _spans(self, at: Fraction) -> bool:
        return self._begin <= at and (self._end is None or at < self._end)

    def _cut(self, packet: Packet[Stream]) -> bool:
        """Cut a text to the part of it that is on screen in the span."""
        base = packet.time_base
        start = (packet.pts or 0) * base
        stop = start + (packet.duration or 0) * base
        early = stop <= self._begin and start < self._begin
        if early or (self._end is not None and start >= self._end):
            return False
        first = max(start, self._begin)
        last = stop if self._end is None else min(stop, self._end)
        packet.pts = packet.dts = round(first / base)
        if packet.duration:
            packet.duration = max(1, round((last - first) / base))
        return True

    def _chapter(self, chapter: Chapter) -> Chapter | None:
        base = chapter["time_base"] or Fraction(1, 1_000_000)
        start, stop = chapter["start"] * base, chapter["end"] * base
        last = stop if self._end is None else min(stop, self._end)
        first = max(start, self._begin)
        if first >= last:
            return None
        chapter["start"] = round((first - self._begin) / base)
        chapter["end"] = round((last - self._begin) / base)
        return chapter
