"""Text subtitles turned into the kind of text the output's container holds."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import cast

import av
from av import Packet
from av.container import OutputContainer
from av.stream import Stream
from av.subtitles.stream import SubtitleStream


class TextTrack:
    """One subtitle stream on its way from one text codec into another.

    Time stamps and durations are the input's; styles survive as far as the new codec has them.
    """

    def __init__(self, source: SubtitleStream, output: OutputContainer, codec: str) -> None:
        self._decoder = source.codec_context
        self._decoder.open(strict=False)
        self.out = cast(SubtitleStream, output.add_stream(codec))
        self._encoder = self.out.codec_context
        self._encoder.subtitle_header = self._decoder.subtitle_header
        self._encoder.time_base = Fraction(1, 1000)
        self.out.time_base = source.time_base
        self.failed = 0

    def convert(self, packet: Packet[Stream]) -> Iterator[Packet[Stream]]:
        """The packet's text in the new codec; nothing where there is no text."""
        try:
            subtitle = self._decoder.decode2(cast("Packet[SubtitleStream]", packet))
            if subtitle is None or not len(subtitle):
                return
            made = self._encoder.encode_subtitle(subtitle)
        except av.FFmpegError:
            self.failed += 1
            return
        made.time_base = packet.time_base
        made.pts, made.dts = packet.pts, packet.dts
        made.duration = packet.duration
        made.stream = packet.stream
        yield made
