"""Pictures of a live input as its run needs them, whatever the sender changes on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from av import VideoFrame

from mpflow.media.pixels import Conform
from mpflow.spec import VideoInfo


@dataclass(frozen=True, slots=True)
class LivePicture:
    """A picture on the run's time line; ``arrived`` is when it should have been here (ns)."""

    picture: VideoFrame
    arrived: int


class Fitting:
    """Brings pictures to the run's geometry and time base; ``say`` is told what that takes."""

    def __init__(self, video: VideoInfo, say: Callable[[str], None]) -> None:
        self._conform = Conform(video)
        self._say = say
        if self._conform.conversion:
            say(self._conform.conversion)

    def __call__(self, picture: VideoFrame, stamp: int, duration: int) -> VideoFrame:
        """The picture, shown at ``stamp`` for ``duration`` of the run's time base."""
        fitting = picture
        if not self._conform.fits(picture):
            if change := self._conform.change(picture):
                self._say(change)
            fitting = self._conform(picture)
        fitting.pts, fitting.duration = stamp, duration
        return fitting
