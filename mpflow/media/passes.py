"""One reading of an input's pictures: from its beginning, or from a key frame that was sought.

    beginning:  demux -> bridge jumps -> decode -> time stamps made fit
    key frame:  seek -> drop until the key frame -> stamps from the index -> decode

After a seek a demuxer may come out late, give packets without a time, or with a wrong one (MPEG
program streams do all of it). So packets are recognised by what is in them, and get the very time
stamps they have in the index; where they do not follow it, the reading ends with ``Astray``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import chain, islice
from typing import cast

import av
from av import Packet, VideoFrame
from av.codec.context import ThreadType
from av.video.stream import VideoStream

from mpflow.media.demux import steady
from mpflow.media.index import NONE, Index, fingerprint, read_index
from mpflow.media.length import Length
from mpflow.media.source import open_input
from mpflow.media.tally import Tally
from mpflow.media.timeline import Continuity, Stamps, usual_step
from mpflow.spec import MediaInfo
from mpflow.urls import shown

# How many key frames earlier to seek, in turn, where a demuxer comes out behind the one it should.
_EARLIER = (0, 1, 3, 7, 15)

# Pictures decoded to see whether the decoder has them where the index has.
_SAMPLE = 12


class Astray(Exception):
    """What was read after a seek is not what the index says."""


class Pass:
    """Opens the input for one reading. ``tally`` counts; ``length`` judges the end later."""

    def __init__(self, path: str, media: MediaInfo, tally: Tally, *, threads: int) -> None:
        self._path = path
        self._media = media
        self._tally = tally
        self._container = open_input(path)
        self._stream = cast(VideoStream, self._container.streams[media.video.index])
        self._context = self._stream.codec_context
        self._context.thread_type = ThreadType.AUTO
        self._context.thread_count = threads
        rate = media.video.average_rate
        time_base = Fraction(*media.video.time_base)
        self._stamps = Stamps(usual_step(time_base, Fraction(*rate) if rate else None))
        self._continuity = Continuity()
        self._first_dts: int | None = None
        self.length = Length(self._container, self._stream, media)

    @property
    def jumps(self) -> int:
        """How often the time stamps jumped back."""
        return self._continuity.jumps

    def close(self) -> None:
        """Close the file."""
        self._container.close()

    def from_beginning(self) -> Iterator[VideoFrame]:
        """Every picture there is, each stamped later than the one before."""
        for picture in self._pictures(self._settled()):
            pts, duration = self._stamp(picture), picture.duration
            moved = self._stamps.moved
            picture.pts = self._stamps.next(pts, duration)
            picture.duration = duration if duration > 0 else self._stamps.step
            if self._stamps.moved > moved:
                self._tally.say("some frames had time stamps out of order; they were moved forward")
            yield picture

    def from_key(self, index: Index, row: int, low: int) -> Iterator[VideoFrame]:
        """Pictures from time stamp ``low`` on, decoded from the key frame in ``row``.

        Raises Astray as soon as one is not the one that the index has there: damage that a decoder
        meets with other pictures in mind may cost it other frames.
        """
        expected = index.stamps_from(low)
        last: int | None = None
        for picture in self._pictures(self._sought(index, row)):
            if picture.pts is None or (last is not None and picture.pts <= last):
                raise Astray
            last = picture.pts
            self._stamps.next(picture.pts, picture.duration)  # keeps the usual duration
            if picture.pts < low:
                continue
            if picture.pts != next(expected, None):
                raise Astray
            if picture.duration <= 0:
                picture.duration = self._stamps.step
            yield picture
        if next(expected, None) is not None:
            raise Astray

    def _pictures(self, packets: Iterable[Packet[VideoStream]]) -> Iterator[VideoFrame]:
        for packet in chain(packets, (None,)):
            try:
                pictures = self._context.decode(packet)
            except av.FFmpegError:
                self._tally.failed(packet)
                continue
            yield from pictures

    def _settled(self) -> Iterator[Packet[VideoStream]]:
        """The video's packets from the beginning on, with jumps of their clock bridged."""
        for number, packet in enumerate(self._packets()):
            self._tally.read(number, packet)
            yield from self._continuity.feed(packet)
        yield from self._continuity.flush()

    def _sought(self, index: Index, row: int) -> Iterator[Packet[VideoStream]]:
        """The video's packets from a row of the index on, with the stamps they have there."""
        for number, packet in enumerate(self._seek(index, row), row):
            if number >= len(index.prints) or index.prints[number] != fingerprint(packet):
                raise Astray
            packet.pts = index.pts[number]
            packet.dts = None if index.dts[number] == NONE else index.dts[number]
            self._tally.read(number, packet)
            yield packet

    def _seek(self, index: Index, row: int) -> Iterator[Packet[VideoStream]]:
        """Seek so that the key frame in ``row`` comes; gives it and what follows."""
        for count in _EARLIER:
            earlier = index.earlier_key(row, count)
            if earlier is None:
                break
            try:
                self._container.seek(index.seek_stamp(earlier), stream=self._stream, backward=True)
            except av.FFmpegError as error:
                raise Astray from error
            packets = self._packets()
            for packet in packets:
                if not packet.is_keyframe or packet.pts is None:
                    continue
                stamp = packet.pts - index.late
                if stamp == index.pts[row] and fingerprint(packet) == index.prints[row]:
                    return chain((packet,), packets)
                if stamp > index.pts[row]:
                    break
        raise Astray

    def _packets(self) -> Iterator[Packet[VideoStream]]:
        return steady(self._container, self._stream.index, self._broken, self.length.note)

    def _broken(self, error: av.FFmpegError) -> None:
        self._tally.broken()
        if not isinstance(error, av.InvalidDataError):
            name = shown(self._path)
            self._tally.say(f"reading {name!r} stopped early: {error.strerror}")

    def _stamp(self, picture: VideoFrame) -> int | None:
        """The picture's own time, as far as the container has one.

        AVI has none, and what FFmpeg makes up for it is wrong with reordered pictures; the
        decoding times count right, from the first picture on.
        """
        if self._media.container != "avi":
            return picture.pts if picture.pts is not None else picture.dts
        if picture.dts is None:
            return None
        if self._first_dts is None:
            self._first_dts = picture.dts
        return picture.dts - self._first_dts


def checked_index(path: str, media: MediaInfo) -> Index:
    """The index of an input, its first pictures held against the decoder's; raises InputError."""
    index = read_index(path, media)
    if index.clean:
        sample = Pass(path, media, Tally(lambda text: None), threads=1)
        found = [picture.pts for picture in islice(sample.from_beginning(), _SAMPLE)]
        sample.close()
        if found != list(index.stamps[:_SAMPLE]):
            index.why = "its packets are not its pictures"
    return index
