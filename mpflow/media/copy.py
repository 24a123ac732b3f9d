"""Copying every other stream packet for packet, in step with the picture being encoded.

    second demuxer over the input -> (jumps bridged, as the reader does) -> muxer

The input's own video packets are the clock: packets are read until the input's video has come as
far as the output's, so nothing is kept here, and the muxer's queue stays short however sparse a
subtitle track is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import cast

import av
from av import Packet
from av.container import OutputContainer
from av.stream import Stream
from av.subtitles.stream import SubtitleStream
from av.video.stream import VideoStream

from mpflow.media.excerpt import Excerpt
from mpflow.media.facts import (
    copy_container_facts,
    copy_stream_facts,
    first_packet,
    share_time_codes,
    starts_late,
)
from mpflow.media.headers import plain_header
from mpflow.media.muxer import FRAGMENTED
from mpflow.media.probe import codec_name, is_attached
from mpflow.media.ranges import Span
from mpflow.media.source import open_input
from mpflow.media.tags import needs_metadata_keys
from mpflow.media.text import TextTrack
from mpflow.media.timecode import begin_at
from mpflow.media.timeline import Continuity
from mpflow.media.track import CopiedTrack, fill_stamps
from mpflow.media.tracks import How, Plan, describe, describe_all, plan_tracks

# Sound packets that wait for the picture to reach the same jump: some seconds.
_MOST_AHEAD = 512


class StreamCopy:
    """Brings the input's other streams, chapters and tags into the output.

    ``text`` False leaves out subtitles, and ``lacks_text`` tells whether there were any. With a
    ``span`` of the input's clock only what lies in it, moved so that it begins at 0. The
    input is read from its beginning all the same: only so is a clock that jumps followed as the
    reader does, and a text found that began long before.
    """

    def __init__(  # noqa: PLR0913 - what to read, what to keep of it, whom to tell
        self,
        path: str,
        picture: int,
        *,
        keep_streams: bool,
        keep_metadata: bool,
        warn: Callable[[str], None],
        span: Span | None = None,
        text: bool = True,
    ) -> None:
        self._source = open_input(path)
        self._path = path
        self._picture = picture
        self._keep_streams = keep_streams
        self._keep_metadata = keep_metadata
        self._warn = warn
        self._excerpt = Excerpt(span)
        self._continuity = Continuity()
        self._tracks: dict[int, CopiedTrack] = {}
        self._packets: Iterator[Packet[Stream]] = iter(())
        self._clock = Fraction(-(1 << 40))
        self._moved: set[int] = set()
        self._ahead: list[tuple[CopiedTrack, Packet[Stream]]] = []
        self._text = text
        self.has_cover = False
        self.lacks_text = False

    def add_to(
        self, output: OutputContainer, add_picture: Callable[[], VideoStream]
    ) -> VideoStream:
        """Add all streams to the output in the input's order; returns the picture's stream."""
        name = output.format.name
        plans = plan_tracks(
            self._source,
            self._picture,
            name,
            keep_streams=self._keep_streams,
            keep_metadata=self._keep_metadata,
        )
        picture: VideoStream | None = None
        for plan in plans:
            source = self._source.streams[plan.index]
            if plan.how is How.PICTURE:
                picture = add_picture()
                copy_stream_facts(source, picture, keep=self._keep_metadata)
            elif source.type == "subtitle" and not self._text:
                self.lacks_text |= plan.how is not How.DROP
            else:
                self._add(output, source, plan)
        if name in FRAGMENTED:
            share_time_codes(self._source, output.streams.video)
        if (span := self._excerpt.span) is not None:
            begin_at(span[0], cast(VideoStream, self._source.streams[self._picture]), output)
        copy_container_facts(
            self._source,
            output,
            keep=self._keep_metadata,
            warn=self._warn,
            chapters=self._excerpt.chapters(self._source.chapters()),
        )
        if self._tracks:
            self._packets = self._source.demux()
        return picture if picture is not None else add_picture()

    def time_bases(self) -> list[Fraction]:
        """Time bases of the copied streams."""
        return [base for track in self._tracks.values() if (base := track.out.time_base)]

    def has_late_track(self) -> bool:
        """Whether a copied track has its first packet long after the picture has its own.

        Subtitles that the mp4 muxer fills itself are never late.
        """
        waiting = {
            index
            for index, track in self._tracks.items()
            if track.text is None and not track.remade_gaps
        }
        span = self._excerpt.span
        return starts_late(self._path, self._picture, waiting, span[0] if span else None)

    def needs_metadata_keys(self, output: OutputContainer) -> bool:
        """Whether an mp4 or mov output needs the muxer's metadata keys to lose no tag."""
        if not needs_metadata_keys(output.metadata):
            return False
        if self.has_cover:
            lost = [key for key in output.metadata if needs_metadata_keys({key: ""})]
            self._warn(f"{output.format.name} cannot keep tags beside cover art: {', '.join(lost)}")
            return False
        return True

    def pump(self, output: OutputContainer, until: Fraction) -> None:
        """Copy packets up to a time on the input's clock."""
        while self._clock < until and self._step(output):
            pass

    def drain(self, output: OutputContainer) -> None:
        """Copy whatever is left, to the end of the input or span."""
        while not self._excerpt.is_over(self._clock) and self._step(output):
            pass
        self._release(output)
        for what, streams in (
            ("time stamps out of order were moved forward in", self._moved),
            ("no key frame lies in the range, so nothing is in", self._excerpt.keyless),
        ):
            if streams:
                self._warn(f"{what} {describe_all(self._source, streams)}")

    def close(self) -> None:
        """Close the second demuxer."""
        self._tracks.clear()
        self._packets = iter(())
        self._source.close()

    def _step(self, output: OutputContainer) -> bool:
        """Read one packet and write it if it is copied; False at the end of the input."""
        try:
            packet = next(self._packets, None)
        except av.FFmpegError:
            return False  # the reader meets the same damage and says so
        if packet is None:
            return False
        if not packet.size:
            return True
        if packet.stream_index == self._picture:
            self._see_picture(output, cast("Packet[VideoStream]", packet))
        elif (track := self._tracks.get(packet.stream_index)) is not None:
            self._write(output, track, packet)
        return True

    def _see_picture(self, output: OutputContainer, packet: Packet[VideoStream]) -> None:
        jumps = self._continuity.jumps
        for settled in self._continuity.feed(packet):
            stamp = settled.dts if settled.dts is not None else settled.pts
            if stamp is not None:
                self._clock = max(self._clock, stamp * settled.time_base)
        if self._continuity.jumps > jumps:
            self._release(output)

    def _write(self, output: OutputContainer, track: CopiedTrack, packet: Packet[Stream]) -> None:
        if track.is_remade(packet):
            return
        if track.text is not None:
            for made in track.text.convert(packet):
                self._mux(output, track, made, self._continuity.jumps)
            return
        if track.out.type != "audio":
            for settled in track.settle(packet):
                self._mux(output, track, settled, self._continuity.jumps)
            return
        track.note_jump(packet)
        if track.part <= self._continuity.jumps:
            self._mux(output, track, packet, track.part)
            return
        self._ahead.append((track, packet))
        if len(self._ahead) > _MOST_AHEAD:
            self._release(output)

    def _release(self, output: OutputContainer) -> None:
        """Write the sound that came to a jump before the picture did (or that jumped alone)."""
        ahead, self._ahead = self._ahead, []
        for track, packet in ahead:
            track.part = min(track.part, self._continuity.jumps)
            self._mux(output, track, packet, track.part)

    def _mux(
        self, output: OutputContainer, track: CopiedTrack, packet: Packet[Stream], part: int
    ) -> None:
        """Write a packet with its time stamps, which only have to be there and in order."""
        fill_stamps(packet)
        self._continuity.shift(packet, part)
        if not self._excerpt.take(packet, track.out):
            return
        if track.put_in_order(packet):
            self._moved.add(packet.stream_index)
        packet.stream = track.out
        output.mux_one(packet)

    def _add(self, output: OutputContainer, source: Stream, plan: Plan) -> None:
        if plan.how is How.COPY:
            out = output.add_stream_from_template(source, opaque=True)
            if not self._keep_metadata and (header := plain_header(source, codec_name(source))):
                out.codec_context.extradata = header
            self.has_cover |= source.type == "video" and is_attached(source)
            gaps = source.type == "subtitle" and output.format.name in ("mp4", "mov")
            self._tracks[source.index] = CopiedTrack(out, remade_gaps=gaps)
        elif plan.how is How.TEXT:
            text = TextTrack(cast(SubtitleStream, source), output, plan.codec)
            self._tracks[source.index] = CopiedTrack(text.out, text=text)
            out = text.out
        elif plan.how is How.ATTACH:
            payload = first_packet(self._path, source.index)
            name = source.metadata.get("filename") if self._keep_metadata else None
            name = name or f"cover.{plan.codec.split('/')[1]}"
            out = output.add_attachment(name.replace("jpeg", "jpg"), plan.codec, payload)
            return
        else:
            if plan.how is How.DROP:
                self._warn(f"{describe(source)} is left out: {plan.reason}")
            return
        copy_stream_facts(source, out, keep=self._keep_metadata)
