"""Where every picture of an input is, found by demuxing alone: the numbering of frames.

    demux -> one row a packet (pts, dts, key frame, fingerprint) -> stamps of the shown pictures

Frames are counted from 0 as they are shown, so packets that an edit list hides, or that only help
to decode others, have no number. A file whose time stamps cannot be trusted still gets its rows;
``why`` says what is wrong, and its frames are then found by counting pictures.
"""

from __future__ import annotations

import zlib
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import cast

from av import Packet
from av.container import InputContainer
from av.stream import Discard
from av.video.stream import VideoStream

from mpflow.media.demux import steady
from mpflow.media.source import open_input
from mpflow.media.timeline import Continuity
from mpflow.spec import MediaInfo

# Stands for a time stamp that is not there: FFmpeg's AV_NOPTS_VALUE.
NONE = -(1 << 63)
# Bytes of a packet that its fingerprint covers, beside its size.
_PRINT_BYTES = 1024
_VP8_SHOWN = 0x10  # show_frame, RFC 6386 section 9.1


def _longs() -> array[int]:
    return array("q")


@dataclass(slots=True)
class Index:
    """The picture stream's packets in file order, and ``stamps`` of its pictures as shown.

    ``pts`` and ``dts`` hold ``NONE`` where a packet has none; ``keys`` are the rows of key frames;
    ``prints`` tell packets apart. ``frames`` counts the pictures that are shown; ``late`` is what
    the file's own pts are ahead of these (AVI). About 30 bytes a frame.
    """

    pts: array[int] = field(default_factory=_longs)
    dts: array[int] = field(default_factory=_longs)
    prints: array[int] = field(default_factory=lambda: array("I"))
    keys: array[int] = field(default_factory=_longs)
    stamps: array[int] = field(default_factory=_longs)
    frames: int = 0
    late: int = 0
    why: str = ""

    @property
    def head(self) -> int:
        """Packets before the first key frame, which no picture comes of."""
        return self.keys[0] if self.keys else 0

    @property
    def clean(self) -> bool:
        """Whether time stamps find frames: each there, unique and in order, without a jump."""
        return not self.why

    def stamps_from(self, stamp: int) -> Iterator[int]:
        """Time stamps of the pictures that are not shown earlier."""
        return islice(self.stamps, bisect_left(self.stamps, stamp), None)

    def keys_until(self, stamp: int) -> Iterator[int]:
        """Rows of key frames to seek to for a time stamp, the nearest first.

        None where the nearest is the file's first, and none where stamps are no use.
        """
        last = bisect_right(self.keys, stamp, key=self.pts.__getitem__) if self.clean else 0
        return (self.keys[number] for number in range(last - 1, 0, -1))

    def seek_stamp(self, row: int) -> int:
        """The time to seek to for a packet: some demuxers take it for its pts, some for its dts."""
        known = self.pts[row] if self.dts[row] == NONE else min(self.pts[row], self.dts[row])
        return known + self.late

    def earlier_key(self, row: int, count: int) -> int | None:
        """The row of the key frame that lies ``count`` key frames before another's."""
        at = bisect_left(self.keys, row) - count
        return self.keys[at] if at >= 0 else None


def read_index(path: str, media: MediaInfo) -> Index:
    """Read all packets of the picture stream once; raises InputError."""
    index, shown = Index(), _longs()
    with open_input(path) as container:
        index.why = _read(container, media, index, shown)
        stream = cast(VideoStream, container.streams[media.video.index])
        reordered = stream.codec_context.has_b_frames
    if media.container == "avi":
        index.why = index.why or _settle_avi(index, reordered=reordered)
    _number(index, shown, NONE if media.container == "avi" else media.video.start)
    index.why = index.why or _unfit(index)
    return index


def fingerprint(packet: Packet[VideoStream]) -> int:
    """A number that tells one packet of a file from another."""
    return zlib.crc32(memoryview(packet)[:_PRINT_BYTES], packet.size & 0xFFFFFFFF)


def _read(container: InputContainer, media: MediaInfo, index: Index, shown: array[int]) -> str:
    """Fill the index's rows and those that are shown; says what is wrong with the clock, if so."""
    for other in container.streams:
        if other.index != media.video.index:
            other.discard = Discard.all
    continuity, lost = Continuity(), 0
    for packet in steady(container, media.video.index, lambda error: None):
        lost -= packet.dts is None
        if _is_shown(packet, media.video.codec):
            shown.append(len(index.pts))
        if packet.is_keyframe:
            index.keys.append(len(index.pts))
        index.pts.append(NONE if packet.pts is None else packet.pts)
        index.dts.append(NONE if packet.dts is None else packet.dts)
        index.prints.append(fingerprint(packet))
        lost += sum(settled.dts is None for settled in continuity.feed(packet))
    lost += sum(settled.dts is None for settled in continuity.flush())
    if continuity.jumps:
        return "its time stamps jump back"
    return "some of its time stamps are damaged" if lost else ""


def _is_shown(packet: Packet[VideoStream], codec: str) -> bool:
    """Whether a picture comes of the packet: not where an edit list or the coder hides it."""
    hidden = codec == "vp8" and not memoryview(packet)[0] & _VP8_SHOWN
    return not (packet.is_discard or hidden)


def _settle_avi(index: Index, *, reordered: bool) -> str:
    """AVI has no presentation times: without reordering, decoding times counted from 0 are those.

    What FFmpeg makes up for pts is late by the decoder's delay, and wrong where there are B-frames.
    """
    if not index.pts or NONE in index.dts or NONE in index.pts:
        return "some of its packets have no time stamp"
    late = {pts - dts for pts, dts in zip(index.pts, index.dts, strict=True)}
    if reordered or len(late) > 1:
        return "AVI tells no times for reordered pictures"
    first = index.dts[0]
    index.late = index.pts[0]
    index.pts = index.dts = array("q", (dts - first for dts in index.dts))
    return ""


def _number(index: Index, shown: array[int], first: int | None) -> None:
    """Put the shown pictures in order; those before the first that can be decoded never come."""
    first, kept = NONE if first is None else first, []
    for row in shown:
        stamp = index.pts[row]
        if stamp >= first or (stamp == NONE and row >= index.head):
            kept.append(stamp)
    kept.sort()
    index.frames = len(kept)
    index.stamps = array("q", kept)


def _unfit(index: Index) -> str:
    """What keeps the time stamps from finding frames; empty where nothing does."""
    if NONE in index.pts[index.head :]:
        return "some of its packets have no time stamp"
    if any(later <= stamp for stamp, later in pairwise(index.stamps)):
        return "some of its frames have the same time stamp"
    known = (dts for dts in index.dts[index.head :] if dts != NONE)
    if any(later < dts for dts, later in pairwise(known)):
        return "its packets are out of order"
    if any(index.pts[later] <= index.pts[key] for key, later in pairwise(index.keys)):
        return "its key frames are out of order"
    return ""
