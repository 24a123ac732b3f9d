"""One copied stream: where its packets go, and their time stamps made fit for the muxer."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

from av import Packet
from av.stream import Stream

from mpflow.media.probe import is_attached
from mpflow.media.text import TextTrack
from mpflow.media.timeline import JUMP_BACK_S

# A mov_text sample of no characters: it ends the text before it.
_NO_TEXT = b"\0\0"
# The deepest reordering of pictures there is, in packets.
_MOST_EARLY = 32


@dataclass(slots=True)
class CopiedTrack:
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

    def is_remade(self, packet: Packet[Stream]) -> bool:
        """Whether the packet is an empty subtitle that the muxer writes itself."""
        return self.remade_gaps and packet.size == len(_NO_TEXT) and bytes(packet) == _NO_TEXT

    def put_in_order(self, packet: Packet[Stream]) -> bool:
        """Move a packet that is not later than the one before; says whether it had to.

        The step is the least one in the packet's time base that is one in the output's as well.
        """
        moved = False
        base = packet.time_base
        if packet.dts is not None and packet.pts is not None:
            if self.last is not None and packet.dts <= self.last and self.out.type != "subtitle":
                packet.dts = self.last + max(1, math.ceil((self.out.time_base or base) / base))
                packet.pts = max(packet.pts, packet.dts)
                moved = True
            self.last = packet.dts
        return moved


def fill_stamps(packet: Packet[Stream]) -> None:
    """Give a packet both its times: each stands in for the other, 0 for both."""
    dts = packet.dts if packet.dts is not None else packet.pts
    pts = packet.pts if packet.pts is not None else dts
    packet.dts, packet.pts = dts or 0, pts or 0
