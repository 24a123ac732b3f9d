"""The time that a range of frames takes, for what is cut along with it."""

from __future__ import annotations

from fractions import Fraction

from mpflow.media.passes import checked_index
from mpflow.media.ranges import Frames, Span
from mpflow.media.reader import VideoReader
from mpflow.spec import MediaInfo


def span_of(path: str, media: MediaInfo, wanted: Frames) -> Span:
    """From the first frame up to the one behind the last, or to the end of the input.

    Files whose time stamps cannot be trusted are decoded up to there. Raises ConfigError for
    frames that the input does not have.
    """
    base = Fraction(*media.video.time_base)
    index = checked_index(path, media)
    wanted.check(path, index.frames)
    stop = None if wanted.stop in (None, index.frames) else wanted.stop
    if index.clean:
        end = None if stop is None else index.stamps[stop]
        begin = index.stamps[wanted.start]
    else:
        begin, end = _counted(path, media, wanted.start, stop)
    return begin * base, None if end is None else end * base


def _counted(path: str, media: MediaInfo, start: int, stop: int | None) -> tuple[int, int | None]:
    """Time stamps of frames ``start`` and ``stop`` by counting; None where the latter is not."""
    last = start if stop is None else stop
    reader = VideoReader(path, media, wanted=Frames(start, last + 1))
    try:
        stamps = [picture.pts for picture in reader]
    finally:
        reader.close()
    return stamps[0] or 0, stamps[-1] if len(stamps) == last + 1 - start > 1 else None
