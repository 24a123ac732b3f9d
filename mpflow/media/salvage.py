"""What is left of an output after a crash."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import av
from av.container import InputContainer

from mpflow.errors import InputError, InternalError, NoFrameLeft
from mpflow.media.muxer import FRAGMENTED
from mpflow.media.output import OutputFile
from mpflow.media.probe import first_picture, picture_stream
from mpflow.media.source import open_input
from mpflow.spec import SinkSummary


def playable(path: str | Path) -> int:
    """Frames that can be read from a partial file; 0 when it cannot be played at all.

    Packets are counted by demuxing, and the first picture is decoded as a proof.
    """
    name = str(path)
    try:
        with open_input(name) as container:
            stream = picture_stream(container, name)
            index = stream.index  # read while the container is open: it owns the stream
            first_picture(container, stream, name)
        with open_input(name) as container:
            return _count(container, index)
    except InputError:
        return 0


def left_over(file: OutputFile, warnings: Sequence[str]) -> SinkSummary:
    """What stays of an output that is not whole: its partial file, if that plays."""
    frames = playable(file.partial)
    size = file.partial.stat().st_size if frames else 0
    if frames:
        file.release()
    else:
        file.discard()
    return SinkSummary(
        frames=frames,
        path=str(file.partial) if frames else "",
        size=size,
        complete=False,
        playable=bool(frames),
        warnings=tuple(warnings),
    )


def no_frame_left(file: OutputFile) -> NoFrameLeft:
    """The error of an output whose frames were all dropped: nobody delivers an empty video."""
    return NoFrameLeft(
        f"no frame is left for {str(file.final)!r}: all of them were dropped",
        cure="the warnings say why; --on-failure mask or pass keeps such frames",
    )


def require_pictures(path: Path, expected: int) -> None:
    """Raise InternalError where a finished file's index has another number of pictures.

    Only mp4 and mov have an index that tells without reading the file.
    """
    with open_input(str(path)) as container:
        names = set(container.format.name.split(","))
        counted = picture_stream(container, str(path)).frames
    if names & FRAGMENTED and counted and counted != expected:
        raise InternalError(f"{str(path)!r} has {counted} of {expected} pictures")


def _count(container: InputContainer, index: int) -> int:
    """Whole packets of a stream up to the first place that cannot be demuxed."""
    count = 0
    try:
        for packet in container.demux(container.streams[index]):
            count += bool(packet.size) and not packet.is_corrupt
    except av.FFmpegError:
        return count
    return count
