"""What a file and its streams say about themselves, carried over: tags, chapters, dispositions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import av
from av.container import InputContainer, OutputContainer
from av.stream import Stream

from mpflow.media.source import open_input
from mpflow.media.tags import chapter_tags, kept_tags, private_tags
from mpflow.media.tracks import is_file, plain_font

if TYPE_CHECKING:
    from av.container.core import Chapter

# A track that starts this much later than the picture would keep the mp4 muxer waiting for it.
_LATE_S = 5
_TIME_CODE = "timecode"


def copy_stream_facts(source: Stream, out: Stream, *, keep: bool) -> None:
    """Tags and disposition (default, forced, original ...) of a stream.

    An attachment cannot be written without a name and a type: a plain one where none is kept.
    """
    tags = kept_tags(source.metadata, keep=keep)
    if source.type == "attachment" and not keep:
        tags.update(plain_font(source.metadata, source.index))
    out.metadata.clear()
    out.metadata.update(tags)
    out.disposition = source.disposition


def copy_container_facts(
    source: InputContainer,
    output: OutputContainer,
    *,
    keep: bool,
    warn: Callable[[str], None],
    chapters: list[Chapter],
) -> None:
    """Tags of the file, and its chapters as given; tags that are left out are named."""
    output.metadata.update(kept_tags(source.metadata, keep=keep))
    lost = [] if keep else _private(source)
    for number, chapter in enumerate(chapters, 1):
        chapter["metadata"] = chapter_tags(chapter["metadata"], number, keep=keep)
    if chapters:
        output.set_chapters(chapters)
    if lost:
        warn(f"tags left out: {', '.join(lost)}")


def share_time_codes(source: InputContainer, videos: Sequence[Stream]) -> None:
    """Leave no more time codes on the output's videos than the input has tracks of.

    Videos may share one in mp4 and mov, but the muxer writes a track for each that has the tag.
    """
    tracks = sum(
        stream.type == "data" and _TIME_CODE in stream.metadata for stream in source.streams
    )
    tagged = [video for video in videos if _TIME_CODE in video.metadata]
    for video in tagged[tracks:] if tracks else ():
        del video.metadata[_TIME_CODE]


def _private(source: InputContainer) -> list[str]:
    """Names of all tags of a file, its streams and its chapters that would be left out."""
    found = set(private_tags(source.metadata))
    for stream in source.streams:
        found.update(private_tags(stream.metadata, attached=is_file(stream)))
    for number, chapter in enumerate(source.chapters(), 1):
        tags = chapter["metadata"]
        if tags != chapter_tags(tags, number, keep=False):
            found.update(private_tags(tags))
    return sorted(found)


def first_packet(path: str, index: int) -> bytes:
    """The first packet of a stream: the whole picture, for cover art."""
    with open_input(path) as container:
        for packet in container.demux(container.streams[index]):
            if packet.size:
                return bytes(packet)
    return b""


def starts_late(path: str, picture: int, tracks: set[int], begin: Fraction | None = None) -> bool:
    """Whether one of the tracks has no packet in the picture's first seconds, from ``begin`` on.

    Read from the packets: what a container says of a track's start is often made up.
    """
    try:
        return bool(_missing_early(path, picture, set(tracks), begin))
    except av.FFmpegError:
        return True  # damaged near its start: better not to wait for anything


def _missing_early(path: str, picture: int, waiting: set[int], begin: Fraction | None) -> set[int]:
    """Those of the tracks that have no packet until the picture is some seconds on."""
    with open_input(path) as container:
        if begin is not None:
            container.seek(int(begin * 1_000_000))
        for packet in container.demux():
            if not waiting:
                break
            stamp = packet.dts if packet.dts is not None else packet.pts
            now = None if stamp is None else stamp * packet.time_base
            if not packet.size or (begin is not None and now is not None and now < begin):
                continue
            waiting.discard(packet.stream_index)
            if packet.stream_index == picture and now is not None:
                begin = now if begin is None else begin
                if now - begin > _LATE_S:
                    break
    return waiting
