"""The folder of finished chunks: what is in it, what counts, and what is cleared away.

    OUT.parts/  checkpoint.json              what the chunks were made of, and how
                000000000-000000060.nut      the pictures of frames 0 up to, not including, 60
                000000000-000000060.json     its companion: what the container cannot say exactly
                000000060-000000120.nut.HOST-PID.tmp   the chunk in progress
                done.json                    the output has its final name: nothing is left to do

A chunk counts only with a companion that fits it, byte for byte in size; its companion is there
first. Nothing here opens a video, so that a command line and a farm's tools can ask cheaply.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import msgspec

from mpflow.media.mark import DONE

CHECKPOINT = "checkpoint.json"
LOGS = ("ledger.jsonl", "analysis.log")
"""What others keep beside the chunks; it goes when the parts go."""

_HALF = re.compile(r"^(checkpoint|done)\.json\.[\w-]+\.tmp$")
_NAME = re.compile(r"^(\d{9,})-(\d{9,})\.json$")
_OURS = re.compile(r"^\d{9,}-\d{9,}\.\w+(\.[\w-]+\.tmp)?$")


class _Key(msgspec.Struct):
    grid: int = -1


class _Checkpoint(msgspec.Struct):
    key: _Key


class Chunk(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A finished chunk, as its companion describes it: frames ``start`` up to ``stop``.

    ``pictures`` may be fewer than frames, where some were dropped. ``last`` is the time stamp of
    the very last frame in the input's time base, None where that one was dropped. ``pts`` and
    ``durations`` belong to the packets in their order, in ticks of ``time_base``; ``depth`` says
    by how many places packets come before their turn. ``size`` is the file's in bytes. ``key``,
    ``header`` and ``content`` are digests: of all that the chunk was made with, of the encoder's
    header, and of the packets.
    """

    start: int
    stop: int
    suffix: str
    size: int
    key: str
    header: str
    content: str
    time_base: tuple[int, int]
    pts: list[int]
    durations: list[int]
    depth: int = 0
    last: int | None = None

    @property
    def pictures(self) -> int:
        """How many pictures the file has."""
        return len(self.pts)

    @property
    def name(self) -> str:
        """The file's name in its folder."""
        return chunk_name(self.start, self.stop, self.suffix)

    @property
    def companion(self) -> str:
        """The name of the file that describes it."""
        return chunk_name(self.start, self.stop, "json")

    @property
    def kept(self) -> Kept:
        """What is to be remembered of it."""
        return Kept(
            self.start,
            self.stop,
            self.suffix,
            self.size,
            self.key,
            self.content,
            self.pictures,
            self.depth,
            self.last,
            max(self.pts, default=None),
        )


class Kept(msgspec.Struct, frozen=True, gc=False):
    """What is remembered of a chunk: nothing that grows with its frames, for there may be millions.

    ``latest`` is the greatest of its packets' pts; the rest is as in Chunk.
    """

    start: int
    stop: int
    suffix: str
    size: int
    key: str
    content: str
    pictures: int
    depth: int
    last: int | None
    latest: int | None

    @property
    def name(self) -> str:
        """The file's name in its folder."""
        return chunk_name(self.start, self.stop, self.suffix)

    @property
    def companion(self) -> str:
        """The name of the file that describes it."""
        return chunk_name(self.start, self.stop, "json")


def grid(seconds: float, rate: Fraction | None) -> int:
    """Frames in a chunk of about so many seconds; 25 frames a second where that is unknown."""
    return max(1, round(seconds * (rate or Fraction(25))))


def ranges(total: int, size: int) -> list[tuple[int, int]]:
    """The chunks that so many frames are cut into: all of one size but for the last."""
    return [(start, min(start + size, total)) for start in range(0, total, size)]


def chunk_name(start: int, stop: int, suffix: str) -> str:
    """The name of a chunk, which sorts as the frames do."""
    return f"{start:09d}-{stop:09d}.{suffix}"


def temporary(path: Path, maker: str) -> Path:
    """The name a file has until it is whole; ``maker`` tells several writers apart."""
    return path.with_name(f"{path.name}.{maker}.tmp")


def found(folder: Path) -> list[Kept]:
    """Every whole chunk in a folder, in order of its first frame."""
    with suppress(FileNotFoundError, NotADirectoryError):
        names = sorted(path.name for path in folder.iterdir())
        chunks = (read_companion(folder, name) for name in names if _NAME.match(name))
        return [chunk.kept for chunk in chunks if chunk is not None]
    return []


def durable(folder: Path) -> list[Kept]:
    """The whole chunks from frame 0 up to the first gap."""
    return _in_a_row(found(folder), 0)


def read_companion(folder: Path, name: str) -> Chunk | None:
    """A chunk by its companion's name; None where one of the two is missing or damaged."""
    try:
        chunk = msgspec.json.decode((folder / name).read_bytes(), type=Chunk)
        fits = chunk.companion == name and len(chunk.pts) == len(chunk.durations)
        return chunk if fits and (folder / chunk.name).stat().st_size == chunk.size else None
    except (OSError, msgspec.DecodeError):
        return None


def is_done(folder: Path) -> bool:
    """Whether the output of these parts has got its final name."""
    return (folder / DONE).exists()


def is_shared(folder: Path) -> bool:
    """Whether the folder is planned for machines that make its chunks one by one."""
    with suppress(OSError, msgspec.DecodeError):
        stored = msgspec.json.decode((folder / CHECKPOINT).read_bytes(), type=_Checkpoint)
        return stored.key.grid == 0
    return False


def sweep(folder: Path, keep: Sequence[Kept]) -> None:
    """Remove all chunks and unfinished files but those to keep."""
    kept = {name for chunk in keep for name in (chunk.name, chunk.companion)}
    _remove(path for path in _files(folder) if _OURS.match(path.name) and path.name not in kept)


def clear(folder: Path) -> None:
    """Remove the chunks and the checkpoint; the mark and the logs stay."""
    sweep(folder, ())
    unfinished = (path for path in _files(folder) if _HALF.match(path.name))
    _remove((folder / CHECKPOINT, *unfinished))


def remove_parts(folder: Path) -> None:
    """Remove all that is ours, the mark last, and the folder if nothing else is in it."""
    clear(folder)
    _remove(folder / name for name in (*LOGS, DONE))
    with suppress(OSError):  # somebody else's files stay, and so does the folder
        folder.rmdir()


def _in_a_row(chunks: Iterable[Kept], start: int) -> list[Kept]:
    """The chunks that follow each other from a frame on; of two for one place, the longer."""
    longest: dict[int, Kept] = {}
    for chunk in chunks:
        longest[chunk.start] = max(chunk, longest.get(chunk.start, chunk), key=lambda one: one.stop)
    row: list[Kept] = []
    while start in longest:
        row.append(longest[start])
        start = row[-1].stop
    return row


def _files(folder: Path) -> Iterator[Path]:
    with suppress(FileNotFoundError, NotADirectoryError):
        yield from list(folder.iterdir())


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        with suppress(FileNotFoundError, NotADirectoryError):
            path.unlink()
