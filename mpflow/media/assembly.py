"""The output while it grows: finished chunks appended packet by packet, the rest copied in step.

    000000000-000000060.nut -> packets, new decoding times -> muxer -> NAME.partial.EXT
                                            sound and the rest ---^

What a kill leaves is whole up to the last chunk; everything in it can be made again from the
chunks and the input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import av
from av import Packet
from av.video.stream import VideoStream

from mpflow.errors import Refused
from mpflow.media.chunkfile import header_digest, read_chunk
from mpflow.media.chunks import Chunk, Kept
from mpflow.media.declaration import seal
from mpflow.media.opening import Opened
from mpflow.media.output import OutputFile, explain_write
from mpflow.media.reorder import DecodingTimes

_FROM_ZERO = frozenset({"mpegts", "flv", "mpeg", "vob", "svcd"})


class TooDeep(Exception):
    """A chunk's pictures are reordered more deeply than the file was begun for."""

    def __init__(self, depth: int) -> None:
        super().__init__(depth)
        self.depth = depth


class Assembly:
    """One output made of chunks, whose pictures are reordered by ``depth`` places at least."""

    def __init__(
        self, file: OutputFile, opened: Opened, say: Callable[[str], None], *, depth: int = 0
    ) -> None:
        self.pictures = 0
        """Pictures in the output so far."""
        self._file = file
        self._open = opened
        self._say = say
        self._header = header_digest(opened.header)
        self._depth = max(depth, opened.stream.codec_context.reorder_depth)
        self._times: DecodingTimes | None = None

    @property
    def is_provisional(self) -> bool:
        """Whether something is left out that only fits a file which is written in one go."""
        return self._open.copy.lacks_text

    def start(self) -> None:
        """Write the header; from here on there is a file."""
        self._open.start(self._file)

    def append(self, path: Path, chunk: Chunk) -> None:
        """Add a chunk's pictures, and the other streams up to the same time.

        Raises Refused for a chunk of another encoder or with other content, TooDeep before
        anything was written, and what a failed write means.
        """
        if not chunk.pts:
            return
        if chunk.header != self._header:
            raise Refused(
                f"the chunk {str(path)!r} was made by another encoder",
                cure="make the chunks again: -y without --resume starts anew",
            )
        times = self._times_for(chunk)
        pts = times.in_line(chunk.pts)
        stamps = zip(pts, times.of(pts), chunk.durations, strict=True)
        try:
            for packet, (shown, decoded, duration) in zip(
                read_chunk(path, chunk), stamps, strict=True
            ):
                packet.pts, packet.dts, packet.duration = shown, decoded, duration
                self._mux(packet)
        except (av.FFmpegError, OSError) as error:
            raise explain_write(self._file, error) from error

    def finish(self, *, complete: bool) -> None:
        """Close the file; if it is complete, what comes after the last picture is copied too, and
        the file says what it has to say."""
        name = self._open.container.format.name
        try:
            if complete:
                self._open.copy.drain(self._open.container)
            self._open.container.close()
            if complete:
                seal(self._file.partial, name, self._open.said)
        except (av.FFmpegError, OSError) as error:
            raise explain_write(self._file, error) from error
        finally:
            self._open.copy.close()

    def abandon(self) -> None:
        """Close the file as far as it can be closed, after an error."""
        with suppress(av.FFmpegError, OSError, ValueError):
            self._open.container.close()
        self._open.copy.close()

    def _times_for(self, chunk: Chunk) -> DecodingTimes:
        """Decoding times, begun with the first chunk; raises TooDeep."""
        if self._times is None:
            depth = max(self._depth, chunk.depth)
            self._times = DecodingTimes(depth, self._open.recipe.step)
        if not self._times.fits(chunk.pts):
            raise TooDeep(max(chunk.depth, self._times.depth + 1))
        return self._times

    def _mux(self, packet: Packet[VideoStream]) -> None:
        base = self._open.recipe.shape.time_base
        until = (packet.dts or 0) * base
        packet.pts = (packet.pts or 0) - self._open.origin
        packet.dts = (packet.dts or 0) - self._open.origin
        packet.time_base = base
        packet.stream = self._open.stream
        if not self.pictures:
            self._say_shift(packet.dts * base)
        self._open.container.mux_one(packet)
        self.pictures += 1
        self._open.copy.pump(self._open.container, until)

    def _say_shift(self, first: Fraction) -> None:
        """Say that a container without times before 0 moves everything by the encoder's delay."""
        name = self._open.container.format.name
        if name in _FROM_ZERO and first < 0:
            self._say(f"{name} has no times before 0: everything is moved by {float(-first):.3f} s")


def deepest(chunks: Iterable[Kept]) -> int:
    """By how many places, at most, packets of these chunks come before their turn."""
    return max((chunk.depth for chunk in chunks), default=0)
