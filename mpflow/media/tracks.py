"""Which of an input's other streams go into the output, and how: copied, turned into text the
container holds, or left out by name.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import av
from av.container import InputContainer, OutputContainer
from av.stream import Discard, Stream

from mpflow.media.probe import codec_name, is_attached

# What each container writes plain-text subtitles as, and which text codecs it holds as they are.
_TEXT_CODEC = {"mp4": "mov_text", "mov": "mov_text", "webm": "webvtt", "matroska": "subrip"}
_TEXT_HELD = {
    "mp4": {"mov_text"},
    "mov": {"mov_text"},
    "webm": {"webvtt"},
    "matroska": {"subrip", "ass", "ssa", "webvtt", "text"},
}
_TEXT_CODECS = frozenset({"subrip", "srt", "ass", "ssa", "webvtt", "mov_text", "text"})
# Subtitles that a transport stream has a place for.
_TS_SUBTITLES = frozenset({"dvb_subtitle", "dvb_teletext"})
# Attached files by codec name, for containers that keep cover art as an attachment.
IMAGE_TYPES = {"png": "image/png", "mjpeg": "image/jpeg", "gif": "image/gif", "bmp": "image/bmp"}
_STYLED = frozenset({"ass", "ssa"})
_FONTS = {".ttf": "font/ttf", ".otf": "font/otf", ".ttc": "font/collection"}


# Containers that hold cover art as a track marked as such.
_COVERS = frozenset({"mp4", "ipod", "asf"})


class How(Enum):
    """What becomes of a stream."""

    PICTURE = "encoded"
    COPY = "copied"
    ATTACH = "attached as a file"
    REMADE = "made anew by the muxer"
    TEXT = "turned into another kind of text"
    DROP = "left out"


@dataclass(frozen=True, slots=True)
class Plan:
    """The decision on one stream of the input. ``codec`` is the text codec for ``How.TEXT``."""

    index: int
    how: How
    reason: str = ""
    codec: str = ""


def plan_tracks(
    source: InputContainer,
    picture: int,
    container: str,
    *,
    keep_streams: bool,
    keep_metadata: bool,
) -> list[Plan]:
    """Decide on every stream of the input, in its order."""
    styled = any(codec_name(stream) in _STYLED for stream in source.streams.subtitles)
    plans = []
    for stream in source.streams:
        if stream.index == picture:
            plans.append(Plan(picture, How.PICTURE))
        elif is_remade(stream):
            plans.append(Plan(stream.index, How.REMADE))
        elif stream.type == "video" and not keep_streams:
            plans.append(Plan(stream.index, How.DROP, "it is a picture that was not worked on"))
        elif _is_private(stream, styled) and not keep_metadata:
            plans.append(Plan(stream.index, How.DROP, "it may name owner, device or place"))
        else:
            plans.append(_fit(stream, container))
    return plans


def describe(stream: Stream) -> str:
    """A stream as a person would name it: "stream 3 (subtitle subrip, eng)"."""
    kind = "cover art" if stream.type == "video" and is_attached(stream) else stream.type
    language = stream.metadata.get("language", "")
    tail = f", {language}" if language and language != "und" else ""
    name = stream.metadata.get("filename") or codec_name(stream)
    return f"stream {stream.index} ({kind} {name}{tail})"


def describe_all(source: InputContainer, indexes: Iterable[int]) -> str:
    """Several streams of an input as a person would name them."""
    return ", ".join(describe(source.streams[index]) for index in sorted(indexes))


def _is_private(stream: Stream, styled: bool) -> bool:
    """Data tracks and attachments; a font counts as part of the styled subtitles it serves."""
    if stream.type == "attachment":
        return not (styled and _is_font(stream))
    return stream.type not in ("video", "audio", "subtitle")


def is_file(stream: Stream) -> bool:
    """Whether a stream is a file that was attached: its name and type are tags of its own."""
    return stream.type == "attachment" or (stream.type == "video" and is_attached(stream))


def plain_font(tags: Mapping[str, str], number: int) -> dict[str, str]:
    """Name and type of an attached font, with nothing in them that a person wrote.

    Players find a font by the name inside it.
    """
    suffix = Path(tags.get("filename", "").lower()).suffix
    suffix = suffix if suffix in _FONTS else ".ttf"
    return {"filename": f"font-{number}{suffix}", "mimetype": _FONTS[suffix]}


def _is_font(stream: Stream) -> bool:
    name = stream.metadata.get("filename", "").lower()
    kind = stream.metadata.get("mimetype", "").lower()
    return name.endswith(tuple(_FONTS)) or "font" in kind


def _fit(stream: Stream, container: str) -> Plan:
    """Find a way to get a stream into the container."""
    codec = codec_name(stream)
    if stream.type == "subtitle" and codec in _TEXT_CODECS:
        return _fit_text(stream.index, codec, container)
    if stream.type == "subtitle" and container == "mpegts" and codec not in _TS_SUBTITLES:
        return Plan(stream.index, How.DROP, f"{container} cannot hold it")
    if stream.type == "video" and is_attached(stream) and container == "matroska":
        return Plan(stream.index, How.ATTACH, codec=IMAGE_TYPES.get(codec, "image/png"))
    if stream.type == "video" and is_attached(stream) and container not in _COVERS:
        return Plan(stream.index, How.DROP, f"{container} cannot hold it")
    if carries(container, stream):
        return Plan(stream.index, How.COPY)
    return Plan(stream.index, How.DROP, f"{container} cannot hold it")


def _fit_text(index: int, codec: str, container: str) -> Plan:
    if codec in _TEXT_HELD.get(container, ()):
        return Plan(index, How.COPY)
    if container in _TEXT_CODEC:
        return Plan(index, How.TEXT, codec=_TEXT_CODEC[container])
    return Plan(index, How.DROP, f"{container} cannot hold it")


def is_remade(stream: Stream) -> bool:
    """Whether the muxer makes this track itself: chapter names (hidden by the demuxer) or a time
    code, which is a tag as well.
    """
    return stream.type == "data" and (
        stream.discard == Discard.all or "timecode" in stream.metadata
    )


def carries(container: str, template: Stream) -> bool:
    """Whether a container holds such a stream: asked by writing a header into memory."""
    trial: OutputContainer | None = None
    try:
        trial = av.open(io.BytesIO(), "w", format=container)
        trial.add_stream_from_template(template, opaque=True)
        trial.start_encoding()
    except (av.FFmpegError, ValueError):
        return False
    finally:
        if trial is not None:
            _close_quietly(trial)
    return True


def _close_quietly(trial: OutputContainer) -> None:
    """Close a trial, whose missing packets some muxers complain of."""
    try:
        trial.close()
    except (av.FFmpegError, ValueError):
        return
