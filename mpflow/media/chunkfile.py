"""One chunk's file: filled by an encoder of its own, and read back packet by packet.

    pictures -> fresh encoder -> SSSSSSSSS-TTTTTTTTT.nut.tmp -> Chunk (its companion)

NUT gives every packet back byte for byte as the encoder made it, whatever container the output
is; mov and Matroska hold the few codings it lacks. Time stamps and durations are the companion's:
a container may round them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import av
from av import Packet, VideoFrame
from av.container import OutputContainer
from av.video.stream import VideoStream

from mpflow.errors import Refused
from mpflow.media.chunks import Chunk, Kept
from mpflow.media.recipe import Recipe
from mpflow.media.source import ffmpeg_name
from mpflow.wholefile import sync

_NUT = "nut"
_KINDS = ((_NUT, "nut"), ("mov", "mov"), ("matroska", "mkv"))
# The muxer is neither to move time stamps nor to write its version, which would change bytes.
_OPTIONS = {"avoid_negative_ts": "disabled", "fflags": "+bitexact"}
_DIGEST_BYTES = 16
# More than any encoder reorders pictures, in packets.
_EARLY = 32


@dataclass(frozen=True, slots=True)
class Kind:
    """A container for chunks: its name in FFmpeg, and the files' ending."""

    format: str
    suffix: str


@dataclass(frozen=True, slots=True)
class Span:
    """The frames a chunk is for, from ``start`` up to ``stop``, and the digest of its key."""

    start: int
    stop: int
    key: str


def chunk_kind(recipe: Recipe, suffix: str) -> Kind:
    """The container for this coding's chunks; ``suffix`` is the output's own, if none else fits."""
    coding = {recipe.codec.name, recipe.codec.canonical_name}
    for name, ending in _KINDS:
        with av.open(f"chunk.{ending}", "w", format=name) as container:
            if coding & container.supported_codecs:
                return Kind(name, ending)
    return Kind(recipe.container, suffix)


def header_digest(header: bytes) -> str:
    """A short stand-in for an encoder's header."""
    return blake2b(header, digest_size=_DIGEST_BYTES).hexdigest()


class ChunkFile:
    """A chunk in progress under its temporary name; ``first`` is its first picture's pts."""

    def __init__(self, path: Path, kind: Kind, recipe: Recipe, first: int) -> None:
        self.path = path
        self._kind, self._recipe = kind, recipe
        self._shift = max(0, -first)  # NUT has no times before 0
        self._first = first + self._shift
        self._container: OutputContainer = av.open(
            ffmpeg_name(str(path)), "w", format=kind.format, container_options=_OPTIONS
        )
        self._stream: VideoStream = recipe.add_picture(self._container)
        self._stream.codec_context.open(strict=False)
        self._header = bytes(self._stream.codec_context.extradata or b"")
        self._container.start_encoding()
        self._content = blake2b(digest_size=_DIGEST_BYTES)
        self._asked: dict[int, int] = {}
        self._pts: list[int] = []
        self._dts: list[int] = []
        self._durations: list[int] = []

    def encode(self, picture: VideoFrame, duration: int) -> None:
        """Take the next picture, which is shown for ``duration`` ticks (0: unknown)."""
        if picture.pts is not None:
            self._asked[picture.pts] = duration
        self._write(self._stream.encode(picture))

    def end(self, span: Span, last: int | None) -> Chunk:
        """Let the encoder finish, close the file, and wait until it is on the disk.

        ``last`` is the time stamp of the span's very last frame, if it came.
        """
        self._write(self._stream.encode(None))
        self._container.close()
        sync(self.path)
        base = self._recipe.shape.time_base
        return Chunk(
            start=span.start,
            stop=span.stop,
            suffix=self._kind.suffix,
            size=self.path.stat().st_size,
            key=span.key,
            header=header_digest(self._header),
            content=self._content.hexdigest(),
            time_base=(base.numerator, base.denominator),
            pts=self._pts,
            durations=self._durations,
            depth=_depth(self._pts, self._dts),
            last=last,
        )

    def discard(self) -> None:
        """Close the file and remove it, whatever state it is in."""
        with suppress(av.FFmpegError, OSError, ValueError):
            self._container.close()
        with suppress(OSError):
            self.path.unlink(missing_ok=True)

    def _write(self, packets: Sequence[Packet[VideoStream]]) -> None:
        for packet in packets:
            pts = packet.pts or 0
            early = _EARLY - len(self._pts)
            self._pts.append(pts)
            self._dts.append(packet.dts if packet.dts is not None else pts)
            self._durations.append(self._asked.pop(pts, 0) or self._recipe.step)
            self._content.update(packet)
            packet.pts = pts + self._shift
            # NUT keeps no dts but the muxer checks them, and x265 gives any number where it has
            # fewer pictures than it would reorder. One tick a packet always comes before the pts.
            packet.dts = self._first - early if self._kind.format == _NUT else packet.pts
            self._container.mux_one(packet)


def empty_chunk(path: Path, kind: Kind, span: Span) -> Chunk:
    """A chunk whose frames were all dropped: an empty file. Raises OSError."""
    path.write_bytes(b"")
    nothing = blake2b(digest_size=_DIGEST_BYTES).hexdigest()
    return Chunk(span.start, span.stop, kind.suffix, 0, span.key, "", nothing, (1, 1), [], [])


def read_chunk(path: Path, chunk: Chunk | Kept) -> Iterator[Packet[VideoStream]]:
    """The packets of a chunk in their order, with no time stamps of their own.

    Raises Damaged where the file's content is not what was written.
    """
    content, count = blake2b(digest_size=_DIGEST_BYTES), 0
    try:
        with av.open(ffmpeg_name(str(path))) as container:
            for packet in container.demux(container.streams.video[0]):
                if packet.size:
                    content.update(packet)
                    count += 1
                    if count <= chunk.pictures:
                        yield packet
    except (av.FFmpegError, IndexError) as error:
        raise damaged(path) from error
    if (count, content.hexdigest()) != (chunk.pictures, chunk.content):
        raise damaged(path)


class Damaged(Refused):
    """A chunk's file is not what was written."""


def damaged(path: Path) -> Damaged:
    """The error of such a file."""
    return Damaged(
        f"the chunk {str(path)!r} is damaged", cure="remove it: what is missing is made again"
    )


def _depth(pts: Sequence[int], dts: Sequence[int]) -> int:
    """By how many places packets come before the turn in which they are shown.

    An encoder's decoding times are the sorted pts, late by that many; those of the first packets
    come before all of them.
    """
    place = {stamp: number for number, stamp in enumerate(sorted(pts))}
    told = (number - place[stamp] for number, stamp in enumerate(dts) if stamp in place)
    seen = (number - place[stamp] for number, stamp in enumerate(pts))
    return max(0, *told, *seen, 0)
