"""Whether the chunks that are there still have the content that was written."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mpflow.farm.plan import Plan

if TYPE_CHECKING:  # loads FFmpeg
    from mpflow.media.chunks import Kept


def damaged_chunks(plan: Plan, numbers: Iterable[int]) -> list[int]:
    """Those of these chunks that are there, whole by their size, but with another content."""
    return [number for number, _ in _damaged(plan, numbers)]


def remove_damaged(plan: Plan, numbers: Iterable[int], warn: Callable[[str], None]) -> None:
    """Remove those of these chunks whose content is not what was written, and say so."""
    parts = Path(plan.parts)
    for number, chunk in _damaged(plan, numbers):
        warn(f"chunk {number} ({chunk.name}) is damaged; it is made again")
        for name in (chunk.companion, chunk.name):
            with suppress(OSError):  # whoever makes the chunk replaces both
                (parts / name).unlink(missing_ok=True)


def _damaged(plan: Plan, numbers: Iterable[int]) -> list[tuple[int, Kept]]:
    from mpflow.media.chunks import found

    there = {(chunk.start, chunk.stop): chunk for chunk in found(Path(plan.parts))}
    asked = ((number, there.get(plan.chunks[number])) for number in numbers)
    return [(n, chunk) for n, chunk in asked if chunk is not None and not _is_whole(plan, chunk)]


def _is_whole(plan: Plan, kept: Kept) -> bool:
    from mpflow.media.chunkfile import Damaged, read_chunk
    from mpflow.media.chunks import read_companion

    parts = Path(plan.parts)
    chunk = read_companion(parts, kept.companion)
    if chunk is None:
        return False
    if chunk.pictures:
        try:
            deque(read_chunk(parts / chunk.name, chunk), maxlen=0)
        except Damaged:
            return False
    return True
