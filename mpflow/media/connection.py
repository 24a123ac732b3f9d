"""One connection of a live output: its container, a fresh encoder, its sound, its delivery."""

from __future__ import annotations

from collections import deque
from fractions import Fraction
from typing import Any

import av
from av import AudioStream, Packet, VideoFrame
from av.container import OutputContainer

from mpflow.media.declaration import SILENT, Declaration, declare
from mpflow.media.delivery import Delivery
from mpflow.media.destination import FIFO_PACKETS, Destination, Kind
from mpflow.media.livecoder import LiveRecipe
from mpflow.media.pipe import PipeWriter
from mpflow.media.sound import SoundPacket
from mpflow.media.soundtrack import SoundTrack
from mpflow.media.tags import add_comment
from mpflow.tokens import Token

# Packets that a muxer takes before it has to have written one: those that wait in it.
_UNPROVEN = 2 * FIFO_PACKETS


class Connection:
    """Opened at once, in the background; ``error`` says what became of it.

    Its time begins with the first picture or sound that it is given. ``is_counted`` is its owner's.
    """

    def __init__(  # noqa: PLR0913 - what one connection is made of
        self,
        destination: Destination,
        recipe: LiveRecipe,
        *,
        place: str,
        sound: AudioStream | None,
        bitrate: str,
        options: tuple[str, dict[str, str]],
        note: str = "",
        said: Declaration = SILENT,
    ) -> None:
        self.is_counted = False
        self._time_base = recipe.shape.time_base
        self._origin: Fraction | None = None
        self._put_so_far = 0
        self._on_the_way: deque[tuple[int, Token]] = deque()
        self._pipe: PipeWriter | None = None
        container = self._open(destination, place, *options)
        add_comment(container.metadata, note)
        declare(container.metadata, said, destination.container)
        self._coder = recipe.add_to(container)
        self._sound: SoundTrack | None = None
        if sound is not None:
            self._sound = SoundTrack(container, destination, sound, bitrate)
        close = self._pipe.close if self._pipe is not None else _nothing
        self._delivery = Delivery(container, close)

    @property
    def error(self) -> BaseException | None:
        """What went wrong at the other end; None while nothing did."""
        return self._delivery.error

    @property
    def is_proven(self) -> bool:
        """Whether so much was taken that the other end must be there."""
        return self._delivery.sent > _UNPROVEN

    @property
    def backlog(self) -> float:
        """For how many seconds it has stood still."""
        return self._delivery.backlog

    def wait_for_room(self, backlog: float, timeout: float) -> bool:
        """Wait until the backlog is shorter; see Delivery."""
        return self._delivery.wait_for_room(backlog, timeout)

    def begin(self, at: Fraction) -> Fraction:
        """Count time from ``at``, in seconds, unless it has begun; returns when that was."""
        if self._origin is None:
            self._origin = at
        return self._origin

    def picture(self, picture: VideoFrame, pts: int, token: Token) -> bool:
        """Code and send a picture; False where it comes before the beginning."""
        pts -= round(self.begin(pts * self._time_base) / self._time_base)
        if pts < 0:
            return False
        picture.pts = pts
        for packet in self._coder.encode(picture):
            self._put(packet)
        self._forget(self._delivery.sent - _UNPROVEN)
        self._on_the_way.append((self._put_so_far, token))
        return True

    def take_lost(self) -> list[Token]:
        """The pictures that were given to it and are not known to have arrived, once it is over.

        What a muxer has taken is known to be written when some packets more were taken.
        """
        self._forget(self._delivery.sent - _UNPROVEN)
        lost = [token for _, token in self._on_the_way]
        self._on_the_way.clear()
        return lost

    def sound(self, packet: SoundPacket) -> None:
        """Send a packet of sound, if there is room for sound."""
        if self._sound is not None:
            for ready in self._sound.write(packet, self.begin(packet.time)):
                self._put(ready)

    def follow_sound(self, stream: AudioStream) -> bool:
        """Go on with another stream of sound; False where that cannot be."""
        return self._sound is not None and self._sound.follow(stream)

    def end_sound(self) -> None:
        """Send no more sound."""
        self._sound = None

    def finish(self) -> None:
        """Send what the encoders kept, and the trailer."""
        if self.error is None:
            for packet in self._coder.finish():
                self._put(packet)
            if self._sound is not None:
                for packet in self._sound.finish():
                    self._put(packet)
        self._delivery.end()

    def wait(self, timeout: float) -> bool:
        """Whether what was finished is over, after that time at most: taken, or failed."""
        return self._delivery.wait(timeout)

    def abandon(self) -> None:
        """Let the thread end what it is at, for nobody, and wait for nothing."""
        if self._pipe is not None:
            self._pipe.give_up_after(0)
        if self.is_proven and self.error is None:
            self._forget(self._delivery.sent)  # the muxer's end sends what it has taken
        self._delivery.leave()

    def _forget(self, packets: int) -> None:
        """So many packets have arrived, and what pictures are in them."""
        while self._on_the_way and self._on_the_way[0][0] <= packets:
            self._on_the_way.popleft()

    def _put(self, packet: Packet[Any]) -> None:
        self._put_so_far += 1
        self._delivery.put(packet)

    def _open(
        self, destination: Destination, place: str, muxer: str, options: dict[str, str]
    ) -> OutputContainer:
        if destination.kind is Kind.STDOUT:
            self._pipe = PipeWriter.open(place)
            return av.open(self._pipe, "w", format=muxer, container_options=options)
        return av.open(destination.target, "w", format=muxer, container_options=options)


def _nothing() -> None:
    pass
