"""The source: reads a video file through FFmpeg and gives its pictures in presentation order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec

from mpflow.spec import BEGINNING, JobSpec, MediaInfo, Place, SourceSummary
from mpflow.stage import Job, Options, Picture, Source

if TYPE_CHECKING:  # see mpflow.stage
    from av import VideoFrame

    from mpflow.frame import Frame
    from mpflow.media.ranges import Frames
    from mpflow.media.reader import VideoReader


class DecodeOptions(Options, frozen=True):
    """``threads`` of the decoder; 0 takes what the pipeline allows this worker."""

    threads: Annotated[int, msgspec.Meta(ge=0)] = 0


class Decode(Source[DecodeOptions]):
    """Decodes on the CPU. Damaged packets are skipped and counted."""

    Options: ClassVar[type[Options]] = DecodeOptions
    advice = "an input of fewer pixels, or more cores, would help"
    _reader: VideoReader | None = None
    _time_base: tuple[int, int] = (1, 1)

    def probe(self, job: JobSpec) -> MediaInfo:
        """Look at the input; raises InputError, and ConfigError for frames it does not have."""
        from mpflow.media.passes import checked_index
        from mpflow.media.probe import probe

        media, wanted = probe(job.input), _wanted(job)
        if wanted.some:
            wanted.check(job.input, checked_index(job.input, media).frames)
        return media

    def begin(self, job: Job) -> None:
        """Open the input, and find the range of frames that is wanted of it."""
        from mpflow.media.reader import VideoReader, require_same

        self.close()
        require_same(job.spec.input, job.media)
        self._time_base = job.media.video.time_base
        with self.context.building():
            self._reader = VideoReader(
                job.spec.input,
                job.media,
                threads=self.options.threads or self.context.threads,
                warn=self.context.warn,
                wanted=_wanted(job.spec),
            )
        self.context.report("decoder", job.media.video.codec)

    def pictures(self, place: Place = BEGINNING) -> Iterator[Picture]:
        """Every wanted picture from ``place`` on, in order, each with its own time stamp."""
        if self._reader is None:
            return
        pictures = self._reader.pictures(place)
        sought = place != BEGINNING or self._reader.wanted.some
        with self.context.building() if sought else nullcontext():
            first = next(pictures, None)  # may have to count them from the beginning
        for picture in chain(() if first is None else (first,), pictures):
            yield Picture(
                pts=picture.pts,
                time_base=self._time_base,
                duration=picture.duration,
                key=picture.key_frame,
                fill=partial(_fill, picture),
            )

    def end(self) -> SourceSummary:
        """Close the input and say what was read."""
        summary = self._reader.summary() if self._reader else SourceSummary(frames=0)
        self.close()
        return summary

    def close(self) -> None:
        """Close the input if it is open."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None


def _wanted(job: JobSpec) -> Frames:
    from mpflow.media.ranges import Frames

    return Frames(job.start, job.stop)


def _fill(picture: VideoFrame, frame: Frame) -> None:
    from mpflow.media.pixels import copy_planes

    copy_planes(picture, frame.fill_planes())
