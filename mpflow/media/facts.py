"""What a file and its streams say about themselves, carried over: tags, chapters, dispositions."""

from __future__ import annotations

from collections.abc import Callable

from av.container import InputContainer, OutputContainer
from av.stream import Stream

from mpflow.media.source import open_input
from mpflow.media.tags import kept_tags, lost_tags


def copy_stream_facts(source: Stream, out: Stream, *, keep: bool) -> None:
    """Tags and disposition (default, forced, original ...) of a stream.

    An attachment keeps its name and type whatever is asked: without them it cannot be written.
    """
    out.metadata.clear()
    out.metadata.update(kept_tags(source.metadata, keep=keep or source.type == "attachment"))
    out.disposition = source.disposition


def copy_container_facts(
    source: InputContainer, output: OutputContainer, *, keep: bool, warn: Callable[[str], None]
) -> None:
    """Tags of the file, and its chapters; tags that are left out are named."""
    tags = kept_tags(source.metadata, keep=keep)
    output.metadata.update(tags)
    lost = set(lost_tags(source.metadata, tags))
    for stream in source.streams:
        if stream.type != "attachment":
            lost |= set(lost_tags(stream.metadata, kept_tags(stream.metadata, keep=keep)))
    chapters = source.chapters()
    for chapter in chapters:
        chapter["metadata"] = kept_tags(chapter["metadata"], keep=keep)
    if chapters:
        output.set_chapters(chapters)
    if lost:
        warn(f"tags left out: {', '.join(sorted(lost))}")


def first_packet(path: str, index: int) -> bytes:
    """The first packet of a stream: the whole picture, for cover art."""
    with open_input(path) as container:
        for packet in container.demux(container.streams[index]):
            if packet.size:
                return bytes(packet)
    return b""
