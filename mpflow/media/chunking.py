"""Cutting frames into chunks on a fixed grid, each kept in the parts as soon as it is whole.

0 ......... G ......... 2G ...... last      numbers of frames as tokens have them
|  chunk 0  |  chunk 1  |  the rest |
"""

from __future__ import annotations

from dataclasses import dataclass

from mpflow.frame import Frame
from mpflow.media.chunkfile import Span
from mpflow.media.chunks import Chunk
from mpflow.media.coder import Coder, Ended
from mpflow.media.parts import Parts
from mpflow.tokens import Token


@dataclass(frozen=True, slots=True)
class Grid:
    """Chunks of ``size`` frames. Files are named by frame numbers that are ``offset`` higher."""

    size: int
    offset: int = 0

    def stop(self, frame: int) -> int:
        """The frame that the chunk with this frame ends before."""
        return (frame // self.size + 1) * self.size


class Chunking:
    """Codes frames into the chunks of a grid, from the first one that is not kept yet."""

    def __init__(self, parts: Parts, coder: Coder, grid: Grid) -> None:
        self._parts = parts
        self._coder = coder
        self._grid = grid
        self._begun = self._next = parts.kept.frame - (grid.offset if parts.chunks else 0)
        for chunk in parts.chunks:
            coder.go_on(chunk)

    def write(self, token: Token, frame: Frame) -> list[Chunk]:
        """Code one frame; gives the chunks that are kept by now and were not before.

        A frame of a chunk that is kept already is passed over. Raises av.FFmpegError or OSError.
        """
        if token.seq < self._next:
            return []
        kept: list[Chunk] = []
        while token.seq >= self._grid.stop(self._begun):
            kept += self._end(self._grid.stop(self._begun))
        stop = self._grid.stop(self._begun)
        self._coder.add(token, frame, self._span(stop))
        self._next = token.seq + 1
        if self._next == stop:
            kept += self._end(stop)
        return kept + self._keep(self._coder.ended(wait=False))

    def finish(self, stop: int | None = None) -> list[Chunk]:
        """There are no more frames: keep what is left, as far as ``stop`` if that is known."""
        last = self._next if stop is None else stop
        kept = self._end(last) if last > self._begun else []
        return kept + self._keep(self._coder.ended(wait=True))

    def interrupt(self) -> tuple[list[Chunk], Ended | None]:
        """Stop on the way: the chunks kept since, and the one in progress, which is not kept."""
        kept = self._keep(self._coder.ended(wait=True))
        if self._next == self._begun:
            return kept, None
        ended = self._coder.end(self._span(self._next), self._next - 1)
        return kept, ended or self._coder.ended(wait=True)

    def close(self) -> None:
        """Remove what is unfinished."""
        self._coder.close()

    def _end(self, stop: int) -> list[Chunk]:
        """End the chunk in progress; the one before it is kept first."""
        kept = self._keep(self._coder.ended(wait=True))
        ended = self._coder.end(self._span(stop), stop - 1)
        self._begun = stop
        self._next = max(self._next, stop)
        return kept + self._keep(ended)

    def _keep(self, ended: Ended | None) -> list[Chunk]:
        if ended is None:
            return []
        self._parts.keep(ended.path, ended.chunk, ended.chunk.stop - self._grid.offset)
        return [ended.chunk]

    def _span(self, stop: int) -> Span:
        offset = self._grid.offset
        return Span(self._begun + offset, stop + offset, self._parts.key)
