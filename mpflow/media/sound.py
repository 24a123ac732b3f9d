"""Sound on its way from a live input to a live output, past the ring: packets as they came.

    source: SoundSender -> SEQPACKET socket (never waits) -> SoundReceiver: sink

The first message describes the stream. It is sent again about once a second, so that a fresh
receiver learns it too, and at once when the sound becomes another. When the receiver is slow, the
oldest packets that are not on their way yet are dropped and counted. AAC that came framed (ADTS, as
in transport streams) is sent bare, with its configuration in the description, which is how every
container but those streams holds it.
"""

from __future__ import annotations

import io
import os
import socket
import time
from collections import deque
from collections.abc import Callable
from errno import EMSGSIZE
from typing import Any

import av
from av import AudioStream, Packet
from av.container import InputContainer

from mpflow.media.adts import AdtsFrame
from mpflow.media.soundwire import SoundPacket, described, heard, kind_of, packed, unpacked

__all__ = ["SoundPacket", "SoundReceiver", "SoundSender"]

# Messages that wait for room in the socket: some seconds of sound.
_MOST_WAITING = 256
# The largest message: more than Linux's default socket buffer has room for.
_LARGEST = 256 * 1024
_DESCRIBE_EVERY_NS = 1_000_000_000


class SoundSender:
    """The source's end. ``descriptor`` stays the caller's; -1 sends nothing. ``warn`` is told of
    sound that cannot be sent."""

    def __init__(self, descriptor: int, warn: Callable[[str], None] = lambda text: None) -> None:
        self._socket = _adopt(descriptor)
        self._warn = warn
        self._waiting: deque[tuple[bytes, bool]] = deque()
        self._stream: AudioStream | None = None
        self._description = b""
        self._described_ns = 0
        self._adts = False
        self._config = b""
        self.dropped = 0

    def describe(self, stream: AudioStream) -> None:
        """Packets of this stream follow, after the first connection or another."""
        self._stream, self._description, self._config = stream, b"", b""
        context = stream.codec_context
        self._adts = context.name == "aac" and not context.extradata

    def send(self, packet: Packet[Any], *, pts: int, dts: int) -> None:
        """Send a packet under these time stamps, in its own time base; never waits."""
        data = self._bare(bytes(packet)) if self._adts else bytes(packet)
        if data is None:
            return
        if not self._description and self._stream is not None:
            self._describe(packed(described(self._stream, data, b"", None)))
        self._describe_again()
        base = packet.time_base
        message = SoundPacket(
            data,
            pts,
            dts,
            packet.duration or 0,
            (base.numerator, base.denominator),
            bool(packet.is_keyframe),
        )
        self._offer(packed(message))

    def _bare(self, data: bytes) -> bytes | None:
        """The payload of a frame, described anew where it is of another kind; None where it cannot
        be told what it is."""
        frame = AdtsFrame.of(data)
        if frame is None or self._stream is None:
            return None
        if not frame.config:
            self._warn("the sound's AAC names its channels in an unusual way, so it is left out")
            return None
        if frame.config != self._config:
            # What the input was opened with is known better than one frame tells it.
            facts = heard("aac", data) if self._config else None
            if self._config and facts is None:
                return None
            self._config = frame.config
            self._describe(packed(described(self._stream, frame.payload, frame.config, facts)))
        return frame.payload

    def close(self) -> None:
        """Let go of the socket; what waits is lost."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _describe(self, description: bytes) -> None:
        self._description, self._described_ns = description, 0

    def _describe_again(self) -> None:
        now = time.monotonic_ns()
        if now - self._described_ns >= _DESCRIBE_EVERY_NS and self._description:
            self._described_ns = now
            self._offer(self._description, describes=True)

    def _offer(self, message: bytes, *, describes: bool = False) -> None:
        self._waiting.append((message, describes))
        while self._waiting and self._goes(self._waiting[0][0]):
            self._waiting.popleft()
        while len(self._waiting) > _MOST_WAITING:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        """Drop the oldest packet. A description stays until another follows: what comes after it
        would be taken for what was before."""
        first = self._waiting.popleft()
        if first[1] and not self._waiting[0][1]:
            self._waiting.popleft()
            self._waiting.appendleft(first)
            self.dropped += 1
        else:
            self.dropped += not first[1]

    def _goes(self, message: bytes) -> bool:
        """Whether a message is off our hands: sent, or one that can never be."""
        if self._socket is None:
            return True
        try:
            self._socket.send(message, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError as error:  # nobody is there to hear it, or it is too large
            self.dropped += error.errno == EMSGSIZE
        return True


class SoundReceiver:
    """The sink's end. ``descriptor`` stays the caller's; -1 never has anything.

    ``stream`` is one to copy from (``add_stream_from_template``) once a description came, and
    ``changes`` counts how often it became another one than before.
    """

    def __init__(self, descriptor: int) -> None:
        self._socket = _adopt(descriptor)
        self._nut = b""
        self._container: InputContainer | None = None
        self.changes = 0

    @property
    def stream(self) -> AudioStream | None:
        """The stream as described last; None before that."""
        return self._container.streams.audio[0] if self._container is not None else None

    def fileno(self) -> int:
        """The descriptor that becomes readable with more; -1 where there is none."""
        return self._socket.fileno() if self._socket is not None else -1

    def receive(self) -> list[SoundPacket]:
        """Every packet that has come; never waits.

        Packets before the first description are left out. It ends at a change of the stream, so
        that all packets of one call belong to ``stream`` as it is after it.
        """
        packets: list[SoundPacket] = []
        while self._socket is not None and (data := self._next(peek=bool(packets))):
            message = unpacked(data)
            if isinstance(message, SoundPacket):
                if packets:
                    self._next()
                if self._container is not None:
                    packets.append(message)
            elif message.nut == self._nut or self._is_known(message.nut):
                self._nut = message.nut
                if packets:
                    self._next()
            elif packets:
                break
            else:
                self._adopt(message.nut)
        return packets

    def close(self) -> None:
        """Let go of the socket and of the stream."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._container is not None:
            self._container.close()
            self._container = None

    def _next(self, *, peek: bool = False) -> bytes:
        """The next message, left in the socket with ``peek``; empty where there is none."""
        assert self._socket is not None
        flags = socket.MSG_DONTWAIT | (socket.MSG_PEEK if peek else 0)
        try:
            return self._socket.recv(_LARGEST, flags)
        except (BlockingIOError, ConnectionResetError):
            return b""

    def _is_known(self, nut: bytes) -> bool:
        """Whether a description is of the same kind of sound, after a new connection say."""
        if self._container is None:
            return False
        with av.open(io.BytesIO(nut), "r", format="nut") as other:
            return kind_of(other.streams.audio[0]) == kind_of(self._container.streams.audio[0])

    def _adopt(self, nut: bytes) -> None:
        container = av.open(io.BytesIO(nut), "r", format="nut")
        if self._container is not None:
            self.changes += 1
            self._container.close()
        self._nut, self._container = nut, container


def _adopt(descriptor: int) -> socket.socket | None:
    """A socket of one's own over a descriptor that belongs to somebody else."""
    return socket.socket(fileno=os.dup(descriptor)) if descriptor >= 0 else None
