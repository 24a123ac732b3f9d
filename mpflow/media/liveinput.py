"""A live input as one run of pictures, over every connection that it takes.

    Dialer (thread) -> placed on the time line -> decoded -> brought to the run's geometry -> given
                 |-> sound -> SoundSender

What a decoder is late for is left out: see lag.py. A file is played by its own clock.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from av import Packet, VideoFrame
from av.container import InputContainer

from mpflow.media.address import Address
from mpflow.media.dialer import Dialer, Host
from mpflow.media.feed import Arrived, Ended, Opened
from mpflow.media.lag import Pace
from mpflow.media.liveclock import SECOND, LiveClock, PacedClock
from mpflow.media.livedecoder import LiveDecoder
from mpflow.media.livefacts import describe_live
from mpflow.media.livefit import Fitting, LivePicture
from mpflow.media.livestamps import LiveStamps
from mpflow.media.patience import Patience, Unseen
from mpflow.media.sound import SoundSender
from mpflow.spec import MediaInfo

_LONGEST_SLEEP_S = 0.1


class LiveInput:
    """Reads one address: ``probe``, then ``pictures``; or ``resume`` instead of the probe.

    ``loop`` plays a file again and again. What happens is told to ``host``.
    """

    def __init__(
        self, address: Address, patience: Patience, host: Host, *, threads: int, loop: bool
    ) -> None:
        self.address = address
        self.damaged = 0
        self.missed = 0
        self.warnings: list[str] = []
        self._patience = patience
        self._host = host
        self._threads = threads
        self._loop = loop
        self._dialer = Dialer(address, patience, host)
        self._stamps = LiveStamps(paced=address.is_file)
        self._pace = Pace(patience.lag, seeks=address.is_file)
        self._container: InputContainer | None = None
        self._decoder: LiveDecoder | None = None
        self._fitting: Fitting | None = None
        self._sound = SoundSender(-1)
        self._early: list[VideoFrame] = []
        self._given: int | None = None
        self._turn = 0

    def probe(self) -> MediaInfo:
        """Connect, and describe what comes; the connection stays. Raises InputError."""
        self._dialer.dial()
        try:
            self._early = self._first_pictures()
            assert self._container is not None and self._decoder is not None
            path, stream = self.address.given, self._decoder.stream
            first, clock = self._early[0], self._stamps.clock
            media = describe_live(path, self._container, stream, first, clock)
        except BaseException:
            self.close()
            raise
        self._settle(media)
        return media

    def resume(self, media: MediaInfo, after: int | None) -> None:
        """Go on for a worker that is gone, after the picture with this time stamp.

        Where that is not known, a file goes on where it would be by now.
        """
        self._settle(media)
        if self.address.is_file and after is None and media.zero is not None:
            after = self._stamps.ticks(time.monotonic_ns() - media.zero)
        self._stamps.resume(media.zero, after)
        clock = self._stamps.clock
        if isinstance(clock, LiveClock):
            self._dialer.redial()
        elif self._loop or after is None:
            clock.anew()
            self._dialer.dial()
        else:
            self._given = after
            self._dialer.dial(after=after)

    def pictures(self, sound: int = -1) -> Iterator[LivePicture]:
        """Every picture from now on that is not too late; ``sound`` is a descriptor for the sound.

        Ends with the input, or when it is time to leave; raises InputError when the input is lost.
        """
        self._sound = SoundSender(sound, self._say)
        self._announce_sound()
        early, self._early = self._early, []
        for picture in early:
            yield from self._give(picture)
        while (item := self._dialer.next()) is not None:
            for picture in self._decoded(item):
                yield from self._give(picture)
            if isinstance(item, Ended) and not self._goes_on(item):
                return

    def close(self) -> None:
        """Hang up, and let go of everything."""
        self._dialer.close()
        self._sound.close()
        self._decoder = self._container = None
        self._early = []

    def _first_pictures(self) -> list[VideoFrame]:
        while (item := self._dialer.next()) is not None:
            if pictures := self._decoded(item):
                return pictures
            if isinstance(item, Ended):
                error = item.error or Unseen()
                raise self.address.explain(error) from error
        raise self.address.explain(Unseen())

    def _settle(self, media: MediaInfo) -> None:
        """Take the run's geometry and time base."""
        self._stamps.settle(media.video)
        self._dialer.expect(self._stamps.clock.step / SECOND)
        self._fitting = Fitting(media.video, self._say)

    def _decoded(self, item: Opened | Arrived | Ended) -> list[VideoFrame]:
        """The pictures that come of a packet or an event."""
        match item:
            case Opened(container):
                self._meet(container)
            case Arrived(packet, True, at):
                return self._decode(packet, at)
            case Arrived(packet):
                if (stamps := self._stamps.sound(packet)) is not None:
                    self._sound.send(packet, pts=stamps[0], dts=stamps[1])
            case Ended():
                return self._decoder.decode(None) if self._decoder is not None else []
        return []

    def _meet(self, container: InputContainer) -> None:
        """A connection is there: decode it, wherever the last one was."""
        self._container = container
        self._decoder = LiveDecoder(container, self.address.given, self._threads)
        self._stamps.clock.joined()
        self._pace = Pace(self._patience.lag, seeks=self.address.is_file)
        self._announce_sound()

    def _announce_sound(self) -> None:
        if self._container is not None and self._container.streams.audio:
            self._sound.describe(self._container.streams.audio[0])

    def _decode(self, packet: Packet[Any], at: int) -> list[VideoFrame]:
        """What comes out for a packet; nothing when there is no time for it."""
        assert self._decoder is not None
        placed = self._stamps.packet(packet, at)
        if not self._is_wanted(packet, placed, at):
            self._miss(1)
            return []
        damaged = self._decoder.damaged
        pictures = self._decoder.decode(packet)
        self.damaged += self._decoder.damaged - damaged
        return pictures

    def _is_wanted(self, packet: Packet[Any], placed: int, at: int) -> bool:
        """Choose how much is decoded; False when this packet is to be left out."""
        assert self._decoder is not None
        now, clock = time.monotonic_ns(), self._stamps.clock
        due = clock.arrived(placed, now) if isinstance(clock, PacedClock) else at
        wanted = self._pace.wants(packet, (now - due) / SECOND, now / SECOND)
        if self._pace.has_given_up and self._dialer.feed is not None:
            self._dialer.feed.skip_to_key()
        self._decoder.effort = self._pace.effort
        return wanted

    def _give(self, picture: VideoFrame) -> Iterator[LivePicture]:
        """A picture with its time stamp, when it is due; nothing when it is too late."""
        self._turn += 1
        self._dialer.back()
        if self._given is not None and (self._stamps.in_base(picture) or 0) <= self._given:
            return
        self._given = None
        stamp, clock = self._stamps.picture(picture), self._stamps.clock
        placed = self._stamps.nanoseconds(stamp)
        if isinstance(clock, PacedClock) and not self._wait_for(clock, placed):
            return
        now = time.monotonic_ns()
        arrived = clock.arrived(placed, now)
        if not self._is_late(now - arrived):
            assert self._fitting is not None
            fitting = self._fitting(picture, stamp, self._stamps.duration(picture))
            yield LivePicture(fitting, arrived)
            self._dialer.busy()

    def _wait_for(self, clock: PacedClock, placed: int) -> bool:
        """Wait until a picture is due; False when it is time to leave."""
        due = clock.due(placed, time.monotonic_ns())
        while (left := (due - time.monotonic_ns()) / SECOND) > 0:
            if self._host.leaving():
                return False
            with self._host.waiting():
                time.sleep(min(left, _LONGEST_SLEEP_S))  # the clock is what is waited for
        return True

    def _is_late(self, age: int) -> bool:
        """Whether a picture is older than it may be, while newer ones wait; it counts as missed."""
        feed = self._dialer.feed
        if feed is None:
            return False
        late = age > self._patience.lag * SECOND and feed.pictures > 0
        self._miss(late + feed.take_dropped())
        return late

    def _goes_on(self, ended: Ended) -> bool:
        """Whether there is more to come after an end."""
        if not self.address.is_file:
            return self._dialer.lost(ended)
        if ended.error is not None:
            self._say(f"{self.address.shown!r} is damaged: it could be read only so far")
            self.damaged += 1
        turn, self._turn = self._turn, 0
        if not (self._loop and turn):
            return False
        self._dialer.close()
        self._dialer.dial()
        return True

    def _miss(self, pictures: int) -> None:
        if pictures:
            self.missed += pictures
            self._host.count("missed", pictures)
            self._say("pictures are left out: they come late, or decoding cannot keep up with them")

    def _say(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)
            self._host.warn(text)
