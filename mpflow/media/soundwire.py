"""What travels between a live input and a live output for sound: packets, and what they are of.

A stream is described by a NUT file in memory of one packet, which FFmpeg reads back as a stream to
copy from.
"""

from __future__ import annotations

import io
from fractions import Fraction
from typing import Any, cast

import av
import msgspec
from av import AudioCodecContext, AudioStream, Packet

from mpflow.spec import Ratio, Value

Facts = tuple[int, str]
"""Samples in a second, and the name of the channels' layout."""


class SoundPacket(Value, frozen=True, tag="packet"):
    """One packet of sound; ``pts`` and ``dts`` are on the time line of the job's pictures."""

    data: bytes
    pts: int
    dts: int
    duration: int
    time_base: Ratio
    key: bool = True

    @property
    def time(self) -> Fraction:
        """When it is to be heard, in seconds."""
        return self.pts * Fraction(*self.time_base)

    def to_packet(self) -> Packet[AudioStream]:
        """A packet for a muxer or a decoder, without a stream."""
        packet = cast("Packet[AudioStream]", Packet(self.data))
        packet.time_base = Fraction(*self.time_base)
        packet.pts, packet.dts, packet.duration = self.pts, self.dts, self.duration
        packet.is_keyframe = self.key
        return packet


class Description(Value, frozen=True, tag="stream"):
    """A stream as a NUT file of one packet."""

    nut: bytes


_decoder = msgspec.msgpack.Decoder(SoundPacket | Description)


def packed(message: SoundPacket | Description) -> bytes:
    """A message as it travels."""
    return msgspec.msgpack.encode(message)


def unpacked(data: bytes) -> SoundPacket | Description:
    """A message that has travelled."""
    return _decoder.decode(data)


def described(stream: AudioStream, data: bytes, config: bytes, facts: Facts | None) -> Description:
    """A stream as a NUT file of the packet ``data``: without one FFmpeg takes it for damaged.

    ``config`` is the extradata that belongs to it, ``facts`` what the sound is by now, where that
    is not what the stream says.
    """
    file = io.BytesIO()
    with av.open(file, "w", format="nut", options={"fflags": "+bitexact"}) as container:
        out = container.add_stream_from_template(stream, opaque=True)
        if config:
            out.codec_context.extradata = config
        if facts is not None:
            out.codec_context.sample_rate, out.codec_context.layout = facts
        base = stream.time_base or Fraction(1, stream.codec_context.sample_rate)
        out.time_base = base
        packet: Packet[Any] = Packet(data)
        packet.stream, packet.time_base = out, base
        packet.pts = packet.dts = 0
        packet.is_keyframe = True
        container.mux(packet)
    return Description(file.getvalue())


def heard(codec: str, data: bytes) -> Facts | None:
    """Rate and layout of a packet that tells them itself; None where it cannot be decoded."""
    try:
        context = cast("AudioCodecContext", AudioCodecContext.create(codec, "r"))
        frames = context.decode(cast("Packet[AudioStream]", Packet(data)))
    except av.FFmpegError:
        return None
    return next(((frame.sample_rate, frame.layout.name) for frame in frames), None)


def kind_of(stream: AudioStream) -> tuple[object, ...]:
    """What packets of two streams have to share to follow each other."""
    context = stream.codec_context
    return (
        context.codec.canonical_name,
        context.sample_rate,
        context.layout.nb_channels,
        context.extradata,
    )
