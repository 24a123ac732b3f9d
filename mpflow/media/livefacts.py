"""What a live input is, told by its first picture."""

from __future__ import annotations

import time
from fractions import Fraction

import msgspec
from av import VideoFrame
from av.container import InputContainer
from av.video.stream import VideoStream

from mpflow.media.liveclock import SECOND, LiveClock, PacedClock
from mpflow.media.probe import describe_input
from mpflow.spec import MediaInfo


def describe_live(
    path: str,
    container: InputContainer,
    stream: VideoStream,
    picture: VideoFrame,
    clock: LiveClock | PacedClock,
) -> MediaInfo:
    """Describe an open input, with ``zero`` by its clock; of a stream nobody knows how long it
    will be."""
    media = describe_input(path, container, stream, picture, size=0)
    if isinstance(clock, PacedClock):
        start = Fraction(media.video.start or 0) * Fraction(*media.video.time_base)
        return msgspec.structs.replace(media, zero=time.monotonic_ns() - round(start * SECOND))
    video = msgspec.structs.replace(media.video, frames=None)
    return msgspec.structs.replace(media, video=video, duration=None, zero=clock.zero)
