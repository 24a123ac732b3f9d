"""Sound on its way past the ring: described, in order, bounded, and never waited for."""

from __future__ import annotations

import io
import socket
from collections.abc import Iterator
from fractions import Fraction

import av
import numpy as np
import pytest
from av import AudioFrame, AudioStream, Packet

from mpflow.media.sound import SoundPacket, SoundReceiver, SoundSender

Pair = tuple[SoundSender, SoundReceiver]


@pytest.fixture
def ends() -> Iterator[tuple[int, int]]:
    left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with left, right:
        yield left.fileno(), right.fileno()


@pytest.fixture
def pair(ends: tuple[int, int]) -> Iterator[Pair]:
    sender, receiver = SoundSender(ends[0]), SoundReceiver(ends[1])
    yield sender, receiver
    sender.close()
    receiver.close()


def tone(
    container: str, codec: str, frames: int = 50, rate: int = 48000, layout: str = "stereo"
) -> io.BytesIO:
    """Some frames of sound in memory."""
    file = io.BytesIO()
    with av.open(file, "w", format=container) as out:
        stream = out.add_stream(codec, rate=rate)
        assert isinstance(stream, AudioStream)
        stream.codec_context.layout = layout
        context = stream.codec_context
        context.open()
        size = context.frame_size or 1024
        noise = np.random.default_rng(1).normal(0, 3000, (1, 2 * size)).astype("int16")
        resampler = av.AudioResampler(context.format.name, layout, rate)
        for number in range(frames):
            frame = AudioFrame.from_ndarray(noise, format="s16", layout="stereo")
            frame.sample_rate, frame.pts = rate, number * size
            for converted in resampler.resample(frame):
                out.mux(context_packets(stream, converted))
        out.mux(context_packets(stream, None))
    file.seek(0)
    return file


def context_packets(stream: AudioStream, frame: AudioFrame | None) -> list[Packet[AudioStream]]:
    return stream.encode(frame)


def send_all(sender: SoundSender, file: io.BytesIO) -> list[bytes]:
    with av.open(file) as container:
        stream = container.streams.audio[0]
        sender.describe(stream)
        packets = [packet for packet in container.demux(stream) if packet.size]
        for packet in packets:
            assert packet.pts is not None and packet.dts is not None
            sender.send(packet, pts=packet.pts + 7, dts=packet.dts + 7)
        return [bytes(packet) for packet in packets]


@pytest.mark.parametrize(
    ("container", "codec"),
    [("flv", "aac"), ("mpegts", "aac"), ("matroska", "libopus"), ("mpegts", "mp2")],
)
def test_sound_can_be_decoded_and_copied_on_the_other_side(
    pair: Pair, container: str, codec: str
) -> None:
    sender, receiver = pair
    sent = send_all(sender, tone(container, codec))
    packets = receiver.receive()
    assert len(packets) == len(sent)
    stream = receiver.stream
    assert stream is not None and stream.codec_context.sample_rate == 48000
    decoded = [f for p in packets for f in stream.codec_context.decode(p.to_packet())]
    assert sum(frame.samples for frame in decoded) > 40 * 900
    copy = io.BytesIO()
    with av.open(copy, "w", format="matroska") as out:
        target = out.add_stream_from_template(stream, opaque=True)
        for received in packets:
            packet = received.to_packet()
            packet.stream = target
            out.mux(packet)
    with av.open(io.BytesIO(copy.getvalue())) as again:
        assert sum(bool(packet.size) for packet in again.demux()) == len(packets)


def test_framed_aac_becomes_bare_with_its_configuration(pair: Pair) -> None:
    sender, receiver = pair
    sent = send_all(sender, tone("mpegts", "aac"))
    packets = receiver.receive()
    assert all(data.endswith(packet.data) for data, packet in zip(sent, packets, strict=True))
    assert {len(d) - len(p.data) for d, p in zip(sent, packets, strict=True)} == {7}
    assert receiver.stream is not None
    assert receiver.stream.codec_context.extradata == bytes.fromhex("1190")


@pytest.mark.parametrize(("rate", "layout"), [(44100, "mono"), (48000, "5.1"), (24000, "stereo")])
def test_framed_aac_that_becomes_another_is_described_anew(
    pair: Pair, rate: int, layout: str
) -> None:
    """As between a programme and an advertisement, and back."""
    sender, receiver = pair
    parts = [tone("mpegts", "aac", 20), tone("mpegts", "aac", 20, rate, layout)]
    kinds: list[tuple[int, str]] = []
    with av.open(io.BytesIO(b"".join(part.getvalue() for part in (*parts, parts[0])))) as one:
        stream = one.streams.audio[0]
        sender.describe(stream)
        for packet in one.demux(stream):
            if packet.size:
                sender.send(packet, pts=packet.pts or 0, dts=packet.pts or 0)
    while packets := receiver.receive():
        assert receiver.stream is not None
        context = receiver.stream.codec_context
        frames = [f for p in packets for f in context.decode(p.to_packet())]
        kinds.append((context.sample_rate, context.layout.name))
        assert {(f.sample_rate, f.layout.name) for f in frames} == {kinds[-1]}
    assert kinds == [(48000, "stereo"), (rate, layout), (48000, "stereo")]
    assert receiver.changes == 2


def test_framed_aac_without_channels_is_left_out_and_said_so(ends: tuple[int, int]) -> None:
    told: list[str] = []
    sender, receiver = SoundSender(ends[0], told.append), SoundReceiver(ends[1])
    with av.open(tone("mpegts", "aac", 5)) as container:
        stream = container.streams.audio[0]
        sender.describe(stream)
        for packet in container.demux(stream):
            data = bytearray(bytes(packet))
            if data:
                data[2] &= 0xFE
                data[3] &= 0x3F
                odd: Packet[AudioStream] = Packet(bytes(data))
                odd.time_base = packet.time_base
                sender.send(odd, pts=0, dts=0)
    assert receiver.receive() == []
    assert set(told) == {"the sound's AAC names its channels in an unusual way, so it is left out"}
    sender.close()
    receiver.close()


def test_a_slow_receiver_never_takes_one_stream_for_another(ends: tuple[int, int]) -> None:
    sender, receiver = SoundSender(ends[0]), SoundReceiver(ends[1])
    send_all(sender, tone("matroska", "pcm_s16le", frames=400))
    sent = send_all(sender, tone("matroska", "libopus", frames=400))
    heard: dict[str, list[bytes]] = {"pcm_s16le": [], "opus": []}
    for _ in range(60):
        packets = receiver.receive()
        assert receiver.stream is not None
        heard[receiver.stream.codec_context.name] += [packet.data for packet in packets]
        sender.send(_silence(), pts=0, dts=0)
    assert sender.dropped > 200
    assert not set(heard["pcm_s16le"]) & set(sent)
    assert sent[-1] in heard["opus"]
    sender.close()
    receiver.close()


def test_time_stamps_are_those_that_the_sender_names(pair: Pair) -> None:
    sender, receiver = pair
    send_all(sender, tone("matroska", "libopus", frames=10))
    packets = receiver.receive()
    assert [p.pts for p in packets] == sorted(p.pts for p in packets)
    assert packets[0].pts == packets[0].dts
    assert packets[1].time - packets[0].time == pytest.approx(0.02, abs=0.002)


def test_a_slow_receiver_loses_the_oldest_that_waits_and_it_is_counted(
    ends: tuple[int, int],
) -> None:
    sender, receiver = SoundSender(ends[0]), SoundReceiver(ends[1])
    file = tone("matroska", "pcm_s16le", frames=400)
    sent = send_all(sender, file)
    assert sender.dropped > 0
    got: list[SoundPacket] = []
    for _ in range(40):
        got += receiver.receive()
        sender.send(_silence(), pts=0, dts=0)
    got += receiver.receive()
    arrived = [packet.data for packet in got if len(packet.data) > 16]
    assert arrived[-1] == sent[-1]
    assert len(arrived) == len(sent) - sender.dropped
    sender.close()
    receiver.close()


def test_a_fresh_receiver_learns_what_it_hears(
    ends: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0]
    monkeypatch.setattr("mpflow.media.sound.time.monotonic_ns", lambda: now[0])
    sender, first = SoundSender(ends[0]), SoundReceiver(ends[1])
    now[0] = 2_000_000_000
    send_all(sender, tone("flv", "aac", frames=5))
    assert first.receive()
    first.close()
    second = SoundReceiver(ends[1])
    sender.send(_silence(), pts=1, dts=1)
    assert second.receive() == [] and second.stream is None
    now[0] += 1_000_000_000
    sender.send(_silence(), pts=2, dts=2)
    assert [packet.pts for packet in second.receive()] == [2]
    assert second.stream is not None and second.stream.codec_context.name == "aac"
    second.close()
    sender.close()


def test_packets_of_another_stream_come_after_its_description(pair: Pair) -> None:
    sender, receiver = pair
    send_all(sender, tone("flv", "aac", frames=5))
    send_all(sender, tone("matroska", "libopus", frames=5))
    assert receiver.receive() and receiver.stream is not None
    assert (receiver.stream.codec_context.name, receiver.changes) == ("aac", 0)
    assert receiver.receive()
    assert (receiver.stream.codec_context.name, receiver.changes) == ("opus", 1)


def test_the_same_kind_of_sound_over_a_new_connection_is_no_change(pair: Pair) -> None:
    sender, receiver = pair
    for _ in range(2):
        sent = send_all(sender, tone("flv", "aac", frames=5))
        sender.describe(av.open(tone("flv", "aac", frames=9)).streams.audio[0])
        sender.send(_silence(), pts=9, dts=9)
    assert len(receiver.receive()) == 2 * (len(sent) + 1)
    assert receiver.changes == 0


def test_without_a_channel_nothing_goes_and_nothing_comes() -> None:
    sender, receiver = SoundSender(-1), SoundReceiver(-1)
    send_all(sender, tone("flv", "aac", frames=3))
    assert receiver.receive() == [] and receiver.fileno() == -1
    sender.close()
    receiver.close()


def test_nobody_at_the_other_end_is_no_error(ends: tuple[int, int]) -> None:
    left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    right.close()
    sender = SoundSender(left.fileno())
    send_all(sender, tone("flv", "aac", frames=3))
    sender.close()
    left.close()


def _silence() -> Packet[AudioStream]:
    packet: Packet[AudioStream] = Packet(bytes(8))
    packet.time_base = Fraction(1, 48000)
    return packet
