"""Looking at an input: its container, the picture stream to work on, and every other stream.

The first picture is decoded, because only the decoder knows the true size, pixel format, colour
tags and display matrix. The rest of the file is not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import cast

import av
from av import VideoFrame
from av.container import InputContainer
from av.sidedata.sidedata import SideData
from av.stream import DataStream, Disposition, Stream
from av.video.stream import VideoStream

from mpflow.errors import InputError
from mpflow.media.pixels import is_rgb, ring_format
from mpflow.media.source import explain_read, open_input
from mpflow.spec import MediaInfo, Ratio, StreamInfo, VideoInfo
from mpflow.urls import is_url, shown

# Video packets that may fail before the stream counts as one that cannot be decoded.
_PATIENCE = 600
_SECOND = 1_000_000
_MOST_TAGS, _LONGEST_TAG = 64, 256


@dataclass(frozen=True, slots=True)
class Closeup:
    """What only the first decoded picture tells, for whoever writes the stream again.

    ``matrix`` is the display matrix as nine integers; ``side_data`` holds the raw bytes of each
    kind of side data by its FFmpeg name; ``field_order`` is FFmpeg's code (2 top first, 3 bottom
    first, 0 and 1 progressive).
    """

    matrix: tuple[int, ...] | None
    side_data: dict[str, bytes]
    interlaced: bool
    field_order: int


def probe(path: str) -> MediaInfo:
    """Look at an input; raises InputError with the cure when there is nothing to work on."""
    with open_input(path) as container:
        stream = picture_stream(container, path)
        picture = first_picture(container, stream, path)
        size = 0 if is_url(path) else Path(path).stat().st_size
        return describe_input(path, container, stream, picture, size=size)


def picture_stream(container: InputContainer, path: str) -> VideoStream:
    """The first video stream that is neither cover art nor without a decoder."""
    videos = [stream for stream in container.streams.video if not is_attached(stream)]
    if not videos:
        raise _no_picture(container, path)
    for stream in videos:
        if stream.codec_context is not None:
            return stream
    raise InputError(
        f"{shown(path)!r} is coded in a way that this FFmpeg cannot decode",
        cure="convert it to H.264 first",
    )


def first_picture(container: InputContainer, stream: VideoStream, path: str) -> VideoFrame:
    """Decode up to the first picture."""
    context = stream.codec_context
    context.thread_count = 1
    failed = 0
    try:
        for packet in container.demux(stream):
            try:
                pictures = context.decode(packet)
            except av.FFmpegError:
                failed += 1
                pictures = []
            if pictures:
                return pictures[0]
            if failed > _PATIENCE:
                break
    except av.FFmpegError as error:
        raise explain_read(path, error) from error
    raise InputError(
        f"{shown(path)!r} has no picture that can be decoded", cure="check that it plays"
    )


def closeup(path: str, index: int) -> Closeup:
    """The first picture's display matrix and side data, read from the file again."""
    with open_input(path) as container:
        stream = cast(VideoStream, container.streams[index])
        picture = first_picture(container, stream, path)
        entries = cast(Iterable[SideData], picture.side_data)  # iterating gives entries, not names
        data = {entry.type.name: bytes(entry) for entry in entries}
        raw = data.get("DISPLAYMATRIX")
        matrix = tuple(memoryview(raw).cast("i")) if raw else None
        order = stream.codec_context.field_order
        return Closeup(matrix, data, picture.interlaced_frame, order)


def describe_input(
    path: str, container: InputContainer, stream: VideoStream, picture: VideoFrame, *, size: int
) -> MediaInfo:
    """What an open input is, by its container and the first picture of ``stream``."""
    duration = container.duration
    return MediaInfo(
        path=path,
        container=container.format.name,
        video=_video_info(stream, picture),
        streams=tuple(_stream_info(other) for other in container.streams),
        duration=duration / _SECOND if duration else _seconds(stream),
        size=size,
        metadata=_abridged(container.metadata),
        chapters=len(container.chapters()),
    )


def is_attached(stream: Stream) -> bool:
    """Whether a stream is a still picture (cover art), no video."""
    return bool(stream.disposition & Disposition.attached_pic)


def codec_name(stream: Stream) -> str:
    """A stream's codec by name; "unknown" where FFmpeg has no decoder, and so tells no name."""
    if stream.codec_context is not None:
        return stream.codec_context.codec.canonical_name
    name = stream.name if isinstance(stream, DataStream) else None
    return name or "unknown"


def _abridged(metadata: Mapping[str, str]) -> dict[str, str]:
    """Tags as a message can carry them: lyrics and descriptions may be as long as they like."""
    first = islice(metadata.items(), _MOST_TAGS)
    return {key[:_LONGEST_TAG]: value[:_LONGEST_TAG] for key, value in first}


def _video_info(stream: VideoStream, picture: VideoFrame) -> VideoInfo:
    source_format = picture.format.name
    rgb = is_rgb(source_format)
    large = picture.height >= 720 or picture.width >= 1280
    converted = 1 if large else 6
    return VideoInfo(
        index=stream.index,
        codec=stream.codec_context.codec.canonical_name,
        width=picture.width,
        height=picture.height,
        pixel_format=ring_format(source_format),
        source_format=source_format,
        time_base=_ratio(stream.time_base) or (1, _SECOND),
        average_rate=_ratio(stream.average_rate) or _ratio(stream.guessed_rate),
        sample_aspect=_ratio(stream.sample_aspect_ratio),
        rotation=picture.rotation,
        matrix=converted if rgb else int(picture.colorspace),
        primaries=int(picture.color_primaries),
        transfer=int(picture.color_trc),
        range=1 if rgb else int(picture.color_range),
        start=picture.pts,
        frames=_count(stream),
    )


def _count(stream: VideoStream) -> int | None:
    """Frames that will be shown, where the index tells: mp4 and mov keep one entry a frame.

    ``stream.frames`` alone also counts what an edit list hides.
    """
    entries = stream.index_entries
    if stream.frames <= 0 or len(entries) < stream.frames:
        return None
    return sum(not entry.is_discard for entry in entries)


def _stream_info(stream: Stream) -> StreamInfo:
    return StreamInfo(
        index=stream.index,
        kind=stream.type,
        codec=codec_name(stream),
        language=stream.metadata.get("language", ""),
        title=stream.metadata.get("title", ""),
        attached_picture=stream.type == "video" and is_attached(stream),
    )


def _seconds(stream: Stream) -> float | None:
    if stream.duration is None or stream.time_base is None:
        return None
    return float(stream.duration * stream.time_base)


def _ratio(value: Fraction | None) -> Ratio | None:
    return (value.numerator, value.denominator) if value else None


def _no_picture(container: InputContainer, path: str) -> InputError:
    name = shown(path)
    if any(is_attached(stream) for stream in container.streams.video):
        what = f"{name!r} has cover art but no moving picture"
    elif container.streams.audio:
        what = f"{name!r} has sound but no picture"
    else:
        what = f"{name!r} has no picture"
    return InputError(what, cure="give a file with a video stream")
