"""The sound of a live output: copied where the container takes it, made into AAC where not.

    receiver -> waits for the picture of its time -> (decode -> resample -> AAC) -> packets

Sound comes as soon as it is heard, the picture of the same moment only after all stages: the sound
waits for it, but no longer than pictures have lately been old, so that it goes on without them.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import av
from av import AudioFrame, AudioResampler, AudioStream, Packet
from av.codec.context import Flags
from av.container import OutputContainer

from mpflow.media.destination import Destination
from mpflow.media.sound import SoundPacket, SoundReceiver
from mpflow.media.tracks import carries

# What players and servers take of each container; any other container is asked.
_TAKEN = {
    "flv": frozenset({"aac", "mp3"}),
    "mpegts": frozenset({"aac", "mp3", "mp2", "ac3", "eac3", "opus"}),
    "rtsp": frozenset({"aac", "opus", "mp3", "pcm_mulaw", "pcm_alaw"}),
    "mp4": frozenset({"aac", "mp3", "ac3", "eac3", "opus", "alac"}),
    "mov": frozenset({"aac", "mp3", "ac3", "eac3", "alac"}),
}
_MADE = "aac"
_USUAL_RATE = 48_000
# Packets of sound kept back at most: some ten seconds.
_MOST_KEPT = 1024


def is_taken(destination: Destination, stream: AudioStream) -> bool:
    """Whether a stream of sound goes into the output's container as it is."""
    taken = _TAKEN.get(destination.container)
    if taken is not None:
        return stream.codec_context.codec.canonical_name in taken
    return carries(destination.container, stream)


@dataclass(slots=True)
class _Kept:
    """A packet that waits, and when it came, in seconds of the monotonic clock."""

    packet: SoundPacket
    came: float


class SoundQueue:
    """Sound that waits for the pictures of its time. Follows the receiver's stream."""

    def __init__(self, receiver: SoundReceiver) -> None:
        self.receiver = receiver
        self._kept: deque[_Kept] = deque(maxlen=_MOST_KEPT)
        self._changes = receiver.changes

    def take_in(self) -> bool:
        """Take in what has come; False where it is another stream now: then call again.

        What came of the stream before is lost, unless it was taken out first.
        """
        now = time.monotonic()
        packets = self.receiver.receive()
        same = self.receiver.changes == self._changes
        if not same:
            self._changes = self.receiver.changes
            self._kept.clear()
        self._kept.extend(_Kept(packet, now) for packet in packets)
        return same

    def due(self, until: Fraction | None, came_before: float) -> Iterator[SoundPacket]:
        """Take out what is heard no later than ``until``, or has waited since before a moment."""
        while self._kept:
            first = self._kept[0]
            if first.came > came_before and (until is None or first.packet.time > until):
                return
            yield self._kept.popleft().packet


class SoundTrack:
    """One connection's stream of sound."""

    def __init__(
        self,
        container: OutputContainer,
        destination: Destination,
        source: AudioStream,
        bitrate: str,
    ) -> None:
        """Add it to a container that is not begun."""
        self._last: Fraction | None = None
        self._maker: _Maker | None = None
        self.is_copied = is_taken(destination, source)
        if self.is_copied:
            self._out = container.add_stream_from_template(source, opaque=True)
            self._out.metadata.clear()
        else:
            self._maker = _Maker(container, source, bitrate, header=destination.has_global_header)
            self._out = self._maker.out

    def write(self, packet: SoundPacket, origin: Fraction) -> Iterator[Packet[Any]]:
        """What to give the muxer for a packet; time is counted from ``origin``, and what comes
        before that is left out."""
        raw: Packet[Any] = _own(packet)
        back = round(origin / raw.time_base)
        raw.pts, raw.dts = packet.pts - back, packet.dts - back
        if self._maker is not None:
            yield from filter(self._comes_next, self._maker.make(raw))
        else:
            raw.stream = self._out
            if self._comes_next(raw):
                yield raw

    def follow(self, source: AudioStream) -> bool:
        """Go on with another stream; False where this one cannot, since it copies."""
        if self._maker is None:
            return False
        self._maker.source = source
        return True

    def finish(self) -> Iterator[Packet[Any]]:
        """What the encoder kept."""
        if self._maker is not None:
            yield from filter(self._comes_next, self._maker.finish())

    def _comes_next(self, packet: Packet[Any]) -> bool:
        """Whether a packet comes after the beginning, and after the one before it."""
        if packet.dts is None or packet.pts is None or packet.pts < 0:
            return False
        at = packet.dts * packet.time_base
        if self._last is not None and at <= self._last:
            return False
        self._last = at
        return True


def _own(packet: SoundPacket) -> Packet[Any]:
    """A packet whose bytes are FFmpeg's.

    Over bytes of Python's it takes the interpreter's lock to let go of them, which a muxer's own
    thread does while closing it holds that lock.
    """
    owned: Packet[Any] = Packet(len(packet.data))
    owned.update(packet.data)
    owned.time_base = Fraction(*packet.time_base)
    owned.pts, owned.dts, owned.duration = packet.pts, packet.dts, packet.duration
    owned.is_keyframe = packet.key
    return owned


class _Maker:
    """Decodes sound and codes it anew as AAC. A damaged packet is left out."""

    def __init__(
        self, container: OutputContainer, source: AudioStream, bitrate: str, *, header: bool
    ) -> None:
        self._source = source
        context = source.codec_context
        rates = av.Codec(_MADE, "w").audio_rates or []
        self._rate = context.sample_rate if context.sample_rate in rates else _USUAL_RATE
        self._layout = "mono" if context.layout.nb_channels == 1 else "stereo"
        self.out = cast(AudioStream, container.add_stream(_MADE, rate=self._rate))
        self.out.codec_context.layout = self._layout
        self.out.codec_context.options = {"b": bitrate}
        if header:
            self.out.codec_context.flags |= int(Flags.global_header)
        self._resampler = self._fresh()

    @property
    def source(self) -> AudioStream:
        """The stream that is decoded."""
        return self._source

    @source.setter
    def source(self, stream: AudioStream) -> None:
        self._source = stream
        self._resampler = self._fresh()

    def make(self, packet: Packet[Any]) -> Iterator[Packet[Any]]:
        """Packets of AAC that can be made now."""
        self._put_on_decoders_clock(packet)
        try:
            pieces = self._source.codec_context.decode(packet)
        except av.FFmpegError:
            return
        for piece in pieces:
            for fitting in self._resampler.resample(piece):
                self._put_on_clock(fitting)
                yield from self.out.encode(fitting)

    def finish(self) -> Iterator[Packet[Any]]:
        """What is left in the encoder."""
        yield from self.out.encode(None)

    def _put_on_decoders_clock(self, packet: Packet[Any]) -> None:
        """The decoder moves times by the samples it skips, in ticks of the stream it was made for.

        FFmpeg adds them to the packet's, whatever those count in.
        """
        ticks = packet.time_base / (self._source.time_base or packet.time_base)
        packet.pts, packet.dts = round((packet.pts or 0) * ticks), round((packet.dts or 0) * ticks)
        packet.duration = round((packet.duration or 0) * ticks)
        packet.time_base /= ticks

    def _put_on_clock(self, frame: AudioFrame) -> None:
        """Count a frame's time in samples: the encoder goes by its first frame's clock for all."""
        if frame.pts is not None and frame.time_base is not None:
            frame.pts = round(frame.pts * frame.time_base * self._rate)
            frame.time_base = Fraction(1, self._rate)

    def _fresh(self) -> AudioResampler:
        return AudioResampler(format="fltp", layout=self._layout, rate=self._rate)
