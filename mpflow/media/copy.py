"""Copying every other stream packet for packet, in step with the picture being encoded.

    second demuxer over the input -> (jumps bridged, as the reader does) -> muxer

The input's own video packets are the clock: packets are read until the video in the input has
come as far as the video in the output, so nothing is kept here, and the muxer's queue stays short
however sparse a subtitle track is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import cast

import av
from av import Packet
from av.container import OutputContainer
from av.stream import Stream
from av.subtitles.stream import SubtitleStream
from av.video.stream import VideoStream

from mpflow.media.probe import is_attached
from mpflow.media.source import open_input
from mpflow.media.tags import Tags, kept_tags, lost_tags, needs_metadata_keys
from mpflow.media.text import TextTrack
from mpflow.media.timeline import JUMP_BACK_S, Continuity
from mpflow.media.tracks import How, Plan, describe, plan_tracks

# A mov_text sample of no characters: it ends the text before it.
_NO_TEXT = b"\0\0"
# The deepest reordering of pictures there is, in packets.
_MOST_EARLY = 32
# Sound packets that wait for the picture to reach the same jump: some seconds.
_MOST_AHEAD = 512


@dataclass(slots=True)
class _Track:
    """One copied stream: where its packets go, and the last decoding time written.

    ``remade_gaps`` says that the muxer writes the empty samples between subtitles itself;
    ``part`` counts the jumps back in a sound track, ``raw`` is its last time as read.
    """

    out: Stream
    remade_gaps: bool = False
    text: TextTrack | None = None
    last: int | None = None
    part: int = 0
    raw: Fraction | None = None
    early: list[Packet[Stream]] = field(default_factory=list)

    def note_jump(self, packet: Packet[Stream]) -> None:
        """Count the places where the sound's own stamps jump back: there the next part begins."""
        if packet.dts is None or packet.time_base is None:
            return
        raw = packet.dts * packet.time_base
        if self.raw is not None and raw < self.raw - JUMP_BACK_S:
            self.part += 1
        self.raw = raw

    def settle(self, packet: Packet[Stream]) -> list[Packet[Stream]]:
        """Give decoding times to a video track's first packets, where the container has none.

        They wait for the first packet that has one, and count back from it.
        """
        if (
            self.out.type != "video"
            or is_attached(self.out)
            or (packet.dts is not None and not self.early)
        ):
            return [packet]
        self.early.append(packet)
        if packet.dts is None and len(self.early) <= _MOST_EARLY:
            return []
        waiting, self.early = self.early, []
        known = packet.dts if packet.dts is not None else waiting[0].pts or 0
        for back, early in enumerate(reversed(waiting)):
            early.dts = known - back * max(1, packet.duration or 1)
        return waiting


class StreamCopy:
    """Brings the input's other streams, chapters and tags into the output."""

    def __init__(
        self,
        path: str,
        picture: int,
        *,
        keep_streams: bool,
        keep_metadata: bool,
        warn: Callable[[str], None],
    ) -> None:
        self._source = open_input(path)
        self._path = path
        self._picture = picture
        self._keep_streams = keep_streams
        self._keep_metadata = keep_metadata
        self._warn = warn
        self._continuity = Continuity()
        self._tracks: dict[int, _Track] = {}
        self._packets: Iterator[Packet[Stream]] = iter(())
        self._clock = Fraction(-(1 << 40))
        self._moved: set[int] = set()
        self._ahead: list[tuple[_Track, Packet[Stream]]] = []
        self.has_cover = False

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
                self._copy_facts(source, picture)
            else:
                self._add(output, source, plan)
        self._copy_container_facts(output)
        self._say_drops(plans)
        if self._tracks:
            self._packets = self._source.demux()
        return picture if picture is not None else add_picture()

    def time_bases(self) -> list[Fraction]:
        """Time bases of the copied streams."""
        bases = [track.out.time_base for track in self._tracks.values()]
        return [base for base in bases if base]

    def needs_metadata_keys(self, output: OutputContainer) -> bool:
        """Whether an mp4 or mov output needs the muxer's metadata keys to lose no tag."""
        if not (self._keep_metadata and needs_metadata_keys(output.metadata)):
            return False
        if self.has_cover:
            lost = [key for key in output.metadata if needs_metadata_keys({key: ""})]
            self._warn(f"{output.format.name} cannot keep tags beside cover art: {', '.join(lost)}")
            return False
        return True

    def pump(self, output: OutputContainer, until: Fraction) -> None:
        """Copy packets up to a time in seconds."""
        while self._clock < until and self._step(output):
            pass

    def drain(self, output: OutputContainer) -> None:
        """Copy whatever is left, to the end of the input."""
        while self._step(output):
            pass
        self._release(output)
        if self._moved:
            names = ", ".join(
                describe(self._source.streams[index]) for index in sorted(self._moved)
            )
            self._warn(f"time stamps out of order were moved forward in {names}")

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

    def _write(self, output: OutputContainer, track: _Track, packet: Packet[Stream]) -> None:
        if track.remade_gaps and packet.size == len(_NO_TEXT) and bytes(packet) == _NO_TEXT:
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
        self, output: OutputContainer, track: _Track, packet: Packet[Stream], part: int
    ) -> None:
        """Write a packet with its time stamps, which only have to be there and in order."""
        dts = packet.dts if packet.dts is not None else packet.pts
        pts = packet.pts if packet.pts is not None else dts
        packet.dts, packet.pts = dts or 0, pts or 0
        self._continuity.shift(packet, part)
        if track.last is not None and packet.dts <= track.last and track.out.type != "subtitle":
            self._moved.add(packet.stream_index)
            packet.dts = track.last + self._tick(track, packet)
            packet.pts = max(packet.pts, packet.dts)
        track.last = packet.dts
        packet.stream = track.out
        output.mux_one(packet)

    @staticmethod
    def _tick(track: _Track, packet: Packet[Stream]) -> int:
        """The least step in the packet's time base that is one in the output's as well."""
        return max(1, math.ceil((track.out.time_base or packet.time_base) / packet.time_base))

    def _add(self, output: OutputContainer, source: Stream, plan: Plan) -> None:
        if plan.how is How.COPY:
            out = output.add_stream_from_template(source, opaque=True)
            self.has_cover |= source.type == "video" and is_attached(source)
            gaps = source.type == "subtitle" and output.format.name in ("mp4", "mov")
            self._tracks[source.index] = _Track(out, remade_gaps=gaps)
        elif plan.how is How.TEXT:
            text = TextTrack(cast(SubtitleStream, source), output, plan.codec)
            self._tracks[source.index] = _Track(text.out, text=text)
            out = text.out
        elif plan.how is How.ATTACH:
            payload = first_packet(self._path, source.index)
            name = source.metadata.get("filename") or f"cover.{plan.codec.split('/')[1]}"
            out = output.add_attachment(name.replace("jpeg", "jpg"), plan.codec, payload)
            return
        else:
            return
        self._copy_facts(source, out)

    def _copy_facts(self, source: Stream, out: Stream) -> None:
        """Tags and disposition (default, forced, original ...) of a stream."""
        keep = self._keep_metadata or source.type == "attachment"
        tags = kept_tags(source.metadata, keep=keep)
        out.metadata.clear()
        out.metadata.update(tags)
        out.disposition = source.disposition

    def _copy_container_facts(self, output: OutputContainer) -> None:
        """Tags of the file, and its chapters."""
        keep = self._keep_metadata
        tags = kept_tags(self._source.metadata, keep=keep)
        output.metadata.update(tags)
        lost = set(lost_tags(self._source.metadata, tags))
        for stream in self._source.streams:
            if stream.type != "attachment":
                lost |= set(lost_tags(stream.metadata, kept_tags(stream.metadata, keep=keep)))
        if lost:
            self._warn(f"tags left out: {', '.join(sorted(lost))}")
        chapters = self._source.chapters()
        for chapter in chapters:
            kept: Tags = kept_tags(chapter["metadata"], keep=keep)
            chapter["metadata"] = dict(kept)
        if chapters:
            output.set_chapters(chapters)

    def _say_drops(self, plans: list[Plan]) -> None:
        for plan in plans:
            if plan.how is How.DROP:
                stream = self._source.streams[plan.index]
                self._warn(f"{describe(stream)} is left out: {plan.reason}")


def first_packet(path: str, index: int) -> bytes:
    """The first packet of a stream: the whole picture, for cover art."""
    with open_input(path) as container:
        for packet in container.demux(container.streams[index]):
            if packet.size:
                return bytes(packet)
    return b""
